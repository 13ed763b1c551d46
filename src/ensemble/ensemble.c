// Many states of one model: W instances side by side are one wide model (a forest of W equal trees, whose columns hold
// an instance a lane), and a batch is a list of such groups. The kernels are those of a single model, and so are the bits.
#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "solver/solver.h"

#include <string.h>

struct cal_ensemble {
    const cal_model* model;
    cal_machine* machine;
    cal_plan* plan;
    cal_state* state; // scratch memory of one group; its y is the group's that is being worked on
    double* own_y;    // the y that state was made with
    double* y;        // group_count × y_size
    double* vectors;  // of the solver, one group's
    size_t vectors_size;
    int count, lanes, group_count;
};

static double* group_y(const cal_ensemble* ensemble, int group) {
    return ensemble->y + (size_t)group * ensemble->plan->layout->y_size;
}

cal_status cal_ensemble_create(const cal_model* model, int count, int lanes, cal_ensemble** out, cal_error* error) {
    *out = NULL;
    if (count < 1) return cal_fail(error, CAL_BAD_ARGUMENT, "an ensemble needs at least one instance, not %d", count);
    if (model->constraint_count > 0)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "the model has %d constraints, which instances in lanes do not hold; use cal_sim or cal_rps",
                        model->constraint_count);
    cal_ensemble* ensemble = cal_allocate(1, sizeof *ensemble);
    if (!ensemble) return cal_fail(error, CAL_NO_MEMORY, "no memory for an ensemble");
    ensemble->model = model;
    ensemble->count = count;
    cal_status status = cal_machine_serial(lanes, &ensemble->machine, error);
    if (status == CAL_OK) {
        ensemble->lanes = ensemble->machine->lanes;
        ensemble->group_count = (count - 1) / ensemble->lanes + 1;
        const cal_plan_def def = {
            .model = model, .program = &cal_program_aba, .machine = ensemble->machine, .copies = ensemble->lanes};
        status = cal_plan_create_def(&def, &ensemble->plan, error);
    }
    if (status == CAL_OK) {
        status = cal_state_create(ensemble->plan, &ensemble->state);
        if (status == CAL_OK) {
            ensemble->own_y = ensemble->state->context.y;
            ensemble->y = cal_allocate((size_t)ensemble->group_count * ensemble->plan->layout->y_size, sizeof(double));
        }
        if (!ensemble->y)
            status =
                cal_fail(error, CAL_NO_MEMORY, "no memory for %d instances of %d bodies", count, model->body_count);
    }
    if (status != CAL_OK) {
        cal_ensemble_destroy(ensemble);
        return status;
    }
    for (int group = 0; group < ensemble->group_count; group++)
        memcpy(group_y(ensemble, group), ensemble->own_y, ensemble->plan->layout->y_size * sizeof(double));
    *out = ensemble;
    return CAL_OK;
}

void cal_ensemble_destroy(cal_ensemble* ensemble) {
    if (!ensemble) return;
    cal_state_destroy(ensemble->state);
    cal_plan_destroy(ensemble->plan);
    cal_machine_destroy(ensemble->machine);
    cal_free(ensemble->y);
    cal_free(ensemble->vectors);
    cal_free(ensemble);
}

int cal_ensemble_lanes(const cal_ensemble* ensemble) { return ensemble->lanes; }

cal_status cal_ensemble_set(cal_ensemble* ensemble, int instance, const double* q, const double* v) {
    if (instance < 0 || instance >= ensemble->count) return CAL_BAD_ARGUMENT;
    cal_layout_scatter(ensemble->plan->layout, instance % ensemble->lanes, q, v,
                       group_y(ensemble, instance / ensemble->lanes));
    return CAL_OK;
}

cal_status cal_ensemble_get(const cal_ensemble* ensemble, int instance, double* q, double* v) {
    if (instance < 0 || instance >= ensemble->count) return CAL_BAD_ARGUMENT;
    cal_layout_gather(ensemble->plan->layout, instance % ensemble->lanes, group_y(ensemble, instance / ensemble->lanes),
                      q, v);
    return CAL_OK;
}

static int live_copies(const cal_ensemble* ensemble, int group) {
    const int rest = ensemble->count - group * ensemble->lanes;
    return rest < ensemble->lanes ? rest : ensemble->lanes;
}

// Instances fill every lane of every block, so the numbers of a group's copies lie side by side: one position serves all.
// rows: the group's first instance's row of `count` numbers; NULL: zeros.
static void fill_lanes(const int32_t* position, int count, int live, const double* rows, double* out) {
    for (int i = 0; i < count; i++) {
        double* lanes = out + position[i];
        for (int copy = 0; copy < live; copy++)
            lanes[copy] = rows ? rows[(size_t)copy * (size_t)count + (size_t)i] : 0.0;
    }
}

static void read_lanes(const int32_t* position, int count, int live, const double* from, double* rows) {
    for (int i = 0; i < count; i++) {
        const double* lanes = from + position[i];
        for (int copy = 0; copy < live; copy++) rows[(size_t)copy * (size_t)count + (size_t)i] = lanes[copy];
    }
}

cal_status cal_ensemble_forward(cal_ensemble* ensemble, const double* q, const double* v, const double* tau,
                                double* qdd) {
    const cal_layout* layout = ensemble->plan->layout;
    cal_context* context = &ensemble->state->context;
    const int q_count = ensemble->model->q_count, v_count = ensemble->model->v_count;
    for (int group = 0; group < ensemble->group_count; group++) {
        const int live = live_copies(ensemble, group);
        const size_t first = (size_t)group * (size_t)ensemble->lanes, v_first = first * (size_t)v_count;
        context->y = group_y(ensemble, group);
        fill_lanes(layout->q_position, q_count, live, q + first * (size_t)q_count, context->y);
        fill_lanes(layout->v_position, v_count, live, v + v_first, context->y);
        fill_lanes(layout->tau_position, v_count, live, tau ? tau + v_first : NULL, context->tau);
        const cal_status status = cal_plan_run(ensemble->plan, ensemble->state, NULL, NULL, true, NULL);
        if (status != CAL_OK) return status;
        read_lanes(layout->v_position, v_count, live, context->ydot, qdd + v_first);
    }
    return CAL_OK;
}

// Advances one group. The sums, which would stop the whole group, are not shown to control: each instance is looked at
// when all have been advanced.
static cal_status step_group(cal_ensemble* ensemble, int group, const cal_solver_ops* ops, void* control,
                             cal_solver_context* context, double* down, const cal_solver_settings* settings,
                             int64_t steps) {
    static const double quiet[CAL_MAX_SUMS] = {0};
    double sums[CAL_MAX_SUMS];
    const size_t bytes = ensemble->plan->layout->y_size * sizeof(double);
    cal_step_decision decision;
    double* own = context->vectors[0]; // every solver has one at least
    if (!own) return CAL_BAD_ARGUMENT;
    memcpy(own, group_y(ensemble, group), bytes);
    ops->start(control, settings, 0.0, down, &decision);
    for (int64_t done = 0; done < steps;) {
        cal_status status = cal_plan_run(ensemble->plan, ensemble->state, ops, context, false, sums);
        if (status == CAL_OK) status = ops->control(control, quiet, down, &decision);
        if (status != CAL_OK) return status;
        if (decision.accepted) done++;
    }
    memcpy(group_y(ensemble, group), own, bytes);
    return CAL_OK;
}

static int find_broken(const cal_ensemble* ensemble) {
    const cal_layout* layout = ensemble->plan->layout;
    const cal_model* model = ensemble->model;
    for (int instance = 0; instance < ensemble->count; instance++) {
        const size_t copy = (size_t)(instance % ensemble->lanes);
        const double* y = group_y(ensemble, instance / ensemble->lanes);
        for (int i = 0; i < model->q_count; i++)
            if (!isfinite(y[layout->q_position[copy * (size_t)model->q_count + (size_t)i]])) return instance;
        for (int i = 0; i < model->v_count; i++)
            if (!isfinite(y[layout->v_position[copy * (size_t)model->v_count + (size_t)i]])) return instance;
    }
    return -1;
}

cal_status cal_ensemble_step(cal_ensemble* ensemble, const char* solver, double step, int64_t steps, cal_error* error) {
    const cal_solver_ops* ops = solver ? cal_find_solver(solver) : NULL;
    if (!ops || !ops->fixed_step)
        return cal_fail(error, CAL_BAD_ARGUMENT, "an ensemble steps with rk4 or euler, not with '%s'",
                        solver ? solver : "(null)");
    if (!(step > 0.0) || !isfinite(step) || steps < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a step of %g s, %lld times: the step must be positive, the number not negative", step,
                        (long long)steps);
    const size_t y_size = ensemble->plan->layout->y_size,
                 needed = (size_t)ops->vector_count * y_size + ops->control_size / 8 + 1;
    if (ensemble->vectors_size < needed) {
        double* memory = cal_allocate(needed, sizeof(double));
        if (!memory) return cal_fail(error, CAL_NO_MEMORY, "no memory for the solver's vectors");
        cal_free(ensemble->vectors);
        ensemble->vectors = memory;
        ensemble->vectors_size = needed;
    }
    double *vectors[16] = {NULL}, down[CAL_MAX_DOWN] = {0};
    for (int i = 0; i < ops->vector_count; i++) vectors[i] = ensemble->vectors + (size_t)i * y_size;
    void* control = ensemble->vectors + (size_t)ops->vector_count * y_size;
    const cal_solver_settings settings = {.step = step,
                                          .horizon = step,
                                          .component_count =
                                              (ensemble->model->q_count + ensemble->model->v_count) * ensemble->lanes};
    // The solver's prepare writes to the state's own y, so that a group's is touched only when its steps are done.
    ensemble->state->context.y = ensemble->own_y;
    cal_solver_context context = {.layout = ensemble->plan->layout,
                                  .y = ensemble->own_y,
                                  .ydot = ensemble->state->context.ydot,
                                  .vectors = vectors,
                                  .down = down};
    memset(ensemble->state->context.tau, 0, ensemble->plan->layout->v_size * sizeof(double));
    for (int group = 0; group < ensemble->group_count; group++) {
        const cal_status status = step_group(ensemble, group, ops, control, &context, down, &settings, steps);
        if (status != CAL_OK)
            return cal_fail(error, status, "instances %d and on: %s", group * ensemble->lanes, cal_status_text(status));
    }
    const int broken = find_broken(ensemble);
    return broken < 0 ? CAL_OK : cal_fail(error, CAL_NOT_FINITE, "instance %d became infinite or not a number", broken);
}
