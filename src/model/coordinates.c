// The coordinates of joints (coordinates.h).
#include "model/coordinates.h"
#define CAL_LANES 1
#include "math/lanes.h"
#include "math/rotation_vector.h"
#include "model/displacement.h"

// --- One joint -------------------------------------------------------------------------------------------------------

void cal_joint_rate(int kind, const double* q, const double* v, double* rate) {
    const int plain = cal_joint_plain(kind);
    for (int i = 0; i < plain; i++) rate[i] = v[i];
    if (cal_joint_quaternion(kind) < 0) return;
    const double half[4] = {0.0, 0.5 * v[plain], 0.5 * v[plain + 1], 0.5 * v[plain + 2]};
    cal_quaternion_multiply(q + plain, half, rate + plain);
}

void cal_joint_normalize(int kind, double* q) {
    const int quaternion = cal_joint_quaternion(kind);
    if (quaternion >= 0) cal_quaternion_normalize(q + quaternion);
}

void cal_joint_displace(int kind, const double* change, double factor, double* q) {
    cal_displace_joint(kind, change, factor, q);
}

// --- All joints ------------------------------------------------------------------------------------------------------

void cal_model_rate(const cal_model* model, const double* q, const double* v, double* rate) {
    // No joint has a quaternion.
    if (model->q_count == model->v_count) {
        for (int i = 0; i < model->q_count; i++) rate[i] = v[i];
        return;
    }
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        cal_joint_rate((int)joint->def->kind, q + joint->first_q, v + joint->first_v, rate + joint->first_q);
    }
}

void cal_model_normalize(const cal_model* model, double* q) {
    for (int i = 0; i < model->joint_count; i++)
        cal_joint_normalize((int)model->joints[i].def->kind, q + model->joints[i].first_q);
}

void cal_model_displace(const cal_model* model, const double* v, double time, double* q) {
    if (!model || !v || !q) return;
    // No joint has a quaternion.
    if (model->q_count == model->v_count) {
        cal_displace_places(model->q_count, v, time, q);
        return;
    }
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        cal_joint_displace((int)joint->def->kind, v + joint->first_v, time, q + joint->first_q);
    }
}

void cal_model_difference(const cal_model* model, const double* from, const double* to, double* v) {
    for (int i = 0; model && from && to && v && i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        const int kind = (int)joint->def->kind, plain = cal_joint_plain(kind);
        const double *a = from + joint->first_q, *b = to + joint->first_q;
        for (int k = 0; k < plain; k++) v[joint->first_v + k] = b[k] - a[k];
        if (cal_joint_quaternion(kind) < 0) continue;
        const double back[4] = {a[plain], -a[plain + 1], -a[plain + 2], -a[plain + 3]};
        double turn[4];
        cal_quaternion_multiply(back, b + plain, turn);
        cal_rotation_vector(turn, v + joint->first_v + plain);
    }
}

const cal_joint* cal_model_find_bad_quaternion(const cal_model* model, const double* q) {
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        const int quaternion = cal_joint_quaternion((int)joint->def->kind);
        if (quaternion < 0) continue;
        const double* p = q + joint->first_q + quaternion;
        const double length2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
        if (!(length2 > 0.0 && isfinite(length2))) return joint;
    }
    return NULL;
}
