// Small worlds from anywhere: an MJCF file of a few bodies, simulated for a moment with each of the loops. Whatever the masses, sizes
// and speeds are, a loop ends: at its time, or with a line.
#include "calder/calder_read.h"
#include "calder/calder_world.h"
#include "fuzz.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_BODIES = 5 };

static void simulate(const cal_model* model, cal_world_loop loop) {
    cal_world_def events = cal_default_world_def();
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error;
    events.loop = loop;
    events.separate = true;
    def.events = &events;
    if (cal_sim_create(model, &def, &sim, &error) != CAL_OK) return;
    if (cal_sim_advance(sim, 0.02, &error) == CAL_OK)
        for (int i = 0; i < cal_model_q_count(model); i++)
            if (!isfinite(cal_sim_q(sim)[i])) abort(); // never NaN with status 0
    cal_sim_destroy(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    cal_read_options options = cal_default_read_options();
    cal_model* model = NULL;
    cal_error error;
    if (count > 4096) return 0;
    fuzz_limit_memory((size_t)64 << 20);
    options.format = CAL_FORMAT_MJCF;
    if (cal_model_read_memory((const char*)bytes, count, "fuzz.xml", &options, &model, NULL, &error) != CAL_OK)
        return 0;
    if (cal_model_body_count(model) <= MOST_BODIES)
        for (int loop = CAL_TIMEWARP; loop <= CAL_CONSERVATIVE; loop++) simulate(model, (cal_world_loop)loop);
    cal_model_destroy(model);
    return 0;
}
