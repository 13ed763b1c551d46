// Solids, hulls and mesh files: what they weigh against closed forms and other ways to compute it, and bad files.
#include "base/memory.h"
#include "base/random.h"
#include "math/vector.h"
#include "model/angle.h"
#include "model/hull.h"
#include "model/orientation.h"
#include "read/mesh/mesh.h"
#include "read/mesh/solids.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Solids -------------------------------------------------------------------------------------------------------------

// Mass and moments of a body of revolution about z, by Simpson's rule over its profile r(z): discs for a solid, rings for a
// shell. Flat ends are not part of the profile.
static void revolve(double (*profile)(double z, const double* size), const double* size, double half, bool shell,
                    double* mass, double* across, double* along) {
    const int steps = 200000;
    *mass = *across = *along = 0.0;
    for (int i = 0; i < steps; i++) {
        // Midpoints in an angle, so that the ends of round profiles are met gently.
        const double h = CAL_PI / steps, t = (i + 0.5) * h, z = -half * cos(t), dz = half * sin(t) * h;
        const double r = profile(z, size);
        if (shell) {
            const double next = profile(-half * cos(t + 0.5 * h), size), last = profile(-half * cos(t - 0.5 * h), size);
            const double ds = sqrt(dz * dz + (next - last) * (next - last)), dm = 2.0 * CAL_PI * r * ds;
            *mass += dm, *along += dm * r * r, *across += dm * (0.5 * r * r + z * z);
        } else {
            const double dm = CAL_PI * r * r * dz;
            *mass += dm, *along += dm * 0.5 * r * r, *across += dm * (0.25 * r * r + z * z);
        }
    }
}

static double round_profile(double z, const double* size) { return sqrt(fmax(0.0, size[0] * size[0] - z * z)); }
static double straight_profile(double z, const double* size) { return (void)z, size[0]; }
static double capsule_profile(double z, const double* size) {
    const double beyond = fmax(0.0, fabs(z) - size[1]);
    return sqrt(fmax(0.0, size[0] * size[0] - beyond * beyond));
}

static void expect_solid(const cal_solid* solid, double mass, double across, double along, const char* what) {
    cal_test_expect_below(fabs(solid->mass - mass) / mass, 1e-6, "mass", what);
    cal_test_expect_below(fabs(solid->inertia[0] - across) / across, 1e-6, "moment across", what);
    cal_test_expect_below(fabs(solid->inertia[1] - across) / across, 1e-6, "moment across", what);
    cal_test_expect_below(fabs(solid->inertia[2] - along) / along, 1e-6, "moment along", what);
}

static void test_solids_of_revolution(void** state) {
    (void)state;
    const double size[3] = {0.3, 0.5, 0.0};
    for (int shell = 0; shell < 2; shell++) {
        double mass, across, along;
        revolve(round_profile, size, size[0], shell, &mass, &across, &along);
        cal_solid solid = cal_solid_of_density(CAL_SPHERE, size, shell, 1.0);
        expect_solid(&solid, mass, across, along, "sphere");
        revolve(capsule_profile, size, size[0] + size[1], shell, &mass, &across, &along);
        solid = cal_solid_of_density(CAL_CAPSULE, size, shell, 1.0);
        expect_solid(&solid, mass, across, along, "capsule");
        revolve(straight_profile, size, size[1], shell, &mass, &across, &along);
        if (shell) { // the two discs
            const double r = size[0], disc = CAL_PI * r * r, h = size[1];
            mass += 2.0 * disc, along += disc * r * r, across += 2.0 * disc * (0.25 * r * r + h * h);
        }
        solid = cal_solid_of_density(CAL_CYLINDER, size, shell, 1.0);
        expect_solid(&solid, mass, across, along, "cylinder");
    }
}

static void test_ellipsoids(void** state) {
    (void)state;
    // A ball, stretched: a volume's moments follow the axes.
    const double size[3] = {0.2, 0.3, 0.7}, grown[3] = {0.2 + 1e-6, 0.3 + 1e-6, 0.7 + 1e-6};
    const cal_solid solid = cal_solid_of_density(CAL_ELLIPSOID, size, false, 1.0);
    assert_true(fabs(solid.mass - 4.0 / 3.0 * CAL_PI * 0.042) < 1e-15);
    const double volume[3] = {solid.mass * 0.04 / 5.0, solid.mass * 0.09 / 5.0, solid.mass * 0.49 / 5.0};
    for (int i = 0; i < 3; i++) assert_true(fabs(solid.inertia[i] - volume[(i + 1) % 3] - volume[(i + 2) % 3]) < 1e-15);
    // A shell is what lies between it and a larger one.
    const cal_solid larger = cal_solid_of_density(CAL_ELLIPSOID, grown, false, 1.0);
    const cal_solid shell = cal_solid_of_mass(CAL_ELLIPSOID, size, true, larger.mass - solid.mass);
    for (int i = 0; i < 3; i++) {
        const double between = larger.inertia[i] - solid.inertia[i];
        cal_test_expect_below(fabs(shell.inertia[i] - between) / between, 1e-5, "moment", "ellipsoid's shell");
    }
    // Thomsen's formula is exact for a ball.
    const double ball[3] = {0.4, 0.4, 0.4};
    assert_true(fabs(cal_solid_area(CAL_ELLIPSOID, ball) - cal_solid_area(CAL_SPHERE, ball)) < 1e-12);
}

static void test_solids_together(void** state) {
    (void)state;
    // A box cut in two and put together again, turned and moved.
    const double whole[3] = {0.2, 0.3, 0.4}, half[3] = {0.1, 0.3, 0.4}, right[3] = {0.1, 0.0, 0.0};
    const double left[3] = {-0.1, 0.0, 0.0}, still[4] = {1.0, 0.0, 0.0, 0.0}, turn[4] = {0.5, -0.2, 0.7, 0.1};
    const double away[3] = {1.0, -2.0, 3.0};
    const cal_solid part = cal_solid_of_density(CAL_BOX, half, false, 700.0);
    cal_solid sum = cal_solid_placed(&part, left, still), other = cal_solid_placed(&part, right, still);
    cal_solid_add(&sum, &other);
    sum = cal_solid_placed(&sum, away, turn);
    const cal_solid box = cal_solid_of_density(CAL_BOX, whole, false, 700.0);
    const cal_solid placed = cal_solid_placed(&box, away, turn);
    assert_true(fabs(sum.mass - placed.mass) < 1e-12 * placed.mass);
    assert_true(cal_test_largest_difference(sum.center, placed.center, 3) < 1e-14);
    assert_true(cal_test_largest_difference(sum.inertia, placed.inertia, 6) < 1e-13 * placed.inertia[0]);
    // The principal moments are the box's.
    double moments[3], axes[4], back[6];
    cal_principal_moments(placed.inertia, moments, axes);
    cal_inertia_from_moments(moments, axes, back);
    assert_true(cal_test_largest_difference(back, placed.inertia, 6) < 1e-13 * placed.inertia[0]);
    double trace = 0.0, product = 1.0;
    for (int i = 0; i < 3; i++) trace += moments[i] - box.inertia[i], product *= moments[i] / box.inertia[i];
    assert_true(fabs(trace) < 1e-12 * box.inertia[0] && fabs(product - 1.0) < 1e-12);
}

static void test_impossible_inertias(void** state) {
    (void)state;
    char why[100];
    const double fine[6] = {1, 1, 2, 0, 0, 0}, long_one[6] = {1, 1, 3, 0, 0, 0}, negative[6] = {1, 1, -1, 0, 0, 0};
    assert_true(cal_inertia_possible(fine, 1e-9, why, sizeof why));
    assert_false(cal_inertia_possible(long_one, 1e-9, why, sizeof why));
    assert_non_null(strstr(why, "exceeds"));
    assert_false(cal_inertia_possible(negative, 1e-9, why, sizeof why));
    assert_non_null(strstr(why, "negative"));
    cal_random random = {3};
    for (int n = 0; n < 1000; n++) {
        double inertia[6], before[6], moments[2][3], axes[4];
        for (int i = 0; i < 6; i++) before[i] = inertia[i] = cal_random_between(&random, -1.0, 1.0);
        cal_inertia_repair(inertia);
        assert_true(cal_inertia_possible(inertia, 1e-12, NULL, 0));
        // No direction became lighter.
        cal_principal_moments(before, moments[0], axes);
        for (int i = 0; i < 6; i++) before[i] = inertia[i] - before[i];
        cal_principal_moments(before, moments[1], axes);
        for (int i = 0; i < 3; i++) assert_true(moments[1][i] > -1e-12);
    }
}

// --- Hulls --------------------------------------------------------------------------------------------------------------

// A closed surface of triangles that know their neighbours, with every point on it or below every facet.
static double check_hull(const double* points, int count, const cal_hull* hull) {
    assert_int_equal(hull->triangle_count, 2 * hull->vertex_count - 4);
    double volume = 0.0;
    for (int t = 0; t < hull->triangle_count; t++) {
        const int32_t* corner = hull->triangles + 3 * t;
        for (int k = 0; k < 3; k++) {
            const int32_t* beyond = hull->triangles + 3 * hull->neighbors[3 * t + k];
            int shared = -1;
            for (int i = 0; i < 3; i++)
                if (beyond[i] == corner[(k + 1) % 3] && beyond[(i + 1) % 3] == corner[k]) shared = i;
            assert_true(shared >= 0);
            assert_int_equal(hull->neighbors[3 * hull->neighbors[3 * t + k] + shared], t);
        }
        const double *a = points + 3 * corner[0], *b = points + 3 * corner[1], *c = points + 3 * corner[2];
        for (int p = 0; p < count; p++)
            if (cal_side_of_plane(a, b, c, points + 3 * p) > 0) fail_msg("point %d is outside triangle %d", p, t);
        double cross[3];
        cal_cross3(b, c, cross);
        volume += cal_dot3(a, cross) / 6.0;
    }
    return volume;
}

static void test_hull_of_random_points(void** state) {
    (void)state;
    cal_random random = {11};
    for (int n = 4; n < 400; n += 13) {
        double* points = cal_test_numbers(3 * (size_t)n);
        for (int i = 0; i < 3 * n; i++) points[i] = cal_random_between(&random, -1.0, 1.0);
        cal_hull hull;
        assert_int_equal(cal_hull_create(points, n, &hull, NULL), CAL_OK);
        assert_true(check_hull(points, n, &hull) > 0.0);
        cal_hull_destroy(&hull);
        free(points);
    }
}

// Grids are full of points in one plane and on one line; copies of points, and points a rounding error away.
static void test_hull_of_degenerate_points(void** state) {
    (void)state;
    cal_random random = {5};
    for (int variant = 0; variant < 6; variant++) {
        double points[3 * 5 * 5 * 5 * 2], turn[9];
        const double q[4] = {0.3, 0.8, -0.4, 0.2};
        cal_quaternion_matrix(q, turn);
        int n = 0;
        for (int copy = 0; copy < 2; copy++)
            for (int i = 0; i < 125; i++, n++) {
                double* p = points + 3 * n;
                p[0] = (i % 5 - 2) * 0.125, p[1] = (i / 5 % 5 - 2) * 0.125, p[2] = (i / 25 - 2) * 0.125;
                if (variant % 2 == 1) cal_rotate3(turn, p, p);
                for (int k = 0; variant >= 2 && k < 3; k++)
                    p[k] *= 1.0 + (variant >= 4 ? 1e-9 : 1e-16) * cal_random_between(&random, -2, 2);
            }
        cal_hull hull;
        assert_int_equal(cal_hull_create(points, n, &hull, NULL), CAL_OK);
        const double volume = check_hull(points, n, &hull);
        cal_test_expect_below(fabs(volume - 0.125), 1e-8, "volume", "grid");
        if (variant == 0) assert_int_equal(hull.vertex_count, 8);
        cal_hull_destroy(&hull);
    }
}

static void test_hull_of_a_sphere(void** state) {
    (void)state;
    enum { COUNT = 2000 };
    static double points[3 * COUNT];
    cal_random random = {7};
    for (int i = 0; i < COUNT; i++) {
        double* p = points + 3 * i;
        double square;
        do {
            for (int k = 0; k < 3; k++) p[k] = cal_random_between(&random, -1.0, 1.0);
            square = cal_dot3(p, p);
        } while (square > 1.0 || square < 0.01);
        for (int k = 0; k < 3; k++) p[k] /= sqrt(square);
    }
    cal_hull hull;
    assert_int_equal(cal_hull_create(points, COUNT, &hull, NULL), CAL_OK);
    assert_int_equal(hull.vertex_count, COUNT);
    const double volume = check_hull(points, COUNT, &hull);
    assert_true(volume > 0.98 * 4.0 / 3.0 * CAL_PI && volume < 4.0 / 3.0 * CAL_PI);
    cal_hull_destroy(&hull);
}

static void test_hull_refuses(void** state) {
    (void)state;
    cal_hull hull;
    cal_error error = {CAL_OK, ""};
    double points[30] = {0};
    assert_int_equal(cal_hull_create(points, 10, &hull, &error), CAL_BAD_MODEL);
    for (int i = 0; i < 10; i++) points[3 * i] = i, points[3 * i + 1] = 3.0 * i, points[3 * i + 2] = -i;
    assert_int_equal(cal_hull_create(points, 10, &hull, &error), CAL_BAD_MODEL);
    for (int i = 0; i < 10; i++) points[3 * i + 1] = i * i;
    assert_int_equal(cal_hull_create(points, 10, &hull, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "one plane"));
    assert_int_equal(cal_hull_create(points, 3, &hull, &error), CAL_BAD_MODEL);
    points[5] = (double)NAN;
    assert_int_equal(cal_hull_create(points, 10, &hull, &error), CAL_BAD_MODEL);
    assert_null(hull.triangles);
}

// Sizes from the smallest to the largest doubles, at which plain arithmetic under- and overflows.
static void test_hull_of_any_size(void** state) {
    (void)state;
    for (int exponent = -1000; exponent <= 1000; exponent += 250) {
        const double s = ldexp(1.0, exponent);
        const double points[15] = {0, 0, 0, s, 0, 0, 0, s, 0, 0, 0, s, 0.2 * s, 0.2 * s, 0.2 * s};
        cal_hull hull;
        assert_int_equal(cal_hull_create(points, 5, &hull, NULL), CAL_OK);
        assert_int_equal(hull.vertex_count, 4);
        cal_hull_destroy(&hull);
    }
}

static void test_sides_are_exact(void** state) {
    (void)state;
    // The plane x + y + z = 1 through points that are exact, and one that is an ulp off.
    const double a[3] = {1, 0, 0}, b[3] = {0, 1, 0}, c[3] = {0, 0, 1};
    double p[3] = {0.25, 0.5, 0.25};
    assert_int_equal(cal_side_of_plane(a, b, c, p), 0);
    p[2] = nextafter(0.25, 1.0);
    assert_int_equal(cal_side_of_plane(a, b, c, p), 1);
    p[2] = nextafter(0.25, 0.0);
    assert_int_equal(cal_side_of_plane(a, b, c, p), -1);
    // Turning the triangle round turns the sign round, also for points that are almost in its plane.
    cal_random random = {2};
    for (int n = 0; n < 20000; n++) {
        double q[4][3];
        for (int i = 0; i < 12; i++) q[i / 3][i % 3] = cal_random_between(&random, -1.0, 1.0);
        const double u = cal_random_between(&random, -1.0, 1.0), v = cal_random_between(&random, -1.0, 1.0);
        for (int i = 0; i < 3; i++) q[3][i] = q[0][i] + u * (q[1][i] - q[0][i]) + v * (q[2][i] - q[0][i]);
        const int side = cal_side_of_plane(q[0], q[1], q[2], q[3]);
        assert_int_equal(cal_side_of_plane(q[1], q[2], q[0], q[3]), side);
        assert_int_equal(cal_side_of_plane(q[1], q[0], q[2], q[3]), -side);
        assert_int_equal(cal_side_of_plane(q[0], q[3], q[1], q[2]), side);
    }
}

// --- Mesh files ---------------------------------------------------------------------------------------------------------

// A box from (0, 0, 0) to (1, 2, 3) in the three kinds of files.
static const double box_corners[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 2, 0}, {0, 2, 0},
                                         {0, 0, 3}, {1, 0, 3}, {1, 2, 3}, {0, 2, 3}};
static const int box_faces[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};

static size_t write_text_stl(char* out) {
    char* p = out;
    p += sprintf(p, "solid box\r\n");
    for (int f = 0; f < 6; f++)
        for (int half = 0; half < 2; half++) {
            p += sprintf(p, "facet normal nan nan nan\n  OUTER LOOP\n");
            for (int k = 0; k < 3; k++) {
                const double* c = box_corners[box_faces[f][k == 0 ? 0 : k + half]];
                p += sprintf(p, "    vertex %g %.1e %+g\n", c[0], c[1], c[2]);
            }
            p += sprintf(p, "  endloop\nendfacet\n");
        }
    p += sprintf(p, "endsolid box\n");
    return (size_t)(p - out);
}

static size_t write_binary_stl(char* out, const char* header) {
    memset(out, 0, 84 + 12 * 50);
    strcpy(out, header);
    out[80] = 12;
    for (int t = 0; t < 12; t++)
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) {
                const float value = (float)box_corners[box_faces[t / 2][k == 0 ? 0 : k + t % 2]][i];
                memcpy(out + 84 + 50 * t + 12 + 12 * k + 4 * i, &value, 4);
            }
    return 84 + 12 * 50;
}

static size_t write_obj(char* out, int variant) {
    char* p = out;
    p += sprintf(p, "# a box\nmtllib none.mtl\no box\n");
    for (int i = 0; i < 8; i++)
        p += sprintf(p, "v %g %g %g 1.0\n", box_corners[i][0], box_corners[i][1], box_corners[i][2]);
    p += sprintf(p, "vn 0 0 1\nvt 0 0\n");
    for (int f = 0; f < 6; f++) {
        p += sprintf(p, "f");
        for (int k = 0; k < 4; k++) {
            const int corner = box_faces[f][k];
            if (variant == 0) p += sprintf(p, " %d", corner + 1);
            if (variant == 1) p += sprintf(p, " %d/1/1", corner - 8);
            if (variant == 2) p += sprintf(p, " %d//1%s", corner + 1, k == 1 ? " \\\n" : "");
        }
        p += sprintf(p, " # a side\n");
    }
    return (size_t)(p - out);
}

static void expect_box(const cal_triangles* mesh, const char* what) {
    assert_int_equal(mesh->vertex_count, 8);
    assert_int_equal(mesh->triangle_count, 12);
    const double half[3] = {0.5, 1.0, 1.5};
    for (int kind = 0; kind < 4; kind++) {
        const bool shell = kind == CAL_INERTIA_SHELL;
        const cal_solid box = cal_solid_of_density(CAL_BOX, half, shell, 1.0);
        cal_solid solid;
        assert_int_equal(cal_mesh_weigh(mesh, (cal_mesh_inertia)kind, what, &solid, NULL), CAL_OK);
        cal_test_expect_below(fabs(solid.mass - box.mass), 1e-13, "mass", what);
        cal_test_expect_below(cal_test_largest_difference(solid.center, half, 3), 1e-14, "centre", what);
        cal_test_expect_below(cal_test_largest_difference(solid.inertia, box.inertia, 6), 1e-12, "inertia", what);
    }
}

static void test_formats_agree(void** state) {
    (void)state;
    char text[8192];
    struct {
        const char* name;
        size_t size;
    } files[] = {{"text.stl", 0},  {"binary.STL", 1},   {"solid.stl", 2},
                 {"plain.obj", 3}, {"negative.obj", 4}, {"lines.OBJ", 5}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size = 0;
        switch (files[i].size) {
        case 0: size = write_text_stl(text); break;
        case 1: size = write_binary_stl(text, "anything"); break;
        case 2: size = write_binary_stl(text, "solid that is binary all the same"); break;
        default: size = write_obj(text, (int)files[i].size - 3);
        }
        cal_triangles mesh;
        cal_error error = {CAL_OK, ""};
        if (cal_mesh_parse(files[i].name, text, size, &mesh, &error) != CAL_OK) fail_msg("%s", error.text);
        expect_box(&mesh, files[i].name);
        cal_mesh_free(&mesh);
        // Every shorter piece of it is refused or a mesh, and nothing else happens.
        for (size_t cut = 0; cut < size; cut += 7) {
            const cal_status status = cal_mesh_parse(files[i].name, text, cut, &mesh, &error);
            if (status != CAL_OK) assert_null(mesh.vertices);
            if (files[i].size <= 2 && cut + 14 < size) assert_int_not_equal(status, CAL_OK);
            cal_mesh_free(&mesh);
        }
    }
}

static void test_transforms(void** state) {
    (void)state;
    char text[8192];
    cal_triangles mesh;
    cal_solid before, after;
    const size_t size = write_obj(text, 0);
    assert_int_equal(cal_mesh_parse("box.obj", text, size, &mesh, NULL), CAL_OK);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_EXACT, "box", &before, NULL), CAL_OK);
    // Moved back by refpos, turned back by refquat, then scaled, one factor negative: a mirror, and still facing outside.
    const double scale[3] = {2.0, -1.0, 1.0}, refpos[3] = {1.0, 2.0, 3.0}, refquat[4] = {0.9, 0.1, -0.2, 0.3};
    cal_mesh_transform(&mesh, scale, refpos, refquat);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_EXACT, "box", &after, NULL), CAL_OK);
    assert_true(fabs(after.mass - 2.0 * before.mass) < 1e-12);
    double R[9], expected[3];
    cal_quaternion_matrix(refquat, R);
    for (int i = 0; i < 3; i++) expected[i] = before.center[i] - refpos[i];
    cal_unrotate3(R, expected, expected);
    for (int i = 0; i < 3; i++) expected[i] *= scale[i];
    assert_true(cal_test_largest_difference(after.center, expected, 3) < 1e-14);
    cal_mesh_free(&mesh);
}

// A concave prism: faces of eight corners, a box that lacks a corner. Exact against two boxes, convex against the hull's area.
static void test_concave(void** state) {
    (void)state;
    const char* text =
        "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\n"
        "v 0 0 1\nv 2 0 1\nv 2 1 1\nv 1 1 1\nv 1 2 1\nv 0 2 1\n"
        "f 6 5 4 3 2 1\nf 7 8 9 10 11 12\nf 1 2 8 7\nf 2 3 9 8\nf 3 4 10 9\nf 4 5 11 10\nf 5 6 12 11\nf 6 1 7 12\n";
    cal_triangles mesh;
    assert_int_equal(cal_mesh_parse("ell.obj", text, strlen(text), &mesh, NULL), CAL_OK);
    assert_int_equal(mesh.triangle_count, 2 * 4 + 6 * 2);
    const double lower[3] = {1.0, 0.5, 0.5}, upper[3] = {0.5, 0.5, 0.5}, still[4] = {1, 0, 0, 0};
    const double at_lower[3] = {1.0, 0.5, 0.5}, at_upper[3] = {0.5, 1.5, 0.5};
    cal_solid part = cal_solid_of_density(CAL_BOX, lower, false, 1.0), sum = cal_solid_placed(&part, at_lower, still);
    part = cal_solid_of_density(CAL_BOX, upper, false, 1.0);
    part = cal_solid_placed(&part, at_upper, still);
    cal_solid_add(&sum, &part);
    cal_solid solid;
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_EXACT, "ell", &solid, NULL), CAL_OK);
    assert_true(fabs(solid.mass - 3.0) < 1e-13);
    assert_true(cal_test_largest_difference(solid.center, sum.center, 3) < 1e-13);
    assert_true(cal_test_largest_difference(solid.inertia, sum.inertia, 6) < 1e-13);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_CONVEX, "ell", &solid, NULL), CAL_OK);
    assert_true(fabs(solid.mass - 3.5) < 1e-13);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_SHELL, "ell", &solid, NULL), CAL_OK);
    assert_true(fabs(solid.mass - 14.0) < 1e-13);
    cal_mesh_free(&mesh);
}

// A column on the unit square whose roof has four corners of different heights, not in one plane. Below a triangle of the
// roof lies a third of the sum of its heights, times its ground's area of 1/2: so the volume tells the diagonal.
static void test_diagonals(void** state) {
    (void)state;
    static const struct {
        double height[4];
        bool along_first; // from corner 0 to 2
    } cases[] = {
        {{1, 1, 1, 2}, true},  {{1, 2, 1, 1}, true},  {{2, 1, 1, 1}, false},
        {{1, 1, 3, 1}, false}, {{1, 2, 1, 2}, false}, // equally long
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double* h = cases[i].height;
        char text[512];
        const int size = snprintf(text, sizeof text,
                                  "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 %g\nv 1 0 %g\nv 1 1 %g\nv 0 1 %g\n"
                                  "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n",
                                  h[0], h[1], h[2], h[3]);
        cal_triangles mesh;
        cal_solid solid;
        assert_int_equal(cal_mesh_parse("roof.obj", text, (size_t)size, &mesh, NULL), CAL_OK);
        assert_int_equal(mesh.triangle_count, 12);
        assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_EXACT, "roof", &solid, NULL), CAL_OK);
        const double sum = h[0] + h[1] + h[2] + h[3], twice = cases[i].along_first ? h[0] + h[2] : h[1] + h[3];
        cal_test_expect_below(fabs(solid.mass - (sum + twice) / 6.0), 1e-14, "volume", "roof");
        cal_mesh_free(&mesh);
    }
    // An arrowhead, whose shorter diagonal lies outside: cut along it, the ends would have too much area.
    const char* arrow = "v -0.5 0 0\nv 0 1 0\nv 0.5 0 0\nv 0 3 0\nv -0.5 0 1\nv 0 1 1\nv 0.5 0 1\nv 0 3 1\n"
                        "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";
    cal_triangles mesh;
    cal_solid solid;
    assert_int_equal(cal_mesh_parse("arrow.obj", arrow, strlen(arrow), &mesh, NULL), CAL_OK);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_SHELL, "arrow", &solid, NULL), CAL_OK);
    cal_test_expect_below(fabs(solid.mass - 2.0 - 2.0 * sqrt(1.25) - 2.0 * sqrt(9.25)), 1e-13, "area", "arrow");
    cal_mesh_free(&mesh);
    // MuJoCo cuts along it: the two ends have 2 m² each, not 1, and the volume is the same.
    assert_int_equal(cal_mesh_parse_as_mujoco("arrow.obj", arrow, strlen(arrow), &mesh, NULL), CAL_OK);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_SHELL, "arrow", &solid, NULL), CAL_OK);
    cal_test_expect_below(fabs(solid.mass - 4.0 - 2.0 * sqrt(1.25) - 2.0 * sqrt(9.25)), 1e-13, "area", "arrow there");
    cal_mesh_free(&mesh);
}

// Unit cubes as objects of one file, four apart: the first with faces is the mesh, and the vertices of all make the hull.
static void test_several_objects(void** state) {
    (void)state;
    static const struct {
        const char *before, *between;
        double volume;
        int left_out;
    } cases[] = {
        {"o first\n", "o second\n", 1.0, 6},
        {"g first\n", "g second part\n", 1.0, 6},
        {"g\n", "g\n", 2.0, 0},
        {"g\r\n", "g\r\n", 2.0, 0},
        {"o nothing\ng also nothing\r\n", "\to second\n", 1.0, 6},
        {"", "o second\n", 1.0, 6},
        {"o both\n", "usemtl red\ns off\n", 2.0, 0},
        {"o both\n", "# o second\ngroup second\n", 2.0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048], *p = text;
        for (int cube = 0; cube < 2; cube++) {
            p += sprintf(p, "%s", cube == 0 ? cases[i].before : cases[i].between);
            for (int k = 0; k < 8; k++)
                p += sprintf(p, "v %d %d %d\n", 5 * cube + (box_corners[k][0] > 0.0), box_corners[k][1] > 0.0,
                             box_corners[k][2] > 0.0);
            for (int f = 0; f < 6; f++)
                p += sprintf(p, "f %d %d %d %d\n", box_faces[f][0] - 8, box_faces[f][1] - 8, box_faces[f][2] - 8,
                             box_faces[f][3] - 8);
        }
        cal_triangles mesh;
        cal_solid solid;
        cal_error error = {CAL_OK, ""};
        assert_int_equal(cal_mesh_parse("cubes.obj", text, (size_t)(p - text), &mesh, &error), CAL_OK);
        assert_int_equal(mesh.vertex_count, 16);
        assert_int_equal(mesh.left_out, cases[i].left_out);
        assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_EXACT, "cubes", &solid, NULL), CAL_OK);
        cal_test_expect_below(fabs(solid.mass - cases[i].volume), 1e-13, "volume", cases[i].between);
        assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_CONVEX, "cubes", &solid, NULL), CAL_OK);
        cal_test_expect_below(fabs(solid.mass - 6.0), 1e-13, "volume of the hull", cases[i].between);
        cal_mesh_free(&mesh);
        // What is left out must be right all the same.
        p += sprintf(p, "f 1 2 17\n");
        assert_int_equal(cal_mesh_parse("cubes.obj", text, (size_t)(p - text), &mesh, &error), CAL_BAD_MODEL);
        assert_non_null(strstr(error.text, "names vertex 17"));
    }
}

static void test_points_alone(void** state) {
    (void)state;
    cal_triangles mesh;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_mesh_from_arrays("points", box_corners[0], 8, NULL, 0, &mesh, &error), CAL_OK);
    expect_box(&mesh, "points");
    cal_mesh_free(&mesh);
    assert_int_equal(cal_mesh_from_arrays("flat", box_corners[0], 4, NULL, 0, &mesh, &error), CAL_BAD_MODEL);
    const int32_t beyond[3] = {0, 1, 8};
    assert_int_equal(cal_mesh_from_arrays("beyond", box_corners[0], 8, beyond, 1, &mesh, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "vertex 8"));
}

static void test_bad_weights(void** state) {
    (void)state;
    char text[8192];
    cal_triangles mesh;
    cal_solid solid;
    cal_error error = {CAL_OK, ""};
    const size_t size = write_obj(text, 0);
    assert_int_equal(cal_mesh_parse("box.obj", text, size, &mesh, &error), CAL_OK);
    // One side turned over: no volume. All turned over: a negative one.
    for (int t = 0; t < mesh.triangle_count; t++) {
        const int32_t second = mesh.triangles[3 * t + 1];
        mesh.triangles[3 * t + 1] = mesh.triangles[3 * t + 2];
        mesh.triangles[3 * t + 2] = second;
        const cal_status status = cal_mesh_weigh(&mesh, CAL_INERTIA_EXACT, "box", &solid, &error);
        assert_int_equal(status, CAL_BAD_MODEL);
        assert_non_null(strstr(error.text, t + 1 < mesh.triangle_count ? "face different ways" : "face inwards"));
    }
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_CONVEX, "box", &solid, &error), CAL_OK);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_LEGACY, "box", &solid, &error), CAL_OK);
    const double flat[3] = {1.0, 1.0, 0.0};
    cal_mesh_transform(&mesh, flat, NULL, NULL);
    for (int kind = 0; kind < 3; kind++)
        assert_int_equal(cal_mesh_weigh(&mesh, (cal_mesh_inertia)kind, "box", &solid, &error), CAL_BAD_MODEL);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_SHELL, "box", &solid, &error), CAL_OK);
    cal_mesh_free(&mesh);
}

// A cube of edge 200 with its centre in the origin, as COLLADA; what is in <asset>, in the scene's node, and its faces.
#define INPUTS "<input semantic='NORMAL' source='#n' offset='1'/><input semantic='VERTEX' source='#v' offset='0'/>"
#define DAE(asset, node, faces)                                                                                        \
    "<COLLADA><asset>" asset "</asset><library_geometries><geometry id='g'><mesh><source id='s'><float_array>"         \
    "-100 -100 -100 100 -100 -100 100 100 -100 -100 100 -100 -100 -100 100 100 -100 100 100 100 100 -100 100 100"      \
    "</float_array></source><vertices id='v'><input semantic='POSITION' source='#s'/></vertices>" faces                \
    "</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id='w'><node>" node                   \
    "<instance_geometry url='#g'/></node></visual_scene></library_visual_scenes>"                                      \
    "<scene><instance_visual_scene url='#w'/></scene></COLLADA>"
#define FACES                                                                                                          \
    "<polylist>" INPUTS "<vcount>4 4 4 4 4</vcount><p>0 0 3 0 2 0 1 0 4 0 5 0 6 0 7 0 0 0 1 0 5 0 4 0 "                \
    "1 0 2 0 6 0 5 0 2 0 3 0 7 0 6 0</p></polylist><triangles>" INPUTS "<p>3 0 0 0 4 0 3 0 4 0 7 0</p></triangles>"

static void test_collada(void** state) {
    (void)state;
    const char* text = DAE("<unit meter='0.01'/>",
                           "<translate>100 0 0</translate><rotate>0 0 1 30</rotate><scale>1 2 1</scale>", FACES);
    cal_triangles mesh;
    cal_solid solid;
    cal_error error;
    if (cal_mesh_parse("cube.dae", text, strlen(text), &mesh, &error) != CAL_OK) fail_msg("%s", error.text);
    assert_int_equal(mesh.vertex_count, 8);
    assert_int_equal(mesh.triangle_count, 12);
    assert_int_equal(cal_mesh_weigh(&mesh, CAL_INERTIA_EXACT, "cube", &solid, &error), CAL_OK);
    assert_true(fabs(solid.mass - 16.0) < 1e-5 && fabs(solid.center[0] - 1.0) < 1e-6 && fabs(solid.center[1]) < 1e-6);
    // Edges of 2, 4 and 2 m, turned by 30° about z: moments 16/12 (b² + c²).
    assert_true(fabs(solid.inertia[2] - 16.0 / 12.0 * 20.0) < 1e-4);
    assert_true(fabs(solid.inertia[0] - 16.0 / 12.0 * (0.75 * 20.0 + 0.25 * 8.0)) < 1e-4);
    cal_mesh_free(&mesh);
}

static void test_bad_files(void** state) {
    (void)state;
    static const struct {
        const char *name, *text, *complaint;
    } cases[] = {
        {"a.ply", "ply", "are not read"},
        {"a.dae", "<COLLADA/>", "shows no triangles"},
        {"a.dae", "<mujoco/>", "no COLLADA file"},
        {"a.dae", "<COLLADA>", "a.dae:1"},
        {"a.dae", DAE("<unit meter='0'/>", "", FACES), "its unit has no length"},
        {"a.dae", DAE("", "<matrix>1 2</matrix>", FACES), "wrong count of numbers"},
        {"a.dae", DAE("", "", "<triangles>" INPUTS "<p>0 0 1 0 8 0</p></triangles>"), "points that are not there"},
        {"a.dae", DAE("", "", "<polylist>" INPUTS "<vcount>4</vcount><p>0 0 1 0</p></polylist>"),
         "more corners than there are"},
        {"a.dae", DAE("", "", "<triangles><p>0 1 2</p></triangles>"), "no positions"},
        {"a", "v 0 0 0", "are not read"},
        {"a.obj", "", "no vertices"},
        {"a.obj", "v 0 0\n", "a.obj:1: a vertex needs three numbers"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "a.obj:4: a face names vertex 4"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0\n", "vertex 0"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -4\n", "vertex -4"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999999999999\n", "a face names vertex"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", "a.obj:3: a face with 2 corners"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 x\n", "must be a number"},
        {"a.obj", "v nan 0 0\n", "three numbers"},
        {"a.obj", "v 1e39 0 0\n", "not finite"},
        {"a.obj", "v inf 0 0\n", "not finite"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "has no triangles"},
        {"a.stl", "", "neither"},
        {"a.stl", "solid\nendsolid\n", "no triangles"},
        {"a.stl", "solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\n", "2 corners"},
        {"a.stl",
         "solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n",
         "cut off"},
        {"a.stl", "solid x\nfacet\nouter loop\nvertex 0 nan 0\n", "a.stl:4: a vertex needs three numbers"},
        {"a.stl", "solid x\nfacet\nouter loop\nvertex 0 0 1e300\n", "not finite"},
        {"a.stl", "solid x\nnonsense\n", "a.stl:2: 'nonsense'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cal_triangles mesh;
        cal_error error = {CAL_OK, ""};
        const cal_status status = cal_mesh_parse(cases[i].name, cases[i].text, strlen(cases[i].text), &mesh, &error);
        assert_int_not_equal(status, CAL_OK);
        if (strstr(error.text, cases[i].complaint) == NULL)
            fail_msg("'%s' instead of '%s'", error.text, cases[i].complaint);
        assert_null(mesh.vertices);
    }
    // Binary: NaN, more triangles than bytes, four thousand million of them.
    char bytes[84 + 12 * 50];
    cal_triangles mesh;
    cal_error error = {CAL_OK, ""};
    write_binary_stl(bytes, "");
    memset(bytes + 84 + 50 * 3 + 12, 0xff, 4);
    assert_int_equal(cal_mesh_parse("a.stl", bytes, sizeof bytes, &mesh, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "triangle 3"));
    write_binary_stl(bytes, "");
    bytes[80] = 13;
    assert_int_equal(cal_mesh_parse("a.stl", bytes, sizeof bytes, &mesh, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "13 triangles but has bytes for 12"));
    memset(bytes + 80, 0xff, 4);
    assert_int_equal(cal_mesh_parse("a.stl", bytes, sizeof bytes, &mesh, &error), CAL_BAD_MODEL);
    assert_int_equal(cal_mesh_read("/does/not/exist.stl", &mesh, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "/does/not/exist.stl"));
}

static void test_no_memory(void** state) {
    (void)state;
    char text[8192];
    const size_t size = write_obj(text, 0);
    const int64_t live = cal_live_allocations();
    cal_status status = CAL_NO_MEMORY;
    for (int64_t after = 0; status != CAL_OK; after++) {
        cal_triangles mesh;
        cal_solid solid;
        cal_fail_allocation(after);
        status = cal_mesh_parse("box.obj", text, size, &mesh, NULL);
        if (status == CAL_OK) status = cal_mesh_weigh(&mesh, CAL_INERTIA_CONVEX, "box", &solid, NULL);
        if (status == CAL_OK) status = cal_mesh_weigh(&mesh, CAL_INERTIA_EXACT, "box", &solid, NULL);
        cal_fail_allocation(-1);
        if (status != CAL_OK) assert_int_equal(status, CAL_NO_MEMORY);
        cal_mesh_free(&mesh);
        assert_int_equal(cal_live_allocations(), live);
        assert_true(after < 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solids_of_revolution),
        cmocka_unit_test(test_ellipsoids),
        cmocka_unit_test(test_solids_together),
        cmocka_unit_test(test_impossible_inertias),
        cmocka_unit_test(test_sides_are_exact),
        cmocka_unit_test(test_hull_of_random_points),
        cmocka_unit_test(test_hull_of_degenerate_points),
        cmocka_unit_test(test_hull_of_a_sphere),
        cmocka_unit_test(test_hull_refuses),
        cmocka_unit_test(test_hull_of_any_size),
        cmocka_unit_test(test_formats_agree),
        cmocka_unit_test(test_transforms),
        cmocka_unit_test(test_concave),
        cmocka_unit_test(test_diagonals),
        cmocka_unit_test(test_several_objects),
        cmocka_unit_test(test_points_alone),
        cmocka_unit_test(test_bad_weights),
        cmocka_unit_test(test_collada),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
