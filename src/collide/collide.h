// Collision detection: immutable convex pieces, one signed distance that is continuous through contact, contact manifolds,
// and a broad phase over boxes.
//
// The signed distance. With F(n) the gap between two convex sets seen along a unit vector n (from b to a),
//
//     F(n) = min n·a − max n·b,    distance(a, b) = max F(n) over all n.
//            a∈A       b∈B
//
// Apart, that is the Euclidean distance; overlapping, it is minus the least translation that parts them (n is where to).
// Every n gives a lower bound, so candidates may come from anywhere (GJK outside, EPA inside, closed forms) and the largest
// F is the answer: nothing jumps at contact. n is finally solved for on the features that touch, so that the distance is
// good to rounding and not to an iteration's tolerance. Rounded shapes are a core and a radius:
//
//     distance(A ⊕ r, B ⊕ s) = distance(A, B) − r − s.
//
//     shape            core                    radius
//     sphere           point                   r
//     capsule          segment                 r
//     box, mesh        polytope                0        (a mesh: its convex hull)
//     cylinder         disc ⊕ segment          0
//     ellipsoid        itself                  0
//     plane            half space              0
//     height field     two prisms a cell       0        (pieces of one geometry)
//
// A geometry is a union of such pieces; its distance is the least one over the pairs of pieces, found through a tree of
// boxes. Two planes never touch: their distance is infinite.
//
// Everything here depends on its arguments alone (a cache, where one is given, is an argument): no state is kept anywhere,
// so a replay has the same bits. The order of the arguments matters in the last bits: call with the same body first.
//
// All lengths m, frames right-handed, rotation matrices in rows, box and geometry frames those of the body.
#pragma once
#include "calder/calder.h"
#include "math/vector.h"

// --- Poses and boxes --------------------------------------------------------------------------------------------------

// Where a body is: x_world = rotation · x_body + position.
typedef struct cal_pose {
    double position[3];
    double rotation[9]; // rows
} cal_pose;

// quaternion (w, x, y, z) of any length but zero.
static inline cal_pose cal_pose_make(const double position[3], const double quaternion[4]) {
    cal_pose pose = {.position = {position[0], position[1], position[2]}};
    cal_quaternion_matrix(quaternion, pose.rotation);
    return pose;
}

// An axis-parallel box; infinite numbers are allowed.
typedef struct cal_box {
    double low[3], high[3];
} cal_box;

static inline cal_box cal_box_join(const cal_box* a, const cal_box* b) {
    cal_box box;
    for (int i = 0; i < 3; i++) {
        box.low[i] = a->low[i] < b->low[i] ? a->low[i] : b->low[i];
        box.high[i] = a->high[i] > b->high[i] ? a->high[i] : b->high[i];
    }
    return box;
}
static inline cal_box cal_box_pad(const cal_box* a, double pad) {
    cal_box box = *a;
    for (int i = 0; i < 3; i++) box.low[i] -= pad, box.high[i] += pad;
    return box;
}
// Touching counts.
static inline bool cal_box_overlap(const cal_box* a, const cal_box* b) {
    for (int i = 0; i < 3; i++)
        if (a->low[i] > b->high[i] || b->low[i] > a->high[i]) return false;
    return true;
}
// --- Geometries -------------------------------------------------------------------------------------------------------

// What a piece is made from; from cal_default_piece_def.
typedef struct cal_piece_def {
    cal_shape_kind kind;
    double position[3], quaternion[4]; // in the geometry's frame (the body's)
    double size[3];                    // as in cal_shape_def
    const double* vertices; // of CAL_MESH (any points, in any order) and CAL_HEIGHT_FIELD (rows of `columns`); copied
    int vertex_count, columns;
    double depth; // of CAL_HEIGHT_FIELD: how far below the lowest height its prisms reach; 0: chosen from its extent
    int tag;      // the caller's: a shape's number, a material
    uint32_t category,
        mask; // two pieces meet when one's category has a bit of the other's mask; others pass through each other
} cal_piece_def;

typedef struct cal_geometry cal_geometry; // immutable, shareable between threads

// For a density of 1 kg/m³. Planes and height fields weigh nothing.
typedef struct cal_mass_properties {
    double mass;
    double center[3];  // in the geometry's frame
    double inertia[6]; // about the centre, geometry's axes: xx, yy, zz, xy, xz, yz
} cal_mass_properties;

cal_piece_def cal_default_piece_def(void); // a sphere of radius ½ at the origin
// CAL_BAD_ARGUMENT: a size that is not above zero, a mesh without volume, a grid that is none, no piece at all.
cal_status cal_geometry_create(const cal_piece_def* pieces, int count, cal_geometry** out, cal_error* error);
// The same geometry for one more, who also destroys it; several threads may share one.
cal_geometry* cal_geometry_share(cal_geometry* geometry);
void cal_geometry_destroy(cal_geometry* geometry); // NULL is allowed

int cal_geometry_piece_count(const cal_geometry* geometry); // convex ones: each prism of a height field counts
int cal_geometry_tag(const cal_geometry* geometry, int piece);
bool cal_geometry_has_field(const cal_geometry* geometry); // has a height field
// Radius of a ball about the origin of the frame that holds it all; infinite with a plane.
double cal_geometry_reach(const cal_geometry* geometry);
void cal_geometry_mass(const cal_geometry* geometry, double density, cal_mass_properties* out); // pieces added up
// The least box about it, grown by a few units in the last place so that it holds it in spite of rounding.
void cal_geometry_box(const cal_geometry* geometry, const cal_pose* pose, cal_box* out);

// --- Distance ---------------------------------------------------------------------------------------------------------

typedef struct cal_separation {
    double distance;               // signed; infinite between planes
    double normal[3];              // unit, world, from b to a: moving a along it raises the distance
    double point_a[3], point_b[3]; // world, on the surfaces: point_a − point_b = distance · normal
    int piece_a, piece_b;
} cal_separation;

// Where the last search ended, to start the next one of the same pair from; zeroed: none. A cache changes the answer by
// rounding only, but it does so: who needs the same bits again keeps it with the state, or gives NULL.
typedef struct cal_distance_cache {
    int piece_a, piece_b;
    double direction[3]; // zero: unset
} cal_distance_cache;

// The signed distance of two geometries.
void cal_distance(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b, const cal_pose* pose_b,
                  cal_distance_cache* warm, cal_separation* out);
// The same, but pairs of pieces further apart than `limit` are not looked at: when none is nearer, distance is `limit` or
// more but only a lower bound, piece_a = piece_b = −1 and nothing else is set. Cheaper where only contact matters.
void cal_distance_within(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b, const cal_pose* pose_b,
                         double limit, cal_distance_cache* warm, cal_separation* out);

// --- Advancement ------------------------------------------------------------------------------------------------------

// What is known of a body's motion over an interval: where it goes now, and bounds of what it may do.
typedef struct cal_sweep {
    double u[3], w[3];      // velocity of the frame's origin and turning rate, now, world's axes
    double acceleration[3]; // of the origin, over the whole interval
    double slack;           // as far as the origin's acceleration may be from that
    double twist;           // as much as the turning rate may change, rad/s²
    bool loose;             // slack holds for every point of the body, however it turns; twist is zero then
} cal_sweep;

typedef struct cal_advance {
    double time;            // they do not touch before, from now; at most the horizon
    double closing;         // how fast the nearest points of `nearest` approach
    cal_separation nearest; // the pieces that gave the time; piece −1: none can come near within the horizon
    bool touching;          // pieces touch and approach
    double due;             // when the first of these has closed what is left of its gap, from now
    double speed;           // at which they do, the fastest of them
    cal_separation contact; // where
} cal_advance;

// How long two geometries cannot touch, from two poses on and as far as a horizon in which the sweeps hold (advance.c).
// Pieces nearer than `touch` touch already; those that part are followed until they are deeper by that, or by a sixteenth of
// what they are.
void cal_advance_pair(const cal_geometry* a, const cal_pose* pose_a, const cal_sweep* sweep_a, const cal_geometry* b,
                      const cal_pose* pose_b, const cal_sweep* sweep_b, double horizon, double touch,
                      cal_distance_cache* warm, cal_advance* out);

// --- Rays -------------------------------------------------------------------------------------------------------------

typedef struct cal_ray_hit {
    double distance;  // along the ray, m; 0 where it begins inside
    double normal[3]; // unit, world, out of the surface; against the ray where it begins inside
    int piece;
} cal_ray_hit;
// Where a ray (a unit direction, world) first enters a geometry within a distance; false: nowhere (ray.c).
bool cal_geometry_cast(const cal_geometry* geometry, const cal_pose* pose, const double origin[3],
                       const double direction[3], double limit, cal_ray_hit* out);

// --- Contact manifolds ------------------------------------------------------------------------------------------------

enum { CAL_MANIFOLD_POINTS = 8 };

typedef struct cal_contact {
    double point[3];   // world, half way between the surfaces
    double normal[3];  // unit, world, from b to a
    double separation; // along the normal; negative: depth
    int piece_a, piece_b;
    uint32_t feature; // which vertices, edges and faces; the same for the same ones from step to step
} cal_contact;

// Contact points of all pairs of pieces that are within `margin` of each other: where faces and edges lie on each other, the
// corners of what they share (at most CAL_MANIFOLD_POINTS a pair of pieces), one point elsewhere. Points further apart than
// margin are left out; the pair's nearest points are always among them. In order of pieces, then along the outline. Where
// pieces of one height field adjoin, contacts against their common walls are left out. Writes at most `capacity` contacts
// and returns how many there are, which may be more.
int cal_contacts(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b, const cal_pose* pose_b,
                 double margin, cal_contact* out, int capacity);
// The same, and for which other margins it is the same: all m with margins[0] ≤ m < margins[1], beside `margin` itself. distance: the
// distance of the only two pieces at these poses, where its piece_a is not negative; otherwise it is written there, of two that have one
// piece each.
int cal_contacts_for_margins(const cal_geometry* a, const cal_pose* pose_a, const cal_geometry* b,
                             const cal_pose* pose_b, double margin, double margins[2], cal_separation* distance,
                             cal_contact* out, int capacity);

// --- Broad phase ------------------------------------------------------------------------------------------------------

// Which boxes overlap, kept up to date box by box: a spatial hash with one grid for each size of box (a power of two not
// under its longest edge), each box in the one cell that holds its centre. A half space is among them like a box, and
// overlaps those that are not clear of it. Results depend on the boxes only.
typedef struct cal_broad cal_broad;

// Who began or ceased to overlap the box that was moved, ascending; valid until the next call.
typedef struct cal_broad_changes {
    const int32_t* began;
    const int32_t* ceased;
    int began_count, ceased_count;
} cal_broad_changes;

cal_status cal_broad_create(int capacity, cal_broad** out); // grows beyond ids below `capacity` by itself
void cal_broad_destroy(cal_broad* broad);                   // NULL is allowed
// Inserts box `id` (0 …, the caller's; keep them small) or moves it. changes may be NULL: then nobody is looked for. CAL_BAD_ARGUMENT where the box
// is empty or not a number, CAL_NO_MEMORY: nothing has changed.
cal_status cal_broad_move(cal_broad* broad, int id, const cal_box* box, cal_broad_changes* changes);
// The same for the half space n·x ≤ height; its box is everything.
cal_status cal_broad_move_plane(cal_broad* broad, int id, const double normal[3], double height,
                                cal_broad_changes* changes);
// An absent id is allowed. CAL_NO_MEMORY, where changes are asked for: nothing has changed.
cal_status cal_broad_remove(cal_broad* broad, int id, cal_broad_changes* changes);
bool cal_broad_has(const cal_broad* broad, int id);
const cal_box* cal_broad_box(const cal_broad* broad, int id);
void cal_broad_fetch(const cal_broad* broad, int id); // that box is about to be read
// Everyone whose box overlaps that of `id`, ascending; valid until the next call. −1: no memory.
int cal_broad_partners(cal_broad* broad, int id, const int32_t** out);
// Scratch for whoever asks while others do: one each, from zeros.
typedef struct cal_broad_ids {
    int32_t* ids;
    int count, capacity;
} cal_broad_ids;
typedef struct cal_broad_scratch {
    cal_broad_ids near, found;
} cal_broad_scratch;
void cal_broad_scratch_free(cal_broad_scratch* scratch);
// As cal_broad_query, while nobody moves a box.
int cal_broad_look(const cal_broad* broad, const cal_box* box, cal_broad_scratch* scratch, const int32_t** out);
// Ids whose boxes overlap any box, ascending; the array is valid until the next call. Returns their number, −1: no memory.
int cal_broad_query(cal_broad* broad, const cal_box* box, const int32_t** out);
