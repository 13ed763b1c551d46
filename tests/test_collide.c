// Distances: against closed forms, against an exhaustive computation in extended precision for polytopes, and against a proof for
// curved shapes; in all the degenerate places; and that nothing jumps at contact.
#include "base/random.h"
#include "model/hull.h"
#include "support_collide.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double still[4] = {1.0, 0.0, 0.0, 0.0};

static cal_pose at(double x, double y, double z, const double quaternion[4]) {
    const double position[3] = {x, y, z};
    return cal_pose_make(position, quaternion);
}

static void random_quaternion(cal_random* random, double q[4]) {
    double square = 0.0;
    for (int i = 0; i < 4; i++) q[i] = cal_random_between(random, -1.0, 1.0), square += q[i] * q[i];
    if (square < 0.01) q[0] = 1.0;
}

static cal_pose random_pose(cal_random* random, double spread) {
    double q[4], p[3];
    random_quaternion(random, q);
    for (int i = 0; i < 3; i++) p[i] = cal_random_between(random, -spread, spread);
    return cal_pose_make(p, q);
}

// Both bodies turned and moved together, so that nothing is special about the axes.
static double distance_moved(const cal_geometry* a, cal_pose pa, const cal_geometry* b, cal_pose pb, uint64_t seed,
                             cal_separation* out) {
    cal_random random = {seed};
    const cal_pose frame = random_pose(&random, 3.0);
    cal_pose moved[2] = {pa, pb};
    for (int k = 0; k < 2; k++) {
        double R[9], p[3];
        cal_multiply33(frame.rotation, moved[k].rotation, R);
        cal_rotate3(frame.rotation, moved[k].position, p);
        memcpy(moved[k].rotation, R, sizeof R);
        for (int i = 0; i < 3; i++) moved[k].position[i] = p[i] + frame.position[i];
    }
    cal_separation s;
    cal_distance(a, &moved[0], b, &moved[1], NULL, &s);
    if (out != NULL) *out = s;
    return s.distance;
}

// --- Closed forms -----------------------------------------------------------------------------------------------------

typedef struct known {
    cal_shape_kind kind[2];
    double size[2][3];
    double position[2][3];
    double turned[2]; // about y, quarter turns
    double distance;
    const char* what;
} known;

static void test_closed_forms(void** state) {
    (void)state;
    const double root2 = sqrt(2.0), root3 = sqrt(3.0);
    const known cases[] = {
        {{CAL_SPHERE, CAL_SPHERE}, {{1}, {2}}, {{0}, {3, 4, 0}}, {0}, 2.0, "spheres apart"},
        {{CAL_SPHERE, CAL_SPHERE}, {{1}, {2}}, {{0}, {3, 0, 0}}, {0}, 0.0, "spheres that touch"},
        {{CAL_SPHERE, CAL_SPHERE}, {{1}, {2}}, {{0}, {0}}, {0}, -3.0, "concentric spheres"},
        {{CAL_SPHERE, CAL_CAPSULE}, {{1}, {0.5, 2}}, {{3, 0, 1}, {0}}, {0}, 1.5, "sphere beside a capsule"},
        {{CAL_SPHERE, CAL_CAPSULE}, {{1}, {0.5, 2}}, {{3, 0, 6}, {0}}, {0}, 3.5, "sphere beyond a capsule's end"},
        {{CAL_CAPSULE, CAL_CAPSULE}, {{1, 2}, {0.5, 2}}, {{0}, {0, 4, 0}}, {0, 1}, 2.5, "crossed capsules"},
        {{CAL_CAPSULE, CAL_CAPSULE}, {{1, 2}, {0.5, 2}}, {{0}, {4, 0, 3}}, {0, 0}, 2.5, "parallel capsules"},
        {{CAL_CAPSULE, CAL_CAPSULE}, {{1, 2}, {0.5, 2}}, {{0}, {0}}, {0, 1}, -1.5, "capsules through each other"},
        {{CAL_CAPSULE, CAL_CAPSULE}, {{1, 2}, {0.5, 2}}, {{0}, {0, 0, 1}}, {0, 0}, -1.5, "capsules on one axis"},
        {{CAL_SPHERE, CAL_BOX}, {{1}, {1, 2, 3}}, {{4, 0, 0}, {0}}, {0}, 2.0, "sphere at a face"},
        {{CAL_SPHERE, CAL_BOX}, {{1}, {1, 2, 3}}, {{2, 3, 4}, {0}}, {0}, root3 - 1.0, "sphere at a corner"},
        {{CAL_SPHERE, CAL_BOX}, {{1}, {1, 2, 3}}, {{0.5, 0, 0}, {0}}, {0}, -1.5, "sphere inside a box"},
        {{CAL_SPHERE, CAL_CYLINDER}, {{1}, {1, 2}}, {{0, 4, 1}, {0}}, {0}, 2.0, "sphere beside a cylinder"},
        {{CAL_SPHERE, CAL_CYLINDER}, {{1}, {1, 2}}, {{0, 2, 3}, {0}}, {0}, root2 - 1.0, "sphere at a rim"},
        {{CAL_SPHERE, CAL_CYLINDER}, {{1}, {1, 2}}, {{0.3, 0, 5}, {0}}, {0}, 2.0, "sphere over a cap"},
        {{CAL_SPHERE, CAL_CYLINDER}, {{1}, {1, 2}}, {{0.3, 0, 0}, {0}}, {0}, -1.7, "sphere inside a cylinder"},
        {{CAL_BOX, CAL_BOX}, {{1, 2, 3}, {1, 1, 1}}, {{0}, {4, 0, 0}}, {0}, 2.0, "parallel faces"},
        {{CAL_BOX, CAL_BOX}, {{1, 2, 3}, {1, 1, 1}}, {{0}, {2, 0, 0}}, {0}, 0.0, "faces that touch"},
        {{CAL_BOX, CAL_BOX}, {{1, 2, 3}, {1, 1, 1}}, {{0}, {4, 5, 0}}, {0}, 2.0 * root2, "parallel edges"},
        {{CAL_BOX, CAL_BOX}, {{1, 2, 3}, {1, 1, 1}}, {{0}, {2, 3, 4}}, {0}, 0.0, "corners that touch"},
        {{CAL_BOX, CAL_BOX}, {{1, 2, 3}, {1, 1, 1}}, {{0}, {3, 4, 5}}, {0}, root3, "corners apart"},
        {{CAL_BOX, CAL_BOX}, {{1, 2, 3}, {1, 2, 3}}, {{0}, {0}}, {0}, -2.0, "the same box twice"},
        {{CAL_BOX, CAL_BOX}, {{5, 5, 5}, {1, 1, 1}}, {{0}, {0}}, {0}, -6.0, "concentric boxes"},
        {{CAL_BOX, CAL_BOX}, {{1, 1, 1}, {1, 1, 1}}, {{0}, {1.75, 0, 0}}, {0}, -0.25, "faces in each other"},
        {{CAL_CYLINDER, CAL_CYLINDER}, {{1, 2}, {1, 2}}, {{0}, {0, 0, 5}}, {0}, 1.0, "cap over cap"},
        {{CAL_CYLINDER, CAL_CYLINDER}, {{1, 2}, {1, 2}}, {{0}, {3, 0, 1}}, {0}, 1.0, "parallel cylinders"},
        {{CAL_CYLINDER, CAL_CYLINDER}, {{1, 2}, {1, 2}}, {{0}, {0, 3, 0}}, {0, 1}, 1.0, "crossed cylinders"},
        {{CAL_CYLINDER, CAL_CYLINDER}, {{1, 2}, {1, 2}}, {{0}, {3, 0, 5}}, {0}, root2, "rim to rim"},
        {{CAL_CYLINDER, CAL_CYLINDER}, {{1, 2}, {1, 2}}, {{0}, {0}}, {0}, -2.0, "the same cylinder twice"},
        {{CAL_CYLINDER, CAL_BOX}, {{1, 2}, {1, 1, 1}}, {{0}, {0.5, 0, 4}}, {0}, 1.0, "box over a cap"},
        {{CAL_CYLINDER, CAL_BOX}, {{1, 2}, {1, 1, 1}}, {{0}, {3, 0, 0}}, {0}, 1.0, "box beside a cylinder"},
        {{CAL_CYLINDER, CAL_BOX}, {{1, 2}, {1, 1, 1}}, {{0}, {3, 3, 0}}, {0}, 2 * root2 - 1, "cylinder at an edge"},
        {{CAL_ELLIPSOID, CAL_ELLIPSOID}, {{1, 2, 3}, {2, 1, 1}}, {{0}, {5, 0, 0}}, {0}, 2.0, "ellipsoids on an axis"},
        {{CAL_ELLIPSOID, CAL_SPHERE}, {{1, 2, 3}, {1}}, {{0}, {0, 0, 7}}, {0}, 3.0, "sphere over an ellipsoid"},
        {{CAL_ELLIPSOID, CAL_SPHERE}, {{1, 2, 3}, {1}}, {{0}, {0}}, {0}, -2.0, "sphere in an ellipsoid"},
        {{CAL_ELLIPSOID, CAL_BOX}, {{1, 2, 3}, {1, 1, 1}}, {{0}, {3, 0, 0}}, {0}, 1.0, "ellipsoid and box"},
        {{CAL_CAPSULE, CAL_BOX}, {{0.5, 2}, {1, 1, 1}}, {{0}, {2, 0, 0}}, {0}, 0.5, "capsule along a face"},
        {{CAL_CAPSULE, CAL_BOX}, {{0.5, 2}, {1, 1, 1}}, {{0}, {0}}, {0}, -1.5, "capsule through a box"},
        {{CAL_SPHERE, CAL_PLANE}, {{1}, {0}}, {{3, 4, 5}, {0}}, {0}, 4.0, "sphere over a plane"},
        {{CAL_PLANE, CAL_SPHERE}, {{0}, {1}}, {{0}, {3, 4, -5}}, {0}, -6.0, "sphere under a plane"},
        {{CAL_CYLINDER, CAL_PLANE}, {{1, 2}, {0}}, {{3, 4, 5}, {0}}, {1, 0}, 4.0, "cylinder on its side"},
        {{CAL_ELLIPSOID, CAL_PLANE}, {{1, 2, 3}, {0}}, {{3, 4, 5}, {0}}, {1, 0}, 4.0, "ellipsoid over a plane"},
        {{CAL_BOX, CAL_PLANE}, {{1, 2, 3}, {0}}, {{0, 0, 1.5}, {0}}, {1, 0}, 0.5, "box over a plane"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const known* c = &cases[i];
        cal_geometry* g[2];
        cal_pose pose[2];
        for (int k = 0; k < 2; k++) {
            const double quarter[4] = {1.0, 0.0, c->turned[k], 0.0};
            g[k] = cal_test_shape(c->kind[k], c->size[k][0], c->size[k][1], c->size[k][2]);
            pose[k] = cal_pose_make(c->position[k], quarter);
        }
        for (uint64_t seed = 0; seed < 20; seed++) {
            cal_separation s;
            cal_test_expect_near(distance_moved(g[0], pose[0], g[1], pose[1], seed, &s), c->distance, 2e-14, c->what);
            cal_test_expect_near(distance_moved(g[1], pose[1], g[0], pose[0], seed, NULL), c->distance, 2e-14, c->what);
            for (int k = 0; k < 3; k++)
                cal_test_expect_near(s.point_a[k] - s.point_b[k], s.distance * s.normal[k], 1e-13, "nearest points");
        }
        cal_geometry_destroy(g[0]);
        cal_geometry_destroy(g[1]);
    }
}

// --- Polytopes, exhaustively and in extended precision ----------------------------------------------------------------

typedef long double real;
enum { MOST_VERTICES = 24, MOST_TRIANGLES = 48 };

typedef struct polytope {
    int vertices, triangles;
    double v[MOST_VERTICES][3];
    real w[MOST_VERTICES][3]; // in the world, from a nearby origin
    int t[MOST_TRIANGLES][3];
} polytope;

static real dot(const real a[3], const real b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(const real a[3], const real b[3], real out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}
static void minus(const real a[3], const real b[3], real out[3]) {
    for (int i = 0; i < 3; i++) out[i] = a[i] - b[i];
}

static void place(polytope* p, const cal_pose* pose, const double origin[3]) {
    for (int i = 0; i < p->vertices; i++)
        for (int k = 0; k < 3; k++) {
            p->w[i][k] = (real)pose->position[k] - origin[k];
            for (int m = 0; m < 3; m++) p->w[i][k] += (real)pose->rotation[3 * k + m] * p->v[i][m];
        }
}

// The gap along a direction of any length, the better way round.
static real gap_along(const polytope* a, const polytope* b, const real n[3]) {
    const real length = sqrtl(dot(n, n));
    if (length == 0.0L) return -INFINITY;
    real low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int k = 0; k < 2; k++) {
        const polytope* p = k ? b : a;
        for (int i = 0; i < p->vertices; i++) {
            const real along = dot(n, p->w[i]) / length;
            low[k] = fminl(low[k], along), high[k] = fmaxl(high[k], along);
        }
    }
    return fmaxl(low[0] - high[1], low[1] - high[0]);
}

static real point_to_triangle(const real p[3], const real a[3], const real b[3], const real c[3]) {
    real e[3], f[3], n[3], x[3], y[3];
    minus(b, a, e);
    minus(c, a, f);
    minus(p, a, x);
    cross(e, f, n);
    const real square = dot(n, n);
    if (square == 0.0L) return INFINITY;
    cross(x, f, y);
    const real u = dot(y, n) / square;
    cross(e, x, y);
    const real v = dot(y, n) / square;
    return u < 0.0L || v < 0.0L || u + v > 1.0L ? INFINITY : fabsl(dot(x, n)) / sqrtl(square);
}

static real point_to_segment(const real p[3], const real a[3], const real b[3]) {
    real e[3], x[3];
    minus(b, a, e);
    minus(p, a, x);
    const real t = fminl(1.0L, fmaxl(0.0L, dot(x, e) / dot(e, e)));
    for (int i = 0; i < 3; i++) x[i] -= t * e[i];
    return sqrtl(dot(x, x));
}

static real segment_to_segment(const real p[3], const real q[3], const real r[3], const real s[3]) {
    real least = fminl(fminl(point_to_segment(p, r, s), point_to_segment(q, r, s)),
                       fminl(point_to_segment(r, p, q), point_to_segment(s, p, q)));
    real d[3], e[3], n[3], x[3], y[3];
    minus(q, p, d);
    minus(s, r, e);
    cross(d, e, n);
    const real square = dot(n, n);
    if (square <= 1e-30L * dot(d, d) * dot(e, e)) return least;
    minus(r, p, x);
    cross(x, e, y);
    const real u = dot(y, n) / square;
    cross(x, d, y);
    const real v = dot(y, n) / square;
    if (u >= 0.0L && u <= 1.0L && v >= 0.0L && v <= 1.0L) least = fminl(least, fabsl(dot(x, n)) / sqrtl(square));
    return least;
}

// Apart: the least over all pairs of features. Not apart: the largest gap along all normals and products of edges.
static real exhaustive_distance(const polytope* a, const polytope* b) {
    real best = -INFINITY, least = INFINITY, n[3], e[3], f[3];
    for (int k = 0; k < 2; k++) {
        const polytope *p = k ? b : a, *q = k ? a : b;
        for (int t = 0; t < p->triangles; t++) {
            const real *x = p->w[p->t[t][0]], *y = p->w[p->t[t][1]], *z = p->w[p->t[t][2]];
            minus(y, x, e);
            minus(z, x, f);
            cross(e, f, n);
            best = fmaxl(best, gap_along(a, b, n));
            for (int i = 0; i < q->vertices; i++) least = fminl(least, point_to_triangle(q->w[i], x, y, z));
        }
    }
    for (int t = 0; t < 3 * a->triangles; t++) {
        const int i = a->t[t / 3][t % 3], j = a->t[t / 3][(t + 1) % 3];
        if (i > j) continue;
        minus(a->w[j], a->w[i], e);
        for (int u = 0; u < 3 * b->triangles; u++) {
            const int k = b->t[u / 3][u % 3], m = b->t[u / 3][(u + 1) % 3];
            if (k > m) continue;
            minus(b->w[m], b->w[k], f);
            cross(e, f, n);
            if (dot(n, n) > 1e-24L * dot(e, e) * dot(f, f)) best = fmaxl(best, gap_along(a, b, n));
            least = fminl(least, segment_to_segment(a->w[i], a->w[j], b->w[k], b->w[m]));
        }
    }
    return best > 0.0L ? least : best;
}

typedef struct trial {
    const char* name;
    double scale, thinness, from_origin, spread;
    bool aligned; // faces parallel, positions on a grid
    int count;
} trial;

// A box, a hull of points at random, or a hull of points of a grid, which has many in one plane.
static cal_geometry* random_polytope(cal_random* random, const trial* t, polytope* out) {
    cal_piece_def def = cal_default_piece_def();
    for (;;) {
        const int kind = cal_random_below(random, 3);
        out->vertices = kind == 0 ? 8 : 6 + cal_random_below(random, 8);
        for (int k = 0; k < 3; k++) {
            const double size = t->scale * (k == 0 ? t->thinness : 1.0);
            def.size[k] = size * cal_random_between(random, 0.3, 1.0);
            for (int i = 0; i < out->vertices; i++)
                out->v[i][k] = kind == 0   ? ((i >> k & 1) != 0 ? def.size[k] : -def.size[k])
                               : kind == 1 ? size * cal_random_between(random, -1.0, 1.0)
                                           : size * (cal_random_below(random, 3) - 1);
        }
        def.kind = kind == 0 ? CAL_BOX : CAL_MESH;
        def.vertices = out->v[0];
        def.vertex_count = out->vertices;
        cal_hull hull;
        if (cal_hull_create(out->v[0], out->vertices, &hull, NULL) != CAL_OK) continue; // points in one plane
        assert_true(hull.triangle_count <= MOST_TRIANGLES);
        out->triangles = hull.triangle_count;
        for (int i = 0; i < 3 * hull.triangle_count; i++) out->t[i / 3][i % 3] = hull.triangles[i];
        cal_hull_destroy(&hull);
        return cal_test_geometry(&def, 1);
    }
}

static void random_pair(cal_random* random, const trial* t, cal_pose* pa, cal_pose* pb) {
    *pa = random_pose(random, t->from_origin);
    *pb = random_pose(random, 0.0);
    for (int i = 0; i < 3; i++)
        pb->position[i] = pa->position[i] + t->scale * (t->aligned ? 0.5 * (cal_random_below(random, 9) - 4)
                                                                   : cal_random_between(random, -t->spread, t->spread));
    if (!t->aligned) return;
    const double quarter[4] = {1.0, (double)cal_random_below(random, 2), 0.0, 0.0};
    cal_quaternion_matrix(still, pa->rotation);
    cal_quaternion_matrix(quarter, pb->rotation);
}

static void test_polytopes(void** state) {
    (void)state;
    static const trial trials[] = {
        {"ordinary", 1.0, 1.0, 1.0, 2.0, false, 4000},   {"deep", 1.0, 1.0, 1.0, 0.4, false, 2000},
        {"concentric", 1.0, 1.0, 1.0, 0.0, false, 1000}, {"aligned", 1.0, 1.0, 1.0, 1.0, true, 2000},
        {"tiny", 1e-6, 1.0, 1e-6, 2.0, false, 1000},     {"far from the origin", 1.0, 1.0, 1e6, 2.0, false, 1000},
        {"far apart", 1.0, 1.0, 1.0, 1e6, false, 1000},  {"thin", 1.0, 1e-3, 1.0, 1.0, false, 1000},
        {"as needles", 1.0, 1e-6, 1.0, 1.0, false, 1000}};
    for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) {
        const trial* t = &trials[k];
        cal_random random = {k};
        // A sanitizer looks for wrong memory, which a tenth of them finds as well.
        for (int i = 0; i < (CAL_TEST_SANITIZED ? t->count / 10 : t->count); i++) {
            polytope a, b;
            cal_geometry *ga = random_polytope(&random, t, &a), *gb = random_polytope(&random, t, &b);
            cal_pose pa, pb;
            random_pair(&random, t, &pa, &pb);
            cal_separation s;
            cal_distance(ga, &pa, gb, &pb, NULL, &s);
            // Three in four are moved to where they touch, by a hair, or by a little.
            const int mode = t->aligned ? 0 : cal_random_below(&random, 4);
            if (mode > 0) {
                const double gap = mode == 1 ? 0.0 : (mode == 2 ? 1e-9 : 1e-3) * cal_random_between(&random, -1.0, 1.0);
                for (int m = 0; m < 3; m++) pa.position[m] -= (s.distance - gap * t->scale) * s.normal[m];
                cal_distance(ga, &pa, gb, &pb, NULL, &s);
            }
            place(&a, &pa, pb.position);
            place(&b, &pb, pb.position);
            const double wanted = (double)exhaustive_distance(&a, &b);
            char where[80];
            snprintf(where, sizeof where, "%s, pair %d, distance %g", t->name, i, wanted);
            cal_test_expect_below(fabs(s.distance - wanted) / (t->scale + fabs(wanted)), 1e-13, "distance", where);
            for (int m = 0; m < 3; m++)
                cal_test_expect_below(fabs(s.point_a[m] - s.point_b[m] - s.distance * s.normal[m]),
                                      1e-14 * (t->scale * t->spread + t->from_origin + fabs(wanted)), "points", where);
            cal_geometry_destroy(ga);
            cal_geometry_destroy(gb);
        }
    }
}

// --- Curved shapes, by proof ------------------------------------------------------------------------------------------

typedef struct shape {
    cal_shape_kind kind;
    double size[3];
    double vertices[14][3];
} shape;

// How far a shape reaches along a direction, and how far outside it a point is: written here once more, from scratch.
static double reach(const shape* s, const cal_pose* pose, const double d[3]) {
    double u[3], most = -INFINITY;
    cal_unrotate3(pose->rotation, d, u);
    const double rho = sqrt(u[0] * u[0] + u[1] * u[1]), *z = s->size, offset = cal_dot3(d, pose->position);
    switch (s->kind) {
    case CAL_SPHERE: return offset + z[0] * sqrt(cal_dot3(u, u));
    case CAL_CAPSULE: return offset + z[0] * sqrt(cal_dot3(u, u)) + z[1] * fabs(u[2]);
    case CAL_BOX: return offset + z[0] * fabs(u[0]) + z[1] * fabs(u[1]) + z[2] * fabs(u[2]);
    case CAL_CYLINDER: return offset + z[0] * rho + z[1] * fabs(u[2]);
    case CAL_ELLIPSOID:
        return offset + sqrt(z[0] * z[0] * u[0] * u[0] + z[1] * z[1] * u[1] * u[1] + z[2] * z[2] * u[2] * u[2]);
    default:
        for (int i = 0; i < 14; i++) most = fmax(most, cal_dot3(u, s->vertices[i]));
        return offset + most;
    }
}

static double outside(const shape* s, const cal_pose* pose, const double point[3]) {
    double d[3], u[3];
    for (int i = 0; i < 3; i++) d[i] = point[i] - pose->position[i];
    cal_unrotate3(pose->rotation, d, u);
    const double* z = s->size;
    switch (s->kind) {
    case CAL_SPHERE: return sqrt(cal_dot3(u, u)) - z[0];
    case CAL_CAPSULE: u[2] -= fmax(-z[1], fmin(z[1], u[2])); return sqrt(cal_dot3(u, u)) - z[0];
    case CAL_BOX: return fmax(fabs(u[0]) - z[0], fmax(fabs(u[1]) - z[1], fabs(u[2]) - z[2]));
    case CAL_CYLINDER: return fmax(sqrt(u[0] * u[0] + u[1] * u[1]) - z[0], fabs(u[2]) - z[1]);
    case CAL_ELLIPSOID: {
        double q = 0.0;
        for (int i = 0; i < 3; i++) q += u[i] * u[i] / (z[i] * z[i]);
        return (sqrt(q) - 1.0) * fmax(z[0], fmax(z[1], z[2]));
    }
    default: return -INFINITY; // polytopes have been tested
    }
}

static double gap(const shape* a, const cal_pose* pa, const shape* b, const cal_pose* pb, const double n[3]) {
    const double opposite[3] = {-n[0], -n[1], -n[2]};
    return -reach(a, pa, opposite) - reach(b, pb, n);
}

static cal_geometry* random_shape(cal_random* random, shape* out) {
    static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_CAPSULE, CAL_BOX, CAL_CYLINDER, CAL_ELLIPSOID, CAL_MESH};
    cal_piece_def def = cal_default_piece_def();
    out->kind = def.kind = kinds[cal_random_below(random, 6)];
    for (int i = 0; i < 3; i++) out->size[i] = def.size[i] = cal_random_between(random, 0.2, 1.0);
    for (int i = 0; i < 14; i++)
        for (int k = 0; k < 3; k++) out->vertices[i][k] = cal_random_between(random, -1.0, 1.0);
    def.vertices = out->vertices[0];
    def.vertex_count = 14;
    return cal_test_geometry(&def, 1);
}

// A bound from the normal, met by points that are in both bodies, is the distance. Inside, no direction may be better.
static void test_curved(void** state) {
    (void)state;
    cal_random random = {11};
    for (int i = 0; i < 10000; i++) {
        shape a, b;
        cal_geometry *ga = random_shape(&random, &a), *gb = random_shape(&random, &b);
        const bool aligned = i % 4 == 0;
        const double spread = i % 3 == 0 ? 0.5 : 2.0;
        cal_pose pa = aligned ? at(0.5, 0.0, -0.5, still) : random_pose(&random, 1.0);
        cal_pose pb = aligned ? at(0.5 * cal_random_below(&random, 5), 0.5 * cal_random_below(&random, 3), 0.0, still)
                              : random_pose(&random, spread);
        cal_separation s;
        cal_distance(ga, &pa, gb, &pb, NULL, &s);
        if (i % 5 > 2) {
            const double left = i % 5 == 3 ? 0.0 : 1e-3 * cal_random_between(&random, -1.0, 1.0);
            for (int m = 0; m < 3; m++) pa.position[m] -= (s.distance - left) * s.normal[m];
            cal_distance(ga, &pa, gb, &pb, NULL, &s);
        }
        char where[80];
        snprintf(where, sizeof where, "%s and %s, pair %d, %g", cal_shape_kind_name(a.kind),
                 cal_shape_kind_name(b.kind), i, s.distance);
        cal_test_expect_below(fabs(gap(&a, &pa, &b, &pb, s.normal) - s.distance), 1e-14, "bound", where);
        cal_test_expect_below(outside(&a, &pa, s.point_a), 1e-5, "first point", where);
        cal_test_expect_below(outside(&b, &pb, s.point_b), 1e-5, "second point", where);
        if (s.distance > 0.0) {
            double d[3];
            for (int m = 0; m < 3; m++) d[m] = s.point_a[m] - s.point_b[m];
            cal_test_expect_below(fabs(sqrt(cal_dot3(d, d)) - s.distance), 1e-14, "points apart", where);
            // Points a little off the bodies would still prove the distance to the second order only where they slid along.
            if (i % 7 == 0) cal_test_expect_below(outside(&a, &pa, s.point_a), 1e-8 + 1e-5 * aligned, "point", where);
        }
        double best[3];
        memcpy(best, s.normal, sizeof best);
        double most = s.distance - 1e-13, step = 1.0;
        for (int k = 0; k < 400; k++) { // all over the sphere first, then about the best that was found
            double n[3];
            for (int m = 0; m < 3; m++)
                n[m] = (k < 200 ? 0.0 : best[m]) + step * cal_random_between(&random, -1.0, 1.0);
            const double length = sqrt(cal_dot3(n, n));
            for (int m = 0; m < 3; m++) n[m] /= length;
            const double trial_gap = gap(&a, &pa, &b, &pb, n);
            if (trial_gap > most) most = trial_gap, memcpy(best, n, sizeof best);
            if (k >= 200) step *= 0.95;
        }
        cal_test_expect_below(most - s.distance, 2e-14, "a better direction", where);
        cal_geometry_destroy(ga);
        cal_geometry_destroy(gb);
    }
}

// --- Continuity -------------------------------------------------------------------------------------------------------

// Along a path the distance changes at most as fast as the bodies move: speed of the one, and its rim's where it turns.
static void test_continuity(void** state) {
    (void)state;
    cal_random random = {12};
    for (int i = 0; i < 300; i++) {
        shape a, b;
        cal_geometry *ga = random_shape(&random, &a), *gb = random_shape(&random, &b);
        const cal_pose pb = random_pose(&random, 0.0);
        const double start[3] = {cal_random_between(&random, -0.5, 0.5), cal_random_between(&random, -0.5, 0.5), 3.0};
        double q[4], turn[4];
        random_quaternion(&random, q);
        random_quaternion(&random, turn);
        double last = NAN;
        const int steps = 400;
        const double travel = 6.0, angle_rate = 0.5;
        for (int k = 0; k <= steps; k++) {
            const double t = (double)k / steps, half = 0.5 * angle_rate * t;
            const double axis = sqrt(turn[1] * turn[1] + turn[2] * turn[2] + turn[3] * turn[3]);
            double spin[4] = {cos(half)}, at_t[4];
            for (int m = 1; m < 4; m++) spin[m] = sin(half) * turn[m] / axis;
            cal_quaternion_multiply(spin, q, at_t);
            const double p[3] = {start[0], start[1], start[2] - travel * t};
            const cal_pose pa = cal_pose_make(p, at_t);
            cal_separation s;
            cal_distance(ga, &pa, gb, &pb, NULL, &s);
            const double fastest = (travel + angle_rate * cal_geometry_reach(ga)) / steps;
            if (k > 0) cal_test_expect_below(fabs(s.distance - last), fastest * (1.0 + 1e-9), "jump", "on a path");
            last = s.distance;
        }
        cal_geometry_destroy(ga);
        cal_geometry_destroy(gb);
    }
}

// Through contact in steps of a nanometre: parting along the normal changes the distance by just that.
static void test_contact_in_small_steps(void** state) {
    (void)state;
    cal_random random = {13};
    for (int i = 0; i < 2000; i++) {
        shape a, b;
        cal_geometry *ga = random_shape(&random, &a), *gb = random_shape(&random, &b);
        cal_pose pa = random_pose(&random, 1.5);
        const cal_pose pb = random_pose(&random, 0.0);
        cal_separation s;
        cal_distance(ga, &pa, gb, &pb, NULL, &s);
        double n[3];
        memcpy(n, s.normal, sizeof n);
        const cal_pose start = pa;
        if (s.distance > 0.0)
            for (int k = -5; k <= 5; k++) {
                const double wanted = 1e-9 * k;
                for (int m = 0; m < 3; m++) pa.position[m] = start.position[m] - (s.distance - wanted) * n[m];
                cal_separation now;
                cal_distance(ga, &pa, gb, &pb, NULL, &now);
                char where[80];
                snprintf(where, sizeof where, "%s and %s, pair %d", cal_shape_kind_name(a.kind),
                         cal_shape_kind_name(b.kind), i);
                // Inside, another way out may be shorter.
                cal_test_expect_below(wanted - now.distance, 4e-15, "too deep", where);
                cal_test_expect_below(now.distance - fmax(wanted, 0.0), 4e-15, "not deep enough", where);
            }
        cal_geometry_destroy(ga);
        cal_geometry_destroy(gb);
    }
}

// A needle is a nanometre away from an edge of a box: searches for the direction between them went a quarter as far sixteen times, and ended on the way,
// 2e-11 short of it.
static void test_needle_beside_a_box(void** state) {
    (void)state;
    static const double place[3] = {0.99296392135931266, -0.079513865852910204, 0.065384160328897378},
                        q[4] = {0.32377399100258969, 0.51304847221524652, -0.71143076937783067, 0.35470822980348787},
                        other[3] = {0.0027199630135239516, 0.55113973553861717, -0.58016859375866026},
                        r[4] = {-0.15059120247287985, 0.62880113914271285, 0.74686834942102742, -0.15530320596725844};
    cal_geometry *needle = cal_test_shape(CAL_CYLINDER, 4.313376928319568e-05, 0.20963141842966593, 0),
                 *box = cal_test_shape(CAL_BOX, 0.86380767091326738, 0.7229574130211498, 0.20784880490474356);
    cal_pose pose = cal_pose_make(place, q);
    const cal_pose there = cal_pose_make(other, r);
    cal_separation apart, near;
    cal_distance(needle, &pose, box, &there, NULL, &apart);
    for (int i = 0; i < 3; i++) pose.position[i] -= (apart.distance - 0.9969493505837978e-9) * apart.normal[i];
    cal_distance(needle, &pose, box, &there, NULL, &near);
    cal_test_expect_near(near.distance, 0.9969493505837978e-9, 1e-14, "distance of a needle from a box");
    for (int i = 0; i < 3; i++) cal_test_expect_near(near.normal[i], apart.normal[i], 1e-4, "normal");
    cal_geometry_destroy(needle);
    cal_geometry_destroy(box);
}

// --- Repeatability ----------------------------------------------------------------------------------------------------

static void test_same_bits_and_cache(void** state) {
    (void)state;
    cal_random random = {14};
    for (int i = 0; i < 500; i++) {
        shape a, b;
        cal_geometry *ga = random_shape(&random, &a), *gb = random_shape(&random, &b);
        const cal_pose pa = random_pose(&random, 1.0), pb = random_pose(&random, 1.0);
        cal_separation first, second, warm;
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        cal_distance_cache cache = {0};
        cal_distance(ga, &pa, gb, &pb, NULL, &first);
        cal_distance(ga, &pa, gb, &pb, NULL, &second);
        assert_memory_equal(&first, &second, sizeof first);
        for (int k = 0; k < 2; k++) {
            cal_distance(ga, &pa, gb, &pb, &cache, &warm);
            cal_test_expect_near(warm.distance, first.distance, 1e-14, "with a cache");
        }
        cal_distance_within(ga, &pa, gb, &pb, first.distance + 0.1, NULL, &second);
        assert_true(second.distance == first.distance);
        cal_distance_within(ga, &pa, gb, &pb, first.distance - 0.1, NULL, &second);
        assert_int_equal(second.piece_a, -1);
        assert_true(second.distance <= first.distance);
        cal_geometry_destroy(ga);
        cal_geometry_destroy(gb);
    }
}

// --- Unions -----------------------------------------------------------------------------------------------------------

// The tree of boxes finds what a look at all pairs finds.
static void test_unions(void** state) {
    (void)state;
    enum { PIECES = 30 };
    cal_random random = {15};
    for (int i = 0; i < 60; i++) {
        cal_piece_def defs[2][PIECES];
        cal_geometry *whole[2], *single[2][PIECES];
        for (int k = 0; k < 2; k++) {
            for (int m = 0; m < PIECES; m++) {
                static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_CAPSULE, CAL_BOX, CAL_CYLINDER};
                cal_piece_def* def = &defs[k][m];
                *def = cal_default_piece_def();
                def->kind = kinds[cal_random_below(&random, 4)];
                def->tag = 100 + m;
                random_quaternion(&random, def->quaternion);
                for (int n = 0; n < 3; n++) {
                    def->position[n] = cal_random_between(&random, -2.0, 2.0);
                    def->size[n] = cal_random_between(&random, 0.1, 0.4);
                }
                if (k == 1 && m == 0 && i % 3 == 0) def->kind = CAL_PLANE;
                single[k][m] = cal_test_geometry(def, 1);
            }
            whole[k] = cal_test_geometry(defs[k], PIECES);
        }
        const cal_pose pa = random_pose(&random, 4.0), pb = random_pose(&random, 1.0);
        double least = INFINITY;
        int tags[2] = {0, 0};
        for (int k = 0; k < PIECES; k++)
            for (int m = 0; m < PIECES; m++) {
                cal_separation s;
                cal_distance(single[0][k], &pa, single[1][m], &pb, NULL, &s);
                if (s.distance < least) least = s.distance, tags[0] = 100 + k, tags[1] = 100 + m;
            }
        cal_separation s;
        cal_distance(whole[0], &pa, whole[1], &pb, NULL, &s);
        assert_true(s.distance == least);
        assert_int_equal(cal_geometry_tag(whole[0], s.piece_a), tags[0]);
        assert_int_equal(cal_geometry_tag(whole[1], s.piece_b), tags[1]);
        for (int k = 0; k < 2; k++) {
            cal_geometry_destroy(whole[k]);
            for (int m = 0; m < PIECES; m++) cal_geometry_destroy(single[k][m]);
        }
    }
}

static void test_planes_never_touch(void** state) {
    (void)state;
    cal_geometry* plane = cal_test_shape(CAL_PLANE, 0.0, 0.0, 0.0);
    const cal_pose pose = at(0.0, 0.0, 0.0, still);
    cal_separation s;
    cal_distance(plane, &pose, plane, &pose, NULL, &s);
    assert_true(isinf(s.distance) && s.distance > 0.0);
    cal_geometry_destroy(plane);
}

// --- Many vertices ------------------------------------------------------------------------------------------------------

enum { MANY = 16000 }; // so many that products of edges do not fit into 32 bits

// F(n) by a look at every vertex: two hulls of the same points, the second one moved.
static double gap_of_all(double (*points)[3], const double move[3], const double n[3]) {
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < MANY; i++) {
        const double along = n[0] * points[i][0] + n[1] * points[i][1] + n[2] * points[i][2];
        least = fmin(least, along), most = fmax(most, along);
    }
    return least - most - (n[0] * move[0] + n[1] * move[1] + n[2] * move[2]);
}

// The distance is F of the normal that comes with it, and the points are that far apart: apart, nobody can do better than both
// together; in each other, no direction nearby gives a larger F.
static void test_large_hulls(void** state) {
    (void)state;
    double(*points)[3] = malloc(MANY * sizeof *points);
    for (int i = 0; i < MANY; i++) {
        const double z = 1.0 - (2.0 * i + 1.0) / MANY, r = sqrt(1.0 - z * z), turn = 2.399963229728653 * i;
        points[i][0] = r * cos(turn), points[i][1] = 0.7 * r * sin(turn), points[i][2] = 0.5 * z;
    }
    cal_piece_def def = cal_default_piece_def();
    def.kind = CAL_MESH;
    def.vertices = points[0];
    def.vertex_count = MANY;
    cal_geometry* hull = cal_test_geometry(&def, 1);
    const double moves[][3] = {{2.3, 0.4, 0.2}, {0.3, 1.9, -0.4}, {1.7, 0.3, 0.1}, {0.2, 0.1, 0.9}};
    for (int k = 0; k < 4; k++) {
        const cal_pose pa = at(0, 0, 0, still), pb = at(moves[k][0], moves[k][1], moves[k][2], still);
        cal_separation s;
        cal_distance(hull, &pa, hull, &pb, NULL, &s);
        double between = 0.0;
        for (int i = 0; i < 3; i++) between += s.normal[i] * (s.point_a[i] - s.point_b[i]);
        cal_test_expect_near(s.distance, gap_of_all(points, moves[k], s.normal), 1e-13, "distance, and F");
        cal_test_expect_near(s.distance, between, 1e-13, "distance, and that of its points");
        assert_true((s.distance > 0.0) == (k < 2));
        cal_random random = {(uint64_t)k};
        for (int attempt = 0; attempt < 40; attempt++) {
            double n[3], square = 0.0;
            for (int i = 0; i < 3; i++)
                n[i] = s.normal[i] + cal_random_between(&random, -0.3, 0.3), square += n[i] * n[i];
            for (int i = 0; i < 3; i++) n[i] /= sqrt(square);
            assert_true(gap_of_all(points, moves[k], n) <= s.distance + 1e-12);
        }
    }
    cal_geometry_destroy(hull);
    free(points);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_large_hulls),
                                       cmocka_unit_test(test_closed_forms),
                                       cmocka_unit_test(test_polytopes),
                                       cmocka_unit_test(test_curved),
                                       cmocka_unit_test(test_continuity),
                                       cmocka_unit_test(test_contact_in_small_steps),
                                       cmocka_unit_test(test_needle_beside_a_box),
                                       cmocka_unit_test(test_same_bits_and_cache),
                                       cmocka_unit_test(test_unions),
                                       cmocka_unit_test(test_planes_never_touch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
