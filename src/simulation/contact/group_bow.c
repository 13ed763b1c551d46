// Ways between two states of a step in which forces jump: chords, which what turns about an edge or rolls over a ball does not keep to. On
// the way it would overlap, though at neither end.
//
// A gap goes from g₀ to g₁, at rates ġ₀ and ġ₁ that the speeds of the chord give at both ends: without a search it is known on the whole
// way, as a cubic g(s), to the fourth order. Where that is an overlap, the way becomes a parabola, chord + 4 δ s (1 − s), which begins
// faster than the chord by the bow 4 δ / h and ends as much slower. The displacements δ half-way part what overlaps there, as at the end
// of a step, with gaps
//
//     the least of (g(s) + a) / (4 s (1 − s)) − a
//
// so that nothing overlaps by more than the allowed a elsewhere, either: what overlaps by less all the way is left alone.
#include "math/vector.h"
#include "simulation/body.h"
#include "simulation/contact/group_work.h"
#include "simulation/motion/curve.h"
#include <string.h>

static cal_member_span span_of(const cal_group_work* w, int unit, const double* q, const double* v, double h,
                               double t) {
    const cal_group_member* u = &w->group->units[unit];
    return (cal_member_span){.q = w->start_q + u->first_q,
                             .v = v + u->first_v,
                             .to_q = q + u->first_q,
                             .to_v = v + u->first_v,
                             .length = h,
                             .t = t,
                             .straight = true};
}

// Speeds of all bodies on their chords, where they begin and where they end.
static cal_status find_speeds(cal_group_work* w, double time, double h, const double* q, const double* v,
                              cal_error* error) {
    const cal_group* group = w->group;
    for (int i = 0; i < group->body_count; i++)
        for (int end = 0; end < 2; end++) {
            const int unit = group->unit_of_body[i];
            double *out = w->body_speeds[i][end], pose[7];
            cal_status status = CAL_OK;
            if (unit < 0)
                status = group->driven(group, i, end == 0 ? time - h : time, pose, out);
            else {
                const cal_group_member* u = &group->units[unit];
                const cal_member_span span = span_of(w, unit, q, v, h, end * h);
                cal_motion at;
                status = u->ops->motion(u, i - u->first_body, &span, &at);
                memcpy(out, at.u, sizeof at.u);
                memcpy(out + 3, at.w, sizeof at.w);
            }
            if (status != CAL_OK) return cal_group_body_failed(group, i, status, time, error);
        }
    return CAL_OK;
}

// How fast a gap opens at one end of the chords.
static double rate_of(const cal_group_work* w, const cal_group_contact* contact, const double* poses, int end) {
    double rate = 0.0;
    for (int side = 0; side < 2; side++) {
        const int body = contact->body[side];
        const double* speeds = w->body_speeds[body][end];
        double arm[3], turning[3];
        for (int i = 0; i < 3; i++) arm[i] = contact->point[side][i] - poses[7 * body + i];
        cal_cross3(speeds + 3, arm, turning);
        for (int i = 0; i < 3; i++) turning[i] += speeds[i];
        rate += (side == 0 ? -1.0 : 1.0) * cal_dot3(contact->normal, turning);
    }
    return rate;
}

// The gap that a contact would have to have half-way if it were on a parabola that is as deep as its cubic anywhere. With the Bernstein
// coefficients b of g + a, of which the first and the last are not negative, since nothing overlaps by more than a at the ends,
//
//     (g(s) + a) / (4 s (1 − s)) = (b₀ (1/s − 2 + s) + 3 b₁ (1 − s) + 3 b₂ s + b₃ (1/(1 − s) − 1 − s)) / 4
//
// is convex, and least where its slope is zero, or at an end where b is zero.
static double gap_of(double from, double rate, double to, double to_rate, double h, double allowed) {
    enum { HALVINGS = 24 };
    double b[CAL_CUBIC_TERMS];
    cal_curve_hermite(h, from + allowed, rate, to + allowed, to_rate, b);
    const double first = fmax(b[0], 0.0), last = fmax(b[3], 0.0), slope = first - last + 3.0 * (b[2] - b[1]);
    double low = 0.0, high = 1.0;
    for (int i = 0; i < HALVINGS; i++) {
        const double s = 0.5 * (low + high), left = 1.0 - s;
        if (slope - first / (s * s) + last / (left * left) > 0.0)
            high = s;
        else
            low = s;
    }
    const double s = 0.5 * (low + high), left = 1.0 - s;
    const double least = first * left * left / s + 3.0 * (b[1] * left + b[2] * s) + last * s * s / left;
    return 0.25 * least - allowed;
}

// By how much the bodies of a contact turn from where they are half-way: arms turn with them, so that a displacement that parts them
// there parts them elsewhere by a share less that is about as large.
static double turn_of(const cal_group_work* w, const cal_group_contact* contact, double h) {
    double most = 0.0;
    for (int side = 0; side < 2; side++) {
        const double* spin = w->body_speeds[contact->body[side]][0] + 3;
        most = fmax(most, sqrt(cal_dot3(spin, spin)));
    }
    return 0.5 * h * most;
}

// How deep points that are the same on the way can overlap there: those of a body that turns by θ to either side leave their chords by
// r θ²/2, of which twice that is room enough; and what rolls over something, by as much as a step may bend.
static double deepest_of(const cal_group_work* w, const cal_group_contact* contact, double h) {
    double sum = CAL_WORK_BENT * w->group->length;
    for (int side = 0; side < 2; side++) {
        const int body = contact->body[side];
        const double* spin = w->body_speeds[body][0] + 3;
        double arm[3];
        for (int i = 0; i < 3; i++) arm[i] = contact->point[side][i] - w->far.poses[7 * body + i];
        sum += 0.25 * h * h * cal_dot3(spin, spin) * sqrt(cal_dot3(arm, arm));
    }
    return sum;
}

// Contacts of the begin become those of the middle; those that are not there at the end are far away. Returns the deepest overlap.
static double find_middle(cal_group_work* w, double h, double allowed) {
    const cal_contact_cache* end = &w->cache;
    double deepest = 0.0;
    int next = 0;
    for (int k = 0; k < w->far.count; k++) {
        cal_group_contact* contact = &w->far.contacts[k];
        const int at = cal_contact_cache_same(end, contact->key, next);
        const cal_group_contact* there = at >= 0 ? &end->contacts[at] : NULL;
        if (there == NULL || contact->stop > 0) {
            contact->gap = (double)INFINITY;
            continue;
        }
        next = at;
        const double deepest_gap = -deepest_of(w, contact, h);
        contact->gap = gap_of(contact->gap, rate_of(w, contact, w->far.poses, 0), there->gap,
                              rate_of(w, there, end->poses, 1), h, allowed);
        if (contact->gap < 0.0) contact->gap *= 1.0 + turn_of(w, contact, h);
        for (int i = 0; i < 3; i++) {
            contact->normal[i] += there->normal[i];
            for (int side = 0; side < 2; side++)
                contact->point[side][i] = 0.5 * (contact->point[side][i] + there->point[side][i]);
        }
        const double length = sqrt(cal_dot3(contact->normal, contact->normal));
        for (int i = 0; i < 3; i++) contact->normal[i] /= length;
        // What comes of points that are not the same on the way, whatever their key says, is no overlap.
        if (contact->gap < deepest_gap) contact->gap = (double)INFINITY;
        deepest = fmax(deepest, -contact->gap);
    }
    return deepest;
}

static cal_status part_middle(cal_group_work* w, double time, double h, const double* q, const double* v, double* out,
                              cal_error* error) {
    const cal_group* group = w->group;
    cal_status status = CAL_OK;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        const cal_member_span span = span_of(w, i, q, v, h, 0.5 * h);
        status = unit->ops->state(unit, &span, w->middle_q + unit->first_q, w->second + unit->first_v);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
    }
    status = cal_work_find_parting(w, time - 0.5 * h, w->middle_q, w->second, 0, 1.0, error);
    for (int i = 0; status == CAL_OK && i < group->v_count; i++) out[i] = 4.0 * w->first[i] / h;
    return status;
}

cal_status cal_work_bow(cal_group_work* w, double time, double h, const double* q, const double* v, double* out,
                        cal_error* error) {
    const double allowed = CAL_WORK_OVERLAP * w->group->length;
    cal_status status = CAL_OK;
    if (w->halved) status = cal_contact_cache_find(&w->far, w->group, time - h, w->start_q, w->margin, error);
    if (status == CAL_OK) status = find_speeds(w, time, h, q, v, error);
    if (status != CAL_OK || !(find_middle(w, h, allowed) > allowed)) return status;
    cal_contact_cache_swap(&w->cache, &w->far);
    status = part_middle(w, time, h, q, v, out, error);
    cal_contact_cache_swap(&w->cache, &w->far);
    return status;
}
