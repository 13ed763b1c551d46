// Machines of threads that go on with one thread where others keep the cores busy: when they do, and that nothing else changes.
#include "base/random.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- When, with a clock of the test's own -------------------------------------------------------------------------------------------

static const double ALONE = 20e-6, ALL = 6e-6, SLICE = 4e-3;

typedef struct cores {
    cal_pace pace;
    cal_pace_tries tries;
    double time;
    int64_t count, alone;
} cores;

// Executions until a time; busy: with all workers each of them waits for a slice that somebody else has. every: so often in any case, s.
static void run(cores* c, double until, bool busy, double every) {
    double next = c->time + every;
    while (c->time < until) {
        const bool alone = cal_pace_is_alone(&c->pace);
        double seconds = alone ? ALONE : busy ? SLICE : ALL;
        if (!alone && c->time > next) seconds += SLICE, next = c->time + every;
        cal_pace_note(&c->pace, &c->tries, seconds);
        c->time += seconds;
        c->count++;
        c->alone += alone ? 1 : 0;
    }
}

static void busy_cores_cost_a_few_slices(void** state) {
    (void)state;
    cores c = {0};
    run(&c, 0.05, true, INFINITY);
    // Of a run of 50 ms a try costs one slice, and the next one has not come yet.
    cal_test_expect_below(c.time / (double)c.count, 1.15 * ALONE, "an execution", "50 ms");
    run(&c, 10.0, true, INFINITY);
    cal_test_expect_below(c.time / (double)c.count, 1.03 * ALONE, "an execution", "10 s");
}

static void quiet_cores_are_used(void** state) {
    (void)state;
    cores c = {0};
    run(&c, 1.0, false, INFINITY);
    cal_test_expect_below(c.time / (double)c.count, 1.01 * ALL, "an execution", "quiet");
    // A slice that others take every 50 ms is no reason to do without the other cores.
    cores d = {0};
    run(&d, 10.0, false, 0.05);
    cal_test_expect_below((double)d.alone / (double)d.count, 1e-3, "share alone", "now and then");
}

// A clock that goes back by an hour costs a round, not an hour.
static void clocks_may_go_back(void** state) {
    (void)state;
    cores c = {0};
    run(&c, 1e-4, false, INFINITY);
    cal_pace_note(&c.pace, &c.tries, -3600.0);
    run(&c, 1.0, false, INFINITY);
    cal_test_expect_below(c.time / (double)c.count, 1.01 * ALL, "an execution", "after an hour back");
}

// How many of 300 executions are alone, which then take 68 ms; those of all take `all`.
static int count_alone(double price, double all) {
    cal_pace pace;
    cal_pace_tries tries = {0};
    int alone = 0;
    cal_pace_begin(&pace, price);
    for (int i = 0; i < 300; i++) {
        alone += cal_pace_is_alone(&pace) ? 1 : 0;
        cal_pace_note(&pace, &tries, cal_pace_is_alone(&pace) ? 68e-3 : all);
    }
    return alone;
}

// Of a model whose executions take long, none is alone where the price says so, and one says enough where it does not.
static void large_models_begin_with_all(void** state) {
    (void)state;
    assert_int_equal(count_alone(20e-3, 6e-3), 0);
    assert_int_equal(count_alone(1e-3, 6e-3), 1);
    assert_int_equal(count_alone(20e-3, 40e-3), 1); // the price is too low
    // Cores that are busy all the time: but for one try and those that a hundredth of the time pays for, all are alone.
    assert_in_range(count_alone(20e-3, 400e-3), 290, 299);
}

// The price that a state begins with is that of its plan's joints.
static void states_know_the_price(void** state) {
    (void)state;
    cal_threads_def def = cal_default_threads_def();
    cal_machine* threads = NULL;
    cal_model* model = NULL;
    cal_error error;
    def.workers = 2;
    assert_int_equal(cal_machine_threads(&def, &threads, NULL), CAL_OK);
    if (cal_model_generate("mobile:s=3,l=4,o=5", &model, &error)) fail_msg("%s", error.text);
    for (int large = 0; large < 2; large++) {
        cal_plan* plan = NULL;
        cal_state* first = NULL;
        threads->costs.compute = large ? 1e-3 : 1e-7; // of 120 joints and more: longer than a time slice, or shorter
        if (cal_plan_create(model, "aba", threads, &plan, &error)) fail_msg("%s", error.text);
        assert_int_equal(cal_plan_processors(plan), 2);
        assert_int_equal(cal_state_create(plan, &first), CAL_OK);
        assert_int_equal(cal_pace_is_alone(&first->pace), !large);
        cal_state_destroy(first);
        cal_plan_destroy(plan);
    }
    cal_model_destroy(model);
    cal_machine_destroy(threads);
}

static void load_that_comes_and_goes_is_followed(void** state) {
    (void)state;
    cores c = {0};
    run(&c, 1.0, false, INFINITY);
    const cores before = c;
    run(&c, 2.0, true, INFINITY); // until what was saved is lost again, and a try more
    cal_test_expect_below((c.time - before.time) / (double)(c.count - before.count), 1.05 * ALONE, "an execution",
                          "busy");
    const cores loaded = c;
    run(&c, 8.0, false, INFINITY); // a try comes two seconds after the last one
    const double all = (double)(c.count - loaded.count - (c.alone - loaded.alone)) * ALL;
    cal_test_expect_below(1.0 - all / (c.time - loaded.time), 0.4, "time alone", "quiet again");
    assert_true(!cal_pace_is_alone(&c.pace));
}

// --- The same bits -------------------------------------------------------------------------------------------------------------------

static uint64_t hash_of(const cal_model* model, const char* solver, const char* algorithm, cal_machine* machine) {
    cal_sim_def def = cal_default_sim_def();
    double energy[2];
    def.solver = solver, def.algorithm = algorithm, def.machine = machine;
    const bool joins = strcmp(algorithm, "assembly") == 0;
    if (joins) def.schedule = "4";
    // Owners at random, so that all have a part and each waits for others.
    int32_t* owners = calloc((size_t)cal_model_joint_count(model), sizeof *owners);
    cal_random random = {5};
    for (int i = 0; machine && i < cal_model_joint_count(model); i++)
        owners[i] = cal_random_below(&random, cal_machine_processors(machine));
    if (machine && !joins) def.processor_of_joint = owners;
    cal_sim* sim = cal_test_create_sim(model, &def);
    free(owners);
    for (int i = 1; i <= 2; i++) {
        cal_test_advance_sim(sim, 0.02 * i);
        assert_int_equal(cal_sim_energy(sim, &energy[0], &energy[1]), CAL_OK);
    }
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    return hash;
}

static void who_runs_the_parts_changes_no_bit(void** state) {
    (void)state;
    static const char* const runs[][3] = {{"mobile:s=3,l=4,o=5", "gear", "aba"},
                                          {"mobile:s=2,l=4,o=5", "bdf", "aba"},
                                          {"tower:n=30", "rkf", "aba"},
                                          {"chain:n=60", "gear", "assembly"},
                                          {"tree:height=4,fanout=3,joint=ball", "rk4", "armstrong"}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        cal_model* model = NULL;
        cal_error error;
        if (!cal_solver_help(runs[i][1])) continue;
        if (cal_model_generate(runs[i][0], &model, &error)) fail_msg("%s", error.text);
        const uint64_t wanted = hash_of(model, runs[i][1], runs[i][2], NULL);
        for (int workers = 2; workers <= 3; workers++) {
            cal_threads_def def = cal_default_threads_def();
            cal_machine* threads = NULL;
            def.workers = workers;
            assert_int_equal(cal_machine_threads(&def, &threads, NULL), CAL_OK);
            cal_machine_vary(threads, 7 + i);
            if (hash_of(model, runs[i][1], runs[i][2], threads) != wanted)
                fail_msg("%s with %s and %d threads, which change from one execution to the next, ends elsewhere",
                         runs[i][0], runs[i][1], workers);
            cal_machine_destroy(threads);
        }
        cal_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_cores_cost_a_few_slices),
        cmocka_unit_test(quiet_cores_are_used),
        cmocka_unit_test(clocks_may_go_back),
        cmocka_unit_test(large_models_begin_with_all),
        cmocka_unit_test(states_know_the_price),
        cmocka_unit_test(load_that_comes_and_goes_is_followed),
        cmocka_unit_test(who_runs_the_parts_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
