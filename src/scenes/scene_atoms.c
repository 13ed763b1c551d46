// Atoms: balls and molecules of three lobes (104.5°) in a box that a divider halves. No gravity, no friction, no loss.
//
// The paper's run: the divider rests up to 40 s, moves by a quarter of the box up to 70 s (which compresses one side 2 : 1),
// and lifts from 80 to 90 s, so that the gases mix. A carriage above the box carries it.
//
//          ┌──────────────▭──────────────┐   carriage
//          │   o      °   ║    o    ꔷ    │
//          │ °     o      ║ o        °   │
//          └──────────────╨──────────────┘
#include "base/memory.h"
#include "scenes/scene.h"
#include "simulation/motion/rotate.h"
#include <stdio.h>
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 300, 1, 1000000, "atoms, one in three of them a molecule")                                              \
    NUMBER(radius, 0.1, 0.000001, 1000, "of a ball, m")                                                                \
    NUMBER(fill, 0.05, 0.0001, 0.2, "share of the box that they fill")                                                 \
    NUMBER(speed, 1, 0, 1000, "of each at the start, m/s")                                                             \
    CHOICE(kind, "both|balls", "with molecules or without")                                                            \
    CHOICE(divider, "auto|moves|still|none", "auto moves as in the paper when n is 300, and is still otherwise")       \
    INTEGER(seed, 1, 0, 1000000000, "of positions and directions")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { DIVIDER_AUTO, DIVIDER_MOVES, DIVIDER_STILL, DIVIDER_NONE };
enum { MOST_TRIES = 100000 };

#define LOBE_RADIUS 0.7    // of a ball's
#define LOBE_SINE 0.790690 // of half of 104.5°
#define LOBE_COSINE 0.612217

static void prepare(const double* values, cal_world_def* def) {
    (void)values;
    memset(def->gravity, 0, sizeof def->gravity);
    def->restitution = 1.0;
    def->friction = 0.0;
}

// What the divider's path needs.
typedef struct divider {
    double length; // edge of the box
    double height; // of the carriage above the divider
    bool moves;
} divider;

// 0 before a time, 1 after another one, with a continuous acceleration in between: s = u³ (10 − 15 u + 6 u²).
static double ease(double time, double from, double to, double* rate) {
    *rate = 0.0;
    if (time <= from) return 0.0;
    if (time >= to) return 1.0;
    const double u = (time - from) / (to - from), v = 1.0 - u;
    *rate = 30.0 * u * u * v * v / (to - from);
    return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u);
}

static void divider_path(double time, double position[3], double quaternion[4], double velocity[3],
                         double angular_velocity[3], void* user) {
    const divider* d = user;
    double across = 0.0, up = 0.0, across_rate = 0.0, up_rate = 0.0;
    if (d->moves) {
        across = ease(time, 40.0, 70.0, &across_rate);
        up = ease(time, 80.0, 90.0, &up_rate);
    }
    const double place[3] = {0.25 * d->length * across, 0.0, 1.1 * d->length * up + d->height};
    const double speed[3] = {0.25 * d->length * across_rate, 0.0, 1.1 * d->length * up_rate};
    const double identity[4] = {1.0, 0.0, 0.0, 0.0};
    memcpy(position, place, sizeof place);
    memcpy(velocity, speed, sizeof speed);
    memcpy(quaternion, identity, sizeof identity);
    memset(angular_velocity, 0, 3 * sizeof *angular_velocity);
}

static cal_status add_walls(cal_world* world, double half, cal_error* error) {
    static const char* const names[6] = {"wall -x", "wall +x", "wall -y", "wall +y", "floor", "ceiling"};
    for (int i = 0; i < 6; i++) {
        cal_shape_def plane = cal_default_shape_def();
        plane.kind = CAL_PLANE;
        plane.friction = 0.0;
        double normal[3] = {0.0}, R[9];
        normal[i / 2] = i % 2 == 0 ? 1.0 : -1.0;
        cal_rotation_to_axis(normal, R);
        cal_matrix_quaternion(R, plane.quaternion);
        plane.position[i / 2] = -half * normal[i / 2];
        plane.size[0] = plane.size[1] = half;
        plane.visible = false;
        const cal_status status = cal_scene_fixed(world, names[i], &plane, error);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

static cal_status add_divider(cal_world* world, double length, double thickness, bool moves, cal_error* error) {
    divider* paths = cal_allocate(2, sizeof *paths);
    if (paths == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for the divider");
    world->owned = paths;
    const double heights[2] = {0.0, 0.5 * length + 2.0 * thickness};
    static const char* const names[2] = {"divider", "carriage"};
    for (int i = 0; i < 2; i++) {
        paths[i] = (divider){length, heights[i], moves};
        cal_world_body_def def = cal_default_world_body_def();
        def.name = names[i];
        def.motion = CAL_DRIVEN;
        def.path = divider_path;
        def.user = &paths[i];
        // The quintic's largest rates: 15/8 and 10/√3 over the interval.
        def.path_speed = moves ? 1.1 * length * 1.875 / 10.0 : 0.0;
        def.path_acceleration = moves ? 1.1 * length * 5.8 / 100.0 : 0.0;
        cal_shape_def box = cal_default_shape_def();
        box.kind = CAL_BOX;
        box.friction = 0.0;
        box.size[0] = 0.5 * thickness;
        box.size[1] = 0.55 * length;
        box.size[2] = i == 0 ? 0.5 * length : thickness;
        cal_body_id body;
        cal_status status = cal_world_add_body(world, &def, &body, error);
        if (status == CAL_OK) status = cal_world_add_shape(world, body, &box, NULL, error);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

static cal_status add_balls(cal_world* world, cal_body_id body, double radius, bool molecule, cal_error* error) {
    const double lobes[3][4] = {{0.0, 0.0, 0.0, radius},
                                {radius * LOBE_SINE, radius * LOBE_COSINE, 0.0, LOBE_RADIUS * radius},
                                {-radius * LOBE_SINE, radius * LOBE_COSINE, 0.0, LOBE_RADIUS * radius}};
    static const float colors[2][4] = {{0.25f, 0.5f, 0.85f, 1.0f}, {0.85f, 0.35f, 0.25f, 1.0f}};
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < (molecule ? 3 : 1); i++) {
        cal_shape_def ball = cal_default_shape_def();
        ball.friction = 0.0;
        ball.restitution = 1.0;
        ball.size[0] = lobes[i][3];
        memcpy(ball.position, lobes[i], sizeof ball.position);
        memcpy(ball.color, colors[molecule], sizeof ball.color);
        status = cal_world_add_shape(world, body, &ball, NULL, error);
    }
    return status;
}

// What is placed so far: centres with a reach, in rows of four, and in cells that are as wide as two of the largest reach. A place is
// compared with those in the 27 cells around it, and with nobody else.
typedef struct crowd {
    double (*placed)[4];
    int32_t *first, *next; // of a cell, and after an atom; −1: none
    int cells;             // along an edge
    double half, width;
} crowd;

static bool make_crowd(crowd* c, int n, double half, double reach) {
    c->half = half;
    c->cells = (int)fmin(half / reach, 256.0);
    if (c->cells < 1) c->cells = 1;
    c->width = 2.0 * half / c->cells;
    const size_t cells = (size_t)c->cells * (size_t)c->cells * (size_t)c->cells;
    c->placed = cal_allocate((size_t)n, sizeof *c->placed);
    c->first = cal_allocate(cells, sizeof *c->first);
    c->next = cal_allocate((size_t)n, sizeof *c->next);
    for (size_t i = 0; c->first != NULL && i < cells; i++) c->first[i] = -1;
    return c->placed != NULL && c->first != NULL && c->next != NULL;
}

static void free_crowd(crowd* c) {
    cal_free(c->placed);
    cal_free(c->first);
    cal_free(c->next);
}

static int cell_along(const crowd* c, double x) {
    const int cell = (int)((x + c->half) / c->width);
    return cell < 0 ? 0 : cell >= c->cells ? c->cells - 1 : cell;
}

static size_t cell_number(const crowd* c, const int cell[3]) {
    return ((size_t)cell[0] * (size_t)c->cells + (size_t)cell[1]) * (size_t)c->cells + (size_t)cell[2];
}

static void join_crowd(crowd* c, int atom) {
    const double* x = c->placed[atom];
    const int cell[3] = {cell_along(c, x[0]), cell_along(c, x[1]), cell_along(c, x[2])};
    const size_t number = cell_number(c, cell);
    c->next[atom] = c->first[number];
    c->first[number] = atom;
}

static bool is_clear(const crowd* c, const double at[3], double reach) {
    int from[3], to[3], cell[3];
    for (int i = 0; i < 3; i++) {
        const int own = cell_along(c, at[i]);
        from[i] = own > 0 ? own - 1 : 0;
        to[i] = own + 1 < c->cells ? own + 1 : own;
    }
    for (cell[0] = from[0]; cell[0] <= to[0]; cell[0]++)
        for (cell[1] = from[1]; cell[1] <= to[1]; cell[1]++)
            for (cell[2] = from[2]; cell[2] <= to[2]; cell[2]++)
                for (int i = c->first[cell_number(c, cell)]; i >= 0; i = c->next[i]) {
                    double square = 0.0;
                    for (int k = 0; k < 3; k++) square += (at[k] - c->placed[i][k]) * (at[k] - c->placed[i][k]);
                    const double room = reach + c->placed[i][3];
                    if (!(square > room * room)) return false;
                }
    return true;
}

// A place in one half of the box, away from everything placed so far.
static bool find_place(cal_random* random, const crowd* c, double gap, double reach, int side, double out[3]) {
    for (int attempt = 0; attempt < MOST_TRIES; attempt++) {
        const double least = gap + reach, most = c->half - reach;
        if (least >= most) return false;
        out[0] = (side == 0 ? -1.0 : 1.0) * cal_random_between(random, least, most);
        for (int i = 1; i < 3; i++) out[i] = cal_random_between(random, -most, most);
        if (is_clear(c, out, reach)) return true;
    }
    return false;
}

// Newton's, so that it has the same bits everywhere.
static double cube_root(double x) {
    double root = x > 1.0 ? x : 1.0;
    for (int i = 0; i < 200; i++) root -= (root * root * root - x) / (3.0 * root * root);
    return root;
}

static cal_status build(const double* values, cal_world* world, cal_error* error) {
    const int n = (int)values[at_n];
    const double radius = values[at_radius], lobe = LOBE_RADIUS * LOBE_RADIUS * LOBE_RADIUS;
    const bool molecules = values[at_kind] == 0.0;
    int motion = (int)values[at_divider];
    if (motion == DIVIDER_AUTO) motion = n == 300 ? DIVIDER_MOVES : DIVIDER_STILL;
    const double ball = 4.0 / 3.0 * 3.14159265358979 * radius * radius * radius;
    const int molecule_count = molecules ? n / 3 : 0;
    const double volume = (n + molecule_count * 2.0 * lobe) * ball / values[at_fill];
    const double length = cube_root(volume), half = 0.5 * length, thickness = radius;
    cal_status status = add_walls(world, half, error);
    if (status == CAL_OK && motion != DIVIDER_NONE)
        status = add_divider(world, length, thickness, motion == DIVIDER_MOVES, error);
    crowd c = {0};
    if (!make_crowd(&c, n, half, (molecules ? 1.0 + LOBE_RADIUS : 1.0) * radius * 1.001)) {
        free_crowd(&c);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d atoms", n);
    }
    cal_random random = {(uint64_t)values[at_seed]};
    for (int i = 0; status == CAL_OK && i < n; i++) {
        const bool molecule = i % 3 == 2 && molecules;
        double* place = c.placed[i];
        place[3] = (molecule ? 1.0 + LOBE_RADIUS : 1.0) * radius * 1.001;
        if (!find_place(&random, &c, motion != DIVIDER_NONE ? 0.5 * thickness : -place[3], place[3], i / 3 % 2,
                        place)) {
            status = cal_fail(error, CAL_BAD_ARGUMENT, "atoms: no room for atom %d of %d; make fill smaller", i + 1, n);
            break;
        }
        join_crowd(&c, i);
        char name[32];
        snprintf(name, sizeof name, "%s %d", molecule ? "molecule" : "ball", i);
        cal_world_body_def def = cal_default_world_body_def();
        def.name = name;
        memcpy(def.position, place, sizeof def.position);
        cal_scene_rotation(&random, def.quaternion);
        cal_scene_direction(&random, def.velocity);
        cal_scene_direction(&random, def.angular_velocity);
        for (int k = 0; k < 3; k++) def.velocity[k] *= values[at_speed], def.angular_velocity[k] *= 2.0;
        cal_body_id body;
        status = cal_world_add_body(world, &def, &body, error);
        if (status == CAL_OK) status = add_balls(world, body, radius, molecule, error);
    }
    free_crowd(&c);
    return status;
}

CAL_DEFINE_SCENE(atoms, PARAMETERS, 120.0, "balls and molecules in a divided box, without loss")
