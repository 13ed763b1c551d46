// How the rows of contacts change on the way: with y = J(q) v the relative velocity at a contact, wherever it wanders on the two surfaces,
//
//     dy/dt = J v̇ + J̇ v,    J̇ v ≈ (J(q + h v) v − J(q) v) / h
//
// A step that asks for J(q) v⁺ + h J̇ v ≥ 0 has velocities that are right at its end, to the second order; without it, bodies that turn or roll
// on each other are held by where they were. The difference is taken along the normal, which turns, and for the tangents in the
// directions that they have now: what sticks has no velocity that turning them would change. It is taken over the step itself, by one more
// look at the contacts; those that are not there at its end, or are being hit, are taken as they are.
//
// Where a step moves positions along v⁺, they need the half of it: the gap after the step is h (J v⁺ + h/2 J̇ v).
#include "math/vector.h"
#include "simulation/contact/group_work.h"
#include <string.h>

static const double hit =
    1e-3; // of the length: what comes nearer by more in a step hits, and the bodies would be deep in each other

// The relative velocity at a contact at q, in the world's axes, of the units that move by themselves.
static cal_status relative_velocity(const cal_group* group, const double* q, const double* v,
                                    const cal_group_contact* contact, double* jacobian, double out[3]) {
    out[0] = out[1] = out[2] = 0.0;
    for (int side = 0; side < 2; side++) {
        const int number = group->unit_of_body[contact->body[side]];
        if (number < 0) continue;
        const cal_group_member* unit = &group->units[number];
        const cal_status status = unit->ops->jacobian(unit, q + unit->first_q, contact->body[side] - unit->first_body,
                                                      contact->point[side], jacobian);
        if (status != CAL_OK) return status;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < unit->v_count; c++)
                out[r] += (side == 0 ? -1.0 : 1.0) * jacobian[r * unit->v_count + c] * v[unit->first_v + c];
    }
    return CAL_OK;
}

// The contact of the same name, or the only one of its two bodies; −1: there is none. Both lists are in the order of pairs: the search
// begins where the last one ended.
static int find_ahead(const cal_contact_cache* ahead, const cal_group_contact* contact, int* from) {
    int first = -1, count = 0;
    for (int n = 0; n < ahead->count; n++) {
        const int at = (*from + n) % ahead->count;
        const cal_group_contact* other = &ahead->contacts[at];
        const bool same = other->body[0] == contact->body[0] && other->body[1] == contact->body[1];
        if (!same && count > 0) break;
        if (!same) continue;
        if (count++ == 0) first = at;
        if (other->key == contact->key) return *from = first, at;
    }
    if (first >= 0) *from = first;
    return count == 1 ? first : -1;
}

cal_status cal_work_bend(cal_group_work* w, double time, const double* q, const double* v, double h, double margin,
                         cal_error* error) {
    const cal_group* group = w->group;
    cal_problem* p = &w->problem;
    for (int k = 0; k < p->row_count; k++) memset(p->rows[k].bend, 0, sizeof p->rows[k].bend);
    if (!(h > 0.0) || p->row_count == 0) return CAL_OK;
    cal_status status = cal_group_displace(group, time, q, v, h, w->next_q, error);
    if (status == CAL_OK) status = cal_contact_cache_find(&w->ahead, group, time + h, w->next_q, margin, error);
    int from = 0;
    for (int k = 0; status == CAL_OK && k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        const cal_group_contact *now = &w->cache.contacts[touch->contact], *then;
        if (!(touch->last[0] > 0.0)) continue;
        const int found = find_ahead(&w->ahead, now, &from);
        if (found < 0) continue;
        then = &w->ahead.contacts[found];
        double frame[9], here[3], there[3];
        status = relative_velocity(group, q, v, now, p->left, here);
        if (status == CAL_OK) status = relative_velocity(group, w->next_q, v, then, p->left, there);
        if (status != CAL_OK) return cal_group_body_failed(group, now->body[0], status, time, error);
        cal_contact_frame(now->normal, frame);
        if (-h * cal_dot3(now->normal, here) > hit * group->length) continue;
        touch->bend[0] = (cal_dot3(then->normal, there) - cal_dot3(now->normal, here)) / h;
        for (int i = 0; i < 3; i++) there[i] -= here[i];
        for (int r = 1; r < 3; r++) touch->bend[r] = cal_dot3(frame + 3 * r, there) / h;
    }
    return status;
}
