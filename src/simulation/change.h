// Changes from outside, at the committed time.
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"

// A new motion of whatever is in charge of a body begins at the world's time; the caller changes its numbers
// (cal_body_numbers) and ends the change.
cal_status cal_change_begin(cal_world* world, int body, int* component, cal_error* error);
cal_status cal_change_end(cal_world* world, int component, cal_error* error);

// Pushes on free bodies and links, for their tables.
cal_status cal_push_free(cal_world* world, int body, const double force[3], const double torque[3],
                         const double point[3], cal_error* error);
cal_status cal_push_link(cal_world* world, int body, const double force[3], const double torque[3],
                         const double point[3], cal_error* error);
bool cal_is_free_pushed(const cal_world* world, int body);
bool cal_is_link_pushed(const cal_world* world, int body);
void cal_release_free(cal_world* world, int body);
void cal_release_links(cal_world* world, int body);
