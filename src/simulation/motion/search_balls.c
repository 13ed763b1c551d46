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
// Where a look gets on by next to nothing of a turn, as between balls that touch and do not come nearer, k is looked at again. Along a normal that does
// not turn, a turn at a constant rate ω moves an arm by no more than |n×ω| |ω| |arm| τ²/2, and what is left of k is |ω̇| |arm|: what spins beside a plane
// goes on for long. And in a frame that turns with one of two bodies, from the centre of which the other one's is y away, that one's arm
// stands still, the other one's turns at the rate ω' − ω, and
//
//     ẏ = ḋ − ω×d,    ÿ = d̈ − 2 ω×ḋ + ω×(ω×d),    |y⃛| ≤ 3 |ω×d̈| + 3 |ω| |ω×ḋ| + ω² |ω×d|:
//
// two balls that go round one between them without a gap are as good as at rest there.
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
#include <string.h>

enum {
    FEW_BALLS = 8,
    MOST_PAIRS = FEW_BALLS * FEW_BALLS
};                          // of a body that are placed once for all balls of the other one
enum { MOST_TANGENTS = 4 }; // of a look
enum { MOST_ROOTS = 8 };
enum { SPEED_ROUNDINGS = 8 };
#define SMALL 0.05  // rad: a look that gets on by less of a turn is worth another one
#define FURTHER 1.0 // rad: as far as that goes

// A ball of a body at a time: its centre and velocity, and how far it is from the straight line, in acceleration, because the body turns.
typedef struct ball {
    double x[3], v[3], radius, bend;
    double arm[3]; // from the body's centre
    double fast;   // what v is the sum of: it is rounded by a share of that
} ball;

static void place(const cal_chase* c, int which, int number, ball* out) {
    const cal_sim_body* part = c->part[which];
    const cal_motion* at = &c->at[which];
    const cal_motion_bounds* limits = &c->limits[which];
    const double* center = part->balls[number];
    out->radius = center[3];
    out->bend = 0.0;
    out->fast = fabs(at->u[0]) + fabs(at->u[1]) + fabs(at->u[2]);
    for (int i = 0; i < 3; i++) out->x[i] = at->pose.position[i], out->v[i] = at->u[i], out->arm[i] = 0.0;
    if (!part->spinning) return;
    double turned[3];
    cal_rotate3(at->pose.rotation, center, out->arm);
    cal_cross3(at->w, out->arm, turned);
    for (int i = 0; i < 3; i++) out->x[i] += out->arm[i], out->v[i] += turned[i], out->fast += fabs(turned[i]);
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
    double bend, fast;
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
    m->fast = p->fast + q->fast;
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
    m->fast = p->fast + fabs(w[0]) + fabs(w[1]) + fabs(w[2]);
    for (int d = 0; d < 3; d++) m->v[d] = p->v[d] - w[d];
    m->closing = -cal_dot3(m->n, m->v);
}

static double far_from_origin(const ball* p) { return fabs(p->x[0]) + fabs(p->x[1]) + fabs(p->x[2]) + p->radius; }

// What does not come nearer in a window by as much as places are rounded to rests, and what comes nearer by what speeds are rounded to: the turn of
// an arm, its cross product and the sum along the normal are of a few roundings each.
static bool rests(const cal_chase* c, const ball* p, const meeting* m) {
    return m->closing <= DBL_EPSILON * (far_from_origin(p) / c->world->window + SPEED_ROUNDINGS * m->fast);
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

static double length_of(const double a[3]) { return sqrt(cal_dot3(a, a)); }

// How much a ball's turn about its body's centre, at a rate that is constant but for a twist, bends its way along a direction at most.
static double bend_along(const double n[3], const double w[3], double twist, const double arm[3]) {
    double across[3];
    cal_cross3(n, w, across);
    return (twist + length_of(across) * length_of(w)) * length_of(arm);
}

// Two balls, or one and a block, of bodies 0 and 1, seen along the normal from 1 to 0.
typedef struct rotation {
    double n[3], d[3], u[3], a[3]; // the first centre seen from the other one's: place, velocity, acceleration
    double w[2][3], twist[2], arm[2][3];
    double slack;
} rotation;

static void find_rotation(const cal_chase* c, const rounded* r, const ball* p, const ball* q, const meeting* m,
                          const double a[3], rotation* out) {
    const int body[2] = {r->a, r->b};
    out->slack = c->slack;
    memcpy(out->n, m->n, sizeof out->n);
    memcpy(out->a, a, sizeof out->a);
    for (int d = 0; d < 3; d++) {
        out->d[d] = c->at[r->a].pose.position[d] - c->at[r->b].pose.position[d];
        out->u[d] = c->at[r->a].u[d] - c->at[r->b].u[d];
        out->arm[0][d] = p->arm[d], out->arm[1][d] = q != NULL ? q->arm[d] : 0.0;
    }
    for (int i = 0; i < 2; i++) {
        cal_chase_turning(c, body[i], out->w[i]);
        out->twist[i] = c->limits[body[i]].twist;
    }
}

// How a gap bends at most from the frame that turns with one of the two, up to a time.
static double bend_from(const rotation* t, int own, double h) {
    const double* w = t->w[own];
    const double side = own == 0 ? 1.0 : -1.0, rate = length_of(w);
    double drag[3], twice[3], outer[3], inner[3], across[3], rest[3], n[3], a[3];
    cal_cross3(w, t->d, drag);
    cal_cross3(w, t->u, twice);
    cal_cross3(w, t->a, outer);
    cal_cross3(w, drag, inner);
    cal_cross3(w, t->w[1 - own], across);
    for (int i = 0; i < 3; i++) {
        n[i] = side * t->n[i];
        a[i] = side * (t->a[i] - 2.0 * twice[i] + inner[i]);
        rest[i] = t->w[1 - own][i] - w[i];
    }
    const double A = length_of(outer), U = length_of(twice), D = length_of(drag),
                 third = 3.0 * A + 3.0 * rate * (U + h * A) + rate * rate * (D + h * (U + 0.5 * h * A));
    return t->slack + h * third / 3.0 + against(n, a) + t->twist[own] * length_of(t->arm[own]) +
           bend_along(n, rest, t->twist[1 - own] + length_of(across), t->arm[1 - own]);
}

// The same as time_apart for what gets on by next to nothing of a turn otherwise.
static double time_turning(const cal_chase* c, const rounded* r, const ball* p, const ball* q, const meeting* m,
                           const double a[3], double least, bool at_rest, double horizon, double step) {
    rotation t;
    const double gap = fmax(m->gap, at_rest ? least : 0.0);
    const double most = fmax(c->limits[0].turn, c->limits[1].turn);
    if (!(step < horizon) || !(step * most < SMALL) || c->limits[0].loose || c->limits[1].loose) return step;
    find_rotation(c, r, p, q, m, a, &t);
    double k = t.slack + against(t.n, t.a);
    for (int i = 0; i < 2; i++) k += bend_along(t.n, t.w[i], t.twist[i], t.arm[i]);
    double best = fmax(step, closing_time(gap, m->closing, k));
    for (int i = 0; q != NULL && i < 2; i++) {
        // The bound grows with the time that it is for: a shorter one has a better one.
        const double rate = length_of(t.w[i]);
        double h = fmin(horizon, FURTHER / rate);
        for (int trial = 0; rate > 0.0 && trial < MOST_TANGENTS && h > best; trial++) {
            const double safe = fmin(h, closing_time(gap, m->closing, bend_from(&t, i, h)));
            best = fmax(best, safe);
            if (safe >= 0.5 * h) break;
            h = fmax(2.0 * safe, h / 16.0);
        }
    }
    return best;
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
            const ball* q = NULL;
            if (r.balls) {
                q = other_ball(c, &r, j, &room);
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
                    step = time_turning(c, &r, &p, q, &m, a, least, at_rest, horizon,
                                        time_apart(&m, a, c->slack + m.bend, least, at_rest));
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
