// The convex hull of points in space.
#pragma once
#include "base/error.h"

typedef struct cal_hull {
    int32_t* vertices;  // numbers of the points that are corners, rising
    int32_t* triangles; // 3 numbers of points each, counterclockwise seen from outside
    int32_t* neighbors; // 3 a triangle: the triangles beyond the edges from corner 0 to 1, 1 to 2, 2 to 0
    int vertex_count, triangle_count;
} cal_hull;

// The hull of `count` points, 3 numbers each. CAL_BAD_MODEL when a number is not finite or all points lie in one plane (flat and
// line-like sets have no volume); on any error *out is empty. The result depends on nothing but the points: every sign
// that decides is exact, so no tolerance is needed, and coplanar faces come as several triangles.
cal_status cal_hull_create(const double* points, int count, cal_hull* out, cal_error* error);
void cal_hull_destroy(cal_hull* hull); // empties it
