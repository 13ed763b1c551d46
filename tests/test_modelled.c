// Distributions and prices of joints, the machine that one does not have, and what measuring one that one has gives.
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cal_costs manna = {.compute = 0.4e-3, .message = 1.5e-3}; // Jung's CMPTM and ROITM

static cal_machine* modelled(const cal_costs* costs, int processors) {
    cal_machine* machine;
    cal_error error;
    if (cal_machine_modelled(costs, processors, &machine, &error)) fail_msg("%s", error.text);
    return machine;
}

static void expect_near(double value, double expected, const char* what) {
    cal_test_expect_below(fabs(value - expected), 1e-9 * fabs(expected), what, "");
}

static double price(const cal_model* model, const int32_t* placement, const cal_costs* costs, int processors) {
    double seconds;
    cal_error error;
    if (cal_price(model, placement, costs, processors, &seconds, NULL, &error)) fail_msg("%s", error.text);
    return seconds;
}

// Joints of a random tree come in another order than the tree's.
static void test_joints_keep_their_processors(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("random:n=300,seed=5");
    int32_t* placement = calloc((size_t)cal_model_joint_count(model), sizeof *placement);
    const cal_costs costs = {.compute = 1e-6, .message = 2e-6, .send = 0.5e-6};
    for (int processors = 1; processors <= 8; processors *= 2) {
        int used;
        double seconds;
        cal_error error;
        assert_int_equal(cal_distribute(model, CAL_BALANCED, processors, &costs, placement, &used, &seconds, &error),
                         CAL_OK);
        assert_in_range(used, 1, processors);
        expect_near(price(model, placement, &costs, processors), seconds, "price of the distribution");
    }
    free(placement);
    cal_model_destroy(model);
}

// Dearer messages never make a shorter plan: what is decided in ties is decided by its price.
static void test_cheaper_messages_cost_no_time(void** unused) {
    (void)unused;
    static const char* const models[] = {"mobile:s=3,l=3,o=3", "stickman", "humanoid"};
    for (int m = 0; m < 3; m++) {
        cal_model* model = cal_test_model(models[m]);
        int32_t* placement = calloc((size_t)cal_model_joint_count(model), sizeof *placement);
        for (int kind = 0; kind < 2; kind++)
            for (int processors = 1; processors <= 5; processors++) {
                double seconds[2];
                for (int dear = 0; dear < 2; dear++) {
                    const cal_costs costs = {.compute = 1e-3, .message = dear ? 1e-3 : 0.0};
                    assert_int_equal(cal_distribute(model, kind ? CAL_JUNG : CAL_BALANCED, processors, &costs,
                                                    placement, NULL, NULL, NULL),
                                     CAL_OK);
                    seconds[dear] = price(model, placement, &costs, processors);
                }
                if (!(seconds[0] <= seconds[1] * (1.0 + 1e-9)))
                    fail_msg("%s on %d: %g s with free messages, %g s else", models[m], processors, seconds[0],
                             seconds[1]);
            }
        free(placement);
        cal_model_destroy(model);
    }
}

static void test_jung_is_to_be_had(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=3,l=5,o=9");
    int32_t* placement = calloc((size_t)cal_model_joint_count(model), sizeof *placement);
    int used;
    double seconds;
    assert_int_equal(cal_distribute(model, CAL_JUNG, 20, &manna, placement, &used, &seconds, NULL), CAL_OK);
    expect_near(seconds, 21.5e-3, "Jung's time on 20 processors");
    assert_int_equal(cal_distribute(model, CAL_JUNG, 128, &manna, placement, &used, NULL, NULL), CAL_OK);
    assert_int_equal(used, 81);
    free(placement);
    cal_model_destroy(model);
}

static void test_virtual_time_is_the_price_of_the_plan(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=3,l=5,o=9");
    const int joints = cal_model_joint_count(model);
    int32_t* placement = calloc((size_t)joints, sizeof *placement);
    cal_machine* machine = modelled(&manna, 9);
    cal_plan* plan;
    cal_state* state;
    for (int j = 0; j < joints; j++) placement[j] = j * 9 / joints;
    assert_int_equal(cal_plan_create_placed(model, "aba", machine, placement, &plan, NULL), CAL_OK);
    assert_int_equal(cal_plan_processors(plan), 9);
    assert_int_equal(cal_state_create(plan, &state), CAL_OK);
    assert_true(cal_machine_virtual_time(machine) == 0.0);
    for (int i = 0; i < 4; i++) assert_int_equal(cal_plan_execute(plan, state, NULL), CAL_OK);
    expect_near(cal_machine_virtual_time(machine), 4.0 * price(model, placement, &manna, 9), "four evaluations");
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    free(placement);
    cal_model_destroy(model);
}

static void test_it_distributes_for_itself(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=4,l=5,o=9");
    int32_t* placement = calloc((size_t)cal_model_joint_count(model), sizeof *placement);
    cal_machine* machine = modelled(&manna, 1000);
    cal_plan* plan;
    cal_state* state;
    double seconds;
    int used;
    assert_int_equal(cal_plan_create(model, "aba", machine, &plan, NULL), CAL_OK);
    assert_int_equal(cal_state_create(plan, &state), CAL_OK);
    assert_int_equal(cal_plan_execute(plan, state, NULL), CAL_OK);
    assert_int_equal(cal_distribute(model, CAL_BALANCED, 1000, &manna, placement, &used, &seconds, NULL), CAL_OK);
    assert_int_equal(cal_plan_processors(plan), used);
    expect_near(cal_machine_virtual_time(machine), seconds, "its own choice");
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    free(placement);
    cal_model_destroy(model);
}

static void test_it_touches_no_state(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("figure");
    const size_t count = (size_t)cal_model_v_count(model);
    cal_machine* machine = modelled(&manna, 4);
    double* qdd = cal_test_numbers(count);
    double* before = cal_test_numbers(count);
    for (size_t i = 0; i < count; i++) before[i] = (double)i + 0.5;
    for (int i = 0; cal_algorithm_name(i); i++) {
        cal_plan* plan;
        cal_state* state;
        if (cal_plan_create(model, cal_algorithm_name(i), machine, &plan, NULL) != CAL_OK)
            continue; // not for this model
        assert_int_equal(cal_state_create(plan, &state), CAL_OK);
        const bool has_qdd = cal_state_size(state, CAL_QDD) > 0;
        if (has_qdd) assert_int_equal(cal_state_set(state, CAL_QDD, before), CAL_OK);
        const uint64_t hash = cal_state_hash(state);
        const double clock = cal_machine_virtual_time(machine);
        assert_int_equal(cal_plan_execute(plan, state, NULL), CAL_OK);
        assert_true(cal_machine_virtual_time(machine) > clock);
        assert_true(cal_state_hash(state) == hash);
        if (has_qdd) {
            assert_int_equal(cal_state_get(state, CAL_QDD, qdd), CAL_OK);
            assert_memory_equal(qdd, before, count * sizeof *qdd);
        }
        cal_state_destroy(state);
        cal_plan_destroy(plan);
    }
    free(qdd);
    free(before);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

// It computes nothing, so it must not let a solver believe that it did.
static void test_it_refuses_to_simulate(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=3");
    cal_machine* machine = modelled(&manna, 2);
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim;
    cal_error error;
    def.machine = machine;
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, 1.0, &error), CAL_NOT_AVAILABLE);
    assert_true(cal_sim_time(sim) == 0.0);
    cal_sim_destroy(sim);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

static void expect_costs(cal_machine* machine, const cal_model* model) {
    cal_costs costs;
    cal_error error;
    if (cal_machine_measure(machine, model, &costs, &error)) fail_msg("%s", error.text);
    assert_true(costs.compute > 0.0 && costs.compute < 1.0);
    assert_true(costs.message >= 0.0 && costs.message < 10.0);
    assert_true(costs.send >= 0.0 && costs.send <= costs.message);
    assert_true(cal_machine_virtual_time(machine) == 0.0);
}

static void test_every_machine_can_be_measured(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=2,l=3,o=4");
    cal_machine *serial, *threads, *imagined = modelled(&manna, 7);
    cal_threads_def def = cal_default_threads_def();
    def.workers = 2;
    assert_int_equal(cal_machine_serial(1, &serial, NULL), CAL_OK);
    assert_int_equal(cal_machine_threads(&def, &threads, NULL), CAL_OK);
    expect_costs(serial, model);
    expect_costs(threads, model);
    cal_costs costs;
    assert_int_equal(cal_machine_measure(imagined, model, &costs, NULL), CAL_OK);
    assert_memory_equal(&costs, &manna, sizeof costs);
    cal_machine_destroy(serial);
    cal_machine_destroy(threads);
    cal_machine_destroy(imagined);
    cal_model_destroy(model);
}

static void expect_refusal(cal_status status, const cal_error* error, const char* word) {
    assert_int_equal(status, CAL_BAD_ARGUMENT);
    if (!strstr(error->text, word)) fail_msg("'%s' is missing in: %s", word, error->text);
}

static void test_bad_arguments_are_explained(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=3");
    int32_t placement[3] = {0, 1, 5};
    double seconds;
    cal_machine* machine;
    cal_error error;
    const cal_costs negative = {.compute = -1.0};
    expect_refusal(cal_distribute(model, (cal_distribution)7, 2, &manna, placement, NULL, NULL, &error), &error, "7");
    expect_refusal(cal_distribute(model, CAL_JUNG, 0, &manna, placement, NULL, NULL, &error), &error, "0 processors");
    expect_refusal(cal_price(model, placement, &manna, 2, &seconds, NULL, &error), &error, "processor 5");
    expect_refusal(cal_machine_modelled(&negative, 2, &machine, &error), &error, "per joint");
    expect_refusal(cal_machine_modelled(&manna, 0, &machine, &error), &error, "0 processors");
    assert_null(machine);
    cal_model_destroy(model);
}

// A GPU is priced from what it is like, and so that what was measured on one (bench/results/cuda-nvidia-h200.jsonl) is within a quarter.
// None of these runs is among those that the GPU's own numbers come from.
static void test_gpus_are_priced(void** unused) {
    (void)unused;
    static const struct {
        const char* model;
        int instances;
        double measured; // s
    } runs[] = {{"humanoid", 8192, 111.0e-6},     {"humanoid", 65536, 268.9e-6},
                {"humanoid", 262144, 1009.3e-6},  {"mobile:s=6,l=15,o=9,plateau=light,taper=0.1", 1, 257.9e-6},
                {"chain:n=200", 1, 283.7e-6},     {"random:n=3000", 1, 589.1e-6},
                {"random:n=300000", 1, 1693.0e-6}};
    cal_gpu_def gpu = cal_default_gpu_def();
    cal_gpu_price p, twice;
    cal_error error;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        if (CAL_TEST_SANITIZED && i + 1 == sizeof runs / sizeof runs[0])
            continue; // the same lines once more, and slow there
        cal_model* model = cal_test_model(runs[i].model);
        assert_int_equal(cal_price_gpu(model, runs[i].instances, &gpu, &p, &error), CAL_OK);
        cal_test_expect_below(fabs(p.seconds - runs[i].measured), 0.25 * runs[i].measured, runs[i].model, "");
        expect_near(p.moving + p.computing + p.waiting + p.launching, p.seconds, "parts");
        cal_model_destroy(model);
    }
    // Half the bandwidth, twice the time for bytes, and nothing else changes.
    cal_model* model = cal_test_model("humanoid");
    gpu.bandwidth *= 0.5;
    assert_int_equal(cal_price_gpu(model, 262144, &gpu, &twice, &error), CAL_OK);
    gpu.bandwidth *= 2.0;
    assert_int_equal(cal_price_gpu(model, 262144, &gpu, &p, &error), CAL_OK);
    expect_near(twice.moving, 2.0 * p.moving, "bytes");
    expect_near(twice.waiting, p.waiting, "joints");
    expect_refusal(cal_price_gpu(model, 0, &gpu, &p, &error), &error, "at least one instance");
    gpu.peak = 0.0;
    expect_refusal(cal_price_gpu(model, 1, &gpu, &p, &error), &error, "above 0");
    gpu.cookie = 0;
    expect_refusal(cal_price_gpu(model, 1, &gpu, &p, &error), &error, "cal_default_gpu_def");
    cal_model_destroy(model);
}

// So is assembly there, with the same figures of the GPU; and shorter than aba where a chain is long.
static void test_assembly_on_gpus_is_priced(void** unused) {
    (void)unused;
    static const struct {
        const char* model;
        double measured; // s
    } runs[] = {{"chain:n=100000", 178.6e-6}, {"chain:n=1000000", 429.1e-6}};
    const cal_gpu_def gpu = cal_default_gpu_def();
    cal_gpu_price p, aba;
    cal_error error;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        if (CAL_TEST_SANITIZED && i > 0) continue; // the same lines once more, and slow there
        cal_model* model = cal_test_model(runs[i].model);
        assert_int_equal(cal_price_gpu_assembly(model, NULL, &gpu, &p, &error), CAL_OK);
        cal_test_expect_below(fabs(p.seconds - runs[i].measured), 0.25 * runs[i].measured, runs[i].model, "");
        expect_near(p.moving + p.computing + p.waiting + p.launching, p.seconds, "parts");
        cal_model_destroy(model);
    }
    cal_model* model = cal_test_model("chain:n=2000");
    assert_int_equal(cal_price_gpu(model, 1, &gpu, &aba, &error), CAL_OK);
    assert_int_equal(cal_price_gpu_assembly(model, NULL, &gpu, &p, &error), CAL_OK);
    assert_true(p.seconds < aba.seconds);
    assert_true(1 << p.heights >= p.parts); // joined two by two, in a tree
    // As many parts as joints, and one, which nothing is joined with.
    assert_int_equal(cal_price_gpu_assembly(model, "balanced", &gpu, &p, &error), CAL_OK);
    assert_int_equal(p.parts, 2000);
    assert_int_equal(cal_price_gpu_assembly(model, "serial", &gpu, &p, &error), CAL_OK);
    assert_int_equal(p.parts, 1);
    assert_int_equal(p.heights, 0);
    expect_refusal(cal_price_gpu_assembly(model, "sideways", &gpu, &p, &error), &error, "sideways");
    expect_refusal(cal_price_gpu_assembly(model, NULL, &gpu, NULL, &error), &error, "out");
    expect_refusal(cal_price_gpu_assembly(NULL, NULL, &gpu, &p, &error), &error, "NULL");
    cal_model_destroy(model);
    // Branches: parts with several ports, joints of every kind, several levels.
    model = cal_test_model("random:n=3000");
    assert_int_equal(cal_price_gpu_assembly(model, NULL, &gpu, &p, &error), CAL_OK);
    assert_true(p.heights > 0 && p.launches > p.levels);
    cal_model_destroy(model);
    model = cal_test_model("bricard");
    assert_int_equal(cal_price_gpu_assembly(model, "balanced", &gpu, &p, &error), CAL_NOT_AVAILABLE);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus_are_priced),
        cmocka_unit_test(test_assembly_on_gpus_is_priced),
        cmocka_unit_test(test_joints_keep_their_processors),
        cmocka_unit_test(test_cheaper_messages_cost_no_time),
        cmocka_unit_test(test_jung_is_to_be_had),
        cmocka_unit_test(test_virtual_time_is_the_price_of_the_plan),
        cmocka_unit_test(test_it_distributes_for_itself),
        cmocka_unit_test(test_it_touches_no_state),
        cmocka_unit_test(test_it_refuses_to_simulate),
        cmocka_unit_test(test_every_machine_can_be_measured),
        cmocka_unit_test(test_bad_arguments_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
