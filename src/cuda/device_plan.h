// Plans and states in a device's memory.
#pragma once
#include "cuda/kernels.h"
#include "machine/machine.h"

typedef struct cal_cuda_machine {
    cal_machine base;
    cal_device* device;
} cal_cuda_machine;

// Memory of a device that is freed together.
typedef struct cal_device_memory_list {
    void* parts[32];
    int count;
    bool failed; // the device has no more
} cal_device_memory_list;
void* cal_device_take(cal_device* device, cal_device_memory_list* list, size_t bytes);
// A copy of the host's numbers; NULL for none.
void* cal_device_copy(cal_device* device, cal_device_memory_list* list, const void* from, size_t bytes);
void cal_device_give_back(cal_device* device, cal_device_memory_list* list);

typedef struct cal_device_plan {
    cal_device* device;
    cal_device_memory_list memory;
    cal_device_work work; // layout, model, what lanes pull, steps
    // One model: the columns of level i are order[level[i]] … order[level[i + 1] - 1], of which the first inner[i] have children or
    // are long.
    int level_count, column_count;
    int *level, *inner;
    int32_t* rows; // of the host: where q, v and tau of an instance are, in rows of 32
} cal_device_plan;

cal_status cal_device_plan_create(cal_device* device, const cal_plan* plan, cal_device_plan** out, cal_error* error);
void cal_device_plan_destroy(cal_device_plan* own); // NULL is allowed

// The kernels of a solver; NULL: it has none.
const cal_device_solver* cal_device_find_solver(const cal_solver_ops* ops);

extern const cal_batch_ops cal_cuda_batch;
