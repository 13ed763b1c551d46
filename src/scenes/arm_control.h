// What moves an arm: a plan that goes from phase to phase, and torques that follow it. All of it is in the arm's slots; an
// arm's brain only holds what never changes, and room for a computation.
#pragma once
#include "calder/calder_world.h"
#include "scenes/arm.h"

typedef enum cal_arm_phase {
    CAL_ARM_IDLE,
    CAL_ARM_ABOVE,  // the hand goes above the box
    CAL_ARM_DOWN,   // around it
    CAL_ARM_CLOSE,  // the fingers close
    CAL_ARM_LIFT,   // with the box, if there is one between them
    CAL_ARM_WIND,   // to where the throw begins
    CAL_ARM_THROW,  // along a straight line, ever faster; at its end the fingers open
    CAL_ARM_FOLLOW, // the hand comes to rest
    CAL_ARM_HOME,
    CAL_ARM_PHASES
} cal_arm_phase;

// Numbers of an arm's slots.
enum {
    CAL_ARM_AT_PHASE,
    CAL_ARM_AT_BEGIN,                       // of the phase, s
    CAL_ARM_AT_ORDERS,                      // boxes that it was sent for
    CAL_ARM_AT_GRASPS,                      // boxes that were between the fingers when these had closed
    CAL_ARM_AT_THROWS,                      // boxes that were still there at the end of a throw
    CAL_ARM_AT_POSE,                        // 9: of the hand, when it has the box between its fingers
    CAL_ARM_AT_WIDTH = CAL_ARM_AT_POSE + 9, // how far the fingers open for it, each
    CAL_ARM_AT_FROM,                        // 6 angles and 6 speeds at the phase's begin
    CAL_ARM_AT_TO = CAL_ARM_AT_FROM + 12,   // and at its end
    CAL_ARM_SLOTS = CAL_ARM_AT_TO + 12
};

typedef struct cal_arm_dynamics
    cal_arm_dynamics; // what all arms share: the inverse dynamics of an arm, without and with a box

typedef struct cal_arm_controller {
    cal_arm_dynamics* mind;
    double position[3], quaternion[4]; // of the arm in the world
    double target[3];                  // the middle of where its boxes are to land, in the arm's frame
    double spread;                     // how far from there they may, along x and along y
} cal_arm_controller;

cal_status cal_arm_mind_create(double load, cal_arm_dynamics** out, cal_error* error);
void cal_arm_mind_destroy(cal_arm_dynamics* mind); // NULL is allowed

// Sends an idle arm to grip a box of a width; false when that is out of its reach.
bool cal_arm_order(const cal_arm_controller* brain, double time, const cal_arm_pose* grip, double width, double* slots);
// The periodic callback of an arm, 100 times a second; user is its brain.
void cal_arm_drive(cal_callback_context* view, void* user);
