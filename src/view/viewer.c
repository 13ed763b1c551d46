// The viewer: a drawing, a run in its thread, a server.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "record/drawing.h"
#include "view/describe.h"
#include "view/page.h"

static const uint32_t COOKIE = 0x56494557;

cal_viewer_def cal_default_viewer_def(void) { return (cal_viewer_def){.cookie = COOKIE}; }

bool cal_viewer_has_page(void) { return cal_page_size > 0; }

#ifdef CALDER_HAVE_VIEWER
#include "view/access.h"
#include "view/server.h"

struct cal_viewer {
    cal_drawing* drawing;
    char* scene;
    char* advice;
    cal_runner* runner;
    cal_server* server;
    char token[CAL_TOKEN_MOST + 1];
    char address[128 + CAL_TOKEN_MOST];
};

bool cal_viewer_available(void) { return true; }

static void write_choices(const cal_model* model, FILE* file) {
    fputs("\"choices\":{\"solver\":[", file);
    for (int i = 0; cal_solver_name(i); i++) fprintf(file, "%s\"%s\"", i ? "," : "", cal_solver_name(i));
    fputs("],\"algorithm\":[\"aba\",\"assembly\"", file);
    bool balls = cal_model_joint_count(model) > 0;
    for (int i = 0; i < cal_model_joint_count(model) && balls; i++) {
        cal_joint_def joint;
        cal_model_joint(model, i, &joint, NULL, NULL, NULL);
        balls = joint.kind == CAL_BALL || joint.kind == CAL_FREE;
    }
    fputs(balls ? ",\"armstrong\"]," : "],", file);
    fputs("\"machine\":[\"serial\",\"threads\"],\"tolerance\":[1e-2,1e-3,1e-4,1e-5,1e-6,1e-8,1e-10]},", file);
}

static void write_gallery(const cal_viewer_def* def, FILE* file) {
    if (def->card_count == 0) return;
    fprintf(file, "\"gallery\":%s,\"cards\":[", def->gallery ? "true" : "false");
    for (int i = 0; i < def->card_count; i++) {
        const char* const texts[][2] = {{"title", def->cards[i].title},
                                        {"text", def->cards[i].text},
                                        {"command", def->cards[i].command},
                                        {"picture", def->cards[i].picture}};
        for (int k = 0; k < 4; k++) {
            fprintf(file, "%s\"%s\":", k ? "," : i ? "},{" : "{", texts[k][0]);
            cal_write_json_text(file, texts[k][1]);
        }
    }
    fputs("}],", file);
}

// The message that a client gets first, behind room for a protocol's header.
static cal_status write_scene(const cal_drawing* drawing, const cal_run* run, const char* title,
                              const cal_viewer_def* def, char** out, size_t* length, cal_error* error) {
    cal_channel channels[CAL_VIEW_CHANNELS];
    const int channel_count = cal_runner_channels(run, channels);
    size_t size = 0;
    FILE* file = open_memstream(out, &size);
    if (file) {
        for (int i = 0; i < CAL_VIEW_ROOM; i++) fputc(0, file);
        fputs("{\"say\":\"scene\",\"model\":", file);
        cal_write_json_text(file, title);
        fputc(',', file);
        write_gallery(def, file);
        if (cal_run_can(run, CAL_RUN_CHANGE)) write_choices(cal_run_model(run), file);
        fprintf(file, "\"pull\":%s,\"channels\":", cal_run_can(run, CAL_RUN_GRAB) ? "true" : "false");
        cal_channels_write_json(channels, channel_count, file);
        fputc(',', file);
        cal_drawing_write_json(drawing, file);
        const bool described = cal_describe_bodies(drawing, run, file);
        fputc('}', file);
        if (fclose(file) == 0 && described) {
            *length = size - CAL_VIEW_ROOM;
            return CAL_OK;
        }
    }
    return cal_fail(error, CAL_NO_MEMORY, "no memory to describe the model to a page");
}

static const char* title_of(const cal_run* run, const cal_viewer_def* def) {
    if (def->title) return def->title;
    return cal_run_model(run) ? cal_model_name(cal_run_model(run)) : cal_run_kind(run);
}

static cal_status choose_token(cal_viewer* viewer, const char* given, cal_error* error) {
    if (given && !cal_access_token_is_good(given))
        return cal_fail(error, CAL_BAD_ARGUMENT, "a viewer's token has %d to %d letters, digits, '-' or '_'",
                        CAL_TOKEN_LEAST, CAL_TOKEN_MOST);
    if (given)
        snprintf(viewer->token, sizeof viewer->token, "%s", given);
    else if (!cal_access_make_token(viewer->token))
        return cal_fail(error, CAL_NOT_AVAILABLE, "this machine gave no random bits for the viewer's token");
    return CAL_OK;
}

static cal_status open_viewer(cal_viewer* viewer, cal_run* run, const cal_viewer_def* def, cal_error* error) {
    cal_server_def server = {.listen = def->listen ? def->listen : "127.0.0.1",
                             .port = def->port,
                             .body_count = cal_run_body_count(run),
                             .card_count = def->card_count,
                             .upload = def->upload,
                             .framed = def->framed,
                             .token = viewer->token};
    if (def->advice) viewer->advice = cal_copy_text(def->advice);
    cal_status status = choose_token(viewer, def->token, error);
    if (!status) status = cal_drawing_create(run, &viewer->drawing, error);
    if (!status)
        status =
            write_scene(viewer->drawing, run, title_of(run, def), def, &viewer->scene, &server.scene_length, error);
    server.scene = viewer->scene;
    if (!status) status = cal_server_create(&server, &viewer->server, error);
    if (status) return status;
    // An address that means "every one" is no address to open.
    const bool every = strcmp(server.listen, "0.0.0.0") == 0 || strcmp(server.listen, "::") == 0;
    const char* name = every ? "127.0.0.1" : server.listen;
    const bool brackets = strchr(name, ':') != NULL;
    snprintf(viewer->address, sizeof viewer->address, "http://%s%s%s:%d/?token=%s", brackets ? "[" : "", name,
             brackets ? "]" : "", cal_server_port(viewer->server), viewer->token);
    const cal_runner_def runner = {.run = run,
                                   .drawn_count = viewer->drawing->body_count,
                                   .paused = def->paused,
                                   .note = def->note,
                                   .advice = viewer->advice,
                                   .notice = def->notice,
                                   .notice_user = def->notice_user,
                                   .wake = cal_server_wake,
                                   .user = viewer->server};
    return cal_runner_create(&runner, &viewer->runner, error);
}

cal_status cal_viewer_create(cal_run* run, const cal_viewer_def* def, cal_viewer** out, cal_error* error) {
    if (!run || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_viewer_create: run and out must not be NULL");
    *out = NULL;
    if (!def || def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a viewer needs a run, and a definition that comes from cal_default_viewer_def()");
    if (def->port < 0 || def->port > 65535)
        return cal_fail(error, CAL_BAD_ARGUMENT, "port %d does not exist; ports are 1 to 65535", def->port);
    cal_viewer* viewer = cal_allocate(1, sizeof *viewer);
    if (!viewer) return cal_fail(error, CAL_NO_MEMORY, "no memory for a viewer");
    const cal_status status = open_viewer(viewer, run, def, error);
    if (status)
        cal_viewer_destroy(viewer);
    else
        *out = viewer;
    return status;
}

void cal_viewer_destroy(cal_viewer* viewer) {
    if (!viewer) return;
    // The runner's thread wakes the server, and the server's last clients still say good-bye to the runner.
    cal_runner_stop(viewer->runner);
    cal_server_destroy(viewer->server);
    cal_runner_destroy(viewer->runner);
    cal_drawing_destroy(viewer->drawing);
    free(viewer->scene);
    cal_free(viewer->advice);
    cal_free(viewer);
}

const char* cal_viewer_address(const cal_viewer* viewer) { return viewer ? viewer->address : ""; }

cal_status cal_viewer_run(cal_viewer* viewer, cal_error* error) {
    if (!viewer) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_viewer_run: viewer must not be NULL");
    const cal_status status = cal_runner_start(viewer->runner, error);
    if (!status) cal_server_run(viewer->server, viewer->runner);
    return status;
}

cal_status cal_viewer_show(cal_viewer* viewer, cal_error* error) {
    if (!viewer) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_viewer_show: viewer must not be NULL");
    const cal_status status = cal_runner_show(viewer->runner, error);
    if (!status) cal_server_poll(viewer->server, viewer->runner);
    return status;
}

int cal_viewer_chosen(const cal_viewer* viewer, const char** file) {
    const char* sent = "";
    const int card = viewer ? cal_server_chosen(viewer->server, &sent) : CAL_NONE;
    if (file) *file = *sent ? sent : NULL;
    return card;
}

int cal_viewer_port(const cal_viewer* viewer) { return viewer ? cal_server_port(viewer->server) : 0; }

const char* cal_viewer_token(const cal_viewer* viewer) { return viewer ? viewer->token : NULL; }

void cal_viewer_stop(cal_viewer* viewer) {
    if (!viewer) return;
    cal_server_stop(viewer->server);
}

#else
bool cal_viewer_available(void) { return false; }
static const char left_out[] = "the viewer was left out of this build: install libwebsockets and jansson (Debian: "
                               "libwebsockets-dev libjansson-dev) and build again";
cal_status cal_viewer_create(cal_run* run, const cal_viewer_def* def, cal_viewer** out, cal_error* error) {
    (void)def;
    if (!run || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_viewer_create: run and out must not be NULL");
    *out = NULL;
    return cal_fail(error, CAL_NOT_AVAILABLE, "%s", left_out);
}
void cal_viewer_destroy(cal_viewer* viewer) { (void)viewer; }
const char* cal_viewer_address(const cal_viewer* viewer) {
    (void)viewer;
    return "";
}
cal_status cal_viewer_run(cal_viewer* viewer, cal_error* error) {
    (void)viewer;
    return cal_fail(error, CAL_NOT_AVAILABLE, "%s", left_out);
}
cal_status cal_viewer_show(cal_viewer* viewer, cal_error* error) {
    (void)viewer;
    return cal_fail(error, CAL_NOT_AVAILABLE, "%s", left_out);
}
int cal_viewer_chosen(const cal_viewer* viewer, const char** file) {
    (void)viewer;
    if (file) *file = NULL;
    return CAL_NONE;
}
int cal_viewer_port(const cal_viewer* viewer) {
    (void)viewer;
    return 0;
}
const char* cal_viewer_token(const cal_viewer* viewer) {
    (void)viewer;
    return "";
}
void cal_viewer_stop(cal_viewer* viewer) { (void)viewer; }
#endif
