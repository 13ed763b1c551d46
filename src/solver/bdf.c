// BDF by CVODE: orders 1 … 5, Newton's method.
//
// CVODE runs on every rank alike. Its vectors are spread over the machine (bdf_vector.c), and all it decides by are their
// norms and products, which have the same bits everywhere; so every rank takes the same steps without asking the others.
//
// Small models get a dense Jacobian by differences (bdf_dense.c, one evaluation a component), large ones GMRES with
// products J x by one evaluation each and a preconditioner that knows the dampers and springs (bdf_preconditioner.c), so
// that a step costs linear time. Quaternions are projected to unit length by CVODE's own projection, which keeps the order.
// Evaluations for Jacobians and products are counted apart.
#include "solver/bdf.h"

const char cal_bdf_help[] =
    "backward differentiation formulas (CVODE), orders 1 to 5, variable step: for stiff dampers and springs";

#ifdef CALDER_HAVE_SUNDIALS
#include "base/memory.h"
#include "solver/bdf_dense.h"
#include "solver/bdf_plan.h"
#include "solver/bdf_preconditioner.h"
#include "solver/vectors.h"
#include <cvode/cvode_ls.h>
#include <cvode/cvode_proj.h>
#include <string.h>
#include <sunlinsol/sunlinsol_spgmr.h>

// A failed step is repeated with at most a fifth of its size, and after the third failure with a tenth: 40 failures are more than any
// step survives that begins below 1e20 s.
enum { LARGEST_DENSE = 150, KRYLOV_DIMENSION = 20, MOST_FAILURES = 40 };
static const double HISTORIC_CHANGE = 1.1, HISTORIC_NEWTON = 0.05;

struct cal_bdf {
    const cal_plan* plan;
    cal_solver_settings settings;
    cal_bdf_function* function;
    cal_bdf_projection* projection; // NULL: no constraints
    void* user;
    cal_status status; // of the last evaluation
    bool fresh;        // no step since the last start
    double begin;
    cal_bdf_space space;
    cal_solver_context context; // of the evaluations' ride
    double* riders[2];
    SUNContext sundials;
    void* memory;
    N_Vector y;
    N_Vector rates;         // of looks; NULL: nobody looks
    cal_bdf_dense* dense;   // small models, or
    SUNLinearSolver krylov; // large ones
    cal_preconditioner* preconditioner;
    cal_bdf_report past; // before the last start
};

bool cal_bdf_available(void) { return true; }

// --- Right-hand sides --------------------------------------------------------------------------------------------------

// CVODE's vectors ride in the plan's passes as a solver's do: y comes with the first, dy/dt leaves with the last, and with
// it goes up whether all of it is finite.
enum { RIDE_Y, RIDE_YDOT };

static void bring(const cal_solver_context* context, const cal_column* column) {
    cal_bdf_copy_column(context->layout, column, context->vectors[RIDE_Y], context->y);
}

CAL_WIDE static void take(const cal_solver_context* context, const cal_column* column, int block, double* shares) {
    (void)column;
    const cal_layout* layout = context->layout;
    const int first = layout->block_y[block], end = layout->block_y[block + 1], W = layout->width;
    cal_range_copy(context->vectors[RIDE_YDOT], context->ydot, first, end);
    for (int l = 0; l < W; l++) shares[l] = 0.0;
    for (int i = first; i < end; i += W)
        for (int l = 0; l < W; l++) {
            const double size = cal_size(context->ydot[i + l]);
            shares[l] = size > shares[l] ? size : shares[l];
        }
}

static const cal_solver_ops ride = {.name = "bdf", .prepare = bring, .follow_up = take, .sum_count = 1, .max_count = 1};

static int right_side(realtype time, N_Vector y, N_Vector ydot, void* user) {
    cal_bdf* bdf = user;
    double largest = 0.0;
    bdf->riders[RIDE_Y] = cal_bdf_vector_numbers(y);
    bdf->riders[RIDE_YDOT] = cal_bdf_vector_numbers(ydot);
    bdf->status = bdf->space.status;
    if (!bdf->status) bdf->status = bdf->function(bdf->user, time, &ride, &bdf->context, &largest);
    if (!bdf->status && !(largest <= DBL_MAX)) bdf->status = CAL_NOT_FINITE;
    // CVODE tries a smaller step where something was not finite.
    return bdf->status == CAL_OK ? 0 : bdf->status == CAL_NOT_FINITE ? 1 : -1;
}

// --- Quaternions -------------------------------------------------------------------------------------------------------

enum { PROJECT_Y, PROJECT_CORRECTION, PROJECT_ERROR };

// The correction that gives a block's quaternions unit length, and the same projection of the error estimate: its part
// along the quaternion is removed. Counts those without a length.
static void project_block(const cal_solver_context* context, const cal_column* column, int block, double* shares) {
    const cal_layout* layout = context->layout;
    const int W = layout->width, component = cal_joint_quaternion(column->kind);
    const int first = layout->block_y[block], end = layout->block_y[block + 1];
    double *changes = context->vectors[PROJECT_CORRECTION], *errors = context->vectors[PROJECT_ERROR];
    for (int i = first; i < end; i++) changes[i] = 0.0;
    for (int l = 0; l < W; l++) {
        shares[l] = 0.0;
        if (component < 0 || !cal_bdf_lane_lives(layout, block, l)) continue;
        const int at = first + component * W + l;
        const double* q = context->vectors[PROJECT_Y] + at;
        const double length = sqrt(q[0] * q[0] + q[W] * q[W] + q[2 * W] * q[2 * W] + q[3 * W] * q[3 * W]);
        if (!(length > 0.0)) {
            shares[l] = 1.0;
            continue;
        }
        double along = 0.0;
        for (int c = 0; c < 4; c++) {
            changes[at + c * W] = q[c * W] / length - q[c * W];
            if (errors) along += errors[at + c * W] * q[c * W] / length;
        }
        for (int c = 0; errors && c < 4; c++) errors[at + c * W] -= along * q[c * W] / length;
    }
}

static int project(realtype time, N_Vector y, N_Vector correction, realtype tolerance, N_Vector error, void* user) {
    (void)tolerance;
    double* vectors[] = {cal_bdf_vector_numbers(y), cal_bdf_vector_numbers(correction),
                         error ? cal_bdf_vector_numbers(error) : NULL};
    double without_length = 0.0;
    cal_solver_context context = {.vectors = vectors};
    cal_bdf* bdf = user;
    cal_bdf_space_sum(&bdf->space, project_block, &context, 1, 0, &without_length);
    if (without_length != 0.0) return 1;
    if (!bdf->projection) return 0;
    const size_t count = bdf->plan->layout->y_size;
    const double* all = vectors[PROJECT_Y];
    double* changes = vectors[PROJECT_CORRECTION];
    for (size_t i = 0; i < count; i++) changes[i] += all[i];
    const cal_status status = bdf->projection(bdf->user, time, changes);
    for (size_t i = 0; i < count; i++) changes[i] -= all[i];
    return status == CAL_OK ? 0 : 1;
}

static bool has_quaternions(const cal_model* model) {
    for (int i = 0; i < model->joint_count; i++)
        if (model->joints[i].def->kind == CAL_BALL || model->joints[i].def->kind == CAL_FREE) return true;
    return false;
}

// --- Linear systems ----------------------------------------------------------------------------------------------------

static int differentiate(realtype time, N_Vector y, N_Vector ydot, SUNMatrix matrix, void* user, N_Vector other,
                         N_Vector changed, N_Vector weights) {
    return cal_bdf_dense_differentiate(((cal_bdf*)user)->dense, time, y, ydot, matrix, other, changed, weights);
}

static int set_preconditioner(realtype time, N_Vector y, N_Vector ydot, booleantype usable, booleantype* renewed,
                              realtype gamma, void* user) {
    (void)time, (void)ydot, (void)usable;
    *renewed = SUNTRUE;
    cal_bdf* bdf = user;
    bdf->status = cal_preconditioner_set(bdf->preconditioner, cal_bdf_vector_numbers(y), gamma);
    return bdf->status ? -1 : 0;
}

static int apply_preconditioner(realtype time, N_Vector y, N_Vector ydot, N_Vector r, N_Vector z, realtype gamma,
                                realtype tolerance, int side, void* user) {
    (void)time, (void)y, (void)ydot, (void)gamma, (void)tolerance, (void)side;
    cal_bdf* bdf = user;
    bdf->status = cal_preconditioner_solve(bdf->preconditioner, cal_bdf_vector_numbers(r), cal_bdf_vector_numbers(z));
    return bdf->status ? -1 : 0;
}

// --- Making one --------------------------------------------------------------------------------------------------------

// CVODE prints its troubles unless told otherwise; they come back as values anyway.
static void be_quiet(int code, const char* module, const char* function, char* message, void* user) {
    (void)code, (void)module, (void)function, (void)message, (void)user;
}

static bool set_up_dense(cal_bdf* bdf) {
    bdf->dense = cal_bdf_dense_create(&bdf->space, bdf->sundials, bdf->memory, right_side, bdf);
    return bdf->dense &&
           CVodeSetLinearSolver(bdf->memory, cal_bdf_dense_solver(bdf->dense), cal_bdf_dense_matrix(bdf->dense)) ==
               CVLS_SUCCESS &&
           CVodeSetJacFn(bdf->memory, differentiate) == CVLS_SUCCESS;
}

// Classical orthogonalization, since it takes the products with all earlier vectors in one walk.
static bool set_up_krylov(cal_bdf* bdf) {
    bdf->krylov = SUNLinSol_SPGMR(bdf->y, SUN_PREC_LEFT, KRYLOV_DIMENSION, bdf->sundials);
    return bdf->krylov && SUNLinSol_SPGMRSetGSType(bdf->krylov, SUN_CLASSICAL_GS) == SUNLS_SUCCESS &&
           CVodeSetLinearSolver(bdf->memory, bdf->krylov, NULL) == CVLS_SUCCESS &&
           CVodeSetPreconditioner(bdf->memory, set_preconditioner, apply_preconditioner) == CVLS_SUCCESS &&
           SUNLinSolInitialize(bdf->krylov) == SUNLS_SUCCESS; // takes its memory now and not in the first step
}

// CVODE as its authors tuned it; but where forces jump, steps may fail until they are as small as time can tell. For Jung's sessions
// LSODE's habits of 1983: a fresh Jacobian whenever the matrix is factored, steps that grow from 1.1 times on.
static bool set_habits(cal_bdf* bdf) {
    if (CVodeSetMaxErrTestFails(bdf->memory, MOST_FAILURES) != CV_SUCCESS ||
        CVodeSetMaxConvFails(bdf->memory, MOST_FAILURES) != CV_SUCCESS)
        return false;
    return !bdf->settings.historic || (CVodeSetJacEvalFrequency(bdf->memory, 1) == CVLS_SUCCESS &&
                                       CVodeSetEtaFixedStepBounds(bdf->memory, 0.0, HISTORIC_CHANGE) == CV_SUCCESS &&
                                       CVodeSetNonlinConvCoef(bdf->memory, HISTORIC_NEWTON) == CV_SUCCESS);
}

static bool has_motions(const cal_model* model) {
    for (int i = 0; i < model->constraint_count; i++)
        if (model->constraints[i].motion) return true;
    return false;
}

static bool set_up(cal_bdf* bdf) {
    if (SUNContext_Create(NULL, &bdf->sundials) != 0) return false;
    bdf->y = cal_bdf_vector_create(&bdf->space, bdf->sundials);
    const bool looks = has_motions(bdf->plan->model);
    if (looks) bdf->rates = cal_bdf_vector_create(&bdf->space, bdf->sundials);
    if (looks && !bdf->rates) return false;
    bdf->memory = CVodeCreate(CV_BDF, bdf->sundials);
    if (!bdf->y || !bdf->memory) return false;
    bool good = CVodeSetErrHandlerFn(bdf->memory, be_quiet, NULL) == CV_SUCCESS &&
                CVodeInit(bdf->memory, right_side, 0.0, bdf->y) == CV_SUCCESS &&
                CVodeSetUserData(bdf->memory, bdf) == CV_SUCCESS &&
                CVodeSStolerances(bdf->memory, bdf->settings.relative, bdf->settings.absolute) == CV_SUCCESS &&
                CVodeSetMaxNumSteps(bdf->memory, -1) == CV_SUCCESS;
    if (good && bdf->settings.largest_step > 0.0)
        good = CVodeSetMaxStep(bdf->memory, bdf->settings.largest_step) == CV_SUCCESS;
    if (good && bdf->settings.largest_order > 0)
        good = CVodeSetMaxOrd(bdf->memory, bdf->settings.largest_order) == CV_SUCCESS;
    if (good && has_quaternions(bdf->plan->model)) good = CVodeSetProjFn(bdf->memory, project) == CV_SUCCESS;
    if (good) good = bdf->preconditioner ? set_up_krylov(bdf) : set_up_dense(bdf);
    return good && set_habits(bdf);
}

cal_status cal_bdf_create(const cal_plan* plan, cal_state* state, const cal_solver_settings* settings,
                          cal_bdf_function* function, void* user, cal_bdf** out) {
    *out = NULL;
    cal_bdf* bdf = cal_allocate(1, sizeof *bdf);
    if (!bdf) return CAL_NO_MEMORY;
    bdf->plan = plan;
    bdf->settings = *settings;
    bdf->function = function;
    bdf->user = user;
    bdf->context = (cal_solver_context){
        .layout = plan->layout, .y = state->context.y, .ydot = state->context.ydot, .vectors = bdf->riders};
    cal_status status = cal_bdf_space_open(&bdf->space, plan, state, settings->component_count);
    if (!status && settings->component_count > LARGEST_DENSE)
        status = cal_preconditioner_create(plan, &bdf->preconditioner);
    if (!status) {
        if (!set_up(bdf)) bdf->space.status = CAL_NO_MEMORY;
        status = cal_bdf_space_agree(&bdf->space);
    }
    if (status) {
        cal_bdf_destroy(bdf);
        return status;
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
    if (bdf->krylov) SUNLinSolFree(bdf->krylov);
    cal_bdf_dense_destroy(bdf->dense);
    if (bdf->y) N_VDestroy(bdf->y);
    if (bdf->rates) N_VDestroy(bdf->rates);
    cal_preconditioner_destroy(bdf->preconditioner);
    if (bdf->sundials) SUNContext_Free(&bdf->sundials);
    cal_bdf_space_close(&bdf->space);
    cal_free(bdf);
}

// --- Advancing ---------------------------------------------------------------------------------------------------------

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
    if (bdf->dense) out->jacobian_evaluations = cal_bdf_dense_evaluations(bdf->dense);
}

cal_status cal_bdf_start(cal_bdf* bdf, double time, const double* q, const double* v) {
    cal_bdf_get_report(bdf, &bdf->past);
    bdf->begin = time;
    bdf->fresh = true;
    bdf->space.status = CAL_OK;
    cal_bdf_bound(bdf, (double)INFINITY);
    N_VConst(0.0, bdf->y);
    cal_layout_scatter(bdf->plan->layout, 0, q, v, cal_bdf_vector_numbers(bdf->y));
    return CVodeReInit(bdf->memory, time, bdf->y) == CV_SUCCESS ? CAL_OK : CAL_BAD_ARGUMENT;
}

static cal_status find_status(const cal_bdf* bdf, int result) {
    if (bdf->space.status) return bdf->space.status;
    if (result >= 0) return CAL_OK;
    return bdf->status ? bdf->status : result == CV_MEM_FAIL ? CAL_NO_MEMORY : CAL_NOT_CONVERGED;
}

cal_status cal_bdf_step(cal_bdf* bdf, double* from, double* to) {
    double reached = 0.0;
    (void)CVodeGetCurrentTime(bdf->memory, from);
    // CVODE would step on where t + h = t.
    int result = CVodeSetMinStep(bdf->memory, 4.0 * DBL_EPSILON * fmax(fabs(*from), bdf->settings.horizon));
    *to = *from;
    // Where CVODE has been asked for a time inside its last step, one step more first means the end of that one. It chooses its first
    // step by where it is asked to go: always the same distance, so that a run's bits do not depend on how often it is looked at.
    while (result >= 0 && !(*to > *from)) {
        const double begin = bdf->fresh ? bdf->begin : *from;
        bdf->fresh = false;
        result = CVode(bdf->memory, begin + bdf->settings.horizon, bdf->y, &reached, CV_ONE_STEP);
        (void)CVodeGetCurrentTime(bdf->memory, to);
        if (bdf->space.status) break;
    }
    return find_status(bdf, result);
}

int64_t cal_bdf_last_step(const cal_bdf* bdf, double* from, double* to) {
    long steps = 0;
    double step = 0.0;
    (void)CVodeGetNumSteps(bdf->memory, &steps);
    (void)CVodeGetLastStep(bdf->memory, &step);
    (void)CVodeGetCurrentTime(bdf->memory, to);
    // The end is the begin and the step, rounded: the begin may be before their difference by one unit in the end's last place.
    *from = steps > 0 ? *to - step - DBL_EPSILON * fabs(*to) : *to;
    return steps;
}

void cal_bdf_bound(cal_bdf* bdf, double longest) {
    const double own = bdf->settings.largest_step > 0.0 ? bdf->settings.largest_step : (double)INFINITY;
    const double bound = fmin(longest, own);
    // CVODE's word for no bound is zero.
    (void)CVodeSetMaxStep(bdf->memory, isinf(bound) ? 0.0 : bound);
}

double cal_bdf_next_step(const cal_bdf* bdf) {
    double step = 0.0;
    if (!bdf->fresh) (void)CVodeGetCurrentStep(bdf->memory, &step);
    return step;
}

cal_status cal_bdf_look(cal_bdf* bdf, double time) {
    if (CVodeGetDky(bdf->memory, time, 0, bdf->y) != CV_SUCCESS) return CAL_BAD_ARGUMENT;
    (void)right_side(time, bdf->y, bdf->rates, bdf);
    return bdf->status;
}

cal_status cal_bdf_sample(cal_bdf* bdf, double time, double* q, double* v) {
    if (CVodeGetDky(bdf->memory, time, 0, bdf->y) != CV_SUCCESS) return CAL_BAD_ARGUMENT;
    return cal_plan_gather(bdf->plan, cal_bdf_vector_numbers(bdf->y), q, v);
}

#else

bool cal_bdf_available(void) { return false; }

cal_status cal_bdf_create(const cal_plan* plan, cal_state* state, const cal_solver_settings* settings,
                          cal_bdf_function* function, void* user, cal_bdf** out) {
    (void)plan, (void)state, (void)settings, (void)function, (void)user;
    *out = NULL;
    return CAL_NOT_AVAILABLE;
}

void cal_bdf_destroy(cal_bdf* bdf) { (void)bdf; }

void cal_bdf_set_projection(cal_bdf* bdf, cal_bdf_projection* projection) { (void)bdf, (void)projection; }

cal_status cal_bdf_start(cal_bdf* bdf, double time, const double* q, const double* v) {
    (void)bdf, (void)time, (void)q, (void)v;
    return CAL_NOT_AVAILABLE;
}

cal_status cal_bdf_step(cal_bdf* bdf, double* from, double* to) {
    (void)bdf, (void)from, (void)to;
    return CAL_NOT_AVAILABLE;
}

cal_status cal_bdf_sample(cal_bdf* bdf, double time, double* q, double* v) {
    (void)bdf, (void)time, (void)q, (void)v;
    return CAL_NOT_AVAILABLE;
}

cal_status cal_bdf_look(cal_bdf* bdf, double time) {
    (void)bdf, (void)time;
    return CAL_NOT_AVAILABLE;
}

void cal_bdf_bound(cal_bdf* bdf, double longest) { (void)bdf, (void)longest; }

double cal_bdf_next_step(const cal_bdf* bdf) {
    (void)bdf;
    return 0.0;
}

int64_t cal_bdf_last_step(const cal_bdf* bdf, double* from, double* to) {
    (void)bdf;
    *from = *to = 0.0;
    return 0;
}

void cal_bdf_get_report(const cal_bdf* bdf, cal_bdf_report* out) {
    (void)bdf;
    *out = (cal_bdf_report){0};
}

#endif
