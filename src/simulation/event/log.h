// Collisions that the user has not taken yet (log.c).
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"

typedef struct cal_event_log {
    cal_world_event* events;
    int32_t* junctions; // by which a rollback finds them
    int64_t head, tail; // taken and made
    int capacity;
    bool keep;  // collisions are written down
    bool taken; // by somebody here; otherwise only other ranks want them
} cal_event_log;

// Who made a collision inside a group's step that was cut short after it, in place of the junction of the state at its end: the group.
static inline int cal_log_group(int component) { return -2 - component; }
// Which of two comes first in a log.
bool cal_log_is_before(const cal_world_event* a, const cal_world_event* b);
// Writes a collision down, with the junction of the states that it made.
cal_status cal_log_add(cal_event_log* log, const cal_world_event* event, int junction, cal_error* error);
// The same for several, which are brought into their order.
cal_status cal_log_add_all(cal_event_log* log, cal_world_event* events, size_t count, cal_error* error);
// Nobody takes what happened up to a time.
void cal_log_drop(cal_event_log* log, double time);
// Takes back what a junction, or a group, made from a time to another one.
void cal_log_forget(cal_event_log* log, int junction, double begin, double end);
// What a junction, or a group, made from a time on is in another log from now on, under another number.
cal_status cal_log_hand_over(cal_event_log* log, cal_event_log* to, int junction, int number, double begin,
                             cal_error* error);
// What a junction made up to a time is another one's, or a group's, from now on.
void cal_log_pass(cal_event_log* log, int junction, int to, double begin, double end);
