#include "support.h"
#include "base/random.h"
#include "calder/calder_read.h"
#include "math/vector.h"
#include "plan/machine_ops.h"
#include <stdlib.h>
#include <string.h>

cal_model* cal_test_model(const char* specification) {
    cal_model* model = NULL;
    cal_error error;
    if (cal_model_generate(specification, &model, &error)) fail_msg("%s: %s", specification, error.text);
    return model;
}

const char* cal_test_zoo(int index) {
    static const char* const names[] = {
        "pendulum",
        "chain:n=13",
        "chain:n=11,joint=ball",
        "chain:n=10,joint=prismatic",
        "mobile:s=2,l=3,o=5",
        "tree:height=3,fanout=3",
        "stickman",
        "figure:dof=34",
        "figure:dof=48",
        "humanoid:floor=0",
        "random:n=1,seed=3",
        "random:n=7,seed=1",
        "random:n=30,seed=2",
        "random:n=30,seed=5",
        "random:n=60,seed=4",
        "random:n=40,seed=7,joints=ball",
    };
    return index >= 0 && (size_t)index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

cal_builder* cal_test_same_bodies(const cal_model* model) {
    cal_builder* builder = NULL;
    double gravity[3];
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_name(builder, cal_model_name(model));
    cal_model_gravity(model, gravity);
    cal_builder_set_gravity(builder, gravity);
    for (int i = 0; i < cal_model_body_count(model); i++) {
        cal_body_def body;
        cal_model_body(model, i, &body);
        cal_builder_add_body(builder, &body);
    }
    return builder;
}

cal_model* cal_test_dress(const cal_model* model, uint64_t seed) {
    cal_random random = {seed};
    cal_builder* builder = cal_test_same_bodies(model);
    cal_model* dressed = NULL;
    cal_error error;
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        int body;
        cal_model_joint(model, i, &joint, &body, NULL, NULL);
        joint.armature = cal_random_between(&random, 0.01, 0.1);
        joint.damping = cal_random_between(&random, 0.0, 1.0);
        if (joint.kind != CAL_FREE) joint.stiffness = cal_random_between(&random, 0.0, 5.0);
        if (cal_joint_v_count(joint.kind) == 1) {
            joint.spring_reference = cal_random_between(&random, -0.5, 0.5);
            joint.limited = i % 2 == 0;
            joint.range[0] = cal_random_between(&random, -1.5, -0.5);
            joint.range[1] = cal_random_between(&random, 0.5, 1.5);
            joint.limit_stiffness = i % 4 == 0 ? 0.0 : 20.0;
            joint.limit_damping = cal_random_between(&random, 0.0, 0.5);
        }
        cal_builder_add_joint(builder, body, &joint);
        if (joint.kind == CAL_FREE || i % 3 != 0) continue;
        cal_actuator_def motor = cal_default_actuator_def();
        motor.joint = i;
        if (joint.kind == CAL_BALL) motor.axis = i / 3 % 3;
        motor.gear = cal_random_between(&random, 0.5, 2.0);
        motor.gain = cal_random_between(&random, 0.5, 2.0);
        for (int k = 0; k < 3; k++) motor.bias[k] = cal_random_between(&random, -1.0, 0.0);
        motor.control_range[0] = -0.5, motor.control_range[1] = 0.5;
        if (i % 2) motor.force_range[0] = -1.0, motor.force_range[1] = 1.0;
        cal_builder_add_actuator(builder, &motor);
    }
    if (cal_builder_finish(builder, &dressed, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return dressed;
}

void cal_test_on_every_model(cal_test_check* check) {
    for (int i = 0; cal_test_zoo(i); i++) {
        cal_model* model = cal_test_model(cal_test_zoo(i));
        cal_model* dressed = cal_test_dress(model, (uint64_t)i + 1);
        check(model, cal_test_zoo(i));
        check(dressed, cal_test_zoo(i));
        cal_model_destroy(dressed);
        cal_model_destroy(model);
    }
}

double* cal_test_numbers(size_t count) {
    double* out = calloc(count + 1, sizeof(double));
    assert_non_null(out);
    return out;
}

cal_test_engine cal_test_open(const cal_model* model, const char* algorithm, int lanes) {
    cal_test_engine engine = {.model = model};
    cal_error error;
    if (cal_machine_serial(lanes, &engine.machine, &error)) fail_msg("%s", error.text);
    if (cal_plan_create(model, algorithm, engine.machine, &engine.plan, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_state_create(engine.plan, &engine.state), CAL_OK);
    return engine;
}

void cal_test_close(cal_test_engine* engine) {
    cal_state_destroy(engine->state);
    cal_plan_destroy(engine->plan);
    cal_machine_destroy(engine->machine);
    *engine = (cal_test_engine){0};
}

void cal_test_execute(const cal_test_engine* engine) {
    cal_error error;
    if (cal_plan_execute(engine->plan, engine->state, &error))
        fail_msg("%s: %s", cal_model_name(engine->model), error.text);
}

static void random_quaternion(cal_random* random, double q[4]) {
    double length;
    do {
        for (int i = 0; i < 4; i++) q[i] = cal_random_between(random, -1.0, 1.0);
        length = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    } while (length > 1.0 || length < 0.01);
    cal_quaternion_normalize(q);
}

cal_test_motion cal_test_random_motion(const cal_model* model, uint64_t seed) {
    cal_random random = {seed};
    const size_t v_count = (size_t)cal_model_v_count(model), control_count = (size_t)cal_model_actuator_count(model);
    cal_test_motion motion = {cal_test_numbers((size_t)cal_model_q_count(model)), cal_test_numbers(v_count),
                              cal_test_numbers(v_count), cal_test_numbers(v_count), cal_test_numbers(control_count)};
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        int first;
        cal_model_joint(model, i, &joint, NULL, &first, NULL);
        double* q = motion.q + first;
        if (joint.kind == CAL_REVOLUTE) q[0] = cal_random_between(&random, -2.0, 2.0);
        if (joint.kind == CAL_PRISMATIC) q[0] = cal_random_between(&random, -1.0, 1.0);
        if (joint.kind == CAL_BALL) random_quaternion(&random, q);
        if (joint.kind == CAL_FREE) {
            for (int k = 0; k < 3; k++) q[k] = cal_random_between(&random, -1.0, 1.0);
            random_quaternion(&random, q + 3);
        }
    }
    for (size_t i = 0; i < v_count; i++) motion.v[i] = cal_random_between(&random, -1.0, 1.0);
    for (size_t i = 0; i < v_count; i++) motion.tau[i] = cal_random_between(&random, -1.0, 1.0);
    for (size_t i = 0; i < control_count; i++) motion.control[i] = cal_random_between(&random, -1.0, 1.0);
    return motion;
}

void cal_test_motion_free(cal_test_motion* motion) {
    free(motion->q), free(motion->v), free(motion->tau), free(motion->qdd), free(motion->control);
    *motion = (cal_test_motion){0};
}

void cal_test_load(const cal_test_engine* engine, const cal_test_motion* motion) {
    const struct {
        cal_field field;
        const double* values;
    } inputs[] = {{CAL_Q, motion->q},
                  {CAL_V, motion->v},
                  {CAL_TAU, motion->tau},
                  {CAL_QDD, motion->qdd},
                  {CAL_CONTROL, motion->control}};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        if (cal_state_size(engine->state, inputs[i].field))
            assert_int_equal(cal_state_set(engine->state, inputs[i].field, inputs[i].values), CAL_OK);
}

void cal_test_push(const cal_test_engine* engine, uint64_t seed) {
    cal_random random = {seed};
    for (int body = 0; body < cal_model_body_count(engine->model); body += 3) {
        double wrench[9];
        for (int i = 0; i < 9; i++) wrench[i] = cal_random_between(&random, -1.0, 1.0);
        assert_int_equal(cal_state_push(engine->state, body, wrench, wrench + 3, wrench + 6), CAL_OK);
    }
}

// out = q ∘ exp(½ w time)
static void turn(const double q[4], const double w[3], double time, double out[4]) {
    const double rate = sqrt(cal_dot3(w, w)), half = 0.5 * rate * time, s = rate > 0.0 ? sin(half) / rate : 0.0;
    const double step[4] = {cos(half), s * w[0], s * w[1], s * w[2]};
    cal_quaternion_multiply(q, step, out);
}

void cal_test_displace(const cal_model* model, const double* q, const double* v, double time, double* out) {
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        int first_q, first_v;
        cal_model_joint(model, i, &joint, NULL, &first_q, &first_v);
        const double *from = q + first_q, *rate = v + first_v;
        double* to = out + first_q;
        if (joint.kind == CAL_BALL) {
            turn(from, rate, time, to);
        } else {
            for (int k = 0; k < (joint.kind == CAL_FREE ? 3 : 1); k++) to[k] = from[k] + time * rate[k];
            if (joint.kind == CAL_FREE) turn(from + 3, rate + 3, time, to + 3);
        }
    }
}

void cal_test_turn(const double q[4], const double w[3], double h, double out[4]) {
    const double half[4] = {0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    double rate[4];
    cal_quaternion_multiply(half, q, rate);
    for (int i = 0; i < 4; i++) out[i] = q[i] + h * rate[i];
    cal_quaternion_normalize(out);
}

double cal_test_largest(const double* values, size_t count) {
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) return NAN;
        largest = fmax(largest, fabs(values[i]));
    }
    return largest;
}

double cal_test_largest_difference(const double* a, const double* b, size_t count) {
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(a[i] - b[i])) return NAN;
        largest = fmax(largest, fabs(a[i] - b[i]));
    }
    return largest;
}

void cal_test_expect_below(double error, double bound, const char* what, const char* where) {
    if (!(error <= bound)) fail_msg("%s of %s: %.3g is above %.3g", what, where, error, bound);
}

bool cal_test_solve_dense(double* a, double* b, size_t n) {
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        if (!(fabs(a[best * n + k]) > 1e-13)) return false;
        for (size_t j = 0; j < n; j++) {
            const double swap = a[k * n + j];
            a[k * n + j] = a[best * n + j], a[best * n + j] = swap;
        }
        const double swap = b[k];
        b[k] = b[best], b[best] = swap;
        for (size_t i = k + 1; i < n; i++) {
            const double factor = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
    return true;
}

cal_model* cal_test_read(const char* text, const char* name) {
    cal_model* model = NULL;
    cal_error error;
    if (cal_model_read_memory(text, strlen(text), name, NULL, &model, NULL, &error)) fail_msg("%s", error.text);
    return model;
}

cal_machine* cal_test_machine(int workers, int lanes) {
    cal_threads_def def = cal_default_threads_def();
    cal_machine* machine = NULL;
    cal_error error;
    def.workers = workers, def.lanes = lanes;
    const cal_status status =
        workers == 0 ? cal_machine_serial(lanes, &machine, &error) : cal_machine_threads(&def, &machine, &error);
    if (status) fail_msg("%s", error.text);
    machine->steady = true;
    return machine;
}

cal_sim* cal_test_create_sim(const cal_model* model, const cal_sim_def* def) {
    cal_sim* sim = NULL;
    cal_error error;
    if (cal_sim_create(model, def, &sim, &error))
        fail_msg("%s with %s: %s", cal_model_name(model), def->solver, error.text);
    return sim;
}

cal_sim* cal_test_open_sim(const cal_model* model, const char* solver, double tolerance, cal_force_callback* force,
                           double largest_step) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver, def.relative = tolerance, def.force = force;
    if (largest_step > 0.0) def.largest_step = largest_step;
    return cal_test_create_sim(model, &def);
}

void cal_test_advance_sim(cal_sim* sim, double time) {
    cal_error error;
    if (cal_sim_advance(sim, time, &error)) fail_msg("%s: %s", cal_model_name(cal_sim_model(sim)), error.text);
}

double cal_test_state_difference(const cal_sim* a, const cal_sim* b, const cal_model* model) {
    return fmax(cal_test_largest_difference(cal_sim_q(a), cal_sim_q(b), (size_t)cal_model_q_count(model)),
                cal_test_largest_difference(cal_sim_v(a), cal_sim_v(b), (size_t)cal_model_v_count(model)));
}

void cal_test_expect_balanced(cal_sim* sim, const char* where) {
    cal_energy_balance balance;
    assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
    cal_test_expect_below(fabs(balance.error), 1e-6 * fmax(balance.exchanged, 1.0), "energy balance", where);
}

cal_builder* cal_test_builder(double gravity) {
    cal_builder* builder = NULL;
    const double down[3] = {0.0, 0.0, -gravity};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, down);
    return builder;
}

cal_model* cal_test_finish(cal_builder* builder) {
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}
