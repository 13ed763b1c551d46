// Generators: the models that they promise, the papers' numbers, and errors that name the parameter.
#include "model/model.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static void generators_make_as_many_joints_as_they_promise(void** state) {
    (void)state;
    const struct {
        const char* specification;
        int bodies, joints, q, v, depth;
    } expected[] = {
        {"mobile:l=5,o=9,plateau=printed", 455, 455, 455, 455, 15}, // the paper's smaller mobile
        {"mobile:s=3,l=5,o=9,plateau=light,taper=0.1,start=0.8", 455, 455, 455, 455, 15},
        {"mobile:s=4,l=5,o=9,plateau=printed,start=0.8", 4100, 4100, 4100, 4100, 20}, // and the bigger one
        {"mobile:s=1,l=12,start=0.8", 12, 12, 12, 12, 12},
        {"mobile:s=2,l=3,o=11,plateau=printed,start=0.8", 36, 36, 36, 36, 6},
        {"chain", 36, 36, 36, 36, 36},
        {"chain:n=8,joint=ball", 8, 8, 32, 24, 8},
        {"chain:n=7,joint=prismatic", 7, 7, 7, 7, 7},
        {"tree:height=4,fanout=3", 40, 40, 40, 40, 4},
        {"tree:height=3,fanout=2,joint=ball", 7, 7, 28, 21, 3},
        {"pendulum", 1, 1, 1, 1, 1},
        {"stickman", 12, 12, 51, 39, 4},
        {"figure", 13, 13, 43, 34, 4},
        {"figure:dof=48", 19, 19, 61, 48, 6},
        {"humanoid", 31, 31, 37, 36, 11},
        {"pendulum:form=distance", 1, 2, 2, 2, 2},
        {"rail", 1, 2, 2, 2, 2},
        {"cart", 1, 3, 3, 3, 3},
        {"fivebar", 4, 4, 4, 4, 2},
        {"fourbar:n=3", 7, 7, 7, 7, 2},
        {"slidercrank", 3, 3, 3, 3, 2},
        {"bricard", 5, 5, 5, 5, 5},
        {"rolling-disk", 1, 1, 7, 6, 1},
        {"ring:n=6,joint=ball", 6, 6, 24, 18, 6},
        {"andrews", 8, 9, 9, 9, 2},
        {"governor", 6, 8, 8, 8, 4},
        {"scissor:n=3", 6, 6, 6, 6, 6},
        {"tower:n=3", 9, 9, 9, 9, 6},
        {"bennett", 3, 3, 3, 3, 3},
        {"sarrus", 5, 5, 5, 5, 3},
        {"delta", 4, 4, 10, 9, 1},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        cal_model* model = cal_test_model(expected[i].specification);
        assert_string_equal(cal_model_name(model), expected[i].specification);
        assert_int_equal(cal_model_body_count(model), expected[i].bodies);
        assert_int_equal(cal_model_joint_count(model), expected[i].joints);
        assert_int_equal(cal_model_q_count(model), expected[i].q);
        assert_int_equal(cal_model_v_count(model), expected[i].v);
        assert_int_equal(cal_model_depth(model), expected[i].depth);
        cal_model_destroy(model);
    }
}

static void a_bad_specification_names_what_is_wrong(void** state) {
    (void)state;
    const struct {
        const char *specification, *who, *what, *allowed;
    } bad[] = {
        {"mobil", "mobil", "no generator", "mobile, chain, tree"},
        {"", "\"\"", "no generator", "mobile, chain, tree"},
        {"mobile:z=3", "mobile", "no parameter \"z\"", "a, b, c, h, s, l, o, p, rho, plateau, taper, start, damping"},
        {"mobile:s=0", "mobile", "s=0", "whole number from 1 to 24"},
        {"mobile:s=2.5", "mobile", "s=2.5", "whole number from 1 to 24"},
        {"mobile:h=-1", "mobile", "h=-1", "number from 0.001 to 1000"},
        {"mobile:h=nan", "mobile", "h=nan", "number from 0.001 to 1000"},
        {"mobile:h=1m", "mobile", "h=1m", "number from 0.001 to 1000"},
        {"mobile:h=", "mobile", "h=", "number from 0.001 to 1000"},
        {"mobile:plateau=big", "mobile", "plateau=big", "balanced|printed|leaf|light"},
        {"mobile:s=12", "mobile", "s=12", "at most 20000000"},
        {"net:wide=10000,tall=10000", "net", "wide=10000", "at most 20000000"},
        {"mobile:s=3,s=3", "mobile", "s is given twice", ""},
        {"mobile:s=3,", "mobile", "nothing follows", ""},
        {"mobile:s", "mobile", "\"s\"", "key=value"},
        {"figure:dof=40", "figure", "dof=40", "34|48"},
        {"tree:height=30", "tree", "height=30", "20000000"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cal_model* model = NULL;
        cal_error error = {0};
        assert_int_equal(cal_model_generate(bad[i].specification, &model, &error), CAL_BAD_ARGUMENT);
        assert_null(model);
        if (strstr(error.text, bad[i].who) == NULL || strstr(error.text, bad[i].what) == NULL ||
            strstr(error.text, bad[i].allowed) == NULL)
            fail_msg("%s: \"%s\"", bad[i].specification, error.text);
    }
}

static void every_generator_has_help_and_a_model_by_default(void** state) {
    (void)state;
    int count = 0;
    for (; cal_generator_name(count) != NULL; count++) {
        assert_non_null(cal_generator_help(count));
        cal_model_destroy(cal_test_model(cal_generator_name(count)));
    }
    assert_int_equal(count, 25);
    assert_null(cal_generator_name(-1));
    assert_null(cal_generator_help(count));
    const char* mobile = cal_generator_help(0);
    const char* parts[] = {"plateau=balanced|printed|leaf|light", "start=0.2", "rho=2.0", "s=3  stages (1 to 24)"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) assert_non_null(strstr(mobile, parts[i]));
}

// --- Mobiles ---------------------------------------------------------------------------------------------------------

// Simpson's weights for 0 … n, times 3 / step.
static double simpson(int i, int n) { return i == 0 || i == n ? 1.0 : i % 2 == 1 ? 4.0 : 2.0; }

// ∫ (1, y, x², y², z²) over Jung's wedge, with z = −(yc/h) sin φ.
static void integrate_wedge(double a, double b, double c, double h, double rho, double sums[5]) {
    enum { N = 200 };
    memset(sums, 0, 5 * sizeof *sums);
    for (int i = 0; i <= N; i++)
        for (int j = 0; j <= N; j++) {
            const double y = -h * i / N, phi = pi * ((double)j / N - 0.5), radius = -y * c / h;
            const double z = radius * sin(phi), x = a - y / h * (b - a) + radius * cos(phi);
            const double weight = simpson(i, N) * simpson(j, N) / 9.0 * (h / N) * (pi / N) * radius * cos(phi) * rho;
            const double values[5] = {1.0, y, x * x / 3.0, y * y, z * z};
            for (int k = 0; k < 5; k++) sums[k] += weight * 2.0 * x * values[k];
        }
}

static void expect_wedge(const cal_model* model, int body, const double sums[5], const char* where) {
    cal_body_def def;
    cal_model_body(model, body, &def);
    // About the origin: moved there from the centre of mass.
    const double shift = def.mass * def.center[1] * def.center[1];
    const double found[5] = {def.mass, def.mass * def.center[1], def.inertia[0] + shift, def.inertia[1],
                             def.inertia[2] + shift};
    const double expected[5] = {sums[0], sums[1], sums[3] + sums[4], sums[2] + sums[4], sums[2] + sums[3]};
    for (int k = 0; k < 5; k++) cal_test_expect_below(fabs(found[k] / expected[k] - 1.0), 1e-7, "moment", where);
    assert_true(def.center[0] == 0.0 && def.center[2] == 0.0);
    for (int k = 3; k < 6; k++) assert_true(def.inertia[k] == 0.0);
}

static void wedges_weigh_what_the_integral_says(void** state) {
    (void)state;
    double link[5], leaf[5], plateau[5];
    cal_model* model =
        cal_test_model("mobile:s=2,l=2,o=3,a=0.25,b=0.4,c=0.15,h=0.7,p=2,rho=3,plateau=printed,start=0.8");
    integrate_wedge(0.25, 0.4, 0.15, 0.7, 3.0, link);
    integrate_wedge(0.25, 0.0, 0.4 + 0.15, 0.7, 3.0, leaf);
    integrate_wedge(0.25, 0.0, 2.0 * 3.0 / pi, 0.7, 3.0, plateau);
    expect_wedge(model, 0, link, "link");
    expect_wedge(model, 1, plateau, "plateau");
    expect_wedge(model, 2, link, "link of the second stage");
    expect_wedge(model, 3, leaf, "leaf");
    cal_model_destroy(model);
    // Other plateaus weigh what a leaf does.
    const char* others[] = {"mobile:s=2,l=2,o=3,a=0.25,b=0.4,c=0.15,h=0.7,p=2,rho=3,plateau=leaf,start=0.8",
                            "mobile:s=2,l=2,o=3,a=0.25,b=0.4,c=0.15,h=0.7,p=2,rho=3,plateau=light,start=0.8"};
    for (int i = 0; i < 2; i++) {
        model = cal_test_model(others[i]);
        expect_wedge(model, 1, leaf, others[i]);
        cal_model_destroy(model);
    }
}

static void chains_hang_with_their_outer_corners_on_the_brim(void** state) {
    (void)state;
    const struct {
        const char* specification;
        double radius;
    } cases[] = {{"mobile:s=2,o=5,l=5,plateau=printed,start=0.8", 15.0 / pi},
                 {"mobile:s=2,o=5,plateau=leaf,l=5,start=0.8", 0.5},
                 {"mobile:s=2,o=5,plateau=light,l=5,start=0.8", 15.0 / pi}};
    for (int c = 0; c < 3; c++) {
        cal_model* model = cal_test_model(cases[c].specification);
        for (int chain = 1; chain <= 5; chain++) {
            cal_body_def def;
            cal_model_body(model, 5 * chain, &def);
            assert_int_equal(def.parent, 4);
            double R[9], corner[3];
            cal_quaternion_matrix(def.quaternion, R);
            cal_rotate3(R, (const double[3]){0.2, 0.0, 0.0}, corner);
            for (int i = 0; i < 3; i++) corner[i] += def.position[i];
            const double theta = 2.0 * pi * (chain - 1) / 5.0;
            const double expected[3] = {cases[c].radius * cos(theta), -1.0, -cases[c].radius * sin(theta)};
            cal_test_expect_below(cal_test_largest_difference(corner, expected, 3), 1e-14, "corner",
                                  cases[c].specification);
        }
        cal_model_destroy(model);
    }
}

// Neighbours at the same height are three radii of what hangs on each of them apart, and the whole is light.
static void balanced_chains_hang_just_far_enough_apart(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile");
    assert_int_equal(cal_model_joint_count(model), 124);
    double reach = 0.5;          // of a leaf
    const int first[] = {24, 4}; // first links of the first chains of the third stage, and of the second
    for (int stage = 0; stage < 2; stage++) {
        cal_body_def a, b;
        cal_model_body(model, first[stage], &a);
        cal_model_body(model, first[stage] + 4, &b);
        assert_int_equal(a.parent, b.parent);
        const double apart = hypot(a.position[0] - b.position[0], a.position[2] - b.position[2]);
        cal_test_expect_below(fabs(apart - 3.0 * reach), 1e-12, "distance", "neighbours");
        reach += hypot(a.position[0], a.position[2]);
    }
    cal_test_expect_below(cal_model_mass(model), 60, "mass", "mobile");
    cal_model_destroy(model);
}

// Volume by the divergence theorem; an arc of 12 chords encloses sin(π/12)/(π/12) of its sector.
static void bodies_are_drawn_as_their_wedges(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile:s=2,l=2,o=3,a=0.25,b=0.4,c=0.15,h=0.7,p=2,rho=3,plateau=printed");
    for (int i = 0; i < cal_model_shape_count(model); i++) {
        cal_shape_def shape;
        cal_mesh_def mesh;
        cal_body_def body;
        cal_model_shape(model, i, &shape);
        cal_model_mesh(model, shape.mesh, &mesh);
        cal_model_body(model, shape.body, &body);
        double volume = 0.0;
        for (int t = 0; t < mesh.triangle_count; t++) {
            const double *p = mesh.vertices + 3 * mesh.triangles[3 * t],
                         *q = mesh.vertices + 3 * mesh.triangles[3 * t + 1],
                         *r = mesh.vertices + 3 * mesh.triangles[3 * t + 2];
            volume += (p[0] * (q[1] * r[2] - q[2] * r[1]) + p[1] * (q[2] * r[0] - q[0] * r[2]) +
                       p[2] * (q[0] * r[1] - q[1] * r[0])) /
                      6.0;
        }
        const bool link = shape.body % 2 == 0;
        const double b = link ? 0.4 : 0.0, c = link ? 0.15 : shape.body == 1 ? 6.0 / pi : 0.55;
        const double round = 0.7 * pi * c * c / 3.0, chords = sin(pi / 12.0) / (pi / 12.0);
        const double solid = 0.7 * c * (2.0 * 0.25 + 4.0 * b + pi * c) / 3.0;
        cal_test_expect_below(fabs(solid - body.mass / 3.0), 1e-12, "volume", "wedge");
        cal_test_expect_below(fabs(volume - (solid - round + round * chords)), 1e-12, "volume", "mesh");
    }
    assert_int_equal(cal_model_shape_count(model), cal_model_body_count(model));
    cal_model_destroy(model);
}

static void taper_makes_links_as_heavy_as_asked(void** state) {
    (void)state;
    cal_model* plain = cal_test_model("mobile:plateau=light,l=5,o=9,start=0.8");
    cal_model* tapered = cal_test_model("mobile:plateau=light,taper=0.1,l=5,o=9,start=0.8");
    const int count = cal_model_body_count(tapered);
    double* below = cal_test_numbers((size_t)count);
    int heavier = 0;
    for (int i = count - 1; i >= 0; i--) {
        cal_body_def before, after;
        cal_model_body(plain, i, &before);
        cal_model_body(tapered, i, &after);
        const double factor = after.mass / before.mass, asked = fmax(1.0, 0.1 * below[i] / before.mass);
        cal_test_expect_below(fabs(factor / asked - 1.0), 1e-12, "mass", "taper");
        for (int k = 0; k < 3; k++)
            cal_test_expect_below(fabs(after.inertia[k] / before.inertia[k] / factor - 1.0), 1e-12, "inertia", "taper");
        assert_true(fabs(after.center[1] / before.center[1] - 1.0) < 1e-15);
        heavier += factor > 1.0;
        if (after.parent >= 0) below[after.parent] += below[i] + after.mass;
    }
    assert_true(heavier > 10 && heavier < count);
    free(below);
    cal_model_destroy(plain);
    cal_model_destroy(tapered);
}

static void a_mobile_starts_with_its_first_joint_turned(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile:damping=5,l=5,o=9,plateau=printed,start=0.8");
    double q[455], gravity[3];
    cal_model_initial(model, q, NULL, NULL);
    cal_model_gravity(model, gravity);
    assert_true(q[0] == 0.8 && gravity[0] == 0.0 && gravity[1] == -9.81 && gravity[2] == 0.0);
    for (int i = 0; i < 455; i++) {
        cal_joint_def joint;
        cal_model_joint(model, i, &joint, NULL, NULL, NULL);
        assert_true(joint.damping == 5.0 && joint.axis[0] == 1.0 && (i == 0 || q[i] == 0.0));
    }
    assert_true(cal_model_has_joint_forces(model));
    cal_model_destroy(model);
}

// --- The others ------------------------------------------------------------------------------------------------------

static void capsules_weigh_what_the_integral_says(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=1,length=0.5,radius=0.2,mass=3");
    cal_body_def def;
    cal_model_body(model, 0, &def);
    // Discs along the axis, from one end to the other.
    enum { N = 20000 };
    double volume = 0.0, along = 0.0, across = 0.0;
    for (int i = 0; i <= N; i++) {
        const double z = 0.45 * (2.0 * i / N - 1.0), over = fmax(0.0, fabs(z) - 0.25);
        const double square = 0.04 - over * over, disc = simpson(i, N) * pi * square;
        volume += disc, along += disc * square / 2.0, across += disc * (square / 4.0 + z * z);
    }
    cal_test_expect_below(fabs(def.inertia[0] / (3.0 * across / volume) - 1.0), 1e-7, "inertia", "across");
    cal_test_expect_below(fabs(def.inertia[1] / (3.0 * across / volume) - 1.0), 1e-7, "inertia", "across");
    cal_test_expect_below(fabs(def.inertia[2] / (3.0 * along / volume) - 1.0), 1e-7, "inertia", "along");
    assert_true(def.center[2] == -0.25 && def.mass == 3.0);
    cal_model_destroy(model);
}

static void every_joint_of_the_humanoid_moves_a_link_of_its_own(void** state) {
    (void)state;
    cal_model* model = cal_test_model("humanoid");
    int revolute = 0, carried[31] = {0};
    for (int i = 0; i < 31; i++) {
        cal_joint_def joint;
        cal_body_def body;
        int owner;
        cal_model_joint(model, i, &joint, &owner, NULL, NULL);
        cal_model_body(model, owner, &body);
        revolute += joint.kind == CAL_REVOLUTE;
        carried[owner]++;
        assert_true(body.mass > 0.1);
    }
    assert_int_equal(revolute, 30);
    for (int i = 0; i < 31; i++) assert_int_equal(carried[i], 1);
    // Left and right are mirror images.
    cal_body_def left, right;
    cal_model_body(model, cal_model_find_body(model, "left_hand"), &left);
    cal_model_body(model, cal_model_find_body(model, "right_hand"), &right);
    assert_true(left.mass == right.mass && left.position[1] == -right.position[1]);
    cal_model_destroy(model);
}

static void a_figure_starts_as_high_above_its_floor_as_asked(void** state) {
    (void)state;
    double height[2] = {0};
    for (int i = 0; i < 2; i++) {
        cal_model* model = cal_test_model(i == 0 ? "humanoid" : "humanoid:drop=0.4");
        cal_shape_def floor;
        cal_model_shape(model, cal_model_shape_count(model) - 1, &floor);
        assert_int_equal(floor.kind, CAL_PLANE);
        height[i] = floor.position[2];
        cal_model_destroy(model);
    }
    cal_test_expect_below(fabs(height[0] - height[1] - 0.4), 1e-15, "height", "humanoid");
}

static void random_trees_have_everything_and_can_be_had_again(void** state) {
    (void)state;
    cal_model* model = cal_test_model("random:n=300,seed=5,passive=1");
    cal_model* again = cal_test_model("random:n=300,seed=5,passive=1");
    cal_model* other = cal_test_model("random:n=300,seed=6,passive=1");
    int kinds[4] = {0}, fixed = 0, several = 0;
    for (int b = 0; b < model->body_count; b++) {
        fixed += model->bodies[b].joint_count == 0;
        several += model->bodies[b].joint_count > 1;
    }
    for (int j = 0; j < model->joint_count; j++) kinds[model->joints[j].def->kind]++;
    assert_true(fixed > 0 && several > 0 && kinds[0] > 0 && kinds[1] > 0 && kinds[2] > 0 && kinds[3] > 0);
    assert_int_equal(model->q_count, again->q_count);
    assert_memory_equal(model->initial_q, again->initial_q, (size_t)model->q_count * sizeof(double));
    assert_true(model->initial_q[0] != other->initial_q[0]);
    cal_model_destroy(model);
    cal_model_destroy(again);
    cal_model_destroy(other);
    model = cal_test_model("random:n=50,joints=ball");
    for (int j = 0; j < model->joint_count; j++) assert_int_equal(model->joints[j].def->kind, CAL_BALL);
    cal_model_destroy(model);
}

static void a_mobile_of_a_million_joints_builds(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile:s=6,l=15,o=9,plateau=light,taper=0.1,start=0.8");
    assert_int_equal(cal_model_joint_count(model), 996450);
    assert_int_equal(cal_model_depth(model), 90);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generators_make_as_many_joints_as_they_promise),
        cmocka_unit_test(a_bad_specification_names_what_is_wrong),
        cmocka_unit_test(every_generator_has_help_and_a_model_by_default),
        cmocka_unit_test(wedges_weigh_what_the_integral_says),
        cmocka_unit_test(chains_hang_with_their_outer_corners_on_the_brim),
        cmocka_unit_test(balanced_chains_hang_just_far_enough_apart),
        cmocka_unit_test(bodies_are_drawn_as_their_wedges),
        cmocka_unit_test(taper_makes_links_as_heavy_as_asked),
        cmocka_unit_test(a_mobile_starts_with_its_first_joint_turned),
        cmocka_unit_test(capsules_weigh_what_the_integral_says),
        cmocka_unit_test(every_joint_of_the_humanoid_moves_a_link_of_its_own),
        cmocka_unit_test(a_figure_starts_as_high_above_its_floor_as_asked),
        cmocka_unit_test(random_trees_have_everything_and_can_be_had_again),
        cmocka_unit_test(a_mobile_of_a_million_joints_builds),
    };
    return cmocka_run_group_tests_name("generators", tests, NULL, NULL);
}
