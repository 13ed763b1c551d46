// Agreement with MuJoCo on files: it reads the same URDFs, and the MJCF that is written from others.
#include "base/random.h"
#include "calder/calder_read.h"
#include "place.h"
#include "support.h"
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdlib.h>

enum { STATES = 5 };
static const double tolerance = 1e-8; // relative to the largest component

static cal_model* without_constraints(cal_model* model) {
    cal_model* out;
    cal_error error = {CAL_OK, ""};
    if (cal_model_variant(model, CAL_PART_CONSTRAINT, CAL_NONE, &out, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_model_destroy(model);
    return out;
}

static void expect_agreement(const cal_model* model, const char* path) {
    char complaint[300] = "";
    mjModel* peer = mj_loadXML(path, NULL, complaint, sizeof complaint);
    if (peer == NULL) fail_msg("%s: MuJoCo says: %s", path, complaint);
    peer->opt.disableflags |= mjDSBL_CONSTRAINT;
    mjData* data = mj_makeData(peer);
    assert_int_equal(peer->nq, cal_model_q_count(model));
    assert_int_equal(peer->nv, cal_model_v_count(model));
    cal_test_engine forward = cal_test_open(model, "aba", 0), inertia = cal_test_open(model, "crba", 1);
    const size_t nv = (size_t)peer->nv;
    double *qdd = cal_test_numbers(nv), *mass = cal_test_numbers(nv * nv), *dense = cal_test_numbers(nv * nv);
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        cal_test_motion motion = cal_test_random_motion(model, seed);
        mju_copy(data->qpos, motion.q, peer->nq);
        mju_copy(data->qvel, motion.v, peer->nv);
        mju_copy(data->qfrc_applied, motion.tau, peer->nv);
        mju_copy(data->ctrl, motion.control, peer->nu);
        mj_forward(peer, data);
        mj_fullM(peer, dense, data->qM);
        cal_test_load(&forward, &motion);
        cal_test_execute(&forward);
        assert_int_equal(cal_state_get(forward.state, CAL_QDD, qdd), CAL_OK);
        cal_test_load(&inertia, &motion);
        cal_test_execute(&inertia);
        assert_int_equal(cal_state_get(inertia.state, CAL_MASS, mass), CAL_OK);
        cal_test_expect_below(cal_test_largest_difference(qdd, data->qacc, nv) / cal_test_largest(data->qacc, nv),
                              tolerance, "accelerations", path);
        cal_test_expect_below(cal_test_largest_difference(mass, dense, nv * nv) / cal_test_largest(dense, nv * nv),
                              tolerance, "mass matrix", path);
        cal_test_motion_free(&motion);
    }
    cal_test_close(&forward);
    cal_test_close(&inertia);
    free(qdd);
    free(mass);
    free(dense);
    mj_deleteData(data);
    mj_deleteModel(peer);
}

static void test_urdf(void** state) {
    (void)state;
    static const char* const paths[] = {CALDER_TEST_MODELS "/planar.urdf", CALDER_TEST_MODELS "/floating.urdf"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        cal_model* model;
        cal_error error = {CAL_OK, ""};
        if (cal_model_read(paths[i], NULL, &model, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
        model = without_constraints(model);
        expect_agreement(model, paths[i]);
        cal_model_destroy(model);
    }
}

// Models whose inertias are diagonal or large: MuJoCo 2.2 diagonalises others to 10⁻¹² kg m² only.
static void test_written(void** state) {
    (void)state;
    char path[CAL_TEST_PATH];
    cal_test_path(path, "model.xml");
    static const char* const names[] = {CALDER_TEST_MODELS "/robot_description/urdf/arm.urdf", "humanoid", "stickman",
                                        "chain:n=20", "figure:dof=48"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cal_model *model = NULL, *back = NULL;
        cal_error error = {CAL_OK, ""};
        cal_status status = i == 0 ? cal_model_read(names[i], NULL, &model, NULL, &error)
                                   : cal_model_generate(names[i], &model, &error);
        if (status == CAL_OK) status = cal_model_write(model, path, &error);
        // Read back, for bodies have the file's numbers then.
        if (status == CAL_OK) status = cal_model_read(path, NULL, &back, NULL, &error);
        if (status != CAL_OK) fail_msg("%s: %s", names[i], error.text);
        back = without_constraints(back);
        expect_agreement(back, path);
        cal_model_destroy(model);
        cal_model_destroy(back);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_urdf), cmocka_unit_test(test_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
