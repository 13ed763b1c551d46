#include "simulation/contact/unspun.h"
#include "math/rotation_vector.h"
#include "simulation/motion/curve.h"
#include "simulation/motion/rotate.h"
#include <math.h>
#include <string.h>

static const double turn_of_circle = 6.283185307179586;
// rad, between two checks: steps resolve single radians (group_implicit.c), so that more need more steps.
static const double most_resolved = 1.0;

static bool is_ball(const cal_sim_body* part) { return !part->spinning && part->round; }

static int axis_of(const cal_sim_body* part) { return part->symmetric - 1; }

bool cal_is_unspun(const cal_sim_body* part, double rate, const double w[3], const double torque[3]) {
    const double fast = most_resolved * rate;
    if (is_ball(part)) return cal_dot3(w, w) > fast * fast && cal_dot3(torque, torque) == 0.0;
    if (!(part->symmetric > 0)) return false;
    const int i = axis_of(part), j = (i + 1) % 3, k = (i + 2) % 3;
    return fabs(w[i]) > fast && torque[j] == 0.0 && torque[k] == 0.0;
}

void cal_unspun_rate(const cal_sim_body* part, const double w[3], double out[3]) {
    const bool ball = is_ball(part);
    for (int i = 0; i < 3; i++) out[i] = ball || i == axis_of(part) ? 0.0 : w[i];
}

// The two moments about other axes are equal but for rounding, so that Ω × I ω is Ω × I_e (ω · e) e.
void cal_unspun_torque(const cal_sim_body* part, const double w[3], double out[3]) {
    memset(out, 0, 3 * sizeof *out);
    if (is_ball(part)) return;
    const int i = axis_of(part), j = (i + 1) % 3, k = (i + 2) % 3;
    const double momentum = part->inertia[i] * w[i];
    out[j] = -momentum * w[k];
    out[k] = momentum * w[j];
}

double cal_unspun_nutation(const cal_sim_body* part, const double w[3]) {
    if (is_ball(part)) return 0.0;
    const int i = axis_of(part);
    return part->inertia[i] / part->inertia[(i + 1) % 3] * fabs(w[i]);
}

void cal_unspun_nutate(const cal_sim_body* part, const double w[3], double h, double out[3]) {
    if (is_ball(part)) return;
    const int i = axis_of(part), j = (i + 1) % 3, k = (i + 2) % 3;
    const double momentum = part->inertia[i] * w[i], angle = h * momentum / part->inertia[j];
    double sine, cosine;
    cal_sine_cosine(angle, &sine, &cosine);
    out[j] += (cosine - 1.0) * w[j] - sine * w[k] + h * momentum * w[k] / part->inertia[j];
    out[k] += sine * w[j] + (cosine - 1.0) * w[k] - h * momentum * w[j] / part->inertia[k];
}

// --- Turns --------------------------------------------------------------------------------------------------------------------

// turn = swing ∘ twist, with the twist about an axis; returns its angle, −π … π.
static double part_turn(const double turn[4], const double axis[3], double swing[4], double twist[4]) {
    const double given[4] = {turn[0], turn[1], turn[2], turn[3]};
    const double along = cal_dot3(turn + 1, axis), size = sqrt(turn[0] * turn[0] + along * along);
    const double scale = size > 0.0 ? 1.0 / size : 0.0;
    twist[0] = size > 0.0 ? scale * given[0] : 1.0;
    for (int i = 0; i < 3; i++) twist[1 + i] = scale * along * axis[i];
    const double back[4] = {twist[0], -twist[1], -twist[2], -twist[3]}, line[4] = {twist[0], scale * along, 0.0, 0.0};
    double angle[3];
    cal_quaternion_multiply(given, back, swing);
    cal_rotation_vector(line, angle);
    return angle[0];
}

// An axis that points nearly the other way has no shortest turn: it is reached from one that does. Half a turn about another axis is between
// them, and what is 120° away is as far from both ends as from trouble.
void cal_unspun_begin(const cal_sim_body* part, double quaternion[4], double w[3], double turn[4]) {
    double axis[3] = {0}, over[4] = {1.0, 0.0, 0.0, 0.0}, rest[4], R[9];
    turn[0] = 1.0, turn[1] = turn[2] = turn[3] = 0.0;
    if (is_ball(part)) return;
    const int i = axis_of(part);
    axis[i] = 1.0;
    if (quaternion[0] * quaternion[0] + quaternion[1 + i] * quaternion[1 + i] < 0.25)
        over[0] = 0.0, over[1 + (i + 1) % 3] = 1.0;
    const double back[4] = {over[0], -over[1], -over[2], -over[3]};
    cal_quaternion_multiply(back, quaternion, rest);
    part_turn(rest, axis, rest, turn);
    cal_quaternion_multiply(over, rest, quaternion);
    cal_quaternion_normalize(quaternion);
    cal_quaternion_matrix(turn, R);
    cal_rotate3(R, w, w);
}

void cal_unspun_end(const cal_sim_body* part, const double turn[4], const double turned[3], double quaternion[4],
                    double w[3], double more[3]) {
    double angle[3], whole[4], R[9];
    const bool ball = is_ball(part);
    for (int i = 0; i < 3; i++) angle[i] = ball || i == axis_of(part) ? turned[i] : 0.0;
    cal_quaternion_turn(turn, angle, 1.0, whole);
    cal_quaternion_multiply(quaternion, whole, quaternion);
    cal_quaternion_normalize(quaternion);
    cal_quaternion_matrix(whole, R);
    cal_unrotate3(R, w, w);
    cal_quaternion_matrix(turn, R);
    cal_unrotate3(R, more, more);
}

// --- Between two states -------------------------------------------------------------------------------------------------------

void cal_unspun_find(const cal_sim_body* part, const double q[4], const double w[3], const double to_q[4],
                     const double to_w[3], double length, bool straight, cal_unspun_way* out) {
    const double back[4] = {q[0], -q[1], -q[2], -q[3]};
    double turn[4], twist[4], R[9];
    *out = (cal_unspun_way){.length = length, .ball = is_ball(part)};
    memcpy(out->w[0], w, sizeof out->w[0]);
    cal_quaternion_multiply(back, to_q, turn);
    if (out->ball) { // about the mean of both, in axes that do not turn
        cal_quaternion_matrix(turn, R);
        cal_rotate3(R, to_w, out->w[1]);
        for (int i = 0; i < 3; i++) out->axis[i] = 0.5 * (w[i] + out->w[1][i]);
        const double size = sqrt(cal_dot3(out->axis, out->axis));
        if (size > 0.0)
            for (int i = 0; i < 3; i++) out->axis[i] /= size;
        else
            out->axis[2] = 1.0;
    } else
        out->axis[axis_of(part)] = 1.0;
    const double angle = part_turn(turn, out->axis, out->swing, twist);
    if (out->ball)
        memcpy(out->frame, q, sizeof out->frame);
    else {
        cal_quaternion_matrix(twist, R);
        cal_rotate3(R, to_w, out->w[1]);
        cal_quaternion_multiply(q, out->swing, out->frame);
        cal_quaternion_normalize(out->frame);
    }
    for (int end = 0; end < 2; end++) out->rates[end] = cal_dot3(out->w[end], out->axis);
    const double mean = 0.5 * length * (out->rates[0] + out->rates[1]);
    out->angle = angle + turn_of_circle * floor((mean - angle) / turn_of_circle + 0.5);
    if (straight) out->rates[0] = out->rates[1] = out->angle / length;
}

void cal_unspun_at(const cal_unspun_way* way, double t, double turn[4], double w[3]) {
    static const double upright[4] = {1.0, 0.0, 0.0, 0.0};
    const double s = t / way->length;
    double b[CAL_CUBIC_TERMS], rate;
    cal_curve_hermite(way->length, 0.0, way->rates[0], way->angle, way->rates[1], b);
    const double angle = cal_curve_at(b, CAL_CUBIC, s, &rate);
    cal_quaternion_turn(upright, way->axis, angle, turn);
    for (int i = 0; i < 3; i++) w[i] = rate / way->length * way->axis[i];
    if (!way->ball) return;
    // What is left is small: it comes and goes smoothly, and speeds are those of both ends, which has the energy of neither more.
    const double share = s * s * (3.0 - 2.0 * s), sign = way->swing[0] < 0.0 ? -1.0 : 1.0;
    double swing[4] = {1.0 + share * (sign * way->swing[0] - 1.0), share * sign * way->swing[1],
                       share * sign * way->swing[2], share * sign * way->swing[3]};
    cal_quaternion_normalize(swing);
    cal_quaternion_multiply(swing, turn, turn);
    for (int i = 0; i < 3; i++) w[i] = (1.0 - s) * way->w[0][i] + s * way->w[1][i];
}
