// Checkpoints: a simulation that was written down and read back goes on to the same bits, on any machine; a file that does
// not fit is refused and changes nothing; a file that cannot be written leaves the old one alone.
#define _XOPEN_SOURCE 700
#include "place.h"
#include "support.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"

static const double END = 0.4;

static const char* folder;
static char path[CAL_TEST_PATH];

// --- Simulations on machines -----------------------------------------------------------------------------------------

typedef struct subject {
    cal_machine* machine;
    cal_sim* sim;
} subject;

// workers = 0: the serial machine.
static cal_machine* make_machine(int lanes, int workers) {
    cal_machine* machine = NULL;
    cal_threads_def def = cal_default_threads_def();
    def.lanes = lanes;
    def.workers = workers;
    const cal_status status =
        workers ? cal_machine_threads(&def, &machine, NULL) : cal_machine_serial(lanes, &machine, NULL);
    assert_int_equal(status, CAL_OK);
    return machine;
}

// Begins away from rest: a figure that only falls would need no steps.
static subject open_subject(const cal_model* model, const cal_sim_def* like, int lanes, int workers) {
    subject s = {make_machine(lanes, workers), NULL};
    cal_sim_def def = *like;
    cal_error error;
    def.machine = s.machine;
    int32_t* processor_of_joint = calloc((size_t)cal_model_joint_count(model) + 1, sizeof *processor_of_joint);
    assert_non_null(processor_of_joint);
    // However small the model, all have work.
    for (int i = 0; workers && i < cal_model_joint_count(model); i++) processor_of_joint[i] = (i / 2) % workers;
    if (workers) def.processor_of_joint = processor_of_joint;
    if (cal_sim_create(model, &def, &s.sim, &error)) fail_msg("%s", error.text);
    free(processor_of_joint);
    cal_test_motion motion = cal_test_random_motion(model, 11);
    // Loops begin where they are closed.
    if (cal_model_constraint_count(model) == 0)
        assert_int_equal(cal_sim_set(s.sim, 0, motion.q, motion.v, NULL), CAL_OK);
    cal_test_motion_free(&motion);
    return s;
}

static subject open_simply(const cal_model* model, const char* solver) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    return open_subject(model, &def, 1, 0);
}

static void close_subject(subject* s) {
    cal_sim_destroy(s->sim);
    cal_machine_destroy(s->machine);
}

static void advance(const subject* s, double time) {
    cal_error error;
    if (cal_sim_advance(s->sim, time, &error)) fail_msg("%s", error.text);
}

static void save(const subject* s) {
    cal_error error;
    if (cal_sim_save(s->sim, path, &error)) fail_msg("%s", error.text);
}

static void load(const subject* s) {
    cal_error error;
    if (cal_sim_load(s->sim, path, &error)) fail_msg("%s", error.text);
}

static void expect_equal(const subject* a, const subject* b, const char* model, const char* solver, double time) {
    cal_sim_report of_a, of_b;
    cal_sim_get_report(a->sim, &of_a);
    cal_sim_get_report(b->sim, &of_b);
    if (cal_sim_hash(a->sim) != cal_sim_hash(b->sim))
        fail_msg("%s, %s, saved at %g: other bits at %g", model, solver, time, cal_sim_time(a->sim));
    if (of_a.evaluations != of_b.evaluations || of_a.steps != of_b.steps || of_a.rejected != of_b.rejected ||
        of_a.jacobian_evaluations != of_b.jacobian_evaluations || of_a.step != of_b.step || of_a.order != of_b.order)
        fail_msg("%s, %s, saved at %g: another report", model, solver, time);
}

// --- Going on --------------------------------------------------------------------------------------------------------

// Models with lanes that die in the middle of columns, with ball joints and free ones; loops, whose projections go on from directions
// that were kept.
static const char* const models[] = {"mobile:s=2,l=3,o=5", "stickman", "random:n=40,seed=7,joints=ball",
                                     "random:n=30,seed=5", "ring:n=6", "fivebar"};
enum { MODELS = sizeof models / sizeof models[0] };

// Lanes and workers.
typedef struct site {
    int lanes, workers;
} site;

static void expect_to_go_on(const cal_model* model, const char* name, const char* solver, double moment, site from,
                            site to) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    subject whole = open_subject(model, &def, 1, 0);
    subject first = open_subject(model, &def, from.lanes, from.workers);
    subject second = open_subject(model, &def, to.lanes, to.workers);
    advance(&whole, END);
    advance(&second, 0.02); // something to forget
    advance(&first, moment);
    save(&first);
    load(&second);
    expect_equal(&first, &second, name, solver, moment);
    advance(&first, END);
    advance(&second, 0.7 * END);
    advance(&second, END);
    expect_equal(&first, &second, name, solver, moment);
    // BDF has started afresh.
    if (strcmp(solver, "bdf") != 0) expect_equal(&whole, &first, name, solver, moment);
    close_subject(&whole);
    close_subject(&first);
    close_subject(&second);
}

static void goes_on_to_the_same_bits(void** unused) {
    (void)unused;
    const double moments[] = {0, 1e-7, 0.0313, 0.25};
    const site sites[] = {{1, 0}, {cal_best_lanes(), 0}, {cal_best_lanes() > 4 ? 4 : 1, 0}};
    for (int m = 0; m < MODELS; m++) {
        cal_model* model = cal_test_model(models[m]);
        for (int i = 0; cal_solver_name(i); i++)
            for (int k = CAL_TEST_SANITIZED ? (m + i) % 4 : 0; k < (CAL_TEST_SANITIZED ? (m + i) % 4 + 1 : 4); k++)
                expect_to_go_on(model, models[m], cal_solver_name(i), moments[k], sites[k % 3], sites[(k + 1 + i) % 3]);
        cal_model_destroy(model);
    }
}

static void goes_on_on_another_machine(void** unused) {
    (void)unused;
    for (int m = 1; m < 3; m++) {
        cal_model* model = cal_test_model(models[m]);
        expect_to_go_on(model, models[m], "gear", 0.25, (site){1, 2}, (site){cal_best_lanes(), 0});
        expect_to_go_on(model, models[m], "rkf", 0.25, (site){1, 0}, (site){cal_best_lanes(), 2});
        cal_model_destroy(model);
    }
}

// Armstrong's slow band begins afresh where it was saved: both go on alike.
static void goes_on_with_a_slow_band(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("stickman");
    cal_sim_def def = cal_default_sim_def();
    def.solver = "rk4", def.algorithm = "armstrong", def.slow_band = 5;
    subject first = open_subject(model, &def, 1, 0), second = open_subject(model, &def, cal_best_lanes(), 0);
    advance(&second, 0.02);
    advance(&first, 0.0533);
    save(&first);
    load(&second);
    advance(&first, END);
    advance(&second, END);
    expect_equal(&first, &second, "stickman", "rk4", 0.0533);
    close_subject(&first);
    close_subject(&second);
    cal_model_destroy(model);
}

// An advance that meets its limit of evaluations stops anywhere inside an attempt at a step.
static void goes_on_inside_a_step(void** unused) {
    (void)unused;
    const int widest = cal_best_lanes();
    for (int m = 0; m < MODELS; m++) {
        cal_model* model = cal_test_model(models[m]);
        for (int i = 0; cal_solver_name(i); i++) {
            cal_sim_def def = cal_default_sim_def();
            def.solver = cal_solver_name(i);
            def.relative = 1e-6;
            if (strcmp(def.solver, "bdf") == 0) continue;
            subject whole = open_subject(model, &def, widest, 0);
            advance(&whole, END);
            // Under a sanitizer, where this is slow, a fifth of the places.
            for (int limit = 1; limit <= 14; limit += CAL_TEST_SANITIZED ? 5 : 1) {
                def.evaluation_limit = limit;
                subject first = open_subject(model, &def, 1, 0);
                assert_int_equal(cal_sim_advance(first.sim, END, NULL), CAL_NOT_CONVERGED);
                save(&first);
                close_subject(&first);
                def.evaluation_limit = 0;
                subject second = open_subject(model, &def, widest, 0);
                load(&second);
                advance(&second, END);
                expect_equal(&whole, &second, models[m], def.solver, limit);
                close_subject(&second);
            }
            close_subject(&whole);
        }
        cal_model_destroy(model);
    }
}

// What the user set is part of it: forces, controls, pushes.
static void keeps_what_drives_it(void** unused) {
    (void)unused;
    cal_model* plain = cal_test_model("humanoid:floor=0");
    cal_model* model = cal_test_dress(plain, 5);
    cal_test_motion motion = cal_test_random_motion(model, 3);
    subject first = open_simply(model, "gear"), second = open_simply(model, "gear");
    const double force[3] = {3, -2, 1}, torque[3] = {0.1, 0.2, -0.3}, point[3] = {0.1, 0, 0.2};
    assert_int_equal(cal_sim_set(first.sim, 1.5, motion.q, motion.v, NULL), CAL_OK);
    assert_int_equal(cal_sim_drive(first.sim, motion.tau, motion.control, NULL), CAL_OK);
    for (int body = 1; body < 5; body++) assert_int_equal(cal_sim_push(first.sim, body, force, torque, point), CAL_OK);
    advance(&first, 1.6);
    save(&first);
    load(&second);
    assert_true(cal_sim_time(second.sim) == 1.6);
    advance(&first, 1.9);
    advance(&second, 1.9);
    expect_equal(&first, &second, "humanoid:floor=0", "gear", 1.6);
    // And it can be changed afterwards.
    const subject both[] = {first, second};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cal_sim_push(both[i].sim, 3, force, torque, point), CAL_OK);
        advance(&both[i], 2);
        assert_int_equal(cal_sim_release(both[i].sim), CAL_OK);
        advance(&both[i], 2.1);
    }
    expect_equal(&first, &second, "humanoid:floor=0", "gear", 1.6);
    close_subject(&first);
    close_subject(&second);
    cal_test_motion_free(&motion);
    cal_model_destroy(model);
    cal_model_destroy(plain);
}

// --- Refusing --------------------------------------------------------------------------------------------------------

// Loading fails with these words, and the simulation goes on as if nothing had been tried.
static void expect_refusal(const cal_model* model, const cal_sim_def* def, const char* words) {
    subject tried = open_subject(model, def, 1, 0), other = open_subject(model, def, 1, 0);
    cal_error error = {CAL_OK, ""};
    advance(&tried, 0.1);
    advance(&other, 0.1);
    assert_int_not_equal(cal_sim_load(tried.sim, path, &error), CAL_OK);
    if (!strstr(error.text, words)) fail_msg("'%s' is missing in: %s", words, error.text);
    if (!strstr(error.text, path)) fail_msg("no file is named in: %s", error.text);
    expect_equal(&tried, &other, words, def->solver, 0.1);
    advance(&tried, 0.2);
    advance(&other, 0.2);
    expect_equal(&tried, &other, words, def->solver, 0.1);
    close_subject(&tried);
    close_subject(&other);
}

static void refuses_what_belongs_to_another_simulation(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("stickman");
    subject first = open_simply(model, "gear");
    advance(&first, 0.3);
    save(&first);
    close_subject(&first);
    const cal_sim_def good = cal_default_sim_def();
    cal_sim_def def = good;
    def.solver = "rkf";
    expect_refusal(model, &def, "solver 'gear'; this simulation uses 'rkf'");
    def = good, def.algorithm = "armstrong";
    expect_refusal(model, &def, "algorithm 'aba'");
    def = good, def.relative = def.absolute = 1e-5;
    expect_refusal(model, &def, "relative tolerance 0.0001");
    def = good, def.absolute = 1e-6;
    expect_refusal(model, &def, "absolute tolerance");
    def = good, def.step = 0.002;
    expect_refusal(model, &def, "step");
    def = good, def.largest_step = 0.1;
    expect_refusal(model, &def, "largest step");
    def = good, def.largest_order = 5;
    expect_refusal(model, &def, "largest order");
    cal_model* larger = cal_test_model("chain:n=13");
    expect_refusal(larger, &good, "another model: 12 bodies");
    cal_model_destroy(larger);
    cal_model* dressed = cal_test_dress(model, 1);
    expect_refusal(dressed, &good, "0 motors; this one has 12, 12, 3");
    cal_model_destroy(dressed);
    cal_model* lighter = cal_test_model("stickman:gravity=5");
    expect_refusal(lighter, &good, "another model: as many bodies");
    cal_model_destroy(lighter);
    cal_model_destroy(model);
}

static unsigned char* read_all(const char* name, size_t* size) {
    FILE* file = fopen(name, "rb");
    assert_non_null(file);
    unsigned char* bytes = malloc(1 << 22);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 22, file);
    assert_true(*size < 1 << 22);
    fclose(file);
    return bytes;
}

static void write_all(const void* bytes, size_t size) {
    FILE* file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void refuses_what_is_damaged(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("stickman");
    const cal_sim_def def = cal_default_sim_def();
    subject first = open_simply(model, "gear");
    advance(&first, 0.3);
    save(&first);
    close_subject(&first);
    size_t size;
    unsigned char* bytes = read_all(path, &size);
    const size_t ends[] = {15, 16, 24, size / 2, size / 2 + 3, size - 9, size - 8, size - 1};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        write_all(bytes, ends[i]);
        expect_refusal(model, &def, "cut off or damaged");
    }
    for (size_t at = 8; at < size; at += 1 + size / 23) {
        bytes[at] ^= 0x10;
        write_all(bytes, size);
        expect_refusal(model, &def, "cut off or damaged");
        bytes[at] ^= 0x10;
    }
    free(bytes);
    write_all("", 0);
    expect_refusal(model, &def, "not a checkpoint");
    write_all("time,hip.q,hip.v\n0,1,2\n", 23);
    expect_refusal(model, &def, "not a checkpoint");
    assert_int_equal(unlink(path), 0);
    expect_refusal(model, &def, "No such file");
    assert_int_equal(mkdir(path, 0777), 0);
    expect_refusal(model, &def, "directory");
    assert_int_equal(rmdir(path), 0);
    cal_model_destroy(model);
}

// Writes a file whose checksum fits, whatever its words are.
static void write_with_checksum(unsigned char* bytes, size_t size) {
    const uint64_t sum = cal_hash_bytes(CAL_HASH_START, bytes, size - 8);
    for (int k = 0; k < 8; k++) bytes[size - 8 + (size_t)k] = (unsigned char)(sum >> 8 * k);
    write_all(bytes, size);
}

static void set_word(unsigned char* bytes, size_t word, uint64_t value) {
    for (int k = 0; k < 8; k++) bytes[8 * word + (size_t)k] = (unsigned char)(value >> 8 * k);
}

static void ends_texts_where_their_places_do(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=2");
    subject s = open_simply(model, "gear");
    save(&s);
    size_t size;
    unsigned char* bytes = read_all(path, &size);
    memset(bytes + 8, 'A', 400); // all that says what it is of, and more
    write_with_checksum(bytes, size);
    cal_error error = {CAL_OK, ""};
    assert_int_not_equal(cal_sim_load(s.sim, path, &error), CAL_OK);
    assert_non_null(strstr(error.text, "AAAAAAAA"));
    assert_null(strstr(error.text, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")); // 32
    free(bytes);
    close_subject(&s);
    cal_model_destroy(model);
}

static size_t most_asked;

static void* note_size(size_t size, void* user) {
    (void)user;
    if (size > most_asked) most_asked = size;
    return size < (size_t)1 << 32 ? malloc(size) : NULL;
}

static void give_back(void* memory, void* user) {
    (void)user;
    free(memory);
}

// Whatever a file of some kilobytes says of sizes, nobody asks for more than a few times as many bytes.
static void asks_for_no_more_than_the_file_has(const char* name, double time) {
    const cal_allocator noting = {note_size, give_back, NULL};
    assert_int_equal(cal_set_allocator(&noting, NULL), CAL_OK);
    cal_model* model = cal_test_model(name);
    cal_sim_def def = cal_default_sim_def();
    cal_sim *sim = NULL, *other = NULL;
    assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
    assert_int_equal(cal_sim_create(model, &def, &other, NULL), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, time, NULL), CAL_OK);
    assert_int_equal(cal_sim_save(sim, path, NULL), CAL_OK);
    size_t size;
    unsigned char* bytes = read_all(path, &size);
    unsigned char* changed = malloc(size);
    assert_non_null(changed);
    // More than there can be, and as many as there are words, which is less than they would take.
    const uint64_t sizes[] = {(uint64_t)1 << 23, (uint64_t)1 << 40, size / 16};
    int refused = 0;
    // What says how much there is stands at the beginning of what it counts; the places of numbers are looked at here and there.
    for (size_t word = 1; word < size / 8 - 1; word += word < 400 ? 1 : 13)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            memcpy(changed, bytes, size);
            set_word(changed, word, sizes[k]);
            write_with_checksum(changed, size);
            most_asked = 0;
            refused += cal_sim_load(other, path, NULL) != CAL_OK;
            if (most_asked > 64 * size + 100000)
                fail_msg("%s: %zu bytes asked for, since word %zu of a file of %zu bytes is %llu", name, most_asked,
                         word, size, (unsigned long long)sizes[k]);
        }
    assert_true(refused > 40);
    free(bytes), free(changed);
    cal_sim_destroy(sim);
    cal_sim_destroy(other);
    cal_model_destroy(model);
    assert_int_equal(cal_set_allocator(NULL, NULL), CAL_OK);
}

static void believes_no_sizes(void** unused) {
    (void)unused;
    asks_for_no_more_than_the_file_has("chain:n=2", 0.1);
    asks_for_no_more_than_the_file_has("stickman:floor=1", 0.01); // with events
}

// --- Failing ---------------------------------------------------------------------------------------------------------

static int count_files(void) {
    DIR* list = opendir(folder);
    assert_non_null(list);
    int count = 0;
    for (const struct dirent* entry; (entry = readdir(list));) count += entry->d_name[0] != '.';
    closedir(list);
    return count;
}

// A limit on the size of files stands for a full disk.
static void leaves_the_old_file_when_the_disk_is_full(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("stickman");
    subject s = open_simply(model, "gear"), other = open_simply(model, "gear");
    cal_error error = {CAL_OK, ""};
    advance(&s, 0.1);
    advance(&other, 0.1);
    save(&s);
    size_t before, after;
    unsigned char* old = read_all(path, &before);
    advance(&s, 0.2);
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {before / 2, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const cal_status status = cal_sim_save(s.sim, path, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_not_equal(status, CAL_OK);
    assert_non_null(strstr(error.text, path));
    unsigned char* now = read_all(path, &after);
    assert_int_equal(before, after);
    assert_memory_equal(old, now, before);
    assert_int_equal(count_files(), 1);
    // The simulation does not mind.
    advance(&s, 0.3);
    advance(&other, 0.3);
    expect_equal(&s, &other, "stickman", "gear", 0.2);
    free(old);
    free(now);
    close_subject(&s);
    close_subject(&other);
    cal_model_destroy(model);
}

static void tells_when_a_place_cannot_be_written(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("chain:n=3");
    subject s = open_simply(model, "gear");
    char nowhere[96];
    cal_error error = {CAL_OK, ""};
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/run.checkpoint", folder);
    assert_int_not_equal(cal_sim_save(s.sim, nowhere, &error), CAL_OK);
    assert_non_null(strstr(error.text, nowhere));
    const int files = count_files();
    assert_int_not_equal(cal_sim_save(s.sim, folder, &error), CAL_OK);
    assert_non_null(strstr(error.text, folder));
    assert_int_equal(count_files(), files);
    close_subject(&s);
    cal_model_destroy(model);
}

// Whichever allocation fails, nothing is changed and nothing is lost.
static void survives_a_lack_of_memory(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("stickman");
    const double force[3] = {3, -2, 1}, torque[3] = {0}, point[3] = {0};
    subject first = open_simply(model, "gear"), second = open_simply(model, "gear"), other = open_simply(model, "gear");
    assert_int_equal(cal_sim_push(first.sim, 2, force, torque, point), CAL_OK);
    advance(&first, 0.1);
    advance(&second, 0.05);
    advance(&other, 0.05);
    cal_status status = CAL_NO_MEMORY;
    for (int after = 0; status != CAL_OK; after++) {
        const int64_t live = cal_live_allocations();
        cal_fail_allocation(after);
        status = cal_sim_save(first.sim, path, NULL);
        cal_fail_allocation(-1);
        assert_int_equal(cal_live_allocations(), live);
    }
    int failures = 0;
    for (status = CAL_NO_MEMORY; status != CAL_OK; failures++) {
        const int64_t live = cal_live_allocations();
        cal_fail_allocation(failures);
        status = cal_sim_load(second.sim, path, NULL);
        cal_fail_allocation(-1);
        if (status == CAL_OK) break;
        assert_int_equal(status, CAL_NO_MEMORY);
        assert_int_equal(cal_live_allocations(), live);
        advance(&second, 0.05 + 0.001 * (failures + 1));
        advance(&other, 0.05 + 0.001 * (failures + 1));
        expect_equal(&second, &other, "stickman", "gear", failures);
    }
    assert_true(failures > 5);
    advance(&first, 0.3);
    advance(&second, 0.3);
    expect_equal(&first, &second, "stickman", "gear", 0.1);
    close_subject(&first);
    close_subject(&second);
    close_subject(&other);
    cal_model_destroy(model);
}

static int create_folder(void** unused) {
    (void)unused;
    folder = cal_test_folder();
    cal_test_path(path, "run.checkpoint");
    return 0;
}

static int remove_folder(void** unused) {
    (void)unused;
    unlink(path);
    return rmdir(folder); // fails where something was left behind
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_to_the_same_bits),
        cmocka_unit_test(goes_on_on_another_machine),
        cmocka_unit_test(goes_on_with_a_slow_band),
        cmocka_unit_test(goes_on_inside_a_step),
        cmocka_unit_test(keeps_what_drives_it),
        cmocka_unit_test(refuses_what_belongs_to_another_simulation),
        cmocka_unit_test(refuses_what_is_damaged),
        cmocka_unit_test(ends_texts_where_their_places_do),
        cmocka_unit_test(believes_no_sizes),
        cmocka_unit_test(leaves_the_old_file_when_the_disk_is_full),
        cmocka_unit_test(tells_when_a_place_cannot_be_written),
        cmocka_unit_test(survives_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, create_folder, remove_folder);
}
