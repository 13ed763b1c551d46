// Directions that are kept (directions.h).
#include "constraint/directions_body.h"
#include "base/memory.h"

size_t cal_directions_size(const cal_constraints* set) {
    const int most = set->most_rows < (int)CAL_CONSTRAINT_ROWS ? set->most_rows : (int)CAL_CONSTRAINT_ROWS;
    return set->loops || most == 0 ? 0 : 2 * (size_t)round_to_lanes(most) * (size_t)set->model->v_count;
}

bool cal_directions_create(cal_constraints* set) {
    cal_directions* d = &set->directions;
    const size_t numbers = cal_directions_size(set);
    if (numbers == 0) return true;
    d->by_joints = numbers / 2;
    d->numbers = cal_allocate(numbers, sizeof(double));
    d->kept = cal_allocate(numbers, sizeof(double));
    d->share = cal_allocate(numbers / 2, sizeof(double));
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
