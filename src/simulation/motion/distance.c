// Distances of bodies: closed ones of balls from balls, planes and blocks; all others by their geometries.
#include "simulation/body.h"
#include "simulation/motion/search.h"
#include "simulation/world.h"

void cal_solid_pose(const cal_sim_body* part, const cal_motion* at, cal_pose* out) {
    cal_multiply33(at->pose.rotation, part->solid->block.rotation, out->rotation);
    cal_rotate3(at->pose.rotation, part->solid->block.position, out->position);
    for (int i = 0; i < 3; i++) out->position[i] += at->pose.position[i];
}

double cal_from_solid(const cal_sim_body* part, const cal_pose* pose, const double point[3], double normal[3],
                      double nearest[3]) {
    double local[3], away[3];
    for (int i = 0; i < 3; i++) away[i] = point[i] - pose->position[i];
    cal_unrotate3(pose->rotation, away, local);
    double distance;
    if (part->form == CAL_FORM_PLANE) {
        distance = local[2];
        for (int i = 0; i < 3; i++) normal[i] = pose->rotation[3 * i + 2];
    } else {
        double beyond[3], square = 0.0;
        for (int i = 0; i < 3; i++) {
            beyond[i] = local[i] > part->solid->half[i]    ? local[i] - part->solid->half[i]
                        : local[i] < -part->solid->half[i] ? local[i] + part->solid->half[i]
                                                           : 0.0;
            square += beyond[i] * beyond[i];
        }
        distance = sqrt(square);
        if (square > 0.0) {
            for (int i = 0; i < 3; i++) beyond[i] /= distance;
        } else {
            int side = 0;
            for (int i = 1; i < 3; i++)
                if (part->solid->half[i] - fabs(local[i]) < part->solid->half[side] - fabs(local[side])) side = i;
            beyond[side] = local[side] < 0.0 ? -1.0 : 1.0;
            distance = fabs(local[side]) - part->solid->half[side];
        }
        cal_rotate3(pose->rotation, beyond, normal);
    }
    for (int i = 0; i < 3; i++) nearest[i] = point[i] - distance * normal[i];
    return distance;
}

// Balls against balls, a plane or a block; a has the balls.
static void measure_rounded(const cal_sim_body* a, const cal_motion* at_a, const cal_sim_body* b,
                            const cal_motion* at_b, cal_separation* out) {
    cal_pose solid;
    out->distance = (double)INFINITY;
    if (b->form != CAL_FORM_BALLS) cal_solid_pose(b, at_b, &solid);
    for (int i = 0; i < a->ball_count; i++) {
        double x[3];
        cal_place_ball(a, at_a, i, x);
        for (int j = 0; j < (b->form == CAL_FORM_BALLS ? b->ball_count : 1); j++) {
            double n[3], y[3], distance;
            if (b->form == CAL_FORM_BALLS) {
                cal_place_ball(b, at_b, j, y);
                for (int k = 0; k < 3; k++) n[k] = x[k] - y[k];
                const double length = sqrt(cal_dot3(n, n));
                for (int k = 0; k < 3; k++) n[k] = length > 0.0 ? n[k] / length : (double)(k == 2);
                distance = length - a->balls[i][3] - b->balls[j][3];
                for (int k = 0; k < 3; k++) y[k] += b->balls[j][3] * n[k];
            } else {
                distance = cal_from_solid(b, &solid, x, n, y) - a->balls[i][3];
            }
            if (distance >= out->distance) continue;
            out->distance = distance;
            out->piece_a = i;
            out->piece_b = j;
            for (int k = 0; k < 3; k++) {
                out->normal[k] = n[k];
                out->point_b[k] = y[k];
                out->point_a[k] = y[k] + distance * n[k];
            }
        }
    }
}

static void swap_sides(cal_separation* s) {
    for (int k = 0; k < 3; k++) {
        const double point = s->point_a[k];
        s->point_a[k] = s->point_b[k];
        s->point_b[k] = point;
        s->normal[k] = -s->normal[k];
    }
    const int piece = s->piece_a;
    s->piece_a = s->piece_b;
    s->piece_b = piece;
}

void cal_world_distance(cal_world* world, int a, const cal_motion* at_a, int b, const cal_motion* at_b, double limit,
                        cal_distance_cache* warm, cal_separation* out) {
    const cal_sim_body *p = &world->bodies[a], *q = &world->bodies[b];
    world->report.checks++;
    if (p->form == CAL_FORM_BALLS && q->form != CAL_FORM_GENERAL) {
        measure_rounded(p, at_a, q, at_b, out);
    } else if (q->form == CAL_FORM_BALLS && p->form != CAL_FORM_GENERAL) {
        measure_rounded(q, at_b, p, at_a, out);
        swap_sides(out);
    } else if (limit < (double)INFINITY) {
        cal_distance_within(p->geometry, &at_a->pose, q->geometry, &at_b->pose, limit, warm, out);
    } else {
        cal_distance(p->geometry, &at_a->pose, q->geometry, &at_b->pose, warm, out);
    }
}
