// Triangles R of Q R, made from rows one at a time, whose rows end at a skyline:
//
//         x x              A row that is added is turned into those that begin where it does, until nothing of it is left
//           x x x          (Givens' rotations); Q is not kept. Rᵀ R is the sum of all rows' squares, without ever being
//             x x x        made: what is as small as the square root of rounding in it would be lost there, and is what
//               x x        tells a position that is nearly singular from one that is.
//
// Rows that come in the order of their first column fill a short stretch only, so a chain of constraints costs linear time, and
// a handful that all meet is a dense triangle.
//
// Columns come in groups, the rows of one constraint each. When all rows that begin in a group or before have been added, its
// columns are put in order: next comes the one of which most is left beside those that came before (Businger and Golub's
// pivots). One of which no more is left than a threshold depends on the others. It is dropped: its unknown is zero, and what its
// row of R still holds of later columns is added to theirs as a row of its own.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { CAL_SKYLINE_GROUP = 6 }; // columns of a group at most

typedef struct cal_skyline {
    int count;
    int32_t* last;   // of each row: its last column, one for all rows of a group; never less than the row's before
    int32_t* begin;  // of each row: the first column of its group
    size_t* start;   // of each row: where its numbers are; entry (i, j) is at start[i] + j − begin[i]
    double* root;    // R
    double* over;    // of each row: the inverse of its pivot
    double* row;     // count: the row that is to be added; zeros otherwise
    int32_t* column; // of each row: the column that it is the pivot of
    double*
        left; // of each column: the length that was left of it beside those before it; not above zero: it was dropped
} cal_skyline;

// How a group's columns are put in order. Of column i the length that is left counts `weight[i]` times; columns of which not more
// than `least[i]` is left are dropped.
typedef struct cal_skyline_choice {
    double weight[CAL_SKYLINE_GROUP], least[CAL_SKYLINE_GROUP];
} cal_skyline_choice;

void cal_skyline_clear(cal_skyline* matrix);
// Adds matrix->row, whose entries begin at `first`, and end no later than the skyline of that row. Leaves it zero.
void cal_skyline_add(cal_skyline* matrix, int first);
// Puts the columns of a group in order. Returns how many are kept.
int cal_skyline_reveal(cal_skyline* matrix, int first, int count, const cal_skyline_choice* how);
// x ← (Rᵀ R)⁻¹ x for the columns that are kept; the others become zero.
void cal_skyline_solve(const cal_skyline* matrix, double* x);
// Columns that were dropped are those that are kept times T. x is z for the kept ones and zero for the others; it becomes
// T Tᵀ z, and −Tᵀ z for the others.
void cal_skyline_depend(const cal_skyline* matrix, double* x);
