// Armstrong's algorithm: what its kernels of all widths share with the rest, and its check.
#pragma once
#include "pass/variants.h"

// Doubles a node keeps between the walks: armstrong_body.h says what they are.
static inline int cal_armstrong_record(int kind) { return kind == CAL_FREE ? 42 : 51; }

CAL_DECLARE_VARIANTS(cal_armstrong_control);
CAL_DECLARE_VARIANTS(cal_armstrong_coefficients);
CAL_DECLARE_VARIANTS(cal_armstrong_acceleration);

// Whether the algorithm can run a model: balls everywhere, balls and free joints on the ground.
cal_status cal_armstrong_accepts(const cal_model* model, cal_error* error);

// The paper's fastband_check: puts the accelerations that an execution of forward dynamics (of "armstrong" or any other
// algorithm) has left into the equations of motion (1)-(4) of every link. Gives the largest misfit, relative to the sizes of
// all terms of its equation (rounding leaves 1e-15, and up to 1e-10 on long chains of thin links), and the body where it
// is (CAL_NONE in an empty model). Takes memory while it runs. CAL_BAD_MODEL for other joints, CAL_BAD_ARGUMENT where there
// are no accelerations, or not all.
cal_status cal_armstrong_check(const cal_context* context, double* residual, int* body);
