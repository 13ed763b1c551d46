// Walks of assembly's tree of joins on a device, as work.h has them: bands of heights, up, down, or up and down again. A *worker* has an
// element: a warp, or half of one, whose threads share its entries (pass/team.h). Include after cuda/kernel.h, before all else, with
//
//     GROUP_WARPS, TEAM_WORKERS          warps of a team, and workers
//     WORKER_OF_TEAM                     the thread's worker among them
//     WORKER_MEMBER, WORKER_MEMBERS      which one of how many it is
//
// It says IS_MEMBER: whether the thread has something to do; emulated, a worker has one member. A warp's threads wait for each other, whatever
// part of it a worker is.
#pragma once
#ifdef CAL_CUDA_EMULATED
#define IS_MEMBER (WORKER_MEMBER == 0)
#define IS_REAL false
#else
#define IS_MEMBER true
#define IS_REAL true
#define CAL_TEAM_MEMBER WORKER_MEMBER
#define CAL_TEAM_MEMBERS WORKER_MEMBERS
#ifdef __CUDA_ARCH__
#define CAL_TEAM_WAIT() __syncwarp()
#else
#define CAL_TEAM_WAIT() ((void)0)
#endif
#endif
#include "cuda/kernels.h"
#include "pass/assembly_elements.h"

// The elements of the team in a phase, whose workers have them in turn.
typedef struct phase_elements {
    int first, end;
    bool up;
} phase_elements;
CAL_DEVICE static inline phase_elements elements_of(const cal_device_work* work, int phase) {
    const bool up = phase < work->turn;
    const int height = up ? phase : work->turn + work->heights - 1 - phase;
    const int32_t* starts = work->starts + work->first + (CAL_OWN_WARP / GROUP_WARPS) * (work->heights + 1) + height;
    return (phase_elements){starts[0], starts[1], up};
}

// Reads ahead (ahead.h), while the kernel before it still works, what is constant of the elements of a worker and of what they join; and for
// the way down what the way up has left of them, which is older than that kernel.
CAL_DEVICE static inline double touch_numbers(const double* p, int count) {
    double sum = 0.0;
    for (int i = WORKER_MEMBER; i < count; i += WORKER_MEMBERS) sum += p[i];
    return sum;
}
// Where a part is told of its base and its ports.
CAL_DEVICE static inline double touch_base(const cal_device_work* work, const cal_element* e) {
    if (e->kind != CAL_ELEMENT_PART) return 0.0;
    const cal_column* column = &work->layout.columns[work->slots.seat[e->index] / CAL_MAX_LANES];
    return (double)(column->base_slot + (size_t)column->lanes) + work->schedule.parts[e->index].first_port;
}
typedef double touch_left(const cal_device_work* work, const cal_element* e, const cal_element* a,
                          const cal_element* b);
CAL_DEVICE static inline double touch_element(const cal_device_work* work, int number, touch_left* left) {
    const cal_schedule* s = &work->schedule;
    const cal_element* e = &s->elements[s->order[number]];
    double sum = (double)(e->numbers + e->motion);
    if (e->a < 0) return sum;
    const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
    const int maps = a->columns + b->columns + 2 * e->columns;
    sum += (double)(a->numbers + b->numbers + a->motion + b->motion + a->base + b->base);
    for (int i = WORKER_MEMBER; i < maps; i += WORKER_MEMBERS) sum += (double)s->maps[e->first_map + i];
    if (left && e->kind == CAL_ELEMENT_BELOW) sum += left(work, e, a, b);
    return sum;
}
CAL_DEVICE static inline double touch_elements(const cal_device_work* work, touch_left* left) {
    double sum = 0.0;
    for (int phase = 0; phase < work->heights; phase++) {
        const phase_elements own = elements_of(work, phase);
        for (int i = own.first + WORKER_OF_TEAM; i < own.end; i += TEAM_WORKERS) sum += touch_element(work, i, left);
    }
    return sum;
}
#ifdef __CUDA_ARCH__
#define TOUCH(left) touch_elements(&work, left)
#else
#define TOUCH(left) 0.0
#endif

// --- Kernels: of a band, up or down; of the last one, up and down again --------------------------------------------------------

// doubles: of shared memory of a worker.
#define BAND_KERNEL(name, doubles, goes_up, goes_down, left, act)                                                      \
    CAL_PHASE void name##_phase(const cal_device_work* work, int phase) {                                              \
        cal_context context = own_context(work, 0);                                                                    \
        CAL_OWN_ASSEMBLY(work, context);                                                                               \
        const phase_elements own = elements_of(work, phase);                                                           \
        const bool up = (goes_up) && (!(goes_down) || own.up);                                                         \
        double* chip = CAL_FAST_MEMORY + (size_t)WORKER_OF_TEAM * (doubles);                                           \
        for (int i = own.first + WORKER_OF_TEAM; IS_MEMBER && i < own.end; i += TEAM_WORKERS) {                        \
            const int index = work->schedule.order[i];                                                                 \
            act;                                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    CAL_PHASED_KERNEL(name##_kernel, name##_phase, GROUP_WARPS, TOUCH(left))                                           \
    static void name(cal_device* device, const cal_device_work* work, int groups) {                                    \
        CAL_LAUNCH_PHASED(name##_kernel, name##_phase, GROUP_WARPS, device, groups, (doubles)*TEAM_WORKERS, work);     \
    }
