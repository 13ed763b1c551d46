// Writing MJCF: what is written reads back to the same model, to the bit.
#include "base/memory.h"
#include "calder/calder_read.h"
#include "model/builder.h"
#include "read/mjcf/write_text.h"
#include "place.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char* path_of(const char* name) {
    static char path[CAL_TEST_PATH];
    return cal_test_path(path, name);
}

static cal_model* read_back(const char* name) {
    cal_model* model;
    cal_error error = {CAL_OK, ""};
    cal_read_options options = cal_default_read_options();
    options.strict = true; // the reader understands all that is written
    if (cal_model_read(path_of(name), &options, &model, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    return model;
}

static void write_to(const cal_model* model, const char* name) {
    cal_error error = {CAL_OK, ""};
    if (cal_model_write(model, path_of(name), &error) != CAL_OK) fail_msg("%s", error.text);
}

// The builder would normalise again what the model has normalised: an exact copy needs numbers that become those.
static void before_normalizing(double* unit, int count) {
    double wanted[4];
    memcpy(wanted, unit, (size_t)count * sizeof *unit);
    for (int k = 0; k < 400; k++) {
        const double scale = 1.0 + (k % 2 == 0 ? -1.0 : 1.0) * ((k + 1) / 2) * 0x1p-53;
        for (int i = 0; i < count; i++) unit[i] = wanted[i] * scale;
        const double length = cal_length(unit, count);
        bool same = true;
        for (int i = 0; i < count; i++) same = same && unit[i] / length == wanted[i];
        if (same) return;
    }
}

// The same model with its bodies numbered depth first, as a file numbers them, through the builder alone.
static cal_model* renumber(const cal_model* model) {
    const int count = cal_model_body_count(model);
    int* order = calloc((size_t)count + 1, sizeof *order);
    int* number = calloc((size_t)count + 1, sizeof *number);
    int* joint_number = calloc((size_t)cal_model_joint_count(model) + 1, sizeof *joint_number);
    int* stack = calloc((size_t)count + 1, sizeof *stack);
    int depth = 0, listed = 0;
    cal_body_def body;
    for (int i = count - 1; i >= 0; i--) {
        cal_model_body(model, i, &body);
        if (body.parent == CAL_GROUND) stack[depth++] = i;
    }
    while (depth > 0) {
        const int b = stack[--depth];
        number[b] = listed;
        order[listed++] = b;
        for (int i = count - 1; i >= 0; i--) {
            cal_model_body(model, i, &body);
            if (body.parent == b) stack[depth++] = i;
        }
    }
    assert_int_equal(listed, count);
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    double gravity[3];
    cal_model_gravity(model, gravity);
    cal_builder_set_gravity(builder, gravity);
    for (int i = 0; i < count; i++) {
        cal_model_body(model, order[i], &body);
        if (body.parent >= 0) body.parent = number[body.parent];
        before_normalizing(body.quaternion, 4);
        cal_builder_add_body(builder, &body);
    }
    int joints = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < cal_model_joint_count(model); j++) {
            cal_joint_def joint;
            int of;
            cal_model_joint(model, j, &joint, &of, NULL, NULL);
            if (of != order[i]) continue;
            joint.limit_stiffness = 0.0;
            joint_number[j] = joints++;
            if (cal_joint_v_count(joint.kind) == 1) before_normalizing(joint.axis, 3);
            cal_builder_add_joint(builder, i, &joint);
        }
    for (int i = 0; i < cal_model_actuator_count(model); i++) {
        cal_actuator_def motor;
        cal_model_actuator(model, i, &motor);
        motor.joint = joint_number[motor.joint];
        cal_builder_add_actuator(builder, &motor);
    }
    cal_model* out;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &out, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    free(order);
    free(number);
    free(joint_number);
    free(stack);
    return out;
}

// Bits of masses, frames, joints, motors and stops, and of the start.
static void expect_same(const cal_model* a, const cal_model* b, const char* what) {
    if (cal_model_hash(a) != cal_model_hash(b)) fail_msg("%s: read back it is another model", what);
    const size_t q_count = (size_t)cal_model_q_count(a), v_count = (size_t)cal_model_v_count(a);
    const size_t controls = (size_t)cal_model_actuator_count(a);
    double* numbers[2];
    for (int i = 0; i < 2; i++) {
        numbers[i] = cal_test_numbers(q_count + v_count + controls + 1);
        cal_model_initial(i == 0 ? a : b, numbers[i], numbers[i] + q_count, numbers[i] + q_count + v_count);
    }
    if (cal_test_largest_difference(numbers[0], numbers[1], q_count + v_count + controls) > 1e-15)
        fail_msg("%s: it starts elsewhere", what);
    free(numbers[0]);
    free(numbers[1]);
}

static void round_trip(const char* specification) {
    cal_model* model = cal_test_model(specification);
    cal_model* renumbered = renumber(model);
    write_to(model, "model.xml");
    cal_model* back = read_back("model.xml");
    expect_same(renumbered, back, specification);
    // Once more: now the numbers are those of a file.
    write_to(back, "again.xml");
    cal_model* again = read_back("again.xml");
    expect_same(back, again, specification);
    cal_model_destroy(model);
    cal_model_destroy(renumbered);
    cal_model_destroy(back);
    cal_model_destroy(again);
}

static void test_generators(void** state) {
    (void)state;
    static const char* const specifications[] = {
        "pendulum",
        "chain:n=100",
        "mobile:s=3,l=5,o=9",
        "tree:height=4,fanout=3",
        "stickman",
        "figure:dof=48",
        "humanoid",
        "random:n=60,seed=1",
        "random:n=60,seed=2,passive=1",
        "random:n=200,seed=3,passive=1",
        "random:n=60,seed=4,branching=0,passive=1",
    };
    for (size_t i = 0; i < sizeof specifications / sizeof *specifications; i++) round_trip(specifications[i]);
}

static void test_keeps_numbers(void** state) {
    (void)state;
    // Where bodies are numbered depth first already, nothing is renumbered.
    static const char* const specifications[] = {"pendulum", "chain:n=50", "random:n=60,seed=4,branching=0,passive=1"};
    for (size_t i = 0; i < sizeof specifications / sizeof *specifications; i++) {
        cal_model* model = cal_test_model(specifications[i]);
        write_to(model, "model.xml");
        cal_model* back = read_back("model.xml");
        expect_same(model, back, specifications[i]);
        cal_model_destroy(model);
        cal_model_destroy(back);
    }
}

static void test_robot(void** state) {
    (void)state;
    cal_model* model;
    cal_error error = {CAL_OK, ""};
    if (cal_model_read(CALDER_TEST_MODELS "/robot_description/urdf/arm.urdf", NULL, &model, NULL, &error) != CAL_OK)
        fail_msg("%s", error.text);
    write_to(model, "arm.xml");
    cal_model* back = read_back("arm.xml");
    expect_same(model, back, "arm");
    assert_int_equal(cal_model_shape_count(back), cal_model_shape_count(model));
    for (int i = 0; i < cal_model_shape_count(model); i++) {
        cal_shape_def a, b;
        cal_model_shape(model, i, &a);
        cal_model_shape(back, i, &b);
        assert_true(a.kind == b.kind && a.body == b.body && a.collides == b.collides && a.visible == b.visible);
        assert_true(cal_test_largest_difference(a.position, b.position, 3) == 0.0);
        assert_true(cal_test_largest_difference(a.quaternion, b.quaternion, 4) < 1e-15);
        if (a.kind != CAL_MESH) assert_true(cal_test_largest_difference(a.size, b.size, 3) == 0.0);
        if (a.kind != CAL_MESH) continue;
        cal_mesh_def mesh, copy;
        cal_model_mesh(model, a.mesh, &mesh);
        cal_model_mesh(back, b.mesh, &copy);
        assert_int_equal(mesh.triangle_count, copy.triangle_count);
        for (int t = 0; t < 3 * mesh.triangle_count; t++)
            assert_true(cal_test_largest_difference(mesh.vertices + 3 * mesh.triangles[t],
                                                    copy.vertices + 3 * copy.triangles[t], 3) < 1e-8);
    }
    cal_model_destroy(model);
    cal_model_destroy(back);
}

// Everything that a builder takes and MJCF can say, with names that need care.
static void test_everything(void** state) {
    (void)state;
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_name(builder, "a \"model\" <&> with\nlines");
    const double gravity[3] = {0.1, -0.2, -3.7};
    cal_builder_set_gravity(builder, gravity);
    cal_builder_set_timestep(builder, 0.005);
    static const char* const names[] = {"world", NULL, "body1", "Käfer"};
    for (int i = 0; i < 4; i++) {
        cal_body_def body = cal_default_body_def();
        body.name = names[i];
        body.parent = i - 1;
        body.position[i % 3] = 0.1 + i;
        body.quaternion[1] = 0.3 * i;
        body.mass = 1.0 + i;
        body.inertia[0] = 0.3, body.inertia[1] = 0.4, body.inertia[2] = 0.5, body.inertia[4] = 0.01;
        cal_joint_def joint = cal_default_joint_def();
        joint.name = i == 2 ? "joint0" : NULL;
        joint.kind = i == 1 ? CAL_BALL : i == 3 ? CAL_PRISMATIC : CAL_REVOLUTE;
        joint.friction_loss = 0.1 * i;
        if (joint.kind != CAL_BALL) joint.zero = joint.initial_q[0] = 0.25;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    }
    cal_constraint_def weld = cal_default_constraint_def(), coupling = cal_default_constraint_def();
    weld.body[0] = CAL_GROUND, weld.body[1] = 3;
    weld.position[1][1] = 0.4, weld.quaternion[0][3] = 0.7;
    coupling.name = "gear", coupling.kind = CAL_COUPLING, coupling.inactive = true;
    coupling.joint[0] = 0, coupling.joint[1] = 3, coupling.polynomial[1] = 2.0, coupling.polynomial[4] = 0.1;
    cal_builder_add_constraint(builder, &weld);
    cal_builder_add_constraint(builder, &coupling);
    weld.kind = CAL_LOOP_BALL, weld.body[1] = 1;
    cal_builder_add_constraint(builder, &weld);
    const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_CAPSULE, CAL_ELLIPSOID, CAL_CYLINDER, CAL_BOX, CAL_PLANE};
    for (int i = 0; i < 6; i++) {
        cal_shape_def shape = cal_default_shape_def();
        shape.name = i < 3 ? "twice" : NULL;
        shape.kind = kinds[i];
        shape.body = i == 5 ? CAL_GROUND : i % 4;
        for (int k = 0; k < 3; k++) shape.size[k] = 0.1 * (k + 1);
        shape.friction = 0.3, shape.restitution = 0.4, shape.category = 2, shape.mask = 5;
        cal_builder_add_shape(builder, &shape);
    }
    cal_pair_def pair = cal_default_pair_def();
    pair.shape[0] = 1, pair.shape[1] = 5, pair.friction = 0.7;
    cal_builder_add_pair(builder, &pair);
    cal_builder_add_exclusion(builder, 0, 1);
    cal_builder_add_exclusion(builder, CAL_GROUND, 2);
    cal_site_def site = cal_default_site_def();
    site.name = "tip", site.body = 2, site.position[2] = 1.5;
    cal_builder_add_site(builder, &site);
    const double q[7] = {0.1, 1.0, 0.0, 0.0, 0.0, 0.2, 0.3};
    cal_keyframe_def key = cal_default_keyframe_def();
    key.name = "home", key.q = q, key.q_count = 7;
    cal_builder_add_keyframe(builder, &key);
    cal_builder_add_numbers(builder, "answers", q, 3);
    cal_actuator_def motor = cal_default_actuator_def();
    motor.joint = 3, motor.gain = 20.0, motor.bias[1] = -20.0, motor.bias[2] = -1.0, motor.gear = 3.0;
    motor.control_range[0] = -1.0, motor.control_range[1] = 2.0, motor.force_range[1] = 9.0,
    motor.initial_control = 0.5;
    cal_builder_add_actuator(builder, &motor);
    cal_model *model, *back, *again;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    write_to(model, "all.xml");
    back = read_back("all.xml");
    expect_same(model, back, "everything");
    assert_string_equal(cal_model_name(back), cal_model_name(model));
    assert_true(cal_model_find_body(back, "Käfer") == 3 && cal_model_find_joint(back, "joint0") == 2);
    assert_true(cal_model_timestep(back) == 0.005);
    assert_int_equal(cal_model_pair_count(back), 1);
    cal_model_pair(back, 0, &pair);
    cal_shape_def a, b;
    cal_model_shape(back, pair.shape[0], &a);
    cal_model_shape(back, pair.shape[1], &b);
    assert_true(a.kind == CAL_CAPSULE && b.kind == CAL_PLANE && pair.friction == 0.7);
    assert_true(a.friction == 0.3 && a.restitution == 0.4 && a.category == 2 && a.mask == 5);
    int bodies[2], count;
    cal_model_exclusion(back, 1, bodies);
    assert_true(bodies[0] == CAL_GROUND && bodies[1] == 2);
    assert_true(cal_model_find_site(back, "tip") >= 0 && cal_model_find_keyframe(back, "home") >= 0);
    const double* answers = cal_model_numbers(back, "answers", &count);
    assert_true(count == 3 && answers[0] == 0.1);
    write_to(back, "again.xml");
    again = read_back("again.xml");
    expect_same(back, again, "everything again");
    assert_int_equal(cal_model_site_count(again), cal_model_site_count(back));
    assert_int_equal(cal_model_keyframe_count(again), cal_model_keyframe_count(back));
    cal_model_destroy(model);
    cal_model_destroy(back);
    cal_model_destroy(again);
}

static cal_model* one_joint(const cal_joint_def* joint, const cal_constraint_def* constraint, const char* name) {
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    body.name = name;
    body.mass = 1.0;
    body.inertia[0] = body.inertia[1] = body.inertia[2] = 1.0;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), joint);
    if (constraint != NULL) cal_builder_add_constraint(builder, constraint);
    cal_model* model;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static void test_refuses(void** state) {
    (void)state;
    cal_joint_def plain = cal_default_joint_def(), stiff = plain;
    stiff.limited = true, stiff.range[1] = 1.0, stiff.limit_stiffness = 12345.0;
    cal_constraint_def rod = cal_default_constraint_def();
    rod.kind = CAL_DISTANCE, rod.body[1] = 0, rod.length = 1.0;
    cal_model* const models[] = {one_joint(&stiff, NULL, NULL), one_joint(&plain, &rod, NULL),
                                 one_joint(&plain, NULL, "bell\a"), one_joint(&plain, NULL, "half\xc3")};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        cal_error error = {CAL_OK, ""};
        assert_int_equal(cal_model_write(models[i], path_of("refused.xml"), &error), CAL_BAD_MODEL);
        assert_true(strlen(error.text) > 20);
        assert_int_not_equal(access(path_of("refused.xml"), F_OK), 0);
        cal_model_destroy(models[i]);
    }
    cal_model* model = one_joint(&plain, NULL, NULL);
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_model_write(model, "/does/not/exist/model.xml", &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "/does/not/exist/model.xml"));
    // Memory that runs out leaves no file, and none half written.
    const int64_t live = cal_live_allocations();
    cal_status status = CAL_NO_MEMORY;
    for (int64_t after = 0; status != CAL_OK; after++) {
        cal_fail_allocation(after);
        status = cal_model_write(model, path_of("memory.xml"), NULL);
        cal_fail_allocation(-1);
        if (status != CAL_OK) assert_int_not_equal(access(path_of("memory.xml"), F_OK), 0);
        assert_int_not_equal(access(path_of("memory.xml.partial"), F_OK), 0);
        assert_int_equal(cal_live_allocations(), live);
    }
    cal_model_destroy(model);
}

static void test_names(void** state) {
    (void)state;
    static const char* const fine[] = {"plain", "Käfer", "\xe2\x82\xac", "\xf0\x9f\xa4\x96", "a\tb\n", ""};
    static const char* const bad[] = {"\x01",        "\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xef\xbf\xbf"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) assert_true(cal_text_can_hold(fine[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(cal_text_can_hold(bad[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generators), cmocka_unit_test(test_keeps_numbers), cmocka_unit_test(test_robot),
        cmocka_unit_test(test_everything), cmocka_unit_test(test_refuses),       cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
