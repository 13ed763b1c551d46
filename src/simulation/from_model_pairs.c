// Who may touch whom in a world that was made of a model.
//
// Models say it of shapes (categories and masks, pairs that touch in any case) and of bodies (exclusions; a body and the one that
// it hangs from). A world knows categories and masks of shapes, and pairs of bodies that pass through each other. So
//
//     category & mask    as they are
//     <pair>             a bit that no shape of the model has: in the category of the one, in the mask of the other
//     anything else      the world's two bodies pass through each other (exclusions, joints). Where a <pair> says that two of
//                        their shapes touch nevertheless, all others of them must be unable to, or the model cannot become a
//                        world
//
// A root link never touches the body without joints that carries it, since their joint is there.
#include "base/memory.h"
#include "model/touch.h"
#include "simulation/body.h"
#include "simulation/event/pairs.h"
#include "simulation/from_model.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <limits.h>

// A body's list of shapes begins with the one that was added last.
static cal_shape_def* shape_in_world(const cal_import* m, int shape) {
    int before = 0;
    for (int other = m->next_of_part[shape]; other >= 0; other = m->next_of_part[other]) before++;
    return &m->world->bodies[m->part_of_shape[shape]].shapes[before];
}

// Two bodies of the world of whose shapes the model (model/touch.c) lets none touch pass through each other.
static cal_status sort_pair(cal_import* m, int a, int b, cal_error* error) {
    bool some = false, wrong = false;
    for (int i = m->first_of_part[a]; i >= 0; i = m->next_of_part[i])
        for (int k = m->first_of_part[b]; k >= 0; k = m->next_of_part[k]) {
            const bool touch = cal_model_shapes_may_touch(m->model, i, k);
            some |= touch;
            wrong |= !touch && cal_shapes_match(&m->model->shapes[i], &m->model->shapes[k]);
        }
    char one[64], other[64];
    if (some && wrong)
        return cal_fail(error, CAL_BAD_MODEL,
                        "of the shapes of %.60s and %.60s some may touch and some may not, by exclusions, joints and "
                        "contact pairs; in a world only categories and masks tell shapes of a body apart",
                        cal_body_name_at(m->world, a, one, sizeof one),
                        cal_body_name_at(m->world, b, other, sizeof other));
    if (some || !wrong || cal_world_ignore(m->world, a, b)) return CAL_OK;
    return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs");
}

// Every body of the world with shapes of one body of the model against every one with shapes of another.
static cal_status sort_bodies(cal_import* m, int a, int b, cal_error* error) {
    const int first_a = m->first_shape[a == CAL_GROUND ? m->body_count : a];
    const int first_b = m->first_shape[b == CAL_GROUND ? m->body_count : b];
    cal_status status = CAL_OK;
    for (int i = first_a, last = -1; status == CAL_OK && i >= 0; i = m->next_shape[i]) {
        if (m->part_of_shape[i] == last) continue;
        last = m->part_of_shape[i];
        for (int k = first_b, other = -1; status == CAL_OK && k >= 0; k = m->next_shape[k]) {
            if (m->part_of_shape[k] == other) continue;
            other = m->part_of_shape[k];
            if (last != other) status = sort_pair(m, last, other, error);
        }
    }
    return status;
}

// Whether a shape touches others by listed pairs alone, all of which have this friction.
static bool has_one_friction(const cal_import* m, int shape, double friction) {
    const cal_shape_def* def = &m->model->shapes[shape];
    if (def->collides && (def->category != 0 || def->mask != 0)) return false;
    for (int i = 0; i < cal_model_pair_count(m->model); i++) {
        const cal_pair_def* pair = &m->model->kept.pairs[i];
        if ((pair->shape[0] == shape || pair->shape[1] == shape) && pair->friction != friction) return false;
    }
    return true;
}

// A world has one friction for a pair of shapes: everybody's, or that of the two. A pair's own becomes that of a shape that touches others
// by such pairs alone, with a priority above all others.
static cal_status settle_frictions(const cal_import* m, cal_error* error) {
    int highest = 0;
    for (int i = 0; i < m->shape_count; i++)
        if (m->model->shapes[i].priority > highest) highest = m->model->shapes[i].priority;
    for (int i = 0; m->world->def.friction < 0.0 && i < cal_model_pair_count(m->model); i++) {
        cal_pair_def pair;
        cal_shape_def x, y;
        cal_model_pair(m->model, i, &pair);
        cal_model_shape(m->model, pair.shape[0], &x);
        cal_model_shape(m->model, pair.shape[1], &y);
        if (pair.friction == cal_shapes_friction(&x, &y)) continue;
        const int owner = has_one_friction(m, pair.shape[0], pair.friction)   ? 0
                          : has_one_friction(m, pair.shape[1], pair.friction) ? 1
                                                                              : -1;
        if (owner >= 0 && highest < INT_MAX) {
            cal_shape_def* own = shape_in_world(m, pair.shape[owner]);
            own->friction = pair.friction;
            own->priority = highest + 1;
        } else
            return cal_fail(error, CAL_BAD_MODEL,
                            "contact pair %d has a friction of its own, %g, and its shapes have %g and %g; give the "
                            "shapes that friction, or all contacts one",
                            i, pair.friction, x.friction, y.friction);
    }
    return CAL_OK;
}

// Gives each listed pair a bit of its own, or shares that of a shape that is in several.
static cal_status list_pairs(const cal_import* m, cal_error* error) {
    uint32_t used = 0;
    for (int i = 0; i < m->shape_count; i++) {
        cal_shape_def def;
        cal_model_shape(m->model, i, &def);
        if (def.collides) used |= def.category | def.mask;
    }
    uint32_t* bits = cal_allocate((size_t)m->shape_count + 1, sizeof *bits);
    if (bits == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs");
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < cal_model_pair_count(m->model); i++) {
        cal_pair_def pair;
        cal_model_pair(m->model, i, &pair);
        cal_shape_def *x = shape_in_world(m, pair.shape[0]), *y = shape_in_world(m, pair.shape[1]);
        if (!x->collides) x->collides = true, x->category = x->mask = 0; // it touches this one and no other
        if (!y->collides) y->collides = true, y->category = y->mask = 0;
        if (cal_shapes_match(x, y)) continue;
        const int owner = bits[pair.shape[1]] != 0 && bits[pair.shape[0]] == 0 ? 1 : 0;
        uint32_t bit = bits[pair.shape[owner]];
        if (bit == 0) {
            bit = ~used & (used + 1);
            if (bit == 0)
                status = cal_fail(error, CAL_BAD_MODEL,
                                  "contact pair %d: all 32 bits of categories and masks are in use; use fewer of them, "
                                  "or fewer pairs",
                                  i);
            used |= bit;
            bits[pair.shape[owner]] = bit;
        }
        (owner == 0 ? x : y)->category |= bit;
        (owner == 0 ? y : x)->mask |= bit;
    }
    cal_free(bits);
    return status;
}

cal_status cal_import_pairs(cal_import* m, cal_error* error) {
    cal_status status = settle_frictions(m, error);
    if (status == CAL_OK) status = list_pairs(m, error);
    for (int i = 0; status == CAL_OK && i < cal_model_exclusion_count(m->model); i++) {
        int bodies[2];
        cal_model_exclusion(m->model, i, bodies);
        status = sort_bodies(m, bodies[0], bodies[1], error);
    }
    for (int body = 0; status == CAL_OK && body < m->body_count; body++) {
        const int parent = m->model->bodies[body].parent;
        if (parent != CAL_GROUND && m->top[body] == body && m->top[parent] == CAL_GROUND)
            status = sort_bodies(m, body, parent, error);
    }
    for (int i = 0; status == CAL_OK && i < m->world->multibody_count; i++) {
        cal_multibody* links = m->world->multibodies[i];
        links->touches_itself = true;
        for (int a = 0; a < links->engine->body_count; a++)
            for (int b = a + 1; status == CAL_OK && b < links->engine->body_count; b++)
                status = sort_pair(m, links->bodies[a], links->bodies[b], error);
    }
    return status;
}
