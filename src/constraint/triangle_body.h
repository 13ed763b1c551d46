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
CAL_DEVICE static void find_noise(cal_constraints* set, const double* squares) {
    const double* root = set->tree.given ? NULL : set->tree.root;
    for (int place = 0; place < set->model->constraint_count; place++) {
        const double limit = set->rounding.limit[set->order[place]];
        for (int i = set->first_row[place]; i < set->first_row[place + 1]; i++) {
            set->noise[i] = 0.0;
            if (set->ease[i] > limit || !(set->ease[i] > 0.0)) continue;
            set->noise[i] = cal_row_noise(&set->rounding, &set->rows[i], -1, set->at_q, root, &set->tree) / squares[i];
        }
    }
}

// squares: of y; those of wrenches are in set->nearness. noise: of each row the part of its square that is rounding; NULL: it is to be found.
CAL_DEVICE static void weigh_rows(cal_constraints* set, const double* squares, const double* noise) {
    const int count = set->row_count;
    double easiest = 0.0;
    divide_rows(squares, set->nearness, count, set->ease, set->scale);
    for (int i = 0; i < count; i++) easiest = set->ease[i] > easiest ? set->ease[i] : easiest;
    set->easiest = easiest;
    const double least = CAL_ROW_ROUNDING * easiest;
    set->immovable = false;
    for (int i = 0; i < count; i++)
        if (!(set->ease[i] > least)) set->ease[i] = set->scale[i] = 0.0, set->immovable = true;
    if (noise)
        memcpy(set->noise, noise, (size_t)count * sizeof *noise);
    else
        find_noise(set, squares);
    for (int i = 0; i < count; i++)
        if (set->noise[i] >= 1.0) set->ease[i] = set->scale[i] = 0.0, set->immovable = true;
    for (int place = 0; place < set->model->constraint_count; place++) {
        double own[2] = {0.0, 0.0};
        const int first = set->first_row[place], end = set->first_row[place + 1];
        for (int i = first; i < end; i++) {
            double* kind = &own[set->turns[i] ? 1 : 0];
            *kind = set->ease[i] > *kind ? set->ease[i] : *kind;
        }
        for (int i = first; i < end; i++) set->nearness[i] = own[set->turns[i] ? 1 : 0];
    }
    compare_rows(set->ease, set->nearness, count);
}

CAL_EVERYWHERE double cal_constraints_margin(const cal_constraints* set) {
    double least = 1.0;
    for (int i = 0; i < set->row_count; i++) {
        const double left = set->matrix.left[i];
        if (set->scale[i] > 0.0) least = fmin(least, left * left * set->ease[i] / set->easiest);
    }
    return least;
}

CAL_EVERYWHERE double cal_constraints_distance(const cal_constraints* set) {
    double least = 1.0;
    for (int i = 0; i < set->row_count; i++) {
        const double left = set->matrix.left[i], part = left * left * set->nearness[i];
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
    const double left = set->matrix.left[row];
    return !(left > 0.0 && left * left > THRESHOLD);
}

CAL_DEVICE static void count_rank(cal_constraints* set) {
    set->rank = 0;
    for (int i = 0; i < set->row_count; i++) set->rank += cal_constraints_depends(set, i) ? 0 : 1;
}

// --- The triangle ----------------------------------------------------------------------------------------------------------

// Squares of the y of constraints that are in no pack.
CAL_WIDE static void square_singles(const cal_constraints* set, double* out) {
    for (int i = 0; i < set->single_count; i++) {
        const int place = set->singles[i];
        for (int r = 0; r < cal_row_total(set, place); r++) {
            int count;
            const double* y = row_y(set, place, r, &count);
            out[set->first_row[place] + r] = dot(y, y, count);
        }
    }
}

// Rows of packs are scaled already.
CAL_WIDE static void scale_singles(const cal_constraints* set) {
    for (int i = 0; i < set->single_count; i++)
        for (int place = set->singles[i], r = 0; r < cal_row_total(set, place); r++) {
            int count;
            double *y = row_y(set, place, r, &count), scale = set->scale[set->first_row[place] + r];
            for (int k = 0; k < count; k++) y[k] *= scale;
        }
}

// What is left of a row that nothing can move is rounding.
CAL_DEVICE static void drop_immovable(const cal_constraints* set) {
    for (int place = 0; place < set->model->constraint_count; place++)
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

CAL_EVERYWHERE void cal_matrix_make(cal_constraints* set) {
    if (set->loops) return;
    cal_directions_lose(set);
    cal_constraints_factor_mass(set);
#ifndef CAL_THREAD_PER_LANE // which has one constraint at a time
    const cal_pack_inbound_rows packed = {set->y, set->work, set->nearness, set->drift, set->length};
    for (int i = 0; i < set->pack_count; i++) cal_pack_inbound(&set->packs[i], set->variant, &set->tree, &packed);
#endif
    for (int i = 0; i < set->single_count; i++) take_single(set, set->singles[i]);
    square_singles(set, set->work);
    weigh_rows(set, set->work, NULL);
    scale_singles(set);
    if (set->immovable) drop_immovable(set);
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
CAL_DEVICE static void add_reduced(cal_constraints* set, int place) {
    const int constraint = set->order[place], first = set->first_row[place], rows = cal_row_total(set, place);
    const int32_t* alone = set->alone + set->alone_start[constraint];
    const int length = (int)(set->alone_start[constraint + 1] - set->alone_start[constraint]);
    double corner[CAL_CONSTRAINT_ROWS * CAL_CONSTRAINT_ROWS];
    for (int r = 0; r < rows; r++) {
        int count;
        const double* y = row_y(set, place, r, &count);
        double* column = set->columns + (size_t)r * (size_t)length;
        if (length == count)
            memcpy(column, y, (size_t)count * sizeof *y);
        else
            for (int k = 0; k < length; k++) column[k] = y[alone[k]];
    }
    make_corner(set->columns, rows, length, corner);
    for (int k = 0; k < rows; k++) {
        double* row = cal_skyline_begin_row(&set->matrix, first);
        for (int r = k; r < rows; r++) row[r] = corner[k * rows + r];
    }
}

// Rows of the front that begin with a place.
CAL_DEVICE static void add_front(cal_constraints* set, int place) {
    const cal_front_rows* f = &set->front_rows;
    for (int i = f->row_start[place]; i < f->row_start[place + 1]; i++) {
        double* row = cal_skyline_begin_row(&set->matrix, set->first_row[place]);
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

CAL_EVERYWHERE void cal_matrix_factor(cal_constraints* set, double shift) {
#ifndef CAL_THREAD_PER_LANE
    if (set->loops) {
        factor_loops(set, shift);
        return;
    }
#endif
    cal_skyline_clear(&set->matrix);
    demand_rows(set->ease, set->noise, set->easiest, shift, set->row_count, set->least);
    for (int place = 0; place < set->model->constraint_count; place++) {
        const int first = set->first_row[place], rows = cal_row_total(set, place);
        if (rows == 0) continue;
        if (cal_front_rows_reduce(set, place)) add_reduced(set, place);
        add_front(set, place);
        // Rows that can hardly be moved come last: what they hold follows from others as a rule.
        const cal_skyline_choice how = {set->nearness + first, set->least + first};
        (void)cal_skyline_reveal(&set->matrix, first, rows, &how);
    }
    count_rank(set);
}

// --- Solutions -------------------------------------------------------------------------------------------------------------

// Of one constraint: effort += Y x, out = Yᵀ effort. v: where its degrees of freedom are; all rows of one at a time, so that a row's sum
// waits for itself only. Along a chain they follow each other: then effort's first one is given.
// begins: effort has nothing yet.
CAL_WIDE_INLINE void add_straight_effort(const double* y, int degrees, int rows, const double* x, bool begins,
                                         double* effort) {
    for (int r = 0; r < rows; r++, y += degrees) {
        const double factor = x[r];
        if (begins && r == 0)
            for (int k = 0; k < degrees; k++) effort[k] = 0.0 + y[k] * factor;
        else
            for (int k = 0; k < degrees; k++) effort[k] += y[k] * factor;
    }
}

CAL_WIDE_INLINE void add_effort(const double* y, int degrees, int rows, const int32_t* v, const double* x,
                                double* effort) {
    for (int k = 0; k < degrees; k++) {
        double sum = effort[v[k]];
        for (int r = 0; r < rows; r++) sum += y[r * degrees + k] * x[r];
        effort[v[k]] = sum;
    }
}

CAL_WIDE_INLINE void feel_effort(const double* y, int degrees, int rows, const int32_t* v, const double* effort,
                                 double* out) {
    double sum[CAL_CONSTRAINT_ROWS] = {0.0};
    for (int k = 0; k < degrees; k++)
        for (int r = 0; r < rows; r++) sum[r] += y[r * degrees + k] * effort[v[k]];
    for (int r = 0; r < rows; r++) out[r] = sum[r];
}

// set->effort ← Y x
CAL_WIDE static void add_efforts(cal_constraints* set, const double* x) {
    const bool fills = cal_matrix_fills(set);
    if (!fills) memset(set->effort, 0, (size_t)set->model->v_count * sizeof(double));
    for (int place = 0; place < set->model->constraint_count; place++) {
        int degrees;
        const int c = set->order[place], rows = cal_row_total(set, place);
        const double *y = row_y(set, place, 0, &degrees), *own = x + set->first_row[place];
        const int32_t* v = set->degree_v + set->degree_start[c];
        if (fills || (degrees >= LONG && set->follows[c]))
            add_straight_effort(y, degrees, rows, own, fills, set->effort + *v);
        else if (rows == 2)
            add_effort(y, degrees, 2, v, own, set->effort);
        else
            add_effort(y, degrees, rows, v, own, set->effort);
    }
}

// out ← Yᵀ set->effort
CAL_WIDE static void feel_efforts(const cal_constraints* set, double* out) {
    for (int place = 0; place < set->model->constraint_count; place++) {
        int degrees;
        const int c = set->order[place], rows = cal_row_total(set, place);
        const double* y = row_y(set, place, 0, &degrees);
        const int32_t* v = set->degree_v + set->degree_start[c];
        double* own = out + set->first_row[place];
        if (degrees >= LONG && set->follows[c])
            for (int r = 0; r < rows; r++) own[r] = dot(y + (size_t)r * (size_t)degrees, set->effort + *v, degrees);
        else if (rows == 2)
            feel_effort(y, degrees, 2, v, set->effort, own);
        else
            feel_effort(y, degrees, rows, v, set->effort, own);
    }
}

// The largest of those rows that are kept.
CAL_DEVICE static double largest_kept(const cal_constraints* set, const double* values) {
    double out = 0.0;
    for (int i = 0; i < set->row_count; i++)
        if (set->matrix.left[i] > 0.0 && fabs(values[i]) > out) out = fabs(values[i]);
    return out;
}

CAL_EVERYWHERE void cal_matrix_solve(cal_constraints* set) {
#ifndef CAL_THREAD_PER_LANE
    if (set->loops) {
        solve_loops(set, false);
        return;
    }
#endif
    const int count = set->row_count;
    double *x = set->lambda, *r = set->work, *product = set->rest;
    for (int i = 0; i < count; i++) r[i] = set->right[i] *= set->scale[i], x[i] = 0.0;
    double before = largest_kept(set, r);
    const double negligible = REFINED * before;
    if (!(before > negligible)) memset(set->effort, 0, (size_t)set->model->v_count * sizeof(double));
    for (int k = 0; k < MOST_REFINEMENTS && before > negligible; k++) {
        cal_skyline_solve(&set->matrix, r);
        for (int i = 0; i < count; i++) x[i] += r[i];
        add_efforts(set, x);
        feel_efforts(set, product);
        for (int i = 0; i < count; i++) r[i] = set->right[i] - product[i];
        const double now = largest_kept(set, r);
        // What does not become smaller is rounding.
        if (!(now < 0.5 * before)) break;
        before = now;
    }
    for (int i = 0; i < count; i++) set->unknown[i] = x[i], x[i] *= set->scale[i];
}

CAL_EVERYWHERE void cal_matrix_find_change(cal_constraints* set) {
    if (!set->loops && !cal_directions_find_change(set)) cal_mass_factor_outbound(&set->tree, set->effort, set->change);
}

CAL_EVERYWHERE void cal_matrix_correct(cal_constraints* set) {
#ifndef CAL_THREAD_PER_LANE
    if (set->loops) {
        solve_loops(set, false);
        return;
    }
#endif
    cal_skyline_solve(&set->matrix, set->right);
    add_efforts(set, set->right);
    cal_mass_factor_outbound(&set->tree, set->effort, set->change);
}
