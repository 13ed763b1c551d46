// Accelerations by Lagrange's equations, dense and in extended precision (support_lagrange.h).
#include "support_lagrange.h"

#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef cal_test_real real;

// A frame of a body: its motion at q̈ = 0, and how its velocity depends on v: 3 × n each.
typedef struct frame {
    real R[3][3], p[3], w[3], u[3], al[3], a[3]; // axes, origin, angular velocity, velocity, and their rates
    real *Jw, *Ju;
} frame;

typedef struct reference {
    const cal_model* model;
    int n, size, rows;
    real lever; // a row that moves nothing by more than rounding of this holds nothing
    const double *q, *v;
    frame* frames; // of the bodies; the last one is the ground's
    real *matrix, *right;
} reference;

static real* reals(size_t count) {
    real* out = calloc(count + 1, sizeof *out);
    assert_non_null(out);
    return out;
}
static real dot(const real* a, const real* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(const real* a, const real* b, real* out) {
    const real x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x, out[1] = y, out[2] = z;
}
static void turn(real R[3][3], const real* x, real* out) {
    real y[3];
    for (int i = 0; i < 3; i++) y[i] = dot(R[i], x);
    memcpy(out, y, sizeof y);
}
static void widen(const double* x, real* out) {
    for (int i = 0; i < 3; i++) out[i] = x[i];
}
static void multiply(real A[3][3], real B[3][3], real out[3][3]) {
    real C[3][3] = {{0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) C[i][j] += A[i][k] * B[k][j];
    memcpy(out, C, sizeof C);
}
static void quaternion_matrix(const double* given, real R[3][3]) {
    real q[4], norm = 0;
    for (int i = 0; i < 4; i++) q[i] = given[i], norm += q[i] * q[i];
    norm = sqrtl(norm);
    for (int i = 0; i < 4; i++) q[i] /= norm;
    const real w = q[0], *r = q + 1;
    const real x[3][3] = {{0, -r[2], r[1]}, {r[2], 0, -r[0]}, {-r[1], r[0], 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[i][j] = (i == j ? w * w - dot(r, r) : 0) + 2 * r[i] * r[j] + 2 * w * x[i][j];
}
static void axis_matrix(const real* n, real angle, real R[3][3]) {
    const real s = sinl(angle), c = cosl(angle);
    const real x[3][3] = {{0, -n[2], n[1]}, {n[2], 0, -n[0]}, {-n[1], n[0], 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[i][j] = (i == j ? c : 0) + (1 - c) * n[i] * n[j] + s * x[i][j];
}

// --- Kinematics -----------------------------------------------------------------------------------------------------------

// Moves a frame's origin by r, which is fixed in the frame.
static void shift(frame* f, const real* r, int n) {
    real t[3], tt[3];
    for (int i = 0; i < 3; i++) f->p[i] += r[i];
    cross(f->w, r, t), cross(f->w, t, tt);
    for (int i = 0; i < 3; i++) f->u[i] += t[i], f->a[i] += tt[i];
    cross(f->al, r, t);
    for (int i = 0; i < 3; i++) f->a[i] += t[i];
    for (int k = 0; k < n; k++) {
        cross(f->Jw + 3 * k, r, t);
        for (int i = 0; i < 3; i++) f->Ju[3 * k + i] += t[i];
    }
}

static void copy_frame(const frame* from, frame* to, int n) {
    real *Jw = to->Jw, *Ju = to->Ju;
    *to = *from;
    to->Jw = Jw, to->Ju = Ju;
    if (!from->Jw || !from->Ju) abort(); // every frame is made by new_frame
    memcpy(Jw, from->Jw, 3 * (size_t)n * sizeof *Jw);
    memcpy(Ju, from->Ju, 3 * (size_t)n * sizeof *Ju);
}

// Through one joint, in the order in which a body's joints act.
static void pass_joint(frame* f, const cal_joint_def* joint, const double* q, const double* v, int first_v, int n) {
    real axis[3], anchor[3], back[3], T[3][3], t[3], length;
    widen(joint->axis, axis), widen(joint->anchor, anchor);
    length = sqrtl(dot(axis, axis));
    for (int i = 0; i < 3; i++) axis[i] /= length;
    if (joint->kind == CAL_FREE) {
        widen(q, f->p), widen(v, f->u);
        quaternion_matrix(q + 3, f->R);
        widen(v + 3, t), turn(f->R, t, f->w);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                f->Ju[3 * (first_v + i) + k] = i == k, f->Jw[3 * (first_v + 3 + i) + k] = f->R[k][i];
        return;
    }
    if (joint->kind == CAL_BALL) {
        turn(f->R, anchor, t), shift(f, t, n);
        quaternion_matrix(q, T), multiply(f->R, T, f->R);
        real speed[3], gyration[3];
        widen(v, speed), turn(f->R, speed, speed), cross(f->w, speed, gyration);
        for (int i = 0; i < 3; i++) {
            f->al[i] += gyration[i], f->w[i] += speed[i];
            for (int k = 0; k < 3; k++) f->Jw[3 * (first_v + i) + k] += f->R[k][i];
        }
        turn(f->R, anchor, back);
        for (int i = 0; i < 3; i++) back[i] = -back[i];
        shift(f, back, n);
        return;
    }
    const real position = (real)q[0] - joint->zero, speed = v[0];
    real z[3];
    turn(f->R, axis, z);
    if (joint->kind == CAL_PRISMATIC) {
        const real r[3] = {position * z[0], position * z[1], position * z[2]};
        shift(f, r, n);
        cross(f->w, z, t);
        for (int i = 0; i < 3; i++) {
            f->u[i] += z[i] * speed, f->a[i] += 2 * t[i] * speed;
            f->Ju[3 * first_v + i] += z[i];
        }
        return;
    }
    assert_int_equal(joint->kind, CAL_REVOLUTE);
    turn(f->R, anchor, t), shift(f, t, n);
    cross(f->w, z, t);
    for (int i = 0; i < 3; i++) {
        f->al[i] += t[i] * speed, f->w[i] += z[i] * speed;
        f->Jw[3 * first_v + i] += z[i];
    }
    axis_matrix(axis, position, T), multiply(f->R, T, f->R);
    turn(f->R, anchor, back);
    for (int i = 0; i < 3; i++) back[i] = -back[i];
    shift(f, back, n);
}

static void find_frame(const reference* r, int body, frame* out) {
    cal_body_def def;
    cal_model_body(r->model, body, &def);
    const int bodies = cal_model_body_count(r->model);
    assert_true(def.parent < body);
    copy_frame(&r->frames[def.parent == CAL_GROUND ? bodies : def.parent], out, r->n);
    real offset[3], T[3][3];
    widen(def.position, offset), turn(out->R, offset, offset), shift(out, offset, r->n);
    quaternion_matrix(def.quaternion, T), multiply(out->R, T, out->R);
    for (int j = 0; j < cal_model_joint_count(r->model); j++) {
        cal_joint_def joint;
        int of, first_q, first_v;
        cal_model_joint(r->model, j, &joint, &of, &first_q, &first_v);
        if (of == body) pass_joint(out, &joint, r->q + first_q, r->v + first_v, first_v, r->n);
    }
}

// --- Equations ------------------------------------------------------------------------------------------------------------

static void add_body(reference* r, int body, frame* c) {
    const int n = r->n;
    cal_body_def def;
    double gravity[3];
    real center[3], I[3][3], B[3][3], t[3], force[3], moment[3];
    static const int at[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    cal_model_body(r->model, body, &def);
    cal_model_gravity(r->model, gravity);
    copy_frame(&r->frames[body], c, n);
    widen(def.center, center), turn(c->R, center, center), shift(c, center, n);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) B[i][j] = def.inertia[at[i][j]];
    multiply(c->R, B, I);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) B[i][j] = c->R[j][i];
    multiply(I, B, I);
    turn(I, c->w, t), cross(c->w, t, moment), turn(I, c->al, t);
    for (int i = 0; i < 3; i++) moment[i] += t[i], force[i] = def.mass * (c->a[i] - gravity[i]);
    for (int i = 0; i < n; i++) {
        r->right[i] -= dot(c->Ju + 3 * i, force) + dot(c->Jw + 3 * i, moment);
        turn(I, c->Jw + 3 * i, t);
        for (int j = 0; j < n; j++)
            r->matrix[i * r->size + j] += def.mass * dot(c->Ju + 3 * i, c->Ju + 3 * j) + dot(t, c->Jw + 3 * j);
    }
}

static void add_joint(reference* r, int index) {
    cal_joint_def joint;
    int body, q, v;
    cal_model_joint(r->model, index, &joint, &body, &q, &v);
    const int count = cal_joint_v_count(joint.kind);
    for (int i = v; i < v + count; i++) {
        r->matrix[i * r->size + i] += joint.armature;
        r->right[i] -= (real)joint.damping * r->v[i];
        if (count == 1) r->right[i] -= joint.stiffness * ((real)r->q[q] - joint.spring_reference);
    }
}

// The second derivative of x · y, of two vectors that turn with frames, or are what is between their origins: `bias`, and how it depends
// on q̈.
typedef struct moving {
    real x[3], rate[3], bias[3];
    real* J; // 3 × n
} moving;

static moving axis_of(const frame* f, int k, int n, real* J) {
    moving m = {.x = {f->R[0][k], f->R[1][k], f->R[2][k]}, .J = J};
    real t[3];
    cross(f->w, m.x, m.rate), cross(f->w, m.rate, m.bias), cross(f->al, m.x, t);
    for (int i = 0; i < 3; i++) m.bias[i] += t[i];
    for (int i = 0; i < n; i++) cross(f->Jw + 3 * i, m.x, J + 3 * i);
    return m;
}

static moving between(const frame* a, const frame* b, int n, real* J) {
    moving m = {.J = J};
    for (int i = 0; i < 3; i++)
        m.x[i] = b->p[i] - a->p[i], m.rate[i] = b->u[i] - a->u[i], m.bias[i] = b->a[i] - a->a[i];
    for (int i = 0; i < 3 * n; i++) J[i] = b->Ju[i] - a->Ju[i];
    return m;
}

static void add_row(reference* r, const moving* x, const moving* y) {
    const int row = r->n + r->rows++;
    for (int i = 0; i < r->n; i++) {
        const real entry = dot(x->J + 3 * i, y->x) + dot(x->x, y->J + 3 * i);
        r->matrix[row * r->size + i] = entry, r->matrix[i * r->size + row] = -entry;
    }
    r->right[row] = -dot(x->bias, y->x) - 2 * dot(x->rate, y->rate) - dot(x->x, y->bias);
}

// A row of numbers: j q̈ + b = 0.
static void add_plain_row(reference* r, const real* j, real b) {
    const int row = r->n + r->rows++;
    for (int i = 0; i < r->n; i++) r->matrix[row * r->size + i] = j[i], r->matrix[i * r->size + row] = -j[i];
    r->right[row] = -b;
}

static void add_coupling(reference* r, const cal_constraint_def* def, real* J) {
    cal_joint_def joint;
    int body, q, v;
    const double* p = def->polynomial;
    double value, rate, change = 0.0;
    memset(J, 0, (size_t)r->n * sizeof *J);
    cal_model_joint(r->model, def->joint[0], &joint, &body, &q, &v);
    J[v] = 1;
    if (def->motion) def->motion(0.0, &value, &rate, &change, def->user);
    real bias = -change;
    if (def->joint[1] != CAL_NONE) {
        cal_model_joint(r->model, def->joint[1], &joint, &body, &q, &v);
        const real x = (real)r->q[q] - joint.zero, speed = r->v[v];
        J[v] -= p[1] + x * (2 * p[2] + x * (3 * p[3] + x * 4 * p[4]));
        bias -= (2 * p[2] + x * (6 * p[3] + x * 12 * p[4])) * speed * speed;
    }
    add_plain_row(r, J, bias);
}

// e · V̇ of a point that must not slip, V its velocity as a sees it: of b's origin x, or of the point x + rim of a wheel, with ṙim of rim.
static void add_slip(reference* r, const frame sides[2], const real* e, const real* turned, const real* rim,
                     const real* rim_rate, real* J) {
    const frame *a = &sides[0], *b = &sides[1];
    real arm[3], arm_rate[3], own[3], t[3], bias[3], w[3];
    for (int i = 0; i < 3; i++) {
        arm[i] = b->p[i] + rim[i] - a->p[i];
        arm_rate[i] = b->u[i] + rim_rate[i] - a->u[i];
    }
    cross(b->w, rim, own), cross(a->w, arm, t);
    for (int i = 0; i < 3; i++) w[i] = b->u[i] + own[i] - a->u[i] - t[i], bias[i] = b->a[i] - a->a[i];
    cross(b->al, rim, t), cross(b->w, rim_rate, own);
    for (int i = 0; i < 3; i++) bias[i] += t[i] + own[i];
    cross(a->al, arm, t), cross(a->w, arm_rate, own);
    for (int i = 0; i < 3; i++) bias[i] -= t[i] + own[i];
    for (int k = 0; k < r->n; k++) {
        cross(b->Jw + 3 * k, rim, own), cross(a->Jw + 3 * k, arm, t);
        real v[3];
        for (int i = 0; i < 3; i++) v[i] = b->Ju[3 * k + i] + own[i] - a->Ju[3 * k + i] - t[i];
        J[k] = dot(e, v);
    }
    add_plain_row(r, J, dot(e, bias) + dot(turned, w));
}

static void column(real R[3][3], int k, real* out) {
    for (int i = 0; i < 3; i++) out[i] = R[i][k];
}

static void add_knife_edge(reference* r, frame sides[2], real* J) {
    static const real none[3] = {0};
    real y[3], turned[3];
    column(sides[1].R, 1, y), cross(sides[1].w, y, turned);
    add_slip(r, sides, y, turned, none, none, J);
}

static void add_rolling(reference* r, frame sides[2], real radius, real* J) {
    real n[3], k[3], n_rate[3], k_rate[3], rim[3], rim_rate[3];
    column(sides[0].R, 2, n), column(sides[1].R, 2, k);
    cross(sides[0].w, n, n_rate), cross(sides[1].w, k, k_rate);
    const real g = dot(n, k), g_rate = dot(n_rate, k) + dot(n, k_rate), s = sqrtl(1 - g * g), s_rate = -g * g_rate / s;
    for (int i = 0; i < 3; i++) {
        rim[i] = -radius * (n[i] - g * k[i]) / s;
        rim_rate[i] = -radius * (n_rate[i] - g_rate * k[i] - g * k_rate[i]) / s - rim[i] * s_rate / s;
    }
    for (int axis = 0; axis < 3; axis++) {
        real e[3], turned[3];
        column(sides[0].R, axis, e), cross(sides[0].w, e, turned);
        add_slip(r, sides, e, turned, rim, rim_rate, J);
    }
}

static uint32_t rows_of(const cal_constraint_def* def) {
    enum { PLACE = CAL_ROW_X | CAL_ROW_Y | CAL_ROW_Z, TURN_XY = CAL_ROW_TURN_X | CAL_ROW_TURN_Y };
    switch (def->kind) {
    case CAL_WELD: return PLACE | TURN_XY | CAL_ROW_TURN_Z;
    case CAL_LOOP_REVOLUTE: return PLACE | TURN_XY;
    case CAL_LOOP_PRISMATIC: return CAL_ROW_X | CAL_ROW_Y | TURN_XY | CAL_ROW_TURN_Z;
    case CAL_LOOP_BALL: return PLACE;
    case CAL_ON_CIRCLE: return CAL_ROW_Z;
    case CAL_ROWS: return def->rows;
    default: return 0;
    }
}

// Turns that are held: an axis of a's stays at right angles to one of b's. Of three turns each pair of neighbours; of fewer the axis that is free
// takes part in all.
static void add_turns(reference* r, frame sides[2], uint32_t turns, real* J[2]) {
    for (int i = 0; i < 3; i++) {
        if (!(turns >> i & 1u)) continue;
        const int next = (i + 1) % 3, last = (i + 2) % 3, free = turns >> last & 1u ? next : last;
        const moving along = axis_of(&sides[1], turns == 7 ? next : free, r->n, J[0]),
                     across = axis_of(&sides[0], turns == 7 ? i : 3 - i - free, r->n, J[1]);
        add_row(r, &across, &along);
    }
}

static void find_sides(reference* r, const cal_constraint_def* def, frame sides[2]) {
    const int bodies = cal_model_body_count(r->model);
    for (int s = 0; s < 2; s++) {
        real offset[3], T[3][3];
        copy_frame(&r->frames[def->body[s] == CAL_GROUND ? bodies : def->body[s]], &sides[s], r->n);
        widen(def->position[s], offset), turn(sides[s].R, offset, offset), shift(&sides[s], offset, r->n);
        quaternion_matrix(def->quaternion[s], T), multiply(sides[s].R, T, sides[s].R);
    }
}

static void add_constraint(reference* r, int index, frame sides[2], real* J[3]) {
    cal_constraint_def def;
    cal_model_constraint(r->model, index, &def);
    const int n = r->n;
    if (def.kind == CAL_COUPLING) {
        add_coupling(r, &def, J[0]);
        return;
    }
    find_sides(r, &def, sides);
    const uint32_t rows = rows_of(&def);
    const moving apart = between(&sides[0], &sides[1], n, J[0]);
    if (def.kind == CAL_DISTANCE || def.kind == CAL_ON_CIRCLE) add_row(r, &apart, &apart);
    for (int k = 0; k < 3; k++)
        if (rows & 1u << k) {
            const moving along = axis_of(&sides[0], k, n, J[1]);
            add_row(r, &along, &apart);
        }
    if (def.kind == CAL_ON_SURFACE) { // a sphere about its user's point
        real center[3];
        frame about = sides[0];
        about.Jw = J[1], about.Ju = J[2];
        copy_frame(&sides[0], &about, n);
        widen(def.user, center), turn(about.R, center, center), shift(&about, center, n);
        const moving out = between(&about, &sides[1], n, J[0]);
        add_row(r, &out, &out);
    }
    if (def.kind == CAL_KNIFE_EDGE) add_knife_edge(r, sides, J[0]);
    if (def.kind == CAL_ROLLING) add_rolling(r, sides, def.length, J[0]);
    add_turns(r, sides, rows / CAL_ROW_TURN_X, J);
}

// Of a row's length this much is left of one that depends on others: q is known to 1e-16, and of others not much less than all is left.
static const real DEPENDS = 1e-9L;

// M = d⁻¹ L Lᵀ d⁻¹ in the matrix, lower half, with d_i = 1 / √M_ii: what the units of degrees of freedom are is no matter.
static void factor_mass(reference* r, real* d) {
    const int n = r->n, stride = r->size;
    real* m = r->matrix;
    for (int i = 0; i < n; i++) d[i] = 1 / sqrtl(m[i * stride + i]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            real sum = m[i * stride + j] * d[i] * d[j];
            for (int k = 0; k < j; k++) sum -= m[i * stride + k] * m[j * stride + k];
            m[i * stride + j] = i == j ? sqrtl(sum) : sum / m[j * stride + j];
        }
}
static void forward(const reference* r, const real* d, real* x) {
    for (int i = 0; i < r->n; i++) {
        x[i] *= d[i];
        for (int k = 0; k < i; k++) x[i] -= r->matrix[i * r->size + k] * x[k];
        x[i] /= r->matrix[i * r->size + i];
    }
}
static void backward(const reference* r, const real* d, real* x) {
    for (int i = r->n - 1; i >= 0; i--) {
        for (int k = i + 1; k < r->n; k++) x[i] -= r->matrix[k * r->size + i] * x[k];
        x[i] /= r->matrix[i * r->size + i];
    }
    for (int i = 0; i < r->n; i++) x[i] *= d[i];
}
static real dot_n(const real* a, const real* b, int n) {
    real sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

// Rows in the metric of the mass, y = L⁻¹ d Jᵀ, are made orthogonal, that one next of which most is left of its length; what is left of none are rows
// that depend on others. With y₀ = L⁻¹ d τ the accelerations are d L⁻ᵀ (y₀ + Σ y λ). x: q̈ and λ; returns the rank.
static int solve(reference* r, real* x) {
    const int n = r->n, rows = r->rows, stride = r->size;
    real *d = reals((size_t)n), *y = reals((size_t)rows * (size_t)n), *Q = reals((size_t)rows * (size_t)n),
         *R = reals((size_t)rows * (size_t)rows), *size = reals((size_t)rows), *z = reals((size_t)rows), lightest = 0;
    int *order = calloc((size_t)rows + 1, sizeof *order), rank = 0;
    bool* taken = calloc((size_t)rows + 1, sizeof *taken);
    assert_true(order && taken);
    factor_mass(r, d);
    for (int i = 0; i < n; i++) x[i] = r->right[i], lightest = fmaxl(lightest, d[i]);
    forward(r, d, x);
    for (int i = 0; i < rows; i++) {
        real* own = y + (size_t)i * (size_t)n;
        memcpy(own, r->matrix + (size_t)(n + i) * (size_t)stride, (size_t)n * sizeof *own);
        forward(r, d, own);
        size[i] = sqrtl(dot_n(own, own, n));
        // Else it is a row that cannot be broken.
        taken[i] = !(size[i] > DEPENDS * r->lever * lightest);
        memcpy(Q + (size_t)i * (size_t)n, own, (size_t)n * sizeof *own);
    }
    for (; rank < rows; rank++) {
        int best = -1;
        real most = DEPENDS, left;
        for (int i = 0; i < rows; i++)
            if (!taken[i] && (left = sqrtl(dot_n(Q + i * n, Q + i * n, n)) / size[i]) > most) most = left, best = i;
        if (best < 0) break;
        real* q = Q + (size_t)best * (size_t)n;
        for (int again = 0; again < 2; again++)
            for (int k = 0; k < rank; k++) {
                const real part = dot_n(q, Q + order[k] * n, n);
                for (int i = 0; i < n; i++) q[i] -= part * Q[order[k] * n + i];
            }
        const real length = sqrtl(dot_n(q, q, n));
        for (int i = 0; i < n; i++) q[i] /= length;
        taken[best] = true, order[rank] = best;
        for (int i = 0; i < rows; i++) {
            if (taken[i]) continue;
            const real part = dot_n(q, Q + i * n, n);
            for (int k = 0; k < n; k++) Q[i * n + k] -= part * q[k];
        }
    }
    // Rᵀ Q = y of the rows that are kept; R λ = z with Rᵀ z = right − y y₀.
    for (int i = 0; i < rank; i++) {
        const real* own = y + (size_t)order[i] * (size_t)n;
        z[i] = r->right[n + order[i]] - dot_n(own, x, n);
        for (int k = 0; k <= i; k++) R[k * rows + i] = dot_n(Q + order[k] * n, own, n);
        for (int k = 0; k < i; k++) z[i] -= R[k * rows + i] * z[k];
        z[i] /= R[i * rows + i];
    }
    for (int i = rank - 1; i >= 0; i--) {
        for (int k = 0; k < n; k++) x[k] += z[i] * Q[order[i] * n + k];
        real sum = z[i];
        for (int k = i + 1; k < rank; k++) sum -= R[i * rows + k] * x[n + order[k]];
        x[n + order[i]] = sum / R[i * rows + i];
    }
    backward(r, d, x);
    free(d), free(y), free(Q), free(R), free(size), free(z), free(order), free(taken);
    return rank;
}

static frame new_frame(int n) {
    frame f = {.R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .Jw = reals(3 * (size_t)n), .Ju = reals(3 * (size_t)n)};
    return f;
}
static void free_frame(frame* f) { free(f->Jw), free(f->Ju); }

// What force and torque on b at frame b's origin, and their opposites on a there, are as joint forces: 6 × n.
static void find_levers(reference* r, int index, frame sides[2], real* out) {
    cal_constraint_def def;
    cal_model_constraint(r->model, index, &def);
    if (def.kind == CAL_COUPLING) return;
    find_sides(r, &def, sides);
    real apart[3], t[3];
    for (int i = 0; i < 3; i++) apart[i] = sides[1].p[i] - sides[0].p[i];
    for (int k = 0; k < r->n; k++) {
        cross(sides[0].Jw + 3 * k, apart, t);
        for (int i = 0; i < 3; i++) {
            out[i * r->n + k] = sides[1].Ju[3 * k + i] - sides[0].Ju[3 * k + i] - t[i];
            out[(3 + i) * r->n + k] = sides[1].Jw[3 * k + i] - sides[0].Jw[3 * k + i];
        }
    }
}

static void find_efforts(const reference* r, const int* first_row, const real* rows, const real* lambda, real* out) {
    for (int c = 0; c < cal_model_constraint_count(r->model); c++)
        for (int i = first_row[c]; i < first_row[c + 1]; i++)
            for (int k = 0; k < r->n; k++) out[c * r->n + k] += lambda[i] * rows[i * r->n + k];
}

cal_test_solution cal_test_solve(const cal_model* model, const double* q, const double* v, double lever) {
    enum { MOST_ROWS = 6, BUFFERS = 3 };
    const int n = cal_model_v_count(model), bodies = cal_model_body_count(model),
              constraints = cal_model_constraint_count(model);
    reference r = {.model = model,
                   .n = n,
                   .q = q,
                   .v = v,
                   .lever = lever,
                   .size = n + MOST_ROWS * cal_model_constraint_count(model)};
    cal_test_solution out = {0};
    r.matrix = reals((size_t)r.size * (size_t)r.size), r.right = reals((size_t)r.size);
    r.frames = calloc((size_t)bodies + 1, sizeof *r.frames);
    int* first_row = calloc((size_t)constraints + 1, sizeof *first_row);
    assert_true(r.frames && first_row);
    frame sides[2] = {new_frame(n), new_frame(n)};
    real* J[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) J[i] = reals(3 * (size_t)n);
    for (int i = 0; i <= bodies; i++) r.frames[i] = new_frame(n);
    for (int i = 0; i < bodies; i++) find_frame(&r, i, &r.frames[i]);
    for (int i = 0; i < bodies; i++) add_body(&r, i, &sides[0]);
    for (int i = 0; i < cal_model_joint_count(model); i++) add_joint(&r, i);
    for (int i = 0; i < constraints; i++) add_constraint(&r, i, sides, J), first_row[i + 1] = r.rows;
    out.accelerations = reals((size_t)r.size);
    out.efforts = reals((size_t)constraints * (size_t)n);
    out.levers = reals((size_t)constraints * 6 * (size_t)n);
    out.rows = r.rows;
    real* rows = reals((size_t)r.rows * (size_t)n);
    for (int i = 0; i < r.rows; i++)
        memcpy(rows + i * n, r.matrix + (size_t)(n + i) * (size_t)r.size, (size_t)n * sizeof *rows);
    for (int i = 0; i < constraints; i++) find_levers(&r, i, sides, out.levers + i * 6 * n);
    out.rank = solve(&r, out.accelerations);
    find_efforts(&r, first_row, rows, out.accelerations + n, out.efforts);
    for (int i = 0; i <= bodies; i++) free_frame(&r.frames[i]);
    for (int s = 0; s < 2; s++) free_frame(&sides[s]);
    for (int i = 0; i < BUFFERS; i++) free(J[i]);
    free(r.frames), free(r.matrix), free(r.right), free(rows), free(first_row);
    return out;
}

void cal_test_solution_free(cal_test_solution* solution) {
    free(solution->accelerations), free(solution->efforts), free(solution->levers);
    *solution = (cal_test_solution){0};
}

cal_test_real* cal_test_lagrange(const cal_model* model, const double* q, const double* v, double lever) {
    cal_test_solution solution = cal_test_solve(model, q, v, lever);
    free(solution.efforts), free(solution.levers);
    return solution.accelerations;
}
