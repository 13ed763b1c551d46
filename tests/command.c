// Running the command in a folder of the test's own.
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#ifdef CALDER_HAVE_JANSSON
#include <jansson.h>
#endif

char* cal_test_read_file(const char* name) {
    char path[CAL_TEST_PATH];
    cal_test_path(path, name);
    FILE* file = fopen(path, "rb");
    if (!file) fail_msg("'%s' was not written", name);
    char* text = NULL;
    size_t size = 0, capacity = 0, count = 0;
    do {
        size += count;
        capacity = size + 65536;
        text = realloc(text, capacity);
        assert_non_null(text);
    } while ((count = fread(text + size, 1, capacity - size - 1, file)) > 0);
    text[size] = '\0';
    fclose(file);
    return text;
}

void cal_test_write_file(const char* name, const char* text) {
    char path[CAL_TEST_PATH];
    cal_test_path(path, name);
    FILE* file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// Runs `calder ARGUMENTS` in the test's folder; before goes in front of it.
cal_test_outcome cal_test_run_after(const char* before, const char* arguments) {
    char line[2048];
    snprintf(line, sizeof line, "cd %s && %s \"$CALDER_COMMAND\" %s >out 2>err", cal_test_folder(), before, arguments);
    int status = system(line);
    return (cal_test_outcome){WIFEXITED(status) ? WEXITSTATUS(status) : -1, cal_test_read_file("out"),
                              cal_test_read_file("err")};
}

cal_test_outcome cal_test_run(const char* arguments) { return cal_test_run_after("", arguments); }

void cal_test_release(cal_test_outcome* o) {
    free(o->out);
    free(o->err);
}

cal_test_outcome cal_test_run_well(const char* arguments) {
    cal_test_outcome o = cal_test_run(arguments);
    if (o.status != 0) fail_msg("calder %s: exit status %d: %s", arguments, o.status, o.err);
    return o;
}

int cal_test_count_lines(const char* text) {
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

// A wrong call or input: status 2, nothing on standard output, one line that begins with "calder: " and has the words.
void cal_test_expect_mistake(const char* arguments, const char* words) {
    cal_test_outcome o = cal_test_run(arguments);
    if (o.status != 2) fail_msg("calder %s: exit status %d instead of 2: %s", arguments, o.status, o.err);
    // With --json the error is an object there, too.
    const bool json = strstr(arguments, "--json") && strncmp(o.out, "{\"error\": ", 10) == 0;
    if (o.out[0] && !(json && strstr(o.out, words))) fail_msg("calder %s: wrote to standard output", arguments);
    if (strncmp(o.err, "calder: ", 8) != 0 || cal_test_count_lines(o.err) != 1)
        fail_msg("calder %s: not one line: %s", arguments, o.err);
    if (!strstr(o.err, words)) fail_msg("calder %s: '%s' is missing in: %s", arguments, words, o.err);
    cal_test_release(&o);
}

// One JSON object on one line, and nothing else; keys are separated by spaces.
void cal_test_expect_json(const char* arguments, const char* keys) {
    cal_test_outcome o = cal_test_run_well(arguments);
    assert_int_equal(cal_test_count_lines(o.out), 1);
#ifdef CALDER_HAVE_JANSSON
    json_error_t error;
    json_t* root = json_loads(o.out, JSON_REJECT_DUPLICATES, &error);
    if (!root || !json_is_object(root)) fail_msg("calder %s: %s", arguments, error.text);
    json_decref(root);
#endif
    char list[512], quoted[64];
    snprintf(list, sizeof list, "%s", keys);
    for (char* key = strtok(list, " "); key; key = strtok(NULL, " ")) {
        snprintf(quoted, sizeof quoted, "\"%s\":", key);
        if (!strstr(o.out, quoted)) fail_msg("calder %s: no key '%s'", arguments, key);
    }
    cal_test_release(&o);
}

double cal_test_number_after(const char* text, const char* key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char* found = strstr(text, quoted);
    if (!found) fail_msg("no key '%s'", key);
    return found ? strtod(found + strlen(quoted), NULL) : 0;
}

int cal_test_create_folder(void** unused) {
    (void)unused;
    if (!getenv("CALDER_COMMAND")) {
        fprintf(stderr, "CALDER_COMMAND is not set\n");
        return -1;
    }
    return cal_test_folder() ? 0 : -1;
}
