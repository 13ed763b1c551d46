// Fixed steps on a device.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "solver/fixed_step_columns.h"

#define SOLVER_KERNELS cal_device_rk4
#define SOLVER_SUMS 1
#define SOLVER_MAXIMA 0
#define SOLVER_PREPARE rk4_prepare
#define SOLVER_FOLLOW_UP rk4_follow_up
#define SOLVER_INTERPOLATE rk4_interpolate
#define SOLVER_STEP cal_device_rk4_step
#define SOLVER_HELD cal_device_rk4_held
#include "cuda/solver_kernels.h"

#define SOLVER_KERNELS cal_device_euler
#define SOLVER_SUMS 1
#define SOLVER_MAXIMA 0
#define SOLVER_PREPARE euler_prepare
#define SOLVER_FOLLOW_UP euler_follow_up
#define SOLVER_INTERPOLATE euler_interpolate
#define SOLVER_STEP cal_device_euler_step
#define SOLVER_HELD cal_device_euler_held
#include "cuda/solver_kernels.h"
