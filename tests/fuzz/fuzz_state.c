// State files from anywhere, for a model with every kind of joint.
#include "calder/calder.h"
#include "fuzz.h"
#include "state_file.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    cal_model* model = NULL;
    cal_state_values values;
    fuzz_silence();
    if (cal_model_generate("random:n=4,seed=7", &model, NULL) != CAL_OK) abort();
    if (!cal_state_values_create(model, &values)) abort();
    const char* path = fuzz_file(bytes, count);
    if (cal_state_values_read(&values, model, path) == CAL_EXIT_DONE) {
        // It can be simulated from, or is refused.
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        def.evaluation_limit = 50;
        if (cal_sim_create(model, &def, &sim, NULL) != CAL_OK) abort();
        if (cal_sim_set(sim, values.time, values.q, values.v, NULL) == CAL_OK)
            cal_sim_advance(sim, values.time + 1e-3, NULL);
        cal_sim_destroy(sim);
    }
    cal_state_values_destroy(&values);
    cal_model_destroy(model);
    return 0;
}
