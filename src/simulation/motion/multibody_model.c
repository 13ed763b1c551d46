// What all multibodies of one model share: systems that advance them, plans for what else is asked of them, and room for numbers.
#include "base/memory.h"
#include "simulation/motion/bounds.h"
#include "simulation/world.h"
#include <string.h>

// From so many joints on a system of a world with events is worth several processors; of smaller ones there are many, which have a
// processor each (domain/domain.h). Passes over a thousand joints take as long as a dozen hand-overs between processors.
enum { MANY_JOINTS = 4096 };
// Of an angle of 1 or the size of the multibody: a joint so near to its stop is at it. Twice what a contact group leaves as a gap.
static const double STOP_ROOM = 2e-7;

void cal_multibody_model_release(cal_multibody_model* e) {
    if (e == NULL || --e->references > 0) return;
    for (int i = 0; i < CAL_FLIGHT_SYSTEMS; i++) cal_system_destroy(e->systems[i]);
    cal_state_destroy(e->aba_state);
    cal_state_destroy(e->inertial_state);
    cal_state_destroy(e->kinematics_state);
    cal_state_destroy(e->energy_state);
    cal_push_paths_destroy(&e->paths);
    cal_plan_destroy(e->energy);
    cal_plan_destroy(e->aba);
    cal_plan_destroy(e->inertial);
    cal_plan_destroy(e->kinematics);
    cal_machine_destroy(e->machine);
    cal_loops_destroy(e);
    cal_constraints_destroy(e->inertia);
    cal_free(e->path);
    cal_free(e->poses);
    cal_free(e->placed_q);
    cal_free(e->weighed_q);
    cal_free(e->jacobian);
    cal_free(e->mass);
    cal_free(e->factor);
    cal_free(e->work);
    cal_free(e->scale);
    cal_free(e->length_at);
    cal_free(e->drive);
    cal_free(e->inputs);
    cal_free(e->stops);
    cal_free(e->stop_numbers);
    cal_model_destroy(e->own);
    cal_model_destroy(e->pulled);
    cal_free(e);
}

// The systems: the user's solver, or "auto": an explicit one, and an implicit one for where joint forces are stiff.
static cal_status create_systems(const cal_world* world, cal_multibody_model* e, cal_error* error) {
    cal_sim_def def = world->systems;
    if ((world->machine != NULL || world->ranks != NULL) && e->model->node_count < MANY_JOINTS) def.machine = NULL;
    const bool automatic = strcmp(def.solver, "auto") == 0;
    if (automatic) def.solver = "rkck";
    const cal_resting rests = e->stop_count > 0 ? CAL_REST_ON_STOPS : CAL_REST_NONE;
    cal_status status = cal_system_create_as(e->user, &def, rests, &e->systems[CAL_FLIGHT_EXPLICIT], error);
    if (status != CAL_OK) return status;
    const bool stiff = automatic && strcmp(def.algorithm, "aba") == 0 && strcmp(def.constraint_form, "lagrange") == 0;
    def.solver = "implicit";
    if (stiff) status = cal_system_create_as(e->user, &def, rests, &e->systems[CAL_FLIGHT_IMPLICIT], error);
    for (int i = 0; status == CAL_OK && i < CAL_FLIGHT_SYSTEMS; i++) {
        if (e->systems[i] == NULL) continue;
        const int terms = cal_system_largest_degree(e->systems[i]) + 1;
        const size_t memory = (cal_system_motion_size(e->systems[i]) + sizeof(double) - 1) / sizeof(double);
        if (terms > e->terms) e->terms = terms;
        if (memory > e->memory) e->memory = memory;
    }
    return status;
}

// Rigid stops become events and rows where the integrator of groups has rows; others have springs in their place.
static cal_status find_stops(const cal_world* world, cal_multibody_model* e, cal_error* error) {
    const cal_model* user = e->user;
    if (!world->group_ops->takes_loops || !cal_model_has_rigid_stops(user)) return CAL_OK;
    cal_status status = cal_model_create_unstopped(user, &e->own, error);
    if (status != CAL_OK) return status;
    e->model = e->own;
    e->stops = cal_allocate((size_t)user->joint_count, sizeof *e->stops);
    e->stop_numbers = cal_allocate(2 * (size_t)user->v_count, sizeof *e->stop_numbers);
    if (e->stops == NULL || e->stop_numbers == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    for (int i = 0; i < user->joint_count; i++) {
        if (!cal_joint_has_rigid_stop(user, i)) continue;
        const cal_joint* joint = &user->joints[i];
        e->stops[e->stop_count++] = (cal_stopped_joint){.body = joint->body,
                                                        .position = joint->first_q,
                                                        .degree = joint->first_v,
                                                        .turns = joint->def->kind == CAL_REVOLUTE,
                                                        .range = {joint->def->range[0], joint->def->range[1]},
                                                        .hardness = joint->def->limit_damping};
    }
    return CAL_OK;
}

double cal_stopped_joint_gap(const cal_stopped_joint* joint, const double* q, double* sign) {
    const double low = q[joint->position] - joint->range[0], high = joint->range[1] - q[joint->position];
    *sign = low <= high ? 1.0 : -1.0;
    return fmin(low, high);
}

// Slides are lengths, and where a free joint is.
static int lengths_of(cal_joint_kind kind) { return kind == CAL_FREE ? 3 : kind == CAL_PRISMATIC ? 1 : 0; }

static void find_lengths(cal_multibody_model* e) {
    for (int i = 0; i < e->q_count + e->v_count; i++) e->length_at[i] = -1;
    for (int joint = 0; joint < e->model->joint_count; joint++) {
        const cal_joint* own = &e->model->joints[joint];
        for (int i = 0; i < lengths_of(own->def->kind); i++)
            e->length_at[own->first_q + i] = e->length_at[e->q_count + own->first_v + i] = own->first_q + i;
    }
}

static bool allocate(cal_multibody_model* e) {
    const size_t q = (size_t)e->q_count, v = (size_t)e->v_count;
    e->path = cal_allocate((size_t)e->model->node_count + 1, sizeof *e->path);
    e->poses = cal_allocate(7 * (size_t)e->body_count, sizeof(double));
    e->placed_q = cal_allocate(q + 1, sizeof(double));
    e->weighed_q = cal_allocate(q + 1, sizeof(double));
    e->jacobian = cal_allocate(6 * v + 1, sizeof(double));
    e->mass = cal_allocate(v * v + 1, sizeof(double));
    e->factor = cal_allocate(v * v + 1, sizeof(double));
    e->work = cal_allocate(12 * (q + v) + (size_t)e->constraint_count + 3, sizeof(double));
    e->scale = cal_allocate(q + v + 1, sizeof(double));
    e->length_at = cal_allocate(q + v + 1, sizeof *e->length_at);
    e->drive = cal_allocate((size_t)cal_drive_count(e->model) + 1, sizeof(double));
    e->inputs = cal_allocate((size_t)cal_model_actuator_count(e->model) + 1, sizeof(double));
    return e->path != NULL && e->poses != NULL && e->placed_q != NULL && e->weighed_q != NULL && e->jacobian != NULL &&
           e->mass != NULL && e->factor != NULL && e->work != NULL && e->scale != NULL && e->length_at != NULL &&
           e->drive != NULL && e->inputs != NULL;
}

static cal_status plan(const cal_multibody_model* e, const cal_model* model, const cal_program* program, cal_plan** out,
                       cal_error* error) {
    const cal_plan_def def = {.model = model, .program = program, .machine = e->machine, .copies = 1};
    return cal_plan_create_def(&def, out, error);
}

cal_status cal_multibody_model_create(const cal_world* world, const cal_model* model, cal_multibody_model** out,
                                      cal_error* error) {
    cal_multibody_model* e = cal_allocate(1, sizeof *e);
    if (e == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    *e = (cal_multibody_model){.given = model, .user = model, .model = model, .references = 1};
    e->q_count = cal_model_q_count(model);
    e->v_count = cal_model_v_count(model);
    e->body_count = cal_model_body_count(model);
    cal_status status = find_stops(world, e, error);
    model = e->model;
    if (status == CAL_OK) status = cal_machine_serial(1, &e->machine, error);
    if (status == CAL_OK) status = cal_plan_create(model, "aba", e->machine, &e->aba, error);
    if (status == CAL_OK) status = plan(e, model, &cal_program_mass, &e->inertial, error);
    if (status == CAL_OK) status = plan(e, model, &cal_program_places, &e->kinematics, error);
    if (status == CAL_OK) status = cal_plan_create(model, "energy", e->machine, &e->energy, error);
    if (status == CAL_OK) status = create_systems(world, e, error);
    if (status == CAL_OK) {
        status = cal_state_create(e->aba, &e->aba_state);
        if (status == CAL_OK) status = cal_state_create(e->inertial, &e->inertial_state);
        if (status == CAL_OK) status = cal_state_create(e->kinematics, &e->kinematics_state);
        if (status == CAL_OK) status = cal_state_create(e->energy, &e->energy_state);
        if (status == CAL_OK) status = cal_loops_create(e);
        if (status == CAL_OK && e->systems[CAL_FLIGHT_IMPLICIT] != NULL)
            status = cal_constraints_create(e->model, &e->inertia);
        if (status == CAL_OK && !allocate(e)) status = CAL_NO_MEMORY;
        if (status != CAL_OK) status = cal_fail(error, status, "out of memory for a multibody");
    }
    if (status == CAL_OK) find_lengths(e);
    if (status != CAL_OK) {
        cal_multibody_model_release(e);
        return status;
    }
    *out = e;
    return CAL_OK;
}

// The user of an engine that others share: which constraints are active, controls, and forces from outside.
void cal_multibody_use(cal_multibody* m, const double* active) {
    cal_multibody_model* e = m->engine;
    cal_loops_activate(e, active);
    memcpy(e->drive, active + e->constraint_count, (size_t)cal_drive_count(e->model) * sizeof *e->drive);
    if (e->pushed) cal_state_release(e->aba_state);
    e->pushed = m->push_count > 0;
    for (int i = 0; i < m->push_count; i++)
        (void)cal_state_push(e->aba_state, m->pushes[i].body, m->pushes[i].force, m->pushes[i].torque,
                             m->pushes[i].point);
}

cal_status cal_multibody_model_acceleration(cal_multibody_model* e, double time, const double* q, const double* v,
                                            const double* tau, double* out) {
    cal_state_set_time(e->aba_state, time);
    cal_drive_inputs(e->model, e->drive, time, e->inputs);
    cal_status status = cal_state_set(e->aba_state, CAL_Q, q);
    if (status == CAL_OK && cal_model_actuator_count(e->model) > 0)
        status = cal_state_set(e->aba_state, CAL_CONTROL, e->inputs);
    if (status == CAL_OK) status = cal_state_set(e->aba_state, CAL_V, v);
    if (status == CAL_OK) status = cal_state_set(e->aba_state, CAL_TAU, tau);
    if (status == CAL_OK) status = cal_plan_execute(e->aba, e->aba_state, NULL);
    return status == CAL_OK ? cal_state_get(e->aba_state, CAL_QDD, out) : status;
}

cal_status cal_multibody_model_place(cal_multibody_model* e, const double* q) {
    const size_t size = (size_t)e->q_count * sizeof *q;
    if (e->placed && cal_same_bits(e->placed_q, q, size)) return CAL_OK;
    cal_status status = cal_state_set(e->kinematics_state, CAL_Q, q);
    if (status == CAL_OK) status = cal_plan_execute(e->kinematics, e->kinematics_state, NULL);
    if (status == CAL_OK) status = cal_state_get(e->kinematics_state, CAL_POSE, e->poses);
    e->placed = status == CAL_OK;
    memcpy(e->placed_q, q, size);
    return status;
}

cal_status cal_multibody_model_energy(cal_multibody_model* e, const double* q, const double* v, double out[2]) {
    cal_status status = cal_state_set(e->energy_state, CAL_Q, q);
    if (status == CAL_OK) status = cal_state_set(e->energy_state, CAL_V, v);
    if (status == CAL_OK) status = cal_plan_execute(e->energy, e->energy_state, NULL);
    return status == CAL_OK ? cal_state_get(e->energy_state, CAL_ENERGY, out) : status;
}

cal_status cal_multibody_model_mass(cal_multibody_model* e, const double* q, double* out) {
    const size_t size = (size_t)e->q_count * sizeof *q;
    if (!e->weighed || !cal_same_bits(e->weighed_q, q, size)) {
        cal_status status = cal_state_set(e->inertial_state, CAL_Q, q);
        if (status == CAL_OK) status = cal_plan_execute(e->inertial, e->inertial_state, NULL);
        if (status != CAL_OK) return status;
        e->weighed = true;
        memcpy(e->weighed_q, q, size);
    }
    return cal_state_get(e->inertial_state, CAL_MASS, out);
}

cal_status cal_multibody_model_scale(cal_multibody_model* e) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < CAL_FLIGHT_SYSTEMS; i++) {
        if (e->systems[i] == NULL) continue;
        status = cal_system_set_scales(e->systems[i], e->scale, e->scale + e->q_count);
        if (e->stop_count > 0) cal_system_set_stops(e->systems[i], e->stop_numbers, e->stop_numbers + e->v_count);
    }
    return status;
}

// What errors of coordinates are relative to, beside their values: an angle of 1, the size of the multibody, and these at the rate
// of a hundredth of the group checks, which is 1/s unless the user says otherwise.
cal_status cal_multibody_set_scales(const cal_world* world, const cal_multibody* m) {
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
    if (!isfinite(size * rate)) return CAL_NOT_FINITE; // of a length whose square is no number
    for (int i = 0; i < e->q_count + e->v_count; i++) e->scale[i] = i < e->q_count ? 1.0 : rate;
    for (int joint = 0; size > 0.0 && joint < cal_model_joint_count(e->model); joint++) {
        cal_joint_def def;
        int first_q, first_v;
        cal_model_joint(e->model, joint, &def, NULL, &first_q, &first_v);
        for (int i = 0; i < lengths_of(def.kind); i++)
            e->scale[first_q + i] = size, e->scale[e->q_count + first_v + i] = size * rate;
    }
    // What a contact group counts as touching counts so in flight; and a bounce that gravity ends before the next check of groups.
    const double pull = sqrt(cal_dot3(world->def.gravity, world->def.gravity)),
                 slow = world->def.contact_speed > 0.0 ? world->def.contact_speed : pull / world->def.group_rate;
    for (int i = 0; i < e->stop_count; i++) {
        const cal_stopped_joint* joint = &e->stops[i];
        const double lever = joint->turns && size > 0.0 ? size : 1.0;
        e->stop_numbers[joint->degree] = STOP_ROOM * e->scale[joint->position];
        e->stop_numbers[e->v_count + joint->degree] = slow / lever;
    }
    return cal_multibody_model_scale(e);
}

double cal_multibodies_stop_room(const cal_world* world) {
    double most = 0.0;
    for (int i = 0; i < world->multibody_count; i++) {
        const cal_multibody_model* e =
            world->multibodies[i]->stage == CAL_REMOVED ? NULL : world->multibodies[i]->engine;
        for (int k = 0; e != NULL && k < e->stop_count; k++) most = fmax(most, e->stop_numbers[e->stops[k].degree]);
    }
    return most;
}

int cal_multibodies_processors(const cal_world* world) {
    int most = 1;
    for (int i = 0; i < world->multibody_count; i++) {
        if (world->multibodies[i]->stage == CAL_REMOVED) continue;
        const int own = cal_system_processors(world->multibodies[i]->engine->systems[CAL_FLIGHT_EXPLICIT]);
        if (own > most) most = own;
    }
    return most;
}
