// Gear's method: what control makes of the sums (gear.c has the method), on the host and on a device.
#pragma once
#include "solver/gear_columns.h"
#include "solver/step_size.h"
#include <string.h>

static const double LARGEST_FIRST_CHANGE = 1e4, LARGEST_CHANGE = 10.0, SMALLEST_AFTER_FAILURE = 0.1,
                    LARGEST_AFTER_FAILURES = 0.2, AFTER_NO_CONVERGENCE = 0.25, ADDED = 1e-6, DIVERGES = 2.0,
                    CONVERGED = 0.1, JUMP_STEP = 0.25, JUMP_STAYS = 0.5;
static const double LARGEST_SHARE = 10.0;

// Which step and order come next: for an error test of size `error` that grows with hᵖ the step that may be taken is
// h / (factor (bias error)^(1/p)), one order down, here, one order up.
enum { DOWNWARDS, SAME, UPWARDS };
typedef struct rules {
    double smallest_change; // a change must be worth its cost
    double after_failure;   // the largest growth after a step that failed
    bool equal_steps;       // coefficients are those of equal steps; the step changes only when the order may
    double bias[3], factor[3];
    double first_rate, rate_falls, rate_factor; // of the iteration's convergence; 1: forgotten at every step
} rules;
enum { MOST_CORRECTIONS = 3, MOST_NOT_FINITE = 10, FAILURES_BEFORE_RESTART = 3, WAIT_AFTER_RESTART = 10 };

CAL_DEVICE static inline const rules* find_rules(const gear_control* g) {
    static const rules cvode = {1.5, 1.0, false, {6.0, 6.0, 10.0}, {1.0, 1.0, 1.0}, 1.0, 0.3, 1.0};
    static const rules lsode = {1.1, 2.0, true, {1.0, 1.0, 1.0}, {1.3, 1.2, 1.4}, 0.7, 0.2, 1.5};
    return g->settings.historic ? &lsode : &cvode;
}

// ∑ (−1)ⁱ m_i / (i + k), i ≤ last: ∫₋₁⁰ of xᵏ⁻¹ ∑ m_i xⁱ, but for the sign.
CAL_DEVICE static double alternate(const double* m, int last, int k) {
    double sum = 0.0, sign = 1.0;
    for (int i = 0; i <= last; i++, sign = -sign) sum += sign * m[i] / (i + k);
    return sum;
}

// l, and what norms are multiplied by in the error tests: e here, z_q one order down, ∇²a_q one order up.
CAL_DEVICE static void find_coefficients(gear_control* g) {
    const int q = g->order;
    double m[ROWS + 1] = {1.0}, span = g->step; // t_n − t_{n−i}
    g->test_lower = 0.0;
    for (int i = 1; i < q; i++) {
        if (i == q - 1) g->test_lower = q * alternate(m, q - 2, 2) / m[q - 2];
        for (int j = i; j > 0; j--) m[j] += m[j - 1] * (g->step / span);
        span += find_rules(g)->equal_steps ? g->step : g->past[i];
    }
    g->l[0] = alternate(m, q - 1, 1);
    for (int i = 1; i <= q; i++) g->l[i] = m[i - 1] / i;
    const double reach = span / g->step; // ξ_q
    g->test = alternate(m, q - 1, 2) / reach;
    g->spread = reach / g->l[q];
    for (int j = q; j > 0; j--) m[j] += m[j - 1] / reach;
    g->test_up = alternate(m, q, 2) / (q + 1);
}

// The polynomial q ∫ x ∏_{i<q−1} (x + ξ_i) from 0, whose multiple z_q taken out of the history leaves one of order q − 1 with the
// same past derivatives; ξ_i by the step that was just done.
CAL_DEVICE static void find_lower(const gear_control* g, double* lower) {
    const int q = g->order;
    double m[ROWS] = {0.0, 1.0}, span = 0.0;
    for (int i = 1; i <= q - 2; i++) {
        span += g->past[i];
        const double reach = span / g->step;
        for (int j = i + 1; j > 0; j--) m[j] = m[j] * reach + m[j - 1];
    }
    for (int j = 0; j < ROWS; j++) lower[j] = 0.0;
    if (find_rules(g)->equal_steps) return;
    for (int j = 2; j < q; j++) lower[j] = q * (m[j - 1] / j);
}

// --- Control ---------------------------------------------------------------------------------------------------------

CAL_DEVICE static void send_evaluation(gear_control* g, double step, double* down, cal_step_decision* decision) {
    g->mode = MODE_EVALUATE;
    down[DOWN_MODE] = MODE_EVALUATE;
    down[DOWN_STEP] = step;
    down[DOWN_ORDER] = g->order;
    decision->evaluation_time = g->time;
}

// Begins a step from g->time with the step size h · ratio and the present order.
CAL_DEVICE static cal_status send_prediction(gear_control* g, double ratio, double* down, cal_step_decision* decision) {
    g->step *= ratio;
    if (!(g->time + g->step > g->time)) return g->not_finite > 0 ? CAL_NOT_FINITE : CAL_NOT_CONVERGED;
    find_coefficients(g);
    g->mode = MODE_PREDICT;
    g->iteration = 0;
    if (!find_rules(g)->equal_steps) g->rate = find_rules(g)->first_rate;
    down[DOWN_MODE] = MODE_PREDICT;
    down[DOWN_RATIO] = ratio;
    down[DOWN_ORDER] = g->order;
    down[DOWN_STEP] = g->step;
    down[DOWN_FIRST] = g->l[0];
    // A change of order is considered only after the last of the steps to wait for.
    down[DOWN_LAST] = find_rules(g)->equal_steps ? 0.0 : g->wait == 1 ? g->l[g->order] : -1.0;
    down[DOWN_SECOND] = 0.0;
    if (g->wait == 1 && g->kept_spread > 0.0) {
        double share = g->spread / g->kept_spread;
        for (int i = 0; i <= g->order && !find_rules(g)->equal_steps; i++) share *= g->step / g->past[1];
        down[DOWN_SECOND] = share;
    }
    decision->evaluation_time = g->time + g->step;
    return CAL_OK;
}

CAL_DEVICE static double norm(const gear_control* g, double sum) { return sqrt(sum / g->settings.component_count); }

CAL_DEVICE static double wish(const gear_control* g, int way, double error, int power) {
    const rules* r = find_rules(g);
    return 1.0 / (r->factor[way] * cal_root(r->bias[way] * error, power) + ADDED);
}

// The order that allows the longest next step, and the ratio of that step to the present one: 1 where a change is not worth it.
CAL_DEVICE static double choose_order(gear_control* g, const double* sums, double error, bool second, int* order) {
    const rules* r = find_rules(g);
    const int q = g->order;
    const bool free = g->wait == 0;
    const double same = wish(g, SAME, error, q + 1);
    double up = 0.0, down = 0.0;
    *order = q;
    if (r->equal_steps && !free) return 1.0;
    if (free) {
        g->wait = r->equal_steps ? 3 : 2;
        if (q > 1) down = wish(g, DOWNWARDS, norm(g, sums[SUM_LAST]) * g->test_lower, q);
        if (q < g->largest_order && second) up = wish(g, UPWARDS, norm(g, sums[SUM_SECOND_CHANGE]) * g->test_up, q + 2);
    }
    double best = fmax(same, fmax(up, down));
    if (best < r->smallest_change) return 1.0;
    if (best > same) *order = best == down ? q - 1 : q + 1;
    if (r->equal_steps) g->wait = q + 1;
    best = fmin(best, g->largest_change);
    return g->settings.largest_step > 0.0 ? best / fmax(1.0, g->step * best / g->settings.largest_step) : best;
}

CAL_DEVICE static void set_order(gear_control* g, int order) {
    g->order = order;
    g->wait = order + 1;
    g->kept_spread = 0.0;
}

CAL_DEVICE static cal_status accept(gear_control* g, const double* sums, double error, double* down,
                                    cal_step_decision* decision) {
    const int old_order = g->order;
    const bool second = down[DOWN_SECOND] != 0.0;
    decision->accepted = true;
    decision->previous = g->time;
    g->time += g->step;
    g->used_step = g->step, g->used_order = old_order;
    memcpy(g->used_l, g->l, sizeof g->l);
    for (int i = ROWS - 1; i > 1; i--) g->past[i] = g->past[i - 1];
    g->past[1] = g->step;
    decision->time = g->time;
    decision->step = g->step;
    decision->order = old_order;
    if (g->time >= g->failed_until) g->failed_rate = 0.0;
    if (g->failures > 0 || g->convergence_failures > 0 || g->not_finite > 0)
        g->largest_change = find_rules(g)->after_failure;
    g->failures = g->convergence_failures = g->not_finite = 0;

    down[DOWN_COMMIT] = 1.0;
    down[DOWN_OLD_ORDER] = old_order;
    for (int j = 0; j <= old_order; j++) down[DOWN_OLD + j] = g->l[j];
    g->wait--;
    down[DOWN_SAVE] = g->wait == 1 && old_order < g->largest_order ? 1.0 : 0.0;
    if (down[DOWN_SAVE] != 0.0) g->kept_spread = g->spread;
    double ratio = 1.0;
    if (g->largest_change > 1.0) {
        int order = old_order;
        ratio = choose_order(g, sums, error, second, &order);
        if (order < old_order) find_lower(g, down + DOWN_LOWER);
        down[DOWN_INCREASE] = find_rules(g)->equal_steps ? g->l[old_order] / (old_order + 1) : 0.0;
        if (order != old_order) set_order(g, order);
    } else if (g->wait < 2) {
        g->wait = 2;
    }
    if (!find_rules(g)->equal_steps || ratio != 1.0) g->largest_change = LARGEST_CHANGE;
    return send_prediction(g, ratio, down, decision);
}

// A step that failed is tried again, smaller; where its derivatives have errors of the wrong order, from the first one.
CAL_DEVICE static cal_status reject_error(gear_control* g, const double* sums, double error, bool jumps, double* down,
                                          cal_step_decision* decision) {
    decision->rejected = true;
    g->failures++;
    const double least = cal_smallest_step(g->time) / g->step;
    if (g->failures > FAILURES_BEFORE_RESTART || jumps) {
        set_order(g, 1);
        g->wait = WAIT_AFTER_RESTART;
        g->step *= fmax(SMALLEST_AFTER_FAILURE, least);
        send_evaluation(g, g->step, down, decision);
        return CAL_OK;
    }
    double ratio = fmax(wish(g, SAME, error, g->order + 1), SMALLEST_AFTER_FAILURE);
    if (find_rules(g)->equal_steps) {
        // LSODE goes one order down at once where that allows more.
        const double lower =
            g->order > 1 ? fmin(wish(g, DOWNWARDS, norm(g, sums[SUM_LAST]) * g->test_lower, g->order), 1.0) : 0.0;
        if (lower > ratio) ratio = lower, g->order--;
        g->wait = g->order + 1;
    }
    if (g->failures > 1) ratio = fmin(ratio, LARGEST_AFTER_FAILURES);
    return send_prediction(g, fmax(ratio, least), down, decision);
}

CAL_DEVICE static cal_status reject_convergence(gear_control* g, bool finite, double* down,
                                                cal_step_decision* decision) {
    decision->rejected = true;
    g->convergence_failures++;
    if (find_rules(g)->equal_steps) g->wait = g->order + 1;
    if (!finite && ++g->not_finite >= MOST_NOT_FINITE) return CAL_NOT_FINITE;
    return send_prediction(g, fmax(AFTER_NO_CONVERGENCE, cal_smallest_step(g->time) / g->step), down, decision);
}

// Whether f jumps inside the present step, by what e was when a longer one failed.
CAL_DEVICE static bool feels_jump(const gear_control* g, double change) {
    return g->failed_rate > 0.0 && g->order > 1 && !g->settings.historic && g->step <= JUMP_STEP * g->failed_step &&
           change / g->step > JUMP_STAYS * g->failed_rate;
}

CAL_DEVICE static cal_status gear_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    gear_control* g = (gear_control*)memory;
    decision->accepted = decision->rejected = false;
    const double correction = norm(g, sums[SUM_CORRECTION]);
    const bool finite = correction <= DBL_MAX;
    down[DOWN_COMMIT] = 0.0;
    down[DOWN_OLD_ORDER] = g->order;
    if (g->mode == MODE_EVALUATE) {
        if (!finite) return CAL_NOT_FINITE;
        // The first derivative comes unscaled, that of a restart for the step already chosen.
        const double ratio = g->started ? 1.0 : cal_first_step(&g->settings, correction);
        g->started = true;
        return send_prediction(g, ratio, down, decision);
    }
    if (!finite) return reject_convergence(g, false, down, decision);

    const rules* r = find_rules(g);
    const double allowed = r->equal_steps ? 0.5 / (g->order + 2) : CONVERGED;
    if (g->iteration > 0) g->rate = fmax(r->rate_falls * g->rate, correction / g->last_correction);
    const bool smallest = g->step <= cal_smallest_step(g->time);
    if (correction * g->test * fmin(1.0, r->rate_factor * g->rate) <= allowed || smallest) {
        const double change = fmax(norm(g, sums[SUM_CHANGE]), sqrt(sums[MAX_CHANGE]) / LARGEST_SHARE);
        const double error = change * g->test;
        const bool jumps = feels_jump(g, change);
        if (!smallest && (error > 1.0 || (jumps && change > 2.0))) {
            g->failed_rate = change / g->step, g->failed_step = g->step, g->failed_until = g->time + g->step;
            return reject_error(g, sums, error, jumps, down, decision);
        }
        return accept(g, sums, error, down, decision);
    }
    g->iteration++;
    if (g->iteration == MOST_CORRECTIONS || (g->iteration >= 2 && correction > DIVERGES * g->last_correction))
        return reject_convergence(g, true, down, decision);
    g->last_correction = correction;
    g->mode = MODE_CORRECT;
    down[DOWN_MODE] = MODE_CORRECT;
    return CAL_OK;
}
