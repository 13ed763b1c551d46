// A run that is stopped and goes on in another process comes to the same bits. checkpoint [FILE]
#include <calder/calder.h>
#include <stdio.h>

static cal_status run(const cal_model* model, const char* load, double until, const char* save, uint64_t* hash,
                      cal_error* error) {
    cal_sim* sim = NULL;
    const cal_sim_def def = cal_default_sim_def();
    cal_status status = cal_sim_create(model, &def, &sim, error);
    if (!status && load) status = cal_sim_load(sim, load, error);
    if (!status) status = cal_sim_advance(sim, until, error);
    if (!status && save) status = cal_sim_save(sim, save, error);
    if (!status) *hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    return status;
}

int main(int argc, char** argv) {
    const char* file = argc > 1 ? argv[1] : "checkpoint.state";
    cal_error error = {0};
    cal_model* model = NULL;
    uint64_t half = 0, whole = 0, resumed = 1;
    cal_status status = cal_model_generate("humanoid:floor=0", &model, &error);
    if (!status) status = run(model, NULL, 1.0, file, &half, &error);
    if (!status) status = run(model, file, 2.0, NULL, &resumed, &error);
    if (!status) status = run(model, NULL, 2.0, NULL, &whole, &error);
    if (!status)
        printf("2 s at one go: %016llx\n1 s, and on from %s: %016llx\n", (unsigned long long)whole, file,
               (unsigned long long)resumed);
    if (status) fprintf(stderr, "%s\n", error.text);
    cal_model_destroy(model);
    return status != CAL_OK || whole != resumed;
}
