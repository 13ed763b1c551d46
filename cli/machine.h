// Who computes: --machine, --lanes and --placement, and the ranks of a command that mpirun started.
//
// With --machine mpi every rank runs the whole command. Rank 0 prints; the standard streams of the others lead nowhere, so
// that only what writes files has to ask who it is.
#pragma once
#include "calder/calder.h"
#include "calder/calder_run.h"
#include "command.h"

#define CAL_MACHINE_HELP "who computes: serial, threads[:N][,pinned], mpi, cuda[:N] or mpi,cuda[:N]"
#define CAL_PLACEMENT_HELP "the processor of each joint, as 'calder plan --save' writes it"

// For main: starts MPI where the command line says --machine mpi; the second ends it and returns the status of all ranks.
void cal_ranks_start(int* argc, char*** argv);
int cal_ranks_finish(int status);
// Whether this process is the one that writes files: always, but for ranks after the first.
bool cal_is_first_rank(void);
// The worst (largest) of what the ranks have, so that all go the same way. Must be called by all.
int cal_ranks_agree(int status);

// Gives all ranks the first one's numbers. Must be called by all; nothing is done without ranks.
void cal_ranks_tell(double* numbers, size_t count);

// How many cores this process may use: those that it had when this was first called, whatever is pinned afterwards.
int cal_core_count(void);

// Joints on processors.
typedef struct cal_placement {
    int processors;
    int32_t* processor_of_joint; // NULL: none was given
} cal_placement;
// Reads a placement: {"processors": P, "processes": [{"processor": 0, "joints": ["name", …]}, …]}. Returns CAL_EXIT_DONE
// or complains.
int cal_placement_read(const char* path, const cal_model* model, cal_placement* out);
void cal_placement_free(cal_placement* placement);

// Makes the machine that a text names; NULL: serial, or threads for as many processors as a placement (may be NULL) has.
// Returns CAL_EXIT_DONE or complains.
int cal_machine_open(const char* text, const char* lanes, const cal_placement* placement, cal_machine** out);
// "one core", "4 cores", "8 ranks"; returns the text.
const char* cal_machine_describe(const cal_machine* machine, int used, char* text, size_t capacity);
// Makes a run one of all ranks, where there are several; false, with a line, where it cannot be.
bool cal_ranks_share(cal_run** run, cal_error* error);
// On all ranks but the first: does what the first one does with the run, until it lets go of it.
void cal_ranks_follow(cal_run* run);
// What the ranks of a machine send each other in an evaluation of a plan; false when it has no ranks. Must be called by all.
bool cal_ranks_traffic(const cal_plan* plan, int64_t* messages, int64_t* bytes);
