// Forward dynamics of ball-joint trees by Armstrong's method (Armstrong, Marsland, Olafsson, Schaeffer: Solving
// equations of motion on a virtual tree machine), in hinge-centred link frames:
//
//   1  outbound  control: orientations, angular velocities, forces and torques     equations (2), (4), (6), (15), (16)
//   2  inbound   coefficients of the links' answers                                equations (10)-(14), (17)-(20)
//   3  outbound  accelerations                                                     equations (21)-(23)
//   4  inbound   the solver's sums
//
// The mechanics are in armstrong_body.h. Costs are those of a ball without armature.
#include "pass/armstrong.h"

#include "base/error.h"
#include "pass/aba.h"

cal_status cal_armstrong_accepts(const cal_model* model, cal_error* error) {
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        if (joint->def->kind == CAL_BALL || joint->def->kind == CAL_FREE) continue;
        char name[80];
        return cal_fail(error, CAL_BAD_MODEL,
                        "armstrong is for ball joints and free roots, but joint '%s' is %s; use aba",
                        cal_model_joint_name(model, i, name, sizeof name), cal_joint_kind_name(joint->def->kind));
    }
    return CAL_OK;
}

static const cal_pass passes[] = {
    {.name = "armstrong.control",
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_armstrong_control),
     .crosses = 12, // R_I, ω
     .cost = {.flops = 248, .bytes = 8 * (23 + 7 + 15)}},
    {.name = "armstrong.coefficients",
     .direction = CAL_INBOUND,
     .kernels = CAL_VARIANTS_OF(cal_armstrong_coefficients),
     .pulls = CAL_VARIANTS_OF(cal_aba_pull), // it adds up whatever 27 numbers there are
     .crosses = CAL_UP_COUNT,                // J*, C, M*, g*, f*
     .cost = {.flops = 354, .bytes = 8 * (14 + 3 + 15 + 12)}},
    {.name = "armstrong.acceleration",
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_armstrong_acceleration),
     .crosses = 6, // ω̇, a
     .cost = {.flops = 99, .bytes = 8 * (4 + 27 + 7 + 7)}},
    CAL_SUMS_PASS,
};

const cal_program cal_program_armstrong = {
    .name = "armstrong",
    .help = "forward dynamics of ball joints and free roots by Armstrong's hinge-centred method, three passes",
    .walked = true,
    .mixes = true,
    .solves = true,
    .keeps = true,
    .repeats = true,
    .accepts = cal_armstrong_accepts,
    .record = cal_armstrong_record,
    .fields = 1u << CAL_Q | 1u << CAL_V | 1u << CAL_TAU | 1u << CAL_QDD | 1u << CAL_CONTROL,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
};
