// Constraints on the command line: how they stay closed, and what happens to them when.
#pragma once
#include "calder/calder_run.h"
#include "command.h"
#include "options.h"

// The forms of --constraint-form.
const char* cal_constraint_form_choice(int index);
// Reads --stabilize NAME[:K] into a definition; complains where a gain is beyond what the solver's step can take.
int cal_sim_read_stabilize(const char* text, cal_sim_def* def);

// Timed events, --at TIME:ACTION:CONSTRAINT,…
typedef struct cal_event {
    double time;
    int constraint;
    int action;
} cal_event;
typedef struct cal_events {
    cal_event* list; // by time
    int count, next;
} cal_events;

int cal_events_read(const cal_texts* texts, const cal_model* model, cal_events* out); // of all texts together
void cal_events_free(cal_events* events);
void cal_events_skip(cal_events* events, double time); // those up to a time have happened already
double cal_events_due(const cal_events* events);       // time of the next one, or infinity
int cal_events_apply(cal_events* events, cal_run* run);
