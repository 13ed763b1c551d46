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
    int bodies[CAL_VIEW_BODIES];
    int count, event;
    int domain; // whose queue has the event
    double first, period;
    int64_t tick; // the next one
    cal_periodic_callback* callback;
    void* user;
} cal_periodic_hook;

cal_status cal_call_collision(cal_world* world, int a, int b, const double impulse[3], double time, cal_error* error);
cal_status cal_call_periodic(cal_world* world, int hook, cal_error* error);
void cal_schedule_periodic(cal_world* world, int hook);
