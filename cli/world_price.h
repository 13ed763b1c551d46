// Worlds for `plan` and `bench scale`: made anew for every number of processors, and priced for it.
#pragma once
#include "calder/calder_world.h"
#include "command.h"

typedef struct cal_world_source {
    const char* name;
    cal_model* model; // NULL: a scene
} cal_world_source;

typedef struct cal_world_made {
    cal_world* world;
    cal_sim* sim; // of a model: the world is its own
    cal_sim_def systems;
    cal_world_def events;
} cal_world_made;

typedef struct cal_priced_world {
    int processors, used;
    double seconds, speedup; // with a core for each of those that are used
    double balance;          // of these at work on the average, while domains run
    double
        bound; // the speed-up that no number of processors goes beyond: one core does what is between, another the largest component
    cal_world_report report;
} cal_priced_world;

// Whether an argument is a world: a scene; or a model, where --world says so.
bool cal_is_world(const char* argument, bool asked);
// Returns CAL_EXIT_DONE or complains; to be closed in any case.
int cal_world_source_open(const char* argument, cal_world_source* out);
void cal_world_source_close(cal_world_source* source);
// A world at its start, on a machine, NULL: one core; as `calder sim` makes it. Returns CAL_EXIT_DONE or complains.
int cal_world_make(const cal_world_source* source, cal_machine* machine, cal_world_made* out);
void cal_world_unmake(cal_world_made* made);
// How long a run simulates: until there were some events, which depends on no clock.
int cal_world_choose_time(const cal_world_source* source, double* time);
// What a world, from its start to a time, takes on so many processors. one: the same of one processor, NULL: this is it.
int cal_world_find_price(const cal_world_source* source, int processors, double time, const cal_priced_world* one,
                         cal_priced_world* out);
// Of a long list of numbers of processors, those that are worth a run: the ends, powers of two, and those half way between them.
bool cal_is_worth_a_run(const int* counts, int count, int i);

// `calder plan` of a world. time 0: chosen.
int cal_plan_world(const char* name, const int* counts, int count, double time, bool json);
