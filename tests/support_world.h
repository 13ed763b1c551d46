// What tests of worlds share.
#pragma once
#include "calder/calder_world.h"
#include "support.h"

// An empty world, or that of a scene, which keeps its events; def may be NULL. The test fails with the error's text where there
// is none.
cal_world* cal_test_world(const cal_world_def* def);
cal_world* cal_test_scene(const char* specification, const cal_world_def* def);
cal_world* cal_test_world_of(const cal_model* model, const cal_world_def* def); // without keeping events
void cal_test_advance(cal_world* world, double time);
cal_world_report cal_test_report(cal_world* world);
// A body by its name.
cal_body_id cal_test_body(const cal_world* world, const char* name);
// Adds a body with one shape: friction 0.5, restitution 0.5.
cal_body_id cal_test_add(cal_world* world, const cal_world_body_def* def, cal_shape_kind kind, double x, double y,
                         double z);
// A fixed plane, z = 0.
cal_body_id cal_test_add_floor(cal_world* world);
// Boxes of 20 cm on that floor, rows of so many, each row beside the one below by a quarter of a box.
void cal_test_add_wall(cal_world* world, int foot, int rows);
