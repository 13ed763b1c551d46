// A program's own allocator: everything comes from it and goes back to it, with the same bits; its failure is an error.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder.h"
#include "calder/calder_read.h"
#include "place.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct counter {
    long long taken, given_back;
    long long limit; // allocations that succeed
    size_t largest;
} counter;

// Memory that is not zero, and no better aligned than malloc's.
static void* take(size_t size, void* user) {
    counter* c = user;
    if (size > c->largest) c->largest = size;
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
    counter c = {0, 0, 1LL << 40, 0};
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
    counter c = {0, 0, 20, 0};
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
    counter c = {0, 0, 100, 0};
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

#ifdef CALDER_HAVE_EXPAT
// A file that says itself how large it is needs not be read for that.
static void a_file_that_is_too_large_takes_no_memory(void** unused) {
    (void)unused;
    char path[CAL_TEST_PATH];
    FILE* file = fopen(cal_test_path(path, "large.xml"), "wb");
    assert_true(file && ftruncate(fileno(file), (off_t)1 << 30) == 0 && fclose(file) == 0);
    cal_error error = {CAL_OK, ""};
    counter c = {0, 0, 1000, 0};
    const cal_allocator own = {take, give_back, &c};
    cal_model* model = NULL;
    assert_int_equal(cal_set_allocator(&own, NULL), CAL_OK);
    assert_int_equal(cal_model_read(path, NULL, &model, NULL, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "has more than 128 MB"));
    assert_true(c.largest < 1 << 20);
    assert_true(c.taken == c.given_back);
    assert_int_equal(cal_set_allocator(NULL, NULL), CAL_OK);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_memory_has_the_same_bits),
#ifdef CALDER_HAVE_EXPAT
                                       cmocka_unit_test(a_file_that_is_too_large_takes_no_memory),
#endif
                                       cmocka_unit_test(memory_that_ends_is_an_error),
                                       cmocka_unit_test(it_is_chosen_while_nothing_lives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
