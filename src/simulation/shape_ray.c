// Rays and shapes (shape_ray.h). A triangle with the corner a and the edges u, w is met by o + t d where
//
//     o − a + t d = x u + y w ,  x, y ≥ 0, x + y ≤ 1
//
// which Cramer's rule solves (Möller and Trumbore).
#include "simulation/shape_ray.h"
#include "model/model.h"
#include <math.h>
#include <string.h>

static void subtract(const double a[3], const double b[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = a[i] - b[i];
}

static void cast_triangles(const cal_mesh_def* mesh, const double o[3], const double d[3], double* nearest) {
    for (int i = 0; i < mesh->triangle_count; i++) {
        const int32_t* corner = mesh->triangles + 3 * (size_t)i;
        const double* a = mesh->vertices + 3 * (size_t)corner[0];
        double u[3], w[3], away[3], p[3], s[3];
        subtract(mesh->vertices + 3 * (size_t)corner[1], a, u);
        subtract(mesh->vertices + 3 * (size_t)corner[2], a, w);
        subtract(o, a, away);
        cal_cross3(d, w, p);
        const double determinant = cal_dot3(u, p);
        if (determinant == 0.0) continue; // along the triangle, or one without area
        cal_cross3(away, u, s);
        const double x = cal_dot3(away, p) / determinant, y = cal_dot3(d, s) / determinant,
                     t = cal_dot3(w, s) / determinant;
        if (x >= 0.0 && y >= 0.0 && x + y <= 1.0 && t >= 0.0 && t < *nearest) *nearest = t;
    }
}

cal_status cal_shape_cast(const cal_model* model, const cal_shape_def* shape, const cal_pose* pose,
                          const double origin[3], const double direction[3], double* nearest, cal_error* error) {
    const bool meshed = shape->kind == CAL_MESH || shape->kind == CAL_HEIGHT_FIELD;
    const cal_mesh_def* mesh = meshed ? &model->meshes[shape->mesh] : NULL;
    if (shape->kind == CAL_MESH) {
        double away[3], o[3], d[3];
        subtract(origin, pose->position, away);
        cal_unrotate3(pose->rotation, away, o);
        cal_unrotate3(pose->rotation, direction, d);
        cast_triangles(mesh, o, d, nearest);
        return CAL_OK;
    }
    cal_piece_def piece = cal_default_piece_def();
    piece.kind = shape->kind;
    memcpy(piece.size, shape->size, sizeof piece.size);
    if (mesh != NULL) {
        piece.vertices = mesh->vertices;
        piece.vertex_count = mesh->vertex_count;
        piece.columns = mesh->columns;
    }
    cal_geometry* geometry = NULL;
    const cal_status status = cal_geometry_create(&piece, 1, &geometry, error);
    if (status != CAL_OK) return status;
    cal_ray_hit hit;
    if (cal_geometry_cast(geometry, pose, origin, direction, *nearest, &hit)) *nearest = fmin(*nearest, hit.distance);
    cal_geometry_destroy(geometry);
    return CAL_OK;
}
