// The event queue: a heap with four children a node, in the total order of time, then kind, then who. Nothing depends on the
// order in which events were put in.
//
//     line 0  [ -  -  -  0 ]        An entry is 16 bytes, and four brothers share a cache line: the root is the fourth entry of
//     line 1  [ 1  2  3  4 ]        the first one. What decides among equal times is looked up where times are equal.
//     line 2  [ 5  6  7  8 ]
#pragma once
#include "base/error.h"
#include <math.h>
#include <stdint.h>

typedef enum cal_event_kind {
    CAL_EVENT_BOX,      // a body's swept box ends
    CAL_EVENT_GROUP,    // a group check
    CAL_EVENT_CALLBACK, // a periodic callback
    CAL_EVENT_PAIR,     // a collision check
    CAL_EVENT_STEP      // a group goes on: after everything else at its time, so that it goes on once
} cal_event_kind;

typedef struct cal_heap_entry {
    double time;
    int32_t event;
} cal_heap_entry;

typedef struct cal_event_slot {
    uint64_t order;   // kind, then the owner's own order
    int32_t position; // in the heap; −1: not there
    int32_t owner;    // a body's, group's, callback's or pair's number
} cal_event_slot;

static inline cal_event_kind cal_event_kind_of(const cal_event_slot* slot) {
    return (cal_event_kind)(slot->order >> 60);
}

enum { CAL_HEAP_ROOT = 3 };

typedef struct cal_event_queue {
    cal_heap_entry* heap; // from CAL_HEAP_ROOT on
    cal_event_slot* slots;
    int32_t* free;
    int count, slot_count, free_count, capacity;
} cal_event_queue;

void cal_events_destroy(cal_event_queue* queue);
bool cal_events_reserve(cal_event_queue* queue, int count); // room for so many; false: no memory
// A new event that is not scheduled yet; −1: no memory.
int cal_events_add(cal_event_queue* queue, cal_event_kind kind, int owner);
void cal_events_remove(cal_event_queue* queue, int event);
// Moves an event to a time; infinity takes it out of the heap. who: the order among events of one kind and time.
void cal_events_schedule(cal_event_queue* queue, int event, double time, uint64_t who);
// When an event is due; infinity when it is not scheduled.
double cal_events_time(const cal_event_queue* queue, int event);
// The first one: its number, −1 when there is none.
static inline int cal_events_first(const cal_event_queue* queue) {
    return queue->count > 0 ? queue->heap[CAL_HEAP_ROOT].event : -1;
}
// When that is; infinity when there is none.
static inline double cal_events_due(const cal_event_queue* queue) {
    return queue->count > 0 ? queue->heap[CAL_HEAP_ROOT].time : (double)INFINITY;
}
