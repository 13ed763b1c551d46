// Motions of joints that are prescribed on the command line.
#include "motions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "joint_names.h"

// Of the one command line that a process has: models refer to them.
static cal_wave waves[CAL_MOST_TEXTS];

static const struct {
    const char* name;
    size_t at;
} keys[] = {{"offset", offsetof(cal_wave, offset)},
            {"speed", offsetof(cal_wave, rate)},
            {"amplitude", offsetof(cal_wave, amplitude)},
            {"hertz", offsetof(cal_wave, frequency)},
            {"phase", offsetof(cal_wave, phase)}};

static int read_wave(const char* text, const char* numbers, cal_wave* wave) {
    while (*numbers) {
        const size_t length = strcspn(numbers, "=,");
        size_t k = 0;
        while (k < CAL_ARRAY_COUNT(keys) &&
               (strlen(keys[k].name) != length || memcmp(keys[k].name, numbers, length) != 0))
            k++;
        char* end = NULL;
        const double value = numbers[length] == '=' ? strtod(numbers + length + 1, &end) : 0.0;
        if (k == CAL_ARRAY_COUNT(keys) || !end || end == numbers + length + 1 || (*end && *end != ',') ||
            !isfinite(value))
            return cal_complain(CAL_EXIT_MISTAKE,
                                "--move '%s' is not of the form JOINT:key=number,…, with keys offset, speed, "
                                "amplitude, hertz, phase",
                                text);
        memcpy((char*)wave + keys[k].at, &value, sizeof value);
        numbers = end + (*end == ',');
    }
    return CAL_EXIT_DONE;
}

// The offset is such that the motion begins where the joint does, unless it is given.
static int add_motion(const char* text, const cal_model* model, cal_builder* builder, cal_wave* wave) {
    char name[160];
    const size_t length = strcspn(text, ":");
    const int joint = cal_joint_named(model, text, length);
    if (joint == CAL_NONE)
        return cal_complain(CAL_EXIT_MISTAKE, "--move: the model has no joint '%.*s'; see calder info", (int)length,
                            text);
    cal_joint_def def;
    int first;
    cal_model_joint(model, joint, &def, NULL, &first, NULL);
    if (cal_joint_v_count(def.kind) != 1)
        return cal_complain(CAL_EXIT_MISTAKE, "--move: joint '%.*s' is a %s joint; only those of one degree are moved",
                            (int)length, text, cal_joint_kind_name(def.kind));
    *wave = (cal_wave){.offset = NAN};
    const int status = read_wave(text, text + length + (text[length] == ':'), wave);
    if (status != CAL_EXIT_DONE) return status;
    if (isnan(wave->offset)) {
        double value, velocity, acceleration, *q = calloc((size_t)cal_model_q_count(model), sizeof *q);
        if (!q) return cal_complain(CAL_EXIT_FAILED, "no memory for a motion");
        cal_model_initial(model, q, NULL, NULL);
        wave->offset = 0.0;
        cal_wave_motion(0.0, &value, &velocity, &acceleration, wave);
        wave->offset = q[first] - def.zero - value;
        free(q);
    }
    cal_constraint_def motion = cal_default_constraint_def();
    snprintf(name, sizeof name, "motion of %.*s", (int)(length < 100 ? length : 100), text);
    motion.name = name;
    motion.kind = CAL_COUPLING;
    motion.joint[0] = joint;
    motion.motion = cal_wave_motion;
    motion.user = wave;
    (void)cal_builder_add_constraint(builder, &motion);
    return CAL_EXIT_DONE;
}

int cal_motions_add(const cal_texts* texts, cal_model** model) {
    cal_error error = {CAL_OK, ""};
    cal_builder* builder = NULL;
    cal_model* moved = NULL;
    if (texts->count == 0) return CAL_EXIT_DONE;
    error.status = cal_builder_create_from(*model, &builder, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    int status = CAL_EXIT_DONE;
    for (int i = 0; i < texts->count && status == CAL_EXIT_DONE; i++)
        status = add_motion(texts->items[i], *model, builder, &waves[i]);
    if (status == CAL_EXIT_DONE) {
        error.status = cal_builder_finish(builder, &moved, &error);
        if (error.status != CAL_OK) status = cal_complain_error(&error);
    }
    cal_builder_destroy(builder);
    if (status != CAL_EXIT_DONE) return status;
    cal_model_destroy(*model);
    *model = moved;
    return CAL_EXIT_DONE;
}
