// `calder sim --rps N`: Bicchi's randomized parallel simulation.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "progress.h"
#include "sim.h"
#include "sim_constraints.h"

typedef struct run {
    cal_machine* machine;
    cal_rps* rps;
    cal_rps_def def;
    cal_rps_report report;
    bool interrupted;
} run;

static int read_definition(const cal_sim_options* options, cal_rps_def* out) {
    *out = cal_default_rps_def();
    // The law and its gain are read as for a single run.
    cal_sim_def law = cal_default_sim_def();
    law.stabilize = out->stabilize;
    law.gain = out->gain;
    law.solver = "gear"; // has no limit of its own: the method's is looked at below
    const int status = cal_sim_read_stabilize(options->stabilize, &law);
    if (status != CAL_EXIT_DONE) return status;
    out->stabilize = law.stabilize;
    out->gain = law.gain;
    out->instances = (int)options->rps;
    out->method = options->method;
    if (options->step > 0) out->step = options->step;
    out->interval = (int)options->interval;
    out->position_radius = options->position_radius;
    out->velocity_radius = options->velocity_radius;
    out->normal = options->normal;
    out->seed = (uint64_t)options->seed;
    out->alpha = options->alpha;
    out->beta = options->beta;
    out->forcing = options->forcing;
    out->hypotheses = (int)options->hypotheses;
    out->adaptive = options->adapt;
    out->deadline = options->deadline;
    const double limit = cal_rps_limit(out->stabilize, out->method, out->step);
    if (limit > 0 && out->gain >= limit && cal_is_first_rank())
        fprintf(
            stderr,
            "calder: warning: gain %g is beyond what %s can take with steps of %g s, %.4g; the constraints will come "
            "apart\n",
            out->gain, out->method, out->step, limit);
    return CAL_EXIT_DONE;
}

// A start that is off the constraints is said so, or moved onto them where that was asked for.
static int close_start(run* r, const cal_sim_options* options, const cal_model* model) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {CAL_OK, ""};
    def.stabilize = "none";
    error.status = cal_sim_create(model, &def, &sim, &error);
    if (error.status == CAL_OK && options->project) error.status = cal_sim_project(sim, &error);
    if (error.status == CAL_OK && options->project)
        error.status = cal_rps_set(r->rps, cal_sim_q(sim), cal_sim_v(sim), &error);
    if (error.status == CAL_OK && !options->project) cal_sim_warn_violation(sim, model);
    cal_sim_destroy(sim);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain(CAL_EXIT_MISTAKE, "%s", error.text);
}

static int simulate(run* r, const cal_sim_options* options) {
    cal_progress progress = cal_progress_start("simulating");
    cal_error error = {CAL_OK, ""};
    const int64_t frames = (int64_t)fmax(1, ceil(options->time * options->fps));
    int status = CAL_EXIT_DONE;
    r->interrupted = cal_ranks_agree(cal_interrupted());
    // Whole intervals only: a look must not change where the polls are.
    double frame = ceil(1 / (options->fps * r->def.step * r->def.interval)) * r->def.step * r->def.interval;
    if (options->adapt || frames < 2) frame = options->time;
    for (int64_t k = 1; status == CAL_EXIT_DONE && !r->interrupted; k++) {
        const double time = fmin((double)k * frame, options->time);
        error.status = cal_rps_advance(r->rps, time, &error);
        if (error.status != CAL_OK) {
            cal_progress_end(&progress);
            status = cal_complain(CAL_EXIT_FAILED, "%s", error.text);
        }
        cal_progress_show(&progress, time / options->time);
        status = cal_ranks_agree(status);
        r->interrupted = cal_ranks_agree(cal_interrupted());
        if (time >= options->time) break;
    }
    cal_progress_end(&progress);
    return status;
}

static void print_json(const run* r, const cal_sim_options* options, const cal_model* model) {
    const cal_rps_report* report = &r->report;
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "model", options->model_name);
    cal_json_integer(&json, "dof", cal_model_v_count(model));
    cal_json_text(&json, "machine", cal_machine_name(r->machine));
    cal_json_integer(&json, "processors", cal_machine_processors(r->machine));
    cal_json_integer(&json, "instances", r->def.instances);
    cal_json_text(&json, "method", r->def.method);
    cal_json_number(&json, "step", r->def.step);
    cal_json_integer(&json, "interval", report->interval);
    cal_json_text(&json, "stabilize", r->def.stabilize);
    cal_json_number(&json, "gain", r->def.gain);
    cal_json_integer(&json, "seed", options->seed);
    cal_json_number(&json, "time", report->time);
    cal_json_integer(&json, "steps", report->steps);
    cal_json_integer(&json, "polls", report->polls);
    cal_json_number(&json, "residual", report->residual);
    cal_json_number(&json, "constraint_max", report->error_max);
    cal_json_number(&json, "constraint_rms", report->error_rms);
    cal_json_integer(&json, "hypotheses", report->hypotheses);
    cal_json_integer(&json, "most_hypotheses", report->most_hypotheses);
    cal_json_open(&json, "solutions", '[');
    for (int i = 0; i < report->hypotheses; i++) {
        cal_json_open(&json, NULL, '{');
        cal_json_numbers(&json, "q", cal_rps_q(r->rps, i), (size_t)cal_model_q_count(model));
        cal_json_numbers(&json, "v", cal_rps_v(r->rps, i), (size_t)cal_model_v_count(model));
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    if (r->def.deadline > 0) {
        cal_json_integer(&json, "overruns", report->overruns);
        cal_json_number(&json, "worst_overrun_s", report->worst);
    }
    cal_json_number(&json, "wall_s", report->wall);
    cal_json_number(&json, "poll_share", report->wall > 0 ? report->poll_wall / report->wall : 0);
    cal_json_number(&json, "wait_share", report->wall > 0 ? report->wait_wall / report->wall : 0);
    cal_json_hash(&json, "state_hash", cal_rps_hash(r->rps));
    cal_json_boolean(&json, "interrupted", r->interrupted);
    cal_json_close(&json, '}');
}

// Where the solutions are that were tracked to the end, the best first.
static void print_solutions(const run* r, const cal_model* model) {
    enum { SHOWN = 8 };
    const int count = cal_model_q_count(model), shown = count < SHOWN ? count : SHOWN;
    printf("%-13s %d tracked at the end, at most %d\n", "solutions", r->report.hypotheses, r->report.most_hypotheses);
    for (int i = 0; i < r->report.hypotheses; i++) {
        printf("%13d q =", i + 1);
        for (int k = 0; k < shown; k++) printf(" %10.6g", cal_rps_q(r->rps, i)[k]);
        printf("%s\n", shown < count ? " …" : "");
    }
}

static void print_summary(const run* r, const cal_sim_options* options, const cal_model* model) {
    const cal_rps_report* report = &r->report;
    char who[64];
    cal_sim_describe_model(options, model);
    printf("%-13s %d instances of %s, step %g s, polls every %d steps, on %s\n", "randomized", r->def.instances,
           r->def.method, r->def.step, report->interval,
           cal_machine_describe(r->machine, cal_machine_processors(r->machine), who, sizeof who));
    printf("%-13s %s, gain %g\n", "stabilised", r->def.stabilize, r->def.gain);
    printf("%-13s %g s in %.3g s; %.1f %% of that in %lld polls\n", "simulated", report->time, report->wall,
           report->wall > 0 ? 100 * report->poll_wall / report->wall : 0, (long long)report->polls);
    printf("%-13s error at most %.2e, root mean square %.2e; last residual %.2e\n", "constraints", report->error_max,
           report->error_rms, report->residual);
    if (r->def.hypotheses > 1) print_solutions(r, model);
    if (r->def.deadline > 0)
        printf("%-13s %lld of %lld intervals were late, the worst by %.3g s; each had %.3g s\n", "real time",
               (long long)report->overruns, (long long)report->polls, report->worst,
               r->def.deadline * r->def.step * r->def.interval);
    printf("%-13s %016llx\n", "state hash", (unsigned long long)cal_rps_hash(r->rps));
}

int cal_sim_run_rps(const cal_sim_options* options, const cal_model* model) {
    run r = {0};
    cal_error error = {CAL_OK, ""};
    int status = read_definition(options, &r.def);
    if (status == CAL_EXIT_DONE) status = cal_machine_open(options->machine, options->lanes, NULL, &r.machine);
    if (status == CAL_EXIT_DONE) {
        r.def.machine = r.machine;
        error.status = cal_rps_create(model, &r.def, &r.rps, &error);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
    }
    if (status == CAL_EXIT_DONE) status = close_start(&r, options, model);
    status = cal_ranks_agree(status);
    if (status == CAL_EXIT_DONE) status = simulate(&r, options);
    if (status == CAL_EXIT_DONE) {
        cal_rps_get_report(r.rps, &r.report);
        if (options->json)
            print_json(&r, options, model);
        else
            print_summary(&r, options, model);
        status = cal_finish_output(status);
        if (status == CAL_EXIT_DONE && r.interrupted)
            status = cal_complain(CAL_EXIT_FAILED, "interrupted at %g of %g s", r.report.time, options->time);
    }
    cal_rps_destroy(r.rps);
    cal_machine_destroy(r.machine);
    return status;
}
