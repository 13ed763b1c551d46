/// \file calder_cuda.h
/// Calder on an NVIDIA GPU: library calder_cuda, which needs CUDA; the core does not.
///
/// The machine runs algorithms aba and assembly, with every solver but bdf riding along, and ensembles with every solver but implicit and
/// bdf (docs/machines.md). The result has the same bits as on one core. Memory of the host and of the device are kept in step: whoever
/// reads a state or a simulation sees what was computed.
#pragma once
#include <calder/calder.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what is declared here is all that a shared library shows
#endif

/// Which GPU.
typedef struct cal_cuda_def {
    int device; ///< number of the device, as CUDA counts them
    uint32_t cookie;
} cal_cuda_def;
cal_cuda_def cal_default_cuda_def(void);

/// A machine of one GPU. CAL_NOT_AVAILABLE where there is none, with a line that says why.
cal_status cal_machine_cuda(const cal_cuda_def* def, cal_machine** out, cal_error* error);
int cal_cuda_device_count(void); ///< GPUs that this process can use; 0: none
/// The GPU's name, as its driver says it; NULL for another machine. Belongs to the machine.
const char* cal_cuda_device_name(const cal_machine* machine);

/// Numbers of all instances of an ensemble (with several ranks: of this one's share) in the GPU's memory, for others that work there
/// (PyTorch, JAX and CuPy through DLPack): an array of groups × rows × 32, whose last index is the instance within its group of 32.
/// Number i of instance n (q, v, tau or qdd, in the model's order) is data[(n / 32) · rows · 32 + row[i] · 32 + n % 32].
typedef struct cal_cuda_view {
    double* data;       ///< in the GPU's memory; the ensemble's
    int64_t groups;     ///< of 32 instances; lanes after the last instance belong to nobody
    int64_t rows;       ///< of a group
    const int32_t* row; ///< in the host's memory; the ensemble's
    int count;          ///< numbers of an instance: q_count or v_count
    int device; ///< number of the GPU; -1: the host plays it (a build with CALDER_CUDA=emulate), the memory is the host's
} cal_cuda_view;
/// Where CAL_Q, CAL_V, CAL_TAU or CAL_QDD of an ensemble are, until it is destroyed. What was set from the host is there when this
/// returns; q and v are those at the end of the last step, which is the ensemble's time where that is a whole number of steps.
/// CAL_NOT_AVAILABLE: the ensemble is not on a GPU.
cal_status cal_cuda_ensemble_view(cal_ensemble* ensemble, cal_field field, cal_cuda_view* out);
/// Says that q, v or tau were written there. All instances begin anew from these numbers at the ensemble's time; what wrote them must
/// have finished.
cal_status cal_cuda_ensemble_changed(cal_ensemble* ensemble);
/// Forward dynamics of all instances from q, v and tau there into qdd there, and nothing is copied. Waits until it is done. CAL_NOT_AVAILABLE:
/// the ensemble is not on a GPU, or its model has constraints.
cal_status cal_cuda_ensemble_forward(cal_ensemble* ensemble);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
