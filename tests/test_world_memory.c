// Worlds and shapes without memory: every allocation fails once in turn. Then an error says so, nothing is lost, what could not be
// added is not there, and a world that failed on its way has ended for good.
#include "base/memory.h"
#include "collide/collide.h"
#include "support_world.h"
#include <math.h>
#include <string.h>

enum { MOST = 20000 };

// --- Shapes ----------------------------------------------------------------------------------------------------------------------

static cal_status make_geometry(cal_error* error) {
    double corners[60][3], heights[12][3];
    for (int i = 0; i < 60; i++) { // on a ball, so that all are corners of the hull
        const double z = (i + 0.5) / 30.0 - 1.0, r = sqrt(1.0 - z * z);
        corners[i][0] = r * cos(2.4 * i), corners[i][1] = r * sin(2.4 * i), corners[i][2] = z;
    }
    for (int i = 0; i < 12; i++) heights[i][0] = i % 4, heights[i][1] = i / 4, heights[i][2] = 0.1 * (i % 3);
    cal_piece_def pieces[3] = {cal_default_piece_def(), cal_default_piece_def(), cal_default_piece_def()};
    pieces[1].kind = CAL_MESH;
    pieces[1].vertices = corners[0];
    pieces[1].vertex_count = 60;
    pieces[2].kind = CAL_HEIGHT_FIELD;
    pieces[2].vertices = heights[0];
    pieces[2].vertex_count = 12;
    pieces[2].columns = 4;
    cal_geometry* geometry = NULL;
    const cal_status status = cal_geometry_create(pieces, 3, &geometry, error);
    assert_int_equal(geometry == NULL, status != CAL_OK);
    cal_geometry_destroy(geometry);
    return status;
}

static cal_status sort_boxes(cal_error* error) {
    cal_broad* broad = NULL;
    cal_status status = cal_broad_create(4, &broad);
    for (int i = 0; status == CAL_OK && i < 40; i++) {
        const double x = 0.4 * i;
        const cal_box box = {{x, 0.0, 0.0}, {x + 0.5 + 0.1 * i, 1.0, 1.0}};
        cal_broad_changes changes;
        status = cal_broad_move(broad, i, &box, &changes);
    }
    cal_broad_destroy(broad);
    return status == CAL_OK ? CAL_OK : (error->status = status);
}

// --- Worlds ----------------------------------------------------------------------------------------------------------------------

static cal_model* model; // of a multibody, made before memory fails

static void count_hits(cal_callback_context* view, const double impulse[3], void* user) {
    (void)impulse;
    (void)user;
    if (cal_callback_slots(view, 0) != NULL) cal_callback_slots(view, 0)[0] += 1.0;
}

static void push(cal_callback_context* view, void* user) {
    (void)user;
    const double force[3] = {0.1, 0.0, 0.0}, torque[3] = {0.0, 0.0, 0.0};
    cal_callback_set_force(view, 0, force, torque);
}

// A failed call leaves as many bodies as there were.
static cal_status add(cal_world* world, cal_shape_kind kind, double x, double z, cal_body_id* out, cal_error* error) {
    const int before = cal_world_body_count(world);
    cal_world_body_def def = cal_default_world_body_def();
    def.name = "thing";
    def.position[0] = x, def.position[2] = z;
    def.motion = kind == CAL_PLANE ? CAL_FIXED : CAL_MOVING;
    def.slots = 1;
    cal_status status = cal_world_add_body(world, &def, out, error);
    assert_int_equal(cal_world_body_count(world), before + (status == CAL_OK));
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = kind;
    for (int i = 0; i < 3; i++) shape.size[i] = 0.1;
    if (status == CAL_OK) status = cal_world_add_shape(world, *out, &shape, NULL, error);
    return status;
}

static cal_status build(cal_world* world, cal_error* error) {
    cal_body_id floor = {0}, box = {0}, ball = {0};
    cal_multibody_id arm;
    cal_status status = add(world, CAL_PLANE, 0.0, 0.0, &floor, error);
    if (status == CAL_OK) status = add(world, CAL_BOX, 0.0, 0.11, &box, error);
    if (status == CAL_OK) status = add(world, CAL_SPHERE, 0.0, 0.35, &ball, error);
    if (status == CAL_OK) status = cal_world_on_collision(world, ball, count_hits, NULL, error);
    if (status == CAL_OK) status = cal_world_on_period(world, &box, 1, 0.03, 0.05, push, NULL, error);
    if (status == CAL_OK) status = cal_world_add_multibody(world, model, NULL, NULL, 0, &arm, error);
    if (status == CAL_OK) status = cal_world_let_links_touch(world, arm, error);
    return status;
}

static cal_world_def world_def;

static cal_status run_world(cal_error* error) {
    cal_world* world = NULL;
    cal_status status = cal_world_create(&world_def, &world, error);
    if (status != CAL_OK) {
        assert_null(world);
        return status;
    }
    cal_world_keep_events(world, true);
    status = build(world, error);
    const bool built = status == CAL_OK;
    for (int i = 1; status == CAL_OK && i <= 3; i++) status = cal_world_advance(world, 0.1 * i, error);
    cal_world_report report;
    cal_world_event event;
    cal_fail_allocation(-1);
    cal_world_get_report(world, &report);
    while (cal_world_next_event(world, &event)) assert_true(event.time >= 0.0);
    cal_error again = {CAL_OK, ""};
    if (built && status != CAL_OK) { // it stays where it failed
        assert_int_equal(cal_world_advance(world, 1.0, &again), status);
        assert_true(strlen(again.text) > 0);
        assert_int_equal(cal_world_get_body(world, cal_world_body(world, 0), NULL, NULL, NULL, NULL), status);
    }
    cal_world_destroy(world);
    return status;
}

static void every_allocation_fails(cal_status run(cal_error*), int stride) {
    const int64_t live = cal_live_allocations();
    cal_status status = CAL_NO_MEMORY;
    for (int64_t after = 0; status != CAL_OK; after += after < 100 ? 1 : stride) {
        assert_true(after < MOST);
        cal_error error = {CAL_OK, ""};
        cal_fail_allocation(after);
        status = run(&error);
        cal_fail_allocation(-1);
        if (status != CAL_OK && status != CAL_NO_MEMORY) fail_msg("after %d: %s", (int)after, error.text);
        if (status != CAL_OK && run != sort_boxes && strlen(error.text) == 0) fail_msg("after %d: no text", (int)after);
        if (cal_live_allocations() != live) fail_msg("after %d something is lost", (int)after);
    }
}

static void shapes_without_memory(void** unused) {
    (void)unused;
    every_allocation_fails(make_geometry, 1);
    every_allocation_fails(sort_boxes, 1);
}

static void worlds_without_memory(void** unused) {
    (void)unused;
    model = cal_test_model("chain:n=3");
    for (int loop = 0; loop < 3; loop++) {
        world_def = cal_default_world_def();
        world_def.loop = (cal_world_loop)loop;
        every_allocation_fails(run_world, loop == 0 ? 1 : 7);
    }
    world_def = cal_default_world_def();
    world_def.forced_rollbacks = 0.2;
    every_allocation_fails(run_world, 7);
    cal_model_destroy(model);
}

static cal_status run_scene(cal_error* error) {
    cal_world* world = NULL;
    cal_status status = cal_world_generate("stack:kind=pyramid,n=3", &world_def, &world, error);
    assert_int_equal(world == NULL, status != CAL_OK);
    if (status == CAL_OK) status = cal_world_advance(world, 0.05, error);
    cal_world_destroy(world);
    return status;
}

static void scenes_without_memory(void** unused) {
    (void)unused;
    world_def = cal_default_world_def();
    every_allocation_fails(run_scene, 5);
}

// A hash has no way to say that there was no memory for it: it needs none, also where nobody has looked at the state before.
static void hashes_without_memory(void** state) {
    (void)state;
    cal_builder* builder = cal_test_builder(9.81);
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = CAL_SPHERE;
    shape.size[0] = 0.1;
    for (int i = 0; i < 2; i++) { // an arm, and a ball
        cal_body_def body = cal_default_body_def();
        body.position[2] = 1.0 + i;
        body.mass = 1.0;
        body.center[0] = i == 0 ? 0.2 : 0.0;
        for (int k = 0; k < 3; k++) body.inertia[k] = 0.01;
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = i == 0 ? CAL_REVOLUTE : CAL_FREE;
        shape.body = cal_builder_add_body(builder, &body);
        assert_true(cal_builder_add_joint(builder, shape.body, &joint) >= 0);
        assert_true(cal_builder_add_shape(builder, &shape) >= 0);
    }
    cal_model* own = cal_test_finish(builder);
    const cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = cal_test_create_sim(own, &def);
    cal_test_advance_sim(sim, 0.1);
    assert_int_equal(cal_sim_set(sim, 0.0, NULL, NULL, NULL), CAL_OK);
    cal_fail_allocation(0);
    const uint64_t without = cal_sim_hash(sim);
    cal_fail_allocation(-1);
    assert_true(without == cal_sim_hash(sim));
    cal_sim_destroy(sim);
    cal_model_destroy(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_without_memory),
        cmocka_unit_test(worlds_without_memory),
        cmocka_unit_test(scenes_without_memory),
        cmocka_unit_test(hashes_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
