// Energy of a step. Contacts add none, and a step that ends with more than it began with, and than motors, pushes and bodies that are moved
// have worked for, is in error. Of free bodies steps are such that there is none (group_implicit.c), or next to none (group_step.c), but where they are
// moved apart. Masses of multibodies change on the way, too. What is added is taken from speeds again, before ways to them are looked at,
//
//     v⁺ → s v⁺,    s² = 1 − gain / T        T: kinetic energy of the multibodies, or, where that is little or there are none, of all
//
// by which contacts and constraints that hold at rest still hold. What is known of the energy is good to rounding, and of work to a share
// of it.
#include "simulation/contact/group_work.h"
#include <string.h>

static const double rounding = 1e-12;   // of an energy
static const double most_slowed = 0.25; // of the multibodies' kinetic energy: more is taken from all

cal_status cal_work_energy(const cal_group_work* w, double time, const double* q, const double* v, double* out,
                           cal_error* error) {
    *out = 0.0;
    const cal_status status = w->group->energy != NULL ? w->group->energy(w->group, q, v, out) : CAL_OK;
    return status == CAL_OK ? CAL_OK
                            : cal_fail(error, status, "the energy of a contact group is not known at %g s", time);
}

// Free bodies lose what they have gained with the others of their group; what a motion prescribes has none to lose there.
static bool is_slowed(const cal_group_work* w, const cal_group_member* unit, bool all) {
    return w->varies ? all || unit->varying : !unit->moved;
}

// The kinetic energy of all units, or of those whose masses vary.
static cal_status find_kinetic(cal_group_work* w, double time, const double* q, const double* v, double there, bool all,
                               double* out, cal_error* error) {
    double rest = 0.0, *still = w->second;
    memcpy(still, v, (size_t)w->group->v_count * sizeof *still);
    for (int i = 0; i < w->group->unit_count; i++) {
        const cal_group_member* unit = &w->group->units[i];
        if (is_slowed(w, unit, all)) memset(still + unit->first_v, 0, (size_t)unit->v_count * sizeof *still);
    }
    const cal_status status = cal_work_energy(w, time, q, still, &rest, error);
    *out = there - rest;
    return status;
}

cal_status cal_work_slow_down(cal_group_work* w, double time, double h, const double* q, double* v, cal_error* error) {
    const cal_group* group = w->group;
    double from = 0.0, to = 0.0, work = 0.0, kinetic = 0.0;
    if (group->energy == NULL || group->work == NULL) return CAL_OK;
    cal_status status = cal_work_energy(w, time, w->start_q, w->start_v, &from, error);
    if (status == CAL_OK) status = cal_work_energy(w, time, q, v, &to, error);
    if (status == CAL_OK && group->work(group, time - h, w->start_q, w->start_v, q, v, h, &work) != CAL_OK)
        status = cal_fail(error, CAL_NOT_FINITE, "the work in a contact group is not known at %g s", time);
    work += w->report->work;
    const double known = rounding * (fabs(from) + fabs(to)) + group->tolerance * fabs(work),
                 closing = w->report->closing;
    // Who was moved apart upwards was lifted by nobody, unless something is driven.
    const bool restless = !w->varies && (group->driven_moves || cal_group_is_moved(group));
    const double gain = to - from - work - (restless ? closing : fmin(closing, 0.0));
    if (status != CAL_OK || !(gain > known)) return status;
    bool all = !w->varies;
    status = find_kinetic(w, time, q, v, to, all, &kinetic, error);
    if (status == CAL_OK && !all && gain > most_slowed * kinetic) {
        all = true;
        status = find_kinetic(w, time, q, v, to, all, &kinetic, error);
    }
    if (status != CAL_OK) return status;
    const double factor = sqrt(fmax(1.0 - gain / kinetic, 0.0));
    for (int i = 0; kinetic > 0.0 && i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        for (int n = unit->first_v; is_slowed(w, unit, all) && n < unit->first_v + unit->v_count; n++) v[n] *= factor;
    }
    w->report->slowed = w->varies ? gain : fmin(gain, kinetic);
    // What a motion prescribes is not slower.
    return w->varies && cal_group_is_moved(group) ? cal_group_project(group, time, (double*)q, v, error) : CAL_OK;
}
