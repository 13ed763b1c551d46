// Rods, hinges and loops for generators of mechanisms.
#include "scenes/linkage.h"
#include <string.h>

const double cal_axis_x[3] = {1.0, 0.0, 0.0}, cal_axis_y[3] = {0.0, 1.0, 0.0}, cal_axis_z[3] = {0.0, 0.0, 1.0};

void cal_rod(cal_body_def* def, const double to[3], double mass) {
    const double origin[3] = {0.0, 0.0, 0.0};
    cal_shape_capsule(def, origin, to, 0.0, mass);
}

void cal_turn_about_z(double cosine, double sine, double quaternion[4]) {
    const double half = sqrt(fmax(0.5 * (1.0 + cosine), 0.0));
    quaternion[0] = half, quaternion[1] = quaternion[2] = 0.0;
    quaternion[3] = half > 1e-3 ? 0.5 * sine / half : copysign(sqrt(0.5 * (1.0 - cosine)), sine);
}

int cal_add_hinged(cal_builder* builder, const cal_body_def* body, const char* name, const double axis[3], double start,
                   double speed) {
    cal_body_def named = *body;
    named.name = name;
    cal_joint_def hinge = cal_default_joint_def();
    memcpy(hinge.axis, axis, sizeof hinge.axis);
    hinge.initial_q[0] = start;
    hinge.initial_v[0] = speed;
    const int number = cal_builder_add_body(builder, &named);
    cal_builder_add_joint(builder, number, &hinge);
    return number;
}

void cal_close_loop(cal_builder* builder, const char* name, int a, const double in_a[3], int b, const double in_b[3],
                    uint32_t rows) {
    cal_constraint_def loop = cal_default_constraint_def();
    loop.name = name;
    loop.kind = CAL_ROWS;
    loop.rows = rows;
    loop.body[0] = a, loop.body[1] = b;
    memcpy(loop.position[0], in_a, sizeof loop.position[0]);
    memcpy(loop.position[1], in_b, sizeof loop.position[1]);
    cal_builder_add_constraint(builder, &loop);
}

void cal_set_planar_gravity(cal_builder* builder, double gravity) {
    const double down[3] = {0.0, -gravity, 0.0};
    cal_builder_set_gravity(builder, down);
}
