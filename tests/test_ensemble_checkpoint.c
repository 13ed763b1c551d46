// Checkpoints of ensembles: whatever advances the instances, they go on to the bits of a run that was never written down, and damaged files
// change nothing.
#include "base/hash.h"
#include "place.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kind {
    const char *model, *solver;
    bool contact;
    const char* algorithm;
} kind;
// Side by side in lanes, by turns on a worker's simulation, and as simulations of their own.
static const kind kinds[] = {{"random:n=12,passive=1", "rk4", false, "aba"},
                             {"chain:n=3,damping=0.2", "euler", false, "aba"},
                             {"chain:n=4", "gear", false, "aba"},
                             {"fivebar", "rk4", false, "aba"},
                             {"bricard", "rkf", false, "aba"},
                             {"chain:n=3", "rk4", false, "assembly"},
                             {"stickman:floor=1", "gear", true, "aba"},
                             {"chain:n=2", "bdf", false, "aba"}};
enum { KINDS = sizeof kinds / sizeof kinds[0], COUNT = 11, LOST = 4 };

static cal_ensemble* make(const cal_model* model, const kind* k, int lanes, cal_machine* machine) {
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    def.count = COUNT;
    def.lanes = lanes;
    def.machine = machine;
    def.spread = 0.01;
    def.account = true;
    def.sim.solver = k->solver;
    def.sim.algorithm = k->algorithm;
    def.sim.relative = 1e-5;
    def.sim.contact = k->contact;
    if (cal_ensemble_create_def(model, &def, &ensemble, &error))
        fail_msg("%s, %s: %s", k->model, k->solver, error.text);
    return ensemble;
}

// One instance begins anew in the middle of the others' steps, and is driven from then on.
static void disturb(cal_ensemble* ensemble, const cal_model* model) {
    double* numbers = cal_test_numbers((size_t)cal_model_q_count(model) + 2 * (size_t)cal_model_v_count(model));
    double *v = numbers + cal_model_q_count(model), *tau = v + cal_model_v_count(model);
    assert_int_equal(cal_ensemble_get(ensemble, 7, numbers, v), CAL_OK);
    if (cal_model_constraint_count(model) == 0) v[0] += 0.25;
    tau[cal_model_v_count(model) - 1] = 0.01;
    assert_int_equal(cal_ensemble_set(ensemble, 7, NULL, v), CAL_OK);
    assert_int_equal(cal_ensemble_drive(ensemble, 7, tau, NULL, NULL), CAL_OK);
    free(numbers);
}

static void advance(cal_ensemble* ensemble, double time) {
    cal_error error = {CAL_OK, ""};
    if (cal_ensemble_advance(ensemble, time, &error)) fail_msg("%s", error.text);
}

static void save(cal_ensemble* ensemble, const char* path) {
    cal_error error = {CAL_OK, ""};
    if (cal_ensemble_save(ensemble, path, &error)) fail_msg("%s", error.text);
}

static void expect_continuation(const kind* k, cal_machine* threads) {
    char path[CAL_TEST_PATH];
    cal_test_path(path, "ensemble.cal");
    cal_model* model = cal_test_model(k->model);
    cal_ensemble *whole = make(model, k, 4, NULL), *parts = make(model, k, 4, NULL);
    cal_ensemble* both[] = {whole, parts};
    for (int i = 0; i < 2; i++) {
        advance(both[i], 0.0213);
        disturb(both[i], model);
        advance(both[i], 0.0371);
        // BDF begins afresh where it is written down.
        if (i == 1 || strcmp(k->solver, "bdf") == 0) save(both[i], path);
    }
    advance(whole, 0.06);
    // By turns an image has the order of its lanes, others have none.
    const bool lanes = strcmp(k->algorithm, "aba") == 0 && cal_ensemble_lanes(parts) > 1;
    for (int i = 0; i < 3; i++) {
        cal_error error = {CAL_OK, ""};
        cal_energy_balance here, there;
        cal_ensemble_report report, expected;
        cal_ensemble* after = make(model, k, lanes && i == 1 ? 1 : 4, i == 2 ? threads : NULL);
        if (i > 0) advance(after, 0.01);
        if (cal_ensemble_load(after, path, &error)) fail_msg("%s, %s: %s", k->model, k->solver, error.text);
        assert_true(cal_ensemble_time(after) == cal_ensemble_time(parts));
        assert_true(cal_ensemble_hash(after) == cal_ensemble_hash(parts));
        assert_int_equal(cal_ensemble_balance(after, 7, &here), CAL_OK);
        assert_int_equal(cal_ensemble_balance(parts, 7, &there), CAL_OK);
        assert_true(here.start == there.start && here.work == there.work && here.exchanged == there.exchanged);
        advance(after, 0.06);
        if (cal_ensemble_hash(after) != cal_ensemble_hash(whole)) fail_msg("%s, %s: other bits", k->model, k->solver);
        assert_int_equal(cal_ensemble_balance(after, 7, &here), CAL_OK);
        assert_int_equal(cal_ensemble_balance(whole, 7, &there), CAL_OK);
        assert_true(here.work == there.work && here.exchanged == there.exchanged && here.error == there.error);
        cal_ensemble_get_report(after, &report);
        cal_ensemble_get_report(whole, &expected);
        assert_true(report.steps == expected.steps && report.failed == 0);
        cal_ensemble_destroy(after);
    }
    cal_ensemble_destroy(whole);
    cal_ensemble_destroy(parts);
    cal_model_destroy(model);
    remove(path);
}

static void all_go_on_to_the_same_bits(void** unused) {
    (void)unused;
    cal_threads_def def = cal_default_threads_def();
    cal_machine* threads = NULL;
    def.workers = 3;
    assert_int_equal(cal_machine_threads(&def, &threads, NULL), CAL_OK);
    for (int i = 0; i < KINDS; i++) expect_continuation(&kinds[i], threads);
    cal_machine_destroy(threads);
}

static void those_that_rest_go_on_resting(void** unused) {
    (void)unused;
    char path[CAL_TEST_PATH];
    cal_test_path(path, "resting.cal");
    for (int i = 0; i < 3; i += 2) {
        cal_model* model = cal_test_model(kinds[i].model);
        cal_ensemble *parts = make(model, &kinds[i], 4, NULL), *after = make(model, &kinds[i], 4, NULL);
        double* v = cal_test_numbers((size_t)cal_model_v_count(model));
        cal_error before = {CAL_OK, ""}, now = {CAL_OK, ""};
        v[0] = 1e200;
        assert_int_equal(cal_ensemble_set(parts, LOST, NULL, v), CAL_OK);
        const cal_status status = cal_ensemble_advance(parts, 0.02, NULL);
        assert_true(status != CAL_OK);
        save(parts, path);
        assert_int_equal(cal_ensemble_load(after, path, NULL), CAL_OK);
        assert_int_equal(cal_ensemble_status(parts, LOST, &before), status);
        assert_int_equal(cal_ensemble_status(after, LOST, &now), status);
        assert_string_equal(before.text, now.text);
        assert_int_equal(cal_ensemble_advance(parts, 0.03, NULL), status);
        assert_int_equal(cal_ensemble_advance(after, 0.03, NULL), status);
        assert_true(cal_ensemble_hash(parts) == cal_ensemble_hash(after));
        free(v);
        cal_ensemble_destroy(parts);
        cal_ensemble_destroy(after);
        cal_model_destroy(model);
    }
    remove(path);
}

static void expect_refusal(cal_ensemble* ensemble, const char* path, const char* word) {
    cal_error error = {CAL_OK, ""};
    const uint64_t before = cal_ensemble_hash(ensemble);
    assert_int_equal(cal_ensemble_load(ensemble, path, &error), CAL_BAD_ARGUMENT);
    if (!strstr(error.text, word)) fail_msg("no '%s' in: %s", word, error.text);
    assert_true(cal_ensemble_hash(ensemble) == before);
}

static void what_does_not_fit_is_refused(void** unused) {
    (void)unused;
    char path[CAL_TEST_PATH], other[CAL_TEST_PATH];
    cal_test_path(path, "fits.cal");
    cal_test_path(other, "sim.cal");
    cal_model *model = cal_test_model("chain:n=3"), *longer = cal_test_model("chain:n=4");
    const kind usual = {"chain:n=3", "rk4", false, "aba"}, euler = {"chain:n=3", "euler", false, "aba"},
               turns = {"chain:n=3", "rk4", false, "assembly"};
    cal_ensemble *own = make(model, &usual, 4, NULL), *of_longer = make(longer, &usual, 4, NULL),
                 *of_euler = make(model, &euler, 4, NULL), *by_turns = make(model, &turns, 4, NULL);
    save(own, path);
    expect_refusal(of_longer, path, "another model");
    expect_refusal(of_euler, path, "solver 'rk4'");
    expect_refusal(by_turns, path, "another algorithm");
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
    assert_int_equal(cal_sim_save(sim, other, NULL), CAL_OK);
    expect_refusal(own, other, "no checkpoint of an ensemble");
    assert_int_equal(cal_sim_load(sim, path, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "of an ensemble"));
    assert_int_equal(cal_ensemble_load(own, "nowhere/at.all", &error), CAL_BAD_ARGUMENT);
    cal_sim_destroy(sim);
    cal_ensemble_destroy(own);
    cal_ensemble_destroy(of_longer);
    cal_ensemble_destroy(of_euler);
    cal_ensemble_destroy(by_turns);
    cal_model_destroy(model);
    cal_model_destroy(longer);
    remove(path);
    remove(other);
}

static unsigned char* read_file(const char* path, size_t* size) {
    FILE* file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char* bytes = malloc(*size);
    assert_true(bytes && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static void write_with_checksum(const char* path, unsigned char* bytes, size_t size) {
    const uint64_t sum = cal_hash_bytes(CAL_HASH_START, bytes, size - 8);
    for (int i = 0; i < 8; i++) bytes[size - 8 + (size_t)i] = (unsigned char)(sum >> 8 * i);
    FILE* file = fopen(path, "wb");
    assert_true(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

// What was taken goes on, and what it says of itself can be: a bool is 0 or 1, nothing was counted less than never.
static void expect_sound(cal_ensemble* ensemble) {
    cal_ensemble_report report;
    cal_energy_balance balance;
    unsigned char flags[2];
    for (int i = 0; i < COUNT; i++) {
        if (cal_ensemble_balance(ensemble, i, &balance) != CAL_OK) continue;
        memcpy(&flags[0], &balance.flows, 1);
        memcpy(&flags[1], &balance.exploded, 1);
        assert_true(flags[0] <= 1 && flags[1] <= 1);
    }
    cal_ensemble_get_report(ensemble, &report);
    assert_true(report.steps >= 0 && report.rejected >= 0 && report.evaluations >= 0);
    (void)cal_ensemble_advance(ensemble, cal_ensemble_time(ensemble) + 0.002, NULL);
}

// Whatever a word of a file says: either it is refused and nothing is changed, or the ensemble goes on. Each word of a chain in lanes.
static void damaged_files_harm_nobody(void** unused) {
    (void)unused;
    static const uint64_t values[] = {0,
                                      UINT64_C(0xbff0000000000000), // -1
                                      UINT64_C(0x4008000000000000), // 3
                                      UINT64_C(0x3fe0000000000000), // 0.5
                                      UINT64_C(0x0202020202020202), // flags that are none
                                      UINT64_C(0x7fe1ccf385ebc8a0), // 1e308
                                      UINT64_C(0x8000000000000001),
                                      UINT64_C(0x7ff0000000000000), // infinite
                                      UINT64_C(0xfff8000000000000), // no number
                                      UINT64_C(0x7fffffffffffffff)};
    char path[CAL_TEST_PATH];
    cal_test_path(path, "damaged.cal");
    for (int i = 0; i < KINDS - 1; i++) {
        cal_model* model = cal_test_model(kinds[i].model);
        cal_ensemble *parts = make(model, &kinds[i], 4, NULL), *after = make(model, &kinds[i], 4, NULL);
        advance(parts, 0.0105);
        save(parts, path);
        size_t size;
        unsigned char *bytes = read_file(path, &size), *changed = malloc(size);
        assert_non_null(changed);
        const size_t words = size / 8 - 2, stride = i == 1 ? 1 : 1 + words / 150;
        for (size_t w = 1; w <= words; w += w < 40 ? 1 : stride) {
            const uint64_t bits = values[w * 7 % (sizeof values / sizeof values[0])];
            memcpy(changed, bytes, size);
            for (int b = 0; b < 8; b++) changed[8 * w + (size_t)b] = (unsigned char)(bits >> 8 * b);
            write_with_checksum(path, changed, size);
            const uint64_t before = cal_ensemble_hash(after);
            cal_error error = {CAL_OK, ""};
            const cal_status status = cal_ensemble_load(after, path, &error);
            if (status)
                assert_true(error.text[0] && cal_ensemble_hash(after) == before);
            else
                expect_sound(after);
        }
        memcpy(changed, bytes, size);
        write_with_checksum(path, changed, size);
        assert_int_equal(cal_ensemble_load(after, path, NULL), CAL_OK);
        assert_true(cal_ensemble_hash(after) == cal_ensemble_hash(parts));
        write_with_checksum(path, bytes, size - 64);
        expect_refusal(after, path, "");
        free(bytes);
        free(changed);
        cal_ensemble_destroy(parts);
        cal_ensemble_destroy(after);
        cal_model_destroy(model);
    }
    remove(path);
}

// How many workers there are changes no file: not where each of them has an instance alone, either.
static void few_go_on_with_any_workers(void** unused) {
    (void)unused;
    char path[CAL_TEST_PATH];
    cal_test_path(path, "few.cal");
    cal_model* model = cal_test_model("fivebar");
    cal_machine* threads = NULL;
    cal_threads_def two_threads = cal_default_threads_def();
    two_threads.workers = 2;
    assert_int_equal(cal_machine_threads(&two_threads, &threads, NULL), CAL_OK);
    for (int count = 1; count <= 2; count++) {
        cal_ensemble_def def = cal_default_ensemble_def();
        cal_ensemble *one, *two;
        cal_error error = {CAL_OK, ""};
        def.count = count;
        def.sim.solver = "gear";
        assert_int_equal(cal_ensemble_create_def(model, &def, &one, NULL), CAL_OK);
        def.machine = threads;
        assert_int_equal(cal_ensemble_create_def(model, &def, &two, NULL), CAL_OK);
        advance(two, 0.01);
        save(two, path);
        if (cal_ensemble_load(one, path, &error)) fail_msg("%s", error.text);
        advance(one, 0.02);
        advance(two, 0.02);
        assert_true(cal_ensemble_hash(one) == cal_ensemble_hash(two));
        cal_ensemble_destroy(one);
        cal_ensemble_destroy(two);
    }
    cal_machine_destroy(threads);
    cal_model_destroy(model);
    remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_go_on_to_the_same_bits), cmocka_unit_test(those_that_rest_go_on_resting),
        cmocka_unit_test(few_go_on_with_any_workers), cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(damaged_files_harm_nobody)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
