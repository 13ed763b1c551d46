// Who may touch whom in a world that was made of a model.
//
// Models say it of shapes: categories and masks, pairs that touch in any case, bodies that are excluded. A world says it of
// bodies. So for two bodies of the world all their pairs of shapes must agree; where some touch and some do not, the model
// cannot become a world. A root link never touches the body without joints that carries it, since their joint is there.
#include "world/from_model.h"
#include <string.h>

static bool listed_pair(const cal_model* model, int a, int b) {
    for (int i = 0; i < cal_model_pair_count(model); i++) {
        cal_pair_def pair;
        cal_model_pair(model, i, &pair);
        if ((pair.shape[0] == a && pair.shape[1] == b) || (pair.shape[0] == b && pair.shape[1] == a)) return true;
    }
    return false;
}

static bool excluded(const cal_model* model, int a, int b) {
    for (int i = 0; i < cal_model_exclusion_count(model); i++) {
        int bodies[2];
        cal_model_exclusion(model, i, bodies);
        if ((bodies[0] == a && bodies[1] == b) || (bodies[0] == b && bodies[1] == a)) return true;
    }
    return false;
}

// Whether b is a body without joints, and a the root of a tree that hangs from it.
static bool carries(const cal_import* m, int a, int b) {
    if (a == CAL_GROUND || b == CAL_GROUND || m->top[a] != a || m->top[b] != CAL_GROUND) return false;
    cal_body_def def;
    cal_model_body(m->model, a, &def);
    return def.parent == b;
}

static bool may_touch(const cal_import* m, int a, int b, const cal_shape_def* x, const cal_shape_def* y) {
    if (listed_pair(m->model, a, b)) return true;
    if ((x->category & y->mask) == 0 && (y->category & x->mask) == 0) return false;
    return !excluded(m->model, x->body, y->body) && !carries(m, x->body, y->body) && !carries(m, y->body, x->body);
}

static cal_status sort_pair(cal_import* m, int a, int b, cal_error* error) {
    cal_world* world = m->world;
    bool some = false, every = true;
    for (int i = m->first_of_part[a]; i >= 0; i = m->next_of_part[i])
        for (int k = m->first_of_part[b]; k >= 0; k = m->next_of_part[k]) {
            cal_shape_def x, y;
            cal_model_shape(m->model, i, &x);
            cal_model_shape(m->model, k, &y);
            if (!x.collides || !y.collides) continue;
            const bool touch = may_touch(m, i, k, &x, &y);
            some |= touch;
            every &= touch;
        }
    char one[64], other[64];
    if (some && !every)
        return cal_fail(error, CAL_BAD_MODEL,
                        "of the shapes of %.60s and %.60s some may touch and some may not (categories, masks, pairs or "
                        "exclusions); in a world two bodies do or do not",
                        cal_world_part_name(world, a, one, sizeof one),
                        cal_world_part_name(world, b, other, sizeof other));
    if (every) return CAL_OK;
    const cal_status status = cal_world_ignore_pair(world, cal_world_body(world, a), cal_world_body(world, b));
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "out of memory for pairs");
}

// A world has one friction for a pair of shapes: everybody's, or the larger one of the two.
static cal_status check_pairs(const cal_import* m, cal_error* error) {
    for (int i = 0; i < cal_model_pair_count(m->model); i++) {
        cal_pair_def pair;
        cal_shape_def x, y;
        cal_model_pair(m->model, i, &pair);
        cal_model_shape(m->model, pair.shape[0], &x);
        cal_model_shape(m->model, pair.shape[1], &y);
        if (m->world->def.friction < 0.0 && pair.friction != fmax(x.friction, y.friction))
            return cal_fail(error, CAL_BAD_MODEL,
                            "contact pair %d has a friction of its own, %g, and its shapes have %g and %g; give the "
                            "shapes that friction, or all contacts one",
                            i, pair.friction, x.friction, y.friction);
        if (!x.collides || !y.collides)
            return cal_fail(error, CAL_BAD_MODEL,
                            "contact pair %d names a shape that otherwise touches nothing; give it a category", i);
    }
    return CAL_OK;
}

// Most models leave every shape as it is, and then there is nothing to sort.
static bool is_plain(const cal_import* m) {
    if (cal_model_exclusion_count(m->model) > 0) return false;
    for (int i = 0; i < m->shape_count; i++) {
        cal_shape_def def;
        cal_model_shape(m->model, i, &def);
        if (def.collides && (def.category != 1 || def.mask != 1)) return false;
    }
    for (int body = 0; body < m->body_count; body++) {
        cal_body_def def;
        cal_model_body(m->model, body, &def);
        if (def.parent != CAL_GROUND && carries(m, body, def.parent)) return false;
    }
    return true;
}

cal_status cal_import_pairs(cal_import* m, cal_error* error) {
    const cal_world* world = m->world;
    cal_status status = check_pairs(m, error);
    if (status != CAL_OK || is_plain(m)) return status;
    for (int a = 0; status == CAL_OK && a < world->part_count; a++)
        for (int b = a + 1; status == CAL_OK && b < world->part_count; b++) {
            const cal_part *x = &world->parts[a], *y = &world->parts[b];
            if (x->def.motion == CAL_FIXED && y->def.motion == CAL_FIXED) continue;
            if (x->multibody >= 0 && x->multibody == y->multibody) continue;
            status = sort_pair(m, a, b, error);
        }
    return status;
}
