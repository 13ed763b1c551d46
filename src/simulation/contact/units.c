// A free body as a unit of a group: q is the centre and the quaternion of the principal axes, v the centre's velocity in the
// world and the angular velocity in the principal axes. The mass matrix is diag(m, m, m, I), constant. One of revolution that spins fast is
// followed in a frame that does not (unspun.h), which takes the place of the principal axes in a step.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/contact/unspun.h"
#include "simulation/motion/curve.h"
#include "simulation/motion/rotate.h"
#include "simulation/world.h"
#include <string.h>

// Reads what the user set from a state.
typedef struct cal_free_member {
    const cal_world* world;
    int body;
    bool spinning;  // how it is turned matters
    bool unspun;    // in the step that is taken, axes do not spin with it
    double turn[4]; // how it was turned in them when it began
    const double* extras;
} cal_free_member;

static const cal_free_member* self_of(const cal_group_member* unit) { return unit->self; }

static const cal_sim_body* part_of(const cal_free_member* self) { return &self->world->bodies[self->body]; }

// Angular velocity of the axes.
static void axes_rate(const cal_free_member* self, const double* v, double out[3]) {
    if (self->unspun)
        cal_unspun_rate(part_of(self), v + 3, out);
    else
        memcpy(out, v + 3, 3 * sizeof *out);
}

static cal_status free_poses(const cal_group_member* unit, const double* q, double* poses) {
    (void)unit;
    memcpy(poses, q, 7 * sizeof *q);
    return CAL_OK;
}

static cal_status free_dynamics(const cal_group_member* unit, double time, const double* q, const double* v,
                                double* mass, double* force) {
    (void)time;
    (void)q;
    const cal_free_member* self = self_of(unit);
    const cal_sim_body* part = part_of(self);
    memset(mass, 0, 36 * sizeof *mass);
    double momentum[3], turning[3];
    for (int i = 0; i < 3; i++) {
        mass[7 * i] = part->mass;
        mass[7 * (i + 3)] = part->inertia[i];
        force[i] = part->mass * self->extras[i];
        momentum[i] = part->inertia[i] * v[3 + i];
    }
    cal_cross3(v + 3, momentum, turning);
    for (int i = 0; i < 3; i++) force[3 + i] = self->extras[3 + i] - turning[i];
    if (!self->unspun) return CAL_OK;
    cal_unspun_torque(part, v + 3, turning);
    for (int i = 0; i < 3; i++) force[3 + i] = self->extras[3 + i] + turning[i];
    return CAL_OK;
}

// x of A x = b, rows; Cramer's rule.
static void solve3(const double A[9], const double b[3], double x[3]) {
    double c[3][3];
    for (int i = 0; i < 3; i++) cal_cross3(A + 3 * ((i + 1) % 3), A + 3 * ((i + 2) % 3), c[i]);
    const double determinant = cal_dot3(A, c[0]);
    for (int i = 0; i < 3; i++) x[i] = (b[0] * c[0][i] + b[1] * c[1][i] + b[2] * c[2][i]) / determinant;
}

// The midpoint rule of I ω̇ = I ω × ω, which neither gains nor loses: I (x − ω) = h/2 I x × x, and 2 x − ω after the step. What Newton's
// method leaves of that is made good by the length.
static void turn_freely(const double I[3], double h, double w[3]) {
    enum { NEWTON = 4 };
    double x[3], before = 0.0, after = 0.0;
    memcpy(x, w, sizeof x);
    for (int k = 0; k < NEWTON; k++) {
        double A[9], rest[3], step[3];
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3, l = (i + 2) % 3; // (I x × x)_i = (I_j − I_l) x_j x_l
            const double half = 0.5 * h * (I[j] - I[l]);
            A[3 * i + i] = I[i], A[3 * i + j] = -half * x[l], A[3 * i + l] = -half * x[j];
            rest[i] = half * x[j] * x[l] - I[i] * (x[i] - w[i]);
        }
        solve3(A, rest, step);
        for (int i = 0; i < 3; i++) x[i] += step[i];
    }
    for (int i = 0; i < 3; i++) {
        x[i] = 2.0 * x[i] - w[i];
        before += I[i] * w[i] * w[i], after += I[i] * x[i] * x[i];
    }
    if (!(before > 0.0 && isfinite(after))) return;
    for (int i = 0; i < 3; i++) w[i] = sqrt(before / after) * x[i];
}

static void free_gyrate(const cal_group_member* unit, const double* v, double h, int parts, double* target) {
    const cal_free_member* self = self_of(unit);
    const double* I = self->world->bodies[self->body].inertia;
    double w[3], momentum[3], turning[3];
    if (self->unspun) cal_unspun_nutate(part_of(self), v + 3, h, target + 3);
    if (self->unspun || (I[0] == I[1] && I[1] == I[2])) return;
    memcpy(w, v + 3, sizeof w);
    for (int i = 0; i < 3; i++) momentum[i] = I[i] * w[i];
    cal_cross3(momentum, w, turning);
    for (int k = 0; k < parts; k++) turn_freely(I, h / parts, w);
    for (int i = 0; i < 3; i++) target[3 + i] += w[i] - (v[3 + i] + h * turning[i] / I[i]);
}

static cal_status free_jacobian(const cal_group_member* unit, const double* q, int body, const double point[3],
                                double* jacobian) {
    (void)unit;
    (void)body;
    double R[9], arm[3];
    cal_quaternion_matrix(q + 3, R);
    for (int i = 0; i < 3; i++) arm[i] = point[i] - q[i];
    memset(jacobian, 0, 18 * sizeof *jacobian);
    for (int k = 0; k < 3; k++) {
        // ω = R e_k moves the point by ω × r.
        const double axis[3] = {R[k], R[3 + k], R[6 + k]};
        double velocity[3];
        cal_cross3(axis, arm, velocity);
        jacobian[6 * k + k] = 1.0;
        for (int i = 0; i < 3; i++) jacobian[6 * i + 3 + k] = velocity[i];
    }
    return CAL_OK;
}

static cal_status free_displace(const cal_group_member* unit, const double* q, const double* v, double time,
                                double* out) {
    double w[3];
    axes_rate(self_of(unit), v, w);
    for (int i = 0; i < 3; i++) out[i] = q[i] + time * v[i];
    cal_quaternion_turn(q + 3, w, time, out + 3);
    return CAL_OK;
}

static cal_status free_rate(const cal_group_member* unit, const double* q, const double* v, double* rate) {
    double w[3];
    axes_rate(self_of(unit), v, w);
    const double half[4] = {0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    memcpy(rate, v, 3 * sizeof *v);
    cal_quaternion_multiply(q + 3, half, rate + 3);
    return CAL_OK;
}

static cal_status free_normalize(const cal_group_member* unit, double* q) {
    (void)unit;
    cal_quaternion_normalize(q + 3);
    return CAL_OK;
}

static double free_speed(const cal_group_member* unit, const double* v, double size) {
    (void)unit;
    return sqrt(cal_dot3(v, v)) + size * sqrt(cal_dot3(v + 3, v + 3));
}

// --- Without spin -------------------------------------------------------------------------------------------------------------

static bool is_unspun(const cal_free_member* self, const cal_world* world, const double* v, const double* extras) {
    return cal_is_unspun(&world->bodies[self->body], world->def.group_rate, v + 3, extras + 3);
}

static double free_unspin(const cal_group_member* unit, double* q, double* v) {
    cal_free_member* self = unit->self;
    self->unspun = is_unspun(self, self->world, v, self->extras);
    if (!self->unspun) return 0.0;
    cal_unspun_begin(part_of(self), q + 3, v + 3, self->turn);
    return cal_unspun_nutation(part_of(self), v + 3);
}

static void free_respin(const cal_group_member* unit, const double turned[3], double* q, double* v, double* bow) {
    cal_free_member* self = unit->self;
    if (self->unspun && q != NULL) cal_unspun_end(part_of(self), self->turn, turned, q + 3, v + 3, bow + 3);
    self->unspun = false;
}

static void free_sweep(const cal_group_member* unit, double* v) {
    const cal_free_member* self = self_of(unit);
    if (self->unspun) cal_unspun_rate(part_of(self), v + 3, v + 3);
}

// --- Between two states -------------------------------------------------------------------------------------------------------

enum { FREE_ROWS = 7 }; // position and quaternion

// Whether the axes of a way are those of its frame without spin.
static bool is_way_unspun(const cal_group_member* unit, const cal_member_span* s) {
    const cal_free_member* self = self_of(unit);
    if (s->to_q == NULL || s->world == NULL) return s->to_q != NULL && self->unspun;
    return is_unspun(self, s->world, s->v, s->extras);
}

static const cal_sim_body* part_on(const cal_group_member* unit, const cal_member_span* s) {
    return &(s->world != NULL ? s->world : self_of(unit)->world)->bodies[self_of(unit)->body];
}

static void find_unspun(const cal_group_member* unit, const cal_member_span* s, cal_unspun_way* out) {
    cal_unspun_find(part_on(unit, s), s->q + 3, s->v + 3, s->to_q + 3, s->to_v + 3, s->length, s->straight, out);
}

// Constant speeds from one place to another. Of a turn by θ, s = sin(θ/2) is known, and θ/2 = s + s³/6 + 3 s⁵/40 + …, which leaves
// 1e-7 of a tenth of a turn.
static void mean_speeds(const double* q, const double* r, double length, double out[6]) {
    const double back[4] = {q[3], -q[4], -q[5], -q[6]};
    double turn[4];
    for (int i = 0; i < 3; i++) out[i] = (r[i] - q[i]) / length;
    cal_quaternion_multiply(back, r + 3, turn);
    const double sign = turn[0] < 0.0 ? -1.0 : 1.0, square = cal_dot3(turn + 1, turn + 1);
    const double factor = 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0 + square * 15.0 / 336.0));
    for (int i = 0; i < 3; i++) out[3 + i] = 2.0 * sign * factor * turn[1 + i] / length;
}

// The cubics of a free body's position, and of its quaternion where that matters; of one without spin that of its frame.
static void fit(const cal_group_member* unit, const cal_member_span* s, bool turning, const cal_unspun_way* unspun,
                double rows[FREE_ROWS][CAL_CUBIC_TERMS]) {
    double speeds[2][6], frame[7];
    const double *q = s->q, *r = s->to_q;
    if (unspun != NULL) {
        memcpy(frame, r, 3 * sizeof *r);
        memcpy(frame + 3, unspun->frame, sizeof unspun->frame);
        r = frame;
    }
    if (s->straight) {
        mean_speeds(q, r, s->length, speeds[0]);
        memcpy(speeds[1], speeds[0], sizeof speeds[1]);
    } else {
        memcpy(speeds[0], s->v, sizeof speeds[0]);
        memcpy(speeds[1], s->to_v, sizeof speeds[1]);
    }
    for (int end = 0; unspun != NULL && !s->straight && end < 2; end++)
        memcpy(speeds[end] + 3, unspun->w[end], sizeof unspun->w[end]);
    for (int i = 0; s->bow != NULL && i < 6; i++) speeds[0][i] += s->bow[i], speeds[1][i] -= s->bow[i];
    for (int end = 0; unspun != NULL && end < 2; end++)
        cal_unspun_rate(part_on(unit, s), speeds[end] + 3, speeds[end] + 3);
    const double *v = speeds[0], *u = speeds[1];
    for (int i = 0; i < 3; i++) cal_curve_hermite(s->length, q[i], v[i], r[i], u[i], rows[i]);
    if (turning) cal_curve_hermite_quaternion(s->length, q + 3, v + 3, r + 3, u + 3, rows[3], CAL_CUBIC_TERMS);
}

static cal_status free_motion(const cal_group_member* unit, int body, const cal_member_span* s, cal_motion* out) {
    (void)body;
    const double *q = s->q, *v = s->v;
    double w[3];
    cal_unspun_way way;
    const bool unspun = !s->unturned && is_way_unspun(unit, s);
    if (unspun) find_unspun(unit, s, &way);
    if (s->to_q == NULL) {
        memcpy(out->pose.position, q, 3 * sizeof *q);
        memcpy(out->quaternion, q + 3, 4 * sizeof *q);
        memcpy(out->u, v, 3 * sizeof *v);
        memcpy(w, v + 3, 3 * sizeof *v);
        for (int i = 0; i < 3; i++) out->pose.position[i] += s->t * v[i];
    } else {
        double rows[FREE_ROWS][CAL_CUBIC_TERMS];
        fit(unit, s, !s->unturned, unspun ? &way : NULL, rows);
        for (int i = 0; i < 3; i++) {
            out->pose.position[i] = cal_curve_at(rows[i], CAL_CUBIC, s->t / s->length, &out->u[i]);
            out->u[i] /= s->length;
        }
        if (!s->unturned)
            cal_curve_quaternion_at(rows[3], CAL_CUBIC_TERMS, CAL_CUBIC, s->length, s->t, out->quaternion, w);
    }
    if (s->unturned) {
        static const double upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        memcpy(out->pose.rotation, upright, sizeof upright);
        memset(out->w, 0, sizeof out->w);
        return CAL_OK;
    }
    cal_quaternion_matrix(out->quaternion, out->pose.rotation);
    if (unspun && s->world != NULL) {
        double turn[4], more[3];
        cal_unspun_at(&way, s->t, turn, more);
        for (int i = 0; i < 3; i++) w[i] += more[i];
        cal_rotate3(out->pose.rotation, w, out->w);
        cal_quaternion_multiply(out->quaternion, turn, out->quaternion);
        cal_quaternion_normalize(out->quaternion);
        cal_quaternion_matrix(out->quaternion, out->pose.rotation);
        return CAL_OK;
    }
    cal_rotate3(out->pose.rotation, w, out->w);
    return CAL_OK;
}

static cal_status free_state(const cal_group_member* unit, const cal_member_span* s, double* q, double* v) {
    cal_motion at;
    const cal_status status = free_motion(unit, 0, s, &at);
    memcpy(q, at.pose.position, 3 * sizeof *q);
    memcpy(q + 3, at.quaternion, 4 * sizeof *q);
    memcpy(v, at.u, 3 * sizeof *v);
    cal_unrotate3(at.pose.rotation, at.w, v + 3);
    return status;
}

// The acceleration on a cubic is linear: its mean, and half of the way from one end to the other.
static void free_bounds(const cal_group_member* unit, const cal_member_span* s, double* out) {
    const bool spinning = self_of(unit)->spinning;
    double rows[FREE_ROWS][CAL_CUBIC_TERMS], half[3];
    cal_unspun_way way;
    const bool unspun = spinning && is_way_unspun(unit, s);
    if (unspun) find_unspun(unit, s, &way);
    fit(unit, s, spinning, unspun ? &way : NULL, rows);
    const double scale = 6.0 / (s->length * s->length);
    for (int i = 0; i < 3; i++) {
        const double *b = rows[i], begin = scale * (b[0] - 2.0 * b[1] + b[2]), end = scale * (b[1] - 2.0 * b[2] + b[3]);
        half[i] = 0.5 * (end - begin);
        out[i] = 0.5 * (begin + end);
    }
    out[3] = sqrt(cal_dot3(half, half));
    out[4] = out[5] = 0.0;
    if (spinning) cal_curve_turning(rows[3], CAL_CUBIC_TERMS, CAL_CUBIC, s->length, &out[4], &out[5]);
}

// Three speeds a share of the way from one to another, of a length whose square in the norm of `weight` is in proportion to the way, and
// `more` than that. Returns what of that there is no room for.
static double blend(const double* from, const double* to, const double* weight, double share, double more,
                    double out[3]) {
    double square = 0.0, wanted = more;
    for (int i = 0; i < 3; i++) {
        out[i] = (1.0 - share) * from[i] + share * to[i];
        square += weight[i] * out[i] * out[i];
        wanted += weight[i] * ((1.0 - share) * from[i] * from[i] + share * to[i] * to[i]);
    }
    const double factor = square > 0.0 && wanted > 0.0 ? sqrt(wanted / square) : 0.0;
    for (int i = 0; i < 3; i++) out[i] *= factor;
    return fmin(wanted, 0.0);
}

static cal_status free_shown_numbers(const cal_group_member* unit, const cal_world* world, const cal_member_span* s,
                                     double* v) {
    const cal_sim_body* part = &world->bodies[self_of(unit)->body];
    const double share = s->t / s->length, m[3] = {part->mass, part->mass, part->mass};
    if (!(s->t > 0.0)) {
        memcpy(v, s->v, 6 * sizeof *v);
        return CAL_OK;
    }
    bool bowed = false;
    for (int i = 0; s->bow != NULL && !bowed && i < 6; i++) bowed = s->bow[i] != 0.0;
    double q[7];
    if (!s->straight && !bowed) return free_state(unit, s, q, v);
    // What a bow lifts is slower for it.
    const double aside = s->bow != NULL ? cal_dot3(world->def.gravity, s->bow) * s->t * (1.0 - share) : 0.0;
    const double left = blend(s->v, s->to_v, m, share, 2.0 * part->mass * aside, v);
    if (!is_way_unspun(unit, s)) {
        blend(s->v + 3, s->to_v + 3, part->inertia, share, left, v + 3);
        return CAL_OK;
    }
    cal_unspun_way way;
    double turn[4], more[3], R[9];
    find_unspun(unit, s, &way);
    blend(way.w[0], way.w[1], part->inertia, share, left, v + 3);
    cal_unspun_at(&way, s->t, turn, more);
    cal_quaternion_matrix(turn, R);
    cal_unrotate3(R, v + 3, v + 3);
    return CAL_OK;
}

static cal_status free_shown_speeds(const cal_group_member* unit, const cal_world* world, int body,
                                    const cal_member_span* s, cal_motion* motion) {
    (void)body;
    double v[6];
    const cal_status status = free_shown_numbers(unit, world, s, v);
    memcpy(motion->u, v, sizeof motion->u);
    cal_rotate3(motion->pose.rotation, v + 3, motion->w);
    return status;
}

// --- The unit -----------------------------------------------------------------------------------------------------------------

static void free_use(const cal_group_member* unit, const cal_world* world, const double* extras) {
    cal_free_member* self = unit->self;
    self->world = world;
    self->extras = extras;
}

static void free_end(const cal_group_member* unit) { cal_free(unit->self); }

const cal_group_member_ops cal_free_member_ops = {.poses = free_poses,
                                                  .dynamics = free_dynamics,
                                                  .gyrate = free_gyrate,
                                                  .jacobian = free_jacobian,
                                                  .displace = free_displace,
                                                  .rate = free_rate,
                                                  .normalize = free_normalize,
                                                  .speed = free_speed,
                                                  .unspin = free_unspin,
                                                  .respin = free_respin,
                                                  .sweep = free_sweep,
                                                  .is_unspun = is_way_unspun,
                                                  .motion = free_motion,
                                                  .state = free_state,
                                                  .bounds = free_bounds,
                                                  .shown_numbers = free_shown_numbers,
                                                  .shown_speeds = free_shown_speeds,
                                                  .use = free_use,
                                                  .end = free_end};

cal_status cal_free_body_member(const cal_world* world, int component, cal_group_member* out, cal_error* error) {
    cal_free_member* self = cal_allocate(1, sizeof *self);
    if (self == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    self->body = world->components[component].body;
    self->spinning = world->bodies[self->body].spinning;
    *out = (cal_group_member){.ops = &cal_free_member_ops,
                              .self = self,
                              .q_count = 7,
                              .v_count = 6,
                              .body_count = 1,
                              .extras_count = 6 + world->bodies[self->body].def.slots,
                              .lengths = 3};
    return CAL_OK;
}
