// Accelerations of closed mechanisms against a dense solve of Lagrange's equations in extended precision.
//
// The reference knows nothing of the engine's algorithms: from the definitions of bodies, joints and constraints it finds, in long double,
// every body's Jacobian, M = Σ Jᵀ diag(m, I) J and the terms of velocity, and solves
//
//     M  −Jcᵀ   q̈     τ − h           h: what M q̈ misses of the forces of inertia and gravity
//     Jc   0    λ  =  −b              Jc q̈ + b: second derivatives of the constraints
//
// with complete pivots, dropping rows that depend on others (Bennett, Bricard, Sarrus have some): accelerations are unique all the same.
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

// A frame of a body: its motion at q̈ = 0, and how its velocity depends on v: 3 × n each.
typedef struct frame {
    real R[3][3], p[3], w[3], u[3], al[3], a[3]; // axes, origin, angular velocity, velocity, and their rates
    real *Jw, *Ju;
} frame;

typedef struct reference {
    const cal_model* model;
    int n, size, rows;
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

// A row of the matrix by its size, so that pivots are compared; M_ii = d⁻².
static void scale(const reference* r, real* d) {
    const int size = r->n + r->rows;
    for (int i = 0; i < r->n; i++) d[i] = 1 / sqrtl(r->matrix[i * r->size + i]);
    for (int i = r->n; i < size; i++) {
        real largest = 0;
        for (int j = 0; j < r->n; j++) largest = fmaxl(largest, fabsl(r->matrix[i * r->size + j] * d[j]));
        d[i] = largest > 0 ? 1 / largest : 1; // a row that cannot be broken
    }
}

// Rows that depend on others are left with pivots of rounding: q is known to 1e-16, and pivots of the others are not much less than one.
static const real DEPENDS = 1e-9L;

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

static real* find_accelerations(const cal_model* model, const double* q, const double* v) {
    enum { MOST_ROWS = 6 };
    const int n = cal_model_v_count(model), bodies = cal_model_body_count(model);
    reference r = {.model = model, .n = n, .q = q, .v = v, .size = n + MOST_ROWS * cal_model_constraint_count(model)};
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

// --- Mechanisms -----------------------------------------------------------------------------------------------------------

// Of the largest acceleration: rounding, times what the conditions of these mechanisms make of it. Measured: 2e-14 at most.
static const double MISFIT = 1e-12;

// After some motion, so that there are speeds, the simulation's accelerations are the reference's.
static void check(const cal_model* model, const char* name, double time) {
    const int n = cal_model_v_count(model);
    double* qdd = cal_test_numbers((size_t)n);
    cal_sim* sim = cal_test_open_sim(model, "rkf", 1e-10, NULL, 0.0);
    for (int look = 1; look <= 3; look++) {
        cal_test_advance_sim(sim, look * time);
        assert_int_equal(cal_sim_accelerations(sim, qdd), CAL_OK);
        real* exact = find_accelerations(model, cal_sim_q(sim), cal_sim_v(sim));
        double error = 0.0, largest = 1.0;
        for (int i = 0; i < n; i++) {
            assert_true(isfinite(qdd[i]) && isfinite(exact[i]));
            error = fmax(error, fabs(qdd[i] - (double)exact[i]));
            largest = fmax(largest, fabs((double)exact[i]));
        }
        cal_test_expect_below(error, MISFIT * largest, "accelerations", name);
        free(exact);
    }
    cal_sim_destroy(sim);
    free(qdd);
}

static void test_mechanisms_have_the_accelerations_of_a_dense_solve(void** unused) {
    (void)unused;
    static const struct {
        const char* name;
        double time;
    } mechanisms[] = {{"bennett", 0.1},
                      {"bricard", 0.1},
                      {"sarrus:gravity=9.81", 0.05},
                      {"delta", 0.05},
                      {"scissor:n=8", 0.1},
                      {"scissor:n=8,length=0.001", 0.003},
                      {"track:n=12", 0.1},
                      {"net:wide=3,tall=3", 0.1},
                      {"fourbar:n=5", 0.05},
                      {"fourbar:n=5,length=0.001,speed=0.03", 0.0015},
                      {"ring:n=12", 0.1},
                      {"fivebar", 0.1},
                      {"slidercrank", 0.1}};
    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
        cal_model* model = cal_test_model(mechanisms[i].name);
        check(model, mechanisms[i].name, mechanisms[i].time);
        cal_model_destroy(model);
    }
}

// Six legs, each on a universal joint and with a slide along it, carry a platform on balls: 24 degrees of freedom, 18 rows.
static void test_a_stewart_platform_has_the_accelerations_of_a_dense_solve(void** unused) {
    (void)unused;
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[3]){0.0, 0.0, -9.81});
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    body.mass = 5.0, body.position[2] = 1.0, body.center[0] = 0.02;
    body.inertia[0] = 0.2, body.inertia[1] = 0.25, body.inertia[2] = 0.4;
    joint.kind = CAL_FREE;
    const int platform = cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, platform, &joint);
    for (int leg = 0; leg < 6; leg++) {
        const double low = 1.05 * leg + (leg % 2) * 0.3, high = 1.05 * leg - (leg % 2) * 0.4;
        const double foot[3] = {cos(low), sin(low), 0.0}, ball[3] = {0.5 * cos(high), 0.5 * sin(high), 0.0};
        const double along[3] = {ball[0] - foot[0], ball[1] - foot[1], 1.0};
        const double length = sqrt(along[0] * along[0] + along[1] * along[1] + along[2] * along[2]);
        body = cal_default_body_def();
        memcpy(body.position, foot, sizeof foot);
        // The turn that takes z to the leg's direction, about their half.
        body.quaternion[0] = 1.0 + along[2] / length, body.quaternion[1] = -along[1] / length;
        body.quaternion[2] = along[0] / length, body.quaternion[3] = 0.0;
        body.mass = 0.5, body.center[2] = 0.3;
        body.inertia[0] = body.inertia[1] = 0.02, body.inertia[2] = 0.001;
        const int lower = cal_builder_add_body(builder, &body);
        joint = cal_default_joint_def();
        joint.axis[0] = 1.0, joint.axis[1] = joint.axis[2] = 0.0;
        cal_builder_add_joint(builder, lower, &joint);
        joint.axis[0] = 0.0, joint.axis[1] = 1.0;
        cal_builder_add_joint(builder, lower, &joint);
        body.parent = lower;
        memset(body.position, 0, sizeof body.position);
        body.quaternion[0] = 1.0, body.quaternion[1] = body.quaternion[2] = 0.0;
        body.position[2] = length;
        body.center[2] = -0.3;
        const int upper = cal_builder_add_body(builder, &body);
        joint = cal_default_joint_def();
        joint.kind = CAL_PRISMATIC;
        joint.axis[0] = joint.axis[1] = 0.0, joint.axis[2] = 1.0;
        joint.stiffness = 300.0, joint.damping = 4.0, joint.armature = 0.1;
        cal_builder_add_joint(builder, upper, &joint);
        cal_constraint_def loop = cal_default_constraint_def();
        loop.kind = CAL_LOOP_BALL;
        loop.body[0] = platform, loop.body[1] = upper;
        memcpy(loop.position[0], ball, sizeof ball);
        cal_builder_add_constraint(builder, &loop);
    }
    cal_model* model;
    cal_error error;
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    check(model, "Stewart platform", 0.1);
    cal_model_destroy(model);
}

// A link from its parent's `at` on, turned by an angle about y.
static int add_link(cal_builder* builder, int parent, double at, double angle, double length) {
    cal_body_def body = cal_default_body_def();
    cal_joint_def hinge = cal_default_joint_def();
    body.parent = parent;
    body.position[0] = at;
    body.quaternion[0] = cos(0.5 * angle), body.quaternion[2] = sin(0.5 * angle);
    body.mass = 10.0 * length * length * length;
    body.center[0] = 0.5 * length;
    body.inertia[0] = body.mass * length * length / 1200.0;
    body.inertia[1] = body.inertia[2] = 100.0 * body.inertia[0];
    hinge.axis[0] = hinge.axis[2] = 0.0, hinge.axis[1] = 1.0;
    const int number = cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, number, &hinge);
    return number;
}

// Rhombi in one tree, each at the end of the last one: loops that pass flat positions, a row each of which depends on the others. What
// evaluations they take does not depend on the unit of length, for as long as a link would fall through its own length a few times.
static int64_t follow_rhombi(int count, double length) {
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[3]){0.0, 0.0, -9.81});
    int corner = add_link(builder, CAL_GROUND, 0.0, 0.0, length);
    for (int i = 0; i < count; i++) {
        const double half = 0.4 + 0.3 * (i * 7 % 10) / 10.0;
        const int a = add_link(builder, corner, length, -half, length),
                  b = add_link(builder, corner, length, half, length);
        const int d = add_link(builder, b, length, -2.0 * half, length);
        cal_constraint_def loop = cal_default_constraint_def();
        corner = add_link(builder, a, length, 2.0 * half, length);
        loop.kind = CAL_LOOP_BALL;
        loop.body[0] = corner, loop.body[1] = d;
        loop.position[0][0] = loop.position[1][0] = length;
        cal_builder_add_constraint(builder, &loop);
    }
    cal_model* model;
    cal_error error;
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    const double time = sqrt(length);
    check(model, length < 1.0 ? "small rhombi" : "rhombi", 0.1 * time);
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-6, NULL, 0.0);
    cal_sim_report report;
    cal_test_advance_sim(sim, time);
    cal_sim_get_report(sim, &report);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return report.evaluations;
}

static void test_rhombi_of_a_millimetre_are_followed_as_those_of_a_metre(void** unused) {
    (void)unused;
    const int64_t large = follow_rhombi(12, 1.0), small = follow_rhombi(12, 0.001);
    assert_true(small < 2 * large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mechanisms_have_the_accelerations_of_a_dense_solve),
        cmocka_unit_test(test_a_stewart_platform_has_the_accelerations_of_a_dense_solve),
        cmocka_unit_test(test_rhombi_of_a_millimetre_are_followed_as_those_of_a_metre),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
