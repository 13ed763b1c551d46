// `calder bench forward`: how long forward dynamics takes through the public interface, from the user's numbers to the
// user's numbers, with a fresh random state for each call.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peer_program.h"
#include "progress.h"
#include "result.h"
#include "timing.h"
#ifdef CALDER_HAVE_CUDA
#include "calder/calder_cuda.h"
#endif

#define STATE_COUNT 64
// Of all prepared states together: 2 MiB, so that a batch times arithmetic and not memory.
#define STATE_NUMBERS (INT64_C(1) << 18)
#define WARM_UP_SHARE 0.15
#define MOST_ROWS 256

typedef struct row {
    char engine[64];
    const char* model;
    int joints;
    int64_t batch;
    int lanes, processors;
    double us_per_call, us_quietest, ns_per_joint;
} row;

typedef struct table {
    row rows[MOST_ROWS];
    int count;
    const char* machine;
    const char* lanes;
    const char *algorithm, *schedule; // of one state
    double time_limit;
} table;

// What one timed call needs: a plan for a single state, an ensemble for a batch.
typedef struct subject {
    const cal_model* model;
    int64_t batch; // instances; 0: a single state through a plan
    cal_machine* machine;
    cal_plan* plan;
    cal_state* state;
    cal_ensemble* ensemble;
    cal_dynamics* dynamics;    // of derivatives
    double* slopes;            // by q, v and tau, and by controls
    double *q, *v, *tau, *qdd; // states rows of each but qdd
    size_t states, q_size, v_size;
    size_t next; // state of the next call
    bool stays;  // on a GPU, whose memory holds one state of each instance from the first call on:
    bool there;  // it does
} subject;

static void destroy_subject(subject* s) {
    cal_ensemble_destroy(s->ensemble);
    cal_dynamics_destroy(s->dynamics);
    free(s->slopes);
    cal_state_destroy(s->state);
    cal_plan_destroy(s->plan);
    cal_machine_destroy(s->machine);
    free(s->q);
    free(s->v);
    free(s->tau);
    free(s->qdd);
}

static cal_status create_states(subject* s) {
    size_t instances = s->batch > 0 ? (size_t)s->batch : 1;
    size_t q_count = (size_t)cal_model_q_count(s->model), v_count = (size_t)cal_model_v_count(s->model);
    s->q_size = instances * q_count;
    s->v_size = instances * v_count;
    int64_t fit = STATE_NUMBERS / (int64_t)(s->q_size + 2 * s->v_size + 1);
    s->states = fit < 2 ? 2 : fit > STATE_COUNT ? STATE_COUNT : (size_t)fit;
    s->q = calloc(s->states * s->q_size + 1, sizeof(double));
    s->v = calloc(s->states * s->v_size + 1, sizeof(double));
    s->tau = calloc(s->states * s->v_size + 1, sizeof(double));
    s->qdd = calloc(s->v_size + 1, sizeof(double));
    if (!s->q || !s->v || !s->tau || !s->qdd) return CAL_NO_MEMORY;
    uint64_t seed = 1;
    for (size_t i = 0; i < s->states * instances; i++) {
        cal_model_initial(s->model, s->q + i * q_count, s->v + i * v_count, NULL);
        cal_scatter(s->model, &seed, 1.0, s->q + i * q_count, s->v + i * v_count);
    }
    for (size_t i = 0; i < s->states * s->v_size; i++) s->tau[i] = cal_random(&seed);
    return CAL_OK;
}

#ifdef CALDER_HAVE_CUDA
static cal_status evaluate_there(cal_ensemble* ensemble) { return cal_cuda_ensemble_forward(ensemble); }
#else
static cal_status evaluate_there(cal_ensemble* ensemble) {
    (void)ensemble;
    return CAL_NOT_AVAILABLE;
}
#endif

static bool asks_derivatives(const table* t) { return strcmp(t->algorithm, "derivatives") == 0; }

static cal_status create_derivatives(subject* s, cal_error* error) {
    const size_t count = (size_t)cal_model_v_count(s->model), motors = (size_t)cal_model_actuator_count(s->model);
    s->slopes = calloc(count * (3 * count + motors) + 1, sizeof *s->slopes);
    return s->slopes ? cal_dynamics_create(s->model, &s->dynamics, error) : CAL_NO_MEMORY;
}

static cal_status find_derivatives(subject* s, const double* q, const double* v, const double* tau) {
    const size_t size = s->v_size * s->v_size;
    return cal_dynamics_forward_derivatives(s->dynamics, q, v, tau, NULL, s->slopes, s->slopes + size,
                                            s->slopes + 2 * size, s->slopes + 3 * size);
}

// The machine is the subject's from now on; a batch needs none, or a GPU.
static cal_status create_subject(subject* s, const table* t, const cal_model* model, int64_t batch,
                                 cal_machine* machine, cal_error* error) {
    *s = (subject){.model = model, .batch = batch, .machine = machine};
    cal_status status;
    s->stays = machine && strcmp(cal_machine_name(machine), "cuda") == 0;
    if (batch > 0 && s->stays) {
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = (int)batch;
        def.machine = machine;
        def.sim.solver = "rk4";
        def.sim.contact = false;
        status = cal_ensemble_create_def(model, &def, &s->ensemble, error);
    } else if (batch > 0) {
        status = cal_ensemble_create(model, (int)batch, atoi(t->lanes), &s->ensemble, error);
    } else if (asks_derivatives(t)) {
        status = create_derivatives(s, error);
    } else {
        status = cal_plan_create_scheduled(model, t->algorithm, t->schedule, s->machine, NULL, &s->plan, error);
        if (status == CAL_OK) status = cal_state_create(s->plan, &s->state);
    }
    return status == CAL_OK ? create_states(s) : status;
}

static cal_status call_once(void* context, cal_error* error) {
    subject* s = context;
    const size_t which = s->next;
    const double *q = s->q + which * s->q_size, *v = s->v + which * s->v_size, *tau = s->tau + which * s->v_size;
    s->next = which + 1 == s->states ? 0 : which + 1;
    if (s->stays && s->there)
        return s->ensemble ? evaluate_there(s->ensemble) : cal_plan_execute(s->plan, s->state, error);
    s->there = s->stays;
    if (s->ensemble) return cal_ensemble_forward(s->ensemble, q, v, tau, s->qdd);
    if (s->dynamics) return find_derivatives(s, q, v, tau);
    cal_status status = cal_state_set(s->state, CAL_Q, q);
    if (status == CAL_OK) status = cal_state_set(s->state, CAL_V, v);
    if (status == CAL_OK) status = cal_state_set(s->state, CAL_TAU, tau);
    if (status == CAL_OK) status = cal_plan_execute(s->plan, s->state, error);
    if (status == CAL_OK) status = cal_state_get(s->state, CAL_QDD, s->qdd);
    return status;
}

static cal_status measure(subject* s, double time_limit, row* out, cal_error* error) {
    // Every state once at least, so that the first touch of memory is over too.
    const cal_timing_def def = {time_limit, WARM_UP_SHARE, (int64_t)s->states, CAL_MOST_REPETITIONS};
    cal_timing timing = {0};
    const cal_status status = cal_time_calls(&def, call_once, s, &timing, error);
    out->us_per_call = 1e6 * timing.median;
    out->us_quietest = 1e6 * timing.quietest;
    const double joints = (double)out->joints * (double)(s->batch > 0 ? s->batch : 1);
    out->ns_per_joint = joints > 0 ? 1e3 * out->us_per_call / joints : 0;
    return status;
}

static int add_own_row(table* t, const char* model_name, int64_t batch) {
    cal_model* model = NULL;
    int status = cal_model_from_argument(model_name, &model);
    if (status != CAL_EXIT_DONE) return status;
    cal_machine* machine = NULL;
    if (batch == 0 || strncmp(t->machine, "cuda", 4) == 0)
        status = cal_machine_open(t->machine, t->lanes, NULL, &machine);
    if (status != CAL_EXIT_DONE) {
        cal_model_destroy(model);
        return status;
    }
    subject s;
    cal_error error = {CAL_OK, ""};
    error.status = create_subject(&s, t, model, batch, machine, &error);
    if (error.status == CAL_OK) {
        row* r = &t->rows[t->count];
        *r = (row){.engine = "calder",
                   .model = model_name,
                   .joints = cal_model_joint_count(model),
                   .batch = batch > 0 ? batch : 1,
                   .lanes = s.ensemble   ? cal_ensemble_lanes(s.ensemble)
                            : s.dynamics ? 1
                                         : cal_machine_lanes(s.machine),
                   .processors = s.plan ? cal_plan_processors(s.plan) : 1};
        error.status = measure(&s, t->time_limit, r, &error);
        t->count++;
    }
    destroy_subject(&s);
    cal_model_destroy(model);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

static void add_peer_row(table* t, const char* model_name, const char* peer, const char* path) {
    char reason[128];
    cal_peer_result result;
    if (t->count == MOST_ROWS) return;
    if (!cal_peer_time(path, model_name, &result, reason, sizeof reason)) {
        cal_complain(CAL_EXIT_DONE, "note: calder-peer-%s has no time for %s: %s", peer, model_name, reason);
        return;
    }
    row* r = &t->rows[t->count++];
    *r = (row){.model = model_name,
               .joints = result.joints,
               .batch = 1,
               .lanes = 1,
               .processors = 1,
               .us_per_call = result.us_per_call,
               .us_quietest = result.us_per_call,
               .ns_per_joint = result.ns_per_joint};
    snprintf(r->engine, sizeof r->engine, "%s", result.engine);
}

static void add_peer_rows(table* t, const char* const* models, int model_count, cal_progress* progress) {
    for (int p = 0; cal_peer_name(p); p++) {
        char path[4096];
        if (!cal_peer_find(cal_peer_name(p), path, sizeof path)) {
            cal_complain(CAL_EXIT_DONE, "note: calder-peer-%s is not installed, so that engine is left out",
                         cal_peer_name(p));
            continue;
        }
        for (int m = 0; m < model_count; m++) {
            bool seen = false;
            for (int earlier = 0; earlier < m; earlier++) seen |= strcmp(models[earlier], models[m]) == 0;
            if (!seen) add_peer_row(t, models[m], cal_peer_name(p), path);
            cal_progress_show(progress, 0.5 + 0.5 * (p + (m + 1.0) / model_count) / 3);
        }
    }
}

static double best_peer(const table* t, const char* model) {
    double best = 0;
    for (int i = 0; i < t->count; i++) {
        const row* r = &t->rows[i];
        bool peer = strcmp(r->engine, "calder") != 0 && strcmp(r->model, model) == 0;
        if (peer && (best == 0 || r->ns_per_joint < best)) best = r->ns_per_joint;
    }
    return best;
}

static void print_json(const table* t) {
    cal_json json = cal_result_open("bench forward");
    cal_json_open(&json, "rows", '[');
    for (int i = 0; i < t->count; i++) {
        const row* r = &t->rows[i];
        cal_json_open(&json, NULL, '{');
        cal_json_text(&json, "engine", r->engine);
        cal_json_text(&json, "model", r->model);
        cal_json_integer(&json, "joints", r->joints);
        cal_json_integer(&json, "batch", r->batch);
        cal_json_integer(&json, "lanes", r->lanes);
        cal_json_integer(&json, "processors", r->processors);
        cal_json_number(&json, "us_per_call", r->us_per_call);
        cal_json_number(&json, "ns_per_joint", r->ns_per_joint);
        cal_json_number(&json, "us_per_call_quietest", r->us_quietest);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

static void print_table(const table* t, bool with_peers) {
    printf("forward dynamics on %s\n\n", cal_host_text());
    printf("%-16s %-24s %7s %6s %5s %5s %12s %12s %9s%s\n", "engine", "model", "joints", "batch", "cores", "lanes",
           "us/call", "quietest", "ns/joint", with_peers ? "  best peer takes" : "");
    for (int i = 0; i < t->count; i++) {
        const row* r = &t->rows[i];
        printf("%-16s %-24s %7d %6lld %5d %5d %12.3f %12.3f %9.1f", r->engine, r->model, r->joints, (long long)r->batch,
               r->processors, r->lanes, r->us_per_call, r->us_quietest, r->ns_per_joint);
        double best = best_peer(t, r->model);
        if (strcmp(r->engine, "calder") == 0 && best > 0 && r->ns_per_joint > 0)
            printf("  %.2f times as long", best / r->ns_per_joint);
        printf("\n");
    }
}

static void print_details(void) {
    printf("\nWithout MODEL: chain:n=36, chain:n=1024, mobile:s=3,l=5,o=9 (the tree of 455), humanoid, and\n"
           "humanoid in a batch of 1024. A call sets positions, velocities and forces of a random state,\n"
           "computes, and gets the accelerations; with --batch it does so for all instances. Medians of many\n"
           "repetitions. --algorithm derivatives: those of accelerations by q, v, tau and controls, in each call.\n"
           "Peers are the programs calder-peer-mujoco, -bullet and -simbody beside this one; each\n"
           "is built where its package is installed. On a GPU the first call brings the numbers, and the others\n"
           "compute from where they are into where they stay.\n");
}

static const char* algorithm_choice(int index) {
    static const char* const names[] = {"aba", "armstrong", "assembly", "derivatives", NULL};
    return names[index];
}

static int run(int argc, char** argv) {
    static const char* const default_models[] = {"chain:n=36", "chain:n=1024", "mobile:s=3,l=5,o=9", "humanoid",
                                                 "humanoid"};
    static const int64_t default_batches[] = {0, 0, 0, 0, 1024};
    int64_t batch = 0;
    bool as_json = false, with_peers = false;
    table t = {.machine = "serial", .lanes = "0", .algorithm = "aba", .time_limit = 1};
    const cal_option options[] = {
        {"batch", CAL_OPTION_COUNT, &batch, "N", "instances of each model at once; 0: one", 0, 1e7, NULL},
        CAL_OPTION_LINE_MACHINE(
            &t.machine, "who computes: serial, threads[:N][,pinned] or cuda[:N]; a batch has one core or a GPU"),
        CAL_OPTION_LINE_LANES(&t.lanes),
        {"algorithm", CAL_OPTION_CHOICE, &t.algorithm, "NAME",
         "how accelerations of one state are computed; derivatives: how they change", 0, 0, algorithm_choice},
        {"schedule", CAL_OPTION_TEXT, &t.schedule, "HOW",
         "what assembly does in parallel: auto, serial, balanced, device, or a number of processors", 0, 0, NULL},
        {"peers", CAL_OPTION_FLAG, &with_peers, NULL, "time the other engines too", 0, 0, NULL},
        {"time-limit", CAL_OPTION_NUMBER, &t.time_limit, "S", "seconds per model", 0.01, 600, NULL},
        CAL_OPTION_LINE_JSON(&as_json),
    };
    const cal_usage usage = {"bench forward",
                             "[MODEL…]",
                             "Times forward dynamics.",
                             print_details,
                             "calder bench forward chain:n=36 humanoid --peers",
                             0,
                             MOST_ROWS / 4};
    int count = 0;
    int status = cal_options_parse(&usage, options, CAL_ARRAY_COUNT(options), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    // How long is timed depends on clocks, on which ranks do not agree.
    if (strcmp(t.machine, "mpi") == 0)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "bench forward does not run on ranks; 'calder bench scale --machine mpi' does");
    if (t.schedule && strcmp(t.algorithm, "assembly") != 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--schedule '%s' is for --algorithm assembly", t.schedule);
    if ((batch > 0 || count == 0) && strcmp(t.algorithm, "aba") != 0)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--algorithm %s is for one state of each MODEL: a batch is computed by aba", t.algorithm);
    if (asks_derivatives(&t) && (with_peers || strcmp(t.machine, "serial") != 0))
        return cal_complain(CAL_EXIT_MISTAKE, "--algorithm derivatives is timed on one core, without peers");
    const char* models[MOST_ROWS / 4];
    bool by_default = count == 0;
    if (by_default) count = (int)CAL_ARRAY_COUNT(default_models);
    for (int i = 0; i < count; i++) models[i] = by_default ? default_models[i] : argv[1 + i];
    cal_progress progress = cal_progress_start("timing");
    status = CAL_EXIT_DONE;
    for (int i = 0; i < count && status == CAL_EXIT_DONE; i++) {
        status = add_own_row(&t, models[i], by_default && batch == 0 ? default_batches[i] : batch);
        cal_progress_show(&progress, (with_peers ? 0.5 : 1) * (i + 1.0) / count);
    }
    if (status == CAL_EXIT_DONE && with_peers) add_peer_rows(&t, models, count, &progress);
    cal_progress_end(&progress);
    if (status != CAL_EXIT_DONE) return status;
    if (as_json)
        print_json(&t);
    else
        print_table(&t, with_peers);
    return cal_finish_output(CAL_EXIT_DONE);
}

const cal_benchmark cal_bench_forward = {"forward",
                                         "how long forward dynamics takes, beside other engines with --peers", run};
