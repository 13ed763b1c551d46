// Sparse symmetric positive definite matrices of dense blocks, one row of blocks a unit, and their Cholesky factor.
//
// Units are eliminated in the order of least degree, the lower number first among equals, so the order and with it every
// bit depends on nothing but who rows whom. All memory is the caller's.
#pragma once
#include "constraint/dense.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Memory that is taken from the front and never given back.
typedef struct cal_arena {
    double* next;
    size_t left; // doubles
} cal_arena;

// NULL when there is too little left; numbers are not zeroed.
double* cal_arena_numbers(cal_arena* arena, size_t count);
int32_t* cal_arena_integers(cal_arena* arena, size_t count);

typedef struct cal_blocks {
    int units;
    const int32_t *size, *first; // of each unit: degrees of freedom, and where they begin in a vector
    int32_t *order, *place;      // unit eliminated at a place, and the inverse
    int32_t* column;             // of a place: where its entries begin; units + 1
    int32_t* row;                // of an entry: a later place, ascending in a column
    int64_t *at, *diagonal;      // of an entry and of a place: where the block's numbers are
    double* numbers;
    int64_t number_count;
    int32_t* where;      // scratch: entry of a place in the present column
    const bool* passive; // units that are left out, whose blocks are zero and whose x stays as it is; NULL: none
} cal_blocks;

// Lays out the matrix for these pairs of units, with room for the factor. False: not enough memory.
bool cal_blocks_make(cal_blocks* m, int units, const int32_t* size, const int32_t* first, const int32_t (*pairs)[2],
                     int pair_count, cal_arena* arena);
void cal_blocks_zero(cal_blocks* m);
// Where block (i, j) is, in rows: size of i × size of j; turned: as (j, i), its transpose. Only one of the two is there, and of a unit's own
// block only what is on the diagonal and below it counts.
double* cal_blocks_at(cal_blocks* m, int i, int j, bool* turned);
// Factors in place; false: not positive definite.
bool cal_blocks_factor(cal_blocks* m);
// x ← A⁻¹ x, in the units' order.
void cal_blocks_solve(const cal_blocks* m, double* x);
