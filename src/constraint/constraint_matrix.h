// The matrix of a set of constraints (constraint.h), factored, and solutions: as one triangle (skyline.h), or in the order of the tree
// (loop_factor.h).
#pragma once
#include "base/everywhere.h"
#include "constraint/constraint.h"

// Of a place: how many rows it has.
CAL_DEVICE static inline int cal_row_total(const cal_constraints* set, int place) {
    return set->first_row[place + 1] - set->first_row[place];
}

// Whether the rows of the only constraint have a number for each degree of freedom, in its order: a ring's.
CAL_DEVICE static inline bool cal_matrix_fills(const cal_constraints* set) {
    return set->model->constraint_count == 1 && set->row_count > 0 && set->follows[0] &&
           set->degrees[0] == set->model->v_count;
}

// Whether what joints feel of a constraint alone is more than its rows, and becomes a triangle first.
CAL_DEVICE static inline bool cal_front_rows_reduce(const cal_constraints* set, int place) {
    const int constraint = set->order[place];
    return set->alone_start[constraint + 1] - set->alone_start[constraint] > (size_t)cal_row_total(set, place);
}

// Lists of degrees of freedom, found once.
bool cal_matrix_create(cal_constraints* set);
void cal_matrix_destroy(cal_constraints* set);

// Y where the constraints were evaluated last, rows scaled to length one: set->scale, set->ease. Where the mass matrix's factors are lent
// by an execution (set->borrows), set->drift as well.
CAL_EVERYWHERE void cal_matrix_make(cal_constraints* set);
// The largest of what rows miss, in turns of the mechanism, and lengths of its own: neither the unit of length nor that of mass changes it.
CAL_EVERYWHERE double cal_matrix_open(const cal_constraints* set, const double* errors);
// Its triangle. Rows of which less than √shift is left are dropped.
CAL_EVERYWHERE void cal_matrix_factor(cal_constraints* set, double shift);
// set->lambda ← a solution for set->right, with zeros for rows that were dropped. In the order of the tree set->change comes with it.
CAL_EVERYWHERE void cal_matrix_solve(cal_constraints* set);
// The same in the order of the tree with a load (loop_factor.h): set->change ← q̈.
void cal_matrix_solve_loaded(cal_constraints* set);
// set->change ← M⁻¹ Aᵀ λ of that solution.
CAL_EVERYWHERE void cal_matrix_find_change(cal_constraints* set);
// set->change ← M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁻¹ set->right, which is scaled already: a solution without refinement, for corrections.
CAL_EVERYWHERE void cal_matrix_correct(cal_constraints* set);
// x ← −Tᵀ x of rows that follow from others, and T Tᵀ x of these (skyline.h).
CAL_EVERYWHERE void cal_matrix_depend(cal_constraints* set, double* x);

// A worker's parts of what is above, where it is one triangle (plan/worker.h). What others need of them is there when all have met.
CAL_DEVICE static inline int cal_first_place(const cal_constraints* set, const cal_worker* worker, int index) {
    return cal_worker_first(worker, index, set->model->constraint_count);
}
// Where the mass matrix is factored. Returns how easily that row of all is moved which is moved most easily.
CAL_EVERYWHERE double cal_matrix_make_part(cal_constraints* set, cal_worker* worker);
// easiest: that.
CAL_EVERYWHERE void cal_matrix_factor_part(cal_constraints* set, double easiest, double shift, cal_worker* worker);
CAL_EVERYWHERE void cal_matrix_solve_part(cal_constraints* set, cal_worker* worker);
