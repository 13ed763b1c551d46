// Bicchi's rail: a particle on a circle, or a cart with a heading whose wheels do not slip sideways.
//
// Both move in the xy plane, on two slides; the cart turns on a hinge besides, and hangs on the rail by a pin ahead of its axle,
// which follows on a smaller circle. (With the pin over the axle the wheels would only repeat the rail.) The circle's row
// across the plane holds what the slides hold already, and is counted as redundant.
#include "scenes/linkage.h"

#define COMMON(NUMBER)                                                                                                 \
    NUMBER(radius, 1, 0.001, 1000, "of the rail, m")                                                                   \
    NUMBER(mass, 1, 0.000001, 1000000, "kg")                                                                           \
    NUMBER(speed, 2.42, -1000, 1000, "along the rail at the start, m/s")                                               \
    NUMBER(gravity, 0, 0, 1000, "along -y, m/s^2")

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    COMMON(NUMBER)                                                                                                     \
    NUMBER(inertia, 0.1, 0.000001, 1000000, "of a cart about its axle, kg m^2")                                        \
    NUMBER(pin, 0.3, 0.000001, 1000, "from the axle to the pin on the rail, m")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

enum { PARTICLE_PARAMETERS = at_inertia };

// Adds a body at (x, 0) that moves along y.
static int add_body(cal_builder* builder, cal_body_def* body, double x, double speed, double gravity) {
    const int number = cal_builder_add_body(builder, body);
    double R[9];
    cal_quaternion_matrix(body->quaternion, R);
    for (int i = 0; i < 2; i++) {
        cal_joint_def slide = cal_default_joint_def();
        slide.name = i == 0 ? "x" : "y";
        slide.kind = CAL_PRISMATIC;
        cal_unrotate3(R, i == 0 ? cal_axis_x : cal_axis_y, slide.axis);
        slide.initial_q[0] = i == 0 ? x : 0.0;
        slide.initial_v[0] = i == 0 ? 0.0 : speed;
        cal_builder_add_joint(builder, number, &slide);
    }
    cal_set_planar_gravity(builder, gravity);
    return number;
}

static void add_rail(cal_builder* builder, int body, double radius, double pin) {
    cal_constraint_def rail = cal_default_constraint_def();
    rail.name = "rail";
    rail.kind = CAL_ON_CIRCLE;
    rail.body[1] = body;
    rail.position[1][0] = pin;
    rail.length = radius;
    cal_builder_add_constraint(builder, &rail);
}

static cal_status build_rail(const double* values, cal_builder* builder, cal_error* error) {
    (void)error;
    cal_body_def particle = cal_default_body_def();
    particle.name = "particle";
    particle.mass = values[at_mass];
    const int number = add_body(builder, &particle, values[at_radius], values[at_speed], values[at_gravity]);
    add_rail(builder, number, values[at_radius], 0.0);
    return CAL_OK;
}

static cal_status build_cart(const double* values, cal_builder* builder, cal_error* error) {
    const double radius = values[at_radius], pin = values[at_pin], turn = values[at_speed] / radius;
    if (pin >= radius)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cart: pin=%g must be less than radius=%g", pin, radius);
    const double inner = sqrt(radius * radius - pin * pin);
    cal_body_def body = cal_default_body_def();
    body.name = "cart";
    body.mass = values[at_mass];
    for (int i = 0; i < 3; i++) body.inertia[i] = values[at_inertia];
    cal_turn_about_z(0.0, 1.0, body.quaternion); // its x is its heading
    const int cart = add_body(builder, &body, inner, turn * inner, values[at_gravity]);
    cal_joint_def heading = cal_default_joint_def();
    heading.name = "heading";
    heading.initial_v[0] = turn;
    cal_builder_add_joint(builder, cart, &heading);
    add_rail(builder, cart, radius, pin);
    cal_constraint_def wheels = cal_default_constraint_def();
    wheels.name = "wheels";
    wheels.kind = CAL_KNIFE_EDGE;
    wheels.body[1] = cart;
    cal_builder_add_constraint(builder, &wheels);
    return CAL_OK;
}

#define NOTHING_RANGE(key, fallback, least, most, help)
#define NOTHING_CHOICE(key, choices, help)
const cal_generator cal_generator_rail = {"rail", "a particle on a circle (Bicchi)" COMMON(CAL_TEXT_RANGE), parameters,
                                          PARTICLE_PARAMETERS, build_rail};
const cal_generator cal_generator_cart = {
    "cart",
    "a cart that hangs on a circular rail by a pin; its wheels do not slip sideways (Bicchi)" PARAMETERS(
        CAL_TEXT_RANGE, NOTHING_RANGE, NOTHING_CHOICE),
    parameters, parameter_count, build_cart};
