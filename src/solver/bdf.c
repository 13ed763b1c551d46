// BDF by CVODE: orders 1 … 5, Newton's method.
//
// Small models get a dense Jacobian by differences (one evaluation a component), large ones GMRES with products J x by
// one evaluation each and a preconditioner that knows the dampers and springs (bdf_preconditioner.c), so that a step
// costs linear time. Quaternions are projected to unit length by CVODE's own projection, which keeps the order.
// Evaluations for Jacobians and products are counted apart.
#include "solver/bdf.h"

const char cal_bdf_help[] =
    "backward differentiation formulas (CVODE), orders 1 to 5, variable step: for stiff dampers and springs";

#ifdef CALDER_HAVE_SUNDIALS
#include "base/memory.h"
#include "solver/bdf_preconditioner.h"
#include <cvode/cvode.h>
#include <cvode/cvode_ls.h>
#include <cvode/cvode_proj.h>
#include <float.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { LARGEST_DENSE = 150, KRYLOV_DIMENSION = 20 };
static const double SMALLEST_CHANGE = 1.1, NEWTON_TOLERANCE = 0.05;

struct cal_bdf {
    const cal_model* model;
    cal_solver_settings settings;
    cal_bdf_function* function;
    cal_bdf_projection* projection; // NULL: no constraints
    void* user;
    cal_status status; // of the last evaluation
    bool fresh;        // no step since the last start
    double begin;
    SUNContext sundials;
    void* memory;
    N_Vector y;
    SUNMatrix matrix;
    SUNLinearSolver linear;
    cal_preconditioner* preconditioner; // NULL: dense
    cal_bdf_report past;                // before the last start
};

bool cal_bdf_available(void) { return true; }

static int right_side(realtype time, N_Vector y, N_Vector ydot, void* user) {
    cal_bdf* bdf = user;
    const cal_status status = bdf->function(bdf->user, time, N_VGetArrayPointer(y), N_VGetArrayPointer(ydot));
    bdf->status = status;
    if (status == CAL_OK) return 0;
    return status == CAL_NOT_FINITE ? 1 : -1;
}

// The correction that gives every quaternion unit length, and the same projection of the error estimate: its part
// along the quaternion is removed.
static int project(realtype time, N_Vector y, N_Vector correction, realtype tolerance, N_Vector error, void* user) {
    (void)time, (void)tolerance;
    cal_bdf* bdf = user;
    const cal_model* model = bdf->model;
    const double* all = N_VGetArrayPointer(y);
    double *changes = N_VGetArrayPointer(correction), *errors = error ? N_VGetArrayPointer(error) : NULL;
    N_VConst(0.0, correction);
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        if (joint->def.kind != CAL_BALL && joint->def.kind != CAL_FREE) continue;
        const int first = joint->first_q + (joint->def.kind == CAL_FREE ? 3 : 0);
        const double* q = all + first;
        const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (!(length > 0.0)) return 1;
        double along = 0.0;
        for (int c = 0; c < 4; c++) {
            changes[first + c] = q[c] / length - q[c];
            if (errors) along += errors[first + c] * q[c] / length;
        }
        for (int c = 0; errors && c < 4; c++) errors[first + c] -= along * q[c] / length;
    }
    if (!bdf->projection) return 0;
    const int count = bdf->settings.component_count;
    for (int i = 0; i < count; i++) changes[i] += all[i];
    const cal_status status = bdf->projection(bdf->user, changes);
    for (int i = 0; i < count; i++) changes[i] -= all[i];
    return status == CAL_OK ? 0 : 1;
}

static bool has_quaternions(const cal_model* model) {
    for (int i = 0; i < model->joint_count; i++)
        if (model->joints[i].def.kind == CAL_BALL || model->joints[i].def.kind == CAL_FREE) return true;
    return false;
}

// CVODE prints its troubles unless told otherwise; they come back as values anyway.
static void be_quiet(int code, const char* module, const char* function, char* message, void* user) {
    (void)code, (void)module, (void)function, (void)message, (void)user;
}

static int set_preconditioner(realtype time, N_Vector y, N_Vector ydot, booleantype usable, booleantype* renewed,
                              realtype gamma, void* user) {
    (void)time, (void)ydot, (void)usable;
    *renewed = SUNTRUE;
    cal_bdf* bdf = user;
    bdf->status = cal_preconditioner_set(bdf->preconditioner, N_VGetArrayPointer(y), gamma);
    return bdf->status ? -1 : 0;
}

static int apply_preconditioner(realtype time, N_Vector y, N_Vector ydot, N_Vector r, N_Vector z, realtype gamma,
                                realtype tolerance, int side, void* user) {
    (void)time, (void)y, (void)ydot, (void)gamma, (void)tolerance, (void)side;
    return cal_preconditioner_solve(((cal_bdf*)user)->preconditioner, N_VGetArrayPointer(r), N_VGetArrayPointer(z)) ? -1
                                                                                                                    : 0;
}

static bool set_up_linear(cal_bdf* bdf) {
    const int count = bdf->settings.component_count;
    if (count <= LARGEST_DENSE) {
        bdf->matrix = SUNDenseMatrix(count, count, bdf->sundials);
        bdf->linear = bdf->matrix ? SUNLinSol_Dense(bdf->y, bdf->matrix, bdf->sundials) : NULL;
        return bdf->linear && CVodeSetLinearSolver(bdf->memory, bdf->linear, bdf->matrix) == CVLS_SUCCESS;
    }
    bdf->linear = SUNLinSol_SPGMR(bdf->y, SUN_PREC_LEFT, KRYLOV_DIMENSION, bdf->sundials);
    return bdf->linear && cal_preconditioner_create(bdf->model, &bdf->preconditioner) == CAL_OK &&
           CVodeSetLinearSolver(bdf->memory, bdf->linear, NULL) == CVLS_SUCCESS &&
           CVodeSetPreconditioner(bdf->memory, set_preconditioner, apply_preconditioner) == CVLS_SUCCESS;
}

static bool set_up(cal_bdf* bdf) {
    const int count = bdf->settings.component_count;
    if (SUNContext_Create(NULL, &bdf->sundials) != 0) return false;
    bdf->y = N_VNew_Serial(count, bdf->sundials);
    bdf->memory = CVodeCreate(CV_BDF, bdf->sundials);
    if (!bdf->y || !bdf->memory) return false;
    N_VConst(0.0, bdf->y);
    bool good = CVodeSetErrHandlerFn(bdf->memory, be_quiet, NULL) == CV_SUCCESS &&
                CVodeInit(bdf->memory, right_side, 0.0, bdf->y) == CV_SUCCESS &&
                CVodeSetUserData(bdf->memory, bdf) == CV_SUCCESS &&
                CVodeSStolerances(bdf->memory, bdf->settings.relative, bdf->settings.absolute) == CV_SUCCESS &&
                CVodeSetMaxNumSteps(bdf->memory, -1) == CV_SUCCESS;
    if (good && bdf->settings.largest_step > 0.0)
        good = CVodeSetMaxStep(bdf->memory, bdf->settings.largest_step) == CV_SUCCESS;
    if (good && bdf->settings.largest_order > 0)
        good = CVodeSetMaxOrd(bdf->memory, bdf->settings.largest_order) == CV_SUCCESS;
    if (good && has_quaternions(bdf->model)) good = CVodeSetProjFn(bdf->memory, project) == CV_SUCCESS;
    if (!good) return false;
    // LSODE's habits instead of CVODE's: a fresh Jacobian whenever the matrix is factored, steps that grow from 1.1
    // times on.
    return set_up_linear(bdf) && CVodeSetJacEvalFrequency(bdf->memory, 1) == CVLS_SUCCESS &&
           CVodeSetEtaFixedStepBounds(bdf->memory, 0.0, SMALLEST_CHANGE) == CV_SUCCESS &&
           CVodeSetNonlinConvCoef(bdf->memory, NEWTON_TOLERANCE) == CV_SUCCESS;
}

cal_status cal_bdf_create(const cal_model* model, const cal_solver_settings* settings, cal_bdf_function* function,
                          void* user, cal_bdf** out) {
    *out = NULL;
    cal_bdf* bdf = cal_allocate(1, sizeof *bdf);
    if (!bdf) return CAL_NO_MEMORY;
    bdf->model = model;
    bdf->settings = *settings;
    bdf->function = function;
    bdf->user = user;
    if (!set_up(bdf)) {
        cal_bdf_destroy(bdf);
        return CAL_NO_MEMORY;
    }
    *out = bdf;
    return CAL_OK;
}

void cal_bdf_set_projection(cal_bdf* bdf, cal_bdf_projection* projection) {
    bdf->projection = projection;
    (void)CVodeSetProjFn(bdf->memory, project);
}

void cal_bdf_destroy(cal_bdf* bdf) {
    if (!bdf) return;
    if (bdf->memory) CVodeFree(&bdf->memory);
    if (bdf->linear) SUNLinSolFree(bdf->linear);
    if (bdf->matrix) SUNMatDestroy(bdf->matrix);
    if (bdf->y) N_VDestroy(bdf->y);
    cal_preconditioner_destroy(bdf->preconditioner);
    if (bdf->sundials) SUNContext_Free(&bdf->sundials);
    cal_free(bdf);
}

void cal_bdf_get_report(const cal_bdf* bdf, cal_bdf_report* out) {
    long steps = 0, errors = 0, failures = 0, products = 0;
    double step = 0.0;
    int order = 0;
    CVodeGetNumSteps(bdf->memory, &steps);
    CVodeGetNumErrTestFails(bdf->memory, &errors);
    CVodeGetNumStepSolveFails(bdf->memory, &failures);
    CVodeGetNumLinRhsEvals(bdf->memory, &products);
    CVodeGetLastStep(bdf->memory, &step);
    CVodeGetLastOrder(bdf->memory, &order);
    *out = (cal_bdf_report){.step = step,
                            .order = order,
                            .steps = bdf->past.steps + steps,
                            .rejected = bdf->past.rejected + errors + failures,
                            .jacobian_evaluations = bdf->past.jacobian_evaluations + products};
}

cal_status cal_bdf_start(cal_bdf* bdf, double time, const double* y) {
    cal_bdf_get_report(bdf, &bdf->past);
    bdf->begin = time;
    bdf->fresh = true;
    memcpy(N_VGetArrayPointer(bdf->y), y, (size_t)bdf->settings.component_count * sizeof(double));
    return CVodeReInit(bdf->memory, time, bdf->y) == CV_SUCCESS ? CAL_OK : CAL_BAD_ARGUMENT;
}

cal_status cal_bdf_advance(cal_bdf* bdf, double time, double* y) {
    double reached = 0.0;
    // CVODE would step on where t + h = t.
    int result = CVodeSetMinStep(bdf->memory, 4.0 * DBL_EPSILON * fmax(fabs(time), bdf->settings.horizon));
    // CVODE chooses its first step by where it is asked to go: always the same distance, so that a run's bits do not
    // depend on how often it is looked at.
    if (bdf->fresh && result >= 0)
        result = CVode(bdf->memory, bdf->begin + bdf->settings.horizon, bdf->y, &reached, CV_ONE_STEP);
    bdf->fresh = false;
    if (result >= 0) result = CVode(bdf->memory, time, bdf->y, &reached, CV_NORMAL);
    if (result < 0) return bdf->status ? bdf->status : result == CV_MEM_FAIL ? CAL_NO_MEMORY : CAL_NOT_CONVERGED;
    memcpy(y, N_VGetArrayPointer(bdf->y), (size_t)bdf->settings.component_count * sizeof(double));
    return CAL_OK;
}

#else

bool cal_bdf_available(void) { return false; }

cal_status cal_bdf_create(const cal_model* model, const cal_solver_settings* settings, cal_bdf_function* function,
                          void* user, cal_bdf** out) {
    (void)model, (void)settings, (void)function, (void)user;
    *out = NULL;
    return CAL_NOT_AVAILABLE;
}

void cal_bdf_destroy(cal_bdf* bdf) { (void)bdf; }

void cal_bdf_set_projection(cal_bdf* bdf, cal_bdf_projection* projection) { (void)bdf, (void)projection; }

cal_status cal_bdf_start(cal_bdf* bdf, double time, const double* y) {
    (void)bdf, (void)time, (void)y;
    return CAL_NOT_AVAILABLE;
}

cal_status cal_bdf_advance(cal_bdf* bdf, double time, double* y) {
    (void)bdf, (void)time, (void)y;
    return CAL_NOT_AVAILABLE;
}

void cal_bdf_get_report(const cal_bdf* bdf, cal_bdf_report* out) {
    (void)bdf;
    *out = (cal_bdf_report){0};
}

#endif
