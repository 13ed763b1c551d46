// One lane type, one kernel source. Include with CAL_LANES defined as 1, 2, 4 or 8: afterwards `lane` is a vector of that
// many doubles (a plain double for 1), LANE(name) gives a function's name for this width, and lane_… are its operations.
// May be included again with another CAL_LANES.
//
// Every operation is a correctly rounded IEEE operation on each lane by itself, and fused multiply-adds are written out
// (compile with -ffp-contract=off), so a kernel gives the same bits at every width and from every compiler. Operators
// + - * / work on all widths.
#include <math.h>
#include <stdint.h>
#if (defined(__x86_64__) || defined(__i386__)) && !defined(CAL_PORTABLE_LANES)
#include <immintrin.h>
#endif

// A call would move dozens of lanes through memory.
#undef LANE_INLINE
#define LANE_INLINE static inline __attribute__((always_inline))
#undef lane
#undef lane_bits
#undef LANE
#undef LANE_JOIN
#undef LANE_JOIN_
#define LANE_JOIN_(name, lanes) name##_##lanes
#define LANE_JOIN(name, lanes) LANE_JOIN_(name, lanes)
#define LANE(name) LANE_JOIN(name, CAL_LANES)
#define lane LANE(cal_lane)
#define lane_bits LANE(cal_lane_bits)
#define lane_fma LANE(cal_lane_fma)
#define lane_fnma LANE(cal_lane_fnma)
#define lane_fms LANE(cal_lane_fms)
#define lane_sqrt LANE(cal_lane_sqrt)
#define lane_set LANE(cal_lane_set)
#define lane_sincos LANE(cal_lane_sincos)

#if CAL_LANES == 1 && !defined(CAL_LANES_1_DONE)
#define CAL_LANES_1_DONE
typedef double cal_lane_1;
typedef uint64_t cal_lane_bits_1;
#elif CAL_LANES == 2 && !defined(CAL_LANES_2_DONE)
#define CAL_LANES_2_DONE
typedef double cal_lane_2 __attribute__((vector_size(16)));
typedef uint64_t cal_lane_bits_2 __attribute__((vector_size(16)));
#elif CAL_LANES == 4 && !defined(CAL_LANES_4_DONE)
#define CAL_LANES_4_DONE
typedef double cal_lane_4 __attribute__((vector_size(32)));
typedef uint64_t cal_lane_bits_4 __attribute__((vector_size(32)));
#elif CAL_LANES == 8 && !defined(CAL_LANES_8_DONE)
#define CAL_LANES_8_DONE
typedef double cal_lane_8 __attribute__((vector_size(64)));
typedef uint64_t cal_lane_bits_8 __attribute__((vector_size(64)));
#endif

// a b + c, c − a b and a b − c, rounded once.
LANE_INLINE lane lane_fma(lane a, lane b, lane c) {
#if CAL_LANES == 1
    return __builtin_fma(a, b, c);
#elif CAL_LANES == 2 && defined(__FMA__) && !defined(CAL_PORTABLE_LANES)
    return (lane)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
#elif CAL_LANES == 4 && defined(__FMA__) && !defined(CAL_PORTABLE_LANES)
    return (lane)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif CAL_LANES == 8 && defined(__AVX512F__) && !defined(CAL_PORTABLE_LANES)
    return (lane)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#else
    lane out;
    for (int i = 0; i < CAL_LANES; i++) out[i] = __builtin_fma(a[i], b[i], c[i]);
    return out;
#endif
}
LANE_INLINE lane lane_fnma(lane a, lane b, lane c) { return lane_fma(-a, b, c); }
LANE_INLINE lane lane_fms(lane a, lane b, lane c) { return lane_fma(a, b, -c); }

LANE_INLINE lane lane_sqrt(lane a) {
#if CAL_LANES == 1
    return __builtin_sqrt(a);
#else
    lane out;
    for (int i = 0; i < CAL_LANES; i++) out[i] = __builtin_sqrt(a[i]);
    return out;
#endif
}

LANE_INLINE lane lane_set(double value) {
#if CAL_LANES == 1
    return value;
#else
    return value - (lane){0};
#endif
}

// Sine and cosine, to about one unit in the last place for |x| < 1e9 and without surprises up to 1e15; the same bits on
// every lane. x = n π/2 + r by three parts of π/2 (Cody and Waite), then the polynomials of Sun's fdlibm on |r| ≤ π/4.
LANE_INLINE void lane_sincos(lane x, lane* sine, lane* cosine) {
    const lane magic = lane_set(0x1.8p52);
    const lane shifted = lane_fma(x, lane_set(0x1.45f306dc9c883p-1), magic);
    const lane n = shifted - magic;
    lane r = lane_fnma(n, lane_set(0x1.921fb54442d18p0), x);
    r = lane_fnma(n, lane_set(0x1.1a62633145c07p-54), r);
    r = lane_fnma(n, lane_set(-0x1.f1976b7ed8fbcp-110), r);
    const lane z = r * r;
    lane s = lane_set(1.58969099521155010221e-10);
    s = lane_fma(s, z, lane_set(-2.50507602534068634195e-08));
    s = lane_fma(s, z, lane_set(2.75573137070700676789e-06));
    s = lane_fma(s, z, lane_set(-1.98412698298579493134e-04));
    s = lane_fma(s, z, lane_set(8.33333333332248946124e-03));
    s = lane_fma(s, z, lane_set(-1.66666666666666324348e-01));
    s = lane_fma(s * z, r, r);
    lane c = lane_set(-1.13596475577881948265e-11);
    c = lane_fma(c, z, lane_set(2.08757232129817482790e-09));
    c = lane_fma(c, z, lane_set(-2.75573143513906633035e-07));
    c = lane_fma(c, z, lane_set(2.48015872894767294178e-05));
    c = lane_fma(c, z, lane_set(-1.38888888888741095749e-03));
    c = lane_fma(c, z, lane_set(4.16666666666666019037e-02));
    c = lane_fma(c, z, lane_set(-0.5));
    c = lane_fma(c, z, lane_set(1.0));
    union {
        lane value;
        lane_bits bits;
    } quadrant = {shifted}, sin_out, cos_out, s_bits = {s}, c_bits = {c};
    // The low bits of `shifted` are n: odd quadrants swap sine and cosine, and bit 1 of n or n + 1 gives the sign.
    const lane_bits swap = -(quadrant.bits & 1);
    const lane_bits sin_sign = (quadrant.bits & 2) << 62, cos_sign = ((quadrant.bits + 1) & 2) << 62;
    sin_out.bits = ((s_bits.bits & ~swap) | (c_bits.bits & swap)) ^ sin_sign;
    cos_out.bits = ((c_bits.bits & ~swap) | (s_bits.bits & swap)) ^ cos_sign;
    *sine = sin_out.value;
    *cosine = cos_out.value;
}
