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
#include "base/sound.h"
#include "solver/gear_steer.h"
#include "solver/solver.h"

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

static bool gear_sound(const void* memory, const double* down) {
    const gear_control* g = memory;
    return cal_solver_settings_sound(&g->settings) && (int)g->mode >= MODE_EVALUATE && (int)g->mode <= MODE_CORRECT &&
           cal_is_flag(&g->started) && cal_is_count(g->not_finite) && g->largest_order >= 1 &&
           g->largest_order <= LARGEST_ORDER && g->order >= 0 && g->order <= g->largest_order && g->used_order >= 0 &&
           g->used_order <= LARGEST_ORDER && cal_is_count(g->wait) && cal_is_count(g->iteration) &&
           cal_is_count(g->failures) && cal_is_count(g->convergence_failures) && isfinite(g->time) &&
           isfinite(g->step) && cal_is_index(down[DOWN_MODE], MODE_CORRECT) &&
           cal_is_index(down[DOWN_ORDER], LARGEST_ORDER) && cal_is_index(down[DOWN_OLD_ORDER], LARGEST_ORDER);
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
    .fetch = gear_fetch,
    .follow_up = gear_follow_up,
    .control = gear_steer,
    .interpolate = gear_interpolate,
    .sound = gear_sound,
};
