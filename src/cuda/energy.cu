// Energy and momentum on a device: pass/energy_body.h's mechanics, a thread per lane, in the order of the tree.
//
// Down: motions in the world; each node's own sums are kept where scratch is between evaluations, and a column's end leaves its motion
// to its children. Up: a node adds what its children have to its own, as pass/energy.c does.
#include "cuda/kernel.h"
#include "cuda/kernels.h"

#include "pass/energy_body.h" // and lanes.h for one lane
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "pass/columns.h"
#include "cuda/pull.h"

enum { SUMS = CAL_ENERGY_SUMS, MOTION = CAL_DOUBLES(cal_world_motion) };

CAL_DEVICE static inline int steps_of(const cal_column* column) {
    return column->is_long ? column->node_count : column->block_count;
}

// The node of a step, or NULL for a dead lane; kept: where its own sums are.
CAL_DEVICE static inline const cal_node* node_at(const cal_device_work* work, const cal_column* column, int step,
                                                 step_place* of, double** kept) {
    *of = find_step(column, step);
    const int node = work->layout.block_nodes[(size_t)(column->first_block + of->block) * CAL_WIDTH + (size_t)of->lane];
    *kept = work->context.scratch + column->scratch + (size_t)of->block * CAL_SCRATCH_COUNT * CAL_WIDTH + of->lane;
    return node < 0 ? NULL : &work->context.model->nodes[node];
}

CAL_KERNEL void energy_down_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    CAL_AFTER_OTHERS;
    if (is_idle(column)) return;
    const cal_context context = own_context(&work, 0);
    parent_slot slot;
    find_parent(&context, column, MOTION, &slot);
    cal_world_motion motion;
    double* numbers = (double*)&motion;
    for (int i = 0; i < MOTION; i++) numbers[i] = column->parent < 0 ? 0.0 : from_parent(&slot, i);
    for (int step = 0; step < steps_of(column); step++) {
        step_place of;
        double *kept, q[7], v[6], sums[SUMS];
        const cal_node* node = node_at(&work, column, step, &of, &kept);
        if (!node) break; // lanes die, and are not born again
        const double* y = work.out + work.layout.block_y[column->first_block + of.block] + of.lane;
        const int q_count = cal_kind_q(column->kind), v_count = cal_kind_v(column->kind);
        for (int i = 0; i < q_count; i++) q[i] = y[i * CAL_WIDTH];
        for (int i = 0; i < v_count; i++) v[i] = y[(q_count + i) * CAL_WIDTH];
        cal_world_motion own;
        cal_move_node(node, &motion, q, v, &own);
        motion = own;
        cal_node_sums(context.model, node, &motion, q, v, sums);
        for (int i = 0; i < SUMS; i++) kept[i * CAL_WIDTH] = sums[i];
    }
    if (column->child_count == 0) return;
    double* end = context.scratch + column->end_slot + own_lane(column);
    for (int i = 0; i < MOTION; i++) end[i * CAL_WIDTH] = numbers[i];
}

CAL_DEVICE static inline void add_pulls(const cal_device_work* work, int list, double* sums) {
    for (int next = work->first_pull[list]; next < work->first_pull[list + 1]; next++) {
        const double* from = work->context.scratch + work->pulls[next];
        for (int i = 0; i < SUMS; i++) sums[i] += from[i * CAL_WIDTH];
    }
}

CAL_KERNEL void energy_up_kernel(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    CAL_AFTER_OTHERS;
    if (is_idle(column)) return;
    const int own = own_lane(column);
    double sums[SUMS];
    bool begun = false;
    for (int step = steps_of(column) - 1; step >= 0; step--) {
        step_place of;
        double* kept;
        if (!node_at(&work, column, step, &of, &kept)) continue;
        for (int i = 0; i < SUMS; i++) sums[i] = begun ? kept[i * CAL_WIDTH] + sums[i] : kept[i * CAL_WIDTH];
        if (!begun) add_pulls(&work, CAL_WIDTH * (int)(column - work.layout.columns + 1) + own, sums);
        begun = true;
    }
    double* out = work.context.scratch + column->up_slot + own;
    for (int i = 0; i < SUMS; i++) out[i * CAL_WIDTH] = begun ? sums[i] : 0.0;
}

CAL_KERNEL void energy_end_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    if (CAL_OWN_THREAD > 0) return;
    double sums[SUMS] = {0.0};
    add_pulls(&work, 0, sums);
    for (int i = 0; i < SUMS; i++) work.sums[i] = sums[i]; // the host's memory, which is far
}

static void energy_down(cal_device* device, const cal_device_work* work, int columns) {
    CAL_LAUNCH(energy_down_kernel, device, columns, work);
}
static void energy_up(cal_device* device, const cal_device_work* work, int columns) {
    CAL_LAUNCH(energy_up_kernel, device, columns, work);
}
static void energy_end(cal_device* device, const cal_device_work* work, int one) {
    CAL_LAUNCH(energy_end_kernel, device, one, work);
}

CAL_EXTERN_C const cal_device_energy cal_device_energies = {.down = energy_down, .up = energy_up, .end = energy_end};
