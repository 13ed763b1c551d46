// Instances in the memory of a device that have steps of their own (resident.h): a solver with variable steps, whose control runs
// there for each instance by itself. All that move are evaluated together; one that has arrived rests until the others have, and one
// that needs many steps holds nobody's size of step.
//
// When steps begin and end is as in a simulation by itself, and so are the bits.
#include "base/finite.h"
#include "base/memory.h"
#include "ensemble/resident.h"
#include "plan/plan.h"
#include "solver/system.h"

cal_status cal_resident_create_clocks(cal_ensemble* ensemble) {
    struct cal_resident* own = ensemble->resident;
    own->own_clocks = cal_allocate((size_t)own->groups * (size_t)own->lanes + 1, sizeof *own->own_clocks);
    return own->own_clocks ? CAL_OK : CAL_NO_MEMORY;
}

// Chooses those of which `wanted` is true; none: false.
typedef bool is_wanted(const cal_resident_job* r, int i);
static bool choose(cal_resident_job* r, is_wanted* wanted, cal_status* status) {
    struct cal_resident* own = r->own;
    bool any = false;
    for (int i = 0; i < own->groups * own->lanes; i++) {
        own->chosen[i] = i < r->count && cal_resident_is_live(r, i) && wanted(r, i);
        any = any || own->chosen[i];
    }
    if (any) *status = cal_resident_batch(r->ensemble)->choose(own->batch, own->chosen);
    return any && !*status;
}

static bool begins(const cal_resident_job* r, int i) { return r->own->begins[i]; }
static bool moves(const cal_resident_job* r, int i) {
    const cal_batch_clock* clock = &r->own->own_clocks[i];
    return !(clock->interpolates && clock->decision.time >= r->job->time);
}
static bool lives(const cal_resident_job* r, int i) {
    (void)r, (void)i;
    return true;
}

static cal_status begin(cal_resident_job* r) {
    cal_ensemble* ensemble = r->ensemble;
    struct cal_resident* own = r->own;
    const cal_solver_settings settings = cal_system_settings(ensemble->model, &ensemble->def.sim, ensemble->solver);
    cal_status status = CAL_OK;
    if (!choose(r, begins, &status)) return status;
    status = cal_resident_send(r);
    if (!status && own->ends) status = cal_resident_batch(ensemble)->begin_held(own->batch, ensemble->time);
    if (!status) status = cal_resident_batch(ensemble)->begin(own->batch, &settings, ensemble->time);
    for (int i = 0; !status && i < r->count; i++) {
        if (!own->chosen[i]) continue;
        own->begins[i] = 0;
        own->own_clocks[i] = (cal_batch_clock){0};
    }
    return status;
}

// What was counted since the job began goes to the row.
static void count(const cal_resident_job* r, int i, const cal_batch_clock* before) {
    const cal_batch_clock* now = &r->own->own_clocks[i];
    double* row = cal_ensemble_row(r->ensemble, r->ensemble->first + i);
    row[CAL_ROW_STEPS] += (double)(now->steps - before->steps);
    row[CAL_ROW_REJECTED] += (double)(now->rejected - before->rejected);
    row[CAL_ROW_EVALUATIONS] += (double)(now->evaluations - before->evaluations);
}

static void fail(const cal_resident_job* r, int i, cal_status status, int node) {
    const cal_ensemble* ensemble = r->ensemble;
    const cal_model* model = ensemble->model;
    const cal_batch_clock* clock = &r->own->own_clocks[i];
    const cal_sim_def* def = &ensemble->def.sim;
    cal_error error = {CAL_OK, ""};
    char name[80];
    cal_solver_failure failure = {.solver = ensemble->solver->name,
                                  .tolerance = def->relative,
                                  .horizon = cal_system_settings(model, def, ensemble->solver).horizon,
                                  .at = clock->evaluated,
                                  .kept = cal_ensemble_row(ensemble, ensemble->first + i)[CAL_ROW_TIME],
                                  .headway = &clock->headway,
                                  .near = ""};
    if (status == CAL_NOT_FINITE && node >= 0)
        failure.body = cal_model_body_name(model, model->nodes[node].body, name, sizeof name);
    (void)cal_solver_fail(&failure, status, &error);
    cal_ensemble_fail(r->ensemble, ensemble->first + i, status, error.text);
    r->own->begins[i] = 1;
}

// Those that control gave up, with the body that is not finite at their last evaluation.
static cal_status fail_some(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    const cal_batch_ops* batch = cal_resident_batch(r->ensemble);
    bool any = false;
    for (int i = 0; i < r->count; i++) any = any || (cal_resident_is_live(r, i) && own->own_clocks[i].status);
    if (!any) return CAL_OK;
    cal_status status = batch->read(own->batch, CAL_BATCH_Y, own->y);
    if (!status) status = batch->read(own->batch, CAL_BATCH_YDOT, own->slopes);
    for (int i = 0; !status && i < r->count; i++) {
        if (!cal_resident_is_live(r, i) || !own->own_clocks[i].status) continue;
        int lane;
        const size_t at = cal_resident_group(r->ensemble, r->ensemble->first + i, &lane) * own->y_stride;
        fail(r, i, (cal_status)own->own_clocks[i].status,
             cal_layout_find_not_finite(own->plan->layout, lane, own->y + at, own->slopes + at));
    }
    return status;
}

static void show_one(cal_resident_job* r, int i) {
    cal_ensemble* ensemble = r->ensemble;
    const int instance = ensemble->first + i;
    int lane;
    const double* y = r->own->y + cal_resident_group(ensemble, instance, &lane) * r->own->y_stride;
    const int node = cal_layout_find_not_finite(r->own->plan->layout, lane, y, y);
    if (node >= 0) {
        fail(r, i, CAL_NOT_FINITE, node);
        return;
    }
    cal_layout_gather(r->own->plan->layout, lane, y, cal_ensemble_q(ensemble, instance),
                      cal_ensemble_v(ensemble, instance));
    cal_ensemble_row(ensemble, instance)[CAL_ROW_TIME] = r->job->time;
}

// Each at the job's time, by the polynomial of its own last step.
static cal_status show(cal_resident_job* r) {
    const cal_batch_ops* batch = cal_resident_batch(r->ensemble);
    cal_status status = CAL_OK;
    if (!choose(r, lives, &status)) return status;
    status = batch->interpolate(r->own->batch, r->job->ops, NULL, r->job->time);
    if (!status && r->own->ends) status = batch->close(r->own->batch, r->job->time);
    if (!status && r->own->ends) status = cal_resident_take_ends(r);
    if (!status) status = batch->read(r->own->batch, CAL_BATCH_Y, r->own->y);
    for (int i = 0; !status && i < r->count; i++)
        if (cal_resident_is_live(r, i)) show_one(r, i);
    return status;
}

cal_status cal_resident_steer(cal_resident_job* r) {
    struct cal_resident* own = r->own;
    const cal_batch_ops* batch = cal_resident_batch(r->ensemble);
    const size_t instances = (size_t)own->groups * (size_t)own->lanes;
    cal_batch_clock* before = cal_allocate(instances + 1, sizeof *before);
    cal_status status = before ? begin(r) : CAL_NO_MEMORY;
    if (!status) {
        memcpy(before, own->own_clocks, instances * sizeof *before);
        if (choose(r, moves, &status)) {
            status = batch->advance(own->batch, r->job->time);
            if (!status) status = batch->read_clocks(own->batch, own->own_clocks);
        }
    }
    for (int i = 0; !status && i < r->count; i++)
        if (cal_resident_is_live(r, i)) count(r, i, &before[i]);
    cal_free(before);
    if (!status && own->ends) status = cal_resident_take_ends(r);
    if (!status) status = fail_some(r);
    return status ? status : show(r);
}
