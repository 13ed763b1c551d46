// Bodies that nothing turns, against Euler's equations in long double by Taylor series of order 30: where a closed form says how they turn, and
// near to the axis of the middle moment, where none does.
#include "base/random.h"
#include "calder/calder_world.h"
#include "simulation/motion/free_turn.h"
#include "support_world.h"
#include <math.h>
#include <string.h>

enum { ORDER = 30 };

// y: a quaternion, and ω in principal axes.
static void integrate(const double I[3], long double y[7], long double h) {
    long double c[ORDER + 1][7];
    memcpy(c[0], y, sizeof c[0]);
    for (int n = 0; n < ORDER; n++) {
        long double sum[7] = {0};
        for (int k = 0; k <= n; k++) {
            const long double *q = c[k], *w = c[n - k] + 4, *other = c[k] + 4;
            sum[0] -= q[1] * w[0] + q[2] * w[1] + q[3] * w[2];
            sum[1] += q[0] * w[0] + q[2] * w[2] - q[3] * w[1];
            sum[2] += q[0] * w[1] + q[3] * w[0] - q[1] * w[2];
            sum[3] += q[0] * w[2] + q[1] * w[1] - q[2] * w[0];
            for (int i = 0; i < 3; i++) sum[4 + i] += other[(i + 1) % 3] * w[(i + 2) % 3];
        }
        for (int i = 0; i < 4; i++) c[n + 1][i] = 0.5L * sum[i] / (n + 1);
        for (int i = 0; i < 3; i++)
            c[n + 1][4 + i] = ((long double)I[(i + 1) % 3] - I[(i + 2) % 3]) / I[i] * sum[4 + i] / (n + 1);
    }
    for (int i = 0; i < 7; i++) {
        y[i] = 0.0L;
        for (int n = ORDER; n >= 0; n--) y[i] = y[i] * h + c[n][i];
    }
}

static void draw_quaternion(cal_random* random, double q[4]) {
    double square = 0.0;
    for (int i = 0; i < 4; i++) q[i] = cal_random_between(random, -1.0, 1.0), square += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrt(square);
}

// Moments that a body can have: two differ by no more than the third one.
static void draw_moments(cal_random* random, double I[3]) {
    I[0] = cal_random_between(random, 0.5, 2.0), I[1] = cal_random_between(random, 0.5, 2.0);
    I[2] = cal_random_between(random, fabs(I[0] - I[1]), I[0] + I[1]);
}

static int tight; // motions whose bounds were nearly reached

// The largest sum of errors over 30 rad, of the orientation and of the turning rate, relative to its length; at the beginning, where it is exact, no
// more than rounding. Negative: there is no closed form.
static double largest_error(const double I[3], const double q[4], const double w[3]) {
    enum { STEPS = 150 };
    double turn[CAL_TURN_NUMBERS], at[4], rate[3], most = 0.0, nearest[2] = {0.0, 0.0};
    if (!cal_free_turn_begin(I, q, w, turn)) return -1.0;
    assert_true(cal_free_turn_sound(turn));
    long double y[7];
    for (int i = 0; i < 7; i++) y[i] = i < 4 ? q[i] : w[i - 4];
    const double length = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), h = 0.2 / length;
    for (int n = 0; n <= STEPS; n++) {
        cal_free_turn_at(turn, n * h, at, rate);
        double error = 0.0;
        for (int i = 0; i < 4; i++) error += (double)fabsl(at[i] - y[i]);
        for (int i = 0; i < 3; i++) error += (double)fabsl(rate[i] - y[4 + i]) / length;
        if (n == 0) assert_true(error < 2e-15);
        long double rates[3];
        for (int i = 0; i < 3; i++)
            rates[i] = ((long double)I[(i + 1) % 3] - I[(i + 2) % 3]) / I[i] * y[4 + (i + 1) % 3] * y[4 + (i + 2) % 3];
        const double fast = (double)hypotl(hypotl(y[4], y[5]), y[6]),
                     change = (double)hypotl(hypotl(rates[0], rates[1]), rates[2]);
        assert_true(fast <= turn[CAL_TURN_FASTEST] && change <= turn[CAL_TURN_TWIST]);
        nearest[0] = fmax(nearest[0], fast / turn[CAL_TURN_FASTEST]);
        if (turn[CAL_TURN_TWIST] > 0.0) nearest[1] = fmax(nearest[1], change / turn[CAL_TURN_TWIST]);
        assert_true(isfinite(error));
        most = fmax(most, error);
        integrate(I, y, (long double)(n + 1) * h - (long double)n * h);
    }
    // Bounds that are far from what they bound would do for no search: most of these motions come near to them.
    tight += nearest[0] > 0.99 && (nearest[1] > 0.99 || turn[CAL_TURN_TWIST] <= 1e-12 * length * length);
    return most;
}

// An angle of 30 rad is rounded by 4e-15, and it is a product of rounded rates.
static void closed_form_is_exact_to_rounding(void** state) {
    (void)state;
    enum { RANDOM, TWO_EQUAL, TWO_ALIKE, ALL_EQUAL, NEAR_AN_AXIS, NEEDLE, PLATE, SLOW, FAST, KINDS, EACH = 40 };
    cal_random random = {7};
    int without = 0;
    for (int k = 0; k < KINDS * EACH; k++) {
        const int kind = k % KINDS, axis = cal_random_below(&random, 3);
        double I[3], q[4], w[3];
        draw_moments(&random, I);
        draw_quaternion(&random, q);
        for (int i = 0; i < 3; i++) w[i] = cal_random_between(&random, -1.0, 1.0);
        if (kind == TWO_EQUAL) I[axis] = I[(axis + 1) % 3];
        if (kind == TWO_ALIKE) I[axis] = I[(axis + 1) % 3] * (1.0 + 1e-9 * cal_random_between(&random, 0.0, 1.0));
        if (kind == ALL_EQUAL) I[0] = I[1] = I[2];
        if (kind == NEAR_AN_AXIS) w[(axis + 1) % 3] *= 1e-8, w[(axis + 2) % 3] *= k % 4 == 0 ? 0.0 : 1e-8;
        if (kind == NEEDLE) I[axis] = 1e-3, I[(axis + 1) % 3] = I[(axis + 2) % 3] * (1.0 - 5e-4);
        if (kind == PLATE) I[axis] = I[(axis + 1) % 3] + I[(axis + 2) % 3];
        for (int i = 0; i < 3; i++) w[i] *= kind == SLOW ? 1e-120 : kind == FAST ? 1e120 : 1.0;
        const double error = largest_error(I, q, w);
        without += error < 0.0 && kind != NEAR_AN_AXIS; // which may be the middle one
        if (!(error <= 1e-13)) fail_msg("kind %d, number %d: %g", kind, k, error);
    }
    assert_true(without <= KINDS * EACH / 50);
    assert_true(tight >= KINDS * EACH / 2);
}

static void what_does_not_turn_stays(void** state) {
    (void)state;
    const double I[3] = {1.0, 2.0, 2.5}, q[4] = {0.5, 0.5, -0.5, 0.5}, none[3] = {0.0, 0.0, 0.0};
    double turn[CAL_TURN_NUMBERS], at[4], rate[3];
    assert_true(cal_free_turn_begin(I, q, none, turn));
    cal_free_turn_at(turn, 1e6, at, rate);
    for (int i = 0; i < 4; i++) assert_true(at[i] == q[i]);
    for (int i = 0; i < 3; i++) assert_true(rate[i] == 0.0);
}

// From far away to the middle axis itself: where there is a closed form it is as exact as the motion's dependence on its beginning lets it be, and
// there is one unless it is very near.
static void near_the_middle_axis_it_is_as_exact_as_can_be(void** state) {
    (void)state;
    const double I[3] = {1.0, 1.5, 2.2}, q[4] = {1.0, 0.0, 0.0, 0.0};
    for (int k = 1; k < 60; k++) {
        // On a separatrix I₁ (I₂ − I₁) ω₁² = I₃ (I₃ − I₂) ω₃²; off by a share.
        const double off = pow(0.6, k), w1 = 0.4, w3 = (1.0 + (k % 2 == 0 ? off : -off)) * w1 * sqrt(0.5 / (2.2 * 0.7));
        const double w[3] = {w1, 0.8, k % 3 == 0 ? -w3 : w3}, error = largest_error(I, q, w);
        if (off > 0.02) assert_true(error >= 0.0);
        if (!(error <= 1e-14 / off)) fail_msg("off by %g: %g", off, error);
    }
}

// A body that turns about its middle axis, nearly or exactly, tumbles in a world as it does in long double.
static void a_body_tumbles_about_its_middle_axis(void** state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        cal_world* world = cal_test_world(NULL);
        cal_world_body_def def = cal_default_world_body_def();
        const double I[3] = {1.0, 1.5, 2.2}, tilt = k == 0 ? 0.0 : pow(10.0, -2 * k);
        def.mass = 3.0, def.density = 0.0;
        for (int i = 0; i < 3; i++) def.inertia[i] = I[i];
        def.angular_velocity[0] = 2.0 * tilt, def.angular_velocity[1] = 2.0, def.angular_velocity[2] = tilt;
        const cal_body_id body = cal_test_add(world, &def, CAL_SPHERE, 0.1, 0.0, 0.0);
        long double y[7] = {1.0L, 0.0L, 0.0L, 0.0L};
        for (int i = 0; i < 3; i++) y[4 + i] = def.angular_velocity[i];
        double q[4];
        for (int n = 1; n <= 50; n++) {
            cal_test_advance(world, 0.1 * n);
            integrate(I, y, 0.1L * n - 0.1L * (n - 1));
            assert_int_equal(cal_world_get_body(world, body, NULL, q, NULL, NULL), CAL_OK);
            double same = 0.0, error = 0.0;
            for (int i = 0; i < 4; i++) same += q[i] * (double)y[i];
            for (int i = 0; i < 4; i++) error += fabs(q[i] - copysign(1.0, same) * (double)y[i]);
            if (!(error <= 1e-12)) fail_msg("tilted by %g, after %d steps: %g", tilt, n, error);
        }
        cal_world_destroy(world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(closed_form_is_exact_to_rounding),
                                       cmocka_unit_test(what_does_not_turn_stays),
                                       cmocka_unit_test(near_the_middle_axis_it_is_as_exact_as_can_be),
                                       cmocka_unit_test(a_body_tumbles_about_its_middle_axis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
