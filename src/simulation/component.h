// What a component can do, whatever it is: a table of functions for each kind. Nobody else asks for the kind to choose how to
// move, bound, begin, settle or refresh.
#pragma once
#include "simulation/world.h"

typedef struct cal_component_ops {
    // A body of it at a time. turning: its orientation matters.
    cal_status (*motion)(cal_world* world, int component, int body, double time, bool turning, cal_motion* out);
    // What that motion keeps to from a time on.
    cal_status (*bounds)(cal_world* world, int component, int body, double from, double until, cal_motion_bounds* out);
    // A new motion from a time on, with the numbers that hold there; what came after is rolled back.
    cal_status (*begin)(cal_world* world, int component, double time, cal_error* error);
    // Its motion is another one from a time on: new boxes, predictions and events.
    cal_status (*changed)(cal_world* world, int component, double time, cal_error* error);
    // The numbers of its newest state were changed.
    cal_status (*refresh)(cal_world* world, int component, cal_error* error);
    // An integration step ends at a time in a loop that stops everybody; what is a function of its states has nothing to do.
    cal_status (*step)(cal_world* world, int component, double time, cal_error* error);
} cal_component_ops;

// The table of a kind; NULL: unused (component.c).
const cal_component_ops* cal_component_table(cal_component_kind kind);

// A free body's functions (trajectory.c, segment.c).
cal_status cal_free_body_motion(cal_world* world, int component, double time, bool turning, cal_motion* out);
cal_status cal_free_body_bounds(cal_world* world, int component, double from, double until, cal_motion_bounds* out);
cal_status cal_free_body_push(cal_world* world, int component, cal_saved_state_kind kind, double time,
                              cal_error* error);
