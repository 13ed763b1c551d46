// A double pendulum from the builder: bodies, joints, a damper and a motor; then its energy over time.
#include <calder/calder.h>
#include <stdio.h>

// A rod of length 1 m and mass 1 kg that hangs from its joint, which turns about x.
static int add_rod(cal_builder* builder, const char* name, int parent, double angle) {
    cal_body_def body = cal_default_body_def();
    body.name = name;
    body.parent = parent;
    if (parent != CAL_GROUND) body.position[2] = -1.0;
    body.mass = 1.0;
    body.center[2] = -0.5;
    body.inertia[0] = body.inertia[1] = 1.0 / 12.0;
    const int rod = cal_builder_add_body(builder, &body);
    cal_joint_def hinge = cal_default_joint_def();
    hinge.axis[0] = 1.0, hinge.axis[2] = 0.0;
    hinge.initial_q[0] = angle;
    hinge.damping = 0.05;
    cal_builder_add_joint(builder, rod, &hinge);
    return rod;
}

int main(void) {
    cal_error error = {0};
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    cal_status status = cal_builder_create(&builder);
    if (!status) {
        const int upper = add_rod(builder, "upper", CAL_GROUND, 1.0);
        add_rod(builder, "lower", upper, 0.5);
        cal_actuator_def motor = cal_default_actuator_def();
        motor.joint = 1; // N m on the lower joint
        cal_builder_add_actuator(builder, &motor);
        status = cal_builder_finish(builder, &model, &error);
    }
    cal_builder_destroy(builder);
    const cal_sim_def def = cal_default_sim_def();
    const double control[] = {0.2};
    if (!status) status = cal_sim_create(model, &def, &sim, &error);
    if (!status) status = cal_sim_drive(sim, NULL, control, &error);
    for (int second = 0; !status && second <= 5; second++) {
        double kinetic = 0.0, potential = 0.0;
        status = cal_sim_advance(sim, second, &error);
        if (!status) status = cal_sim_energy(sim, &kinetic, &potential);
        if (!status)
            printf("%d s: q = %+.3f %+.3f, energy %.3f J\n", second, cal_sim_q(sim)[0], cal_sim_q(sim)[1],
                   kinetic + potential);
    }
    if (status) fprintf(stderr, "%s\n", error.text);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return status != CAL_OK;
}
