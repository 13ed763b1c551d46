// When two bodies collide: the first time at which they touch and approach. No step of a search passes a root: each goes as far
// as the motions' own bounds (cal_body_bounds) say that nothing can happen, and the next one looks again from there.
//
// Balls on turning bodies against balls, planes and blocks that do not turn: to second order, and to the root where it is sure that there is
// one (search_balls.c). Everything else: conservative advancement along a fixed direction for each pair of convex pieces, to second order in
// what both do (collide/advance.c).
//
// A step that time cannot resolve is a root, where the bodies approach, or the beginning of a parting.
//
// The time must not depend on who asked for it, when, and how far a search was to go, or a repetition after a rollback would differ in the last
// bits. So the times at which a search looks follow from the motions alone. They are taken in pieces: each ends where the state that either motion
// comes from would end, or at a multiple of the world's window, whatever has changed a motion since.
//
//     A      ○────────────────○──────────────○────────      states (graph.h)
//     B      ────○──────────────────○────────────○─────
//     window ┆                    ┆                    ┆
//     pieces ┆   ├────────────┼───┼─┼────────┼───┼─────┼     each looks at its beginning first, with bounds as far as its end
//
// What turns far in one of these takes it in parts of a power of two, in each of which it turns a few times: how many looks a piece takes is bounded then, and
// a search of many of them can end between two, to go on when time has come there. What spins 10⁵ times in the longest step of a mechanism took more looks for
// one search than any search has, and the world ended before it came to anything.
//
// A search begins where a piece does, and looks at no time that is not before its end; what is at the end belongs to the next one. So whoever
// searches from an earlier piece, or not as far, looks at the same times in each piece. What is known from looks before, as the direction between two
// bodies, ends with a piece.
//
// The last bits are those of a bisection of a window: whether bodies touch and approach at a time depends on nothing but the time and the piece.
//
// Times of balls are halves of halves … of a window as long as these are a few times what rounding makes of a time: the first such time at
// which they touch. Most of them need no look at all then: a search that knows a root to rounding knows on which side of it each of
// these times is.
#include "simulation/motion/search.h"
#include "simulation/body.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/chase.h"
#include "simulation/motion/free_body.h"
#include "simulation/world.h"
#include <float.h>

// The longest search of all tests of worlds (test_first_impact) looks 7,000 times; one that looks fourteen times as often does not end.
enum { MOST_STEPS = 100000, MOST_DOUBLINGS = 24 };
// A search of so many looks ends with its piece: it is as long as the longest that come to something, and nearly all that lies beyond is never come to.
enum { LONG_SEARCH = 8192 };
// What times of balls are rounded to, up: so many times what rounding makes of them, and no more than a share of a size over the speed, or than half
// of the nanosecond (s) to which first impacts are found. The other half is left to rounding: 15 times that of a time of a day.
#define ROUNDINGS 256.0
#define SHARE 1e-9
#define LATEST 5e-10
// How far a body that is no ball goes in a piece at most, in its reaches: a few boxes (event/boxes.c), with each of which somebody may search from the
// beginning of a piece.
#define PIECE_WAY 8.0
#define PIECE_TURN 64.0 // rad: how far a body turns in a piece at most, ten times; more is taken in parts
#define SHORTEST_PIECE 0x1p-7 // in windows of the world: not shorter than the shortest box, and a power of two

// Nothing happens to what lies still for as long as it does.
static bool lie_still(const cal_chase* c) { return c->limits[0].still && c->limits[1].still; }

// How long a piece is at most: as long as the longest box, which few looks pass where nothing is near; a power of two.
static double piece_length(const cal_chase* c) {
    double length = CAL_LONGEST_BOX * c->world->window;
    for (int i = 0; c->pair->kind == CAL_PAIR_GENERAL && i < 2; i++) {
        if (c->view[i].part == NULL) continue;
        const double *u = c->view[i].data + CAL_AT_VELOCITY, speed = sqrt(cal_dot3(u, u));
        int exponent;
        if (!(speed * length > PIECE_WAY * c->part[i]->reach)) continue;
        frexp(PIECE_WAY * c->part[i]->reach / speed, &exponent);
        length = fmax(ldexp(0.5, exponent), SHORTEST_PIECE * c->world->window);
    }
    return length;
}

// The part of a piece in which a time is, as long as time resolves its parts.
static void take_part(cal_chase* c, double time) {
    const double begin = c->begin, length = c->until - begin, turn = fmax(c->limits[0].turn, c->limits[1].turn);
    if (!(turn * length > PIECE_TURN) || !isfinite(turn * length)) return;
    int exponent;
    frexp(turn * length / PIECE_TURN, &exponent);
    const double part = ldexp(length, -exponent), end = c->until;
    if (!(part > PIECE_TURN * cal_time_resolution(c->world, end))) return;
    const double number = floor((time - begin) / part);
    c->begin = fmax(begin, begin + number * part);
    c->until = fmin(end, begin + (number + 1.0) * part);
    if (c->begin > time) c->until = c->begin, c->begin = fmax(begin, begin + (number - 1.0) * part);
    if (!(time < c->until)) c->begin = c->until, c->until = fmin(end, begin + (number + 2.0) * part);
}

// The piece of two motions that holds at a time, and what they keep to in it.
static cal_status begin_piece(cal_chase* c, double time) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < 2; i++)
        if (!c->placed[i]) status = cal_free_body_view(c->world, c->pair->body[i], time, &c->view[i]);
    if (status != CAL_OK) return status;
    const double length = piece_length(c), begin = length * floor(time / length), end = begin + length;
    c->begin = begin;
    c->until = end;
    c->warm = (cal_distance_cache){0};
    for (int i = 0; i < 2; i++) {
        cal_motion_bounds* limits = &c->limits[i];
        if (c->placed[i]) continue;
        status = cal_body_bounds(c->world, c->pair->body[i], time, end, limits);
        if (status != CAL_OK) return status;
        c->begin = fmax(c->begin, limits->begin);
        c->until = fmin(c->until, limits->end);
    }
    if (lie_still(c))
        c->until = fmin(c->limits[0].end, c->limits[1].end);
    else
        take_part(c, time);
    for (int i = 0; i < 3; i++) c->acceleration[i] = c->limits[0].acceleration[i] - c->limits[1].acceleration[i];
    c->slack = c->limits[0].slack + c->limits[1].slack;
    c->relative = sqrt(cal_dot3(c->acceleration, c->acceleration)) + c->slack;
    return CAL_OK;
}

static void begin_chase(cal_world* world, const cal_pair* pair, cal_chase* c) {
    c->world = world;
    c->pair = pair;
    c->size = (double)INFINITY;
    c->begin = c->until = -(double)INFINITY;
    c->warm = (cal_distance_cache){0};
    for (int i = 0; i < 2; i++) {
        const cal_sim_body* part = c->part[i] = &world->bodies[pair->body[i]];
        c->view[i].part = NULL;
        c->placed[i] = false;
        c->limits[i] = (cal_motion_bounds){0};
        if (part->component >= 0) c->size = fmin(c->size, part->reach);
    }
}

cal_status cal_chase_move(cal_chase* c, double time) {
    for (int i = 0; i < 2; i++) {
        const cal_free_view* view = &c->view[i];
        if (c->placed[i]) continue;
        if (view->part != NULL) {
            cal_free_view_at(view, time, view->part->spinning, &c->at[i]);
            continue;
        }
        const cal_status status = cal_body_place_ahead(c->world, c->pair->body[i], c->begin, time, &c->at[i]);
        if (status != CAL_OK) return status;
        c->placed[i] = c->part[i]->component < 0 && c->part[i]->def.motion == CAL_FIXED;
    }
    return CAL_OK;
}

// Turned back about its axis all the time, a body of revolution looks the same.
void cal_chase_turning(const cal_chase* c, int which, double w[3]) {
    const cal_motion* at = &c->at[which];
    for (int i = 0; i < 3; i++) w[i] = c->part[which]->spinning ? at->w[i] : 0.0;
    if (!c->limits[which].unspun) return;
    const int axis = c->part[which]->symmetric - 1;
    double along = 0.0;
    for (int i = 0; i < 3; i++) along += at->pose.rotation[3 * i + axis] * at->w[i];
    for (int i = 0; i < 3; i++) w[i] -= along * at->pose.rotation[3 * i + axis];
}

static cal_sweep sweep_of(const cal_chase* c, int which) {
    const cal_motion_bounds* limits = &c->limits[which];
    const cal_motion* at = &c->at[which];
    cal_sweep sweep = {.slack = limits->slack, .twist = limits->twist, .loose = limits->loose};
    for (int i = 0; i < 3; i++) {
        sweep.u[i] = at->u[i];
        sweep.acceleration[i] = limits->acceleration[i];
    }
    cal_chase_turning(c, which, sweep.w);
    return sweep;
}

static void advance(cal_chase* c, double horizon, cal_advance* out) {
    const cal_sweep sweep[2] = {sweep_of(c, 0), sweep_of(c, 1)};
    cal_advance_pair(c->part[0]->geometry, &c->at[0].pose, &sweep[0], c->part[1]->geometry, &c->at[1].pose, &sweep[1],
                     horizon, CAL_TOUCH_GENERAL * c->size, &c->warm, out);
}

// Pieces that count as touching are followed until time cannot resolve what is left: at 1 mm/s, 1e-11 m are 1e-8 s.
static cal_sight look_general(cal_chase* c, double horizon, double least) {
    cal_advance ahead;
    advance(c, horizon, &ahead);
    if (ahead.nearest.piece_a < 0) return (cal_sight){.step = (double)INFINITY, .latest = (double)INFINITY};
    const bool touching = ahead.touching && ahead.due <= least;
    return (cal_sight){.step = ahead.time,
                       .speed = touching ? ahead.speed : ahead.closing,
                       .touching = touching,
                       .latest = (double)INFINITY};
}

double cal_time_resolution(const cal_world* world, double time) {
    return 4.0 * DBL_EPSILON * (fabs(time) + world->window);
}

// Looks at a time, and as far as its piece goes; a root that time cannot resolve counts as touching.
static cal_status look(cal_chase* c, double time, cal_sight* out) {
    cal_status status = time >= c->until ? begin_piece(c, time) : CAL_OK;
    *out = (cal_sight){.step = c->until - time, .latest = (double)INFINITY};
    if (status == CAL_OK && lie_still(c)) return CAL_OK;
    if (status == CAL_OK) status = cal_chase_move(c, time);
    if (status != CAL_OK) return status;
    c->world->report.checks++;
    const double horizon = fmax(c->until - time, 0.0), least = cal_time_resolution(c->world, time);
    if (c->pair->kind == CAL_PAIR_GENERAL)
        *out = look_general(c, horizon, least);
    else
        cal_look_at_balls(c, horizon, out);
    out->touching |= out->step < least && horizon > least && out->speed > 0.0;
    out->step = fmax(fmin(out->step, horizon), least);
    return CAL_OK;
}

// Whether steps that time just resolves are all that is left, and too many of them: a step grows when there is a gap that the relative
// acceleration does not close in it, and what closes in the time that is resolved is more than the smaller of the bodies is large.
static bool is_hopeless(const cal_chase* c, double time, double step, int left) {
    const double least = cal_time_resolution(c->world, time);
    return step <= least && 0.5 * c->relative * least * least > c->size && (c->until - time) / least > left;
}

// sure: the time is that of a root, to rounding. clear: as for cal_find_hit.
static cal_status search(cal_chase* c, double from, double to, cal_hit* out, bool* sure, double* clear) {
    *out = (cal_hit){(double)INFINITY, 0.0};
    *sure = false;
    double overlap[2];
    cal_reach_interval(c->world, c->pair, from, overlap);
    double time = overlap[0];
    to = fmin(to, overlap[1]); // nothing is to be looked at then: the balls are wider than the bodies
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < MOST_STEPS; i++) {
        if (!(time < to)) return CAL_OK;
        if (clear != NULL && i >= LONG_SEARCH && time == c->until) {
            *clear = time;
            return CAL_OK;
        }
        cal_sight s;
        status = look(c, time, &s);
        if (status == CAL_OK && s.touching) *out = (cal_hit){time, s.speed};
        if (status != CAL_OK || s.touching) return status;
        if (is_hopeless(c, time, s.step, MOST_STEPS - i)) return CAL_NOT_CONVERGED;
        if (time + s.latest < c->until) {
            cal_hit root;
            status = cal_close_in(c, time, &s, &root, sure);
            if (status == CAL_OK && *sure) *out = root;
            if (status != CAL_OK || *sure) return status;
        }
        time = time + s.step >= c->until && c->until > time ? c->until : time + s.step;
    }
    return status == CAL_OK ? CAL_NOT_CONVERGED : status;
}

double cal_search_start(cal_world* world, const cal_pair* pair, double time) {
    cal_chase c;
    begin_chase(world, pair, &c);
    // What cannot be followed says so where it is looked at.
    return begin_piece(&c, time) == CAL_OK ? c.begin : time;
}

cal_status cal_bound_hit(cal_world* world, const cal_pair* pair, double time, double* bound, bool* touching) {
    cal_chase c;
    begin_chase(world, pair, &c);
    cal_sight s = {0};
    const cal_status status = look(&c, time, &s);
    *touching = s.touching;
    *bound = time + s.step;
    return status;
}

void cal_world_contact(cal_world* world, const cal_pair* pair, const cal_motion at[2], cal_separation* out) {
    cal_world_distance(world, pair->body[0], &at[0], pair->body[1], &at[1], (double)INFINITY, NULL, out);
    if (pair->kind != CAL_PAIR_GENERAL || world->bodies[pair->body[0]].geometry == NULL) return;
    cal_chase c;
    begin_chase(world, pair, &c);
    for (int i = 0; i < 2; i++) c.at[i] = at[i];
    cal_advance ahead;
    advance(&c, 0.0, &ahead);
    if (ahead.touching) *out = ahead.contact;
}

// Whether two bodies touch and approach at a time of the piece, from that alone.
static cal_status touches(cal_chase* c, double time, bool* out) {
    const cal_status status = cal_chase_move(c, time);
    if (status != CAL_OK) return status;
    c->world->report.checks++;
    if (c->pair->kind == CAL_PAIR_GENERAL) {
        c->warm = (cal_distance_cache){0};
        *out = look_general(c, 0.0, cal_time_resolution(c->world, time)).touching;
    } else {
        *out = cal_balls_touch(c);
    }
    return CAL_OK;
}

double cal_hit_rounding(const cal_chase* c, const cal_hit* hit) {
    double far = c->size;
    for (int i = 0; i < 3; i++) far += fmax(fabs(c->at[0].pose.position[i]), fabs(c->at[1].pose.position[i]));
    return cal_time_resolution(c->world, hit->time) + (hit->speed > 0.0 ? DBL_EPSILON * far / hit->speed : 0.0);
}

// What times of impact of balls in a window are rounded to, which depends on their motions alone: a multiple of what the rounding of places and
// times makes of a time at the speed that they have at most, so that few of them are near to what they are rounded to; but not so much
// that they get on by more than a share of a size in it, or are late. least: what time can resolve.
static double grain_of(const cal_chase* c, double begin, double end, double least) {
    double speed = 0.0, far = c->size, at[2][3] = {{0}};
    if (c->pair->kind == CAL_PAIR_GENERAL) return least;
    for (int i = 0; i < 2; i++) {
        if (c->view[i].part != NULL)
            speed += cal_free_view_speed(&c->view[i], begin, end, at[i]);
        else if (c->part[i]->component >= 0)
            return least;
        else if (c->part[i]->def.motion == CAL_DRIVEN)
            speed += c->part[i]->def.path_speed;
    }
    if (!(speed > 0.0)) return least;
    for (int i = 0; i < 3; i++) far += fmax(fabs(at[0][i]), fabs(at[1][i]));
    const double most = fmin(SHARE * c->size / speed, LATEST);
    return fmax(least, fmin(ROUNDINGS * DBL_EPSILON * (begin + far / speed), most));
}

// How far from a time that a search has found it is not known whether bodies touch: a few times what rounding can change, and more where
// they are not apart before and touch after it. settled: they are not apart where their motions begin, which is then the time; or they are
// nowhere, a touch that ends at once. Times from `begin` to `end` are looked at.
static cal_status find_width(cal_chase* c, double begin, double end, cal_hit* hit, double* width, bool* settled) {
    double low = begin;
    bool first = false, last = false;
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < MOST_DOUBLINGS; i++, *width *= 2.0) {
        const double high = fmin(hit->time + *width, end);
        low = fmax(hit->time - *width, begin);
        status = touches(c, low, &first);
        if (status == CAL_OK) status = touches(c, high, &last);
        if ((!first || low == begin) && (last || high == end)) break;
    }
    *settled = first || !last;
    if (first && last && low == begin) hit->time = begin;
    return status;
}

// The last bits of a time that a search has found: by bisection of its window, where bodies touch at none of the times well before the
// one found, and at all well after it; only those between `low` and `high` are looked at, all of them in the piece. sure: it is a root.
static cal_status settle_time(cal_chase* c, bool sure, cal_hit* hit) {
    const double window = c->world->window, begin = c->begin, end = c->until;
    double a = window * floor(hit->time / window), b = a + window;
    cal_status status = sure ? CAL_OK : cal_chase_move(c, hit->time);
    double width = 4.0 * cal_hit_rounding(c, hit);
    if (status == CAL_OK && (!sure || hit->time - 2.0 * width <= begin)) {
        bool settled;
        status = find_width(c, begin, end, hit, &width, &settled);
        if (settled) return status;
    }
    // Another search may have found a time at the other end of where rounding says either.
    const double low = fmax(hit->time - 2.0 * width, begin), high = fmin(hit->time + 2.0 * width, end);
    const double grain = grain_of(c, a, b, cal_time_resolution(c->world, hit->time));
    while (status == CAL_OK && b - a > grain) {
        const double middle = 0.5 * (a + b);
        bool touching = middle >= high;
        if (middle > low && middle < high) status = touches(c, middle, &touching);
        if (touching)
            b = middle;
        else
            a = middle;
    }
    hit->time = b;
    return status;
}

cal_status cal_find_hit(cal_world* world, const cal_pair* pair, double from, double to, cal_hit* out, double* clear,
                        cal_error* error) {
    if (clear != NULL) *clear = to;
    if (cal_closed_hit(world, pair, from, out)) {
        world->report.predictions++;
        if (out->time > to) out->time = (double)INFINITY;
        return CAL_OK;
    }
    cal_chase c;
    bool sure;
    begin_chase(world, pair, &c);
    cal_status status = search(&c, from, to, out, &sure, clear);
    if (status == CAL_OK && out->time < (double)INFINITY) status = settle_time(&c, sure, out);
    if (status == CAL_OK) return CAL_OK;
    char a[64], b[64];
    return cal_fail(error, status, "%s and %s cannot be followed from %g to %g s: %s",
                    cal_body_name_at(world, pair->body[0], a, sizeof a),
                    cal_body_name_at(world, pair->body[1], b, sizeof b), from, to, cal_status_text(status));
}
