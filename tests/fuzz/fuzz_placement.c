// Placement files from anywhere, and plans of what they say.
#include "calder/calder.h"
#include "fuzz.h"
#include "machine.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    cal_model* model = NULL;
    cal_placement placement = {0};
    fuzz_silence();
    if (cal_model_generate("mobile:s=1,l=2,o=2", &model, NULL) != CAL_OK) abort();
    if (cal_placement_read(fuzz_file(bytes, count), model, &placement) == CAL_EXIT_DONE) {
        for (int i = 0; i < cal_model_joint_count(model); i++)
            if (placement.processor_of_joint[i] < CAL_EVERY_PROCESSOR ||
                placement.processor_of_joint[i] >= placement.processors)
                abort();
    }
    cal_placement_free(&placement);
    cal_model_destroy(model);
    return 0;
}
