// Images of instances in the memory of a device (image.h) that have steps of their own, or constraints: the memory of a system (solver/system.h),
// as those have that take turns on cores (separate.c). So they go on there, and those go on here. One simulation of the host is each of them in
// turn:
//
//     row, τ, controls, vectors, clock, what constraints need ──▸ the host's system ──▸ image 17       and back
#include "base/memory.h"
#include "constraint/directions.h"
#include "ensemble/image.h"
#include "ensemble/resident.h"
#include "simulation/sim.h"
#include "solver/system_data.h"
#include <string.h>

cal_status cal_resident_create_host(cal_ensemble* ensemble, cal_error* error) {
    struct cal_resident* own = ensemble->resident;
    cal_sim_def def = ensemble->def.sim;
    def.interrupt = NULL; // the ensemble is asked
    def.machine = ensemble->engine;
    const cal_status status = cal_sim_create(ensemble->model, &def, &own->host, error);
    if (status) return status;
    own->image = cal_system_memory_size(own->host->system) / sizeof(double); // whole ones
    own->blank = cal_allocate(own->image, sizeof *own->blank);
    if (!own->blank) return CAL_NO_MEMORY;
    cal_system_store(own->host->system, own->blank);
    return CAL_OK;
}

bool cal_resident_image_is_sound(const cal_ensemble* ensemble, const double* image, const double* row) {
    const struct cal_resident* own = ensemble->resident;
    return cal_ensemble_memory_is_sound(own->host, image, own->image, row);
}

// What a device has of all instances, here.
typedef struct whole {
    cal_ensemble* ensemble;
    struct cal_resident* own;
    cal_system* system;
    const cal_solver_ops* ops;
    double *vectors, *left;   // of each vector all groups; of each instance what its constraints need
    double *controls, *downs; // of each instance with steps of its own
    size_t vector, left_stride, control;
} whole;

static bool create_whole(cal_ensemble* ensemble, whole* w) {
    struct cal_resident* own = ensemble->resident;
    const cal_solver_ops* ops = ensemble->solver;
    const cal_constraints* set = own->host->system->constraints;
    const size_t instances = (size_t)own->groups * (size_t)own->lanes;
    *w = (whole){.ensemble = ensemble, .own = own, .system = own->host->system, .ops = ops};
    w->vector = (size_t)own->groups * own->y_stride;
    w->control = (ops->control_size + sizeof(double) - 1) / sizeof(double);
    if (set) w->left_stride = CAL_LEFT_PLACE + (size_t)ensemble->model->q_count + cal_directions_size(set);
    w->vectors = cal_allocate((size_t)ops->vector_count * w->vector + 1, sizeof(double));
    w->left = cal_allocate(instances * w->left_stride + 1, sizeof(double));
    w->controls = cal_allocate(instances * w->control + 1, sizeof(double));
    w->downs = cal_allocate(instances * CAL_MAX_DOWN + 1, sizeof(double));
    return w->vectors && w->left && w->controls && w->downs;
}

static void destroy_whole(whole* w) {
    cal_free(w->vectors);
    cal_free(w->left);
    cal_free(w->controls);
    cal_free(w->downs);
}

static cal_status read_whole(whole* w) {
    const cal_batch_ops* batch = cal_resident_batch(w->ensemble);
    cal_batch* from = w->own->batch;
    cal_status status = CAL_OK;
    for (int k = 0; k < w->ops->vector_count && !status; k++)
        status = batch->read(from, k, w->vectors + (size_t)k * w->vector);
    if (!status && w->own->own_clocks) status = batch->read_steps(from, w->own->own_clocks, w->controls, w->downs);
    if (!status && w->left_stride > 0) status = batch->read_held(from, w->left);
    return status;
}

static cal_status write_whole(const whole* w) {
    const cal_batch_ops* batch = cal_resident_batch(w->ensemble);
    const cal_solver_settings settings =
        cal_system_settings(w->ensemble->model, &w->ensemble->def.sim, w->ensemble->solver);
    cal_batch* to = w->own->batch;
    cal_status status = CAL_OK;
    for (int k = 0; k < w->ops->vector_count && !status; k++)
        status = batch->write(to, k, w->vectors + (size_t)k * w->vector);
    if (!status && w->own->own_clocks)
        status = batch->write_steps(to, &settings, w->own->own_clocks, w->controls, w->downs);
    if (!status && w->left_stride > 0) status = batch->write_held(to, w->left);
    return status;
}

static double* group_of(const whole* w, int vector, int instance, int* lane) {
    const size_t group = cal_resident_group(w->ensemble, instance, lane);
    return w->vectors + (size_t)vector * w->vector + group * w->own->y_stride;
}

// --- Into images ---------------------------------------------------------------------------------------------------------

static void show_steps(const whole* w, size_t n) {
    cal_system* system = w->system;
    if (w->own->own_clocks) {
        const cal_batch_clock* clock = &w->own->own_clocks[n];
        system->decision = clock->decision;
        system->headway = clock->headway;
        system->interpolates = clock->interpolates;
        memcpy(system->memory, w->controls + n * w->control, w->ops->control_size);
        memcpy(system->down, w->downs + n * CAL_MAX_DOWN, (size_t)w->ops->down_count * sizeof(double));
    } else {
        const cal_step_clock* clock = &w->own->clocks[w->own->clock_of[n]];
        system->decision = clock->decision;
        system->interpolates = clock->interpolates;
        memcpy(system->memory, clock->memory, w->ops->control_size);
        memcpy(system->down, clock->down, (size_t)w->ops->down_count * sizeof(double));
    }
    system->report.step = system->decision.step;
    system->report.order = system->decision.order;
}

static void show_left(const whole* w, size_t n) {
    const double* left = w->left + n * w->left_stride;
    cal_system* system = w->system;
    cal_directions* d = &system->constraints->directions;
    system->constraints->closed = left[CAL_LEFT_CLOSED];
    system->progress = left[CAL_LEFT_PROGRESS], system->attempts = (int)left[CAL_LEFT_ATTEMPTS];
    system->calm_time = left[CAL_LEFT_CALM_TIME], system->calm_reach = left[CAL_LEFT_CALM_REACH];
    d->held = left[CAL_LEFT_DIRECTED] != 0.0;
    d->time = left[CAL_LEFT_TIME], d->distance = left[CAL_LEFT_DISTANCE];
    if (d->held) memcpy(d->q, left + CAL_LEFT_PLACE, (size_t)system->model->q_count * sizeof *d->q);
}

// The host's system is this instance.
static cal_status show(const whole* w, int instance) {
    const cal_ensemble* ensemble = w->ensemble;
    struct cal_resident* own = w->own;
    cal_system* system = w->system;
    const cal_model* model = ensemble->model;
    const double* row = cal_ensemble_row(ensemble, instance);
    int lane;
    const size_t n = (size_t)(instance - ensemble->first), group = cal_resident_group(ensemble, instance, &lane);
    cal_status status = cal_system_load(system, own->blank, own->image * sizeof(double));
    if (status) return status;
    system->time = row[CAL_ROW_TIME];
    system->account.begun = CAL_ACCOUNT_NONE;
    memcpy(system->q, cal_ensemble_q(ensemble, instance), (size_t)model->q_count * sizeof(double));
    memcpy(system->v, cal_ensemble_v(ensemble, instance), (size_t)model->v_count * sizeof(double));
    const int32_t* position = own->plan->layout->tau_position + (size_t)lane * (size_t)model->v_count;
    for (int i = 0; i < model->v_count; i++) system->tau[i] = own->tau[group * own->v_stride + (size_t)position[i]];
    status = cal_system_drive(system, NULL, own->control + n * (size_t)model->actuator_count, NULL);
    system->report.steps = (int64_t)row[CAL_ROW_STEPS];
    system->report.rejected = (int64_t)row[CAL_ROW_REJECTED];
    system->report.evaluations = (int64_t)row[CAL_ROW_EVALUATIONS];
    if (w->left_stride > 0) show_left(w, n);
    if (status || own->begins[n]) return status;
    show_steps(w, n);
    for (int k = 0; k < w->ops->vector_count; k++) {
        double* q = system->evaluated_q; // room
        cal_layout_gather(own->plan->layout, lane, group_of(w, k, instance, &lane), q, q + model->q_count);
        cal_layout_scatter(system->plan->layout, 0, q, q + model->q_count, system->vectors[k]);
    }
    system->running = true;
    return CAL_OK;
}

cal_status cal_resident_store(cal_ensemble* ensemble, double* images) {
    whole w;
    cal_status status = create_whole(ensemble, &w) ? read_whole(&w) : CAL_NO_MEMORY;
    for (int i = ensemble->first; i < ensemble->end && !status; i++) {
        status = show(&w, i);
        if (!status) cal_system_store(w.system, images + (size_t)(i - ensemble->first) * w.own->image);
    }
    destroy_whole(&w);
    return status;
}

// --- Out of images -------------------------------------------------------------------------------------------------------

static void take_steps(const whole* w, size_t n) {
    const cal_system* system = w->system;
    if (w->own->own_clocks) {
        w->own->own_clocks[n] = (cal_batch_clock){.decision = system->decision,
                                                  .headway = system->headway,
                                                  .evaluated = system->decision.evaluation_time,
                                                  .interpolates = system->interpolates};
        memcpy(w->controls + n * w->control, system->memory, w->ops->control_size);
        memcpy(w->downs + n * CAL_MAX_DOWN, system->down, (size_t)w->ops->down_count * sizeof(double));
        return;
    }
    cal_step_clock clock = {.decision = system->decision, .interpolates = system->interpolates};
    double image[CAL_CLOCK_IMAGE];
    memcpy(clock.memory, system->memory, w->ops->control_size);
    memcpy(clock.down, system->down, (size_t)w->ops->down_count * sizeof(double));
    cal_clock_store(&clock, image);
    w->own->clock_of[n] = cal_resident_find_clock(w->ensemble, image);
}

// Directions are made anew from where they are of.
static void take_left(const whole* w, size_t n) {
    double* left = w->left + n * w->left_stride;
    cal_system* system = w->system;
    cal_constraints* set = system->constraints;
    cal_directions* d = &set->directions;
    const size_t q_count = (size_t)system->model->q_count;
    left[CAL_LEFT_CLOSED] = set->closed;
    left[CAL_LEFT_PROGRESS] = system->progress, left[CAL_LEFT_ATTEMPTS] = system->attempts;
    left[CAL_LEFT_CALM_TIME] = system->calm_time, left[CAL_LEFT_CALM_REACH] = system->calm_reach;
    left[CAL_LEFT_DIRECTED] = d->held;
    left[CAL_LEFT_TIME] = d->time, left[CAL_LEFT_DISTANCE] = d->distance;
    if (!d->held) return;
    memcpy(left + CAL_LEFT_PLACE, d->q, q_count * sizeof *d->q);
    set->along = CAL_ALONG_KEPT, set->blind = 0.0;
    if (cal_directions_serve(set, system->q, system->v)) // else next to a singular position, where nobody asks for them
        memcpy(left + CAL_LEFT_PLACE + q_count, d->kept, cal_directions_size(set) * sizeof *d->kept);
    set->along = CAL_ALONG_OWN;
}

static cal_status take(const whole* w, int instance, const double* image) {
    struct cal_resident* own = w->own;
    const cal_system* system = w->system;
    const cal_model* model = w->ensemble->model;
    const size_t actuators = (size_t)model->actuator_count;
    int lane;
    const size_t n = (size_t)(instance - w->ensemble->first), group = cal_resident_group(w->ensemble, instance, &lane);
    const int32_t* position = own->plan->layout->tau_position + (size_t)lane * (size_t)model->v_count;
    const cal_status status = cal_system_load(w->system, image, own->image * sizeof *image);
    if (status) return status;
    for (int i = 0; i < model->v_count; i++) own->tau[group * own->v_stride + (size_t)position[i]] = system->tau[i];
    memcpy(own->control + n * actuators, system->control, actuators * sizeof(double));
    own->begins[n] = !system->running || system->last.valid;
    own->clock_of[n] = 0;
    if (own->own_clocks) own->own_clocks[n] = (cal_batch_clock){0};
    if (w->left_stride > 0) take_left(w, n);
    if (own->begins[n]) return CAL_OK;
    take_steps(w, n);
    for (int k = 0; k < w->ops->vector_count; k++) {
        double* q = system->evaluated_q; // room
        cal_layout_gather(system->plan->layout, 0, system->vectors[k], q, q + model->q_count);
        cal_layout_scatter(own->plan->layout, lane, q, q + model->q_count, group_of(w, k, instance, &lane));
    }
    return CAL_OK;
}

cal_status cal_resident_load(cal_ensemble* ensemble, const double* images) {
    whole w;
    cal_status status = create_whole(ensemble, &w) ? read_whole(&w) : CAL_NO_MEMORY; // lanes without an instance
    ensemble->resident->clock_count = 0;
    ensemble->resident->driven = true;
    for (int i = ensemble->first; i < ensemble->end && !status; i++, images += ensemble->resident->image)
        status = take(&w, i, images);
    if (!status) status = write_whole(&w);
    destroy_whole(&w);
    return status;
}
