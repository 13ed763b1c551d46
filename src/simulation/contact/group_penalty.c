// The paper's integrator of contact groups: penalty springs, smooth friction, a 4th-order Rosenbrock method with an adaptive
// step, and a sparse solve. Kept to reproduce the paper; stacks sink a little, creep for ever and take many steps to settle.
//
// Two bodies that overlap by δ at a contact, with relative velocity u (u_n: parting), push each other by
//
//     f_n = k δ (1 − d u_n), not less than 0,     f_t = −μ f_n tanh(|u_t| / ε) u_t / |u_t|
//
// (Hunt and Crossley's damping: a force that starts from nothing at touch). k and d are the group's, or such that a typical
// body sinks by a ten-thousandth of its size under its own weight, half critically damped.
//
// Rosenbrock's method (Kaps and Rentrop, with Shampine's parameters), for y = (q, v), y' = f(y), J ≈ ∂f/∂y:
//
//     (1/(γh) − J) g_i = f(y + Σ a_ij g_j) + Σ c_ij g_j / h,     y⁺ = y + Σ b_i g_i,     error Σ e_i g_i
//
// J has the springs, dampers and friction of the contacts with points and normals held, and q' = v; what turns normals and
// gyroscopic terms are left to the explicit part. With x the displacement that belongs to a change of q, the upper half is
// eliminated, and what is left is symmetric, positive definite and as sparse as the contacts:
//
//     (M/(γh) + Jᵀ (C + γh K) J) g_v = M r_v − γh Jᵀ K J r_x,    g_x = γh (r_x + g_v),    g_q = γh (r_q + rate(g_v)).
#include "base/finite.h"
#include "math/vector.h"
#include "simulation/contact/contact_problem.h"
#include <string.h>

enum { STAGES = 4 };
enum { STEP_SIZE, MEAN_MASS, MEMORY }; // what is remembered between steps
static const double gamma_ = 0.5;
static const double a_[STAGES][STAGES] = {{0}, {2.0}, {48.0 / 25.0, 6.0 / 25.0}, {48.0 / 25.0, 6.0 / 25.0}};
static const double c_[STAGES][STAGES] = {
    {0}, {-8.0}, {372.0 / 25.0, 12.0 / 5.0}, {-112.0 / 125.0, -54.0 / 125.0, -2.0 / 5.0}};
static const double b_[STAGES] = {19.0 / 9.0, 0.5, 25.0 / 108.0, 125.0 / 108.0};
static const double e_[STAGES] = {17.0 / 54.0, 7.0 / 36.0, 0.0, 125.0 / 108.0};
static const double at_[STAGES] = {0.0, 1.0, 0.6, 0.6};
static const double sink = 1e-4;          // of the length, under its own weight
static const double standard_pull = 9.81; // m/s², where there is no gravity
static const double looseness = 100.0;    // of the group's tolerance, which is meant for smooth motion

typedef struct work {
    const cal_group* group;
    cal_problem base, stage; // at the start of a step, and at a stage
    cal_arena rest;
    cal_contact_cache cache;
    double stiffness, damping, creep;
    double *force, *rate;
    double *g_q[STAGES], *g_v[STAGES], *g_x[STAGES];
    double *stage_q, *stage_v, *r_q, *r_v, *r_x, *right;
    double* springs; // K of each touch at the start
    cal_group_report* report;
} work;

// --- Friction's curve -------------------------------------------------------------------------------------------------

// e^(−x), x ≥ 0, with our own arithmetic, so that it has the same bits everywhere.
static double decay(double x) {
    if (x > 700.0) return 0.0;
    const double n = floor(x / 0.69314718055994531 + 0.5);
    const double r = (n * 0.693147180369123816490 - x) + n * 1.90821492927058770002e-10; // ln 2 in two parts
    double sum = 1.0;
    for (int k = 15; k >= 1; k--) sum = 1.0 + r / k * sum;
    return ldexp(sum, -(int)n);
}

// tanh(x)/x for x ≥ 0, and tanh(x).
static double tanh_over(double x, double* tanh_x) {
    if (x < 0.02) {
        const double z = x * x;
        const double ratio = 1.0 - z * (1.0 / 3.0 - z * (2.0 / 15.0 - z * (17.0 / 315.0 - z * 62.0 / 2835.0)));
        *tanh_x = x * ratio;
        return ratio;
    }
    const double e = decay(2.0 * x);
    *tanh_x = (1.0 - e) / (1.0 + e);
    return *tanh_x / x;
}

// --- Memory -----------------------------------------------------------------------------------------------------------

static size_t memory_count(const cal_group* group) {
    (void)group;
    return MEMORY;
}

static bool is_memory_sound(const cal_group* group, const double* memory) {
    return cal_all_finite(memory, (int)memory_count(group));
}

static size_t scratch_count(const cal_group* group, int contacts) {
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count;
    return 2 * cal_problem_count(group, contacts) + cal_contact_cache_count(group, contacts) + (size_t)contacts +
           (STAGES + 3) * q + (2 * STAGES + 5) * v + 64;
}

static bool begin(work* w, const cal_group* group, double* scratch, int capacity, cal_group_report* report) {
    cal_arena arena = {scratch, scratch_count(group, capacity)};
    const size_t q = (size_t)group->q_count, v = (size_t)group->v_count;
    *w = (work){.group = group, .report = report};
    bool ok = cal_contact_cache_begin(&w->cache, group, capacity, report, &arena);
    w->springs = cal_arena_numbers(&arena, (size_t)capacity);
    double** const of_v[] = {&w->force, &w->stage_v, &w->r_v, &w->r_x, &w->right};
    double** const of_q[] = {&w->rate, &w->stage_q, &w->r_q};
    ok = ok && w->springs != NULL;
    for (size_t i = 0; i < sizeof of_v / sizeof *of_v; i++)
        ok = (*of_v[i] = cal_arena_numbers(&arena, v)) != NULL && ok;
    for (size_t i = 0; i < sizeof of_q / sizeof *of_q; i++)
        ok = (*of_q[i] = cal_arena_numbers(&arena, q)) != NULL && ok;
    for (int i = 0; i < STAGES; i++) {
        w->g_q[i] = cal_arena_numbers(&arena, q);
        w->g_v[i] = cal_arena_numbers(&arena, v);
        w->g_x[i] = cal_arena_numbers(&arena, v);
        ok = ok && w->g_q[i] != NULL && w->g_v[i] != NULL && w->g_x[i] != NULL;
    }
    ok = ok && cal_problem_begin(&w->base, group, &arena) && cal_problem_begin(&w->stage, group, &arena);
    w->rest = arena;
    return ok;
}

// The mean mass of the group's units; a multibody's, of its first joint, depends on q.
static cal_status mean_mass(const work* w, const double* q, const double* v, double time, double* mass,
                            cal_error* error) {
    const cal_group* group = w->group;
    *mass = 0.0;
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        const cal_status status = unit->ops->dynamics(unit, time, q + unit->first_q, v + unit->first_v, w->base.block,
                                                      w->force + unit->first_v);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
        *mass += w->base.block[0] / group->unit_count;
    }
    return CAL_OK;
}

// Springs for a body of a mass.
static void choose_springs(work* w, double mass) {
    const cal_group* group = w->group;
    double pull = sqrt(cal_dot3(group->gravity, group->gravity));
    if (pull == 0.0) pull = standard_pull;
    w->stiffness = group->stiffness > 0.0 ? group->stiffness : mass * pull / (sink * group->length);
    w->damping = group->damping > 0.0 ? group->damping : sqrt(w->stiffness / mass) / pull;
    w->creep = group->creep > 0.0 ? group->creep : 1e-3;
}

// --- Forces -----------------------------------------------------------------------------------------------------------

// A touch's force into its impulse; where base is true also what it adds to the matrix, C + γh K.
static void push_touch(const work* w, cal_contact_row* touch, const double u[3], double* spring, double gh) {
    const double depth = -touch->gap;
    double* f = touch->impulse;
    f[0] = f[1] = f[2] = 0.0;
    *spring = 0.0;
    if (!(depth > 0.0)) return;
    const double damped = 1.0 - w->damping * u[0];
    f[0] = fmax(0.0, w->stiffness * depth * damped);
    if (!(f[0] > 0.0)) return;
    const double slip = sqrt(u[1] * u[1] + u[2] * u[2]);
    double bend;
    const double ratio = tanh_over(slip / w->creep, &bend), grip = touch->friction * f[0] / w->creep;
    for (int i = 1; i < 3; i++) f[i] = -grip * ratio * u[i];
    double* G = touch->stiffness;
    memset(G, 0, sizeof touch->stiffness);
    *spring = w->stiffness * damped;
    G[0] = w->stiffness * depth * w->damping + gh * *spring;
    for (int i = 1; i < 3; i++)
        for (int k = 1; k < 3; k++) {
            const double along = slip > 0.0 ? u[i] * u[k] / (slip * slip) : 0.0;
            G[3 * i + k] = grip * (ratio * ((i == k ? 1.0 : 0.0) - along) + (1.0 - bend * bend) * along);
        }
}

// Accelerations at a time, as forces over masses, into out (M⁻¹ f).
static cal_status evaluate(work* w, cal_problem* p, cal_arena* arena, double time, const double* q, const double* v,
                           double gh, double* out, cal_error* error) {
    const cal_group* group = w->group;
    const cal_status status = cal_problem_look(p, &w->cache, time, q, v, 0.0, out, arena, error);
    if (status != CAL_OK) return status;
    for (int k = 0; k < p->row_count; k++) {
        double u[3], spring;
        cal_problem_velocity(p, &p->rows[k], v, u);
        for (int i = 0; i < 3; i++) u[i] += p->rows[k].drive[i];
        push_touch(w, &p->rows[k], u, &spring, gh);
        if (p == &w->base) w->springs[k] = spring;
    }
    cal_problem_push(p, 1.0, out);
    for (int i = 0; i < group->unit_count; i++)
        cal_dense_solve(p->mass_factor + p->mass_at[i], p->size[i], out + p->first[i]);
    return CAL_OK;
}

static cal_status find_rate(const cal_group* group, double time, const double* q, const double* v, double* out,
                            cal_error* error) {
    for (int i = 0; i < group->unit_count; i++) {
        const cal_group_member* unit = &group->units[i];
        const cal_status status = unit->ops->rate(unit, q + unit->first_q, v + unit->first_v, out + unit->first_q);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
    }
    return CAL_OK;
}

static cal_status normalize(const cal_group* group, double time, double* q, cal_error* error) {
    for (int i = 0; i < group->unit_count; i++) {
        const cal_status status = group->units[i].ops->normalize(&group->units[i], q + group->units[i].first_q);
        if (status != CAL_OK) return cal_group_unit_failed(group, i, status, time, error);
    }
    return CAL_OK;
}

// --- Steps ------------------------------------------------------------------------------------------------------------

// g of a stage from its right sides r_q, r_v, r_x.
static cal_status solve_stage(work* w, double time, const double* q, int stage, double gh, cal_error* error) {
    const cal_group* group = w->group;
    cal_problem* p = &w->base;
    for (int i = 0; i < group->unit_count; i++) { // M r_v
        const int n = p->size[i];
        const double *M = p->mass + p->mass_at[i], *x = w->r_v + p->first[i];
        for (int r = 0; r < n; r++) {
            double sum = 0.0;
            for (int c = 0; c < n; c++) sum += M[r * n + c] * x[c];
            w->right[p->first[i] + r] = sum;
        }
    }
    for (int k = 0; k < p->row_count; k++) { // − γh Jᵀ K J r_x
        const cal_contact_row* touch = &p->rows[k];
        double u[3];
        cal_problem_velocity(p, touch, w->r_x, u);
        const double push = -gh * w->springs[k] * u[0];
        for (int s = 0; s < 2; s++) {
            if (touch->unit[s] < 0) continue;
            const int n = p->size[touch->unit[s]];
            for (int c = 0; c < n; c++) w->right[p->first[touch->unit[s]] + c] += touch->jacobian[s][c] * push;
        }
    }
    memcpy(w->g_v[stage], w->right, (size_t)group->v_count * sizeof *w->right);
    cal_blocks_solve(&p->matrix, w->g_v[stage]);
    const cal_status status = find_rate(group, time, q, w->g_v[stage], w->rate, error);
    for (int i = 0; i < group->v_count; i++) w->g_x[stage][i] = gh * (w->r_x[i] + w->g_v[stage][i]);
    for (int i = 0; i < group->q_count; i++) w->g_q[stage][i] = gh * (w->r_q[i] + w->rate[i]);
    return status;
}

// One trial step; the largest error, relative to what is allowed, in *error_ratio. The result is in stage_q and stage_v.
static cal_status trial(work* w, double time, const double* q, const double* v, double h, double* error_ratio,
                        cal_error* error) {
    const cal_group* group = w->group;
    const int nq = group->q_count, nv = group->v_count;
    const double gh = gamma_ * h;
    cal_arena arena = w->rest;
    cal_status status = evaluate(w, &w->base, &arena, time, q, v, gh, w->force, error);
    if (status != CAL_OK) return status;
    cal_problem_assemble(&w->base, 1.0 / gh);
    if (!cal_blocks_factor(&w->base.matrix)) {
        *error_ratio = INFINITY;
        return CAL_OK;
    }
    for (int s = 0; s < STAGES; s++) {
        if (s == 1 || s == 2) { // the last stage shares the third one's evaluation
            for (int i = 0; i < nq; i++) {
                w->stage_q[i] = q[i];
                for (int k = 0; k < s; k++) w->stage_q[i] += a_[s][k] * w->g_q[k][i];
            }
            for (int i = 0; i < nv; i++) {
                w->stage_v[i] = v[i];
                for (int k = 0; k < s; k++) w->stage_v[i] += a_[s][k] * w->g_v[k][i];
            }
            status = normalize(group, time, w->stage_q, error);
            cal_arena behind = arena;
            if (status == CAL_OK)
                status =
                    evaluate(w, &w->stage, &behind, time + at_[s] * h, w->stage_q, w->stage_v, gh, w->force, error);
            if (status != CAL_OK) return status;
        }
        const double *sq = s == 0 ? q : w->stage_q, *sv = s == 0 ? v : w->stage_v;
        status = find_rate(group, time, sq, sv, w->r_q, error);
        if (status != CAL_OK) return status;
        for (int i = 0; i < nv; i++) {
            w->r_v[i] = w->force[i], w->r_x[i] = sv[i];
            for (int k = 0; k < s; k++) {
                w->r_v[i] += c_[s][k] * w->g_v[k][i] / h;
                w->r_x[i] += c_[s][k] * w->g_x[k][i] / h;
            }
        }
        for (int i = 0; i < nq; i++)
            for (int k = 0; k < s; k++) w->r_q[i] += c_[s][k] * w->g_q[k][i] / h;
        status = solve_stage(w, time, q, s, gh, error);
        if (status != CAL_OK) return status;
    }
    double pull = sqrt(cal_dot3(group->gravity, group->gravity));
    if (pull == 0.0) pull = standard_pull;
    // A length, and the speed of falling through it.
    const double tolerance = looseness * group->tolerance, fall = sqrt(pull * group->length);
    double worst = 0.0;
    for (int i = 0; i < nq; i++) {
        double miss = 0.0, sum = q[i];
        for (int k = 0; k < STAGES; k++) miss += e_[k] * w->g_q[k][i], sum += b_[k] * w->g_q[k][i];
        w->stage_q[i] = sum;
        worst = cal_larger(worst, fabs(miss) / (tolerance * fmin(1.0, group->length)));
    }
    for (int i = 0; i < nv; i++) {
        double miss = 0.0, sum = v[i];
        for (int k = 0; k < STAGES; k++) miss += e_[k] * w->g_v[k][i], sum += b_[k] * w->g_v[k][i];
        w->stage_v[i] = sum;
        worst = cal_larger(worst, fabs(miss) / (tolerance * (fall + fabs(v[i]))));
    }
    *error_ratio = worst;
    return normalize(group, time, w->stage_q, error);
}

static cal_status advance(const cal_group* group, cal_group_interval* interval, double* q, double* v, double* memory,
                          double* scratch, int capacity, cal_group_report* report, cal_error* error) {
    work w;
    if (!begin(&w, group, scratch, capacity, report)) {
        report->contacts = 2 * capacity + 16;
        return CAL_NO_MEMORY;
    }
    const double length = interval->end - interval->begin, left = interval->end - interval->time,
                 smallest = 1e-10 * length;
    // Springs are the same in all of an interval.
    cal_status status = CAL_OK;
    if (interval->time == interval->begin) status = mean_mass(&w, q, v, interval->time, &memory[MEAN_MASS], error);
    if (status != CAL_OK || !(left > 0.0)) return status;
    choose_springs(&w, memory[MEAN_MASS]);
    double wish = memory[STEP_SIZE] > 0.0 ? memory[STEP_SIZE] : 1e-2 * length;
    for (bool good = false; !good;) {
        double h = fmin(wish, left), ratio = INFINITY;
        const bool last = left - h < 1e-9 * length;
        status = trial(&w, interval->time, q, v, h, &ratio, error);
        if (status != CAL_OK) return status;
        good = ratio <= 1.0;
        if (!good && h <= smallest)
            return cal_fail(error, CAL_NOT_CONVERGED, "a contact group needs steps under %g s at time %g", smallest,
                            interval->time);
        const double factor = isfinite(ratio) ? 0.9 / sqrt(sqrt(fmax(ratio, 1e-4))) : 0.25;
        // The last step of an interval may have been cut short, which says nothing about the next one.
        const double next = h * fmin(2.5, fmax(0.25, factor));
        wish = good && h < wish ? fmax(wish, next) : next;
        report->rejected += !good;
        if (!good) continue;
        // To the first order: forces as they are where the step begins.
        for (int k = 0; k < w.base.row_count; k++)
            report->work -= h * cal_dot3(w.base.rows[k].impulse, w.base.rows[k].drive);
        for (int k = 0; report->impulses != NULL && k < w.base.row_count; k++) {
            const cal_contact_row* touch = &w.base.rows[k];
            for (int side = 0; side < 2; side++) report->impulses[touch->body[side]] += h * touch->impulse[0];
        }
        interval->time = last ? interval->end : interval->time + h;
    }
    memcpy(q, w.stage_q, (size_t)group->q_count * sizeof *q);
    memcpy(v, w.stage_v, (size_t)group->v_count * sizeof *v);
    report->steps++;
    memory[STEP_SIZE] = wish;
    report->contacts = w.base.row_count;
    if (interval->time < interval->end) return CAL_OK;
    status = cal_contact_cache_find(&w.cache, group, interval->time, q, 0.0, error);
    if (status != CAL_OK) return status;
    report->contacts = w.cache.count;
    for (int i = 0; i < w.cache.count; i++) report->penetration = fmax(report->penetration, -w.cache.contacts[i].gap);
    for (int i = 0; i < group->v_count; i++) report->speed = fmax(report->speed, fabs(v[i]));
    return CAL_OK;
}

const cal_group_ops cal_group_penalty = {
    .name = "penalty",
    .help = "the paper's: penalty springs, tanh friction, 4th-order Rosenbrock; no loops",
    .stores = true,
    .memory_count = memory_count,
    .sound = is_memory_sound,
    .scratch_count = scratch_count,
    .step = advance,
};
