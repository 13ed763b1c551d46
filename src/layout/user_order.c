// Between the order of y-shaped vectors, which is that of columns and lanes, and the user's.
#include "layout/layout.h"

#include <math.h>
#include <string.h>

// Between the user's order, `own`, and that of y, in runs of `run` numbers, which a compiler knows.
static inline CAL_ALWAYS void copy_runs(const int32_t* position, int count, int run, bool into, double* y,
                                        double* own) {
    int i = 0;
    for (; i + run <= count; i += run) {
        double *const there = y + position[i], *const here = own + i;
        memcpy(into ? there : here, into ? here : there, (size_t)run * sizeof *y);
    }
    for (; i < count; i++)
        if (into)
            y[position[i]] = own[i];
        else
            own[i] = y[position[i]];
}
static void copy_numbers(const cal_layout* layout, const int32_t* position, int count, bool into, double* y,
                         double* own) {
    switch (layout->runs ? layout->width : 1) {
    case 4:
        if (into)
            copy_runs(position, count, 4, true, y, own);
        else
            copy_runs(position, count, 4, false, y, own);
        break;
    case 8:
        if (into)
            copy_runs(position, count, 8, true, y, own);
        else
            copy_runs(position, count, 8, false, y, own);
        break;
    default:
        if (into)
            copy_runs(position, count, 1, true, y, own);
        else
            copy_runs(position, count, 1, false, y, own);
    }
}

void cal_layout_scatter(const cal_layout* layout, int copy, const double* q, const double* v, double* y) {
    const int q_count = layout->model->q_count, v_count = layout->model->v_count;
    const int32_t* q_position = layout->q_position + (size_t)copy * (size_t)q_count;
    const int32_t* v_position = layout->v_position + (size_t)copy * (size_t)v_count;
    if (layout->keep != CAL_KEEP_ALL) {
        for (int i = 0; q && i < q_count; i++)
            if (q_position[i] >= 0) y[q_position[i]] = q[i];
        for (int i = 0; v && i < v_count; i++)
            if (v_position[i] >= 0) y[v_position[i]] = v[i];
        return;
    }
    if (q) copy_numbers(layout, q_position, q_count, true, y, (double*)q); // they are only read
    if (v) copy_numbers(layout, v_position, v_count, true, y, (double*)v);
    cal_layout_repeat_y(layout, y);
}

void cal_layout_gather(const cal_layout* layout, int copy, const double* y, double* q, double* v) {
    const int q_count = layout->model->q_count, v_count = layout->model->v_count;
    const int32_t* q_position = layout->q_position + (size_t)copy * (size_t)q_count;
    const int32_t* v_position = layout->v_position + (size_t)copy * (size_t)v_count;
    if (layout->keep != CAL_KEEP_ALL) {
        for (int i = 0; q && i < q_count; i++)
            if (q_position[i] >= 0) q[i] = y[q_position[i]];
        for (int i = 0; v && i < v_count; i++)
            if (v_position[i] >= 0) v[i] = y[v_position[i]];
        return;
    }
    if (q) copy_numbers(layout, q_position, q_count, false, (double*)y, q); // y is only read
    if (v) copy_numbers(layout, v_position, v_count, false, (double*)y, v);
}

void cal_layout_gather_column(const cal_layout* layout, const cal_column* column, const double* y, double* q,
                              double* v) {
    const int width = layout->width, q_count = cal_kind_q(column->kind), v_count = cal_kind_v(column->kind);
    if (column->repeated) return; // the first copy says it
    for (int block = column->first_block; block < column->first_block + column->block_count; block++)
        for (int lane = 0; lane < width; lane++) {
            const int32_t index = layout->block_nodes[(size_t)block * (size_t)width + (size_t)lane];
            if (index < 0) continue;
            const cal_node* node = &layout->model->nodes[index];
            const double* from = y + layout->block_y[block] + lane;
            for (int i = 0; i < q_count; i++) q[node->first_q + i] = from[i * width];
            for (int i = 0; i < v_count; i++) v[node->first_v + i] = from[(q_count + i) * width];
        }
}

void cal_layout_scatter_column(const cal_layout* layout, const cal_column* column, const double* q, const double* v,
                               double* y) {
    const int width = layout->width, q_count = cal_kind_q(column->kind), v_count = cal_kind_v(column->kind);
    for (int block = column->first_block; block < column->first_block + column->block_count; block++)
        for (int lane = 0; lane < width; lane++) {
            const int32_t index = layout->block_nodes[(size_t)block * (size_t)width + (size_t)lane];
            if (index < 0) continue;
            const cal_node* node = &layout->model->nodes[index];
            double* to = y + layout->block_y[block] + lane;
            for (int i = 0; i < q_count; i++) to[i * width] = q[node->first_q + i];
            for (int i = 0; i < v_count; i++) to[(q_count + i) * width] = v[node->first_v + i];
        }
}

int cal_layout_find_not_finite(const cal_layout* layout, int copy, const double* y, const double* ydot) {
    const cal_model* model = layout->model;
    const int32_t* q_position = layout->q_position + (size_t)copy * (size_t)model->q_count;
    const int32_t* v_position = layout->v_position + (size_t)copy * (size_t)model->v_count;
    for (int node = 0; node < model->node_count; node++) {
        const cal_node* n = &model->nodes[node];
        bool finite = true;
        if (q_position[n->first_q] < 0) continue;
        for (int i = n->first_q; i < n->first_q + cal_kind_q(n->kind); i++)
            finite = finite && isfinite(y[q_position[i]]) && isfinite(ydot[q_position[i]]);
        for (int i = n->first_v; i < n->first_v + cal_kind_v(n->kind); i++)
            finite = finite && isfinite(y[v_position[i]]) && isfinite(ydot[v_position[i]]);
        if (!finite) return node;
    }
    return -1;
}
