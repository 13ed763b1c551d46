// Many simulations of one model: what the user sees of them (ensemble.h).
#include "ensemble/ensemble.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "constraint/constraint_parts.h"
#include "model/activation.h"
#include "model/coordinates.h"
#include "model/resting.h"
#include "plan/plan.h"
#include <math.h>
#include <string.h>

static const uint32_t COOKIE = 0x454e5331;
enum { LINE = 8 }; // doubles
// Of an advance that may be interrupted: joints × evaluations of a stretch, of which a core does some 30 million per second one by one
// (run/run_sim.c) and more in lanes, so that it takes a third of a second at most; and how long the first one is, s: what that takes is not known
// before, but an instance that gets on takes no more than CAL_HEADWAY_EVALUATIONS for it.
static const double JOINTS_PER_STRETCH = 1e7, FIRST_STRETCH = CAL_LEAST_HEADWAY;

cal_ensemble_def cal_default_ensemble_def(void) {
    return (cal_ensemble_def){.count = 1, .sim = cal_default_sim_def(), .cookie = COOKIE};
}

// --- Making one --------------------------------------------------------------------------------------------------------

// Where the instances of this process live; NULL: here.
static cal_machine* device_of(cal_machine* machine) {
    return !machine ? NULL : machine->device ? machine : machine->nested;
}

// Lanes are for what all instances of a group do alike: fixed steps of one algorithm, without anything that is solved, asked or
// counted for one instance alone; on a device, where a lane is a thread, steps of their own too. Simulations that let shapes touch are
// not among those. What is in the way; NULL: nothing.
static const char* find_obstacle(const cal_model* model, const cal_ensemble_def* ensemble) {
    const cal_sim_def* def = &ensemble->sim;
    const cal_solver_ops* solver = cal_find_solver(def->solver);
    const cal_machine* device = device_of(ensemble->machine);
    if (model->constraint_count > 0 && !device) return "constraints";
    if (model->constraint_count > 0) {
        if (def->constraint_form && strcmp(def->constraint_form, "minimal") == 0) return "constraints in minimal form";
        const char* obstacle = cal_constraints_find_obstacle(model);
        if (obstacle) return obstacle;
    }
    // With events, every instance has its own.
    if (def->contact && cal_model_can_touch(model)) return "contact (--disable contact leaves it out)";
    if (cal_model_rests(model, CAL_REST_ALL))
        return "rigid stops and dry friction that sticks (--disable stiction makes both smooth)";
    if (cal_model_has_activations(model)) return "activations";
    if (def->force) return "force callbacks";
    if (def->evaluation_limit != 0) return "a limit of evaluations";
    if (def->slow_band > 1 || cal_find_program(def->algorithm) != &cal_program_aba) return "another algorithm than aba";
    if (def->machine) return "a machine for each instance";
    const bool alike = cal_lockstep_takes(solver) || (device && device->ops->batch->steers(solver));
    return alike ? NULL : "the solvers implicit and bdf";
}

static const cal_ensemble_ops* choose_ops(const cal_model* model, const cal_ensemble_def* ensemble) {
    if (find_obstacle(model, ensemble)) return &cal_ensemble_separate;
    if (!device_of(ensemble->machine)) return &cal_ensemble_lockstep;
    return model->constraint_count > 0 ? &cal_ensemble_held : &cal_ensemble_resident;
}

static cal_status check(const cal_model* model, const cal_ensemble_def* def, cal_error* error) {
    if (def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the definition must come from cal_default_ensemble_def()");
    if (def->count < 1)
        return cal_fail(error, CAL_BAD_ARGUMENT, "an ensemble needs at least one instance, not %d", def->count);
    if (!(def->spread >= 0.0 && isfinite(def->spread)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "spread must be a finite number of at least 0, not %g", def->spread);
    if (def->machine && def->sim.machine)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "the processors of an ensemble's machine run an instance each, or those of sim.machine share "
                        "each instance: not both");
    if (def->machine && def->machine->keep != CAL_KEEP_ALL && def->machine->processors > CAL_ENSEMBLE_PROCESSES)
        return cal_fail(error, CAL_NOT_AVAILABLE, "an ensemble runs on at most %d ranks, not %d",
                        CAL_ENSEMBLE_PROCESSES, def->machine->processors);
    // A simulation by itself knows what is wrong with its definition, and says so.
    cal_sim* sim = NULL;
    const cal_status status = cal_sim_create(model, &def->sim, &sim, error);
    cal_sim_destroy(sim);
    if (status) return status;
    const char* obstacle = device_of(def->machine) ? find_obstacle(model, def) : NULL;
    if (obstacle)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "machine %s does not advance ensembles with %s; machine threads does, instance by instance",
                        cal_machine_name(device_of(def->machine)), obstacle);
    return CAL_OK;
}

void cal_ensemble_show(cal_ensemble* ensemble, int instance, const double* q, const double* v) {
    const cal_model* model = ensemble->model;
    double* own = cal_ensemble_q(ensemble, instance);
    if (v) memcpy(cal_ensemble_v(ensemble, instance), v, (size_t)model->v_count * sizeof *v);
    if (!q) return;
    memcpy(own, q, (size_t)model->q_count * sizeof *q);
    cal_model_normalize(model, own);
}

// Sets an instance where it is, and everywhere what is known of it.
static cal_status start(cal_ensemble* ensemble, int instance, const double* q, const double* v, bool projects,
                        cal_error* error) {
    if (instance >= ensemble->first && instance < ensemble->end)
        return ensemble->ops->start(ensemble, instance, q, v, projects, error);
    cal_ensemble_show(ensemble, instance, q, v);
    return CAL_OK;
}

// Noise on an instance's start from random numbers of its own, so that it starts alike in ensembles of any size and on any machine:
// uniform, within ± spread of each number; quaternions are then brought to unit length.
static void scatter(cal_ensemble* ensemble, int instance, double* q, double* v) {
    const cal_model* model = ensemble->model;
    const double spread = ensemble->def.spread;
    cal_random random = {ensemble->def.seed + ((uint64_t)instance << 32)};
    cal_error error = {CAL_OK, ""};
    cal_model_initial(model, q, v, NULL);
    for (int i = 0; i < model->q_count; i++) q[i] += spread * cal_random_between(&random, -1.0, 1.0);
    for (int i = 0; i < model->v_count; i++) v[i] += spread * cal_random_between(&random, -1.0, 1.0);
    cal_status status = CAL_OK;
    if (cal_model_find_bad_quaternion(model, q))
        status = cal_fail(&error, CAL_BAD_ARGUMENT, "the noise leaves a quaternion without length");
    else
        status = start(ensemble, instance, q, v, true, &error);
    if (status) cal_ensemble_fail(ensemble, instance, status, error.text);
}

static cal_status place(cal_ensemble* ensemble) {
    const cal_model* model = ensemble->model;
    double* q = cal_allocate((size_t)model->q_count + (size_t)model->v_count, sizeof *q);
    if (!q) return CAL_NO_MEMORY;
    double* v = q + model->q_count;
    ensemble->any_failed = ensemble->def.spread > 0.0; // perhaps
    cal_model_initial(model, q, v, NULL);
    for (int i = 0; i < ensemble->count; i++) {
        memcpy(cal_ensemble_q(ensemble, i), q, (size_t)model->q_count * sizeof *q);
        memcpy(cal_ensemble_v(ensemble, i), v, (size_t)model->v_count * sizeof *v);
    }
    for (int i = 0; ensemble->def.spread > 0.0 && i < ensemble->count; i++) scatter(ensemble, i, q, v);
    cal_free(q);
    return CAL_OK;
}

// What decides how an instance goes on, but for the model; the definition's texts may go after this.
static uint64_t hash_settings(const cal_sim_def* def) {
    const char* const texts[] = {def->solver, def->algorithm, def->schedule, def->stabilize, def->constraint_form};
    const double numbers[] = {def->relative,  def->absolute > 0.0 ? def->absolute : def->relative,
                              def->step,      def->largest_step,
                              def->gain,      def->largest_order,
                              def->slow_band, def->historic,
                              def->contact};
    uint64_t hash = CAL_HASH_START;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        hash = cal_hash_bytes(hash, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) + 1 : 1);
    return cal_hash_doubles(hash, numbers, sizeof numbers / sizeof numbers[0]);
}

// This process' part.
static cal_status fill(cal_ensemble* ensemble, cal_error* error) {
    const cal_model* model = ensemble->model;
    const cal_machine* machine = ensemble->machine;
    const bool shared = machine && !ensemble->device;
    const int lanes = ensemble->def.lanes == 0 && shared ? machine->lanes : ensemble->def.lanes;
    ensemble->ops = choose_ops(model, &ensemble->def);
    ensemble->solver = cal_find_solver(ensemble->def.sim.solver);
    ensemble->settings = hash_settings(&ensemble->def.sim);
    cal_ensemble_divide(ensemble);
    cal_status status = cal_machine_serial(lanes, &ensemble->engine, error);
    if (status) return status;
    ensemble->accounts = ensemble->def.account && !ensemble->device;
    const size_t numbers = CAL_ROW_HEAD + (size_t)model->q_count + (size_t)model->v_count +
                           (ensemble->accounts ? (size_t)CAL_ROW_BALANCE : 0);
    ensemble->row_size = (numbers + LINE - 1) / LINE * LINE;
    ensemble->rows = cal_allocate((size_t)ensemble->count, ensemble->row_size * sizeof(double));
    ensemble->texts = cal_allocate((size_t)ensemble->count, sizeof *ensemble->texts);
    status = ensemble->rows && ensemble->texts ? cal_ensemble_create_messages(ensemble) : CAL_NO_MEMORY;
    if (!status) status = ensemble->ops->create(ensemble, error);
    if (!status) status = place(ensemble);
    if (status == CAL_NO_MEMORY)
        return cal_fail(error, status, "no memory for %d instances of %d bodies", ensemble->count, model->body_count);
    return status;
}

cal_status cal_ensemble_create_def(const cal_model* model, const cal_ensemble_def* def, cal_ensemble** out,
                                   cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_create_def: out must not be NULL");
    *out = NULL;
    if (!model || !def)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_create_def: model and def must not be NULL");
    cal_machine* machine = def->machine;
    cal_ensemble blank = {.model = model,
                          .def = *def,
                          .machine = machine,
                          .device = device_of(machine),
                          .count = def->count,
                          .queried = CAL_NONE,
                          .ops = &cal_ensemble_separate};
    cal_status status = machine && machine->ops->agree ? machine->ops->agree(machine, model, error) : CAL_OK;
    if (status) return status;
    status = check(model, def, error);
    cal_ensemble* ensemble = cal_allocate(1, sizeof *ensemble);
    if (!status && !ensemble) status = cal_fail(error, CAL_NO_MEMORY, "no memory for an ensemble");
    if (ensemble) *ensemble = blank;
    if (!status) status = fill(ensemble, error);
    // What one rank cannot do none does.
    const cal_status all = cal_ensemble_agree(&blank, status);
    if (!status && all) cal_explain(error, all, "another rank could not make its part of the ensemble");
    status = all ? all : cal_ensemble_collect_rows(ensemble);
    if (status) {
        cal_ensemble_destroy(ensemble);
        return status;
    }
    *out = ensemble;
    return CAL_OK;
}

cal_status cal_ensemble_create(const cal_model* model, int count, int lanes, cal_ensemble** out, cal_error* error) {
    cal_ensemble_def def = cal_default_ensemble_def();
    def.count = count;
    def.lanes = lanes;
    def.sim.solver = "rk4";
    def.sim.contact = false;
    return cal_ensemble_create_def(model, &def, out, error);
}

void cal_ensemble_destroy(cal_ensemble* ensemble) {
    if (!ensemble) return;
    if (ensemble->advancing.now) {
        ensemble->advancing.doomed = true;
        return;
    }
    ensemble->ops->destroy(ensemble);
    for (int i = 0; ensemble->texts && i < ensemble->count; i++) cal_free(ensemble->texts[i]);
    cal_state_destroy(ensemble->query_state);
    cal_plan_destroy(ensemble->query_plan);
    cal_machine_destroy(ensemble->query_machine);
    cal_machine_destroy(ensemble->engine);
    cal_free(ensemble->messages);
    cal_free(ensemble->texts);
    cal_free(ensemble->rows);
    cal_free(ensemble);
}

// --- Instances ---------------------------------------------------------------------------------------------------------

static bool is_instance(const cal_ensemble* ensemble, int instance) {
    return ensemble && instance >= 0 && instance < ensemble->count;
}

// The rows, with what forward dynamics has kept.
static void catch_up(cal_ensemble* ensemble) {
    if (ensemble->behind) ensemble->ops->show_kept(ensemble);
    ensemble->behind = false;
}

static bool all_finite(const double* values, int count) {
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

void cal_ensemble_fail(cal_ensemble* ensemble, int instance, cal_status status, const char* text) {
    double* row = cal_ensemble_row(ensemble, instance);
    row[CAL_ROW_STATUS] = (double)status;
    row[CAL_ROW_TOLD] = 0.0;
    cal_free(ensemble->texts[instance]);
    ensemble->texts[instance] = cal_copy_text(text);
}

void cal_ensemble_revive(cal_ensemble* ensemble, int instance) {
    double* row = cal_ensemble_row(ensemble, instance);
    row[CAL_ROW_STATUS] = (double)CAL_OK;
    row[CAL_ROW_TIME] = ensemble->time;
    cal_free(ensemble->texts[instance]);
    ensemble->texts[instance] = NULL;
}

cal_status cal_ensemble_start(cal_ensemble* ensemble, int instance, const double* q, const double* v, bool projects,
                              cal_error* error) {
    if (!is_instance(ensemble, instance)) return CAL_BAD_ARGUMENT;
    const cal_status still = cal_check_not_advancing(&ensemble->advancing, "cal_ensemble_set", error);
    if (still) return still;
    const cal_model* model = ensemble->model;
    if (q && (!all_finite(q, model->q_count) || cal_model_find_bad_quaternion(model, q))) return CAL_BAD_ARGUMENT;
    if (v && !all_finite(v, model->v_count)) return CAL_BAD_ARGUMENT;
    catch_up(ensemble);
    const cal_status status = start(ensemble, instance, q, v, projects, error);
    if (status) return status;
    cal_ensemble_revive(ensemble, instance);
    ensemble->queried = CAL_NONE;
    return CAL_OK;
}

cal_status cal_ensemble_find_undecided(cal_ensemble* ensemble, int* count, int* first) {
    *count = 0, *first = CAL_NONE;
    if (!ensemble->ops->is_undecided || ensemble->model->constraint_count == 0) return CAL_OK;
    double* undecided = cal_allocate((size_t)ensemble->count, sizeof *undecided);
    cal_status status = cal_ensemble_agree(ensemble, undecided ? CAL_OK : CAL_NO_MEMORY);
    if (!undecided || status) {
        cal_free(undecided);
        return status;
    }
    for (int i = ensemble->first; i < ensemble->end; i++)
        undecided[i] = ensemble->ops->is_undecided(ensemble, i) ? 1.0 : 0.0;
    status = cal_ensemble_collect(ensemble, undecided, 1);
    for (int i = ensemble->count - 1; !status && i >= 0; i--)
        if (undecided[i] > 0.0) *first = i, ++*count;
    cal_free(undecided);
    return status;
}

cal_status cal_ensemble_set(cal_ensemble* ensemble, int instance, const double* q, const double* v) {
    return cal_ensemble_start(ensemble, instance, q, v, false, NULL);
}

cal_status cal_ensemble_get(const cal_ensemble* ensemble, int instance, double* q, double* v) {
    if (!is_instance(ensemble, instance)) return CAL_BAD_ARGUMENT;
    const cal_model* model = ensemble->model;
    catch_up((cal_ensemble*)ensemble);
    if (q) memcpy(q, cal_ensemble_q(ensemble, instance), (size_t)model->q_count * sizeof *q);
    if (v) memcpy(v, cal_ensemble_v(ensemble, instance), (size_t)model->v_count * sizeof *v);
    return CAL_OK;
}

cal_status cal_ensemble_drive(cal_ensemble* ensemble, int instance, const double* tau, const double* control,
                              cal_error* error) {
    if (!is_instance(ensemble, instance))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_drive: there is no instance %d", instance);
    const cal_status still = cal_check_not_advancing(&ensemble->advancing, "cal_ensemble_drive", error);
    if (still) return still;
    const cal_model* model = ensemble->model;
    if (tau && !all_finite(tau, model->v_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_drive: joint forces must be finite numbers");
    if (control && !all_finite(control, model->actuator_count))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_drive: controls must be finite numbers");
    if (instance < ensemble->first || instance >= ensemble->end) return CAL_OK; // another process'
    return ensemble->ops->drive(ensemble, instance, tau, control, error);
}

cal_status cal_ensemble_status(const cal_ensemble* ensemble, int instance, cal_error* error) {
    if (!is_instance(ensemble, instance))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_status: there is no instance %d", instance);
    const cal_status status = (cal_status)(int)cal_ensemble_row(ensemble, instance)[CAL_ROW_STATUS];
    const char* text = ensemble->texts[instance];
    if (!status)
        cal_explain(error, CAL_OK, "%s", "");
    else
        cal_explain(error, status, "instance %d: %.200s", instance, text ? text : cal_status_text(status));
    return status;
}

// --- Advancing ---------------------------------------------------------------------------------------------------------

// The first instance that has failed, with its line.
static cal_status report_failure(cal_ensemble* ensemble, cal_error* error) {
    for (int i = 0; i < ensemble->count; i++) {
        if (!cal_ensemble_has_failed(ensemble, i)) continue;
        ensemble->any_failed = true;
        return cal_ensemble_status(ensemble, i, error);
    }
    ensemble->any_failed = false;
    return CAL_OK;
}

static cal_status run(cal_ensemble* ensemble, const cal_ensemble_job* job, cal_error* error) {
    catch_up(ensemble);
    cal_status status = cal_ensemble_run(ensemble, job);
    if (!status) status = cal_ensemble_collect_rows(ensemble);
    ensemble->queried = CAL_NONE;
    if (status)
        return cal_fail(error, status, "the ensemble could not be advanced to t = %g s: %s", job->time,
                        cal_status_text(status));
    ensemble->time = job->time;
    return report_failure(ensemble, error);
}

static cal_status run_to(cal_ensemble* ensemble, double time, cal_error* error) {
    const cal_ensemble_job job = {.time = time, .steps = -1, .ops = ensemble->solver, .step = ensemble->def.sim.step};
    return run(ensemble, &job, error);
}

static double count_evaluations(const cal_ensemble* ensemble) {
    double count = 0.0;
    for (int i = ensemble->first; i < ensemble->end; i++) count += cal_ensemble_row(ensemble, i)[CAL_ROW_EVALUATIONS];
    return count;
}

// Instances go on by a stretch each, so that all are at one time when somebody is asked whether they shall end. A stretch is found from counts of
// evaluations and no clock: an instance that fails keeps its state before the stretch, and that shall not depend on how busy a core is.
static cal_status run_interruptibly(cal_ensemble* ensemble, double time, cal_error* error) {
    const cal_sim_def* def = &ensemble->def.sim;
    const cal_machine* machine = ensemble->machine ? ensemble->machine : def->machine;
    if (!def->interrupt || ensemble->device || (machine && machine->keep != CAL_KEEP_ALL))
        return run_to(ensemble, time, error);
    const double joints = fmax(1.0, ensemble->model->joint_count), worth = JOINTS_PER_STRETCH / joints;
    cal_status status = CAL_OK;
    while (ensemble->time < time) {
        const double from = ensemble->time, before = count_evaluations(ensemble);
        double to = from + (ensemble->stretch > 0.0 ? ensemble->stretch : FIRST_STRETCH);
        if (!(to > from)) to = nextafter(from, time);
        to = fmin(to, time);
        status = run_to(ensemble, to, error);
        if (ensemble->time < to) return status; // not an instance, but the ensemble has failed
        const double taken = count_evaluations(ensemble) - before;
        // What came to less than it could is no measure.
        if (to < time || taken > worth) ensemble->stretch = (to - from) * fmin(worth / fmax(taken, 1.0), 2.0);
        if (to < time && def->interrupt(def->interrupt_user))
            return cal_fail(error, CAL_INTERRUPTED, "interrupted at t = %g s, on the way to t = %g s", to, time);
    }
    return status;
}

cal_status cal_ensemble_advance(cal_ensemble* ensemble, double time, cal_error* error) {
    if (!ensemble) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_advance: ensemble must not be NULL");
    const cal_status still = cal_check_not_advancing(&ensemble->advancing, "cal_ensemble_advance", error);
    if (still) return still;
    if (!isfinite(time))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot advance to t = %g s: not a finite time", time);
    if (time < ensemble->time)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cannot advance back to t = %g s from t = %g s", time, ensemble->time);
    if (time == ensemble->time) return report_failure(ensemble, error);
    const double step = ensemble->def.sim.step;
    const cal_status countable = cal_solver_check_steps(ensemble->solver, step, ensemble->time, time, error);
    if (countable) return countable;
    ensemble->advancing.now = true;
    const cal_status status = run_interruptibly(ensemble, time, error);
    ensemble->advancing.now = false;
    if (!ensemble->advancing.doomed) return status;
    cal_ensemble_destroy(ensemble);
    return cal_fail_destroyed(error);
}

cal_status cal_ensemble_step(cal_ensemble* ensemble, const char* solver, double step, int64_t steps, cal_error* error) {
    const cal_solver_ops* ops = solver ? cal_find_solver(solver) : NULL;
    if (!ensemble) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_step: ensemble must not be NULL");
    const cal_status still = cal_check_not_advancing(&ensemble->advancing, "cal_ensemble_step", error);
    if (still) return still;
    if (!cal_lockstep_takes(ops))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_ensemble_step takes steps of rk4 or euler, not of '%s'",
                        solver ? solver : "(null)");
    if (!(step > 0.0) || !isfinite(step) || steps < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a step of %g s, %lld times: the step must be positive, the number not negative", step,
                        (long long)steps);
    if (!ensemble->ops->takes_steps)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "instances with constraints, a force callback or another solver than rk4 and euler are "
                        "not in lanes: use cal_ensemble_advance");
    if (steps == 0) return report_failure(ensemble, error);
    const cal_ensemble_job job = {
        .time = ensemble->time + (double)steps * step, .steps = steps, .ops = ops, .step = step};
    return run(ensemble, &job, error);
}

cal_status cal_ensemble_forward(cal_ensemble* ensemble, const double* q, const double* v, const double* tau,
                                double* qdd) {
    if (!ensemble || !q || !v || !qdd || ensemble->advancing.now) return CAL_BAD_ARGUMENT;
    if (!ensemble->ops->takes_steps) return CAL_NOT_AVAILABLE;
    const size_t q_count = (size_t)ensemble->model->q_count, v_count = (size_t)ensemble->model->v_count;
    const cal_ensemble_job job = {.time = ensemble->time, .q = q, .v = v, .tau = tau, .qdd = qdd};
    for (int i = 0; ensemble->any_failed && i < ensemble->count; i++) cal_ensemble_revive(ensemble, i);
    ensemble->any_failed = false;
    for (int i = 0; i < ensemble->count; i++) {
        if (i == ensemble->first) i = ensemble->end; // its own share is kept where it is evaluated
        if (i >= ensemble->count) break;
        memcpy(cal_ensemble_q(ensemble, i), q + (size_t)i * q_count, q_count * sizeof *q);
        memcpy(cal_ensemble_v(ensemble, i), v + (size_t)i * v_count, v_count * sizeof *v);
    }
    ensemble->behind = true;
    ensemble->queried = CAL_NONE;
    const cal_status status = cal_ensemble_run(ensemble, &job);
    return status ? status : cal_ensemble_collect(ensemble, qdd, v_count);
}

// --- Looking at it -----------------------------------------------------------------------------------------------------

int cal_ensemble_lanes(const cal_ensemble* ensemble) {
    if (!ensemble) return 0;
    if (ensemble->device) return ensemble->device->lanes;
    return ensemble->ops->takes_steps ? ensemble->engine->lanes : 1;
}
int cal_ensemble_count(const cal_ensemble* ensemble) { return ensemble ? ensemble->count : 0; }
double cal_ensemble_time(const cal_ensemble* ensemble) { return ensemble ? ensemble->time : 0.0; }

// Poses and energy of an instance, by one plan and state for all of them.
static cal_status query(cal_ensemble* ensemble, int instance) {
    if (!is_instance(ensemble, instance)) return CAL_BAD_ARGUMENT;
    if (ensemble->queried == instance) return CAL_OK;
    catch_up(ensemble);
    cal_status status = CAL_OK;
    if (!ensemble->query_machine) status = cal_machine_serial(1, &ensemble->query_machine, NULL);
    if (!status && !ensemble->query_plan)
        status = cal_plan_create(ensemble->model, "energy", ensemble->query_machine, &ensemble->query_plan, NULL);
    if (!status && !ensemble->query_state) status = cal_state_create(ensemble->query_plan, &ensemble->query_state);
    if (status) return status;
    cal_layout_scatter(ensemble->query_plan->layout, 0, cal_ensemble_q(ensemble, instance),
                       cal_ensemble_v(ensemble, instance), ensemble->query_state->context.y);
    status = cal_plan_execute(ensemble->query_plan, ensemble->query_state, NULL);
    ensemble->queried = status ? CAL_NONE : instance;
    return status;
}

cal_status cal_ensemble_energy(cal_ensemble* ensemble, int instance, double* kinetic, double* potential) {
    double energy[2];
    if (!kinetic || !potential) return CAL_BAD_ARGUMENT;
    cal_status status = query(ensemble, instance);
    if (!status) status = cal_state_get(ensemble->query_state, CAL_ENERGY, energy);
    if (status) return status;
    *kinetic = energy[0];
    *potential = energy[1];
    return CAL_OK;
}

void cal_ensemble_show_balance(const cal_ensemble* ensemble, int instance, const cal_energy_balance* balance) {
    memcpy(cal_ensemble_balance_row(ensemble, instance), balance, sizeof *balance);
}

cal_status cal_ensemble_balance(cal_ensemble* ensemble, int instance, cal_energy_balance* out) {
    if (!is_instance(ensemble, instance) || !out) return CAL_BAD_ARGUMENT;
    if (!ensemble->accounts) return CAL_NOT_AVAILABLE;
    memcpy(out, cal_ensemble_balance_row(ensemble, instance), sizeof *out);
    return CAL_OK;
}

cal_status cal_ensemble_poses(cal_ensemble* ensemble, int instance, double* poses) {
    if (!poses) return CAL_BAD_ARGUMENT;
    const cal_status status = query(ensemble, instance);
    return status ? status : cal_state_get(ensemble->query_state, CAL_POSE, poses);
}

uint64_t cal_ensemble_hash(const cal_ensemble* ensemble) {
    if (!ensemble) return 0;
    const cal_model* model = ensemble->model;
    uint64_t hash = 0;
    catch_up((cal_ensemble*)ensemble);
    for (int i = 0; i < ensemble->count; i++)
        hash = hash * UINT64_C(0x9e3779b97f4a7c15) + cal_hash_motion(cal_ensemble_row(ensemble, i)[CAL_ROW_TIME],
                                                                     cal_ensemble_q(ensemble, i), model->q_count,
                                                                     cal_ensemble_v(ensemble, i), model->v_count);
    return hash;
}

void cal_ensemble_get_report(const cal_ensemble* ensemble, cal_ensemble_report* out) {
    if (!ensemble || !out) return;
    *out = (cal_ensemble_report){.time = ensemble->time};
    for (int i = 0; i < ensemble->count; i++) {
        const double* row = cal_ensemble_row(ensemble, i);
        out->steps += (int64_t)row[CAL_ROW_STEPS];
        out->rejected += (int64_t)row[CAL_ROW_REJECTED];
        out->evaluations += (int64_t)row[CAL_ROW_EVALUATIONS];
        out->jacobian_evaluations += (int64_t)row[CAL_ROW_JACOBIAN];
        out->failed += row[CAL_ROW_STATUS] != (double)CAL_OK;
    }
}
