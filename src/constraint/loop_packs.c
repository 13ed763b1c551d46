// Packs of a set of constraints (loop_packs.h).
#include "constraint/loop_packs.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

// Fewer of a shape gain nothing: rows of one constraint go in lanes, too.
enum { LEAST = 2 };

void cal_packs_destroy(cal_constraints* set) {
    void* arrays[] = {set->shapes, set->shape, set->packs, set->singles, set->filling};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
}

typedef struct candidate {
    cal_pack_shape shape;
    int32_t constraint;
} candidate;

static int compare_candidates(const void* a, const void* b) {
    const candidate *x = a, *y = b;
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): shapes are cleared before they are filled
    const int order = memcmp(&x->shape, &y->shape, sizeof x->shape);
    return order != 0 ? order : (x->constraint > y->constraint) - (x->constraint < y->constraint);
}

static int find_candidates(const cal_constraints* set, candidate* out) {
    const cal_model* model = set->model;
    int count = 0;
    for (int c = 0; c < model->constraint_count; c++) {
        // In the order of the tree there is no Y, and paths do not matter.
        const int32_t first = set->support_start[c], nodes = set->loops ? 0 : set->support_start[c + 1] - first;
        out[count].constraint = c;
        if (cal_pack_find_shape(model, c, set->frames + 2 * (size_t)c, set->support + first, nodes, &out[count].shape))
            count++;
    }
    qsort(out, (size_t)count, sizeof *out, compare_candidates);
    return count;
}

bool cal_packs_create(cal_constraints* set) {
    const size_t count = (size_t)set->model->constraint_count;
    candidate* found = cal_allocate(count, sizeof *found);
    set->shape = cal_allocate(count, sizeof *set->shape);
    set->singles = cal_allocate(count, sizeof *set->singles);
    bool good = found && set->shape && set->singles;
    if (good) {
        const int shaped = find_candidates(set, found);
        int packs = 0;
        for (size_t c = 0; c < count; c++) set->shape[c] = -1;
        // Shapes that several have, one after the other.
        for (int pass = 0; pass < 2 && good; pass++) {
            set->shape_count = packs = 0;
            for (int first = 0, end; first < shaped; first = end) {
                for (end = first + 1; end < shaped && cal_pack_same_shape(&found[first].shape, &found[end].shape);)
                    end++;
                if (end - first < LEAST) continue;
                if (pass == 1) set->shapes[set->shape_count] = found[first].shape;
                for (int i = first; i < end; i++) set->shape[found[i].constraint] = set->shape_count;
                packs += (end - first + CAL_PACK_LANES - 1) / CAL_PACK_LANES;
                set->shape_count++;
            }
            if (pass == 1) break;
            set->shapes = cal_allocate((size_t)set->shape_count, sizeof *set->shapes);
            set->filling = cal_allocate((size_t)set->shape_count, sizeof *set->filling);
            set->packs = cal_allocate((size_t)packs, sizeof *set->packs);
            good = set->shapes && set->filling && set->packs;
        }
    }
    cal_free(found);
    return good;
}

void cal_packs_fill(cal_constraints* set) {
    const cal_model* model = set->model;
    set->pack_count = set->single_count = 0;
    for (int s = 0; s < set->shape_count; s++) set->filling[s] = -1;
    for (int place = 0; place < model->constraint_count; place++) {
        const int c = set->order[place], s = set->shape[c];
        if (!set->active[c]) continue;
        if (s < 0) {
            set->singles[set->single_count++] = place;
            continue;
        }
        if (set->filling[s] < 0 || set->packs[set->filling[s]].count == CAL_PACK_LANES) {
            set->filling[s] = set->pack_count++;
            set->packs[set->filling[s]].shape = &set->shapes[s];
            set->packs[set->filling[s]].count = 0;
        }
        cal_pack_add(&set->packs[set->filling[s]], model, c, set->frames + 2 * (size_t)c,
                     set->support + set->support_start[c], set->first_row[place], set->y_start[c]);
        cal_pack_begin_rows(&set->packs[set->filling[s]], set->packs[set->filling[s]].count - 1, set->rows);
        for (int r = 0; r < set->shapes[s].row_count; r++)
            set->turns[set->first_row[place] + r] = set->shapes[s].rows[r].kind == CAL_PACK_TURN;
    }
}
