// Queues of states, and the graph between them (graph.c).
//
// A queue holds states in the order of time, from the last one before GVT to the newest. A SEGMENT begins a new motion (the
// start, a collision, a callback); a STEP continues one where its series ends; FUSED says that a group is in charge from here
// on; ENDED closes a group. The motion after a state is a function of that state alone, whoever asks for it and when: so what
// is computed again after a rollback has the same bits.
//
//     body A   ○──────●┄┄┄┄┄┄○───      ○ SEGMENT   ● FUSED    │ junction
//     body B   ○──○───●┄┄┄┄┄┄○──○─
//                 │   │      │  │
//     group AB    │   ■──■──■◇  │      ■ SEGMENT, STEP   ◇ ENDED
//     body C   ○──○─────────────○─
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum cal_saved_state_kind { CAL_SEGMENT, CAL_STEP, CAL_FUSED, CAL_ENDED } cal_saved_state_kind;

typedef struct cal_saved_state {
    double time;
    int32_t kind;
    int32_t junction; // −1: none
    int32_t callback; // that made this state, −1: none
    int32_t group;    // of CAL_FUSED: the component in charge
    int64_t
        tick; // of the callback; of a state that a collision made: how many collisions were just before it (contact/collision.c)
} cal_saved_state;

// A ring of states, numbered on and on: head … tail − 1 are there. Each is a knot and `stride` numbers, of which a new state
// begins with the first `copied` ones of the one before (all, unless somebody says otherwise). They begin at cache lines.
typedef struct cal_queue {
    unsigned char* states;
    int64_t head, tail;
    int capacity, size; // states, bytes of one
    int stride, copied;
} cal_queue;

static inline cal_saved_state* cal_saved_state_at(const cal_queue* queue, int64_t number) {
    return (cal_saved_state*)(void*)(queue->states +
                                     ((size_t)number & (size_t)(queue->capacity - 1)) * (size_t)queue->size);
}
static inline double* cal_data_at(const cal_queue* queue, int64_t number) {
    return (double*)(void*)(cal_saved_state_at(queue, number) + 1);
}

typedef struct cal_state_ref {
    int component;
    int64_t number;
} cal_state_ref;

typedef struct cal_junction {
    cal_state_ref* links;
    int count, capacity;
    int references; // states that name it; unused when there are none
    int moved;      // 1 + its number in the domain that it is being handed over to; 0: it stays
} cal_junction;

typedef struct cal_change {
    int component;
    double time;
    double reached; // how far it had been computed, and in how many states: what the rollback threw away
    int deleted;
    int64_t order; // which one of the world's it is
} cal_change;

// --- Queues ---------------------------------------------------------------------------------------------------------------

void cal_queue_create(cal_queue* queue, int stride);     // without room
bool cal_queue_reserve(cal_queue* queue, int64_t count); // room for so many states; false: no memory
void cal_queue_destroy(cal_queue* queue);
// The same of a component's queue, whose states are counted and may be in junctions.
void cal_queue_release(cal_world* world, int component);
// A new state at the end, with the numbers of the one before that are copied (zeros for the first); NULL: no memory.
cal_saved_state* cal_queue_push(cal_world* world, int component, cal_saved_state_kind kind, double time);
// The same. A state that is final takes the place of the only one before it, to which nobody can go back: the same lines of memory again.
cal_saved_state* cal_queue_renew(cal_world* world, int component, cal_saved_state_kind kind, double time);
// The newest state that is not after a time, −1: there is none. Most questions are about the newest one.
int64_t cal_queue_find_earlier(const cal_queue* queue, double time);
static inline int64_t cal_queue_find(const cal_queue* queue, double time) {
    const int64_t last = queue->tail - 1;
    const bool newest = last >= queue->head && cal_saved_state_at(queue, last)->time <= time;
    return newest ? last : cal_queue_find_earlier(queue, time);
}
// A junction of newly made states; −1: no memory.
int cal_junction_create(cal_world* world);
bool cal_junction_add(cal_world* world, int junction, int component, int64_t number);
// The states of a component are another domain's from now on, with the junctions of those that are not final and what they wrote into
// the log; all that is linked to them must be handed over, too.
cal_status cal_queue_hand_over(cal_world* from, cal_world* to, int component, cal_error* error);
// The states of a component that are all final leave a domain: they are linked to nothing any more.
void cal_queue_unlink(cal_world* from, int component);
// Deletes states from a number on, everything that may have come from them, and so on. What went back is noted;
// cal_world_update_changed then moves its events.
cal_status cal_rollback(cal_world* world, int component, int64_t number, cal_error* error);
// Deletes what a component has after a time.
cal_status cal_rollback_to(cal_world* world, int component, double time, cal_error* error);
// Notes that a component's motion changes from a time on.
cal_status cal_note_change(cal_world* world, int component, double time, cal_error* error);
// What is noted of a component and not settled yet; NULL: nothing.
cal_change* cal_find_change(const cal_world* world, int component);
// Gives everything that changed its new boxes, predictions and events.
cal_status cal_world_update_changed(cal_world* world, cal_error* error);
// Moves a component's own clock, and counts what that took.
// From when on states are kept: GVT, and where there are contact groups an interval of their checks before it. A group that goes back
// repeats a step from its beginning, which may be before GVT, and looks at its neighbours there.
double cal_kept_from(const cal_world* world);
void cal_component_mark_used(cal_world* world, int component, double time);
