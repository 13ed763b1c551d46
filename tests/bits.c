// Hashes of runs, which every processor, compiler and optimisation must give: trees with every solver of ours, loops, worlds with
// rollbacks forced on top, ensembles. A program without cmocka, so that every cross compiler builds it (scripts/same-bits).
//
//   bits                      prints the name and the hash of every run
//   bits --check FILE         compares them with those in a file (tests/bits.txt); fails and says which differ
//   bits --save FOLDER        leaves a checkpoint of every run there, taken half way
//   bits --resume FOLDER      continues from these instead of from the start: the hashes at the end are the same
//   bits --lanes W            1, 2, 4 or 8; 0: the processor's best
#include "calder/calder_run.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { TREE, WORLD, ENSEMBLE, RANDOMIZED, KINDS } kind;

// One run. Times and sizes are such that emulated processors are done in a minute.
typedef struct bits_case {
    const char* name; // of the run in the file of hashes, and of its checkpoint
    kind kind;
    const char *specification, *solver, *algorithm;
    double time;
    const char *stabilize, *form;
    double forced; // rollbacks of worlds
} bits_case;

static const bits_case cases[] = {
    {"mobile-gear", TREE, "mobile:s=2,l=3,o=4", "gear", "aba", 1.0, NULL, NULL, 0.0},
    {"mobile-iec", TREE, "mobile:s=2,l=3,o=4", "iec", "aba", 0.05, NULL, NULL, 0.0},
    {"mobile-rkf", TREE, "mobile:s=2,l=3,o=4", "rkf", "aba", 0.5, NULL, NULL, 0.0},
    {"mobile-rkck", TREE, "mobile:s=2,l=3,o=4", "rkck", "aba", 0.5, NULL, NULL, 0.0},
    {"mobile-implicit", TREE, "mobile:s=2,l=3,o=4,damping=5", "implicit", "aba", 0.5, NULL, NULL, 0.0},
    {"tree-rkg", TREE, "tree:height=4,fanout=3", "rkg", "aba", 0.1, NULL, NULL, 0.0},
    {"chain-rki", TREE, "chain:n=36", "rki", "assembly", 0.1, NULL, NULL, 0.0},
    {"stickman-gear", TREE, "stickman", "gear", "armstrong", 0.5, NULL, NULL, 0.0},
    {"figure-rk4", TREE, "figure:dof=48", "rk4", "aba", 0.05, NULL, NULL, 0.0},
    {"humanoid-euler", TREE, "humanoid:floor=0", "euler", "aba", 0.1, NULL, NULL, 0.0},
    {"random-gear", TREE, "random:n=40,passive=1", "gear", "aba", 0.2, NULL, NULL, 0.0},
    {"fivebar-gear", TREE, "fivebar", "gear", "aba", 0.5, "projection", "lagrange", 0.0},
    {"bricard-rkf", TREE, "bricard", "rkf", "aba", 0.2, "projection", "lagrange", 0.0},
    {"andrews-rkf", TREE, "andrews", "rkf", "aba", 0.005, "projection", "minimal", 0.0},
    {"disk-rk4", TREE, "rolling-disk", "rk4", "aba", 0.1, "baumgarte", "lagrange", 0.0},
    {"fourbars-gear", TREE, "fourbar:n=11", "gear", "aba", 0.3, "projection", "lagrange", 0.0},
    {"net-rk4", TREE, "net:wide=3,tall=3", "rk4", "aba", 0.05, "projection", "lagrange", 0.0},
    {"ring-gear", TREE, "ring:n=40", "gear", "aba", 0.1, "projection", "lagrange", 0.0},
    {"fivebar-implicit", TREE, "fivebar", "implicit", "aba", 0.3, "projection", "lagrange", 0.0},
    {"tower-rkf", TREE, "tower:n=12", "rkf", "aba", 0.1, "projection", "lagrange", 0.0},
    {"humanoid-lands", TREE, "humanoid:drop=0.1", "auto", "aba", 0.2, NULL, NULL, 0.3},
    {"atoms", WORLD, "atoms:n=40", NULL, NULL, 0.5, NULL, NULL, 0.2},
    {"avalanche", WORLD, "avalanche:n=12", NULL, NULL, 0.6, NULL, NULL, 0.2},
    {"cars", WORLD, "cars:cars=1,rows=1", NULL, NULL, 0.3, NULL, NULL, 0.2},
    {"robots", WORLD, "robots:n=2,boxes=1", NULL, NULL, 0.3, NULL, NULL, 0.2},
    {"wall", WORLD, "stack:kind=wall,n=2", NULL, NULL, 0.3, NULL, NULL, 0.2},
    {"ensemble-rk4", ENSEMBLE, "figure:dof=34", "rk4", "aba", 0.03, NULL, NULL, 0.0},
    {"ensemble-gear", ENSEMBLE, "fivebar", "gear", "aba", 0.2, NULL, NULL, 0.0},
    {"randomized", RANDOMIZED, "fivebar", NULL, NULL, 0.1, NULL, NULL, 0.0},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0], INSTANCES = 11 };

// What a run stands on.
typedef struct stage {
    const bits_case* of;
    cal_model* model;
    cal_run* run;
    cal_machine* machine; // of a world's multibodies: their images are of as many lanes
} stage;

static cal_status make_world(void* user, cal_world** out, cal_error* error) {
    const stage* s = user;
    cal_world_def def = cal_default_world_def();
    def.separate = true;
    def.restitution = def.friction = -1.0;
    def.forced_rollbacks = s->of->forced;
    def.seed = 7;
    cal_sim_def systems = cal_default_sim_def();
    systems.machine = s->machine;
    def.systems = &systems;
    return cal_world_generate(s->of->specification, &def, out, error);
}

static cal_sim_def sim_def(const bits_case* c, const cal_world_def* events) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = c->solver;
    def.algorithm = c->algorithm;
    if (c->stabilize != NULL) def.stabilize = c->stabilize;
    if (c->form != NULL) def.constraint_form = c->form;
    if (c->forced > 0.0) def.events = events;
    return def;
}

static cal_status open_tree(stage* s, int lanes, cal_error* error) {
    cal_world_def events = cal_default_world_def();
    events.separate = true;
    events.restitution = events.friction = -1.0;
    events.forced_rollbacks = s->of->forced;
    events.seed = 7;
    cal_run_sim_def def = cal_default_run_sim_def();
    def.sim = sim_def(s->of, &events);
    def.lanes = lanes;
    def.hand = false;
    return cal_run_create_sim(s->model, &def, &s->run, error);
}

static cal_status open_world(stage* s, int lanes, cal_error* error) {
    const cal_status status = cal_machine_serial(lanes, &s->machine, error);
    return status == CAL_OK ? cal_run_create_world(make_world, s, &s->run, error) : status;
}

static cal_status open_ensemble(stage* s, int lanes, cal_error* error) {
    cal_run_ensemble_def def = cal_default_run_ensemble_def();
    def.ensemble.count = INSTANCES;
    def.ensemble.sim = sim_def(s->of, NULL);
    def.ensemble.lanes = lanes;
    def.ensemble.spread = 0.01;
    return cal_run_create_ensemble(s->model, &def, &s->run, error);
}

static cal_status open_randomized(stage* s, int lanes, cal_error* error) {
    (void)lanes;
    cal_rps_def def = cal_default_rps_def();
    return cal_run_create_randomized(s->model, &def, &s->run, error);
}

static cal_status (*const openers[KINDS])(stage*, int, cal_error*) = {open_tree, open_world, open_ensemble,
                                                                      open_randomized};

typedef struct settings {
    const char *check, *save, *resume;
    int lanes;
} settings;

// Runs a case; with checkpoints of it where it can have some.
static cal_status run_case(stage* s, const settings* how, uint64_t* hash, cal_error* error) {
    cal_status status = CAL_OK;
    if (s->of->kind != WORLD) status = cal_model_generate(s->of->specification, &s->model, error);
    if (status == CAL_OK) status = openers[s->of->kind](s, how->lanes, error);
    if (status == CAL_OK) status = cal_run_begin(s->run, cal_run_can(s->run, CAL_RUN_PROJECT), NULL, error);
    const char* folder = how->save != NULL ? how->save : how->resume;
    if (status == CAL_OK && folder != NULL && cal_run_can(s->run, CAL_RUN_SAVE)) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, s->of->name);
        if (how->resume != NULL) status = cal_run_restore(s->run, path, error);
        if (how->save != NULL) status = cal_run_advance(s->run, 0.5 * s->of->time, error);
        if (how->save != NULL && status == CAL_OK) status = cal_run_save(s->run, path, error);
    }
    if (status == CAL_OK) status = cal_run_advance(s->run, s->of->time, error);
    if (status == CAL_OK) *hash = cal_run_hash(s->run);
    return status;
}

// The hash of a name in the file; 0: it is not there.
static uint64_t stored(FILE* file, const char* name) {
    char line[128], key[64];
    uint64_t hash = 0;
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%63s %" SCNx64, key, &hash) == 2 && strcmp(key, name) == 0) return hash;
    return 0;
}

// Whether the case is as the file says.
static bool do_case(const bits_case* c, const settings* how, FILE* file) {
    stage s = {c, NULL, NULL, NULL};
    cal_error error = {CAL_OK, ""};
    uint64_t hash = 0;
    const cal_status status = run_case(&s, how, &hash, &error);
    cal_run_destroy(s.run);
    cal_machine_destroy(s.machine);
    cal_model_destroy(s.model);
    if (status != CAL_OK) {
        printf("%-20s %s\n", c->name, error.text);
        return false;
    }
    if (file == NULL) {
        printf("%-20s %016" PRIx64 "\n", c->name, hash);
        return true;
    }
    const uint64_t wanted = stored(file, c->name);
    if (hash != wanted) printf("%-20s %016" PRIx64 " instead of %016" PRIx64 "\n", c->name, hash, wanted);
    return hash == wanted;
}

int main(int count, char** arguments) {
    settings how = {NULL, NULL, NULL, 0};
    for (int i = 1; i < count; i += 2) {
        const char *option = arguments[i], *value = i + 1 < count ? arguments[i + 1] : NULL;
        if (value != NULL && strcmp(option, "--check") == 0)
            how.check = value;
        else if (value != NULL && strcmp(option, "--save") == 0)
            how.save = value;
        else if (value != NULL && strcmp(option, "--resume") == 0)
            how.resume = value;
        else if (value != NULL && strcmp(option, "--lanes") == 0)
            how.lanes = atoi(value);
        else {
            fprintf(stderr, "usage: bits [--check FILE] [--save FOLDER] [--resume FOLDER] [--lanes W]\n");
            return 2;
        }
    }
    FILE* file = NULL;
    if (how.check != NULL && (file = fopen(how.check, "r")) == NULL) {
        fprintf(stderr, "bits: %s cannot be read\n", how.check);
        return 2;
    }
    int failed = 0;
    for (int i = 0; i < CASE_COUNT; i++)
        if (!do_case(&cases[i], &how, file)) failed++;
    if (file != NULL) {
        fclose(file);
        printf("%d runs, %d with other bits than %s\n", (int)CASE_COUNT, failed, how.check);
    }
    return failed > 0 ? 1 : 0;
}
