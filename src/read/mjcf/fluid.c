// What air and water do to bodies: a box of each body's inertia, or an ellipsoid for each geom that asks for one.
//
// The box has the mass and the principal moments I of the body: edges √(6 (Iⱼ + Iₖ − Iᵢ) / m). Its axes are the principal ones; where two
// moments are equal these are not unique, and they are those of <inertial>, or of the body's only geom.
//
// Of an ellipsoid with half axes a, b, c the fluid that moves along has (Lamb, Hydrodynamics, §114)
//
//     α = abc ∫₀^∞ dλ / ((a² + λ) √((a² + λ)(b² + λ)(c² + λ))) = ⅔ abc R_D(b², c², a²),    mass  V α / (2 − α)
//
// with Carlson's R_D, found by doubling (Numerische Mathematik 33, 1979), which needs square roots only.
#include "model/angle.h"
#include "model/builder.h"
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <string.h>

// --- Ellipsoids ------------------------------------------------------------------------------------------------------------

static double carlson(double x, double y, double z) {
    double sum = 0.0, share = 1.0;
    for (int i = 0; i < 40; i++) {
        const double mean = (x + y + 3.0 * z) / 5.0;
        const double X = (mean - x) / mean, Y = (mean - y) / mean, Z = (mean - z) / mean;
        // The series is cut off behind the fifth power: with 1e-3 that is 1e-18 of the result.
        if (fmax(fabs(X), fmax(fabs(Y), fabs(Z))) < 1e-3) {
            const double a = X * Y, b = Z * Z, c = a - b, d = a - 6.0 * b, e = d + c + c;
            const double series = 1.0 + d * (-3.0 / 14.0 + 9.0 / 88.0 * d - 4.5 / 26.0 * Z * e) +
                                  Z * (1.0 / 6.0 * e + Z * (-9.0 / 22.0 * c + 3.0 / 26.0 * Z * a));
            return 3.0 * sum + share * series / (mean * sqrt(mean));
        }
        const double rx = sqrt(x), ry = sqrt(y), rz = sqrt(z), lambda = rx * (ry + rz) + ry * rz;
        sum += share / (rz * (z + lambda));
        share *= 0.25;
        x = 0.25 * (x + lambda), y = 0.25 * (y + lambda), z = 0.25 * (z + lambda);
    }
    return 3.0 * sum;
}

static void find_virtual(cal_drag_def* drag) {
    const double* r = drag->size;
    const double product = r[0] * r[1] * r[2], volume = 4.0 / 3.0 * CAL_PI * product;
    double s[3], k[3];
    for (int i = 0; i < 3; i++) s[i] = r[i] * r[i];
    for (int i = 0; i < 3; i++) k[i] = 2.0 / 3.0 * product * carlson(s[(i + 1) % 3], s[(i + 2) % 3], s[i]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, n = (i + 2) % 3;
        const double apart = s[j] - s[n], below = fabs(2.0 * apart + (s[j] + s[n]) * (k[j] - k[n]));
        drag->virtual_mass[i] = volume * k[i] / (2.0 - k[i]);
        drag->virtual_inertia[i] = volume / 5.0 * (apart * apart * fabs(k[n] - k[j]) / fmax(1e-14, below));
    }
}

static cal_status add_ellipsoid(mjcf_model* model, mjcf_geom* geom, int body, cal_error* error) {
    cal_shape_def shape;
    bool drawn;
    MJCF_TRY(mjcf_geom_shape(geom, &shape, &drawn, error));
    const bool round = shape.kind == CAL_SPHERE || shape.kind == CAL_CAPSULE || shape.kind == CAL_CYLINDER;
    if (!round && shape.kind != CAL_BOX && shape.kind != CAL_ELLIPSOID) {
        cal_report_add(model->reader->report, geom->node, CAL_ISSUE_NOT_SIMULATED, "geom fluidshape",
                       "ignored: no ellipsoid is made of a mesh");
        return CAL_OK;
    }
    cal_drag_def drag = cal_default_drag_def();
    drag.body = body;
    drag.kind = CAL_DRAG_ELLIPSOID;
    memcpy(drag.position, shape.position, sizeof drag.position);
    memcpy(drag.quaternion, shape.quaternion, sizeof drag.quaternion);
    memcpy(drag.size, shape.size, sizeof drag.size);
    if (round) drag.size[1] = shape.size[0];
    if (round) drag.size[2] = shape.kind == CAL_SPHERE ? shape.size[0] : shape.size[1];
    if (shape.kind == CAL_CAPSULE) drag.size[2] += shape.size[0];
    memcpy(drag.coefficients, geom->fluid, sizeof drag.coefficients);
    find_virtual(&drag);
    return cal_builder_add_drag(model->reader->builder, &drag) != CAL_NONE ? CAL_OK : mjcf_no_memory(geom->node, error);
}

// --- Boxes -----------------------------------------------------------------------------------------------------------------

// Rᵀ I R of six numbers, as 3 × 3.
static void turn_inertia(const double I[6], const double R[9], double out[3][3]) {
    const double full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    double half[9];
    cal_multiply33(full, R, half);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            out[i][k] = 0.0;
            for (int n = 0; n < 3; n++) out[i][k] += R[3 * n + i] * half[3 * n + k];
        }
}

// Jacobi's rotations from a first guess of the axes: none where that is right already.
static void find_axes(const double I[6], double R[9], double moments[3]) {
    double a[3][3];
    turn_inertia(I, R, a);
    const double small = 1e-10 * (fabs(a[0][0]) + fabs(a[1][1]) + fabs(a[2][2]));
    for (int sweep = 0; sweep < 30; sweep++) {
        if (fabs(a[0][1]) + fabs(a[0][2]) + fabs(a[1][2]) <= small) break;
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (a[p][q] == 0.0) continue;
                const double theta = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
                const double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
                const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                for (int i = 0; i < 3; i++) {
                    const double x = R[3 * i + p], y = R[3 * i + q];
                    R[3 * i + p] = c * x - s * y;
                    R[3 * i + q] = s * x + c * y;
                }
                turn_inertia(I, R, a);
            }
    }
    for (int i = 0; i < 3; i++) moments[i] = a[i][i];
}

// Axes that the file gives the body's inertia, as a first guess.
static cal_status guess_axes(mjcf_model* model, const mjcf_body* body, double quaternion[4], cal_error* error) {
    memcpy(quaternion, (double[4]){1.0, 0.0, 0.0, 0.0}, 4 * sizeof *quaternion);
    cal_xml_node* inertial = cal_xml_child(body->node, "inertial");
    if (body->has_inertial && inertial != NULL) {
        mjcf_orientation turn = {.quaternion = {1.0, 0.0, 0.0, 0.0}};
        MJCF_TRY(mjcf_read_orientation(inertial, &turn, error));
        return mjcf_resolve(&body->source->compiler, &turn, inertial, quaternion, error);
    }
    if (body->first_geom < 0 || body->first_geom != body->last_geom) return CAL_OK;
    cal_shape_def shape;
    bool drawn;
    MJCF_TRY(mjcf_geom_shape(&((mjcf_geom*)model->geoms.items)[body->first_geom], &shape, &drawn, error));
    memcpy(quaternion, shape.quaternion, sizeof shape.quaternion);
    return CAL_OK;
}

static cal_status add_box(mjcf_model* model, const mjcf_body* body, int number, cal_error* error) {
    cal_drag_def drag = cal_default_drag_def();
    double R[9], moments[3];
    drag.body = number;
    memcpy(drag.position, body->solid.center, sizeof drag.position);
    MJCF_TRY(guess_axes(model, body, drag.quaternion, error));
    cal_quaternion_normalize(drag.quaternion);
    cal_quaternion_matrix(drag.quaternion, R);
    find_axes(body->solid.inertia, R, moments);
    cal_matrix_quaternion(R, drag.quaternion);
    for (int i = 0; i < 3; i++) {
        const double rest = moments[(i + 1) % 3] + moments[(i + 2) % 3] - moments[i];
        drag.size[i] = sqrt(fmax(1e-15, rest) / body->solid.mass * 6.0);
    }
    return cal_builder_add_drag(model->reader->builder, &drag) != CAL_NONE ? CAL_OK : mjcf_no_memory(body->node, error);
}

cal_status mjcf_add_drags(mjcf_model* model, cal_error* error) {
    if (model->density == 0.0 && model->viscosity == 0.0) return CAL_OK;
    cal_builder_set_medium(model->reader->builder, model->density, model->viscosity, model->wind);
    for (int b = 0; b < model->bodies.count; b++) {
        const mjcf_body* body = &((mjcf_body*)model->bodies.items)[b];
        bool ellipsoids = false;
        if (body->solid.mass < 1e-15) continue; // as in MuJoCo
        for (int i = body->first_geom; i >= 0; i = ((mjcf_geom*)model->geoms.items)[i].next) {
            mjcf_geom* geom = &((mjcf_geom*)model->geoms.items)[i];
            if (!geom->is_ellipsoid) continue;
            ellipsoids = true;
            MJCF_TRY(add_ellipsoid(model, geom, b, error));
        }
        if (!ellipsoids) MJCF_TRY(add_box(model, body, b, error));
    }
    return CAL_OK;
}
