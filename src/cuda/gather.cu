// What was sampled, in the user's order: a thread per number.
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

CAL_EXTERN_C void cal_device_gather(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH(gather_kernel, device, warps, work);
}
