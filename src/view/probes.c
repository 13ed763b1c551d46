// A force is the magnitude of what a joint carries; it costs one more evaluation per frame, and only while somebody looks.
#include "view/probes.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"

static const char* const kinds[] = {
    [CAL_PROBE_Q] = "q", [CAL_PROBE_V] = "v", [CAL_PROBE_FORCE] = "force", [CAL_PROBE_SENSOR] = "sensor"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int count_of(const cal_run* run, cal_probe_kind kind) {
    const cal_model* model = cal_run_model(run);
    if (!model) return 0;
    if (kind == CAL_PROBE_SENSOR) return cal_model_sensor_size(model);
    if (kind == CAL_PROBE_FORCE) return cal_run_can(run, CAL_RUN_FORCES) ? cal_model_joint_count(model) : 0;
    if (!cal_run_can(run, CAL_RUN_STATE)) return 0;
    return kind == CAL_PROBE_Q ? cal_model_q_count(model) : cal_model_v_count(model);
}

cal_status cal_probes_toggle(cal_probes* probes, const cal_run* run, const char* kind, int index, cal_error* error) {
    int k = 0;
    while (k < KINDS && strcmp(kinds[k], kind) != 0) k++;
    if (k == KINDS || index >= count_of(run, (cal_probe_kind)k))
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no %s %d to plot", kind, index);
    for (int i = 0; i < probes->count; i++)
        if ((int)probes->list[i].kind == k && probes->list[i].index == index) {
            memmove(probes->list + i, probes->list + i + 1, (size_t)(--probes->count - i) * sizeof probes->list[0]);
            return CAL_OK;
        }
    if (probes->count == CAL_PROBES)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%d numbers are plotted already, the most that are possible",
                        CAL_PROBES);
    if (k == CAL_PROBE_FORCE && !probes->forces) {
        probes->forces = cal_allocate(6 * (size_t)count_of(run, CAL_PROBE_FORCE), sizeof *probes->forces);
        if (!probes->forces) return cal_fail(error, CAL_NO_MEMORY, "no memory for the forces in the joints");
    }
    probes->list[probes->count].kind = (cal_probe_kind)k;
    probes->list[probes->count++].index = index;
    return CAL_OK;
}

// The sensor that a number of all sensors' numbers belongs to, and which of its own that is.
static int sensor_of(const cal_model* model, int index, int* component) {
    int sensor = 0;
    for (;; sensor++) {
        cal_sensor_def def;
        cal_model_sensor(model, sensor, &def);
        *component = index;
        index -= cal_sensor_size(def.kind);
        if (index < 0) return sensor;
    }
}

static double read_sensor(cal_run* run, int index) {
    double values[CAL_SENSOR_NUMBERS];
    int component;
    const int sensor = sensor_of(cal_run_model(run), index, &component);
    return cal_run_sensor(run, sensor, values, NULL) == CAL_OK ? values[component] : (double)NAN;
}

static double read_one(const cal_probes* probes, cal_run* run, cal_probe_kind kind, int index, bool forces) {
    if (kind == CAL_PROBE_FORCE) {
        if (!forces) return (double)NAN;
        const double* carried = probes->forces + 6 * (size_t)index;
        return sqrt(carried[0] * carried[0] + carried[1] * carried[1] + carried[2] * carried[2]);
    }
    if (kind == CAL_PROBE_SENSOR) return read_sensor(run, index);
    const double* state = kind == CAL_PROBE_Q ? cal_run_q(run) : cal_run_v(run);
    return state ? state[index] : (double)NAN;
}

void cal_probes_read(cal_probes* probes, cal_run* run, double* values) {
    bool forces = false;
    for (int i = 0; i < probes->count; i++) forces = forces || probes->list[i].kind == CAL_PROBE_FORCE;
    if (forces) forces = probes->forces && cal_run_joint_forces(run, probes->forces, NULL) == CAL_OK;
    for (int i = 0; i < probes->count; i++)
        values[i] = read_one(probes, run, probes->list[i].kind, probes->list[i].index, forces);
}

// The joint that a q or v belongs to, and which of its numbers it is.
static int joint_of(const cal_model* model, cal_probe_kind kind, int index, int* component) {
    for (int joint = cal_model_joint_count(model) - 1; joint > 0; joint--) {
        cal_joint_def def;
        int q, v;
        cal_model_joint(model, joint, &def, NULL, &q, &v);
        *component = index - (kind == CAL_PROBE_Q ? q : v);
        if (*component >= 0) return joint;
    }
    *component = index;
    return 0;
}

static void write_sensor(const cal_model* model, int index, FILE* file) {
    int component;
    const int sensor = sensor_of(model, index, &component);
    cal_sensor_def def;
    char name[96], label[128];
    cal_model_sensor(model, sensor, &def);
    cal_model_sensor_name(model, sensor, name, sizeof name);
    if (cal_sensor_size(def.kind) > 1)
        snprintf(label, sizeof label, "%s[%d]", name, component);
    else
        snprintf(label, sizeof label, "%s", name);
    cal_write_json_text(file, label);
    fprintf(file, ",\"unit\":\"%s\"}", cal_sensor_unit(def.kind));
}

void cal_probes_write_json(const cal_probes* probes, const cal_run* run, FILE* file) {
    const cal_model* model = cal_run_model(run);
    fputc('[', file);
    for (int i = 0; i < probes->count; i++) {
        const cal_probe_kind kind = probes->list[i].kind;
        if (kind == CAL_PROBE_SENSOR) {
            fprintf(file, "%s{\"kind\":\"sensor\",\"index\":%d,\"name\":", i ? "," : "", probes->list[i].index);
            write_sensor(model, probes->list[i].index, file);
            continue;
        }
        int component = 0;
        const int joint =
            kind == CAL_PROBE_FORCE ? probes->list[i].index : joint_of(model, kind, probes->list[i].index, &component);
        cal_joint_def def;
        char name[96], label[128];
        cal_model_joint(model, joint, &def, NULL, NULL, NULL);
        cal_model_joint_name(model, joint, name, sizeof name);
        if (kind != CAL_PROBE_FORCE && cal_joint_q_count(def.kind) > 1)
            snprintf(label, sizeof label, "%s %s[%d]", kinds[kind], name, component);
        else
            snprintf(label, sizeof label, "%s %s", kinds[kind], name);
        const bool angle = def.kind == CAL_REVOLUTE, length = def.kind == CAL_PRISMATIC;
        const char* unit = kind == CAL_PROBE_FORCE ? "N" : angle ? "rad" : length ? "m" : "";
        fprintf(file, "%s{\"kind\":\"%s\",\"index\":%d,\"name\":", i ? "," : "", kinds[kind], probes->list[i].index);
        cal_write_json_text(file, label);
        fprintf(file, ",\"unit\":\"%s%s\"}", unit, kind == CAL_PROBE_V && unit[0] ? "/s" : "");
    }
    fputc(']', file);
}

void cal_probes_release(cal_probes* probes) {
    cal_free(probes->forces);
    *probes = (cal_probes){0};
}
