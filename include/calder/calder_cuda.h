/// \file calder_cuda.h
/// Calder on an NVIDIA GPU: library calder_cuda, which needs CUDA; the core does not.
///
/// The machine runs algorithm aba, with every solver but bdf riding along, and ensembles of fixed steps; the result has the same
/// bits as on one core. Memory of the host and of the device are kept in step: whoever reads a state or a simulation sees what
/// was computed.
#pragma once
#include <calder/calder.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Which GPU.
typedef struct cal_cuda_def {
    int device; ///< number of the device, as CUDA counts them
    uint32_t cookie;
} cal_cuda_def;
cal_cuda_def cal_default_cuda_def(void);

/// A machine of one GPU. CAL_NOT_AVAILABLE where there is none, with a line that says why.
cal_status cal_machine_cuda(const cal_cuda_def* def, cal_machine** out, cal_error* error);
/// The GPU's name, as its driver says it; NULL for another machine. Belongs to the machine.
const char* cal_cuda_device_name(const cal_machine* machine);

#ifdef __cplusplus
}
#endif
