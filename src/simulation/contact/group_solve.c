// The contact problem of one configuration of a group: what touches, what a step asks of it, and its solution.
#include "base/finite.h"
#include "math/vector.h"
#include "simulation/contact/group_work.h"
#include <string.h>

enum { MOST_PARTINGS = 8, FIRST_RINGS = 2 };
static const double parted_share = 0.3; // of an overlap that is deeper than `deep` of the length, in one step
static const double deep = 1e-2;

// Largest speed of any point of a unit, as a bound.
static double unit_speed(const cal_group* group, const cal_group_member* unit, const double* v) {
    return unit->ops->speed(unit, v + unit->first_v, group->length);
}

// The same of any point of its surface, beside what spin does, which brings none nearer to anything.
static double unit_sweep(const cal_group* group, const cal_group_member* unit, const double* v) {
    double own[CAL_QUIET_SIZE];
    if (unit->ops->sweep == NULL) return unit_speed(group, unit, v);
    memcpy(own, v + unit->first_v, (size_t)unit->v_count * sizeof *own);
    unit->ops->sweep(unit, own);
    return unit->ops->speed(unit, own, group->length);
}

double cal_group_sweep(const cal_group* group, const double* v) {
    double most = 0.0;
    for (int i = 0; i < group->unit_count; i++) most = fmax(most, unit_sweep(group, &group->units[i], v));
    return most;
}

double cal_group_speed(const cal_group* group, const double* v) {
    double most = 0.0;
    for (int i = 0; i < group->unit_count; i++) most = fmax(most, unit_speed(group, &group->units[i], v));
    return most;
}

void cal_work_unspin(cal_group_work* w, double* q, double* v) {
    memset(w->turned, 0, 3 * (size_t)w->group->unit_count * sizeof *w->turned);
    w->nutation = 0.0;
    for (int i = 0; i < w->group->unit_count; i++) {
        const cal_group_member* unit = &w->group->units[i];
        if (unit->ops->unspin != NULL)
            w->nutation = fmax(w->nutation, unit->ops->unspin(unit, q + unit->first_q, v + unit->first_v));
    }
}

void cal_work_respin(const cal_group_work* w, double* q, double* v) {
    double no_bow[CAL_QUIET_SIZE] = {0};
    for (int i = 0; i < w->group->unit_count; i++) {
        const cal_group_member* unit = &w->group->units[i];
        if (unit->ops->respin == NULL) continue;
        double* bow = w->report->bow != NULL ? w->report->bow + unit->first_v : no_bow;
        if (q != NULL)
            unit->ops->respin(unit, w->turned + 3 * i, q + unit->first_q, v + unit->first_v, bow);
        else
            unit->ops->respin(unit, w->turned + 3 * i, NULL, NULL, NULL);
    }
}

void cal_work_take_turns(cal_group_work* w, const double* along, double h) {
    for (int i = 0; i < w->group->unit_count; i++)
        for (int k = 0; w->group->units[i].ops->respin != NULL && k < 3; k++)
            w->turned[3 * i + k] = h * along[w->group->units[i].first_v + 3 + k];
}

// Moves q along v, onto what the units' constraints allow.
cal_status cal_group_displace(const cal_group* group, double time, const double* q, const double* v, double h,
                              double* out, cal_error* error) {
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        cal_status status = unit->ops->displace(unit, q + unit->first_q, v + unit->first_v, h, out + unit->first_q);
        if (status == CAL_OK && unit->most_rows > 0) status = unit->ops->project(unit, time, out + unit->first_q, NULL);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
    }
    return CAL_OK;
}

// Velocities at q as the units' constraints allow them.
cal_status cal_group_project(const cal_group* group, double time, double* q, double* v, cal_error* error) {
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        if (unit->most_rows == 0) continue;
        const cal_status status = unit->ops->project(unit, time, q + unit->first_q, v + unit->first_v);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
    }
    return CAL_OK;
}

double cal_work_strays(const cal_group_work* w, double time, double h, const double* q) {
    double most = 0.0;
    for (int i = 0; i < w->group->unit_count; i++) {
        const cal_group_member* unit = &w->group->units[i];
        if (unit->moved) most = fmax(most, unit->ops->strays(unit, time, h, q + unit->first_q));
    }
    return most;
}

// How far each unit may come in h, and so what touches it may: what it pushes goes as fast, and what that pushes.
static void set_reach(cal_group_work* w, const double* v, double h, double pull) {
    const cal_group* group = w->group;
    for (int i = 0; i < group->unit_count; i++) w->reach[i] = unit_sweep(group, &group->units[i], v);
    for (int round = 0; round < 2; round++)
        for (int k = 0; k < w->cache.count; k++) {
            const int *bodies = w->cache.contacts[k].body,
                      units[2] = {group->unit_of_body[bodies[0]], group->unit_of_body[bodies[1]]};
            if (units[0] < 0 || units[1] < 0) continue;
            w->reach[units[0]] = w->reach[units[1]] = fmax(w->reach[units[0]], w->reach[units[1]]);
        }
    for (int i = 0; i < group->unit_count; i++)
        w->reach[i] = 2.0 * h * (w->reach[i] + h * pull) + 0.5 * CAL_WORK_SLACK * group->length;
}

// Contacts, masses and forces at a configuration, for steps up to h.
cal_status cal_work_look(cal_group_work* w, double time, const double* q, const double* v, double h, bool again,
                         cal_error* error) {
    const cal_group* group = w->group;
    const double pull = sqrt(cal_dot3(group->gravity, group->gravity));
    const double margin = 2.0 * h * (cal_group_sweep(group, v) + h * pull) + CAL_WORK_SLACK * group->length;
    w->margin = fmin(margin, group->length);
    cal_status status = cal_contact_cache_find(&w->cache, group, time, q, w->margin, error);
    if (status != CAL_OK) return status;
    cal_arena arena = w->rest;
    set_reach(w, v, h, pull);
    status = cal_problem_fill_units(&w->problem, time, q, v, w->force, error);
    if (status != CAL_OK) return status;
    cal_work_know(w);
    w->problem.quiet = NULL;
    if (w->leaves_out || w->few) status = cal_work_find_quiet(w, time, q, v, h, again, error);
    if (status == CAL_OK) status = cal_problem_fill_rows(&w->problem, &w->cache, time, q, w->reach, &arena, error);
    if (status != CAL_OK) return status;
    w->elastic = false;
    for (int k = 0; k < w->problem.row_count; k++) w->elastic |= w->problem.rows[k].restitution >= 1.0;
    // What is thrown on by an impact must not be taken for fixed.
    if (w->elastic && w->leaves_out && !w->few) {
        w->leaves_out = false;
        return cal_work_look(w, time, q, v, h, again, error);
    }
    cal_work_recall(w);
    if (w->lands || w->elastic) cal_work_know_pairs(w);
    // A solver that starts from a good guess would hide it.
    if (!cal_all_finite(w->force, group->v_count))
        return cal_fail(error, CAL_NOT_FINITE, "a force on a body of a contact group is not finite at %g s", time);
    memcpy(w->free_change, w->force, (size_t)group->v_count * sizeof *w->force);
    for (int i = 0; i < group->unit_count; i++)
        cal_dense_solve(w->problem.mass_factor + w->problem.mass_at[i], w->problem.size[i],
                        w->free_change + w->problem.first[i]);
    return CAL_OK;
}

// Masses and changes of velocity of units with forces that fall.
static void take_forces_at_end(cal_group_work* w, const double* v, double h) {
    cal_problem* p = &w->problem;
    cal_problem_stiffen(p, h);
    for (int i = 0; i < w->group->unit_count; i++) {
        if (!p->stiff[i]) continue;
        for (int k = p->first[i]; k < p->first[i] + p->size[i]; k++)
            w->free_change[k] = w->force[k] - h * p->stiffness[k] * v[k];
        cal_dense_solve(p->mass_factor + p->mass_at[i], p->size[i], w->free_change + p->first[i]);
    }
}

// The first root of g + u τ + a τ²/2 = 0 with g ≥ 0, at which it falls at the speed *closing; negative: none.
static double closing_time(double g, double u, double a, double* closing) {
    const double square = u * u - 2.0 * a * g;
    if (!(square >= 0.0)) return -1.0;
    *closing = sqrt(square);
    return *closing - u > 0.0 && *closing > 0.0 ? 2.0 * g / (*closing - u) : -1.0;
}

// Whether a joint comes to its stop in a step of size h, or soon after, so fast that it bounces: the step ends there (group_implicit.c),
// and the row asks for nothing that it could miss in it.
static bool let_land(const cal_group_work* w, cal_contact_row* touch, const double* v, double gap, double h) {
    double u[3], a[3], closing = 0.0;
    cal_problem_velocity(&w->problem, touch, v, u);
    cal_problem_velocity(&w->problem, touch, w->free_change, a);
    u[0] += touch->drive[0];
    const double time = closing_time(gap, u[0], a[0], &closing);
    if (time < 0.0 || time > 2.0 * h || !(cal_stop_parting(touch, closing) > w->group->bounce_speed)) return false;
    touch->offset[0] += 10.0 * (fabs(u[0]) + h * fabs(a[0]) + closing);
    memset(touch->held, 0, sizeof touch->held);
    return true;
}

// Whether a contact is one that ends the step where it closes (group_impacts.c): the row asks for nothing before.
static bool stand_off(const cal_group_work* w, cal_contact_row* touch, const double* v, double h) {
    const double touching = CAL_WORK_CLOSED * w->group->length;
    // Without a key nobody knows which it is at the end.
    if (!cal_work_ends_step(w, touch->restitution) || touch->gap <= touching || w->cache.contacts[touch->contact].key == 0) return false;
    double u[3], a[3], closing = 0.0;
    cal_problem_velocity(&w->problem, touch, v, u);
    cal_problem_velocity(&w->problem, touch, w->free_change, a);
    u[0] += touch->drive[0];
    if (touch->pair_touches && touch->restitution < 1.0) {
        const double time = closing_time(touch->gap, u[0], a[0], &closing);
        if (time < 0.0 || time > 2.0 * h || closing <= touch->bounce_speed) return false;
    }
    touch->offset[0] += 10.0 * (2.0 * cal_group_sweep(w->group, v) + fabs(u[0]) + h * fabs(a[0]));
    memset(touch->held, 0, sizeof touch->held);
    return true;
}

// What each contact asks for in a step of size h: not to close further than its gap, or to bounce.
static void set_laws(cal_group_work* w, const double* v, double h, bool bounces) {
    for (int k = 0; k < w->problem.row_count; k++) {
        cal_contact_row* touch = &w->problem.rows[k];
        const double gap = fmax(touch->gap - CAL_WORK_TOUCHING * w->group->length, 0.0);
        for (int i = 0; i < 3; i++) {
            touch->offset[i] = touch->drive[i];
            touch->held[i] = h * touch->last[i];
        }
        touch->offset[0] += gap / h;
        touch->impact = -1.0;
        touch->lands = touch->stops ? gap > 0.0 && let_land(w, touch, v, gap, h) : stand_off(w, touch, v, h);
        if (!bounces || touch->lands || !(touch->restitution > 0.0)) continue;
        double u[3], a[3], closing = 0.0;
        cal_problem_velocity(&w->problem, touch, v, u);
        cal_problem_velocity(&w->problem, touch, w->free_change, a);
        const double time = closing_time(gap, u[0] + touch->drive[0], a[0], &closing), left = h - time;
        const double parting = touch->restitution * closing;
        if (time < 0.0 || time > h || !(parting > touch->bounce_speed) || !(parting + 0.5 * left * a[0] > 0.0))
            continue;
        touch->impact = time;
        touch->alone = true;
        touch->offset[0] = touch->drive[0] - parting - left * a[0];
        memset(touch->held, 0, sizeof touch->held);
    }
}

// v⁺ of a step of size h from the configuration that was looked at; out holds a guess.
void cal_work_solve(cal_group_work* w, const double* v, double h, bool bounces, int parts, double* out) {
    w->problem.swept = 0;
    w->problem.allowed = w->close / h;
    w->problem.closing = 0.5 * CAL_WORK_OVERLAP * w->group->length / h;
    take_forces_at_end(w, v, h);
    set_laws(w, v, h, bounces);
    for (int i = 0; i < w->group->v_count; i++) w->target[i] = v[i] + h * w->free_change[i];
    for (int i = 0; i < w->group->unit_count; i++) {
        const cal_group_member* unit = &w->group->units[i];
        if (unit->ops->gyrate != NULL) unit->ops->gyrate(unit, v + unit->first_v, h, parts, w->target + unit->first_v);
    }
    cal_problem_constrain(&w->problem, h, w->target, out);
    w->report->solves++;
    w->report->newton += cal_problem_solve(&w->problem, w->target, out);
}

double cal_work_driven(const cal_group_work* w) {
    double sum = w->problem.moved;
    for (int k = 0; k < w->problem.row_count; k++)
        sum -= cal_dot3(w->problem.rows[k].impulse, w->problem.rows[k].drive);
    return sum;
}

// Adds what the last solve gave to each body.
void cal_work_add_impulses(const cal_group_work* w, double* out) {
    for (int k = 0; k < w->problem.row_count; k++) {
        const cal_contact_row* touch = &w->problem.rows[k];
        for (int side = 0; !touch->stops && side < 2; side++) out[touch->body[side]] += touch->impulse[0];
    }
}

// Those that overlap deeper than allowed are parted, and those near them make room: four times as far each round, so that the last of
// them moves all that a group of hundreds has. Others stay, as fixed bodies do.
static void choose_parted(cal_group_work* w, int round, double allowed) {
    const cal_group* group = w->group;
    memset(w->ring, 0, (size_t)group->unit_count * sizeof *w->ring);
    memset(w->awake, 0, (size_t)group->unit_count * sizeof *w->awake);
    for (int k = 0; k < w->cache.count; k++) {
        const cal_group_contact* contact = &w->cache.contacts[k];
        for (int side = 0; side < 2; side++) {
            const int unit = group->unit_of_body[contact->body[side]];
            if (unit >= 0 && contact->gap < -allowed) w->ring[unit] = 1;
        }
    }
    w->rings = FIRST_RINGS << 2 * round;
    cal_work_spread(w);
    for (int i = 0; i < group->unit_count; i++) w->quiet[i] = !w->awake[i];
}

cal_status cal_work_find_parting(cal_group_work* w, double time, const double* q, const double* v, int round,
                                 double share, cal_error* error) {
    const cal_group* group = w->group;
    const double allowed = CAL_WORK_OVERLAP * group->length;
    cal_arena arena = w->rest;
    for (int i = 0; i < group->unit_count; i++) w->reach[i] = CAL_WORK_SLACK * group->length;
    choose_parted(w, round, allowed);
    cal_status status = cal_problem_fill_units(&w->problem, time, q, v, w->force, error);
    w->problem.quiet = w->quiet;
    if (status == CAL_OK) status = cal_problem_fill_rows(&w->problem, &w->cache, time, q, w->reach, &arena, error);
    if (status != CAL_OK) return status;
    for (int k = 0; k < w->problem.row_count; k++) {
        cal_contact_row* touch = &w->problem.rows[k];
        touch->friction = 0.0;
        touch->offset[1] = touch->offset[2] = 0.0;
        // To half of what is allowed, so that the next time is not soon; deep ones in several goes.
        touch->offset[0] = touch->gap + 0.5 * allowed;
        if (touch->gap < -deep * group->length) touch->offset[0] *= share;
    }
    memset(w->target, 0, (size_t)group->v_count * sizeof *w->target);
    memset(w->first, 0, (size_t)group->v_count * sizeof *w->first);
    w->report->solves++;
    w->problem.swept = 0;
    w->report->newton += cal_problem_solve_roughly(&w->problem, w->target, w->first);
    return CAL_OK;
}

// What is moved has another energy there: gravity's and springs', and of links, which have other masses there, that of their motion.
cal_status cal_work_part(cal_group_work* w, double time, double* q, double* v, cal_error* error) {
    const cal_group* group = w->group;
    double before = 0.0, after = 0.0;
    for (int round = 0;; round++) {
        // With the margin of the step, so that the next one finds what is known already.
        cal_status status = cal_contact_cache_find(&w->cache, group, time, q, w->margin, error);
        if (status != CAL_OK || cal_contact_cache_deepest(&w->cache) <= CAL_WORK_OVERLAP * group->length ||
            round == MOST_PARTINGS) {
            if (status == CAL_OK && round > 0) status = cal_work_energy(w, time, q, v, &after, error);
            w->report->closing += after - before;
            return status;
        }
        if (round == 0) status = cal_work_energy(w, time, q, v, &before, error);
        if (status == CAL_OK) status = cal_work_find_parting(w, time, q, v, round, parted_share, error);
        if (status == CAL_OK) status = cal_group_displace(group, time, q, w->first, 1.0, q, error);
        if (status == CAL_OK) status = cal_group_project(group, time, q, v, error);
        if (status != CAL_OK) return status;
    }
}
