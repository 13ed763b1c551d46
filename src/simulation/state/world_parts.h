// What an image fills before a world becomes it (world_image.c), and whether that is a world (world_sound.c).
#pragma once
#include "collide/collide.h"
#include "simulation/state/image.h"
#include "simulation/world.h"

// What of a body changes.
typedef struct cal_body_part {
    double box_end, hit_at, came;
    int box_event, hits_at_time;
    int* pairs;
    int pair_count, pair_capacity;
    bool boxed;
    cal_box box;
    uint64_t identity; // 0: it is not in the image
} cal_body_part;

typedef struct cal_hook_part {
    int event;
    int64_t tick;
    uint64_t identity;
} cal_hook_part;

typedef struct cal_multibody_part {
    cal_outer_force* pushes;
    int push_count, push_capacity;
    double start_moved;
    double *scale, *stops; // of the model, which several may share
    uint64_t identity;
} cal_multibody_part;

typedef struct cal_world_parts {
    cal_world world; // what changes in it is its own
    cal_body_part* bodies;
    cal_hook_part* hooks;
    cal_multibody_part* multibodies;
} cal_world_parts;

// Whether a simulation can have come to what was read: all that is used as an index names something that is there, lists that name each
// other agree, and times are in order. own: the world as it is. CAL_BAD_ARGUMENT: it cannot.
cal_status cal_world_parts_check(const cal_world_parts* parts, const cal_world* own);
