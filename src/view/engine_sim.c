// The engine of articulated bodies: a simulation, with a hand on it.
//
// Another solver, tolerance, algorithm or machine is another simulation that starts at the old one's time, q and v. An
// advance rests after so many evaluations that a moment has passed, so that whoever runs the engine stays awake.
#include "view/engine.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "view/inspect.h"
#include "view/machine_text.h"
#include "view/pull.h"

static const double JOINTS_AT_A_STRETCH = 1e6; // joints × evaluations in one advance: about a thirtieth of a second
enum { LEAST_EVALUATIONS = 40 };

typedef struct sim_engine {
    cal_view_engine base;
    const cal_model* model;
    cal_view_settings settings;
    cal_machine* machine;
    cal_sim* sim;
    int64_t limit; // evaluations at a stretch
    double goal;   // where the advance that rested was going; before the present time where none did
    cal_pull pull;
    cal_gauge gauge;
    cal_inspector inspector;
    double* poses;
} sim_engine;

static void pull_body(cal_force_context* context, void* user) {
    const sim_engine* e = user;
    const double none[3] = {0, 0, 0};
    double force[3];
    if (e->pull.body == CAL_NONE) return;
    cal_pull_force(&e->pull, context->time, context->q, context->v, force, NULL);
    // A force that is not finite comes from a state that is not, which the solver reports itself.
    cal_state_push(context->state, e->pull.body, force, none, e->pull.point);
}

// A simulation by the engine's settings, whose texts it may go on using.
static cal_status create_sim(sim_engine* e, cal_machine** machine, cal_sim** sim, cal_error* error) {
    const cal_view_settings* s = &e->settings;
    cal_sim_def def = cal_default_sim_def();
    cal_status status = cal_machine_from_text(s->machine, s->lanes, machine, error);
    if (status) return status;
    def.solver = s->solver;
    def.algorithm = s->algorithm;
    def.machine = *machine;
    def.relative = s->tolerance;
    def.slow_band = cal_solver_has_fixed_step(s->solver) && strcmp(s->algorithm, "armstrong") == 0 ? s->slow_band : 0;
    const double step = s->step > 0 ? s->step : cal_model_timestep(e->model);
    if (step > 0 && cal_solver_has_fixed_step(s->solver)) def.step = step;
    if (s->step > 0 && !cal_solver_has_fixed_step(s->solver)) def.largest_step = s->step;
    const int joints = cal_model_joint_count(e->model);
    e->limit = (int64_t)(JOINTS_AT_A_STRETCH / (joints > 0 ? joints : 1));
    if (e->limit < LEAST_EVALUATIONS) e->limit = LEAST_EVALUATIONS;
    // SUNDIALS cannot rest in the middle of a step.
    if (strcmp(s->solver, "bdf") == 0) e->limit *= 1000;
    def.evaluation_limit = e->limit;
    if (s->stabilize) {
        def.stabilize = s->stabilize;
        def.gain = s->gain;
    }
    def.force = pull_body;
    def.user = e;
    status = cal_sim_create(e->model, &def, sim, error);
    if (!status) return CAL_OK;
    cal_machine_destroy(*machine);
    *machine = NULL;
    return status;
}

// Goes to a start that the constraints allow, or says at once which one does not; the simulation would say so later.
static cal_status close_start(const sim_engine* e, cal_error* error) {
    const char* law = e->settings.stabilize;
    cal_constraint_report report;
    char name[96];
    if (cal_model_constraint_count(e->model) == 0) return CAL_OK;
    cal_status status = e->settings.project ? cal_sim_project(e->sim, error) : CAL_OK;
    if (status) return status;
    status = cal_sim_constraints(e->sim, &report);
    if (status)
        return cal_fail(error, status, "the constraints have no forces at the start: %s", cal_status_text(status));
    if ((law && strcmp(law, "projection") != 0) || report.error_of == CAL_NONE) return CAL_OK;
    if (report.error <= CAL_CONNECT_TOLERANCE && report.speed <= CAL_CONNECT_TOLERANCE) return CAL_OK;
    return cal_fail(error, CAL_BAD_ARGUMENT,
                    "the constraints are open by %g (most of all '%s') and broken by a speed of %g at the start; begin "
                    "where they hold, or let project (--project) find such a place",
                    report.error, cal_model_constraint_name(e->model, report.error_of, name, sizeof name),
                    report.speed);
}

static void destroy(cal_view_engine* engine) {
    sim_engine* e = (sim_engine*)engine;
    cal_sim_destroy(e->sim);
    cal_machine_destroy(e->machine);
    cal_pull_end(&e->pull);
    cal_inspector_destroy(&e->inspector);
    cal_free(e->poses);
    cal_free(e);
}

static cal_status advance(cal_view_engine* engine, double time, bool* reached, cal_error* error) {
    sim_engine* e = (sim_engine*)engine;
    cal_sim_report before, after;
    // One that rested has taken steps towards its goal, and they would be taken again on the way to an earlier one.
    const double goal = fmax(time, e->goal);
    cal_sim_get_report(e->sim, &before);
    const cal_status status = cal_sim_advance(e->sim, goal, error);
    cal_sim_get_report(e->sim, &after);
    *reached = status == CAL_OK;
    const bool rests = status == CAL_NOT_CONVERGED && after.evaluations - before.evaluations >= e->limit;
    e->goal = rests ? goal : -INFINITY;
    return rests ? CAL_OK : status;
}

static double time_of(const cal_view_engine* engine) { return cal_sim_time(((const sim_engine*)engine)->sim); }
static uint64_t hash(const cal_view_engine* engine) { return cal_sim_hash(((const sim_engine*)engine)->sim); }

static cal_status reset(cal_view_engine* engine, cal_error* error) {
    sim_engine* e = (sim_engine*)engine;
    const size_t q_count = (size_t)cal_model_q_count(e->model), v_count = (size_t)cal_model_v_count(e->model);
    double* start = cal_allocate(q_count + v_count + 1, sizeof *start);
    if (!start) return cal_fail(error, CAL_NO_MEMORY, "no memory to start anew");
    cal_model_initial(e->model, start, start + q_count, NULL);
    cal_status status = cal_sim_set(e->sim, 0, start, start + q_count, error);
    if (!status) status = close_start(e, error);
    cal_free(start);
    e->goal = -INFINITY;
    cal_gauge_mark(&e->gauge);
    return status;
}

static cal_status change(cal_view_engine* engine, const cal_view_settings* settings, cal_error* error) {
    sim_engine* e = (sim_engine*)engine;
    cal_machine* machine = NULL;
    cal_sim* sim = NULL;
    const int64_t limit = e->limit;
    const cal_view_settings before = e->settings;
    e->settings = *settings;
    cal_status status = create_sim(e, &machine, &sim, error);
    if (!status) {
        status = cal_sim_set(sim, cal_sim_time(e->sim), cal_sim_q(e->sim), cal_sim_v(e->sim), error);
        if (status) {
            cal_sim_destroy(sim);
            cal_machine_destroy(machine);
        }
    }
    if (status) {
        e->limit = limit;
        e->settings = before;
        return status;
    }
    cal_sim_destroy(e->sim);
    cal_machine_destroy(e->machine);
    e->sim = sim;
    e->machine = machine;
    e->goal = -INFINITY;
    cal_gauge_mark(&e->gauge);
    return CAL_OK;
}

static cal_status sample(cal_view_engine* engine, float* poses, double* channels, cal_view_pull* pull) {
    sim_engine* e = (sim_engine*)engine;
    const bool pulled = e->pull.body != CAL_NONE;
    cal_status status = cal_sim_poses(e->sim, e->poses);
    if (!status) status = cal_gauge_read(&e->gauge, e->sim, pulled, channels);
    if (status) return status;
    for (size_t i = 0; i < 7 * (size_t)e->base.drawn_count; i++) poses[i] = (float)e->poses[i];
    cal_inspector_watch(&e->inspector, cal_sim_time(e->sim), e->poses);
    *pull = (cal_view_pull){.body = e->pull.body};
    if (!pulled) return CAL_OK;
    memcpy(pull->target, e->pull.target, sizeof pull->target);
    cal_pull_force(&e->pull, cal_sim_time(e->sim), cal_sim_q(e->sim), cal_sim_v(e->sim), pull->force, pull->position);
    return CAL_OK;
}

static cal_status grab(cal_view_engine* engine, int body, const double point[3], cal_error* error) {
    sim_engine* e = (sim_engine*)engine;
    const cal_status status =
        cal_pull_start(&e->pull, e->model, body, point, cal_sim_time(e->sim), cal_sim_q(e->sim), error);
    cal_gauge_mark(&e->gauge);
    cal_sim_restart(e->sim);
    return status;
}

static void drag(cal_view_engine* engine, const double target[3]) {
    sim_engine* e = (sim_engine*)engine;
    if (e->pull.body == CAL_NONE) return;
    cal_pull_move(&e->pull, target, cal_sim_time(e->sim));
    cal_sim_restart(e->sim);
}

static void drop(cal_view_engine* engine) {
    sim_engine* e = (sim_engine*)engine;
    if (e->pull.body == CAL_NONE) return;
    cal_pull_end(&e->pull);
    cal_gauge_mark(&e->gauge);
    cal_sim_restart(e->sim);
}

static void describe(cal_view_engine* engine, int body, FILE* file) {
    sim_engine* e = (sim_engine*)engine;
    double force[3] = {0, 0, 0};
    if (e->pull.body == body)
        cal_pull_force(&e->pull, cal_sim_time(e->sim), cal_sim_q(e->sim), cal_sim_v(e->sim), force, NULL);
    cal_inspector_describe(&e->inspector, body, cal_sim_q(e->sim), cal_sim_v(e->sim), force, file);
}

// What costs is evaluations. Where Adams' method (gear) is held by stability and not by accuracy, another tolerance changes
// little; so the words are "may help".
static void advise(const cal_view_engine* engine, double pace, FILE* file) {
    const sim_engine* e = (const sim_engine*)engine;
    const cal_view_settings* s = &e->settings;
    const char* what = "solver gear, the one with the fewest evaluations where nothing is stiff, may help";
    if (cal_solver_has_fixed_step(s->solver))
        what = "a larger --step, or the solver gear, may help";
    else if (strcmp(s->solver, "gear") == 0 && s->tolerance < 1e-3)
        what = "tolerance 1e-3 may help, or, where springs and dampers are stiff, the solver bdf";
    else if (strcmp(s->solver, "gear") == 0)
        what = "where springs and dampers are stiff, the solver bdf may help";
    fprintf(file, "%.3g evaluations a simulated second are needed, %.3g a second are done; %s", e->gauge.rate,
            e->gauge.rate * pace, what);
    if (strcmp(s->machine, "serial") == 0 && cal_model_joint_count(e->model) > 500)
        fputs("; so may --machine threads", file);
}

static const cal_view_engine_ops sim_ops = {destroy, advance, time_of, hash, reset,    change,
                                            sample,  grab,    drag,    drop, describe, advise};

cal_status cal_view_engine_sim(const cal_model* model, int drawn_count, const cal_view_settings* settings,
                               cal_view_engine** out, cal_error* error) {
    *out = NULL;
    const int bodies = cal_model_body_count(model);
    sim_engine* e = cal_allocate(1, sizeof *e);
    if (!e) return cal_fail(error, CAL_NO_MEMORY, "no memory for the viewer's simulation");
    e->gauge = cal_gauge_for(model);
    e->base = (cal_view_engine){&sim_ops, bodies, drawn_count, cal_gauge_channels, e->gauge.channel_count};
    e->model = model;
    e->settings = *settings;
    e->pull.body = CAL_NONE;
    e->goal = -INFINITY;
    e->poses = cal_allocate(7 * (size_t)bodies, sizeof *e->poses);
    cal_status status = e->poses ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "no memory for %d poses", bodies);
    if (!status) status = cal_inspector_create(&e->inspector, model, error);
    if (!status) status = create_sim(e, &e->machine, &e->sim, error);
    if (!status) status = close_start(e, error);
    if (status) {
        destroy(&e->base);
        return status;
    }
    *out = &e->base;
    return CAL_OK;
}
