// What generators of mechanisms share: slender rods on hinges, and the loops that close them.
#pragma once
#include "scenes/generate.h"

// A rod of no thickness from a body's origin to a point.
void cal_rod(cal_body_def* def, const double to[3], double mass);
// The quaternion of a turn about z that takes x to (cosine, sine).
void cal_turn_about_z(double cosine, double sine, double quaternion[4]);
// Adds a body on a hinge about an axis through its origin, and returns its number.
int cal_add_hinged(cal_builder* builder, const cal_body_def* body, const char* name, const double axis[3], double start,
                   double speed);
// Closes a loop: a point of body b stays with a point of body a, along the axes of a that rows names.
void cal_close_loop(cal_builder* builder, const char* name, int a, const double in_a[3], int b, const double in_b[3],
                    uint32_t rows);

extern const double cal_axis_x[3], cal_axis_y[3], cal_axis_z[3];

// Mechanisms in a vertical plane move in x and y; gravity is along −y.
void cal_set_planar_gravity(cal_builder* builder, double gravity);
