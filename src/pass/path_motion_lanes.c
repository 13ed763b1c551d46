// Segments of a path (path_motion.h), side by side. Compiled once for each width (aba_lanes.c says how).
#include "pass/path_motion.h"
#include <string.h>
#define CAL_LANES CAL_WIDTH
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "pass/path_step.h"
#include "pass/path_segments_body.h"

#define JOIN_(name, suffix) name##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
#define KERNEL(name) JOIN(name, CAL_KERNEL_SUFFIX)

void KERNEL(cal_joint_path_segments)(const cal_joint_path* path, const double* q, const double* v,
                                     const cal_joint_path_rates* rates, double* segments) {
    move_all_segments(path, q, v, rates, segments);
}

void KERNEL(cal_joint_path_presses)(const cal_joint_path* path, const double* q, const double* wrenches,
                                    const cal_joint_path_load* load, double* out) {
    press_all_segments(path, q, wrenches, load, out);
}
