// One answer on every machine: threads give the bits of one core, whatever their number and whoever computes what.
#define _GNU_SOURCE
#include "base/random.h"
#include "plan/machine_ops.h"
#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const char* const models[] = {"mobile:s=3,l=3,o=4",
                                     "chain:n=40",
                                     "tree:height=4,fanout=3,joint=ball",
                                     "stickman",
                                     "figure:dof=48",
                                     "humanoid:floor=0",
                                     "random:n=60,seed=11",
                                     "random:n=60,seed=12"};
enum { MODEL_COUNT = sizeof models / sizeof models[0] };

static uint64_t run(const cal_model* model, const char* solver, cal_machine* machine, const int32_t* placement) {
    cal_sim_def def = cal_default_sim_def();
    cal_error error;
    def.solver = solver;
    def.machine = machine;
    def.processor_of_joint = placement;
    def.relative = 1e-3;
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_advance(sim, 0.02, &error) != CAL_OK) fail_msg("%s: %s", solver, error.text);
    // What processors hand over in each pass is what the plan says, as often as it was executed.
    cal_pass_traffic sent, said;
    for (int pass = 0; strcmp(solver, "bdf") != 0 && cal_sim_traffic(sim, pass, &sent, &said) == CAL_OK; pass++) {
        assert_int_equal(sent.messages, said.messages * sent.executions);
        assert_int_equal(sent.numbers, said.numbers * sent.executions);
    }
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    return hash;
}

// Any joint on any processor, and of odd seeds on every one too: much worse than any sensible choice.
static int32_t* scatter_joints(const cal_model* model, int processors, uint64_t seed) {
    const int count = cal_model_joint_count(model);
    int32_t* placement = malloc((size_t)count * sizeof *placement);
    cal_random random = {seed};
    const int every = seed % 2 == 1 ? 1 : 0; // CAL_EVERY_PROCESSOR is below the first
    for (int i = 0; i < count; i++) placement[i] = cal_random_below(&random, processors + every) - every;
    return placement;
}

static void test_threads_give_the_bits_of_one_core(void** state) {
    (void)state;
    for (int m = 0; m < MODEL_COUNT; m++) {
        cal_model* model = cal_test_model(models[m]);
        const uint64_t alone = run(model, "gear", NULL, NULL);
        for (int workers = 1; workers <= 5; workers++) {
            cal_machine* machine = cal_test_machine(workers, 0);
            assert_int_equal(alone, run(model, "gear", machine, NULL));
            cal_machine_destroy(machine);
        }
        cal_model_destroy(model);
    }
}

static void test_any_placement_gives_the_bits_of_one_core(void** state) {
    (void)state;
    for (int m = 0; m < MODEL_COUNT; m++) {
        cal_model* model = cal_test_model(models[m]);
        const uint64_t alone = run(model, "rk4", NULL, NULL);
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_machine* machine = cal_test_machine(3, lanes);
            // Even and odd seeds, handed over and with a trunk, in turn.
            int32_t* placement =
                scatter_joints(model, 3, 2 * (uint64_t)(m + lanes) + (uint64_t)((m + (lanes & 5)) % 2));
            assert_int_equal(alone, run(model, "rk4", machine, placement));
            free(placement);
            cal_machine_destroy(machine);
        }
        cal_model_destroy(model);
    }
}

// Where every processor computes the trunk nothing goes down the tree: an evaluation has two exchanges, of inertias and of sums.
static void test_a_trunk_has_two_exchanges_and_the_bits_of_one_core(void** state) {
    (void)state;
    static const int workers[] = {2, 3, 7};
    const cal_costs costs = {.compute = 1e-6, .message = 1e-6};
    cal_model* model = cal_test_model("mobile:s=3,l=3,o=4");
    const int count = cal_model_joint_count(model);
    int32_t* placement = malloc((size_t)count * sizeof *placement);
    const uint64_t alone = run(model, "gear", NULL, NULL);
    for (int i = 0; i < 3; i++) {
        int used = 0;
        cal_error error;
        if (cal_distribute(model, CAL_BALANCED, workers[i], &costs, placement, &used, NULL, &error))
            fail_msg("%s", error.text);
        assert_true(used > 1);
        placement[0] = CAL_EVERY_PROCESSOR; // and so all that have several processors below them
        cal_machine* machine = cal_test_machine(workers[i], 0);
        cal_plan* plan;
        assert_int_equal(CAL_OK, cal_plan_create_placed(model, "aba", machine, placement, &plan, &error));
        for (int pass = 0; pass < 4; pass++) {
            cal_pass_traffic said;
            assert_int_equal(CAL_OK, cal_plan_traffic(plan, pass, 5, &said));
            assert_int_equal(said.messages > 0, !said.outbound);
        }
        cal_plan_destroy(plan);
        assert_int_equal(alone, run(model, "gear", machine, placement));
        cal_machine_destroy(machine);
    }
    free(placement);
    cal_model_destroy(model);
}

// Energy, momentum and poses: 8 numbers and 7 a body, at a random state, however the joints are placed.
static double* look(const cal_model* model, const char* algorithm, cal_machine* machine, const int32_t* placement) {
    const size_t poses = 7 * (size_t)cal_model_body_count(model);
    double* out = calloc(poses + 8, sizeof *out);
    cal_plan* plan;
    cal_state* motion;
    cal_error error;
    if (cal_plan_create_placed(model, algorithm, machine, placement, &plan, &error) != CAL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(cal_state_create(plan, &motion), CAL_OK);
    cal_test_motion at = cal_test_random_motion(model, 7);
    assert_int_equal(cal_state_set(motion, CAL_Q, at.q), CAL_OK);
    assert_int_equal(cal_state_set(motion, CAL_V, at.v), CAL_OK);
    cal_test_motion_free(&at);
    // Twice: cores that count their walks must agree again.
    for (int i = 0; i < 2; i++) assert_int_equal(cal_plan_execute(plan, motion, &error), CAL_OK);
    assert_int_equal(cal_state_get(motion, CAL_POSE, out), CAL_OK);
    if (cal_state_size(motion, CAL_ENERGY) > 0) {
        assert_int_equal(cal_state_get(motion, CAL_ENERGY, out + poses), CAL_OK);
        assert_int_equal(cal_state_get(motion, CAL_MOMENTUM, out + poses + 2), CAL_OK);
    }
    cal_state_destroy(motion);
    cal_plan_destroy(plan);
    return out;
}

static void test_several_cores_see_the_energy_and_poses_of_one(void** state) {
    (void)state;
    static const char* const algorithms[] = {"energy", "kinematics"};
    for (int m = 0; m < 2 * MODEL_COUNT; m++) {
        cal_model* model = cal_test_model(models[m / 2]);
        cal_machine *alone = cal_test_machine(1, 1), *machine = cal_test_machine(4, 0);
        int32_t* placement = scatter_joints(model, 4, (uint64_t)m);
        double* expected = look(model, algorithms[m % 2], alone, NULL);
        double* scattered = look(model, algorithms[m % 2], machine, placement);
        double* balanced = look(model, algorithms[m % 2], machine, NULL);
        const size_t size = (8 + 7 * (size_t)cal_model_body_count(model)) * sizeof *expected;
        assert_memory_equal(expected, scattered, size);
        assert_memory_equal(expected, balanced, size);
        free(expected);
        free(scattered);
        free(balanced);
        free(placement);
        cal_machine_destroy(alone);
        cal_machine_destroy(machine);
        cal_model_destroy(model);
    }
}

static void test_every_solver_gives_the_bits_of_one_core(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile:s=2,l=3,o=5");
    cal_machine* machine = cal_test_machine(3, 0);
    int32_t *handed = scatter_joints(model, 3, 4), *repeated = scatter_joints(model, 3, 5);
    for (int i = 0; cal_solver_name(i); i++) {
        const uint64_t alone = run(model, cal_solver_name(i), NULL, NULL);
        assert_int_equal(alone, run(model, cal_solver_name(i), machine, handed));
        assert_int_equal(alone, run(model, cal_solver_name(i), machine, repeated));
    }
    free(handed);
    free(repeated);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

static void bend(cal_force_context* context, void* user) {
    (void)user;
    for (int i = 0; i < cal_model_v_count(context->model); i++)
        context->tau[i] += 0.1 * context->time - 0.2 * context->v[i];
}

static void test_forces_of_every_kind_act_on_threads(void** state) {
    (void)state;
    cal_model* model = cal_test_model("random:n=40,seed=21");
    cal_machine* machine = cal_test_machine(2, 0);
    int32_t *handed = scatter_joints(model, 2, 8), *repeated = scatter_joints(model, 2, 9);
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        const double force[3] = {1.0, 2.0, 3.0}, torque[3] = {0.1, 0.0, 0.0}, point[3] = {0.0, 0.1, 0.0};
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim;
        cal_error error;
        def.force = bend;
        def.machine = i ? machine : NULL;
        def.processor_of_joint = i == 0 ? NULL : i == 1 ? handed : repeated;
        assert_int_equal(CAL_OK, cal_sim_create(model, &def, &sim, &error));
        for (int body = 0; body < cal_model_body_count(model); body += 3)
            assert_int_equal(CAL_OK, cal_sim_push(sim, body, force, torque, point));
        assert_int_equal(CAL_OK, cal_sim_advance(sim, 0.05, &error));
        hash[i] = cal_sim_hash(sim);
        cal_sim_destroy(sim);
    }
    assert_int_equal(hash[0], hash[1]);
    assert_int_equal(hash[0], hash[2]);
    free(handed);
    free(repeated);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

// A user's own threads: one for each task, started and joined each time.
typedef struct task {
    void (*function)(void*, int);
    void* argument;
    int index;
} task;

static void* run_one(void* argument) {
    const task* own = argument;
    own->function(own->argument, own->index);
    return NULL;
}

static void run_tasks(void* user, int count, void (*function)(void*, int), void* argument) {
    pthread_t threads[8];
    task tasks[8];
    assert_true(count <= 8);
    ++*(int*)user;
    for (int i = 0; i < count; i++) {
        tasks[i] = (task){function, argument, i};
        assert_int_equal(0, pthread_create(&threads[i], NULL, run_one, &tasks[i]));
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static void test_a_users_own_threads_do_the_work(void** state) {
    (void)state;
    int calls = 0;
    cal_model* model = cal_test_model("mobile:s=3,l=3,o=4");
    cal_threads_def def = cal_default_threads_def();
    cal_machine* machine;
    cal_error error;
    def.workers = 3;
    def.runner = run_tasks;
    def.user = &calls;
    assert_int_equal(CAL_OK, cal_machine_threads(&def, &machine, &error));
    int32_t* placement = scatter_joints(model, 3, 7);
    assert_int_equal(run(model, "rk4", NULL, NULL), run(model, "rk4", machine, placement));
    assert_true(calls > 10);
    free(placement);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

// A second execution begun while the first one is under way.
typedef struct intruder {
    const cal_plan* plan;
    cal_state* state;
    cal_status status;
} intruder;

static void run_while_busy(void* user, int count, void (*function)(void*, int), void* argument) {
    intruder* other = user;
    int calls = 0;
    if (other->plan) other->status = cal_plan_execute(other->plan, other->state, NULL);
    run_tasks(&calls, count, function, argument);
}

static void test_a_busy_machine_refuses_a_second_execution(void** state) {
    (void)state;
    intruder other = {.status = CAL_OK};
    cal_model* model = cal_test_model("mobile:s=2,l=3,o=4");
    cal_threads_def def = cal_default_threads_def();
    cal_machine* machine;
    cal_plan* plan;
    cal_state *first, *second;
    cal_error error;
    def.workers = 2;
    def.runner = run_while_busy;
    def.user = &other;
    assert_int_equal(CAL_OK, cal_machine_threads(&def, &machine, &error));
    int32_t* placement = scatter_joints(model, 2, 3);
    assert_int_equal(CAL_OK, cal_plan_create_placed(model, "aba", machine, placement, &plan, &error));
    assert_int_equal(CAL_OK, cal_state_create(plan, &first));
    assert_int_equal(CAL_OK, cal_state_create(plan, &second));
    other.plan = plan;
    other.state = second;
    assert_int_equal(CAL_OK, cal_plan_execute(plan, first, &error));
    assert_int_equal(CAL_MACHINE_FAILED, other.status);
    other.plan = NULL;
    assert_int_equal(CAL_OK, cal_plan_execute(plan, second, &error));
    free(placement);
    cal_state_destroy(first);
    cal_state_destroy(second);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

static void test_a_small_model_stays_on_one_core(void** state) {
    (void)state;
    cal_model* model = cal_test_model("pendulum");
    cal_machine* machine = cal_test_machine(4, 0);
    cal_plan* plan;
    cal_error error;
    assert_int_equal(CAL_OK, cal_plan_create(model, "aba", machine, &plan, &error));
    assert_int_equal(1, cal_plan_processors(plan));
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

// A process that was given one core of several makes no threads that would wait for each other on it.
static void test_threads_are_as_many_as_the_cores_of_the_process(void** state) {
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(0, sched_getaffinity(0, sizeof before, &before));
    const cal_threads_def def = cal_default_threads_def();
    cal_machine* machine = NULL;
    assert_int_equal(CAL_OK, cal_machine_threads(&def, &machine, NULL));
    assert_int_equal(CPU_COUNT(&before), cal_machine_processors(machine));
    cal_machine_destroy(machine);
    size_t core = 0;
    while (!CPU_ISSET(core, &before)) core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    assert_int_equal(0, sched_setaffinity(0, sizeof one, &one));
    assert_int_equal(CAL_OK, cal_machine_threads(&def, &machine, NULL));
    assert_int_equal(0, sched_setaffinity(0, sizeof before, &before));
    assert_int_equal(1, cal_machine_processors(machine));
    cal_machine_destroy(machine);
}

static void test_bad_calls_say_what_is_wrong(void** state) {
    (void)state;
    cal_machine* machine;
    cal_plan* plan;
    cal_error error;
    cal_threads_def def = cal_default_threads_def();
    def.workers = -1;
    assert_int_equal(CAL_BAD_ARGUMENT, cal_machine_threads(&def, &machine, &error));
    assert_non_null(strstr(error.text, "-1"));
    def = (cal_threads_def){.workers = 2};
    assert_int_equal(CAL_BAD_ARGUMENT, cal_machine_threads(&def, &machine, &error));
    cal_model* model = cal_test_model("chain:n=3");
    machine = cal_test_machine(2, 0);
    const int32_t placement[3] = {0, 2, 1};
    assert_int_equal(CAL_BAD_ARGUMENT, cal_plan_create_placed(model, "aba", machine, placement, &plan, &error));
    assert_non_null(strstr(error.text, "processor 2"));
    assert_null(plan);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_give_the_bits_of_one_core),
        cmocka_unit_test(test_any_placement_gives_the_bits_of_one_core),
        cmocka_unit_test(test_a_trunk_has_two_exchanges_and_the_bits_of_one_core),
        cmocka_unit_test(test_several_cores_see_the_energy_and_poses_of_one),
        cmocka_unit_test(test_every_solver_gives_the_bits_of_one_core),
        cmocka_unit_test(test_forces_of_every_kind_act_on_threads),
        cmocka_unit_test(test_a_users_own_threads_do_the_work),
        cmocka_unit_test(test_a_busy_machine_refuses_a_second_execution),
        cmocka_unit_test(test_a_small_model_stays_on_one_core),
        cmocka_unit_test(test_threads_are_as_many_as_the_cores_of_the_process),
        cmocka_unit_test(test_bad_calls_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
