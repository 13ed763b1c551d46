// A tree for workers that share it (worker.h): each has limbs of its own, whole subtrees, and the nodes above them, the trunk, are the first one's.
// Outbound the trunk goes first, inbound last, with a meeting in between. Trees that stand side by side have no trunk.
#pragma once
#include "model/model.h"
#include "plan/worker.h"

typedef struct cal_node_range {
    int32_t first, end;
} cal_node_range;

typedef struct cal_limbs {
    int workers, trunk_count;
    cal_node_range *trunk, *limbs; // rising; limbs worker by worker
    int32_t* first_of_worker;      // of each: its first limb; one past the end
    cal_node_range whole;
} cal_limbs;

// Where sharing would save less than a quarter (a chain) the first worker has all.
cal_status cal_limbs_create(const cal_model* model, int workers, cal_limbs* out);
void cal_limbs_destroy(cal_limbs* limbs); // its arrays; zeros are allowed

// A worker's limbs; all nodes where it is alone.
static inline int cal_limb_count(const cal_limbs* limbs, const cal_worker* worker) {
    return worker->count == 1 ? 1 : limbs->first_of_worker[worker->index + 1] - limbs->first_of_worker[worker->index];
}
static inline cal_node_range cal_limb(const cal_limbs* limbs, const cal_worker* worker, int i) {
    return worker->count == 1 ? limbs->whole : limbs->limbs[limbs->first_of_worker[worker->index] + i];
}
// How many pieces of the trunk a worker has.
static inline int cal_trunk_count(const cal_limbs* limbs, const cal_worker* worker) {
    return worker->count > 1 && worker->index == 0 ? limbs->trunk_count : 0;
}
// Between limbs and trunk.
static inline void cal_limbs_meet(const cal_limbs* limbs, cal_worker* worker) {
    if (limbs->trunk_count > 0) cal_worker_meet(worker);
}
