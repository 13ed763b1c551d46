// Ensembles in the GPU's memory, for others that work there.
#include "base/memory.h"
#include "calder/calder_cuda.h"
#include "cuda/device_plan.h"
#include "ensemble/ensemble.h"

static int number_of(const cal_machine* machine) {
#ifdef CAL_CUDA_EMULATED
    (void)machine;
    return -1;
#else
    return ((const cal_cuda_machine*)machine)->number;
#endif
}

cal_status cal_cuda_ensemble_view(cal_ensemble* ensemble, cal_field field, cal_cuda_view* out) {
    cal_batch* batch = NULL;
    if (!ensemble || !out) return CAL_BAD_ARGUMENT;
    const cal_plan* plan = cal_ensemble_on_device(ensemble, &batch);
    if (!plan) return CAL_NOT_AVAILABLE;
    if (field != CAL_Q && field != CAL_V && field != CAL_TAU && field != CAL_QDD) return CAL_BAD_ARGUMENT;
    const cal_status status = field == CAL_QDD ? CAL_OK : cal_ensemble_send_states(ensemble);
    if (status) return status;
    const cal_batch_ops* ops = ensemble->device->ops->batch;
    const cal_device_plan* device = plan->on_device;
    const bool forces = field == CAL_TAU;
    const int vector = forces ? CAL_BATCH_TAU : field == CAL_QDD ? CAL_BATCH_YDOT : 0;
    const size_t lanes = (size_t)plan->layout->width;
    const size_t size = forces ? plan->layout->v_size : plan->layout->y_size;
    *out = (cal_cuda_view){.data = ops->address(batch, vector),
                           .groups = ((int64_t)(ensemble->end - ensemble->first) + (int64_t)lanes - 1) / (int64_t)lanes,
                           .rows = (int64_t)(size / lanes),
                           .row = device->rows + (field == CAL_Q     ? 0
                                                  : field == CAL_TAU ? plan->model->q_count + plan->model->v_count
                                                                     : plan->model->q_count),
                           .count = field == CAL_Q ? plan->model->q_count : plan->model->v_count,
                           .device = number_of(ensemble->device)};
    return CAL_OK;
}

cal_status cal_cuda_ensemble_changed(cal_ensemble* ensemble) {
    cal_batch* batch = NULL;
    if (!ensemble) return CAL_BAD_ARGUMENT;
    return cal_ensemble_on_device(ensemble, &batch) ? cal_ensemble_adopt(ensemble) : CAL_NOT_AVAILABLE;
}

cal_status cal_cuda_ensemble_forward(cal_ensemble* ensemble) {
    cal_batch* batch = NULL;
    if (!ensemble) return CAL_BAD_ARGUMENT;
    if (!cal_ensemble_on_device(ensemble, &batch)) return CAL_NOT_AVAILABLE;
    const cal_batch_ops* ops = ensemble->device->ops->batch;
    cal_status status = cal_ensemble_send_drives(ensemble);
    if (!status) status = ops->choose(batch, NULL);
    if (!status) status = ops->evaluate(batch, NULL, NULL, 0.0, 0.0);
    return status ? status : ops->wait(batch);
}
