// Worlds on the command line: scenes and what can be asked of them.
#include "world_options.h"

#include <stdio.h>
#include <string.h>

static const char* const loops[] = {"timewarp", "retroactive", "conservative", NULL};
static const char* const groups[] = {"implicit", "penalty", NULL};

const char* cal_loop_choice(int index) { return loops[index]; }
const char* cal_group_choice(int index) { return groups[index]; }

cal_world_options cal_default_world_options(void) {
    return (cal_world_options){
        .loop = "timewarp", .group = "implicit", .step = 0.01, .restitution = -1, .friction = -1};
}

cal_world_def cal_world_def_of(const cal_world_options* options) {
    cal_world_def def = cal_default_world_def();
    while (strcmp(loops[def.loop], options->loop) != 0) def.loop++;
    def.step = options->step;
    def.group = options->group;
    def.restitution = options->restitution;
    def.friction = options->friction;
    def.separate = options->separate;
    return def;
}

int cal_scene_of(const char* argument) {
    const size_t length = strcspn(argument, ":");
    for (int i = 0; cal_scene_name(i); i++)
        if (strlen(cal_scene_name(i)) == length && strncmp(cal_scene_name(i), argument, length) == 0) return i;
    return -1;
}

// Whether what follows an argument is that argument's value: it is an option, and none of the worlds' flags.
static bool takes_next(const char* argument) {
    static const char* const flags[] = {"json", "open", "paused", "separate", "check-rules"};
    if (strncmp(argument, "--", 2) != 0 || strchr(argument, '=')) return false;
    for (size_t i = 0; i < CAL_ARRAY_COUNT(flags); i++)
        if (strcmp(argument + 2, flags[i]) == 0) return false;
    return true;
}

bool cal_asks_for_scene(int argc, char** argv) {
    for (int i = 1; i < argc; i++)
        if (cal_scene_of(argv[i]) >= 0 && (i == 1 || i + 1 == argc || !takes_next(argv[i - 1]))) return true;
    return false;
}

void cal_print_scenes(void) {
    printf("\nscenes:\n");
    for (int i = 0; cal_scene_name(i); i++)
        printf("  %-10s %.*s; the paper ran it for %g s\n", cal_scene_name(i), (int)strcspn(cal_scene_help(i), "\n"),
               cal_scene_help(i), cal_scene_duration(i));
}
