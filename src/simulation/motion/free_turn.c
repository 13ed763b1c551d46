// The rotation of a body that nothing turns, in closed form: Jacobi's.
//
// The angular momentum L stays where it is. In principal axes 1, 2, 3 (2 the middle moment, 3 the one of the other two that L goes around)
// its direction m, with I₁ ω₁ = |L| m₁ and so on, is
//
//     m₁ = s cn u,   m₂ = s₂ sn u,   m₃ = c dn u,   s² + c² = 1,
//
//     s² = m₁² + f m₂²,   c² = m₃² + (1 − f) m₂²,   f = I₁ (I₃ − I₂) / I₂ (I₃ − I₁),
//     u̇ = ±|L| c √[(I₃ − I₁)(I₃ − I₂) / I₁ I₂] / I₃   (+: I₃ is the largest),   k² = (s/c)² (I₃/I₁) (I₂ − I₁)/(I₃ − I₂).
//
// Let p be the orientation seen from a frame whose third axis is along L, and α = p₀ + i p₃, β = −p₂ + i p₁, so that
// m₁ + i m₂ = 2 ᾱ β and m₃ = |α|² − |β|². Both α and β are functions of u with one zero each in a cell of 2K and 4iK'; their poles are the same, and
// go with the length of p. So they are theta functions with the nome q² of such cells (q = exp(−π K'/K)), and but for that length
//
//     α = exp(iκt) ϑ₄(v − iη, q²) ,   β = i exp(iκt) ϑ₁(v − iη, q²) ,   v = π u / 2K,
//
// where iη is where m₁ + i m₂ is zero. With y = q^½ exp(η) and b = q^½ exp(−η), which stay finite where q goes to zero, these are
//
//     ϑ₄ = 1 + Σ (−1)ⁿ qⁿ⁽²ⁿ⁻¹⁾ (y²ⁿ exp(2niv) + b²ⁿ exp(−2niv)) ,
//     iϑ₁ = Σ (−1)ⁿ qⁿ⁽²ⁿ⁺¹⁾ (y²ⁿ⁺¹ exp((2n+1)iv) − b²ⁿ⁺¹ exp(−(2n+1)iv)) ,     y b = q,   y ≤ 1,
//
// of which two or three terms are all that counts, even near to a turn about the middle axis. Nothing else is needed: ω follows from m. What the
// sums need follows from the beginning by arithmetic and square roots alone:
//
// - π/2K, q and exp(iv) by the arithmetic-geometric mean of 1 and k'. A step of it takes amplitudes φ to
//   exp(iφ') = exp(iφ) (a cos φ + i b sin φ) / |…|, which is 2v in the end for each step; halving the angles goes back, where v is never
//   further from φ than a quarter of a turn. Differences a − b follow from the squares of those before, so that small ones are exact.
// - y − b from the least angle between L and the third axis, tan of half of which is s/(1 + c) = iϑ₁(−iη)/ϑ₄(−iη), by Newton's method.
// - κ from where v = 0: there p turns about L at |L| [c/I₃ + (1 − c)/I₁] / 2, of which v has a part.
//
// All terms of sums have one sign but those of k'², which is small where the motion is near to the middle axis; that it depends on the
// last bits of the turning rate then is in the nature of the motion.
#include "simulation/motion/free_turn.h"
#include "base/finite.h"
#include "base/wide.h"
#include "math/vector.h"
#include "simulation/motion/rotate.h"
#include <math.h>

// Beyond, more terms count; it is a k'² of 0.0044.
#define LARGEST_NOME 0.3
// The mean is known where half the difference is so small: its square is rounding, and one term of am u = v + 2q sin 2v …
#define SMALL 4e-8
#define WIDER (1.0 + 1e-12)
enum { MOST_LEVELS = 8, MOST_ROOTS = 40 };

// What is left out with so many terms is less than 2⁻⁵⁴: the largest q with q^(n+1)(2n+1) below that.
static const double most_for[CAL_TURN_MOST] = {0x1p-54, 0x1p-9, 0x1.4fp-4, 0x1.0cp-2};

// Axes in their order, as one number: two bits each, and the signs of all and of the last two.
static int axes_code(const int axis[3], bool odd, bool turned) {
    return axis[0] | axis[1] << 2 | axis[2] << 4 | (odd ? 1 << 6 : 0) | (turned ? 1 << 7 : 0);
}

// A body that is seen in a mirror turns the other way: an odd order of axes changes all signs. L is along the third axis, and not
// against it, where the last two point the other way.
static void axes_of(int code, int axis[3], double sign[3]) {
    for (int i = 0; i < 3; i++) axis[i] = code >> 2 * i & 3;
    const double odd = (code & 1 << 6) != 0 ? -1.0 : 1.0, turned = (code & 1 << 7) != 0 ? -1.0 : 1.0;
    sign[0] = odd, sign[1] = sign[2] = odd * turned;
}

// The order 1, 2, 3. L goes around the axis of the largest moment where L² > 2 T I₂; exactly between, a body with two equal moments goes
// around that of the third one.
static int choose_axes(const double I[3], const double w[3]) {
    int low = 0, high = 0;
    for (int i = 1; i < 3; i++) {
        if (I[i] < I[low]) low = i;
        if (I[i] >= I[high]) high = i;
    }
    if (high == low) high = (low + 1) % 3;
    const int middle = 3 - low - high;
    const double above = I[high] - I[middle], below = I[middle] - I[low];
    const double balance = I[high] * w[high] * w[high] * above - I[low] * w[low] * w[low] * below;
    const bool largest = balance > 0.0 || (balance == 0.0 && above >= below);
    const int axis[3] = {largest ? low : high, middle, largest ? high : low};
    const bool odd = (axis[0] + 1) % 3 != axis[1];
    return axes_code(axis, odd, (odd ? -w[axis[2]] : w[axis[2]]) < 0.0);
}

static void multiply(const double a[2], const double b[2], double out[2]) {
    const double real = a[0] * b[0] - a[1] * b[1], imaginary = a[0] * b[1] + a[1] * b[0];
    out[0] = real, out[1] = imaginary;
}

// The root of a number of length 1 that is nearer to another one.
static void halve_angle(double z[2], const double near[2]) {
    double root[2];
    if (z[0] >= 0.0) {
        root[0] = sqrt(0.5 * (1.0 + z[0]));
        root[1] = 0.5 * z[1] / root[0];
    } else {
        root[1] = sqrt(0.5 * (1.0 - z[0]));
        root[0] = 0.5 * z[1] / root[1];
    }
    const double side = root[0] * near[0] + root[1] * near[1] < 0.0 ? -1.0 : 1.0;
    z[0] = side * root[0], z[1] = side * root[1];
}

// From k'² and k²: π/2K, and the nome; and from exp(iφ) exp(iv).
static double find_mean(double k2, double other, double z[2], double* nome) {
    double phases[MOST_LEVELS][2], a = 1.0, b = sqrt(other), half = 0.5 * k2 / (a + b);
    int level = 0;
    for (; half > SMALL * a && level < MOST_LEVELS; level++) {
        phases[level][0] = z[0], phases[level][1] = z[1];
        const double part[2] = {a * z[0], b * z[1]}, scale = 1.0 / sqrt(part[0] * part[0] + part[1] * part[1]);
        multiply(phases[level], part, z);
        z[0] *= scale, z[1] *= scale;
        const double mean = 0.5 * (a + b);
        b = sqrt(a * b);
        a = mean;
        half = 0.5 * half * half / (a + b);
    }
    double q = 0.5 * half / (a + b);
    const double off[2] = {1.0, -4.0 * q * z[0] * z[1]};
    multiply(z, off, z);
    while (level-- > 0) {
        halve_angle(z, phases[level]);
        q = sqrt(q);
    }
    *nome = q;
    return 0.5 * (a + b) - 0.5 * half * half / (a + b);
}

// Powers of y and b from d = y − b, with y b = q: yⁿ ± bⁿ without differences of like numbers. Two after the last two:
static void next_powers(double square, double q2, double powers[2]) {
    const double next = square * powers[1] - q2 * powers[0];
    powers[0] = powers[1], powers[1] = next;
}

// iϑ₁ and ϑ₄ at −iη, and the rates at which their first terms change with d.
static void sum_at_zero(double d, double q, int terms, double sums[2], double rates[2]) {
    const double square = d * d + 2.0 * q, q2 = q * q;
    double even[2] = {2.0, square}, odd[2] = {d, d * (d * d + 3.0 * q)}, power = q, step = q2;
    sums[0] = d, sums[1] = 1.0;
    for (int n = 1; n <= terms; n++) {
        power = -power; // q^n(2n−1), and step q^2n
        sums[1] += power * even[1];
        power *= step;
        sums[0] += power * odd[1];
        next_powers(square, q2, even);
        next_powers(square, q2, odd);
        power *= step * q;
        step *= q2;
    }
    rates[0] = 1.0 - 3.0 * q2 * q * (d * d + q);
    rates[1] = d * (-2.0 * q + 4.0 * (q2 * q2 * q2) * square);
}

static double find_difference(double tangent, double q, int terms) {
    double d = tangent * (1.0 - 2.0 * q * q) / (1.0 + q * tangent * tangent);
    for (int i = 0; i < MOST_ROOTS; i++) {
        double sums[2], rates[2];
        sum_at_zero(d, q, terms, sums, rates);
        const double step = (sums[0] - tangent * sums[1]) / (rates[0] - tangent * rates[1]);
        d -= step;
        if (!(fabs(step) > 1e-9 * d)) break; // what is left is its square, and 1e-7 of it
    }
    return d;
}

// The coefficients of cosines and sines, of β for n = 0, and of α and β for each n after that. Returns dϑ₄/dv / iϑ₄ where v is 0.
static double write_terms(double d, double q, int terms, double* out) {
    const double square = d * d + 2.0 * q, q2 = q * q, sum = sqrt(d * d + 4.0 * q);
    double plus[2] = {2.0, square}, minus[2] = {0.0, sum * d}, power = q, step = q2, slope = 0.0, all = 1.0;
    double odd_minus[2] = {d, d * (d * d + 3.0 * q)}, odd_plus[2] = {sum, sum * (d * d + q)};
    out[0] = d, out[1] = sum;
    for (int n = 1; n <= terms; n++) {
        double* at = out + 4 * n - 2;
        power = -power;
        at[0] = power * plus[1], at[1] = power * minus[1];
        power *= step;
        at[2] = power * odd_minus[1], at[3] = power * odd_plus[1];
        power *= step * q;
        step *= q2;
        next_powers(square, q2, plus);
        next_powers(square, q2, minus);
        next_powers(square, q2, odd_minus);
        next_powers(square, q2, odd_plus);
        slope += 2.0 * n * at[1];
        all += at[0];
    }
    return slope / all;
}

// α and β but for the factor exp(iκt), from exp(iv).
static void add_terms(const double* terms, int count, const double z[2], double a[2], double b[2]) {
    double twice[2], turned[2] = {z[0], z[1]};
    multiply(z, z, twice);
    double even[2] = {twice[0], twice[1]};
    a[0] = 1.0, a[1] = 0.0;
    b[0] = terms[0] * z[0], b[1] = terms[1] * z[1];
    for (int n = 1; n <= count; n++) {
        const double* at = terms + 4 * n - 2;
        if (n > 1) multiply(even, twice, even);
        multiply(turned, twice, turned);
        a[0] += at[0] * even[0], a[1] += at[1] * even[1];
        b[0] += at[2] * turned[0], b[1] += at[3] * turned[1];
    }
}

// The orientation in the frame of L from these, in the body's axes; of any length.
static void place_in_frame(const int axis[3], const double sign[3], const double a[2], const double b[2],
                           double out[4]) {
    out[0] = a[0];
    out[1 + axis[0]] = sign[0] * b[1];
    out[1 + axis[1]] = -sign[1] * b[0];
    out[1 + axis[2]] = sign[2] * a[1];
}

// The largest |ω| and |ω̇| of all times, a little more than they are. ω₁², ω₂² and ω₃² are linear in x = sn² u, and so |ω|² is largest at an end of 0 … 1; |ω̇|² is
// a parabola in x, with ω̇₁ = (I₂ − I₃) ω₂ ω₃ / I₁ and so on. squares: of m₁ where x is 0, and of m₂ and m₃ where it is 1 and 0; fall: what m₃² loses.
// differences: of the other two moments.
static void bound_rates(const double J[3], const double differences[3], double L, const double squares[3], double fall,
                        double* turn, double* twist) {
    double w[3], r[3]; // of ω, squared; of what a product of two makes of the third
    for (int i = 0; i < 3; i++) {
        const double inverse = 1.0 / J[i], ratio = differences[i] * inverse;
        w[i] = squares[i] * (inverse * inverse);
        r[i] = ratio * ratio;
    }
    const double less = fall / (J[2] * J[2]), first = w[0] + w[2], last = w[1] + (w[2] - less);
    const double p0 = r[1] * w[2] * w[0], p1 = r[0] * w[1] * w[2] - r[1] * w[0] * (w[2] + less) + r[2] * w[0] * w[1],
                 p2 = (r[1] * w[0] - r[0] * w[1]) * less - r[2] * w[0] * w[1], end = r[0] * w[1] * (w[2] - less);
    double most = p0 > end ? p0 : end;
    if (p2 < 0.0 && p1 > 0.0 && p1 < -2.0 * p2) most = p0 - 0.25 * p1 * p1 / p2;
    *turn = WIDER * L * sqrt(first > last ? first : last);
    *twist = WIDER * L * (L * sqrt(most));
}

bool cal_free_turn_begin(const double I[3], const double q[4], const double w[3], double* out) {
    double most = 0.0, largest = 0.0, J[3], rates[3], m[3], sign[3], square = 0.0;
    int axis[3];
    for (int i = 0; i < 3; i++) {
        if (fabs(w[i]) > most) most = fabs(w[i]);
        if (I[i] > largest) largest = I[i];
    }
    for (int i = 0; i < 3; i++) rates[i] = most > 0.0 ? w[i] / most : 0.0;
    const int code = choose_axes(I, rates);
    axes_of(code, axis, sign);
    for (int i = 0; i < 3; i++) {
        J[i] = I[axis[i]] / largest;
        m[i] = sign[i] * J[i] * rates[axis[i]];
        square += m[i] * m[i];
    }
    const double length = sqrt(square);
    if (length > 0.0)
        for (int i = 0; i < 3; i++) m[i] /= length;
    else
        m[0] = m[1] = 0.0, m[2] = 1.0;
    const double L = most * length; // over the largest moment
    // Differences come before a division: those of like moments are exact. Of equal moments none is the middle one.
    const double far = (I[axis[2]] - I[axis[0]]) / largest, near = (I[axis[2]] - I[axis[1]]) / largest,
                 other = (I[axis[1]] - I[axis[0]]) / largest;
    const double f = far != 0.0 ? J[0] * near / (J[1] * far) : 1.0;
    const double rest = far != 0.0 ? J[2] * other / (J[1] * far) : 0.0;
    const double bent = other != 0.0 ? J[2] * other / (J[0] * near) : 0.0;
    double z[2] = {m[0], sqrt(f) * m[1]}, nome = 0.0;
    const double s2 = z[0] * z[0] + z[1] * z[1], c2 = m[2] * m[2] + rest * m[1] * m[1];
    const double s = sqrt(s2), c = sqrt(c2);
    const double k2 = bent > 0.0 ? bent * s2 / c2 : 0.0;
    const double k2_other = bent > 0.0 ? (m[2] * m[2] - bent * m[0] * m[0]) / c2 : 1.0;
    if (!(k2_other > 0.0)) return false;
    z[0] = s > 0.0 ? z[0] / s : 1.0, z[1] = s > 0.0 ? z[1] / s : 0.0;
    const double mean = find_mean(k2, k2_other, z, &nome);
    if (!(nome <= LARGEST_NOME)) return false;
    int terms = 0;
    while (terms < CAL_TURN_MOST && nome > most_for[terms]) terms++;
    const double tangent = s / (1.0 + c), d = find_difference(tangent, nome, terms);
    const double slope = write_terms(d, nome, terms, out + CAL_TURN_FIRST);
    const double phase = (near > 0.0 ? L : -L) * c / J[2] * sqrt(far / J[0] * (near / J[1])) * mean;
    out[CAL_TURN_AXES] = code;
    out[CAL_TURN_TERMS] = terms;
    out[CAL_TURN_PHASE] = phase;
    out[CAL_TURN_PRECESSION] = 0.5 * L * (c / J[2] + tangent * s / J[0]) - phase * slope;
    for (int i = 0; i < 2; i++) out[CAL_TURN_BEGIN + i] = z[i];
    for (int i = 0; i < 3; i++) out[CAL_TURN_RATES + i] = L / J[i];
    // s² / f is the square of the largest m₂.
    const double most2 = s2 < f ? s2 / f : 1.0, squares[3] = {s2, most2, c2}, differences[3] = {near, far, other};
    bound_rates(J, differences, L, squares, rest * most2, &out[CAL_TURN_FASTEST], &out[CAL_TURN_TWIST]);
    out[CAL_TURN_SQUARE] = c2;
    out[CAL_TURN_REST] = rest;
    for (int i = 4 * terms + 2; i < 4 * CAL_TURN_MOST + 2; i++) out[CAL_TURN_FIRST + i] = 0.0;
    double alpha[2], beta[2], p[4] = {0};
    add_terms(out + CAL_TURN_FIRST, terms, z, alpha, beta);
    place_in_frame(axis, sign, alpha, beta, p);
    for (int i = 1; i < 4; i++) p[i] = -p[i];
    cal_quaternion_multiply(q, p, out + CAL_TURN_FRAME);
    return true;
}

bool cal_free_turn_sound(const double* turn) {
    const double code = turn[CAL_TURN_AXES], terms = turn[CAL_TURN_TERMS];
    if (!(code >= 0.0 && code < 256.0) || !(terms >= -1.0 && terms <= CAL_TURN_MOST)) return false;
    if (!cal_all_finite(turn, CAL_TURN_NUMBERS)) return false;
    for (int i = 0; i < 3; i++)
        if (((int)code >> 2 * i & 3) == 3) return false;
    return true;
}

CAL_FUSING static void two_sines(const double angles[2], double sines[2], double cosines[2]) {
    for (int i = 0; i < 2; i++) cal_lane_sincos_1(angles[i], &sines[i], &cosines[i]);
}

void cal_free_turn_at(const double* turn, double t, double q[4], double w[3]) {
    const double angles[2] = {turn[CAL_TURN_PHASE] * t, turn[CAL_TURN_PRECESSION] * t};
    const int code = (int)turn[CAL_TURN_AXES];
    double sines[2], cosines[2], z[2], a[2], b[2], p[4] = {0}, sign[3];
    int axis[3];
    two_sines(angles, sines, cosines);
    const double around[2] = {cosines[0], sines[0]}, along[2] = {cosines[1], sines[1]};
    multiply(turn + CAL_TURN_BEGIN, around, z);
    add_terms(turn + CAL_TURN_FIRST, (int)turn[CAL_TURN_TERMS], z, a, b);
    // m₁ + i m₂; what is small in it is small in a term of each product.
    const double twice = 2.0 / (a[0] * a[0] + a[1] * a[1] + b[0] * b[0] + b[1] * b[1]);
    const double m1 = twice * (a[0] * b[0] + a[1] * b[1]), m2 = twice * (a[0] * b[1] - a[1] * b[0]);
    const double m3 = sqrt(turn[CAL_TURN_SQUARE] - turn[CAL_TURN_REST] * m2 * m2);
    axes_of(code, axis, sign);
    w[0] = w[1] = w[2] = 0.0;
    w[axis[0]] = sign[0] * turn[CAL_TURN_RATES] * m1;
    w[axis[1]] = sign[1] * turn[CAL_TURN_RATES + 1] * m2;
    w[axis[2]] = sign[2] * turn[CAL_TURN_RATES + 2] * m3;
    multiply(a, along, a);
    multiply(b, along, b);
    place_in_frame(axis, sign, a, b, p);
    cal_quaternion_multiply(turn + CAL_TURN_FRAME, p, q);
    cal_quaternion_normalize(q);
}
