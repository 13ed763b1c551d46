// What boxes of one domain overlap in another one. A look into a grid goes through all cells that a box may have partners in, some thousand instructions. Several
// boxes along one border have most of these cells in common: one look at all that the other domain has there, sorted along the longest edge of what is
// common, and each box is compared with those that are beside it.
#include "base/memory.h"
#include "simulation/domain/domain.h"
#include "simulation/world.h"

// A look for one box goes through the cells of twice its edges: centres of those that it overlaps may be by half of theirs outside of it on both sides, and these
// are as large as it is.
#define LOOKED_AT 8.0

double cal_box_volume(const cal_box* box) {
    return (box->high[0] - box->low[0]) * (box->high[1] - box->low[1]) * (box->high[2] - box->low[2]);
}

static bool add_id(cal_broad_ids* list, int32_t id) {
    if (!cal_grow((void**)&list->ids, &list->capacity, list->count, sizeof *list->ids)) return false;
    list->ids[list->count++] = id;
    return true;
}

static bool add_near(cal_border_look* look, int body, const cal_box* box) {
    if (!cal_grow((void**)&look->near, &look->near_capacity, look->near_count, sizeof *look->near)) return false;
    look->near[look->near_count++] = (cal_outer){.body = body, .box = *box};
    return true;
}

// The slice in which a place along the axis is; those outside are in the first and last one.
static int slice_of(const cal_border_look* look, double place) {
    const double slice = (place - look->from) * look->per_length;
    return slice >= 0.0 ? slice < CAL_LOOK_SLICES ? (int)slice : CAL_LOOK_SLICES - 1 : 0;
}

static int longest_axis(const cal_box* box) {
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (box->high[i] - box->low[i] > box->high[axis] - box->low[axis]) axis = i;
    return axis;
}

// Whether a slice is so much longer than places are rounded by (2^-53) that one more holds all that rounding may have moved.
static bool can_be_sliced(const cal_box* all) {
    const int axis = longest_axis(all);
    const double length = all->high[axis] - all->low[axis], largest = fmax(fabs(all->low[axis]), fabs(all->high[axis]));
    return isfinite(length) && length > 0x1p-20 * largest;
}

// Sorts by the slices of their lower ends: counts, then places.
static bool sort_near(cal_border_look* look, const cal_box* all) {
    int next[CAL_LOOK_SLICES + 1] = {0};
    const int axis = look->axis = longest_axis(all);
    look->from = all->low[axis];
    look->per_length = CAL_LOOK_SLICES / (all->high[axis] - all->low[axis]);
    look->widest = 0.0;
    if (look->sorted_capacity < look->near_capacity) {
        cal_free(look->sorted);
        look->sorted = cal_allocate((size_t)look->near_capacity, sizeof *look->sorted);
        look->sorted_capacity = look->sorted != NULL ? look->near_capacity : 0;
        if (look->sorted == NULL) return false;
    }
    for (int i = 0; i < look->near_count; i++) {
        const cal_box* box = &look->near[i].box;
        next[slice_of(look, box->low[axis]) + 1]++;
        look->widest = fmax(look->widest, box->high[axis] - box->low[axis]);
    }
    for (int k = 0; k < CAL_LOOK_SLICES; k++) next[k + 1] += next[k];
    for (int k = 0; k <= CAL_LOOK_SLICES; k++) look->slices[k] = next[k];
    for (int i = 0; i < look->near_count; i++)
        look->sorted[next[slice_of(look, look->near[i].box.low[axis])]++] = look->near[i];
    return true;
}

static bool add_found(cal_border_look* look, int body) {
    cal_broad_ids* found = &look->found;
    if (!add_id(found, body)) return false;
    for (int k = found->count - 1; k > 0 && found->ids[k - 1] > found->ids[k]; k--) {
        const int32_t larger = found->ids[k - 1];
        found->ids[k - 1] = found->ids[k], found->ids[k] = larger;
    }
    return true;
}

bool cal_look_begin(const cal_domains* d, cal_border_look* look, const cal_domain* other, double volume,
                    const cal_box* all) {
    const int32_t* ids;
    const cal_broad* broad = other->world->broad;
    look->sliced = false;
    look->near_count = 0;
    if (!can_be_sliced(all)) return true;
    if (!(LOOKED_AT * volume >= cal_box_volume(all))) return true; // one by one they go through fewer cells
    const int count = cal_broad_look(broad, all, &look->scratch, &ids);
    bool enough = count >= 0;
    for (int i = 0; enough && i < count; i++)
        if (d->whole->bodies[ids[i]].component >= 0) enough = add_near(look, ids[i], cal_broad_box(broad, ids[i]));
    look->sliced = enough && sort_near(look, all);
    return look->sliced;
}

int cal_look_overlaps(cal_border_look* look, const cal_domain* other, const cal_box* box, const int32_t** out) {
    if (!look->sliced) return cal_broad_look(other->world->broad, box, &look->scratch, out);
    const int first = slice_of(look, box->low[look->axis] - look->widest), last = slice_of(look, box->high[look->axis]);
    look->found.count = 0;
    for (int i = look->slices[first > 0 ? first - 1 : 0]; i < look->slices[last + 1]; i++)
        if (cal_box_overlap(box, &look->sorted[i].box) && !add_found(look, look->sorted[i].body)) return -1;
    *out = look->found.ids;
    return look->found.count;
}

void cal_look_free(cal_border_look* look) {
    cal_free(look->finds);
    cal_free(look->near);
    cal_free(look->sorted);
    cal_free(look->found.ids);
    cal_broad_scratch_free(&look->scratch);
}
