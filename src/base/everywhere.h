// Functions of the host's files that kernels have a copy of: their bodies are in headers (*_body.h), which the file and the kernels include.
#pragma once
#include "base/per_lane.h"

// Before their prototypes and bodies. On a device they are called: each is compiled once.
#ifdef __CUDACC__
#define CAL_EVERYWHERE __noinline__ CAL_DEVICE static
#elif defined(CAL_THREAD_PER_LANE)
#define CAL_EVERYWHERE static
#else
#define CAL_EVERYWHERE
#endif
