// Looks at balls on turning bodies against balls, planes and blocks that do not turn.
//
// The gap between a ball's centre and a convex set is a convex function of where the centre is, so it is never less than it would be for the
// plane at right angles to the normal n at any place. Seen from the other one a centre goes along
//
//     p(τ) = r + v τ + a τ²/2    and at most k τ²/2 beside it,
//
// with a the acceleration of the two bodies' centres and k what is not known of it, with (|ω̇| + ω²) times the arm of each ball: what goes
// along a wall does not come nearer to it. Where the gap at p(τ) is g and the normal n, nothing happens before the root s of
//
//     g − k τ²/2 + (n·ṗ − k τ) s − (k − n·a) s²/2 = 0.
//
// From τ = 0 that is the bound of a look. Between two balls it is followed by a few more of the same from τ + s on, as long as these get on: a
// ball that passes by is passed in one look. A block that is driven may turn: no point of it then comes nearer faster than the nearest one, plus
// its turning rate times its size, and acceleration counts in all directions.
//
// Stepping there and looking again converges quadratically from below. In the end that is not needed: as long as balls are apart, the second
// derivative of their gap is at most
//
//     K = |a| + k + u² / R,    u ≥ |v|,
//
// with R the sum of radii, which the distance of centres is not less than; so they touch at the latest at the first root of g + ġ τ + K τ²/2,
// and come nearer until then. Where nobody else can touch before that, what is left is the root of a function of time that falls: with
// accelerations as they are, (ω̇ by Euler's equations), p(τ) is good to the third order, its roots converge cubically, and a bound of the third
// derivative, |arm| ω (ω² + 6 |ω̇|) for each ball, tells when there is nothing more to gain.
#include "simulation/motion/chase.h"
#include "simulation/world.h"
#include <float.h>

enum {
    FEW_BALLS = 8,
    MOST_PAIRS = FEW_BALLS * FEW_BALLS
};                          // of a body that are placed once for all balls of the other one
enum { MOST_TANGENTS = 4 }; // of a look
enum { MOST_ROOTS = 8 };

// A ball of a body at a time: its centre and velocity, and how far it is from the straight line, in acceleration, because the body turns.
typedef struct ball {
    double x[3], v[3], radius, bend;
} ball;

static void place(const cal_chase* c, int which, int number, ball* out) {
    const cal_sim_body* part = c->part[which];
    const cal_motion* at = &c->at[which];
    const cal_motion_bounds* limits = &c->limits[which];
    const double* center = part->balls[number];
    out->radius = center[3];
    out->bend = 0.0;
    for (int i = 0; i < 3; i++) out->x[i] = at->pose.position[i], out->v[i] = at->u[i];
    if (!part->spinning) return;
    double arm[3], turned[3];
    cal_rotate3(at->pose.rotation, center, arm);
    cal_cross3(at->w, arm, turned);
    for (int i = 0; i < 3; i++) out->x[i] += arm[i], out->v[i] += turned[i];
    out->bend = (limits->twist + limits->turn * limits->turn) * sqrt(cal_dot3(center, center));
}

// Who of a pair has the balls, and the other one, which has balls, too, or is a plane or a block; with the other one's first balls, or
// where its solid is.
typedef struct rounded {
    int a, b;
    const cal_sim_body *p, *q;
    bool balls;
    int count; // of what the other one has
    ball others[FEW_BALLS];
    cal_pose solid;
} rounded;

static void tell_apart(const cal_chase* c, rounded* r) {
    r->a = c->part[0]->form == CAL_FORM_BALLS ? 0 : 1;
    r->b = 1 - r->a;
    r->p = c->part[r->a], r->q = c->part[r->b];
    r->balls = r->q->form == CAL_FORM_BALLS;
    r->count = r->balls ? r->q->ball_count : 1;
    if (!r->balls) cal_solid_pose(r->q, &c->at[r->b], &r->solid);
}

static void place_others(const cal_chase* c, rounded* r) {
    tell_apart(c, r);
    for (int j = 0; r->balls && j < r->count && j < FEW_BALLS; j++) place(c, r->b, j, &r->others[j]);
}

// A ball of q; the first few are placed already.
static const ball* other_ball(const cal_chase* c, const rounded* r, int j, ball* room) {
    if (j < FEW_BALLS) return &r->others[j];
    place(c, r->b, j, room);
    return room;
}

// A ball of p and what it may touch: the gap, the normal n towards the ball, its velocity v seen from there and how fast it comes nearer.
typedef struct meeting {
    double r[3]; // of two balls: from centre to centre
    double n[3], v[3];
    double gap, closing, radius; // radius: the sum of both
    double bend;
} meeting;

static void normalize(const double r[3], double length, double n[3]) {
    for (int d = 0; d < 3; d++) n[d] = length > 0.0 ? r[d] / length : (double)(d == 2);
}

// The way between the centres of two balls; returns its square.
static double between(const ball* p, const ball* q, double r[3]) {
    for (int d = 0; d < 3; d++) r[d] = p->x[d] - q->x[d];
    return cal_dot3(r, r);
}

static void meet_ball(const ball* p, const ball* q, double square, meeting* m) {
    const double length = sqrt(square);
    m->radius = p->radius + q->radius;
    m->gap = length - p->radius - q->radius;
    m->bend = p->bend + q->bend;
    normalize(m->r, length, m->n);
    for (int d = 0; d < 3; d++) m->v[d] = p->v[d] - q->v[d];
    m->closing = -cal_dot3(m->n, m->v);
}

static void meet_solid(const cal_chase* c, const rounded* r, const ball* p, meeting* m) {
    double y[3], w[3];
    m->radius = p->radius;
    m->gap = cal_from_solid(r->q, &r->solid, p->x, m->n, y) - p->radius;
    m->bend = p->bend;
    cal_point_velocity(&c->at[r->b], y, w);
    for (int d = 0; d < 3; d++) m->v[d] = p->v[d] - w[d];
    m->closing = -cal_dot3(m->n, m->v);
}

static double far_from_origin(const ball* p) { return fabs(p->x[0]) + fabs(p->x[1]) + fabs(p->x[2]) + p->radius; }

// What does not come nearer in a window by as much as places are rounded to rests.
static bool rests(const cal_chase* c, const ball* p, const meeting* m) {
    return m->closing * c->world->window <= DBL_EPSILON * far_from_origin(p);
}

// The first root of gap − speed τ − k τ²/2, for gap ≥ 0 and k ≥ 0; infinite when there is none.
static double closing_time(double gap, double speed, double k) {
    const double root = sqrt(speed * speed + 2.0 * k * gap);
    if (speed > 0.0) return 2.0 * gap / (speed + root);
    return k > 0.0 ? (root - speed) / k : (double)INFINITY;
}

// By how much of an acceleration a ball comes nearer against a normal towards it.
static double against(const double n[3], const double a[3]) {
    const double along = cal_dot3(n, a);
    return along < 0.0 ? -along : 0.0;
}

// How long a ball stays apart, that is so now by a gap or by rounding (least).
static double time_apart(const meeting* m, const double a[3], double k, double least, bool at_rest) {
    const double room = at_rest ? least : 0.0;
    return closing_time(m->gap > room ? m->gap : room, m->closing, k + against(m->n, a));
}

// How long two balls stay apart that do so for a time t: see above. No longer than `most` is asked for.
static double time_beyond(const meeting* m, const double a[3], double k, double least, double t, double most) {
    for (int i = 0; i < MOST_TANGENTS && t < most; i++) {
        double p[3], v[3], n[3];
        for (int d = 0; d < 3; d++) {
            p[d] = m->r[d] + t * (m->v[d] + 0.5 * t * a[d]);
            v[d] = m->v[d] + t * a[d];
        }
        const double length = sqrt(cal_dot3(p, p)), left = length - m->radius - least - 0.5 * k * t * t;
        if (!(left > 0.125 * m->gap)) break; // more would not get it on by much
        normalize(p, length, n);
        t += closing_time(left, k * t - cal_dot3(n, v), k + against(n, a));
    }
    return t;
}

// How fast balls of two bodies can come nearer to each other at most, and the most that this can grow: what the centres do, and what turning
// adds at the reach of a body.
static void fastest(const cal_chase* c, double* speed, double* k) {
    double u[3];
    for (int d = 0; d < 3; d++) u[d] = c->at[0].u[d] - c->at[1].u[d];
    *speed = sqrt(cal_dot3(u, u)), *k = c->relative;
    for (int i = 0; i < 2; i++) {
        if (!c->part[i]->spinning) continue;
        *speed += sqrt(cal_dot3(c->at[i].w, c->at[i].w)) * c->part[i]->reach;
        *k += (c->limits[i].twist + c->limits[i].turn * c->limits[i].turn) * c->part[i]->reach;
    }
}

// Before when a ball that comes nearer touches, if nobody else does; infinite: that is not sure.
static double latest_touch(const cal_chase* c, const meeting* m) {
    if (!(m->closing > 0.0) || !(m->gap > 0.0)) return (double)INFINITY;
    // It comes twice as long at most as it would at its speed.
    const double a = c->relative + m->bend, u = sqrt(cal_dot3(m->v, m->v)) + a * 2.0 * m->gap / m->closing;
    const double square = m->closing * m->closing - 2.0 * (a + u * u / m->radius) * m->gap;
    return square > 0.0 ? 2.0 * m->gap / (m->closing + sqrt(square)) : (double)INFINITY;
}

// What is known of the motion of a body makes its third derivative: it is free, or nothing accelerates it.
static bool is_smooth(const cal_chase* c, int which) {
    const cal_motion_bounds* limits = &c->limits[which];
    return c->view[which].part != NULL || (limits->slack == 0.0 && limits->turn == 0.0 && limits->twist == 0.0);
}

// What a look has found so far: the soonest that each ball of p can touch each of q, those two that can first, and when others do.
typedef struct findings {
    double times[MOST_PAIRS];
    meeting first;
    double second;
} findings;

// Of two bodies with few balls each: those that can touch first are looked at further, as long as nobody else is the first then.
static void look_further(const cal_chase* c, const rounded* r, const double a[3], double horizon, findings* f,
                         cal_sight* out) {
    const int pairs = r->p->ball_count * r->count;
    for (int round = 0; round < pairs; round++) {
        int best = 0;
        f->second = (double)INFINITY;
        for (int i = 1; i < pairs; i++) {
            const double later = f->times[i] < f->times[best] ? f->times[best] : f->times[i];
            if (f->times[i] < f->times[best]) best = i;
            if (later < f->second) f->second = later;
        }
        if (!(f->times[best] < horizon)) {
            out->step = f->times[best];
            return;
        }
        ball p, room;
        out->balls[0] = best / r->count, out->balls[1] = best % r->count;
        place(c, r->a, out->balls[0], &p);
        const ball* q = other_ball(c, r, out->balls[1], &room);
        meet_ball(&p, q, between(&p, q, f->first.r), &f->first);
        const double least = CAL_TOUCH_BALLS * far_from_origin(&p), from = f->times[best];
        const double most = f->second < horizon ? f->second : horizon;
        f->times[best] = time_beyond(&f->first, a, c->slack + f->first.bend, least, from, most);
        out->step = f->times[best] < f->second ? f->times[best] : f->second;
        out->speed = f->first.closing;
        if (f->times[best] <= f->second || f->times[best] == from) return;
    }
}

void cal_look_at_balls(const cal_chase* c, double horizon, cal_sight* out) {
    rounded r;
    findings f = {.second = (double)INFINITY};
    place_others(c, &r);
    const double rate = r.balls ? 0.0 : sqrt(cal_dot3(c->at[r.b].w, c->at[r.b].w));
    const double turning = rate > 0.0 ? 2.0 * r.q->reach * rate : 0.0; // a plane has no end
    const bool few = r.p->ball_count * r.count <= MOST_PAIRS;
    double most = 0.0, k_most = 0.0, a[3];
    for (int d = 0; d < 3; d++) a[d] = r.a == 0 ? c->acceleration[d] : -c->acceleration[d];
    if (r.balls) fastest(c, &most, &k_most);
    // How far balls may be from each other that touch in time to be the first.
    const double within = horizon * (most + k_most * horizon);
    double reach = within;
    *out = (cal_sight){.step = (double)INFINITY, .latest = (double)INFINITY, .balls = {-1, -1}};
    for (int i = 0; i < r.p->ball_count; i++) {
        ball p, room;
        meeting m;
        place(c, r.a, i, &p);
        const double least = CAL_TOUCH_BALLS * far_from_origin(&p);
        for (int j = 0; j < r.count; j++) {
            // Who is too far away to be the first does not touch before twice its time.
            double step = 2.0 * out->step;
            bool near = true;
            if (r.balls) {
                const ball* q = other_ball(c, &r, j, &room);
                const double square = between(&p, q, m.r), far = p.radius + q->radius + least + reach;
                near = !(square > far * far);
                if (near) meet_ball(&p, q, square, &m);
            } else {
                meet_solid(c, &r, &p, &m);
            }
            if (near) {
                const bool at_rest = rests(c, &p, &m), touching = m.gap <= least && !at_rest;
                if (turning > 0.0)
                    step = closing_time(m.gap > 0.0 ? m.gap
                                        : at_rest   ? least
                                                    : 0.0,
                                        m.closing + turning, c->relative + m.bend);
                else
                    step = time_apart(&m, a, c->slack + m.bend, least, at_rest);
                if (touching ? !out->touching || m.closing > out->speed : !out->touching && step < out->step)
                    out->speed = m.closing;
                out->touching |= touching;
            }
            if (few) f.times[i * r.count + j] = step;
            if (step >= out->step) {
                if (step < f.second) f.second = step;
                continue;
            }
            f.second = out->step;
            out->step = step;
            out->balls[0] = i, out->balls[1] = j;
            f.first = m;
            const double soon = 2.0 * step * (most + k_most * step);
            reach = soon < within ? soon : within;
        }
    }
    if (out->touching || out->balls[0] < 0 || out->step >= horizon) return;
    if (r.balls && few) look_further(c, &r, a, horizon, &f, out);
    if (out->step >= horizon || turning > 0.0 || !is_smooth(c, 0) || !is_smooth(c, 1)) return;
    const double latest = latest_touch(c, &f.first);
    if (latest < f.second) out->latest = latest;
}

bool cal_balls_touch(const cal_chase* c) {
    rounded r;
    place_others(c, &r);
    for (int i = 0; i < r.p->ball_count; i++) {
        ball p, room;
        meeting m;
        place(c, r.a, i, &p);
        for (int j = 0; j < r.count; j++) {
            if (r.balls) {
                const ball* q = other_ball(c, &r, j, &room);
                const double square = between(&p, q, m.r);
                if (!(sqrt(square) - p.radius - q->radius <= 0.0)) continue;
                meet_ball(&p, q, square, &m);
            } else {
                meet_solid(c, &r, &p, &m);
            }
            if (m.gap <= 0.0 && !rests(c, &p, &m)) return true;
        }
    }
    return false;
}

// --- The end of a search ----------------------------------------------------------------------------------------------------------

// What turning adds to the acceleration of a ball now, and a bound of the third derivative of its way.
static double bend_of(const cal_chase* c, int which, int number, double out[3]) {
    const cal_sim_body* part = c->part[which];
    const cal_motion* at = &c->at[which];
    out[0] = out[1] = out[2] = 0.0;
    if (c->view[which].part == NULL || !part->spinning) return 0.0;
    double arm[3], inner[3], twist[3], twisted[3];
    cal_rotate3(at->pose.rotation, part->balls[number], arm);
    cal_cross3(at->w, arm, inner);
    cal_cross3(at->w, inner, out);
    cal_free_view_twist(&c->view[which], at, twist);
    cal_cross3(twist, arm, twisted);
    for (int i = 0; i < 3; i++) out[i] += twisted[i];
    const double turn = c->limits[which].turn;
    return turn * (turn * turn + 6.0 * c->limits[which].twist) * sqrt(cal_dot3(arm, arm));
}

// Where a ball is a little later, and how fast it then comes nearer.
static double gap_ahead(const rounded* r, const ball* p, const meeting* m, const double a[3], double t,
                        double* closing) {
    double x[3], n[3], y[3], v[3], gap;
    const double* from = r->balls ? m->r : p->x;
    for (int d = 0; d < 3; d++) x[d] = from[d] + t * (m->v[d] + 0.5 * t * a[d]), v[d] = m->v[d] + t * a[d];
    if (r->balls) {
        const double length = sqrt(cal_dot3(x, x));
        normalize(x, length, n);
        gap = length - m->radius;
    } else {
        gap = cal_from_solid(r->q, &r->solid, x, n, y) - m->radius;
    }
    *closing = -cal_dot3(n, v);
    return gap;
}

// The root of that near now by Newton's method, to a time `enough`; false: its steps do not get shorter by half each time.
static bool find_root(const rounded* r, const ball* p, const meeting* m, const double a[3], double enough,
                      double* out) {
    double t = 0.0, last = (double)INFINITY, gap = m->gap, closing = m->closing;
    for (;;) {
        const double step = gap / closing;
        if (!(closing > 0.0) || !(fabs(step) < 0.5 * last)) return false;
        last = fabs(step);
        *out = t += step;
        if (last <= enough) return true;
        gap = gap_ahead(r, p, m, a, t, &closing);
    }
}

cal_status cal_close_in(cal_chase* c, double time, const cal_sight* sight, cal_hit* out, bool* found) {
    double now = time;
    *found = false;
    for (int i = 0; i < MOST_ROOTS; i++) {
        rounded r;
        ball p, q;
        meeting m;
        double a[3], bend[2][3], step;
        tell_apart(c, &r);
        place(c, r.a, sight->balls[0], &p);
        if (r.balls) {
            place(c, r.b, sight->balls[1], &q);
            const double square = between(&p, &q, m.r);
            meet_ball(&p, &q, square, &m);
        } else {
            meet_solid(c, &r, &p, &m);
        }
        double third = bend_of(c, r.a, sight->balls[0], bend[0]);
        bend[1][0] = bend[1][1] = bend[1][2] = 0.0;
        if (r.balls) third += bend_of(c, r.b, sight->balls[1], bend[1]);
        for (int d = 0; d < 3; d++)
            a[d] = (r.a == 0 ? c->acceleration[d] : -c->acceleration[d]) + bend[0][d] - bend[1][d];
        *out = (cal_hit){now, m.closing};
        const double rounding = cal_hit_rounding(c, out);
        if (!find_root(&r, &p, &m, a, 0.25 * rounding, &step)) return CAL_OK;
        out->time = now + step;
        if (!(out->time <= time + sight->latest + rounding) || out->time < time) return CAL_OK;
        // The way is off by |p⃛| τ³/6 at most, and the time by that over the speed.
        if (third * fabs(step * step * step) <= 3.0 * m.closing * rounding) {
            *found = true;
            return CAL_OK;
        }
        now = out->time;
        const cal_status status = cal_chase_move(c, now);
        if (status != CAL_OK) return status;
        c->world->report.checks++;
    }
    return CAL_OK;
}
