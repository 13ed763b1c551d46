// Next to a singular position of the constraints: four-bars that lie flat, a slider-crank's dead point.
//
// Motion goes through such a position smoothly, but rows are nearly dependent there, by a distance σ that falls to zero and rises
// again. With x the way to that position and y the way off it, constraints are x y = 0 there. Rounding leaves x y = ε, the motion
// along that is y = ε / x, and in accelerations there is noise of
//
//     ÿ = 2 ε ẋ² / x³                                        ε = 3e-15 and more, x = σ
//
// Where that is above a solver's tolerance it must not be seen: an error test that meets noise makes steps smaller, and more of
// them meet more noise. So in this zone forces are looked up on both sides, and taken from the polynomial between:
//
//     σ    \                               /
//            \                           /
//               \                     /
//     ──o─o─o─o─o──∙──∙──∙──▲──∙──∙──o─o─o─o─o──▸ time       o   evaluated, up to 11/3 of the zone from where σ is zero
//                          now                              ∙   noise
//
// Where motion will be, and was, follows from the accelerations there, by the same polynomial: a few iterations (Picard's).
//
// Velocities have noise of ε ẋ / x², positions of ε / x. Where that is above the tolerance they are not projected: what a step has
// opened is little, and is closed after the next one.
//
// Where a solver does not get through in spite of that it is helped over by a hop.
#include "base/finite.h"
#include "base/memory.h"
#include "constraint/closing.h"
#include "model/coordinates.h"
#include "solver/system_data.h"
#include <math.h>
#include <string.h>

enum { MOST_HOPS = 3 };
enum { PLACES = 10, MOST_TURNS = 6, MOST_REACHES = 8 };
// The smallest part of a zone, and by how many tolerances polynomials may differ.
static const double SMALLEST = 1e-3, MOST_DOUBT = 3.0, MOST_CURVED = 0.2;
// Two branches of a motion that pass each other at a distance c turn there, and have accelerations of c² ẋ² / x³ on their way: as noise has, with c² in
// the place of 2 ε. They are told from noise where they are a thousand times as large; noise is a thousandth of them then, and can be followed. What is
// nearer counts as a crossing: motion goes on straight, onto the other branch, of which it is 30 √(2ε) away (1e-5 at a tolerance of 1e-6).
static const double BESIDE_NOISE = 1e3;
static cal_closing closing_of(const cal_system* system) {
    return (cal_closing){.law = system->law,
                         .gain = system->def.gain,
                         .relative = system->settings.relative,
                         .absolute = system->settings.absolute,
                         .projects = system->projects,
                         .smooth = cal_system_goes_on(system)};
}

static double closed_at(const cal_system* system, double speed) {
    const cal_closing closing = closing_of(system);
    return cal_closed_at(&closing, speed);
}

// --- Projection ------------------------------------------------------------------------------------------------------

bool cal_system_is_open(cal_system* system, const double* q, const double* v) {
    system->constraints->closed = closed_at(system, cal_largest_size(v, system->model->v_count));
    cal_constraints_look(system->constraints, q, v);
    return !cal_constraints_are_closed(system->constraints);
}

void cal_system_project_step(cal_system* system, cal_along along, double* q, double* v) {
    const cal_closing closing = closing_of(system);
    cal_closing_project(&closing, system->constraints, along, q, v);
    cal_system_keep_rests(system, v);
}

// --- Looking across --------------------------------------------------------------------------------------------------

// Where the numbers of all places are: in system->forces, one after the other, after the forces themselves.
typedef struct across {
    double *forces, *acceleration; // PLACES × v_count
    double *center, *change;       // v_count
    double *tau, *control, *q, *v;
} across;

bool cal_system_create_singular(cal_system* system) {
    const size_t v_count = (size_t)system->model->v_count, q_count = (size_t)system->model->q_count;
    system->forces =
        cal_allocate((2 * PLACES + 5) * v_count + q_count + (size_t)system->model->actuator_count, sizeof(double));
    system->last.numbers = cal_allocate(3 * v_count + q_count, sizeof(double));
    system->kept = cal_allocate(v_count + q_count, sizeof(double));
    return system->forces && system->last.numbers && system->kept;
}

static across find_room(const cal_system* system) {
    const size_t v_count = (size_t)system->model->v_count;
    across a;
    a.forces = system->forces + v_count;
    a.acceleration = a.forces + PLACES * v_count;
    a.center = a.acceleration + PLACES * v_count;
    a.change = a.center + v_count;
    a.tau = a.change + v_count;
    a.v = a.tau + v_count;
    a.q = a.v + v_count;
    a.control = a.q + system->model->q_count;
    return a;
}

// Places in time, from now, and factors of the values there that give their polynomial now (center), its integral from now to each
// place, and the integral of that.
typedef struct weights {
    double place[PLACES], center[PLACES], once[PLACES][PLACES], twice[PLACES][PLACES];
    double inner[PLACES]; // center without the outermost places
} weights;

// unit: an eleventh of how far the outermost are from `middle`. Polynomials are in its powers.
static void find_weights(double middle, double unit, weights* out) {
    static const double pattern[PLACES] = {-11.0, -9.0, -7.0, -5.0, -3.0, 3.0, 5.0, 7.0, 9.0, 11.0};
    double at[PLACES];
    for (int j = 0; j < PLACES; j++) {
        at[j] = pattern[j] + middle / unit;
        out->place[j] = at[j] * unit;
    }
    for (int j = 0; j < PLACES; j++) {
        // Lagrange's polynomial of place j.
        double p[PLACES] = {1.0};
        out->inner[j] = j > 0 && j < PLACES - 1 ? 1.0 : 0.0;
        for (int m = 0, degree = 0; m < PLACES; m++) {
            if (m == j) continue;
            degree++;
            for (int i = degree; i >= 0; i--)
                p[i] = ((i > 0 ? p[i - 1] : 0.0) - (i < degree ? at[m] * p[i] : 0.0)) / (at[j] - at[m]);
            if (m > 0 && m < PLACES - 1) out->inner[j] *= -at[m] / (at[j] - at[m]);
        }
        out->center[j] = p[0];
        for (int k = 0; k < PLACES; k++) {
            double power = at[k];
            out->once[k][j] = out->twice[k][j] = 0.0;
            for (int i = 0; i < PLACES; i++) {
                out->once[k][j] += unit * p[i] * power / (i + 1);
                power *= at[k];
                out->twice[k][j] += unit * unit * p[i] * power / ((i + 1) * (i + 2));
            }
        }
    }
}

static double combine(const double* factors, const double* values, int index, int count) {
    double sum = 0.0;
    for (int j = 0; j < PLACES; j++) sum += factors[j] * values[(size_t)j * (size_t)count + (size_t)index];
    return sum;
}

// Looks at other places do not move time: where a solver asks again and again next to a singular position they are what takes long, and
// count as an evaluation (cal_headway_gets_on).
static void count_looks(cal_system* system) { system->headway.count++; }

// Evaluates at all places, with the accelerations that are known so far.
static cal_status evaluate_places(cal_system* system, const weights* w, double time) {
    count_looks(system);
    const across a = find_room(system);
    const cal_model* model = system->model;
    const int count = model->v_count;
    cal_status status = CAL_OK;
    for (int k = 0; k < PLACES && !status; k++) {
        const size_t first = (size_t)k * (size_t)count;
        for (int i = 0; i < count; i++) {
            a.v[i] = system->evaluated_v[i] + combine(w->once[k], a.acceleration, i, count);
            a.change[i] = w->place[k] * system->evaluated_v[i] + combine(w->twice[k], a.acceleration, i, count);
        }
        memcpy(a.q, system->evaluated_q, (size_t)model->q_count * sizeof(double));
        cal_model_displace(model, a.change, 1.0, a.q);
        system->constraints->time = time + w->place[k];
        cal_constraints_project(system->constraints, a.q, a.v, CAL_PROJECT_BOTH, CAL_PATIENCE_STEP);
        // Corrections converge by squares where there is something to come to: no motion leads to what stays open.
        if (!cal_constraints_are_reached(system->constraints)) return CAL_NOT_FINITE;
        status = cal_system_find_forces(system, time + w->place[k], a.q, a.v, a.forces + first, a.acceleration + first);
        if (!status && !cal_all_finite(a.acceleration + first, count)) status = CAL_NOT_FINITE;
    }
    return status;
}

// σ where the motion is `later`, going on as it does.
static double distance_at(cal_system* system, double later) {
    const across a = find_room(system);
    memcpy(a.q, system->evaluated_q, (size_t)system->model->q_count * sizeof(double));
    cal_model_displace(system->model, system->evaluated_v, later, a.q);
    system->constraints->time = system->state->time + later;
    cal_constraints_project(system->constraints, a.q, system->evaluated_v, CAL_PROJECT_POSITION, CAL_PATIENCE_STEP);
    (void)cal_constraints_rank(system->constraints);
    return cal_constraints_distance(system->constraints);
}

// Noise in accelerations is above its share of the tolerance where σ³ is below this, with σ changing by `rate`, at most as fast as
// anything moves.
static double zone_cubed_at(const cal_system* system, double speed, double rate) {
    const cal_closing closing = closing_of(system);
    return cal_zone_cubed(&closing, speed, rate);
}

// What is found out about σ near now.
typedef struct crossing {
    bool near;  // σ changes so fast that there is noise
    bool found; // it is zero at a time `when` from now, and changes by `rate` there
    double when, rate;
} crossing;

// By the parabola through σ before, now and after, with its sign after the crossing. Not where it turns before it is zero. The nearest
// places that tell are taken, for which a parabola is good.
static crossing find_crossing(cal_system* system, double distance, double zone, double speed) {
    crossing out = {.near = true};
    double step = 2.0 * fmax(distance, 0.1 * zone) / speed;
    for (int i = 0; i < MOST_REACHES; i++, step *= 2.0) {
        count_looks(system);
        const double before = distance_at(system, -step), after = distance_at(system, step);
        // A long mechanism passes singular positions by the side, and slowly, while parts of it move fast.
        const double rate = fmin(fmax(fabs(before - distance), fabs(after - distance)) / step, speed);
        out.near = distance * distance * distance < zone_cubed_at(system, speed, rate);
        if (!out.near) return out;
        if (before < 2.0 * distance || after < 2.0 * distance) {
            // Of a crossing both sides are that far off when σ has changed by three times what it is; bent, by four times.
            if (step * rate > 4.0 * distance) return out;
            continue;
        }
        const double slope = 0.5 * (before + after) / step, middle = 0.5 * (before - after);
        const double now = middle < 0.0 ? -distance : distance, curve = (middle - now) / (step * step);
        const double root = slope * slope - 4.0 * curve * now;
        if (!(root > 0.0) || fabs(middle - now) > MOST_CURVED * zone) return out;
        out.found = true;
        out.when = 2.0 * now / (slope + sqrt(root));
        out.rate = sqrt(root);
        return out;
    }
    return out;
}

// Iterations get nearer by a factor per turn, in the mean of two: places before and after now change in turns. Whether those that are left may
// bring the change below `allowed`; a polynomial settles faster in the end, by up to a hundred in what was seen.
static bool may_settle(const double* changes, int turn, double allowed) {
    if (turn < 2) return true;
    const double gain = changes[turn] / changes[turn - 2]; // of two turns
    double last = changes[turn];
    for (int left = MOST_TURNS - 1 - turn; left > 0; left -= 2) last *= gain;
    return last < 100.0 * allowed;
}

// system->forces from both sides of a crossing; `good` says whether iterations agree, and polynomials: they do not where motion passes
// a singular position by the side. noise: at the nearest places, in tolerances; polynomials that do not differ by more are good.
static cal_status interpolate(cal_system* system, const weights* w, double time, double noise, bool* good) {
    const across a = find_room(system);
    const int count = system->model->v_count;
    memset(a.center, 0, (size_t)count * sizeof(double));
    memset(a.acceleration, 0, PLACES * (size_t)count * sizeof(double));
    double changes[MOST_TURNS];
    for (int turn = 0; turn < MOST_TURNS && !*good; turn++) {
        const cal_status status = evaluate_places(system, w, time);
        if (status) return status == CAL_NOT_FINITE ? CAL_OK : status;
        double change = 0.0, doubt = 0.0;
        for (int i = 0; i < count; i++) {
            const double now = combine(w->center, a.acceleration, i, count);
            const double allowed = system->settings.relative * fabs(system->evaluated_v[i]) + system->settings.absolute;
            change = fmax(change, fabs(now - a.center[i]) / allowed);
            doubt = fmax(doubt, fabs(now - combine(w->inner, a.acceleration, i, count)) / allowed);
            a.center[i] = now;
        }
        const bool settled = change < fmax(1.0, noise);
        // Beyond what the iterations still change they do not bring polynomials together.
        if ((settled || doubt > change) && doubt > fmax(MOST_DOUBT, noise)) return CAL_OK;
        changes[turn] = change;
        if (!settled && !may_settle(changes, turn, fmax(1.0, noise))) return CAL_OK;
        *good = settled;
    }
    for (int i = 0; i < count && *good; i++) system->forces[i] = combine(w->center, a.forces, i, count);
    return CAL_OK;
}

// ∛x for x between 0 and 1, with the same bits everywhere.
static double cube_root(double x) {
    double root = 1.0;
    for (int i = 0; i < 60; i++) root = (2.0 * root + x / (root * root)) / 3.0;
    return root;
}

static double zone_cubed(const cal_system* system, double speed) { return zone_cubed_at(system, speed, speed); }

bool cal_system_is_near(const cal_system* system) {
    const cal_closing closing = closing_of(system);
    return cal_closing_is_near(&closing, system->constraints, system->evaluated_v);
}

bool cal_system_looks_near(const cal_system* system) {
    return cal_system_is_near(system) &&
           !(system->calm_reach > 0.0 && fabs(system->state->time - system->calm_time) <= system->calm_reach);
}

bool cal_system_changes_near(cal_system* system, const double* accelerations) {
    if (!cal_system_looks_near(system)) return false;
    const across a = find_room(system);
    const cal_closing closing = closing_of(system);
    const cal_closing_room room = {a.change, a.q};
    for (int i = 0; i < system->model->v_count; i++) a.center[i] = accelerations[i];
    system->calm_time = system->state->time;
    return cal_closing_changes_near(&closing, system->constraints, system->evaluated_q, system->evaluated_v, a.center,
                                    &room, &system->calm_reach);
}

// Whether accelerations here are others than what was interpolated, a.center, by more than noise is: motion passes the singular position by the
// side, and turns. Then forces are those here.
static cal_status find_beside(cal_system* system, double time, double distance, double rate, double speed,
                              bool* beside) {
    const across a = find_room(system);
    const cal_closing closing = closing_of(system);
    const size_t count = (size_t)system->model->v_count;
    double *here = system->qdd + count, *forces = here + count, change = 0.0;
    const cal_status status =
        cal_system_find_forces(system, time, system->evaluated_q, system->evaluated_v, forces, here);
    if (status) return status;
    for (size_t i = 0; i < count; i++) change = fmax(change, fabs(here[i] - a.center[i]));
    *beside = change > BESIDE_NOISE * cal_noise_cubed(&closing, speed, rate) / (distance * distance * distance);
    if (*beside) memcpy(system->forces, forces, count * sizeof *forces);
    return CAL_OK;
}

cal_status cal_system_interpolate_singular(cal_system* system, double time) {
    const cal_model* model = system->model;
    if (!cal_system_is_near(system)) return CAL_OK;
    const double speed = cal_largest_size(system->evaluated_v, model->v_count),
                 distance = cal_constraints_distance(system->constraints);
    const double zone = fmin(cube_root(fmin(zone_cubed(system, speed), 1.0)), CAL_WIDEST_ZONE);
    const crossing at = find_crossing(system, distance, zone, speed);
    if (at.near) cal_system_note_near(system, time, distance, 0);
    if (!at.found) return CAL_OK;
    const across a = find_room(system);
    const size_t count = (size_t)model->v_count, controls = (size_t)model->actuator_count;
    memcpy(a.tau, system->changed_tau, count * sizeof(double));
    memcpy(a.control, system->changed_control, controls * sizeof(double));
    weights w;
    const double least = fmax(distance, SMALLEST * zone);
    bool good = false;
    cal_status status = CAL_OK;
    // Where motion changes too fast for the polynomial nearer places are better, which have more noise.
    for (double size = zone; !status && !good && size > least; size *= 0.5) {
        const double noise = CAL_NOISE_SHARE * zone_cubed(system, speed) / (size * size * size);
        find_weights(at.when, size / (3.0 * at.rate), &w);
        status = interpolate(system, &w, time, noise, &good);
    }
    bool beside = false;
    if (!status && good) status = find_beside(system, time, distance, at.rate, speed, &beside);
    memcpy(system->changed_tau, a.tau, count * sizeof(double));
    memcpy(system->changed_control, a.control, controls * sizeof(double));
    return status;
}

// --- Starts ----------------------------------------------------------------------------------------------------------

// So far beside a singular position, radians or metres, rows are left by about as much: a thousand times what counts as nothing.
static const double BESIDE = 1e-3;

// Rows that depend on others here, and do not where the accelerations lead to, are of second order along a motion that begins at rest: (q̈ᵀ ∇²φ q̈) t⁴ / 8.
// They say nothing about q̈, and it must be none that they allow.
cal_status cal_system_look_beside(cal_system* system, bool* undecided) {
    cal_constraints* set = system->constraints;
    const cal_model* model = system->model;
    double *q = system->raw, *a = system->qdd + model->v_count;
    const int rank = set->rank;
    *undecided = false;
    if (rank == set->row_count || cal_largest_size(system->v, model->v_count) > 0.0) return CAL_OK;
    const cal_status status = cal_system_find_forces(system, system->time, system->q, system->v, system->forces, a);
    const double size = status ? 0.0 : cal_largest_size(a, model->v_count);
    if (status || !(size > 0.0 && isfinite(size))) return status;
    memcpy(q, system->q, (size_t)model->q_count * sizeof *q);
    cal_model_displace(model, a, BESIDE / size, q);
    set->closed = closed_at(system, 0.0);
    cal_constraints_project(set, q, system->v, CAL_PROJECT_POSITION, CAL_PATIENCE_STEP);
    *undecided = cal_constraints_rank(set) > rank;
    return CAL_OK;
}

// --- Hops ------------------------------------------------------------------------------------------------------------

static double find_hop(const cal_system* system, const double* v) { return cal_find_hop(v, system->model->v_count); }

bool cal_system_stuck(cal_system* system, cal_status status) {
    if (!system->projects || system->opened != CAL_NONE || system->headway.lost ||
        (status && status != CAL_NOT_CONVERGED))
        return false;
    cal_progress progress = {system->progress, system->attempts};
    if (cal_progress_count(&progress, system->decision.time, system->evaluated_v, system->model->v_count))
        system->singularities = 0;
    system->progress = progress.time, system->attempts = progress.attempts;
    const bool limited = system->def.evaluation_limit > 0 && system->spent >= system->def.evaluation_limit;
    // Far from singular positions a solver that crawls has other reasons, and a hop would only hide them.
    return (status || system->attempts > CAL_MOST_ATTEMPTS) && system->singularities < MOST_HOPS && !limited &&
           (system->passage.near || system->passage.open ||
            cal_constraints_distance(system->constraints) < CAL_WIDEST_ZONE);
}

// One step of Heun's method from (q, v) with accelerations a, then a second time with those at its end.
static cal_status step_over(cal_system* system, double time, double step, const double* q, const double* v,
                            const double* a) {
    const cal_model* model = system->model;
    const size_t q_count = (size_t)model->q_count;
    double *later = system->qdd + model->v_count, *change = system->qdd + 2 * model->v_count;
    for (int turn = 0; turn < 2; turn++) {
        const double* other = turn == 0 ? a : later;
        for (int i = 0; i < model->v_count; i++) {
            // q by the cubic through both velocities and accelerations.
            system->evaluated_v[i] = v[i] + 0.5 * step * (a[i] + other[i]);
            change[i] = step * (0.5 * (v[i] + system->evaluated_v[i]) + step * (a[i] - other[i]) / 12.0);
        }
        memcpy(system->evaluated_q, q, q_count * sizeof(double));
        cal_model_displace(model, change, 1.0, system->evaluated_q);
        system->constraints->time = time + step;
        cal_constraints_project(system->constraints, system->evaluated_q, system->evaluated_v, CAL_PROJECT_BOTH,
                                CAL_PATIENCE_STEP);
        if (turn == 1) return CAL_OK;
        const cal_status status = cal_system_find_forces(system, time + step, system->evaluated_q, system->evaluated_v,
                                                         system->forces, later);
        if (status) return status;
    }
    return CAL_OK;
}

// What a hop may add to the energy: as much as velocities within the tolerance do, and its own error. That is of the third power where motion is
// smooth, with factors of up to 25 in what was seen; one of more than the second power says that it is not. Motion passes by the side there, around
// a corner that a hop would cut.
static double most_gained(const cal_system* system, const double* v, double kinetic) {
    const double speed = cal_largest_size(v, system->model->v_count);
    return kinetic * (system->settings.relative + system->settings.absolute / speed + CAL_HOP * CAL_HOP);
}

cal_status cal_system_step_over_singularity(cal_system* system, double time, cal_status failed) {
    const cal_model* model = system->model;
    const double from = system->decision.time;
    double *q = system->raw, *v = q + model->q_count, *a = find_room(system).center;
    // After an attempt that failed vectors[0] is where it began, whatever the solver.
    cal_status status = cal_state_bring(system->state, CAL_HELD_VECTORS);
    if (!status) status = cal_plan_gather(system->plan, system->vectors[0], q, v);
    if (status) return status;
    system->constraints->time = from;
    cal_constraints_project(system->constraints, q, v, CAL_PROJECT_BOTH, CAL_PATIENCE_STEP);
    const double step = find_hop(system, v);
    status = cal_system_find_forces(system, from, q, v, system->forces, a);
    cal_system_note_near(system, from, cal_constraints_distance(system->constraints), 1);
    system->stepped_over = !status && from + step >= time;
    if (!status) status = step_over(system, from, system->stepped_over ? time - from : step, q, v, a);
    if (!status &&
        !(cal_all_finite(system->evaluated_q, model->q_count) && cal_all_finite(system->evaluated_v, model->v_count)))
        status = CAL_NOT_FINITE;
    double before[2], after[2];
    if (!status) status = cal_system_find_energy(system, q, v, before);
    if (!status) status = cal_system_find_energy(system, system->evaluated_q, system->evaluated_v, after);
    if (status) return status;
    // What the step did to the energy that nothing else did: it is none of the solver's.
    const double taken = system->stepped_over ? time - from : step, *power = system->flow.memory.power;
    const double flowed = taken * (power[CAL_FLOW_WORK] - power[CAL_FLOW_LOSS] + power[CAL_FLOW_CLOSING]);
    const double gained = (after[0] + after[1]) - (before[0] + before[1]) - flowed;
    system->singularities++;
    system->attempts = 0;
    if (!(fabs(gained) <= most_gained(system, v, before[0] + after[0]))) {
        system->stepped_over = false;
        return failed;
    }
    cal_flow_step_over(&system->flow, taken, gained);
    system->running = !system->stepped_over;
    if (system->stepped_over) return CAL_OK;
    cal_layout_scatter(system->plan->layout, 0, system->evaluated_q, system->evaluated_v, system->vectors[0]);
    cal_state_changed(system->state, CAL_HELD_FIRST);
    system->ops->start(system->memory, &system->settings, from + step, system->down, &system->decision);
    system->calm_reach = 0.0;
    system->interpolates = false;
    double* const numbers = system->last.numbers;
    const size_t q_count = (size_t)model->q_count, v_count = (size_t)model->v_count;
    system->last.valid = true, system->last.previous = system->last.from = from, system->last.step = step;
    memcpy(numbers, q, (q_count + v_count) * sizeof(double));
    memcpy(numbers + q_count + v_count, a, v_count * sizeof(double));
    memcpy(numbers + q_count + 2 * v_count, system->qdd + v_count, v_count * sizeof(double));
    return CAL_OK;
}

void cal_system_sample_step_over(cal_system* system, double time) {
    const cal_model* model = system->model;
    const cal_step_over* last = &system->last;
    const double *q = last->numbers, *v = q + model->q_count, *a = v + model->v_count, *b = a + model->v_count;
    const double s = time - last->from, h = last->step;
    double* change = system->qdd + 2 * model->v_count;
    for (int i = 0; i < model->v_count; i++) {
        const double slope = (b[i] - a[i]) / h;
        system->evaluated_v[i] = v[i] + s * (a[i] + 0.5 * s * slope);
        change[i] = s * (v[i] + s * (0.5 * a[i] + s * slope / 6.0));
    }
    memcpy(system->evaluated_q, q, (size_t)model->q_count * sizeof(double));
    cal_model_displace(model, change, 1.0, system->evaluated_q);
}
