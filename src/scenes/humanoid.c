// The benchmark figure: a free pelvis and thirty revolute joints, each on a link with a mass of its own, as a robot's
// motors have: 3 waist + 1 neck + 2 · 7 arm + 2 · 6 leg.
#include "scenes/limbs.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE) CAL_FIGURE_PARAMETERS(NUMBER, INTEGER, 1)
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static const cal_segment segments[] = {
    {"pelvis", NULL, false, false, CAL_FREE, 0, {0, 0, 1.0}, {0, 0, 0.08}, 0.12, 9.0},
    {"waist_yaw", "pelvis", false, false, CAL_REVOLUTE, 'z', {0, 0, 0.14}, {0, 0, 0.03}, 0.06, 1.5},
    {"waist_roll", "waist_yaw", false, false, CAL_REVOLUTE, 'x', {0, 0, 0.04}, {0, 0, 0.03}, 0.06, 1.5},
    {"torso", "waist_roll", false, false, CAL_REVOLUTE, 'y', {0, 0, 0.04}, {0, 0, 0.34}, 0.13, 22.0},
    {"head", "torso", false, false, CAL_REVOLUTE, 'z', {0, 0, 0.48}, {0, 0, 0.14}, 0.09, 4.5},
    {"shoulder_pitch", "torso", true, false, CAL_REVOLUTE, 'y', {0, 0.18, 0.4}, {0, 0.03, 0}, 0.04, 0.8},
    {"shoulder_roll", "shoulder_pitch", true, false, CAL_REVOLUTE, 'x', {0, 0.04, 0}, {0, 0, -0.04}, 0.04, 0.8},
    {"upper_arm", "shoulder_roll", true, false, CAL_REVOLUTE, 'z', {0, 0, -0.05}, {0, 0, -0.22}, 0.045, 1.6},
    {"elbow", "upper_arm", true, false, CAL_REVOLUTE, 'y', {0, 0, -0.25}, {0, 0, -0.04}, 0.035, 0.6},
    {"lower_arm", "elbow", true, false, CAL_REVOLUTE, 'z', {0, 0, -0.05}, {0, 0, -0.18}, 0.035, 0.9},
    {"wrist", "lower_arm", true, false, CAL_REVOLUTE, 'x', {0, 0, -0.2}, {0, 0, -0.02}, 0.025, 0.2},
    {"hand", "wrist", true, false, CAL_REVOLUTE, 'y', {0, 0, -0.03}, {0, 0, -0.1}, 0.03, 0.4},
    {"hip_yaw", "pelvis", true, false, CAL_REVOLUTE, 'z', {0, 0.1, -0.05}, {0, 0, -0.03}, 0.06, 1.2},
    {"hip_roll", "hip_yaw", true, false, CAL_REVOLUTE, 'x', {0, 0, -0.04}, {0, 0, -0.03}, 0.06, 1.2},
    {"thigh", "hip_roll", true, false, CAL_REVOLUTE, 'y', {0, 0, -0.02}, {0, 0, -0.34}, 0.07, 5.0},
    {"shank", "thigh", true, false, CAL_REVOLUTE, 'y', {0, 0, -0.38}, {0, 0, -0.34}, 0.05, 3.2},
    {"ankle", "shank", true, false, CAL_REVOLUTE, 'y', {0, 0, -0.38}, {0, 0, -0.02}, 0.035, 0.4},
    {"foot", "ankle", true, false, CAL_REVOLUTE, 'x', {0, 0, -0.03}, {0.16, 0, -0.03}, 0.035, 1.0},
};

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const cal_figure figure = {true, values[at_floor] != 0.0, values[at_start], values[at_gravity], values[at_drop]};
    cal_add_segments(builder, segments, (int)(sizeof segments / sizeof *segments), &figure, NULL);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(humanoid, PARAMETERS, "a humanoid robot: a free pelvis and 30 hinges")
