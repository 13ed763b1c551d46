// Inverse kinematics of an arm in closed form. The last three axes meet in the wrist, so where that must be follows from the
// pose alone, w = grip − d·along, and the six equations fall apart into three and three:
//
//     q0 = atan2(w_y, w_x),     with r = √(w_x² + w_y²), h = w_z − shoulder, a triangle of sides ℓ, ℓ and √(r² + h²):
//     cos q2 = (r² + h²)/2ℓ² − 1,     q1 = atan2(r, h) − q2/2
//
// and the hand's rotation relative to the forearm, Rz(q3) Ry(q4) Rz(q5), whose angles are Euler's. Of the two solutions the one
// is taken that turns the forearm by less than a quarter. The arc tangent is our own: the angles have the same bits everywhere.
#include "math/rotation_vector.h"
#include "scenes/arm.h"
#include "simulation/motion/rotate.h"
#include <string.h>

#define PI 3.1415926535897932
#define STRETCHED 0.995 // of the full length: beyond, speeds are out of proportion
#define FOLDED 0.25     // of the full length
#define STRAIGHT 1e-9   // sine of the hand's pitch: below, the two rolls are one

static double angle_of(double y, double x) {
    const double a = fabs(x), b = fabs(y);
    if (a == 0.0 && b == 0.0) return 0.0;
    double angle = b <= a ? cal_arctangent(b / a) : 0.5 * PI - cal_arctangent(a / b);
    if (x < 0.0) angle = PI - angle;
    return y < 0.0 ? -angle : angle;
}

static void turn_z(double angle, double R[9]) {
    double s, c;
    cal_sine_cosine(angle, &s, &c);
    const double turn[9] = {c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0};
    memcpy(R, turn, sizeof turn);
}

static void turn_y(double angle, double R[9]) {
    double s, c;
    cal_sine_cosine(angle, &s, &c);
    const double turn[9] = {c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c};
    memcpy(R, turn, sizeof turn);
}

// The rotation of the forearm before it rolls.
static void forearm(const double q[CAL_ARM_JOINTS], double R[9]) {
    double A[9], B[9];
    turn_z(q[0], A);
    turn_y(q[1] + q[2], B);
    cal_multiply33(A, B, R);
}

bool cal_arm_reach(const cal_arm_pose* pose, double roll, double q[CAL_ARM_JOINTS]) {
    double w[3];
    for (int i = 0; i < 3; i++) w[i] = pose->grip[i] - CAL_ARM_GRIP * pose->along[i];
    const double r = sqrt(w[0] * w[0] + w[1] * w[1]), h = w[2] - CAL_ARM_SHOULDER, square = r * r + h * h;
    const double part = 0.5 * sqrt(square) / CAL_ARM_LENGTH; // cosine of half the elbow's angle
    if (!(part <= STRETCHED) || part < FOLDED) return false;
    const double half = angle_of(sqrt(1.0 - part * part), part);
    q[0] = angle_of(w[1], w[0]);
    q[1] = angle_of(r, h) - half;
    q[2] = 2.0 * half;
    double F[9], x[3], R[9], M[9];
    cal_cross3(pose->open, pose->along, x);
    for (int i = 0; i < 3; i++) R[3 * i] = x[i], R[3 * i + 1] = pose->open[i], R[3 * i + 2] = pose->along[i];
    forearm(q, F);
    cal_transpose_multiply33(F, R, M);
    const double sign = M[2] < 0.0 ? -1.0 : 1.0, sine = sign * sqrt(M[2] * M[2] + M[5] * M[5]);
    q[4] = angle_of(sine, M[8]);
    if (fabs(sine) > STRAIGHT) {
        q[3] = angle_of(sign * M[5], sign * M[2]);
        q[5] = angle_of(sign * M[7], -sign * M[6]);
    } else {
        q[3] = 0.0;
        q[5] = M[8] > 0.0 ? angle_of(M[3], M[0]) : angle_of(M[3], -M[0]);
    }
    const double other = q[5] > 0.0 ? q[5] - PI : q[5] + PI;
    if (fabs(other - roll) < fabs(q[5] - roll)) q[5] = other;
    return true;
}
