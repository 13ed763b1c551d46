// Bundles: branches of one shape, W side by side (layout.h).
//
// Two branches have one *shape* where their joints are of the same kinds in the same tree. W of them need no lanes of their own parents
// but at their roots: below these every column hangs under one other column, lane under lane, as the copies of a batch do. Trees are full
// of small branches that are alike, whatever they are above: of a random tree of every kind of joint half.
//
// Shapes are known by a hash of what is below a node, and compared where hashes are equal.
#include "layout/workshop.h"

#include "base/memory.h"

#include <stdlib.h>

typedef struct branch {
    uint64_t shape;
    int32_t size, node;
} branch;

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

// Of every node the shape of what is below it; children come after their parents.
uint64_t* cal_find_shapes(const cal_model* model) {
    uint64_t* shapes = cal_allocate((size_t)model->node_count, sizeof *shapes);
    for (int node = model->node_count - 1; shapes && node >= 0; node--) {
        const cal_node* n = &model->nodes[node];
        uint64_t hash = mix(0, (uint64_t)n->kind + 1);
        for (int child = node + 1; child < n->end; child = model->nodes[child].end) hash = mix(hash, shapes[child]);
        shapes[node] = mix(hash, (uint64_t)(n->end - node));
    }
    return shapes;
}

static int compare_branches(const void* left, const void* right) {
    const branch *a = left, *b = right;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    if (a->shape != b->shape) return a->shape < b->shape ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static bool have_one_shape(const cal_model* model, int a, int b) {
    const cal_node *left = &model->nodes[a], *right = &model->nodes[b];
    const int size = left->end - a;
    for (int i = 0; i < size; i++)
        if (left[i].kind != right[i].kind || left[i].end - a != right[i].end - b) return false;
    return true;
}

// Takes whole bundles of the branches first … end - 1, which have one shape, as far as nothing else has taken them.
static void take_whole(const cal_model* model, branch* branches, int first, int end, int width, cal_bundled* bundled) {
    const int likeness = branches[first].node;
    int count = 0;
    for (int i = first; i < end; i++) {
        branch* own = &branches[i];
        const bool fits = bundled[own->node] == CAL_NOT_BUNDLED && have_one_shape(model, likeness, own->node);
        count += fits;
        if (!fits) own->node = -1;
    }
    count -= count % width;
    for (int i = first; i < end && count > 0; i++) {
        const int node = branches[i].node;
        if (node < 0) continue;
        for (int below = node + 1; below < model->nodes[node].end; below++) bundled[below] = CAL_BUNDLED_BELOW;
        bundled[node] = CAL_BUNDLE_ROOT;
        count--;
    }
}

bool cal_choose_bundles(const cal_model* model, const uint64_t* shapes, const cal_hanging* roots, int root_count,
                        int width, cal_bundled* bundled) {
    size_t count = 0;
    for (int i = 0; i < root_count; i++) count += (size_t)(model->nodes[roots[i].node].end - roots[i].node);
    branch* branches = cal_allocate(count, sizeof *branches);
    if (!branches) return false;
    int all = 0;
    for (int i = 0; i < root_count; i++)
        for (int node = roots[i].node; node < model->nodes[roots[i].node].end; node++) {
            branches[all++] = (branch){shapes[node], model->nodes[node].end - node, node};
            bundled[node] = CAL_NOT_BUNDLED;
        }
    if (all > 1) qsort(branches, (size_t)all, sizeof *branches, compare_branches);
    // The largest first: what is below them is theirs.
    for (int first = 0, end; first < all; first = end) {
        for (end = first + 1; end < all && branches[end].shape == branches[first].shape; end++) {}
        take_whole(model, branches, first, end, width, bundled);
    }
    cal_free(branches);
    return true;
}
