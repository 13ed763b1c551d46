// Command lines from anywhere, an argument a line. What would take long (a viewer, benchmarks, large numbers) or reach out of the
// process (ranks, other machines, files of others) is left out.
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "calder/calder_world.h"
#include "../place.h"
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16 };

static bool is_left_out(const char* argument) {
    static const char* const words[] = {"view", "bench", "mpi", "cuda", "threads", "/", "report", "pinned"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(argument, words[i])) return true;
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
        good = good && !is_left_out(at) && strlen(at) < 100;
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
