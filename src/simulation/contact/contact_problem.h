// What contacts do to velocities in one step: a convex problem.
//
// With v* = v + h M⁻¹ f the velocities without contacts, y = J v⁺ + b for each contact (y_n along the normal, y_t across) and
// K the friction cone |λ_t| ≤ μ λ_n,
//
//     v⁺ = v* + M⁻¹ Jᵀ λ,    K ∋ λ ⟂ y ∈ K*
//
// the optimality of min ½ (v − v*)ᵀ M (v − v*) over J v + b ∈ K*. It is solved by augmented Lagrangians: with impulses λₖ and a
// compliance R,
//
//     min  ½ (v − v*)ᵀ M (v − v*) + Σ ½ R |λ(y)|²,    λ(y) = the nearest of K to λₖ − R⁻¹ y,    λₖ₊₁ = λ(y)
//      v
//
// What is left of the hard law is R (λₖ − λₖ₊₁), so it is known where to stop, and nothing creeps. R begins at a hundredth of what
// the contact's own inertia gives and falls tenfold from round to round: each minimum is near the one before, and Newton's
// method with an exact line search (as in Castro, Permenter and Han, "An unconstrained convex formulation of compliant
// contact", 2022) takes a few steps for each. Where λ is not unique, it is the one that the start is led to.
//
// The dual cone alone would part bodies that slide, by y_n = μ |y_t| (Anitescu's relaxation). De Saxcé's term removes that:
// b_n has μ |y_t| added, from the round before. What is left is Coulomb's law: λ_n ≥ 0, gap not closing faster than it may,
// friction at most μ λ_n, against the sliding.
//
// A unit with constraints (loops) may move by P v only (projector.h, with the mass matrix of the solve). v* is corrected, by mass,
// to A v* = −h Ȧ v, and rows are J P, so that every iterate is v* and something that the constraints allow, by M⁻¹ Pᵀ = P M⁻¹:
//
//     v⁺ = v* + P M⁻¹ Jᵀ λ,    y = J P v⁺ + J (1 − P) v* + b,    A v⁺ = −h Ȧ v
//
// and the problem keeps its form. At q⁺, A v⁺ is then of second order in h; what is left is projected (group_implicit.c).
//
// Where constraints prescribe a motion, A v = r(t), v* is corrected to A v* = r + h (ṙ − Ȧ v). What the motion alone gives to a point,
// J (1 − P) v, is as that of a body which is driven: part of `drive`. And it works: with d the correction of v*, and impulses Aᵀ μ = M d −
// (1 − P)ᵀ Jᵀ λ that the motion needs, by ((1 − P) v)ᵀ Aᵀ μ = vᵀ (1 − P)ᵀ M d − λ · J (1 − P) v.
#pragma once
#include "constraint/projector.h"
#include "simulation/contact/block_cholesky.h"
#include "simulation/contact/group.h"
#include "solver/system.h"

enum { CAL_FRAME_ROWS = 3 };   // normal and two tangents
enum { CAL_SMOOTH_UNITS = 4 }; // that groups have at most which take smooth steps (group_smooth.h)

typedef struct cal_contact_row {
    int contact; // which of those that were found
    int body[2]; // of the group
    int unit[2]; // CAL_NONE: fixed or driven, or the same unit as the first one
    double*
        jacobian[2];   // 3 × v_count of the unit, rows: normal, tangents; of the relative velocity of body 1 to body 0
    double* answer[2]; // M⁻¹ Jᵀ, in rows of the unit's velocities: for sweeps
    double* plain[2];  // the same without P, of a unit with constraints; NULL otherwise
    double drive[3];   // relative velocity that driven bodies add, and motions that are prescribed,
    double carried[3]; // which is this part of it
    double friction, restitution, gap;
    double bounce_speed; // what parts more slowly does not bounce
    double own[9];     // W = J M⁻¹ Jᵀ
    double across;     // the larger of W's two across the normal
    double inverse[2]; // 1 / W along the normal, and across
    double response;   // its trace / 3
    double compliance; // R of the present round
    double rigidity;   // R⁻¹
    double offset[3];  // b
    double slip;       // De Saxcé's term, added to the first of them
    double last[3];    // the force that was in it, for a start; zero: unknown
    double impact;     // when in the step it bounces; negative: it does not
    int visited;       // the last sweep that looked at it
    bool passive;      // it is solved, and stays as it is while Newton solves others
    bool alone;        // of an impact: its bodies meet nothing else in the step
    double held[3];    // λₖ: at the start of a solve a guess, or zero
    double impulse[3]; // λ
    // Of Newton: y, its change along the search direction, and −∂λ/∂y.
    double y[3], dy[3], stiffness[9];
    int part; // of the cone: what it did when it was last looked at

    // A joint's stop, and no contact: gap and speed are along its coordinate, times a lever. One that a joint bounces from is come to at the
    // end of a step, and does nothing before (`lands`).
    bool stops, lands;
    bool pair_touches; // somewhere
    double hardness, lever;
} cal_contact_row;

// The constraints of a unit where it was looked at; rows is 0 where it has none.
typedef struct cal_problem_loops {
    int rows;
    double *A, *noise, *bias, *rate, *right, *memory;
    double* v; // of the unit there
    cal_projector projector;
} cal_problem_loops;

typedef struct cal_problem {
    const cal_group* group;
    cal_contact_row* rows;
    int row_count;
    int32_t *size, *first; // of units
    int32_t* stirred;      // of units: the last sweep that changed the velocity
    int last_sweep;        // its number
    bool* passive;         // of units: all their contacts are
    const bool* quiet;     // of units, for the caller to set: they stay where they are, as fixed bodies do; NULL: none
    struct cal_free_problem* free; // for sweeps, where all that moves is free (contact_sweeps.h); NULL: not all is
    double* mass;                  // blocks, one after the other
    double* mass_factor;
    int64_t* mass_at;
    bool* diagonal_mass;                    // a unit: its mass matrix is
    bool* stiff;                            // a unit: some force falls with velocity or position
    double *damping, *stiffness, *diagonal; // v_count each: D, K, and the diagonal of M itself
    double** resistance;      // of each unit that resists: the matrix that D has beside that, and M itself; else NULL
    cal_problem_loops* loops; // of each unit
    cal_blocks matrix;
    bool loose;     // pairs touch in one point each: sweeps are quick
    bool factors;   // there is a matrix: where sweeps do not come to an end, Newton does
    double moved;   // what motions that are prescribed have done beside contacts when v* was last corrected, J
    bool rough;     // for the caller to set: a part in 10⁶ will do
    double allowed; // for the caller to set: a speed that the law may be missed by, m/s; 0: what there are bits for
    int swept;      // for the caller to set to zero before a new problem: sweeps that it has had
    double
        closing; // for the caller to set: a speed at which bodies do not come to overlap too deeply; of rough solutions
    double *gradient, *direction, *work; // v_count each
    double *left, *block;                // 3 rows, and a block, of the largest unit
} cal_problem;

// What a look at a configuration fills: the contacts, and the poses of all bodies.
typedef struct cal_contact_cache {
    cal_group_contact* contacts;
    double* poses;
    int capacity, count;
    uint64_t* known; // of many contacts: bits of the keys that there are (a filter, which may say yes of others, too)
    double*
        beyond; // of each stop: where a joint that is beyond its range is stopped, as a gap; zero: at the end of its range
    cal_group_report* report;
} cal_contact_cache;

// Doubles that a cache needs, and their place in memory; false: not enough.
size_t cal_contact_cache_count(const cal_group* group, int contacts);
bool cal_contact_cache_begin(cal_contact_cache* cache, const cal_group* group, int capacity, cal_group_report* report,
                             cal_arena* arena);
static inline void cal_contact_cache_swap(cal_contact_cache* a, cal_contact_cache* b) {
    const cal_contact_cache swapped = *a;
    *a = *b, *b = swapped;
}
// The deepest overlap; 0: none.
static inline double cal_contact_cache_deepest(const cal_contact_cache* cache) {
    double deepest = 0.0;
    for (int k = 0; k < cache->count; k++) deepest = fmax(deepest, -cache->contacts[k].gap);
    return deepest;
}
// What a coordinate's way counts as one, m.
static inline double cal_stop_lever(const cal_group* group, const cal_group_stop* stop) {
    return stop->turns ? group->length : 1.0;
}
// A gap, of the length, that counts as none, so that rounding decides nothing.
#define CAL_WORK_TOUCHING 1e-7
// The same of contacts that are held in smooth steps, or hit: it is more than what closing them leaves.
#define CAL_WORK_CLOSED 2e-6
// Of the largest speed: what touches and closes more slowly, and is stopped by a step, is stopped at once.
#define CAL_WORK_STOPPING 1e-4
// The speed with which a joint leaves the stop of a row that it hits with another.
static inline double cal_stop_parting(const cal_contact_row* touch, double closing) {
    return closing > 0.0 ? closing * cal_stop_restitution(touch->hardness, closing / touch->lever) : 0.0;
}
// A joint that is beyond its range at q is stopped where it is, and may come back, as without contacts: parting it from its stop, as bodies
// are that overlap, would lift all that hangs on it. Its gap is linear in its coordinate, so that steps do not take it further.
void cal_contact_cache_stop_at(cal_contact_cache* cache, const cal_group* group, const double* q);
// The contacts that there are at q up to a margin, and stops of joints. CAL_NO_MEMORY: report->contacts says for how many there should
// be room.
cal_status cal_contact_cache_find(cal_contact_cache* cache, const cal_group* group, double time, const double* q,
                                  double margin, cal_error* error);
// The contact with a key, looked for from one on, since others are in the same order; CAL_NONE: there is none.
int cal_contact_cache_same(const cal_contact_cache* cache, uint64_t key, int from);
// The rows of one side of a contact in its frame at q, 3 × v_count of the side's unit; jacobian: as much to work with.
cal_status cal_contact_side(const cal_group* group, const double* q, const cal_group_contact* contact, int side,
                            const double frame[9], double* jacobian, double* out);
// y += what a fixed or driven body on one side of a contact adds to its speeds at a time, in its frame.
cal_status cal_contact_add_drive(const cal_group* group, double time, const cal_group_contact* contact, int side,
                                 const double frame[9], double y[3]);
// Rows of a contact's frame: the normal, and two tangents.
void cal_contact_frame(const double normal[3], double frame[9]);
// Doubles that a problem needs, for so many contacts; the matrix's fill is guessed.
size_t cal_problem_count(const cal_group* group, int contacts);
// Takes memory for masses; false: not enough.
bool cal_problem_begin(cal_problem* p, const cal_group* group, cal_arena* arena);
// Masses at q, and force f at (time, q, v); then contacts as rows with their jacobians, those that there are at q up to a margin.
// CAL_NO_MEMORY: report->contacts says for how many there should be room.
cal_status cal_problem_look(cal_problem* p, cal_contact_cache* cache, double time, const double* q, const double* v,
                            double margin, double* force, cal_arena* arena, cal_error* error);
// The same for contacts that were found already; those further away than the reach of both units together are left out (NULL: none).
cal_status cal_problem_fill(cal_problem* p, cal_contact_cache* cache, double time, const double* q, const double* v,
                            const double* reach, double* force, cal_arena* arena, cal_error* error);
// The two halves of it: masses, forces and constraints of units; then the rows, without those between units that are quiet or fixed.
cal_status cal_problem_fill_units(cal_problem* p, double time, const double* q, const double* v, double* force,
                                  cal_error* error);
cal_status cal_problem_fill_rows(cal_problem* p, cal_contact_cache* cache, double time, const double* q,
                                 const double* reach, cal_arena* arena, cal_error* error);
// v · M v.
double cal_problem_energy(const cal_problem* p, const double* v);
// Makes masses and their factors those of a step of size h that takes forces in joints at its end: M + h D + h² K; and what
// follows of that for units with constraints.
void cal_problem_stiffen(cal_problem* p, double h);
// The least change, by mass, of a unit's velocities or accelerations x after which A x is what is in `right` of its constraints. Returns the work, or
// the power, of motions that are prescribed for it, at the velocities that the unit was looked at with, and at those that it gets.
double cal_problem_correct(cal_problem* p, int unit, bool velocities, double* x);
// For units with constraints, before a solve: v* and the search's start become such that A v = r + h (ṙ − Ȧ v), and rows' offsets get
// J (1 − P) v*, as far as it is not in `drive`, which they have.
void cal_problem_constrain(cal_problem* p, double h, double* target, double* v);
// v⁺ from v* with the rows' offsets, starting the search (and De Saxcé's term) at v and the rows' held impulses. Returns the number
// of Newton steps; impulses are in the rows.
int cal_problem_solve(cal_problem* p, const double* target, double* v);
// The same to a part in a thousand, without De Saxcé's term: where only the direction matters, or there is no friction.
int cal_problem_solve_roughly(cal_problem* p, const double* target, double* v);

// The same by sweeps over the contacts, whatever v was before, until none of them changes a contact's speed by more than `end`;
// *solved: they came there (contact_sweeps.c). Leaves in `stirred` which units the last sweep has changed by more than the speed
// *least.
int cal_problem_sweep(cal_problem* p, const double* target, double* v, double end, double* least, bool* solved);
// By how much the law of a contact would change its speeds at v, if it were solved alone.
double cal_problem_missed(const cal_problem* p, const cal_contact_row* touch, const double* v);

// M⁻¹ Jᵀ and W of a row, with the masses as they are factored now.
void cal_problem_answer(cal_problem* p, cal_contact_row* touch);

// Parts of it, for those who have forces of their own. out = M x, or x · M x where out is NULL:
double cal_problem_times_mass(const cal_problem* p, const double* x, double* out);
// λ(y), the nearest of the cone to λₖ − R⁻¹ y, and G = −∂λ/∂y; returns a number for each of sticking, sliding and parting.
int cal_problem_project(const cal_contact_row* touch, const double y[3], double impulse[3], double stiffness[9]);
// λ(y) and d · G d.
double cal_problem_project_along(const cal_contact_row* touch, const double y[3], const double d[3], double impulse[3]);
// The relative velocity at a touch:
void cal_problem_velocity(const cal_problem* p, const cal_contact_row* touch, const double* v, double out[3]);
// out += sign · Jᵀ λ over all rows with a normal impulse.
void cal_problem_push(const cal_problem* p, double sign, double* out);
// The same over all rows.
void cal_problem_push_all(const cal_problem* p, double sign, double* out);
// The matrix share · M + Σ Jᵀ G J with the rows' stiffnesses G, where they have a normal impulse.
void cal_problem_assemble(cal_problem* p, double share);
