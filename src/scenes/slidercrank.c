// A slider-crank. With rod = crank it is singular when both lie on each other: there the slider may stay, and crank and rod
// turn as one.
#include "model/angle.h"
#include "scenes/linkage.h"

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(crank, 1, 0.001, 1000, "length of the crank, m")                                                            \
    NUMBER(rod, 2, 0.001, 1000, "length of the connecting rod, m")                                                     \
    NUMBER(mass, 1, 0.000001, 1000000, "of crank, rod and slider each, kg")                                            \
    NUMBER(start, 0.7853981633974483, -1000, 1000, "start angle of the crank from the slider's line, rad")             \
    NUMBER(speed, 0, -1000, 1000, "angular velocity of the crank at the start, rad/s")                                 \
    NUMBER(gravity, 9.81, 0, 1000, "along -y, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    const double crank = values[at_crank], rod = values[at_rod], speed = values[at_speed];
    const double to_pin[3] = {crank, 0.0, 0.0}, to_slider[3] = {rod, 0.0, 0.0}, here[3] = {0.0, 0.0, 0.0};
    double sine, cosine;
    cal_sine_cosine(values[at_start], &sine, &cosine);
    if (fabs(crank * sine) > rod)
        return cal_fail(error, CAL_BAD_ARGUMENT, "slidercrank: at start=%g rod=%g does not reach the slider's line",
                        values[at_start], rod);
    // The rod's direction (u, w); its angular velocity keeps its end on the line: r ω cos + ℓ Ω u = 0.
    // On the dead point of equal lengths crank and rod turn against each other.
    const double w = -crank * sine / rod, u = sqrt(1.0 - w * w);
    const double turn = u > 1e-6 ? -crank * cosine * speed / (rod * u) : -speed;
    cal_set_planar_gravity(builder, values[at_gravity]);
    cal_body_def body = cal_default_body_def();
    cal_rod(&body, to_pin, values[at_mass]);
    const int first = cal_add_hinged(builder, &body, "crank", cal_axis_z, values[at_start], speed);
    body = cal_default_body_def();
    cal_rod(&body, to_slider, values[at_mass]);
    body.parent = first;
    body.position[0] = crank;
    // Its zero is where it starts: the crank's own frame is turned already.
    cal_turn_about_z(u * cosine + w * sine, w * cosine - u * sine, body.quaternion);
    const int second = cal_add_hinged(builder, &body, "rod", cal_axis_z, 0.0, turn - speed);
    body = cal_default_body_def();
    body.name = "slider";
    body.mass = values[at_mass];
    cal_joint_def line = cal_default_joint_def();
    line.kind = CAL_PRISMATIC;
    line.axis[0] = 1.0, line.axis[2] = 0.0;
    line.initial_q[0] = crank * cosine + rod * u;
    line.initial_v[0] = -crank * sine * speed - rod * w * turn;
    const int slider = cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, slider, &line);
    cal_close_loop(builder, "pin", slider, here, second, to_slider, CAL_ROW_X | CAL_ROW_Y);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(slidercrank, PARAMETERS, "crank, rod and slider; singular with rod = crank")
