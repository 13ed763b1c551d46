// Multibodies: models of calder.h in a world. One queue for all links; alone, it is integrated by Dormand and Prince's pair
// of orders 5 and 4, whose steps depend on the state that they start from and on nothing else; by linearly implicit steps
// where forces in its joints would make those too small (multibody_stiff.c). After a state, q follows a polynomial (bounds.c):
// the quintic through q, v and accelerations at both ends of the step, or after a stiff step, whose accelerations say little
// about what is between, the cubic. v is its derivative, so that what is looked at is what moves.
//
// A state's numbers: q, v, joint forces, slots and which constraints are active; accelerations, the size of the next step, and
// whether it is stiff. Then what the step from it has given: its length (0: it was not taken yet), the polynomial, and bounds of
// all links on it. A new motion that begins within a step leaves what is before as it was. States, and what is shown between
// them, are projected onto the constraints (multibody_loops.c).
#include "base/memory.h"
#include "model/coordinates.h"
#include "pass/joint_law.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/bounds.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/start.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdio.h>
#include <string.h>

// In windows of the world (world.h), 2⁻⁶ s where groups are checked at 100 Hz.
#define LONGEST_STEP 1.0
#define FIRST_STEP 0.064
#define SHORTEST_STEP 6.4e-8
#define STIFF_STEP 0.03125 // where an explicit step must be smaller, an implicit one is tried
#define LONGEST_BOX 4.0
#define BEYOND_CALLBACK 0.0064

// --- Where things are ---------------------------------------------------------------------------------------------------------

static int at_v(const cal_multibody* m) { return m->engine->q_count; }
static int at_tau(const cal_multibody* m) { return m->engine->q_count + m->engine->v_count; }
static int at_slots(const cal_multibody* m) { return at_tau(m) + m->engine->v_count; }
static int at_active(const cal_multibody* m) { return at_slots(m) + m->slots; }
static int at_control(const cal_multibody* m) { return at_active(m) + m->engine->constraint_count; }
static int at_acceleration(const cal_multibody* m) {
    return at_control(m) + cal_model_actuator_count(m->engine->model);
}
static int at_step(const cal_multibody* m) { return at_acceleration(m) + m->engine->v_count; }
static int at_stiff(const cal_multibody* m) { return at_step(m) + 1; }
static int at_length(const cal_multibody* m) { return at_stiff(m) + 1; }
static int at_rows(const cal_multibody* m) { return at_length(m) + 1; }
static int at_bounds(const cal_multibody* m) { return at_rows(m) + (int)CAL_STEP_TERMS * m->engine->q_count; }
static int stride_of(const cal_multibody* m) { return at_bounds(m) + 3 * m->engine->body_count; }

static cal_multibody* of_body(const cal_world* world, int body) {
    return &world->multibodies[world->bodies[body].multibody];
}

double* cal_multibody_q(const cal_world* world, int body, double* data) {
    (void)world;
    (void)body;
    return data;
}
double* cal_multibody_v(const cal_world* world, int body, double* data) { return data + at_v(of_body(world, body)); }
double* cal_multibody_tau(const cal_world* world, int body, double* data) {
    return data + at_tau(of_body(world, body));
}
int cal_multibody_degrees(const cal_world* world, int body) { return of_body(world, body)->engine->v_count; }
int cal_multibody_extras(const cal_world* world, int component) {
    const cal_multibody* m = world->components[component].multibody;
    return at_acceleration(m) - at_tau(m);
}
double* cal_multibody_control(const cal_multibody* m, double* tau) { return tau + (at_control(m) - at_tau(m)); }

// --- Engines ------------------------------------------------------------------------------------------------------------------

static void destroy_engine(cal_multibody_model* e) {
    if (e == NULL || --e->references > 0) return;
    cal_state_destroy(e->aba_state);
    cal_state_destroy(e->crba_state);
    cal_state_destroy(e->kinematics_state);
    cal_plan_destroy(e->aba);
    cal_plan_destroy(e->crba);
    cal_plan_destroy(e->kinematics);
    cal_machine_destroy(e->machine);
    cal_loops_destroy(e);
    cal_free(e->poses);
    cal_free(e->jacobian);
    cal_free(e->mass);
    cal_free(e->factor);
    cal_free(e->work);
    cal_free(e->scale);
    cal_free(e);
}

static cal_status create_engine(const cal_model* model, cal_multibody_model** out, cal_error* error) {
    cal_multibody_model* e = cal_allocate(1, sizeof *e);
    if (e == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    *e = (cal_multibody_model){.model = model, .references = 1};
    e->q_count = cal_model_q_count(model);
    e->v_count = cal_model_v_count(model);
    e->body_count = cal_model_body_count(model);
    const size_t q = (size_t)e->q_count, v = (size_t)e->v_count;
    cal_status status = cal_machine_serial(1, &e->machine, error);
    if (status == CAL_OK) status = cal_plan_create(model, "aba", e->machine, &e->aba, error);
    if (status == CAL_OK) status = cal_plan_create(model, "crba", e->machine, &e->crba, error);
    if (status == CAL_OK) status = cal_plan_create(model, "kinematics", e->machine, &e->kinematics, error);
    if (status == CAL_OK) status = cal_state_create(e->aba, &e->aba_state);
    if (status == CAL_OK) status = cal_state_create(e->crba, &e->crba_state);
    if (status == CAL_OK) status = cal_state_create(e->kinematics, &e->kinematics_state);
    if (status == CAL_OK) status = cal_loops_create(e);
    if (status == CAL_NO_MEMORY) status = cal_fail(error, status, "out of memory for a multibody");
    e->poses = cal_allocate(7 * (size_t)e->body_count, sizeof(double));
    e->jacobian = cal_allocate(6 * v + 1, sizeof(double));
    e->mass = cal_allocate(v * v + 1, sizeof(double));
    e->factor = cal_allocate(v * v + 1, sizeof(double));
    e->work = cal_allocate(12 * (q + v) + (size_t)e->constraint_count + 2, sizeof(double));
    e->scale = cal_allocate(q + v + 1, sizeof(double));
    if (status == CAL_OK && (e->poses == NULL || e->jacobian == NULL || e->mass == NULL || e->factor == NULL ||
                             e->work == NULL || e->scale == NULL))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    if (status != CAL_OK) {
        destroy_engine(e);
        return status;
    }
    *out = e;
    return CAL_OK;
}

// The user of an engine that others share: which constraints are active, controls, and forces from outside.
void cal_multibody_use(cal_multibody* m, const double* active) {
    cal_multibody_model* e = m->engine;
    cal_loops_activate(e, active);
    if (cal_model_actuator_count(e->model) > 0)
        (void)cal_state_set(e->aba_state, CAL_CONTROL, active + e->constraint_count); // cannot fail: the field is there
    if (e->pushed) cal_state_release(e->aba_state);
    e->pushed = m->push_count > 0;
    for (int i = 0; i < m->push_count; i++)
        (void)cal_state_push(e->aba_state, m->pushes[i].link, m->pushes[i].force, m->pushes[i].torque,
                             m->pushes[i].point);
}

cal_status cal_multibody_model_acceleration(cal_multibody_model* e, double time, const double* q, const double* v,
                                            const double* tau, double* out) {
    cal_state_set_time(e->aba_state, time);
    cal_status status = cal_state_set(e->aba_state, CAL_Q, q);
    if (status == CAL_OK) status = cal_state_set(e->aba_state, CAL_V, v);
    if (status == CAL_OK) status = cal_state_set(e->aba_state, CAL_TAU, tau);
    if (status == CAL_OK) status = cal_plan_execute(e->aba, e->aba_state, NULL);
    return status == CAL_OK ? cal_state_get(e->aba_state, CAL_QDD, out) : status;
}

cal_status cal_multibody_held_acceleration(cal_multibody_model* e, double time, const double* q, const double* v,
                                           const double* tau, double* out) {
    const cal_status status = cal_multibody_model_acceleration(e, time, q, v, tau, out);
    if (status == CAL_OK && e->constraints != NULL)
        cal_constraints_accelerate(e->constraints, q, v, out, CAL_STABILIZE_NONE, 0.0, NULL);
    return status;
}

cal_status cal_multibody_model_mass(cal_multibody_model* e, const double* q, double* out) {
    cal_status status = cal_state_set(e->crba_state, CAL_Q, q);
    if (status == CAL_OK) status = cal_plan_execute(e->crba, e->crba_state, NULL);
    return status == CAL_OK ? cal_state_get(e->crba_state, CAL_MASS, out) : status;
}

// --- Integration --------------------------------------------------------------------------------------------------------------

enum { STAGES = 7 };
static const double stage_time[STAGES] = {0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0};
static const double stage_weight[STAGES][6] = {
    {0},
    {0.2},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
static const double error_weight[STAGES] = {71.0 / 57600,      0.0,        -71.0 / 16695, 71.0 / 1920,
                                            -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

// One attempt from a state's numbers: next gets q and v, the return value the error relative to the tolerance.
static cal_status attempt(cal_multibody_model* e, double time, double h, const double* data, const double* tau,
                          double tolerance, double* next, double* last_acceleration, double* error) {
    const int q_count = e->q_count, v_count = e->v_count, size = q_count + v_count;
    double *slopes = e->work, *trial = e->work + STAGES * size;
    for (int s = 0; s < STAGES; s++) {
        memcpy(trial, data, (size_t)size * sizeof *trial);
        for (int k = 0; k < s; k++)
            for (int i = 0; i < size; i++) trial[i] += h * stage_weight[s][k] * slopes[k * size + i];
        double* slope = slopes + s * size;
        cal_model_rate(e->model, trial, trial + q_count, slope);
        const cal_status status =
            cal_multibody_held_acceleration(e, time + stage_time[s] * h, trial, trial + q_count, tau, slope + q_count);
        if (status != CAL_OK) return status;
    }
    memcpy(next, trial, (size_t)size * sizeof *next);
    memcpy(last_acceleration, slopes + 6 * size + q_count, (size_t)v_count * sizeof *last_acceleration);
    *error = 0.0;
    for (int i = 0; i < size; i++) {
        double sum = 0.0;
        for (int s = 0; s < STAGES; s++) sum += error_weight[s] * slopes[s * size + i];
        *error = fmax(*error, fabs(h * sum) / (tolerance * (e->scale[i] + fabs(next[i]))));
    }
    return isfinite(*error) ? CAL_OK : CAL_NOT_FINITE;
}

// A factor for the next step from an error: without powers, so that it has the same bits everywhere.
static double step_factor(double error) {
    if (error > 1.0) return error > 32.0 ? 0.25 : 0.7;
    return error < 1e-3 ? 2.0 : error < 0.03 ? 1.4 : 1.0;
}

// The polynomial from a state to the next one, with its bounds; false: there are none.
static bool connect(const cal_world* world, const cal_multibody* m, int degree, double h, double* data,
                    const double* next) {
    cal_multibody_model* e = m->engine;
    double *rows = data + at_rows(m), *bounds = data + at_bounds(m);
    cal_fit_step(e->model, degree, h, data, data + at_v(m), data + at_acceleration(m), next, next + at_v(m),
                 next + at_acceleration(m), rows);
    cal_bound_links(world, m, rows, degree, h, e->work, bounds);
    data[at_length(m)] = h;
    for (int i = 0; i < 3 * e->body_count; i++)
        if (!isfinite(bounds[i])) return false;
    return true;
}

// The next state of an isolated multibody.
static cal_status extend(cal_world* world, int component) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_model* e = m->engine;
    cal_queue* queue = &world->components[component].queue;
    const double start = cal_saved_state_at(queue, queue->tail - 1)->time;
    if (cal_queue_push(world, component, CAL_STEP, start) == NULL) return CAL_NO_MEMORY;
    queue = &world->components[component].queue;
    double* data = cal_data_at(queue, queue->tail - 2);
    double *next = cal_data_at(queue, queue->tail - 1), h = data[at_step(m)], error;
    bool stiff = data[at_stiff(m)] != 0.0;
    cal_multibody_use(m, data + at_active(m));
    for (;;) {
        cal_status status = (stiff ? cal_stiff_attempt : attempt)(
            e, start, h, data, data + at_tau(m), world->def.tolerance, next, next + at_acceleration(m), &error);
        if (status != CAL_OK && status != CAL_NOT_FINITE) return status;
        if (status == CAL_OK && error <= 1.0) {
            cal_model_normalize(e->model, next);
            // What a step leaves so far beside the constraints that it cannot be projected was too long.
            if (cal_loops_project(e, next, next + at_v(m), CAL_PROJECT_BOTH) == CAL_OK &&
                connect(world, m, stiff ? 3 : 5, h, data, next))
                break;
            status = CAL_NOT_FINITE; // or a frame turns by too much for its polynomial
        }
        h *= status == CAL_OK ? step_factor(error) : 0.25;
        if (h < SHORTEST_STEP * world->window) return CAL_NOT_CONVERGED;
        if (!stiff && h < STIFF_STEP * world->window) {
            double *damping = e->work, *stiffness = damping + e->v_count;
            stiff = cal_joint_slopes(e->model, data + at_control(m), data, data + at_v(m), damping, stiffness);
            if (stiff) h = STIFF_STEP * world->window;
        }
    }
    cal_saved_state_at(queue, queue->tail - 1)->time = start + h;
    next[at_length(m)] = 0.0;
    next[at_step(m)] = fmin(h * step_factor(error), LONGEST_STEP * world->window);
    next[at_stiff(m)] = stiff ? 1.0 : 0.0;
    world->report.series++;
    return CAL_OK;
}

cal_status cal_multibody_refresh(cal_world* world, int component, cal_error* error) {
    cal_multibody* m = world->components[component].multibody;
    const cal_queue* queue = &world->components[component].queue;
    const double time = cal_saved_state_at(queue, queue->tail - 1)->time;
    double* data = cal_data_at(queue, queue->tail - 1);
    cal_multibody_use(m, data + at_active(m));
    const cal_status status = cal_multibody_held_acceleration(m->engine, time, data, data + at_v(m), data + at_tau(m),
                                                              data + at_acceleration(m));
    if (!(data[at_step(m)] > 0.0)) data[at_step(m)] = FIRST_STEP * world->window;
    data[at_length(m)] = 0.0;
    cal_multibody_forget(m);
    if (status == CAL_OK) return CAL_OK;
    char name[64];
    return cal_fail(error, status, "the multibody of %s has no accelerations at %g s: %s",
                    cal_body_name_at(world, m->bodies[0], name, sizeof name), time, cal_status_text(status));
}

// The state whose step holds at a time; takes steps as far as that needs. beyond: the step must go on after the time.
static cal_status state_for(cal_world* world, int component, double time, bool beyond, int64_t* number) {
    const cal_multibody* m = world->components[component].multibody;
    for (;;) {
        const cal_queue* queue = &world->components[component].queue;
        int64_t n = cal_queue_find(queue, time);
        if (n < queue->head) n = queue->head;
        *number = n;
        const cal_saved_state* knot = cal_saved_state_at(queue, n);
        if (n + 1 < queue->tail || knot->kind == CAL_FUSED || (!beyond && time <= knot->time)) return CAL_OK;
        const double length = cal_data_at(queue, n)[at_length(m)];
        if (length > 0.0 && time < knot->time + length) return CAL_OK;
        const cal_status status = extend(world, component);
        if (status == CAL_OK) continue;
        world->components[component].queue.tail--;
        world->states--;
        return status;
    }
}

cal_status cal_multibody_state(cal_world* world, int component, double time, double* q, double* v, int64_t* number) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_model* e = m->engine;
    const cal_status status = state_for(world, component, time, false, number);
    if (status != CAL_OK) return status;
    const cal_queue* queue = &world->components[component].queue;
    const double* data = cal_data_at(queue, *number);
    const double t = time - cal_saved_state_at(queue, *number)->time;
    memcpy(q, data, (size_t)e->q_count * sizeof *q);
    memcpy(v, data + at_v(m), (size_t)e->v_count * sizeof *v);
    if (!(t > 0.0) || !(data[at_length(m)] > 0.0)) return CAL_OK;
    cal_evaluate_step(e->model, data + at_rows(m), data[at_length(m)], t, q, v);
    cal_multibody_use(m, data + at_active(m));
    return cal_loops_project(e, q, v, CAL_PROJECT_BOTH);
}

cal_status cal_multibody_at(cal_world* world, const cal_multibody* m, double time, double* q, double* v) {
    const int body = m->bodies[0], component = cal_body_component(world, body, time);
    int64_t number;
    if (component != m->component) return cal_group_numbers(world, component, body, time, q, v);
    return cal_multibody_state(world, m->component, time, q, v, &number);
}

// --- Links --------------------------------------------------------------------------------------------------------------------

static void place_link(const cal_world* world, const cal_multibody* m, int body, const double* pose,
                       const double* jacobian, const double* v, cal_motion* out) {
    const cal_sim_body* part = &world->bodies[m->bodies[body]];
    double R[9], center[3], quaternion[4];
    cal_quaternion_matrix(m->quaternion, R);
    cal_rotate3(R, pose, out->pose.position);
    cal_quaternion_multiply(m->quaternion, pose + 3, quaternion);
    double body_R[9];
    cal_quaternion_matrix(quaternion, body_R);
    cal_rotate3(body_R, part->offset, center);
    for (int i = 0; i < 3; i++) out->pose.position[i] += m->position[i] + center[i];
    cal_quaternion_multiply(quaternion, part->turn, out->quaternion);
    cal_quaternion_matrix(out->quaternion, out->pose.rotation);
    double rate[6] = {0};
    for (int row = 0; row < 6; row++)
        for (int k = 0; k < m->engine->v_count; k++) rate[row] += jacobian[row * m->engine->v_count + k] * v[k];
    cal_rotate3(R, rate, out->u);
    cal_rotate3(R, rate + 3, out->w);
}

cal_status cal_multibody_links(cal_world* world, cal_multibody* m, const double* q, const double* v, cal_motion* links,
                               double* jacobians) {
    cal_multibody_model* e = m->engine;
    cal_status status = cal_state_set(e->kinematics_state, CAL_Q, q);
    if (status == CAL_OK) status = cal_plan_execute(e->kinematics, e->kinematics_state, NULL);
    if (status == CAL_OK) status = cal_state_get(e->kinematics_state, CAL_POSE, e->poses);
    for (int body = 0; status == CAL_OK && body < e->body_count; body++) {
        // Of the centre of mass, since that is where a body's velocity is taken.
        double* jacobian = jacobians + (size_t)body * 6 * (size_t)e->v_count;
        status = cal_state_jacobian(e->kinematics_state, body, world->bodies[m->bodies[body]].offset, jacobian);
        if (status == CAL_OK) place_link(world, m, body, e->poses + 7 * body, jacobian, v, &links[body]);
    }
    return status;
}

cal_links* cal_multibody_forgotten(cal_multibody* m) {
    m->newest = 1 - m->newest;
    m->known[m->newest].source = CAL_LINKS_UNKNOWN;
    return &m->known[m->newest];
}

void cal_multibody_forget(cal_multibody* m) {
    for (int i = 0; i < 2; i++)
        if (m->known[i].source == CAL_LINKS_ALONE) m->known[i].source = CAL_LINKS_UNKNOWN;
}

cal_status cal_multibody_motion(cal_world* world, int component, int link, double time, cal_motion* out) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_model* e = m->engine;
    for (int i = 0; i < 2; i++)
        if (m->known[i].source == CAL_LINKS_ALONE && m->known[i].time == time) {
            *out = m->known[i].links[link];
            return CAL_OK;
        }
    cal_links* known = cal_multibody_forgotten(m);
    double *q = e->work + 10 * (e->q_count + e->v_count), *v = q + e->q_count;
    int64_t number;
    cal_status status = cal_multibody_state(world, component, time, q, v, &number);
    if (status == CAL_OK) status = cal_multibody_links(world, m, q, v, known->links, m->links_jacobian);
    if (status != CAL_OK) return status;
    known->source = CAL_LINKS_ALONE;
    known->time = time;
    *out = known->links[link];
    return CAL_OK;
}

cal_status cal_multibody_numbers(const cal_world* world, int body, const cal_multibody_span* span, double* at_q,
                                 double* at_rate) {
    cal_multibody* m = of_body(world, body);
    cal_multibody_model* e = m->engine;
    double* rows = e->work; // 6 q numbers of 12 (q + v)
    if (span->to_q != NULL) {
        cal_fit_step(e->model, 3, span->length, span->q, span->v, NULL, span->to_q, span->to_v, NULL, rows);
        cal_evaluate_step(e->model, rows, span->length, span->t, at_q, at_rate);
    } else {
        cal_model_rate(e->model, span->q, span->v, rows);
        memcpy(at_rate, span->v, (size_t)e->v_count * sizeof *at_rate);
        for (int i = 0; i < e->q_count; i++) at_q[i] = span->q[i] + span->t * rows[i];
        cal_model_normalize(e->model, at_q);
    }
    cal_multibody_use(m, span->extras + e->v_count + m->slots);
    return cal_loops_project(e, at_q, at_rate, CAL_PROJECT_BOTH);
}

void cal_multibody_bounds_between(const cal_world* world, int body, const double* q, const double* v,
                                  const double* to_q, const double* to_v, double length, double* out) {
    const cal_multibody* m = of_body(world, body);
    double *rows = m->engine->work, *work = rows + CAL_STEP_TERMS * m->engine->q_count;
    cal_fit_step(m->engine->model, 3, length, q, v, NULL, to_q, to_v, NULL, rows);
    cal_bound_links(world, m, rows, 3, length, work, out);
}

// Two states of a group and a place between them as one row of numbers; after the last state there is no second one.
static size_t row_of(const cal_multibody* m, const cal_multibody_span* span, double* out) {
    const cal_multibody_model* e = m->engine;
    const size_t q_count = (size_t)e->q_count, v_count = (size_t)e->v_count, constraints = (size_t)e->constraint_count;
    double* next = out + 2;
    out[0] = span->t, out[1] = span->to_q != NULL ? span->length : 0.0;
    memcpy(next, span->extras + v_count + m->slots, constraints * sizeof *out);
    next += constraints;
    for (int state = 0; state < (span->to_q != NULL ? 2 : 1); state++) {
        memcpy(next, state == 0 ? span->q : span->to_q, q_count * sizeof *out);
        memcpy(next + q_count, state == 0 ? span->v : span->to_v, v_count * sizeof *out);
        next += q_count + v_count;
    }
    return (size_t)(next - out);
}

cal_status cal_multibody_between(cal_world* world, int body, const cal_multibody_span* span, cal_motion* out) {
    cal_multibody* m = of_body(world, body);
    cal_multibody_model* e = m->engine;
    const int link = world->bodies[body].link;
    double* row = e->work + 8 * (e->q_count + e->v_count);
    const size_t row_size = row_of(m, span, row) * sizeof *row;
    for (int i = 0; i < 2; i++)
        if (m->known[i].source == CAL_LINKS_BETWEEN && cal_same_bits(m->known[i].numbers, row, row_size)) {
            *out = m->known[i].links[link];
            return CAL_OK;
        }
    cal_links* known = cal_multibody_forgotten(m);
    memcpy(known->numbers, row, row_size);
    double *at_q = e->work + 10 * (e->q_count + e->v_count), *at_rate = at_q + e->q_count;
    cal_status status = cal_multibody_numbers(world, body, span, at_q, at_rate);
    if (status == CAL_OK) status = cal_multibody_links(world, m, at_q, at_rate, known->links, m->links_jacobian);
    if (status == CAL_OK) known->source = CAL_LINKS_BETWEEN;
    *out = known->links[link];
    return status;
}

double cal_multibody_next_callback(const cal_world* world, int component) {
    double next = (double)INFINITY;
    for (int h = 0; h < world->periodic_hook_count; h++) {
        const cal_periodic_hook* hook = &world->periodic_hooks[h];
        for (int i = 0; i < hook->count; i++)
            if (world->bodies[hook->bodies[i]].component == component)
                next = fmin(next, hook->first + (double)hook->tick * hook->period);
    }
    return next;
}

double cal_multibody_room(const cal_world* world, int component, double time) {
    // A little beyond the callback, which makes new boxes: what ends with it would be made twice.
    const double next = cal_multibody_next_callback(world, component) - time;
    return fmin(LONGEST_BOX * world->window, fmax(next, 0.0) + BEYOND_CALLBACK * world->window);
}

cal_status cal_multibody_limits(cal_world* world, int component, int link, double from, double until,
                                cal_motion_bounds* out) {
    (void)until;
    const cal_multibody* m = world->components[component].multibody;
    int64_t n;
    const cal_status status = state_for(world, component, from, true, &n);
    if (status != CAL_OK) return status;
    const cal_queue* queue = &world->components[component].queue;
    const double *data = cal_data_at(queue, n), *bounds = data + at_bounds(m) + 3 * link;
    if (!(data[at_length(m)] > 0.0)) return CAL_OK; // a state that nobody went on from
    out->slack = bounds[0], out->turn = bounds[1], out->twist = bounds[2];
    out->until = cal_saved_state_at(queue, n)->time + data[at_length(m)];
    if (n + 1 < queue->tail) out->until = fmin(out->until, cal_saved_state_at(queue, n + 1)->time);
    return CAL_OK;
}

// --- States -------------------------------------------------------------------------------------------------------------------

cal_status cal_multibody_begin(cal_world* world, int component, double time, cal_error* error) {
    cal_multibody* m = world->components[component].multibody;
    const cal_multibody_model* e = m->engine;
    const size_t size = (size_t)(e->q_count + e->v_count);
    double* numbers = cal_allocate(size, sizeof *numbers);
    if (numbers == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    int64_t number;
    cal_status status = cal_multibody_state(world, component, time, numbers, numbers + e->q_count, &number);
    if (status == CAL_OK) status = cal_rollback_to(world, component, time, error);
    if (status == CAL_OK && cal_queue_push(world, component, CAL_SEGMENT, time) == NULL)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    if (status == CAL_OK) {
        const cal_queue* queue = &world->components[component].queue;
        memcpy(cal_data_at(queue, queue->tail - 1), numbers, size * sizeof *numbers);
        status = cal_multibody_refresh(world, component, error);
    }
    cal_free(numbers);
    return status;
}

cal_status cal_multibody_changed(cal_world* world, int component, double time, cal_error* error) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_forget(m);
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < m->engine->body_count; i++)
        status = cal_body_changed(world, m->bodies[i], time, error);
    return status;
}

// --- Adding -------------------------------------------------------------------------------------------------------------------

static cal_status add_link(cal_world* world, cal_multibody* m, int multibody, int body, cal_error* error) {
    const cal_model* model = m->engine->model;
    cal_body_def def;
    cal_model_body(model, body, &def);
    char name[128];
    cal_world_body_def own = cal_default_world_body_def();
    snprintf(name, sizeof name, "%s.%d", cal_model_name(model) != NULL ? cal_model_name(model) : "multibody",
             multibody);
    const size_t used = strlen(name);
    name[used] = '.';
    cal_model_body_name(model, body, name + used + 1, sizeof name - used - 1);
    own.name = name;
    own.density = 0.0;
    own.mass = def.mass;
    memcpy(own.center, def.center, sizeof own.center);
    memcpy(own.inertia, def.inertia, sizeof own.inertia);
    own.slots = m->slots;
    cal_body_id id;
    cal_status status = cal_world_add_body(world, &own, &id, error);
    if (status != CAL_OK) return status;
    m->bodies[body] = id.index;
    world->bodies[id.index].multibody = multibody;
    world->bodies[id.index].link = body;
    for (int i = 0; status == CAL_OK && i < cal_model_shape_count(model); i++) {
        cal_shape_def shape;
        cal_mesh_def mesh = {0};
        cal_model_shape(model, i, &shape);
        if (shape.body != body) continue;
        const bool meshed = shape.kind == CAL_MESH || shape.kind == CAL_HEIGHT_FIELD;
        if (meshed) cal_model_mesh(model, shape.mesh, &mesh);
        status = cal_world_add_shape(world, id, &shape, meshed ? &mesh : NULL, error);
    }
    return status;
}

static cal_status add_ground(cal_world* world, const cal_model* model, const double position[3],
                             const double quaternion[4], cal_error* error) {
    cal_body_id id = {-1, 0};
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < cal_model_shape_count(model); i++) {
        cal_shape_def shape;
        cal_mesh_def mesh = {0};
        cal_model_shape(model, i, &shape);
        if (shape.body != CAL_GROUND) continue;
        if (id.index < 0) {
            cal_world_body_def def = cal_default_world_body_def();
            def.motion = CAL_FIXED;
            def.name = "ground";
            memcpy(def.position, position, sizeof def.position);
            memcpy(def.quaternion, quaternion, sizeof def.quaternion);
            status = cal_world_add_body(world, &def, &id, error);
        }
        const bool meshed = shape.kind == CAL_MESH || shape.kind == CAL_HEIGHT_FIELD;
        if (meshed) cal_model_mesh(model, shape.mesh, &mesh);
        if (status == CAL_OK) status = cal_world_add_shape(world, id, &shape, meshed ? &mesh : NULL, error);
    }
    return status;
}

cal_status cal_world_add_multibody(cal_world* world, const cal_model* model, const double position[3],
                                   const double quaternion[4], int slots, cal_multibody_id* out, cal_error* error) {
    if (world->started) return cal_fail(error, CAL_BAD_ARGUMENT, "a world takes nothing more after its first advance");
    if (model == NULL || slots < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a multibody needs a model and no negative slots");
    if (!cal_grow((void**)&world->multibodies, &world->multibody_capacity, world->multibody_count,
                  sizeof *world->multibodies))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for multibodies");
    const int index = world->multibody_count;
    cal_multibody* m = &world->multibodies[index];
    *m = (cal_multibody){.quaternion = {1.0, 0.0, 0.0, 0.0}, .slots = slots, .component = -1, .world = world};
    if (position != NULL) memcpy(m->position, position, sizeof m->position);
    if (quaternion != NULL) memcpy(m->quaternion, quaternion, sizeof m->quaternion);
    cal_quaternion_normalize(m->quaternion);
    cal_status status = CAL_OK;
    for (int i = 0; i < index && m->engine == NULL; i++)
        if (world->multibodies[i].engine->model == model) m->engine = world->multibodies[i].engine;
    if (m->engine != NULL)
        m->engine->references++;
    else
        status = create_engine(model, &m->engine, error);
    if (status != CAL_OK) return status;
    world->multibody_count++;
    const size_t bodies = (size_t)m->engine->body_count, v = (size_t)m->engine->v_count;
    m->bodies = cal_allocate(bodies, sizeof *m->bodies);
    m->links_jacobian = cal_allocate(bodies * 6 * v + 1, sizeof *m->links_jacobian);
    bool enough = m->bodies != NULL && m->links_jacobian != NULL;
    for (int i = 0; i < 2; i++) {
        m->known[i].links = cal_allocate(bodies, sizeof *m->known[i].links);
        m->known[i].numbers =
            cal_allocate(2 * (1 + (size_t)m->engine->q_count + v) + (size_t)m->engine->constraint_count,
                         sizeof *m->known[i].numbers);
        enough = enough && m->known[i].links != NULL && m->known[i].numbers != NULL;
    }
    if (!enough) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    status = add_ground(world, model, m->position, m->quaternion, error);
    m->first_body = world->body_count;
    for (int body = 0; status == CAL_OK && body < m->engine->body_count; body++)
        status = add_link(world, &world->multibodies[index], index, body, error);
    if (out != NULL) *out = (cal_multibody_id){index, 1};
    return status;
}

cal_body_id cal_world_link(const cal_world* world, cal_multibody_id multibody, int body) {
    if (multibody.index < 0 || multibody.index >= world->multibody_count || multibody.generation != 1 || body < 0 ||
        body >= world->multibodies[multibody.index].engine->body_count)
        return (cal_body_id){-1, 0};
    return cal_world_body(world, world->multibodies[multibody.index].bodies[body]);
}

// What errors of coordinates are relative to, beside their values: an angle of 1, the size of the multibody, and these at the rate
// of a hundredth of the group checks, which is 1/s unless the user says otherwise.
static void set_scales(const cal_world* world, const cal_multibody* m) {
    cal_multibody_model* e = m->engine;
    const double rate = 0.01 * world->def.group_rate;
    double size = 0.0;
    for (int body = 0; body < e->body_count; body++) {
        cal_body_def def;
        cal_model_body(e->model, body, &def);
        size = fmax(size, sqrt(cal_dot3(def.position, def.position)));
        if (world->bodies[m->bodies[body]].reach < (double)INFINITY)
            size = fmax(size, world->bodies[m->bodies[body]].reach);
    }
    for (int i = 0; i < e->q_count + e->v_count; i++) e->scale[i] = i < e->q_count ? 1.0 : rate;
    for (int joint = 0; size > 0.0 && joint < cal_model_joint_count(e->model); joint++) {
        cal_joint_def def;
        int first_q, first_v;
        cal_model_joint(e->model, joint, &def, NULL, &first_q, &first_v);
        const int count = def.kind == CAL_FREE ? 3 : def.kind == CAL_PRISMATIC ? 1 : 0;
        for (int i = 0; i < count; i++) e->scale[first_q + i] = size, e->scale[e->q_count + first_v + i] = size * rate;
    }
}

cal_status cal_multibodies_prepare(cal_world* world, cal_error* error) {
    for (int i = 0; i < world->multibody_count; i++) {
        cal_multibody* m = &world->multibodies[i];
        m->component = cal_component_add(world, CAL_MULTIBODY, stride_of(m));
        if (m->component >= 0) world->components[m->component].queue.copied = at_length(m);
        if (m->component < 0 || cal_queue_push(world, m->component, CAL_SEGMENT, world->time) == NULL)
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
        cal_component* c = &world->components[m->component];
        c->multibody = m;
        c->body = m->first_body;
        c->weight = m->engine->body_count;
        double* data = cal_data_at(&c->queue, 0);
        cal_model_initial(m->engine->model, data, data + at_v(m), data + at_control(m));
        for (int k = 0; k < m->engine->constraint_count; k++)
            data[at_active(m) + k] = m->engine->model->constraints[k].inactive ? 0.0 : 1.0;
        for (int body = 0; body < m->engine->body_count; body++) {
            cal_sim_body* part = &world->bodies[m->bodies[body]];
            part->component = m->component;
            const cal_status status = cal_body_weigh_link(world, m->bodies[body], error);
            if (status != CAL_OK) return status;
        }
        set_scales(world, m);
        cal_multibody_use(m, data + at_active(m));
        cal_status status = cal_loops_start(world, m, data, data + at_v(m), error);
        if (status == CAL_OK) status = cal_multibody_refresh(world, m->component, error);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

void cal_multibodies_destroy(cal_world* world) {
    for (int i = 0; i < world->multibody_count; i++) {
        cal_multibody* m = &world->multibodies[i];
        destroy_engine(m->engine);
        cal_free(m->bodies);
        for (int k = 0; k < 2; k++) {
            cal_free(m->known[k].links);
            cal_free(m->known[k].numbers);
        }
        cal_free(m->links_jacobian);
        cal_free(m->pushes);
    }
    cal_free(world->multibodies);
}
