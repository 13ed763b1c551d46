// Implicit Euler steps on a device.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "solver/implicit_euler_columns.h"

#define SOLVER_KERNELS cal_device_implicit
#define SOLVER_SUMS 1
#define SOLVER_MAXIMA 1
#define SOLVER_PREPARE implicit_prepare
#define SOLVER_FOLLOW_UP implicit_follow_up
#define SOLVER_INTERPOLATE implicit_interpolate
#include "cuda/solver_kernels.h"
