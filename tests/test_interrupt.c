// An advance that is interrupted, at any step or event, ends at a state that is whole, and going on gives the bits that there were without:
// for every kind of solver, loop and machine, also from a checkpoint that was written there.
#include "base/hash.h"
#include "base/random.h"
#include "calder/calder_run.h"
#include "place.h"
#include "simulation/domain/domain.h"
#include "support_world.h"
#include <math.h>
#include <string.h>

// Ends every so many questions, at random; 0: never.
typedef struct bell {
    cal_random random;
    int most, left;
    int64_t asked, rung;
} bell;

static bool ring(void* user) {
    bell* b = user;
    b->asked++;
    if (b->most == 0 || b->left-- > 0) return false;
    b->left = cal_random_below(&b->random, b->most);
    b->rung++;
    return true;
}

static bell make_bell(int most, uint64_t seed) { return (bell){.random = {seed}, .most = most, .left = 1}; }

// Whether an advance was interrupted on its way between two times; the test fails where something else went wrong.
static bool was_interrupted(cal_status status, const cal_error* error, double before, double now, double time) {
    if (status != CAL_OK && status != CAL_INTERRUPTED) fail_msg("%s", error->text);
    if (status == CAL_OK) {
        assert_true(now == time);
        return false;
    }
    assert_non_null(strstr(error->text, "interrupted at t = "));
    assert_true(now > before && now < time); // each gets on
    return true;
}

// --- Simulations ---------------------------------------------------------------------------------------------------------------

// saves: every interruption is a checkpoint, from which another simulation goes on.
static uint64_t run_sim(const cal_model* model, cal_sim_def def, bell* b, double time, bool saves) {
    cal_error error = {CAL_OK, ""};
    def.interrupt = ring, def.interrupt_user = b;
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_project(sim, &error)) fail_msg("%s", error.text);
    for (bool goes_on = true; goes_on;) {
        const double before = cal_sim_time(sim);
        const cal_status status = cal_sim_advance(sim, time, &error);
        goes_on = was_interrupted(status, &error, before, cal_sim_time(sim), time);
        assert_non_null(cal_sim_q(sim));
        double kinetic, potential;
        assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
        if (!goes_on || !saves) continue;
        cal_sim* other = NULL;
        char path[CAL_TEST_PATH];
        cal_test_path(path, "cut.cal");
        if (cal_sim_save(sim, path, &error)) fail_msg("%s", error.text);
        if (cal_sim_create(model, &def, &other, &error) || cal_sim_load(other, path, &error))
            fail_msg("%s", error.text);
        assert_true(cal_sim_hash(other) == cal_sim_hash(sim));
        cal_sim_destroy(sim);
        sim = other;
    }
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    return hash;
}

static void expect_same(const cal_model* model, const char* name, const cal_sim_def* def, double time) {
    bell never = make_bell(0, 0);
    const uint64_t whole = run_sim(model, *def, &never, time, false);
    const int64_t steps = never.asked;
    if (steps < 4) fail_msg("%s by %s is asked %lld times", name, def->solver, (long long)steps);
    // A checkpoint starts BDF afresh.
    for (int round = 0; round < (strcmp(def->solver, "bdf") == 0 ? 2 : 3); round++) {
        // A few interruptions of long stretches, one of nearly every step, and some with a checkpoint at each.
        const int most = round == 1 ? 2 : (int)(steps / 4) + 1;
        bell b = make_bell(most, 7u + (uint64_t)round);
        const uint64_t hash = run_sim(model, *def, &b, time, round == 2);
        if (b.rung == 0) fail_msg("%s by %s was never interrupted", name, def->solver);
        if (hash != whole)
            fail_msg("%s by %s: other bits after %lld interruptions", name, def->solver, (long long)b.rung);
    }
}

static void systems_go_on_with_the_same_bits(void** state) {
    (void)state;
    static const struct {
        const char *model, *solver, *algorithm;
        double time;
    } runs[] = {{"mobile:s=3,l=3,o=5", "gear", "aba", 1.0}, {"random:n=30,seed=5", "rkf", "aba", 0.7},
                {"random:n=30,seed=5", "rkg", "aba", 0.7},  {"random:n=20,seed=3", "rki", "assembly", 0.5},
                {"humanoid:floor=0", "rk4", "aba", 0.1},    {"chain:n=10", "euler", "aba", 0.1},
                {"chain:n=10", "implicit", "aba", 0.5},     {"chain:n=10", "bdf", "aba", 0.5},
                {"fourbar:n=2", "rkck", "aba", 1.0},        {"fourbar:n=2", "gear", "assembly", 1.0},
                {"fourbar:n=2", "bdf", "aba", 0.5},         {"andrews", "gear", "aba", 0.01}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        if (!cal_solver_help(runs[i].solver)) continue;
        cal_model* model = cal_test_model(runs[i].model);
        cal_sim_def def = cal_default_sim_def();
        def.solver = runs[i].solver, def.algorithm = runs[i].algorithm;
        expect_same(model, runs[i].model, &def, runs[i].time);
        cal_model_destroy(model);
    }
}

// Joints that come to their stops and rest there: events of a system's own.
static void stops_and_threads_go_on_with_the_same_bits(void** state) {
    (void)state;
    cal_model* plain = cal_test_model("chain:n=8");
    cal_model* model = cal_test_dress(plain, 11);
    cal_threads_def threads = cal_default_threads_def();
    cal_sim_def def = cal_default_sim_def();
    threads.workers = 2;
    assert_int_equal(cal_machine_threads(&threads, &def.machine, NULL), CAL_OK);
    expect_same(model, "a chain with stops", &def, 0.5);
    cal_machine_destroy(def.machine);
    cal_model_destroy(model);
    cal_model_destroy(plain);
}

static void events_go_on_with_the_same_bits(void** state) {
    (void)state;
    cal_model* model = cal_test_model("humanoid");
    cal_sim_def def = cal_default_sim_def();
    expect_same(model, "humanoid", &def, CAL_TEST_SANITIZED ? 0.1 : 0.5);
    cal_model_destroy(model);
}

// --- Worlds --------------------------------------------------------------------------------------------------------------------

typedef struct world_case {
    const char* scene;
    cal_world_loop loop;
    double time, forced;
    int domains, workers; // 0: as the world likes; one core
} world_case;

// A hash over all events and the end.
static uint64_t run_world(const world_case* c, bell* b) {
    cal_sim_def systems = cal_default_sim_def();
    cal_world_def def = cal_default_world_def();
    cal_threads_def threads = cal_default_threads_def();
    cal_error error = {CAL_OK, ""};
    threads.workers = c->workers;
    if (c->workers > 0 && cal_machine_threads(&threads, &systems.machine, &error)) fail_msg("%s", error.text);
    def.systems = &systems;
    def.loop = c->loop, def.forced_rollbacks = c->forced;
    def.separate = true;
    def.interrupt = ring, def.interrupt_user = b;
    cal_world* world = cal_test_scene(c->scene, &def);
    if (c->domains > 0 && cal_world_divide(world, c->domains, 0.01, &error)) fail_msg("%s", error.text);
    uint64_t hash = CAL_HASH_START;
    for (bool goes_on = true; goes_on;) {
        const double before = cal_world_time(world);
        const cal_status status = cal_world_advance(world, c->time, &error);
        goes_on = was_interrupted(status, &error, before, cal_world_time(world), c->time);
        cal_world_event event;
        while (cal_world_next_event(world, &event)) {
            assert_true(event.time <= cal_world_time(world));
            const double numbers[] = {event.time, event.impulse, event.body[0].index, event.body[1].index};
            hash = cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
        }
    }
    hash = cal_hash_word(hash, cal_test_report(world).hash);
    cal_world_destroy(world);
    cal_machine_destroy(systems.machine);
    return hash;
}

static void worlds_go_on_with_the_same_bits(void** state) {
    (void)state;
    static const world_case cases[] = {{"atoms:n=60", CAL_TIMEWARP, 0.5, 0.0, 0, 0},
                                       {"atoms:n=60", CAL_TIMEWARP, 0.3, 0.3, 0, 0},
                                       {"avalanche:n=20", CAL_TIMEWARP, 0.8, 0.0, 0, 0},
                                       {"robots:n=2,boxes=2", CAL_TIMEWARP, 0.3, 0.1, 0, 0},
                                       {"stack:kind=dominoes,n=4", CAL_TIMEWARP, 0.5, 0.0, 0, 0},
                                       {"atoms:n=20", CAL_CONSERVATIVE, 0.2, 0.0, 0, 0},
                                       {"stack:kind=wall,n=2", CAL_CONSERVATIVE, 0.3, 0.0, 0, 0},
                                       {"atoms:n=20", CAL_RETROACTIVE, 0.3, 0.0, 0, 0},
                                       {"stack:kind=wall,n=2", CAL_RETROACTIVE, 0.3, 0.0, 0, 0},
                                       {"atoms:n=60", CAL_TIMEWARP, 0.5, 0.1, 5, 0},
                                       {"avalanche:n=20", CAL_TIMEWARP, 0.8, 0.0, 3, 2},
                                       {"atoms:n=300", CAL_TIMEWARP, 0.3, 0.0, 0, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const world_case* c = &cases[i];
        bell never = make_bell(0, 0);
        const uint64_t whole = run_world(c, &never);
        if (never.asked < 4) fail_msg("%s is asked %lld times", c->scene, (long long)never.asked);
        for (int round = 0; round < 2; round++) {
            bell b = make_bell(round == 1 ? 3 : (int)(never.asked / 4) + 1, 3 + i);
            const uint64_t hash = run_world(c, &b);
            if (b.rung == 0) fail_msg("%s (case %zu) was never interrupted", c->scene, i);
            if (hash != whole)
                fail_msg("%s (case %zu): other bits after %lld interruptions", c->scene, i, (long long)b.rung);
        }
    }
}

// --- Many at once --------------------------------------------------------------------------------------------------------------

static uint64_t run_ensemble(const cal_model* model, cal_ensemble_def def, bell* b, double time) {
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    def.sim.interrupt = ring, def.sim.interrupt_user = b;
    if (cal_ensemble_create_def(model, &def, &ensemble, &error)) fail_msg("%s", error.text);
    for (bool goes_on = true; goes_on;) {
        const double before = cal_ensemble_time(ensemble);
        const cal_status status = cal_ensemble_advance(ensemble, time, &error);
        goes_on = was_interrupted(status, &error, before, cal_ensemble_time(ensemble), time);
    }
    const uint64_t hash = cal_ensemble_hash(ensemble);
    cal_ensemble_destroy(ensemble);
    return hash;
}

static void ensembles_go_on_with_the_same_bits(void** state) {
    (void)state;
    static const struct {
        const char *model, *solver;
        double time;
    } runs[] = {
        {"chain:n=5", "rk4", 0.5}, {"chain:n=5", "gear", 0.5}, {"fourbar", "rkf", 0.5}, {"stickman", "auto", 0.3}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i].model);
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = 5, def.spread = 0.01;
        def.sim.solver = runs[i].solver;
        bell never = make_bell(0, 0), b = make_bell(2, 5);
        const uint64_t whole = run_ensemble(model, def, &never, runs[i].time);
        if (run_ensemble(model, def, &b, runs[i].time) != whole || b.rung == 0)
            fail_msg("%s by %s: other bits after %lld interruptions", runs[i].model, runs[i].solver, (long long)b.rung);
        cal_model_destroy(model);
    }
}

// A batch is asked before it has worked for long, however short the steps of its instances are: these turn by 1e7 rad/s.
static void fast_ensembles_are_asked_soon(void** state) {
    (void)state;
    static const char* const solvers[] = {"rkf", "gear"};
    cal_builder* builder = cal_test_builder(0.0);
    cal_body_def body = cal_default_body_def();
    body.mass = 1.0;
    for (int i = 0; i < 3; i++) body.inertia[i] = 1.0;
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = CAL_REVOLUTE;
    joint.stiffness = 1e14, joint.initial_q[0] = 0.1;
    assert_true(cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint) >= 0);
    cal_model* model = cal_test_finish(builder);
    for (int i = 0; i < 2; i++) {
        bell b = make_bell(1, 1);
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = 2;
        def.sim.solver = solvers[i];
        def.sim.interrupt = ring, def.sim.interrupt_user = &b;
        b.left = 0;
        cal_ensemble* ensemble = NULL;
        cal_ensemble_report report;
        cal_error error = {CAL_OK, ""};
        assert_int_equal(cal_ensemble_create_def(model, &def, &ensemble, &error), CAL_OK);
        assert_int_equal(cal_ensemble_advance(ensemble, 1.0, &error), CAL_INTERRUPTED);
        cal_ensemble_get_report(ensemble, &report);
        cal_test_expect_below((double)report.evaluations, 2.0 * CAL_HEADWAY_EVALUATIONS, "evaluations", solvers[i]);
        cal_ensemble_destroy(ensemble);
    }
    cal_model_destroy(model);
}

static uint64_t run_randomized(const cal_model* model, int workers, bell* b) {
    cal_rps_def def = cal_default_rps_def();
    cal_threads_def threads = cal_default_threads_def();
    cal_rps* rps = NULL;
    cal_rps_report report;
    cal_error error = {CAL_OK, ""};
    threads.workers = workers;
    if (workers > 0 && cal_machine_threads(&threads, &def.machine, &error)) fail_msg("%s", error.text);
    def.interrupt = ring, def.interrupt_user = b;
    if (cal_rps_create(model, &def, &rps, &error)) fail_msg("%s", error.text);
    for (bool goes_on = true; goes_on;) {
        cal_rps_get_report(rps, &report);
        const double before = report.time;
        const cal_status status = cal_rps_advance(rps, 0.505, &error);
        cal_rps_get_report(rps, &report);
        goes_on = was_interrupted(status, &error, before, report.time, 0.505);
    }
    const uint64_t hash = cal_rps_hash(rps);
    cal_rps_destroy(rps);
    cal_machine_destroy(def.machine);
    return hash;
}

static void randomized_simulations_go_on_with_the_same_bits(void** state) {
    (void)state;
    cal_model* model = cal_test_model("rail");
    for (int workers = 0; workers <= 2; workers += 2) {
        bell never = make_bell(0, 0), b = make_bell(5, 5);
        const uint64_t whole = run_randomized(model, workers, &never);
        assert_true(run_randomized(model, workers, &b) == whole && b.rung > 0);
    }
    cal_model_destroy(model);
}

// A run hands it on.
static void runs_are_interrupted(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=10");
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_error error = {CAL_OK, ""};
    uint64_t hashes[2];
    for (int i = 0; i < 2; i++) {
        bell b = make_bell(i == 0 ? 0 : 20, 5);
        cal_run* run = NULL;
        def.sim.interrupt = ring, def.sim.interrupt_user = &b;
        if (cal_run_create_sim(model, &def, &run, &error)) fail_msg("%s", error.text);
        for (bool goes_on = true; goes_on;) {
            const double before = cal_run_time(run);
            const cal_status status = cal_run_advance(run, 1.0, &error);
            goes_on = was_interrupted(status, &error, before, cal_run_time(run), 1.0);
        }
        assert_true(b.rung > 0 || i == 0);
        hashes[i] = cal_run_hash(run);
        cal_run_destroy(run);
    }
    assert_true(hashes[0] == hashes[1]);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_go_on_with_the_same_bits),
        cmocka_unit_test(stops_and_threads_go_on_with_the_same_bits),
        cmocka_unit_test(events_go_on_with_the_same_bits),
        cmocka_unit_test(worlds_go_on_with_the_same_bits),
        cmocka_unit_test(ensembles_go_on_with_the_same_bits),
        cmocka_unit_test(fast_ensembles_are_asked_soon),
        cmocka_unit_test(randomized_simulations_go_on_with_the_same_bits),
        cmocka_unit_test(runs_are_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
