// What a body is asked for: of the component that is in charge of it at a time, or of its own one.
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdio.h>
#include <string.h>

const cal_component_ops* cal_body_ops(const cal_world* world, int body) {
    static const cal_component_ops* const without[] = {[CAL_MOVING] = &cal_fixed_body, // before the start
                                                       [CAL_FIXED] = &cal_fixed_body,
                                                       [CAL_DRIVEN] = &cal_driven_body};
    const cal_sim_body* part = &world->bodies[body];
    return part->component >= 0 ? world->components[part->component].ops : without[part->def.motion];
}

int cal_body_component(const cal_world* world, int body, double time) {
    const int component = world->bodies[body].component;
    if (component < 0) return -1;
    const cal_queue* queue = &world->components[component].queue;
    const int64_t n = cal_queue_find(queue, time);
    if (n < 0) return component;
    const cal_saved_state* knot = cal_saved_state_at(queue, n);
    return knot->kind == CAL_FUSED ? knot->group : component;
}

// The table of what is in charge.
static const cal_component_ops* charge_of(const cal_world* world, int body, double time, int* component) {
    *component = cal_body_component(world, body, time);
    return *component >= 0 ? world->components[*component].ops : cal_body_ops(world, body);
}

cal_status cal_body_at(cal_world* world, int body, double time, cal_motion* out) {
    int component;
    return charge_of(world, body, time, &component)->motion(world, component, body, time, time, true, out);
}

cal_status cal_body_place_at(cal_world* world, int body, double time, cal_motion* out) {
    int component;
    const cal_component_ops* ops = charge_of(world, body, time, &component);
    return ops->motion(world, component, body, time, time, world->bodies[body].spinning, out);
}

cal_status cal_body_place_ahead(cal_world* world, int body, double from, double time, cal_motion* out) {
    int component;
    const cal_component_ops* ops = charge_of(world, body, from, &component);
    return ops->motion(world, component, body, from, time, world->bodies[body].spinning, out);
}

cal_status cal_body_failed(const cal_world* world, int body, cal_status status, double time, cal_error* error) {
    char name[64];
    if (status == CAL_OK) return CAL_OK;
    return cal_fail(error, status, "%s cannot be followed to %g s: %s",
                    cal_body_name_at(world, body, name, sizeof name), time, cal_status_text(status));
}

cal_status cal_body_bounds(cal_world* world, int body, double from, double until, cal_motion_bounds* out) {
    int component;
    *out = (cal_motion_bounds){.until = until, .begin = -(double)INFINITY, .end = (double)INFINITY};
    const cal_status status =
        charge_of(world, body, from, &component)->bounds(world, component, body, from, until, out);
    out->until = fmin(out->until, until);
    return status;
}

cal_numbers cal_body_numbers(const cal_world* world, int body, double time) {
    const int component = cal_body_component(world, body, time);
    if (component < 0) return (cal_numbers){0};
    const cal_component* c = &world->components[component];
    const int64_t n = cal_queue_find(&c->queue, time);
    double* data = cal_data_at(&c->queue, n >= 0 ? n : c->queue.head);
    const cal_state_numbers at = c->ops->locate(world, component, body, data);
    return cal_body_ops(world, body)->numbers(world, body, &at);
}

cal_status cal_body_response(cal_world* world, int body, int other, double time, const cal_motion* motion,
                             const double point[3], double K[9], cal_error* error) {
    return cal_body_ops(world, body)->response(world, body, other, time, motion, point, K, error);
}

cal_status cal_body_apply(cal_world* world, int body, int other, double time, const cal_motion* motion,
                          const double point[3], const double impulse[3], double* work, cal_error* error) {
    return cal_body_ops(world, body)->apply(world, body, other, time, motion, point, impulse, work, error);
}

void cal_motion_to_frame(const cal_sim_body* part, const cal_motion* at, double position[3], double quaternion[4]) {
    const double back[4] = {part->turn[0], -part->turn[1], -part->turn[2], -part->turn[3]};
    double q[4], R[9], center[3];
    cal_quaternion_multiply(at->quaternion, back, q);
    cal_quaternion_matrix(q, R);
    cal_rotate3(R, part->offset, center);
    for (int i = 0; position != NULL && i < 3; i++) position[i] = at->pose.position[i] - center[i];
    if (quaternion != NULL) memcpy(quaternion, q, sizeof q);
}

const char* cal_body_name_at(const cal_world* world, int body, char* text, size_t capacity) {
    if (world->bodies[body].name != NULL)
        snprintf(text, capacity, "%s", world->bodies[body].name);
    else
        snprintf(text, capacity, "body %d", body);
    return text;
}
