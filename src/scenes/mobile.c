// Jung's mobiles: s stages of chains of wedges; each chain ends in a plateau, a cone, from whose rim_radius o chains hang.
//
//            2a
//          ______          chain 0 hangs from the ground; chain i > 0 from the plateau of chain (i − 1) / o,
//         /      \         as its chain (i − 1) mod o. Body i · l + k is link k of chain i, the plateau has
//        /        \  h     k = l − 1. A wedge's bottom is round at both ends: half discs of radius c on a
//       (__________)       rectangle of length 2b.
//         2b + 2c
//
// A body's origin is the centre of its upper edge, x along the edge, y up; it turns about x. With
// x₂ = a − (y/h)(b − a) + √(y²c²/h² − z²) and z₂ = −yc/h for −h ≤ y ≤ 0 (Appendix II, the mass corrected to a third):
//
//     m    = ρch (2a + 4b + πc) / 3
//     m s  = (0, −ρch² (4a + 12b + 3πc) / 12, 0)
//     I_xx = ρch/60 (4ac² + 16bc² + 12ah² + 48bh² + 3πc³ + 12πch²)                                   about the origin
//     I_yy = ρch/30 (2a³ + 4a²b + 6ab² + 8b³ + 6ac² + 24bc² + πa²c + 3πabc + 6πb²c + 3πc³)
//     I_zz = ρch/60 (4a³ + 8a²b + 12ab² + 16b³ + 8ac² + 32bc² + 12ah² + 48bh² + 2πa²c + 6πabc + 12πb²c + 3πc³ + 12πch²)
//
// A plateau with k stages below it has b = 0 and c = (p·o/π)^k, for k = 0 the b + c of a plain link. Printed plateaus weigh tons;
// those of a mobile that hangs on a wall are balanced: leaves with wires to their chains, which hang just far enough apart. A
// chain with all that hangs on it fits into a cylinder of radius R about its first joint,
//
//     R₀ = b + c          R_k = r_k + R_{k−1}          r_k = GAP · R_{k−1} / sin(π/o)
//
// where r_k, the radius at which chains hang, keeps neighbours 2 GAP R_{k−1} apart; a single chain hangs in the middle.
//
// Bodies are drawn as the wedges that they are: cones from the ends of the upper edge to the half discs, and flat sides between.
#include "base/memory.h"
#include "model/angle.h"
#include "record/drawing.h"
#include "scenes/generate.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(a, 0.2, 0.001, 1000, "half a wedge's upper edge, m")                                                        \
    NUMBER(b, 0.3, 0, 1000, "half the straight part of a link's bottom, m")                                            \
    NUMBER(c, 0.2, 0.001, 1000, "radius of the round ends of a link's bottom, m")                                      \
    NUMBER(h, 1.0, 0.001, 1000, "height of a link, m")                                                                 \
    INTEGER(s, 3, 1, 24, "stages")                                                                                     \
    INTEGER(l, 4, 1, 10000000, "links in a chain, its plateau included")                                               \
    INTEGER(o, 5, 1, 100000, "chains on a plateau")                                                                    \
    NUMBER(p, 3.0, 0.001, 1000, "arc between two chains at the rim of the last printed or light plateau but one, m")   \
    NUMBER(rho, 2.0, 0.000001, 1000000, "density, kg/m^3")                                                             \
    CHOICE(plateau, "balanced|printed|leaf|light",                                                                     \
           "plateaus light and as wide as their chains need, as printed in the paper, as small as leaves, or as wide " \
           "as printed and light")                                                                                     \
    NUMBER(taper, 0, 0, 10, "each link weighs at least this many times what hangs below it")                           \
    NUMBER(start, 0.2, -1000, 1000, "start angle of the first joint, rad")                                             \
    NUMBER(damping, 0, 0, 1000000, "viscous friction of every joint, N m s/rad")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { BALANCED, PRINTED, LEAF, LIGHT }; // choices of plateau

static const double GAP = 1.5; // half the distance of neighbouring chains, in radii of what hangs on them

// Mass, first moment along y and moments of inertia about the origin, moved to the centre of mass.
static void shape_wedge(cal_body_def* def, double a, double b, double c, double h, double rho) {
    const double k = rho * c * h, ac = CAL_PI * c;
    const double mass = k * (2.0 * a + 4.0 * b + ac) / 3.0;
    const double center = -k * h * (4.0 * a + 12.0 * b + 3.0 * ac) / 12.0 / mass;
    const double edge = a + 4.0 * b, high = 12.0 * h * h * (edge + ac), round = 3.0 * ac * c * c;
    const double wide = 4.0 * a * a * a + 8.0 * a * a * b + 12.0 * a * b * b + 16.0 * b * b * b +
                        ac * (2.0 * a * a + 6.0 * a * b + 12.0 * b * b);
    def->mass = mass;
    def->center[1] = center;
    def->inertia[0] = k / 60.0 * (4.0 * edge * c * c + high + round) - mass * center * center;
    def->inertia[1] = k / 60.0 * (wide + 12.0 * edge * c * c + 2.0 * round);
    def->inertia[2] = k / 60.0 * (wide + 8.0 * edge * c * c + high + round) - mass * center * center;
}

static bool is_light(const double* values) {
    return (int)values[at_plateau] == BALANCED || (int)values[at_plateau] == LIGHT;
}

// Where the outer corners of the chains are that hang from a balanced plateau.
static double balanced_radius(const double* values, int stages_below) {
    double sine, cosine, reach = values[at_b] + values[at_c], hung = 0.0;
    cal_sine_cosine(CAL_PI / values[at_o], &sine, &cosine);
    for (int k = 0; k < stages_below; k++, reach += hung) hung = values[at_o] > 1.0 ? GAP * reach / sine : 0.0;
    return hung + values[at_a];
}

static double rim_radius(const double* values, int stages_below) {
    if (stages_below == 0 || (int)values[at_plateau] == LEAF) return values[at_b] + values[at_c];
    if ((int)values[at_plateau] == BALANCED) return balanced_radius(values, stages_below);
    double radius = 1.0;
    for (int k = 0; k < stages_below; k++) radius *= values[at_p] * values[at_o] / CAL_PI;
    return radius;
}

// Link k of a chain whose plateau has so many stages below it, `density` times as dense as all others.
static cal_body_def make_link(const double* values, int k, int stages_below, double density) {
    const double a = values[at_a], h = values[at_h], rho = density * values[at_rho];
    cal_body_def def = cal_default_body_def();
    if (k < (int)values[at_l] - 1)
        shape_wedge(&def, a, values[at_b], values[at_c], h, rho);
    else
        shape_wedge(&def, a, 0.0, rim_radius(values, is_light(values) ? 0 : stages_below), h, rho);
    return def;
}

// The density that `taper` asks of each link, stage by stage, from the leaves up: all chains of a stage are alike.
static void taper_links(const double* values, double* density) {
    const int stages = (int)values[at_s], links = (int)values[at_l];
    double chain = 0.0; // mass of a chain with all that hangs on it
    for (int stage = stages - 1; stage >= 0; stage--) {
        double below = stage == stages - 1 ? 0.0 : values[at_o] * chain;
        for (int k = links - 1; k >= 0; k--) {
            const double mass = make_link(values, k, stages - 1 - stage, 1.0).mass;
            density[stage * links + k] = fmax(1.0, values[at_taper] * below / mass);
            below += mass * density[stage * links + k];
        }
        chain = below;
    }
}

static int add_link(const double* values, cal_builder* builder, cal_body_def* def, double start) {
    cal_joint_def joint = cal_default_joint_def();
    joint.axis[0] = 1.0, joint.axis[2] = 0.0;
    joint.damping = values[at_damping];
    joint.initial_q[0] = start;
    const int body = cal_builder_add_body(builder, def);
    cal_builder_add_joint(builder, body, &joint);
    return body;
}

// --- What it looks like -------------------------------------------------------------------------------------------------------

enum { ARC = 12, RING = 2 * (ARC + 1), WEDGE_TRIANGLES = 2 * ARC + 4 + RING - 2 };

// Vertices 0 and 1 are the ends of the upper edge, then the rim of the bottom, from −z over +x to +z and back over −x.
static int add_wedge_mesh(cal_builder* builder, double a, double b, double c, double h) {
    double vertices[3 * (2 + RING)] = {-a, 0.0, 0.0, a, 0.0, 0.0};
    int32_t triangles[3 * WEDGE_TRIANGLES], count = 0;
#define ADD_TRIANGLE(p, q, r)                                                                                          \
    (triangles[count] = (p), triangles[count + 1] = (q), triangles[count + 2] = (r), count += 3)
    for (int i = 0; i < RING; i++) {
        const int side = i / (ARC + 1), step = i % (ARC + 1);
        double sine, cosine;
        cal_sine_cosine(CAL_PI * (step / (double)ARC + side - 0.5), &sine, &cosine);
        double* at = vertices + 3 * (2 + i);
        at[0] = (side == 0 ? b : -b) + c * cosine, at[1] = -h, at[2] = c * sine;
        const int32_t here = 2 + i, next = 2 + (i + 1) % RING;
        if (step < ARC)
            ADD_TRIANGLE(side == 0 ? 1 : 0, next, here); // a cone
        else
            ADD_TRIANGLE(side == 0 ? 1 : 0, side == 0 ? 0 : 1, here); // a flat side, its upper half
        if (step == ARC && b > 0.0) ADD_TRIANGLE(side == 0 ? 0 : 1, next, here);
        if (i > 1) ADD_TRIANGLE(2, here - 1, here); // the bottom
    }
#undef ADD_TRIANGLE
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.vertices = vertices, mesh.vertex_count = 2 + RING;
    mesh.triangles = triangles, mesh.triangle_count = count / 3;
    return cal_builder_add_mesh(builder, &mesh);
}

// A link's mesh, and a plateau's by the number of stages below it.
typedef struct wedge_meshes {
    int link, plateau[25];
} wedge_meshes;

static wedge_meshes add_meshes(const double* values, cal_builder* builder) {
    const double a = values[at_a], h = values[at_h];
    wedge_meshes meshes = {.link = add_wedge_mesh(builder, a, values[at_b], values[at_c], h)};
    for (int k = 0; k < (int)values[at_s]; k++)
        meshes.plateau[k] = k > 0 && (is_light(values) || (int)values[at_plateau] == LEAF)
                                ? meshes.plateau[0]
                                : add_wedge_mesh(builder, a, 0.0, rim_radius(values, k), h);
    return meshes;
}

static cal_shape_def seen_shape(int body, cal_shape_kind kind, const float color[4]) {
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body, shape.kind = kind, shape.collides = false;
    for (int i = 0; i < 4; i++) shape.color[i] = color[i];
    return shape;
}

// The wires of a light plateau, from the middle of its bottom to its chains.
static void add_wires(const double* values, cal_builder* builder, int body, double radius) {
    const double length = radius - values[at_a];
    for (int rank = 0; rank < (int)values[at_o] && length > 0.0; rank++) {
        double sine, cosine;
        cal_sine_cosine(2.0 * CAL_PI * rank / values[at_o], &sine, &cosine);
        cal_shape_def wire = seen_shape(body, CAL_CYLINDER, cal_wire_paint);
        wire.position[0] = 0.5 * length * cosine, wire.position[1] = -values[at_h];
        wire.position[2] = -0.5 * length * sine;
        // A cylinder is along its z; turned about the axis that is across both, half of z and the wire's direction.
        const double across[3] = {cosine, 0.0, 1.0 - sine}, along[3] = {0.0, 0.0, 1.0};
        const double square = cal_dot3(across, across);
        cal_axis_quaternion(square > 1e-12 ? across : along, CAL_PI, wire.quaternion);
        wire.size[0] = 0.02 * values[at_h], wire.size[1] = 0.5 * length;
        cal_builder_add_shape(builder, &wire);
    }
}

// Of large mobiles only what a viewer draws has shapes.
static void draw_link(const double* values, cal_builder* builder, const wedge_meshes* meshes, int body, int chain,
                      int stages_below) {
    const bool plateau = (body + 1) % (int)values[at_l] == 0;
    if (body < 0 || body >= CAL_DRAWN_BODIES_LIMIT) return;
    cal_shape_def wedge = seen_shape(body, CAL_MESH, cal_paint[chain % CAL_PAINTS]);
    wedge.mesh = plateau ? meshes->plateau[stages_below] : meshes->link;
    cal_builder_add_shape(builder, &wedge);
    if (plateau && stages_below > 0 && is_light(values))
        add_wires(values, builder, body, rim_radius(values, stages_below));
}

// --- The mobile -----------------------------------------------------------------------------------------------------------------

// Chain `rank` of a plateau: its edge points outwards from the centre, its outer corner is on the rim_radius.
static void hang_on_brim(const double* values, cal_body_def* def, int rank, double radius) {
    const double theta = 2.0 * CAL_PI * rank / values[at_o], inner = radius - values[at_a];
    double sine, cosine;
    cal_sine_cosine(theta, &sine, &cosine);
    def->position[0] = inner * cosine, def->position[1] = -values[at_h], def->position[2] = -inner * sine;
    cal_axis_quaternion((const double[3]){0.0, 1.0, 0.0}, theta, def->quaternion);
}

static void add_chains(const double* values, cal_builder* builder, const double* density) {
    const int stages = (int)values[at_s], links = (int)values[at_l], fanout = (int)values[at_o];
    const wedge_meshes meshes = add_meshes(values, builder);
    int chain = 0;
    int64_t chains_in_stage = 1; // the stage after the last, which is only counted, may have more than an int holds
    for (int stage = 0; stage < stages; stage++, chains_in_stage *= fanout)
        for (int64_t i = 0; i < chains_in_stage; i++, chain++)
            for (int k = 0; k < links; k++) {
                cal_body_def def = make_link(values, k, stages - 1 - stage, density[stage * links + k]);
                def.parent = k > 0       ? chain * links + k - 1
                             : chain > 0 ? (chain - 1) / fanout * links + links - 1
                                         : CAL_GROUND;
                if (k > 0)
                    def.position[1] = -values[at_h];
                else if (chain > 0)
                    hang_on_brim(values, &def, (chain - 1) % fanout, rim_radius(values, stages - stage));
                const int body = add_link(values, builder, &def, chain == 0 && k == 0 ? values[at_start] : 0.0);
                draw_link(values, builder, &meshes, body, chain, stages - 1 - stage);
            }
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    double links = 0.0;
    for (int stage = 0; stage < (int)values[at_s]; stage++) links = links * values[at_o] + values[at_l];
    if (links > CAL_GENERATED_LIMIT)
        return cal_fail(error, CAL_BAD_ARGUMENT, "mobile: s=%g, l=%g, o=%g make %.3g links; at most %d are possible",
                        values[at_s], values[at_l], values[at_o], links, CAL_GENERATED_LIMIT);
    double* density = cal_allocate((size_t)values[at_s] * (size_t)values[at_l], sizeof *density);
    if (density == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a mobile of %.0f links", links);
    taper_links(values, density);
    cal_builder_set_gravity(builder, (double[3]){0.0, -9.81, 0.0});
    add_chains(values, builder, density);
    cal_free(density);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(mobile, PARAMETERS, "hierarchical mobiles of wedges and plateaus (Jung)")
