// Sweeps over contacts of free bodies; see contact_sweeps.c. All that a sweep needs of a contact is in one place, in the order of the
// sweep, since a pile of thousands does not fit into the caches that are near.
//
// The order is from the top down: what presses is passed on to what carries it within one sweep.
//
// A contact is looked at when its bodies may have changed its speeds since the last look: by more than `least`, or, where it holds
// nothing, by more than it is apart. A look itself leaves speeds that its law has not counted with, where an impulse across the normal
// acts along it. How much that is at most is added up for each body. An impulse λ changes the speed of a contact with
// the turning rows T by no more than (1/m + |T|² / I) |λ|₁, and v by Δv, which goes on, by |Δu|₁ + |T| |Δω|₁.
#include "math/four.h"
#include "math/vector.h"
#include "simulation/contact/contact_sweeps.h"
#include <stdlib.h>
#include <string.h>

enum { FREE = 6 };

static size_t numbers_of(size_t count, size_t size) { return (count * size + sizeof(double) - 1) / sizeof(double); }

size_t cal_free_sweeps_count(const cal_group* group, int contacts) {
    const size_t n = (size_t)contacts, units = (size_t)group->unit_count + 1;
    return numbers_of(1, sizeof(cal_free_problem)) + numbers_of(n, sizeof(cal_free_row)) +
           numbers_of(n, sizeof(cal_free_watch)) + 8 * n + numbers_of(units, sizeof(cal_free_motion)) + 8 * units;
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
    f->impulse = (double(*)[4])(void*)cal_arena_numbers(arena, 4 * count);
    f->last = (double(*)[4])(void*)cal_arena_numbers(arena, 4 * count);
    f->velocity = (double(*)[2][4])(void*)cal_arena_numbers(arena, 8 * units);
    if (f->rows == NULL || f->watch == NULL || f->motions == NULL || f->impulse == NULL || f->last == NULL ||
        f->velocity == NULL)
        return false;
    p->free = f;
    order_rows(p, contacts);
    return true;
}

static inline double size_of(const double x[3]) { return fabs(x[0]) + fabs(x[1]) + fabs(x[2]); }

CAL_WIDE_INLINE cal_four times(const double columns[3][4], const double x[3]) {
    return cal_load_four(columns[0]) * x[0] + cal_load_four(columns[1]) * x[1] + cal_load_four(columns[2]) * x[2];
}

CAL_WIDE_INLINE cal_four times_transposed(const double columns[3][4], const double x[3]) {
    const cal_four a = cal_load_four(columns[0]), b = cal_load_four(columns[1]), c = cal_load_four(columns[2]);
    const cal_four even = CAL_SHUFFLE(a, b, 0, 4, 2, 6), odd = CAL_SHUFFLE(a, b, 1, 5, 3, 7);
    return CAL_SHUFFLE(even, c, 0, 1, 4, 5) * x[0] + CAL_SHUFFLE(odd, c, 0, 1, 5, 4) * x[1] +
           CAL_SHUFFLE(even, c, 2, 3, 6, 7) * x[2];
}

CAL_WIDE_INLINE void push(const cal_free_row* row, const double change[3], cal_free_motion* a, cal_free_motion* b) {
    const double size = size_of(change);
    const cal_four along = times_transposed(row->frame, change);
    cal_store_four(cal_load_four(a->u) - cal_load_four(a->light) * along, a->u);
    cal_store_four(cal_load_four(b->u) + cal_load_four(b->light) * along, b->u);
    cal_store_four(cal_load_four(a->w) + cal_load_four(a->thin) * times_transposed(row->turn[0], change), a->w);
    cal_store_four(cal_load_four(b->w) + cal_load_four(b->thin) * times_transposed(row->turn[1], change), b->w);
    a->moved += a->answer * size;
    b->moved += b->answer * size;
}

CAL_WIDE_INLINE void read_speeds(const cal_free_row* row, const cal_free_motion* a, const cal_free_motion* b,
                                 double y[4]) {
    double u[4];
    cal_store_four(cal_load_four(b->u) - cal_load_four(a->u), u);
    // Sums that do not wait for each other.
    cal_store_four((cal_load_four(row->offset) + times(row->frame, u)) +
                       (times(row->turn[0], a->w) + times(row->turn[1], b->w)),
                   y);
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
            row->frame[i][r] = side == 0 ? -J[i] : J[i];
            row->turn[side][i][r] = J[3 + i];
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
    memset(row->frame, 0, sizeof row->frame);
    cal_store_four(cal_load_three(touch->offset), row->offset);
    for (int side = 0; side < 2; side++) take_side(p, touch, side, row, &f->watch[k]);
    f->impulse[k][3] = 0.0;
    cal_sweep_start(touch->held, touch->friction, f->impulse[k]);
    memcpy(f->last[k], f->impulse[k], sizeof f->last[k]);
    f->watch[k].until = -1.0;
}

CAL_WIDE static void begin_free(cal_problem* p, const double* target, double* v) {
    cal_free_problem* f = p->free;
    const int count = p->group->unit_count;
    memcpy(v, target, (size_t)p->group->v_count * sizeof *v);
    memset(f->motions, 0, ((size_t)count + 1) * sizeof *f->motions);
    for (int i = 0; i < count; i++) {
        cal_free_motion* motion = &f->motions[i];
        const double *own = target + p->first[i], *mass = p->mass + p->mass_at[i];
        for (int k = 0; p->size[i] == FREE && k < 3; k++) { // others are in no row
            motion->u[k] = own[k], motion->w[k] = own[3 + k];
            motion->light[k] = 1.0 / mass[k * (FREE + 1)], motion->thin[k] = 1.0 / mass[(3 + k) * (FREE + 1)];
        }
    }
    for (int k = 0; k < p->row_count; k++) take_row(p, k);
    for (int i = 0; i < count; i++) {
        cal_free_motion* motion = &f->motions[i];
        const double *m = motion->light, *t = motion->thin, light = fmax(m[0], fmax(m[1], m[2])),
                     thin = fmax(t[0], fmax(t[1], t[2]));
        motion->answer = light + motion->arm * motion->arm * thin;
    }
    for (int k = 0; k < p->row_count; k++)
        push(&f->rows[k], f->impulse[k], &f->motions[f->watch[k].unit[0]], &f->motions[f->watch[k].unit[1]]);
    for (int i = 0; i < count; i++) {
        memcpy(f->velocity[i][0], f->motions[i].u, sizeof f->motions[i].u);
        memcpy(f->velocity[i][1], f->motions[i].w, sizeof f->motions[i].w);
    }
}

CAL_WIDE static cal_sweep_result sweep_free(cal_problem* p, int number, double least, double* v) {
    (void)v;
    cal_free_problem* f = p->free;
    cal_sweep_result result = {0};
    for (int k = 0; k < p->row_count; k++) {
        cal_free_watch* watch = &f->watch[k];
        cal_free_motion *a = &f->motions[watch->unit[0]], *b = &f->motions[watch->unit[1]];
        if (a->moved + b->moved <= watch->until) continue;
        const cal_free_row* row = &f->rows[k];
        double *impulse = f->impulse[k], y[4], change[3], along[3];
        read_speeds(row, a, b, y);
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

// Numbers go on by a share of what they have changed by since the last call; returns the sum of the sizes of these.
CAL_WIDE_INLINE double go_on(double share, double now[4], double last[4]) {
    double more[4];
    const cal_four x = cal_load_four(now), change = share * (x - cal_load_four(last));
    cal_store_four(change, more);
    cal_store_four(x + change, now);
    cal_store_four(x, last);
    return size_of(more);
}

CAL_WIDE static void follow_free(cal_problem* p, double share, int number, double least, double* v) {
    (void)v, (void)number;
    cal_free_problem* f = p->free;
    for (int k = 0; k < p->row_count; k++)
        if (go_on(share, f->impulse[k], f->last[k]) * f->rows[k].own > least) f->watch[k].until = -1.0;
    for (int i = 0; i < p->group->unit_count; i++) {
        cal_free_motion* motion = &f->motions[i];
        const double along = go_on(share, motion->u, f->velocity[i][0]);
        motion->moved += along + motion->arm * go_on(share, motion->w, f->velocity[i][1]);
    }
}

static void end(cal_problem* p, double* v) {
    const cal_free_problem* f = p->free;
    for (int i = 0; i < p->group->unit_count; i++)
        for (int k = 0; k < 3 && p->size[i] == FREE; k++)
            v[p->first[i] + k] = f->motions[i].u[k], v[p->first[i] + 3 + k] = f->motions[i].w[k];
    for (int k = 0; k < p->row_count;
         k++) // those that were not looked at again may be out of the cone by less than what counts
        cal_sweep_start(f->impulse[k], f->rows[k].friction, p->rows[f->watch[k].row].impulse);
}

const cal_sweep_ops cal_free_sweeps = {0.1, begin_free, sweep_free, follow_free, end};
