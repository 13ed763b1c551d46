// SUNDIALS' own integrators on the same equations: Calder's dynamics as their right-hand side, everything else theirs.
#pragma once
#include "calder/calder.h"

// "cvode adams", "cvode bdf", "arkode erk"; NULL past the last one, and where the build has no SUNDIALS.
const char* cal_precision_peer_name(int index);

// q and v at the times k time / samples, k = 1 … samples, one after the other in `out`; the number of evaluations, those for Jacobians
// counted. A model of a tree: without constraints and contacts. The tolerance is relative and absolute. On an error no sample is valid.
cal_status cal_precision_peer_run(int index, const cal_model* model, double tolerance, double time, int samples,
                                  double* out, int64_t* evaluations, cal_error* error);
