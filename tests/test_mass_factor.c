// The factored mass matrix: it solves with the mass matrix that composite bodies give, and has the same bits in any number of
// lanes and on any number of threads, whoever has which joint.
#include "base/random.h"
#include "pass/mass_factor.h"
#include "plan/machine_ops.h"
#include "support.h"
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4 }; // of shares in lanes

// M⁻¹ Jᵀ f and Jᵀ f of a wrench on every node, and the diagonal of M⁻¹, with the factors made on a machine.
static void solve_on(const cal_model* model, cal_machine* machine, const int32_t* owners, const double* q,
                     double* answer, double* forces, double* diagonal) {
    const cal_plan_def def = {
        .model = model, .program = &cal_program_mass_factor, .machine = machine, .copies = 1, .owners = owners};
    cal_mass_factor tree;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    cal_error error;
    double* v = cal_test_numbers((size_t)model->v_count);
    cal_node_motion* motions = calloc((size_t)model->node_count, sizeof *motions);
    assert_non_null(motions);
    assert_int_equal(cal_mass_factor_create(model, &tree), CAL_OK);
    if (cal_plan_create_def(&def, &plan, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_state_create(plan, &state), CAL_OK);
    cal_node_motions(model, 0, q, v, true, 0, model->node_count, motions);
    tree.motions = motions;
    state->context.own = &tree;
    assert_int_equal(cal_plan_execute(plan, state, &error), CAL_OK);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 6 * model->node_count; i++) tree.wrench[i] = 0.5 + (double)(i % 7) - (double)(i % 4);
        if (turn == 0)
            cal_mass_factor_solve(&tree, answer);
        else
            cal_mass_factor_joint_forces(&tree, forces);
    }
    cal_mass_factor_inverse_diagonal(&tree, diagonal);
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_mass_factor_destroy(&tree);
    free(motions), free(v);
}

static cal_machine* serial(int lanes) {
    cal_machine* machine = NULL;
    assert_int_equal(cal_machine_serial(lanes, &machine, NULL), CAL_OK);
    return machine;
}

// (M⁻¹)ᵢᵢ = |C⁻¹ eᵢ|² of a Cholesky root M = C Cᵀ, which takes M's place.
static void check_diagonal(double* M, size_t n, const double* diagonal, const char* name) {
    double *y = cal_test_numbers(n), worst = 0.0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            for (size_t k = 0; k < j; k++) M[i * n + j] -= M[i * n + k] * M[j * n + k];
            M[i * n + j] = i == j ? sqrt(M[i * n + j]) : M[i * n + j] / M[j * n + j];
        }
    for (size_t e = 0; e < n; e++) {
        double sum = 0.0;
        for (size_t i = e; i < n; i++) {
            y[i] = i == e ? 1.0 : 0.0;
            for (size_t k = e; k < i; k++) y[i] -= M[i * n + k] * y[k];
            y[i] /= M[i * n + i];
            sum += y[i] * y[i];
        }
        worst = fmax(worst, fabs(diagonal[e] - sum) / sum);
    }
    // Masses of the test's models differ by less than 10⁴, and so the numbers lose no more.
    cal_test_expect_below(worst, 1e-11, "the diagonal of M⁻¹", name);
    free(y);
}

static void check_dense(const cal_model* model, const char* name) {
    const size_t n = (size_t)model->v_count;
    double *answer = cal_test_numbers(n), *forces = cal_test_numbers(n), *M = cal_test_numbers(n * n);
    double* product = cal_test_numbers(n);
    cal_test_motion motion = cal_test_random_motion(model, 5);
    cal_test_engine mass = cal_test_open(model, "crba", 1);
    cal_test_load(&mass, &motion);
    cal_test_execute(&mass);
    assert_int_equal(cal_state_get(mass.state, CAL_MASS, M), CAL_OK);
    cal_machine* machine = serial(0);
    double* diagonal = cal_test_numbers(n);
    solve_on(model, machine, NULL, motion.q, answer, forces, diagonal);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) product[i] += M[i * n + j] * answer[j];
    // Rounding of the product, whose terms are as large as these.
    double size = 0.0;
    for (size_t i = 0; i < n * n; i++) size = fmax(size, fabs(M[i]) * cal_test_largest(answer, n));
    cal_test_expect_below(cal_test_largest_difference(product, forces, n), 1e-12 * size, "M M⁻¹ Jᵀ f - Jᵀ f", name);
    check_diagonal(M, n, diagonal, name);
    free(diagonal);
    cal_machine_destroy(machine);
    cal_test_close(&mass);
    cal_test_motion_free(&motion);
    free(answer), free(forces), free(M), free(product);
}

static void solves_with_the_mass_matrix(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_dense);
}

static void check_bits(const cal_model* model, const char* name) {
    const size_t n = (size_t)model->v_count;
    double *answer[2] = {cal_test_numbers(n), cal_test_numbers(n)}, *forces = cal_test_numbers(n);
    double* diagonal[2] = {cal_test_numbers(n), cal_test_numbers(n)};
    int32_t* owners = calloc((size_t)model->node_count + 1, sizeof *owners);
    assert_non_null(owners);
    cal_test_motion motion = cal_test_random_motion(model, 3);
    cal_machine* machine = serial(1);
    solve_on(model, machine, NULL, motion.q, answer[0], forces, diagonal[0]);
    cal_machine_destroy(machine);
    cal_random random = {11};
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2)
        for (int workers = 1; workers <= 4; workers++) {
            machine = workers == 1 ? serial(lanes) : cal_test_machine(workers, lanes);
            for (int i = 0; i < model->node_count; i++) owners[i] = cal_random_below(&random, workers);
            solve_on(model, machine, workers == 1 ? NULL : owners, motion.q, answer[1], forces, diagonal[1]);
            if (memcmp(answer[0], answer[1], n * sizeof(double)) != 0 ||
                memcmp(diagonal[0], diagonal[1], n * sizeof(double)) != 0)
                fail_msg("%s: other bits with %d lanes on %d threads", name, lanes, workers);
            cal_machine_destroy(machine);
        }
    cal_test_motion_free(&motion);
    free(diagonal[0]), free(diagonal[1]), free(answer[0]), free(answer[1]), free(forces), free(owners);
}

static void has_the_same_bits_everywhere(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_bits);
}

// The factors that an execution of aba leaves: M⁻¹ Jᵀ f of the same wrenches, and of shares in lanes.
static void solve_shared(const cal_model* model, int lanes, const double* q, const double* share, double* answer,
                         double* rates) {
    cal_machine* machine = serial(lanes);
    cal_mass_factor tree;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    cal_error error;
    assert_int_equal(cal_mass_factor_create(model, &tree), CAL_OK);
    assert_int_equal(cal_plan_create(model, "aba", machine, &plan, &error), CAL_OK);
    assert_int_equal(cal_state_create(plan, &state), CAL_OK);
    assert_int_equal(cal_state_keep_responses(state), CAL_OK);
    assert_int_equal(cal_state_set(state, CAL_Q, q), CAL_OK);
    assert_int_equal(cal_plan_execute(plan, state, &error), CAL_OK);
    cal_mass_factor_take(&tree, &state->context);
    for (int i = 0; i < 6 * model->node_count; i++) tree.wrench[i] = 0.5 + (double)(i % 7) - (double)(i % 4);
    cal_mass_factor_solve(&tree, answer);
    cal_mass_factor_outbound_rows(&tree, plan->variant, share, ROWS, rates);
    // Lane by lane as one by itself.
    const size_t n = (size_t)model->v_count;
    double *own = cal_test_numbers(n), *out = cal_test_numbers(n), *lane = cal_test_numbers(n);
    for (size_t k = 0; k < ROWS; k++) {
        for (size_t i = 0; i < n; i++) own[i] = share[i * ROWS + k], lane[i] = rates[i * ROWS + k];
        cal_mass_factor_outbound(&tree, own, out);
        cal_test_expect_below(cal_test_largest_difference(out, lane, n), 1e-12 * (1.0 + cal_test_largest(out, n)),
                              "rates in lanes", "aba");
    }
    free(own), free(out), free(lane);
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_mass_factor_destroy(&tree);
    cal_machine_destroy(machine);
}

static void check_shared(const cal_model* model, const char* name) {
    const size_t n = (size_t)model->v_count;
    if (!cal_mass_factor_is_shared(model)) return;
    double *expected = cal_test_numbers(n), *forces = cal_test_numbers(n), *diagonal = cal_test_numbers(n);
    double *answer[2] = {cal_test_numbers(n), cal_test_numbers(n)}, *share = cal_test_numbers(n * ROWS);
    double* rates[2] = {cal_test_numbers(n * ROWS), cal_test_numbers(n * ROWS)};
    cal_test_motion motion = cal_test_random_motion(model, 3);
    cal_random random = {5};
    for (size_t i = 0; i < n * ROWS; i++) share[i] = cal_random_between(&random, -0.5, 0.5);
    cal_machine* machine = serial(1);
    solve_on(model, machine, NULL, motion.q, expected, forces, diagonal);
    cal_machine_destroy(machine);
    solve_shared(model, 1, motion.q, share, answer[0], rates[0]);
    cal_test_expect_below(cal_test_largest_difference(expected, answer[0], n), 1e-10 * cal_test_largest(expected, n),
                          "M⁻¹ Jᵀ f by aba's factors", name);
    for (int lanes = 2; lanes <= cal_best_lanes(); lanes *= 2) {
        solve_shared(model, lanes, motion.q, share, answer[1], rates[1]);
        if (memcmp(answer[0], answer[1], n * sizeof(double)) != 0 ||
            memcmp(rates[0], rates[1], n * ROWS * sizeof(double)) != 0)
            fail_msg("%s: other bits with %d lanes", name, lanes);
    }
    cal_test_motion_free(&motion);
    free(expected), free(forces), free(diagonal), free(share);
    for (int k = 0; k < 2; k++) free(answer[k]), free(rates[k]);
}

static void aba_leaves_the_same_factors(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_shared);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_with_the_mass_matrix),
        cmocka_unit_test(has_the_same_bits_everywhere),
        cmocka_unit_test(aba_leaves_the_same_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
