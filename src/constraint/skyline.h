// Triangles R of Q R, made from rows one at a time, whose rows end at a skyline; Q is not kept:
//
//         x x              Rᵀ R is the sum of all rows' squares, without ever being made: what is as small as the square root of
//           x x x          rounding in it would be lost there, and is what tells a position that is nearly singular from one
//             x x x        that is.
//               x x
//
// Columns come in groups, the rows of one constraint each. Rows that begin in a group wait in its front. When all of them are there,
// the group's columns are eliminated by reflections of the whole front (Householder's), which wait for one root per column, and not for
// one per row and column as rotations would. Next comes the column of which most is left beside those that came before (Businger and
// Golub's pivots). One of which no more is left than a threshold depends on the others: it is dropped, and its unknown is zero. What is
// left of the front's rows begins in a later group, and is turned into the rows that are there already (Givens' rotations).
//
// Rows that come in the order of their first column fill a short stretch only, so a chain of constraints costs linear time, and
// a handful that all meet is a dense triangle.
#pragma once
#include "base/everywhere.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CAL_SKYLINE_GROUP = 6,
    CAL_SKYLINE_FRONT = 16
}; // columns of a group at most; rows that wait in a front, others do not

typedef struct cal_skyline {
    int count;
    int32_t* last;   // of each row: its last column, one for all rows of a group; never less than the row's before
    int32_t* begin;  // of each row: the first column of its group
    size_t* start;   // of each row: where its numbers are; entry (i, j) is at start[i] + j − begin[i]
    double* root;    // R
    double* over;    // of each row: the inverse of its pivot
    double* front;   // rows that begin in the next group, `stride` numbers each, and one more for sums
    double* row;     // count: a row on its way beyond its front; zeros otherwise
    int stride;      // the most columns of a row, rounded up to fours
    int waiting;     // rows of the front
    int32_t* column; // of each row: the column that it is the pivot of
    double*
        left; // of each column: the length that was left of it beside those before it; not above zero: it was dropped
} cal_skyline;

// How a group's columns are put in order. Of column i the square of what is left counts `weight[i]` times; columns of which no more
// than `least[i]` is left, as a square, are dropped.
typedef struct cal_skyline_choice {
    const double *weight, *least;
} cal_skyline_choice;

// Numbers of a row of R of `width` columns: whole fours, of which those that are no columns are zero.
CAL_DEVICE static inline size_t cal_skyline_row_size(int width) { return ((size_t)width + 3) & ~(size_t)3; }

// Numbers of a front.
CAL_DEVICE static inline size_t cal_skyline_front_size(int stride) {
    return (size_t)(CAL_SKYLINE_FRONT + CAL_SKYLINE_GROUP + 1) * (size_t)stride;
}

// Before columns are filled: rows first … end - 1.
CAL_EVERYWHERE void cal_skyline_clear(cal_skyline* matrix, int first, int end);
// A row of zeros, to be filled from its first column, that of the next group, on; it ends no later than that group's skyline.
CAL_EVERYWHERE void cal_skyline_make_room(cal_skyline* matrix, int first); // in a front that is full
CAL_DEVICE static inline double* cal_skyline_begin_row(cal_skyline* matrix, int first) {
    if (matrix->waiting == CAL_SKYLINE_FRONT) cal_skyline_make_room(matrix, first);
    double* row = matrix->front + (size_t)matrix->waiting++ * (size_t)matrix->stride;
    for (int j = 0, width = matrix->last[first] - first + 1; j < width; j += 4) // whole fours, as they are read
        row[j] = row[j + 1] = row[j + 2] = row[j + 3] = 0.0;
    return row;
}
// Puts the columns of a group in order, when all rows are there that begin in it. Returns how many are kept.
CAL_EVERYWHERE int cal_skyline_reveal(cal_skyline* matrix, int first, int count, const cal_skyline_choice* how);
// Of rows first … end - 1, one after the other: x ← (Rᵀ R)⁻¹ x for the columns that are kept, where the others become zero. What rows hold of columns
// beyond them goes there on the way forward, and is there before the way back.
CAL_EVERYWHERE void cal_skyline_forward(const cal_skyline* matrix, double* x, int first, int end);
// of_dropped: columns that were dropped are those that are kept times T. x was z for the kept ones and zero for the others; it becomes T Tᵀ z, and
// −Tᵀ z for the others.
CAL_EVERYWHERE void cal_skyline_backward(const cal_skyline* matrix, double* x, int first, int end, bool of_dropped);
