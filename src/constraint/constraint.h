// A model's constraints at work: the forces that keep them, and the projection that closes what has opened.
//
// Bicchi's equations (1), (2) and (5): B q̈ + h = Q + Aᵀλ, A q̈ = −Ȧ q̇ + f. With q̈₀ the accelerations without constraints
// (which articulated bodies give) they are one system in λ alone,
//
//     (A B⁻¹ Aᵀ) λ = f − Ȧ q̇ − A q̈₀              A B⁻¹ Aᵀ = Yᵀ Y by the tree (tree.h)
//
// Rows are scaled so that the matrix W = Yᵀ Y has ones on its diagonal. It is never made: Y is turned into a triangle (skyline.h),
// which keeps the half of the digits that squares lose. Its pivots reveal the rank: a row of which no more is left beside those
// before it than √shift is dropped (a hyperstatic mechanism: its motion is unique, its forces are not), and its multiplier is
// zero. Nothing is divided by what is only rounding then: an error of 1e-15 that rows which depend on each other contradict
// each other by is not made a motion of. cal_constraints_share finds the forces of least norm where they are to be shown.
// The stabilisation f is nothing, the paper's law, or the critically damped one:
//
//     literal     f = −2K φ̇ − K φ         poles near −½ and −2K
//     critical    f = −2K φ̇ − K² φ        both poles at −K               rows on velocities: f = −K ψ in both
//
// Projection (by mass: the smallest motion in the sense of kinetic energy)
//
//     q ← q − B⁻¹ Aᵀ (A B⁻¹ Aᵀ)⁻¹ φ       until φ is rounding            v ← v − B⁻¹ Aᵀ (A B⁻¹ Aᵀ)⁻¹ φ̇
#pragma once
#include "base/everywhere.h"
#include "constraint/front_rows.h"
#include "constraint/loop_factor.h"
#include "pass/row_rounding.h"
#include "constraint/skyline.h"
#include "pass/loop_pack.h"
#include "pass/mass_factor.h"
#include "pass/path_motion.h"
#include "plan/limbs.h"
#include "plan/plan.h"
#include "plan/worker.h"

// Directions of closing that are kept (directions.h); CAL_CONSTRAINT_ROWS, rounded up to whole lanes.
enum { CAL_DIRECTIONS_MOST = 8 };
typedef struct cal_directions {
    double *numbers, *kept,
        *share;            // v_count × rows, rounded up to whole lanes: made last, kept, and room; NULL: too many rows
    size_t by_joints;      // where those by joints begin, behind those by mass
    double* q;             // where those that are kept are of
    double time, distance; // when; from a singular position there, zero: rows follow from others
    bool held, made;       // there is such a place; what is kept is of it
    // Of the last evaluation; false: there was none since some were kept.
    bool found, fresh; // numbers are its directions already, and not only its factors there
    double *found_q, found_time, found_distance;
    double parts[CAL_DIRECTIONS_MOST]; // how much of each the last correction has
} cal_directions;
// Constraints that are eliminated one after the other (chains.h).
typedef struct cal_chain {
    int32_t first, end;     // places
    int32_t border;         // the chain that comes after this one and its other half; −1: none
    bool is_border;         // it comes after others
    int32_t line, line_end; // its rows in the triangle
    int32_t copies; // the line behind them where copies of the border's rows begin; −1: the border itself is there
} cal_chain;
enum { CAL_SIDE_NONE, CAL_SIDE_NEAR, CAL_SIDE_FAR };
// Which directions a projection may take: those of the place itself, kept ones of the same time, any kept ones, by joints.
typedef enum cal_along { CAL_ALONG_OWN, CAL_ALONG_NOW, CAL_ALONG_KEPT } cal_along;

// Work that is shared.
enum { CAL_WORK_LOOK, CAL_WORK_JOIN, CAL_WORK_MAKE, CAL_WORK_FACTOR, CAL_WORK_SOLVE, CAL_CONSTRAINT_WORKS };

typedef struct cal_constraints {
    const cal_model* model;
    bool* active; // of each constraint
    // What never changes. Constraints meet when they touch one tree; their order keeps those that meet together.
    int most_rows;
    int32_t* order;                // constraints as they are eliminated
    cal_chain* chains;             // in the order of places
    int chain_count, border_count; // border_count: of those that come after others
    int32_t *reach,
        *far_reach; // of each place in that order: the first place that it meets in its chain, and what is before it in lines; of a
                    // border's: in the far half, −1: none
    int32_t *root, *root_count;       // of each constraint: the trees that it touches, CAL_ROW_NODES each
    int32_t *met_start, *met;         // of each tree (its root's node): the places of its constraints, rising
    int32_t *support_start, *support; // of each constraint: the nodes between what it touches and the roots, rising
    int32_t* degrees;                 // of each constraint: degrees of freedom of these nodes
    size_t* y_start;                  // of each constraint: where its rows' y are
    int32_t *user_start, *user;       // of each node: the places of constraints that it is between, rising
    int32_t* user_at;                 // beside it: where in their rows' y it begins
    size_t* degree_start;             // of each constraint: the degrees of freedom of its support,
    int32_t* degree_v;                // and where they are in v
    bool* follows;                    // of each constraint: they follow each other there
    size_t* alone_start;              // of each constraint: which of these no other constraint's forces pass
    int32_t* alone;
    // What follows from who is active.
    int row_count;
    int32_t* first_row;  // of each place; one past the end
    int32_t* first_line; // of each place: where its rows are in the triangle
    double* left;        // of each row, as the triangle's of its line; of a border's as if the chain were not cut
    int8_t*
        side; // of each degree of freedom of each constraint, of borders: which half has constraints that pass it, too
    double* by_line; // of each line: a solution on its way
    cal_skyline matrix;
    cal_front_rows front_rows;
    int32_t* row_of; // of each constraint: its first row, −1 where it does not hold
    // Constraints that hold and are alike go in lanes (loop_packs.c); the others one by one.
    cal_pack_shape* shapes;
    int32_t* shape; // of each constraint, −1: none
    cal_loop_pack* packs;
    int shape_count, pack_count, single_count;
    int32_t *singles, *filling; // places; of each shape: the pack that is being filled
    // Many loops in one tree are closed in its order instead; of the triangle only `left` is there. NULL: the triangle.
    bool loops;
    cal_loop_factor* loop_factor;
    bool factored; // it is that of motions at factored_q with this shift
    double factored_shift, *factored_q;
    // Who shares the work on a machine (plan/worker.h), and how that went for each kind of work.
    cal_workers workers;
    cal_pace paces[CAL_CONSTRAINT_WORKS];
    cal_limbs limbs;
    int32_t* chains_of_worker; // of each worker: its first chain; one past the end
    double open[2]; // of rows as they were evaluated: the largest |φ| and |φ̇|, turns at the mechanism's size
    // Numbers.
    cal_mass_factor tree;
    cal_machine* machine; // for the plan, where the caller has none
    cal_plan* plan;       // of the mass matrix's factors
    int variant;          // of kernels (pass.h)
    cal_state* state;
    // Where joints have one degree of freedom each, an execution of aba has factored it: the caller's, or one of these; NULL elsewhere.
    cal_machine* aba_machine;
    cal_plan *aba_plan, *aba_first, *aba_last; // whole, and in parts
    cal_state* aba_state;
    bool borrows; // factors are read where the next execution has them, which has joint forces and biases as well
    const cal_context* given; // an execution at the place that is factored next; NULL: none
    const cal_context*
        within; // of a thread of a device: its group's, in whose columns the mass matrix is factored; else NULL
    // Where factors are lent: of all constraints' degrees of freedom D⁻¹, then its root, and k = D⁻¹ u; of each row A q̈₀ + Ȧ q̇, without
    // forces of constraints.
    double *joint_over, *joint_kept, *drift;
    bool rode;                      // the next factors' execution had these:
    cal_riders riders;              // of the only constraint, where its rows may go with an execution;
    const cal_layout* riding_along; // in this layout; `column` is −1 where that has no such column
    cal_node_motion* motions;
    bool placed, whole; // they have the places, and the velocities, of where the constraints were evaluated
    bool joins; // evaluations join executions of aba (cal_constraints_join), which needs no motions but those below
    bool moves; // evaluations take accelerations from fronts as a whole (cal_constraints_move)
    // Of few rows whose nodes have paths to their roots: motions of these nodes alone. NULL: rows are made of the motions of all.
    cal_joint_path* paths;
    cal_joint_path_motion* path_motions;
    int path_count;
    int32_t* path_of; // of each node
    bool* covers;     // of each path: these have each node once, all together; NULL: there are no such
    bool framed;      // what paths have left is of where rows were evaluated
    cal_node_motion* ends;
    bool answered, answered_by_joints; // paths answer to the kept directions, and to which
    double* extent;                    // 4 per node: the size of coordinates between it and its root
    cal_mount* frames;                 // of each constraint: a and b
    cal_row* rows;                     // as they are eliminated
    double* y;                         // the rows', one after the other
    double* scale;                     // of each row
    double *ease,
        easiest; // of each row: how easily it is moved, the square of y for forces of size one, and moments of that times the length; the largest
    double length;    // of what is between joints, m: turns are compared with displacements by it
    double unit;      // its size, m, 1 at most: what is closed in metres is so in it
    double* nearness; // of each row: ease beside the largest one of its constraint's displacements, or turns
    bool* turns;      // of each row: it is one of turns only
    cal_row_rounding rounding;
    double* noise;   // of each row: the part of y² that may be rounding, where that could matter; else zero
    double* least;   // of each row: how much of it must be left, as a square
    double* columns; // of a constraint, for each worker: the y that are its own
    size_t columns_size;
    double* lambda;       // of each row
    double *right, *work; // of each row
    double* rest;         // of each row
    double* unknown;      // of each row: λ of the last solution, rows scaled
    cal_directions directions;
    cal_along along; // of projections
    double* effort;  // v_count
    double* accelerations;
    double* change;       // v_count
    double *at_q, *at_v;  // where rows were evaluated
    double time, at_time; // of prescribed motions: the caller's, before anything is asked; and when rows were evaluated
    bool moved;           // some constraint prescribes a motion
    double* before;       // q or v before a correction
    bool evaluated;
    int rank; // at the last factorisation
    // What is open by less than this, in the size of a mechanism, is closed (cal_constraints_project). At least rounding.
    double closed;
    // Where projection ends is a smooth function of where it begins, to rounding: for those who extrapolate. Else velocities are corrected along
    // directions of q before its own correction, where that is little.
    bool smooth;
    // Velocities nearer than this to a singular position are not projected, nor positions nearer than its square; zero: all are.
    double blind;
} cal_constraints;

typedef enum cal_stabilization { CAL_STABILIZE_NONE, CAL_STABILIZE_LITERAL, CAL_STABILIZE_CRITICAL } cal_stabilization;

cal_status cal_constraints_create(const cal_model* model, cal_constraints** out);
// The same with the mass matrix factored on a machine, where its processors share memory; NULL: on one core.
cal_status cal_constraints_create_on(const cal_model* model, cal_machine* machine, cal_constraints** out);
// Factors the mass matrix where the constraints were evaluated.
CAL_EVERYWHERE void cal_constraints_factor_mass(cal_constraints* set);
void cal_constraints_destroy(cal_constraints* set); // NULL is allowed
void cal_constraints_activate(cal_constraints* set, int constraint, bool active);

// Motions and rows at q and v.
CAL_EVERYWHERE void cal_constraints_evaluate(cal_constraints* set, const double* q, const double* v);
// Finds paths of all nodes that rows touch, where that pays and can be; false: no memory.
bool cal_constraints_find_paths(cal_constraints* set);
// Motions of the ends of paths where rows were evaluated, and what the kept directions do there.
CAL_EVERYWHERE void cal_constraints_answer(cal_constraints* set);
// Kinetic and potential energy at q and v, but for forces that couple joints; rows and motions there, as far as rows need them.
double cal_constraints_energy(cal_constraints* set, const double* q, const double* v);
// Rows alone, and motions as far as these need them.
CAL_EVERYWHERE void cal_constraints_look(cal_constraints* set, const double* q, const double* v);
// The largest |φ| and the largest |φ̇| or |ψ| of the rows, and whose they are (CAL_NONE without rows); `only`: of one constraint,
// or CAL_NONE: of all.
typedef struct cal_violation {
    double error, speed, squares; // squares: mean of φ²
    int error_of, speed_of;
} cal_violation;
CAL_EVERYWHERE cal_violation cal_constraints_violation(const cal_constraints* set, int only);

// How far from a singular position the last factorisation was: the smallest part of a row that others do not hold already, in how
// easily it is moved, relative to the row that is moved most easily; zero at such a position.
CAL_EVERYWHERE double cal_constraints_margin(const cal_constraints* set);

// How far it was as a length, the sine of an angle: rows that others hold entirely do not count, and a row is compared with others
// of its constraint, so that parts that are light do not make those that are heavy seem singular.
CAL_EVERYWHERE double cal_constraints_distance(const cal_constraints* set);

// How many rows are independent where they were evaluated last. Those that are not: cal_constraints_depends.
CAL_EVERYWHERE int cal_constraints_rank(cal_constraints* set);
// Whether a row followed from others at the last factorisation.
CAL_EVERYWHERE bool cal_constraints_depends(const cal_constraints* set, int row);

// The power of prescribed motions with the multipliers of the last solution, over a velocity that is `later` on.
double cal_constraints_motion_power(const cal_constraints* set, double later);

// The power of all constraints' forces with these multipliers, that of prescribed motions among them.
double cal_constraints_power(const cal_constraints* set);

// What constraints add to accelerations must have along each row: set->right ← f − Ȧ q̇ − A q̈₀, at the motions and rows that were
// evaluated last. forcing (may be NULL): added to f, a number a row.
CAL_EVERYWHERE void cal_constraints_demand(cal_constraints* set, const double* v, const double* qdd,
                                           cal_stabilization law, double gain, const double* forcing);
// The same of rows first … end - 1 at accelerations of nodes that are known.
CAL_EVERYWHERE void cal_constraints_demand_some(cal_constraints* set, int first, int end, cal_stabilization law,
                                                double gain, const double* forcing);

// Finds λ at q, v for the accelerations qdd that the unconstrained model has there, and adds Aᵀλ to tau. Rows and λ stay; λ is zero
// for rows that were dropped. shift: the square of how much must be left of a row, at most; less where the
// constraints are less open than that: rows that depend on each other do so up to how far they are.
#define CAL_SHIFT_CLOSED 1e-12
#define CAL_SHIFT_OPEN 1e-8
void cal_constraints_hold(cal_constraints* set, const double* q, const double* v, const double* qdd,
                          cal_stabilization law, double gain, double shift, double* tau);

// The same, and set->change ← B⁻¹Aᵀλ instead; directions that are found here may be kept for projections (directions.h).
// executed: the context of aba's execution at q, where that has left what the mass matrix is factored with; NULL: one more is done.
CAL_EVERYWHERE void cal_constraints_find_change(cal_constraints* set, const double* q, const double* v,
                                                const double* qdd, cal_stabilization law, double gain, double shift,
                                                const cal_context* executed);
// The same where an execution of aba has come to its last walk at q and v: forces of constraints are among what that accelerates. False: what it
// has left is not finite, and stays as it is.
// Before that execution: what is to go with it (cal_context.riders), may be nothing, NULL.
const cal_riders* cal_constraints_ride(cal_constraints* set, const double* q, const double* v,
                                       const cal_layout* layout);
CAL_EVERYWHERE bool cal_constraints_join(cal_constraints* set, const double* q, const double* v, cal_stabilization law,
                                         double gain, double shift, const cal_context* executed);
// Where loops are closed in the order of the tree (set->loops), with some rows: set->change ← q̈ with everything, and λ, without q̈₀. load: the joints'
// forces, v_count, and what pushes.
typedef struct cal_constraint_load {
    const double* forces;
    const cal_outer_force* pushes;
    int push_count;
} cal_constraint_load;
void cal_constraints_move(cal_constraints* set, const double* q, const double* v, const cal_constraint_load* load,
                          cal_stabilization law, double gain, double shift);
// Before the mass matrix is factored at q: by an execution of aba, as in evaluations.
void cal_constraints_execute(cal_constraints* set, const double* q, const cal_context* executed);

// Of all λ that have the same Aᵀλ as the last one the one of least norm, rows scaled as in W.
void cal_constraints_share(cal_constraints* set);

// Adds B⁻¹Aᵀλ to qdd instead. forcing (may be NULL): added to f, a number a row.
void cal_constraints_accelerate(cal_constraints* set, const double* q, const double* v, double* qdd,
                                cal_stabilization law, double gain, const double* forcing);

// The rows as a dense matrix at q and v: A (row_count × v_count, the user's order), of each row how far rounding may have put its
// entries off, and Ȧ q̇.
void cal_constraints_dense(cal_constraints* set, const double* q, const double* v, double* A, double* noise,
                           double* bias);

// Projects q and then v, or one of them. Most of the time one correction is enough; `patience` is how many there may be. What
// remains is cal_constraints_violation.
// Whether a projection would leave q and v, where rows were evaluated last, as they are, whatever the size of the mechanism.
CAL_EVERYWHERE bool cal_constraints_are_closed(const cal_constraints* set);
// Whether q, where rows were evaluated last, is a place that a projection has come to: open by no more than `closed`, or than rounding.
CAL_EVERYWHERE bool cal_constraints_are_reached(const cal_constraints* set);
typedef enum cal_projection { CAL_PROJECT_POSITION = 1, CAL_PROJECT_VELOCITY = 2, CAL_PROJECT_BOTH = 3 } cal_projection;
CAL_EVERYWHERE void cal_constraints_project(cal_constraints* set, double* q, double* v, cal_projection what,
                                            int patience);

// As cal_model_displace, of the model of constraints.
CAL_EVERYWHERE void cal_constraints_displace(const cal_constraints* set, const double* change, double factor,
                                             double* q);

// Leaves of a change of q or v that part only which goes across the constraints at q: B⁻¹ Aᵀ (A B⁻¹ Aᵀ)⁻¹ A change.
void cal_constraints_keep_normal(cal_constraints* set, const double* q, double* change);

// The largest gain with which a method of fixed step stays stable on the error's own equation: an explicit method that is stable
// on the real axis to −reach/h, and semi-implicit Euler.
double cal_explicit_limit(double reach, double step, cal_stabilization law);
double cal_semi_implicit_limit(double step, cal_stabilization law);
