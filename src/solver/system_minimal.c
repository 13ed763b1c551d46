// The two forms of the constraints' equations in a system: with multipliers (constraint.h), or without (minimal.h). Both end as
// joint forces, Aᵀλ, so that the plan and the solver do not know which it is.
#include "base/error.h"
#include "solver/system_data.h"
#include <string.h>

cal_status cal_system_create_form(cal_system* system, cal_error* error) {
    if (strcmp(system->def.constraint_form, "minimal") != 0) return CAL_OK;
    if (system->ops && system->ops->implicit > 0)
        return cal_fail(error, CAL_NOT_AVAILABLE, "solver %s holds constraints in the form lagrange, not minimal",
                        system->ops->name);
    const cal_status status = cal_minimal_create(system->constraints, &system->minimal);
    if (status == CAL_NO_MEMORY)
        return cal_fail(error, status,
                        "no memory for the minimal form of constraints, which is dense, of %d degrees of freedom",
                        system->model->v_count);
    return status
               ? cal_fail(error, status,
                          "the minimal form of constraints has a dense mass matrix, and %d degrees of freedom are too "
                          "many for that: use lagrange",
                          system->model->v_count)
               : CAL_OK;
}

cal_status cal_system_explain_form(const cal_system* system, cal_error* error) {
    char name[80];
    return cal_fail(
        error, CAL_NOT_AVAILABLE,
        "the minimal form of constraints does not hold constraint '%s' at t = %g s: masses are too far apart "
        "for it; use lagrange",
        cal_model_constraint_name(system->model, system->minimal->missed, name, sizeof name), system->state->time);
}

cal_status cal_system_add_forces(cal_system* system, const double* q, const double* v, const double* qdd, double* tau) {
    const double shift = system->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN;
    if (system->minimal) {
        const cal_status status = cal_minimal_hold(system->minimal, system->constraints, q, v, qdd, system->law,
                                                   system->def.gain, shift, tau);
        // How near a singular position is.
        if (!status && system->projects) (void)cal_constraints_rank(system->constraints);
        return status;
    }
    cal_constraints_hold(system->constraints, q, v, qdd, system->law, system->def.gain, shift, tau);
    return CAL_OK;
}

cal_status cal_system_minimal(cal_system* system, int* freedom, double* basis, double* mass) {
    if (!freedom || !system->minimal) return CAL_BAD_ARGUMENT;
    const size_t n = (size_t)system->model->v_count;
    // S and B depend on q alone.
    memset(system->qdd, 0, n * sizeof(double));
    const cal_status status =
        cal_minimal_hold(system->minimal, system->constraints, system->q, system->v, system->qdd, CAL_STABILIZE_NONE,
                         0.0, system->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN, system->qdd + n);
    if (status) return status;
    *freedom = system->minimal->freedom;
    cal_minimal_show(system->minimal, basis, mass);
    return CAL_OK;
}
