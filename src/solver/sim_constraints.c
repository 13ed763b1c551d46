// Constraints of a simulation: their forces at each evaluation, their projection after each step, connecting and letting go.
//
//     evaluation   prepare ─ q, v, projected ─ plan: q̈₀ without constraints ─ λ ─ τ + Aᵀλ ─ plan again, the solver riding along
//     step         accepted ─ y at its end ─ projected ─ the difference goes into the solver's history
//     sample       the solver's polynomial ─ projected; the history does not see it
//
// Solvers ask for derivatives beside the constraints, by as much as their predictions err. There λ would answer to the error
// with 1 / distance to the next singular position, and no step could pass one; so y is projected before it is evaluated: the
// equation is ẏ = f(P(y)), which has the same solutions and is as smooth as the mechanism. What happens next to a singular
// position is in sim_singular.c.
//
// Where memory is not shared every processor has all of q, v and q̈₀, and finds the same λ with the same bits.
#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"
#include "solver/sim.h"
#include <math.h>
#include <string.h>

enum { PATIENCE_START = 100, NAME = 80 };
// An error that a projection leaves although it should not: something has come apart.
static const double OPEN = 1e-4;

static const struct {
    const char* name;
    cal_stabilization law;
    bool projects;
} laws[] = {{"projection", CAL_STABILIZE_NONE, true},
            {"baumgarte", CAL_STABILIZE_CRITICAL, false},
            {"literal", CAL_STABILIZE_LITERAL, false},
            {"none", CAL_STABILIZE_NONE, false}};
enum { LAWS = sizeof laws / sizeof laws[0] };

static int find_law(const char* name) {
    int i = 0;
    while (i < LAWS && (!name || strcmp(name, laws[i].name) != 0)) i++;
    return i;
}

double cal_stabilize_limit(const char* stabilize, const char* solver, double step) {
    const int law = find_law(stabilize);
    return law == LAWS || !solver || !(step > 0.0) ? 0.0 : cal_stabilization_limit(solver, step, laws[law].law);
}

static cal_status project_bdf(void* user, double* y) {
    cal_sim* sim = user;
    double *q = sim->raw, *v = q + sim->model->q_count;
    if (!cal_sim_holds(sim)) return CAL_OK;
    cal_status status = cal_plan_gather(sim->plan, y, q, v);
    if (!status) status = cal_sim_project_after(sim, q, v, true);
    if (!status) cal_layout_scatter(sim->plan->layout, 0, q, v, y);
    return status;
}

cal_status cal_sim_create_constraints(cal_sim* sim, cal_error* error) {
    const cal_sim_def* def = &sim->def;
    const int law = find_law(def->stabilize);
    const bool known = def->constraint_form &&
                       (strcmp(def->constraint_form, "lagrange") == 0 || strcmp(def->constraint_form, "minimal") == 0);
    if (!known)
        return cal_fail(error, CAL_BAD_ARGUMENT, "constraint form '%.40s' is unknown; there are lagrange and minimal",
                        def->constraint_form ? def->constraint_form : "NULL");
    sim->opened = CAL_NONE;
    if (law == LAWS)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "stabilize '%.40s' is unknown; there are projection, baumgarte, literal and none",
                        def->stabilize ? def->stabilize : "NULL");
    if (!(def->gain >= 0.0 && isfinite(def->gain)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "the gain of a stabilisation must not be negative, but is %g",
                        def->gain);
    sim->law = laws[law].law;
    sim->projects = laws[law].projects;
    if (sim->model->constraint_count == 0) return CAL_OK;
    sim->raw = cal_allocate((size_t)sim->model->q_count + (size_t)sim->model->v_count, sizeof(double));
    sim->qdd = cal_allocate(3 * (size_t)sim->model->v_count, sizeof(double));
    sim->none_active = cal_allocate((size_t)sim->model->constraint_count, sizeof *sim->none_active);
    if (!sim->raw || !sim->qdd || !sim->none_active || !cal_sim_create_singular(sim) ||
        cal_constraints_create(sim->model, &sim->constraints))
        return cal_fail(error, CAL_NO_MEMORY, "no memory for %d constraints", sim->model->constraint_count);
    return cal_sim_create_form(sim, error);
}

void cal_sim_project_bdf(cal_sim* sim) {
    if (sim->constraints && sim->projects) cal_bdf_set_projection(sim->bdf, project_bdf);
}

static bool all_finite(const double* values, int count) {
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

void cal_sim_project_before(cal_sim* sim) {
    if (!sim->projects || !all_finite(sim->evaluated_q, sim->model->q_count + sim->model->v_count)) return;
    cal_sim_project_step(sim, sim->evaluated_q, sim->evaluated_v);
    cal_layout_scatter(sim->plan->layout, 0, sim->evaluated_q, sim->evaluated_v, sim->state->context.y);
}

cal_status cal_sim_add_constraint_forces(cal_sim* sim, const double* tau, const double* control) {
    const double gain = sim->def.gain;
    const bool literal = sim->law == CAL_STABILIZE_LITERAL, none = sim->law == CAL_STABILIZE_NONE;
    const double of_error = none ? 0.0 : literal ? gain : gain * gain;
    // Assembly closes loops itself, in the execution that follows; but for places where it had better not.
    if (!sim->minimal && cal_state_hold_active(sim->state, sim->constraints->active, of_error, none ? 0.0 : 2.0 * gain,
                                               none ? 0.0 : gain)) {
        if (!sim->projects || !cal_sim_is_near(sim)) return CAL_OK;
        cal_state_hold_active(sim->state, sim->none_active, 0.0, 0.0, 0.0);
    }
    const size_t count = (size_t)sim->model->v_count;
    cal_status status = cal_plan_run(sim->plan, sim->state, NULL, NULL, true, NULL);
    if (!status) status = cal_plan_gather(sim->plan, sim->state->context.ydot, NULL, sim->qdd);
    // What is not finite is left to the solver, which knows what to do about it.
    if (status || !all_finite(sim->qdd, sim->model->v_count)) return status;
    if (tau != sim->changed_tau) memcpy(sim->changed_tau, tau, count * sizeof(double));
    memset(sim->forces, 0, count * sizeof(double));
    status = cal_sim_add_forces(sim, sim->evaluated_q, sim->evaluated_v, sim->qdd, sim->forces);
    if (!status && sim->projects && !sim->minimal) status = cal_sim_interpolate_singular(sim, sim->state->time);
    if (status) return status;
    for (size_t i = 0; i < count; i++) sim->changed_tau[i] += sim->forces[i];
    return cal_sim_apply_forces(sim, sim->state, sim->changed_tau, control);
}

cal_status cal_sim_project_after(cal_sim* sim, double* q, double* v, bool counts) {
    cal_constraints* set = sim->constraints;
    const int count = sim->model->q_count;
    if (!all_finite(q, count) || !all_finite(v, sim->model->v_count)) return CAL_NOT_FINITE;
    if (sim->projects)
        cal_sim_project_step(sim, q, v);
    else
        cal_constraints_evaluate(set, q, v);
    const cal_violation left = cal_constraints_violation(set, CAL_NONE);
    if (counts) {
        sim->error_max = fmax(sim->error_max, left.error);
        sim->error_sum += left.squares;
        sim->error_steps++;
    }
    if (!sim->projects || left.error <= OPEN) return CAL_OK;
    sim->opened = left.error_of;
    return CAL_NOT_CONVERGED;
}

cal_status cal_sim_check_start(cal_sim* sim, cal_error* error) {
    if (!cal_sim_holds(sim) || !sim->projects) return CAL_OK;
    char name[NAME];
    cal_constraints* set = sim->constraints;
    cal_constraints_evaluate(set, sim->q, sim->v);
    const cal_violation now = cal_constraints_violation(set, CAL_NONE);
    if (!(now.error <= CAL_CONNECT_TOLERANCE))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "constraint '%s' is open by %g at t = %g s; begin where it holds, or let cal_sim_project "
                        "(--project) find such a place",
                        cal_model_constraint_name(sim->model, now.error_of, name, sizeof name), now.error, sim->time);
    if (!(now.speed <= CAL_CONNECT_TOLERANCE))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "constraint '%s' is broken by a speed of %g at t = %g s; begin with velocities that it allows, "
                        "or let cal_sim_project (--project) find some",
                        cal_model_constraint_name(sim->model, now.speed_of, name, sizeof name), now.speed, sim->time);
    cal_constraints_project(set, sim->q, sim->v, CAL_PROJECT_BOTH, CAL_PATIENCE_STEP);
    sim->energy_query.current = false;
    return CAL_OK;
}

cal_status cal_sim_find_forces(cal_sim* sim, double time, const double* q, const double* v, double* forces,
                               double* accelerations) {
    cal_sim_query* o = &sim->constraint_query;
    const double *tau = sim->tau, *control = sim->control;
    cal_status status = CAL_OK;
    if (!o->machine) status = cal_machine_serial(1, &o->machine, NULL);
    if (!status && !o->plan) status = cal_plan_create(sim->model, sim->def.algorithm, o->machine, &o->plan, NULL);
    if (!status && !o->state) status = cal_state_create(o->plan, &o->state);
    if (!status) status = cal_state_set(o->state, CAL_Q, q);
    if (!status) status = cal_state_set(o->state, CAL_V, v);
    if (!status) status = cal_sim_apply_pushes(sim, o->state);
    if (status) return status;
    if (sim->def.force) {
        cal_sim_call_back(sim, o->state, time, q, v);
        tau = sim->changed_tau, control = sim->changed_control;
    }
    status = cal_sim_apply_forces(sim, o->state, tau, control);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    if (!status) status = cal_state_get(o->state, CAL_QDD, sim->qdd);
    if (status) return status;
    const size_t count = (size_t)sim->model->v_count;
    if (tau != sim->changed_tau) memcpy(sim->changed_tau, tau, count * sizeof(double));
    memset(forces, 0, count * sizeof(double));
    cal_constraints_hold(sim->constraints, q, v, sim->qdd, sim->law, sim->def.gain,
                         sim->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN, forces);
    if (!accelerations) return CAL_OK;
    for (size_t i = 0; i < count; i++) sim->changed_tau[i] += forces[i];
    status = cal_sim_apply_forces(sim, o->state, sim->changed_tau, control);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    return status ? status : cal_state_get(o->state, CAL_QDD, accelerations);
}

// --- Connecting --------------------------------------------------------------------------------------------------------

static cal_status check_constraint(const cal_sim* sim, int constraint, const char* what, cal_error* error) {
    if (!sim) return cal_fail(error, CAL_BAD_ARGUMENT, "%s: sim must not be NULL", what);
    if (constraint < 0 || constraint >= sim->model->constraint_count)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: constraint %d is not there; the model has %d", what, constraint,
                        sim->model->constraint_count);
    return CAL_OK;
}

static void moved(cal_sim* sim) {
    sim->energy_query.current = false;
    (void)cal_sim_restart(sim);
}

cal_status cal_sim_connect(cal_sim* sim, int constraint, cal_connection how, cal_error* error) {
    const cal_status status = check_constraint(sim, constraint, "cal_sim_connect", error);
    if (status) return status;
    if (how != CAL_CONNECT_SMOOTH && how != CAL_CONNECT_INELASTIC)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_connect: %d is no way to connect", (int)how);
    cal_constraints* set = sim->constraints;
    if (set->active[constraint]) return CAL_OK;
    cal_constraints_activate(set, constraint, true);
    cal_constraints_evaluate(set, sim->q, sim->v);
    const cal_violation now = cal_constraints_violation(set, constraint);
    char name[NAME];
    cal_model_constraint_name(sim->model, constraint, name, sizeof name);
    if (!(now.error <= CAL_CONNECT_TOLERANCE)) {
        cal_constraints_activate(set, constraint, false);
        return cal_fail(error, CAL_BAD_ARGUMENT, "constraint '%s' is open by %g at t = %g s, and cannot be connected",
                        name, now.error, sim->time);
    }
    if (!(now.speed <= CAL_CONNECT_TOLERANCE) && how == CAL_CONNECT_SMOOTH) {
        cal_constraints_activate(set, constraint, false);
        return cal_fail(
            error, CAL_BAD_ARGUMENT,
            "constraint '%s' would stop a speed of %g at t = %g s: connect it as an inelastic impact, or when "
            "nothing moves there",
            name, now.speed, sim->time);
    }
    // Within the tolerance a gap is closed, too; without projection it is left to the law of stabilisation.
    cal_constraints_project(set, sim->q, sim->v, sim->projects ? CAL_PROJECT_BOTH : CAL_PROJECT_VELOCITY,
                            PATIENCE_START);
    moved(sim);
    return CAL_OK;
}

cal_status cal_sim_disconnect(cal_sim* sim, int constraint, cal_error* error) {
    const cal_status status = check_constraint(sim, constraint, "cal_sim_disconnect", error);
    if (status) return status;
    if (!sim->constraints->active[constraint]) return CAL_OK;
    cal_constraints_activate(sim->constraints, constraint, false);
    moved(sim);
    return CAL_OK;
}

bool cal_sim_connected(const cal_sim* sim, int constraint) {
    return sim && constraint >= 0 && constraint < sim->model->constraint_count && sim->constraints->active[constraint];
}

cal_status cal_sim_project(cal_sim* sim, cal_error* error) {
    if (!sim) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_project: sim must not be NULL");
    if (!cal_sim_holds(sim)) return CAL_OK;
    const size_t count = (size_t)sim->model->q_count + (size_t)sim->model->v_count;
    cal_constraints* set = sim->constraints;
    memcpy(sim->raw, sim->q, count * sizeof(double));
    cal_constraints_project(set, sim->q, sim->v, CAL_PROJECT_BOTH, PATIENCE_START);
    const cal_violation left = cal_constraints_violation(set, CAL_NONE);
    if (left.error <= CAL_CONNECT_TOLERANCE && left.speed <= CAL_CONNECT_TOLERANCE) {
        moved(sim);
        return CAL_OK;
    }
    memcpy(sim->q, sim->raw, count * sizeof(double));
    char name[NAME];
    const bool open = !(left.error <= CAL_CONNECT_TOLERANCE);
    cal_model_constraint_name(sim->model, open ? left.error_of : left.speed_of, name, sizeof name);
    if (cal_constraints_rank(set) < set->row_count)
        return cal_fail(error, CAL_NOT_CONVERGED,
                        "constraint '%s' stays open by %g: it contradicts others (%d of %d rows are independent)", name,
                        open ? left.error : left.speed, set->rank, set->row_count);
    return cal_fail(error, CAL_NOT_CONVERGED,
                    "constraint '%s' stays open by %g: it cannot be reached from here; begin nearer to it", name,
                    open ? left.error : left.speed);
}

// --- Looking at them ---------------------------------------------------------------------------------------------------

cal_status cal_sim_constraints(cal_sim* sim, cal_constraint_report* out) {
    if (!sim || !out) return CAL_BAD_ARGUMENT;
    *out = (cal_constraint_report){.error_of = CAL_NONE};
    if (!sim->constraints) return CAL_OK;
    out->error_max = sim->error_max;
    out->error_rms = sim->error_steps > 0 ? sqrt(sim->error_sum / (double)sim->error_steps) : 0.0;
    if (!cal_sim_holds(sim)) return CAL_OK;
    const cal_status status = cal_sim_find_forces(sim, sim->time, sim->q, sim->v, sim->forces, NULL);
    if (status) return status;
    const cal_violation now = cal_constraints_violation(sim->constraints, CAL_NONE);
    out->rows = sim->constraints->row_count;
    out->rank = sim->constraints->rank;
    out->error = now.error;
    out->speed = now.speed;
    out->error_of = now.error_of;
    return CAL_OK;
}

cal_status cal_sim_constraint_forces(cal_sim* sim, int constraint, double* rows, double wrench[6]) {
    const cal_status bad = check_constraint(sim, constraint, "cal_sim_constraint_forces", NULL);
    if (bad) return bad;
    const cal_model* model = sim->model;
    const cal_constraint_def* def = &model->constraints[constraint];
    const bool coupling = def->kind == CAL_COUPLING;
    if (rows) memset(rows, 0, (size_t)cal_constraint_rows(def, NULL) * sizeof *rows);
    if (wrench) memset(wrench, 0, 6 * sizeof *wrench);
    if (!sim->constraints->active[constraint]) return CAL_OK;
    const cal_status status = cal_sim_find_forces(sim, sim->time, sim->q, sim->v, sim->forces, NULL);
    if (status) return status;
    const cal_constraints* set = sim->constraints;
    // What acts on b is what acts on its node, or the opposite of what acts on a's where b is the ground.
    const int node_b = coupling || def->body[1] == CAL_GROUND ? -1 : model->mounts[def->body[1]].node;
    const int node_a = coupling || def->body[0] == CAL_GROUND ? -1 : model->mounts[def->body[0]].node;
    double moment[3] = {0.0}, force[3] = {0.0};
    const int node = node_b >= 0 ? node_b : node_a;
    const double sign = node_b >= 0 ? 1.0 : -1.0;
    for (int i = 0, k = 0; i < set->row_count; i++) {
        const cal_row* row = &set->rows[i];
        if (row->constraint != constraint) continue;
        if (rows) rows[k++] = set->lambda[i];
        for (int n = 0; n < row->node_count && node >= 0; n++)
            for (int d = 0; d < 3 && row->node[n] == node; d++) {
                moment[d] += sign * set->lambda[i] * row->moment[n][d];
                force[d] += sign * set->lambda[i] * row->force[n][d];
            }
    }
    if (!wrench || node < 0) return CAL_OK;
    double arm[3], lever[3];
    if (def->body[1] == CAL_GROUND)
        memcpy(arm, def->position[1], sizeof arm);
    else {
        const cal_mount* mount = &model->mounts[def->body[1]];
        cal_rotate3(mount->rotation, def->position[1], arm);
        for (int d = 0; d < 3; d++) arm[d] += mount->offset[d];
        if (node_b >= 0) cal_rotate3(set->motions[node_b].rotation, arm, arm);
        for (int d = 0; d < 3 && node_b >= 0; d++)
            arm[d] += set->motions[node_b].origin[d] + set->motions[node_b].base[d];
    }
    // From the node's origin to frame b's.
    for (int d = 0; d < 3; d++) arm[d] -= set->motions[node].origin[d] + set->motions[node].base[d];
    cal_cross3(arm, force, lever);
    for (int d = 0; d < 3; d++) wrench[d] = force[d], wrench[3 + d] = moment[d] - lever[d];
    return CAL_OK;
}
