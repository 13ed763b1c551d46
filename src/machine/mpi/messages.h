// The messages of a plan on the ranks of a communicator: what they are (messages.c makes them), and where (mpi.c sends them).
#pragma once
#include "machine/machine.h"

#include <mpi.h>

// A message of one stage. Persistent: started again in every execution.
typedef struct cal_message {
    MPI_Request request;
    double* packed;
    size_t at; // where in the scratch memory
    int size;  // doubles in all
    int peer;
    int edge;    // of sums, the first of the sender's columns on the ground
    int columns; // of sums: how many of them
    int posted;  // … are there
    int tag;
    bool sums; // as many numbers as a solver has sums, for each of size / CAL_MAX_SUMS lanes; sent by MPI_Isend
    bool down, receives, started;
} cal_message;

typedef struct cal_stage_messages {
    cal_message* list;
    int count;
    int32_t* first[2][2]; // [down][receives], per edge: its first message in list, or -1
} cal_stage_messages;

// The messages of a plan, stage by stage.
typedef struct cal_traffic {
    cal_stage_messages stages[CAL_MOST_STAGES];
} cal_traffic;

// The messages that this rank sends and receives for a plan; NULL where there is no memory.
cal_traffic* cal_traffic_create(const cal_plan* plan, MPI_Comm comm);
void cal_traffic_destroy(cal_traffic* traffic); // NULL is allowed
