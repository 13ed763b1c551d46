// The Runge-Kutta methods with variable steps on a device.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "solver/runge_kutta_steer.h"

#define SOLVER_KERNELS cal_device_runge_kutta
#define SOLVER_SUMS 1
#define SOLVER_MAXIMA 1
#define SOLVER_PREPARE rk_prepare
#define SOLVER_FOLLOW_UP rk_follow_up
#define SOLVER_STEER rk_steer
#define SOLVER_INTERPOLATE rk_interpolate
#include "cuda/solver_kernels.h"
