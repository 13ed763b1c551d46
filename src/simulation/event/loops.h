// The loops that take events in their order (timewarp.c), and the two that it is compared with (retroactive.c, conservative.c).
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"
#include "simulation/event/events.h"

// What an event asks for (timewarp.c).
cal_status cal_event_process(cal_world* world, const cal_event_slot* slot, double time, cal_error* error);
// For finding mistakes: some component goes back to some time that is not committed.
cal_status cal_force_rollback(cal_world* world, cal_error* error);
// Whether time gets on: to be told when a loop begins, and of every event, with the time that a world's events are apart. slot may be
// NULL: no single event's.
void cal_progress_begin(cal_world* world);
cal_status cal_progress_check(cal_world* world, const cal_event_slot* slot, double scale, cal_error* error);
// Whether an advance shall end; of ranks only those know that have parts of the world each, with what they tell each other.
bool cal_world_is_interrupted(cal_world* world);
// The loops. Where they are interrupted they end with CAL_INTERRUPTED as an advance to an earlier *time would have ended: all events up
// to it are taken, and none after it.
cal_status cal_advance_timewarp(cal_world* world, double* time, cal_error* error);
cal_status cal_advance_retroactive(cal_world* world, double* time, cal_error* error);
cal_status cal_advance_conservative(cal_world* world, double* time, cal_error* error);
