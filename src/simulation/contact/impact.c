// Impulses. Chatterjee and Ruina's law (1998): of two impulses that one can agree on,
//
//     P_I   stops the approach and nothing else (no friction, plastic):     n·(K P_I) = −n·u,  P_I along n
//     P_II  stops all motion of the contact point (sticking, plastic):      K P_II = −u
//
// it takes P = (1 + e) P_I + κ (P_II − P_I), with κ = 1 where that stays inside the friction cone, and otherwise the κ
// that puts P on the cone. K = J M⁻¹ Jᵀ is how the contact point answers to an impulse, u its velocity before, both of the
// first body relative to the second. e is Newton's restitution of the normal velocity where friction does not couple in;
// the kinetic energy never grows. Links may be unable to move along some direction: there K gives nothing, and P_II has no part.
#include "simulation/contact/impact.h"
#include "model/touch.h"
#include "simulation/body.h"
#include "simulation/start.h"
#include "simulation/world.h"
#include <string.h>

static double determinant(const double K[9]) {
    return K[0] * (K[4] * K[8] - K[5] * K[7]) - K[1] * (K[3] * K[8] - K[5] * K[6]) + K[2] * (K[3] * K[7] - K[4] * K[6]);
}

static const double flat = 1e-10; // of the largest moment of K: a direction along which nothing moves

// The least x with K x = b as well as can be: over the principal axes along which K gives way.
static void solve_flat(const double K[9], const double b[3], double x[3]) {
    const double six[6] = {K[0], K[4], K[8], K[1], K[2], K[5]};
    double moments[3], quaternion[4], axes[9], along[3];
    cal_principal_axes(six, moments, quaternion);
    cal_quaternion_matrix(quaternion, axes);
    cal_unrotate3(axes, b, along);
    const double least = flat * fmax(moments[0], fmax(moments[1], moments[2]));
    for (int i = 0; i < 3; i++) along[i] = moments[i] > least ? along[i] / moments[i] : 0.0;
    cal_rotate3(axes, along, x);
}

// x with K x = b, by Cramer's rule: K is symmetric and not negative, 3 × 3.
static void solve3(const double K[9], const double b[3], double x[3]) {
    const double d = determinant(K), trace = K[0] + K[4] + K[8];
    if (!(d > flat * trace * trace * trace)) {
        solve_flat(K, b, x);
        return;
    }
    for (int column = 0; column < 3; column++) {
        double replaced[9];
        memcpy(replaced, K, sizeof replaced);
        for (int row = 0; row < 3; row++) replaced[3 * row + column] = b[row];
        x[column] = determinant(replaced) / d;
    }
}

void cal_impulse(const double K[9], const double normal[3], const double relative[3], double restitution,
                 double friction, double impulse[3]) {
    double Kn[3], negative[3], sticking[3];
    cal_rotate3(K, normal, Kn);
    const double answer = cal_dot3(normal, Kn);
    memset(impulse, 0, 3 * sizeof *impulse);
    if (!(answer > flat * (K[0] + K[4] + K[8]))) return; // nothing that an impulse could stop
    const double plastic = -cal_dot3(normal, relative) / answer;
    for (int i = 0; i < 3; i++) {
        impulse[i] = (1.0 + restitution) * plastic * normal[i];
        negative[i] = -relative[i];
    }
    if (friction <= 0.0) return;
    solve3(K, negative, sticking);
    double rest[3], tangent[3];
    for (int i = 0; i < 3; i++) rest[i] = sticking[i] - plastic * normal[i];
    const double along = cal_dot3(normal, rest);
    for (int i = 0; i < 3; i++) tangent[i] = rest[i] - along * normal[i];
    const double sideways = sqrt(cal_dot3(tangent, tangent));
    double kappa = 1.0;
    if (sideways > friction * ((1.0 + restitution) * plastic + along)) {
        const double room = sideways - friction * along;
        kappa = room > 0.0 ? friction * (1.0 + restitution) * plastic / room : 0.0;
    }
    for (int i = 0; i < 3; i++) impulse[i] += kappa * rest[i];
}

// K = 1/m − [r]× I⁻¹ [r]×, with r from the centre to the point.
void cal_add_response(const cal_sim_body* part, const cal_motion* motion, const double point[3], double K[9]) {
    double arm[3];
    for (int i = 0; i < 3; i++) {
        arm[i] = point[i] - motion->pose.position[i];
        K[4 * i] += 1.0 / part->mass;
    }
    for (int j = 0; j < 3; j++) {
        double unit[3] = {0}, torque[3], change[3];
        unit[j] = 1.0;
        cal_cross3(arm, unit, torque);
        cal_unrotate3(motion->pose.rotation, torque, torque);
        for (int i = 0; i < 3; i++) torque[i] /= part->inertia[i];
        cal_rotate3(motion->pose.rotation, torque, torque);
        cal_cross3(torque, arm, change);
        for (int i = 0; i < 3; i++) K[3 * i + j] += change[i];
    }
}

static const cal_shape_def* shape_of(const cal_sim_body* part, int piece) {
    int shape = piece;
    if (part->form == CAL_FORM_GENERAL)
        shape = piece >= 0 ? cal_geometry_tag(part->geometry, piece) : 0;
    else if (part->form != CAL_FORM_BALLS)
        shape = 0;
    return &part->shapes[shape >= 0 && shape < part->shape_count ? shape : 0];
}

// What sticks at this friction slides only where a force is within half a degree of the surface; beyond it the friction's cone is as good as a half-space, and
// contact problems take a hundred times as long for it.
static const double most_friction = 100.0;

void cal_material(const cal_world* world, int a, int piece_a, int b, int piece_b, double* friction,
                  double* restitution) {
    const cal_shape_def *p = shape_of(&world->bodies[a], piece_a), *q = shape_of(&world->bodies[b], piece_b);
    *friction = fmin(world->def.friction >= 0.0 ? world->def.friction : cal_shapes_friction(p, q), most_friction);
    *restitution = world->def.restitution >= 0.0 ? world->def.restitution : fmax(p->restitution, q->restitution);
}
