// Textures from anywhere: the same bytes as a PNG file, and as what a model file says of one that is made.
#include "fuzz.h"
#include "base/memory.h"
#include "calder/calder_read.h"
#include "model/png.h"
#include "read/grey.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 64 << 20 };

// What a file says between the quotes of an attribute.
static void read_made(const uint8_t* bytes, size_t count) {
    static const char head[] = "<mujoco><asset><texture name='t' type='2d' ", middle[] =
                                                                                  "/><material name='m' texture='t' "
                                                                                  "texrepeat='3 2'/></asset><worldbody>"
                                                                                  "<geom type='plane' size='1 1 1' "
                                                                                  "material='m'/></worldbody></mujoco>";
    char* text = fuzz_text(bytes, count);
    char* file = text != NULL ? malloc(strlen(text) + sizeof head + sizeof middle) : NULL;
    if (file != NULL) {
        cal_model* model = NULL;
        sprintf(file, "%s%s%s", head, text, middle);
        if (cal_model_read_memory(file, strlen(file), "fuzz.xml", NULL, &model, NULL, NULL) == CAL_OK &&
            cal_model_texture_count(model) > 0) {
            cal_texture_def def;
            cal_model_texture(model, 0, &def);
            if (cal_png_trouble(def.bytes, def.size) != NULL) abort();
        }
        cal_model_destroy(model);
    }
    free(file);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    fuzz_limit_memory(MEMORY);
    cal_builder* builder = NULL;
    if (cal_builder_create(&builder) == CAL_OK) {
        cal_texture_def def = cal_default_texture_def();
        def.bytes = bytes;
        def.size = count;
        const bool fine = cal_builder_add_texture(builder, &def) != CAL_NONE;
        if (fine && cal_png_trouble(bytes, count) != NULL) abort();
        cal_builder_destroy(builder);
    }
    // As a height field.
    int width, height;
    uint8_t* levels = NULL;
    if (cal_png_grey(bytes, count, 1 << 20, &width, &height, &levels) == NULL)
        memset(levels, 0, (size_t)width * (size_t)height);
    cal_free(levels);
    read_made(bytes, count);
    return 0;
}
