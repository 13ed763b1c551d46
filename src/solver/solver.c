// The list of solvers, and what several of them need: the first step. Unit quaternions and
// the dense output of one-step methods are in one_step_columns.h.
#include "solver/bdf.h"
#include "solver/one_step_columns.h"
#include "base/error.h"
#include "base/sound.h"
#include "pass/pass.h"
#include <string.h>

#define SOLVER(name) &cal_solver_##name,
static const cal_solver_ops* const solvers[] = {CAL_SOLVERS(SOLVER)};
enum { SOLVER_COUNT = sizeof solvers / sizeof solvers[0] };

const cal_solver_ops* cal_find_solver(const char* name) {
    if (strcmp(name, "auto") == 0) return &cal_solver_gear;
    for (int i = 0; i < SOLVER_COUNT; i++)
        if (strcmp(solvers[i]->name, name) == 0) return solvers[i];
    return NULL;
}

const char* cal_solver_name(int index) {
    if (index == 0) return "auto";
    if (index > 0 && index <= SOLVER_COUNT) return solvers[index - 1]->name;
    return index == SOLVER_COUNT + 1 && cal_bdf_available() ? "bdf" : NULL;
}

const char* cal_solver_help(const char* name) {
    if (!name) return NULL;
    if (strcmp(name, "auto") == 0) return "gear; where bodies collide rkck; implicit where joint forces are stiff";
    const cal_solver_ops* ops = cal_find_solver(name);
    return ops ? ops->help : cal_bdf_available() && strcmp(name, "bdf") == 0 ? cal_bdf_help : NULL;
}

bool cal_solver_has_fixed_step(const char* name) {
    const cal_solver_ops* ops = name ? cal_find_solver(name) : NULL;
    return ops && ops->fixed_step;
}

cal_status cal_solver_check(const cal_solver_ops* solver, const char* algorithm, cal_error* error) {
    if (!solver || solver->implicit == 0) return CAL_OK;
    if (!cal_find_program(algorithm)->implicit)
        return cal_fail(error, CAL_BAD_ARGUMENT, "solver %s needs algorithm aba, not %s", solver->name, algorithm);
    return CAL_OK;
}

bool cal_solver_settings_sound(const cal_solver_settings* settings) {
    return cal_is_flag(&settings->historic) && cal_is_count(settings->component_count) &&
           isfinite(settings->relative) && isfinite(settings->absolute) && isfinite(settings->first_step);
}

cal_status cal_solver_check_steps(const cal_solver_ops* solver, double step, double from, double to, cal_error* error) {
    if (!solver || !solver->fixed_step || (to - from) / step < 1.0 / DBL_EPSILON) return CAL_OK;
    return cal_fail(error, CAL_BAD_ARGUMENT,
                    "from t = %g s to t = %g s there are more steps of %g s than can be counted", from, to, step);
}

cal_status cal_solver_fail(const cal_solver_failure* f, cal_status status, cal_error* error) {
    if (f->headway->lost)
        return cal_fail(error, status,
                        "%s does not get on at t = %.9g s%s: %d evaluations moved time by less than %g s; the state at "
                        "t = %g s is kept: try another solver or tolerance, or check what happens there",
                        f->solver, f->headway->from, f->near, (int)CAL_HEADWAY_EVALUATIONS,
                        CAL_LEAST_HEADWAY * f->horizon, f->kept);
    if (f->body)
        return cal_fail(error, status,
                        "body '%s' became infinite or not a number at t = %g s%s; the state at t = %g s is kept: use a "
                        "smaller step or tolerance, or check the forces",
                        f->body, f->at, f->near, f->kept);
    if (status == CAL_NOT_FINITE)
        return cal_fail(error, status,
                        "numbers are so large at t = %g s that their sums are infinite%s; the state at t = %g s is "
                        "kept: check masses, springs and forces, or use other units",
                        f->at, f->near, f->kept);
    if (status == CAL_NOT_CONVERGED)
        return cal_fail(error, status,
                        "%s cannot meet the tolerance %g at t = %g s%s; the state at t = %g s is kept: try another "
                        "tolerance or solver, or cal_sim_restart where forces jump",
                        f->solver, f->tolerance, f->at, f->near, f->kept);
    return cal_fail(error, status, "%s failed at t = %g s: %s", f->solver, f->at, cal_status_text(status));
}
