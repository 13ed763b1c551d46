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

// Where the trunk is repeated: what ranks show all others, once per walk. Numbers are counted in lanes, of which each has as many as cross
// in a pass; [0]: those of columns above which the trunk is, [1]: with those on the ground, for a solver's sums.
typedef struct cal_shown {
    int32_t* own; // columns of this rank, in the order in which it shows them
    int own_count;
    struct cal_shown_by {
        int32_t column, rank; // a stand-in here, and whose source it stands for
        int32_t at[2];        // lanes that its rank shows before it
    } * others;
    int other_count;
    int most[2];           // lanes of the rank that shows most: as many numbers come from each
    double *packed, *room; // this rank's numbers; those of all ranks
    const double** all;    // where each rank's are
} cal_shown;

// The messages of a plan, stage by stage.
typedef struct cal_traffic {
    cal_stage_messages stages[CAL_MOST_STAGES];
    cal_shown* shown; // instead of them where the trunk is repeated
} cal_traffic;

// What the ranks of a plan show each other; NULL where there is no memory (shown.c).
cal_shown* cal_shown_create(const cal_plan* plan);
void cal_shown_destroy(cal_shown* shown); // NULL is allowed
// Writes this rank's numbers into shown->packed, `crosses` of each lane; returns how many of them it has.
int cal_shown_pack(const cal_shown* shown, const cal_layout* layout, const double* scratch, bool sums, int crosses);
// Gives the stand-ins what shown->all has.
void cal_shown_unpack(const cal_shown* shown, const cal_layout* layout, double* scratch, bool sums, int crosses);

// The messages that this rank sends and receives for a plan; NULL where there is no memory.
cal_traffic* cal_traffic_create(const cal_plan* plan, MPI_Comm comm);
void cal_traffic_destroy(cal_traffic* traffic); // NULL is allowed
