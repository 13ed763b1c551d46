// Real dynamics on real processors: Armstrong's passes over a figure, a process being a thread or a rank.
#pragma once
#include "calder/calder.h"

typedef struct cal_tree_lab {
    bool ranks;          // of MPI; else threads
    cal_machine* shared; // the ranks'
    int processes;       // at most
    int cores;           // of the computer that may be used
    double seconds;      // of a measurement
    int lanes;
} cal_tree_lab;

// --machine: threads or mpi; lanes as a text. Returns CAL_EXIT_DONE or complains.
int cal_tree_lab_open(const char* machine, const char* lanes, double seconds, cal_tree_lab* out);
void cal_tree_lab_close(cal_tree_lab* lab);

// Who computes what: a process for each joint, 0 … processes - 1, and a core for each process, 0 … cores - 1.
typedef struct cal_tree_assignment {
    int processes;
    const int32_t* process_of_joint;
    const int* core_of_process; // NULL: one each. Of threads; where ranks are is mpirun's to say
} cal_tree_assignment;

typedef struct cal_tree_result {
    double alone;   // s per evaluation on one core, without processes: the median; 0: not timed
    double seconds; // s per evaluation, one after the other: the median; 0: not timed
    double quiet;   // both at the end of the quiet quarter, speed-up; others who compute only make times longer
    int64_t messages, numbers;           // of an evaluation, as they were counted
    int64_t predicted, predicted_number; // and as the plan says
    bool same;                           // accelerations are those of one core, to the bit
    bool run;                            // false: there are not so many ranks
} cal_tree_result;

// Runs forward dynamics by Armstrong's algorithm; timed: false where only bits and messages are wanted.
cal_status cal_tree_run(const cal_tree_lab* lab, const cal_model* model, const cal_tree_assignment* assignment,
                        bool timed, cal_tree_result* out, cal_error* error);
