// Conservative advancement: how long two moving geometries cannot touch.
//
// Let n be the direction of the shortest connection of two convex pieces A and B now, from B to A, and g their distance. At any
// later time their distance is not less than what is seen along the same n (collide.h), so it is not less than
//
//     F(τ) = g + min n·(p(τ) − p(0)) over the points of A − the same maximum over the points of B.
//
// A body's origin moves by u τ + a τ²/2 and at most s τ²/2 more, where a + s hold its acceleration. A point at r from it turns by
// R(τ) r. With ω now and |ω̇| ≤ α, R(τ) differs from a turn at the constant rate ω by an angle of at most α τ²/2; and that turn
// has a Taylor series, whose third-order remainder along n is at most ω² |n×ω| |r| τ³/6:
//
//     n·R(τ) r ≥ m(τ)·r − (α + ω² |n×ω| τ/3) |r| τ²/2,    m(τ) = n + τ n×ω + ½ τ² ((n·ω) ω − ω² n).
//
// Only what of n is across ω turns, so what spins on a plane about its normal is seen as it is.
//
// m is a vector polynomial. On [0, h] it is a mean of its Bernstein coefficients m₀ = n, m₁, m₂ with weights that are not
// negative, and the least value of a sum is not less than the sum of the least values:
//
//     min m(τ)·r ≥ Σ Bᵢ(τ/h) min mᵢ·r,    and each min mᵢ·r is one support point.
//
// So F is bounded from below by a quadratic on [0, h], and its first root is a time before which nothing happens. The bound is
// exact to second order in what the pieces do: corners that come down while the nearest one leaves are in it, and steps to it
// converge quadratically from below. A rounding (a ball's, a capsule's radius) does not turn: only cores count.
//
// Where faces and edges lie along n, one direction does not separate them for long: an edge that turns dips below the plane at
// one of its ends at once, though nothing is there. Then n may go along, n(τ) = n + τ ν: any direction of any length will do, as
// long as F stays above zero. That adds ν to n×ω in m, 2 ν×ω to its quadratic term, and to the motion of the origins, whose
// difference is d, τ ν·d + τ² ν·ḋ. It also makes the remainder's n×ω longer by h |ν×ω|, adds (|ω| |ν×ω| + |ν| α) |r| τ³/2, and for a rounding by
// ρ takes off ρ (|n(τ)| − 1) ≤ ρ ν² τ²/2, since ν is across n. Tried are ν = ω × n
// of either body, which keeps n on its face, and for edges e of A and f of B the one that keeps n across both:
//
//     (n×ω_A + ν)·e = 0,    (n×ω_B + ν)·f = 0,    ν·n = 0.
//
// Where both are so near that even so a step turns them by next to nothing, as a rod whose two balls go round a third one without a gap, they are
// looked at from a frame that turns at the rate ω of one of them, about its origin. That one stands still there, and the other one's origin, y from it, has
//
//     ẏ = ḋ − ω×d,    ÿ = d̈ − 2 ω×ḋ + ω×(ω×d),    |y⃛| ≤ 3 |ω×d̈| + 3 |ω| |ω×ḋ| + ω² |ω×d|,
//
// with d and ḋ as they become in h, and turns at a rate that is less by ω and changes by |ω×ω'| more.
//
// Of a driven body only a bound of every point's acceleration is known: then the Taylor series of its turn ends after ω, and that
// bound is in s.
#include "collide/convex.h"

enum { MOST_TRIALS = 8 };
#define ENOUGH 0.95 // of the time that is wanted: less is left of a way to a root than a twentieth after each look
#define TILT 1e-6   // rad: ends of an edge are told apart by a direction tilted by this
#define SMALL 0.05  // rad: a step that turns a body by less is worth another look, from its own frame
#define FURTHER 1.0 // rad: as far as it goes from there
#define CLOSED 1e-3 // of what counts as touching: 1e-14 of a size there, which is what distances are good to

typedef struct side {
    const cal_geometry* geometry;
    const cal_pose* pose;
    const cal_sweep* sweep;
    double rate; // |ω|
} side;

typedef struct advance {
    side sides[2];
    double speed, relative, slack; // of the origins to each other: velocity, acceleration, and what that may be off by
    double third;                  // and the most of its derivative, of a frame that turns
    double horizon, touch;
    const cal_distance_cache* warm;
    cal_advance* out;
} advance;

static double reach_of(const side* s) { return s->sweep->twist == 0.0 && s->rate == 0.0 ? 0.0 : s->geometry->reach; }

// By how much any two points can come nearer to each other in a time.
static double way_of(const advance* v, double time) {
    double turning = 0.0;
    for (int i = 0; i < 2; i++) {
        const double reach = reach_of(&v->sides[i]);
        if (reach > 0.0) turning += reach * (v->sides[i].rate + 0.5 * v->sides[i].sweep->twist * time);
    }
    return time * (v->speed + turning + 0.5 * time * (v->relative + v->slack));
}

// A piece of a side along a direction n of the world, which is its inward one (sign +1: A) or its outward one (−1: B).
typedef struct piece_motion {
    const cal_convex* piece;
    const side* side;
    double rotation[9]; // of the core's frame
    double arm[3];      // of the core's frame from the body's origin, world
    double sign, reach;
    double now; // the least of sign · n·r
} piece_motion;

// The support point of the core, from the body's origin in the world's axes, at which sign · m·r is least; returns that.
static double least_along(const piece_motion* p, const double m[3], double* out) {
    double d[3], local[3], point[3];
    for (int i = 0; i < 3; i++) d[i] = -p->sign * m[i];
    cal_unrotate3(p->rotation, d, local);
    cal_support_local(p->piece, local, point);
    if (out != NULL) {
        cal_rotate3(p->rotation, point, out);
        for (int i = 0; i < 3; i++) out[i] += p->arm[i];
    }
    return -(cal_dot3(local, point) + cal_dot3(d, p->arm));
}

static void begin_piece(const side* s, const cal_convex* piece, double sign, const double n[3], piece_motion* out) {
    *out = (piece_motion){.piece = piece, .side = s, .sign = sign};
    if (piece->core == CAL_CORE_HALF_SPACE) return;
    out->reach = sqrt(cal_dot3(piece->center, piece->center)) + fmax(piece->reach - piece->radius, 0.0);
    cal_multiply33(s->pose->rotation, piece->frame.rotation, out->rotation);
    cal_rotate3(s->pose->rotation, piece->frame.position, out->arm);
    out->now = least_along(out, n, NULL);
}

static double length_across(const double a[3], const double b[3]) {
    double c[3];
    cal_cross3(a, b, c);
    return sqrt(cal_dot3(c, c));
}

// What a piece adds to the second and third Bernstein coefficients of F on [0, h], where the direction is n + τ ν.
static void add_piece(const piece_motion* p, const double n[3], const double nu[3], double h, double beta[3]) {
    const cal_sweep* sweep = p->side->sweep;
    const double *w = sweep->w, rate = p->side->rate, drift = sqrt(cal_dot3(nu, nu)), square = rate * rate;
    if (p->piece->core == CAL_CORE_HALF_SPACE || (rate == 0.0 && drift == 0.0 && sweep->twist == 0.0)) return;
    double linear[3], quadratic[3], m[3];
    cal_cross3(n, w, linear);
    cal_cross3(nu, w, quadratic);
    const double along = cal_dot3(n, w), across = rate * length_across(nu, w);
    for (int i = 0; i < 3; i++) {
        linear[i] += nu[i];
        quadratic[i] *= 2.0;
        if (!sweep->loose) quadratic[i] += along * w[i] - square * n[i];
    }
    const double third =
        sweep->loose ? 0.0 : square * length_across(n, w) + (rate * h + 3.0) * across + 3.0 * drift * sweep->twist;
    beta[2] -= 0.5 * h * h * p->reach * (sweep->twist + h * third / 3.0);
    for (int i = 0; i < 3; i++) m[i] = n[i] + 0.5 * h * linear[i];
    beta[1] += least_along(p, m, NULL) - p->now;
    for (int i = 0; i < 3; i++) m[i] = n[i] + h * (linear[i] + 0.5 * h * quadratic[i]);
    beta[2] += least_along(p, m, NULL) - p->now;
}

// Where in [0, 1] a quadratic with Bernstein coefficients β first falls below zero, for β₀ > 0; 1: nowhere.
static double first_root(const double beta[3]) {
    if (beta[1] >= 0.0 && beta[2] >= 0.0) return 1.0;
    const double slope = 2.0 * (beta[1] - beta[0]), bend = beta[0] - 2.0 * beta[1] + beta[2];
    const double square = slope * slope - 4.0 * bend * beta[0];
    if (square < 0.0) return 1.0;
    const double root = sqrt(square);
    const double at = slope < 0.0 ? 2.0 * beta[0] / (root - slope) : bend < 0.0 ? (slope + root) / (-2.0 * bend) : 1.0;
    return at < 1.0 ? at : 1.0;
}

// How long two pieces that are `level` from touching along n stay apart along n + τ ν, as far as `horizon`.
static double time_along(const advance* v, const piece_motion pieces[2], const double n[3], const double nu[3],
                         double level, double horizon) {
    double d[3], du[3], da[3];
    for (int i = 0; i < 3; i++) {
        const side *a = &v->sides[0], *b = &v->sides[1];
        d[i] = a->pose->position[i] - b->pose->position[i];
        du[i] = a->sweep->u[i] - b->sweep->u[i];
        da[i] = a->sweep->acceleration[i] - b->sweep->acceleration[i];
    }
    const double square = cal_dot3(nu, nu), drift = sqrt(square), speed = cal_dot3(n, du) + cal_dot3(nu, d);
    const double round = square * (pieces[0].piece->radius + pieces[1].piece->radius);
    const double bend = cal_dot3(n, da) + 2.0 * cal_dot3(nu, du), third = v->third + 3.0 * fabs(cal_dot3(nu, da));
    double best = 0.0, h = horizon;
    for (int trial = 0; trial < MOST_TRIALS && h > best; trial++) {
        const double off = v->slack * (1.0 + drift * h) + h * third / 3.0 + round;
        double beta[3] = {level, level + 0.5 * h * speed, level + h * (speed + 0.5 * h * (bend - off))};
        for (int i = 0; i < 2; i++) add_piece(&pieces[i], n, nu, h, beta);
        const double safe = h * first_root(beta);
        if (safe > best) best = safe;
        if (safe >= 0.5 * h) break;
        // The remainder grows with h: a shorter interval has a better bound.
        h = fmax(2.0 * safe, h / 16.0);
    }
    return best;
}

// What lies along n of a piece on both sides of the way that its body turns: an edge, or nothing.
static void edge_of(const piece_motion* p, const double n[3], const double tilt[3], double out[3]) {
    double ends[2][3], m[3];
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < 3; i++) m[i] = n[i] + (end == 0 ? TILT : -TILT) * tilt[i];
        least_along(p, m, ends[end]);
    }
    cal_subtract3(ends[0], ends[1], out);
}

// ν that keeps n across an edge of each piece; false: these are no two edges that cross.
static bool follow_edges(const piece_motion pieces[2], const double n[3], double nu[3]) {
    double edges[2][3], wanted[2], cross[3], tilt[3];
    for (int i = 0; i < 2; i++) {
        double turned[3];
        for (int k = 0; k < 3; k++) tilt[k] = pieces[0].side->sweep->w[k] - pieces[1].side->sweep->w[k];
        cal_cross3(n, tilt, turned);
        if (!cal_normalize3(turned)) return false;
        edge_of(&pieces[i], n, turned, edges[i]);
        cal_cross3(n, pieces[i].side->sweep->w, turned);
        wanted[i] = -cal_dot3(turned, edges[i]);
    }
    cal_cross3(edges[0], edges[1], cross);
    const double area = cal_dot3(cross, n), square = cal_dot3(edges[0], edges[0]) * cal_dot3(edges[1], edges[1]);
    if (!(area * area > 1e-12 * square)) return false;
    // ν = (wanted₀ f×n + wanted₁ n×e) / (n·e×f): across n, with ν·e = wanted₀ and ν·f = wanted₁.
    double first[3], second[3];
    cal_cross3(edges[1], n, first);
    cal_cross3(n, edges[0], second);
    for (int i = 0; i < 3; i++) nu[i] = (wanted[0] * first[i] + wanted[1] * second[i]) / area;
    return true;
}

// How long they stay apart along n in a frame that turns with one of them; as far as `horizon`.
static double time_in_frame(const advance* v, const piece_motion pieces[2], const double n[3], int which, double level,
                            double horizon) {
    static const double still[3] = {0.0, 0.0, 0.0};
    const side *own = &v->sides[which], *other = &v->sides[1 - which];
    if (own->sweep->loose || other->sweep->loose) return 0.0;
    const double* w = own->sweep->w;
    double d[3], du[3], a[3], drag[3], twice[3], inner[3], outer[3];
    for (int i = 0; i < 3; i++) {
        d[i] = other->pose->position[i] - own->pose->position[i];
        du[i] = other->sweep->u[i] - own->sweep->u[i];
        a[i] = other->sweep->acceleration[i] - own->sweep->acceleration[i];
    }
    cal_cross3(w, d, drag);
    cal_cross3(w, du, twice);
    cal_cross3(w, drag, inner);
    cal_cross3(w, a, outer);
    cal_sweep sweeps[2] = {*v->sides[0].sweep, *v->sides[1].sweep};
    cal_sweep *frame = &sweeps[which], *moves = &sweeps[1 - which];
    moves->twist += length_across(w, moves->w);
    for (int i = 0; i < 3; i++) {
        moves->u[i] = du[i] - drag[i];
        moves->acceleration[i] = a[i] - 2.0 * twice[i] + inner[i];
        moves->w[i] -= w[i];
        frame->u[i] = frame->acceleration[i] = frame->w[i] = 0.0;
    }
    advance seen = *v;
    piece_motion turned[2] = {pieces[0], pieces[1]};
    for (int i = 0; i < 2; i++) {
        seen.sides[i].sweep = &sweeps[i];
        seen.sides[i].rate = sqrt(cal_dot3(sweeps[i].w, sweeps[i].w));
        turned[i].side = &seen.sides[i];
    }
    const double rate = own->rate, A = sqrt(cal_dot3(outer, outer)), U = sqrt(cal_dot3(twice, twice)),
                 D = sqrt(cal_dot3(drag, drag)), h = horizon;
    seen.third = 3.0 * A + 3.0 * rate * (U + h * A) + rate * rate * (D + h * (U + 0.5 * h * A));
    return time_along(&seen, turned, n, still, level, horizon);
}

static double safe_time(const advance* v, const piece_motion pieces[2], const double n[3], double level, double closing,
                        double horizon) {
    static const double still[3] = {0.0, 0.0, 0.0};
    double best = time_along(v, pieces, n, still, level, horizon), nu[3];
    // As long as the nearest points need, or nearly: no direction does better.
    const double wanted = closing > 0.0 ? fmin(horizon, level / closing) : horizon;
    if (best >= ENOUGH * wanted) return best;
    for (int i = 0; i < 2; i++)
        if (pieces[i].piece->core == CAL_CORE_HALF_SPACE) return best;
    for (int i = 0; i < 3 && best < ENOUGH * wanted; i++) {
        if (i < 2)
            cal_cross3(v->sides[i].sweep->w, n, nu);
        else if (!follow_edges(pieces, n, nu))
            break;
        best = fmax(best, time_along(v, pieces, n, nu, level, horizon));
    }
    for (int i = 0; i < 2; i++)
        if (v->sides[i].rate > 0.0 && best < ENOUGH * wanted && best * v->sides[i].rate < SMALL)
            best = fmax(best, time_in_frame(v, pieces, n, i, level, fmin(horizon, FURTHER / v->sides[i].rate)));
    return best;
}

static double approach(const advance* v, const cal_separation* gap) {
    double rate[2];
    for (int i = 0; i < 2; i++) {
        const side* s = &v->sides[i];
        const double* point = i == 0 ? gap->point_a : gap->point_b;
        double arm[3], velocity[3];
        cal_subtract3(point, s->pose->position, arm);
        cal_cross3(s->sweep->w, arm, velocity);
        rate[i] = cal_dot3(gap->normal, velocity) + cal_dot3(gap->normal, s->sweep->u);
    }
    return rate[1] - rate[0];
}

// How far pieces are from what matters: touching, to rounding where they approach, and for those that touch and part, being deeper
// in each other by what counts as touching, or by a sixteenth where they are in each other already.
static double level_of(double gap, double touch, double speed) {
    if (gap > touch || (speed > 0.0 && gap > CLOSED * touch)) return gap;
    return gap > -touch ? gap + 2.0 * touch : fmax(touch, -0.0625 * gap);
}

static void look(void* user, int i, int k, double* limit) {
    const advance* v = user;
    cal_advance* out = v->out;
    const side *a = &v->sides[0], *b = &v->sides[1];
    const cal_convex *p = &a->geometry->pieces[i], *q = &b->geometry->pieces[k];
    if (cal_pieces_are_far(p, a->pose, q, b->pose, *limit)) return;
    const bool warm = v->warm != NULL && v->warm->piece_a == i && v->warm->piece_b == k &&
                      cal_dot3(v->warm->direction, v->warm->direction) > 0.0;
    cal_separation gap;
    cal_piece_distance(p, a->pose, q, b->pose, warm ? v->warm->direction : NULL, &gap);
    if (!(gap.distance <= *limit)) return;
    gap.piece_a = i, gap.piece_b = k;
    const double speed = approach(v, &gap);
    if (gap.distance <= v->touch && speed > 0.0) {
        const double due = gap.distance > CLOSED * v->touch ? gap.distance / speed : 0.0;
        if (!out->touching || due < out->due) out->due = due;
        if (!out->touching || speed > out->speed) {
            out->speed = speed;
            out->contact = gap;
        }
        out->touching = true;
    }
    piece_motion pieces[2];
    begin_piece(a, p, 1.0, gap.normal, &pieces[0]);
    begin_piece(b, q, -1.0, gap.normal, &pieces[1]);
    const double level = level_of(gap.distance, v->touch, speed);
    const double time = safe_time(v, pieces, gap.normal, level, speed, fmin(v->horizon, out->time));
    if (out->nearest.piece_a >= 0 && time >= out->time) return;
    out->time = time;
    out->closing = speed;
    out->nearest = gap;
    *limit = fmin(*limit, fmax(way_of(v, time), v->touch));
}

void cal_advance_pair(const cal_geometry* a, const cal_pose* pose_a, const cal_sweep* sweep_a, const cal_geometry* b,
                      const cal_pose* pose_b, const cal_sweep* sweep_b, double horizon, double touch,
                      cal_distance_cache* warm, cal_advance* out) {
    *out = (cal_advance){.time = horizon, .nearest = {.piece_a = -1, .piece_b = -1}};
    advance v = {.sides = {{a, pose_a, sweep_a, sqrt(cal_dot3(sweep_a->w, sweep_a->w))},
                           {b, pose_b, sweep_b, sqrt(cal_dot3(sweep_b->w, sweep_b->w))}},
                 .slack = sweep_a->slack + sweep_b->slack,
                 .horizon = horizon,
                 .touch = touch,
                 .warm = warm,
                 .out = out};
    double u[3], acceleration[3];
    for (int i = 0; i < 3; i++) {
        u[i] = sweep_a->u[i] - sweep_b->u[i];
        acceleration[i] = sweep_a->acceleration[i] - sweep_b->acceleration[i];
    }
    v.speed = sqrt(cal_dot3(u, u));
    v.relative = sqrt(cal_dot3(acceleration, acceleration));
    double limit = fmax(way_of(&v, horizon), touch);
    cal_visit_pairs(a, pose_a, b, pose_b, &limit, look, &v);
    if (warm == NULL) return;
    warm->piece_a = out->nearest.piece_a, warm->piece_b = out->nearest.piece_b;
    memcpy(warm->direction, out->nearest.normal, sizeof warm->direction);
}
