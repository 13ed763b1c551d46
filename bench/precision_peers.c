// SUNDIALS' integrators as their authors tuned them. CVODE's Adams with functional iteration, its BDF with a dense Jacobian by
// differences (up to 150 numbers) or GMRES, ARKODE's explicit Runge-Kutta method of order 5 (Cash and Karp).
#include "precision_peers.h"

#ifndef CALDER_HAVE_SUNDIALS

const char* cal_precision_peer_name(int index) {
    (void)index;
    return NULL;
}

cal_status cal_precision_peer_run(int index, const cal_model* model, double tolerance, double time, int samples,
                                  double* out, int64_t* evaluations, cal_error* error) {
    (void)index, (void)model, (void)tolerance, (void)time, (void)samples, (void)out, (void)evaluations, (void)error;
    return CAL_NOT_AVAILABLE;
}

#else
#include <cvode/cvode.h>
#include <cvode/cvode_ls.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#ifdef CALDER_HAVE_ARKODE
#include <arkode/arkode_erkstep.h>
#endif

enum { LARGEST_DENSE = 150, ERK_ORDER = 5 };

typedef struct problem {
    const cal_model* model;
    cal_dynamics* dynamics;
    int q_count, v_count;
    int64_t evaluations;
    SUNContext context;
    N_Vector y;
    void* memory;
    SUNMatrix matrix;
    SUNLinearSolver linear;
    SUNNonlinearSolver nonlinear;
} problem;

// dq/dt: the velocities, and ½ q ∘ ω for quaternions; a free joint's first three velocities are its position's rate.
static void find_rates(const problem* p, const double* q, const double* v, double* rate) {
    for (int j = 0; j < cal_model_joint_count(p->model); j++) {
        cal_joint_def joint;
        int body = 0, at_q = 0, at_v = 0;
        cal_model_joint(p->model, j, &joint, &body, &at_q, &at_v);
        const int plain = cal_joint_v_count(joint.kind) >= 6 ? 3 : cal_joint_v_count(joint.kind) % 3;
        for (int i = 0; i < plain; i++) rate[at_q + i] = v[at_v + i];
        if (cal_joint_v_count(joint.kind) < 3) continue;
        const double *r = q + at_q + plain, *w = v + at_v + plain;
        double* out = rate + at_q + plain;
        out[0] = -0.5 * (r[1] * w[0] + r[2] * w[1] + r[3] * w[2]);
        out[1] = 0.5 * (r[0] * w[0] + r[2] * w[2] - r[3] * w[1]);
        out[2] = 0.5 * (r[0] * w[1] + r[3] * w[0] - r[1] * w[2]);
        out[3] = 0.5 * (r[0] * w[2] + r[1] * w[1] - r[2] * w[0]);
    }
}

static int right_side(realtype time, N_Vector y, N_Vector ydot, void* user) {
    problem* p = user;
    const double *q = N_VGetArrayPointer(y), *v = q + p->q_count;
    double* out = N_VGetArrayPointer(ydot);
    (void)time;
    p->evaluations++;
    find_rates(p, q, v, out);
    return cal_dynamics_forward(p->dynamics, q, v, NULL, NULL, out + p->q_count) == CAL_OK ? 0 : -1;
}

// They print their troubles unless told otherwise.
static void be_quiet(int code, const char* module, const char* function, char* message, void* user) {
    (void)code, (void)module, (void)function, (void)message, (void)user;
}

static bool begin_cvode(problem* p, int method, double tolerance) {
    p->memory = CVodeCreate(method, p->context);
    return p->memory && CVodeSetErrHandlerFn(p->memory, be_quiet, NULL) == CV_SUCCESS &&
           CVodeInit(p->memory, right_side, 0.0, p->y) == CV_SUCCESS && CVodeSetUserData(p->memory, p) == CV_SUCCESS &&
           CVodeSStolerances(p->memory, tolerance, tolerance) == CV_SUCCESS &&
           CVodeSetMaxNumSteps(p->memory, -1) == CV_SUCCESS;
}

static bool begin_adams(problem* p, double tolerance) {
    if (!begin_cvode(p, CV_ADAMS, tolerance)) return false;
    p->nonlinear = SUNNonlinSol_FixedPoint(p->y, 0, p->context);
    return p->nonlinear && CVodeSetNonlinearSolver(p->memory, p->nonlinear) == CV_SUCCESS;
}

static bool begin_bdf(problem* p, double tolerance) {
    const int count = p->q_count + p->v_count;
    if (!begin_cvode(p, CV_BDF, tolerance)) return false;
    if (count <= LARGEST_DENSE) {
        p->matrix = SUNDenseMatrix(count, count, p->context);
        p->linear = p->matrix ? SUNLinSol_Dense(p->y, p->matrix, p->context) : NULL;
    } else {
        p->linear = SUNLinSol_SPGMR(p->y, SUN_PREC_NONE, 0, p->context);
    }
    return p->linear && CVodeSetLinearSolver(p->memory, p->linear, p->matrix) == CVLS_SUCCESS;
}

static bool step_cvode(problem* p, double time) {
    double reached = 0.0;
    return CVode(p->memory, time, p->y, &reached, CV_NORMAL) >= 0;
}

static void end_cvode(problem* p) { CVodeFree(&p->memory); }

#ifdef CALDER_HAVE_ARKODE
static bool begin_erk(problem* p, double tolerance) {
    p->memory = ERKStepCreate(right_side, 0.0, p->y, p->context);
    return p->memory && ERKStepSetErrHandlerFn(p->memory, be_quiet, NULL) == ARK_SUCCESS &&
           ERKStepSetUserData(p->memory, p) == ARK_SUCCESS &&
           ERKStepSStolerances(p->memory, tolerance, tolerance) == ARK_SUCCESS &&
           ERKStepSetOrder(p->memory, ERK_ORDER) == ARK_SUCCESS && ERKStepSetMaxNumSteps(p->memory, -1) == ARK_SUCCESS;
}

static bool step_erk(problem* p, double time) {
    double reached = 0.0;
    return ERKStepEvolve(p->memory, time, p->y, &reached, ARK_NORMAL) >= 0;
}

static void end_erk(problem* p) { ERKStepFree(&p->memory); }
#endif

typedef struct peer {
    const char* name;
    bool (*begin)(problem* p, double tolerance);
    bool (*step)(problem* p, double time);
    void (*end)(problem* p);
} peer;
static const peer peers[] = {
    {"cvode adams", begin_adams, step_cvode, end_cvode},
    {"cvode bdf", begin_bdf, step_cvode, end_cvode},
#ifdef CALDER_HAVE_ARKODE
    {"arkode erk", begin_erk, step_erk, end_erk},
#endif
};

const char* cal_precision_peer_name(int index) {
    return index >= 0 && index < (int)(sizeof peers / sizeof peers[0]) ? peers[index].name : NULL;
}

static void close_problem(problem* p, const peer* own) {
    if (p->memory) own->end(p);
    if (p->nonlinear) SUNNonlinSolFree(p->nonlinear);
    if (p->linear) SUNLinSolFree(p->linear);
    if (p->matrix) SUNMatDestroy(p->matrix);
    if (p->y) N_VDestroy(p->y);
    if (p->context) SUNContext_Free(&p->context);
    cal_dynamics_destroy(p->dynamics);
}

static cal_status fail(cal_error* error, cal_status status, const char* name, const char* text) {
    if (error) {
        error->status = status;
        snprintf(error->text, sizeof error->text, "%s: %s", name, text);
    }
    return status;
}

cal_status cal_precision_peer_run(int index, const cal_model* model, double tolerance, double time, int samples,
                                  double* out, int64_t* evaluations, cal_error* error) {
    if (!cal_precision_peer_name(index)) return CAL_BAD_ARGUMENT;
    const peer* own = &peers[index];
    problem p = {.model = model, .q_count = cal_model_q_count(model), .v_count = cal_model_v_count(model)};
    const int count = p.q_count + p.v_count;
    cal_status status = cal_dynamics_create(model, &p.dynamics, error);
    if (status) return status;
    if (SUNContext_Create(NULL, &p.context) == 0) p.y = N_VNew_Serial(count, p.context);
    bool good = p.y != NULL;
    if (good) cal_model_initial(model, N_VGetArrayPointer(p.y), N_VGetArrayPointer(p.y) + p.q_count, NULL);
    if (!good || !own->begin(&p, tolerance)) status = fail(error, CAL_NO_MEMORY, own->name, "cannot begin");
    for (int k = 1; k <= samples && !status; k++) {
        if (!own->step(&p, time * k / samples))
            status = fail(error, CAL_NOT_CONVERGED, own->name, "cannot meet the tolerance");
        else
            memcpy(out + (size_t)(k - 1) * (size_t)count, N_VGetArrayPointer(p.y), (size_t)count * sizeof *out);
    }
    *evaluations = p.evaluations;
    close_problem(&p, own);
    return status;
}
#endif
