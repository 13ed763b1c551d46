// What the processors of a system's machine have sent each other.
#include "solver/system_data.h"

cal_status cal_system_traffic(const cal_system* system, int pass, cal_pass_traffic* sent, cal_pass_traffic* predicted) {
    const int sums = system->ops ? cal_sums_count(system->ops, &system->context) : 0;
    const cal_status status = cal_plan_traffic(system->plan, pass, sums, predicted);
    return status == CAL_OK ? cal_state_traffic(system->state, pass, sent) : status;
}
