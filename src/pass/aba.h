// What the articulated-body kernels of all widths share with the rest.
#pragma once
#include "base/per_lane.h"
#include "pass/variants.h"

// What a node with one degree of freedom keeps between the walks: z, d, g = D⁻¹U at the parent's origin (torque, force), k = D⁻¹u. And
// what it leaves where that is asked for (cal_context.responses): U at its own origin, D⁻¹, and α and a at q̈ = 0, a from −g.
enum { CAL_ABA_Z = 0, CAL_ABA_D = 3, CAL_ABA_G = 6, CAL_ABA_K = 12 };
enum { CAL_ABA_OVER = 6, CAL_ABA_ALPHA = 7, CAL_ABA_A = 10, CAL_ABA_RESPONSE = 13 };

// Of brief columns g and k alone, and of the columns above them E at their ends (aba_brief.h).
enum { CAL_ABA_BRIEF = 7, CAL_ABA_AXES = 9 };

// Doubles a node keeps between the walks.
CAL_DEVICE static inline int cal_aba_record(int kind) { return kind == CAL_FREE ? 15 : kind == CAL_BALL ? 33 : 13; }

CAL_DECLARE_VARIANTS(cal_aba_velocity);
CAL_DECLARE_VARIANTS(cal_aba_inertia);
CAL_DECLARE_VARIANTS(cal_aba_pull);
CAL_DECLARE_VARIANTS(cal_aba_acceleration);
