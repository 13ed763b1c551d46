// Changes from outside, at the committed time: nothing goes back before that, so that what was changed stays changed.
#include "simulation/change.h"
#include "base/finite.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/members.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

cal_status cal_change_begin(cal_world* world, int body, int* component, cal_error* error) {
    *component = -1;
    char name[64];
    cal_status status = cal_check_changeable(world, error);
    if (status != CAL_OK) return status;
    if (world->bodies[body].stage != CAL_BEGUN)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%s has not begun to move: advance first, to the present time at least",
                        cal_body_name_at(world, body, name, sizeof name));
    *component = cal_body_component(world, body, world->time);
    if (world->bodies[body].component >= 0)
        cal_component_note_change(&world->components[world->bodies[body].component], world->time);
    status = cal_begin_forced(world, *component, world->time, error);
    if (status != CAL_OK) world->failed = status;
    return status;
}

cal_status cal_change_end(cal_world* world, int component, cal_error* error) {
    cal_status status = cal_component_refresh(world, component, error);
    if (status == CAL_OK) status = cal_world_update_changed(world, error);
    if (status != CAL_OK) world->failed = status;
    return status;
}

cal_status cal_world_begin_all(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    const int count = world->component_count;
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const cal_component* c = &world->components[i];
        if (c->ops == NULL || cal_component_is_fused(c) || cal_component_has_ended(c)) continue;
        status = cal_begin_segment(world, i, world->time, error);
        if (status == CAL_OK) status = cal_component_refresh(world, i, error);
    }
    return status == CAL_OK ? cal_world_update_changed(world, error) : status;
}

cal_status cal_world_begin_groups(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    const int count = world->report.groups > 0 ? world->component_count : 0;
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const cal_component* c = &world->components[i];
        if (c->ops == NULL || !c->ops->stepped || cal_component_has_ended(c) || cal_component_is_asleep(world, i))
            continue;
        status = cal_begin_segment(world, i, world->time, error);
    }
    return status;
}

// --- Pushes -----------------------------------------------------------------------------------------------------------------

cal_status cal_push_link(cal_world* world, int body, const double force[3], const double torque[3],
                         const double point[3], cal_error* error) {
    const cal_sim_body* link = &world->bodies[body];
    cal_multibody* m = world->multibodies[link->multibody];
    if (!cal_grow((void**)&m->pushes, &m->push_capacity, m->push_count, sizeof *m->pushes))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for forces");
    double R[9];
    cal_quaternion_matrix(m->quaternion, R);
    cal_outer_force* push = &m->pushes[m->push_count++];
    push->body = link->link;
    cal_unrotate3(R, force, push->force);
    cal_unrotate3(R, torque, push->torque);
    memcpy(push->point, point, sizeof push->point);
    return CAL_OK;
}

// All pushes of a multibody end with those of its first link.
bool cal_is_link_pushed(const cal_world* world, int body) {
    return world->bodies[body].link == 0 && world->multibodies[world->bodies[body].multibody]->push_count > 0;
}

void cal_release_links(cal_world* world, int body) {
    world->multibodies[world->bodies[body].multibody]->push_count = 0;
}

// A free body takes a force at its centre and a torque in its principal axes.
cal_status cal_push_free(cal_world* world, int body, const double force[3], const double torque[3],
                         const double point[3], cal_error* error) {
    const cal_sim_body* free = &world->bodies[body];
    cal_motion at;
    const cal_status status =
        cal_body_failed(world, body, cal_body_at(world, body, world->time, &at), world->time, error);
    if (status != CAL_OK) return status;
    const cal_numbers n = cal_body_numbers(world, body, world->time);
    double arm[3], moment[3], R[9], from_center[3];
    for (int i = 0; i < 3; i++) from_center[i] = point[i] - free->offset[i];
    cal_quaternion_matrix(free->turn, R);
    cal_unrotate3(R, from_center, arm);
    cal_rotate3(at.pose.rotation, arm, arm);
    cal_cross3(arm, force, moment);
    for (int i = 0; i < 3; i++) {
        n.acceleration[i] += force[i] / free->mass;
        moment[i] += torque[i];
    }
    cal_unrotate3(at.pose.rotation, moment, moment);
    for (int i = 0; i < 3; i++) n.torque[i] += moment[i];
    return CAL_OK;
}

bool cal_is_free_pushed(const cal_world* world, int body) {
    const cal_numbers n = cal_body_numbers(world, body, world->time);
    bool pushed = false;
    for (int i = 0; i < 3; i++) pushed |= n.acceleration[i] != world->def.gravity[i] || n.torque[i] != 0.0;
    return pushed;
}

void cal_release_free(cal_world* world, int body) {
    const cal_numbers n = cal_body_numbers(world, body, world->time);
    memcpy(n.acceleration, world->def.gravity, sizeof world->def.gravity);
    memset(n.torque, 0, 3 * sizeof *n.torque);
}

cal_status cal_world_push(cal_world* world, cal_body_id body, const double force[3], const double torque[3],
                          const double point[3], cal_error* error) {
    static const double none[3] = {0.0, 0.0, 0.0};
    int component;
    force = force ? force : none, torque = torque ? torque : none, point = point ? point : none;
    cal_status status = cal_check_body(world, body, error);
    if (status == CAL_OK && !(cal_all_finite(force, 3) && cal_all_finite(torque, 3) && cal_all_finite(point, 3)))
        status = cal_fail(error, CAL_BAD_ARGUMENT, "a push must be finite");
    if (status != CAL_OK || world->bodies[body.index].def.motion != CAL_MOVING) return status;
    status = cal_change_begin(world, body.index, &component, error);
    if (status != CAL_OK) return status;
    status = cal_body_ops(world, body.index)->push(world, body.index, force, torque, point, error);
    return status == CAL_OK ? cal_change_end(world, component, error) : status;
}

cal_status cal_world_release(cal_world* world, cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_release: world must not be NULL");
    for (int i = 0; i < world->body_count; i++) {
        const cal_component_ops* ops = cal_body_ops(world, i);
        if (world->bodies[i].component < 0 || !ops->pushed(world, i)) continue;
        int component;
        cal_status status = cal_change_begin(world, i, &component, error);
        if (status != CAL_OK) return status;
        ops->release(world, i);
        status = cal_change_end(world, component, error);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}
