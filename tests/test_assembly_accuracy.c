// How exact assembly is on long chains: 10,000 links against articulated bodies in extended precision.
//
// The reference is Featherstone's table 7.1 (Rigid Body Dynamics Algorithms) in the links' own frames with dense six by six
// matrices, in long double: another formulation than the engine's, and eleven bits more.
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

// One link: X moves motions (angular, linear) from its parent's frame into its own.
typedef struct link {
    real X[6][6], I[6][6], S[6], c[6], p[6], U[6], D, u, a[6];
} link;

static void multiply(real m[6][6], const real* x, real* out) {
    for (int i = 0; i < 6; i++) {
        out[i] = 0;
        for (int j = 0; j < 6; j++) out[i] += m[i][j] * x[j];
    }
}

static void multiply_transposed(real m[6][6], const real* x, real* out) {
    for (int i = 0; i < 6; i++) {
        out[i] = 0;
        for (int j = 0; j < 6; j++) out[i] += m[j][i] * x[j];
    }
}

static real dot(const real* a, const real* b) {
    real sum = 0;
    for (int i = 0; i < 6; i++) sum += a[i] * b[i];
    return sum;
}

// Adds the matrix of a cross product, r ×, times a factor, at row and column of m.
static void add_cross(real m[6][6], int row, int column, const real* r, real factor) {
    const real x[3][3] = {{0, -r[2], r[1]}, {r[2], 0, -r[0]}, {-r[1], r[0], 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) m[row + i][column + j] += factor * x[i][j];
}

// How a motion v changes another (out = v × m), or a force (out = v ×* f).
static void cross_matrix(const real* v, bool force, real m[6][6]) {
    memset(m, 0, 36 * sizeof(real));
    add_cross(m, 0, 0, v, 1);
    add_cross(m, 3, 3, v, 1);
    add_cross(m, force ? 0 : 3, force ? 3 : 0, v + 3, 1);
}

// X = [Rᵀ 0; −Rᵀ (r ×) Rᵀ] for a turn R by an angle about an axis, after a displacement r.
static void place(link* own, const double* r, real angle) {
    const real s = sinl(angle), c = cosl(angle), *n = own->S;
    const real offset[3] = {r[0], r[1], r[2]};
    real turn[6][6] = {{0}}, move[6][6] = {{0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) turn[i][j] = (i == j ? c : 0) + (1 - c) * n[i] * n[j];
    add_cross(turn, 0, 0, n, -s);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) turn[3 + i][3 + j] = turn[i][j];
    for (int i = 0; i < 6; i++) move[i][i] = 1;
    add_cross(move, 3, 0, offset, -1);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            own->X[i][j] = 0;
            for (int k = 0; k < 6; k++) own->X[i][j] += turn[i][k] * move[k][j];
        }
}

// [J + m (c ×)(c ×)ᵀ, m c ×; −m c ×, m] about the frame's origin.
static void weigh(link* own, const cal_body_def* body) {
    const real m = body->mass, c[3] = {body->center[0], body->center[1], body->center[2]};
    static const int at[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    memset(own->I, 0, sizeof own->I);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            own->I[i][j] =
                body->inertia[at[i][j]] + m * ((i == j ? c[0] * c[0] + c[1] * c[1] + c[2] * c[2] : 0) - c[i] * c[j]);
        own->I[3 + i][3 + i] = m;
    }
    add_cross(own->I, 0, 3, c, m);
    add_cross(own->I, 3, 0, c, -m);
}

static void solve_extended(const cal_model* model, const cal_test_motion* motion, double* qdd) {
    const int count = cal_model_joint_count(model);
    link* links = calloc((size_t)count, sizeof *links);
    assert_non_null(links);
    real v[6] = {0}, m[6][6], turned[6], moved[6][6];
    for (int i = 0; i < count; i++) {
        link* own = &links[i];
        cal_body_def body;
        cal_joint_def joint;
        cal_model_body(model, i, &body);
        cal_model_joint(model, i, &joint, NULL, NULL, NULL);
        for (int k = 0; k < 3; k++) own->S[k] = joint.axis[k];
        place(own, body.position, motion->q[i]);
        weigh(own, &body);
        multiply(own->X, v, turned);
        for (int k = 0; k < 6; k++) v[k] = turned[k] + own->S[k] * motion->v[i];
        cross_matrix(v, false, m);
        multiply(m, own->S, own->c);
        for (int k = 0; k < 6; k++) own->c[k] *= motion->v[i];
        multiply(own->I, v, turned);
        cross_matrix(v, true, m);
        multiply(m, turned, own->p);
    }
    for (int i = count - 1; i >= 0; i--) {
        link* own = &links[i];
        multiply(own->I, own->S, own->U);
        own->D = dot(own->S, own->U);
        own->u = motion->tau[i] - dot(own->S, own->p);
        if (i == 0) break;
        for (int k = 0; k < 6; k++)
            for (int j = 0; j < 6; j++) m[k][j] = own->I[k][j] - own->U[k] * own->U[j] / own->D;
        multiply(m, own->c, turned);
        for (int k = 0; k < 6; k++) own->p[k] += turned[k] + own->U[k] * own->u / own->D;
        multiply_transposed(own->X, own->p, turned);
        for (int k = 0; k < 6; k++) links[i - 1].p[k] += turned[k];
        for (int k = 0; k < 6; k++)
            for (int j = 0; j < 6; j++) {
                moved[k][j] = 0;
                for (int l = 0; l < 6; l++) moved[k][j] += m[k][l] * own->X[l][j];
            }
        for (int k = 0; k < 6; k++)
            for (int j = 0; j < 6; j++)
                for (int l = 0; l < 6; l++) links[i - 1].I[k][j] += own->X[l][k] * moved[l][j];
    }
    double gravity[3];
    cal_model_gravity(model, gravity);
    real a[6] = {0, 0, 0, -gravity[0], -gravity[1], -gravity[2]};
    for (int i = 0; i < count; i++) {
        link* own = &links[i];
        multiply(own->X, a, turned);
        for (int k = 0; k < 6; k++) a[k] = turned[k] + own->c[k];
        const real found = (own->u - dot(own->U, a)) / own->D;
        for (int k = 0; k < 6; k++) a[k] += own->S[k] * found;
        qdd[i] = (double)found;
    }
    free(links);
}

static void find(const cal_model* model, const char* algorithm, const char* schedule, const cal_test_motion* motion,
                 double* qdd) {
    cal_test_engine engine = {.model = model};
    cal_error error;
    if (cal_machine_serial(0, &engine.machine, &error)) fail_msg("%s", error.text);
    if (cal_plan_create_scheduled(model, algorithm, schedule, engine.machine, NULL, &engine.plan, &error))
        fail_msg("%s", error.text);
    assert_int_equal(cal_state_create(engine.plan, &engine.state), CAL_OK);
    cal_test_load(&engine, motion);
    cal_test_execute(&engine);
    assert_int_equal(cal_state_get(engine.state, CAL_QDD, qdd), CAL_OK);
    cal_test_close(&engine);
}

// Largest error, relative to the largest acceleration. The bounds are some ten times what is found on this seed.
static void is_exact_on_long_chains(void** state) {
    (void)state;
    if (LDBL_MANT_DIG <= DBL_MANT_DIG) skip();
    static const struct {
        int links;
        double bound;
    } chains[] = {{100, 3e-14}, {1000, 1e-12}, {10000, 3e-12}};
    static const char* const schedules[] = {NULL, "auto", "64", "balanced"};
    for (size_t c = 0; c < sizeof chains / sizeof chains[0]; c++) {
        char name[64];
        snprintf(name, sizeof name, "chain:n=%d", chains[c].links);
        cal_model* model = cal_test_model(name);
        const size_t n = (size_t)chains[c].links;
        cal_test_motion motion = cal_test_random_motion(model, 3);
        double *expected = cal_test_numbers(n), *found = cal_test_numbers(n);
        solve_extended(model, &motion, expected);
        const double scale = cal_test_largest(expected, n);
        for (size_t s = 0; s < sizeof schedules / sizeof schedules[0]; s++) {
            find(model, schedules[s] ? "assembly" : "aba", schedules[s], &motion, found);
            const double error = cal_test_largest_difference(found, expected, n) / scale;
            double squares = 0.0;
            for (size_t i = 0; i < n; i++) squares += pow((found[i] - expected[i]) / scale, 2);
            print_message("%-14s %-9s largest %.1e, root mean square %.1e\n", name, schedules[s] ? schedules[s] : "aba",
                          error, sqrt(squares / (double)n));
            cal_test_expect_below(error, chains[c].bound, schedules[s] ? schedules[s] : "aba", name);
        }
        free(expected), free(found);
        cal_test_motion_free(&motion);
        cal_model_destroy(model);
    }
}

// A chain whose links weigh one and `ratio` in turn; a ratio below one: the heavy ones first.
static cal_model* alternate(const cal_model* model, double ratio) {
    cal_builder* builder = NULL;
    cal_model* out = NULL;
    cal_error error;
    double gravity[3];
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_model_gravity(model, gravity);
    cal_builder_set_gravity(builder, gravity);
    for (int i = 0; i < cal_model_body_count(model); i++) {
        cal_body_def body;
        cal_joint_def joint;
        cal_model_body(model, i, &body);
        cal_model_joint(model, i, &joint, NULL, NULL, NULL);
        const double factor = (i % 2 == 0) == (ratio > 1.0) ? 1.0 : fmax(ratio, 1.0 / ratio);
        body.mass *= factor;
        for (int k = 0; k < 6; k++) body.inertia[k] *= factor;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    }
    if (cal_builder_finish(builder, &out, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return out;
}

// Heavy and light links in turn. What a light link's part hands on to a heavy one is rounded in the size of the heavy one: errors are
// some of the last digits times the ratio of masses, not its square.
static void is_exact_at_large_mass_ratios(void** state) {
    (void)state;
    if (LDBL_MANT_DIG <= DBL_MANT_DIG) skip();
    static const double ratios[] = {1e3, 1e-3, 1e6, 1e-6};
    static const char* const schedules[] = {NULL, "8", "balanced"};
    cal_model* chain = cal_test_model("chain:n=64");
    for (size_t r = 0; r < sizeof ratios / sizeof ratios[0]; r++) {
        cal_model* model = alternate(chain, ratios[r]);
        const size_t n = 64;
        cal_test_motion motion = cal_test_random_motion(model, 3);
        double *expected = cal_test_numbers(n), *found = cal_test_numbers(n);
        solve_extended(model, &motion, expected);
        const double scale = cal_test_largest(expected, n), ratio = fmax(ratios[r], 1.0 / ratios[r]);
        for (size_t s = 0; s < sizeof schedules / sizeof schedules[0]; s++) {
            find(model, schedules[s] ? "assembly" : "aba", schedules[s], &motion, found);
            const double error = cal_test_largest_difference(found, expected, n) / scale;
            print_message("1 : %g  %-9s %.1e\n", ratios[r], schedules[s] ? schedules[s] : "aba", error);
            cal_test_expect_below(error, 1000.0 * DBL_EPSILON * (schedules[s] ? ratio : 1.0),
                                  schedules[s] ? schedules[s] : "aba", "masses");
        }
        free(expected), free(found);
        cal_test_motion_free(&motion);
        cal_model_destroy(model);
    }
    cal_model_destroy(chain);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_exact_on_long_chains),
                                       cmocka_unit_test(is_exact_at_large_mass_ratios)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
