// Events of a system that is advanced directly: constraints that are connected when their gap closes.
//
//     attempt ─ a step is accepted ─ gaps at its end ─ has one changed its sign? ─ when, by the solver's polynomial: due
//     advance ─ to `due`, if that comes first ─ the constraint is connected there ─ the solver begins anew
//
// A gap of one row is its error φ, which passes zero. Several rows are zero together only where the sum of their squares has a minimum
// which is zero: there φ·φ̇ passes zero, from below. What was looked at last is kept, so that nothing between two looks is lost.
#include "base/error.h"
#include "base/memory.h"
#include "solver/system_data.h"
#include <float.h>
#include <math.h>

enum { MOST_TURNS = 200, NAME = 80 };

bool cal_system_create_watch(cal_system* system) {
    const size_t count = (size_t)system->model->constraint_count;
    cal_watch* w = &system->watch;
    w->due = (double)INFINITY;
    w->waits = cal_allocate(count, sizeof *w->waits);
    w->gaps = cal_allocate(count, sizeof *w->gaps);
    w->motions = cal_allocate((size_t)system->model->node_count, sizeof *w->motions);
    w->numbers = cal_allocate((size_t)system->model->q_count + (size_t)system->model->v_count, sizeof(double));
    return w->waits && w->gaps && w->motions && w->numbers;
}

void cal_system_destroy_watch(cal_system* system) {
    cal_free(system->watch.waits);
    cal_free(system->watch.gaps);
    cal_free(system->watch.motions);
    cal_free(system->watch.numbers);
}

int cal_system_waiting(const cal_system* system) {
    int count = 0;
    for (int i = 0; system->watch.waits && i < system->model->constraint_count; i++)
        count += system->watch.waits[i] ? 1 : 0;
    return count;
}

// The number that passes zero when a gap closes, and the largest error.
static double find_gap(cal_system* system, int constraint, double time, const double* q, const double* v,
                       double* largest) {
    cal_row rows[CAL_CONSTRAINT_ROWS];
    cal_node_motions(system->model, 0, q, v, true, 0, system->model->node_count, system->watch.motions);
    const int count = cal_constraint_make_rows(system->model, constraint, time, system->watch.motions, q, v, rows);
    double sum = 0.0;
    *largest = 0.0;
    for (int i = 0; i < count; i++) {
        sum += rows[i].error * rows[i].speed;
        *largest = fmax(*largest, fabs(rows[i].error));
    }
    return count == 1 ? rows[0].error : sum;
}

void cal_system_begin_watch(cal_system* system) {
    double largest;
    system->watch.due = (double)INFINITY;
    for (int i = 0; system->watch.waits && i < system->model->constraint_count; i++)
        if (system->watch.waits[i])
            system->watch.gaps[i] = find_gap(system, i, system->time, system->q, system->v, &largest);
}

void cal_system_resume_watch(cal_system* system) {
    double largest, *q = system->watch.numbers;
    for (int i = 0; system->watch.waits && i < system->model->constraint_count; i++)
        if (system->watch.waits[i] &&
            cal_system_sample(system, system->decision.time, q, q + system->model->q_count, NULL) == CAL_OK)
            system->watch.gaps[i] = find_gap(system, i, system->decision.time, q, q + system->model->q_count, &largest);
}

// When a gap that was `before` at one time and is `after` at a later one is zero, by the last step's polynomial: false position, with
// the weight of the end that stays halved (Illinois), until time has no more digits.
static cal_status find_root(cal_system* system, int constraint, double from, double before, double to, double after,
                            double* root, double* largest) {
    double *q = system->watch.numbers, *v = q + system->model->q_count, a = from, b = to;
    int stayed = 0;
    *root = to;
    for (int turn = 0; turn < MOST_TURNS && b - a > 2.0 * DBL_EPSILON * fmax(fabs(a), fabs(b)); turn++) {
        double time = b - after * (b - a) / (after - before);
        if (!(time > a && time < b)) time = a + 0.5 * (b - a);
        if (!(time > a && time < b)) break;
        const cal_status status = cal_system_sample(system, time, q, v, NULL);
        if (status) return status;
        const double gap = find_gap(system, constraint, time, q, v, largest);
        const bool passed = (gap > 0.0) == (after > 0.0) && gap != 0.0;
        if (gap == 0.0) {
            *root = time;
            return CAL_OK;
        }
        if (passed) {
            b = time, after = gap;
            if (stayed == 1) before *= 0.5;
            stayed = 1;
        } else {
            a = time, before = gap;
            if (stayed == -1) after *= 0.5;
            stayed = -1;
        }
    }
    *root = b;
    const cal_status status = cal_system_sample(system, b, q, v, NULL);
    if (!status) (void)find_gap(system, constraint, b, q, v, largest);
    return status;
}

cal_status cal_system_watch_step(cal_system* system, double from, double to) {
    cal_watch* w = &system->watch;
    double *q = w->numbers, *v = q + system->model->q_count;
    w->due = (double)INFINITY;
    for (int i = 0; i < system->model->constraint_count; i++) {
        if (!w->waits[i]) continue;
        const bool single = cal_constraint_rows(&system->model->constraints[i], NULL) == 1;
        double largest, root = to;
        cal_status status = cal_system_sample(system, to, q, v, NULL);
        if (status) return status;
        const double before = w->gaps[i], after = find_gap(system, i, to, q, v, &largest);
        w->gaps[i] = after;
        const bool passes = single ? (before > 0.0) != (after > 0.0) : before < 0.0 && after >= 0.0;
        if (!passes) continue;
        status = find_root(system, i, from, before, to, after, &root, &largest);
        if (status) return status;
        if (largest <= CAL_CONNECT_TOLERANCE && root < w->due) w->due = root, w->constraint = i;
    }
    // Whatever joints do after that belongs to another motion.
    double turns = (double)INFINITY;
    const cal_status status = cal_system_watch_friction(system, from, fmin(to, w->due), &turns);
    if (turns < w->due) w->due = turns, w->constraint = CAL_NONE;
    return status;
}

cal_status cal_system_take_event(cal_system* system, cal_error* error) {
    cal_watch* w = &system->watch;
    w->due = (double)INFINITY;
    if (w->constraint == CAL_NONE) return cal_system_take_friction(system, error);
    w->waits[w->constraint] = false;
    w->caught++;
    w->caught_time = system->time;
    return cal_system_connect(system, w->constraint, CAL_CONNECT_INELASTIC, error);
}

cal_status cal_system_catch(cal_system* system, int constraint, cal_error* error) {
    const cal_model* model = system->model;
    cal_watch* w = &system->watch;
    char name[NAME];
    int slips = 0;
    double largest;
    if (constraint < 0 || constraint >= cal_system_own_constraints(system))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_catch: constraint %d is not there; the model has %d",
                        constraint, cal_system_own_constraints(system));
    if (cal_constraint_rows(&model->constraints[constraint], &slips) == slips)
        return cal_fail(error, CAL_BAD_ARGUMENT, "constraint '%s' has no gap that could close: connect it",
                        cal_model_constraint_name(model, constraint, name, sizeof name));
    if (system->constraints->active[constraint] || w->waits[constraint]) return CAL_OK;
    (void)find_gap(system, constraint, system->time, system->q, system->v, &largest);
    if (largest <= CAL_CONNECT_TOLERANCE) return cal_system_connect(system, constraint, CAL_CONNECT_INELASTIC, error);
    w->waits[constraint] = true;
    cal_system_restart(system);
    return CAL_OK;
}
