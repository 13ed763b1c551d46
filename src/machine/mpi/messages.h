// The messages of a plan on the ranks of a communicator: what they are (messages.c makes them), and where (mpi.c sends them).
#pragma once
#include "machine/machine.h"

#include <mpi.h>

// A message of one walk, or of the joins after it. Persistent: started again in every execution.
typedef struct cal_message {
    MPI_Request request;
    double* packed;
    int size; // doubles in all
    int peer;
    int column;  // whose end or slot; of sums, the first of the sender's columns on the ground
    int doubles; // a lane
    int columns; // of sums: how many of them
    int posted;  // … are there
    size_t at;   // of joins: where in the numbers of elements
    bool down, receives, started;
} cal_message;

// The messages of a plan, walk by walk.
enum { CAL_MOST_WALKS = 3 };
typedef struct cal_traffic {
    int walk_count;
    struct cal_walk_messages {
        cal_message* list;
        int count;
        int32_t *wait_down, *post_down, *wait_up, *post_up; // per column: first message in list, or -1
        cal_message* joins;
        int join_count;
        int32_t* join_of; // per crossing: its message inbound, and outbound; -1: none, or others'
    } walks[CAL_MOST_WALKS];
} cal_traffic;

// The messages that this rank sends and receives for a plan; NULL where there is no memory.
cal_traffic* cal_traffic_create(const cal_plan* plan, MPI_Comm comm);
void cal_traffic_destroy(cal_traffic* traffic); // NULL is allowed
