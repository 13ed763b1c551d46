// Who computes what, and what that takes: Jung's and Armstrong's numbers, and our own distribution's promises.
#include "base/memory.h"
#include "plan/distribution.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cal_costs manna = {.compute = 0.4e-3, .message = 1.5e-3}; // Jung's CMPTM and ROITM

typedef cal_status distribute(const cal_model*, int, const cal_costs*, int32_t*, int*, double*, cal_error*);

static int32_t* owners_of(const cal_model* model) {
    int32_t* owner = calloc((size_t)model->node_count + 1, sizeof *owner);
    assert_non_null(owner);
    return owner;
}

static void expect_near(double value, double expected, const char* what) {
    cal_test_expect_below(fabs(value - expected), 1e-9 * fabs(expected), what, "");
}

// Distributes and checks what every distribution promises: each of the used processors has work, the first node is
// processor 0's, and no more are used than there are.
static double run(distribute* how, const cal_model* model, int processors, const cal_costs* costs, int32_t* owner,
                  int* used) {
    cal_error error;
    double seconds = -1.0;
    if (how(model, processors, costs, owner, used, &seconds, &error)) fail_msg("%s", error.text);
    assert_in_range(*used, 1, processors);
    int32_t* loads = calloc((size_t)*used, sizeof *loads);
    for (int node = 0; node < model->node_count; node++) {
        assert_in_range(owner[node], 0, *used - 1);
        loads[owner[node]]++;
    }
    for (int p = 0; p < *used; p++)
        if (loads[p] == 0) fail_msg("%s: processor %d of %d has no work", cal_model_name(model), p, *used);
    assert_int_equal(owner[0], 0);
    free(loads);
    return seconds;
}

static double price(const cal_model* model, const int32_t* owner, const cal_costs* costs, int processors,
                    double* busy) {
    cal_error error;
    double seconds;
    if (cal_price_owners(model, owner, costs, processors, &seconds, busy, &error)) fail_msg("%s", error.text);
    return seconds;
}

static void test_jung_455_joints(void** unused) {
    (void)unused;
    static const struct {
        int processors, used;
        double milliseconds;
    } table[] = {{1, 1, 182},    {2, 2, 103.5},  {4, 4, 83.5}, {8, 8, 45},   {16, 16, 26.5},
                 {20, 20, 21.5}, {32, 32, 19.5}, {64, 64, 18}, {81, 81, 18}, {128, 81, 18}};
    cal_model* model = cal_test_model("mobile:s=3,l=5,o=9");
    int32_t* owner = owners_of(model);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int used;
        expect_near(run(cal_distribute_jung, model, table[i].processors, &manna, owner, &used),
                    1e-3 * table[i].milliseconds, "Jung's estimate for 455 joints");
        assert_int_equal(used, table[i].used);
    }
    free(owner);
    cal_model_destroy(model);
}

// Jung's Figure 9: with processors enough, time grows with the stages, which is the logarithm of the number of joints.
static void test_jung_time_is_logarithmic(void** unused) {
    (void)unused;
    static const char* const models[] = {"mobile:s=1,l=5,o=9", "mobile:s=2,l=5,o=9", "mobile:s=3,l=5,o=9",
                                         "mobile:s=4,l=5,o=9"};
    static const double milliseconds[] = {2, 10, 18, 26};
    int used = 0;
    for (int i = 0; i < 4; i++) {
        cal_model* model = cal_test_model(models[i]);
        int32_t* owner = owners_of(model);
        expect_near(run(cal_distribute_jung, model, 5000, &manna, owner, &used), 1e-3 * milliseconds[i], models[i]);
        free(owner);
        cal_model_destroy(model);
    }
    assert_int_equal(used, 729);
}

static void test_jung_largest_speed_up_of_4100_joints(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=4,l=5,o=9");
    int32_t* owner = owners_of(model);
    int used;
    const double seconds = run(cal_distribute_jung, model, 729, &manna, owner, &used);
    assert_int_equal(used, 729);
    assert_true(fabs(4100 * manna.compute / seconds - 63.1) < 0.05);
    free(owner);
    cal_model_destroy(model);
}

// The longer of two branches is started first, and a branch that takes less than a message stays where it is.
static void test_jung_on_a_small_fork(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("stickman");
    int32_t* owner = owners_of(model);
    int used;
    // After the torso (1 link) come hips and legs (5), neck and head (2), two arms (2 each); a message takes as long as 3
    // links. The hips go on where the torso was and start two siblings, one of which starts the last: these 4 links are
    // worth a processor, the other 2, and the second leg's 2, are not.
    const cal_costs costs = {.compute = 1.0, .message = 3.0};
    expect_near(run(cal_distribute_jung, model, 5, &costs, owner, &used), 1 + 3 + 2 + 5, "stick figure");
    assert_int_equal(used, 2);
    free(owner);
    cal_model_destroy(model);
}

static void test_one_owner_takes_exactly_its_work(void** unused) {
    (void)unused;
    static const char* const models[] = {"mobile:s=4,l=5,o=9", "stickman", "chain:n=1003,joint=ball", "random:n=300",
                                         "humanoid"};
    const cal_costs costs = {.compute = 0.123456789e-6, .message = 1e-6};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        cal_model* model = cal_test_model(models[i]);
        int32_t* owner = owners_of(model);
        double busy;
        assert_true(price(model, owner, &costs, 1, &busy) == model->node_count * costs.compute);
        assert_true(busy == 1.0);
        free(owner);
        cal_model_destroy(model);
    }
}

// Two chains under a short one, each on a processor: the second is done a message after the trunk, and its last message
// comes while the first one waits; all four passes cross.
static void test_price_of_one_cut(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=2,l=5,o=2");
    int32_t* owner = owners_of(model);
    for (int node = 10; node < 15; node++) owner[node] = 1;
    const cal_costs costs = {.compute = 1.0, .message = 2.0};
    double busy;
    expect_near(price(model, owner, &costs, 2, &busy), 5 + 5 + 2, "two chains on two processors");
    expect_near(busy, 15.0 / 24.0, "use of two processors");
    // A sender that is busy sends four times half a second, twice on each side, and has that much less to wait for.
    const cal_costs busy_sender = {.compute = 1.0, .message = 2.0, .send = 2.0};
    expect_near(price(model, owner, &busy_sender, 2, &busy), 5 + 5 + 2, "two chains, the senders busy");
    expect_near(busy, 17.0 / 24.0, "use of two processors, the senders busy");
    free(owner);
    cal_model_destroy(model);
}

// More messages cannot make anything faster, and no distribution beats the longest path or its share.
static void test_price_is_bounded(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=4,l=5,o=9");
    int32_t* owner = owners_of(model);
    for (int processors = 2; processors <= 64; processors *= 2) {
        double last = 0.0;
        for (int i = 0; i < 4; i++) {
            for (int node = 0; node < model->node_count; node++)
                owner[node] = (int32_t)(node * INT64_C(7919) % 104729) % processors;
            const cal_costs costs = {.compute = 1e-6, .message = i * 1e-6};
            const double seconds = price(model, owner, &costs, processors, NULL);
            assert_true(seconds >= 4100e-6 / processors && seconds >= 20e-6);
            assert_true(seconds >= last);
            last = seconds;
        }
    }
    free(owner);
    cal_model_destroy(model);
}

// With cheap messages nobody has more than 1.05 times its share, and 16 processors are at least 14 times as fast as one.
static void test_balanced_loads(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=4,l=5,o=9");
    int32_t* owner = owners_of(model);
    const cal_costs costs = {.compute = 20e-9, .message = 50e-9};
    double seconds = 0.0;
    for (int processors = 2; processors <= 16; processors++) {
        int loads[16] = {0}, used;
        seconds = run(cal_distribute_balanced, model, processors, &costs, owner, &used);
        assert_int_equal(used, processors);
        expect_near(price(model, owner, &costs, used, NULL), seconds, "predicted time");
        for (int node = 0; node < model->node_count; node++) loads[owner[node]]++;
        for (int p = 0; p < used; p++)
            if (loads[p] * processors > 1.05 * 4100)
                fail_msg("processor %d of %d has %d of 4100 joints", p, processors, loads[p]);
    }
    assert_true(4100 * costs.compute / seconds > 14.0);
    free(owner);
    cal_model_destroy(model);
}

// Balls weigh more than revolute joints: half of the work, not half of the joints.
static void test_balanced_weighs_joints(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("random:n=3000,seed=4");
    int32_t* owner = owners_of(model);
    const cal_costs costs = {.compute = 1e-6, .message = 0.0};
    int used;
    run(cal_distribute_balanced, model, 2, &costs, owner, &used);
    assert_int_equal(used, 2);
    double work[2] = {0};
    for (int node = 0; node < model->node_count; node++) work[owner[node]] += cal_node_work(&model->nodes[node]);
    assert_true(fabs(work[0] - work[1]) < 0.05 * (work[0] + work[1]));
    free(owner);
    cal_model_destroy(model);
}

// A second processor is left alone where it would not pay: chains have no breadth, and small figures no time.
static void test_balanced_uses_no_more_than_pays(void** unused) {
    (void)unused;
    static const char* const models[] = {"chain:n=10000", "mobile:s=1,l=100", "mobile:s=2,l=5,o=3", "stickman"};
    const cal_costs costs = {.compute = 20e-9, .message = 1e-6};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        cal_model* model = cal_test_model(models[i]);
        int32_t* owner = owners_of(model);
        int used;
        run(cal_distribute_balanced, model, 16, &costs, owner, &used);
        assert_int_equal(used, 1);
        run(cal_distribute_jung, model, 16, &costs, owner, &used);
        assert_int_equal(used, 1);
        free(owner);
        cal_model_destroy(model);
    }
}

// Whatever the costs, our distribution is never predicted to be slower than one processor or than fewer processors.
static void test_balanced_never_loses(void** unused) {
    (void)unused;
    static const char* const models[] = {"mobile:s=3,l=5,o=9", "tree:height=7,fanout=3", "random:n=500", "stickman",
                                         "chain:n=64"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        cal_model* model = cal_test_model(models[i]);
        int32_t* owner = owners_of(model);
        for (double message = 1e-8; message < 1e-3; message *= 10.0) {
            const cal_costs costs = {.compute = 1e-7, .message = message};
            double last = model->node_count * costs.compute;
            for (int processors = 1; processors <= 8; processors++) {
                int used;
                const double seconds = run(cal_distribute_balanced, model, processors, &costs, owner, &used);
                assert_true(seconds <= last * (1.0 + 1e-12));
                last = seconds;
            }
        }
        free(owner);
        cal_model_destroy(model);
    }
}

// A million joints: deep (no recursion may follow the depth), broad, and with forks all the way down.
static void test_a_million_joints(void** unused) {
    (void)unused;
    static const char* const models[] = {"chain:n=1000000", "mobile:s=6,l=15,o=9", "mobile:s=2,l=10,o=99999",
                                         "mobile:s=18,l=1,o=2"};
    const cal_costs costs = {.compute = 20e-9, .message = 1e-6};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        cal_model* model = cal_test_model(models[i]);
        int32_t* owner = owners_of(model);
        int used;
        run(cal_distribute_jung, model, 5000, &costs, owner, &used);
        assert_in_range(used, i == 0 ? 1 : 16, i == 0 ? 1 : 5000);
        run(cal_distribute_balanced, model, i == 1 ? 5000 : 16, &costs, owner, &used);
        assert_in_range(used, i == 0 ? 1 : 16, i == 0 ? 1 : 5000);
        free(owner);
        cal_model_destroy(model);
    }
}

// Two chains below a root that both processors compute: the work of the longest path, half a message (processor 1 hears of the
// evaluation, and shows what it has twice, of which the first way is the longer), and what is read.
static void test_price_of_a_trunk(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("tree:height=2,fanout=2");
    int32_t owner[] = {CAL_EVERY_PROCESSOR, 0, 1};
    assert_int_equal(model->node_count, 3);
    cal_costs costs = {.compute = 1.0, .message = 4.0, .read = 0.5};
    expect_near(price(model, owner, &costs, 2, NULL), 2.0 + 2.0 + 0.5, "a trunk of one joint");
    // Ranks have the decision already, and none waits for another's evaluation to begin.
    costs.to_all = true;
    expect_near(price(model, owner, &costs, 2, NULL), 2.0 + 2.0 + 0.5, "a trunk of one joint on ranks");
    cal_model_destroy(model);
}

// The trunk is everybody's where that is cheaper than handing over, and only there; what is chosen costs no more for the choice.
static void test_the_trunk_is_repeated_where_it_pays(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=4,l=5,o=9,plateau=printed,start=0.8");
    int32_t* owner = owners_of(model);
    const double reads[] = {0.0, 1e-9, 0.1e-6, 1e-3};
    double seconds[4];
    int trunk[4] = {0};
    for (int i = 0; i < 4; i++) {
        const cal_costs costs = {.compute = 20e-9, .message = 1e-6, .send = 0.25e-6, .read = reads[i]};
        int used;
        cal_error error;
        if (cal_distribute_balanced(model, 16, &costs, owner, &used, &seconds[i], &error)) fail_msg("%s", error.text);
        for (int node = 0; node < model->node_count; node++) trunk[i] += owner[node] == CAL_EVERY_PROCESSOR;
        expect_near(price(model, owner, &costs, used, NULL), seconds[i], "what is promised is the price");
    }
    assert_int_equal(trunk[0], 0);
    assert_int_equal(trunk[3], 0);
    assert_true(trunk[1] > 0);
    assert_true(seconds[1] < seconds[0] && seconds[1] <= seconds[2]);
    free(owner);
    cal_model_destroy(model);
}

static void expect_refusal(cal_status status, const cal_error* error, const char* word) {
    assert_int_equal(status, CAL_BAD_ARGUMENT);
    if (!strstr(error->text, word)) fail_msg("'%s' does not say '%s'", error->text, word);
}

static void test_bad_arguments_are_explained(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=2,l=2,o=3");
    int32_t* owner = owners_of(model);
    static distribute* const all[] = {cal_distribute_jung, cal_distribute_balanced};
    static const cal_costs bad_compute[] = {{.compute = -1}, {.compute = NAN}, {.compute = INFINITY}};
    static const cal_costs bad_message[] = {{.message = -1}, {.message = NAN}, {.message = INFINITY}};
    static const cal_costs bad_send[] = {{.send = -1}, {.send = NAN}, {.message = 1, .send = 2}};
    static const cal_costs bad_read[] = {{.read = -1}, {.read = NAN}, {.read = INFINITY}};
    int used;
    double seconds;
    cal_error error;
    for (int i = 0; i < 2; i++) {
        expect_refusal(all[i](model, 0, &manna, owner, &used, &seconds, &error), &error, "at least 1");
        expect_refusal(all[i](model, -3, &manna, owner, &used, &seconds, &error), &error, "-3 processors");
        for (int k = 0; k < 3; k++) {
            expect_refusal(all[i](model, 2, &bad_compute[k], owner, &used, &seconds, &error), &error, "per joint");
            expect_refusal(all[i](model, 2, &bad_message[k], owner, &used, &seconds, &error), &error, "per message");
            expect_refusal(all[i](model, 2, &bad_send[k], owner, &used, &seconds, &error), &error, "sending");
            expect_refusal(all[i](model, 2, &bad_read[k], owner, &used, &seconds, &error), &error, "reading");
        }
    }
    owner[3] = 7;
    expect_refusal(cal_price_owners(model, owner, &manna, 4, &seconds, NULL, &error), &error, "processor 7");
    owner[3] = -2;
    expect_refusal(cal_price_owners(model, owner, &manna, 4, &seconds, NULL, &error), &error, "processor -2");
    free(owner);
    cal_model_destroy(model);
}

static void test_lack_of_memory_is_reported(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=3,l=5,o=9");
    int32_t* owner = owners_of(model);
    static distribute* const all[] = {cal_distribute_jung, cal_distribute_balanced};
    const int64_t before = cal_live_allocations();
    for (int i = 0; i < 2; i++) {
        cal_status status = CAL_NO_MEMORY;
        for (int after = 0; status != CAL_OK && after < 1000; after++) {
            cal_error error;
            cal_fail_allocation(after);
            status = all[i](model, 4, &manna, owner, NULL, NULL, &error);
            cal_fail_allocation(-1);
            if (status != CAL_OK) assert_int_equal(status, CAL_NO_MEMORY);
            assert_int_equal(cal_live_allocations(), before);
        }
        assert_int_equal(status, CAL_OK);
    }
    free(owner);
    cal_model_destroy(model);
}

// Eight chains are one processor's block after block; of two processors with half of them each takes as many blocks.
static void test_lanes_that_stay_empty_cost_what_full_ones_do(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=2,l=20,o=8");
    int32_t* owner = owners_of(model);
    cal_costs costs = {.compute = 1e-8}; // messages take no time
    cal_error error;
    double alone = 0.0, counted = 0.0, halves = 0.0, blocks = 0.0;
    for (int lanes = 0; lanes <= 8; lanes += lanes < 2 ? 1 : lanes) {
        costs.lanes = lanes;
        assert_int_equal(cal_price_owners(model, owner, &costs, 1, &alone, NULL, &error), CAL_OK);
        expect_near(alone, model->node_count * costs.compute, "one processor");
    }
    for (int chain = 1, node = 20; node < model->node_count; chain++, node += 20)
        for (int i = 0; i < 20; i++) owner[node + i] = chain > 4;
    costs.lanes = 0;
    assert_int_equal(cal_price_owners(model, owner, &costs, 2, &counted, NULL, &error), CAL_OK);
    costs.lanes = 1;
    assert_int_equal(cal_price_owners(model, owner, &costs, 2, &halves, NULL, &error), CAL_OK);
    expect_near(halves, counted, "one lane");
    costs.lanes = 8;
    assert_int_equal(cal_price_owners(model, owner, &costs, 2, &blocks, NULL, &error), CAL_OK);
    cal_test_expect_below(1.2 * counted, blocks, "four of eight lanes", "as long as half of the joints");
    costs.lanes = 3;
    assert_int_equal(cal_price_owners(model, owner, &costs, 2, &blocks, NULL, &error), CAL_BAD_ARGUMENT);
    // A trunk that all compute fills one lane.
    costs = (cal_costs){.compute = 1e-8, .read = 1e-12};
    for (int i = 0; i < 20; i++) owner[i] = CAL_EVERY_PROCESSOR;
    assert_int_equal(cal_price_owners(model, owner, &costs, 2, &counted, NULL, &error), CAL_OK);
    costs.lanes = 8;
    assert_int_equal(cal_price_owners(model, owner, &costs, 2, &blocks, NULL, &error), CAL_OK);
    cal_test_expect_below(1.2 * counted, blocks, "a trunk in one lane", "as long as other joints");
    free(owner);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_that_stay_empty_cost_what_full_ones_do),
        cmocka_unit_test(test_jung_455_joints),
        cmocka_unit_test(test_jung_time_is_logarithmic),
        cmocka_unit_test(test_jung_largest_speed_up_of_4100_joints),
        cmocka_unit_test(test_jung_on_a_small_fork),
        cmocka_unit_test(test_one_owner_takes_exactly_its_work),
        cmocka_unit_test(test_price_of_one_cut),
        cmocka_unit_test(test_price_of_a_trunk),
        cmocka_unit_test(test_the_trunk_is_repeated_where_it_pays),
        cmocka_unit_test(test_price_is_bounded),
        cmocka_unit_test(test_balanced_loads),
        cmocka_unit_test(test_balanced_weighs_joints),
        cmocka_unit_test(test_balanced_uses_no_more_than_pays),
        cmocka_unit_test(test_balanced_never_loses),
        cmocka_unit_test(test_a_million_joints),
        cmocka_unit_test(test_bad_arguments_are_explained),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests_name("distribution", tests, NULL, NULL);
}
