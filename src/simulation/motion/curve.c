// Polynomials in Bernstein's form (curve.h).
//
// A frame whose quaternion is p / |p| turns at ω = 2 Im(p̄ ṗ) / |p|², in its own axes, and since Im(p̄˙ ṗ) = 0
//
//     ω̇ = 2 Im(p̄ p̈) / |p|² − 4 (p·ṗ) Im(p̄ ṗ) / |p|⁴.
//
// Im(p̄ ṗ), Im(p̄ p̈) and p·ṗ are polynomials, and are bounded as such: for a frame that turns evenly, p̈ is along p, and
// the bound of ω̇ is as small as it should be. |p| is not less than its projection on any direction; that of p(0) + p(1) is taken.
#include "simulation/motion/curve.h"
#include "math/vector.h"
#include <math.h>
#include <string.h>

enum { MOST_TERMS = 2 * CAL_CURVE_TERMS };

// Newton's form at equidistant places, Σ cₖ Π (s − j/n), cₖ = nᵏ/k! Δᵏ, from its innermost bracket outwards. In Bernstein's form
// (s − z) p has (−z (m + 1 − i) bᵢ + (1 − z) i bᵢ₋₁) / (m + 1), and a number that is added is added to each coefficient.
void cal_curve_through(double* b, int degree) {
    const double first = b[0], last = b[degree];
    double c[CAL_CURVE_TERMS];
    memcpy(c, b, (size_t)(degree + 1) * sizeof *c);
    for (int k = 1; k <= degree; k++)
        for (int i = degree; i >= k; i--) c[i] = (c[i] - c[i - 1]) * ((double)degree / k);
    b[0] = c[degree];
    for (int m = 0; m < degree; m++) { // the bracket so far is of degree m
        const double z = (double)(degree - 1 - m) / degree;
        for (int i = m + 1; i >= 0; i--) {
            const double own = i <= m ? -z * (m + 1 - i) * b[i] : 0.0, before = i > 0 ? (1.0 - z) * i * b[i - 1] : 0.0;
            b[i] = (own + before) / (m + 1) + c[degree - 1 - m];
        }
    }
    b[0] = first, b[degree] = last; // but for rounding they are
}

void cal_curve_hermite(double h, double from, double velocity, double to, double to_velocity, double* b) {
    b[0] = from;
    b[1] = from + h * velocity / 3.0;
    b[2] = to - h * to_velocity / 3.0;
    b[3] = to;
}

// q̇ = ½ q ∘ ω
static void quaternion_rate(const double q[4], const double w[3], double rate[4]) {
    const double half[4] = {0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    cal_quaternion_multiply(q, half, rate);
}

void cal_curve_hermite_quaternion(double h, const double* q, const double* w, const double* to_q, const double* to_w,
                                  double* rows, int stride) {
    double rate[2][4], along = 0.0;
    quaternion_rate(q, w, rate[0]);
    quaternion_rate(to_q, to_w, rate[1]);
    for (int i = 0; i < 4; i++) along += q[i] * to_q[i];
    const double sign = along < 0.0 ? -1.0 : 1.0; // q and −q are one orientation
    for (int i = 0; i < 4; i++)
        cal_curve_hermite(h, q[i], rate[0][i], sign * to_q[i], sign * rate[1][i], rows + i * stride);
}

// De Casteljau's: means of neighbours, until two are left.
double cal_curve_at(const double* b, int degree, double s, double* slope) {
    double c[MOST_TERMS];
    memcpy(c, b, (size_t)(degree + 1) * sizeof *c);
    for (int n = degree; n > 1; n--)
        for (int i = 0; i < n; i++) c[i] = (1.0 - s) * c[i] + s * c[i + 1];
    *slope = degree > 0 ? degree * (c[1] - c[0]) : 0.0;
    return degree > 0 ? (1.0 - s) * c[0] + s * c[1] : c[0];
}

double cal_curve_least(const double b[CAL_CUBIC_TERMS], double* s) {
    const double d[3] = {b[1] - b[0], b[2] - b[1],
                         b[3] - b[2]}; // its slope is 3 (d₀ (1 − s)² + 2 d₁ s (1 − s) + d₂ s²)
    const double half = d[1] - d[0], root = half * half - (d[0] - 2.0 * d[1] + d[2]) * d[0];
    const double at = root >= 0.0 && half + sqrt(root) != 0.0 ? -d[0] / (half + sqrt(root)) : -1.0;
    if (!(at > 0.0 && at < 1.0)) return (double)INFINITY;
    double slope;
    *s = at;
    return cal_curve_at(b, CAL_CUBIC, at, &slope);
}

void cal_curve_quaternion_at(const double* rows, int stride, int degree, double h, double t, double q[4], double w[3]) {
    double rate[4], spin[4], square = 0.0;
    for (int i = 0; i < 4; i++) {
        q[i] = cal_curve_at(rows + i * stride, degree, t / h, &rate[i]);
        square += q[i] * q[i];
    }
    const double back[4] = {q[0], -q[1], -q[2], -q[3]};
    cal_quaternion_multiply(back, rate, spin);
    for (int i = 0; i < 3; i++) w[i] = 2.0 * spin[1 + i] / (h * square);
    cal_quaternion_normalize(q);
}

void cal_curve_derivative(const double* b, int degree, double* out) {
    for (int i = 0; i < degree; i++) out[i] = degree * (b[i + 1] - b[i]);
    if (degree == 0) out[0] = 0.0;
}

double cal_curve_length(const double* rows, int count, int stride, int degree) {
    double most = 0.0;
    for (int i = 0; i <= degree; i++) {
        double square = 0.0;
        for (int row = 0; row < count; row++) square += rows[row * stride + i] * rows[row * stride + i];
        most = fmax(most, square);
    }
    return sqrt(most);
}

// --- Turning ------------------------------------------------------------------------------------------------------------------

typedef struct curve {
    int degree;
    double c[4][MOST_TERMS];
} curve;

static curve derivative(const curve* p) {
    curve out = {.degree = p->degree > 0 ? p->degree - 1 : 0};
    for (int i = 0; i < 4; i++) cal_curve_derivative(p->c[i], p->degree, out.c[i]);
    return out;
}

// Coefficients times (n over i): products are then those of plain polynomials.
static curve weighted(const curve* p) {
    curve out = *p;
    double binomial = 1.0;
    for (int i = 0; i <= p->degree; i++) {
        for (int row = 0; row < 4; row++) out.c[row][i] *= binomial;
        binomial = binomial * (p->degree - i) / (i + 1);
    }
    return out;
}

static void add_product(const curve* p, int row, const curve* q, int column, double sign, double* out) {
    for (int i = 0; i <= p->degree; i++)
        for (int k = 0; k <= q->degree; k++) out[i + k] += sign * p->c[row][i] * q->c[column][k];
}

static double largest(const curve* p, int count) {
    double square[MOST_TERMS] = {0}, most = 0.0, binomial = 1.0;
    for (int i = 0; i <= p->degree; i++) {
        for (int row = 0; row < count; row++) square[i] += p->c[row][i] * p->c[row][i];
        most = fmax(most, square[i] / (binomial * binomial));
        binomial = binomial * (p->degree - i) / (i + 1);
    }
    return sqrt(most);
}

// Im(p̄ q) in rows 0 … 2; all three weighted.
static curve imaginary(const curve* p, const curve* q) {
    static const int terms[3][4][2] = {
        {{0, 1}, {1, 0}, {2, 3}, {3, 2}}, {{0, 2}, {2, 0}, {3, 1}, {1, 3}}, {{0, 3}, {3, 0}, {1, 2}, {2, 1}}};
    static const double signs[4] = {1.0, -1.0, -1.0, 1.0};
    curve out = {.degree = p->degree + q->degree};
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 4; k++) add_product(p, terms[row][k][0], q, terms[row][k][1], signs[k], out.c[row]);
    return out;
}

// Not more than the least length of p on [0, 1].
static double least_length(const curve* p) {
    double direction[4], square = 0.0, least = (double)INFINITY;
    for (int i = 0; i < 4; i++) {
        direction[i] = p->c[i][0] + p->c[i][p->degree];
        square += direction[i] * direction[i];
    }
    for (int k = 0; k <= p->degree; k++) {
        double along = 0.0;
        for (int i = 0; i < 4; i++) along += p->c[i][k] * direction[i];
        least = fmin(least, along);
    }
    return square > 0.0 && least > 0.0 ? least / sqrt(square) : 0.0;
}

void cal_curve_turning(const double* rows, int stride, int degree, double h, double* turn, double* twist) {
    curve p = {.degree = degree};
    for (int i = 0; i < 4; i++) memcpy(p.c[i], rows + i * stride, (size_t)(degree + 1) * sizeof *rows);
    const curve rate = derivative(&p), bend = derivative(&rate);
    const curve own = weighted(&p), own_rate = weighted(&rate), own_bend = weighted(&bend);
    const double length = least_length(&p), square = length * length;
    const curve spin = imaginary(&own, &own_rate), change = imaginary(&own, &own_bend);
    curve growth = {.degree = own.degree + own_rate.degree};
    for (int i = 0; i < 4; i++) add_product(&own, i, &own_rate, i, 1.0, growth.c[0]);
    const double spinning = largest(&spin, 3);
    *turn = 2.0 * spinning / (h * square);
    *twist = (2.0 * largest(&change, 3) / square + 4.0 * largest(&growth, 1) * spinning / (square * square)) / (h * h);
}
