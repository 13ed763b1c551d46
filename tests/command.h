// Running the command as a user or a script does, in a folder of the test's own. CALDER_COMMAND names the executable.
#pragma once
#include "support.h"

typedef struct cal_test_outcome {
    int status; // exit status; -1 when a signal ended it
    char* out;
    char* err;
} cal_test_outcome;

// For cmocka: the folder, before the first test and after the last one.
int cal_test_create_folder(void** unused);

// Runs `calder ARGUMENTS` in the folder; before goes in front of it. Release what comes back.
cal_test_outcome cal_test_run_after(const char* before, const char* arguments);
cal_test_outcome cal_test_run(const char* arguments);
cal_test_outcome cal_test_run_well(const char* arguments); // fails unless the status is 0
void cal_test_release(cal_test_outcome* o);

// Files of the folder; what is read is to be freed with free.
char* cal_test_read_file(const char* name);
void cal_test_write_file(const char* name, const char* text);

int cal_test_count_lines(const char* text);
// A wrong call or input: status 2, nothing on standard output, one line that begins with "calder: " and has the words.
void cal_test_expect_mistake(const char* arguments, const char* words);
// One JSON object on one line, and nothing else; keys are separated by spaces.
void cal_test_expect_json(const char* arguments, const char* keys);
// The number that follows a key in a JSON text.
double cal_test_number_after(const char* text, const char* key);
