// How a body turns that nothing turns: Euler's equations in closed form (free_turn.c).
#pragma once
#include <stdbool.h>

// The numbers of a motion from an orientation and a turning rate on, which hold for all times.
enum {
    CAL_TURN_TERMS,                       // of the sums
    CAL_TURN_FASTEST,                     // the largest |ω|, and the largest |ω̇|
    CAL_TURN_TWIST,                       // what bounds are read from comes first, in one cache line of a state
    CAL_TURN_AXES,                        // which principal axis is which, and their signs
    CAL_TURN_PRECESSION,                  // κ, rad/s
    CAL_TURN_PHASE,                       // ν, rad/s
    CAL_TURN_BEGIN,                       // cos v, sin v at the beginning
    CAL_TURN_RATES = CAL_TURN_BEGIN + 2,  // |L| / Iₖ
    CAL_TURN_SQUARE = CAL_TURN_RATES + 3, // c², and 1 − f: m₃² = c² − (1 − f) m₂²
    CAL_TURN_REST,
    CAL_TURN_FRAME,                      // of L, as a quaternion of any length
    CAL_TURN_FIRST = CAL_TURN_FRAME + 4, // the first two coefficients, and four for each term
    CAL_TURN_MOST = 4,                   // terms
    CAL_TURN_NUMBERS = CAL_TURN_FIRST + 2 + 4 * CAL_TURN_MOST
};

// From an orientation q of the principal axes, with the moments I > 0, and a turning rate w in these. False: it is so near to a turn about the
// middle axis that another method is better.
bool cal_free_turn_begin(const double I[3], const double q[4], const double w[3], double* out);
// Whether numbers may be those of a motion: whoever looks at it reads and writes nothing else.
bool cal_free_turn_sound(const double* turn);
// A time t later.
void cal_free_turn_at(const double* turn, double t, double q[4], double w[3]);
