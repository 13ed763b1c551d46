// `calder sim SCENE` and `calder bench world` as a user or a script meets them.
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reports_what_happened(void** unused) {
    (void)unused;
    cal_test_expect_json("sim atoms:n=30 --time 0.5 --json",
                         "scene loop bodies moving time wall_s discontinuities checks integrations average_step_s "
                         "average_gap_s integrated_s_per_body rolled_back_s_per_body rollbacks groups largest_group "
                         "largest_contacts peak_states energy_end momentum state_hash");
    // A model's machine, and what its world is divided among, are two.
    cal_test_expect_json("sim humanoid:drop=0.01 --time 0.01 --json", "processors domain_processors energy_balance");
    cal_test_expect_json("sim stack:n=2 --time 0.2 --loop retroactive --step 0.005 --json", "loop step asleep fusions");
    cal_test_expect_json("sim stack:n=2 --time 0.2 --loop conservative --group penalty --json", "group groups");
    cal_test_outcome o = cal_test_run_well("sim atoms:n=30 --time 0.5");
    assert_non_null(strstr(o.out, "discontinuities"));
    cal_test_release(&o);
}

// Times grow, every row has its five columns, and the scene's bodies are named.
static void writes_events_in_order(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("sim atoms:n=30 --time 1 --events events.csv --out frames.csv --json");
    const double collisions = cal_test_number_after(o.out, "collisions");
    char *events = cal_test_read_file("events.csv"), *frames = cal_test_read_file("frames.csv");
    assert_int_equal(cal_test_count_lines(events), (int)collisions + 1);
    assert_int_equal(cal_test_count_lines(frames), 1 + 31);
    double last = 0;
    for (char* line = strchr(events, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        char* rest;
        double time = strtod(line, &rest);
        assert_true(time >= last && *rest == ',');
        last = time;
    }
    assert_non_null(strstr(events, ",ball "));
    free(events);
    free(frames);
    cal_test_release(&o);
}

static void same_hash_under_forced_rollbacks(void** unused) {
    (void)unused;
    char hashes[2][32];
    for (int i = 0; i < 2; i++) {
        cal_test_outcome o =
            cal_test_run_well(i == 0 ? "sim atoms:n=30 --time 1 --json"
                                     : "sim atoms:n=30 --time 1 --force-rollbacks 0.3 --seed 5 --json");
        const char* hash = strstr(o.out, "\"state_hash\": \"");
        assert_non_null(hash);
        snprintf(hashes[i], sizeof hashes[i], "%.16s", hash + strlen("\"state_hash\": \""));
        cal_test_release(&o);
    }
    assert_string_equal(hashes[0], hashes[1]);
}

static void names_every_mistake(void** unused) {
    (void)unused;
    cal_test_expect_mistake("sim atoms:n=0", "n=0");
    cal_test_expect_mistake("sim atoms:fill=0.19,n=1000000,kind=up", "kind");
    cal_test_expect_mistake("sim atoms --loop sideways", "timewarp");
    cal_test_expect_mistake("sim stack --group glue", "implicit");
    cal_test_expect_mistake("sim atoms --placement p.json", "--placement");
    cal_test_expect_mistake("sim atoms:n=5 --time 1 --events a.csv --out a.csv", "a.csv");
    cal_test_expect_mistake("sim atoms:n=5 --time 1 --events nowhere/a.csv", "nowhere/a.csv");
    cal_test_expect_mistake("bench world atoms", "world");
    cal_test_expect_mistake("bench world --no-figure --no-growth --plot nothing.svg", "--plot");
}

static void benchmark_runs(void** unused) {
    (void)unused;
    cal_test_expect_json("bench world --no-figure --no-growth --share 0.0005 --json", "processor table1");
}

// A tree of capsules that falls flat on a floor: Coulomb's law of its four contacts goes to and fro between one that slides without a force
// and one that would stick, and no body goes through the floor.
static void what_slides_and_sticks_stays_above_the_floor(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_EXPAT
    cal_test_write_file("flat.xml",
                        "<mujoco>"
                        "<compiler angle='radian'/>"
                        "<option gravity='0 0 -9.81'/>"
                        "<worldbody>"
                        "<geom type='plane' size='5 5 0.1'/>"
                        "<body name='b0' pos='0 0 1.5200671135705754'>"
                        "<freejoint name='f'/>"
                        "<geom type='capsule' fromto='0 0 0 0.053 -0.093 -0.416' size='0.039' density='4774.8'/>"
                        "<body name='b1' pos='0.012 -0.073 -0.245'>"
                        "<joint name='j1' type='hinge' axis='0 0 1' />"
                        "<geom type='capsule' fromto='0 0 0 -0.052 0.041 -0.179' size='0.021' density='546.9'/>"
                        "<body name='b2' pos='0.063 -0.017 -0.187'>"
                        "<joint name='j2' type='slide' axis='0 0 1' damping='0.1'/>"
                        "<geom type='capsule' fromto='0 0 0 -0.040 -0.057 -0.419' size='0.020' density='176.7'/>"
                        "</body>"
                        "</body>"
                        "<body name='b3' pos='0.096 0.089 -0.201'>"
                        "<joint name='j3' type='hinge' axis='0.6 0.8 0' stiffness='5'/>"
                        "<geom type='capsule' fromto='0 0 0 -0.029 0.012 -0.129' size='0.028' density='3741.8'/>"
                        "</body>"
                        "</body>"
                        "</worldbody>"
                        "</mujoco>");
    cal_test_outcome o = cal_test_run_well("sim flat.xml --time 2 --json");
    assert_true(fabs(cal_test_number_after(o.out, "energy_balance")) < 1e-2);
    cal_test_release(&o);
#else
    skip();
#endif
}

// A leg whose knee begins beyond its range, and a gripper whose two coupled fingers are at their stops: they are held where they are, and
// nothing lifts what hangs on them.
static void what_begins_at_stops_is_held_there(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_EXPAT
    cal_test_write_file("leg.xml",
                        "<mujoco><compiler angle='radian'/><worldbody><geom type='plane' size='5 5 .1'/>"
                        "<body pos='0 0 .6'><freejoint/><geom type='capsule' fromto='0 0 0 0 0 -.3' size='.05'/>"
                        "<body pos='0 0 -.3'><joint type='hinge' axis='0 1 0' range='0.5 1'/>"
                        "<geom type='capsule' fromto='0 0 0 .2 0 -.2' size='.04'/></body></body>"
                        "</worldbody></mujoco>");
    cal_test_write_file("gripper.xml",
                        "<mujoco><compiler angle='radian'/><option gravity='0 -3 -9'/><worldbody>"
                        "<geom type='plane' size='5 5 .1'/>"
                        "<body pos='0 0 .5'><joint type='hinge' axis='1 0 0' damping='1'/>"
                        "<geom type='box' size='.05 .05 .2'/>"
                        "<body pos='0 .01 -.25'><joint name='a' type='slide' axis='0 1 0' range='0 .04'/>"
                        "<geom type='box' size='.01 .005 .03'/></body>"
                        "<body pos='0 -.01 -.25'><joint name='b' type='slide' axis='0 -1 0' range='0 .04'/>"
                        "<geom type='box' size='.01 .005 .03'/></body></body></worldbody>"
                        "<equality><joint joint1='a' joint2='b'/></equality></mujoco>");
    static const char* const runs[] = {"sim leg.xml --time 2 --json", "sim gripper.xml --time 1 --json",
                                       "sim gripper.xml --time 1 --disable contact --json"};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_test_outcome o = cal_test_run_well(runs[i]);
        assert_true(fabs(cal_test_number_after(o.out, "energy_balance")) < 1e-2);
        cal_test_release(&o);
    }
#else
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_begins_at_stops_is_held_there),
        cmocka_unit_test(what_slides_and_sticks_stays_above_the_floor),
        cmocka_unit_test(reports_what_happened),
        cmocka_unit_test(writes_events_in_order),
        cmocka_unit_test(same_hash_under_forced_rollbacks),
        cmocka_unit_test(names_every_mistake),
        cmocka_unit_test(benchmark_runs),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
