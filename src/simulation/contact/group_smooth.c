// See group_smooth.h; accelerations are those of contacts that are held (group_held.c).
// The pair is Dormand and Prince's. What its error leaves of gaps and speeds of the constraints is removed, by mass, at the end.
#include "simulation/contact/group_held.h"
#include "base/finite.h"
#include "math/vector.h"
#include <string.h>

enum { STAGES = 7 };
static const double a_[STAGES][STAGES] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
static const double c_[STAGES] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
static const double e_[STAGES] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                  -17253.0 / 339200, 22.0 / 525, -1.0 / 40}; // of order 5 less order 4

bool cal_smooth_takes(const cal_group* group) { return group->unit_count <= CAL_SMOOTH_UNITS; }

double cal_smooth_longest(const cal_problem* p) {
    double longest = INFINITY;
    for (int i = 0; i < p->group->unit_count; i++)
        for (int n = p->first[i]; p->stiff[i] && n < p->first[i] + p->size[i]; n++) {
            const int own = n - p->first[i];
            const double more = p->resistance[i] != NULL ? p->resistance[i][own * (p->size[i] + 1)] : 0.0;
            const double D = (p->damping[n] + more) / p->diagonal[n], K = p->stiffness[n] / p->diagonal[n];
            if (D > 0.0 || K > 0.0) longest = fmin(longest, 2.0 / (D + sqrt(D * D + 4.0 * K)));
        }
    return longest;
}

size_t cal_smooth_count(const cal_group* group) {
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count, m = CAL_SMOOTH_ROWS;
    return 9 * q + 13 * v + m * m + m + 4 * m + 3 * (size_t)group->unit_count + 64;
}

bool cal_smooth_begin(cal_smooth* s, const cal_group* group, cal_arena* arena) {
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count, m = CAL_SMOOTH_ROWS;
    *s = (cal_smooth){.group = group};
    for (int i = 0; i < STAGES; i++) {
        s->rates[i] = cal_arena_numbers(arena, q);
        s->changes[i] = cal_arena_numbers(arena, v);
    }
    s->q = cal_arena_numbers(arena, q);
    s->near_q = cal_arena_numbers(arena, q);
    s->v = cal_arena_numbers(arena, v);
    s->force = cal_arena_numbers(arena, v);
    s->sum = cal_arena_numbers(arena, v);
    s->matrix = cal_arena_numbers(arena, m * m + 3 * v);
    s->right = cal_arena_numbers(arena, m);
    s->turned = (double(*)[3])(void*)cal_arena_numbers(arena, 3 * (size_t)group->unit_count);
    for (int i = 0; i < 2; i++) s->rows[i] = cal_arena_numbers(arena, m);
    return s->rows[1] != NULL;
}

// --- Steps --------------------------------------------------------------------------------------------------------------------

static cal_status rates(const cal_smooth* s, double time, const double* q, const double* v, double* out,
                        cal_error* error) {
    for (int i = 0; i < s->group->unit_count; i++) {
        const cal_group_member* unit = &s->group->units[i];
        const cal_status status = unit->ops->rate(unit, q + unit->first_q, v + unit->first_v, out + unit->first_q);
        if (status != CAL_OK) return cal_group_unit_failed(s->group, i, status, time, error);
    }
    return CAL_OK;
}

static cal_status normalize(const cal_smooth* s, double time, double* q, cal_error* error) {
    for (int i = 0; i < s->group->unit_count; i++) {
        const cal_group_member* unit = &s->group->units[i];
        if (cal_held_rests(s, i)) continue;
        const cal_status status = unit->ops->normalize(unit, q + unit->first_q);
        if (status != CAL_OK) return cal_group_unit_failed(s->group, i, status, time, error);
    }
    return CAL_OK;
}

// Constraints of the units hold at the end.
static cal_status close_loops(cal_smooth* s, double time, cal_error* error) {
    for (int i = 0; i < s->group->unit_count; i++) {
        const cal_group_member* unit = &s->group->units[i];
        if (unit->most_rows == 0) continue;
        const cal_status status = unit->ops->project(unit, time, s->q + unit->first_q, s->v + unit->first_v);
        if (status != CAL_OK) return cal_group_unit_failed(s->group, i, status, time, error);
    }
    return CAL_OK;
}

// What held contacts that slide do across, in the world's axes, at q as the problem was filled last; zero where it is none.
static void find_slips(const cal_smooth* s, const double* v, double out[CAL_SMOOTH_CONTACTS][3]) {
    for (int i = 0; i < s->count; i++) {
        const cal_contact_row* touch = cal_held_row(s, i);
        double y[3] = {0.0}, frame[9];
        if (touch != NULL && s->held[i].slides && !touch->stops &&
            !(cal_dot3(s->held[i].along, s->held[i].along) > 0.0)) {
            cal_held_speeds(s, touch, v, true, y);
            cal_contact_frame(s->cache->contacts[touch->contact].normal, frame);
        } else
            memset(frame, 0, sizeof frame);
        for (int k = 0; k < 3; k++) out[i][k] = y[1] * frame[3 + k] + y[2] * frame[6 + k];
    }
}

// When in the step the first of them stops, which has turned back at its end, by more than what sticks may slide by: by the secant of what it does
// along where it began.
static double find_stop(const cal_smooth* s) {
    double ends[CAL_SMOOTH_CONTACTS][3], first = 1.0;
    find_slips(s, s->v, ends);
    for (int i = 0; i < s->count; i++) {
        const double square = cal_dot3(s->slips[i], s->slips[i]), end = cal_dot3(ends[i], s->slips[i]);
        if (end < -CAL_WORK_STOPPING * square) first = fmin(first, square / (square - end));
    }
    return first;
}

// Gaps as they were, and no speed across what is held. Tells where something else is hit, and when something stops.
static cal_status tidy(cal_smooth* s, double time, bool* ok, cal_error* error) {
    for (int round = 0; round < 2; round++) {
        const cal_status status = cal_held_fill(s, time, s->q, s->v, error);
        if (status != CAL_OK) return status;
        if (round == 0) s->stops = find_stop(s);
        for (int k = 0; round == 1 && k < s->problem->row_count; k++) {
            const cal_contact_row* touch = &s->problem->rows[k];
            double allowed = -s->landed;
            bool held = false;
            for (int i = 0; i < s->count; i++) {
                const int* body = s->held[i].body;
                held |= s->found[i] == k;
                // Beside a point that is held as deep as it was.
                if (body[0] == touch->body[0] && body[1] == touch->body[1])
                    allowed = fmin(allowed, s->held[i].gap - s->landed);
            }
            s->hits |= !held && touch->gap < allowed;
        }
        *ok &= cal_held_read(s, s->v, true, s->right);
        if (!*ok) return CAL_OK;
        const int m = cal_held_row_count(s);
        if (round == 1) { // speeds
            for (int r = 0; r < m; r++) s->right[r] = -s->right[r];
            *ok = cal_held_push(s, s->v, false, s->v);
            continue;
        }
        int row = 0;
        for (int i = 0; i < s->count; i++) {
            s->right[row++] = s->held[i].gap - cal_held_row(s, i)->gap;
            for (int r = 1; r < (s->held[i].slides ? 1 : 3); r++) s->right[row++] = 0.0;
        }
        memset(s->changes[0], 0, (size_t)s->group->v_count * sizeof *s->changes[0]);
        *ok = cal_held_push(s, s->v, false, s->changes[0]);
        if (!*ok) return CAL_OK;
        cal_status moved = cal_held_displace(s, time, s->q, s->changes[0], 1.0, s->q, error);
        if (moved == CAL_OK) moved = close_loops(s, time, error);
        if (moved != CAL_OK) return moved;
    }
    return close_loops(s, time, error);
}

cal_status cal_smooth_step(cal_smooth* s, double time, const double* q, const double* v, double h, double tolerance,
                           double* miss, cal_error* error) {
    const cal_group* group = s->group;
    *miss = INFINITY;
    s->hits = false, s->stops = 1.0;
    memset(s->turned, 0, (size_t)group->unit_count * sizeof *s->turned);
    for (int stage = 0; stage < STAGES; stage++) {
        for (int i = 0; i < group->q_count; i++) {
            s->q[i] = q[i];
            for (int k = 0; k < stage; k++) s->q[i] += h * a_[stage][k] * s->rates[k][i];
        }
        for (int i = 0; i < group->v_count; i++) {
            s->v[i] = v[i];
            for (int k = 0; k < stage; k++) s->v[i] += h * a_[stage][k] * s->changes[k][i];
        }
        for (int i = 0; i < group->unit_count; i++)
            for (int k = 0; group->units[i].ops->respin != NULL && k < 3; k++)
                s->turned[i][k] += h * a_[STAGES - 1][stage] * s->v[group->units[i].first_v + 3 + k];
        bool ok = true;
        s->pulls = s->strains = -1;
        cal_status status = rates(s, time, s->q, s->v, s->rates[stage], error);
        if (status == CAL_OK) status = normalize(s, time, s->q, error);
        if (status == CAL_OK)
            status = cal_held_accelerate(s, time + c_[stage] * h, s->q, s->v, h, s->changes[stage], &s->powers[stage],
                                         &ok, error);
        if (status != CAL_OK) return status;
        // A contact that would pull from the start on has let go: what turns away from it does so though forces press. One that would not stick, or would
        // soon not, slides.
        if (!ok && ((stage == 0 && cal_held_let_go(s)) || ((stage == 0 || h <= s->least) && cal_held_let_slide(s)))) {
            memset(s->turned, 0, (size_t)group->unit_count * sizeof *s->turned);
            stage = -1;
            continue;
        }
        if (!ok) return CAL_OK;
        if (stage == 0) find_slips(s, s->v, s->slips);
    }
    double most = 0.0;
    s->work = 0.0;
    for (int k = 0; k < STAGES; k++) s->work += h * a_[STAGES - 1][k] * s->powers[k];
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        for (int n = unit->first_v; n < unit->first_v + unit->v_count; n++) {
            double sum = 0.0;
            for (int k = 0; k < STAGES; k++) sum += e_[k] * s->changes[k][n];
            const double weight = cal_member_v_weight(unit, n - unit->first_v, group->length);
            most = cal_larger(most, weight * h * h * fabs(sum));
        }
        for (int n = unit->first_q; n < unit->first_q + unit->q_count; n++) {
            double sum = 0.0;
            for (int k = 0; k < STAGES; k++) sum += e_[k] * s->rates[k][n];
            const double weight = cal_member_q_weight(unit, n - unit->first_q, group->length);
            most = cal_larger(most, weight * h * fabs(sum));
        }
    }
    bool ok = true;
    const cal_status status = tidy(s, time + h, &ok, error);
    if (status == CAL_OK && ok) *miss = most / tolerance;
    return status;
}
