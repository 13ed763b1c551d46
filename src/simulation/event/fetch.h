// Bringing into the caches what is about to be read: of ten thousand bodies little is in them, and what a look at a body reads is found
// line by line, each address in the one before. For several bodies at once each of these ways is taken side by side. Nothing else depends on
// it. What the next events read is asked for while the present one is processed (fetch.c).
#pragma once
#include "base/fetch.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/world.h"
#include <stddef.h>

// The lines of the newest state of a component that a flight is read from: its time, position, velocity
// and acceleration, and how far its series goes.
CAL_FETCH void cal_fetch_state(const cal_world* world, int component) {
    enum { LINES = 4, LINE = 64 };
    const cal_queue* queue = &world->components[component].queue;
    if (queue->tail == queue->head) return;
    const char* state = (const char*)cal_saved_state_at(queue, queue->tail - 1);
    for (int line = 0; line < LINES; line++) __builtin_prefetch(state + (ptrdiff_t)line * LINE);
}

// All that a prediction reads of some bodies.
CAL_FETCH void cal_fetch_bodies(const cal_world* world, const int32_t* bodies, int count) {
    for (int i = 0; i < count; i++) __builtin_prefetch(&world->bodies[bodies[i]]);
    for (int i = 0; i < count; i++) {
        const int component = world->bodies[bodies[i]].component;
        if (component >= 0) __builtin_prefetch(&world->components[component]);
    }
    for (int i = 0; i < count; i++) {
        const int component = world->bodies[bodies[i]].component;
        if (component >= 0) cal_fetch_state(world, component);
    }
}

// The same of the partners of a body that moves, with its pairs and their events.
CAL_FETCH void cal_fetch_partners(const cal_world* world, int body) {
    enum { MOST = 32 };
    const cal_sim_body* part = &world->bodies[body];
    if (part->component < 0) return;
    const int count = part->pair_count < MOST ? part->pair_count : MOST;
    int32_t others[MOST];
    for (int i = 0; i < count; i++) __builtin_prefetch(&world->table.pairs[part->pairs[i]]);
    for (int i = 0; i < count; i++) {
        const cal_pair* pair = &world->table.pairs[part->pairs[i]];
        others[i] = pair->body[0] == body ? pair->body[1] : pair->body[0];
        __builtin_prefetch(&world->events.slots[pair->event]);
    }
    cal_fetch_bodies(world, others, count);
}

// What the end of their pairs with another body changes: their lists, and the last pairs of these.
CAL_FETCH void cal_fetch_lists(const cal_world* world, const int32_t* bodies, int count) {
    for (int i = 0; i < count; i++) __builtin_prefetch(&world->bodies[bodies[i]]);
    for (int i = 0; i < count; i++) {
        const cal_presence at = cal_body_presence(world, bodies[i]);
        if (*at.pair_count > 0) __builtin_prefetch(&(*at.pairs)[*at.pair_count - 1]);
    }
    for (int i = 0; i < count; i++) {
        const cal_presence at = cal_body_presence(world, bodies[i]);
        if (*at.pair_count > 0) __builtin_prefetch(&world->table.pairs[(*at.pairs)[*at.pair_count - 1]]);
    }
}

// Of all pairs, which follow each other all over space: what those after one need is on its way while this one is looked at.
CAL_FETCH void cal_fetch_pairs(const cal_world* world, int pair) {
    enum { STATE = 4, COMPONENT = 8, BODY = 12, LINE = 64 };
    const cal_pair_table* table = &world->table;
    for (int k = 0; k < 2; k++) {
        if (pair + BODY < table->pair_count) {
            const char* body = (const char*)&world->bodies[table->pairs[pair + BODY].body[k]];
            __builtin_prefetch(body);
            __builtin_prefetch(body + LINE);
        }
        if (pair + COMPONENT < table->pair_count) {
            const cal_sim_body* part = &world->bodies[table->pairs[pair + COMPONENT].body[k]];
            if (part->component >= 0) __builtin_prefetch(&world->components[part->component]);
            __builtin_prefetch(part->balls);
        }
        if (pair + STATE >= table->pair_count) continue;
        const int component = world->bodies[table->pairs[pair + STATE].body[k]].component;
        if (component >= 0) cal_fetch_state(world, component);
    }
}

// What the events that come next will read, the further ahead the less of it.
void cal_fetch_events(const cal_world* world);
