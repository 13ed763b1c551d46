// Height fields as prisms.
//
//     (c, r+1) ●────● (c+1, r+1)     Each cell of the grid is cut from its lower left to its upper right corner (the sign
//              │ 1 ╱│                 of x and y is the field's), each triangle reaches down to one common base. A prism's
//              │  ╱ │                 walls are inside the field: a body that slides over them must not catch on one,
//              │ ╱ 0│                 which its depth by a hair would make it do. So a prism knows how far a contact's
//     (c, r)   ●────● (c+1, r)        normal may lean across each wall: as far as its own top's normal or the
//                                     neighbour's, whichever leans further; beyond that the contact is the neighbour's.
#include "base/error.h"
#include "base/memory.h"
#include "collide/height_field.h"

static const double lean_slack = 1e-6; // so that rounding does not drop a contact on the very edge

typedef struct grid {
    const double* vertices; // in the height field's frame
    int columns, rows;
} grid;

static const double* at(const grid* g, int column, int row) {
    return g->vertices + 3 * ((size_t)row * (size_t)g->columns + (size_t)column);
}

// Corners of triangle `half` of a cell, counterclockwise from above. Walls: from corner k to k + 1.
static void corners(const grid* g, int column, int row, int half, const double* out[3]) {
    out[0] = at(g, column, row);
    out[1] = half == 0 ? at(g, column + 1, row) : at(g, column + 1, row + 1);
    out[2] = half == 0 ? at(g, column + 1, row + 1) : at(g, column, row + 1);
}

// The triangle beyond wall k; false: the field's rim.
static bool beyond(const grid* g, int column, int row, int half, int wall, int out[3]) {
    static const int step[2][3][3] = {{{0, -1, 1}, {1, 0, 1}, {0, 0, 1}}, {{0, 0, 0}, {0, 1, 0}, {-1, 0, 0}}};
    out[0] = column + step[half][wall][0];
    out[1] = row + step[half][wall][1];
    out[2] = step[half][wall][2];
    return out[0] >= 0 && out[0] < g->columns - 1 && out[1] >= 0 && out[1] < g->rows - 1;
}

static void top_normal(const grid* g, int column, int row, int half, double out[3]) {
    const double* p[3];
    double e[3], f[3];
    corners(g, column, row, half, p);
    cal_subtract3(p[1], p[0], e);
    cal_subtract3(p[2], p[0], f);
    cal_cross3(e, f, out);
    cal_normalize3(out);
}

cal_status cal_height_field_check(const cal_piece_def* def, const char* who, int* prisms, cal_error* error) {
    const int columns = def->columns;
    if (columns < 2 || def->vertex_count % columns != 0 || def->vertex_count / columns < 2)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: %d vertices are no grid of at least 2 rows of %d", who,
                        def->vertex_count, columns);
    for (size_t i = 0; i < 3 * (size_t)def->vertex_count; i++)
        if (!isfinite(def->vertices[i]))
            return cal_fail(error, CAL_BAD_ARGUMENT, "%s: its vertex %zu is not finite", who, i / 3);
    if (!(def->depth >= 0.0 && isfinite(def->depth)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: its depth is %g; it must not be negative", who, def->depth);
    const grid g = {def->vertices, columns, def->vertex_count / columns};
    for (int row = 0; row + 1 < g.rows; row++)
        for (int column = 0; column + 1 < columns; column++)
            for (int half = 0; half < 2; half++) {
                double n[3];
                top_normal(&g, column, row, half, n);
                if (!(n[2] > 0.0))
                    return cal_fail(error, CAL_BAD_ARGUMENT,
                                    "%s: at column %d, row %d its grid folds over: x must grow along a row, y from "
                                    "row to row",
                                    who, column, row);
            }
    const int64_t count = 2 * (int64_t)(g.rows - 1) * (columns - 1);
    if (count > INT32_MAX / 8)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: a height field of %lld prisms is too large", who,
                        (long long)count);
    *prisms = (int)count;
    return CAL_OK;
}

// The lowest height less the depth.
static double base_height(const grid* g, double depth) {
    double low[3], high[3];
    memcpy(low, g->vertices, sizeof low);
    memcpy(high, g->vertices, sizeof high);
    for (size_t i = 0; i < (size_t)g->columns * (size_t)g->rows; i++)
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], g->vertices[3 * i + (size_t)k]);
            high[k] = fmax(high[k], g->vertices[3 * i + (size_t)k]);
        }
    const double cell = fmax((high[0] - low[0]) / (g->columns - 1), (high[1] - low[1]) / (g->rows - 1));
    return low[2] - (depth > 0.0 ? depth : fmax(cell, high[2] - low[2]));
}

static void make_prism(const grid* g, const cal_pose* frame, double base, int column, int row, int half,
                       double* vertices, double* normals, cal_convex* out) {
    const double* p[3];
    corners(g, column, row, half, p);
    double own[3];
    top_normal(g, column, row, half, own);
    const double local_normals[2][3] = {{own[0], own[1], own[2]}, {0.0, 0.0, -1.0}};
    *out = (cal_convex){.core = CAL_CORE_HULL, .prism = true, .vertex_count = 6, .facet_count = 5};
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(out->frame.rotation, one, sizeof one);
    out->vertices = vertices, out->normals = out->facets = normals, out->topology = &cal_prism_topology;
    for (int i = 0; i < 3; i++) {
        out->up[i] = frame->rotation[3 * i + 2];
        out->across[0][i] = frame->rotation[3 * i], out->across[1][i] = frame->rotation[3 * i + 1];
    }
    for (int k = 0; k < 2; k++) cal_rotate3(frame->rotation, local_normals[k], normals + 3 * k);
    for (int k = 0; k < 3; k++) {
        const double bottom[3] = {p[k][0], p[k][1], base}, *next = p[(k + 1) % 3];
        cal_rotate3(frame->rotation, p[k], vertices + 3 * k);
        cal_rotate3(frame->rotation, bottom, vertices + 9 + 3 * k);
        for (int i = 0; i < 3; i++) {
            vertices[3 * k + i] += frame->position[i];
            vertices[9 + 3 * k + i] += frame->position[i];
        }
        double wall[3] = {next[1] - p[k][1], p[k][0] - next[0], 0.0}, other[3];
        cal_normalize3(wall);
        out->wall[k][0] = wall[0], out->wall[k][1] = wall[1];
        cal_rotate3(frame->rotation, wall, normals + 6 + 3 * k);
        int neighbor[3];
        out->lean[k] = INFINITY;
        if (!beyond(g, column, row, half, k, neighbor)) continue;
        top_normal(g, neighbor[0], neighbor[1], neighbor[2], other);
        out->lean[k] = fmax(cal_dot3(wall, own) / own[2], cal_dot3(wall, other) / other[2]) + lean_slack;
    }
}

cal_status cal_height_field_pieces(const cal_piece_def* def, cal_convex* out, int* made, void* owned[2],
                                   const char* who, cal_error* error) {
    const grid g = {def->vertices, def->columns, def->vertex_count / def->columns};
    const size_t count = 2 * (size_t)(g.rows - 1) * (size_t)(g.columns - 1);
    *made = 0;
    owned[0] = cal_allocate(18 * count, sizeof(double));
    owned[1] = cal_allocate(15 * count, sizeof(double));
    if (owned[0] == NULL || owned[1] == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "%s: out of memory for %zu prisms", who, count);
    const cal_pose frame = cal_pose_make(def->position, def->quaternion);
    const double base = base_height(&g, def->depth);
    for (int row = 0; row + 1 < g.rows; row++)
        for (int column = 0; column + 1 < g.columns; column++)
            for (int half = 0; half < 2; half++) {
                double *vertices = (double*)owned[0] + 18 * (size_t)*made,
                       *normals = (double*)owned[1] + 15 * (size_t)*made;
                make_prism(&g, &frame, base, column, row, half, vertices, normals, &out[*made]);
                ++*made;
            }
    return CAL_OK;
}

bool cal_prism_blocks(const cal_convex* prism, const double normal[3]) {
    const double up = cal_dot3(normal, prism->up);
    const double x = cal_dot3(normal, prism->across[0]), y = cal_dot3(normal, prism->across[1]);
    for (int k = 0; k < 3; k++) {
        const double out = x * prism->wall[k][0] + y * prism->wall[k][1];
        if (!isfinite(prism->lean[k])) continue;
        if (up > 0.0 ? out > prism->lean[k] * up : out > lean_slack) return true;
    }
    return false;
}

bool cal_prism_in_valley(const cal_convex* prism, const double normal[3], double out[3]) {
    const double* top = prism->normals;
    const double up = cal_dot3(normal, prism->up), x = cal_dot3(normal, prism->across[0]),
                 y = cal_dot3(normal, prism->across[1]), height = cal_dot3(top, prism->up);
    for (int k = 0; k < 3; k++) {
        const double *wall = prism->wall[k],
                     own = wall[0] * cal_dot3(top, prism->across[0]) + wall[1] * cal_dot3(top, prism->across[1]);
        if (x * wall[0] + y * wall[1] > prism->lean[k] * up &&
            own + 2.0 * lean_slack * height < prism->lean[k] * height)
            return false;
    }
    memcpy(out, top, 3 * sizeof *out);
    return up > 0.0;
}
