// Options of all commands from one table each: parsing, checking and help come from the same lines.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cal_option_kind {
    CAL_OPTION_FLAG,   // bool: no value
    CAL_OPTION_TEXT,   // const char*
    CAL_OPTION_TEXTS,  // cal_texts: may be given several times
    CAL_OPTION_NUMBER, // double, from least to most
    CAL_OPTION_COUNT,  // int64_t, from least to most
    CAL_OPTION_CHOICE  // const char*: one of choice(0), choice(1), … up to NULL
} cal_option_kind;

// Of one command, and texts of one option: a motion for each joint of a large robot.
enum { CAL_MOST_OPTIONS = 96, CAL_MOST_TEXTS = 64 };
typedef struct cal_texts {
    const char* items[CAL_MOST_TEXTS];
    int count;
} cal_texts;

typedef struct cal_option {
    const char* name; // without the dashes
    cal_option_kind kind;
    void* value;          // holds the default, which the help shows, and receives what the user gave
    const char* argument; // what the help calls the value
    const char* help;
    double least, most;
    const char* (*choice)(int index);
} cal_option;

typedef struct cal_usage {
    const char* command;   // "sim", "bench forward"
    const char* arguments; // "MODEL" or ""
    const char* summary;
    void (*details)(void); // prints more to standard output; may be NULL
    const char* example;
    int least_arguments, most_arguments;
} cal_usage;

#define CAL_OPTIONS_PARSED (-1)
#define CAL_ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Reads argv[1] and on. Returns CAL_OPTIONS_PARSED, with the plain arguments moved to argv[1] … argv[*argument_count], or
// the status to exit with: 0 after --help was answered, 2 after a complaint. An option that is given twice with two values is a
// mistake where it can have only one.
int cal_options_parse(const cal_usage* usage, const cal_option* options, size_t option_count, int argc, char** argv,
                      int* argument_count);
// The same, and says of each option whether it was given.
int cal_options_parse_given(const cal_usage* usage, const cal_option* options, size_t option_count, int argc,
                            char** argv, int* argument_count, bool* given);

// Answers --help in another form from now on (manual pages, completion); NULL: as text.
typedef void cal_help_printer(const cal_usage* usage, const cal_option* options, size_t option_count, void* user);
void cal_options_set_printer(cal_help_printer* printer, void* user);
// The default of an option as help shows it: " [1e-4]", or "".
void cal_option_preset(const cal_option* option, char* text, size_t capacity);
// Whether the value of an option names a file or a folder.
bool cal_option_is_file(const cal_option* option);
