// What runs with events share: what they say about their start, and about what happened.
#pragma once
#include "run/run.h"

// What was mended at the start, and what could not be: bodies moved apart, links moved onto constraints, pairs that pass through
// each other. Leaves note alone where there is nothing to say.
void cal_run_note_start(cal_world* world, char* note, size_t capacity);
// Counts of events, for programs and for people.
void cal_run_report_events(cal_world* world, cal_facts* report);
