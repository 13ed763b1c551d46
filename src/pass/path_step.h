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

// The same in a plane, without what is zero there or one: the same bits. x, y: the first two axes.
typedef struct planar_axes {
    lane xx, xy, yx, yy;
} planar_axes;
typedef struct planar_step {
    lane arm_x, arm_y, turns;
} planar_step;
LANE_INLINE planar_step take_planar(const cal_joint_path* path, int i, int at, const double* q, planar_axes* R) {
    const double* c = path->constants + (size_t)i * (CAL_JOINT_PATH_CONSTANTS * CAL_JOINT_PATH_LANES) + at;
#define NUMBER(j) load_one(c + (j)*CAL_JOINT_PATH_LANES)
    const lane turns = NUMBER(CAL_JOINT_PATH_TURNS), x = NUMBER(9), y = NUMBER(10);
    lane sine, cosine;
    lane_sincos(gather(q, path->q + i * CAL_JOINT_PATH_LANES + at, 1) * turns, &sine, &cosine);
    const planar_step out = {lane_fma(R->yx, y, R->xx * x), lane_fma(R->yy, y, R->xy * x), turns};
    const lane a = NUMBER(0), b = NUMBER(3), d = NUMBER(1), e = NUMBER(4);
#undef NUMBER
    const planar_axes P = {lane_fma(R->yx, b, R->xx * a), lane_fma(R->yy, b, R->xy * a), lane_fma(R->yx, e, R->xx * d),
                           lane_fma(R->yy, e, R->xy * d)};
    R->xx = lane_fma(P.yx, sine, P.xx * cosine), R->xy = lane_fma(P.yy, sine, P.xy * cosine);
    R->yx = lane_fma(P.xx, -sine, P.yx * cosine), R->yy = lane_fma(P.xy, -sine, P.yy * cosine);
    return out;
}
LANE_INLINE void move_planar(const planar_step* step, lane rate, lane* w, lane* ux, lane* uy) {
    *ux = lane_fnma(*w, step->arm_y, *ux), *uy = lane_fma(*w, step->arm_x, *uy);
    *w = rate * step->turns + *w;
}

// Velocities behind it.
LANE_INLINE void move_joint(const joint_step* step, v3 axis, lane rate, bool slides, v3* w, v3* u) {
    *u = v3_fma_cross(*w, step->arm, *u);
    if (slides) *u = v3_fma_scale(axis, rate * step->along, *u);
    *w = v3_fma_scale(axis, rate * step->turns, *w);
}
