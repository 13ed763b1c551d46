// The IFToMM library of multibody problems against numbers from outside: A01 in closed form, A02, A04 and A05 against the
// library's reference curves. (A03, Andrews' squeezer, against the IVP test set: test_constraints.c.)
//
// The curves are those that Tagliapietra, Vivian, Reggiani and Ceseracciu drew beside their own results (MBS Benchmarks in
// OpenSim, figures 2MBS, 4MBS and 5MBS_PlotResults of their documentation): vector graphics whose vertices have the
// six digits of the library's tables. Vertices that the drawing program left out or moved are not used.
#include "support.h"
#include <math.h>
#include <string.h>

// Jacobi's elliptic functions by arithmetic and geometric means (Abramowitz and Stegun, 16.4).
static void elliptic(double u, double k, double* sn, double* cn, double* dn) {
    double a[16] = {1.0}, c[16] = {k}, b = sqrt(1.0 - k * k);
    int n = 0;
    for (; n < 15 && fabs(c[n]) > 1e-16; n++) {
        a[n + 1] = 0.5 * (a[n] + b);
        c[n + 1] = 0.5 * (a[n] - b);
        b = sqrt(a[n] * b);
    }
    double phase = ldexp(a[n] * u, n), before = phase;
    for (; n > 0; n--) {
        before = phase;
        phase = 0.5 * (phase + asin(c[n] * sin(phase) / a[n]));
    }
    *sn = sin(phase);
    *cn = cos(phase);
    *dn = *cn / cos(before - phase);
}

// sin(θ/2) = k cn(ω t)/dn(ω t) with k = sin(θ₀/2): from rest at the horizontal, as the library's pendulum.
static void a01_is_a_pendulum_in_closed_form(void** state) {
    (void)state;
    const double omega = sqrt(9.81), k = sin(0.25 * 3.14159265358979323846);
    cal_model* model = cal_test_model("pendulum:form=distance,start=1.5707963267948966");
    cal_sim* sim = cal_test_open_sim(model, "rkf", 1e-10, NULL, 0.0);
    for (int i = 1; i <= 100; i++) {
        double sn, cn, dn;
        cal_test_advance_sim(sim, 0.1 * i);
        elliptic(omega * 0.1 * i, k, &sn, &cn, &dn);
        const double angle = 2.0 * asin(k * cn / dn), *q = cal_sim_q(sim);
        cal_test_expect_below(fabs(fabs(q[0]) - fabs(sin(angle))), 1e-7, "x", "A01");
        cal_test_expect_below(fabs(q[1] + cos(angle)), 1e-7, "height", "A01");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Where B0 is, m. At the horizontal, which is passed at 0.73 s for the first time, every four-bar is singular.
static void a02_forty_fourbars_pass_singular_positions(void** state) {
    (void)state;
    static const double expected[][3] = {
        {0.2, 0.213388, 0.976967},  {0.4, 0.503259, 0.864135}, {0.6, 0.875279, 0.483617},  {1.4, -0.813634, 0.581377},
        {1.6, -0.445463, 0.8953},   {1.8, -0.17321, 0.984885}, {3.0, -0.338518, -0.94096}, {3.5, -0.558537, 0.829479},
        {4.0, 0.0693421, 0.997593}, {4.5, 0.819566, 0.572985}, {5.0, -0.540191, -0.841543}};
    cal_model* model = cal_test_model("fourbar:n=40");
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-10, NULL, 0.0);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        cal_test_advance_sim(sim, expected[i][0]);
        const double angle = cal_sim_q(sim)[0];
        cal_test_expect_below(fabs(-sin(angle) - expected[i][1]), 3e-6, "x", "A02");
        cal_test_expect_below(fabs(cos(angle) - expected[i][2]), 3e-6, "y", "A02");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Where P3 is, the far end of the second rod, m.
static void a04_bricards_mechanism(void** state) {
    (void)state;
    static const double expected[][4] = {
        {0.2, 0.961273, -0.999279, -0.0379769}, {0.6, 0.686428, -0.964411, -0.264408},
        {1.0, 0.273334, -0.886544, -0.462644},  {1.4, -0.170625, -0.874268, -0.485443},
        {1.8, -0.597045, -0.946818, -0.321769}, {2.2, -0.918057, -0.996907, -0.0785855},
        {2.6, -0.988843, -0.999938, -0.011095}, {3.0, -0.768606, -0.978841, -0.204622},
        {4.0, 0.28833, -0.888729, -0.458433},   {5.0, 0.999816, -1.0, -0.0001839},
        {6.0, 0.258309, -0.884448, -0.466638},  {7.0, -0.791078, -0.982341, -0.187098},
        {8.0, -0.757063, -0.976959, -0.213428}, {9.0, 0.303294, -0.890998, -0.454006},
        {10.0, 0.999265, -1.0, -0.0007351}};
    cal_model* model = cal_test_model("bricard");
    cal_sim* sim = cal_test_open_sim(model, "rkf", 1e-9, NULL, 0.0);
    double poses[7 * 5];
    assert_int_equal(cal_model_body_count(model), 5);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        cal_test_advance_sim(sim, expected[i][0]);
        assert_int_equal(cal_sim_poses(sim, poses), CAL_OK);
        for (int k = 0; k < 3; k++)
            cal_test_expect_below(fabs(poses[7 * 2 + k] - expected[i][1 + k]), 2e-6, "P3", "A04");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// How high the slider is, m. Our springs have a little mass, a hundred-thousandth of the balls'.
static void a05_the_flyball_governor(void** state) {
    (void)state;
    static const double expected[][2] = {{0.1, 0.523836}, {0.2, 0.585079}, {0.3, 0.658632}, {0.5, 0.743249},
                                         {0.6, 0.727631}, {0.7, 0.675467}, {0.9, 0.536282}, {1.0, 0.50142},
                                         {1.1, 0.513713}, {1.3, 0.640878}, {1.5, 0.740684}, {1.8, 0.621601},
                                         {2.1, 0.506231}, {2.3, 0.622584}, {2.6, 0.740475}, {3.0, 0.513246}};
    if (!cal_solver_help("bdf")) skip();
    cal_model* model = cal_test_model("governor");
    cal_sim* sim = cal_test_open_sim(model, "bdf", 1e-7, NULL, 0.0);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        cal_test_advance_sim(sim, expected[i][0]);
        cal_test_expect_below(fabs(cal_sim_q(sim)[1] - expected[i][1]), 2e-5, "s", "A05");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a01_is_a_pendulum_in_closed_form),
        cmocka_unit_test(a02_forty_fourbars_pass_singular_positions),
        cmocka_unit_test(a04_bricards_mechanism),
        cmocka_unit_test(a05_the_flyball_governor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
