// `calder sim SCENE`, and `calder sim MODEL --loop …`: worlds of colliding bodies.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calder/calder_world.h"
#include "model_file.h"
#include "options.h"
#include "progress.h"
#include "recording.h"
#include "sim.h"
#include "world_options.h"

typedef struct world_options {
    const char* scene; // or a model
    cal_model_options models;
    cal_world_options world;
    const char* events;
    cal_texts out;
    double time, fps, rollbacks;
    int64_t seed;
    bool check_rules, json;
} world_options;

static void print_details(void) {
    cal_print_scenes();
    printf(
        "\nInstead of a scene, a model: a file, MJCF or URDF, or a generator. What moves by one free joint is a body, "
        "what\n"
        "has other joints a multibody, everything else is fixed. Velocities come from a keyframe (--key); restitution\n"
        "and friction from the options, else from the file's <custom> numbers of these names, else from its shapes.\n");
    printf("\nParameters: 'calder help models'. timewarp advances each body by itself; retroactive steps all by --step "
           "and\n"
           "backs all up to each collision; conservative advances all to wherever something might happen. Energy is\n"
           "kinetic and potential. Ctrl-C finishes the frame and exits with 1.\n");
}

// --- Files ------------------------------------------------------------------------------------------------------------------

typedef struct outputs {
    FILE *events, *table;
    cal_recording recording;
} outputs;

static int open_file(const char* path, FILE** out) {
    if (!path) return CAL_EXIT_DONE;
    *out = fopen(path, "w");
    return *out ? CAL_EXIT_DONE : cal_complain(CAL_EXIT_MISTAKE, "cannot write '%s': %s", path, strerror(errno));
}

static int close_file(FILE* file, const char* path, int status) {
    if (!file) return status;
    bool bad = ferror(file) != 0;
    bad |= fclose(file) != 0;
    return bad && status == CAL_EXIT_DONE ? cal_complain(CAL_EXIT_FAILED, "cannot write '%s'", path) : status;
}

static void write_frame_header(const cal_world* world, FILE* file) {
    char name[128];
    fputs("time", file);
    for (int i = 0; i < cal_world_body_count(world); i++) {
        cal_body_id body = cal_world_body(world, i);
        if (cal_world_body_motion(world, body) == CAL_FIXED) continue;
        cal_world_body_name(world, body, name, sizeof name);
        for (const char* const* part = (const char* const[]){"x", "y", "z", "qw", "qx", "qy", "qz", NULL}; *part;
             part++)
            fprintf(file, ",%s.%s", name, *part);
    }
    fputc('\n', file);
}

static void write_frame(const cal_world* world, FILE* file) {
    fprintf(file, "%.17g", cal_world_time(world));
    for (int i = 0; i < cal_world_body_count(world); i++) {
        cal_body_id body = cal_world_body(world, i);
        if (cal_world_body_motion(world, body) == CAL_FIXED) continue;
        double x[7];
        if (cal_world_get_body(world, body, x, x + 3, NULL, NULL) != CAL_OK) continue;
        for (int k = 0; k < 7; k++) fprintf(file, ",%.17g", x[k]);
    }
    fputc('\n', file);
}

static void write_events(cal_world* world, FILE* file) {
    cal_world_event event;
    char a[128], b[128];
    while (cal_world_next_event(world, &event))
        fprintf(file, "%.17g,%s,%s,%.17g,%s\n", event.time, cal_world_body_name(world, event.body[0], a, sizeof a),
                cal_world_body_name(world, event.body[1], b, sizeof b), event.impulse,
                event.fusion ? "fusion" : "bounce");
}

// --- Results ----------------------------------------------------------------------------------------------------------------

typedef struct world_result {
    cal_world_report report;
    double energy_start, wall;
    int64_t frames;
    bool interrupted;
} world_result;

static double per(double value, double count) { return count > 0 ? value / count : 0; }

static void print_json(const world_options* o, const world_result* result) {
    const cal_world_report* r = &result->report;
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "scene", o->scene);
    cal_json_text(&json, "loop", o->world.loop);
    if (strcmp(o->world.loop, "retroactive") == 0) cal_json_number(&json, "step", o->world.step);
    cal_json_text(&json, "group", o->world.group);
    cal_json_integer(&json, "bodies", r->bodies);
    cal_json_integer(&json, "moving", r->moving + r->driven);
    cal_json_number(&json, "time", r->time);
    cal_json_integer(&json, "frames", result->frames);
    cal_json_number(&json, "wall_s", result->wall);
    cal_json_number(&json, "realtime_factor", per(r->time, result->wall));
    cal_json_number(&json, "frame_s", per(result->wall, (double)result->frames));
    cal_json_integer(&json, "discontinuities", r->discontinuities);
    cal_json_integer(&json, "collisions", r->collisions);
    cal_json_integer(&json, "fusions", r->fusions);
    cal_json_integer(&json, "fissions", r->fissions);
    cal_json_integer(&json, "checks", r->checks);
    cal_json_integer(&json, "predictions", r->predictions);
    cal_json_integer(&json, "events", r->events);
    cal_json_integer(&json, "integrations", r->integrations);
    cal_json_number(&json, "average_step_s", per(r->integrated, (double)r->integrations));
    cal_json_number(&json, "average_gap_s", per(r->time, (double)r->discontinuities));
    cal_json_number(&json, "integrated_s_per_body", per(r->integrated, r->moving));
    cal_json_number(&json, "rolled_back_s_per_body", per(r->rolled_back, r->moving));
    cal_json_integer(&json, "rollbacks", r->rollbacks);
    cal_json_integer(&json, "undone", r->undone);
    cal_json_integer(&json, "forced_rollbacks", r->forced);
    cal_json_integer(&json, "callbacks", r->callbacks);
    cal_json_integer(&json, "groups", r->groups);
    cal_json_integer(&json, "largest_group", r->largest_group);
    cal_json_integer(&json, "largest_contacts", r->largest_contacts);
    cal_json_integer(&json, "asleep", r->asleep);
    cal_json_integer(&json, "peak_states", r->peak_states);
    cal_json_number(&json, "energy_start", result->energy_start);
    cal_json_number(&json, "energy", r->kinetic + r->potential);
    cal_json_numbers(&json, "momentum", r->momentum, 6);
    cal_json_hash(&json, "state_hash", r->hash);
    cal_json_boolean(&json, "interrupted", result->interrupted);
    cal_json_close(&json, '}');
}

static void print_summary(const world_options* o, const world_result* result) {
    const cal_world_report* r = &result->report;
    printf("%-16s %s: %d bodies, %d of them moving\n", "scene", o->scene, r->bodies, r->moving + r->driven);
    printf("%-16s %s\n", "loop", o->world.loop);
    printf("%-16s %g s in %.3g s, %.3g times as fast as time\n", "simulated", r->time, result->wall,
           per(r->time, result->wall));
    printf("%-16s %lld, one each %.3g ms\n", "discontinuities", (long long)r->discontinuities,
           1e3 * per(r->time, (double)r->discontinuities));
    printf("%-16s %lld, and %lld times of impact from a formula\n", "checks", (long long)r->checks,
           (long long)r->predictions);
    printf("%-16s %lld of %.3g ms, %.4g s a body\n", "integrations", (long long)r->integrations,
           1e3 * per(r->integrated, (double)r->integrations), per(r->integrated, r->moving));
    printf("%-16s %lld, %.3g s a body\n", "rollbacks", (long long)r->rollbacks, per(r->rolled_back, r->moving));
    printf("%-16s %lld, the largest of %d bodies and %d contacts; %d bodies asleep\n", "contact groups",
           (long long)r->groups, r->largest_group, r->largest_contacts, r->asleep);
    printf("%-16s %lld at most\n", "states kept", (long long)r->peak_states);
    printf("%-16s %.10g J, %.10g J at the start\n", "energy", r->kinetic + r->potential, result->energy_start);
    printf("%-16s %016llx\n", "state hash", (unsigned long long)r->hash);
    for (int i = 0; i < o->out.count; i++) printf("%-16s %s\n", i ? "" : "written", o->out.items[i]);
}

// --- The run ----------------------------------------------------------------------------------------------------------------

// The files of --out, of a world that is at its start.
static int open_recording(const world_options* o, const cal_world* world, outputs* files) {
    int status = open_file(files->recording.csv_path, &files->table);
    if (status == CAL_EXIT_DONE && files->table) write_frame_header(world, files->table);
    return status == CAL_EXIT_DONE ? cal_recording_open_world(&files->recording, world, o->scene) : status;
}

static int record(cal_world* world, outputs* files, bool last) {
    if (files->table) write_frame(world, files->table);
    return cal_recording_write_world(&files->recording, world, last);
}

static int run(const world_options* o, cal_world* world, outputs* files, world_result* result) {
    cal_progress progress = cal_progress_start("simulating");
    cal_error error = {CAL_OK, ""};
    int status = CAL_EXIT_DONE;
    int64_t frames = (int64_t)ceil(o->time * o->fps - 1e-9);
    for (int64_t frame = 0; frame <= frames && !result->interrupted && status == CAL_EXIT_DONE; frame++) {
        double time = frame == frames ? o->time : (double)frame / o->fps, started = cal_wall_seconds();
        error.status = cal_world_advance(world, time, &error);
        if (error.status != CAL_OK) break;
        if (frame > 0) result->wall += cal_wall_seconds() - started;
        if (frame == 0) {
            cal_world_get_report(world, &result->report);
            result->energy_start = result->report.kinetic + result->report.potential;
            status = open_recording(o, world, files);
        }
        result->frames = frame;
        if (status == CAL_EXIT_DONE) status = record(world, files, frame == frames);
        if (files->events) write_events(world, files->events);
        cal_progress_show(&progress, frames > 0 ? (double)frame / (double)frames : 1);
        result->interrupted = cal_interrupted();
    }
    cal_progress_end(&progress);
    cal_world_get_report(world, &result->report);
    return error.status == CAL_OK ? status : cal_complain_error(&error);
}

// The world of a scene or a model; report: what the file's reader noticed, or NULL.
static int make_world(const world_options* o, const cal_world_def* def, cal_world** world, cal_read_report** report) {
    cal_error error = {CAL_OK, ""};
    if (cal_scene_of(o->scene) >= 0) {
        error.status = cal_world_generate(o->scene, def, world, &error);
        return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
    }
    cal_model* model = NULL;
    int status = cal_model_open(o->scene, &o->models, &model, report);
    if (status != CAL_EXIT_DONE) return status;
    error.status = cal_world_from_model(model, def, world, &error);
    cal_model_destroy(model);
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

// Bodies that overlap at the start and that nobody could move apart.
static void mention_left_out(const char* scene, const cal_world* world) {
    char text[256] = "", a[64], b[64];
    cal_body_id pair[2];
    double depth;
    int count = 0;
    for (; cal_world_ignored_overlap(world, count, pair, &depth); count++) {
        size_t used = strlen(text);
        if (count < 3)
            snprintf(text + used, sizeof text - used, "%s%.24s and %.24s by %.3g m", used > 0 ? ", " : "",
                     cal_world_body_name(world, pair[0], a, sizeof a), cal_world_body_name(world, pair[1], b, sizeof b),
                     depth);
    }
    if (count > 0)
        cal_complain(0, "%s: %d pair%s of bodies that overlap at the start pass%s through each other: %s%s", scene,
                     count, count == 1 ? "" : "s", count == 1 ? "es" : "", text, count > 3 ? ", …" : "");
}

static int simulate(const world_options* o) {
    cal_world_def def = cal_world_def_of(&o->world);
    def.forced_rollbacks = o->rollbacks;
    def.seed = (uint64_t)o->seed;
    def.check_rules = o->check_rules;
    cal_world* world = NULL;
    cal_read_report* report = NULL;
    outputs files = {0};
    world_result result = {0};
    int status = cal_recording_sort(&o->out, &files.recording);
    if (status == CAL_EXIT_DONE) status = make_world(o, &def, &world, &report);
    if (status == CAL_EXIT_DONE) status = open_file(o->events, &files.events);
    if (status == CAL_EXIT_DONE) {
        cal_world_keep_events(world, files.events != NULL);
        if (files.events) fputs("time,body,other,impulse,kind\n", files.events);
        status = run(o, world, &files, &result);
    }
    status = close_file(files.events, o->events, status);
    status = close_file(files.table, files.recording.csv_path, status);
    // After a failure too, what there is gets written.
    const int recorded = cal_recording_close(&files.recording);
    if (status == CAL_EXIT_DONE) status = recorded;
    if (status == CAL_EXIT_DONE) {
        if (o->json)
            print_json(o, &result);
        else
            print_summary(o, &result);
        status = cal_finish_output(status);
        if (status == CAL_EXIT_DONE && result.interrupted)
            status = cal_complain(CAL_EXIT_FAILED, "interrupted at %g of %g s", result.report.time, o->time);
        if (status == CAL_EXIT_DONE) {
            cal_mention_issues(o->scene, report);
            mention_left_out(o->scene, world);
        }
    }
    cal_read_report_destroy(report);
    cal_world_destroy(world);
    return status;
}

int cal_sim_run_world(int argc, char** argv) {
    world_options o = {.world = cal_default_world_options(), .time = -1, .fps = 30, .seed = 1};
    const cal_option table[] = {
        {"time", CAL_OPTION_NUMBER, &o.time, "S", "seconds to simulate; -1: as long as the paper did, a model 10 s", -1,
         1e9, NULL},
        CAL_WORLD_OPTIONS(o.world),
        {"fps", CAL_OPTION_NUMBER, &o.fps, "N", "frames a simulated second", 1e-3, 1e6, NULL},
        {"events", CAL_OPTION_TEXT, &o.events, "FILE", "write every collision as a row of a CSV file", 0, 0, NULL},
        {"out", CAL_OPTION_TEXTS, &o.out, "FILE",
         "record: .csv a row of poses a frame, .glb a glTF animation, .html a page that plays it; may be given again",
         0, 0, NULL},
        {"force-rollbacks", CAL_OPTION_NUMBER, &o.rollbacks, "P",
         "to find mistakes: probability that an event is followed by a rollback", 0, 0.9, NULL},
        {"seed", CAL_OPTION_COUNT, &o.seed, "N", "of the forced rollbacks", 0, 1e15, NULL},
        {"check-rules", CAL_OPTION_FLAG, &o.check_rules, NULL, "to find mistakes: run every callback twice and compare",
         0, 0, NULL},
        CAL_MODEL_PHYSICS_OPTIONS(o.models),
        CAL_MODEL_FILE_OPTIONS(o.models),
        {"json", CAL_OPTION_FLAG, &o.json, NULL, "print one JSON object instead of the summary", 0, 0, NULL},
    };
    const cal_usage usage = {"sim",
                             "SCENE",
                             "Simulates a world of colliding bodies and prints a summary.",
                             print_details,
                             "calder sim atoms:n=200 --time 2 --events events.csv",
                             1,
                             1};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    o.scene = argv[1];
    const int scene = cal_scene_of(o.scene);
    const cal_model_options* m = &o.models;
    if (scene >= 0 &&
        (m->key || m->disable || m->package_path || m->strict || m->repair || m->free_base || m->allow_outside))
        return cal_complain(CAL_EXIT_MISTAKE, "'%s' is a scene; --key, --disable and how to read are for models",
                            o.scene);
    if (o.time < 0) o.time = scene >= 0 ? cal_scene_duration(scene) : 10;
    for (int i = 0; i < o.out.count; i++)
        if (o.events && strcmp(o.events, o.out.items[i]) == 0)
            return cal_complain(CAL_EXIT_MISTAKE, "--events and --out both name '%s'; give each its own file",
                                o.events);
    return simulate(&o);
}
