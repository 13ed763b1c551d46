#include <calder/calder.h>
#include <stdio.h>

int main(void) {
    cal_error error = {0};
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    cal_sim_def def = cal_default_sim_def();
    cal_status status = cal_model_generate("mobile", &model, &error);
    if (!status) status = cal_sim_create(model, &def, &sim, &error);
    for (int second = 1; !status && second <= 10; second++) {
        status = cal_sim_advance(sim, second, &error);
        printf("%2d s: the first joint is at %+.4f rad\n", second, cal_sim_q(sim)[0]);
    }
    if (status) fprintf(stderr, "%s\n", error.text);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return status != CAL_OK;
}
