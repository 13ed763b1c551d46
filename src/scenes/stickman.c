// Armstrong's man of twelve links in a tree of height four: the torso is the root, the head, lower arms and lower legs
// are the leaves, all hinges are balls.
#include "scenes/limbs.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE) CAL_FIGURE_PARAMETERS(NUMBER, INTEGER, 0)
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static const cal_segment segments[] = {
    {"torso", NULL, false, false, CAL_FREE, 0, {0, 0, 1.1}, {0, 0, 0.4}, 0.13, 28.0},
    {"neck", "torso", false, false, CAL_BALL, 0, {0, 0, 0.52}, {0, 0, 0.08}, 0.05, 1.5},
    {"head", "neck", false, false, CAL_BALL, 0, {0, 0, 0.1}, {0, 0, 0.14}, 0.09, 4.5},
    {"upper_arm", "torso", true, false, CAL_BALL, 0, {0, 0.2, 0.45}, {0, 0, -0.28}, 0.045, 2.0},
    {"lower_arm", "upper_arm", true, false, CAL_BALL, 0, {0, 0, -0.3}, {0, 0, -0.3}, 0.035, 1.7},
    {"hips", "torso", false, false, CAL_BALL, 0, {0, 0, -0.05}, {0, 0, -0.1}, 0.12, 11.0},
    {"upper_leg", "hips", true, false, CAL_BALL, 0, {0, 0.1, -0.12}, {0, 0, -0.4}, 0.07, 7.5},
    {"lower_leg", "upper_leg", true, false, CAL_BALL, 0, {0, 0, -0.42}, {0, 0, -0.42}, 0.05, 4.5},
};

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const cal_figure figure = {true, values[at_floor] != 0.0, values[at_start], values[at_gravity], values[at_drop]};
    cal_add_segments(builder, segments, (int)(sizeof segments / sizeof *segments), &figure);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(stickman, PARAMETERS, "a man of 12 links with ball joints (Armstrong)")
