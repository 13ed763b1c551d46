// Bennett's linkage: four hinges, whose axes are neither parallel nor meet. With links of lengths a, b, a, b and axes twisted
// by α, β, α, β it moves if sin α / a = sin β / b, although Grübler's formula gives it −2 degrees of freedom: three of the
// loop's five equations follow from the others.
//
//     ground ─ θ₁ ─ a, α ─ θ₂ ─ b, β ─ θ₃ ─ a, α ─ θ₄ ─ ground (b, β)       θ₃ = −θ₁, θ₄ = −θ₂,
//     tan(θ₁/2) tan(θ₂/2) = sin((α + β)/2) / sin((β − α)/2)
#include "model/angle.h"
#include "scenes/linkage.h"
#include <math.h>

#define PARAMETERS(NUMBER, INTEGER, CHOICE)                                                                            \
    NUMBER(length, 1, 0.001, 1000, "of the first and the third link, m")                                               \
    NUMBER(alpha, 0.6, 0.01, 1.5, "twist of the first and the third link, rad")                                        \
    NUMBER(beta, 1.2, 0.01, 1.57, "twist of the others, rad; not that of the first")                                   \
    NUMBER(start, 1, 0.01, 3.1, "angle of the first hinge, rad")                                                       \
    NUMBER(mass, 1, 0.000001, 1000000, "of a metre of a link, kg")                                                     \
    NUMBER(gravity, 9.81, 0, 1000, "along -y, m/s^2")
CAL_DEFINE_GENERATOR_PARAMETERS(PARAMETERS)

// A turn about x by `twist`, then one about z whose half has this cosine and sine.
static void turn(double twist, double cosine, double sine, double out[4]) {
    double s, c;
    cal_sine_cosine(0.5 * twist, &s, &c);
    out[0] = c * cosine, out[1] = s * cosine, out[2] = -s * sine, out[3] = c * sine;
}

static double sine_of(double angle) {
    double s, c;
    cal_sine_cosine(angle, &s, &c);
    return s;
}

static cal_status build(const double* values, cal_builder* builder, cal_error* error) {
    const double alpha = values[at_alpha], beta = values[at_beta], a = values[at_length];
    if (!(fabs(beta - alpha) > 1e-3))
        return cal_fail(error, CAL_BAD_ARGUMENT, "bennett: alpha=%g and beta=%g must differ", alpha, beta);
    const double b = a * sine_of(beta) / sine_of(alpha);
    double s1, c1;
    cal_sine_cosine(0.5 * values[at_start], &s1, &c1);
    const double t2 = sine_of(0.5 * (alpha + beta)) / sine_of(0.5 * (beta - alpha)) * c1 / s1;
    const double c2 = 1.0 / sqrt(1.0 + t2 * t2), s2 = t2 * c2;
    const double lengths[3] = {a, b, a}, twists[3] = {0.0, alpha, beta};
    const double cosines[3] = {c1, c2, c1}, sines[3] = {s1, s2, -s1};
    static const char* const names[3] = {"first", "second", "third"};
    cal_constraint_def hinge = cal_default_constraint_def();
    hinge.body[0] = CAL_GROUND, hinge.body[1] = CAL_GROUND;
    cal_set_planar_gravity(builder, values[at_gravity]);
    for (int i = 0; i < 3; i++) {
        const double end[3] = {lengths[i], 0.0, 0.0};
        cal_body_def link = cal_default_body_def();
        link.parent = hinge.body[1];
        link.position[0] = i == 0 ? 0.0 : lengths[i - 1];
        turn(twists[i], cosines[i], sines[i], link.quaternion);
        cal_rod(&link, end, values[at_mass] * lengths[i]);
        hinge.body[1] = cal_add_hinged(builder, &link, names[i], cal_axis_z, 0.0, 0.0);
    }
    hinge.name = "fourth";
    hinge.kind = CAL_LOOP_REVOLUTE;
    hinge.position[0][0] = -b, hinge.position[1][0] = a;
    turn(-beta, 1.0, 0.0, hinge.quaternion[0]);
    turn(alpha, 1.0, 0.0, hinge.quaternion[1]);
    cal_builder_add_constraint(builder, &hinge);
    return CAL_OK;
}

CAL_DEFINE_GENERATOR(bennett, PARAMETERS, "Bennett's overconstrained loop of four hinges")
