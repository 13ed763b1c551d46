#include "support_world.h"
#include <string.h>

cal_world* cal_test_world(const cal_world_def* def) {
    cal_world* world = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_world_create(def, &world, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_world_keep_events(world, true);
    return world;
}

cal_world* cal_test_world_of(const cal_model* model, const cal_world_def* def) {
    cal_world* world = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_world_from_model(model, def, &world, &error) != CAL_OK) fail_msg("%s", error.text);
    return world;
}

cal_world* cal_test_scene(const char* specification, const cal_world_def* def) {
    cal_world* world = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_world_generate(specification, def, &world, &error) != CAL_OK) fail_msg("%s: %s", specification, error.text);
    cal_world_keep_events(world, true);
    return world;
}

void cal_test_advance(cal_world* world, double time) {
    cal_error error = {CAL_OK, ""};
    if (cal_world_advance(world, time, &error) != CAL_OK) fail_msg("advance to %g: %s", time, error.text);
}

cal_world_report cal_test_report(cal_world* world) {
    cal_world_report report;
    assert_int_equal(cal_world_get_report(world, &report), CAL_OK);
    return report;
}

cal_body_id cal_test_body(const cal_world* world, const char* name) {
    char text[64];
    for (int i = 0; i < cal_world_body_count(world); i++)
        if (strcmp(cal_world_body_name(world, cal_world_body(world, i), text, sizeof text), name) == 0)
            return cal_world_body(world, i);
    fail_msg("no body %s", name);
    return (cal_body_id){-1, 0};
}

cal_body_id cal_test_add(cal_world* world, const cal_world_body_def* def, cal_shape_kind kind, double x, double y,
                         double z) {
    cal_body_id body;
    cal_error error = {CAL_OK, ""};
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = kind;
    shape.size[0] = x, shape.size[1] = y, shape.size[2] = z;
    shape.friction = 0.5;
    shape.restitution = 0.5;
    assert_int_equal(cal_world_add_body(world, def, &body, &error), CAL_OK);
    if (cal_world_add_shape(world, body, &shape, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    return body;
}

cal_body_id cal_test_add_floor(cal_world* world) {
    cal_world_body_def def = cal_default_world_body_def();
    def.motion = CAL_FIXED;
    def.name = "floor";
    return cal_test_add(world, &def, CAL_PLANE, 0, 0, 0);
}

void cal_test_add_wall(cal_world* world, int foot, int rows) {
    for (int k = 0; k < foot * rows; k++) {
        cal_world_body_def box = cal_default_world_body_def();
        box.position[0] = 0.202 * (k % foot) + 0.05 * (k / foot % 2), box.position[2] = 0.1 + 0.2 * (k / foot);
        cal_test_add(world, &box, CAL_BOX, 0.1, 0.1, 0.1);
    }
}
