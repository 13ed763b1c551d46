// A model from a file and a control loop: a cart that keeps a pole upright. control [MODEL.xml]
#include <calder/calder_read.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char cart[] = "<mujoco><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>"
                           "<geom type='box' size='.1 .05 .05' mass='1'/>"
                           "<body name='pole'><joint name='hinge' type='hinge' axis='0 1 0'/>"
                           "<geom type='capsule' fromto='0 0 0 0 0 .5' size='.02' mass='.2'/></body></body></worldbody>"
                           "<actuator><motor joint='rail' gear='1' ctrlrange='-20 20'/></actuator></mujoco>";

int main(int argc, char** argv) {
    cal_error error = {0};
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    const cal_read_options options = cal_default_read_options();
    const cal_sim_def def = cal_default_sim_def();
    cal_status status = argc > 1 ? cal_model_read(argv[1], &options, &model, NULL, &error)
                                 : cal_model_read_memory(cart, strlen(cart), "cart", &options, &model, NULL, &error);
    if (!status && (cal_model_v_count(model) != 2 || cal_model_actuator_count(model) != 1)) {
        fprintf(stderr, "this loop is for a cart with a pole and one motor\n");
        status = CAL_BAD_MODEL;
    }
    if (!status) status = cal_sim_create(model, &def, &sim, &error);
    const double start[] = {0.0, 0.2};
    if (!status) status = cal_sim_set(sim, 0.0, start, NULL, &error);
    double largest = 0.0;
    for (int tick = 1; !status && tick <= 500; tick++) { // a hundred times per second
        const double *q = cal_sim_q(sim), *v = cal_sim_v(sim);
        const double control[] = {40.0 * q[1] + 8.0 * v[1] + 2.0 * q[0] + 4.0 * v[0]};
        status = cal_sim_drive(sim, NULL, control, &error);
        if (!status) status = cal_sim_advance(sim, 0.01 * tick, &error);
        if (!status && tick > 400) largest = fmax(largest, fabs(cal_sim_q(sim)[1]));
    }
    if (!status) printf("the pole is within %.4f rad of upright in the last second\n", largest);
    if (!status && largest > 0.02) status = CAL_NOT_CONVERGED;
    if (error.text[0]) fprintf(stderr, "%s\n", error.text);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return status != CAL_OK;
}
