// The paper's four Runge-Kutta methods with variable steps: IEC, RKI, RKG, RKF (Jung, table II), and one of Cash and
// Karp.
//
//   k_i = f(y₀ + h ∑ a_ij k_j) ,   y₁ = y₀ + h ∑ b_j k_j
//
// Embedded formulas (RKI, RKF, RKCK): h ∑ e_j k_j is the difference of two orders. Its size in the maximum norm by the
// weights must not exceed one; the higher order goes on. Where a force jumps inside a step the difference is h times a part of
// the jump, so a smaller step gets over it. Jung's sessions (settings.historic) test the size a unit step of RKI and RKF instead,
// which stays as large as the jump, however small h. A step as small as time can tell is accepted whatever its error: when the
// jump was is not known any better.
//
// Step doubling (IEC, RKG): a *pass* of size h and two of size h/2 give Y and y; (y − Y)/(2ᵖ − 1) is the error of y.
// Its size must not exceed one; y is extrapolated by it.
//
//   attempt (embedded)   y₀ ──────h──────▸ y₁
//   attempt (doubling)   y₀ ──────h──────▸ Y    y₀ ──h/2──▸ middle ──h/2──▸ y      no evaluation is shared
//
// Inside a step, positions have the polynomial of degree five of vectors.h, and velocities its derivative, in which the
// positions' error is divided by h: right where errors are those of a unit step, too much where they are those of a
// step. There velocities have the cubic of both values and both slopes (IEC and RKI, whose errors are of h³ and h⁴), and those of order
// 5 the polynomial of degree four with the value in the middle as well,
//
//   v(½) = v₀ + h (∑ d_j k_j + d₇ k₇) ,   k₇ = f(y₁)
//
// of order 4, as the error that is tested. All of the eight conditions for that (Hairer, Nørsett and Wanner, II.6) hold
// for a line of such d; the one with d₆ = 0 has an error of h⁵ within a third of the smallest on it. What the
// polynomial itself lacks is
//
//   h⁵ v⁽⁵⁾/120 s² (1 − s)² (s − ½) ,   at most 1/13416 h⁵ |v⁽⁵⁾| (s = ½ ± √5/10)
//
// and nothing that a step computes tells of it: all combinations of its stages without a term of h⁴ are multiples of
// the error that is tested, which may be much smaller. But the middle's difference to the cubic of the ends is h⁴
// v⁽⁴⁾/384, and so two steps one after the other have v⁽⁵⁾ as well. The next step is no larger than what makes this
// twice the allowed error.
//
// Prepare and follow-up serve all of them: which vectors to combine, with which factors, comes down from control. An
// attempt's last follow-up makes the next y; it becomes y₀ in the next preparation.
#include "solver/vectors.h"
#include <string.h>

enum { STAGES = 6 };
enum {
    VECTOR_NEXT = CAL_ONE_STEP_OWN, // the attempt's result
    VECTOR_FULL,                    // Y
    VECTOR_MIDDLE,
    VECTOR_K,
    VECTOR_COUNT = VECTOR_K + STAGES,
    VECTOR_FOURTH = VECTOR_COUNT, // with a middle: v⁽⁴⁾ of the last step
    VECTOR_COUNT_MIDDLE
};
typedef enum finish {
    FINISH_NOTHING,
    FINISH_FULL,
    FINISH_MIDDLE,
    FINISH_EMBEDDED,
    FINISH_DOUBLING,
    FINISH_INSIDE // the last step, with the derivative at its end: how good its polynomial is
} finish;
// What control sends down.
enum {
    DOWN_COMMIT, // 1: the attempt succeeded, its result is the new y₀
    DOWN_STAGE,
    DOWN_PASS,                         // 0, 1, 2
    DOWN_FINISH,                       // what the stage's follow-up completes
    DOWN_EXTRAPOLATE,                  // 1 / (2ᵖ − 1)
    DOWN_ROW,                          // h a_ij of the stage
    DOWN_RESULT = DOWN_ROW + STAGES,   // h b_j
    DOWN_ERROR = DOWN_RESULT + STAGES, // e_j
    DOWN_USED = DOWN_ERROR + STAGES,   // with a middle: the last step's size, and that of the one before it (0: none)
    DOWN_BEFORE,
    DOWN_MIDDLE,
    DOWN_COUNT = DOWN_MIDDLE + STAGES + 1
};
_Static_assert((int)DOWN_COUNT <= CAL_MAX_DOWN, "numbers go down");

typedef struct method {
    int stages, order;
    bool embedded;
    bool was_per_unit; // Jung's sessions test the error of a unit step
    int exponent;      // the error of a step is of this power in h
    double c[STAGES], a[STAGES][STAGES], b[STAGES], e[STAGES];
    bool has_middle;
    double middle[STAGES + 1]; // d
} method;

static const method method_iec = {
    .stages = 2, .order = 2, .exponent = 3, .c = {0.0, 1.0}, .a = {{0}, {1.0}}, .b = {0.5, 0.5}};

static const method method_rki = {.stages = 3,
                                  .order = 3,
                                  .embedded = true,
                                  .was_per_unit = true,
                                  .exponent = 3,
                                  .c = {0.0, 1.0, 0.5},
                                  .a = {{0}, {1.0}, {0.25, 0.25}},
                                  .b = {1.0 / 6.0, 1.0 / 6.0, 4.0 / 6.0},
                                  .e = {1.0 / 6.0 - 0.5, 1.0 / 6.0 - 0.5, 4.0 / 6.0}};

#define ROOT2 1.41421356237309504880
static const method method_rkg = {
    .stages = 4,
    .order = 4,
    .exponent = 5,
    .c = {0.0, 0.5, 0.5, 1.0},
    .a = {{0}, {0.5}, {(ROOT2 - 1.0) / 2.0, (2.0 - ROOT2) / 2.0}, {0.0, -ROOT2 / 2.0, 1.0 + ROOT2 / 2.0}},
    .b = {1.0 / 6.0, (2.0 - ROOT2) / 6.0, (2.0 + ROOT2) / 6.0, 1.0 / 6.0}};

static const method method_rkf = {
    .stages = 6,
    .order = 5,
    .embedded = true,
    .was_per_unit = true,
    .exponent = 5,
    .c = {0.0, 1.0 / 4.0, 3.0 / 8.0, 12.0 / 13.0, 1.0, 1.0 / 2.0},
    .a = {{0},
          {1.0 / 4.0},
          {3.0 / 32.0, 9.0 / 32.0},
          {1932.0 / 2197.0, -7200.0 / 2197.0, 7296.0 / 2197.0},
          {439.0 / 216.0, -8.0, 3680.0 / 513.0, -845.0 / 4104.0},
          {-8.0 / 27.0, 2.0, -3544.0 / 2565.0, 1859.0 / 4104.0, -11.0 / 40.0}},
    .b = {16.0 / 135.0, 0.0, 6656.0 / 12825.0, 28561.0 / 56430.0, -9.0 / 50.0, 2.0 / 55.0},
    .e = {1.0 / 360.0, 0.0, -128.0 / 4275.0, -2197.0 / 75240.0, 1.0 / 50.0, 2.0 / 55.0},
    .has_middle = true,
    .middle = {119.0 / 864.0, 0.0, 1016.0 / 2565.0, -2197.0 / 16416.0, 11.0 / 160.0, 0.0, 1.0 / 32.0}};

// Cash and Karp (1990).
static const method method_rkck = {
    .stages = 6,
    .order = 5,
    .embedded = true,
    .exponent = 5,
    .c = {0.0, 1.0 / 5.0, 3.0 / 10.0, 3.0 / 5.0, 1.0, 7.0 / 8.0},
    .a = {{0},
          {1.0 / 5.0},
          {3.0 / 40.0, 9.0 / 40.0},
          {3.0 / 10.0, -9.0 / 10.0, 6.0 / 5.0},
          {-11.0 / 54.0, 5.0 / 2.0, -70.0 / 27.0, 35.0 / 27.0},
          {1631.0 / 55296.0, 175.0 / 512.0, 575.0 / 13824.0, 44275.0 / 110592.0, 253.0 / 4096.0}},
    .b = {37.0 / 378.0, 0.0, 250.0 / 621.0, 125.0 / 594.0, 0.0, 512.0 / 1771.0},
    .e = {37.0 / 378.0 - 2825.0 / 27648.0, 0.0, 250.0 / 621.0 - 18575.0 / 48384.0, 125.0 / 594.0 - 13525.0 / 55296.0,
          -277.0 / 14336.0, 512.0 / 1771.0 - 1.0 / 4.0},
    .has_middle = true,
    .middle = {89.0 / 864.0, 0.0, 575.0 / 1512.0, 25.0 / 1728.0, -13.0 / 448.0, 0.0, 1.0 / 32.0}};

static const double RATIO_NOT_FINITE = 0.25;
static const double MOST_INSIDE = 2.0; // allowed errors
enum { MOST_NOT_FINITE = 10 };

// Control's memory is written into checkpoints, so it names its method by a number: an address would be another one
// there.
typedef enum method_name { METHOD_iec, METHOD_rki, METHOD_rkg, METHOD_rkf, METHOD_rkck } method_name;
static const method* const methods[] = {&method_iec, &method_rki, &method_rkg, &method_rkf, &method_rkck};

typedef struct control {
    method_name method;
    cal_solver_settings settings;
    double time, step;
    double used;   // size of the last successful step
    double before; // and of the one before it; 0: none
    bool chosen;   // the first step's size
    bool pending;  // a step succeeded and waits for the derivative at its end
    bool failed;   // the present step, before
    int pass, stage, not_finite;
} control;

static bool is_per_unit(const control* c) { return c->settings.historic && methods[c->method]->was_per_unit; }
static bool has_middle(const control* c) { return methods[c->method]->has_middle && !is_per_unit(c); }
static int exponent(const control* c) { return methods[c->method]->exponent - (is_per_unit(c) ? 1 : 0); }

// The first derivative of the first pass is dy/dt at y₀ and stays for the dense output.
static int stage_vector(int pass, int stage) { return pass == 0 && stage == 0 ? CAL_ONE_STEP_F : VECTOR_K + stage; }

static int stage_vectors(int pass, int index[STAGES]) {
    for (int j = 0; j < STAGES; j++) index[j] = stage_vector(pass, j);
    return pass == 2 ? VECTOR_MIDDLE : CAL_ONE_STEP_Y;
}

CAL_WIDE static void rk_prepare(const cal_solver_context* context, const cal_column* column) {
    const double* down = context->down;
    double* const* x = context->vectors;
    const int first = cal_column_first(context->layout, column), end = cal_column_end(context->layout, column);
    const int stage = (int)down[DOWN_STAGE];
    if (down[DOWN_COMMIT] != 0.0) {
        cal_range_copy(x[CAL_ONE_STEP_PREVIOUS], x[CAL_ONE_STEP_Y], first, end);
        cal_range_copy(x[CAL_ONE_STEP_PREVIOUS_F], x[CAL_ONE_STEP_F], first, end);
        cal_range_copy(x[CAL_ONE_STEP_Y], x[VECTOR_NEXT], first, end);
        cal_normalize_column(context->layout, column, x[CAL_ONE_STEP_Y]);
    }
    int index[STAGES];
    const int base = stage_vectors((int)down[DOWN_PASS], index);
    cal_range_combine(context->y, x[base], x, stage, index, down + DOWN_ROW, first, end);
}

// The largest of a lane's components of `error` by their weights.
CAL_WIDE_INLINE void largest(const cal_solver_context* context, const double* error, int first, int end,
                             double* shares) {
    const int W = context->layout->width;
    const double* y = context->vectors[CAL_ONE_STEP_Y];
    for (int l = 0; l < W; l++) shares[l] = 0.0;
    for (int i = first; i < end; i += W)
        for (int l = 0; l < W; l++) {
            const double size = cal_size(error[i - first + l] / cal_weight(context, i + l, y[i + l]));
            shares[l] = size > shares[l] ? size : shares[l];
        }
}

// v(½) of the last step less the cubic of its ends there; the stages are still there until this step's second
// evaluation.
CAL_WIDE_INLINE double middle_rest(const cal_solver_context* context, int i) {
    double* const* x = context->vectors;
    const double* d = context->down + DOWN_MIDDLE;
    const double f0 = x[CAL_ONE_STEP_PREVIOUS_F][i], f1 = x[CAL_ONE_STEP_F][i];
    double sum = d[0] * f0;
    for (int j = 1; j < STAGES; j++) sum += d[j] * x[stage_vector(0, j)][i];
    sum += d[STAGES] * f1;
    return context->down[DOWN_USED] * (sum - (f0 - f1) / 8.0) -
           0.5 * (x[CAL_ONE_STEP_Y][i] - x[CAL_ONE_STEP_PREVIOUS][i]);
}

// What the polynomial of the last step's velocities lacks, of a block; positions' is much better.
CAL_WIDE_INLINE void find_inside(const cal_solver_context* context, const cal_column* column, int first, int end,
                                 double* error) {
    const double h = context->down[DOWN_USED], before = context->down[DOWN_BEFORE];
    const int v = first + cal_kind_q(column->kind) * context->layout->width;
    double* fourth = context->vectors[VECTOR_FOURTH];
    for (int i = first; i < v; i++) error[i - first] = 0.0 * context->ydot[i];
    for (int i = v; i < end; i++) {
        const double here = 384.0 * middle_rest(context, i) / (h * h * h * h);
        const double fifth = before > 0.0 ? (here - fourth[i]) / (0.5 * (h + before)) : 0.0 * here;
        error[i - first] = h * h * h * h * h * fifth / 13416.0;
        fourth[i] = here;
    }
}

CAL_WIDE static void rk_follow_up(const cal_solver_context* context, const cal_column* column, int block,
                                  double* shares) {
    const double* down = context->down;
    double* const* x = context->vectors;
    const int first = context->layout->block_y[block], end = context->layout->block_y[block + 1], n = end - first;
    const int pass = (int)down[DOWN_PASS], stage = (int)down[DOWN_STAGE];
    const finish what = (finish)down[DOWN_FINISH];
    double error[(7 + 6) * CAL_MAX_LANES];
    int index[STAGES];
    const int base = stage_vectors(pass, index), count = stage + 1;
    cal_range_copy(x[index[stage]], context->ydot, first, end);

    double* result = x[what == FINISH_FULL ? VECTOR_FULL : what == FINISH_MIDDLE ? VECTOR_MIDDLE : VECTOR_NEXT];
    if (what != FINISH_NOTHING && what != FINISH_INSIDE)
        cal_range_combine(result, x[base], x, count, index, down + DOWN_RESULT, first, end);
    if (what == FINISH_EMBEDDED) {
        for (int i = 0; i < n; i++) error[i] = 0.0;
        for (int j = 0; j < count; j++)
            for (int i = 0; i < n; i++) error[i] += down[DOWN_ERROR + j] * x[index[j]][first + i];
    } else if (what == FINISH_DOUBLING) {
        const double* full = x[VECTOR_FULL];
        for (int i = 0; i < n; i++) {
            error[i] = (result[first + i] - full[first + i]) * down[DOWN_EXTRAPOLATE];
            result[first + i] += error[i];
        }
    } else if (what == FINISH_INSIDE) {
        find_inside(context, column, first, end, error);
    } else {
        for (int i = 0; i < n; i++) error[i] = context->ydot[first + i];
    }
    largest(context, error, first, end, shares);
}

// Sends the present stage of the present pass down.
static cal_status send_stage(control* c, double* down, cal_step_decision* decision) {
    const method* m = methods[c->method];
    const double h = c->pass == 0 ? c->step : 0.5 * c->step;
    const bool last = c->stage == m->stages - 1;
    down[DOWN_STAGE] = c->stage;
    down[DOWN_PASS] = c->pass;
    down[DOWN_FINISH] = c->pending && has_middle(c) && c->stage == 0 ? FINISH_INSIDE
                        : !last                                      ? FINISH_NOTHING
                        : m->embedded                                ? FINISH_EMBEDDED
                        : c->pass == 0                               ? FINISH_FULL
                        : c->pass == 1                               ? FINISH_MIDDLE
                                                                     : FINISH_DOUBLING;
    if (has_middle(c)) {
        down[DOWN_USED] = c->used, down[DOWN_BEFORE] = c->before;
        for (int j = 0; j <= STAGES; j++) down[DOWN_MIDDLE + j] = m->middle[j];
    }
    for (int j = 0; j < STAGES; j++) {
        down[DOWN_ROW + j] = h * m->a[c->stage][j];
        down[DOWN_RESULT + j] = h * m->b[j];
        down[DOWN_ERROR + j] = is_per_unit(c) ? m->e[j] : h * m->e[j];
    }
    decision->evaluation_time = c->time + (c->pass == 2 ? h : 0.0) + m->c[c->stage] * h;
    if (!c->chosen || c->time + c->step > c->time) return CAL_OK;
    return c->not_finite > 0 ? CAL_NOT_FINITE : CAL_NOT_CONVERGED;
}

static double limit_step(const control* c, double step) {
    return c->settings.largest_step > 0.0 ? fmin(step, c->settings.largest_step) : step;
}

static void rk_start(method_name name, void* memory, const cal_solver_settings* settings, double time, double* down,
                     cal_step_decision* decision) {
    control* c = memory;
    const method* m = methods[name];
    *c = (control){.method = name, .settings = *settings, .time = time};
    memset(down, 0, DOWN_COUNT * sizeof *down);
    *decision = (cal_step_decision){.previous = time, .time = time, .order = m->order};
    down[DOWN_EXTRAPOLATE] = 1.0 / (double)((1 << m->order) - 1);
    (void)send_stage(c, down, decision);
}

static cal_status reject(control* c, double ratio, double* down, cal_step_decision* decision) {
    decision->rejected = true;
    c->step *= ratio;
    c->pass = c->stage = 0;
    return send_stage(c, down, decision);
}

static cal_status rk_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    control* c = memory;
    const method* m = methods[c->method];
    const double size = sums[0];
    const bool first = c->pass == 0 && c->stage == 0;
    decision->accepted = decision->rejected = false;
    down[DOWN_COMMIT] = 0.0;
    if (!(size <= DBL_MAX)) {
        if (first || ++c->not_finite >= MOST_NOT_FINITE) return CAL_NOT_FINITE;
        return reject(c, RATIO_NOT_FINITE, down, decision);
    }
    if (first && c->pending) {
        decision->accepted = true;
        decision->previous = decision->time;
        decision->time = c->time;
        decision->step = c->used;
        c->pending = false;
        if (has_middle(c)) c->step = fmin(c->step, c->used * cal_step_ratio(size / MOST_INSIDE, exponent(c), false));
    }
    if (!c->chosen) {
        c->step = cal_first_step_named(&c->settings, size);
        c->chosen = true;
    }
    if (++c->stage < m->stages) return send_stage(c, down, decision);
    c->stage = 0;
    if (!m->embedded && ++c->pass < 3) return send_stage(c, down, decision);
    c->pass = 0;

    const double ratio = cal_step_ratio(size, exponent(c), c->failed), least = cal_smallest_step(c->time);
    if (size > 1.0 && (is_per_unit(c) || c->step > least)) {
        c->failed = true;
        return reject(c, is_per_unit(c) ? ratio : fmax(ratio, least / c->step), down, decision);
    }
    c->failed = false, c->not_finite = 0;
    c->before = c->used;
    c->used = c->step;
    c->time += c->step;
    c->step = limit_step(c, c->step * ratio);
    c->pending = true;
    down[DOWN_COMMIT] = 1.0;
    return send_stage(c, down, decision);
}

// Velocities at the fraction s of the last step: the cubic of values and slopes at both ends, and 16 s² (1 − s)² times
// what it lacks in the middle. The stages are still there, until the next execution; the first has become the previous
// derivative.
static void interpolate_velocities(const cal_solver_context* context, const cal_column* column, double s, double h,
                                   bool has_middle, double* out) {
    const cal_layout* layout = context->layout;
    double* const* x = context->vectors;
    const double *y0 = x[CAL_ONE_STEP_PREVIOUS], *y1 = x[CAL_ONE_STEP_Y];
    const double *f0 = x[CAL_ONE_STEP_PREVIOUS_F], *f1 = x[CAL_ONE_STEP_F];
    const double rise = s * s * (3.0 - 2.0 * s), bump = 16.0 * s * s * (1.0 - s) * (1.0 - s);
    const double c0 = h * s * (1.0 - s) * (1.0 - s), c1 = h * s * s * (s - 1.0);
    for (int b = column->first_block; b < column->first_block + column->block_count; b++)
        for (int i = layout->block_y[b] + cal_kind_q(column->kind) * layout->width; i < layout->block_y[b + 1]; i++) {
            out[i] = (y0[i] + rise * (y1[i] - y0[i])) + (c0 * f0[i] + c1 * f1[i]);
            if (has_middle) out[i] += bump * middle_rest(context, i);
        }
}

static void rk_interpolate(const void* memory, const cal_solver_context* context, const cal_column* column, double time,
                           double* out) {
    const control* c = memory;
    const double s = 1.0 + (time - c->time) / c->used;
    cal_one_step_interpolate(context, column, s, c->used, true, out);
    if (has_middle(c) || (methods[c->method]->order <= 3 && !is_per_unit(c)))
        interpolate_velocities(context, column, s, c->used, has_middle(c), out);
}

#define RUNGE_KUTTA(symbol, vectors, text)                                                                             \
    static void symbol##_start(void* memory, const cal_solver_settings* settings, double time, double* down,           \
                               cal_step_decision* decision) {                                                          \
        rk_start(METHOD_##symbol, memory, settings, time, down, decision);                                             \
    }                                                                                                                  \
    const cal_solver_ops cal_solver_##symbol = {                                                                       \
        .name = #symbol,                                                                                               \
        .help = text,                                                                                                  \
        .vector_count = vectors,                                                                                       \
        .sum_count = 1,                                                                                                \
        .max_count = 1,                                                                                                \
        .down_count = DOWN_COUNT,                                                                                      \
        .degree = CAL_ONE_STEP_SMOOTH_DEGREE,                                                                          \
        .keeps_end = true,                                                                                             \
        .control_size = sizeof(control),                                                                               \
        .start = symbol##_start,                                                                                       \
        .prepare = rk_prepare,                                                                                         \
        .follow_up = rk_follow_up,                                                                                     \
        .control = rk_steer,                                                                                           \
        .interpolate = rk_interpolate,                                                                                 \
    }

RUNGE_KUTTA(iec, VECTOR_COUNT, "improved Euler-Cauchy, order 2, variable step by step doubling: 6 evaluations a step");
RUNGE_KUTTA(rki, VECTOR_COUNT, "Runge-Kutta of order 3 with an embedded order 2, variable step: 3 evaluations a step");
RUNGE_KUTTA(rkg, VECTOR_COUNT, "Runge-Kutta-Gill, order 4, variable step by step doubling: 12 evaluations a step");
RUNGE_KUTTA(rkf, VECTOR_COUNT_MIDDLE,
            "Runge-Kutta-Fehlberg, order 5 with an embedded order 4, variable step: 6 evaluations a step");
RUNGE_KUTTA(rkck, VECTOR_COUNT_MIDDLE,
            "Cash-Karp, order 5 with an embedded order 4: 6 evaluations a step, for runs with many events");
