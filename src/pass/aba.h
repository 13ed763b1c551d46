// What the articulated-body kernels of all widths share with the rest.
#pragma once
#include "pass/pass.h"

// Doubles a node keeps between the walks.
static inline int cal_aba_record(int kind) { return kind == CAL_FREE ? 15 : kind == CAL_BALL ? 33 : 13; }

// One set of kernels a width; aba_lanes.c is compiled once for each.
#define CAL_ABA_KERNELS(suffix)                                                                                        \
    cal_kernel cal_aba_velocity##suffix, cal_aba_inertia##suffix, cal_aba_pull##suffix, cal_aba_acceleration##suffix;
CAL_ABA_KERNELS(_w1)
CAL_ABA_KERNELS(_w1_fma)
CAL_ABA_KERNELS(_w2)
CAL_ABA_KERNELS(_w4)
CAL_ABA_KERNELS(_w8)
