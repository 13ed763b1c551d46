// Stops that do not give way, of joints of one degree, of a system that is advanced directly: those whose stiffness nobody gave.
//
// A stop's law is k x (1 + c ẋ) (pass/joint_law.h), with x small where k is large. What it does to a joint that comes with speed u depends
// on k only in how long it takes: with m v dv = −k x (1 + c v) dx on the way in and out, the speed w with which the joint leaves has
//
//     h(c u) = h(−c w)        h(x) = x − ln(1 + x)        w = u (1 − ⅔ c u + …) for slow impacts, c w < 1 for all
//
// So the limit k → ∞ is an impact at an event, of that restitution e = w / u, and a rest afterwards, where it would not leave the stop by
// more than the tolerance: a row of system_friction.c, which pushes and never pulls.
//
// Several joints at their ends are hit at once: impulses p ≥ 0 with v + G p ≥ −e v (Newton's law), each zero or its velocity at the bound.
#include "base/memory.h"
#include "math/power.h"
#include "model/angle.h"
#include "model/builder.h"
#include "solver/system_data.h"
#include <math.h>
#include <string.h>

// Parts of the tolerance: that count as the end of a range, and with which speeds count as none.
static const double NEAR_END = 0.01, SLACK = 0.1;

bool cal_system_create_stops(cal_system* system, const cal_model* user) {
    cal_friction* f = &system->friction;
    const size_t count = (size_t)f->count;
    f->position = cal_allocate(count, sizeof *f->position);
    f->calm = cal_allocate(count, sizeof *f->calm);
    f->lowest = cal_allocate(10 * count, sizeof *f->lowest);
    if (!f->position || !f->calm || !f->lowest) return false;
    f->highest = f->lowest + count, f->hardness = f->highest + count, f->nothing = f->hardness + count;
    f->room = f->nothing + count, f->slow = f->room + count, f->looks = f->slow + count;
    const double rate = 2.0 * CAL_PI * CAL_STOP_FREQUENCY;
    for (size_t i = 0; i < count; i++) {
        const cal_joint* joint = &user->joints[system->model->constraints[f->first + (int)i].joint[0]];
        const bool stops = joint->def->limited && joint->rigid;
        f->position[i] = joint->first_q;
        f->lowest[i] = stops ? joint->def->range[0] : -(double)INFINITY;
        f->highest[i] = stops ? joint->def->range[1] : (double)INFINITY;
        f->hardness[i] = joint->def->limit_damping;
        // The chosen stiffness is that of the inertia below the joint at this rate. A force that moves it by the tolerance in a second's
        // square is none.
        const double absolute = system->def.absolute > 0.0 ? system->def.absolute : system->def.relative;
        f->nothing[i] = stops ? absolute * joint->limit_stiffness / (rate * rate) : 0.0;
        f->stops = f->stops || stops;
    }
    return true;
}

void cal_system_destroy_stops(cal_system* system) {
    cal_free(system->friction.position);
    cal_free(system->friction.calm);
    cal_free(system->friction.lowest);
}

void cal_system_set_stops(cal_system* system, const double* room, const double* slow) {
    cal_friction* f = &system->friction;
    for (int i = 0; i < f->count; i++) f->room[i] = room[f->degree[i]], f->slow[i] = slow[f->degree[i]];
}

bool cal_system_at_stop(const cal_system* system, int i, const double* q, bool upper) {
    const cal_friction* f = &system->friction;
    const double at = q[f->position[i]], room = fmax(f->room[i], NEAR_END * system->settings.absolute);
    return f->stops && (upper ? at >= f->highest[i] - room : at <= f->lowest[i] + room);
}

// --- Impacts -----------------------------------------------------------------------------------------------------------------

// x − ln(1 + x) for x > −1, without cancellation where x is small: ln(1 + x) = 2 (s + s³/3 + …), s = x / (2 + x).
static double lost(double x) {
    if (fabs(x) > 0.25) return x - cal_logarithm(1.0 + x);
    const double s = x / (2.0 + x), square = s * s;
    double sum = 0.0;
    for (int i = 21; i >= 3; i -= 2) sum = (sum + 1.0 / i) * square; // s² / 49 per term at least
    return x * x / (2.0 + x) - 2.0 * s * sum;
}

// The part of its speed with which a joint leaves a stop, by halving.
double cal_stop_restitution(double hardness, double speed) {
    const double u = hardness * speed, goal = lost(u);
    double a = 0.0, b = 1.0;
    if (!(goal > 0.0)) return 1.0;
    for (int turn = 0; turn < 60; turn++) {
        const double w = a + 0.5 * (b - a);
        *(lost(-w) < goal ? &a : &b) = w;
    }
    return a < u ? a / u : 1.0;
}

// The speed with which a joint goes into a stop that it is at; negative: it leaves it.
static double speed_into(const cal_system* system, int i, bool upper) {
    const double v = system->v[system->friction.degree[i]];
    return upper ? v : -v;
}

// Joints at their ends that do not leave them; whether one of them is fast.
static bool find_hits(cal_system* system) {
    cal_friction* f = &system->friction;
    bool any = false;
    f->resting = 0;
    for (int i = 0; i < f->count; i++)
        for (int upper = 0; upper < 2; upper++) {
            const double speed = speed_into(system, i, upper);
            if (!cal_system_at_stop(system, i, system->q, upper) || !(speed >= -system->settings.absolute)) continue;
            const bool hits = speed > system->settings.absolute;
            const double e = hits ? cal_stop_restitution(f->hardness[i], speed) : 0.0;
            any = any || hits;
            f->low[f->resting] = upper ? -(double)INFINITY : 0.0;
            f->high[f->resting] = upper ? 0.0 : (double)INFINITY;
            f->beyond[f->resting] = 0.0;
            f->force[f->resting] = (1.0 + e) * system->v[f->degree[i]]; // until it is asked for
            f->candidate[f->resting++] = i;
            break;
        }
    return any;
}

// v ← v + M⁻¹ p, with the user's constraints.
static cal_status apply_impulses(cal_system* system) {
    cal_friction* f = &system->friction;
    for (int k = 0; k < f->resting; k++) f->tau[f->degree[f->candidate[k]]] += f->force[k];
    const cal_status status =
        cal_system_find_forces(system, system->time, system->q, system->v, system->forces, f->acceleration);
    for (int k = 0; k < f->resting; k++) f->tau[f->degree[f->candidate[k]]] -= f->force[k];
    for (int i = 0; !status && i < system->model->v_count; i++) system->v[i] += f->acceleration[i] - f->base[i];
    return status;
}

// Whether a joint would not go further from its stop than the tolerance, v² / 2 a, or leaves it more slowly than counts.
static bool is_calm(const cal_system* system, int i, double acceleration) {
    const cal_friction* f = &system->friction;
    const bool upper = cal_system_at_stop(system, i, system->q, true);
    const double speed = speed_into(system, i, upper), into = upper ? acceleration : -acceleration;
    return into > 0.0 && (speed * speed <= 2.0 * into * system->settings.absolute || -speed <= f->slow[i]);
}

// Those that are. Where one rests, others may be pressed against their stops that would leave them otherwise: accelerations are those with the
// forces of the stops that joints rest on so far, until no joint is added. Answers are those of the impact.
static cal_status find_calm(cal_system* system) {
    cal_friction* f = &system->friction;
    const int n = f->resting;
    const cal_status status =
        cal_system_find_forces(system, system->time, system->q, system->v, system->forces, f->acceleration);
    bool added = !status, any = false;
    for (int k = 0; !status && k < n; k++) f->free[k] = f->acceleration[f->degree[f->candidate[k]]];
    while (added) {
        added = false;
        for (int k = 0; any && k < n; k++) {
            const int i = f->candidate[k];
            const bool upper = cal_system_at_stop(system, i, system->q, true);
            f->low[k] = f->calm[i] && upper ? -(double)INFINITY : 0.0;
            f->high[k] = f->calm[i] && !upper ? (double)INFINITY : 0.0;
        }
        if (any) cal_friction_find_sides(f);
        for (int k = 0; k < n; k++) {
            const int i = f->candidate[k];
            double a = f->free[k];
            for (int other = 0; any && other < n; other++) a += f->answer[k * f->count + other] * f->force[other];
            if (f->calm[i] || !is_calm(system, i, a)) continue;
            f->calm[i] = added = true;
        }
        any = any || added;
    }
    return status;
}

cal_status cal_system_hit_stops(cal_system* system) {
    cal_friction* f = &system->friction;
    double before[2], after[2];
    if (!f->stops) return CAL_OK;
    memset(f->calm, 0, (size_t)f->count * sizeof *f->calm);
    if (!find_hits(system)) return CAL_OK;
    for (int i = 0; i < f->count; i++) cal_constraints_activate(system->constraints, f->first + i, false);
    cal_status status = cal_system_find_energy(system, system->q, system->v, before);
    if (!status) status = cal_system_find_answers(system);
    if (status) return status;
    memcpy(f->free, f->force, (size_t)f->resting * sizeof *f->free);
    cal_friction_find_sides(f);
    status = apply_impulses(system);
    if (!status) status = cal_system_find_energy(system, system->q, system->v, after);
    if (!status) system->flow.memory.now.loss += (before[0] - after[0]) + (before[1] - after[1]);
    return status ? status : find_calm(system);
}

// --- Events ------------------------------------------------------------------------------------------------------------------

double cal_system_stop_margin(const cal_system* system, int i, const double* q, const double* v) {
    const cal_friction* f = &system->friction;
    if (!f->stops) return (double)INFINITY;
    const double at = q[f->position[i]], rate = v[f->degree[i]], slack = SLACK * system->settings.absolute;
    // One that leaves its stop may still be at it.
    return fmin(fmax(at - f->lowest[i], rate + slack), fmax(f->highest[i] - at, slack - rate));
}

// Whether a joint that goes towards an end at the beginning of a stretch and away from it at the end may have been beyond it: no further than
// its speeds at both ends would have brought it.
static bool may_pass(double qa, double va, double qb, double vb, double time, double end) {
    return va < 0.0 && vb > 0.0 && isfinite(end) && fmin(qa + va * time, qb - vb * time) < end;
}

// Between two times of the last step: where a joint turns round (velocity), or is at its end. Halves down to the last digit.
static cal_status halve(cal_system* system, int i, double sign, bool velocity, double end, double* from, double* to) {
    const cal_friction* f = &system->friction;
    double *q = system->watch.numbers, *v = q + system->model->q_count;
    cal_status status = CAL_OK;
    for (int k = 0; k < 60 && !status; k++) {
        const double middle = *from + 0.5 * (*to - *from);
        if (!(middle > *from && middle < *to)) break;
        status = cal_system_sample(system, middle, q, v, NULL);
        const bool later = velocity ? sign * v[f->degree[i]] >= 0.0 : sign * q[f->position[i]] < end;
        *(later ? to : from) = middle;
    }
    return status;
}

// q and q̇ of the joints at a time of the last step.
static cal_status look_at(cal_system* system, double time, double* at, double* rate) {
    const cal_friction* f = &system->friction;
    double *q = system->watch.numbers, *v = q + system->model->q_count;
    const cal_status status = cal_system_sample(system, time, q, v, NULL);
    for (int i = 0; !status && i < f->count; i++) at[i] = q[f->position[i]], rate[i] = v[f->degree[i]];
    return status;
}

cal_status cal_system_find_turn(cal_system* system, double from, double to, double* turn) {
    cal_friction* f = &system->friction;
    double *qa = f->looks, *va = qa + f->count, *qb = va + f->count, *vb = qb + f->count;
    const double* q = system->watch.numbers;
    *turn = to;
    cal_status status = look_at(system, from, qa, va);
    if (!status) status = look_at(system, to, qb, vb);
    for (int i = 0; !status && i < f->count; i++)
        for (int upper = 0; upper < 2 && !status; upper++) {
            const double sign = upper ? -1.0 : 1.0, end = upper ? -f->highest[i] : f->lowest[i];
            if (!may_pass(sign * qa[i], sign * va[i], sign * qb[i], sign * vb[i], to - from, end)) continue;
            double a = from, b = to;
            status = halve(system, i, sign, true, end, &a, &b);
            if (!status)
                status = cal_system_sample(system, b, system->watch.numbers,
                                           system->watch.numbers + system->model->q_count, NULL);
            if (status || !(sign * q[f->position[i]] < end)) continue;
            a = from;
            status = halve(system, i, sign, false, end, &a, &b);
            if (b < *turn) *turn = b;
        }
    return status;
}
