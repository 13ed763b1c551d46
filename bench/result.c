// What the results of all benchmarks begin with.
#include "result.h"

#include <stdio.h>
#include <string.h>

#include "calder/calder.h"
#include "machine.h"

#if defined(__clang__)
static const char compiler[] = "clang " __clang_version__;
#else
static const char compiler[] = "gcc " __VERSION__;
#endif

static const char* processor_name(void) {
    static char text[128] = "unknown";
    FILE* file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        const char* colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(text, sizeof text, "%s", colon + 2);
        text[strcspn(text, "\n")] = '\0';
        break;
    }
    if (file) fclose(file);
    return text;
}

const char* cal_host_text(void) {
    static char text[256];
    const int cores = cal_core_count();
    snprintf(text, sizeof text, "%s, %d core%s, %s", processor_name(), cores, cores == 1 ? "" : "s", compiler);
    return text;
}

cal_json cal_result_open(const char* command) {
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "command", command);
    cal_json_text(&json, "version", cal_version());
    if (cal_commit[0]) cal_json_text(&json, "commit", cal_commit);
    cal_json_text(&json, "processor", processor_name());
    cal_json_integer(&json, "cores", cal_core_count());
    cal_json_text(&json, "compiler", compiler);
    return json;
}
