// Constraints and randomized simulation as a user or a script meets them.
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void names_every_mistake(void** unused) {
    (void)unused;
    const char* const mistakes[][2] = {
        {"sim fivebar --stabilize glue", "projection, baumgarte[:K], literal[:K], none"},
        {"sim fivebar --stabilize baumgarte:", "--stabilize 'baumgarte:'"},
        {"sim fivebar --stabilize baumgarte:-1", "--stabilize 'baumgarte:-1'"},
        {"sim fivebar --stabilize projection:3", "--stabilize 'projection:3'"},
        {"sim fivebar --at now", "TIME:ACTION:CONSTRAINT"},
        {"sim fivebar --at 1:cut:hands", "connect, catch, disconnect"},
        {"sim fivebar --at 1:disconnect:feet", "no constraint 'feet'"},
        {"sim fivebar --at 1:disconnect:hands,", "TIME:ACTION:CONSTRAINT"},
        {"sim fivebar --at 1:disconnect:hands --at 1", "TIME:ACTION:CONSTRAINT"},
        {"sim fivebar --batch 4 --save x.json", "--save is for a model"},
        {"sim chain --rps 4", "no constraints"},
        {"sim rail --rps 4 --stabilize projection", "literal, baumgarte, none"},
        {"sim rail --rps 4 --method magic", "method 'magic'"},
        {"sim rail --rps 4 --checkpoint x.cal", "'rail' is a randomized simulation"},
        {"sim rail --rps 4 --batch 4", "--batch is for"},
        {"sim fivebar:start=1.5", "lower=1"},
        {"sim cart:pin=2", "pin=2"},
        {"sim fivebar --constraint-form dense", "lagrange, minimal"},
        {"sim rail --rps 4 --constraint-form minimal", "--constraint-form is for"},
        {"sim chain --batch 4 --check", "--check is for a model"},
        {"eval fivebar --what mass --constraint-form minimal", "--what forward"},
        {"eval fivebar --what inverse-derivatives", "--disable equality"},
        {"eval chain --what forward-derivatives --machine threads", "one core"},
        {"eval chain --what inverse-derivatives --lanes 4", "one core"},
        {"eval fivebar --what forward-derivatives", "--disable equality"},
        {"bench rps --figure 2", "--figure"},
        {"bench rps --figure 5 --sensitivity", "--figure 4 or 6"},
        {"bench rps --figure 6 --model rail", "--model of a figure"},
        {"bench rps --processors many", "--processors 'many'"},
        {"bench rps --figure 5 --processors 5", "needs one processor"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        cal_test_expect_mistake(mistakes[i][0], mistakes[i][1]);
}

static void says_what_constraints_did(void** unused) {
    (void)unused;
    cal_test_expect_json("sim bricard --time 0.5 --json",
                         "constraint_max constraint_rms rank redundant_rows constraint_rows energy_drift state_hash");
    cal_test_expect_json("sim fivebar --batch 4 --solver gear --machine threads:2 --time 0.1 --json",
                         "batch evaluations energy_work energy_loss energy_closing energy_balance energy_justified");
    cal_test_outcome o = cal_test_run_well("sim bricard --time 0.5 --tol 1e-5 --json");
    assert_true(cal_test_number_after(o.out, "rank") == 4.0);
    assert_true(cal_test_number_after(o.out, "redundant_rows") == 1.0);
    assert_true(cal_test_number_after(o.out, "constraint_max") < 1e-12);
    cal_test_release(&o);
    o = cal_test_run_well("info governor");
    assert_non_null(strstr(o.out, "tie_a: rows, 2 rows, slider and strut_a"));
    cal_test_release(&o);
    cal_test_expect_json("info rail --json", "constraints nonholonomic connected");
    cal_test_expect_json("sim rail --rps 3 --time 0.1 --json", "residual polls poll_share constraint_rms state_hash");
    cal_test_expect_json("bench rps --time 0.05 --seeds 2 --processors 1,2 --json", "rows gain accuracy median");
    cal_test_expect_json("bench rps --figure 5 --time 0.02 --seeds 1 --processors 1,2 --json", "reached step seconds");
    cal_test_expect_json("bench rps --sensitivity --time 0.02 --seeds 1 --processors 2 --json",
                         "radius interval accuracy");
    cal_test_expect_json("bench rps --cost --model rail --time 0.02 --seeds 1 --processors 2 --json",
                         "alone_s step_s ratio poll_share wait_share");
    // More loops than assembly closes at once are closed, too.
    cal_test_expect_json("eval fourbar:n=100 --what forward --json", "qdd");
    cal_test_expect_json("eval fivebar --what forward-derivatives --disable equality --json", "by_tau");
    cal_test_expect_json("eval fivebar --what inverse-derivatives --disable equality --json", "by_qdd");
    // A gain that the step cannot take is warned about, with the limit; of several methods that of the weakest.
    o = cal_test_run_well("sim rail --rps 2 --method rk4,ab2 --stabilize literal:1200 --time 0.01");
    assert_non_null(strstr(o.err, ", 1000;"));
    cal_test_release(&o);
    o = cal_test_run_well("sim rail --solver rk4 --step 0.01 --stabilize baumgarte:300 --time 0.01");
    assert_non_null(strstr(o.err, "278.5"));
    cal_test_release(&o);
}

// What one evaluation says in the form without multipliers: S spans what the loop leaves, and q̈ is the other form's.
static void evaluates_both_forms(void** unused) {
    (void)unused;
    cal_test_expect_json("eval fivebar --what forward --constraint-form minimal --json",
                         "qdd freedom basis minimal_mass minimal_v minimal_a");
    cal_test_outcome with = cal_test_run_well("eval fivebar --what forward --constraint-form lagrange --json"),
                     without = cal_test_run_well("eval fivebar --what forward --constraint-form minimal --json");
    assert_true(cal_test_number_after(without.out, "freedom") == 2.0);
    const double a = strtod(strstr(with.out, "\"qdd\": [") + 8, NULL),
                 b = strtod(strstr(without.out, "\"qdd\": [") + 8, NULL);
    cal_test_expect_below(fabs(a - b), 1e-9 * fabs(a), "acceleration", "fivebar");
    assert_true(fabs(a) > 1.0);
    cal_test_release(&with), cal_test_release(&without);
    with = cal_test_run_well("sim bricard --time 0.5 --tol 1e-5 --constraint-form minimal --json");
    assert_non_null(strstr(with.out, "\"constraint_form\": \"minimal\""));
    assert_true(cal_test_number_after(with.out, "constraint_max") < 1e-12);
    cal_test_release(&with);
}

// A start that is off the constraints, and one that nothing can satisfy.
static void says_where_a_start_is_off(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_EXPAT
    static const char head[] = "<mujoco><worldbody><body name='a'><joint name='j' axis='0 1 0'/><geom size='0.1' "
                               "pos='1 0 0'/></body></worldbody><equality>",
                      one[] = "<joint name='one' joint1='j' polycoef='0.1 0 0 0 0'/>",
                      two[] = "<joint name='two' joint1='j' polycoef='0.3 0 0 0 0'/>", tail[] = "</equality></mujoco>";
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s", head, one, tail);
    cal_test_write_file("off.xml", text);
    snprintf(text, sizeof text, "%s%s%s%s", head, one, two, tail);
    cal_test_write_file("contradiction.xml", text);
    cal_test_outcome mended = cal_test_run_well("sim off.xml --time 0.1 --json");
    assert_non_null(strstr(mended.err, "by 0.1 at 'one'"));
    assert_non_null(strstr(mended.err, "was moved onto them"));
    assert_true(cal_test_number_after(mended.out, "constraint_max") < 1e-12);
    cal_test_release(&mended);
    cal_test_expect_mistake("sim contradiction.xml --time 0.1 --project", "contradicts others");
    cal_test_expect_mistake("sim contradiction.xml --time 0.1 --rps 3 --project", "contradicts others");
    cal_test_outcome o = cal_test_run_well("sim off.xml --time 0.1 --project --json");
    assert_true(cal_test_number_after(o.out, "constraint_max") < 1e-12);
    cal_test_release(&o);
    o = cal_test_run_well("sim off.xml --time 0.1 --rps 3");
    assert_non_null(strstr(o.err, "off the constraints: by 0.1 at 'one'"));
    cal_test_release(&o);
    o = cal_test_run_well("sim off.xml --time 0.1 --rps 3 --project --json");
    assert_string_equal(o.err, "");
    assert_true(cal_test_number_after(o.out, "constraint_max") < 1e-2);
    cal_test_release(&o);
#else
    skip();
#endif
}

// Without its last loop the mechanism moves otherwise; with it again it is caught.
static void events_happen_at_their_times(void** unused) {
    (void)unused;
    cal_test_outcome whole = cal_test_run_well("sim fourbar --time 0.2 --json"),
                     open = cal_test_run_well("sim fourbar --time 0.2 --at 0.1:disconnect:B2 --json"),
                     caught =
                         cal_test_run_well("sim fourbar --time 0.2 --at 0.1:disconnect:B2,0.10001:catch:B2 --json");
    assert_true(cal_test_number_after(whole.out, "constraint_rows") == 4.0);
    assert_true(cal_test_number_after(open.out, "constraint_rows") == 2.0);
    assert_true(cal_test_number_after(caught.out, "constraint_rows") == 4.0);
    // Given again, it is more of them.
    cal_test_outcome again =
        cal_test_run_well("sim fourbar --time 0.2 --at 0.10001:catch:B2 --at 0.1:disconnect:B2 --json");
    const char *caught_hash = strstr(caught.out, "\"state_hash\""), *again_hash = strstr(again.out, "\"state_hash\"");
    assert_true(caught_hash && again_hash && strncmp(caught_hash, again_hash, 32) == 0);
    cal_test_release(&whole), cal_test_release(&open), cal_test_release(&caught), cal_test_release(&again);
    // Too far apart to be connected again.
    cal_test_outcome o = cal_test_run("sim fourbar --time 1 --at 0.1:disconnect:B2,0.9:connect:B2");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "cannot be connected"));
    cal_test_release(&o);
    // Those that come too late are not passed over in silence.
    o = cal_test_run_well("sim fourbar --time 0.2 --at 0.1:disconnect:B2 --at 0.2:catch:B2,5:connect:B2 --json");
    assert_non_null(strstr(o.err, "1 of 3 events come after the end, 0.2 s; the first of them at 5 s"));
    cal_test_release(&o);
    // Resumed in between, it ends with the same bits.
    o = cal_test_run_well("sim fourbar --time 0.3 --at 0.1:disconnect:B2 --json");
    cal_test_outcome first = cal_test_run_well("sim fourbar --time 0.2 --at 0.1:disconnect:B2 --checkpoint c.cal"),
                     second = cal_test_run_well("sim fourbar --time 0.3 --at 0.1:disconnect:B2 --resume c.cal --json");
    const char *one = strstr(o.out, "\"state_hash\""), *two = strstr(second.out, "\"state_hash\"");
    assert_true(one && two && strncmp(one, two, 32) == 0);
    cal_test_release(&o), cal_test_release(&first), cal_test_release(&second);
}

// Every joint of a chain is moved: nothing is left to chance, and q is the sines that were asked for.
static void moves_as_many_joints_as_there_are(void** unused) {
    (void)unused;
    char call[1024] = "sim chain:n=8,start=0 --time 0.3 --save moved.json --json";
    for (int i = 0; i < 8; i++)
        snprintf(call + strlen(call), sizeof call - strlen(call), " --move joint%d:amplitude=0.%d,hertz=1", i, i + 1);
    cal_test_outcome o = cal_test_run_well(call);
    assert_true(cal_test_number_after(o.out, "constraint_rows") == 8.0);
    cal_test_release(&o);
    char* saved = cal_test_read_file("moved.json");
    const char* at = strchr(strstr(saved, "\"q\""), '[');
    for (int i = 0; i < 8; i++) {
        const double q = strtod(at + 1, (char**)&at), wanted = 0.1 * (i + 1) * sin(0.6 * 3.14159265358979323846);
        if (!(fabs(q - wanted) < 1e-12)) fail_msg("joint %d is at %.15g, and not at %.15g", i, q, wanted);
    }
    free(saved);
}

// Noise on a start that the user gave opens loops, which are closed again before the first step, as for one instance.
static void a_batch_closes_the_loops_of_its_start(void** unused) {
    (void)unused;
    cal_test_write_file("pose.json", "{\"q\": [0.3, 0, 0, 0]}");
    cal_test_outcome o = cal_test_run_well("sim fivebar --batch 3 --start pose.json --spread 0.01 --time 0.1 --json");
    assert_true(cal_test_number_after(o.out, "failed") == 0.0);
    assert_true(fabs(cal_test_number_after(o.out, "energy_balance")) < 1e-9);
    cal_test_release(&o);
}

// Without noise a start that is off its constraints is moved onto them, as that of one instance is, and ends where that does.
static void a_batch_moves_its_start_onto_constraints(void** unused) {
    (void)unused;
    cal_test_outcome one = cal_test_run_well("sim chain:n=3 --move joint0:speed=1 --solver rk4 --time 0.1 --json");
    cal_test_outcome three =
        cal_test_run_well("sim chain:n=3 --move joint0:speed=1 --batch 3 --spread 0 --time 0.1 --json");
    assert_non_null(strstr(three.err, "was moved onto them"));
    const double energy = cal_test_number_after(one.out, "energy_end");
    assert_true(fabs(cal_test_number_after(three.out, "energy_end") - 3.0 * energy) < 1e-12 * fabs(energy));
    cal_test_release(&one);
    cal_test_release(&three);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_every_mistake),
        cmocka_unit_test(says_what_constraints_did),
        cmocka_unit_test(evaluates_both_forms),
        cmocka_unit_test(says_where_a_start_is_off),
        cmocka_unit_test(events_happen_at_their_times),
        cmocka_unit_test(moves_as_many_joints_as_there_are),
        cmocka_unit_test(a_batch_closes_the_loops_of_its_start),
        cmocka_unit_test(a_batch_moves_its_start_onto_constraints),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
