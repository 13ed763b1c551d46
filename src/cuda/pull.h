// What columns have of their children on a device. Include after pass/columns.h.
#pragma once

// A long column is one thread's.
CAL_DEVICE static bool is_idle(const cal_column* column) { return !column || (column->is_long && CAL_OWN_LANE != 0); }

// Adds what the children of the thread's lane left to the sums at its end, in the order of the tree.
CAL_DEVICE static void pull_children(const cal_device_work* work, const cal_context* context,
                                     const cal_column* column) {
    const int own = own_lane(column), list = pull_list(work, column, own);
    const int end = work->first_pull[list + 1];
    int next = work->first_pull[list];
    if (next == end) return;
    double* to = context->scratch + column->end_slot + CAL_DOWN_COUNT * CAL_WIDTH + own;
    double sum[CAL_UP_COUNT]; // in registers: what is read and what is written may not be told apart in memory
    for (int i = 0; i < CAL_UP_COUNT; i++) sum[i] = to[i * CAL_WIDTH];
    // Where the next one is is read while the numbers of this one come.
    uint32_t at = work->pulls[next];
    while (next < end) {
        const double* from = context->scratch + at;
        if (++next < end) at = work->pulls[next];
        for (int i = 0; i < CAL_UP_COUNT; i++) sum[i] += from[i * CAL_WIDTH];
    }
    for (int i = 0; i < CAL_UP_COUNT; i++) to[i * CAL_WIDTH] = sum[i];
}
