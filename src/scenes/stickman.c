// Armstrong's man of twelve links in a tree of height four: the torso is the root, the head, lower arms and lower legs
// are the leaves, all hinges are balls.
//
// Muscles are servos about the three axes of each hinge: springs and dampers whose references are controls, zero for a man who stands
// upright. What a hinge holds is what hangs on it, or, in a leg, all of the body that stands on it. With s times the strength that
// this needs (Σ over what is held, masses m at distances r from the hinge)
//
//   k = s g Σ m r        holds it level at one radian, which is as far as it pulls harder; s > 1 holds it upright, too: g Σ m r is by
//                        how much gravity pushes an inverted pendulum further per radian
//   c = 2 √(k Σ m r²)    critical damping of it as a pendulum
#include "model/angle.h"
#include "scenes/limbs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    CAL_FIGURE_PARAMETERS(NUMBER, INTEGER, 0)                                                                          \
    NUMBER(muscles, 0, 0, 1000, "their strength, of what holds it level; it then has feet and stands on a floor")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { MOST_LINKS = 16 };

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

static const cal_feet feet = {"lower_leg", {0.13, 0.05, 0.02}};

// A link as it stands: what the muscles' strengths are found from.
typedef struct standing_link {
    char name[48];
    int parent;
    double hinge[3], center[3], mass;
    bool foot;
} standing_link;

static int stand(standing_link links[MOST_LINKS]) {
    int count = 0;
    for (size_t i = 0; i < sizeof segments / sizeof *segments; i++)
        for (int side = 0; side < (segments[i].paired ? 2 : 1); side++) {
            const cal_segment* s = &segments[i];
            const char* const prefix = !s->paired ? "" : side == 0 ? "left_" : "right_";
            standing_link* link = &links[count];
            *link = (standing_link){.parent = -1, .mass = s->mass, .foot = strcmp(s->name, feet.segment) == 0};
            snprintf(link->name, sizeof link->name, "%s%s", prefix, s->name);
            // The parent of its own side, or the only one.
            for (int p = 0; p < count; p++) {
                char own[48];
                snprintf(own, sizeof own, "%s%s", prefix, s->parent ? s->parent : "");
                if (s->parent && (strcmp(links[p].name, own) == 0 || strcmp(links[p].name, s->parent) == 0))
                    link->parent = p;
            }
            for (int k = 0; k < 3; k++) {
                const double mirror = k == 1 && side == 1 ? -1.0 : 1.0;
                link->hinge[k] = mirror * s->position[k] + (link->parent >= 0 ? links[link->parent].hinge[k] : 0.0);
                link->center[k] = link->hinge[k] + 0.5 * mirror * s->tip[k];
            }
            count++;
        }
    return count;
}

static bool hangs_on(const standing_link* links, int link, int above) {
    while (link >= 0 && link != above) link = links[link].parent;
    return link == above;
}

static void add_muscles(cal_builder* builder, const standing_link* links, int count, int hinge, double strength) {
    bool leg = false;
    double moment = 0.0, inertia = 0.0;
    for (int i = 0; i < count; i++) leg |= links[i].foot && hangs_on(links, i, hinge);
    for (int i = 0; i < count; i++) {
        double square = 0.0;
        if (hangs_on(links, i, hinge) == leg) continue;
        for (int k = 0; k < 3; k++)
            square += (links[i].center[k] - links[hinge].hinge[k]) * (links[i].center[k] - links[hinge].hinge[k]);
        moment += links[i].mass * sqrt(square);
        inertia += links[i].mass * square;
    }
    const double k = strength * moment, c = 2.0 * sqrt(k * inertia);
    for (int axis = 0; axis < 3; axis++) {
        char name[64];
        cal_actuator_def muscle = cal_default_actuator_def();
        snprintf(name, sizeof name, "%s_%c", links[hinge].name, "xyz"[axis]);
        muscle.name = name;
        muscle.joint = hinge;
        muscle.axis = axis;
        muscle.gain = k;
        muscle.bias[1] = -k, muscle.bias[2] = -c;
        muscle.force_range[0] = -k, muscle.force_range[1] = k;
        muscle.control_range[0] = -CAL_PI, muscle.control_range[1] = CAL_PI;
        cal_builder_add_actuator(builder, &muscle);
    }
}

// Arms that hang down are half a centimetre inside the thighs: hands pass them.
static void let_hands_pass(cal_builder* builder, const standing_link* links, int count) {
    static const char* const pairs[][2] = {{"left_lower_arm", "left_upper_leg"},
                                           {"right_lower_arm", "right_upper_leg"}};
    for (int pair = 0; pair < 2; pair++) {
        int body[2] = {0, 0};
        for (int i = 0; i < count; i++)
            for (int k = 0; k < 2; k++)
                if (strcmp(links[i].name, pairs[pair][k]) == 0) body[k] = i;
        cal_builder_add_exclusion(builder, body[0], body[1]);
    }
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const double strength = values[at_muscles] * values[at_gravity];
    const bool stands = strength > 0.0;
    const cal_figure figure = {true, values[at_floor] != 0.0 || stands, values[at_start], values[at_gravity],
                               values[at_drop]};
    standing_link links[MOST_LINKS] = {0};
    cal_add_segments(builder, segments, (int)(sizeof segments / sizeof *segments), &figure, stands ? &feet : NULL);
    const int count = stand(links);
    if (stands) let_hands_pass(builder, links, count);
    for (int hinge = 1; hinge < count && stands; hinge++) add_muscles(builder, links, count, hinge, strength);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(stickman, PARAMETERS, "a man of 12 links with ball joints (Armstrong)")
