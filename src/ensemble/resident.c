// Instances in the memory of a device (ensemble.h): all of a share at once, as groups of W, an instance per lane (machine_ops.h,
// cal_batch). Fixed steps are taken here; the host asks for evaluations and waits for none of them before the job is done. Steps of
// their own are in steered.c.
//
// As in lockstep.c all instances are in the same stage at the same time, and one that begins anew has a clock of its own. Which
// instances an evaluation is about is chosen by clock: those that have arrived keep what they have. Nothing is put back.
//
// What the rows show is read from the device at the end of a job.
#include "base/finite.h"
#include "base/memory.h"
#include "ensemble/image.h"
#include "ensemble/resident.h"
#include "plan/plan.h"
#include "solver/vectors.h"

enum { VECTORS = CAL_ONE_STEP_OWN + 3 }; // of fixed steps

// --- Making one --------------------------------------------------------------------------------------------------------

static void destroy(cal_ensemble* ensemble) {
    struct cal_resident* own = ensemble->resident;
    if (!own) return;
    if (own->batch) cal_resident_batch(ensemble)->destroy(own->batch);
    if (own->pinned) cal_resident_batch(ensemble)->unpin(own->y);
    cal_sim_destroy(own->host);
    cal_free(own->blank);
    cal_free(own->ends);
    cal_plan_destroy(own->plan);
    cal_free(own->y);
    cal_free(own->tau);
    cal_free(own->begins);
    cal_free(own->clock_of);
    cal_free(own->clocks);
    cal_free(own->own_clocks);
    cal_free(own);
}

cal_status cal_ensemble_send_drives(cal_ensemble* ensemble) {
    struct cal_resident* own = ensemble->resident;
    if (!own->driven) return CAL_OK;
    cal_status status = cal_resident_batch(ensemble)->write(own->batch, CAL_BATCH_TAU, own->tau);
    if (!status && ensemble->model->actuator_count > 0)
        status = cal_resident_batch(ensemble)->write(own->batch, CAL_BATCH_CONTROL, own->control);
    own->driven = status != CAL_OK;
    return status;
}

// All lanes at the model's start, those without an instance too: they are computed, and nobody looks at them.
static cal_status fill(cal_ensemble* ensemble) {
    struct cal_resident* own = ensemble->resident;
    const size_t controls = (size_t)own->lanes * (size_t)ensemble->model->actuator_count;
    cal_state* state = NULL;
    cal_status status = cal_state_create(own->plan, &state);
    for (size_t g = 0; !status && g < (size_t)own->groups; g++) {
        memcpy(own->y + g * own->y_stride, state->context.y, own->y_stride * sizeof(double));
        memcpy(own->control + g * controls, state->context.control, controls * sizeof(double));
    }
    cal_state_destroy(state);
    if (!status) status = cal_resident_batch(ensemble)->write(own->batch, CAL_ONE_STEP_Y, own->y);
    if (!status) status = cal_resident_batch(ensemble)->write(own->batch, CAL_BATCH_Y, own->y); // dead lanes of both
    return status ? status : cal_ensemble_send_drives(ensemble);
}

static cal_status create(cal_ensemble* ensemble, cal_error* error) {
    struct cal_resident* own = ensemble->resident = cal_allocate(1, sizeof *own);
    if (!own) return CAL_NO_MEMORY;
    const int lanes = own->lanes = ensemble->device->lanes, count = ensemble->end - ensemble->first;
    const cal_plan_def def = {
        .model = ensemble->model, .program = &cal_program_aba, .machine = ensemble->device, .copies = lanes};
    cal_status status = cal_plan_create_def(&def, &own->plan, error);
    if (status) return status;
    own->groups = (count + lanes - 1) / lanes;
    ensemble->unit_count = own->groups > 0 ? 1 : 0;
    const size_t groups = (size_t)own->groups, instances = groups * (size_t)lanes;
    own->y_stride = own->plan->layout->y_size;
    own->v_stride = own->plan->layout->v_size;
    own->y = cal_allocate(2 * groups * own->y_stride + 1, sizeof(double));
    own->tau =
        cal_allocate(groups * own->v_stride + instances * (size_t)ensemble->model->actuator_count + 1, sizeof(double));
    own->begins = cal_allocate(2 * instances + 1, 1);
    own->clock_of = cal_allocate(instances + 1, sizeof *own->clock_of);
    own->clocks = cal_allocate(instances + 1, sizeof *own->clocks);
    if (!own->y || !own->tau || !own->begins || !own->clock_of || !own->clocks) return CAL_NO_MEMORY;
    own->slopes = own->y + groups * own->y_stride;
    own->control = own->tau + groups * own->v_stride;
    own->chosen = own->begins + instances;
    own->driven = true;
    memset(own->begins, 1, instances);
    const cal_solver_ops* solver = ensemble->solver;
    const int vectors = solver->vector_count > (int)VECTORS ? solver->vector_count : (int)VECTORS;
    status = cal_resident_batch(ensemble)->create(ensemble->device, own->plan, own->groups, vectors,
                                                  solver->fixed_step ? NULL : solver, &own->batch, error);
    if (!status && cal_resident_batch(ensemble)->pin) {
        cal_resident_batch(ensemble)->pin(own->y, 2 * groups * own->y_stride * sizeof(double));
        own->pinned = true;
    }
    if (!status) status = fill(ensemble);
    // The first evaluation brings the kernel, too.
    if (!status && own->groups > 0) status = cal_resident_batch(ensemble)->evaluate(own->batch, NULL, NULL, 0.0, 0.0);
    const bool holds = ensemble->model->constraint_count > 0;
    if (!status && (holds || !solver->fixed_step)) status = cal_resident_create_host(ensemble, error);
    if (!status && holds) status = cal_resident_create_held(ensemble, error);
    return status || solver->fixed_step ? status : cal_resident_create_clocks(ensemble);
}

// --- Changing instances ------------------------------------------------------------------------------------------------

size_t cal_resident_group(const cal_ensemble* ensemble, int instance, int* lane) {
    const int own = instance - ensemble->first, lanes = ensemble->resident->lanes;
    *lane = own % lanes;
    return (size_t)(own / lanes);
}

static cal_status start(cal_ensemble* ensemble, int instance, const double* q, const double* v, bool projects,
                        cal_error* error) {
    const bool holds = projects && ensemble->model->constraint_count > 0;
    const cal_status status = holds ? cal_resident_project(ensemble, instance, q, v, error) : CAL_OK;
    if (status) return status;
    if (!holds) cal_ensemble_show(ensemble, instance, q, v);
    ensemble->resident->begins[instance - ensemble->first] = 1;
    return CAL_OK;
}

static cal_status drive(cal_ensemble* ensemble, int instance, const double* tau, const double* control,
                        cal_error* error) {
    (void)error;
    struct cal_resident* own = ensemble->resident;
    const int v_count = ensemble->model->v_count;
    const size_t actuators = (size_t)ensemble->model->actuator_count;
    int lane;
    double* group = own->tau + cal_resident_group(ensemble, instance, &lane) * own->v_stride;
    const int32_t* position = own->plan->layout->tau_position + (size_t)lane * (size_t)v_count;
    for (int i = 0; tau && i < v_count; i++) group[position[i]] = tau[i];
    if (control)
        memcpy(own->control + (size_t)(instance - ensemble->first) * actuators, control, actuators * sizeof(double));
    own->begins[instance - ensemble->first] = 1;
    own->driven = true;
    return CAL_OK;
}

// --- Steps -------------------------------------------------------------------------------------------------------------

static void count_lives(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    for (int c = 0; c < own->clock_count; c++) own->clocks[c].lives = 0;
    for (int i = 0; i < r->count; i++)
        if (cal_resident_is_live(r, i) && !own->begins[i]) own->clocks[own->clock_of[i]].lives++;
}

static void fail_clock(cal_resident_job* r, int clock, cal_status status) {
    for (int i = 0; i < r->count; i++) {
        if (!cal_resident_is_live(r, i) || r->own->begins[i] || r->own->clock_of[i] != clock) continue;
        cal_clock_fail(&r->own->clocks[clock], r->job, r->ensemble, r->ensemble->first + i, status);
    }
    r->own->clocks[clock].lives = 0;
    r->own->clocks[clock].moves = false;
}

cal_status cal_resident_send(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    cal_status status = CAL_OK;
    // Lanes that keep what they have there.
    if (memchr(own->chosen, 0, (size_t)own->groups * (size_t)own->lanes))
        status = cal_resident_batch(r->ensemble)->read(own->batch, CAL_ONE_STEP_Y, own->y);
    for (int i = 0; !status && i < r->count; i++) {
        int lane;
        const int instance = r->ensemble->first + i;
        if (!own->chosen[i]) continue;
        double* y = own->y + cal_resident_group(r->ensemble, instance, &lane) * own->y_stride;
        cal_layout_scatter(own->plan->layout, lane, cal_ensemble_q(r->ensemble, instance),
                           cal_ensemble_v(r->ensemble, instance), y);
    }
    return status ? status : cal_resident_batch(r->ensemble)->write(own->batch, CAL_ONE_STEP_Y, own->y);
}

// A clock for the instances that begin anew: one that no other has. They are all at the ensemble's time.
static cal_status begin_clock(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    int number = 0, beginning = 0;
    for (int i = 0; i < own->groups * own->lanes; i++) {
        own->chosen[i] = i < r->count && cal_resident_is_live(r, i) && own->begins[i];
        beginning += own->chosen[i];
    }
    count_lives(r);
    if (beginning == 0) return CAL_OK;
    while (number < own->clock_count && own->clocks[number].lives > 0) number++;
    if (number == own->clock_count) own->clock_count++;
    cal_status status = cal_resident_send(r);
    for (int i = 0; i < r->count; i++) {
        if (!own->chosen[i]) continue;
        own->clock_of[i] = number;
        own->begins[i] = 0;
    }
    cal_step_clock* clock = &own->clocks[number];
    cal_clock_start(clock, r->job, r->ensemble->time);
    clock->lives = beginning;
    if (!status)
        status = cal_resident_batch(r->ensemble)->choose(own->batch, beginning == r->count ? NULL : own->chosen);
    if (!status && own->ends) status = cal_resident_batch(r->ensemble)->begin_held(own->batch, r->ensemble->time);
    if (!status)
        status =
            cal_resident_batch(r->ensemble)
                ->evaluate(own->batch, r->job->ops, clock->down, clock->decision.evaluation_time, clock->decision.time);
    if (status) return status;
    const cal_status failed = cal_clock_control(clock, r->job);
    if (failed) fail_clock(r, number, failed);
    return CAL_OK;
}

// The first clock that has not arrived; NULL: all have. `changed`: some have since the last time.
static cal_step_clock* find_moving(cal_resident_job* r, bool* changed) {
    cal_step_clock* leader = NULL;
    for (int c = 0; c < r->own->clock_count; c++) {
        cal_step_clock* clock = &r->own->clocks[c];
        const bool moves = clock->lives > 0 && !cal_clock_has_arrived(clock, r->job);
        if (moves != clock->moves) *changed = true;
        clock->moves = moves;
        if (moves && !leader) leader = clock;
    }
    return leader;
}

static cal_status choose_moving(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    bool all = true;
    for (int i = 0; i < own->groups * own->lanes; i++) {
        const bool known = i < r->count && cal_resident_is_live(r, i);
        own->chosen[i] = known && own->clocks[own->clock_of[i]].moves;
        all = all && (own->chosen[i] || i >= r->count);
    }
    return cal_resident_batch(r->ensemble)->choose(own->batch, all ? NULL : own->chosen);
}

// An evaluation of what moves. Unless some clock arrives with the step that it completes, nobody will look inside of that.
static cal_status evaluate(cal_resident_job* r, const cal_step_clock* leader) {
    const struct cal_resident* own = r->own;
    double down[CAL_CLOCK_DOWN];
    bool arrives = false;
    if (own->ends) return cal_resident_evaluate_held(r);
    for (int c = 0; c < own->clock_count; c++)
        arrives = arrives || (own->clocks[c].moves && cal_clock_arrives(&own->clocks[c], r->job));
    memcpy(down, leader->down, sizeof down);
    if (!arrives && r->job->ops->unseen) r->job->ops->unseen(down);
    return cal_resident_batch(r->ensemble)
        ->evaluate(own->batch, r->job->ops, down, leader->decision.evaluation_time, leader->decision.time);
}

// Steps of all clocks that move, side by side: they are in the same stage at the same time.
static cal_status take_steps(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    bool changed = true;
    for (int c = 0; c < own->clock_count; c++) own->clocks[c].moves = false;
    for (cal_step_clock* leader; (leader = find_moving(r, &changed)) != NULL;) {
        cal_status status = changed ? choose_moving(r) : CAL_OK;
        changed = false;
        do {
            if (!status) status = evaluate(r, leader);
            if (status) return status;
            for (int c = 0; c < own->clock_count; c++) {
                if (!own->clocks[c].moves) continue;
                const cal_status failed = cal_clock_control(&own->clocks[c], r->job);
                if (failed) fail_clock(r, c, failed), changed = true;
            }
        } while (leader->moves && !leader->decision.accepted);
    }
    return CAL_OK;
}

// --- What comes of it --------------------------------------------------------------------------------------------------

// finite: all of the group's instances are.
static void show_instance(cal_resident_job* r, int i, bool finite) {
    const int instance = r->ensemble->first + i;
    int lane;
    const size_t at = cal_resident_group(r->ensemble, instance, &lane) * r->own->y_stride;
    const double* y = r->own->y + at;
    cal_clock_show(&r->own->clocks[r->own->clock_of[i]], r->job, r->ensemble, instance, r->own->plan->layout, lane, y,
                   finite ? -1 : cal_layout_find_not_finite(r->own->plan->layout, lane, y, r->own->slopes + at));
}

cal_status cal_resident_choose_clock(cal_resident_job* r, int clock) {
    struct cal_resident* own = r->own;
    for (int i = 0; i < own->groups * own->lanes; i++)
        own->chosen[i] = i < r->count && cal_resident_is_live(r, i) && own->clock_of[i] == clock;
    return cal_resident_batch(r->ensemble)
        ->choose(own->batch, own->clocks[clock].lives == r->count ? NULL : own->chosen);
}

// Every instance at the job's time, by its clock's polynomial; or at the end of its steps.
static cal_status show(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    const cal_batch_ops* batch = cal_resident_batch(r->ensemble);
    cal_status status = CAL_OK;
    for (int c = 0; r->job->steps < 0 && !status && c < own->clock_count; c++) {
        if (own->clocks[c].lives == 0) continue;
        status = cal_resident_choose_clock(r, c);
        if (!status) status = batch->interpolate(own->batch, r->job->ops, own->clocks[c].memory, r->job->time);
        if (!status && own->ends) status = batch->close(own->batch, r->job->time);
    }
    if (!status) status = batch->read(own->batch, r->job->steps < 0 ? CAL_BATCH_Y : CAL_ONE_STEP_Y, own->y);
    if (!status) status = batch->read(own->batch, CAL_ONE_STEP_F, own->slopes);
    if (!status && own->ends) status = cal_resident_take_ends(r);
    bool finite = false;
    for (int i = 0; !status && i < r->count; i++) {
        const size_t at = (size_t)(i / own->lanes) * own->y_stride;
        if (i % own->lanes == 0)
            finite =
                cal_all_finite(own->y + at, (int)own->y_stride) && cal_all_finite(own->slopes + at, (int)own->y_stride);
        if (cal_resident_is_live(r, i)) show_instance(r, i, finite);
    }
    return status;
}

// --- Forward dynamics --------------------------------------------------------------------------------------------------

// The user's rows of `count` numbers into a vector of all groups; NULL: zeros.
static void fill_vector(const cal_resident_job* r, const int32_t* position, int count, size_t stride,
                        const double* rows, double* out) {
    for (int i = 0; i < r->count; i++) {
        const int lane = i % r->own->lanes;
        double* group = out + (size_t)(i / r->own->lanes) * stride;
        const double* row = rows ? rows + (size_t)(r->ensemble->first + i) * (size_t)count : NULL;
        for (int k = 0; k < count; k++) group[position[lane * count + k]] = row ? row[k] : 0.0;
    }
}

static cal_status forward(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    const cal_batch_ops* batch = cal_resident_batch(r->ensemble);
    const cal_layout* layout = own->plan->layout;
    const int q_count = r->ensemble->model->q_count, v_count = r->ensemble->model->v_count;
    double* const tau = own->slopes;                                     // room for numbers that nobody keeps
    cal_status status = batch->read(own->batch, CAL_ONE_STEP_Y, own->y); // dead lanes
    fill_vector(r, layout->q_position, q_count, own->y_stride, r->job->q, own->y);
    fill_vector(r, layout->v_position, v_count, own->y_stride, r->job->v, own->y);
    memset(tau, 0, (size_t)own->groups * own->v_stride * sizeof(double));
    fill_vector(r, layout->tau_position, v_count, own->v_stride, r->job->tau, tau);
    if (!status) status = cal_ensemble_send_drives(r->ensemble);            // the controls
    if (!status) status = batch->write(own->batch, CAL_ONE_STEP_Y, own->y); // where the states stay: show_kept
    if (!status) status = batch->write(own->batch, CAL_BATCH_TAU, tau);
    if (!status) status = batch->choose(own->batch, NULL);
    if (!status) status = batch->evaluate(own->batch, NULL, NULL, 0.0, 0.0);
    if (!status) status = batch->read(own->batch, CAL_BATCH_YDOT, own->slopes);
    for (int i = 0; !status && i < r->count; i++) {
        const double* group = own->slopes + (size_t)(i / own->lanes) * own->y_stride;
        const int32_t* position = layout->v_position + (size_t)(i % own->lanes) * (size_t)v_count;
        double* row = r->job->qdd + (size_t)(r->ensemble->first + i) * (size_t)v_count;
        for (int k = 0; k < v_count; k++) row[k] = group[position[k]];
    }
    memset(own->begins, 1, (size_t)own->groups * (size_t)own->lanes);
    own->driven = true;
    return status;
}

static void show_kept(const cal_ensemble* ensemble) {
    const struct cal_resident* own = ensemble->resident;
    if (cal_resident_batch(ensemble)->read(own->batch, CAL_ONE_STEP_Y, own->y) != CAL_OK)
        return; // the next job says so
    for (int i = ensemble->first; i < ensemble->end; i++) {
        int lane;
        const double* group = own->y + cal_resident_group(ensemble, i, &lane) * own->y_stride;
        cal_layout_gather(own->plan->layout, lane, group, cal_ensemble_q(ensemble, i), cal_ensemble_v(ensemble, i));
    }
}

const cal_plan* cal_ensemble_on_device(const cal_ensemble* ensemble, cal_batch** batch) {
    if (ensemble->ops != &cal_ensemble_resident) return NULL;
    *batch = ensemble->resident->batch;
    return ensemble->resident->plan;
}

cal_status cal_ensemble_send_states(cal_ensemble* ensemble) {
    struct cal_resident* own = ensemble->resident;
    cal_resident_job r = {ensemble, own, NULL, ensemble->end - ensemble->first};
    bool any = false;
    for (int i = 0; i < own->groups * own->lanes; i++) {
        own->chosen[i] = !ensemble->behind && i < r.count && own->begins[i]; // behind: what is there is newer
        any = any || own->chosen[i];
    }
    const cal_status status = any ? cal_resident_send(&r) : CAL_OK;
    return status ? status : cal_ensemble_send_drives(ensemble);
}

cal_status cal_ensemble_adopt(cal_ensemble* ensemble) {
    struct cal_resident* own = ensemble->resident;
    const cal_status status = cal_resident_batch(ensemble)->read(own->batch, CAL_BATCH_TAU, own->tau);
    for (int i = ensemble->first; i < ensemble->end; i++) cal_ensemble_revive(ensemble, i);
    memset(own->begins, 1, (size_t)own->groups * (size_t)own->lanes);
    ensemble->behind = true;
    ensemble->queried = CAL_NONE;
    return status;
}

static cal_status run(cal_ensemble* ensemble, int worker, int unit, const cal_ensemble_job* job) {
    (void)worker, (void)unit; // all are one
    struct cal_resident* own = ensemble->resident;
    cal_resident_job r = {ensemble, own, job, ensemble->end - ensemble->first};
    const size_t instances = (size_t)own->groups * (size_t)own->lanes;
    if (job->qdd) return forward(&r);
    if (job->steps >= 0) memset(own->begins, 1, instances);
    for (int c = 0; c < own->clock_count; c++) own->clocks[c].steps = own->clocks[c].evaluations = 0;
    cal_status status = cal_ensemble_send_drives(ensemble);
    if (!job->ops->fixed_step) {
        if (!status) status = cal_resident_steer(&r);
        if (status) memset(own->begins, 1, instances);
        return status;
    }
    if (!status) status = begin_clock(&r);
    if (!status) status = take_steps(&r);
    if (!status) status = show(&r);
    // Steps may have been another solver's; and what failed has left something half done.
    if (status || job->steps >= 0) memset(own->begins, 1, instances);
    return status;
}

// --- Images of instances with fixed steps (image.h) ----------------------------------------------------------------------

static size_t image_size(const cal_ensemble* ensemble) {
    return ensemble->resident->host ? ensemble->resident->image : cal_lane_image_of(ensemble->model).size;
}

static bool depends_on_lanes(const cal_ensemble* ensemble) { return ensemble->resident->host != NULL; }

static bool is_sound(const cal_ensemble* ensemble, const double* image, const double* row) {
    return ensemble->resident->host ? cal_resident_image_is_sound(ensemble, image, row)
                                    : cal_lane_image_is_sound(ensemble, image, row);
}

static cal_status store(cal_ensemble* ensemble, double* images) {
    if (ensemble->resident->host) return cal_resident_store(ensemble, images);
    struct cal_resident* own = ensemble->resident;
    const cal_layout* layout = own->plan->layout;
    const cal_lane_image at = cal_lane_image_of(ensemble->model);
    const size_t v_count = (size_t)ensemble->model->v_count, actuators = (size_t)ensemble->model->actuator_count;
    cal_status status = CAL_OK;
    for (int i = ensemble->first; i < ensemble->end; i++) {
        int lane;
        const size_t n = (size_t)(i - ensemble->first), group = cal_resident_group(ensemble, i, &lane);
        const int32_t* position = layout->tau_position + (size_t)lane * v_count;
        double* image = images + n * at.size;
        image[at.begins] = own->begins[n];
        cal_clock_store(&own->clocks[own->clock_of[n]], image + at.clock);
        for (size_t k = 0; k < v_count; k++) image[at.tau + k] = own->tau[group * own->v_stride + (size_t)position[k]];
        memcpy(image + at.control, own->control + n * actuators, actuators * sizeof(double));
        cal_lane_flows_store(NULL, 0, 0, ensemble, i, image + at.flows);
    }
    for (int k = 0; k < (int)CAL_LANE_KEPT && !status; k++) {
        status = cal_resident_batch(ensemble)->read(own->batch, k, own->y);
        for (int i = ensemble->first; !status && i < ensemble->end; i++) {
            int lane;
            const size_t n = (size_t)(i - ensemble->first), group = cal_resident_group(ensemble, i, &lane);
            double* q = images + n * at.size + at.vectors + (size_t)k * at.vector;
            cal_layout_gather(layout, lane, own->y + group * own->y_stride, q, q + ensemble->model->q_count);
        }
    }
    return status;
}

int cal_resident_find_clock(const cal_ensemble* ensemble, const double* image) {
    struct cal_resident* own = ensemble->resident;
    cal_step_clock clock;
    double known[CAL_CLOCK_IMAGE];
    for (int c = 0; c < own->clock_count; c++) {
        cal_clock_store(&own->clocks[c], known);
        if (cal_clocks_are_alike(known, image)) return c;
    }
    (void)cal_clock_load(image, ensemble->solver, &clock);
    own->clocks[own->clock_count] = clock;
    return own->clock_count++;
}

static cal_status load(cal_ensemble* ensemble, const double* images) {
    if (ensemble->resident->host) return cal_resident_load(ensemble, images);
    struct cal_resident* own = ensemble->resident;
    const cal_layout* layout = own->plan->layout;
    const cal_batch_ops* batch = cal_resident_batch(ensemble);
    const cal_lane_image at = cal_lane_image_of(ensemble->model);
    const size_t v_count = (size_t)ensemble->model->v_count, actuators = (size_t)ensemble->model->actuator_count;
    cal_status status = CAL_OK;
    own->clock_count = 0;
    own->driven = true;
    for (int i = ensemble->first; i < ensemble->end; i++) {
        int lane;
        const size_t n = (size_t)(i - ensemble->first), group = cal_resident_group(ensemble, i, &lane);
        const int32_t* position = layout->tau_position + (size_t)lane * v_count;
        const double* image = images + n * at.size;
        own->begins[n] = image[at.begins] != 0.0;
        own->clock_of[n] = own->begins[n] ? 0 : cal_resident_find_clock(ensemble, image + at.clock);
        for (size_t k = 0; k < v_count; k++) own->tau[group * own->v_stride + (size_t)position[k]] = image[at.tau + k];
        memcpy(own->control + n * actuators, image + at.control, actuators * sizeof(double));
    }
    for (int k = 0; k < (int)CAL_LANE_KEPT && !status; k++) {
        status = batch->read(own->batch, k, own->y); // lanes without an instance keep what they have
        for (int i = ensemble->first; !status && i < ensemble->end; i++) {
            int lane;
            const size_t group = cal_resident_group(ensemble, i, &lane);
            const double* q = images + (size_t)(i - ensemble->first) * at.size + at.vectors + (size_t)k * at.vector;
            cal_layout_scatter(layout, lane, q, q + ensemble->model->q_count, own->y + group * own->y_stride);
        }
        if (!status) status = batch->write(own->batch, k, own->y);
    }
    return status;
}

#define IMAGES                                                                                                         \
    .image_size = image_size, .depends_on_lanes = depends_on_lanes, .store = store, .is_sound = is_sound, .load = load
const cal_ensemble_ops cal_ensemble_resident = {.create = create,
                                                .destroy = destroy,
                                                .start = start,
                                                .drive = drive,
                                                .run = run,
                                                .show_kept = show_kept,
                                                .takes_steps = true,
                                                IMAGES};
// Constraints are looked at with each state: nobody else writes it there, and steps are those of an advance.
const cal_ensemble_ops cal_ensemble_held = {.create = create,
                                            .destroy = destroy,
                                            .start = start,
                                            .is_undecided = cal_resident_is_undecided,
                                            .drive = drive,
                                            .run = run,
                                            IMAGES};
