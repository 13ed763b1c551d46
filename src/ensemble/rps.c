// Randomized parallel simulation (Bicchi, Pallottino, Bray and Perdomi): steps 1 to 4 of the paper.
//
//     1  N instances start around q, v         instance j, interval k: random numbers of their own (seed, k, j), so that nobody's
//                                              bits depend on who else is there
//     2  each runs for T = interval · τ        on processor j mod P; nobody waits for anybody (diastole)
//     3  poll: r_j = ‖C‖ + α‖A_h q̇‖ + β‖A_n q̇‖; the smallest wins, the lowest number of equals (systole)
//     4  T may change
//
// Variants: slight stabilisation (law and gain), random forcing of the error's equation, another method for another instance, and
// several hypotheses: while rows are nearly dependent, instances that are far from the winner and keep the constraints about as
// well are tracked as solutions of their own, between which the instances are shared in turn; past the singular position
// those that are together are one solution again, and a bifurcation is left as several.
#define _POSIX_C_SOURCE 200809L
#include "base/advancing.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "ensemble/instance.h"
#include "ensemble/poll.h"
#include "machine/machine.h"
#include <math.h>
#include <string.h>
#include <time.h>

static const uint32_t COOKIE = 0x52505331;
enum { MOST_INSTANCES = 100000, CACHE_LINE = 64 };

// What a processor keeps: its copy of what was elected, and its ballots, in turn in one of two blocks, since others may still
// look at the last one.
typedef struct seat {
    _Alignas(CACHE_LINE) struct cal_rps* rps;
    int processor;
    cal_poll poll;
    double *blocks[2], *room; // room: the others' blocks, where memory is not shared
    double pause;             // after the last interval
    double wall, own_pauses, clock;
    int64_t overruns;
    double worst;
    cal_status status;
    bool ends; // the advance was interrupted
} seat;

struct cal_rps {
    const cal_model* model;
    cal_advancing advancing;
    cal_rps_def def;
    cal_machine *machine, *own_machine, *engine; // who runs instances; what an instance runs on
    cal_plan* plan;
    cal_instance_law law;
    cal_instance* instances; // those of other processes are empty
    int processors;          // who take part
    seat* seats;             // of this process
    int seat_count;
    int64_t wanted; // steps
};

cal_rps_def cal_default_rps_def(void) {
    return (cal_rps_def){.instances = 10,
                         .method = "euler",
                         .step = 5e-4,
                         .interval = 20,
                         .position_radius = 2e-4,
                         .velocity_radius = 2e-2,
                         .seed = 1,
                         .alpha = 1.0,
                         .beta = 1.0,
                         .stabilize = "literal",
                         .gain = 250.0,
                         .hypotheses = 1,
                         .singular = 1e-4,
                         .cookie = COOKIE};
}

const char* cal_rps_method_name(int index) {
    return index >= 0 && index < CAL_METHODS ? cal_method_name((cal_method)index) : NULL;
}

static bool find_law(const char* name, cal_stabilization* out) {
    static const char* const names[] = {"none", "literal", "baumgarte"};
    static const cal_stabilization laws[] = {CAL_STABILIZE_NONE, CAL_STABILIZE_LITERAL, CAL_STABILIZE_CRITICAL};
    for (int i = 0; name && i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = laws[i];
            return true;
        }
    return false;
}

static int method_count(const char* list) {
    int count = 1;
    for (const char* p = list; *p; p++) count += *p == ',';
    return count;
}

// The method that a list names for an instance; CAL_METHODS when a name is unknown.
static cal_method find_method(const char* list, int instance) {
    const char* name = list;
    for (int skip = instance % method_count(list); skip > 0; skip--) name += strcspn(name, ",") + 1;
    const size_t length = strcspn(name, ",");
    int method = 0;
    while (method < CAL_METHODS && (strlen(cal_method_name((cal_method)method)) != length ||
                                    memcmp(cal_method_name((cal_method)method), name, length) != 0))
        method++;
    return (cal_method)method;
}

double cal_rps_limit(const char* stabilize, const char* method, double step) {
    cal_stabilization law;
    double least = (double)INFINITY;
    if (!method || !find_law(stabilize, &law) || !(step > 0.0)) return 0.0;
    for (int i = 0; i < method_count(method); i++) {
        const cal_method found = find_method(method, i);
        if (found == CAL_METHODS) return 0.0;
        least = fmin(least, cal_method_limit(found, step, law));
    }
    return least;
}

// --- Making one --------------------------------------------------------------------------------------------------------

static cal_status check_numbers(const cal_rps_def* def, cal_error* error) {
    const struct {
        const char* name;
        double value;
        bool positive;
    } numbers[] = {{"step", def->step, true},
                   {"position radius", def->position_radius, false},
                   {"velocity radius", def->velocity_radius, false},
                   {"alpha", def->alpha, false},
                   {"beta", def->beta, false},
                   {"gain", def->gain, false},
                   {"forcing", def->forcing, false},
                   {"singular", def->singular, false},
                   {"deadline", def->deadline, false}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const double x = numbers[i].value;
        if (!isfinite(x) || !(numbers[i].positive ? x > 0.0 : x >= 0.0))
            return cal_fail(error, CAL_BAD_ARGUMENT, "the %s of a randomized simulation must be %s 0, not %g",
                            numbers[i].name, numbers[i].positive ? "above" : "at least", x);
    }
    if (def->instances < 1 || def->instances > MOST_INSTANCES)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a randomized simulation has 1 to %d instances, not %d",
                        MOST_INSTANCES, def->instances);
    if (def->interval < 1)
        return cal_fail(error, CAL_BAD_ARGUMENT, "an interval has at least one step, not %d", def->interval);
    if (def->hypotheses < 1 || def->hypotheses > CAL_MOST_HYPOTHESES)
        return cal_fail(error, CAL_BAD_ARGUMENT, "hypotheses must be 1 to %d, not %d", CAL_MOST_HYPOTHESES,
                        def->hypotheses);
    return CAL_OK;
}

static cal_status check(const cal_model* model, const cal_rps_def* def, cal_error* error) {
    if (def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the definition must come from cal_default_rps_def()");
    const cal_status status = check_numbers(def, error);
    if (status) return status;
    cal_stabilization law;
    if (!find_law(def->stabilize, &law))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "stabilize '%.40s' is not one of literal, baumgarte, none: instances are not projected",
                        def->stabilize ? def->stabilize : "NULL");
    for (int i = 0; i < (def->method ? method_count(def->method) : 1); i++)
        if (!def->method || find_method(def->method, i) == CAL_METHODS)
            return cal_fail(error, CAL_BAD_ARGUMENT,
                            "method '%.60s' is not euler, symplectic, heun, ab2, rk4, or a list of those",
                            def->method ? def->method : "NULL");
    if (cal_model_is_moved(model))
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "randomized simulation takes no prescribed motions: simulate it without --rps");
    if (model->constraint_count == 0)
        return cal_fail(error, CAL_BAD_MODEL,
                        "the model has no constraints, so that no instance is better than another; simulate it without "
                        "randomization");
    return CAL_OK;
}

static bool is_here(const cal_rps* rps, int instance) {
    return rps->machine->keep == CAL_KEEP_ALL || instance % rps->processors == rps->machine->keep;
}

static cal_status make_seat(cal_rps* rps, int processor, seat* out) {
    *out = (seat){.rps = rps, .processor = processor, .clock = -1.0};
    const cal_status status = cal_poll_create(rps->model, &rps->def, rps->processors, &out->poll);
    if (status) return status;
    const size_t block = (size_t)out->poll.ballots * out->poll.size;
    for (int i = 0; i < 2; i++) out->blocks[i] = cal_allocate(block, sizeof(double));
    if (rps->machine->keep != CAL_KEEP_ALL) out->room = cal_allocate((size_t)rps->processors * block, sizeof(double));
    return out->blocks[0] && out->blocks[1] && (out->room || rps->machine->keep == CAL_KEEP_ALL) ? CAL_OK
                                                                                                 : CAL_NO_MEMORY;
}

static cal_status fill(cal_rps* rps, cal_error* error) {
    const cal_model* model = rps->model;
    const cal_rps_def* def = &rps->def;
    cal_status status = CAL_OK;
    if (!rps->machine) {
        status = cal_machine_serial(1, &rps->own_machine, error);
        rps->machine = rps->own_machine;
    }
    if (!status && rps->machine->ops->agree) status = rps->machine->ops->agree(rps->machine, model, error);
    if (!status) status = cal_machine_serial(1, &rps->engine, error);
    if (!status) status = cal_plan_create(model, "aba", rps->engine, &rps->plan, error);
    if (status) return status;
    // Threads without an instance stay away; processes must know the result. Machines that neither share memory nor exchange
    // numbers run all in turn.
    const int all = rps->machine->processors;
    const bool threads = rps->machine->ops->together && rps->machine->ops->gather;
    rps->processors = rps->machine->keep != CAL_KEEP_ALL ? all
                      : !threads                         ? 1
                      : all < def->instances             ? all
                                                         : def->instances;
    rps->seat_count = threads ? rps->processors : 1;
    rps->instances = cal_allocate((size_t)def->instances, sizeof *rps->instances);
    rps->seats = cal_allocate((size_t)rps->seat_count, sizeof *rps->seats);
    if (!rps->instances || !rps->seats) status = CAL_NO_MEMORY;
    for (int i = 0; i < rps->seat_count && !status; i++)
        status = make_seat(rps, rps->machine->keep != CAL_KEEP_ALL ? rps->machine->keep : i, &rps->seats[i]);
    for (int i = 0; i < def->instances && !status; i++)
        if (is_here(rps, i)) status = cal_instance_create(rps->plan, find_method(def->method, i), &rps->instances[i]);
    return status ? cal_fail(error, status, "no memory for %d instances", def->instances) : CAL_OK;
}

cal_status cal_rps_create(const cal_model* model, const cal_rps_def* def, cal_rps** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_rps_create: out must not be NULL");
    *out = NULL;
    if (!model || !def) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_rps_create: model and def must not be NULL");
    cal_status status = check(model, def, error);
    if (status) return status;
    cal_rps* rps = cal_allocate(1, sizeof *rps);
    if (!rps) return cal_fail(error, CAL_NO_MEMORY, "no memory for a randomized simulation");
    rps->model = model;
    rps->def = *def;
    rps->machine = def->machine;
    rps->law = (cal_instance_law){.gain = def->gain,
                                  .forcing = def->forcing,
                                  .alpha = def->alpha,
                                  .beta = def->beta,
                                  .step = def->step,
                                  .singular = def->hypotheses > 1 ? def->singular : 0.0};
    (void)find_law(def->stabilize, &rps->law.law);
    status = fill(rps, error);
    rps->def.method = rps->def.stabilize = NULL; // the caller's memory
    if (status) {
        cal_rps_destroy(rps);
        return status;
    }
    *out = rps;
    return CAL_OK;
}

void cal_rps_destroy(cal_rps* rps) {
    if (!rps) return;
    if (rps->advancing.now) {
        rps->advancing.doomed = true;
        return;
    }
    for (int i = 0; rps->instances && i < rps->def.instances; i++) cal_instance_destroy(&rps->instances[i]);
    for (int i = 0; rps->seats && i < rps->seat_count; i++) {
        seat* own = &rps->seats[i];
        cal_poll_destroy(&own->poll);
        cal_free(own->blocks[0]), cal_free(own->blocks[1]), cal_free(own->room);
    }
    cal_plan_destroy(rps->plan);
    cal_machine_destroy(rps->engine);
    cal_machine_destroy(rps->own_machine);
    cal_free(rps->instances), cal_free(rps->seats);
    cal_free(rps);
}

cal_status cal_rps_set(cal_rps* rps, const double* q, const double* v, cal_error* error) {
    if (!rps) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_rps_set: rps must not be NULL");
    const cal_status still = cal_check_not_advancing(&rps->advancing, "cal_rps_set", error);
    if (still) return still;
    const size_t q_count = (size_t)rps->model->q_count, v_count = (size_t)rps->model->v_count;
    for (size_t i = 0; i < q_count + v_count; i++) {
        const double* number = i < q_count ? q : v;
        if (number && !isfinite(number[i < q_count ? i : i - q_count]))
            return cal_fail(error, CAL_BAD_ARGUMENT, "cal_rps_set: number %zu of %s is not finite",
                            i < q_count ? i : i - q_count, i < q_count ? "q" : "v");
    }
    for (int i = 0; i < rps->seat_count; i++) {
        cal_poll* poll = &rps->seats[i].poll;
        if (q) memcpy(poll->solutions[0].q, q, q_count * sizeof *q);
        if (v) memcpy(poll->solutions[0].v, v, v_count * sizeof *v);
        poll->solution_count = 1;
    }
    return CAL_OK;
}

void cal_rps_watch(cal_rps* rps, cal_rps_callback* watch, void* user) {
    if (!rps) return;
    rps->law.watch = watch;
    rps->law.user = user;
}

// --- Running -----------------------------------------------------------------------------------------------------------

// Random numbers that belong to one instance in one interval.
static cal_random random_of(const cal_rps* rps, int64_t interval, int instance) {
    cal_random random = {rps->def.seed};
    random.state = cal_random_bits(&random) + (uint64_t)interval;
    random.state = cal_random_bits(&random) + (uint64_t)instance;
    (void)cal_random_bits(&random);
    return random;
}

static void vote(const cal_instance* instance, const cal_model* model, double pause, bool ends, double* out) {
    const size_t q = (size_t)model->q_count, v = (size_t)model->v_count;
    out[CAL_BALLOT_RESIDUAL] = instance->residual;
    out[CAL_BALLOT_SINGULAR] = instance->singular ? 1.0 : 0.0;
    out[CAL_BALLOT_SQUARES] = instance->squares;
    out[CAL_BALLOT_LARGEST] = instance->largest;
    out[CAL_BALLOT_STATUS] = (double)instance->status;
    out[CAL_BALLOT_PAUSE] = pause;
    out[CAL_BALLOT_END] = ends ? 1.0 : 0.0;
    memcpy(out + CAL_BALLOT_HEAD, instance->q, q * sizeof(double));
    memcpy(out + CAL_BALLOT_HEAD + q, instance->v, v * sizeof(double));
}

// Steps 1 and 2: the instances of one processor, from where they are put to their ballots.
static void diastole(seat* own, int steps, double* block) {
    cal_rps* rps = own->rps;
    const cal_rps_def* def = &rps->def;
    const cal_poll* poll = &own->poll;
    for (int i = own->processor; i < def->instances; i += rps->processors, block += poll->size) {
        cal_instance* instance = &rps->instances[i];
        const cal_solution* from = &poll->solutions[i % poll->solution_count];
        cal_random random = random_of(rps, poll->polls, i);
        cal_instance_place(instance, from->q, from->v, def->position_radius, def->velocity_radius, def->normal,
                           def->everywhere || def->hypotheses > 1, def->instances > 1 ? &random : NULL);
        cal_instance_run(instance, &rps->law, steps, &random, (cal_instance_name){poll->polls, i});
        const bool ends = i == 0 && def->interrupt && def->interrupt(def->interrupt_user);
        vote(instance, rps->model, own->pause, ends, block);
    }
}

// Step 3.
static cal_status systole(seat* own, int steps, const double* block) {
    cal_rps* rps = own->rps;
    cal_poll* poll = &own->poll;
    cal_status status = CAL_OK;
    poll->blocks[own->processor] = block;
    if (rps->processors > 1)
        status = rps->machine->ops->gather(rps->machine, own->processor, block, poll->ballots * (int)poll->size,
                                           own->room, poll->blocks);
    return status ? status : cal_poll_take(poll, steps);
}

// --- Time --------------------------------------------------------------------------------------------------------------

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Waits for the moment at which the interval's result is due, or notes by how much that has passed.
static void keep_pace(seat* own, double began, double now, int steps) {
    const double interval = own->rps->def.deadline * own->rps->def.step * (double)steps;
    // Nothing is due later than an interval from now, but where a clock went back.
    if (own->clock < 0.0 || own->clock > now) own->clock = fmin(began, now);
    own->clock += interval;
    const double late = now - own->clock;
    if (late > 0.0) {
        own->overruns++;
        own->worst = fmax(own->worst, late);
        own->clock += late; // what is lost is lost: the next interval has its full time
        return;
    }
    const struct timespec rest = {.tv_sec = (time_t)-late, .tv_nsec = (long)(1e9 * (-late - floor(-late)))};
    nanosleep(&rest, NULL);
}

// Intervals of one processor until all steps are done, or something fails: then it does for all processors alike.
static void run_seat(void* argument, int processor) {
    cal_rps* rps = argument;
    seat* own = &rps->seats[rps->seat_count > 1 ? processor : 0];
    cal_poll* poll = &own->poll;
    double began = seconds();
    own->status = CAL_OK;
    own->ends = false;
    while (poll->steps < rps->wanted && !own->status && !own->ends) {
        const int64_t left = rps->wanted - poll->steps;
        const int steps = left < poll->interval ? (int)left : poll->interval;
        double* block = own->blocks[poll->polls % 2];
        diastole(own, steps, block);
        const double ran = seconds();
        own->status = systole(own, steps, block);
        if (!own->status) own->ends = poll->blocks[0][CAL_BALLOT_END] != 0.0; // all processors see the same
        const double now = seconds();
        own->pause = now - ran;
        own->own_pauses += now - ran;
        own->wall += now - began;
        if (rps->def.deadline > 0.0 && !own->status) {
            keep_pace(own, began, now, steps);
            began = seconds();
        } else
            began = now;
    }
}

static cal_status advance_to(cal_rps* rps, double time, cal_error* error) {
    if (!isfinite(time) || !(time / rps->def.step < 9e15))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot advance to t = %g s with steps of %g s", time, rps->def.step);
    rps->wanted = (int64_t)floor(time / rps->def.step + 0.5);
    cal_status status = CAL_OK;
    if (rps->seat_count > 1)
        status = rps->machine->ops->together(rps->machine, run_seat, rps, rps->seat_count);
    else
        run_seat(rps, 0);
    if (!status) status = rps->seats[0].status;
    const double at = (double)rps->seats[0].poll.steps * rps->def.step;
    if (status == CAL_NOT_FINITE)
        return cal_fail(error, status, "all %d instances became infinite after t = %g s: use a smaller step or gain",
                        rps->def.instances, at);
    if (!status && rps->seats[0].ends && rps->seats[0].poll.steps < rps->wanted)
        return cal_fail(error, CAL_INTERRUPTED, "interrupted at t = %g s, on the way to t = %g s", at, time);
    return status ? cal_fail(error, status, "the interval after t = %g s: %s", at, cal_status_text(status)) : CAL_OK;
}

cal_status cal_rps_advance(cal_rps* rps, double time, cal_error* error) {
    if (!rps) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_rps_advance: rps must not be NULL");
    cal_status status = cal_check_not_advancing(&rps->advancing, "cal_rps_advance", error);
    if (status) return status;
    rps->advancing.now = true;
    status = advance_to(rps, time, error);
    rps->advancing.now = false;
    if (!rps->advancing.doomed) return status;
    cal_rps_destroy(rps);
    return cal_fail_destroyed(error);
}

// --- Looking at it -----------------------------------------------------------------------------------------------------

const double* cal_rps_q(const cal_rps* rps, int hypothesis) {
    if (!rps) return NULL;
    const cal_poll* poll = &rps->seats[0].poll;
    return hypothesis >= 0 && hypothesis < poll->solution_count ? poll->solutions[hypothesis].q : NULL;
}
const double* cal_rps_v(const cal_rps* rps, int hypothesis) {
    if (!rps) return NULL;
    const cal_poll* poll = &rps->seats[0].poll;
    return hypothesis >= 0 && hypothesis < poll->solution_count ? poll->solutions[hypothesis].v : NULL;
}

uint64_t cal_rps_hash(const cal_rps* rps) {
    if (!rps) return 0;
    const cal_poll* poll = &rps->seats[0].poll;
    const double time = (double)poll->steps * rps->def.step;
    uint64_t hash = cal_hash_doubles(CAL_HASH_START, &time, 1);
    for (int i = 0; i < poll->solution_count; i++) {
        hash = cal_hash_doubles(hash, poll->solutions[i].q, (size_t)rps->model->q_count);
        hash = cal_hash_doubles(hash, poll->solutions[i].v, (size_t)rps->model->v_count);
    }
    return hash;
}

void cal_rps_get_report(const cal_rps* rps, cal_rps_report* out) {
    if (!rps || !out) return;
    const seat* own = &rps->seats[0];
    const cal_poll* poll = &own->poll;
    // The last pause will be compared with the others' at the next poll.
    const double price = fmin(poll->pauses + own->pause, own->own_pauses);
    *out = (cal_rps_report){.time = (double)poll->steps * rps->def.step,
                            .polls = poll->polls,
                            .steps = poll->steps,
                            .interval = poll->interval,
                            .elected = poll->elected,
                            .residual = poll->residual,
                            .error_max = poll->error_max,
                            .error_rms = poll->steps > 0 ? sqrt(poll->squares / (double)poll->steps) : 0.0,
                            .hypotheses = poll->solution_count,
                            .most_hypotheses = poll->most_hypotheses,
                            .overruns = own->overruns,
                            .worst = own->worst,
                            .wall = own->wall,
                            .poll_wall = price,
                            .wait_wall = own->own_pauses - price};
}
