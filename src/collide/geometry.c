// Geometries: pieces from definitions, bounds about them, and a tree of boxes over them.
#include "base/error.h"
#include "base/memory.h"
#include "collide/convex.h"
#include "collide/height_field.h"
#include <float.h>
#include <stdio.h>

enum { TEXT = 96, LARGEST_FACES = 4096 };

cal_piece_def cal_default_piece_def(void) {
    return (cal_piece_def){
        .kind = CAL_SPHERE, .quaternion = {1.0, 0.0, 0.0, 0.0}, .size = {0.5, 0.5, 0.5}, .category = 1, .mask = 1};
}

static cal_status validate(const cal_piece_def* def, const char* who, cal_error* error) {
    if ((int)def->kind < CAL_SPHERE || (int)def->kind > CAL_HEIGHT_FIELD)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: its kind is %d, which is no kind of shape", who, (int)def->kind);
    double length = 0.0;
    for (int i = 0; i < 4; i++) {
        if (!isfinite(def->quaternion[i]) || (i < 3 && !isfinite(def->position[i])))
            return cal_fail(error, CAL_BAD_ARGUMENT, "%s: its position or quaternion is not finite", who);
        length += def->quaternion[i] * def->quaternion[i];
    }
    if (!(length > 0.0 && isfinite(length)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: its quaternion has no direction; no rotation is (1, 0, 0, 0)",
                        who);
    for (int i = 0; i < cal_shape_size_count(def->kind); i++)
        if (!(def->size[i] > 0.0 && isfinite(def->size[i])))
            return cal_fail(error, CAL_BAD_ARGUMENT, "%s: a %s of size %g; it must be above zero", who,
                            cal_shape_kind_name(def->kind), def->size[i]);
    const bool meshed = def->kind == CAL_MESH || def->kind == CAL_HEIGHT_FIELD;
    if (meshed && (def->vertices == NULL || def->vertex_count < 1))
        return cal_fail(error, CAL_BAD_ARGUMENT, "%s: a %s without vertices", who, cal_shape_kind_name(def->kind));
    return CAL_OK;
}

static const cal_pose identity = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};

static cal_status make_hull(const cal_piece_def* def, cal_convex* out, void* owned[2], const char* who,
                            cal_error* error) {
    double* points = cal_allocate(3 * (size_t)def->vertex_count, sizeof *points);
    if (points == NULL) return cal_fail(error, CAL_NO_MEMORY, "%s: out of memory for its vertices", who);
    const cal_pose frame = cal_pose_make(def->position, def->quaternion);
    for (size_t i = 0; i < (size_t)def->vertex_count; i++) {
        cal_rotate3(frame.rotation, def->vertices + 3 * i, points + 3 * i);
        for (size_t k = 0; k < 3; k++) points[3 * i + k] += frame.position[k];
    }
    const cal_status status = cal_hull_piece(points, def->vertex_count, out, owned, who, error);
    out->frame = identity;
    cal_free(points);
    return status;
}

static cal_status make_piece(const cal_piece_def* def, cal_convex* out, void* owned[2], const char* who,
                             cal_error* error) {
    owned[0] = owned[1] = NULL;
    *out = (cal_convex){.frame = cal_pose_make(def->position, def->quaternion)};
    memcpy(out->size, def->size, sizeof out->size);
    switch (def->kind) {
    case CAL_SPHERE:
        out->core = CAL_CORE_POINT;
        out->radius = def->size[0];
        break;
    case CAL_CAPSULE:
        out->core = CAL_CORE_SEGMENT;
        out->radius = def->size[0];
        out->size[0] = def->size[1];
        break;
    case CAL_ELLIPSOID:
        out->core = CAL_CORE_ELLIPSOID;
        if (def->size[0] == def->size[1] && def->size[1] == def->size[2]) {
            out->core = CAL_CORE_POINT;
            out->radius = def->size[0];
        }
        break;
    case CAL_CYLINDER: out->core = CAL_CORE_CYLINDER; break;
    case CAL_BOX:
        out->core = CAL_CORE_BOX;
        out->topology = &cal_box_topology;
        out->normals = cal_box_normals;
        out->vertex_count = 8;
        break;
    case CAL_PLANE: out->core = CAL_CORE_HALF_SPACE; break;
    case CAL_MESH: return make_hull(def, out, owned, who, error);
    case CAL_HEIGHT_FIELD: break;
    }
    return CAL_OK;
}

// --- Bounds -----------------------------------------------------------------------------------------------------------

// How far a piece reaches along a unit direction of the geometry's frame; infinite for most directions of a half space.
static double reach_along(const cal_convex* piece, const double d[3]) {
    double local[3], point[3], out[3];
    cal_unrotate3(piece->frame.rotation, d, local);
    if (piece->core == CAL_CORE_HALF_SPACE) {
        if (local[0] != 0.0 || local[1] != 0.0 || local[2] <= 0.0) return INFINITY;
        return cal_dot3(d, piece->frame.position);
    }
    cal_support_local(piece, local, point);
    cal_rotate3(piece->frame.rotation, point, out);
    return cal_dot3(d, out) + cal_dot3(d, piece->frame.position) + piece->radius;
}

// Across facets. Of a hull with many of them the largest faces, which come first: what is thin is thin across those.
static double hull_width(const cal_convex* piece) {
    const bool many = piece->topology->seeds != NULL && piece->topology->face_count > LARGEST_FACES;
    const double* normals = many ? piece->normals : piece->facets;
    const int count = many ? LARGEST_FACES : piece->facet_count;
    double least = INFINITY;
    for (int f = 0; f < count; f++) {
        const double *n = normals + 3 * (size_t)f, opposite[3] = {-n[0], -n[1], -n[2]};
        double low[3], high[3];
        cal_support_local(piece, n, high);
        cal_support_local(piece, opposite, low);
        least = fmin(least, cal_dot3(n, high) - cal_dot3(n, low));
    }
    return least;
}

static double least_width(const cal_convex* piece) {
    const double* s = piece->size;
    switch (piece->core) {
    case CAL_CORE_POINT:
    case CAL_CORE_SEGMENT: return 2.0 * piece->radius;
    case CAL_CORE_BOX:
    case CAL_CORE_ELLIPSOID: return 2.0 * fmin(s[0], fmin(s[1], s[2]));
    case CAL_CORE_CYLINDER: return 2.0 * fmin(s[0], s[1]);
    case CAL_CORE_HULL: return hull_width(piece);
    default: return INFINITY;
    }
}

// Radius of the ball about `from` (geometry's frame) that holds the piece.
static double radius_about(const cal_convex* piece, const double from[3]) {
    double d[3], c[3], most = 0.0;
    cal_subtract3(from, piece->frame.position, d);
    cal_unrotate3(piece->frame.rotation, d, c);
    const double offset = sqrt(cal_dot3(c, c)), *s = piece->size;
    switch (piece->core) {
    case CAL_CORE_SEGMENT:
    case CAL_CORE_HULL:
    case CAL_CORE_BOX: {
        const int count = piece->core == CAL_CORE_SEGMENT ? 2 : piece->vertex_count;
        for (int i = 0; i < count; i++) {
            double p[3];
            cal_vertex(piece, i, p);
            cal_subtract3(p, c, p);
            most = fmax(most, sqrt(cal_dot3(p, p)));
        }
        return most + piece->radius;
    }
    case CAL_CORE_CYLINDER: {
        const double rho = sqrt(c[0] * c[0] + c[1] * c[1]) + s[0], z = fabs(c[2]) + s[1];
        return sqrt(rho * rho + z * z);
    }
    case CAL_CORE_ELLIPSOID: return offset + fmax(s[0], fmax(s[1], s[2]));
    case CAL_CORE_POINT: return offset + piece->radius;
    default: return INFINITY;
    }
}

static void bound(cal_convex* piece) {
    for (int i = 0; i < 3; i++) {
        double d[3] = {0.0, 0.0, 0.0};
        d[i] = 1.0;
        piece->box.high[i] = reach_along(piece, d);
        d[i] = -1.0;
        piece->box.low[i] = -reach_along(piece, d);
    }
    if (piece->core == CAL_CORE_HALF_SPACE) {
        piece->reach = INFINITY;
        return;
    }
    for (int i = 0; i < 3; i++) piece->center[i] = 0.5 * (piece->box.low[i] + piece->box.high[i]);
    if (piece->core != CAL_CORE_HULL) memcpy(piece->center, piece->frame.position, sizeof piece->center);
    piece->reach = radius_about(piece, piece->center);
    double d[3];
    cal_subtract3(piece->center, piece->frame.position, d);
    cal_unrotate3(piece->frame.rotation, d, piece->middle);
}

void cal_geometry_box(const cal_geometry* geometry, const cal_pose* pose, cal_box* out) {
    for (int i = 0; i < 3; i++) {
        // Row i of the rotation is the world's axis i in the geometry's frame.
        const double *up = pose->rotation + 3 * i, down[3] = {-up[0], -up[1], -up[2]};
        double high = -INFINITY, low = INFINITY;
        for (int k = 0; k < geometry->piece_count; k++) {
            high = fmax(high, reach_along(&geometry->pieces[k], up));
            low = fmin(low, -reach_along(&geometry->pieces[k], down));
        }
        const double x = pose->position[i];
        const double slack = 8.0 * DBL_EPSILON * (fabs(x) + (isfinite(geometry->reach) ? geometry->reach : 0.0));
        out->high[i] = x + high + (isfinite(high) ? slack : 0.0);
        out->low[i] = x + low - (isfinite(low) ? slack : 0.0);
    }
}

// --- The tree ---------------------------------------------------------------------------------------------------------

static double middle_of(const cal_convex* piece, int axis) { return piece->box.low[axis] + piece->box.high[axis]; }

// Shell's sort along an axis, then by number: the order depends on nothing but the pieces.
static void sort_along(const cal_convex* pieces, int axis, int32_t* order, int count) {
    int gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int i = gap; i < count; i++) {
            const int32_t item = order[i];
            const double key = middle_of(&pieces[item], axis);
            int k = i;
            for (; k >= gap; k -= gap) {
                const int32_t other = order[k - gap];
                const double other_key = middle_of(&pieces[other], axis);
                if (other_key < key || (other_key == key && other < item)) break;
                order[k] = other;
            }
            order[k] = item;
        }
}

static int32_t grow_tree(cal_geometry* g, int32_t* order, int count) {
    const int32_t number = g->branch_count++;
    cal_box box = g->pieces[order[0]].box;
    for (int i = 1; i < count; i++) box = cal_box_join(&box, &g->pieces[order[i]].box);
    g->branches[number].box = box;
    if (count == 1) {
        g->branches[number].left = order[0];
        g->branches[number].right = -1;
        return number;
    }
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (box.high[i] - box.low[i] > box.high[axis] - box.low[axis]) axis = i;
    sort_along(g->pieces, axis, order, count);
    const int32_t left = grow_tree(g, order, count / 2), right = grow_tree(g, order + count / 2, count - count / 2);
    g->branches[number].left = left;
    g->branches[number].right = right;
    return number;
}

// --- Making and asking ------------------------------------------------------------------------------------------------

static void add_up_mass(cal_geometry* g) {
    cal_mass_properties* sum = &g->mass;
    double moment[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < g->piece_count; k++) {
        cal_mass_properties m;
        cal_convex_mass(&g->pieces[k], &m);
        sum->mass += m.mass;
        for (int i = 0; i < 3; i++) moment[i] += m.mass * m.center[i];
    }
    if (!(sum->mass > 0.0)) return;
    for (int i = 0; i < 3; i++) sum->center[i] = moment[i] / sum->mass;
    for (int k = 0; k < g->piece_count; k++) {
        cal_mass_properties m;
        double d[3];
        cal_convex_mass(&g->pieces[k], &m);
        cal_subtract3(m.center, sum->center, d);
        const double square = cal_dot3(d, d);
        for (int i = 0; i < 3; i++) sum->inertia[i] += m.inertia[i] + m.mass * (square - d[i] * d[i]);
        sum->inertia[3] += m.inertia[3] - m.mass * d[0] * d[1];
        sum->inertia[4] += m.inertia[4] - m.mass * d[0] * d[2];
        sum->inertia[5] += m.inertia[5] - m.mass * d[1] * d[2];
    }
}

// Bounds, tree and sums, when all pieces are there.
static bool complete(cal_geometry* g) {
    int32_t* order = cal_allocate((size_t)g->piece_count, sizeof *order);
    g->branches = cal_allocate(2 * (size_t)g->piece_count, sizeof *g->branches);
    const bool ok = order != NULL && g->branches != NULL;
    const int bounded = g->piece_count - g->plane_count;
    for (int i = 0; ok && i < g->piece_count; i++) {
        static const double origin[3] = {0.0, 0.0, 0.0};
        bound(&g->pieces[i]);
        g->reach = fmax(g->reach, radius_about(&g->pieces[i], origin));
        g->pieces[i].width = least_width(&g->pieces[i]);
        order[i] = i;
    }
    if (ok && bounded > 0) grow_tree(g, order, bounded);
    if (ok) add_up_mass(g);
    cal_free(order);
    return ok;
}

cal_status cal_geometry_create(const cal_piece_def* defs, int count, cal_geometry** out, cal_error* error) {
    *out = NULL;
    if (count < 1) return cal_fail(error, CAL_BAD_ARGUMENT, "a geometry needs at least one piece");
    char who[TEXT];
    int64_t pieces = 0;
    for (int i = 0; i < count; i++) {
        snprintf(who, sizeof who, "piece %d", i);
        cal_status status = validate(&defs[i], who, error);
        int prisms = 1;
        if (status == CAL_OK && defs[i].kind == CAL_HEIGHT_FIELD)
            status = cal_height_field_check(&defs[i], who, &prisms, error);
        if (status != CAL_OK) return status;
        pieces += prisms;
    }
    if (pieces > INT32_MAX / 4)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a geometry of %lld pieces", (long long)pieces);
    cal_geometry* g = cal_allocate(1, sizeof *g);
    if (g != NULL) {
        g->pieces = cal_allocate((size_t)pieces, sizeof *g->pieces);
        g->owned = cal_allocate(2 * (size_t)count, sizeof *g->owned);
    }
    cal_status status = g != NULL && g->pieces != NULL && g->owned != NULL ? CAL_OK : CAL_NO_MEMORY;
    for (int planes = 0; planes < 2; planes++)
        for (int i = 0; i < count && status == CAL_OK; i++) {
            const cal_piece_def* def = &defs[i];
            if ((def->kind == CAL_PLANE) != (planes == 1)) continue;
            cal_convex* first = &g->pieces[g->piece_count];
            int made = 1;
            snprintf(who, sizeof who, "piece %d", i);
            status = def->kind == CAL_HEIGHT_FIELD
                         ? cal_height_field_pieces(def, first, &made, &g->owned[g->owned_count], who, error)
                         : make_piece(def, first, &g->owned[g->owned_count], who, error);
            g->owned_count += 2;
            for (int k = 0; k < made; k++) {
                first[k].tag = def->tag;
                first[k].category = def->category, first[k].mask = def->mask;
            }
            g->piece_count += made;
            g->plane_count += planes;
            g->field |= def->kind == CAL_HEIGHT_FIELD;
        }
    if (status == CAL_OK && !complete(g)) status = CAL_NO_MEMORY;
    if (status == CAL_OK) {
        *out = g;
        return CAL_OK;
    }
    cal_geometry_destroy(g);
    if (status != CAL_NO_MEMORY) return status;
    return cal_fail(error, CAL_NO_MEMORY, "out of memory for a geometry of %d pieces", count);
}

cal_geometry* cal_geometry_share(cal_geometry* geometry) {
    atomic_fetch_add_explicit(&geometry->others, 1, memory_order_relaxed);
    return geometry;
}

void cal_geometry_destroy(cal_geometry* geometry) {
    if (geometry == NULL || atomic_fetch_sub_explicit(&geometry->others, 1, memory_order_acq_rel) > 0) return;
    for (int i = 0; i < geometry->owned_count; i++) cal_free(geometry->owned[i]);
    cal_free(geometry->owned);
    cal_free(geometry->branches);
    cal_free(geometry->pieces);
    cal_free(geometry);
}

int cal_geometry_piece_count(const cal_geometry* geometry) { return geometry->piece_count; }
int cal_geometry_tag(const cal_geometry* geometry, int piece) { return geometry->pieces[piece].tag; }
bool cal_geometry_has_field(const cal_geometry* geometry) { return geometry->field; }
double cal_geometry_reach(const cal_geometry* geometry) { return geometry->reach; }

void cal_geometry_mass(const cal_geometry* geometry, double density, cal_mass_properties* out) {
    *out = geometry->mass;
    out->mass *= density;
    for (int i = 0; i < 6; i++) out->inertia[i] *= density;
}
