// MJCF from anywhere.
#include "calder/calder_read.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    cal_read_options options = cal_default_read_options();
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    cal_error error;
    options.format = CAL_FORMAT_MJCF;
    if (cal_model_read_memory((const char*)bytes, count, "fuzz.xml", &options, &model, &report, &error) == CAL_OK)
        cal_model_destroy(model);
    cal_read_report_destroy(report);
    return 0;
}
