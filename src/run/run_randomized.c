// Runs of a randomized parallel simulation: the elected solution is shown.
//
// It polls at the end of every interval and of every advance, so looks at other times than whole intervals would change it.
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/query.h"
#include "run/run.h"

enum { KINETIC, POTENTIAL, TOTAL, RESIDUAL, CONSTRAINT, SOLUTIONS, CHANNELS };
static const cal_channel channels[CHANNELS] = {
    [KINETIC] = {"kinetic", "J", "Energy", false},
    [POTENTIAL] = {"potential", "J", "Energy", false},
    [TOTAL] = {"total", "J", "Energy", false},
    [RESIDUAL] = {"residual", "", "Residual of the elected instance", true},
    [CONSTRAINT] = {"largest constraint error", "m or rad", "Constraint error so far", true},
    [SOLUTIONS] = {"solutions", "", "Solutions that are tracked", false},
};

typedef struct randomized_run {
    cal_run base;
    cal_rps* rps;
    cal_rps_def def;
    char method[64], stabilize[16];
    cal_query query;
    double *start, start_time; // q and v at the begin; NULL: not begun
} randomized_run;

static const cal_rps* rps_of(const cal_run* run) { return ((const randomized_run*)run)->rps; }

static void destroy(cal_run* run) {
    randomized_run* r = (randomized_run*)run;
    cal_query_release(&r->query);
    cal_free(r->start);
    cal_rps_destroy(r->rps);
    cal_free(r);
}

static double time_of(const cal_run* run) {
    cal_rps_report report;
    cal_rps_get_report(rps_of(run), &report);
    return report.time;
}

static cal_status advance(cal_run* run, double time, bool* reached, cal_error* error) {
    const cal_status status = cal_rps_advance(((randomized_run*)run)->rps, time, error);
    *reached = status == CAL_OK;
    return status;
}

static uint64_t hash(cal_run* run) { return cal_rps_hash(rps_of(run)); }
static const double* q(const cal_run* run) { return cal_rps_q(rps_of(run), 0); }
static const double* v(const cal_run* run) { return cal_rps_v(rps_of(run), 0); }

static cal_status set(cal_run* run, double time, const double* q, const double* v, cal_error* error) {
    if (time != time_of(run))
        return cal_fail(error, CAL_BAD_ARGUMENT, "a randomized simulation at %g s cannot go to %g s", time_of(run),
                        time);
    return cal_rps_set(((randomized_run*)run)->rps, q, v, error);
}

// A simulation of the same model knows the constraints, and can close them.
static cal_status begin(cal_run* run, bool project, char* note, size_t capacity, cal_error* error) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_run* start = NULL;
    def.stabilize = "none";
    cal_status status = cal_sim_create(run->model, &def, &sim, error);
    if (!status) status = cal_sim_set(sim, time_of(run), q(run), v(run), error);
    if (!status) status = cal_run_of_sim(sim, &start, error);
    if (!status) status = cal_run_begin(start, project, note, error);
    if (!status && project) status = cal_rps_set(((randomized_run*)run)->rps, cal_sim_q(sim), cal_sim_v(sim), error);
    (void)capacity;
    cal_run_destroy(start);
    cal_sim_destroy(sim);
    randomized_run* r = (randomized_run*)run;
    const size_t q_count = (size_t)cal_model_q_count(run->model), v_count = (size_t)cal_model_v_count(run->model);
    if (!status && !r->start) r->start = cal_allocate(q_count + v_count, sizeof(double));
    if (!status && r->start) {
        memcpy(r->start, q(run), q_count * sizeof(double));
        memcpy(r->start + q_count, v(run), v_count * sizeof(double));
        r->start_time = time_of(run);
    }
    return status;
}

static cal_status poses(cal_run* run, double* poses) {
    return cal_query_look(&((randomized_run*)run)->query, q(run), v(run), poses, NULL);
}

static cal_status energy(cal_run* run, double energy[2]) {
    return cal_query_look(&((randomized_run*)run)->query, q(run), v(run), NULL, energy);
}

static cal_status read_channels(cal_run* run, double* values) {
    cal_rps_report report;
    cal_rps_get_report(rps_of(run), &report);
    const cal_status status = energy(run, values);
    values[TOTAL] = values[KINETIC] + values[POTENTIAL];
    values[RESIDUAL] = report.residual;
    values[CONSTRAINT] = report.error_max;
    values[SOLUTIONS] = report.hypotheses;
    return status;
}

// Where the solutions are that were tracked to the end, the best first.
static void report_solutions(const randomized_run* r, const cal_rps_report* s, cal_facts* report) {
    enum { SHOWN = 8 };
    const int q_count = cal_model_q_count(r->base.model), v_count = cal_model_v_count(r->base.model);
    cal_facts_integer(report, "hypotheses", s->hypotheses);
    cal_facts_integer(report, "most_hypotheses", s->most_hypotheses);
    cal_facts_open(report, "solutions", '[');
    for (int i = 0; i < s->hypotheses; i++) {
        cal_facts_open(report, NULL, '{');
        cal_facts_numbers(report, "q", cal_rps_q(r->rps, i), q_count);
        cal_facts_numbers(report, "v", cal_rps_v(r->rps, i), v_count);
        cal_facts_close(report, '}');
    }
    cal_facts_close(report, ']');
    if (r->def.hypotheses < 2) return;
    cal_facts_line(report, "solutions", "%d tracked at the end, at most %d", s->hypotheses, s->most_hypotheses);
    for (int i = 0; i < s->hypotheses; i++) {
        char text[128] = "";
        for (int k = 0; k < q_count && k < SHOWN; k++) {
            const size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, " %10.6g", cal_rps_q(r->rps, i)[k]);
        }
        cal_facts_line(report, "", "%d q =%s%s", i + 1, text, q_count > SHOWN ? " …" : "");
    }
}

static void report_deadline(const randomized_run* r, const cal_rps_report* s, cal_facts* report) {
    if (!(r->def.deadline > 0)) return;
    cal_facts_integer(report, "overruns", s->overruns);
    cal_facts_number(report, "worst_overrun_s", s->worst);
    cal_facts_line(report, "real time", "%lld of %lld intervals were late, the worst by %.3g s; each had %.3g s",
                   (long long)s->overruns, (long long)s->polls, s->worst,
                   r->def.deadline * r->def.step * r->def.interval);
}

static double largest_difference(const double* a, const double* b, int count) {
    double most = 0;
    for (int i = 0; i < count; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

// How far the motion is off: from that of a solver that is a thousand times as accurate as randomization is at best, from the same
// start. It may be of the other branch of a bifurcation, or chaotic; then the number says so.
static void report_motion(randomized_run* r, const cal_rps_report* s, cal_facts* report) {
    const cal_model* model = r->base.model;
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    def.solver = "rkf", def.relative = 1e-8, def.contact = false;
    const int q_count = cal_model_q_count(model), v_count = cal_model_v_count(model);
    if (!r->start || s->time <= r->start_time) return;
    if (r->def.interrupt && r->def.interrupt(r->def.interrupt_user)) return; // somebody waits
    cal_status status = cal_sim_create(model, &def, &sim, NULL);
    if (!status) status = cal_sim_set(sim, r->start_time, r->start, r->start + q_count, NULL);
    if (!status) status = cal_sim_project(sim, NULL);
    if (!status) status = cal_sim_advance(sim, s->time, NULL);
    if (status)
        cal_facts_line(report, "motion", "not compared: %s has no motion with rkf at 1e-8 from this start",
                       cal_model_name(model));
    if (!status) {
        const double q_off = largest_difference(cal_rps_q(r->rps, 0), cal_sim_q(sim), q_count),
                     v_off = largest_difference(cal_rps_v(r->rps, 0), cal_sim_v(sim), v_count);
        cal_facts_number(report, "motion_error_q", q_off);
        cal_facts_number(report, "motion_error_v", v_off);
        cal_facts_line(report, "motion", "off by %.2e in q and %.2e in v at the end, from rkf at 1e-8", q_off, v_off);
    }
    cal_sim_destroy(sim);
}

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

static void report(cal_run* run, cal_facts* report) {
    const randomized_run* r = (const randomized_run*)run;
    const cal_rps_def* d = &r->def;
    cal_rps_report s;
    char who[64] = "one core";
    cal_rps_get_report(r->rps, &s);
    cal_run_report_model(report, run->model);
    if (d->machine) {
        const int processors = cal_machine_processors(d->machine);
        cal_run_report_machine(report, d->machine, processors);
        cal_machine_text(d->machine, processors, who, sizeof who);
    }
    cal_facts_integer(report, "instances", d->instances);
    cal_facts_text(report, "method", r->method);
    cal_facts_number(report, "step", d->step);
    cal_facts_integer(report, "interval", s.interval);
    cal_facts_line(report, "randomized", "%d instances of %s, step %g s, polls every %d steps, on %s", d->instances,
                   r->method, d->step, s.interval, who);
    cal_facts_text(report, "stabilize", r->stabilize);
    cal_facts_number(report, "gain", d->gain);
    cal_facts_line(report, "stabilised", "%s, gain %g", r->stabilize, d->gain);
    cal_facts_integer(report, "seed", (int64_t)d->seed);
    cal_facts_integer(report, "steps", s.steps);
    cal_facts_integer(report, "polls", s.polls);
    cal_facts_number(report, "poll_share", share(s.poll_wall, s.wall));
    cal_facts_number(report, "wait_share", share(s.wait_wall, s.wall));
    cal_facts_line(report, "polls", "%lld, in %.1f %% of the time", (long long)s.polls,
                   100 * share(s.poll_wall, s.wall));
    cal_facts_number(report, "residual", s.residual);
    cal_facts_number(report, "constraint_max", s.error_max);
    cal_facts_number(report, "constraint_rms", s.error_rms);
    cal_facts_line(report, "constraints", "error at most %.2e, root mean square %.2e; last residual %.2e", s.error_max,
                   s.error_rms, s.residual);
    report_motion((randomized_run*)run, &s, report);
    report_solutions(r, &s, report);
    report_deadline(r, &s, report);
}

static const cal_run_ops ops = {.kind = "a randomized simulation",
                                .destroy = destroy,
                                .time = time_of,
                                .advance = advance,
                                .hash = hash,
                                .body_name = cal_run_model_body_name,
                                .shapes = cal_run_model_shapes,
                                .poses = poses,
                                .read = read_channels,
                                .report = report,
                                .begin = begin,
                                .q = q,
                                .v = v,
                                .energy = energy,
                                .set = set};

cal_status cal_run_create_randomized(const cal_model* model, const cal_rps_def* def, cal_run** out, cal_error* error) {
    if (!model || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_create_randomized: model and out must not be NULL");
    *out = NULL;
    randomized_run* r = cal_allocate(1, sizeof *r);
    if (!r) return cal_fail(error, CAL_NO_MEMORY, "no memory for a run");
    r->base = (cal_run){.ops = &ops,
                        .model = model,
                        .body_count = cal_model_body_count(model),
                        .channels = channels,
                        .channel_count = CHANNELS,
                        .can_project = true};
    cal_status status = cal_rps_create(model, def, &r->rps, error);
    if (!status) status = cal_query_create(&r->query, model, error);
    if (status) {
        destroy(&r->base);
        return status;
    }
    r->def = *def;
    snprintf(r->method, sizeof r->method, "%s", def->method);
    snprintf(r->stabilize, sizeof r->stabilize, "%s", def->stabilize);
    r->base.grain = def->adaptive ? INFINITY : def->step * def->interval;
    *out = &r->base;
    return CAL_OK;
}
