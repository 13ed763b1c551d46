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
// makes the fourth order count. Then the way of that pair of bodies is looked at (group_way.c), and bowed by what is found; where it overlaps
// after all, the step is taken again, half as long (group_step.c).
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
// Its third root: radii of curvature of an ellipsoid that is f times as long as it is thick differ by f³, and the largest is f² times as far as its surface is from
// its centre there.
static const double widest = 4.64;
// × the change of speeds over h: a cubic between them is not bent more, |6 (m − v₀) − 2 (v₁ − v₀)| with the mean speed m between both.
static const double steepest = 8.0;

// Whether a free body stays where it is on the way.
static bool stays(const cal_group_work* w, const cal_group_way* way, int body) {
    const int number = w->group->unit_of_body[body];
    if (number < 0 || w->group->units[number].varying) return false;
    const cal_group_member* unit = &w->group->units[number];
    bool same =
        cal_same_bits(way->q + unit->first_q, w->start_q + unit->first_q, (size_t)unit->q_count * sizeof *way->q);
    for (int i = unit->first_v; same && i < unit->first_v + unit->v_count; i++)
        same = way->v[i] == 0.0 && w->start_v[i] == 0.0 && way->bow[i] == 0.0;
    return same;
}

// Speeds of all bodies at both ends of their ways.
static cal_status find_speeds(cal_group_work* w, const cal_group_way* way, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < w->group->body_count; i++) {
        if (stays(w, way, i)) {
            memset(w->body_speeds[i], 0, sizeof w->body_speeds[i]);
            continue;
        }
        for (int end = 0; status == CAL_OK && end < 2; end++) {
            double pose[7];
            status = cal_way_motion(w, way, i, end == 0 ? 0.0 : way->h, pose, w->body_speeds[i][end], error);
        }
    }
    return status;
}

// How fast a gap opens at one end of the ways.
static double rate_of(const cal_group_work* w, const cal_group_contact* contact, const double* poses, int end) {
    const double *const at[2] = {poses + 7 * contact->body[0], poses + 7 * contact->body[1]},
                        *const speeds[2] = {w->body_speeds[contact->body[0]][end],
                                            w->body_speeds[contact->body[1]][end]};
    return cal_way_rate(contact, at, speeds);
}

// The gap that a contact would have to have half-way if it were on a parabola that is as deep as its cubic anywhere. With the Bernstein
// coefficients b of g + a, of which the first and the last are not negative, since nothing overlaps by more than a at the ends,
//
//     (g(s) + a) / (4 s (1 − s)) = (b₀ (1/s − 2 + s) + 3 b₁ (1 − s) + 3 b₂ s + b₃ (1/(1 − s) − 1 − s)) / 4
//
// is convex, and least where its slope is zero, or at an end where b is zero. It is not less than the least of b, since 4 s (1 − s) is not more
// than 1: where that is more than `beyond`, how much more does not matter.
static double gap_of(double from, double rate, double to, double to_rate, double h, double allowed, double beyond) {
    enum { HALVINGS = 24 };
    double b[CAL_CUBIC_TERMS];
    cal_curve_hermite(h, from + allowed, rate, to + allowed, to_rate, b);
    const double bound = fmin(fmin(b[0], b[1]), fmin(b[2], b[3])) - allowed;
    if (bound > beyond) return bound;
    const double first = fmax(b[0], 0.0), last = fmax(b[3], 0.0), slope = first - last + 3.0 * (b[2] - b[1]);
    // Of what rests: the same at both ends, and least half-way, which is where halvings come to.
    const bool even = first > 0.0 && first == last && slope == 0.0;
    double low = even ? 0.5 : 0.0, high = even ? 0.5 + 1.0 / (1 << HALVINGS) : 1.0;
    for (int i = 0; !even && i < HALVINGS; i++) {
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

// How far the point of a contact goes on a body, from one end of the way to the other: its length.
static double slide_of(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to, int side,
                       double d[3]) {
    const int body = from->body[side];
    double there[2][3];
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
static double lean_on(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to, int side,
                      double d[3]) {
    const double *pose = w->far.poses + 7 * from->body[side], *to_pose = w->cache.poses + 7 * from->body[side];
    double there[2][3], R[9];
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
    double d[3];
    const double least = lean_on(w, from, to, first, d);
    return least > 0.0 ? fmin(least, lean_on(w, from, to, 1 - first, d)) : 0.0;
}

// How much deeper than its cubic a gap may go on the way: what may overlap, less what it does where that is least, after it was bowed. What overlaps by
// more at an end, because it came from other groups, does so near it, whatever the way.
static double room_of(double from, double rate, double to, double to_rate, double h, double allowed) {
    double b[CAL_CUBIC_TERMS], s;
    cal_curve_hermite(h, from, rate, to, to_rate, b);
    const double most = allowed / known_to, least = fmin(fmin(from, to), fmax(cal_curve_least(b, &s), -allowed));
    return least < -most ? most - allowed : least + most;
}

// Whether the point of a contact goes over a face, along a rim or from one end of an edge to the other: further on a body than the normal leans
// that way on any surface whose cubics are trusted. What touches on the way is none of the points that cubics are of: their gaps differ by how
// far the body leans, times how far the point goes.
static bool goes_over(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to,
                      double room) {
    for (int side = 0; side < 2; side++) {
        double lean[3], slide[3] = {0}, arm[3];
        if (lean_on(w, from, to, side, lean) > 0.0) slide_of(w, from, to, side, slide);
        for (int i = 0; i < 3; i++) arm[i] = from->point[side][i] - w->far.poses[7 * from->body[side] + i];
        const double along = fabs(cal_dot3(lean, slide));
        if (along > room && cal_dot3(slide, slide) > widest * sqrt(cal_dot3(arm, arm)) * along) return true;
    }
    return false;
}

// Whether the cubic of a gap may be off by more than there is room: by the fourth derivative over 384, r (ω⁴ + 6 ω² α + 3 α²) h⁴ of
// what turns about a corner, faster by α h at the end; of links that is looked at (miss_of). Where surfaces roll over each other, it is as many
// times larger as radii of curvature differ, squared. And where a pair touches with other faces or edges at the end than at the begin, of which
// cubics know nothing: gaps along the two normals differ by how far these lean, times how far the point goes. Balls have one surface, which is
// round.
static bool is_off(const cal_group_work* w, const cal_group_contact* from, const cal_group_contact* to, double h,
                   double room) {
    double sum = 0.0, levers = 0.0, turns = 0.0;
    for (int side = 0; side < 2; side++) {
        const double(*speeds)[6] = (const double(*)[6])w->body_speeds[from->body[side]];
        const double *spin = speeds[0] + 3, *to_spin = speeds[1] + 3;
        const double square = h * h * fmax(cal_dot3(spin, spin), cal_dot3(to_spin, to_spin));
        const double more[3] = {to_spin[0] - spin[0], to_spin[1] - spin[1], to_spin[2] - spin[2]};
        const double change = w->varies ? 0.0 : h * h * cal_dot3(more, more);
        const double lever = fmax(lever_of(from, w->far.poses, side), lever_of(to, w->cache.poses, side));
        sum += lever * (square * (square + 6.0 * sqrt(change)) + 3.0 * change);
        levers = fmax(levers, lever);
        turns += sqrt(square);
    }
    if (2.0 * levers * turns > room && goes_over(w, from, to, room)) return true;
    const double corner = 1e-6 * w->group->length, leaning = levers > corner ? leaning_of(w, from, to) : 0.0;
    if (curved * sum <= 384.0 * room && leaning == 0.0) return false;
    double d[3];
    const double slides[2] = {slide_of(w, from, to, 0, d), slide_of(w, from, to, 1, d)};
    return sum > 384.0 * room || leaning * fmax(slides[0], slides[1]) > room ||
           (curved * sum > 384.0 * room && slides[0] > corner && slides[1] > corner);
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

// Contacts of the begin become those of the middle; those that are not there at the end are far away. Returns the deepest overlap. What
// pairs there are is noted, and which of them may overlap though this does not tell.
static double find_middle(cal_group_work* w, double h, double allowed) {
    const cal_contact_cache *end = &w->cache, *begin = &w->far;
    // What is further apart takes no part where overlaps are parted (cal_work_find_parting).
    const double parted = 2.0 * CAL_WORK_SLACK * w->group->length;
    double deepest = 0.0;
    int next = 0;
    for (int k = 0; k < end->count; k++) {
        const cal_group_contact* contact = &end->contacts[k];
        const int at = cal_contact_cache_same(begin, contact->key, next);
        if (at >= 0)
            next = at;
        else
            cal_way_note(w, contact, true,
                         is_near(w, contact, end->poses, -rate_of(w, contact, end->poses, 1), h, allowed));
    }
    next = 0;
    for (int k = 0; k < begin->count; k++) {
        cal_group_contact* contact = &w->far.contacts[k];
        const int at = cal_contact_cache_same(end, contact->key, next);
        const cal_group_contact* there = at >= 0 ? &end->contacts[at] : NULL;
        const double rate = rate_of(w, contact, begin->poses, 0);
        if (there == NULL || contact->stop > 0) {
            cal_way_note(w, contact, true, is_near(w, contact, begin->poses, rate, h, allowed));
            contact->gap = (double)INFINITY;
            continue;
        }
        next = at;
        const double to_rate = rate_of(w, there, end->poses, 1);
        const double deepest_gap = -deepest_of(w, contact, fabs(rate) + fabs(to_rate), h);
        bool unsure = is_off(w, contact, there, h, room_of(contact->gap, rate, there->gap, to_rate, h, allowed));
        const double miss =
            needs_look(w) ? miss_of(w, contact->key, next, contact->gap, rate, there->gap, to_rate, h) : 0.0;
        contact->gap = gap_of(contact->gap, rate, there->gap, to_rate, h, allowed, parted + miss) - miss;
        const double more = contact->gap < 0.0 ? -contact->gap * turn_of(w, contact, h) : 0.0;
        contact->gap -= more;
        for (int i = 0; i < 3; i++) {
            contact->normal[i] += there->normal[i];
            for (int side = 0; side < 2; side++)
                contact->point[side][i] = 0.5 * (contact->point[side][i] + there->point[side][i]);
        }
        const double length = sqrt(cal_dot3(contact->normal, contact->normal));
        for (int i = 0; i < 3; i++) contact->normal[i] /= length;
        // What comes of points that are not the same on the way, whatever their key says, is no overlap. Where much is lifted of what turns, a
        // look half-way does not tell what is left elsewhere.
        if (contact->gap < deepest_gap)
            contact->gap = (double)INFINITY, unsure = true;
        else
            unsure = unsure || elsewhere * more > (1.0 / known_to - 1.0) * allowed;
        cal_way_note(w, contact, true, unsure);
        deepest = fmax(deepest, -contact->gap);
    }
    return deepest;
}

cal_status cal_way_bow_more(cal_group_work* w, const cal_group_way* way, double t, cal_error* error) {
    cal_contact_cache_swap(&w->cache, &w->far);
    const cal_status status = cal_work_find_parting(w, way->time - way->h + t, w->middle_q, w->second, 0, 1.0, error);
    cal_contact_cache_swap(&w->cache, &w->far);
    for (int i = 0; status == CAL_OK && i < w->group->v_count; i++) way->bow[i] += 4.0 * w->first[i] / way->h;
    return status;
}

cal_status cal_work_bow(cal_group_work* w, const cal_group_way* way, cal_error* error) {
    const double allowed = known_to * CAL_WORK_OVERLAP * w->group->length;
    w->pair_count = 0, w->pair_missed = w->unsure = false;
    cal_status status = find_speeds(w, way, error);
    const double begin = cal_contact_cache_deepest(&w->far), ends = fmax(begin, cal_contact_cache_deepest(&w->cache)),
                 limit = fmax(allowed / known_to, ends);
    // Ways that are not straight have led into each other what nothing has parted.
    w->report->overlaps = ends > fmax(allowed / known_to, begin);
    if (status == CAL_OK && needs_look(w)) {
        status = cal_way_find(w, way, &w->last, 0.5, error);
        for (int k = 0; status == CAL_OK && k < w->last.count; k++)
            if (w->last.contacts[k].gap < -limit) cal_way_note(w, &w->last.contacts[k], false, true);
    }
    const double deepest = status == CAL_OK ? find_middle(w, way->h, allowed) : 0.0;
    if (status == CAL_OK && deepest > allowed) {
        status = cal_way_place(w, way, 0.5 * way->h, error);
        if (status == CAL_OK) status = cal_way_bow_more(w, way, 0.5 * way->h, error);
    }
    if (status == CAL_OK && (deepest > allowed || w->unsure)) status = cal_way_check(w, way, allowed, limit, error);
    return status;
}
