// One lane type, one kernel source. Include with CAL_LANES defined as 1, 2, 4 or 8: afterwards `lane` is a vector of that
// many doubles (a plain double for 1), LANE(name) gives a function's name for this width, and lane_… are its operations.
// May be included again with another CAL_LANES.
//
// Every operation is a correctly rounded IEEE operation on each lane by itself, and fused multiply-adds are written out
// (compile with -ffp-contract=off), so a kernel gives the same bits at every width and from every compiler. Operators
// + - * / work on all widths.
#include "base/per_lane.h"
#include <math.h>
#include <stdint.h>
#if (defined(__x86_64__) || defined(__i386__)) && !defined(CAL_PORTABLE_LANES)
#include <immintrin.h>
#endif

// A call would move dozens of lanes through memory.
#undef LANE_INLINE
#define LANE_INLINE CAL_DEVICE static inline CAL_ALWAYS
#undef LANE_FUNCTION
#define LANE_FUNCTION CAL_DEVICE static
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
#define lane_set LANE(cal_lane_set)
#define lane_choice LANE(cal_lane_choice)
#define lane_permute LANE(cal_lane_permute)
#define lane_or_nothing LANE(cal_lane_or_nothing)
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

LANE_INLINE lane lane_set(double value) {
#if CAL_LANES == 1
    return value;
#else
    return value - (lane){0};
#endif
}

#if CAL_LANES > 1
// Which lane each lane of lane_permute's result is; -1: any.
LANE_INLINE lane_bits lane_choice(const int8_t* lanes) {
    lane_bits out;
    for (int i = 0; i < CAL_LANES; i++) out[i] = (uint64_t)(int64_t)lanes[i];
    return out;
}
LANE_INLINE lane lane_permute(lane a, lane_bits choice) {
#if CAL_LANES == 8 && defined(__AVX512F__) && !defined(CAL_PORTABLE_LANES)
    return (lane)_mm512_permutexvar_pd((__m512i)choice, (__m512d)a);
#elif CAL_LANES == 4 && defined(__AVX512VL__) && !defined(CAL_PORTABLE_LANES)
    return (lane)_mm256_permutexvar_pd((__m256i)choice, (__m256d)a);
#else
    lane out;
    for (int i = 0; i < CAL_LANES; i++) out[i] = a[choice[i] % CAL_LANES];
    return out;
#endif
}
#if CAL_LANES == 8 && defined(CAL_LANES_4_DONE)
// Four lanes as the first of eight, and the first four.
LANE_INLINE lane cal_lanes_widen(cal_lane_4 a) { return __builtin_shufflevector(a, a, 0, 1, 2, 3, 0, 1, 2, 3); }
LANE_INLINE cal_lane_4 cal_lanes_halve(lane a) { return __builtin_shufflevector(a, a, 0, 1, 2, 3); }
#endif
// −0, which added to a number leaves it as it is, where nothing is chosen.
LANE_INLINE lane lane_or_nothing(lane a, lane_bits choice) {
    const lane_bits sign = (lane_bits)lane_set(-0.0), none = -(choice >> 63);
    return (lane)(((lane_bits)a & ~none) | (sign & none));
}
#endif

#include "math/lane_sincos.h"
