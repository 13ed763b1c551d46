// The work on triangles with a skyline (skyline.h): George and Heath's way to find R, with a front for the group that is next. Compiled for the
// host (skyline.c) and for devices.
#pragma once
#include "base/everywhere.h"
#include "constraint/skyline.h"
#include "math/four.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

// Squares below this are nothing beside those of rows of length one, and their inverses are not finite.
static const double NO_SQUARE = 1e-280;

// ∑ a_k b_k in four interleaved sums, so that the compiler may use vectors and the bits stay the same.
CAL_DEVICE static inline double dot_of_four(const double* a, const double* b, int count) {
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    int k = 0;
    for (; k + 4 <= count; k += 4)
        for (int l = 0; l < 4; l++) sum[l] += a[k + l] * b[k + l];
    for (int l = 0; k < count; k++, l++) sum[l] += a[k] * b[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// √(a² + b²). Squares of numbers below 1e-154 are zero, and those above 1e154 infinite: there the larger is taken out.
CAL_DEVICE static inline double length_of(double a, double b) {
    static const double least = 1e-140, most = 1e140;
    const double x = fabs(a), y = fabs(b), large = x > y ? x : y, small = x > y ? y : x;
    if (small == 0.0) return large; // as √ would, which waits
    if (large > least && large < most) return sqrt(large * large + small * small);
    const double ratio = small / large;
    return large * sqrt(1.0 + ratio * ratio);
}

CAL_DEVICE static double* skyline_entry(const cal_skyline* m, int row, int column) {
    return m->root + m->start[row] + (size_t)(column - m->begin[row]);
}

CAL_EVERYWHERE void cal_skyline_clear(cal_skyline* m, int first, int end) {
    m->waiting = 0;
    if (first == end) return;
    const size_t begin = m->start[first],
                 after = m->start[end - 1] + cal_skyline_row_size(m->last[end - 1] - m->begin[end - 1] + 1);
    memset(m->root + begin, 0, (after - begin) * sizeof *m->root);
    for (int i = first; i < end; i++) m->column[i] = i;
}

// --- Rows of later groups ----------------------------------------------------------------------------------------------------

// (a, b) ← (c a + s b, c b − s a), with what makes b's first number zero.
CAL_DEVICE static void rotate_rows(double* restrict a, double* restrict b, int width) {
    const double r = length_of(a[0], b[0]), c = a[0] / r, s = b[0] / r;
    a[0] = r, b[0] = 0.0;
    for (int j = 1; j < width; j++) {
        const double above = a[j], below = b[j];
        a[j] = c * above + s * below;
        b[j] = c * below - s * above;
    }
}

// Turns a row of `width` numbers, which begins at column `first`, into those that are there. What is not nothing of it may end later than it.
CAL_DEVICE static void turn_in(cal_skyline* m, const double* from, int first, int width) {
    double *row = m->row + first, *below = skyline_entry(m, first, first);
    if (below[0] == 0.0 && from[0] != 0.0) { // nothing has come this far yet: the row of R is this one
        for (int j = 0; j < width; j++) below[j] = from[j];
        return;
    }
    memcpy(row, from, (size_t)width * sizeof *row);
    for (int k = first, end = m->last[first]; k <= end; k++, row++) {
        double* root = skyline_entry(m, k, k);
        if (row[0] == 0.0) continue;
        const int own = m->last[k] - k + 1;
        if (root[0] == 0.0) {
            memcpy(root, row, (size_t)own * sizeof *root);
            memset(row, 0, (size_t)own * sizeof *row);
            return;
        }
        rotate_rows(root, row, own);
        end = m->last[k];
    }
}

// --- The front of a group ----------------------------------------------------------------------------------------------------

CAL_DEVICE static double* front_row(const cal_skyline* m, int i) { return m->front + (size_t)i * (size_t)m->stride; }

CAL_EVERYWHERE void cal_skyline_make_room(cal_skyline* m, int first) {
    turn_in(m, front_row(m, --m->waiting), first, m->last[first] - first + 1);
}

// Rows of R that have come to the group's columns join the front.
CAL_WIDE_INLINE void join_front(cal_skyline* m, int first, int count, int stride, int width) {
    for (int i = first; i < first + count; i++) {
        double *from = m->root + m->start[i], *to = m->front + (size_t)m->waiting * (size_t)stride;
        if (from[i - first] == 0.0) continue;
        m->waiting++;
        for (int j = 0; j < width; j += 4) {
            cal_store_four(cal_load_four(from + j), to + j);
            cal_store_four((cal_four){0.0}, from + j);
        }
    }
}

// Squares of what is left of the group's columns in rows from `row` on.
CAL_WIDE_INLINE void find_squares(const double* front, int stride, int row, int rows, int count, double* squares) {
    for (int j = 0; j < count; j += 4) {
        cal_four sum = {0.0};
        for (int i = row; i < rows; i++) {
            const cal_four x = cal_load_four(front + (size_t)i * (size_t)stride + j);
            sum += x * x;
        }
        cal_store_four(sum, squares + j);
    }
}

// The column that is next; −1: none.
CAL_WIDE_INLINE int find_pivot(const double* squares, const bool* taken, int count, const cal_skyline_choice* how) {
    int best = -1;
    double most = 0.0;
    for (int c = 0; c < count; c++) {
        const double weighed = squares[c] * how->weight[c];
        if (taken[c] || !(squares[c] > how->least[c]) || !(squares[c] > NO_SQUARE) || !(weighed > most)) continue;
        most = weighed;
        best = c;
    }
    return best;
}

// Reflects rows from `row` on, so that of `column`, whose square there is given, all is in `row`. width: in whole fours; sums: room for so many.
CAL_WIDE_INLINE void reflect_rows(double* front, int stride, int row, int rows, int width, int column, double size,
                                  double* sums) {
    double *top = front + (size_t)row * (size_t)stride, *own = top + column;
    const double above = *own < 0.0 ? -size : size, begin = *own + above, over = 1.0 / (size * (size + fabs(*own)));
    double part[CAL_SKYLINE_FRONT + CAL_SKYLINE_GROUP];
    for (int i = row; i < rows; i++) part[i] = i == row ? begin : own[(size_t)(i - row) * (size_t)stride];
    for (int j = 0; j < width; j += 4) {
        cal_four sum = {0.0};
        for (int i = row; i < rows; i++) sum += part[i] * cal_load_four(front + (size_t)i * (size_t)stride + j);
        cal_store_four(sum * over, sums + j);
    }
    for (int i = row; i < rows; i++) {
        double* x = front + (size_t)i * (size_t)stride;
        for (int j = 0; j < width; j += 4)
            cal_store_four(cal_load_four(x + j) - part[i] * cal_load_four(sums + j), x + j);
        x[column] = 0.0;
    }
    *own = -above;
}

// Returns how many columns are kept: as many rows of the front are theirs, in order, and became those of R. stride, width: in whole fours.
CAL_WIDE_INLINE int eliminate_columns(cal_skyline* m, int first, int count, const cal_skyline_choice* how, int rows,
                                      int stride, int width) {
    double* const front = m->front;
    double squares[(CAL_SKYLINE_GROUP + 3) & ~3] = {0.0};
    bool taken[CAL_SKYLINE_GROUP] = {false};
    int kept = 0;
    for (; kept < count; kept++) {
        find_squares(front, stride, kept, rows, count, squares);
        const int c = find_pivot(squares, taken, count, how);
        if (c < 0) break;
        double *top = front + (size_t)kept * (size_t)stride, *own = m->root + m->start[first + kept];
        const double size = sqrt(squares[c]);
        if (rows > kept + 1)
            reflect_rows(front, stride, kept, rows, width, c, size, front + cal_skyline_front_size(stride) - stride);
        taken[c] = true;
        m->column[first + kept] = first + c;
        m->left[first + c] = size;
        m->over[first + kept] = 1.0 / top[c];
        for (int j = 0; j < width; j += 4) cal_store_four(cal_load_four(top + j), own + j);
    }
    for (int c = 0, at = first + kept; c < count && at < first + count; c++) {
        if (taken[c]) continue;
        m->left[first + c] = -sqrt(squares[c]);
        m->column[at++] = first + c;
    }
    return kept;
}

// --- Two columns of three rows -----------------------------------------------------------------------------------------------

CAL_WIDE_INLINE double pick_column(cal_four x, int column) { return column == 0 ? x[0] : x[1]; }

CAL_WIDE_INLINE cal_four put_column(cal_four x, int column, double value) {
    return column == 0 ? (cal_four){value, x[1], x[2], x[3]} : (cal_four){x[0], value, x[2], x[3]};
}

// As reflect, of rows from `row` on, which is constant.
CAL_WIDE_INLINE void reflect_three(cal_four* x, int row, int column, double size) {
    const double own = pick_column(x[row], column), above = own < 0.0 ? -size : size, begin = own + above,
                 over = 1.0 / (size * (size + fabs(own)));
    double part[3];
    cal_four sum = {0.0};
    for (int i = row; i < 3; i++) {
        part[i] = i == row ? begin : pick_column(x[i], column);
        sum += part[i] * x[i];
    }
    sum *= over;
    for (int i = row; i < 3; i++) x[i] = put_column(x[i] - part[i] * sum, column, i == row ? -above : 0.0);
}

CAL_WIDE_INLINE int eliminate_three(cal_skyline* m, int first, const cal_skyline_choice* how) {
    cal_four x[3] = {cal_load_four(m->front), cal_load_four(m->front + 4), cal_load_four(m->front + 8)};
    double squares[2] = {0.0};
    bool taken[2] = {false};
    int kept = 0;
#ifndef __CUDACC__
#pragma GCC unroll 2
#endif
    for (; kept < 2; kept++) {
        cal_four sum = {0.0};
        for (int i = kept; i < 3; i++) sum += x[i] * x[i];
        squares[0] = sum[0], squares[1] = sum[1];
        const int c = find_pivot(squares, taken, 2, how);
        if (c < 0) break;
        const double size = sqrt(squares[c]);
        reflect_three(x, kept, c, size);
        taken[c] = true;
        m->column[first + kept] = first + c;
        m->left[first + c] = size;
        m->over[first + kept] = 1.0 / pick_column(x[kept], c);
        cal_store_four(x[kept], m->root + m->start[first + kept]);
    }
    for (int c = 0, at = first + kept; c < 2 && at < first + 2; c++) {
        if (taken[c]) continue;
        m->left[first + c] = -sqrt(squares[c]);
        m->column[at++] = first + c;
    }
    for (int i = kept; i < 3; i++) cal_store_four(x[i], m->front + 4 * i);
    return kept;
}

CAL_WIDE static int eliminate_front(cal_skyline* m, int first, int count, const cal_skyline_choice* how) {
    const int width = (m->last[first] - first + 4) & ~3;
    if (width != 4 || m->stride != 4) {
        join_front(m, first, count, m->stride, width);
        return eliminate_columns(m, first, count, how, m->waiting, m->stride, width);
    }
    join_front(m, first, count, 4, 4);
    if (count == 2 && m->waiting == 3) return eliminate_three(m, first, how);
    return eliminate_columns(m, first, count, how, m->waiting, 4, 4);
}

CAL_EVERYWHERE int cal_skyline_reveal(cal_skyline* m, int first, int count, const cal_skyline_choice* how) {
    const int kept = eliminate_front(m, first, count, how);
    // What rows without a pivot hold of later columns goes there.
    const int later = m->last[first] - (first + count) + 1;
    for (int i = kept; i < m->waiting && later > 0; i++) turn_in(m, front_row(m, i) + count, first + count, later);
    m->waiting = 0;
    return kept;
}

// --- Solving ---------------------------------------------------------------------------------------------------------------

// x ← R⁻ᵀ x of the columns that are kept; from the others what the rows of R make of it is subtracted.
CAL_EVERYWHERE void cal_skyline_forward(const cal_skyline* m, double* x, int first, int end) {
    for (int i = first; i < end; i++) {
        const int begin = m->begin[i], own = m->column[i];
        if (!(m->left[own] > 0.0)) continue;
        const double *row = m->root + m->start[i], value = x[own] * m->over[i];
        const int width = m->last[i] - begin + 1;
        if (width == 4)
            for (int j = 0; j < 4; j++) x[begin + j] -= row[j] * value;
        else
            for (int j = 0; j < width; j++) x[begin + j] -= row[j] * value;
        x[own] = value;
    }
}

// x ← R⁻¹ (x − R x of the columns that were dropped), of the columns that are kept.
CAL_EVERYWHERE void cal_skyline_backward(const cal_skyline* m, double* x, int first, int end, bool of_dropped) {
    for (int i = first; i < end; i++)
        if ((m->left[i] > 0.0) == of_dropped) x[i] = 0.0;
    for (int i = end - 1; i >= first; i--) {
        const int begin = m->begin[i], own = m->column[i];
        if (!(m->left[own] > 0.0)) continue;
        const double *row = m->root + m->start[i], value = x[own];
        x[own] = 0.0; // the row is zero at the group's columns that came before it
        const int width = m->last[i] - begin + 1;
        const double others = width == 4 ? dot_of_four(row, x + begin, 4) : dot_of_four(row, x + begin, width);
        x[own] = (value - others) * m->over[i];
    }
}
