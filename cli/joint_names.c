// Joints that an option names.
#include "joint_names.h"

#include <stdlib.h>
#include <string.h>

int cal_joint_named(const cal_model* model, const char* name, size_t length) {
    char copy[128], *end;
    if (length >= sizeof copy) return CAL_NONE;
    memcpy(copy, name, length);
    copy[length] = '\0';
    const int found = cal_model_find_joint(model, copy);
    if (found != CAL_NONE) return found;
    // A joint without a name is called by its number, as calder info does.
    char own[128];
    for (int i = 0; i < cal_model_joint_count(model); i++)
        if (strcmp(cal_model_joint_name(model, i, own, sizeof own), copy) == 0) return i;
    const long number = strtol(copy, &end, 10);
    return end != copy && *end == '\0' && number >= 0 && number < cal_model_joint_count(model) ? (int)number : CAL_NONE;
}

bool* cal_degrees_of(const cal_model* model, const char* option, const char* list) {
    bool* degrees = calloc((size_t)cal_model_v_count(model) + 1, sizeof *degrees);
    if (!degrees) {
        cal_complain(CAL_EXIT_FAILED, "no memory for %d degrees of freedom", cal_model_v_count(model));
        return NULL;
    }
    for (const char* name = list; *name;) {
        const size_t length = strcspn(name, ",");
        const int joint = cal_joint_named(model, name, length);
        if (joint == CAL_NONE) {
            cal_complain(CAL_EXIT_MISTAKE, "--%s: the model has no joint '%.*s'; see calder info", option, (int)length,
                         name);
            free(degrees);
            return NULL;
        }
        cal_joint_def def;
        int first;
        cal_model_joint(model, joint, &def, NULL, NULL, &first);
        for (int i = 0; i < cal_joint_v_count(def.kind); i++) degrees[first + i] = true;
        name += length + (name[length] == ',');
    }
    return degrees;
}
