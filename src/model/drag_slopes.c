// Slopes of the forces of pass/drag.c, in its symbols.
//
// Box       force   3π β D + ρ bⱼ bₖ |vᵢ|                                   torque   π β D³ + ρ/32 bᵢ (bⱼ⁴ + bₖ⁴) |ωᵢ|
// Ellipsoid force   3π β D + 2 ρ |v| (A c₀ + c₁ (A_max − A)), A at most A_max   torque   π β D³ + 2 ρ |(c₂ Iᵢ + c₁ (I_max − Iᵢ)) ωᵢ|
#include "model/drag_slopes.h"
#include "base/memory.h"
#include "model/angle.h"
#include <math.h>

static double fourth(double x) { return x * x * x * x; }

static void slopes_of_box(const double b[3], const cal_medium* m, const double* w, const double* v, double out[6]) {
    const double D = (b[0] + b[1] + b[2]) / 3.0;
    for (int i = 0; i < 3; i++) {
        const double other = b[(i + 1) % 3], third = b[(i + 2) % 3];
        out[i] =
            CAL_PI * D * D * D * m->viscosity + m->density * b[i] * (fourth(other) + fourth(third)) * fabs(w[i]) / 32.0;
        out[3 + i] = 3.0 * CAL_PI * D * m->viscosity + m->density * other * third * fabs(v[i]);
    }
}

static void slopes_of_ellipsoid(const cal_drag_def* drag, const cal_medium* m, const double* w, const double* v,
                                double out[6]) {
    const double *r = drag->size, *c = drag->coefficients;
    const double largest = fmax(fmax(r[0], r[1]), r[2]), least = fmin(fmin(r[0], r[1]), r[2]);
    const double middle = r[0] + r[1] + r[2] - largest - least, D = 2.0 / 3.0 * (r[0] + r[1] + r[2]);
    const double most = 8.0 / 15.0 * CAL_PI * middle * fourth(largest);
    double squares = 0.0;
    for (int i = 0; i < 3; i++) {
        const double own = 8.0 / 15.0 * CAL_PI * r[i] * fourth(fmax(r[(i + 1) % 3], r[(i + 2) % 3]));
        const double resisting = w[i] * (c[2] * own + c[1] * (most - own));
        squares += resisting * resisting;
    }
    const double area = CAL_PI * largest * middle * fmax(c[0], c[1]); // of A c₀ + (A_max − A) c₁, whatever A is
    const double turning = CAL_PI * D * D * D * m->viscosity + 2.0 * m->density * sqrt(squares);
    const double moving = 3.0 * CAL_PI * D * m->viscosity + 2.0 * m->density * sqrt(cal_dot3(v, v)) * area;
    for (int i = 0; i < 3; i++) out[i] = turning, out[3 + i] = moving;
}

void cal_drag_slopes(const cal_drag_def* drag, const cal_medium* medium, const double velocity[6], double out[6]) {
    if (drag->kind == CAL_DRAG_BOX)
        slopes_of_box(drag->size, medium, velocity, velocity + 3, out);
    else
        slopes_of_ellipsoid(drag, medium, velocity, velocity + 3, out);
    for (int i = 0; i < 6; i++) out[i] = fmax(out[i], 0.0); // coefficients may push
}

double* cal_drag_damping_of_nodes(const cal_model* model) {
    const cal_medium* medium = &model->kept.medium;
    double* out = cal_allocate(6 * (size_t)model->node_count + 1, sizeof *out);
    const double wind = sqrt(cal_dot3(medium->wind, medium->wind)), velocity[6] = {0, 0, 0, wind, wind, wind};
    for (int i = 0; out != NULL && i < model->kept.drag_count; i++) {
        const cal_drag_def* drag = &model->kept.drags[i];
        const cal_mount* mount = &model->mounts[drag->body];
        double slopes[6], own[9], axes[9], point[3];
        if (mount->node < 0) continue;
        cal_drag_slopes(drag, medium, velocity, slopes);
        cal_quaternion_matrix(drag->quaternion, own);
        cal_multiply33(mount->rotation, own, axes);
        cal_rotate3(mount->rotation, drag->position, point);
        for (int k = 0; k < 3; k++) point[k] += mount->offset[k];
        double* damping = out + 6 * (size_t)mount->node;
        for (int axis = 0; axis < 3; axis++) {
            const double along[3] = {axes[axis], axes[3 + axis], axes[6 + axis]};
            double arm[3]; // along · (e × point) = e · (point × along), for e each axis of the node
            cal_cross3(point, along, arm);
            for (int k = 0; k < 3; k++) {
                damping[k] += slopes[axis] * along[k] * along[k] + slopes[3 + axis] * arm[k] * arm[k];
                damping[3 + k] += slopes[3 + axis] * along[k] * along[k];
            }
        }
    }
    return out;
}
