// The contact problem of large groups by sweeps over the contacts: what a factorisation of three-dimensional piles would cost grows
// with the square of the number of bodies, a sweep with the number itself.
//
// A sweep solves the law of each contact in turn, with the velocities as the contacts before have left them (nonlinear
// Gauss-Seidel, as in Moreau and Jean's contact dynamics):
//
//     λ_n ← max(0, λ_n − y_n / W_nn),    λ_t ← the nearest to λ_t − y_t / W_tt with |λ_t| ≤ μ λ_n,    v ← v + M⁻¹ Jᵀ Δλ
//
// with W = J M⁻¹ Jᵀ of the contact alone. Sweeps alone take as many as the square of a pile's layers, and where a few contacts carry
// more than they need to (a ball between three others and a wall) they shift forces from one to the other at a constant rate, without
// end. With the momentum of Nesterov's method (1983) they take as many as the layers:
//
//     x_k = sweep(λ_k),    λ_k+1 = x_k + β (x_k − x_k−1),    β = (t_k − 1) / t_k+1,    t_k+1 = (1 + √(1 + 4 t_k²)) / 2
//
// t begins anew with 1 where a sweep takes back what momentum has brought, (x_k − λ_k) · (x_k − x_k−1) < 0 (O'Donoghue and Candès,
// "Adaptive restart for accelerated gradient schemes", 2015), and where |x_k − λ_k|² has doubled since it was least: contacts that
// slide are not those of a minimum, and may turn round in a circle that momentum widens. The norm is that of W, so that it knows no
// units. Velocities follow in the same way, since they are linear in λ. What ends is a sweep, so that all impulses are in their cones.
//
// A sweep leaves out contacts between bodies whose velocities nothing has changed since it looked at them last, to a small share of what
// it is to be solved to: where a part of a group moves and the rest stays as it is, the price is that of the part.
#include "simulation/contact/contact_sweeps.h"
#include "math/vector.h"
#include <string.h>

enum { MOST_SWEEPS = 400, LEAST_SWEEPS = 50, FEW_SWEEPS = 30, FREE = 6 };
static const double growth = 2.0; // of the square of changes since it was least

// --- Units of any kind --------------------------------------------------------------------------------------------------

static void push(const cal_problem* p, const cal_contact_row* touch, const double change[3], double* v) {
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const int n = p->size[touch->unit[side]];
        const double* answer = touch->answer[side];
        double* mine = v + p->first[touch->unit[side]];
        if (n == FREE) { // a free body: nothing to count
            for (int k = 0; k < FREE; k++)
                mine[k] += answer[k] * change[0] + answer[FREE + k] * change[1] + answer[2 * FREE + k] * change[2];
            continue;
        }
        for (int k = 0; k < n; k++)
            mine[k] += answer[k] * change[0] + answer[n + k] * change[1] + answer[2 * n + k] * change[2];
    }
}

static void read_speeds(const cal_problem* p, const cal_contact_row* touch, const double* v, double y[3]) {
    memcpy(y, touch->offset, 3 * sizeof *y);
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const int n = p->size[touch->unit[side]];
        const double *J = touch->jacobian[side], *mine = v + p->first[touch->unit[side]];
        if (n == FREE) {
            for (int r = 0; r < 3; r++) { // two sums that do not wait for each other
                const double* row = J + r * FREE;
                y[r] += (row[0] * mine[0] + row[1] * mine[1] + row[2] * mine[2]) +
                        (row[3] * mine[3] + row[4] * mine[4] + row[5] * mine[5]);
            }
            continue;
        }
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < n; c++) y[r] += J[r * n + c] * mine[c];
    }
}

static void stir(cal_problem* p, const cal_contact_row* touch, int number) {
    for (int side = 0; side < 2; side++)
        if (touch->unit[side] >= 0) p->stirred[touch->unit[side]] = number;
}

static bool is_stirred(const cal_problem* p, const cal_contact_row* touch) {
    bool stirred = false;
    for (int side = 0; side < 2; side++)
        stirred |= touch->unit[side] >= 0 && p->stirred[touch->unit[side]] >= touch->visited;
    return stirred;
}

// What the law of one contact alone asks for at v; returns by how much that changes its speeds.
static double find_change(const cal_problem* p, const cal_contact_row* touch, const double* v, double change[3]) {
    const double tilt[2] = {touch->own[3], touch->own[6]};
    double y[3];
    read_speeds(p, touch, v, y);
    return cal_sweep_change(touch->impulse, y, touch->own[0], tilt, touch->across, touch->inverse, touch->friction,
                            change);
}

double cal_problem_missed(const cal_problem* p, const cal_contact_row* touch, const double* v) {
    double change[3];
    return find_change(p, touch, v, change);
}

// y is the impulse after the last sweep, and p->direction the velocity.
static void begin(cal_problem* p, const double* target, double* v) {
    const size_t size = (size_t)p->group->v_count * sizeof *v;
    memcpy(v, target, size);
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        cal_sweep_start(touch->held, touch->friction, touch->impulse);
        touch->visited = 0;
        push(p, touch, touch->impulse, v);
        memcpy(touch->y, touch->impulse, sizeof touch->y);
    }
    memcpy(p->direction, v, size);
}

static cal_sweep_result sweep(cal_problem* p, int number, double least, double* v) {
    cal_sweep_result result = {0};
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        if (!is_stirred(p, touch)) continue;
        touch->visited = number;
        double change[3], along[3];
        const double most = find_change(p, touch, v, change);
        if (change[0] == 0.0 && change[1] == 0.0 && change[2] == 0.0) continue;
        push(p, touch, change, v);
        for (int i = 0; i < 3; i++) {
            touch->impulse[i] += change[i];
            along[i] = change[i] * (touch->impulse[i] - touch->y[i]);
        }
        result.square +=
            touch->own[0] * change[0] * change[0] + touch->across * (change[1] * change[1] + change[2] * change[2]);
        result.along += touch->own[0] * along[0] + touch->across * (along[1] + along[2]);
        if (most > least) stir(p, touch, number);
        result.most = cal_larger(result.most, most);
    }
    return result;
}

static void follow(cal_problem* p, double share, int number, double least, double* v) {
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        double more[3];
        for (int i = 0; i < 3; i++) {
            more[i] = share * (touch->impulse[i] - touch->y[i]);
            touch->y[i] = touch->impulse[i];
            touch->impulse[i] += more[i];
        }
        if (cal_larger(touch->own[0] * fabs(more[0]), touch->across * cal_larger(fabs(more[1]), fabs(more[2]))) > least)
            stir(p, touch, number);
    }
    for (int i = 0; i < p->group->v_count; i++) {
        const double now = v[i];
        v[i] += share * (now - p->direction[i]);
        p->direction[i] = now;
    }
}

static void end_any(cal_problem* p, double* v) { (void)p, (void)v; }

static const cal_sweep_ops any_sweeps = {0.01, begin, sweep, follow, end_any};

// --- Any of the two -----------------------------------------------------------------------------------------------------

// Nesterov's t, and the least square of changes since it began.
typedef struct momentum {
    double t, least;
} momentum;

static double find_share(momentum* m, const cal_sweep_result* last) {
    const double t = m->t, next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * t * t));
    const bool grown = last->square > growth * m->least;
    m->least = grown ? last->square : fmin(m->least, last->square);
    m->t = grown || last->along < 0.0 ? 1.0 : next;
    return grown || last->along < 0.0 ? 0.0 : (t - 1.0) / next;
}

int cal_problem_sweep(cal_problem* p, const double* target, double* v, double end, double* least, bool* solved) {
    const cal_sweep_ops* ops = p->free != NULL ? &cal_free_sweeps : &any_sweeps;
    momentum m = {1.0, INFINITY};
    *least = ops->unseen * end;
    *solved = false;
    memset(p->stirred, 0, (size_t)p->group->unit_count * sizeof *p->stirred);
    ops->begin(p, target, v);
    int sweeps = 0;
    // What goes on from an unsolved problem is not swept as often again.
    const int left = MOST_SWEEPS - p->swept > LEAST_SWEEPS ? MOST_SWEEPS - p->swept : LEAST_SWEEPS;
    for (const int limit = p->factors ? FEW_SWEEPS : left; !*solved && sweeps < limit; sweeps++) {
        const cal_sweep_result last = ops->sweep(p, sweeps + 1, *least, v);
        *solved = last.most <= end;
        p->last_sweep = sweeps + 1;
        if (!*solved) ops->follow(p, find_share(&m, &last), sweeps + 1, *least, v);
    }
    for (int i = 0; !*solved && i < 2; i++) ops->sweep(p, p->last_sweep = sweeps + 1 + i, *least, v);
    ops->end(p, v);
    p->swept += sweeps;
    return sweeps;
}
