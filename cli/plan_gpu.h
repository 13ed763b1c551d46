// `calder plan` for a GPU that need not be here.
#pragma once
#include "command.h"

// text: what the GPU is like, NULL: an H200. Returns an exit status, and complains where it must.
int cal_plan_gpu(const char* name, const cal_model* model, int instances, const char* gpu, bool json);
