// What rounding leaves of rows: how much of what a row moves joints by may be nothing else.
//
// A row's wrench, force F and moment M about a node, comes to a joint as s = Sᵀ f, a sum of products of F with lengths. Where the row's point lies on the
// joint's axis these products cancel, and what is left is their rounding: of the terms, however small the sum is. At the kth joint of its way
//
//     |δs| ≤ 16 k ε (ℓ F + M) + 2 ε d F        a joint that turns         the same without ℓ, M and d        one that slides
//
// ℓ: lengths of all that the point's place is added up from, from the body to the joint, whether they cancel or not; d: where the trees of the row's bodies
// stand on the ground, numbers of the user's that are rounded once. Each joint on the way rounds a length where it is turned (the numbers that its rotation is
// made from, two products of rotations, three products and two sums) and where wrenches are carried (two products and two sums) and felt (three products and two sums): 16 times.
// With y = C⁻¹ s that is y² ≤ Σ δs² / D, in the units of y² itself: it is compared with a row's own y², and no other row is asked for. A row with less is one that
// nothing can move; of a row with more, that much of y² says nothing.
#pragma once
#include "base/everywhere.h"
#include "pass/mass_factor.h"

// y² that are rounding beside those of the row that is moved most easily: twice the digits that y has, and a few for light links.
#define CAL_ROW_ROUNDING 1e-24

typedef struct cal_row_rounding {
    const cal_model* model;
    double*
        arm; // of each node: lengths that the way from its parent's origin is added up from, without what a slide adds
    double *lever, *place; // of each constraint: the same of its frames in their nodes; and where its trees stand
    // Of each constraint, of its rows' y² by wrenches of size one, moments as forces at a length: more is not in question. Infinite where bounds are not
    // constant (slides, joints that have no inertia of their own or several degrees of freedom).
    double* limit;
} cal_row_rounding;

// The node at which a constraint's rows end; −1: the ground.
typedef int cal_row_end(const cal_model* model, int constraint);

// least: the smallest part of y² that anybody asks for; length: as forces and moments are compared by; end: NULL: rows end on the ground.
bool cal_row_rounding_create(const cal_model* model, double least, double length, cal_row_end* end,
                             cal_row_rounding* out);
void cal_row_rounding_destroy(cal_row_rounding* rounding);

// What y² of a row may be of nothing but rounding, on its way from its nodes to `stop`, a node that is not passed any more; −1: the ground. q: where the row is.
// root: C of all joints, its diagonal inverted (6 a degree of freedom); NULL: factors are lent by `tree`; without that one: of s² instead.
CAL_EVERYWHERE double cal_row_noise(const cal_row_rounding* rounding, const cal_row* row, int stop, const double* q,
                                    const double* root, const cal_mass_factor* tree);

// The same of y² where it is not a sum of squares, but E Λ E of a 6 × 6 Λ, whose terms cancel instead of those of y: 16 k ε (ℓ F + M)² / D. D is what a joint
// has of its own at least, so that no factor is asked for; joints that have nothing are left to the others of their body. reach: of each of the row's nodes, how far
// it is from its tree's base, which slides may have added to.
double cal_row_gross(const cal_row_rounding* rounding, const cal_row* row, const double reach[CAL_ROW_NODES]);
