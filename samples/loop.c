// A closed loop: Bricard's linkage of six hinges, which moves though counting says that it cannot. Its constraint stays closed;
// then it is opened while it runs.
#include <calder/calder.h>
#include <stdio.h>

int main(void) {
    cal_error error = {0};
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    cal_constraint_report report = {0};
    cal_sim_def def = cal_default_sim_def();
    def.relative = def.absolute = 1e-8;
    cal_status status = cal_model_generate("bricard", &model, &error);
    if (!status) status = cal_sim_create(model, &def, &sim, &error);
    for (int second = 1; !status && second <= 3; second++) {
        status = cal_sim_advance(sim, second, &error);
        if (!status) status = cal_sim_constraints(sim, &report);
        if (!status)
            printf("%d s: %d rows, %d of them independent, open by %.1e m\n", second, report.rows, report.rank,
                   report.error);
    }
    if (!status) status = cal_sim_disconnect(sim, 0, &error);
    if (!status) status = cal_sim_advance(sim, 4.0, &error);
    if (!status) status = cal_sim_constraints(sim, &report);
    if (!status) printf("4 s: opened, %d rows hold\n", report.rows);
    if (status) fprintf(stderr, "%s\n", error.text);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return status != CAL_OK;
}
