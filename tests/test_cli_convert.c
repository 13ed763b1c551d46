// `calder convert`, and URDFs on the command line.
#include "command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const robot = CALDER_TEST_MODELS "/robot_description/urdf/arm.urdf";

static void converts(void** unused) {
    (void)unused;
    char call[1100];
    snprintf(call, sizeof call, "convert '%s' arm.xml", robot);
    cal_test_outcome o = cal_test_run_well(call);
    assert_non_null(strstr(o.out, "arm.xml: 6 bodies, 4 joints, 4 shapes, 2 meshes"));
    assert_non_null(strstr(o.out, "arm.urdf:89: <transmission>"));
    cal_test_release(&o);
    // The copy stands for the original, to the bit; a step is given, since MJCF always has one.
    char* hashes[2];
    for (int i = 0; i < 2; i++) {
        snprintf(call, sizeof call, "sim '%s' --disable constraint --time 0.2 --solver rk4 --step 0.001 --json",
                 i == 0 ? robot : "arm.xml");
        o = cal_test_run_well(call);
        const char* hash = strstr(o.out, "\"state_hash\"");
        assert_non_null(hash);
        hashes[i] = strdup(hash);
        cal_test_release(&o);
    }
    assert_memory_equal(hashes[0], hashes[1], 12 + 18);
    free(hashes[0]);
    free(hashes[1]);
    cal_test_expect_json("convert humanoid humanoid.xml --json", "model out bodies joints dof shapes meshes issues");
}

static void refuses(void** unused) {
    (void)unused;
    cal_test_write_file("own.xml", "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>");
    cal_test_write_file("broken.urdf", "<robot>\n<link name='a'/>\n<link name='b'/>\n</robot>");
    cal_test_expect_mistake("convert", "MODEL");
    cal_test_expect_mistake("convert chain", "MODEL");
    cal_test_expect_mistake("convert chain out.urdf", "must end with .xml");
    cal_test_expect_mistake("convert own.xml own.xml", "over itself");
    cal_test_expect_mistake("convert own.xml ./own.xml", "over itself");
    cal_test_expect_mistake("convert missing.urdf out.xml", "missing.urdf");
    cal_test_expect_mistake("convert chain nowhere/out.xml", "nowhere/out.xml");
    cal_test_expect_mistake("convert broken.urdf out.xml", "broken.urdf:3");
    cal_test_expect_mistake("info broken.urdf", "one root");
}

static void finds_packages(void** unused) {
    (void)unused;
    cal_test_write_file(
        "mesh.urdf",
        "<robot><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link><link "
        "name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        "<visual><geometry><mesh filename='package://robot_description/meshes/wedge.obj'/></geometry></visual></link>"
        "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint></robot>");
    cal_test_outcome o = cal_test_run_well("info mesh.urdf --json");
    assert_true(cal_test_number_after(o.out, "shapes") == 0.0);
    cal_test_release(&o);
    o = cal_test_run_well("info mesh.urdf --json --package-path /does/not/exist:" CALDER_TEST_MODELS);
    assert_true(cal_test_number_after(o.out, "shapes") == 1.0);
    cal_test_release(&o);
    o = cal_test_run_after("ROS_PACKAGE_PATH=" CALDER_TEST_MODELS, "info mesh.urdf --json --strict");
    assert_int_equal(o.status, 0);
    assert_true(cal_test_number_after(o.out, "shapes") == 1.0);
    cal_test_release(&o);
    cal_test_expect_mistake("info mesh.urdf --strict", "mesh.urdf:1");
    o = cal_test_run_well("info mesh.urdf --free-base --json");
    assert_true(cal_test_number_after(o.out, "dof") == 7.0);
    cal_test_release(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(converts), cmocka_unit_test(refuses),
                                       cmocka_unit_test(finds_packages)};
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
