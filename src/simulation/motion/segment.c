// What collisions and callbacks do to states: begin a new motion at a time, and change its velocities.
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/motion/multibody.h"
#include <string.h>

// Puts the state that holds at a time at the end of a free body's queue.
cal_status cal_free_body_push(cal_world* world, int component, cal_saved_state_kind kind, double time,
                              cal_error* error) {
    const int body = world->components[component].body;
    cal_motion at;
    cal_status status = cal_body_at(world, body, time, &at);
    if (status == CAL_OK) status = cal_rollback_to(world, component, time, error);
    if (status != CAL_OK) return status;
    if (cal_queue_push(world, component, kind, time) == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    const cal_queue* queue = &world->components[component].queue;
    double* data = cal_data_at(queue, queue->tail - 1);
    memcpy(data + CAL_AT_POSITION, at.pose.position, 3 * sizeof *data);
    memcpy(data + CAL_AT_VELOCITY, at.u, 3 * sizeof *data);
    memcpy(data + CAL_AT_QUATERNION, at.quaternion, 4 * sizeof *data);
    cal_unrotate3(at.pose.rotation, at.w, data + CAL_AT_ANGULAR);
    return CAL_OK;
}

cal_status cal_begin_segment(cal_world* world, int component, double time, cal_error* error) {
    if (component < 0) return CAL_OK;
    cal_component_mark_used(world, component, time);
    return world->components[component].ops->begin(world, component, time, error);
}

cal_status cal_step_component(cal_world* world, int component, double time, cal_error* error) {
    const cal_component* c = &world->components[component];
    cal_component_mark_used(world, component, time);
    if (cal_saved_state_at(&c->queue, c->queue.tail - 1)->kind == CAL_FUSED) return CAL_OK;
    return c->ops->step(world, component, time, error);
}

cal_status cal_world_response(cal_world* world, int body, double time, const cal_motion* motion, const double point[3],
                              double K[9], cal_error* error) {
    const cal_sim_body* part = &world->bodies[body];
    if (part->component < 0) return CAL_OK;
    if (part->multibody >= 0) return cal_multibody_response(world, body, -1, time, point, K, error);
    cal_add_response(part, motion, point, K);
    return CAL_OK;
}

cal_status cal_world_apply_impulse(cal_world* world, int body, double time, const cal_motion* motion,
                                   const double point[3], const double impulse[3], cal_error* error) {
    const cal_sim_body* part = &world->bodies[body];
    if (part->component < 0) return CAL_OK;
    if (part->multibody >= 0) return cal_multibody_apply(world, body, -1, time, point, impulse, error);
    const int component = cal_body_component(world, body, time);
    const cal_component* c = &world->components[component];
    double* data = cal_data_at(&c->queue, c->queue.tail - 1);
    double *velocity = data + CAL_AT_VELOCITY, *angular = data + CAL_AT_ANGULAR;
    if (c->kind == CAL_GROUP) {
        velocity = cal_group_velocity(world, component, body, data);
        angular = velocity + 3;
    }
    double arm[3], torque[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - motion->pose.position[i];
    cal_cross3(arm, impulse, torque);
    cal_unrotate3(motion->pose.rotation, torque, torque);
    for (int i = 0; i < 3; i++) {
        velocity[i] += impulse[i] / part->mass;
        angular[i] += torque[i] / part->inertia[i];
    }
    return CAL_OK;
}

cal_status cal_world_refresh(cal_world* world, int component, cal_error* error) {
    return world->components[component].ops->refresh(world, component, error);
}
