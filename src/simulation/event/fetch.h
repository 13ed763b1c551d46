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
// and acceleration, and of what turns how far that is known and how fast it turns.
CAL_FETCH void cal_fetch_state(const cal_world* world, int component) {
    enum { LINES = 5, LINE = 64 };
    const cal_queue* queue = &world->components[component].queue;
    if (queue->tail == queue->head) return;
    const char* state = (const char*)cal_saved_state_at(queue, queue->tail - 1);
    for (int at = 0; at < queue->size && at < (int)LINES * (int)LINE; at += LINE) __builtin_prefetch(state + at);
}

// Of all components, one after the other: what says when the newest state of those after one is from.
CAL_FETCH void cal_fetch_components(const cal_world* world, int component) {
    enum { AHEAD = 8 };
    if (component + AHEAD >= world->component_count) return;
    const cal_queue* queue = &world->components[component + AHEAD].queue;
    if (queue->tail > queue->head) __builtin_prefetch(cal_saved_state_at(queue, queue->tail - 1));
}

// All of it.
CAL_FETCH void cal_fetch_whole_state(const cal_world* world, int component) {
    enum { LINE = 64 };
    const cal_queue* queue = &world->components[component].queue;
    if (queue->tail == queue->head || !world->components[component].ops->single) return;
    const char* state = (const char*)cal_saved_state_at(queue, queue->tail - 1);
    for (int at = 0; at < queue->size; at += LINE) __builtin_prefetch(state + at);
}

// Some bodies, in two lists.
typedef struct cal_fetched {
    const int32_t* bodies[2];
    int count[2];
} cal_fetched;

CAL_FETCH void cal_fetch_body(const cal_world* world, int body) {
    enum { LINE = 64 };
    const char* part = (const char*)&world->bodies[body];
    __builtin_prefetch(part);
    __builtin_prefetch(part + LINE);
}

// All that a prediction reads of some bodies: their courses, and the states of those that do not fly.
CAL_FETCH void cal_fetch_bodies(const cal_world* world, const cal_fetched* f) {
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < f->count[k]; i++) cal_fetch_body(world, f->bodies[k][i]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < f->count[k]; i++) {
            const cal_sim_body* part = &world->bodies[f->bodies[k][i]];
            if (!part->flying && part->component >= 0) __builtin_prefetch(&world->components[part->component]);
        }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < f->count[k]; i++) {
            const cal_sim_body* part = &world->bodies[f->bodies[k][i]];
            if (!part->flying && part->component >= 0) cal_fetch_state(world, part->component);
        }
}

// The same of the partners of bodies that move, with their pairs and the events of these.
CAL_FETCH void cal_fetch_partners(const cal_world* world, const int* bodies, int body_count) {
    enum { MOST = 32 };
    int32_t others[2][MOST];
    cal_fetched f = {.bodies = {others[0], others[1]}};
    for (int k = 0; k < body_count && k < 2; k++) {
        const cal_sim_body* part = &world->bodies[bodies[k]];
        if (part->component >= 0) f.count[k] = part->pair_count < MOST ? part->pair_count : MOST;
        for (int i = 0; i < f.count[k]; i++) __builtin_prefetch(&world->table.pairs[part->pairs[i]]);
    }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < f.count[k]; i++) {
            const cal_pair* pair = &world->table.pairs[world->bodies[bodies[k]].pairs[i]];
            others[k][i] = pair->body[0] == bodies[k] ? pair->body[1] : pair->body[0];
            __builtin_prefetch(&world->events.slots[pair->event]);
        }
    cal_fetch_bodies(world, &f);
}

// What the new box of a body makes be read: of those that begin to overlap it what a prediction reads; of those that cease to do so what
// the end of a pair changes, their lists and the last pairs of these.
CAL_FETCH void cal_fetch_changes(const cal_world* world, const cal_broad_changes* c) {
    for (int i = 0; i < c->ceased_count; i++) __builtin_prefetch(&world->bodies[c->ceased[i]]);
    cal_fetch_bodies(world, &(cal_fetched){{c->began}, {c->began_count}});
    for (int i = 0; i < c->ceased_count; i++) {
        const cal_presence at = cal_body_presence(world, c->ceased[i]);
        if (*at.pair_count > 0) __builtin_prefetch(&(*at.pairs)[*at.pair_count - 1]);
    }
    for (int i = 0; i < c->ceased_count; i++) {
        const cal_presence at = cal_body_presence(world, c->ceased[i]);
        if (*at.pair_count > 0) __builtin_prefetch(&world->table.pairs[(*at.pairs)[*at.pair_count - 1]]);
    }
}

// Of all pairs, which follow each other all over space: what those after one need is on its way while this one is looked at.
CAL_FETCH void cal_fetch_pairs(const cal_world* world, int pair) {
    enum { STATE = 4, COMPONENT = 8, BODY = 12 };
    const cal_pair_table* table = &world->table;
    for (int k = 0; k < 2; k++) {
        if (pair + BODY < table->pair_count) cal_fetch_body(world, table->pairs[pair + BODY].body[k]);
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
