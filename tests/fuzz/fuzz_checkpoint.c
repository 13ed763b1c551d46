// Checkpoints from anywhere, with a checksum that fits: the first byte says of which simulation, and the rest is what is changed in
// its checkpoint. What is taken must be a simulation that goes on, or fails in a clean way; what is refused changes nothing.
#include "base/hash.h"
#include "calder/calder.h"
#include "calder/calder_world.h"
#include "fuzz.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// solver: NULL, it is a scene. time: of the checkpoint; with events groups have come together.
static const struct {
    const char *name, *solver;
    bool contact;
    double time;
} kinds[] = {{"chain:n=2", "gear", false, 0.02},
             {"chain:n=2", "rkf", false, 0.02},
             {"pendulum", "rk4", false, 0.02},
             {"fivebar", "gear", false, 0.02},
             {"chain:n=2,joint=ball", "gear", false, 0.02},
             {"stickman:floor=1", "auto", true, 0.02},
             {"chain:n=2", "implicit", false, 0.02},
             {"atoms:n=8", NULL, true, 0.05},
             {"avalanche:n=3", NULL, true, 0.4},
             {"robots:n=2,boxes=1", NULL, true, 0.05}};
enum { KINDS = sizeof kinds / sizeof kinds[0], LARGEST = 1 << 20, MOST_LOOKS = 500000 };

static cal_sim* open_scene(const char* name) {
    const cal_world_def def = cal_default_world_def();
    cal_world* world = NULL;
    cal_sim* sim = NULL;
    if (cal_world_generate(name, &def, &world, NULL) != CAL_OK || cal_sim_of_world(world, &sim, NULL) != CAL_OK)
        abort();
    cal_world_keep_events(world, true);
    return sim;
}

static cal_sim* open_sim(int kind, cal_model** model) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    if (kinds[kind].solver == NULL) return open_scene(kinds[kind].name);
    def.solver = kinds[kind].solver;
    def.contact = kinds[kind].contact;
    def.evaluation_limit = 200;
    if (cal_model_generate(kinds[kind].name, model, NULL) != CAL_OK) abort();
    if (cal_sim_create(*model, &def, &sim, NULL) != CAL_OK) {
        def.solver = "gear"; // left out of this build
        if (cal_sim_create(*model, &def, &sim, NULL) != CAL_OK) abort();
    }
    return sim;
}

// A checkpoint of this simulation at a time; returns its size.
static size_t save(cal_sim* sim, double time, uint8_t* out) {
    const char* path = fuzz_file(out, 0);
    if (cal_sim_advance(sim, time, NULL) != CAL_OK || cal_sim_save(sim, path, NULL) != CAL_OK) abort();
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

// What went well has numbers, or says that its energy is none.
static void expect_finite(cal_sim* sim) {
    const cal_model* model = cal_sim_model(sim);
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

static int64_t count_looks(cal_world* world) {
    cal_world_report report = {0};
    if (world != NULL) cal_world_get_report(world, &report);
    return report.checks;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    if (count < 1) return 0;
    static uint8_t file[LARGEST];
    const int kind = bytes[0] % KINDS;
    cal_model *model = NULL, *other_model = NULL;
    cal_error error;
    fuzz_limit_memory((size_t)64 << 20);
    cal_sim *sim = open_sim(kind, &model), *other = open_sim(kind, &other_model);
    const size_t size = save(other, kinds[kind].time, file), words = patch(bytes + 1, count - 1, file, size / 8 - 2);
    const uint64_t sum = cal_hash_bytes(CAL_HASH_START, file, 8 + 8 * words), before = cal_sim_hash(sim);
    for (int k = 0; k < 8; k++) file[8 + 8 * words + (size_t)k] = (uint8_t)(sum >> 8 * k);
    if (cal_sim_load(sim, fuzz_file(file, 16 + 8 * words), &error) != CAL_OK) {
        if (cal_sim_hash(sim) != before)
            fprintf(stderr, "%s\n", error.text), abort(); // what is refused changes nothing
    } else {
        const double time = cal_sim_time(sim);
        const int64_t looks = count_looks(cal_sim_world(sim)); // as the file says
        if (!isfinite(time)) fprintf(stderr, "time %g\n", time), abort();
        // What was made fast has many impacts on its way.
        const double further = kinds[kind].contact ? 1e-5 : 1e-3;
        if (cal_sim_advance(sim, time + further * (1 + fabs(time)), &error) == CAL_OK) expect_finite(sim);
        // A search that cannot come to an end notices it long before it has looked as often as it may.
        const int64_t more = count_looks(cal_sim_world(sim)) - looks;
        if (more > MOST_LOOKS) fprintf(stderr, "%lld looks\n", (long long)more), abort();
    }
    cal_sim_destroy(sim);
    cal_sim_destroy(other);
    cal_model_destroy(model);
    cal_model_destroy(other_model);
    return 0;
}
