// A solver's sums, added up the tree (Jung, III.C): each node adds its own share to what its children sent, in the order of
// the tree, so that the sum has the same bits however the tree is cut into lanes, threads or ranks. The first max_count
// of the sums are maxima. Where the account of energy is kept, the powers of the joints' forces (joint_power.h) follow the solver's own.
//
// A column's sums live where its inertias lived in the walk before, the stack of layout.h; beside them where the trunk is repeated.
#include "pass/sums.h"
#include "base/wide.h"
#include "pass/joint_power.h"
#include "pass/solver_ops.h"

#include <string.h>

static double* end_sums(const cal_context* context, int column) {
    const size_t end = column < 0 ? 0 : context->layout->columns[column].end_slot;
    return context->scratch + end + CAL_DOWN_COUNT * (size_t)context->layout->width;
}

void cal_sums_end(const cal_context* context, double* sums) {
    for (int k = 0; k < cal_sums_count(context->solver_ops, context->solver); k++) sums[k] = end_sums(context, -1)[k];
}

// What the children of each lane left, where these are in mixed columns. stride: of the sums.
static void gather_sums(const cal_context* context, const cal_column* column, int count, double* sums, int stride) {
    const cal_layout* layout = context->layout;
    const size_t* rows = layout->pulls + column->first_pull;
    const int next = layout->by_lane ? layout->width : 1;
    for (int i = 0; i < column->most_pulls * column->lanes; i++)
        for (int k = 0; k < count && rows[i] != CAL_NO_ROW; k++) {
            double* own = &sums[k * stride + i % column->lanes];
            const double left = context->scratch[rows[i] + (size_t)(k * next)];
            // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): cal_sums_add has cleared `count` rows
            *own = cal_join_sums(*own, left, k < context->solver_ops->max_count);
        }
}

// The shares of a block's lanes; the first `maxima` numbers of `count` are such.
CAL_WIDE static void join_block_sums(const double* restrict shares, double* restrict sums, int maxima, int count) {
    for (int i = 0; i < maxima; i++) sums[i] = cal_join_sums(shares[i], sums[i], true);
    for (int i = maxima; i < count; i++) sums[i] = cal_join_sums(shares[i], sums[i], false);
}

// The shares of a block's nodes in a long column, the last one first.
static double join_chain_sums(const double* shares, double sum, int live, bool largest) {
    for (int lane = live - 1; lane >= 0; lane--) sum = cal_join_sums(shares[lane], sum, largest);
    return sum;
}

// `count` rows of so many lanes; strides: from one row to the next.
// NOLINTBEGIN(clang-analyzer-core.*): scratch is there; follow_up writes the first sum_count rows of shares, the powers the others
static void copy_rows(double* to, int to_stride, const double* from, int from_stride, int lanes, int count) {
    if (to_stride == lanes && from_stride == lanes) {
        memcpy(to, from, (size_t)(count * lanes) * sizeof *to);
        return;
    }
    for (int k = 0; k < count; k++) memcpy(to + k * to_stride, from + k * from_stride, (size_t)lanes * sizeof *to);
}

void cal_sums_add(const cal_context* context, int index) {
    const cal_layout* layout = context->layout;
    const cal_column* column = &layout->columns[index];
    const cal_solver_ops* ops = context->solver_ops;
    const int width = layout->width, count = cal_sums_count(ops, context->solver), lanes = column->lanes;
    const int stride = column->is_long ? 1 : width; // of sums
    int extra = column->first_extra + column->extra_count;
    double shares[CAL_MAX_SUMS * CAL_MAX_LANES], sums[CAL_MAX_SUMS * CAL_MAX_LANES];
    const bool pulled = column->child_count > 0 && !column->gathers;
    if (!pulled || lanes < stride) memset(sums, 0, (size_t)(count * stride) * sizeof *sums);
    if (pulled) copy_rows(sums, stride, end_sums(context, index), lanes, lanes, count);
    if (column->gathers) gather_sums(context, column, count, sums, stride);
    cal_solver_context brief;
    const cal_solver_context* solver = context->solver;
    const double* rates = cal_brief_rates(context, column);
    if (rates) {
        brief = *solver, solver = &brief;
        brief.ydot = rates - layout->block_y[column->first_block];
    }
    for (int block = column->first_block + column->block_count - 1; block >= column->first_block; block--) {
        ops->follow_up(solver, column, block, shares);
        if (context->solver->powers)
            cal_joint_powers_of_block(context, column, block, &extra, shares + ops->sum_count * width);
        if (!column->is_long) {
            join_block_sums(shares, sums, ops->max_count * width, count * width);
            continue;
        }
        const int left = column->node_count - (block - column->first_block) * width, live = left < width ? left : width;
        for (int k = 0; k < count; k++)
            sums[k] = join_chain_sums(shares + k * width, sums[k], live, k < ops->max_count);
    }
    // Where component k of a lane is: rows of mixed columns, lane by lane; else side by side.
    double* to = context->scratch + column->sum_slot;
    if (!column->mixed || layout->by_lane) {
        copy_rows(to, column->mixed ? width : lanes, sums, stride, lanes, count);
        return;
    }
    for (int k = 0; k < count; k++)
        for (int lane = 0; lane < lanes; lane++) to[k + lane * CAL_UP_ROW] = sums[k * stride + lane];
}
// NOLINTEND(clang-analyzer-core.*)

void cal_sums_pull(const cal_context* context, int index) {
    const cal_layout* layout = context->layout;
    const cal_column* column = &layout->columns[index];
    const int count = cal_sums_count(context->solver_ops, context->solver), lanes = column->lanes,
              parent_lanes = column->parent_lanes;
    const double* from = context->scratch + column->sum_slot;
    double* to = end_sums(context, column->parent);
    if (column->child_index == 0) memset(to, 0, sizeof(double) * (size_t)(count * parent_lanes));
    for (int i = 0; i < column->pull_count; i++) {
        const int lane = column->pull_order[i];
        double* own = to + column->parent_lane[lane];
        for (int k = 0; k < count; k++)
            own[k * parent_lanes] =
                cal_join_sums(own[k * parent_lanes], from[k * lanes + lane], k < context->solver_ops->max_count);
    }
}
