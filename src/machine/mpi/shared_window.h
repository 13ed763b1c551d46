// What the ranks of one host show each other: memory that they share, without messages.
//
// Each rank has a place with two slots, which it fills in turn, and a number that says how many it has filled:
//
//     rank 0   [ 7 | slot 0 (6th) | slot 1 (7th) ]      who has not filled its 7th yet is waited for; the 6th stays until
//     rank 1   [ 7 | slot 0 (6th) | slot 1 (7th) ]      all have filled their 7th, so that nobody loses what it still
//     rank 2   [ 6 | slot 0 (6th) | …            ]      looks at
//
// A look at ten places takes less than a microsecond; MPI_Allgather among ten ranks takes several.
//
// What rank 0 tells all others has two slots of its own there, and each rank a number that says how many it has heard: rank 0 may be one ahead of who is
// last, and nobody waits for anybody but rank 0.
#pragma once
#include <mpi.h>
#include <stdbool.h>

typedef struct cal_shared_window cal_shared_window;

// A slot: what ranks of a world tell each other in a window has room in it. Pages that nobody uses take no memory.
enum { CAL_BOARD_NUMBERS = 32768 };

// Of what rank 0 tells: the sums of a solver, and other few.
enum { CAL_TOLD_NUMBERS = 64 };

// All ranks together. NULL on all of them where they are on several hosts, or have no memory to share.
cal_shared_window* cal_shared_window_create(MPI_Comm comm);
void cal_shared_window_destroy(cal_shared_window* board); // all ranks together; NULL is allowed
// Shows up to CAL_BOARD_NUMBERS numbers, of each rank as many as it likes; all[r] is where rank r's are, until this rank's next
// call has returned.
void cal_shared_window_gather(cal_shared_window* board, const double* own, int count, const double** all);
// Gives all ranks rank 0's numbers, up to CAL_TOLD_NUMBERS of them, as many on all ranks.
void cal_shared_window_tell(cal_shared_window* board, double* values, int count);
// Memory for so many numbers of each rank's, which others look at when they like; all ranks together, with the same count. What was there is lost where it was for
// fewer. NULL on all of them: there is none.
double** cal_shared_window_deposits(cal_shared_window* board, size_t count);
