// Worlds in the viewer: what is drawn, what is plotted, starting anew, and what is refused.
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/drawing.h"

static cal_status make(void* user, cal_world** out, cal_error* error) {
    return cal_world_generate(user, NULL, out, error);
}

static cal_run* open_world(char* scene, cal_drawing** drawing) {
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_run_create_world(make, scene, &run, &error) || cal_run_begin(run, false, NULL, &error) ||
        cal_drawing_create(run, drawing, &error))
        fail_msg("%s: %s", scene, error.text);
    return run;
}

static void advance_to(cal_run* run, double time) {
    cal_error error = {CAL_OK, ""};
    bool reached = false;
    if (cal_run_approach(run, time, &reached, &error)) fail_msg("%s", error.text);
    assert_true(reached && cal_run_time(run) == time);
}

static double channel(cal_run* run, const char* name) {
    const int bodies = cal_run_body_count(run);
    double* poses = calloc(7 * (size_t)bodies, sizeof *poses);
    double values[CAL_RUN_CHANNELS];
    int count;
    const cal_channel* channels = cal_run_channels(run, &count);
    assert_int_equal(cal_run_poses(run, poses, NULL), CAL_OK);
    assert_int_equal(cal_run_read(run, values, NULL), CAL_OK);
    for (int i = 0; i < 7 * bodies; i++) assert_true(isfinite(poses[i]));
    free(poses);
    for (int i = 0; i < count; i++)
        if (strcmp(channels[i].name, name) == 0) return values[i];
    fail_msg("there is no channel '%s'", name);
    return NAN;
}

// Frames are final: however finely the world was looked at, a state is that of a world which was advanced at one go.
static void test_frames_are_final(void** unused) {
    (void)unused;
    char scene[] = "atoms:n=60";
    cal_drawing* drawing;
    cal_run* run = open_world(scene, &drawing);
    const uint64_t start = cal_run_hash(run);
    const double energy = channel(run, "total");
    double most = 0;
    for (int frame = 1; frame <= 120; frame++) {
        advance_to(run, frame / 60.0);
        most = fmax(most, channel(run, "discontinuities"));
    }
    cal_world* world = NULL;
    cal_world_report report;
    assert_int_equal(make(scene, &world, NULL), CAL_OK);
    assert_int_equal(cal_world_advance(world, 2, NULL), CAL_OK);
    cal_world_get_report(world, &report);
    assert_true(cal_run_hash(run) == report.hash);
    assert_true(report.collisions > 0 && most > 0);
    cal_world_destroy(world);
    // Nothing is lost in this scene.
    cal_test_expect_below(fabs(channel(run, "total") / energy - 1), 1e-9, "energy", scene);
    assert_int_equal(cal_run_reset(run, NULL), CAL_OK);
    assert_true(cal_run_hash(run) == start);
    assert_true(cal_run_time(run) == 0);
    assert_true(channel(run, "discontinuities") == 0);
    cal_drawing_destroy(drawing);
    cal_run_destroy(run);
}

// A pyramid becomes one group (every box touches the next ones), and falls asleep; it stands where it was put.
static void test_a_pyramid_is_a_group_and_sleeps(void** unused) {
    (void)unused;
    char scene[] = "stack:kind=pyramid,n=4";
    cal_drawing* drawing;
    cal_run* run = open_world(scene, &drawing);
    assert_int_equal(drawing->moving, 10);
    advance_to(run, 0.3);
    assert_true(channel(run, "groups") == 1);
    advance_to(run, 3);
    assert_true(channel(run, "asleep") == 10);
    cal_drawing_destroy(drawing);
    cal_run_destroy(run);
}

// Rocks are points without triangles: what is drawn is their hull, closed by Euler's formula (triangles = 2 corners − 4).
static void test_rocks_are_drawn_as_hulls(void** unused) {
    (void)unused;
    char scene[] = "avalanche:n=5,boulders=2,stones=0";
    cal_drawing* drawing;
    cal_run* run = open_world(scene, &drawing);
    int rocks = 0;
    for (int i = 0; i < drawing->instance_count; i++) {
        const cal_drawn* instance = &drawing->instances[i];
        if (instance->kind != CAL_MESH) continue;
        const cal_mesh_def* mesh = &drawing->meshes[instance->mesh];
        bool* corner = calloc((size_t)mesh->vertex_count, sizeof *corner);
        int corners = 0;
        for (int k = 0; k < 3 * mesh->triangle_count; k++) corner[mesh->triangles[k]] = true;
        for (int k = 0; k < mesh->vertex_count; k++) corners += corner[k];
        assert_int_equal(mesh->triangle_count, 2 * corners - 4);
        free(corner);
        rocks++;
    }
    assert_int_equal(rocks, 7);
    cal_drawing_destroy(drawing);
    cal_run_destroy(run);
}

// A mesh beyond the limit becomes the box around it, turned and moved as the mesh was.
static void test_large_meshes_become_boxes(void** unused) {
    (void)unused;
    const double vertices[] = {0, 0, 0, 2, 4, 6};
    const cal_mesh_def mesh = {.vertices = vertices, .vertex_count = 2, .triangle_count = CAL_DRAWN_TRIANGLES_LIMIT};
    cal_drawing drawing = {0};
    assert_true(cal_drawing_takes_mesh(&drawing, &mesh));
    assert_false(cal_drawing_takes_mesh(&drawing, &mesh));
    const double half = 0.70710678118654752;
    cal_drawn instance = {.kind = CAL_MESH, .position = {10, 0, 0}, .quaternion = {half, 0, 0, half}};
    cal_drawn_become_box(&instance, &mesh);
    assert_int_equal(instance.kind, CAL_BOX);
    // A quarter turn about z takes (1, 2, 3) to (−2, 1, 3).
    const double middle[3] = {8, 1, 3};
    for (int k = 0; k < 3; k++) {
        cal_test_expect_below(fabs(instance.position[k] - middle[k]), 1e-12, "middle", "box");
        assert_true(instance.size[k] == k + 1);
    }
}

static void test_what_worlds_refuse(void** unused) {
    (void)unused;
    char scene[] = "atoms:n=5", wrong[] = "atoms:n=five";
    cal_drawing* drawing;
    cal_run* run = open_world(scene, &drawing);
    const cal_run_settings settings = {.solver = "gear"};
    cal_error error = {CAL_OK, ""};
    int wall = 0;
    while (cal_run_body_motion(run, wall) != CAL_FIXED) wall++;
    assert_int_equal(cal_run_grab(run, wall, (const double[3]){0, 0, 0}, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "nothing to pull"));
    assert_int_equal(cal_run_grab(run, 1000, (const double[3]){0, 0, 0}, &error), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_run_change(run, &settings, &error), CAL_NOT_AVAILABLE);
    cal_run_drag(run, (const double[3]){1, 1, 1});
    cal_run_drop(run);
    bool reached;
    advance_to(run, 0.1);
    assert_int_equal(cal_run_approach(run, 0.05, &reached, &error), CAL_BAD_ARGUMENT);
    cal_drawing_destroy(drawing);
    cal_run_destroy(run);
    assert_int_not_equal(cal_run_create_world(make, wrong, &run, &error), CAL_OK);
    assert_null(run);
}

static cal_status make_box(void* user, cal_world** out, cal_error* error) {
    (void)user;
    cal_world_body_def body = cal_default_world_body_def();
    cal_shape_def shape = cal_default_shape_def();
    cal_body_id floor, box;
    cal_status status = cal_world_create(NULL, out, error);
    if (status) return status;
    body.motion = CAL_FIXED;
    shape.kind = CAL_PLANE;
    status = cal_world_add_body(*out, &body, &floor, error);
    if (!status) status = cal_world_add_shape(*out, floor, &shape, NULL, error);
    body.motion = CAL_MOVING;
    body.position[2] = 0.1;
    shape.kind = CAL_BOX;
    for (int i = 0; i < 3; i++) shape.size[i] = 0.1;
    if (!status) status = cal_world_add_body(*out, &body, &box, error);
    return status ? status : cal_world_add_shape(*out, box, &shape, NULL, error);
}

// A hand that holds a box by its centre is a critically damped spring with 12 rad/s, whose force saturates at 4 weights and
// 60 m/s²: the box hangs below the hand by f / (12² m), where f / √(1 + (f / most)²) is its weight. Let go, it falls.
static void test_a_hand_lifts_a_box(void** unused) {
    (void)unused;
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    const double g = 9.81, most = 4 * g + 60, f = g / sqrt(1 - g * g / (most * most));
    double poses[14];
    if (cal_run_create_world(make_box, NULL, &run, &error) || cal_run_begin(run, false, NULL, &error))
        fail_msg("%s", error.text);
    advance_to(run, 1.0);
    assert_int_equal(cal_run_grab(run, 1, (const double[3]){0, 0, 0}, &error), CAL_OK);
    cal_run_drag(run, (const double[3]){0, 0, 1});
    cal_run_pull pull;
    cal_run_get_pull(run, &pull);
    assert_int_equal(pull.body, 1);
    advance_to(run, 4.0);
    assert_int_equal(cal_run_poses(run, poses, NULL), CAL_OK);
    cal_test_expect_below(fabs(poses[9] - (1 - f / 144)), 1e-6, "height", "a box that is held");
    const double held = poses[9];
    cal_run_drop(run);
    cal_run_get_pull(run, &pull);
    assert_int_equal(pull.body, CAL_NONE);
    advance_to(run, 4.25);
    assert_int_equal(cal_run_poses(run, poses, NULL), CAL_OK);
    cal_test_expect_below(fabs(held - poses[9] - 0.5 * g * 0.0625), 1e-6, "fall", "a box that was let go");
    cal_run_destroy(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_final),         cmocka_unit_test(test_a_pyramid_is_a_group_and_sleeps),
        cmocka_unit_test(test_rocks_are_drawn_as_hulls), cmocka_unit_test(test_large_meshes_become_boxes),
        cmocka_unit_test(test_what_worlds_refuse),       cmocka_unit_test(test_a_hand_lifts_a_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
