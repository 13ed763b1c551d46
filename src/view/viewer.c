// The viewer: a drawing, an engine in its thread, a server.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "drawing/drawing.h"
#include "view/page.h"

static const uint32_t COOKIE = 0x56494557;

cal_viewer_def cal_default_viewer_def(void) {
    return (cal_viewer_def){
        .solver = "gear", .algorithm = "aba", .machine = "serial", .relative = 1e-4, .cookie = COOKIE};
}

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
    char address[96];
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

// The message that a client gets first, behind room for a protocol's header.
static cal_status write_scene(const cal_drawing* drawing, const cal_view_engine* engine, const char* title, char** out,
                              size_t* length, cal_error* error) {
    cal_channel channels[CAL_VIEW_CHANNELS];
    const int channel_count = cal_runner_channels(engine, channels);
    size_t size = 0;
    FILE* file = open_memstream(out, &size);
    if (file) {
        for (int i = 0; i < CAL_VIEW_ROOM; i++) fputc(0, file);
        fputs("{\"say\":\"scene\",\"model\":", file);
        cal_write_json_text(file, title);
        fputc(',', file);
        if (drawing->model) write_choices(drawing->model, file);
        fprintf(file, "\"pull\":%s,\"channels\":", drawing->model ? "true" : "false");
        cal_channels_write_json(channels, channel_count, file);
        fputc(',', file);
        cal_drawing_write_json(drawing, file);
        fputc('}', file);
        if (fclose(file) == 0) {
            *length = size - CAL_VIEW_ROOM;
            return CAL_OK;
        }
    }
    return cal_fail(error, CAL_NO_MEMORY, "no memory to describe the model to a page");
}

static bool copy_name(char* to, size_t capacity, const char* from) {
    const int length = from ? snprintf(to, capacity, "%s", from) : -1;
    return length > 0 && (size_t)length < capacity;
}

static cal_status read_settings(const cal_viewer_def* def, cal_view_settings* out, cal_error* error) {
    *out = (cal_view_settings){.tolerance = def->relative,
                               .step = def->step,
                               .lanes = def->lanes,
                               .slow_band = def->slow_band,
                               .stabilize = def->stabilize,
                               .gain = def->gain,
                               .project = def->project};
    if (copy_name(out->solver, sizeof out->solver, def->solver) &&
        copy_name(out->algorithm, sizeof out->algorithm, def->algorithm) &&
        copy_name(out->machine, sizeof out->machine, def->machine))
        return CAL_OK;
    return cal_fail(error, CAL_BAD_ARGUMENT, "solver, algorithm and machine must be known names");
}

// Starts to listen for an engine, which is the viewer's from now on.
static cal_status show(cal_viewer* viewer, cal_runner_def* runner, const cal_viewer_def* def, const char* title,
                       cal_error* error) {
    if (def->advice) viewer->advice = cal_copy_text(def->advice);
    cal_server_def server = {
        .listen = def->listen ? def->listen : "127.0.0.1", .port = def->port, .body_count = runner->engine->body_count};
    cal_status status =
        write_scene(viewer->drawing, runner->engine, title, &viewer->scene, &server.scene_length, error);
    server.scene = viewer->scene;
    if (!status) status = cal_server_create(&server, &viewer->server, error);
    if (status) {
        runner->engine->ops->destroy(runner->engine);
        return status;
    }
    runner->paused = def->paused;
    runner->advice = viewer->advice;
    runner->notice = def->notice;
    runner->notice_user = def->notice_user;
    runner->wake = cal_server_wake;
    runner->user = viewer->server;
    // An address that means "every one" is no address to open.
    const bool every = strcmp(server.listen, "0.0.0.0") == 0 || strcmp(server.listen, "::") == 0;
    const char* name = every ? "127.0.0.1" : server.listen;
    const bool brackets = strchr(name, ':') != NULL;
    snprintf(viewer->address, sizeof viewer->address, "http://%s%s%s:%d/", brackets ? "[" : "", name,
             brackets ? "]" : "", cal_server_port(viewer->server));
    return cal_runner_create(runner, &viewer->runner, error);
}

static cal_status show_model(cal_viewer* viewer, const cal_model* model, const cal_viewer_def* def, cal_error* error) {
    cal_runner_def runner = {0};
    cal_status status = read_settings(def, &runner.settings, error);
    if (!status) status = cal_drawing_create(model, &viewer->drawing, error);
    if (!status)
        status = cal_view_engine_sim(model, viewer->drawing->body_count, &runner.settings, &runner.engine, error);
    return status ? status : show(viewer, &runner, def, def->title ? def->title : cal_model_name(model), error);
}

static cal_status show_world(cal_viewer* viewer, cal_world_function* make, void* user, const cal_viewer_def* def,
                             cal_error* error) {
    cal_runner_def runner = {0};
    const cal_status status = cal_view_engine_world(make, user, &viewer->drawing, &runner.engine, error);
    return status ? status : show(viewer, &runner, def, def->title ? def->title : "world", error);
}

static cal_status open_viewer(bool has_subject, const cal_viewer_def* def, cal_viewer** out, cal_error* error) {
    *out = NULL;
    if (!has_subject || !def || def->cookie != COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a viewer needs a model, or a function that makes a world, and a definition that comes from "
                        "cal_default_viewer_def()");
    if (def->port < 0 || def->port > 65535)
        return cal_fail(error, CAL_BAD_ARGUMENT, "port %d does not exist; ports are 1 to 65535", def->port);
    *out = cal_allocate(1, sizeof **out);
    return *out ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "no memory for a viewer");
}

static cal_status keep(cal_viewer* viewer, cal_status status, cal_viewer** out) {
    if (status) cal_viewer_destroy(viewer);
    *out = status ? NULL : viewer;
    return status;
}

cal_status cal_viewer_create(const cal_model* model, const cal_viewer_def* def, cal_viewer** out, cal_error* error) {
    const cal_status status = open_viewer(model != NULL, def, out, error);
    return status ? status : keep(*out, show_model(*out, model, def, error), out);
}

cal_status cal_viewer_create_world(cal_world_function* make, void* user, const cal_viewer_def* def, cal_viewer** out,
                                   cal_error* error) {
    const cal_status status = open_viewer(make != NULL, def, out, error);
    return status ? status : keep(*out, show_world(*out, make, user, def, error), out);
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

const char* cal_viewer_address(const cal_viewer* viewer) { return viewer->address; }

cal_status cal_viewer_run(cal_viewer* viewer, cal_error* error) {
    const cal_status status = cal_runner_start(viewer->runner, error);
    if (!status) cal_server_run(viewer->server, viewer->runner);
    return status;
}

void cal_viewer_stop(cal_viewer* viewer) { cal_server_stop(viewer->server); }

#else
bool cal_viewer_available(void) { return false; }
static cal_status refuse(cal_viewer** out, cal_error* error) {
    *out = NULL;
    return cal_fail(error, CAL_NOT_AVAILABLE,
                    "the viewer was left out of this build: install libwebsockets and jansson (Debian: "
                    "libwebsockets-dev libjansson-dev) and build again");
}
cal_status cal_viewer_create(const cal_model* model, const cal_viewer_def* def, cal_viewer** out, cal_error* error) {
    (void)model;
    (void)def;
    return refuse(out, error);
}
cal_status cal_viewer_create_world(cal_world_function* make, void* user, const cal_viewer_def* def, cal_viewer** out,
                                   cal_error* error) {
    (void)make;
    (void)user;
    (void)def;
    return refuse(out, error);
}
void cal_viewer_destroy(cal_viewer* viewer) { (void)viewer; }
const char* cal_viewer_address(const cal_viewer* viewer) {
    (void)viewer;
    return "";
}
cal_status cal_viewer_run(cal_viewer* viewer, cal_error* error) {
    (void)viewer;
    return cal_fail(error, CAL_NOT_AVAILABLE, "the viewer was left out of this build");
}
void cal_viewer_stop(cal_viewer* viewer) { (void)viewer; }
#endif
