// Polynomials between two states, and what motions on them keep to.
#pragma once
#include "simulation/motion/multibody_data.h"

enum { CAL_STEP_TERMS = 6 }; // coefficients of each coordinate, of degree 3 or 5

// A coordinate between two states, in powers of s = t / h: the cubic through values and slopes, or the quintic through second
// derivatives as well; those are not read for the cubic.
void cal_fit_coordinate(int degree, double h, const double from[3], const double to[3], double out[CAL_STEP_TERMS]);
// Value and slope (by s) at s.
double cal_evaluate_coordinate(const double c[CAL_STEP_TERMS], double s, double* slope);
// The same for a quaternion with its turning rate, in its own axes, and that one's derivative; four rows. Evaluated: normalised,
// and at the rate at which it turns.
void cal_fit_quaternion(int degree, double h, const double* q, const double* w, const double* a, const double* to_q,
                        const double* to_w, const double* to_a, double* rows);
void cal_evaluate_quaternion(const double* rows, double h, double t, double q[4], double w[3]);
// The largest length on [0, 1] of a vector of `count` polynomials, by rows; not less than it is.
double cal_largest_length(const double* rows, int count, int stride, int degree);
// Turning rate and its derivative of a frame whose quaternion is a polynomial p(t / h), normalised at each time.
void cal_bound_turning(const double* rows, int stride, int degree, double h, double* turn, double* twist);

// q of a multibody between two states; accelerations are not read for cubics. rows: CAL_STEP_TERMS for each number of q.
void cal_fit_step(const cal_model* model, int degree, double h, const double* q, const double* v, const double* a,
                  const double* to_q, const double* to_v, const double* to_a, double* rows);
// q and its true rate as v at a time after the first state.
void cal_evaluate_step(const cal_model* model, const double* rows, double h, double t, double* q, double* v);
// Bounds of each link's motion over such a step, three numbers each: acceleration of its centre, turning rate, and its
// derivative. work: 3 numbers for each joint.
void cal_bound_links(const cal_world* world, const cal_multibody* m, const double* rows, int degree, double h,
                     double* work, double* out);
