// What stands before and after the bodies in an MJCF file: settings, custom numbers, keyframes.
//
// MJCF starts a model where its joints are at their references. A model that starts elsewhere gets a keyframe of the name
// CAL_START_KEY, which our own reader takes as the start; others show it as one of the keyframes.
#include "base/memory.h"
#include "read/mjcf/write_mjcf.h"
#include <string.h>

static void write_flags(cal_mjcf_writer* w) {
    uint32_t bits;
    // How friction sticks is Calder's own business: MJCF has no word for it.
    const uint32_t disabled = w->model->disabled & ~(uint32_t)CAL_PART_STICTION;
    if (disabled == 0) return;
    cal_text_start(&w->text, "flag");
    for (int i = 0; cal_part_name(i, &bits) != NULL; i++)
        // A name of several parts says no more than theirs.
        if ((bits & (bits - 1)) == 0 && (disabled & bits) != 0)
            cal_text_word(&w->text, cal_part_name(i, &bits), "disable");
    cal_text_end(&w->text, "flag");
}

static void write_numeric(cal_text* text, const char* name, const double* values, int count) {
    cal_text_start(text, "numeric");
    cal_text_word(text, "name", name);
    cal_text_numbers(text, "data", values, count);
    cal_text_end(text, "numeric");
}

double cal_mjcf_restitution(const cal_model* model) {
    for (int i = 0; i < model->shape_count; i++)
        if (model->shapes[i].collides) return model->shapes[i].restitution;
    return 0.0;
}

void cal_mjcf_write_settings(cal_mjcf_writer* w) {
    const cal_model* model = w->model;
    cal_text_start(&w->text, "compiler");
    cal_text_word(&w->text, "angle", "radian");
    cal_text_word(&w->text, "inertiafromgeom", "false");
    cal_text_end(&w->text, "compiler");
    cal_text_start(&w->text, "option");
    cal_text_numbers(&w->text, "gravity", model->gravity, 3);
    cal_text_numbers(&w->text, "magnetic", model->kept.magnetic_field, 3);
    if (model->kept.timestep > 0.0) cal_text_number(&w->text, "timestep", model->kept.timestep);
    write_flags(w);
    cal_text_end(&w->text, "option");
    int count;
    const double restitution = cal_mjcf_restitution(model);
    const bool bounces = restitution != 0.0 && cal_model_numbers(model, "restitution", &count) == NULL;
    if (!bounces && model->kept.number_count == 0) return;
    cal_text_start(&w->text, "custom");
    if (bounces) write_numeric(&w->text, "restitution", &restitution, 1);
    for (int i = 0; i < model->kept.number_count; i++) {
        const cal_named_numbers* numbers = &model->kept.numbers[i];
        write_numeric(&w->text, numbers->name, numbers->values, numbers->count);
    }
    cal_text_end(&w->text, "custom");
}

// Numbers of joints, in the file's order: MJCF numbers bodies depth first, and the model may not.
static void write_in_order(cal_mjcf_writer* w, const char* name, const double* values, bool positions, double* work) {
    int count = 0;
    for (int i = 0; i < w->joint_count; i++) {
        const cal_joint* joint = &w->model->joints[w->joint_order[i]];
        const int first = positions ? joint->first_q : joint->first_v;
        const int numbers = positions ? cal_joint_q_count(joint->def->kind) : cal_joint_v_count(joint->def->kind);
        memcpy(work + count, values + first, (size_t)numbers * sizeof *work);
        count += numbers;
    }
    cal_text_numbers(&w->text, name, work, count);
}

// work has room for q and controls.
static void write_key(cal_mjcf_writer* w, const cal_keyframe_def* key, double* work) {
    cal_text_start(&w->text, "key");
    if (key->name != NULL) cal_text_word(&w->text, "name", key->name);
    cal_text_unless(&w->text, "time", &key->time, 1, 0.0);
    if (key->q_count > 0) write_in_order(w, "qpos", key->q, true, work);
    if (key->v_count > 0) write_in_order(w, "qvel", key->v, false, work);
    if (key->control_count > 0) cal_text_numbers(&w->text, "ctrl", key->control, key->control_count);
    int activations = 0;
    for (int i = 0; i < key->activation_count; i++)
        if (w->model->actuators[i].activation != CAL_ACTIVATION_NONE) work[activations++] = key->activation[i];
    if (activations > 0) cal_text_numbers(&w->text, "act", work, activations);
    cal_text_end(&w->text, "key");
}

// Whether the start is the one that MJCF gives without being told: free bodies are written where they start.
static bool starts_at_references(const cal_model* model, const double* v, const double* control,
                                 const double* activation) {
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint_def* def = model->joints[i].def;
        const double* q = model->initial_q + model->joints[i].first_q;
        if (def->kind == CAL_BALL && !(q[0] == 1.0 && q[1] == 0.0 && q[2] == 0.0 && q[3] == 0.0)) return false;
        if (cal_joint_v_count(def->kind) == 1 && q[0] != def->zero) return false;
    }
    for (int i = 0; i < model->v_count; i++)
        if (v[i] != 0.0) return false;
    for (int i = 0; i < model->actuator_count; i++)
        if (control[i] != 0.0 || activation[i] != 0.0) return false;
    return true;
}

cal_status cal_mjcf_write_keyframes(cal_mjcf_writer* w) {
    const cal_model* model = w->model;
    const size_t q_count = (size_t)model->q_count, v_count = (size_t)model->v_count;
    const size_t motors = (size_t)model->actuator_count;
    double* numbers = cal_allocate(2 * q_count + v_count + 3 * motors, sizeof *numbers);
    if (numbers == NULL) return CAL_NO_MEMORY;
    double *work = numbers, *q = work + q_count + motors, *v = q + q_count, *control = v + v_count,
           *activation = control + motors;
    cal_model_initial(model, q, v, control);
    cal_model_initial_activations(model, activation);
    const bool start = !starts_at_references(model, v, control, activation);
    for (int i = 0; i < model->joint_count; i++) {
        const int first = model->joints[i].first_q;
        if (model->joints[i].def->kind == CAL_BALL) cal_mjcf_before_normalizing(model->initial_q + first, 4, q + first);
    }
    if (start || model->kept.keyframe_count > 0) {
        cal_text_start(&w->text, "keyframe");
        for (int i = 0; i < model->kept.keyframe_count; i++) {
            const cal_keyframe_def* key = &model->kept.keyframes[i];
            if (key->name == NULL || strcmp(key->name, CAL_START_KEY) != 0) write_key(w, key, work);
        }
        cal_keyframe_def key = cal_default_keyframe_def();
        key.name = CAL_START_KEY;
        key.q = q, key.q_count = model->q_count;
        key.v = v, key.v_count = model->v_count;
        key.control = control, key.control_count = model->actuator_count;
        key.activation = activation, key.activation_count = model->actuator_count;
        if (start) write_key(w, &key, work);
        cal_text_end(&w->text, "keyframe");
    }
    cal_free(numbers);
    return CAL_OK;
}
