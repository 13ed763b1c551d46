// The convex problem of a step; see contact_problem.h.
#include "simulation/contact/contact_problem.h"
#include "base/finite.h"
#include "base/wide.h"
#include "math/vector.h"
#include "simulation/contact/contact_sweeps.h"
#include <string.h>

enum { MOST_FACTORED = 250, MOST_FACTORED_BALLS = 40 };
enum { MOST_DEGREES = 46340 }; // of a unit: places in its square matrices, which then have 17 GB each, are of type int
static int largest_unit(const cal_group* group) {
    int most = 1;
    for (int i = 0; i < group->unit_count; i++)
        if (group->units[i].v_count > most) most = group->units[i].v_count;
    return most;
}

// Doubles that the constraints of a unit need.
static size_t loops_count(const cal_group_member* unit) {
    const size_t rows = (size_t)unit->most_rows;
    return (rows + 1) * (size_t)unit->v_count + 4 * rows + cal_projector_size(unit->most_rows, unit->v_count);
}

// And what it resists by.
static size_t resistance_count(const cal_group_member* unit) {
    return unit->resists ? 2 * (size_t)unit->v_count * (size_t)unit->v_count : 0;
}

size_t cal_problem_count(const cal_group* group, int contacts) {
    const size_t n = (size_t)group->unit_count, v = (size_t)group->v_count, m = (size_t)largest_unit(group);
    if (m > MOST_DEGREES) return SIZE_MAX / 64; // which nobody has
    size_t loops = n + n * (sizeof(cal_problem_loops) / sizeof(double) + 1), plain = 0;
    for (int i = 0; i < group->unit_count; i++) {
        if (group->units[i].most_rows == 0) continue;
        loops += loops_count(&group->units[i]);
        plain = 6 * m;
    }
    size_t resisting = n;
    for (int i = 0; i < group->unit_count; i++) resisting += resistance_count(&group->units[i]);
    const size_t rows = (size_t)contacts * (sizeof(cal_contact_row) / sizeof(double) + 12 * m + plain + 1 + 2 * m * m);
    return cal_free_sweeps_count(group, contacts) + rows + loops + resisting + 3 * n * m * m + 6 * v + 2 * m * m +
           8 * m + n * ((n + 63) / 64) + 17 * n + 64;
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
        p->loops[i].rate = p->loops[i].bias + unit->most_rows;
        p->loops[i].right = p->loops[i].rate + unit->most_rows;
        p->loops[i].v = p->loops[i].right + unit->most_rows;
        p->loops[i].memory = p->loops[i].v + unit->v_count;
    }
    return true;
}

static bool begin_resistances(cal_problem* p, cal_arena* arena) {
    p->resistance = (double**)(void*)cal_arena_numbers(arena, (size_t)p->group->unit_count);
    for (int i = 0; p->resistance != NULL && i < p->group->unit_count; i++) {
        const size_t count = resistance_count(&p->group->units[i]);
        p->resistance[i] = count > 0 ? cal_arena_numbers(arena, count) : NULL;
        if (count > 0 && p->resistance[i] == NULL) return false;
    }
    return p->resistance != NULL;
}

bool cal_problem_begin(cal_problem* p, const cal_group* group, cal_arena* arena) {
    const size_t n = (size_t)group->unit_count, v = (size_t)group->v_count;
    *p = (cal_problem){.group = group};
    p->size = cal_arena_integers(arena, n);
    p->first = cal_arena_integers(arena, n);
    p->stirred = cal_arena_integers(arena, n + 1); // and of what does not move
    p->passive = (bool*)(void*)cal_arena_numbers(arena, (n * sizeof(bool) + sizeof(double) - 1) / sizeof(double));
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
    if (p->size == NULL || p->first == NULL || p->stirred == NULL || p->passive == NULL || p->mass_at == NULL ||
        p->gradient == NULL || p->direction == NULL || p->work == NULL || p->damping == NULL || p->stiffness == NULL ||
        p->diagonal == NULL || p->stiff == NULL || p->diagonal_mass == NULL || p->left == NULL || p->block == NULL)
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
    return p->mass != NULL && p->mass_factor != NULL && begin_loops(p, arena) && begin_resistances(p, arena);
}

// Some rows of M x, of M that is symmetric to the bit: columns are rows, and sums of rows go side by side, each in the order of its columns.
enum { SIDE_BY_SIDE = 32 };
CAL_WIDE static void times_symmetric(const double* restrict M, int n, int first, int count, const double* restrict x,
                                     double row[restrict SIDE_BY_SIDE]) {
    memset(row, 0, SIDE_BY_SIDE * sizeof *row);
    if (count == SIDE_BY_SIDE)
        for (int c = 0; c < n; c++)
            for (int k = 0; k < SIDE_BY_SIDE; k++) row[k] += M[c * n + first + k] * x[c];
    else
        for (int c = 0; c < n; c++)
            for (int k = 0; k < count; k++) row[k] += M[c * n + first + k] * x[c];
}

double cal_problem_times_mass(const cal_problem* p, const double* x, double* out) {
    double sum = 0.0;
    for (int i = 0; i < p->group->unit_count; i++) {
        const int n = p->size[i];
        const double *M = p->mass + p->mass_at[i], *mine = x + p->first[i];
        const bool diagonal = p->diagonal_mass[i];
        for (int r = 0; r < n; r += SIDE_BY_SIDE) {
            const int rows = n - r < SIDE_BY_SIDE ? n - r : SIDE_BY_SIDE;
            double row[SIDE_BY_SIDE] = {0.0};
            if (diagonal)
                for (int k = 0; k < rows; k++) row[k] += M[(r + k) * n + r + k] * mine[r + k];
            else if (p->resistance[i] == NULL)
                times_symmetric(M, n, r, rows, mine, row);
            else // what resists is symmetric but for rounding
                for (int k = 0; k < rows; k++)
                    for (int c = 0; c < n; c++) row[k] += M[(r + k) * n + c] * mine[c];
            for (int k = 0; k < rows; k++) {
                sum += row[k] * mine[r + k];
                if (out != NULL) out[p->first[i] + r + k] = row[k];
            }
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
cal_status cal_contact_add_drive(const cal_group* group, double time, const cal_group_contact* contact, int side,
                                 const double frame[9], double y[3]) {
    double pose[7], velocity[6], arm[3], turning[3];
    const cal_status status = group->driven(group, contact->body[side], time, pose, velocity);
    if (status != CAL_OK) return status;
    for (int i = 0; i < 3; i++) arm[i] = contact->point[side][i] - pose[i];
    cal_cross3(velocity + 3, arm, turning);
    for (int i = 0; i < 3; i++) turning[i] += velocity[i];
    for (int r = 0; r < 3; r++) y[r] += (side == 0 ? -1.0 : 1.0) * cal_dot3(frame + 3 * r, turning);
    return CAL_OK;
}

// The only row of a stop: how fast its gap opens.
static void add_stop(const cal_problem* p, const double* q, const cal_group_contact* contact, cal_contact_row* touch,
                     double* J) {
    const cal_group_member* u = &p->group->units[touch->unit[0]];
    cal_group_stop stop;
    u->ops->stop(u, q + u->first_q, contact->stop - 1, &stop);
    memset(J, 0, 3 * (size_t)u->v_count * sizeof *J);
    touch->lever = cal_stop_lever(p->group, &stop);
    J[stop.degree] = stop.sign * touch->lever;
    touch->stops = true;
    touch->hardness = stop.hardness;
    touch->jacobian[0] = J;
}

cal_status cal_contact_side(const cal_group* group, const double* q, const cal_group_contact* contact, int side,
                            const double frame[9], double* jacobian, double* out) {
    const cal_group_member* u = &group->units[group->unit_of_body[contact->body[side]]];
    const int n = u->v_count;
    const double sign = side == 0 ? -1.0 : 1.0;
    const cal_status status =
        u->ops->jacobian(u, q + u->first_q, contact->body[side] - u->first_body, contact->point[side], jacobian);
    for (int r = 0; status == CAL_OK && r < 3; r++)
        for (int c = 0; c < n; c++) {
            double sum = 0.0;
            for (int i = 0; i < 3; i++) sum += frame[3 * r + i] * jacobian[i * n + c];
            out[r * n + c] = sign * sum;
        }
    if (u->ops->sweep != NULL) u->ops->sweep(u, out);
    return status;
}

// The rows of one side of a contact; memory that is missing is NULL in touch->jacobian.
static cal_status add_side(cal_problem* p, const double* q, const cal_group_contact* contact, int side,
                           const double frame[9], cal_contact_row* touch, double* jacobian, cal_arena* arena) {
    touch->jacobian[side] = cal_arena_numbers(arena, 3 * (size_t)p->group->units[touch->unit[side]].v_count);
    if (touch->jacobian[side] == NULL) return CAL_OK;
    return cal_contact_side(p->group, q, contact, side, frame, jacobian, touch->jacobian[side]);
}

// out += J (1 − P) x of a side, of a unit with constraints.
static void add_carried(const cal_problem* p, const cal_contact_row* touch, int side, const double* x, double out[3]) {
    const int n = p->size[touch->unit[side]];
    const double *J = touch->jacobian[side], *plain = touch->plain[side];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < n; c++) out[r] += (plain[r * n + c] - J[r * n + c]) * x[c];
}

static bool is_moved(const cal_problem* p, const cal_contact_row* touch, int side) {
    return touch->plain[side] != NULL && p->group->units[touch->unit[side]].moved;
}

// What motions that are prescribed give to the contact's points.
static void find_carried(const cal_problem* p, const cal_contact_row* touch, double out[3]) {
    memset(out, 0, 3 * sizeof *out);
    for (int side = 0; side < 2; side++)
        if (is_moved(p, touch, side)) add_carried(p, touch, side, p->loops[touch->unit[side]].v, out);
}

static void carry_row(const cal_problem* p, cal_contact_row* touch) {
    double carried[3];
    if (!is_moved(p, touch, 0) && !is_moved(p, touch, 1)) return;
    find_carried(p, touch, carried);
    for (int i = 0; i < 3; i++) {
        touch->drive[i] += carried[i] - touch->carried[i];
        touch->carried[i] = carried[i];
    }
}

// Where all of a unit's motion is prescribed, it is there as a driven body is, and what it gives to the contact is not carried by it any more. Not in
// small groups, whose smooth steps know accelerations.
static void lead_row(const cal_problem* p, cal_contact_row* touch) {
    const cal_group* group = p->group;
    bool any = false;
    for (int side = 0; group->unit_count > CAL_SMOOTH_UNITS && side < 2; side++) {
        if (!is_moved(p, touch, side) || !cal_member_is_led(&group->units[touch->unit[side]])) continue;
        touch->unit[side] = CAL_NONE;
        touch->plain[side] = NULL;
        any = true;
    }
    if (any) find_carried(p, touch, touch->carried);
}

// J P from J, with the projectors that there are now.
static void project_row(cal_problem* p, cal_contact_row* touch) {
    for (int side = 0; side < 2; side++) {
        if (touch->plain[side] == NULL) continue;
        const int unit = touch->unit[side], n = p->size[unit];
        memcpy(touch->jacobian[side], touch->plain[side], 3 * (size_t)n * sizeof(double));
        for (int r = 0; r < 3; r++) cal_projector_apply_row(&p->loops[unit].projector, touch->jacobian[side] + r * n);
    }
    carry_row(p, touch);
}

void cal_problem_answer(cal_problem* p, cal_contact_row* touch) {
    memset(touch->own, 0, sizeof touch->own);
    for (int side = 0; side < 2; side++) {
        if (touch->unit[side] < 0) continue;
        const int unit = touch->unit[side], n = p->size[unit];
        const double* J = touch->jacobian[side];
        double* answer = touch->answer[side];
        memcpy(answer, J, (size_t)(CAL_FRAME_ROWS * n) * sizeof *J);
        if (!p->diagonal_mass[unit])
            cal_dense_solve_vectors(p->mass_factor + p->mass_at[unit], n, answer);
        else
            for (int r = 0; r < CAL_FRAME_ROWS; r++)
                for (int k = 0; k < n; k++) answer[r * n + k] /= p->mass[p->mass_at[unit] + k * (n + 1)];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                for (int k = 0; k < n; k++) touch->own[3 * r + c] += J[r * n + k] * touch->answer[side][c * n + k];
    }
    touch->across = cal_larger(touch->own[4], touch->own[8]);
    touch->inverse[0] = touch->own[0] > 0.0 ? 1.0 / touch->own[0] : 0.0;
    touch->inverse[1] = touch->across > 0.0 ? 1.0 / touch->across : 0.0;
    touch->response = (touch->own[0] + touch->own[4] + touch->own[8]) / 3.0;
}

static bool is_quiet(const cal_problem* p, int unit) { return p->quiet != NULL && p->quiet[unit]; }

// CAL_NO_MEMORY: not enough of it; anything else has failed, with an error.
static cal_status fill_row(cal_problem* p, double time, const double* q, const cal_group_contact* contact,
                           cal_contact_row* touch, double* jacobian, cal_arena* arena, cal_error* error) {
    const cal_group* group = p->group;
    double frame[9];
    cal_contact_frame(contact->normal, frame);
    *touch = (cal_contact_row){
        .friction = contact->friction, .restitution = contact->restitution, .gap = contact->gap, .impact = -1.0,
        .bounce_speed = contact->restitution < 1.0 ? group->bounce_speed : group->rest_speed};
    for (int side = 0; side < 2; side++) {
        const int unit = group->unit_of_body[contact->body[side]];
        touch->body[side] = contact->body[side];
        touch->unit[side] = unit < 0 || is_quiet(p, unit) ? CAL_NONE : unit;
        if (unit >= 0 && touch->unit[side] < 0) continue;
        if (contact->stop > 0) {
            double* J = cal_arena_numbers(arena, 3 * (size_t)group->units[unit].v_count);
            if (J == NULL) return CAL_NO_MEMORY;
            add_stop(p, q, contact, touch, J);
            touch->unit[1] = CAL_NONE;
            break;
        }
        const cal_status status = unit < 0 ? cal_contact_add_drive(group, time, contact, side, frame, touch->drive)
                                           : add_side(p, q, contact, side, frame, touch, jacobian, arena);
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
    lead_row(p, touch);
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
        status = u->ops->slopes(u, own_q, own_v, p->damping + u->first_v, p->stiffness + u->first_v, p->resistance[i],
                                &p->stiff[i]);
    if (status == CAL_OK && u->most_rows > 0)
        status = u->ops->constraints(u, time, own_q, own_v, l->A, l->noise, l->bias, l->rate, &l->rows);
    if (u->moved) memcpy(l->v, own_v, (size_t)u->v_count * sizeof *own_v);
    if (status != CAL_OK) return cal_group_unit_failed(p->group, i, status, time, error);
    p->diagonal_mass[i] = !p->stiff[i];
    for (int r = 0; r < p->size[i]; r++)
        for (int c = 0; c < p->size[i]; c++)
            p->diagonal_mass[i] &= r == c ? M[r * p->size[i] + c] > 0.0 : M[r * p->size[i] + c] == 0.0;
    for (int k = 0; k < p->size[i]; k++) p->diagonal[p->first[i] + k] = M[k * (p->size[i] + 1)];
    memcpy(L, M, (size_t)(p->size[i] * p->size[i]) * sizeof *M);
    if (p->resistance[i] != NULL)
        memcpy(p->resistance[i] + p->size[i] * p->size[i], M, (size_t)(p->size[i] * p->size[i]) * sizeof *M);
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
static cal_status fill_rows(cal_problem* p, double time, const double* q, const cal_group_contact* contacts, int count,
                            const double* reach, cal_arena* arena, cal_error* error) {
    const cal_group* group = p->group;
    cal_status status = CAL_OK;
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
        bool moves = false;
        for (int side = 0; side < 2; side++) {
            const int unit = group->unit_of_body[contacts[i].body[side]];
            moves |= unit >= 0 && !is_quiet(p, unit);
        }
        if (!moves) continue;
        status = fill_row(p, time, q, &contacts[i], touch, jacobian, arena, error);
        if (status != CAL_OK) return status;
        touch->contact = i;
        if (!(touch->response > 0.0)) continue; // nothing that moves moves there
        p->row_count++;
        if (touch->unit[0] < 0 || touch->unit[1] < 0) continue;
        pairs[pair_count][0] = touch->unit[0], pairs[pair_count++][1] = touch->unit[1];
    }
    if (!cal_free_sweeps_take(p, q, contacts, arena)) return CAL_NO_MEMORY;
    p->loose = is_loose(pairs[0], pair_count);
    int awake = 0;
    for (int i = 0; i < group->unit_count; i++) awake += !is_quiet(p, i);
    p->factors = awake <= (p->loose ? MOST_FACTORED_BALLS : MOST_FACTORED);
    if (!p->factors) return CAL_OK;
    if (!cal_blocks_make(&p->matrix, group->unit_count, p->size, p->first, (const int32_t(*)[2])pairs, pair_count,
                         arena))
        return CAL_NO_MEMORY;
    for (int i = 0; i < group->unit_count; i++) p->passive[i] = is_quiet(p, i);
    p->matrix.passive = p->passive;
    return CAL_OK;
}

void cal_problem_stiffen(cal_problem* p, double h) {
    for (int i = 0; i < p->group->unit_count; i++) {
        if (!p->stiff[i]) continue;
        const int n = p->size[i];
        double *M = p->mass + p->mass_at[i], *L = p->mass_factor + p->mass_at[i];
        const double *R = p->resistance[i], *plain = R != NULL ? R + n * n : NULL;
        for (int k = 0; R != NULL && k < n * n; k++) M[k] = plain[k] + h * R[k];
        for (int k = 0; k < n; k++) {
            const int at = p->first[i] + k;
            const double own = R != NULL ? M[k * (n + 1)] : p->diagonal[at];
            M[k * (n + 1)] = own + h * (p->damping[at] + h * p->stiffness[at]);
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

// uᵀ (1 − P)ᵀ M d, with u = v of where the unit was looked at, or the mean of that and of the velocities that x becomes.
double cal_problem_correct(cal_problem* p, int unit, bool velocities, double* x) {
    const cal_problem_loops* l = &p->loops[unit];
    const int n = p->size[unit];
    const double* M = p->mass + p->mass_at[unit];
    double *given = p->work + p->first[unit], *before = p->gradient + p->first[unit], sum = 0.0;
    memcpy(before, x, (size_t)n * sizeof *before);
    cal_projector_correct(&l->projector, l->right, x);
    if (!p->group->units[unit].moved) return 0.0;
    for (int k = 0; k < n; k++) {
        before[k] = x[k] - before[k];
        given[k] = velocities ? 0.5 * (l->v[k] + x[k]) : l->v[k];
    }
    // d = (1 − P) d, and M (1 − P) is symmetric.
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) sum += given[r] * M[r * n + c] * before[c];
    return sum;
}

void cal_problem_constrain(cal_problem* p, double h, double* target, double* v) {
    p->moved = 0.0;
    for (int i = 0; i < p->group->unit_count; i++) {
        cal_problem_loops* l = &p->loops[i];
        if (l->rows == 0) continue;
        double *own_target = target + p->first[i], *own = v + p->first[i];
        for (int r = 0; r < l->rows; r++) l->right[r] = -h * l->bias[r];
        for (int r = 0; p->group->units[i].moved && r < l->rows; r++) l->right[r] += l->rate[r];
        p->moved += cal_problem_correct(p, i, true, own_target);
        for (int k = 0; k < p->size[i]; k++) own[k] -= own_target[k];
        cal_projector_apply(&l->projector, own);
        for (int k = 0; k < p->size[i]; k++) own[k] += own_target[k];
    }
    for (int k = 0; k < p->row_count; k++) {
        cal_contact_row* touch = &p->rows[k];
        for (int side = 0; side < 2; side++) {
            if (touch->plain[side] != NULL)
                add_carried(p, touch, side, target + p->first[touch->unit[side]], touch->offset);
        }
        for (int i = 0; i < 3; i++) touch->offset[i] -= touch->carried[i];
    }
}

static size_t count_stops(const cal_group* group) {
    size_t count = 0;
    for (int i = 0; i < group->unit_count; i++) count += (size_t)group->units[i].stop_count;
    return count;
}

// Keys that are not there would be looked for among all contacts, each time: sixteen bits for each contact say of nearly all of them that they
// are not. Of a few a look at all is no slower.
enum { FEW_CONTACTS = 64 };

static size_t filter_words(int capacity) {
    size_t words = 8;
    while (4 * words < (size_t)capacity) words *= 2;
    return words;
}

// The two bits of a key.
static void find_bits(const cal_contact_cache* cache, uint64_t key, size_t bits[2]) {
    const uint64_t mixed =
        (key ^ key >> 32) *
        UINT64_C(0x9E3779B97F4A7C15); // odd, the golden ratio: its high half depends on all of the key
    const size_t mask = 64 * filter_words(cache->capacity) - 1;
    bits[0] = (size_t)(mixed >> 40) & mask, bits[1] = (size_t)(mixed >> 16 & 0xFFFFFF) & mask;
}

static void list_keys(cal_contact_cache* cache) {
    if (cache->count <= FEW_CONTACTS) return;
    memset(cache->known, 0, filter_words(cache->capacity) * sizeof *cache->known);
    for (int i = 0; i < cache->count; i++) {
        size_t bits[2];
        find_bits(cache, cache->contacts[i].key, bits);
        for (int k = 0; k < 2; k++) cache->known[bits[k] / 64] |= UINT64_C(1) << bits[k] % 64;
    }
}

static bool may_have(const cal_contact_cache* cache, uint64_t key) {
    if (cache->count <= FEW_CONTACTS) return true;
    size_t bits[2];
    find_bits(cache, key, bits);
    return (cache->known[bits[0] / 64] >> bits[0] % 64 & cache->known[bits[1] / 64] >> bits[1] % 64 & 1) != 0;
}

size_t cal_contact_cache_count(const cal_group* group, int contacts) {
    return (size_t)contacts * (sizeof(cal_group_contact) / sizeof(double)) + 7 * (size_t)group->body_count +
           filter_words(contacts) + count_stops(group);
}

bool cal_contact_cache_begin(cal_contact_cache* cache, const cal_group* group, int capacity, cal_group_report* report,
                             cal_arena* arena) {
    *cache = (cal_contact_cache){.capacity = capacity, .report = report};
    cache->contacts = (cal_group_contact*)(void*)cal_arena_numbers(arena, (size_t)capacity * sizeof *cache->contacts /
                                                                              sizeof(double));
    cache->poses = cal_arena_numbers(arena, 7 * (size_t)group->body_count);
    cache->known = (uint64_t*)(void*)cal_arena_numbers(arena, filter_words(capacity));
    cache->beyond = cal_arena_numbers(arena, count_stops(group));
    if (cache->contacts == NULL || cache->poses == NULL || cache->known == NULL || cache->beyond == NULL) return false;
    memset(cache->beyond, 0, count_stops(group) * sizeof *cache->beyond);
    return true;
}

void cal_contact_cache_stop_at(cal_contact_cache* cache, const cal_group* group, const double* q) {
    double* beyond = cache->beyond;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        for (int k = 0; k < unit->stop_count; k++) {
            cal_group_stop stop;
            unit->ops->stop(unit, q + unit->first_q, k, &stop);
            const double gap = cal_stop_lever(group, &stop) * stop.gap;
            *beyond++ = fmin(gap, 0.0);
        }
    }
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

// Stops that joints are near to, after the contacts.
static void add_stops(cal_contact_cache* cache, const cal_group* group, const double* q, double margin) {
    const double* beyond = cache->beyond;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        for (int k = 0; k < unit->stop_count; k++) {
            cal_group_stop stop;
            unit->ops->stop(unit, q + unit->first_q, k, &stop);
            const double gap = cal_stop_lever(group, &stop) * stop.gap - *beyond++;
            if (!(gap <= margin)) continue;
            const int body = unit->first_body + stop.body;
            if (cache->count < cache->capacity)
                cache->contacts[cache->count] = (cal_group_contact){
                    .body = {body, body}, .normal = {0.0, 0.0, 1.0}, .gap = gap, .key = stop.key, .stop = k + 1};
            cache->count++;
        }
    }
}

cal_status cal_contact_cache_find(cal_contact_cache* cache, const cal_group* group, double time, const double* q,
                                  double margin, cal_error* error) {
    cal_status status = find_poses(group, time, q, cache->poses, error);
    if (status != CAL_OK) return status;
    status = group->contacts(group, time, cache->poses, margin, cache->contacts, cache->capacity, &cache->count);
    if (status != CAL_OK) return cal_group_body_failed(group, 0, status, time, error);
    add_stops(cache, group, q, margin);
    if (cache->count <= cache->capacity) {
        list_keys(cache);
        return CAL_OK;
    }
    cache->report->contacts = cache->count;
    return CAL_NO_MEMORY;
}

int cal_contact_cache_same(const cal_contact_cache* cache, uint64_t key, int from) {
    if (!may_have(cache, key)) return CAL_NONE;
    // What is behind the last one is of another look.
    for (int i = 0, at = from < cache->count ? from : 0; i < cache->count; i++, at = at + 1 < cache->count ? at + 1 : 0)
        if (cache->contacts[at].key == key) return at;
    return CAL_NONE;
}

cal_status cal_problem_look(cal_problem* p, cal_contact_cache* cache, double time, const double* q, const double* v,
                            double margin, double* force, cal_arena* arena, cal_error* error) {
    const cal_status status = cal_contact_cache_find(cache, p->group, time, q, margin, error);
    return status == CAL_OK ? cal_problem_fill(p, cache, time, q, v, NULL, force, arena, error) : status;
}

cal_status cal_problem_fill_units(cal_problem* p, double time, const double* q, const double* v, double* force,
                                  cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < p->group->unit_count; i++)
        status = fill_unit(p, i, time, q, v, force, error);
    return status;
}

cal_status cal_problem_fill_rows(cal_problem* p, cal_contact_cache* cache, double time, const double* q,
                                 const double* reach, cal_arena* arena, cal_error* error) {
    const cal_status status = fill_rows(p, time, q, cache->contacts, cache->count, reach, arena, error);
    if (status == CAL_NO_MEMORY)
        cache->report->contacts = 2 * cache->capacity + 16; // the matrix needs more than guessed
    return status;
}

cal_status cal_problem_fill(cal_problem* p, cal_contact_cache* cache, double time, const double* q, const double* v,
                            const double* reach, double* force, cal_arena* arena, cal_error* error) {
    p->quiet = NULL;
    const cal_status status = cal_problem_fill_units(p, time, q, v, force, error);
    return status == CAL_OK ? cal_problem_fill_rows(p, cache, time, q, reach, arena, error) : status;
}
