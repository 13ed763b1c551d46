// Closed loops, right: redundant rows and singular positions, long scissors, every algorithm of `eval`, forces of guided motions,
// runs that do not get on. Against closed forms and independent solutions.
#include "command.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CALDER_HAVE_SUNDIALS
static const bool has_bdf = true;
#else
static const bool has_bdf = false;
#endif

static cal_sim* open_sim(const cal_model* model, const char* solver, double tolerance, double step) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    def.relative = tolerance;
    if (step > 0.0) def.step = step;
    return cal_test_create_sim(model, &def);
}

static double total_energy(cal_sim* sim, double* kinetic) {
    double potential;
    assert_int_equal(cal_sim_energy(sim, kinetic, &potential), CAL_OK);
    return *kinetic + potential;
}

// Runs a mechanism and returns the change of its energy in the size of the largest kinetic energy on the way.
static double drift_of(const char* name, const char* solver, double tolerance, double step, double time,
                       cal_sim_report* steps, cal_constraint_report* constraints) {
    cal_model* model = cal_test_model(name);
    cal_sim* sim = open_sim(model, solver, tolerance, step);
    cal_error error;
    double kinetic, largest = 0.0;
    const double begin = total_energy(sim, &kinetic);
    for (int i = 1; i <= 100; i++) {
        if (cal_sim_advance(sim, time * i / 100.0, &error)) fail_msg("%s, %s: %s", name, solver, error.text);
        (void)total_energy(sim, &kinetic);
        largest = fmax(largest, kinetic);
    }
    const double change = fabs(total_energy(sim, &kinetic) - begin) / largest;
    cal_sim_get_report(sim, steps);
    assert_int_equal(cal_sim_constraints(sim, constraints), CAL_OK);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return change;
}

// Bennett's linkage has no singular position, and three of its five rows follow from the others. Smaller steps keep its energy better,
// by the order of the method, until rounding; and solvers need no more evaluations than for an open chain of its size.
static void redundant_rows_make_no_noise(void** state) {
    (void)state;
    cal_sim_report steps;
    cal_constraint_report c;
    cal_test_expect_below(drift_of("bennett", "rk4", 1e-8, 4e-3, 5.0, &steps, &c), 1e-7, "drift", "rk4, 4e-3 s");
    cal_test_expect_below(drift_of("bennett", "rk4", 1e-8, 1e-3, 5.0, &steps, &c), 1e-9, "drift", "rk4, 1e-3 s");
    assert_int_equal(c.rows, 5);
    assert_int_equal(c.rank, 2);
    assert_int_equal(c.singular_count, 0);
    cal_test_expect_below(drift_of("bennett", "rkf", 1e-9, 0.0, 5.0, &steps, &c), 1e-7, "drift", "rkf");
    assert_true(steps.evaluations < 5000);
    cal_test_expect_below(c.error_max, 1e-13, "loop", "rkf");
    cal_test_expect_below(drift_of("bennett", "gear", 1e-8, 0.0, 5.0, &steps, &c), 1e-6, "drift", "gear");
}

// Mechanisms that fall through singular positions: every solver gets through, keeps the energy to about its tolerance, and says
// what it passed.
static void singular_positions_are_passed_and_told(void** state) {
    (void)state;
    if (CAL_TEST_SANITIZED) skip(); // takes a minute there
    static const struct {
        const char *name, *solver;
        double tolerance, step, bound;
    } cases[] = {
        {"sarrus", "gear", 1e-8, 0.0, 2e-6},       {"sarrus", "rkf", 1e-9, 0.0, 1e-7},
        {"sarrus", "bdf", 1e-7, 0.0, 5e-6},        {"sarrus", "rk4", 1e-8, 1e-3, 1e-6},
        {"delta", "gear", 1e-8, 0.0, 2e-6},        {"delta", "rkf", 5e-9, 0.0, 1e-7},
        {"delta", "bdf", 1e-7, 0.0, 5e-6},         {"delta", "rk4", 1e-8, 1e-3, 1e-6},
        {"scissor:n=5", "gear", 1e-8, 0.0, 2e-6},  {"scissor:n=5", "rkf", 1e-7, 0.0, 1e-6},
        {"scissor:n=5", "bdf", 1e-7, 0.0, 5e-6},   {"scissor:n=5", "rk4", 1e-8, 1e-3, 2e-6},
        {"scissor:n=10", "gear", 1e-8, 0.0, 5e-6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cal_sim_report steps;
        cal_constraint_report c;
        char what[64];
        if (strcmp(cases[i].solver, "bdf") == 0 && !has_bdf) continue;
        snprintf(what, sizeof what, "%s, %s", cases[i].name, cases[i].solver);
        const double change =
            drift_of(cases[i].name, cases[i].solver, cases[i].tolerance, cases[i].step, 2.0, &steps, &c);
        cal_test_expect_below(change, cases[i].bound, "drift", what);
        if (c.singular_count < 1) fail_msg("%s: no singular position was told", what);
        for (int k = 0; k < c.singular_count && k < CAL_SINGULAR_SHOWN; k++) {
            const cal_singular_position* now = &c.singular[k];
            if (!(now->time > 0.0 && now->time < 2.0 && now->condition > 10.0)) fail_msg("%s: %g", what, now->time);
            if (k > 0) assert_true(fabs(now->energy) <= fabs(c.singular[k - 1].energy));
        }
    }
}

// A scissor lift has one degree of freedom, θ. From rest, with all centres on one vertical,
//     θ̈ = −g n² cos θ / (2 L (n sin²θ / 4 + n (4 n² − 1) cos²θ / 12 + n / 12))
static double scissor_acceleration(int n, double theta) {
    const double c = cos(theta), s = sin(theta);
    return -9.81 * n * n * c / (2.0 * (0.25 * n * s * s + n * (4.0 * n * n - 1.0) / 12.0 * c * c + n / 12.0));
}

// Every algorithm, any number of rows. (Numbers along a long scissor become as small as 1e-170, and their squares zero.)
static void scissors_of_any_length_fall_as_they_must(void** state) {
    (void)state;
    if (CAL_TEST_SANITIZED) skip(); // takes a minute there
    static const int lengths[] = {1, 5, 59, 62, 195, 280};
    static const char* const algorithms[] = {"aba", "crba", "assembly"};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "scissor:n=%d", lengths[i]);
        cal_model* model = cal_test_model(name);
        const size_t n = (size_t)cal_model_v_count(model);
        double *q = cal_test_numbers(n), *v = cal_test_numbers(n), *qdd = cal_test_numbers(n);
        const double expected = scissor_acceleration(lengths[i], 1.0);
        cal_model_initial(model, q, v, NULL);
        for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
            cal_test_engine engine = cal_test_open(model, algorithms[a], 0);
            cal_error error;
            assert_int_equal(cal_state_set(engine.state, CAL_Q, q), CAL_OK);
            const bool held = strcmp(algorithms[a], "assembly") == 0 && cal_state_hold(engine.state, 0, 0) == CAL_OK;
            cal_test_execute(&engine);
            assert_int_equal(cal_state_get(engine.state, CAL_QDD, qdd), CAL_OK);
            if (!held && cal_loops_forward(model, 0.0, q, v, qdd, &error)) fail_msg("%s: %s", name, error.text);
            double worst = 0.0;
            for (size_t k = 0; k < n; k++) worst = fmax(worst, fabs(fabs(qdd[k] / expected) - (k == 0 ? 1.0 : 2.0)));
            // Rounding of θ itself is not made less by a long lever: n² times.
            cal_test_expect_below(worst, 1e-13 * lengths[i] * lengths[i], algorithms[a], name);
            cal_test_close(&engine);
        }
        free(q), free(v), free(qdd);
        cal_model_destroy(model);
    }
}

// Forces of a guided motion, put back into forward dynamics, give that motion; and none that do so are smaller: they have no part
// that the constraints could take over. What the constraints do not allow is refused.
static void guided_motions_need_the_forces_that_make_them(void** state) {
    (void)state;
    static const char* const names[] = {"fivebar", "bricard", "fourbar:n=4", "bennett", "delta", "scissor:n=7", "cart"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        const size_t n = (size_t)cal_model_v_count(model);
        double *q = cal_test_numbers((size_t)cal_model_q_count(model)), *v = cal_test_numbers(n),
               *tau = cal_test_numbers(n), *qdd = cal_test_numbers(n), *again = cal_test_numbers(n),
               *needed = cal_test_numbers(n);
        cal_dynamics* dynamics = NULL;
        cal_error error;
        cal_model_initial(model, q, v, NULL);
        for (size_t k = 0; k < n; k++) tau[k] = sin(1.0 + (double)k);
        assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
        assert_int_equal(cal_dynamics_forward(dynamics, q, v, tau, NULL, qdd), CAL_OK);
        assert_int_equal(cal_loops_forward(model, 0.0, q, v, qdd, NULL), CAL_OK);
        assert_int_equal(cal_dynamics_inverse(dynamics, q, v, qdd, needed), CAL_OK);
        if (cal_loops_inverse(model, 0.0, q, v, qdd, NULL, needed, &error)) fail_msg("%s: %s", names[i], error.text);
        assert_int_equal(cal_dynamics_forward(dynamics, q, v, needed, NULL, again), CAL_OK);
        assert_int_equal(cal_loops_forward(model, 0.0, q, v, again, NULL), CAL_OK);
        const double scale = 1.0 + cal_test_largest(qdd, n);
        cal_test_expect_below(cal_test_largest_difference(qdd, again, n), 1e-10 * scale, "motion", names[i]);
        double own = 0.0, asked = 0.0;
        for (size_t k = 0; k < n; k++) own += needed[k] * needed[k], asked += tau[k] * tau[k];
        assert_true(own <= asked * (1.0 + 1e-12));
        // What is smallest stays as it is.
        memcpy(again, needed, n * sizeof *needed);
        assert_int_equal(cal_loops_inverse(model, 0.0, q, v, qdd, NULL, again, NULL), CAL_OK);
        cal_test_expect_below(cal_test_largest_difference(needed, again, n), 1e-12 * (1.0 + sqrt(own)), "forces",
                              names[i]);
        for (size_t k = 0; k < n; k++) qdd[k] += k % 2 == 0 ? 1.0 : 0.3;
        assert_int_equal(cal_loops_inverse(model, 0.0, q, v, qdd, NULL, again, &error), CAL_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "does not allow"));
        cal_dynamics_destroy(dynamics);
        free(q), free(v), free(tau), free(qdd), free(again), free(needed);
        cal_model_destroy(model);
    }
}

// A disk that falls flat comes to where no step is small enough, whatever the solver: the run ends and says where.
static void a_run_that_does_not_get_on_ends(void** state) {
    (void)state;
    static const char* const solvers[] = {"gear", "rkf", "bdf", "rk4"};
    cal_model* model = cal_test_model("rolling-disk:tilt=0.3,speed=0,turn=0");
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        if (strcmp(solvers[i], "bdf") == 0 && !has_bdf) continue;
        cal_sim* sim = open_sim(model, solvers[i], 1e-8, 1e-3);
        cal_error error;
        assert_int_equal(cal_sim_advance(sim, 1.0, &error), CAL_NOT_CONVERGED);
        if (!strstr(error.text, "t = 0.60")) fail_msg("%s: %s", solvers[i], error.text);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// Rods in a straight line between two posts that are as far apart as they are long cannot move, but rows are singular there, and looks
// at places on both sides find none: the run ends, in seconds.
static void a_taut_chain_ends(void** state) {
    (void)state;
    enum { RODS = 12 };
    if (!has_bdf) return;
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    const double length = 0.1;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (double[]){0.0, 0.0, -9.81});
    cal_joint_def ball = cal_default_joint_def();
    ball.kind = CAL_BALL;
    int last = CAL_GROUND;
    for (int i = 0; i < RODS; i++) {
        cal_body_def rod = cal_default_body_def();
        rod.mass = 1.0, rod.center[0] = 0.5 * length;
        rod.inertia[0] = 1e-4, rod.inertia[1] = rod.inertia[2] = 1e-3;
        rod.parent = last;
        rod.position[0] = i == 0 ? 0.0 : length;
        last = cal_builder_add_body(builder, &rod);
        cal_builder_add_joint(builder, last, &ball);
    }
    cal_constraint_def post = cal_default_constraint_def();
    post.kind = CAL_LOOP_BALL;
    post.body[0] = CAL_GROUND, post.body[1] = last;
    post.position[0][0] = RODS * length, post.position[1][0] = length;
    cal_builder_add_constraint(builder, &post);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_sim* sim = open_sim(model, "bdf", 1e-10, 0.0);
    assert_int_equal(cal_sim_advance(sim, 1.0, &error), CAL_NOT_CONVERGED);
    assert_non_null(strstr(error.text, "does not get on"));
    assert_non_null(strstr(error.text, "singular position"));
    cal_sim_destroy(sim);
    // However it ends, it says where it is.
    sim = open_sim(model, "gear", 1e-6, 0.0);
    assert_true(cal_sim_advance(sim, 1.0, &error) != CAL_OK);
    if (!strstr(error.text, "singular position")) fail_msg("%s", error.text);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    cal_builder_destroy(builder);
}

static void rows_that_follow_from_others_are_named(void** state) {
    (void)state;
    static const struct {
        const char* name;
        int rows, rank;
    } cases[] = {{"bennett", 5, 2}, {"sarrus", 5, 4}, {"bricard", 5, 4}, {"delta", 6, 6}, {"scissor:n=20", 39, 39}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cal_model* model = cal_test_model(cases[i].name);
        double* q = cal_test_numbers((size_t)cal_model_q_count(model));
        bool rows[64];
        int rank = 0, redundant = 0;
        cal_model_initial(model, q, NULL, NULL);
        assert_int_equal(cal_loops_redundant(model, q, rows, &rank, NULL), CAL_OK);
        for (int k = 0; k < cases[i].rows; k++) redundant += rows[k] ? 1 : 0;
        assert_int_equal(rank, cases[i].rank);
        assert_int_equal(redundant, cases[i].rows - cases[i].rank);
        free(q);
        cal_model_destroy(model);
    }
    cal_test_outcome o = cal_test_run_well("info bennett");
    assert_non_null(strstr(o.out, "of 5 rows, 2 independent"));
    assert_non_null(strstr(o.out, "fourth: revolute, 5 rows, ground and third; redundant: "));
    cal_test_release(&o);
    // An anchor that nothing moves, on a body that falls on a floor: rows of nothing but rounding hold nothing.
    o = cal_test_run_well("info " CALDER_TEST_MODELS "/anchor_on_both_axes.xml");
    assert_non_null(strstr(o.out, "ball, 3 rows, a and b; redundant: x, y, z"));
    cal_test_release(&o);
    o = cal_test_run_well("sim " CALDER_TEST_MODELS "/anchor_on_both_axes.xml --time 0.5");
    assert_non_null(strstr(o.out, "3 rows, 0 independent"));
    cal_test_release(&o);
}

// What `eval` and `sim` say of it.
static void the_command_says_so(void** state) {
    (void)state;
    static const char* const algorithms[] = {"aba", "crba", "assembly"};
    double numbers[3];
    for (size_t i = 0; i < 3; i++) {
        char line[96];
        snprintf(line, sizeof line, "eval fivebar --what forward --algorithm %s --json", algorithms[i]);
        cal_test_outcome o = cal_test_run_well(line);
        numbers[i] = strtod(strstr(o.out, "\"qdd\": [") + 8, NULL);
        cal_test_release(&o);
        cal_test_expect_below(fabs(numbers[i] - numbers[0]), 1e-11, "qdd", algorithms[i]);
    }
    cal_test_outcome o = cal_test_run_well("sim sarrus --time 1 --tol 1e-8 --json");
    assert_true(cal_test_number_after(o.out, "singular_positions") >= 2.0);
    assert_non_null(strstr(o.out, "singular_energies"));
    cal_test_release(&o);
    cal_test_expect_mistake("eval fivebar --what inverse --state nothing.json", "nothing.json");
}

// Parallel bars that lie flat, at rest: which of their motions begins is nobody's choice. A little beside that, or with a speed, it is known, and the
// motion is that of one degree of freedom in closed form; rows that follow from others everywhere are none of that.
static void a_start_that_decides_nothing_is_told(void** state) {
    (void)state;
    static const double right = 1.5707963267948966;
    cal_model* model = cal_test_model("fourbar:n=1");
    static const struct {
        double angle, speed;
        bool undecided;
    } starts[] = {{right, 0.0, true}, {right - 1e-3, 0.0, false}, {right, 1e-2, false}, {0.1, 0.0, false}};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const double a = starts[i].angle, s = starts[i].speed;
        for (int k = 0; k < 2; k++) {
            cal_sim* sim = open_sim(model, k == 0 ? "gear" : "rkck", 1e-8, 1e-3);
            cal_constraint_report report;
            assert_int_equal(cal_sim_set(sim, 0.0, (double[]){a, -a, a}, (double[]){s, -s, s}, NULL), CAL_OK);
            assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
            assert_int_equal(report.undecided, starts[i].undecided);
            assert_int_equal(cal_sim_advance(sim, 0.3, NULL), CAL_OK);
            const double q = cal_sim_q(sim)[0], v = cal_sim_v(sim)[0];
            // Three bars of 1 m and 1 kg: (1/3 + 1/3 + 1) q̈ = 2 g sin q.
            if (!starts[i].undecided)
                cal_test_expect_below(fabs(v * v - s * s - 2.0 * 1.2 * 9.81 * (cos(a) - cos(q))), 1e-6, "rate", "flat");
            cal_sim_destroy(sim);
        }
    }
    cal_model_destroy(model);
    static const char* const redundant[] = {"bennett", "sarrus", "bricard", "cart"};
    for (size_t i = 0; i < sizeof redundant / sizeof redundant[0]; i++) {
        model = cal_test_model(redundant[i]);
        cal_sim* sim = open_sim(model, "gear", 1e-8, 1e-3);
        cal_constraint_report report;
        double* v = cal_test_numbers((size_t)cal_model_v_count(model));
        assert_int_equal(cal_sim_set(sim, 0.0, cal_sim_q(sim), v, NULL), CAL_OK);
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        assert_true(report.rank < report.rows && !report.undecided);
        free(v);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
    cal_test_write_file("flat.json",
                        "{\"q\": [1.5707963267948966, -1.5707963267948966, 1.5707963267948966], \"v\": [0, 0, 0]}");
    cal_test_outcome o = cal_test_run_well("sim fourbar:n=1 --start flat.json --time 0.01");
    assert_non_null(strstr(o.err, "a matter of rounding"));
    cal_test_release(&o);
    o = cal_test_run_well("sim fourbar:n=1 --start flat.json --time 0.01 --batch 3 --spread 0");
    assert_non_null(strstr(o.err, "3 of 3 instances, the first of them 0: nothing moves at the start"));
    cal_test_release(&o);
    o = cal_test_run_well("sim fourbar:n=1 --start flat.json --time 0.01 --batch 3 --spread 1e-3");
    assert_null(strstr(o.err, "a matter of rounding"));
    cal_test_release(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redundant_rows_make_no_noise),
        cmocka_unit_test(singular_positions_are_passed_and_told),
        cmocka_unit_test(scissors_of_any_length_fall_as_they_must),
        cmocka_unit_test(guided_motions_need_the_forces_that_make_them),
        cmocka_unit_test(a_run_that_does_not_get_on_ends),
        cmocka_unit_test(a_taut_chain_ends),
        cmocka_unit_test(rows_that_follow_from_others_are_named),
        cmocka_unit_test(the_command_says_so),
        cmocka_unit_test(a_start_that_decides_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
