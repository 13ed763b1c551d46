// See fetch.h. The next events are among the first of the heap, and each is one of a pair or of a body:
//
//     event ─▸ slot ─▸ pair ─▸ two bodies ─▸ their components, their boxes ─▸ their newest states, their lists of pairs
//
// An arrow is a line that is asked for by an address in the one before. Of the event that is due next the last one is asked for, of the one
// after that the last but one, and so on: each time the line before has come while another event was processed.
#include "simulation/event/fetch.h"

enum { AHEAD = 5 }; // the first entry of the heap and its children

// Those in the order of time; others may come before the last of them.
static int find_next(const cal_event_queue* queue, int32_t events[AHEAD]) {
    double times[AHEAD];
    const int count = queue->count < AHEAD ? queue->count : AHEAD;
    for (int i = 0; i < count; i++) {
        const cal_heap_entry entry = queue->heap[CAL_HEAP_ROOT + i];
        int at = i;
        for (; at > 0 && entry.time < times[at - 1]; at--) times[at] = times[at - 1], events[at] = events[at - 1];
        times[at] = entry.time, events[at] = entry.event;
    }
    return count;
}

// moves: its box does.
CAL_FETCH void fetch_component(const cal_world* world, int body, bool moves) {
    const cal_sim_body* part = &world->bodies[body];
    if (part->component >= 0) __builtin_prefetch(&world->components[part->component]);
    __builtin_prefetch(part->pairs);
    if (moves) cal_broad_fetch(world->broad, body);
}

// meets: it is one of a pair that is looked at, or collides.
CAL_FETCH void fetch_motion(const cal_world* world, int body, bool meets) {
    const cal_sim_body* part = &world->bodies[body];
    if (part->component >= 0 && meets)
        cal_fetch_whole_state(world, part->component);
    else if (part->component >= 0)
        cal_fetch_state(world, part->component);
    for (int i = 0; part->component >= 0 && i < part->pair_count; i++)
        __builtin_prefetch(&world->table.pairs[part->pairs[i]]);
}

void cal_fetch_events(const cal_world* world) {
    const cal_event_queue* queue = &world->events;
    int32_t events[AHEAD] = {0};
    for (int i = find_next(queue, events) - 1; i >= 0; i--) {
        const cal_event_slot* slot = &queue->slots[events[i]];
        if (i == 4) {
            __builtin_prefetch(slot);
            continue;
        }
        const cal_event_kind kind = cal_event_kind_of(slot);
        if (kind != CAL_EVENT_PAIR && kind != CAL_EVENT_BOX) continue;
        const cal_pair* pair = kind == CAL_EVENT_PAIR ? &world->table.pairs[slot->owner] : NULL;
        if (i == 3) {
            if (pair != NULL) __builtin_prefetch(pair);
            continue;
        }
        for (int k = 0; k < (pair != NULL ? 2 : 1); k++) {
            const int body = pair != NULL ? pair->body[k] : slot->owner;
            if (i == 2)
                cal_fetch_body(world, body);
            else if (i == 1)
                fetch_component(world, body, pair == NULL || pair->hit);
            else
                fetch_motion(world, body, pair != NULL);
        }
    }
}
