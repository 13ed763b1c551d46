// What every command shares: exit statuses, complaints, models from the command line, clocks.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "calder/calder.h"

#define CAL_EXIT_DONE 0    // did what was asked
#define CAL_EXIT_FAILED 1  // failed while running
#define CAL_EXIT_MISTAKE 2 // the call or the input is wrong

int cal_command_sim(int argc, char** argv);
int cal_command_view(int argc, char** argv);
int cal_command_info(int argc, char** argv);
int cal_command_eval(int argc, char** argv);
int cal_command_convert(int argc, char** argv);
int cal_command_plan(int argc, char** argv);
int cal_command_bench(int argc, char** argv);
int cal_command_report(int argc, char** argv);
int cal_command_manual(int argc, char** argv);
int cal_command_completion(int argc, char** argv);

// A command, or a benchmark of 'bench'.
typedef struct cal_command {
    const char* name;
    int (*run)(int argc, char** argv);
    const char* help;
} cal_command;
const cal_command* cal_command_at(int index); // NULL past the last one

// Does what a command line asks for; returns the exit status.
int cal_command_line(int argc, char** argv);

// Writes one line "calder: …" to standard error and returns the exit status, so that a command can `return` it.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int cal_complain(int exit_status, const char* format, ...);
// The same for what the library reported: 2 when the caller can mend it, 1 otherwise.
int cal_complain_error(const cal_error* error);
// Whether complaints with an exit status are also a JSON object on standard output, {"error": "…", "exit": 2}: the first one.
void cal_complain_as_json(bool wanted);
// The last line of cal_complain, or "".
const char* cal_last_complaint(void);

// Makes the model that an argument names; returns CAL_EXIT_DONE or complains.
int cal_model_from_argument(const char* argument, cal_model** out);
// Flushes standard output; complains when what was written there did not arrive.
int cal_finish_output(int exit_status);
// What Ctrl-C calls, SIGTERM, as batch systems send it, and SIGHUP, when a terminal goes (not under nohup). A second one ends the process at
// once. SIG_IGN is allowed.
void cal_watch_ends(void (*handler)(int));

double cal_wall_seconds(void);

// The widths that --lanes allows, as texts; NULL past the last one.
const char* cal_lanes_choice(int index);

// The known name nearest to a text; NULL when none is near.
const char* cal_nearest_name(const char* text, const char* const* names, int count);

// Adds uniform noise from ±spread to positions and velocities (quaternions stay of unit length); equal seeds give equal
// noise on every machine. Either array may be NULL.
void cal_scatter(const cal_model* model, uint64_t* seed, double spread, double* q, double* v);
// A number from -1 to 1.
double cal_random(uint64_t* seed);
