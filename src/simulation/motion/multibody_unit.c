// Multibodies where they meet others, or themselves: how a link answers to an impulse (through the articulated inertia: K = J
// M⁻¹ Jᵀ), and the multibody as a unit of a contact group. Where two links of one multibody meet, J is that of the one's
// velocity relative to the other's: an impulse on one moves both.
#include "simulation/motion/multibody_data.h"
#include "base/memory.h"
#include "simulation/contact/block_cholesky.h"
#include "simulation/contact/contact_group.h"
#include "simulation/motion/rotate.h"
#include <string.h>

// The Jacobian of a point of the world that belongs to a link: 3 × v, rows, in the world's axes.
static cal_status point_jacobian(cal_multibody* m, const double* q, int link, const double point[3], double* out) {
    cal_multibody_model* e = m->engine;
    cal_status status = cal_state_set(e->kinematics_state, CAL_Q, q);
    if (status == CAL_OK) status = cal_plan_execute(e->kinematics, e->kinematics_state, NULL);
    if (status == CAL_OK) status = cal_state_get(e->kinematics_state, CAL_POSE, e->poses);
    if (status != CAL_OK) return status;
    double R[9], local[3], body_R[9];
    cal_quaternion_matrix(m->quaternion, R);
    for (int i = 0; i < 3; i++) local[i] = point[i] - m->position[i];
    cal_unrotate3(R, local, local);
    for (int i = 0; i < 3; i++) local[i] -= e->poses[7 * link + i];
    cal_quaternion_matrix(e->poses + 7 * link + 3, body_R);
    cal_unrotate3(body_R, local, local);
    status = cal_state_jacobian(e->kinematics_state, link, local, e->jacobian);
    for (int k = 0; status == CAL_OK && k < e->v_count; k++) {
        double column[3];
        for (int i = 0; i < 3; i++) column[i] = e->jacobian[i * e->v_count + k];
        cal_rotate3(R, column, column);
        for (int i = 0; i < 3; i++) out[i * e->v_count + k] = column[i];
    }
    return status;
}

// q and v of the state that holds: the multibody's own, or its part of a group's.
static void numbers_of(const cal_world* world, int body, double time, double** q, double** v) {
    const cal_numbers n = cal_body_numbers(world, body, time);
    *q = n.q;
    *v = n.v;
}

// J in the first 3 × v numbers, and as many behind it for work.
static cal_status prepare_impulse(cal_world* world, int body, int other, const double* q, const double point[3],
                                  double** jacobian, cal_error* error) {
    cal_multibody* m = &world->multibodies[world->bodies[body].multibody];
    const int n = m->engine->v_count;
    *jacobian = cal_allocate(6 * (size_t)n + 1, sizeof **jacobian);
    if (*jacobian == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    double *J = *jacobian, *minus = J + 3 * n;
    cal_status status = point_jacobian(m, q, world->bodies[body].link, point, J);
    if (status == CAL_OK && other >= 0) status = point_jacobian(m, q, world->bodies[other].link, point, minus);
    for (int i = 0; other >= 0 && i < 3 * n; i++) J[i] -= minus[i];
    if (status == CAL_OK) status = cal_multibody_model_mass(m->engine, q, m->engine->mass);
    if (status == CAL_OK && !cal_dense_factor(m->engine->mass, n)) status = CAL_NOT_FINITE;
    char name[64];
    if (status != CAL_OK)
        return cal_fail(error, status, "the multibody of %s has no mass matrix: %s",
                        cal_body_name_at(world, body, name, sizeof name), cal_status_text(status));
    return CAL_OK;
}

cal_status cal_multibody_response(cal_world* world, int body, int other, double time, const double point[3],
                                  double K[9], cal_error* error) {
    double *q, *v, *jacobian = NULL;
    numbers_of(world, body, time, &q, &v);
    const cal_status status = prepare_impulse(world, body, other, q, point, &jacobian, error);
    const cal_multibody_model* e = world->multibodies[world->bodies[body].multibody].engine;
    const int n = e->v_count;
    for (int j = 0; status == CAL_OK && j < 3; j++) {
        double* column = jacobian + 3 * n;
        memcpy(column, jacobian + j * n, (size_t)n * sizeof *column);
        cal_dense_solve(e->mass, n, column);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < n; k++) K[3 * i + j] += jacobian[i * n + k] * column[k];
    }
    cal_free(jacobian);
    return status;
}

cal_status cal_multibody_apply(cal_world* world, int body, int other, double time, const double point[3],
                               const double impulse[3], cal_error* error) {
    double *q, *v, *jacobian = NULL;
    numbers_of(world, body, time, &q, &v);
    const cal_status status = prepare_impulse(world, body, other, q, point, &jacobian, error);
    cal_multibody* m = &world->multibodies[world->bodies[body].multibody];
    const int n = m->engine->v_count;
    if (status == CAL_OK) {
        double* change = jacobian + 3 * n;
        for (int k = 0; k < n; k++) {
            change[k] = 0.0;
            for (int i = 0; i < 3; i++) change[k] += jacobian[i * n + k] * impulse[i];
        }
        cal_dense_solve(m->engine->mass, n, change);
        for (int k = 0; k < n; k++) v[k] += change[k];
    }
    cal_free(jacobian);
    cal_multibody_forget(m);
    return status;
}

// --- Parting at the start -----------------------------------------------------------------------------------------------------

// The free joint from which a link hangs, −1: it hangs from the ground.
static int free_joint_above(const cal_model* model, int link) {
    cal_body_def def;
    for (cal_model_body(model, link, &def); def.parent != CAL_GROUND; cal_model_body(model, link, &def))
        link = def.parent;
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def own;
        int body;
        cal_model_joint(model, joint, &own, &body, NULL, NULL);
        if (body == link && own.kind == CAL_FREE) return joint;
    }
    return -1;
}

double cal_multibody_loose_mass(const cal_world* world, int body) {
    const cal_model* model = world->multibodies[world->bodies[body].multibody].engine->model;
    return free_joint_above(model, world->bodies[body].link) >= 0 ? cal_model_mass(model) : 0.0;
}

cal_status cal_multibody_shift(cal_world* world, int body, const double by[3], cal_error* error) {
    const cal_sim_body* part = &world->bodies[body];
    const cal_multibody* m = &world->multibodies[part->multibody];
    const int joint = free_joint_above(m->engine->model, part->link);
    if (joint < 0) return CAL_OK;
    cal_joint_def def;
    int first_q;
    double R[9], local[3], *data = cal_data_at(&world->components[m->component].queue, 0);
    cal_model_joint(m->engine->model, joint, &def, NULL, &first_q, NULL);
    cal_quaternion_matrix(m->quaternion, R);
    cal_unrotate3(R, by, local);
    for (int i = 0; i < 3; i++) data[first_q + i] += local[i];
    return cal_multibody_refresh(world, m->component, error);
}

// --- As a unit ----------------------------------------------------------------------------------------------------------------

static cal_multibody* self_of(const cal_group_member* unit) { return unit->self; }

static void unit_poses(const cal_group_member* unit, const double* q, double* poses) {
    cal_multibody* m = self_of(unit);
    cal_multibody_model* e = m->engine;
    const cal_links* at = cal_multibody_forgotten(m);
    memset(e->work, 0, (size_t)e->v_count * sizeof *e->work);
    if (cal_multibody_links(m->world, m, q, e->work, at->links, m->links_jacobian) != CAL_OK) return;
    for (int i = 0; i < e->body_count; i++) {
        memcpy(poses + 7 * i, at->links[i].pose.position, 3 * sizeof *poses);
        memcpy(poses + 7 * i + 3, at->links[i].quaternion, 4 * sizeof *poses);
    }
}

static void unit_dynamics(const cal_group_member* unit, double time, const double* q, const double* v, double* mass,
                          double* force) {
    cal_multibody* m = self_of(unit);
    cal_multibody_model* e = m->engine;
    const int n = e->v_count;
    cal_multibody_model_mass(e, q, mass);
    double* acceleration = e->work;
    if (cal_multibody_model_acceleration(e, time, q, v, m->extras, acceleration) != CAL_OK)
        memset(acceleration, 0, (size_t)n * sizeof *acceleration);
    for (int i = 0; i < n; i++) {
        force[i] = 0.0;
        for (int k = 0; k < n; k++) force[i] += mass[i * n + k] * acceleration[k];
    }
}

static void unit_jacobian(const cal_group_member* unit, const double* q, int body, const double point[3],
                          double* jacobian) {
    cal_multibody* m = self_of(unit);
    if (point_jacobian(m, q, body, point, jacobian) != CAL_OK)
        memset(jacobian, 0, 3 * (size_t)m->engine->v_count * sizeof *jacobian);
}

static void unit_displace(const cal_group_member* unit, const double* q, const double* v, double time, double* out) {
    const cal_model* model = self_of(unit)->engine->model;
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        int at_q, at_v;
        cal_model_joint(model, joint, &def, NULL, &at_q, &at_v);
        if (def.kind == CAL_FREE) {
            for (int i = 0; i < 3; i++) out[at_q + i] = q[at_q + i] + time * v[at_v + i];
            cal_quaternion_turn(q + at_q + 3, v + at_v + 3, time, out + at_q + 3);
        } else if (def.kind == CAL_BALL) {
            cal_quaternion_turn(q + at_q, v + at_v, time, out + at_q);
        } else {
            out[at_q] = q[at_q] + time * v[at_v];
        }
    }
}

static void unit_rate(const cal_group_member* unit, const double* q, const double* v, double* rate) {
    cal_multibody_rate(self_of(unit)->engine->model, q, v, rate);
}

static void unit_normalize(const cal_group_member* unit, double* q) {
    cal_multibody_normalize(self_of(unit)->engine->model, q);
}

static bool unit_slopes(const cal_group_member* unit, const double* q, const double* v, double* damping,
                        double* stiffness) {
    return cal_joint_slopes(self_of(unit)->engine->model, q, v, damping, stiffness);
}

static const cal_group_member_ops multibody_unit_ops = {.poses = unit_poses,
                                                        .dynamics = unit_dynamics,
                                                        .jacobian = unit_jacobian,
                                                        .displace = unit_displace,
                                                        .rate = unit_rate,
                                                        .normalize = unit_normalize,
                                                        .slopes = unit_slopes};

cal_group_member cal_multibody_member(const cal_world* world, int component) {
    cal_multibody* m = world->components[component].multibody;
    return (cal_group_member){.ops = &multibody_unit_ops,
                              .self = m,
                              .q_count = m->engine->q_count,
                              .v_count = m->engine->v_count,
                              .body_count = m->engine->body_count};
}

void cal_multibody_set_extras(cal_group_member* unit, const double* extras) { self_of(unit)->extras = extras; }
