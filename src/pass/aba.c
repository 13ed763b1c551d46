// Forward dynamics by articulated bodies, in Jung's four passes (III.A, Figure 3):
//
//   1  outbound  velocities, and forces that the velocities and gravity ask for   equation (1)
//   2  inbound   articulated inertias and biases                                  equations (2), (3)
//   3  outbound  accelerations                                                    equations (4), (5)
//   4  inbound   the solver's sums
//
// A solver's preparation rides in pass 1, its follow-up in pass 4. The mechanics are in aba_body.h.
#include "pass/aba.h"

static const cal_pass passes[] = {
    {.name = "aba.velocity",
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_aba_velocity),
     .crosses = CAL_DOWN_COUNT,
     .cost = {.flops = 310, .bytes = 8 * (23 + 2 + 6)}},
    {.name = "aba.inertia",
     .direction = CAL_INBOUND,
     .kernels = CAL_VARIANTS_OF(cal_aba_inertia),
     .pulls = CAL_VARIANTS_OF(cal_aba_pull),
     .crosses = CAL_UP_COUNT,
     .cost = {.flops = 227, .bytes = 8 * (2 + 6 + 1 + 7)}},
    {.name = "aba.acceleration",
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_aba_acceleration),
     .crosses = 6,
     .cost = {.flops = 30, .bytes = 8 * (13 + 1 + 2)}},
    CAL_SUMS_PASS,
};

const cal_program cal_program_aba = {
    .name = "aba",
    .help = "forward dynamics by articulated bodies, four passes",
    .walked = true,
    .mixes = true,
    .solves = true,
    .implicit = true,
    .repeats = true,
    .record = cal_aba_record,
    .brief = CAL_ABA_BRIEF,
    .axes = CAL_ABA_AXES,
    .fields = 1u << CAL_Q | 1u << CAL_V | 1u << CAL_TAU | 1u << CAL_QDD | 1u << CAL_CONTROL,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
};
