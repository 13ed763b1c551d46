// What `calder view` of a model and of a world share.
#pragma once
#include "calder/calder_view.h"
#include "command.h"
#include "options.h"

typedef struct cal_view_options {
    const char* listen;
    int64_t port;
    bool open, paused, json;
} cal_view_options;

// Rows of an option table.
#define CAL_VIEW_OPTIONS(o)                                                                                            \
    {"port", CAL_OPTION_COUNT, &(o).port, "N", "port to listen at; 0: the first free one from 7878", 0, 65535, NULL},  \
        {"listen",                                                                                                     \
         CAL_OPTION_TEXT,                                                                                              \
         &(o).listen,                                                                                                  \
         "ADDRESS",                                                                                                    \
         "address to listen at; 0.0.0.0: everybody on the network can connect",                                        \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"open", CAL_OPTION_FLAG, &(o).open, NULL, "open the page in the desktop's browser", 0, 0, NULL},              \
        {"paused", CAL_OPTION_FLAG, &(o).paused, NULL, "wait for somebody to press space", 0, 0, NULL}, {              \
        "json", CAL_OPTION_FLAG, &(o).json, NULL, "print the address as a JSON object", 0, 0, NULL                     \
    }

// Fills in what the options say; complains when this build has no page.
int cal_view_prepare(const cal_view_options* options, const char* title, cal_viewer_def* def);
// One line on standard error when others than this machine can connect.
void cal_view_warn(const cal_view_options* options);
// Says where it is, serves until Ctrl-C, and destroys the viewer.
int cal_view_serve(cal_viewer* viewer, const char* title, const cal_view_options* options);
// `calder view SCENE`.
int cal_view_world(int argc, char** argv);
