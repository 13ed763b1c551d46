// See tendon_path.h.
#include "model/tendon_path.h"
#include "math/rotation_vector.h"
#include "model/angle.h"
#include <float.h>
#include <string.h>

// --- Angles, with the library's own arc tangent ----------------------------------------------------------------------------

// Of a vector (x, y) with y ≥ 0, from the x axis: 0 … π.
static double angle_of(double x, double y) {
    const double ax = fabs(x);
    if (y == 0.0 && x == 0.0) return 0.0;
    const double first = y <= ax ? cal_arctangent(y / ax) : 0.5 * CAL_PI - cal_arctangent(ax / y);
    return x >= 0.0 ? first : CAL_PI - first;
}

static double arcsine(double z) { return angle_of(sqrt((1.0 - z) * (1.0 + z)), z); }

// Below it directions are rounding: MuJoCo's number, so that both say of the same path that it is straight.
#define CAL_LEAST 1e-15

// --- In the plane of a circle ----------------------------------------------------------------------------------------------

static double dot2(const double a[2], const double b[2]) { return a[0] * b[0] + a[1] * b[1]; }
static double cross2(const double a[2], const double b[2]) { return a[0] * b[1] - a[1] * b[0]; }

static void scale_to(double v[2], double length) {
    const double own = sqrt(dot2(v, v));
    for (int i = 0; i < 2 && own > 0.0; i++) v[i] *= length / own;
}

// Whether the stretches from a to b and from c to d cross.
static bool stretches_cross(const double a[2], const double b[2], const double c[2], const double d[2]) {
    const double ab[2] = {b[0] - a[0], b[1] - a[1]}, cd[2] = {d[0] - c[0], d[1] - c[1]},
                 ca[2] = {a[0] - c[0], a[1] - c[1]};
    const double determinant = cross2(ab, cd);
    if (fabs(determinant) < CAL_LEAST) return false;
    const double s = cross2(cd, ca) / determinant, t = cross2(ab, ca) / determinant;
    return s >= 0.0 && s <= 1.0 && t >= 0.0 && t <= 1.0;
}

// The point of the stretch from a to b that is nearest to the origin.
static void nearest_point(const double a[2], const double b[2], double out[2]) {
    const double ab[2] = {b[0] - a[0], b[1] - a[1]}, square = dot2(ab, ab);
    double s = square > 0.0 ? -dot2(ab, a) / square : 0.0;
    s = s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s;
    for (int i = 0; i < 2; i++) out[i] = a[i] + s * ab[i];
}

// Where the tangents from a and b touch the circle, on one of its two sides (sign).
static void touch_circle(const double a[2], const double b[2], double radius, double sign, double out[2][2]) {
    const double* ends[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        const double *p = ends[k], square = dot2(p, p), along = radius * radius / square;
        const double across = (k == 0 ? sign : -sign) * radius * sqrt(square - radius * radius) / square;
        out[k][0] = along * p[0] + across * p[1];
        out[k][1] = along * p[1] - across * p[0];
    }
}

// The outside of a circle: where the path touches it, and the length of the arc; below zero: it is not in the way.
static double go_round(const double a[2], const double b[2], const double* side, double radius, double out[2][2]) {
    const double ab[2] = {b[0] - a[0], b[1] - a[1]};
    if (dot2(a, a) < radius * radius || dot2(b, b) < radius * radius || dot2(ab, ab) < CAL_LEAST) return -1.0;
    double near[2], solutions[2][2][2], merit[2];
    nearest_point(a, b, near);
    if (dot2(near, near) > radius * radius && (side == NULL || dot2(side, near) >= 0.0)) return -1.0;
    for (int i = 0; i < 2; i++) {
        double(*own)[2] = solutions[i];
        touch_circle(a, b, radius, i == 0 ? 1.0 : -1.0, own);
        double middle[2] = {own[0][0] + own[1][0], own[0][1] + own[1][1]};
        const double apart[2] = {own[0][0] - own[1][0], own[0][1] - own[1][1]};
        scale_to(middle, 1.0);
        merit[i] = side != NULL ? dot2(middle, side) : -dot2(apart, apart);
        if (stretches_cross(a, own[0], b, own[1])) merit[i] = -DBL_MAX;
    }
    const int best = merit[0] > merit[1] ? 0 : 1;
    memcpy(out, solutions[best], sizeof solutions[best]);
    if (stretches_cross(a, out[0], b, out[1])) return -1.0;
    const double turn = -cross2(out[0], out[1]);
    const double angle = angle_of(dot2(out[0], out[1]), fabs(turn));
    const bool far = best == 1 ? turn > 0.0 : turn < 0.0;
    return radius * (far ? 2.0 * CAL_PI - angle : angle);
}

// The sine z at which a path touches the circle's inside, by Newton's method from the right, where the function is concave; below
// zero: there is none, and the path takes the middle.
static double inner_sine(double A, double B, double G) {
    enum { MOST = 60 };
    double z = 1.0 - 1e-7;
    for (int i = 0; i < MOST; i++) {
        const double f = arcsine(A * z) + arcsine(B * z) - 2.0 * arcsine(z) + G;
        const double slope = A / sqrt(1.0 - A * A * z * z) + B / sqrt(1.0 - B * B * z * z) - 2.0 / sqrt(1.0 - z * z);
        if (i == 0 && f > 0.0) return -1.0;
        if (!(slope < 0.0)) return -1.0;
        const double next = z - f / slope;
        if (!(next < z)) return z; // as far as rounding lets it come
        z = next;
    }
    return z;
}

// The inside of a circle: the point where the path touches it. Below zero: the straight way crosses the circle.
static double go_inside(const double a[2], const double b[2], double radius, double out[2][2]) {
    const double la = sqrt(dot2(a, a)), lb = sqrt(dot2(b, b));
    double near[2];
    if (!(la > radius && lb > radius)) return -1.0;
    nearest_point(a, b, near);
    if (dot2(near, near) <= radius * radius) return -1.0;
    for (int i = 0; i < 2; i++) out[0][i] = 0.5 * (a[i] + b[i]);
    scale_to(out[0], radius);
    const double G = angle_of(dot2(a, b), fabs(cross2(a, b)));
    const double A = radius / la, B = radius / lb, z = G > 0.0 && G < CAL_PI ? inner_sine(A, B, G) : -1.0;
    if (z >= 0.0) {
        const bool forward = cross2(a, b) > 0.0;
        double from[2], sine, cosine;
        memcpy(from, forward ? a : b, sizeof from);
        scale_to(from, radius);
        cal_sine_cosine(arcsine(z) - arcsine((forward ? A : B) * z), &sine, &cosine);
        out[0][0] = cosine * from[0] - sine * from[1];
        out[0][1] = sine * from[0] + cosine * from[1];
    }
    memcpy(out[1], out[0], sizeof out[1]);
    return G > CAL_PI - CAL_LEAST ? -1.0 : 0.0;
}

// --- Round a shape -------------------------------------------------------------------------------------------------------------

typedef struct obstacle {
    double rotation[9], center[3], radius;
    bool sphere;
} obstacle;

// Two axes of the plane in which the circle is seen. Of a sphere: from the first point, and across to the second.
static bool find_plane(const obstacle* o, const double a[3], const double b[3], double axes[2][3]) {
    double normal[3];
    if (!o->sphere) {
        memcpy(axes, (double[2][3]){{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}, 6 * sizeof(double));
        return true;
    }
    const double length = sqrt(cal_dot3(a, a));
    cal_cross3(a, b, normal);
    const double size = sqrt(cal_dot3(normal, normal));
    // Both points and the centre are on one line: any plane will do, and the straight way is through the sphere, or clear of it.
    if (!(length > 0.0)) return false;
    for (int i = 0; i < 3; i++) axes[0][i] = a[i] / length;
    if (size < CAL_LEAST) {
        int largest = 0;
        for (int i = 1; i < 3; i++)
            if (fabs(axes[0][i]) > fabs(axes[0][largest])) largest = i;
        double other[3] = {1.0, 1.0, 1.0};
        other[largest] = 0.0;
        cal_cross3(axes[0], other, normal);
    }
    cal_cross3(normal, axes[0], axes[1]);
    const double across = sqrt(cal_dot3(axes[1], axes[1]));
    for (int i = 0; i < 3; i++) axes[1][i] /= across;
    return true;
}

// Points of the world; out: where the path touches the shape. Below zero: it does not.
static double wrap(const obstacle* o, const double from[3], const double to[3], const double* side, double out[2][3]) {
    double a[3], b[3], s[3] = {0}, axes[2][3], flat[2][2], touch[2][2] = {{0.0}}, level[2] = {0.0, 0.0};
    for (int i = 0; i < 3; i++) {
        a[i] = from[i] - o->center[i];
        b[i] = to[i] - o->center[i];
        if (side != NULL) s[i] = side[i] - o->center[i];
    }
    cal_unrotate3(o->rotation, a, a);
    cal_unrotate3(o->rotation, b, b);
    cal_unrotate3(o->rotation, s, s);
    if (!find_plane(o, a, b, axes) || o->radius < CAL_LEAST) return -1.0;
    for (int k = 0; k < 2; k++) {
        flat[0][k] = cal_dot3(a, axes[k]);
        flat[1][k] = cal_dot3(b, axes[k]);
        level[k] = cal_dot3(s, axes[k]);
    }
    scale_to(level, o->radius);
    const bool inside = side != NULL && cal_dot3(s, s) < o->radius * o->radius;
    double length = inside ? go_inside(flat[0], flat[1], o->radius, touch)
                           : go_round(flat[0], flat[1], side != NULL ? level : NULL, o->radius, touch);
    if (length < 0.0) return -1.0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) out[k][i] = touch[k][0] * axes[0][i] + touch[k][1] * axes[1][i];
    if (!o->sphere) {
        double ends[2];
        for (int k = 0; k < 2; k++) {
            const double off[2] = {flat[k][0] - touch[k][0], flat[k][1] - touch[k][1]};
            ends[k] = sqrt(dot2(off, off));
        }
        const double whole = ends[0] + length + ends[1], rise = b[2] - a[2];
        out[0][2] = a[2] + rise * ends[0] / whole;
        out[1][2] = a[2] + rise * (ends[0] + length) / whole;
        const double height = out[1][2] - out[0][2];
        length = sqrt(length * length + height * height);
    }
    for (int k = 0; k < 2; k++) {
        cal_rotate3(o->rotation, out[k], out[k]);
        for (int i = 0; i < 3; i++) out[k][i] += o->center[i];
    }
    return length;
}

// --- Places --------------------------------------------------------------------------------------------------------------------

static const double* frame_of(const cal_placed* at, int node) { return at->frames + (size_t)node * at->stride; }

int cal_place_point(const cal_model* model, const cal_placed* at, int body, const double point[3], double out[3]) {
    if (body == CAL_GROUND) {
        memcpy(out, point, 3 * sizeof *out);
        return -1;
    }
    const cal_mount* mount = &model->mounts[body];
    cal_rotate3(mount->rotation, point, out);
    for (int i = 0; i < 3; i++) out[i] += mount->offset[i];
    if (mount->node < 0) return -1;
    const double* frame = frame_of(at, mount->node);
    cal_rotate3(frame, out, out);
    for (int i = 0; i < 3; i++) out[i] += frame[9 + i];
    return mount->node;
}

static int place_obstacle(const cal_model* model, const cal_placed* at, const cal_tendon_part* part, obstacle* out) {
    out->radius = part->radius;
    out->sphere = part->kind == CAL_TENDON_SPHERE;
    double own[9], mounted[9];
    cal_quaternion_matrix(part->quaternion, out->rotation);
    const int node = cal_place_point(model, at, part->body, part->position, out->center);
    if (part->body == CAL_GROUND) return -1;
    memcpy(own, out->rotation, sizeof own);
    cal_multiply33(model->mounts[part->body].rotation, own, mounted);
    memcpy(out->rotation, mounted, sizeof mounted);
    if (node >= 0) cal_multiply33(frame_of(at, node), mounted, out->rotation);
    return node;
}

void cal_model_place_nodes(const cal_model* model, const double* q, double* frames) {
    if (frames == NULL) return;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        const double* own_q = q + node->first_q;
        double turned[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, offset[3], rotation[9], *own = frames + 12 * (size_t)n;
        memcpy(offset, node->offset, sizeof offset);
        if (node->kind == CAL_REVOLUTE) {
            cal_sine_cosine(own_q[0], &turned[3], &turned[0]);
            turned[1] = -turned[3], turned[4] = turned[0];
        } else if (node->kind == CAL_PRISMATIC)
            for (int i = 0; i < 3; i++) offset[i] += node->rotation[3 * i + 2] * own_q[0];
        else
            cal_quaternion_matrix(node->kind == CAL_FREE ? own_q + 3 : own_q, turned);
        cal_multiply33(node->rotation, turned, rotation);
        if (node->kind == CAL_FREE) {
            memcpy(rotation, turned, sizeof rotation);
            memcpy(offset, own_q, sizeof offset);
        }
        const double* above = node->parent < 0 ? NULL : frames + 12 * (size_t)node->parent;
        if (above == NULL) {
            memcpy(own, rotation, sizeof rotation);
            memcpy(own + 9, offset, sizeof offset);
            continue;
        }
        cal_multiply33(above, rotation, own);
        cal_rotate3(above, offset, own + 9);
        for (int i = 0; i < 3; i++) own[9 + i] += above[9 + i];
    }
}

// --- Tendons -------------------------------------------------------------------------------------------------------------------

typedef struct point {
    int node;
    double at[3];
} point;

// Who is told of pulls.
typedef struct listener {
    cal_tendon_end_sink* sink;
    void* user;
} listener;

// A straight stretch: its length, and its two pulls unless both ends move together.
static double go_straight(const point* a, const point* b, double factor, const listener* l) {
    double apart[3];
    for (int i = 0; i < 3; i++) apart[i] = b->at[i] - a->at[i];
    const double length = sqrt(cal_dot3(apart, apart));
    if (l->sink == NULL || a->node == b->node || !(length > 0.0)) return factor * length;
    for (int end = 0; end < 2; end++) {
        const point* own = end == 0 ? a : b;
        cal_tendon_end pull = {.node = own->node};
        memcpy(pull.point, own->at, sizeof pull.point);
        for (int i = 0; i < 3; i++) pull.direction[i] = (end == 0 ? -factor : factor) / length * apart[i];
        if (pull.node >= 0) l->sink(l->user, &pull);
    }
    return factor * length;
}

static double trace_path(const cal_model* model, const cal_tendon_def* def, const cal_placed* at, const listener* l) {
    double length = 0.0, factor = 1.0;
    point from = {0};
    bool open = false;
    const cal_tendon_part* round = NULL; // a shape on the way to the next point
    for (int i = 0; i < def->part_count; i++) {
        const cal_tendon_part* part = &def->parts[i];
        if (part->kind == CAL_TENDON_PULLEY) {
            factor = 1.0 / part->factor;
            open = false;
            continue;
        }
        if (part->kind != CAL_TENDON_POINT) {
            round = part;
            continue;
        }
        point to;
        to.node = cal_place_point(model, at, part->body, part->position, to.at);
        double arc = -1.0, touch[2][3], side[3];
        point touches[2] = {{0}};
        if (open && round != NULL) {
            obstacle shape;
            touches[0].node = touches[1].node = place_obstacle(model, at, round, &shape);
            if (round->sided) cal_place_point(model, at, round->side_body, round->side, side);
            arc = wrap(&shape, from.at, to.at, round->sided ? side : NULL, touch);
        }
        if (arc >= 0.0) {
            for (int k = 0; k < 2; k++) memcpy(touches[k].at, touch[k], sizeof touch[k]);
            length += go_straight(&from, &touches[0], factor, l) + factor * arc;
            length += go_straight(&touches[1], &to, factor, l);
        } else if (open)
            length += go_straight(&from, &to, factor, l);
        from = to;
        open = true;
        round = NULL;
    }
    return length;
}

static const double* q_of(const cal_model* model, const cal_placed* at, int joint) {
    const cal_joint* own = &model->joints[joint];
    return at->q + (at->places != NULL ? at->places[own->node] : own->first_q);
}

double cal_tendon_trace(const cal_model* model, int tendon, const cal_placed* at, cal_tendon_end_sink* sink,
                        void* user) {
    const cal_tendon_def* def = &model->kept.tendons[tendon];
    const listener l = {sink, user};
    if (def->part_count > 0 && def->parts[0].kind != CAL_TENDON_JOINT) return trace_path(model, def, at, &l);
    double length = 0.0;
    for (int i = 0; i < def->part_count; i++) length += def->parts[i].factor * *q_of(model, at, def->parts[i].joint);
    return length;
}

// What a joint feels of a pull on a node that it moves.
static void add_share(const cal_node* node, const double* frame, const cal_tendon_end* pull, double factor,
                      double* out) {
    double arm[3], moment[3], turned[3];
    for (int i = 0; i < 3; i++) arm[i] = pull->point[i] - frame[9 + i];
    cal_cross3(arm, pull->direction, moment);
    cal_unrotate3(frame, moment, turned);
    switch (node->kind) {
    case CAL_REVOLUTE: out[0] += factor * turned[2]; break;
    case CAL_PRISMATIC:
        cal_unrotate3(frame, pull->direction, turned);
        out[0] += factor * turned[2];
        break;
    case CAL_BALL:
        for (int i = 0; i < 3; i++) out[i] += factor * turned[i];
        break;
    default:
        for (int i = 0; i < 3; i++) out[i] += factor * pull->direction[i], out[3 + i] += factor * turned[i];
    }
}

void cal_tendon_add_joints(const cal_model* model, int tendon, double factor, double* out) {
    const cal_tendon_def* def = &model->kept.tendons[tendon];
    for (int i = 0; i < def->part_count; i++)
        if (def->parts[i].kind == CAL_TENDON_JOINT)
            out[model->joints[def->parts[i].joint].first_v] += factor * def->parts[i].factor;
}

void cal_tendon_end_add_gradient(const cal_model* model, const cal_placed* at, const cal_tendon_end* pull,
                                 double factor, double* out) {
    for (int n = pull->node; n >= 0; n = model->nodes[n].parent)
        add_share(&model->nodes[n], frame_of(at, n), pull, factor, out + model->nodes[n].first_v);
}
