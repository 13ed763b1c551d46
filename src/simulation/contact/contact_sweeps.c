// The contact problem of large groups by sweeps over the contacts: what a factorisation of three-dimensional piles would cost grows
// with the square of the number of bodies, a sweep with the number itself.
//
// A sweep solves the law of each contact in turn, with the velocities as the contacts before have left them (nonlinear
// Gauss-Seidel, as in Moreau and Jean's contact dynamics):
//
//     λ_n ← max(0, λ_n − y_n / W_nn),    λ_t ← the nearest to λ_t − y_t / W_tt with |λ_t| ≤ μ λ_n,    v ← v + M⁻¹ Jᵀ Δλ
//
// with W = J M⁻¹ Jᵀ of the contact alone. Sweeps alone take as many as the square of a pile's layers; directions that are conjugate to
// each other (Silcowitz, Niebe and Erleben, "A nonsmooth nonlinear conjugate gradient method for interactive contact force
// problems", 2010) take as many as the layers:
//
//     g = λ − sweep(λ),    β = |g|² / |g before|²,    λ ← sweep(λ) + β p,    p ← β p − g        p ← 0 where β > 1
//
// The norm is that of W, so that it knows no units. Velocities follow in the same way, since they are linear in λ. What ends is a
// sweep of its own, so that all impulses are in their cones.
//
// A sweep leaves out contacts between bodies whose velocities nothing has changed since it looked at them last, to a hundredth of what
// it is to be solved to: where a part of a group moves and the rest stays as it is, the price is that of the part.
#include "base/finite.h"
#include "math/vector.h"
#include "simulation/contact/contact_problem.h"
#include <string.h>

enum { MOST_SWEEPS = 400, FEW_SWEEPS = 30, FREE = 6 };

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
    const double *W = touch->own, *impulse = touch->impulse;
    double y[3], t[2];
    read_speeds(p, touch, v, y);
    const double normal = cal_larger(0.0, impulse[0] - y[0] * touch->inverse[0]);
    change[0] = normal - impulse[0];
    for (int i = 0; i < 2; i++) t[i] = impulse[1 + i] - (y[1 + i] + W[3 * (i + 1)] * change[0]) * touch->inverse[1];
    const double square = t[0] * t[0] + t[1] * t[1], limit = touch->friction * normal;
    const double share = square > limit * limit ? limit / sqrt(square) : 1.0;
    for (int i = 0; i < 2; i++) change[1 + i] = share * t[i] - impulse[1 + i];
    return cal_larger(W[0] * fabs(change[0]), touch->across * cal_larger(fabs(change[1]), fabs(change[2])));
}

double cal_problem_missed(const cal_problem* p, const cal_contact_row* touch, const double* v) {
    double change[3];
    return find_change(p, touch, v, change);
}

// One contact; returns the square of its change in the norm of W, and in *most the largest change of its speeds.
static double settle(const cal_problem* p, cal_contact_row* touch, double* v, double* most) {
    double change[3];
    *most = find_change(p, touch, v, change);
    if (change[0] == 0.0 && change[1] == 0.0 && change[2] == 0.0) return 0.0;
    push(p, touch, change, v);
    for (int i = 0; i < 3; i++) touch->impulse[i] += change[i];
    return touch->own[0] * change[0] * change[0] + touch->across * (change[1] * change[1] + change[2] * change[2]);
}

// Sweep `number`; changes of less than `least` stir nothing.
static double sweep(cal_problem* p, int number, double least, double* v, double* most) {
    double square = 0.0;
    *most = 0.0;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        if (!is_stirred(p, touch)) continue;
        double change = 0.0;
        touch->visited = number;
        square += settle(p, touch, v, &change);
        if (change > least) stir(p, touch, number);
        *most = cal_larger(*most, change);
    }
    return square;
}

// Contacts that hold nothing and close nothing stay out of the directions: dy is p, y the impulse before the sweep.
static void follow(cal_problem* p, double beta, int number, double least, double* v, double* way) {
    const int count = p->group->v_count;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        const double along = touch->own[0] * fabs(touch->dy[0]),
                     across = touch->across * cal_larger(fabs(touch->dy[1]), fabs(touch->dy[2]));
        if (beta * cal_larger(along, across) > least) stir(p, touch, number);
        for (int i = 0; i < 3; i++) {
            const double g = touch->y[i] - touch->impulse[i];
            touch->impulse[i] += beta * touch->dy[i];
            touch->dy[i] = beta * touch->dy[i] - g;
        }
    }
    for (int i = 0; i < count; i++) {
        const double g = p->work[i] - v[i];
        v[i] += beta * way[i];
        way[i] = beta * way[i] - g;
    }
}

int cal_problem_sweep(cal_problem* p, const double* target, double* v, double end, double* least, bool* solved) {
    const size_t size = (size_t)p->group->v_count * sizeof *v;
    *least = 0.01 * end;
    double last = 0.0, most = 0.0;
    memcpy(v, target, size);
    memset(p->direction, 0, size);
    memset(p->stirred, 0, (size_t)p->group->unit_count * sizeof *p->stirred);
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        // What is remembered is a start only as far as it is in the cone.
        touch->held[0] = fmax(touch->held[0], 0.0);
        const double length = sqrt(touch->held[1] * touch->held[1] + touch->held[2] * touch->held[2]),
                     limit = touch->friction * touch->held[0], share = length > limit ? limit / length : 1.0;
        touch->impulse[0] = touch->held[0];
        for (int i = 1; i < 3; i++) touch->impulse[i] = share * touch->held[i];
        memset(touch->dy, 0, sizeof touch->dy);
        touch->visited = 0;
        push(p, touch, touch->impulse, v);
    }
    int sweeps = 0;
    for (const int limit = p->factors ? FEW_SWEEPS : MOST_SWEEPS; sweeps < limit; sweeps++) {
        memcpy(p->work, v, size);
        for (int k = 0; k < p->row_count; k++) memcpy(p->rows[k].y, p->rows[k].impulse, sizeof p->rows[k].y);
        const double square = sweep(p, sweeps + 1, *least, v, &most), beta = last > 0.0 ? square / last : 2.0;
        *solved = most <= end;
        p->last_sweep = sweeps + 1;
        if (*solved) return sweeps + 1;
        last = square;
        if (beta > 1.0) {
            memset(p->direction, 0, size);
            for (int k = 0; k < p->row_count; k++) memset(p->rows[k].dy, 0, sizeof p->rows[k].dy);
        }
        follow(p, beta > 1.0 ? 0.0 : beta, sweeps + 1, *least, v, p->direction);
    }
    for (int i = 0; i < 2; i++) {
        sweep(p, sweeps + 1 + i, *least, v, &most);
    }
    p->last_sweep = sweeps + 2;
    return sweeps;
}
