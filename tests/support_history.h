// Random worlds of free bodies and multibodies, with every shape, with and without gravity, restitution, friction, contact groups and
// callbacks; and histories of worlds, to be compared to the bit.
#pragma once
#include "support_world.h"
#include <stdint.h>

typedef struct cal_test_made {
    cal_world* world;
    cal_model* models[2];
    int model_count;
} cal_test_made;

// A world by its number: what is in it does not depend on what is forced.
cal_test_made cal_test_random_world(int number, double forced, uint64_t forced_seed);
void cal_test_destroy_made(cal_test_made* made);

enum { CAL_TEST_EVENTS = 4000 };

typedef struct cal_test_history {
    uint64_t hash;
    int count;
    int64_t forced;
    double flows[3]; // work, loss and closing of the account of energy
    cal_world_event events[CAL_TEST_EVENTS];
} cal_test_history;

// Advances a world and takes what it has logged, and what its energy account says.
void cal_test_take_history(cal_world* world, double time, cal_test_history* out);
// Fails with the first event that differs, or with flows of energy whose bits differ.
void cal_test_compare_histories(const cal_test_history* wanted, const cal_test_history* found, const char* who);

// Callbacks of a body with one slot: one turns its velocity round, and counts; the other one adds up impulses along z.
void cal_test_kick(cal_callback_context* view, void* user);
void cal_test_count_hit(cal_callback_context* view, const double impulse[3], void* user);
