// What solvers do with their y-shaped vectors: contiguous ranges, component by component, so that the compiler can use
// its widest instructions and the bits do not depend on the lanes.
#pragma once
#include "base/wide.h"
#include "model/coordinates.h"
#include "solver/solver.h"
#include <float.h>
#include <math.h>

// Components a pass over several vectors handles at a time: small enough that all of them stay in the first cache.
#ifdef CAL_THREAD_PER_LANE
enum { CAL_CHUNK = CAL_WIDTH, CAL_OWN_CHUNK = 1 };
#define CAL_IN_CHUNK(i) 0
#else
enum { CAL_CHUNK = 128, CAL_OWN_CHUNK = CAL_CHUNK, CAL_LINE = 8 }; // a line of a cache
#define CAL_IN_CHUNK(i) (i)
#endif

CAL_DEVICE static inline int cal_column_first(const cal_layout* layout, const cal_column* column) {
    return layout->block_y[column->first_block];
}
CAL_DEVICE static inline int cal_column_end(const cal_layout* layout, const cal_column* column) {
    return layout->block_y[column->first_block + column->block_count];
}
CAL_DEVICE static inline int cal_chunk_end(int first, int end) {
    return end - first < CAL_CHUNK ? end : first + CAL_CHUNK;
}

// Where a block's angular velocity begins among its components; -1 for a joint without one.
CAL_DEVICE static inline int cal_angular_component(int kind) {
    return kind == CAL_FREE ? 10 : kind == CAL_BALL ? 4 : -1;
}

// The allowed error of component i, which is y now.
CAL_WIDE_INLINE double cal_weight(const cal_solver_context* context, int i, double y) {
    const double absolute = context->scale ? context->absolute * context->scale[i] : context->absolute;
    return context->relative * fabs(y) + absolute;
}

// |x| for a maximum norm: what is not a number counts as infinite, since comparisons would lose it.
CAL_WIDE_INLINE double cal_size(double x) {
    const double size = fabs(x);
    return size <= DBL_MAX ? size : (double)INFINITY;
}

CAL_WIDE_INLINE void cal_range_copy(double* restrict out, const double* restrict in, int first, int end) {
    CAL_EACH(i, first, end) out[i] = in[i];
}

// out = base + ∑ coefficient_j · vectors[index_j], the sum taken first.
CAL_WIDE_INLINE void cal_range_combine(double* out, const double* base, double* const* vectors, int count,
                                       const int* index, const double* coefficients, int first, int end) {
    double sum[CAL_OWN_CHUNK];
    for (int i = first; i < end;) {
        const int n = cal_chunk_end(i, end) - i;
        CAL_EACH(k, 0, n) sum[CAL_IN_CHUNK(k)] = 0.0;
        for (int j = 0; j < count; j++) {
            const double c = coefficients[j];
            const double* restrict x = vectors[index[j]] + i;
            CAL_EACH(k, 0, n) sum[CAL_IN_CHUNK(k)] += c * x[k];
        }
        CAL_EACH(k, 0, n) out[i + k] = base[i + k] + sum[CAL_IN_CHUNK(k)];
        i += n;
    }
}

// One-step solvers keep what their dense output needs in the same places: y and dy/dt at both ends of the last step.
enum { CAL_ONE_STEP_Y, CAL_ONE_STEP_PREVIOUS, CAL_ONE_STEP_F, CAL_ONE_STEP_PREVIOUS_F, CAL_ONE_STEP_OWN };
enum { CAL_ONE_STEP_CUBIC_DEGREE = 3, CAL_ONE_STEP_SMOOTH_DEGREE = 5 };

// Writes y at the fraction s of the step h between them. smooth: the positions' own polynomial of degree five, from
// positions, velocities and accelerations, with its derivative as the velocities: errors of h⁶ and h⁵. Otherwise each
// component's cubic, for methods whose velocities are not the derivatives of their positions.
#ifndef CAL_THREAD_PER_LANE
void cal_one_step_interpolate(const cal_solver_context* context, const cal_column* column, double s, double h,
                              bool smooth, double* out);
#endif
