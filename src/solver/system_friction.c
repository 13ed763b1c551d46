// Joints of one degree that rest, of a system that is advanced directly: by dry friction, or on stops (system_stops.c).
//
// Coulomb's law: a joint that slides feels −f sign(q̇); one that rests is held by any force up to f. So a joint is in one of three modes,
// and in each of them motion is smooth:
//
//     slides, s = ±1    τ = −f s, constant                      until s q̇ falls to zero
//     rests             q̇ = 0, a row of its own, λ its force    until |λ| exceeds f
//
// A mode ends at an event (system_watch.c), where the solver begins anew; whoever begins decides the modes, from q, v and the forces
// alone: what moves faster than the tolerance slides; for the others friction λ within ±f is looked for that keeps as many at rest as it
// can: a = free + G λ with a = 0, or λ = ±f and a against it.
//
// A joint that other constraints move, as a prescribed motion does through a loop, never rests: where it turns back it slides on, the other way; and so does a
// crank at a dead point of its loop, while others move on.
//
// Joints that loops make move together hold together: some of them rest, and the others push with a force between −f and f that was found for them.
//
// A joint that rests on a stop is held by friction and by any force out of the stop: λ from −f up, or from f down.
//
// The model of the system is the user's without friction in these joints, with such a row for each after the user's constraints.
#include "base/error.h"
#include "base/memory.h"
#include "constraint/closing.h"
#include "solver/system_data.h"
#include <math.h>
#include <string.h>

// λ from answers is known to about 1e-9 (a chain of a dozen links has answers of 1e3 that nearly cancel). A joint that was found to slide
// where a step ends must be found to do so where the next begins: both look beyond the limit by a part of it that is well above that,
// the first by twice as much, and far below what anybody knows of friction.
static const double BEYOND = 1e-7;
// What is left of a joint's answer beside those of others when it follows from them: answers are known to about 1e-9.
static const double DEPENDENT = 1e-7;
// And one that begins to slide must not be stopped by rounding: it has stopped when it is a tenth of the tolerance beyond.
static const double SLACK = 0.1;

// How slow what rests may be: the tolerance of a speed. What closes loops makes errors of one joint those of others, so there it is that of the fastest joint.
static double slowest(const cal_system* system, const double* v) {
    const double own = system->settings.absolute;
    return system->friction.first == 0 ? own
                                       : own + system->settings.relative * cal_largest_size(v, system->model->v_count);
}

bool cal_system_create_friction(cal_system* system, const cal_model* user) {
    cal_friction* f = &system->friction;
    const size_t count = (size_t)(system->model->constraint_count - user->constraint_count);
    f->first = user->constraint_count;
    f->count = (int)count;
    f->tau = cal_allocate((size_t)system->model->v_count, sizeof *f->tau);
    f->sum = cal_allocate((size_t)system->model->v_count, sizeof *f->sum);
    f->limit = cal_allocate(count, sizeof *f->limit);
    f->degree = cal_allocate(count, sizeof *f->degree);
    f->candidate = cal_allocate(count, sizeof *f->candidate);
    f->side = cal_allocate(count, sizeof *f->side);
    f->spare = cal_allocate(count, sizeof *f->spare);
    f->acceleration = cal_allocate((size_t)system->model->v_count, sizeof *f->acceleration);
    f->free = cal_allocate(5 * count + 2 * count * count, sizeof *f->free);
    f->base = cal_allocate((size_t)system->model->v_count, sizeof *f->base);
    if (!f->tau || !f->sum || !f->limit || !f->degree || !f->candidate || !f->side || !f->spare || !f->acceleration ||
        !f->free || !f->base)
        return false;
    f->force = f->free + count;
    f->low = f->force + count, f->high = f->low + count, f->beyond = f->high + count;
    f->answer = f->beyond + count;
    f->matrix = f->answer + count * count;
    for (size_t i = 0; i < count; i++) {
        const int joint = system->model->constraints[f->first + (int)i].joint[0];
        // What the system's model still has of friction is smooth.
        f->limit[i] = user->joints[joint].def->friction_loss - system->model->joints[joint].def->friction_loss;
        f->degree[i] = user->joints[joint].first_v;
    }
    return cal_system_create_stops(system, user);
}

void cal_system_destroy_friction(cal_system* system) {
    cal_friction* f = &system->friction;
    void* const arrays[] = {f->tau,  f->sum,   f->limit,        f->degree, f->candidate,
                            f->side, f->spare, f->acceleration, f->free,   f->base};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_system_destroy_stops(system);
    cal_model_destroy(f->model);
}

static bool rests(const cal_system* system, int i) { return system->constraints->active[system->friction.first + i]; }

void cal_system_keep_rests(const cal_system* system, double* v) {
    for (int i = 0; i < system->friction.count; i++)
        if (rests(system, i)) v[system->friction.degree[i]] = 0.0;
}

static void let_slide(cal_system* system, int i, double direction) {
    const cal_friction* f = &system->friction;
    cal_constraints_activate(system->constraints, f->first + i, false);
    f->tau[f->degree[i]] = direction > 0.0 ? -f->limit[i] : f->limit[i];
}

// The multiplier of a joint that rests.
static double holding_force(const cal_system* system, int i) {
    const cal_constraints* set = system->constraints;
    for (int r = 0; r < set->row_count; r++)
        if (set->rows[r].constraint == system->friction.first + i) return set->lambda[r];
    return 0.0;
}

static cal_status find_holding_forces(cal_system* system, double time, const double* q, const double* v) {
    const cal_status status = cal_system_find_forces(system, time, q, v, system->forces, NULL);
    if (!status) cal_constraints_share(system->constraints);
    return status;
}

// Rows that hold, and do not follow from others, at the present place.
static int count_independent(cal_system* system) {
    cal_constraints* set = system->constraints;
    int count = 0;
    cal_constraints_evaluate(set, system->q, system->v);
    (void)cal_constraints_rank(set);
    for (int i = 0; i < set->row_count; i++) count += set->left[i] > 0.0 ? 1 : 0;
    return count;
}

// Whether joints that are slow, and whose rows hold, do not stop while others move on, since they turn back: a crank at the end of its way, where a loop has a dead
// point. Those that come to rest with them are as slow as they are, times what loops make of that, and their energy is within the tolerance; nor is a loop
// broken by it.
static bool goes_on(cal_system* system) {
    const size_t count = (size_t)system->model->v_count;
    double* v = system->watch.numbers;
    double change = 0.0;
    memcpy(v, system->v, count * sizeof *v);
    cal_constraints_project(system->constraints, system->q, v, CAL_PROJECT_VELOCITY, CAL_PATIENCE_STEP);
    for (size_t k = 0; k < count; k++) change = fmax(change, fabs(v[k] - system->v[k]));
    return change > sqrt(system->settings.absolute) ||
           cal_constraints_violation(system->constraints, CAL_NONE).speed > SLACK * SLACK * system->settings.absolute;
}

// Of the candidates that may rest those that do not with the slower ones, which had rested, turn back.
static void find_those_that_turn(cal_system* system) {
    cal_friction* f = &system->friction;
    for (int turn = 0; turn < f->resting; turn++) {
        int next = CAL_NONE;
        double least = (double)INFINITY;
        for (int k = 0; k < f->resting; k++) {
            const double speed = fabs(system->v[f->degree[f->candidate[k]]]);
            if (!f->spare[k] && !rests(system, f->candidate[k]) && speed < least) next = k, least = speed;
        }
        if (next == CAL_NONE) break;
        cal_constraints_activate(system->constraints, f->first + f->candidate[next], true);
        f->spare[next] = goes_on(system);
        if (f->spare[next]) cal_constraints_activate(system->constraints, f->first + f->candidate[next], false);
    }
    for (int k = 0; k < f->resting; k++)
        cal_constraints_activate(system->constraints, f->first + f->candidate[k], false);
}

// To where it is accelerated, but not before it has stopped.
static void let_turn(cal_system* system, int i) {
    const cal_friction* f = &system->friction;
    const double v = system->v[f->degree[i]];
    let_slide(system, i, fabs(v) > SLACK * slowest(system, system->v) ? v : f->acceleration[f->degree[i]]);
}

// Of the candidates those whose motion the user's constraints prescribe do not rest, whatever friction there is: their row follows from the others. Nor do those
// that turn back.
static cal_status let_moved_ones_slide(cal_system* system) {
    cal_friction* f = &system->friction;
    const int slow = f->resting;
    for (int k = 0; k < slow; k++) cal_constraints_activate(system->constraints, f->first + f->candidate[k], false);
    if (slow == 0 || system->constraints->row_count == 0) return CAL_OK;
    system->constraints->time = system->time;
    const int others = count_independent(system);
    for (int k = 0; k < slow; k++) {
        cal_constraints_activate(system->constraints, f->first + f->candidate[k], true);
        f->spare[k] = count_independent(system) == others;
        cal_constraints_activate(system->constraints, f->first + f->candidate[k], false);
    }
    find_those_that_turn(system);
    const cal_status status =
        cal_system_find_forces(system, system->time, system->q, system->v, system->forces, f->acceleration);
    f->resting = 0;
    for (int k = 0; k < slow; k++)
        if (f->spare[k])
            let_turn(system, f->candidate[k]);
        else
            f->candidate[f->resting++] = f->candidate[k];
    return status;
}

static cal_status stop_slow_ones(cal_system* system) {
    cal_friction* f = &system->friction;
    double before[2], after[2];
    f->resting = 0;
    const double least = slowest(system, system->v);
    for (int i = 0; i < f->count; i++) {
        const double v = system->v[f->degree[i]];
        const bool held =
            cal_system_at_stop(system, i, system->q, false) || cal_system_at_stop(system, i, system->q, true);
        const bool slow = fabs(v) <= least || (f->stops && f->calm[i]);
        if (!slow || (f->limit[i] == 0.0 && !held))
            let_slide(system, i, v);
        else
            f->candidate[f->resting++] = i;
    }
    cal_status status = let_moved_ones_slide(system);
    if (status || f->resting == 0) return status;
    for (int k = 0; k < f->resting; k++) {
        f->tau[f->degree[f->candidate[k]]] = 0.0;
        cal_constraints_activate(system->constraints, f->first + f->candidate[k], true);
    }
    status = cal_system_find_energy(system, system->q, system->v, before);
    system->constraints->time = system->time;
    cal_constraints_project(system->constraints, system->q, system->v, CAL_PROJECT_VELOCITY, CAL_PATIENCE_STEP);
    cal_system_keep_rests(system, system->v);
    if (!status) status = cal_system_find_energy(system, system->q, system->v, after);
    // Slower than the tolerance: friction has taken it.
    if (!status) system->flow.memory.now.loss += (before[0] - after[0]) + (before[1] - after[1]);
    return status;
}

// From one look for each.
cal_status cal_system_find_answers(cal_system* system) {
    cal_friction* f = &system->friction;
    cal_status status = CAL_OK;
    for (int k = -1; k < f->resting && !status; k++) {
        const double own = k >= 0 ? f->tau[f->degree[f->candidate[k]]] : 0.0;
        double* a = k >= 0 ? f->acceleration : f->base;
        if (k >= 0) f->tau[f->degree[f->candidate[k]]] = own + 1.0;
        status = cal_system_find_forces(system, system->time, system->q, system->v, system->forces, a);
        if (k >= 0) f->tau[f->degree[f->candidate[k]]] = own;
        for (int i = 0; i < f->resting && !status; i++) {
            if (k < 0)
                f->free[i] = a[f->degree[f->candidate[i]]];
            else
                f->answer[i * f->count + k] = a[f->degree[f->candidate[i]]] - f->base[f->degree[f->candidate[i]]];
        }
    }
    return status;
}

static double bound_of(const cal_friction* f, int i, int side) { return side > 0 ? f->high[i] : f->low[i]; }

// λ of those whose bound is not taken, so that they stay at rest: Gaussian elimination of a symmetric positive matrix.
static void solve_at_rest(cal_friction* f) {
    const int n = f->resting, row = f->count;
    double *M = f->matrix, *x = f->force;
    for (int i = 0; i < n; i++) {
        const bool bound = f->side[i] != 0;
        for (int k = 0; k < n; k++)
            M[i * row + k] = bound || f->side[k] != 0 ? (i == k ? 1.0 : 0.0) : f->answer[i * row + k];
        x[i] = bound ? bound_of(f, i, f->side[i]) : -f->free[i];
        for (int k = 0; k < n && !bound; k++)
            if (f->side[k] != 0) x[i] -= f->answer[i * row + k] * bound_of(f, k, f->side[k]);
    }
    for (int k = 0; k < n; k++) {
        // Of joints that loops make move together the first one holds them all.
        const double own = f->side[k] != 0 ? 1.0 : f->answer[k * row + k];
        f->spare[k] = !(M[k * row + k] > DEPENDENT * own);
        if (f->spare[k]) {
            for (int j = 0; j < n; j++) M[k * row + j] = M[j * row + k] = j == k ? 1.0 : 0.0;
            x[k] = 0.0;
            continue;
        }
        for (int i = k + 1; i < n; i++) {
            const double factor = M[i * row + k] / M[k * row + k];
            for (int j = k; j < n && factor != 0.0; j++) M[i * row + j] -= factor * M[k * row + j];
            x[i] -= factor * x[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) x[k] -= M[k * row + j] * x[j];
        x[k] /= M[k * row + k];
    }
}

// Whose bound is taken: a convex problem with bounds, by the primal-dual active set method (Hintermüller, Ito and Kunisch): a bound is
// taken where λ − a / Gᵢᵢ is beyond it, until nobody changes. Where that goes round, by as many sweeps of projected relaxation.
void cal_friction_find_sides(cal_friction* f) {
    enum { MOST_TURNS = 50, SWEEPS = 1000 };
    const int n = f->resting, row = f->count;
    bool changed = true;
    memset(f->side, 0, (size_t)n * sizeof *f->side);
    for (int turn = 0; turn < MOST_TURNS + SWEEPS && changed; turn++) {
        if (turn < MOST_TURNS) solve_at_rest(f);
        changed = false;
        for (int i = 0; i < n; i++) {
            double a = f->free[i];
            for (int k = 0; k < n; k++) a += f->answer[i * row + k] * f->force[k];
            const double next = f->force[i] - a / f->answer[i * row + i];
            int side = next > f->high[i] + f->beyond[i] ? 1 : next < f->low[i] - f->beyond[i] ? -1 : 0;
            // One whose bound is taken keeps it while it moves against it.
            if (turn < MOST_TURNS && f->side[i] != 0) side = f->side[i] * a <= 0.0 ? f->side[i] : 0;
            changed = changed || side != f->side[i] || turn >= MOST_TURNS;
            f->side[i] = side;
            if (turn >= MOST_TURNS) f->force[i] = side != 0 ? bound_of(f, i, side) : next;
        }
    }
}

// Between which forces a joint rests.
static void find_bounds(const cal_system* system, int i, const double* q, double* low, double* high, double* beyond) {
    const cal_friction* f = &system->friction;
    *low = cal_system_at_stop(system, i, q, true) ? -(double)INFINITY : -f->limit[i];
    *high = cal_system_at_stop(system, i, q, false) ? (double)INFINITY : f->limit[i];
    *beyond = BEYOND * f->limit[i] + (f->stops ? f->nothing[i] : 0.0);
}

// Shares of the limit are kept to so many parts of it, so that they are the same after a file had them.
static const double PARTS = 0x1p40;
static double share_of(double force, double limit) {
    return limit > 0.0 ? floor(fmin(fmax(force / limit, -1.0), 1.0) * PARTS + 0.5) / PARTS : 0.0;
}

// Of joints at rest that loops make move together some hold the others: a row each, those first that are furthest from their limits. The others push with the
// force that was found for them. Were all of them rows, forces would be shared so that they are small, and beyond the limits of some.
static void hold_others(cal_system* system) {
    cal_friction* f = &system->friction;
    cal_constraints* set = system->constraints;
    system->constraints->time = system->time;
    bool alone = set->row_count == 0;
    int independent = alone ? 0 : count_independent(system);
    for (int turn = 0; turn < f->resting; turn++) {
        int next = CAL_NONE;
        double most = -(double)INFINITY;
        for (int i = 0; i < f->resting; i++) {
            const double slack = fmin(f->high[i] - f->force[i], f->force[i] - f->low[i]);
            if (f->side[i] == 0 && (next == CAL_NONE || slack > most)) next = i, most = slack;
        }
        if (next == CAL_NONE) return;
        const int i = f->candidate[next], constraint = f->first + i;
        f->side[next] = 1; // has been looked at
        cal_constraints_activate(set, constraint, true);
        const int now = alone ? 0 : count_independent(system);
        if (alone || now > independent) {
            independent = now;
            continue;
        }
        cal_constraints_activate(set, constraint, false);
        f->tau[f->degree[i]] = f->limit[i] * share_of(f->force[next], f->limit[i]);
    }
}

cal_status cal_system_settle_friction(cal_system* system) {
    cal_friction* f = &system->friction;
    if (f->count == 0) return CAL_OK;
    cal_status status = cal_system_hit_stops(system);
    if (!status) status = stop_slow_ones(system);
    if (status || f->resting == 0) return status;
    for (int i = 0; i < f->resting; i++) {
        cal_constraints_activate(system->constraints, f->first + f->candidate[i], false);
        find_bounds(system, f->candidate[i], system->q, &f->low[i], &f->high[i], &f->beyond[i]);
    }
    status = cal_system_find_answers(system);
    if (status) return status;
    cal_friction_find_sides(f);
    for (int i = 0; i < f->resting; i++)
        if (f->side[i] != 0) let_slide(system, f->candidate[i], -f->side[i]);
    hold_others(system);
    return CAL_OK;
}

const double* cal_system_with_friction(const cal_system* system, const double* tau) {
    const cal_friction* f = &system->friction;
    if (f->count == 0) return tau;
    for (int i = 0; i < system->model->v_count; i++) f->sum[i] = tau[i] + f->tau[i];
    return f->sum;
}

double cal_system_friction_loss(const cal_system* system, const double* v) {
    const cal_friction* f = &system->friction;
    double sum = 0.0;
    for (int i = 0; i < f->count; i++) sum -= f->tau[f->degree[i]] * v[f->degree[i]];
    return sum;
}

double cal_system_friction_of(const cal_system* system, int constraint) {
    const cal_friction* f = &system->friction;
    const int i = constraint - f->first;
    return f->count == 0 || i < 0 || rests(system, i) ? 0.0 : 0.5 + 0.5 * share_of(f->tau[f->degree[i]], f->limit[i]);
}

void cal_system_set_friction(cal_system* system, int constraint, double share) {
    const cal_friction* f = &system->friction;
    const int i = constraint - f->first;
    if (f->count == 0 || i < 0) return;
    f->tau[f->degree[i]] = rests(system, i) ? 0.0 : f->limit[i] * (2.0 * share - 1.0);
}

// --- Events ----------------------------------------------------------------------------------------------------------

// What falls to zero when a joint's mode ends: s q̇, or by how much the friction that there may be exceeds what there is. Of a joint
// that rests system->constraints has the forces.
static double margin(const cal_system* system, int i, const double* q, const double* v) {
    const cal_friction* f = &system->friction;
    if (rests(system, i)) {
        double low, high, beyond;
        find_bounds(system, i, q, &low, &high, &beyond);
        const double force = holding_force(system, i);
        return fmin(high - force, force - low) + 2.0 * beyond;
    }
    const double v_own = v[f->degree[i]], stop = cal_system_stop_margin(system, i, q, v);
    if (f->limit[i] == 0.0) return stop;
    return fmin(stop, (f->tau[f->degree[i]] < 0.0 ? v_own : -v_own) + SLACK * slowest(system, v));
}

static bool any_rests(const cal_system* system) {
    for (int i = 0; i < system->friction.count; i++)
        if (rests(system, i)) return true;
    return false;
}

// The least margin of all joints at a time of the last step: negative where a mode is over.
static cal_status least_margin(cal_system* system, double time, double* least) {
    double *q = system->watch.numbers, *v = q + system->model->q_count;
    cal_status status = cal_system_sample(system, time, q, v, NULL);
    if (!status && any_rests(system)) status = find_holding_forces(system, time, q, v);
    *least = (double)INFINITY;
    for (int i = 0; !status && i < system->friction.count; i++) *least = fmin(*least, margin(system, i, q, v));
    return status;
}

// The first time at which a mode is over between a, where none is, and b, by halving: margins of several joints have corners. A step is
// 2⁻⁵² of itself then.
static cal_status halve(cal_system* system, double a, double b, double* due) {
    double least;
    cal_status status = CAL_OK;
    for (int turn = 0; turn < 60 && !status; turn++) {
        const double middle = a + 0.5 * (b - a);
        if (!(middle > a && middle < b)) break;
        status = least_margin(system, middle, &least);
        *(least < 0.0 ? &b : &a) = middle;
    }
    *due = b;
    return status;
}

cal_status cal_system_watch_friction(cal_system* system, double from, double to, double* due) {
    // A joint may go into its stop and come back in one step.
    enum { LOOKS = 4 };
    const int looks = system->friction.stops ? LOOKS : 1;
    if (system->friction.count == 0) return CAL_OK;
    for (int k = 1; k <= looks; k++) {
        const double a = from + (to - from) * (k - 1) / looks, b = k == looks ? to : from + (to - from) * k / looks;
        double turn = b, least = 0.0;
        cal_status status = system->friction.stops ? cal_system_find_turn(system, a, b, &turn) : CAL_OK;
        if (!status) status = least_margin(system, turn, &least);
        if (!status && !(least < 0.0) && turn < b) status = least_margin(system, turn = b, &least);
        if (status) return status;
        if (least < 0.0) return halve(system, a, turn, due);
    }
    return CAL_OK;
}

// So many events at one time: joints that hold each other neither slide nor rest.
enum { MOST_REPEATS = 100 };
static const double LEAST_TIME = 1e-9; // s: a second of such events would be 1e9 of them

cal_status cal_system_take_friction(cal_system* system, cal_error* error) {
    cal_friction* f = &system->friction;
    f->repeats = system->time > f->when + LEAST_TIME ? 0 : f->repeats + 1;
    f->when = system->time;
    cal_system_restart(system);
    return f->repeats < MOST_REPEATS
               ? CAL_OK
               : cal_fail(error, CAL_NOT_CONVERGED,
                          "joints at rest do not settle at t = %.9g s: %d times they began to move and stopped; "
                          "leave out stiction (--disable stiction), or give stops a stiffness",
                          system->time, MOST_REPEATS);
}
