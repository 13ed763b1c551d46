// Linearly implicit Euler steps, extrapolated (Deuflhard, Hairer and Zugck 1987): for servos on light links, stiff
// stops and strong dampers, which ask for steps of microseconds from any explicit method, long after what they do has
// died away.
//
// With D and K what joint forces fall by with v and q (pass/joint_law.h), taken at the beginning of a step of size H,
// one of n Euler steps of size h = H/n is
//
//     (M + h D + h² K) Δv = h (M a(q, v) − h K v),    v⁺ = v + Δv,    q⁺ = q + h q̇(q, v⁺), quaternions normalised
//
// and Δv/h is what a pass computes for an implicit solver (pass/solver_ops.h): no matrix is made. What forces of a medium fall by is a matrix R per body,
// found at the beginning of a step in the body's axes, which turn with it: D has ∑ Jᵀ R J at q as well. Whatever D and K are,
// what n such steps give has an expansion in powers of h, so the results Y_n for n = 1 … 6 are extrapolated to order 6,
// and without the first of them to order 5; the two differ by the error of the latter. Extrapolation is linear (Aitken
// and Neville):
//
//     y₁ = ∑ c_n Y_n ,   c_n = ∏_{m ≠ n} n / (n − m)
//
// so one vector sums it up as the Y_n come, and nothing else of them is kept. All sums are of differences to y₀, so
// that rounding is measured by what a step changes.
//
// Inside a step (Hairer and Ostermann 1990): the backward differences ∇ᵏ of the n steps at the end, times nᵏ, have an
// expansion as well; extrapolated over n = k … 6 they are d_k = Hᵏ y⁽ᵏ⁾ with an error of H⁷, and linear in the steps'
// results again. The polynomial of degree 6 has these derivatives for k ≤ 5 at the end, and both values: with u = −1 …
// 0 and Δ = y₁ − y₀
//
//     y₀ + Δ (1 − u⁶) + ∑ d_k (uᵏ − (−1)ᵏ u⁶) / k!
//
// Nothing in it is an acceleration, in which a stiff force would multiply the error of y by its own size. The one of
// degree 5, without d₅, differs from it by g u⁵ (1 + u), g = −Δ − ∑ (−1)ᵏ d_k / k!, at most 5⁵/6⁶ |g|. Where motion is
// smooth that is 46 to 63 times the error of order 5 (measured on one pendulum; both grow with H⁶), and the polynomial
// itself is better than that error. Where something fast is over within the step, no polynomial follows it, and the two
// differ by a few times what is wrong: so that their difference may be 64 times the allowed error, and is tested with
// it.
//
// Constraints close what an Euler step has reached before it counts (cal_solver_ops.correct): y₀ is closed, and differences between it and
// results that are open by h² would have no expansion.
//
// Every Euler step evaluates where it begins, and so nobody sees a force that jumps, or a stop that is met, in the last
// sixth of a step. One more evaluation does, at the end of the six steps of n = 6, as if there was a seventh: the
// differences
//
//     h ∇⁵ (Δv/h) = ∑ (−1)ⁱ binomial(5, i) h (Δv/h)₆₋ᵢ ,   i = 0 … 5
//
// are a sixth derivative times h⁶ where motion is smooth (that it bounds no step there was seen on pendulums, a chain
// and a servo, not derived), and h times what jumps otherwise: more than what the step lacks. They are tested as the
// polynomial is, with 64 times the allowed error.
//
//   evaluation      1     2   3     4   5   6    …   21    22
//   n, step         1,1   2,1 2,2   3,1 3,2 3,3  …   6,6   6,7
#include "base/sound.h"
#include "solver/implicit_euler_columns.h"
#include "solver/solver.h"
#include "solver/step_size.h"
#include <string.h>

static const double RATIO_NOT_FINITE = 0.25;
enum { MOST_NOT_FINITE = 10, ORDER = ROWS };

// ∏ n / (n − m) over m = first … ROWS but n.
static double extrapolation_weight(int n, int first) {
    double weight = 1.0;
    for (int m = first; m <= ROWS; m++)
        if (m != n) weight *= (double)n / (n - m);
    return weight;
}

// What the result of Euler step `index` of n counts in each of the sums.
static void find_weights(int n, int index, double weights[SUMS]) {
    const int back = n - 1 - index; // results from the end; −1: beyond it
    memset(weights, 0, SUMS * sizeof *weights);
    if (back < 0) return;
    weights[0] = back == 0 ? extrapolation_weight(n, 1) : 0.0;
    weights[1] = back == 0 && n > 1 ? weights[0] - extrapolation_weight(n, 2) : weights[0];
    for (int k = 1; k <= DERIVATIVES; k++) {
        double weight = n >= k && back <= k ? extrapolation_weight(n, k) : 0.0;
        for (int i = 0; i < k; i++) weight *= n;
        for (int i = 0; i < back && weight != 0.0; i++) weight *= -(double)(k - i) / (i + 1); // (−1)ⁱ binomial
        weights[1 + k] = weight;
    }
}

// (−1)ⁱ binomial(5, i) for the Euler step that begins i steps before the end.
static double jump_weight(int n, int index) {
    static const double binomials[6] = {1.0, -5.0, 10.0, -10.0, 5.0, -1.0};
    return n == ROWS && index > 0 ? binomials[ROWS - index] : 0.0;
}

// Sends the present Euler step down.
static cal_status send(implicit_control* c, double* down, cal_step_decision* decision) {
    const double h = c->step / c->n;
    down[CAL_DOWN_IMPLICIT_STEP] = h;
    down[CAL_DOWN_FREEZE] = down[DOWN_FIRST] = c->index == 0 ? 1.0 : 0.0;
    down[DOWN_BEGIN] = c->n == 1 ? 1.0 : 0.0;
    down[DOWN_LAST] = c->n == ROWS && c->index == ROWS ? 1.0 : 0.0;
    down[DOWN_JUMP] = h * jump_weight(c->n, c->index);
    find_weights(c->n, c->index, down + DOWN_WEIGHT);
    decision->evaluation_time = c->time + c->index * h;
    if (!c->chosen || c->time + c->step > c->time) return CAL_OK;
    return c->not_finite > 0 ? CAL_NOT_FINITE : CAL_NOT_CONVERGED;
}

// The first evaluation has h = 0: dy/dt itself, from which the first step's size follows.
static void implicit_start(void* memory, const cal_solver_settings* settings, double time, double* down,
                           cal_step_decision* decision) {
    implicit_control* c = memory;
    *c = (implicit_control){.settings = *settings, .time = time, .end = time, .n = 1};
    memset(down, 0, DOWN_COUNT * sizeof *down);
    *decision = (cal_step_decision){.previous = time, .time = time, .order = ORDER};
    (void)send(c, down, decision);
}

static cal_status reject(implicit_control* c, double ratio, double* down, cal_step_decision* decision) {
    decision->rejected = true;
    c->step *= ratio;
    c->n = 1, c->index = 0;
    return send(c, down, decision);
}

static cal_status implicit_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    implicit_control* c = memory;
    const double size = sums[0];
    decision->accepted = decision->rejected = false;
    down[DOWN_COMMIT] = 0.0;
    if (!(size <= DBL_MAX)) {
        if (!c->chosen || ++c->not_finite >= MOST_NOT_FINITE) return CAL_NOT_FINITE;
        return reject(c, RATIO_NOT_FINITE, down, decision);
    }
    if (!c->chosen) {
        c->step = cal_first_step_named(&c->settings, size);
        c->chosen = true;
        return send(c, down, decision);
    }
    if (++c->index < c->n + (c->n == ROWS)) return send(c, down, decision);
    c->index = 0;
    if (++c->n <= ROWS) return send(c, down, decision);
    c->n = 1;

    const double ratio = cal_step_ratio(size, ORDER, c->failed), least = cal_smallest_step(c->time);
    if (size > 1.0 && c->step > least) {
        c->failed = true;
        return reject(c, fmax(ratio, least / c->step), down, decision);
    }
    c->failed = false, c->not_finite = 0;
    c->used = c->step;
    c->time += c->step;
    c->end = c->time;
    decision->accepted = true;
    decision->previous = decision->time;
    decision->time = c->time;
    decision->step = c->used;
    c->step *= ratio;
    if (c->settings.largest_step > 0.0) c->step = fmin(c->step, c->settings.largest_step);
    down[DOWN_COMMIT] = 1.0;
    return send(c, down, decision);
}

static bool implicit_sound(const void* memory, const double* down) {
    const implicit_control* c = memory;
    (void)down; // all of it are weights and flags
    return cal_solver_settings_sound(&c->settings) && cal_is_flag(&c->chosen) && c->n >= 1 && c->n <= ROWS &&
           c->index >= 0 && c->index <= c->n && cal_is_flag(&c->failed) && cal_is_count(c->not_finite) &&
           isfinite(c->time) && isfinite(c->step);
}

// From what the very first evaluation and the one beyond the last step reach nobody does.
static bool implicit_goes_on(const double* down) {
    return down[CAL_DOWN_IMPLICIT_STEP] != 0.0 && down[DOWN_LAST] == 0.0;
}

static void implicit_correct(const cal_solver_context* context, const cal_column* column) {
    double* const* x = context->vectors;
    double* reached = x[VECTOR_CURRENT];
    const int first = cal_column_first(context->layout, column), end = cal_column_end(context->layout, column);
    for (int k = 0; k < SUMS; k++) {
        const double weight = context->down[DOWN_WEIGHT + k];
        for (int i = first; i < end && weight != 0.0; i++)
            x[VECTOR_CHANGE + k][i] += weight * (context->y[i] - reached[i]);
    }
    cal_range_copy(reached, context->y, first, end);
}

const cal_solver_ops cal_solver_implicit = {
    .name = "implicit",
    .help = "extrapolated linearly implicit Euler: for stiff servos, stops and dampers",
    .vector_count = VECTOR_COUNT,
    .sum_count = 1,
    .max_count = 1,
    .down_count = DOWN_COUNT,
    .degree = DERIVATIVES + 1,
    .implicit = VECTOR_IMPLICIT,
    .slopes = VECTOR_SLOPES,
    .control_size = sizeof(implicit_control),
    .start = implicit_start,
    .prepare = implicit_prepare,
    .follow_up = implicit_follow_up,
    .control = implicit_steer,
    .goes_on = implicit_goes_on,
    .correct = implicit_correct,
    .reached = VECTOR_CURRENT,
    .interpolate = implicit_interpolate,
    .sound = implicit_sound,
};
