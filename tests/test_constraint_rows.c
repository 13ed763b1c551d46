// Rows of constraints: every kind, between bodies of every kind of tree, against finite differences along a motion with
// constant joint velocities. Speed is the rate of the error; the rate of the speed is what the nodes' accelerations and the
// bias make.
#include "base/random.h"
#include "pass/constraint_rows.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void ellipsoid(const double p[3], double* value, double gradient[3], double hessian[6], void* user) {
    const double* axes = user;
    *value = -1.0;
    for (int i = 0; i < 3; i++) {
        *value += p[i] * p[i] / axes[i];
        gradient[i] = 2.0 * p[i] / axes[i];
        hessian[i] = 2.0 / axes[i];
    }
    // And something with mixed derivatives.
    *value += p[0] * p[1] - 0.5 * p[1] * p[2] + 0.25 * p[0] * p[2];
    gradient[0] += p[1] + 0.25 * p[2], gradient[1] += p[0] - 0.5 * p[2], gradient[2] += -0.5 * p[1] + 0.25 * p[0];
    hessian[3] = 1.0, hessian[5] = -0.5, hessian[4] = 0.25;
}

static double axes[3] = {1.0, 2.0, 0.5};

// The first two joints of one degree, or false.
static bool find_joints(const cal_model* model, cal_random* random, int out[2]) {
    int found = 0;
    const int count = cal_model_joint_count(model), start = cal_random_below(random, count);
    for (int i = 0; i < count && found < 2; i++) {
        cal_joint_def joint;
        cal_model_joint(model, (start + i) % count, &joint, NULL, NULL, NULL);
        if (cal_joint_v_count(joint.kind) == 1) out[found++] = (start + i) % count;
    }
    return found == 2;
}

// The same bodies and joints, with constraints of every kind between bodies at random. Two bodies are always there: the
// ground may be one of them.
static cal_model* add_constraints(const cal_model* model, uint64_t seed) {
    cal_random random = {seed};
    cal_builder* builder = cal_test_same_bodies(model);
    cal_model* out = NULL;
    cal_error error;
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        int body;
        cal_model_joint(model, i, &joint, &body, NULL, NULL);
        if (cal_joint_v_count(joint.kind) == 1) joint.zero = cal_random_between(&random, -0.3, 0.3);
        cal_builder_add_joint(builder, body, &joint);
    }
    for (int k = 0; k < 3 * (CAL_ROLLING + 1); k++) {
        cal_constraint_def def = cal_default_constraint_def();
        def.kind = (cal_constraint_kind)(k % (CAL_ROLLING + 1));
        const int bodies = cal_model_body_count(model);
        def.body[0] = cal_random_below(&random, bodies + 1) - 1;
        do def.body[1] = cal_random_below(&random, bodies + 1) - 1;
        while (def.body[1] == def.body[0]);
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < 3; i++) def.position[s][i] = cal_random_between(&random, -1.0, 1.0);
            for (int i = 0; i < 4; i++) def.quaternion[s][i] = cal_random_between(&random, -1.0, 1.0);
        }
        def.length = cal_random_between(&random, 0.5, 2.0);
        def.surface = ellipsoid;
        def.user = axes;
        def.rows = (uint32_t)cal_random_below(&random, 63) + 1;
        for (int i = 0; i < 5; i++) def.polynomial[i] = cal_random_between(&random, -1.0, 1.0);
        if (def.kind == CAL_COUPLING && !find_joints(model, &random, def.joint)) continue;
        if (def.kind == CAL_COUPLING && k % 2) def.joint[1] = CAL_NONE;
        cal_builder_add_constraint(builder, &def);
    }
    if (cal_builder_finish(builder, &out, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return out;
}

typedef struct moment {
    double* q;
    cal_node_motion* motions;
    cal_row rows[CAL_CONSTRAINT_ROWS];
} moment;

static double power_of(const cal_row* row, const cal_node_motion* motions) {
    double sum = 0.0;
    for (int i = 0; i < row->node_count; i++)
        sum += cal_dot3(row->moment[i], motions[row->node[i]].angular) +
               cal_dot3(row->force[i], motions[row->node[i]].linear);
    return sum;
}

static void check_rows(const cal_model* model, const double* q, const double* v, const char* name) {
    const double h = 1e-5;
    const size_t nodes = (size_t)model->node_count;
    moment at[3];
    for (int k = 0; k < 3; k++) {
        at[k].q = cal_test_numbers((size_t)model->q_count);
        at[k].motions = calloc(nodes + 1, sizeof(cal_node_motion));
        cal_test_displace(model, q, v, (k - 1) * h, at[k].q);
        cal_node_motions(model, 0, at[k].q, v, true, 0, model->node_count, at[k].motions);
    }
    // Accelerations of the nodes, for joint accelerations of zero.
    cal_node_motion* accelerations = calloc(nodes + 1, sizeof(cal_node_motion));
    for (size_t n = 0; n < nodes; n++)
        for (int i = 0; i < 3; i++) {
            accelerations[n].angular[i] = (at[2].motions[n].angular[i] - at[0].motions[n].angular[i]) / (2.0 * h);
            accelerations[n].linear[i] = (at[2].motions[n].linear[i] - at[0].motions[n].linear[i]) / (2.0 * h);
        }
    for (int c = 0; c < model->constraint_count; c++) {
        int count = 0, nonholonomic = 0;
        for (int k = 0; k < 3; k++)
            count = cal_constraint_make_rows(model, c, 0.0, at[k].motions, at[k].q, v, at[k].rows);
        char what[80];
        snprintf(what, sizeof what, "constraint %d (%s)", c, cal_constraint_kind_name(model->constraints[c].kind));
        assert_int_equal(count, cal_constraint_rows(&model->constraints[c], &nonholonomic));
        for (int i = 0; i < count; i++) {
            const cal_row *row = &at[1].rows[i], *before = &at[0].rows[i], *after = &at[2].rows[i];
            assert_int_equal(row->constraint, c);
            nonholonomic -= row->holonomic ? 0 : 1;
            assert_true(row->node_count <= CAL_ROW_NODES);
            const double scale = 1.0 + fabs(row->speed) + fabs(row->bias) + fabs(row->error);
            // A turn of half a circle changes the sign of its quaternion, and with it all of the row.
            if (row->holonomic && before->error * after->error > -0.5)
                cal_test_expect_below(fabs((after->error - before->error) / (2.0 * h) - row->speed), 1e-7 * scale, what,
                                      name);
            if (!row->holonomic) assert_true(row->error == 0.0);
            const double change = (after->speed - before->speed) / (2.0 * h);
            cal_test_expect_below(fabs(change - power_of(row, accelerations) - row->bias), 2e-6 * scale, what, name);
            cal_test_expect_below(fabs(power_of(row, at[1].motions) - row->speed), 1e-12 * scale, what, name);
        }
        assert_int_equal(nonholonomic, 0);
    }
    for (int k = 0; k < 3; k++) free(at[k].q), free(at[k].motions);
    free(accelerations);
}

static void test_rows_are_derivatives(void** state) {
    (void)state;
    for (int i = 0; cal_test_zoo(i); i++) {
        cal_model* plain = cal_test_model(cal_test_zoo(i));
        for (uint64_t seed = 1; seed < 4; seed++) {
            cal_model* model = add_constraints(plain, seed + 10 * (uint64_t)i);
            cal_test_motion motion = cal_test_random_motion(model, seed + 77);
            check_rows(model, motion.q, motion.v, cal_test_zoo(i));
            cal_test_motion_free(&motion);
            cal_model_destroy(model);
        }
        cal_model_destroy(plain);
    }
}

// Motions agree with "kinematics", which goes another way for positions of bodies.
static void test_motions(void** state) {
    (void)state;
    cal_model* model = cal_test_model("random:n=30,seed=2");
    cal_test_motion motion = cal_test_random_motion(model, 5);
    cal_test_engine engine = cal_test_open(model, "kinematics", 1);
    cal_test_load(&engine, &motion);
    cal_test_execute(&engine);
    double* poses = cal_test_numbers(7 * (size_t)model->body_count);
    double* jacobian = cal_test_numbers(6 * (size_t)model->v_count);
    assert_int_equal(cal_state_get(engine.state, CAL_POSE, poses), CAL_OK);
    cal_node_motion* motions = calloc((size_t)model->node_count, sizeof *motions);
    cal_node_motions(model, 0, motion.q, motion.v, true, 0, model->node_count, motions);
    for (int body = 0; body < model->body_count; body++) {
        const cal_mount* mount = &model->mounts[body];
        if (mount->node < 0) continue;
        const cal_node_motion* node = &motions[mount->node];
        double place[3], speed[3];
        cal_rotate3(node->rotation, mount->offset, place);
        cal_cross3(node->angular, place, speed);
        for (int i = 0; i < 3; i++) place[i] += node->base[i] + node->origin[i], speed[i] += node->linear[i];
        cal_test_expect_below(cal_test_largest_difference(place, poses + 7 * body, 3), 1e-12, "position", "random");
        const double here[3] = {0.0, 0.0, 0.0};
        assert_int_equal(cal_state_jacobian(engine.state, body, here, jacobian), CAL_OK);
        for (int i = 0; i < 3; i++) {
            double sum = 0.0;
            for (int k = 0; k < model->v_count; k++) sum += jacobian[i * model->v_count + k] * motion.v[k];
            cal_test_expect_below(fabs(sum - speed[i]), 1e-12, "velocity", "random");
        }
    }
    free(motions), free(poses), free(jacobian);
    cal_test_close(&engine);
    cal_test_motion_free(&motion);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_motions),
        cmocka_unit_test(test_rows_are_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
