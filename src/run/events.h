// What runs with events share: their channels and their list of events, what they say about their start, and about what happened.
#pragma once
#include "run/run.h"

// Channels of a run with events; CAL_EVENT_CONSTRAINT is the last one, of those that have constraints.
enum { CAL_EVENT_CONSTRAINT = 10, CAL_EVENT_CHANNELS };
extern const cal_channel cal_event_channels[CAL_EVENT_CHANNELS];

// How a world is watched.
typedef struct cal_event_watch {
    cal_rate discontinuities, rollbacks;
    bool keeps; // events are kept
} cal_event_watch;
// A world is watched from its time on, or another one in its place.
void cal_event_watch_begin(cal_event_watch* watch, cal_world* world);
void cal_event_watch_keep(cal_event_watch* watch, cal_world* world);
cal_status cal_event_watch_read(cal_event_watch* watch, cal_world* world, int count, double* values);
// The next event; sim: bodies are those of its model, NULL: the world's.
bool cal_event_next(cal_world* world, const cal_sim* sim, cal_run_event* out);

// The world's contacts; where the first of the two bodies does not move, they are swapped, so that the force is on one that does.
cal_status cal_event_contacts(cal_world* world, cal_contact_point* out, int capacity, int* count, cal_error* error);

// What was mended at the start, and what could not be: bodies moved apart, links moved onto constraints, pairs that pass through
// each other. Leaves note alone where there is nothing to say.
void cal_run_note_start(cal_world* world, char* note, size_t capacity);
// Counts of events, for programs and for people.
void cal_run_report_events(cal_world* world, cal_facts* report);
