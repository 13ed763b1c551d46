// A step of a contact group: computed by the integrator; and what it does to the energy.
//
// Contacts add no energy, so a gain that nobody worked for is an error of the step. Of free bodies the integrator takes none, as long as contact
// problems are solved: with mass ratios of more than a million they may not be. Of multibodies, whose masses change on the way, it does not know: there a step of which velocities are off by τ (|v| + s) may gain
//
//     τ (2 T + 2 √(T U)) + τ² (√T + √U)²         T kinetic energy, U that of the speed s (solver/account.h)
//
// with the tolerance τ and the speed s at which impacts end, before they are slowed down to what they had (group_energy.c), and what gains
// more is taken again, half as long. So is one of free bodies whose contact problem is so far from solved that it gains a share of their energy; a step on whose way bodies overlap, and no way that is near it is better (group_bow.c); and
// one that leads to where masses and forces are not known.
#include "base/memory.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/contact/group_work.h"
#include "simulation/flow.h"
#include "simulation/world.h"
#include <string.h>

enum { FIRST_CONTACTS = 64, SMALLEST_PART = 1024 }; // of an interval
static const double unsolved = 0.25;                // of the kinetic energy
static const double rounding = 1e-12;               // of an energy

bool cal_group_reserve_scratch(cal_world* world, size_t count) {
    if (count <= world->scratch_count) return true;
    cal_free(world->scratch);
    world->scratch = cal_allocate(count, sizeof *world->scratch);
    world->scratch_count = world->scratch != NULL ? count : 0;
    return world->scratch != NULL;
}

static bool reserve_impacts(cal_world* world, int count) {
    if (count <= world->impact_capacity) return true;
    cal_free(world->impacts);
    world->impacts = cal_allocate((size_t)count, sizeof *world->impacts);
    world->impact_capacity = world->impacts != NULL ? count : 0;
    return world->impacts != NULL;
}

static cal_status find_step(cal_world* world, int component, const double* numbers, cal_group_interval* interval,
                            double* trial, cal_group_report* out, cal_error* error) {
    cal_contact_group* g = world->components[component].group;
    int capacity = g->last_contacts + g->last_contacts / 2 + FIRST_CONTACTS;
    for (;;) {
        cal_group_interval reached = *interval;
        memcpy(trial, numbers, (size_t)g->at_arrival * sizeof *trial);
        // Each contact may be hit before the step, and in it.
        if (!reserve_impacts(world, 2 * capacity) ||
            !cal_group_reserve_scratch(world, world->group_ops->scratch_count(&g->group, capacity)))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group of %d bodies",
                            g->group.body_count);
        cal_group_report report = {
            .impacts = world->impacts, .impact_capacity = world->impact_capacity, .bow = trial + g->at_bow};
        memset(report.bow, 0, (size_t)g->group.v_count * sizeof *report.bow);
        const cal_status status =
            world->group_ops->step(&g->group, &reached, trial, trial + g->at_v, trial + g->at_memory, world->scratch,
                                   capacity, &report, error);
        if (status == CAL_NO_MEMORY && report.contacts > capacity) {
            capacity = report.contacts + report.contacts / 2;
            continue;
        }
        if (status != CAL_OK) return status;
        *interval = reached;
        *out = report;
        return CAL_OK;
    }
}

static double lifted_by_nobody(const cal_contact_group* g, const cal_group_report* report) {
    return g->restless ? 0.0 : fmax(report->closing, 0.0);
}

// What a step from one state's numbers to another's does to the energy, and who did it. *gain: what nobody did, and was there before it
// was slowed down; bodies that were moved apart upwards were lifted by nobody, where nothing is driven.
static cal_status count_flows(cal_world* world, int component, double time, const double* from, double* to,
                              double length, const cal_group_report* report, double* gain, double* known) {
    double energy[2] = {0.0, 0.0}, work = 0.0;
    const cal_contact_group* g = world->components[component].group;
    cal_flows* flows = cal_group_flows(world, component, to);
    cal_status status = cal_group_energy(world, component, from, &energy[0]);
    if (status == CAL_OK) status = cal_group_energy(world, component, to, &energy[1]);
    if (status == CAL_OK)
        status = cal_group_find_work(&g->group, time, from, from + g->at_v, to, to + g->at_v, length, &work);
    work += report->work;
    const double lost = energy[0] - energy[1] + work + report->closing;
    flows->work += work;
    flows->moved += fabs(work);
    flows->closing += report->closing;
    flows->loss += world->group_ops->stores ? lost : fmax(lost, 0.0);
    *gain = world->group_ops->stores ? 0.0 : fmax(lifted_by_nobody(g, report) - lost, 0.0) + report->slowed;
    *known = rounding * (fabs(energy[0]) + fabs(energy[1])) + g->group.tolerance * fabs(work);
    return status;
}

// The kinetic energy of a state's numbers, but for units whose motion is prescribed.
static cal_status find_kinetic(cal_world* world, int component, const double* numbers, double* out) {
    const cal_contact_group* g = world->components[component].group;
    if (!cal_group_reserve_scratch(world, (size_t)g->at_arrival)) return CAL_NO_MEMORY;
    double moving = 0.0, resting = 0.0, *still = world->scratch;
    memcpy(still, numbers, (size_t)g->at_arrival * sizeof *still);
    for (int i = 0; i < g->group.unit_count; i++)
        if (!g->units[i].moved)
            memset(still + g->at_v + g->units[i].first_v, 0, (size_t)g->units[i].v_count * sizeof *still);
    cal_status status = cal_group_energy(world, component, numbers, &moving);
    if (status == CAL_OK) status = cal_group_energy(world, component, still, &resting);
    *out = fmax(moving - resting, 0.0);
    return status;
}

// Whether a gain is more than the tolerance makes of the kinetic energy at a state; free bodies': as it was before they were slowed down.
static cal_status gains_much(cal_world* world, int component, const double* numbers, double gain, double slowed,
                             bool* out) {
    const cal_contact_group* g = world->components[component].group;
    double T = 0.0, mass = 0.0;
    *out = false;
    if (!(gain > 0.0)) return CAL_OK;
    const cal_status status = find_kinetic(world, component, numbers, &T);
    for (int i = 0; i < g->group.body_count; i++)
        if (g->group.unit_of_body[i] >= 0) mass += world->bodies[g->bodies[i]].mass;
    const double tolerance = g->group.tolerance, U = 0.5 * mass * g->group.bounce_speed * g->group.bounce_speed,
                 root = sqrt(T) + sqrt(U);
    // What may overlap may be parted by as much again.
    const double pull = sqrt(cal_dot3(g->group.gravity, g->group.gravity)),
                 lifted = CAL_WORK_OVERLAP * g->group.length * mass * pull;
    *out = cal_group_varies(&g->group)
               ? gain > tolerance * (2.0 * T + 2.0 * sqrt(T * U)) + tolerance * tolerance * root * root
               : gain > unsolved * (T + slowed + U) || gain - slowed > lifted + tolerance * T;
    return status;
}

cal_status cal_group_take_step(cal_world* world, int component, const double* numbers, cal_group_interval* interval,
                               double* trial, cal_group_report* out, cal_error* error) {
    const double shortest = (interval->end - interval->begin) / SMALLEST_PART;
    cal_group_interval part = *interval;
    int64_t rejected = 0, solves = 0, newton = 0;
    for (bool again = true; again;) {
        cal_group_interval reached = part;
        double gain = 0.0, known = 0.0;
        cal_status status = find_step(world, component, numbers, &reached, trial, out, error);
        const bool failed = status == CAL_BAD_MODEL || status == CAL_NOT_FINITE || status == CAL_NOT_CONVERGED;
        // What moves so fast that nothing is known where so long a step ends goes on in a shorter one.
        if (failed && part.end - interval->time > shortest) {
            part.end = interval->time + 0.5 * (part.end - interval->time);
            rejected++;
            continue;
        }
        if (status != CAL_OK) return status;
        const double length = reached.time - interval->time;
        status = count_flows(world, component, interval->time, numbers, trial, length, out, &gain, &known);
        again = false;
        if (status == CAL_OK && gain > known) status = gains_much(world, component, numbers, gain, out->slowed, &again);
        again = again || out->overlaps;
        if (status != CAL_OK)
            return cal_fail(error, CAL_NOT_FINITE, "the energy of a contact group is not known at %g s", reached.time);
        rejected += out->rejected, solves += out->solves, newton += out->newton;
        again = again && length > shortest;
        rejected += again;
        part.end = interval->time + 0.5 * length;
        if (!again) interval->time = reached.time;
    }
    out->rejected = rejected, out->solves = solves, out->newton = newton;
    return CAL_OK;
}
