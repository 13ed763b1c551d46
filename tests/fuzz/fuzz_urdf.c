// URDF from anywhere, with and without repair.
#include "calder/calder_read.h"
#include "change.h"
#include "formats.h"
#include "fuzz.h"

size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t room, unsigned seed) {
    return fuzz_change_xml(bytes, count, room, seed, &fuzz_urdf);
}

static void read_with(const uint8_t* bytes, size_t count, bool repair) {
    cal_read_options options = cal_default_read_options();
    cal_model* model = NULL;
    cal_read_report* report = NULL;
    cal_error error;
    options.format = CAL_FORMAT_URDF;
    options.repair = options.free_base = repair;
    if (cal_model_read_memory((const char*)bytes, count, "fuzz.urdf", &options, &model, &report, &error) == CAL_OK)
        cal_model_destroy(model);
    cal_read_report_destroy(report);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    read_with(bytes, count, false);
    read_with(bytes, count, true);
    return 0;
}
