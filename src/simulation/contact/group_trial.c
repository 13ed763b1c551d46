// One step of a contact group, as it is tried: looked at, solved as a whole, and then taken in the first of these ways that holds
// (group_implicit.c has what they are):
//
//     still      nothing moves to speak of: as it is
//     followed   contacts neither begin nor end: by the equations of motion, with them as constraints (group_smooth.c)
//     halves     smooth: extrapolated from the whole and two halves
//     rough      forces jump: as it is, of first order
//
// A step that holds in none is tried again, shorter; so is one in which something is come to, or wakes.
#include "simulation/contact/group_trial.h"
#include <string.h>

// A step is made shorter so often for a joint that comes to its stop, or for what stops sliding: each time its error is squared.
enum { MOST_LANDINGS = 8 };
enum { LONGEST_PAUSE = 32, LEAST_SMOOTH = 16, FAILED_HALVES = 4 }; // parts of an interval
// Of brief steps, which are shorter than BRIEF times the smallest one, there may be so many more than of a quarter of the others: as many as there are
// smallest ones in an interval. Explicit steps are no longer than about 3 s / g, in which friction turns what slides at s round. Where something
// begins to slide s grows, and some dozens of steps are enough. What goes on to slide so slowly is left to implicit steps, which are much
// longer; at a finer tolerance than the usual one they are less so, since theirs go with its root, and errors are what it is about.
enum { BRIEF = 4, MOST_BRIEF = 64 };
static const double regained = 0.25;
static const double growth = 2.0;
static const double follow_varying = 1e-2; // as CAL_WORK_FOLLOWS, of multibodies, which seldom go on so for long

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
    *bend = h * cal_work_measure(group, w->second, w->whole, 1.0, 1.0);
    if (!isfinite(*bend)) return cal_fail(error, CAL_NOT_FINITE, "a contact group became infinite at time %g", time);
    cal_work_remember(w, 0.5 * h);
    // Something that hits at once, and of which no force was known, is in the first half alone; then no cubic leads there.
    for (int i = 0; i < count; i++) w->target[i] = 2.0 * w->first[i] - v[i];
    if (!w->varies && h * cal_work_measure(group, w->second, w->target, 1.0, 1.0) > tolerance) *bend = INFINITY;
    for (int i = 0; i < count; i++) w->target[i] = 0.5 * (w->first[i] + w->second[i]);
    *miss = h * cal_work_measure(group, w->target, w->whole, 1.0, 1.0);
    w->extrapolated = *bend > tolerance ? 0.0 : w->varies ? 1.0 : find_extrapolation(w, v, h);
    for (int i = 0; w->extrapolated > 0.0 && i < count; i++) {
        const double along = (v[i] + 4.0 * (w->first[i] + w->second[i]) - 3.0 * w->whole[i]) / 6.0;
        w->target[i] += w->extrapolated * (along - w->target[i]);
        w->second[i] += w->extrapolated * (w->second[i] - w->whole[i]);
    }
    return CAL_OK;
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
    if (!w->lands && !w->elastic) return CAL_OK;
    cal_status status = cal_group_displace(w->group, time + *h, q, along, *h, w->next_q, error);
    if (status == CAL_OK) status = cal_contact_cache_find(&w->last, w->group, time + *h, w->next_q, w->margin, error);
    if (status == CAL_OK) *shorter = shorten(w, w->halved ? &w->far : &w->cache, &w->last, h);
    return status;
}

typedef struct trial {
    cal_group_work* w;
    double time, *q, *v;
    double smallest, h, next;       // sizes: of the least, of this, of what to try after it
    double tolerance, coarse, fine; // of halves that multibodies are in; of jumps; of halves
    double jump;                    // of the whole step
    bool follows;                   // it is not too stiff for smooth steps
    bool still, jumps, paused;
    bool halved;
    double bend, miss;   // of halves: from the extrapolation, and from the whole
    int failed, stopped; // smooth ones as short as may be that were not good; made shorter for what stops
    cal_status status;
    cal_error* error;
} trial;

typedef enum decision { OPEN, AGAIN, TAKEN, FAILED } decision;

static decision is_well(trial* t, cal_status status) {
    t->status = status;
    return status == CAL_OK ? OPEN : FAILED;
}

static decision take(trial* t, cal_status status, double next) {
    t->next = t->w->lands ? fmax(next, t->smallest) : next;
    return is_well(t, status) == FAILED ? FAILED : TAKEN;
}

static decision again(trial* t, double h) {
    t->h = h;
    return AGAIN;
}

// Whether steps of a small group of free bodies may be as brief as they must. What is held by several contacts has accelerations that jump.
static bool may_be_brief(const cal_group_work* w) {
    const double finer = fmax(1.0, CAL_STEP_USUAL / w->group->tolerance);
    return w->lands && w->memory[CAL_WORK_BRIEF] < MOST_BRIEF * finer * finer && cal_smooth_is_simple(&w->smooth);
}

// Whether it is briefer than it may go on to be. What comes to something, stops or was hit is brief for another reason.
static bool is_needlessly_brief(const trial* t) {
    const cal_group_work* w = t->w;
    return w->lands && !(w->jolt > 0.0) && w->landings == 0 && t->stopped == 0 && t->h < t->smallest &&
           !may_be_brief(w);
}

static bool is_paused(const trial* t) { return t->w->memory[CAL_WORK_PAUSE] > 0.0; }

// Whether it is asked what is hit where the step begins.
static bool asks_for_hits(const cal_group_work* w) {
    return w->lands || (!w->varies && (w->elastic || cal_work_has_landed(w)));
}

// Contacts where it begins; what is hit there is hit before it.
static decision look(trial* t) {
    cal_group_work* w = t->w;
    w->leaves_out = w->leaves_out && !cal_work_has_landed(w);
    w->halved = w->begin_known = false;
    if (is_well(t, cal_work_look(w, t->time, t->q, t->v, t->h, false, t->error))) return FAILED;
    if (asks_for_hits(w) && !w->asked) {
        const bool lands = w->lands;
        w->asked = true;
        w->lands = lands || cal_work_has_landed(w);
        const bool struck = cal_work_strike(w, t->time, t->v);
        w->lands = lands;
        if (struck && !lands && cal_work_has_landed(w)) cal_work_rest_after_hit(w, t->v);
        if (struck) return again(t, cal_work_after_hit(w, t->time, t->h));
    }
    // Smooth steps are explicit: where joint forces would make them much shorter than the group's, they are not for it.
    const double longest = w->follows ? cal_smooth_longest(&w->problem) : 0.0;
    t->follows = w->follows && longest >= LEAST_SMOOTH * t->smallest;
    return t->follows && !is_paused(t) && t->h > longest ? again(t, longest) : OPEN;
}

static void solve(trial* t, bool again) {
    cal_whole_solve(t->w, t->v, t->h, again);
    t->jump = t->h * cal_whole_find_jump(t->w, t->v, t->h);
}

// The whole step, which tells what wakes and what is come to in it.
static decision try_whole(trial* t) {
    cal_group_work* w = t->w;
    const cal_group* group = w->group;
    const double *v = t->v, h = t->h, large = w->varies ? t->tolerance : 10.0 * t->fine;
    const bool knows = w->memory[CAL_WORK_FORCE_COUNT] > 0.0;
    // Where forces jump, the step itself is not better than a rough solution.
    w->problem.rough = !w->varies;
    solve(t, false);
    t->still = h * (cal_work_measure(group, w->whole, w->whole, 1.0, 0.0) + cal_work_measure(group, v, v, 1.0, 0.0)) <=
               CAL_WORK_QUIET * t->tolerance;
    // And where they do not, what its halves are compared with; of sweeps alone any.
    if (w->problem.rough && (t->still || t->follows || !w->problem.factors) && !(t->jump > large && knows)) {
        w->problem.rough = false;
        solve(t, true);
    }
    w->problem.rough = false;
    if (cal_work_wake(w, t->q, h)) return AGAIN;
    const double landing = cal_work_find_landing(w, v, h);
    if (landing < h && w->landings++ < MOST_LANDINGS) return again(t, landing);
    if (!isfinite(t->jump))
        return is_well(t, cal_fail(t->error, CAL_NOT_FINITE, "a contact group became infinite at time %g", t->time));
    cal_whole_take(w, t->time, v, h);
    // Of forces that are known.
    t->jumps = t->jump > large && knows;
    t->paused = is_paused(t);
    return OPEN;
}

// Of a large group of which few move, these are followed, and what stays is fixed to them.
static decision narrow(trial* t) {
    cal_group_work* w = t->w;
    if (w->few || w->follows || w->varies || t->still) return OPEN;
    const int roughly = cal_work_count_moving(w, t->v, t->h, true);
    if (roughly == 0 || roughly > CAL_SMOOTH_UNITS) return OPEN;
    if (cal_work_count_moving(w, t->v, t->h, false) != roughly) cal_whole_solve(w, t->v, t->h, true);
    if (cal_work_count_moving(w, t->v, t->h, false) > CAL_SMOOTH_UNITS) return OPEN;
    cal_work_remember(w, t->h);
    for (int i = 0; i < w->group->unit_count; i++)
        if (w->rests[i])
            memset(t->v + w->group->units[i].first_v, 0, (size_t)w->group->units[i].v_count * sizeof *t->v);
    w->few = w->lands = w->follows = true;
    w->smooth.landed = CAL_WORK_LANDED * w->group->length;
    w->smooth.rests = w->rests;
    return AGAIN;
}

// Where nothing moves there is no error to find.
static decision take_still(trial* t) {
    cal_group_work* w = t->w;
    if (!t->still) return OPEN;
    cal_work_remember(w, t->h);
    return take(t, accept(w, t->time, t->q, t->v, w->whole, w->whole, t->h, t->h, w->whole_work, t->error),
                growth * t->h);
}

static decision take_followed(trial* t, double off) {
    cal_group_work* w = t->w;
    const cal_group* group = w->group;
    double* brief = &w->memory[CAL_WORK_BRIEF];
    w->memory[CAL_WORK_LAST_PAUSE] = 0.0;
    if (!(w->jolt > 0.0)) *brief = fmax(0.0, *brief + (t->h < BRIEF * t->smallest ? 1.0 : -regained));
    // One that was shortened for what it comes to tells how long it could have been.
    w->wished = fmin(w->wished, 0.9 * t->h / fifth_root(fmax(off, 1e-15)));
    memcpy(t->q, w->smooth.q, (size_t)group->q_count * sizeof *t->q);
    memcpy(t->v, w->smooth.v, (size_t)group->v_count * sizeof *t->v);
    memcpy(w->turned, w->smooth.turned, 3 * (size_t)group->unit_count * sizeof *w->turned);
    w->report->work += w->smooth.work;
    for (int i = 0; w->report->impulses != NULL && i < group->body_count; i++) w->report->impulses[i] += w->impulses[i];
    t->next = t->h * fmin(growth, 0.9 / fifth_root(fmax(off, 1e-3)));
    return TAKEN;
}

// What changes here may go on changing: the longer, the more rarely it is tried. The whole step is there again.
static decision pause_following(trial* t) {
    cal_group_work* w = t->w;
    w->memory[CAL_WORK_LAST_PAUSE] = fmin(LONGEST_PAUSE, fmax(2.0, 2.0 * w->memory[CAL_WORK_LAST_PAUSE]));
    w->memory[CAL_WORK_PAUSE] = w->memory[CAL_WORK_LAST_PAUSE] + 1.0;
    if (is_needlessly_brief(t)) return again(t, t->smallest);
    w->halved = false;
    if (is_well(t, cal_work_look(w, t->time, t->q, t->v, t->h, false, t->error))) return FAILED;
    cal_whole_solve(w, t->v, t->h, false);
    cal_whole_find_jump(w, t->v, t->h);
    w->whole_work = cal_work_driven(w);
    return OPEN;
}

// Too long; or something happens in it, and then it is come to in steps that are as short as they may be. What is not smooth in an eighth of these
// either, 1/512 of a radian, is no motion that the fifth order knows: accelerations jump at edges. Nor is what is not as good there as the
// fifth order has said: what slides so slowly that friction turns it about at once.
static decision follow_shorter(trial* t, double off) {
    cal_group_work* w = t->w;
    const double h = t->h;
    t->failed += isfinite(off) && h <= t->smallest;
    const bool is_brief = may_be_brief(w),
               is_too_long = isfinite(off) && h > (is_brief ? CAL_STEP_BRIEF : CAL_STEP_KINKED) * t->smallest &&
                             (is_brief || t->failed < 2);
    if (!is_too_long && !(h > fmax(t->smallest, w->event_step))) return pause_following(t);
    w->report->rejected++;
    t->h = isfinite(off) ? h * fmax(0.2, 0.9 / fifth_root(off)) : fmax(0.5 * h, t->smallest);
    if (w->lands) w->wished = fmin(w->wished, t->h);
    return AGAIN;
}

// Whether contacts may be held in a smooth step: those that press in the step as it was solved; or, where that is no answer, of free bodies, those that
// touch, of which forces then say who pulls. A step of the first order takes rows as they are at its begin: where what rolls turns by more than a few
// degrees in it, it presses on points of a rim that the contact only comes to, and lifts what is pressed.
static bool holds(cal_group_work* w, const double* v) {
    return cal_smooth_hold(&w->smooth, &w->problem, &w->cache, w->rest, v, false) ||
           (w->lands && cal_smooth_hold(&w->smooth, &w->problem, &w->cache, w->rest, v, true));
}

static decision follow(trial* t) {
    cal_group_work* w = t->w;
    const cal_group* group = w->group;
    if (t->paused || !t->follows) return OPEN;
    if (!holds(w, t->v)) return OPEN;
    if (is_needlessly_brief(t)) return pause_following(t);
    cal_work_remember(w, t->h);
    double off = INFINITY;
    const double share = w->varies ? follow_varying : CAL_WORK_FOLLOWS;
    w->halved = true; // contacts are those of its parts
    cal_status status =
        cal_smooth_step(&w->smooth, t->time, t->q, t->v, t->h, share * group->tolerance, &off, t->error);
    if (status == CAL_OK && off <= 1.0 && w->smooth.hits) {
        status = cal_contact_cache_find(&w->far, group, t->time, t->q, w->margin, t->error);
        if (status == CAL_OK && shorten(w, &w->far, &w->cache, &t->h)) return AGAIN;
        off = INFINITY;
    }
    if (is_well(t, status)) return FAILED;
    // What slides ends the step where it stops: from there on it rests, or slides another way. What stops at once does so in steps that are not
    // smooth: forces turn round.
    if (isfinite(off) && w->smooth.stops < 1.0) {
        if (w->smooth.stops * t->h >= CAL_STEP_KINKED * t->smallest && t->stopped++ < MOST_LANDINGS) {
            w->report->rejected++;
            return again(t, w->smooth.stops * t->h);
        }
        off = INFINITY;
    }
    return off <= 1.0 ? take_followed(t, off) : follow_shorter(t, off);
}

static decision take_halves(trial* t) {
    cal_group_work* w = t->w;
    const double halves = w->first_work + w->second_work;
    bool shorter = false;
    if (t->bend <= t->fine) {
        if (is_well(t, shorten_along(w, t->time, t->q, w->target, &t->h, &shorter, t->error))) return FAILED;
        if (shorter) return AGAIN;
        // Extrapolated as velocities are.
        const double driven = halves + w->extrapolated * (halves - w->whole_work),
                     factor = fmin(growth, fmax(0.5, 0.9 * sqrt(t->fine / fmax(t->bend, 1e-3 * t->fine))));
        return take(t, accept(w, t->time, t->q, t->v, w->target, w->second, t->h, 0.5 * t->h, driven, t->error),
                    t->h * factor);
    }
    if (w->varies && isfinite(t->bend) && (t->h <= fmax(t->smallest, w->event_step) || t->miss <= t->fine))
        return take(t, accept(w, t->time, t->q, t->v, w->target, w->second, t->h, 0.5 * t->h, halves, t->error), t->h);
    return OPEN;
}

static decision try_halves(trial* t) {
    cal_group_work* w = t->w;
    // Forces of contact act once in steps that are not followed, and would turn an axis that yields as if nothing spun about it.
    if (t->h * w->nutation > CAL_STEP_TURNED) return again(t, CAL_STEP_TURNED / w->nutation);
    t->bend = t->miss = INFINITY;
    t->halved = w->varies || !(t->jumps || (t->paused && !w->follows));
    if (!t->halved) return OPEN;
    if (is_well(t, try_smooth(w, t->time, t->q, t->v, t->h, t->fine, &t->bend, &t->miss, t->error))) return FAILED;
    if (!t->jumps && cal_work_wake(w, w->middle_q, 0.5 * t->h)) return AGAIN;
    if (!w->follows && !w->varies) set_pause(w, isfinite(t->bend));
    return take_halves(t);
}

static decision find_depth(trial* t, double* depth) {
    return is_well(t, cal_whole_find_depth(t->w, t->time + t->h, t->q, t->h, depth, t->error));
}

static decision take_rough(trial* t) {
    cal_group_work* w = t->w;
    bool shorter;
    if (is_well(t, shorten_along(w, t->time, t->q, w->predicted, &t->h, &shorter, t->error))) return FAILED;
    if (shorter) return AGAIN;
    if (!t->halved) cal_work_remember(w, t->h);
    w->report->straight = true;
    const double solved = t->halved ? 0.5 * t->h : t->h;
    return take(t, accept(w, t->time, t->q, t->v, w->predicted, w->whole, t->h, solved, w->whole_work, t->error),
                t->h * fmin(growth, fmax(0.5, 0.9 * sqrt(t->coarse / t->jump))));
}

static decision try_rough(trial* t) {
    cal_group_work* w = t->w;
    if (w->varies) return OPEN;
    const double bent = CAL_WORK_BENT * w->group->length;
    const bool nearly = t->bend <= 16.0 * t->fine; // a quarter of the step would be smooth
    double depth = 0.0;
    if (t->jump <= t->coarse && !nearly && t->h > t->smallest && find_depth(t, &depth)) return FAILED;
    if (!t->halved && depth > bent && cal_whole_solve_bent(w, t->v, t->h)) {
        t->jump = t->h * cal_whole_find_jump(w, t->v, t->h);
        if (cal_work_wake(w, t->q, t->h)) return AGAIN;
        cal_whole_take(w, t->time, t->v, t->h);
        if (find_depth(t, &depth)) return FAILED;
    }
    return (t->jump <= t->coarse && !nearly && depth <= bent) || t->h <= t->smallest ? take_rough(t) : OPEN;
}

static decision make_shorter(trial* t) {
    t->w->report->rejected++;
    t->w->report->impact_count = t->w->struck;
    return again(t, fmax(0.5 * t->h, t->smallest));
}

cal_status cal_trial_run(cal_group_work* w, double time, double* q, double* v, double smallest, double* h, double* next,
                         cal_error* error) {
    static decision (*const ways[])(trial*) = {look,       try_whole, narrow,    take_still, follow,
                                               try_halves, try_rough, make_shorter};
    const cal_group* group = w->group;
    const double tolerance = sqrt(group->tolerance);
    trial t = {.w = w,
               .time = time,
               .q = q,
               .v = v,
               .smallest = smallest,
               .h = *h,
               .tolerance = tolerance,
               .coarse = 10.0 * tolerance * cal_work_rare_share(w),
               .fine = w->varies ? tolerance : group->tolerance,
               .error = error};
    while (t.h > smallest && cal_work_strays(w, time, t.h, q) > CAL_WORK_OVERLAP * group->length)
        t.h = fmax(0.5 * t.h, smallest);
    decision made = AGAIN;
    for (int way = 0; made == OPEN || made == AGAIN;) {
        way = made == AGAIN ? 0 : way + 1;
        made = ways[way](&t);
    }
    *h = t.h;
    if (made == TAKEN) *next = t.next;
    return t.status;
}
