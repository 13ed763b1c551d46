// The engine of colliding bodies: a world, whose states are shown only when they are final.
//
// A world cannot go back, so starting anew makes another one and lets go of the old one only when that has worked. No hand
// reaches into it: bodies are ahead of what is shown, each by as much as it likes, and a force that comes now would have to
// undo what they did.
#include "view/engine.h"

#include "base/error.h"
#include "base/memory.h"
#include "drawing/world_drawing.h"
#include "drawing/world_gauge.h"

typedef struct world_engine {
    cal_view_engine base;
    cal_world_function* make;
    void* user;
    cal_world* world;
    cal_world_gauge gauge;
} world_engine;

static void destroy(cal_view_engine* engine) {
    world_engine* e = (world_engine*)engine;
    cal_world_destroy(e->world);
    cal_free(e);
}

static cal_status make_world(const world_engine* e, cal_world** out, cal_error* error) {
    *out = NULL;
    cal_status status = e->make(e->user, out, error);
    // The first advance checks the world.
    if (!status) status = cal_world_advance(*out, cal_world_time(*out), error);
    if (!status) return CAL_OK;
    cal_world_destroy(*out);
    *out = NULL;
    return status;
}

static cal_status advance(cal_view_engine* engine, double time, bool* reached, cal_error* error) {
    const cal_status status = cal_world_advance(((world_engine*)engine)->world, time, error);
    *reached = status == CAL_OK;
    return status;
}

static double time_of(const cal_view_engine* engine) { return cal_world_time(((const world_engine*)engine)->world); }

static uint64_t hash(const cal_view_engine* engine) {
    cal_world_report report;
    cal_world_get_report(((const world_engine*)engine)->world, &report);
    return report.hash;
}

static cal_status reset(cal_view_engine* engine, cal_error* error) {
    world_engine* e = (world_engine*)engine;
    cal_world* anew;
    cal_status status = make_world(e, &anew, error);
    if (!status && cal_world_body_count(anew) != e->base.body_count) {
        status = cal_fail(error, CAL_BAD_MODEL, "a world that starts anew must have the same %d bodies, not %d",
                          e->base.body_count, cal_world_body_count(anew));
        cal_world_destroy(anew);
    }
    if (status) return status;
    cal_world_destroy(e->world);
    e->world = anew;
    e->gauge = cal_world_gauge_for(anew);
    return CAL_OK;
}

static cal_status change(cal_view_engine* engine, const cal_view_settings* settings, cal_error* error) {
    (void)engine;
    (void)settings;
    return cal_fail(error, CAL_BAD_ARGUMENT, "a world has no solver to change while it runs");
}

static cal_status sample(cal_view_engine* engine, float* poses, double* channels, cal_view_pull* pull) {
    world_engine* e = (world_engine*)engine;
    for (int i = 0; i < e->base.drawn_count; i++) {
        double position[3], quaternion[4];
        const cal_status status =
            cal_world_get_body(e->world, cal_world_body(e->world, i), position, quaternion, NULL, NULL);
        if (status) return status;
        for (int k = 0; k < 3; k++) poses[7 * i + k] = (float)position[k];
        for (int k = 0; k < 4; k++) poses[7 * i + 3 + k] = (float)quaternion[k];
    }
    cal_world_gauge_read(&e->gauge, e->world, channels);
    *pull = (cal_view_pull){.body = CAL_NONE};
    return CAL_OK;
}

static cal_status grab(cal_view_engine* engine, int body, const double point[3], cal_error* error) {
    (void)engine;
    (void)body;
    (void)point;
    return cal_fail(error, CAL_BAD_ARGUMENT, "bodies of a world cannot be pulled");
}

static void drag(cal_view_engine* engine, const double target[3]) {
    (void)engine;
    (void)target;
}

static void drop(cal_view_engine* engine) { (void)engine; }

static void write_numbers(FILE* file, const char* name, const double* values, int count) {
    fprintf(file, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) fprintf(file, i ? ",%.7g" : "%.7g", values[i]);
    fputc(']', file);
}

static void describe(cal_view_engine* engine, int body, FILE* file) {
    const cal_world* world = ((const world_engine*)engine)->world;
    const cal_body_id id = cal_world_body(world, body);
    char name[96];
    double position[3] = {0}, quaternion[4] = {1, 0, 0, 0}, velocity[3] = {0}, angular[3] = {0};
    cal_world_get_body(world, id, position, quaternion, velocity, angular);
    fprintf(file, "\"body\":%d,\"name\":", body);
    cal_write_json_text(file, cal_world_body_name(world, id, name, sizeof name));
    fprintf(file, ",\"motion\":\"%s\",\"asleep\":%s", cal_body_motion_name(cal_world_body_motion(world, id)),
            cal_world_is_asleep(world, id) ? "true" : "false");
    write_numbers(file, "position", position, 3);
    write_numbers(file, "quaternion", quaternion, 4);
    write_numbers(file, "velocity", velocity, 3);
    write_numbers(file, "angular", angular, 3);
}

static void advise(const cal_view_engine* engine, double pace, FILE* file) {
    (void)pace;
    fprintf(file,
            "%d bodies are more than this machine does at that speed: try fewer of them, a larger --step, or slower",
            engine->body_count);
}

static const cal_view_engine_ops world_ops = {destroy, advance, time_of, hash, reset,    change,
                                              sample,  grab,    drag,    drop, describe, advise};

cal_status cal_view_engine_world(cal_world_function* make, void* user, cal_drawing** drawing, cal_view_engine** out,
                                 cal_error* error) {
    *out = NULL;
    *drawing = NULL;
    world_engine* e = cal_allocate(1, sizeof *e);
    if (!e) return cal_fail(error, CAL_NO_MEMORY, "no memory for the viewer's world");
    e->base.ops = &world_ops;
    e->make = make;
    e->user = user;
    cal_status status = make_world(e, &e->world, error);
    if (!status) status = cal_world_drawing_create(e->world, drawing, error);
    if (status) {
        destroy(&e->base);
        return status;
    }
    e->base.body_count = cal_world_body_count(e->world);
    e->base.drawn_count = (*drawing)->body_count;
    e->base.channels = cal_world_channels;
    e->base.channel_count = CAL_WORLD_CHANNELS;
    e->gauge = cal_world_gauge_for(e->world);
    *out = &e->base;
    return CAL_OK;
}
