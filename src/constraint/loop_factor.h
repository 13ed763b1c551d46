// Constraints of a tree eliminated in the order of the tree: each where the paths of its bodies meet, their lowest common
// ancestor, before that node's joint. What goes on to the root is an inertia that has the loop in it, so that N loops cost N times
// what one costs, wherever they are in the tree (Yamane and Nakamura's section 4.3, with articulated bodies).
//
// Inbound a node has, of all that hangs below it with the forces λ of constraints that are still open,
//
//     f = I a + p − E λ            the force that its base must apply        a: its acceleration
//     x = Eᵀ a + c + Λ λ           along the open rows
//
// Rows whose bodies are all here are closed: x = b is solved for their λ, by pivots (a row of which nothing is left follows from
// others and is dropped), and I, p, E, c and Λ of what is left get what that does. Then the joint gives way, as in
// pass/mass_factor.h:
//
//     U = I S    D = Sᵀ U + armature = C Cᵀ    y = C⁻¹ Sᵀ E    E ← E − U C⁻ᵀ y    Λ ← Λ + yᵀ y        the same for p and c
//
// One factorisation serves λ and M⁻¹ Aᵀ λ, which a solution finds together, inbound and outbound. With a load, p begins with what each
// node's motion asks for at q̈ = 0 and joint forces push against it (pass/aba_body.h), and the same solution is q̈ with everything. Λ are sums of squares: what is
// left of a row is known to 1e-8 of it, where the triangle of skyline.h knows 1e-16; thresholds are 1e-6 and more.
#pragma once
#include "pass/row_rounding.h"
#include "plan/limbs.h"

// Of a front; numbers of an inertia, three in four lanes each; of its turns and a vector; of a wrench, or a motion, in space and in a
// plane (loop_body.h).
enum { CAL_LOOP_MOST_ROWS = 96, CAL_LOOP_INERTIA = 36, CAL_LOOP_OWN = 16, CAL_LOOP_SPACE = 8, CAL_LOOP_PLANE = 4 };

typedef struct cal_loop_front {
    int32_t first, count;             // its constraints in the list: those that are closed here, then those that go on
    int32_t rows, closed;             // of all of them, of those that are closed here
    int32_t kept, first_pivot;        // pivots of the last factorisation
    int32_t parent, child, next;      // fronts: its first child, and the next child of its parent; −1: none
    int32_t first_above;              // of its open rows: the rows of its parent's front
    int32_t first_touch, touch_count; // constraints that act on the node itself
    size_t numbers;                   // where its numbers begin
} cal_loop_front;

typedef struct cal_loop_touch {
    int32_t constraint, row; // its first row in the front
} cal_loop_touch;

// Where a front's numbers are: E (w k), Λ (k²), y² (k), c (k), λ (k), y (6 k), G (m (k + w)), z (m) for k rows and m pivots at most, w
// numbers of a wrench.
typedef struct cal_loop_view {
    int rows, closed;
    double *E, *L, *gross, *c, *lambda, *y, *G, *z;
    int32_t* pivots;
} cal_loop_view;

typedef struct cal_loop_factor {
    const cal_model* model;
    cal_mass_factor* tree; // the caller's: axes, arms
    int wide;    // numbers of a wrench: CAL_LOOP_PLANE where all joints are hinges parallel to one axis of the world,
    int axes[3]; // this one, and the two after it
    cal_loop_front* fronts; // one per node, then the ground's
    cal_loop_view* views;   // beside them
    int32_t* list;          // constraints of the fronts
    int32_t* at;            // beside it: the constraint's first row in the front
    int32_t* size;          // rows per constraint
    int32_t *above, *pivots;
    cal_loop_touch* touches;
    double* store;
    double* inertia;       // CAL_LOOP_INERTIA per node
    double* own;           // CAL_LOOP_OWN per node: its own inertia about its origin, first moments, world's axes
    double* load;          // per node: p of its own motion
    const double* forces;  // per degree of freedom: of joints, the caller's; with load
    double *bias, *motion; // per front: p, a
    double *give, *root;   // per degree of freedom: U C⁻ᵀ; C with its diagonal inverted (6)
    double* share;         // per degree of freedom: η
    double *gross, *left;  // per row of the set: y² of the row without others; as skyline.h
    double* weight;        // per row of the set: what makes y² of it that of a wrench of size one
    double* noise; // per row of the set: the part of y² that may be rounding (row_rounding.h), where that could matter
    const cal_row_rounding* rounding; // the caller's
    const double* q;                  // where it is factored
} cal_loop_factor;

static inline size_t cal_loop_front_size(const cal_loop_front* front) {
    const size_t k = (size_t)front->rows, m = (size_t)front->closed;
    return CAL_LOOP_SPACE * k + k * k + 3 * k + 6 * k + m * (k + CAL_LOOP_SPACE) + m;
}

// What the last solution's motion of node k of a row has along it.
static inline double cal_loop_along(const cal_loop_factor* f, const cal_row* row, int k) {
    const double *a = f->motion + (size_t)f->wide * (size_t)row->node[k], *moment = row->moment[k],
                 *force = row->force[k];
    if (f->wide == CAL_LOOP_PLANE)
        return moment[f->axes[0]] * a[0] + (force[f->axes[1]] * a[1] + force[f->axes[2]] * a[2]);
    return cal_dot3(moment, a) + cal_dot3(force, a + 4);
}

// The node where the paths of a constraint's bodies meet, −1: on the ground.
int cal_loop_meeting(const cal_model* model, int constraint);
// Whether closing loops in the order of the tree costs less than one triangle for all of them (skyline.h).
bool cal_loop_factor_pays(const cal_model* model);
cal_status cal_loop_factor_create(const cal_model* model, int rows, cal_mass_factor* tree,
                                  const cal_row_rounding* rounding, cal_loop_factor** out);
void cal_loop_factor_destroy(cal_loop_factor* factor); // NULL is allowed

// sizes: of each row the square of its wrenches, by which turns are compared with displacements; of rows first … end - 1.
void cal_loop_factor_weigh(cal_loop_factor* factor, const double* sizes, int first, int end);
// A worker's part, when all have met; what it leaves is there when they meet again. first_row: of each constraint its first row, −1 where it does not hold.
// shift: the square of how much must be left of a row, of its length. factor->q is where that is.
void cal_loop_factor_compute(cal_loop_factor* factor, const cal_node_motion* motions, const cal_row* rows,
                             const int32_t* first_row, double shift, const cal_limbs* limbs, cal_worker* worker);
// What acts where the tree was factored: accelerations of nodes at q̈ = 0 (6 each), and gravity; of some nodes. And joint forces, factor->forces.
void cal_loop_factor_load(cal_loop_factor* factor, const cal_node_motion* motions, const double* accelerations,
                          const cal_node_range* nodes);
// And a force and a torque about the origin of a node, world's axes, from outside.
void cal_loop_factor_push(cal_loop_factor* factor, int node, const double force[3], const double torque[3]);
// λ, zero for rows that were dropped, and u = M⁻¹ Aᵀ λ with A u = right, as far as that can be. loaded: u is q̈ with the load instead, for rows
// that ask for `right` beside what they have at q̈ = 0.
void cal_loop_factor_solve(cal_loop_factor* factor, const int32_t* first_row, const double* right, bool loaded,
                           double* lambda, double* u, const cal_limbs* limbs, cal_worker* worker);
// Adds M u to joint forces, for the u of solutions: what Aᵀ λ is, without the rounding of λ, which a long tree makes more of.
void cal_loop_factor_forces(cal_loop_factor* factor, const cal_node_motion* motions, const double* u, double* tau);
