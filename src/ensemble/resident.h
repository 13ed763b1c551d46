// Instances in the memory of a device: what fixed steps (resident.c) and steps of their own (steered.c) have in common.
#pragma once
#include "ensemble/clock.h"
#include "plan/machine_ops.h"

struct cal_resident {
    cal_plan* plan; // of W instances
    cal_batch* batch;
    int lanes, groups;
    size_t y_stride, v_stride;
    double *y, *slopes, *tau, *control; // of the host, all groups: y and dy/dt for what is shown, what drives
    bool pinned;                        // y and slopes (machine_ops.h)
    bool driven;                        // tau or control were changed
    uint8_t *begins, *chosen;           // per instance
    // Of fixed steps: instances that began together share a clock.
    int32_t* clock_of;
    cal_step_clock* clocks; // as many as instances
    int clock_count;        // those after it have no instances
    // Of steps of their own.
    cal_batch_clock* own_clocks; // NULL: the ensemble's solver has fixed steps
    // Of steps of their own, and of models with constraints: a simulation of the host, which is any instance in turn; its memory as it was made, in
    // words (resident_image.c).
    cal_sim* host;
    double* blank;
    size_t image;
    // Of models with constraints, per instance; NULL: there are none.
    cal_batch_end* ends;
};

typedef struct cal_resident_job {
    cal_ensemble* ensemble;
    struct cal_resident* own;
    const cal_ensemble_job* job;
    int count; // instances of the share
} cal_resident_job;

static inline const cal_batch_ops* cal_resident_batch(const cal_ensemble* ensemble) {
    return ensemble->device->ops->batch;
}
static inline bool cal_resident_is_live(const cal_resident_job* r, int i) {
    return !cal_ensemble_has_failed(r->ensemble, r->ensemble->first + i);
}
// Where an instance's numbers are: its group's part of a vector, and its lane there.
size_t cal_resident_group(const cal_ensemble* ensemble, int instance, int* lane);
// The device's y with the rows of the instances that are chosen.
cal_status cal_resident_send(cal_resident_job* r);

// Those whose clock has this image (image.h) share one.
int cal_resident_find_clock(const cal_ensemble* ensemble, const double* image);

// --- Images (resident_image.c) -------------------------------------------------------------------------------------------
cal_status cal_resident_create_host(cal_ensemble* ensemble, cal_error* error);
bool cal_resident_image_is_sound(const cal_ensemble* ensemble, const double* image, const double* row);
cal_status cal_resident_store(cal_ensemble* ensemble, double* images);
cal_status cal_resident_load(cal_ensemble* ensemble, const double* images);

// --- Constraints (resident_held.c) ----------------------------------------------------------------------------------------
cal_status cal_resident_create_held(cal_ensemble* ensemble, cal_error* error);
// From there (NULL: from where it is) to the nearest state that constraints allow, which the instance's row then shows.
cal_status cal_resident_project(cal_ensemble* ensemble, int instance, const double* q, const double* v,
                                cal_error* error);
bool cal_resident_is_undecided(const cal_ensemble* ensemble, int instance);
// An evaluation of the clocks that move, one after the other: places depend on time.
cal_status cal_resident_evaluate_held(cal_resident_job* r);
// Instances that have come to their end rest from now on.
cal_status cal_resident_take_ends(cal_resident_job* r);
// The instances of a clock are chosen.
cal_status cal_resident_choose_clock(cal_resident_job* r, int clock);

// --- Steps of their own (steered.c) --------------------------------------------------------------------------------------
cal_status cal_resident_create_clocks(cal_ensemble* ensemble);
// Every instance that has not failed goes to the job's time.
cal_status cal_resident_steer(cal_resident_job* r);
