// Kinematics along the path from the ground to one body, for what needs no more than that body: O(depth), not O(bodies).
#pragma once
#include "calder/calder.h"

// A body's frame in the world and how it moves.
typedef struct cal_body_course {
    double position[3], quaternion[4];
    double velocity[3], angular[3]; // of the body's origin, and of the body; world's axes
} cal_body_course;

typedef struct cal_path cal_path;

// The path to a body; the model must outlive it. NULL when there is no memory.
cal_path* cal_path_create(const cal_model* model, int body);
void cal_path_destroy(cal_path* path); // NULL is allowed
// Follows it at positions and velocities in the user's order; v may be NULL: at rest.
void cal_path_follow(const cal_path* path, const double* q, const double* v, cal_body_course* out);
// Position and velocity (may be NULL) of a point of the body, in the world.
void cal_body_course_at(const cal_body_course* motion, const double point[3], double position[3], double velocity[3]);
