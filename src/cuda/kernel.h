// What kernels are written with. They are C that nvcc takes as C++; for tests the host's compiler takes them as they are
// (CAL_CUDA_EMULATED): a launch is a loop over all threads, one after the other, which is allowed since no thread waits for
// another one of its launch.
#pragma once
#define CAL_THREAD_PER_LANE
#define CAL_WIDTH 32
// A batch's warp has shared memory for the scratch (layout.h) of a limb of so many blocks; a multiprocessor has 228 KB (sm_90), of
// which 1 KB per warp is the driver's: 15 · 32 doubles a block leave room for 12 warps with 4 blocks each.
enum { CAL_BATCH_WARPS = 12, CAL_FAST_BLOCKS = 4, CAL_FAST_DOUBLES = CAL_FAST_BLOCKS * 15 * CAL_WIDTH };

#ifdef CAL_CUDA_EMULATED
extern _Thread_local int cal_emulated_thread;
#define CAL_OWN_LANE (cal_emulated_thread % CAL_WIDTH)
#define CAL_OWN_WARP (cal_emulated_thread / CAL_WIDTH)
#define CAL_KERNEL static
#define CAL_BOUNDS(threads, blocks)
#define CAL_FAST_MEMORY NULL
#define CAL_LAUNCH_FAST(kernel, device, warps, work) CAL_LAUNCH(kernel, device, warps, work)
#define CAL_LAUNCH_BLOCKS(kernel, device, warps, block, work) CAL_LAUNCH(kernel, device, warps, work)
#define CAL_LAUNCH(kernel, device, warps, work)                                                                        \
    do {                                                                                                               \
        (void)(device);                                                                                                \
        for (cal_emulated_thread = 0; cal_emulated_thread < (warps)*CAL_WIDTH; cal_emulated_thread++) kernel(*(work)); \
    } while (0)
#define CAL_EXTERN_C
#else
#include <cuda_runtime.h>
#define CAL_OWN_LANE ((int)(threadIdx.x % CAL_WIDTH))
#define CAL_OWN_WARP ((int)((blockIdx.x * blockDim.x + threadIdx.x) / CAL_WIDTH))
#define CAL_KERNEL static __global__
enum { CAL_BLOCK_WARPS = 4 };
#define CAL_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
extern __shared__ double cal_fast_memory[];
#define CAL_FAST_MEMORY cal_fast_memory
// Blocks of one warp with shared memory.
#define CAL_LAUNCH_FAST(kernel, device, warps, work)                                                                   \
    kernel<<<(warps), CAL_WIDTH, CAL_FAST_DOUBLES * sizeof(double), (cudaStream_t)cal_device_stream(device)>>>(*(work))
// `block`: warps that start together.
#define CAL_LAUNCH_BLOCKS(kernel, device, warps, block, work)                                                          \
    kernel<<<((warps) + (block)-1) / (block), (block)*CAL_WIDTH, 0, (cudaStream_t)cal_device_stream(device)>>>(*(work))
#define CAL_LAUNCH(kernel, device, warps, work) CAL_LAUNCH_BLOCKS(kernel, device, warps, CAL_BLOCK_WARPS, work)
#define CAL_EXTERN_C extern "C"
#endif

#include "cuda/device.h"
#include "cuda/work.h"

// The thread's column of a level; NULL: it has none.
CAL_DEVICE static inline const cal_column* own_column(const cal_device_work* work) {
    const int index = CAL_OWN_WARP;
    return index < work->count ? &work->layout.columns[work->order[work->first + index]] : NULL;
}

// The thread's group of a batch; -1: none, or its instance is not among those chosen.
CAL_DEVICE static inline int own_group(const cal_device_work* work) {
    const int group = CAL_OWN_WARP;
    if (group >= work->groups) return -1;
    return work->chosen && !work->chosen[group * CAL_WIDTH + CAL_OWN_LANE] ? -1 : group;
}

// Where a warp has one column of one group: the group, or -1.
CAL_DEVICE static inline int own_part(const cal_device_work* work, const cal_column** column) {
    const int columns = work->layout.column_count, group = CAL_OWN_WARP / columns;
    *column = &work->layout.columns[CAL_OWN_WARP % columns];
    if (group >= work->groups) return -1;
    return work->chosen && !work->chosen[group * CAL_WIDTH + CAL_OWN_LANE] ? -1 : group;
}

// What kernels see of the work of one group (0: of one model).
CAL_DEVICE static inline cal_context own_context(const cal_device_work* work, int group) {
    const size_t g = (size_t)group;
    cal_context c = work->context;
    c.layout = &work->layout;
    c.y += g * work->y_stride;
    c.ydot += g * work->y_stride;
    c.tau += g * work->v_stride;
    c.force += g * work->v_stride;
    c.control += g * work->control_stride;
    c.records += g * work->record_stride;
    c.scratch += g * work->scratch_stride;
    return c;
}
