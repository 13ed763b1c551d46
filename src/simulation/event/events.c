// The event queue.
#include "simulation/event/events.h"
#include "base/memory.h"
#include <math.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

void cal_events_destroy(cal_event_queue* queue) {
    cal_free(queue->heap);
    cal_free(queue->slots);
    cal_free(queue->free);
    *queue = (cal_event_queue){0};
}

static bool before(const cal_event_queue* queue, const cal_heap_entry* a, const cal_heap_entry* b) {
    if (a->time != b->time) return a->time < b->time;
    return queue->slots[a->event].order < queue->slots[b->event].order;
}

// Entry i is at ROOT + i, and its children are 4 i + 1 … 4 i + 4.
static int parent_of(int position) { return (position - 1) / 4; }

static cal_heap_entry* at(const cal_event_queue* queue, int position) { return &queue->heap[CAL_HEAP_ROOT + position]; }

static void put(cal_event_queue* queue, int position, cal_heap_entry entry) {
    *at(queue, position) = entry;
    queue->slots[entry.event].position = position;
}

static void sift_up(cal_event_queue* queue, int position, cal_heap_entry entry) {
    while (position > 0) {
        const int parent = parent_of(position);
        if (!before(queue, &entry, at(queue, parent))) break;
        put(queue, position, *at(queue, parent));
        position = parent;
    }
    put(queue, position, entry);
}

// The earlier of two, without a branch where their times differ.
static inline const cal_heap_entry* earlier(const cal_event_queue* queue, const cal_heap_entry* a,
                                            const cal_heap_entry* b) {
    const cal_heap_entry* first = b->time < a->time ? b : a;
    return a->time == b->time && before(queue, b, a) ? b : first;
}

static void sift_down(cal_event_queue* queue, int position, cal_heap_entry entry) {
    for (;;) {
        const int first = 4 * position + 1, children = queue->count - first;
        if (children <= 0) break;
        const cal_heap_entry *own = at(queue, first), *least = own;
        if (children >= 4)
            least = earlier(queue, earlier(queue, own, own + 1), earlier(queue, own + 2, own + 3));
        else
            for (int child = 1; child < children; child++) least = earlier(queue, least, own + child);
        if (!before(queue, least, &entry)) break;
        put(queue, position, *least);
        position = first + (int)(least - own);
    }
    put(queue, position, entry);
}

static void take_out(cal_event_queue* queue, int position) {
    queue->slots[at(queue, position)->event].position = -1;
    const cal_heap_entry last = *at(queue, --queue->count);
    if (position == queue->count) return;
    if (position > 0 && before(queue, &last, at(queue, parent_of(position))))
        sift_up(queue, position, last);
    else
        sift_down(queue, position, last);
}

static bool grow(cal_event_queue* queue) {
    const int capacity = queue->capacity == 0 ? FIRST_CAPACITY : 2 * queue->capacity;
    cal_heap_entry* heap = cal_allocate((size_t)(CAL_HEAP_ROOT + capacity), sizeof *heap);
    cal_event_slot* slots = cal_allocate((size_t)capacity, sizeof *slots);
    int32_t* unused = cal_allocate((size_t)capacity, sizeof *unused);
    if (heap == NULL || slots == NULL || unused == NULL) {
        cal_free(heap);
        cal_free(slots);
        cal_free(unused);
        return false;
    }
    if (queue->capacity > 0) {
        memcpy(heap, queue->heap, (size_t)(CAL_HEAP_ROOT + queue->count) * sizeof *heap);
        memcpy(slots, queue->slots, (size_t)queue->slot_count * sizeof *slots);
        memcpy(unused, queue->free, (size_t)queue->free_count * sizeof *unused);
    }
    cal_free(queue->heap);
    cal_free(queue->slots);
    cal_free(queue->free);
    queue->heap = heap;
    queue->slots = slots;
    queue->free = unused;
    queue->capacity = capacity;
    return true;
}

bool cal_events_reserve(cal_event_queue* queue, int count) {
    while (queue->capacity < count)
        if (!grow(queue)) return false;
    return true;
}

int cal_events_add(cal_event_queue* queue, cal_event_kind kind, int owner) {
    if (queue->free_count == 0 && queue->slot_count == queue->capacity && !grow(queue)) return -1;
    const int event = queue->free_count > 0 ? queue->free[--queue->free_count] : queue->slot_count++;
    queue->slots[event] = (cal_event_slot){.order = (uint64_t)kind << 60, .position = -1, .owner = owner};
    return event;
}

void cal_events_remove(cal_event_queue* queue, int event) {
    if (queue->slots[event].position >= 0) take_out(queue, queue->slots[event].position);
    queue->free[queue->free_count++] = event;
}

void cal_events_schedule(cal_event_queue* queue, int event, double time, uint64_t who) {
    cal_event_slot* slot = &queue->slots[event];
    if (!(time < INFINITY)) {
        if (slot->position >= 0) take_out(queue, slot->position);
        return;
    }
    const cal_heap_entry entry = {time, event};
    slot->order = (uint64_t)cal_event_kind_of(slot) << 60 | who;
    if (slot->position < 0)
        sift_up(queue, queue->count++, entry);
    else if (before(queue, &entry, at(queue, slot->position)))
        sift_up(queue, slot->position, entry);
    else
        sift_down(queue, slot->position, entry);
}

double cal_events_time(const cal_event_queue* queue, int event) {
    const int position = queue->slots[event].position;
    return position < 0 ? (double)INFINITY : at(queue, position)->time;
}
