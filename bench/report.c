// `calder report`: one HTML file with the results of all benchmarks, the papers' numbers beside ours. From result files
// (`--json` of the benchmarks), or from runs of its own in their short form.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calder/calder_record.h"
#include "command.h"
#include "options.h"
#include "progress.h"

#ifdef CALDER_HAVE_JANSSON
#include "report.h"

extern char** environ;

enum { MOST_ARGUMENTS = 8, MOST_FILES = 64 };

// What is run when no files are given, each in at most half a minute or so; --full runs all of it.
static const struct {
    const char* arguments[MOST_ARGUMENTS];
    const char* full[MOST_ARGUMENTS];
} runs[] = {
    {{"bench", "forward", "--json"}, {"bench", "forward", "--peers", "--json"}},
    {{"bench", "solvers", "--session", "A", "--json"}, {"bench", "solvers", "--session", "all", "--json"}},
    {{"bench", "scale", "mobile:s=3,l=5,o=9,plateau=printed,start=0.8", "--json"},
     {"bench", "scale", "mobile:s=4,l=5,o=9,plateau=printed,start=0.8", "--json"}},
    {{"bench", "distribution", "--json"}, {"bench", "distribution", "--json"}},
    {{"bench", "tree-machine", "--json"}, {"bench", "tree-machine", "--json"}},
};

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light "
    "dark;--ink:#1d1f23;--soft:#5d6470;--line:#d9d4ca;--page:#fbfaf7;--good:#1a7f47;--bad:#b3261e}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#eceff4;--soft:#a3adbb;--line:#39414d;--page:#15181d;--good:#5ccf8f;"
    "--bad:#ff8a80}}\n"
    "body{margin:0 auto;padding:24px 18px 60px;max-width:1080px;background:var(--page);color:var(--ink);"
    "font:15px/1.5 system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
    "h1{margin:0;font-size:28px}h2{margin:44px 0 2px;font-size:20px}h3{margin:22px 0 4px;font-size:16px}\n"
    "p{margin:2px 0 10px;color:var(--soft)}p,h2,h3{overflow-wrap:anywhere}.wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:4px 12px 4px 0;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\n"
    "th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:500}\n"
    "small{display:block;color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}\n"
    "td:first-child small{min-width:160px;max-width:270px;white-space:normal;overflow-wrap:anywhere}\n"
    "svg{display:block;max-width:100%;height:auto;margin:12px 0}\n"
    "</style>\n";

static void write_opening(FILE* file, bool own) {
    char date[64];
    const time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts);
    fprintf(file,
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>Calder: benchmarks</title>\n%s<h1>Calder: benchmarks</h1>\n"
            "<p>calder %s, %s. %s Numbers of the papers stand beside ours where a paper gives them.</p>\n",
            style, cal_version(), date,
            own ? "Measured on this machine, in short form; what else the machine did meanwhile is in the times."
                : "From result files, as they were measured.");
}

// --- Results from files ---------------------------------------------------------------------------------------------------

static const char* base_name(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// A file holds one result, or one per line; the lines of one file become rows of one result.
static int add_file(FILE* out, const char* path) {
    json_error_t error;
    FILE* file = fopen(path, "r");
    if (!file) return cal_complain(CAL_EXIT_MISTAKE, "cannot read '%s': %s", path, strerror(errno));
    json_t* rows = json_array();
    json_t* first = NULL;
    int status = CAL_EXIT_DONE;
    while (status == CAL_EXIT_DONE) {
        json_t* result = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error);
        if (!result && json_error_code(&error) == json_error_premature_end_of_input && first) break;
        if (!json_is_object(result)) {
            status = cal_complain(CAL_EXIT_MISTAKE, "'%s', line %d: not a result of a benchmark's --json: %s", path,
                                  error.line, result ? "not an object" : error.text);
            json_decref(result);
            break;
        }
        if (!first) first = json_incref(result);
        json_array_append_new(rows, result);
    }
    fclose(file);
    if (status == CAL_EXIT_DONE && json_array_size(rows) == 1) {
        cal_report_section(out, first, base_name(path));
    } else if (status == CAL_EXIT_DONE) {
        json_t* together = json_pack("{s:O}", "rows", rows);
        if (together) cal_report_section(out, together, base_name(path));
        json_decref(together);
    }
    json_decref(first);
    json_decref(rows);
    return status;
}

// --- Results of our own -----------------------------------------------------------------------------------------------------

// Runs this very program and reads what it prints.
static json_t* run_self(const char* const* arguments, char* reason, size_t capacity) {
    char program[] = "calder", texts[MOST_ARGUMENTS][64];
    char* line[MOST_ARGUMENTS + 2] = {program};
    int count = 1, ends[2], status = 0;
    for (; arguments[count - 1]; count++) {
        snprintf(texts[count - 1], sizeof texts[0], "%s", arguments[count - 1]);
        line[count] = texts[count - 1];
    }
    snprintf(reason, capacity, "it could not be started");
    if (pipe(ends) != 0) return NULL;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    pid_t process = 0;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        failure = posix_spawn(&process, "/proc/self/exe", &actions, NULL, line, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    FILE* file = failure == 0 ? fdopen(ends[0], "r") : NULL;
    if (!file) {
        close(ends[0]);
        return NULL;
    }
    json_error_t error;
    json_t* result = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error);
    fclose(file);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {}
    if (result && WIFEXITED(status) && WEXITSTATUS(status) == 0) return result;
    snprintf(reason, capacity, "it ended with status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    json_decref(result);
    return NULL;
}

static int add_own(FILE* out, bool full) {
    const size_t run_count = CAL_ARRAY_COUNT(runs);
    cal_progress progress = cal_progress_start("measuring");
    for (size_t i = 0; i < run_count; i++) {
        const char* const* arguments = full ? runs[i].full : runs[i].arguments;
        char name[256] = "calder", reason[64];
        for (int k = 0; arguments[k]; k++) {
            const size_t used = strlen(name);
            snprintf(name + used, sizeof name - used, " %s", arguments[k]);
        }
        cal_progress_show(&progress, (double)i / (double)run_count);
        json_t* result = run_self(arguments, reason, sizeof reason);
        if (!result) {
            cal_progress_end(&progress);
            return cal_complain(CAL_EXIT_FAILED, "'%s' gave no result: %s", name, reason);
        }
        cal_report_section(out, result, name);
        json_decref(result);
    }
    cal_progress_end(&progress);
    return CAL_EXIT_DONE;
}

static int write_report(const char* path, int file_count, char** files, bool full) {
    cal_whole_file* whole = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_whole_file_create(path, &whole, &error) != CAL_OK) return cal_complain_error(&error);
    FILE* out = cal_whole_file_stream(whole);
    int status = CAL_EXIT_DONE;
    write_opening(out, file_count == 0);
    for (int i = 0; i < file_count && status == CAL_EXIT_DONE; i++) status = add_file(out, files[i]);
    if (file_count == 0) status = add_own(out, full);
    fputs("</html>\n", out);
    // Half a report would look like a whole one.
    if (cal_whole_file_close(whole, status == CAL_EXIT_DONE, &error) != CAL_OK) status = cal_complain_error(&error);
    return status;
}
#endif

int cal_command_report(int argc, char** argv) {
    const char* path = "report.html";
    bool full = false, json = false;
    const cal_option table[] = {
        {"out", CAL_OPTION_TEXT, &path, "FILE", "where to write it", 0, 0, NULL},
        {"full", CAL_OPTION_FLAG, &full, NULL, "without files: run everything, not only the short forms (minutes)", 0,
         0, NULL},
        {"json", CAL_OPTION_FLAG, &json, NULL, "print the file's name as a JSON object", 0, 0, NULL},
    };
    const cal_usage usage = {
        "report",
        "[RESULT.json …]",
        "Writes an HTML report of benchmarks, the papers' numbers and figures beside ours: of the\n"
        "results in files, or, without any, of benchmarks that it runs itself in their short form.",
        NULL,
        "calder report bench/results/*.json --out report.html",
        0,
        64};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
#ifdef CALDER_HAVE_JANSSON
    status = write_report(path, count, argv + 1, full);
    if (status != CAL_EXIT_DONE) return status;
    if (json)
        printf("{\"report\": \"%s\"}\n", path);
    else
        printf("%-13s %s\n", "written", path);
    return cal_finish_output(CAL_EXIT_DONE);
#else
    return cal_complain(CAL_EXIT_MISTAKE,
                        "report was left out of this build: it needs jansson (Debian: libjansson-dev)");
#endif
}
