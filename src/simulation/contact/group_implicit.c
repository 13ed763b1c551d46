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
// What gyroscopic terms do to a free body in h is found by the midpoint rule, and is part of f: at v they would gain energy.
//
// A step in which forces of contact jump (something hits or lets go) is taken as it is: of first order, and it takes energy
// away, never adds any. What such a jump may put positions off by, h |Δv|, is within a coarse tolerance. An impact that bounces
// (restitution) is one impulse at its own time τ within the step: with c the speed of approach there,
//
//     v_n(τ⁺) = e c,    q⁺ − q = h (v + v*)/2 + (h − τ) M⁻¹ Jᵀ λ        for what nothing else presses against
//
// so that bodies fly and bounce inside of a group as they do alone.
//
// Any other step is taken once whole (v_f) and once in two halves (v₁, v₂).
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
//               Where free bodies would have more energy at v⁺ than before, and more than forces have given them, v⁺ is as far from v₂
//               towards 2 v₂ − v_f as they do not.
//     not       h is halved
//
// Overlaps, which rounding and curved paths leave behind, are removed by moving positions alone: the same convex problem with
// no velocity, no friction and the overlaps to be parted, and its solution is a displacement. No kinetic energy comes in.
//
// Constraints of units are part of the convex problem (contact_problem.h). Wherever q was moved it is projected onto them, by mass,
// and at the end of a step so is v.
//
// Between steps the integrator remembers the step size to try next, and the force in each contact by its key, from which the next
// solve starts.
#include "math/vector.h"
#include "simulation/contact/group_trial.h"
#include <string.h>

// Pairs are noted at both ends of a way, and at one look on it at a time.
enum { PAIRS_PER_CONTACT = 3 };
enum { SMALLEST_PART = 64 };             // of an interval
static const double lost = 100.0 * 1e-3; // a hundred such steps, and what parts overlaps has not: it never will

static size_t scratch_count(const cal_group* group, int contacts) {
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count, bodies = (size_t)group->body_count;
    return cal_work_sort_count(group) + cal_smooth_count(group) + cal_problem_count(group, contacts) +
           3 * cal_contact_cache_count(group, contacts) + bodies + 9 * v + 3 * q + 12 * bodies +
           7 * (size_t)group->unit_count + 3 * (size_t)contacts +
           2 * PAIRS_PER_CONTACT * (size_t)contacts * (sizeof(cal_keyed) / sizeof(double)) + 64;
}

static bool begin(cal_group_work* w, const cal_group* group, double* memory, double* scratch, int capacity,
                  cal_group_report* report) {
    cal_arena arena = {scratch, scratch_count(group, capacity)};
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count;
    *w = (cal_group_work){.group = group, .report = report, .memory = memory, .known = memory};
    bool ok = cal_contact_cache_begin(&w->cache, group, capacity, report, &arena) &&
              cal_contact_cache_begin(&w->far, group, capacity, report, &arena) &&
              cal_contact_cache_begin(&w->last, group, capacity, report, &arena) && cal_work_sort_begin(w, &arena);
    w->far.beyond = w->last.beyond = w->cache.beyond;
    double** const velocities[] = {&w->force,  &w->free_change, &w->target,  &w->whole,  &w->first,
                                   &w->second, &w->predicted,   &w->balance, &w->start_v};
    for (size_t i = 0; i < sizeof velocities / sizeof velocities[0]; i++) *velocities[i] = cal_arena_numbers(&arena, v);
    w->middle_q = cal_arena_numbers(&arena, q);
    w->next_q = cal_arena_numbers(&arena, q);
    w->start_q = cal_arena_numbers(&arena, q);
    w->body_speeds = (double(*)[2][6])(void*)cal_arena_numbers(&arena, 12 * (size_t)group->body_count);
    w->impulses = cal_arena_numbers(&arena, (size_t)group->body_count);
    w->reach = cal_arena_numbers(&arena, (size_t)group->unit_count);
    w->turned = cal_arena_numbers(&arena, 3 * (size_t)group->unit_count);
    w->follows = cal_smooth_takes(group);
    const size_t flags = (3 * (size_t)group->unit_count * sizeof(bool) + sizeof(double) - 1) / sizeof(double);
    w->known_force = (double(*)[3])(void*)cal_arena_numbers(&arena, 3 * (size_t)capacity);
    w->ring = cal_arena_integers(&arena, (size_t)group->unit_count);
    w->quiet = (bool*)(void*)cal_arena_numbers(&arena, flags);
    ok = ok && w->start_v != NULL && w->start_q != NULL && w->body_speeds != NULL && w->known_force != NULL &&
         w->ring != NULL && w->quiet != NULL;
    w->pair_capacity = PAIRS_PER_CONTACT * capacity;
    w->pairs = (cal_keyed*)(void*)cal_arena_numbers(&arena,
                                                    2 * (size_t)w->pair_capacity * (sizeof *w->pairs / sizeof(double)));
    ok = ok && w->pairs != NULL;
    w->awake = ok ? w->quiet + group->unit_count : NULL;
    w->rests = ok ? w->awake + group->unit_count : NULL;
    ok = ok && w->reach != NULL && w->turned != NULL && cal_smooth_begin(&w->smooth, group, &arena);
    ok = ok && cal_problem_begin(&w->problem, group, &arena);
    w->rest = arena;
    w->varies = cal_group_varies(group);
    // A contact that changes changes accelerations by about gravity, and positions by half of that times the square of the step.
    const double pull = sqrt(cal_dot3(group->gravity, group->gravity));
    if (w->varies && pull > 0.0) w->event_step = sqrt(2.0 * group->tolerance * group->length / pull);
    return ok;
}

// How far the law of contact may put positions off in a step: multibodies have few contacts, and stiff joints that need them well.
static double allowed_miss(const cal_group_work* w) {
    return w->varies ? 0.0 : CAL_WORK_FOLLOWS * w->group->tolerance * w->group->length;
}

// How long a step may be for what turns: a way knows turns by their ends, and looks at it (group_bow.c) are so many.
static double longest_turn(const cal_group* group, const double* v) {
    double fastest = 0.0;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        double own[CAL_QUIET_SIZE];
        if (!(unit->lengths > 0)) continue;
        memcpy(own, v + unit->first_v, sizeof own);
        if (unit->ops->sweep != NULL) unit->ops->sweep(unit, own);
        fastest = fmax(fastest, sqrt(cal_dot3(own + 3, own + 3)));
    }
    return fastest > 0.0 ? CAL_STEP_TURNED / fastest : (double)INFINITY;
}

// What overlaps at the end of a step is parted, what has gained energy there is slowed down, and its way is bowed.
static cal_status finish(cal_group_work* w, double time, double h, double* q, double* v, cal_error* error) {
    const cal_group* group = w->group;
    if (!w->halved) cal_contact_cache_swap(&w->cache, &w->far);
    // What overlaps after a hit by more than two bodies go in such a step, each by what may overlap, and overlapped before, is parted in the next one: in
    // an instant it would be moved at any speed.
    cal_status status = CAL_OK;
    if (w->jolt > 0.0) status = cal_contact_cache_find(&w->cache, group, time, q, w->margin, error);
    if (status == CAL_OK &&
        (!(w->jolt > 0.0) || cal_contact_cache_deepest(&w->cache) <= 3.0 * CAL_WORK_OVERLAP * group->length))
        status = cal_work_part(w, time, q, v, error);
    if (status == CAL_OK && w->halved && !w->begin_known)
        status = cal_contact_cache_find(&w->far, group, time - h, w->start_q, w->margin, error);
    if (status == CAL_OK) status = cal_work_slow_down(w, time, h, q, v, error);
    if (status == CAL_OK && w->report->bow != NULL && !(w->jolt > 0.0))
        status = cal_work_bow(w, &(cal_group_way){time, h, q, v, w->report->bow}, error);
    return status;
}

static cal_status report_step(const cal_group_work* w, double time, const double* v, cal_error* error) {
    const cal_group* group = w->group;
    cal_group_report* report = w->report;
    report->speed = cal_group_speed(group, v);
    // Two loops: gcc 12's vectoriser for aarch64 fails on a count and a maximum in one.
    report->contacts = 0;
    for (int i = 0; i < w->cache.count; i++)
        report->contacts +=
            w->cache.contacts[i].stop == 0 && w->cache.contacts[i].gap <= CAL_WORK_SLACK * group->length;
    for (int i = 0; i < w->cache.count; i++) report->penetration = fmax(report->penetration, -w->cache.contacts[i].gap);
    if (!(report->penetration <= lost * group->length))
        return cal_fail(
            error, CAL_NOT_CONVERGED,
            "bodies in contact overlap by %.3g m at t = %g s, and no contact force parts them: what presses is too "
            "heavy for what carries it, or something drives bodies into each other",
            report->penetration, time);
    return CAL_OK;
}

static cal_status take_step(cal_group_work* w, cal_group_interval* interval, double* q, double* v, cal_error* error) {
    const cal_group* group = w->group;
    cal_group_report* report = w->report;
    double* memory = w->memory;
    cal_contact_cache_stop_at(&w->cache, group, q);
    // Smooth steps hold the contacts of all.
    w->leaves_out = !w->varies && !w->follows;
    w->lands = !w->varies && w->follows;
    w->smooth.landed = w->lands ? CAL_WORK_LANDED * group->length : 0.0;
    memset(w->awake, 0, (size_t)group->unit_count * sizeof *w->awake);
    w->close = allowed_miss(w);
    const double length = interval->end - interval->begin, left = interval->end - interval->time;
    if (!(left > 0.0)) return CAL_OK;
    // A foot that leaves is followed to where: with a tolerance that asks for less than a part of the interval, to what a smooth step may be.
    const double turning = longest_turn(group, v),
                 part = cal_work_rare_share(w) * fmin(length, turning) / SMALLEST_PART,
                 smallest = w->event_step > 0.0 ? fmin(part, fmax(w->event_step, CAL_STEP_KINKED * part)) : part,
                 wish = memory[CAL_WORK_NEXT_STEP] > 0.0 ? memory[CAL_WORK_NEXT_STEP] : length;
    // What has just been followed in a brief step goes on in such.
    const double usual = fmin(fmax(wish, smallest), fmin(turning, left));
    double h = w->lands ? fmin(fmax(wish, CAL_STEP_BRIEF * smallest), usual) : usual;
    w->smooth.least = smallest;
    // No crumb is left for a last step.
    const bool last = left - h < 1e-9 * length;
    if (!last && left < 2.0 * h) h = 0.5 * left;
    const double tried = h;
    w->interval = length, w->wished = h;
    memcpy(w->start_q, q, (size_t)group->q_count * sizeof *q);
    memcpy(w->start_v, v, (size_t)group->v_count * sizeof *v);
    cal_status status = w->varies ? cal_work_look_and_strike(w, interval->time, q, v, error) : CAL_OK;
    h = cal_work_after_hit(w, interval->end, h);
    const double brief_end = w->lands ? fmin(usual, 0.5 * left) : 0.0; // a brief step may be made longer again, to this
    if (status == CAL_OK)
        status = cal_trial_run(w, interval->time, q, v, fmin(smallest, fmax(h, brief_end)), &h,
                               &memory[CAL_WORK_NEXT_STEP], error);
    if (status != CAL_OK) return status;
    report->steps++;
    if (w->landings > 0 || w->jolt > 0.0) memory[CAL_WORK_NEXT_STEP] = fmax(memory[CAL_WORK_NEXT_STEP], w->wished);
    memory[CAL_WORK_PAUSE] = fmax(0.0, memory[CAL_WORK_PAUSE] - 1.0);
    cal_work_keep_landing(w);
    interval->time = last && h == tried ? interval->end : interval->time + h;
    status = finish(w, interval->time, h, q, v, error);
    return status == CAL_OK ? report_step(w, interval->time, v, error) : status;
}

static cal_status advance(const cal_group* group, cal_group_interval* interval, double* q, double* v, double* memory,
                          double* scratch, int capacity, cal_group_report* report, cal_error* error) {
    cal_group_work w;
    if (!begin(&w, group, memory, scratch, capacity, report)) {
        report->contacts = 2 * capacity + 16;
        return CAL_NO_MEMORY;
    }
    cal_work_unspin(&w, q, v);
    const cal_status status = take_step(&w, interval, q, v, error);
    cal_work_respin(&w, status == CAL_OK ? q : NULL, v);
    return status;
}

// One step of the convex problem from where the group is: what its impulses are over h. As in a step, what rests under the forces that are
// known is left out, and these are its forces.
static cal_status forces(const cal_group* group, double time, double h, const double* q, const double* v,
                         const double* memory, double* scratch, int capacity, cal_group_contact* contacts,
                         double (*out)[3], cal_group_report* report, cal_error* error) {
    cal_group_work w;
    if (!begin(&w, group, NULL, scratch, capacity, report)) {
        report->contacts = 2 * capacity + 16;
        return CAL_NO_MEMORY;
    }
    cal_contact_cache_stop_at(&w.cache, group, q);
    w.known = memory;
    w.close = allowed_miss(&w);
    w.leaves_out = !w.varies && !w.follows;
    memset(w.awake, 0, (size_t)group->unit_count * sizeof *w.awake);
    do {
        const cal_status status = cal_work_look(&w, time, q, v, h, false, error);
        if (status != CAL_OK) return status;
        memcpy(w.whole, v, (size_t)group->v_count * sizeof *v);
        cal_work_solve(&w, v, h, false, CAL_STEP_HALVES, w.whole);
    } while (cal_work_wake(&w, q, h));
    int row = 0;
    report->contacts = 0;
    for (int i = 0; i < w.cache.count; i++) {
        const cal_group_contact* contact = &w.cache.contacts[i];
        const cal_contact_row* touch = row < w.problem.row_count ? &w.problem.rows[row] : NULL;
        const bool mine = touch != NULL && touch->contact == i;
        row += mine;
        if (contact->stop > 0 || contact->gap > CAL_WORK_SLACK * group->length) continue;
        double frame[9], *force = out[report->contacts];
        cal_contact_frame(contact->normal, frame);
        contacts[report->contacts++] = *contact;
        for (int k = 0; k < 3; k++) {
            force[k] = 0.0;
            for (int r = 0; mine && r < 3; r++) force[k] += frame[3 * r + k] * touch->impulse[r];
            force[k] = cal_work_leaves_out(&w, contact) ? w.known_force[i][k] : force[k] / h;
        }
    }
    return CAL_OK;
}

// One step of the convex problem from rest.
static cal_status start(const cal_group* group, double time, double h, const double* q, const double* memory,
                        double* scratch, int capacity, double* speed, cal_group_report* report, cal_error* error) {
    cal_group_work w;
    if (!begin(&w, group, NULL, scratch, capacity, report)) {
        report->contacts = 2 * capacity + 16;
        return CAL_NO_MEMORY;
    }
    w.known = memory;
    memset(w.second, 0, (size_t)group->v_count * sizeof *w.second);
    memset(w.whole, 0, (size_t)group->v_count * sizeof *w.whole);
    const cal_status status = cal_work_look(&w, time, q, w.second, h, false, error);
    if (status != CAL_OK) return status;
    cal_work_solve(&w, w.second, h, false, CAL_STEP_HALVES, w.whole);
    *speed = cal_group_speed(group, w.whole);
    report->contacts = 0;
    return CAL_OK;
}

const cal_group_ops cal_group_implicit = {
    .name = "implicit",
    .help = "implicit steps on a convex contact problem, Coulomb friction: stacks rest",
    .takes_loops = true,
    .takes_impacts = true,
    .memory_count = cal_work_memory_count,
    .sound = cal_work_memory_sound,
    .add_memory = cal_work_add_memory,
    .scratch_count = scratch_count,
    .step = advance,
    .forces = forces,
    .start = start,
};
