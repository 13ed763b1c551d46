// Directions in which a few constraints are closed: N = M⁻¹ Aᵀ where they were evaluated last, kept for the projections that follow.
//
//     q ← q − N (A N)⁻¹ φ                     v ← v − N (A N)⁻¹ φ̇
//
// With A of the place that is projected this is Newton's method, whatever N is; that of an evaluation a step away spares the mass
// matrix, its factors and the way inbound and outbound of each projection. Three things follow from what projections are for:
//
//   - A solver's equation is ẏ = f(P(y)), and its order needs one P for all evaluations of a step: N is kept of the evaluation with
//     which the step before was accepted.
//   - What closes the end of a step must not change energy: only an N of that very time is across the motion there, as that of the
//     place itself is.
//   - Where the place is belongs to the memory of a system: the same directions follow from it when a run goes on from there.
//
// A place inside of a step is open by h² times what accelerates it. The least motion by mass that closes the end of a long loop turns the bodies next
// to that end, one against the other: the stiffest motion that there is where the loop is under tension, and most of what a stage is then
// wrong by. So what is inside of steps is closed by the least motion of joints, which all of them share, and their ends by mass:
//
//     N = W⁻¹ Aᵀ          W: 1 for what turns, 1 / length² for what slides
#pragma once
#include "base/everywhere.h"
#include "constraint/constraint.h"

// N is kept of at most CAL_CONSTRAINT_ROWS rows, of one triangle.
bool cal_directions_create(cal_constraints* set);
void cal_directions_destroy(cal_constraints* set);
// N of the rows that there are from the factors made last; set->change ← M⁻¹ Aᵀ λ of the last solution with it. False: there are too many.
CAL_EVERYWHERE bool cal_directions_find_change(cal_constraints* set);
// Those of an evaluation, where the constraints were evaluated last and factored, may be kept; and are. They are made when they are kept, or
// before other factors take the place of those that they are made of.
CAL_EVERYWHERE void cal_directions_note(cal_constraints* set);
CAL_EVERYWHERE void cal_directions_make(cal_constraints* set);
CAL_EVERYWHERE void cal_directions_keep(cal_constraints* set);
// Factors change: directions that were not made cannot be any more.
CAL_DEVICE static inline void cal_directions_lose(cal_constraints* set) {
    if (!set->directions.fresh) set->directions.found = false;
}
// Whether the kept ones are of use, as set->along says: not next to a singular position, nor where rows follow from others. Rows are evaluated at q and v.
CAL_EVERYWHERE bool cal_directions_serve(cal_constraints* set, const double* q, const double* v);
// set->change ← N (A N)⁻¹ set->right with A where the constraints were evaluated last; false: it has no inverse.
CAL_EVERYWHERE bool cal_directions_correct(cal_constraints* set);
// Those of the place in set->directions.found_q are the kept ones, if any are.
void cal_directions_restore(cal_constraints* set, bool held, double time, double distance);
// Numbers of one set of directions; zero: none are kept.
CAL_FOR_PARTS size_t cal_directions_size(const cal_constraints* set);
// Numbers per degree of freedom: one per row, and more, to whole lanes.
CAL_EVERYWHERE int cal_directions_stride(const cal_constraints* set);
CAL_DEVICE static inline bool cal_directions_by_joints(const cal_constraints* set) {
    return set->along == CAL_ALONG_KEPT;
}
// The kept ones that set->along asks for.
CAL_DEVICE static inline const double* cal_directions_numbers(const cal_constraints* set) {
    return set->directions.kept + (cal_directions_by_joints(set) ? set->directions.by_joints : 0);
}
// There are none any more.
CAL_DEVICE static inline void cal_directions_forget(cal_constraints* set) {
    set->directions.held = set->directions.made = set->directions.found = false;
}
