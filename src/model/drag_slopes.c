// Slopes of the forces of pass/drag.c, in its symbols.
//
// Box         force   3π β D + ρ bⱼ bₖ |vᵢ|                  torque   π β D³ + ρ/32 bᵢ (bⱼ⁴ + bₖ⁴) |ωᵢ|
// Ellipsoid   force   3π β D + ρ |v| C across v, twice the second along it, C = A c₀ + c₁ (A_max − A)
//             torque  π β D³ + ρ B across ω, twice the second along it, B = |(c₂ Iᵢ + c₁ (I_max − Iᵢ)) ωᵢ|
//
// A changes only where v turns, and what that does is along v: a matrix that takes what is across v to v has no eigenvalue but zero, beside one
// that keeps the two apart.
#include "model/drag_slopes.h"
#include "base/memory.h"
#include "model/angle.h"
#include <math.h>
#include <string.h>

static double fourth(double x) { return x * x * x * x; }

static void slopes_of_box(const double b[3], const cal_medium* m, const double* w, const double* v,
                          cal_resistance* out) {
    const double D = (b[0] + b[1] + b[2]) / 3.0;
    for (int i = 0; i < 3; i++) {
        const double other = b[(i + 1) % 3], third = b[(i + 2) % 3];
        out->turning[4 * i] =
            CAL_PI * D * D * D * m->viscosity + m->density * b[i] * (fourth(other) + fourth(third)) * fabs(w[i]) / 32.0;
        out->moving[4 * i] = 3.0 * CAL_PI * D * m->viscosity + m->density * other * third * fabs(v[i]);
    }
}

// across + along x xᵀ / |x|²; coefficients may push.
static void fill_about(double across, double along, const double x[3], double out[9]) {
    const double square = cal_dot3(x, x), own = fmax(across, 0.0),
                 more = square > 0.0 ? fmax(along, -own) / square : 0.0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[3 * i + j] = (i == j ? own : 0.0) + more * x[i] * x[j];
}

static void slopes_of_ellipsoid(const cal_drag_def* drag, const cal_medium* m, const double* w, const double* v,
                                cal_resistance* out) {
    const double *r = drag->size, *c = drag->coefficients;
    const double largest = fmax(fmax(r[0], r[1]), r[2]), least = fmin(fmin(r[0], r[1]), r[2]);
    const double middle = r[0] + r[1] + r[2] - largest - least, D = 2.0 / 3.0 * (r[0] + r[1] + r[2]);
    const double most = 8.0 / 15.0 * CAL_PI * middle * fourth(largest);
    double squares = 0.0, top = 0.0, bottom = 0.0;
    for (int i = 0; i < 3; i++) {
        const double other = r[(i + 1) % 3], third = r[(i + 2) % 3];
        const double own = 8.0 / 15.0 * CAL_PI * r[i] * fourth(fmax(other, third));
        const double resisting = w[i] * (c[2] * own + c[1] * (most - own)), shown = other * third * v[i];
        squares += resisting * resisting;
        top += shown * shown * other * other * third * third;
        bottom += shown * shown;
    }
    const double shown = bottom > 0.0 ? CAL_PI * sqrt(top / bottom) : 0.0;
    const double dragged =
        m->density * sqrt(cal_dot3(v, v)) * (shown * c[0] + c[1] * (CAL_PI * largest * middle - shown));
    const double resisted = m->density * sqrt(squares);
    fill_about(CAL_PI * D * D * D * m->viscosity + resisted, resisted, w, out->turning);
    fill_about(3.0 * CAL_PI * D * m->viscosity + dragged, dragged, v, out->moving);
}

void cal_drag_slopes(const cal_drag_def* drag, const cal_medium* medium, const double velocity[6],
                     cal_resistance* out) {
    memset(out, 0, sizeof *out);
    if (drag->kind == CAL_DRAG_BOX)
        slopes_of_box(drag->size, medium, velocity, velocity + 3, out);
    else
        slopes_of_ellipsoid(drag, medium, velocity, velocity + 3, out);
}

// R X Rᵀ
static void turn_block(const double R[9], const double X[9], double out[9]) {
    double half[9];
    cal_multiply33(R, X, half);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[3 * i + j] = cal_dot3(half + 3 * i, R + 3 * j);
}

void cal_resistance_turn(const cal_resistance* own, const double R[9], cal_resistance* out) {
    turn_block(R, own->turning, out->turning);
    turn_block(R, own->coupling, out->coupling);
    turn_block(R, own->moving, out->moving);
}

void cal_drag_add_slopes(const cal_model* model, const cal_drag_def* drag, const double velocity[6],
                         cal_resistance* node) {
    const cal_mount* mount = &model->mounts[drag->body];
    cal_resistance slopes, turned;
    double own[9], axes[9], p[3];
    cal_drag_slopes(drag, &model->kept.medium, velocity, &slopes);
    cal_quaternion_matrix(drag->quaternion, own);
    cal_multiply33(mount->rotation, own, axes);
    cal_resistance_turn(&slopes, axes, &turned);
    cal_rotate3(mount->rotation, drag->position, p);
    for (int k = 0; k < 3; k++) p[k] += mount->offset[k];
    // At the point p the velocity is v − p× ω, and the force there has the torque p× f.
    const double cross[9] = {0.0, -p[2], p[1], p[2], 0.0, -p[0], -p[1], p[0], 0.0};
    double coupling[9], square[9];
    cal_multiply33(cross, turned.moving, coupling);
    turn_block(cross, turned.moving, square);
    for (int k = 0; k < 9; k++) {
        node->turning[k] += turned.turning[k] + square[k];
        node->coupling[k] += coupling[k];
        node->moving[k] += turned.moving[k];
    }
}

double* cal_drag_damping_of_nodes(const cal_model* model) {
    const cal_medium* medium = &model->kept.medium;
    double* out = cal_allocate(6 * (size_t)model->node_count + 1, sizeof *out);
    const double wind = sqrt(cal_dot3(medium->wind, medium->wind)), velocity[6] = {0, 0, 0, wind, wind, wind};
    for (int i = 0; out != NULL && i < model->kept.drag_count; i++) {
        const cal_drag_def* drag = &model->kept.drags[i];
        const int node = model->mounts[drag->body].node;
        cal_resistance own = {{0}, {0}, {0}};
        if (node < 0) continue;
        cal_drag_add_slopes(model, drag, velocity, &own);
        for (int k = 0; k < 3; k++) {
            out[6 * (size_t)node + (size_t)k] += own.turning[4 * k];
            out[6 * (size_t)node + 3 + (size_t)k] += own.moving[4 * k];
        }
    }
    return out;
}
