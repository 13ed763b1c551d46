// Simulations: a system that nothing can touch is advanced directly.
#include "simulation/sim.h"
#include "base/error.h"
#include "base/memory.h"

static cal_status refuse(const char* function, cal_error* error) {
    return cal_fail(error, CAL_BAD_ARGUMENT, "%s: sim must not be NULL", function);
}

cal_status cal_sim_create(const cal_model* model, const cal_sim_def* def, cal_sim** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_create: out must not be NULL");
    *out = NULL;
    cal_sim* sim = cal_allocate(1, sizeof *sim);
    if (!sim) return cal_fail(error, CAL_NO_MEMORY, "no memory for a simulation");
    const cal_status status = cal_system_create(model, def, &sim->system, error);
    if (status) {
        cal_free(sim);
        return status;
    }
    *out = sim;
    return CAL_OK;
}

void cal_sim_destroy(cal_sim* sim) {
    if (!sim) return;
    cal_system_destroy(sim->system);
    cal_free(sim);
}

// --- Advancing -------------------------------------------------------------------------------------------------------

cal_status cal_sim_advance(cal_sim* sim, double time, cal_error* error) {
    return sim ? cal_system_advance(sim->system, time, error) : refuse("cal_sim_advance", error);
}

int cal_sim_processors(const cal_sim* sim) { return cal_system_processors(sim->system); }
double cal_sim_time(const cal_sim* sim) { return cal_system_time(sim->system); }
const double* cal_sim_q(const cal_sim* sim) { return cal_system_q(sim->system); }
const double* cal_sim_v(const cal_sim* sim) { return cal_system_v(sim->system); }

// --- Changing it -----------------------------------------------------------------------------------------------------

cal_status cal_sim_set(cal_sim* sim, double time, const double* q, const double* v, cal_error* error) {
    return sim ? cal_system_set(sim->system, time, q, v, error) : refuse("cal_sim_set", error);
}

cal_status cal_sim_drive(cal_sim* sim, const double* tau, const double* control, cal_error* error) {
    return sim ? cal_system_drive(sim->system, tau, control, error) : refuse("cal_sim_drive", error);
}

cal_status cal_sim_push(cal_sim* sim, int body, const double force[3], const double torque[3], const double point[3]) {
    return sim ? cal_system_push(sim->system, body, force, torque, point) : CAL_BAD_ARGUMENT;
}

cal_status cal_sim_release(cal_sim* sim) {
    if (!sim) return CAL_BAD_ARGUMENT;
    cal_system_release(sim->system);
    return CAL_OK;
}

cal_status cal_sim_restart(cal_sim* sim) {
    if (!sim) return CAL_BAD_ARGUMENT;
    cal_system_restart(sim->system);
    return CAL_OK;
}

cal_status cal_sim_connect(cal_sim* sim, int constraint, cal_connection how, cal_error* error) {
    return sim ? cal_system_connect(sim->system, constraint, how, error) : refuse("cal_sim_connect", error);
}

cal_status cal_sim_disconnect(cal_sim* sim, int constraint, cal_error* error) {
    return sim ? cal_system_disconnect(sim->system, constraint, error) : refuse("cal_sim_disconnect", error);
}

bool cal_sim_connected(const cal_sim* sim, int constraint) {
    return sim && cal_system_connected(sim->system, constraint);
}

cal_status cal_sim_project(cal_sim* sim, cal_error* error) {
    return sim ? cal_system_project(sim->system, error) : refuse("cal_sim_project", error);
}

// --- Looking at it ---------------------------------------------------------------------------------------------------

cal_status cal_sim_energy(cal_sim* sim, double* kinetic, double* potential) {
    return sim ? cal_system_energy(sim->system, kinetic, potential) : CAL_BAD_ARGUMENT;
}

cal_status cal_sim_poses(cal_sim* sim, double* poses) {
    return sim ? cal_system_poses(sim->system, poses) : CAL_BAD_ARGUMENT;
}

cal_status cal_sim_joint_forces(cal_sim* sim, double* forces) {
    return sim ? cal_system_joint_forces(sim->system, forces) : CAL_BAD_ARGUMENT;
}

cal_status cal_sim_accelerations(cal_sim* sim, double* qdd) {
    return sim ? cal_system_accelerations(sim->system, qdd) : CAL_BAD_ARGUMENT;
}

cal_status cal_sim_check(cal_sim* sim, double* residual, int* body) {
    return sim ? cal_system_check(sim->system, residual, body) : CAL_BAD_ARGUMENT;
}

cal_status cal_sim_constraints(cal_sim* sim, cal_constraint_report* out) {
    return sim ? cal_system_constraints(sim->system, out) : CAL_BAD_ARGUMENT;
}

cal_status cal_sim_constraint_forces(cal_sim* sim, int constraint, double* rows, double wrench[6]) {
    return sim ? cal_system_constraint_forces(sim->system, constraint, rows, wrench) : CAL_BAD_ARGUMENT;
}

cal_status cal_sim_minimal(cal_sim* sim, int* freedom, double* basis, double* mass) {
    return sim ? cal_system_minimal(sim->system, freedom, basis, mass) : CAL_BAD_ARGUMENT;
}

uint64_t cal_sim_hash(const cal_sim* sim) { return cal_system_hash(sim->system); }
void cal_sim_get_report(const cal_sim* sim, cal_sim_report* out) { cal_system_get_report(sim->system, out); }
