// What joints and exchanges between processors cost on a machine, measured by simulating on it.
//
// All costs are times of whole evaluations with Gear's method riding along, as a simulation has them:
//
//   compute   the model on processor 0 alone, divided by its joints
//   message   a comb of one tooth, root on processor 0 and tooth on processor 1, against the same comb on one processor:
//             plan/price.c says that this is exactly one message's time longer
//   send      a comb of several teeth, spine on processor 0 and teeth on all others: the time for which a message keeps its
//             sender is what makes the price (plan/price.c) of it the time that was measured
//   read      a comb whose spine all processors compute, and the teeth in turn: what is read of the others' teeth keeps each for as
//             long as makes the price (plan/price_trunk.c) of it the time that was measured
//
//        spine    o───o───o─ …        processor 0
//                 │   │   │
//        teeth    o   o   o           processor 1; where there are more, every joint of the spine has a tooth on each
//
// Many short samples, and of them the quiet quarter: what else runs on the cores only ever makes one longer. How much is
// simulated depends on numbers of evaluations, never on clocks, so that all ranks of a machine do the same.
#define _POSIX_C_SOURCE 200809L
#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UPS = 2, LEAST_SAMPLES = 9, MOST_SAMPLES = 61, SPINE = 8, MOST_TEETH = 15, BISECTIONS = 30 };
enum { MOST_JOINTS = SPINE * (1 + MOST_TEETH) };
enum { LEAST_EVALUATIONS = 2, MOST_EVALUATIONS = 20 };          // of a sample
static const double JOINTS_A_SAMPLE = 5e3, JOINTS_IN_ALL = 1e6; // joints × evaluations
static const double LARGEST_STEP = 0.02, NEVER = 1e9;           // s: a model at rest must be evaluated too
// s: where others keep the cores busy, the least samples must do; and where threads get one so seldom that these take too long, fewer.
static const double LONG_ENOUGH = 1.0, TOO_LONG = 2.0;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static int clamp(double value, int least, int most) { return value < least ? least : value > most ? most : (int)value; }

// Simulates on until the limit of evaluations ends it; gives the time of one. No state is interpolated or gathered.
static cal_status sample(cal_sim* sim, int64_t evaluations, double* seconds, cal_error* error) {
    cal_sim_report before, after;
    cal_sim_get_report(sim, &before);
    const double started = now();
    const cal_status status = cal_sim_advance(sim, NEVER, error);
    *seconds = (now() - started) / (double)evaluations;
    cal_sim_get_report(sim, &after);
    return status == CAL_NOT_CONVERGED && after.evaluations - before.evaluations == evaluations ? CAL_OK : status;
}

static cal_status time_evaluation(cal_machine* machine, const cal_model* model, const int32_t* processor_of_joint,
                                  double* seconds, cal_error* error) {
    double samples[MOST_SAMPLES];
    const double joints = model->joint_count + 1.0;
    const int evaluations = clamp(JOINTS_A_SAMPLE / joints, LEAST_EVALUATIONS, MOST_EVALUATIONS);
    const int count = clamp(JOINTS_IN_ALL / (joints * evaluations), LEAST_SAMPLES, MOST_SAMPLES);
    cal_sim_def def = cal_default_sim_def();
    def.machine = machine;
    def.processor_of_joint = processor_of_joint;
    def.largest_step = LARGEST_STEP;
    def.evaluation_limit = evaluations;
    cal_sim* sim = NULL;
    cal_status status = cal_sim_create(model, &def, &sim, error);
    const double started = now();
    const bool together = machine->ops->share != NULL; // ranks take as many samples as each other
    int taken = -WARM_UPS;
    for (double spent = 0.0;
         status == CAL_OK && taken < count && (together || spent < (taken < LEAST_SAMPLES ? TOO_LONG : LONG_ENOUGH));
         spent = now() - started) {
        status = sample(sim, evaluations, &samples[taken < 0 ? 0 : taken], error);
        taken++;
    }
    if (taken < 1) taken = 1; // one that was to warm up must do
    cal_sim_destroy(sim);
    if (status != CAL_OK) return status;
    qsort(samples, (size_t)taken, sizeof *samples, compare);
    *seconds = samples[taken / 4];
    return machine->ops->share ? machine->ops->share(machine, seconds, 1) : CAL_OK;
}

// A spine's joint is followed by its teeth.
static cal_status build_comb(int spine, int teeth, cal_model** out, cal_error* error) {
    cal_builder* builder = NULL;
    cal_status status = cal_builder_create(&builder);
    if (status != CAL_OK) return cal_fail(error, status, "no memory for a model to measure with");
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    body.mass = 1.0;
    body.center[1] = -0.1;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.01;
    joint.initial_q[0] = 0.2;
    const int period = 1 + teeth;
    for (int i = 0; i < spine * period; i++) {
        body.parent = i % period > 0 ? i - i % period : i > 0 ? i - period : CAL_GROUND;
        body.position[1] = i > 0 ? -0.2 : 0.0;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    }
    cal_builder_set_gravity(builder, (const double[3]){0.0, -9.81, 0.0});
    status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}

// A comb's time alone and on two processors, and the costs of its joints.
static cal_status time_comb(cal_machine* machine, const cal_model* comb, const int32_t* processor_of_joint,
                            double* compute, double* seconds, cal_error* error) {
    const int32_t alone[MOST_JOINTS] = {0};
    cal_status status = time_evaluation(machine, comb, alone, compute, error);
    *compute /= comb->joint_count;
    return status == CAL_OK ? time_evaluation(machine, comb, processor_of_joint, seconds, error) : status;
}

// Which of the costs, from 0 to `most`, makes a placement's price the time that was measured.
static cal_status find_cost(const cal_model* comb, const int32_t* processor_of_joint, int processors, double seconds,
                            double most, cal_costs* costs, double* cost, cal_error* error) {
    double low = 0.0, high = most, price = 0.0;
    cal_status status = CAL_OK;
    for (int i = 0; i < BISECTIONS && status == CAL_OK; i++) {
        *cost = 0.5 * (low + high);
        status = cal_price(comb, processor_of_joint, costs, processors, &price, NULL, error);
        if (price < seconds)
            low = *cost;
        else
            high = *cost;
    }
    *cost = low;
    return status;
}

// A reader is kept for longer than nothing: what the clock cannot tell is the least that it can.
static const double LEAST_READ = 1e-9;

static cal_status measure_reading(cal_machine* machine, const cal_model* comb, int teeth, cal_costs* out,
                                  cal_error* error) {
    int32_t processor_of_joint[MOST_JOINTS];
    const int period = 1 + teeth;
    for (int i = 0, tooth = 0; i < SPINE * period; i++)
        processor_of_joint[i] = i % period == 0 ? CAL_EVERY_PROCESSOR : tooth++ % (teeth + 1);
    cal_costs trial = *out;
    double seconds = 0.0;
    cal_status status = time_comb(machine, comb, processor_of_joint, &trial.compute, &seconds, error);
    trial.to_all = out->to_all = machine->keep != CAL_KEEP_ALL;
    // One that reads nothing but a tooth of the other is kept for no longer than the time that the comb took.
    if (status == CAL_OK)
        status = find_cost(comb, processor_of_joint, teeth + 1, seconds, seconds, &trial, &trial.read, error);
    out->read = trial.read > LEAST_READ ? trial.read : LEAST_READ;
    return status;
}

static cal_status measure_steadily(cal_machine* machine, cal_costs* out, cal_error* error) {
    int32_t processor_of_joint[MOST_JOINTS];
    const int teeth = machine->processors - 1 < MOST_TEETH ? machine->processors - 1 : MOST_TEETH;
    for (int i = 0; i < SPINE * (1 + teeth); i++) processor_of_joint[i] = i % (1 + teeth);
    cal_model *pair = NULL, *comb = NULL;
    double compute = 0.0, seconds = 0.0;
    cal_status status = build_comb(1, 1, &pair, error);
    if (status == CAL_OK) status = build_comb(SPINE, teeth, &comb, error);
    if (status == CAL_OK) status = time_comb(machine, pair, processor_of_joint, &compute, &seconds, error);
    if (status == CAL_OK) {
        const double message = seconds - 2.0 * compute;
        out->message = message > 0.0 ? message : 0.0;
        status = time_comb(machine, comb, processor_of_joint, &compute, &seconds, error);
    }
    cal_costs trial = {.compute = compute, .message = out->message};
    if (status == CAL_OK)
        status = find_cost(comb, processor_of_joint, teeth + 1, seconds, out->message, &trial, &trial.send, error);
    out->send = trial.send;
    if (status == CAL_OK) status = measure_reading(machine, comb, teeth, out, error);
    cal_model_destroy(pair);
    cal_model_destroy(comb);
    return status;
}

// Who runs all parts alone exchanges nothing.
static cal_status measure_exchanges(cal_machine* machine, cal_costs* out, cal_error* error) {
    const bool steady = machine->steady;
    machine->steady = true;
    const cal_status status = measure_steadily(machine, out, error);
    machine->steady = steady;
    return status;
}

// One core has nobody to exchange anything with: what it would take is that of a second thread.
static cal_status measure_threads(int lanes, cal_costs* out, cal_error* error) {
    cal_threads_def def = cal_default_threads_def();
    def.workers = 2;
    def.lanes = lanes;
    cal_machine* machine = NULL;
    cal_status status = cal_machine_threads(&def, &machine, error);
    if (status == CAL_OK) status = measure_exchanges(machine, out, error);
    cal_machine_destroy(machine);
    return status;
}

cal_status cal_machine_measure(cal_machine* machine, const cal_model* model, cal_costs* out, cal_error* error) {
    if (!machine || !model || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_machine_measure: machine, model and out must not be NULL");
    *out = (cal_costs){0};
    if (strcmp(machine->ops->name, "modelled") == 0) {
        *out = machine->costs;
        return CAL_OK;
    }
    if (machine->processors == 1 && machine->keep != CAL_KEEP_ALL)
        return cal_fail(error, CAL_NOT_AVAILABLE, "one rank has nobody to exchange messages with: start at least two");
    int32_t* alone = cal_allocate((size_t)model->joint_count, sizeof *alone);
    if (!alone) return cal_fail(error, CAL_NO_MEMORY, "no memory for measuring %d joints", model->joint_count);
    double seconds = 0.0;
    cal_status status = model->joint_count > 0 ? time_evaluation(machine, model, alone, &seconds, error) : CAL_OK;
    cal_free(alone);
    if (status != CAL_OK) return status;
    out->compute = model->joint_count > 0 ? seconds / model->joint_count : 0.0;
    return machine->processors > 1 ? measure_exchanges(machine, out, error)
                                   : measure_threads(machine->lanes, out, error);
}
