// Andrews' squeezer (the IFToMM library's A03; Schiehlen's handbook, 1990): seven bodies in a plane, three loops through one
// point E, a spring, a motor on the crank; no gravity. Angles in the letters of Hairer and Wanner (Solving ODE II, VII.7).
//
//     O  crank K1 ── K2 ── E          K1 (angle β) carries K2 (Θ); K5 (δ) on A carries K4 (Φ); K7 (ε) on A carries K6 (Ω);
//     B  K3 ────────────── E          K3 (γ) on B. The ends of K2, K3, K4 and K6 are E.
//     A  K5 ── K4 ──────── E          The spring from C to the point D of K3 is a telescope, a hinge and a slide, almost
//     A  K7 ── K6 ──────── E          without mass.
#include "model/angle.h"
#include "scenes/linkage.h"
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(torque, 0.033, -1000, 1000, "of the motor, N m")                                                            \
    NUMBER(strut, 1e-7, 1e-12, 1, "mass of the spring, kg")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

typedef struct part {
    const char* name;
    int parent;
    double at[3]; // of its hinge: on the ground, or on its parent
    double mass, inertia;
    double center[3];
    double to_E[3]; // zero: no loop
    double start;
} part;

enum { K1, K2, K3, K5, K4, K7, K6, PARTS };
static const part parts[PARTS] = {
    {"K1", CAL_GROUND, {0, 0}, 0.04325, 2.194e-6, {0.00092, 0}, {0}, -0.0617138900142764496358948458001},
    {"K2", K1, {0.007, 0}, 0.00365, 4.410e-7, {-0.0115, 0}, {-0.028, 0}, 0.0},
    {"K3",
     CAL_GROUND,
     {-0.03635, 0.03273},
     0.02373,
     5.255e-6,
     {0.01043, -0.01874},
     {0, -0.035},
     0.455279819163070380255912382449},
    {"K5",
     CAL_GROUND,
     {-0.06934, -0.00227},
     0.07050,
     1.169e-5,
     {0.02308, 0.00916},
     {0},
     0.487364979543842550225598953530},
    {"K4", K5, {0.04, 0}, 0.00706, 5.667e-7, {0, -0.00579}, {0, -0.02}, 0.222668390165885884674473185609},
    {"K7",
     CAL_GROUND,
     {-0.06934, -0.00227},
     0.05498,
     1.912e-5,
     {0.00449, -0.01228},
     {0},
     1.23054744454982119249735015568},
    {"K6", K7, {0, -0.04}, 0.00706, 5.667e-7, {0.00579, 0}, {0.02, 0}, -0.222668390165885884674473185609},
};
static const double C[2] = {0.014, 0.072}, D[3] = {0.02, -0.018}; // D on K3
static const double stiffness = 4530.0, slack = 0.07785;

static void add_spring(cal_builder* builder, const int* numbers, double mass) {
    double sine, cosine;
    cal_sine_cosine(parts[K3].start, &sine, &cosine);
    const double x = parts[K3].at[0] + cosine * D[0] - sine * D[1] - C[0],
                 y = parts[K3].at[1] + sine * D[0] + cosine * D[1] - C[1], length = sqrt(x * x + y * y);
    cal_body_def strut = cal_default_body_def();
    memcpy(strut.position, C, sizeof C);
    cal_turn_about_z(x / length, y / length, strut.quaternion);
    strut.mass = mass;
    for (int i = 0; i < 3; i++) strut.inertia[i] = mass * slack * slack;
    const int number = cal_add_hinged(builder, &strut, "strut", cal_axis_z, 0.0, 0.0);
    cal_joint_def slide = cal_default_joint_def();
    slide.name = "spring";
    slide.kind = CAL_PRISMATIC;
    memcpy(slide.axis, cal_axis_x, sizeof slide.axis);
    slide.stiffness = stiffness;
    slide.spring_reference = slack;
    slide.initial_q[0] = length;
    cal_builder_add_joint(builder, number, &slide);
    const double tip[3] = {0.0, 0.0, 0.0};
    cal_close_loop(builder, "D", numbers[K3], D, number, tip, CAL_ROW_X | CAL_ROW_Y);
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    static const char* const loops[PARTS] = {NULL, NULL, "E3", NULL, "E4", NULL, "E6"};
    int numbers[PARTS] = {0};
    cal_set_planar_gravity(builder, 0.0);
    for (int i = 0; i < PARTS; i++) {
        const part* p = &parts[i];
        cal_body_def body = cal_default_body_def();
        body.parent = p->parent == CAL_GROUND ? CAL_GROUND : numbers[p->parent];
        memcpy(body.position, p->at, sizeof body.position);
        memcpy(body.center, p->center, sizeof body.center);
        body.mass = p->mass;
        body.inertia[2] = p->inertia;
        body.inertia[0] = body.inertia[1] = 0.5 * p->inertia; // a thin plate; nothing turns about these
        numbers[i] = cal_add_hinged(builder, &body, p->name, cal_axis_z, p->start, 0.0);
        if (loops[i])
            cal_close_loop(builder, loops[i], numbers[K2], parts[K2].to_E, numbers[i], p->to_E, CAL_ROW_X | CAL_ROW_Y);
    }
    add_spring(builder, numbers, values[at_strut]);
    cal_actuator_def motor = cal_default_actuator_def();
    motor.name = "motor";
    motor.joint = 0;
    motor.initial_control = values[at_torque];
    cal_builder_add_actuator(builder, &motor);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(andrews, PARAMETERS,
                     "Andrews' squeezer: seven bodies, three loops, a spring, a motor (IFToMM A03)")
