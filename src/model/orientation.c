// The sign of a determinant of differences, without error (orientation.h), after Shewchuk, "Adaptive precision floating-point
// arithmetic and fast robust geometric predicates" (1997).
//
// Most signs are clear from plain arithmetic: the determinant exceeds every error that rounding can have made. Where it does
// not, the numbers are taken as *expansions*: sums of doubles that do not overlap, smallest first, whose last one has the
// sign of all. Sums and products of expansions are exact, since the rounding error of a sum or a product of two doubles is
// a double itself.
//
//     determinant = u_z (v_x w_y − v_y w_x) + u_x (v_y w_z − v_z w_y) + u_y (v_z w_x − v_x w_z)
//
// with u = a − p, v = b − p, w = c − p: each a double and what its subtraction lost, 2 terms at most. So a product of two has 8
// terms at most, a difference of such products 16, times a third 64, and three of them 192.
#include "model/orientation.h"
#include <math.h>

enum { MOST_TERMS = 192 };

// Relative to the sum of the absolute products, the largest error of the plain determinant: (7 + 56 ε) ε with ε = 2⁻⁵³.
static const double error_bound = (7.0 + 56.0 * 0x1p-53) * 0x1p-53;

typedef struct expansion {
    int count;
    double terms[MOST_TERMS];
} expansion;

// x + y = a + b with x the rounded sum.
static inline void two_sum(double a, double b, double* x, double* y) {
    *x = a + b;
    const double virtual_b = *x - a, virtual_a = *x - virtual_b;
    *y = (a - virtual_a) + (b - virtual_b);
}

// Veltkamp's halves of a double, 26 bits each.
static inline void split(double a, double* high, double* low) {
    const double c = 134217729.0 * a;
    *high = c - (c - a);
    *low = a - *high;
}

// x + y = a b with x the rounded product.
static inline void two_product(double a, double b, double* x, double* y) {
    double ah, al, bh, bl;
    *x = a * b;
    split(a, &ah, &al);
    split(b, &bh, &bl);
    *y = al * bl - (((*x - ah * bh) - al * bh) - ah * bl);
}

static void add_term(expansion* sum, double term) {
    double q = term;
    int count = 0;
    for (int i = 0; i < sum->count; i++) {
        double rest;
        two_sum(q, sum->terms[i], &q, &rest);
        if (rest != 0.0) sum->terms[count++] = rest;
    }
    if (q != 0.0) sum->terms[count++] = q;
    sum->count = count;
}

// sum ← sum + factor · e
static void add_scaled(expansion* sum, const expansion* e, double factor) {
    for (int i = 0; i < e->count; i++) {
        double high, low;
        two_product(e->terms[i], factor, &high, &low);
        if (low != 0.0) add_term(sum, low);
        if (high != 0.0) add_term(sum, high);
    }
}

static void difference(double a, double b, expansion* out) {
    double high, low;
    two_sum(a, -b, &high, &low);
    out->count = 0;
    if (low != 0.0) out->terms[out->count++] = low;
    if (high != 0.0) out->terms[out->count++] = high;
}

// sum ← sum + a (b c′ − c b′)
static void add_product(expansion* sum, const expansion* a, const expansion* b, const expansion* c_, const expansion* c,
                        const expansion* b_) {
    expansion minor;
    minor.count = 0;
    for (int i = 0; i < c_->count; i++) add_scaled(&minor, b, c_->terms[i]);
    for (int i = 0; i < b_->count; i++) add_scaled(&minor, c, -b_->terms[i]);
    for (int i = 0; i < a->count; i++) add_scaled(sum, &minor, a->terms[i]);
}

static int exact_sign(const double a[3], const double b[3], const double c[3], const double p[3]) {
    expansion u[3], v[3], w[3], sum;
    for (int i = 0; i < 3; i++) {
        difference(a[i], p[i], &u[i]);
        difference(b[i], p[i], &v[i]);
        difference(c[i], p[i], &w[i]);
    }
    sum.count = 0;
    add_product(&sum, &u[2], &v[0], &w[1], &v[1], &w[0]);
    add_product(&sum, &u[0], &v[1], &w[2], &v[2], &w[1]);
    add_product(&sum, &u[1], &v[2], &w[0], &v[0], &w[2]);
    if (sum.count == 0) return 0;
    return sum.terms[sum.count - 1] > 0.0 ? 1 : -1;
}

int cal_side_of_plane(const double a[3], const double b[3], const double c[3], const double p[3]) {
    double u[3], v[3], w[3];
    for (int i = 0; i < 3; i++) u[i] = a[i] - p[i], v[i] = b[i] - p[i], w[i] = c[i] - p[i];
    const double vxwy = v[0] * w[1], vywx = v[1] * w[0];
    const double vywz = v[1] * w[2], vzwy = v[2] * w[1];
    const double vzwx = v[2] * w[0], vxwz = v[0] * w[2];
    const double determinant = u[2] * (vxwy - vywx) + u[0] * (vywz - vzwy) + u[1] * (vzwx - vxwz);
    const double size = (fabs(vxwy) + fabs(vywx)) * fabs(u[2]) + (fabs(vywz) + fabs(vzwy)) * fabs(u[0]) +
                        (fabs(vzwx) + fabs(vxwz)) * fabs(u[1]);
    const double bound = error_bound * size;
    // The determinant is that of a, b, c about p: positive when p is below.
    if (determinant > bound) return -1;
    if (-determinant > bound) return 1;
    if (size == 0.0) return 0;
    return -exact_sign(a, b, c, p);
}
