// Solutions with the triangle of a set of constraints (constraint_matrix.h). Compiled for the host (constraint_matrix.c) and for devices.
#pragma once
#include "constraint/triangle_body.h"

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

// set->effort += Y x of a chain; where one constraint has all degrees of freedom, it is that.
CAL_WIDE static void add_efforts(cal_constraints* set, const cal_chain* chain, const double* x) {
    const bool fills = cal_matrix_fills(set);
    for (int place = chain->first; place < chain->end; place++) {
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

// out ← Yᵀ set->effort of a chain
CAL_WIDE static void feel_efforts(const cal_constraints* set, const cal_chain* chain, double* out) {
    for (int place = chain->first; place < chain->end; place++) {
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
CAL_DEVICE static double largest_kept(const cal_constraints* set, int first, int end, const double* values) {
    double out = 0.0;
    for (int i = first; i < end; i++)
        if (set->left[i] > 0.0 && fabs(values[i]) > out) out = fabs(values[i]);
    return out;
}

CAL_DEVICE static void put_lines(const cal_constraints* set, const cal_chain* chain, const double* x) {
    const size_t count = (size_t)(chain->line_end - chain->line);
    memcpy(set->by_line + chain->line, x + set->first_row[chain->first], count * sizeof *x);
}

CAL_DEVICE static void take_lines(const cal_constraints* set, const cal_chain* chain, double* x) {
    const size_t count = (size_t)(chain->line_end - chain->line);
    memcpy(x + set->first_row[chain->first], set->by_line + chain->line, count * sizeof *x);
}

// x ← (Rᵀ R)⁻¹ x, or what cal_skyline_backward says of dropped rows, of a worker's chains.
CAL_DEVICE static void solve_chains(cal_constraints* set, double* x, bool of_dropped, cal_worker* worker) {
    const cal_skyline* m = &set->matrix;
    double* lines = set->by_line;
    const bool cut = set->border_count > 0;
    CAL_EACH_CHAIN(set, worker, false, chain) {
        put_lines(set, chain, x);
        if (chain->border >= 0) { // the border's own lines follow the near half: they come with it
            const cal_chain* border = &set->chains[chain->border];
            if (chain->copies < 0)
                put_lines(set, border, x);
            else
                memset(lines + chain->copies, 0, (size_t)(border->line_end - border->line) * sizeof *lines);
        }
        cal_skyline_forward(m, lines, chain->line, chain->line_end);
        if (cut) continue;
        cal_skyline_backward(m, lines, chain->line, chain->line_end, of_dropped);
        take_lines(set, chain, x);
    }
    if (!cut) return;
    cal_worker_meet(worker);
    CAL_EACH_CHAIN(set, worker, true, chain) {
        double* copies = lines + (chain - 2)->copies;
        const int count = chain->line_end - chain->line;
        for (int i = 0; i < count; i++) lines[chain->line + i] += copies[i];
        cal_skyline_forward(m, lines, chain->line, chain->line_end);
        cal_skyline_backward(m, lines, chain->line, chain->line_end, of_dropped);
        memcpy(copies, lines + chain->line, (size_t)count * sizeof *copies);
        take_lines(set, chain, x);
    }
    cal_worker_meet(worker);
    CAL_EACH_CHAIN(set, worker, false, chain) {
        cal_skyline_backward(m, lines, chain->line, chain->line_end, of_dropped);
        take_lines(set, chain, x);
    }
}

// set->effort ← Y x, set->rest ← Yᵀ of that, of a worker's chains, whose x is there; effort is zero. A border's constraints pass the others' trees, and
// are added after them.
CAL_DEVICE static void apply_chains(cal_constraints* set, const double* x, bool feels, cal_worker* worker) {
    const bool cut = set->border_count > 0;
    CAL_EACH_CHAIN(set, worker, false, chain) {
        add_efforts(set, chain, x);
        if (!cut && feels) feel_efforts(set, chain, set->rest);
    }
    if (!cut) return;
    cal_worker_meet(worker);
    CAL_EACH_CHAIN(set, worker, true, chain) add_efforts(set, chain, x);
    if (!feels) return;
    cal_worker_meet(worker);
    for (int borders = 0; borders < 2; borders++)
        CAL_EACH_CHAIN(set, worker, borders == 1, chain) feel_efforts(set, chain, set->rest);
}

CAL_DEVICE static void clear_efforts(cal_constraints* set, const cal_worker* worker) {
    const int first = cal_worker_first(worker, worker->index, set->model->v_count),
              end = cal_worker_first(worker, worker->index + 1, set->model->v_count);
    memset(set->effort + first, 0, (size_t)(end - first) * sizeof(double));
}

// Rows of a worker's chains: they follow each other.
CAL_DEVICE static int first_chain_row(const cal_constraints* set, const cal_worker* worker, int index) {
    const int chain = first_chain(set, worker, index);
    return chain < set->chain_count ? set->first_row[set->chains[chain].first] : set->row_count;
}

CAL_EVERYWHERE void cal_matrix_solve_part(cal_constraints* set, cal_worker* worker) {
    const int first = first_chain_row(set, worker, worker->index),
              end = first_chain_row(set, worker, worker->index + 1);
    double *x = set->lambda, *r = set->work, *product = set->rest;
    for (int i = first; i < end; i++) r[i] = set->right[i] *= set->scale[i], x[i] = 0.0;
    double before = largest_kept(set, first, end, r);
    cal_worker_largest(worker, &before, 1);
    const double negligible = REFINED * before;
    if (!(before > negligible)) clear_efforts(set, worker);
    for (int k = 0; k < MOST_REFINEMENTS && before > negligible; k++) {
        if (!cal_matrix_fills(set)) clear_efforts(set, worker);
        solve_chains(set, r, false, worker);
        for (int i = first; i < end; i++) x[i] += r[i];
        if (set->border_count == 0) cal_worker_meet(worker); // as those at borders: efforts are zero
        apply_chains(set, x, true, worker);
        for (int i = first; i < end; i++) r[i] = set->right[i] - product[i];
        double now = largest_kept(set, first, end, r);
        cal_worker_largest(worker, &now, 1);
        // What does not become smaller is rounding.
        if (!(now < 0.5 * before)) break;
        before = now;
    }
    for (int i = first; i < end; i++) set->unknown[i] = x[i], x[i] *= set->scale[i];
}

#ifndef CAL_THREAD_PER_LANE
static void solve_shared(void* set, cal_worker* worker) { cal_matrix_solve_part(set, worker); }
#endif

CAL_EVERYWHERE void cal_matrix_solve(cal_constraints* set) {
#ifndef CAL_THREAD_PER_LANE
    if (set->loops) {
        solve_loops(set, false);
        return;
    }
#endif
    CAL_SHARE_WORK(set, CAL_WORK_SOLVE, solve_shared, cal_matrix_solve_part);
}

CAL_EVERYWHERE void cal_matrix_depend(cal_constraints* set, double* x) {
    cal_worker alone = CAL_ALONE_WORKER;
    solve_chains(set, x, true, &alone);
}

CAL_EVERYWHERE void cal_matrix_find_change(cal_constraints* set) {
    if (!set->loops && !cal_directions_find_change(set)) cal_mass_factor_outbound(&set->tree, set->effort, set->change);
}

CAL_DEVICE static void correct_part(cal_constraints* set, cal_worker* worker) {
    if (!cal_matrix_fills(set)) clear_efforts(set, worker);
    solve_chains(set, set->right, false, worker);
    if (set->border_count == 0) cal_worker_meet(worker);
    apply_chains(set, set->right, false, worker);
}

#ifndef CAL_THREAD_PER_LANE
static void correct_shared(void* set, cal_worker* worker) { correct_part(set, worker); }
#endif

CAL_EVERYWHERE void cal_matrix_correct(cal_constraints* set) {
#ifndef CAL_THREAD_PER_LANE
    if (set->loops) {
        solve_loops(set, false);
        return;
    }
#endif
    CAL_SHARE_WORK(set, CAL_WORK_SOLVE, correct_shared, correct_part);
    cal_mass_factor_outbound(&set->tree, set->effort, set->change);
}
