// Loops: constraints as columns of elements.
//
// A row (constraint_rows.h) is a force of known direction on a few nodes, and an equation on their accelerations. On each of
// its nodes' ports it is a massless element, I = p = 0, E the row's wrench there, c the row's share of the acceleration at
// q̈ = 0; elements that have columns of one row in common add them up when they are joined. On the ground nothing but rows is
// left, and (B) of assembly.c is
//
//     Λ λ = −c                 the paper's Γ, for all loops at once
//
// Λ is positive semidefinite. It is factored with diagonal pivots, Λ = G Gᵀ with G of full rank; pivots that are rounding are
// rows that depend on others. Then λ = G (Gᵀ G)⁻² Gᵀ (−c) has the least norm of all solutions where there are several (a
// hyperstatic mechanism: its motion is unique, its forces are not); and where even that leaves Λ λ + c ≠ 0 no motion keeps
// all constraints: the one that is missed most is named.
#include "pass/assembly.h"

#include "base/memory.h"
#include "pass/constraint_rows.h"

#include <math.h>
#include <string.h>

// Pivots below this part of the largest diagonal are rounding; misses above that part of what was asked for are not.
static const double RANK = 1e-10, MISS = 1e-3;

struct cal_loop_work {
    cal_node_motion* motions; // of the model's nodes: those with ports are filled in
    double *q, *v;            // the user's order: those of coupled joints are filled in
    double *matrix, *factor, *square, *vector;
    int32_t* order;
};

void cal_loop_work_destroy(struct cal_loop_work* work) {
    if (!work) return;
    void* arrays[] = {work->motions, work->q,      work->v,      work->matrix,
                      work->factor,  work->square, work->vector, work->order};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(work);
}

struct cal_loop_work* cal_loop_work_create(const cal_schedule* schedule) {
    const cal_model* model = schedule->model;
    struct cal_loop_work* work = cal_allocate(1, sizeof *work);
    if (!work) return NULL;
    size_t rows = 1;
    for (int i = 0; i < schedule->root_count; i++)
        if ((size_t)schedule->elements[schedule->roots[i]].columns > rows)
            rows = (size_t)schedule->elements[schedule->roots[i]].columns;
    work->motions = cal_allocate((size_t)model->node_count, sizeof *work->motions);
    work->q = cal_allocate((size_t)model->q_count, sizeof(double));
    work->v = cal_allocate((size_t)model->v_count, sizeof(double));
    work->matrix = cal_allocate(rows * rows, sizeof(double));
    work->factor = cal_allocate(rows * rows, sizeof(double));
    work->square = cal_allocate(rows * rows, sizeof(double));
    work->vector = cal_allocate(3 * rows, sizeof(double));
    work->order = cal_allocate(rows, sizeof *work->order);
    if (work->motions && work->q && work->v && work->matrix && work->factor && work->square && work->vector &&
        work->order)
        return work;
    cal_loop_work_destroy(work);
    return NULL;
}

void cal_loops_begin(const cal_context* context) {
    struct cal_loop_work* work = cal_assembly_of(context)->loop_work;
    if (!work) return;
    const cal_model* model = cal_assembly_of(context)->schedule->model;
    for (int c = 0; c < model->constraint_count; c++)
        for (int i = 0; i < 2 && model->constraints[c].kind == CAL_COUPLING; i++) {
            if (model->constraints[c].joint[i] < 0) continue;
            const cal_joint* joint = &model->joints[model->constraints[c].joint[i]];
            work->q[joint->first_q] = context->y[context->layout->q_position[joint->first_q]];
            work->v[joint->first_v] = context->y[context->layout->v_position[joint->first_v]];
        }
}

void cal_loops_place(const cal_context* context, const cal_element* rows) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_placing* base = (const cal_placing*)(assembly->numbers + rows->motion);
    cal_node_motion* out = &assembly->loop_work->motions[assembly->schedule->ports[rows->index].original];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) out->rotation[3 * i + k] = base->rotation[3 * k + i];
        out->origin[i] = base->position[i];
        out->angular[i] = base->angular[i];
        out->linear[i] = base->linear[i];
    }
}

static bool is_active(const cal_assembly* assembly, int constraint) {
    if (!assembly->hold.held) return false;
    return assembly->hold.active ? assembly->hold.active[constraint]
                                 : !assembly->schedule->model->constraints[constraint].inactive;
}

void cal_loops_fill(const cal_context* context, int index) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* s = assembly->schedule;
    const cal_element* e = &s->elements[index];
    const struct cal_loop_work* work = assembly->loop_work;
    const cal_placing* base = (const cal_placing*)(assembly->numbers + e->motion);
    const int node = s->ports[e->index].original;
    const size_t k = (size_t)e->columns;
    double* numbers = assembly->numbers + e->numbers;
    double *E = numbers + CAL_ELEMENT_COLUMNS, *c = E + 6 * k;
    memset(numbers, 0, (CAL_ELEMENT_COLUMNS + 7 * k + k * (k + 1) / 2) * sizeof *numbers);
    double pull[3];
    for (int i = 0; i < 3; i++) pull[i] = base->pulling[i] + s->model->gravity[i];
    for (int n = 0; n < e->name_count; n++) {
        const int constraint = s->names[e->first_name + n];
        cal_row rows[CAL_CONSTRAINT_ROWS];
        int32_t touched[8];
        const int count = cal_constraint_rows(&s->model->constraints[constraint], NULL);
        if (is_active(assembly, constraint)) {
            cal_schedule_touched(s->model, constraint, touched);
            cal_constraint_make_rows(s->model, constraint, 0.0, work->motions, work->q, work->v, rows);
            for (int i = 0; i < count; i++) {
                const cal_row* row = &rows[i];
                // What belongs to the row as a whole is added at the first of its nodes.
                if (touched[0] == node)
                    c[i] = row->bias + (row->holonomic
                                            ? assembly->hold.speed * row->speed + assembly->hold.error * row->error
                                            : assembly->hold.slips * row->speed);
                for (int m = 0; m < row->node_count; m++) {
                    if (row->node[m] != node) continue;
                    memcpy(E + 6 * i, row->moment[m], sizeof row->moment[m]);
                    memcpy(E + 6 * i + 3, row->force[m], sizeof row->force[m]);
                    c[i] += cal_dot3(row->moment[m], base->turning) + cal_dot3(row->force[m], pull);
                }
            }
        }
        E += 6 * count;
        c += count;
    }
}

// --- Multipliers ------------------------------------------------------------------------------------------------------------

// Λ = G Gᵀ, G by columns; returns its rank. matrix is consumed; rows are taken in the order of their pivots.
static int factorize(double* matrix, int count, double* G) {
    double largest = 0.0;
    int rank = 0;
    for (int i = 0; i < count; i++) largest = fmax(largest, matrix[i * count + i]);
    for (; rank < count; rank++) {
        int best = 0;
        for (int i = 1; i < count; i++)
            if (matrix[i * count + i] > matrix[best * count + best]) best = i;
        const double pivot = matrix[best * count + best];
        if (!(pivot > RANK * largest)) break;
        const double root = sqrt(pivot);
        double* column = G + (size_t)rank * (size_t)count;
        for (int i = 0; i < count; i++) column[i] = matrix[i * count + best] / root;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++) matrix[i * count + j] -= column[i] * column[j];
        for (int i = 0; i < count; i++) matrix[i * count + best] = matrix[best * count + i] = 0.0;
    }
    return rank;
}

// x ← (L Lᵀ)⁻¹ x; the first call factors the matrix in place.
static void solve(double* m, int n, double* x, bool factor) {
    for (int i = 0; factor && i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = m[i * n + j];
            for (int k = 0; k < j; k++) sum -= m[i * n + k] * m[j * n + k];
            m[i * n + j] = i == j ? sqrt(sum) : sum / m[j * n + j];
        }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= m[i * n + k] * x[k];
        x[i] /= m[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) x[i] -= m[k * n + i] * x[k];
        x[i] /= m[i * n + i];
    }
}

// The constraint of one of an element's rows.
static int name_of(const cal_schedule* s, const cal_element* e, int row) {
    for (int i = 0; i < e->name_count; i++) {
        const int constraint = s->names[e->first_name + i];
        row -= cal_constraint_rows(&s->model->constraints[constraint], NULL);
        if (row < 0) return constraint;
    }
    return CAL_NONE;
}

void cal_loops_solve(const cal_context* context, int index) {
    cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* s = assembly->schedule;
    const cal_element* e = &s->elements[index];
    const struct cal_loop_work* work = assembly->loop_work;
    const int count = e->columns;
    const size_t k = (size_t)count;
    const double *c = assembly->numbers + e->numbers + CAL_ELEMENT_COLUMNS + 6 * k, *L = c + k;
    double *lambda = assembly->numbers + e->force, *G = work->factor, *right = work->vector;
    if (!assembly->hold.held) {
        memset(lambda, 0, k * sizeof *lambda);
        return;
    }
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) work->matrix[i * k + j] = L[cal_packed(i, j)];
    const int rank = factorize(work->matrix, count, G);
    for (int i = 0; i < rank; i++) {
        right[i] = 0.0;
        for (int r = 0; r < count; r++) right[i] -= G[i * count + r] * c[r];
        for (int j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int r = 0; r < count; r++) sum += G[i * count + r] * G[j * count + r];
            work->square[i * rank + j] = work->square[j * rank + i] = sum;
        }
    }
    solve(work->square, rank, right, true);
    solve(work->square, rank, right, false);
    double asked = 0.0, missed = 0.0;
    int worst = 0;
    for (int r = 0; r < count; r++) {
        lambda[r] = 0.0;
        for (int i = 0; i < rank; i++) lambda[r] += G[i * count + r] * right[i];
        asked = fmax(asked, fabs(c[r]));
    }
    for (int r = 0; r < count; r++) {
        double miss = c[r];
        for (int i = 0; i < count; i++) miss += L[cal_packed((size_t)r, (size_t)i)] * lambda[i];
        if (fabs(miss) > missed) missed = fabs(miss), worst = r;
    }
    if (missed > MISS * (1.0 + asked)) *context->unmet = name_of(s, e, worst);
}
