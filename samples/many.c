// A thousand humanoids in the air that fall from slightly different starts, side by side in lanes, on all cores.
#include <calder/calder.h>
#include <stdio.h>

int main(void) {
    cal_error error = {0};
    cal_model* model = NULL;
    cal_machine* machine = NULL;
    cal_ensemble* ensemble = NULL;
    const cal_threads_def threads = cal_default_threads_def();
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_status status = cal_model_generate("humanoid:floor=0", &model, &error);
    if (!status) status = cal_machine_threads(&threads, &machine, &error);
    def.count = 1000;
    def.machine = machine;
    def.sim.solver = "rk4";
    def.spread = 0.01;
    if (!status) status = cal_ensemble_create_def(model, &def, &ensemble, &error);
    for (int k = 1; !status && k <= 5; k++) {
        double kinetic = 0.0, potential = 0.0, mean = 0.0;
        status = cal_ensemble_advance(ensemble, 0.01 * k, &error);
        for (int i = 0; !status && i < def.count; i++) {
            status = cal_ensemble_energy(ensemble, i, &kinetic, &potential);
            mean += (kinetic + potential) / def.count;
        }
        printf("%.2f s: mean energy %.3f J\n", cal_ensemble_time(ensemble), mean);
    }
    if (!status) printf("%016llx on any machine\n", (unsigned long long)cal_ensemble_hash(ensemble));
    if (status) fprintf(stderr, "%s\n", error.text);
    cal_ensemble_destroy(ensemble);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
    return status != CAL_OK;
}
