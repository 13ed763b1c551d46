// Loops: constraints as columns of elements.
//
// A row (constraint_rows.h) is a force of known direction on a few nodes, and an equation on their accelerations. On each of
// its nodes' ports it is a massless element, I = p = 0, E the row's wrench there, c the row's share of the acceleration at
// q̈ = 0; elements that have columns of one row in common add them up when they are joined. On the ground nothing but rows is
// left, and (B) of assembly.c is
//
//     Λ λ = −c                 the paper's Γ, for all loops at once
//
// Λ is positive semidefinite. It is factored with diagonal pivots of rows of size one, √Λ_ii = 1, which no unit and no mass changes. Pivots that are rounding
// are rows that depend on others, and hold nothing (a hyperstatic mechanism: its motion is unique, its forces are not); so is a Λ_ii that is rounding, of a row
// that nothing can move (row_rounding.h). Where that leaves Λ λ + c ≠ 0 no motion keeps all constraints: the one that is missed most is named.
//
// Λ is the square of Y of constraint/constraint.h, and so has half of its digits where rows nearly depend on each other: who simulates finds λ there.
#include "pass/assembly.h"

#include "base/memory.h"
#include "pass/constraint_rows.h"
#include "pass/row_rounding.h"

#include <math.h>
#include <string.h>

// Misses above this part of what was asked for are no rounding.
static const double MISS = 1e-3;

struct cal_loop_work {
    cal_node_motion* motions; // of the model's nodes: those with ports are filled in
    double *q, *v;            // the user's order: those of coupled joints are filled in
    cal_row_rounding rounding;
    double *matrix, *scale, *noise;
    int32_t* order;
};

void cal_loop_work_destroy(struct cal_loop_work* work) {
    if (!work) return;
    void* arrays[] = {work->motions, work->q, work->v, work->matrix, work->scale, work->noise, work->order};
    cal_row_rounding_destroy(&work->rounding);
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
    work->scale = cal_allocate(rows, sizeof(double));
    work->noise = cal_allocate(rows, sizeof(double));
    work->order = cal_allocate(rows, sizeof *work->order);
    if (work->motions && work->q && work->v && work->matrix && work->scale && work->noise && work->order &&
        cal_row_rounding_create(model, 1.0, 1.0, NULL, &work->rounding))
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
    return assembly->hold.held && !assembly->schedule->model->constraints[constraint].inactive;
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
                    c[i] = row->bias + assembly->hold.speed * row->speed +
                           (row->holonomic ? assembly->hold.error * row->error : 0.0);
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

// Where a node's tree stands on the ground.
static const double* base_of_tree(const cal_model* model, int node) {
    while (model->nodes[node].parent >= 0) node = model->nodes[node].parent;
    return model->nodes[node].offset;
}

// What of each Λ_ii is rounding; of rows of an element on the ground, one constraint after the other.
static void find_noise(const cal_assembly* assembly, const cal_element* e, double* noise) {
    const cal_schedule* s = assembly->schedule;
    const struct cal_loop_work* work = assembly->loop_work;
    for (int n = 0; n < e->name_count; n++) {
        const int constraint = s->names[e->first_name + n],
                  count = cal_constraint_rows(&s->model->constraints[constraint], NULL);
        cal_row rows[CAL_CONSTRAINT_ROWS];
        memset(noise, 0, (size_t)count * sizeof *noise);
        if (is_active(assembly, constraint))
            cal_constraint_make_rows(s->model, constraint, 0.0, work->motions, work->q, work->v, rows);
        for (int i = 0; i < count && is_active(assembly, constraint); i++) {
            double reach[CAL_ROW_NODES];
            for (int k = 0; k < rows[i].node_count; k++) {
                const double *x = work->motions[rows[i].node[k]].origin,
                             *base = base_of_tree(s->model, rows[i].node[k]);
                const double apart[3] = {x[0] - base[0], x[1] - base[1], x[2] - base[2]};
                reach[k] = sqrt(cal_dot3(apart, apart));
            }
            noise[i] = cal_row_gross(&work->rounding, &rows[i], reach);
        }
        noise += count;
    }
}

// m = G Gᵀ of rows of size one, in place: of the rows order[0] … order[rank − 1], which are kept, G in their lower part; returns the rank.
static int factorize(double* m, int count, const double* noise, int32_t* order) {
    int rank = 0;
    for (int i = 0; i < count; i++) order[i] = i;
    for (; rank < count; rank++) {
        int best = -1;
        double most = 0.0;
        // Each row before it adds its rounding.
        for (int i = rank; i < count; i++) {
            const double left = m[order[i] * count + order[i]];
            if (left > (1.0 + rank) * noise[order[i]] && left > most) most = left, best = i;
        }
        if (best < 0) break;
        const int32_t pivot = order[best];
        order[best] = order[rank], order[rank] = pivot;
        const double root = sqrt(most);
        for (int i = rank; i < count; i++) m[order[i] * count + pivot] /= root;
        for (int i = rank + 1; i < count; i++)
            for (int j = rank + 1; j < count; j++)
                m[order[i] * count + order[j]] -= m[order[i] * count + pivot] * m[order[j] * count + pivot];
    }
    return rank;
}

// x ← (G Gᵀ)⁻¹ x of the rows that are kept, zero of the others.
static void solve(const double* m, int count, int rank, const int32_t* order, double* x) {
    for (int i = 0; i < rank; i++) {
        for (int k = 0; k < i; k++) x[order[i]] -= m[order[i] * count + order[k]] * x[order[k]];
        x[order[i]] /= m[order[i] * count + order[i]];
    }
    for (int i = rank; i < count; i++) x[order[i]] = 0.0;
    for (int i = rank - 1; i >= 0; i--) {
        for (int k = i + 1; k < rank; k++) x[order[i]] -= m[order[k] * count + order[i]] * x[order[k]];
        x[order[i]] /= m[order[i] * count + order[i]];
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
    double* lambda = assembly->numbers + e->force;
    if (!assembly->hold.held) {
        memset(lambda, 0, k * sizeof *lambda);
        return;
    }
    find_noise(assembly, e, work->noise);
    for (size_t i = 0; i < k; i++) {
        const double own = L[cal_packed(i, i)];
        work->scale[i] = own > work->noise[i] ? 1.0 / sqrt(own) : 0.0;
        work->noise[i] *= work->scale[i] * work->scale[i];
    }
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) work->matrix[i * k + j] = L[cal_packed(i, j)] * work->scale[i] * work->scale[j];
    const int rank = factorize(work->matrix, count, work->noise, work->order);
    for (int r = 0; r < count; r++) lambda[r] = -c[r] * work->scale[r];
    solve(work->matrix, count, rank, work->order, lambda);
    for (int r = 0; r < count; r++) lambda[r] *= work->scale[r];
    double asked = 0.0, missed = 0.0;
    int worst = 0;
    for (int r = 0; r < count; r++) asked = fmax(asked, fabs(c[r]));
    for (int r = 0; r < count; r++) {
        double miss = c[r];
        for (int i = 0; i < count; i++) miss += L[cal_packed((size_t)r, (size_t)i)] * lambda[i];
        if (fabs(miss) > missed) missed = fabs(miss), worst = r;
    }
    if (missed > MISS * (1.0 + asked)) *context->unmet = name_of(s, e, worst);
}
