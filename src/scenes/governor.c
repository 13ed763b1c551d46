// The stiff flyball governor (the IFToMM library's A05): a shaft turns, two rods with balls swing out and pull a slider up by
// spring-dampers so stiff that they are almost rods.
//
//            A·B           Rods on A and B, 0.05 from the axis at the top of the shaft; balls at their ends. The spring-dampers
//           / | \          go from the rods' middles to the slider: telescopes, a hinge and a slide, almost without mass,
//          /\ | /\         tied to the slider in the plane that turns with the shaft.
//         o  [s]  o
#include "model/angle.h"
#include "scenes/linkage.h"
#include <string.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(speed, 6.283185307179586, -1000, 1000, "of the shaft at the start, rad/s")                                  \
    NUMBER(start, 0.5235987755982988, -1.5, 1.5, "start angle of the rods below the horizontal, rad")                  \
    NUMBER(stiffness, 800000, 0, 1e12, "of a spring, N/m")                                                             \
    NUMBER(damping, 40000, 0, 1e12, "of a damper, N s/m")                                                              \
    NUMBER(strut, 0.0001, 1e-9, 1, "mass of a spring, kg")                                                             \
    NUMBER(gravity, 9.81, 0, 1000, "along -z, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static const double density = 3000.0, length = 1.0, width = 0.01, block = 0.1, ball = 5.0, offset = 0.05, slack = 0.5,
                    slider_height = 0.5;

// A box about its middle.
static void shape_box(cal_body_def* def, double x, double y, double z) {
    def->mass = density * x * y * z;
    def->inertia[0] = def->mass * (y * y + z * z) / 12.0;
    def->inertia[1] = def->mass * (x * x + z * z) / 12.0;
    def->inertia[2] = def->mass * (x * x + y * y) / 12.0;
}

// The rod, along x, from its hinge to the ball's centre.
static void shape_rod(cal_body_def* def) {
    shape_box(def, length, width, width);
    const double rod = def->mass, mass = rod + ball, center = (0.5 * rod + ball) * length / mass;
    const double across =
        rod * (center - 0.5 * length) * (center - 0.5 * length) + ball * (length - center) * (length - center);
    def->mass = mass;
    def->center[0] = center;
    def->inertia[1] += across;
    def->inertia[2] += across;
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    const double here[3] = {0.0, 0.0, 0.0}, down[3] = {0.0, 0.0, -values[at_gravity]};
    double sine, cosine;
    cal_sine_cosine(values[at_start], &sine, &cosine);
    cal_builder_set_gravity(builder, down);
    cal_body_def body = cal_default_body_def();
    shape_box(&body, width, width, length);
    body.center[2] = 0.5 * length;
    const int shaft = cal_add_hinged(builder, &body, "shaft", cal_axis_z, 0.0, values[at_speed]);
    body = cal_default_body_def();
    body.name = "slider";
    body.parent = shaft;
    shape_box(&body, block, block, block);
    cal_joint_def slide = cal_default_joint_def();
    slide.name = "s";
    slide.kind = CAL_PRISMATIC;
    slide.initial_q[0] = slider_height;
    const int slider = cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, slider, &slide);
    for (int side = 0; side < 2; side++) {
        const double sign = side == 0 ? 1.0 : -1.0;
        // The plane of the second rod is turned by half a turn about the shaft.
        body = cal_default_body_def();
        body.parent = shaft;
        body.position[0] = sign * offset, body.position[2] = length;
        if (side == 1) cal_turn_about_z(-1.0, 0.0, body.quaternion);
        shape_rod(&body);
        // About y, down is positive.
        const int rod =
            cal_add_hinged(builder, &body, side == 0 ? "rod_a" : "rod_b", cal_axis_y, values[at_start], 0.0);
        // From the rod's middle to the slider's side, in the plane of the rod: x outwards, z up.
        const double x = -0.5 * length * cosine, z = slider_height - length + 0.5 * length * sine,
                     reach = sqrt(x * x + z * z);
        // The direction seen from the rod, whose own is (cos, −sin).
        const double along = (x * cosine - z * sine) / reach, across = (x * sine + z * cosine) / reach;
        body = cal_default_body_def();
        body.parent = rod;
        body.position[0] = 0.5 * length;
        // A turn about y by a takes x to (cos a, −sin a): half angles as about z, with the other sign.
        double turn[4];
        cal_turn_about_z(along, -across, turn);
        body.quaternion[0] = turn[0], body.quaternion[2] = turn[3], body.quaternion[3] = 0.0;
        body.mass = values[at_strut];
        for (int i = 0; i < 3; i++) body.inertia[i] = body.mass * slack * slack;
        const int strut = cal_add_hinged(builder, &body, side == 0 ? "strut_a" : "strut_b", cal_axis_y, 0.0, 0.0);
        cal_joint_def spring = cal_default_joint_def();
        spring.name = side == 0 ? "spring_a" : "spring_b";
        spring.kind = CAL_PRISMATIC;
        memcpy(spring.axis, cal_axis_x, sizeof spring.axis);
        spring.stiffness = values[at_stiffness];
        spring.damping = values[at_damping];
        spring.spring_reference = slack;
        spring.initial_q[0] = reach;
        cal_builder_add_joint(builder, strut, &spring);
        const double at_slider[3] = {sign * offset, 0.0, 0.0};
        cal_close_loop(builder, side == 0 ? "tie_a" : "tie_b", slider, at_slider, strut, here, CAL_ROW_X | CAL_ROW_Z);
    }
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(governor, PARAMETERS, "a stiff flyball governor (IFToMM A05)")
