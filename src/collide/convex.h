// Convex pieces, as the narrow phase sees them.
//
// A pair of pieces is handled in the frame of the first one: its support needs no rotation and keeps its bits, and far from
// the world's origin nothing is lost but in the one difference of positions. The second piece is a *view*: the piece and where
// it is in that frame. C = A − B is the set of all differences; its point in the direction −n is
//
//     w(n) = support_A(−n) − support_B(n),    F(n) = n·w(n)        (collide.h).
#pragma once
#include "collide/collide.h"
#include <stdatomic.h>
#include <string.h>

typedef enum cal_core {
    CAL_CORE_POINT,
    CAL_CORE_SEGMENT, // (0, 0, ±size[0])
    CAL_CORE_BOX,     // half edges
    CAL_CORE_HULL,
    CAL_CORE_CYLINDER,  // radius, half length along z
    CAL_CORE_ELLIPSOID, // half axes
    CAL_CORE_HALF_SPACE // z ≤ 0
} cal_core;

// Faces as loops of vertices, counterclockwise seen from outside (triangles in one plane are one face), and edges: each
// direction at least once.
typedef struct cal_topology {
    int face_count, edge_count;
    const int32_t* face_first; // face_count + 1
    const int32_t* face_vertices;
    const int32_t* edges; // 2 vertices each
    // Of hulls with many vertices, else NULL: those around each vertex, and for 27 directions a vertex far out along them.
    const int32_t *around_first, *around, *seeds;
} cal_topology;

enum { CAL_SEEDS = 27, CAL_MANY_VERTICES = 48 };

typedef struct cal_convex {
    cal_core core;
    double radius; // of the rounding
    double size[3];
    cal_pose frame;         // in the geometry's frame; the identity for hulls
    const double* vertices; // of hulls
    const double* normals;  // 3 a face, of hulls
    const cal_topology* topology;
    int vertex_count;
    const double* facets;     // normals of all triangles of the hull, those that the faces are made of
    const int32_t* triangles; // those of the hull, slivers too
    int facet_count, triangle_count;
    double center[3], reach; // a ball that holds it, geometry's frame
    double middle[3];        // a point inside, piece's frame
    double width;            // the least
    cal_box box;             // geometry's frame
    int tag;
    uint32_t category, mask;
    // Of prisms: beyond each of the three walls, how far a normal may lean outwards there before it is against a wall that
    // is inside the height field: tangent of the angle from the vertical; infinite at the field's rim.
    bool prism;
    double wall[3][2], lean[3]; // unit outward normals of the walls in the xy plane of the height field's frame
    double up[3], across[2][3]; // that frame's z, x and y in the geometry's frame
} cal_convex;

// A node of the tree of boxes over pieces: children, or a leaf with one piece.
typedef struct cal_branch {
    cal_box box;
    int32_t left, right; // right < 0: a leaf, left is the piece
} cal_branch;

struct cal_geometry {
    cal_convex* pieces;
    cal_branch* branches; // the root is 0
    void** owned;         // arrays of hulls and prisms
    int owned_count;
    int piece_count, branch_count, plane_count; // planes are the last pieces, and not in the tree
    bool field;                                 // some pieces are a height field's
    double reach;
    cal_mass_properties mass;
    atomic_int others; // who have it beside the one who made it
};

extern const cal_topology cal_box_topology, cal_prism_topology;
extern const double cal_box_normals[18];

// Makes a hull piece's vertices, faces and edges from any points; prefix: who it is, for error texts.
// Owned memory: numbers (vertices, normals of faces, normals of facets), then the topology with its indices behind it.
cal_status cal_hull_piece(const double* points, int count, cal_convex* out, void* owned[2], const char* prefix,
                          cal_error* error);

// A piece and where it is in the working frame.
typedef struct cal_view {
    const cal_convex* piece;
    bool at_home; // the working frame is the piece's own
    double rotation[9], position[3];
} cal_view;

static inline bool cal_is_polytope(const cal_convex* piece) { return piece->core <= CAL_CORE_HULL; }

static inline void cal_vertex(const cal_convex* piece, int index, double out[3]) {
    switch (piece->core) {
    case CAL_CORE_SEGMENT: out[0] = 0.0, out[1] = 0.0, out[2] = index ? piece->size[0] : -piece->size[0]; break;
    case CAL_CORE_BOX:
        for (int i = 0; i < 3; i++) out[i] = (index >> i) & 1 ? piece->size[i] : -piece->size[i];
        break;
    case CAL_CORE_HULL: memcpy(out, piece->vertices + 3 * (size_t)index, 3 * sizeof *out); break;
    default: out[0] = out[1] = out[2] = 0.0;
    }
}

// Which of the 27 directions (−1, 0 or 1 along each axis) is near a direction of any length.
static inline int cal_seed_of(const double d[3]) {
    const double least = 0.4 * fmax(fabs(d[0]), fmax(fabs(d[1]), fabs(d[2])));
    int seed = 0;
    for (int i = 0; i < 3; i++) seed = 3 * seed + (d[i] > least ? 2 : d[i] < -least ? 0 : 1);
    return seed;
}

// On a convex hull whoever has no neighbour further out is the furthest: one walks there from vertex to vertex, the steepest way.
static inline int cal_climb(const cal_convex* piece, const double d[3], int from) {
    const cal_topology* t = piece->topology;
    double most = cal_dot3(d, piece->vertices + 3 * (size_t)from);
    for (int best = from;; from = best) {
        for (int32_t i = t->around_first[from]; i < t->around_first[from + 1]; i++) {
            const double along = cal_dot3(d, piece->vertices + 3 * (size_t)t->around[i]);
            if (along > most) most = along, best = t->around[i];
        }
        if (best == from) return from;
    }
}

// The furthest point along a direction of any length, in the piece's frame, and its number; −1 on curved cores.
static inline int cal_support_local(const cal_convex* piece, const double d[3], double out[3]) {
    switch (piece->core) {
    case CAL_CORE_HULL: {
        int best = 0;
        if (piece->topology->seeds != NULL) {
            best = cal_climb(piece, d, piece->topology->seeds[cal_seed_of(d)]);
            cal_vertex(piece, best, out);
            return best;
        }
        double most = cal_dot3(d, piece->vertices);
        for (int i = 1; i < piece->vertex_count; i++) {
            const double along = cal_dot3(d, piece->vertices + 3 * (size_t)i);
            if (along > most) most = along, best = i;
        }
        cal_vertex(piece, best, out);
        return best;
    }
    case CAL_CORE_BOX: {
        int index = 0;
        for (int i = 0; i < 3; i++) {
            index |= (d[i] >= 0.0) << i;
            out[i] = d[i] >= 0.0 ? piece->size[i] : -piece->size[i];
        }
        return index;
    }
    case CAL_CORE_SEGMENT: {
        const int index = d[2] >= 0.0;
        cal_vertex(piece, index, out);
        return index;
    }
    case CAL_CORE_CYLINDER: {
        const double rho = sqrt(d[0] * d[0] + d[1] * d[1]), scale = rho > 0.0 ? piece->size[0] / rho : 0.0;
        out[0] = scale * d[0], out[1] = scale * d[1], out[2] = d[2] >= 0.0 ? piece->size[1] : -piece->size[1];
        return -1;
    }
    case CAL_CORE_ELLIPSOID: {
        double scaled[3];
        for (int i = 0; i < 3; i++) scaled[i] = piece->size[i] * d[i];
        const double length = sqrt(cal_dot3(scaled, scaled)), scale = length > 0.0 ? 1.0 / length : 0.0;
        for (int i = 0; i < 3; i++) out[i] = scale * piece->size[i] * scaled[i];
        return -1;
    }
    default: out[0] = out[1] = out[2] = 0.0; return 0;
    }
}

static inline void cal_view_point(const cal_view* view, const double local[3], double out[3]) {
    if (view->at_home) {
        memcpy(out, local, 3 * sizeof *out);
        return;
    }
    cal_rotate3(view->rotation, local, out);
    for (int i = 0; i < 3; i++) out[i] += view->position[i];
}

static inline void cal_view_direction(const cal_view* view, const double local[3], double out[3]) {
    if (view->at_home)
        memcpy(out, local, 3 * sizeof *out);
    else
        cal_rotate3(view->rotation, local, out);
}

static inline void cal_view_to_local(const cal_view* view, const double d[3], double out[3]) {
    if (view->at_home)
        memcpy(out, d, 3 * sizeof *out);
    else
        cal_unrotate3(view->rotation, d, out);
}

static inline int cal_support(const cal_view* view, const double d[3], double out[3]) {
    if (view->at_home) return cal_support_local(view->piece, d, out);
    double local[3], point[3];
    cal_unrotate3(view->rotation, d, local);
    const int index = cal_support_local(view->piece, local, point);
    cal_view_point(view, point, out);
    return index;
}

// A point of C, and where it comes from.
typedef struct cal_difference {
    double w[3], a[3], b[3];
    int index_a, index_b;
} cal_difference;

// w(n), and F(n) as the value when n is a unit vector.
static inline double cal_gap_along(const cal_view* a, const cal_view* b, const double n[3], cal_difference* out) {
    const double opposite[3] = {-n[0], -n[1], -n[2]};
    out->index_a = cal_support(a, opposite, out->a);
    out->index_b = cal_support(b, n, out->b);
    for (int i = 0; i < 3; i++) out->w[i] = out->a[i] - out->b[i];
    return cal_dot3(n, out->w);
}

static inline bool cal_normalize3(double v[3]) {
    const double length = sqrt(cal_dot3(v, v));
    if (!(length > 0.0)) return false;
    for (int i = 0; i < 3; i++) v[i] /= length;
    return true;
}

static inline void cal_subtract3(const double a[3], const double b[3], double out[3]) {
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): a simplex's first points are always there
    for (int i = 0; i < 3; i++) out[i] = a[i] - b[i];
}

// Up to four points of C whose hull has the point nearest to the origin in its inside.
typedef struct cal_simplex {
    int count;
    cal_difference points[4];
    double weights[4];
    double nearest[3];
} cal_simplex;

typedef enum cal_gjk_end { CAL_GJK_APART, CAL_GJK_TOUCHING, CAL_GJK_BEYOND } cal_gjk_end;

// GJK: the point of C nearest to the origin, from a first direction (b to a). TOUCHING: the origin is in the simplex, or
// within rounding of it; then nearest is of no use. BEYOND: all of C is further away than `beyond`, and more is not known.
cal_gjk_end cal_gjk(const cal_view* a, const cal_view* b, const double direction[3], double scale, double beyond,
                    cal_simplex* out);

// The result for two cores in the working frame.
typedef struct cal_core_separation {
    double distance, normal[3], point_a[3], point_b[3];
} cal_core_separation;

// EPA: the face of C nearest to an origin inside it, as three points and the normal n (from b to a). False: it broke off
// early, and the face is only the best one that was found.
bool cal_epa(const cal_view* a, const cal_view* b, const cal_simplex* start, double scale, cal_simplex* face,
             double normal[3]);
// All normals of faces and cross products of edges of two polytopes: the largest F among them, for origins inside C.
double cal_exhaustive_normal(const cal_view* a, const cal_view* b, double normal[3]);
// How many directions that looks at.
int cal_exhaustive_cost(const cal_view* a, const cal_view* b);

// Raises F(n) from n on the features that the simplex names, to rounding; returns F and the support there.
double cal_refine(const cal_view* a, const cal_view* b, const cal_simplex* features, double scale, double n[3],
                  cal_difference* support);

// Closed forms, where there is one for the two cores; false: there is none.
bool cal_closed_form(const cal_view* a, const cal_view* b, cal_core_separation* out);
// Whether two boxes overlap, and then the normal and the distance; false, too: these are no boxes.
bool cal_boxes_overlap(const cal_view* a, const cal_view* b, cal_core_separation* out);

// The signed distance of two pieces at two poses of their geometries, in the world; direction: a first guess, may be NULL.
void cal_piece_distance(const cal_convex* a, const cal_pose* pose_a, const cal_convex* b, const cal_pose* pose_b,
                        const double* direction, cal_separation* out);
// The same, but without the nearest points of pieces with corners that overlap: they cost most of it, and faces tell where such pieces touch. A
// distance of more than the limit is one that is more than the limit.
void cal_piece_normal(const cal_convex* a, const cal_pose* pose_a, const cal_convex* b, const cal_pose* pose_b,
                      double limit, cal_separation* out);
// Two pieces with corners, which no rounding takes off; and whether cal_piece_normal has found their nearest points at such a distance.
static inline bool cal_have_corners(const cal_convex* a, const cal_convex* b) {
    return cal_is_polytope(a) && cal_is_polytope(b) && a->radius == 0.0 && b->radius == 0.0;
}
static inline bool cal_points_are_known(const cal_convex* a, const cal_convex* b, double distance) {
    return !cal_have_corners(a, b) || distance > 0.0;
}
// The working frame of piece a at its pose, in the world; and the view of b from there.
void cal_working_frame(const cal_convex* a, const cal_pose* pose_a, cal_pose* out);
void cal_view_make(const cal_convex* a, const cal_pose* pose_a, const cal_convex* b, const cal_pose* pose_b,
                   cal_view* out);

// Visits pairs of pieces, nearest boxes first or not, whose boxes are not further apart than *limit; the visitor may lower it.
typedef void cal_pair_visitor(void* user, int piece_a, int piece_b, double* limit);
void cal_visit_pairs(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b, const cal_pose* pose_b,
                     double* limit, cal_pair_visitor* visit, void* user);

// Whether the balls about two pieces say that they are further apart than a limit; never so for limits below zero.
bool cal_pieces_are_far(const cal_convex* p, const cal_pose* pose_p, const cal_convex* q, const cal_pose* pose_q,
                        double limit);

// Whether a normal (geometry's frame, out of the prism) is against a wall that another prism covers.
bool cal_prism_blocks(const cal_convex* prism, const double normal[3]);
// Whether the walls that it leans over are at bottoms of valleys (or of flat ground), where nothing leans further than the prism's own top; out: the
// normal of that.
bool cal_prism_in_valley(const cal_convex* prism, const double normal[3], double out[3]);

// Mass properties of one piece, for a density of 1, in the geometry's frame.
void cal_convex_mass(const cal_convex* piece, cal_mass_properties* out);
