// Gear's method for non-stiff equations: Adams in Nordsieck form, orders 1 … 12, functional iteration, with the step
// and order control of Hindmarsh's LSODE (subroutine STODE), split into prepare / follow-up / control as Jung (III.C)
// does.
//
//   z_j = hʲ y⁽ʲ⁾ / j!   Nordsieck history, j = 0 … q         P   Pascal's triangle: P z is the history moved on by h
//   e = h f − (P z)₁     the sum of corrections (Jung's ∇a_q)  l   the method's coefficients (elco)
//   y = (P z)₀ + l₀ e    corrected                             z ← P z + l e   after a successful step
//
// The history is not touched before the step has succeeded. Moving it on, changing its order and rescaling it to the
// next step's size ride in the next step's preparation; until then the dense output evaluates P z + l e on the fly:
//
//   y(t) = ∑ z_j (1 + s)ʲ + e ∑ l_j sʲ ,   s = (t − t_n) / h ,  −1 ≤ s ≤ 0
//
// The sums are those of Jung's table IX, ∑(x/ω)² of the actual correction, a_q old, a_q new, ∇a_q, ∇²a_q; a_q is z_q.
// Beside them goes the largest (x/ω)² of ∇a_q: a mean over a million components does not see a few that run away, so
// one of them may not exceed the mean that is allowed by more than LARGEST_SHARE. Among fewer than LARGEST_SHARE²
// components none can.
#include "base/sound.h"
#include "solver/gear_columns.h"
#include <string.h>

static const double SMALLEST_CHANGE = 1.1, LARGEST_FIRST_CHANGE = 1e4, LARGEST_CHANGE = 10.0,
                    LARGEST_AFTER_FAILURE = 2.0, LARGEST_SHARE = 30.0;
enum { MOST_CORRECTIONS = 3, MOST_FAILURES = 10, FAILURES_BEFORE_RESTART = 3 };

// LSODE's CFODE for Adams: l from ∏(x + i), and the constants of the error tests.
static void find_coefficients(gear_control* g) {
    double p[ROWS] = {1.0}, factor = 1.0;
    g->elco[1][0] = g->elco[1][1] = 1.0;
    g->tesco[1][0] = 0.0, g->tesco[1][1] = 2.0, g->tesco[2][0] = 1.0, g->tesco[LARGEST_ORDER][2] = 0.0;
    for (int q = 2; q <= LARGEST_ORDER; q++) {
        const double old_factor = factor, shift = q - 1;
        factor /= q;
        p[q - 1] = 0.0;
        for (int i = q - 1; i > 0; i--) p[i] = p[i - 1] + shift * p[i];
        p[0] *= shift;
        double integral = p[0], moment = p[0] / 2.0, sign = 1.0; // of p and x p over −1 … 0
        for (int i = 1; i < q; i++) {
            sign = -sign;
            integral += sign * p[i] / (i + 1);
            moment += sign * p[i] / (i + 2);
        }
        g->elco[q][0] = integral * old_factor;
        g->elco[q][1] = 1.0;
        for (int i = 2; i <= q; i++) g->elco[q][i] = old_factor * p[i - 1] / i;
        const double test = 1.0 / (factor * moment);
        g->tesco[q][1] = test;
        g->tesco[q + 1][0] = test * factor / (q + 1);
        g->tesco[q - 1][2] = test;
    }
}

// --- Control ---------------------------------------------------------------------------------------------------------

static void send_evaluation(gear_control* g, double step, double* down, cal_step_decision* decision) {
    g->mode = MODE_EVALUATE;
    down[DOWN_MODE] = MODE_EVALUATE;
    down[DOWN_STEP] = step;
    down[DOWN_ORDER] = g->order;
    decision->evaluation_time = g->time;
}

// Begins a step from g->time with the step size h · ratio and the present order.
static cal_status send_prediction(gear_control* g, double ratio, double* down, cal_step_decision* decision) {
    g->step *= ratio;
    if (!(g->time + g->step > g->time)) return g->not_finite ? CAL_NOT_FINITE : CAL_NOT_CONVERGED;
    g->mode = MODE_PREDICT;
    g->iteration = 0;
    g->last_correction = 0.0;
    down[DOWN_MODE] = MODE_PREDICT;
    down[DOWN_RATIO] = ratio;
    down[DOWN_ORDER] = g->order;
    down[DOWN_STEP] = g->step;
    down[DOWN_FIRST] = g->elco[g->order][0];
    down[DOWN_LAST] = g->elco[g->order][g->order];
    down[DOWN_SECOND] = g->wait == 1 ? 1.0 : 0.0;
    decision->evaluation_time = g->time + g->step;
    return CAL_OK;
}

// A ratio of step sizes within its bounds; the order then rests for order + 1 steps.
static double limit_ratio(gear_control* g, double ratio) {
    ratio = fmin(ratio, g->largest_change);
    if (g->settings.largest_step > 0.0) ratio /= fmax(1.0, g->step * ratio / g->settings.largest_step);
    g->wait = g->order + 1;
    return ratio;
}

static double norm(const gear_control* g, double sum) { return sqrt(sum / g->settings.component_count); }

// The order that allows the longest next step, and the ratio of that step to the present one.
static double choose_order(const gear_control* g, const double* sums, double error, bool failed, int* order) {
    const int q = g->order;
    double up = 0.0, down = 0.0;
    const double same = 1.0 / (1.2 * pow(error, 1.0 / (q + 1)) + 0.0000012);
    if (!failed && q < g->largest_order)
        up = 1.0 / (1.4 * pow(norm(g, sums[SUM_SECOND_CHANGE]) / g->tesco[q][2], 1.0 / (q + 2)) + 0.0000014);
    if (q > 1) {
        const double last = norm(g, sums[failed ? SUM_LAST_OLD : SUM_LAST_NEW]) / g->tesco[q][0];
        down = 1.0 / (1.3 * pow(last, 1.0 / q) + 0.0000013);
    }
    if (same >= up && same >= down) {
        *order = q;
        return same;
    }
    if (up > same && up > down) {
        *order = q + 1;
        return up;
    }
    *order = q - 1;
    return failed ? fmin(down, 1.0) : down;
}

static cal_status accept(gear_control* g, const double* sums, double error, double* down, cal_step_decision* decision) {
    const int old_order = g->order;
    double ratio = 1.0;
    decision->accepted = true;
    decision->previous = g->time;
    g->time += g->step;
    g->used_step = g->step, g->used_order = old_order;
    decision->time = g->time;
    decision->step = g->step;
    decision->order = old_order;
    g->failures = g->convergence_failures = 0;
    g->not_finite = false;

    down[DOWN_COMMIT] = 1.0;
    down[DOWN_OLD_ORDER] = old_order;
    for (int j = 0; j <= old_order; j++) down[DOWN_OLD + j] = g->elco[old_order][j];
    g->wait--;
    down[DOWN_SAVE] = g->wait == 1 && old_order < g->largest_order ? 1.0 : 0.0;
    down[DOWN_INCREASE] = 0.0;
    if (g->wait == 0) {
        int order = old_order;
        const double wish = choose_order(g, sums, error, false, &order);
        if (wish < SMALLEST_CHANGE) {
            g->wait = 3;
        } else {
            if (order > old_order) down[DOWN_INCREASE] = g->elco[old_order][old_order] / (old_order + 1);
            g->order = order;
            ratio = limit_ratio(g, wish);
            g->largest_change = LARGEST_CHANGE;
        }
    }
    return send_prediction(g, ratio, down, decision);
}

static cal_status reject_error(gear_control* g, const double* sums, double error, double* down,
                               cal_step_decision* decision) {
    decision->rejected = true;
    g->failures++;
    g->largest_change = LARGEST_AFTER_FAILURE;
    if (g->failures >= MOST_FAILURES) return CAL_NOT_CONVERGED;
    if (g->failures >= FAILURES_BEFORE_RESTART) {
        // The derivatives have errors of the wrong order: start again with order 1 and a tenth of the step.
        g->step *= 0.1;
        g->order = 1;
        g->wait = 5;
        send_evaluation(g, g->step, down, decision);
        return CAL_OK;
    }
    int order = g->order;
    double ratio = choose_order(g, sums, error, true, &order);
    if (g->failures >= 2) ratio = fmin(ratio, 0.2);
    g->order = order;
    return send_prediction(g, limit_ratio(g, ratio), down, decision);
}

static cal_status reject_convergence(gear_control* g, bool finite, double* down, cal_step_decision* decision) {
    decision->rejected = true;
    g->largest_change = LARGEST_AFTER_FAILURE;
    g->not_finite = !finite;
    if (++g->convergence_failures >= MOST_FAILURES) return finite ? CAL_NOT_CONVERGED : CAL_NOT_FINITE;
    return send_prediction(g, limit_ratio(g, 0.25), down, decision);
}

static void gear_start(void* memory, const cal_solver_settings* settings, double time, double* down,
                       cal_step_decision* decision) {
    gear_control* g = memory;
    memset(g, 0, sizeof *g);
    memset(down, 0, DOWN_COUNT * sizeof *down);
    *decision = (cal_step_decision){.previous = time, .time = time, .order = 1};
    g->settings = *settings;
    g->largest_order = settings->largest_order > 0 ? settings->largest_order : LARGEST_ORDER;
    find_coefficients(g);
    g->time = time;
    g->order = 1, g->wait = 2;
    g->step = 1.0;
    g->largest_change = LARGEST_FIRST_CHANGE;
    g->rate = 0.7;
    send_evaluation(g, 1.0, down, decision);
}

static cal_status gear_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    gear_control* g = memory;
    decision->accepted = decision->rejected = false;
    const double correction = norm(g, sums[SUM_CORRECTION]);
    const bool finite = correction <= DBL_MAX;
    down[DOWN_COMMIT] = 0.0;
    if (g->mode == MODE_EVALUATE) {
        if (!finite) return CAL_NOT_FINITE;
        // The first derivative comes unscaled, that of a restart for the step already chosen.
        const double ratio = g->started ? 1.0 : cal_first_step(&g->settings, correction);
        g->started = true;
        return send_prediction(g, ratio, down, decision);
    }
    if (!finite) return reject_convergence(g, false, down, decision);

    if (g->iteration > 0) g->rate = fmax(0.2 * g->rate, correction / g->last_correction);
    const double allowed = g->tesco[g->order][1] * 0.5 / (g->order + 2);
    if (correction * fmin(1.0, 1.5 * g->rate) <= allowed) {
        const double change = fmax(norm(g, sums[SUM_CHANGE]), sqrt(sums[MAX_CHANGE]) / LARGEST_SHARE);
        const double error = change / g->tesco[g->order][1];
        return error <= 1.0 ? accept(g, sums, error, down, decision) : reject_error(g, sums, error, down, decision);
    }
    g->iteration++;
    if (g->iteration == MOST_CORRECTIONS || (g->iteration >= 2 && correction > 2.0 * g->last_correction))
        return reject_convergence(g, true, down, decision);
    g->last_correction = correction;
    g->mode = MODE_CORRECT;
    down[DOWN_MODE] = MODE_CORRECT;
    return CAL_OK;
}

static bool gear_sound(const void* memory, const double* down) {
    const gear_control* g = memory;
    return (int)g->mode >= MODE_EVALUATE && (int)g->mode <= MODE_CORRECT && cal_is_flag(&g->started) &&
           cal_is_flag(&g->not_finite) && g->largest_order >= 1 && g->largest_order <= LARGEST_ORDER && g->order >= 0 &&
           g->order <= g->largest_order && g->used_order >= 0 && g->used_order <= LARGEST_ORDER &&
           cal_is_count(g->wait) && cal_is_count(g->iteration) && cal_is_count(g->failures) &&
           cal_is_count(g->convergence_failures) && isfinite(g->time) && isfinite(g->step) &&
           cal_is_index(down[DOWN_MODE], MODE_CORRECT) && cal_is_index(down[DOWN_ORDER], LARGEST_ORDER) &&
           cal_is_index(down[DOWN_OLD_ORDER], LARGEST_ORDER);
}

const cal_solver_ops cal_solver_gear = {
    .name = "gear",
    .help = "Adams in Nordsieck form, orders 1 to 12, variable step: fewest evaluations where nothing is stiff",
    .vector_count = VECTOR_COUNT,
    .sum_count = SUM_COUNT,
    .max_count = MAX_CHANGE + 1,
    .down_count = DOWN_COUNT,
    .control_size = sizeof(gear_control),
    .start = gear_start,
    .prepare = gear_prepare,
    .follow_up = gear_follow_up,
    .control = gear_steer,
    .interpolate = gear_interpolate,
    .sound = gear_sound,
};
