// A plan of the energy program, on one lane and one core: it computes poses on its way.
#include "run/query.h"

cal_status cal_query_create(cal_query* query, const cal_model* model, cal_error* error) {
    *query = (cal_query){0};
    cal_status status = cal_machine_serial(1, &query->machine, error);
    if (!status) status = cal_plan_create(model, "energy", query->machine, &query->plan, error);
    if (!status) status = cal_state_create(query->plan, &query->state);
    if (status) cal_query_release(query);
    return status;
}

void cal_query_release(cal_query* query) {
    cal_state_destroy(query->state);
    cal_plan_destroy(query->plan);
    cal_machine_destroy(query->machine);
    *query = (cal_query){0};
}

static cal_status set(cal_query* query, const double* q, const double* v) {
    const cal_status status = cal_state_set(query->state, CAL_Q, q);
    return status ? status : cal_state_set(query->state, CAL_V, v);
}

cal_status cal_query_look(cal_query* query, const double* q, const double* v, double* poses, double energy[2]) {
    cal_status status = set(query, q, v);
    if (!status) status = cal_plan_execute(query->plan, query->state, NULL);
    if (!status && poses) status = cal_state_get(query->state, CAL_POSE, poses);
    if (!status && energy) status = cal_state_get(query->state, CAL_ENERGY, energy);
    return status;
}
