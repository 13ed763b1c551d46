// The functions of calder_run.h over a table, and the one place that says what a kind of run does not have.
#define _POSIX_C_SOURCE 200809L
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"

const char cal_run_undecided[] =
    "nothing moves at the start, where the constraints are singular: which way it goes from there is a matter "
    "of rounding; begin a thousandth of a radian beside it, or with a speed";

// --- What is absent ---------------------------------------------------------------------------------------------------------

static const char* const abilities[CAL_RUN_ABILITIES] = {
    [CAL_RUN_STATE] = "have one q and v for all of it",
    [CAL_RUN_SET] = "begin from another q and v",
    [CAL_RUN_ENERGY] = "tell its energy",
    [CAL_RUN_BALANCE] = "tell where its energy goes",
    [CAL_RUN_FORCES] = "tell what its joints carry",
    [CAL_RUN_EVENTS] = "list its collisions",
    [CAL_RUN_SAVE] = "be saved in a checkpoint, or continue from one",
    [CAL_RUN_CHANGE] = "change its settings while it runs",
    [CAL_RUN_RESET] = "start anew",
    [CAL_RUN_GRAB] = "be pulled by hand",
    [CAL_RUN_CONNECT] = "be connected or disconnected",
    [CAL_RUN_PROJECT] = "move its start onto constraints",
    [CAL_RUN_CHECK] = "check its accelerations against the equations of motion",
    [CAL_RUN_DESCRIBE] = "describe its bodies",
    [CAL_RUN_CONTACTS] = "tell where its bodies touch",
    [CAL_RUN_INSTANCES] = "show another instance: it has one",
    [CAL_RUN_DRIVE] = "be driven",
};

bool cal_run_can(const cal_run* run, cal_run_ability ability) {
    if (!run) return false;
    const cal_run_ops* ops = run->ops;
    switch (ability) {
    case CAL_RUN_STATE: return ops->q && ops->v;
    case CAL_RUN_SET: return ops->set;
    case CAL_RUN_ENERGY: return ops->energy;
    case CAL_RUN_BALANCE: return ops->balance;
    case CAL_RUN_FORCES: return ops->joint_forces;
    case CAL_RUN_EVENTS: return ops->next_event;
    case CAL_RUN_SAVE: return ops->save && ops->restore;
    case CAL_RUN_CHANGE: return ops->change;
    case CAL_RUN_RESET: return ops->reset;
    case CAL_RUN_GRAB: return ops->grab;
    case CAL_RUN_CONNECT: return ops->connect;
    case CAL_RUN_PROJECT: return run->can_project;
    case CAL_RUN_CHECK: return ops->check;
    case CAL_RUN_DESCRIBE: return ops->describe;
    case CAL_RUN_CONTACTS: return ops->contacts;
    case CAL_RUN_INSTANCES: return ops->show;
    case CAL_RUN_DRIVE: return ops->drive;
    case CAL_RUN_ABILITIES: break;
    }
    return false;
}

// What a run is asked for between its advances only.
static bool changes(cal_run_ability ability) {
    return ability == CAL_RUN_SET || ability == CAL_RUN_SAVE || ability == CAL_RUN_CHANGE || ability == CAL_RUN_RESET ||
           ability == CAL_RUN_GRAB || ability == CAL_RUN_CONNECT || ability == CAL_RUN_PROJECT ||
           ability == CAL_RUN_DRIVE;
}

static cal_status need(const cal_run* run, cal_run_ability ability, cal_error* error) {
    if (changes(ability)) {
        const cal_status still = cal_check_not_advancing(&run->advancing, "a run", error);
        if (still) return still;
    }
    if (cal_run_can(run, ability)) return CAL_OK;
    return cal_fail(error, CAL_NOT_AVAILABLE, "%s cannot %s", run->ops->kind, abilities[ability]);
}

// A status that came without a line gets one.
static cal_status explain(cal_status status, const char* what, cal_error* error) {
    return status ? cal_fail(error, status, "%s: %s", what, cal_status_text(status)) : CAL_OK;
}

const char* cal_run_kind(const cal_run* run) { return run ? run->ops->kind : NULL; }

void cal_run_destroy(cal_run* run) {
    if (run && run->advancing.now)
        run->advancing.doomed = true;
    else if (run)
        run->ops->destroy(run);
}

// --- Time -------------------------------------------------------------------------------------------------------------------

cal_status cal_run_begin(cal_run* run, bool project, char note[256], cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_begin: run must not be NULL");
    char unread[256];
    if (!note) note = unread;
    note[0] = '\0';
    cal_status status = project ? need(run, CAL_RUN_PROJECT, error) : CAL_OK;
    if (!status && run->ops->begin) status = run->ops->begin(run, project, note, 256, error);
    return status;
}

static double wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

cal_status cal_run_approach(cal_run* run, double time, bool* reached, cal_error* error) {
    if (!run || !reached)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_approach: run and reached must not be NULL");
    cal_status status = cal_check_not_advancing(&run->advancing, "cal_run_approach", error);
    if (status) return status;
    const double began = wall();
    *reached = false;
    run->advancing.now = true;
    status = run->ops->advance(run, time, reached, error);
    run->advancing.now = false;
    run->wall += wall() - began;
    if (!run->advancing.doomed) return status;
    cal_run_destroy(run);
    return cal_fail_destroyed(error);
}

cal_status cal_run_advance(cal_run* run, double time, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_advance: run must not be NULL");
    cal_status status = CAL_OK;
    for (bool reached = false; !reached && !status;) status = cal_run_approach(run, time, &reached, error);
    return status;
}

double cal_run_time(const cal_run* run) { return run ? run->ops->time(run) : 0.0; }
double cal_run_wall(const cal_run* run) { return run ? run->wall : 0.0; }
double cal_run_grain(const cal_run* run) { return run ? run->grain : 0.0; }
uint64_t cal_run_hash(cal_run* run) { return run ? run->ops->hash(run) : 0; }

// --- What there is to see -----------------------------------------------------------------------------------------------------

const cal_model* cal_run_model(const cal_run* run) { return run ? run->model : NULL; }
int cal_run_body_count(const cal_run* run) { return run ? run->body_count : 0; }

const char* cal_run_body_name(const cal_run* run, int body, char* text, size_t capacity) {
    if (!run || body < 0 || body >= run->body_count || !text || capacity == 0) return "";
    return run->ops->body_name(run, body, text, capacity);
}

cal_body_motion cal_run_body_motion(const cal_run* run, int body) {
    if (!run || body < 0 || body >= run->body_count) return CAL_FIXED;
    return run->ops->motion ? run->ops->motion(run, body) : CAL_MOVING;
}

void cal_run_up(const cal_run* run, double up[3]) {
    if (!run || !up) return;
    double gravity[3] = {0, 0, 0};
    if (run->model) cal_model_gravity(run->model, gravity);
    const double length = sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2]);
    for (int i = 0; i < 3; i++) up[i] = length > 0 ? -gravity[i] / length : i == 2;
}

bool cal_run_shapes(const cal_run* run, cal_shape_visitor* visit, void* user) {
    if (!run || !visit) return false;
    return run->ops->shapes(run, visit, user);
}

int cal_run_instances(const cal_run* run) { return !run ? 0 : run->ops->instances ? run->ops->instances(run) : 1; }

cal_status cal_run_show(cal_run* run, int instance, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_show: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_INSTANCES, error);
    if (status) return status;
    if (instance < 0 || instance >= cal_run_instances(run))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_show: there is no instance %d of %d", instance,
                        cal_run_instances(run));
    run->ops->show(run, instance);
    return CAL_OK;
}

cal_status cal_run_poses(cal_run* run, double* poses, cal_error* error) {
    if (!run || !poses) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_poses: run and poses must not be NULL");
    return explain(run->ops->poses(run, poses), "the poses of the bodies failed", error);
}

const double* cal_run_q(const cal_run* run) { return run && run->ops->q ? run->ops->q(run) : NULL; }
const double* cal_run_v(const cal_run* run) { return run && run->ops->v ? run->ops->v(run) : NULL; }

cal_status cal_run_energy(cal_run* run, double energy[2], cal_error* error) {
    if (!run || !energy) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_energy: run and energy must not be NULL");
    const cal_status status = need(run, CAL_RUN_ENERGY, error);
    return status ? status : explain(run->ops->energy(run, energy), "the energy failed", error);
}

cal_status cal_run_balance(cal_run* run, cal_energy_balance* out, cal_error* error) {
    if (!run || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_balance: run and out must not be NULL");
    const cal_status status = need(run, CAL_RUN_BALANCE, error);
    return status ? status : run->ops->balance(run, out, error);
}

void cal_run_read_balance(const cal_energy_balance* b, double* values) {
    const double all[CAL_BALANCE_CHANNELS] = {b->kinetic, b->potential, b->kinetic + b->potential,
                                              b->work,    b->loss,      b->exchanged > 0 ? fabs(b->relative) : NAN};
    memcpy(values, all, sizeof all);
}

cal_status cal_run_fail_balance(const cal_energy_balance* b, double time, double kept, cal_error* error) {
    if (!isfinite(b->error))
        return cal_fail(
            error, CAL_NOT_FINITE,
            "the energy is not finite at t = %g s; the state at t = %g s is kept: use a smaller tolerance or "
            "step, or check the forces",
            time, kept);
    return cal_fail(
        error, CAL_NOT_CONVERGED,
        "the energy explodes: at t = %g s it is off by %.3g J, with %.3g J exchanged; this is no motion of the "
        "model. The state at t = %g s is kept: use a smaller tolerance or step, or another solver",
        time, b->error, b->exchanged, kept);
}

cal_status cal_run_sensor(cal_run* run, int sensor, double* values, cal_error* error) {
    if (!run || !values) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_sensor: something is NULL");
    if (!run->ops->sensor) return cal_fail(error, CAL_NOT_AVAILABLE, "this kind of run has no sensors");
    return run->ops->sensor(run, sensor, values, error);
}

cal_status cal_run_joint_forces(cal_run* run, double* forces, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_joint_forces: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_FORCES, error);
    return status ? status : explain(run->ops->joint_forces(run, forces), "the forces in the joints failed", error);
}

const cal_channel* cal_run_channels(const cal_run* run, int* count) {
    if (!run || !count) return NULL;
    *count = run->channel_count + run->own_count;
    return run->own_count > 0 ? run->all : run->channels;
}

cal_status cal_run_add_channel(cal_run* run, const cal_channel* channel, cal_channel_function* read, void* user,
                               cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_add_channel: run must not be NULL");
    const int count = run->channel_count + run->own_count;
    if (!channel || !read || !channel->name || !channel->unit || !channel->plot)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a channel needs a name, a unit, a plot and a function");
    if (count >= CAL_RUN_CHANNELS)
        return cal_fail(error, CAL_BAD_ARGUMENT, "channel '%s' is one too many: a run has %d at most", channel->name,
                        CAL_RUN_CHANNELS);
    if (run->own_count == 0) memcpy(run->all, run->channels, (size_t)run->channel_count * sizeof *run->all);
    run->all[count] = *channel;
    run->own[run->own_count].read = read;
    run->own[run->own_count].user = user;
    run->own_count++;
    return CAL_OK;
}

cal_status cal_run_read(cal_run* run, double values[CAL_RUN_CHANNELS], cal_error* error) {
    if (!run || !values) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_read: run and values must not be NULL");
    const cal_status status = explain(run->ops->read(run, values), "the channels failed", error);
    for (int i = 0; !status && i < run->own_count; i++)
        values[run->channel_count + i] = run->own[i].read(run->own[i].user, run);
    return status;
}

cal_status cal_run_contacts(cal_run* run, cal_contact_point* out, int capacity, int* count, cal_error* error) {
    if (!run || !count) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_contacts: run and count must not be NULL");
    *count = 0;
    const cal_status status = need(run, CAL_RUN_CONTACTS, error);
    return status ? status : run->ops->contacts(run, out, capacity, count, error);
}

// What a function writes to a file, as snprintf would.
static size_t collect(FILE* file, char** made, size_t* size, char* text, size_t capacity) {
    if (fclose(file) != 0) *size = 0;
    if (text && capacity > 0) {
        const size_t length = *size < capacity ? *size : capacity - 1;
        if (length > 0) memcpy(text, *made, length);
        text[length] = '\0';
    }
    free(*made);
    return *size;
}

size_t cal_run_describe(cal_run* run, int body, char* text, size_t capacity) {
    if (!run) return 0;
    char* made = NULL;
    size_t size = 0;
    FILE* file = open_memstream(&made, &size);
    if (!file) return 0;
    if (run->ops->describe && body >= 0 && body < run->body_count) run->ops->describe(run, body, file);
    return collect(file, &made, &size, text, capacity);
}

size_t cal_run_advise(const cal_run* run, double pace, char* text, size_t capacity) {
    if (!run) return 0;
    char* made = NULL;
    size_t size = 0;
    FILE* file = open_memstream(&made, &size);
    if (!file) return 0;
    if (run->ops->advise)
        run->ops->advise(run, pace, file);
    else
        fprintf(file, "%s of this size is more than this machine does at that speed", run->ops->kind);
    return collect(file, &made, &size, text, capacity);
}

cal_status cal_run_keep_events(cal_run* run, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_keep_events: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_EVENTS, error);
    if (!status) run->ops->keep_events(run);
    return status;
}

bool cal_run_next_event(cal_run* run, cal_run_event* out) {
    if (!run) return false;
    return run->ops->next_event && run->ops->next_event(run, out);
}

// --- Changing it ----------------------------------------------------------------------------------------------------------------

cal_status cal_run_set(cal_run* run, double time, const double* q, const double* v, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_set: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_SET, error);
    return status ? status : run->ops->set(run, time, q, v, error);
}

bool cal_run_keep(double** kept, const double* numbers, int count) {
    if (!numbers) return true;
    if (!*kept) *kept = cal_allocate((size_t)count + 1, sizeof **kept);
    if (*kept && count > 0) memcpy(*kept, numbers, (size_t)count * sizeof **kept);
    return *kept;
}

cal_status cal_run_drive(cal_run* run, const double* tau, const double* control, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_drive: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_DRIVE, error);
    return status ? status : run->ops->drive(run, tau, control, error);
}

cal_status cal_run_connect(cal_run* run, int constraint, cal_connection how, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_connect: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_CONNECT, error);
    return status ? status : run->ops->connect(run, constraint, how, error);
}

cal_status cal_run_disconnect(cal_run* run, int constraint, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_disconnect: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_CONNECT, error);
    return status ? status : run->ops->disconnect(run, constraint, error);
}

cal_status cal_run_catch(cal_run* run, int constraint, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_catch: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_CONNECT, error);
    return status ? status : run->ops->wait(run, constraint, error);
}

cal_status cal_run_project_holding(cal_run* run, const bool* held, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_project_holding: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_CONNECT, error);
    return status ? status : run->ops->hold(run, held, error);
}

cal_status cal_run_save(cal_run* run, const char* path, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_save: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_SAVE, error);
    return status ? status : run->ops->save(run, path, error);
}

cal_status cal_run_restore(cal_run* run, const char* path, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_restore: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_SAVE, error);
    return status ? status : run->ops->restore(run, path, error);
}

cal_status cal_run_reset(cal_run* run, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_reset: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_RESET, error);
    return status ? status : run->ops->reset(run, error);
}

cal_status cal_run_check(cal_run* run, double* residual, int* body, cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_check: run must not be NULL");
    cal_status status = need(run, CAL_RUN_CHECK, error);
    if (!status) status = explain(run->ops->check(run, residual, body), "the check of accelerations failed", error);
    return status;
}

void cal_run_get_settings(const cal_run* run, cal_run_settings* out) {
    if (!run || !out) return;
    *out = (cal_run_settings){.tolerance = 0};
    if (run->ops->settings) run->ops->settings(run, out);
}

cal_status cal_run_change(cal_run* run, const cal_run_settings* settings, cal_error* error) {
    if (!run || !settings)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_change: run and settings must not be NULL");
    const cal_status status = need(run, CAL_RUN_CHANGE, error);
    return status ? status : run->ops->change(run, settings, error);
}

cal_status cal_run_grab(cal_run* run, int body, const double point[3], cal_error* error) {
    if (!run) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_grab: run must not be NULL");
    const cal_status status = need(run, CAL_RUN_GRAB, error);
    return status ? status : run->ops->grab(run, body, point, error);
}

void cal_run_drag(cal_run* run, const double target[3]) {
    if (!run) return;
    if (run->ops->drag) run->ops->drag(run, target);
}

void cal_run_drop(cal_run* run) {
    if (!run) return;
    if (run->ops->drop) run->ops->drop(run);
}

void cal_run_get_pull(const cal_run* run, cal_run_pull* out) {
    if (!run || !out) return;
    *out = (cal_run_pull){.body = CAL_NONE};
    if (run->ops->pull) run->ops->pull(run, out);
}

void cal_run_report(cal_run* run, cal_facts* report) {
    if (!run || !report) return;
    run->ops->report(run, report);
}

// --- What several kinds share ---------------------------------------------------------------------------------------------------

double cal_rate_follow(cal_rate* rate, double time, int64_t count) {
    const double passed = time - rate->time;
    // A simulation that was made anew counts from zero.
    const int64_t before = count < rate->count ? 0 : rate->count;
    if (passed > 0) rate->value += fmin(1, 4 * passed) * ((double)(count - before) / passed - rate->value);
    if (passed != 0) {
        rate->time = time;
        rate->count = count;
    }
    return rate->value;
}

const char* cal_run_model_body_name(const cal_run* run, int body, char* text, size_t capacity) {
    return cal_model_body_name(run->model, body, text, capacity);
}

bool cal_run_model_shapes(const cal_run* run, cal_shape_visitor* visit, void* user) {
    for (int i = 0; i < cal_model_shape_count(run->model); i++) {
        cal_shape_def shape;
        cal_mesh_def mesh;
        cal_model_shape(run->model, i, &shape);
        const bool meshed = shape.kind == CAL_MESH || shape.kind == CAL_HEIGHT_FIELD;
        if (meshed) cal_model_mesh(run->model, shape.mesh, &mesh);
        if (!visit(user, &shape, meshed ? &mesh : NULL)) return false;
    }
    return true;
}
