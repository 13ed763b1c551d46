// Constraints of a system: their forces at each evaluation, their projection after each step, connecting and letting go.
//
//     evaluation   prepare ─ q, v, projected ─ plan: q̈₀ without constraints ─ λ, M⁻¹Aᵀλ ─ ydot ─ the solver's follow-up
//                  of implicit solvers, next to singular positions and without multipliers: τ + Aᵀλ ─ plan again, with the solver
//                  (an implicit solver's q̈₀ is that of M + h D + h² K, and so is λ: the step's end keeps to A v = −h Ȧ v)
//                  loops in the order of the tree: joint forces ─ fronts: λ and q̈ with everything ─ ydot ─ the solver's follow-up
//     step         accepted ─ y at its end ─ projected ─ the difference goes into the solver's history
//     sample       the solver's polynomial ─ projected; the history does not see it
//
// Solvers ask for derivatives beside the constraints, by as much as their predictions err. There λ would answer to the error
// with 1 / distance to the next singular position, and no step could pass one; so y is projected before it is evaluated: the
// equation is ẏ = f(P(y)), which has the same solutions and is as smooth as the mechanism. What happens next to a singular
// position is in system_singular.c.
//
// Where memory is not shared every processor has all of q, v and q̈₀, and finds the same λ with the same bits.
#include "base/error.h"
#include "base/finite.h"
#include "base/memory.h"
#include "constraint/closing.h"
#include "constraint/directions.h"
#include "machine/machine.h"
#include "model/coordinates.h"
#include "solver/system_data.h"
#include <math.h>
#include <string.h>

enum { PATIENCE_START = 100, NAME = 80 };

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

bool cal_find_stabilization(const char* stabilize, cal_stabilization* law, bool* projects) {
    const int i = find_law(stabilize);
    if (i == LAWS) return false;
    *law = laws[i].law;
    *projects = laws[i].projects;
    return true;
}

double cal_stabilize_limit(const char* stabilize, const char* solver, double step) {
    const int law = find_law(stabilize);
    if (law == LAWS || !solver || !(step > 0.0)) return 0.0;
    const cal_solver_ops* ops = cal_find_solver(solver);
    if (!ops || !ops->fixed_step) return (double)INFINITY;
    return ops->reach > 0.0 ? cal_explicit_limit(ops->reach, step, laws[law].law)
                            : cal_semi_implicit_limit(step, laws[law].law);
}

static cal_status project_bdf(void* user, double time, double* y) {
    cal_system* system = user;
    double *q = system->raw, *v = q + system->model->q_count;
    if (!cal_system_holds(system)) return CAL_OK;
    cal_status status = cal_plan_gather(system->plan, y, q, v);
    if (!status) status = cal_system_close_step(system, time, q, v);
    if (!status) cal_layout_scatter(system->plan->layout, 0, q, v, y);
    return status;
}

cal_status cal_system_create_constraints(cal_system* system, cal_error* error) {
    const cal_sim_def* def = &system->def;
    const int law = find_law(def->stabilize);
    const bool known = def->constraint_form &&
                       (strcmp(def->constraint_form, "lagrange") == 0 || strcmp(def->constraint_form, "minimal") == 0);
    if (!known)
        return cal_fail(error, CAL_BAD_ARGUMENT, "constraint form '%.40s' is unknown; there are lagrange and minimal",
                        def->constraint_form ? def->constraint_form : "NULL");
    system->opened = CAL_NONE;
    if (law == LAWS)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "stabilize '%.40s' is unknown; there are projection, baumgarte, literal and none",
                        def->stabilize ? def->stabilize : "NULL");
    if (!(def->gain >= 0.0 && isfinite(def->gain)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "the gain of a stabilisation must not be negative, but is %g",
                        def->gain);
    system->law = laws[law].law;
    system->projects = laws[law].projects;
    system->def.stabilize = laws[law].name; // the caller's memory is not looked at again
    system->def.constraint_form = strcmp(def->constraint_form, "minimal") == 0 ? "minimal" : "lagrange";
    system->watch.due = (double)INFINITY;
    if (system->model->constraint_count == 0) return CAL_OK;
    system->raw = cal_allocate((size_t)system->model->q_count + (size_t)system->model->v_count, sizeof(double));
    system->qdd = cal_allocate(3 * (size_t)system->model->v_count, sizeof(double));
    if (!system->raw || !system->qdd || !cal_system_create_singular(system) || !cal_system_create_watch(system) ||
        cal_constraints_create_on(system->model, system->plan->machine, &system->constraints))
        return cal_fail(error, CAL_NO_MEMORY, "no memory for %d constraints", system->model->constraint_count);
    const cal_plan* plan = system->plan;
    // Where memory is not shared, and on a device, they join one of their own.
    const bool shared = plan->layout->keep == CAL_KEEP_ALL && !plan->machine->device;
    system->constraints->joins = system->constraints->aba_state && plan->program == &cal_program_aba;
    system->constraints->moves = system->constraints->loops && plan->program == &cal_program_aba;
    if (system->constraints->joins && shared &&
        (cal_state_keep_responses(system->state) || cal_plan_create_part(plan, CAL_PART_FIRST, &system->first_part) ||
         cal_plan_create_part(plan, CAL_PART_LAST, &system->last_part)))
        return cal_fail(error, CAL_NO_MEMORY, "no memory for %d constraints", system->model->constraint_count);
    return cal_system_create_form(system, error);
}

bool cal_system_create_probe(cal_system* system) {
    if (!system->constraints) return true;
    if (system->ops->implicit == 0)
        return cal_plan_create_part(system->plan, CAL_PART_SUMS, &system->following) == CAL_OK;
    system->probe = *system->ops;
    system->probe.sum_count = system->probe.max_count = 0;
    system->probe.follow_up = NULL;
    system->added = cal_allocate((size_t)system->model->v_count, sizeof(double));
    return system->added != NULL;
}

void cal_system_project_bdf(cal_system* system) {
    if (system->constraints && system->projects) cal_bdf_set_projection(system->bdf, project_bdf);
}

// λ where q̈₀ is in system->qdd, and the constraints' forces: they become joint forces, and the plan is run again with them.
static cal_status add_joint_forces(cal_system* system, bool implicit, const double* control) {
    const size_t count = (size_t)system->model->v_count;
    memset(system->forces, 0, count * sizeof(double));
    const cal_coupled* coupled = implicit && system->state->context.resisting ? system->state->coupled : NULL;
    system->constraints->tree.added = implicit ? system->added : NULL;
    system->constraints->tree.resisting = coupled ? coupled->resisting : NULL;
    cal_status status =
        cal_system_add_forces(system, system->evaluated_q, system->evaluated_v, system->qdd, system->forces);
    system->constraints->tree.added = system->constraints->tree.resisting = NULL;
    // An implicit step moves by its mean velocity.
    if (system->constraints->moved)
        system->moved = cal_constraints_motion_power(system->constraints,
                                                     implicit ? 0.5 * system->down[CAL_DOWN_IMPLICIT_STEP] : 0.0);
    if (!status && system->projects && !implicit) status = cal_system_interpolate_singular(system, system->state->time);
    if (status) return status;
    for (size_t i = 0; i < count; i++) system->changed_tau[i] += system->forces[i];
    system->held = true;
    return cal_system_apply_forces(system, system->state, system->changed_tau, control);
}

// Accelerations that hold the constraints are in system->qdd: they go into ydot. rates: q̇; NULL: an execution has left it there.
static void take_accelerations(cal_system* system, const double* rates) {
    cal_system_keep_rests(system, system->qdd);
    cal_layout_scatter(system->plan->layout, 0, rates, system->qdd, system->state->context.ydot);
    cal_state_changed(system->state, CAL_HELD_YDOT);
    system->accelerated = true;
}

// The same as accelerations: M⁻¹ Aᵀ λ, which comes with λ, is added to q̈₀ in ydot. Not next to singular positions, where forces of
// both sides are interpolated.
static bool add_accelerations(cal_system* system) {
    cal_constraints* set = system->constraints;
    const double shift = system->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN;
    cal_constraints_find_change(set, system->evaluated_q, system->evaluated_v, system->qdd, system->law,
                                system->def.gain, shift, NULL);
    const double moved = cal_constraints_motion_power(set, 0.0), closing = cal_constraints_power(set);
    for (int i = 0; i < system->model->v_count; i++) set->change[i] += system->qdd[i];
    // Looks elsewhere, but leaves the change that was found.
    if (system->projects && cal_system_changes_near(system, set->change)) return false;
    memcpy(system->qdd, set->change, (size_t)system->model->v_count * sizeof(double));
    take_accelerations(system, NULL);
    system->moved = moved;
    system->closing = closing;
    return true;
}

// Where loops are closed in the order of the tree, q̈ comes from there as a whole: on processors neither walk of an execution is needed.
static cal_status move_loops(cal_system* system, bool* done) {
    cal_constraints* set = system->constraints;
    const double shift = system->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN;
    const cal_constraint_load load = {system->qdd, system->state->pushes, system->state->push_count};
    cal_status status = CAL_OK;
    if (system->plan->machine->device) { // whose follow-up comes after an execution
        status = cal_plan_run(system->plan, system->state, NULL, NULL, true, NULL);
        if (!status) status = cal_state_bring(system->state, CAL_HELD_YDOT | CAL_HELD_VECTORS);
    }
    if (!status) status = cal_plan_find_forces(system->plan, system->state, system->qdd);
    if (status || !cal_all_finite(system->qdd, system->model->v_count)) return status;
    cal_constraints_move(set, system->evaluated_q, system->evaluated_v, &load, system->law, system->def.gain, shift);
    if (!cal_all_finite(set->change, system->model->v_count)) return CAL_OK;
    const double moved = cal_constraints_motion_power(set, 0.0), closing = cal_constraints_power(set);
    memcpy(system->qdd, set->change, (size_t)system->model->v_count * sizeof(double));
    if (system->projects && cal_system_changes_near(system, system->qdd)) return CAL_OK;
    cal_model_rate(system->model, system->evaluated_q, system->evaluated_v, set->before);
    take_accelerations(system, set->before);
    system->moved = moved;
    system->closing = closing;
    *done = true;
    return CAL_OK;
}

static cal_status run_first(cal_system* system, const cal_plan* part, cal_state* state) {
    state->context.riders =
        cal_constraints_ride(system->constraints, system->evaluated_q, system->evaluated_v, state->plan->layout);
    return cal_plan_run(part, state, NULL, NULL, true, NULL);
}

// An execution up to its last walk at y: the system's own, or, where its memory is not here, one of the constraints' with the same forces.
static cal_status execute_first(cal_system* system, const double* tau, const double* control, const cal_context** out) {
    cal_state* state = system->constraints->aba_state;
    if (system->first_part) {
        *out = &system->state->context;
        return run_first(system, system->first_part, system->state);
    }
    *out = &state->context;
    // The joints' forces of all processors, for their powers.
    cal_status status = cal_plan_run(system->plan, system->state, NULL, NULL, true, NULL);
    if (!status) status = cal_state_bring(system->state, CAL_HELD_YDOT); // of which accelerations are a part
    cal_layout_scatter(state->plan->layout, 0, system->evaluated_q, system->evaluated_v, state->context.y);
    cal_state_release(state);
    for (int i = 0; i < system->state->push_count && !status; i++) {
        const cal_outer_force* p = &system->state->pushes[i];
        status = cal_state_push(state, p->body, p->force, p->torque, p->point);
    }
    if (!status) status = cal_system_apply_forces(system, state, tau, control);
    return status ? status : run_first(system, system->constraints->aba_first, state);
}

// system->qdd ← what the last walk of that execution gives.
static cal_status execute_last(cal_system* system) {
    cal_state* state = system->last_part ? system->state : system->constraints->aba_state;
    const cal_plan* last = system->last_part ? system->last_part : system->constraints->aba_last;
    const cal_status status = cal_plan_follow(state->plan, last, state, NULL, NULL, NULL);
    return status ? status : cal_plan_gather(state->plan, state->context.ydot, NULL, system->qdd);
}

// Other executions of these states have no rows with them.
static void end_ride(cal_system* system) {
    system->state->context.riders = NULL;
    system->constraints->aba_state->context.riders = NULL;
}

// Where joints have one degree of freedom each: λ follows from the first walk of an execution, and its last one has everything. Not next to
// singular positions; and what is not finite is left to the solver, which knows what to do about it.
static cal_status join_execution(cal_system* system, const double* tau, const double* control, bool* done) {
    cal_constraints* set = system->constraints;
    const double shift = system->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN;
    const cal_context* executed;
    cal_status status = execute_first(system, tau, control, &executed);
    *done = true;
    const bool joined = !status && cal_constraints_join(set, system->evaluated_q, system->evaluated_v, system->law,
                                                        system->def.gain, shift, executed);
    end_ride(system);
    if (!joined) return status;
    const double moved = cal_constraints_motion_power(set, 0.0), closing = cal_constraints_power(set);
    const bool looks = system->projects && cal_system_looks_near(system);
    const bool whole = looks || !system->last_part || system->friction.count > 0;
    if (whole) status = execute_last(system);
    if (status || (whole && !cal_all_finite(system->qdd, system->model->v_count))) return status;
    if (looks) {
        cal_directions_make(set);
        *done = !cal_system_changes_near(system, system->qdd);
        if (!*done) return CAL_OK;
    }
    if (whole) take_accelerations(system, NULL);
    system->accelerated = true;
    system->joined = !whole;
    system->moved = moved;
    system->closing = closing;
    return CAL_OK;
}

cal_status cal_system_add_constraint_forces(cal_system* system, const double* tau, const double* control) {
    system->held = system->accelerated = system->joined = false;
    const size_t count = (size_t)system->model->v_count;
    const bool implicit = system->ops && system->ops->implicit > 0;
    const bool accelerates = system->ops && !implicit && !system->minimal;
    bool done = false;
    system->constraints->time = system->state->time;
    if (accelerates && system->constraints->joins) {
        const cal_status status = join_execution(system, tau, control, &done);
        if (status || done) return status;
    }
    const bool moves = accelerates && system->constraints->moves;
    if (moves) {
        const cal_status status = move_loops(system, &done);
        if (status || done) return status;
    }
    cal_status status = cal_plan_run(system->plan, system->state, implicit ? &system->probe : NULL,
                                     implicit ? &system->context : NULL, true, NULL);
    if (!status) status = cal_state_bring(system->state, CAL_HELD_YDOT | CAL_HELD_VECTORS);
    if (!status) status = cal_plan_gather(system->plan, system->state->context.ydot, NULL, system->qdd);
    if (!status && implicit)
        status = cal_plan_gather(system->plan, system->vectors[system->ops->implicit], NULL, system->added);
    // What is not finite is left to the solver, which knows what to do about it.
    if (status || !cal_all_finite(system->qdd, system->model->v_count)) return status;
    system->constraints->time = system->state->time;
    if (accelerates && !system->constraints->joins && !moves && add_accelerations(system)) return CAL_OK;
    if (tau != system->changed_tau) memcpy(system->changed_tau, tau, count * sizeof(double));
    return add_joint_forces(system, implicit, control);
}

cal_status cal_system_check_start(cal_system* system, cal_error* error) {
    if (!cal_system_holds(system) || !system->projects) return CAL_OK;
    char name[NAME];
    cal_constraints* set = system->constraints;
    set->time = system->time;
    cal_constraints_evaluate(set, system->q, system->v);
    const cal_violation now = cal_constraints_violation(set, CAL_NONE);
    if (!(now.error <= CAL_CONNECT_TOLERANCE))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "constraint '%s' is open by %g at t = %g s; begin where it holds, or let cal_sim_project "
                        "(--project) find such a place",
                        cal_model_constraint_name(system->model, now.error_of, name, sizeof name), now.error,
                        system->time);
    if (!(now.speed <= CAL_CONNECT_TOLERANCE))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "constraint '%s' is broken by a speed of %g at t = %g s; begin with velocities that it allows, "
                        "or let cal_sim_project (--project) find some",
                        cal_model_constraint_name(system->model, now.speed_of, name, sizeof name), now.speed,
                        system->time);
    cal_constraints_project(set, system->q, system->v, CAL_PROJECT_BOTH, CAL_PATIENCE_STEP);
    cal_system_forget_energy(system);
    return CAL_OK;
}

cal_status cal_system_find_forces(cal_system* system, double time, const double* q, const double* v, double* forces,
                                  double* accelerations) {
    cal_system_query* o = &system->constraint_query;
    const double *tau = system->tau, *control = cal_system_inputs(system, time);
    cal_status status = CAL_OK;
    if (!o->machine) status = cal_machine_serial(1, &o->machine, NULL);
    if (!status && !o->plan) status = cal_plan_create(system->model, system->def.algorithm, o->machine, &o->plan, NULL);
    if (!status && !o->state) status = cal_state_create(o->plan, &o->state);
    if (!status) status = cal_state_set(o->state, CAL_Q, q);
    if (!status) status = cal_state_set(o->state, CAL_V, v);
    if (!status) status = cal_system_apply_pushes(system, o->state);
    if (status) return status;
    if (system->def.force) {
        cal_system_call_back(system, o->state, time, q, v);
        tau = system->changed_tau, control = system->changed_control;
    }
    status = cal_system_apply_forces(system, o->state, tau, control);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    if (!status) status = cal_state_get(o->state, CAL_QDD, system->qdd);
    if (status) return status;
    const size_t count = (size_t)system->model->v_count;
    if (tau != system->changed_tau) memcpy(system->changed_tau, tau, count * sizeof(double));
    memset(forces, 0, count * sizeof(double));
    system->constraints->time = time;
    cal_constraints_hold(system->constraints, q, v, system->qdd, system->law, system->def.gain,
                         system->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN, forces);
    if (!accelerations) return CAL_OK;
    for (size_t i = 0; i < count; i++) system->changed_tau[i] += forces[i];
    status = cal_system_apply_forces(system, o->state, system->changed_tau, control);
    if (!status) status = cal_plan_execute(o->plan, o->state, NULL);
    return status ? status : cal_state_get(o->state, CAL_QDD, accelerations);
}

// --- Connecting ------------------------------------------------------------------------------------------------------

static cal_status check_constraint(const cal_system* system, int constraint, const char* what, cal_error* error) {
    if (constraint < 0 || constraint >= cal_system_own_constraints(system))
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: constraint %d is not there; the model has %d", what, constraint,
                        cal_system_own_constraints(system));
    return CAL_OK;
}

cal_status cal_system_connect(cal_system* system, int constraint, cal_connection how, cal_error* error) {
    const cal_status status = check_constraint(system, constraint, "cal_sim_connect", error);
    if (status) return status;
    if (how != CAL_CONNECT_SMOOTH && how != CAL_CONNECT_INELASTIC)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_connect: %d is no way to connect", (int)how);
    cal_constraints* set = system->constraints;
    if (set->active[constraint]) return CAL_OK;
    cal_constraints_activate(set, constraint, true);
    set->time = system->time;
    cal_constraints_evaluate(set, system->q, system->v);
    const cal_violation now = cal_constraints_violation(set, constraint);
    char name[NAME];
    cal_model_constraint_name(system->model, constraint, name, sizeof name);
    if (!(now.error <= CAL_CONNECT_TOLERANCE)) {
        cal_constraints_activate(set, constraint, false);
        return cal_fail(error, CAL_BAD_ARGUMENT, "constraint '%s' is open by %g at t = %g s, and cannot be connected",
                        name, now.error, system->time);
    }
    if (!(now.speed <= CAL_CONNECT_TOLERANCE) && how == CAL_CONNECT_SMOOTH) {
        cal_constraints_activate(set, constraint, false);
        return cal_fail(
            error, CAL_BAD_ARGUMENT,
            "constraint '%s' would stop a speed of %g at t = %g s: connect it as an inelastic impact, or when "
            "nothing moves there",
            name, now.speed, system->time);
    }
    // Within the tolerance a gap is closed, too; without projection it is left to the law of stabilisation.
    double before[2], after[2];
    cal_status found = cal_system_find_energy(system, system->q, system->v, before);
    cal_constraints_project(set, system->q, system->v, system->projects ? CAL_PROJECT_BOTH : CAL_PROJECT_VELOCITY,
                            PATIENCE_START);
    cal_system_moved(system);
    if (!found) found = cal_system_find_energy(system, system->q, system->v, after);
    if (found) return cal_fail(error, found, "the energy that connecting '%s' takes is not known", name);
    // An impact; what closes a gap within the tolerance is in it.
    system->flow.memory.now.loss += (before[0] - after[0]) + (before[1] - after[1]);
    return CAL_OK;
}

cal_status cal_system_disconnect(cal_system* system, int constraint, cal_error* error) {
    const cal_status status = check_constraint(system, constraint, "cal_sim_disconnect", error);
    if (status) return status;
    // It may be due already, in the step that has been taken.
    if (system->watch.waits[constraint]) cal_system_restart(system);
    system->watch.waits[constraint] = false;
    if (!system->constraints->active[constraint]) return CAL_OK;
    cal_constraints_activate(system->constraints, constraint, false);
    cal_system_moved(system);
    return CAL_OK;
}

bool cal_system_connected(const cal_system* system, int constraint) {
    return constraint >= 0 && constraint < cal_system_own_constraints(system) &&
           system->constraints->active[constraint];
}

// So large an inertia that what it is moved by vanishes beside any number, but its squares are still finite.
static const double IMMOVABLE = 1e150;

static cal_status project_holding(cal_system* system, const bool* held) {
    cal_constraints* set = system->constraints;
    const size_t count = (size_t)system->model->v_count;
    double* added = held ? cal_allocate(count, sizeof *added) : NULL;
    if (held && !added) return CAL_NO_MEMORY;
    for (size_t i = 0; held && i < count; i++) added[i] = held[i] ? IMMOVABLE : 0.0;
    set->tree.added = added;
    cal_constraints_project(set, system->q, system->v, CAL_PROJECT_BOTH, PATIENCE_START);
    set->tree.added = NULL;
    set->factored = false;
    cal_free(added);
    return CAL_OK;
}

// The first joint that should have stayed where it was but did not, because no other could move: CAL_NONE: all did.
static int find_moved(const cal_system* system, const bool* held) {
    const cal_model* model = system->model;
    for (int i = 0; held && i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        const size_t q = (size_t)cal_joint_q_count(joint->def->kind), v = (size_t)cal_joint_v_count(joint->def->kind);
        if (held[joint->first_v] &&
            (memcmp(system->raw + joint->first_q, system->q + joint->first_q, q * sizeof(double)) != 0 ||
             memcmp(system->raw + model->q_count + joint->first_v, system->v + joint->first_v, v * sizeof(double)) !=
                 0))
            return i;
    }
    return CAL_NONE;
}

cal_status cal_system_project(cal_system* system, const bool* held, cal_error* error) {
    if (!cal_system_holds(system)) return CAL_OK;
    const size_t count = (size_t)system->model->q_count + (size_t)system->model->v_count;
    cal_constraints* set = system->constraints;
    char name[NAME];
    memcpy(system->raw, system->q, count * sizeof(double));
    set->time = system->time;
    if (project_holding(system, held)) return cal_fail(error, CAL_NO_MEMORY, "no memory to hold joints");
    const cal_violation left = cal_constraints_violation(set, CAL_NONE);
    const int moved = find_moved(system, held);
    if (moved != CAL_NONE) {
        memcpy(system->q, system->raw, count * sizeof(double));
        return cal_fail(error, CAL_NOT_CONVERGED,
                        "the constraints cannot be met while joint '%s' stays where it is: hold fewer joints",
                        cal_model_joint_name(system->model, moved, name, sizeof name));
    }
    if (left.error <= CAL_CONNECT_TOLERANCE && left.speed <= CAL_CONNECT_TOLERANCE) {
        system->account.begun = 0; // it is another place, as if set there
        cal_system_moved(system);
        return CAL_OK;
    }
    memcpy(system->q, system->raw, count * sizeof(double));
    const bool open = !(left.error <= CAL_CONNECT_TOLERANCE);
    cal_model_constraint_name(system->model, open ? left.error_of : left.speed_of, name, sizeof name);
    if (cal_constraints_rank(set) < set->row_count)
        return cal_fail(error, CAL_NOT_CONVERGED,
                        "constraint '%s' stays open by %g: it contradicts others (%d of %d rows are independent)", name,
                        open ? left.error : left.speed, set->rank, set->row_count);
    return cal_fail(error, CAL_NOT_CONVERGED,
                    "constraint '%s' stays open by %g: it cannot be reached from here; begin nearer to it", name,
                    open ? left.error : left.speed);
}

// --- Looking at them -------------------------------------------------------------------------------------------------

cal_status cal_system_constraints(cal_system* system, cal_constraint_report* out) {
    if (!out) return CAL_BAD_ARGUMENT;
    *out = (cal_constraint_report){.error_of = CAL_NONE};
    if (!system->constraints) return CAL_OK;
    out->error_max = system->error_max;
    out->error_rms = system->error_steps > 0 ? sqrt(system->error_sum / (double)system->error_steps) : 0.0;
    out->waiting = cal_system_waiting(system);
    out->caught = system->watch.caught;
    out->caught_time = system->watch.caught_time;
    out->singular_count = system->singular_count;
    memcpy(out->singular, system->singular, sizeof out->singular);
    if (!cal_system_holds(system)) return CAL_OK;
    const cal_status status = cal_system_find_forces(system, system->time, system->q, system->v, system->forces, NULL);
    if (status) return status;
    const cal_violation now = cal_constraints_violation(system->constraints, CAL_NONE);
    out->rows = system->constraints->row_count;
    out->rank = system->constraints->rank;
    out->error = now.error;
    out->speed = now.speed;
    out->error_of = now.error_of;
    return cal_system_look_beside(system, &out->undecided);
}

static cal_status find_constraint_forces(cal_system* system, int constraint, double* rows, double wrench[6]) {
    const cal_model* model = system->model;
    const cal_constraint_def* def = &model->constraints[constraint];
    const bool coupling = def->kind == CAL_COUPLING;
    const cal_status status = cal_system_find_forces(system, system->time, system->q, system->v, system->forces, NULL);
    if (status) return status;
    cal_constraints_share(system->constraints);
    const cal_constraints* set = system->constraints;
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

cal_status cal_system_constraint_forces(cal_system* system, int constraint, double* rows, double wrench[6]) {
    const cal_status bad = check_constraint(system, constraint, "cal_sim_constraint_forces", NULL);
    if (bad) return bad;
    const cal_constraint_def* def = &system->model->constraints[constraint];
    if (rows) memset(rows, 0, (size_t)cal_constraint_rows(def, NULL) * sizeof *rows);
    if (wrench) memset(wrench, 0, 6 * sizeof *wrench);
    if (!system->constraints->active[constraint]) return CAL_OK;
    void* kept;
    cal_status status = cal_system_begin_look(system, &kept);
    if (!status) status = find_constraint_forces(system, constraint, rows, wrench);
    return cal_system_end_look(system, kept, status);
}
