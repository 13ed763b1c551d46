// Every kind of constraint as rows (rows.h).
//
// Frame a, on node A with origin o and motion ω_a, u_a; frame b with origin x on node B with origin x − ρ and motion ω_b, u_b.
// With r = x − o, seen from a the point x has the velocity w and, all but what α and the nodes' own accelerations add, the
// acceleration c:
//
//     w = u_b + ω_b × ρ − u_a − ω_a × r             c = ω_b × (ω_b × ρ) − 2 ω_a × w − ω_a × (ω_a × r)
//
//   a function f of the point p = Fᵀ(x − x_a), F the axes of a: with e = F ∇f
//       f̈ = e · (a_b + α_b × ρ − a_a − α_a × r) + e · c + (Fᵀ w)ᵀ ∇²f (Fᵀ w)
//     displacements, distances, circles and surfaces are all of this kind
//
//   three turns together: 2ε of the quaternion (η, ε) of b in a. With Ω = ω_b − ω_a in a's axes, component i is
//       d/dt 2ε_i = Ω · (η e_i + ε × e_i)
//     which is zero for no turn only, and whose rows stay independent up to half a turn
//
//   one or two turns: with k an axis that is free, and j the third one, a turn about i takes k_b off k_a towards ±j_a: ∓ j_a · k_b,
//       d/dt (j_a · k_b) = (ω_b − ω_a) · (k_b × j_a)
//     smooth however far the free axes turn
//
//   a joint's value: q̈ = z · (α − α_p) for a revolute one, z · (a − a_p − α_p × s − ω_p × (ω_p × s)) for a prismatic one
//     with s from the parent's origin to the node's
//
//   a wheel: m is the direction in its plane that points up most steeply; the point x − R m of the wheel rests on a
#include "pass/constraint_rows.h"
#include "pass/body_frames.h"
#include "pass/variants.h"

static const cal_node_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};

typedef void motions_kernel(const cal_model* model, const double* q, const double* v, bool moved, cal_node_motion* out);
motions_kernel cal_node_motions_w1, cal_node_motions_w1_fma, cal_node_motions_w2, cal_node_motions_w4,
    cal_node_motions_w8;

void cal_node_motions(const cal_model* model, int variant, const double* q, const double* v, bool moved,
                      cal_node_motion* out) {
    static motions_kernel* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_node_motions);
    kernels[variant](model, q, v, moved, out);
}

// --- Two frames, and how b moves seen from a ---------------------------------------------------------------------------

typedef struct side {
    int node;
    const cal_node_motion* motion;
    double axes[9];            // rows: the frame's axes to the world's
    double base[3], origin[3]; // in the world, from its node's base
} side;

typedef struct pair {
    side a, b;
    double rho[3], r[3];     // ρ, r
    double w[3], c[3];       // w, c
    double point[3], dot[3]; // p, and Fᵀ w
    double relative[3];      // ω_b − ω_a
} pair;

void cal_constraint_find_frames(const cal_model* model, int constraint, cal_mount frames[2]) {
    static const cal_mount world = {.node = -1, .rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    const cal_constraint_def* def = &model->constraints[constraint];
    for (int which = 0; which < 2; which++) {
        frames[which] = world;
        if (def->kind == CAL_COUPLING) continue;
        const cal_mount* mount = def->body[which] == CAL_GROUND ? &world : &model->mounts[def->body[which]];
        double own[9];
        frames[which].node = mount->node;
        cal_quaternion_matrix(def->quaternion[which], own);
        cal_multiply33(mount->rotation, own, frames[which].rotation);
        cal_rotate3(mount->rotation, def->position[which], frames[which].offset);
        for (int i = 0; i < 3; i++) frames[which].offset[i] += mount->offset[i];
    }
}

static inline void find_side(const cal_mount* frame, const cal_node_motion* motions, bool turns, side* out) {
    out->node = frame->node;
    out->motion = frame->node < 0 ? &ground : &motions[frame->node];
    if (frame->node < 0) {
        // What sits on the ground is its own base.
        memcpy(out->axes, frame->rotation, sizeof out->axes);
        for (int i = 0; i < 3; i++) out->base[i] = frame->offset[i], out->origin[i] = 0.0;
        return;
    }
    if (turns) cal_multiply33(out->motion->rotation, frame->rotation, out->axes);
    cal_rotate3(out->motion->rotation, frame->offset, out->origin);
    for (int i = 0; i < 3; i++) {
        out->base[i] = out->motion->base[i];
        out->origin[i] += out->motion->origin[i];
    }
}

// turns: the axes of b are asked for, too.
static pair find_pair(const cal_mount frames[2], const cal_node_motion* motions, bool turns) {
    pair p;
    find_side(&frames[0], motions, true, &p.a);
    find_side(&frames[1], motions, turns, &p.b);
    const cal_node_motion *a = p.a.motion, *b = p.b.motion;
    double swing_b[3], swing_a[3], in_b[3], in_a[3], coriolis[3], apart[3];
    for (int i = 0; i < 3; i++) {
        p.rho[i] = p.b.origin[i] - b->origin[i] + (p.b.base[i] - b->base[i]);
        p.r[i] = p.b.origin[i] - a->origin[i] + (p.b.base[i] - a->base[i]);
        p.relative[i] = b->angular[i] - a->angular[i];
        apart[i] = p.b.origin[i] - p.a.origin[i] + (p.b.base[i] - p.a.base[i]);
    }
    cal_cross3(b->angular, p.rho, swing_b);
    cal_cross3(a->angular, p.r, swing_a);
    for (int i = 0; i < 3; i++) p.w[i] = (b->linear[i] + swing_b[i]) - (a->linear[i] + swing_a[i]);
    cal_cross3(b->angular, swing_b, in_b);
    cal_cross3(a->angular, swing_a, in_a);
    cal_cross3(a->angular, p.w, coriolis);
    for (int i = 0; i < 3; i++) p.c[i] = in_b[i] - 2.0 * coriolis[i] - in_a[i];
    cal_unrotate3(p.a.axes, apart, p.point);
    cal_unrotate3(p.a.axes, p.w, p.dot);
    return p;
}

static void axis_of(const double axes[9], int index, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = axes[3 * i + index];
}

// --- Rows --------------------------------------------------------------------------------------------------------------

// Adds what one node feels; the ground feels nothing, and a node that is met again is one node.
static inline void touch(cal_row* row, int node, const double moment[3], const double force[3], double sign) {
    if (node < 0) return;
    int at = 0;
    while (at < row->node_count && row->node[at] != node) at++;
    const bool again = at < row->node_count;
    if (!again) row->node[row->node_count++] = node;
    for (int i = 0; i < 3; i++) {
        row->moment[at][i] = (again ? row->moment[at][i] : 0.0) + sign * moment[i];
        row->force[at][i] = (again ? row->force[at][i] : 0.0) + sign * force[i];
    }
}

static void find_speed(cal_row* row, const cal_node_motion* motions) {
    row->speed = -row->rate;
    for (int i = 0; i < row->node_count; i++) {
        const cal_node_motion* node = &motions[row->node[i]];
        row->speed += cal_dot3(row->moment[i], node->angular) + cal_dot3(row->force[i], node->linear);
    }
}

// A force e on b at x, and −e on a at the same point.
static inline void pull(cal_row* row, const pair* p, const double e[3]) {
    double on_b[3], on_a[3];
    cal_cross3(p->rho, e, on_b);
    cal_cross3(p->r, e, on_a);
    touch(row, p->b.node, on_b, e, 1.0);
    touch(row, p->a.node, on_a, e, -1.0);
}

// A moment e on b, −e on a.
static void twist(cal_row* row, const pair* p, const double e[3]) {
    static const double none[3] = {0.0, 0.0, 0.0};
    touch(row, p->b.node, e, none, 1.0);
    touch(row, p->a.node, e, none, -1.0);
}

static void function_row(cal_row* row, const pair* p, double value, const double gradient[3], const double h[6]) {
    double e[3];
    const double* d = p->dot;
    cal_rotate3(p->a.axes, gradient, e);
    pull(row, p, e);
    row->holonomic = true;
    row->error = value;
    row->bias = cal_dot3(e, p->c) + (h[0] * d[0] * d[0] + h[1] * d[1] * d[1] + h[2] * d[2] * d[2]) +
                2.0 * (h[3] * d[0] * d[1] + h[4] * d[0] * d[2] + h[5] * d[1] * d[2]);
}

static void displacement_row(cal_row* row, const pair* p, int axis) {
    double e[3];
    axis_of(p->a.axes, axis, e);
    pull(row, p, e);
    row->holonomic = true;
    row->error = p->point[axis];
    row->bias = cal_dot3(e, p->c);
}

static void distance_row(cal_row* row, const pair* p, double length) {
    const double distance = sqrt(cal_dot3(p->point, p->point));
    double n[3] = {1.0, 0.0, 0.0}, h[6] = {0.0};
    if (distance > 0.0) {
        for (int i = 0; i < 3; i++) n[i] = p->point[i] / distance, h[i] = (1.0 - n[i] * n[i]) / distance;
        h[3] = -n[0] * n[1] / distance, h[4] = -n[0] * n[2] / distance, h[5] = -n[1] * n[2] / distance;
    }
    function_row(row, p, distance - length, n, h);
}

// (x² + y² − R²) / 2R, which is r − R near the circle, and smooth at its centre.
static void circle_row(cal_row* row, const pair* p, double radius) {
    const double x = p->point[0], y = p->point[1];
    const double gradient[3] = {x / radius, y / radius, 0.0}, h[6] = {1.0 / radius, 1.0 / radius};
    function_row(row, p, (x * x + y * y - radius * radius) / (2.0 * radius), gradient, h);
}

static void surface_row(cal_row* row, const pair* p, const cal_constraint_def* def) {
    double value = 0.0, gradient[3] = {0.0}, h[6] = {0.0};
    def->surface(p->point, &value, gradient, h, def->user);
    function_row(row, p, value, gradient, h);
}

// A turn about axis i, one of three: 2 ε_i.
static void full_turn_row(cal_row* row, const pair* p, int i) {
    double turn[9], quaternion[4], omega[3], rate[3], cross[3], e[3], change[3], gyration[3];
    cal_transpose_multiply33(p->a.axes, p->b.axes, turn);
    cal_matrix_quaternion(turn, quaternion);
    const double scalar = quaternion[0];
    const double* vector = quaternion + 1;
    double unit[3] = {0.0, 0.0, 0.0};
    unit[i] = 1.0;
    cal_unrotate3(p->a.axes, p->relative, omega);
    cal_cross3(vector, unit, e);
    e[i] += scalar;
    // η̇ = −½ Ω · ε, ε̇ = ½ (η Ω + Ω × ε)
    cal_cross3(omega, vector, cross);
    for (int k = 0; k < 3; k++) rate[k] = 0.5 * (scalar * omega[k] + cross[k]);
    cal_cross3(rate, unit, change);
    change[i] -= 0.5 * cal_dot3(omega, vector);
    row->holonomic = true;
    row->error = 2.0 * vector[i];
    row->bias = cal_dot3(omega, change);
    // Ω's own axes turn with a: Ω̇ = Fᵀ (α_b − α_a − ω_a × ω_b).
    cal_rotate3(p->a.axes, e, e);
    cal_cross3(p->a.motion->angular, p->b.motion->angular, gyration);
    row->bias -= cal_dot3(e, gyration);
    twist(row, p, e);
}

// A turn about axis i while axis k is free: ∓ j_a · k_b.
static void free_turn_row(cal_row* row, const pair* p, int i, int k) {
    const int j = 3 - i - k;
    const double sign = (i + 1) % 3 == j ? -1.0 : 1.0;
    double in_a[3], in_b[3], e[3], rate_a[3], rate_b[3], change[3], other[3];
    axis_of(p->a.axes, j, in_a);
    axis_of(p->b.axes, k, in_b);
    cal_cross3(in_b, in_a, e);
    cal_cross3(p->a.motion->angular, in_a, rate_a);
    cal_cross3(p->b.motion->angular, in_b, rate_b);
    cal_cross3(rate_b, in_a, change);
    cal_cross3(in_b, rate_a, other);
    for (int n = 0; n < 3; n++) e[n] *= sign, change[n] = sign * (change[n] + other[n]);
    row->holonomic = true;
    row->error = sign * cal_dot3(in_a, in_b);
    row->bias = cal_dot3(p->relative, change);
    twist(row, p, e);
}

static int named_rows(cal_row* rows, const pair* p, uint32_t bits) {
    const uint32_t turns = bits / CAL_ROW_TURN_X;
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (bits >> i & 1) displacement_row(&rows[count++], p, i);
    for (int i = 0; i < 3; i++) {
        if (!(turns >> i & 1)) continue;
        const int next = (i + 1) % 3, last = (i + 2) % 3;
        if (turns == 7)
            full_turn_row(&rows[count++], p, i);
        else
            free_turn_row(&rows[count++], p, i, turns >> last & 1 ? next : last);
    }
    return count;
}

static void knife_row(cal_row* row, const pair* p) {
    double y[3], turned[3], half[3];
    axis_of(p->b.axes, 1, y);
    pull(row, p, y);
    // y turns with b instead of with a, so half of the Coriolis part of c is not there.
    cal_cross3(p->b.motion->angular, y, turned);
    cal_cross3(p->a.motion->angular, p->w, half);
    row->bias = cal_dot3(turned, p->w) + cal_dot3(y, p->c) + cal_dot3(y, half);
}

static void wheel_rows(cal_row* rows, const pair* p, double radius) {
    static const double smallest = 1e-12; // the sine of a wheel that lies flat
    const double *turn_a = p->a.motion->angular, *turn_b = p->b.motion->angular;
    double n[3], k[3], n_dot[3], k_dot[3], m[3], m_dot[3], rim[3], rim_dot[3], slip[3], turning[3];
    axis_of(p->a.axes, 2, n);
    axis_of(p->b.axes, 2, k);
    cal_cross3(turn_a, n, n_dot);
    cal_cross3(turn_b, k, k_dot);
    const double g = cal_dot3(n, k), g_dot = cal_dot3(n_dot, k) + cal_dot3(n, k_dot);
    const double s = fmax(sqrt(fmax(1.0 - g * g, 0.0)), smallest), s_dot = -g * g_dot / s;
    for (int i = 0; i < 3; i++) {
        m[i] = (n[i] - g * k[i]) / s;
        m_dot[i] = (n_dot[i] - g_dot * k[i] - g * k_dot[i] - m[i] * s_dot) / s;
    }
    cal_cross3(p->relative, m, rim);
    cal_cross3(p->relative, m_dot, rim_dot);
    for (int i = 0; i < 3; i++) slip[i] = -radius * rim[i];
    cal_cross3(turn_a, slip, turning);
    for (int row = 0; row < 3; row++) {
        static const int axes[3] = {2, 0, 1};
        double e[3], moment[3];
        axis_of(p->a.axes, axes[row], e);
        pull(&rows[row], p, e);
        cal_cross3(m, e, moment);
        for (int i = 0; i < 3; i++) moment[i] *= -radius;
        twist(&rows[row], p, moment);
        rows[row].holonomic = row == 0;
        rows[row].error = row == 0 ? p->point[2] - radius * s : 0.0;
        rows[row].bias = cal_dot3(e, p->c) - radius * cal_dot3(e, rim_dot) - cal_dot3(e, turning);
    }
}

// Adds factor · q̈ of a joint; returns q from where the joint's definition puts its zero.
static double joint_part(cal_row* row, const cal_model* model, int joint, const cal_node_motion* motions,
                         const double* q, double factor) {
    static const double none[3] = {0.0, 0.0, 0.0};
    const cal_node* node = &model->nodes[model->joints[joint].node];
    const cal_node_motion *own = &motions[model->joints[joint].node],
                          *parent = node->parent < 0 ? &ground : &motions[node->parent];
    double z[3];
    axis_of(own->rotation, 2, z);
    if (node->kind == CAL_REVOLUTE) {
        touch(row, model->joints[joint].node, z, none, factor);
        touch(row, node->parent, z, none, -factor);
    } else {
        double s[3], moment[3], swing[3], inward[3];
        for (int i = 0; i < 3; i++) s[i] = own->origin[i] - parent->origin[i];
        cal_cross3(s, z, moment);
        cal_cross3(parent->angular, s, swing);
        cal_cross3(parent->angular, swing, inward);
        touch(row, model->joints[joint].node, none, z, factor);
        touch(row, node->parent, moment, z, -factor);
        row->bias -= factor * cal_dot3(z, inward);
    }
    return q[node->first_q] - model->joints[joint].def->zero;
}

static void coupling_row(cal_row* row, const cal_model* model, const cal_constraint_def* def, double time,
                         const cal_node_motion* motions, const double* q, const double* v) {
    const double* p = def->polynomial;
    row->holonomic = true;
    row->error = joint_part(row, model, def->joint[0], motions, q, 1.0) - p[0];
    if (def->motion) {
        double value = 0.0;
        def->motion(time, &value, &row->rate, &row->change, def->user);
        row->bias -= row->change;
        // What is not a number leaves the position free.
        row->holonomic = value == value;
        row->error = row->holonomic ? row->error - value : 0.0;
    }
    if (def->joint[1] == CAL_NONE) return;
    const cal_joint* other = &model->joints[def->joint[1]];
    const double x = q[other->first_q] - other->def->zero, rate = v[other->first_v];
    const double slope = p[1] + x * (2.0 * p[2] + x * (3.0 * p[3] + x * 4.0 * p[4]));
    const double curve = 2.0 * p[2] + x * (6.0 * p[3] + x * 12.0 * p[4]);
    joint_part(row, model, def->joint[1], motions, q, -slope);
    row->error -= x * (p[1] + x * (p[2] + x * (p[3] + x * p[4])));
    row->bias -= curve * rate * rate;
}

int cal_constraint_make_rows(const cal_model* model, int constraint, double time, const cal_node_motion* motions,
                             const double* q, const double* v, cal_row* rows) {
    cal_mount frames[2];
    cal_constraint_find_frames(model, constraint, frames);
    return cal_constraint_make_rows_at(model, constraint, frames, time, motions, q, v, rows);
}

int cal_constraint_make_rows_at(const cal_model* model, int constraint, const cal_mount frames[2], double time,
                                const cal_node_motion* motions, const double* q, const double* v, cal_row* rows) {
    enum { PLACE = CAL_ROW_X | CAL_ROW_Y | CAL_ROW_Z, TURN_XY = CAL_ROW_TURN_X | CAL_ROW_TURN_Y };
    const cal_constraint_def* def = &model->constraints[constraint];
    int count = cal_constraint_rows(def, NULL);
    for (int i = 0; i < count; i++) {
        // Nodes that are not touched have no numbers.
        cal_row* row = &rows[i];
        row->constraint = constraint, row->node_count = 0, row->holonomic = false;
        row->error = row->speed = row->bias = row->rate = row->change = 0.0;
    }
    if (def->kind == CAL_COUPLING) {
        coupling_row(rows, model, def, time, motions, q, v);
    } else {
        const bool displaces = def->kind == CAL_LOOP_BALL || def->kind == CAL_DISTANCE || def->kind == CAL_ON_CIRCLE ||
                               def->kind == CAL_ON_SURFACE ||
                               (def->kind == CAL_ROWS && (def->rows & ~(uint32_t)PLACE) == 0);
        const pair p = find_pair(frames, motions, !displaces);
        switch (def->kind) {
        case CAL_WELD: count = named_rows(rows, &p, PLACE | TURN_XY | CAL_ROW_TURN_Z); break;
        case CAL_LOOP_REVOLUTE: count = named_rows(rows, &p, PLACE | TURN_XY); break;
        case CAL_LOOP_PRISMATIC: count = named_rows(rows, &p, CAL_ROW_X | CAL_ROW_Y | TURN_XY | CAL_ROW_TURN_Z); break;
        case CAL_LOOP_BALL: count = named_rows(rows, &p, PLACE); break;
        case CAL_ROWS: count = named_rows(rows, &p, def->rows); break;
        case CAL_DISTANCE: distance_row(rows, &p, def->length); break;
        case CAL_ON_CIRCLE:
            circle_row(&rows[0], &p, def->length);
            displacement_row(&rows[1], &p, 2);
            count = 2;
            break;
        case CAL_ON_SURFACE: surface_row(rows, &p, def); break;
        case CAL_KNIFE_EDGE: knife_row(rows, &p); break;
        default: // CAL_ROLLING
            wheel_rows(rows, &p, def->length);
            count = 3;
        }
    }
    for (int i = 0; i < count; i++) find_speed(&rows[i], motions);
    return count;
}
