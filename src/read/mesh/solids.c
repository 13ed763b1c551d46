// Masses and inertias of simple solids and of bodies made of them (solids.h).
//
// Solids and shells of revolution and boxes have closed forms. An ellipsoid's shell is what lies between it and one whose half
// axes are longer by ε, for ε → 0: with V the volume and I_x = ρ V (b² + c²) / 5 the solid's moment,
//
//     dV/dε = V (1/a + 1/b + 1/c),   dI_x/dε / dV/dε = (b² + c²) / 5 + 2 (b + c) / (5 (1/a + 1/b + 1/c)).
//
// That shell is a little thicker where it is flat than where it is round, and so is MuJoCo's, which takes ε = 10⁻⁶.
#include "read/mesh/solids.h"
#include "math/power.h"
#include "math/vector.h"
#include "model/angle.h"
#include "model/symmetric.h"
#include <stdio.h>
#include <string.h>

double cal_solid_volume(cal_shape_kind kind, const double size[3]) {
    const double r = size[0], h = 2.0 * size[1];
    switch (kind) {
    case CAL_SPHERE: return 4.0 / 3.0 * CAL_PI * r * r * r;
    case CAL_CAPSULE: return CAL_PI * r * r * (h + 4.0 / 3.0 * r);
    case CAL_CYLINDER: return CAL_PI * r * r * h;
    case CAL_ELLIPSOID: return 4.0 / 3.0 * CAL_PI * size[0] * size[1] * size[2];
    case CAL_BOX: return 8.0 * size[0] * size[1] * size[2];
    default: return 0.0;
    }
}

// Thomsen's formula: within 1.1 % of the true area.
static double ellipsoid_area(const double size[3]) {
    const double p = 1.6075;
    const double a = cal_power(size[0] * size[1], p), b = cal_power(size[1] * size[2], p),
                 c = cal_power(size[2] * size[0], p);
    return 4.0 * CAL_PI * cal_power((a + b + c) / 3.0, 1.0 / p);
}

double cal_solid_area(cal_shape_kind kind, const double size[3]) {
    const double r = size[0], h = 2.0 * size[1];
    switch (kind) {
    case CAL_SPHERE: return 4.0 * CAL_PI * r * r;
    case CAL_CAPSULE: return 2.0 * CAL_PI * r * (2.0 * r + h);
    case CAL_CYLINDER: return 2.0 * CAL_PI * r * (r + h);
    case CAL_ELLIPSOID: return ellipsoid_area(size);
    case CAL_BOX: return 8.0 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0]);
    default: return 0.0;
    }
}

// The squares of the radii of gyration: moments a unit of mass.
static void solid_moments(cal_shape_kind kind, const double size[3], double moments[3]) {
    const double r = size[0], h = 2.0 * size[1];
    const double a = size[0] * size[0], b = size[1] * size[1], c = size[2] * size[2];
    switch (kind) {
    case CAL_SPHERE: moments[0] = moments[1] = moments[2] = 0.4 * r * r; break;
    case CAL_CYLINDER:
        moments[0] = moments[1] = (3.0 * r * r + h * h) / 12.0;
        moments[2] = 0.5 * r * r;
        break;
    case CAL_CAPSULE: {
        // Caps are halves of a sphere, their centres 3/8 r from its middle, moved apart by h.
        const double caps = 4.0 * r / (4.0 * r + 3.0 * h), middle = 1.0 - caps;
        moments[0] = moments[1] =
            middle * (3.0 * r * r + h * h) / 12.0 + caps * (0.4 * r * r + h * (3.0 * r + 2.0 * h) / 8.0);
        moments[2] = middle * 0.5 * r * r + caps * 0.4 * r * r;
        break;
    }
    case CAL_ELLIPSOID: moments[0] = (b + c) / 5.0, moments[1] = (a + c) / 5.0, moments[2] = (a + b) / 5.0; break;
    case CAL_BOX: moments[0] = (b + c) / 3.0, moments[1] = (a + c) / 3.0, moments[2] = (a + b) / 3.0; break;
    default: break;
    }
}

static void shell_moments(cal_shape_kind kind, const double size[3], double moments[3]) {
    const double r = size[0], h = 2.0 * size[1];
    const double side[3] = {2.0 * size[0], 2.0 * size[1], 2.0 * size[2]};
    switch (kind) {
    case CAL_SPHERE: moments[0] = moments[1] = moments[2] = 2.0 / 3.0 * r * r; break;
    case CAL_CYLINDER: {
        const double discs = r / (r + h), wall = 1.0 - discs;
        moments[0] = moments[1] = wall * (6.0 * r * r + h * h) / 12.0 + discs * 0.25 * (r * r + h * h);
        moments[2] = wall * r * r + discs * 0.5 * r * r;
        break;
    }
    case CAL_CAPSULE: {
        // The centre of half a sphere's shell is r/2 from its middle.
        const double caps = 2.0 * r / (2.0 * r + h), wall = 1.0 - caps;
        moments[0] = moments[1] =
            wall * (6.0 * r * r + h * h) / 12.0 + caps * (2.0 / 3.0 * r * r + 0.25 * h * (h + 2.0 * r));
        moments[2] = wall * r * r + caps * 2.0 / 3.0 * r * r;
        break;
    }
    case CAL_ELLIPSOID: {
        const double growth = 1.0 / size[0] + 1.0 / size[1] + 1.0 / size[2];
        for (int i = 0; i < 3; i++) {
            const double b = size[(i + 1) % 3], c = size[(i + 2) % 3];
            moments[i] = (b * b + c * c) / 5.0 + 0.4 * (b + c) / growth;
        }
        break;
    }
    case CAL_BOX: {
        // ∫ x² over the six sides, and likewise y² and z².
        double second[3], area = 0.0;
        for (int i = 0; i < 3; i++) {
            const double l = side[i], m = side[(i + 1) % 3], n = side[(i + 2) % 3];
            second[i] = 2.0 * m * n * 0.25 * l * l + 2.0 * (l * m + l * n) * l * l / 12.0;
            area += 2.0 * m * n;
        }
        for (int i = 0; i < 3; i++) moments[i] = (second[(i + 1) % 3] + second[(i + 2) % 3]) / area;
        break;
    }
    default: break;
    }
}

cal_solid cal_solid_of_mass(cal_shape_kind kind, const double size[3], bool shell, double mass) {
    cal_solid solid = {0};
    if (cal_solid_volume(kind, size) <= 0.0) return solid;
    double moments[3] = {0.0, 0.0, 0.0};
    if (shell)
        shell_moments(kind, size, moments);
    else
        solid_moments(kind, size, moments);
    solid.mass = mass;
    for (int i = 0; i < 3; i++) solid.inertia[i] = mass * moments[i];
    return solid;
}

cal_solid cal_solid_of_density(cal_shape_kind kind, const double size[3], bool shell, double density) {
    const double extent = shell ? cal_solid_area(kind, size) : cal_solid_volume(kind, size);
    return cal_solid_of_mass(kind, size, shell, density * extent);
}

static void unpack(const double s[6], double out[9]) {
    const double full[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
    memcpy(out, full, sizeof full);
}

// R S Rᵀ
static void turn(const double R[9], const double symmetric[6], double out[6]) {
    double full[9], turned[9];
    unpack(symmetric, full);
    cal_multiply33(R, full, turned);
    for (int i = 0; i < 6; i++) out[i] = cal_dot3(&turned[3 * cal_symmetric_row[i]], &R[3 * cal_symmetric_column[i]]);
}

cal_solid cal_solid_placed(const cal_solid* solid, const double position[3], const double quaternion[4]) {
    cal_solid out = {.mass = solid->mass};
    double R[9];
    cal_quaternion_matrix(quaternion, R);
    cal_rotate3(R, solid->center, out.center);
    for (int i = 0; i < 3; i++) out.center[i] += position[i];
    turn(R, solid->inertia, out.inertia);
    return out;
}

cal_solid cal_solid_scaled(const cal_solid* solid, double mass) {
    cal_solid out = *solid;
    if (solid->mass == 0.0) return out;
    for (int i = 0; i < 6; i++) out.inertia[i] *= mass / solid->mass;
    out.mass = mass;
    return out;
}

// Steiner: with d the distance between the centres and μ = m₁ m₂ / (m₁ + m₂), I = I₁ + I₂ + μ (d² 1 − d dᵀ).
void cal_solid_add(cal_solid* sum, const cal_solid* term) {
    const double mass = sum->mass + term->mass;
    double d[3];
    for (int i = 0; i < 3; i++) d[i] = term->center[i] - sum->center[i];
    if (mass > 0.0) {
        const double reduced = sum->mass * (term->mass / mass), square = cal_dot3(d, d);
        for (int i = 0; i < 6; i++) {
            const size_t row = cal_symmetric_row[i], column = cal_symmetric_column[i];
            sum->inertia[i] += reduced * ((row == column ? square : 0.0) - d[row] * d[column]);
        }
        for (int i = 0; i < 3; i++) sum->center[i] += term->mass / mass * d[i];
    }
    for (int i = 0; i < 6; i++) sum->inertia[i] += term->inertia[i];
    sum->mass = mass;
}

// Jacobi's rotations, which are also kept in V: A = V diag Vᵀ.
void cal_principal_moments(const double inertia[6], double moments[3], double quaternion[4]) {
    double A[9], V[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    unpack(inertia, A);
    for (int sweep = 0; sweep < 16 && fabs(A[1]) + fabs(A[2]) + fabs(A[5]) > 0.0; sweep++)
        for (size_t p = 0; p < 2; p++)
            for (size_t q = p + 1; q < 3; q++) {
                const double apq = A[3 * p + q];
                if (apq == 0.0) continue;
                const double theta = 0.5 * (A[4 * q] - A[4 * p]) / apq, square = theta * theta;
                const double t = isfinite(square) ? copysign(1.0, theta) / (fabs(theta) + sqrt(square + 1.0)) : 0.0;
                const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                const size_t r = 3 - p - q;
                const double arp = A[3 * r + p], arq = A[3 * r + q];
                A[4 * p] -= t * apq;
                A[4 * q] += t * apq;
                A[3 * p + q] = A[3 * q + p] = 0.0;
                A[3 * r + p] = A[3 * p + r] = c * arp - s * arq;
                A[3 * r + q] = A[3 * q + r] = s * arp + c * arq;
                for (size_t i = 0; i < 3; i++) {
                    const double vip = V[3 * i + p], viq = V[3 * i + q];
                    V[3 * i + p] = c * vip - s * viq;
                    V[3 * i + q] = s * vip + c * viq;
                }
            }
    for (size_t i = 0; i < 3; i++) moments[i] = A[4 * i];
    cal_matrix_quaternion(V, quaternion);
}

void cal_inertia_from_moments(const double moments[3], const double quaternion[4], double inertia[6]) {
    const double diagonal[6] = {moments[0], moments[1], moments[2], 0.0, 0.0, 0.0};
    double R[9];
    cal_quaternion_matrix(quaternion, R);
    turn(R, diagonal, inertia);
}

bool cal_inertia_possible(const double inertia[6], double tolerance, char* text, size_t capacity) {
    double moments[3], quaternion[4];
    cal_principal_moments(inertia, moments, quaternion);
    const double total = moments[0] + moments[1] + moments[2];
    const double allowed = tolerance * (fabs(moments[0]) + fabs(moments[1]) + fabs(moments[2]));
    for (int i = 0; i < 3; i++) {
        if (moments[i] < -allowed) {
            if (text != NULL) snprintf(text, capacity, "its principal moment %g is negative", moments[i]);
            return false;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (2.0 * moments[i] - total > allowed) {
            if (text != NULL)
                snprintf(text, capacity, "its principal moment %g exceeds the sum of the others, %g", moments[i],
                         total - moments[i]);
            return false;
        }
    }
    return true;
}

void cal_inertia_repair(double inertia[6]) {
    double moments[3], quaternion[4];
    cal_principal_moments(inertia, moments, quaternion);
    int largest = 0;
    for (int i = 0; i < 3; i++) {
        moments[i] = fmax(moments[i], 0.0);
        if (moments[i] > moments[largest]) largest = i;
    }
    const int a = (largest + 1) % 3, b = (largest + 2) % 3;
    const double missing = moments[largest] - moments[a] - moments[b];
    if (missing > 0.0) moments[a] += 0.5 * missing, moments[b] += 0.5 * missing;
    cal_inertia_from_moments(moments, quaternion, inertia);
}
