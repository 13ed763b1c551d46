// Images of instances side by side (image.h).
#include "ensemble/image.h"
#include "base/finite.h"
#include "base/sound.h"
#include <math.h>
#include <string.h>

// Behind control's memory and what it sends down.
enum { ACCEPTED = CAL_CLOCK_NUMBERS + CAL_CLOCK_DOWN, REJECTED, PREVIOUS, TIME, STEP, ORDER, EVALUATION, INTERPOLATES };
_Static_assert((int)INTERPOLATES + 1 == (int)CAL_CLOCK_IMAGE, "a word each");

void cal_clock_store(const cal_step_clock* clock, double* image) {
    const cal_step_decision* d = &clock->decision;
    memcpy(image, clock->memory, sizeof clock->memory);
    memcpy(image + CAL_CLOCK_NUMBERS, clock->down, sizeof clock->down);
    image[ACCEPTED] = d->accepted, image[REJECTED] = d->rejected, image[PREVIOUS] = d->previous, image[TIME] = d->time;
    image[STEP] = d->step, image[ORDER] = d->order, image[EVALUATION] = d->evaluation_time;
    image[INTERPOLATES] = clock->interpolates;
}

bool cal_clock_load(const double* image, const cal_solver_ops* ops, cal_step_clock* out) {
    *out = (cal_step_clock){0};
    memcpy(out->memory, image, sizeof out->memory);
    memcpy(out->down, image + CAL_CLOCK_NUMBERS, sizeof out->down);
    for (int i = PREVIOUS; i <= EVALUATION; i++)
        if (!isfinite(image[i])) return false;
    if (!cal_is_index(image[ACCEPTED], 1) || !cal_is_index(image[REJECTED], 1) ||
        !cal_is_index(image[INTERPOLATES], 1) || !cal_is_index(image[ORDER], INT32_MAX - 1))
        return false;
    out->decision = (cal_step_decision){.accepted = image[ACCEPTED] != 0.0,
                                        .rejected = image[REJECTED] != 0.0,
                                        .previous = image[PREVIOUS],
                                        .time = image[TIME],
                                        .step = image[STEP],
                                        .order = (int)image[ORDER],
                                        .evaluation_time = image[EVALUATION]};
    out->interpolates = image[INTERPOLATES] != 0.0;
    return ops->sound(out->memory, out->down);
}

bool cal_clocks_are_alike(const double* image, const double* other) {
    uint64_t bits[2][CAL_CLOCK_IMAGE];
    memcpy(bits[0], image, sizeof bits[0]);
    memcpy(bits[1], other, sizeof bits[1]);
    return memcmp(bits[0], bits[1], sizeof bits[0]) == 0;
}

cal_lane_image cal_lane_image_of(const cal_model* model) {
    cal_lane_image at = {.vector = (size_t)model->q_count + (size_t)model->v_count};
    at.clock = at.begins + 1;
    at.vectors = at.clock + CAL_CLOCK_IMAGE;
    at.tau = at.vectors + CAL_LANE_KEPT * at.vector;
    at.control = at.tau + (size_t)model->v_count;
    at.flows = at.control + (size_t)model->actuator_count;
    at.size = at.flows + cal_lane_flows_image_size();
    return at;
}

// Of one that goes on, its clock is in the step that goes over its time; one that begins anew has no clock yet.
bool cal_lane_image_is_sound(const cal_ensemble* ensemble, const double* image, const double* row) {
    const cal_lane_image at = cal_lane_image_of(ensemble->model);
    cal_step_clock clock;
    if (!cal_is_index(image[at.begins], 1) || !cal_lane_flows_are_sound(image + at.flows)) return false;
    if (image[at.begins] == 0.0) {
        if (!cal_clock_load(image + at.clock, ensemble->solver, &clock)) return false;
        const bool over = clock.decision.previous <= row[CAL_ROW_TIME] && row[CAL_ROW_TIME] <= clock.decision.time;
        if (row[CAL_ROW_STATUS] == (double)CAL_OK && !over) return false;
    }
    return cal_all_finite(image + at.tau, ensemble->model->v_count) &&
           cal_all_finite(image + at.control, ensemble->model->actuator_count);
}
