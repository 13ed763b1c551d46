// Runs of a simulation: the caller's own, or one that the run makes, which a hand can pull and whose settings can change.
//
// Another solver, tolerance, algorithm or machine is another simulation that starts at the old one's time, q and v. An
// advance that may rest does so after so many evaluations that a moment has passed.
//
// Where shapes touch, the simulation has events: then it shows what is final, and a hand's force is renewed many times a
// second (pull.h), since every system there goes its own way.
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/resting.h"
#include "pass/pass.h"
#include "run/events.h"
#include "run/inspect.h"
#include "run/pull.h"
#include "run/run.h"
#include "simulation/sim.h"

static const uint32_t COOKIE = 0x52554e53;
static const double JOINTS_PER_STRETCH = 1e6; // joints × evaluations in one advance: about a thirtieth of a second
enum { LEAST_EVALUATIONS = 40, NAME = 16 };
static const double BEYOND = 1e-6; // of an angle or a length: what rounding and steps leave of a joint on its stop

enum { KINETIC, POTENTIAL, TOTAL, WORK, LOSS, BALANCE, STEP, ORDER, EVALUATIONS, CONSTRAINT, CHANNELS };
static const cal_channel channels[CHANNELS] = {
    [KINETIC] = {"kinetic", "J", "Energy", false},
    [POTENTIAL] = {"potential", "J", "Energy", false},
    [TOTAL] = {"total", "J", "Energy", false},
    [WORK] = {"work", "J", "Energy", false},
    [LOSS] = {"loss", "J", "Energy", false},
    [BALANCE] = {"balance", "of the energy exchanged", "Energy balance error", true},
    [STEP] = {"step", "s", "Step size", true},
    [ORDER] = {"order", "", "Order", false},
    [EVALUATIONS] = {"evaluations", "1/s", "Evaluations per simulated second", false},
    [CONSTRAINT] = {"constraint error", "m or rad", "Constraint error", true},
};

typedef struct sim_run {
    cal_run base;
    cal_sim* sim;
    double* start; // q and v where a reset goes
    bool begun, projects;
    cal_inspector inspector;
    cal_rate evaluations;
    cal_event_watch watch;
    double *good, good_time; // q and v where the balance was well; NULL: it was not asked for yet
    // Of a run with a simulation of its own.
    bool owns;
    cal_run_sim_def def;
    char solver[NAME], algorithm[NAME], machine_text[32], stabilize[NAME], form[NAME];
    int32_t* processor_of_joint;
    cal_machine* machine; // that the run made; NULL: the caller's
    int64_t limit;        // evaluations per stretch; 0: it does not rest
    double goal;          // where the advance that rested was going; before the present time where none did
    cal_pull pull;
    double *tau, *control; // that it is driven with; NULL: the model's
} sim_run;

// --- Making the simulation ------------------------------------------------------------------------------------------------------

static void add_forces(cal_force_context* context, void* user) {
    const sim_run* r = user;
    const double none[3] = {0, 0, 0};
    double force[3];
    if (r->def.sim.force) r->def.sim.force(context, r->def.sim.user);
    if (r->pull.body == CAL_NONE) return;
    cal_pull_force(&r->pull, context->time, context->q, context->v, force, NULL);
    // A force that is not finite comes from a state that is not, which the solver reports itself.
    cal_state_push(context->state, r->pull.body, force, none, r->pull.point);
}

static int64_t find_limit(const sim_run* r) {
    if (!r->def.rests) return 0;
    const int joints = cal_model_joint_count(r->base.model);
    int64_t limit = (int64_t)(JOINTS_PER_STRETCH / (joints > 0 ? joints : 1));
    if (limit < LEAST_EVALUATIONS) limit = LEAST_EVALUATIONS;
    // SUNDIALS cannot rest in the middle of a step.
    return strcmp(r->solver, "bdf") == 0 ? 1000 * limit : limit;
}

static bool copy_name(char* to, size_t capacity, const char* from) {
    const int length = from ? snprintf(to, capacity, "%s", from) : -1;
    return length > 0 && (size_t)length < capacity;
}

// A simulation by the present settings, whose texts it goes on using. One that was changed has a machine of its own, and none
// of the start's settings that mean nothing to it.
static cal_status create_sim(sim_run* r, bool changed, cal_machine** machine, cal_sim** sim, cal_error* error) {
    const bool makes_machine = changed || !r->def.sim.machine, fixed = cal_solver_has_fixed_step(r->solver);
    cal_sim_def def = r->def.sim;
    cal_status status = makes_machine ? cal_machine_from_text(r->machine_text, r->def.lanes, machine, error) : CAL_OK;
    if (status) return status;
    def.solver = r->solver;
    def.algorithm = r->algorithm;
    def.stabilize = r->stabilize;
    def.constraint_form = r->form;
    def.processor_of_joint = changed ? NULL : r->processor_of_joint;
    if (makes_machine) def.machine = *machine;
    const cal_program* program = cal_find_program(r->algorithm);
    if (changed && !(fixed && program && program->keeps)) def.slow_band = 0;
    if (changed && !(program && program->arrangement)) def.schedule = NULL;
    if (fixed)
        def.largest_step = 0;
    else
        def.step = cal_default_sim_def().step;
    r->limit = find_limit(r);
    if (r->limit > 0) def.evaluation_limit = r->limit;
    // With events the run renews a hand's force itself.
    if (r->def.hand && !(def.contact && cal_model_can_touch(r->base.model))) {
        def.force = add_forces;
        def.user = r;
    }
    status = cal_sim_create(r->base.model, &def, sim, error);
    // What is shown is the solver that "auto" means here; with events it is several.
    if (!status && !cal_sim_world(*sim) && strcmp(r->solver, "auto") == 0)
        (void)copy_name(r->solver, NAME, cal_system_solver((*sim)->system));
    if (status && makes_machine) {
        cal_machine_destroy(*machine);
        *machine = NULL;
    }
    return status;
}

static bool copy_names(sim_run* r, const char* solver, const char* algorithm, const char* machine) {
    return copy_name(r->solver, sizeof r->solver, solver) && copy_name(r->algorithm, sizeof r->algorithm, algorithm) &&
           copy_name(r->machine_text, sizeof r->machine_text, machine);
}

// --- Time ----------------------------------------------------------------------------------------------------------------------

static void destroy(cal_run* run) {
    sim_run* r = (sim_run*)run;
    if (r->owns) cal_sim_destroy(r->sim);
    cal_machine_destroy(r->machine);
    cal_pull_end(&r->pull);
    cal_inspector_destroy(&r->inspector);
    cal_free(r->processor_of_joint);
    cal_free(r->start);
    cal_free(r->good);
    cal_free(r->tau);
    cal_free(r->control);
    cal_free(r);
}

static double time_of(const cal_run* run) { return cal_sim_time(((const sim_run*)run)->sim); }
static uint64_t hash(cal_run* run) { return cal_sim_hash(((const sim_run*)run)->sim); }

// Whether shapes touch, so that there are events.
static bool has_events(const sim_run* r) { return cal_sim_world(r->sim) != NULL; }

// Whether q and v are known: where shapes touch they may not be after an advance that failed.
static bool find_state(const sim_run* r, const double** q, const double** v) {
    *q = cal_sim_q(r->sim);
    *v = cal_sim_v(r->sim);
    return *q && *v;
}

static cal_status fail_unknown(const sim_run* r, cal_error* error) {
    return cal_fail(error, CAL_NOT_FINITE, "the state at t = %g s is not known, since an advance failed: reset the run",
                    cal_sim_time(r->sim));
}

// A hand's force for a moment.
static cal_status renew_pull(sim_run* r, cal_error* error) {
    const double none[3] = {0, 0, 0}, *now_q, *now_v;
    double force[3];
    if (!find_state(r, &now_q, &now_v)) return fail_unknown(r, error);
    cal_pull_force(&r->pull, cal_sim_time(r->sim), now_q, now_v, force, NULL);
    cal_status status = cal_sim_release(r->sim);
    if (!status) status = cal_sim_push(r->sim, r->pull.body, force, none, r->pull.point);
    return status ? cal_fail(error, status, "the hand's force cannot be set: %s", cal_status_text(status)) : CAL_OK;
}

static cal_status advance_events(sim_run* r, double time, bool* reached, cal_error* error) {
    cal_status status = CAL_OK;
    while (!status && r->pull.body != CAL_NONE && cal_sim_time(r->sim) < time) {
        const double next = fmin(time, cal_pull_next(cal_sim_time(r->sim)));
        status = renew_pull(r, error);
        if (!status) status = cal_sim_advance(r->sim, next, error);
    }
    if (!status) status = cal_sim_advance(r->sim, time, error);
    *reached = status == CAL_OK;
    return status;
}

static cal_status advance(cal_run* run, double time, bool* reached, cal_error* error) {
    sim_run* r = (sim_run*)run;
    if (has_events(r)) return advance_events(r, time, reached, error);
    cal_sim_report before, after;
    // One that rested has taken steps towards its goal, and they would be taken again on the way to an earlier one.
    const double goal = fmax(time, r->goal);
    cal_sim_get_report(r->sim, &before);
    const cal_status status = cal_sim_advance(r->sim, goal, error);
    cal_sim_get_report(r->sim, &after);
    *reached = status == CAL_OK;
    const bool rests =
        r->limit > 0 && status == CAL_NOT_CONVERGED && after.evaluations - before.evaluations >= r->limit;
    r->goal = rests ? goal : -INFINITY;
    return rests ? CAL_OK : status;
}

// Joints that begin beyond the ends of their ranges: rigid stops hold them there, which who knows springs does not expect.
static void note_ranges(const sim_run* r, char* note, size_t capacity) {
    const cal_model* model = r->base.model;
    const cal_world_def* events = r->def.sim.events;
    const double* q = cal_sim_q(r->sim);
    const bool springs = has_events(r) && events && strcmp(events->group, "penalty") == 0;
    int count = 0, furthest = 0;
    double most = 0.0;
    for (int i = 0; q && !springs && i < cal_model_joint_count(model); i++) {
        cal_joint_def def;
        int first_q;
        if (!cal_joint_has_rigid_stop(model, i)) continue;
        cal_model_joint(model, i, &def, NULL, &first_q, NULL);
        const double by = fmax(def.range[0] - q[first_q], q[first_q] - def.range[1]);
        count += by > BEYOND ? 1 : 0;
        if (by > most) most = by, furthest = i;
    }
    char name[80];
    if (count > 0)
        snprintf(note, capacity, "%d joint%s beyond %s range%s, '%s' by %.3g: stops hold %s there until %s back", count,
                 count == 1 ? " begins" : "s begin", count == 1 ? "its" : "their", count == 1 ? "" : "s",
                 cal_model_joint_name(model, furthest, name, sizeof name), most, count == 1 ? "it" : "them",
                 count == 1 ? "it comes" : "they come");
}

// With projection a simulation begins only where its constraints hold, and is moved there; the other laws close them by and by.
static cal_status begin_closed(cal_run* run, bool project, char* note, size_t capacity, cal_error* error) {
    sim_run* r = (sim_run*)run;
    cal_constraint_report report;
    r->begun = true;
    r->projects = project;
    if (has_events(r)) {
        cal_run_note_start(cal_sim_world(r->sim), note, capacity);
        return CAL_OK;
    }
    if (cal_model_constraint_count(run->model) == 0) return CAL_OK;
    cal_status status = project ? cal_sim_project(r->sim, error) : CAL_OK;
    if (status) return status;
    status = cal_sim_constraints(r->sim, &report);
    if (status) {
        // The first step may still find forces, or says why there are none.
        snprintf(note, capacity, "the constraints have no forces at the start: %s", cal_status_text(status));
        return CAL_OK;
    }
    if (report.undecided) snprintf(note, capacity, "%s", cal_run_undecided);
    const bool moves = r->owns && strcmp(r->stabilize, "projection") == 0;
    return cal_run_note_off(run->model, &report, moves, note, capacity) && moves ? cal_sim_project(r->sim, error)
                                                                                 : CAL_OK;
}

static cal_status begin(cal_run* run, bool project, char* note, size_t capacity, cal_error* error) {
    note[0] = '\0';
    const cal_status status = begin_closed(run, project, note, capacity, error);
    if (!status && note[0] == '\0') note_ranges((sim_run*)run, note, capacity);
    return status;
}

// --- What there is to see ---------------------------------------------------------------------------------------------------------

static cal_status poses(cal_run* run, double* poses) {
    sim_run* r = (sim_run*)run;
    const cal_status status = cal_sim_poses(r->sim, poses);
    if (!status) cal_inspector_watch(&r->inspector, cal_sim_time(r->sim), poses);
    return status;
}

static const double* q(const cal_run* run) { return cal_sim_q(((const sim_run*)run)->sim); }
static const double* v(const cal_run* run) { return cal_sim_v(((const sim_run*)run)->sim); }

static cal_status energy(cal_run* run, double energy[2]) {
    return cal_sim_energy(((sim_run*)run)->sim, &energy[0], &energy[1]);
}

static cal_status sensor(cal_run* run, int number, double* values, cal_error* error) {
    return cal_sim_sensor(((sim_run*)run)->sim, number, values, error);
}

static cal_status joint_forces(cal_run* run, double* forces) {
    return cal_sim_joint_forces(((sim_run*)run)->sim, forces);
}

static void keep_events(cal_run* run) {
    sim_run* r = (sim_run*)run;
    cal_event_watch_keep(&r->watch, cal_sim_world(r->sim));
}

static bool next_event(cal_run* run, cal_run_event* out) {
    const sim_run* r = (sim_run*)run;
    return cal_event_next(cal_sim_world(r->sim), r->sim, out);
}

// Where it was well last, which is where it goes on from after it has exploded.
static cal_status keep_good(sim_run* r, cal_error* error) {
    const size_t q_count = (size_t)cal_model_q_count(r->base.model), v_count = (size_t)cal_model_v_count(r->base.model);
    const double *now_q = cal_sim_q(r->sim), *now_v = cal_sim_v(r->sim);
    if (!r->good) r->good = cal_allocate(q_count + v_count + 1, sizeof *r->good);
    if (!r->good || !now_q || !now_v) return cal_fail(error, CAL_NO_MEMORY, "no memory for a state that is kept");
    if (q_count > 0) memcpy(r->good, now_q, q_count * sizeof *r->good);
    if (v_count > 0) memcpy(r->good + q_count, now_v, v_count * sizeof *r->good);
    r->good_time = cal_sim_time(r->sim);
    return CAL_OK;
}

static cal_status balance(cal_run* run, cal_energy_balance* out, cal_error* error) {
    sim_run* r = (sim_run*)run;
    const double time = cal_sim_time(r->sim);
    const cal_status status = cal_sim_balance(r->sim, out);
    if (status) return cal_fail(error, status, "the energy failed: %s", cal_status_text(status));
    if (!out->exploded) return keep_good(r, error);
    const double* good = r->good;
    const bool back = good && !cal_sim_set(r->sim, r->good_time, good, good + cal_model_q_count(run->model), NULL);
    return cal_run_fail_balance(out, time, back ? r->good_time : time, error);
}

static cal_status read_channels(cal_run* run, double* values) {
    sim_run* r = (sim_run*)run;
    if (has_events(r)) return cal_event_watch_read(&r->watch, cal_sim_world(r->sim), run->channel_count, values);
    cal_sim_report report;
    cal_energy_balance b;
    cal_sim_get_report(r->sim, &report);
    cal_status status = cal_sim_balance(r->sim, &b);
    if (status) return status;
    cal_run_read_balance(&b, values);
    values[STEP] = report.step;
    values[ORDER] = report.order;
    values[EVALUATIONS] = cal_rate_follow(&r->evaluations, report.time, report.evaluations);
    if (run->channel_count <= CONSTRAINT) return CAL_OK;
    cal_constraint_report constraints;
    status = cal_sim_constraints(r->sim, &constraints);
    values[CONSTRAINT] = status ? NAN : constraints.error;
    return status;
}

static void pull(const cal_run* run, cal_run_pull* out) {
    const sim_run* r = (const sim_run*)run;
    const double *now_q, *now_v;
    if (r->pull.body == CAL_NONE || !find_state(r, &now_q, &now_v)) return;
    out->body = r->pull.body;
    memcpy(out->target, r->pull.target, sizeof out->target);
    cal_pull_force(&r->pull, cal_sim_time(r->sim), now_q, now_v, out->force, out->position);
}

static void describe(cal_run* run, int body, FILE* file) {
    sim_run* r = (sim_run*)run;
    cal_run_pull hand = {.body = CAL_NONE};
    const double none[3] = {0, 0, 0}, *now_q, *now_v;
    if (!find_state(r, &now_q, &now_v)) return;
    pull(run, &hand);
    cal_inspector_describe(&r->inspector, body, now_q, now_v, hand.body == body ? hand.force : none, file);
}

static void report_settings(const sim_run* r, const cal_sim_report* steps, cal_facts* report) {
    const cal_machine* machine = r->machine ? r->machine : r->def.sim.machine;
    const int used = cal_sim_processors(r->sim);
    char how[64], who[64];
    cal_facts_text(report, "algorithm", r->algorithm);
    cal_facts_text(report, "solver", r->solver);
    cal_run_report_machine(report, machine, used);
    cal_facts_number(report, "tol", r->def.sim.relative);
    if (cal_solver_has_fixed_step(r->solver))
        snprintf(how, sizeof how, "step %g s", has_events(r) ? r->def.sim.step : steps->step);
    else
        snprintf(how, sizeof how, "tolerance %g", r->def.sim.relative);
    cal_facts_line(report, "solver", "%s, %s; %s on %s, lanes of %d", r->solver, how, r->algorithm,
                   cal_machine_text(machine, used, who, sizeof who), cal_machine_lanes(machine));
}

static void report(cal_run* run, cal_facts* report) {
    sim_run* r = (sim_run*)run;
    cal_sim_report s;
    cal_sim_get_report(r->sim, &s);
    const double rate = s.time > 0 ? (double)s.evaluations / s.time : 0;
    const char* form = r->owns ? r->form : NULL;
    cal_run_report_model(report, run->model);
    if (r->owns) report_settings(r, &s, report);
    if (has_events(r)) {
        cal_run_report_events(cal_sim_world(r->sim), report);
        cal_run_report_constraints(r->sim, form, report);
        return;
    }
    cal_facts_integer(report, "steps", s.steps);
    cal_facts_integer(report, "rejected", s.rejected);
    cal_facts_line(report, "steps", "%lld, and %lld rejected", (long long)s.steps, (long long)s.rejected);
    cal_facts_integer(report, "evaluations", s.evaluations);
    cal_facts_number(report, "evaluations_per_second", rate);
    cal_facts_line(report, "evaluations", "%lld, %.4g per simulated second", (long long)s.evaluations, rate);
    cal_run_report_constraints(r->sim, form, report);
    cal_run_report_singular(r->sim, report);
}

// --- Changing it ----------------------------------------------------------------------------------------------------------------

// What jumps ends a rest.
static void mark(sim_run* r) { r->goal = -INFINITY; }

// Before it begins, this is the start.
static cal_status set(cal_run* run, double time, const double* q, const double* v, cal_error* error) {
    sim_run* r = (sim_run*)run;
    const size_t q_count = (size_t)cal_model_q_count(run->model), v_count = (size_t)cal_model_v_count(run->model);
    const cal_status status = cal_sim_set(r->sim, time, q, v, error);
    mark(r);
    if (status || r->begun) return status;
    if (q && q_count > 0) memcpy(r->start, q, q_count * sizeof *q);
    if (v && v_count > 0) memcpy(r->start + q_count, v, v_count * sizeof *v);
    return CAL_OK;
}

static cal_status drive(cal_run* run, const double* tau, const double* control, cal_error* error) {
    sim_run* r = (sim_run*)run;
    if (!cal_run_keep(&r->tau, tau, cal_model_v_count(run->model)) ||
        !cal_run_keep(&r->control, control, cal_model_actuator_count(run->model)))
        return cal_fail(error, CAL_NO_MEMORY, "no memory for forces and controls");
    mark(r);
    return cal_sim_drive(r->sim, tau, control, error);
}

static cal_status contacts(cal_run* run, cal_contact_point* out, int capacity, int* count, cal_error* error) {
    cal_world* world = cal_sim_world(((sim_run*)run)->sim);
    *count = 0; // nothing touches in a simulation without events
    return world ? cal_event_contacts(world, out, capacity, count, error) : CAL_OK;
}

static cal_status connect_constraint(cal_run* run, int constraint, cal_connection how, cal_error* error) {
    return cal_sim_connect(((sim_run*)run)->sim, constraint, how, error);
}

static cal_status wait_for(cal_run* run, int constraint, cal_error* error) {
    return cal_sim_catch(((sim_run*)run)->sim, constraint, error);
}

static cal_status hold(cal_run* run, const bool* held, cal_error* error) {
    return cal_sim_project_holding(((sim_run*)run)->sim, held, error);
}

static cal_status disconnect(cal_run* run, int constraint, cal_error* error) {
    return cal_sim_disconnect(((sim_run*)run)->sim, constraint, error);
}

static cal_status save(cal_run* run, const char* path, cal_error* error) {
    return cal_sim_save(((sim_run*)run)->sim, path, error);
}

static cal_status restore(cal_run* run, const char* path, cal_error* error) {
    mark((sim_run*)run);
    return cal_sim_load(((sim_run*)run)->sim, path, error);
}

static cal_status check(cal_run* run, double* residual, int* body) {
    return cal_sim_check(((sim_run*)run)->sim, residual, body);
}

// Those of another simulation; NULL: the model's start.
static cal_status take_activations(cal_sim* sim, const cal_sim* from, cal_error* error) {
    const cal_model* model = cal_sim_model(sim);
    const int count = cal_model_actuator_count(model);
    if (count == 0) return CAL_OK;
    double* activations = cal_allocate((size_t)count, sizeof *activations);
    if (!activations) return cal_fail(error, CAL_NO_MEMORY, "no memory for activations");
    cal_status status = CAL_OK;
    if (from)
        status = cal_sim_get_activations(from, activations);
    else
        cal_model_initial_activations(model, activations);
    if (!status) status = cal_sim_set_activations(sim, activations, error);
    cal_free(activations);
    return status;
}

static cal_status reset(cal_run* run, cal_error* error) {
    sim_run* r = (sim_run*)run;
    char note[256];
    cal_status status = cal_sim_set(r->sim, 0, r->start, r->start + cal_model_q_count(run->model), error);
    if (!status) status = take_activations(r->sim, NULL, error);
    mark(r);
    return status ? status : begin(run, r->projects, note, sizeof note, error);
}

static void settings(const cal_run* run, cal_run_settings* out) {
    const sim_run* r = (const sim_run*)run;
    out->tolerance = r->def.sim.relative;
    memcpy(out->solver, r->solver, sizeof out->solver);
    memcpy(out->algorithm, r->algorithm, sizeof out->algorithm);
    memcpy(out->machine, r->machine_text, sizeof out->machine);
}

static cal_status change(cal_run* run, const cal_run_settings* wanted, cal_error* error) {
    sim_run* r = (sim_run*)run;
    cal_run_settings before;
    cal_machine* machine = NULL;
    cal_sim* sim = NULL;
    const int64_t limit = r->limit;
    const double *now_q, *now_v;
    if (!find_state(r, &now_q, &now_v)) return fail_unknown(r, error);
    settings(run, &before);
    cal_status status = copy_names(r, wanted->solver, wanted->algorithm, wanted->machine)
                            ? CAL_OK
                            : cal_fail(error, CAL_BAD_ARGUMENT, "solver, algorithm and machine must be known names");
    r->def.sim.relative = wanted->tolerance;
    if (!status) status = create_sim(r, true, &machine, &sim, error);
    if (!status) status = cal_sim_set(sim, cal_sim_time(r->sim), now_q, now_v, error);
    if (!status && (r->tau || r->control)) status = cal_sim_drive(sim, r->tau, r->control, error);
    if (!status) status = take_activations(sim, r->sim, error);
    if (status) {
        cal_sim_destroy(sim);
        cal_machine_destroy(machine);
        copy_names(r, before.solver, before.algorithm, before.machine);
        r->def.sim.relative = before.tolerance;
        r->limit = limit;
        return status;
    }
    cal_sim_destroy(r->sim);
    cal_machine_destroy(r->machine);
    r->sim = sim;
    r->machine = machine;
    if (has_events(r)) cal_event_watch_begin(&r->watch, cal_sim_world(r->sim));
    mark(r);
    return CAL_OK;
}

static cal_status grab(cal_run* run, int body, const double point[3], cal_error* error) {
    sim_run* r = (sim_run*)run;
    if (!r->def.hand)
        return cal_fail(error, CAL_NOT_AVAILABLE, "this run was made without a hand (cal_run_sim_def.hand)");
    const double *now_q, *now_v;
    if (!find_state(r, &now_q, &now_v)) return fail_unknown(r, error);
    const cal_status status = cal_pull_start(&r->pull, run->model, body, point, cal_sim_time(r->sim), now_q, error);
    mark(r);
    cal_sim_restart(r->sim);
    return status;
}

static void drag(cal_run* run, const double target[3]) {
    sim_run* r = (sim_run*)run;
    if (r->pull.body == CAL_NONE) return;
    cal_pull_move(&r->pull, target, cal_sim_time(r->sim));
    cal_sim_restart(r->sim);
}

static void drop(cal_run* run) {
    sim_run* r = (sim_run*)run;
    if (r->pull.body == CAL_NONE) return;
    cal_pull_end(&r->pull);
    mark(r);
    if (has_events(r)) (void)cal_sim_release(r->sim); // what fails here fails again in the next advance
    cal_sim_restart(r->sim);
}

// What costs is evaluations. Where Adams' method (gear) is held by stability and not by accuracy, another tolerance changes
// little; so the words are "may help".
static void advise(const cal_run* run, double pace, FILE* file) {
    const sim_run* r = (const sim_run*)run;
    if (has_events(r)) {
        fprintf(file, "contacts cost most: fewer bodies, a coarser tolerance, or --disable contact may help");
        return;
    }
    const char* what = "solver gear, the one with the fewest evaluations where nothing is stiff, may help";
    if (cal_solver_has_fixed_step(r->solver))
        what = "a larger --step, or the solver gear, may help";
    else if (strcmp(r->solver, "gear") == 0 && r->def.sim.relative < 1e-3)
        what = "tolerance 1e-3 may help, or, where springs and dampers are stiff, the solver bdf";
    else if (strcmp(r->solver, "gear") == 0)
        what = "where springs and dampers are stiff, the solver bdf may help";
    const double rate = r->evaluations.value;
    fprintf(file, "%.3g evaluations per simulated second are needed, %.3g per second are done; %s", rate, rate * pace,
            what);
    if (strcmp(r->machine_text, "serial") == 0 && cal_model_joint_count(run->model) > 500)
        fputs("; so may --machine threads", file);
}

// --- Making a run ---------------------------------------------------------------------------------------------------------------

#define COMMON                                                                                                         \
    .kind = "a simulation", .destroy = destroy, .time = time_of, .advance = advance, .hash = hash,                     \
    .body_name = cal_run_model_body_name, .shapes = cal_run_model_shapes, .poses = poses, .read = read_channels,       \
    .report = report, .begin = begin, .q = q, .v = v, .energy = energy, .balance = balance,                            \
    .joint_forces = joint_forces, .sensor = sensor, .set = set, .drive = drive, .connect = connect_constraint,         \
    .disconnect = disconnect, .wait = wait_for, .hold = hold, .save = save, .restore = restore, .reset = reset,        \
    .check = check, .describe = describe, .contacts = contacts, .keep_events = keep_events, .next_event = next_event
static const cal_run_ops borrowed_ops = {COMMON};
static const cal_run_ops own_ops = {COMMON,       .settings = settings, .change = change, .grab = grab,
                                    .drag = drag, .drop = drop,         .pull = pull,     .advise = advise};

static cal_status create(const cal_model* model, const cal_run_ops* ops, sim_run** out, cal_error* error) {
    sim_run* r = cal_allocate(1, sizeof *r);
    *out = r;
    if (!r) return cal_fail(error, CAL_NO_MEMORY, "no memory for a run");
    r->base = (cal_run){.ops = ops, .model = model, .body_count = cal_model_body_count(model), .can_project = true};
    r->pull.body = CAL_NONE;
    r->goal = -INFINITY;
    const size_t q_count = (size_t)cal_model_q_count(model);
    r->start = cal_allocate(q_count + (size_t)cal_model_v_count(model) + 1, sizeof *r->start);
    if (!r->start) return cal_fail(error, CAL_NO_MEMORY, "no memory for a run");
    cal_model_initial(model, r->start, r->start + q_count, NULL);
    return cal_inspector_create(&r->inspector, model, error);
}

static cal_status finish(sim_run* r, cal_status status, cal_run** out) {
    *out = status ? NULL : &r->base;
    if (!status) {
        const bool constrained = cal_model_constraint_count(r->base.model) > 0;
        r->base.channels = has_events(r) ? cal_event_channels : channels;
        r->base.channel_count = has_events(r) ? CAL_EVENT_CHANNELS : CHANNELS;
        if (!constrained) r->base.channel_count = has_events(r) ? CAL_EVENT_CONSTRAINT : CONSTRAINT;
    }
    if (status && r) destroy(&r->base);
    return status;
}

cal_status cal_run_of_sim(cal_sim* sim, cal_run** out, cal_error* error) {
    if (!sim || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_of_sim: sim and out must not be NULL");
    sim_run* r;
    if (!cal_sim_model(sim)) return cal_run_of_world(cal_sim_world(sim), out, error);
    const cal_status status = create(cal_sim_model(sim), &borrowed_ops, &r, error);
    if (!status) r->sim = sim;
    return finish(r, status, out);
}

cal_run_sim_def cal_default_run_sim_def(void) {
    return (cal_run_sim_def){.sim = cal_default_sim_def(), .machine = "serial", .hand = true, .cookie = COOKIE};
}

cal_status cal_run_create_sim(const cal_model* model, const cal_run_sim_def* def, cal_run** out, cal_error* error) {
    if (!model || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_create_sim: model and out must not be NULL");
    *out = NULL;
    if (!def || def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a run needs a definition that comes from cal_default_run_sim_def()");
    const cal_sim_def* s = &def->sim;
    const size_t joints = (size_t)cal_model_joint_count(model);
    sim_run* r;
    cal_status status = create(model, &own_ops, &r, error);
    if (status) return finish(r, status, out);
    r->owns = true;
    r->def = *def;
    if (!copy_names(r, s->solver, s->algorithm, def->machine ? def->machine : "serial") ||
        !copy_name(r->stabilize, sizeof r->stabilize, s->stabilize) ||
        !copy_name(r->form, sizeof r->form, s->constraint_form))
        status = cal_fail(error, CAL_BAD_ARGUMENT,
                          "solver, algorithm, machine, stabilisation and form of constraints must be known names");
    if (!status && s->processor_of_joint) {
        r->processor_of_joint = cal_allocate(joints, sizeof *r->processor_of_joint);
        if (!r->processor_of_joint) return finish(r, cal_fail(error, CAL_NO_MEMORY, "no memory for a run"), out);
        memcpy(r->processor_of_joint, s->processor_of_joint, joints * sizeof *r->processor_of_joint);
    }
    if (!status) status = create_sim(r, false, &r->machine, &r->sim, error);
    return finish(r, status, out);
}
