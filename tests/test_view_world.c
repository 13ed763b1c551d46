// Worlds in the viewer: what is drawn, what is plotted, starting anew, and what is refused.
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/engine.h"

static cal_status make(void* user, cal_world** out, cal_error* error) {
    return cal_world_generate(user, NULL, out, error);
}

static cal_view_engine* open_world(char* scene, cal_drawing** drawing) {
    cal_view_engine* engine = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_view_engine_world(make, scene, drawing, &engine, &error)) fail_msg("%s: %s", scene, error.text);
    return engine;
}

static void advance_to(cal_view_engine* engine, double time) {
    cal_error error = {CAL_OK, ""};
    bool reached = false;
    if (engine->ops->advance(engine, time, &reached, &error)) fail_msg("%s", error.text);
    assert_true(reached && engine->ops->time(engine) == time);
}

static double channel(cal_view_engine* engine, const char* name) {
    float* poses = calloc(7 * (size_t)engine->drawn_count, sizeof *poses);
    double values[16];
    cal_view_pull pull;
    assert_int_equal(engine->ops->sample(engine, poses, values, &pull), CAL_OK);
    assert_int_equal(pull.body, CAL_NONE);
    for (int i = 0; i < 7 * engine->drawn_count; i++) assert_true(isfinite(poses[i]));
    free(poses);
    for (int i = 0; i < engine->channel_count; i++)
        if (strcmp(engine->channels[i].name, name) == 0) return values[i];
    fail_msg("there is no channel '%s'", name);
    return NAN;
}

// Frames are final: however finely the world was looked at, a state is that of a world which was advanced at one go.
static void test_frames_are_final(void** unused) {
    (void)unused;
    char scene[] = "atoms:n=60";
    cal_drawing* drawing;
    cal_view_engine* engine = open_world(scene, &drawing);
    const uint64_t start = engine->ops->hash(engine);
    const double energy = channel(engine, "total");
    double most = 0;
    for (int frame = 1; frame <= 120; frame++) {
        advance_to(engine, frame / 60.0);
        most = fmax(most, channel(engine, "discontinuities"));
    }
    cal_world* world = NULL;
    cal_world_report report;
    assert_int_equal(make(scene, &world, NULL), CAL_OK);
    assert_int_equal(cal_world_advance(world, 2, NULL), CAL_OK);
    cal_world_get_report(world, &report);
    assert_true(engine->ops->hash(engine) == report.hash);
    assert_true(report.collisions > 0 && most > 0);
    cal_world_destroy(world);
    // Nothing is lost in this scene.
    cal_test_expect_below(fabs(channel(engine, "total") / energy - 1), 1e-9, "energy", scene);
    assert_int_equal(engine->ops->reset(engine, NULL), CAL_OK);
    assert_true(engine->ops->hash(engine) == start);
    assert_true(engine->ops->time(engine) == 0);
    assert_true(channel(engine, "discontinuities") == 0);
    cal_drawing_destroy(drawing);
    engine->ops->destroy(engine);
}

// A pyramid becomes one group (every box touches the next ones), and falls asleep; it stands where it was put.
static void test_a_pyramid_is_a_group_and_sleeps(void** unused) {
    (void)unused;
    char scene[] = "stack:kind=pyramid,n=4";
    cal_drawing* drawing;
    cal_view_engine* engine = open_world(scene, &drawing);
    assert_int_equal(drawing->moving, 10);
    advance_to(engine, 0.3);
    assert_true(channel(engine, "groups") == 1);
    advance_to(engine, 3);
    assert_true(channel(engine, "asleep") == 10);
    cal_drawing_destroy(drawing);
    engine->ops->destroy(engine);
}

// Rocks are points without triangles: what is drawn is their hull, closed by Euler's formula (triangles = 2 corners − 4).
static void test_rocks_are_drawn_as_hulls(void** unused) {
    (void)unused;
    char scene[] = "avalanche:n=5,boulders=2";
    cal_drawing* drawing;
    cal_view_engine* engine = open_world(scene, &drawing);
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
    engine->ops->destroy(engine);
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
    cal_view_engine* engine = open_world(scene, &drawing);
    const cal_view_settings settings = {.solver = "gear"};
    cal_error error = {CAL_OK, ""};
    assert_int_equal(engine->ops->grab(engine, 0, (const double[3]){0, 0, 0}, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "pulled"));
    assert_int_equal(engine->ops->change(engine, &settings, &error), CAL_BAD_ARGUMENT);
    engine->ops->drag(engine, (const double[3]){1, 1, 1});
    engine->ops->drop(engine);
    bool reached;
    advance_to(engine, 0.1);
    assert_int_equal(engine->ops->advance(engine, 0.05, &reached, &error), CAL_BAD_ARGUMENT);
    cal_drawing_destroy(drawing);
    engine->ops->destroy(engine);
    assert_int_not_equal(cal_view_engine_world(make, wrong, &drawing, &engine, &error), CAL_OK);
    assert_null(engine);
    assert_null(drawing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_final),         cmocka_unit_test(test_a_pyramid_is_a_group_and_sleeps),
        cmocka_unit_test(test_rocks_are_drawn_as_hulls), cmocka_unit_test(test_large_meshes_become_boxes),
        cmocka_unit_test(test_what_worlds_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
