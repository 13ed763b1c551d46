// Simulations: a system that nothing can touch is advanced directly; everything else has events (sim_events.c).
#include "simulation/sim.h"
#include "base/error.h"
#include "base/memory.h"
#include "simulation/members.h"
#include "simulation/model_map.h"
#include "simulation/motion/multibody.h"
#include "simulation/sim_events.h"
#include "simulation/world.h"

cal_status cal_sim_check_still(const cal_sim* sim, const char* function, cal_error* error) {
    if (!sim) return cal_fail(error, CAL_BAD_ARGUMENT, "%s: sim must not be NULL", function);
    return cal_check_not_advancing(&sim->advancing, function, error);
}

cal_status cal_sim_create(const cal_model* model, const cal_sim_def* def, cal_sim** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_create: out must not be NULL");
    *out = NULL;
    cal_sim* sim = cal_allocate(1, sizeof *sim);
    if (!sim) return cal_fail(error, CAL_NO_MEMORY, "no memory for a simulation");
    sim->model = model;
    const bool events = model && def && def->contact && cal_model_can_touch(model);
    const cal_status status =
        events ? cal_events_create(sim, def, error) : cal_system_create(model, def, &sim->system, error);
    if (status) {
        cal_sim_destroy(sim);
        return status;
    }
    *out = sim;
    return CAL_OK;
}

cal_status cal_sim_of_world(cal_world* world, cal_sim** out, cal_error* error) {
    if (!out || !world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_of_world: arguments must not be NULL");
    cal_sim* sim = *out = cal_allocate(1, sizeof *sim);
    cal_status status = sim ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "no memory for a simulation");
    if (!status) status = cal_world_advance(world, cal_world_time(world), error);
    if (status) {
        cal_world_destroy(world);
        cal_free(sim);
        *out = NULL;
        return status;
    }
    sim->world = world;
    return CAL_OK;
}

void cal_sim_destroy(cal_sim* sim) {
    if (!sim) return;
    if (sim->advancing.now) {
        sim->advancing.doomed = true;
        return;
    }
    cal_system_destroy(sim->system);
    cal_system_destroy(sim->whole);
    cal_world_destroy(sim->world);
    cal_model_map_destroy(sim->map);
    void* const lists[] = {sim->q, sim->tau, sim->control, sim->pushes, sim->connected, sim->passing, sim};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

const cal_model* cal_sim_model(const cal_sim* sim) { return sim ? sim->model : NULL; }

int cal_sim_body_of(const cal_sim* sim, cal_body_id body) {
    if (!sim) return CAL_NONE;
    for (int i = 0; sim->map && i < cal_model_body_count(sim->model); i++)
        if (sim->map->body[i] == body.index && cal_is_body(sim->world, body)) return i;
    return CAL_GROUND;
}

cal_body_id cal_sim_world_body(const cal_sim* sim, int body) {
    if (!sim) return (cal_body_id){-1, 0};
    const bool known = sim->map && body >= 0 && body < cal_model_body_count(sim->model);
    return known ? cal_world_body(sim->world, sim->map->body[body]) : (cal_body_id){-1, 0};
}

cal_world* cal_sim_world(cal_sim* sim) { return sim ? sim->world : NULL; }

// The model as one system at the present time: itself, or what it is at this moment among events.
static cal_status as_system(cal_sim* sim, cal_system** out) {
    if (!sim) return CAL_BAD_ARGUMENT;
    *out = sim->system;
    return sim->system ? CAL_OK : cal_events_whole(sim, out);
}

// --- Advancing -------------------------------------------------------------------------------------------------------

cal_status cal_sim_advance(cal_sim* sim, double time, cal_error* error) {
    cal_status status = cal_sim_check_still(sim, "cal_sim_advance", error);
    if (status) return status;
    sim->advancing.now = true;
    status = sim->system ? cal_system_advance(sim->system, time, error) : cal_events_advance(sim, time, error);
    sim->advancing.now = false;
    if (!sim->advancing.doomed) return status;
    cal_sim_destroy(sim);
    return cal_fail_destroyed(error);
}

int cal_sim_processors(const cal_sim* sim) {
    if (!sim) return 0;
    if (sim->system) return cal_system_processors(sim->system);
    const int shared = sim->world->report.processors, own = cal_multibodies_processors(sim->world);
    return shared > own ? shared : own;
}

double cal_sim_time(const cal_sim* sim) {
    if (!sim) return 0.0;
    return sim->system ? cal_system_time(sim->system) : cal_world_time(sim->world);
}

// Reading a state may bring it up to date first, which changes nothing that anybody sees.
const double* cal_sim_q(const cal_sim* sim) {
    if (!sim) return NULL;
    if (sim->system) return cal_system_q(sim->system);
    return cal_events_look((cal_sim*)sim) ? NULL : sim->q;
}

const double* cal_sim_v(const cal_sim* sim) {
    if (!sim) return NULL;
    if (sim->system) return cal_system_v(sim->system);
    return cal_events_look((cal_sim*)sim) ? NULL : sim->v;
}

// --- Changing it -----------------------------------------------------------------------------------------------------

cal_status cal_sim_set(cal_sim* sim, double time, const double* q, const double* v, cal_error* error) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_set", error);
    if (still) return still;
    if (!sim->system) return cal_events_set(sim, time, q, v, error);
    const double from = cal_system_time(sim->system);
    const cal_status status = cal_system_set(sim->system, time, q, v, error);
    if (!status) cal_system_carry_activations(sim->system, from);
    return status;
}

cal_status cal_sim_drive(cal_sim* sim, const double* tau, const double* control, cal_error* error) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_drive", error);
    if (still) return still;
    return sim->system ? cal_system_drive(sim->system, tau, control, error)
                       : cal_events_drive(sim, tau, control, error);
}

cal_status cal_sim_get_activations(const cal_sim* sim, double* activations) {
    if (!sim || !sim->model || !activations) return CAL_BAD_ARGUMENT;
    cal_drive_activations(sim->model, cal_sim_drive_of(sim), cal_sim_time(sim), activations);
    return CAL_OK;
}

cal_status cal_sim_set_activations(cal_sim* sim, const double* activations, cal_error* error) {
    if (!sim || !sim->model || !activations)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "cal_sim_set_activations: sim, of a model, and activations must not be NULL");
    const cal_status still = cal_sim_check_still(sim, "cal_sim_set_activations", error);
    if (still) return still;
    for (int i = 0; i < sim->model->actuator_count; i++) {
        const cal_activation_kind kind = sim->model->actuators[i].activation;
        const double a = activations[i];
        if (kind == CAL_ACTIVATION_NONE) continue;
        if (!isfinite(a) || (kind == CAL_ACTIVATION_MUSCLE && !(a >= 0.0 && a <= 1.0)))
            return cal_fail(error, CAL_BAD_ARGUMENT,
                            "cal_sim_set_activations: the activation of actuator %d is %g; it must be finite, and of a "
                            "muscle from 0 to 1",
                            i, a);
    }
    if (!sim->system) return cal_events_activate(sim, activations, error);
    cal_system_activate(sim->system, activations);
    return CAL_OK;
}

cal_status cal_sim_push(cal_sim* sim, int body, const double force[3], const double torque[3], const double point[3]) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_push", NULL);
    if (still) return still;
    return sim->system ? cal_system_push(sim->system, body, force, torque, point)
                       : cal_events_push(sim, body, force, torque, point);
}

cal_status cal_sim_release(cal_sim* sim) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_release", NULL);
    if (still) return still;
    if (!sim->system) {
        sim->push_count = 0;
        return cal_world_release(sim->world, NULL);
    }
    cal_system_release(sim->system);
    return CAL_OK;
}

cal_status cal_sim_restart(cal_sim* sim) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_restart", NULL);
    if (still) return still;
    if (sim->system) cal_system_restart(sim->system);
    return CAL_OK;
}

cal_status cal_sim_connect(cal_sim* sim, int constraint, cal_connection how, cal_error* error) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_connect", error);
    if (still) return still;
    return sim->system ? cal_system_connect(sim->system, constraint, how, error)
                       : cal_events_connect(sim, constraint, how, error);
}

cal_status cal_sim_disconnect(cal_sim* sim, int constraint, cal_error* error) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_disconnect", error);
    if (still) return still;
    return sim->system ? cal_system_disconnect(sim->system, constraint, error)
                       : cal_events_disconnect(sim, constraint, error);
}

cal_status cal_sim_catch(cal_sim* sim, int constraint, cal_error* error) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_catch", error);
    if (still) return still;
    return sim->system ? cal_system_catch(sim->system, constraint, error)
                       : cal_events_connect(sim, constraint, CAL_CONNECT_INELASTIC, error);
}

bool cal_sim_connected(const cal_sim* sim, int constraint) {
    if (!sim) return false;
    return sim->system ? cal_system_connected(sim->system, constraint) : cal_events_connected(sim, constraint);
}

cal_status cal_sim_project(cal_sim* sim, cal_error* error) {
    const cal_status still = cal_sim_check_still(sim, "cal_sim_project", error);
    if (still) return still;
    return sim->system ? cal_system_project(sim->system, NULL, error) : CAL_OK; // with events, the start did
}

cal_status cal_sim_project_holding(cal_sim* sim, const bool* held, cal_error* error) {
    if (!held) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_project_holding: held and sim must not be NULL");
    const cal_status still = cal_sim_check_still(sim, "cal_sim_project_holding", error);
    if (still) return still;
    if (sim->system) return cal_system_project(sim->system, held, error);
    return cal_fail(error, CAL_NOT_AVAILABLE,
                    "cal_sim_project_holding: with events the start is closed as a whole; leave contact out to find a "
                    "start (cal_sim_def.contact, --disable contact)");
}

// --- Looking at it ---------------------------------------------------------------------------------------------------

cal_status cal_sim_energy(cal_sim* sim, double* kinetic, double* potential) {
    if (!sim || !kinetic || !potential) return CAL_BAD_ARGUMENT;
    if (sim->system) return cal_system_energy(sim->system, kinetic, potential);
    cal_world_report report;
    const cal_status status = cal_world_get_report(sim->world, &report);
    *kinetic = report.kinetic;
    *potential = report.potential;
    return status;
}

cal_status cal_sim_balance(cal_sim* sim, cal_energy_balance* out) {
    if (!sim || !out) return CAL_BAD_ARGUMENT;
    return sim->system ? cal_system_balance(sim->system, out) : cal_world_balance(sim->world, out);
}

cal_status cal_sim_poses(cal_sim* sim, double* poses) {
    if (!sim || !poses) return CAL_BAD_ARGUMENT;
    if (sim->system) return cal_system_poses(sim->system, poses);
    return sim->model ? cal_map_poses(sim->world, sim->model, sim->map, poses) : cal_world_poses(sim->world, poses);
}

cal_status cal_sim_joint_forces(cal_sim* sim, double* forces) {
    cal_system* system;
    const cal_status status = as_system(sim, &system);
    return status ? status : cal_system_joint_forces(system, forces);
}

cal_status cal_sim_accelerations(cal_sim* sim, double* qdd) {
    cal_system* system;
    const cal_status status = as_system(sim, &system);
    return status ? status : cal_system_accelerations(system, qdd);
}

cal_status cal_sim_check(cal_sim* sim, double* residual, int* body) {
    cal_system* system;
    const cal_status status = as_system(sim, &system);
    return status ? status : cal_system_check(system, residual, body);
}

cal_status cal_sim_traffic(const cal_sim* sim, int pass, cal_pass_traffic* sent, cal_pass_traffic* predicted) {
    if (!sim || !sent || !predicted) return CAL_BAD_ARGUMENT;
    return sim->system ? cal_system_traffic(sim->system, pass, sent, predicted) : CAL_NOT_AVAILABLE;
}

cal_status cal_sim_constraints(cal_sim* sim, cal_constraint_report* out) {
    if (!sim || !out) return CAL_BAD_ARGUMENT;
    return sim->system ? cal_system_constraints(sim->system, out) : cal_events_constraints(sim, out);
}

cal_status cal_sim_constraint_forces(cal_sim* sim, int constraint, double* rows, double wrench[6]) {
    cal_system* system;
    const cal_status status = as_system(sim, &system);
    return status ? status : cal_system_constraint_forces(system, constraint, rows, wrench);
}

cal_status cal_sim_minimal(cal_sim* sim, int* freedom, double* basis, double* mass) {
    cal_system* system;
    const cal_status status = as_system(sim, &system);
    return status ? status : cal_system_minimal(system, freedom, basis, mass);
}

uint64_t cal_sim_hash(const cal_sim* sim) {
    if (!sim) return 0;
    return sim->system ? cal_system_hash(sim->system) : cal_events_hash(sim);
}

void cal_sim_get_report(const cal_sim* sim, cal_sim_report* out) {
    if (!sim || !out) return;
    if (sim->system)
        cal_system_get_report(sim->system, out);
    else
        cal_events_report(sim, out);
}
