// See group_held.h. With the contacts that press held, accelerations a and forces λ are those of
//
//     M a = f + J̃ᵀ λ,    J a + J̇ v + ẇ = 0        rows: normals of all, tangents of those that stick
//
// with w what bodies that are driven add to the velocities J v, and where J̃ is J, but for a contact that slides along t̂: its friction −μ λ_n t̂ is part of its normal's column. What is constrained
// is the velocity J(q) v + w(t) at the contact as it is at q, wherever it wanders on the two surfaces, so J̇ v + ẇ is the derivative of
// that for a constant v, and is taken as a central difference along v and time. Contacts that carry a body more than once make the
// matrix singular, and its equations stay consistent but for rounding: with a share s of its diagonal D added to it one of the solutions is
// picked, and all give the same accelerations. What that makes of them is taken back by solving again for what is left over, which is s D x:
//
//     x₁ = (A + s D)⁻¹ b,    x = x₁ + (A + s D)⁻¹ s D x₁        off by s² where A is regular; rounding grows by 1/√s where it nearly is not
#include "simulation/contact/group_held.h"
#include "math/vector.h"
#include <string.h>

enum { SWEPT = 6 };                     // velocities of a free body
static const double sliding = 1e-6;     // of the largest speed: faster across is sliding
static const double along = 1e-5;       // of the length: how far a difference looks; its error is the square of that
static const double soon = 1e-3;        // of the step: the same, where bodies are driven
static const double spread = 1e-8;      // of the diagonal: what makes forces unique
static const double smallest = 1e-6;    // of the largest of the diagonal: what counts as that where it is less
static const double least_force = 1e-9; // of the largest: rounding
static const double flat = 1e-9;        // of one, that normals of one plane differ by
static const double rounding = 4e-15;   // of a speed that spin gives to points about its axis: what is left of it there

// Velocities of a unit that move its surface; where it is followed without spin, in `room`.
static const double* sweep(const cal_group_member* unit, const double* v, double room[SWEPT]) {
    if (unit->ops->sweep == NULL) return v;
    memcpy(room, v, (size_t)unit->v_count * sizeof *room);
    unit->ops->sweep(unit, room);
    return room;
}

void cal_held_speeds(const cal_smooth* s, const cal_contact_row* touch, const double* x, bool moving, double y[3]) {
    const cal_problem* p = s->problem;
    for (int r = 0; r < 3; r++) y[r] = moving ? touch->drive[r] - touch->carried[r] : 0.0;
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const int n = p->size[touch->unit[side]];
        const double *J = touch->plain[side] != NULL ? touch->plain[side] : touch->jacobian[side],
                     *mine = x + p->first[touch->unit[side]];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < n; c++) y[r] += J[r * n + c] * mine[c];
    }
}

bool cal_smooth_hold(cal_smooth* s, cal_problem* p, cal_contact_cache* cache, cal_arena rest, const double* v,
                     bool touching) {
    const double length = s->group->length;
    double speed = 0.0;
    s->problem = p, s->cache = cache, s->rest = rest, s->count = 0;
    for (int i = 0; i < s->group->unit_count; i++) {
        const cal_group_member* unit = &s->group->units[i];
        const double* own = v + unit->first_v;
        // Turns move what is as far away as a free body is large, and links further than that. What is taken to go on as it does has no solution
        // that says so: it must, by the speeds of points.
        const double lever = unit->lengths > 0 || touching ? length : fmax(1.0, length);
        double swept[SWEPT];
        for (int k = 0; k < unit->v_count; k++) {
            const double weight = cal_member_slides(unit, k) ? 1.0 : lever;
            speed = fmax(speed, fabs(sweep(unit, own, swept)[k]) * weight);
            speed = fmax(speed, rounding / sliding * fabs(own[k]) * weight);
        }
    }
    int rows = 0;
    s->slow = sliding * speed;
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        const cal_group_contact* contact = &cache->contacts[touch->contact];
        const bool near = fabs(touch->gap) <= CAL_WORK_CLOSED * length;
        if (touching ? !near : !(touch->impulse[0] > 0.0)) continue;
        if (!near || contact->key == 0 || s->count == CAL_SMOOTH_CONTACTS) return false;
        double y[3];
        cal_held_speeds(s, touch, v, true, y);
        if (-y[0] > CAL_WORK_STOPPING * speed) return false; // it is being hit
        if (touching && y[0] > CAL_WORK_STOPPING * speed) continue;
        const double slip = sqrt(y[1] * y[1] + y[2] * y[2]),
                     across = sqrt(touch->impulse[1] * touch->impulse[1] + touch->impulse[2] * touch->impulse[2]);
        const bool sticks = touching || across < (1.0 - sliding) * touch->friction * touch->impulse[0];
        const bool slides = slip > (sticks ? CAL_WORK_STOPPING : sliding) * speed;
        // A stop has one row.
        rows += slides || touch->stops ? 1 : 3;
        if (rows > CAL_SMOOTH_ROWS) return false;
        s->held[s->count++] = (cal_held_contact){.key = contact->key,
                                                 .body = {touch->body[0], touch->body[1]},
                                                 .normal = {contact->normal[0], contact->normal[1], contact->normal[2]},
                                                 .gap = touch->gap,
                                                 .slides = slides || touch->stops};
    }
    // A multibody that flies among its contacts is followed too; a free body does that better alone.
    return s->count > 0 || cal_group_varies(s->group);
}

// --- Rows ---------------------------------------------------------------------------------------------------------------------

// The row of a held contact in the problem as it was filled last; CAL_NONE: it is not there. A contact that wanders over features of its
// bodies is the deepest of the two, where it is the only one of theirs that is held.
static int find_row(const cal_smooth* s, int held) {
    const cal_held_contact* own = &s->held[held];
    int deepest = CAL_NONE;
    for (int k = 0; k < s->problem->row_count; k++) {
        const cal_contact_row* touch = &s->problem->rows[k];
        if (s->cache->contacts[touch->contact].key == own->key) return k;
        if (touch->body[0] != own->body[0] || touch->body[1] != own->body[1]) continue;
        if (deepest < 0 || touch->gap < s->problem->rows[deepest].gap) deepest = k;
    }
    for (int i = 0; i < s->count; i++)
        if (i != held && s->held[i].body[0] == own->body[0] && s->held[i].body[1] == own->body[1]) return CAL_NONE;
    return deepest;
}

cal_contact_row* cal_held_row(const cal_smooth* s, int held) {
    return s->found[held] < 0 ? NULL : &s->problem->rows[s->found[held]];
}

cal_status cal_held_fill(cal_smooth* s, double time, const double* q, const double* v, cal_error* error) {
    cal_arena arena = s->rest;
    cal_status status =
        cal_contact_cache_find(s->cache, s->group, time, q, 10.0 * CAL_WORK_CLOSED * s->group->length, error);
    if (status != CAL_OK) return status;
    s->problem->quiet = s->rests;
    status = cal_problem_fill_units(s->problem, time, q, v, s->force, error);
    if (status == CAL_OK) status = cal_problem_fill_rows(s->problem, s->cache, time, q, NULL, &arena, error);
    for (int i = 0; status == CAL_OK && i < s->count; i++) s->found[i] = find_row(s, i);
    return status;
}

bool cal_held_read(const cal_smooth* s, const double* x, bool moving, double* out) {
    int m = 0;
    for (int i = 0; i < s->count; i++) {
        const cal_contact_row* touch = cal_held_row(s, i);
        double y[3];
        if (touch == NULL) return false;
        cal_held_speeds(s, touch, x, moving, y);
        for (int r = 0; r < (s->held[i].slides ? 1 : 3); r++) out[m++] = y[r];
    }
    return true;
}

// The contact of a held one among those that were found last, as `find` has it; −1: it is not there.
static int find_contact(const cal_smooth* s, int held) {
    const cal_held_contact* own = &s->held[held];
    int deepest = -1;
    for (int k = 0; k < s->cache->count; k++) {
        const cal_group_contact* contact = &s->cache->contacts[k];
        if (contact->key == own->key) return k;
        if (contact->body[0] != own->body[0] || contact->body[1] != own->body[1]) continue;
        if (deepest < 0 || contact->gap < s->cache->contacts[deepest].gap) deepest = k;
    }
    for (int i = 0; i < s->count; i++)
        if (i != held && s->held[i].body[0] == own->body[0] && s->held[i].body[1] == own->body[1]) return -1;
    return deepest;
}

// The same at q, without masses and forces.
static cal_status look_at_rows(const cal_smooth* s, double time, const double* q, const double* v, double* out,
                               bool* ok, cal_error* error) {
    const cal_group* group = s->group;
    double *jacobian = s->matrix, frame[9];
    cal_status status = cal_contact_cache_find(s->cache, group, time, q, 10.0 * CAL_WORK_CLOSED * group->length, error);
    int m = 0;
    for (int i = 0; status == CAL_OK && i < s->count; i++) {
        const int found = find_contact(s, i);
        *ok = found >= 0;
        if (!*ok) return CAL_OK;
        const cal_group_contact* contact = &s->cache->contacts[found];
        double y[3] = {0};
        if (contact->stop > 0) {
            const cal_group_member* unit = &group->units[group->unit_of_body[contact->body[0]]];
            cal_group_stop stop;
            unit->ops->stop(unit, q + unit->first_q, contact->stop - 1, &stop);
            out[m++] = stop.sign * cal_stop_lever(group, &stop) * v[unit->first_v + stop.degree];
            continue;
        }
        cal_contact_frame(contact->normal, frame);
        for (int side = 0; status == CAL_OK && side < 2; side++) {
            const int number = group->unit_of_body[contact->body[side]];
            if (number < 0) {
                status = cal_contact_add_drive(group, time, contact, side, frame, y);
                if (status != CAL_OK) return cal_group_body_failed(group, contact->body[side], status, time, error);
                continue;
            }
            const cal_group_member* unit = &group->units[number];
            status = unit->ops->jacobian(unit, q + unit->first_q, contact->body[side] - unit->first_body,
                                         contact->point[side], jacobian);
            double u[3] = {0}, surface[3] = {0}, room[SWEPT];
            const double *own = v + unit->first_v, *swept = sweep(unit, own, room);
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < unit->v_count; c++) {
                    u[r] += jacobian[r * unit->v_count + c] * own[c];
                    surface[r] += jacobian[r * unit->v_count + c] * swept[c];
                }
            for (int r = 0; r < 3; r++)
                y[r] += (side == 0 ? -1.0 : 1.0) * cal_dot3(frame + 3 * r, r == 0 ? surface : u);
            if (status != CAL_OK) status = cal_group_unit_failed(group, number, status, time, error);
        }
        for (int r = 0; r < (s->held[i].slides ? 1 : 3); r++) out[m++] = y[r];
    }
    return status;
}

int cal_held_row_count(const cal_smooth* s) {
    int m = 0;
    for (int i = 0; i < s->count; i++) m += s->held[i].slides ? 1 : 3;
    return m;
}

// --- Forces and accelerations -------------------------------------------------------------------------------------------------

// Factors in place by elimination with pivots, and solves with that.
static bool factor(double* A, int n, int* pivots) {
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[best * n + k])) best = i;
        pivots[k] = best;
        if (!(fabs(A[best * n + k]) > 0.0)) return false;
        for (int c = 0; best != k && c < n; c++) {
            const double swap = A[k * n + c];
            A[k * n + c] = A[best * n + c], A[best * n + c] = swap;
        }
        for (int i = k + 1; i < n; i++) {
            const double share = A[i * n + k] / A[k * n + k];
            for (int c = k + 1; share != 0.0 && c < n; c++) A[i * n + c] -= share * A[k * n + c];
            A[i * n + k] = share;
        }
    }
    return true;
}

static void solve(const double* A, const int* pivots, double* b, int n) {
    for (int k = 0; k < n; k++) {
        const double swap = b[k];
        b[k] = b[pivots[k]], b[pivots[k]] = swap;
    }
    for (int k = 0; k < n; k++)
        for (int c = 0; c < k; c++) b[k] -= A[k * n + c] * b[c];
    for (int k = n - 1; k >= 0; k--) {
        for (int c = k + 1; c < n; c++) b[k] -= A[k * n + c] * b[c];
        b[k] /= A[k * n + k];
    }
}

// The force of unknown n of a contact as it acts in its frame.
static void unit_force(const cal_smooth* s, const cal_contact_row* touch, int held, int n, const double* v,
                       double out[3]) {
    out[0] = out[1] = out[2] = 0.0;
    out[n] = 1.0;
    if (!s->held[held].slides) return;
    double y[3];
    cal_held_speeds(s, touch, v, true, y);
    double across = sqrt(y[1] * y[1] + y[2] * y[2]);
    const double* way = s->held[held].along;
    if (across < s->slow && cal_dot3(way, way) > 0.0) {
        double frame[9];
        cal_contact_frame(s->cache->contacts[touch->contact].normal, frame);
        for (int i = 1; i < 3; i++) y[i] = -cal_dot3(frame + 3 * i, way);
        across = sqrt(y[1] * y[1] + y[2] * y[2]);
    }
    for (int i = 1; i < 3; i++) out[i] = across > 0.0 ? -touch->friction * y[i] / across : 0.0;
}

// Where the friction of a held contact that sticks goes, in the world's axes.
static void find_friction(const cal_smooth* s, int held, const double* force, double out[3]) {
    double frame[9];
    cal_contact_frame(s->cache->contacts[cal_held_row(s, held)->contact].normal, frame);
    for (int k = 0; k < 3; k++) out[k] = force[1] * frame[3 + k] + force[2] * frame[6 + k];
}

// Whether the force of a held contact is the only one that gives its bodies their motion: one of them moves, and is held by no other. Of several
// that share a body friction may be shared in many ways, and that one of them is beyond its limit does not say that anything slides.
static bool is_sole(const cal_smooth* s, int held) {
    const int* body = s->held[held].body;
    int others[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        int unit = s->group->unit_of_body[body[side]];
        if (unit >= 0 && cal_held_rests(s, unit)) unit = CAL_NONE;
        others[side] = unit < 0;
        for (int i = 0; unit >= 0 && i < s->count; i++)
            for (int k = 0; i != held && k < 2; k++) others[side] += s->group->unit_of_body[s->held[i].body[k]] == unit;
    }
    return others[0] == 0 || others[1] == 0;
}

static bool same_pair(const cal_held_contact* a, const cal_held_contact* b) {
    return a->body[0] == b->body[0] && a->body[1] == b->body[1];
}

// The same of several contacts of two bodies that lie on one plane together: how friction is shared among them is not known, but its sum is.
static bool are_sole(const cal_smooth* s, int held) {
    const cal_held_contact* own = &s->held[held];
    int others[2] = {0, 0};
    for (int i = 0; i < s->count; i++) {
        const cal_held_contact* other = &s->held[i];
        if (same_pair(other, own)) {
            if (cal_dot3(other->normal, own->normal) < 1.0 - flat) return false;
            continue;
        }
        for (int side = 0; side < 2; side++)
            for (int k = 0; k < 2; k++) {
                const int unit = s->group->unit_of_body[own->body[side]];
                others[side] += unit >= 0 && s->group->unit_of_body[other->body[k]] == unit;
            }
    }
    bool sole = false;
    for (int side = 0; side < 2; side++) {
        const int unit = s->group->unit_of_body[own->body[side]];
        sole |= unit >= 0 && !cal_held_rests(s, unit) && others[side] == 0;
    }
    return sole;
}

bool cal_smooth_is_simple(const cal_smooth* s) {
    bool simple = true;
    for (int i = 0; simple && i < s->count; i++) simple = is_sole(s, i) || are_sole(s, i);
    return simple;
}

// By how much the friction of several contacts of two bodies that stick, and are those of one body alone, is more than all of them have, however it is
// shared; *sum: its direction, in the world's axes. No more than zero: it is not, or another of them says so.
static double find_excess(const cal_smooth* s, int held, double sum[3]) {
    double limit = 0.0;
    int column = 0;
    memset(sum, 0, 3 * sizeof *sum);
    if (!are_sole(s, held)) return 0.0;
    for (int i = 0; i < s->count; column += s->held[i++].slides ? 1 : 3) {
        if (!same_pair(&s->held[i], &s->held[held])) continue;
        if (s->held[i].slides || i < held) return 0.0;
        double force[3];
        find_friction(s, i, s->right + column, force);
        for (int k = 0; k < 3; k++) sum[k] += force[k];
        limit += cal_held_row(s, i)->friction * s->right[column];
    }
    return sqrt(cal_dot3(sum, sum)) - limit;
}

// Whether the forces in `right` are such as contacts have. The one that would pull most is in s->pulls, and the one that would need most friction
// that it does not have in s->strains.
static bool check_forces(cal_smooth* s) {
    const int m = cal_held_row_count(s);
    double largest = 0.0;
    bool ok = true;
    for (int r = 0; r < m; r++) largest = fmax(largest, fabs(s->right[r]));
    double most = -least_force * largest, missing = least_force * largest;
    for (int i = 0, column = 0; i < s->count; column += s->held[i++].slides ? 1 : 3) {
        const double *force = s->right + column,
                     across = s->held[i].slides ? 0.0 : sqrt(force[1] * force[1] + force[2] * force[2]);
        if (force[0] < most) most = force[0], s->pulls = i;
        ok = ok && force[0] >= -least_force * largest;
        if (s->held[i].slides) continue;
        const double beyond = across - cal_held_row(s, i)->friction * force[0];
        ok = ok && beyond <= least_force * largest;
        double sum[3];
        const bool sole = is_sole(s, i);
        const double excess = sole ? beyond : find_excess(s, i, sum);
        if (excess <= missing) continue;
        missing = excess, s->strains = i;
        if (sole) find_friction(s, i, force, sum);
        memcpy(s->friction, sum, sizeof sum);
    }
    return ok;
}

bool cal_held_push(cal_smooth* s, const double* v, bool checks, double* x) {
    const int m = cal_held_row_count(s);
    cal_problem* p = s->problem;
    double diagonal = 0.0;
    int column = 0;
    for (int i = 0; i < s->count; i++) {
        cal_contact_row* touch = cal_held_row(s, i);
        for (int n = 0; n < (s->held[i].slides ? 1 : 3); n++, column++) {
            double force[3];
            unit_force(s, touch, i, n, v, force);
            memset(s->sum, 0, (size_t)s->group->v_count * sizeof *s->sum);
            for (int side = 0; side < 2; side++) {
                if (touch->unit[side] < 0) continue;
                const int size = p->size[touch->unit[side]];
                double* mine = s->sum + p->first[touch->unit[side]];
                for (int r = 0; r < 3; r++)
                    for (int c = 0; c < size; c++) mine[c] += touch->answer[side][r * size + c] * force[r];
            }
            if (!cal_held_read(s, s->sum, false, s->rows[0])) return false;
            for (int r = 0; r < m; r++) s->matrix[r * m + column] = s->rows[0][r];
            diagonal = fmax(diagonal, fabs(s->rows[0][column]));
        }
    }
    double shares[CAL_SMOOTH_ROWS], again[CAL_SMOOTH_ROWS];
    int pivots[CAL_SMOOTH_ROWS] = {0};
    for (int r = 0; r < m; r++) {
        shares[r] = spread * fmax(fabs(s->matrix[r * (m + 1)]), smallest * diagonal);
        s->matrix[r * (m + 1)] += shares[r];
    }
    if (!factor(s->matrix, m, pivots)) return false;
    solve(s->matrix, pivots, s->right, m);
    for (int r = 0; r < m; r++) again[r] = shares[r] * s->right[r];
    solve(s->matrix, pivots, again, m);
    for (int r = 0; r < m; r++) s->right[r] += again[r];
    if (checks && !check_forces(s)) return false;
    column = 0;
    for (int i = 0; i < s->count; i++) {
        cal_contact_row* touch = cal_held_row(s, i);
        const int n = s->held[i].slides ? 1 : 3;
        for (int k = 0; k < n; k++, column++) {
            double unit[3];
            unit_force(s, touch, i, k, v, unit);
            for (int side = 0; side < 2; side++) {
                if (touch->unit[side] < 0) continue;
                const int size = p->size[touch->unit[side]];
                double* mine = x + p->first[touch->unit[side]];
                for (int r = 0; r < 3; r++)
                    for (int c = 0; c < size; c++)
                        mine[c] += touch->answer[side][r * size + c] * unit[r] * s->right[column];
            }
        }
    }
    return true;
}

cal_status cal_held_displace(const cal_smooth* s, double time, const double* q, const double* v, double h, double* out,
                             cal_error* error) {
    for (int i = 0; i < s->group->unit_count; i++) {
        const cal_group_member* unit = &s->group->units[i];
        const cal_status status =
            unit->ops->displace(unit, q + unit->first_q, v + unit->first_v, h, out + unit->first_q);
        if (status != CAL_OK) return cal_group_unit_failed(s->group, i, status, time, error);
    }
    return CAL_OK;
}

// What contacts do against bodies that are driven, and motions that are prescribed, by the forces that were found last.
static double find_power(const cal_smooth* s, const double* v) {
    double sum = 0.0;
    int column = 0;
    for (int i = 0; i < s->count; i++) {
        const cal_contact_row* touch = cal_held_row(s, i);
        for (int n = 0; touch != NULL && n < (s->held[i].slides ? 1 : 3); n++, column++) {
            double force[3];
            unit_force(s, touch, i, n, v, force);
            sum -= s->right[column] * cal_dot3(force, touch->drive);
        }
    }
    return sum;
}

cal_status cal_held_accelerate(cal_smooth* s, double time, const double* q, const double* v, double step, double* out,
                               double* power, bool* ok, cal_error* error) {
    const int m = cal_held_row_count(s), count = s->group->v_count;
    double speed = 0.0;
    for (int i = 0; i < s->group->unit_count; i++) {
        const cal_group_member* unit = &s->group->units[i];
        const double* own = v + unit->first_v;
        double swept[SWEPT];
        for (int k = 0; k < unit->v_count; k++) {
            const double weight = cal_member_v_weight(unit, k, s->group->length);
            speed = fmax(speed, fabs(sweep(unit, own, swept)[k]) * weight);
            speed = fmax(speed, rounding / sliding * fabs(own[k]) * weight); // what is less is what is left of spin
        }
    }
    double h = speed > 0.0 ? along / speed : 1.0;
    if (s->group->driven_moves) h = fmin(h, soon * step);
    for (int side = 0; side < 2; side++) { // J v behind, and ahead
        const double later = side == 0 ? -h : h;
        *ok = true;
        cal_status status = cal_held_displace(s, time, q, v, later, s->near_q, error);
        if (status == CAL_OK) status = look_at_rows(s, time + later, s->near_q, v, s->rows[side], ok, error);
        if (status != CAL_OK || !*ok) return status;
    }
    double bias[CAL_SMOOTH_ROWS];
    for (int r = 0; r < m; r++) bias[r] = (s->rows[1][r] - s->rows[0][r]) / (2.0 * h);
    const cal_status status = cal_held_fill(s, time, q, v, error);
    if (status != CAL_OK) return status;
    memcpy(out, s->force, (size_t)count * sizeof *out);
    *power = 0.0;
    for (int i = 0; i < s->group->unit_count; i++) {
        double* own = out + s->problem->first[i];
        if (cal_held_rests(s, i)) memset(own, 0, (size_t)s->problem->size[i] * sizeof *own);
        cal_dense_solve(s->problem->mass_factor + s->problem->mass_at[i], s->problem->size[i], own);
        const cal_problem_loops* l = &s->problem->loops[i];
        for (int r = 0; r < l->rows; r++) l->right[r] = -l->bias[r];
        if (l->rows > 0) *power += cal_problem_correct(s->problem, i, false, own);
    }
    *ok = cal_held_read(s, out, false, s->right);
    if (!*ok) return CAL_OK;
    for (int r = 0; r < m; r++) s->right[r] = -s->right[r] - bias[r];
    *ok = cal_held_push(s, v, true, out);
    if (*ok) *power += find_power(s, v);
    return CAL_OK;
}

bool cal_held_let_go(cal_smooth* s) {
    const int pulls = s->pulls;
    if (pulls < 0 || cal_group_varies(s->group)) return false;
    memmove(s->held + pulls, s->held + pulls + 1, (size_t)(--s->count - pulls) * sizeof *s->held);
    return true;
}

bool cal_held_let_slide(cal_smooth* s) {
    const int strains = s->strains;
    if (strains < 0 || cal_group_varies(s->group)) return false;
    for (int i = 0; i < s->count; i++) {
        if (!same_pair(&s->held[i], &s->held[strains])) continue;
        s->held[i].slides = true;
        memcpy(s->held[i].along, s->friction, sizeof s->friction);
    }
    return true;
}
