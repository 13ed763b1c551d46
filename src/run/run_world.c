// Runs of a world of colliding bodies, whose states are shown only when they are final.
//
// A world cannot go back, so starting anew makes another one and lets go of the old one only when that has worked. A hand's force
// is renewed many times a second (pull.h): bodies are ahead of what is shown, each by as much as it likes.
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "math/vector.h"
#include "run/events.h"
#include "run/pull.h"
#include "simulation/members.h"
#include "simulation/sim.h"

// Moving bodies that nobody gave a colour get one each, so that they are told apart.
static const float palette[][4] = {{0.90f, 0.36f, 0.30f, 1}, {0.95f, 0.66f, 0.25f, 1}, {0.35f, 0.62f, 0.85f, 1},
                                   {0.40f, 0.72f, 0.50f, 1}, {0.66f, 0.50f, 0.82f, 1}, {0.85f, 0.80f, 0.62f, 1}};
enum { COLORS = sizeof palette / sizeof palette[0] };

typedef struct world_run {
    cal_run base;
    cal_world* world;
    cal_world_function* make; // NULL: the world is the caller's
    void* user;
    cal_event_watch watch;
    cal_pull pull;
} world_run;

static cal_world* world_of(const cal_run* run) { return ((const world_run*)run)->world; }

static void destroy(cal_run* run) {
    world_run* r = (world_run*)run;
    if (r->make) cal_world_destroy(r->world);
    cal_free(r);
}

static double time_of(const cal_run* run) { return cal_world_time(world_of(run)); }

static uint64_t hash(cal_run* run) {
    cal_world_report report;
    cal_world_get_report(world_of(run), &report);
    return report.hash;
}

static cal_status advance(cal_run* run, double time, bool* reached, cal_error* error) {
    const world_run* r = (world_run*)run;
    cal_status status = CAL_OK;
    while (!status && r->pull.body != CAL_NONE && cal_world_time(r->world) < time) {
        const double next = fmin(time, cal_pull_next(cal_world_time(r->world)));
        status = cal_pull_apply(&r->pull, r->world, r->pull.body, error);
        if (!status) status = cal_world_advance(r->world, next, error);
    }
    if (!status) status = cal_world_advance(r->world, time, error);
    *reached = status == CAL_OK;
    return status;
}

// The first advance checks the world.
static cal_status begin(cal_run* run, bool project, char* note, size_t capacity, cal_error* error) {
    (void)project;
    cal_world* world = world_of(run);
    const cal_status status = cal_world_advance(world, cal_world_time(world), error);
    if (!status) cal_run_note_start(world, note, capacity);
    return status;
}

// --- What there is to see ---------------------------------------------------------------------------------------------------------

static const char* body_name(const cal_run* run, int body, char* text, size_t capacity) {
    const cal_world* world = world_of(run);
    return cal_world_body_name(world, cal_world_body(world, body), text, capacity);
}

static cal_body_motion motion(const cal_run* run, int body) {
    const cal_world* world = world_of(run);
    return cal_world_body_motion(world, cal_world_body(world, body));
}

// Puts a shape on the ground where its body is, for good.
static void settle(const cal_world* world, cal_body_id body, cal_shape_def* shape) {
    double place[3] = {0, 0, 0}, turn[4] = {1, 0, 0, 0}, R[9], moved[3], turned[4];
    cal_world_get_body(world, body, place, turn, NULL, NULL);
    cal_quaternion_matrix(turn, R);
    cal_rotate3(R, shape->position, moved);
    cal_quaternion_multiply(turn, shape->quaternion, turned);
    for (int k = 0; k < 3; k++) shape->position[k] = place[k] + moved[k];
    memcpy(shape->quaternion, turned, sizeof turned);
    shape->body = CAL_GROUND;
}

static void paint(cal_shape_def* shape, int body) {
    const cal_shape_def plain = cal_default_shape_def();
    if (cal_same_bits(shape->color, plain.color, sizeof plain.color))
        memcpy(shape->color, palette[body % COLORS], sizeof shape->color);
}

static bool shapes(const cal_run* run, cal_shape_visitor* visit, void* user) {
    const cal_world* world = world_of(run);
    int mesh_count = 0;
    for (int number = 0; number < run->body_count; number++) {
        const cal_body_id body = cal_world_body(world, number);
        const bool fixed = cal_world_body_motion(world, body) == CAL_FIXED;
        cal_shape_def shape;
        cal_mesh_def mesh;
        for (int i = 0; cal_world_get_shape(world, body, i, &shape, &mesh); i++) {
            const bool meshed = shape.kind == CAL_MESH || shape.kind == CAL_HEIGHT_FIELD;
            shape.body = number;
            shape.mesh = meshed ? mesh_count++ : -1;
            if (fixed)
                settle(world, body, &shape);
            else
                paint(&shape, number);
            if (!visit(user, &shape, meshed ? &mesh : NULL)) return false;
        }
    }
    return true;
}

// Of the bodies that there were when the run was made: what comes later is not shown, and what went is at the origin.
static cal_status poses(cal_run* run, double* poses) {
    return cal_world_first_poses(world_of(run), run->body_count, poses);
}

static cal_status energy(cal_run* run, double energy[2]) {
    cal_world_report report;
    const cal_status status = cal_world_get_report(world_of(run), &report);
    energy[0] = report.kinetic;
    energy[1] = report.potential;
    return status;
}

// A world cannot go back: what has exploded stays as it is, and checkpoints before it too.
static cal_status balance(cal_run* run, cal_energy_balance* out, cal_error* error) {
    cal_world* world = world_of(run);
    const double time = cal_world_time(world);
    const cal_status status = cal_world_balance(world, out);
    if (status) return cal_fail(error, status, "the energy failed: %s", cal_status_text(status));
    return out->exploded ? cal_run_fail_balance(out, time, time, error) : CAL_OK;
}

static cal_status read_channels(cal_run* run, double* values) {
    world_run* r = (world_run*)run;
    return cal_event_watch_read(&r->watch, r->world, run->channel_count, values);
}

static void keep_events(cal_run* run) { cal_event_watch_keep(&((world_run*)run)->watch, world_of(run)); }

static bool next_event(cal_run* run, cal_run_event* out) { return cal_event_next(world_of(run), NULL, out); }

static void describe(cal_run* run, int body, FILE* file) {
    const cal_world* world = world_of(run);
    const cal_body_id id = cal_world_body(world, body);
    char name[96];
    double position[3] = {0}, quaternion[4] = {1, 0, 0, 0}, velocity[3] = {0}, angular[3] = {0};
    cal_world_get_body(world, id, position, quaternion, velocity, angular);
    fprintf(file, "\"body\":%d,\"name\":", body);
    cal_write_json_text(file, cal_world_body_name(world, id, name, sizeof name));
    fprintf(file, ",\"motion\":\"%s\",\"asleep\":%s", cal_body_motion_name(cal_world_body_motion(world, id)),
            cal_world_is_asleep(world, id) ? "true" : "false");
    cal_write_json_numbers(file, "position", position, 3);
    cal_write_json_numbers(file, "quaternion", quaternion, 4);
    cal_write_json_numbers(file, "velocity", velocity, 3);
    cal_write_json_numbers(file, "angular", angular, 3);
}

static void advise(const cal_run* run, double pace, FILE* file) {
    (void)pace;
    fprintf(file,
            "%d bodies are more than this machine does at that speed: try fewer of them, a larger --step, or slower",
            run->body_count);
}

static void report(cal_run* run, cal_facts* report) {
    cal_world_report w;
    cal_world_get_report(world_of(run), &w);
    cal_facts_integer(report, "bodies", w.bodies);
    cal_facts_integer(report, "moving", w.moving + w.driven);
    cal_facts_line(report, "size", "%d bodies, %d of them moving", w.bodies, w.moving + w.driven);
    cal_run_report_events(world_of(run), report);
}

// --- Changing it ----------------------------------------------------------------------------------------------------------------

static cal_status grab(cal_run* run, int body, const double point[3], cal_error* error) {
    world_run* r = (world_run*)run;
    return cal_pull_start_world(&r->pull, r->world, body, point, error);
}

static void drag(cal_run* run, const double target[3]) {
    world_run* r = (world_run*)run;
    if (r->pull.body != CAL_NONE) cal_pull_move(&r->pull, target, cal_world_time(r->world));
}

static void drop(cal_run* run) {
    world_run* r = (world_run*)run;
    const int body = r->pull.body;
    cal_pull_end(&r->pull);
    if (body != CAL_NONE)
        (void)cal_pull_apply(&r->pull, r->world, body, NULL); // what fails here fails in the next advance
}

static void pull(const cal_run* run, cal_run_pull* out) {
    const world_run* r = (const world_run*)run;
    if (r->pull.body == CAL_NONE) return;
    out->body = r->pull.body;
    memcpy(out->target, r->pull.target, sizeof out->target);
    cal_pull_world_force(&r->pull, r->world, out->force, out->position);
}

// A checkpoint is one of the simulation that a world is, which here is nobody's.
static cal_status save(cal_run* run, const char* path, cal_error* error) {
    cal_sim sim = {.world = world_of(run)};
    return cal_sim_save(&sim, path, error);
}

static cal_status restore(cal_run* run, const char* path, cal_error* error) {
    world_run* r = (world_run*)run;
    cal_sim sim = {.world = r->world};
    cal_status status = cal_world_advance(r->world, cal_world_time(r->world), error); // it must have begun
    if (!status) status = cal_sim_load(&sim, path, error);
    cal_pull_end(&r->pull);
    if (!status) cal_event_watch_begin(&r->watch, r->world);
    return status;
}

// --- Making a run ---------------------------------------------------------------------------------------------------------------

static cal_status reset(cal_run* run, cal_error* error) {
    world_run* r = (world_run*)run;
    cal_world* anew = NULL;
    cal_status status = r->make(r->user, &anew, error);
    if (!status) status = cal_world_advance(anew, cal_world_time(anew), error);
    if (!status && cal_world_body_count(anew) != run->body_count)
        status = cal_fail(error, CAL_BAD_MODEL, "a world that starts anew must have the same %d bodies, not %d",
                          run->body_count, cal_world_body_count(anew));
    if (status) {
        cal_world_destroy(anew);
        return status;
    }
    cal_world_destroy(r->world);
    r->world = anew;
    cal_pull_end(&r->pull);
    cal_event_watch_begin(&r->watch, anew);
    return CAL_OK;
}

#define COMMON                                                                                                         \
    .kind = "a world", .destroy = destroy, .time = time_of, .advance = advance, .hash = hash, .body_name = body_name,  \
    .shapes = shapes, .poses = poses, .read = read_channels, .report = report, .begin = begin, .motion = motion,       \
    .energy = energy, .balance = balance, .keep_events = keep_events, .next_event = next_event, .describe = describe,  \
    .contacts = contacts, .advise = advise, .save = save, .restore = restore, .grab = grab, .drag = drag,              \
    .drop = drop, .pull = pull
static cal_status contacts(cal_run* run, cal_contact_point* out, int capacity, int* count, cal_error* error) {
    return cal_event_contacts(world_of(run), out, capacity, count, error);
}

static const cal_run_ops borrowed_ops = {COMMON};
static const cal_run_ops own_ops = {COMMON, .reset = reset};

static cal_status create(cal_world* world, cal_world_function* make, void* user, cal_run** out, cal_error* error) {
    world_run* r = cal_allocate(1, sizeof *r);
    *out = NULL;
    if (!r) return cal_fail(error, CAL_NO_MEMORY, "no memory for a run");
    *r = (world_run){.world = world, .make = make, .user = user};
    r->pull.body = CAL_NONE;
    cal_event_watch_begin(&r->watch, world);
    r->base = (cal_run){.ops = make ? &own_ops : &borrowed_ops,
                        .body_count = cal_world_body_count(world),
                        .channels = cal_event_channels,
                        .channel_count = CAL_EVENT_CONSTRAINT};
    *out = &r->base;
    return CAL_OK;
}

cal_status cal_run_of_world(cal_world* world, cal_run** out, cal_error* error) {
    if (!world || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_of_world: world and out must not be NULL");
    return create(world, NULL, NULL, out, error);
}

cal_status cal_run_create_world(cal_world_function* make, void* user, cal_run** out, cal_error* error) {
    if (!make || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_run_create_world: make and out must not be NULL");
    cal_world* world = NULL;
    *out = NULL;
    cal_status status = make(user, &world, error);
    if (!status) status = create(world, make, user, out, error);
    if (status) cal_world_destroy(world);
    return status;
}
