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

static const struct {
    const char *model, *solver;
    bool contact;
} kinds[] = {{"chain:n=2", "gear", false},
             {"chain:n=2", "rkf", false},
             {"pendulum", "rk4", false},
             {"fivebar", "gear", false},
             {"chain:n=2,joint=ball", "gear", false},
             {"stickman:floor=1", "auto", true},
             {"chain:n=2", "implicit", false}};
enum { KINDS = sizeof kinds / sizeof kinds[0], LARGEST = 1 << 20 };

static cal_sim* open_sim(int kind, cal_model** model) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    def.solver = kinds[kind].solver;
    def.contact = kinds[kind].contact;
    def.evaluation_limit = 200;
    if (cal_model_generate(kinds[kind].model, model, NULL) != CAL_OK) abort();
    if (cal_sim_create(*model, &def, &sim, NULL) != CAL_OK) {
        def.solver = "gear"; // left out of this build
        if (cal_sim_create(*model, &def, &sim, NULL) != CAL_OK) abort();
    }
    return sim;
}

// A checkpoint of this simulation a little after its start; returns its size.
static size_t save(cal_sim* sim, uint8_t* out) {
    const char* path = fuzz_file(out, 0);
    if (cal_sim_advance(sim, 0.02, NULL) != CAL_OK || cal_sim_save(sim, path, NULL) != CAL_OK) abort();
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

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    if (count < 1) return 0;
    static uint8_t file[LARGEST];
    const int kind = bytes[0] % KINDS;
    cal_model *model = NULL, *other_model = NULL;
    cal_error error;
    fuzz_limit_memory((size_t)64 << 20);
    cal_sim *sim = open_sim(kind, &model), *other = open_sim(kind, &other_model);
    const size_t size = save(other, file), words = patch(bytes + 1, count - 1, file, size / 8 - 2);
    const uint64_t sum = cal_hash_bytes(CAL_HASH_START, file, 8 + 8 * words), before = cal_sim_hash(sim);
    // What an image of events holds is believed when its checksum fits: there any change is seen by that.
    const bool fits = !kinds[kind].contact;
    for (int k = 0; fits && k < 8; k++) file[8 + 8 * words + (size_t)k] = (uint8_t)(sum >> 8 * k);
    if (cal_sim_load(sim, fuzz_file(file, 16 + 8 * words), &error) != CAL_OK) {
        if (cal_sim_hash(sim) != before)
            fprintf(stderr, "%s\n", error.text), abort(); // what is refused changes nothing
    } else {
        const double time = cal_sim_time(sim);
        if (!isfinite(time)) fprintf(stderr, "time %g\n", time), abort();
        cal_sim_advance(sim, time + 1e-3 * (1 + fabs(time)), &error);
    }
    cal_sim_destroy(sim);
    cal_sim_destroy(other);
    cal_model_destroy(model);
    cal_model_destroy(other_model);
    return 0;
}
