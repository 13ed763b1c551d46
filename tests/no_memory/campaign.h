// What the campaign of failing allocations asks of a scenario.
#pragma once
#include "calder/calder_read.h"
#include "calder/calder_record.h"
#include "calder/calder_run.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// A scenario makes things, uses them, adds what they say to `hash` (cal_note), and destroys them whatever happened. The campaign runs
// it once undisturbed, and then with each of its allocations failing.
typedef struct campaign {
    uint64_t hash;
    const char* folder; // for files
    bool ended;         // a call may have ended what it was made for, as documented: the hash is not compared
    int failures;       // calls that said CAL_NO_MEMORY
    cal_error error;
} campaign;
typedef cal_status scenario(campaign* c);

typedef struct named_scenario {
    const char* name;
    scenario* run;
} named_scenario;
extern const named_scenario cal_model_scenarios[], cal_plan_scenarios[], cal_sim_scenarios[], cal_world_scenarios[],
    cal_run_scenarios[], cal_device_scenarios[]; // each ends with a name that is NULL

// Whether a call that gave this status is to be tried again, as a program that has freed something does. Ends the campaign with a line
// where the failure was not reported as it must be.
bool cal_again(campaign* c, cal_status status, const char* call);
void cal_note(campaign* c, const void* bytes, size_t size);
const char* cal_campaign_path(const campaign* c, const char* name, char path[256]);
// A model of a generator or of a text in MJCF.
extern const char cal_campaign_pile[]; // MJCF: a box, a ball and a rod on a floor
cal_status cal_campaign_model(campaign* c, const char* specification, cal_model** out);

// Calls; where there was no memory, calls once more, which must succeed when only one allocation fails; leaves for `end` on errors.
#define DO(call)                                                                                                       \
    do {                                                                                                               \
        c->error.text[0] = '\0';                                                                                       \
        status = (call);                                                                                               \
        if (cal_again(c, status, #call)) status = (call);                                                              \
        if (status != CAL_OK) goto end;                                                                                \
    } while (0)
// The same for what has ended when it fails, as its documentation says: it says so again.
#define DO_OR_END(call)                                                                                                \
    do {                                                                                                               \
        c->error.text[0] = '\0';                                                                                       \
        status = (call);                                                                                               \
        if (cal_again(c, status, #call)) {                                                                             \
            c->ended = true;                                                                                           \
            goto end;                                                                                                  \
        }                                                                                                              \
        if (status != CAL_OK) goto end;                                                                                \
    } while (0)
