// The form of constrained motion without multipliers: the same accelerations and motions as with them, a basis that the
// constraints allow, redundant and nonholonomic rows, the same bits on every machine, and what is refused. (Against a dense
// solve: test_constraints.c.)
#define _DEFAULT_SOURCE
#include "base/memory.h"
#include "constraint/constraint.h"
#include "place.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cal_sim* open_sim(const cal_model* model, const char* form, cal_machine* machine) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = "gear", def.relative = 1e-9, def.constraint_form = form, def.machine = machine;
    return cal_test_create_sim(model, &def);
}

// S is orthonormal, the constraints allow it, and its mass is Sᵀ M S.
static void check_basis(cal_sim* sim, const cal_model* model, const char* name) {
    const int n = cal_model_v_count(model);
    const size_t size = (size_t)n;
    double *basis = cal_test_numbers(size * size), *mass = cal_test_numbers(size * size),
           *M = cal_test_numbers(size * size);
    int freedom = -1;
    cal_constraint_report report;
    assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
    assert_int_equal(cal_sim_minimal(sim, &freedom, basis, mass), CAL_OK);
    assert_int_equal(freedom, n - report.rank);
    cal_test_engine crba = cal_test_open(model, "crba", 1);
    assert_int_equal(cal_state_set(crba.state, CAL_Q, cal_sim_q(sim)), CAL_OK);
    cal_test_execute(&crba);
    assert_int_equal(cal_state_get(crba.state, CAL_MASS, M), CAL_OK);
    cal_constraints* set = NULL;
    assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
    for (int i = 0; i < freedom; i++) {
        cal_constraints_evaluate(set, cal_sim_q(sim), basis + i * n);
        cal_test_expect_below(cal_constraints_violation(set, CAL_NONE).speed, 1e-12, "what S breaks", name);
        for (int j = 0; j < freedom; j++) {
            double product = 0.0, weight = 0.0;
            for (int k = 0; k < n; k++) {
                product += basis[i * n + k] * basis[j * n + k];
                for (int l = 0; l < n; l++) weight += basis[i * n + k] * M[k * n + l] * basis[j * n + l];
            }
            cal_test_expect_below(fabs(product - (i == j)), 1e-13, "orthonormality", name);
            cal_test_expect_below(fabs(mass[i * freedom + j] - weight), 1e-12 * cal_test_largest(M, size * size),
                                  "mass", name);
        }
    }
    cal_constraints_destroy(set);
    cal_test_close(&crba);
    free(basis), free(mass), free(M);
}

static void both_forms_give_one_motion(void** state) {
    (void)state;
    // Redundant rows: bricard, fourbar; rows on velocities: cart, rolling-disk; springs, and light bodies: andrews.
    static const struct {
        const char* name;
        double time;
    } scenes[] = {{"bricard", 0.7}, {"fourbar:n=5", 0.3}, {"cart", 1.0},        {"rolling-disk", 1.0},
                  {"fivebar", 0.3}, {"ring:n=8", 0.1},    {"slidercrank", 0.3}, {"andrews", 0.001}};
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const char* name = scenes[i].name;
        cal_model* model = cal_test_model(name);
        const size_t count = (size_t)cal_model_v_count(model);
        double *a = cal_test_numbers(count), *b = cal_test_numbers(count);
        cal_sim *with = open_sim(model, "lagrange", NULL), *without = open_sim(model, "minimal", NULL);
        cal_test_advance_sim(with, scenes[i].time), cal_test_advance_sim(without, scenes[i].time);
        cal_test_expect_below(
            cal_test_largest_difference(cal_sim_q(with), cal_sim_q(without), (size_t)cal_model_q_count(model)), 1e-7,
            "motion", name);
        assert_int_equal(cal_sim_set(without, scenes[i].time, cal_sim_q(with), cal_sim_v(with), NULL), CAL_OK);
        assert_int_equal(cal_sim_accelerations(with, a), CAL_OK);
        assert_int_equal(cal_sim_accelerations(without, b), CAL_OK);
        cal_test_expect_below(cal_test_largest_difference(a, b, count), 1e-9 * (1.0 + cal_test_largest(a, count)),
                              "accelerations", name);
        check_basis(without, model, name);
        int freedom;
        assert_int_equal(cal_sim_minimal(with, &freedom, NULL, NULL), CAL_BAD_ARGUMENT);
        cal_sim_destroy(with), cal_sim_destroy(without);
        free(a), free(b);
        cal_model_destroy(model);
    }
}

// The paper's law drives errors out in this form, too.
static void stabilisation_closes_what_is_open(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fivebar");
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    def.stabilize = "baumgarte", def.gain = 20.0, def.constraint_form = "minimal", def.relative = 1e-8;
    assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
    double q[4];
    memcpy(q, cal_sim_q(sim), sizeof q);
    q[0] += 1e-3;
    assert_int_equal(cal_sim_set(sim, 0.0, q, NULL, NULL), CAL_OK);
    cal_constraint_report before, after;
    assert_int_equal(cal_sim_constraints(sim, &before), CAL_OK);
    cal_test_advance_sim(sim, 1.0);
    assert_int_equal(cal_sim_constraints(sim, &after), CAL_OK);
    assert_true(before.error > 1e-4);
    cal_test_expect_below(after.error, 1e-6, "error", "fivebar"); // (1 + 20) e⁻²⁰ of it, and the solver's own
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void machines_and_connections_are_as_in_the_other_form(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar:n=5");
    uint64_t expected = 0;
    for (int workers = 0; workers <= 3; workers++) {
        cal_machine* machine = NULL;
        cal_threads_def threads = cal_default_threads_def();
        threads.workers = workers;
        if (workers > 0) assert_int_equal(cal_machine_threads(&threads, &machine, NULL), CAL_OK);
        cal_sim* sim = open_sim(model, "minimal", machine);
        cal_test_advance_sim(sim, 0.1);
        assert_int_equal(cal_sim_disconnect(sim, 2, NULL), CAL_OK);
        cal_test_advance_sim(sim, 0.2);
        int freedom = 0;
        assert_int_equal(cal_sim_minimal(sim, &freedom, NULL, NULL), CAL_OK);
        assert_int_equal(freedom, 3); // one, and the two that the loop had taken
        if (workers == 0) expected = cal_sim_hash(sim);
        assert_true(cal_sim_hash(sim) == expected);
        cal_sim_destroy(sim);
        cal_machine_destroy(machine);
    }
    cal_model_destroy(model);
}

// Large mechanisms: one tree with many loops, one long loop, many trees that nothing connects.
static void any_size_is_held(void** state) {
    (void)state;
    static const char* const names[] = {"tower:n=60,lean=0.3", "scissor:n=40", "ring:n=150", "fourbar:n=150"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        const size_t n = (size_t)cal_model_v_count(model);
        double *a = cal_test_numbers(n), *b = cal_test_numbers(n);
        cal_sim *with = open_sim(model, "lagrange", NULL), *without = open_sim(model, "minimal", NULL);
        cal_test_advance_sim(with, 0.05);
        assert_int_equal(cal_sim_set(without, 0.05, cal_sim_q(with), cal_sim_v(with), NULL), CAL_OK);
        assert_int_equal(cal_sim_accelerations(with, a), CAL_OK);
        assert_int_equal(cal_sim_accelerations(without, b), CAL_OK);
        cal_test_expect_below(cal_test_largest_difference(a, b, n), 1e-8 * cal_test_largest(a, n), "accelerations",
                              names[i]);
        if (n < 100) check_basis(without, model, names[i]);
        cal_test_advance_sim(without, 0.06);
        cal_constraint_report report;
        assert_int_equal(cal_sim_constraints(without, &report), CAL_OK);
        cal_test_expect_below(report.error_max, 1e-12, "loops", names[i]);
        cal_sim_destroy(with), cal_sim_destroy(without);
        free(a), free(b);
        cal_model_destroy(model);
    }
}

static void what_does_not_fit_is_refused(void** state) {
    (void)state;
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error;
    cal_model *small = cal_test_model("fivebar"), *tree = cal_test_model("chain:n=100"),
              *stiff = cal_test_model("fourbar:n=1,damping=1e7");
    // What is stiff is not left to a solver that this form has not: `auto` takes another one.
    def.constraint_form = "minimal";
    assert_int_equal(cal_sim_create(stiff, &def, &sim, &error), CAL_OK);
    cal_sim_destroy(sim);
    def.solver = "implicit";
    assert_int_equal(cal_sim_create(stiff, &def, &sim, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, "lagrange, not minimal"));
    def.solver = "auto";
    cal_model* large = cal_test_model("ring:n=20001");
    assert_int_equal(cal_sim_create(large, &def, &sim, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "20001 degrees of freedom are too many"));
    cal_model_destroy(large);
    assert_int_equal(cal_sim_create(tree, &def, &sim, &error), CAL_OK); // nothing to constrain, nothing that is dense
    cal_sim_destroy(sim);
    def.constraint_form = "projected";
    assert_int_equal(cal_sim_create(small, &def, &sim, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "lagrange and minimal"));
    def.constraint_form = NULL;
    assert_int_equal(cal_sim_create(small, &def, &sim, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_accelerations(NULL, NULL), CAL_BAD_ARGUMENT);
    // A checkpoint belongs to one form.
    char path[CAL_TEST_PATH];
    cal_test_path(path, "minimal");
    cal_sim *one = open_sim(small, "minimal", NULL), *other = open_sim(small, "lagrange", NULL);
    cal_test_advance_sim(one, 0.05);
    assert_int_equal(cal_sim_save(one, path, &error), CAL_OK);
    assert_int_equal(cal_sim_load(other, path, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "minimal"));
    cal_sim_destroy(one), cal_sim_destroy(other);
    remove(path);
    cal_model_destroy(small), cal_model_destroy(tree), cal_model_destroy(stiff);
}

static void a_lack_of_memory_is_survived(void** state) {
    (void)state;
    cal_model* model = cal_test_model("bricard");
    for (int after = 0;; after++) {
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        const int64_t before = cal_live_allocations();
        def.constraint_form = "minimal";
        cal_fail_allocation(after);
        const cal_status status = cal_sim_create(model, &def, &sim, NULL);
        cal_fail_allocation(-1);
        cal_sim_destroy(sim);
        assert_int_equal(cal_live_allocations(), before);
        if (status == CAL_OK) break;
        assert_int_equal(status, CAL_NO_MEMORY);
    }
    cal_model_destroy(model);
}

// --- Masses that are far apart -------------------------------------------------------------------------------------------

static int add_bar(cal_builder* builder, int parent, const double at[2], const double to[2], double mass) {
    cal_body_def bar = cal_default_body_def();
    cal_joint_def hinge = cal_default_joint_def();
    const double axis[3] = {0.0, 0.0, 1.0};
    bar.parent = parent;
    bar.mass = mass;
    for (int k = 0; k < 2; k++) bar.position[k] = at[k], bar.center[k] = 0.5 * to[k];
    bar.inertia[0] = bar.inertia[1] = bar.inertia[2] = 0.1 * mass;
    memcpy(hinge.axis, axis, sizeof hinge.axis);
    const int number = cal_builder_add_body(builder, &bar);
    cal_builder_add_joint(builder, number, &hinge);
    return number;
}

// Triangles of bars on one hinge, each on a bar of the one before: both of its own bars weigh 1 and 1 / ratio by turns.
static cal_model* make_truss(double ratio) {
    static const double apex[][2] = {{1.0, 0.0}, {0.6, 0.8}, {-0.4, 0.9}, {-1.2, 0.3}, {-1.0, -0.6}};
    enum { POINTS = sizeof apex / sizeof *apex };
    static const double origin[2] = {0.0, 0.0};
    cal_builder* builder = cal_test_builder(9.81);
    const double gravity[3] = {0.0, -9.81, 0.0};
    cal_builder_set_gravity(builder, gravity);
    int base = add_bar(builder, CAL_GROUND, origin, apex[0], 1.0);
    for (int i = 1; i < POINTS; i++) {
        const double across[2] = {apex[i][0] - apex[i - 1][0], apex[i][1] - apex[i - 1][1]};
        const int next = add_bar(builder, base, origin, apex[i], i % 2 ? 1.0 / ratio : 1.0),
                  brace = add_bar(builder, base, apex[i - 1], across, i % 2 ? 1.0 : 1.0 / ratio);
        cal_constraint_def pin = cal_default_constraint_def();
        pin.kind = CAL_ROWS, pin.rows = CAL_ROW_X | CAL_ROW_Y;
        pin.body[0] = next, pin.body[1] = brace;
        memcpy(pin.position[0], apex[i], sizeof apex[i]);
        memcpy(pin.position[1], across, sizeof across);
        cal_builder_add_constraint(builder, &pin);
        base = next;
    }
    return cal_test_finish(builder);
}

// The truss falls as one body, or the form says that it is not for such masses: never a part of it by itself. What is open may be larger without
// projection, and rows that depend on each other are told by less.
static void masses_far_apart_are_held_or_refused(void** state) {
    (void)state;
    static const char* const laws[] = {"projection", "none"};
    int refused = 0;
    for (int power = 0; power <= 11; power++)
        for (int law = 0; law < 2; law++) {
            cal_model* model = make_truss(pow(10.0, power));
            const size_t count = (size_t)cal_model_v_count(model);
            cal_sim_def def = cal_default_sim_def();
            cal_sim* sim = NULL;
            def.constraint_form = "minimal", def.stabilize = laws[law];
            assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
            double *qdd = cal_test_numbers(count), *basis = cal_test_numbers(count * count);
            int freedom = 0;
            char name[32];
            cal_error error;
            snprintf(name, sizeof name, "a truss, 1e%d", power);
            const cal_status status = cal_sim_accelerations(sim, qdd);
            const bool held = status == CAL_OK;
            assert_true(held || (power > 7 && status == CAL_NOT_AVAILABLE));
            refused += held ? 0 : 1;
            assert_int_equal(cal_sim_minimal(sim, &freedom, basis, NULL), status);
            if (held) {
                assert_int_equal(freedom, 1);
                const double digits = 1e-12 + 1e-13 * pow(10.0, power); // they go with masses
                cal_test_expect_below(cal_test_largest(qdd + 1, count - 1), digits * fabs(qdd[0]), "what gives way",
                                      name);
            } else {
                assert_int_equal(cal_sim_advance(sim, 0.01, &error), CAL_NOT_AVAILABLE);
                assert_non_null(strstr(error.text, "masses are too far apart"));
            }
            free(qdd), free(basis);
            cal_sim_destroy(sim);
            cal_model_destroy(model);
        }
    assert_true(refused > 0);
}

// Rows that are nearly dependent for an instant give accelerations with noise in this form, too: forces come from both sides of such a position, and energy
// is kept to the tolerance at the lowest, where that noise stopped solvers.
static void singular_positions_are_passed(void** state) {
    (void)state;
    static const struct {
        const char *scene, *solver;
        double time;
        int passed;
    } runs[] = {{"scissor:n=3", "rkf", 1.3, 1}, {"tower:n=3", "gear", 1.2, 3}, {"ring:n=4", "gear", 2.0, 4}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        cal_model* model = NULL;
        assert_int_equal(cal_model_generate(runs[i].scene, &model, NULL), CAL_OK);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        cal_constraint_report report;
        cal_energy_balance balance;
        def.solver = runs[i].solver, def.relative = 1e-10, def.constraint_form = "minimal";
        assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
        cal_test_advance_sim(sim, runs[i].time);
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        assert_true(report.singular_count >= runs[i].passed);
        assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
        const double drift = fabs(balance.kinetic + balance.potential - balance.start);
        cal_test_expect_below(drift, 1e-8 * balance.exchanged, "energy", runs[i].scene);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_give_one_motion),
        cmocka_unit_test(stabilisation_closes_what_is_open),
        cmocka_unit_test(machines_and_connections_are_as_in_the_other_form),
        cmocka_unit_test(any_size_is_held),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(masses_far_apart_are_held_or_refused),
        cmocka_unit_test(singular_positions_are_passed),
        cmocka_unit_test(a_lack_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
