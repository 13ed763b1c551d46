// The options that all commands on worlds of colliding bodies share.
#pragma once
#include "calder/calder_world.h"
#include "options.h"

typedef struct cal_world_options {
    const char* loop;
    const char* group;
    double step, restitution, friction;
    bool separate;
} cal_world_options;
cal_world_options cal_default_world_options(void);

// Rows of an option table.
#define CAL_WORLD_OPTIONS(o)                                                                                           \
    {"loop", CAL_OPTION_CHOICE, &(o).loop, "NAME", "how time goes on", 0, 0, cal_loop_choice},                         \
        {"step", CAL_OPTION_NUMBER, &(o).step, "S", "step of the retroactive loop", 1e-9, 1e3, NULL},                  \
        {"group", CAL_OPTION_CHOICE, &(o).group, "NAME", "integrator of contact groups", 0, 0, cal_group_choice},      \
        {"restitution", CAL_OPTION_NUMBER, &(o).restitution, "E", "of all collisions; -1: the scene's", -1, 1, NULL},  \
        {"friction", CAL_OPTION_NUMBER, &(o).friction, "MU", "of all contacts; -1: the scene's", -1, 1e3, NULL}, {     \
        "separate", CAL_OPTION_FLAG, &(o).separate, NULL, "move bodies apart that overlap at the start", 0, 0, NULL    \
    }

const char* cal_loop_choice(int index);
const char* cal_group_choice(int index);
// The definition of a world as they ask for it.
cal_world_def cal_world_def_of(const cal_world_options* options);
// The scene that an argument names, as cal_scene_name counts; -1: none.
int cal_scene_of(const char* argument);
// Whether a command line is about a scene. Worlds have options of their own, so that is looked for before anything is parsed.
bool cal_asks_for_scene(int argc, char** argv);
// A list of the scenes, for a command's help.
void cal_print_scenes(void);
