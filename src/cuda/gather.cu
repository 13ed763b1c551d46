// What goes to and fro between the host and a solver on the device: a thread per number.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include <float.h>

CAL_KERNEL void gather_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int i = CAL_OWN_THREAD;
    if (i >= work.count) return;
    const double value = work.out[work.positions[i]];
    work.gathered[i] = value;
    if (!(value >= -DBL_MAX && value <= DBL_MAX)) work.sums[0] = 1.0;
}

// What control sends, which others find in the device's memory. A kernel that reads the host's takes less time than a copy between kernels.
CAL_KERNEL void fetch_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (CAL_OWN_THREAD < CAL_MAX_DOWN) work.fetched[CAL_OWN_THREAD] = work.sent[CAL_OWN_THREAD];
}

CAL_EXTERN_C void cal_device_fetch(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH_BLOCKS(fetch_kernel, device, warps, 1, work);
}

// Numbers in the user's order to where a vector has them.
CAL_KERNEL void place_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int i = CAL_OWN_THREAD;
    if (i < work.count) work.out[work.positions[i]] = work.gathered[i];
}

CAL_EXTERN_C void cal_device_place(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(place_kernel, device, warps, work);
}

// What was sampled, in the user's order.
CAL_EXTERN_C void cal_device_gather(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(gather_kernel, device, warps, work);
}
