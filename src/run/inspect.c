// A body's numbers.
#include "run/inspect.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/number_text.h"
#include "base/memory.h"
#include "math/vector.h"
#include "pass/joint_law.h"
#include "run/subtree.h"

cal_status cal_inspector_create(cal_inspector* inspector, const cal_model* model, cal_error* error) {
    *inspector = (cal_inspector){.model = model, .body = CAL_NONE};
    inspector->member = cal_allocate((size_t)cal_model_body_count(model), 1);
    return inspector->member ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "no memory to look at bodies");
}

void cal_inspector_destroy(cal_inspector* inspector) {
    cal_path_destroy(inspector->path);
    cal_free(inspector->member);
}

void cal_inspector_watch(cal_inspector* s, double time, const double* poses) {
    if (s->body == CAL_NONE || !(s->mass > 0)) return;
    // The same moment again, or another run: differences would mean nothing.
    if (s->sample_count > 0 && time == s->time[2]) return;
    if (s->sample_count > 0 && !(time > s->time[2] && time - s->time[2] < 0.1)) s->sample_count = 0;
    memmove(s->time, s->time + 1, 2 * sizeof s->time[0]);
    memmove(s->center, s->center + 1, 2 * sizeof s->center[0]);
    s->time[2] = time;
    double* center = s->center[2];
    memset(center, 0, sizeof s->center[2]);
    for (int i = 0; i < cal_model_body_count(s->model); i++) {
        cal_body_def def;
        double R[9], arm[3];
        if (s->member[i] != 1) continue;
        cal_model_body(s->model, i, &def);
        cal_quaternion_matrix(poses + 7 * i + 3, R);
        cal_rotate3(R, def.center, arm);
        for (int k = 0; k < 3; k++) center[k] += def.mass / s->mass * (poses[7 * i + k] + arm[k]);
    }
    if (s->sample_count < 3) s->sample_count++;
}

static void write_joints(const cal_inspector* s, int body, const double* q, const double* v, FILE* file) {
    bool first = true;
    fputs(",\"joints\":[", file);
    for (int joint = 0; joint < cal_model_joint_count(s->model); joint++) {
        cal_joint_def def;
        char name[96];
        int owner, first_q, first_v;
        cal_model_joint(s->model, joint, &def, &owner, &first_q, &first_v);
        if (owner != body) continue;
        fputs(first ? "{\"name\":" : ",{\"name\":", file);
        cal_write_json_text(file, cal_model_joint_name(s->model, joint, name, sizeof name));
        fprintf(file, ",\"kind\":\"%s\"", cal_joint_kind_name(def.kind));
        cal_write_json_numbers(file, "q", q + first_q, cal_joint_q_count(def.kind));
        cal_write_json_numbers(file, "v", v + first_v, cal_joint_v_count(def.kind));
        if (cal_joint_v_count(def.kind) == 1) {
            const double force = cal_joint_force(s->model, joint, NULL, q[first_q], v[first_v]);
            cal_write_json_numbers(file, "force", &force, 1);
        }
        fputc('}', file);
        first = false;
    }
    fputc(']', file);
}

// c̈ through three moments that need not be evenly spaced.
static void write_carried(const cal_inspector* s, const double force[3], FILE* file) {
    if (s->sample_count < 3) return;
    const double before = s->time[1] - s->time[0], after = s->time[2] - s->time[1];
    double gravity[3], carried[3];
    cal_model_gravity(s->model, gravity);
    for (int i = 0; i < 3; i++) {
        const double late = (s->center[2][i] - s->center[1][i]) / after,
                     early = (s->center[1][i] - s->center[0][i]) / before;
        carried[i] = s->mass * (2 * (late - early) / (before + after) - gravity[i]) - force[i];
    }
    cal_write_json_numbers(file, "carried", carried, 3);
}

void cal_inspector_describe(cal_inspector* s, int body, const double* q, const double* v, const double force[3],
                            FILE* file) {
    if (body != s->body) {
        cal_path_destroy(s->path);
        s->path = cal_path_create(s->model, body);
        s->body = body;
        s->sample_count = 0;
        s->mass = cal_mark_subtree(s->model, body, s->member);
    }
    cal_body_def def;
    char name[96];
    cal_body_course motion = {.quaternion = {1, 0, 0, 0}};
    double position[3] = {0, 0, 0}, velocity[3] = {0, 0, 0}, gravity[3];
    cal_model_body(s->model, body, &def);
    if (s->path) cal_path_follow(s->path, q, v, &motion);
    cal_body_course_at(&motion, def.center, position, velocity);
    cal_model_gravity(s->model, gravity);
    for (int i = 0; i < 3; i++) gravity[i] *= def.mass;
    fprintf(file, "\"body\":%d,\"name\":", body);
    cal_write_json_text(file, cal_model_body_name(s->model, body, name, sizeof name));
    fputs(",\"parent\":", file);
    if (def.parent >= 0)
        cal_write_json_text(file, cal_model_body_name(s->model, def.parent, name, sizeof name));
    else
        fputs("null", file);
    fputs(",\"mass\":", file);
    cal_write_number(file, 7, def.mass);
    fputs(",\"subtree\":", file);
    cal_write_number(file, 7, s->mass);
    write_joints(s, body, q, v, file);
    cal_write_json_numbers(file, "position", position, 3);
    cal_write_json_numbers(file, "quaternion", motion.quaternion, 4);
    cal_write_json_numbers(file, "velocity", velocity, 3);
    cal_write_json_numbers(file, "angular", motion.angular, 3);
    cal_write_json_numbers(file, "weight", gravity, 3);
    cal_write_json_numbers(file, "pull", force, 3);
    write_carried(s, force, file);
}
