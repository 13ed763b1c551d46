// Reading ahead on a device. Where a launch leaves most of a device idle, its time is that of one warp, which waits for memory
// again and again: what it has written may be what it reads next, so that the compiler keeps the order. Here it asks for all of it at
// once, and finds it in the multiprocessor's cache afterwards; for what is constant while the kernel before it still works
// (kernel.h, CAL_AFTER_OTHERS). Include after pass/columns.h.
#pragma once

// Brings rows of a block into the multiprocessor's cache, whose prefetch instruction does not; what it returns is read from them.
CAL_DEVICE static double touch(const double* p, int count) {
    double sum = 0.0;
#ifdef __CUDA_ARCH__
    enum { AT_ONCE = 16 };
    for (int first = 0; first < count; first += AT_ONCE) {
        double rows[AT_ONCE];
        CAL_UNROLL for (int k = 0; k < AT_ONCE; k++) rows[k] = first + k < count ? p[(first + k) * CAL_WIDTH] : 0.0;
        CAL_UNROLL for (int k = 0; k < AT_ONCE; k++) sum += rows[k];
    }
#else
    (void)p, (void)count;
#endif
    return sum;
}

// Step i of those that a walk down, or up, comes to first.
CAL_DEVICE static int early_step(const cal_column* column, int i, bool up) {
    return up ? column->block_count - 1 - i : i;
}
CAL_DEVICE static int early_steps(const cal_device_work* work, const cal_column* column) {
    if (!column || column->is_long) return 0;
    return work->ahead < column->block_count ? work->ahead : column->block_count;
}

// What is constant: where a column's numbers are, its parents, and rows of its first blocks' constants.
CAL_DEVICE static double touch_constants(const cal_device_work* work, const cal_column* column, int first, int count,
                                         bool up) {
    double sum = 0.0;
#ifdef __CUDA_ARCH__
    const int steps = early_steps(work, column);
    if (steps == 0) return sum;
    const cal_layout* layout = &work->layout;
    sum += (double)layout->block_y[column->first_block] + (double)layout->block_v[column->first_block];
    if (column->mixed && !up) sum += (double)layout->parents[column->first_parent + CAL_OWN_LANE];
    for (int i = 0; i < steps; i++)
        sum +=
            touch(find_constants(layout, column, early_step(column, i, up), CAL_OWN_LANE) + first * CAL_WIDTH, count);
#else
    (void)work, (void)column, (void)first, (void)count, (void)up;
#endif
    return sum;
}
