// Passages of singular positions (system_singular.c) are written down: when, how near, and what they did to the energy.
//
//     step        o        o        o        o        o        evaluations near a singular position are noted: ∙
//     noted           ∙∙     ∙∙∙        ∙
//     energy      │ before            │ after                  at the ends of the last step before and the last noted one
//
// What forces did on or took from the mechanism meanwhile is no change that the passage made.
#include "solver/system_data.h"
#include <float.h>
#include <math.h>
#include <string.h>

void cal_system_note_near(cal_system* system, double time, double distance, int steps) {
    cal_passage* p = &system->passage;
    p->steps += steps;
    if ((p->near || p->open) && distance >= p->distance) {
        p->near = true;
        return;
    }
    p->near = true;
    p->time = time;
    p->distance = distance;
}

// Kinetic and potential energy at the end of the last step, without what work and losses have made of them since the system was made.
static cal_status find_total(cal_system* system, double* out) {
    const cal_flow_memory* m = &system->flow.memory;
    const double *q = system->kept, *v = q + system->model->q_count;
    double energy[2] = {0.0, 0.0};
    const cal_status status = cal_system_find_energy(system, q, v, energy);
    *out = energy[0] + energy[1] - (m->base.work + m->last[CAL_FLOW_WORK]) + (m->base.loss + m->last[CAL_FLOW_LOSS]);
    return status;
}

// Puts a passage among those that are shown, the largest change first.
static void list(cal_system* system, cal_singular_position now) {
    const int shown = system->singular_count < CAL_SINGULAR_SHOWN ? system->singular_count : CAL_SINGULAR_SHOWN;
    int at = shown;
    while (at > 0 && fabs(system->singular[at - 1].energy) < fabs(now.energy)) at--;
    for (int i = shown < CAL_SINGULAR_SHOWN ? shown : CAL_SINGULAR_SHOWN - 1; i > at; i--)
        system->singular[i] = system->singular[i - 1];
    if (at < CAL_SINGULAR_SHOWN) system->singular[at] = now;
    system->singular_count++;
}

cal_status cal_system_follow_passage(cal_system* system, const double* q, const double* v) {
    cal_passage* p = &system->passage;
    const size_t q_count = (size_t)system->model->q_count, v_count = (size_t)system->model->v_count;
    cal_status status = CAL_OK;
    if (p->near && !p->open) {
        status = find_total(system, &p->energy);
        p->open = true;
    } else if (p->open && !p->near) {
        double energy = 0.0;
        status = find_total(system, &energy);
        list(system, (cal_singular_position){.time = p->time,
                                             .condition = 1.0 / fmax(p->distance, DBL_EPSILON),
                                             .energy = energy - p->energy,
                                             .steps = p->steps});
        *p = (cal_passage){0};
    }
    p->near = false;
    memcpy(system->kept, q, q_count * sizeof *q);
    memcpy(system->kept + q_count, v, v_count * sizeof *v);
    return status;
}

void cal_system_begin_passages(cal_system* system) {
    if (!system->kept) return;
    system->passage = (cal_passage){0};
    memcpy(system->kept, system->q, (size_t)system->model->q_count * sizeof(double));
    memcpy(system->kept + system->model->q_count, system->v, (size_t)system->model->v_count * sizeof(double));
}
