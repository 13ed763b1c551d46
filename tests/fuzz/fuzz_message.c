// What a page sends, a message a line: read as the server reads it, and done to a small model. The first line is tried as
// the headers Host and Origin as well.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_run.h"
#include "fuzz.h"
#include "view/access.h"
#include "view/command.h"
#include "view/upload.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BODIES = 3, MESSAGES = 24 };

static cal_run* open_run(const cal_model* model) {
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    def.sim.relative = 1e-3;
    def.rests = true;
    if (cal_run_create_sim(model, &def, &run, NULL) != CAL_OK) abort();
    return run;
}

static void pose(cal_run* run, const cal_view_command* command) {
    double q[BODIES];
    memcpy(q, cal_run_q(run), sizeof q);
    if (command->index >= BODIES) return;
    q[command->index] = command->value;
    cal_run_set(run, cal_run_time(run), q, NULL, NULL);
}

// As the runner does it, without its thread. Machines of threads are made and destroyed by hundreds; a few are enough.
static void run_command(cal_run* run, const cal_view_command* command) {
    bool reached;
    cal_run_settings next;
    cal_run_get_settings(run, &next);
    switch (command->verb) {
    case CAL_VIEW_STEP: cal_run_approach(run, cal_run_time(run) + command->speed + 1e-3, &reached, NULL); break;
    case CAL_VIEW_RESET: cal_run_reset(run, NULL); break;
    case CAL_VIEW_GRAB: cal_run_grab(run, command->body, command->vector, NULL); break;
    case CAL_VIEW_DRAG: cal_run_drag(run, command->vector); break;
    case CAL_VIEW_DROP: cal_run_drop(run); break;
    case CAL_VIEW_POSE: pose(run, command); break;
    case CAL_VIEW_LOAD: cal_upload_path_is_good(command->file); break;
    case CAL_VIEW_SET:
        if (command->solver[0]) memcpy(next.solver, command->solver, sizeof next.solver);
        if (command->algorithm[0]) memcpy(next.algorithm, command->algorithm, sizeof next.algorithm);
        if (command->machine[0]) memcpy(next.machine, command->machine, sizeof next.machine);
        if (command->tolerance > 0) next.tolerance = command->tolerance;
        if (strstr(next.machine, "threads") && strcmp(next.machine, "threads:2") != 0) break;
        cal_run_change(run, &next, NULL);
        break;
    default: break;
    }
}

static void check(cal_run* run) {
    double poses[7 * BODIES];
    cal_run_pull pull;
    if (cal_run_poses(run, poses, NULL) != CAL_OK) return;
    for (int i = 0; i < 7 * BODIES; i++)
        if (!isfinite(poses[i])) abort();
    cal_run_get_pull(run, &pull);
    if (pull.body < CAL_NONE || pull.body >= BODIES) abort();
}

static void try_headers(const char* line) {
    cal_access_host(line, "127.0.0.1", "machine", 7878);
    cal_access_host(line, "0.0.0.0", "machine", 7878);
    // A page of another site must not pass for one of ours, whatever it is called.
    static const char ours[] = "localhost:7878";
    const size_t length = strlen(line), tail = sizeof ours - 1;
    if (cal_access_origin(line, ours) && (length < tail || strcasecmp(line + length - tail, ours) != 0)) abort();
    cal_access_is_loopback(line);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    cal_model* model = NULL;
    if (cal_model_generate("chain:n=3", &model, NULL) != CAL_OK) abort();
    cal_run* run = open_run(model);
    const uint8_t* const end = bytes + count;
    for (int i = 0; i < MESSAGES && bytes < end; i++) {
        const uint8_t* stop = memchr(bytes, '\n', (size_t)(end - bytes));
        const size_t length = (size_t)((stop ? stop : end) - bytes);
        // A copy of its own size, so that a sanitizer sees what is read beyond it.
        char* line = malloc(length + 1);
        if (!line) abort();
        memcpy(line, bytes, length);
        line[length] = '\0';
        if (i == 0) try_headers(line);
        char* exact = realloc(line, length > 0 ? length : 1);
        if (!exact) abort();
        cal_view_command command;
        cal_error error = {CAL_OK, ""};
        if (cal_view_command_parse(exact, length, BODIES, &command, &error)) run_command(run, &command);
        free(exact);
        bytes += length + 1;
    }
    check(run);
    cal_run_destroy(run);
    cal_model_destroy(model);
    return 0;
}
