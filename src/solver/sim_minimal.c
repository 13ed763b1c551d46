// The two forms of the constraints' equations in a simulation: with multipliers (constraint.h), or without (minimal.h). Both end as
// joint forces, Aᵀλ, so that the plan and the solver do not know which it is.
#include "base/error.h"
#include "solver/sim.h"
#include <string.h>

cal_status cal_sim_create_form(cal_sim* sim, cal_error* error) {
    if (strcmp(sim->def.constraint_form, "minimal") != 0) return CAL_OK;
    if (sim->model->v_count > CAL_MINIMAL_DOF)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "the minimal form of constraints is dense, for models of up to %d degrees of freedom; this one "
                        "has %d: use lagrange",
                        CAL_MINIMAL_DOF, sim->model->v_count);
    return cal_minimal_create(sim->constraints, &sim->minimal)
               ? cal_fail(error, CAL_NO_MEMORY, "no memory for the minimal form of %d constraints",
                          sim->model->constraint_count)
               : CAL_OK;
}

cal_status cal_sim_add_forces(cal_sim* sim, const double* q, const double* v, const double* qdd, double* tau) {
    const double shift = sim->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN;
    if (sim->minimal)
        return cal_minimal_hold(sim->minimal, sim->constraints, q, v, qdd, sim->law, sim->def.gain, shift, tau);
    cal_constraints_hold(sim->constraints, q, v, qdd, sim->law, sim->def.gain, shift, tau);
    return CAL_OK;
}

cal_status cal_sim_minimal(cal_sim* sim, int* freedom, double* basis, double* mass) {
    if (!sim || !freedom || !sim->minimal) return CAL_BAD_ARGUMENT;
    const size_t n = (size_t)sim->model->v_count;
    // S and B depend on q alone.
    memset(sim->qdd, 0, n * sizeof(double));
    const cal_status status =
        cal_minimal_hold(sim->minimal, sim->constraints, sim->q, sim->v, sim->qdd, CAL_STABILIZE_NONE, 0.0,
                         sim->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN, sim->qdd + n);
    if (status) return status;
    const size_t p = (size_t)sim->minimal->freedom;
    *freedom = (int)p;
    if (basis) memcpy(basis, sim->minimal->basis, p * n * sizeof *basis);
    // L Lᵀ again.
    for (size_t i = 0; mass && i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k <= j; k++) sum += sim->minimal->reduced[i * p + k] * sim->minimal->reduced[j * p + k];
            mass[i * p + j] = mass[j * p + i] = sum;
        }
    return CAL_OK;
}
