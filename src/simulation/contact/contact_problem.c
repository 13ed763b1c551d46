// The convex problem of a step; see contact_problem.h.
#include "simulation/contact/contact_problem.h"
#include "math/vector.h"
#include <string.h>

enum { MOST_FACTORED = 250, MOST_FACTORED_BALLS = 40, MOST_NEWTON = 50, MOST_SEARCH = 40, MOST_ROUNDS = 40 };
static const double first_compliance = 1e-3; // over the contact's own response; see contact_problem.h
static const double compliance_falls = 0.1, slow_fall = 0.1;
// Round k leaves a mode of the contacts that answers w times as much as one of them alone R / (R + w) of its error; a tower of a
// hundred and a mass ratio of 10⁶ have w of 1e-6 and more, of which this leaves a tenth. Less would let rounding in: y / R has
// an error of 1e-16 / R.
static const double least_compliance = 1e-7;
static const double law = 1e-10, rough_law = 1e-7; // of the speeds: how far the hard law of contact may be missed
static const double decrement = 1e-24;       // of the energy: where Newton ends; velocities are then good to 1e-12
static const double first_decrement = 1e-12; // while impulses or De Saxcé's term still change
static const double rough_decrement = 1e-12, rough_compliance = 1e-5;
static const double rounding = 1e-18;   // of the energy: below this, what no longer falls is rounding
static const double line_slope = 0.1;   // of the slope at the start of a line search: where it ends
static const double slip_change = 1e-8; // of the speeds: where De Saxcé's term stands

static int largest_unit(const cal_group* group) {
    int most = 1;
    for (int i = 0; i < group->unit_count; i++)
        if (group->units[i].v_count > most) most = group->units[i].v_count;
    return most;
}

// Doubles that the constraints of a unit need.
static size_t loops_count(const cal_group_member* unit) {
    const size_t rows = (size_t)unit->most_rows;
    return rows * (size_t)unit->v_count + 3 * rows + cal_projector_size(unit->most_rows, unit->v_count);
}

size_t cal_problem_count(const cal_group* group, int contacts) {
    const size_t n = (size_t)group->unit_count, v = (size_t)group->v_count, m = (size_t)largest_unit(group);
    size_t loops = n + n * (sizeof(cal_problem_loops) / sizeof(double) + 1), plain = 0;
    for (int i = 0; i < group->unit_count; i++) {
        if (group->units[i].most_rows == 0) continue;
        loops += loops_count(&group->units[i]);
        plain = 6 * m;
    }
    const size_t rows = (size_t)contacts * (sizeof(cal_contact_row) / sizeof(double) + 12 * m + plain + 1 + 2 * m * m);
    return rows + loops + 3 * n * m * m + 6 * v + 2 * m * m + 8 * m + n * ((n + 63) / 64) + 16 * n + 64;
}

// Memory for the units' constraints; false: not enough.
static bool begin_loops(cal_problem* p, cal_arena* arena) {
    const size_t n = (size_t)p->group->unit_count;
    p->loops =
        (cal_problem_loops*)(void*)cal_arena_numbers(arena, n * (sizeof(cal_problem_loops) / sizeof(double) + 1));
    if (p->loops == NULL) return false;
    for (int i = 0; i < p->group->unit_count; i++) {
        const cal_group_member* unit = &p->group->units[i];
        p->loops[i] = (cal_problem_loops){0};
        if (unit->most_rows == 0) continue;
        double* memory = cal_arena_numbers(arena, loops_count(unit));
        if (memory == NULL) return false;
        p->loops[i].A = memory;
        p->loops[i].noise = memory + (size_t)unit->most_rows * (size_t)unit->v_count;
        p->loops[i].bias = p->loops[i].noise + unit->most_rows;
        p->loops[i].right = p->loops[i].bias + unit->most_rows;
        p->loops[i].memory = p->loops[i].right + unit->most_rows;
    }
    return true;
}

bool cal_problem_begin(cal_problem* p, const cal_group* group, cal_arena* arena) {
    const size_t n = (size_t)group->unit_count, v = (size_t)group->v_count;
    *p = (cal_problem){.group = group};
    p->size = cal_arena_integers(arena, n);
    p->first = cal_arena_integers(arena, n);
    p->mass_at = (int64_t*)(void*)cal_arena_numbers(arena, n);
    p->gradient = cal_arena_numbers(arena, v);
    p->direction = cal_arena_numbers(arena, v);
    p->work = cal_arena_numbers(arena, v);
    p->damping = cal_arena_numbers(arena, v);
    p->stiffness = cal_arena_numbers(arena, v);
    p->diagonal = cal_arena_numbers(arena, v);
    p->diagonal_mass = (bool*)(void*)cal_arena_numbers(arena, (n * sizeof(bool) + sizeof(double) - 1) / sizeof(double));
    p->stiff = (bool*)(void*)cal_arena_numbers(arena, (n * sizeof(bool) + sizeof(double) - 1) / sizeof(double));
    const size_t m = (size_t)largest_unit(group);
    p->left = cal_arena_numbers(arena, 3 * m);
    p->block = cal_arena_numbers(arena, m * m);
    if (p->size == NULL || p->first == NULL || p->mass_at == NULL || p->gradient == NULL || p->direction == NULL ||
        p->work == NULL || p->damping == NULL || p->stiffness == NULL || p->diagonal == NULL || p->stiff == NULL ||
        p->diagonal_mass == NULL || p->left == NULL || p->block == NULL)
        return false;
    int64_t total = 0;
    for (int i = 0; i < group->unit_count; i++) {
        p->size[i] = group->units[i].v_count;
        p->first[i] = group->units[i].first_v;
        p->mass_at[i] = total;
        total += p->size[i] * p->size[i];
    }
    p->mass = cal_arena_numbers(arena, (size_t)total);
    p->mass_factor = cal_arena_numbers(arena, (size_t)total);
    return p->mass != NULL && p->mass_factor != NULL && begin_loops(p, arena);
}

// out = M x, or x · M x where out is NULL.
static double times_mass(const cal_problem* p, const double* x, double* out) {
    double sum = 0.0;
    for (int i = 0; i < p->group->unit_count; i++) {
        const int n = p->size[i];
        const double *M = p->mass + p->mass_at[i], *mine = x + p->first[i];
        for (int r = 0; r < n; r++) {
            double row = 0.0;
            for (int c = 0; c < n; c++) row += M[r * n + c] * mine[c];
            sum += row * mine[r];
            if (out != NULL) out[p->first[i] + r] = row;
        }
    }
    return sum;
}

// --- Filling in -------------------------------------------------------------------------------------------------------

void cal_contact_frame(const double normal[3], double frame[9]) {
    double R[9];
    cal_rotation_to_axis(normal, R);
    for (int i = 0; i < 3; i++) frame[i] = normal[i], frame[3 + i] = R[3 * i], frame[6 + i] = R[3 * i + 1];
}

// What a driven body adds to the relative velocity of a contact.
static cal_status add_drive(const cal_group* group, double time, const cal_group_contact* contact, int side,
                            const double frame[9], double sign, cal_contact_row* touch) {
    double pose[7], velocity[6], arm[3], turning[3];
    const cal_status status = group->driven(group, contact->body[side], time, pose, velocity);
    if (status != CAL_OK) return status;
    for (int i = 0; i < 3; i++) arm[i] = contact->point[side][i] - pose[i];
    cal_cross3(velocity + 3, arm, turning);
    for (int i = 0; i < 3; i++) turning[i] += velocity[i];
    for (int r = 0; r < 3; r++) touch->drive[r] += sign * cal_dot3(frame + 3 * r, turning);
    return CAL_OK;
}

// The rows of one side of a contact; memory that is missing is NULL in touch->jacobian.
static cal_status add_side(cal_problem* p, const double* q, const cal_group_contact* contact, int side,
                           const double frame[9], double sign, cal_contact_row* touch, double* jacobian,
                           cal_arena* arena) {
    const cal_group_member* u = &p->group->units[touch->unit[side]];
    const int n = u->v_count;
    double* J = cal_arena_numbers(arena, 3 * (size_t)n);
    if (J == NULL) return CAL_OK;
    const cal_status status =
        u->ops->jacobian(u, q + u->first_q, contact->body[side] - u->first_body, contact->point[side], jacobian);
    if (status != CAL_OK) return status;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < n; c++) {
            double sum = 0.0;
            for (int i = 0; i < 3; i++) sum += frame[3 * r + i] * jacobian[i * n + c];
            J[r * n + c] = sign * sum;
        }
    touch->jacobian[side] = J;
    return CAL_OK;
}

// J P from J, with the projectors that there are now.
static void project_row(cal_problem* p, cal_contact_row* touch) {
    for (int side = 0; side < 2; side++) {
        if (touch->plain[side] == NULL) continue;
        const int unit = touch->unit[side], n = p->size[unit];
        memcpy(touch->jacobian[side], touch->plain[side], 3 * (size_t)n * sizeof(double));
        for (int r = 0; r < 3; r++) cal_projector_apply_row(&p->loops[unit].projector, touch->jacobian[side] + r * n);
    }
}

void cal_problem_answer(cal_problem* p, cal_contact_row* touch) {
    memset(touch->own, 0, sizeof touch->own);
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const int unit = touch->unit[side], n = p->size[unit];
        const double* J = touch->jacobian[side];
        for (int r = 0; r < 3; r++) {
            double* answer = touch->answer[side] + r * n;
            memcpy(answer, J + r * n, (size_t)n * sizeof *J);
            if (p->diagonal_mass[unit])
                for (int k = 0; k < n; k++) answer[k] /= p->mass[p->mass_at[unit] + k * (n + 1)];
            else
                cal_dense_solve(p->mass_factor + p->mass_at[unit], n, answer);
        }
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                for (int k = 0; k < n; k++) touch->own[3 * r + c] += J[r * n + k] * touch->answer[side][c * n + k];
    }
    touch->response = (touch->own[0] + touch->own[4] + touch->own[8]) / 3.0;
}

// CAL_NO_MEMORY: not enough of it; anything else has failed, with an error.
static cal_status fill_row(cal_problem* p, double time, const double* q, const cal_group_contact* contact,
                           cal_contact_row* touch, double* jacobian, cal_arena* arena, cal_error* error) {
    const cal_group* group = p->group;
    double frame[9];
    cal_contact_frame(contact->normal, frame);
    *touch = (cal_contact_row){
        .friction = contact->friction, .restitution = contact->restitution, .gap = contact->gap, .impact = -1.0};
    for (int side = 0; side < 2; side++) {
        const int unit = group->unit_of_body[contact->body[side]];
        const double sign = side == 0 ? -1.0 : 1.0;
        touch->body[side] = contact->body[side];
        touch->unit[side] = unit < 0 ? CAL_NONE : unit;
        const cal_status status = unit < 0 ? add_drive(group, time, contact, side, frame, sign, touch)
                                           : add_side(p, q, contact, side, frame, sign, touch, jacobian, arena);
        if (status != CAL_OK) return cal_group_body_failed(group, contact->body[side], status, time, error);
        if (unit >= 0 && touch->jacobian[side] == NULL) return CAL_NO_MEMORY;
    }
    if (touch->unit[0] >= 0 && touch->unit[0] == touch->unit[1]) { // a multibody that rows itself: one J for both
        for (int i = 0; i < 3 * p->size[touch->unit[0]]; i++) touch->jacobian[0][i] += touch->jacobian[1][i];
        touch->unit[1] = CAL_NONE;
        touch->jacobian[1] = NULL;
    }
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0 || p->loops[touch->unit[side]].rows == 0) continue;
        touch->plain[side] = touch->jacobian[side];
        touch->jacobian[side] = cal_arena_numbers(arena, 3 * (size_t)p->size[touch->unit[side]]);
        if (touch->jacobian[side] == NULL) return CAL_NO_MEMORY;
    }
    project_row(p, touch);
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        touch->answer[side] = cal_arena_numbers(arena, 3 * (size_t)p->size[touch->unit[side]]);
        if (touch->answer[side] == NULL) return CAL_NO_MEMORY;
    }
    cal_problem_answer(p, touch);
    return CAL_OK;
}

// The projector of a unit for its mass matrix as it is factored now.
static void make_projector(cal_problem* p, int unit) {
    cal_problem_loops* l = &p->loops[unit];
    if (l->rows > 0)
        cal_projector_make(&l->projector, l->A, l->noise, l->rows, p->mass_factor + p->mass_at[unit], p->size[unit],
                           l->memory);
}

// Masses, forces and constraints of a unit.
static cal_status fill_unit(cal_problem* p, int i, double time, const double* q, const double* v, double* force,
                            cal_error* error) {
    const cal_group_member* u = &p->group->units[i];
    const double *own_q = q + u->first_q, *own_v = v + u->first_v;
    double *M = p->mass + p->mass_at[i], *L = p->mass_factor + p->mass_at[i];
    cal_problem_loops* l = &p->loops[i];
    cal_status status = u->ops->dynamics(u, time, own_q, own_v, M, force + u->first_v);
    p->stiff[i] = false;
    if (status == CAL_OK && u->ops->slopes != NULL)
        status = u->ops->slopes(u, own_q, own_v, p->damping + u->first_v, p->stiffness + u->first_v, &p->stiff[i]);
    if (status == CAL_OK && u->most_rows > 0)
        status = u->ops->constraints(u, own_q, own_v, l->A, l->noise, l->bias, &l->rows);
    if (status != CAL_OK) return cal_group_unit_failed(p->group, i, status, time, error);
    p->diagonal_mass[i] = !p->stiff[i];
    for (int r = 0; r < p->size[i]; r++)
        for (int c = 0; c < p->size[i]; c++)
            p->diagonal_mass[i] &= r == c ? M[r * p->size[i] + c] > 0.0 : M[r * p->size[i] + c] == 0.0;
    for (int k = 0; k < p->size[i]; k++) p->diagonal[p->first[i] + k] = M[k * (p->size[i] + 1)];
    memcpy(L, M, (size_t)(p->size[i] * p->size[i]) * sizeof *M);
    if (!cal_dense_factor(L, p->size[i]))
        return cal_fail(error, CAL_BAD_MODEL, "a body of a contact group has no inertia along one of its motions");
    make_projector(p, i);
    return CAL_OK;
}

// Whether sweeps come first also for a precise solution. Pairs that touch in one point (balls) take few of them; those that touch in several take many, since
// forces in these are almost exchangeable, and are worth a factorisation for longer.
static bool is_loose(const int32_t* partners, int row_count) {
    int count = 0; // of pairs, each once: contacts of a pair follow each other
    for (int i = 0; i < row_count; i++)
        count += i == 0 || memcmp(partners + 2 * i, partners + 2 * i - 2, 2 * sizeof *partners) != 0;
    return row_count < 1.5 * count;
}

static double reach_of(const cal_group* group, const cal_group_contact* contact, const double* reach) {
    double sum = 0.0;
    for (int side = 0; side < 2; side++) {
        const int unit = group->unit_of_body[contact->body[side]];
        sum += unit >= 0 ? reach[unit] : 0.0;
    }
    return sum;
}

// CAL_NO_MEMORY: not enough of it; anything else has failed, with an error.
static cal_status fill(cal_problem* p, double time, const double* q, const double* v, const cal_group_contact* contacts,
                       int count, const double* reach, double* force, cal_arena* arena, cal_error* error) {
    const cal_group* group = p->group;
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < group->unit_count; i++) status = fill_unit(p, i, time, q, v, force, error);
    if (status != CAL_OK) return status;
    p->row_count = 0;
    p->rows =
        (cal_contact_row*)(void*)cal_arena_numbers(arena, (size_t)count * sizeof(cal_contact_row) / sizeof(double));
    double* jacobian = cal_arena_numbers(arena, 3 * (size_t)largest_unit(group));
    int32_t(*pairs)[2] = (int32_t(*)[2])(void*)cal_arena_numbers(arena, (size_t)count);
    if (p->rows == NULL || jacobian == NULL || pairs == NULL) return CAL_NO_MEMORY;
    int pair_count = 0;
    for (int i = 0; i < count; i++) {
        cal_contact_row* touch = &p->rows[p->row_count];
        if (reach != NULL && contacts[i].gap > reach_of(group, &contacts[i], reach)) continue;
        status = fill_row(p, time, q, &contacts[i], touch, jacobian, arena, error);
        if (status != CAL_OK) return status;
        touch->contact = i;
        if (touch->unit[0] < 0 && touch->unit[1] < 0) continue;
        if (!(touch->response > 0.0)) continue; // nothing that moves moves there
        p->row_count++;
        if (touch->unit[0] < 0 || touch->unit[1] < 0) continue;
        pairs[pair_count][0] = touch->unit[0], pairs[pair_count++][1] = touch->unit[1];
    }
    p->loose = is_loose(pairs[0], pair_count);
    p->factors = group->unit_count <= (p->loose ? MOST_FACTORED_BALLS : MOST_FACTORED);
    if (!p->factors) return CAL_OK;
    return cal_blocks_make(&p->matrix, group->unit_count, p->size, p->first, (const int32_t(*)[2])pairs, pair_count,
                           arena)
               ? CAL_OK
               : CAL_NO_MEMORY;
}

void cal_problem_stiffen(cal_problem* p, double h) {
    for (int i = 0; i < p->group->unit_count; i++) {
        if (!p->stiff[i]) continue;
        const int n = p->size[i];
        double *M = p->mass + p->mass_at[i], *L = p->mass_factor + p->mass_at[i];
        for (int k = 0; k < n; k++) {
            const int at = p->first[i] + k;
            M[k * (n + 1)] = p->diagonal[at] + h * (p->damping[at] + h * p->stiffness[at]);
        }
        memcpy(L, M, (size_t)(n * n) * sizeof *M);
        cal_dense_factor(L, n); // it was positive definite before something was added to it
        make_projector(p, i);
    }
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        bool changed = false;
        for (int side = 0; side < 2; side++) changed |= touch->plain[side] != NULL && p->stiff[touch->unit[side]];
        if (changed) project_row(p, &p->rows[k]);
        bool stiff = false;
        for (int side = 0; side < 2; side++) stiff |= touch->unit[side] >= 0 && p->stiff[touch->unit[side]];
        if (stiff) cal_problem_answer(p, &p->rows[k]);
    }
}

void cal_problem_constrain(cal_problem* p, double h, double* target, double* v) {
    for (int i = 0; i < p->group->unit_count; i++) {
        cal_problem_loops* l = &p->loops[i];
        if (l->rows == 0) continue;
        double *own_target = target + p->first[i], *own = v + p->first[i];
        for (int r = 0; r < l->rows; r++) l->right[r] = -h * l->bias[r];
        cal_projector_correct(&l->projector, l->right, own_target);
        for (int k = 0; k < p->size[i]; k++) own[k] -= own_target[k];
        cal_projector_apply(&l->projector, own);
        for (int k = 0; k < p->size[i]; k++) own[k] += own_target[k];
    }
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        for (int side = 0; side < 2; side++) {
            if (touch->plain[side] == NULL) continue;
            const int n = p->size[touch->unit[side]];
            const double *J = touch->jacobian[side], *plain = touch->plain[side],
                         *own = target + p->first[touch->unit[side]];
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < n; c++) touch->offset[r] += (plain[r * n + c] - J[r * n + c]) * own[c];
        }
    }
}

size_t cal_contact_cache_count(const cal_group* group, int contacts) {
    return (size_t)contacts * (sizeof(cal_group_contact) / sizeof(double)) + 7 * (size_t)group->body_count;
}

bool cal_contact_cache_begin(cal_contact_cache* cache, const cal_group* group, int capacity, cal_group_report* report,
                             cal_arena* arena) {
    *cache = (cal_contact_cache){.capacity = capacity, .report = report};
    cache->contacts = (cal_group_contact*)(void*)cal_arena_numbers(arena, (size_t)capacity * sizeof *cache->contacts /
                                                                              sizeof(double));
    cache->poses = cal_arena_numbers(arena, 7 * (size_t)group->body_count);
    return cache->contacts != NULL && cache->poses != NULL;
}

static cal_status find_poses(const cal_group* group, double time, const double* q, double* poses, cal_error* error) {
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        const cal_status status = unit->ops->poses(unit, q + unit->first_q, poses + 7 * unit->first_body);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
    }
    for (int i = 0; i < group->body_count; i++) {
        double velocity[6];
        if (group->unit_of_body[i] >= 0) continue;
        const cal_status status = group->driven(group, i, time, poses + 7 * i, velocity);
        if (status != CAL_OK) return cal_group_body_failed(group, i, status, time, error);
    }
    return CAL_OK;
}

cal_status cal_contact_cache_find(cal_contact_cache* cache, const cal_group* group, double time, const double* q,
                                  double margin, cal_error* error) {
    cal_status status = find_poses(group, time, q, cache->poses, error);
    if (status != CAL_OK) return status;
    status = group->contacts(group, time, cache->poses, margin, cache->contacts, cache->capacity, &cache->count);
    if (status != CAL_OK) return cal_group_body_failed(group, 0, status, time, error);
    if (cache->count <= cache->capacity) return CAL_OK;
    cache->report->contacts = cache->count;
    return CAL_NO_MEMORY;
}

cal_status cal_problem_look(cal_problem* p, cal_contact_cache* cache, double time, const double* q, const double* v,
                            double margin, double* force, cal_arena* arena, cal_error* error) {
    const cal_status status = cal_contact_cache_find(cache, p->group, time, q, margin, error);
    return status == CAL_OK ? cal_problem_fill(p, cache, time, q, v, NULL, force, arena, error) : status;
}

cal_status cal_problem_fill(cal_problem* p, cal_contact_cache* cache, double time, const double* q, const double* v,
                            const double* reach, double* force, cal_arena* arena, cal_error* error) {
    const cal_status status = fill(p, time, q, v, cache->contacts, cache->count, reach, force, arena, error);
    if (status == CAL_NO_MEMORY)
        cache->report->contacts = 2 * cache->capacity + 16; // the matrix needs more than guessed
    return status;
}

// --- One contact ------------------------------------------------------------------------------------------------------

void cal_problem_velocity(const cal_problem* p, const cal_contact_row* touch, const double* v, double out[3]) {
    out[0] = out[1] = out[2] = 0.0;
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const int n = p->size[touch->unit[side]];
        const double *J = touch->jacobian[side], *mine = v + p->first[touch->unit[side]];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < n; c++) out[r] += J[r * n + c] * mine[c];
    }
}

// λ(y), and −∂λ/∂y where stiffness is not NULL: the nearest of the cone to λₖ − R⁻¹ y. With one compliance R for all directions the projection onto the cone is the
// plain one.
static void project(const cal_contact_row* touch, const double y[3], double impulse[3], double* stiffness) {
    const double R = touch->compliance, mu = touch->friction;
    const double a = touch->held[0] - y[0] / R, b[2] = {touch->held[1] - y[1] / R, touch->held[2] - y[2] / R},
                 across = sqrt(b[0] * b[0] + b[1] * b[1]);
    if (stiffness != NULL) memset(stiffness, 0, 9 * sizeof *stiffness);
    if (across <= mu * a) { // sticks
        impulse[0] = a, impulse[1] = b[0], impulse[2] = b[1];
        for (int i = 0; stiffness != NULL && i < 3; i++) stiffness[4 * i] = 1.0 / R;
    } else if (a <= -mu * across) // parts
        impulse[0] = impulse[1] = impulse[2] = 0.0;
    else { // slides
        const double t[2] = {b[0] / across, b[1] / across}, share = 1.0 / (1.0 + mu * mu);
        const double normal = share * (a + mu * across), ratio = mu * normal / across;
        impulse[0] = normal, impulse[1] = mu * normal * t[0], impulse[2] = mu * normal * t[1];
        if (stiffness == NULL) return;
        const double edge[3] = {1.0, mu * t[0], mu * t[1]};
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) stiffness[3 * i + k] = share * edge[i] * edge[k] / R;
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 2; k++)
                stiffness[3 * (i + 1) + k + 1] += ratio * ((i == k ? 1.0 : 0.0) - t[i] * t[k]) / R;
    }
}

// --- Newton -----------------------------------------------------------------------------------------------------------

void cal_problem_assemble(cal_problem* p, double share) {
    double *left = p->left, *block = p->block;
    cal_blocks_zero(&p->matrix);
    for (int i = 0; i < p->group->unit_count; i++) {
        const double* M = p->mass + p->mass_at[i];
        for (int k = 0; k < p->size[i] * p->size[i]; k++) block[k] = share * M[k];
        cal_blocks_add(&p->matrix, i, i, block);
    }
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        if (touch->impulse[0] == 0.0) continue;
        for (int s = 0; s < 2; s++) {
            if (touch->unit[s] < 0) continue;
            const int n = p->size[touch->unit[s]];
            const double* J = touch->jacobian[s];
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < n; c++)
                    left[r * n + c] = touch->stiffness[3 * r] * J[c] + touch->stiffness[3 * r + 1] * J[n + c] +
                                      touch->stiffness[3 * r + 2] * J[2 * n + c];
            for (int t = 0; t <= s; t++) {
                if (touch->unit[t] < 0) continue;
                const int m = p->size[touch->unit[t]];
                const double* K = touch->jacobian[t];
                for (int r = 0; r < n; r++)
                    for (int c = 0; c < m; c++)
                        block[r * m + c] = left[r] * K[c] + left[n + r] * K[m + c] + left[2 * n + r] * K[2 * m + c];
                cal_blocks_add(&p->matrix, touch->unit[s], touch->unit[t], block);
            }
        }
    }
}

double cal_problem_energy(const cal_problem* p, const double* v) { return times_mass(p, v, NULL); }

static void push(const cal_problem* p, bool all, double sign, double* out) {
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        if (!all && touch->impulse[0] == 0.0) continue;
        for (int s = 0; s < 2; s++) {
            if (touch->unit[s] < 0) continue;
            const int n = p->size[touch->unit[s]];
            const double* J = touch->jacobian[s];
            double* mine = out + p->first[touch->unit[s]];
            for (int c = 0; c < n; c++)
                mine[c] +=
                    sign * (J[c] * touch->impulse[0] + J[n + c] * touch->impulse[1] + J[2 * n + c] * touch->impulse[2]);
        }
    }
}

void cal_problem_push(const cal_problem* p, double sign, double* out) { push(p, false, sign, out); }

void cal_problem_push_all(const cal_problem* p, double sign, double* out) { push(p, true, sign, out); }

// Slope of the cost along the direction at a step, and its curvature; impulses there are left in the rows.
static double slope_at(cal_problem* p, double step, double linear, double quadratic, double* curvature) {
    double slope = linear + step * quadratic;
    *curvature = quadratic;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        double y[3], G[9], Gd[3];
        for (int i = 0; i < 3; i++) y[i] = touch->y[i] + step * touch->dy[i];
        project(touch, y, touch->impulse, G);
        slope -= cal_dot3(touch->impulse, touch->dy);
        cal_rotate3(G, touch->dy, Gd);
        *curvature += cal_dot3(touch->dy, Gd);
    }
    return slope;
}

// Where the slope vanishes: it rises with the step, so a bracket and Newton inside it always end.
static double search_line(cal_problem* p, double linear, double quadratic, double start_slope) {
    double low = 0.0, high = INFINITY, step = 1.0;
    for (int i = 0; i < MOST_SEARCH; i++) {
        double curvature;
        const double slope = slope_at(p, step, linear, quadratic, &curvature);
        if (fabs(slope) <= line_slope * fabs(start_slope)) break;
        if (slope < 0.0)
            low = step;
        else
            high = step;
        double next = step - slope / curvature;
        if (!(next > low && next < high)) next = isfinite(high) ? 0.5 * (low + high) : 2.0 * step;
        if (next == step) break;
        step = next;
    }
    return step;
}

// The minimum for the rows' present offsets and compliances, until Newton's decrement is `end` of the energy; returns
// Newton steps.
static int minimize(cal_problem* p, const double* target, double* v, double energy, double end) {
    const int count = p->group->v_count;
    double last = INFINITY;
    for (int iteration = 0; iteration < MOST_NEWTON; iteration++) {
        for (int k = 0; k < p->row_count; k++) {
            cal_contact_row* touch = &p->rows[k];
            cal_problem_velocity(p, touch, v, touch->y);
            for (int i = 0; i < 3; i++) touch->y[i] += touch->offset[i];
            touch->y[0] += touch->slip;
            project(touch, touch->y, touch->impulse, touch->stiffness);
        }
        for (int i = 0; i < count; i++) p->work[i] = v[i] - target[i];
        times_mass(p, p->work, p->gradient);
        cal_problem_push(p, -1.0, p->gradient);
        cal_problem_assemble(p, 1.0);
        if (!cal_blocks_factor(&p->matrix)) return iteration;
        for (int i = 0; i < count; i++) p->direction[i] = -p->gradient[i];
        cal_blocks_solve(&p->matrix, p->direction);
        double slope = 0.0;
        for (int i = 0; i < count; i++) slope += p->gradient[i] * p->direction[i];
        if (!(-slope > end * energy) || (-slope < rounding * energy && -slope > 0.25 * last)) return iteration;
        last = -slope;
        for (int k = 0; k < p->row_count; k++) cal_problem_velocity(p, &p->rows[k], p->direction, p->rows[k].dy);
        times_mass(p, p->work, p->gradient);
        double linear = 0.0;
        for (int i = 0; i < count; i++) linear += p->gradient[i] * p->direction[i];
        const double step = search_line(p, linear, times_mass(p, p->direction, NULL), slope);
        bool moved = false;
        for (int i = 0; i < count; i++) {
            const double next = v[i] + step * p->direction[i];
            moved = moved || next != v[i];
            v[i] = next;
        }
        if (!moved) return iteration;
    }
    return MOST_NEWTON;
}

// μ |y_t| of a contact at v.
static double slip_of(const cal_problem* p, const cal_contact_row* touch, const double* v) {
    double y[3];
    cal_problem_velocity(p, touch, v, y);
    const double a = y[1] + touch->offset[1], b = y[2] + touch->offset[2];
    return touch->friction * sqrt(a * a + b * b);
}

// What a solve is measured by: an energy, and a speed of the contacts.
typedef struct scale {
    double energy, speed;
} scale;

static scale scale_of(cal_problem* p, const double* target, const double* v) {
    scale s = {.energy = times_mass(p, target, NULL) + times_mass(p, v, NULL)};
    for (int k = 0; k < p->row_count; k++) {
        const cal_contact_row* touch = &p->rows[k];
        double y[3];
        cal_problem_velocity(p, touch, target, y);
        s.speed = fmax(s.speed, slip_of(p, touch, v) + fabs(y[0] + fmin(touch->offset[0], 0.0)));
        // What a contact asks for counts beside what there is.
        if (touch->offset[0] < 0.0) s.energy += touch->offset[0] * touch->offset[0] / touch->response;
    }
    return s;
}

static void set_compliance(cal_problem* p, double share) {
    for (int k = 0; k < p->row_count; k++) p->rows[k].compliance = share * p->rows[k].response;
}

// Takes over the impulses of a round; returns how far the hard law was missed.
static double hold(cal_problem* p) {
    double missed = 0.0;
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        for (int i = 0; i < 3; i++) {
            missed = fmax(missed, touch->compliance * fabs(touch->impulse[i] - touch->held[i]));
            touch->held[i] = touch->impulse[i];
        }
    }
    return missed;
}

int cal_problem_solve(cal_problem* p, const double* target, double* v) {
    const scale s = scale_of(p, target, v);
    int steps = 0;
    bool solved = false;
    const bool sweeps = p->rough || p->loose || !p->factors;
    if (sweeps) steps = cal_problem_sweep(p, target, v, s.speed, &solved);
    if (solved || !p->factors) return steps;
    if (sweeps) hold(p);
    double share = first_compliance, end = first_decrement, before[2] = {INFINITY, INFINITY}, missed = INFINITY;
    bool settled = false; // De Saxcé's term stands, or will not
    for (int k = 0; k < p->row_count; k++) p->rows[k].slip = slip_of(p, &p->rows[k], v);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        set_compliance(p, share);
        steps += minimize(p, target, v, s.energy, end);
        const double last = missed;
        missed = hold(p);
        double change = 0.0;
        for (int k = 0; !settled && k < p->row_count; k++) {
            cal_contact_row* touch = &p->rows[k];
            const double slip = slip_of(p, touch, v);
            if (touch->impulse[0] > 0.0 || slip < touch->slip) change = fmax(change, fabs(slip - touch->slip));
            // A single contact that slides would take 1 / (1 + μ²) of each change over.
            touch->slip = fmax(0.0, touch->slip + (1.0 + touch->friction * touch->friction) * (slip - touch->slip));
        }
        if (missed > slow_fall * last) share = fmax(least_compliance, compliance_falls * share);
        // With several contacts it may go to and fro, or hardly on: then another round would change nothing for the better.
        const bool falls = change < 0.5 * before[1];
        before[1] = before[0];
        before[0] = change;
        if (!settled && change > (p->rough ? rough_law : slip_change) * s.speed && falls) continue;
        settled = true;
        const bool fine = missed <= (p->rough ? rough_law : law) * s.speed;
        if ((p->rough && fine) || (end == decrement && (fine || missed > 0.5 * last))) break;
        if (!p->rough || !fine) end = decrement;
    }
    return steps;
}

int cal_problem_solve_roughly(cal_problem* p, const double* target, double* v) {
    const scale s = scale_of(p, target, v);
    int steps = 0;
    bool solved = false;
    if (p->loose || !p->factors) steps = cal_problem_sweep(p, target, v, s.speed, &solved);
    if (solved || !p->factors) return steps;
    for (int k = 0; k < p->row_count; k++) p->rows[k].slip = 0.0;
    double share = first_compliance;
    while (share > rough_compliance) {
        set_compliance(p, share);
        share *= compliance_falls;
        steps += minimize(p, target, v, s.energy, rough_decrement);
        hold(p);
    }
    return steps;
}
