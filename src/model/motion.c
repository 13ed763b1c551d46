// Motions that are prescribed by a few numbers.
#include "model/angle.h"
#include "model/model.h"

void cal_wave_motion(double time, double* value, double* velocity, double* acceleration, void* user) {
    const cal_wave* wave = user;
    if (!wave || !value || !velocity || !acceleration) return;
    const double turn = 2.0 * CAL_PI * wave->frequency;
    double sine, cosine;
    cal_sine_cosine(turn * time + wave->phase, &sine, &cosine);
    *value = wave->offset + wave->rate * time + wave->amplitude * sine;
    *velocity = wave->rate + wave->amplitude * turn * cosine;
    *acceleration = -wave->amplitude * turn * turn * sine;
}
