// Human figures as tables of segments. x points forward, y left, z up. A paired segment is given for the left side, and
// made for both: "left_foot", "right_foot".
#pragma once
#include "scenes/generate.h"

typedef struct cal_segment {
    const char* name;
    const char* parent; // NULL: the root, on a free joint
    bool paired;
    bool detail; // left out of coarse figures: what hangs on it then hangs on its parent
    cal_joint_kind kind;
    char axis;          // 'x', 'y' or 'z' of a revolute joint
    double position[3]; // of the joint in the parent's frame
    double tip[3];      // the segment is a capsule from its joint to its tip
    double radius, mass;
} cal_segment;

// What is made of the segments: with the details or without them, each joint turned by `start` about its axis (a ball:
// about y). With a floor the lowest segment is `drop` above it at the start, and the segments touch it and each other as far
// as they are of different limbs; without one they are only drawn. Masses and joints are the same with and without.
typedef struct cal_figure {
    bool detailed, floor;
    double start, gravity, drop;
} cal_figure;

// Soles at the tips of a segment, which point forward: boxes of these half edges. They are shapes alone.
typedef struct cal_feet {
    const char* segment;
    double half[3];
} cal_feet;

// Adds the segments, parents first; feet: NULL for none.
void cal_add_segments(cal_builder* builder, const cal_segment* segments, int count, const cal_figure* figure,
                      const cal_feet* feet);

// What all figures let the user choose; FLOOR is the default of `floor`.
#define CAL_FIGURE_PARAMETERS(NUMBER, INTEGER, FLOOR)                                                                  \
    NUMBER(start, 0.1, -3, 3, "start angle of every joint, rad")                                                       \
    NUMBER(gravity, 9.81, 0, 1000, "m/s^2")                                                                            \
    INTEGER(floor, FLOOR, 0, 1, "1 puts it on a floor, which it touches")                                              \
    NUMBER(drop, 0, 0, 1000, "height of its lowest point above that floor at the start, m")
