// Collisions that the user has not taken yet, in the order of time.
#include "simulation/event/log.h"
#include "base/memory.h"
#include "simulation/event/pairs.h"
#include <stdlib.h>

static bool grow_log(cal_event_log* log) {
    const int capacity = log->capacity == 0 ? 256 : 2 * log->capacity;
    cal_world_event* events = cal_allocate((size_t)capacity, sizeof *events);
    int32_t* junctions = cal_allocate((size_t)capacity, sizeof *junctions);
    if (events == NULL || junctions == NULL) {
        cal_free(events);
        cal_free(junctions);
        return false;
    }
    for (int64_t i = log->head; log->capacity > 0 && i < log->tail; i++) {
        events[(size_t)i % (size_t)capacity] = log->events[(size_t)i % (size_t)log->capacity];
        junctions[(size_t)i % (size_t)capacity] = log->junctions[(size_t)i % (size_t)log->capacity];
    }
    cal_free(log->events);
    cal_free(log->junctions);
    log->events = events;
    log->junctions = junctions;
    log->capacity = capacity;
    return true;
}

bool cal_log_is_before(const cal_world_event* a, const cal_world_event* b) {
    const uint64_t first = cal_pair_key(a->body[0].index, a->body[1].index),
                   second = cal_pair_key(b->body[0].index, b->body[1].index);
    if (a->time != b->time) return a->time < b->time;
    if (first != second) return first < second;
    return a->impulse >
           b->impulse; // two of one pair at one time come in the order in which they were computed, which a rollback changes
}

// After a rollback, events come in another order than that of time: each goes where it belongs.
cal_status cal_log_add(cal_event_log* log, const cal_world_event* event, int junction, cal_error* error) {
    if (!log->keep) return CAL_OK;
    if (log->tail - log->head == log->capacity && !grow_log(log))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for events; take them with cal_world_next_event");
    int64_t at = log->tail++;
    while (at > log->head && cal_log_is_before(event, &log->events[(size_t)(at - 1) % (size_t)log->capacity])) {
        log->events[(size_t)at % (size_t)log->capacity] = log->events[(size_t)(at - 1) % (size_t)log->capacity];
        log->junctions[(size_t)at % (size_t)log->capacity] = log->junctions[(size_t)(at - 1) % (size_t)log->capacity];
        at--;
    }
    log->events[(size_t)at % (size_t)log->capacity] = *event;
    log->junctions[(size_t)at % (size_t)log->capacity] = junction;
    return CAL_OK;
}

static int compare(const void* a, const void* b) {
    return cal_log_is_before(a, b) ? -1 : cal_log_is_before(b, a) ? 1 : 0;
}

cal_status cal_log_add_all(cal_event_log* log, cal_world_event* events, size_t count, cal_error* error) {
    cal_status status = CAL_OK;
    qsort(events, count, sizeof *events, compare);
    for (size_t i = 0; status == CAL_OK && i < count; i++) status = cal_log_add(log, &events[i], -1, error);
    return status;
}

void cal_log_drop(cal_event_log* log, double time) {
    while (log->head < log->tail && log->events[(size_t)log->head % (size_t)log->capacity].time <= time) log->head++;
}

void cal_log_forget(cal_event_log* log, int junction, double begin, double end) {
    int64_t kept = log->tail;
    while (kept > log->head && log->events[(size_t)(kept - 1) % (size_t)log->capacity].time >= begin) kept--;
    int64_t out = kept;
    for (int64_t i = kept; i < log->tail; i++) {
        const size_t from = (size_t)i % (size_t)log->capacity, to = (size_t)out % (size_t)log->capacity;
        const double when = log->events[from].time;
        if (log->junctions[from] == junction && when >= begin && when <= end) continue;
        log->events[to] = log->events[from];
        log->junctions[to] = log->junctions[from];
        out++;
    }
    log->tail = out;
}

void cal_log_pass(cal_event_log* log, int junction, int to, double begin, double end) {
    for (int64_t i = log->tail - 1; i >= log->head; i--) {
        const size_t at = (size_t)i % (size_t)log->capacity;
        if (log->events[at].time < begin) return;
        if (log->junctions[at] == junction && log->events[at].time <= end) log->junctions[at] = to;
    }
}

cal_status cal_log_hand_over(cal_event_log* log, cal_event_log* to, int junction, int number, double begin,
                             cal_error* error) {
    cal_status status = CAL_OK;
    int64_t out = log->head;
    for (int64_t i = log->head; i < log->tail; i++) {
        const size_t from = (size_t)i % (size_t)log->capacity, kept = (size_t)out % (size_t)log->capacity;
        if (status == CAL_OK && log->junctions[from] == junction && log->events[from].time >= begin) {
            status = cal_log_add(to, &log->events[from], number, error);
            if (status == CAL_OK) continue;
        }
        log->events[kept] = log->events[from];
        log->junctions[kept] = log->junctions[from];
        out++;
    }
    log->tail = out;
    return status;
}
