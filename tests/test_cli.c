// The command as a user or a script meets it: exit statuses, the one line of a complaint, JSON, CSV, plots, help.
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CALDER_HAVE_JANSSON
#include <jansson.h>
#endif

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
        cal_test_outcome o = cal_test_run_well(calls[i]);
        const char* example = strstr(o.out, "\nexample:\n  calder ");
        if (!example || cal_test_count_lines(example) != 3)
            fail_msg("calder %s: does not end with an example", calls[i]);
        assert_string_equal(o.err, "");
        cal_test_release(&o);
    }
}

static void names_every_mistake(void** unused) {
    (void)unused;
    const char* const mistakes[][2] = {
        {"paln", "sim, info, eval, plan, bench"},
        {"smi chain", "did you mean 'sim'"},
        {"sim", "needs MODEL"},
        {"sim chain extra", "'extra'"},
        {"sim chain --tiem 3", "did you mean --time"},
        {"sim chain --time soon", "--time 'soon' is not a number; allowed: a number from 0"},
        {"sim chain --time nan", "--time 'nan'"},
        {"sim chain --time=-1", "out of range"},
        {"sim chain --time", "--time needs a value"},
        {"sim chain --solver magic", "allowed: auto, gear"},
        {"sim chain --json=yes", "--json takes no value"},
        {"sim chain --lanes 3", "--lanes '3'"},
        {"sim chain --tol 1e-3 --json --tol=1e-6", "--tol is given twice, as '1e-3' and as '1e-6'"},
        {"bench forward --lanes 1 --lanes 2", "--lanes is given twice"},
#ifdef CALDER_HAVE_EXPAT
        {"sim robot.xml", "cannot open 'robot.xml'"},
        {"sim robot.urdf", "cannot open 'robot.urdf'"},
#else
        {"sim robot.xml", "made without expat"},
        {"sim robot.urdf", "made without expat"},
#endif
        {"sim nonsense:n=3", "nonsense"},
        {"sim chain:n=-3", "n"},
        {"sim chain --out nowhere/run.csv", "cannot write 'nowhere/run.csv'"},
        {"sim chain --plot nowhere/run.svg", "cannot write 'nowhere/run.svg'"},
        {"sim chain --out both --plot both", "'both'"},
        {"sim chain --batch 4 --at 1:connect:x", "--at is for a model"},
        {"sim chain --batch 4 --plot run.svg", "--plot is for a model"},
        {"sim chain --batch 4 --out run.csv --columns energy", "an ensemble has none"},
        {"eval chain", "--what"},
        {"eval chain --what pose --state nowhere.json", "nowhere.json"},
        {"bench", "forward"},
        {"bench nonsense", "'nonsense'"},
        {"bench solvers --session E", "allowed: A, B, C, D, all"},
        {"bench solvers --plot nowhere/plot.svg", "nowhere/plot.svg"}, // before it computes
        {"info chain --batch 3", "no option '--batch'"},
        {"sim avalanche --batch 4", "--batch is for a model; 'avalanche' is a scene"},
        {"sim chain --key home", "no keyframe 'home', and no other"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        cal_test_expect_mistake(mistakes[i][0], mistakes[i][1]);
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
        cal_test_write_file("state.json", mistakes[i][0]);
        cal_test_expect_mistake("eval chain:n=3 --what forward --state state.json", mistakes[i][1]);
    }
#else
    cal_test_expect_mistake("eval chain:n=3 --what forward --state state.json", "no jansson");
#endif
}

static void answers_scripts_in_json(void** unused) {
    (void)unused;
    cal_test_expect_json(
        "sim chain:n=3 --time 0.5 --json",
        "model joints dof algorithm solver machine processors lanes tol time steps rejected evaluations "
        "evaluations_per_second wall_s realtime_factor energy_start energy_end energy_work energy_loss energy_balance "
        "energy_drift state_hash");
    cal_test_expect_json("sim chain:n=3 --time 0.1 --batch 9 --json",
                         "batch lanes instance_steps_per_second state_hash");
    cal_test_expect_json("info stickman --json",
                         "bodies joints dof depth mass actuators joints_by_kind tree name parent kind");
    cal_test_expect_json("eval stickman --what forward --json", "time q v tau qdd");
    cal_test_expect_json("eval stickman --what inverse --json", "time q v qdd tau");
    cal_test_expect_json("eval stickman --what mass --json", "time q v tau mass");
    cal_test_expect_json("eval stickman --what energy --json", "time q v tau kinetic potential momentum");
    cal_test_expect_json("eval stickman --what pose --json", "time q v tau pose");
    cal_test_expect_json("bench forward chain:n=3 --time-limit 0.02 --json",
                         "command version processor cores compiler rows engine model joints batch "
                         "lanes us_per_call ns_per_joint");
    cal_test_expect_json("bench forward chain:n=3 --batch 16 --time-limit 0.02 --json",
                         "rows us_per_call ns_per_joint");
    cal_test_expect_json(
        "bench rounds chain:n=3 --time 0.5 --json",
        "command version processor cores compiler model joints algorithm solver machine tol time rounds "
        "us_per_round us_per_round_quietest us_per_look state_hash");
    cal_test_expect_mistake("bench rounds chain:n=3 --time 1e-9", "there are no rounds after the start");
}

static void summarises_for_people(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("sim chain:n=3 --time 0.5");
    const char* const words[] = {"3 joints",     "gear",           "× real time", "rejected", "per simulated second",
                                 "energy drift", "energy balance", "state hash"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strstr(o.out, words[i])) fail_msg("no '%s' in the summary: %s", words[i], o.out);
    }
    assert_string_equal(o.err, "");
    cal_test_release(&o);
}

// A row at the start, one a frame, and one at the end; the header names each number of each row.
static void records_frames_with_named_columns(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("sim stickman --time 0.55 --fps 10 --out run.csv");
    cal_test_release(&o);
    char* table = cal_test_read_file("run.csv");
    assert_int_equal(cal_test_count_lines(table), 1 + 7);
    const char* const names[] = {"time,", ".x,", ".qw,", ".wz,",
                                 "energy_kinetic,energy_potential,energy_work,energy_loss,energy_balance\n"};
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

// What was chosen, of every kind of run, by one writer.
static void records_chosen_columns(void** unused) {
    (void)unused;
    const struct {
        const char *call, *header;
        int rows;
    } runs[] = {
        {"sim chain:n=2 --time 0.1 --fps 10 --columns v,energy --out run.csv", ".v,", 2},
        {"sim chain:n=2 --time 0.1 --fps 10 --columns channels --out run.csv",
         ",kinetic,potential,total,work,loss,balance,", 2},
        {"sim chain:n=2 --time 0.1 --fps 10 --forces --out run.csv", ".fx,", 2},
        {"sim rail --rps 3 --time 0.1 --fps 10 --columns q,pose --out run.csv", ".qw,", 2},
        {"sim atoms:n=5 --time 0.1 --fps 10 --columns pose,energy --out run.csv",
         "energy_kinetic,energy_potential,energy_work,energy_loss,energy_balance\n", 2},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        cal_test_outcome o = cal_test_run_well(runs[i].call);
        cal_test_release(&o);
        char* table = cal_test_read_file("run.csv");
        const char* found = strstr(table, runs[i].header);
        if (!found || found > strchr(table, '\n')) fail_msg("%s: no column '%s'", runs[i].call, runs[i].header);
        assert_int_equal(cal_test_count_lines(table), 1 + runs[i].rows);
        free(table);
    }
    cal_test_expect_mistake("sim chain --columns q,w --out run.csv", "'w'");
    cal_test_expect_mistake("sim chain --columns q", "--out");
    cal_test_expect_mistake("sim chain --columns q --out run.glb", "--out");
    cal_test_expect_mistake("sim atoms:n=5 --columns q --out run.csv", "a world has none");
}

// A run that is saved and begun again from the file goes on as if it had not been cut, to the solver's tolerance.
// A batch has a row for each instance, with the numbers that this instance has by itself.
static void records_every_instance(void** unused) {
    (void)unused;
    cal_test_outcome o =
        cal_test_run_well("sim chain:n=2 --time 0.2 --fps 10 --solver rk4 --out one.csv --columns q,v");
    cal_test_release(&o);
    o = cal_test_run_well("sim chain:n=2 --time 0.2 --fps 10 --batch 3 --spread 0 --out three.csv --out three.html");
    cal_test_release(&o);
    char *one = cal_test_read_file("one.csv"), *three = cal_test_read_file("three.csv");
    assert_int_equal(cal_test_count_lines(one), 4);
    assert_int_equal(cal_test_count_lines(three), 10);
    const char *row = strchr(one, '\n') + 1, *of_many = strchr(three, '\n') + 1;
    assert_memory_equal(three, "time,instance,joint0.q,joint0.v,joint1.q,joint1.v\n", 50);
    for (int frame = 0; frame < 3; frame++, row = strchr(row, '\n') + 1) {
        const size_t time = strcspn(row, ","), rest = strcspn(row + time, "\n") + 1;
        for (int i = 0; i < 3; i++, of_many = strchr(of_many, '\n') + 1) {
            assert_memory_equal(of_many, row, time);
            assert_int_equal(of_many[time + 1] - '0', i);
            assert_memory_equal(of_many + time + 2, row + time, rest);
        }
    }
    assert_true(*of_many == '\0');
    free(one);
    free(three);
    char* page = cal_test_read_file("three.html");
    assert_non_null(strstr(page, "<html"));
    free(page);
}

// One seed, one noise: also where loops are closed again.
static void starts_by_seed(void** unused) {
    (void)unused;
    static const char* const models[] = {"chain:n=2", "fivebar"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        uint64_t hashes[3];
        static const char* const seeds[] = {"", "--seed 1", "--seed 2"};
        for (size_t k = 0; k < 3; k++) {
            char arguments[160];
            snprintf(arguments, sizeof arguments, "sim %s --batch 3 --spread 0.01 --time 0.01 %s --json", models[i],
                     seeds[k]);
            cal_test_outcome o = cal_test_run_well(arguments);
            hashes[k] = strtoull(strstr(o.out, "state_hash") + strlen("state_hash\": \""), NULL, 16);
            cal_test_release(&o);
        }
        assert_true(hashes[0] == hashes[1] && hashes[1] != hashes[2]);
    }
}

static void saves_and_starts(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_JANSSON
    cal_test_outcome o = cal_test_run_well("sim stickman --time 0.2 --tol 1e-10 --save half.json"),
                     p = cal_test_run_well("sim stickman --time 0.2 --tol 1e-10 --start half.json --save whole.json"),
                     w = cal_test_run_well("sim stickman --time 0.4 --tol 1e-10 --save straight.json");
    cal_test_release(&o), cal_test_release(&p), cal_test_release(&w);
    char *first = cal_test_read_file("whole.json"), *second = cal_test_read_file("straight.json");
    json_t *whole = json_loads(first, 0, NULL), *straight = json_loads(second, 0, NULL);
    free(first), free(second);
    const json_t *a = json_object_get(whole, "q"), *b = json_object_get(straight, "q");
    assert_true(json_array_size(a) > 3 && json_array_size(a) == json_array_size(b));
    for (size_t i = 0; i < json_array_size(a); i++) {
        const double difference = json_number_value(json_array_get(a, i)) - json_number_value(json_array_get(b, i));
        cal_test_expect_below(difference < 0 ? -difference : difference, 1e-7, "q", "stickman");
    }
    json_decref(whole);
    json_decref(straight);
    // The file is the one that eval reads, and that the other kinds of runs begin from.
    o = cal_test_run_well("eval stickman --what energy --state whole.json --json");
    cal_test_release(&o);
    o = cal_test_run_well("sim rail --rps 3 --time 0.1 --save rail.json");
    cal_test_release(&o);
    o = cal_test_run_well("sim rail --rps 3 --time 0.1 --start rail.json");
    cal_test_release(&o);
    o = cal_test_run_well("sim chain:n=3 --time 0.1 --save chain.json");
    cal_test_release(&o);
    o = cal_test_run_well("sim chain:n=3 --batch 4 --time 0.1 --start chain.json");
    cal_test_release(&o);
    cal_test_expect_mistake("sim chain:n=3 --start whole.json", "the model needs 3");
    cal_test_expect_mistake("sim atoms:n=5 --start whole.json", "--start is for");
    cal_test_expect_mistake("sim chain:n=3 --time 0.1 --save nowhere/state.json", "nowhere/state.json");
#else
    skip();
#endif
}

static void draws_the_energy(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("sim chain:n=3 --time 1 --plot run.svg");
    cal_test_release(&o);
    char* picture = cal_test_read_file("run.svg");
    assert_memory_equal(picture, "<svg ", 5);
    const char* const words[] = {"kinetic", "potential", "total", "prefers-color-scheme:dark", "</svg>\n"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) assert_non_null(strstr(picture, words[i]));
    assert_null(strstr(picture, "nan"));
    free(picture);
}

// What is refused before it begins leaves the files of earlier runs as they are.
static void leaves_files_of_a_refused_run(void** unused) {
    (void)unused;
    static const char* const files[] = {"kept.csv", "kept.glb", "kept.html", "kept.svg"};
    for (int i = 0; i < 4; i++) cal_test_write_file(files[i], "an earlier run's\n");
    cal_test_expect_mistake("sim chain:n=3 --check --out kept.csv --out kept.glb --out kept.html --plot kept.svg",
                            "--check is for models of ball and free joints");
    for (int i = 0; i < 4; i++) {
        char* text = cal_test_read_file(files[i]);
        assert_string_equal(text, "an earlier run's\n");
        free(text);
    }
}

// Too large steps of Euler's method: the motion becomes wild, and the run ends before it is recorded as one.
static void stops_where_the_energy_explodes(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run("sim chain:n=3,start=1 --solver euler --step 0.1 --time 20 --out wild.csv "
                                      "--checkpoint wild.cal --save wild.json --json");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "the energy explodes"));
    const char* told = strstr(o.err, "The state at t = ");
    assert_non_null(told);
    const double kept = strtod(told + strlen("The state at t = "), NULL);
    assert_true(kept > 0.0 && kept < 20.0);
    cal_test_release(&o);
    // What was good is there: rows, each of them whole, a state and a checkpoint.
    char *table = cal_test_read_file("wild.csv"), *state = cal_test_read_file("wild.json");
    assert_true(table[strlen(table) - 1] == '\n' && cal_test_count_lines(table) > 3);
    assert_true(fabs(cal_test_number_after(state, "time") - kept) < 1e-5);
    free(table), free(state);
    o = cal_test_run("sim chain:n=3,start=1 --solver euler --step 0.1 --time 20 --resume wild.cal");
    assert_non_null(strstr(o.err, "the energy explodes"));
    cal_test_release(&o);
    // So does a batch, by the instance: also where a step is so long that only the energy has no number.
    const char* const batches[][2] = {
        {"sim chain:n=3,start=1 --batch 3 --solver euler --step 0.1 --time 20", "the energy explodes"},
        {"sim chain:n=3 --batch 3 --step 16 --time 0.02", "the energy is not finite"}};
    for (int i = 0; i < 2; i++) {
        o = cal_test_run(batches[i][0]);
        assert_int_equal(o.status, 1);
        assert_non_null(strstr(o.err, "instance 0: "));
        assert_non_null(strstr(o.err, batches[i][1]));
        cal_test_release(&o);
    }
    // One that its tolerance does not justify says so, and goes on.
    o = cal_test_run_well("sim chain:n=3,start=1 --time 2 --json");
    assert_string_equal(o.err, "");
    assert_true(fabs(cal_test_number_after(o.out, "energy_balance")) <
                cal_test_number_after(o.out, "energy_justified"));
    cal_test_release(&o);
}

static void ends_in_the_same_state_with_all_lanes(void** unused) {
    (void)unused;
    char first[17] = "";
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "sim mobile:s=2,l=3,o=5 --time 1 --lanes %d --json", lanes);
        cal_test_outcome o = cal_test_run_well(arguments);
        const char* hash = strstr(o.out, "\"state_hash\": \"");
        assert_non_null(hash);
        hash += strlen("\"state_hash\": \"");
        assert_int_equal(strspn(hash, "0123456789abcdef"), 16);
        if (lanes == 1) memcpy(first, hash, 16);
        assert_memory_equal(hash, first, 16);
        cal_test_release(&o);
    }
}

// What eval forward answers, eval inverse takes back.
static void undoes_forward_by_inverse(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_JANSSON
    cal_test_write_file("forward.json",
                        "{\"time\": 2, \"q\": [0.3, -0.2, 0.9], \"v\": [1, 2, 3], \"tau\": [0.5, 0.25, -1]}");
    cal_test_outcome o = cal_test_run_well("eval chain:n=3 --what forward --state forward.json --json");
    json_t* forward = json_loads(o.out, 0, NULL);
    cal_test_release(&o);
    assert_non_null(forward);
    assert_true(json_number_value(json_object_get(forward, "time")) == 2);
    json_t* state = json_pack("{s:O, s:O, s:O}", "q", json_object_get(forward, "q"), "v", json_object_get(forward, "v"),
                              "qdd", json_object_get(forward, "qdd"));
    char* text = json_dumps(state, JSON_REAL_PRECISION(17));
    cal_test_write_file("inverse.json", text);
    free(text);
    o = cal_test_run_well("eval chain:n=3 --what inverse --state inverse.json --json");
    json_t* inverse = json_loads(o.out, 0, NULL);
    cal_test_release(&o);
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
    cal_test_outcome o = cal_test_run_well("info chain:n=3");
    assert_non_null(strstr(o.out, "└─ "));
    assert_null(strstr(o.out, " more\n"));
    cal_test_release(&o);
    o = cal_test_run_well("info chain:n=1000");
    assert_non_null(strstr(o.out, "… and 960 more\n"));
    cal_test_release(&o);
}

// Ctrl-C, the signal of batch systems, and that of a terminal that goes: the frame is finished, the table ends with a whole row, and the
// status says that the time was not reached.
static void keeps_what_there_is_when_interrupted(void** unused) {
    (void)unused;
    const char* const signals[] = {"INT", "TERM", "HUP"};
    for (int i = 0; i < 3; i++) {
        // The signal comes when there are rows: the run is under way then, however busy the computer is. Under nohup HUP is ignored.
        char watch[256];
        snprintf(watch, sizeof watch,
                 "rm -f cut.csv; (while kill -0 $$ && [ $(wc -c < cut.csv || echo 0) -lt 20000 ]; do sleep 0.05; done; "
                 "kill -%s $$) 2> /dev/null & exec env --default-signal=HUP",
                 signals[i]);
        cal_test_outcome o = cal_test_run_after(watch, "sim chain:n=20 --time 1e6 --out cut.csv --json");
        assert_int_equal(o.status, 1);
        assert_non_null(strstr(o.err, "calder: interrupted at"));
        assert_int_equal(cal_test_count_lines(o.out), 1);
        assert_true(cal_test_number_after(o.out, "time") < 1e6);
        char* table = cal_test_read_file("cut.csv");
        int lines = cal_test_count_lines(table);
        assert_int_equal(lines, 1 + (int)cal_test_number_after(o.out, "frames"));
        assert_true(table[strlen(table) - 1] == '\n');
        free(table);
        cal_test_release(&o);
    }
}

// An ending that nobody knows is refused before the run, which would take years; - is standard output, and nothing else is there.
static void files_are_what_their_names_say(void** unused) {
    (void)unused;
    cal_test_expect_mistake("sim chain:n=3 --time 1e9 --out run.txt", "run.txt");
    cal_test_expect_mistake("sim chain:n=3 --time 1e9 --plot run.png", "run.png");
    cal_test_expect_mistake("sim nosuch --json", "nosuch");
    cal_test_outcome file = cal_test_run_well("sim chain:n=3 --time 0.5 --out run.csv");
    cal_test_outcome o = cal_test_run("sim chain:n=3 --time 0.5 --out - --plot run.svg");
    char* table = cal_test_read_file("run.csv");
    assert_int_equal(o.status, 0);
    assert_string_equal(o.out, table);
    assert_non_null(strstr(o.err, "state hash"));
    free(table);
    cal_test_release(&o);
    cal_test_release(&file);
    o = cal_test_run_well("-V");
    assert_non_null(strstr(o.out, cal_version()));
    cal_test_release(&o);
}

static void tells_when_output_is_lost(void** unused) {
    (void)unused;
    if (access("/dev/full", W_OK) != 0) skip();
    cal_test_outcome o = cal_test_run_after("ln -sf /dev/full full.csv && ln -sf /dev/full full.svg && ln -sf "
                                            "/dev/full full.cal && ln -sf /dev/full full.xml &&",
                                            "info chain:n=3");
    assert_int_equal(o.status, 0);
    cal_test_release(&o);
    o = cal_test_run("sim chain:n=3 --time 1 --out full.csv");
    assert_int_equal(o.status, 1);
    assert_int_equal(cal_test_count_lines(o.err), 1);
    assert_non_null(strstr(o.err, "full.csv"));
    cal_test_release(&o);
    o = cal_test_run("sim chain:n=3 --time 1 --plot full.svg");
    assert_int_equal(o.status, 1);
    assert_int_equal(cal_test_count_lines(o.err), 1);
    cal_test_release(&o);
    // What is no plain file is not replaced by one.
    o = cal_test_run("sim chain:n=3 --time 1 --checkpoint full.cal");
    assert_int_equal(o.status, 1);
    cal_test_release(&o);
    o = cal_test_run("convert chain:n=3 full.xml");
    assert_int_equal(o.status, 1);
    cal_test_release(&o);
    o = cal_test_run_after("test -L full.cal && test -L full.xml && test -c /dev/full &&", "info chain:n=3");
    assert_int_equal(o.status, 0);
    cal_test_release(&o);
    o = cal_test_run_after("sh -c 'exec \"$0\" \"$@\" >/dev/full'", "info chain:n=3");
    assert_int_equal(o.status, 1);
    assert_int_equal(cal_test_count_lines(o.err), 1);
    cal_test_release(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helps_and_ends_with_an_example),
        cmocka_unit_test(names_every_mistake),
        cmocka_unit_test(rejects_wrong_state_files),
        cmocka_unit_test(answers_scripts_in_json),
        cmocka_unit_test(summarises_for_people),
        cmocka_unit_test(records_frames_with_named_columns),
        cmocka_unit_test(records_chosen_columns),
        cmocka_unit_test(records_every_instance),
        cmocka_unit_test(starts_by_seed),
        cmocka_unit_test(saves_and_starts),
        cmocka_unit_test(draws_the_energy),
        cmocka_unit_test(leaves_files_of_a_refused_run),
        cmocka_unit_test(stops_where_the_energy_explodes),
        cmocka_unit_test(ends_in_the_same_state_with_all_lanes),
        cmocka_unit_test(undoes_forward_by_inverse),
        cmocka_unit_test(draws_small_trees_and_cuts_large_ones),
        cmocka_unit_test(keeps_what_there_is_when_interrupted),
        cmocka_unit_test(files_are_what_their_names_say),
        cmocka_unit_test(tells_when_output_is_lost),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
