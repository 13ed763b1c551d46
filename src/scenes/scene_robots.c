// Robots: arms that stand two and two, pick up boxes from their own tables and throw them onto the other one's, for ever.
//
//      ┌─────┐                  A, B   arms        ▭   tables with banks around them, and two boards behind
//      │▭ ▫ ▫│← ─ ─ ─ ─ ─ ╮
//      └─────┘             ╲    An arm swings its hand above a box, down around it, closes the fingers, lifts, winds up, and
//         A                 B   lets go while it moves along the tangent of the parabola to the other table's middle.
//          ╲            ┌─────┐
//           ╰ ─ ─ ─ ─ →│▫ ▫ ▭│ Gripping is contact and friction, nothing is tied to anything. What fell beside a table stays
//                       └─────┘ there. Which box is next is decided once a cycle, from where the pair's boxes are then.
#include "base/memory.h"
#include "scenes/arm_control.h"
#include "scenes/scene.h"
#include "simulation/motion/rotate.h"
#include <stdio.h>
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    INTEGER(n, 20, 2, 2000, "arms, in pairs")                                                                          \
    INTEGER(boxes, 4, 1, 7, "an arm")                                                                                  \
    INTEGER(seed, 1, 0, 1000000, "of the boxes' sizes and places")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

#define BOX_DENSITY 700.0
#define BOX_LEAST 0.03 // half an edge
#define BOX_MOST 0.038
#define BOX_LOAD 0.22 // kg: of a middling box, for the controller

#define PAIR_DISTANCE 2.0 // m between the arms of a pair
#define PAIR_WIDTH 2.8    // m between pairs
#define COLUMN_WIDTH 4.6  // m between columns of pairs
#define TABLE_AWAY 0.65   // of a table's middle from its arm, to the arm's left
#define TABLE_TOP 0.3     // height
#define TABLE_HALF 0.27   // of the flat part
#define PLANK 0.02        // thickness
#define BANK_COSINE 0.5   // of the banks' slope, 60°
#define BANK_SINE 0.8660254037844386
#define BANK_HALF_COSINE 0.8660254037844386 // of 30°, whose sine is a half
#define BANK_HALF 0.1                       // of the way up
#define CORNER 0.3 // of the fifth bank, across the corner where what is thrown goes, from the table's middle
#define CORNER_HALF 0.2
#define HALF_ROOT 0.70710678118654752
#define FRICTION 0.6 // of boxes and tables
#define CYCLE 3.2    // s between two decisions of an arm

enum { MOST_BOXES = CAL_VIEW_BODIES - 1 };

// What one arm's callbacks read: it never changes.
typedef struct station {
    cal_arm_controller brain;
    int box_count; // of its pair
    double halves[MOST_BOXES];
} station;

typedef struct robots {
    cal_arm_dynamics* mind;
    station stations[];
} robots;

static void release_robots(void* owned) { cal_arm_mind_destroy(((robots*)owned)->mind); }

static void prepare(const double* values, cal_world_def* def) {
    (void)values;
    def->restitution = 0.4;
}

// --- Which box ----------------------------------------------------------------------------------------------------------------

#define STILL 0.05       // m/s
#define FLAT 0.8         // cosine of how far a box may lean
#define TIP_ROOM 6e-3    // m between fingers or hand and the table or its banks
#define FINGER_ROOM 2e-3 // m around a finger that comes down
#define HAND_ROOM 0.13   // m around the hand's middle

// A box as an arm sees it, in the arm's frame.
typedef struct seen {
    double x[3], R[9], half;
    bool still;
} seen;

static void look_at(const cal_callback_context* view, const cal_arm_controller* brain, int which, seen* out) {
    double x[3], quaternion[4], u[3], w[3], R[9], own[9];
    cal_callback_body(view, which, x, quaternion, u, w);
    cal_quaternion_matrix(brain->quaternion, R);
    cal_quaternion_matrix(quaternion, own);
    for (int i = 0; i < 3; i++) x[i] -= brain->position[i];
    cal_unrotate3(R, x, out->x);
    cal_transpose_multiply33(R, own, out->R);
    out->still = cal_dot3(u, u) + out->half * out->half * cal_dot3(w, w) < STILL * STILL;
}

// Whether a finger that comes down beside a box hits another one.
static bool is_free(const double finger[3], const seen* other) {
    double away[3], local[3];
    for (int i = 0; i < 3; i++) away[i] = finger[i] - other->x[i];
    cal_unrotate3(other->R, away, local);
    const double room = other->half + 0.5 * CAL_ARM_FINGER_WIDTH + FINGER_ROOM;
    return fabs(local[0]) > room || fabs(local[1]) > room || fabs(local[2]) > room;
}

// How far a point is above the table and its banks, m; x and y from the table's middle.
static double height_above(const double point[3]) {
    const double x = point[0], y = point[1] - TABLE_AWAY, z = point[2] - TABLE_TOP;
    const double beyond = fmax(fmax(fabs(x), fabs(y)) - TABLE_HALF, HALF_ROOT * (y - x) - CORNER);
    return fmin(z, BANK_COSINE * z - BANK_SINE * beyond);
}

// Whether another box is in the way of a hand.
static bool is_covered(const seen* boxes, int count, int which, const double along[3]) {
    for (int i = 0; i < count; i++) {
        double away[3], across[3];
        for (int k = 0; k < 3; k++) away[k] = boxes[i].x[k] - boxes[which].x[k];
        cal_cross3(away, along, across);
        if (i != which && cal_dot3(away, along) < -BOX_LEAST && cal_dot3(across, across) < HAND_ROOM * HAND_ROOM)
            return true;
    }
    return false;
}

// Whether there is room for both fingers and the hand.
static bool can_grip(const seen* boxes, int count, int which, const cal_arm_pose* pose) {
    const seen* box = &boxes[which];
    if (is_covered(boxes, count, which, pose->along)) return false;
    for (int side = -1; side <= 1; side += 2) {
        double finger[3], tip[3], palm[3];
        const double middle = box->half + CAL_ARM_SPARE + 0.5 * CAL_ARM_THICK;
        for (int i = 0; i < 3; i++) {
            finger[i] = box->x[i] + side * middle * pose->open[i];
            tip[i] = finger[i] + CAL_ARM_TIP * pose->along[i] + side * 0.5 * CAL_ARM_THICK * pose->open[i];
            palm[i] = box->x[i] + 0.5 * side * CAL_ARM_PALM_WIDTH * pose->open[i] - CAL_ARM_PALM * pose->along[i];
        }
        if (height_above(tip) < TIP_ROOM || height_above(palm) < TIP_ROOM) return false;
        for (int i = 0; i < count; i++)
            if (i != which && !is_free(finger, &boxes[i])) return false;
    }
    return true;
}

// How a box is gripped: from the side that is up most, along one of the other two axes, the more level one first. False: it
// leans too far, or there is no room.
static bool find_grip(const seen* boxes, int count, int which, cal_arm_pose* out) {
    const double* R = boxes[which].R;
    int up = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(R[6 + i]) > fabs(R[6 + up])) up = i;
    if (fabs(R[6 + up]) < FLAT) return false;
    const int next = (up + 1) % 3, last = (up + 2) % 3;
    const int axes[2] = {fabs(R[6 + next]) <= fabs(R[6 + last]) ? next : last,
                         fabs(R[6 + next]) <= fabs(R[6 + last]) ? last : next};
    memcpy(out->grip, boxes[which].x, sizeof out->grip);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 3; i++) {
            out->along[i] = R[6 + up] > 0.0 ? -R[3 * i + up] : R[3 * i + up];
            out->open[i] = R[3 * i + axes[k]];
        }
        if (can_grip(boxes, count, which, out)) return true;
    }
    return false;
}

// Of the boxes on the arm's table that lie still and can be gripped, the highest one; CAL_NONE: there is none.
static int choose(const seen* boxes, int count, cal_arm_pose* out) {
    int best = CAL_NONE;
    for (int which = 0; which < count; which++) {
        const double* x = boxes[which].x;
        cal_arm_pose pose;
        if (!boxes[which].still || height_above(x) < 0.0 || (best >= 0 && x[2] < boxes[best].x[2] + 1e-3)) continue;
        if (!find_grip(boxes, count, which, &pose)) continue;
        best = which;
        *out = pose;
    }
    return best;
}

// The planning callback: the arm is body 0, the boxes of its pair follow.
static void plan(cal_callback_context* view, void* user) {
    const station* own = user;
    double* slots = cal_callback_slots(view, 0);
    if (slots[CAL_ARM_AT_PHASE] != (double)CAL_ARM_IDLE) return;
    seen boxes[MOST_BOXES];
    for (int i = 0; i < own->box_count; i++) {
        boxes[i].half = own->halves[i];
        look_at(view, &own->brain, i + 1, &boxes[i]);
    }
    cal_arm_pose grip;
    const int which = choose(boxes, own->box_count, &grip);
    if (which >= 0) cal_arm_order(&own->brain, cal_callback_time(view), &grip, 2.0 * boxes[which].half, slots);
}

// --- Building -----------------------------------------------------------------------------------------------------------------

static const float wood[4] = {0.76F, 0.6F, 0.42F, 1.0F}, grey[4] = {0.45F, 0.46F, 0.48F, 1.0F},
                   pale[4] = {0.8F, 0.82F, 0.85F, 1.0F};

// From a point of an arm's frame to the world.
static void to_world(const cal_arm_controller* brain, const double x[3], double out[3]) {
    double R[9];
    cal_quaternion_matrix(brain->quaternion, R);
    cal_rotate3(R, x, out);
    for (int i = 0; i < 3; i++) out[i] += brain->position[i];
}

// A fixed box, placed in an arm's frame.
static cal_status add_plank(cal_world* world, const cal_arm_controller* brain, const char* name, const double half[3],
                            const double at[3], const double turn[4], const float color[4], cal_error* error) {
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = CAL_BOX;
    shape.friction = FRICTION;
    memcpy(shape.size, half, sizeof shape.size);
    memcpy(shape.color, color, sizeof shape.color);
    to_world(brain, at, shape.position);
    cal_quaternion_multiply(brain->quaternion, turn, shape.quaternion);
    return cal_scene_fixed(world, name, &shape, error);
}

// A bank: its lower edge is on the table, at a distance from the middle, in a direction of so many eighths of a turn; up: half
// of how far it goes up the slope.
static cal_status add_bank(cal_world* world, const cal_arm_controller* brain, int eighths, double away, double length,
                           double up, cal_error* error) {
    const double half[3] = {up, 0.5 * length, 0.5 * PLANK}, lean[4] = {BANK_HALF_COSINE, 0.0, -0.5, 0.0};
    double s, c, turn[4], R[9],
        at[3] = {away + up * BANK_COSINE + 0.5 * PLANK * BANK_SINE, 0.0, up * BANK_SINE - 0.5 * PLANK * BANK_COSINE};
    cal_sine_cosine(0.125 * 3.1415926535897932 * eighths, &s, &c);
    const double around[4] = {c, 0.0, 0.0, s};
    cal_quaternion_multiply(around, lean, turn);
    cal_quaternion_matrix(around, R);
    cal_rotate3(R, at, at);
    at[1] += TABLE_AWAY;
    at[2] += TABLE_TOP;
    return add_plank(world, brain, "bank", half, at, turn, wood, error);
}

// Nine fixed bodies: a pedestal, a table, five banks, two boards.
static cal_status add_station(cal_world* world, const cal_arm_controller* brain, cal_error* error) {
    const double none[4] = {1.0, 0.0, 0.0, 0.0};
    const double low = 0.5 * (CAL_ARM_SHOULDER - 0.21) - 0.005, pedestal[3] = {0.1, 0.1, low}, below[3] = {0, 0, low};
    const double table[3] = {TABLE_HALF + PLANK, TABLE_HALF + PLANK, 0.5 * TABLE_TOP},
                 middle[3] = {0.0, TABLE_AWAY, table[2]};
    cal_status status = add_plank(world, brain, "pedestal", pedestal, below, none, grey, error);
    if (status == CAL_OK) status = add_plank(world, brain, "table", table, middle, none, wood, error);
    for (int side = 0; status == CAL_OK && side < 4; side++)
        status = add_bank(world, brain, 2 * side, TABLE_HALF, 2.0 * TABLE_HALF + 0.22, BANK_HALF, error);
    if (status == CAL_OK) status = add_bank(world, brain, 3, CORNER, 0.3, CORNER_HALF, error);
    // What is thrown comes from the front: boards behind the table, and beyond it.
    const double edge = TABLE_HALF + 2.0 * BANK_HALF * BANK_COSINE + PLANK, high = 0.25,
                 lift = TABLE_TOP + 2.0 * BANK_HALF * BANK_SINE;
    const double back[3] = {0.5 * PLANK, edge, high}, back_at[3] = {-edge, TABLE_AWAY, lift + high};
    const double far[3] = {edge, 0.5 * PLANK, high}, far_at[3] = {0.0, TABLE_AWAY + edge, lift + high};
    if (status == CAL_OK) status = add_plank(world, brain, "back board", back, back_at, none, pale, error);
    if (status == CAL_OK) status = add_plank(world, brain, "far board", far, far_at, none, pale, error);
    return status;
}

static cal_status add_box(cal_world* world, const cal_arm_controller* brain, int number, int place, double half,
                          cal_random* random, cal_body_id* out, cal_error* error) {
    const float colors[4][4] = {
        {0.8F, 0.25F, 0.2F, 1.0F}, {0.2F, 0.5F, 0.8F, 1.0F}, {0.3F, 0.65F, 0.3F, 1.0F}, {0.85F, 0.7F, 0.2F, 1.0F}};
    char name[32];
    snprintf(name, sizeof name, "box %d", number);
    cal_world_body_def def = cal_default_world_body_def();
    def.name = name;
    def.density = BOX_DENSITY;
    const int column = place % 3, row = place / 3;
    const double local[3] = {0.16 * (column - 1) + cal_random_between(random, -0.015, 0.015),
                             TABLE_AWAY + 0.16 * (row - 1) + cal_random_between(random, -0.015, 0.015),
                             TABLE_TOP + half + 1e-4};
    to_world(brain, local, def.position);
    double s, c;
    cal_sine_cosine(cal_random_between(random, -0.4, 0.4), &s, &c);
    const double yaw[4] = {c, 0.0, 0.0, s};
    cal_quaternion_multiply(brain->quaternion, yaw, def.quaternion);
    const cal_status status = cal_world_add_body(world, &def, out, error);
    if (status != CAL_OK) return status;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = CAL_BOX;
    shape.friction = FRICTION;
    for (int i = 0; i < 3; i++) shape.size[i] = half;
    memcpy(shape.color, colors[number % 4], sizeof shape.color);
    return cal_world_add_shape(world, *out, &shape, NULL, error);
}

// Where the arms of a pair stand: pairs are in columns of five.
static void place_arm(cal_arm_controller* brain, cal_arm_dynamics* mind, int arm) {
    const int pair = arm / 2, column = pair / 5, row = pair % 5;
    *brain = (cal_arm_controller){.mind = mind,
                                  .position = {COLUMN_WIDTH * column, PAIR_WIDTH * row, 0.0},
                                  .quaternion = {1.0, 0.0, 0.0, 0.0},
                                  .target = {PAIR_DISTANCE - 0.06, -TABLE_AWAY + 0.03, TABLE_TOP + 0.04},
                                  .spread = 0.6 * TABLE_HALF};
    if (arm % 2 == 0) return;
    brain->position[0] += PAIR_DISTANCE;
    brain->quaternion[0] = 0.0, brain->quaternion[3] = 1.0; // half a turn
}

// One pair: two stations, two arms, their boxes, and the callbacks.
static cal_status add_pair(cal_world* world, const cal_model* model, station* two, int pair, int boxes,
                           cal_random* random, cal_error* error) {
    cal_body_id bodies[CAL_VIEW_BODIES], roots[2];
    cal_status status = CAL_OK;
    for (int side = 0; status == CAL_OK && side < 2; side++) {
        const cal_arm_controller* brain = &two[side].brain;
        const int pedestal = cal_world_body_count(world);
        status = add_station(world, brain, error);
        cal_multibody_id arm;
        if (status == CAL_OK)
            status =
                cal_world_add_multibody(world, model, brain->position, brain->quaternion, CAL_ARM_SLOTS, &arm, error);
        if (status != CAL_OK) return status;
        roots[side] = cal_world_link(world, arm, 0);
        status = cal_world_ignore_pair(world, cal_world_body(world, pedestal), roots[side]);
    }
    for (int i = 0; status == CAL_OK && i < 2 * boxes; i++) {
        const double half = cal_random_between(random, BOX_LEAST, BOX_MOST);
        two[0].halves[i] = two[1].halves[i] = half;
        status =
            add_box(world, &two[i / boxes].brain, 2 * boxes * pair + i, i % boxes, half, random, &bodies[1 + i], error);
    }
    for (int side = 0; status == CAL_OK && side < 2; side++) {
        two[side].box_count = 2 * boxes;
        bodies[0] = roots[side];
        // Both arms of a pair throw at once, so that nobody is at a table when a box comes; then there is a moment to settle.
        // Between ticks: nothing depends on who is called first.
        const double first = 0.305 + 0.13 * pair;
        status = cal_world_on_period(world, bodies, 1 + 2 * boxes, first, CYCLE, plan, &two[side], error);
        if (status == CAL_OK)
            status = cal_world_on_period(world, &roots[side], 1, 0.0, 0.01, cal_arm_drive, &two[side].brain, error);
    }
    return status;
}

static cal_status build(const double* values, cal_world* world, cal_error* error) {
    const int arms = (int)values[at_n], boxes = (int)values[at_boxes];
    if (arms % 2 != 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "robots: %d arms cannot stand in pairs; give an even n", arms);
    robots* all = cal_allocate(1, sizeof *all + (size_t)arms * sizeof all->stations[0]);
    if (all == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for robots");
    world->owned = all;
    world->release = release_robots;
    cal_model* model = NULL;
    cal_status status = cal_arm_mind_create(BOX_LOAD, &all->mind, error);
    if (status == CAL_OK) status = cal_arm_model(0.0, &model, error);
    if (status == CAL_OK) status = cal_world_keep_model(world, model, error);
    cal_shape_def ground = cal_default_shape_def();
    ground.kind = CAL_PLANE;
    ground.friction = 0.5;
    memcpy(ground.color, pale, sizeof pale);
    if (status == CAL_OK) status = cal_scene_fixed(world, "ground", &ground, error);
    cal_random random = {(uint64_t)values[at_seed]};
    for (int arm = 0; arm < arms; arm++) place_arm(&all->stations[arm].brain, all->mind, arm);
    for (int pair = 0; status == CAL_OK && pair < arms / 2; pair++) {
        station* two = &all->stations[2 * pair];
        const double none[4] = {1.0, 0.0, 0.0, 0.0}, half[3] = {0.5 * PAIR_DISTANCE + 0.4, 0.5 * PLANK, 0.15},
                     at[3] = {0.5 * PAIR_DISTANCE, -0.5 * PAIR_WIDTH, 0.15};
        if (pair > 0) status = add_plank(world, &two->brain, "fence", half, at, none, grey, error);
        if (status == CAL_OK) status = add_pair(world, model, two, pair, boxes, &random, error);
    }
    return status;
}

CAL_DEFINE_SCENE(robots, PARAMETERS, 120.0, "arms in pairs that pick up boxes and throw them onto each other's tables")
