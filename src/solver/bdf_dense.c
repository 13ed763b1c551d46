// The matrix is small, so every rank has all of it, in the user's order, and factors it for itself with the same bits.
// The evaluations that fill it are the machine's, one a component; vectors are gathered on the way in and scattered on
// the way out.
#include "solver/bdf_dense.h"

#ifdef CALDER_HAVE_SUNDIALS
#include "base/memory.h"
#include <float.h>
#include <math.h>
#include <sundials/sundials_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

struct cal_bdf_dense {
    cal_bdf_space* space;
    void* cvode;
    CVRhsFn right_side;
    void* user;
    SUNMatrix matrix;
    SUNLinearSolver solver;
    sunindextype* pivots;
    double *y, *slope, *weights, *numbers; // q then v, the user's order; one block
    int64_t evaluations;
};

static cal_status gather(const cal_bdf_dense* dense, N_Vector vector, double* out) {
    const cal_plan* plan = dense->space->plan;
    return cal_plan_gather(plan, cal_bdf_vector_numbers(vector), out, out + plan->model->q_count);
}

// --- The Jacobian ------------------------------------------------------------------------------------------------------

// Where component j is in this memory; -1: in another processor's.
static int32_t find_component(const cal_layout* layout, int j) {
    const int q_count = layout->model->q_count;
    return j < q_count ? layout->q_position[j] : layout->v_position[j - q_count];
}

// Increments as CVODE's own: √ε |y_j|, and at least what rounding errors of f leave meaning in.
int cal_bdf_dense_differentiate(cal_bdf_dense* dense, double time, N_Vector y, N_Vector slope, SUNMatrix matrix,
                                N_Vector other, N_Vector changed, N_Vector weights) {
    const cal_layout* layout = dense->space->plan->layout;
    const int count = layout->model->q_count + layout->model->v_count;
    double gamma = 0.0;
    CVodeGetCurrentGamma(dense->cvode, &gamma);
    CVodeGetErrWeights(dense->cvode, weights);
    const double norm = N_VWrmsNorm(slope, weights);
    const double least = norm != 0.0 ? 1000.0 * fabs(gamma) * DBL_EPSILON * count * norm : 1.0;
    if (gather(dense, y, dense->y) || gather(dense, slope, dense->slope) || gather(dense, weights, dense->weights))
        return -1;
    N_VScale(1.0, y, other);
    double* numbers = cal_bdf_vector_numbers(other);
    for (int j = 0; j < count; j++) {
        const int32_t at = find_component(layout, j);
        const double increment = fmax(sqrt(DBL_EPSILON) * fabs(dense->y[j]), least / dense->weights[j]);
        if (at >= 0) numbers[at] = dense->y[j] + increment;
        cal_layout_repeat_y(layout, numbers);
        dense->evaluations++;
        const int result = dense->right_side(time, other, changed, dense->user);
        if (result != 0) return result;
        if (at >= 0) numbers[at] = dense->y[j]; // copies follow with the next one
        if (gather(dense, changed, dense->numbers)) return -1;
        double* column = SUNDenseMatrix_Column(matrix, j);
        for (int i = 0; i < count; i++) column[i] = (dense->numbers[i] - dense->slope[i]) * (1.0 / increment);
    }
    return 0;
}

// --- The linear solver -------------------------------------------------------------------------------------------------

static SUNLinearSolver_Type find_type(SUNLinearSolver solver) {
    (void)solver;
    return SUNLINEARSOLVER_DIRECT;
}

static int factor(SUNLinearSolver solver, SUNMatrix matrix) {
    const cal_bdf_dense* dense = solver->content;
    const sunindextype count = SUNDenseMatrix_Rows(matrix);
    return SUNDlsMat_denseGETRF(SUNDenseMatrix_Cols(matrix), count, count, dense->pivots) > 0 ? SUNLS_LUFACT_FAIL
                                                                                              : SUNLS_SUCCESS;
}

static int solve(SUNLinearSolver solver, SUNMatrix matrix, N_Vector x, N_Vector b, realtype tolerance) {
    (void)tolerance;
    const cal_bdf_dense* dense = solver->content;
    const cal_layout* layout = dense->space->plan->layout;
    if (gather(dense, b, dense->numbers)) return SUNLS_VECTOROP_ERR;
    SUNDlsMat_denseGETRS(SUNDenseMatrix_Cols(matrix), SUNDenseMatrix_Rows(matrix), dense->pivots, dense->numbers);
    cal_layout_scatter(layout, 0, dense->numbers, dense->numbers + layout->model->q_count, cal_bdf_vector_numbers(x));
    return SUNLS_SUCCESS;
}

// --- Making one --------------------------------------------------------------------------------------------------------

cal_bdf_dense* cal_bdf_dense_create(cal_bdf_space* space, SUNContext sundials, void* cvode, CVRhsFn right_side,
                                    void* user) {
    const cal_model* model = space->plan->model;
    const size_t count = (size_t)model->q_count + (size_t)model->v_count;
    cal_bdf_dense* dense = cal_allocate(1, sizeof *dense);
    if (!dense) return NULL;
    *dense = (cal_bdf_dense){.space = space,
                             .cvode = cvode,
                             .right_side = right_side,
                             .user = user,
                             .matrix = SUNDenseMatrix(space->component_count, space->component_count, sundials),
                             .solver = SUNLinSolNewEmpty(sundials),
                             .pivots = cal_allocate((size_t)space->component_count, sizeof(sunindextype)),
                             .y = cal_allocate(4 * count, sizeof(double))};
    if (!dense->matrix || !dense->solver || !dense->pivots || !dense->y) {
        cal_bdf_dense_destroy(dense);
        return NULL;
    }
    dense->slope = dense->y + count;
    dense->weights = dense->slope + count;
    dense->numbers = dense->weights + count;
    dense->solver->content = dense;
    dense->solver->ops->gettype = find_type;
    dense->solver->ops->setup = factor;
    dense->solver->ops->solve = solve;
    return dense;
}

void cal_bdf_dense_destroy(cal_bdf_dense* dense) {
    if (!dense) return;
    if (dense->matrix) SUNMatDestroy(dense->matrix);
    if (dense->solver) SUNLinSolFreeEmpty(dense->solver);
    cal_free(dense->pivots);
    cal_free(dense->y);
    cal_free(dense);
}

SUNMatrix cal_bdf_dense_matrix(const cal_bdf_dense* dense) { return dense->matrix; }
SUNLinearSolver cal_bdf_dense_solver(const cal_bdf_dense* dense) { return dense->solver; }
int64_t cal_bdf_dense_evaluations(const cal_bdf_dense* dense) { return dense->evaluations; }
#endif
