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
// In RKF and RKCK k₂ has no weight in either order. A stop that a body without other forces meets in a long step throws stages
// from the third on back out of it, where its law has no force: the second alone has seen it, and both orders agree that there is
// none. So what |k₂ − k₁| exceeds twice all other |k_j − k₁| by counts as an error, h times. Where motion is smooth that is nothing.
// Other stages are further on, and see more of what changes; but where y″ is zero inside the step they may all see less than
//
//   k₂ − k₁ = c₂ h y″ + c₂² h²/2 (y‴ − f_y y″)
//
// whose last term, which they do not have, is c₂ h f_y/2 of the first: half of it at c₂ ≤ ¼ and h f_y = 4, where no such method is
// stable.
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
#include "base/sound.h"
#include "solver/runge_kutta_columns.h"
#include <string.h>

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

static const method* const methods[] = {&method_iec, &method_rki, &method_rkg, &method_rkf, &method_rkck};

static bool is_per_unit(const rk_control* c) { return c->settings.historic && methods[c->method]->was_per_unit; }
static int exponent(const rk_control* c) { return methods[c->method]->exponent - (is_per_unit(c) ? 1 : 0); }

// Sends the present stage of the present pass down.
static cal_status send_stage(rk_control* c, double* down, cal_step_decision* decision) {
    const method* m = methods[c->method];
    const double h = c->pass == 0 ? c->step : 0.5 * c->step;
    const bool last = c->stage == m->stages - 1;
    down[DOWN_STAGE] = c->stage;
    down[DOWN_PASS] = c->pass;
    down[DOWN_FINISH] = c->pending && c->has_middle && c->stage == 0 ? FINISH_INSIDE
                        : !last                                      ? FINISH_NOTHING
                        : m->embedded                                ? FINISH_EMBEDDED
                        : c->pass == 0                               ? FINISH_FULL
                        : c->pass == 1                               ? FINISH_MIDDLE
                                                                     : FINISH_DOUBLING;
    if (c->has_middle) {
        down[DOWN_USED] = c->used, down[DOWN_BEFORE] = c->before;
        for (int j = 0; j <= STAGES; j++) down[DOWN_MIDDLE + j] = m->middle[j];
    }
    for (int j = 0; j < STAGES; j++) {
        down[DOWN_ROW + j] = h * m->a[c->stage][j];
        down[DOWN_RESULT + j] = h * m->b[j];
        down[DOWN_ERROR + j] = is_per_unit(c) ? m->e[j] : h * m->e[j];
    }
    down[DOWN_UNHEARD] = m->embedded && m->b[1] == 0.0 && m->e[1] == 0.0 && !is_per_unit(c) ? h : 0.0;
    decision->evaluation_time = c->time + (c->pass == 2 ? h : 0.0) + m->c[c->stage] * h;
    if (!c->chosen || c->time + c->step > c->time) return CAL_OK;
    return c->not_finite > 0 ? CAL_NOT_FINITE : CAL_NOT_CONVERGED;
}

static double limit_step(const rk_control* c, double step) {
    return c->settings.largest_step > 0.0 ? fmin(step, c->settings.largest_step) : step;
}

static void rk_start(method_name name, void* memory, const cal_solver_settings* settings, double time, double* down,
                     cal_step_decision* decision) {
    rk_control* c = memory;
    const method* m = methods[name];
    *c = (rk_control){.method = name, .settings = *settings, .time = time};
    c->has_middle = m->has_middle && !is_per_unit(c);
    c->own_velocities = m->order <= 3 && !is_per_unit(c);
    memset(down, 0, DOWN_COUNT * sizeof *down);
    *decision = (cal_step_decision){.previous = time, .time = time, .order = m->order};
    down[DOWN_EXTRAPOLATE] = 1.0 / (double)((1 << m->order) - 1);
    (void)send_stage(c, down, decision);
}

static cal_status reject(rk_control* c, double ratio, double* down, cal_step_decision* decision) {
    decision->rejected = true;
    c->step *= ratio;
    c->pass = c->stage = 0;
    return send_stage(c, down, decision);
}

static cal_status rk_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    rk_control* c = memory;
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
        if (c->has_middle) c->step = fmin(c->step, c->used * cal_step_ratio(size / MOST_INSIDE, exponent(c), false));
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

static bool rk_sound(method_name name, const void* memory, const double* down) {
    const rk_control* c = memory;
    return c->method == name && cal_is_flag(&c->chosen) && cal_is_flag(&c->pending) && c->pass >= 0 && c->pass <= 2 &&
           c->stage >= 0 && c->stage < methods[name]->stages && cal_is_flag(&c->failed) &&
           cal_is_count(c->not_finite) && isfinite(c->time) && isfinite(c->step) &&
           cal_is_index(down[DOWN_STAGE], STAGES - 1) && cal_is_index(down[DOWN_PASS], 2) &&
           cal_is_index(down[DOWN_FINISH], FINISH_INSIDE);
}

#define RUNGE_KUTTA(symbol, vectors, text)                                                                             \
    static void symbol##_start(void* memory, const cal_solver_settings* settings, double time, double* down,           \
                               cal_step_decision* decision) {                                                          \
        rk_start(METHOD_##symbol, memory, settings, time, down, decision);                                             \
    }                                                                                                                  \
    static bool symbol##_sound(const void* memory, const double* down) {                                               \
        return rk_sound(METHOD_##symbol, memory, down);                                                                \
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
        .control_size = sizeof(rk_control),                                                                            \
        .start = symbol##_start,                                                                                       \
        .prepare = rk_prepare,                                                                                         \
        .follow_up = rk_follow_up,                                                                                     \
        .control = rk_steer,                                                                                           \
        .interpolate = rk_interpolate,                                                                                 \
        .sound = symbol##_sound,                                                                                       \
    }

RUNGE_KUTTA(iec, VECTOR_COUNT,
            "improved Euler-Cauchy, order 2, variable step by step doubling: 6 evaluations per step");
RUNGE_KUTTA(rki, VECTOR_COUNT,
            "Runge-Kutta of order 3 with an embedded order 2, variable step: 3 evaluations per step");
RUNGE_KUTTA(rkg, VECTOR_COUNT, "Runge-Kutta-Gill, order 4, variable step by step doubling: 12 evaluations per step");
RUNGE_KUTTA(rkf, VECTOR_COUNT_MIDDLE,
            "Runge-Kutta-Fehlberg, order 5 with an embedded order 4, variable step: 6 evaluations per step");
RUNGE_KUTTA(rkck, VECTOR_COUNT_MIDDLE,
            "Cash-Karp, order 5 with an embedded order 4: 6 evaluations per step, for runs with many events");
