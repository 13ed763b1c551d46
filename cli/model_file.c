// Models from files: options into a reader's options, its report for the user.
#include "model_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "calder/calder_world.h"
#include "motions.h"
#include "run_open.h"

#define MOST_PACKAGE_PATHS 64

static bool ends_with(const char* text, const char* end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcasecmp(text + length - end_length, end) == 0;
}

static bool is_same_entry(const struct stat* a, const struct stat* b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// Of the folder that a file is in; what is left of its name.
static const char* look_at_folder(const char* path, struct stat* out, bool* there) {
    const char* name = strrchr(path, '/');
    char* folder = name == NULL ? strdup(".") : strndup(path, (size_t)(name - path) + 1);
    *there = folder != NULL && stat(folder, out) == 0;
    free(folder);
    return name == NULL ? path : name + 1;
}

bool cal_is_same_file(const char* a, const char* b) {
    struct stat of_a, of_b;
    bool a_there = stat(a, &of_a) == 0, b_there = stat(b, &of_b) == 0;
    if (strcmp(a, b) == 0) return true;
    // A terminal, or nowhere, may be named twice.
    if (a_there || b_there) return a_there && b_there && S_ISREG(of_a.st_mode) && is_same_entry(&of_a, &of_b);
    const char *name_a = look_at_folder(a, &of_a, &a_there), *name_b = look_at_folder(b, &of_b, &b_there);
    return a_there && b_there && is_same_entry(&of_a, &of_b) && strcmp(name_a, name_b) == 0;
}

bool cal_is_model_file(const char* argument) {
    return ends_with(argument, ".xml") || ends_with(argument, ".urdf") || ends_with(argument, ".mjcf");
}

// Splits a list at its colons, in place; returns how many parts it has, at most `capacity` of which are stored.
static int split(char* text, const char** parts, int capacity) {
    int count = 0;
    for (char* part = strtok(text, ":"); part; part = strtok(NULL, ":")) {
        if (count < capacity) parts[count] = part;
        count++;
    }
    return count;
}

static int parse_parts(const char* list, uint32_t* bits) {
    *bits = 0;
    for (const char* part = list; part && *part;) {
        size_t length = strcspn(part, ",");
        uint32_t found = 0;
        for (int i = 0; cal_part_name(i, NULL); i++) {
            uint32_t candidate;
            const char* name = cal_part_name(i, &candidate);
            if (strlen(name) == length && memcmp(name, part, length) == 0) found = candidate;
        }
        if (found == 0) {
            char names[160] = "";
            for (int i = 0; cal_part_name(i, NULL); i++)
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                         cal_part_name(i, NULL));
            return cal_complain(CAL_EXIT_MISTAKE, "--disable '%.*s' is not known; allowed: %s", (int)length, part,
                                names);
        }
        *bits |= found;
        part += length + (part[length] == ',');
    }
    return CAL_EXIT_DONE;
}

// Appends to a line, which is cut where it is full.
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
append(char* line, size_t capacity, const char* format, ...) {
    const size_t used = strlen(line);
    va_list list;
    va_start(list, format);
    vsnprintf(line + used, capacity - used, format, list);
    va_end(list);
}

// "3 tendons" for elements, "geom solref" for attributes.
static void append_issue(char* line, size_t capacity, const cal_issue* issue) {
    const size_t length = strlen(issue->element);
    if (length > 2 && issue->element[0] == '<')
        append(line, capacity, "%d %.*s%s", issue->count, (int)length - 2, issue->element + 1,
               issue->count > 1 ? "s" : "");
    else
        append(line, capacity, "%s", issue->element);
}

// What is not understood, not simulated and repaired, in one line; empty where there is nothing to say.
static void summarize_issues(const cal_read_report* report, char* line, size_t capacity) {
    enum { MOST_NAMED = 6 };
    static const cal_issue_kind kinds[] = {CAL_ISSUE_NOT_UNDERSTOOD, CAL_ISSUE_NOT_SIMULATED, CAL_ISSUE_REPAIRED};
    line[0] = '\0';
    for (size_t k = 0; report && k < CAL_ARRAY_COUNT(kinds); k++) {
        // What is left out comes first; settings that are ignored after it.
        const int count = cal_read_report_count(report);
        int found = 0;
        for (int i = 0; i < 2 * count; i++) {
            cal_issue issue;
            cal_read_report_issue(report, i % count, &issue);
            if (issue.kind != kinds[k] || (strncmp(issue.consequence, "ignored", 7) == 0) != (i >= count)) continue;
            if (found == 0)
                append(line, capacity, "%s%s: ", line[0] ? "; " : "", cal_issue_kind_name(kinds[k]));
            else if (found < MOST_NAMED)
                append(line, capacity, ", ");
            if (found++ < MOST_NAMED) append_issue(line, capacity, &issue);
        }
        if (found > MOST_NAMED) append(line, capacity, " and %d more", found - MOST_NAMED);
    }
}

void cal_mention_issues(const char* argument, const cal_read_report* report) {
    char line[700];
    summarize_issues(report, line, sizeof line);
    if (line[0]) cal_complain(0, "%s: %s; 'calder info %s' lists them", argument, line, argument);
}

void cal_mention_listed_issues(const char* argument, const cal_read_report* report) {
    char line[700];
    summarize_issues(report, line, sizeof line);
    if (line[0]) cal_complain(0, "%s: %s", argument, line);
}

static int read_file(const char* argument, const cal_model_options* options, cal_model** out,
                     cal_read_report** report) {
    const char* paths[MOST_PACKAGE_PATHS];
    const char* from_ros = getenv("ROS_PACKAGE_PATH");
    const char* given = options->package_path ? options->package_path : "";
    if (!from_ros) from_ros = "";
    char* text = malloc(strlen(given) + strlen(from_ros) + 2);
    if (!text) return cal_complain(CAL_EXIT_FAILED, "no memory for '%s'", argument);
    sprintf(text, "%s:%s", given, from_ros);
    int count = split(text, paths, MOST_PACKAGE_PATHS);
    cal_read_options how = cal_default_read_options();
    how.strict = options->strict;
    how.allow_outside = options->allow_outside;
    how.repair = options->repair;
    how.free_base = options->free_base;
    how.package_paths = paths;
    how.package_path_count = count < MOST_PACKAGE_PATHS ? count : MOST_PACKAGE_PATHS;
    cal_error error = {CAL_OK, ""};
    error.status = cal_model_read(argument, &how, out, report, &error);
    free(text);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// Leaves out what --disable names, and starts at --key.
static int vary(const cal_model_options* options, uint32_t disabled, const char* argument, cal_model** model) {
    int key = CAL_NONE;
    if (options->key) {
        key = cal_model_find_keyframe(*model, options->key);
        if (key == CAL_NONE && cal_model_keyframe_count(*model) == 0)
            return cal_complain(CAL_EXIT_MISTAKE, "%s has no keyframe '%s', and no other: leave --key out", argument,
                                options->key);
        if (key == CAL_NONE)
            return cal_complain(CAL_EXIT_MISTAKE, "%s has no keyframe '%s'; 'calder info %s' lists those that it has",
                                argument, options->key, argument);
    }
    if (disabled == 0 && key == CAL_NONE) return CAL_EXIT_DONE;
    cal_model* variant = NULL;
    cal_error error = {CAL_OK, ""};
    error.status = cal_model_variant(*model, disabled, key, &variant, &error);
    if (error.status != CAL_OK) return cal_complain_error(&error);
    cal_model_destroy(*model);
    *model = variant;
    return CAL_EXIT_DONE;
}

// The model of a generator; an argument that is none may be a scene, a misspelt name, or a file without its ending.
static int generate(const char* argument, cal_model** out) {
    enum { MOST = 64 };
    const char* names[MOST];
    char name[64];
    int count = 0;
    bool known = false;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, ":"), argument);
    for (int i = 0; cal_generator_name(i) && count < MOST; i++) names[count++] = cal_generator_name(i);
    for (int i = 0; i < count; i++) known |= strcmp(names[i], name) == 0;
    if (known) {
        cal_error error = {CAL_OK, ""};
        error.status = cal_model_generate(argument, out, &error);
        return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
    }
    if (cal_scene_of(argument) >= 0)
        return cal_complain(CAL_EXIT_MISTAKE,
                            "'%s' is a scene, for 'calder sim', 'calder view' and 'calder bench world'", name);
    for (int i = 0; cal_scene_name(i) && count < MOST; i++) names[count++] = cal_scene_name(i);
    const char* nearest = cal_nearest_name(name, names, count);
    return cal_complain(
        CAL_EXIT_MISTAKE,
        "there is no model '%s'%s%s%s; a file ends in .xml, .mjcf or .urdf, and 'calder help models' lists "
        "the rest",
        name, nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
}

int cal_model_open(const char* argument, const cal_model_options* options, cal_model** out, cal_read_report** report) {
    uint32_t disabled;
    *out = NULL;
    if (report) *report = NULL;
    int status = parse_parts(options->disable, &disabled);
    if (status != CAL_EXIT_DONE) return status;
    cal_read_report* read = NULL;
    if (cal_is_model_file(argument)) {
        status = read_file(argument, options, out, &read);
        if (status == CAL_EXIT_DONE && !report) cal_mention_issues(argument, read);
    } else {
        status = generate(argument, out);
    }
    if (status == CAL_EXIT_DONE) status = vary(options, disabled, argument, out);
    if (status == CAL_EXIT_DONE) status = cal_motions_add(&options->moves, out);
    if (status != CAL_EXIT_DONE) {
        cal_model_destroy(*out);
        *out = NULL;
    }
    if (report && status == CAL_EXIT_DONE)
        *report = read;
    else
        cal_read_report_destroy(read);
    return status;
}

void cal_print_issues(const cal_read_report* report) {
    if (!report) return;
    static const cal_issue_kind kinds[] = {CAL_ISSUE_NOT_UNDERSTOOD, CAL_ISSUE_NOT_SIMULATED, CAL_ISSUE_REPAIRED,
                                           CAL_ISSUE_NOTE};
    for (size_t k = 0; k < CAL_ARRAY_COUNT(kinds); k++) {
        bool any = false;
        for (int i = 0; i < cal_read_report_count(report); i++) {
            cal_issue issue;
            cal_read_report_issue(report, i, &issue);
            if (issue.kind != kinds[k]) continue;
            if (!any) printf("\n%s\n", cal_issue_kind_name(kinds[k]));
            any = true;
            printf("  %s:%d: %s", issue.file, issue.line, issue.element);
            if (issue.count > 1) printf(" (%d times)", issue.count);
            printf(": %s\n", issue.consequence);
        }
    }
}

void cal_json_issues(cal_json* json, const cal_read_report* report) {
    cal_json_open(json, "issues", '[');
    for (int i = 0; report && i < cal_read_report_count(report); i++) {
        cal_issue issue;
        cal_read_report_issue(report, i, &issue);
        cal_json_open(json, NULL, '{');
        cal_json_text(json, "kind", cal_issue_kind_name(issue.kind));
        cal_json_text(json, "file", issue.file);
        cal_json_integer(json, "line", issue.line);
        cal_json_text(json, "element", issue.element);
        cal_json_integer(json, "count", issue.count);
        cal_json_text(json, "consequence", issue.consequence);
        cal_json_close(json, '}');
    }
    cal_json_close(json, ']');
}
