// What is come to in a step of a contact group, and impacts of several at once (docs/architecture.md).
//
// A joint that comes to a stop from which it bounces ends the step there, and so does, in a small group of free bodies, a contact that closes. The
// time is that at which its gap is closed by the motion of the step itself: first of the step's whole solution, as a parabola, and where gaps are
// not what that says, because what turns goes on circles, of the gaps at the end, by the secant. The next step begins with one impact of
// all that touch.
#include "math/vector.h"
#include "simulation/contact/group_work.h"
#include <string.h>

static const double instant = 1e-9;   // of an interval: an impact lasts no longer
static const double nearest = 0.999;  // of a step: one that has come too far is at least so much shorter
static const double blink = 1e-6;     // of an interval: what moves in it nobody sees
static const double shortest = 1e-15; // of a time: what is added to it and is not lost

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

void cal_work_know_pairs(cal_group_work* w) {
    cal_problem* p = &w->problem;
    const double touching = CAL_WORK_CLOSED * w->group->length;
    for (int first = 0, end = 0; first < p->row_count; first = end) {
        const int* body = p->rows[first].body;
        bool touches = false;
        for (end = first; end < p->row_count && p->rows[end].body[0] == body[0] && p->rows[end].body[1] == body[1];
             end++)
            touches |= p->rows[end].gap <= touching;
        for (int k = first; k < end; k++) p->rows[k].pair_touches = touches;
    }
}

// The least gap of two bodies among contacts of the begin; infinite: they were not near.
static double gap_at_begin(const cal_contact_cache* begin, const cal_group_contact* contact) {
    double least = (double)INFINITY;
    for (int k = 0; k < begin->count; k++) {
        const cal_group_contact* other = &begin->contacts[k];
        if (other->key == contact->key) return other->gap;
        if (other->body[0] == contact->body[0] && other->body[1] == contact->body[1]) least = fmin(least, other->gap);
    }
    return least;
}

double cal_work_find_overshoot(const cal_group_work* w, const cal_contact_cache* begin, const cal_contact_cache* end,
                               double h) {
    const double length = w->group->length, aim = 0.5 * CAL_WORK_TOUCHING * length;
    double first = h;
    for (int k = 0; k < end->count; k++) {
        const cal_group_contact* contact = &end->contacts[k];
        if (contact->stop > 0 || !cal_work_ends_step(w, contact->restitution)) continue;
        if (contact->gap >= -CAL_WORK_LANDED * length) continue;
        const double gap = gap_at_begin(begin, contact);
        if (!(gap > CAL_WORK_CLOSED * length)) continue;
        const double share = isfinite(gap) ? (gap - aim) / (gap - contact->gap) : 0.5;
        first = fmin(first, h * fmin(share, nearest));
    }
    return first;
}

// The speed with which a joint leaves its stop: the law of stops is one of the coordinate's speed. Contacts of free bodies bounce here, those of
// multibodies have done so by events of their own.
static double parting_of(const cal_group_work* w, const cal_contact_row* touch, double closing) {
    const double parting = touch->stops ? cal_stop_parting(touch, closing)
                           : cal_work_ends_step(w, touch->restitution) || !w->varies ? touch->restitution * closing
                                                                                     : 0.0;
    return parting > touch->bounce_speed ? parting : 0.0;
}

// What touches and closes faster is hit. Where something was come to in a small group of free bodies, that is what a smooth step cannot hold, and what
// goes further in the interval than steps need to know; elsewhere steps that are not smooth leave such speeds in what goes on touching.
static double least_hit(const cal_group_work* w, const double* v, double interval) {
    const cal_group* group = w->group;
    if (!w->lands) return group->bounce_speed;
    const double moving = CAL_WORK_STOPPING * cal_group_sweep(group, v),
                 known = CAL_WORK_QUIET * sqrt(group->tolerance) * group->length / interval;
    return fmax(fmax(moving, known), w->memory[CAL_WORK_GOES_ON] > 0.0 ? group->bounce_speed : 0.0);
}

// What an impact asks of the rows: contacts part no more than they must, stops as they bounce, or not where all is plastic. Whether
// something that touches is hit.
static bool set_strike_laws(cal_group_work* w, const double* v, double interval, bool plastic) {
    cal_problem* p = &w->problem;
    const double length = w->group->length, moment = instant * interval, least = least_hit(w, v, interval),
                 touching = (w->lands ? CAL_WORK_CLOSED : CAL_WORK_TOUCHING) * length,
                 near = fmax(w->lands ? CAL_WORK_CLOSED : CAL_WORK_OVERLAP, w->group->tolerance) * length;
    bool hit = false;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        double y[3];
        cal_problem_velocity(p, touch, v, y);
        // Feet that land at once do, whatever the tolerance makes of their gaps.
        const double closing = -y[0] - touch->drive[0];
        const bool touches = touch->gap <= near, bounces = touch->restitution >= 1.0;
        // Of a contact without a key nobody knows whether it was come to, or goes on.
        const bool known = !w->lands || touch->stops || w->cache.contacts[touch->contact].key != 0;
        hit |= touch->gap <= touching && known && closing > (bounces ? touch->bounce_speed : least);
        for (int i = 0; i < 3; i++) touch->offset[i] = touch->drive[i], touch->held[i] = 0.0;
        if (!touches) touch->offset[0] += touch->gap / moment;
        const double parting = touches && !plastic ? parting_of(w, touch, closing) : 0.0;
        touch->offset[0] -= parting;
        touch->impact = parting > 0.0 && !touch->stops ? 0.0 : -1.0;
    }
    return hit;
}

static void solve_strike(cal_group_work* w, const double* v, double* out) {
    cal_problem* p = &w->problem;
    memcpy(w->target, v, (size_t)w->group->v_count * sizeof *v);
    memcpy(out, v, (size_t)w->group->v_count * sizeof *v);
    cal_problem_constrain(p, 0.0, w->target, out);
    w->report->solves++;
    p->swept = 0, p->allowed = w->close / w->interval;
    w->report->newton += cal_problem_solve(p, w->target, out);
}

// Several that bounce at once, and friction, may gain energy by Newton's law of impacts: then v is as far from the plastic impact, which never does,
// towards that one as it does not. With u the one, u + d the other, and W the work of what is driven, which is linear in impulses:
// |u|² − 2 W_u + s (|u + d|² − 2 W_d − |u|² + 2 W_u − |d|²) + s² |d|² = T.
static void bound_strike(cal_group_work* w, const double* v, double interval) {
    cal_problem* p = &w->problem;
    const int count = w->group->v_count;
    double *plastic = w->first, *way = w->second;
    const double before = cal_problem_times_mass(p, v, NULL),
                 after = cal_problem_times_mass(p, w->whole, NULL) - 2.0 * cal_work_driven(w);
    if (!(after > before)) return;
    double(*bounced)[3] = w->known_force; // which are known anew at the next look
    for (int k = 0; k < p->row_count; k++) memcpy(bounced[k], p->rows[k].impulse, sizeof bounced[k]);
    (void)set_strike_laws(w, v, interval, true);
    solve_strike(w, v, plastic);
    for (int i = 0; i < count; i++) way[i] = w->whole[i] - plastic[i];
    const double least = cal_problem_times_mass(p, plastic, NULL) - 2.0 * cal_work_driven(w),
                 square = cal_problem_times_mass(p, way, NULL), along = 0.5 * (after - least - square),
                 room = fmax(before - least, 0.0);
    const double root = square > 0.0 ? (sqrt(along * along + square * room) - along) / square : 0.0,
                 share = fmin(fmax(root, 0.0), 1.0);
    for (int i = 0; i < count; i++) w->whole[i] = plastic[i] + share * way[i];
    for (int k = 0; k < p->row_count; k++)
        for (int i = 0; i < 3; i++) p->rows[k].impulse[i] += share * (bounced[k][i] - p->rows[k].impulse[i]);
}

void cal_work_report_impacts(cal_group_work* w, double time, const double* v, double h) {
    cal_group_report* report = w->report;
    report->impact_count = w->struck;
    for (int k = 0; report->impacts != NULL && k < w->problem.row_count; k++) {
        const cal_contact_row* touch = &w->problem.rows[k];
        if (touch->stops || !(touch->impulse[0] > 0.0) || touch->last[0] > 0.0) continue;
        double u[3], frame[9];
        cal_problem_velocity(&w->problem, touch, v, u);
        const double closing = -u[0] - touch->drive[0];
        if (touch->impact < 0.0 && closing <= w->group->bounce_speed) continue;
        if (report->impact_count == report->impact_capacity) return;
        cal_group_impact* impact = &report->impacts[report->impact_count++];
        const double until = touch->impact >= 0.0 ? touch->impact : fmin(h, fmax(touch->gap, 0.0) / closing);
        *impact = (cal_group_impact){
            .time = time + until, .contact = w->cache.contacts[touch->contact], .bounces = touch->impact >= 0.0};
        cal_contact_frame(impact->contact.normal, frame);
        for (int i = 0; i < 3; i++)
            for (int r = 0; r < 3; r++) impact->impulse[i] += frame[3 * r + i] * touch->impulse[r];
    }
}

bool cal_work_strike(cal_group_work* w, double time, double* v) {
    if (!set_strike_laws(w, v, w->interval, false)) return false;
    solve_strike(w, v, w->whole);
    bound_strike(w, v, w->interval);
    w->report->work += cal_work_driven(w);
    cal_work_report_impacts(w, time, v, 0.0);
    w->struck = w->report->impact_count;
    for (int i = 0; i < w->group->v_count; i++) w->second[i] = w->whole[i] - v[i];
    w->jolt = cal_group_speed(w->group, w->second);
    memcpy(v, w->whole, (size_t)w->group->v_count * sizeof *v);
    return true;
}

cal_status cal_work_look_and_strike(cal_group_work* w, double time, double* q, double* v, cal_error* error) {
    const cal_status status = cal_work_look(w, time, q, v, 0.0, false, error);
    if (status != CAL_OK || !cal_work_strike(w, time, v)) return status;
    return cal_group_project(w->group, time, q, v, error);
}

double cal_work_after_hit(const cal_group_work* w, double time, double h) {
    if (!(w->jolt > 0.0)) return h;
    const double far = CAL_WORK_OVERLAP * w->group->length / w->jolt;
    return fmin(h, fmax(fmin(blink * w->interval, far), shortest * fabs(time)));
}
