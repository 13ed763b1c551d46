// A mesh with fewer triangles, for looking at: corners in the same cell of a grid become one, at their mean, and triangles
// that lose an edge go.
//
//      ┌───┬───┬───┐          A surface through n³ cells meets about n² of them and keeps some two triangles in each, times how
//      │ ∴ │ · │   │          it is folded; so n starts at √(wanted/2) and shrinks until few enough are left.
//      └───┴───┴───┘
#include "record/drawing.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum { LEAST_CELLS = 2, EMPTY = -1 };
static const double SHRINK = 0.8; // of the cells along an edge, from try to try

typedef struct clusters {
    double low[3], size;    // corner of the grid, edge of a cell
    int64_t* keys;          // a hash table of cells …
    int32_t* places;        // … and the new corner of each
    int table;              // its size, a power of two
    int32_t* renamed;       // new corner of each old one
    double* sums;           // 3 a new corner, and then their means
    int32_t *counts, count; // of the old ones in it; of the new corners
    int32_t* kept;          // 3 a triangle
    int kept_count;
} clusters;

static void release(clusters* c) {
    cal_free(c->keys);
    cal_free(c->places);
    cal_free(c->renamed);
    cal_free(c->sums);
    cal_free(c->counts);
    cal_free(c->kept);
}

static bool prepare(clusters* c, const cal_mesh_def* mesh) {
    const size_t vertices = (size_t)mesh->vertex_count;
    c->table = 64;
    while (c->table < 2 * mesh->vertex_count) c->table *= 2;
    c->keys = cal_allocate((size_t)c->table, sizeof *c->keys);
    c->places = cal_allocate((size_t)c->table, sizeof *c->places);
    c->renamed = cal_allocate(vertices + 1, sizeof *c->renamed);
    c->sums = cal_allocate(3 * vertices + 1, sizeof *c->sums);
    c->counts = cal_allocate(vertices + 1, sizeof *c->counts);
    c->kept = cal_allocate(3 * (size_t)mesh->triangle_count + 1, sizeof *c->kept);
    return c->keys && c->places && c->renamed && c->sums && c->counts && c->kept;
}

// The largest edge of the box around a mesh.
static double measure(const cal_mesh_def* mesh, double low[3]) {
    double edge = 0;
    for (int k = 0; k < 3; k++) {
        double least = INFINITY, most = -INFINITY;
        for (int i = 0; i < mesh->vertex_count; i++) {
            least = fmin(least, mesh->vertices[3 * i + k]);
            most = fmax(most, mesh->vertices[3 * i + k]);
        }
        low[k] = least;
        edge = fmax(edge, most - least);
    }
    return edge;
}

// The new corner for a cell.
static int32_t find_place(clusters* c, int64_t key) {
    uint64_t at = ((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
    for (;; at++) {
        const size_t i = (size_t)(at & (uint64_t)(c->table - 1));
        if (c->places[i] == EMPTY) {
            c->keys[i] = key;
            c->places[i] = c->count;
            return c->count++;
        }
        if (c->keys[i] == key) return c->places[i];
    }
}

static void merge(clusters* c, const cal_mesh_def* mesh) {
    c->count = c->kept_count = 0;
    for (int i = 0; i < c->table; i++) c->places[i] = EMPTY;
    memset(c->sums, 0, 3 * (size_t)mesh->vertex_count * sizeof *c->sums);
    memset(c->counts, 0, (size_t)mesh->vertex_count * sizeof *c->counts);
    for (int i = 0; i < mesh->vertex_count; i++) {
        int64_t key = 0;
        for (int k = 0; k < 3; k++)
            key = key << 20 | (int64_t)((mesh->vertices[3 * i + k] - c->low[k]) / c->size + 0.5);
        const int32_t place = c->renamed[i] = find_place(c, key);
        for (int k = 0; k < 3; k++) c->sums[3 * place + k] += mesh->vertices[3 * i + k];
        c->counts[place]++;
    }
    for (int i = 0; i < mesh->triangle_count; i++) {
        const int32_t* corners = mesh->triangles + 3 * i;
        const int32_t a = c->renamed[corners[0]], b = c->renamed[corners[1]], d = c->renamed[corners[2]];
        if (a == b || b == d || d == a) continue;
        int32_t* kept = c->kept + 3 * c->kept_count++;
        kept[0] = a, kept[1] = b, kept[2] = d;
    }
}

bool cal_mesh_coarsen(const cal_mesh_def* mesh, int wanted, cal_mesh_def* out) {
    clusters c = {0};
    *out = *mesh;
    const double edge = measure(mesh, c.low);
    if (!(edge > 0 && isfinite(edge)) || !prepare(&c, mesh)) {
        release(&c);
        return false;
    }
    int cells = (int)fmin(fmax(sqrt(wanted / 2.0), LEAST_CELLS), 1000);
    for (c.kept_count = INT32_MAX; c.kept_count > wanted && cells >= LEAST_CELLS; cells = (int)(SHRINK * cells)) {
        c.size = edge / cells;
        merge(&c, mesh);
    }
    const bool made = c.kept_count > 0 && c.kept_count <= wanted;
    if (made) {
        for (int i = 0; i < c.count; i++)
            for (int k = 0; k < 3; k++) c.sums[3 * i + k] /= c.counts[i];
        out->vertices = c.sums;
        out->triangles = c.kept;
        out->vertex_count = c.count;
        out->triangle_count = c.kept_count;
        out->columns = 0;
        c.sums = NULL;
        c.kept = NULL;
    }
    release(&c);
    return made;
}
