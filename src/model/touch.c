// Which shapes of a model may touch.
//
// Bodies that are fixed to each other are one and carried by one node, or by none where they are fixed to the ground.
// Two shapes may touch when all of this holds:
//
//     they are carried by different nodes, so that they move relative to each other
//     a pair lists them, or
//         both collide, and one's category has a bit of the other's mask
//         no exclusion names their two bodies
//         no joint connects them: neither is carried by the node that the other one's joint hangs from, and no loop
//         joint that holds from the start is between what carries them
//
//     trunk ══ plate          trunk and plate are one; neither touches the thigh. The foot may touch the trunk, the
//       ╲ hip                 plate and the thigh, but not the shank.
//       thigh ── knee ── shank ── ankle ── foot
//
// What is fixed to the ground is one as well, but a floor must carry a robot that is bolted to a table on it. So a body
// whose joint hangs from the ground touches everything that is fixed, except the one body that its joint is on.
#include "model/touch.h"
#include "base/memory.h"
#include "model/builder.h"

// The node that carries a body; -1: none, it is fixed to the ground.
static int carrier_of(const cal_model* model, int body) { return body == CAL_GROUND ? -1 : model->mounts[body].node; }

// The node that the joints of a node's body hang from; -1: the ground. A body with several joints has a node for each.
static int carrier_above(const cal_model* model, int node) {
    const int body = model->nodes[node].body;
    while (node >= 0 && model->nodes[node].body == body) node = model->nodes[node].parent;
    return node;
}

// Whether body a hangs by a joint of its own from body b, which is fixed to the ground.
static bool hangs_from_fixed(const cal_model* model, int a, int b) {
    const int node = carrier_of(model, a);
    return node >= 0 && b != CAL_GROUND && carrier_of(model, b) < 0 && model->nodes[node].body == a &&
           model->bodies[a].parent == b;
}

static bool jointed(const cal_model* model, int a, int b) {
    const int node_a = carrier_of(model, a), node_b = carrier_of(model, b);
    if (node_a >= 0 && node_b >= 0)
        return carrier_above(model, node_a) == node_b || carrier_above(model, node_b) == node_a;
    return hangs_from_fixed(model, a, b) || hangs_from_fixed(model, b, a);
}

// Whether a constraint that does what a joint of the tree would connects what carries two bodies.
static bool closed(const cal_model* model, int a, int b) {
    static const bool is_joint[] = {[CAL_WELD] = true,
                                    [CAL_LOOP_REVOLUTE] = true,
                                    [CAL_LOOP_PRISMATIC] = true,
                                    [CAL_LOOP_BALL] = true,
                                    [CAL_ROWS] = true};
    const int node_a = carrier_of(model, a), node_b = carrier_of(model, b);
    for (int i = 0; node_a >= 0 && node_b >= 0 && i < model->constraint_count; i++) {
        const cal_constraint_def* def = &model->constraints[i];
        if (def->kind >= (int)(sizeof is_joint / sizeof *is_joint) || !is_joint[def->kind] || def->inactive) continue;
        const int p = carrier_of(model, def->body[0]), q = carrier_of(model, def->body[1]);
        if ((p == node_a && q == node_b) || (p == node_b && q == node_a)) return true;
    }
    return false;
}

static bool excluded(const cal_model* model, int a, int b) {
    for (int i = 0; i < model->kept.exclusion_count; i++) {
        const int* pair = model->kept.exclusions[i].body;
        if ((pair[0] == a && pair[1] == b) || (pair[0] == b && pair[1] == a)) return true;
    }
    return false;
}

static bool is_listed(const cal_model* model, int a, int b) {
    for (int i = 0; i < model->kept.pair_count; i++) {
        const cal_pair_def* pair = &model->kept.pairs[i];
        if ((pair->shape[0] == a && pair->shape[1] == b) || (pair->shape[0] == b && pair->shape[1] == a)) return true;
    }
    return false;
}

static bool bodies_may_touch(const cal_model* model, int a, int b) {
    return carrier_of(model, a) != carrier_of(model, b) && !jointed(model, a, b) && !excluded(model, a, b) &&
           !closed(model, a, b);
}

bool cal_shapes_match(const cal_shape_def* a, const cal_shape_def* b) {
    return a->collides && b->collides && ((a->category & b->mask) != 0 || (b->category & a->mask) != 0);
}

bool cal_model_shapes_may_touch(const cal_model* model, int shape_a, int shape_b) {
    const cal_shape_def *a = &model->shapes[shape_a], *b = &model->shapes[shape_b];
    if (carrier_of(model, a->body) == carrier_of(model, b->body)) return false;
    if (is_listed(model, shape_a, shape_b)) return true;
    return cal_shapes_match(a, b) && bodies_may_touch(model, a->body, b->body);
}

double cal_shapes_friction(const cal_shape_def* a, const cal_shape_def* b) {
    if (a->priority != b->priority) return a->priority > b->priority ? a->friction : b->friction;
    return fmax(a->friction, b->friction);
}

bool cal_model_can_touch(const cal_model* model) { return model && model->can_touch; }

// --- Whether any two may touch ---------------------------------------------------------------------------------------

// Categories and masks of a body's shapes together: two bodies have two shapes that their categories and masks let
// touch exactly when these do.
typedef struct reach {
    uint32_t category, mask;
} reach;

static bool meet(reach a, reach b) { return (a.category & b.mask) != 0 || (b.category & a.mask) != 0; }

// of: one for each body, and the ground's behind them; all: those of all bodies together, to pass over bodies that meet
// none.
static bool any_bodies_touch(const cal_model* model, const reach* of, reach all) {
    for (int a = 0; a < model->body_count; a++) {
        if (carrier_of(model, a) < 0 || !meet(of[a], all)) continue;
        if (meet(of[a], of[model->body_count]) && bodies_may_touch(model, a, CAL_GROUND)) return true;
        for (int b = 0; b < model->body_count; b++)
            if (meet(of[a], of[b]) && bodies_may_touch(model, a, b)) return true;
    }
    return false;
}

static bool any_pair_touches(const cal_model* model) {
    for (int i = 0; i < model->kept.pair_count; i++) {
        const int* shape = model->kept.pairs[i].shape;
        if (cal_model_shapes_may_touch(model, shape[0], shape[1])) return true;
    }
    return false;
}

cal_status cal_model_find_touch(cal_model* model, cal_error* error) {
    model->can_touch = any_pair_touches(model);
    reach all = {0, 0};
    for (int i = 0; i < model->shape_count; i++) {
        const cal_shape_def* shape = &model->shapes[i];
        if (!shape->collides) continue;
        all.category |= shape->category;
        all.mask |= shape->mask;
    }
    if (model->can_touch || !meet(all, all)) return CAL_OK;
    reach* of = cal_allocate((size_t)model->body_count + 1, sizeof *of);
    if (of == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for the shapes of %d bodies", model->body_count);
    for (int i = 0; i < model->shape_count; i++) {
        const cal_shape_def* shape = &model->shapes[i];
        if (!shape->collides) continue;
        reach* own = &of[shape->body == CAL_GROUND ? model->body_count : shape->body];
        own->category |= shape->category;
        own->mask |= shape->mask;
    }
    model->can_touch = any_bodies_touch(model, of, all);
    cal_free(of);
    return CAL_OK;
}
