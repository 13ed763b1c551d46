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

static void add_constraint(reference* r, int index, frame sides[2], real* J[2]) {
    cal_constraint_def def;
    cal_model_constraint(r->model, index, &def);
    const int n = r->n, bodies = cal_model_body_count(r->model);
    for (int s = 0; s < 2; s++) {
        real offset[3], T[3][3];
        copy_frame(&r->frames[def.body[s] == CAL_GROUND ? bodies : def.body[s]], &sides[s], n);
        widen(def.position[s], offset), turn(sides[s].R, offset, offset), shift(&sides[s], offset, n);
        quaternion_matrix(def.quaternion[s], T), multiply(sides[s].R, T, sides[s].R);
    }
    const bool pin = def.kind == CAL_LOOP_REVOLUTE || def.kind == CAL_LOOP_BALL;
    assert_true(pin || def.kind == CAL_DISTANCE || def.kind == CAL_ROWS);
    const uint32_t rows = pin ? CAL_ROW_X | CAL_ROW_Y | CAL_ROW_Z : def.kind == CAL_ROWS ? def.rows : 0;
    assert_true(rows < CAL_ROW_TURN_X);
    const moving apart = between(&sides[0], &sides[1], n, J[0]);
    if (def.kind == CAL_DISTANCE) add_row(r, &apart, &apart);
    for (int k = 0; k < 3; k++)
        if (rows & 1u << k) {
            const moving along = axis_of(&sides[0], k, n, J[1]);
            add_row(r, &along, &apart);
        }
    const moving z = axis_of(&sides[1], 2, n, J[0]);
    for (int k = 0; k < 2 && def.kind == CAL_LOOP_REVOLUTE; k++) {
        const moving across = axis_of(&sides[0], k, n, J[1]);
        add_row(r, &across, &z);
    }
}

// Rows that depend on others are left with pivots of rounding: q is known to 1e-16, and pivots of the others are not much less than one.
static const real DEPENDS = 1e-9L;

// A row of the matrix by its size, so that pivots are compared; M_ii = d⁻².
static void scale(const reference* r, real* d) {
    const int size = r->n + r->rows;
    real lightest = 0;
    for (int i = 0; i < r->n; i++) {
        d[i] = 1 / sqrtl(r->matrix[i * r->size + i]);
        lightest = fmaxl(lightest, d[i]);
    }
    for (int i = r->n; i < size; i++) {
        real largest = 0;
        for (int j = 0; j < r->n; j++) largest = fmaxl(largest, fabsl(r->matrix[i * r->size + j] * d[j]));
        d[i] = largest > DEPENDS * r->lever * lightest ? 1 / largest : 0; // else it is a row that cannot be broken
    }
}

// Gauss with complete pivots; x: those of the columns that have one.
static void solve(reference* r, real* x) {
    const int stride = r->size, size = r->n + r->rows;
    real *m = r->matrix, *b = r->right, *d = reals((size_t)size);
    int* column = calloc((size_t)size, sizeof *column);
    scale(r, d);
    for (int i = 0; i < size; i++) {
        column[i] = i, b[i] *= d[i];
        for (int j = 0; j < size; j++) m[i * stride + j] *= d[i] * d[j];
    }
    int rank = 0;
    for (; rank < size; rank++) {
        int row = rank, at = rank;
        for (int i = rank; i < size; i++)
            for (int j = rank; j < size; j++)
                if (fabsl(m[i * stride + j]) > fabsl(m[row * stride + at])) row = i, at = j;
        if (fabsl(m[row * stride + at]) < DEPENDS) break;
        for (int j = 0; j < size; j++) {
            const real swap = m[rank * stride + j];
            m[rank * stride + j] = m[row * stride + j], m[row * stride + j] = swap;
        }
        for (int i = 0; i < size; i++) {
            const real swap = m[i * stride + rank];
            m[i * stride + rank] = m[i * stride + at], m[i * stride + at] = swap;
        }
        const real swap = b[rank];
        const int name = column[rank];
        b[rank] = b[row], b[row] = swap, column[rank] = column[at], column[at] = name;
        for (int i = rank + 1; i < size; i++) {
            const real factor = m[i * stride + rank] / m[rank * stride + rank];
            for (int j = rank; j < size; j++) m[i * stride + j] -= factor * m[rank * stride + j];
            b[i] -= factor * b[rank];
        }
    }
    for (int i = rank - 1; i >= 0; i--) {
        for (int j = i + 1; j < rank; j++) b[i] -= m[i * stride + j] * b[j];
        b[i] /= m[i * stride + i];
        x[column[i]] = b[i] * d[column[i]];
    }
    free(d), free(column);
}

static frame new_frame(int n) {
    frame f = {.R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .Jw = reals(3 * (size_t)n), .Ju = reals(3 * (size_t)n)};
    return f;
}
static void free_frame(frame* f) { free(f->Jw), free(f->Ju); }

cal_test_real* cal_test_lagrange(const cal_model* model, const double* q, const double* v, double lever) {
    enum { MOST_ROWS = 6 };
    const int n = cal_model_v_count(model), bodies = cal_model_body_count(model);
    reference r = {.model = model,
                   .n = n,
                   .q = q,
                   .v = v,
                   .lever = lever,
                   .size = n + MOST_ROWS * cal_model_constraint_count(model)};
    r.matrix = reals((size_t)r.size * (size_t)r.size), r.right = reals((size_t)r.size);
    r.frames = calloc((size_t)bodies + 1, sizeof *r.frames);
    frame sides[2] = {new_frame(n), new_frame(n)};
    real *J[2] = {reals(3 * (size_t)n), reals(3 * (size_t)n)}, *x = reals((size_t)r.size);
    for (int i = 0; i <= bodies; i++) r.frames[i] = new_frame(n);
    for (int i = 0; i < bodies; i++) find_frame(&r, i, &r.frames[i]);
    for (int i = 0; i < bodies; i++) add_body(&r, i, &sides[0]);
    for (int i = 0; i < cal_model_joint_count(model); i++) add_joint(&r, i);
    for (int i = 0; i < cal_model_constraint_count(model); i++) add_constraint(&r, i, sides, J);
    solve(&r, x);
    for (int i = 0; i <= bodies; i++) free_frame(&r.frames[i]);
    for (int s = 0; s < 2; s++) free_frame(&sides[s]), free(J[s]);
    free(r.frames), free(r.matrix), free(r.right);
    return x;
}
