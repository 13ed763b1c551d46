// What every command shares.
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "model_file.h"

static bool as_json;
void cal_complain_as_json(bool wanted) { as_json = wanted; }

static char last_complaint[1024];
const char* cal_last_complaint(void) { return last_complaint; }

int cal_complain(int exit_status, const char* format, ...) {
    char* text = last_complaint;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof last_complaint, format, list);
    va_end(list);
    // A complaint is one line whatever the user's text contained.
    for (char* p = text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 127) *p = ' ';
    }
    fflush(stdout);
    // A progress bar may stand on the line.
    if (isatty(STDERR_FILENO) == 1) fputs("\r\033[K", stderr);
    fprintf(stderr, "calder: %s\n", text);
    if (as_json && exit_status != CAL_EXIT_DONE) {
        cal_json json = {.file = stdout};
        cal_json_open(&json, NULL, '{');
        cal_json_text(&json, "error", text);
        cal_json_integer(&json, "exit", exit_status);
        cal_json_close(&json, '}');
        fflush(stdout);
        as_json = false;
    }
    return exit_status;
}

int cal_complain_error(const cal_error* error) {
    bool mistake =
        error->status == CAL_BAD_ARGUMENT || error->status == CAL_BAD_MODEL || error->status == CAL_NOT_AVAILABLE;
    const char* text = error->text[0] ? error->text : cal_status_text(error->status);
    return cal_complain(mistake ? CAL_EXIT_MISTAKE : CAL_EXIT_FAILED, "%s", text);
}

int cal_model_from_argument(const char* argument, cal_model** out) {
    const cal_model_options plain = {0};
    return cal_model_open(argument, &plain, out, NULL);
}

int cal_finish_output(int exit_status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return exit_status;
    return cal_complain(CAL_EXIT_FAILED, "cannot write to standard output: %s", strerror(errno ? errno : EIO));
}

void cal_watch_ends(void (*handler)(int)) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        const bool kept = signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!kept) sigaction(signals[i], &action, NULL);
    }
}

double cal_wall_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char* cal_lanes_choice(int index) {
    static const char* const widths[] = {"0", "1", "2", "4", "8", NULL};
    return widths[index];
}

// Edits (insert, drop, replace, swap of neighbours) that turn one text into the other; texts over 31 bytes are far apart.
static int edit_distance(const char* a, const char* b) {
    enum { LONGEST = 31 };
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST;
    int table[LONGEST + 1][LONGEST + 1];
    for (int i = 0; i <= n; i++) {
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            int best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (table[i - 1][j] + 1 < best) best = table[i - 1][j] + 1;
            if (table[i][j - 1] + 1 < best) best = table[i][j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && table[i - 2][j - 2] + 1 < best) best = table[i - 2][j - 2] + 1;
            table[i][j] = best;
        }
    }
    return table[n][m];
}

const char* cal_nearest_name(const char* text, const char* const* names, int count) {
    const char* nearest = NULL;
    int length = (int)strlen(text);
    int least = 1 + (length > 6 ? length / 3 : 2);
    for (int i = 0; i < count; i++) {
        int distance = edit_distance(text, names[i]);
        if (distance < least && distance < length) {
            least = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

// SplitMix64 (Steele, Lea, Flood 2014), its upper 53 bits.
double cal_random(uint64_t* seed) {
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return 2.0 * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53) - 1.0;
}

void cal_scatter(const cal_model* model, uint64_t* seed, double spread, double* q, double* v) {
    for (int joint = 0; q && joint < cal_model_joint_count(model); joint++) {
        cal_joint_def def;
        int first;
        cal_model_joint(model, joint, &def, NULL, &first, NULL);
        int count = cal_joint_q_count(def.kind);
        for (int i = 0; i < count; i++) q[first + i] += spread * cal_random(seed);
        if (count < 4) continue;
        double* quaternion = q + first + count - 4;
        double square = 0;
        for (int i = 0; i < 4; i++) square += quaternion[i] * quaternion[i];
        if (square == 0) quaternion[0] = square = 1;
        for (int i = 0; i < 4; i++) quaternion[i] /= sqrt(square);
    }
    for (int i = 0; v && i < cal_model_v_count(model); i++) v[i] += spread * cal_random(seed);
}
