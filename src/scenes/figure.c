// Free-flying human figures of 34 or 48 degrees of freedom, the sizes of Yamane and Nakamura's Table 2:
//
//     34 = 6 root + 3 waist + 3 neck + 2 · (3 shoulder + 1 elbow) + 2 · (3 hip + 1 knee + 3 ankle)
//     48 = 34 + 2 · (3 clavicle + 3 wrist + 1 toes)
//
// hold=both|right|left hangs it from its hands, as in the paper's Figure 7: constraints right_hand and left_hand keep the tips of
// the arms where they start. With one of them the other is there, but not connected yet.
#include "model/angle.h"
#include "scenes/limbs.h"

#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    CHOICE(dof, "34|48", "degrees of freedom")                                                                         \
    CHOICE(hold, "none|both|right|left", "hands that hold on to the world")                                            \
    CAL_FIGURE_PARAMETERS(NUMBER, INTEGER, 0)
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

enum { SEGMENTS = sizeof segments / sizeof *segments };

static const cal_segment* find(const char* name) {
    for (int i = 0; name && i < SEGMENTS; i++)
        if (strcmp(segments[i].name, name) == 0) return &segments[i];
    return NULL;
}

// Where the tip of an arm starts: every joint but the root's is turned by `start` about y, one after the other.
static void find_tip(const cal_segment* arm, bool detailed, double start, double side, double out[3]) {
    const cal_segment* path[SEGMENTS];
    int length = 0, turns = -1;
    if (arm == NULL) return;
    for (const cal_segment* s = arm; s; s = find(s->parent)) path[length++] = s;
    for (int k = 0; k < 3; k++) out[k] = 0.0;
    for (int i = length - 1; i >= -1; i--) {
        const double* step = i >= 0 ? path[i]->position : arm->tip;
        double sine, cosine;
        cal_sine_cosine(turns > 0 ? turns * start : 0.0, &sine, &cosine);
        out[0] += cosine * step[0] + sine * step[2];
        out[1] += side * step[1];
        out[2] += cosine * step[2] - sine * step[0];
        turns += i >= 0 && (detailed || !path[i]->detail);
    }
}

static void hold(cal_builder* builder, bool detailed, double start, bool right, bool active) {
    const cal_segment* arm = find(detailed ? "hand" : "lower_arm");
    // Left comes first, and bodies are added as the segments are listed.
    int body = right ? 1 : 0;
    for (const cal_segment* s = segments; s < arm; s++) body += s->detail && !detailed ? 0 : s->paired ? 2 : 1;
    cal_constraint_def def = cal_default_constraint_def();
    def.name = right ? "right_hand" : "left_hand";
    def.kind = CAL_LOOP_BALL;
    def.body[1] = body;
    def.inactive = !active;
    find_tip(arm, detailed, start, right ? -1.0 : 1.0, def.position[0]);
    for (int k = 0; k < 3; k++) def.position[1][k] = k == 1 && right ? -arm->tip[k] : arm->tip[k];
    cal_builder_add_constraint(builder, &def);
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    enum { NONE, BOTH, RIGHT, LEFT };
    const bool detailed = (int)values[at_dof] == 1;
    const int held = (int)values[at_hold];
    const cal_figure figure = {detailed, values[at_floor] != 0.0, values[at_start], values[at_gravity],
                               values[at_drop]};
    cal_add_segments(builder, segments, SEGMENTS, &figure, NULL);
    if (held == NONE) return CAL_OK;
    hold(builder, detailed, values[at_start], true, held != LEFT);
    hold(builder, detailed, values[at_start], false, held != RIGHT);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(figure, PARAMETERS, "a human figure with balls and hinges (Yamane and Nakamura)")
