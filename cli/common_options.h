// Options that several commands have, as lines for their tables, so that they read alike everywhere.
#pragma once
#include "command.h"
#include "machine.h"
#include "options.h"

#define CAL_OPTION_LINE_JSON(flag)                                                                                     \
    { "json", CAL_OPTION_FLAG, flag, NULL, "print one JSON object", 0, 0, NULL }
#define CAL_OPTION_LINE_LANES(text)                                                                                    \
    {                                                                                                                  \
        "lanes", CAL_OPTION_CHOICE, text, "W", "bodies that one instruction works on; 0: the processor's best", 0, 0,  \
            cal_lanes_choice                                                                                           \
    }
#define CAL_OPTION_LINE_MACHINE(text, help)                                                                            \
    { "machine", CAL_OPTION_TEXT, text, "NAME", help, 0, 0, NULL }
#define CAL_OPTION_LINE_PROCESSORS(text, help)                                                                         \
    { "processors", CAL_OPTION_TEXT, text, "LIST", help, 0, 0, NULL }
#define CAL_OPTION_LINE_PLOT(path, help)                                                                               \
    { "plot", CAL_OPTION_TEXT, path, "FILE", help, 0, 0, NULL }
