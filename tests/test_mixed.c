// Branches that differ share lanes (layout.h, mixed columns): most lanes are in use, and no bit depends on who shares with whom.
#include "plan/machine_ops.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

static int used_percent(const cal_model* model, cal_machine* machine) {
    cal_plan* plan;
    cal_error error;
    char text[400];
    if (cal_plan_create(model, "aba", machine, &plan, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_plan_print(plan, text, sizeof text);
    cal_plan_destroy(plan);
    const char* end = strstr(text, " % of the lanes in use");
    assert_non_null(end);
    while (end[-1] != ' ') end--;
    return atoi(end);
}

static void test_random_trees_fill_most_lanes(void** unused) {
    (void)unused;
    static const char* const names[] = {"random:n=4000", "random:n=4000,joints=revolute,branching=1",
                                        "random:n=6000,seed=2,branching=0.05"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        for (int lanes = 2; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_machine* machine = cal_test_machine(0, lanes);
            const int used = used_percent(model, machine);
            if (used < 80) fail_msg("%s: %d %% of %d lanes are in use", names[i], used, lanes);
            cal_machine_destroy(machine);
        }
        cal_model_destroy(model);
    }
}

static uint64_t end_of(const cal_model* model, const char* solver, const char* algorithm, int workers, int lanes) {
    cal_sim_def def = cal_default_sim_def();
    cal_error error;
    def.solver = solver;
    def.algorithm = algorithm;
    def.relative = 1e-3;
    def.machine = cal_test_machine(workers == 1 ? 0 : workers, lanes);
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_advance(sim, 0.003, &error) != CAL_OK) fail_msg("%s, %s: %s", solver, algorithm, error.text);
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    cal_machine_destroy(def.machine);
    return hash;
}

// Groups below a top (5,000 nodes and more), chains among bushes, hubs with many children, several joints per body.
static void test_lanes_and_cores_have_the_bits_of_one_lane(void** unused) {
    (void)unused;
    static const struct {
        const char *model, *solver, *algorithm;
    } runs[] = {{"random:n=600,seed=5,passive=1", "gear", "aba"},
                {"random:n=3000,seed=6", "rk4", "aba"},
                {"random:n=700,seed=7,branching=0.03", "rkf", "aba"},
                {"random:n=300,seed=8,branching=1", "bdf", "aba"},
                {"random:n=500,seed=9,passive=1", "implicit", "aba"},
                {"random:n=400,seed=10,joints=ball,branching=0.8,passive=1", "gear", "armstrong"}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i].model);
        const uint64_t alone = end_of(model, runs[i].solver, runs[i].algorithm, 1, 1);
        for (int lanes = 2; lanes <= cal_best_lanes(); lanes *= 2) {
            const int workers = lanes == 4 ? 3 : 1;
            if (end_of(model, runs[i].solver, runs[i].algorithm, workers, lanes) != alone)
                fail_msg("%s, %s: other bits with %d lanes on %d cores", runs[i].model, runs[i].solver, lanes, workers);
        }
        cal_model_destroy(model);
    }
}

// A star (one node with all others as children) and a comb: many rounds in which one lane has a child.
static void test_hubs_and_combs_are_right(void** unused) {
    (void)unused;
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    body.mass = 1.0;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.1;
    body.position[0] = 0.3;
    for (int i = 0; i < 400; i++) {
        // A hub with 100 children, of which every third is a comb of teeth with lengths that differ.
        body.parent = i == 0 ? CAL_GROUND : i <= 100 ? 0 : i % 7 == 0 ? i / 3 : i - 1;
        joint.kind = i % 5 == 0 ? CAL_BALL : i % 5 == 1 ? CAL_PRISMATIC : CAL_REVOLUTE;
        body.mass = 1.0 + 0.01 * i;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    }
    cal_model* model;
    cal_error error;
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    const uint64_t alone = end_of(model, "gear", "aba", 1, 1);
    for (int lanes = 2; lanes <= cal_best_lanes(); lanes *= 2)
        assert_int_equal(end_of(model, "gear", "aba", 1, lanes), alone);
    cal_model_destroy(model);
}

// Most of a random tree is in branches that others have the shape of: below their roots nobody reads a lane of another number.
static void test_branches_of_one_shape_lie_lane_under_lane(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("random:n=4000,joints=revolute");
    for (int lanes = 4; lanes <= cal_best_lanes(); lanes *= 2) { // rows of two lanes are cheap
        cal_machine* machine = cal_test_machine(0, lanes);
        cal_plan* plan;
        cal_error error;
        int bundled = 0;
        if (cal_plan_create(model, "aba", machine, &plan, &error) != CAL_OK) fail_msg("%s", error.text);
        for (int i = 0; i < plan->layout->column_count; i++) {
            const cal_column* column = &plan->layout->columns[i];
            if (column->bundle == 0) continue;
            bundled += column->block_count;
            assert_int_equal(column->pull_count, lanes);
            if (!column->mixed) assert_true(column->aligned);
        }
        if (2 * bundled < plan->layout->block_count)
            fail_msg("%d lanes: %d of %d blocks are in bundles", lanes, bundled, plan->layout->block_count);
        cal_plan_destroy(plan);
        cal_machine_destroy(machine);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_trees_fill_most_lanes),
        cmocka_unit_test(test_lanes_and_cores_have_the_bits_of_one_lane),
        cmocka_unit_test(test_hubs_and_combs_are_right),
        cmocka_unit_test(test_branches_of_one_shape_lie_lane_under_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
