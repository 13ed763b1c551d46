// Instances with constraints in a device's memory (device_held.c).
#pragma once
#include "cuda/device_plan.h"
#include "cuda/held.h"

// Takes memory for all of a batch's groups. given: the image without a set.
cal_status cal_device_held_create(cal_device* device, cal_device_memory_list* memory, cal_device_work* work,
                                  const cal_constraints* set, const cal_held_image* given);
