// The default integrator of contact groups: implicit steps on a convex contact problem (contact_problem.h), so that stacks
// rest and what should not slide does not.
//
// One step of size h from (q, v), with contacts and masses at q:
//
//     v⁺ = v + h M⁻¹ f + M⁻¹ Jᵀ λ,    q⁺ = q moved along v⁺ for h
//
// with rows y_n = v_n + gap/h for bodies that are apart (they may close the gap and no more) and y_n = v_n for those that
// overlap by a hair. Forces of contact and friction are implicit: no stiffness, no creep, no step size at which it blows up.
// So are forces in joints, as far as they fall with velocity and position (by D and K, pass/joint_law.h):
//
//     (M + h D + h² K) (v⁺ − v) = h (f − h K v) + Jᵀ λ
//
// Every step is taken once whole (v_f) and once in two halves (v₁, v₂).
//
//     smooth    h |v₂ − v_f| is within the tolerance: v⁺ = 2 v₂ − v_f, which is of second order, and exact under constant
//               forces: a box slides down a slope as it should. Between states bodies follow the cubic through q and v at both
//               ends, so q⁺ is where that cubic's slope is v as well as v⁺ knows it: the trapezoid rule with its end correction,
//
//                   q⁺ − q = h (v + v⁺)/2 − h² (a⁺ − a)/12,    h (a⁺ − a) = 4 (v₂ − 2 v₁ + v)
//
//               which is q moved along (v + 4 v₁ + 4 v₂ − 3 v_f)/6, right to h⁴. With v₁ + v₂ − v_f, right to h³ as v⁺ is, the
//               cubic's slope would be right to h² only: energy would rise and fall between states. A spring that is too stiff
//               for h still calms down: then h v_f = −q, h v₁ = −2 q, v₂ = 0, and (q, h v) is multiplied by (1/6, 1/6; 1, 0),
//               whose eigenvalues are 1/2 and −1/3.
//     not       something hit or let go: the halves are taken as they are if they end where the whole step does, to a
//               coarser tolerance; otherwise h is halved
//
// Overlaps, which rounding and curved paths leave behind, are removed by moving positions alone: the same convex problem with
// no velocity, no friction and the overlaps to be parted, and its solution is a displacement. No kinetic energy comes in.
//
// Constraints of units are part of the convex problem (contact_problem.h). Wherever q was moved it is projected onto them, by mass,
// and at the end of a step so is v.
//
// Between steps the integrator remembers one number, the step size to try next.
#include "base/finite.h"
#include "math/vector.h"
#include "simulation/contact/contact_problem.h"
#include <string.h>

enum { SMALLEST_PART = 64, MEMORY = 1 };
static const double growth = 2.0;
static const double quiet = 1e-3; // of the tolerance: a step that moves nothing further is not repeated in halves
static const double allowed_overlap = 1e-6; // of the length; deeper is parted
static const double parted_share = 0.3;     // of a deep overlap, in one interval
static const double touching = 1e-7; // of the length: a gap that counts as none, so that rounding decides nothing
static const double slack = 1e-3;    // of the length: contacts are looked for at least this far

typedef struct work {
    const cal_group* group;
    cal_problem problem;
    cal_arena rest; // behind the problem's masses: taken anew for each configuration
    cal_contact_cache cache;
    double *force, *free_change;                        // M⁻¹ f
    double *target, *whole, *first, *second, *middle_q; // velocities of the three solves
    double* next_q;
    double* impulses; // of the two halves, each body
    cal_group_report* report;
} work;

static size_t memory_count(const cal_group* group) {
    (void)group;
    return MEMORY;
}

static size_t scratch_count(const cal_group* group, int contacts) {
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count, bodies = (size_t)group->body_count;
    return cal_problem_count(group, contacts) + cal_contact_cache_count(group, contacts) + bodies + 6 * v + 2 * q + 64;
}

static bool begin(work* w, const cal_group* group, double* scratch, int capacity, cal_group_report* report) {
    cal_arena arena = {scratch, scratch_count(group, capacity)};
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count;
    *w = (work){.group = group, .report = report};
    bool ok = cal_contact_cache_begin(&w->cache, group, capacity, report, &arena);
    w->force = cal_arena_numbers(&arena, v);
    w->free_change = cal_arena_numbers(&arena, v);
    w->target = cal_arena_numbers(&arena, v);
    w->whole = cal_arena_numbers(&arena, v);
    w->first = cal_arena_numbers(&arena, v);
    w->second = cal_arena_numbers(&arena, v);
    w->middle_q = cal_arena_numbers(&arena, q);
    w->next_q = cal_arena_numbers(&arena, q);
    w->impulses = cal_arena_numbers(&arena, (size_t)group->body_count);
    ok = ok && w->impulses != NULL && cal_problem_begin(&w->problem, group, &arena);
    w->rest = arena;
    return ok;
}

// Largest speed of any point, as a bound: a free body's own, and the sum of all rates of a multibody's.
static double unit_speed(const cal_group* group, const cal_group_member* unit, const double* v) {
    const double* mine = v + unit->first_v;
    if (unit->free) return sqrt(cal_dot3(mine, mine)) + group->length * sqrt(cal_dot3(mine + 3, mine + 3));
    double sum = 0.0;
    for (int i = 0; i < unit->v_count; i++) sum += fabs(mine[i]);
    return sum * fmax(1.0, group->length);
}

static double largest_speed(const cal_group* group, const double* v) {
    double most = 0.0;
    for (int i = 0; i < group->unit_count; i++) most = fmax(most, unit_speed(group, &group->units[i], v));
    return most;
}

// Moves q along v, onto what the units' constraints allow.
static cal_status displace(const cal_group* group, double time, const double* q, const double* v, double h, double* out,
                           cal_error* error) {
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        cal_status status = unit->ops->displace(unit, q + unit->first_q, v + unit->first_v, h, out + unit->first_q);
        if (status == CAL_OK && unit->most_rows > 0) status = unit->ops->project(unit, out + unit->first_q, NULL);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
    }
    return CAL_OK;
}

// Velocities at q as the units' constraints allow them.
static cal_status project(const cal_group* group, double time, double* q, double* v, cal_error* error) {
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        if (unit->most_rows == 0) continue;
        const cal_status status = unit->ops->project(unit, q + unit->first_q, v + unit->first_v);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
    }
    return CAL_OK;
}

// Contacts, masses and forces at a configuration, for steps up to h.
static cal_status look(work* w, double time, const double* q, const double* v, double h, cal_error* error) {
    const cal_group* group = w->group;
    double pull = 0.0;
    for (int i = 0; i < 3; i++) pull += group->gravity[i] * group->gravity[i];
    const double reach = 2.0 * h * (largest_speed(group, v) + h * sqrt(pull));
    const double margin = fmin(reach + slack * group->length, group->length);
    cal_arena arena = w->rest;
    const cal_status status = cal_problem_look(&w->problem, &w->cache, time, q, v, margin, w->force, &arena, error);
    if (status != CAL_OK) return status;
    // A solver that starts from a good guess would hide it.
    if (!cal_all_finite(w->force, group->v_count))
        return cal_fail(error, CAL_NOT_FINITE, "a force on a body of a contact group is not finite at %g s", time);
    memcpy(w->free_change, w->force, (size_t)group->v_count * sizeof *w->force);
    for (int i = 0; i < group->unit_count; i++)
        cal_dense_solve(w->problem.mass_factor + w->problem.mass_at[i], w->problem.size[i],
                        w->free_change + w->problem.first[i]);
    return CAL_OK;
}

// Masses and changes of velocity of units with forces that fall.
static void take_forces_at_end(work* w, const double* v, double h) {
    cal_problem* p = &w->problem;
    cal_problem_stiffen(p, h);
    for (int i = 0; i < w->group->unit_count; i++) {
        if (!p->stiff[i]) continue;
        for (int k = p->first[i]; k < p->first[i] + p->size[i]; k++)
            w->free_change[k] = w->force[k] - h * p->stiffness[k] * v[k];
        cal_dense_solve(p->mass_factor + p->mass_at[i], p->size[i], w->free_change + p->first[i]);
    }
}

// v⁺ of a step of size h from the configuration that was looked at; out holds a guess.
static void solve(work* w, const double* v, double h, double* out) {
    for (int k = 0; k < w->problem.row_count; k++) {
        cal_contact_row* touch = &w->problem.rows[k];
        for (int i = 0; i < 3; i++) touch->offset[i] = touch->drive[i];
        touch->offset[0] += fmax(touch->gap - touching * w->group->length, 0.0) / h;
    }
    take_forces_at_end(w, v, h);
    for (int i = 0; i < w->group->v_count; i++) w->target[i] = v[i] + h * w->free_change[i];
    cal_problem_constrain(&w->problem, h, w->target, out);
    w->report->evaluations += cal_problem_solve(&w->problem, w->target, out);
}

// Adds what the last solve gave to each body.
static void add_impulses(const work* w, double* out) {
    for (int k = 0; k < w->problem.row_count; k++) {
        const cal_contact_row* touch = &w->problem.rows[k];
        for (int side = 0; side < 2; side++) out[touch->body[side]] += touch->impulse[0];
    }
}

// Moves positions, and nothing else, where bodies overlap too deeply: along the contacts' normals, by little. Leaves the
// contacts at q as they were found.
static cal_status part(work* w, double time, double* q, double* v, cal_error* error) {
    const cal_group* group = w->group;
    const double allowed = allowed_overlap * group->length;
    cal_status status = look(w, time, q, v, 0.0, error);
    if (status != CAL_OK) return status;
    double deepest = 0.0;
    for (int k = 0; k < w->problem.row_count; k++) deepest = fmax(deepest, -w->problem.rows[k].gap);
    if (deepest <= allowed) return CAL_OK;
    for (int k = 0; k < w->problem.row_count; k++) {
        cal_contact_row* touch = &w->problem.rows[k];
        touch->friction = 0.0;
        touch->offset[1] = touch->offset[2] = 0.0;
        // To half of what is allowed, so that the next time is not soon; deep ones in several goes.
        touch->offset[0] = touch->gap + 0.5 * allowed;
        if (touch->offset[0] < 0.0) touch->offset[0] *= touch->gap < -10.0 * allowed ? parted_share : 1.0;
    }
    memset(w->target, 0, (size_t)group->v_count * sizeof *w->target);
    memset(w->first, 0, (size_t)group->v_count * sizeof *w->first);
    w->report->evaluations += cal_problem_solve_roughly(&w->problem, w->target, w->first);
    status = displace(group, time, q, w->first, 1.0, q, error);
    return status == CAL_OK ? project(group, time, q, v, error) : status;
}

// The largest of |Δ| over the units, with turns counted by the group's length.
static double measure(const cal_group* group, const double* a, const double* b, double scale_a, double scale_b) {
    double most = 0.0;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        for (int k = 0; k < unit->v_count; k++) {
            const double weight = unit->free && k < 3 ? 1.0 / group->length : 1.0;
            const int n = unit->first_v + k;
            most = cal_larger(most, weight * fabs(scale_a * a[n] - scale_b * b[n]));
        }
    }
    return most;
}

// Moves q along a velocity, takes over another one, and reports the impulses.
static cal_status accept(work* w, double time, double* q, double* v, const double* along, const double* velocity,
                         double h, cal_error* error) {
    const cal_status status = displace(w->group, time, q, along, h, w->next_q, error);
    if (status != CAL_OK) return status;
    memcpy(q, w->next_q, (size_t)w->group->q_count * sizeof *q);
    memcpy(v, velocity, (size_t)w->group->v_count * sizeof *v);
    for (int i = 0; w->report->impulses != NULL && i < w->group->body_count; i++)
        w->report->impulses[i] += w->impulses[i];
    return project(w->group, time, q, v, error);
}

// One step of size h or less: the size that was taken is in *h, what to try next in *next.
static cal_status step(work* w, double time, double* q, double* v, double smallest, double* h, double* next,
                       cal_error* error) {
    const cal_group* group = w->group;
    const int count = group->v_count;
    const double tolerance = sqrt(group->tolerance), coarse = 10.0 * tolerance;
    for (;;) {
        cal_status status = look(w, time, q, v, *h, error);
        if (status != CAL_OK) return status;
        memcpy(w->whole, v, (size_t)count * sizeof *v);
        solve(w, v, *h, w->whole);
        if (*h * (measure(group, w->whole, w->whole, 1.0, 0.0) + measure(group, v, v, 1.0, 0.0)) <= quiet * tolerance) {
            // Nothing moves to speak of: there is no error to find.
            memset(w->impulses, 0, (size_t)group->body_count * sizeof *w->impulses);
            add_impulses(w, w->impulses);
            *next = growth * *h;
            return accept(w, time, q, v, w->whole, w->whole, *h, error);
        }
        for (int i = 0; i < count; i++) w->first[i] = 0.5 * (v[i] + w->whole[i]);
        solve(w, v, 0.5 * *h, w->first);
        memset(w->impulses, 0, (size_t)group->body_count * sizeof *w->impulses);
        add_impulses(w, w->impulses);
        status = displace(group, time, q, w->first, 0.5 * *h, w->middle_q, error);
        if (status != CAL_OK) return status;
        status = look(w, time + 0.5 * *h, w->middle_q, w->first, 0.5 * *h, error);
        if (status != CAL_OK) return status;
        memcpy(w->second, w->whole, (size_t)count * sizeof *v);
        solve(w, w->first, 0.5 * *h, w->second);
        add_impulses(w, w->impulses);
        const double bend = *h * measure(group, w->second, w->whole, 1.0, 1.0);
        for (int i = 0; i < count; i++) w->target[i] = 0.5 * (w->first[i] + w->second[i]);
        const double miss = *h * measure(group, w->target, w->whole, 1.0, 1.0);
        const bool smooth = bend <= tolerance;
        if (!isfinite(bend) || !isfinite(miss))
            return cal_fail(error, CAL_NOT_FINITE, "a contact group became infinite at time %g", time);
        if (smooth || miss <= coarse || *h <= smallest) {
            const double wish = smooth ? 0.9 * sqrt(tolerance / fmax(bend, 1e-3 * tolerance)) : 1.0;
            *next = *h * fmin(growth, fmax(0.5, wish));
            for (int i = 0; i < count; i++) {
                if (smooth) w->target[i] = (v[i] + 4.0 * (w->first[i] + w->second[i]) - 3.0 * w->whole[i]) / 6.0;
                w->second[i] = smooth ? 2.0 * w->second[i] - w->whole[i] : w->second[i];
            }
            return accept(w, time, q, v, w->target, w->second, *h, error);
        }
        w->report->rejected++;
        *h = fmax(0.5 * *h, smallest);
    }
}

static cal_status advance(const cal_group* group, cal_group_interval* interval, double* q, double* v, double* memory,
                          double* scratch, int capacity, cal_group_report* report, cal_error* error) {
    work w;
    if (!begin(&w, group, scratch, capacity, report)) {
        report->contacts = 2 * capacity + 16;
        return CAL_NO_MEMORY;
    }
    const double length = interval->end - interval->begin, left = interval->end - interval->time;
    if (!(left > 0.0)) return CAL_OK;
    const double smallest = length / SMALLEST_PART, wish = memory[0] > 0.0 ? memory[0] : length;
    double h = fmin(fmax(wish, smallest), left);
    // No crumb is left for a last step.
    const bool last = left - h < 1e-9 * length;
    if (!last && left < 2.0 * h) h = 0.5 * left;
    const double tried = h;
    cal_status status = step(&w, interval->time, q, v, fmin(smallest, h), &h, &memory[0], error);
    if (status != CAL_OK) return status;
    report->steps++;
    interval->time = last && h == tried ? interval->end : interval->time + h;
    if (interval->time == interval->end) status = part(&w, interval->end, q, v, error);
    if (status != CAL_OK) return status;
    report->speed = largest_speed(group, v);
    report->contacts = 0;
    for (int i = 0; i < w.cache.count; i++) {
        report->contacts += w.cache.contacts[i].gap <= slack * group->length;
        report->penetration = fmax(report->penetration, -w.cache.contacts[i].gap);
    }
    return CAL_OK;
}

// One step of the convex problem from where the group is: what its impulses are over h.
static cal_status forces(const cal_group* group, double time, double h, const double* q, const double* v,
                         double* scratch, int capacity, cal_group_contact* contacts, double (*out)[3],
                         cal_group_report* report, cal_error* error) {
    work w;
    if (!begin(&w, group, scratch, capacity, report)) {
        report->contacts = 2 * capacity + 16;
        return CAL_NO_MEMORY;
    }
    const cal_status status = look(&w, time, q, v, h, error);
    if (status != CAL_OK) return status;
    memcpy(w.whole, v, (size_t)group->v_count * sizeof *v);
    solve(&w, v, h, w.whole);
    int row = 0;
    report->contacts = 0;
    for (int i = 0; i < w.cache.count; i++) {
        const cal_group_contact* contact = &w.cache.contacts[i];
        const cal_contact_row* touch = row < w.problem.row_count ? &w.problem.rows[row] : NULL;
        const bool mine = touch != NULL && touch->contact == i;
        row += mine;
        if (contact->gap > slack * group->length) continue;
        double frame[9], *force = out[report->contacts];
        cal_contact_frame(contact->normal, frame);
        contacts[report->contacts++] = *contact;
        for (int k = 0; k < 3; k++) {
            force[k] = 0.0;
            for (int r = 0; mine && r < 3; r++) force[k] += frame[3 * r + k] * touch->impulse[r];
            force[k] /= h;
        }
    }
    return CAL_OK;
}

const cal_group_ops cal_group_implicit = {
    .name = "implicit",
    .help = "implicit steps on a convex contact problem, Coulomb friction: stacks rest",
    .takes_loops = true,
    .memory_count = memory_count,
    .scratch_count = scratch_count,
    .step = advance,
    .forces = forces,
};
