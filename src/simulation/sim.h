// The inside of a simulation.
#pragma once
#include "base/advancing.h"
#include "calder/calder_world.h"
#include "model/activation.h"
#include "simulation/model_map.h"
#include "simulation/world.h"
#include "solver/system.h"

// Errors of constraints where advances ended, of a simulation with events.
typedef struct cal_looked {
    double largest, squares, rows; // the sum of their squares, and over how many rows
} cal_looked;

// One of two: a system that nothing can touch, which is advanced directly; or a world, with events.
struct cal_sim {
    const cal_model* model; // NULL: of a world that was made by hand
    cal_advancing advancing;
    cal_system* system;    // NULL: there are events
    cal_world* world;      // NULL: there are none
    cal_world_def events;  // how the world was made
    cal_model_map* map;    // of the model in the world
    double *q, *v;         // the whole model's, at the world's time; where `current`
    double *tau, *control; // what the user set; control is a drive (model/activation.h)
    bool current;
    cal_outer_force* pushes; // what the user set, for a start anew
    int push_count, push_capacity;
    cal_looked looked;
    bool* connected; // of each constraint, for a start anew
    cal_ignored_overlap*
        passing; // who overlaps where the model starts, and so passes through the other: also after a start anew
    int passing_count;
    cal_system* whole; // of a model with events: looks at what a moment asks of all of it (sim_events.c); NULL: not yet
};

// For whoever changes or saves it: that it is there, and not being advanced.
cal_status cal_sim_check_still(const cal_sim* sim, const char* function, cal_error* error);

static inline const double* cal_sim_drive_of(const cal_sim* sim) {
    return sim->system ? cal_system_control(sim->system) : sim->control;
}
