// Checkpoints from anywhere, with a checksum that fits: the first byte says of which simulation or ensemble, and the rest is what is changed
// in its checkpoint. What is taken must be a simulation that goes on, or fails in a clean way; what is refused changes nothing.
#include "base/hash.h"
#include "calder/calder.h"
#include "calder/calder_read.h"
#include "calder/calder_world.h"
#include "fuzz.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Muscles, a tendon over a pulley, a stop with friction, a motor with an activation: what has a memory beside q and v.
static const char muscles[] =
    "<mujoco><worldbody><site name='s' pos='0 0 1'/><body pos='0 0 1'><joint name='a' axis='0 1 0' range='-20 20' "
    "frictionloss='.1' damping='.1'/><geom type='capsule' fromto='0 0 0 .5 0 0' size='.05'/><site name='t' pos='.3 0 "
    ".1'/>"
    "<body pos='.5 0 0'><joint name='b' axis='0 1 0' stiffness='2'/><geom type='capsule' fromto='0 0 0 .4 0 0' "
    "size='.04'/>"
    "<site name='u' pos='.2 0 .1'/></body></body></worldbody><tendon><spatial name='m' range='0 1.3' limited='true'>"
    "<site site='s'/><site site='t'/><site site='u'/></spatial></tendon><actuator><muscle tendon='m' lengthrange='.5 "
    "1.5'/>"
    "<position joint='a' kp='3' timeconst='.1'/></actuator></mujoco>";
// A tree with a loop and a motor on a floor, beside bodies that are free: members of groups with constraints of their own.
static const char loop_on_floor[] =
    "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body name='a' pos='0 0 .1'><freejoint/><geom type='box' "
    "size='.2 .1 .09'/><body name='b' pos='.3 0 0'><joint name='h' axis='0 1 0'/><geom size='.08'/></body><body "
    "name='c' "
    "pos='.3 .2 0'><joint axis='0 1 0'/><geom size='.08'/></body></body><body pos='0 0 .3'><freejoint/><geom "
    "type='box' "
    "size='.1 .1 .1'/></body></worldbody><equality><connect body1='b' body2='c' anchor='.05 .1 .05'/></equality>"
    "<actuator><position joint='h' kp='1'/></actuator></mujoco>";

// solver: NULL, it is a scene. time: of the checkpoint; with events groups have come together. Some are of a kind of their own: an algorithm
// or another form of the constraints.
static const struct {
    const char *name, *solver;
    bool contact;
    double time;
    const char *algorithm, *form;
    int slow_band;
    int count; // of an ensemble's instances: side by side in lanes, by turns, and as simulations of their own
} kinds[] = {
    {.name = "chain:n=2", .solver = "gear", .time = 0.02},
    {.name = "chain:n=2", .solver = "rkf", .time = 0.02},
    {.name = "pendulum", .solver = "rk4", .time = 0.02},
    {.name = "fivebar", .solver = "gear", .time = 0.02},
    {.name = "chain:n=2,joint=ball", .solver = "gear", .time = 0.02},
    {.name = "stickman:floor=1", .solver = "auto", .contact = true, .time = 0.02},
    {.name = "chain:n=2", .solver = "implicit", .time = 0.02},
    {.name = "atoms:n=8", .solver = NULL, .contact = true, .time = 0.05},
    {.name = "avalanche:n=3", .solver = NULL, .contact = true, .time = 0.4},
    {.name = "robots:n=2,boxes=1", .solver = NULL, .contact = true, .time = 0.05},
    {.name = muscles, .solver = "gear", .time = 0.02},
    {.name = muscles, .solver = "bdf", .time = 0.02},
    {.name = "chain:n=2", .solver = "bdf", .time = 0.02},
    {.name = "fivebar", .solver = "rk4", .time = 0.02, .form = "minimal"},
    {.name = "chain:n=3", .solver = "gear", .time = 0.02, .algorithm = "assembly"},
    {.name = "chain:n=2,joint=ball", .solver = "rk4", .time = 0.02, .algorithm = "armstrong", .slow_band = 4},
    {.name = "fourbar", .solver = "rki", .time = 0.02},
    {.name = loop_on_floor, .solver = "auto", .contact = true, .time = 0.02},
    {.name = "stack:kind=wall,n=2", .solver = NULL, .contact = true, .time = 0.1},
    {.name = "cars:cars=1,rows=1,sides=6", .solver = NULL, .contact = true, .time = 0.1},
    {.name = "chain:n=2,damping=0.2", .solver = "rk4", .time = 0.0205, .count = 3},
    {.name = "chain:n=2,joint=ball", .solver = "euler", .time = 0.0205, .count = 3},
    {.name = muscles, .solver = "gear", .time = 0.02, .count = 3},
    {.name = "fivebar", .solver = "rk4", .time = 0.02, .count = 3},
    {.name = loop_on_floor, .solver = "auto", .contact = true, .time = 0.02, .count = 2},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], LARGEST = 1 << 20, MOST_LOOKS = 500000, NOT_PUSHED = 10 };

// What a checkpoint is of: one of the two.
typedef struct subject {
    cal_model* model;
    cal_sim* sim;
    cal_ensemble* ensemble;
} subject;

static void close_subject(subject* s) {
    cal_sim_destroy(s->sim);
    cal_ensemble_destroy(s->ensemble);
    cal_model_destroy(s->model);
}
static cal_status advance(const subject* s, double time, cal_error* error) {
    return s->ensemble ? cal_ensemble_advance(s->ensemble, time, error) : cal_sim_advance(s->sim, time, error);
}
static cal_status load(const subject* s, const char* path, cal_error* error) {
    return s->ensemble ? cal_ensemble_load(s->ensemble, path, error) : cal_sim_load(s->sim, path, error);
}
static uint64_t hash_of(const subject* s) {
    return s->ensemble ? cal_ensemble_hash(s->ensemble) : cal_sim_hash(s->sim);
}
static double time_of(const subject* s) { return s->ensemble ? cal_ensemble_time(s->ensemble) : cal_sim_time(s->sim); }

static cal_sim* open_scene(const char* name) {
    const cal_world_def def = cal_default_world_def();
    cal_world* world = NULL;
    cal_sim* sim = NULL;
    if (cal_world_generate(name, &def, &world, NULL) != CAL_OK || cal_sim_of_world(world, &sim, NULL) != CAL_OK)
        abort();
    cal_world_keep_events(world, true);
    return sim;
}

static subject open_subject(int kind) {
    cal_ensemble_def many = cal_default_ensemble_def();
    cal_sim_def def = cal_default_sim_def();
    subject s = {0};
    if (kinds[kind].solver == NULL) return (subject){.sim = open_scene(kinds[kind].name)};
    def.solver = kinds[kind].solver;
    def.contact = kinds[kind].contact;
    def.evaluation_limit = kinds[kind].contact && kind >= NOT_PUSHED ? 3000 : 200;
    if (kinds[kind].algorithm) def.algorithm = kinds[kind].algorithm;
    if (kinds[kind].form) def.constraint_form = kinds[kind].form;
    def.slow_band = kinds[kind].slow_band;
    const char* name = kinds[kind].name;
    if ((name[0] == '<' ? cal_model_read_memory(name, strlen(name), "kind.xml", NULL, &s.model, NULL, NULL)
                        : cal_model_generate(name, &s.model, NULL)) != CAL_OK)
        abort();
    if (kinds[kind].count > 0) {
        if (def.solver[0] == 'r' || def.solver[0] == 'e') def.evaluation_limit = 0; // lanes have none
        many.count = kinds[kind].count;
        many.spread = 1e-3;
        many.account = true;
        many.sim = def;
        if (cal_ensemble_create_def(s.model, &many, &s.ensemble, NULL) != CAL_OK) abort();
        return s;
    }
    if (cal_sim_create(s.model, &def, &s.sim, NULL) != CAL_OK) {
        def.solver = "gear"; // left out of this build
        if (cal_sim_create(s.model, &def, &s.sim, NULL) != CAL_OK) abort();
    }
    return s;
}

static bool push_and_drive(const subject* s) {
    static const double force[3] = {0.1, 0, 0.2}, control[8] = {0.5, 0.5};
    if (s->ensemble) return cal_ensemble_drive(s->ensemble, 1, NULL, control, NULL) == CAL_OK;
    return cal_sim_push(s->sim, cal_model_body_count(s->model) - 1, force, NULL, NULL) == CAL_OK &&
           cal_sim_drive(s->sim, NULL, control, NULL) == CAL_OK;
}

// A checkpoint of a subject of a kind; returns its size. What is pushed and driven is in it, but for the kinds that files of the corpus
// name words of.
static size_t save(const subject* s, int kind, uint8_t* out) {
    const char* path = fuzz_file(out, 0);
    if (s->model && kind >= NOT_PUSHED && !push_and_drive(s)) abort();
    cal_error error;
    if (advance(s, kinds[kind].time, &error) != CAL_OK ||
        (s->ensemble ? cal_ensemble_save(s->ensemble, path, &error) : cal_sim_save(s->sim, path, &error)) != CAL_OK)
        fprintf(stderr, "%s\n", error.text), abort();
    FILE* file = fopen(path, "rb");
    const size_t size = file ? fread(out, 1, LARGEST, file) : 0;
    if (!file || fclose(file) != 0 || size < 16 || size == LARGEST) abort();
    return size;
}

// Three bytes say where a word is changed and how: to the eight bytes that follow, or to one of the words that hurt most.
static size_t patch(const uint8_t* bytes, size_t count, uint8_t* file, size_t words) {
    static const uint64_t bad[] = {0,
                                   1,
                                   UINT64_MAX,
                                   UINT64_C(0x7ff8000000000000),
                                   UINT64_C(0x7ff0000000000000),
                                   UINT64_C(0x8000000000000000),
                                   UINT64_C(0x7fffffffffffffff),
                                   0xffffffff,
                                   UINT64_C(0x41dfffffffc00000),
                                   13,
                                   UINT64_C(0x7fe0000000000000),
                                   1 << 20};
    size_t kept = words;
    while (count >= 3) {
        const size_t at = ((size_t)bytes[0] << 8 | bytes[1]) % words;
        const int how = bytes[2] % 16;
        bytes += 3, count -= 3;
        uint64_t word = how < 12 ? bad[how] : 0;
        if (how == 12) kept = at; // cut off
        if (how > 12 && count >= 8) {
            memcpy(&word, bytes, 8);
            bytes += 8, count -= 8;
        }
        for (int k = 0; how != 12 && k < 8; k++) file[8 + 8 * at + (size_t)k] = (uint8_t)(word >> 8 * k);
    }
    return kept;
}

static void expect_numbers(const double* numbers, int count, const char* what) {
    for (int i = 0; i < count; i++)
        if (!isfinite(numbers[i])) fprintf(stderr, "number %d of %s is %g\n", i, what, numbers[i]), abort();
}

// Of each instance, and what is said of all together.
static void expect_finite_instances(const subject* s) {
    double q[64], v[64];
    cal_ensemble_report report;
    cal_energy_balance balance;
    for (int i = 0; i < cal_ensemble_count(s->ensemble); i++) {
        if (cal_ensemble_get(s->ensemble, i, q, v) != CAL_OK) abort();
        expect_numbers(q, cal_model_q_count(s->model), "q");
        expect_numbers(v, cal_model_v_count(s->model), "v");
        if (cal_ensemble_balance(s->ensemble, i, &balance) == CAL_OK && balance.exploded && !balance.flows &&
            balance.exchanged < 0)
            abort();
    }
    cal_ensemble_get_report(s->ensemble, &report);
    if (report.steps < 0 || report.evaluations < 0) abort();
}

// What went well has numbers, or says that its energy is none.
static void expect_finite(const subject* s) {
    cal_sim* sim = s->sim;
    const cal_model* model = s->model;
    if (s->ensemble) {
        expect_finite_instances(s);
        return;
    }
    if (model) {
        expect_numbers(cal_sim_q(sim), cal_model_q_count(model), "q");
        expect_numbers(cal_sim_v(sim), cal_model_v_count(model), "v");
        return;
    }
    cal_world* world = cal_sim_world(sim);
    cal_energy_balance balance;
    cal_world_event event;
    while (cal_world_next_event(world, &event)) {
        const double numbers[] = {event.time,      event.impulse,  event.normal[0], event.normal[1],
                                  event.normal[2], event.point[0], event.point[1],  event.point[2]};
        expect_numbers(numbers, 8, "an event");
    }
    if (cal_world_balance(world, &balance) != CAL_OK || !isfinite(balance.error)) return;
    for (int i = 0; i < cal_world_body_count(world); i++) {
        double numbers[13];
        if (cal_world_get_body(world, cal_world_body(world, i), numbers, numbers + 3, numbers + 7, numbers + 10) ==
            CAL_OK)
            expect_numbers(numbers, 13, "a body");
    }
}

static int64_t count_looks(const subject* s) {
    cal_world_report report = {0};
    cal_world* world = s->sim ? cal_sim_world(s->sim) : NULL;
    if (world != NULL) cal_world_get_report(world, &report);
    return report.checks;
}

// The checkpoint of a kind, the same one every time: made once.
static size_t checkpoint_of(int kind, uint8_t* out) {
    static struct {
        uint8_t* bytes;
        size_t size;
    } kept[KINDS];
    if (kept[kind].bytes == NULL) {
        subject s = open_subject(kind);
        kept[kind].size = save(&s, kind, out);
        kept[kind].bytes = malloc(kept[kind].size);
        if (kept[kind].bytes == NULL) abort();
        memcpy(kept[kind].bytes, out, kept[kind].size);
        close_subject(&s);
    }
    memcpy(out, kept[kind].bytes, kept[kind].size);
    return kept[kind].size;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    if (count < 1) return 0;
    static uint8_t file[LARGEST];
    const int kind = bytes[0] % KINDS;
    cal_error error;
    fuzz_limit_memory((size_t)64 << 20);
    subject s = open_subject(kind);
    const size_t size = checkpoint_of(kind, file), words = patch(bytes + 1, count - 1, file, size / 8 - 2);
    const uint64_t sum = cal_hash_bytes(CAL_HASH_START, file, 8 + 8 * words), before = hash_of(&s);
    for (int k = 0; k < 8; k++) file[8 + 8 * words + (size_t)k] = (uint8_t)(sum >> 8 * k);
    if (load(&s, fuzz_file(file, 16 + 8 * words), &error) != CAL_OK) {
        if (hash_of(&s) != before) fprintf(stderr, "%s\n", error.text), abort(); // what is refused changes nothing
    } else {
        const double time = time_of(&s);
        const int64_t looks = count_looks(&s); // as the file says
        if (!isfinite(time)) fprintf(stderr, "time %g\n", time), abort();
        // What was made fast has many impacts on its way, and fixed steps have no limit.
        const double further = kinds[kind].contact ? 1e-5 : 1e-3, scale = kinds[kind].count ? 1 : 1 + fabs(time);
        if (advance(&s, time + further * scale, &error) == CAL_OK) expect_finite(&s);
        // A search that cannot come to an end notices it long before it has looked as often as it may.
        const int64_t more = count_looks(&s) - looks;
        if (more > MOST_LOOKS) fprintf(stderr, "%lld looks\n", (long long)more), abort();
    }
    close_subject(&s);
    return 0;
}
