// How free bodies move. The centre of mass is on a parabola. A body with three equal moments turns at a constant rate:
//
//     x(t) = x₀ + u₀ t + a t²/2,    q(t) = q₀ ∘ exp(ω t/2).
//
// Any other one that nothing turns has a closed form, too (free_turn.c). With a torque τ that is constant in principal axes, where its moments are I,
// and where it turns nearly about the axis of the middle moment, it follows Euler's equations,
//
//     I₁ ω̇₁ = τ₁ + (I₂ − I₃) ω₂ ω₃  (and so on in turn),    q̇ = ½ q ∘ ω.
//
// Both are polynomials in the unknowns, so the coefficients of the Taylor series follow from each other:
//
//     (n + 1) ω₁ⁿ⁺¹ = [τ₁ δₙ₀ + (I₂ − I₃) Σ ω₂ᵏ ω₃ⁿ⁻ᵏ] / I₁,    (n + 1) qⁿ⁺¹ = ½ Σ qᵏ ∘ ωⁿ⁻ᵏ.
//
// Order 20 is exact to rounding over a tenth of a turn or so. The series is at the same time the method and its dense
// output: a state at any time costs one evaluation of a polynomial. Where a series ends, a STEP begins the next one. How far
// a series reaches depends on its coefficients only, so states do not depend on the times that were asked for. The parabola goes on
// through such steps from where it began: times of impact that follow from it do not depend on how many there are so far. Rows are kept where a
// callback may push a body; others need a series once in hundreds of motions, and make it anew for each look.
#include "base/finite.h"
#include "base/memory.h"
#include "base/wide.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/group.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/rotate.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

// A series ends where its last terms are this small, relative to its first.
#define SERIES_ACCURACY 1e-16
#define LONGEST_SERIES 8.0 // rad, at the rate at which the body turns now, or is made to
// Moments that differ by less, relative, are equal to rounding: what they make turns keep changes by less than the margin in
// 10⁷ turns.
#define EQUAL 1e-14
#define MARGIN 1e-6

int cal_free_body_stride(const cal_sim_body* part) {
    if (part->round) return part->series;
    return part->series + (int)CAL_SERIES_ROWS + (part->pushed ? (int)CAL_SERIES_NUMBERS : 0);
}

static double* series_of(const cal_sim_body* part, double* data) { return data + part->series; }

// A row of the series: q (4), ω (3), and a zero.
typedef double row4 __attribute__((vector_size(32)));

// What the next coefficients need of the ones so far, four numbers at a time: q and ω with their components in the places
// where the products meet; of what is multiplied in the opposite order, n − k, the last comes first.
typedef struct columns {
    row4 q[3][CAL_SERIES];  // q ∘ i, q ∘ j, q ∘ k
    row4 left[CAL_SERIES];  // ω as (2, 3, 1)
    row4 right[CAL_SERIES]; // ω as (3, 1, 2), from the end on
    row4 w[3][CAL_SERIES];  // ω₁, ω₂ and ω₃, four times each, from the end on
} columns;

// By addresses: clang passes no vectors by value into functions of several sets of instructions.
CAL_WIDE_INLINE void add_row(columns* c, int n, const row4* q_row, const row4* w_row) {
    const row4 q = *q_row, w = *w_row;
    const int end = CAL_SERIES - 1 - n;
    c->q[0][n] = (row4){-q[1], q[0], q[3], -q[2]};
    c->q[1][n] = (row4){-q[2], -q[3], q[0], q[1]};
    c->q[2][n] = (row4){-q[3], q[2], -q[1], q[0]};
    c->left[n] = (row4){w[1], w[2], w[0], 0.0};
    c->right[end] = (row4){w[2], w[0], w[1], 0.0};
    for (int i = 0; i < 3; i++) c->w[i][end] = (row4){w[i], w[i], w[i], w[i]};
}

CAL_WIDE static void extend_series(const double inertia[3], const double torque[3], double* rows) {
    columns c;
    row4 ratios = {0}, q, w = {rows[4], rows[5], rows[6], 0.0};
    memcpy(&q, rows, sizeof q);
    for (int i = 0; i < 3; i++) ratios[i] = (inertia[(i + 1) % 3] - inertia[(i + 2) % 3]) / inertia[i];
    for (int n = 0; n < CAL_SERIES; n++) {
        const int begin = CAL_SERIES - 1 - n;
        const double factor = 1.0 / (n + 1);
        row4 products = {0}, turned = {0};
        add_row(&c, n, &q, &w);
        for (int k = 0; k <= n; k++) {
            products += c.left[k] * c.right[begin + k];
            turned += c.q[0][k] * c.w[0][begin + k] + c.q[1][k] * c.w[1][begin + k] + c.q[2][k] * c.w[2][begin + k];
        }
        q = 0.5 * factor * turned;
        w = factor * ratios * products;
        for (int i = 0; n == 0 && i < 3; i++) w[i] += torque[i] / inertia[i];
        double* next = rows + 7 * (n + 1);
        memcpy(next, &q, sizeof q);
        for (int i = 0; i < 3; i++) next[4 + i] = w[i];
    }
}

static double largest(const double* values, int count) {
    double most = 0.0;
    for (int i = 0; i < count; i++)
        if (fabs(values[i]) > most) most = fabs(values[i]);
    return most;
}

static double length_of(const double* rows, double rate) {
    const double *last = rows + 7 * CAL_SERIES, *before = last - 7;
    const double q_last = largest(last, 4), q_before = largest(before, 4);
    const double w_last = largest(last + 4, 3), w_before = largest(before + 4, 3);
    const double w_bound = SERIES_ACCURACY * largest(rows + 4, 3);
    // Coefficients fall at least as powers of the rate, over factors: some angle is short enough.
    for (double h = LONGEST_SERIES / rate;; h *= 0.75) {
        double power = 1.0;
        for (int i = 0; i < CAL_SERIES - 1; i++) power *= h;
        if (power * (q_before + h * q_last) <= SERIES_ACCURACY && power * (w_before + h * w_last) <= w_bound) return h;
        if (h * rate < LONGEST_SERIES * 1e-6) return h; // not a number
    }
}

static void set_origin(const cal_sim_body* part, double origin, double* data) {
    if (!part->round) data[part->series + (int)CAL_SERIES_ORIGIN] = origin;
}

static bool is_series(const double* series) { return series[(int)CAL_SERIES_FORM + (int)CAL_TURN_TERMS] < 0.0; }

static bool has_torque(const double* data) {
    const double* torque = data + CAL_AT_TORQUE;
    return torque[0] != 0.0 || torque[1] != 0.0 || torque[2] != 0.0;
}

// The rows of a state's series.
static void make_rows(const cal_sim_body* part, const double* data, double* rows) {
    memcpy(rows, data + CAL_AT_QUATERNION, 4 * sizeof *rows);
    memcpy(rows + 4, data + CAL_AT_ANGULAR, 3 * sizeof *rows);
    extend_series(part->inertia, data + CAL_AT_TORQUE, rows);
}

static void begin_series(const cal_sim_body* part, const double* data, double* series) {
    double made[CAL_SERIES_NUMBERS], *rows = part->pushed ? series + (int)CAL_SERIES_ROWS : made, push = 0.0;
    memset(series + CAL_SERIES_FORM, 0, (size_t)CAL_TURN_NUMBERS * sizeof *series);
    series[(int)CAL_SERIES_FORM + (int)CAL_TURN_TERMS] = -1.0;
    make_rows(part, data, rows);
    for (int i = 0; i < 3; i++) push = fmax(push, fabs(data[CAL_AT_TORQUE + i]) / part->inertia[i]);
    const double rate = sqrt(cal_dot3(data + CAL_AT_ANGULAR, data + CAL_AT_ANGULAR) + push);
    series[CAL_SERIES_LENGTH] = rate > 0.0 ? length_of(rows, rate) : (double)INFINITY;
}

// What follows from a state for its turning.
static void begin_turning(const cal_sim_body* part, const double* data, double* series) {
    series[CAL_SERIES_LENGTH] = (double)INFINITY;
    if (has_torque(data) || !cal_free_turn_begin(part->inertia, data + CAL_AT_QUATERNION, data + CAL_AT_ANGULAR,
                                                 series + (int)CAL_SERIES_FORM))
        begin_series(part, data, series);
}

// Of numbers that are about to change nothing follows yet.
static void forget_turning(const cal_sim_body* part, double* data) {
    if (part->round) return;
    double* series = series_of(part, data);
    series[CAL_SERIES_LENGTH] = 0.0;
    series[(int)CAL_SERIES_FORM + (int)CAL_TURN_TERMS] = -1.0;
}

void cal_free_body_begin(const cal_sim_body* part, double origin, double* data) {
    if (part->round) return;
    set_origin(part, origin, data);
    begin_turning(part, data, series_of(part, data));
}

void cal_free_body_note_course(cal_world* world, int component) {
    const cal_component* c = &world->components[component];
    cal_sim_body* part = &world->bodies[c->body];
    const cal_saved_state* state = cal_saved_state_at(&c->queue, c->queue.tail - 1);
    const double* data = cal_data_at(&c->queue, c->queue.tail - 1);
    part->flying = state->kind != CAL_FUSED &&
                   cal_same_bits(data + CAL_AT_ACCELERATION, world->def.gravity, sizeof world->def.gravity);
    part->course.begin = state->time;
    part->course.origin = cal_free_body_origin(part, state->time, data);
    memcpy(part->course.center, data + CAL_AT_POSITION, sizeof part->course.center);
    memcpy(part->course.velocity, data + CAL_AT_VELOCITY, sizeof part->course.velocity);
}

// Whether rows of a series are numbers as far as it goes; one that goes on for ever has none but the first.
static bool are_rows_sound(const double* rows, double length) {
    double sum = 0.0;
    if (!cal_all_finite(rows, CAL_SERIES_NUMBERS)) return false;
    if (length == (double)INFINITY) return largest(rows + 7, 7 * CAL_SERIES) == 0.0;
    for (int k = CAL_SERIES; k >= 0; k--) sum = largest(rows + 7 * k, 7) + length * sum;
    return isfinite(sum * sum);
}

// Where a group takes over as a state begins, what is kept for its turning is of another one, or of none.
static bool is_turning_sound(const cal_sim_body* part, const double* series) {
    if (!isfinite(series[CAL_SERIES_ORIGIN]) || !(series[CAL_SERIES_LENGTH] >= 0.0)) return false;
    if (!cal_free_turn_sound(series + (int)CAL_SERIES_FORM)) return false;
    return !is_series(series) || !part->pushed ||
           are_rows_sound(series + (int)CAL_SERIES_ROWS, series[CAL_SERIES_LENGTH]);
}

// Speeds are those of something whose energy is a number.
bool cal_free_body_sound(const cal_world* world, int component, const cal_saved_state* state) {
    const cal_sim_body* part = &world->bodies[world->components[component].body];
    const double* data = (const double*)(const void*)(state + 1);
    double energy = 0.0;
    for (int i = 0; i < 3; i++) {
        const double u = data[CAL_AT_VELOCITY + i], w = data[CAL_AT_ANGULAR + i];
        energy += part->mass * (u * u) + part->inertia[i] * (w * w);
    }
    if (!isfinite(energy) || !cal_all_finite(data, part->series)) return false;
    return part->round || is_turning_sound(part, data + part->series);
}

// Horner's rule for four numbers at a time: q, and the last of q with ω.
CAL_WIDE static void evaluate_rotation_series(const double* rows, double t, double q[4], double w[3]) {
    const double* row = rows + 7 * CAL_SERIES;
    row4 first, last, of_first, of_last;
    memcpy(&first, row, sizeof first);
    memcpy(&last, row + 3, sizeof last);
    while (row > rows) {
        row -= 7;
        memcpy(&of_first, row, sizeof first);
        memcpy(&of_last, row + 3, sizeof last);
        first = of_first + t * first;
        last = of_last + t * last;
    }
    memcpy(q, &first, 4 * sizeof *q);
    for (int i = 0; i < 3; i++) w[i] = last[1 + i];
    cal_quaternion_normalize(q);
}

// Position and velocity of the centre.
static void fly(const double* data, double t, double x[3], double u[3]) {
    for (int i = 0; i < 3; i++) {
        const double a = data[CAL_AT_ACCELERATION + i], v = data[CAL_AT_VELOCITY + i];
        x[i] = data[CAL_AT_POSITION + i] + t * (v + 0.5 * t * a);
        u[i] = v + t * a;
    }
}

static void turn(const cal_sim_body* part, double* data, double t, double q[4], double w[3]) {
    if (t == 0.0) { // also where the series is not made yet
        memcpy(q, data + CAL_AT_QUATERNION, 4 * sizeof *q);
        memcpy(w, data + CAL_AT_ANGULAR, 3 * sizeof *w);
        return;
    }
    if (!part->round) {
        const double *series = series_of(part, data), *rows = series + (int)CAL_SERIES_ROWS;
        double made[CAL_SERIES_NUMBERS];
        if (!is_series(series)) {
            cal_free_turn_at(series + (int)CAL_SERIES_FORM, t, q, w);
            return;
        }
        if (!part->pushed) make_rows(part, data, made), rows = made;
        evaluate_rotation_series(rows, t, q, w);
        return;
    }
    memcpy(w, data + CAL_AT_ANGULAR, 3 * sizeof *w);
    cal_quaternion_turn(data + CAL_AT_QUATERNION, w, t, q);
}

// --- What flows -----------------------------------------------------------------------------------------------------------------

static cal_flows* flows_of(const cal_sim_body* part, double* data) {
    return (cal_flows*)(void*)(data + part->series - (int)CAL_FREE_FLOWS);
}

cal_flows* cal_free_body_flows(const cal_world* world, int component, double* data) {
    return flows_of(&world->bodies[world->components[component].body], data);
}

static double turning_energy(const cal_sim_body* part, const double w[3]) {
    double sum = 0.0;
    for (int i = 0; i < 3; i++) sum += 0.5 * part->inertia[i] * w[i] * w[i];
    return sum;
}

// From a state, which has the time `begin`, to a later time: m (a − g)·Δx, and what a torque adds to the energy of turning.
static cal_flows flows_at(const cal_world* world, const cal_sim_body* part, double* data, double begin, double time) {
    const double origin = cal_free_body_origin(part, begin, data);
    double x[2][3], u[3], q[4], w[2][3], work = 0.0;
    cal_flows out = *flows_of(part, data);
    fly(data, begin - origin, x[0], u);
    fly(data, time - origin, x[1], u);
    for (int i = 0; i < 3; i++)
        work += part->mass * (data[CAL_AT_ACCELERATION + i] - world->def.gravity[i]) * (x[1][i] - x[0][i]);
    if (has_torque(data)) {
        turn(part, data, 0.0, q, w[0]);
        turn(part, data, time - begin, q, w[1]);
        work += turning_energy(part, w[1]) - turning_energy(part, w[0]);
    }
    out.work += work;
    out.moved += fabs(work);
    return out;
}

// The state of a free body that holds at a time: goes on with the series where the last one has ended.
static cal_status state_for(cal_world* world, int component, double time, int64_t* number) {
    cal_component* c = &world->components[component];
    const cal_sim_body* part = &world->bodies[c->body];
    int64_t n = cal_queue_find(&c->queue, time);
    if (n < 0) n = c->queue.head;
    while (!part->round && n + 1 == c->queue.tail) {
        double* data = cal_data_at(&c->queue, n);
        const double length = series_of(part, data)[CAL_SERIES_LENGTH], begin = cal_saved_state_at(&c->queue, n)->time,
                     end = begin + length;
        // Where one ends the next one holds, whether somebody has asked for it before or not. Of a new state it may not be made yet.
        if (time < end || time <= begin) break;
        const double origin = cal_free_body_origin(part, end, data);
        double q[4], w[3];
        turn(part, data, length, q, w);
        const cal_flows flows = flows_at(world, part, data, begin, end);
        if (cal_queue_push(world, component, CAL_STEP, end) == NULL) return CAL_NO_MEMORY;
        data = cal_data_at(&c->queue, ++n); // with the position and velocity of the one before
        memcpy(data + CAL_AT_QUATERNION, q, sizeof q);
        memcpy(data + CAL_AT_ANGULAR, w, sizeof w);
        *flows_of(part, data) = flows;
        cal_free_body_begin(part, origin, data);
        world->report.series++;
    }
    *number = n;
    return CAL_OK;
}

cal_status cal_free_body_flowed(cal_world* world, int component, double time, cal_flows* out) {
    const cal_component* c = &world->components[component];
    const cal_sim_body* part = &world->bodies[c->body];
    int64_t n = cal_queue_find(&c->queue, time);
    if (n < 0) n = c->queue.head;
    // A group is in charge, and the series does not go on.
    if (cal_saved_state_at(&c->queue, n)->kind == CAL_FUSED) {
        *out = *flows_of(part, cal_data_at(&c->queue, n));
        return CAL_OK;
    }
    const cal_status status = state_for(world, component, time, &n);
    if (status != CAL_OK) return status;
    const double begin = cal_saved_state_at(&c->queue, n)->time;
    *out = flows_at(world, part, cal_data_at(&c->queue, n), begin, fmax(begin, time));
    return CAL_OK;
}

cal_status cal_free_body_energy(cal_world* world, int component, const double* q, const double* v, double* out) {
    const cal_sim_body* part = &world->bodies[world->components[component].body];
    *out = turning_energy(part, v + 3);
    for (int i = 0; i < 3; i++) *out += part->mass * (0.5 * v[i] * v[i] - world->def.gravity[i] * q[i]);
    return CAL_OK;
}

// Acceleration and torque, which is in principal axes, stay the same on the way.
cal_status cal_free_body_work(cal_world* world, int component, const cal_member_span* span, double* out) {
    const cal_sim_body* part = &world->bodies[world->components[component].body];
    *out = 0.0;
    for (int i = 0; i < 3; i++)
        *out += part->mass * (span->extras[i] - world->def.gravity[i]) * (span->to_q[i] - span->q[i]) +
                0.5 * span->length * span->extras[3 + i] * (span->v[3 + i] + span->to_v[3 + i]);
    return CAL_OK;
}

static cal_free_view view_of(const cal_component* c, const cal_sim_body* part, int64_t n) {
    cal_free_view view = {
        .part = part, .data = cal_data_at(&c->queue, n), .begin = cal_saved_state_at(&c->queue, n)->time};
    view.origin = cal_free_body_origin(part, view.begin, view.data);
    return view;
}

cal_status cal_free_body_view(cal_world* world, int body, double time, cal_free_view* out) {
    *out = (cal_free_view){0};
    const cal_sim_body* part = &world->bodies[body];
    if (part->component < 0 || !world->components[part->component].ops->single) return CAL_OK;
    const cal_component* c = &world->components[part->component];
    int64_t n = cal_queue_find(&c->queue, time);
    if (n < 0 || cal_saved_state_at(&c->queue, n)->kind == CAL_FUSED) return CAL_OK;
    const cal_status status = state_for(world, part->component, time, &n);
    if (status == CAL_OK) *out = view_of(c, part, n);
    return status;
}

void cal_free_view_at(const cal_free_view* view, double time, bool turning, cal_motion* out) {
    fly(view->data, time - view->origin, out->pose.position, out->u);
    if (!turning) { // any orientation: a ball has none
        static const double upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        memcpy(out->pose.rotation, upright, sizeof upright);
        memset(out->w, 0, sizeof out->w);
        return;
    }
    double w[3];
    turn(view->part, view->data, time - view->begin, out->quaternion, w);
    cal_quaternion_matrix(out->quaternion, out->pose.rotation);
    cal_rotate3(out->pose.rotation, w, out->w);
}

cal_status cal_free_body_motion(cal_world* world, int component, int body, double from, double time, bool turning,
                                cal_motion* out) {
    (void)body;
    const cal_component* c = &world->components[component];
    int64_t n = cal_queue_find(&c->queue, from);
    if (n < 0) n = c->queue.head;
    // The parabola goes on whatever the series does.
    const cal_status status = turning ? state_for(world, component, from, &n) : CAL_OK;
    if (status != CAL_OK) return status;
    const cal_free_view view = view_of(c, &world->bodies[c->body], n);
    cal_free_view_at(&view, time, turning, out);
    return CAL_OK;
}

// The largest turning rate over a time. Without a torque |I ω| and ω·I ω are kept, so |ω| ≤ |L| / I₃ and |ω| ≤ √(2 T / I₃)
// with I₃ the least moment; a body with two equal moments keeps |ω| itself. With a torque L gains at most |τ| h.
static double largest_turn(const cal_sim_body* part, const double w[3], const double torque[3], double h) {
    const double* I = part->inertia;
    const double least = fmin(I[0], fmin(I[1], I[2])), tau = sqrt(cal_dot3(torque, torque));
    double momentum = 0.0, energy = 0.0;
    for (int i = 0; i < 3; i++) {
        momentum += I[i] * w[i] * I[i] * w[i];
        energy += I[i] * w[i] * w[i];
    }
    if (tau > 0.0) return (sqrt(momentum) + tau * h) / least;
    for (int i = 0; i < 3; i++)
        if (fabs(I[i] - I[(i + 1) % 3]) <= EQUAL * I[i]) return (1.0 + MARGIN) * sqrt(cal_dot3(w, w));
    return fmin(sqrt(momentum) / least, sqrt(energy / least));
}

// A body of revolution that nothing turns: how fast its axis turns, which stays the same, since Σ Iᵢ (I₃ − Iᵢ) ωᵢ² does; and the derivative of that
// vector, d × ḋ. The axis d goes about the angular momentum at a constant rate Ω and at a constant angle θ: |d × ḋ| = Ω sin θ, and |d × d̈| =
// Ω² sin θ cos θ, which is |d × ḋ| I₃ ω₃ / I₁.
static bool has_still_axis(const cal_sim_body* part, const double* data) {
    return part->symmetric > 0 && !has_torque(data);
}

static double axis_turn(const cal_sim_body* part, const double* data, double* twist) {
    const int i = part->symmetric - 1, j = (i + 1) % 3, k = (i + 2) % 3;
    const double *w = data + CAL_AT_ANGULAR, turn = (1.0 + MARGIN) * sqrt(w[j] * w[j] + w[k] * w[k]);
    const double about = part->inertia[i] / part->inertia[j] * fabs(w[i]);
    *twist = (1.0 + MARGIN) * turn * about + EQUAL * turn * turn;
    return turn;
}

// The same over a time after a state; 0 where turning does not matter. A body with equal moments has a series where a torque acts.
static double turning_bound(const cal_sim_body* part, const double* data, double h) {
    const double* w = data + CAL_AT_ANGULAR;
    const double* series = data + part->series;
    double twist;
    if (!part->spinning) return 0.0;
    if (has_still_axis(part, data)) return axis_turn(part, data, &twist);
    if (!part->round && !is_series(series)) return series[(int)CAL_SERIES_FORM + (int)CAL_TURN_FASTEST];
    return part->round ? sqrt(cal_dot3(w, w)) : largest_turn(part, w, data + CAL_AT_TORQUE, h);
}

// Euler's equations: ω̇ᵢ = τᵢ / Iᵢ + rᵢ ωⱼ ωₖ with rᵢ = (Iⱼ − Iₖ) / Iᵢ, and Σ ωⱼ² ωₖ² ≤ |ω|⁴ / 3. Of two equal moments one r is
// zero, and |ω̇| keeps its value.
static double largest_twist(const cal_sim_body* part, const double w[3], const double torque[3], double turn) {
    double most = 0.0, given = 0.0, now = 0.0;
    bool equal = false;
    for (int i = 0; i < 3; i++) {
        const double ratio = (part->inertia[(i + 1) % 3] - part->inertia[(i + 2) % 3]) / part->inertia[i];
        const double gain = torque[i] / part->inertia[i], own = ratio * w[(i + 1) % 3] * w[(i + 2) % 3];
        most = fmax(most, fabs(ratio));
        given += gain * gain;
        now += own * own;
        equal |= fabs(ratio) <= EQUAL;
    }
    if (equal && given == 0.0) return (1.0 + MARGIN) * sqrt(now) + EQUAL * turn * turn;
    return most * turn * turn * sqrt(1.0 / 3.0) + sqrt(given);
}

void cal_free_view_twist(const cal_free_view* view, const cal_motion* at, double out[3]) {
    const cal_sim_body* part = view->part;
    const double *I = part->inertia, *torque = view->data + CAL_AT_TORQUE;
    double w[3];
    out[0] = out[1] = out[2] = 0.0;
    if (part->round) return;
    cal_unrotate3(at->pose.rotation, at->w, w);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = (torque[i] + (I[j] - I[k]) * w[j] * w[k]) / I[i];
    }
    cal_rotate3(at->pose.rotation, out, out);
}

// On a parabola speed is a convex function of time.
double cal_free_view_speed(const cal_free_view* view, double from, double to, double center[3]) {
    double x[3], first[3], last[3];
    fly(view->data, from - view->origin, center, first);
    fly(view->data, to - view->origin, x, last);
    return sqrt(fmax(cal_dot3(first, first), cal_dot3(last, last))) +
           view->part->reach * turning_bound(view->part, view->data, to - view->begin);
}

// Until when the motion of a free body goes on as it does after a state: steps continue it.
static double motion_end(const cal_queue* queue, int64_t number) {
    int64_t n = number + 1;
    while (n < queue->tail && cal_saved_state_at(queue, n)->kind == CAL_STEP) n++;
    return n < queue->tail ? cal_saved_state_at(queue, n)->time : (double)INFINITY;
}

cal_status cal_free_body_bounds(cal_world* world, int component, int body, double from, double until,
                                cal_motion_bounds* out) {
    (void)body;
    int64_t n;
    const cal_status status = state_for(world, component, from, &n);
    if (status != CAL_OK) return status;
    const cal_component* c = &world->components[component];
    const cal_sim_body* part = &world->bodies[c->body];
    const double *data = cal_data_at(&c->queue, n), *series = data + part->series;
    out->begin = cal_saved_state_at(&c->queue, n)->time;
    if (!part->round) out->end = out->begin + series[CAL_SERIES_LENGTH];
    memcpy(out->acceleration, data + CAL_AT_ACCELERATION, sizeof out->acceleration);
    out->until = fmin(until, motion_end(&c->queue, n));
    out->turn = turning_bound(part, data, until - out->begin);
    out->unspun = part->spinning && has_still_axis(part, data);
    if (out->unspun)
        out->turn = axis_turn(part, data, &out->twist);
    else if (part->spinning && !part->round)
        out->twist = is_series(series) ? largest_twist(part, data + CAL_AT_ANGULAR, data + CAL_AT_TORQUE, out->turn)
                                       : series[(int)CAL_SERIES_FORM + (int)CAL_TURN_TWIST];
    return CAL_OK;
}

// What holds of the turning after a state needs no series: it follows from what the motion keeps.
bool cal_free_body_flight(const cal_world* world, int body, double from, double to, cal_flight* out) {
    const cal_sim_body* part = &world->bodies[body];
    const cal_queue* queue = &world->components[part->component].queue;
    const int64_t n = cal_queue_find(queue, from);
    if (n < 0 || cal_saved_state_at(queue, n)->kind == CAL_FUSED || motion_end(queue, n) < to) return false;
    const double *data = cal_data_at(queue, n), begin = cal_saved_state_at(queue, n)->time;
    const double origin = cal_free_body_origin(part, begin, data);
    fly(data, from - origin, out->ends[0], out->velocity);
    fly(data, to - origin, out->ends[1], out->velocity);
    memcpy(out->acceleration, data + CAL_AT_ACCELERATION, sizeof out->acceleration);
    out->turn = turning_bound(part, data, to - begin);
    return true;
}

bool cal_free_body_is_known(const cal_world* world, int body, double until) {
    const cal_sim_body* part = &world->bodies[body];
    const cal_component* c = &world->components[part->component];
    if (!c->ops->single || cal_component_is_fused(c)) return false;
    if (part->round || c->queue.tail == c->queue.head) return true;
    const int64_t last = c->queue.tail - 1;
    return until <
           cal_saved_state_at(&c->queue, last)->time + series_of(part, cal_data_at(&c->queue, last))[CAL_SERIES_LENGTH];
}

// --- States -------------------------------------------------------------------------------------------------------------------

cal_status cal_free_body_push(cal_world* world, int component, cal_saved_state_kind kind, double time,
                              cal_error* error) {
    const int body = world->components[component].body;
    cal_motion at;
    cal_flows flows;
    cal_status status = cal_body_failed(world, body, cal_body_at(world, body, time, &at), time, error);
    if (status == CAL_OK)
        status = cal_body_failed(world, body, cal_free_body_flowed(world, component, time, &flows), time, error);
    if (status == CAL_OK) status = cal_rollback_to(world, component, time, error);
    if (status != CAL_OK) return status;
    if (cal_queue_renew(world, component, kind, time) == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    const cal_queue* queue = &world->components[component].queue;
    double* data = cal_data_at(queue, queue->tail - 1);
    memcpy(data + CAL_AT_POSITION, at.pose.position, 3 * sizeof *data);
    memcpy(data + CAL_AT_VELOCITY, at.u, 3 * sizeof *data);
    memcpy(data + CAL_AT_QUATERNION, at.quaternion, 4 * sizeof *data);
    cal_unrotate3(at.pose.rotation, at.w, data + CAL_AT_ANGULAR);
    *flows_of(&world->bodies[body], data) = flows;
    set_origin(&world->bodies[body], time, data);
    forget_turning(&world->bodies[body], data);
    return CAL_OK;
}
