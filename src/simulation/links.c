// Links of one multibody that touch each other.
//
// They may not unless the user lets them, and never where a joint, or a loop joint, holds them together: with the bodies that are fixed to each
// other as one, a body and the one that it hangs from.
//
//     trunk ══ plate              trunk and plate are one; neither touches the thigh. The foot may touch the trunk, the plate
//       ╲ hip                     and the thigh, but not the shank.
//       thigh ── knee ── shank ── ankle ── foot
//
// Links that overlap at the start could not be moved apart without bending the multibody. Robots are often drawn like that, so
// such two are left out: they pass through each other. So do, where the user wants overlaps to be resolved, two bodies that
// joints hold to the ground.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

bool cal_multibody_touches_itself(const cal_world* world, int body) {
    return world->multibodies[world->bodies[body].multibody].touches_itself;
}

// For each body of a model the topmost one that it is fixed to, and for each such one that which it hangs from.
static bool find_joined(const cal_model* model, int* one, int* above) {
    const int count = cal_model_body_count(model);
    bool* jointed = cal_allocate((size_t)count + 1, sizeof *jointed);
    if (jointed == NULL) return false;
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        int body;
        cal_model_joint(model, joint, &def, &body, NULL, NULL);
        jointed[body] = true;
    }
    for (int i = 0; i < count; i++) {
        cal_body_def def;
        one[i] = i;
        cal_model_body(model, i, &def);
        while (!jointed[one[i]] && def.parent != CAL_GROUND) {
            one[i] = def.parent;
            cal_model_body(model, def.parent, &def);
        }
        above[i] = def.parent;
    }
    cal_free(jointed);
    return true;
}

// Whether a loop joint that holds from the start connects two bodies, or what they are fixed to, as a joint of the tree would.
static bool closed_between(const cal_model* model, const int* one, int a, int b) {
    for (int i = 0; i < cal_model_constraint_count(model); i++) {
        cal_constraint_def def;
        cal_model_constraint(model, i, &def);
        const bool joint = def.kind == CAL_WELD || def.kind == CAL_LOOP_REVOLUTE || def.kind == CAL_LOOP_PRISMATIC ||
                           def.kind == CAL_LOOP_BALL || def.kind == CAL_ROWS;
        if (!joint || def.inactive || def.body[0] == CAL_GROUND || def.body[1] == CAL_GROUND) continue;
        const int p = one[def.body[0]], q = one[def.body[1]];
        if ((p == one[a] && q == one[b]) || (p == one[b] && q == one[a])) return true;
    }
    return false;
}

cal_status cal_each_joined_pair(cal_world* world, int multibody, cal_joined_pair* visit, void* user, cal_error* error) {
    const cal_multibody* m = &world->multibodies[multibody];
    const int count = m->engine->body_count;
    int* one = cal_allocate(2 * (size_t)count + 1, sizeof *one);
    int* above = one != NULL ? one + count : NULL;
    cal_status status = CAL_OK;
    if (one == NULL || !find_joined(m->engine->model, one, above))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    for (int a = 0; status == CAL_OK && a < count; a++)
        for (int b = a + 1; status == CAL_OK && b < count; b++) {
            const int over_a = above[a] == CAL_GROUND ? CAL_GROUND : one[above[a]];
            const int over_b = above[b] == CAL_GROUND ? CAL_GROUND : one[above[b]];
            if (one[a] == one[b] || over_a == one[b] || over_b == one[a] || closed_between(m->engine->model, one, a, b))
                status = visit(world, m->bodies[a], m->bodies[b], user, error);
        }
    cal_free(one);
    return status;
}

static cal_status ignore_pair(cal_world* world, int a, int b, void* user, cal_error* error) {
    (void)user;
    return cal_world_ignore(world, a, b) ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs");
}

cal_status cal_world_let_links_touch(cal_world* world, cal_multibody_id multibody, cal_error* error) {
    if (world->started) return cal_fail(error, CAL_BAD_ARGUMENT, "a world takes nothing more after its first advance");
    if (multibody.index < 0 || multibody.index >= world->multibody_count || multibody.generation != 1)
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no such multibody in this world");
    cal_multibody* m = &world->multibodies[multibody.index];
    if (m->touches_itself) return CAL_OK;
    const cal_status status = cal_each_joined_pair(world, multibody.index, ignore_pair, NULL, error);
    m->touches_itself = status == CAL_OK;
    return status;
}

cal_status cal_world_ignore_overlap(cal_world* world, int pair, double depth, cal_error* error) {
    const int bodies[2] = {world->table.pairs[pair].body[0], world->table.pairs[pair].body[1]};
    if (!cal_grow((void**)&world->ignored_overlaps, &world->ignored_overlap_capacity, world->ignored_overlap_count,
                  sizeof *world->ignored_overlaps) ||
        !cal_world_ignore(world, bodies[0], bodies[1]))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs");
    world->ignored_overlaps[world->ignored_overlap_count++] = (cal_ignored_overlap){{bodies[0], bodies[1]}, depth};
    cal_pair_remove(world, pair);
    return CAL_OK;
}

bool cal_world_ignored_overlap(const cal_world* world, int index, cal_body_id pair[2], double* depth) {
    if (index < 0 || index >= world->ignored_overlap_count) return false;
    for (int i = 0; pair != NULL && i < 2; i++) pair[i] = cal_world_body(world, world->ignored_overlaps[index].body[i]);
    if (depth != NULL) *depth = world->ignored_overlaps[index].depth;
    return true;
}
