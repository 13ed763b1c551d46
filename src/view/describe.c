#include "view/describe.h"

#include "base/json_text.h"
#include "base/number_text.h"
#include "base/memory.h"

static void write_joint(const cal_model* model, int joint, FILE* file) {
    cal_joint_def def;
    int first_q, first_v;
    char name[96];
    cal_model_joint(model, joint, &def, NULL, &first_q, &first_v);
    fprintf(file, ",[\"%s\",", cal_joint_kind_name(def.kind));
    cal_write_json_text(file, cal_model_joint_name(model, joint, name, sizeof name));
    fprintf(file, ",%d,%d,%d,", joint, first_q, first_v);
    cal_write_numbers(file, 6, def.axis, 3);
    fputc(',', file);
    cal_write_numbers(file, 6, def.anchor, 3);
    if (def.limited) {
        fputc(',', file);
        cal_write_numbers(file, 6, def.range, 2);
    }
    fputc(']', file);
}

static bool write_bodies(const cal_drawing* drawing, FILE* file) {
    const cal_model* model = drawing->model;
    const int bodies = drawing->body_count, joints = cal_model_joint_count(model);
    // The joints of a body as a list: the first one, and the next one of each.
    int* first = cal_allocate((size_t)bodies + (size_t)joints + 1, sizeof *first);
    if (!first) return false;
    int* next = first + bodies;
    for (int i = 0; i < bodies; i++) first[i] = -1;
    for (int joint = joints - 1; joint >= 0; joint--) {
        cal_joint_def def;
        int body;
        cal_model_joint(model, joint, &def, &body, NULL, NULL);
        if (body >= bodies) continue;
        next[joint] = first[body];
        first[body] = joint;
    }
    fputs(",\"described\":[", file);
    for (int i = 0; i < bodies; i++) {
        cal_body_def body;
        char name[96];
        cal_model_body(model, i, &body);
        fputs(i ? ",[" : "[", file);
        cal_write_json_text(file, cal_model_body_name(model, i, name, sizeof name));
        fprintf(file, ",%d,", body.parent);
        const double numbers[] = {body.mass, body.center[0], body.center[1], body.center[2]};
        cal_write_numbers(file, 6, numbers, 4);
        for (int joint = first[i]; joint >= 0; joint = next[joint]) write_joint(model, joint, file);
        fputc(']', file);
    }
    double gravity[3];
    cal_model_gravity(model, gravity);
    fputs("],\"gravity\":[", file);
    cal_write_numbers(file, 9, gravity, 3);
    fputc(']', file);
    cal_free(first);
    return true;
}

static void write_actuators(const cal_model* model, FILE* file) {
    fputs(",\"actuators\":[", file);
    for (int i = 0; i < cal_model_actuator_count(model); i++) {
        cal_actuator_def def;
        char name[32];
        cal_model_actuator(model, i, &def);
        snprintf(name, sizeof name, "actuator %d", i);
        fputs(i ? ",[" : "[", file);
        cal_write_json_text(file, def.name ? def.name : name);
        fprintf(file, ",%d,", def.joint);
        const double numbers[] = {def.control_range[0], def.control_range[1], def.initial_control};
        cal_write_numbers(file, 6, numbers, 3);
        fputc(']', file);
    }
    fputs("],\"keyframes\":[", file);
    for (int i = 0; i < cal_model_keyframe_count(model); i++) {
        cal_keyframe_def def;
        char name[32];
        cal_model_keyframe(model, i, &def);
        snprintf(name, sizeof name, "key %d", i);
        if (i) fputc(',', file);
        cal_write_json_text(file, def.name ? def.name : name);
    }
    fputs("],\"sensors\":[", file);
    for (int i = 0; i < cal_model_sensor_count(model); i++) {
        cal_sensor_def def;
        char name[96];
        cal_model_sensor(model, i, &def);
        fputs(i ? ",[" : "[", file);
        cal_write_json_text(file, cal_model_sensor_name(model, i, name, sizeof name));
        fprintf(file, ",%d]", cal_sensor_size(def.kind));
    }
    fputc(']', file);
}

static void write_listed(const cal_drawing* drawing, const cal_run* run, FILE* file) {
    fputs(",\"listed\":[", file);
    for (int i = 0; i < drawing->body_count; i++) {
        char name[96];
        fputs(i ? ",[" : "[", file);
        cal_write_json_text(file, cal_run_body_name(run, i, name, sizeof name));
        fprintf(file, ",\"%s\"]", cal_body_motion_name(cal_run_body_motion(run, i)));
    }
    fputc(']', file);
}

bool cal_describe_bodies(const cal_drawing* drawing, const cal_run* run, FILE* file) {
    if (!drawing->model) {
        write_listed(drawing, run, file);
        return true;
    }
    if (!write_bodies(drawing, file)) return false;
    write_actuators(drawing->model, file);
    return true;
}
