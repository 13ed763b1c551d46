// What bodies begin with (start.c).
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"

// A symmetric matrix (xx, yy, zz, xy, xz, yz) as moments about axes, which the quaternion turns to.
void cal_principal_axes(const double inertia[6], double moments[3], double quaternion[4]);
// Mass, centre, axes, form of a link.
cal_status cal_body_weigh_link(cal_world* world, int body, cal_error* error);
