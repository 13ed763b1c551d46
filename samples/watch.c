// A program with a loop of its own that can be watched in the browser, with a number of its own among the plots.
// watch [SECONDS]
#include <calder/calder_view.h>
#include <stdio.h>
#include <stdlib.h>

static double swing(void* user, cal_run* run) {
    (void)user;
    return cal_run_q(run)[0];
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 100;
    const cal_channel channel = {"swing", "rad", "The first joint", false};
    cal_error error = {0};
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    cal_run* run = NULL;
    cal_viewer* viewer = NULL;
    cal_sim_def def = cal_default_sim_def();
    cal_viewer_def how = cal_default_viewer_def();
    cal_status status = cal_model_generate("mobile", &model, &error);
    if (!status) status = cal_sim_create(model, &def, &sim, &error);
    if (!status) status = cal_run_of_sim(sim, &run, &error);
    if (!status) status = cal_run_add_channel(run, &channel, swing, NULL, &error);
    if (!status) status = cal_viewer_create(run, &how, &viewer, &error);
    if (!status) printf("watch it at %s\n", cal_viewer_address(viewer));
    for (int step = 1; !status && step * 0.001 <= seconds; step++) {
        status = cal_sim_advance(sim, step * 0.001, &error);
        if (!status) status = cal_viewer_show(viewer, &error);
    }
    if (status) fprintf(stderr, "%s\n", error.text);
    cal_viewer_destroy(viewer);
    cal_run_destroy(run);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return status != CAL_OK;
}
