// The whole step of the implicit integrator of contact groups (group_implicit.c): the convex problem over h, by how much it jumps, how deep
// what turns overlaps at its end, and the same step with the gaps that are found there.
#include "base/finite.h"
#include "math/vector.h"
#include "simulation/contact/group_trial.h"
#include <string.h>

double cal_work_measure(const cal_group* group, const double* a, const double* b, double scale_a, double scale_b) {
    double most = 0.0;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        for (int k = 0; k < unit->v_count; k++) {
            const double weight = cal_member_v_weight(unit, k, group->length);
            const int n = unit->first_v + k;
            most = cal_larger(most, weight * fabs(scale_a * a[n] - scale_b * b[n]));
        }
    }
    return most;
}

double cal_whole_find_jump(cal_group_work* w, const double* v, double h) {
    const cal_group* group = w->group;
    cal_problem* p = &w->problem;
    double *along = w->predicted, *rest = w->second;
    memset(rest, 0, (size_t)group->v_count * sizeof *rest);
    for (int k = 0; k < p->row_count; k++) memcpy(p->rows[k].held, p->rows[k].impulse, sizeof p->rows[k].held);
    for (int k = 0; k < p->row_count; k++)
        for (int i = 0; i < 3; i++) p->rows[k].impulse[i] = p->rows[k].held[i] - h * p->rows[k].last[i];
    cal_problem_push_all(p, 1.0, rest);
    for (int i = 0; i < group->unit_count; i++)
        cal_dense_solve(p->mass_factor + p->mass_at[i], p->size[i], rest + p->first[i]);
    const double jump = cal_work_measure(group, rest, rest, 1.0, 0.0);
    // Impulses at times of their own, and whether there are others.
    memset(rest, 0, (size_t)group->v_count * sizeof *rest);
    memset(w->reach, 0, (size_t)group->unit_count * sizeof *w->reach);
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        const bool pressed = touch->held[0] > 0.0 && !(touch->impact >= 0.0 && touch->alone);
        for (int side = 0; pressed && side < 2; side++)
            if (touch->unit[side] >= 0) w->reach[touch->unit[side]] = 1.0;
        for (int i = 0; i < 3; i++) touch->impulse[i] = pressed ? 0.0 : touch->impact / h * touch->held[i];
    }
    cal_problem_push_all(p, 1.0, rest);
    for (int k = 0; k < p->row_count; k++) memcpy(p->rows[k].impulse, p->rows[k].held, sizeof p->rows[k].held);
    for (int i = 0; i < group->unit_count; i++) {
        cal_dense_solve(p->mass_factor + p->mass_at[i], p->size[i], rest + p->first[i]);
        const bool flies = w->reach[i] == 0.0 && !p->stiff[i] && p->loops[i].rows == 0;
        for (int n = p->first[i]; n < p->first[i] + p->size[i]; n++)
            along[n] = w->whole[n] - rest[n] + (flies ? 0.5 * (v[n] - w->target[n]) : 0.0);
    }
    return jump;
}

// Impacts at bodies that something else presses or hits in the same step are not alone: their times within the step cannot be told
// apart, and all act from its beginning. Returns how many there are.
static int find_company(cal_group_work* w) {
    cal_problem* p = &w->problem;
    int found = 0;
    memset(w->reach, 0, (size_t)w->group->unit_count * sizeof *w->reach);
    for (int k = 0; k < p->row_count; k++)
        for (int side = 0; side < 2; side++)
            if (p->rows[k].impulse[0] > 0.0 && p->rows[k].unit[side] >= 0) w->reach[p->rows[k].unit[side]] += 1.0;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        bool alone = true;
        for (int side = 0; side < 2; side++) alone &= touch->unit[side] < 0 || w->reach[touch->unit[side]] <= 1.0;
        if (touch->impact < 0.0 || alone || !touch->alone) continue;
        double a[3];
        cal_problem_velocity(p, touch, w->free_change, a);
        touch->offset[0] -= touch->impact * a[0];
        touch->alone = false;
        touch->impact = 0.0;
        found++;
    }
    return found;
}

// Goes on from the last solution.
static void solve_on(cal_group_work* w) {
    for (int k = 0; k < w->problem.row_count; k++)
        memcpy(w->problem.rows[k].held, w->problem.rows[k].impulse, sizeof w->problem.rows[k].held);
    w->report->solves++;
    w->report->newton += cal_problem_solve(&w->problem, w->target, w->whole);
}

// Whether contacts have added energy, which they never do, but for what bodies that are moved have worked.
static bool gains_energy(const cal_group_work* w, const double* v) {
    const double worked = 2.0 * fmax(cal_work_driven(w), 0.0);
    return cal_problem_energy(&w->problem, w->whole) >
           fmax(cal_problem_energy(&w->problem, w->target), cal_problem_energy(&w->problem, v)) + worked;
}

void cal_whole_solve(cal_group_work* w, const double* v, double h, bool again) {
    const size_t size = (size_t)w->group->v_count * sizeof *v;
    if (again)
        solve_on(w);
    else {
        memcpy(w->whole, v, size);
        cal_work_solve(w, v, h, !w->varies, CAL_STEP_HALVES, w->whole);
    }
    bool bounced = false;
    for (int k = 0; k < w->problem.row_count; k++) bounced |= w->problem.rows[k].impact >= 0.0;
    if (!bounced) return;
    if (find_company(w) > 0) solve_on(w);
    if (!gains_energy(w, v)) return;
    memcpy(w->whole, v, size);
    cal_work_solve(w, v, h, false, CAL_STEP_HALVES, w->whole);
}

void cal_whole_take(cal_group_work* w, double time, const double* v, double h) {
    w->whole_work = cal_work_driven(w);
    memset(w->impulses, 0, (size_t)w->group->body_count * sizeof *w->impulses);
    cal_work_add_impulses(w, w->impulses);
    cal_work_report_impacts(w, time, v, h);
}

cal_status cal_whole_find_depth(cal_group_work* w, double time, const double* q, double h, double* depth,
                                cal_error* error) {
    *depth = 0.0;
    w->begin_known = false;
    cal_status status = cal_group_displace(w->group, time, q, w->predicted, h, w->next_q, error);
    // With the margin that the end of the step is looked at with.
    if (status == CAL_OK) status = cal_contact_cache_find(&w->far, w->group, time, w->next_q, w->margin, error);
    for (int k = 0; status == CAL_OK && k < w->far.count; k++) *depth = fmax(*depth, -w->far.contacts[k].gap);
    return status;
}

// A row becomes the mean of itself and of what it is at the end of the step, with the contact as it is there.
static cal_status take_mean_row(cal_group_work* w, cal_contact_row* touch, const cal_group_contact* there) {
    double frame[9], rows[3 * CAL_QUIET_SIZE];
    cal_contact_frame(there->normal, frame);
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const cal_status status = cal_contact_side(w->group, w->next_q, there, side, frame, w->problem.block, rows);
        if (status != CAL_OK) return status;
        for (int i = 0; i < 3 * w->problem.size[touch->unit[side]]; i++)
            touch->jacobian[side][i] = 0.5 * (touch->jacobian[side][i] + rows[i]);
    }
    cal_problem_answer(&w->problem, touch);
    return CAL_OK;
}

// What turns takes its points on circles, and gaps close or open by more than their speeds say. Rows are those of the mean of both ends, at which
// a gap changes as they say, to the third order: with those of the begin a force would lift what rolls, and work, though the point that it acts
// on does not move. Contacts of the step and of its end are in one order.
bool cal_whole_solve_bent(cal_group_work* w, const double* v, double h) {
    const cal_contact_cache* far = &w->far;
    int next = 0;
    for (int k = 0; k < w->problem.row_count; k++) {
        cal_contact_row* touch = &w->problem.rows[k];
        const uint64_t key = w->cache.contacts[touch->contact].key;
        const int at = cal_contact_cache_same(far, key, next);
        if (at < 0 || touch->stops || touch->impact >= 0.0) continue;
        next = at;
        double u[3];
        if (take_mean_row(w, touch, &far->contacts[at]) != CAL_OK) return false;
        cal_problem_velocity(&w->problem, touch, w->predicted, u);
        touch->offset[0] += (far->contacts[at].gap - touch->gap) / h - u[0] - touch->drive[0];
    }
    w->problem.rough = true;
    solve_on(w);
    w->problem.rough = false;
    return !gains_energy(w, v);
}
