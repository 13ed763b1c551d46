// What is attached to bodies: constraints, shapes and meshes; that they come back as they were given, and what is refused.
#include "base/memory.h"
#include "support.h"

#include <math.h>
#include <string.h>

static const double corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static const int32_t faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

// Two links on hinges, tied together and to the ground, with a shape and a mesh.
typedef struct scene {
    cal_constraint_def weld, coupling;
    cal_shape_def ball, hull;
    cal_mesh_def mesh;
    double vertices[4][3];
    int32_t triangles[4][3];
} scene;

static scene make_scene(void) {
    scene s = {.weld = cal_default_constraint_def(),
               .coupling = cal_default_constraint_def(),
               .ball = cal_default_shape_def(),
               .hull = cal_default_shape_def(),
               .mesh = cal_default_mesh_def()};
    s.weld.name = "grip";
    s.weld.body[1] = 1;
    s.weld.quaternion[1][0] = 2.0;
    s.coupling.kind = CAL_COUPLING;
    s.coupling.joint[0] = 0, s.coupling.joint[1] = 1;
    s.ball.body = 0;
    s.ball.size[0] = 0.1;
    s.hull.kind = CAL_MESH;
    s.hull.mesh = 0;
    memcpy(s.vertices, corners, sizeof corners);
    memcpy(s.triangles, faces, sizeof faces);
    s.mesh.vertex_count = s.mesh.triangle_count = 4;
    return s;
}

static cal_status build(scene* s, cal_model** out, cal_error* error) {
    cal_builder* builder = NULL;
    if (cal_builder_create(&builder) != CAL_OK) return error->status = CAL_NO_MEMORY;
    cal_body_def body = cal_default_body_def();
    body.mass = 1.0;
    body.inertia[0] = body.inertia[1] = body.inertia[2] = 0.1;
    const cal_joint_def joint = cal_default_joint_def();
    for (int i = 0; i < 2; i++) {
        body.parent = i - 1;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    }
    s->mesh.vertices = s->vertices[0];
    s->mesh.triangles = s->triangles[0];
    cal_builder_add_constraint(builder, &s->weld);
    cal_builder_add_constraint(builder, &s->coupling);
    cal_builder_add_shape(builder, &s->ball);
    cal_builder_add_shape(builder, &s->hull);
    cal_builder_add_mesh(builder, &s->mesh);
    const cal_status status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}

static void comes_back_as_it_was_given(void** state) {
    (void)state;
    scene s = make_scene();
    cal_model* model;
    cal_error error;
    char name[32];
    if (build(&s, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    assert_int_equal(cal_model_constraint_count(model), 2);
    assert_int_equal(cal_model_shape_count(model), 2);
    assert_int_equal(cal_model_mesh_count(model), 1);
    assert_int_equal(cal_model_find_constraint(model, "grip"), 0);
    assert_int_equal(cal_model_find_constraint(model, "constraint1"), 1);
    assert_int_equal(cal_model_find_constraint(model, "constraint0"), CAL_NONE);
    assert_string_equal(cal_model_constraint_name(model, 1, name, sizeof name), "constraint1");
    cal_constraint_def weld;
    cal_model_constraint(model, 0, &weld);
    assert_true(weld.quaternion[1][0] == 1.0); // normalised
    assert_int_equal(cal_constraint_rows(&weld, NULL), 6);
    cal_shape_def hull;
    cal_model_shape(model, 1, &hull);
    assert_int_equal(hull.kind, CAL_MESH);
    cal_mesh_def mesh;
    cal_model_mesh(model, 0, &mesh);
    assert_memory_equal(mesh.vertices, corners, sizeof corners);
    assert_memory_equal(mesh.triangles, faces, sizeof faces);
    cal_model_destroy(model);
}

#define SPOILED(X)                                                                                                     \
    X(s->weld.kind = (cal_constraint_kind)99, "constraint \"grip\"", "kind is 99")                                     \
    X(s->weld.body[1] = 2, "constraint \"grip\"", "holds body 2")                                                      \
    X(s->weld.body[1] = CAL_GROUND, "constraint \"grip\"", "to itself")                                                \
    X(s->weld.position[0][1] = NAN, "constraint \"grip\"", "not finite")                                               \
    X(s->weld.quaternion[0][0] = 0.0, "constraint \"grip\"", "quaternion is zero")                                     \
    X((s->weld.kind = CAL_ROWS, s->weld.rows = 64), "constraint \"grip\"", "bits from 1 to 63")                        \
    X(s->weld.kind = CAL_DISTANCE, "constraint \"grip\"", "length is 0")                                               \
    X(s->weld.kind = CAL_ON_SURFACE, "constraint \"grip\"", "no surface")                                              \
    X(s->coupling.joint[0] = 2, "constraint 1", "couples joint 2")                                                     \
    X(s->coupling.joint[1] = 0, "constraint 1", "with itself")                                                         \
    X(s->coupling.polynomial[2] = INFINITY, "constraint 1", "polynomial is not finite")                                \
    X(s->coupling.name = "grip", "constraints 0 and 1", "both named")                                                  \
    X(s->weld.cookie = 0, "constraint 0", "cal_default_")                                                              \
    X(s->ball.size[0] = 0.0, "shape 0", "above zero")                                                                  \
    X(s->ball.body = 7, "shape 0", "on body 7")                                                                        \
    X(s->ball.kind = (cal_shape_kind)99, "shape 0", "kind is 99")                                                      \
    X(s->ball.restitution = 1.5, "shape 0", "restitution 1.5")                                                         \
    X(s->ball.friction = -1.0, "shape 0", "friction -1")                                                               \
    X(s->hull.mesh = 1, "shape 1", "mesh is 1")                                                                        \
    X(s->hull.kind = CAL_HEIGHT_FIELD, "shape 1", "no grid")                                                           \
    X(s->hull.cookie = 0, "shape 1", "cal_default_")                                                                   \
    X(s->vertices[2][1] = NAN, "mesh 0", "vertex 2 is not finite")                                                     \
    X(s->triangles[1][0] = 4, "mesh 0", "vertex 4")                                                                    \
    X(s->triangles[1][0] = -1, "mesh 0", "vertex -1")                                                                  \
    X(s->mesh.columns = 3, "mesh 0", "not rows of 3")                                                                  \
    X(s->mesh.vertex_count = 0, "mesh 0", "no vertices")                                                               \
    X(s->mesh.cookie = 0, "mesh 0", "cal_default_")

static void refuse(scene* s, const char* where, const char* why) {
    cal_model* model = NULL;
    cal_error error = {0};
    const int64_t live = cal_live_allocations();
    assert_int_not_equal(build(s, &model, &error), CAL_OK);
    if (!strstr(error.text, where) || !strstr(error.text, why))
        fail_msg("'%s' and '%s' are not in: %s", where, why, error.text);
    assert_int_equal(cal_live_allocations(), live);
}

static void a_spoiled_definition_is_refused_by_name(void** state) {
    (void)state;
#define REFUSE(spoil, where, why)                                                                                      \
    {                                                                                                                  \
        scene changed = make_scene(), *s = &changed;                                                                   \
        (void)(spoil);                                                                                                 \
        refuse(s, where, why);                                                                                         \
    }
    SPOILED(REFUSE)
}

static void lack_of_memory_is_reported_and_nothing_leaks(void** state) {
    (void)state;
    const int64_t live = cal_live_allocations();
    int failures = 0;
    for (cal_status status = CAL_NO_MEMORY; status != CAL_OK; failures++) {
        scene s = make_scene();
        cal_model* model = NULL;
        cal_error error = {0};
        cal_fail_allocation(failures);
        status = build(&s, &model, &error);
        cal_fail_allocation(-1);
        if (status != CAL_OK) assert_int_equal(status, CAL_NO_MEMORY);
        cal_model_destroy(model);
        assert_int_equal(cal_live_allocations(), live);
    }
    assert_true(failures > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_was_given),
        cmocka_unit_test(a_spoiled_definition_is_refused_by_name),
        cmocka_unit_test(lack_of_memory_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests_name("attached", tests, NULL, NULL);
}
