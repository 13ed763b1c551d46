// Randomized parallel simulation: the numbers that an independent computation of the paper's experiment gave, one seed's bits on
// every machine, the variants, and what is refused.
#include "base/memory.h"
#include "calder/calder_run.h"
#include "support.h"
#include <math.h>
#include <string.h>

static cal_rps* open_rps(const cal_model* model, const cal_rps_def* def) {
    cal_rps* rps = NULL;
    cal_error error;
    if (cal_rps_create(model, def, &rps, &error)) fail_msg("%s", error.text);
    return rps;
}

static cal_rps_report run(const cal_model* model, const cal_rps_def* def, double time, uint64_t* hash) {
    cal_rps* rps = open_rps(model, def);
    cal_rps_report report;
    cal_error error;
    if (cal_rps_advance(rps, time, &error)) fail_msg("%s", error.text);
    cal_rps_get_report(rps, &report);
    if (hash) *hash = cal_rps_hash(rps);
    cal_rps_destroy(rps);
    return report;
}

enum { FOUR = 4, STEPS = 20, INTERVALS = 22 };
typedef struct ways {
    double begin[INTERVALS][FOUR][2], end[INTERVALS][FOUR][4]; // x, y; x, y and their speeds
    int steps[INTERVALS][FOUR];
} ways;

static void note_way(int64_t interval, int instance, int step, const double* q, const double* v, void* user) {
    ways* w = user;
    assert_in_range(interval, 0, INTERVALS - 1);
    if (step == 0) memcpy(w->begin[interval][instance], q, 2 * sizeof *q);
    memcpy(w->end[interval][instance], q, 2 * sizeof *q);
    memcpy(w->end[interval][instance] + 2, v, 2 * sizeof *v);
    w->steps[interval][instance] = step;
}

// Figure 3: the way of the one that broke the rail least is the run's; at its end all begin again, within the radius.
static void four_processors_begin_around_the_elected_one(void** state) {
    (void)state;
    static ways w;
    cal_model* model = cal_test_model("rail");
    cal_rps_def def = cal_default_rps_def();
    cal_error error;
    int elected[INTERVALS], winners = 0;
    def.instances = FOUR, def.interval = STEPS, def.everywhere = true;
    cal_rps* rps = open_rps(model, &def);
    cal_rps_watch(rps, note_way, &w);
    for (int i = 0; i < INTERVALS; i++) {
        if (cal_rps_advance(rps, (i + 1) * STEPS * def.step, &error)) fail_msg("%s", error.text);
        double least = (double)INFINITY;
        for (int j = 0; j < FOUR; j++) {
            // ‖C‖ + ‖A q̇‖ of the row (r² − R²) / 2R, R = 1.
            const double* e = w.end[i][j];
            const double residual = fabs(0.5 * (e[0] * e[0] + e[1] * e[1] - 1.0)) + fabs(e[0] * e[2] + e[1] * e[3]);
            assert_int_equal(w.steps[i][j], STEPS);
            if (residual < least) least = residual, elected[i] = j;
            for (int k = 0; k < 2 && i > 0; k++)
                cal_test_expect_below(fabs(w.begin[i][j][k] - w.end[i - 1][elected[i - 1]][k]), def.position_radius,
                                      "begin", "rail");
        }
        assert_memory_equal(cal_rps_q(rps, 0), w.end[i][elected[i]], 2 * sizeof(double));
        winners |= 1 << elected[i];
    }
    assert_int_equal(winners, (1 << FOUR) - 1); // each of the four was the best at least once
    cal_rps_watch(rps, NULL, NULL);
    cal_rps_destroy(rps);
    cal_model_destroy(model);
}

// Accuracy of C = r² − R² on the rail, 10 s, explicit Euler with 5e-4 s, T = 20 steps, radii 2e-4 and 2e-2: rms over seeds.
static void the_rail_is_as_accurate_as_it_should_be(void** state) {
    (void)state;
    static const struct {
        int instances;
        double gain, expected;
    } rows[] = {{1, 50, 5.5e-3},  {1, 1000, 5.5e-3}, {5, 150, 3.1e-4},  {5, 250, 9.2e-5},
                {5, 350, 8.5e-5}, {10, 150, 1.9e-4}, {10, 250, 5.8e-5}, {10, 1000, 4.9e-5}};
    cal_model* model = cal_test_model("rail");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double sum = 0.0;
        const int seeds = rows[i].instances == 1 ? 1 : 3;
        for (int seed = 1; seed <= seeds; seed++) {
            cal_rps_def def = cal_default_rps_def();
            def.instances = rows[i].instances, def.gain = rows[i].gain, def.seed = (uint64_t)seed;
            def.everywhere = true; // as the paper has it
            const double error = 2.0 * run(model, &def, 10.0, NULL).error_rms;
            sum += error * error;
        }
        const double ratio = sqrt(sum / seeds) / rows[i].expected;
        if (!(ratio > 0.5 && ratio < 2.0))
            fail_msg("N = %d, K = %g: %g times what is expected", rows[i].instances, rows[i].gain, ratio);
    }
    // One alone settles at 2 τ v².
    cal_rps_def def = cal_default_rps_def();
    def.instances = 1;
    cal_rps* rps = open_rps(model, &def);
    assert_int_equal(cal_rps_advance(rps, 20.0, NULL), CAL_OK);
    const double *q = cal_rps_q(rps, 0), *v = cal_rps_v(rps, 0);
    const double C = q[0] * q[0] + q[1] * q[1] - 1.0, square = v[0] * v[0] + v[1] * v[1];
    cal_test_expect_below(fabs(C / (2.0 * 5e-4 * square) - 1.0), 0.02, "steady error", "rail");
    cal_rps_destroy(rps);
    cal_model_destroy(model);
}

static void one_seed_has_the_same_bits_everywhere(void** state) {
    (void)state;
    static const char* const names[] = {"rail", "fivebar", "cart", "rolling-disk"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        uint64_t expected = 0, other = 0;
        cal_rps_def def = cal_default_rps_def();
        def.instances = 7, def.method = "euler,heun,ab2", def.forcing = 0.01, def.normal = true;
        run(model, &def, 0.05, &expected);
        for (int workers = 1; workers <= 9; workers += workers < 3 ? 1 : 3) { // some without an instance
            cal_threads_def threads = cal_default_threads_def();
            threads.workers = workers;
            assert_int_equal(cal_machine_threads(&threads, &def.machine, NULL), CAL_OK);
            run(model, &def, 0.05, &other);
            assert_true(other == expected);
            cal_machine_destroy(def.machine);
        }
        def.machine = NULL;
        def.seed = 2;
        run(model, &def, 0.05, &other);
        assert_true(other != expected);
        cal_model_destroy(model);
    }
}

// Another state in the middle of a run, on every machine alike.
static void a_run_goes_on_from_where_it_is_put(void** state) {
    (void)state;
    cal_model* model = cal_test_model("rail");
    const double q[2] = {0.0, 1.0}, v[2] = {-2.0, 0.0}, bad[2] = {0.0, (double)NAN};
    uint64_t hashes[2];
    for (int i = 0; i < 2; i++) {
        cal_rps_def def = cal_default_rps_def();
        cal_threads_def threads = cal_default_threads_def();
        threads.workers = 3;
        if (i == 1) assert_int_equal(cal_machine_threads(&threads, &def.machine, NULL), CAL_OK);
        cal_rps* rps = open_rps(model, &def);
        assert_int_equal(cal_rps_advance(rps, 0.05, NULL), CAL_OK);
        assert_int_equal(cal_rps_set(rps, bad, v, NULL), CAL_BAD_ARGUMENT);
        assert_int_equal(cal_rps_set(NULL, q, v, NULL), CAL_BAD_ARGUMENT);
        assert_int_equal(cal_rps_set(rps, q, v, NULL), CAL_OK);
        assert_true(cal_rps_q(rps, 0)[1] == 1.0);
        assert_int_equal(cal_rps_advance(rps, 0.06, NULL), CAL_OK);
        cal_test_expect_below(fabs(cal_rps_q(rps, 0)[0] + sin(0.02)), 1e-3, "x", "rail");
        cal_rps_report report;
        cal_rps_get_report(rps, &report);
        assert_true(report.poll_wall >= 0.0 && report.wait_wall >= 0.0 &&
                    report.poll_wall + report.wait_wall < report.wall);
        hashes[i] = cal_rps_hash(rps);
        cal_rps_destroy(rps);
        cal_machine_destroy(def.machine);
    }
    assert_true(hashes[0] == hashes[1]);
    cal_model_destroy(model);
}

// Looking at whole intervals changes nothing.
static void looking_at_polls_changes_nothing(void** state) {
    (void)state;
    cal_model* model = cal_test_model("rail");
    cal_rps_def def = cal_default_rps_def();
    uint64_t expected;
    run(model, &def, 0.1, &expected);
    cal_rps* rps = open_rps(model, &def);
    for (int k = 1; k <= 10; k++) assert_int_equal(cal_rps_advance(rps, 0.01 * k, NULL), CAL_OK);
    assert_true(cal_rps_hash(rps) == expected);
    cal_rps_destroy(rps);
    cal_model_destroy(model);
}

// Without noise a method is as good as its order: the rail's circle in closed form.
static void methods_have_their_orders(void** state) {
    (void)state;
    static const int orders[] = {1, 1, 2, 2, 4};
    cal_model* model = cal_test_model("rail");
    for (int i = 0; cal_rps_method_name(i); i++) {
        double errors[2];
        for (int k = 0; k < 2; k++) {
            cal_rps_def def = cal_default_rps_def();
            def.instances = 1, def.method = cal_rps_method_name(i), def.stabilize = "none";
            def.step = k == 0 ? 0.02 : 0.01, def.interval = 1000000;
            cal_rps* rps = open_rps(model, &def);
            assert_int_equal(cal_rps_advance(rps, 1.0, NULL), CAL_OK);
            errors[k] = hypot(cal_rps_q(rps, 0)[0] - cos(2.42), cal_rps_q(rps, 0)[1] - sin(2.42));
            cal_rps_destroy(rps);
        }
        const double order = log2(errors[0] / errors[1]);
        if (!(fabs(order - orders[i]) < 0.35)) fail_msg("%s has the order %g", cal_rps_method_name(i), order);
    }
    cal_model_destroy(model);
}

// At rest on the dead point the slider may go left or right, or stay while crank and rod swing as one.
static void a_bifurcation_shows_as_several_solutions(void** state) {
    (void)state;
    cal_model* model = cal_test_model("slidercrank:rod=1,start=1.5707963267948966");
    cal_rps_def def = cal_default_rps_def();
    def.instances = 40, def.hypotheses = 6;
    cal_rps* rps = open_rps(model, &def);
    assert_int_equal(cal_rps_advance(rps, 2.0, NULL), CAL_OK);
    cal_rps_report report;
    cal_rps_get_report(rps, &report);
    assert_true(report.hypotheses > 1);
    bool slides = false, swings = false;
    for (int i = 0; i < report.hypotheses; i++) {
        const double *q = cal_rps_q(rps, i), fallen = fabs(q[0] - 1.5707963267948966);
        slides = slides || (fallen > 0.2 && fabs(q[2]) > 0.2);
        swings = swings || (fallen > 0.2 && fabs(q[2]) < 0.01);
    }
    assert_true(slides && swings);
    assert_null(cal_rps_q(rps, report.hypotheses));
    cal_rps_destroy(rps);
    cal_model_destroy(model);
    // The rail has no singular position.
    cal_model* rail = cal_test_model("rail");
    assert_int_equal(run(rail, &def, 0.5, NULL).most_hypotheses, 1);
    cal_model_destroy(rail);
}

// On the rail motion is uniform. Across the rail perturbations cannot change it; along the rail they do.
static void perturbations_across_the_constraints_keep_the_motion(void** state) {
    (void)state;
    cal_model* model = cal_test_model("rail");
    double off[2];
    for (int i = 0; i < 2; i++) {
        cal_rps_def def = cal_default_rps_def();
        def.method = "rk4", def.everywhere = i == 1;
        cal_rps* rps = open_rps(model, &def);
        assert_int_equal(cal_rps_advance(rps, 5.0, NULL), CAL_OK);
        off[i] = hypot(cal_rps_q(rps, 0)[0] - cos(2.42 * 5.0), cal_rps_q(rps, 0)[1] - sin(2.42 * 5.0));
        cal_rps_destroy(rps);
    }
    cal_test_expect_below(off[0], 1e-2, "place after 5 s", "rail");
    assert_true(off[1] > 10.0 * off[0]);
    cal_model_destroy(model);
}

// Theorem 1 (Liouville): a domain of errors (e, ė) keeps its area without stabilisation, and with the law's trace −2 K it shrinks as
// exp(−2 K t). Three corners of a small triangle, each a start of its own.
static void errors_fill_the_area_that_liouville_says(void** state) {
    (void)state;
    static const struct {
        const char* law;
        double gain, trace;
    } laws[] = {{"none", 0.0, 0.0}, {"literal", 4.0, -8.0}, {"baumgarte", 4.0, -8.0}};
    static const double corners[3][2] = {{0.0, 0.0}, {1e-6, 0.0}, {0.0, 1e-6}};
    const double time = 0.25;
    cal_model* model = cal_test_model("rail");
    for (size_t k = 0; k < sizeof laws / sizeof laws[0]; k++) {
        double e[3][2];
        for (int i = 0; i < 3; i++) {
            cal_rps_def def = cal_default_rps_def();
            def.instances = 1, def.method = "rk4", def.step = 1e-3, def.stabilize = laws[k].law,
            def.gain = laws[k].gain;
            cal_rps* rps = open_rps(model, &def);
            // e = (r² − 1) / 2, ė = r · v.
            const double r = sqrt(1.0 + 2.0 * corners[i][0]), q[2] = {r, 0.0}, v[2] = {corners[i][1] / r, 2.42};
            assert_int_equal(cal_rps_set(rps, q, v, NULL), CAL_OK);
            assert_int_equal(cal_rps_advance(rps, time, NULL), CAL_OK);
            const double *at = cal_rps_q(rps, 0), *rate = cal_rps_v(rps, 0);
            e[i][0] = 0.5 * (at[0] * at[0] + at[1] * at[1] - 1.0);
            e[i][1] = at[0] * rate[0] + at[1] * rate[1];
            cal_rps_destroy(rps);
        }
        const double area = (e[1][0] - e[0][0]) * (e[2][1] - e[0][1]) - (e[1][1] - e[0][1]) * (e[2][0] - e[0][0]);
        cal_test_expect_below(fabs(area / (1e-12 * exp(laws[k].trace * time)) - 1.0), 1e-4, "area", laws[k].law);
    }
    cal_model_destroy(model);
}

static void variants_run(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fivebar");
    cal_rps_def def = cal_default_rps_def();
    def.adaptive = true, def.forcing = 0.1, def.normal = true, def.method = "heun,rk4";
    const cal_rps_report report = run(model, &def, 0.5, NULL);
    assert_true(report.interval != 20 || report.polls != 50);
    cal_test_expect_below(report.error_rms, 1e-2, "error", "fivebar");
    // A deadline that nobody can meet, and one that everybody can.
    def = cal_default_rps_def();
    def.deadline = 1e-9;
    assert_int_equal(run(model, &def, 0.05, NULL).overruns, 5);
    def.deadline = 2.0;
    const cal_rps_report paced = run(model, &def, 0.05, NULL);
    assert_int_equal(paced.polls, 5);
    assert_true(paced.overruns <= 5);
    cal_model_destroy(model);
}

static void mistakes_are_refused(void** state) {
    (void)state;
    cal_model *rail = cal_test_model("rail"), *tree = cal_test_model("pendulum");
    cal_rps* rps = NULL;
    cal_error error = {0};
    cal_rps_def def = cal_default_rps_def();
    assert_int_equal(cal_rps_create(tree, &def, &rps, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "no constraints"));
    cal_rps_def bad[10];
    for (int i = 0; i < 10; i++) bad[i] = def;
    bad[0].instances = 0, bad[1].step = 0.0, bad[2].interval = 0, bad[3].method = "euler,magic", bad[4].method = NULL;
    bad[5].stabilize = "projection", bad[6].gain = -1.0, bad[7].hypotheses = 17, bad[8].cookie = 0;
    bad[9].velocity_radius = (double)NAN;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(cal_rps_create(rail, &bad[i], &rps, &error), CAL_BAD_ARGUMENT);
        assert_null(rps);
    }
    // Far beyond the limit of stability everything explodes, and is said to have.
    assert_true(fabs(cal_rps_limit("literal", "euler", 5e-4) - 2000.0) < 1.0);
    def.gain = 1e5;
    assert_int_equal(cal_rps_create(rail, &def, &rps, NULL), CAL_OK);
    assert_int_equal(cal_rps_advance(rps, 10.0, &error), CAL_NOT_FINITE);
    assert_non_null(strstr(error.text, "all 10 instances"));
    assert_int_equal(cal_rps_advance(rps, (double)INFINITY, &error), CAL_BAD_ARGUMENT);
    cal_rps_destroy(rps);
    for (int after = 0;; after++) {
        def = cal_default_rps_def();
        const int64_t before = cal_live_allocations();
        cal_fail_allocation(after);
        const cal_status status = cal_rps_create(rail, &def, &rps, NULL);
        cal_fail_allocation(-1);
        cal_rps_destroy(rps);
        assert_int_equal(cal_live_allocations(), before);
        if (status == CAL_OK) break;
        assert_int_equal(status, CAL_NO_MEMORY);
    }
    cal_model_destroy(rail), cal_model_destroy(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_processors_begin_around_the_elected_one),
        cmocka_unit_test(the_rail_is_as_accurate_as_it_should_be),
        cmocka_unit_test(one_seed_has_the_same_bits_everywhere),
        cmocka_unit_test(a_run_goes_on_from_where_it_is_put),
        cmocka_unit_test(looking_at_polls_changes_nothing),
        cmocka_unit_test(methods_have_their_orders),
        cmocka_unit_test(a_bifurcation_shows_as_several_solutions),
        cmocka_unit_test(perturbations_across_the_constraints_keep_the_motion),
        cmocka_unit_test(errors_fill_the_area_that_liouville_says),
        cmocka_unit_test(variants_run),
        cmocka_unit_test(mistakes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
