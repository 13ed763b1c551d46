// Multibodies where they meet others, or themselves: how a link answers to an impulse (K = J P M⁻¹ Jᵀ, with P the projection
// onto what its constraints allow, projector.h), and the multibody as a unit of a contact group. Where two links of one multibody meet, J is that of the one's
// velocity relative to the other's: an impulse on one moves both.
#include "base/hash.h"
#include "base/memory.h"
#include "constraint/dense.h"
#include "model/coordinates.h"
#include "pass/joint_law.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/group.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

// The Jacobian of a point of the world that belongs to a link: 3 × v, rows, in the world's axes.
static cal_status point_jacobian(cal_multibody* m, const double* q, int link, const double point[3], double* out) {
    cal_multibody_model* e = m->engine;
    cal_status status = cal_multibody_model_place(e, q);
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

// J, with constraints J P, in the first 3 × v numbers, and as many behind it for work; the mass matrix is factored. carried: J (1 − P) v, what
// motions that are prescribed give to the point.
static cal_status prepare_impulse(cal_world* world, int body, int other, const cal_numbers* at, const double point[3],
                                  double** jacobian, bool* held, double carried[3], cal_error* error) {
    cal_multibody* m = world->multibodies[world->bodies[body].multibody];
    cal_multibody_model* e = m->engine;
    const int n = e->v_count;
    *jacobian = cal_allocate(6 * (size_t)n + 1, sizeof **jacobian);
    if (*jacobian == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    double *J = *jacobian, *minus = J + 3 * n;
    cal_status status = point_jacobian(m, at->q, world->bodies[body].link, point, J);
    if (status == CAL_OK && other >= 0) status = point_jacobian(m, at->q, world->bodies[other].link, point, minus);
    for (int i = 0; other >= 0 && i < 3 * n; i++) J[i] -= minus[i];
    if (status == CAL_OK) status = cal_multibody_model_mass(e, at->q, e->mass);
    if (status == CAL_OK && !cal_dense_factor(e->mass, n)) status = CAL_NOT_FINITE;
    char name[64];
    if (status != CAL_OK)
        return cal_fail(error, status, "the multibody of %s has no mass matrix: %s",
                        cal_body_name_at(world, body, name, sizeof name), cal_status_text(status));
    cal_multibody_use(m, at->tau + n + m->slots);
    *held = cal_loops_make_projector(e, at->q, at->v, e->mass);
    for (int i = 0; i < 3; i++) {
        carried[i] = 0.0;
        if (!*held) continue;
        memcpy(minus, J + i * n, (size_t)n * sizeof *J);
        cal_projector_apply_row(&e->projector, J + i * n);
        for (int k = 0; e->constraints->moved && k < n; k++) carried[i] += (minus[k] - J[i * n + k]) * at->v[k];
    }
    return CAL_OK;
}

cal_status cal_multibody_response(cal_world* world, int body, int other, double time, const double point[3],
                                  double K[9], cal_error* error) {
    double *jacobian = NULL, carried[3];
    bool held = false;
    const cal_numbers at = cal_body_numbers(world, body, time);
    const cal_status status = prepare_impulse(world, body, other, &at, point, &jacobian, &held, carried, error);
    const cal_multibody_model* e = world->multibodies[world->bodies[body].multibody]->engine;
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
                               const double impulse[3], double* work, cal_error* error) {
    double *jacobian = NULL, carried[3];
    bool held = false;
    const cal_numbers at = cal_body_numbers(world, body, time);
    const cal_status status = prepare_impulse(world, body, other, &at, point, &jacobian, &held, carried, error);
    cal_multibody* m = world->multibodies[world->bodies[body].multibody];
    const int n = m->engine->v_count;
    if (status == CAL_OK) {
        double* change = jacobian + 3 * n;
        for (int k = 0; k < n; k++) {
            change[k] = 0.0;
            for (int i = 0; i < 3; i++) change[k] += jacobian[i * n + k] * impulse[i];
        }
        cal_dense_solve(m->engine->mass, n, change);
        // What rounding has left of what constraints do not allow goes; of a motion that is prescribed v has some.
        const bool moved = held && m->engine->constraints->moved;
        if (moved) cal_projector_apply(&m->engine->projector, change);
        for (int k = 0; k < n; k++) at.v[k] += change[k];
        if (held && !moved) cal_projector_apply(&m->engine->projector, at.v);
        *work -= cal_dot3(carried, impulse);
    }
    cal_free(jacobian);
    cal_multibody_forget(m, -(double)INFINITY);
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

// Of the joints from which trees that constraints connect hang, all are free ones, or none of the trees is loose.
static bool roots_are_free(const cal_model* model) {
    for (int link = 0; link < cal_model_body_count(model); link++)
        if (free_joint_above(model, link) < 0) return false;
    return true;
}

double cal_multibody_loose_mass(const cal_world* world, int body) {
    const cal_multibody_model* e = world->multibodies[world->bodies[body].multibody]->engine;
    if (e->constraint_count > 0 && !(cal_loops_are_loose(e) && roots_are_free(e->model))) return 0.0;
    return free_joint_above(e->model, world->bodies[body].link) >= 0 ? cal_model_mass(e->model) : 0.0;
}

cal_status cal_multibody_shift(cal_world* world, int body, const double by[3], cal_error* error) {
    const cal_sim_body* part = &world->bodies[body];
    const cal_multibody* m = world->multibodies[part->multibody];
    const cal_model* model = m->engine->model;
    const int own = free_joint_above(model, part->link);
    if (own < 0) return CAL_OK;
    double R[9], local[3], *data = cal_data_at(&world->components[m->component].queue, 0);
    cal_quaternion_matrix(m->quaternion, R);
    cal_unrotate3(R, by, local);
    // What constraints connect goes along.
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        int first_q;
        cal_model_joint(model, joint, &def, NULL, &first_q, NULL);
        if (joint != own && (m->engine->constraint_count == 0 || def.kind != CAL_FREE)) continue;
        for (int i = 0; i < 3; i++) data[first_q + i] += local[i];
    }
    return cal_multibody_refresh(world, m->component, error);
}

// --- Energy ---------------------------------------------------------------------------------------------------------------------

cal_status cal_multibody_energy(cal_world* world, int component, const double* q, const double* v, double* out) {
    double energy[2] = {0.0, 0.0};
    const cal_status status = cal_multibody_model_energy(world->components[component].multibody->engine, q, v, energy);
    *out = energy[0] + energy[1];
    return status;
}

// Simpson's rule over what motors, joint forces and pushes do at both ends and in the middle of the cubic between them.
cal_status cal_multibody_work(cal_world* world, int component, const cal_member_span* span, double* out) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_model* e = m->engine;
    const double *tau = span->extras, *control = e->inputs;
    double *q = e->work + 10 * (e->q_count + e->v_count), *v = q + e->q_count; // behind what a state between two needs
    cal_status status = CAL_OK;
    *out = 0.0;
    if (!(span->length > 0.0)) return CAL_OK;
    for (int i = 0; status == CAL_OK && i < 3; i++) {
        cal_member_span middle = *span;
        middle.t = 0.5 * span->length;
        const double *at_q = i == 0   ? span->q
                             : i == 1 ? q
                                      : span->to_q,
                     *at_v = i == 0   ? span->v
                             : i == 1 ? v
                                      : span->to_v;
        double pushed = 0.0;
        cal_drive_inputs(e->model, tau + (m->at.control - m->at.tau), span->from + 0.5 * i * span->length, e->inputs);
        if (i == 1) status = cal_multibody_numbers(m, &middle, q, v);
        if (status == CAL_OK && m->push_count > 0)
            status = cal_push_power(&e->paths, e->model, m->pushes, m->push_count, at_q, at_v, &pushed);
        if (status != CAL_OK) return status;
        cal_coupled* coupled = e->aba_state->coupled;
        if (coupled != NULL) {
            cal_coupled_evaluate_at(coupled, control, at_q, at_v);
            pushed += cal_coupled_power(coupled, CAL_COUPLED_WORK, at_v);
        }
        const double power = cal_joint_powers(e->model, tau, control, at_q, at_v).work + pushed;
        *out += (i == 1 ? 4.0 : 1.0) / 6.0 * span->length * power;
    }
    return status;
}

// --- As a unit ----------------------------------------------------------------------------------------------------------------

static cal_multibody* self_of(const cal_group_member* unit) { return unit->self; }

static cal_status unit_poses(const cal_group_member* unit, const double* q, double* poses) {
    cal_multibody* m = self_of(unit);
    cal_multibody_model* e = m->engine;
    const cal_links* at = cal_multibody_forgotten(m);
    const cal_status status = cal_multibody_links(m, q, at->links);
    for (int i = 0; status == CAL_OK && i < e->body_count; i++) {
        memcpy(poses + 7 * i, at->links[i].pose.position, 3 * sizeof *poses);
        memcpy(poses + 7 * i + 3, at->links[i].quaternion, 4 * sizeof *poses);
    }
    return status;
}

static cal_status unit_dynamics(const cal_group_member* unit, double time, const double* q, const double* v,
                                double* mass, double* force) {
    cal_multibody* m = self_of(unit);
    cal_multibody_model* e = m->engine;
    const int n = e->v_count;
    double* acceleration = e->work;
    cal_status status = cal_multibody_model_mass(e, q, mass);
    cal_multibody_use(m, m->extras + n + m->slots);
    if (status == CAL_OK) status = cal_multibody_model_acceleration(e, time, q, v, m->extras, acceleration);
    for (int i = 0; status == CAL_OK && i < n; i++) {
        force[i] = 0.0;
        for (int k = 0; k < n; k++) force[i] += mass[i * n + k] * acceleration[k];
    }
    return status;
}

static cal_status unit_jacobian(const cal_group_member* unit, const double* q, int body, const double point[3],
                                double* jacobian) {
    return point_jacobian(self_of(unit), q, body, point, jacobian);
}

static cal_status unit_displace(const cal_group_member* unit, const double* q, const double* v, double time,
                                double* out) {
    const cal_multibody_model* e = self_of(unit)->engine;
    if (out != q) memcpy(out, q, (size_t)e->q_count * sizeof *q);
    cal_model_displace(e->model, v, time, out);
    return CAL_OK;
}

static cal_status unit_rate(const cal_group_member* unit, const double* q, const double* v, double* rate) {
    cal_model_rate(self_of(unit)->engine->model, q, v, rate);
    return CAL_OK;
}

static cal_status unit_normalize(const cal_group_member* unit, double* q) {
    cal_model_normalize(self_of(unit)->engine->model, q);
    return CAL_OK;
}

static cal_status unit_slopes(const cal_group_member* unit, const double* q, const double* v, double* damping,
                              double* stiffness, double* resistance, bool* any) {
    cal_multibody* m = self_of(unit);
    cal_coupled* coupled = m->engine->aba_state->coupled;
    const double* control = m->engine->inputs; // of the dynamics, which come first
    *any = cal_joint_slopes(m->engine->model, control, q, v, damping, stiffness);
    *any |= cal_coupled_add_slopes(coupled, control, q, v, damping, stiffness);
    if (resistance != NULL) *any = true, cal_coupled_find_resistance(coupled, resistance);
    return CAL_OK;
}

// The constraints that the state which is being integrated says are active.
static cal_multibody_model* activated(const cal_group_member* unit) {
    cal_multibody* m = self_of(unit);
    cal_multibody_use(m, m->extras + m->engine->v_count + m->slots);
    return m->engine;
}

static cal_status unit_constraints(const cal_group_member* unit, double time, const double* q, const double* v,
                                   double* A, double* noise, double* bias, double* rate, int* rows) {
    cal_multibody_model* e = activated(unit);
    e->constraints->time = time;
    cal_constraints_dense(e->constraints, q, v, A, noise, bias);
    *rows = e->constraints->row_count;
    for (int i = 0; i < *rows; i++) rate[i] = e->constraints->rows[i].rate;
    return CAL_OK;
}

static cal_status unit_project(const cal_group_member* unit, double time, double* q, double* v) {
    cal_multibody_model* e = activated(unit);
    if (v != NULL) return cal_loops_project(e, time, q, v, CAL_PROJECT_BOTH);
    memset(e->work, 0, (size_t)e->v_count * sizeof *e->work);
    return cal_loops_project(e, time, q, e->work, CAL_PROJECT_POSITION);
}

static bool unit_led(const cal_group_member* unit) {
    const cal_multibody_model* e = activated(unit);
    int led = 0;
    for (int i = 0; i < e->constraint_count; i++) {
        const cal_constraint_def* def = &e->model->constraints[i];
        bool once = def->motion != NULL && e->constraints->active[i] && def->joint[1] == CAL_NONE;
        for (int k = 0; once && k < i; k++)
            once = e->model->constraints[k].motion == NULL || !e->constraints->active[k] ||
                   e->model->constraints[k].joint[0] != def->joint[0];
        led += once;
    }
    return led == e->v_count;
}

// How far from a joint a point of a multibody may be at most: the way along all of its joints.
static double find_extent(const cal_multibody* m, const double* q) {
    const cal_model* model = m->engine->model;
    double extent = 0.0, largest = 0.0;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        extent += sqrt(cal_dot3(node->offset, node->offset));
        if (node->kind == CAL_PRISMATIC) extent += fabs(q[node->first_q]);
    }
    for (int i = 0; i < m->engine->body_count; i++) {
        const cal_sim_body* part = &m->world->bodies[m->bodies[i]];
        largest = fmax(largest, sqrt(cal_dot3(part->offset, part->offset)) + part->reach);
    }
    return extent + largest;
}

// A velocity that is prescribed, against the parabola through its values at both ends and in the middle of a step, at two places that no period
// of it has in common with these; times the step, since a way is no further off than its velocity is all the time.
static double unit_strays(const cal_group_member* unit, double time, double h, const double* q) {
    static const double places[] = {0.236, 0.691};
    const cal_multibody_model* e = activated(unit);
    const double extent = find_extent(self_of(unit), q);
    double sum = 0.0;
    for (int i = 0; i < e->constraint_count; i++) {
        const cal_constraint_def* def = &e->model->constraints[i];
        if (def->motion == NULL || !e->constraints->active[i]) continue;
        double value, rates[3] = {0}, change, most = 0.0;
        for (int k = 0; k < 3; k++) def->motion(time + 0.5 * k * h, &value, &rates[k], &change, def->user);
        for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
            const double s = places[k];
            double rate = 0.0;
            def->motion(time + s * h, &value, &rate, &change, def->user);
            const double expected = 2.0 * (s - 0.5) * (s - 1.0) * rates[0] - 4.0 * s * (s - 1.0) * rates[1] +
                                    2.0 * s * (s - 0.5) * rates[2];
            most = fmax(most, fabs(rate - expected));
        }
        const bool slides = e->model->nodes[e->model->joints[def->joint[0]].node].kind == CAL_PRISMATIC;
        sum += h * most * (slides ? 1.0 : extent);
    }
    return sum;
}

static void unit_stop(const cal_group_member* unit, const double* q, int number, cal_group_stop* out) {
    const cal_multibody* m = self_of(unit);
    const cal_stopped_joint* joint = &m->engine->stops[number];
    *out = (cal_group_stop){
        .body = joint->body, .degree = joint->degree, .turns = joint->turns, .hardness = joint->hardness};
    out->gap = cal_stopped_joint_gap(joint, q, &out->sign);
    // Contacts have keys of shapes; those of stops begin elsewhere.
    const uint64_t words[] = {(uint64_t)m->bodies[0], (uint64_t)number, out->sign > 0.0};
    out->key = cal_hash_words(~CAL_HASH_START, words, sizeof words / sizeof words[0]) | 1;
}

// The sum of all rates.
static double unit_speed(const cal_group_member* unit, const double* v, double size) {
    double sum = 0.0;
    for (int i = 0; i < unit->v_count; i++) sum += fabs(v[i]);
    return sum * fmax(1.0, size);
}

static cal_status unit_motion(const cal_group_member* unit, int body, const cal_member_span* span, cal_motion* out) {
    return cal_multibody_between(self_of(unit), body, span, out);
}

static cal_status unit_state(const cal_group_member* unit, const cal_member_span* span, double* q, double* v) {
    return cal_multibody_numbers(self_of(unit), span, q, v);
}

static void unit_bounds(const cal_group_member* unit, const cal_member_span* span, double* out) {
    cal_multibody_bounds_between(self_of(unit), span, out);
}

static cal_status unit_shown_numbers(const cal_group_member* unit, const cal_world* world, const cal_member_span* span,
                                     double* v) {
    (void)world;
    const cal_multibody_model* e = self_of(unit)->engine;
    double* q = e->work + 6 * (e->q_count + e->v_count);
    return cal_multibody_shown_numbers(self_of(unit), span, q, v);
}

static cal_status unit_shown_speeds(const cal_group_member* unit, const cal_world* world, int body,
                                    const cal_member_span* span, cal_motion* motion) {
    (void)world;
    return cal_multibody_shown_speeds(self_of(unit), body, span, motion);
}

static void unit_use(const cal_group_member* unit, const cal_world* world, const double* extras) {
    (void)world;
    self_of(unit)->extras = extras;
}

static double unit_next_callback(const cal_group_member* unit) {
    return cal_multibody_next_callback(self_of(unit)->world, self_of(unit)->component);
}

static const cal_group_member_ops multibody_unit_ops = {.poses = unit_poses,
                                                        .dynamics = unit_dynamics,
                                                        .jacobian = unit_jacobian,
                                                        .displace = unit_displace,
                                                        .rate = unit_rate,
                                                        .normalize = unit_normalize,
                                                        .slopes = unit_slopes,
                                                        .constraints = unit_constraints,
                                                        .project = unit_project,
                                                        .strays = unit_strays,
                                                        .led = unit_led,
                                                        .stop = unit_stop,
                                                        .speed = unit_speed,
                                                        .motion = unit_motion,
                                                        .state = unit_state,
                                                        .bounds = unit_bounds,
                                                        .shown_numbers = unit_shown_numbers,
                                                        .shown_speeds = unit_shown_speeds,
                                                        .use = unit_use,
                                                        .next_callback = unit_next_callback};

cal_group_member cal_multibody_member(const cal_world* world, int component) {
    cal_multibody* m = world->components[component].multibody;
    // Sizes are the same in all domains. Those of the whole world stay where they are as long as the multibody does, wherever it goes meanwhile.
    const cal_multibody_model* home = m->home != NULL ? m->home : m->engine;
    return (cal_group_member){.ops = &multibody_unit_ops,
                              .self = m,
                              .q_count = m->engine->q_count,
                              .v_count = m->engine->v_count,
                              .most_rows = m->engine->constraints != NULL ? m->engine->constraints->most_rows : 0,
                              .body_count = m->engine->body_count,
                              .stop_count = m->engine->stop_count,
                              .sizes = home->scale,
                              .size_at = home->length_at,
                              .moved = m->engine->constraints != NULL && m->engine->constraints->moved,
                              .resists = cal_model_has_drag(m->engine->model),
                              .varying = true};
}
