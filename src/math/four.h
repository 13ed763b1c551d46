// Vectors of three numbers in four lanes, for what recurs joint by joint: operations on each number are those of math/vector.h, in the
// same order, so that bits are the same. What the fourth lane holds does not matter.
#pragma once
#include "base/wide.h"
#include <stdbool.h>
#include <string.h>

#ifdef __CUDACC__
// Four numbers of one thread.
struct cal_four {
    double of[4];
    CAL_DEVICE double& operator[](int i) { return of[i]; }
    CAL_DEVICE double operator[](int i) const { return of[i]; }
};
#define CAL_OPERATOR(sign)                                                                                             \
    CAL_WIDE_INLINE cal_four operator sign(cal_four a, cal_four b) {                                                   \
        return {{a[0] sign b[0], a[1] sign b[1], a[2] sign b[2], a[3] sign b[3]}};                                     \
    }                                                                                                                  \
    CAL_WIDE_INLINE cal_four& operator sign##=(cal_four& a, cal_four b) { return a = a sign b; }
CAL_OPERATOR(+)
CAL_OPERATOR(-)
CAL_OPERATOR(*)
#undef CAL_OPERATOR
CAL_WIDE_INLINE cal_four operator*(cal_four a, double b) { return a * cal_four{{b, b, b, b}}; }
CAL_WIDE_INLINE cal_four operator*(double a, cal_four b) { return b * a; }
CAL_WIDE_INLINE cal_four& operator*=(cal_four& a, double b) { return a = a * b; }
#else
typedef double cal_four __attribute__((vector_size(32)));
typedef double cal_two __attribute__((vector_size(16)));
#define CAL_SHUFFLE __builtin_shufflevector
#endif

// The number after the three is read as well; and is written, where one comes that is written later.
CAL_WIDE_INLINE cal_four cal_load_four(const double* from) {
#ifdef __CUDACC__
    return {{from[0], from[1], from[2], from[3]}};
#else
    cal_four out;
    memcpy(&out, from, sizeof out);
    return out;
#endif
}
CAL_WIDE_INLINE void cal_store_four(cal_four x, double* to) { memcpy(to, &x, sizeof x); }
// Three numbers alone.
CAL_WIDE_INLINE cal_four cal_load_three(const double* from) { return (cal_four){from[0], from[1], from[2]}; }
CAL_WIDE_INLINE void cal_store_three(cal_four x, double* to) { to[0] = x[0], to[1] = x[1], to[2] = x[2]; }

CAL_WIDE_INLINE cal_four cal_cross_four(cal_four a, cal_four b) {
#ifdef __CUDACC__
    return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0}};
#else
    const cal_four c = a * CAL_SHUFFLE(b, b, 1, 2, 0, 3) - CAL_SHUFFLE(a, a, 1, 2, 0, 3) * b;
    return CAL_SHUFFLE(c, c, 1, 2, 0, 3);
#endif
}

// The numbers' sizes; the fourth is zero unless it counts. b where it is larger, else a: what is not a number is left out of b.
#ifdef __CUDACC__
CAL_WIDE_INLINE cal_four cal_size_four(cal_four x, bool fourth) {
    return {{fabs(x[0]), fabs(x[1]), fabs(x[2]), fourth ? fabs(x[3]) : 0.0}};
}
CAL_WIDE_INLINE cal_four cal_larger_four(cal_four a, cal_four b) {
    for (int i = 0; i < 4; i++) a[i] = b[i] > a[i] ? b[i] : a[i];
    return a;
}
#else
typedef long long cal_four_bits __attribute__((vector_size(32)));
CAL_WIDE_INLINE cal_four cal_size_four(cal_four x, bool fourth) {
    const long long all = 0x7fffffffffffffff;
    const cal_four_bits mask = {all, all, all, fourth ? all : 0};
    return (cal_four)((cal_four_bits)x & mask);
}
CAL_WIDE_INLINE cal_four cal_larger_four(cal_four a, cal_four b) {
    const cal_four_bits larger = b > a;
    return (cal_four)((larger & (cal_four_bits)b) | (~larger & (cal_four_bits)a));
}
#endif
