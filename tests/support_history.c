// Random worlds, and their histories; see support_history.h.
#include "support_history.h"
#include <string.h>

static uint64_t seed;
static double between(double low, double high) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}
static int below(int count) { return (int)between(0.0, count - 1e-9); }

enum { POINTS = 10 };

// --- Worlds ---------------------------------------------------------------------------------------------------------------------

static void add_body(cal_world* world, const double at[3], double calm) {
    static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_CAPSULE, CAL_ELLIPSOID, CAL_CYLINDER, CAL_BOX, CAL_MESH};
    cal_world_body_def body = cal_default_world_body_def();
    double vertices[3 * POINTS];
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.vertices = vertices;
    mesh.vertex_count = POINTS;
    for (int i = 0; i < 3; i++) {
        body.position[i] = at[i];
        body.velocity[i] = between(-2.0, 2.0) * calm;
        body.angular_velocity[i] = between(-8.0, 8.0) * calm;
    }
    if (calm > 0.0)
        for (int i = 0; i < 4; i++) body.quaternion[i] = between(-1.0, 1.0);
    body.slots = 1;
    cal_error error = {CAL_OK, ""};
    cal_body_id id;
    assert_int_equal(cal_world_add_body(world, &body, &id, &error), CAL_OK);
    const int pieces = below(4) == 0 ? 2 : 1;
    for (int piece = 0; piece < pieces; piece++) {
        cal_shape_def shape = cal_default_shape_def();
        shape.kind = kinds[below(6)];
        for (int i = 0; i < 3; i++) shape.size[i] = between(0.05, 0.13);
        if (shape.kind == CAL_CAPSULE) shape.size[1] = between(0.02, 0.06);
        for (int i = 0; i < 3 * POINTS; i++) vertices[i] = between(-0.12, 0.12);
        shape.position[0] = piece == 0 ? 0.0 : 0.08;
        shape.friction = between(0.0, 1.0);
        shape.restitution = between(0.0, 0.95);
        if (cal_world_add_shape(world, id, &shape, shape.kind == CAL_MESH ? &mesh : NULL, &error) != CAL_OK)
            fail_msg("%s", error.text);
    }
}

// A chain of links with capsules, that hangs from the ground or falls.
static cal_model* random_chain(void) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    const int links = 2 + below(2);
    const bool falls = below(2) == 0;
    for (int i = 0; i < links; i++) {
        cal_body_def body = cal_default_body_def();
        body.parent = i == 0 ? CAL_GROUND : i - 1;
        if (i > 0) body.position[2] = -0.2;
        body.mass = between(0.2, 2.0);
        body.center[2] = -0.1;
        body.inertia[0] = body.inertia[1] = 0.004 * body.mass, body.inertia[2] = 0.001 * body.mass;
        assert_int_equal(cal_builder_add_body(builder, &body), i);
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = i > 0 ? (below(2) == 0 ? CAL_REVOLUTE : CAL_BALL) : falls ? CAL_FREE : CAL_BALL;
        joint.axis[0] = 1.0, joint.axis[1] = joint.axis[2] = 0.0;
        if (joint.kind == CAL_REVOLUTE) joint.damping = between(0.0, 0.02);
        assert_true(cal_builder_add_joint(builder, i, &joint) >= 0);
        cal_shape_def shape = cal_default_shape_def();
        shape.body = i;
        shape.kind = below(2) == 0 ? CAL_CAPSULE : CAL_BOX;
        shape.position[2] = -0.1;
        shape.size[0] = shape.size[1] = 0.03, shape.size[2] = 0.07;
        if (shape.kind == CAL_CAPSULE) shape.size[1] = 0.05;
        shape.friction = between(0.0, 1.0);
        shape.restitution = between(0.0, 0.8);
        assert_true(cal_builder_add_shape(builder, &shape) >= 0);
    }
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

void cal_test_kick(cal_callback_context* view, void* user) {
    (void)user;
    double* slots = cal_callback_slots(view, 0);
    slots[0] += 1.0;
    double u[3], w[3];
    cal_callback_body(view, 0, NULL, NULL, u, w);
    for (int i = 0; i < 3; i++) u[i] = -0.9 * u[i] + 0.1 * slots[0];
    cal_callback_set_velocity(view, 0, u, w);
}

void cal_test_count_hit(cal_callback_context* view, const double impulse[3], void* user) {
    (void)user;
    double* slots = cal_callback_slots(view, 0);
    if (slots != NULL) slots[0] += impulse[2];
}

cal_test_made cal_test_random_world(int number, double forced, uint64_t forced_seed) {
    cal_test_made m = {0};
    seed = (uint64_t)number * UINT64_C(1000003) + 17;
    between(0.0, 1.0);
    cal_world_def def = cal_default_world_def();
    const bool weightless = below(3) == 0;
    if (weightless) memset(def.gravity, 0, sizeof def.gravity);
    if (below(4) == 0) def.restitution = below(2) == 0 ? 0.0 : 1.0;
    if (below(6) == 0) def.friction = 0.0;
    def.separate = true;
    def.forced_rollbacks = forced;
    def.seed = forced_seed;
    m.world = cal_test_world(&def);
    cal_test_add_floor(m.world);
    cal_world_body_def wall = cal_default_world_body_def();
    wall.motion = CAL_FIXED;
    for (int i = 0; i < 2; i++) {
        wall.position[0] = i == 0 ? -0.6 : 0.6;
        cal_test_add(m.world, &wall, CAL_BOX, 0.1, 1.0, 2.0);
    }
    if (weightless) {
        wall.position[0] = 0.0, wall.position[2] = 2.1;
        cal_test_add(m.world, &wall, CAL_BOX, 1.0, 1.0, 0.1);
    }
    const int first = cal_world_body_count(m.world), bodies = 2 + below(7);
    const double calm = below(3) == 0 ? 0.0 : 1.0;
    for (int i = 0; i < bodies; i++) {
        const int layer = i / 2;
        const double at[3] = {0.32 * (i % 2) - 0.16 + between(-0.03, 0.03), between(-0.05, 0.05), 0.3 + 0.33 * layer};
        add_body(m.world, at, calm);
    }
    m.model_count = below(3);
    for (int i = 0; i < m.model_count; i++) {
        m.models[i] = random_chain();
        const double at[3] = {0.2 - 0.4 * i, 0.35, between(0.9, 1.3)};
        cal_error error = {CAL_OK, ""};
        cal_multibody_id id;
        if (cal_world_add_multibody(m.world, m.models[i], at, NULL, 1, &id, &error) != CAL_OK)
            fail_msg("%s", error.text);
    }
    const cal_body_id body = cal_world_body(m.world, first);
    if (below(4) == 0)
        assert_int_equal(cal_world_on_period(m.world, &body, 1, 0.05, 0.11, cal_test_kick, NULL, NULL), CAL_OK);
    if (below(4) == 0) assert_int_equal(cal_world_on_collision(m.world, body, cal_test_count_hit, NULL, NULL), CAL_OK);
    return m;
}

void cal_test_destroy_made(cal_test_made* m) {
    cal_world_destroy(m->world);
    for (int i = 0; i < m->model_count; i++) cal_model_destroy(m->models[i]);
}

// --- Histories ------------------------------------------------------------------------------------------------------------------

void cal_test_take_history(cal_world* world, double time, cal_test_history* out) {
    cal_error error = {CAL_OK, ""};
    if (cal_world_advance(world, time, &error) != CAL_OK) fail_msg("%s", error.text);
    const cal_world_report report = cal_test_report(world);
    out->hash = report.hash;
    out->forced = report.forced;
    out->count = 0;
    cal_energy_balance b;
    if (cal_world_balance(world, &b) != CAL_OK) fail_msg("no account of energy");
    memcpy(out->flows, (double[3]){b.work, b.loss, b.closing}, sizeof out->flows);
    while (out->count < CAL_TEST_EVENTS && cal_world_next_event(world, &out->events[out->count])) out->count++;
}

void cal_test_compare_histories(const cal_test_history* wanted, const cal_test_history* found, const char* who) {
    for (int i = 0; i < wanted->count || i < found->count; i++) {
        const cal_world_event *w = &wanted->events[i], *f = &found->events[i];
        if (i >= wanted->count || i >= found->count)
            fail_msg("%s: %d collisions, wanted %d", who, found->count, wanted->count);
        if (w->time != f->time || w->body[0].index != f->body[0].index || w->body[1].index != f->body[1].index ||
            w->impulse != f->impulse || w->fusion != f->fusion)
            fail_msg(
                "%s: collision %d of %d is of %d and %d at %.17g s with %.17g N s%s, wanted %d and %d at %.17g s with "
                "%.17g N s%s",
                who, i, wanted->count, f->body[0].index, f->body[1].index, f->time, f->impulse,
                f->fusion ? ", a fusion" : "", w->body[0].index, w->body[1].index, w->time, w->impulse,
                w->fusion ? ", a fusion" : "");
    }
    if (wanted->hash != found->hash) fail_msg("%s: the same collisions, another hash", who);
    if (memcmp(wanted->flows, found->flows, sizeof wanted->flows) != 0)
        fail_msg("%s: work, loss and closing are %.17g, %.17g and %.17g J, wanted %.17g, %.17g and %.17g J", who,
                 found->flows[0], found->flows[1], found->flows[2], wanted->flows[0], wanted->flows[1],
                 wanted->flows[2]);
}
