// Contact manifolds, geometries (mass, boxes, what is refused), and the broad phase against a look at all pairs.
#include "base/memory.h"
#include "base/random.h"
#include "support_collide.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double still[4] = {1.0, 0.0, 0.0, 0.0};

static cal_pose at(double x, double y, double z) {
    const double position[3] = {x, y, z};
    return cal_pose_make(position, still);
}

static cal_pose turned(double x, double y, double z, double ax, double ay, double az, double angle) {
    const double position[3] = {x, y, z}, s = sin(0.5 * angle), q[4] = {cos(0.5 * angle), s * ax, s * ay, s * az};
    return cal_pose_make(position, q);
}

// --- Manifolds --------------------------------------------------------------------------------------------------------

enum { ROOM = 64 };

// The contacts' least and greatest x and y, for those of one pair of bodies.
static cal_box spread(const cal_contact* contacts, int count) {
    cal_box box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            box.low[k] = fmin(box.low[k], contacts[i].point[k]);
            box.high[k] = fmax(box.high[k], contacts[i].point[k]);
        }
    return box;
}

static void test_box_on_box(void** state) {
    (void)state;
    cal_geometry *upper = cal_test_shape(CAL_BOX, 1, 1, 1), *lower = cal_test_shape(CAL_BOX, 2, 3, 1);
    const cal_pose pu = at(1.5, 0, 1.999), pl = at(0, 0, 0);
    cal_contact c[ROOM];
    const int count = cal_contacts(upper, &pu, lower, &pl, 0.01, c, ROOM);
    assert_int_equal(count, 4);
    const cal_box box = spread(c, count);
    cal_test_expect_near(box.low[0], 0.5, 1e-14, "left");
    cal_test_expect_near(box.high[0], 2.0, 1e-14, "right, where the lower one ends");
    cal_test_expect_near(box.low[1], -1.0, 1e-14, "front");
    cal_test_expect_near(box.high[1], 1.0, 1e-14, "back");
    for (int i = 0; i < count; i++) {
        cal_test_expect_near(c[i].separation, -0.001, 1e-14, "depth");
        cal_test_expect_near(c[i].normal[2], 1.0, 1e-14, "normal");
        cal_test_expect_near(c[i].point[2], 0.9995, 1e-14, "half way");
        for (int k = 0; k < i; k++) assert_int_not_equal(c[i].feature, c[k].feature);
    }
    cal_geometry_destroy(upper);
    cal_geometry_destroy(lower);
}

// Forces are remembered by the features of contacts: two of a pair must not have the same, nor be at the same place.
static void test_points_of_a_pair_are_told_apart(void** state) {
    (void)state;
    cal_geometry *upper = cal_test_shape(CAL_BOX, 1, 0.5, 0.2), *lower = cal_test_shape(CAL_BOX, 1, 0.5, 0.2);
    cal_random random = {11};
    for (int n = 0; n < 4000; n++) {
        // Flush along one side to rounding, or anywhere; a third of them turned, two thirds of those by little.
        const double angle = n % 3 == 0 ? 0.0 : (n % 3 == 1 ? 1e-3 : 3.0) * cal_random_between(&random, -0.5, 0.5);
        const double x = n % 2 == 0 ? 1e-16 * n : cal_random_between(&random, 0.0, 1.0), y = n % 5 == 0 ? 0.0 : 0.3 * x;
        const cal_pose pu = turned(x, y, 0.4, 0, 0, 1, angle), pl = at(0, 0, 0);
        cal_contact c[ROOM];
        const int count = cal_contacts(upper, &pu, lower, &pl, 0.01, c, ROOM);
        assert_true(count >= 3);
        for (int i = 0; i < count; i++)
            for (int k = 0; k < i; k++) {
                assert_int_not_equal(c[i].feature, c[k].feature);
                assert_true(fabs(c[i].point[0] - c[k].point[0]) + fabs(c[i].point[1] - c[k].point[1]) > 1e-10);
            }
    }
    cal_geometry_destroy(upper);
    cal_geometry_destroy(lower);
}

static void test_turned_boxes_make_an_octagon(void** state) {
    (void)state;
    cal_geometry* box = cal_test_shape(CAL_BOX, 1, 1, 1);
    const double eighth = 0.25 * 3.14159265358979323846;
    const cal_pose upper = turned(0, 0, 2, 0, 0, 1, eighth), lower = at(0, 0, 0);
    cal_contact c[ROOM];
    assert_int_equal(cal_contacts(box, &upper, box, &lower, 0.01, c, ROOM), 8);
    for (int i = 0; i < 8; i++) {
        const double x = fabs(c[i].point[0]), y = fabs(c[i].point[1]);
        cal_test_expect_near(fmax(x, y), 1.0, 1e-13, "on the square");
        cal_test_expect_near(fmin(x, y), sqrt(2.0) - 1.0, 1e-13, "a regular octagon");
    }
    cal_geometry_destroy(box);
}

// A box that leans keeps the points that it will land on, as long as they are within the margin.
static void test_leaning_box(void** state) {
    (void)state;
    cal_geometry *box = cal_test_shape(CAL_BOX, 1, 1, 1), *plane = cal_test_shape(CAL_PLANE, 0, 0, 0);
    const double angle = 0.001, lift = sin(angle) + cos(angle);
    const cal_pose pose = turned(0, 0, lift, 0, 1, 0, angle), ground = at(0, 0, 0);
    cal_contact c[ROOM];
    assert_int_equal(cal_contacts(box, &pose, plane, &ground, 0.01, c, ROOM), 4);
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 4; i++) low = fmin(low, c[i].separation), high = fmax(high, c[i].separation);
    cal_test_expect_near(low, 0.0, 1e-14, "the edge that it stands on");
    cal_test_expect_near(high, 2.0 * sin(angle), 1e-14, "the other one");
    assert_int_equal(cal_contacts(box, &pose, plane, &ground, 0.001, c, ROOM), 2);
    cal_geometry_destroy(box);
    cal_geometry_destroy(plane);
}

// A hull stands on both ends of its keel, between steep sides: the stem, which leans less than they do, was taken for what faces the
// ground, so that one end alone touched, now this one and now the other.
static void test_keel(void** state) {
    (void)state;
    static const double vertices[] = {-1, 0, 0, 1, 0, 0, 2, 0.05, 1, 2, -0.05, 1, -1, 0.1, 1, -1, -0.1, 1};
    cal_piece_def def = cal_default_piece_def();
    def.kind = CAL_MESH;
    def.vertices = vertices;
    def.vertex_count = 6;
    cal_geometry *hull = cal_test_geometry(&def, 1), *plane = cal_test_shape(CAL_PLANE, 0, 0, 0),
                 *table = cal_test_shape(CAL_BOX, 5, 5, 1);
    const cal_pose standing = turned(0, 0, 0.0, 0, 1, 0, 1e-6), ground = at(0, 0, 0), below = at(0, 0, -1);
    cal_contact c[ROOM];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(
            cal_contacts(hull, &standing, k == 0 ? plane : table, k == 0 ? &ground : &below, 0.01, c, ROOM), 2);
        const cal_box box = spread(c, 2);
        cal_test_expect_near(box.low[0], -1.0, 1e-5, "stern");
        cal_test_expect_near(box.high[0], 1.0, 1e-5, "stem");
        assert_int_not_equal(c[0].feature, c[1].feature);
    }
    cal_geometry_destroy(hull);
    cal_geometry_destroy(plane);
    cal_geometry_destroy(table);
}

static void test_round_shapes(void** state) {
    (void)state;
    cal_geometry *plane = cal_test_shape(CAL_PLANE, 0, 0, 0), *capsule = cal_test_shape(CAL_CAPSULE, 0.5, 1, 0);
    cal_geometry *cylinder = cal_test_shape(CAL_CYLINDER, 0.5, 1, 0), *sphere = cal_test_shape(CAL_SPHERE, 0.5, 0, 0);
    cal_geometry* ellipsoid = cal_test_shape(CAL_ELLIPSOID, 0.5, 1, 2);
    const double quarter = 0.5 * 3.14159265358979323846;
    const cal_pose ground = at(0, 0, 0), lying = turned(0, 0, 0.5, 0, 1, 0, quarter), standing = at(0, 0, 1);
    const cal_pose above = at(0, 0, 0.5), balanced = at(0, 0, 2);
    cal_contact c[ROOM];
    assert_int_equal(cal_contacts(sphere, &above, plane, &ground, 0.01, c, ROOM), 1);
    assert_int_equal(cal_contacts(ellipsoid, &balanced, plane, &ground, 0.01, c, ROOM), 1);
    assert_int_equal(cal_contacts(capsule, &lying, plane, &ground, 0.01, c, ROOM), 2);
    cal_test_expect_near(spread(c, 2).high[0], 1.0, 1e-14, "end of a capsule");
    assert_int_equal(cal_contacts(cylinder, &lying, plane, &ground, 0.01, c, ROOM), 2);
    cal_test_expect_near(spread(c, 2).low[0], -1.0, 1e-14, "end of a cylinder");
    cal_test_expect_near(c[0].separation, 0.0, 1e-14, "a cylinder's side");
    assert_int_equal(cal_contacts(cylinder, &standing, plane, &ground, 0.01, c, ROOM), 8);
    for (int i = 0; i < 8; i++)
        cal_test_expect_near(c[i].point[0] * c[i].point[0] + c[i].point[1] * c[i].point[1], 0.25, 1e-14, "on the rim");
    // Two capsules side by side share a stretch.
    const cal_pose beside = turned(0.5, 0.9, 0.5, 0, 1, 0, quarter);
    assert_int_equal(cal_contacts(capsule, &lying, capsule, &beside, 0.01, c, ROOM), 2);
    cal_test_expect_near(spread(c, 2).low[0], -0.5, 1e-14, "start of the stretch");
    cal_test_expect_near(spread(c, 2).high[0], 1.0, 1e-14, "end of the stretch");
    for (int i = 0; i < 2; i++) {
        cal_test_expect_near(c[i].separation, -0.1, 1e-14, "depth");
        cal_test_expect_near(c[i].point[1], 0.45, 1e-14, "half way");
        cal_test_expect_near(c[i].normal[1], -1.0, 1e-14, "from the second to the first");
    }
    cal_geometry_destroy(plane);
    cal_geometry_destroy(capsule);
    cal_geometry_destroy(cylinder);
    cal_geometry_destroy(sphere);
    cal_geometry_destroy(ellipsoid);
}

// On a round table, as far as its rim: points are those that the two share, wherever on the rim that is.
static void test_on_a_round_table(void** state) {
    (void)state;
    cal_geometry *table = cal_test_shape(CAL_CYLINDER, 1, 0.5, 0), *box = cal_test_shape(CAL_BOX, 0.02, 0.02, 0.02);
    cal_geometry *rod = cal_test_shape(CAL_CAPSULE, 0.01, 0.5, 0), *plate = cal_test_shape(CAL_BOX, 2, 0.3, 0.02);
    const double quarter = 0.5 * 3.14159265358979323846;
    const cal_pose below = at(0, 0, -0.5);
    cal_contact c[ROOM];
    for (int k = 0; k < 32; k++) {
        const double angle = 0.125 * quarter * k, x = cos(angle), y = sin(angle);
        // A box that is on the table just so.
        const cal_pose inside = turned(0.955 * x, 0.955 * y, 0.02, 0, 0, 1, angle + 0.3);
        assert_int_equal(cal_contacts(box, &inside, table, &below, 0.01, c, ROOM), 4);
        // A rod along the rim, and one that ends beyond it.
        for (int across = 0; across < 2; across++) {
            double way[3] = {across ? x : -y, across ? y : x, 0.0}, position[3], q[4];
            // About an axis across z and the way, by a quarter: the rod's own z goes along it.
            q[0] = cos(0.5 * quarter), q[1] = -sin(0.5 * quarter) * way[1], q[2] = sin(0.5 * quarter) * way[0],
            q[3] = 0.0;
            position[0] = 0.86 * x, position[1] = 0.86 * y, position[2] = 0.01;
            const cal_pose lying = cal_pose_make(position, q);
            assert_int_equal(cal_contacts(rod, &lying, table, &below, 0.01, c, ROOM), 2);
            double far = -INFINITY;
            for (int i = 0; i < 2; i++) far = fmax(far, way[0] * c[i].point[0] + way[1] * c[i].point[1]);
            cal_test_expect_near(far, across ? 1.0 : 0.5, 1e-12, "end of a rod");
            assert_int_not_equal(c[0].feature, c[1].feature);
        }
        // A plate that goes over the table, and under which both rims end: four crossings, and what of the rim's eight is below it.
        const cal_pose over = turned(0, 0, 0.02, 0, 0, 1, angle);
        const int count = cal_contacts(plate, &over, table, &below, 0.01, c, ROOM);
        assert_true(count >= 4);
        double most = 0.0;
        for (int i = 0; i < count; i++) {
            const double along = x * c[i].point[0] + y * c[i].point[1], aside = -y * c[i].point[0] + x * c[i].point[1];
            cal_test_expect_below(along * along + aside * aside, 1.0 + 1e-9, "a point", "a plate");
            cal_test_expect_below(fabs(aside), 0.3 + 1e-9, "a point", "a plate");
            most = fmax(most, fabs(along));
            for (int n = 0; n < i; n++) assert_int_not_equal(c[i].feature, c[n].feature);
        }
        cal_test_expect_below(sqrt(1.0 - 0.09) - 1e-9, most, "how far it is carried", "a plate");
    }
    cal_geometry_destroy(table);
    cal_geometry_destroy(box);
    cal_geometry_destroy(rod);
    cal_geometry_destroy(plate);
}

// Of any two bodies: the nearest points are among the contacts, none is deeper, and swapping bodies turns normals round.
static void test_manifolds_agree_with_distance(void** state) {
    (void)state;
    static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_CAPSULE, CAL_BOX, CAL_CYLINDER, CAL_ELLIPSOID};
    cal_random random = {3};
    for (int i = 0; i < 4000; i++) {
        cal_geometry* g[2];
        cal_pose pose[2];
        for (int k = 0; k < 2; k++) {
            double p[3], q[4] = {1.0};
            for (int m = 0; m < 4; m++) q[m] += cal_random_between(&random, -1.0, 1.0);
            for (int m = 0; m < 3; m++) p[m] = cal_random_between(&random, -1.0, 1.0);
            if (i % 3 == 0) memcpy(q, still, sizeof q);
            pose[k] = cal_pose_make(p, q);
            g[k] = cal_test_shape(kinds[cal_random_below(&random, 5)], cal_random_between(&random, 0.2, 1.0),
                                  cal_random_between(&random, 0.2, 1.0), cal_random_between(&random, 0.2, 1.0));
        }
        cal_separation s;
        cal_distance(g[0], &pose[0], g[1], &pose[1], NULL, &s);
        for (int k = 0; k < 3; k++) pose[0].position[k] -= (s.distance + 1e-3) * s.normal[k];
        cal_distance(g[0], &pose[0], g[1], &pose[1], NULL, &s);
        cal_contact c[ROOM], other[ROOM];
        memset(c, 0, sizeof c);
        memset(other, 0, sizeof other);
        const int count = cal_contacts(g[0], &pose[0], g[1], &pose[1], 0.01, c, ROOM);
        assert_in_range(count, 1, CAL_MANIFOLD_POINTS + 1);
        assert_int_equal(cal_contacts(g[0], &pose[0], g[1], &pose[1], 0.01, other, ROOM), count);
        assert_memory_equal(c, other, (size_t)count * sizeof *c);
        double least = INFINITY;
        for (int k = 0; k < count; k++) {
            least = fmin(least, c[k].separation);
            for (int m = 0; m < 3; m++) cal_test_expect_near(c[k].normal[m], s.normal[m], 0.0, "one normal");
        }
        cal_test_expect_near(least, s.distance, 1e-5, "the deepest one");
        cal_geometry_destroy(g[0]);
        cal_geometry_destroy(g[1]);
    }
}

// Two boxes that touch to a rounding, on either side of it, do so at a point of both: one that a rounding parts had its contact in the
// middle of a box.
static void test_boxes_that_touch_to_a_rounding(void** state) {
    (void)state;
    cal_random random = {7};
    const double sizes[2][3] = {{0.05, 0.04, 0.03}, {0.3, 0.3, 0.03}};
    cal_geometry* shapes[2];
    int apart = 0, overlapping = 0;
    for (int k = 0; k < 2; k++) shapes[k] = cal_test_shape(CAL_BOX, sizes[k][0], sizes[k][1], sizes[k][2]);
    for (int trial = 0; trial < 2000; trial++) {
        cal_pose poses[2];
        cal_separation s;
        cal_contact c[ROOM];
        for (int k = 0; k < 2; k++) {
            double position[3], q[4];
            for (int i = 0; i < 3; i++) position[i] = cal_random_between(&random, -0.4, 0.4);
            for (int i = 0; i < 4; i++) q[i] = cal_random_between(&random, -1.0, 1.0);
            poses[k] = cal_pose_make(position, q);
        }
        for (int round = 0; round < 2; round++) {
            cal_distance(shapes[0], &poses[0], shapes[1], &poses[1], NULL, &s);
            for (int i = 0; i < 3; i++) poses[0].position[i] -= s.distance * s.normal[i];
        }
        const int count = cal_contacts(shapes[0], &poses[0], shapes[1], &poses[1], 1e-9, c, ROOM);
        assert_true(count > 0);
        for (int n = 0; n < count && n < ROOM; n++) {
            apart += c[n].separation > 0.0, overlapping += c[n].separation < 0.0;
            for (int k = 0; k < 2; k++) {
                double d[3], local[3];
                for (int i = 0; i < 3; i++) d[i] = c[n].point[i] - poses[k].position[i];
                cal_unrotate3(poses[k].rotation, d, local);
                double out = -INFINITY;
                for (int i = 0; i < 3; i++) out = fmax(out, fabs(local[i]) - sizes[k][i]);
                cal_test_expect_near(out, 0.0, 2e-9, "distance of a contact from a surface");
            }
        }
    }
    assert_true(apart > 100 && overlapping > 100);
    for (int k = 0; k < 2; k++) cal_geometry_destroy(shapes[k]);
}

// --- Height fields ----------------------------------------------------------------------------------------------------

enum { COLUMNS = 9, ROWS = 7 };

static cal_geometry* field(double slope, double ridge) {
    static double vertices[3 * COLUMNS * ROWS];
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            double* v = vertices + 3 * (row * COLUMNS + column);
            v[0] = column - 4.0, v[1] = row - 3.0, v[2] = slope * v[0] - ridge * fabs(v[0]);
        }
    cal_piece_def def = cal_default_piece_def();
    def.kind = CAL_HEIGHT_FIELD;
    def.vertices = vertices;
    def.vertex_count = COLUMNS * ROWS;
    def.columns = COLUMNS;
    return cal_test_geometry(&def, 1);
}

// Nothing catches on the walls between prisms, wherever a body that has sunk in by a little is.
static void test_height_field_walls(void** state) {
    (void)state;
    cal_random random = {4};
    const double slopes[] = {0.0, 0.3, -0.6};
    for (int s = 0; s < 3; s++) {
        cal_geometry* ground = field(slopes[s], 0.0);
        cal_geometry *ball = cal_test_shape(CAL_SPHERE, 0.2, 0, 0), *box = cal_test_shape(CAL_BOX, 0.2, 0.3, 0.1);
        const double length = sqrt(1.0 + slopes[s] * slopes[s]), up[3] = {-slopes[s] / length, 0.0, 1.0 / length};
        const cal_pose here = at(0, 0, 0);
        assert_int_equal(cal_geometry_piece_count(ground), 2 * (COLUMNS - 1) * (ROWS - 1));
        for (int i = 0; i < 500; i++) {
            const double x = cal_random_between(&random, -3.0, 3.0), y = cal_random_between(&random, -2.0, 2.0);
            const double depth = i % 2 == 0 ? 1e-6 : 1e-3, height = 0.2 - depth;
            const cal_pose pose = at(x + height * up[0], y, slopes[s] * x + height * up[2]);
            cal_separation d;
            cal_distance(ball, &pose, ground, &here, NULL, &d);
            cal_test_expect_near(d.distance, -depth, 1e-14, "depth");
            cal_contact c[ROOM];
            const int count = cal_contacts(ball, &pose, ground, &here, 1e-4, c, ROOM);
            assert_in_range(count, 1, 12);
            for (int k = 0; k < count; k++)
                for (int m = 0; m < 3; m++) cal_test_expect_near(c[k].normal[m], up[m], 1e-6, "ball's normal");
            const cal_pose flat =
                turned(x + (0.1 - depth) * up[0], y, slopes[s] * x + (0.1 - depth) * up[2], 0, 1, 0, -atan(slopes[s]));
            const int more = cal_contacts(box, &flat, ground, &here, 1e-4, c, ROOM);
            assert_in_range(more, 3, ROOM);
            for (int k = 0; k < more; k++) {
                for (int m = 0; m < 3; m++) cal_test_expect_near(c[k].normal[m], up[m], 1e-6, "box's normal");
                cal_test_expect_near(c[k].separation, -depth, 1e-9, "box's depth");
            }
        }
        cal_geometry_destroy(ground);
        cal_geometry_destroy(ball);
        cal_geometry_destroy(box);
    }
}

// What is in a steep height field is told, whatever else is near: a point of its grid that is in a box by so much is as far from being out of
// it. A contact that is nobody's was left out where another one was within the margin, and boxes sank in.
static void test_height_field_depth(void** state) {
    (void)state;
    static double vertices[3 * COLUMNS * ROWS];
    const double size[3] = {0.3, 0.5, 0.2};
    const cal_pose here = at(0, 0, 0);
    cal_random random = {11};
    int inside = 0;
    cal_geometry* box = cal_test_shape(CAL_BOX, size[0], size[1], size[2]);
    for (int i = 0; i < 3000; i++) {
        cal_piece_def def = cal_default_piece_def();
        def.kind = CAL_HEIGHT_FIELD;
        def.vertices = vertices, def.vertex_count = COLUMNS * ROWS, def.columns = COLUMNS;
        for (int k = 0; k < COLUMNS * ROWS; k++) {
            vertices[3 * k] = k % COLUMNS - 4.0, vertices[3 * k + 1] = floor((double)k / COLUMNS) - 3.0;
            vertices[3 * k + 2] = cal_random_between(&random, -1.0, 1.0);
        }
        cal_geometry* ground = cal_test_geometry(&def, 1);
        double p[3], axis[3];
        for (int k = 0; k < 3; k++) p[k] = cal_random_between(&random, -1.2, 1.2);
        for (int k = 0; k < 3; k++) axis[k] = cal_random_between(&random, -1.0, 1.0);
        const cal_pose pose =
            turned(p[0], p[1], p[2], axis[0], axis[1], axis[2], cal_random_between(&random, 0.0, 3.0));
        double depth = 0.0;
        for (int k = 0; k < COLUMNS * ROWS; k++) {
            double d[3], local[3], least = INFINITY;
            for (int m = 0; m < 3; m++) d[m] = vertices[3 * k + m] - pose.position[m];
            cal_unrotate3(pose.rotation, d, local);
            for (int m = 0; m < 3; m++) least = fmin(least, size[m] - fabs(local[m]));
            depth = fmax(depth, least);
        }
        for (int wide = 0; wide < 2 && depth > 0.0; wide++) {
            static cal_contact c[10 * ROOM];
            const int count = cal_contacts(box, &pose, ground, &here, wide ? 1.0 : 1e-4, c, 10 * ROOM);
            double deepest = 0.0;
            assert_in_range(count, 1, 10 * ROOM);
            for (int k = 0; k < count; k++) deepest = fmax(deepest, -c[k].separation);
            cal_test_expect_below(0.5 * depth - deepest, 1e-6, "depth that no contact tells of", "a box");
            inside++;
        }
        cal_geometry_destroy(ground);
    }
    assert_true(inside > 500);
    cal_geometry_destroy(box);
}

// On a ridge a ball is held by normals between those of the two sides.
static void test_height_field_ridge(void** state) {
    (void)state;
    cal_geometry *ground = field(0.0, 0.5), *ball = cal_test_shape(CAL_SPHERE, 0.2, 0, 0);
    const cal_pose here = at(0, 0, 0), pose = at(0.02, 0.3, 0.2 - 2e-3);
    cal_contact c[ROOM];
    const int count = cal_contacts(ball, &pose, ground, &here, 1e-3, c, ROOM);
    assert_in_range(count, 1, ROOM);
    for (int k = 0; k < count; k++) assert_true(c[k].normal[2] > 0.894); // 2/√5, the sides' own
    cal_geometry_destroy(ground);
    cal_geometry_destroy(ball);
}

// --- Geometries -------------------------------------------------------------------------------------------------------

// A mesh of each shape's corners, or of points on its surface, weighs the same, or nearly.
static void test_mass(void** state) {
    (void)state;
    const double pi = 3.14159265358979323846;
    cal_mass_properties m;
    cal_geometry* g = cal_test_shape(CAL_SPHERE, 2, 0, 0);
    cal_geometry_mass(g, 3.0, &m);
    cal_test_expect_near(m.mass, 3.0 * 4.0 / 3.0 * pi * 8.0, 1e-12, "ball");
    cal_test_expect_near(m.inertia[0], 0.4 * m.mass * 4.0, 1e-11, "ball");
    cal_geometry_destroy(g);
    g = cal_test_shape(CAL_CYLINDER, 2, 3, 0);
    cal_geometry_mass(g, 1.0, &m);
    cal_test_expect_near(m.mass, pi * 4.0 * 6.0, 1e-12, "cylinder");
    cal_test_expect_near(m.inertia[2], 0.5 * m.mass * 4.0, 1e-11, "cylinder");
    cal_test_expect_near(m.inertia[0], m.mass * (3.0 * 4.0 + 36.0) / 12.0, 1e-11, "cylinder");
    cal_geometry_destroy(g);
    // A capsule without a length is a ball; a long one a cylinder with its caps.
    g = cal_test_shape(CAL_CAPSULE, 1, 1e-9, 0);
    cal_geometry_mass(g, 1.0, &m);
    cal_test_expect_near(m.inertia[0] / m.mass, 0.4, 1e-8, "capsule");
    cal_geometry_destroy(g);
    // A unit cube as a mesh, off the origin and turned, against the box.
    double corners[8][3];
    cal_piece_def def = cal_default_piece_def();
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++) corners[i][k] = (i >> k & 1) != 0 ? 1.0 + k : -1.0 - k;
    def.kind = CAL_MESH;
    def.vertices = corners[0];
    def.vertex_count = 8;
    def.position[0] = 5.0, def.quaternion[1] = 0.3, def.quaternion[2] = -0.2;
    cal_geometry* mesh = cal_test_geometry(&def, 1);
    def.kind = CAL_BOX;
    def.size[0] = 1.0, def.size[1] = 2.0, def.size[2] = 3.0;
    cal_geometry* box = cal_test_geometry(&def, 1);
    cal_mass_properties n;
    cal_geometry_mass(mesh, 1.0, &m);
    cal_geometry_mass(box, 1.0, &n);
    cal_test_expect_near(m.mass, 48.0, 1e-12, "mesh");
    for (int i = 0; i < 6; i++) cal_test_expect_near(m.inertia[i], n.inertia[i], 1e-10, "mesh and box");
    for (int i = 0; i < 3; i++) cal_test_expect_near(m.center[i], n.center[i], 1e-13, "centres");
    cal_geometry_destroy(mesh);
    cal_geometry_destroy(box);
    // Two halves of a box weigh what the box does.
    cal_piece_def halves[2] = {cal_default_piece_def(), cal_default_piece_def()};
    for (int k = 0; k < 2; k++) {
        halves[k].kind = CAL_BOX;
        halves[k].size[0] = 1.0, halves[k].size[1] = 2.0, halves[k].size[2] = 1.5;
        halves[k].position[2] = k == 0 ? 1.5 : -1.5;
    }
    cal_geometry* both = cal_test_geometry(halves, 2);
    g = cal_test_shape(CAL_BOX, 1, 2, 3);
    cal_geometry_mass(both, 1.0, &m);
    cal_geometry_mass(g, 1.0, &n);
    for (int i = 0; i < 6; i++) cal_test_expect_near(m.inertia[i], n.inertia[i], 1e-11, "halves");
    cal_geometry_destroy(both);
    cal_geometry_destroy(g);
}

// A plane has a box without end, but for the side that it faces.
static void test_box_of_a_plane(void** state) {
    (void)state;
    cal_geometry* plane = cal_test_shape(CAL_PLANE, 0, 0, 0);
    const cal_pose pose = at(1, 2, 3);
    cal_box box;
    cal_geometry_box(plane, &pose, &box);
    assert_true(isinf(box.low[2]) && isinf(box.high[0]) && box.high[2] > 2.99 && box.high[2] < 3.01);
    cal_geometry_destroy(plane);
}

static void refuse(const cal_piece_def* def, const char* part) {
    cal_geometry* geometry = NULL;
    cal_error error = {0};
    assert_int_equal(cal_geometry_create(def, 1, &geometry, &error), CAL_BAD_ARGUMENT);
    assert_null(geometry);
    if (strstr(error.text, part) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, part);
}

static void test_refusals(void** state) {
    (void)state;
    cal_piece_def def = cal_default_piece_def();
    def.size[0] = 0.0;
    refuse(&def, "must be above zero");
    def.size[0] = NAN;
    refuse(&def, "must be above zero");
    def = cal_default_piece_def();
    def.quaternion[0] = 0.0;
    refuse(&def, "quaternion");
    def = cal_default_piece_def();
    def.position[1] = INFINITY;
    refuse(&def, "not finite");
    def = cal_default_piece_def();
    def.kind = (cal_shape_kind)99;
    refuse(&def, "no kind of shape");
    def = cal_default_piece_def();
    def.kind = CAL_MESH;
    refuse(&def, "without vertices");
    const double flat[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
    def.vertices = flat;
    def.vertex_count = 4;
    refuse(&def, "plane");
    def.kind = CAL_HEIGHT_FIELD;
    def.columns = 3;
    refuse(&def, "no grid");
    def.columns = 2;
    const double folded[12] = {0, 0, 0, 1, 0, 0, 0, -1, 0, 1, -1, 0};
    def.vertices = folded;
    refuse(&def, "folds over");
    cal_geometry* geometry = NULL;
    assert_int_equal(cal_geometry_create(&def, 0, &geometry, NULL), CAL_BAD_ARGUMENT);
}

static void test_no_memory(void** state) {
    (void)state;
    double points[20][3];
    cal_random random = {6};
    for (int i = 0; i < 60; i++) points[i / 3][i % 3] = cal_random_between(&random, -1.0, 1.0);
    cal_piece_def defs[2] = {cal_default_piece_def(), cal_default_piece_def()};
    defs[1].kind = CAL_MESH;
    defs[1].vertices = points[0];
    defs[1].vertex_count = 20;
    const int64_t before = cal_live_allocations();
    cal_status status = CAL_NO_MEMORY;
    for (int after = 0; status == CAL_NO_MEMORY; after++) {
        cal_geometry* geometry = NULL;
        cal_fail_allocation(after);
        status = cal_geometry_create(defs, 2, &geometry, NULL);
        cal_fail_allocation(-1);
        assert_true((status == CAL_OK) == (geometry != NULL));
        cal_geometry_destroy(geometry);
        assert_int_equal(cal_live_allocations(), before);
    }
    assert_int_equal(status, CAL_OK);
}

// --- Broad phase ------------------------------------------------------------------------------------------------------

static cal_box random_box(cal_random* random, bool wild) {
    cal_box box;
    const double size = wild ? ldexp(1.0, cal_random_below(random, 12) - 8) : 0.2;
    for (int k = 0; k < 3; k++) {
        const double center = cal_random_between(random, -4.0, 4.0), half = size * cal_random_between(random, 0.0, 1.0);
        box.low[k] = center - half, box.high[k] = center + half;
    }
    if (wild && cal_random_below(random, 50) == 0) box.low[0] = -INFINITY;
    if (wild && cal_random_below(random, 50) == 0) box.low[1] = -1e300, box.high[1] = 1e300;
    if (wild && cal_random_below(random, 50) == 0)
        for (int k = 0; k < 3; k++) box.high[k] = box.low[k];
    return box;
}

static int by_number(const void* a, const void* b) {
    return (*(const int32_t*)a > *(const int32_t*)b) - (*(const int32_t*)a < *(const int32_t*)b);
}

// Inserts, moves and removals at random: the reports keep a matrix of pairs up to date that a look at all pairs confirms.
static void test_broad_phase(void** state) {
    (void)state;
    enum { COUNT = 120 };
    for (int wild = 0; wild < 2; wild++) {
        cal_broad* broad = NULL;
        assert_int_equal(cal_broad_create(wild ? 0 : 10, &broad), CAL_OK);
        static bool overlap[COUNT][COUNT];
        memset(overlap, 0, sizeof overlap);
        cal_random random = {(uint64_t)wild};
        for (int step = 0; step < 6000; step++) {
            const int id = cal_random_below(&random, COUNT);
            cal_broad_changes changes;
            if (cal_random_below(&random, 8) == 0)
                cal_broad_remove(broad, id, &changes);
            else {
                const cal_box box = random_box(&random, wild != 0);
                assert_int_equal(cal_broad_move(broad, id, &box, &changes), CAL_OK);
                assert_memory_equal(cal_broad_box(broad, id), &box, sizeof box);
            }
            for (int i = 0; i < changes.began_count; i++) {
                const int other = changes.began[i];
                assert_false(overlap[id][other]);
                assert_true(i == 0 || changes.began[i - 1] < other);
                overlap[id][other] = overlap[other][id] = true;
            }
            for (int i = 0; i < changes.ceased_count; i++) {
                const int other = changes.ceased[i];
                assert_true(overlap[id][other]);
                assert_true(i == 0 || changes.ceased[i - 1] < other);
                overlap[id][other] = overlap[other][id] = false;
            }
            if (step % 100 != 0) continue;
            for (int a = 0; a < COUNT; a++) {
                const int32_t* partners;
                const int count = cal_broad_partners(broad, a, &partners);
                int found = 0;
                for (int b = 0; b < COUNT; b++) {
                    const bool both = a != b && cal_broad_has(broad, a) && cal_broad_has(broad, b) &&
                                      cal_box_overlap(cal_broad_box(broad, a), cal_broad_box(broad, b));
                    assert_int_equal(overlap[a][b], both);
                    if (!both) continue;
                    const int32_t key = b;
                    assert_non_null(bsearch(&key, partners, (size_t)count, sizeof key, by_number));
                    found++;
                }
                assert_int_equal(found, count);
            }
            const cal_box box = random_box(&random, wild != 0);
            const int32_t* ids;
            const int count = cal_broad_query(broad, &box, &ids);
            int found = 0;
            for (int b = 0; b < COUNT; b++)
                found += cal_broad_has(broad, b) && cal_box_overlap(cal_broad_box(broad, b), &box);
            assert_int_equal(count, found);
        }
        cal_broad_destroy(broad);
    }
}

static void test_broad_phase_refusals(void** state) {
    (void)state;
    cal_broad* broad = NULL;
    assert_int_equal(cal_broad_create(-1, &broad), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_broad_create(4, &broad), CAL_OK);
    const cal_box good = {{0, 0, 0}, {1, 1, 1}}, empty = {{0, 0, 0}, {1, -1, 1}}, none = {{0, NAN, 0}, {1, 1, 1}};
    cal_broad_changes changes;
    assert_int_equal(cal_broad_move(broad, 0, &empty, &changes), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_broad_move(broad, 0, &none, &changes), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_broad_move(broad, -1, &good, &changes), CAL_BAD_ARGUMENT);
    cal_broad_remove(broad, 7, &changes);
    assert_false(cal_broad_has(broad, 0));
    assert_int_equal(cal_broad_move(broad, 0, &good, NULL), CAL_OK);
    // Without memory nothing changes.
    cal_status status = CAL_NO_MEMORY;
    for (int after = 0; status == CAL_NO_MEMORY; after++) {
        cal_fail_allocation(after);
        status = cal_broad_move(broad, 300, &good, &changes);
        cal_fail_allocation(-1);
        const int32_t* partners;
        assert_int_equal(cal_broad_has(broad, 300), status == CAL_OK);
        assert_int_equal(cal_broad_partners(broad, 0, &partners), status == CAL_OK);
    }
    assert_int_equal(changes.began_count, 1);
    cal_broad_destroy(broad);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_box_on_box),
                                       cmocka_unit_test(test_points_of_a_pair_are_told_apart),
                                       cmocka_unit_test(test_turned_boxes_make_an_octagon),
                                       cmocka_unit_test(test_leaning_box),
                                       cmocka_unit_test(test_keel),
                                       cmocka_unit_test(test_round_shapes),
                                       cmocka_unit_test(test_on_a_round_table),
                                       cmocka_unit_test(test_manifolds_agree_with_distance),
                                       cmocka_unit_test(test_boxes_that_touch_to_a_rounding),
                                       cmocka_unit_test(test_height_field_walls),
                                       cmocka_unit_test(test_height_field_depth),
                                       cmocka_unit_test(test_height_field_ridge),
                                       cmocka_unit_test(test_mass),
                                       cmocka_unit_test(test_box_of_a_plane),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_no_memory),
                                       cmocka_unit_test(test_broad_phase),
                                       cmocka_unit_test(test_broad_phase_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
