// Columns that keep little between the walks (layout.h, brief; pass/aba_brief.h): whoever rides along, the bits are those of columns that
// keep all of it.
#include "plan/machine_ops.h"
#include "plan/plan.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR = 1 << 30 };

static cal_machine* make_machine(int workers, int lanes, int far_nodes) {
    cal_machine* machine = cal_test_machine(workers == 1 ? 0 : workers, lanes);
    machine->far_nodes = far_nodes;
    return machine;
}

// A plateau that hangs on a chain, with sliders and hinges on it in turn, as many as fill lanes and some more; loads and springs that differ.
static cal_model* make_brush(void) {
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.05;
    body.parent = CAL_GROUND;
    int hub = -1, end = -1;
    for (int i = 0; i < 3 + 13 * 4; i++) {
        body.parent = i < 3 ? (i == 0 ? CAL_GROUND : hub) : (i - 3) % 4 == 0 ? hub : end;
        body.mass = 1.0 + 0.03 * i;
        body.position[0] = 0.2 + 0.01 * i, body.position[1] = 0.1;
        joint.kind = i > 2 && (i - 3) / 4 % 2 ? CAL_PRISMATIC : CAL_REVOLUTE;
        joint.damping = 0.01 * i, joint.stiffness = i % 3 ? 2.0 : 0.0;
        joint.axis[0] = 0.6, joint.axis[1] = 0.0, joint.axis[2] = 0.8;
        joint.initial_q[0] = 0.05 * (i % 7);
        end = cal_builder_add_body(builder, &body);
        cal_builder_add_joint(builder, end, &joint);
        if (i < 3) hub = end;
    }
    cal_model* model;
    cal_error error;
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static bool is_brief(const cal_model* model, cal_machine* machine) {
    cal_plan* plan;
    cal_error error;
    if (cal_plan_create(model, "aba", machine, &plan, &error) != CAL_OK) fail_msg("%s", error.text);
    const bool brief = plan->streams;
    cal_plan_destroy(plan);
    return brief;
}

static int brief_runs;
static uint64_t end_of(const cal_model* model, const char* solver, int workers, int lanes, int far_nodes) {
    cal_sim_def def = cal_default_sim_def();
    cal_error error;
    def.solver = solver;
    def.relative = 1e-4;
    def.step = 1e-3;
    def.machine = make_machine(workers, lanes, far_nodes);
    brief_runs += is_brief(model, def.machine);
    if (far_nodes == NEAR) assert_false(is_brief(model, def.machine));
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_advance(sim, 0.05, &error) != CAL_OK) fail_msg("%s: %s", solver, error.text);
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    cal_machine_destroy(def.machine);
    return hash;
}

static void test_runs_have_the_bits_of_columns_that_keep_all(void** unused) {
    (void)unused;
    static const char* const solvers[] = {"gear", "rkf", "rk4", "euler", "iec", "implicit", "bdf"};
    cal_model* models[] = {make_brush(), cal_test_model("mobile:s=3,l=5,o=9"),
                           cal_test_model("tree:height=5,fanout=3")};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
            const uint64_t plain = end_of(models[m], solvers[i], 1, 1, NEAR);
            for (int lanes = 2; lanes <= cal_best_lanes(); lanes *= 2) {
                assert_int_equal(end_of(models[m], solvers[i], 1, lanes, NEAR), plain);
                assert_int_equal(end_of(models[m], solvers[i], 1, lanes, 1), plain);
            }
            if (m > 0) assert_int_equal(end_of(models[m], solvers[i], 3, 0, 1), plain);
        }
        // The widest lanes of these are brief, whatever lanes there are.
        if (cal_best_lanes() > 1) assert_true(brief_runs >= 7);
        brief_runs = 0;
        cal_model_destroy(models[m]);
    }
}

static void push_too_hard(cal_force_context* context, void* user) {
    if (context->time > 0.01) context->tau[*(const int*)user] = 1e308;
}

// A solver's follow-up reads accelerations from the stack; what went wrong is found all the same, and accelerations are there to be asked for.
static void test_what_is_not_finite_is_named(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("mobile:s=3,l=5,o=9");
    char texts[2][sizeof((cal_error*)0)->text];
    double* found[2];
    int last = cal_model_v_count(model) - 1;
    for (int brief = 0; brief < 2; brief++) {
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim;
        cal_error error;
        def.machine = make_machine(1, 0, brief ? 1 : NEAR);
        def.force = push_too_hard, def.user = &last;
        sim = cal_test_create_sim(model, &def);
        found[brief] = calloc((size_t)cal_model_v_count(model), sizeof(double));
        assert_int_equal(cal_sim_advance(sim, 0.005, &error), CAL_OK);
        assert_int_equal(cal_sim_accelerations(sim, found[brief]), CAL_OK);
        assert_int_not_equal(cal_sim_advance(sim, 1.0, &error), CAL_OK);
        snprintf(texts[brief], sizeof texts[brief], "%s", error.text);
        cal_sim_destroy(sim);
        cal_machine_destroy(def.machine);
    }
    assert_string_equal(texts[1], texts[0]);
    assert_memory_equal(found[1], found[0], (size_t)cal_model_v_count(model) * sizeof(double));
    free(found[0]), free(found[1]);
    cal_model_destroy(model);
}

// Constraints read what joints keep between the walks: all of it stays.
static void test_loops_keep_all(void** unused) {
    (void)unused;
    cal_machine* machine = make_machine(1, 0, 1);
    cal_model *loops = cal_test_model("fourbar:n=20"), *open = cal_test_model("tree:height=4,fanout=4");
    assert_false(is_brief(loops, machine));
    assert_int_equal(is_brief(open, machine), cal_best_lanes() > 1);
    cal_model_destroy(loops), cal_model_destroy(open);
    cal_machine_destroy(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_have_the_bits_of_columns_that_keep_all),
        cmocka_unit_test(test_what_is_not_finite_is_named),
        cmocka_unit_test(test_loops_keep_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
