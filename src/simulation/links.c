// Links of one multibody that touch each other.
//
// They may not unless the user lets them, and never where the model does not (model/touch.c): where a joint holds them together,
// for instance.
//
// Links that overlap at the start could not be moved apart without bending the multibody. Robots are often drawn like that, so
// such two are left out: they pass through each other. So do, where the user wants overlaps to be resolved, two bodies that
// joints hold to the ground.
#include "base/memory.h"
#include "model/touch.h"
#include "simulation/body.h"
#include "simulation/event/pairs.h"
#include "simulation/members.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

bool cal_multibody_touches_itself(const cal_world* world, int body) {
    return world->multibodies[world->bodies[body].multibody]->touches_itself;
}

// A link and all later ones: those of which some shapes match, but none may touch, pass through each other.
static cal_status ignore_links(cal_world* world, const cal_multibody* m, int link, bool* match, bool* touch,
                               cal_error* error) {
    const cal_model* model = m->engine->model;
    memset(match, 0, (size_t)m->engine->body_count * sizeof *match);
    memset(touch, 0, (size_t)m->engine->body_count * sizeof *touch);
    for (int i = 0; i < model->shape_count; i++)
        for (int k = 0; model->shapes[i].body == link && k < model->shape_count; k++) {
            const int other = model->shapes[k].body;
            if (other <= link) continue;
            match[other] |= cal_shapes_match(&model->shapes[i], &model->shapes[k]);
            touch[other] = touch[other] || cal_model_shapes_may_touch(model, i, k);
        }
    for (int other = link + 1; other < m->engine->body_count; other++)
        if (match[other] && !touch[other] && !cal_world_ignore(world, m->bodies[link], m->bodies[other]))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs");
    return CAL_OK;
}

cal_status cal_world_let_links_touch(cal_world* world, cal_multibody_id multibody, cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_let_links_touch: world must not be NULL");
    cal_multibody* m = cal_find_multibody(world, multibody);
    const cal_status allowed = cal_check_changeable(world, error);
    if (allowed != CAL_OK) return allowed;
    if (m == NULL) return cal_fail(error, CAL_BAD_ARGUMENT, "there is no such multibody in this world (any more)");
    if (m->stage != CAL_NEW)
        return cal_fail(error, CAL_BAD_ARGUMENT, "links of a multibody that an advance has taken in touch as they did");
    if (m->touches_itself) return CAL_OK;
    const size_t links = (size_t)m->engine->body_count;
    bool* seen = cal_allocate(2 * links, sizeof *seen);
    cal_status status = seen != NULL ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs");
    for (int link = 0; status == CAL_OK && link < m->engine->body_count; link++)
        status = ignore_links(world, m, link, seen, seen + links, error);
    cal_free(seen);
    m->touches_itself = status == CAL_OK;
    return status;
}

cal_status cal_world_pass_through(cal_world* world, const cal_ignored_overlap* overlap, cal_error* error) {
    if (!cal_grow((void**)&world->ignored_overlaps, &world->ignored_overlap_capacity, world->ignored_overlap_count,
                  sizeof *world->ignored_overlaps) ||
        !cal_world_ignore(world, overlap->body[0], overlap->body[1]))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs");
    world->ignored_overlaps[world->ignored_overlap_count++] = *overlap;
    return CAL_OK;
}

cal_status cal_world_ignore_overlap(cal_world* world, int pair, double depth, cal_error* error) {
    const int* bodies = world->table.pairs[pair].body;
    const cal_status status =
        cal_world_pass_through(world, &(cal_ignored_overlap){{bodies[0], bodies[1]}, depth}, error);
    if (status == CAL_OK) cal_pair_remove(world, pair);
    return status;
}

bool cal_world_ignored_overlap(const cal_world* world, int index, cal_body_id pair[2], double* depth) {
    if (!world || index < 0 || index >= world->ignored_overlap_count) return false;
    for (int i = 0; pair != NULL && i < 2; i++) pair[i] = cal_world_body(world, world->ignored_overlaps[index].body[i]);
    if (depth != NULL) *depth = world->ignored_overlaps[index].depth;
    return true;
}
