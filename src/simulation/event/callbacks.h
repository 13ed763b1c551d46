// Callbacks of the user (callbacks.c).
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"

typedef struct cal_collision_hook {
    int body, next;
    cal_collision_callback* callback;
    void* user;
} cal_collision_hook;

enum { CAL_VIEW_BODIES = 16 };

typedef struct cal_periodic_hook {
    _Alignas(
        64) int bodies[CAL_VIEW_BODIES]; // no cache line has two hooks, whose callbacks may be called by two workers
    // The next place in the chain of a body's callbacks, and, of a link, in that of its multibody's. A place is 1 + hook · CAL_VIEW_BODIES +
    // which of its bodies; 0: none.
    int next_of_body[CAL_VIEW_BODIES], next[CAL_VIEW_BODIES];
    int count, event;
    int domain; // whose queue has the event
    double first, period;
    int64_t tick; // the next one
    cal_periodic_callback* callback;
    void* user;
} cal_periodic_hook;

cal_status cal_call_collision(cal_world* world, int a, int b, const double impulse[3], double time, cal_error* error);
cal_status cal_call_periodic(cal_world* world, int hook, cal_error* error);
// A new hook comes into the chains of its bodies and multibodies, and leaves them before it ends.
void cal_periodic_hook_link(cal_world* world, int hook);
void cal_periodic_hook_unlink(cal_world* world, int hook);
// The first hook after another one that sees any of some bodies that follow each other; −1: there is none.
int cal_periodic_hook_after(const cal_world* world, int first, int end, int hook);
void cal_schedule_periodic(cal_world* world, int hook);
