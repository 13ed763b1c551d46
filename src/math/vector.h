// Plain vectors, matrices (rows), quaternions and symmetric matrices for building models and for the scalar passes.
// The lane kernels have their own in lanes.h.
#pragma once
#include "base/per_lane.h"
#include <math.h>

CAL_DEVICE static inline double cal_dot3(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

CAL_DEVICE static inline void cal_cross3(const double a[3], const double b[3], double out[3]) {
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x, out[1] = y, out[2] = z;
}

// out = R v and out = Rᵀ v; in place is allowed.
CAL_DEVICE static inline void cal_rotate3(const double R[9], const double v[3], double out[3]) {
    const double x = v[0], y = v[1], z = v[2];
    for (int i = 0; i < 3; i++) out[i] = R[3 * i] * x + R[3 * i + 1] * y + R[3 * i + 2] * z;
}
CAL_DEVICE static inline void cal_unrotate3(const double R[9], const double v[3], double out[3]) {
    const double x = v[0], y = v[1], z = v[2];
    for (int i = 0; i < 3; i++) out[i] = R[i] * x + R[3 + i] * y + R[6 + i] * z;
}

// out = A B and out = Aᵀ B; out must not be A or B.
CAL_DEVICE static inline void cal_multiply33(const double A[9], const double B[9], double out[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}
CAL_DEVICE static inline void cal_transpose_multiply33(const double A[9], const double B[9], double out[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
}

// Rotation matrix of a quaternion (w, x, y, z) of any length but zero.
CAL_DEVICE static inline void cal_quaternion_matrix(const double q[4], double R[9]) {
    const double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], s = 2.0 / n;
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1.0 - s * (y * y + z * z), R[1] = s * (x * y - w * z), R[2] = s * (x * z + w * y);
    R[3] = s * (x * y + w * z), R[4] = 1.0 - s * (x * x + z * z), R[5] = s * (y * z - w * x);
    R[6] = s * (x * z - w * y), R[7] = s * (y * z + w * x), R[8] = 1.0 - s * (x * x + y * y);
}

// out = a ∘ b; in place is allowed.
CAL_DEVICE static inline void cal_quaternion_multiply(const double a[4], const double b[4], double out[4]) {
    const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    out[0] = w, out[1] = x, out[2] = y, out[3] = z;
}

CAL_DEVICE static inline void cal_quaternion_normalize(double q[4]) {
    const double s = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++) q[i] *= s;
}

// The quaternion (w ≥ 0) of a rotation matrix.
CAL_DEVICE static inline void cal_matrix_quaternion(const double R[9], double q[4]) {
    const double trace = R[0] + R[4] + R[8];
    if (trace > 0.0) {
        const double s = 2.0 * sqrt(trace + 1.0);
        q[0] = 0.25 * s, q[1] = (R[7] - R[5]) / s, q[2] = (R[2] - R[6]) / s, q[3] = (R[3] - R[1]) / s;
    } else {
        const int i = R[0] >= R[4] ? (R[0] >= R[8] ? 0 : 2) : (R[4] >= R[8] ? 1 : 2), j = (i + 1) % 3, k = (i + 2) % 3;
        const double s = 2.0 * sqrt(1.0 + R[4 * i] - R[4 * j] - R[4 * k]);
        q[0] = (R[3 * k + j] - R[3 * j + k]) / s;
        q[1 + i] = 0.25 * s;
        q[1 + j] = (R[3 * j + i] + R[3 * i + j]) / s;
        q[1 + k] = (R[3 * k + i] + R[3 * i + k]) / s;
        if (q[0] < 0.0)
            for (int n = 0; n < 4; n++) q[n] = -q[n];
    }
    cal_quaternion_normalize(q);
}

// A rotation that takes z to the unit vector `axis`; rows, so its third column is axis.
CAL_DEVICE static inline void cal_rotation_to_axis(const double axis[3], double R[9]) {
    // Duff et al.'s branch-free basis.
    const double sign = copysign(1.0, axis[2]), a = -1.0 / (sign + axis[2]), b = axis[0] * axis[1] * a;
    R[0] = 1.0 + sign * axis[0] * axis[0] * a, R[3] = sign * b, R[6] = -sign * axis[0];
    R[1] = b, R[4] = sign + axis[1] * axis[1] * a, R[7] = -axis[1];
    R[2] = axis[0], R[5] = axis[1], R[8] = axis[2];
}
