// Small worlds from anywhere: an MJCF file of a few bodies, simulated for a moment with each of the loops. Whatever the masses, sizes
// and speeds are, a loop ends: at its time, or with a line. What was committed is the same with rollbacks forced on top, on two threads, and from a
// checkpoint on the way.
#include "calder/calder_read.h"
#include "calder/calder_world.h"
#include "../place.h"
#include "change.h"
#include "formats.h"
#include "fuzz.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_BODIES = 6 };
static const double moment = 0.02;
// Comparisons repeat what a run takes about thirty times, most of it with rollbacks forced after half of the events (event/timewarp.c): of the 25 s that an
// input may take (replay.c, scripts/fuzz) a run may take this much of, with half of it to spare.
static const double comparable = 25.0 / 60.0;

size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t room, unsigned seed) {
    return fuzz_change_xml(bytes, count, room, seed, &fuzz_mjcf);
}

static cal_sim* open_sim(const cal_model* model, cal_world_loop loop, double rollbacks, cal_machine* machine) {
    cal_world_def events = cal_default_world_def();
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    events.loop = loop;
    events.separate = true;
    events.forced_rollbacks = rollbacks;
    def.events = &events;
    def.machine = machine;
    return cal_sim_create(model, &def, &sim, NULL) == CAL_OK ? sim : NULL;
}

// Advances, destroys, and returns the hash; 0 where it fails.
static uint64_t finish(const cal_model* model, cal_sim* sim, double time) {
    if (sim == NULL) return 0;
    uint64_t hash = 0;
    if (cal_sim_advance(sim, time, NULL) == CAL_OK) {
        hash = cal_sim_hash(sim);
        for (int i = 0; i < cal_model_q_count(model); i++)
            if (!isfinite(cal_sim_q(sim)[i])) abort(); // never NaN with status 0
        for (int i = 0; i < cal_model_v_count(model); i++)
            if (!isfinite(cal_sim_v(sim)[i])) abort();
    }
    cal_sim_destroy(sim);
    return hash;
}

static void expect_same(uint64_t hash, uint64_t other, const char* how) {
    // Less memory and a limit of the loop may end one of the two.
    if (hash == 0 || other == 0 || hash == other) return;
    fprintf(stderr, "other bits %s: %016llx, %016llx\n", how, (unsigned long long)hash, (unsigned long long)other);
    abort();
}

static uint64_t on_two_threads(const cal_model* model) {
    cal_machine* machine = NULL;
    cal_threads_def def = cal_default_threads_def();
    def.workers = 2;
    if (cal_machine_threads(&def, &machine, NULL) != CAL_OK) return 0;
    const uint64_t hash = finish(model, open_sim(model, CAL_TIMEWARP, 0, machine), moment);
    cal_machine_destroy(machine);
    return hash;
}

// Half of the way, a checkpoint, and the rest by another simulation. Both go on from there.
static void resume(const cal_model* model) {
    char path[CAL_TEST_PATH];
    cal_test_path(path, "checkpoint");
    cal_sim *sim = open_sim(model, CAL_TIMEWARP, 0, NULL), *other = open_sim(model, CAL_TIMEWARP, 0, NULL);
    cal_error error;
    if (sim != NULL && other != NULL && cal_sim_advance(sim, moment / 2, NULL) == CAL_OK &&
        cal_sim_save(sim, path, NULL) == CAL_OK) {
        const cal_status status = cal_sim_load(other, path, &error);
        if (status != CAL_OK && status != CAL_NO_MEMORY) fprintf(stderr, "%s\n", error.text), abort();
        if (status == CAL_OK) {
            const uint64_t hash = finish(model, sim, moment);
            expect_same(hash, finish(model, other, moment), "from a checkpoint");
            return;
        }
    }
    cal_sim_destroy(sim);
    cal_sim_destroy(other);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    cal_read_options options = cal_default_read_options();
    cal_model* model = NULL;
    cal_error error;
    if (count > 4096) return 0;
    fuzz_limit_memory((size_t)64 << 20);
    options.format = CAL_FORMAT_MJCF;
    if (cal_model_read_memory((const char*)bytes, count, "fuzz.xml", &options, &model, NULL, &error) != CAL_OK)
        return 0;
    if (cal_model_body_count(model) <= MOST_BODIES) {
        uint64_t hash = 0;
        for (int loop = CAL_TIMEWARP; loop <= CAL_CONSERVATIVE; loop++) {
            const clock_t begin = clock();
            const uint64_t own = finish(model, open_sim(model, (cal_world_loop)loop, 0, NULL), moment);
            if (loop == CAL_TIMEWARP && (double)(clock() - begin) < comparable * CLOCKS_PER_SEC) hash = own;
        }
        if (hash != 0) {
            // Few that go far back, and many that do not (event/timewarp.c).
            static const double shares[] = {0.01, 0.1, 0.5};
            for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
                expect_same(hash, finish(model, open_sim(model, CAL_TIMEWARP, shares[i], NULL), moment),
                            "with rollbacks");
            expect_same(hash, on_two_threads(model), "on threads");
            resume(model);
        }
    }
    cal_model_destroy(model);
    return 0;
}
