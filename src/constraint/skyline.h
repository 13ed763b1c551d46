// Triangles R of Q R, made from rows one at a time, whose rows end at a skyline:
//
//         x x              A row that is added is turned into those that begin where it does, until nothing of it is left
//           x x x          (Givens' rotations); Q is not kept. Rᵀ R is the sum of all rows' squares, without ever being
//             x x x        made: what is as small as the square root of rounding in it would be lost there, and is what
//               x x        tells a position that is nearly singular from one that is.
//
// Rows that come in the order of their first column fill a short stretch only, so a chain of constraints costs linear time, and
// a handful that all meet is a dense triangle.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct cal_skyline {
    int count;
    int32_t* last; // of each row: its last column; never less than the row's before
    size_t* start; // of each row: where its diagonal is; entry (i, j) is at start[i] + j − i
    double* root;  // R
    double* row;   // count: the row that is to be added; zeros otherwise
} cal_skyline;

void cal_skyline_clear(cal_skyline* matrix);
// Adds matrix->row, whose entries begin at `first`, and end no later than the skyline of that row. Leaves it zero.
void cal_skyline_add(cal_skyline* matrix, int first);
// Makes every entry of the diagonal at least `least`. Returns how many squares of them are above `threshold`: the rank, where
// rows' columns have length one.
int cal_skyline_finish(cal_skyline* matrix, double least, double threshold);
// x ← (Rᵀ R)⁻¹ x
void cal_skyline_solve(const cal_skyline* matrix, double* x);
