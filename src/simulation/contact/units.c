// A free body as a unit of a group: q is the centre and the quaternion of the principal axes, v the centre's velocity in the
// world and the angular velocity in the principal axes.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/motion/rotate.h"
#include "simulation/world.h"
#include <string.h>

static const cal_free_member* self_of(const cal_group_member* unit) { return unit->self; }

static cal_status free_poses(const cal_group_member* unit, const double* q, double* poses) {
    (void)unit;
    memcpy(poses, q, 7 * sizeof *q);
    return CAL_OK;
}

static cal_status free_dynamics(const cal_group_member* unit, double time, const double* q, const double* v,
                                double* mass, double* force) {
    (void)time;
    (void)q;
    const cal_free_member* self = self_of(unit);
    const cal_sim_body* part = self->part;
    memset(mass, 0, 36 * sizeof *mass);
    double momentum[3], turning[3];
    for (int i = 0; i < 3; i++) {
        mass[7 * i] = part->mass;
        mass[7 * (i + 3)] = part->inertia[i];
        force[i] = part->mass * self->extras[i];
        momentum[i] = part->inertia[i] * v[3 + i];
    }
    cal_cross3(v + 3, momentum, turning);
    for (int i = 0; i < 3; i++) force[3 + i] = self->extras[3 + i] - turning[i];
    return CAL_OK;
}

static cal_status free_jacobian(const cal_group_member* unit, const double* q, int body, const double point[3],
                                double* jacobian) {
    (void)unit;
    (void)body;
    double R[9], arm[3];
    cal_quaternion_matrix(q + 3, R);
    for (int i = 0; i < 3; i++) arm[i] = point[i] - q[i];
    memset(jacobian, 0, 18 * sizeof *jacobian);
    for (int k = 0; k < 3; k++) {
        // ω = R e_k moves the point by ω × r.
        const double axis[3] = {R[k], R[3 + k], R[6 + k]};
        double velocity[3];
        cal_cross3(axis, arm, velocity);
        jacobian[6 * k + k] = 1.0;
        for (int i = 0; i < 3; i++) jacobian[6 * i + 3 + k] = velocity[i];
    }
    return CAL_OK;
}

static cal_status free_displace(const cal_group_member* unit, const double* q, const double* v, double time,
                                double* out) {
    (void)unit;
    for (int i = 0; i < 3; i++) out[i] = q[i] + time * v[i];
    cal_quaternion_turn(q + 3, v + 3, time, out + 3);
    return CAL_OK;
}

static cal_status free_rate(const cal_group_member* unit, const double* q, const double* v, double* rate) {
    (void)unit;
    const double w[4] = {0.0, 0.5 * v[3], 0.5 * v[4], 0.5 * v[5]};
    memcpy(rate, v, 3 * sizeof *v);
    cal_quaternion_multiply(q + 3, w, rate + 3);
    return CAL_OK;
}

static cal_status free_normalize(const cal_group_member* unit, double* q) {
    (void)unit;
    cal_quaternion_normalize(q + 3);
    return CAL_OK;
}

static const cal_group_member_ops free_member_ops = {.poses = free_poses,
                                                     .dynamics = free_dynamics,
                                                     .jacobian = free_jacobian,
                                                     .displace = free_displace,
                                                     .rate = free_rate,
                                                     .normalize = free_normalize};

cal_status cal_free_body_member(const cal_world* world, int component, cal_group_member* out, cal_error* error) {
    cal_free_member* self = cal_allocate(1, sizeof *self);
    if (self == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    self->part = &world->bodies[world->components[component].body];
    *out = (cal_group_member){.ops = &free_member_ops,
                              .self = self,
                              .q_count = 7,
                              .v_count = 6,
                              .body_count = 1,
                              .extras_count = 6 + self->part->def.slots,
                              .free = true};
    return CAL_OK;
}
