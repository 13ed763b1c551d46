// See account.h.
#include "solver/account.h"
#include <float.h>
#include <math.h>

static const double SAME_ORDER = 0.31622776601683794; // 1/√10
// √ε: what explodes grows beyond that part of the energy of what moves steadily, and is seen then. Below it fixed steps, which promise no
// tolerance, keep the energy of a wheel that rolls and exchanges nothing.
static const double HALF_DIGITS = 1.4901161193847656e-8;

void cal_account_begin(cal_account* account, const cal_reading* now, double unit, double slope) {
    *account = (cal_account){.begun = 1,
                             .start = now->kinetic + now->potential,
                             .base = now->flows,
                             .steps = now->steps,
                             .unit = unit,
                             .slope = slope,
                             .least = now->kinetic,
                             .most = now->kinetic,
                             .time = now->time,
                             .kinetic = now->kinetic};
}

// Of a motion that is next to nothing, or goes on unchanged.
static double find_floor(const cal_account* a, const cal_reading* now, double rounding) {
    const double steps = (double)(now->steps - a->steps), t = now->tolerance;
    const double made = t > 0.0 ? fmin(2.0 * steps * t, 1.0) * a->least + sqrt(steps) * t * (t * a->unit + a->slope)
                                : now->step * a->rate + HALF_DIGITS * a->least;
    return rounding + now->floor + made;
}

static double find_justified(const cal_account* a, const cal_reading* now, double exchanged, double rounding) {
    const double steps = sqrt((double)(now->steps - a->steps)), t = now->tolerance;
    if (!(t > 0.0)) return find_floor(a, now, rounding);
    const double root = sqrt(exchanged + a->least), both = root + sqrt(a->unit);
    return rounding + now->floor + steps * (2.0 * (t * 2.0 * root * both + t * t * both * both) + t * a->slope);
}

void cal_account_read(cal_account* a, const cal_reading* now, cal_energy_balance* out) {
    const cal_flows *flows = &now->flows, *base = &a->base;
    const double total = now->kinetic + now->potential;
    if (now->time > a->time) a->rate = fmax(a->rate, fabs(now->kinetic - a->kinetic) / (now->time - a->time));
    a->time = now->time, a->kinetic = now->kinetic;
    a->least = fmin(a->least, now->kinetic);
    a->most = fmax(a->most, now->kinetic);
    *out = (cal_energy_balance){.kinetic = now->kinetic,
                                .potential = now->potential,
                                .start = a->start,
                                .work = flows->work - base->work,
                                .loss = flows->loss - base->loss,
                                .closing = flows->closing - base->closing,
                                .flows = now->can_flow};
    out->flows |= flows->moved != base->moved || flows->loss != base->loss;
    out->exchanged = fmax(fmax(flows->moved - base->moved, fmax(out->loss, fabs(out->closing))), a->most - a->least);
    out->error = total - a->start - out->work + out->loss - out->closing;
    const double rounding = (double)(now->steps - a->steps + now->impacts + 1) * DBL_EPSILON *
                            (fabs(a->start) + fabs(total) + out->exchanged);
    out->relative = fabs(out->error) <= rounding ? 0.0 : out->error / out->exchanged;
    out->justified =
        out->exchanged > 0.0 ? find_justified(a, now, out->exchanged, rounding) / out->exchanged : (double)INFINITY;
    const bool tells = now->tolerance > 0.0 || now->steps - a->steps > 1;
    out->exploded = !isfinite(out->error) || (tells && fabs(out->error) > SAME_ORDER * out->exchanged &&
                                              fabs(out->error) > find_floor(a, now, rounding));
}
