// Poses and energy of a model at q and v, for runs that keep only these.
#pragma once
#include "calder/calder.h"

typedef struct cal_query {
    cal_machine* machine;
    cal_plan* plan;
    cal_state* state;
} cal_query;

// The model must outlive it. On an error there is nothing to release.
cal_status cal_query_create(cal_query* query, const cal_model* model, cal_error* error);
void cal_query_release(cal_query* query);
// poses and energy may be NULL.
cal_status cal_query_look(cal_query* query, const double* q, const double* v, double* poses, double energy[2]);
