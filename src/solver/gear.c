// Gear's method for non-stiff equations: Adams in Nordsieck form, orders 1 … 12, functional iteration, split into prepare /
// follow-up / control as Jung (III.C) does. Coefficients are those of the steps as they were (Byrne and Hindmarsh 1975), so that
// changing the step costs no stability, and step and order follow the rules of EPISODE and CVODE (Cohen and Hindmarsh 1996).
//
//   z_j = hʲ y⁽ʲ⁾ / j!   Nordsieck history, j = 0 … q         P   Pascal's triangle: P z is the history moved on by h
//   e = h f − (P z)₁     the sum of corrections (Jung's ∇a_q)  l   the method's coefficients
//   y = (P z)₀ + l₀ e    corrected                             z ← P z + l e   after a successful step
//
// With ξ_i = (t_n − t_{n−i}) / h of the step to t_n, l are the coefficients of the polynomial Λ that has
//
//   Λ(−1) = 0 ,   Λ′(x) = ∏_{i<q} (1 + x/ξ_i) = ∑ m_i xⁱ :   l₀ = ∫₋₁⁰ Λ′ = ∑ (−1)ⁱ m_i/(i+1) ,   l_i = m_{i−1}/i
//
// The history is not touched before the step has succeeded. Moving it on, changing its order and rescaling it to the
// next step's size ride in the next step's preparation; until then the dense output evaluates P z + l e on the fly:
//
//   y(t) = ∑ z_j (1 + s)ʲ + e Λ(s) ,   s = (t − t_n) / h ,  −1 ≤ s ≤ 0
//
// The sums are those of Jung's table IX that these rules need, ∑(x/ω)² of the actual correction, a_q new, ∇a_q, ∇²a_q; a_q is z_q.
// Errors are means over all components, of a tenth of the tolerance (tolerance_share). A mean over a million components does not see a
// few that run away, so beside the sums goes the largest (x/ω)² of ∇a_q: no component's error of a step may exceed the tolerance itself,
// ten times the mean that is allowed (LARGEST_SHARE).
//
// Jung's sessions (settings.historic) have LSODE's habits of 1983 instead: coefficients of steps that are all equal, changes of order and
// step together and from 1.1 times on, and the whole tolerance for the mean.
//
// Where a force jumps by Δf, e is h Δf however high the order, and most of it is wrong; but the error test of a step that is much
// shorter than those before believes only h/H of it. What tells a jump from motion that was merely fast is e/h: tried again with a
// quarter of the step that failed (JUMP_STEP) it falls at least to a quarter where motion is smooth, and stays where f jumps. Above a
// half (JUMP_STAYS) the step begins anew with order 1, whose error test is e/2. A step as small as time can tell is accepted whatever
// its error: when the jump was is not known any better.
#include "math/power.h"
#include "solver/vectors.h"
#include <string.h>

enum { LARGEST_ORDER = CAL_MAX_ORDER, ROWS = LARGEST_ORDER + 1 };
// CORRECTION is the predicted slope (P z)₁ from a step's prediction to its first follow-up, and e from then on; a further
// correction, which is rare, keeps the slope apart. What big models lack is memory's speed, so a vector less counts.
enum { CORRECTION = ROWS, SAVED, SLOPE_AGAIN, VECTOR_COUNT };
enum { MAX_CHANGE, SUM_CORRECTION, SUM_LAST, SUM_CHANGE, SUM_SECOND_CHANGE, SUM_COUNT };
// What control sends down.
enum {
    DOWN_MODE,
    DOWN_COMMIT, // 1: the last step succeeded, move the history on
    DOWN_OLD_ORDER,
    DOWN_INCREASE, // where the order grows: the new last row is e times this
    DOWN_SAVE,     // 1: keep e for ∇² of the next step
    DOWN_RATIO,    // new step size / old one
    DOWN_ORDER,    // one above the old order: a new last row, zero; one below: the last row is taken out of the others
    DOWN_STEP,
    DOWN_FIRST,  // l₀ of the present step
    DOWN_LAST,   // its l_q; 0: the sum of a_q is to be that of the old one
    DOWN_SECOND, // ≠ 0: ∇²a_q is wanted, since the order may change after this step: e less so much of the kept one
    DOWN_OLD,    // l of the old step
    DOWN_LOWER = DOWN_OLD + ROWS, // how much of the last row goes out of row j
    DOWN_COUNT = DOWN_LOWER + ROWS
};
_Static_assert((int)DOWN_COUNT <= CAL_MAX_DOWN, "numbers go down");
typedef enum gear_mode { MODE_EVALUATE, MODE_PREDICT, MODE_CORRECT } gear_mode;

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
static const rules cvode = {1.5, 1.0, false, {6.0, 6.0, 10.0}, {1.0, 1.0, 1.0}, 1.0, 0.3, 1.0};
static const rules lsode = {1.1, 2.0, true, {1.0, 1.0, 1.0}, {1.3, 1.2, 1.4}, 0.7, 0.2, 1.5};
enum { MOST_CORRECTIONS = 3, MOST_NOT_FINITE = 10, FAILURES_BEFORE_RESTART = 3, WAIT_AFTER_RESTART = 10 };

typedef struct gear_control {
    cal_solver_settings settings;
    gear_mode mode;
    bool started;
    int largest_order, order, wait; // wait: steps before the next change of order is considered
    int iteration, failures, convergence_failures, not_finite;
    double time, step, largest_change, rate, last_correction;
    double past[ROWS];                         // past[i]: size of the i-th last step
    double l[ROWS], test, test_lower, test_up; // of the present step, and of its error tests
    double spread, kept_spread; // ξ_q / l_q, of the present step and of the one whose e is kept; 0: none is
    double failed_rate, failed_step,
        failed_until;               // the last step that failed: e/h, h and its end; 0: time is beyond it
    double used_l[ROWS], used_step; // of the last accepted step
    int used_order;
} gear_control;

static const rules* find_rules(const gear_control* g) { return g->settings.historic ? &lsode : &cvode; }

// ∑ (−1)ⁱ m_i / (i + k), i ≤ last: ∫₋₁⁰ of xᵏ⁻¹ ∑ m_i xⁱ, but for the sign.
static double alternate(const double* m, int last, int k) {
    double sum = 0.0, sign = 1.0;
    for (int i = 0; i <= last; i++, sign = -sign) sum += sign * m[i] / (i + k);
    return sum;
}

// l, and what norms are multiplied by in the error tests: e here, z_q one order down, ∇²a_q one order up.
static void find_coefficients(gear_control* g) {
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
static void find_lower(const gear_control* g, double* lower) {
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

// --- Preparation -----------------------------------------------------------------------------------------------------

// z ← P z + l e, the saved e; then the order changes.
CAL_WIDE_INLINE void commit(const cal_solver_context* context, int first, int end) {
    const double* down = context->down;
    double* const* z = context->vectors;
    const int order = (int)down[DOWN_OLD_ORDER], n = end - first;
    const double* restrict e = z[CORRECTION] + first;
    for (int k = 0; k < order; k++)
        for (int j = order - 1; j >= k; j--) {
            double* restrict row = z[j] + first;
            const double* restrict above = z[j + 1] + first;
            for (int i = 0; i < n; i++) row[i] += above[i];
        }
    for (int j = 0; j <= order; j++) {
        double* restrict row = z[j] + first;
        const double l = down[DOWN_OLD + j];
        for (int i = 0; i < n; i++) row[i] += l * e[i];
    }
    if (down[DOWN_SAVE] != 0.0) cal_range_copy(z[SAVED], z[CORRECTION], first, end);
    if ((int)down[DOWN_ORDER] > order) {
        double* restrict row = z[order + 1] + first;
        for (int i = 0; i < n; i++) row[i] = e[i] * down[DOWN_INCREASE];
    }
}

// One order down: the last row is taken out of the others.
CAL_WIDE_INLINE void lower_order(const cal_solver_context* context, int old, int first, int end) {
    double* const* z = context->vectors;
    const double* restrict last = z[old];
    for (int j = 2; j < old; j++) {
        const double share = context->down[DOWN_LOWER + j];
        double* restrict row = z[j];
        for (int i = first; i < end; i++) row[i] -= share * last[i];
    }
}

CAL_WIDE_INLINE void rescale(double* const* z, int order, double ratio, int first, int end) {
    double factor = 1.0;
    for (int j = 1; j <= order; j++) {
        factor *= ratio;
        double* restrict row = z[j];
        for (int i = first; i < end; i++) row[i] *= factor;
    }
}

// dq/dt is linear in q: a history divided by |q| is the history of the unit solution.
static void normalize_history(const cal_solver_context* context, const cal_column* column, int order) {
    const int component = cal_joint_quaternion(column->kind), W = context->layout->width;
    if (component < 0) return;
    double* const* z = context->vectors;
    for (int b = column->first_block; b < column->first_block + column->block_count; b++) {
        const int first = context->layout->block_y[b] + component * W;
        for (int l = 0; l < W; l++) {
            const double* q = z[0] + first + l;
            const double scale = 1.0 / sqrt(q[0] * q[0] + q[W] * q[W] + q[2 * W] * q[2 * W] + q[3 * W] * q[3 * W]);
            for (int c = 0; c < 4; c++) {
                const int at = first + c * W + l;
                for (int j = 0; j <= order; j++) z[j][at] *= scale;
                z[SAVED][at] *= scale;
            }
        }
    }
}

// (P z)₀ into y, (P z)₁ into the given vector.
CAL_WIDE_INLINE void predict(const cal_solver_context* context, int order, int slope_vector, int first, int end) {
    double* const* z = context->vectors;
    const int n = end - first;
    double value[CAL_CHUNK], slope[CAL_CHUNK];
    for (int i = 0; i < n; i++) value[i] = slope[i] = 0.0;
    for (int j = order; j > 0; j--) {
        const double* restrict row = z[j] + first;
        for (int i = 0; i < n; i++) {
            value[i] += row[i];
            slope[i] += j * row[i];
        }
    }
    const double* restrict row = z[0] + first;
    double* restrict y = context->y + first;
    double* restrict predicted_slope = z[slope_vector] + first;
    for (int i = 0; i < n; i++) {
        y[i] = value[i] + row[i];
        predicted_slope[i] = slope[i];
    }
}

CAL_WIDE static void gear_prepare(const cal_solver_context* context, const cal_column* column) {
    const double* down = context->down;
    double* const* z = context->vectors;
    const int first = cal_column_first(context->layout, column), end = cal_column_end(context->layout, column);
    const int order = (int)down[DOWN_ORDER];
    switch ((gear_mode)down[DOWN_MODE]) {
    case MODE_EVALUATE: cal_range_copy(context->y, z[0], first, end); break;
    case MODE_PREDICT:
        if (down[DOWN_COMMIT] != 0.0) {
            for (int i = first, next; i < end; i = next) {
                next = cal_chunk_end(i, end);
                commit(context, i, next);
            }
            normalize_history(context, column, order > (int)down[DOWN_OLD_ORDER] ? order : (int)down[DOWN_OLD_ORDER]);
        }
        for (int i = first, next; i < end; i = next) {
            next = cal_chunk_end(i, end);
            if (order < (int)down[DOWN_OLD_ORDER]) lower_order(context, (int)down[DOWN_OLD_ORDER], i, next);
            if (down[DOWN_RATIO] != 1.0) rescale(z, order, down[DOWN_RATIO], i, next);
            predict(context, order, CORRECTION, i, next);
        }
        break;
    case MODE_CORRECT: {
        // The prediction is made again rather than kept.
        const double* restrict e = z[CORRECTION];
        double* restrict y = context->y;
        for (int i = first, next; i < end; i = next) {
            next = cal_chunk_end(i, end);
            predict(context, order, SLOPE_AGAIN, i, next);
        }
        for (int i = first; i < end; i++) y[i] += down[DOWN_FIRST] * e[i];
        break;
    }
    }
}

// --- Follow-up -------------------------------------------------------------------------------------------------------

// What the loops over one component's lanes read and write.
typedef struct correction_rows {
    double h, last_l, second, relative, absolute;
    const double* scale; // NULL: 1
    const double *y, *last, *slope_again, *saved, *ydot;
    double* correction;
} correction_rows;

// One component of W lanes, `at` its first. begins: the first component of a block; again: not the step's first
// correction; twice: ∇² is wanted.
CAL_WIDE_INLINE void correct_component(const correction_rows* rows, int at, int W, bool begins, bool again, bool twice,
                                       double* restrict shares) {
    const double h = rows->h, last_l = rows->last_l, kept = rows->second;
    const double relative = rows->relative, absolute = rows->absolute;
    const double* restrict y = rows->y + at;
    const double* restrict last = rows->last + at;
    const double* restrict slope_again = rows->slope_again + at;
    const double* restrict saved = rows->saved + at;
    const double* restrict ydot = rows->ydot + at;
    double* restrict correction = rows->correction + at;
    for (int l = 0; l < W; l++) {
        const double floor = rows->scale ? absolute * rows->scale[at + l] : absolute;
        const double scale = 1.0 / (relative * fabs(y[l]) + floor),
                     e = h * ydot[l] - (again ? slope_again[l] : correction[l]);
        const double actual = (again ? e - correction[l] : e) * scale;
        const double changed = (last[l] + last_l * e) * scale, change = e * scale;
        const double second = twice ? (e - kept * saved[l]) * scale : 0.0;
        correction[l] = e;
        const double largest = begins ? 0.0 : shares[MAX_CHANGE * W + l];
        shares[MAX_CHANGE * W + l] = largest > change * change ? largest : change * change;
        shares[SUM_CORRECTION * W + l] = actual * actual + (begins ? 0.0 : shares[SUM_CORRECTION * W + l]);
        shares[SUM_LAST * W + l] = changed * changed + (begins ? 0.0 : shares[SUM_LAST * W + l]);
        shares[SUM_CHANGE * W + l] = change * change + (begins ? 0.0 : shares[SUM_CHANGE * W + l]);
        shares[SUM_SECOND_CHANGE * W + l] = second * second + (begins ? 0.0 : shares[SUM_SECOND_CHANGE * W + l]);
    }
}

CAL_WIDE_INLINE void follow_up_correct(const cal_solver_context* context, int first, int end, int W, bool again,
                                       bool twice, double* shares) {
    const double* down = context->down;
    double* const* z = context->vectors;
    const correction_rows rows = {.h = down[DOWN_STEP],
                                  .last_l = down[DOWN_LAST],
                                  .second = down[DOWN_SECOND],
                                  .relative = context->relative,
                                  .absolute = context->absolute,
                                  .scale = context->scale,
                                  .y = z[0],
                                  .last = z[(int)down[DOWN_ORDER]],
                                  .slope_again = z[SLOPE_AGAIN],
                                  .saved = z[SAVED],
                                  .ydot = context->ydot,
                                  .correction = z[CORRECTION]};
    correct_component(&rows, first, W, true, again, twice, shares);
    for (int i = first + W; i < end; i += W) correct_component(&rows, i, W, false, again, twice, shares);
}

// The derivative by itself, for a start.
static void follow_up_evaluate(const cal_solver_context* context, int first, int end, int W, double* shares) {
    const double* y = context->vectors[0];
    double* row = context->vectors[1];
    const double h = context->down[DOWN_STEP];
    for (int i = 0; i < SUM_COUNT * W; i++) shares[i] = 0.0;
    for (int i = first; i < end; i += W)
        for (int l = 0; l < W; l++) {
            const double f = context->ydot[i + l], part = f / cal_weight(context, i + l, y[i + l]);
            row[i + l] = h * f;
            shares[SUM_CORRECTION * W + l] += part * part;
        }
}

CAL_WIDE static void gear_follow_up(const cal_solver_context* context, const cal_column* column, int block,
                                    double* shares) {
    (void)column;
    const int first = context->layout->block_y[block], end = context->layout->block_y[block + 1];
    const int W = context->layout->width;
    const gear_mode mode = (gear_mode)context->down[DOWN_MODE];
    const bool twice = context->down[DOWN_SECOND] != 0.0;
    // The usual cases as constants, for the compiler to unroll.
    if (mode == MODE_EVALUATE)
        follow_up_evaluate(context, first, end, W, shares);
    else if (mode == MODE_PREDICT && W == 8 && !twice)
        follow_up_correct(context, first, end, 8, false, false, shares);
    else if (mode == MODE_PREDICT && W == 8)
        follow_up_correct(context, first, end, 8, false, true, shares);
    else if (mode == MODE_PREDICT && W == 4)
        follow_up_correct(context, first, end, 4, false, twice, shares);
    else
        follow_up_correct(context, first, end, W, mode == MODE_CORRECT, twice, shares);
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
    down[DOWN_LAST] = find_rules(g)->equal_steps ? 0.0 : g->l[g->order];
    down[DOWN_SECOND] = 0.0;
    if (g->wait == 1 && g->kept_spread > 0.0) {
        double share = g->spread / g->kept_spread;
        for (int i = 0; i <= g->order && !find_rules(g)->equal_steps; i++) share *= g->step / g->past[1];
        down[DOWN_SECOND] = share;
    }
    decision->evaluation_time = g->time + g->step;
    return CAL_OK;
}

static double norm(const gear_control* g, double sum) { return sqrt(sum / g->settings.component_count); }

static double wish(const gear_control* g, int way, double error, int power) {
    const rules* r = find_rules(g);
    return 1.0 / (r->factor[way] * cal_root(r->bias[way] * error, power) + ADDED);
}

// The order that allows the longest next step, and the ratio of that step to the present one: 1 where a change is not worth it.
static double choose_order(gear_control* g, const double* sums, double error, bool second, int* order) {
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

static void set_order(gear_control* g, int order) {
    g->order = order;
    g->wait = order + 1;
    g->kept_spread = 0.0;
}

static cal_status accept(gear_control* g, const double* sums, double error, double* down, cal_step_decision* decision) {
    const int old_order = g->order;
    const bool second = down[DOWN_SECOND] != 0.0;
    decision->accepted = true;
    decision->previous = g->time;
    g->time += g->step;
    g->used_step = g->step, g->used_order = old_order;
    memcpy(g->used_l, g->l, sizeof g->l);
    memmove(g->past + 1, g->past, (ROWS - 1) * sizeof *g->past);
    g->past[1] = g->step;
    decision->time = g->time;
    decision->step = g->step;
    decision->order = old_order;
    if (g->time >= g->failed_until) g->failed_rate = 0.0;
    if (g->failures + g->convergence_failures + g->not_finite > 0) g->largest_change = find_rules(g)->after_failure;
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
static cal_status reject_error(gear_control* g, const double* sums, double error, bool jumps, double* down,
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

static cal_status reject_convergence(gear_control* g, bool finite, double* down, cal_step_decision* decision) {
    decision->rejected = true;
    g->convergence_failures++;
    if (find_rules(g)->equal_steps) g->wait = g->order + 1;
    if (!finite && ++g->not_finite >= MOST_NOT_FINITE) return CAL_NOT_FINITE;
    return send_prediction(g, fmax(AFTER_NO_CONVERGENCE, cal_smallest_step(g->time) / g->step), down, decision);
}

static void gear_start(void* memory, const cal_solver_settings* settings, double time, double* down,
                       cal_step_decision* decision) {
    gear_control* g = memory;
    memset(g, 0, sizeof *g);
    memset(down, 0, DOWN_COUNT * sizeof *down);
    *decision = (cal_step_decision){.previous = time, .time = time, .order = 1};
    g->settings = *settings;
    g->largest_order = settings->largest_order > 0 ? settings->largest_order : LARGEST_ORDER;
    g->time = time;
    g->order = 1, g->wait = 2;
    g->step = 1.0;
    g->largest_change = LARGEST_FIRST_CHANGE;
    g->rate = find_rules(g)->first_rate;
    send_evaluation(g, 1.0, down, decision);
}

// Whether f jumps inside the present step, by what e was when a longer one failed.
static bool feels_jump(const gear_control* g, double change) {
    return g->failed_rate > 0.0 && g->order > 1 && !g->settings.historic && g->step <= JUMP_STEP * g->failed_step &&
           change / g->step > JUMP_STAYS * g->failed_rate;
}

static cal_status gear_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    gear_control* g = memory;
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

static void gear_interpolate(const void* memory, const cal_solver_context* context, const cal_column* column,
                             double time, double* out) {
    const gear_control* g = memory;
    double* const* z = context->vectors;
    const double s = (time - g->time) / g->used_step;
    double factors[ROWS + 1], power = 1.0, moved = 1.0;
    int rows[ROWS + 1];
    const int q = g->used_order;
    factors[q] = 0.0;
    rows[q] = CORRECTION;
    for (int j = 0; j <= q; j++) {
        factors[q] += g->used_l[j] * power;
        power *= s;
        if (j == q) break;
        moved *= 1.0 + s;
        factors[j] = moved;
        rows[j] = j + 1;
    }
    cal_range_combine(out, z[0], z, q + 1, rows, factors, cal_column_first(context->layout, column),
                      cal_column_end(context->layout, column));
    cal_normalize_column(context->layout, column, out);
}

const cal_solver_ops cal_solver_gear = {
    .name = "gear",
    .help = "Adams in Nordsieck form, orders 1 to 12, variable step: fewest evaluations where nothing is stiff",
    .vector_count = VECTOR_COUNT,
    .tolerance_share = 0.1,
    .sum_count = SUM_COUNT,
    .max_count = MAX_CHANGE + 1,
    .down_count = DOWN_COUNT,
    .control_size = sizeof(gear_control),
    .start = gear_start,
    .prepare = gear_prepare,
    .follow_up = gear_follow_up,
    .control = gear_steer,
    .interpolate = gear_interpolate,
};
