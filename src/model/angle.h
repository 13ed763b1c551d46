// Angles with the library's own sine and cosine: a model's constants have the same bits from every compiler and C
// library.
#pragma once

#define CAL_PI 3.14159265358979323846

void cal_sine_cosine(double angle, double* sine, double* cosine);
// The quaternion of a turn by an angle about a unit axis.
void cal_axis_quaternion(const double axis[3], double angle, double out[4]);
