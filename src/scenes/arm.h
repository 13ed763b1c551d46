// The arms of the robots scene: six revolute joints, the last three through one point, and two fingers that slide.
//
//            elbow ○━━━━━━━━━━○ wrist      q0 turns the shoulder about z; q1 and q2 pitch the upper arm and the forearm;
//                 ╱  forearm   ┃ hand      q3 rolls the forearm; q4 pitches, q5 rolls the hand; q6 and q7 are how far the
//     upper arm  ╱            ┏┻┓          fingers' faces are from the hand's middle plane.
//               ○ shoulder    ┃ ┃ fingers
//               ┃ pedestal     ▪ grip
//
// With all angles zero everything points up, along z, and the fingers open along y. So the hand's rotation is
// R = Rz(q0) Ry(q1 + q2) Rz(q3) Ry(q4) Rz(q5), and its third column points from the wrist to the grip.
#pragma once
#include "calder/calder.h"

enum { CAL_ARM_JOINTS = 6, CAL_ARM_FREEDOMS = 8 };
enum { CAL_ARM_HAND = 5, CAL_ARM_FINGER = 6 }; // bodies of the model; the second finger follows the first

#define CAL_ARM_SHOULDER 0.75     // m above the arm's origin
#define CAL_ARM_LENGTH 0.52       // of the upper arm, and of the forearm
#define CAL_ARM_PALM_WIDTH 0.17   // of the hand, along which its fingers open
#define CAL_ARM_GRIP 0.14         // from the wrist to the point that is gripped
#define CAL_ARM_TIP 0.02          // from there to the fingers' ends
#define CAL_ARM_PALM 0.06         // and back to the palm
#define CAL_ARM_OPEN 0.06         // of a finger, when there is no box in sight
#define CAL_ARM_SPARE 0.012       // between a finger and the box that it comes down beside
#define CAL_ARM_THICK 0.016       // a finger is so thick
#define CAL_ARM_FINGER_WIDTH 0.03 // and so wide

extern const double
    cal_arm_home[CAL_ARM_JOINTS]; // where an arm begins and waits: the hand in front of it, pointing down

// An arm's model. load: kg in the hand, for the controller's own idea of an arm that holds a box; it has no shape.
cal_status cal_arm_model(double load, cal_model** out, cal_error* error);

// Where the hand is to be: the grip point, and two unit vectors at right angles, along which the fingers open and point; all in
// the arm's frame.
typedef struct cal_arm_pose {
    double grip[3], open[3], along[3];
} cal_arm_pose;

// The six angles for a pose, elbow up. A hand that is turned by half a turn about `along` grips as well; the one is taken whose
// last angle is nearest to `roll`. False when it is out of reach.
bool cal_arm_reach(const cal_arm_pose* pose, double roll, double q[CAL_ARM_JOINTS]);
