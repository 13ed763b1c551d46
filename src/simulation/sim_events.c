// Simulations with events: a model in a world, seen as the model.
//
// Another state, or another time, is a world that begins anew there (cal_events_set); forces, controls and connections that the
// user set go along.
#include "simulation/sim_events.h"
#include "simulation/contact/group.h"
#include "base/error.h"
#include "base/finite.h"
#include "base/memory.h"
#include "model/model.h"
#include "plan/plan.h"
#include "simulation/members.h"
#include "simulation/model_map.h"
#include "simulation/motion/multibody.h"
#include "simulation/sim.h"
#include "simulation/world.h"
#include <string.h>

double cal_flight_tolerance(double group_tolerance) { return fmin(fmax(1e-4 * group_tolerance, 1e-12), 1e-6); }

static cal_world_def events_of(const cal_sim_def* def) {
    cal_world_def own = def->events != NULL ? *def->events : cal_default_world_def();
    if (def->events == NULL) {
        own.separate = true;
        own.group_tolerance = def->relative;
        own.tolerance = cal_flight_tolerance(def->relative);
    }
    if (own.systems == NULL) own.systems = def;
    if (own.interrupt == NULL) own.interrupt = def->interrupt, own.interrupt_user = def->interrupt_user;
    return own;
}

static cal_status refuse_options(const cal_sim_def* def, cal_error* error) {
    if (!(def->relative > 0.0 && def->relative <= 0.1))
        return cal_fail(error, CAL_BAD_ARGUMENT, "relative tolerance must be above 0 and at most 0.1, not %g",
                        def->relative);
    return CAL_OK;
}

static cal_status make_world(cal_sim* sim, const cal_start* start, cal_world** world, cal_model_map** map,
                             cal_error* error) {
    cal_status status = cal_world_from_start(sim->model, &sim->events, start, world, map, error);
    for (int i = 0; status == CAL_OK && i < sim->passing_count; i++)
        status = cal_world_pass_through(*world, &sim->passing[i], error);
    if (status == CAL_OK) status = cal_world_advance(*world, cal_world_time(*world), error);
    if (status == CAL_OK) return CAL_OK;
    cal_world_destroy(*world);
    cal_model_map_destroy(*map);
    *world = NULL;
    *map = NULL;
    return status;
}

cal_status cal_events_create(cal_sim* sim, const cal_sim_def* def, cal_error* error) {
    const cal_model* model = sim->model;
    cal_status status = refuse_options(def, error);
    if (status != CAL_OK) return status;
    sim->events = events_of(def);
    const size_t v_count = (size_t)model->v_count, constraints = (size_t)model->constraint_count;
    sim->q = cal_allocate((size_t)model->q_count + v_count + 1, sizeof *sim->q);
    sim->tau = cal_allocate(v_count + 1, sizeof *sim->tau);
    sim->control = cal_allocate((size_t)cal_drive_count(model) + 1, sizeof *sim->control);
    sim->connected = cal_allocate(constraints + 1, sizeof *sim->connected);
    if (!sim->q || !sim->tau || !sim->control || !sim->connected)
        return cal_fail(error, CAL_NO_MEMORY, "no memory for a simulation");
    sim->v = sim->q + model->q_count;
    cal_drive_start(model, 0.0, sim->control);
    for (size_t i = 0; i < constraints; i++) sim->connected[i] = !model->constraints[i].inactive;
    status = make_world(sim, NULL, &sim->world, &sim->map, error);
    if (status != CAL_OK) return status;
    sim->events.systems = &sim->world->systems; // the world's copy
    const size_t passing = (size_t)sim->world->ignored_overlap_count;
    sim->passing = cal_allocate(passing + 1, sizeof *sim->passing);
    if (sim->passing == NULL) return cal_fail(error, CAL_NO_MEMORY, "no memory for a simulation");
    for (size_t i = 0; i < passing; i++) sim->passing[i] = sim->world->ignored_overlaps[i];
    sim->passing_count = (int)passing;
    return CAL_OK;
}

// How far constraints are open where an advance ends: what lies between may be taken back, and has no order of its own.
static cal_status note_errors(cal_sim* sim) {
    cal_constraint_report now;
    cal_looked* looked = &sim->looked;
    if (sim->model == NULL || sim->model->constraint_count == 0) return CAL_OK;
    const cal_status status = cal_loops_look(sim->world, &now);
    looked->largest = fmax(looked->largest, now.error);
    looked->squares += now.error_rms;
    looked->rows += now.rows;
    return status;
}

cal_status cal_events_advance(cal_sim* sim, double time, cal_error* error) {
    sim->current = false;
    const cal_status advanced = cal_world_advance(sim->world, time, error);
    sim->current = false; // a callback may have looked
    if (advanced != CAL_OK && advanced != CAL_INTERRUPTED) return advanced;
    // A world computes what it is asked for; an advance is over when the state is there.
    cal_status status = cal_events_look(sim);
    if (status == CAL_OK) status = note_errors(sim);
    if (status == CAL_OK) return advanced;
    return cal_fail_state(sim->world, status, error);
}

cal_status cal_events_look(cal_sim* sim) {
    if (sim->current || sim->model == NULL) return CAL_OK;
    const cal_status status = cal_map_state(sim->world, sim->model, sim->map, sim->q, sim->v);
    sim->current = status == CAL_OK;
    return status;
}

// --- Changing it ---------------------------------------------------------------------------------------------------------

static cal_status push_again(cal_sim* sim, const cal_outer_force* push, cal_error* error) {
    const int body = sim->map->body[push->body];
    if (body < 0) return CAL_OK; // does not move
    // The point in the frame of the body that the world knows.
    const double* place = sim->map->place + 7 * push->body;
    double R[9], point[3];
    cal_quaternion_matrix(place + 3, R);
    cal_rotate3(R, push->point, point);
    for (int i = 0; i < 3; i++) point[i] += place[i];
    return cal_world_push(sim->world, cal_world_body(sim->world, body), push->force, push->torque, point, error);
}

static cal_status restore_settings(cal_sim* sim, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < sim->model->constraint_count; i++) {
        if (sim->connected[i] == cal_events_connected(sim, i)) continue;
        status = sim->connected[i] ? cal_events_connect(sim, i, CAL_CONNECT_INELASTIC, error)
                                   : cal_events_disconnect(sim, i, error);
    }
    bool driven = false;
    for (int i = 0; i < sim->model->v_count; i++) driven |= sim->tau[i] != 0.0;
    if (status == CAL_OK && driven) status = cal_map_drive(sim->world, sim->model, sim->map, sim->tau, NULL, error);
    for (int i = 0; status == CAL_OK && i < sim->push_count; i++) status = push_again(sim, &sim->pushes[i], error);
    return status;
}

cal_status cal_events_set(cal_sim* sim, double time, const double* q, const double* v, cal_error* error) {
    if (sim->model == NULL)
        return cal_fail(error, CAL_NOT_AVAILABLE, "a world that was made by hand has no q and v to set");
    if (!isfinite(time)) return cal_fail(error, CAL_BAD_ARGUMENT, "the time of a state must be finite, not %g", time);
    for (int i = 0; i < sim->world->body_count; i++)
        if (sim->world->bodies[i].stage != CAL_REMOVED && !sim->world->bodies[i].of_model)
            return cal_fail(
                error, CAL_NOT_AVAILABLE,
                "a simulation to which bodies were added takes no other q and v: its world would begin anew "
                "without them; remove them first, or restore a snapshot");
    cal_world* world = NULL;
    cal_model_map* map = NULL;
    // A state that is given whole needs nothing of the present one, which may not be there.
    cal_status status = q != NULL && v != NULL ? CAL_OK : cal_events_look(sim);
    if (status != CAL_OK) return cal_fail_state(sim->world, status, error);
    const double before = cal_world_time(sim->world);
    cal_drive_move(sim->model, before, time, sim->control);
    const cal_start start = {time, q != NULL ? q : sim->q, v != NULL ? v : sim->v, sim->control};
    status = make_world(sim, &start, &world, &map, error);
    if (status != CAL_OK) cal_drive_move(sim->model, time, before, sim->control);
    if (status != CAL_OK) return status;
    cal_world_keep_events(world, sim->world->log.taken);
    cal_world_destroy(sim->world);
    cal_model_map_destroy(sim->map);
    sim->world = world;
    sim->map = map;
    sim->events.systems = &world->systems;
    sim->current = false;
    return restore_settings(sim, error);
}

cal_status cal_events_drive(cal_sim* sim, const double* tau, const double* control, cal_error* error) {
    if (sim->model == NULL)
        return cal_fail(error, CAL_NOT_AVAILABLE, "a world that was made by hand is driven by callbacks");
    if ((tau != NULL && !cal_all_finite(tau, sim->model->v_count)) ||
        (control != NULL && !cal_all_finite(control, sim->model->actuator_count)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "joint forces and controls must be finite");
    if (tau != NULL) memcpy(sim->tau, tau, (size_t)sim->model->v_count * sizeof *tau);
    cal_drive_change(sim->model, cal_world_time(sim->world), control, sim->control);
    sim->current = false;
    return cal_map_drive(sim->world, sim->model, sim->map, tau, control, error);
}

cal_status cal_events_activate(cal_sim* sim, const double* activations, cal_error* error) {
    cal_drive_activate(sim->model, cal_world_time(sim->world), activations, sim->control);
    sim->current = false;
    return cal_map_activate(sim->world, sim->model, sim->map, activations, error);
}

cal_status cal_events_push(cal_sim* sim, int body, const double force[3], const double torque[3],
                           const double point[3]) {
    static const double none[3] = {0.0, 0.0, 0.0};
    if (sim->model == NULL || body < 0 || body >= sim->model->body_count) return CAL_BAD_ARGUMENT;
    if (force == NULL) force = none;
    if (torque == NULL) torque = none;
    if (point == NULL) point = none;
    if (!cal_all_finite(force, 3) || !cal_all_finite(torque, 3) || !cal_all_finite(point, 3)) return CAL_BAD_ARGUMENT;
    if (!cal_grow((void**)&sim->pushes, &sim->push_capacity, sim->push_count, sizeof *sim->pushes))
        return CAL_NO_MEMORY;
    cal_outer_force* push = &sim->pushes[sim->push_count++];
    push->body = body;
    memcpy(push->force, force, sizeof push->force);
    memcpy(push->torque, torque, sizeof push->torque);
    memcpy(push->point, point, sizeof push->point);
    sim->current = false;
    return push_again(sim, push, NULL);
}

static cal_status find(const cal_sim* sim, int constraint, cal_multibody_id* multibody, int* number, cal_error* error) {
    if (sim->model == NULL || constraint < 0 || constraint >= sim->model->constraint_count)
        return cal_fail(error, CAL_BAD_ARGUMENT, "constraint %d is not there; the model has %d", constraint,
                        sim->model != NULL ? sim->model->constraint_count : 0);
    const cal_mapped* at = &sim->map->constraint[constraint];
    if (at->multibody < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "constraint %d is between things that do not move", constraint);
    *multibody = cal_multibody_id_of(sim->world, at->multibody);
    *number = at->number;
    return CAL_OK;
}

cal_status cal_events_connect(cal_sim* sim, int constraint, cal_connection how, cal_error* error) {
    cal_multibody_id multibody;
    int number;
    cal_status status = find(sim, constraint, &multibody, &number, error);
    if (status == CAL_OK) status = cal_world_connect(sim->world, multibody, number, how, error);
    if (status != CAL_OK) return status;
    sim->connected[constraint] = true;
    sim->current = false;
    return CAL_OK;
}

cal_status cal_events_disconnect(cal_sim* sim, int constraint, cal_error* error) {
    cal_multibody_id multibody;
    int number;
    cal_status status = find(sim, constraint, &multibody, &number, error);
    if (status == CAL_OK) status = cal_world_disconnect(sim->world, multibody, number, error);
    if (status != CAL_OK) return status;
    sim->connected[constraint] = false;
    return CAL_OK;
}

bool cal_events_connected(const cal_sim* sim, int constraint) {
    cal_multibody_id multibody;
    int number;
    return find(sim, constraint, &multibody, &number, NULL) == CAL_OK &&
           cal_world_connected(sim->world, multibody, number);
}

// --- Looking at it ---------------------------------------------------------------------------------------------------------

cal_status cal_events_constraints(cal_sim* sim, cal_constraint_report* out) {
    const cal_status status = cal_loops_look(sim->world, out);
    const cal_looked* looked = &sim->looked;
    const bool unknown = out->rows == 0; // before the start
    out->rows = 0;
    for (int i = 0; sim->model != NULL && i < sim->model->constraint_count; i++)
        if (cal_events_connected(sim, i)) out->rows += cal_constraint_rows(&sim->model->constraints[i], NULL);
    if (unknown) out->rank = out->rows;
    out->error_max = fmax(looked->largest, out->error);
    out->error_rms = looked->rows > 0.0 ? sqrt(looked->squares / looked->rows) : 0.0;
    return status;
}

void cal_events_report(const cal_sim* sim, cal_sim_report* out) {
    const cal_world_report* counted = &sim->world->report;
    *out =
        (cal_sim_report){.time = sim->world->time,
                         .step = counted->integrations > 0 ? counted->intervals / (double)counted->integrations : 0.0,
                         .steps = counted->integrations,
                         .rejected = counted->rollbacks,
                         .evaluations = counted->series + counted->group_steps};
}

uint64_t cal_events_hash(const cal_sim* sim) {
    if (sim->model != NULL && cal_events_look((cal_sim*)sim) == CAL_OK)
        return cal_drive_hash(
            sim->model, sim->control, cal_world_time(sim->world),
            cal_hash_motion(cal_world_time(sim->world), sim->q, sim->model->q_count, sim->v, sim->model->v_count));
    cal_world_report report;
    cal_world_get_report(sim->world, &report);
    return report.hash;
}

// --- As one system ---------------------------------------------------------------------------------------------------------

static cal_status create_whole(cal_sim* sim) {
    cal_sim_def def = sim->world->systems;
    def.solver = "rk4"; // it takes no step
    def.slow_band = 0;
    const cal_resting rests = sim->world->group_ops->takes_loops ? CAL_REST_ON_STOPS : CAL_REST_NONE;
    const cal_status status = cal_system_create_as(sim->model, &def, rests, &sim->whole, NULL);
    if (status != CAL_OK || !cal_model_rests(sim->model, rests)) return status;
    // A joint is at its stop where it is for the world.
    double* room = cal_allocate(2 * (size_t)sim->model->v_count, sizeof *room);
    if (room == NULL) return CAL_NO_MEMORY;
    const double near = cal_multibodies_stop_room(sim->world);
    for (int i = 0; i < sim->model->v_count; i++) room[i] = near;
    cal_system_set_stops(sim->whole, room, room + sim->model->v_count);
    cal_free(room);
    return CAL_OK;
}

// A force at a point of the world on a body of the model, whose pose is given.
static cal_outer_force force_at(int body, const double pose[7], const double point[3], const double force[3],
                                double sign) {
    cal_outer_force out = {.body = body};
    double R[9], arm[3];
    cal_quaternion_matrix(pose + 3, R);
    for (int i = 0; i < 3; i++) arm[i] = point[i] - pose[i], out.force[i] = sign * force[i];
    cal_unrotate3(R, arm, out.point);
    return out;
}

// The user's pushes, and what contacts do: as many as there are, for the caller to free.
static cal_status find_forces(cal_sim* sim, cal_outer_force** out, int* count) {
    int contacts = 0;
    cal_status status = sim->world->group_ops->forces != NULL ? cal_world_contacts(sim->world, NULL, 0, &contacts, NULL)
                                                              : CAL_OK; // penalty groups do not tell theirs
    if (status != CAL_OK) return status;
    cal_contact_point* points = cal_allocate((size_t)contacts + 1, sizeof *points);
    double* poses = cal_allocate(7 * (size_t)sim->model->body_count + 1, sizeof *poses);
    *out = cal_allocate((size_t)(sim->push_count + 2 * contacts) + 1, sizeof **out);
    *count = 0;
    if (points == NULL || poses == NULL || *out == NULL) status = CAL_NO_MEMORY;
    if (status == CAL_OK) status = cal_map_poses(sim->world, sim->model, sim->map, poses);
    if (status == CAL_OK && contacts > 0) status = cal_world_contacts(sim->world, points, contacts, &contacts, NULL);
    for (int i = 0; status == CAL_OK && i < sim->push_count; i++) (*out)[(*count)++] = sim->pushes[i];
    for (int i = 0; status == CAL_OK && i < 2 * contacts; i++) {
        const cal_contact_point* at = &points[i / 2];
        const int body = cal_sim_body_of(sim, at->body[i % 2]);
        if (body >= 0)
            (*out)[(*count)++] = force_at(body, poses + 7 * body, at->point, at->force, i % 2 == 0 ? 1.0 : -1.0);
    }
    cal_free(points);
    cal_free(poses);
    return status;
}

cal_status cal_events_whole(cal_sim* sim, cal_system** out) {
    if (sim->model == NULL) return CAL_NOT_AVAILABLE;
    cal_outer_force* forces = NULL;
    int count = 0;
    cal_status status = cal_events_look(sim);
    if (status == CAL_OK && sim->whole == NULL) status = create_whole(sim);
    if (status == CAL_OK) status = find_forces(sim, &forces, &count);
    double* active = cal_allocate((size_t)sim->model->constraint_count + 1, sizeof *active);
    if (status == CAL_OK && active == NULL) status = CAL_NO_MEMORY;
    for (int i = 0; status == CAL_OK && i < sim->model->constraint_count; i++)
        active[i] = sim->connected[i] ? 1.0 : 0.0;
    if (status == CAL_OK) status = cal_system_act(sim->whole, sim->tau, sim->control, active, forces, count);
    // Joints that lean on their stops are held by them.
    if (status == CAL_OK) status = cal_system_hit(sim->whole, cal_world_time(sim->world), sim->q, sim->v, NULL);
    cal_free(forces);
    cal_free(active);
    *out = sim->whole;
    return status;
}
