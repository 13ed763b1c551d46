// Command lines from anywhere, an argument a line. What would take long (a viewer, benchmarks, large numbers) or reach out of the
// process (ranks, other machines, files of others) is left out.
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "calder/calder_world.h"
#include "options.h"
#include "../place.h"
#include "change.h"
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 20 };

// --- Changes -------------------------------------------------------------------------------------------------------------

// The options of a command, as its help has them.
typedef struct table {
    cal_option rows[CAL_MOST_OPTIONS];
    size_t count;
} table;

static void note_options(const cal_usage* usage, const cal_option* options, size_t count, void* user) {
    table* all = user;
    (void)usage;
    memcpy(all->rows, options, count * sizeof *options);
    all->count = count;
}

static size_t make_value(fuzz_random* random, const cal_option* option, char* out, size_t room) {
    static const char* const texts[] = {"c",
                                        "a.csv",
                                        "a.glb",
                                        "a.html",
                                        "p.svg",
                                        "a.xml",
                                        "state",
                                        "projection",
                                        "baumgarte:5",
                                        "literal",
                                        "threads:2",
                                        "serial",
                                        "0.05:disconnect:hands",
                                        "0.02:catch:0",
                                        "euler,rk4",
                                        "balanced",
                                        "j0",
                                        "time,q,energy",
                                        "1..4",
                                        "0",
                                        "2",
                                        "auto",
                                        "hinge=0.2",
                                        "gravity"};
    int choices = 0;
    double number;
    if (fuzz_below(random, 12) == 0) return fuzz_number(random, out, room);
    switch (option->kind) {
    case CAL_OPTION_CHOICE:
        while (option->choice(choices) != NULL) choices++;
        return (size_t)snprintf(out, room, "%s", option->choice((int)fuzz_below(random, (size_t)choices)));
    case CAL_OPTION_COUNT:
        if (fuzz_below(random, 4) == 0)
            return (size_t)snprintf(out, room, "%.0f", fuzz_below(random, 2) ? option->least : option->most);
        return (size_t)snprintf(out, room, "%d", (int)fuzz_below(random, 6));
    case CAL_OPTION_NUMBER:
        if (fuzz_below(random, 3) == 0)
            return (size_t)snprintf(out, room, "%.17g", fuzz_below(random, 2) ? option->least : option->most);
        number = (double)fuzz_below(random, 1000) / (fuzz_below(random, 2) ? 1000 : 5000);
        return (size_t)snprintf(out, room, "%g", number);
    default: return (size_t)snprintf(out, room, "%s", texts[fuzz_below(random, sizeof texts / sizeof texts[0])]);
    }
}

// A command, a model, and some of the command's options.
static size_t make_line(fuzz_random* random, char* out, size_t room) {
    static const char* const commands[] = {"sim", "sim", "sim", "sim", "info", "eval", "plan", "convert"};
    static const char* const models[] = {"chain:n=3",
                                         "pendulum",
                                         "fivebar",
                                         "atoms:n=3",
                                         "mobile:s=1,l=2,o=2",
                                         "stickman:floor=1",
                                         "a.xml",
                                         "stack:n=2",
                                         "fourbar",
                                         "random:n=4",
                                         "chain:n=2,joint=ball",
                                         "cart",
                                         "governor",
                                         "net:n=2",
                                         "robots:n=2",
                                         "rolling_disk",
                                         "tree",
                                         "ring"};
    static table all[8];
    const size_t k = fuzz_below(random, 8);
    if (all[k].count == 0) {
        char calder[] = "calder", help[] = "--help", name[16];
        snprintf(name, sizeof name, "%s", commands[k]);
        char* line[] = {calder, name, help, NULL};
        cal_options_set_printer(note_options, &all[k]);
        cal_command_line(3, line);
        cal_options_set_printer(NULL, NULL);
    }
    size_t count = (size_t)snprintf(out, room, "%s\n%s", commands[k],
                                    models[fuzz_below(random, sizeof models / sizeof models[0])]);
    if (k < 4) count += (size_t)snprintf(out + count, room - count, "\n--time\n0.%d", 1 + (int)fuzz_below(random, 2));
    for (size_t left = fuzz_below(random, 7); left > 0 && count + 200 < room && all[k].count > 0; left--) {
        const cal_option* option = &all[k].rows[fuzz_below(random, all[k].count)];
        if (strcmp(option->name, "time") == 0) continue;
        count += (size_t)snprintf(out + count, room - count, "\n--%s", option->name);
        if (option->kind == CAL_OPTION_FLAG) continue;
        out[count++] = '\n';
        count += make_value(random, option, out + count, 100);
    }
    return count;
}

size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t room, unsigned seed) {
    static const char* const words[] = {
        "--json", "--time", "--out", "a.csv", "--checkpoint", "c",  "--resume", "--batch", "--solver", "gear",
        "rk4",    "--rps",  "3",     "--at",  "--save",       "--", "--help",   "",        NULL};
    fuzz_random random = {seed};
    if (fuzz_below(&random, 3) == 0) return fuzz_change_list(bytes, count, room, seed, "\n", words);
    char made[2048];
    const size_t length = make_line(&random, made, sizeof made);
    if (length > room) return count;
    memcpy(bytes, made, length);
    return length;
}

// --- The target ----------------------------------------------------------------------------------------------------------

// Options whose size is not the work's: any number.
static bool is_free(const char* option) {
    static const char* const names[] = {
        "--restitution",     "--friction",        "--seed",    "--alpha", "--beta", "--forcing", "--spread",
        "--position-radius", "--velocity-radius", "--gravity", "--scale"};
    for (size_t i = 0; option != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(option, names[i]) == 0) return true;
    return false;
}

static bool is_left_out(const char* argument, const char* before) {
    static const char* const words[] = {"view", "bench", "mpi", "cuda", "threads", "/", "report", "pinned"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(argument, words[i]) && strcmp(argument, "threads:2") != 0) return true;
    if (is_free(before)) return false;
    // A tolerance that a step of a moment has.
    if (before != NULL && strcmp(before, "--tol") == 0 && strtod(argument, NULL) >= 1e-9) return false;
    double small;
    // Steps and tolerances: how many there are is one over this.
    if (sscanf(argument, "0.%lf", &small) == 1 && strncmp(argument, "0.00", 4) == 0) return true;
    return fuzz_is_large(argument, 6);
}

// A scene takes the time of the paper, minutes of it, where it is given none.
static bool is_long(int count, char** arguments) {
    for (int i = 1; i < count; i++)
        if (strncmp(arguments[i], "--time", 6) == 0) return false;
    const char* name;
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "--world") == 0) return true; // a plan of one is measured until there were many events
    for (int k = 0; (name = cal_scene_name(k)) != NULL; k++)
        for (int i = 1; i < count; i++)
            if (strncmp(arguments[i], name, strlen(name)) == 0) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    static bool ready;
    char *text = fuzz_text(bytes, count), *arguments[MOST + 2], name[] = "calder";
    int used = 1;
    bool good = true;
    if (!ready && (!cal_test_folder() || chdir(cal_test_folder()) != 0)) abort();
    ready = true;
    arguments[0] = name;
    for (char* at = text; at && used <= MOST;) {
        char* end = strchr(at, '\n');
        if (end) *end = '\0';
        good = good && !is_left_out(at, arguments[used - 1]) && strlen(at) < 100;
        arguments[used++] = at;
        at = end ? end + 1 : NULL;
    }
    arguments[used] = NULL;
    fuzz_silence();
    if (good && !is_long(used, arguments)) {
        fuzz_limit_memory((size_t)32 << 20);
        const int status = cal_command_line(used, arguments);
        if (status < CAL_EXIT_DONE || status > CAL_EXIT_MISTAKE) abort();
        cal_complain_as_json(false);
    }
    free(text);
    return 0;
}
