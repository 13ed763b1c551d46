// Every first impact is found, at its time: random pairs of every two shapes, from 1 mm to 1 km, from 1 mm/s to 10 km/s, thin and
// thick, with spin, against a search of this file's own in long double. That knows nothing of the library:
//
//     motion    parabolas; Euler's equations by Gragg's midpoint rule and extrapolation (Bulirsch and Stoer)
//     distance  Gilbert, Johnson and Keerthi's algorithm on support functions, with every subset of its points tried. It has a proof
//               of its result: the points that it found are an upper bound, and the gap along their connection a lower one. Between
//               curved surfaces it is slow in the end: the method of centres of gravity then finds the direction
//     search    no distance shrinks faster than V, the fastest that two points can approach: nothing happens for a time g / V.
//               Near the end a step is nine tenths of Newton's
//
// CAL_PAIRS in the environment: how many pairs of every two shapes; CAL_FIRST_PAIR: the number of the first of them, so that several
// processes share a long run; CAL_TESTS: which tests, as nothing_passes*. Every pair is tried, and each that is wrong gets a line.
#include "support_world.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

static uint64_t seed;
static double between(double low, double high) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}
static double decades(double low, double high) { return pow(10.0, between(low, high)); }

static real dot(const real a[3], const real b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(const real a[3], const real b[3], real out[3]) {
    const real c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    memcpy(out, c, sizeof c);
}

// --- Shapes ---------------------------------------------------------------------------------------------------------------------

enum { POINTS = 12, GRID = 5, SIDES = 2, MOST_ROUNDINGS = 400 };

typedef struct thing {
    cal_shape_kind kind;
    double size[3];
    double points[3 * GRID * GRID]; // of a mesh or a grid
    double reach;                   // no point is further from the origin
    bool fixed;
    double x[3], u[3], q[4], w[3], inertia[3]; // w in the world's axes
} thing;

static double rounding_of(const thing* t) { return t->kind == CAL_SPHERE || t->kind == CAL_CAPSULE ? t->size[0] : 0.0; }

// The furthest point of a core along d; part: of a grid, which prism.
static void furthest(const thing* t, int part, const real d[3], real out[3]) {
    const double* s = t->size;
    real square = 0.0L;
    out[0] = out[1] = out[2] = 0.0L;
    switch (t->kind) {
    case CAL_CAPSULE: out[2] = d[2] < 0.0L ? -s[1] : s[1]; break;
    case CAL_BOX:
        for (int i = 0; i < 3; i++) out[i] = d[i] < 0.0L ? -s[i] : s[i];
        break;
    case CAL_CYLINDER:
        square = sqrtl(d[0] * d[0] + d[1] * d[1]);
        for (int i = 0; i < 2; i++) out[i] = square > 0.0L ? s[0] * d[i] / square : 0.0L;
        out[2] = d[2] < 0.0L ? -s[1] : s[1];
        break;
    case CAL_ELLIPSOID:
        for (int i = 0; i < 3; i++) square += (s[i] * d[i]) * (s[i] * d[i]);
        for (int i = 0; i < 3; i++) out[i] = square > 0.0L ? s[i] * s[i] * d[i] / sqrtl(square) : 0.0L;
        break;
    case CAL_MESH:
    case CAL_HEIGHT_FIELD: {
        real best = -INFINITY;
        const int cell = part / 2, column = cell % (GRID - 1), row = cell / (GRID - 1);
        const int corners[3] = {row * GRID + column, (row + 1) * GRID + column + 1,
                                part % 2 == 0 ? row * GRID + column + 1 : (row + 1) * GRID + column};
        const bool grid = t->kind == CAL_HEIGHT_FIELD;
        for (int i = 0; i < (grid ? 6 : POINTS); i++) {
            const double* p = t->points + 3 * (grid ? corners[i % 3] : i);
            const real point[3] = {p[0], p[1], i >= 3 && grid ? -10.0L * t->reach : (real)p[2]};
            if (dot(point, d) <= best) continue;
            best = dot(point, d);
            memcpy(out, point, sizeof point);
        }
        break;
    }
    default: break;
    }
}

// --- Motion ---------------------------------------------------------------------------------------------------------------------

// Quaternion and rates in the body's axes.
typedef struct spin {
    real y[7];
} spin;

static void spin_rate(const double inertia[3], const real y[7], real out[7]) {
    const real *q = y, *w = y + 4;
    out[0] = 0.5L * (-q[1] * w[0] - q[2] * w[1] - q[3] * w[2]);
    out[1] = 0.5L * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
    out[2] = 0.5L * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
    out[3] = 0.5L * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[4 + i] = ((real)inertia[j] - inertia[k]) / inertia[i] * w[j] * w[k];
    }
}

// One step of the extrapolated midpoint rule.
static void spin_step(const double inertia[3], spin* s, real h) {
    enum { LEVELS = 8 };
    real table[LEVELS][7];
    for (int level = 0; level < LEVELS; level++) {
        const int n = 2 * (level + 1);
        real before[7], now[7], next[7], rate[7], above[7];
        memcpy(before, s->y, sizeof before);
        spin_rate(inertia, before, rate);
        for (int i = 0; i < 7; i++) now[i] = before[i] + h / n * rate[i];
        for (int step = 1; step < n; step++) {
            spin_rate(inertia, now, rate);
            for (int i = 0; i < 7; i++) next[i] = before[i] + 2.0L * h / n * rate[i];
            memcpy(before, now, sizeof before);
            memcpy(now, next, sizeof now);
        }
        spin_rate(inertia, now, rate);
        for (int i = 0; i < 7; i++) now[i] = 0.5L * (now[i] + before[i] + h / n * rate[i]);
        memcpy(above, table[0], sizeof above);
        memcpy(table[0], now, sizeof now);
        for (int k = 1; k <= level; k++) {
            const real ratio = (real)n / (n - 2 * k);
            real old[7];
            memcpy(old, table[k], sizeof old);
            for (int i = 0; i < 7; i++)
                table[k][i] = table[k - 1][i] + (table[k - 1][i] - above[i]) / (ratio * ratio - 1.0L);
            memcpy(above, old, sizeof above);
        }
    }
    memcpy(s->y, table[LEVELS - 1], sizeof s->y);
}

static real fastest_turn(const thing* t) {
    real rotation = 0.0L, least = fmin(t->inertia[0], fmin(t->inertia[1], t->inertia[2])), energy = 0.0L;
    for (int i = 0; i < 3; i++) rotation += (real)t->w[i] * t->w[i];
    energy = rotation * fmax(t->inertia[0], fmax(t->inertia[1], t->inertia[2]));
    return t->fixed ? 0.0L : sqrtl(energy / least);
}

typedef struct placed {
    real x[3], u[3], R[9], w[3];
    spin turn;
    real time;
} placed;

static void turn_matrix(placed* p) {
    real *q = p->turn.y, norm = 0.0L;
    for (int i = 0; i < 4; i++) norm += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrtl(norm);
    const real R[9] = {1.0L - 2.0L * (q[2] * q[2] + q[3] * q[3]), 2.0L * (q[1] * q[2] - q[0] * q[3]),
                       2.0L * (q[1] * q[3] + q[0] * q[2]),        2.0L * (q[1] * q[2] + q[0] * q[3]),
                       1.0L - 2.0L * (q[1] * q[1] + q[3] * q[3]), 2.0L * (q[2] * q[3] - q[0] * q[1]),
                       2.0L * (q[1] * q[3] - q[0] * q[2]),        2.0L * (q[2] * q[3] + q[0] * q[1]),
                       1.0L - 2.0L * (q[1] * q[1] + q[2] * q[2])};
    memcpy(p->R, R, sizeof R);
    for (int i = 0; i < 3; i++) p->w[i] = dot(R + 3 * i, q + 4);
}

static placed place_at_start(const thing* t) {
    placed p = {0};
    for (int i = 0; i < 4; i++) p.turn.y[i] = t->q[i];
    turn_matrix(&p);
    for (int i = 0; i < 3; i++) {
        p.x[i] = t->x[i], p.u[i] = t->fixed ? 0.0 : t->u[i];
        for (int k = 0; k < 3 && !t->fixed; k++) p.turn.y[4 + i] += p.R[3 * k + i] * t->w[k];
    }
    turn_matrix(&p);
    return p;
}

static void move_to(const thing* t, real gravity, placed* p, real time) {
    if (t->fixed) return;
    const real rate = fastest_turn(t), span = time - p->time;
    const int steps = (int)(rate * fabsl(span) / 0.5L) + 1;
    for (int i = 0; i < steps && rate > 0.0L; i++) spin_step(t->inertia, &p->turn, span / steps);
    turn_matrix(p);
    for (int i = 0; i < 3; i++) {
        const real a = i == 2 ? -gravity : 0.0L;
        p->x[i] = t->x[i] + time * (t->u[i] + 0.5L * time * a);
        p->u[i] = t->u[i] + time * a;
    }
    p->time = time;
}

// --- Distance -------------------------------------------------------------------------------------------------------------------

typedef struct corner {
    real w[3], b[3]; // a − b, and b
} corner;

static void support(const thing* t, const placed* p, int part, const real d[3], real sign, real out[3]) {
    real local[3] = {0}, point[3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) local[i] += sign * p->R[3 * k + i] * d[k];
    furthest(t, part, local, point);
    for (int i = 0; i < 3; i++) out[i] = p->x[i] + dot(p->R + 3 * i, point);
}

// The point of the affine hull of some corners that is nearest to the origin, by Cramer's rule; false: outside of their simplex.
static bool nearest_of(const corner* c, const int* which, int count, real weights[4]) {
    real e[3][3], G[3][3], r[3], x[3] = {0};
    for (int i = 1; i < count; i++)
        for (int k = 0; k < 3; k++) e[i - 1][k] = c[which[i]].w[k] - c[which[0]].w[k];
    for (int i = 0; i < count - 1; i++) {
        for (int k = 0; k < count - 1; k++) G[i][k] = dot(e[i], e[k]);
        r[i] = -dot(e[i], c[which[0]].w);
    }
    if (count == 2) {
        if (!(G[0][0] > 0.0L)) return false;
        x[0] = r[0] / G[0][0];
    } else if (count == 3) {
        const real D = G[0][0] * G[1][1] - G[0][1] * G[1][0];
        if (!(D > 0.0L)) return false;
        x[0] = (r[0] * G[1][1] - r[1] * G[0][1]) / D;
        x[1] = (r[1] * G[0][0] - r[0] * G[1][0]) / D;
    } else if (count == 4) { // the origin itself: Σ xᵢ eᵢ = −w₀
        real f[3], minus[3];
        cross(e[1], e[2], f);
        const real D = dot(e[0], f);
        if (D == 0.0L) return false;
        for (int k = 0; k < 3; k++) minus[k] = -c[which[0]].w[k];
        for (int i = 0; i < 3; i++) {
            cross(e[(i + 1) % 3], e[(i + 2) % 3], f);
            x[i] = dot(minus, f) / D;
        }
    }
    weights[0] = 1.0L;
    for (int i = 1; i < count; i++) {
        weights[i] = x[i - 1];
        weights[0] -= x[i - 1];
    }
    for (int i = 0; i < count; i++)
        if (!(weights[i] >= 0.0L)) return false;
    return true;
}

// Keeps of some corners those that hold the point nearest to the origin, v; on is the point of b there.
static int reduce(corner* c, int count, real v[3], real on[3]) {
    real best = INFINITY;
    int kept[4], kept_count = 0;
    for (int mask = 1; mask < 1 << count; mask++) {
        int which[4], n = 0;
        real weights[4], w[3] = {0}, b[3] = {0};
        for (int i = 0; i < count; i++)
            if (mask >> i & 1) which[n++] = i;
        if (!nearest_of(c, which, n, weights)) continue;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) {
                w[k] += weights[i] * c[which[i]].w[k];
                b[k] += weights[i] * c[which[i]].b[k];
            }
        if (!(dot(w, w) < best)) continue;
        best = dot(w, w);
        memcpy(v, w, sizeof w);
        memcpy(on, b, sizeof b);
        memcpy(kept, which, sizeof kept);
        kept_count = n;
    }
    corner copies[4];
    for (int i = 0; i < kept_count; i++) copies[i] = c[kept[i]];
    memcpy(c, copies, (size_t)kept_count * sizeof *c);
    return kept_count;
}

// What is between two things: a lower and an upper bound of their distance, the direction from b to a, the point on b.
typedef struct gap {
    real low, high, n[3], on[3];
} gap;

// The gap of two cores along a direction; w: the difference of their points there, on: the one of b.
static real gap_along(const thing* a, const placed* at_a, const thing* b, const placed* at_b, int part, const real n[3],
                      real w[3], real on[3]) {
    real p[3];
    support(a, at_a, 0, n, -1.0L, p);
    support(b, at_b, part, n, 1.0L, on);
    for (int k = 0; k < 3; k++) w[k] = p[k] - on[k];
    return dot(n, w);
}

typedef struct polygon {
    real p[400][2];
    int count;
} polygon;

static real area_of(const polygon* g, real center[2]) {
    real area = 0.0L, x = 0.0L, y = 0.0L;
    const real* o = g->p[0];
    for (int i = 1; i + 1 < g->count; i++) {
        const real ax = g->p[i][0] - o[0], ay = g->p[i][1] - o[1], bx = g->p[i + 1][0] - o[0],
                   by = g->p[i + 1][1] - o[1];
        const real piece = 0.5L * (ax * by - ay * bx);
        area += piece;
        x += piece * (ax + bx) / 3.0L, y += piece * (ay + by) / 3.0L;
    }
    center[0] = o[0] + (area > 0.0L ? x / area : 0.0L), center[1] = o[1] + (area > 0.0L ? y / area : 0.0L);
    return area;
}

// Keeps of a polygon what is on the side of a point that a slope points to.
static void cut(polygon* g, const real at[2], const real slope[2]) {
    polygon old = *g;
    g->count = 0;
    for (int i = 0; i < old.count; i++) {
        const real *p = old.p[i], *q = old.p[(i + 1) % old.count];
        const real u = slope[0] * (p[0] - at[0]) + slope[1] * (p[1] - at[1]);
        const real v = slope[0] * (q[0] - at[0]) + slope[1] * (q[1] - at[1]);
        if (u >= 0.0L) memcpy(g->p[g->count++], p, sizeof old.p[0]);
        if ((u < 0.0L) == (v < 0.0L)) continue;
        for (int k = 0; k < 2; k++) g->p[g->count][k] = p[k] + u / (u - v) * (q[k] - p[k]);
        g->count++;
    }
}

// The largest gap over all directions. As a function of m = n + x e + y f it is concave but for the length of m, so that its slope
// at the centre of what is left of the plane cuts off more than a third of that, smooth or not.
static void polish(const thing* a, const placed* at_a, const thing* b, const placed* at_b, int part, real round,
                   gap* out) {
    const real n[3] = {out->n[0], out->n[1], out->n[2]};
    const real along[3] = {fabsl(n[0]) < 0.5L, fabsl(n[0]) >= 0.5L, 0.0L};
    // No two vectors between the bounds, in a convex set, make a wider angle.
    const real ratio = fmaxl(out->low + round, 0.0L) / (out->high + round);
    const real s = fminl(1.1L * sqrtl(fmaxl(1.0L - ratio * ratio, 0.0L)) / fmaxl(ratio, 0.1L), 4.0L);
    real e[3], f[3];
    cross(n, along, e);
    const real unit = sqrtl(dot(e, e));
    for (int k = 0; k < 3; k++) e[k] /= unit;
    cross(n, e, f);
    polygon g = {.p = {{-s, -s}, {s, -s}, {s, s}, {-s, s}}, .count = 4};
    for (int i = 0; i < 300; i++) {
        real center[2], m[3], w[3], on[3], slope[2];
        if (g.count < 3 || !(area_of(&g, center) > 1e-38L)) return;
        for (int k = 0; k < 3; k++) m[k] = n[k] + center[0] * e[k] + center[1] * f[k];
        const real length = sqrtl(dot(m, m));
        for (int k = 0; k < 3; k++) m[k] /= length;
        const real value = gap_along(a, at_a, b, at_b, part, m, w, on);
        for (int k = 0; k < 3; k++) w[k] -= value * m[k];
        slope[0] = dot(e, w), slope[1] = dot(f, w);
        if (value - round > out->low) {
            out->low = value - round;
            memcpy(out->n, m, sizeof m);
        }
        if (slope[0] == 0.0L && slope[1] == 0.0L) return;
        cut(&g, center, slope);
    }
}

static void part_gap(const thing* a, const placed* at_a, const thing* b, const placed* at_b, int part, gap* out) {
    enum { MOST = 2000 };
    const real round = (real)rounding_of(a) + rounding_of(b), size = (real)a->reach + fmin(b->reach, a->reach);
    corner c[4];
    real v[3], on[3] = {0};
    memcpy(v, out->n, sizeof v);
    out->low = -INFINITY;
    int count = 0;
    for (int i = 0; i < MOST; i++) {
        corner* next = &c[count];
        real p[3];
        support(a, at_a, 0, v, -1.0L, p);
        support(b, at_b, part, v, 1.0L, next->b);
        for (int k = 0; k < 3; k++) next->w[k] = p[k] - next->b[k];
        const real length = sqrtl(dot(v, v)), along = dot(v, next->w) / length;
        if (along - round > out->low) {
            out->low = along - round;
            for (int k = 0; k < 3; k++) out->n[k] = v[k] / length;
        }
        if (count > 0 && (length - round - out->low <= 1e-17L * size || length < 1e-16L * size)) break;
        bool known = false;
        for (int k = 0; k < count; k++)
            known |= c[k].w[0] == next->w[0] && c[k].w[1] == next->w[1] && c[k].w[2] == next->w[2];
        if (known) break;
        const real before = length;
        const bool first = count == 0;
        count = reduce(c, count + 1, v, on);
        out->high = sqrtl(dot(v, v)) - round;
        if (count == 4 || (!first && !(dot(v, v) < before * before))) break;
    }
    memcpy(out->on, on, sizeof on);
    if (out->high - out->low > 1e-16L * size) polish(a, at_a, b, at_b, part, round, out);
    if (out->high < out->low) out->high = out->low;
}

static gap gap_of(const thing* a, const placed* at_a, const thing* b, const placed* at_b, const real hint[3]) {
    gap best = {.low = INFINITY, .high = INFINITY};
    if (b->kind == CAL_PLANE) {
        real p[3];
        for (int k = 0; k < 3; k++) best.n[k] = at_b->R[3 * k + 2];
        support(a, at_a, 0, best.n, -1.0L, p);
        for (int k = 0; k < 3; k++) p[k] -= at_b->x[k];
        best.low = best.high = dot(p, best.n) - rounding_of(a);
        for (int k = 0; k < 3; k++) best.on[k] = at_b->x[k] + p[k] - dot(p, best.n) * best.n[k];
        return best;
    }
    const int parts = b->kind == CAL_HEIGHT_FIELD ? 2 * (GRID - 1) * (GRID - 1) : 1;
    for (int part = 0; part < parts; part++) {
        gap g = {0};
        memcpy(g.n, hint, sizeof g.n);
        part_gap(a, at_a, b, at_b, part, &g);
        if (g.low < best.low) best = g;
    }
    return best;
}

// --- Search ---------------------------------------------------------------------------------------------------------------------

typedef struct meeting {
    thing a, b;
    double gravity, speed, span, rate;
} meeting;

static real reach_of(const thing* t) { return t->reach - rounding_of(t); }

static real closing_of(const placed* a, const placed* b, const gap* g) {
    real ra[3], rb[3], va[3], vb[3];
    for (int k = 0; k < 3; k++) ra[k] = g->on[k] - a->x[k], rb[k] = g->on[k] - b->x[k];
    cross(a->w, ra, va);
    cross(b->w, rb, vb);
    real closing = 0.0L;
    for (int k = 0; k < 3; k++) closing -= g->n[k] * (a->u[k] + va[k] - b->u[k] - vb[k]);
    return closing;
}

// The first time at which a meeting's two are as near as rounding, infinite: none in its span, not a number: its bounds of the gap
// stay too far apart to get there; closing: how fast they approach then.
static real first_time(const meeting* m, real* closing) {
    enum { MOST = 20000 };
    // What distances are good to: of the sizes, and of how far they are from the origin.
    const real touch = 1e-15L * fmin(m->a.reach, m->b.reach) + 1e-17L * (m->a.reach + fabs(m->a.x[2]));
    const real gravity = m->gravity;
    placed a = place_at_start(&m->a), b = place_at_start(&m->b);
    real time = 0.0L, before = 0.0L, hint[3] = {0.0L, 0.0L, 1.0L};
    for (int i = 0; i < MOST; i++) {
        move_to(&m->a, gravity, &a, time);
        move_to(&m->b, gravity, &b, time);
        const gap g = gap_of(&m->a, &a, &m->b, &b, hint);
        memcpy(hint, g.n, sizeof hint);
        *closing = closing_of(&a, &b, &g);
        if (g.low < -touch && time - before > 1e-18L * time) { // Newton went too far
            time = 0.5L * (before + time);
            continue;
        }
        if (g.low <= touch) return time;
        before = time;
        real fall = 0.0L, u = 0.0L, near = m->b.reach;
        for (int k = 0; k < 3; k++) u += (a.u[k] - b.u[k]) * (a.u[k] - b.u[k]);
        if (m->b.fixed || m->a.fixed) fall = gravity;
        const real V = sqrtl(u) + fastest_turn(&m->a) * reach_of(&m->a) + fastest_turn(&m->b) * reach_of(&m->b);
        // V τ + fall τ²/2 = g
        real step = 2.0L * g.low / (V + sqrtl(V * V + 2.0L * fall * g.low));
        if (g.low < 1e-4L * fminl(m->a.reach, near) && *closing > 1e-3L * V)
            step = fmaxl(step, 0.9L * g.low / *closing);
        time += step;
        if (time > m->span) return INFINITY;
    }
    return NAN;
}

static gap gap_at(const meeting* m, real time, real* closing) {
    placed a = place_at_start(&m->a), b = place_at_start(&m->b);
    move_to(&m->a, m->gravity, &a, time);
    move_to(&m->b, m->gravity, &b, time);
    const gap g = gap_of(&m->a, &a, &m->b, &b, (const real[]){0.3L, 0.1L, 1.0L});
    *closing = closing_of(&a, &b, &g);
    return g;
}

// --- Meetings at random ---------------------------------------------------------------------------------------------------------

static thing random_thing(cal_shape_kind kind, double size) {
    thing t = {.kind = kind};
    const double thin = between(0.0, 1.0) < 0.3 ? decades(-4.0, -1.0) : 1.0;
    for (int i = 0; i < 3; i++) t.size[i] = size * between(0.2, 1.0);
    t.size[(int)between(0.0, 2.999)] *= thin;
    for (int i = 0; i < POINTS && kind == CAL_MESH; i++) {
        double* p = t.points + 3 * i;
        double square = 0.0;
        for (int k = 0; k < 3; k++) p[k] = between(-1.0, 1.0), square += p[k] * p[k];
        for (int k = 0; k < 3; k++) p[k] *= t.size[k] / sqrt(square);
    }
    const double *s = t.size, box = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
    t.reach = kind == CAL_SPHERE     ? s[0]
              : kind == CAL_CAPSULE  ? s[0] + s[1]
              : kind == CAL_CYLINDER ? sqrt(s[0] * s[0] + s[1] * s[1])
                                     : box;
    for (int i = 0; i < 4; i++) t.q[i] = between(-1.0, 1.0);
    for (int i = 0; i < 3; i++) t.inertia[i] = s[i] * s[i] + 0.01 * size * size;
    double most = t.inertia[0] + t.inertia[1] + t.inertia[2], diagonal[3];
    for (int i = 0; i < 3; i++) diagonal[i] = most - t.inertia[i];
    memcpy(t.inertia, diagonal, sizeof diagonal);
    return t;
}

static void raise_field(thing* t, double size) {
    for (int i = 0; i < GRID * GRID; i++) {
        double* p = t->points + 3 * i;
        const int column = i % GRID, row = i / GRID;
        p[0] = size * (column - 2), p[1] = size * (row - 2), p[2] = 0.4 * size * between(-1.0, 1.0);
    }
    t->reach = 10.0 * size;
}

typedef enum ground { FREE, WALL, PLANE, FIELD } ground;

static meeting random_meeting(cal_shape_kind a, cal_shape_kind b, ground under) {
    const double size = decades(-3.0, 3.0), speed = decades(-3.0, 4.0);
    meeting m = {.a = random_thing(a, size), .b = random_thing(b, size * decades(-0.5, 0.5)), .speed = speed};
    if (under != FREE) {
        m.b = (thing){.kind = b, .fixed = true, .q = {1.0}, .inertia = {1, 1, 1}, .reach = 100.0 * size};
        for (int i = 1; i < 4; i++) m.b.q[i] = between(-0.1, 0.1);
        for (int i = 0; i < 3; i++) m.b.size[i] = i == 2 ? size * decades(-4.0, -1.0) : 50.0 * size;
        if (under == FIELD) raise_field(&m.b, size);
        if (under == PLANE) memset(m.b.size, 0, sizeof m.b.size);
    }
    const double apart = m.a.reach + (under == FREE ? m.b.reach : size) + size * decades(-2.0, 0.5);
    const double time = apart / speed;
    m.gravity = between(0.0, 1.0) < 0.5 ? 0.0 : between(0.1, 2.0) * apart / (time * time);
    m.span = 1.5 * time;
    thing* both[2] = {&m.a, &m.b};
    for (int k = 0; k < SIDES; k++) {
        const double rate = (between(0.0, 1.0) < 0.1 ? 0.0 : decades(-2.0, 1.5)) / time;
        for (int i = 0; i < 3; i++) {
            both[k]->x[i] = i == 2 ? (k == 0 ? apart : 0.0) : between(-0.25, 0.25) * size;
            both[k]->u[i] = speed * (i == 2 ? (k == 0 ? -0.7 : 0.3) : between(-0.05, 0.05));
            both[k]->w[i] = rate * between(-1.0, 1.0);
            if (both[k]->fixed) both[k]->x[i] = both[k]->u[i] = both[k]->w[i] = 0.0;
        }
    }
    if (under != FREE) m.a.u[2] = -speed;
    // As often as a user would have it, or as seldom as the motion allows.
    m.rate = time > 10.0 || between(0.0, 1.0) < 0.5 ? 20.0 / time : 100.0;
    return m;
}

static cal_world* world_of(const meeting* m) {
    cal_world_def def = cal_default_world_def();
    def.gravity[2] = -m->gravity;
    def.group_rate = m->rate;
    def.restitution = 1.0; // nothing stays in contact: only the first impact is asked for
    cal_world* world = cal_test_world(&def);
    const thing* both[2] = {&m->a, &m->b};
    for (int k = 0; k < SIDES; k++) {
        const thing* t = both[k];
        cal_world_body_def body = cal_default_world_body_def();
        cal_shape_def shape = cal_default_shape_def();
        cal_mesh_def mesh = cal_default_mesh_def();
        cal_error error = {CAL_OK, ""};
        cal_body_id id;
        shape.kind = t->kind;
        mesh.vertices = t->points;
        mesh.vertex_count = t->kind == CAL_MESH ? POINTS : GRID * GRID;
        mesh.columns = t->kind == CAL_HEIGHT_FIELD ? GRID : 0;
        body.density = 0.0, body.mass = 1.0;
        body.motion = t->fixed ? CAL_FIXED : CAL_MOVING;
        memcpy(shape.size, t->size, sizeof shape.size);
        memcpy(body.position, t->x, sizeof body.position);
        memcpy(body.quaternion, t->q, sizeof body.quaternion);
        if (!t->fixed) memcpy(body.velocity, t->u, sizeof body.velocity);
        if (!t->fixed) memcpy(body.angular_velocity, t->w, sizeof body.angular_velocity);
        memcpy(body.inertia, t->inertia, sizeof t->inertia);
        if (cal_world_add_body(world, &body, &id, &error) != CAL_OK) fail_msg("%s", error.text);
        const bool meshed = t->kind == CAL_MESH || t->kind == CAL_HEIGHT_FIELD;
        if (cal_world_add_shape(world, id, &shape, meshed ? &mesh : NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    }
    return world;
}

// To a time and not much further: what comes after an impact is another test's. False: the world did not get there.
static bool find_time(const meeting* m, double until, const char* who, double* found) {
    cal_world* world = world_of(m);
    cal_world_event event;
    bool works = true;
    cal_error error = {CAL_OK, ""};
    const double ends[2] = {fmin(until, m->span), m->span};
    *found = INFINITY;
    for (int i = 0; i < 2 && works && isinf(*found); i++) {
        works = cal_world_advance(world, ends[i], &error) == CAL_OK;
        if (!works) print_error("%s: %s\n", who, error.text);
        if (works && cal_world_next_event(world, &event)) *found = event.time;
    }
    cal_world_destroy(world);
    return works;
}

typedef struct tally {
    int hits, misses, grazes, unsure, wrong;
    int slow;                // hits more than a nanosecond off
    double worst, roundings; // of a size, and of what the rounding of positions and times makes of a time
} tally;

static void try_meeting(const meeting* m, const char* who, tally* sum) {
    real closing, rate;
    const real wanted = first_time(m, &closing);
    double found;
    if (!find_time(m, (double)wanted + 1e-7 * m->span, who, &found)) {
        sum->wrong++;
        return;
    }
    const double size = fmin(m->a.reach, m->b.reach), late = (double)(found - wanted);
    if (isinf(wanted) && isinf(found)) {
        sum->misses++;
        return;
    }
    const bool graze = !(closing > 1e-3L * m->speed);
    // What the rounding of positions and of times, in double, makes of a time, a few hundred times; and where that is more, a nanosecond, or
    // a billionth of a short span, and 45 times.
    const double far = fabs(m->a.x[2]) + m->a.reach + (m->b.fixed ? 0.0 : m->b.reach);
    const double rounding = DBL_EPSILON * (far / fmax((double)closing, 1e-3 * m->speed) + m->span + 2.0 / m->rate);
    const double allowed = fmin(MOST_ROUNDINGS * rounding, 1e-9 * fmin(m->span, 1.0) + 45.0 * rounding);
    if (isfinite(found) && isfinite((double)wanted) && fabs(late) <= allowed) {
        sum->hits++;
        sum->slow += fabs(late) > 1e-9;
        if (!graze) sum->worst = fmax(sum->worst, fabs(late) * m->speed / size);
        if (!graze) sum->roundings = fmax(sum->roundings, fabs(late) / rounding);
        return;
    }
    // Between two of the reference's last steps, or where they hardly approach: they must touch there, to rounding.
    const gap g = gap_at(m, isfinite(found) ? (real)found : wanted, &rate);
    if (isnan(wanted) && isfinite(found) && fabsl(g.low) <= 1e-11L * size) {
        sum->unsure++;
        return;
    }
    if ((graze || found < wanted) && fabsl(g.high) <= 1e-11L * size) {
        sum->grazes++;
        return;
    }
    sum->wrong++;
    print_error("%s: first impact at %.17g s, by the reference %.20Lg s (late by %.3g s of %g, %.3g m of %g); closing "
                "at %Lg of %g m/s, gap then %Lg … %Lg m\n",
                who, found, wanted, late, m->span, late * m->speed, size, closing, m->speed, g.low, g.high);
}

static int pairs_of(void) {
    const char* text = getenv("CAL_PAIRS");
    return text != NULL ? atoi(text) : CAL_TEST_SANITIZED ? 2 : 60;
}

static int first_pair(void) {
    const char* text = getenv("CAL_FIRST_PAIR");
    return text != NULL ? atoi(text) : 0;
}

static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_CAPSULE, CAL_ELLIPSOID, CAL_CYLINDER, CAL_BOX, CAL_MESH};
enum { KINDS = 6 };

static void try_pair(cal_shape_kind a, cal_shape_kind b, ground under, int number, tally* sum) {
    char who[96];
    snprintf(who, sizeof who, "%s and %s %d", cal_shape_kind_name(a), cal_shape_kind_name(b), number);
    seed = ((uint64_t)a * 16 + b) * UINT64_C(1000000007) + (uint64_t)number * UINT64_C(7919) + (uint64_t)under;
    between(0.0, 1.0);
    const meeting m = random_meeting(a, b, under);
    try_meeting(&m, who, sum);
}

// Returns how many are wrong.
static int try_pairs(cal_shape_kind a, cal_shape_kind b, ground under) {
    tally sum = {0};
    const int count = pairs_of(), first = first_pair();
    for (int i = first; i < first + count; i++) try_pair(a, b, under, i, &sum);
    print_message(
        "%s and %s: %d hit, %d pass, %d graze, %d unknown to the reference; off by %.2g of a size at most, and "
        "by %.0f roundings; %d by more than a nanosecond\n",
        cal_shape_kind_name(a), cal_shape_kind_name(b), sum.hits, sum.misses, sum.grazes, sum.unsure, sum.worst,
        sum.roundings, sum.slow);
    assert_true(sum.hits >= count / 3 - sum.wrong);
    assert_true(1000 * sum.unsure <= count || sum.unsure == 1);
    return sum.wrong;
}

static void any_two_free_bodies_meet_when_they_first_touch(void** state) {
    (void)state;
    int wrong = 0;
    for (int a = 0; a < KINDS; a++)
        for (int b = a; b < KINDS; b++) wrong += try_pairs(kinds[a], kinds[b], FREE);
    assert_int_equal(wrong, 0);
}

static void nothing_passes_a_wall(void** state) {
    (void)state;
    int wrong = 0;
    for (int a = 0; a < KINDS; a++) wrong += try_pairs(kinds[a], CAL_BOX, WALL);
    assert_int_equal(wrong, 0);
}

// Slow and large balls after a day: times were rounded to 256 times what rounding makes of them, 7 ns.
static void a_day_later_times_are_as_sharp(void** state) {
    (void)state;
    tally sum = {0};
    try_pair(CAL_SPHERE, CAL_BOX, WALL, 3041, &sum);
    try_pair(CAL_SPHERE, CAL_BOX, WALL, 7064, &sum);
    assert_int_equal(sum.hits, 2);
}

static void nothing_passes_a_plane(void** state) {
    (void)state;
    int wrong = 0;
    for (int a = 0; a < KINDS; a++) wrong += try_pairs(kinds[a], CAL_PLANE, PLANE);
    assert_int_equal(wrong, 0);
}

static void nothing_passes_a_height_field(void** state) {
    (void)state;
    int wrong = 0;
    for (int a = 0; a < KINDS; a++) wrong += try_pairs(kinds[a], CAL_HEIGHT_FIELD, FIELD);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_free_bodies_meet_when_they_first_touch), cmocka_unit_test(nothing_passes_a_wall),
        cmocka_unit_test(a_day_later_times_are_as_sharp), cmocka_unit_test(nothing_passes_a_plane),
        cmocka_unit_test(nothing_passes_a_height_field)};
    const char* only = getenv("CAL_TESTS");
    if (only != NULL) cmocka_set_test_filter(only);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
