// The command as a user or a script meets it: exit statuses, the one line of a complaint, JSON, CSV, plots, help.
// CALDER_COMMAND names the executable.
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef CALDER_HAVE_JANSSON
#include <jansson.h>
#endif

typedef struct outcome {
    int status; // exit status; -1 when a signal ended it
    char* out;
    char* err;
} outcome;

static char folder[] = "/tmp/calder-test-XXXXXX";

static char* read_file(const char* name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE* file = fopen(path, "rb");
    if (!file) fail_msg("'%s' was not written", name);
    char* text = NULL;
    size_t size = 0, capacity = 0, count = 0;
    do {
        size += count;
        capacity = size + 65536;
        text = realloc(text, capacity);
        assert_non_null(text);
    } while ((count = fread(text + size, 1, capacity - size - 1, file)) > 0);
    text[size] = '\0';
    fclose(file);
    return text;
}

#ifdef CALDER_HAVE_JANSSON
static void write_file(const char* name, const char* text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE* file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}
#endif

// Runs `calder ARGUMENTS` in the test's folder; before goes in front of it.
static outcome run_after(const char* before, const char* arguments) {
    char line[2048];
    snprintf(line, sizeof line, "cd %s && %s \"$CALDER_COMMAND\" %s >out 2>err", folder, before, arguments);
    int status = system(line);
    return (outcome){WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file("out"), read_file("err")};
}

static outcome run(const char* arguments) { return run_after("", arguments); }

static void release(outcome* o) {
    free(o->out);
    free(o->err);
}

static outcome run_well(const char* arguments) {
    outcome o = run(arguments);
    if (o.status != 0) fail_msg("calder %s: exit status %d: %s", arguments, o.status, o.err);
    return o;
}

static int count_lines(const char* text) {
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

// A wrong call or input: status 2, nothing on standard output, one line that begins with "calder: " and has the words.
static void expect_mistake(const char* arguments, const char* words) {
    outcome o = run(arguments);
    if (o.status != 2) fail_msg("calder %s: exit status %d instead of 2: %s", arguments, o.status, o.err);
    if (o.out[0]) fail_msg("calder %s: wrote to standard output", arguments);
    if (strncmp(o.err, "calder: ", 8) != 0 || count_lines(o.err) != 1)
        fail_msg("calder %s: not one line: %s", arguments, o.err);
    if (!strstr(o.err, words)) fail_msg("calder %s: '%s' is missing in: %s", arguments, words, o.err);
    release(&o);
}

// One JSON object on one line, and nothing else; keys are separated by spaces.
static void expect_json(const char* arguments, const char* keys) {
    outcome o = run_well(arguments);
    assert_int_equal(count_lines(o.out), 1);
#ifdef CALDER_HAVE_JANSSON
    json_error_t error;
    json_t* root = json_loads(o.out, JSON_REJECT_DUPLICATES, &error);
    if (!root || !json_is_object(root)) fail_msg("calder %s: %s", arguments, error.text);
    json_decref(root);
#endif
    char list[512], quoted[64];
    snprintf(list, sizeof list, "%s", keys);
    for (char* key = strtok(list, " "); key; key = strtok(NULL, " ")) {
        snprintf(quoted, sizeof quoted, "\"%s\":", key);
        if (!strstr(o.out, quoted)) fail_msg("calder %s: no key '%s'", arguments, key);
    }
    release(&o);
}

static double number_after(const char* text, const char* key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char* found = strstr(text, quoted);
    if (!found) fail_msg("no key '%s'", key);
    return found ? strtod(found + strlen(quoted), NULL) : 0;
}

static void helps_and_ends_with_an_example(void** unused) {
    (void)unused;
    const char* const calls[] = {"",
                                 "help",
                                 "--help",
                                 "help sim",
                                 "sim --help",
                                 "help models",
                                 "info --help",
                                 "eval --help",
                                 "help bench forward",
                                 "bench --help",
                                 "bench forward --help",
                                 "bench solvers --help",
                                 "sim chain --time x --help"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        outcome o = run_well(calls[i]);
        const char* example = strstr(o.out, "\nexample:\n  calder ");
        if (!example || count_lines(example) != 3) fail_msg("calder %s: does not end with an example", calls[i]);
        assert_string_equal(o.err, "");
        release(&o);
    }
}

static void names_every_mistake(void** unused) {
    (void)unused;
    const char* const mistakes[][2] = {
        {"plan chain", "sim, info, eval, bench"},
        {"smi chain", "did you mean 'sim'"},
        {"sim", "needs MODEL"},
        {"sim chain extra", "'extra'"},
        {"sim chain --tiem 3", "did you mean --time"},
        {"sim chain --time soon", "--time 'soon' is not a number; allowed: a number from 0"},
        {"sim chain --time nan", "--time 'nan'"},
        {"sim chain --time=-1", "out of range"},
        {"sim chain --time", "--time needs a value"},
        {"sim chain --solver magic", "allowed: gear"},
        {"sim chain --json=yes", "--json takes no value"},
        {"sim chain --lanes 3", "--lanes '3'"},
        {"sim chain --machine threads:2", "only 'serial'"},
        {"sim robot.xml", "does not read model files yet"},
        {"sim robot.urdf", "does not read model files yet"},
        {"sim nonsense:n=3", "nonsense"},
        {"sim chain:n=-3", "n"},
        {"sim chain --out nowhere/run.csv", "cannot write 'nowhere/run.csv'"},
        {"sim chain --plot nowhere/run.svg", "cannot write 'nowhere/run.svg'"},
        {"sim chain --out both --plot both", "'both'"},
        {"sim chain --batch 4 --solver gear", "allowed: rk4, euler"},
        {"sim chain --batch 4 --out run.csv", "--batch"},
        {"eval chain", "--what"},
        {"eval chain --what pose --state nowhere.json", "nowhere.json"},
        {"bench", "forward"},
        {"bench nonsense", "'nonsense'"},
        {"bench solvers --session E", "allowed: A, B, C, D, all"},
        {"info chain --batch 3", "no option '--batch'"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) expect_mistake(mistakes[i][0], mistakes[i][1]);
}

static void rejects_wrong_state_files(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_JANSSON
    const char* const mistakes[][2] = {
        {"{\"q\": [1]}", "'q' has 1 numbers, but the model needs 3"},
        {"{\"v\": [1, 2, \"x\"]}", "'v'[2]"},
        {"{\"speed\": [1, 2, 3]}", "unknown key 'speed'"},
        {"{\"q\": [1, 2, NaN]}", "line 1"},
        {"{\"q\": [1, 2, 1e999]}", "line 1"},
        {"{\"q\": [1, 2", "line 1"},
        {"{\"time\": \"now\"}", "'time'"},
        {"{\"q\": 3}", "array of 3"},
        {"[1, 2]", "object"},
        {"", "state.json"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        write_file("state.json", mistakes[i][0]);
        expect_mistake("eval chain:n=3 --what forward --state state.json", mistakes[i][1]);
    }
#else
    expect_mistake("eval chain:n=3 --what forward --state state.json", "no jansson");
#endif
}

static void answers_scripts_in_json(void** unused) {
    (void)unused;
    expect_json("sim chain:n=3 --time 0.5 --json",
                "model joints dof algorithm solver machine processors lanes tol time steps rejected evaluations "
                "evaluations_per_second wall_s realtime_factor energy_start energy_end energy_drift state_hash");
    expect_json("sim chain:n=3 --time 0.1 --batch 9 --json", "batch lanes instance_steps_per_second state_hash");
    expect_json("info stickman --json", "bodies joints dof depth mass actuators joints_by_kind tree name parent kind");
    expect_json("eval stickman --what forward --json", "time q v tau qdd");
    expect_json("eval stickman --what inverse --json", "time q v qdd tau");
    expect_json("eval stickman --what mass --json", "time q v tau mass");
    expect_json("eval stickman --what energy --json", "time q v tau kinetic potential momentum");
    expect_json("eval stickman --what pose --json", "time q v tau pose");
    expect_json("bench forward chain:n=3 --time-limit 0.02 --json",
                "processor compiler rows engine model joints batch lanes us_per_call ns_per_joint");
    expect_json("bench forward chain:n=3 --batch 16 --time-limit 0.02 --json", "rows us_per_call ns_per_joint");
}

static void summarises_for_people(void** unused) {
    (void)unused;
    outcome o = run_well("sim chain:n=3 --time 0.5");
    const char* const words[] = {"3 joints",           "gear",         "× real time", "rejected",
                                 "a simulated second", "energy drift", "state hash"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strstr(o.out, words[i])) fail_msg("no '%s' in the summary: %s", words[i], o.out);
    }
    assert_string_equal(o.err, "");
    release(&o);
}

// A row at the start, one a frame, and one at the end; the header names each number of each row.
static void records_frames_with_named_columns(void** unused) {
    (void)unused;
    outcome o = run_well("sim stickman --time 0.55 --fps 10 --out run.csv");
    release(&o);
    char* table = read_file("run.csv");
    assert_int_equal(count_lines(table), 1 + 7);
    const char* const names[] = {"time,", ".x,", ".qw,", ".wz,", "energy_kinetic,energy_potential\n"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char* found = strstr(table, names[i]);
        if (!found || found > strchr(table, '\n')) fail_msg("no column '%s'", names[i]);
    }
    int header_commas = 0, row_commas = 0;
    const char* p = table;
    for (; *p != '\n'; p++) header_commas += *p == ',';
    const char* last = p + 1;
    for (p++; *p; p++) {
        if (*p == ',') row_commas++;
        if (*p == '\n' && p[1]) last = p + 1;
    }
    assert_int_equal(row_commas, 7 * header_commas);
    assert_true(strtod(last, NULL) == 0.55);
    free(table);
}

static void draws_the_energy(void** unused) {
    (void)unused;
    outcome o = run_well("sim chain:n=3 --time 1 --plot run.svg");
    release(&o);
    char* picture = read_file("run.svg");
    assert_memory_equal(picture, "<svg ", 5);
    const char* const words[] = {"kinetic", "potential", "total", "prefers-color-scheme:dark", "</svg>\n"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) assert_non_null(strstr(picture, words[i]));
    assert_null(strstr(picture, "nan"));
    free(picture);
}

static void ends_in_the_same_state_with_all_lanes(void** unused) {
    (void)unused;
    char first[17] = "";
    for (int lanes = 1; lanes <= 8; lanes *= 2) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "sim mobile:s=2,l=3,o=5 --time 1 --lanes %d --json", lanes);
        outcome o = run_well(arguments);
        const char* hash = strstr(o.out, "\"state_hash\": \"");
        assert_non_null(hash);
        hash += strlen("\"state_hash\": \"");
        assert_int_equal(strspn(hash, "0123456789abcdef"), 16);
        if (lanes == 1) memcpy(first, hash, 16);
        assert_memory_equal(hash, first, 16);
        release(&o);
    }
}

// What eval forward answers, eval inverse takes back.
static void undoes_forward_by_inverse(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_JANSSON
    write_file("forward.json", "{\"time\": 2, \"q\": [0.3, -0.2, 0.9], \"v\": [1, 2, 3], \"tau\": [0.5, 0.25, -1]}");
    outcome o = run_well("eval chain:n=3 --what forward --state forward.json --json");
    json_t* forward = json_loads(o.out, 0, NULL);
    release(&o);
    assert_non_null(forward);
    assert_true(json_number_value(json_object_get(forward, "time")) == 2);
    json_t* state = json_pack("{s:O, s:O, s:O}", "q", json_object_get(forward, "q"), "v", json_object_get(forward, "v"),
                              "qdd", json_object_get(forward, "qdd"));
    char* text = json_dumps(state, JSON_REAL_PRECISION(17));
    write_file("inverse.json", text);
    free(text);
    o = run_well("eval chain:n=3 --what inverse --state inverse.json --json");
    json_t* inverse = json_loads(o.out, 0, NULL);
    release(&o);
    const double tau[] = {0.5, 0.25, -1};
    for (size_t i = 0; i < 3; i++) {
        double answer = json_number_value(json_array_get(json_object_get(inverse, "tau"), i));
        cal_test_expect_below(answer > tau[i] ? answer - tau[i] : tau[i] - answer, 1e-11, "tau", "chain:n=3");
    }
    json_decref(inverse);
    json_decref(state);
    json_decref(forward);
#else
    skip();
#endif
}

static void draws_small_trees_and_cuts_large_ones(void** unused) {
    (void)unused;
    outcome o = run_well("info chain:n=3");
    assert_non_null(strstr(o.out, "└─ "));
    assert_null(strstr(o.out, " more\n"));
    release(&o);
    o = run_well("info chain:n=1000");
    assert_non_null(strstr(o.out, "… and 960 more\n"));
    release(&o);
}

// Ctrl-C: the frame is finished, the table ends with a whole row, and the status says that the time was not reached.
static void keeps_what_there_is_when_interrupted(void** unused) {
    (void)unused;
    outcome o = run_after("timeout --preserve-status -s INT 0.4", "sim chain:n=20 --time 1e6 --out cut.csv --json");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "calder: interrupted at"));
    assert_true(number_after(o.out, "time") < 1e6);
    char* table = read_file("cut.csv");
    int lines = count_lines(table);
    assert_int_equal(lines, 1 + (int)number_after(o.out, "frames"));
    assert_true(table[strlen(table) - 1] == '\n');
    free(table);
    release(&o);
}

static void tells_when_output_is_lost(void** unused) {
    (void)unused;
    if (access("/dev/full", W_OK) != 0) skip();
    expect_mistake("sim chain:n=3 --time 1 --out /dev/full", "/dev/full");
    outcome o = run("sim chain:n=3 --time 1 --plot /dev/full");
    assert_int_equal(o.status, 1);
    assert_int_equal(count_lines(o.err), 1);
    release(&o);
    o = run_after("sh -c 'exec \"$0\" \"$@\" >/dev/full'", "info chain:n=3");
    assert_int_equal(o.status, 1);
    assert_int_equal(count_lines(o.err), 1);
    release(&o);
}

static int create_folder(void** unused) {
    (void)unused;
    if (!getenv("CALDER_COMMAND")) {
        fprintf(stderr, "CALDER_COMMAND is not set\n");
        return -1;
    }
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void** unused) {
    (void)unused;
    char line[64];
    snprintf(line, sizeof line, "rm -r %s", folder);
    return system(line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helps_and_ends_with_an_example),
        cmocka_unit_test(names_every_mistake),
        cmocka_unit_test(rejects_wrong_state_files),
        cmocka_unit_test(answers_scripts_in_json),
        cmocka_unit_test(summarises_for_people),
        cmocka_unit_test(records_frames_with_named_columns),
        cmocka_unit_test(draws_the_energy),
        cmocka_unit_test(ends_in_the_same_state_with_all_lanes),
        cmocka_unit_test(undoes_forward_by_inverse),
        cmocka_unit_test(draws_small_trees_and_cuts_large_ones),
        cmocka_unit_test(keeps_what_there_is_when_interrupted),
        cmocka_unit_test(tells_when_output_is_lost),
    };
    return cmocka_run_group_tests(tests, create_folder, remove_folder);
}
