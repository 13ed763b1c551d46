// A model's state, read from and written to the components of a world.
//
// A free joint of a free body: q is the pose of the body's frame, v the velocity of the frame's origin (the centre's, less
// ω × the way to the centre) and ω in the body's axes. Any other joint's numbers are those of its multibody.
#include "simulation/model_map.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/change.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

cal_status cal_model_map_create(const cal_model* model, cal_model_map** out) {
    const size_t bodies = (size_t)cal_model_body_count(model), joints = (size_t)cal_model_joint_count(model);
    const size_t motors = (size_t)cal_model_actuator_count(model);
    const size_t constraints = (size_t)cal_model_constraint_count(model);
    cal_model_map* map = *out = cal_allocate(1, sizeof *map);
    if (map == NULL) return CAL_NO_MEMORY;
    map->body = cal_allocate(bodies + 1, sizeof *map->body);
    map->place = cal_allocate(7 * bodies + 1, sizeof *map->place);
    map->joint = cal_allocate(joints + 1, sizeof *map->joint);
    map->motor = cal_allocate(motors + 1, sizeof *map->motor);
    map->constraint = cal_allocate(constraints + 1, sizeof *map->constraint);
    map->numbers =
        cal_allocate((size_t)cal_model_q_count(model) + (size_t)cal_model_v_count(model) + 1, sizeof *map->numbers);
    if (!map->body || !map->place || !map->joint || !map->motor || !map->constraint || !map->numbers) {
        cal_model_map_destroy(map);
        *out = NULL;
        return CAL_NO_MEMORY;
    }
    for (size_t i = 0; i < constraints; i++) map->constraint[i].multibody = -1;
    for (size_t i = 0; i < motors; i++) map->motor[i].multibody = -1;
    return CAL_OK;
}

void cal_model_map_destroy(cal_model_map* map) {
    if (map == NULL) return;
    void* const lists[] = {map->body, map->place, map->joint, map->motor, map->constraint, map->numbers, map};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

// --- Reading ------------------------------------------------------------------------------------------------------------

static cal_status read_free(cal_world* world, int body, double* q, double* v) {
    double position[3], quaternion[4], velocity[3], angular[3], R[9], center[3], turning[3];
    const cal_status status =
        cal_world_get_body(world, cal_world_body(world, body), position, quaternion, velocity, angular);
    if (status != CAL_OK) return status;
    if (q != NULL) {
        memcpy(q, position, sizeof position);
        memcpy(q + 3, quaternion, sizeof quaternion);
    }
    if (v == NULL) return CAL_OK;
    cal_quaternion_matrix(quaternion, R);
    cal_rotate3(R, world->bodies[body].offset, center);
    cal_cross3(angular, center, turning);
    for (int i = 0; i < 3; i++) v[i] = velocity[i] - turning[i];
    cal_unrotate3(R, angular, v + 3);
    return CAL_OK;
}

// Which of the whole model's joints belong to a multibody, one after the other: where its numbers go.
static void scatter(const cal_model* model, const cal_model_map* map, int multibody, const cal_model* own,
                    const double* own_q, const double* own_v, double* q, double* v) {
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        if (map->joint[joint].multibody != multibody) continue;
        cal_joint_def def;
        int to_q, to_v, from_q, from_v;
        cal_model_joint(model, joint, &def, NULL, &to_q, &to_v);
        cal_model_joint(own, map->joint[joint].number, &def, NULL, &from_q, &from_v);
        if (q != NULL) memcpy(q + to_q, own_q + from_q, (size_t)cal_joint_q_count(def.kind) * sizeof *q);
        if (v != NULL) memcpy(v + to_v, own_v + from_v, (size_t)cal_joint_v_count(def.kind) * sizeof *v);
    }
}

cal_status cal_map_state(cal_world* world, const cal_model* model, const cal_model_map* map, double* q, double* v) {
    cal_status status = cal_world_complete(world);
    for (int joint = 0; status == CAL_OK && joint < cal_model_joint_count(model); joint++) {
        if (map->joint[joint].multibody >= 0) continue;
        cal_joint_def def;
        int at_q, at_v;
        cal_model_joint(model, joint, &def, NULL, &at_q, &at_v);
        status = read_free(world, map->joint[joint].number, q != NULL ? q + at_q : NULL, v != NULL ? v + at_v : NULL);
    }
    for (int i = 0; status == CAL_OK && i < world->multibody_count; i++) {
        cal_multibody* m = world->multibodies[i];
        if (!m->of_model) continue;
        const cal_multibody_model* e = m->engine;
        double *own_q = map->numbers, *own_v = own_q + e->q_count;
        status = cal_multibody_at(world, m, world->time, own_q, own_v);
        if (status == CAL_OK) scatter(model, map, i, e->model, own_q, own_v, q, v);
    }
    return status;
}

cal_status cal_map_poses(const cal_world* world, const cal_model* model, const cal_model_map* map, double* poses) {
    for (int body = 0; body < cal_model_body_count(model); body++) {
        const double* place = map->place + 7 * body;
        double* out = poses + 7 * body;
        memcpy(out, place, 7 * sizeof *out);
        if (map->body[body] < 0) continue;
        double position[3], quaternion[4], R[9];
        const cal_status status =
            cal_world_get_body(world, cal_world_body(world, map->body[body]), position, quaternion, NULL, NULL);
        if (status != CAL_OK) return status;
        cal_quaternion_matrix(quaternion, R);
        cal_rotate3(R, place, out);
        for (int i = 0; i < 3; i++) out[i] += position[i];
        cal_quaternion_multiply(quaternion, place + 3, out + 3);
    }
    return CAL_OK;
}

// --- Writing ------------------------------------------------------------------------------------------------------------

static cal_status drive_multibody(cal_world* world, const cal_model* model, const cal_model_map* map, int multibody,
                                  const double* tau, const double* control, cal_error* error) {
    const cal_multibody* m = world->multibodies[multibody];
    int component;
    cal_status status = cal_change_begin(world, m->bodies[0], &component, error);
    if (status != CAL_OK) return status;
    const cal_numbers numbers = cal_body_numbers(world, m->bodies[0], world->time);
    double* controls = cal_multibody_control(m, numbers.tau);
    cal_drive_move(m->engine->model, world->time, world->time, controls);
    for (int joint = 0; tau != NULL && joint < cal_model_joint_count(model); joint++) {
        if (map->joint[joint].multibody != multibody) continue;
        cal_joint_def def;
        int from, to;
        cal_model_joint(model, joint, &def, NULL, NULL, &from);
        cal_model_joint(m->engine->model, map->joint[joint].number, &def, NULL, NULL, &to);
        memcpy(numbers.tau + to, tau + from, (size_t)cal_joint_v_count(def.kind) * sizeof *tau);
    }
    for (int motor = 0; control != NULL && motor < cal_model_actuator_count(model); motor++)
        if (map->motor[motor].multibody == multibody) controls[map->motor[motor].number] = control[motor];
    return cal_change_end(world, component, error);
}

cal_status cal_map_activate(cal_world* world, const cal_model* model, const cal_model_map* map,
                            const double* activations, cal_error* error) {
    cal_status status = CAL_OK;
    for (int k = 0; status == CAL_OK && k < world->multibody_count; k++) {
        const cal_multibody* m = world->multibodies[k];
        if (m->stage == CAL_REMOVED || !m->of_model || !cal_model_has_activations(m->engine->model)) continue;
        int component;
        status = cal_change_begin(world, m->bodies[0], &component, error);
        if (status != CAL_OK) break;
        const cal_numbers numbers = cal_body_numbers(world, m->bodies[0], world->time);
        double* drive = cal_multibody_control(m, numbers.tau);
        cal_drive_move(m->engine->model, world->time, world->time, drive);
        for (int motor = 0; motor < cal_model_actuator_count(model); motor++)
            if (map->motor[motor].multibody == k)
                drive[cal_model_actuator_count(m->engine->model) + map->motor[motor].number] = activations[motor];
        status = cal_change_end(world, component, error);
    }
    return status;
}

cal_status cal_map_drive(cal_world* world, const cal_model* model, const cal_model_map* map, const double* tau,
                         const double* control, cal_error* error) {
    // A free joint's own force is one on a free body: world's axes at the frame's origin, and the body's axes.
    for (int joint = 0; tau != NULL && joint < cal_model_joint_count(model); joint++) {
        if (map->joint[joint].multibody >= 0) continue;
        int at_v;
        cal_joint_def def;
        cal_model_joint(model, joint, &def, NULL, NULL, &at_v);
        for (int i = 0; i < 6; i++)
            if (tau[at_v + i] != 0.0)
                return cal_fail(error, CAL_NOT_AVAILABLE,
                                "a joint force on the free joint of a body that flies by itself: use cal_sim_push");
    }
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < world->multibody_count; i++)
        if (world->multibodies[i]->of_model) status = drive_multibody(world, model, map, i, tau, control, error);
    return status;
}
