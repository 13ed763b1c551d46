// Ensembles: an instance has the bits of a simulation by itself, whatever runs it, and whatever becomes of the others.
#include "base/memory.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cal_machine* make_threads(int workers) {
    cal_threads_def def = cal_default_threads_def();
    cal_machine* machine = NULL;
    def.workers = workers;
    assert_int_equal(cal_machine_threads(&def, &machine, NULL), CAL_OK);
    return machine;
}

static cal_ensemble* make_ensemble(const cal_model* model, const cal_ensemble_def* def) {
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_ensemble_create_def(model, def, &ensemble, &error)) fail_msg("%s", error.text);
    return ensemble;
}

static void advance(cal_ensemble* ensemble, double time) {
    cal_error error = {CAL_OK, ""};
    if (cal_ensemble_advance(ensemble, time, &error)) fail_msg("%s", error.text);
}

// Energy goes where it goes in a simulation by itself; lanes add its flows up in another order.
static void expect_balance(cal_sim* sim, cal_ensemble* ensemble, int instance) {
    cal_energy_balance single, own;
    assert_int_equal(cal_sim_balance(sim, &single), CAL_OK);
    assert_int_equal(cal_ensemble_balance(ensemble, instance, &own), CAL_OK);
    const double unit = 1e-12 * (1.0 + fabs(single.start) + single.exchanged);
    cal_test_expect_below(fabs(own.start - single.start), unit, "energy", "start");
    cal_test_expect_below(fabs(own.work - single.work), unit, "energy", "work");
    cal_test_expect_below(fabs(own.loss - single.loss), unit, "energy", "loss");
    cal_test_expect_below(fabs(own.closing - single.closing), unit, "energy", "closing");
    cal_test_expect_below(fabs(own.exchanged - single.exchanged), unit, "energy", "exchanged");
    cal_test_expect_below(fabs(own.error - single.error), 10.0 * unit, "energy", "balance");
    assert_true(own.flows == single.flows && own.exploded == single.exploded);
}

// Runs a simulation by itself from an instance's start, over the same times, and compares bits and counts.
static void expect_single(const cal_model* model, const cal_ensemble_def* def, const double* times, int count) {
    cal_ensemble_def accounted = *def;
    accounted.account = true;
    cal_ensemble* ensemble = make_ensemble(model, &accounted);
    double* q = cal_test_numbers((size_t)cal_model_q_count(model));
    double* v = cal_test_numbers((size_t)cal_model_v_count(model));
    cal_sim** sims = calloc((size_t)def->count, sizeof *sims);
    cal_sim_report single, sum = {0};
    cal_ensemble_report report;
    for (int i = 0; i < def->count; i++) {
        assert_int_equal(cal_ensemble_get(ensemble, i, q, v), CAL_OK);
        assert_int_equal(cal_sim_create(model, &def->sim, &sims[i], NULL), CAL_OK);
        assert_int_equal(cal_sim_set(sims[i], 0.0, q, v, NULL), CAL_OK);
        // Lengths of quaternions are rounded again: begin where the simulation does.
        assert_int_equal(cal_ensemble_set(ensemble, i, q, v), CAL_OK);
    }
    for (int k = 0; k < count; k++) {
        advance(ensemble, times[k]);
        for (int i = 0; i < def->count; i++) {
            double kinetic[2], potential[2];
            assert_int_equal(cal_sim_advance(sims[i], times[k], NULL), CAL_OK);
            cal_ensemble_get(ensemble, i, q, v);
            assert_memory_equal(q, cal_sim_q(sims[i]), (size_t)cal_model_q_count(model) * sizeof *q);
            assert_memory_equal(v, cal_sim_v(sims[i]), (size_t)cal_model_v_count(model) * sizeof *v);
            assert_int_equal(cal_sim_energy(sims[i], &kinetic[0], &potential[0]), CAL_OK);
            assert_int_equal(cal_ensemble_energy(ensemble, i, &kinetic[1], &potential[1]), CAL_OK);
            assert_true(kinetic[0] == kinetic[1] && potential[0] == potential[1]);
            expect_balance(sims[i], ensemble, i);
        }
    }
    for (int i = 0; i < def->count; i++) {
        cal_sim_get_report(sims[i], &single);
        sum.steps += single.steps, sum.evaluations += single.evaluations, sum.rejected += single.rejected;
        cal_sim_destroy(sims[i]);
    }
    cal_ensemble_get_report(ensemble, &report);
    assert_int_equal(report.steps, sum.steps);
    assert_int_equal(report.evaluations, sum.evaluations);
    assert_int_equal(report.rejected, sum.rejected);
    cal_ensemble_destroy(ensemble);
    free(sims), free(q), free(v);
}

static const double times[] = {0.01, 0.0234, 0.05};

static void instances_are_simulations(void** state) {
    (void)state;
    static const char* const runs[][2] = {{"fourbar:n=2", "gear"},
                                          {"tower:n=4", "gear"},
                                          {"ring:n=8", "rkf"},
                                          {"fourbar:n=2", "rkf"},
                                          {"bricard", "rk4"},
                                          {"fourbar", "bdf"},
                                          {"chain:n=6", "gear"},
                                          {"tree:height=3,fanout=2,joint=ball", "iec"},
                                          {"random:n=12,passive=1,stop=50", "rkg"}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        if (!cal_solver_help(runs[i][1])) continue;
        cal_model* model = cal_test_model(runs[i][0]);
        cal_machine* threads = make_threads(2);
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = 3;
        def.sim.solver = runs[i][1];
        def.spread = cal_model_constraint_count(model) > 0 ? 0.0 : 0.01;
        expect_single(model, &def, times, 3);
        def.machine = threads;
        expect_single(model, &def, times, 3);
        cal_machine_destroy(threads);
        cal_model_destroy(model);
    }
}

static void lanes_are_simulations(void** state) {
    (void)state;
    static const char* const models[] = {"humanoid:floor=0", "random:n=20,seed=3,passive=1,stop=50",
                                         "chain:n=5,joint=ball"};
    static const char* const solvers[] = {"rk4", "euler"};
    for (size_t i = 0; i < 6; i++) {
        cal_model* model = cal_test_model(models[i / 2]);
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = 11;
        def.sim.solver = solvers[i % 2];
        def.spread = 0.05;
        expect_single(model, &def, times, 3);
        cal_model_destroy(model);
    }
}

static uint64_t run_hash(const cal_model* model, const cal_ensemble_def* def) {
    cal_ensemble* ensemble = make_ensemble(model, def);
    advance(ensemble, 0.0307);
    advance(ensemble, 0.05);
    const uint64_t hash = cal_ensemble_hash(ensemble);
    cal_ensemble_destroy(ensemble);
    return hash;
}

static void machines_agree(void** state) {
    (void)state;
    static const char* const runs[][2] = {
        {"humanoid:floor=0", "rk4"}, {"humanoid:floor=0", "gear"}, {"fourbar:n=2", "gear"}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i][0]);
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = 19;
        def.sim.solver = runs[i][1];
        def.spread = 0.002;
        def.lanes = 1;
        const uint64_t hash = run_hash(model, &def);
        for (int lanes = 2; lanes <= cal_best_lanes(); lanes *= 2) {
            def.lanes = lanes;
            assert_true(run_hash(model, &def) == hash);
        }
        def.lanes = 0;
        for (int workers = 1; workers <= 4; workers++) {
            def.machine = make_threads(workers);
            assert_true(run_hash(model, &def) == hash);
            cal_machine_destroy(def.machine);
            def.machine = NULL;
        }
        def.seed = 1;
        assert_false(run_hash(model, &def) == hash);
        cal_model_destroy(model);
    }
}

// Instances whose shapes touch: as a simulation by itself, on any machine.
static void contacts_are_those_of_simulations(void** state) {
    (void)state;
    cal_model* model = cal_test_model("humanoid");
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_sim_def single = cal_default_sim_def();
    cal_error error = {0};
    cal_sim* sim = NULL;
    def.count = 3;
    def.spread = 0;
    uint64_t hash = 0;
    for (int workers = 0; workers <= 3; workers++) {
        cal_ensemble* ensemble = NULL;
        def.machine = workers > 0 ? make_threads(workers) : NULL;
        if (cal_ensemble_create_def(model, &def, &ensemble, &error)) fail_msg("%s", error.text);
        if (cal_ensemble_advance(ensemble, 0.1, &error)) fail_msg("%s", error.text);
        if (workers == 0) hash = cal_ensemble_hash(ensemble);
        assert_true(cal_ensemble_hash(ensemble) == hash);
        if (workers == 3) {
            double q[128], v[128];
            assert_int_equal(cal_ensemble_get(ensemble, 2, q, v), CAL_OK);
            if (cal_sim_create(model, &single, &sim, &error) || cal_sim_advance(sim, 0.1, &error))
                fail_msg("%s", error.text);
            assert_memory_equal(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q);
            assert_memory_equal(v, cal_sim_v(sim), (size_t)cal_model_v_count(model) * sizeof *v);
        }
        cal_ensemble_destroy(ensemble);
        cal_machine_destroy(def.machine);
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Instance 0 of an ensemble of one starts and moves as that of an ensemble of many.
static void numbers_do_not_matter(void** state) {
    (void)state;
    cal_model* model = cal_test_model("humanoid");
    double q[2][64], v[2][64];
    for (int i = 0; i < 2; i++) {
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = i == 0 ? 1 : 30;
        def.sim.solver = "rk4";
        def.spread = 0.1;
        cal_ensemble* ensemble = make_ensemble(model, &def);
        advance(ensemble, 0.02);
        cal_ensemble_get(ensemble, 0, q[i], v[i]);
        cal_ensemble_destroy(ensemble);
    }
    assert_memory_equal(q[0], q[1], (size_t)cal_model_q_count(model) * sizeof(double));
    assert_memory_equal(v[0], v[1], (size_t)cal_model_v_count(model) * sizeof(double));
    cal_model_destroy(model);
}

// States that are set and forces that change inside a step restart that instance alone.
static void instances_have_clocks(void** state) {
    (void)state;
    enum { COUNT = 9, MOVED = 2, DRIVEN = 5 };
    cal_model* model = cal_test_model("random:n=8,seed=2,passive=1,stop=50");
    const size_t q_count = (size_t)cal_model_q_count(model), v_count = (size_t)cal_model_v_count(model);
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_test_motion motion = cal_test_random_motion(model, 4);
    static const char* const solvers[] = {"rk4", "euler", "gear"};
    for (size_t s = 0; s < 3; s++) {
        def.count = COUNT;
        def.account = true;
        def.sim.solver = solvers[s];
        cal_ensemble* ensemble = make_ensemble(model, &def);
        cal_sim* sims[COUNT];
        for (int i = 0; i < COUNT; i++) assert_int_equal(cal_sim_create(model, &def.sim, &sims[i], NULL), CAL_OK);
        for (int k = 1; k <= 6; k++) {
            const double time = 0.00237 * k;
            double *q = cal_test_numbers(q_count), *v = cal_test_numbers(v_count);
            advance(ensemble, time);
            for (int i = 0; i < COUNT; i++) {
                assert_int_equal(cal_sim_advance(sims[i], time, NULL), CAL_OK);
                cal_ensemble_get(ensemble, i, q, v);
                assert_memory_equal(q, cal_sim_q(sims[i]), q_count * sizeof *q);
                assert_memory_equal(v, cal_sim_v(sims[i]), v_count * sizeof *v);
                expect_balance(sims[i], ensemble, i);
            }
            if (k == 2) {
                assert_int_equal(cal_ensemble_set(ensemble, MOVED, q, motion.v), CAL_OK);
                assert_int_equal(cal_sim_set(sims[MOVED], time, q, motion.v, NULL), CAL_OK);
            }
            if (k == 3) {
                assert_int_equal(cal_ensemble_drive(ensemble, DRIVEN, motion.tau, motion.control, NULL), CAL_OK);
                assert_int_equal(cal_sim_drive(sims[DRIVEN], motion.tau, motion.control, NULL), CAL_OK);
            }
            free(q), free(v);
        }
        for (int i = 0; i < COUNT; i++) cal_sim_destroy(sims[i]);
        cal_ensemble_destroy(ensemble);
    }
    cal_test_motion_free(&motion);
    cal_model_destroy(model);
}

static void spoil(cal_force_context* context, void* user) {
    if (context->instance == *(const int*)user && context->time > 0.02) context->tau[0] = (double)NAN;
}

static void compare_others(const cal_model* model, const cal_ensemble_def* good, const cal_ensemble_def* bad, int lost,
                           double speed) {
    const size_t q_count = (size_t)cal_model_q_count(model), v_count = (size_t)cal_model_v_count(model);
    double *q[2], *v[2], *fast = cal_test_numbers(v_count);
    cal_error error = {CAL_OK, ""};
    cal_ensemble *well = make_ensemble(model, good), *ill = make_ensemble(model, bad);
    for (int i = 0; i < 2; i++) q[i] = cal_test_numbers(q_count), v[i] = cal_test_numbers(v_count);
    for (size_t i = 0; i < v_count; i++) fast[i] = speed;
    if (speed > 0.0) assert_int_equal(cal_ensemble_set(ill, lost, NULL, fast), CAL_OK);
    cal_ensemble_get(ill, lost, q[0], v[0]);
    advance(well, 0.1);
    assert_int_equal(cal_ensemble_advance(ill, 0.1, &error), CAL_NOT_FINITE);
    char name[32];
    snprintf(name, sizeof name, "instance %d: ", lost);
    assert_ptr_equal(strstr(error.text, name), error.text);
    assert_int_equal(cal_ensemble_status(ill, lost, &error), CAL_NOT_FINITE);
    assert_non_null(strstr(error.text, "is kept"));
    cal_ensemble_get(ill, lost, q[1], v[1]);
    assert_memory_equal(q[0], q[1], q_count * sizeof(double));
    assert_memory_equal(v[0], v[1], v_count * sizeof(double));
    assert_true(cal_ensemble_time(ill) == 0.1);
    for (int i = 0; i < good->count; i++) {
        if (i == lost) continue;
        assert_int_equal(cal_ensemble_status(ill, i, NULL), CAL_OK);
        cal_ensemble_get(well, i, q[0], v[0]);
        cal_ensemble_get(ill, i, q[1], v[1]);
        assert_memory_equal(q[0], q[1], q_count * sizeof(double));
        assert_memory_equal(v[0], v[1], v_count * sizeof(double));
    }
    // It rests, and goes on from where it is put; the others do not notice.
    assert_int_equal(cal_ensemble_advance(ill, 0.11, NULL), CAL_NOT_FINITE);
    cal_ensemble_report report;
    cal_ensemble_get_report(ill, &report);
    assert_int_equal(report.failed, 1);
    cal_ensemble_get(well, lost, q[0], v[0]);
    if (speed > 0.0) {
        assert_int_equal(cal_ensemble_set(ill, lost, q[0], v[0]), CAL_OK);
        advance(ill, 0.12);
    }
    for (int i = 0; i < 2; i++) free(q[i]), free(v[i]);
    free(fast);
    cal_ensemble_destroy(well);
    cal_ensemble_destroy(ill);
}

static void failures_stay_alone(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=4");
    cal_machine* threads = make_threads(3);
    cal_ensemble_def good = cal_default_ensemble_def(), bad;
    good.count = 13;
    good.spread = 0.1;
    int lost = 6;
    for (int i = 0; i < 2; i++) {
        good.machine = i ? threads : NULL;
        good.sim.solver = "rk4";
        good.sim.force = NULL;
        compare_others(model, &good, &good, lost, 1e200); // in lanes
        good.sim.solver = "gear";
        bad = good;
        bad.sim.force = spoil;
        bad.sim.user = &lost;
        compare_others(model, &good, &bad, lost, 0.0);
        compare_others(model, &good, &good, lost, 1e200);
    }
    cal_machine_destroy(threads);
    cal_model_destroy(model);
}

static void steps_and_forward_dynamics_spread(void** state) {
    (void)state;
    enum { COUNT = 21 };
    cal_model* model = cal_test_model("humanoid:floor=0");
    const size_t q_count = (size_t)cal_model_q_count(model), v_count = (size_t)cal_model_v_count(model);
    double *q = cal_test_numbers(COUNT * q_count), *v = cal_test_numbers(COUNT * v_count), *qdd[2];
    uint64_t hash[2];
    for (size_t i = 0; i < COUNT; i++) {
        cal_test_motion motion = cal_test_random_motion(model, i);
        memcpy(q + i * q_count, motion.q, q_count * sizeof *q);
        memcpy(v + i * v_count, motion.v, v_count * sizeof *v);
        cal_test_motion_free(&motion);
    }
    for (int i = 0; i < 2; i++) {
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = COUNT;
        def.sim.solver = "rk4";
        def.machine = i ? make_threads(3) : NULL;
        cal_ensemble* ensemble = make_ensemble(model, &def);
        qdd[i] = cal_test_numbers(COUNT * v_count);
        assert_int_equal(cal_ensemble_forward(ensemble, q, v, NULL, qdd[i]), CAL_OK);
        assert_int_equal(cal_ensemble_step(ensemble, "euler", 1e-3, 5, NULL), CAL_OK);
        assert_true(fabs(cal_ensemble_time(ensemble) - 5e-3) < 1e-15);
        hash[i] = cal_ensemble_hash(ensemble);
        cal_ensemble_destroy(ensemble);
        cal_machine_destroy(def.machine);
    }
    assert_memory_equal(qdd[0], qdd[1], COUNT * v_count * sizeof(double));
    assert_true(hash[0] == hash[1]);
    cal_test_engine engine = cal_test_open(model, "aba", 0);
    for (size_t i = 0; i < COUNT; i++) {
        double* alone = cal_test_numbers(v_count);
        cal_state_set(engine.state, CAL_Q, q + i * q_count);
        cal_state_set(engine.state, CAL_V, v + i * v_count);
        cal_test_execute(&engine);
        cal_state_get(engine.state, CAL_QDD, alone);
        assert_memory_equal(alone, qdd[0] + i * v_count, v_count * sizeof(double));
        free(alone);
    }
    cal_test_close(&engine);
    free(q), free(v), free(qdd[0]), free(qdd[1]);
    cal_model_destroy(model);
}

// A block that slides, and stops once: an event.
static cal_model* sliding_block(void) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    cal_joint_def line = cal_default_joint_def();
    body.mass = 1.0;
    line.kind = CAL_PRISMATIC, line.axis[0] = 1.0, line.axis[2] = 0.0;
    line.friction_loss = 1.0, line.initial_v[0] = 0.1;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &line);
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    return model;
}

// So many events at one time that a simulation which had them all would not get on.
static void turns_leave_no_trace(void** state) {
    (void)state;
    cal_model* model = sliding_block();
    cal_sim* sim = NULL;
    cal_ensemble_def def = cal_default_ensemble_def();
    def.count = 150;
    def.sim.solver = "rkf";
    assert_int_equal(cal_sim_create(model, &def.sim, &sim, NULL), CAL_OK);
    cal_ensemble* ensemble = make_ensemble(model, &def);
    cal_test_advance_sim(sim, 0.2);
    advance(ensemble, 0.2);
    for (int i = 0; i < def.count; i++) {
        double q, v;
        cal_ensemble_get(ensemble, i, &q, &v);
        assert_true(q == *cal_sim_q(sim) && v == *cal_sim_v(sim));
    }
    cal_ensemble_destroy(ensemble);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A loop that is set anew is closed there as well as its own last steps were, not as those of whoever came before it.
static void loops_begin_anew_alone(void** state) {
    (void)state;
    enum { MOVED = 1, LOOKS = 16 };
    cal_model* model = cal_test_model("scissor:angle=0.1,n=2");
    const size_t q_count = (size_t)cal_model_q_count(model), v_count = (size_t)cal_model_v_count(model);
    double *q = cal_test_numbers(q_count), *v = cal_test_numbers(v_count);
    cal_sim* sim = NULL;
    cal_ensemble_def def = cal_default_ensemble_def();
    def.count = 3;
    def.sim.solver = "euler";
    def.spread = 0.01;
    cal_ensemble* ensemble = make_ensemble(model, &def);
    assert_int_equal(cal_sim_create(model, &def.sim, &sim, NULL), CAL_OK);
    for (int k = 0; k <= LOOKS; k++) {
        const double time = 0.0131 * k;
        advance(ensemble, time);
        if (k > 0) cal_test_advance_sim(sim, time);
        cal_ensemble_get(ensemble, MOVED, q, v);
        if (k > 0) assert_memory_equal(q, cal_sim_q(sim), q_count * sizeof *q);
        if (k > 0) assert_memory_equal(v, cal_sim_v(sim), v_count * sizeof *v);
        if (k > 0 && k < LOOKS - 1) continue;
        for (size_t i = 0; i < v_count && k > 0; i++) v[i] *= 0.5;
        assert_int_equal(cal_ensemble_set(ensemble, MOVED, q, v), CAL_OK);
        assert_int_equal(cal_sim_set(sim, time, q, v, NULL), CAL_OK);
    }
    cal_sim_destroy(sim);
    cal_ensemble_destroy(ensemble);
    free(q), free(v);
    cal_model_destroy(model);
}

// What is alike of closed loops is there once per worker, however many instances there are.
static void instances_share_what_is_alike(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar");
    int64_t made[2];
    for (int i = 0; i < 2; i++) {
        const int64_t before = cal_live_allocations();
        cal_ensemble_def def = cal_default_ensemble_def();
        def.count = i ? 300 : 3;
        def.sim.solver = "rk4";
        cal_ensemble* ensemble = make_ensemble(model, &def);
        advance(ensemble, 0.002);
        made[i] = cal_live_allocations() - before;
        cal_ensemble_destroy(ensemble);
    }
    assert_true(made[0] == made[1]);
    cal_model_destroy(model);
}

// Noise takes a loop apart; the nearest state that is closed is what an instance begins with.
static void noise_keeps_loops_closed(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar:n=2");
    cal_ensemble_def def = cal_default_ensemble_def();
    def.count = 5;
    def.spread = 0.01;
    cal_ensemble* ensemble = make_ensemble(model, &def);
    double q[2][16], v[2][16];
    for (int i = 0; i < def.count; i++) {
        cal_sim* sim;
        cal_constraint_report report;
        assert_int_equal(cal_ensemble_status(ensemble, i, NULL), CAL_OK);
        cal_ensemble_get(ensemble, i, q[i > 0], v[i > 0]);
        if (i > 0) assert_memory_not_equal(q[0], q[1], (size_t)cal_model_q_count(model) * sizeof(double));
        assert_int_equal(cal_sim_create(model, &def.sim, &sim, NULL), CAL_OK);
        assert_int_equal(cal_sim_set(sim, 0.0, q[i > 0], v[i > 0], NULL), CAL_OK);
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        cal_test_expect_below(report.error, 1e-10, "gap", "fourbar");
        cal_sim_destroy(sim);
    }
    advance(ensemble, 0.1);
    double poses[7 * 16], length = 0.0;
    assert_int_equal(cal_ensemble_poses(ensemble, 4, poses), CAL_OK);
    for (int i = 3; i < 7; i++) length += poses[i] * poses[i];
    cal_test_expect_below(fabs(length - 1.0), 1e-14, "quaternion", "fourbar");
    cal_ensemble_destroy(ensemble);
    cal_model_destroy(model);
}

static void mistakes_are_named(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=3,joint=ball");
    cal_model* loop = cal_test_model("fourbar");
    cal_machine* threads = make_threads(2);
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    cal_ensemble_def def = cal_default_ensemble_def(), wrong = {0};
    double numbers[16] = {0};
    assert_int_equal(cal_ensemble_create_def(model, &wrong, &ensemble, &error), CAL_BAD_ARGUMENT);
    wrong = def, wrong.count = 0;
    assert_int_equal(cal_ensemble_create_def(model, &wrong, &ensemble, &error), CAL_BAD_ARGUMENT);
    wrong = def, wrong.spread = (double)NAN;
    assert_int_equal(cal_ensemble_create_def(model, &wrong, &ensemble, &error), CAL_BAD_ARGUMENT);
    wrong = def, wrong.sim.solver = "magic";
    assert_int_equal(cal_ensemble_create_def(model, &wrong, &ensemble, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "magic"));
    wrong = def, wrong.machine = wrong.sim.machine = threads;
    assert_int_equal(cal_ensemble_create_def(model, &wrong, &ensemble, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "not both"));
    assert_null(ensemble);
    ensemble = make_ensemble(model, &def);
    assert_int_equal(cal_ensemble_set(ensemble, 1, numbers, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_ensemble_set(ensemble, 0, numbers, NULL), CAL_BAD_ARGUMENT); // quaternions of no length
    assert_int_equal(cal_ensemble_get(ensemble, -1, numbers, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_ensemble_status(ensemble, 7, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_ensemble_poses(ensemble, 7, numbers), CAL_BAD_ARGUMENT);
    cal_energy_balance balance;
    assert_int_equal(cal_ensemble_balance(ensemble, 7, &balance), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_ensemble_balance(ensemble, 0, &balance), CAL_NOT_AVAILABLE);
    numbers[0] = (double)INFINITY;
    assert_int_equal(cal_ensemble_drive(ensemble, 0, numbers, NULL, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_ensemble_advance(ensemble, (double)NAN, &error), CAL_BAD_ARGUMENT);
    advance(ensemble, 0.1);
    assert_int_equal(cal_ensemble_advance(ensemble, 0.05, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_ensemble_step(ensemble, "rk4", 1e-3, 1, &error), CAL_NOT_AVAILABLE);
    cal_ensemble_destroy(ensemble);
    assert_int_equal(cal_ensemble_create(loop, 2, 0, &ensemble, &error), CAL_OK);
    assert_int_equal(cal_ensemble_step(ensemble, "rk4", 1e-3, 1, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, "constraints"));
    advance(ensemble, 0.01);
    cal_ensemble_destroy(ensemble);
    cal_machine_destroy(threads);
    cal_model_destroy(loop);
    cal_model_destroy(model);
}

// Instances that are shared by the processors of a machine, one after the other.
static void machines_share_each_instance(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile:s=2,l=3,o=4");
    cal_ensemble_def def = cal_default_ensemble_def();
    def.count = 3;
    def.spread = 0.01;
    const uint64_t alone = run_hash(model, &def);
    def.sim.machine = make_threads(2);
    assert_true(run_hash(model, &def) == alone);
    cal_machine_destroy(def.sim.machine);
    cal_model_destroy(model);
}

static void memory_may_run_out(void** state) {
    (void)state;
    cal_model* models[] = {cal_test_model("chain:n=3"), cal_test_model("fourbar")};
    const int64_t before = cal_live_allocations();
    for (int i = 0; i < 2; i++) {
        cal_ensemble_def def = cal_default_ensemble_def();
        cal_ensemble* ensemble = NULL;
        cal_status status = CAL_NO_MEMORY;
        def.count = 3;
        def.account = true;
        def.sim.solver = i ? "gear" : "rk4";
        def.spread = 0.001;
        for (int64_t after = 0; status == CAL_NO_MEMORY; after++) {
            cal_error error = {CAL_OK, ""};
            cal_fail_allocation(after);
            status = cal_ensemble_create_def(models[i], &def, &ensemble, &error);
            cal_fail_allocation(-1);
            if (status) assert_true(error.text[0] != '\0');
            if (status) assert_int_equal(cal_live_allocations(), before);
        }
        assert_int_equal(status, CAL_OK);
        cal_ensemble_destroy(ensemble);
        assert_int_equal(cal_live_allocations(), before);
    }
    cal_model_destroy(models[0]);
    cal_model_destroy(models[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_are_simulations),
        cmocka_unit_test(lanes_are_simulations),
        cmocka_unit_test(contacts_are_those_of_simulations),
        cmocka_unit_test(machines_agree),
        cmocka_unit_test(numbers_do_not_matter),
        cmocka_unit_test(instances_have_clocks),
        cmocka_unit_test(failures_stay_alone),
        cmocka_unit_test(steps_and_forward_dynamics_spread),
        cmocka_unit_test(turns_leave_no_trace),
        cmocka_unit_test(loops_begin_anew_alone),
        cmocka_unit_test(instances_share_what_is_alike),
        cmocka_unit_test(noise_keeps_loops_closed),
        cmocka_unit_test(machines_share_each_instance),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
