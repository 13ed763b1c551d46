// What two pieces that touch show each other, and what of it they share (manifold.c).
#pragma once
#include "collide/convex.h"

enum {
    CAL_OUTLINE_CORNERS = 40,
    CAL_ROUND_CORNERS = 8,
    CAL_OUTLINE_CLIPPED = 2 * CAL_OUTLINE_CORNERS + CAL_ROUND_CORNERS
};

typedef struct cal_corner {
    double p[3];
    uint32_t id; // of a corner of the piece its number, of a cut the edge and the plane: no two of an outline are alike
    uint32_t
        edge; // what the outline follows from here on: the edge that begins at a corner, or a plane that has cut it
} cal_corner;

// What a piece shows towards d: corners in the working frame, counterclockwise about the normal.
typedef struct cal_feature {
    int count;
    cal_corner corners[CAL_OUTLINE_CORNERS];
    double normal[3];      // where count > 2
    double alignment;      // of the normal with d
    double rim, center[3]; // of a face that is round: its radius; else 0
} cal_feature;

// Clips corners by the sides of the reference face, seen along n so that what remains lies over the face, or by the ends of a reference line along
// it; returns how many there are.
int cal_outline_clip(const cal_feature* reference, const double n[3], cal_corner* corners, int count);
// What an outline and a round face share, seen along n: points on the outline's plane, or, where that is the reference, on the round face's. Names
// count the round face as the reference.
int cal_outline_clip_by_rim(const cal_feature* face, const cal_feature* outline, const double n[3], bool onto_face,
                            cal_corner* out);
