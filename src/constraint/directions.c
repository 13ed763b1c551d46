// Directions that are kept (directions.h).
#include "constraint/directions_body.h"
#include "base/memory.h"

bool cal_directions_create(cal_constraints* set) {
    cal_directions* d = &set->directions;
    const size_t most = set->most_rows < CAL_CONSTRAINT_ROWS ? (size_t)set->most_rows : CAL_CONSTRAINT_ROWS;
    if (set->loops || most == 0) return true;
    const size_t numbers = (size_t)round_to_lanes((int)most) * (size_t)set->model->v_count;
    d->numbers = cal_allocate(numbers, sizeof(double));
    d->kept = cal_allocate(numbers, sizeof(double));
    d->share = cal_allocate(numbers, sizeof(double));
    d->q = cal_allocate((size_t)set->model->q_count, sizeof(double));
    d->found_q = cal_allocate((size_t)set->model->q_count, sizeof(double));
    return d->numbers && d->kept && d->share && d->q && d->found_q;
}

void cal_directions_destroy(cal_constraints* set) {
    cal_directions* d = &set->directions;
    cal_free(d->numbers), cal_free(d->kept), cal_free(d->share), cal_free(d->q), cal_free(d->found_q);
}

void cal_directions_restore(cal_constraints* set, bool held, double time, double distance) {
    cal_directions* d = &set->directions;
    exchange(&d->q, &d->found_q);
    d->time = time, d->distance = distance;
    d->held = held;
    d->made = d->found = false;
}
