// Fixed steps: the classical Runge-Kutta method of order 4, and semi-implicit Euler.
//
//   rk4     k₁ = f(y), k₂ = f(y + ½h k₁), k₃ = f(y + ½h k₂), k₄ = f(y + h k₃); y + h (k₁ + 2k₂ + 2k₃ + k₄)/6
//   euler   v₁ = v + h a(q, v), q₁ = q + h v₁
//
// Quaternions move by exponentials of angular velocities, q ← q ∘ exp(h ω), so that they keep unit length and a steady
// spin is exact. For order 4 the exponentials must not be merged into one: this is the commutator-free method of
// Celledoni, Marthinsen and Owren (2003), with the same k on everything else:
//
//   q₂ = q ∘ exp(½h ω₁),  q₃ = q ∘ exp(½h ω₂),  q₄ = q₂ ∘ exp(h ω₃ − ½h ω₁),
//   q ← q ∘ exp(h(3ω₁ + 2ω₂ + 2ω₃ − ω₄)/12) ∘ exp(h(−ω₁ + 2ω₂ + 2ω₃ + 3ω₄)/12)
//
// A step counts as accepted when the derivative at its end is known, the next step's first.
#include "base/sound.h"
#include "solver/fixed_step_columns.h"
#include <string.h>

static void fixed_start(fixed_control* c, const cal_solver_settings* settings, double time, int order, double* down,
                        cal_step_decision* decision) {
    *c = (fixed_control){.start = time, .time = time, .step = settings->step};
    memset(down, 0, DOWN_COUNT * sizeof *down);
    down[DOWN_STEP] = settings->step;
    *decision = (cal_step_decision){.previous = time, .time = time, .order = order, .evaluation_time = time};
}

static void rk4_start(void* memory, const cal_solver_settings* settings, double time, double* down,
                      cal_step_decision* decision) {
    fixed_start(memory, settings, time, 4, down, decision);
}

static void euler_start(void* memory, const cal_solver_settings* settings, double time, double* down,
                        cal_step_decision* decision) {
    fixed_start(memory, settings, time, 1, down, decision);
}

static cal_status fixed_steer(fixed_control* c, int stages, const double* sums, double* down,
                              cal_step_decision* decision) {
    static const double places[4] = {0.0, 0.5, 0.5, 1.0};
    decision->accepted = decision->rejected = false;
    if (!(sums[0] == 0.0)) return CAL_NOT_FINITE;
    if (c->stage == 0 && c->steps > 0) {
        decision->accepted = true;
        decision->previous = decision->time;
        decision->time = c->accepted = c->time;
        decision->step = c->step;
    }
    c->stage = (c->stage + 1) % stages;
    if (c->stage == 0) {
        c->steps++;
        const double before = c->time;
        c->time = c->start + (double)c->steps * c->step;
        if (!(c->time > before)) return CAL_NOT_CONVERGED;
    }
    down[DOWN_COMMIT] = c->stage == 0 ? COMMIT_STEP : COMMIT_NOTHING;
    down[DOWN_STAGE] = c->stage;
    decision->evaluation_time = c->time + places[c->stage] * c->step;
    return CAL_OK;
}

static cal_status rk4_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    return fixed_steer(memory, 4, sums, down, decision);
}

static cal_status euler_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    return fixed_steer(memory, 1, sums, down, decision);
}

static void fixed_unseen(double* down) {
    if (down[DOWN_COMMIT] == COMMIT_STEP) down[DOWN_COMMIT] = COMMIT_UNSEEN;
}

static bool fixed_sound(const void* memory, const double* down) {
    const fixed_control* c = memory;
    enum { STAGES = 4 };
    return c->stage >= 0 && c->stage < STAGES && c->steps >= 0 && c->steps < INT64_MAX / 2 && isfinite(c->start) &&
           isfinite(c->time) && isfinite(c->step) && cal_is_index(down[DOWN_STAGE], STAGES - 1);
}

const cal_solver_ops cal_solver_rk4 = {
    .name = "rk4",
    .help = "classical Runge-Kutta, order 4, fixed step: 4 evaluations per step",
    .vector_count = VECTOR_COUNT_RK4,
    .sum_count = 1,
    .down_count = DOWN_COUNT,
    .fixed_step = true,
    .reach = 2.785293563405282, // 1 + z + z²/2 + z³/6 + z⁴/24 = 1 at −z
    .degree = CAL_ONE_STEP_SMOOTH_DEGREE,
    .keeps_end = true,
    .control_size = sizeof(fixed_control),
    .start = rk4_start,
    .prepare = rk4_prepare,
    .follow_up = rk4_follow_up,
    .derivative = rk4_derivative,
    .control = rk4_steer,
    .interpolate = rk4_interpolate,
    .unseen = fixed_unseen,
    .sound = fixed_sound,
};

const cal_solver_ops cal_solver_euler = {
    .name = "euler",
    .help = "semi-implicit Euler, order 1, fixed step: 1 evaluation per step, energy bounded",
    .vector_count = CAL_ONE_STEP_OWN,
    .sum_count = 1,
    .down_count = DOWN_COUNT,
    .fixed_step = true,
    .degree = CAL_ONE_STEP_CUBIC_DEGREE,
    .keeps_end = true,
    .control_size = sizeof(fixed_control),
    .start = euler_start,
    .prepare = euler_prepare,
    .follow_up = euler_follow_up,
    .derivative = euler_derivative,
    .control = euler_steer,
    .interpolate = euler_interpolate,
    .unseen = fixed_unseen,
    .sound = fixed_sound,
};
