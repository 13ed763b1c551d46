// Specifications of generators and scenes from anywhere, with little memory; small ones are simulated for a moment.
#include "calder/calder_world.h"
#include "change.h"
#include "fuzz.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 40, MOST_EVALUATIONS = 60, LONGEST = 256 };

// --- Changes -------------------------------------------------------------------------------------------------------------

// A value of a parameter, as a line of a generator's help says: "key=default  meaning (least to most)" or "key=one|another  meaning".
static size_t make_value(fuzz_random* random, const char* line, char* out, size_t room) {
    const char *value = strchr(line, '=') + 1, *end = value + strcspn(value, " \n"), *stop = line + strcspn(line, "\n");
    double least = 0, most = 0;
    for (const char* p = line; p < stop; p++)
        if (*p == '(' && sscanf(p, "(%lf to %lf)", &least, &most) == 2) break;
    // Ten million bodies that there is no memory for take seconds each to be counted.
    if (most > 1e5 && fuzz_below(random, 8) != 0) most = 1e5;
    const char* bar = memchr(value, '|', (size_t)(end - value));
    const size_t kind = fuzz_below(random, 8);
    if (bar != NULL && kind < 7) { // one of the choices
        const char* from = value;
        for (size_t skip = fuzz_below(random, 6); skip > 0 && (bar = memchr(from, '|', (size_t)(end - from))) != NULL;
             skip--)
            from = bar + 1;
        bar = memchr(from, '|', (size_t)(end - from));
        return (size_t)snprintf(out, room, "%.*s", (int)((bar != NULL ? bar : end) - from), from);
    }
    switch (kind) {
    case 0: return (size_t)snprintf(out, room, "%.17g", least);
    case 1: return (size_t)snprintf(out, room, "%.17g", most);
    case 2: return (size_t)snprintf(out, room, "%.*s", (int)(end - value), value);
    case 3: return (size_t)snprintf(out, room, "%d", (int)fuzz_below(random, 12));
    case 4:
        return (size_t)snprintf(out, room, "%.17g", least + (most - least) * (double)fuzz_below(random, 1000) / 1000);
    case 5: return (size_t)snprintf(out, room, "%.17g", fuzz_below(random, 2) == 0 ? least - 1e-9 : most * (1 + 1e-9));
    default: return fuzz_number(random, out, room);
    }
}

// A generator's or a scene's name with some of its parameters.
static size_t make_specification(fuzz_random* random, char* out) {
    int generators = 0, scenes = 0;
    while (cal_generator_name(generators) != NULL) generators++;
    while (cal_scene_name(scenes) != NULL) scenes++;
    const int index = (int)fuzz_below(random, (size_t)(generators + scenes));
    const bool scene = index >= generators;
    const char* help = scene ? cal_scene_help(index - generators) : cal_generator_help(index);
    size_t count =
        (size_t)snprintf(out, LONGEST, "%s", scene ? cal_scene_name(index - generators) : cal_generator_name(index));
    char separator = ':';
    for (const char* line = help; (line = strstr(line, "\n  ")) != NULL;) {
        line += 3;
        const size_t key = strcspn(line, "= \n");
        if (line[key] != '=' || fuzz_below(random, 3) == 0 || count + key + 80 > LONGEST) continue;
        count += (size_t)snprintf(out + count, LONGEST - count, "%c%.*s=", separator, (int)key, line);
        count += make_value(random, line, out + count, 64);
        separator = ',';
    }
    return count;
}

size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t room, unsigned seed) {
    static const char* const words[] = {"n=3", "seed=5", "joint=ball", "floor=1", "passive=1", "start=0.5",
                                        "",    "n",      "=",          "kind",    NULL};
    fuzz_random random = {seed};
    if (fuzz_below(&random, 3) == 0) return fuzz_change_list(bytes, count, room, seed, ":,=", words);
    char made[LONGEST];
    const size_t length = make_specification(&random, made);
    if (length > room) return count;
    memcpy(bytes, made, length);
    return length;
}

// --- The target ----------------------------------------------------------------------------------------------------------

static void simulate(const cal_model* model, size_t choice) {
    static const char* const solvers[] = {"auto", "gear", "rkf", "rk4", "euler", "rki", "implicit"};
    static const char* const algorithms[] = {"aba", "assembly", "armstrong"};
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    def.solver = solvers[choice % 7];
    def.algorithm = algorithms[choice / 7 % 3];
    def.contact = false;
    def.evaluation_limit = MOST_EVALUATIONS;
    if (cal_sim_create(model, &def, &sim, NULL) != CAL_OK) return;
    if (cal_sim_advance(sim, 2e-3, NULL) == CAL_OK) {
        for (int i = 0; i < cal_model_q_count(model); i++)
            if (!isfinite(cal_sim_q(sim)[i])) abort();
        for (int i = 0; i < cal_model_v_count(model); i++)
            if (!isfinite(cal_sim_v(sim)[i])) abort();
    }
    cal_sim_destroy(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    char* text = fuzz_text(bytes, count);
    cal_model* model = NULL;
    cal_world* world = NULL;
    cal_error error;
    fuzz_limit_memory((size_t)8 << 20);
    if (cal_model_generate(text, &model, &error) == CAL_OK) {
        if (cal_model_body_count(model) <= MOST_BODIES) simulate(model, count);
        cal_model_destroy(model);
    }
    if (!fuzz_is_large(text, 30) && cal_world_generate(text, NULL, &world, &error) == CAL_OK) {
        if (cal_world_body_count(world) <= MOST_BODIES) cal_world_advance(world, 2e-3, NULL);
        cal_world_destroy(world);
    }
    free(text);
    return 0;
}
