// Which numbers of Y become which rows of the triangle's fronts (skyline.h): a list that is made when constraints begin or cease to hold, so
// that a factorisation only copies.
//
// A row of a front is what one degree of freedom feels of all constraints whose forces pass it. It begins with the first of them that holds,
// and has a piece for each.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cal_front_piece {
    size_t y;               // the first number in the array of all rows' y; the next ones are `stride` further
    int32_t stride, column; // where it goes, from the front's first column on
    int32_t count;
} cal_front_piece;

typedef struct cal_front_rows {
    int32_t* row_start;      // of each place: its first row of a front; one past the end
    int32_t* piece_start;    // of each row: its first piece; one past the end
    cal_front_piece* pieces; // in the order of rows
} cal_front_rows;

struct cal_constraints;
bool cal_front_rows_create(struct cal_constraints* set);
void cal_front_rows_destroy(struct cal_constraints* set);
// After rows have got their places.
void cal_front_rows_list(struct cal_constraints* set);
