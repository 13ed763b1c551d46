// Gear's method on a device.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "solver/gear_steer.h"

#define SOLVER_KERNELS cal_device_gear
#define SOLVER_SUMS SUM_COUNT
#define SOLVER_MAXIMA (MAX_CHANGE + 1)
#define SOLVER_PREPARE gear_prepare
#define SOLVER_PREPARE_BLOCK gear_prepare_block
#define SOLVER_FOLLOW_UP gear_follow_up
#define SOLVER_STEER gear_steer
#define SOLVER_INTERPOLATE gear_interpolate
#define SOLVER_AHEAD gear
#include "cuda/solver_kernels.h"
