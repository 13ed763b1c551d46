// Ways between two states of a group: cubics, or chords where forces jump. What is hit on the way, turns about an edge or rolls over a ball
// does not keep to them, and would overlap on the way, though at neither end.
//
// A gap goes from g₀ to g₁, at rates ġ₀ and ġ₁ that the speeds of the way give at both ends: without a search it is known on the whole
// way, as a cubic g(s), to the fourth order. Where that is an overlap, the way is bowed, by 4 δ s (1 − s): it begins faster by the bow
// 4 δ / h and ends as much slower. The displacements δ half-way part what overlaps there, as at the end of a step, with gaps
//
//     the least of (g(s) + a) / (4 s (1 − s)) − a
//
// so that nothing overlaps by more than the allowed a elsewhere, either: what overlaps by less all the way is left alone.
//
// That is not enough where a contact is there at one end only and may overlap before it comes or after it goes, or where what turns far
// makes the fourth order count. Then the way is looked at, and bowed by what is found; where it overlaps after all, the step is taken
// again, half as long (group_step.c).
#include "base/memory.h"
#include "math/vector.h"
#include "simulation/body.h"
#include "simulation/contact/group_work.h"
#include "simulation/motion/curve.h"
#include <string.h>

// Of what may overlap: ways are bowed to so much of it, and the rest is for what cubics of gaps are off by.
static const double known_to = 0.75;
// Of what a turn to either side makes of a displacement: what is left of that where most of it is taken into account half-way.
static const double elsewhere = 0.1;
// The square of how much radii of curvature of a shape may differ for its cubics to be trusted.
static const double curved = 100.0;
// × the change of speeds over h: a cubic between them is not bent more, |6 (m − v₀) − 2 (v₁ − v₀)| with the mean speed m between both.
static const double steepest = 8.0;

static cal_member_span span_of(const cal_group_work* w, int unit, const double* q, const double* v, double h,
                               double t) {
    const cal_group_member* u = &w->group->units[unit];
    return (cal_member_span){.q = w->start_q + u->first_q,
                             .v = w->start_v + u->first_v,
                             .to_q = q + u->first_q,
                             .to_v = v + u->first_v,
                             .length = h,
                             .t = t,
                             .straight = w->report->straight};
}

// Speeds of all bodies at a time t on their ways, as those of one of two ends.
static cal_status find_speeds(cal_group_work* w, double time, double h, double t, const double* q, const double* v,
                              const double* bow, int end, cal_error* error) {
    const cal_group* group = w->group;
    for (int i = 0; i < group->body_count; i++) {
        const int unit = group->unit_of_body[i];
        double *out = w->body_speeds[i][end], pose[7];
        cal_status status = CAL_OK;
        if (unit < 0)
            status = group->driven(group, i, time - h + t, pose, out);
        else {
            const cal_group_member* u = &group->units[unit];
            cal_member_span span = span_of(w, unit, q, v, h, t);
            span.bow = bow != NULL ? bow + u->first_v : NULL;
            cal_motion at;
            status = u->ops->motion(u, i - u->first_body, &span, &at);
            memcpy(out, at.u, sizeof at.u);
            memcpy(out + 3, at.w, sizeof at.w);
        }
        if (status != CAL_OK) return cal_group_body_failed(group, i, status, time, error);
    }
    return CAL_OK;
}

// How fast a gap opens at one end of the ways.
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
// r θ²/2, of which twice that is room enough; what rolls over something, by as much as a step may bend; and a cubic goes beyond its ends
// by 4/27 of a step at the speeds that it has there.
static const double overshoot = 4.0 / 27.0;
static double deepest_of(const cal_group_work* w, const cal_group_contact* contact, double rates, double h) {
    double sum = CAL_WORK_BENT * w->group->length + overshoot * h * rates;
    for (int side = 0; side < 2; side++) {
        const int body = contact->body[side];
        const double* spin = w->body_speeds[body][0] + 3;
        double arm[3];
        for (int i = 0; i < 3; i++) arm[i] = contact->point[side][i] - w->far.poses[7 * body + i];
        sum += 0.25 * h * h * cal_dot3(spin, spin) * sqrt(cal_dot3(arm, arm));
    }
    return sum;
}

// How far the point of a contact on a body is from the line along the normal through its centre: what turns it turns about moves it along
// the normal. Nothing for balls.
static double lever_of(const cal_group_contact* contact, const double* poses, int side) {
    double arm[3], across[3];
    for (int i = 0; i < 3; i++) arm[i] = contact->point[side][i] - poses[7 * contact->body[side] + i];
    cal_cross3(arm, contact->normal, across);
    return sqrt(cal_dot3(across, across));
}

// A bound for the second derivative of the gap between two points of bodies: r ω² of each, and what their speeds change by on the way.
static double bend_of(const cal_group_work* w, const cal_group_contact* contact, const double* poses, double h) {
    double sum = 0.0;
    for (int side = 0; side < 2; side++) {
        const double(*speeds)[6] = (const double(*)[6])w->body_speeds[contact->body[side]];
        const double lever = lever_of(contact, poses, side);
        double change[6];
        for (int i = 0; i < 6; i++) change[i] = speeds[1][i] - speeds[0][i];
        sum += lever * fmax(cal_dot3(speeds[0] + 3, speeds[0] + 3), cal_dot3(speeds[1] + 3, speeds[1] + 3));
        sum += steepest / h * (sqrt(cal_dot3(change, change)) + lever * sqrt(cal_dot3(change + 3, change + 3)));
    }
    return sum;
}

// Whether a contact that is known at one end only may overlap on the way by more than allowed; rate: of its gap, into the way.
static bool is_near(const cal_group_work* w, const cal_group_contact* contact, const double* poses, double rate,
                    double h, double allowed) {
    const double bend = bend_of(w, contact, poses, h), end = contact->gap + h * rate - 0.5 * h * h * bend;
    return fmin(contact->gap, end) < -allowed;
}

// How far the point of a contact goes on a body, from one end of the way to the other; less than nothing where the body has no pose there.
static double slide_of(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to, int side) {
    const int body = from->body[side];
    double there[2][3], d[3];
    for (int end = 0; end < 2; end++) {
        const double* pose = (end == 0 ? w->far.poses : w->cache.poses) + 7 * body;
        const cal_group_contact* contact = end == 0 ? from : to;
        double R[9], arm[3];
        cal_quaternion_matrix(pose + 3, R);
        for (int i = 0; i < 3; i++) arm[i] = contact->point[side][i] - pose[i];
        cal_unrotate3(R, arm, there[end]);
    }
    for (int i = 0; i < 3; i++) d[i] = there[1][i] - there[0][i];
    return sqrt(cal_dot3(d, d));
}

// By how much a normal turns on a body from one end of the way to the other.
static double lean_on(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to, int side) {
    const double *pose = w->far.poses + 7 * from->body[side], *to_pose = w->cache.poses + 7 * from->body[side];
    double there[2][3], d[3], R[9];
    memcpy(there[0], from->normal, sizeof there[0]);
    memcpy(there[1], to->normal, sizeof there[1]);
    if (!cal_same_bits(pose + 3, to_pose + 3, 4 * sizeof *pose)) {
        cal_quaternion_matrix(pose + 3, R);
        cal_unrotate3(R, from->normal, there[0]);
        cal_quaternion_matrix(to_pose + 3, R);
        cal_unrotate3(R, to->normal, there[1]);
    }
    for (int i = 0; i < 3; i++) d[i] = there[1][i] - there[0][i];
    return sqrt(cal_dot3(d, d));
}

// By how much it does so on both bodies: that of a face stays on one. What does not move is asked first, since it is cheapest.
static double leaning_of(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to) {
    const int first = w->group->unit_of_body[from->body[1]] < 0;
    const double least = lean_on(w, from, to, first);
    return least > 0.0 ? fmin(least, lean_on(w, from, to, 1 - first)) : 0.0;
}

// Whether the cubic of a gap may be off by more than is left to what may overlap: by the fourth derivative over 384, r (ω⁴ + 6 ω² α + 3 α²) h⁴ of
// what turns about a corner, faster by α h at the end; of links that is looked at (miss_of). Where surfaces roll over each other, it is as many
// times larger as radii of curvature differ, squared. And where a pair touches with other faces or edges at the end than at the begin, of which
// cubics know nothing: gaps along the two normals differ by how far these lean, times how far the point goes. Balls have one surface, which is
// round.
static bool is_off(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to, double h,
                   double allowed) {
    double sum = 0.0, levers = 0.0;
    for (int side = 0; side < 2; side++) {
        const double(*speeds)[6] = (const double(*)[6])w->body_speeds[from->body[side]];
        const double *spin = speeds[0] + 3, *to_spin = speeds[1] + 3;
        const double square = h * h * fmax(cal_dot3(spin, spin), cal_dot3(to_spin, to_spin));
        const double more[3] = {to_spin[0] - spin[0], to_spin[1] - spin[1], to_spin[2] - spin[2]};
        const double change = w->varies ? 0.0 : h * h * cal_dot3(more, more);
        const double lever = fmax(lever_of(from, w->far.poses, side), lever_of(to, w->cache.poses, side));
        sum += lever * (square * (square + 6.0 * sqrt(change)) + 3.0 * change);
        levers = fmax(levers, lever);
    }
    const double room = fmax(fmin(from->gap, to->gap), 0.0) + (1.0 / known_to - 1.0) * allowed;
    const double corner = 1e-6 * w->group->length, leaning = levers > corner ? leaning_of(w, from, to) : 0.0;
    if (curved * sum <= 384.0 * room && leaning == 0.0) return false;
    const double slides[2] = {slide_of(w, from, to, 0), slide_of(w, from, to, 1)};
    return sum > 384.0 * room || leaning * fmax(slides[0], slides[1]) > room ||
           (curved * sum > 384.0 * room && slides[0] > corner && slides[1] > corner);
}

// q and v of all units at a time t on the way.
static cal_status place_on_way(cal_group_work* w, double time, double h, double t, const double* q, const double* v,
                               const double* bow, cal_error* error) {
    const cal_group* group = w->group;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        cal_member_span span = span_of(w, i, q, v, h, t);
        span.bow = bow + unit->first_v;
        const cal_status status = unit->ops->state(unit, &span, w->middle_q + unit->first_q, w->second + unit->first_v);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time - h + t, error);
    }
    return CAL_OK;
}

// Looks at a way are at most so much of it apart, and where something turns over so little.
#define BETWEEN_LOOKS 0.125
#define KINKS_APART 0.015625

// Contacts at a share s of the way: so far away that what touches between two looks is seen in one of them; *depth: the deepest overlap.
static cal_status find_on_way(cal_group_work* w, cal_contact_cache* cache, double time, double h, double s,
                              const double* q, const double* v, const double* bow, double* depth, cal_error* error) {
    cal_status status = place_on_way(w, time, h, s * h, q, v, bow, error);
    // From both sides, in half of the time between two looks.
    const double way = BETWEEN_LOOKS * h * fmax(cal_group_speed(w->group, w->second), cal_group_speed(w->group, v)),
                 margin = fmin(fmax(way, CAL_WORK_SLACK * w->group->length), w->margin);
    if (status == CAL_OK)
        status = cal_contact_cache_find(cache, w->group, time - h + s * h, w->middle_q, margin, error);
    *depth = 0.0;
    for (int k = 0; status == CAL_OK && k < cache->count; k++)
        if (cache->contacts[k].stop == 0) *depth = fmax(*depth, -cache->contacts[k].gap);
    return status;
}

// By how much the cubic of a gap is above what half-way, in `last`, was found; not less than nothing. There the fourth order is largest.
static double miss_of(const cal_group_work* w, uint64_t key, int from, double begin, double rate, double end,
                      double to_rate, double h) {
    const int at = cal_contact_cache_same(&w->last, key, from);
    return at >= 0 ? fmax(0.5 * (begin + end) + 0.125 * h * (rate - to_rate) - w->last.contacts[at].gap, 0.0) : 0.0;
}

// Whether cubics of gaps do not tell enough, and a look half-way is needed: links go along with all joints that carry them, and what the fourth
// order makes of that is largest there; on a height field others of its faces come to be touched.
static bool needs_look(const cal_group_work* w) { return w->varies || w->group->folded; }

// Contacts of the begin become those of the middle; those that are not there at the end are far away. Returns the deepest overlap. *sure:
// there is none that this does not tell. *turned: what turns of bodies make of it elsewhere, at most.
static double find_middle(cal_group_work* w, double h, double allowed, bool* sure, double* turned) {
    const cal_contact_cache *end = &w->cache, *begin = &w->far;
    double deepest = 0.0;
    int next = 0;
    *sure = true, *turned = 0.0;
    for (int k = 0; *sure && k < end->count; k++) {
        const cal_group_contact* contact = &end->contacts[k];
        const int at = cal_contact_cache_same(begin, contact->key, next);
        if (at >= 0)
            next = at;
        else if (contact->stop == 0)
            *sure = !is_near(w, contact, end->poses, -rate_of(w, contact, end->poses, 1), h, allowed);
    }
    next = 0;
    for (int k = 0; k < begin->count; k++) {
        cal_group_contact* contact = &w->far.contacts[k];
        const int at = cal_contact_cache_same(end, contact->key, next);
        const cal_group_contact* there = at >= 0 ? &end->contacts[at] : NULL;
        const double rate = rate_of(w, contact, begin->poses, 0);
        if (there == NULL || contact->stop > 0) {
            *sure = *sure && (contact->stop > 0 || !is_near(w, contact, begin->poses, rate, h, allowed));
            contact->gap = (double)INFINITY;
            continue;
        }
        next = at;
        const double to_rate = rate_of(w, there, end->poses, 1);
        const double deepest_gap = -deepest_of(w, contact, fabs(rate) + fabs(to_rate), h);
        *sure = *sure && !is_off(w, contact, there, h, allowed);
        const double miss =
            needs_look(w) ? miss_of(w, contact->key, next, contact->gap, rate, there->gap, to_rate, h) : 0.0;
        contact->gap = gap_of(contact->gap, rate, there->gap, to_rate, h, allowed) - miss;
        const double more = contact->gap < 0.0 ? -contact->gap * turn_of(w, contact, h) : 0.0;
        contact->gap -= more;
        for (int i = 0; i < 3; i++) {
            contact->normal[i] += there->normal[i];
            for (int side = 0; side < 2; side++)
                contact->point[side][i] = 0.5 * (contact->point[side][i] + there->point[side][i]);
        }
        const double length = sqrt(cal_dot3(contact->normal, contact->normal));
        for (int i = 0; i < 3; i++) contact->normal[i] /= length;
        // What comes of points that are not the same on the way, whatever their key says, is no overlap.
        if (contact->gap < deepest_gap)
            contact->gap = (double)INFINITY, *sure = false;
        else
            *turned = fmax(*turned, more);
        deepest = fmax(deepest, -contact->gap);
    }
    return deepest;
}

// Displacements half-way that part what overlaps at a time t on the way, of which the contacts are in `far`, become more of the bow.
static cal_status bow_more(cal_group_work* w, double time, double h, double t, double* bow, cal_error* error) {
    cal_contact_cache_swap(&w->cache, &w->far);
    const cal_status status = cal_work_find_parting(w, time - h + t, w->middle_q, w->second, 0, 1.0, error);
    cal_contact_cache_swap(&w->cache, &w->far);
    for (int i = 0; status == CAL_OK && i < w->group->v_count; i++) bow[i] += 4.0 * w->first[i] / h;
    return status;
}

// Contacts at a share s of the way, in `far`, and speeds there; *depth: the deepest overlap; *lift: by how much the way must be lifted
// half-way, so that none overlaps by more than allowed at s.
static cal_status look_on_way(cal_group_work* w, double time, double h, double s, const double* q, const double* v,
                              const double* bow, double allowed, double* lift, double* depth, cal_error* error) {
    cal_status status = find_on_way(w, &w->far, time, h, s, q, v, bow, depth, error);
    if (status == CAL_OK) status = find_speeds(w, time, h, s * h, q, v, bow, 1, error);
    *lift = s > 0.0 && s < 1.0 ? fmax(*depth - allowed, 0.0) / (4.0 * s * (1.0 - s)) : 0.0;
    return status;
}

// Gaps that contacts in `far` would have to have half-way, if what is allowed at a share s of the way is all that there is to be.
static void lift_to_middle(cal_group_work* w, double s, double allowed) {
    for (int k = 0; k < w->far.count; k++) {
        cal_group_contact* contact = &w->far.contacts[k];
        if (contact->stop == 0) contact->gap = (contact->gap + allowed) / (4.0 * s * (1.0 - s)) - allowed;
    }
}

// The least value of a cubic with Bernstein coefficients b, between its ends, if it is less than there; *s: where.
static double least_of(const double b[CAL_CUBIC_TERMS], double* s) {
    const double d[3] = {b[1] - b[0], b[2] - b[1],
                         b[3] - b[2]}; // its slope is 3 (d₀ (1 − s)² + 2 d₁ s (1 − s) + d₂ s²)
    const double half = d[1] - d[0], root = half * half - (d[0] - 2.0 * d[1] + d[2]) * d[0];
    const double at = root >= 0.0 && half + sqrt(root) != 0.0 ? -d[0] / (half + sqrt(root)) : -1.0;
    if (!(at > 0.0 && at < 1.0)) return INFINITY;
    double slope;
    *s = at;
    return cal_curve_at(b, CAL_CUBIC_TERMS - 1, at, &slope);
}

// Whether a normal turns by more from one look to the other than the bodies do: then it is not that of the same faces or edges.
static bool has_turned_over(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to,
                            double h) {
    double change[3], turned = 0.0;
    for (int i = 0; i < 3; i++) change[i] = to->normal[i] - from->normal[i];
    for (int side = 0; side < 2; side++) {
        const double* spin = w->body_speeds[from->body[side]][1] + 3;
        turned += h * sqrt(cal_dot3(spin, spin));
    }
    return cal_dot3(change, change) > turned * turned;
}

// How deep two tangents of a gap are where they meet, at *s: the gap is the largest of those of all faces and edges, and where one takes over
// from another it has a kink.
static double depth_of_kink(double h, double from, double rate, double to, double to_rate, double* s) {
    const double at = (to - from - h * to_rate) / (h * (rate - to_rate));
    if (!(at > 0.0 && at < 1.0)) return 0.0;
    *s = at;
    return -(from + at * h * rate);
}

// Whether one of two tangents goes below zero between two looks: then the kink may be deeper than where they meet, for what curves after it.
static bool is_kink_near(double h, double from, double rate, double to, double to_rate) {
    return fmin(from + h * rate, to - h * to_rate) < 0.0;
}

// The deepest overlap that two looks at the way tell of between them, those of `last` and of `far`, which are h apart; *s: where. Where the
// looks are far apart and something turns over between them, any.
static double find_dip(const cal_group_work* w, double h, bool apart, double* s) {
    const cal_contact_cache* looks[2] = {&w->last, &w->far};
    double deepest = 0.0;
    for (int end = 0; end < 2; end++)
        for (int k = 0, next = 0; k < looks[end]->count; k++) {
            const cal_group_contact* contact = &looks[end]->contacts[k];
            const int at = cal_contact_cache_same(looks[1 - end], contact->key, next);
            const double rate = rate_of(w, contact, looks[end]->poses, end);
            double dip = 0.0, there = 0.5;
            if (at >= 0) next = at;
            if (contact->stop > 0 || (at >= 0 && end == 1)) continue;
            if (at >= 0) {
                const cal_group_contact* other = &looks[1]->contacts[at];
                const double to_rate = rate_of(w, other, looks[1]->poses, 1);
                double b[CAL_CUBIC_TERMS];
                cal_curve_hermite(h, contact->gap, rate, other->gap, to_rate, b);
                if (!has_turned_over(w, contact, other, h))
                    dip = -least_of(b, &there);
                else if (apart && is_kink_near(h, contact->gap, rate, other->gap, to_rate))
                    dip = (double)INFINITY;
                else
                    dip = depth_of_kink(h, contact->gap, rate, other->gap, to_rate, &there);
            } else // as it comes or goes, it tells by itself
                dip = -(contact->gap + (end == 0 ? 0.5 : -0.5) * h * rate);
            if (dip > deepest) deepest = dip, *s = there;
        }
    return deepest;
}

// Where the cubics of gaps do not tell: the way is looked at, and bowed further for the worst of what is found there. Of gaps that close as
// soon as the way begins, or until it ends, those near its ends tell how fast. Where cubics between two looks overlap, there is a look between
// them. What overlaps at an end does so near it, whatever the way.
static cal_status check_way(cal_group_work* w, double time, double h, const double* q, const double* v, double* bow,
                            double allowed, double ends, cal_error* error) {
    // The last is next, and those near the ends a quarter as far from them as others from each other. The ends tell what dips between them
    // and these.
    static const double shares[] = {1.0, 0.96875, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, BETWEEN_LOOKS, 0.03125, 0.0};
    enum { SHARES = sizeof shares / sizeof shares[0], MOST_MORE = 8 * SHARES, ROUNDS = 6 };
    const double limit = fmax(allowed / known_to, ends), inner = 0.1;
    for (int round = 0;; round++) {
        double places[SHARES + MOST_MORE], most = 0.0, at = 0.5, deepest = 0.0, lift = 0.0, depth = 0.0, before = -1.0;
        int left = SHARES, more = 0;
        cal_status status = CAL_OK;
        memcpy(places, shares, sizeof shares);
        while (status == CAL_OK && left > 0) {
            const double s = places[left - 1];
            status = look_on_way(w, time, h, s, q, v, bow, allowed, &lift, &depth, error);
            if (status != CAL_OK) return status;
            deepest = fmax(deepest, depth);
            if (lift > most) most = lift, at = s;
            double between = 0.5;
            if (before >= 0.0 && depth <= limit &&
                find_dip(w, (s - before) * h, s - before > KINKS_APART, &between) > limit) {
                if (more == MOST_MORE) {
                    w->report->overlaps = true; // as far as anybody knows
                    return CAL_OK;
                }
                places[left++] = before + fmin(fmax(between, inner), 1.0 - inner) * (s - before);
                more++;
                continue;
            }
            before = s;
            left--;
            cal_contact_cache_swap(&w->last, &w->far);
            for (int i = 0; i < w->group->body_count; i++)
                memcpy(w->body_speeds[i][0], w->body_speeds[i][1], sizeof w->body_speeds[i][0]);
        }
        if (deepest <= limit) return CAL_OK;
        if (round == ROUNDS) {
            w->report->overlaps = true;
            return CAL_OK;
        }
        status = look_on_way(w, time, h, at, q, v, bow, allowed, &lift, &depth, error);
        lift_to_middle(w, at, allowed);
        if (status == CAL_OK) status = bow_more(w, time, h, at * h, bow, error);
        if (status != CAL_OK) return status;
    }
}

cal_status cal_work_bow(cal_group_work* w, double time, double h, const double* q, const double* v, double* out,
                        cal_error* error) {
    const double allowed = known_to * CAL_WORK_OVERLAP * w->group->length;
    bool sure = true;
    cal_status status = find_speeds(w, time, h, 0.0, q, v, NULL, 0, error);
    if (status == CAL_OK) status = find_speeds(w, time, h, h, q, v, NULL, 1, error);
    const double begin = cal_contact_cache_deepest(&w->far), ends = fmax(begin, cal_contact_cache_deepest(&w->cache));
    // Ways that are not straight have led into each other what nothing has parted.
    w->report->overlaps = ends > fmax(allowed / known_to, begin);
    double depth = 0.0;
    if (status == CAL_OK && needs_look(w)) status = find_on_way(w, &w->last, time, h, 0.5, q, v, out, &depth, error);
    double turned = 0.0;
    const double deepest = status == CAL_OK ? find_middle(w, h, allowed, &sure, &turned) : 0.0;
    sure = sure && depth <= fmax(allowed / known_to, ends);
    if (status == CAL_OK && deepest > allowed) {
        status = place_on_way(w, time, h, 0.5 * h, q, v, out, error);
        if (status == CAL_OK) status = bow_more(w, time, h, 0.5 * h, out, error);
        // Points of links do not go along with their joints; and others are not those that were meant where the bow has led them. Where much
        // is lifted of what turns, a look half-way does not tell what is left elsewhere.
        sure = sure && elsewhere * turned <= (1.0 / known_to - 1.0) * allowed;
        if (status == CAL_OK && sure && !w->varies)
            status = find_on_way(w, &w->last, time, h, 0.5, q, v, out, &depth, error);
        sure = sure && !w->varies && depth <= fmax(allowed / known_to, ends);
    }
    if (status == CAL_OK && !sure) status = check_way(w, time, h, q, v, out, allowed, ends, error);
    return status;
}
