// The start of a model that our own writer wrote: a keyframe with a name of its own (write_settings.c). MJCF itself starts a
// model at its joints' references, and so do all other files.
#include "base/memory.h"
#include "model/builder.h"
#include "read/mjcf/mjcf.h"
#include "read/mjcf/write_mjcf.h"
#include <string.h>

// The numbers of an attribute, when there are as many finite ones as needed; NULL otherwise.
static double* numbers_of(cal_xml_node* node, const char* name, int needed) {
    const char* text = cal_xml_text(node, name);
    if (text == NULL || needed == 0 || cal_read_numbers(text, 0, NULL) != needed) return NULL;
    double* numbers = cal_allocate((size_t)needed, sizeof *numbers);
    if (numbers == NULL) return NULL;
    cal_read_numbers(text, needed, numbers);
    if (cal_all_finite(numbers, needed)) return numbers;
    cal_free(numbers);
    return NULL;
}

int mjcf_activation_count(const mjcf_model* model) {
    const mjcf_motor* motors = model->actuators.items;
    int count = 0;
    for (int i = 0; i < model->actuators.count; i++) count += motors[i].actuator.activation != CAL_ACTIVATION_NONE;
    return count;
}

double* mjcf_spread_activations(const mjcf_model* model, double* activations) {
    const mjcf_motor* motors = model->actuators.items;
    double* out = cal_allocate((size_t)model->actuators.count, sizeof *out);
    int next = 0;
    for (int i = 0; out != NULL && i < model->actuators.count; i++)
        out[i] = motors[i].actuator.activation != CAL_ACTIVATION_NONE ? activations[next++] : 0.0;
    cal_free(activations);
    return out;
}

void mjcf_read_start(mjcf_model* model) {
    int q_count = 0, v_count = 0;
    const mjcf_joint* joints = model->joints.items;
    for (int i = 0; i < model->joints.count; i++) {
        q_count += cal_joint_q_count(joints[i].kind);
        v_count += cal_joint_v_count(joints[i].kind);
    }
    for (cal_xml_node* part = cal_xml_child(model->main->root, "keyframe"); part != NULL;
         part = cal_xml_next(part, "keyframe"))
        for (cal_xml_node* key = cal_xml_child(part, "key"); key != NULL; key = cal_xml_next(key, "key")) {
            const char* name = cal_xml_text(key, "name");
            if (name == NULL || strcmp(name, CAL_START_KEY) != 0) continue;
            model->start_q = numbers_of(key, "qpos", q_count);
            model->start_v = numbers_of(key, "qvel", v_count);
            model->start_control = numbers_of(key, "ctrl", model->actuators.count);
            model->start_activation = numbers_of(key, "act", mjcf_activation_count(model));
            if (model->start_activation != NULL)
                model->start_activation = mjcf_spread_activations(model, model->start_activation);
            return; // the writer writes one
        }
}

void mjcf_start_joint(const mjcf_model* model, cal_joint_def* def, int first_q, int first_v) {
    // A free body is written where it starts.
    if (model->start_q != NULL && def->kind != CAL_FREE)
        memcpy(def->initial_q, model->start_q + first_q, (size_t)cal_joint_q_count(def->kind) * sizeof(double));
    if (model->start_v != NULL)
        memcpy(def->initial_v, model->start_v + first_v, (size_t)cal_joint_v_count(def->kind) * sizeof(double));
}

void mjcf_free_start(mjcf_model* model) {
    cal_free(model->start_q);
    cal_free(model->start_v);
    cal_free(model->start_control);
    cal_free(model->start_activation);
}
