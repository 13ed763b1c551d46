// A program's own allocator: everything comes from it and goes back to it, with the same bits; its failure is an error.
#include "calder/calder.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

typedef struct counter {
    long long taken, given_back;
    long long limit; // allocations that succeed
} counter;

// Memory that is not zero, and no better aligned than malloc's.
static void* take(size_t size, void* user) {
    counter* c = user;
    if (c->taken >= c->limit) return NULL;
    char* memory = malloc(size + 16);
    if (!memory) return NULL;
    memset(memory, 0xa5, size + 16);
    c->taken++;
    return memory + 16;
}

static void give_back(void* memory, void* user) {
    ((counter*)user)->given_back++;
    free((char*)memory - 16);
}

static uint64_t simulate(cal_status* status) {
    cal_error error = {CAL_OK, ""};
    cal_model* model = NULL;
    cal_sim* sim = NULL;
    uint64_t hash = 0;
    const cal_sim_def def = cal_default_sim_def();
    *status = cal_model_generate("mobile:s=2,l=3,o=4", &model, &error);
    if (!*status) *status = cal_sim_create(model, &def, &sim, &error);
    if (!*status) *status = cal_sim_advance(sim, 0.5, &error);
    if (!*status) hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
    return hash;
}

static void own_memory_has_the_same_bits(void** unused) {
    (void)unused;
    cal_status status;
    const uint64_t expected = simulate(&status);
    assert_int_equal(status, CAL_OK);
    counter c = {0, 0, 1LL << 40};
    const cal_allocator own = {take, give_back, &c};
    assert_int_equal(cal_set_allocator(&own, NULL), CAL_OK);
    assert_true(simulate(&status) == expected);
    assert_int_equal(status, CAL_OK);
    assert_true(c.taken > 10);
    assert_true(c.taken == c.given_back);
    assert_int_equal(cal_set_allocator(NULL, NULL), CAL_OK);
    const long long taken = c.taken;
    assert_true(simulate(&status) == expected);
    assert_true(c.taken == taken);
}

static void memory_that_ends_is_an_error(void** unused) {
    (void)unused;
    counter c = {0, 0, 20};
    cal_status status;
    const cal_allocator own = {take, give_back, &c};
    assert_int_equal(cal_set_allocator(&own, NULL), CAL_OK);
    simulate(&status);
    assert_int_equal(status, CAL_NO_MEMORY);
    assert_true(c.taken == c.given_back);
    assert_int_equal(cal_set_allocator(NULL, NULL), CAL_OK);
}

static void it_is_chosen_while_nothing_lives(void** unused) {
    (void)unused;
    cal_error error = {CAL_OK, ""};
    counter c = {0, 0, 100};
    const cal_allocator own = {take, give_back, &c}, half = {take, NULL, &c};
    assert_int_equal(cal_set_allocator(&half, &error), CAL_BAD_ARGUMENT);
    cal_model* model = NULL;
    assert_int_equal(cal_model_generate("pendulum", &model, &error), CAL_OK);
    assert_int_equal(cal_set_allocator(&own, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "still in use"));
    cal_model_destroy(model);
    assert_int_equal(cal_set_allocator(&own, &error), CAL_OK);
    assert_int_equal(cal_set_allocator(NULL, &error), CAL_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_memory_has_the_same_bits),
                                       cmocka_unit_test(memory_that_ends_is_an_error),
                                       cmocka_unit_test(it_is_chosen_while_nothing_lives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
