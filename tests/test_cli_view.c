// The viewer, recordings and reports from the command line: what they write, and what they say when they cannot.
#include "command.h"
#include "place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calder/calder_view.h"

static void test_wrong_calls_of_view(void** unused) {
    (void)unused;
    cal_test_expect_mistake("view pendulum chain", "chain");
    if (!cal_viewer_available()) {
        cal_test_expect_mistake("view pendulum", "left out of this build");
        return;
    }
    if (!cal_viewer_has_page()) {
        cal_test_expect_mistake("view pendulum", "page");
        return;
    }
    cal_test_expect_mistake("view nosuch", "nosuch");
    cal_test_expect_mistake("view model.xml", "model.xml");
    cal_test_expect_mistake("view pendulum --port 70000", "port");
    cal_test_expect_mistake("view --machine mpi", "needs a MODEL");
    cal_test_expect_mistake("view pendulum --solver gearbox", "gearbox");
    cal_test_expect_mistake("view chain --algorithm armstrong", "armstrong");
    cal_test_expect_mistake("view mobile:s=99", "s");
    cal_test_expect_mistake("view fivebar --stabilize glue", "glue");
    cal_test_expect_mistake("view pendulum --key nosuch", "nosuch");
    cal_test_expect_mistake("view pendulum --disable friction", "friction");
    cal_test_expect_mistake("view atoms:n=five", "five");
    cal_test_expect_mistake("view atoms --loop spiral", "spiral");
    cal_test_expect_mistake("view --json stack:kind=heap", "heap");
    cal_test_expect_mistake("view atoms --placement p.json", "placement");
}

static void test_recordings_are_written(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("sim chain:n=3 --time 0.5 --fps 60 --out run.csv --out run.glb");
    assert_non_null(strstr(o.out, "run.csv, 31 frames"));
    assert_non_null(strstr(o.out, "run.glb, 31 frames"));
    cal_test_release(&o);
    char* table = cal_test_read_file("run.csv");
    assert_int_equal(cal_test_count_lines(table), 32);
    free(table);
    char* model = cal_test_read_file("run.glb");
    assert_memory_equal(model, "glTF", 4);
    free(model);
    if (cal_viewer_has_page()) {
        o = cal_test_run_well("sim chain:n=3 --time 0.5 --out run.html");
        cal_test_release(&o);
        char* page = cal_test_read_file("run.html");
        // Sixty frames a second are written as thirty, and the last one.
        const char* frames = strstr(page, "id=\"recorded-frames\">\n");
        assert_non_null(frames);
        int count = 0;
        for (const char* line = strchr(frames, '\n') + 1; *line && *line != '<'; line = strchr(line, '\n') + 1) count++;
        assert_int_equal(count, 16);
        assert_non_null(strstr(page, "\"model\":\"chain:n=3\""));
        assert_null(strstr(page, "<!--recording-->"));
        free(page);
    } else {
        cal_test_expect_mistake("sim chain:n=3 --out run.html", "page");
    }
}

// A model's name stands inside the page's script: it must not end it.
static void test_names_cannot_break_out_of_the_page(void** unused) {
    (void)unused;
    if (!cal_viewer_has_page()) skip();
    cal_test_expect_mistake("sim '</script><script>alert(1)</script>' --out run.html", "script");
}

static void test_wrong_recordings(void** unused) {
    (void)unused;
    cal_test_expect_mistake("sim pendulum --out a.glb --out b.glb", "one file of a kind");
    cal_test_expect_mistake("sim pendulum --out nowhere/a.glb", "nowhere/a.glb");
    cal_test_expect_mistake("sim pendulum --out nowhere/a.csv", "nowhere/a.csv");
    cal_test_expect_mistake("sim pendulum --batch 2 --plot a.svg", "--batch");
    cal_test_expect_mistake("sim pendulum --out a.csv --plot a.csv", "both name");
    cal_test_expect_mistake("sim pendulum --out a.html --checkpoint a.html", "both name");
    cal_test_expect_mistake("sim pendulum --checkpoint a.bin --save ./a.bin", "both name");
    cal_test_write_file("one.csv", "1");
    char link[CAL_TEST_PATH];
    cal_test_path(link, "other.csv");
    assert_int_equal(symlink("one.csv", link), 0);
    cal_test_expect_mistake("sim atoms:n=5 --out one.csv --events other.csv", "both name");
    cal_test_write_file("own.xml", "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>");
    cal_test_expect_mistake("sim own.xml --save ./own.xml", "over the model");
    cal_test_expect_mistake("plan own.xml --processors 1,2 --save own.xml", "over the model");
    char command[1024] = "sim pendulum";
    for (int i = 0; i < 65; i++) strcat(command, " --out a.csv"); // NOLINT: 13 + 65 · 12 bytes
    cal_test_expect_mistake(command, "more than 64");
}

static void test_reports(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_JANSSON
    cal_test_write_file(
        "solvers.json",
        "{\"rows\": [{\"session\": \"A\", \"case\": \"2\", \"model\": \"m\", \"solvers\": {\"gear\": {\"stable\": "
        "true, "
        "\"evaluations_per_second\": 15.5, \"paper\": 15.4, \"reference\": 13}}}, {\"session\": \"A\", \"case\": "
        "\"4\", \"model\": \"<b>\", \"solvers\": {\"gear\": {\"stable\": false, \"paper\": 34.1}}}]}\n");
    cal_test_write_file("lines.jsonl", "{\"model\": \"a\", \"wall_s\": 1.5}\n{\"model\": \"b\", \"wall_s\": 2.5}\n");
    cal_test_write_file("world.json", "{\"command\": \"bench world\", \"figure6\": [{\"scene\": \"atoms\"}]}\n");
    cal_test_outcome o = cal_test_run_well("report solvers.json lines.jsonl world.json --out report.html");
    cal_test_release(&o);
    char* page = cal_test_read_file("report.html");
    const char* const words[] = {"Session A", "15.5", "paper 15.4", "reference 13", "unstable",     "paper 34.1",
                                 "&lt;b&gt;", "<svg", "wall s",     "2.5",          "<h2>Timewarp", "<h3>figure6"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(page, words[i])) fail_msg("the report has no '%s'", words[i]);
    assert_null(strstr(page, "<b>"));
    free(page);
    cal_test_expect_mistake("report nowhere.json", "nowhere.json");
    cal_test_write_file("bad.json", "{\"rows\": [");
    cal_test_expect_mistake("report bad.json --out never.html", "bad.json");
    cal_test_write_file("bad.json", "[1, 2]");
    cal_test_expect_mistake("report bad.json --out never.html", "bad.json");
    cal_test_expect_mistake("report solvers.json --out nowhere/report.html", "nowhere/report.html");
#else
    cal_test_expect_mistake("report x.json", "jansson");
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_calls_of_view),
        cmocka_unit_test(test_recordings_are_written),
        cmocka_unit_test(test_names_cannot_break_out_of_the_page),
        cmocka_unit_test(test_wrong_recordings),
        cmocka_unit_test(test_reports),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
