// Tendons: lengths against closed forms, energy that is accounted for, the same bits on every machine, ropes in a simulation with
// events. Accelerations are compared with MuJoCo's in test_mjcf.c (models/tendons_*.xml).
#include "calder/calder_read.h"
#include "model/model.h"
#include "place.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAL_TEST_PI 3.14159265358979323846

static cal_model* read_model(const char* name, uint32_t disabled) {
    char path[512];
    cal_error error = {0};
    cal_model *model = NULL, *variant = NULL;
    snprintf(path, sizeof path, "%s/%s.xml", CALDER_TEST_MODELS, name);
    if (cal_model_read(path, NULL, &model, NULL, &error)) fail_msg("%s", error.text);
    if (cal_model_variant(model, disabled, CAL_NONE, &variant, &error)) fail_msg("%s", error.text);
    cal_model_destroy(model);
    return variant;
}

// Two weights that slide along z at x = ±r below a cylinder along y at height h.
static const double R = 0.2, H = 2.0, STIFFNESS = 300.0, DAMPING = 7.0, SLACK = 1.0;
static cal_model* make_lift(const double masses[2]) {
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_tendon_part parts[3];
    for (int i = 0; i < 3; i++) parts[i] = cal_default_tendon_part();
    for (int i = 0; i < 2; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        body.position[0] = i == 0 ? -R : R;
        body.mass = masses[i];
        joint.kind = CAL_PRISMATIC;
        joint.initial_q[0] = 0.3 + 0.2 * i;
        joint.initial_v[0] = 0.1 - 0.5 * i;
        parts[2 * i].body = cal_builder_add_body(builder, &body);
        cal_builder_add_joint(builder, parts[2 * i].body, &joint);
    }
    parts[1].kind = CAL_TENDON_CYLINDER;
    parts[1].position[2] = H;
    parts[1].quaternion[0] = parts[1].quaternion[1] = 1.0; // its z is the world's −y
    parts[1].radius = R;
    parts[1].sided = true; // over it, and not straight below
    parts[1].side[2] = H + 1.0;
    cal_tendon_def def = cal_default_tendon_def();
    def.parts = parts;
    def.part_count = 3;
    def.stiffness = STIFFNESS;
    def.spring_length[0] = def.spring_length[1] = SLACK;
    def.damping = DAMPING;
    assert_int_equal(cal_builder_add_tendon(builder, &def), 0);
    return cal_test_finish(builder);
}

static void test_lift(void** state) {
    (void)state;
    const double masses[2] = {3.0, 5.0}, g = 9.81;
    cal_model* model = make_lift(masses);
    cal_test_engine looks = cal_test_open(model, "kinematics", 1), forward = cal_test_open(model, "aba", 1);
    const double length = CAL_TEST_PI * R + (H - 0.3) + (H - 0.5), rate = -(0.1 - 0.4);
    const double force = STIFFNESS * (length - SLACK) + DAMPING * rate; // upwards on both
    double found[2], qdd[2];
    cal_test_execute(&looks);
    cal_test_execute(&forward);
    assert_int_equal(cal_state_size(looks.state, CAL_TENDON), 2);
    assert_int_equal(cal_state_get(looks.state, CAL_TENDON, found), CAL_OK);
    assert_int_equal(cal_state_get(forward.state, CAL_QDD, qdd), CAL_OK);
    cal_test_expect_below(fabs(found[0] - length), 1e-14, "length", "lift");
    cal_test_expect_below(fabs(found[1] - rate), 1e-14, "rate", "lift");
    for (int i = 0; i < 2; i++) cal_test_expect_below(fabs(qdd[i] - (force / masses[i] - g)), 1e-11, "qdd", "lift");
    cal_test_close(&looks);
    cal_test_close(&forward);
    cal_model_destroy(model);
}

// What motors do, dampers lose and springs hold is what the motion gains, with every kind of solver.
static void test_energy(void** state) {
    (void)state;
    static const struct {
        const char* solver;
        double tolerance, step, share;
    } cases[] = {{"gear", 1e-8, 0, 1e-5},
                 {"rkf", 1e-8, 0, 1e-6},
                 {"implicit", 1e-7, 0, 1e-5},
                 {"bdf", 1e-8, 0, 2e-3},
                 {"rk4", 0, 1e-3, 1e-5}};
    cal_model* model = read_model("tendons_spatial", CAL_PART_CONTACT);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        cal_error error = {0};
        cal_energy_balance balance;
        def.solver = cases[i].solver;
        if (cases[i].tolerance > 0.0) def.relative = cases[i].tolerance;
        if (cases[i].step > 0.0) def.step = cases[i].step;
        const cal_status made = cal_sim_create(model, &def, &sim, &error);
        if (made == CAL_NOT_AVAILABLE || made == CAL_BAD_ARGUMENT) continue; // a build without SUNDIALS
        const double control[3] = {1.0, 0.4, 0.6};
        assert_int_equal(cal_sim_drive(sim, NULL, control, &error), CAL_OK);
        if (cal_sim_advance(sim, 0.2, &error)) fail_msg("%s: %s", def.solver, error.text);
        assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
        assert_true(fabs(balance.work) > 0.1 && balance.loss > 0.1);
        const double exchanged = fabs(balance.work) + balance.loss;
        cal_test_expect_below(fabs(balance.error) / exchanged, cases[i].share, "energy", def.solver);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// So is what a wind does, and weights that are carried lose nothing.
static void test_energy_of_bodies(void** state) {
    (void)state;
    static const char* const names[] = {"fluids", "gravcomp", "muscles", "actuatorgravcomp"};
    for (int i = 0; i < 4; i++) {
        cal_model* model = read_model(names[i], CAL_PART_CONTACT);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        cal_error error = {0};
        cal_energy_balance balance;
        double control[9] = {0.3, 0.5, 0.2, 0.1, 0.4, 0.6, 0.2, 0.1, 0.3};
        def.relative = 1e-9;
        if (cal_sim_create(model, &def, &sim, &error) ||
            cal_sim_drive(sim, NULL, cal_model_actuator_count(model) > 0 ? control : NULL, &error) ||
            cal_sim_advance(sim, 0.4, &error))
            fail_msg("%s: %s", names[i], error.text);
        assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
        assert_true((balance.work != 0.0) == (i != 1));
        assert_true(balance.loss == 0.0);
        cal_test_expect_below(fabs(balance.error) / (fabs(balance.kinetic) + fabs(balance.work)), 1e-6, "energy",
                              names[i]);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// What is written and read again is the same model.
static void test_written(void** state) {
    (void)state;
    static const char* const names[] = {"tendons_fixed", "tendons_spatial", "gravcomp", "muscles",         "sensors",
                                        "activations",   "rangefinders",    "refsites", "actuatorgravcomp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[CAL_TEST_PATH];
        cal_error error = {0};
        cal_model *model = read_model(names[i], 0), *again = NULL;
        cal_test_path(path, "model.xml");
        if (cal_model_write(model, path, &error) || cal_model_read(path, NULL, &again, NULL, &error))
            fail_msg("%s: %s", names[i], error.text);
        assert_true(cal_model_hash(model) == cal_model_hash(again));
        assert_int_equal(cal_model_sensor_count(model), cal_model_sensor_count(again));
        for (int k = 0; k < cal_model_sensor_count(model); k++) {
            cal_sensor_def a, b;
            cal_model_sensor(model, k, &a);
            cal_model_sensor(again, k, &b);
            assert_true(a.kind == b.kind && a.number == b.number && a.body == b.body && a.cutoff == b.cutoff &&
                        a.reference == b.reference);
            assert_memory_equal(a.reference_position, b.reference_position, sizeof a.reference_position);
            assert_memory_equal(a.position, b.position, sizeof a.position);
        }
        cal_model_destroy(model);
        cal_model_destroy(again);
    }
}

static uint64_t run_on(const cal_model* model, cal_machine* machine, const char* algorithm, double* q) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {0};
    def.machine = machine;
    def.algorithm = algorithm;
    if (cal_sim_create(model, &def, &sim, &error) || cal_sim_advance(sim, 0.2, &error)) fail_msg("%s", error.text);
    const uint64_t hash = cal_sim_hash(sim);
    memcpy(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q);
    cal_sim_destroy(sim);
    return hash;
}

static void test_same_bits(void** state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        cal_model* model = read_model(which == 0 ? "tendons_fixed" : "tendons_spatial", CAL_PART_CONTACT);
        const size_t count = (size_t)cal_model_q_count(model);
        double *q = cal_test_numbers(count), *other = cal_test_numbers(count);
        cal_machine* machine = NULL;
        assert_int_equal(cal_machine_serial(1, &machine, NULL), CAL_OK);
        const uint64_t hash = run_on(model, machine, "aba", q);
        run_on(model, machine, "assembly", other);
        cal_test_expect_below(cal_test_largest_difference(q, other, count), 1e-5, "q", "assembly");
        cal_machine_destroy(machine);
        for (int lanes = 2; lanes <= cal_best_lanes(); lanes *= 2) {
            assert_int_equal(cal_machine_serial(lanes, &machine, NULL), CAL_OK);
            assert_true(run_on(model, machine, "aba", other) == hash);
            cal_machine_destroy(machine);
        }
        cal_threads_def threads = cal_default_threads_def();
        threads.workers = 3;
        assert_int_equal(cal_machine_threads(&threads, &machine, NULL), CAL_OK);
        assert_true(run_on(model, machine, "aba", other) == hash);
        cal_machine_destroy(machine);
        free(q), free(other);
        cal_model_destroy(model);
    }
}

// An ensemble in lanes has the bits of simulations by themselves.
static void test_ensemble(void** state) {
    (void)state;
    cal_model* model = read_model("tendons_fixed", CAL_PART_CONTACT);
    const int count = cal_model_q_count(model);
    cal_ensemble* ensemble = NULL;
    cal_error error = {0};
    if (cal_ensemble_create(model, 3, 0, &ensemble, &error)) fail_msg("%s", error.text);
    double *q = cal_test_numbers((size_t)count), *other = cal_test_numbers((size_t)count);
    for (int i = 0; i < count; i++) q[i] = 0.05 * i;
    assert_int_equal(cal_ensemble_set(ensemble, 1, q, NULL), CAL_OK);
    if (cal_ensemble_advance(ensemble, 0.3, &error)) fail_msg("%s", error.text);
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    def.solver = "rk4";
    if (cal_sim_create(model, &def, &sim, &error) || cal_sim_set(sim, 0.0, q, NULL, &error) ||
        cal_sim_advance(sim, 0.3, &error))
        fail_msg("%s", error.text);
    assert_int_equal(cal_ensemble_get(ensemble, 1, other, NULL), CAL_OK);
    assert_memory_equal(other, cal_sim_q(sim), (size_t)count * sizeof *other);
    cal_sim_destroy(sim);
    cal_ensemble_destroy(ensemble);
    free(q), free(other);
    cal_model_destroy(model);
}

// A ball hangs on a rope, which is slack at first, over a floor that it could touch: it comes to rest where k x = m g.
static void test_rope(void** state) {
    (void)state;
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    cal_shape_def ball = cal_default_shape_def(), floor = cal_default_shape_def();
    body.position[2] = 1.5;
    body.mass = 2.0;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.01;
    joint.kind = CAL_FREE;
    joint.damping = 3.0;
    ball.body = cal_builder_add_body(builder, &body);
    ball.size[0] = 0.1;
    floor.kind = CAL_PLANE;
    cal_builder_add_joint(builder, ball.body, &joint);
    cal_builder_add_shape(builder, &ball);
    cal_builder_add_shape(builder, &floor);
    cal_tendon_part parts[2] = {cal_default_tendon_part(), cal_default_tendon_part()};
    parts[0].position[2] = 2.0;
    parts[1].body = ball.body;
    cal_tendon_def rope = cal_default_tendon_def();
    rope.parts = parts;
    rope.part_count = 2;
    rope.limited = true;
    rope.range[1] = 1.0;
    cal_builder_add_tendon(builder, &rope);
    cal_model* model = cal_test_finish(builder);
    cal_model_tendon(model, 0, &rope);
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {0};
    if (cal_sim_create(model, &def, &sim, &error) || cal_sim_advance(sim, 12.0, &error)) fail_msg("%s", error.text);
    const double pi = CAL_TEST_PI, rate = 2.0 * pi * 10.0;
    cal_test_expect_below(fabs(rope.limit_stiffness / (2.0 * rate * rate) - 1.0), 1e-12, "stiffness", "rope");
    cal_energy_balance balance;
    assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
    cal_test_expect_below(fabs(balance.error) / balance.loss, 1e-3, "energy", "rope");
    cal_test_expect_below(fabs(cal_sim_q(sim)[2] - (1.0 - 2.0 * 9.81 / rope.limit_stiffness)), 1e-5, "height", "rope");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static cal_sim* simulate_text(const char* text, cal_model** model, int constraints) {
    cal_sim* sim = NULL;
    cal_error error = {0};
    const cal_sim_def def = cal_default_sim_def();
    if (cal_model_read_memory(text, strlen(text), "held.xml", NULL, model, NULL, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_model_constraint_count(*model), constraints);
    if (cal_sim_create(*model, &def, &sim, &error) || cal_sim_project(sim, &error) || cal_sim_advance(sim, 0.3, &error))
        fail_msg("%s", error.text);
    return sim;
}

// Sums of joints whose lengths are held couple the joints, as an equality of joints with the same polynomial does.
static void test_held(void** state) {
    (void)state;
#define ARM                                                                                                            \
    "<mujoco><worldbody><body><joint name='a' axis='0 1 0'/><geom type='capsule' size='.02' fromto='0 0 0 .3 0 0'/>"   \
    "<body pos='.3 0 0'><joint name='b' axis='0 1 0'/><geom type='capsule' size='.02' fromto='0 0 0 .2 0 .1'/></body>" \
    "</body></worldbody><tendon><fixed name='sum'><joint joint='a' coef='2'/><joint joint='b' coef='-3'/></fixed>"     \
    "<fixed name='s'><joint joint='a' coef='2'/></fixed><fixed name='t'><joint joint='b' coef='3'/></fixed></tendon>"
    static const char* const pairs[][2] = {
        {ARM "<equality><tendon tendon1='sum'/></equality></mujoco>",
         ARM "<equality><joint joint1='a' joint2='b' polycoef='0 1.5 0 0 0'/></equality></mujoco>"},
        {ARM "<equality><tendon tendon1='s' tendon2='t' polycoef='0.125 0.5 0.25 0 0'/></equality></mujoco>",
         ARM "<equality><joint joint1='a' joint2='b' polycoef='0.0625 0.75 1.125 0 0'/></equality></mujoco>"}};
    for (int i = 0; i < 2; i++) {
        cal_model *by_tendon = NULL, *by_joint = NULL;
        cal_sim *one = simulate_text(pairs[i][0], &by_tendon, 1), *two = simulate_text(pairs[i][1], &by_joint, 1);
        assert_true(fabs(cal_sim_q(one)[0]) > 0.05);
        assert_true(cal_sim_hash(one) == cal_sim_hash(two));
        cal_sim_destroy(one);
        cal_sim_destroy(two);
        cal_model_destroy(by_tendon);
        cal_model_destroy(by_joint);
    }
    // What is more than that is left out, and listed.
    cal_model* model = NULL;
    cal_sim* sim = simulate_text(ARM "<equality><tendon tendon1='sum' tendon2='t'/></equality></mujoco>", &model, 0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void expect_refused(const cal_tendon_part* parts, int count, const char* why) {
    cal_builder* builder;
    cal_model* model = NULL;
    cal_error error = {0};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body = cal_default_body_def();
    cal_joint_def joint = cal_default_joint_def();
    body.mass = body.inertia[0] = body.inertia[1] = body.inertia[2] = 1.0;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    cal_tendon_def def = cal_default_tendon_def();
    def.parts = parts;
    def.part_count = count;
    cal_builder_add_tendon(builder, &def);
    assert_int_equal(cal_builder_finish(builder, &model, &error), CAL_BAD_MODEL);
    if (!strstr(error.text, why)) fail_msg("'%s' does not say '%s'", error.text, why);
    cal_builder_destroy(builder);
}

static void test_refused(void** state) {
    (void)state;
    cal_tendon_part parts[3] = {cal_default_tendon_part(), cal_default_tendon_part(), cal_default_tendon_part()};
    expect_refused(parts, 0, "no parts");
    expect_refused(parts, 1, "two points");
    parts[1].kind = CAL_TENDON_SPHERE, parts[1].radius = 0.1;
    expect_refused(parts, 2, "between two points");
    parts[1].radius = 0.0;
    expect_refused(parts, 3, "part 1");
    parts[0].kind = CAL_TENDON_JOINT, parts[0].joint = 0, parts[1].radius = 0.1;
    expect_refused(parts, 3, "one or the other");
    parts[0].joint = 1;
    expect_refused(parts, 1, "part 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lift),      cmocka_unit_test(test_energy),   cmocka_unit_test(test_energy_of_bodies),
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_ensemble), cmocka_unit_test(test_rope),
        cmocka_unit_test(test_written),   cmocka_unit_test(test_held),     cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
