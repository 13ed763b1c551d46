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
#include "solver/runge_kutta_steer.h"
#include "solver/solver.h"
#include <string.h>

static void rk_start(method_name name, void* memory, const cal_solver_settings* settings, double time, double* down,
                     cal_step_decision* decision) {
    rk_control* c = memory;
    const method* m = find_method(name);
    *c = (rk_control){.method = name, .settings = *settings, .time = time};
    c->has_middle = m->has_middle && !is_per_unit(c);
    c->own_velocities = m->order <= 3 && !is_per_unit(c);
    memset(down, 0, DOWN_COUNT * sizeof *down);
    *decision = (cal_step_decision){.previous = time, .time = time, .order = m->order};
    down[DOWN_EXTRAPOLATE] = 1.0 / (double)((1 << m->order) - 1);
    (void)send_stage(c, down, decision);
}

static bool rk_sound(method_name name, const void* memory, const double* down) {
    const rk_control* c = memory;
    return c->method == name && cal_solver_settings_sound(&c->settings) && cal_is_flag(&c->has_middle) &&
           cal_is_flag(&c->own_velocities) && cal_is_flag(&c->chosen) && cal_is_flag(&c->pending) && c->pass >= 0 &&
           c->pass <= 2 && c->stage >= 0 && c->stage < find_method(name)->stages && cal_is_flag(&c->failed) &&
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
