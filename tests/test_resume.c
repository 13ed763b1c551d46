// Long runs survive: a command that is killed at any moment and resumed ends in the same state, and leaves the same table,
// as one that was left alone. CALDER_COMMAND names the executable.
#define _XOPEN_SOURCE 700
#include "place.h"
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TRIES = 20 }; // until a kill came in time

// --- Running the command ---------------------------------------------------------------------------------------------

static pid_t begin_line(const char* line) {
    const pid_t process = fork();
    if (process == 0) {
        execl("/bin/sh", "sh", "-c", line, (char*)NULL);
        _exit(127);
    }
    assert_true(process > 0);
    return process;
}

static pid_t begin(const char* arguments) {
    char line[1024];
    snprintf(line, sizeof line, "exec \"$CALDER_COMMAND\" sim %s >out 2>err", arguments);
    return begin_line(line);
}

// Exit status, or -1 when a signal ended it.
static int finish(pid_t process) {
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char* read_text(const char* name) {
    FILE* file = fopen(name, "rb");
    if (!file) fail_msg("'%s' was not written", name);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    rewind(file);
    char* text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    return text;
}

static void run_well(const char* arguments) {
    const int status = finish(begin(arguments));
    if (status == 0) return;
    char* err = read_text("err");
    fail_msg("calder sim %s: exit status %d: %s", arguments, status, err);
}

static void expect_complaint(const char* arguments, int status, const char* words) {
    assert_int_equal(finish(begin(arguments)), status);
    char* err = read_text("err");
    if (strncmp(err, "calder: ", 8) != 0 || strchr(err, '\n') != err + strlen(err) - 1 || !strstr(err, words))
        fail_msg("calder sim %s: '%s' is missing in: %s", arguments, words, err);
    free(err);
}

// Waits until a process has written so many checkpoints, or has ended.
static void wait_for(pid_t process, const char* checkpoint, int count) {
    const struct timespec pause = {0, 500000};
    struct stat facts;
    ino_t last = stat(checkpoint, &facts) == 0 ? facts.st_ino : 0;
    siginfo_t end = {0};
    for (int seen = 0; seen < count && !end.si_pid; nanosleep(&pause, NULL)) {
        if (stat(checkpoint, &facts) == 0 && facts.st_ino != last) last = facts.st_ino, seen++;
        assert_int_equal(waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT), 0);
    }
}

// Kills the command after it has written so many checkpoints; false when it was done before.
static bool kill_after(const char* arguments, const char* checkpoint, int count) {
    const pid_t process = begin(arguments);
    wait_for(process, checkpoint, count);
    kill(process, SIGKILL);
    return finish(process) == -1;
}

static void read_hash(char hash[17]) {
    char* out = read_text("out");
    const char* found = strstr(out, "\"state_hash\": \"");
    assert_non_null(found);
    snprintf(hash, 17, "%.16s", found + strlen("\"state_hash\": \""));
    free(out);
}

static void expect_equal_files(const char* a, const char* b, const char* what) {
    char *first = read_text(a), *second = read_text(b);
    if (strcmp(first, second) != 0) fail_msg("%s: the tables differ", what);
    free(first);
    free(second);
}

// --- Tests -----------------------------------------------------------------------------------------------------------

static void survives_being_killed(void** unused) {
    (void)unused;
    const char* const runs[] = {
        "mobile:s=3,l=5,o=9,plateau=printed,start=0.8 --time 4",
        "random:n=40,seed=7,joints=ball --time 20.01 --solver rkf --fps 25",
        "random:n=30,seed=5 --time 20 --solver rkg --fps 25",
#ifdef CALDER_HAVE_SUNDIALS
        "chain:n=12 --time 4 --solver bdf",
#endif
    };
    const char* const machines[] = {"--lanes 1", "--machine threads:2", "--lanes 0", "--lanes 1 --machine threads:2"};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char arguments[512], whole[17], resumed[17];
        int kills = 0;
        // BDF starts afresh at each checkpoint: what is left alone must write them too.
        snprintf(arguments, sizeof arguments, "%s --json --out whole.csv --checkpoint whole.cal --every 0.02", runs[i]);
        run_well(arguments);
        read_hash(whole);
        unlink("cut.cal");
        unlink("cut.csv");
        for (int k = 0, tries = 0; k < 4 && tries < MOST_TRIES; k++) {
            snprintf(arguments, sizeof arguments, "%s --json --out cut.csv --checkpoint cut.cal --every 0.02 %s %s",
                     runs[i], machines[k], k > 0 ? "--resume cut.cal" : "");
            kills += kill_after(arguments, "cut.cal", 3 + 5 * k);
            // Whoever is to kill may be late on a busy computer: then once more.
            if (kills == 0) tries++, k = -1, unlink("cut.cal"), unlink("cut.csv");
        }
        assert_true(kills >= 1);
        snprintf(arguments, sizeof arguments, "%s --json --out cut.csv --resume cut.cal", runs[i]);
        if (strstr(runs[i], "bdf")) strcat(arguments, " --checkpoint cut.cal --every 0.02");
        run_well(arguments);
        read_hash(resumed);
        if (strcmp(whole, resumed) != 0) fail_msg("%s: %s after %d kills, not %s", runs[i], resumed, kills, whole);
        expect_equal_files("whole.csv", "cut.csv", runs[i]);
    }
}

// Each rank leaves its process number before it becomes the command; one of them is killed, perhaps amid a checkpoint. False: all was
// done before.
static bool kill_a_rank(const char* model, int victim) {
    char line[1024];
    unlink("ranks");
    unlink("cut.cal");
    snprintf(line, sizeof line,
             "exec \"$CALDER_MPIRUN\" -n 3 sh -c 'echo $$ >> ranks; exec \"$CALDER_COMMAND\" sim %s --machine mpi "
             "--checkpoint cut.cal --every 0.01' >out 2>err",
             model);
    const pid_t process = begin_line(line);
    wait_for(process, "cut.cal", 2 + 3 * victim);
    char* text = read_text("ranks");
    long ranks[3];
    assert_int_equal(sscanf(text, "%ld %ld %ld", &ranks[0], &ranks[1], &ranks[2]), 3);
    free(text);
    kill((pid_t)ranks[victim], SIGKILL);
    const int status = finish(process); // and no rank waits for the dead one for ever
    if (status == 0) return false;
    text = read_text("err");
    if (!text[0]) fail_msg("ranks ended with %d and said nothing", status);
    free(text);
    return true;
}

static void survives_a_killed_rank(void** unused) {
    (void)unused;
    if (!getenv("CALDER_MPIRUN")) skip();
    const char model[] = "mobile:s=3,l=5,o=9,plateau=printed,start=0.8 --time 1";
    char arguments[512], whole[17], resumed[17];
    snprintf(arguments, sizeof arguments, "%s --json", model);
    run_well(arguments);
    read_hash(whole);
    for (int victim = 0; victim < 3; victim++) {
        bool killed = false;
        // Whoever is to kill may be late on a busy computer: then once more.
        for (int tries = 0; !killed && tries < MOST_TRIES; tries++) killed = kill_a_rank(model, victim);
        assert_true(killed);
        const char* const machines[] = {"--lanes 1", "--machine threads:2", "--machine threads:5"};
        for (int k = 0; k < 3; k++) {
            snprintf(arguments, sizeof arguments, "%s --json --resume cut.cal %s", model, machines[k]);
            run_well(arguments);
            read_hash(resumed);
            if (strcmp(whole, resumed) != 0) fail_msg("rank %d: %s instead of %s", victim, resumed, whole);
        }
    }
}

// A rank that comes to its end and stays there: the first one says which, and with a limit the run ends, after all that it has written.
static void names_a_rank_that_does_not_end(void** unused) {
    (void)unused;
    if (!getenv("CALDER_HELD_RANK")) skip();
    unlink("done.json");
    const int status = finish(
        begin_line("CALDER_RANK_PATIENCE=0.5 exec \"$CALDER_MPIRUN\" -n 1 \"$CALDER_COMMAND\" sim pendulum --time "
                   "0.1 --machine mpi --save done.json : -n 1 env LD_PRELOAD=\"$CALDER_HELD_RANK\" "
                   "\"$CALDER_COMMAND\" sim pendulum --time 0.1 --machine mpi --save done.json >out 2>err"));
    assert_int_equal(status, 1);
    char *err = read_text("err"), *out = read_text("out"), *saved = read_text("done.json");
    if (!strstr(err, "calder: this run is done, and ends without rank 1 of 2\n")) fail_msg("%s", err);
    assert_true(strstr(out, "state hash") && strlen(saved) > 2);
    free(err), free(out), free(saved);
}

// Checkpoints do not disturb, a finished run can be made longer, and its last row is a frame of its own no more.
static void makes_a_run_longer(void** unused) {
    (void)unused;
    char plain[17], longer[17];
    run_well("stickman --time 1.3 --fps 10 --json --out whole.csv");
    read_hash(plain);
    run_well("stickman --time 0.55 --fps 10 --json --out cut.csv --checkpoint cut.cal --every 0.07");
    char* before = read_text("cut.csv");
    run_well("stickman --time 0.55 --fps 10 --json --out cut.csv --resume cut.cal"); // nothing is left to do
    char* after = read_text("cut.csv");
    assert_string_equal(before, after);
    free(before);
    free(after);
    run_well("stickman --time 1.3 --fps 10 --json --out cut.csv --resume cut.cal");
    read_hash(longer);
    assert_string_equal(plain, longer);
    expect_equal_files("whole.csv", "cut.csv", "stickman");
    char* out = read_text("out");
    assert_non_null(strstr(out, "\"resumed_from\": 0.55"));
    free(out);
}

// The rows of a table are the last ones of another.
static void expect_end(const char* whole, const char* end, const char* what) {
    char *first = read_text(whole), *second = read_text(end);
    const char* rows = strchr(second, '\n');
    assert_non_null(rows);
    const size_t length = strlen(rows), all = strlen(first);
    if (length > all || strcmp(first + all - length, rows) != 0) fail_msg("%s: other collisions", what);
    free(first);
    free(second);
}

// A scene goes on from its checkpoint: the same state, rows and collisions.
static void scenes_go_on(void** unused) {
    (void)unused;
    const char* const scenes[] = {"atoms:n=60",
                                  "avalanche",
                                  "robots:n=2",
                                  "stack:kind=pyramid,n=2 --loop conservative",
                                  "atoms:n=20 --loop retroactive",
                                  "atoms:n=120 --machine threads:2",
                                  "avalanche:n=120 --machine threads:2"};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        char arguments[256], whole[17], resumed[17];
        snprintf(arguments, sizeof arguments, "%s --time 1 --json --out whole.csv --events whole-events.csv",
                 scenes[i]);
        run_well(arguments);
        read_hash(whole);
        snprintf(arguments, sizeof arguments,
                 "%s --time 0.5 --out cut.csv --events cut-events.csv --checkpoint scene.cal --every 0.2", scenes[i]);
        run_well(arguments);
        snprintf(arguments, sizeof arguments,
                 "%s --time 1 --json --out cut.csv --events cut-events.csv --resume scene.cal", scenes[i]);
        run_well(arguments);
        read_hash(resumed);
        if (strcmp(whole, resumed) != 0) fail_msg("%s: %s, not %s", scenes[i], resumed, whole);
        expect_equal_files("whole.csv", "cut.csv", scenes[i]);
        expect_end("whole-events.csv", "cut-events.csv", scenes[i]);
    }
    expect_complaint("atoms:n=30 --resume scene.cal", 2, "another definition");
    run_well("stack --time 0.1 --checkpoint scene.cal");
    expect_complaint("stack:n=3 --time 1 --resume scene.cal", 2, "not in this world");
}

// Waits until a process hears a signal itself, or has ended.
static void wait_for_handler(pid_t process, int signal_number) {
    const struct timespec pause = {0, 5000000};
    siginfo_t end = {0};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)process);
    for (bool hears = false; !hears && !end.si_pid; nanosleep(&pause, NULL)) {
        FILE* file = fopen(path, "r");
        bool is_shell = false; // which becomes the command, and may hear signals before
        while (file && fgets(line, sizeof line, file)) {
            if (strncmp(line, "Name:", 5) == 0) is_shell = strstr(line, "calder") == NULL;
            if (strncmp(line, "SigCgt:", 7) == 0)
                hears = !is_shell && strtoull(line + 7, NULL, 16) >> (signal_number - 1) & 1;
        }
        if (file) fclose(file);
        assert_int_equal(waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT), 0);
    }
}

// As finish, with a limit: a run that does not hear a signal ends the test, and not it alone.
static int finish_soon(pid_t process, const char* what) {
    const struct timespec pause = {0, 20000000};
    enum { MINUTES = 10, LOOKS_PER_MINUTE = 3000 };
    siginfo_t end = {0};
    for (int i = 0; i < MINUTES * LOOKS_PER_MINUTE && !end.si_pid; i++, nanosleep(&pause, NULL))
        assert_int_equal(waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT), 0);
    if (!end.si_pid) kill(process, SIGKILL);
    if (!end.si_pid) fail_msg("calder sim %s does not end", what);
    return finish(process);
}

// A signal ends an advance on its way, here one of hours of the clock: what there is is whole, and the run goes on from there with the bits that it would
// have had.
static void signals_end_an_advance(void** unused) {
    (void)unused;
    static const struct {
        const char* run;
        int signal;
        bool saves;
    } runs[] = {{"chain:n=300", SIGINT, true},
                {"random:n=40,seed=7 --solver rkf --machine threads:2", SIGTERM, true},
                {"humanoid", SIGINT, true},
                {"stack:kind=wall,n=3 --loop retroactive", SIGINT, true},
                {"atoms:n=100 --loop conservative", SIGTERM, true}, // what sleeps is through in no time
                {"atoms:n=300 --machine threads:2", SIGINT, true},
                {"chain:n=30 --batch 8", SIGINT, false},
                {"rail --rps 4", SIGINT, false}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char arguments[512], whole[17], resumed[17];
        unlink("cut.cal");
        snprintf(arguments, sizeof arguments, "%s --time 1e5 --fps 0.001 --json%s", runs[i].run,
                 runs[i].saves ? " --out cut.csv --checkpoint cut.cal --every 1e6" : "");
        const pid_t process = begin(arguments);
        wait_for_handler(process, runs[i].signal);
        kill(process, runs[i].signal);
        const int status = finish_soon(process, runs[i].run);
        char *err = read_text("err"), *out = read_text("out"), *table = runs[i].saves ? read_text("cut.csv") : NULL;
        if (status != 1 || !strstr(err, "calder: interrupted at ")) fail_msg("%s: %d: %s", runs[i].run, status, err);
        const char* at = strstr(out, "\"time\": ");
        assert_true(at && strstr(out, "\"interrupted\": true") && out[strlen(out) - 1] == '\n');
        assert_true(!table || (table[0] && table[strlen(table) - 1] == '\n'));
        const double time = strtod(at + strlen("\"time\": "), NULL);
        assert_true(time >= 0 && time < 1e5);
        free(err), free(out), free(table);
        if (!runs[i].saves) continue;
        snprintf(arguments, sizeof arguments, "%s --json --time %.17g", runs[i].run, time + 0.05);
        run_well(arguments);
        read_hash(whole);
        const size_t length = strlen(arguments);
        snprintf(arguments + length, sizeof arguments - length, " --resume cut.cal");
        run_well(arguments);
        read_hash(resumed);
        if (strcmp(whole, resumed) != 0) fail_msg("%s: %s after %g s, not %s", runs[i].run, resumed, time, whole);
    }
}

static void names_every_mistake(void** unused) {
    (void)unused;
    run_well("chain:n=3 --time 1 --fps 10 --out run.csv --checkpoint run.cal");
    run_well("chain:n=3 --batch 4 --time 1 --checkpoint batch.cal");
    run_well("chain:n=4 --time 1 --fps 10 --out other.csv");
    run_well("chain:n=3 --time 0.5 --fps 10 --out short.csv");
    const char* const mistakes[][2] = {
        {"chain:n=3 --resume nowhere.cal", "nowhere.cal"},
        {"chain:n=3 --resume run.csv", "not a checkpoint"},
        {"chain:n=4 --resume run.cal", "another model"},
        {"chain:n=3 --resume run.cal --solver rkf", "solver 'gear'"},
        {"chain:n=3 --resume run.cal --tol 1e-5", "tolerance"},
        {"chain:n=3 --resume run.cal --time 0.5", "is at 1 s already"},
        {"chain:n=3 --resume run.cal --time 2 --fps 10 --out other.csv", "its header differs"},
        {"chain:n=3 --resume run.cal --time 2 --fps 10 --out short.csv", "no row at 1 s"},
        {"chain:n=3 --out same --checkpoint same", "'same'"},
        {"chain:n=3 --plot same --checkpoint same", "'same'"},
        {"chain:n=3 --batch 4 --resume run.cal", "no checkpoint of an ensemble"},
        {"chain:n=3 --resume batch.cal --time 2", "of an ensemble"},
        {"chain:n=3 --batch 5 --resume batch.cal --time 2", "4 instances"},
        {"chain:n=3 --batch 4 --resume batch.cal --time 0.5", "is at 1 s already"},
        {"chain:n=3 --checkpoint run.cal --every 0", "--every"},
    };
    char *other = read_text("other.csv"), *cut = read_text("short.csv");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) expect_complaint(mistakes[i][0], 2, mistakes[i][1]);
    char *other_after = read_text("other.csv"), *cut_after = read_text("short.csv");
    assert_string_equal(other, other_after);
    assert_string_equal(cut, cut_after);
    free(other), free(cut), free(other_after), free(cut_after);
    expect_complaint("chain:n=3 --checkpoint nowhere/run.cal", 1, "cannot write 'nowhere/run.cal'");
}

static int create_folder(void** unused) {
    (void)unused;
    const char* command = getenv("CALDER_COMMAND");
    if (!command || command[0] != '/') {
        fprintf(stderr, "CALDER_COMMAND is not set to a path from the root\n");
        return -1;
    }
    return cal_test_folder() ? chdir(cal_test_folder()) : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_being_killed),
        cmocka_unit_test(survives_a_killed_rank),
        cmocka_unit_test(names_a_rank_that_does_not_end),
        cmocka_unit_test(makes_a_run_longer),
        cmocka_unit_test(scenes_go_on),
        cmocka_unit_test(signals_end_an_advance),
        cmocka_unit_test(names_every_mistake),
    };
    return cmocka_run_group_tests(tests, create_folder, NULL);
}
