// The laws of activations (activation.h). With the control u, the activation a₀ and the time s since then:
//
//   integrator   a = a₀ + u s
//   filter       a = u + (a₀ − u) exp(−s / τ)
//   muscle       with c = ½ + 3u/2:
//     falls      (½ + 3a/2) / (a − u) grows as exp(c s / τ), since da/dt = (u − a) (½ + 3a/2) / τ
//     rises      with y = −ln((u − a) / (u − a₀)) and d = 3 (u − a₀) / 2:   s / τ = c y − d (1 − exp(−y))
//
// The last one is solved by Newton's method. Its right side is convex and rises, with the slope ½ + 3a/2; from
// y = (s / τ + d) / c, where it is not below s / τ, the method falls to the root and stops where rounding keeps it from falling.
//
// Each of these goes one way, to u or on, so that keeping it in a range is clamping its end.
#include "model/activation.h"
#include "base/hash.h"
#include "math/power.h"
#include <math.h>
#include <string.h>

// MuJoCo's smallest time constant.
static const double SHORTEST = 1e-15;

static double clamp(double value, const double range[2]) {
    if (range[0] == range[1]) return value;
    return value < range[0] ? range[0] : value > range[1] ? range[1] : value;
}

static double rise(double from, double to, double time) {
    const double c = 0.5 + 1.5 * to, d = 1.5 * (to - from);
    double y = (time + d) / c;
    for (;;) {
        const double left = cal_exponential(-y), next = y - (c * y - d * (1.0 - left) - time) / (c - d * left);
        if (!(next < y)) break;
        y = next;
    }
    return to - (to - from) * cal_exponential(-y);
}

static double fall(double from, double to, double time) {
    const double c = 0.5 + 1.5 * to;
    // a = u + c / (k − 3/2) with k = (½ + 3a/2) / (a − u)
    const double k = (0.5 + 1.5 * from) / (from - to) * cal_exponential(c * time);
    return to + c / (k - 1.5);
}

static double activation_after(const cal_actuator_def* def, double from, double control, double time) {
    const double unit[2] = {0.0, 1.0};
    double to = clamp(control, def->control_range), out = from;
    if (!(time > 0.0)) return clamp(from, def->activation_range);
    switch (def->activation) {
    case CAL_ACTIVATION_INTEGRATOR: out = from + to * time; break;
    case CAL_ACTIVATION_FILTER:
        out = to + (from - to) * cal_exponential(-time / fmax(def->time_constant[0], SHORTEST));
        break;
    case CAL_ACTIVATION_MUSCLE:
        to = clamp(to, unit);
        if (to > from) out = rise(from, to, time / fmax(def->time_constant[0], SHORTEST));
        if (to < from) out = fall(from, to, time / fmax(def->time_constant[1], SHORTEST));
        break;
    case CAL_ACTIVATION_NONE: break;
    }
    return clamp(out, def->activation_range);
}

bool cal_model_has_activations(const cal_model* model) {
    for (int i = 0; i < model->actuator_count; i++)
        if (model->actuators[i].activation != CAL_ACTIVATION_NONE) return true;
    return false;
}

int cal_drive_count(const cal_model* model) {
    return cal_model_has_activations(model) ? 2 * model->actuator_count + 1 : model->actuator_count;
}

void cal_model_initial_activations(const cal_model* model, double* activations) {
    for (int i = 0; model && activations && i < model->actuator_count; i++)
        activations[i] = model->actuators[i].initial_activation;
}

void cal_drive_start(const cal_model* model, double time, double* drive) {
    const int count = model->actuator_count;
    cal_model_initial(model, NULL, NULL, drive);
    if (!cal_model_has_activations(model)) return;
    cal_model_initial_activations(model, drive + count);
    drive[2 * count] = time;
}

void cal_drive_activations(const cal_model* model, const double* drive, double time, double* out) {
    const int count = model->actuator_count;
    memset(out, 0, (size_t)count * sizeof *out);
    if (!cal_model_has_activations(model)) return;
    for (int i = 0; i < count; i++)
        if (model->actuators[i].activation != CAL_ACTIVATION_NONE)
            out[i] = activation_after(&model->actuators[i], drive[count + i], drive[i], time - drive[2 * count]);
}

void cal_drive_inputs(const cal_model* model, const double* drive, double time, double* out) {
    const int count = model->actuator_count;
    cal_drive_activations(model, drive, time, out);
    for (int i = 0; i < count; i++)
        if (model->actuators[i].activation == CAL_ACTIVATION_NONE) out[i] = drive[i];
}

// The activations as they are at a time, kept for that or another time.
static void keep(const cal_model* model, double time, double as, double* drive) {
    const int count = model->actuator_count;
    if (!cal_model_has_activations(model)) return;
    for (int i = 0; i < count; i++)
        if (model->actuators[i].activation != CAL_ACTIVATION_NONE)
            drive[count + i] =
                activation_after(&model->actuators[i], drive[count + i], drive[i], time - drive[2 * count]);
    drive[2 * count] = as;
}

void cal_drive_move(const cal_model* model, double from, double to, double* drive) { keep(model, from, to, drive); }

void cal_drive_change(const cal_model* model, double time, const double* control, double* drive) {
    if (control == NULL) return;
    keep(model, time, time, drive);
    memcpy(drive, control, (size_t)model->actuator_count * sizeof *drive);
}

void cal_drive_activate(const cal_model* model, double time, const double* activations, double* drive) {
    const int count = model->actuator_count;
    if (!cal_model_has_activations(model)) return;
    for (int i = 0; i < count; i++)
        drive[count + i] = model->actuators[i].activation != CAL_ACTIVATION_NONE ? activations[i] : 0.0;
    drive[2 * count] = time;
}

uint64_t cal_drive_hash(const cal_model* model, const double* drive, double time, uint64_t hash) {
    const int count = model->actuator_count;
    for (int i = 0; i < count; i++) {
        if (model->actuators[i].activation == CAL_ACTIVATION_NONE) continue;
        const double now = activation_after(&model->actuators[i], drive[count + i], drive[i], time - drive[2 * count]);
        hash = cal_hash_doubles(hash, &now, 1);
    }
    return hash;
}
