// What pages ask for in every frame beside the channels: any q, v, force in a joint or sensor, by a click.
#pragma once
#include "calder/calder_run.h"
#include <stdio.h>

enum { CAL_PROBES = 8, CAL_SENSOR_NUMBERS = 8 }; // at a time; a sensor has at most so many

typedef enum cal_probe_kind { CAL_PROBE_Q, CAL_PROBE_V, CAL_PROBE_FORCE, CAL_PROBE_SENSOR } cal_probe_kind;

typedef struct cal_probes {
    int count;
    struct {
        cal_probe_kind kind;
        int index; // of q or v; of a force the joint's; of sensors one of all their numbers, one sensor's after the other's
    } list[CAL_PROBES];
    double* forces; // 6 a joint
} cal_probes;

// Adds one, or removes it where it is there already.
cal_status cal_probes_toggle(cal_probes* probes, const cal_run* run, const char* kind, int index, cal_error* error);
// One number each; NaN where there is none.
void cal_probes_read(cal_probes* probes, cal_run* run, double* values);
// An array of objects: kind, index, name, unit.
void cal_probes_write_json(const cal_probes* probes, const cal_run* run, FILE* file);
void cal_probes_release(cal_probes* probes);
