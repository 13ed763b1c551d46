// Large groups in which few move: a wheel on a bridge, what topples beside a heap that rests.
//
// A step of a large group is of first order where forces jump, and knows nothing of smooth steps (group_smooth.c) and of impacts at times of their
// own (group_impacts.c), since in a heap something hits at all times, and each would cost a solution for all. But where all but a few stay where they are
// in the solution of a whole step, what happens is a matter of these: they are followed as a small group is, and those that stay are fixed bodies to them.
// What the solution of the whole step has found for those is remembered, so that it is known who holds them.
//
// What closes ends the step, and the next one begins with an impact of all.
#include "math/vector.h"
#include "simulation/contact/group_work.h"
#include <math.h>

static const double landed = -1.0; // in memory, of whether nothing was come to: what closed is to be hit
// × what the law of contact may put positions off by in a step: so far solutions move what rests. So does what counts as held.
static const double slow = 10.0;
// Of the largest speed: what a rough solution, to a part in 10⁶, makes of none at most; and what another one does.
static const double rough = 1e-5, fine = 1e-7;
static const double most = 10.0; // × what rests may move by: what is not known so well is not known to rest

int cal_work_count_moving(cal_group_work* w, const double* v, double h, bool roughly) {
    const cal_group* group = w->group;
    const double held = CAL_GROUP_HELD * sqrt(cal_dot3(group->gravity, group->gravity)),
                 least = fmax(slow * w->close, held * h * h), speed = h * cal_group_sweep(group, v),
                 way = roughly ? fmax(least, rough * speed) : fmin(fmax(least, fine * speed), most * least);
    int moving = 0;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        const bool quiet = w->problem.quiet != NULL && w->problem.quiet[i];
        w->rests[i] = quiet || (cal_work_is_plain(unit) &&
                                h * unit->ops->speed(unit, v + unit->first_v, group->length) <= way &&
                                h * unit->ops->speed(unit, w->whole + unit->first_v, group->length) <= way);
        moving += !w->rests[i];
    }
    return moving;
}

void cal_work_rest_after_hit(const cal_group_work* w, double* v) {
    const double none = rough * cal_group_speed(w->group, v);
    for (int i = 0; i < w->group->unit_count; i++) {
        const cal_group_member* unit = &w->group->units[i];
        double *own = v + unit->first_v, before = 0.0;
        for (int k = 0; k < unit->v_count; k++) before = fmax(before, fabs(own[k] - w->second[unit->first_v + k]));
        if (before > 0.0 || !cal_work_is_plain(unit) || unit->ops->speed(unit, own, w->group->length) > none) continue;
        for (int k = 0; k < unit->v_count; k++) own[k] = 0.0;
    }
}

void cal_work_keep_landing(cal_group_work* w) {
    if (w->landings == 0)
        w->memory[CAL_WORK_GOES_ON] = 1.0;
    else
        w->memory[CAL_WORK_GOES_ON] = w->lands ? landed : 0.0;
}

bool cal_work_has_landed(const cal_group_work* w) { return w->memory[CAL_WORK_GOES_ON] == landed; }
