// Putting the segments of a path together (path_motion.h). Compiled for the host (path_motion.c) and for devices. Include after find_segments and press_joints.
#pragma once
#include "base/everywhere.h"
#include "math/four.h"
#include "pass/path_motion.h"
#include <string.h>

enum { LANES = CAL_JOINT_PATH_LANES };

// A rotation's rotation_columns.
typedef struct rotation_columns {
    cal_four x, y, z;
} rotation_columns;

// R times three numbers of a segment.
CAL_WIDE_INLINE cal_four turn_three(const rotation_columns* R, const double* segment, int first) {
    return R->x * segment[first * LANES] + R->y * segment[(first + 1) * LANES] + R->z * segment[(first + 2) * LANES];
}

CAL_WIDE_INLINE void put_three(cal_four x, int first, double* begin) {
    for (int i = 0; i < 3; i++) begin[(first + i) * LANES] = x[i];
}

CAL_WIDE_INLINE double largest_of(cal_four sizes, double than) {
    for (int i = 0; i < 3; i++) than = sizes[i] > than ? sizes[i] : than;
    return than;
}

// Puts segments together, one behind the other; rates: beside v.
CAL_WIDE_INLINE void add_segments(const cal_joint_path* path, const double* segments, int rates,
                                  cal_node_motion* motion, cal_joint_path_motion* out) {
    rotation_columns R = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    cal_four origin = {0.0}, w[1 + CAL_JOINT_PATH_RATES], u[1 + CAL_JOINT_PATH_RATES], extents = {0.0}, speeds = {0.0};
    const cal_four base = cal_load_three(path->base);
    double extent = 1.0, speed = 1.0;
    for (int k = 0; k <= rates; k++) w[k] = u[k] = origin;
    for (int s = 0; s < path->segments; s++) {
        const double* segment = segments + s;
        double* begin = out->begins + s;
        put_three(R.x, 0, begin), put_three(R.y, 3, begin), put_three(R.z, 6, begin);
        put_three(base + origin, CAL_BEGIN_ORIGIN, begin);
        put_three(w[0], CAL_BEGIN_ANGULAR, begin), put_three(u[0], CAL_BEGIN_LINEAR, begin);
        const cal_four way = turn_three(&R, segment, CAL_SEGMENT_ORIGIN);
        for (int k = 0; k <= rates; k++) {
            const cal_four turned = turn_three(&R, segment, CAL_SEGMENT_RATES + 6 * k),
                           moved = turn_three(&R, segment, CAL_SEGMENT_RATES + 6 * k + 3);
            u[k] += cal_cross_four(w[k], way) + moved;
            w[k] += turned;
        }
        origin += way;
        R = (rotation_columns){turn_three(&R, segment, CAL_SEGMENT_TURN), turn_three(&R, segment, CAL_SEGMENT_TURN + 3),
                               turn_three(&R, segment, CAL_SEGMENT_TURN + 6)};
        extents = cal_larger_four(extents, cal_size_four(origin, false));
        speeds = cal_larger_four(cal_larger_four(speeds, cal_size_four(w[0], false)), cal_size_four(u[0], false));
        const double own[2] = {segment[CAL_SEGMENT_EXTENT * LANES], segment[CAL_SEGMENT_SPEED * LANES]};
        extent = own[0] > extent ? own[0] : extent;
        speed = own[1] > speed ? own[1] : speed;
    }
    // Empty segments would turn by I, which changes no number, but signs of zeros, and those the first time only.
    if (path->segments < LANES) {
        double unit[9 * LANES] = {0.0};
        unit[0] = unit[4 * LANES] = unit[8 * LANES] = 1.0;
        R = (rotation_columns){turn_three(&R, unit, 0), turn_three(&R, unit, 3), turn_three(&R, unit, 6)};
    }
    out->extent = largest_of(extents, extent);
    out->speed = largest_of(speeds, speed);
    for (int i = 0; i < 3; i++)
        motion->rotation[3 * i] = R.x[i], motion->rotation[3 * i + 1] = R.y[i], motion->rotation[3 * i + 2] = R.z[i];
    memcpy(motion->base, path->base, sizeof motion->base);
    cal_store_three(origin, motion->origin);
    cal_store_three(w[0], motion->angular), cal_store_three(u[0], motion->linear);
    for (int k = 0; k < rates; k++)
        cal_store_three(w[1 + k], out->answers + 6 * k), cal_store_three(u[1 + k], out->answers + 6 * k + 3);
}

// Functions of several sets of instructions pass no vectors by value: what does so is called by them.
CAL_WIDE static void join_segments(const cal_joint_path* path, const double* segments, int rates,
                                   cal_node_motion* motion, cal_joint_path_motion* out) {
    add_segments(path, segments, rates, motion, out);
}

CAL_EVERYWHERE void cal_joint_path_move(const cal_joint_path* path, int variant, const double* q, const double* v,
                                        const cal_joint_path_rates* rates, cal_node_motion* motion,
                                        cal_joint_path_motion* out) {
    double segments[CAL_SEGMENT_COUNT * CAL_JOINT_PATH_LANES] __attribute__((aligned(64)));
    find_segments(path, variant, q, v, rates, segments);
    join_segments(path, segments, rates->count, motion, out);
}

CAL_EVERYWHERE void cal_joint_path_press(const cal_joint_path* path, int variant, const double* q,
                                         const cal_node_motion* end, const cal_joint_path_motion* motion,
                                         const cal_joint_path_load* load, double* out) {
    double wrenches[CAL_JOINT_PATH_RATES * 6 * LANES] __attribute__((aligned(64))) = {0.0};
    for (int s = 0; s < path->segments; s++) {
        const double* begin = motion->begins + s;
        double arm[3]; // from there to the end
        for (int i = 0; i < 3; i++) arm[i] = end->base[i] + end->origin[i] - begin[(CAL_BEGIN_ORIGIN + i) * LANES];
        for (int k = 0; k < load->count; k++) {
            const double *M = load->wrench[k], *F = M + 3;
            const double moment[3] = {M[0] + (arm[1] * F[2] - arm[2] * F[1]), M[1] + (arm[2] * F[0] - arm[0] * F[2]),
                                      M[2] + (arm[0] * F[1] - arm[1] * F[0])};
            double* to = wrenches + (size_t)(k * 6) * LANES + s;
            for (int i = 0; i < 3; i++) {
                const double* axis = begin + (size_t)(3 * i) * LANES;
                to[i * LANES] = axis[0] * moment[0] + axis[LANES] * moment[1] + axis[2 * LANES] * moment[2];
                to[(3 + i) * LANES] = axis[0] * F[0] + axis[LANES] * F[1] + axis[2 * LANES] * F[2];
            }
        }
    }
    press_joints(path, variant, q, wrenches, load, out);
}
