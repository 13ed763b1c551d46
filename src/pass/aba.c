// Forward dynamics by articulated bodies, in Jung's four passes (III.A, Figure 3):
//
//   1  outbound  velocities, and forces that the velocities and gravity ask for   equation (1)
//   2  inbound   articulated inertias and biases                                  equations (2), (3)
//   3  outbound  accelerations                                                    equations (4), (5)
//   4  inbound   the solver's sums
//
// A solver's preparation rides in pass 1, its follow-up in pass 4. The mechanics are in aba_body.h.
#include "pass/aba.h"
#include "pass/sums.h"

#ifdef CAL_PORTABLE_LANES
#define VARIANTS(name) {name##_w1, name##_w2, name##_w4, name##_w8, name##_w1}
#else
#define VARIANTS(name) {name##_w1, name##_w2, name##_w4, name##_w8, name##_w1_fma}
#endif

static const cal_pass passes[] = {
    {.name = "aba.velocity",
     .direction = CAL_OUTBOUND,
     .kernels = VARIANTS(cal_aba_velocity),
     .crosses = CAL_DOWN_COUNT,
     .cost = {.flops = 307, .bytes = 8 * (23 + 2 + 6)}},
    {.name = "aba.inertia",
     .direction = CAL_INBOUND,
     .kernels = VARIANTS(cal_aba_inertia),
     .pulls = VARIANTS(cal_aba_pull),
     .crosses = CAL_UP_COUNT,
     .cost = {.flops = 227, .bytes = 8 * (2 + 6 + 1 + 7)}},
    {.name = "aba.acceleration",
     .direction = CAL_OUTBOUND,
     .kernels = VARIANTS(cal_aba_acceleration),
     .crosses = 6,
     .cost = {.flops = 30, .bytes = 8 * (13 + 1 + 2)}},
    {.name = "solver.sums",
     .direction = CAL_INBOUND,
     .kernels = {cal_sums_add, cal_sums_add, cal_sums_add, cal_sums_add, cal_sums_add},
     .pulls = {cal_sums_pull, cal_sums_pull, cal_sums_pull, cal_sums_pull, cal_sums_pull},
     .for_solver = true,
     .crosses = 5,
     .cost = {.flops = 0, .bytes = 0}},
};

const cal_program cal_program_aba = {
    .name = "aba",
    .help = "forward dynamics by articulated bodies, four passes",
    .walked = true,
    .solves = true,
    .record = cal_aba_record,
    .fields = 1u << CAL_Q | 1u << CAL_V | 1u << CAL_TAU | 1u << CAL_QDD | 1u << CAL_CONTROL,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
};
