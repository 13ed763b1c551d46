// See flows.h.
#include "solver/flows.h"
#include "pass/sums.h"

#include <float.h>
#include <math.h>
#include <string.h>

void cal_flow_create(cal_flow_integrator* f, const cal_solver_ops* ops, const double* down) {
    *f = (cal_flow_integrator){.ops = ops};
    if (!ops) return;
    for (int i = 0; i < ops->vector_count; i++) f->vectors[i] = f->block + (size_t)i * CAL_FLOW_SIZE;
    f->block_y[1] = CAL_FLOW_SIZE;
    f->column = (cal_column){.block_count = 1, .kind = CAL_PRISMATIC, .parent = -1, .lanes = CAL_FLOW_LANES};
    f->layout = (cal_layout){.width = CAL_FLOW_LANES,
                             .copies = 1,
                             .column_count = 1,
                             .columns = &f->column,
                             .block_count = 1,
                             .block_y = f->block_y,
                             .y_size = CAL_FLOW_SIZE};
    // No error is tested: flows follow the motion's steps (but cal_flow_test).
    f->context = (cal_solver_context){.layout = &f->layout,
                                      .y = f->y,
                                      .ydot = f->ydot,
                                      .vectors = f->vectors,
                                      .down = down,
                                      .relative = 1.0,
                                      .absolute = 1.0};
}

void cal_flow_start(cal_flow_integrator* f) {
    cal_flow_memory* m = &f->memory;
    *m = (cal_flow_memory){.now = m->now, .base = m->now, .begin = m->begin};
    memset(f->block, 0, sizeof f->block);
}

void cal_flow_prepare(cal_flow_integrator* f) {
    if (f->ops) f->ops->prepare(&f->context, &f->column);
}

void cal_flow_test(cal_flow_integrator* f, double tolerance, double unit) {
    for (int i = 0; i < CAL_FLOW_SIZE; i++) f->scale[i] = DBL_MAX;
    f->scale[CAL_FLOW_LANES + CAL_FLOW_WORK] = f->scale[CAL_FLOW_LANES + CAL_FLOW_LOSS] = unit;
    f->context.relative = f->context.absolute = unit > 0.0 ? tolerance : 1.0;
    f->context.scale = unit > 0.0 ? f->scale : NULL;
}

void cal_flow_follow_up(cal_flow_integrator* f, const double power[CAL_FLOW_KINDS], double* sums) {
    double shares[CAL_MAX_SUMS * CAL_FLOW_LANES];
    memcpy(f->memory.power, power, sizeof f->memory.power);
    if (!f->ops) return;
    for (int i = 0; i < CAL_FLOW_LANES; i++) f->ydot[i] = f->y[CAL_FLOW_LANES + i];
    for (int i = 0; i < CAL_FLOW_KINDS; i++) f->ydot[CAL_FLOW_LANES + i] = power[i];
    f->ops->follow_up(&f->context, &f->column, 0, shares);
    for (int k = 0; k < f->ops->sum_count && f->context.scale; k++)
        for (int i = 0; i < CAL_FLOW_LANES; i++) {
            const double share = shares[CAL_SHARE(k, CAL_FLOW_LANES, i)];
            sums[k] = cal_join_sums(share, sums[k], k < f->ops->max_count);
        }
}

// --- BDF ---------------------------------------------------------------------------------------------------------------

// ∫ of the polynomial through the newest `order` + 1 powers, from the end of the step before to a time: Lagrange's, in units of the
// step.
static void integrate(const cal_flow_memory* m, double time, double out[CAL_FLOW_KINDS]) {
    const int degree = (int)m->order;
    const double from = m->times[1], unit = m->times[0] - from, to = (time - from) / unit;
    for (int k = 0; k < CAL_FLOW_KINDS; k++) out[k] = 0.0;
    for (int j = 0; j <= degree; j++) {
        double p[CAL_FLOW_POINTS] = {1.0}, sum = 0.0, power = to;
        const double own = (m->times[j] - from) / unit;
        for (int i = 0, size = 0; i <= degree; i++) {
            if (i == j) continue;
            const double other = (m->times[i] - from) / unit;
            size++;
            for (int n = size; n >= 0; n--)
                p[n] = ((n > 0 ? p[n - 1] : 0.0) - (n < size ? other * p[n] : 0.0)) / (own - other);
        }
        for (int n = 0; n <= degree; n++, power *= to) sum += p[n] * power / (n + 1);
        for (int k = 0; k < CAL_FLOW_KINDS; k++) out[k] += unit * sum * m->powers[j][k];
    }
}

// --- Any of them ---------------------------------------------------------------------------------------------------------

// What flowed since the solver began, without projections.
static void find_flowed(const cal_flow_integrator* f, const void* control, double time, double out[CAL_FLOW_KINDS]) {
    const cal_flow_memory* m = &f->memory;
    double sample[CAL_FLOW_SIZE];
    if (f->ops) {
        f->ops->interpolate(control, &f->context, &f->column, time, sample);
        memcpy(out, sample + CAL_FLOW_LANES, CAL_FLOW_KINDS * sizeof *out);
        return;
    }
    for (int k = 0; k < CAL_FLOW_KINDS; k++) out[k] = 0.0;
    if (m->points > 1) integrate(m, time, out);
    for (int k = 0; k < CAL_FLOW_KINDS; k++) out[k] += m->before[k];
}

void cal_flow_accept(cal_flow_integrator* f, const void* control, double time, double closed) {
    cal_flow_memory* m = &f->memory;
    double flowed[CAL_FLOW_KINDS];
    find_flowed(f, control, time, flowed);
    m->moved += fabs(flowed[CAL_FLOW_WORK] - m->last[CAL_FLOW_WORK]);
    memcpy(m->last, flowed, sizeof flowed);
    m->closed += closed;
}

// Whether the points are those of the last step alone: its ends, and inside.
static bool is_inside(const cal_flow_memory* m) { return m->points == CAL_FLOW_POINTS && m->times[2] > m->times[1]; }

// What is inside of a step that was looked into goes on as if steps had ended there, the newest first.
static void forget_begin(cal_flow_memory* m) {
    const cal_flow_memory inside = *m;
    m->points = CAL_FLOW_POINTS - 1;
    for (int i = 1; i < CAL_FLOW_POINTS - 1; i++) {
        m->times[i] = inside.times[CAL_FLOW_POINTS - i];
        memcpy(m->powers[i], inside.powers[CAL_FLOW_POINTS - i], sizeof m->powers[i]);
    }
}

void cal_flow_accept_bdf(cal_flow_integrator* f, double time, int order, const double power[CAL_FLOW_KINDS],
                         double closed) {
    cal_flow_memory* m = &f->memory;
    if (is_inside(m)) forget_begin(m);
    const int64_t kept = m->points < CAL_FLOW_POINTS ? m->points : CAL_FLOW_POINTS - 1;
    memmove(m->times + 1, m->times, (size_t)kept * sizeof *m->times);
    memmove(m->powers + 1, m->powers, (size_t)kept * sizeof *m->powers);
    m->times[0] = time;
    memcpy(m->powers[0], power, sizeof m->powers[0]);
    m->points = kept + 1;
    m->order = order < kept ? order : kept;
    memcpy(m->before, m->last, sizeof m->last);
    if (kept > 0) cal_flow_accept(f, NULL, time, closed);
}

double cal_flow_doubt(const cal_flow_integrator* f, int* power) {
    enum { LOOKED_AT = 3 }; // of the points inside the one next to the middle
    const cal_flow_memory* m = &f->memory;
    double all[CAL_FLOW_KINDS], less[CAL_FLOW_KINDS] = {0.0}, doubt = 0.0;
    if (m->points < 2) return 0.0;
    if (!is_inside(m)) {
        cal_flow_memory lower = *m;
        lower.order--;
        integrate(m, m->times[0], all);
        integrate(&lower, m->times[0], less);
        for (int k = 0; k <= CAL_FLOW_LOSS; k++) doubt = fmax(doubt, fabs(all[k] - less[k]));
        *power = (int)m->order + 1;
        return doubt;
    }
    for (int j = 0; j < CAL_FLOW_POINTS; j++) {
        double share = 1.0;
        for (int i = 0; i < CAL_FLOW_POINTS; i++)
            if (i != j && i != LOOKED_AT) share *= (m->times[LOOKED_AT] - m->times[i]) / (m->times[j] - m->times[i]);
        for (int k = 0; j != LOOKED_AT && k < CAL_FLOW_KINDS; k++) less[k] += share * m->powers[j][k];
    }
    for (int k = 0; k <= CAL_FLOW_LOSS; k++)
        doubt = fmax(doubt, (m->times[0] - m->times[1]) * fabs(m->powers[LOOKED_AT][k] - less[k]));
    *power = CAL_FLOW_POINTS;
    return doubt;
}

void cal_flow_look_inside(cal_flow_integrator* f, const double parts[CAL_FLOW_POINTS - 1],
                          double powers[CAL_FLOW_POINTS - 1][CAL_FLOW_KINDS]) {
    cal_flow_memory* m = &f->memory;
    const double from = m->times[1], step = m->times[0] - from, work = m->last[CAL_FLOW_WORK];
    memcpy(m->powers[0], powers[CAL_FLOW_POINTS - 2], sizeof m->powers[0]);
    for (int i = 0; i < CAL_FLOW_POINTS - 2; i++) {
        m->times[i + 2] = from + parts[i] * step;
        memcpy(m->powers[i + 2], powers[i], sizeof powers[i]);
    }
    m->points = CAL_FLOW_POINTS;
    m->order = CAL_FLOW_POINTS - 1;
    m->moved -= fabs(work - m->before[CAL_FLOW_WORK]);
    memcpy(m->last, m->before, sizeof m->last);
    cal_flow_accept(f, NULL, m->times[0], 0.0);
}

static cal_flows add(const cal_flow_memory* m, const double flowed[CAL_FLOW_KINDS]) {
    return (cal_flows){.work = m->base.work + flowed[CAL_FLOW_WORK],
                       .loss = m->base.loss + flowed[CAL_FLOW_LOSS],
                       .closing = m->base.closing + (flowed[CAL_FLOW_CLOSING] + m->closed),
                       .moved = m->base.moved + m->moved};
}

void cal_flow_step_over(cal_flow_integrator* f, double step, double closed) {
    cal_flow_memory* m = &f->memory;
    double power[CAL_FLOW_KINDS], flowed[CAL_FLOW_KINDS];
    memcpy(power, m->power, sizeof power);
    for (int k = 0; k < CAL_FLOW_KINDS; k++) flowed[k] = m->last[k] + step * power[k];
    m->moved += fabs(step * power[CAL_FLOW_WORK]);
    m->closed += closed;
    const cal_flows now = m->now;
    m->now = add(m, flowed);
    cal_flow_start(f);
    m->now = now;
    memcpy(m->power, power, sizeof power);
}

cal_flows cal_flow_at(const cal_flow_integrator* f, const void* control, double time) {
    double flowed[CAL_FLOW_KINDS];
    find_flowed(f, control, time, flowed);
    return add(&f->memory, flowed);
}
