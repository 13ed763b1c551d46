// Constraints of multibodies: loops that are closed, joints that follow others.
//
//     in flight   accelerations are those of the constrained motion, and each step's end is projected before it is a state
//     shown       what cubics give between two states is projected as well
//     impact      an impulse acts through P M⁻¹ Jᵀ (projector.h), so that velocities after it keep to the constraints
//     group       the contact problem sees Jacobians J P (contact_problem.h)
//
// All multibodies of one model share a set of constraints; which of them are active is part of every state, and told to the set
// before it is asked for anything.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/change.h"
#include "simulation/members.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

enum { PATIENCE_STEP = 20, PATIENCE_START = 100 };

cal_status cal_loops_create(cal_multibody_model* e) {
    e->constraint_count = cal_model_constraint_count(e->model);
    if (e->constraint_count == 0) return CAL_OK;
    const cal_status status = cal_constraints_create(e->model, &e->constraints);
    if (status != CAL_OK) return status;
    const size_t rows = (size_t)e->constraints->most_rows, v = (size_t)e->v_count;
    e->rows = cal_allocate(rows * v + 1, sizeof *e->rows);
    e->noise = cal_allocate(rows + 1, sizeof *e->noise);
    e->bias = cal_allocate(rows + 1, sizeof *e->bias);
    e->projector_memory = cal_allocate(cal_projector_size((int)rows, e->v_count), sizeof *e->projector_memory);
    const bool enough = e->rows != NULL && e->noise != NULL && e->bias != NULL;
    return enough && e->projector_memory != NULL ? CAL_OK : CAL_NO_MEMORY;
}

void cal_loops_destroy(cal_multibody_model* e) {
    cal_constraints_destroy(e->constraints);
    double* const lists[] = {e->rows, e->noise, e->bias, e->projector_memory};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

void cal_loops_activate(cal_multibody_model* e, const double* active) {
    for (int i = 0; i < e->constraint_count; i++) cal_constraints_activate(e->constraints, i, active[i] != 0.0);
}

// How far a constraint may stay open. Redundant ones that contradict each other, as the rounded numbers of a file do, stay open by that
// contradiction wherever the multibody is: they may by as much as without contacts (solver/system_constraints.c).
static double tolerance_of(cal_multibody_model* e) {
    const bool redundant = cal_constraints_rank(e->constraints) < e->constraints->row_count;
    return redundant ? CAL_CONNECT_TOLERANCE : CAL_LOOP_TOLERANCE;
}

// Whether what was projected keeps to the constraints, and moves as they allow.
static cal_status check_closed(cal_multibody_model* e, const double* q, const double* v, cal_projection what,
                               cal_violation* left) {
    cal_constraints_evaluate(e->constraints, q, v);
    *left = cal_constraints_violation(e->constraints, CAL_NONE);
    const double speed = (what & CAL_PROJECT_VELOCITY) == 0 ? 0.0 : left->speed;
    if (left->error <= CAL_LOOP_TOLERANCE && speed <= CAL_LOOP_TOLERANCE) return CAL_OK;
    const double tolerance = tolerance_of(e);
    return left->error <= tolerance && speed <= tolerance ? CAL_OK : CAL_NOT_CONVERGED;
}

cal_status cal_loops_project(cal_multibody_model* e, double time, double* q, double* v, cal_projection what) {
    if (e->constraints == NULL || e->constraints->row_count == 0) return CAL_OK;
    cal_violation left;
    e->constraints->time = time;
    cal_constraints_project(e->constraints, q, v, what, PATIENCE_STEP);
    return check_closed(e, q, v, what, &left);
}

bool cal_loops_make_projector(cal_multibody_model* e, const double* q, const double* v, const double* L) {
    if (e->constraints == NULL || e->constraints->row_count == 0) return false;
    cal_constraints_dense(e->constraints, q, v, e->rows, e->noise, e->bias);
    cal_projector_make(&e->projector, e->rows, e->noise, e->constraints->row_count, L, e->v_count, e->projector_memory);
    return true;
}

bool cal_loops_are_loose(const cal_multibody_model* e) {
    for (int i = 0; i < e->constraint_count; i++) {
        const cal_constraint_def* def = &e->model->constraints[i];
        if (def->kind != CAL_COUPLING && (def->body[0] == CAL_GROUND || def->body[1] == CAL_GROUND)) return false;
    }
    return true;
}

// --- At the start -----------------------------------------------------------------------------------------------------------

static cal_status find_moved(cal_multibody* m, const double* before, const double* q, cal_motion* links) {
    const int count = m->engine->body_count;
    cal_status status = cal_multibody_links(m, before, links);
    if (status == CAL_OK) status = cal_multibody_links(m, q, links + count);
    for (int i = 0; status == CAL_OK && i < count; i++) {
        double way[3];
        for (int k = 0; k < 3; k++) way[k] = links[count + i].pose.position[k] - links[i].pose.position[k];
        m->start_moved = fmax(m->start_moved, sqrt(cal_dot3(way, way)));
    }
    return status;
}

cal_status cal_loops_start(cal_world* world, cal_multibody* m, double* q, double* v, cal_error* error) {
    cal_multibody_model* e = m->engine;
    if (e->constraints == NULL) return CAL_OK;
    char name[64], body[64];
    cal_body_name_at(world, m->bodies[0], body, sizeof body);
    if (!world->group_ops->takes_loops)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%s has constraints, and the group integrator \"%s\" takes none: use \"implicit\"", body,
                        world->group_ops->name);
    if (e->constraints->row_count == 0) return CAL_OK;
    e->constraints->time = world->time;
    double* before = cal_allocate((size_t)e->q_count + 1, sizeof *before);
    cal_motion* links = cal_allocate(2 * (size_t)e->body_count, sizeof *links);
    cal_status status = before != NULL && links != NULL ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) {
        cal_violation left;
        memcpy(before, q, (size_t)e->q_count * sizeof *q);
        cal_constraints_project(e->constraints, q, v, CAL_PROJECT_BOTH, PATIENCE_START);
        status = check_closed(e, q, v, CAL_PROJECT_BOTH, &left);
        const bool open = !(left.error <= CAL_LOOP_TOLERANCE);
        if (status != CAL_OK)
            status =
                cal_fail(error, status, "constraint %.60s of %.60s stays %s by %g at the start: begin nearer to it",
                         cal_model_constraint_name(e->model, open ? left.error_of : left.speed_of, name, sizeof name),
                         body, open ? "open" : "broken", open ? left.error : left.speed);
        if (status == CAL_OK) status = find_moved(m, before, q, links);
    } else {
        status = cal_fail(error, status, "out of memory for a multibody");
    }
    cal_free(before);
    cal_free(links);
    world->report.start_moved = fmax(world->report.start_moved, m->start_moved);
    return status;
}

// --- Connecting and letting go ------------------------------------------------------------------------------------------------

static cal_status find_constraint(const cal_world* world, cal_multibody_id multibody, int constraint, const char* what,
                                  cal_multibody** out, cal_error* error) {
    if (!world->started || world->failed != CAL_OK)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: the world has not begun, or has failed", what);
    *out = cal_find_multibody(world, multibody);
    if (*out == NULL) return cal_fail(error, CAL_BAD_ARGUMENT, "%s: there is no such multibody in this world", what);
    if ((*out)->stage != CAL_BEGUN)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: the multibody has not begun to move: advance first", what);
    if (constraint >= 0 && constraint < (*out)->engine->constraint_count) return CAL_OK;
    return cal_fail(error, CAL_BAD_ARGUMENT, "%s: constraint %d is not there; the multibody has %d", what, constraint,
                    (*out)->engine->constraint_count);
}

// The numbers of the newest state that holds at the world's time: q, v, and which constraints are active.
static double* active_of(const cal_world* world, const cal_multibody* m, cal_numbers* numbers) {
    *numbers = cal_body_numbers(world, m->bodies[0], world->time);
    return numbers->tau + m->engine->v_count + m->slots;
}

bool cal_world_connected(const cal_world* world, cal_multibody_id multibody, int constraint) {
    if (!world) return false;
    cal_multibody* m;
    cal_numbers numbers;
    if (find_constraint(world, multibody, constraint, "cal_world_connected", &m, NULL) != CAL_OK) return false;
    return active_of(world, m, &numbers)[constraint] != 0.0;
}

bool cal_world_find_constraint(const cal_world* world, const char* name, cal_multibody_id* multibody, int* constraint) {
    if (!world || !name || !multibody || !constraint) return false;
    for (int i = 0; i < world->multibody_count; i++) {
        if (world->multibodies[i]->stage == CAL_REMOVED) continue;
        const int found = cal_model_find_constraint(world->multibodies[i]->engine->model, name);
        if (found == CAL_NONE) continue;
        *multibody = cal_multibody_id_of(world, i);
        *constraint = found;
        return true;
    }
    return false;
}

// Whether a constraint may be connected where the multibody is now; nothing is changed.
static cal_status check_gap(cal_world* world, cal_multibody* m, int constraint, cal_connection how, cal_error* error) {
    cal_multibody_model* e = m->engine;
    double* q = cal_allocate((size_t)(e->q_count + e->v_count) + 1, sizeof *q);
    if (q == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    cal_numbers numbers;
    double* v = q + e->q_count;
    char name[64];
    cal_model_constraint_name(e->model, constraint, name, sizeof name);
    cal_status status = cal_multibody_at(world, m, world->time, q, v);
    if (status != CAL_OK)
        status =
            cal_fail(error, status, "the multibody of %.60s cannot be followed: %s", name, cal_status_text(status));
    if (status == CAL_OK) {
        cal_multibody_use(m, active_of(world, m, &numbers));
        cal_constraints_activate(e->constraints, constraint, true);
        e->constraints->time = world->time;
        cal_constraints_evaluate(e->constraints, q, v);
        const cal_violation now = cal_constraints_violation(e->constraints, constraint);
        if (!(now.error <= CAL_CONNECT_TOLERANCE))
            status =
                cal_fail(error, CAL_BAD_ARGUMENT, "constraint '%s' is open by %g at t = %g s, and cannot be connected",
                         name, now.error, world->time);
        else if (!(now.speed <= CAL_CONNECT_TOLERANCE) && how == CAL_CONNECT_SMOOTH)
            status = cal_fail(error, CAL_BAD_ARGUMENT,
                              "constraint '%s' would stop a speed of %g at t = %g s: connect it as an inelastic "
                              "impact, or when nothing moves there",
                              name, now.speed, world->time);
    }
    cal_free(q);
    return status;
}

cal_status cal_world_connect(cal_world* world, cal_multibody_id multibody, int constraint, cal_connection how,
                             cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_connect: world must not be NULL");
    cal_multibody* m;
    cal_numbers numbers;
    cal_status status = find_constraint(world, multibody, constraint, "cal_world_connect", &m, error);
    if (status != CAL_OK) return status;
    if (how != CAL_CONNECT_SMOOTH && how != CAL_CONNECT_INELASTIC)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_connect: %d is no way to connect", (int)how);
    if (active_of(world, m, &numbers)[constraint] != 0.0) return CAL_OK;
    status = check_gap(world, m, constraint, how, error);
    if (status != CAL_OK) return status;
    int component = -1;
    status = cal_change_begin(world, m->bodies[0], &component, error);
    if (status == CAL_OK) {
        double* active = active_of(world, m, &numbers);
        char name[64];
        double before = 0.0, after = 0.0;
        active[constraint] = 1.0;
        cal_multibody_use(m, active);
        status = cal_multibody_energy(world, m->component, numbers.q, numbers.v, &before);
        if (status == CAL_OK)
            status = cal_loops_project(m->engine, world->time, numbers.q, numbers.v, CAL_PROJECT_BOTH);
        if (status == CAL_OK) status = cal_multibody_energy(world, m->component, numbers.q, numbers.v, &after);
        if (status == CAL_OK) cal_bodies_flow(world, m->bodies, 1, world->time, 0.0, before - after); // an impact
        if (status != CAL_OK)
            status = cal_fail(error, status, "constraint '%s' contradicts others at t = %g s",
                              cal_model_constraint_name(m->engine->model, constraint, name, sizeof name), world->time);
    }
    if (status == CAL_OK) status = cal_change_end(world, component, error);
    if (status != CAL_OK) world->failed = status;
    return status;
}

cal_status cal_world_disconnect(cal_world* world, cal_multibody_id multibody, int constraint, cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_disconnect: world must not be NULL");
    cal_multibody* m;
    cal_numbers numbers;
    cal_status status = find_constraint(world, multibody, constraint, "cal_world_disconnect", &m, error);
    if (status != CAL_OK || active_of(world, m, &numbers)[constraint] == 0.0) return status;
    int component = -1;
    status = cal_change_begin(world, m->bodies[0], &component, error);
    if (status == CAL_OK) {
        active_of(world, m, &numbers)[constraint] = 0.0;
        status = cal_change_end(world, component, error);
    }
    if (status != CAL_OK) world->failed = status;
    return status;
}

// What a multibody has of its constraints at the world's time, added to a report: error_rms is a sum of squares.
static cal_status look_at(cal_world* world, cal_multibody* m, cal_constraint_report* out) {
    cal_multibody_model* e = m->engine;
    double* q = cal_allocate((size_t)(e->q_count + e->v_count) + 1, sizeof *q);
    if (q == NULL) return CAL_NO_MEMORY;
    cal_numbers numbers;
    const cal_status status = cal_multibody_at(world, m, world->time, q, q + e->q_count);
    if (status == CAL_OK) {
        cal_multibody_use(m, active_of(world, m, &numbers));
        e->constraints->time = world->time;
        cal_constraints_evaluate(e->constraints, q, q + e->q_count);
        const cal_violation now = cal_constraints_violation(e->constraints, CAL_NONE);
        out->error = fmax(out->error, now.error);
        out->speed = fmax(out->speed, now.speed);
        out->rows += e->constraints->row_count;
        for (int i = 0; i < e->constraints->row_count; i++)
            out->error_rms += e->constraints->rows[i].error * e->constraints->rows[i].error;
        out->rank += cal_constraints_rank(e->constraints);
    }
    cal_free(q);
    return status;
}

cal_status cal_loops_look(const cal_world* world, cal_constraint_report* out) {
    *out = (cal_constraint_report){.error_of = CAL_NONE};
    if (!world->started || world->failed != CAL_OK) return world->failed;
    cal_status status = cal_world_complete(world);
    for (int i = 0; status == CAL_OK && i < world->multibody_count; i++) {
        cal_multibody* m = world->multibodies[i];
        // Reading a motion may continue it, which changes nothing that anybody sees.
        if (m->stage == CAL_BEGUN && m->engine->constraints != NULL) status = look_at((cal_world*)world, m, out);
    }
    return status;
}

cal_status cal_world_constraint_error(const cal_world* world, double* error, double* speed) {
    cal_constraint_report report;
    if (!world) return CAL_BAD_ARGUMENT;
    const cal_status status = cal_loops_look(world, &report);
    if (error != NULL) *error = report.error;
    if (speed != NULL) *speed = report.speed;
    return status;
}
