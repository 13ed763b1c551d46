// BDF's linear systems of small models: a dense Jacobian by differences, in the user's order of q and v.
#pragma once
#include "solver/bdf_vector.h"

#ifdef CALDER_HAVE_SUNDIALS
#include <cvode/cvode.h>
#include <sundials/sundials_linearsolver.h>

typedef struct cal_bdf_dense cal_bdf_dense;

// cvode, right_side, user: whose Jacobian it is. NULL without memory.
cal_bdf_dense* cal_bdf_dense_create(cal_bdf_space* space, SUNContext sundials, void* cvode, CVRhsFn right_side,
                                    void* user);
void cal_bdf_dense_destroy(cal_bdf_dense* dense); // NULL is allowed

SUNMatrix cal_bdf_dense_matrix(const cal_bdf_dense* dense);
SUNLinearSolver cal_bdf_dense_solver(const cal_bdf_dense* dense);
// Fills the matrix with ∂f/∂y about y, where the derivative is slope; other and changed are overwritten. 0, or what
// right_side said.
int cal_bdf_dense_differentiate(cal_bdf_dense* dense, double time, N_Vector y, N_Vector slope, SUNMatrix matrix,
                                N_Vector other, N_Vector changed, N_Vector weights);
// Evaluations for Jacobians so far.
int64_t cal_bdf_dense_evaluations(const cal_bdf_dense* dense);
#endif
