// Mass, centre and inertia of convex pieces of density 1.
//
// All through Σ = ∫ x xᵀ dV about the piece's centre; the inertia is tr Σ 1 − Σ. A polytope is cut into tetrahedra from a
// point inside; one with corners 0, p, q, r has volume V = p·(q × r)/6 and
//
//     ∫ x dV = V s/4,    ∫ x xᵀ dV = V (p pᵀ + q qᵀ + r rᵀ + s sᵀ)/20,    s = p + q + r.
#include "collide/convex.h"
#include "model/angle.h"

// Volume, centre and Σ about the centre, in the piece's frame.
typedef struct moments {
    double volume, center[3], sigma[9];
} moments;

static moments hull_moments(const cal_convex* piece) {
    moments m = {0};
    double first[3] = {0.0, 0.0, 0.0};
    for (int t = 0; t < piece->triangle_count; t++) {
        const int32_t* corners = piece->triangles + 3 * (size_t)t;
        double p[3][3], s[3], c[3];
        for (int i = 0; i < 3; i++) {
            cal_vertex(piece, corners[i], p[i]);
            cal_subtract3(p[i], piece->middle, p[i]);
        }
        for (int i = 0; i < 3; i++) s[i] = p[0][i] + p[1][i] + p[2][i];
        cal_cross3(p[1], p[2], c);
        const double volume = cal_dot3(p[0], c) / 6.0;
        m.volume += volume;
        for (int i = 0; i < 3; i++) {
            first[i] += volume * s[i] / 4.0;
            for (int j = 0; j < 3; j++)
                m.sigma[3 * i + j] +=
                    volume * (p[0][i] * p[0][j] + p[1][i] * p[1][j] + p[2][i] * p[2][j] + s[i] * s[j]) / 20.0;
        }
    }
    if (!(m.volume > 0.0)) return (moments){0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) m.sigma[3 * i + j] -= first[i] * first[j] / m.volume;
    for (int i = 0; i < 3; i++) m.center[i] = piece->middle[i] + first[i] / m.volume;
    return m;
}

static moments piece_moments(const cal_convex* piece) {
    moments m = {0};
    const double *s = piece->size, r = piece->radius;
    switch (piece->core) {
    case CAL_CORE_POINT:
        m.volume = 4.0 / 3.0 * CAL_PI * r * r * r;
        for (int i = 0; i < 3; i++) m.sigma[4 * i] = m.volume * r * r / 5.0;
        break;
    case CAL_CORE_SEGMENT: {
        // A cylinder, and two half balls whose own centres are 3/8 r beyond its ends.
        const double h = s[0], cylinder = 2.0 * CAL_PI * r * r * h, ball = 4.0 / 3.0 * CAL_PI * r * r * r;
        m.volume = cylinder + ball;
        m.sigma[0] = m.sigma[4] = cylinder * r * r / 4.0 + ball * r * r / 5.0;
        m.sigma[8] = cylinder * h * h / 3.0 + ball * (r * r / 5.0 + h * h + 0.75 * h * r);
        break;
    }
    case CAL_CORE_BOX:
        m.volume = 8.0 * s[0] * s[1] * s[2];
        for (int i = 0; i < 3; i++) m.sigma[4 * i] = m.volume * s[i] * s[i] / 3.0;
        break;
    case CAL_CORE_CYLINDER:
        m.volume = 2.0 * CAL_PI * s[0] * s[0] * s[1];
        m.sigma[0] = m.sigma[4] = m.volume * s[0] * s[0] / 4.0;
        m.sigma[8] = m.volume * s[1] * s[1] / 3.0;
        break;
    case CAL_CORE_ELLIPSOID:
        m.volume = 4.0 / 3.0 * CAL_PI * s[0] * s[1] * s[2];
        for (int i = 0; i < 3; i++) m.sigma[4 * i] = m.volume * s[i] * s[i] / 5.0;
        break;
    case CAL_CORE_HULL:
        if (!piece->prism) m = hull_moments(piece);
        break;
    case CAL_CORE_HALF_SPACE: break;
    }
    return m;
}

void cal_convex_mass(const cal_convex* piece, cal_mass_properties* out) {
    const moments m = piece_moments(piece);
    *out = (cal_mass_properties){.mass = m.volume};
    cal_rotate3(piece->frame.rotation, m.center, out->center);
    for (int i = 0; i < 3; i++) out->center[i] += piece->frame.position[i];
    double turned[9], sigma[9];
    cal_multiply33(piece->frame.rotation, m.sigma, turned);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) sigma[3 * i + k] = cal_dot3(turned + 3 * i, piece->frame.rotation + 3 * k);
    const double trace = sigma[0] + sigma[4] + sigma[8];
    for (int i = 0; i < 3; i++) out->inertia[i] = trace - sigma[4 * i];
    out->inertia[3] = -sigma[1], out->inertia[4] = -sigma[2], out->inertia[5] = -sigma[5];
}
