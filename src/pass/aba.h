// What the articulated-body kernels of all widths share with the rest.
#pragma once
#include "base/per_lane.h"
#include "pass/variants.h"

// Doubles a node keeps between the walks.
CAL_DEVICE static inline int cal_aba_record(int kind) { return kind == CAL_FREE ? 15 : kind == CAL_BALL ? 33 : 13; }

CAL_DECLARE_VARIANTS(cal_aba_velocity);
CAL_DECLARE_VARIANTS(cal_aba_inertia);
CAL_DECLARE_VARIANTS(cal_aba_pull);
CAL_DECLARE_VARIANTS(cal_aba_acceleration);
