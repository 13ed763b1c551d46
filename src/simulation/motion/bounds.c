// Bounds of motions between two states, from the polynomials that they follow.
//
// A polynomial of degree n on [0, 1] lies in the convex hull of its Bernstein coefficients
//
//     bᵢ = Σ cₖ (i over k) / (n over k),    k ≤ i,
//
// so the longest of them bounds the length of a vector of polynomials. Derivatives are polynomials too.
//
// A frame whose quaternion is p / |p| turns at ω = 2 Im(p̄ ṗ) / |p|², in its own axes, and since Im(p̄˙ ṗ) = 0
//
//     ω̇ = 2 Im(p̄ p̈) / |p|² − 4 (p·ṗ) Im(p̄ ṗ) / |p|⁴.
//
// Im(p̄ ṗ), Im(p̄ p̈) and p·ṗ are polynomials, and are bounded as such: for a frame that turns evenly, p̈ is along p, and
// the bound of ω̇ is as small as it should be. |p| is not less than its projection on any direction; that of p(0) + p(1) is taken.
//
// Along a tree of joints, from the ground outwards, with w, ẇ the turning rates of a joint, ṡ and s̈ its sliding, and d the
// distance of its origin from its parent's, lengths add up at most:
//
//     W = W_p + w,    A = A_p + ẇ + W_p w,    O = O_p + (A_p + W_p²) d + s̈ + 2 W_p ṡ,
//
// where W bounds |ω|, A |ω̇| and O the acceleration of the origin. A centre at a distance e from there has O + (A + W²) e.
#include "simulation/motion/bounds.h"
#include "model/model.h"
#include "simulation/body.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

enum { MOST_TERMS = 2 * CAL_STEP_TERMS };

// --- Polynomials --------------------------------------------------------------------------------------------------------------

void cal_fit_coordinate(int degree, double h, const double from[3], const double to[3], double out[CAL_STEP_TERMS]) {
    const double way = to[0] - from[0], u = h * from[1], v = h * to[1];
    memset(out, 0, CAL_STEP_TERMS * sizeof *out);
    out[0] = from[0];
    out[1] = u;
    if (degree == 3) {
        out[2] = 3.0 * way - 2.0 * u - v;
        out[3] = u + v - 2.0 * way;
        return;
    }
    const double a = h * h * from[2], b = h * h * to[2];
    out[2] = 0.5 * a;
    out[3] = 10.0 * way - 6.0 * u - 4.0 * v - 1.5 * a + 0.5 * b;
    out[4] = -15.0 * way + 8.0 * u + 7.0 * v + 1.5 * a - b;
    out[5] = 6.0 * way - 3.0 * (u + v) - 0.5 * (a - b);
}

// c ← its derivative; a constant becomes zero.
static int derive(double* c, int degree) {
    for (int k = 0; k < degree; k++) c[k] = (k + 1) * c[k + 1];
    if (degree == 0) c[0] = 0.0;
    return degree > 0 ? degree - 1 : 0;
}

static void to_bernstein(const double* c, int degree, double* out) {
    for (int i = 0; i <= degree; i++) {
        double share = 1.0; // (i over k) / (n over k)
        out[i] = 0.0;
        for (int k = 0; k <= i; k++) {
            out[i] += share * c[k];
            if (k < i) share *= (double)(i - k) / (double)(degree - k);
        }
    }
}

double cal_largest_length(const double* rows, int count, int stride, int degree) {
    double squares[MOST_TERMS] = {0}, most = 0.0;
    for (int row = 0; row < count; row++) {
        double b[MOST_TERMS];
        to_bernstein(rows + row * stride, degree, b);
        for (int i = 0; i <= degree; i++) squares[i] += b[i] * b[i];
    }
    for (int i = 0; i <= degree; i++) most = fmax(most, squares[i]);
    return sqrt(most);
}

typedef struct curve {
    int degree;
    double c[4][MOST_TERMS];
} curve;

static curve curve_of(const double* rows, int count, int stride, int degree) {
    curve out = {.degree = degree};
    for (int i = 0; i < count; i++) memcpy(out.c[i], rows + i * stride, (size_t)(degree + 1) * sizeof *rows);
    return out;
}

static curve derivative(const curve* p) {
    curve out = *p;
    for (int i = 0; i < 4; i++) out.degree = derive(out.c[i], p->degree);
    return out;
}

static double largest(const curve* p, int count) {
    return cal_largest_length(&p->c[0][0], count, MOST_TERMS, p->degree);
}

static void add_product(const double* a, int degree_a, const double* b, int degree_b, double sign, double* out) {
    for (int i = 0; i <= degree_a; i++)
        for (int k = 0; k <= degree_b; k++) out[i + k] += sign * a[i] * b[k];
}

// Im(p̄ q) in rows 0 … 2.
static curve imaginary(const curve* p, const curve* q) {
    static const int terms[3][4][2] = {
        {{0, 1}, {1, 0}, {2, 3}, {3, 2}}, {{0, 2}, {2, 0}, {3, 1}, {1, 3}}, {{0, 3}, {3, 0}, {1, 2}, {2, 1}}};
    static const double signs[4] = {1.0, -1.0, -1.0, 1.0};
    curve out = {.degree = p->degree + q->degree};
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 4; k++)
            add_product(p->c[terms[row][k][0]], p->degree, q->c[terms[row][k][1]], q->degree, signs[k], out.c[row]);
    return out;
}

// Not more than the least length of p on [0, 1].
static double least_length(const curve* p) {
    double b[4][MOST_TERMS] = {{0}}, direction[4], square = 0.0, least = (double)INFINITY;
    for (int i = 0; i < 4; i++) {
        to_bernstein(p->c[i], p->degree, b[i]);
        direction[i] = b[i][0] + b[i][p->degree];
        square += direction[i] * direction[i];
    }
    for (int k = 0; k <= p->degree; k++) {
        double along = 0.0;
        for (int i = 0; i < 4; i++) along += b[i][k] * direction[i];
        least = fmin(least, along);
    }
    return square > 0.0 && least > 0.0 ? least / sqrt(square) : 0.0;
}

void cal_bound_turning(const double* rows, int stride, int degree, double h, double* turn, double* twist) {
    const curve p = curve_of(rows, 4, stride, degree), rate = derivative(&p), bend = derivative(&rate);
    const double length = least_length(&p), square = length * length;
    const curve spin = imaginary(&p, &rate), change = imaginary(&p, &bend);
    curve growth = {.degree = p.degree + rate.degree};
    for (int i = 0; i < 4; i++) add_product(p.c[i], p.degree, rate.c[i], rate.degree, 1.0, growth.c[0]);
    const double spinning = largest(&spin, 3);
    *turn = 2.0 * spinning / (h * square);
    *twist = (2.0 * largest(&change, 3) / square + 4.0 * largest(&growth, 1) * spinning / (square * square)) / (h * h);
}

// --- Multibodies --------------------------------------------------------------------------------------------------------------

// Where a joint's quaternion begins, −1: it has none; and its rate's number.
static int quaternion_of(const cal_node* node, int* first_v) {
    *first_v = node->kind == CAL_FREE ? node->first_v + 3 : node->first_v;
    return node->kind == CAL_FREE ? node->first_q + 3 : node->kind == CAL_BALL ? node->first_q : -1;
}

static int slides_of(const cal_node* node) { return node->kind == CAL_FREE ? 3 : node->kind == CAL_BALL ? 0 : 1; }

// First and second derivatives of a quaternion: q̇ = ½ q ∘ ω, q̈ = ½ (q̇ ∘ ω + q ∘ ω̇).
static void quaternion_rates(const double q[4], const double w[3], const double* a, double rate[4], double second[4]) {
    const double half[4] = {0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    cal_quaternion_multiply(q, half, rate);
    memset(second, 0, 4 * sizeof *second);
    if (a == NULL) return;
    const double change[4] = {0.0, 0.5 * a[0], 0.5 * a[1], 0.5 * a[2]};
    double other[4];
    cal_quaternion_multiply(rate, half, second);
    cal_quaternion_multiply(q, change, other);
    for (int i = 0; i < 4; i++) second[i] += other[i];
}

void cal_fit_quaternion(int degree, double h, const double* q, const double* w, const double* a, const double* to_q,
                        const double* to_w, const double* to_a, double* rows) {
    double rate[2][4], second[2][4], along = 0.0;
    quaternion_rates(q, w, a, rate[0], second[0]);
    quaternion_rates(to_q, to_w, to_a, rate[1], second[1]);
    for (int i = 0; i < 4; i++) along += q[i] * to_q[i];
    const double sign = along < 0.0 ? -1.0 : 1.0; // q and −q are one orientation
    for (int i = 0; i < 4; i++)
        cal_fit_coordinate(degree, h, (double[]){q[i], rate[0][i], second[0][i]},
                           (double[]){sign * to_q[i], sign * rate[1][i], sign * second[1][i]},
                           rows + i * CAL_STEP_TERMS);
}

void cal_fit_step(const cal_model* model, int degree, double h, const double* q, const double* v, const double* a,
                  const double* to_q, const double* to_v, const double* to_a, double* rows) {
    const bool bends = degree > 3;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        int w;
        const int turning = quaternion_of(node, &w);
        for (int i = 0; i < slides_of(node); i++) {
            const int k = node->first_q + i, r = node->first_v + i;
            cal_fit_coordinate(degree, h, (double[]){q[k], v[r], bends ? a[r] : 0.0},
                               (double[]){to_q[k], to_v[r], bends ? to_a[r] : 0.0}, rows + k * CAL_STEP_TERMS);
        }
        if (turning >= 0)
            cal_fit_quaternion(degree, h, q + turning, v + w, bends ? a + w : NULL, to_q + turning, to_v + w,
                               bends ? to_a + w : NULL, rows + turning * CAL_STEP_TERMS);
    }
}

double cal_evaluate_coordinate(const double c[CAL_STEP_TERMS], double s, double* slope) {
    double value = c[CAL_STEP_TERMS - 1];
    *slope = 0.0;
    for (int k = CAL_STEP_TERMS - 2; k >= 0; k--) {
        *slope = value + s * *slope;
        value = c[k] + s * value;
    }
    return value;
}

void cal_evaluate_quaternion(const double* rows, double h, double t, double q[4], double w[3]) {
    double rate[4], spin[4], square = 0.0;
    for (int i = 0; i < 4; i++) {
        q[i] = cal_evaluate_coordinate(rows + i * CAL_STEP_TERMS, t / h, &rate[i]);
        square += q[i] * q[i];
    }
    const double back[4] = {q[0], -q[1], -q[2], -q[3]};
    cal_quaternion_multiply(back, rate, spin);
    for (int i = 0; i < 3; i++) w[i] = 2.0 * spin[1 + i] / (h * square);
    cal_quaternion_normalize(q);
}

void cal_evaluate_step(const cal_model* model, const double* rows, double h, double t, double* q, double* v) {
    const double s = t / h;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        int w;
        const int turning = quaternion_of(node, &w);
        for (int i = 0; i < slides_of(node); i++) {
            double slope;
            q[node->first_q + i] = cal_evaluate_coordinate(rows + (node->first_q + i) * CAL_STEP_TERMS, s, &slope);
            v[node->first_v + i] = slope / h;
        }
        if (turning >= 0) cal_evaluate_quaternion(rows + turning * CAL_STEP_TERMS, h, t, q + turning, v + w);
    }
}

// Largest |s|, |ṡ| and |s̈| of the numbers of a joint that are no quaternion.
static void bound_slide(const cal_node* node, const double* rows, int degree, double h, double out[3]) {
    curve p = curve_of(rows + node->first_q * CAL_STEP_TERMS, slides_of(node), CAL_STEP_TERMS, degree);
    const curve rate = derivative(&p), bend = derivative(&rate);
    out[0] = largest(&p, 3);
    out[1] = largest(&rate, 3) / h;
    out[2] = largest(&bend, 3) / (h * h);
}

void cal_bound_links(const cal_world* world, const cal_multibody* m, const double* rows, int degree, double h,
                     double* work, double* out) {
    const cal_model* model = m->engine->model;
    static const double still[3] = {0.0, 0.0, 0.0};
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        const double* above = node->parent >= 0 ? work + 3 * node->parent : still; // O, W, A
        double slide[3] = {0}, turn = 0.0, twist = 0.0, *own = work + 3 * n;
        int unused;
        const int turning = quaternion_of(node, &unused);
        if (slides_of(node) > 0) bound_slide(node, rows, degree, h, slide);
        if (node->kind == CAL_REVOLUTE) {
            turn = slide[1], twist = slide[2];
            memset(slide, 0, sizeof slide);
        }
        if (turning >= 0) cal_bound_turning(rows + turning * CAL_STEP_TERMS, CAL_STEP_TERMS, degree, h, &turn, &twist);
        const double distance = sqrt(cal_dot3(node->offset, node->offset)) + slide[0];
        own[0] = above[0] + slide[2] + 2.0 * above[1] * slide[1];
        if (above[1] > 0.0 || above[2] > 0.0) own[0] += (above[2] + above[1] * above[1]) * distance;
        own[1] = above[1] + turn;
        own[2] = above[2] + twist + above[1] * turn;
    }
    for (int body = 0; body < m->engine->body_count; body++) {
        const cal_mount* mount = &model->mounts[body];
        const double* own = mount->node >= 0 ? work + 3 * mount->node : still;
        double center[3];
        cal_rotate3(mount->rotation, world->bodies[m->bodies[body]].offset, center);
        for (int i = 0; i < 3; i++) center[i] += mount->offset[i];
        out[3 * body] = own[0] + (own[2] + own[1] * own[1]) * sqrt(cal_dot3(center, center));
        out[3 * body + 1] = own[1];
        out[3 * body + 2] = own[2];
    }
}
