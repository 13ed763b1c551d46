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
#include "base/finite.h"
#include "math/vector.h"
#include "simulation/contact/group_work.h"
#include <string.h>

enum {
    MOST_LANDINGS = 8
}; // a step is made shorter so often for a joint that comes to its stop, or for what stops sliding: each time its error is squared
// Pairs are noted at both ends of a way, and at one look on it at a time.
enum { PAIRS_PER_CONTACT = 3 };
enum { LONGEST_PAUSE = 32, SMALLEST_PART = 64, LEAST_SMOOTH = 16, FAILED_HALVES = 4 }; // parts of an interval
// What turns by itself turns alike in a whole step and in its halves, so that these differ by what contacts do.
enum { HALVES = 2 };
static const double kinked = 0.125; // of the smallest step: a smooth one is not shorter
static const double blink = 1e-6;   // of an interval: what moves in it nobody sees
static const double least = 1e-15;  // of a time: what is added to it and is not lost
static const double growth = 2.0;
static const double most_turned = 1.0;     // rad
static const double follow_varying = 1e-2; // as CAL_WORK_FOLLOWS, of multibodies, which seldom go on so for long
static const double lost = 100.0 * 1e-3;   // a hundred such steps, and what parts overlaps has not: it never will

static size_t scratch_count(const cal_group* group, int contacts) {
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count, bodies = (size_t)group->body_count;
    return cal_work_sort_count(group) + cal_smooth_count(group) + cal_problem_count(group, contacts) +
           3 * cal_contact_cache_count(group, contacts) + bodies + 9 * v + 3 * q + 12 * bodies +
           6 * (size_t)group->unit_count + 3 * (size_t)contacts +
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
    const size_t flags = (2 * (size_t)group->unit_count * sizeof(bool) + sizeof(double) - 1) / sizeof(double);
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
    ok = ok && w->reach != NULL && w->turned != NULL && (!w->follows || cal_smooth_begin(&w->smooth, group, &arena));
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

// The largest of |Δ| over the units, as angles.
static double measure(const cal_group* group, const double* a, const double* b, double scale_a, double scale_b) {
    double most = 0.0;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        for (int k = 0; k < unit->v_count; k++) {
            const double weight = cal_member_v_weight(unit, k, group->length);
            const int n = unit->first_v + k;
            most = cal_larger(most, weight * fabs(scale_a * a[n] - scale_b * b[n]));
        }
    }
    return most;
}

// Moves q along a velocity, takes over another one, and reports the impulses.
static cal_status accept(cal_group_work* w, double time, double* q, double* v, const double* along, double* velocity,
                         double h, double solved, double driven, cal_error* error) {
    w->report->work += driven;
    const cal_status status = cal_group_displace(w->group, time + h, q, along, h, w->next_q, error);
    if (status != CAL_OK) return status;
    memcpy(q, w->next_q, (size_t)w->group->q_count * sizeof *q);
    cal_work_take_turns(w, along, h);
    cal_work_calm(w, v, h, solved, velocity);
    memcpy(v, velocity, (size_t)w->group->v_count * sizeof *v);
    for (int i = 0; w->report->impulses != NULL && i < w->group->body_count; i++)
        w->report->impulses[i] += w->impulses[i];
    return cal_group_project(w->group, time + h, q, v, error);
}

// Tells of contacts that began with a hit in the whole step: there was no force in them before, and they closed faster than what
// bounces.
static void report_impacts(cal_group_work* w, double time, const double* v, double h) {
    cal_group_report* report = w->report;
    report->impact_count = w->struck;
    for (int k = 0; report->impacts != NULL && k < w->problem.row_count; k++) {
        const cal_contact_row* touch = &w->problem.rows[k];
        if (touch->stops || !(touch->impulse[0] > 0.0) || touch->last[0] > 0.0) continue;
        double u[3], frame[9];
        cal_problem_velocity(&w->problem, touch, v, u);
        const double closing = -u[0] - touch->drive[0];
        if (touch->impact < 0.0 && closing <= w->group->bounce_speed) continue;
        if (report->impact_count == report->impact_capacity) return;
        cal_group_impact* impact = &report->impacts[report->impact_count++];
        const double until = touch->impact >= 0.0 ? touch->impact : fmin(h, fmax(touch->gap, 0.0) / closing);
        *impact = (cal_group_impact){
            .time = time + until, .contact = w->cache.contacts[touch->contact], .bounces = touch->impact >= 0.0};
        cal_contact_frame(impact->contact.normal, frame);
        for (int i = 0; i < 3; i++)
            for (int r = 0; r < 3; r++) impact->impulse[i] += frame[3 * r + i] * touch->impulse[r];
    }
}

// By how much the velocities of the whole step jump: what contacts changed that their forces before would not have. Leaves in
// `predicted` how the units move in it, as the head of this file says.
static double find_jump(cal_group_work* w, const double* v, double h) {
    const cal_group* group = w->group;
    cal_problem* p = &w->problem;
    double *along = w->predicted, *rest = w->second;
    memset(rest, 0, (size_t)group->v_count * sizeof *rest);
    for (int k = 0; k < p->row_count; k++) memcpy(p->rows[k].held, p->rows[k].impulse, sizeof p->rows[k].held);
    for (int k = 0; k < p->row_count; k++)
        for (int i = 0; i < 3; i++) p->rows[k].impulse[i] = p->rows[k].held[i] - h * p->rows[k].last[i];
    cal_problem_push_all(p, 1.0, rest);
    for (int i = 0; i < group->unit_count; i++)
        cal_dense_solve(p->mass_factor + p->mass_at[i], p->size[i], rest + p->first[i]);
    const double jump = measure(group, rest, rest, 1.0, 0.0);
    // Impulses at times of their own, and whether there are others.
    memset(rest, 0, (size_t)group->v_count * sizeof *rest);
    memset(w->reach, 0, (size_t)group->unit_count * sizeof *w->reach);
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        const bool pressed = touch->held[0] > 0.0 && !(touch->impact >= 0.0 && touch->alone);
        for (int side = 0; pressed && side < 2; side++)
            if (touch->unit[side] >= 0) w->reach[touch->unit[side]] = 1.0;
        for (int i = 0; i < 3; i++) touch->impulse[i] = pressed ? 0.0 : touch->impact / h * touch->held[i];
    }
    cal_problem_push_all(p, 1.0, rest);
    for (int k = 0; k < p->row_count; k++) memcpy(p->rows[k].impulse, p->rows[k].held, sizeof p->rows[k].held);
    for (int i = 0; i < group->unit_count; i++) {
        cal_dense_solve(p->mass_factor + p->mass_at[i], p->size[i], rest + p->first[i]);
        const bool flies = w->reach[i] == 0.0 && !p->stiff[i] && p->loops[i].rows == 0;
        for (int n = p->first[i]; n < p->first[i] + p->size[i]; n++)
            along[n] = w->whole[n] - rest[n] + (flies ? 0.5 * (v[n] - w->target[n]) : 0.0);
    }
    return jump;
}

// Impacts at bodies that something else presses or hits in the same step are not alone: their times within the step cannot be told
// apart, and all act from its beginning. Returns how many there are.
static int find_company(cal_group_work* w) {
    cal_problem* p = &w->problem;
    int found = 0;
    memset(w->reach, 0, (size_t)w->group->unit_count * sizeof *w->reach);
    for (int k = 0; k < p->row_count; k++)
        for (int side = 0; side < 2; side++)
            if (p->rows[k].impulse[0] > 0.0 && p->rows[k].unit[side] >= 0) w->reach[p->rows[k].unit[side]] += 1.0;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        bool alone = true;
        for (int side = 0; side < 2; side++) alone &= touch->unit[side] < 0 || w->reach[touch->unit[side]] <= 1.0;
        if (touch->impact < 0.0 || alone || !touch->alone) continue;
        double a[3];
        cal_problem_velocity(p, touch, w->free_change, a);
        touch->offset[0] -= touch->impact * a[0];
        touch->alone = false;
        touch->impact = 0.0;
        found++;
    }
    return found;
}

// Goes on from the last solution.
static void solve_on(cal_group_work* w) {
    for (int k = 0; k < w->problem.row_count; k++)
        memcpy(w->problem.rows[k].held, w->problem.rows[k].impulse, sizeof w->problem.rows[k].held);
    w->report->solves++;
    w->report->newton += cal_problem_solve(&w->problem, w->target, w->whole);
}

// Whether contacts have added energy, which they never do, but for what bodies that are moved have worked.
static bool gains_energy(const cal_group_work* w, const double* v) {
    const double worked = 2.0 * fmax(cal_work_driven(w), 0.0);
    return cal_problem_energy(&w->problem, w->whole) >
           fmax(cal_problem_energy(&w->problem, w->target), cal_problem_energy(&w->problem, v)) + worked;
}

// The whole step, or a better solution of it. Impacts of several restitutions at once could make energy of nothing: then none of
// them bounces.
static void solve_whole(cal_group_work* w, const double* v, double h, bool again) {
    const size_t size = (size_t)w->group->v_count * sizeof *v;
    if (again)
        solve_on(w);
    else {
        memcpy(w->whole, v, size);
        cal_work_solve(w, v, h, !w->varies, HALVES, w->whole);
    }
    bool bounced = false;
    for (int k = 0; k < w->problem.row_count; k++) bounced |= w->problem.rows[k].impact >= 0.0;
    if (!bounced) return;
    if (find_company(w) > 0) solve_on(w);
    if (!gains_energy(w, v)) return;
    memcpy(w->whole, v, size);
    cal_work_solve(w, v, h, false, HALVES, w->whole);
}

// How much of the extrapolation is taken: as much as adds no energy to what there was and what forces did on the way, since contacts never
// add any. With d = v₂ − v_f the kinetic energy of v₂ + θ d is a parabola in θ.
static double find_extrapolation(const cal_group_work* w, const double* v, double h) {
    const cal_group* group = w->group;
    const cal_problem* p = &w->problem;
    double *d = p->work, *Md = p->gradient, linear = 0.0;
    double most = cal_problem_energy(p, v) + 2.0 * (w->first_work + w->second_work);
    for (int i = 0; i < group->unit_count; i++)
        for (int k = 0; k < group->units[i].v_count; k++) {
            const int n = group->units[i].first_v + k;
            d[n] = w->second[n] - w->whole[n];
            // Turning forces do work on the speeds that they were found for: then those of a gyroscope do none.
            const double along = k < group->units[i].lengths
                                     ? (v[n] + 4.0 * (w->first[n] + w->second[n]) - 3.0 * w->whole[n]) / 6.0
                                     : w->first[n];
            most += 2.0 * h * w->force[n] * along;
        }
    const double square = cal_problem_times_mass(p, d, Md), there = cal_problem_energy(p, w->second);
    for (int n = 0; n < group->v_count; n++) linear += w->second[n] * Md[n];
    // Energies of two multiplications are good to a few bits of the largest.
    if (there + 2.0 * linear + square <= most + 1e-15 * (there + most) || !(square > 0.0)) return 1.0;
    // Between the roots there is no more; where that is nowhere, the end that has less.
    const double root = linear * linear + square * (most - there);
    const double low = (-linear - sqrt(fmax(root, 0.0))) / square, high = (-linear + sqrt(fmax(root, 0.0))) / square;
    if (root >= 0.0 && high >= 0.0 && low <= 1.0) return fmin(1.0, high);
    return 2.0 * linear + square <= 0.0 ? 1.0 : 0.0;
}

// The two halves after the whole: v⁺ in `second`, and what q moves along in `target`; of the second order if all three are smooth.
static cal_status try_smooth(cal_group_work* w, double time, const double* q, const double* v, double h,
                             double tolerance, double* bend, double* miss, cal_error* error) {
    const cal_group* group = w->group;
    const int count = group->v_count;
    for (int k = 0; k < w->problem.row_count; k++)
        for (int i = 0; i < 3; i++) w->problem.rows[k].last[i] = w->problem.rows[k].impulse[i] / h;
    for (int i = 0; i < count; i++) w->first[i] = 0.5 * (v[i] + w->whole[i]);
    cal_work_solve(w, v, 0.5 * h, false, 1, w->first);
    w->first_work = cal_work_driven(w);
    memset(w->impulses, 0, (size_t)group->body_count * sizeof *w->impulses);
    cal_work_add_impulses(w, w->impulses);
    cal_work_remember(w, 0.5 * h);
    cal_status status = cal_group_displace(group, time + 0.5 * h, q, w->first, 0.5 * h, w->middle_q, error);
    cal_contact_cache_swap(&w->cache, &w->far); // those of the begin stay
    w->halved = w->begin_known = true;
    if (status == CAL_OK) status = cal_work_look(w, time + 0.5 * h, w->middle_q, w->first, 0.5 * h, true, error);
    if (status != CAL_OK) return status;
    memcpy(w->second, w->whole, (size_t)count * sizeof *v);
    cal_work_solve(w, w->first, 0.5 * h, false, 1, w->second);
    w->second_work = cal_work_driven(w);
    cal_work_add_impulses(w, w->impulses);
    *bend = h * measure(group, w->second, w->whole, 1.0, 1.0);
    if (!isfinite(*bend)) return cal_fail(error, CAL_NOT_FINITE, "a contact group became infinite at time %g", time);
    cal_work_remember(w, 0.5 * h);
    // Something that hits at once, and of which no force was known, is in the first half alone; then no cubic leads there.
    for (int i = 0; i < count; i++) w->target[i] = 2.0 * w->first[i] - v[i];
    if (!w->varies && h * measure(group, w->second, w->target, 1.0, 1.0) > tolerance) *bend = INFINITY;
    for (int i = 0; i < count; i++) w->target[i] = 0.5 * (w->first[i] + w->second[i]);
    *miss = h * measure(group, w->target, w->whole, 1.0, 1.0);
    w->extrapolated = *bend > tolerance ? 0.0 : w->varies ? 1.0 : find_extrapolation(w, v, h);
    for (int i = 0; w->extrapolated > 0.0 && i < count; i++) {
        const double along = (v[i] + 4.0 * (w->first[i] + w->second[i]) - 3.0 * w->whole[i]) / 6.0;
        w->target[i] += w->extrapolated * (along - w->target[i]);
        w->second[i] += w->extrapolated * (w->second[i] - w->whole[i]);
    }
    return CAL_OK;
}

// What the solution of the whole step does, beside velocities.
static void take_whole(cal_group_work* w, double time, const double* v, double h) {
    w->whole_work = cal_work_driven(w);
    memset(w->impulses, 0, (size_t)w->group->body_count * sizeof *w->impulses);
    cal_work_add_impulses(w, w->impulses);
    report_impacts(w, time, v, h);
}

// How deep bodies overlap after a step, since their ways are not straight.
static cal_status find_depth(cal_group_work* w, double time, const double* q, double h, double* depth,
                             cal_error* error) {
    *depth = 0.0;
    w->begin_known = false;
    cal_status status = cal_group_displace(w->group, time, q, w->predicted, h, w->next_q, error);
    // With the margin that the end of the step is looked at with.
    if (status == CAL_OK) status = cal_contact_cache_find(&w->far, w->group, time, w->next_q, w->margin, error);
    for (int k = 0; status == CAL_OK && k < w->far.count; k++) *depth = fmax(*depth, -w->far.contacts[k].gap);
    return status;
}

// A row becomes the mean of itself and of what it is at the end of the step, with the contact as it is there.
static cal_status take_mean_row(cal_group_work* w, cal_contact_row* touch, const cal_group_contact* there) {
    double frame[9], rows[3 * CAL_QUIET_SIZE];
    cal_contact_frame(there->normal, frame);
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const cal_status status = cal_contact_side(w->group, w->next_q, there, side, frame, w->problem.block, rows);
        if (status != CAL_OK) return status;
        for (int i = 0; i < 3 * w->problem.size[touch->unit[side]]; i++)
            touch->jacobian[side][i] = 0.5 * (touch->jacobian[side][i] + rows[i]);
    }
    cal_problem_answer(&w->problem, touch);
    return CAL_OK;
}

// The whole step again, with gaps as they are at its end: what turns takes its points on circles, and gaps close or open by more than
// their speeds say. Rows are those of the mean of both ends, at which a gap changes as they say, to the third order: with those of the
// begin a force would lift what rolls, and work, though the point that it acts on does not move. Contacts of the step and of its end are
// in one order. Returns whether it has taken no energy from nowhere.
static bool solve_bent(cal_group_work* w, const double* v, double h) {
    const cal_contact_cache* far = &w->far;
    int next = 0;
    for (int k = 0; k < w->problem.row_count; k++) {
        cal_contact_row* touch = &w->problem.rows[k];
        const uint64_t key = w->cache.contacts[touch->contact].key;
        const int at = cal_contact_cache_same(far, key, next);
        if (at < 0 || touch->stops || touch->impact >= 0.0) continue;
        next = at;
        double u[3];
        if (take_mean_row(w, touch, &far->contacts[at]) != CAL_OK) return false;
        cal_problem_velocity(&w->problem, touch, w->predicted, u);
        touch->offset[0] += (far->contacts[at].gap - touch->gap) / h - u[0] - touch->drive[0];
    }
    w->problem.rough = true;
    solve_on(w);
    w->problem.rough = false;
    return !gains_energy(w, v);
}

// Where halves were not smooth FAILED_HALVES times in a row or more, they are tried after as many steps again, but not more than
// LONGEST_PAUSE: in a large group something slides or turns at all times. What is smooth again is found after so few steps that those
// between, of first order, do not count.
static void set_pause(cal_group_work* w, bool smooth) {
    double* failed = &w->memory[CAL_WORK_LAST_PAUSE];
    *failed = smooth ? 0.0 : *failed + 1.0;
    w->memory[CAL_WORK_PAUSE] = *failed >= FAILED_HALVES ? fmin(*failed, LONGEST_PAUSE) + 1.0 : 0.0;
}

// x^(1/5) of a positive number, to a part in a thousand: Newton's method, from above.
static double fifth_root(double x) {
    double y = fmax(1.0, x);
    for (int i = 0; i < 60; i++) {
        const double next = 0.8 * y + 0.2 * x / (y * y * y * y);
        if (!(next < 0.9999 * y)) break;
        y = next;
    }
    return y;
}

// Whether a step is too long, since what was apart where it begins overlaps where it ends.
static bool shorten(cal_group_work* w, const cal_contact_cache* begin, const cal_contact_cache* end, double* h) {
    const double shorter = cal_work_find_overshoot(w, begin, end, *h);
    if (!(shorter < *h) || w->landings++ >= MOST_LANDINGS) return false;
    w->report->rejected++;
    w->report->impact_count = w->struck;
    *h = shorter;
    return true;
}

// The same of one that moves q along a velocity.
static cal_status shorten_along(cal_group_work* w, double time, const double* q, const double* along, double* h,
                                bool* shorter, cal_error* error) {
    *shorter = false;
    if (!w->lands) return CAL_OK;
    cal_status status = cal_group_displace(w->group, time + *h, q, along, *h, w->next_q, error);
    if (status == CAL_OK) status = cal_contact_cache_find(&w->last, w->group, time + *h, w->next_q, w->margin, error);
    if (status == CAL_OK) *shorter = shorten(w, w->halved ? &w->far : &w->cache, &w->last, h);
    return status;
}

// Where contacts that touch, or joints at their stops, are approached, all of them are hit at once, before the step: the
// convex problem without forces and time, of the last look. Contacts of multibodies as plastic impacts: what bounces there was an event of its own.
static bool strike_all(cal_group_work* w, double time, double* v) {
    if (!cal_work_strike(w, v, w->interval)) return false;
    w->report->work += cal_work_driven(w);
    report_impacts(w, time, v, 0.0);
    w->struck = w->report->impact_count;
    for (int i = 0; i < w->group->v_count; i++) w->second[i] = w->whole[i] - v[i];
    w->jolt = cal_group_speed(w->group, w->second);
    memcpy(v, w->whole, (size_t)w->group->v_count * sizeof *v);
    return true;
}

// The same with a look of its own.
static cal_status strike(cal_group_work* w, double time, double* q, double* v, cal_error* error) {
    const cal_status status = cal_work_look(w, time, q, v, 0.0, false, error);
    if (status != CAL_OK || !strike_all(w, time, v)) return status;
    return cal_group_project(w->group, time, q, v, error);
}

// Between states bodies follow cubics, which do not turn round at once: after a hit the next state comes before anything has gone
// further than what may overlap.
static double after_hit(const cal_group_work* w, double time, double h) {
    if (!(w->jolt > 0.0)) return h;
    const double far = CAL_WORK_OVERLAP * w->group->length / w->jolt;
    return fmin(h, fmax(fmin(blink * w->interval, far), least * fabs(time)));
}

// One step of size h or less: the size that was taken is in *h, what to try next in *next.
static cal_status step(cal_group_work* w, double time, double* q, double* v, double smallest, double* h, double* next,
                       cal_error* error) {
    const cal_group* group = w->group;
    const double tolerance = sqrt(group->tolerance), coarse = 10.0 * tolerance,
                 fine = w->varies ? tolerance : group->tolerance;
    while (*h > smallest && cal_work_strays(w, time, *h, q) > CAL_WORK_OVERLAP * group->length)
        *h = fmax(0.5 * *h, smallest);
    for (int failed = 0, stopped = 0;;) {
        w->halved = w->begin_known = false;
        cal_status status = cal_work_look(w, time, q, v, *h, false, error);
        if (status != CAL_OK) return status;
        if (w->lands && !w->asked) {
            w->asked = true;
            if (strike_all(w, time, v)) {
                *h = after_hit(w, time, *h);
                continue;
            }
        }
        // Smooth steps are explicit: where joint forces would make them much shorter than the group's, they are not for it.
        const double longest = w->follows ? cal_smooth_longest(&w->problem) : 0.0;
        const bool follows = w->follows && longest >= LEAST_SMOOTH * smallest;
        if (follows && w->memory[CAL_WORK_PAUSE] <= 0.0 && *h > longest) {
            *h = longest;
            continue;
        }
        // Where forces jump, the step itself is not better than a rough solution.
        w->problem.rough = !w->varies;
        solve_whole(w, v, *h, false);
        double jump = *h * find_jump(w, v, *h);
        const double large = w->varies ? tolerance : 10.0 * fine;
        const bool still = *h * (measure(group, w->whole, w->whole, 1.0, 0.0) + measure(group, v, v, 1.0, 0.0)) <=
                           CAL_WORK_QUIET * tolerance;
        // And where they do not, what its halves are compared with; of sweeps alone any.
        if (w->problem.rough && (still || follows || !w->problem.factors) &&
            !(jump > large && w->memory[CAL_WORK_FORCE_COUNT] > 0.0)) {
            w->problem.rough = false;
            solve_whole(w, v, *h, true);
            jump = *h * find_jump(w, v, *h);
        }
        w->problem.rough = false;
        if (cal_work_wake(w, q, *h)) continue;
        const double landing = cal_work_find_landing(w, v, *h);
        if (landing < *h && w->landings++ < MOST_LANDINGS) {
            *h = landing;
            continue;
        }
        if (!isfinite(jump)) return cal_fail(error, CAL_NOT_FINITE, "a contact group became infinite at time %g", time);
        take_whole(w, time, v, *h);
        if (still) {
            // Nothing moves to speak of: there is no error to find.
            *next = growth * *h;
            cal_work_remember(w, *h);
            return accept(w, time, q, v, w->whole, w->whole, *h, *h, w->whole_work, error);
        }
        // Of forces that are known.
        const bool jumps = jump > large && w->memory[CAL_WORK_FORCE_COUNT] > 0.0;
        const bool paused = w->memory[CAL_WORK_PAUSE] > 0.0;
        if (!paused && follows && cal_smooth_hold(&w->smooth, &w->problem, &w->cache, w->rest, v)) {
            cal_work_remember(w, *h);
            double off = INFINITY;
            const double share = w->varies ? follow_varying : CAL_WORK_FOLLOWS;
            w->halved = true; // contacts are those of its parts
            status = cal_smooth_step(&w->smooth, time, q, v, *h, share * group->tolerance, &off, error);
            if (status == CAL_OK && off <= 1.0 && w->smooth.hits) {
                status = cal_contact_cache_find(&w->far, group, time, q, w->margin, error);
                if (status == CAL_OK && shorten(w, &w->far, &w->cache, h)) continue;
                off = INFINITY;
            }
            if (status != CAL_OK) return status;
            // What slides ends the step where it stops: from there on it rests, or slides another way. What stops at once does so in steps
            // that are not smooth: forces turn round.
            if (isfinite(off) && w->smooth.stops < 1.0) {
                if (w->smooth.stops * *h >= kinked * smallest && stopped++ < MOST_LANDINGS) {
                    w->report->rejected++;
                    *h *= w->smooth.stops;
                    continue;
                }
                off = INFINITY;
            }
            if (off <= 1.0) {
                w->memory[CAL_WORK_LAST_PAUSE] = 0.0;
                *next = *h * fmin(growth, 0.9 / fifth_root(fmax(off, 1e-3)));
                // One that was shortened for what it comes to tells how long it could have been.
                w->wished = fmin(w->wished, 0.9 * *h / fifth_root(fmax(off, 1e-15)));
                memcpy(q, w->smooth.q, (size_t)group->q_count * sizeof *q);
                memcpy(v, w->smooth.v, (size_t)group->v_count * sizeof *v);
                memcpy(w->turned, w->smooth.turned, 3 * (size_t)group->unit_count * sizeof *w->turned);
                w->report->work += w->smooth.work;
                for (int i = 0; w->report->impulses != NULL && i < group->body_count; i++)
                    w->report->impulses[i] += w->impulses[i];
                return CAL_OK;
            }
            // Too long; or something happens in it, and then it is come to in steps that are as short as they may be. What is not smooth in an
            // eighth of these either, 1/512 of a radian, is no motion that the fifth order knows: accelerations jump at edges. Nor is what is not
            // as good there as the fifth order has said: what slides so slowly that friction turns it about at once.
            failed += isfinite(off) && *h <= smallest;
            if ((isfinite(off) && *h > kinked * smallest && failed < 2) || *h > fmax(smallest, w->event_step)) {
                const double shorter = isfinite(off) ? fmax(0.2, 0.9 / fifth_root(off)) : 0.5;
                w->report->rejected++;
                *h = isfinite(off) ? *h * shorter : fmax(*h * shorter, smallest);
                if (w->lands) w->wished = fmin(w->wished, *h);
                continue;
            }
            // What changes here may go on changing: the longer, the more rarely it is tried.
            w->memory[CAL_WORK_LAST_PAUSE] = fmin(LONGEST_PAUSE, fmax(2.0, 2.0 * w->memory[CAL_WORK_LAST_PAUSE]));
            w->memory[CAL_WORK_PAUSE] = w->memory[CAL_WORK_LAST_PAUSE] + 1.0;
            w->halved = false;
            status = cal_work_look(w, time, q, v, *h, false, error);
            if (status != CAL_OK) return status;
            solve_whole(w, v, *h, false);
            find_jump(w, v, *h);
            w->whole_work = cal_work_driven(w);
        }
        // Forces of contact act once in other steps, and would turn an axis that yields as if nothing spun about it.
        if (*h * w->nutation > most_turned) {
            *h = most_turned / w->nutation;
            continue;
        }
        double bend = INFINITY, miss = INFINITY;
        const bool halved = w->varies || !(jumps || (paused && !w->follows));
        if (halved) status = try_smooth(w, time, q, v, *h, fine, &bend, &miss, error);
        if (status != CAL_OK) return status;
        if (halved && !jumps && cal_work_wake(w, w->middle_q, 0.5 * *h)) continue;
        if (halved && !w->follows && !w->varies) set_pause(w, isfinite(bend));
        bool shorter = false;
        if (bend <= fine) status = shorten_along(w, time, q, w->target, h, &shorter, error);
        if (status != CAL_OK) return status;
        if (shorter) continue;
        if (bend <= fine) {
            *next = *h * fmin(growth, fmax(0.5, 0.9 * sqrt(fine / fmax(bend, 1e-3 * fine))));
            // Extrapolated as velocities are.
            const double halves = w->first_work + w->second_work,
                         driven = halves + w->extrapolated * (halves - w->whole_work);
            return accept(w, time, q, v, w->target, w->second, *h, 0.5 * *h, driven, error);
        }
        if (w->varies && isfinite(bend) && (*h <= fmax(smallest, w->event_step) || miss <= fine)) {
            *next = *h;
            return accept(w, time, q, v, w->target, w->second, *h, 0.5 * *h, w->first_work + w->second_work, error);
        }
        const bool nearly = bend <= 16.0 * fine; // a quarter of the step would be smooth
        double depth = 0.0;
        if (!w->varies && jump <= coarse && !nearly && *h > smallest)
            status = find_depth(w, time + *h, q, *h, &depth, error);
        if (status == CAL_OK && !halved && depth > CAL_WORK_BENT * group->length && solve_bent(w, v, *h)) {
            jump = *h * find_jump(w, v, *h);
            if (cal_work_wake(w, q, *h)) continue;
            take_whole(w, time, v, *h);
            status = find_depth(w, time + *h, q, *h, &depth, error);
        }
        if (status != CAL_OK) return status;
        if (!w->varies && ((jump <= coarse && !nearly && depth <= CAL_WORK_BENT * group->length) || *h <= smallest)) {
            status = shorten_along(w, time, q, w->predicted, h, &shorter, error);
            if (status != CAL_OK) return status;
            if (shorter) continue;
            *next = *h * fmin(growth, fmax(0.5, 0.9 * sqrt(coarse / jump)));
            if (!halved) cal_work_remember(w, *h);
            w->report->straight = true;
            return accept(w, time, q, v, w->predicted, w->whole, *h, halved ? 0.5 * *h : *h, w->whole_work, error);
        }
        w->report->rejected++;
        w->report->impact_count = w->struck;
        *h = fmax(0.5 * *h, smallest);
    }
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
    return fastest > 0.0 ? most_turned / fastest : (double)INFINITY;
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
    const double turning = longest_turn(group, v), part = fmin(length, turning) / SMALLEST_PART,
                 smallest = w->event_step > 0.0 ? fmin(part, fmax(w->event_step, kinked * part)) : part,
                 wish = memory[CAL_WORK_NEXT_STEP] > 0.0 ? memory[CAL_WORK_NEXT_STEP] : length;
    double h = fmin(fmax(wish, smallest), fmin(turning, left));
    // No crumb is left for a last step.
    const bool last = left - h < 1e-9 * length;
    if (!last && left < 2.0 * h) h = 0.5 * left;
    const double tried = h;
    w->interval = length, w->wished = h;
    memcpy(w->start_q, q, (size_t)group->q_count * sizeof *q);
    memcpy(w->start_v, v, (size_t)group->v_count * sizeof *v);
    cal_status status = w->varies ? strike(w, interval->time, q, v, error) : CAL_OK;
    h = after_hit(w, interval->end, h);
    if (status == CAL_OK)
        status = step(w, interval->time, q, v, fmin(smallest, h), &h, &memory[CAL_WORK_NEXT_STEP], error);
    if (status != CAL_OK) return status;
    report->steps++;
    if (w->landings > 0 || w->jolt > 0.0) memory[CAL_WORK_NEXT_STEP] = fmax(memory[CAL_WORK_NEXT_STEP], w->wished);
    memory[CAL_WORK_PAUSE] = fmax(0.0, memory[CAL_WORK_PAUSE] - 1.0);
    memory[CAL_WORK_GOES_ON] = w->landings == 0 ? 1.0 : 0.0;
    interval->time = last && h == tried ? interval->end : interval->time + h;
    if (!w->halved) cal_contact_cache_swap(&w->cache, &w->far);
    // What overlaps after a hit by more than two bodies go in such a step, each by what may overlap, and overlapped before, is parted in the next one: in
    // an instant it would be moved at any speed.
    if (w->jolt > 0.0) status = cal_contact_cache_find(&w->cache, group, interval->time, q, w->margin, error);
    if (status == CAL_OK &&
        (!(w->jolt > 0.0) || cal_contact_cache_deepest(&w->cache) <= 3.0 * CAL_WORK_OVERLAP * group->length))
        status = cal_work_part(w, interval->time, q, v, error);
    if (status == CAL_OK && w->halved && !w->begin_known)
        status = cal_contact_cache_find(&w->far, group, interval->time - h, w->start_q, w->margin, error);
    if (status == CAL_OK) status = cal_work_slow_down(w, interval->time, h, q, v, error);
    if (status == CAL_OK && report->bow != NULL && !(w->jolt > 0.0))
        status = cal_work_bow(w, &(cal_group_way){interval->time, h, q, v, report->bow}, error);
    if (status != CAL_OK) return status;
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
            report->penetration, interval->time);
    return CAL_OK;
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
        cal_work_solve(&w, v, h, false, HALVES, w.whole);
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
    cal_work_solve(&w, w.second, h, false, HALVES, w.whole);
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
