// Sweeps over the contacts of a problem in two forms: of any units (contact_sweeps.c), and of free bodies alone (free_sweeps.c), for
// which a row is a third as large and needs no question of whose it is.
#pragma once
#include "base/finite.h"
#include "simulation/contact/contact_problem.h"
#include <math.h>

// What a sweep did: the largest change of a contact's speeds, the square of all changes in the norm of W, and their product with what
// the two last sweeps have changed together; less than zero: it takes back what the momentum of those before has brought.
typedef struct cal_sweep_result {
    double most, square, along;
} cal_sweep_result;

typedef struct cal_sweep_ops {
    double unseen; // of what contacts are to be solved to: what bodies may change by without a look at their contacts
    // Impulses as they are held, and velocities with them.
    void (*begin)(cal_problem* p, const double* target, double* v);
    // Sweep `number`; changes of less than `least` stir nothing.
    cal_sweep_result (*sweep)(cal_problem* p, int number, double least, double* v);
    // Impulses and velocities go on by `share` of what they have changed by since the last call.
    void (*follow)(cal_problem* p, double share, int number, double least, double* v);
    void (*end)(cal_problem* p, double* v);
} cal_sweep_ops;

extern const cal_sweep_ops cal_free_sweeps;

// A contact of free bodies: y = offset + F (u₁ − u₀) + T₀ ω₀ + T₁ ω₁, with F the contact's frame. A side that does not move is that of
// one more body, which has no velocity and takes none. Matrices are columns of three numbers in four lanes (math/four.h).
typedef struct cal_free_row {
    double frame[3][4], turn[2][3][4], offset[4];
    double own, tilt[2], across; // of W: along the normal, what that does across, and across
    double
        mixed; // what an impulse across does to other speeds of the contact than the law of a look counts with, at most
    double inverse[2], friction; // 1 / W along the normal, and across
} cal_free_row;

// The same of balls, and of what does not move, in a third of the memory. Impulses act through the points of balls that are r from their
// centres along the normal, so that their turning rates in the world's axes, times r, say all: with s = r ω and the frame's rows n, a, b,
//
//     y = offset + F (u₁ − u₀) + (0, −b · (s₀ + s₁), a · (s₀ + s₁)),    Δs = −r² / I (λ_a b − λ_b a)
//
// W is diagonal. Columns have numbers of the law in their fourth places: W across the normal, friction, 1 / W; and across that of offset.
typedef struct cal_ball_row {
    double frame[3][4], offset[4];
} cal_ball_row;

enum { CAL_BALL_ACROSS, CAL_BALL_FRICTION, CAL_BALL_INVERSE }; // columns

// What is looked at of every contact in every sweep: whose it is, up to which sum of what its bodies have moved by it needs no look, and
// whether its impulse is another one than after the last sweep.
typedef struct cal_free_watch {
    int32_t unit[2], row;
    int32_t follows;
    double until, own; // W along the normal
} cal_free_watch;

typedef struct cal_free_motion {
    double u[4], w[4];        // velocity; of balls w is s
    double light[4], thin[4]; // 1 / mass, for both; of balls thin is r² / I
    double moved;             // by how much the speed of any of its contacts has changed so far, at most
    double arm, answer;       // of T and of what an impulse makes of these speeds: bounds over its contacts
    double follows;           // not zero: the velocity is another one than after the last sweep
} cal_free_motion;

typedef struct cal_free_problem {
    cal_free_row* rows;  // in the order of sweeps
    cal_ball_row* balls; // in their place, where all are balls; else NULL
    double* radius;      // of balls: of units; 0: they touch nothing
    double (*turned)[9]; // of balls: from the axes of v to the world's
    cal_free_watch* watch;
    cal_free_motion* motions;
    double (*impulse)[2][4];  // of contacts, and after the last sweep: a line of a cache
    double (*velocity)[2][4]; // of bodies after the last sweep
} cal_free_problem;

// Doubles that rows and bodies of a group need; their memory, where all that moves is free; false: not enough of it.
size_t cal_free_sweeps_count(const cal_group* group, int contacts);
bool cal_free_sweeps_take(cal_problem* p, const double* q, const cal_group_contact* contacts, cal_arena* arena);

// By how much an impulse is to change at speeds y, which friction limits; returns by how much that changes the speeds, infinite where these
// are not numbers. Which of two is larger is anybody's guess in most contacts: maxima, which processors have, and no branches.
static inline double cal_sweep_change(const double impulse[3], const double y[3], double own, const double tilt[2],
                                      double across, const double inverse[2], double friction, double change[3]) {
    double t[2];
    const double wanted = impulse[0] - y[0] * inverse[0], normal = wanted > 0.0 ? wanted : 0.0;
    change[0] = normal - impulse[0];
    for (int i = 0; i < 2; i++) t[i] = impulse[1 + i] - (y[1 + i] + tilt[i] * change[0]) * inverse[1];
    const double square = t[0] * t[0] + t[1] * t[1], limit = friction * normal;
    const double share = square > limit * limit ? limit / sqrt(square) : 1.0;
    for (int i = 0; i < 2; i++) change[1 + i] = share * t[i] - impulse[1 + i];
    const double sizes[2] = {fabs(change[1]), fabs(change[2])}, aside = sizes[0] > sizes[1] ? sizes[0] : sizes[1],
                 along = own * fabs(change[0]), beside = across * aside, most = along > beside ? along : beside;
    return isnan(wanted + square) ? (double)INFINITY : most;
}

// What is remembered is a start only as far as it is in the cone.
static inline void cal_sweep_start(double held[3], double friction, double impulse[3]) {
    held[0] = fmax(held[0], 0.0);
    const double length = sqrt(held[1] * held[1] + held[2] * held[2]), limit = friction * held[0],
                 share = length > limit ? limit / length : 1.0;
    impulse[0] = held[0];
    for (int i = 1; i < 3; i++) impulse[i] = share * held[i];
}
