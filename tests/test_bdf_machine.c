// BDF on every machine: one answer whatever the lanes, the threads and who computes what; and its preconditioner, which is
// exact where a mechanism rests.
#include "base/memory.h"
#include "base/random.h"
#include "plan/plan.h"
#include "solver/bdf_preconditioner.h"
#include "plan/machine_ops.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_bdf(void) {
    for (int i = 0; cal_solver_name(i); i++)
        if (strcmp(cal_solver_name(i), "bdf") == 0) return true;
    return false;
}

static int32_t* scatter_joints(const cal_model* model, int processors, uint64_t seed) {
    const int count = cal_model_joint_count(model);
    int32_t* placement = calloc((size_t)count, sizeof *placement);
    cal_random random = {seed};
    const int every =
        seed % 2 == 1 ? 1 : 0; // of odd seeds some are every processor's: CAL_EVERY_PROCESSOR is below the first
    for (int i = 0; i < count; i++) placement[i] = cal_random_below(&random, processors + every) - every;
    return placement;
}

static cal_sim* open_sim(const cal_model* model, cal_sim_def def, double tolerance) {
    def.solver = "bdf";
    def.relative = tolerance;
    return cal_test_create_sim(model, &def);
}

static uint64_t run(const cal_model* model, cal_machine* machine, const int32_t* placement, double time) {
    cal_sim_def def = cal_default_sim_def();
    cal_error error;
    def.machine = machine;
    def.processor_of_joint = placement;
    cal_sim* sim = open_sim(model, def, 1e-3);
    if (cal_sim_advance(sim, time, &error) != CAL_OK) fail_msg("%s", error.text);
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    return hash;
}

// Dense and Krylov, quaternions, chains, stiff dampers, everything that makes a joint force.
static const struct {
    const char* name;
    double time;
} models[] = {{"mobile:s=2,l=5,o=9,plateau=printed,start=0.8", 0.005},
              {"mobile:s=1,l=4,h=1,damping=5,start=0.8", 0.1},
              {"mobile:s=3,l=5,o=9,damping=0.5,plateau=printed,start=0.8", 0.01},
              {"mobile:s=3,l=5,o=9,h=1,plateau=leaf,damping=10,start=0.8", 0.1},
              {"figure:dof=48", 0.02},
              {"humanoid:floor=0", 0.02},
              {"chain:n=203,damping=1", 0.03},
              {"tree:height=4,fanout=4,joint=ball,damping=0.5", 0.02},
              {"random:n=60,seed=11,passive=1", 0.004},
              {"random:n=80,seed=12", 0.05}};
enum { MODEL_COUNT = sizeof models / sizeof models[0] };

static void test_lanes_and_threads_do_not_change_a_bit(void** state) {
    (void)state;
    if (!has_bdf()) skip();
    for (int m = 0; m < MODEL_COUNT; m++) {
        cal_model* model = cal_test_model(models[m].name);
        const uint64_t alone = run(model, NULL, NULL, models[m].time);
        for (int workers = 0; workers <= 4; workers++)
            for (int lanes = workers == 0 ? 1 : cal_best_lanes(); lanes <= cal_best_lanes(); lanes *= 2) {
                cal_machine* machine = cal_test_machine(workers, lanes);
                if (run(model, machine, NULL, models[m].time) != alone)
                    fail_msg("%s: %d threads of %d lanes differ", models[m].name, workers, lanes);
                cal_machine_destroy(machine);
            }
        cal_model_destroy(model);
    }
}

static void test_any_placement_gives_the_bits_of_one_core(void** state) {
    (void)state;
    if (!has_bdf()) skip();
    for (int m = 0; m < MODEL_COUNT; m++) {
        cal_model* model = cal_test_model(models[m].name);
        const double time = 0.5 * models[m].time;
        const uint64_t alone = run(model, NULL, NULL, time);
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_machine* machine = cal_test_machine(3, lanes);
            int32_t* placement = scatter_joints(model, 3, (uint64_t)(m + lanes));
            if (run(model, machine, placement, time) != alone)
                fail_msg("%s: a placement at %d lanes differs", models[m].name, lanes);
            free(placement);
            cal_machine_destroy(machine);
        }
        cal_model_destroy(model);
    }
}

// Vectors that are long enough for the threads to share.
static void test_long_vectors_are_worked_on_by_all_threads(void** state) {
    (void)state;
    if (!has_bdf()) skip();
    cal_model* model = cal_test_model("tree:height=6,fanout=4,joint=ball,damping=0.5");
    const uint64_t alone = run(model, NULL, NULL, 0.01);
    cal_machine* machine = cal_test_machine(3, 0);
    assert_true(run(model, machine, NULL, 0.01) == alone);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

// Armstrong's algorithm keeps other records, and has the same columns.
static void test_the_algorithm_does_not_matter_to_it(void** state) {
    (void)state;
    if (!has_bdf()) skip();
    cal_model* model = cal_test_model("tree:height=3,fanout=4,joint=ball,damping=0.5");
    cal_machine* machine = cal_test_machine(2, 0);
    int32_t* placement = scatter_joints(model, 2, 3);
    cal_sim* sims[2];
    cal_error error;
    for (int i = 0; i < 2; i++) {
        cal_sim_def def = cal_default_sim_def();
        def.algorithm = i ? "armstrong" : "aba";
        def.machine = i ? machine : NULL;
        def.processor_of_joint = i ? placement : NULL;
        sims[i] = open_sim(model, def, 1e-6);
        if (cal_sim_advance(sims[i], 0.05, &error)) fail_msg("%s", error.text);
    }
    cal_test_expect_below(
        cal_test_largest_difference(cal_sim_q(sims[0]), cal_sim_q(sims[1]), (size_t)cal_model_q_count(model)), 1e-5,
        "armstrong against aba", "tree");
    for (int i = 0; i < 2; i++) cal_sim_destroy(sims[i]);
    free(placement);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

static void test_threads_agree_with_an_adams_method(void** state) {
    (void)state;
    if (!has_bdf()) skip();
    static const char* const names[] = {"mobile:s=3,l=5,o=9,h=1,plateau=leaf,damping=1,start=0.8",
                                        "tree:height=4,fanout=4,joint=ball,damping=0.5", "figure:dof=48"};
    for (int m = 0; m < 3; m++) {
        cal_model* model = cal_test_model(names[m]);
        cal_machine* machine = cal_test_machine(3, 0);
        int32_t* placement = scatter_joints(model, 3, 5);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* gear;
        cal_error error;
        def.relative = 1e-10;
        assert_int_equal(CAL_OK, cal_sim_create(model, &def, &gear, &error));
        def.machine = machine;
        def.processor_of_joint = placement;
        cal_sim* bdf = open_sim(model, def, 1e-7);
        if (cal_sim_advance(gear, 0.03, &error) || cal_sim_advance(bdf, 0.03, &error)) fail_msg("%s", error.text);
        cal_test_expect_below(
            cal_test_largest_difference(cal_sim_q(gear), cal_sim_q(bdf), (size_t)cal_model_q_count(model)), 2e-5,
            "bdf against gear", names[m]);
        cal_sim_destroy(gear);
        cal_sim_destroy(bdf);
        free(placement);
        cal_machine_destroy(machine);
        cal_model_destroy(model);
    }
}

// --- Forces and failures ---------------------------------------------------------------------------------------------------

static void push_hard(cal_force_context* context, void* user) {
    const double* size = user;
    for (int i = 0; i < cal_model_v_count(context->model); i++)
        context->tau[i] += *size * (0.1 * context->time - 0.2 * context->v[i]);
}

// An advance that met numbers which are not finite changes nothing, and nothing of it is left in the next one.
static void test_a_failed_advance_leaves_nothing_behind(void** state) {
    (void)state;
    if (!has_bdf()) skip();
    cal_model* model = cal_test_model("random:n=60,seed=12");
    cal_machine* machine = cal_test_machine(3, 0);
    int32_t* placement = scatter_joints(model, 3, 9);
    uint64_t hashes[3];
    for (int i = 0; i < 3; i++) {
        double size = 1.0;
        cal_error error = {.text = ""};
        cal_sim_def def = cal_default_sim_def();
        def.force = push_hard;
        def.user = &size;
        def.machine = i ? machine : NULL;
        def.processor_of_joint = i ? placement : NULL;
        cal_sim* sim = open_sim(model, def, 1e-4);
        assert_int_equal(CAL_OK, cal_sim_advance(sim, 0.02, &error));
        if (i == 2) {
            size = (double)NAN;
            const uint64_t before = cal_sim_hash(sim);
            assert_int_equal(CAL_NOT_FINITE, cal_sim_advance(sim, 0.04, &error));
            assert_non_null(strstr(error.text, "not a number"));
            assert_true(cal_sim_hash(sim) == before);
            size = 1.0;
        }
        assert_int_equal(CAL_OK, cal_sim_restart(sim));
        if (cal_sim_advance(sim, 0.04, &error) != CAL_OK) fail_msg("%s", error.text);
        hashes[i] = cal_sim_hash(sim);
        cal_sim_destroy(sim);
    }
    assert_true(hashes[0] == hashes[1]);
    assert_true(hashes[1] == hashes[2]);
    free(placement);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

static void test_no_memory_is_an_error_and_no_leak(void** state) {
    (void)state;
    if (!has_bdf()) skip();
    static const char* const names[] = {"figure:dof=34", "chain:n=100"};
    for (int m = 0; m < 2; m++) {
        cal_model* model = cal_test_model(names[m]);
        const int64_t live = cal_live_allocations();
        bool done = false;
        for (int64_t after = 0; !done; after++) {
            cal_sim_def def = cal_default_sim_def();
            cal_sim* sim = NULL;
            cal_error error;
            def.solver = "bdf";
            cal_fail_allocation(after);
            cal_status status = cal_sim_create(model, &def, &sim, &error);
            if (!status) status = cal_sim_advance(sim, 1e-3, &error);
            cal_fail_allocation(-1);
            done = status == CAL_OK;
            if (!done) assert_int_equal(CAL_NO_MEMORY, status);
            cal_sim_destroy(sim);
            assert_int_equal(live, cal_live_allocations());
        }
        cal_model_destroy(model);
    }
}

static void test_a_modelled_machine_says_that_it_computes_nothing(void** state) {
    (void)state;
    if (!has_bdf()) skip();
    cal_model* model = cal_test_model("chain:n=100");
    const cal_costs costs = {.compute = 1e-6, .message = 1e-5};
    cal_machine* machine;
    cal_error error;
    assert_int_equal(CAL_OK, cal_machine_modelled(&costs, 2, &machine, &error));
    cal_sim_def def = cal_default_sim_def();
    def.machine = machine;
    cal_sim* sim = open_sim(model, def, 1e-3);
    assert_int_equal(CAL_NOT_AVAILABLE, cal_sim_advance(sim, 0.1, &error));
    cal_sim_destroy(sim);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

// --- The preconditioner ----------------------------------------------------------------------------------------------------

// The bodies of a model at rest without gravity, in slack springs, dampers and servos.
static cal_model* put_to_rest(const cal_model* model) {
    const double gravity[3] = {0.0, 0.0, 0.0};
    cal_random random = {7};
    cal_builder* builder = cal_test_same_bodies(model);
    cal_model* out;
    cal_error error;
    cal_builder_set_gravity(builder, gravity);
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        int body;
        cal_model_joint(model, i, &joint, &body, NULL, NULL);
        const bool single = cal_joint_v_count(joint.kind) == 1;
        joint.damping = cal_random_between(&random, 0.0, 5.0);
        if (joint.kind != CAL_FREE) joint.stiffness = cal_random_between(&random, 0.0, 50.0);
        if (joint.kind != CAL_FREE) memset(joint.initial_q, 0, sizeof joint.initial_q);
        memset(joint.initial_v, 0, sizeof joint.initial_v);
        cal_builder_add_joint(builder, body, &joint);
        if (!single || i % 3 != 0) continue;
        cal_actuator_def servo = cal_default_actuator_def();
        servo.joint = i;
        servo.gear = 1.5;
        servo.bias[1] = -20.0, servo.bias[2] = -3.0;
        cal_builder_add_actuator(builder, &servo);
    }
    if (cal_builder_finish(builder, &out, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return out;
}

// At rest J has no other terms than the preconditioner's: its solution satisfies (1 − γ J) z = r, where J z is a difference
// of forward dynamics.
static void expect_exact(const cal_model* model, const char* name, int workers, int lanes) {
    cal_machine* machine = cal_test_machine(workers, lanes);
    int32_t* placement = scatter_joints(model, workers ? workers : 1, 3);
    cal_plan* plan;
    cal_state* state;
    cal_preconditioner* preconditioner;
    cal_error error;
    if (cal_plan_create_placed(model, "aba", machine, workers ? placement : NULL, &plan, &error))
        fail_msg("%s", error.text);
    assert_int_equal(CAL_OK, cal_state_create(plan, &state));
    assert_int_equal(CAL_OK, cal_preconditioner_create(plan, &preconditioner));
    const size_t size = plan->layout->y_size;
    const int q_count = cal_model_q_count(model), v_count = cal_model_v_count(model);
    // Kernels load lanes from them: aligned memory.
    double *y = cal_allocate(size, sizeof *y), *r = cal_allocate(size, sizeof *r), *z = cal_allocate(size, sizeof *z);
    double *slopes[2] = {cal_allocate(size, sizeof(double)), cal_allocate(size, sizeof(double))},
           *random = cal_test_numbers((size_t)(q_count + v_count));
    memcpy(y, state->context.y, size * sizeof *y);
    cal_test_execute(&(cal_test_engine){model, machine, plan, state});
    cal_test_expect_below(cal_test_largest(state->context.ydot, size), 1e-9, "acceleration of what rests", name);
    cal_random source = {11};
    for (int i = 0; i < q_count + v_count; i++) random[i] = cal_random_between(&source, -1.0, 1.0);
    cal_layout_scatter(plan->layout, 0, random, random + q_count, r);
    for (double gamma = 1e-3; gamma < 0.2; gamma *= 10.0) {
        const double step = 1e-6;
        assert_int_equal(CAL_OK, cal_preconditioner_set(preconditioner, y, gamma));
        assert_int_equal(CAL_OK, cal_preconditioner_solve(preconditioner, r, z));
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < size; i++) state->context.y[i] = y[i] + (side ? step : -step) * z[i];
            cal_test_execute(&(cal_test_engine){model, machine, plan, state});
            memcpy(slopes[side], state->context.ydot, size * sizeof(double));
        }
        double largest = 0.0;
        for (size_t i = 0; i < size; i++)
            largest = fmax(largest, fabs(z[i] - gamma * (slopes[1][i] - slopes[0][i]) / (2.0 * step) - r[i]));
        cal_test_expect_below(largest, 1e-6, "residual of the preconditioner", name);
    }
    cal_free(y), cal_free(r), cal_free(z), cal_free(slopes[0]), cal_free(slopes[1]);
    free(random), free(placement);
    cal_preconditioner_destroy(preconditioner);
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
}

static void test_the_preconditioner_is_exact_at_rest(void** state) {
    (void)state;
    static const char* const resting[] = {
        "mobile:s=2,l=3,o=5,start=0,damping=3,plateau=printed", "mobile:s=1,l=4,start=0",
        "chain:n=30,joint=ball,start=0,stiffness=2,damping=1", "chain:n=9,joint=revolute,start=0,stiffness=2"};
    for (int m = 0; m < 4; m++) {
        cal_model* model = cal_test_model(resting[m]);
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) expect_exact(model, resting[m], 0, lanes);
        expect_exact(model, resting[m], 3, 0);
        cal_model_destroy(model);
    }
    static const char* const floating[] = {"random:n=40,seed=2", "random:n=40,seed=7,joints=prismatic",
                                           "figure:dof=48"};
    for (int m = 0; m < 3; m++) {
        cal_model *origin = cal_test_model(floating[m]), *model = put_to_rest(origin);
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) expect_exact(model, floating[m], 0, lanes);
        expect_exact(model, floating[m], 3, 0);
        cal_model_destroy(origin);
        cal_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_and_threads_do_not_change_a_bit),
        cmocka_unit_test(test_any_placement_gives_the_bits_of_one_core),
        cmocka_unit_test(test_long_vectors_are_worked_on_by_all_threads),
        cmocka_unit_test(test_the_algorithm_does_not_matter_to_it),
        cmocka_unit_test(test_threads_agree_with_an_adams_method),
        cmocka_unit_test(test_a_failed_advance_leaves_nothing_behind),
        cmocka_unit_test(test_no_memory_is_an_error_and_no_leak),
        cmocka_unit_test(test_a_modelled_machine_says_that_it_computes_nothing),
        cmocka_unit_test(test_the_preconditioner_is_exact_at_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
