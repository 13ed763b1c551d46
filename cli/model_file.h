// Models from the command line: a generator's specification or a file, and the options that all commands on models share.
#pragma once
#include "calder/calder_read.h"
#include "command.h"
#include "json.h"
#include "options.h"

typedef struct cal_model_options {
    bool strict, allow_outside, repair, free_base;
    const char* package_path; // folders separated by colons
    const char* disable;      // parts of the physics separated by commas
    const char* key;          // a keyframe to start from
    cal_texts moves;          // motions that are prescribed
} cal_model_options;

// Rows of an option table.
#define CAL_MODEL_FILE_OPTIONS(o)                                                                                      \
    {"strict",                                                                                                         \
     CAL_OPTION_FLAG,                                                                                                  \
     &(o).strict,                                                                                                      \
     NULL,                                                                                                             \
     "refuse a file of which a part is not understood or not simulated",                                               \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL},                                                                                                            \
        {"repair", CAL_OPTION_FLAG, &(o).repair, NULL, "make inertias possible that no body can have", 0, 0, NULL},    \
        {"free-base", CAL_OPTION_FLAG, &(o).free_base, NULL, "let the root link of a URDF float", 0, 0, NULL},         \
        {"allow-outside",                                                                                              \
         CAL_OPTION_FLAG,                                                                                              \
         &(o).allow_outside,                                                                                           \
         NULL,                                                                                                         \
         "let a file name others outside its folder",                                                                  \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
    {                                                                                                                  \
        "package-path", CAL_OPTION_TEXT, &(o).package_path, "DIRS",                                                    \
            "folders of packages, separated by colons, before those of ROS_PACKAGE_PATH", 0, 0, NULL                   \
    }
#define CAL_MODEL_PHYSICS_OPTIONS(o)                                                                                    \
    {"disable",                                                                                                         \
     CAL_OPTION_TEXT,                                                                                                   \
     &(o).disable,                                                                                                      \
     "PARTS",                                                                                                           \
     "leave out: constraint (all of equality, frictionloss, limit, contact), spring, damper, gravity, actuation, "      \
     "stiction",                                                                                                        \
     0,                                                                                                                 \
     0,                                                                                                                 \
     NULL},                                                                                                             \
        {"move",                                                                                                        \
         CAL_OPTION_TEXTS,                                                                                              \
         &(o).moves,                                                                                                    \
         "MOTION",                                                                                                      \
         "JOINT:key=number,…: move a joint as prescribed, by offset + speed t + amplitude sin(2π hertz t + phase); " \
         "may "                                                                                                         \
         "be given again",                                                                                              \
         0,                                                                                                             \
         0,                                                                                                             \
         NULL},                                                                                                         \
    {                                                                                                                   \
        "key", CAL_OPTION_TEXT, &(o).key, "NAME", "start from this keyframe of the file", 0, 0, NULL                    \
    }

// Whether two names are one file, also where a link leads to it; or will be, in one folder.
bool cal_is_same_file(const char* a, const char* b);
// Whether an argument names a file rather than a generator.
bool cal_is_model_file(const char* argument);
// Makes the model; returns CAL_EXIT_DONE or complains. report (may be NULL, then one line on standard error says that there
// is something to know) is NULL for generators; the caller destroys it.
int cal_model_open(const char* argument, const cal_model_options* options, cal_model** out, cal_read_report** report);
// One line on standard error when a file has something that is not simulated; report may be NULL. A command says it when it
// has done its work, so that a complaint stays the only line.
void cal_mention_issues(const char* argument, const cal_read_report* report);
// The same for the command that lists them itself.
void cal_mention_listed_issues(const char* argument, const cal_read_report* report);
// What a reader noticed, as text and as an array "issues" of an open object; report may be NULL.
void cal_print_issues(const cal_read_report* report);
void cal_json_issues(cal_json* json, const cal_read_report* report);
