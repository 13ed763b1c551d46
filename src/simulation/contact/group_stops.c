// Joints that come to their stops in a contact group, and impacts of several at once (docs/architecture.md).
#include "simulation/contact/group_work.h"
#include <string.h>

double cal_work_find_landing(const cal_group_work* w, const double* v, double h) {
    const double close = CAL_WORK_TOUCHING * w->group->length;
    double first = h;
    for (int k = 0; k < w->problem.row_count; k++) {
        const cal_contact_row* touch = &w->problem.rows[k];
        if (!touch->lands) continue;
        double u[3], end[3];
        cal_problem_velocity(&w->problem, touch, v, u);
        cal_problem_velocity(&w->problem, touch, w->whole, end);
        u[0] += touch->drive[0], end[0] += touch->drive[0];
        const double gap = touch->gap - 0.5 * close, a = (end[0] - u[0]) / h, square = u[0] * u[0] - 2.0 * a * gap,
                     root = square >= 0.0 ? sqrt(square) - u[0] : 0.0;
        if (gap + 0.5 * h * (u[0] + end[0]) >= -0.4 * close || !(root > 0.0)) continue;
        first = fmin(first, 2.0 * gap / root); // the first zero of gap + u t + a t² / 2
    }
    return first;
}

// The speed with which a joint leaves its stop: the law of stops is one of the coordinate's speed.
static double stop_parting(const cal_group_work* w, const cal_contact_row* touch, double closing) {
    const double parting = cal_stop_parting(touch, closing);
    return parting > w->group->bounce_speed ? parting : 0.0;
}

// What an impact asks of the rows: contacts part no more than they must, stops as they bounce, or not where all is plastic. Whether
// something that touches is hit.
static bool set_strike_laws(cal_group_work* w, const double* v, double moment, bool plastic) {
    cal_problem* p = &w->problem;
    bool hit = false;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        double y[3];
        cal_problem_velocity(p, touch, v, y);
        // Feet that land at once do, whatever the tolerance makes of their gaps.
        const bool touches = touch->gap <= fmax(CAL_WORK_OVERLAP, w->group->tolerance) * w->group->length;
        hit |= touch->gap <= CAL_WORK_TOUCHING * w->group->length && -y[0] - touch->drive[0] > w->group->bounce_speed;
        for (int i = 0; i < 3; i++) touch->offset[i] = touch->drive[i], touch->held[i] = 0.0;
        if (!touches) touch->offset[0] += touch->gap / moment;
        const double parting =
            touch->stops && touches && !plastic ? stop_parting(w, touch, -y[0] - touch->drive[0]) : 0.0;
        touch->offset[0] -= parting;
        touch->impact = -1.0;
    }
    return hit;
}

static void solve_strike(cal_group_work* w, const double* v, double* out) {
    cal_problem* p = &w->problem;
    memcpy(w->target, v, (size_t)w->group->v_count * sizeof *v);
    memcpy(out, v, (size_t)w->group->v_count * sizeof *v);
    cal_problem_constrain(p, 0.0, w->target, out);
    w->report->solves++;
    p->swept = 0;
    w->report->newton += cal_problem_solve(p, w->target, out);
}

// Several stops that are hit at once, and friction, may gain energy by Newton's law of impacts: then v is as far from the plastic impact,
// which never does, towards that one as it does not. With u the one, u + d the other: |u|² + 2 s u·d + s² |d|² = T.
static void bound_strike(cal_group_work* w, const double* v, double moment) {
    cal_problem* p = &w->problem;
    const int count = w->group->v_count;
    double *plastic = w->first, *way = w->second;
    const double before = cal_problem_times_mass(p, v, NULL), after = cal_problem_times_mass(p, w->whole, NULL);
    if (!(after > before)) return;
    (void)set_strike_laws(w, v, moment, true);
    solve_strike(w, v, plastic);
    for (int i = 0; i < count; i++) way[i] = w->whole[i] - plastic[i];
    const double least = cal_problem_times_mass(p, plastic, NULL), square = cal_problem_times_mass(p, way, NULL),
                 along = 0.5 * (after - least - square), room = fmax(before - least, 0.0);
    const double share = square > 0.0 ? (sqrt(along * along + square * room) - along) / square : 0.0;
    for (int i = 0; i < count; i++) w->whole[i] = plastic[i] + fmin(fmax(share, 0.0), 1.0) * way[i];
}

bool cal_work_strike(cal_group_work* w, const double* v, double moment) {
    if (!set_strike_laws(w, v, moment, false)) return false;
    solve_strike(w, v, w->whole);
    bound_strike(w, v, moment);
    return true;
}
