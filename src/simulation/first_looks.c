// See first_looks.h.
#include "simulation/first_looks.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/event/fetch.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/search.h"
#include "simulation/share.h"
#include "simulation/world.h"

typedef struct looking {
    cal_world* world;
    cal_first_look* looks;
    bool predicts;
} looking;

#define OVERLAP 1e-9 // of a reach: deeper is an overlap

cal_status cal_find_overlap(cal_world* world, const cal_pair* pair, cal_separation* gap, double* depth, double* size,
                            cal_error* error) {
    cal_motion at[2];
    *size = (double)INFINITY;
    for (int k = 0; k < 2; k++) {
        const int body = pair->body[k];
        const cal_status status =
            cal_body_failed(world, body, cal_body_at(world, body, world->time, &at[k]), world->time, error);
        if (status != CAL_OK) return status;
        *size = fmin(*size, world->bodies[pair->body[k]].reach);
    }
    cal_world_distance(world, pair->body[0], &at[0], pair->body[1], &at[1], (double)INFINITY, NULL, gap);
    *depth = gap->distance < -OVERLAP * *size ? -gap->distance : 0.0;
    return CAL_OK;
}

// Whether the motion of a body is there until a time, for whoever looks.
static bool is_known(const cal_world* world, int body, double until) {
    const cal_sim_body* part = &world->bodies[body];
    return part->component < 0 ? part->def.motion == CAL_FIXED : cal_free_body_is_known(world, body, until);
}

void cal_look_at_pair(cal_world* world, const cal_pair* pair, bool predicts, cal_first_look* out) {
    double until = (double)INFINITY;
    *out = (cal_first_look){0};
    for (int k = 0; k < 2; k++) until = fmin(until, *cal_body_presence(world, pair->body[k]).box_end);
    if (!is_known(world, pair->body[0], until) || !is_known(world, pair->body[1], until)) return;
    const int64_t checks = world->report.checks, predictions = world->report.predictions;
    cal_separation gap;
    double size;
    if (predicts)
        out->done = cal_pair_waits(world, pair, world->time, &out->prediction) ||
                    cal_pair_look(world, pair, world->time, true, &out->prediction, NULL) == CAL_OK;
    else
        out->done = cal_find_overlap(world, pair, &gap, &out->depth, &size, NULL) == CAL_OK;
    out->checks = (int)(world->report.checks - checks);
    out->predictions = (int)(world->report.predictions - predictions);
    world->report.checks = checks, world->report.predictions = predictions;
}

// Counts go into a world of the piece's own.
static void look_at_some(void* user, int first, int end) {
    looking* l = user;
    cal_world own = *l->world;
    for (int i = first; i < end; i++) {
        const cal_pair* pair = &own.table.pairs[i];
        cal_fetch_pairs(&own, i);
        if (pair->event < 0) continue;
        const cal_sim_body *a = &own.bodies[pair->body[0]], *b = &own.bodies[pair->body[1]];
        if (a->stage != CAL_NEW && b->stage != CAL_NEW) continue;
        cal_look_at_pair(&own, pair, l->predicts, &l->looks[i]);
    }
}

void cal_take_look(cal_world* world, const cal_first_look* look) {
    world->report.checks += look->checks;
    world->report.predictions += look->predictions;
}

cal_first_look* cal_look_first(cal_world* world, bool predicts) {
    if (world->machine == NULL || world->def.loop != CAL_TIMEWARP || world->new_count < CAL_SHARE_FEW) return NULL;
    looking all = {.world = world, .predicts = predicts};
    all.looks = cal_allocate((size_t)world->table.pair_count + 1, sizeof *all.looks);
    if (all.looks != NULL) cal_world_share(world, world->table.pair_count, look_at_some, &all);
    return all.looks;
}
