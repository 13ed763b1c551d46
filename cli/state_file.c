// States as JSON files.
#include "state_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calder/calder_record.h"
#include "json.h"

#ifdef CALDER_HAVE_JANSSON
#include <jansson.h>
#endif

bool cal_state_values_create(const cal_model* model, cal_state_values* values) {
    size_t q_count = (size_t)cal_model_q_count(model) + 1, v_count = (size_t)cal_model_v_count(model) + 1;
    size_t motors = (size_t)cal_model_actuator_count(model) + 1;
    *values = (cal_state_values){.q = calloc(q_count, sizeof(double)),
                                 .v = calloc(v_count, sizeof(double)),
                                 .tau = calloc(v_count, sizeof(double)),
                                 .qdd = calloc(v_count, sizeof(double)),
                                 .control = calloc(motors, sizeof(double)),
                                 .activation = calloc(motors, sizeof(double))};
    if (!values->q || !values->v || !values->tau || !values->qdd || !values->control || !values->activation)
        return false;
    cal_model_initial(model, values->q, values->v, values->control);
    cal_model_initial_activations(model, values->activation);
    return true;
}

void cal_state_values_destroy(cal_state_values* values) {
    free(values->q);
    free(values->v);
    free(values->tau);
    free(values->qdd);
    free(values->control);
    free(values->activation);
    free(values->inputs);
}

bool cal_state_values_find_inputs(cal_state_values* values, const cal_model* model) {
    const int count = cal_model_actuator_count(model);
    if (!values->inputs) values->inputs = calloc((size_t)count + 1, sizeof *values->inputs);
    for (int i = 0; values->inputs && i < count; i++) {
        cal_actuator_def motor;
        cal_model_actuator(model, i, &motor);
        values->inputs[i] = motor.activation != CAL_ACTIVATION_NONE ? values->activation[i] : values->control[i];
    }
    return values->inputs != NULL;
}

int cal_state_write(const char* path, const cal_model* model, double time, const double* q, const double* v,
                    const double* control) {
    cal_whole_file* whole = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_whole_file_create(path, &whole, &error) != CAL_OK) return cal_complain_error(&error);
    cal_json json = {.file = cal_whole_file_stream(whole)};
    cal_json_open(&json, NULL, '{');
    cal_json_number(&json, "time", time);
    cal_json_numbers(&json, "q", q, (size_t)cal_model_q_count(model));
    cal_json_numbers(&json, "v", v, (size_t)cal_model_v_count(model));
    if (control) cal_json_numbers(&json, "control", control, (size_t)cal_model_actuator_count(model));
    cal_json_close(&json, '}');
    return cal_whole_file_close(whole, true, &error) != CAL_OK ? cal_complain_error(&error) : CAL_EXIT_DONE;
}

#ifdef CALDER_HAVE_JANSSON
static int read_array(const json_t* value, const char* key, double* numbers, int count, const char* path) {
    if (!json_is_array(value))
        return cal_complain(CAL_EXIT_MISTAKE, "%s: '%s' must be an array of %d numbers", path, key, count);
    if (json_array_size(value) != (size_t)count)
        return cal_complain(CAL_EXIT_MISTAKE, "%s: '%s' has %zu numbers, but the model needs %d", path, key,
                            json_array_size(value), count);
    for (int i = 0; i < count; i++) {
        const json_t* item = json_array_get(value, (size_t)i);
        if (!json_is_number(item) || !isfinite(json_number_value(item)))
            return cal_complain(CAL_EXIT_MISTAKE, "%s: '%s'[%d] is not a finite number", path, key, i);
        numbers[i] = json_number_value(item);
    }
    return CAL_EXIT_DONE;
}

// A quaternion that was rounded to a few digits is put to unit length; anything else is more likely a mistake.
static int check_quaternions(const cal_model* model, double* q, const char* path) {
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        int first;
        cal_model_joint(model, joint, &def, NULL, &first, NULL);
        int count = cal_joint_q_count(def.kind);
        if (count < 4) continue;
        double* quaternion = q + first + count - 4;
        double square = 0;
        for (int i = 0; i < 4; i++) square += quaternion[i] * quaternion[i];
        double length = sqrt(square);
        if (fabs(length - 1) > 1e-3)
            return cal_complain(CAL_EXIT_MISTAKE, "%s: 'q'[%d…%d] is a quaternion (w, x, y, z) of length %g, not 1",
                                path, first + count - 4, first + count - 1, length);
        // Within rounding it is left alone, so that what was read is what is answered.
        if (fabs(length - 1) < 1e-14) continue;
        for (int i = 0; i < 4; i++) quaternion[i] /= length;
    }
    return CAL_EXIT_DONE;
}

static int read_key(cal_state_values* values, const cal_model* model, const char* key, const json_t* value,
                    const char* path) {
    int v_count = cal_model_v_count(model);
    if (strcmp(key, "time") == 0) {
        if (!json_is_number(value) || !isfinite(json_number_value(value)))
            return cal_complain(CAL_EXIT_MISTAKE, "%s: 'time' is not a finite number", path);
        values->time = json_number_value(value);
        return CAL_EXIT_DONE;
    }
    if (strcmp(key, "q") == 0) {
        int status = read_array(value, key, values->q, cal_model_q_count(model), path);
        return status == CAL_EXIT_DONE ? check_quaternions(model, values->q, path) : status;
    }
    if (strcmp(key, "v") == 0) return read_array(value, key, values->v, v_count, path);
    if (strcmp(key, "tau") == 0) return read_array(value, key, values->tau, v_count, path);
    if (strcmp(key, "control") == 0)
        return read_array(value, key, values->control, cal_model_actuator_count(model), path);
    if (strcmp(key, "activation") == 0)
        return read_array(value, key, values->activation, cal_model_actuator_count(model), path);
    if (strcmp(key, "qdd") == 0) return read_array(value, key, values->qdd, v_count, path);
    return cal_complain(CAL_EXIT_MISTAKE, "%s: unknown key '%s'; allowed: time, q, v, tau, control, activation, qdd",
                        path, key);
}

int cal_state_values_read(cal_state_values* values, const cal_model* model, const char* path) {
    json_error_t error;
    json_t* root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root && error.line > 0)
        return cal_complain(CAL_EXIT_MISTAKE, "%s: line %d, column %d: %s", path, error.line, error.column, error.text);
    if (!root) return cal_complain(CAL_EXIT_MISTAKE, "cannot read the state: %s", error.text);
    int status = CAL_EXIT_DONE;
    if (!json_is_object(root))
        status = cal_complain(CAL_EXIT_MISTAKE, "%s: must hold an object, for example {\"q\": [0.1]}", path);
    const char* key;
    json_t* value;
    json_object_foreach(root, key, value) {
        if (status == CAL_EXIT_DONE) status = read_key(values, model, key, value, path);
    }
    json_decref(root);
    return status;
}
#else
int cal_state_values_read(cal_state_values* values, const cal_model* model, const char* path) {
    (void)values;
    (void)model;
    return cal_complain(CAL_EXIT_MISTAKE, "--state '%s' cannot be read: this build has no jansson", path);
}
#endif
