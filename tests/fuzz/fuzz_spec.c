// Specifications of generators and scenes from anywhere, with little memory.
#include "calder/calder_world.h"
#include "fuzz.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    char* text = fuzz_text(bytes, count);
    cal_model* model = NULL;
    cal_world* world = NULL;
    cal_error error;
    fuzz_limit_memory((size_t)8 << 20);
    if (cal_model_generate(text, &model, &error) == CAL_OK) cal_model_destroy(model);
    if (!fuzz_is_large(text, 30) && cal_world_generate(text, NULL, &world, &error) == CAL_OK) cal_world_destroy(world);
    free(text);
    return 0;
}
