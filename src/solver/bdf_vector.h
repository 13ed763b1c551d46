// BDF's vectors: SUNDIALS' N_Vector over the columns of a plan. A vector is y-shaped (plan/layout.h), so every rank has
// the numbers of its own columns only; bdf_vector.c says how they are added up.
#pragma once
#include "plan/plan.h"
#include "solver/solver.h"

#ifdef CALDER_HAVE_SUNDIALS
#include <sundials/sundials_nvector.h>

// What a vector has.
typedef struct cal_bdf_content {
    struct cal_bdf_space* space;
    double* numbers;
} cal_bdf_content;

// What all vectors of one solver share.
typedef struct cal_bdf_space {
    const cal_plan* plan; // whose columns they have
    cal_state* state;     // of that plan: sums go through its scratch memory
    cal_plan* sums;       // the walk that adds them up
    int component_count;  // live components, of all processors
    cal_status status;    // the first failure of an operation, since operations cannot tell
    cal_bdf_content lost; // of vectors that found no memory
    double* room;         // where memory is not shared: a number of each processor …
    const double** all;   // … and where it is
} cal_bdf_space;

cal_status cal_bdf_space_open(cal_bdf_space* space, const cal_plan* plan, cal_state* state, int component_count);
void cal_bdf_space_close(cal_bdf_space* space);

// Zeros. NULL, or CAL_NO_MEMORY as the space's status, without memory.
N_Vector cal_bdf_vector_create(cal_bdf_space* space, SUNContext sundials);

static inline double* cal_bdf_vector_numbers(N_Vector vector) {
    return ((const cal_bdf_content*)vector->content)->numbers;
}

// Whether all processors are well: gives every one of them the status of those that are not.
cal_status cal_bdf_space_agree(cal_bdf_space* space);

// One walk over the tree: follow_up sees every block and gives its share of the sums (the first max_count of them
// maxima), which all processors get. NaN when the machine fails.
void cal_bdf_space_sum(cal_bdf_space* space, cal_follow_up* follow_up, cal_solver_context* context, int sum_count,
                       int max_count, double* sums);
#endif
