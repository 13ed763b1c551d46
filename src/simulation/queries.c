// Questions about where things are at the committed time: rays, and what a shape would touch.
#include "simulation/body.h"
#include "simulation/members.h"
#include "simulation/world.h"
#include <string.h>

static bool is_unit(const double direction[3], double out[3]) {
    const double length = sqrt(cal_dot3(direction, direction));
    if (!(length > 0.0) || !isfinite(length)) return false;
    for (int i = 0; i < 3; i++) out[i] = direction[i] / length;
    return true;
}

// Whether a ray comes near enough to a ball to be looked at more closely.
static bool passes(const double center[3], double reach, const double origin[3], const double direction[3],
                   double limit) {
    double away[3];
    for (int i = 0; i < 3; i++) away[i] = center[i] - origin[i];
    const double nearest = fmin(fmax(cal_dot3(away, direction), 0.0), limit);
    for (int i = 0; i < 3; i++) away[i] -= nearest * direction[i];
    return !(cal_dot3(away, away) > reach * reach * (1.0 + 1e-12));
}

cal_status cal_world_cast_ray(cal_world* world, const double origin[3], const double direction[3], double limit,
                              cal_body_id ignored, cal_ray_result* out, cal_error* error) {
    if (!world || !origin || !direction || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_cast_ray: arguments must not be NULL");
    double along[3];
    *out = (cal_ray_result){.body = {-1, 0}, .shape = -1, .distance = (double)INFINITY};
    if (!is_unit(direction, along) || !(limit > 0.0) || !isfinite(cal_dot3(origin, origin)))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a ray needs a finite origin, a direction that is not zero and a limit "
                        "above zero");
    if (ignored.index >= 0) {
        const cal_status known = cal_check_body(world, ignored, error);
        if (known != CAL_OK) return known;
    }
    double nearest = limit;
    const cal_status complete = cal_world_complete(world);
    if (complete != CAL_OK) return cal_fail(error, complete, "%s", cal_status_text(complete));
    for (int i = 0; i < world->body_count; i++) {
        const cal_sim_body* body = &world->bodies[i];
        cal_motion at;
        cal_ray_hit hit;
        if (body->geometry == NULL || i == ignored.index) continue;
        const cal_status status = cal_body_at(world, i, world->time, &at);
        if (status != CAL_OK) return cal_fail(error, status, "a body cannot be followed to %g s", world->time);
        if (!passes(at.pose.position, body->reach, origin, along, nearest)) continue;
        if (!cal_geometry_cast(body->geometry, &at.pose, origin, along, nearest, &hit)) continue;
        if (out->body.index >= 0 && hit.distance >= nearest) continue; // the first of two
        nearest = hit.distance;
        *out = (cal_ray_result){.body = cal_world_body(world, i),
                                .shape = cal_geometry_tag(body->geometry, hit.piece),
                                .distance = hit.distance};
        memcpy(out->normal, hit.normal, sizeof out->normal);
        for (int k = 0; k < 3; k++) out->point[k] = origin[k] + hit.distance * along[k];
    }
    return CAL_OK;
}

static cal_status make_probe(const cal_shape_def* shape, const cal_mesh_def* mesh, cal_geometry** out,
                             cal_error* error) {
    cal_piece_def piece = cal_default_piece_def();
    piece.kind = shape->kind;
    memcpy(piece.position, shape->position, sizeof piece.position);
    memcpy(piece.quaternion, shape->quaternion, sizeof piece.quaternion);
    memcpy(piece.size, shape->size, sizeof piece.size);
    piece.category = shape->category;
    piece.mask = shape->mask;
    if (mesh != NULL) {
        piece.vertices = mesh->vertices;
        piece.vertex_count = mesh->vertex_count;
        piece.columns = mesh->columns;
    }
    return cal_geometry_create(&piece, 1, out, error);
}

cal_status cal_world_overlaps(cal_world* world, const cal_shape_def* shape, const cal_mesh_def* mesh, double margin,
                              cal_overlap* out, int capacity, int* count, cal_error* error) {
    if (!world || !shape || !count || (!out && capacity > 0))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_overlaps: only mesh and error may be NULL");
    static const double origin[3] = {0.0, 0.0, 0.0}, upright[4] = {1.0, 0.0, 0.0, 0.0};
    *count = 0;
    if (!(margin >= 0.0)) return cal_fail(error, CAL_BAD_ARGUMENT, "a margin of %g must not be negative", margin);
    cal_geometry* probe;
    cal_status status = make_probe(shape, mesh, &probe, error);
    if (status != CAL_OK) return status;
    status = cal_world_complete(world);
    if (status != CAL_OK) cal_explain(error, status, "%s", cal_status_text(status));
    const cal_pose here = cal_pose_make(origin, upright);
    for (int i = 0; status == CAL_OK && i < world->body_count; i++) {
        const cal_sim_body* body = &world->bodies[i];
        cal_motion at;
        cal_separation gap;
        if (body->geometry == NULL) continue;
        status = cal_body_at(world, i, world->time, &at);
        if (status != CAL_OK) {
            status = cal_fail(error, status, "a body cannot be followed to %g s", world->time);
            break;
        }
        cal_distance_within(probe, &here, body->geometry, &at.pose, margin, NULL, &gap);
        if (gap.piece_a < 0 || gap.distance > margin) continue;
        if (*count < capacity) {
            out[*count] = (cal_overlap){.body = cal_world_body(world, i),
                                        .shape = cal_geometry_tag(body->geometry, gap.piece_b),
                                        .distance = gap.distance};
            memcpy(out[*count].normal, gap.normal, sizeof gap.normal);
            memcpy(out[*count].point, gap.point_b, sizeof gap.point_b);
        }
        (*count)++;
    }
    cal_geometry_destroy(probe);
    return status;
}
