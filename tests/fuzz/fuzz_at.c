// What follows --at, --stabilize and other options with a grammar of their own: the text stands for each of them.
#include "calder/calder_record.h"
#include "calder/calder_run.h"
#include "fuzz.h"
#include "quantities.h"
#include "sim_constraints.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    char* text = fuzz_text(bytes, count);
    cal_model* model = NULL;
    cal_events events = {0};
    cal_run* run = NULL;
    fuzz_silence();
    if (cal_model_generate("fivebar", &model, NULL) != CAL_OK) abort();
    const cal_texts texts = {.items = {text, text}, .count = count % 2 == 0 ? 1 : 2};
    if (cal_events_read(&texts, model, &events) == CAL_EXIT_DONE) {
        cal_run_sim_def def = cal_default_run_sim_def();
        if (cal_run_create_sim(model, &def, &run, NULL) != CAL_OK) abort();
        cal_events_apply(&events, run);
        cal_events_skip(&events, 1.0);
    }
    cal_events_free(&events);
    cal_run_destroy(run);
    cal_model_destroy(model);
    cal_sim_def def = cal_default_sim_def();
    cal_sim_read_stabilize(text, &def);
    double seconds;
    cal_duration_parse(text, &seconds);
    int* processors = NULL;
    if (!fuzz_is_large(text, 1e5) && cal_processors_parse(text, &processors) > 0) free(processors);
    unsigned columns;
    cal_csv_columns(text, &columns, NULL);
    free(text);
    return 0;
}
