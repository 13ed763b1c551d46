// Bodies of revolution that spin fast in a contact group. Their spin, ω · e about the axis e of symmetry, moves no point of their surface, and
// no moment depends on how far it has turned them: a step needs to know neither. So it follows a *frame* that goes with the body
// but does not spin about e, and that turns at the rate Ω; the body's own turn in it, φ, is a sum that nothing waits for:
//
//     Ω = ω − (ω · e) e,    I ω̇ = τ − Ω × I ω    in the frame's axes,    φ̇ = ω · e
//
// A step begins with the frame that a turn of e from where it is in the world's axes leads to, so that points of a surface that are counted
// from the frame's axes are where the last step had them; at its end φ is put back: states know nothing of frames. A ball has no axis; its frame does
// not turn at all. Between two states the frame at the end is the one that the shortest turn of the axis leads to, so that
// what is left of the body's turn, known but for whole turns, is φ; of whole turns there are as many as the spin at both ends says.
#pragma once
#include "simulation/body.h"

// Whether a body is followed so from a state on, in a world whose groups are checked at a rate: it is one of revolution, or a ball, nothing turns it
// in its own axes, and between two checks it would spin so far that a step which resolves each radian is shorter than others need be.
bool cal_is_unspun(const cal_sim_body* part, double rate, const double w[3], const double torque[3]);
// Ω; and −Ω × I ω.
void cal_unspun_rate(const cal_sim_body* part, const double w[3], double out[3]);
void cal_unspun_torque(const cal_sim_body* part, const double w[3], double out[3]);
// How fast a body that nothing holds nutates: the rate at which Ω turns in the frame.
double cal_unspun_nutation(const cal_sim_body* part, const double w[3]);
// What that makes of Ω in h, beyond h Ω̇; added to `out`.
void cal_unspun_nutate(const cal_sim_body* part, const double w[3], double h, double out[3]);
// The frame in the place of the axes, and ω in it; `turn` is what turns the one to the other.
void cal_unspun_begin(const cal_sim_body* part, double quaternion[4], double w[3], double turn[4]);
// The axes, and ω in them, where they were turned by `turn` in the frame before the body turned in it further; `more`, a rate in the frame before
// that, becomes one in the axes as they were.
void cal_unspun_end(const cal_sim_body* part, const double turn[4], const double turned[3], double quaternion[4],
                    double w[3], double more[3]);

// Between two states.
typedef struct cal_unspun_way {
    double w[2][3];  // ω at both ends, in the frame's axes
    double frame[4]; // the frame at the end
    double axis[3];  // e, in the frame
    double length, angle,
        rates[2];    // φ at the end, and how fast it grows at both ends
    double swing[4]; // of a ball: what is left of its turn
    bool ball;
} cal_unspun_way;

// straight: speeds are constant on it.
void cal_unspun_find(const cal_sim_body* part, const double q[4], const double w[3], const double to_q[4],
                     const double to_w[3], double length, bool straight, cal_unspun_way* out);
// The body's turn in the frame at a time, and what is added to the frame's rate then.
void cal_unspun_at(const cal_unspun_way* way, double t, double turn[4], double w[3]);
