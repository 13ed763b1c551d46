// What a model declares happens, whoever runs it: each feature by each kind of run, to the same bits, or the documented line.
//
//     features   every joint, stop, servo, spring, dry friction, force callback, loop, contact, contact with loops, connect and
//                let go
//     runs       a simulation at one go, in frames, on threads, at other lanes, in an ensemble, as a cal_run, from a checkpoint
#include "calder/calder_run.h"
#include "calder/calder_world.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double END = 0.4;
enum { PARTS = 4 };

// --- Features -----------------------------------------------------------------------------------------------------------------

// A pendulum of two links with something special about its joints; over a floor where `ball` has a radius.
typedef struct feature {
    const char* name;
    const char* generator; // NULL: the pendulum
    cal_joint_kind kind;
    double stiffness, damping, friction_loss, armature, range;
    bool servo;
    double ball;   // radius of a ball at its end, just over a floor
    bool pushed;   // by a force callback, which sees one system: where shapes touch it is refused by a line
    int connected; // 1: a constraint is connected at the middle; 2: it is let go there
} feature;

static const feature features[] = {
    {.name = "revolute", .kind = CAL_REVOLUTE},
    {.name = "prismatic", .kind = CAL_PRISMATIC, .stiffness = 50.0},
    {.name = "ball", .kind = CAL_BALL},
    {.name = "free", .generator = "humanoid:floor=0"},
    {.name = "spring", .kind = CAL_BALL, .stiffness = 20.0, .damping = 0.1},
    {.name = "friction", .kind = CAL_REVOLUTE, .friction_loss = 0.2},
    {.name = "rotor", .kind = CAL_REVOLUTE, .armature = 0.3},
    {.name = "stop", .kind = CAL_REVOLUTE, .range = 0.6},
    {.name = "servo", .kind = CAL_REVOLUTE, .servo = true},
    {.name = "callback", .kind = CAL_BALL, .pushed = true},
    {.name = "callback on a loop", .generator = "fourbar:n=2", .pushed = true},
    {.name = "callback in contact", .kind = CAL_REVOLUTE, .ball = 0.05, .pushed = true},
    {.name = "loop", .generator = "fourbar:n=2"},
    {.name = "contact", .kind = CAL_REVOLUTE, .ball = 0.05},
    {.name = "servo in contact", .kind = CAL_REVOLUTE, .ball = 0.05, .servo = true},
    {.name = "figure on a floor", .generator = "stickman:floor=1"},
    {.name = "connected", .kind = CAL_BALL, .connected = 1},
    {.name = "let go", .kind = CAL_BALL, .connected = 2},
    {.name = "let go over a floor", .kind = CAL_BALL, .ball = 0.05, .connected = 2},
};

static cal_model* build(const feature* f) {
    if (f->generator) return cal_test_model(f->generator);
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < 2; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        body.parent = i - 1;
        body.position[2] = i == 0 ? 1.0 : -0.4;
        body.mass = 1.0 + i;
        body.center[2] = -0.2;
        for (int k = 0; k < 3; k++) body.inertia[k] = 0.02;
        cal_builder_add_body(builder, &body);
        joint.kind = f->kind;
        if (f->kind == CAL_REVOLUTE) joint.axis[1] = 1.0, joint.axis[2] = 0.0;
        if (f->kind == CAL_BALL) {
            joint.initial_q[0] = cos(0.25), joint.initial_q[2] = sin(0.25);
            joint.initial_v[2] = 0.3;
        } else {
            joint.initial_q[0] = f->kind == CAL_PRISMATIC ? 0.1 : 0.5;
        }
        joint.stiffness = f->stiffness, joint.damping = f->damping, joint.armature = f->armature;
        joint.friction_loss = f->friction_loss;
        joint.limited = f->range > 0.0;
        joint.range[0] = -f->range, joint.range[1] = f->range;
        const int number = cal_builder_add_joint(builder, i, &joint);
        if (!f->servo) continue;
        cal_actuator_def motor = cal_default_actuator_def();
        motor.joint = number;
        motor.gain = 30.0, motor.bias[1] = -30.0, motor.bias[2] = -3.0;
        motor.initial_control = 0.2;
        cal_builder_add_actuator(builder, &motor);
    }
    if (f->ball > 0.0) {
        cal_shape_def ball = cal_default_shape_def(), floor = cal_default_shape_def();
        ball.body = 1;
        ball.size[0] = f->ball;
        ball.position[2] = -0.4;
        floor.kind = CAL_PLANE;
        floor.position[2] = 0.2;
        cal_builder_add_shape(builder, &ball);
        cal_builder_add_shape(builder, &floor);
    }
    if (f->connected > 0) { // the two links, where they hang together anyway: a twist more that is held, or let go
        cal_constraint_def weld = cal_default_constraint_def();
        weld.name = "weld";
        weld.kind = CAL_LOOP_BALL;
        weld.body[0] = 0, weld.body[1] = 1;
        weld.position[0][2] = -0.4;
        weld.inactive = f->connected == 1;
        cal_builder_add_constraint(builder, &weld);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s: %s", f->name, error.text);
    cal_builder_destroy(builder);
    return model;
}

static void act(const feature* f, cal_sim* sim) {
    cal_error error = {0};
    cal_status status = CAL_OK;
    if (f->connected == 1) status = cal_sim_connect(sim, 0, CAL_CONNECT_INELASTIC, &error);
    if (f->connected == 2) status = cal_sim_disconnect(sim, 0, &error);
    if (status) fail_msg("%s: %s", f->name, error.text);
}

// A torque that swings, a brake, and a steady push at the last body.
static void swing_and_push(cal_force_context* context, void* user) {
    const double *amplitude = user, force[3] = {*amplitude, 0.5 * *amplitude, 0.0};
    context->tau[0] += *amplitude * (1.0 - context->time) * context->time - 0.1 * context->v[0];
    assert_int_equal(cal_state_push(context->state, cal_model_body_count(context->model) - 1, force, NULL, NULL),
                     CAL_OK);
}

static double amplitude = 0.7;

static cal_sim_def sim_def(const feature* f, cal_machine* machine) {
    cal_sim_def def = cal_default_sim_def();
    def.machine = machine;
    if (f->pushed) def.force = swing_and_push, def.user = &amplitude;
    return def;
}

// --- Runs -----------------------------------------------------------------------------------------------------------------------

static cal_sim* open_sim(const feature* f, const cal_model* model, cal_machine* machine) {
    const cal_sim_def def = sim_def(f, machine);
    return cal_test_create_sim(model, &def);
}

static void advance(const feature* f, cal_sim* sim, double time) {
    cal_error error = {0};
    if (cal_sim_advance(sim, time, &error)) fail_msg("%s at %g s: %s", f->name, time, error.text);
}

static uint64_t in_parts(const feature* f, const cal_model* model, cal_machine* machine, int parts) {
    cal_sim* sim = open_sim(f, model, machine);
    for (int i = 1; i <= parts; i++) {
        advance(f, sim, 0.5 * END * i / parts);
    }
    act(f, sim);
    for (int i = 1; i <= parts; i++) advance(f, sim, 0.5 * END + 0.5 * END * i / parts);
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    return hash;
}

static uint64_t as_run(const feature* f, const cal_model* model) {
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    cal_error error = {0};
    char note[256];
    def.hand = false;
    def.sim = sim_def(f, NULL);
    cal_status status = cal_run_create_sim(model, &def, &run, &error);
    if (!status) status = cal_run_begin(run, true, note, &error);
    if (!status) status = cal_run_advance(run, 0.5 * END, &error);
    if (!status && f->connected == 1) status = cal_run_connect(run, 0, CAL_CONNECT_INELASTIC, &error);
    if (!status && f->connected == 2) status = cal_run_disconnect(run, 0, &error);
    if (!status) status = cal_run_advance(run, END, &error);
    if (status) fail_msg("%s: %s", f->name, error.text);
    const uint64_t hash = cal_run_hash(run);
    cal_run_destroy(run);
    return hash;
}

// Saved in the middle of the way, before anything is connected, and continued by another simulation.
static uint64_t from_checkpoint(const feature* f, const cal_model* model) {
    char path[64];
    snprintf(path, sizeof path, "matrix-%d.cal", (int)getpid());
    cal_error error = {0};
    cal_sim* sim = open_sim(f, model, NULL);
    advance(f, sim, 0.25 * END);
    if (cal_sim_save(sim, path, &error)) fail_msg("%s: %s", f->name, error.text);
    cal_sim_destroy(sim);
    sim = open_sim(f, model, NULL);
    if (cal_sim_load(sim, path, &error)) fail_msg("%s: %s", f->name, error.text);
    advance(f, sim, 0.5 * END);
    act(f, sim);
    advance(f, sim, END);
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    remove(path);
    return hash;
}

// Instances of an ensemble are simulations; connecting is not among what it can do.
static void in_ensemble(const feature* f, const cal_model* model, cal_machine* machine) {
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    cal_error error = {0};
    double q[64], v[64];
    def.count = 3;
    def.machine = machine;
    def.sim = sim_def(f, NULL);
    if (cal_ensemble_create_def(model, &def, &ensemble, &error)) fail_msg("%s: %s", f->name, error.text);
    if (cal_ensemble_advance(ensemble, 0.5 * END, &error)) fail_msg("%s: %s", f->name, error.text);
    cal_sim* sim = open_sim(f, model, NULL);
    advance(f, sim, 0.5 * END);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cal_ensemble_get(ensemble, i, q, v), CAL_OK);
        if (memcmp(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q) != 0 ||
            memcmp(v, cal_sim_v(sim), (size_t)cal_model_v_count(model) * sizeof *v) != 0)
            fail_msg("%s: instance %d of an ensemble differs from a simulation", f->name, i);
    }
    cal_sim_destroy(sim);
    cal_ensemble_destroy(ensemble);
}

static void expect(const feature* f, uint64_t hash, uint64_t wanted, const char* run) {
    if (hash != wanted)
        fail_msg("%s, %s: hash %016llx instead of %016llx", f->name, run, (unsigned long long)hash,
                 (unsigned long long)wanted);
}

// The documented line, from everything that could run it (docs/world.md).
static void expect_refusal(const feature* f, const cal_model* model) {
    const char* line = "a force callback sees one system";
    cal_sim_def def = sim_def(f, NULL);
    cal_error error = {0};
    cal_sim* sim = NULL;
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, line));
    cal_ensemble_def many = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    error = (cal_error){0};
    many.count = 3, many.sim = def;
    assert_int_equal(cal_ensemble_create_def(model, &many, &ensemble, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, line));
    def.contact = false; // left out, it is one system
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_OK);
    cal_sim_destroy(sim);
}

static void every_feature_in_every_run(void** state) {
    (void)state;
    cal_threads_def threads_def = cal_default_threads_def();
    cal_machine *threads = NULL, *single = NULL;
    threads_def.workers = 2;
    assert_int_equal(cal_machine_threads(&threads_def, &threads, NULL), CAL_OK);
    assert_int_equal(cal_machine_serial(1, &single, NULL), CAL_OK);
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        const feature* f = &features[i];
        cal_model* model = build(f);
        if (f->pushed && f->ball > 0.0) {
            expect_refusal(f, model);
            cal_model_destroy(model);
            continue;
        }
        const uint64_t wanted = in_parts(f, model, NULL, 1);
        expect(f, in_parts(f, model, NULL, PARTS), wanted, "in frames");
        expect(f, in_parts(f, model, threads, 1), wanted, "on threads");
        expect(f, in_parts(f, model, single, 1), wanted, "with one lane");
        expect(f, as_run(f, model), wanted, "as a run");
        expect(f, from_checkpoint(f, model), wanted, "from a checkpoint");
        in_ensemble(f, model, threads);
        cal_model_destroy(model);
    }
    cal_machine_destroy(threads);
    cal_machine_destroy(single);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_feature_in_every_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
