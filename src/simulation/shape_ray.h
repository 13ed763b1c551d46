// Rays and the shapes of a model, whether they collide or are only seen.
#pragma once
#include "collide/collide.h"

// Where a ray (a unit direction, world) first meets a shape at a pose, if that is before *nearest, which then is that. A mesh is its
// triangles, and not their hull.
cal_status cal_shape_cast(const cal_model* model, const cal_shape_def* shape, const cal_pose* pose,
                          const double origin[3], const double direction[3], double* nearest, cal_error* error);
