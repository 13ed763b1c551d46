// The coordinates of joints: q with unit quaternions (w first), v with angular velocities in the moving frame.
//
//     revolute, prismatic   q̇ = v
//     ball                  q̇ = ½ q ∘ ω
//     free                  ẋ = v, q̇ = ½ q ∘ ω          three places, then the quaternion
//
// The functions of a model are over arrays in the user's order; those of a kind are over the numbers of one joint.
#pragma once
#include "base/per_lane.h"
#include "model/model.h"

// Where a joint's quaternion begins among its q, which is also where its angular velocity begins among its v; -1 for a joint
// without one.
CAL_DEVICE static inline int cal_joint_quaternion(int kind) { return kind == CAL_FREE ? 3 : kind == CAL_BALL ? 0 : -1; }
// How many of a joint's q have its v as their rates; the quaternion, if any, follows.
CAL_DEVICE static inline int cal_joint_plain(int kind) { return kind == CAL_FREE ? 3 : kind == CAL_BALL ? 0 : 1; }

// q̇ of q and v.
void cal_joint_rate(int kind, const double* q, const double* v, double* rate);
// Divides the quaternion by its length.
void cal_joint_normalize(int kind, double* q);
// As cal_model_displace, of one joint: factor times a change in the coordinates of v.
void cal_joint_displace(int kind, const double* change, double factor, double* q);

// The same for all joints of a model.
void cal_model_rate(const cal_model* model, const double* q, const double* v, double* rate);
void cal_model_normalize(const cal_model* model, double* q);
// Of joints without quaternions, all at once.
CAL_DEVICE static inline void cal_displace_places(int count, const double* change, double factor, double* q) {
    for (int i = 0; i < count; i++) q[i] += factor * change[i];
}
// The first joint whose quaternion has no length, or an infinite one; NULL when all are good.
const cal_joint* cal_model_find_bad_quaternion(const cal_model* model, const double* q);
