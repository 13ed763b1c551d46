// Sweeps over contacts of free bodies; see contact_sweeps.c. All that a sweep needs of a contact is in one place, in the order of the
// sweep, since a pile of thousands does not fit into the caches that are near.
//
// The order is from the top down: what presses is passed on to what carries it within one sweep.
//
// A contact is looked at when its bodies may have changed its speeds since the last look: by more than `least`, or, where it holds
// nothing, by more than it is apart. A look itself leaves speeds that its law has not counted with, where an impulse across the normal
// acts along it. How much that is at most is added up for each body. An impulse λ changes the speed of a contact with
// the turning rows T by no more than (1/m + |T|² / I) |λ|₁, and v by Δv, which goes on, by |Δu|₁ + |T| |Δω|₁.
#include "base/radix.h"
#include "math/four.h"
#include "math/vector.h"
#include "simulation/contact/contact_sweeps.h"
#include <stdint.h>
#include <string.h>

enum { FREE = 6, LINE = 8 };         // doubles of a line of a cache
static const double round_to = 1e-9; // of a ball's radius: what it is round to, with rounding

static size_t numbers_of(size_t count, size_t size) { return (count * size + sizeof(double) - 1) / sizeof(double); }

// As many numbers, from the begin of a line on.
static double* take_lines(cal_arena* arena, size_t count) {
    double* from = cal_arena_numbers(arena, count + LINE - 1);
    if (from == NULL) return NULL;
    const size_t over = (size_t)(uintptr_t)from / sizeof(double) % LINE;
    return over > 0 ? from + (LINE - over) : from;
}

size_t cal_free_sweeps_count(const cal_group* group, int contacts) {
    const size_t n = (size_t)contacts, units = (size_t)group->unit_count + 1;
    return numbers_of(1, sizeof(cal_free_problem)) + numbers_of(n, sizeof(cal_free_row)) +
           numbers_of(n, sizeof(cal_free_watch)) + 8 * n + numbers_of(units, sizeof(cal_free_motion)) + 8 * units +
           numbers_of(n, sizeof(cal_ball_row)) + numbers_of(2 * n, sizeof(cal_keyed)) + 10 * units + 6 * LINE;
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

// From the top down; false: no memory.
static bool order_rows(cal_problem* p, const cal_group_contact* contacts, cal_arena arena) {
    const size_t count = (size_t)p->row_count;
    cal_keyed* order = (cal_keyed*)(void*)cal_arena_numbers(&arena, numbers_of(2 * count, sizeof *order));
    if (order == NULL) return false;
    for (int k = 0; k < p->row_count; k++)
        order[k] =
            (cal_keyed){cal_key_of_number(cal_dot3(p->group->gravity, contacts[p->rows[k].contact].point[0])), k};
    cal_radix_sort(order, order + count, p->row_count);
    for (int k = 0; k < p->row_count; k++) p->free->watch[k].row = (int32_t)order[k].number;
    return true;
}

// Whether a unit is a ball to a contact: it turns alike about all axes, and what presses it does not turn it, but for rounding. All its
// contacts are as far from its centre.
static bool is_ball(cal_problem* p, const cal_contact_row* touch, int side) {
    const int unit = touch->unit[side];
    if (unit < 0) return true;
    const double *J = touch->jacobian[side] + 3, *mass = p->mass + p->mass_at[unit] + 3 * (FREE + 1);
    const double along = sqrt(cal_dot3(J, J)), arm = sqrt(cal_dot3(J + FREE, J + FREE)),
                 other = sqrt(cal_dot3(J + 2 * FREE, J + 2 * FREE));
    double* radius = &p->free->radius[unit];
    if (*radius == 0.0) *radius = arm;
    return mass[0] == mass[FREE + 1] && mass[0] == mass[2 * (FREE + 1)] && arm > 0.0 && along <= round_to * arm &&
           fabs(arm - *radius) <= round_to * *radius && fabs(other - *radius) <= round_to * *radius;
}

// Rows of balls where all are; false: no memory.
static bool take_balls(cal_problem* p, const double* q, cal_arena* arena) {
    cal_free_problem* f = p->free;
    const size_t units = (size_t)p->group->unit_count + 1;
    bool all = true;
    f->balls = NULL;
    f->radius = cal_arena_numbers(arena, units);
    f->turned = (double(*)[9])(void*)cal_arena_numbers(arena, 9 * units);
    cal_ball_row* rows = (cal_ball_row*)(void*)take_lines(arena, numbers_of((size_t)p->row_count, sizeof *f->balls));
    if (f->radius == NULL || f->turned == NULL || rows == NULL) return false;
    memset(f->radius, 0, units * sizeof *f->radius);
    for (int k = 0; all && k < p->row_count; k++)
        for (int side = 0; side < 2; side++) all = all && is_ball(p, &p->rows[k], side);
    if (!all) return true;
    for (int i = 0; i < p->group->unit_count; i++)
        if (f->radius[i] > 0.0) cal_quaternion_matrix(q + p->group->units[i].first_q + 3, f->turned[i]);
    f->balls = rows;
    return true;
}

bool cal_free_sweeps_take(cal_problem* p, const double* q, const cal_group_contact* contacts, cal_arena* arena) {
    p->free = NULL;
    for (int k = 0; k < p->row_count; k++)
        if (!is_free(p, &p->rows[k])) return true;
    const size_t count = (size_t)p->row_count, units = (size_t)p->group->unit_count + 1;
    cal_free_problem* f = (cal_free_problem*)(void*)cal_arena_numbers(arena, numbers_of(1, sizeof *f));
    if (f == NULL) return false;
    f->rows = (cal_free_row*)(void*)take_lines(arena, numbers_of(count, sizeof *f->rows));
    f->watch = (cal_free_watch*)(void*)take_lines(arena, numbers_of(count, sizeof *f->watch));
    f->motions = (cal_free_motion*)(void*)take_lines(arena, numbers_of(units, sizeof *f->motions));
    f->impulse = (double(*)[2][4])(void*)take_lines(arena, 8 * count);
    f->velocity = (double(*)[2][4])(void*)take_lines(arena, 8 * units);
    if (f->rows == NULL || f->watch == NULL || f->motions == NULL || f->impulse == NULL || f->velocity == NULL)
        return false;
    p->free = f;
    return take_balls(p, q, arena) && order_rows(p, contacts, *arena);
}

static inline double size_of(const double x[3]) { return fabs(x[0]) + fabs(x[1]) + fabs(x[2]); }

CAL_WIDE_INLINE cal_four times(const double columns[3][4], const double x[3]) {
    return cal_load_four(columns[0]) * x[0] + cal_load_four(columns[1]) * x[1] + cal_load_four(columns[2]) * x[2];
}

CAL_WIDE_INLINE void transpose(const double columns[3][4], cal_four out[3]) {
    const cal_four a = cal_load_four(columns[0]), b = cal_load_four(columns[1]), c = cal_load_four(columns[2]);
    const cal_four even = CAL_SHUFFLE(a, b, 0, 4, 2, 6), odd = CAL_SHUFFLE(a, b, 1, 5, 3, 7);
    out[0] = CAL_SHUFFLE(even, c, 0, 1, 4, 5), out[1] = CAL_SHUFFLE(odd, c, 0, 1, 5, 4);
    out[2] = CAL_SHUFFLE(even, c, 2, 3, 6, 7);
}

CAL_WIDE_INLINE cal_four times_transposed(const double columns[3][4], const double x[3]) {
    cal_four rows[3];
    transpose(columns, rows);
    return rows[0] * x[0] + rows[1] * x[1] + rows[2] * x[2];
}

CAL_WIDE_INLINE void count_push(const double change[3], cal_free_motion* a, cal_free_motion* b) {
    const double size = size_of(change);
    a->moved += a->answer * size;
    b->moved += b->answer * size;
    a->follows = b->follows = 1.0;
}

CAL_WIDE_INLINE void push(const cal_free_row* row, const double change[3], cal_free_motion* a, cal_free_motion* b) {
    const cal_four along = times_transposed(row->frame, change);
    cal_store_four(cal_load_four(a->u) - cal_load_four(a->light) * along, a->u);
    cal_store_four(cal_load_four(b->u) + cal_load_four(b->light) * along, b->u);
    cal_store_four(cal_load_four(a->w) + cal_load_four(a->thin) * times_transposed(row->turn[0], change), a->w);
    cal_store_four(cal_load_four(b->w) + cal_load_four(b->thin) * times_transposed(row->turn[1], change), b->w);
    count_push(change, a, b);
}

CAL_WIDE_INLINE void push_balls(const cal_ball_row* row, const double change[3], cal_free_motion* a,
                                cal_free_motion* b) {
    cal_four rows[3];
    transpose(row->frame, rows);
    const cal_four along = rows[0] * change[0] + rows[1] * change[1] + rows[2] * change[2],
                   turning = rows[2] * change[1] - rows[1] * change[2];
    cal_store_four(cal_load_four(a->u) - cal_load_four(a->light) * along, a->u);
    cal_store_four(cal_load_four(b->u) + cal_load_four(b->light) * along, b->u);
    cal_store_four(cal_load_four(a->w) - cal_load_four(a->thin) * turning, a->w);
    cal_store_four(cal_load_four(b->w) - cal_load_four(b->thin) * turning, b->w);
    count_push(change, a, b);
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

CAL_WIDE_INLINE void read_balls(const cal_ball_row* row, const cal_free_motion* a, const cal_free_motion* b,
                                double y[4]) {
    static const cal_four signs = {0.0, -1.0, 1.0, 0.0};
    double u[4], w[4];
    cal_store_four(cal_load_four(b->u) - cal_load_four(a->u), u);
    cal_store_four(cal_load_four(a->w) + cal_load_four(b->w), w);
    const cal_four turning = times(row->frame, w);
    cal_store_four(
        (cal_load_four(row->offset) + times(row->frame, u)) + signs * CAL_SHUFFLE(turning, turning, 0, 2, 1, 3), y);
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

static void take_free_row(cal_problem* p, const cal_contact_row* touch, int k) {
    cal_free_row* row = &p->free->rows[k];
    row->own = touch->own[0], row->across = touch->across, row->friction = touch->friction;
    for (int i = 0; i < 2; i++) row->tilt[i] = touch->own[3 * (i + 1)], row->inverse[i] = touch->inverse[i];
    const double* W = touch->own;
    row->mixed = fmax(fmax(fabs(W[1]), fabs(W[2])), fmax(fabs(W[5]), row->across - fmin(W[4], W[8])));
    memset(row->frame, 0, sizeof row->frame);
    cal_store_four(cal_load_three(touch->offset), row->offset);
    for (int side = 0; side < 2; side++) take_side(p, touch, side, row, &p->free->watch[k]);
}

static void take_ball_row(cal_problem* p, const cal_contact_row* touch, int k) {
    cal_ball_row* row = &p->free->balls[k];
    cal_free_watch* watch = &p->free->watch[k];
    const int side = touch->unit[0] >= 0 ? 0 : 1;
    for (int i = 0; i < 2; i++) watch->unit[i] = touch->unit[i] >= 0 ? touch->unit[i] : p->group->unit_count;
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) {
            const double own = touch->jacobian[side][r * FREE + i];
            row->frame[i][r] = side == 0 ? -own : own;
        }
    cal_store_four(cal_load_three(touch->offset), row->offset);
    row->frame[CAL_BALL_ACROSS][3] = touch->across;
    row->frame[CAL_BALL_FRICTION][3] = touch->friction;
    row->frame[CAL_BALL_INVERSE][3] = touch->inverse[0];
    row->offset[3] = touch->inverse[1];
}

static void take_row(cal_problem* p, int k) {
    cal_free_problem* f = p->free;
    cal_contact_row* touch = &p->rows[f->watch[k].row];
    if (f->balls != NULL)
        take_ball_row(p, touch, k);
    else
        take_free_row(p, touch, k);
    f->impulse[k][0][3] = 0.0;
    cal_sweep_start(touch->held, touch->friction, f->impulse[k][0]);
    memcpy(f->impulse[k][1], f->impulse[k][0], sizeof f->impulse[k][1]);
    f->watch[k].until = -1.0;
    f->watch[k].own = touch->own[0];
    f->watch[k].follows = 1;
}

// A ball's turning rate as the speed of its surface.
static void take_spin(const cal_free_problem* f, int unit, cal_free_motion* motion) {
    const double radius = f->radius[unit];
    double w[3];
    cal_rotate3(f->turned[unit], motion->w, w);
    for (int i = 0; i < 3; i++) motion->w[i] = radius * w[i], motion->thin[i] *= radius * radius;
    motion->arm = 1.0;
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
    for (int i = 0; f->balls != NULL && i < count; i++)
        if (f->radius[i] > 0.0) take_spin(f, i, &f->motions[i]);
    for (int i = 0; i < count; i++) {
        cal_free_motion* motion = &f->motions[i];
        const double *m = motion->light, *t = motion->thin, light = fmax(m[0], fmax(m[1], m[2])),
                     thin = fmax(t[0], fmax(t[1], t[2]));
        motion->answer = light + motion->arm * motion->arm * thin;
    }
    for (int k = 0; k < p->row_count; k++) {
        cal_free_motion *a = &f->motions[f->watch[k].unit[0]], *b = &f->motions[f->watch[k].unit[1]];
        if (f->balls != NULL)
            push_balls(&f->balls[k], f->impulse[k][0], a, b);
        else
            push(&f->rows[k], f->impulse[k][0], a, b);
    }
    for (int i = 0; i < count; i++) {
        f->motions[i].follows = 1.0;
        memcpy(f->velocity[i][0], f->motions[i].u, sizeof f->motions[i].u);
        memcpy(f->velocity[i][1], f->motions[i].w, sizeof f->motions[i].w);
    }
}

CAL_WIDE_INLINE cal_sweep_result sweep(cal_problem* p, bool balls, int number, double least) {
    static const double straight[2] = {0.0, 0.0};
    cal_free_problem* f = p->free;
    cal_sweep_result result = {0};
    for (int k = 0; k < p->row_count; k++) {
        cal_free_watch* watch = &f->watch[k];
        cal_free_motion *a = &f->motions[watch->unit[0]], *b = &f->motions[watch->unit[1]];
        if (a->moved + b->moved <= watch->until) continue;
        const cal_free_row* row = balls ? NULL : &f->rows[k];
        const cal_ball_row* ball = balls ? &f->balls[k] : NULL;
        const double across = balls ? ball->frame[CAL_BALL_ACROSS][3] : row->across, own = watch->own;
        double *impulse = f->impulse[k][0], y[4], change[3], along[3];
        const double* last = f->impulse[k][1];
        double most;
        if (balls) {
            const double inverse[2] = {ball->frame[CAL_BALL_INVERSE][3], ball->offset[3]};
            read_balls(ball, a, b, y);
            most =
                cal_sweep_change(impulse, y, own, straight, across, inverse, ball->frame[CAL_BALL_FRICTION][3], change);
        } else {
            read_speeds(row, a, b, y);
            most = cal_sweep_change(impulse, y, own, row->tilt, across, row->inverse, row->friction, change);
        }
        const bool changes = change[0] != 0.0 || change[1] != 0.0 || change[2] != 0.0,
                   is_apart = !changes && impulse[0] == 0.0;
        if (changes) {
            if (balls)
                push_balls(ball, change, a, b);
            else
                push(row, change, a, b);
            for (int i = 0; i < 3; i++) {
                impulse[i] += change[i];
                along[i] = change[i] * (impulse[i] - last[i]);
            }
            watch->follows = 1;
            result.square += own * change[0] * change[0] + across * (change[1] * change[1] + change[2] * change[2]);
            result.along += own * along[0] + across * (along[1] + along[2]);
            if (most > least) p->stirred[watch->unit[0]] = p->stirred[watch->unit[1]] = number;
            result.most = cal_larger(result.most, most);
        }
        // What its own change has left to do: nothing of a ball's.
        const double left = changes && !balls ? row->mixed * (fabs(change[1]) + fabs(change[2])) : 0.0;
        watch->until = a->moved + b->moved + (is_apart ? cal_larger(least, y[0]) : least) - left;
    }
    return result;
}

CAL_WIDE static cal_sweep_result sweep_rows(cal_problem* p, int number, double least) {
    return sweep(p, false, number, least);
}

CAL_WIDE static cal_sweep_result sweep_balls(cal_problem* p, int number, double least) {
    return sweep(p, true, number, least);
}

static cal_sweep_result sweep_free(cal_problem* p, int number, double least, double* v) {
    (void)v;
    return p->free->balls != NULL ? sweep_balls(p, number, least) : sweep_rows(p, number, least);
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

// What has gone on by nothing does so until a sweep changes it again.
CAL_WIDE static void follow_free(cal_problem* p, double share, int number, double least, double* v) {
    (void)v, (void)number;
    cal_free_problem* f = p->free;
    for (int k = 0; k < p->row_count; k++) {
        cal_free_watch* watch = &f->watch[k];
        if (watch->follows == 0) continue;
        const double more = go_on(share, f->impulse[k][0], f->impulse[k][1]);
        watch->follows = more != 0.0;
        if (more * watch->own > least) watch->until = -1.0;
    }
    for (int i = 0; i < p->group->unit_count; i++) {
        cal_free_motion* motion = &f->motions[i];
        if (motion->follows == 0.0) continue;
        const double along = go_on(share, motion->u, f->velocity[i][0]),
                     turned = go_on(share, motion->w, f->velocity[i][1]);
        motion->follows = along != 0.0 || turned != 0.0 ? 1.0 : 0.0;
        motion->moved += along + motion->arm * turned;
    }
}

static void end(cal_problem* p, double* v) {
    const cal_free_problem* f = p->free;
    for (int i = 0; i < p->group->unit_count; i++) {
        if (p->size[i] != FREE) continue;
        const cal_free_motion* motion = &f->motions[i];
        double w[3], *own = v + p->first[i];
        memcpy(w, motion->w, sizeof w);
        if (f->balls != NULL && f->radius[i] > 0.0) {
            cal_unrotate3(f->turned[i], motion->w, w);
            for (int k = 0; k < 3; k++) w[k] /= f->radius[i];
        }
        memcpy(own, motion->u, 3 * sizeof *own);
        memcpy(own + 3, w, sizeof w);
    }
    for (int k = 0; k < p->row_count;
         k++) { // those that were not looked at again may be out of the cone by less than what counts
        cal_contact_row* touch = &p->rows[f->watch[k].row];
        cal_sweep_start(f->impulse[k][0], touch->friction, touch->impulse);
    }
}

const cal_sweep_ops cal_free_sweeps = {0.1, begin_free, sweep_free, follow_free, end};
