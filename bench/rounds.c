// `calder bench rounds`: how long a round of a solver takes, from one decision of its control to the next: an evaluation, and all that the
// solver does for it.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "result.h"
#include "timing.h"

// The first stretch has the start, and is not counted.
enum { STRETCHES = 9, LOOKS = 5 };

typedef struct rounds {
    const char *machine, *lanes, *algorithm, *schedule, *solver;
    double tol, time;
    // What was found.
    int joints, counted;
    int64_t evaluations;                       // of those that are counted
    double us_per_round, us_quietest, us_look; // a look: the state at the end of an advance
    uint64_t hash;
} rounds;

static cal_status advance(cal_sim* sim, double time, double* seconds, int64_t* evaluations, cal_error* error) {
    cal_sim_report before, after;
    cal_sim_get_report(sim, &before);
    const double started = cal_wall_seconds();
    const cal_status status = cal_sim_advance(sim, time, error);
    *seconds = cal_wall_seconds() - started;
    cal_sim_get_report(sim, &after);
    *evaluations = after.evaluations - before.evaluations;
    return status;
}

// The solver has stepped beyond the present time: looks a little later cost no evaluation.
static cal_status time_look(cal_sim* sim, double* seconds, cal_error* error) {
    double samples[LOOKS];
    int count = 0;
    cal_status status = CAL_OK;
    for (int i = 0; i < LOOKS && status == CAL_OK; i++) {
        int64_t evaluations = 0;
        status = advance(sim, nextafter(cal_sim_time(sim), INFINITY), &samples[count], &evaluations, error);
        if (evaluations == 0) count++;
    }
    *seconds = count > 0 ? cal_median(samples, count) : 0.0;
    return status;
}

static cal_status time_stretches(rounds* r, cal_sim* sim, cal_error* error) {
    double each[STRETCHES], looks[STRETCHES];
    cal_status status = CAL_OK;
    for (int i = 0; i < STRETCHES && status == CAL_OK; i++) {
        double seconds = 0.0, look = 0.0;
        int64_t evaluations = 0;
        status = advance(sim, r->time * (i + 1) / STRETCHES, &seconds, &evaluations, error);
        if (status == CAL_OK) status = time_look(sim, &look, error);
        if (i == 0 || evaluations == 0 || status != CAL_OK) continue;
        each[r->counted] = fmax(0.0, seconds - look) / (double)evaluations;
        looks[r->counted++] = look;
        r->evaluations += evaluations;
    }
    if (status != CAL_OK || r->counted == 0) return status;
    r->us_per_round = 1e6 * cal_median(each, r->counted); // which sorts them
    r->us_quietest = 1e6 * each[0];
    r->us_look = 1e6 * cal_median(looks, r->counted);
    r->hash = cal_sim_hash(sim);
    return CAL_OK;
}

static int time_model(rounds* r, const char* name) {
    cal_model* model = NULL;
    int status = cal_model_from_argument(name, &model);
    if (status != CAL_EXIT_DONE) return status;
    cal_sim_def def = cal_default_sim_def();
    status = cal_machine_open(r->machine, r->lanes, NULL, &def.machine);
    if (status == CAL_EXIT_DONE) {
        cal_error error = {CAL_OK, ""};
        cal_sim* sim = NULL;
        def.solver = r->solver;
        def.algorithm = r->algorithm;
        def.schedule = r->schedule;
        def.relative = r->tol;
        def.contact = false;
        r->joints = cal_model_joint_count(model);
        error.status = cal_sim_create(model, &def, &sim, &error);
        if (error.status == CAL_OK) error.status = time_stretches(r, sim, &error);
        cal_sim_destroy(sim);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
    }
    cal_machine_destroy(def.machine);
    cal_model_destroy(model);
    return status;
}

static void print_json(const rounds* r, const char* model) {
    cal_json json = cal_result_open("bench rounds");
    cal_json_text(&json, "model", model);
    cal_json_integer(&json, "joints", r->joints);
    cal_json_text(&json, "algorithm", r->algorithm);
    cal_json_text(&json, "solver", r->solver);
    cal_json_text(&json, "machine", r->machine);
    cal_json_number(&json, "tol", r->tol);
    cal_json_number(&json, "time", r->time);
    cal_json_integer(&json, "rounds", r->evaluations);
    cal_json_number(&json, "us_per_round", r->us_per_round);
    cal_json_number(&json, "us_per_round_quietest", r->us_quietest);
    cal_json_number(&json, "us_per_look", r->us_look);
    cal_json_hash(&json, "state_hash", r->hash);
    cal_json_close(&json, '}');
}

static void print_details(void) {
    printf("\nA round is an evaluation and what the solver does for it, from one decision of its control to the next.\n"
           "The model is simulated from its start to --time in nine advances. The first one, with the start, is not\n"
           "counted; of each other the time of its end, when the state comes to the user, is measured by itself and\n"
           "taken off, and the rest divided by its evaluations. Shapes do not touch.\n");
}

static const char* algorithm_choice(int index) {
    static const char* const names[] = {"aba", "assembly", NULL};
    return names[index];
}

static int run(int argc, char** argv) {
    rounds r = {.machine = "serial", .lanes = "0", .algorithm = "aba", .solver = "gear", .tol = 1e-4, .time = 1};
    bool as_json = false;
    const cal_option options[] = {
        {"solver", CAL_OPTION_CHOICE, &r.solver, "NAME", "the solver", 0, 0, cal_solver_name},
        {"tol", CAL_OPTION_NUMBER, &r.tol, "E", "error tolerance, relative and absolute", 1e-14, 1, NULL},
        {"time", CAL_OPTION_NUMBER, &r.time, "S", "seconds that are simulated", 1e-9, 1e6, NULL},
        CAL_OPTION_LINE_MACHINE(&r.machine, "who computes: serial, threads[:N][,pinned] or cuda[:N]"),
        CAL_OPTION_LINE_LANES(&r.lanes),
        {"algorithm", CAL_OPTION_CHOICE, &r.algorithm, "NAME", "how accelerations are computed", 0, 0,
         algorithm_choice},
        {"schedule", CAL_OPTION_TEXT, &r.schedule, "HOW",
         "what assembly does in parallel: auto, serial, balanced, device, or a number of processors", 0, 0, NULL},
        CAL_OPTION_LINE_JSON(&as_json),
    };
    const cal_usage usage = {"bench rounds",
                             "MODEL",
                             "Times the rounds of a solver.",
                             print_details,
                             "calder bench rounds mobile:s=3,l=5,o=9 --tol 1e-2 --time 4",
                             1,
                             1};
    int count = 0;
    int status = cal_options_parse(&usage, options, CAL_ARRAY_COUNT(options), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    // How long a stretch takes depends on clocks, on which ranks do not agree.
    if (strncmp(r.machine, "mpi", 3) == 0) return cal_complain(CAL_EXIT_MISTAKE, "bench rounds does not run on ranks");
    if (r.schedule && strcmp(r.algorithm, "assembly") != 0)
        return cal_complain(CAL_EXIT_MISTAKE, "--schedule '%s' is for --algorithm assembly", r.schedule);
    status = time_model(&r, argv[1]);
    if (status != CAL_EXIT_DONE) return status;
    if (r.counted == 0)
        return cal_complain(CAL_EXIT_MISTAKE, "there are no rounds after the start: --time %g is too short", r.time);
    if (as_json)
        print_json(&r, argv[1]);
    else
        printf("rounds of %s on %s\n\n%s, %d joints: %.1f µs per round, %.1f in the quietest of %d stretches (%lld "
               "rounds); a look at the state %.1f µs\n",
               r.solver, cal_host_text(), argv[1], r.joints, r.us_per_round, r.us_quietest, r.counted,
               (long long)r.evaluations, r.us_look);
    return cal_finish_output(CAL_EXIT_DONE);
}

const cal_benchmark cal_bench_rounds = {
    "rounds", "how long a round of a solver takes: an evaluation and the solver's own part", run};
