// When two bodies collide: the first time at which they touch and approach. No step of a search passes a root: each goes as far
// as the motions' own bounds (cal_body_bounds) say that nothing can happen, and the next one looks again from there.
//
// Balls on turning bodies against balls, planes and blocks that do not turn: the gap g between a ball's centre and a convex
// set is a convex function of where the centre is, so it is never less than it would be for the plane at right angles to the
// normal n of now. From that plane the ball is at g + ġ τ − k τ²/2 at least, with k the relative acceleration of the two against n
// (that of the centres, and (|ω̇| + ω²) times the arm): what goes along a wall does not come nearer to it. Then nothing happens before
// the root of
//
//     g + ġ τ − k τ²/2 = 0,
//
// and stepping there and looking again converges quadratically from below. A block that is driven may turn: no point of it
// then comes nearer faster than the nearest one, plus its turning rate times its size, and acceleration counts in all directions.
//
// Everything else: conservative advancement along a fixed direction for each pair of convex pieces, to second order in what
// both do (collide/advance.c).
//
// A step that time cannot resolve is a root, where the bodies approach, or the beginning of a parting.
//
// The time must not depend on how the search came there, or a repetition after a rollback would differ in the last bits: how far a
// step goes depends on how far bounds hold, and that on what is known of later motions. So the last bits are those of a bisection of
// a window that depends on the motions only. Whether bodies touch and approach at a time depends on nothing but the time.
#include "simulation/motion/search.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/free_body.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <float.h>

#define TOUCH 4e-15         // of balls, relative to sizes and distances from the origin
#define TOUCH_GENERAL 1e-11 // of other shapes, relative to the reach of the smaller one
enum { MOST_STEPS = 1000000, MOST_DOUBLINGS = 24 };
enum { FEW_BALLS = 8 }; // of a body that are placed once for all balls of the other one

// Two bodies that are followed. Where they are, `until` and what comes with it is filled in by a look: searches are many, and short.
typedef struct chase {
    cal_world* world;
    const cal_pair* pair;
    const cal_sim_body* part[2];
    cal_motion at[2];
    cal_free_view view[2];
    bool placed[2]; // of a fixed body: it is where it is
    cal_motion_bounds limits[2];
    double until;           // how far the bounds hold
    double acceleration[3]; // of the first one's centre, seen from the other's
    double slack;           // how far it may be from that
    double relative;        // its length, at most
    double size;            // reach of the smaller one
    cal_distance_cache warm;
} chase;

static cal_status bound_chase(chase* c, double from, double to) {
    c->until = to;
    for (int i = 0; i < 2; i++) {
        const cal_status status = cal_body_bounds(c->world, c->pair->body[i], from, to, &c->limits[i]);
        if (status != CAL_OK) return status;
        c->until = fmin(c->until, c->limits[i].until);
    }
    for (int i = 0; i < 3; i++) c->acceleration[i] = c->limits[0].acceleration[i] - c->limits[1].acceleration[i];
    c->slack = c->limits[0].slack + c->limits[1].slack;
    c->relative = sqrt(cal_dot3(c->acceleration, c->acceleration)) + c->slack;
    return CAL_OK;
}

static void begin_chase(cal_world* world, const cal_pair* pair, chase* c) {
    c->world = world;
    c->pair = pair;
    c->size = (double)INFINITY;
    c->warm = (cal_distance_cache){0};
    for (int i = 0; i < 2; i++) {
        const cal_sim_body* part = c->part[i] = &world->bodies[pair->body[i]];
        c->view[i].part = NULL;
        c->placed[i] = false;
        c->limits[i] = (cal_motion_bounds){0};
        if (part->component >= 0) c->size = fmin(c->size, part->reach);
    }
}

static cal_status move_to(chase* c, double time) {
    for (int i = 0; i < 2; i++) {
        cal_free_view* view = &c->view[i];
        cal_status status = CAL_OK;
        if (c->placed[i]) continue;
        if (!cal_free_view_holds(view, time)) status = cal_free_body_view(c->world, c->pair->body[i], time, view);
        if (status == CAL_OK && view->part != NULL) {
            cal_free_view_at(view, time, view->part->spinning, &c->at[i]);
        } else if (status == CAL_OK) {
            status = cal_body_place_at(c->world, c->pair->body[i], time, &c->at[i]);
            c->placed[i] = c->part[i]->component < 0 && c->part[i]->def.motion == CAL_FIXED;
        }
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

// What a look at two bodies says.
typedef struct sight {
    double step;   // nothing happens before, from now on
    double speed;  // of approach, of those that touch, or else of those that the step is for
    bool touching; // and approaching
} sight;

// The first root of gap − speed τ − k τ²/2, for gap ≥ 0 and k ≥ 0; infinite when there is none.
static double closing_time(double gap, double speed, double k) {
    const double root = sqrt(speed * speed + 2.0 * k * gap);
    if (speed > 0.0) return 2.0 * gap / (speed + root);
    return k > 0.0 ? (root - speed) / k : (double)INFINITY;
}

// Who of a pair has the balls, and the other one, which has balls, too, or is a plane or a block; with the centres of the other one's first
// balls, or where its solid is.
typedef struct rounded {
    int a, b;
    const cal_sim_body *p, *q;
    bool balls;
    int count; // of what the other one has
    double places[FEW_BALLS][3];
    cal_pose solid;
} rounded;

static void place_rounded(const chase* c, rounded* r) {
    r->a = c->part[0]->form == CAL_FORM_BALLS ? 0 : 1;
    r->b = 1 - r->a;
    r->p = c->part[r->a], r->q = c->part[r->b];
    r->balls = r->q->form == CAL_FORM_BALLS;
    r->count = r->balls ? r->q->ball_count : 1;
    if (!r->balls) cal_solid_pose(r->q, &c->at[r->b], &r->solid);
    for (int j = 0; r->balls && j < r->count && j < FEW_BALLS; j++) cal_place_ball(r->q, &c->at[r->b], j, r->places[j]);
}

// The gap between a ball of p with its centre at x and what q has there, and the nearest point y (of a ball: its centre). Of a solid n is the
// normal towards x, of a ball the way there.
static double gap_between(const chase* c, const rounded* r, const double x[3], double radius, int j, double n[3],
                          double y[3]) {
    if (!r->balls) return cal_from_solid(r->q, &r->solid, x, n, y) - radius;
    if (j < FEW_BALLS)
        for (int d = 0; d < 3; d++) y[d] = r->places[j][d];
    else
        cal_place_ball(r->q, &c->at[r->b], j, y);
    for (int d = 0; d < 3; d++) n[d] = x[d] - y[d];
    return sqrt(cal_dot3(n, n)) - radius - r->q->balls[j][3];
}

// Makes n a normal.
static void find_normal(const rounded* r, double n[3]) {
    if (!r->balls) return;
    const double length = sqrt(cal_dot3(n, n));
    for (int d = 0; d < 3; d++) n[d] = length > 0.0 ? n[d] / length : (double)(d == 2);
}

static double far_from_origin(const double x[3], double radius) {
    return fabs(x[0]) + fabs(x[1]) + fabs(x[2]) + radius;
}

// How fast a ball of p at x comes nearer to a point y of q along n, and whether it rests there: what does not come nearer in a window by as
// much as places are rounded to rests against it.
static double closing_speed(const chase* c, const rounded* r, const double x[3], const double v[3], double radius,
                            const double n[3], const double y[3], bool* rests) {
    double w[3];
    cal_point_velocity(&c->at[r->b], y, w);
    const double closing = cal_dot3(n, w) - cal_dot3(n, v);
    *rests = closing * c->world->window <= DBL_EPSILON * far_from_origin(x, radius);
    return closing;
}

// How far a point on a body is from the straight line, in acceleration, because the body turns.
static double bend(const cal_motion_bounds* limits, const double arm[3]) {
    return (limits->twist + limits->turn * limits->turn) * sqrt(cal_dot3(arm, arm));
}

// By how much of its acceleration, seen from the other's, the centre of one comes nearer against a normal towards it.
static double acceleration_against(const chase* c, int which, const double n[3]) {
    const double along = cal_dot3(n, c->acceleration), against = which == 0 ? -along : along;
    return against > 0.0 ? against : 0.0;
}

// How fast balls of two bodies can come nearer to each other at most, and the most that this can grow: what the centres do, and what turning
// adds at the reach of a body.
static void fastest(const chase* c, double* speed, double* k) {
    double u[3];
    for (int d = 0; d < 3; d++) u[d] = c->at[0].u[d] - c->at[1].u[d];
    *speed = sqrt(cal_dot3(u, u)), *k = c->relative;
    for (int i = 0; i < 2; i++) {
        if (!c->part[i]->spinning) continue;
        *speed += sqrt(cal_dot3(c->at[i].w, c->at[i].w)) * c->part[i]->reach;
        *k += (c->limits[i].twist + c->limits[i].turn * c->limits[i].turn) * c->part[i]->reach;
    }
}

// The soonest that any ball of p can touch q, and whether one does now, to a share of sizes and distances from the origin.
static sight look_rounded(const chase* c) {
    rounded r;
    place_rounded(c, &r);
    const cal_sim_body *p = r.p, *q = r.q;
    const cal_motion *at_p = &c->at[r.a], *at_q = &c->at[r.b];
    const double turning =
        r.balls || cal_dot3(at_q->w, at_q->w) == 0.0 ? 0.0 : 2.0 * q->reach * sqrt(cal_dot3(at_q->w, at_q->w));
    double most = 0.0, k_most = 0.0;
    if (r.balls) fastest(c, &most, &k_most);
    sight s = {.step = (double)INFINITY};
    for (int i = 0; i < p->ball_count; i++) {
        const double* ball = p->balls[i];
        double x[3], v[3];
        cal_place_ball(p, at_p, i, x);
        cal_point_velocity(at_p, x, v);
        const double k_p = c->slack + (p->spinning ? bend(&c->limits[r.a], ball) : 0.0);
        for (int j = 0; j < r.count; j++) {
            double n[3], y[3];
            bool rests;
            const double gap = gap_between(c, &r, x, ball[3], j, n, y);
            const double least = TOUCH * far_from_origin(x, ball[3]);
            // Too far away to be the first.
            if (r.balls && gap > least && gap >= s.step * (most + 0.5 * k_most * s.step)) continue;
            find_normal(&r, n);
            const double k = k_p + (turning > 0.0 ? c->relative - c->slack : acceleration_against(c, r.a, n)) +
                             (r.balls && q->spinning ? bend(&c->limits[r.b], q->balls[j]) : 0.0);
            const double closing = closing_speed(c, &r, x, v, ball[3], n, y, &rests);
            const double room = rests ? least : 0.0;
            const double step = closing_time(gap > room ? gap : room, closing + turning, k);
            const bool touching = gap <= least && !rests;
            if (touching ? !s.touching || closing > s.speed : !s.touching && step < s.step) s.speed = closing;
            s.touching |= touching;
            if (step < s.step) s.step = step;
        }
    }
    return s;
}

// Whether any ball of p overlaps q and approaches it.
static bool touches_rounded(const chase* c) {
    rounded r;
    place_rounded(c, &r);
    for (int i = 0; i < r.p->ball_count; i++) {
        const double radius = r.p->balls[i][3];
        double x[3], v[3], n[3], y[3];
        cal_place_ball(r.p, &c->at[r.a], i, x);
        for (int j = 0; j < r.count; j++) {
            bool rests;
            if (!(gap_between(c, &r, x, radius, j, n, y) <= 0.0)) continue;
            find_normal(&r, n);
            cal_point_velocity(&c->at[r.a], x, v);
            closing_speed(c, &r, x, v, radius, n, y, &rests);
            if (!rests) return true;
        }
    }
    return false;
}

static cal_sweep sweep_of(const chase* c, int which) {
    const cal_motion_bounds* limits = &c->limits[which];
    const cal_motion* at = &c->at[which];
    cal_sweep sweep = {.slack = limits->slack, .twist = limits->twist, .loose = limits->loose};
    for (int i = 0; i < 3; i++) {
        sweep.u[i] = at->u[i];
        sweep.w[i] = c->part[which]->spinning ? at->w[i] : 0.0;
        sweep.acceleration[i] = limits->acceleration[i];
    }
    return sweep;
}

static void advance(chase* c, double horizon, cal_advance* out) {
    const cal_sweep sweep[2] = {sweep_of(c, 0), sweep_of(c, 1)};
    cal_advance_pair(c->part[0]->geometry, &c->at[0].pose, &sweep[0], c->part[1]->geometry, &c->at[1].pose, &sweep[1],
                     horizon, TOUCH_GENERAL * c->size, &c->warm, out);
}

// Pieces that count as touching are followed until time cannot resolve what is left: at 1 mm/s, 1e-11 m are 1e-8 s.
static sight look_general(chase* c, double horizon, double least) {
    cal_advance ahead;
    advance(c, horizon, &ahead);
    if (ahead.nearest.piece_a < 0) return (sight){.step = (double)INFINITY};
    const bool touching = ahead.touching && ahead.due <= least;
    return (sight){ahead.time, touching ? ahead.speed : ahead.closing, touching};
}

// What time can resolve near a time, with room for the rounding of what is added to it.
static double resolution(const cal_world* world, double time) {
    return 4.0 * DBL_EPSILON * (fabs(time) + world->window);
}

// Looks at a time, with bounds as far as `to`; a root that time cannot resolve counts as touching.
static cal_status look(chase* c, double time, double to, sight* out) {
    // Balls that touch at the end do so whatever the bounds are.
    const bool general = c->pair->kind == CAL_PAIR_GENERAL, ends = time == to && general;
    cal_status status = (time >= c->until && time < to) || ends ? bound_chase(c, time, to) : CAL_OK;
    if (status == CAL_OK) status = move_to(c, time);
    if (status != CAL_OK) return status;
    c->world->report.checks++;
    const double horizon = fmax(c->until - time, 0.0), least = resolution(c->world, time);
    *out = general ? look_general(c, horizon, least) : look_rounded(c);
    out->touching |= out->step < least && horizon > least && out->speed > 0.0;
    out->step = fmax(fmin(out->step, horizon), least);
    return CAL_OK;
}

static cal_status search(cal_world* world, const cal_pair* pair, double from, double to, cal_hit* out) {
    *out = (cal_hit){(double)INFINITY, 0.0};
    double overlap[2];
    cal_reach_interval(world, pair, from, overlap);
    double time = overlap[0];
    if (time > to) return CAL_OK;
    const bool parts = overlap[1] < to; // before the end, at which there is nothing to look at then
    if (parts) to = overlap[1];
    chase c;
    begin_chase(world, pair, &c);
    cal_status status = bound_chase(&c, time, to);
    for (int i = 0; status == CAL_OK && i < MOST_STEPS; i++) {
        if (parts && time >= to) return CAL_OK;
        sight s;
        status = look(&c, time, to, &s);
        if (status == CAL_OK && s.touching) *out = (cal_hit){time, s.speed};
        if (status != CAL_OK || s.touching || time >= to) return status;
        time = time + s.step >= c.until ? c.until : time + s.step;
    }
    return status == CAL_OK ? CAL_NOT_CONVERGED : status;
}

cal_status cal_bound_hit(cal_world* world, const cal_pair* pair, double time, double until, double* bound,
                         bool* touching) {
    chase c;
    begin_chase(world, pair, &c);
    sight s = {0};
    cal_status status = bound_chase(&c, time, until);
    if (status == CAL_OK) status = look(&c, time, until, &s);
    *touching = s.touching;
    *bound = time + s.step;
    return status;
}

void cal_world_contact(cal_world* world, const cal_pair* pair, const cal_motion at[2], cal_separation* out) {
    cal_world_distance(world, pair->body[0], &at[0], pair->body[1], &at[1], (double)INFINITY, NULL, out);
    if (pair->kind != CAL_PAIR_GENERAL || world->bodies[pair->body[0]].geometry == NULL) return;
    chase c;
    begin_chase(world, pair, &c);
    for (int i = 0; i < 2; i++) c.at[i] = at[i];
    cal_advance ahead;
    advance(&c, 0.0, &ahead);
    if (ahead.touching) *out = ahead.contact;
}

// Where the window of a time begins: not before the state that either motion comes from.
static double window_of(const cal_world* world, const cal_pair* pair, double time) {
    double begin = world->window * floor(time / world->window);
    for (int i = 0; i < 2; i++) {
        const int component = cal_body_component(world, pair->body[i], time);
        if (component < 0) continue;
        const cal_queue* queue = &world->components[component].queue;
        const int64_t n = cal_queue_find(queue, time);
        if (n >= queue->head) begin = fmax(begin, cal_saved_state_at(queue, n)->time);
    }
    return begin;
}

// Whether two bodies touch and approach at a time, from that alone.
static cal_status touches(chase* c, double time, bool* out) {
    const cal_status status = move_to(c, time);
    if (status != CAL_OK) return status;
    c->world->report.checks++;
    if (c->pair->kind == CAL_PAIR_GENERAL) {
        c->warm = (cal_distance_cache){0};
        *out = look_general(c, 0.0, resolution(c->world, time)).touching;
    } else {
        *out = touches_rounded(c);
    }
    return CAL_OK;
}

// How far from a time of impact rounding may say either: what times are rounded to, and what that of places makes of a time.
static double rounding(const chase* c, const cal_hit* hit) {
    double far = c->size;
    for (int i = 0; i < 3; i++) far += fmax(fabs(c->at[0].pose.position[i]), fabs(c->at[1].pose.position[i]));
    return resolution(c->world, hit->time) + (hit->speed > 0.0 ? DBL_EPSILON * far / hit->speed : 0.0);
}

// The last bits of a time that a search has found: by bisection of its window, where they touch at none of the times well before the
// one found, and at all well after it. Times between `low` and `high` are looked at: a few times what rounding can change, and more
// where bodies are not apart at the one and touch at the other. Left as it is where that is nowhere: a touch that ends at once. No
// motion that holds then begins after `begin`.
static cal_status settle_time(chase* c, double begin, cal_hit* hit) {
    const double least = resolution(c->world, hit->time), window = c->world->window;
    double a = window * floor(hit->time / window), b = a + window, low = begin;
    bool first = false, last = false;
    cal_status status = move_to(c, hit->time);
    double width = 4.0 * rounding(c, hit);
    for (int i = 0; status == CAL_OK && i < MOST_DOUBLINGS; i++, width *= 2.0) {
        const double high = fmin(hit->time + width, b);
        low = fmax(hit->time - width, begin);
        status = touches(c, low, &first);
        if (status == CAL_OK) status = touches(c, high, &last);
        if ((!first || low == begin) && (last || high == b)) break;
    }
    if (status != CAL_OK || !last) return status;
    if (first && low == begin) hit->time = begin;
    if (first) return CAL_OK;
    // Another search may have found a time at the other end of where rounding says either.
    low = fmax(hit->time - 2.0 * width, begin);
    const double high = fmin(hit->time + 2.0 * width, b);
    while (status == CAL_OK && b - a > least) {
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

cal_status cal_find_hit(cal_world* world, const cal_pair* pair, double from, double to, cal_hit* out,
                        cal_error* error) {
    if (cal_closed_hit(world, pair, from, out)) {
        world->report.predictions++;
        if (out->time > to) out->time = (double)INFINITY;
        return CAL_OK;
    }
    cal_status status = search(world, pair, from, to, out);
    if (status == CAL_OK && out->time < (double)INFINITY) {
        chase c;
        begin_chase(world, pair, &c);
        status = settle_time(&c, window_of(world, pair, out->time), out);
    }
    if (status == CAL_OK) return CAL_OK;
    char a[64], b[64];
    return cal_fail(error, status, "%s and %s cannot be followed from %g to %g s: %s",
                    cal_body_name_at(world, pair->body[0], a, sizeof a),
                    cal_body_name_at(world, pair->body[1], b, sizeof b), from, to, cal_status_text(status));
}
