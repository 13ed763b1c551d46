// One joint of each segment of a path (path_motion.h), side by side. Include after math/lane_algebra.h, in what is compiled for each width.
#pragma once
#include "pass/path_motion.h"
#include <string.h>

LANE_INLINE lane load_one(const double* from) {
    lane out;
    memcpy(&out, from, sizeof out);
    return out;
}

// Not by way of memory, which a wide load would wait for.
LANE_INLINE lane gather(const double* from, const int32_t* at, int stride) {
#define OF(l) from[(size_t)at[l] * (size_t)stride]
#if CAL_LANES == 8
    return (lane){OF(0), OF(1), OF(2), OF(3), OF(4), OF(5), OF(6), OF(7)};
#elif CAL_LANES == 4
    return (lane){OF(0), OF(1), OF(2), OF(3)};
#elif CAL_LANES == 2
    return (lane){OF(0), OF(1)};
#else
    return OF(0);
#endif
#undef OF
}

typedef struct joint_step {
    v3 arm;            // from the joint before it
    lane turns, along; // ones for joints that turn, and for those that slide
} joint_step;

// R ← the axes of joint i of the segments from lane `at` on.
LANE_INLINE joint_step take_joint(const cal_joint_path* path, int i, int at, const double* q, bool slides, m3* R) {
    const double* c = path->constants + (size_t)i * (CAL_JOINT_PATH_CONSTANTS * CAL_JOINT_PATH_LANES) + at;
#define NUMBER(j) load_one(c + (j)*CAL_JOINT_PATH_LANES)
    const lane angle = gather(q, path->q + i * CAL_JOINT_PATH_LANES + at, 1);
    joint_step out = {.turns = NUMBER(CAL_JOINT_PATH_TURNS)};
    lane sine, cosine;
    lane_sincos(angle * out.turns, &sine, &cosine);
    out.arm = m3_times(*R, (v3){NUMBER(9), NUMBER(10), NUMBER(11)});
    const m3 P = m3_product(
        *R,
        (m3){{NUMBER(0), NUMBER(3), NUMBER(6)}, {NUMBER(1), NUMBER(4), NUMBER(7)}, {NUMBER(2), NUMBER(5), NUMBER(8)}});
    R->x = v3_fma_scale(P.y, sine, v3_scale(P.x, cosine));
    R->y = v3_fma_scale(P.x, -sine, v3_scale(P.y, cosine));
    R->z = P.z;
    out.along = slides ? NUMBER(CAL_JOINT_PATH_SLIDES) : lane_set(0.0);
    if (slides) out.arm = v3_fma_scale(R->z, angle * out.along, out.arm);
#undef NUMBER
    return out;
}

// Velocities behind it.
LANE_INLINE void move_joint(const joint_step* step, v3 axis, lane rate, bool slides, v3* w, v3* u) {
    *u = v3_fma_cross(*w, step->arm, *u);
    if (slides) *u = v3_fma_scale(axis, rate * step->along, *u);
    *w = v3_fma_scale(axis, rate * step->turns, *w);
}
