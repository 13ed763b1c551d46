// Machines, plans and placements as a user or a script meets them.
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void helps_and_ends_with_an_example(void** unused) {
    (void)unused;
    const char* const calls[] = {"plan --help", "help plan", "bench scale --help", "bench tree-machine --help"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        cal_test_outcome o = cal_test_run_well(calls[i]);
        const char* example = strstr(o.out, "\nexample:\n  calder ");
        if (!example || cal_test_count_lines(example) != 3)
            fail_msg("calder %s: does not end with an example", calls[i]);
        cal_test_release(&o);
    }
}

static void names_every_mistake(void** unused) {
    (void)unused;
    const char* const mistakes[][2] = {
        {"plan", "needs MODEL"},
        {"plan chain --processors 4,2", "--processors '4,2'"},
        {"plan chain --processors 0..4", "--processors '0..4'"},
        {"plan chain --processors 1..", "--processors '1..'"},
        {"plan chain --processors many", "1..128"},
        {"plan chain --processors 1..99999999", "--processors"},
        {"plan chain --compute 0.4ms", "--compute and --message"},
        {"plan chain --message 0.4ms", "--compute and --message"},
        {"plan chain --send 1us", "--compute and --message"},
        {"plan chain --compute 0.4 --message 1ms", "--compute '0.4' is not a duration"},
        {"plan chain --compute 4h --message 1ms", "s, ms, us or ns"},
        {"plan chain --compute=-1ms --message 1ms", "--compute '-1ms'"},
        {"plan chain --compute 0s --message 1ms", "--compute '0s'"},
        {"plan chain --compute 1ms --message 1ms --send 2ms", "--send '2ms'"},
        {"plan chain --compute 1ms --message 1ms --machine threads", "--machine 'threads'"},
        {"plan chain --distribution fair", "balanced, jung"},
        {"plan chain --compute 1ms --message 1ms --tree --json", "--tree"},
        {"plan chain --compute 1ms --message 1ms --save nowhere/p.json", "cannot write 'nowhere/p.json'"},
        {"plan atoms --tree", "--tree is for a model"},
        {"plan atoms --compute 1ms --message 1ms", "--compute is for a model"},
        {"plan chain --time 1", "--time is for a world"},
        {"plan chain --world", "nothing touches in 'chain'"},
        {"plan atoms --processors 2000 --time 0.1", "1 to 1024 processors"},
        {"bench scale atoms --plot x.svg", "--plot is for a model"},
        {"sim chain --machine cluster", "serial, threads"},
        {"sim chain --machine threads:0", "--machine 'threads:0'"},
        {"sim chain --machine threads:2,fast", "--machine 'threads:2,fast'"},
        {"sim chain --machine threads:99999", "from 1 to"},
        {"sim atoms --placement p.json", "--placement is for a model"},
        {"bench scale chain --machine serial", "threads"},
        {"bench scale chain --weak", "leave out 'chain'"},
        {"bench tree-machine --time-limit soon", "--time-limit 'soon'"},
        {"bench treemachine", "tree-machine"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        cal_test_expect_mistake(mistakes[i][0], mistakes[i][1]);
}

// The n-th number after a key.
static double number_at(const char* text, const char* key, int n) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    for (; n >= 0 && text; n--) {
        text = strstr(text, quoted);
        if (text) text += strlen(quoted);
    }
    if (!text) fail_msg("too few of '%s'", key);
    return text ? strtod(text, NULL) : 0;
}

// Jung's mobile of 455 joints: the numbers that his algorithm must give.
static void prints_the_papers_plan(void** unused) {
    (void)unused;
    const double milliseconds[] = {182, 103.5, 83.5, 45, 26.5, 21.5, 19.5, 18, 18, 18};
    const double speedups[] = {1, 1.76, 2.18, 4.04, 6.87, 8.47, 9.33, 10.11, 10.11, 10.11};
    cal_test_outcome o = cal_test_run_well("plan mobile:s=3,l=5,o=9 --processors 1,2,4,8,16,20,32,64,81,128 "
                                           "--compute 0.4ms --message 1500us --json");
    for (int i = 0; i < 10; i++) {
        cal_test_expect_below(fabs(number_at(o.out, "time_s", i) - 1e-3 * milliseconds[i]), 1e-12, "time",
                              "455 joints");
        cal_test_expect_below(fabs(number_at(o.out, "speedup", i) - speedups[i]), 0.006, "speed-up", "455 joints");
    }
    assert_true(number_at(o.out, "processors", 9) == 128);
    assert_true(number_at(o.out, "used", 9) == 81);
    cal_test_release(&o);
    o = cal_test_run_well("plan mobile:s=3,l=5,o=9 --processors 1,2,128 --compute 0.4ms --message 1.5ms");
    const char* const words[] = {"103.5 ms", "1.76", "10.11", "81 of 128 processors are of use", "jung", "6 ms"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(o.out, words[i])) fail_msg("no '%s' in: %s", words[i], o.out);
    cal_test_release(&o);
}

// A million numbers are not planned one by one: the first of the fastest is the same as if they were.
static void plans_for_very_many_processors(void** unused) {
    (void)unused;
    const char* const lists[] = {"1..128", "1..1000000"};
    for (int i = 0; i < 2; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "plan mobile:s=3,l=5,o=9 --processors %s --compute 0.4ms --message 1.5ms",
                 lists[i]);
        cal_test_outcome o = cal_test_run_well(arguments);
        assert_non_null(strstr(o.out, "Already 52 give the shortest time."));
        cal_test_release(&o);
    }
}

static void answers_scripts_in_json(void** unused) {
    (void)unused;
    cal_test_expect_json("plan chain:n=5 --processors 1..3 --json",
                         "model joints depth distribution measured compute_s message_s send_s longest_path_s "
                         "useful_processors rows processors used time_s speedup");
    cal_test_expect_json("sim mobile:s=2,l=3,o=5 --time 0.1 --machine threads:2 --json",
                         "machine processors state_hash");
    cal_test_expect_json(
        "bench scale mobile:s=2,l=3,o=5 --processors 1,2 --runs 1 --time 0.05 --json",
        "model machine processor cores message_s send_s same_state rows processors used joints forward "
        "simulation time_s speedup efficiency predicted_s deviation_percent state_hash");
}

// Jung's Table IX as it is sent, his Figure 9 for 455 joints on twenty processors (21.5 ms), and a central solver that comes to the same motion.
static void sends_what_jungs_tables_say(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("bench distribution --machine threads:4 --time 0.02 --json");
    const char* const words[] = {
        "\"sent_as_predicted\": true",   "\"numbers_per_message\": 18}",
        "\"numbers_per_message\": 27}",  "\"twenty_s\": 0.0215",
        "\"central_numbers_out\": 2730", "\"joints\": 455, \"processors\": 20, \"speedup\": 8.4"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(o.out, words[i])) fail_msg("no '%s' in: %s", words[i], o.out);
    const char* difference = strstr(o.out, "\"central_difference\": ");
    assert_non_null(difference);
    assert_true(strtod(difference + strlen("\"central_difference\": "), NULL) < 1e-12);
    cal_test_release(&o);
}

// Armstrong's figures on threads: as many messages as edges are cut in three passes, accelerations as on one core. The command fails
// where one of the two is not so; the numbers here are counted by hand.
static void counts_the_messages_of_the_tree_machine(void** unused) {
    (void)unused;
    const char command[] = "bench tree-machine --time-limit 0.001 --json";
    cal_test_outcome o = cal_test_run_well(command);
    const char* const keys[] = {"machine", "execute_s", "message_s", "pays_from_links",   "processors_of",
                                "formula", "modelled",  "paper",     "same_accelerations"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_non_null(strstr(o.out, keys[i]));
    assert_null(strstr(o.out, "\"same_accelerations\": false"));
    // A link each: 11 edges of the figure, and 39 of the tree of 40 links of which 13 stay on their parents' processors; 12 numbers out,
    // 27 in and 6 out.
    assert_non_null(strstr(o.out, "\"messages\": 33, \"predicted_messages\": 33, \"numbers\": 495, "));
    assert_non_null(strstr(o.out, "\"messages\": 78, \"predicted_messages\": 78, \"numbers\": 1170, "));
    cal_test_release(&o);
}

static void draws_who_computes_what(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("plan mobile:s=3,l=5,o=9 --processors 1 --compute 1ms --message 1ms --tree");
    assert_non_null(strstr(o.out, "chain of 5: "));
    assert_non_null(strstr(o.out, "└─ 9 × chain of 5  "));
    assert_non_null(strstr(o.out, "   └─ 9 × chain of 5  "));
    cal_test_release(&o);
    o = cal_test_run_well("plan stickman --processors 5 --compute 1ms --message 0.1ms --tree");
    assert_non_null(strstr(o.out, "3 × chain of 2"));
    assert_non_null(strstr(o.out, "processors 2…4"));
    cal_test_release(&o);
}

// The 16 digits of a run's state hash, and its number of processors.
static void run_to_hash(const char* arguments, char hash[17], int* processors) {
    cal_test_outcome o = cal_test_run_well(arguments);
    const char* found = strstr(o.out, "\"state_hash\": \"");
    assert_non_null(found);
    snprintf(hash, 17, "%.16s", found + strlen("\"state_hash\": \""));
    *processors = (int)cal_test_number_after(o.out, "processors");
    cal_test_release(&o);
}

#ifdef CALDER_HAVE_JANSSON
static void expect_same_bits(const char* arguments, const char* serial, int processors) {
    char hash[17];
    int used;
    run_to_hash(arguments, hash, &used);
    assert_string_equal(hash, serial);
    assert_int_equal(used, processors);
}
#endif

static void places_joints_as_saved(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_JANSSON
    char serial[17];
    int used;
    run_to_hash("sim mobile:s=2,l=3,o=5 --time 1 --json", serial, &used);
    assert_int_equal(used, 1);
    const char* const distributions[] = {"jung", "balanced"};
    for (int i = 0; i < 2; i++) {
        char line[160];
        snprintf(line, sizeof line,
                 "plan mobile:s=2,l=3,o=5 --processors 3 --compute 1ms --message 0.1ms --distribution %s --save p.json",
                 distributions[i]);
        cal_test_outcome o = cal_test_run_well(line);
        cal_test_release(&o);
        expect_same_bits("sim mobile:s=2,l=3,o=5 --time 1 --placement p.json --json", serial, 3);
        expect_same_bits("sim mobile:s=2,l=3,o=5 --time 1 --placement p.json --machine threads:4 --json", serial, 3);
        cal_test_expect_mistake("sim mobile:s=2,l=3,o=5 --placement p.json --machine threads:2", "wants 3 processors");
        cal_test_expect_mistake("sim mobile:s=2,l=3,o=5 --placement p.json --machine serial", "wants 3 processors");
        cal_test_expect_mistake("sim mobile:s=2,l=3,o=4 --placement p.json", "has no joint");
        cal_test_expect_mistake("sim mobile:s=2,l=3,o=6 --placement p.json", "is in no process");
    }
#else
    cal_test_expect_mistake("sim chain --placement p.json", "no jansson");
#endif
}

static void rejects_wrong_placements(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_JANSSON
    const char* const mistakes[][2] = {
        {"{\"processors\": 2, \"processes\": [{\"processor\": 0, \"joints\": [\"joint0\", \"knee\"]}]}",
         "no joint 'knee'"},
        {"{\"processors\": 2, \"processes\": [{\"processor\": 2, \"joints\": [\"joint0\"]}]}",
         "processor 2, but there are 0 to 1"},
        {"{\"processors\": 2, \"processes\": [{\"processor\": -1, \"joints\": [\"joint0\"]}]}", "processor -1"},
        {"{\"processors\": 2, \"processes\": [{\"processor\": 0, \"joints\": [\"joint0\"]}]}",
         "joint 'joint1' is in no process"},
        {"{\"processors\": 1, \"processes\": [{\"processor\": 0, \"joints\": [\"joint0\", \"joint0\"]}]}",
         "'joint0' is listed twice"},
        {"{\"processors\": 0, \"processes\": []}", "'processors'"},
        {"{\"processors\": 1}", "'processes'"},
        {"{\"processors\": 1, \"processes\": [3]}", "process 0 is not an object"},
        {"{\"processors\": 1, \"processes\": [{\"processor\": 0, \"links\": []}]}", "unknown key 'links'"},
        {"{\"processors\": 1, \"processes\": [{\"processor\": 0, \"joints\": \"joint0\"}]}", "array of names"},
        {"{\"processors\": 1, \"processes\": [{\"joints\": []}]}", "'processor' must be"},
        {"{\"cores\": 1}", "unknown key 'cores'"},
        {"[]", "object"},
        {"{", "line 1"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cal_test_write_file("wrong.json", mistakes[i][0]);
        cal_test_expect_mistake("sim chain:n=2 --placement wrong.json", mistakes[i][1]);
    }
    cal_test_expect_mistake("sim chain:n=2 --placement nowhere.json", "nowhere.json");
#else
    skip();
#endif
}

// Everything on one processor but one joint in the middle of a chain, two processes on one processor: no restriction.
static void takes_any_mapping(void** unused) {
    (void)unused;
#ifdef CALDER_HAVE_JANSSON
    char serial[17];
    int used;
    run_to_hash("sim chain:n=4 --time 1 --json", serial, &used);
    cal_test_write_file("odd.json", "{\"processors\": 3, \"processes\": [{\"processor\": 2, \"joints\": [\"joint2\"]}, "
                                    "{\"processor\": 0, \"joints\": [\"joint3\"]}, "
                                    "{\"processor\": 0, \"joints\": [\"joint1\", \"joint0\"]}]}");
    char hash[17];
    run_to_hash("sim chain:n=4 --time 1 --placement odd.json --json", hash, &used);
    assert_string_equal(hash, serial);
#else
    skip();
#endif
}

// The uneven split of the paper's section 6.1, who joins what, and what is sent for it.
static void draws_schedules(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well(
        "plan chain:n=32,joint=ball --algorithm assembly --processors 4 --compute 0.19ms --message 0.01ms");
    const char* const said[] = {"messages",
                                "bytes",
                                "6 joints, body0 … body5, processor 0",
                                "7 joints, body6",
                                "12 joints, body20",
                                "join at body12, processor 1 with 3",
                                "on 4 processors, 4."};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(o.out, said[i])) fail_msg("no '%s' in: %s", said[i], o.out);
    cal_test_release(&o);
    o = cal_test_run_well(
        "plan chain:n=1000 --algorithm assembly --processors 4 --compute 50ns --message 1us --schedule 4 --json");
    // Three crossings of one open joint: 24 + 90 doubles up and 24 + 12 down.
    assert_int_equal((int)cal_test_number_after(o.out, "messages"), 12);
    assert_int_equal((int)cal_test_number_after(o.out, "bytes"), 3 * 8 * (24 + 90 + 24 + 12));
    cal_test_release(&o);
    cal_test_expect_mistake("plan chain --algorithm assembly --schedule sideways --compute 1us --message 1us",
                            "balanced");
    cal_test_expect_mistake("plan chain --schedule 4 --compute 1us --message 1us", "--algorithm assembly");
    cal_test_expect_mistake("sim chain --algorithm assembly --schedule 0", "number of processors");
}

// Which algorithm a GPU is faster with is said, and chosen where that is asked for: by the model, so that bits are those of every machine.
static void chooses_algorithms_for_a_gpu(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("plan chain:n=2000 --machine cuda");
    if (!strstr(o.out, "aba\n") || !strstr(o.out, "--algorithm assembly takes")) fail_msg("%s", o.out);
    cal_test_release(&o);
    o = cal_test_run_well("plan chain:n=2000 --machine cuda --json");
    const double assembly = cal_test_number_after(o.out, "assembly_s");
    assert_true(assembly > 0.0 && assembly < cal_test_number_after(o.out, "evaluation_s"));
    cal_test_release(&o);
    o = cal_test_run_well("plan chain:n=2000 --machine cuda --algorithm assembly --json");
    assert_float_equal(cal_test_number_after(o.out, "evaluation_s"), assembly, 1e-9);
    assert_true((int)cal_test_number_after(o.out, "parts") > 1);
    cal_test_release(&o);
    o = cal_test_run_well("plan chain:n=2000 --machine cuda --algorithm assembly --schedule 10");
    if (!strstr(o.out, "assembly: 10 parts, 4 joins")) fail_msg("%s", o.out);
    cal_test_release(&o);
    o = cal_test_run_well("plan humanoid --machine cuda");
    if (strstr(o.out, "--algorithm assembly")) fail_msg("%s", o.out);
    cal_test_release(&o);
    cal_test_expect_mistake("plan chain --machine cuda --algorithm assembly --batch 9", "--batch");
    cal_test_expect_mistake("plan chain --machine cuda --tree", "leave the others out");
    // A GPU that need not be here has any number; what is not priced is said; and the line about numbers has those that hold.
    o = cal_test_run_well("plan humanoid --machine cuda:7 --batch 64");
    assert_non_null(strstr(o.out, "64 instances"));
    o = cal_test_run_well("plan fourbar:n=2 --machine cuda --batch 64");
    assert_non_null(strstr(o.out, "constraints are not priced; they take most"));
    cal_test_expect_mistake("plan chain --machine cuda --gpu launch=5", "launch=2.6us");
    char chosen[17], named[17];
    int used;
    run_to_hash("sim chain:n=600 --algorithm auto --time 0.02 --json", chosen, &used);
    run_to_hash("sim chain:n=600 --algorithm assembly --schedule device --time 0.02 --json", named, &used);
    assert_string_equal(chosen, named);
    run_to_hash("sim chain:n=8 --algorithm auto --time 0.1 --json", chosen, &used);
    run_to_hash("sim chain:n=8 --time 0.1 --json", named, &used);
    assert_string_equal(chosen, named);
    run_to_hash("sim chain:n=600 --algorithm auto --solver implicit --time 0.002 --json", chosen, &used);
    run_to_hash("sim chain:n=600 --solver implicit --time 0.002 --json", named, &used);
    assert_string_equal(chosen, named);
    cal_test_expect_mistake("sim chain --algorithm auto --schedule 4", "--algorithm assembly");
}

static void runs_on_ranks(void** unused) {
    (void)unused;
    if (!getenv("CALDER_MPIRUN")) skip();
    char serial[17];
    int used;
    run_to_hash("sim mobile:s=2,l=3,o=5 --time 0.5 --json", serial, &used);
    cal_test_expect_mistake("bench forward chain --machine mpi", "bench scale");
    cal_test_expect_mistake("bench tree-machine --machine mpi", "several ranks");
    cal_test_outcome o = cal_test_run_after("\"$CALDER_MPIRUN\" -n 2",
                                            "sim mobile:s=2,l=3,o=5 --time 0.5 --machine mpi --out ranks.csv --json");
    if (o.status != 0) fail_msg("status %d: %s", o.status, o.err);
    assert_int_equal(cal_test_count_lines(o.out), 1); // one rank speaks
    if (!strstr(o.out, serial)) fail_msg("not the bits of one core: %s", o.out);
    assert_non_null(strstr(o.out, "\"machine\": \"mpi\""));
    cal_test_release(&o);
    char* table = cal_test_read_file("ranks.csv");
    assert_int_equal(cal_test_count_lines(table), 1 + 31);
    free(table);
    // Parts of a chain on two ranks.
    run_to_hash("sim chain:n=40 --algorithm assembly --schedule 2 --time 0.1 --json", serial, &used);
    o = cal_test_run_after("\"$CALDER_MPIRUN\" -n 2",
                           "sim chain:n=40 --algorithm assembly --schedule 2 --time 0.1 --machine mpi --json");
    if (o.status != 0 || !strstr(o.out, serial)) fail_msg("status %d: %s%s", o.status, o.out, o.err);
    assert_int_equal((int)cal_test_number_after(o.out, "processors"), 2);
    cal_test_release(&o);
    // Domains of a world.
    o = cal_test_run_well("sim avalanche:n=100 --time 0.35 --json");
    const char* hash = strstr(o.out, "\"state_hash\": \"");
    assert_non_null(hash);
    snprintf(serial, sizeof serial, "%.16s", hash + strlen("\"state_hash\": \""));
    cal_test_release(&o);
    o = cal_test_run_after("\"$CALDER_MPIRUN\" -n 2", "sim avalanche:n=100 --time 0.35 --machine mpi --json");
    if (o.status != 0 || !strstr(o.out, serial)) fail_msg("status %d: %s%s", o.status, o.out, o.err);
    assert_true(cal_test_number_after(o.out, "windows") > 0.0);
    cal_test_release(&o);
    // A mistake is said once, and is every rank's status.
    o = cal_test_run_after("\"$CALDER_MPIRUN\" -n 2", "sim mobile:s=2,l=3,o=5 --machine mpi --out nowhere/run.csv");
    assert_int_equal(o.status, 2);
    const char* said = strstr(o.err, "cannot write 'nowhere/run.csv'");
    assert_non_null(said);
    assert_null(strstr(said + 1, "cannot write 'nowhere/run.csv'"));
    cal_test_release(&o);
}

// The hash after a key is the same in all rows.
static void expect_one_hash(const char* text, int rows) {
    const char *key = "\"state_hash\": \"", *first = strstr(text, key), *next = first;
    for (int i = 0; i < rows; i++, next = strstr(next + 1, key)) {
        if (!next) fail_msg("too few rows: %s", text);
        if (strncmp(next, first, strlen(key) + 16) != 0) fail_msg("another history: %s", text);
    }
}

// A gas gains from processors, a few atoms and a pile stay on one core; whatever is tried ends in the state of one core.
static void plans_worlds(void** unused) {
    (void)unused;
    cal_test_outcome o = cal_test_run_well("plan atoms:n=400 --processors 1,2,8 --time 1 --json");
    const int processors[] = {1, 2, 8};
    for (int i = 0; i < 3; i++) {
        assert_int_equal((int)number_at(o.out, "processors", i), processors[i]);
        assert_true((int)number_at(o.out, "used", i) <= processors[i]);
        assert_true(number_at(o.out, "time_s", i) <= number_at(o.out, "time_s", 0) * 1.0001);
        assert_true(number_at(o.out, "busiest_s", i) <= number_at(o.out, "domains_s", i));
    }
    expect_one_hash(o.out, 3);
    cal_test_release(&o);
    o = cal_test_run_well("plan atoms:n=60 --processors 1,16 --time 0.5");
    if (!strstr(o.out, "This world stays on one core")) fail_msg("%s", o.out);
    cal_test_release(&o);
    o = cal_test_run_well("bench scale atoms:n=200 --processors 1,2 --time 0.5 --runs 1 --json");
    expect_one_hash(o.out, 2);
    assert_true(number_at(o.out, "predicted_s", 1) > 0.0);
    cal_test_release(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helps_and_ends_with_an_example),
        cmocka_unit_test(names_every_mistake),
        cmocka_unit_test(prints_the_papers_plan),
        cmocka_unit_test(plans_for_very_many_processors),
        cmocka_unit_test(answers_scripts_in_json),
        cmocka_unit_test(counts_the_messages_of_the_tree_machine),
        cmocka_unit_test(sends_what_jungs_tables_say),
        cmocka_unit_test(draws_who_computes_what),
        cmocka_unit_test(places_joints_as_saved),
        cmocka_unit_test(rejects_wrong_placements),
        cmocka_unit_test(takes_any_mapping),
        cmocka_unit_test(draws_schedules),
        cmocka_unit_test(chooses_algorithms_for_a_gpu),
        cmocka_unit_test(plans_worlds),
        cmocka_unit_test(runs_on_ranks),
    };
    return cmocka_run_group_tests(tests, cal_test_create_folder, NULL);
}
