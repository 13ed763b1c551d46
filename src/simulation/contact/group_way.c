// Looks at ways between two states of a group (group_bow.c), where the cubics of gaps do not tell what is between the ends: pairs of bodies are
// followed along the way, each by itself and looked at where it needs it, and the way is bowed further for the worst of what is found.
//
// Which pairs those are is found with the cubics: those of which one is unsure; and those with a body whose way was bowed, since then it is
// not the one that cubics were made for. Where none is unsure, one look half-way tells of these, since most of a bow is there. Where one is,
// for instance what turns far and was lifted far, bows of its neighbours follow that, and they are followed, too. What is near at neither end
// cannot touch on the way, as long as its length is less than how far contacts were looked for at the ends: two bodies that touch have each come
// half of that at least, and go as far. Otherwise the whole group is looked at on the way, for more pairs.
#include "math/vector.h"
#include "simulation/body.h"
#include "simulation/contact/group_work.h"
#include "simulation/motion/curve.h"
#include <string.h>

// What is known of a pair: its cubics may miss something; contacts of it were there at an end of the way.
enum { UNSURE = 1, NEAR_END = 2 };

// Looks at a way are at most so much of it apart, and where something turns over so little.
#define BETWEEN_LOOKS 0.125
#define KINKS_APART 0.015625

// Two bodies at a share s of the way, in the order of the bodies of their contacts.
typedef struct pair_look {
    double s, depth; // the deepest overlap
    double poses[2][7], speeds[2][6];
    int count;
    cal_group_contact contacts[CAL_PAIR_CONTACTS];
} pair_look;

// The worst of what was found.
typedef struct worst {
    double depth; // of all looks
    double lift,
        at; // by how much a way must be lifted half-way, so that none overlaps by more than allowed at a share of it
} worst;

// --- Pairs ------------------------------------------------------------------------------------------------------------------------

void cal_way_note(cal_group_work* w, const cal_group_contact* contact, bool at_end, bool unsure) {
    const uint64_t key = (uint64_t)(uint32_t)contact->body[0] << 32 | (uint32_t)contact->body[1];
    const int64_t flags = (unsure ? UNSURE : 0) | (at_end ? NEAR_END : 0);
    if (contact->stop > 0) return;
    w->unsure = w->unsure || unsure;
    if (w->pair_count > 0 && w->pairs[w->pair_count - 1].key == key)
        w->pairs[w->pair_count - 1].number |= flags;
    else if (w->pair_count < w->pair_capacity)
        w->pairs[w->pair_count++] = (cal_keyed){key, flags};
    else
        w->pair_missed = true;
}

// Each pair once.
static void sort_pairs(cal_group_work* w) {
    int count = 0;
    cal_radix_sort(w->pairs, w->pairs + w->pair_capacity, w->pair_count);
    for (int i = 0; i < w->pair_count; i++)
        if (count > 0 && w->pairs[count - 1].key == w->pairs[i].key)
            w->pairs[count - 1].number |= w->pairs[i].number;
        else
            w->pairs[count++] = w->pairs[i];
    w->pair_count = count;
}

static bool is_bowed(const cal_group_work* w, const cal_group_way* way, int body) {
    const int number = w->group->unit_of_body[body];
    bool bowed = false;
    if (number < 0) return false;
    const cal_group_member* unit = &w->group->units[number];
    for (int i = unit->first_v; !bowed && i < unit->first_v + unit->v_count; i++) bowed = way->bow[i] != 0.0;
    return bowed;
}

// --- The whole group --------------------------------------------------------------------------------------------------------------

cal_member_span cal_way_span(const cal_group_work* w, const cal_group_way* way, int unit, double t) {
    const cal_group_member* u = &w->group->units[unit];
    return (cal_member_span){.q = w->start_q + u->first_q,
                             .v = w->start_v + u->first_v,
                             .to_q = way->q + u->first_q,
                             .to_v = way->v + u->first_v,
                             .length = way->h,
                             .from = way->time - way->h,
                             .t = t,
                             .straight = w->report->straight,
                             .bow = way->bow + u->first_v};
}

cal_status cal_way_motion(const cal_group_work* w, const cal_group_way* way, int body, double t, double pose[7],
                          double speeds[6], cal_error* error) {
    const cal_group* group = w->group;
    const int unit = group->unit_of_body[body];
    const double time = way->time - way->h + t;
    if (unit < 0)
        return cal_group_body_failed(group, body, group->driven(group, body, time, pose, speeds), time, error);
    const cal_group_member* u = &group->units[unit];
    const cal_member_span span = cal_way_span(w, way, unit, t);
    cal_motion at;
    const cal_status status = u->ops->motion(u, body - u->first_body, &span, &at);
    memcpy(pose, at.pose.position, sizeof at.pose.position);
    memcpy(pose + 3, at.quaternion, sizeof at.quaternion);
    memcpy(speeds, at.u, sizeof at.u);
    memcpy(speeds + 3, at.w, sizeof at.w);
    return cal_group_body_failed(group, body, status, time, error);
}

cal_status cal_way_place(cal_group_work* w, const cal_group_way* way, double t, cal_error* error) {
    const cal_group* group = w->group;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        const cal_member_span span = cal_way_span(w, way, i, t);
        const cal_status status = unit->ops->state(unit, &span, w->middle_q + unit->first_q, w->second + unit->first_v);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, way->time - way->h + t, error);
    }
    return CAL_OK;
}

// How far away contacts are looked for, so that what touches between two looks is seen in one of them: from both sides, in half of the time
// between them.
static double margin_of(const cal_group_work* w, double h, double speed) {
    return fmin(fmax(BETWEEN_LOOKS * h * speed, CAL_WORK_SLACK * w->group->length), w->margin);
}

cal_status cal_way_find(cal_group_work* w, const cal_group_way* way, cal_contact_cache* cache, double s,
                        cal_error* error) {
    const cal_status status = cal_way_place(w, way, s * way->h, error);
    if (status != CAL_OK) return status;
    const double speed = fmax(cal_group_sweep(w->group, w->second), cal_group_sweep(w->group, way->v));
    return cal_contact_cache_find(cache, w->group, way->time - way->h + s * way->h, w->middle_q,
                                  margin_of(w, way->h, speed), error);
}

// --- Two bodies -------------------------------------------------------------------------------------------------------------------

static double speed_of(const cal_group* group, const double speeds[6]) {
    return sqrt(cal_dot3(speeds, speeds)) + group->length * sqrt(cal_dot3(speeds + 3, speeds + 3));
}

// to_speed: the larger one of the bodies' speeds where the way ends.
static cal_status look_at_pair(const cal_group_work* w, const cal_group_way* way, const int bodies[2], double s,
                               double to_speed, pair_look* out, cal_error* error) {
    const cal_group* group = w->group;
    double speed = to_speed;
    out->s = s, out->depth = 0.0;
    for (int side = 0; side < 2; side++) {
        const cal_status status =
            cal_way_motion(w, way, bodies[side], s * way->h, out->poses[side], out->speeds[side], error);
        if (status != CAL_OK) return status;
        speed = fmax(speed, speed_of(group, out->speeds[side]));
    }
    out->count =
        group->pair_contacts(group, bodies, (const double(*)[7])out->poses, margin_of(w, way->h, speed), out->contacts);
    for (int k = 0; k < out->count; k++) out->depth = fmax(out->depth, -out->contacts[k].gap);
    return CAL_OK;
}

static cal_status find_end_speed(const cal_group_work* w, const cal_group_way* way, const int bodies[2], double* out,
                                 cal_error* error) {
    *out = 0.0;
    for (int side = 0; side < 2; side++) {
        double pose[7], speeds[6];
        const cal_status status = cal_way_motion(w, way, bodies[side], way->h, pose, speeds, error);
        if (status != CAL_OK) return status;
        *out = fmax(*out, speed_of(w->group, speeds));
    }
    return CAL_OK;
}

double cal_way_rate(const cal_group_contact* contact, const double* const poses[2], const double* const speeds[2]) {
    double rate = 0.0;
    for (int side = 0; side < 2; side++) {
        double arm[3], turning[3];
        for (int i = 0; i < 3; i++) arm[i] = contact->point[side][i] - poses[side][i];
        cal_cross3(speeds[side] + 3, arm, turning);
        for (int i = 0; i < 3; i++) turning[i] += speeds[side][i];
        rate += (side == 0 ? -1.0 : 1.0) * cal_dot3(contact->normal, turning);
    }
    return rate;
}

static double rate_of(const pair_look* look, const cal_group_contact* contact) {
    const double *const poses[2] = {look->poses[0], look->poses[1]}, *const speeds[2] = {look->speeds[0],
                                                                                         look->speeds[1]};
    return cal_way_rate(contact, poses, speeds);
}

// Whether a normal turns by more from one look to the other than the bodies do: then it is not that of the same faces or edges.
static bool has_turned_over(const pair_look* there, const cal_group_contact* from, const cal_group_contact* to,
                            double h) {
    double change[3], turned = 0.0;
    for (int i = 0; i < 3; i++) change[i] = to->normal[i] - from->normal[i];
    for (int side = 0; side < 2; side++) {
        const double* spin = there->speeds[side] + 3;
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

static const cal_group_contact* find_same(const pair_look* look, uint64_t key) {
    for (int k = 0; k < look->count; k++)
        if (look->contacts[k].key == key) return &look->contacts[k];
    return NULL;
}

// The deepest overlap that two looks at a pair tell of between them, which are h apart; *s: where. Where the looks are far apart and
// something turns over between them, any.
static double find_dip(const pair_look* from, const pair_look* to, double h, bool apart, double* s) {
    double deepest = 0.0;
    for (int end = 0; end < 2; end++) {
        const pair_look *look = end == 0 ? from : to, *other = end == 0 ? to : from;
        for (int k = 0; k < look->count; k++) {
            const cal_group_contact *contact = &look->contacts[k], *same = find_same(other, contact->key);
            if (same != NULL && end == 1) continue;
            const double rate = rate_of(look, contact);
            double dip = 0.0, there = 0.5;
            if (same != NULL) {
                const double to_rate = rate_of(to, same);
                double b[CAL_CUBIC_TERMS];
                cal_curve_hermite(h, contact->gap, rate, same->gap, to_rate, b);
                if (!has_turned_over(to, contact, same, h)) {
                    // Of what turns fast, one face or edge may have taken over from another though the normal hardly tells: then the gap goes as deep as its tangents.
                    double meeting = 0.5;
                    const double tangents =
                        apart ? depth_of_kink(h, contact->gap, rate, same->gap, to_rate, &meeting) : 0.0;
                    dip = -cal_curve_least(b, &there);
                    if (tangents > dip) dip = tangents, there = meeting;
                } else if (apart && is_kink_near(h, contact->gap, rate, same->gap, to_rate))
                    dip = (double)INFINITY;
                else
                    dip = depth_of_kink(h, contact->gap, rate, same->gap, to_rate, &there);
            } else // as it comes or goes, it tells by itself: half of the way, or where looks are far apart all of it
                dip = -(contact->gap + (apart ? 1.0 : 0.5) * (end == 0 ? h : -h) * rate);
            if (dip > deepest) deepest = dip, *s = there;
        }
    }
    return deepest;
}

static void add_look(const pair_look* look, double allowed, worst* out) {
    const double s = look->s,
                 lift = s > 0.0 && s < 1.0 ? fmax(look->depth - allowed, 0.0) / (4.0 * s * (1.0 - s)) : 0.0;
    out->depth = fmax(out->depth, look->depth);
    if (lift > out->lift) out->lift = lift, out->at = s;
}

// Follows two bodies along the way. Of gaps that close as soon as the way begins, or until it ends, looks near its ends tell how fast. Where
// cubics between two looks overlap by more than the limit, there is a look between them. What overlaps at an end does so near it, whatever
// the way. *known: false, as far as anybody knows it overlaps.
static cal_status follow_pair(const cal_group_work* w, const cal_group_way* way, const int bodies[2], double allowed,
                              double limit, worst* out, bool* known, cal_error* error) {
    // The last is next, and those near the ends a quarter as far from them as others from each other. The ends tell what dips between them
    // and these.
    static const double shares[] = {1.0, 0.96875, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, BETWEEN_LOOKS, 0.03125, 0.0};
    enum { SHARES = sizeof shares / sizeof shares[0], MOST_MORE = 8 * SHARES };
    const double inner = 0.1;
    double places[SHARES + MOST_MORE], speed = 0.0;
    // The look before, the present one, and one further on that was there already.
    pair_look room[3], *before = NULL, *now = &room[0], *ahead = &room[1], *spare = &room[2];
    int left = SHARES, more = 0;
    cal_status status = find_end_speed(w, way, bodies, &speed, error);
    memcpy(places, shares, sizeof shares);
    for (int i = 0; i < 3; i++) room[i].s = -1.0, room[i].depth = 0.0, room[i].count = 0;
    while (status == CAL_OK && left > 0) {
        const double s = places[left - 1];
        if (ahead->s == s) {
            pair_look* const found = ahead;
            ahead = now, now = found;
            ahead->s = -1.0;
        } else {
            status = look_at_pair(w, way, bodies, s, speed, now, error);
            if (status != CAL_OK) return status;
            add_look(now, allowed, out);
        }
        double between = 0.5;
        const double apart = before != NULL ? s - before->s : 0.0;
        if (before != NULL && now->depth <= limit &&
            find_dip(before, now, apart * way->h, apart > KINKS_APART, &between) > limit) {
            *known = more < MOST_MORE;
            if (!*known) return CAL_OK;
            places[left++] = before->s + fmin(fmax(between, inner), 1.0 - inner) * apart;
            more++;
            pair_look* const found = now;
            now = ahead, ahead = found;
            continue;
        }
        pair_look* const used = before != NULL ? before : spare;
        before = now, now = used;
        left--;
    }
    return status;
}

// One look half-way, where most of a bow is.
static cal_status look_half_way(const cal_group_work* w, const cal_group_way* way, const int bodies[2], double* depth,
                                cal_error* error) {
    pair_look look;
    double speed = 0.0;
    cal_status status = find_end_speed(w, way, bodies, &speed, error);
    if (status == CAL_OK) status = look_at_pair(w, way, bodies, 0.5, speed, &look, error);
    *depth = status == CAL_OK ? look.depth : 0.0;
    return status;
}

// --- All that may overlap ---------------------------------------------------------------------------------------------------------

// Pairs that are near on the way, and at neither end.
static cal_status find_more_pairs(cal_group_work* w, const cal_group_way* way, cal_error* error) {
    const double speed = fmax(cal_group_sweep(w->group, w->start_v), cal_group_sweep(w->group, way->v));
    if (way->h * speed <= w->margin) return CAL_OK;
    for (int i = 1; i * BETWEEN_LOOKS < 1.0; i++) {
        const cal_status status = cal_way_find(w, way, &w->last, i * BETWEEN_LOOKS, error);
        if (status != CAL_OK) return status;
        for (int k = 0; k < w->last.count; k++) cal_way_note(w, &w->last.contacts[k], false, false);
        sort_pairs(w);
    }
    return CAL_OK;
}

// Follows all pairs that need it.
static cal_status follow_pairs(cal_group_work* w, const cal_group_way* way, double allowed, double limit, bool anew,
                               worst* out, bool* known, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && *known && i < w->pair_count; i++) {
        const cal_keyed* pair = &w->pairs[i];
        const int bodies[2] = {(int)(pair->key >> 32), (int)(uint32_t)pair->key};
        bool unsure = (pair->number & UNSURE) != 0 || (pair->number & NEAR_END) == 0;
        if (!unsure && !is_bowed(w, way, bodies[0]) && !is_bowed(w, way, bodies[1])) continue;
        // Points of links do not go along with their joints.
        if (!unsure && anew && !w->varies && !w->unsure) {
            double depth = 0.0;
            status = look_half_way(w, way, bodies, &depth, error);
            if (status == CAL_OK && depth <= limit) continue;
        }
        if (status == CAL_OK) status = follow_pair(w, way, bodies, allowed, limit, out, known, error);
    }
    return status;
}

// Gaps that contacts in `far` would have to have half-way, if what is allowed at a share s of the way is all that there is to be.
static void lift_to_middle(cal_group_work* w, double s, double allowed) {
    for (int k = 0; k < w->far.count; k++) {
        cal_group_contact* contact = &w->far.contacts[k];
        if (contact->stop == 0) contact->gap = (contact->gap + allowed) / (4.0 * s * (1.0 - s)) - allowed;
    }
}

cal_status cal_way_check(cal_group_work* w, const cal_group_way* way, double allowed, double limit, cal_error* error) {
    enum { ROUNDS = 6 };
    sort_pairs(w);
    cal_status status = w->unsure ? find_more_pairs(w, way, error) : CAL_OK;
    for (int round = 0; status == CAL_OK; round++) {
        worst found = {.at = 0.5};
        bool known = true;
        if (w->pair_missed) {
            w->report->contacts = 2 * w->cache.capacity + 16;
            return CAL_NO_MEMORY;
        }
        status = follow_pairs(w, way, allowed, limit, round == 0, &found, &known, error);
        if (status != CAL_OK || (known && found.depth <= limit)) return status;
        if (!known || round == ROUNDS) {
            w->report->overlaps = true;
            return CAL_OK;
        }
        status = cal_way_find(w, way, &w->far, found.at, error);
        for (int k = 0; status == CAL_OK && k < w->far.count; k++) cal_way_note(w, &w->far.contacts[k], false, false);
        sort_pairs(w);
        lift_to_middle(w, found.at, allowed);
        if (status == CAL_OK) status = cal_way_bow_more(w, way, found.at * way->h, error);
    }
    return status;
}
