// What a world is made of.
//
//     bodies        what collides: free, fixed, driven, or a link of a multibody (body.h)
//     components    what is advanced as one: a free body, a multibody, a contact group (component.h)
//     junctions     states that one event made together, in several queues: the links of the state graph (state/graph.h)
//     pairs         two bodies whose swept boxes overlap, and when they may collide (event/pairs.h)
//     events        boxes that end, group checks, callbacks, pairs; one queue in a total order (event/events.h)
#pragma once
#include "base/random.h"
#include "calder/calder_world.h"
#include "collide/collide.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/log.h"
#include "simulation/event/pairs.h"
#include "simulation/state/graph.h"
#include "solver/account.h"

// Two bodies that overlap at the start, and so pass through each other: links of one multibody, or held by the ground.
typedef struct cal_ignored_overlap {
    int body[2];
    double depth;
} cal_ignored_overlap;

enum { CAL_SYSTEM_NAMES = 5 };

struct cal_world {
    cal_world_def def;
    cal_sim_def systems; // how multibodies are advanced; its names are in system_names
    char system_names[CAL_SYSTEM_NAMES][16];
    const struct cal_group_ops* group_ops;
    struct cal_sim_body* bodies;
    int body_count, body_capacity; // places, also of bodies that were removed
    int new_count, removed_count;  // bodies that the next advance takes in; places that are not in use
    // No place before the first one is free; and so many free ones that follow each other do not begin before the second one, but where they reach it.
    int free_from, room_from, room_size;
    double smallest; // reach of what moves, and how many have it; 0: it is to be looked for
    int smallest_count;
    uint32_t first_id; // of ids: what generations count from, another number in every world
    int calling;       // callbacks of the user that have not returned
    bool doomed;       // one of them has destroyed it: it goes when the advance returns
    struct cal_component* components;
    int component_count, component_capacity;
    int* ended; // groups that ended and that GVT has not passed yet
    int ended_count, ended_capacity;
    int* unused_components;
    int unused_count, unused_capacity;
    struct cal_multibody** multibodies; // each stays where it is
    int multibody_count, multibody_capacity;
    int free_multibody_from; // no place before it is free
    cal_junction* junctions;
    int* unused_junctions;
    int junction_count, junction_capacity, unused_junction_count;
    cal_pair_table table;
    uint64_t* ignored; // sorted keys of pairs that may not collide
    int ignored_count, ignored_capacity;
    cal_ignored_overlap* ignored_overlaps;
    int ignored_overlap_count, ignored_overlap_capacity;
    cal_event_queue events;
    cal_broad* broad;
    cal_collision_hook* collision_hooks;
    int collision_hook_count, collision_hook_capacity, unused_collision_hook; // the first of a chain; −1: none
    cal_periodic_hook* periodic_hooks;
    int periodic_hook_count, periodic_hook_capacity;
    int free_hook_from; // no place before it is free
    cal_event_log log;
    cal_change* changes; // components whose motion changed and that were not settled yet
    int change_count, change_capacity;
    int64_t change_order; // of the next one
    cal_state_ref* stack; // of a rollback
    int stack_count, stack_capacity;
    int32_t* partners; // scratch for the broad phase's answers
    int partner_capacity;
    struct cal_pair_search*
        searches; // pairs that are to be predicted at once (event/pairs.c), and how many brackets are open
    int search_count, search_capacity, gathering;
    int beginning; // the component whose motion begins anew in the middle of what it had computed, 1 + its number; 0: none
    double begins;   // when
    double* scratch; // of the group integrator
    size_t scratch_count;
    struct cal_group_impact* impacts; // of its last step
    int impact_capacity;
    cal_random random; // of the forced rollbacks
    // How far they have let the events come, and how many at that time: the last time, the number now, the most so far.
    double frontier, last_event;
    int64_t frontier_count, frontier_most;
    // How many events may still be repeated for them, and how often the time that they go back by was halved since there were too many.
    int64_t repeats_left, halvings;
    double time; // committed
    double now;  // of the event being processed
    double gvt;  // nothing before it can change
    // Whether time gets on (event/progress.c): events since `from`, and the latest one of them.
    int64_t watch_events;
    double watch_from, watch_best;
    double lag;        // how far behind `now` that is: only what forces rollbacks needs more than zero
    double window;     // searches begin at multiples of it, or where a motion does
    double given_rate; // of group checks, 1/s: the user's; 0: none
    double first_rate; // that the window is of
    double start_rate; // that of the smallest of what was there at the start, too: what comes later may make it more
    double contact_speed;
    // What gravity gives between two group checks, or without gravity a little of a size: slower is at rest.
    double slow;
    void* owned;                  // what a scene's callbacks read; freed with the world
    void (*release)(void* owned); // before that; NULL: nothing to do
    cal_model** models;           // those that live as long as the world
    int model_count, model_capacity;
    // Of a world that is divided among processors (domain/domain.h); this world is then the whole, one of the domains, or the border.
    cal_machine* machine;              // NULL: one core
    cal_machine* ranks;                // NULL: there is one
    bool rebuilt;                      // made whole here, or read: ranks take the first one's (domain/rebuild.c)
    struct cal_domains* domains;       // NULL: it is not divided
    int domain;                        // its number; 0: the whole (domain/domain.h)
    struct cal_prescribed* prescribed; // of a domain: its own boxes and pairs of fixed and driven bodies, and how many
    int prescribed_count;
    double reached; // of a domain: the latest event of this window; what is before is a repetition
    int* noted;     // bodies of a domain that have a new box or a new motion
    int noted_count, noted_capacity;
    bool started;
    bool placing;      // bodies are being moved apart: pairs are known, but nobody looks ahead yet
    cal_status failed; // a world that failed half way stays failed
    cal_error trouble; // what a multibody that could not go on has said
    cal_world_report report;
    cal_account account; // of the energy (flow.h)
    int64_t states;
};

// An error of a state that could not be computed, in the words of `trouble` where there are any (world.c).
cal_status cal_fail_state(const cal_world* world, cal_status status, cal_error* error);
// Two bodies that overlap pass through each other from now on, and are listed (links.c).
cal_status cal_world_pass_through(cal_world* world, const cal_ignored_overlap* overlap, cal_error* error);
// Makes a model the world's own, to be destroyed with it; on failure at once (world.c).
cal_status cal_world_keep_model(cal_world* world, cal_model* model, cal_error* error);
// Of a world on ranks: states of other ranks' bodies come here, where they have not yet. For whoever reads any, between two advances (domain/showing.c).
cal_status cal_world_complete(const cal_world* world);
// A report; hashed: with the hash of all bodies (world.c).
cal_status cal_world_measure(cal_world* world, bool hashed, cal_world_report* out);
