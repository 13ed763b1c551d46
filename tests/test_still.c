// Models in which nothing moves: a floor and bodies without joints. They load, show and convert like others.
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char still[] = "<mujoco><worldbody><geom type='plane' size='2 2 0.1'/>"
                            "<body name='table' pos='0.5 0 0.4' euler='0 0 90'><geom type='box' size='0.3 0.2 0.02'/>"
                            "<body name='cup' pos='0.1 0 0.05'><geom type='cylinder' size='0.03 0.05'/></body></body>"
                            "</worldbody></mujoco>";
static const char empty[] = "<mujoco><worldbody><geom type='plane' size='2 2 0.1'/></worldbody></mujoco>";

static void check_poses(const double* poses) {
    const double half = sqrt(0.5);
    const double expected[14] = {0.5, 0, 0.4, half, 0, 0, half, 0.5, 0.1, 0.45, half, 0, 0, half};
    cal_test_expect_below(cal_test_largest_difference(poses, expected, 14), 1e-15, "poses", "still");
}

static void every_algorithm_evaluates_it(void** unused) {
    (void)unused;
    cal_model* model = cal_test_read(still, "still.xml");
    assert_int_equal(cal_model_v_count(model), 0);
    assert_int_equal(cal_model_depth(model), 0);
    assert_false(cal_model_can_touch(model));
    for (int i = 0; cal_algorithm_name(i) != NULL; i++)
        for (int lanes = 1; lanes <= 4; lanes *= 4) {
            cal_test_engine engine = cal_test_open(model, cal_algorithm_name(i), lanes);
            double poses[14];
            cal_test_execute(&engine);
            if (strcmp(cal_algorithm_name(i), "kinematics") == 0) {
                assert_int_equal(cal_state_get(engine.state, CAL_POSE, poses), CAL_OK);
                check_poses(poses);
            }
            cal_test_close(&engine);
        }
    cal_model_destroy(model);
}

static void every_solver_advances_it(void** unused) {
    (void)unused;
    cal_model* models[2] = {cal_test_read(still, "still.xml"), cal_test_read(empty, "still.xml")};
    for (int m = 0; m < 2; m++)
        for (int i = 0; cal_solver_name(i) != NULL; i++) {
            cal_sim_def def = cal_default_sim_def();
            cal_sim* sim = NULL;
            cal_error error = {CAL_OK, ""};
            double poses[14], kinetic = 1.0, potential = 1.0;
            def.solver = cal_solver_name(i);
            if (cal_sim_create(models[m], &def, &sim, &error) != CAL_OK || cal_sim_advance(sim, 0.5, &error) != CAL_OK)
                fail_msg("%s: %s", def.solver, error.text);
            assert_true(cal_sim_time(sim) == 0.5);
            assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
            assert_true(kinetic == 0.0 && potential == 0.0);
            assert_int_equal(cal_sim_poses(sim, poses), CAL_OK);
            if (m == 0) check_poses(poses);
            cal_sim_destroy(sim);
        }
    cal_model_destroy(models[0]);
    cal_model_destroy(models[1]);
}

static void every_command_takes_it(void** unused) {
    (void)unused;
    cal_test_write_file("still.xml", still);
    cal_test_write_file("empty.xml", empty);
    static const char* const calls[] = {
        "info %s",
        "info %s --json",
        "eval %s --what pose",
        "eval %s --what forward",
        "eval %s --what inverse",
        "eval %s --what mass --json",
        "eval %s --what energy",
        "plan %s",
        "sim %s --time 0.1",
        "sim %s --time 0.1 --machine threads:2",
        "sim %s --time 0.1 --out run.csv",
        "sim %s --time 0.1 --batch 3",
        "sim %s --time 0.1 --checkpoint run.state",
        "convert %s copy.xml",
    };
    static const char* const files[] = {"still.xml", "empty.xml"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int f = 0; f < 2; f++) {
            char call[200];
            snprintf(call, sizeof call, calls[i], files[f]);
            cal_test_outcome o = cal_test_run_well(call);
            if (o.err[0] != '\0') fail_msg("%s: %s", call, o.err);
            cal_test_release(&o);
        }
    cal_test_outcome o = cal_test_run_well("info still.xml");
    assert_non_null(strstr(o.out, "degrees of freedom   0\n"));
    cal_test_release(&o);
    o = cal_test_run_well("convert still.xml copy.xml");
    cal_test_release(&o);
    o = cal_test_run_well("eval copy.xml --what pose --json");
    assert_non_null(strstr(o.out, "\"cup\""));
    cal_test_release(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_evaluates_it),
        cmocka_unit_test(every_solver_advances_it),
        cmocka_unit_test(every_command_takes_it),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
