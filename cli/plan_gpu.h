// `calder plan` for a GPU that need not be here, and the algorithm that is for one.
#pragma once
#include "command.h"

typedef struct cal_gpu_question {
    const char* name;
    const cal_model* model;
    int instances;
    const char* gpu;                  // what the GPU is like; NULL: an H200
    const char *algorithm, *schedule; // NULL: aba, and whether assembly is faster; the GPU's own
    bool json;
} cal_gpu_question;
// Returns an exit status, and complains where it must.
int cal_plan_gpu(const cal_gpu_question* question);

// "aba", or "assembly" where that is faster on an H200: the model decides, and no machine, so that bits are the same on all of them.
const char* cal_algorithm_of(const cal_model* model);
