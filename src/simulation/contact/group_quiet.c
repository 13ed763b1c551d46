// Units of a group that a step leaves out: where a part of a group moves and the rest stays as it is, the price is that of the part.
//
// A unit is *quiet* in a step when its velocity is zero and the forces that are known hold it:
//
//     |M⁻¹ (f + Σ Jᵀ λ)| h ≤ the larger of a, what the law of contact may be missed by, and 10⁻⁵ g h, which counts as held (fusion.c)
//
// Then it is a fixed body to those that move. After a solve the sum is taken again with the new forces of those; where it is larger, the
// unit takes part, and the step is begun again. So what is left out would have moved by less than what the solution may be off by anyway.
//
// Zero is what a velocity becomes when the unit was as slow as solutions may be wrong by, in ten steps, and the forces on it changed so
// little in each of them that it is not woken in the next ten: those of a unit that swings through zero change. How many such steps there
// were is in memory.
#include "base/finite.h"
#include "math/vector.h"
#include "simulation/contact/group_work.h"
#include <string.h>

static const double held = CAL_GROUP_HELD; // of gravity
static const double slow =
    10.0; // × what the law may put positions off by in a step: solutions are as good as a few of it
enum { CALM_STEPS = 10 };
static const double calm = 1.0 / CALM_STEPS; // of what wakes

// The largest acceleration that counts as none in a step of size h.
static double least_acceleration(const cal_group_work* w, double h) {
    return fmax(w->close / (h * h), held * sqrt(cal_dot3(w->group->gravity, w->group->gravity)));
}

// Whether a unit's mass and forces stay as they are where it stays.
bool cal_work_is_plain(const cal_group_member* unit) {
    return !unit->varying && unit->most_rows == 0 && unit->ops->slopes == NULL;
}

static bool is_zero(const double* x, int count) {
    bool zero = true;
    for (int i = 0; i < count; i++) zero &= x[i] == 0.0;
    return zero;
}

// out += ±Jᵀ force of a contact's side.
static cal_status add_force(const cal_group* group, const double* q, const cal_group_contact* contact, int side,
                            const double force[3], double* out) {
    const int number = group->unit_of_body[contact->body[side]];
    const cal_group_member* unit = &group->units[number];
    double jacobian[3 * CAL_QUIET_SIZE];
    const cal_status status = unit->ops->jacobian(unit, q + unit->first_q, contact->body[side] - unit->first_body,
                                                  contact->point[side], jacobian);
    for (int r = 0; status == CAL_OK && r < 3; r++)
        for (int c = 0; c < unit->v_count; c++)
            out[unit->first_v + c] += (side == 0 ? -1.0 : 1.0) * jacobian[r * unit->v_count + c] * force[r];
    return status;
}

// How much what acts on a unit, `sum`, accelerates it.
static double acceleration_of(const cal_group_work* w, int number, const double* sum) {
    const cal_group_member* unit = &w->group->units[number];
    double change[CAL_QUIET_SIZE];
    memcpy(change, sum + unit->first_v, (size_t)unit->v_count * sizeof *change);
    cal_dense_solve(w->problem.mass_factor + w->problem.mass_at[number], unit->v_count, change);
    return unit->ops->speed(unit, change, w->group->length);
}

// A body that is moved disturbs what it touches, whatever forces were.
static cal_status find_driven(const cal_group_work* w, double time, const double* v, const cal_group_contact* contact,
                              bool* moves) {
    double pose[7], velocity[6];
    *moves = false;
    for (int side = 0; side < 2; side++) {
        const int number = w->group->unit_of_body[contact->body[side]];
        const cal_group_member* unit = number >= 0 ? &w->group->units[number] : NULL;
        if (unit != NULL) {
            *moves |= unit->moved && !is_zero(v + unit->first_v, unit->v_count);
            continue;
        }
        const cal_status status = w->group->driven(w->group, contact->body[side], time, pose, velocity);
        if (status != CAL_OK) return status;
        *moves |= !is_zero(velocity, 6);
    }
    return CAL_OK;
}

cal_status cal_work_find_quiet(cal_group_work* w, double time, const double* q, const double* v, double h, bool again,
                               cal_error* error) {
    const cal_group* group = w->group;
    if (w->few) {
        w->problem.quiet = w->rests;
        for (int i = 0; i < group->unit_count; i++)
            if (w->rests[i])
                memset(w->force + group->units[i].first_v, 0, (size_t)group->units[i].v_count * sizeof *w->force);
        return CAL_OK;
    }
    bool any = false;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        if (!again)
            w->quiet[i] = !w->awake[i] && unit->v_count <= CAL_QUIET_SIZE && cal_work_is_plain(unit) &&
                          is_zero(v + unit->first_v, unit->v_count);
        any |= w->quiet[i];
    }
    w->problem.quiet = w->quiet;
    if (!any) return CAL_OK;
    memcpy(w->balance, w->force, (size_t)group->v_count * sizeof *w->balance);
    for (int k = 0; k < w->cache.count; k++) {
        const cal_group_contact* contact = &w->cache.contacts[k];
        bool moves = false;
        cal_status status = find_driven(w, time, v, contact, &moves);
        if (status != CAL_OK) return cal_group_body_failed(group, contact->body[0], status, time, error);
        for (int side = 0; side < 2; side++) {
            const int unit = group->unit_of_body[contact->body[side]];
            if (unit < 0 || !w->quiet[unit]) continue;
            if (moves && !again) w->quiet[unit] = false;
            if (is_zero(w->known_force[k], 3)) continue;
            status = add_force(group, q, contact, side, w->known_force[k], w->balance);
            if (status != CAL_OK) return cal_group_unit_failed(group, unit, status, time, error);
        }
    }
    const double most = least_acceleration(w, h);
    for (int i = 0; !again && i < group->unit_count; i++)
        if (w->quiet[i]) w->quiet[i] = acceleration_of(w, i, w->balance) <= most;
    for (int i = 0; i < group->unit_count; i++)
        if (w->quiet[i])
            memset(w->force + group->units[i].first_v, 0, (size_t)group->units[i].v_count * sizeof *w->force);
    return CAL_OK;
}

bool cal_work_leaves_out(const cal_group_work* w, const cal_group_contact* contact) {
    bool left_out = w->problem.quiet != NULL;
    for (int side = 0; left_out && side < 2; side++) {
        const int unit = w->group->unit_of_body[contact->body[side]];
        left_out = unit < 0 || w->problem.quiet[unit];
    }
    return left_out;
}

void cal_work_spread(cal_group_work* w) {
    const cal_group* group = w->group;
    for (int ring = 1; ring <= w->rings; ring++)
        for (int k = 0; k < w->cache.count; k++) {
            const int *bodies = w->cache.contacts[k].body, a = group->unit_of_body[bodies[0]],
                      b = group->unit_of_body[bodies[1]];
            if (a < 0 || b < 0) continue;
            if (w->ring[a] > 0 && w->ring[a] <= ring && w->ring[b] == 0) w->ring[b] = ring + 1;
            if (w->ring[b] > 0 && w->ring[b] <= ring && w->ring[a] == 0) w->ring[a] = ring + 1;
        }
    for (int i = 0; i < group->unit_count; i++) w->awake[i] |= w->ring[i] > 0;
}

bool cal_work_wake(cal_group_work* w, const double* q, double h) {
    const cal_group* group = w->group;
    const cal_problem* p = &w->problem;
    if (p->quiet == NULL || w->few) return false;
    bool woken = false;
    double* sum = p->work;
    memcpy(sum, w->balance, (size_t)group->v_count * sizeof *sum);
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        const cal_group_contact* contact = &w->cache.contacts[touch->contact];
        for (int side = 0; side < 2; side++) {
            const int unit = group->unit_of_body[contact->body[side]];
            if (unit < 0 || !w->quiet[unit]) continue;
            double frame[9], force[3];
            cal_contact_frame(contact->normal, frame);
            for (int i = 0; i < 3; i++) {
                force[i] = -w->known_force[touch->contact][i];
                for (int r = 0; r < 3; r++) force[i] += frame[3 * r + i] * touch->impulse[r] / h;
            }
            // It was asked for these rows before, and was there.
            (void)add_force(group, q, contact, side, force, sum);
        }
    }
    const double most = least_acceleration(w, h);
    for (int i = 0; i < group->unit_count; i++) {
        w->ring[i] = w->quiet[i] && !(acceleration_of(w, i, sum) <= most);
        woken |= w->ring[i] > 0;
    }
    // Neighbours of those that are woken wake with them, twice as far each time, so that few rounds come to the end of what a hit moves.
    w->rings = w->rings > 0 ? 2 * w->rings : 1;
    if (woken) cal_work_spread(w);
    return woken;
}

void cal_work_calm(cal_group_work* w, const double* before, double h, double solved, double* v) {
    const cal_group* group = w->group;
    const cal_problem* p = &w->problem;
    if (p->quiet == NULL) return;
    double *change = w->balance, *steps = cal_work_calm_steps(w); // accelerations, from here on
    memset(change, 0, (size_t)group->v_count * sizeof *change);
    memset(w->ring, 0, (size_t)group->unit_count * sizeof *w->ring);
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        for (int side = 0; side < 2; side++) {
            if (touch->unit[side] < 0) continue;
            const int n = p->size[touch->unit[side]];
            double* mine = change + p->first[touch->unit[side]];
            w->ring[touch->unit[side]] |= touch->impulse[0] > 0.0;
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < n; c++)
                    mine[c] += touch->answer[side][r * n + c] * (touch->impulse[r] / solved - touch->last[r]);
        }
    }
    const double most = calm * least_acceleration(w, h), way = slow * w->close;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        const int at = unit->first_v;
        if (p->quiet[i] || unit->v_count > CAL_QUIET_SIZE || !cal_work_is_plain(unit)) continue;
        const bool is_calm = w->ring[i] > 0 && h * unit->ops->speed(unit, before + at, group->length) <= way &&
                             h * unit->ops->speed(unit, v + at, group->length) <= way &&
                             unit->ops->speed(unit, change + at, group->length) <= most;
        steps[i] = is_calm ? steps[i] + 1.0 : 0.0;
        if (steps[i] >= CALM_STEPS) memset(v + at, 0, (size_t)unit->v_count * sizeof *v);
    }
}
