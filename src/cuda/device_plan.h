// Plans and states in a device's memory.
#pragma once
#include "cuda/kernels.h"
#include "machine/machine.h"
#include "schedule/schedule_bands.h"

typedef struct cal_cuda_machine {
    cal_machine base;
    cal_device* device;
    int number; // of the device, as CUDA counts them
} cal_cuda_machine;

// Memory of a device that is freed together.
typedef struct cal_device_memory_list {
    void* parts[48];
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
    int limb_count;     // of all levels: `order` has them again after those, and then all others
    int descent_levels; // of work.descent_count
    int descent_blocks;
    int trunk_teams;                       // of work.trunk_levels
    const cal_device_mechanics* mechanics; // of the plan's program
    struct cal_device_schedule* schedule;  // of assembly (device_assembly.c); else NULL
    int32_t* rows;                         // of the host: where q, v and tau of an instance are, in rows of 32
    cal_model* model;                      // of the host: what the device has of the model, its addresses the device's
    // Where energy is found (energy.cu): nodes of lanes, and a model with them. NULL: nobody has asked yet.
    int32_t* block_nodes;
    const cal_model* energy_model;
    const int32_t* positions; // of the user's q and v in y; NULL: not yet
} cal_device_plan;
cal_status cal_device_plan_bring_nodes(cal_device_plan* own, const cal_plan* plan);
// Where q, then v, are in y; of one model.
cal_status cal_device_plan_bring_positions(cal_device_plan* own, const cal_plan* plan);

// The columns of a plan's layout and their constants (device_constants.c), into `copy`, which is the device's.
void cal_device_constants_create(cal_device_plan* own, const cal_layout* layout, cal_layout* copy);
cal_status cal_device_plan_create(cal_device* device, const cal_plan* plan, cal_device_plan** out, cal_error* error);
void cal_device_plan_destroy(cal_device_plan* own); // NULL is allowed

// Heights of joins that one launch works on, in groups that a team has each (work.h, starts).
typedef struct cal_device_band {
    cal_join_band of;
    int groups, first_start;
    int first_element, elements; // in the order of bands
    bool chains;                 // it is wide, and all of them are joins of a chain's parts
} cal_device_band;

// All heights, for one kind of walk.
typedef struct cal_device_bands {
    int count; // the lowest first; none: nothing is cut
    cal_device_band* bands;
    size_t start_count, worker_count; // most workers of a launch
    int32_t *order, *starts;          // of the device (work.h)
    cal_placing_step* steps;          // dito; NULL: of joins
} cal_device_bands;

// Assembly's schedule, ports and elements in a device's memory (device_assembly.c).
typedef struct cal_device_schedule {
    size_t area_size, answer_size, port_count; // of a state
    size_t numbers, ports;                     // of elements and of ports: where they begin in the scratch memory
    size_t work_size;                          // of joins: doubles of a worker
    cal_device_bands placing, joining;
} cal_device_schedule;
cal_status cal_device_schedule_create(cal_device_plan* plan, const cal_plan* host);
void cal_device_schedule_destroy(cal_device_schedule* own); // NULL is allowed; its device memory is the plan's
// What a state has for it; scratch: the state's in the device's memory, with 24 numbers more for each port. What the device has no memory
// for is NULL.
cal_assembly cal_device_schedule_begin(const cal_device_plan* plan, cal_device_memory_list* memory, double* scratch);

// The kernels of a solver; NULL: it has none.
const cal_device_solver* cal_device_find_solver(const cal_solver_ops* ops);

extern const cal_batch_ops cal_cuda_batch;
