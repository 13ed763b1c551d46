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
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "ensemble/instance.h"
#include "machine/machine.h"
#include <math.h>
#include <string.h>
#include <time.h>

static const uint32_t COOKIE = 0x52505331;
enum { MOST_INSTANCES = 100000, MOST_HYPOTHESES = 16 };
// Solutions are apart when they differ by so many radii; one that breaks the constraints more than so many times as much as
// the winner is none.
static const double APART = 10.0, WORSE = 10.0;

typedef struct solution {
    double *q, *v;
} solution;

struct cal_rps {
    const cal_model* model;
    cal_rps_def def;
    cal_machine *machine, *own_machine, *engine; // who runs instances; what an instance runs on
    cal_plan* plan;
    cal_instance_law law;
    cal_instance* instances; // those of other processes are empty
    double* residuals;       // of all instances, then whether they were near a singular position
    double* packed;          // a solution on its way between processes: q, v, squares, largest
    solution solutions[MOST_HYPOTHESES], next[MOST_HYPOTHESES];
    double* memory; // theirs
    int solution_count;
    double start;  // time at which `steps` began to count
    int64_t steps; // taken
    int present;   // steps of the interval that is being run
    double mean_residual, squares;
    double clock; // at which the next interval is due
    cal_rps_report report;
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

// The method that a list names for an instance; CAL_METHODS when a name is unknown.
static cal_method find_method(const char* list, int instance) {
    int count = 1;
    for (const char* p = list; *p; p++) count += *p == ',';
    const char* name = list;
    for (int skip = instance % count; skip > 0; skip--) name += strcspn(name, ",") + 1;
    const size_t length = strcspn(name, ",");
    int method = 0;
    while (method < CAL_METHODS && (strlen(cal_method_name((cal_method)method)) != length ||
                                    memcmp(cal_method_name((cal_method)method), name, length) != 0))
        method++;
    return (cal_method)method;
}

double cal_rps_limit(const char* stabilize, const char* method, double step) {
    cal_stabilization law;
    const cal_method found = method ? find_method(method, 0) : CAL_METHODS;
    if (!find_law(stabilize, &law) || found == CAL_METHODS || !(step > 0.0)) return 0.0;
    return cal_method_limit(found, step, law);
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
    if (def->hypotheses < 1 || def->hypotheses > MOST_HYPOTHESES)
        return cal_fail(error, CAL_BAD_ARGUMENT, "hypotheses must be 1 to %d, not %d", MOST_HYPOTHESES,
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
    int count = 1;
    for (const char* p = def->method; p && *p; p++) count += *p == ',';
    for (int i = 0; i < count; i++)
        if (!def->method || find_method(def->method, i) == CAL_METHODS)
            return cal_fail(error, CAL_BAD_ARGUMENT,
                            "method '%.60s' is not euler, symplectic, heun, ab2, rk4, or a list of those",
                            def->method ? def->method : "NULL");
    if (model->constraint_count == 0)
        return cal_fail(error, CAL_BAD_MODEL,
                        "the model has no constraints, so that no instance is better than another; use cal_sim");
    return CAL_OK;
}

static int processors(const cal_rps* rps) { return rps->machine->processors; }
static bool is_here(const cal_rps* rps, int instance) {
    return rps->machine->keep == CAL_KEEP_ALL || instance % processors(rps) == rps->machine->keep;
}

static cal_status fill(cal_rps* rps, cal_error* error) {
    const cal_model* model = rps->model;
    const cal_rps_def* def = &rps->def;
    const size_t motion = (size_t)model->q_count + (size_t)model->v_count;
    cal_status status = CAL_OK;
    if (!rps->machine) {
        status = cal_machine_serial(1, &rps->own_machine, error);
        rps->machine = rps->own_machine;
    }
    if (!status && rps->machine->ops->agree) status = rps->machine->ops->agree(rps->machine, model, error);
    if (!status) status = cal_machine_serial(1, &rps->engine, error);
    if (!status) status = cal_plan_create(model, "aba", rps->engine, &rps->plan, error);
    if (status) return status;
    rps->instances = cal_allocate((size_t)def->instances, sizeof *rps->instances);
    rps->residuals = cal_allocate(2 * (size_t)def->instances, sizeof(double));
    rps->packed = cal_allocate(motion + 2, sizeof(double));
    double* next = rps->memory = cal_allocate(2 * MOST_HYPOTHESES * motion, sizeof(double));
    if (!rps->instances || !rps->residuals || !rps->packed || !next)
        return cal_fail(error, CAL_NO_MEMORY, "no memory for %d instances", def->instances);
    for (int i = 0; i < 2 * MOST_HYPOTHESES; i++, next += motion)
        *(i < MOST_HYPOTHESES ? &rps->solutions[i] : &rps->next[i - MOST_HYPOTHESES]) =
            (solution){next, next + model->q_count};
    for (int i = 0; i < def->instances && !status; i++)
        if (is_here(rps, i)) status = cal_instance_create(rps->plan, find_method(def->method, i), &rps->instances[i]);
    if (status) return cal_fail(error, status, "no memory for %d instances", def->instances);
    cal_model_initial(model, rps->solutions[0].q, rps->solutions[0].v, NULL);
    return CAL_OK;
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
    rps->solution_count = 1;
    rps->mean_residual = -1.0;
    rps->clock = -1.0;
    rps->law = (cal_instance_law){.gain = def->gain,
                                  .forcing = def->forcing,
                                  .alpha = def->alpha,
                                  .beta = def->beta,
                                  .step = def->step,
                                  .singular = def->hypotheses > 1 ? def->singular : 0.0};
    (void)find_law(def->stabilize, &rps->law.law);
    rps->report = (cal_rps_report){.interval = def->interval, .hypotheses = 1, .most_hypotheses = 1};
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
    for (int i = 0; rps->instances && i < rps->def.instances; i++) cal_instance_destroy(&rps->instances[i]);
    cal_plan_destroy(rps->plan);
    cal_machine_destroy(rps->engine);
    cal_machine_destroy(rps->own_machine);
    cal_free(rps->instances), cal_free(rps->residuals), cal_free(rps->packed), cal_free(rps->memory);
    cal_free(rps);
}

// --- Running -----------------------------------------------------------------------------------------------------------

// Random numbers that belong to one instance in one interval.
static cal_random random_of(const cal_rps* rps, int instance) {
    cal_random random = {rps->def.seed};
    random.state = cal_random_bits(&random) + (uint64_t)rps->report.polls;
    random.state = cal_random_bits(&random) + (uint64_t)instance;
    (void)cal_random_bits(&random);
    return random;
}

static void run_instances(void* argument, int processor) {
    cal_rps* rps = argument;
    const cal_rps_def* def = &rps->def;
    for (int i = processor; i < def->instances; i += processors(rps)) {
        cal_instance* instance = &rps->instances[i];
        const solution* from = &rps->solutions[i % rps->solution_count];
        cal_random random = random_of(rps, i);
        cal_instance_place(instance, from->q, from->v, def->position_radius, def->velocity_radius, def->normal,
                           def->instances > 1 ? &random : NULL);
        cal_instance_run(instance, &rps->law, rps->present, &random);
        rps->residuals[i] = instance->residual;
        rps->residuals[def->instances + i] = instance->singular ? 1.0 : 0.0;
    }
}

static cal_status diastole(cal_rps* rps) {
    cal_machine* machine = rps->machine;
    for (int i = 0; i < 2 * rps->def.instances; i++) rps->residuals[i] = 0.0;
    if (machine->keep != CAL_KEEP_ALL)
        run_instances(rps, machine->keep);
    else if (machine->ops->together) {
        const cal_status status = machine->ops->together(machine, run_instances, rps);
        if (status) return status;
    } else
        for (int p = 0; p < machine->processors; p++) run_instances(rps, p);
    for (int i = 0; i < rps->def.instances; i++)
        if (rps->instances[i].status) return rps->instances[i].status;
    return CAL_OK;
}

// --- Polling -----------------------------------------------------------------------------------------------------------

// An instance's state in rps->packed, on every process.
static cal_status fetch(cal_rps* rps, int index) {
    const size_t q = (size_t)rps->model->q_count, v = (size_t)rps->model->v_count;
    memset(rps->packed, 0, (q + v + 2) * sizeof(double));
    if (is_here(rps, index)) {
        const cal_instance* instance = &rps->instances[index];
        memcpy(rps->packed, instance->q, q * sizeof(double));
        memcpy(rps->packed + q, instance->v, v * sizeof(double));
        rps->packed[q + v] = instance->squares;
        rps->packed[q + v + 1] = instance->largest;
    }
    return rps->machine->ops->sum ? rps->machine->ops->sum(rps->machine, rps->packed, (int)(q + v + 2)) : CAL_OK;
}

// The best of the instances that came from a solution; -1 when all are infinite.
static int elect(const cal_rps* rps, int from) {
    int best = -1;
    for (int i = from; i < rps->def.instances; i += rps->solution_count)
        if (isfinite(rps->residuals[i]) && (best < 0 || rps->residuals[i] < rps->residuals[best])) best = i;
    return best;
}

// How far a position is from the solutions that are kept already.
static double distance(const cal_rps* rps, const double* q, int count) {
    double nearest = (double)INFINITY;
    for (int i = 0; i < count; i++) {
        double largest = 0.0;
        for (int k = 0; k < rps->model->q_count; k++) largest = fmax(largest, fabs(q[k] - rps->next[i].q[k]));
        nearest = fmin(nearest, largest);
    }
    return nearest;
}

// Keeps what rps->packed holds as a solution, where there is room.
static void keep(cal_rps* rps, int* count) {
    const size_t motion = (size_t)rps->model->q_count + (size_t)rps->model->v_count;
    if (*count < rps->def.hypotheses) memcpy(rps->next[(*count)++].q, rps->packed, motion * sizeof(double));
}

static bool near_singular(const cal_rps* rps, int from) {
    for (int i = from; i < rps->def.instances; i += rps->solution_count)
        if (rps->residuals[rps->def.instances + i] != 0.0) return true;
    return false;
}

// Next to a singular position: the instances of one solution that are farthest from all that is kept, as long as there is room
// and they keep the constraints about as well as the winner. Where they lead will show when they are past it.
static cal_status branch(cal_rps* rps, int from, int winner, int* count) {
    while (*count < rps->def.hypotheses) {
        int farthest = -1;
        double reach = 0.5 * rps->def.position_radius;
        for (int i = from; i < rps->def.instances; i += rps->solution_count) {
            if (!(rps->residuals[i] <= WORSE * rps->residuals[winner])) continue;
            const cal_status status = fetch(rps, i);
            if (status) return status;
            const double apart = distance(rps, rps->packed, *count);
            if (apart > reach) reach = apart, farthest = i;
        }
        if (farthest < 0) return CAL_OK;
        const cal_status status = fetch(rps, farthest);
        if (status) return status;
        keep(rps, count);
    }
    return CAL_OK;
}

static cal_status poll(cal_rps* rps) {
    const size_t motion = (size_t)rps->model->q_count + (size_t)rps->model->v_count;
    cal_status status = CAL_OK;
    if (rps->machine->ops->sum) status = rps->machine->ops->sum(rps->machine, rps->residuals, 2 * rps->def.instances);
    // Solutions in the order of how well their winners keep the constraints, so that the first is the best.
    bool used[MOST_HYPOTHESES] = {false}, singular[MOST_HYPOTHESES] = {false};
    int count = 0;
    for (int rank = 0; rank < rps->solution_count && !status; rank++) {
        int from = -1, winner = -1;
        for (int s = 0; s < rps->solution_count; s++) {
            const int candidate = used[s] ? -1 : elect(rps, s);
            if (candidate >= 0 && (winner < 0 || rps->residuals[candidate] < rps->residuals[winner]))
                from = s, winner = candidate;
        }
        if (winner < 0) break;
        used[from] = true;
        status = fetch(rps, winner);
        if (status) return status;
        if (rank == 0) {
            rps->squares += rps->packed[motion];
            rps->report.error_max = fmax(rps->report.error_max, rps->packed[motion + 1]);
            rps->report.elected = winner;
            rps->report.residual = rps->residuals[winner];
        }
        singular[from] = near_singular(rps, from);
        if (singular[from] || distance(rps, rps->packed, count) > APART * rps->def.position_radius) keep(rps, &count);
    }
    // Those that were tracked already go first; what is left of the room is for their branches.
    for (int s = 0; s < rps->solution_count && !status; s++)
        if (singular[s] && rps->def.hypotheses > 1) status = branch(rps, s, elect(rps, s), &count);
    if (status) return status;
    if (count == 0) return CAL_NOT_FINITE;
    for (int i = 0; i < count; i++) {
        const solution swap = rps->solutions[i];
        rps->solutions[i] = rps->next[i];
        rps->next[i] = swap;
    }
    rps->solution_count = rps->report.hypotheses = count;
    if (count > rps->report.most_hypotheses) rps->report.most_hypotheses = count;
    return CAL_OK;
}

// Step 4: a residual above twice its running mean wants polls more often, one below half of it less often.
static void adapt(cal_rps* rps) {
    const double residual = rps->report.residual;
    if (rps->mean_residual < 0.0) rps->mean_residual = residual;
    if (rps->def.adaptive && residual > 2.0 * rps->mean_residual && rps->report.interval > 1)
        rps->report.interval /= 2;
    else if (rps->def.adaptive && residual < 0.5 * rps->mean_residual && rps->report.interval < 8 * rps->def.interval)
        rps->report.interval *= 2;
    rps->mean_residual += 0.1 * (residual - rps->mean_residual);
}

// --- Time --------------------------------------------------------------------------------------------------------------

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Waits for the moment at which the interval's result is due, or notes by how much that has passed.
static void keep_pace(cal_rps* rps, double began) {
    if (!(rps->def.deadline > 0.0)) return;
    if (rps->clock < 0.0) rps->clock = began;
    rps->clock += rps->def.deadline * rps->def.step * (double)rps->present;
    const double late = seconds() - rps->clock;
    if (late > 0.0) {
        rps->report.overruns++;
        rps->report.worst = fmax(rps->report.worst, late);
        rps->clock += late; // what is lost is lost: the next interval has its full time
        return;
    }
    const struct timespec rest = {.tv_sec = (time_t)-late, .tv_nsec = (long)(1e9 * (-late - floor(-late)))};
    nanosleep(&rest, NULL);
}

cal_status cal_rps_advance(cal_rps* rps, double time, cal_error* error) {
    if (!rps) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_rps_advance: rps must not be NULL");
    if (!isfinite(time) || !(time / rps->def.step < 9e15))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot advance to t = %g s with steps of %g s", time, rps->def.step);
    const int64_t wanted = (int64_t)floor(time / rps->def.step + 0.5);
    while (rps->steps < wanted) {
        const int64_t left = wanted - rps->steps;
        rps->present = left < rps->report.interval ? (int)left : rps->report.interval;
        const double began = seconds();
        cal_status status = diastole(rps);
        const double ran = seconds();
        if (!status) status = poll(rps);
        rps->report.poll_wall += seconds() - ran;
        rps->report.wall += seconds() - began;
        const double at = (double)rps->steps * rps->def.step;
        if (status == CAL_NOT_FINITE)
            return cal_fail(error, status,
                            "all %d instances became infinite after t = %g s: use a smaller step or gain",
                            rps->def.instances, at);
        if (status) return cal_fail(error, status, "the interval after t = %g s: %s", at, cal_status_text(status));
        rps->report.polls++;
        rps->steps += rps->present;
        adapt(rps);
        keep_pace(rps, began);
    }
    return CAL_OK;
}

// --- Looking at it -----------------------------------------------------------------------------------------------------

const double* cal_rps_q(const cal_rps* rps, int hypothesis) {
    return hypothesis >= 0 && hypothesis < rps->solution_count ? rps->solutions[hypothesis].q : NULL;
}
const double* cal_rps_v(const cal_rps* rps, int hypothesis) {
    return hypothesis >= 0 && hypothesis < rps->solution_count ? rps->solutions[hypothesis].v : NULL;
}

uint64_t cal_rps_hash(const cal_rps* rps) {
    const double time = (double)rps->steps * rps->def.step;
    uint64_t hash = cal_hash_doubles(CAL_HASH_START, &time, 1);
    for (int i = 0; i < rps->solution_count; i++) {
        hash = cal_hash_doubles(hash, rps->solutions[i].q, (size_t)rps->model->q_count);
        hash = cal_hash_doubles(hash, rps->solutions[i].v, (size_t)rps->model->v_count);
    }
    return hash;
}

void cal_rps_get_report(const cal_rps* rps, cal_rps_report* out) {
    *out = rps->report;
    out->steps = rps->steps;
    out->time = (double)rps->steps * rps->def.step;
    out->error_rms = rps->steps > 0 ? sqrt(rps->squares / (double)rps->steps) : 0.0;
}
