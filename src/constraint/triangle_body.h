// The matrix of a set of constraints as one triangle (constraint_matrix.h). Compiled for the host (constraint_matrix.c, which has what is done in the
// order of the tree instead) and for devices.
#pragma once
#include "base/everywhere.h"
#include "base/wide.h"
#include "constraint/constraint_matrix.h"
#include "constraint/directions.h"
#include "layout/layout.h"
#include "pass/aba.h"
#include <math.h>
#include <string.h>

// Runs a part of the work on all workers; on a device there is one.
#ifdef CAL_THREAD_PER_LANE
#define CAL_SHARE_WORK(set, kind, shared, part)                                                                        \
    do {                                                                                                               \
        cal_worker alone_ = CAL_ALONE_WORKER;                                                                          \
        (void)part(set, &alone_);                                                                                      \
    } while (0)
#else
#define CAL_SHARE_WORK(set, kind, shared, part) cal_workers_run(&(set)->workers, &(set)->paces[kind], shared, set)
#endif

// Squares of pivots of rows of length one that count as dependent where that is only shown.
static const double THRESHOLD = 1e-8;
// What is left of a gap of one in the last place of numbers of size one, and of the few that make it.
static const double REFINED = 1e-15;
enum { MOST_REFINEMENTS = 8, SUMS = 8 };
// Fewer degrees of freedom than this gain nothing from sums side by side.
enum { LONG = 2 * SUMS };

// ∑ a_k b_k in interleaved sums, so that the compiler may use vectors and the bits stay the same.
CAL_WIDE_INLINE double dot(const double* restrict a, const double* restrict b, int count) {
    double sum[SUMS] = {0.0};
    int k = 0;
    for (; k + SUMS <= count; k += SUMS)
        for (int l = 0; l < SUMS; l++) sum[l] += a[k + l] * b[k + l];
    for (int l = 0; k < count; k++, l++) sum[l] += a[k] * b[k];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// The y of a row, and how many there are.
CAL_WIDE_INLINE double* row_y(const cal_constraints* set, int place, int row, int* count) {
    const int constraint = set->order[place];
    *count = set->degrees[constraint];
    return set->y + set->y_start[constraint] + (size_t)row * (size_t)*count;
}

// --- How easily rows are moved --------------------------------------------------------------------------------------------

// The square of a row's wrenches, moments as forces at the mechanism's length: in any unit of length the same rows are rounding. turns: it is one of
// turns only.
CAL_DEVICE static double row_square(const cal_row* row, double length, bool* turns) {
    double moments = 0.0, forces = 0.0;
    for (int i = 0; i < row->node_count; i++) {
        moments += cal_dot3(row->moment[i], row->moment[i]);
        forces += cal_dot3(row->force[i], row->force[i]);
    }
    *turns = forces == 0.0;
    return moments / (length * length) + forces;
}

CAL_EVERYWHERE double cal_matrix_open(const cal_constraints* set, const double* errors) {
    double out = 0.0;
    for (int i = 0; i < set->row_count; i++) {
        bool turns;
        const double size = row_square(&set->rows[i], set->length, &turns), error = fabs(errors[i]);
        const double open = size > 0.0 ? error / (sqrt(size) * set->length) : 0.0;
        if (!(open <= out)) out = open;
    }
    return out;
}

// From the squares of rows' y: how easily each is moved (of wrenches of size one), beside the most easily moved of its constraint's
// displacements, or turns. A row that nothing in the mechanism can move (across the plane of a planar one) has only rounding there.
// Divisions and roots are made of all rows at once, a list each.
CAL_WIDE static void divide_rows(const double* restrict squares, const double* restrict sizes, int count,
                                 double* restrict ease, double* restrict scale) {
    for (int i = 0; i < count; i++) ease[i] = sizes[i] > 0.0 ? squares[i] / sizes[i] : 0.0;
    for (int i = 0; i < count; i++) scale[i] = 1.0 / sqrt(squares[i]);
}

CAL_WIDE static void compare_rows(const double* restrict ease, double* restrict nearness, int count) {
    for (int i = 0; i < count; i++) nearness[i] = ease[i] > 0.0 ? ease[i] / nearness[i] : 0.0;
}

CAL_DEVICE static void size_rows(cal_constraints* set, int first, int end) {
    for (int i = first; i < end; i++) set->nearness[i] = row_square(&set->rows[i], set->length, &set->turns[i]);
}

// Of each row how much of y² is rounding of what it was made from, where it may be enough to be asked for.
CAL_DEVICE static void find_noise(cal_constraints* set, const double* squares, int first, int end) {
    const double* root = set->tree.given ? NULL : set->tree.root;
    for (int place = first; place < end; place++) {
        const double limit = set->rounding.limit[set->order[place]];
        for (int i = set->first_row[place]; i < set->first_row[place + 1]; i++) {
            set->noise[i] = 0.0;
            if (set->ease[i] > limit || !(set->ease[i] > 0.0)) continue;
            set->noise[i] = cal_row_noise(&set->rounding, &set->rows[i], -1, set->at_q, root, &set->tree) / squares[i];
        }
    }
}

// Of the rows of some places. squares: of y; those of wrenches are in set->nearness. Returns the largest ease.
CAL_DEVICE static double divide_places(cal_constraints* set, const double* squares, int first, int end) {
    const int row = set->first_row[first], after = set->first_row[end];
    double easiest = 0.0;
    divide_rows(squares + row, set->nearness + row, after - row, set->ease + row, set->scale + row);
    for (int i = row; i < after; i++) easiest = set->ease[i] > easiest ? set->ease[i] : easiest;
    return easiest;
}

// And then, easiest: of all. noise: of each row the part of its square that is rounding; NULL: it is to be found. Returns whether there are rows that
// nothing can move.
CAL_DEVICE static bool weigh_places(cal_constraints* set, const double* squares, const double* noise, double easiest,
                                    int first, int end) {
    const int row = set->first_row[first], after = set->first_row[end];
    const double least = CAL_ROW_ROUNDING * easiest;
    bool immovable = false;
    for (int i = row; i < after; i++)
        if (!(set->ease[i] > least)) set->ease[i] = set->scale[i] = 0.0, immovable = true;
    if (noise)
        memcpy(set->noise + row, noise + row, (size_t)(after - row) * sizeof *noise);
    else
        find_noise(set, squares, first, end);
    for (int i = row; i < after; i++)
        if (set->noise[i] >= 1.0) set->ease[i] = set->scale[i] = 0.0, immovable = true;
    for (int place = first; place < end; place++) {
        double own[2] = {0.0, 0.0};
        for (int i = set->first_row[place]; i < set->first_row[place + 1]; i++) {
            double* kind = &own[set->turns[i] ? 1 : 0];
            *kind = set->ease[i] > *kind ? set->ease[i] : *kind;
        }
        for (int i = set->first_row[place]; i < set->first_row[place + 1]; i++)
            set->nearness[i] = own[set->turns[i] ? 1 : 0];
    }
    compare_rows(set->ease + row, set->nearness + row, after - row);
    return immovable;
}

CAL_EVERYWHERE double cal_constraints_margin(const cal_constraints* set) {
    double least = 1.0;
    for (int i = 0; i < set->row_count; i++) {
        const double left = set->left[i];
        if (set->scale[i] > 0.0) least = fmin(least, left * left * set->ease[i] / set->easiest);
    }
    return least;
}

CAL_EVERYWHERE double cal_constraints_distance(const cal_constraints* set) {
    double least = 1.0;
    for (int i = 0; i < set->row_count; i++) {
        const double left = set->left[i], part = left * left * set->nearness[i];
        if (left > 0.0 && part < least) least = part;
    }
    return sqrt(least);
}

CAL_EVERYWHERE int cal_constraints_rank(cal_constraints* set) {
    if (set->row_count == 0) return 0;
    cal_matrix_make(set);
    cal_matrix_factor(set, CAL_SHIFT_CLOSED);
    return set->rank;
}

CAL_EVERYWHERE bool cal_constraints_depends(const cal_constraints* set, int row) {
    const double left = set->left[row];
    return !(left > 0.0 && left * left > THRESHOLD);
}

CAL_DEVICE static void count_rank(cal_constraints* set) {
    set->rank = 0;
    for (int i = 0; i < set->row_count; i++) set->rank += cal_constraints_depends(set, i) ? 0 : 1;
}

// --- The triangle ----------------------------------------------------------------------------------------------------------

// Squares of the y of some constraints that are in no pack.
CAL_WIDE static void square_singles(const cal_constraints* set, int first, int end, double* out) {
    for (int i = first; i < end; i++) {
        const int place = set->singles[i];
        for (int r = 0; r < cal_row_total(set, place); r++) {
            int count;
            const double* y = row_y(set, place, r, &count);
            out[set->first_row[place] + r] = dot(y, y, count);
        }
    }
}

// Rows of packs are scaled already.
CAL_WIDE static void scale_singles(const cal_constraints* set, int first, int end) {
    for (int i = first; i < end; i++)
        for (int place = set->singles[i], r = 0; r < cal_row_total(set, place); r++) {
            int count;
            double *y = row_y(set, place, r, &count), scale = set->scale[set->first_row[place] + r];
            for (int k = 0; k < count; k++) y[k] *= scale;
        }
}

// What is left of a row that nothing can move is rounding.
CAL_DEVICE static void drop_immovable(const cal_constraints* set, int first, int end) {
    for (int place = first; place < end; place++)
        for (int r = 0; r < cal_row_total(set, place); r++) {
            int count;
            double* y = row_y(set, place, r, &count);
            if (set->scale[set->first_row[place] + r] == 0.0) memset(y, 0, (size_t)count * sizeof *y);
        }
}

CAL_WIDE static void root_joints(double* over, int degrees) {
    for (int k = 0; k < degrees; k++) over[k] = sqrt(over[k]);
}

// From Sᵀ f to y = C⁻¹ Sᵀ f of the rows of a constraint, of which C⁻¹ = √D⁻¹ is known; drift += ∑ Sᵀ f · k.
CAL_WIDE static void root_rows(double* restrict y, int rows, int degrees, const double* restrict root,
                               const double* restrict kept, double* restrict drift) {
    for (int r = 0; r < rows; r++, y += degrees) {
        drift[r] += dot(y, kept, degrees);
        for (int k = 0; k < degrees; k++) y[k] *= root[k];
    }
}

// Of joints whose factors are read in place: D⁻¹ and k of those that rows pass, from an execution with which they did not go.
CAL_DEVICE static void gather_joints(cal_constraints* set, int constraint) {
    const cal_mass_factor* tree = &set->tree;
    const size_t width = (size_t)tree->given->layout->width;
    double *over = set->joint_over + set->degree_start[constraint],
           *kept = set->joint_kept + set->degree_start[constraint];
    const int32_t* nodes = set->support + set->support_start[constraint];
    for (int i = 0; i < set->support_start[constraint + 1] - set->support_start[constraint]; i++) {
        const cal_joint_numbers* joint = &tree->joints[nodes[i]];
        over[i] = joint->response[CAL_ABA_OVER * width];
        kept[i] = joint->record[CAL_ABA_K * width];
    }
}

// What rows accelerate by if all q̈ were zero.
CAL_DEVICE static void begin_drift(cal_constraints* set, int first, int end) {
    double a[CAL_ROW_NODES][6] = {{0.0}};
    int found[CAL_ROW_NODES] = {-1, -1, -1, -1};
    for (int i = first; i < end; i++) {
        const cal_row* row = &set->rows[i];
        set->drift[i] = row->bias;
        for (int k = 0; k < row->node_count; k++) {
            if (found[k] != row->node[k]) cal_mass_factor_lent_accelerations(&set->tree, row->node[k], a[k]);
            found[k] = row->node[k];
            set->drift[i] += cal_dot3(row->moment[k], a[k]) + cal_dot3(row->force[k], a[k] + 3);
        }
    }
}

// y of a constraint that is in no pack.
CAL_DEVICE static void take_single(cal_constraints* set, int place) {
    const int constraint = set->order[place], first = set->support_start[constraint], rows = cal_row_total(set, place);
    double* y = set->y + set->y_start[constraint];
    size_rows(set, set->first_row[place], set->first_row[place + 1]);
    if (!set->rode)
        cal_mass_factor_inbound(&set->tree, set->variant, set->rows + set->first_row[place], rows, set->support + first,
                                set->support_start[constraint + 1] - first, y, (size_t)set->degrees[constraint]);
    if (!set->tree.given) return;
    const size_t degree = set->degree_start[constraint];
    if (!set->rode) {
        gather_joints(set, constraint);
        root_joints(set->joint_over + degree, set->degrees[constraint]);
    }
    begin_drift(set, set->first_row[place], set->first_row[place + 1]);
    root_rows(y, rows, set->degrees[constraint], set->joint_over + degree, set->joint_kept + degree,
              set->drift + set->first_row[place]);
}

// --- Parts of the work -----------------------------------------------------------------------------------------------------
// A worker's part: rows of its share of the places, or its chains. Without borders chains need not wait for each other.

CAL_DEVICE static int first_chain(const cal_constraints* set, const cal_worker* worker, int index) {
    return worker->count > 1 ? set->chains_of_worker[index] : index * set->chain_count;
}

// Of a worker's chains those that are borders, or the others.
#define CAL_EACH_CHAIN(set, worker, borders, chain)                                                                    \
    for (const cal_chain* chain = (set)->chains + first_chain(set, worker, (worker)->index);                           \
         chain < (set)->chains + first_chain(set, worker, (worker)->index + 1); chain++)                               \
        if (chain->is_border == (borders))

CAL_DEVICE static void meet_at_borders(const cal_constraints* set, cal_worker* worker) {
    if (set->border_count > 0) cal_worker_meet(worker);
}

// The first of the constraints in no pack that is at a place, or after it.
CAL_DEVICE static int find_single(const cal_constraints* set, int place) {
    int low = 0, high = set->single_count;
    if (place == 0) return 0;
    if (place == set->model->constraint_count) return high;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (set->singles[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Those of a border pass trees that others do, whose numbers on the way are in one place.
CAL_DEVICE static void take_singles(cal_constraints* set, cal_worker* worker, bool borders) {
    CAL_EACH_CHAIN(set, worker, borders, chain) {
        const int first = find_single(set, chain->first), end = find_single(set, chain->end);
        for (int i = first; i < end; i++) take_single(set, set->singles[i]);
        square_singles(set, first, end, set->work);
    }
}

CAL_EVERYWHERE double cal_matrix_make_part(cal_constraints* set, cal_worker* worker) {
    const int first = cal_first_place(set, worker, worker->index),
              end = cal_first_place(set, worker, worker->index + 1);
#ifndef CAL_THREAD_PER_LANE // which has one constraint at a time
    const cal_pack_inbound_rows packed = {set->y, set->work, set->nearness, set->drift, set->length};
    for (int i = cal_worker_first(worker, worker->index, set->pack_count),
             after = cal_worker_first(worker, worker->index + 1, set->pack_count);
         i < after; i++)
        cal_pack_inbound(&set->packs[i], set->variant, &set->tree, &packed);
#endif
    if (set->single_count > 0) {
        take_singles(set, worker, false);
        meet_at_borders(set, worker);
        if (set->border_count > 0) take_singles(set, worker, true);
    }
    cal_worker_meet(worker);
    double easiest = divide_places(set, set->work, first, end);
    cal_worker_largest(worker, &easiest, 1);
    const bool immovable = weigh_places(set, set->work, NULL, easiest, first, end);
    scale_singles(set, find_single(set, first), find_single(set, end));
    if (immovable) drop_immovable(set, first, end);
    if (worker->index == 0) set->easiest = easiest;
    return easiest;
}

#ifndef CAL_THREAD_PER_LANE
static void make_shared(void* set, cal_worker* worker) { (void)cal_matrix_make_part(set, worker); }
#endif

CAL_EVERYWHERE void cal_matrix_make(cal_constraints* set) {
    if (set->loops) return;
    cal_directions_lose(set);
    cal_constraints_factor_mass(set);
    CAL_SHARE_WORK(set, CAL_WORK_MAKE, make_shared, cal_matrix_make_part);
}

// The triangle of columns of `length` each, by Gram and Schmidt's method, modified: its R has the digits of one by rotations or
// reflections (Björck 1967), and it costs two sums of products per pair of columns. The columns are used up. R: rows, one after the other.
CAL_WIDE static void make_corner(double* columns, int count, int length, double* R) {
    for (int j = 0; j < count; j++) {
        double* own = columns + (size_t)j * (size_t)length;
        const double size = sqrt(dot(own, own, length)), over = size > 0.0 ? 1.0 / size : 0.0;
        R[j * count + j] = size;
        for (int k = 0; k < length; k++) own[k] *= over;
        for (int l = j + 1; l < count; l++) {
            double* other = columns + (size_t)l * (size_t)length;
            const double part = R[j * count + l] = dot(own, other, length);
            for (int k = 0; k < length; k++) other[k] -= part * own[k];
        }
    }
}

// What joints feel that no other constraint's forces pass, where that is more than there are rows: first a triangle of its own.
CAL_DEVICE static void add_reduced(cal_constraints* set, cal_skyline* triangle, int worker, int place) {
    const int constraint = set->order[place], first = set->first_line[place], rows = cal_row_total(set, place);
    double* columns = set->columns + (size_t)worker * set->columns_size;
    const int32_t* alone = set->alone + set->alone_start[constraint];
    const int length = (int)(set->alone_start[constraint + 1] - set->alone_start[constraint]);
    double corner[CAL_CONSTRAINT_ROWS * CAL_CONSTRAINT_ROWS];
    for (int r = 0; r < rows; r++) {
        int count;
        const double* y = row_y(set, place, r, &count);
        double* column = columns + (size_t)r * (size_t)length;
        if (length == count)
            memcpy(column, y, (size_t)count * sizeof *y);
        else
            for (int k = 0; k < length; k++) column[k] = y[alone[k]];
    }
    make_corner(columns, rows, length, corner);
    for (int k = 0; k < rows; k++) {
        double* row = cal_skyline_begin_row(triangle, first);
        for (int r = k; r < rows; r++) row[r] = corner[k * rows + r];
    }
}

// Rows of the front that begin with a place.
CAL_DEVICE static void add_front(const cal_constraints* set, cal_skyline* triangle, int place) {
    const cal_front_rows* f = &set->front_rows;
    for (int i = f->row_start[place]; i < f->row_start[place + 1]; i++) {
        double* row = cal_skyline_begin_row(triangle, set->first_line[place]);
        for (const cal_front_piece* p = f->pieces + f->piece_start[i]; p < f->pieces + f->piece_start[i + 1]; p++) {
            const double* y = set->y + p->y;
            if (p->count == 2) // as pins in a plane have
                row[p->column] = *y, row[p->column + 1] = y[p->stride];
            else if (p->count == 1) // and distances
                row[p->column] = *y;
            else
                for (int r = 0; r < p->count; r++, y += p->stride) row[p->column + r] = *y;
        }
    }
}

// How much must be left of rows: more than the shift's root, and than the rounding of y, which does not become less with y.
CAL_WIDE static void demand_rows(const double* restrict ease, const double* restrict noise, double easiest,
                                 double shift, int count, double* restrict least) {
    for (int i = 0; i < count; i++) {
        const double beside = CAL_ROW_ROUNDING * easiest / ease[i], rounding = noise[i] > beside ? noise[i] : beside;
        const double more = rounding > shift ? rounding : shift;
        least[i] = ease[i] > 0.0 ? more : 1.0;
    }
}

// What the far half has left of a border's columns.
CAL_DEVICE static void add_copies(const cal_constraints* set, cal_skyline* triangle, const cal_chain* border,
                                  int place) {
    const int line = set->first_line[place], copies = line - border->line + (border - 2)->copies;
    for (int i = copies; i < copies + cal_row_total(set, place); i++) {
        const double* from = triangle->root + triangle->start[i];
        if (from[i - copies] == 0.0) continue;
        double* row = cal_skyline_begin_row(triangle, line);
        memcpy(row, from, (size_t)(triangle->last[i] - copies + 1) * sizeof *row);
    }
}

// What is left of a border's rows beside both halves is less than beside the rows before it in one chain. Of n constraints in a row that have half
// of what they hold in common with each of their neighbours, the determinant is that of the matrix (−1 2 −1), n + 1. Eliminated from one end the last
// pivot is (n + 1) / n of them, and from both ends (n + 1) / ((a + 1) (b + 1)), where halves have a and b: smaller by
//
//     w = (a + 1) (b + 1) / n
//
// So that how near a place is to a singular one (cal_constraints_distance) does not depend on whether a chain is cut, the square of what is left of a
// row counts w times, but no more than what is left beside one half alone: of that elimination has left something, of the other one y is there.
typedef struct halves {
    int rows;
    double beside[2][CAL_CONSTRAINT_ROWS]
                 [CAL_CONSTRAINT_ROWS]; // products of the rows beside the near half, and the far one
} halves;

// Before a place of a border is eliminated.
CAL_DEVICE static void multiply_halves(const cal_constraints* set, const cal_skyline* triangle, const cal_chain* border,
                                       int place, halves* out) {
    const int line = set->first_line[place], copies = line - border->line + (border - 2)->copies;
    const int8_t* side = set->side + set->degree_start[set->order[place]];
    out->rows = cal_row_total(set, place);
    for (int r = 0; r < out->rows; r++)
        for (int s = 0; s < out->rows; s++) {
            int count;
            const double *y = row_y(set, place, r, &count), *z = row_y(set, place, s, &count);
            double near = 0.0, far = 0.0;
            for (int k = 0; k < count; k++) {
                near += side[k] == CAL_SIDE_NEAR ? 0.0 : y[k] * z[k];
                far += side[k] == CAL_SIDE_FAR ? 0.0 : y[k] * z[k];
            }
            for (int i = 0; i < out->rows; i++) {
                const double *of_near = triangle->root + triangle->start[line + i],
                             *of_far = triangle->root + triangle->start[copies + i];
                near += of_near[r] * of_near[s], far += of_far[r] * of_far[s];
            }
            out->beside[0][r][s] = near, out->beside[1][r][s] = far;
        }
}

// After it: left ← as above, the rows in the order of their pivots.
CAL_DEVICE static void compare_halves(const cal_skyline* triangle, const cal_chain* border, int line, halves* h,
                                      double* left) {
    const double a = (border - 1)->end - (border - 1)->first, b = (border - 2)->end - (border - 2)->first;
    const double w = (a + 1.0) * (b + 1.0) / (a + b + 1.0);
    for (int k = 0; k < h->rows; k++) {
        const int c = triangle->column[line + k] - line;
        const double own = triangle->left[line + c];
        const double one = fmin(fmin(h->beside[0][c][c], h->beside[1][c][c]), w * own * own);
        left[c] = own > 0.0 && one > own * own ? sqrt(one) : own;
        for (int half = 0; half < 2; half++) {
            double(*m)[CAL_CONSTRAINT_ROWS] = h->beside[half];
            const double over = own > 0.0 && m[c][c] > 0.0 ? 1.0 / m[c][c] : 0.0;
            for (int i = 0; i < h->rows; i++) {
                const double factor = i == c ? 0.0 : m[i][c] * over;
                for (int j = 0; j < h->rows; j++) m[i][j] -= factor * m[c][j];
            }
        }
    }
}

CAL_DEVICE static void factor_chain(cal_constraints* set, const cal_chain* chain, int worker) {
    cal_skyline triangle = set->matrix;
    triangle.front += (size_t)worker * cal_skyline_front_size(triangle.stride);
    triangle.row += (size_t)worker * (size_t)triangle.count;
    // A border's lines are cleared with those that come before them: what these leave is there.
    const cal_chain* border = chain->border < 0 ? NULL : &set->chains[chain->border];
    const int after = !border              ? chain->line_end
                      : chain->copies >= 0 ? chain->copies + border->line_end - border->line
                                           : border->line_end;
    if (!chain->is_border) cal_skyline_clear(&triangle, chain->line, after);
    for (int place = chain->first; place < chain->end; place++) {
        const int first = set->first_row[place], line = set->first_line[place], rows = cal_row_total(set, place);
        halves beside;
        if (rows == 0) continue;
        if (chain->is_border) multiply_halves(set, &triangle, chain, place, &beside);
        if (cal_front_rows_reduce(set, place)) add_reduced(set, &triangle, worker, place);
        add_front(set, &triangle, place);
        if (chain->is_border) add_copies(set, &triangle, chain, place);
        // Rows that can hardly be moved come last: what they hold follows from others as a rule.
        const cal_skyline_choice how = {set->nearness + first, set->least + first};
        (void)cal_skyline_reveal(&triangle, line, rows, &how);
        if (chain->is_border)
            compare_halves(&triangle, chain, line, &beside, set->left + first);
        else
            memcpy(set->left + first, triangle.left + line, (size_t)rows * sizeof(double));
    }
}

CAL_EVERYWHERE void cal_matrix_factor_part(cal_constraints* set, double easiest, double shift, cal_worker* worker) {
    const int first = set->first_row[cal_first_place(set, worker, worker->index)],
              end = set->first_row[cal_first_place(set, worker, worker->index + 1)];
    demand_rows(set->ease + first, set->noise + first, easiest, shift, end - first, set->least + first);
    cal_worker_meet(worker);
    CAL_EACH_CHAIN(set, worker, false, chain) factor_chain(set, chain, worker->index);
    cal_worker_meet(worker);
    if (set->border_count > 0) {
        CAL_EACH_CHAIN(set, worker, true, chain) factor_chain(set, chain, worker->index);
        cal_worker_meet(worker);
    }
    if (worker->index == 0) count_rank(set);
}

#ifndef CAL_THREAD_PER_LANE
typedef struct factoring {
    cal_constraints* set;
    double shift;
} factoring;
static void factor_shared(void* argument, cal_worker* worker) {
    const factoring* f = argument;
    cal_matrix_factor_part(f->set, f->set->easiest, f->shift, worker);
}
#endif

CAL_EVERYWHERE void cal_matrix_factor(cal_constraints* set, double shift) {
#ifndef CAL_THREAD_PER_LANE
    if (set->loops) {
        factor_loops(set, shift);
        return;
    }
    factoring work = {set, shift};
    cal_workers_run(&set->workers, &set->paces[CAL_WORK_FACTOR], factor_shared, &work);
#else
    cal_worker alone = CAL_ALONE_WORKER;
    cal_matrix_factor_part(set, set->easiest, shift, &alone);
#endif
}
