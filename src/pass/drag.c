// Forces of a medium of density ρ and viscosity β on a body with the velocity (ω, v) in it, in the drag's own axes.
//
// Box with edges b, of which D is the mean:
//
//   force    −3π β D v  −  ½ ρ bⱼ bₖ |vᵢ| vᵢ
//   torque   −π β D³ ω  −  ρ/64 bᵢ (bⱼ⁴ + bₖ⁴) |ωᵢ| ωᵢ
//
// Ellipsoid with half axes r (Andersen, Pesavento and Wang 2005, generalised to three dimensions): A = π √(∑ (rⱼrₖ)⁴ vᵢ² / ∑ (rⱼrₖ vᵢ)²) is
// the area that it shows to the flow, n = (rⱼrₖ)² vᵢ the normal of that, D = ⅔ ∑ r, V its volume:
//
//   added mass   p × ω on the centre, and p × v + l × ω about it, p = ρ m v and l = ρ I ω of the fluid that moves along
//   Magnus       c₄ ρ V ω × v
//   Kutta        c₃ ρ A cos α (n × v) × v,  cos α = ∑ (rⱼrₖ vᵢ)² / (|v| ∑ (rⱼrₖ)⁴ vᵢ²)
//   drag         −(3π β D + ρ |v| (A c₀ + c₁ (A_max − A))) v
//   torque       −(π β D³ + ρ |(c₂ Iᵢ + c₁ (I_max − Iᵢ)) ωᵢ|) ω,  Iᵢ = 8/15 π rᵢ max(rⱼ, rₖ)⁴
#include "pass/drag.h"
#include "model/angle.h"
#include <math.h>

static double square(double x) { return x * x; }
static double fourth(double x) { return square(square(x)); }
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

static void push_box(const double b[3], const cal_medium* m, const double* w, const double* v, double force[6]) {
    const double D = (b[0] + b[1] + b[2]) / 3.0, turning = CAL_PI * D * D * D * m->viscosity,
                 moving = 3.0 * CAL_PI * D * m->viscosity;
    for (int i = 0; i < 3; i++) {
        const double other = b[(i + 1) % 3], third = b[(i + 2) % 3];
        force[i] = -turning * w[i] - m->density * b[i] * (fourth(other) + fourth(third)) * fabs(w[i]) * w[i] / 64.0;
        force[3 + i] = -moving * v[i] - 0.5 * m->density * other * third * fabs(v[i]) * v[i];
    }
}

static void add_cross(const double a[3], const double b[3], double factor, double out[3]) {
    double product[3];
    cal_cross3(a, b, product);
    for (int i = 0; i < 3; i++) out[i] += factor * product[i];
}

static void push_ellipsoid(const cal_drag_def* drag, const cal_medium* m, const double* w, const double* v,
                           double force[6]) {
    const double *r = drag->size, *c = drag->coefficients, least = 1e-15;
    const double largest = larger(larger(r[0], r[1]), r[2]), least_axis = smaller(smaller(r[0], r[1]), r[2]);
    const double middle = r[0] + r[1] + r[2] - largest - least_axis, D = 2.0 / 3.0 * (r[0] + r[1] + r[2]);
    const double speed = sqrt(cal_dot3(v, v)), volume = 4.0 / 3.0 * CAL_PI * r[0] * r[1] * r[2];
    double p[3], l[3], normal[3], circulation[3] = {0}, resisting[3], top = 0.0, bottom = 0.0;
    const double most = 8.0 / 15.0 * CAL_PI * middle * fourth(largest);
    for (int i = 0; i < 3; i++) {
        const double other = r[(i + 1) % 3], third = r[(i + 2) % 3], area = other * third;
        p[i] = m->density * drag->virtual_mass[i] * v[i];
        l[i] = m->density * drag->virtual_inertia[i] * w[i];
        normal[i] = square(area) * v[i];
        top += fourth(area) * square(v[i]);
        bottom += square(area * v[i]);
        const double own = 8.0 / 15.0 * CAL_PI * r[i] * fourth(larger(other, third));
        resisting[i] = w[i] * (c[2] * own + c[1] * (most - own));
    }
    const double shown = CAL_PI * sqrt(top / larger(least, bottom));
    const double cosine = bottom / larger(least, speed * top);
    const double against = 3.0 * CAL_PI * D * m->viscosity +
                           m->density * speed * (shown * c[0] + c[1] * (CAL_PI * largest * middle - shown));
    const double turning = CAL_PI * D * D * D * m->viscosity + m->density * sqrt(cal_dot3(resisting, resisting));
    for (int i = 0; i < 3; i++) force[i] = -turning * w[i], force[3 + i] = -against * v[i];
    add_cross(p, v, 1.0, force);
    add_cross(l, w, 1.0, force);
    add_cross(p, w, 1.0, force + 3);
    add_cross(w, v, c[4] * m->density * volume, force + 3);
    add_cross(normal, v, c[3] * m->density * cosine * shown, circulation);
    add_cross(circulation, v, 1.0, force + 3);
}

void cal_drag_force(const cal_drag_def* drag, const cal_medium* medium, const double velocity[6], double force[6]) {
    if (drag->kind == CAL_DRAG_BOX)
        push_box(drag->size, medium, velocity, velocity + 3, force);
    else
        push_ellipsoid(drag, medium, velocity, velocity + 3, force);
}
