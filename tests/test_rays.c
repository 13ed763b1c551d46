// Rays end on surfaces: the signed distance, which shares no formula with them, is zero where a ray hits and positive before.
#include "support_collide.h"
#include "base/random.h"
#include <math.h>
#include <string.h>

enum { RAYS = 400, LOOKS = 60 };
static const double ball = 1e-6;

static void random_direction(cal_random* random, double out[3]) {
    double square;
    do {
        for (int i = 0; i < 3; i++) out[i] = cal_random_between(random, -1.0, 1.0);
        square = cal_dot3(out, out);
    } while (square > 1.0 || square < 1e-3);
    for (int i = 0; i < 3; i++) out[i] /= sqrt(square);
}

static double distance_at(const cal_geometry* point, const cal_geometry* geometry, const cal_pose* pose,
                          const double at[3]) {
    const double upright[4] = {1.0, 0.0, 0.0, 0.0};
    const cal_pose here = cal_pose_make(at, upright);
    cal_separation gap;
    cal_distance(point, &here, geometry, pose, NULL, &gap);
    return gap.distance + ball;
}

static void cast_many(const cal_geometry* geometry, uint64_t seed, int* hits) {
    cal_random random = {.state = seed};
    cal_geometry* point = cal_test_shape(CAL_SPHERE, ball, 0.0, 0.0);
    for (int i = 0; i < RAYS; i++) {
        double position[3], quaternion[4], origin[3], direction[3];
        for (int k = 0; k < 3; k++) {
            position[k] = cal_random_between(&random, -0.5, 0.5);
            origin[k] = cal_random_between(&random, -3.0, 3.0);
        }
        for (int k = 0; k < 4; k++) quaternion[k] = cal_random_between(&random, -1.0, 1.0) + 1e-3;
        random_direction(&random, direction);
        for (int k = 0; k < 3; k++) direction[k] -= origin[k]; // about where the geometry is
        const double length = sqrt(cal_dot3(direction, direction));
        for (int k = 0; k < 3; k++) direction[k] /= length;
        const cal_pose pose = cal_pose_make(position, quaternion);
        cal_ray_hit hit;
        const bool found = cal_geometry_cast(geometry, &pose, origin, direction, 10.0, &hit);
        const double end = found ? hit.distance : 10.0;
        for (int k = 0; k < LOOKS; k++) {
            double at[3];
            const double t = end * (k + 0.5) / LOOKS - (found ? 1e-9 : 0.0);
            for (int j = 0; j < 3; j++) at[j] = origin[j] + fmax(t, 0.0) * direction[j];
            if (end > 1e-6) assert_true(distance_at(point, geometry, &pose, at) > -1e-9);
        }
        if (!found) continue;
        (*hits)++;
        double at[3];
        for (int j = 0; j < 3; j++) at[j] = origin[j] + hit.distance * direction[j];
        const double distance = distance_at(point, geometry, &pose, at);
        if (hit.distance > 0.0) {
            assert_true(fabs(distance) < 1e-9);
            assert_true(cal_dot3(hit.normal, direction) < 1e-9);
        } else {
            assert_true(distance <= 1e-9);
        }
    }
    cal_geometry_destroy(point);
}

static void test_every_shape(void** state) {
    (void)state;
    const struct {
        cal_shape_kind kind;
        double size[3];
    } shapes[] = {{CAL_SPHERE, {0.7}},        {CAL_CAPSULE, {0.4, 0.8}},        {CAL_CYLINDER, {0.6, 0.5}},
                  {CAL_BOX, {0.5, 0.9, 0.3}}, {CAL_ELLIPSOID, {0.9, 0.5, 0.3}}, {CAL_PLANE, {0.0}}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        cal_geometry* geometry =
            cal_test_shape(shapes[i].kind, shapes[i].size[0], shapes[i].size[1], shapes[i].size[2]);
        int hits = 0;
        cast_many(geometry, 7 + i, &hits);
        assert_true(hits > 10);
        cal_geometry_destroy(geometry);
    }
}

static void test_hulls_and_unions(void** state) {
    (void)state;
    cal_random random = {.state = 3};
    double points[3 * 24];
    for (int i = 0; i < 24; i++) random_direction(&random, points + 3 * i);
    cal_piece_def pieces[2] = {cal_default_piece_def(), cal_default_piece_def()};
    pieces[0].kind = CAL_MESH;
    pieces[0].vertices = points;
    pieces[0].vertex_count = 24;
    pieces[1].kind = CAL_CYLINDER;
    pieces[1].size[0] = 0.3, pieces[1].size[1] = 1.2;
    pieces[1].position[0] = 0.8;
    cal_geometry* geometry = cal_test_geometry(pieces, 2);
    int hits = 0;
    cast_many(geometry, 11, &hits);
    assert_true(hits > 10);
    cal_geometry_destroy(geometry);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_shape), cmocka_unit_test(test_hulls_and_unions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
