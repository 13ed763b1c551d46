// The Runge-Kutta methods: their tables, and what control makes of the sums (runge_kutta.c has the equations), on the host and on a device.
#pragma once
#include "solver/runge_kutta_columns.h"
#include "solver/step_size.h"

typedef struct method {
    int stages, order;
    bool embedded;
    bool was_per_unit; // Jung's sessions test the error of a unit step
    int exponent;      // the error of a step is of this power in h
    double c[STAGES], a[STAGES][STAGES], b[STAGES], e[STAGES];
    bool has_middle;
    double middle[STAGES + 1]; // d
} method;

static const double RATIO_NOT_FINITE = 0.25;
static const double MOST_INSIDE = 2.0; // allowed errors
enum { MOST_NOT_FINITE = 10 };

#define ROOT2 1.41421356237309504880
CAL_DEVICE static inline const method* find_method(method_name name) {
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
        .e = {37.0 / 378.0 - 2825.0 / 27648.0, 0.0, 250.0 / 621.0 - 18575.0 / 48384.0,
              125.0 / 594.0 - 13525.0 / 55296.0, -277.0 / 14336.0, 512.0 / 1771.0 - 1.0 / 4.0},
        .has_middle = true,
        .middle = {89.0 / 864.0, 0.0, 575.0 / 1512.0, 25.0 / 1728.0, -13.0 / 448.0, 0.0, 1.0 / 32.0}};
    switch (name) {
    case METHOD_iec: return &method_iec;
    case METHOD_rki: return &method_rki;
    case METHOD_rkg: return &method_rkg;
    case METHOD_rkf: return &method_rkf;
    default: return &method_rkck;
    }
}

CAL_DEVICE static bool is_per_unit(const rk_control* c) {
    return c->settings.historic && find_method(c->method)->was_per_unit;
}
CAL_DEVICE static int exponent(const rk_control* c) {
    return find_method(c->method)->exponent - (is_per_unit(c) ? 1 : 0);
}

// Sends the present stage of the present pass down.
CAL_DEVICE static cal_status send_stage(rk_control* c, double* down, cal_step_decision* decision) {
    const method* m = find_method(c->method);
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

CAL_DEVICE static double limit_step(const rk_control* c, double step) {
    return c->settings.largest_step > 0.0 ? fmin(step, c->settings.largest_step) : step;
}

CAL_DEVICE static cal_status reject(rk_control* c, double ratio, double* down, cal_step_decision* decision) {
    decision->rejected = true;
    c->step *= ratio;
    c->pass = c->stage = 0;
    return send_stage(c, down, decision);
}

CAL_DEVICE static cal_status rk_steer(void* memory, const double* sums, double* down, cal_step_decision* decision) {
    rk_control* c = (rk_control*)memory;
    const method* m = find_method(c->method);
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
