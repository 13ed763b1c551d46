// Reading a placement: the virtual tree machine's description, which says what links share a process and on which processor
// each process sits.
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#ifdef CALDER_HAVE_JANSSON
#include <jansson.h>
#endif

enum { MOST_PROCESSORS = 1000000, NOT_GIVEN = CAL_EVERY_PROCESSOR - 1 };

void cal_placement_free(cal_placement* placement) {
    free(placement->processor_of_joint);
    *placement = (cal_placement){0};
}

#ifdef CALDER_HAVE_JANSSON
static int read_joints(const json_t* joints, json_int_t processor, int process, const cal_model* model,
                       const char* path, cal_placement* out) {
    if (!json_is_array(joints))
        return cal_complain(CAL_EXIT_MISTAKE, "%s: process %d: 'joints' must be an array of names", path, process);
    for (size_t i = 0; i < json_array_size(joints); i++) {
        const char* name = json_string_value(json_array_get(joints, i));
        if (!name)
            return cal_complain(CAL_EXIT_MISTAKE, "%s: process %d: 'joints'[%zu] is not a name", path, process, i);
        const int joint = cal_model_find_joint(model, name);
        if (joint == CAL_NONE)
            return cal_complain(CAL_EXIT_MISTAKE, "%s: process %d: the model has no joint '%s'", path, process, name);
        if (out->processor_of_joint[joint] != NOT_GIVEN)
            return cal_complain(CAL_EXIT_MISTAKE, "%s: process %d: joint '%s' is listed twice", path, process, name);
        out->processor_of_joint[joint] = (int32_t)processor;
    }
    return CAL_EXIT_DONE;
}

static int check_keys(const json_t* object, const char* where, const char* first, const char* second,
                      const char* path) {
    const char* key;
    json_t* value;
    json_object_foreach((json_t*)object, key, value) {
        if (strcmp(key, first) != 0 && strcmp(key, second) != 0)
            return cal_complain(CAL_EXIT_MISTAKE, "%s: %sunknown key '%s'; allowed: %s, %s", path, where, key, first,
                                second);
    }
    return CAL_EXIT_DONE;
}

static int read_process(const json_t* process, int index, const cal_model* model, const char* path,
                        cal_placement* out) {
    if (!json_is_object(process))
        return cal_complain(CAL_EXIT_MISTAKE, "%s: process %d is not an object {\"processor\": 0, \"joints\": […]}",
                            path, index);
    const int status = check_keys(process, "a process: ", "processor", "joints", path);
    if (status != CAL_EXIT_DONE) return status;
    const json_t* processor = json_object_get(process, "processor");
    const char* text = json_string_value(processor);
    const bool every = text && strcmp(text, "every") == 0;
    if (!json_is_integer(processor) && !every)
        return cal_complain(CAL_EXIT_MISTAKE, "%s: process %d: 'processor' must be a whole number, or \"every\"", path,
                            index);
    const json_int_t number = every ? CAL_EVERY_PROCESSOR : json_integer_value(processor);
    if (!every && (number < 0 || number >= out->processors))
        return cal_complain(CAL_EXIT_MISTAKE, "%s: process %d is on processor %lld, but there are 0 to %d", path, index,
                            (long long)number, out->processors - 1);
    return read_joints(json_object_get(process, "joints"), number, index, model, path, out);
}

static int read_placement(const json_t* root, const cal_model* model, const char* path, cal_placement* out) {
    if (!json_is_object(root))
        return cal_complain(CAL_EXIT_MISTAKE, "%s: must hold an object {\"processors\": 2, \"processes\": […]}", path);
    int status = check_keys(root, "", "processors", "processes", path);
    if (status != CAL_EXIT_DONE) return status;
    const json_t *count = json_object_get(root, "processors"), *processes = json_object_get(root, "processes");
    if (!json_is_integer(count) || json_integer_value(count) < 1 || json_integer_value(count) > MOST_PROCESSORS)
        return cal_complain(CAL_EXIT_MISTAKE, "%s: 'processors' must be a whole number from 1 to %d", path,
                            MOST_PROCESSORS);
    if (!json_is_array(processes))
        return cal_complain(CAL_EXIT_MISTAKE, "%s: 'processes' must be an array of objects", path);
    out->processors = (int)json_integer_value(count);
    for (size_t i = 0; i < json_array_size(processes) && status == CAL_EXIT_DONE; i++)
        status = read_process(json_array_get(processes, i), (int)i, model, path, out);
    for (int joint = 0; joint < cal_model_joint_count(model) && status == CAL_EXIT_DONE; joint++) {
        char name[128];
        if (out->processor_of_joint[joint] == NOT_GIVEN)
            status = cal_complain(CAL_EXIT_MISTAKE, "%s: joint '%s' is in no process", path,
                                  cal_model_joint_name(model, joint, name, sizeof name));
    }
    return status;
}

int cal_placement_read(const char* path, const cal_model* model, cal_placement* out) {
    const int joints = cal_model_joint_count(model);
    *out = (cal_placement){0, calloc((size_t)joints + 1, sizeof(int32_t))};
    if (!out->processor_of_joint)
        return cal_complain(CAL_EXIT_FAILED, "no memory for a placement of %d joints", joints);
    for (int joint = 0; joint < joints; joint++) out->processor_of_joint[joint] = NOT_GIVEN;
    json_error_t error;
    json_t* root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    int status;
    if (root)
        status = read_placement(root, model, path, out);
    else if (error.line > 0)
        status =
            cal_complain(CAL_EXIT_MISTAKE, "%s: line %d, column %d: %s", path, error.line, error.column, error.text);
    else
        status = cal_complain(CAL_EXIT_MISTAKE, "cannot read the placement: %s", error.text);
    json_decref(root);
    if (status != CAL_EXIT_DONE) cal_placement_free(out);
    return status;
}
#else
int cal_placement_read(const char* path, const cal_model* model, cal_placement* out) {
    (void)model;
    *out = (cal_placement){0};
    return cal_complain(CAL_EXIT_MISTAKE, "--placement '%s' cannot be read: this build has no jansson", path);
}
#endif
