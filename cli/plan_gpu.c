// `calder plan MODEL --machine cuda`: what an evaluation would take on a GPU, which need not be here.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "options.h"
#include "plan_gpu.h"
#include "quantities.h"

typedef struct quantity {
    const char* name;
    double* value;
    const char* units[2]; // of what is no time: 10¹² and 10⁹
} quantity;

static bool read_rate(const quantity* q, const char* text, double* out) {
    char* end;
    const double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number <= 0) return false;
    if (strcmp(end, q->units[0]) == 0) *out = number * 1e12;
    if (strcmp(end, q->units[1]) == 0) *out = number * 1e9;
    return strcmp(end, q->units[0]) == 0 || strcmp(end, q->units[1]) == 0;
}

// One of `name=value`.
static bool read_one(char* text, cal_gpu_def* gpu) {
    char* value = strchr(text, '=');
    if (!value) return false;
    *value++ = 0;
    const quantity quantities[] = {{"bandwidth", &gpu->bandwidth, {"TB/s", "GB/s"}},
                                   {"peak", &gpu->peak, {"TF", "GF"}},
                                   {"launch", &gpu->launch, {NULL, NULL}},
                                   {"trip", &gpu->trip, {NULL, NULL}},
                                   {"joint", &gpu->joint, {NULL, NULL}},
                                   {"child", &gpu->child, {NULL, NULL}}};
    for (size_t i = 0; i < CAL_ARRAY_COUNT(quantities); i++) {
        const quantity* q = &quantities[i];
        if (strcmp(text, q->name) != 0) continue;
        return q->units[0] ? read_rate(q, value, q->value) : cal_duration_parse(value, q->value);
    }
    return false;
}

static int read_gpu(const char* text, cal_gpu_def* gpu) {
    char copy[256], *rest = copy;
    *gpu = cal_default_gpu_def();
    if (!text) return CAL_EXIT_DONE;
    bool good = strlen(text) < sizeof copy && strspn(text, ",") < strlen(text);
    if (good) memcpy(copy, text, strlen(text) + 1);
    for (char* part = good ? strtok_r(copy, ",", &rest) : NULL; good && part; part = strtok_r(NULL, ",", &rest))
        good = read_one(part, gpu);
    if (good) return CAL_EXIT_DONE;
    return cal_complain(CAL_EXIT_MISTAKE,
                        "--gpu '%s' is not understood; allowed, with commas between: bandwidth=3.9TB/s, peak=33TF, "
                        "launch=5.2us, trip=11us, joint=2.8us, child=0.23us",
                        text);
}

// Prices are within a quarter of what was measured (tests/test_modelled.c): a smaller gain may be none.
static const double SURE_GAIN = 1.25;

double cal_assembly_gain(const cal_model* model, const cal_gpu_def* gpu, const cal_gpu_price* aba,
                         cal_gpu_price* assembly) {
    // Models that assembly is not for, because of their constraints or of bodies without inertia, have nothing to compare with.
    cal_error unused = {CAL_OK, ""};
    if (cal_price_gpu_assembly(model, NULL, gpu, assembly, &unused) || assembly->heights == 0) return 0.0;
    const double gain = aba->seconds / assembly->seconds;
    return gain > SURE_GAIN ? gain : 0.0;
}

const char* cal_algorithm_of(const cal_model* model) {
    const cal_gpu_def gpu = cal_default_gpu_def();
    cal_gpu_price aba, assembly;
    cal_error unused = {CAL_OK, ""};
    const cal_status status = cal_price_gpu(model, 1, &gpu, &aba, &unused);
    return !status && cal_assembly_gain(model, &gpu, &aba, &assembly) > 0.0 ? "assembly" : "aba";
}

// What was found: of the algorithm that was asked for, or of aba, and then of assembly where that is faster.
typedef struct found {
    bool assembles;
    cal_gpu_price price, other;
    double gain; // of assembly; 0: it brings nothing
} found;

static void print_text(const cal_gpu_question* q, const cal_gpu_def* gpu, const found* f) {
    char text[6][32];
    const cal_gpu_price* price = &f->price;
    const int joints = cal_model_joint_count(q->model), instances = q->instances;
    printf("%-13s %s: %d joint%s, %d on the longest path", "model", q->name, joints, joints == 1 ? "" : "s",
           cal_model_depth(q->model));
    printf(instances > 1 ? ", %d instances side by side\n" : "\n", instances);
    printf("%-13s %.3g TB/s, %.3g TF, %s per launch, %s per joint in turn\n", "GPU", gpu->bandwidth * 1e-12,
           gpu->peak * 1e-12, cal_duration_text(gpu->launch, text[0], sizeof text[0]),
           cal_duration_text(gpu->joint, text[1], sizeof text[1]));
    printf(f->assembles ? "%-13s assembly: %d part%s, %d joins on the longest path\n\n" : "%-13s aba\n\n", "algorithm",
           price->parts, price->parts == 1 ? "" : "s", price->heights);
    printf("%-13s %s: %s for %.3g MB, %s for operations beyond, %s for joints and %s one after the other, %s for "
           "%d launch%s\n",
           "evaluation", cal_duration_text(price->seconds, text[0], sizeof text[0]),
           cal_duration_text(price->moving, text[1], sizeof text[1]), price->bytes * 1e-6,
           cal_duration_text(price->computing, text[2], sizeof text[2]),
           cal_duration_text(price->waiting, text[3], sizeof text[3]), f->assembles ? "joins" : "children",
           cal_duration_text(price->launching, text[4], sizeof text[4]), price->launches,
           price->launches == 1 ? "" : "es");
    printf("%-13s %.3g ns per joint, %.3g million evaluations per second\n", "",
           1e9 * price->seconds / ((double)joints * instances), 1e-6 * instances / price->seconds);
    printf("%-13s %.3g %% of 32 have a joint, %d level%s\n", "lanes", 100 * price->filled, price->levels,
           price->levels == 1 ? "" : "s");
    if (instances == 1)
        printf("%-13s %s, with control on the host\n", "a round",
               cal_duration_text(price->seconds + gpu->trip, text[5], sizeof text[5]));
    if (f->gain > 0)
        printf("%-13s --algorithm assembly takes %s there, %.3g times less; its last digits are others\n", "faster",
               cal_duration_text(f->other.seconds, text[0], sizeof text[0]), f->gain);
}

static void print_json(const cal_gpu_question* q, const cal_gpu_def* gpu, const found* f) {
    const cal_gpu_price* price = &f->price;
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "model", q->name);
    cal_json_integer(&json, "joints", cal_model_joint_count(q->model));
    cal_json_integer(&json, "instances", q->instances);
    cal_json_text(&json, "algorithm", f->assembles ? "assembly" : "aba");
    cal_json_number(&json, "evaluation_s", price->seconds);
    cal_json_number(&json, "round_s", price->seconds + gpu->trip);
    cal_json_number(&json, "moving_s", price->moving);
    cal_json_number(&json, "computing_s", price->computing);
    cal_json_number(&json, "waiting_s", price->waiting);
    cal_json_number(&json, "launching_s", price->launching);
    cal_json_number(&json, "bytes", price->bytes);
    cal_json_number(&json, "operations", price->operations);
    cal_json_integer(&json, "levels", price->levels);
    cal_json_integer(&json, "launches", price->launches);
    cal_json_number(&json, "lanes_filled", price->filled);
    if (f->assembles) {
        cal_json_integer(&json, "parts", price->parts);
        cal_json_integer(&json, "heights", price->heights);
    }
    if (f->gain > 0) cal_json_number(&json, "assembly_s", f->other.seconds);
    cal_json_close(&json, '}');
}

static cal_status find_prices(const cal_gpu_question* q, const cal_gpu_def* gpu, found* out, cal_error* error) {
    *out = (found){.assembles = q->algorithm && strcmp(q->algorithm, "assembly") == 0};
    if (out->assembles) return cal_price_gpu_assembly(q->model, q->schedule, gpu, &out->price, error);
    const cal_status status = cal_price_gpu(q->model, q->instances, gpu, &out->price, error);
    if (status || q->algorithm || q->instances > 1) return status;
    out->gain = cal_assembly_gain(q->model, gpu, &out->price, &out->other);
    return CAL_OK;
}

int cal_plan_gpu(const cal_gpu_question* q) {
    cal_gpu_def gpu;
    found f;
    cal_error error = {CAL_OK, ""};
    const int status = read_gpu(q->gpu, &gpu);
    if (status != CAL_EXIT_DONE) return status;
    if (cal_model_joint_count(q->model) == 0)
        return cal_complain(CAL_EXIT_MISTAKE, "'%s' has no joints, so nothing to evaluate", q->name);
    if (find_prices(q, &gpu, &f, &error)) return cal_complain_error(&error);
    if (q->json)
        print_json(q, &gpu, &f);
    else
        print_text(q, &gpu, &f);
    return cal_finish_output(CAL_EXIT_DONE);
}
