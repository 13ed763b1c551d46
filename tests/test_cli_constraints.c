// Constraints and randomized simulation as a user or a script meets them.
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <math.h>
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
        {"sim fivebar --batch 4", "constraints"},
        {"sim chain --rps 4", "no constraints"},
        {"sim rail --rps 4 --stabilize projection", "literal, baumgarte, none"},
        {"sim rail --rps 4 --method magic", "method 'magic'"},
        {"sim rail --rps 4 --out x.csv", "--rps goes with neither"},
        {"sim fivebar:start=1.5", "lower=1"},
        {"sim cart:pin=2", "pin=2"},
        {"bench rps --figure 3", "--figure"},
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
    cal_test_outcome o = cal_test_run_well("sim bricard --time 0.5 --json");
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
    // More loops than assembly closes at once are closed, too.
    cal_test_expect_json("eval fourbar:n=100 --what forward --json", "qdd");
    // A gain that the step cannot take is warned about, with the limit.
    o = cal_test_run_well("sim rail --solver rk4 --step 0.01 --stabilize baumgarte:300 --time 0.01");
    assert_non_null(strstr(o.err, "278.5"));
    cal_test_release(&o);
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
    cal_test_release(&whole), cal_test_release(&open), cal_test_release(&caught);
    // Too far apart to be connected again.
    cal_test_outcome o = cal_test_run("sim fourbar --time 1 --at 0.1:disconnect:B2,0.9:connect:B2");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "cannot be connected"));
    cal_test_release(&o);
    // Resumed in between, it ends with the same bits.
    o = cal_test_run_well("sim fourbar --time 0.3 --at 0.1:disconnect:B2 --json");
    cal_test_outcome first = cal_test_run_well("sim fourbar --time 0.2 --at 0.1:disconnect:B2 --checkpoint c.cal"),
                     second = cal_test_run_well("sim fourbar --time 0.3 --at 0.1:disconnect:B2 --resume c.cal --json");
    const char *one = strstr(o.out, "\"state_hash\""), *two = strstr(second.out, "\"state_hash\"");
    assert_true(one && two && strncmp(one, two, 32) == 0);
    cal_test_release(&o), cal_test_release(&first), cal_test_release(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_every_mistake),
        cmocka_unit_test(says_what_constraints_did),
        cmocka_unit_test(events_happen_at_their_times),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, cal_test_remove_folder);
}
