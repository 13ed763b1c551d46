// Free-flying human figures of 34 or 48 degrees of freedom, the sizes of Yamane and Nakamura's Table 2:
//
//     34 = 6 root + 3 waist + 3 neck + 2 · (3 shoulder + 1 elbow) + 2 · (3 hip + 1 knee + 3 ankle)
//     48 = 34 + 2 · (3 clavicle + 3 wrist + 1 toes)
#include "model/limbs.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    CHOICE(dof, "34|48", "degrees of freedom")                                                                         \
    CAL_FIGURE_PARAMETERS(NUMBER)
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static const cal_segment segments[] = {
    {"pelvis", NULL, false, false, CAL_FREE, 0, {0, 0, 1.0}, {0, 0, 0.08}, 0.12, 11.0},
    {"torso", "pelvis", false, false, CAL_BALL, 0, {0, 0, 0.12}, {0, 0, 0.36}, 0.13, 28.0},
    {"head", "torso", false, false, CAL_BALL, 0, {0, 0, 0.5}, {0, 0, 0.16}, 0.09, 5.5},
    {"clavicle", "torso", true, true, CAL_BALL, 0, {0, 0.04, 0.42}, {0, 0.12, 0}, 0.03, 1.2},
    {"upper_arm", "clavicle", true, false, CAL_BALL, 0, {0, 0.16, 0}, {0, 0, -0.28}, 0.045, 2.0},
    {"lower_arm", "upper_arm", true, false, CAL_REVOLUTE, 'y', {0, 0, -0.3}, {0, 0, -0.24}, 0.035, 1.3},
    {"hand", "lower_arm", true, true, CAL_BALL, 0, {0, 0, -0.26}, {0, 0, -0.1}, 0.03, 0.4},
    {"thigh", "pelvis", true, false, CAL_BALL, 0, {0, 0.1, -0.05}, {0, 0, -0.4}, 0.07, 7.5},
    {"shank", "thigh", true, false, CAL_REVOLUTE, 'y', {0, 0, -0.42}, {0, 0, -0.38}, 0.05, 3.5},
    {"foot", "shank", true, false, CAL_BALL, 0, {0, 0, -0.42}, {0.13, 0, -0.04}, 0.035, 0.9},
    {"toes", "foot", true, true, CAL_REVOLUTE, 'y', {0.15, 0, -0.05}, {0.05, 0, 0}, 0.02, 0.15},
};

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    cal_add_segments(builder, segments, (int)(sizeof segments / sizeof *segments), (int)values[at_dof] == 1,
                     values[at_start], values[at_gravity]);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(figure, PARAMETERS, "a human figure with balls and hinges (Yamane and Nakamura)")
