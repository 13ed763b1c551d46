// Polynomials of motion in Bernstein's form: a coordinate on a step of length h, with s = t / h from 0 to 1,
//
//     p(s) = Σ bᵢ (n over i) sⁱ (1 − s)ⁿ⁻ⁱ
//
// which lies in the convex hull of its coefficients, so that the largest of them bounds it; begins at b₀ and ends at bₙ with no
// rounding; and loses no digits at any degree. Several coordinates are rows, `stride` numbers from one to the next.
#pragma once
#include "pass/solver_ops.h"

enum { CAL_CURVE_TERMS = CAL_MAX_DEGREE + 1, CAL_CUBIC = 3, CAL_CUBIC_TERMS };

// The polynomial through degree + 1 values at s = 0, 1/degree … 1, in their place.
void cal_curve_through(double* b, int degree);
// The cubic of values and velocities at both ends.
void cal_curve_hermite(double h, double from, double velocity, double to, double to_velocity, double* b);
// The same for a quaternion with its turning rate, in its own axes: four rows.
void cal_curve_hermite_quaternion(double h, const double* q, const double* w, const double* to_q, const double* to_w,
                                  double* rows, int stride);
// Value and slope (by s) at s.
double cal_curve_at(const double* b, int degree, double s, double* slope);
// The least value of a cubic between its ends, where it is less than at them, and at which s; infinite: nowhere.
double cal_curve_least(const double b[CAL_CUBIC_TERMS], double* s);
// A quaternion's direction, and the rate at which it turns, a time t after the beginning.
void cal_curve_quaternion_at(const double* rows, int stride, int degree, double h, double t, double q[4], double w[3]);
// By s.
void cal_curve_derivative(const double* b, int degree, double* out); // of degree − 1, but not less than 0
// The largest length on [0, 1] of a vector of `count` polynomials; not less than it is.
double cal_curve_length(const double* rows, int count, int stride, int degree);
// Turning rate and its derivative of a frame whose quaternion is a curve, normalised at each time; not less than they are.
void cal_curve_turning(const double* rows, int stride, int degree, double h, double* turn, double* twist);
