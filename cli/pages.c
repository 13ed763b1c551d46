// All that has a help of its own.
#include "pages.h"

#include <stdio.h>
#include <string.h>

#include "bench.h"

enum { GENERAL_PAGES = 2 };

// The command at a place in the list of pages, and of 'bench' the benchmark; false past the last one.
static bool find(int place, const cal_command** command, const cal_benchmark** benchmark) {
    *benchmark = NULL;
    for (int i = 0; (*command = cal_command_at(i)) != NULL; i++) {
        if (strcmp((*command)->name, "bench") != 0) {
            if (place-- == 0) return true;
            continue;
        }
        for (int k = 0; (*benchmark = cal_benchmark_at(k)) != NULL; k++)
            if (place-- == 0) return true;
    }
    return false;
}

void cal_page_words(int index, const char* words[2]) {
    const cal_command* command;
    const cal_benchmark* benchmark;
    words[0] = words[1] = NULL;
    if (index < GENERAL_PAGES || !find(index - GENERAL_PAGES, &command, &benchmark)) return;
    words[0] = command->name;
    words[1] = benchmark ? benchmark->name : NULL;
}

const char* cal_page_name(int index) {
    static char name[64];
    const char* words[2];
    if (index == 0) return "calder";
    if (index == 1) return "calder-models";
    cal_page_words(index, words);
    if (!words[0]) return NULL;
    snprintf(name, sizeof name, "calder-%s%s%s", words[0], words[1] ? "-" : "", words[1] ? words[1] : "");
    return name;
}

int cal_page_visit(int index, cal_help_printer* print, void* user) {
    const cal_command* command;
    const cal_benchmark* benchmark;
    char name[32], what[32], help[] = "--help";
    char* line[] = {name, help, NULL, NULL};
    if (index < GENERAL_PAGES || !find(index - GENERAL_PAGES, &command, &benchmark)) return CAL_EXIT_MISTAKE;
    snprintf(name, sizeof name, "%s", command->name);
    if (benchmark) {
        snprintf(what, sizeof what, "%s", benchmark->name);
        line[1] = what;
        line[2] = help;
    }
    cal_options_set_printer(print, user);
    const int status = command->run(benchmark ? 3 : 2, line);
    cal_options_set_printer(NULL, NULL);
    return status;
}
