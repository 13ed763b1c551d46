// Sweeps over contacts of free bodies; see contact_sweeps.c. All that a sweep needs of a contact is in one place, in the order of the
// sweep, since a pile of thousands does not fit into the caches that are near.
//
// The order is from the top down: what presses is passed on to what carries it within one sweep.
//
// A contact is looked at when its bodies may have changed its speeds since the last look: by more than `least`, or, where it holds
// nothing, by more than it is apart. A look itself leaves speeds that its law has not counted with, where an impulse across the normal
// acts along it. How much that is at most is added up for each body. An impulse λ changes the speed of a contact with
// the turning rows T by no more than (1/m + |T|² / I) |λ|₁, and v by Δv, which goes on, by |Δu|₁ + |T| |Δω|₁.
#include "math/vector.h"
#include "simulation/contact/contact_sweeps.h"
#include <stdlib.h>
#include <string.h>

enum { FREE = 6 };

static size_t numbers_of(size_t count, size_t size) { return (count * size + sizeof(double) - 1) / sizeof(double); }

size_t cal_free_sweeps_count(const cal_group* group, int contacts) {
    const size_t n = (size_t)contacts, units = (size_t)group->unit_count + 1;
    return numbers_of(1, sizeof(cal_free_problem)) + numbers_of(n, sizeof(cal_free_row)) +
           numbers_of(n, sizeof(cal_free_watch)) + 6 * n + numbers_of(units, sizeof(cal_free_motion)) + 6 * units;
}

// Whether the rows of a contact are those of free bodies: along the frame both sides are the same, with opposite signs.
static bool is_free(const cal_problem* p, const cal_contact_row* touch) {
    for (int side = 0; side < 2; side++) {
        const int unit = touch->unit[side];
        if (unit >= 0 && (p->size[unit] != FREE || !p->diagonal_mass[unit] || touch->plain[side] != NULL)) return false;
    }
    bool same = true;
    for (int i = 0; touch->unit[0] >= 0 && touch->unit[1] >= 0 && i < 9; i++) {
        const int at = i / 3 * FREE + i % 3;
        same &= touch->jacobian[0][at] == -touch->jacobian[1][at];
    }
    return same;
}

static int order_of_watch(const void* a, const void* b) {
    const cal_free_watch *p = a, *q = b;
    if (p->until != q->until) return p->until > q->until ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

// From the top down; heights are in `until`.
static void order_rows(cal_problem* p, const cal_group_contact* contacts) {
    cal_free_watch* watch = p->free->watch;
    for (int k = 0; k < p->row_count; k++)
        watch[k] =
            (cal_free_watch){.row = k, .until = -cal_dot3(p->group->gravity, contacts[p->rows[k].contact].point[0])};
    qsort(watch, (size_t)p->row_count, sizeof *watch, order_of_watch);
}

bool cal_free_sweeps_take(cal_problem* p, const cal_group_contact* contacts, cal_arena* arena) {
    p->free = NULL;
    for (int k = 0; k < p->row_count; k++)
        if (!is_free(p, &p->rows[k])) return true;
    const size_t count = (size_t)p->row_count, units = (size_t)p->group->unit_count + 1;
    cal_free_problem* f = (cal_free_problem*)(void*)cal_arena_numbers(arena, numbers_of(1, sizeof *f));
    if (f == NULL) return false;
    f->rows = (cal_free_row*)(void*)cal_arena_numbers(arena, numbers_of(count, sizeof *f->rows));
    f->watch = (cal_free_watch*)(void*)cal_arena_numbers(arena, numbers_of(count, sizeof *f->watch));
    f->motions = (cal_free_motion*)(void*)cal_arena_numbers(arena, numbers_of(units, sizeof *f->motions));
    f->impulse = (double(*)[3])(void*)cal_arena_numbers(arena, 3 * count);
    f->last = (double(*)[3])(void*)cal_arena_numbers(arena, 3 * count);
    f->velocity = (double(*)[6])(void*)cal_arena_numbers(arena, 6 * units);
    if (f->rows == NULL || f->watch == NULL || f->motions == NULL || f->impulse == NULL || f->last == NULL ||
        f->velocity == NULL)
        return false;
    p->free = f;
    order_rows(p, contacts);
    return true;
}

static double size_of(const double x[3]) { return fabs(x[0]) + fabs(x[1]) + fabs(x[2]); }

static void push(const cal_free_row* row, const double change[3], cal_free_motion* a, cal_free_motion* b) {
    const double *F = row->frame, *S = row->turn[0], *T = row->turn[1], size = size_of(change);
    for (int i = 0; i < 3; i++) {
        const double along = F[i] * change[0] + F[3 + i] * change[1] + F[6 + i] * change[2];
        a->v[i] -= a->inverse[i] * along;
        b->v[i] += b->inverse[i] * along;
    }
    for (int i = 0; i < 3; i++) {
        a->v[3 + i] += a->inverse[3 + i] * (S[i] * change[0] + S[3 + i] * change[1] + S[6 + i] * change[2]);
        b->v[3 + i] += b->inverse[3 + i] * (T[i] * change[0] + T[3 + i] * change[1] + T[6 + i] * change[2]);
    }
    a->moved += a->answer * size;
    b->moved += b->answer * size;
}

static void read_speeds(const cal_free_row* row, const double* a, const double* b, double y[3]) {
    const double u[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    for (int r = 0; r < 3; r++) { // sums that do not wait for each other
        const double *F = row->frame + 3 * r, *S = row->turn[0] + 3 * r, *T = row->turn[1] + 3 * r;
        y[r] = (row->offset[r] + (F[0] * u[0] + F[1] * u[1] + F[2] * u[2])) +
               ((S[0] * a[3] + S[1] * a[4] + S[2] * a[5]) + (T[0] * b[3] + T[1] * b[4] + T[2] * b[5]));
    }
}

// One side of a contact's rows, or that of the body that does not move.
static void take_side(const cal_problem* p, const cal_contact_row* touch, int side, cal_free_row* row,
                      cal_free_watch* watch) {
    const int unit = touch->unit[side];
    watch->unit[side] = unit >= 0 ? unit : p->group->unit_count;
    memset(row->turn[side], 0, sizeof row->turn[side]);
    if (unit < 0) return;
    double arm = 0.0;
    for (int r = 0; r < 3; r++) {
        const double* J = touch->jacobian[side] + r * FREE;
        for (int i = 0; i < 3; i++) {
            row->frame[3 * r + i] = side == 0 ? -J[i] : J[i];
            row->turn[side][3 * r + i] = J[3 + i];
        }
        arm = fmax(arm, sqrt(cal_dot3(J + 3, J + 3)));
    }
    p->free->motions[unit].arm = fmax(p->free->motions[unit].arm, arm);
}

static void take_row(cal_problem* p, int k) {
    cal_free_problem* f = p->free;
    cal_contact_row* touch = &p->rows[f->watch[k].row];
    cal_free_row* row = &f->rows[k];
    row->own = touch->own[0], row->across = touch->across, row->friction = touch->friction;
    for (int i = 0; i < 2; i++) row->tilt[i] = touch->own[3 * (i + 1)], row->inverse[i] = touch->inverse[i];
    const double* W = touch->own;
    row->mixed = fmax(fmax(fabs(W[1]), fabs(W[2])), fmax(fabs(W[5]), row->across - fmin(W[4], W[8])));
    memcpy(row->offset, touch->offset, sizeof row->offset);
    for (int side = 0; side < 2; side++) take_side(p, touch, side, row, &f->watch[k]);
    cal_sweep_start(touch->held, touch->friction, f->impulse[k]);
    memcpy(f->last[k], f->impulse[k], sizeof f->last[k]);
    f->watch[k].until = -1.0;
}

static void begin(cal_problem* p, const double* target, double* v) {
    cal_free_problem* f = p->free;
    const int count = p->group->unit_count;
    memcpy(v, target, (size_t)p->group->v_count * sizeof *v);
    memset(f->motions, 0, ((size_t)count + 1) * sizeof *f->motions);
    for (int i = 0; i < count; i++)
        for (int k = 0; p->size[i] == FREE && k < FREE; k++) { // others are in no row
            f->motions[i].v[k] = target[p->first[i] + k];
            f->motions[i].inverse[k] = 1.0 / p->mass[p->mass_at[i] + k * (FREE + 1)];
        }
    for (int k = 0; k < p->row_count; k++) take_row(p, k);
    for (int i = 0; i < count; i++) {
        cal_free_motion* motion = &f->motions[i];
        const double *m = motion->inverse, light = fmax(m[0], fmax(m[1], m[2])), thin = fmax(m[3], fmax(m[4], m[5]));
        motion->answer = light + motion->arm * motion->arm * thin;
    }
    for (int k = 0; k < p->row_count; k++)
        push(&f->rows[k], f->impulse[k], &f->motions[f->watch[k].unit[0]], &f->motions[f->watch[k].unit[1]]);
    for (int i = 0; i < count; i++) memcpy(f->velocity[i], f->motions[i].v, sizeof f->velocity[i]);
}

static cal_sweep_result sweep(cal_problem* p, int number, double least, double* v) {
    (void)v;
    cal_free_problem* f = p->free;
    cal_sweep_result result = {0};
    for (int k = 0; k < p->row_count; k++) {
        cal_free_watch* watch = &f->watch[k];
        cal_free_motion *a = &f->motions[watch->unit[0]], *b = &f->motions[watch->unit[1]];
        if (a->moved + b->moved <= watch->until) continue;
        const cal_free_row* row = &f->rows[k];
        double *impulse = f->impulse[k], y[3], change[3], along[3];
        read_speeds(row, a->v, b->v, y);
        const double most =
            cal_sweep_change(impulse, y, row->own, row->tilt, row->across, row->inverse, row->friction, change);
        const bool changes = change[0] != 0.0 || change[1] != 0.0 || change[2] != 0.0,
                   is_apart = !changes && impulse[0] == 0.0;
        if (changes) {
            push(row, change, a, b);
            for (int i = 0; i < 3; i++) {
                impulse[i] += change[i];
                along[i] = change[i] * (impulse[i] - f->last[k][i]);
            }
            result.square +=
                row->own * change[0] * change[0] + row->across * (change[1] * change[1] + change[2] * change[2]);
            result.along += row->own * along[0] + row->across * (along[1] + along[2]);
            if (most > least) p->stirred[watch->unit[0]] = p->stirred[watch->unit[1]] = number;
            result.most = cal_larger(result.most, most);
        }
        // What its own change has left to do: nothing of a ball's.
        const double left = changes ? row->mixed * (fabs(change[1]) + fabs(change[2])) : 0.0;
        watch->until = a->moved + b->moved + (is_apart ? cal_larger(least, y[0]) : least) - left;
    }
    return result;
}

static void follow(cal_problem* p, double share, int number, double least, double* v) {
    (void)v, (void)number;
    cal_free_problem* f = p->free;
    for (int k = 0; k < p->row_count; k++) {
        double more[3];
        for (int i = 0; i < 3; i++) {
            const double now = f->impulse[k][i];
            more[i] = share * (now - f->last[k][i]);
            f->impulse[k][i] += more[i];
            f->last[k][i] = now;
        }
        if (size_of(more) * f->rows[k].own > least) f->watch[k].until = -1.0;
    }
    for (int i = 0; i < p->group->unit_count; i++) {
        cal_free_motion* motion = &f->motions[i];
        double more[FREE];
        for (int k = 0; k < FREE; k++) {
            const double now = motion->v[k];
            more[k] = share * (now - f->velocity[i][k]);
            motion->v[k] += more[k];
            f->velocity[i][k] = now;
        }
        motion->moved += size_of(more) + motion->arm * size_of(more + 3);
    }
}

static void end(cal_problem* p, double* v) {
    const cal_free_problem* f = p->free;
    for (int i = 0; i < p->group->unit_count; i++)
        if (p->size[i] == FREE) memcpy(v + p->first[i], f->motions[i].v, sizeof f->motions[i].v);
    for (int k = 0; k < p->row_count;
         k++) // those that were not looked at again may be out of the cone by less than what counts
        cal_sweep_start(f->impulse[k], f->rows[k].friction, p->rows[f->watch[k].row].impulse);
}

const cal_sweep_ops cal_free_sweeps = {0.1, begin, sweep, follow, end};
