// Pairs of bodies whose swept boxes overlap, and when they may collide (pairs.c); the boxes (boxes.c).
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"
#include "collide/collide.h"
#include "simulation/body.h"

// In windows of the world: 0.1 ms where groups are checked at 100 Hz. No search is shorter either.
#define CAL_SHORTEST_BOX 0.0064
#define CAL_LONGEST_BOX 16.0 // of a free body

typedef enum cal_pair_kind {
    CAL_PAIR_BALLS,      // two balls in free flight under one acceleration: the root of a quadratic
    CAL_PAIR_BALL_PLANE, // a ball in free flight and a fixed plane: the root of a quadratic
    CAL_PAIR_ROUNDED,    // balls against balls, a plane or a block: second-order steps that never pass a root
    CAL_PAIR_GENERAL     // first-order steps
} cal_pair_kind;

typedef struct cal_pair {
    _Alignas(32) int body[2]; // ascending
    int place[2];             // in the bodies' lists
    int32_t kind;
    int event; // −1: the pair is not in use
    bool hit;  // the event is a collision, not the end of what was searched
    bool off;  // they touch in a group, which is in charge of the two
    bool open; // the search came to the end of a box, and not of the motions
} cal_pair;

typedef struct cal_pair_table {
    cal_pair* pairs;
    int32_t* cells; // of the border: open addressing, a pair's number + 1
    int32_t* free;
    int pair_count, free_count, capacity, cell_count;
} cal_pair_table;

static inline uint64_t cal_pair_key(int a, int b) {
    return a < b ? (uint64_t)a << 29 | (uint64_t)b : (uint64_t)b << 29 | (uint64_t)a;
}
// What a world, or a domain, keeps of a body: until when its box holds it, the event that ends it, and the list of its pairs.
typedef struct cal_presence {
    double* box_end;
    int* box_event;
    int **pairs, *pair_count, *pair_capacity;
} cal_presence;
cal_presence cal_body_presence(const cal_world* world, int body);
int cal_pair_find(const cal_world* world, int a, int b); // −1: none
cal_status cal_pair_add(cal_world* world, int a, int b, int* out, cal_error* error);
void cal_pair_remove(cal_world* world, int pair);
void cal_pair_table_destroy(cal_pair_table* table);
bool cal_pair_table_reserve(cal_pair_table* table,
                            int count); // room for so many, but not of the border; false: no memory
bool cal_may_collide(const cal_world* world, int a, int b);
bool cal_world_ignore(cal_world* world, int a, int b); // from now on they pass through each other; false: no memory
// What a search from a time on finds: when the pair is due, and whether it collides then; off and open as of a pair.
typedef struct cal_prediction {
    double time;
    bool hit, off, open;
} cal_prediction;
typedef struct cal_pair_search cal_pair_search;
// boxed: as far as the boxes go, for several who look at the same bodies at the same time.
cal_status cal_pair_look(cal_world* world, const cal_pair* pair, double time, bool boxed, cal_prediction* out,
                         cal_error* error);
// Whether a search from a time on is put off until the balls about two bodies overlap.
bool cal_pair_waits(const cal_world* world, const cal_pair* pair, double time, cal_prediction* out);
void cal_pair_take(cal_world* world, int pair, const cal_prediction* prediction);
// Searches from a time on and schedules what comes of it.
cal_status cal_pair_predict(cal_world* world, int pair, double time, cal_error* error);
// From now on until cal_pairs_predict, where others may help (domain/help.c), pairs are not predicted one after the other but all at once; brackets
// may be nested. With what went wrong in between, which stays.
void cal_pairs_gather(cal_world* world);
cal_status cal_pairs_predict(cal_world* world, cal_status status, cal_error* error);
// A new swept box of a body from a time on, with what that does to its pairs.
cal_status cal_box_renew(cal_world* world, int body, double time, cal_error* error);
// The first box of a body that flies alone, which begins at a time, and until when it holds it; false: it takes more than that to know. Writes nothing.
bool cal_box_of_start(const cal_world* world, int body, double time, double* end, cal_box* out);
// Puts the first box of a body into the broad phase, that one or (NULL) what it takes more to know, with an event at its end. Makes no pairs.
cal_status cal_box_place(cal_world* world, int body, double time, const cal_box* known, double end, cal_error* error);
// Makes a body's box one about its way over an interval, with what that does to its pairs.
cal_status cal_box_sweep(cal_world* world, int body, double from, double to, cal_error* error);
// A box about a body's way over an interval, from the bounds of its motion; what its table has for all that moves by itself.
cal_status cal_box_of_motion(cal_world* world, int body, double from, double to, cal_box* out);
// The same of a free body.
cal_status cal_box_of_flight(cal_world* world, int body, double from, double to, cal_box* out);
// What is in every box of a body that moves so at some time of it, whenever the box was made and however long it lasts: where the body is, and where it would be
// after an interval of group checks if it went on. Of one that does not go on, where it is.
void cal_box_ahead(const cal_world* world, int body, const cal_motion* at, cal_box* out);
void cal_box_of_pose(const cal_world* world, int body, const cal_pose* pose, cal_box* out);
// Whether a box overlaps that of a body, which may be a plane: a half space where it is fixed, or else everything.
bool cal_box_meets(const cal_world* world, const cal_box* box, int other, const cal_box* others);
// Pairs with those whose boxes began to overlap that of a body.
cal_status cal_box_begin_pairs(cal_world* world, int body, const cal_broad_changes* changes, double time,
                               cal_error* error);
// After a new motion began: new box, all pairs searched again.
cal_status cal_body_changed(cal_world* world, int body, double time, cal_error* error);
// The same after a step of the group that a body is in.
cal_status cal_body_stepped(cal_world* world, int body, int group, double time, cal_error* error);
