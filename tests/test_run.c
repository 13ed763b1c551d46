// Every kind of run through the same checks: what they all have, what only some have, and what the others say.
#define _XOPEN_SOURCE 700
#include "place.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calder/calder_run.h"

// A kind of run, and a model or scene that it is made of; equal calls make equal runs.
typedef struct kind {
    const char* name;
    const char* subject;
    cal_run* (*open)(struct kind* kind);
    cal_model* model; // what the run is made of, and the caller's own of it
    cal_sim* sim;
    cal_world* world;
} kind;

static cal_run* check(cal_status status, cal_run* const* run, const cal_error* error) {
    if (status) fail_msg("%s", error->text);
    assert_non_null(*run);
    return *run;
}

static cal_run* open_sim(kind* k) {
    cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    return check(cal_run_create_sim(k->model, &def, &run, &error), &run, &error);
}

static cal_run* open_borrowed_sim(kind* k) {
    cal_sim_def def = cal_default_sim_def();
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    cal_sim_destroy(k->sim);
    assert_int_equal(cal_sim_create(k->model, &def, &k->sim, NULL), CAL_OK);
    return check(cal_run_of_sim(k->sim, &run, &error), &run, &error);
}

static cal_status make_world(void* user, cal_world** out, cal_error* error) {
    return cal_world_generate(((const kind*)user)->subject, NULL, out, error);
}

static cal_run* open_world(kind* k) {
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    return check(cal_run_create_world(make_world, k, &run, &error), &run, &error);
}

static cal_run* open_borrowed_world(kind* k) {
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    cal_world_destroy(k->world);
    assert_int_equal(make_world(k, &k->world, NULL), CAL_OK);
    return check(cal_run_of_world(k->world, &run, &error), &run, &error);
}

static void shift(void* user, int instance, double* q, double* v) {
    (void)user;
    q[0] += 0.01 * instance;
    v[0] -= 0.02 * instance;
}

static cal_run* open_ensemble(kind* k) {
    cal_run_ensemble_def def = cal_default_run_ensemble_def();
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    def.ensemble.count = 5;
    def.ensemble.sim.solver = "rk4";
    def.start = shift;
    return check(cal_run_create_ensemble(k->model, &def, &run, &error), &run, &error);
}

static cal_run* open_loops(kind* k) {
    cal_run_ensemble_def def = cal_default_run_ensemble_def();
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    def.ensemble.count = 3;
    def.ensemble.spread = 1e-3;
    return check(cal_run_create_ensemble(k->model, &def, &run, &error), &run, &error);
}

static cal_run* open_randomized(kind* k) {
    cal_rps_def def = cal_default_rps_def();
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    def.instances = 4;
    return check(cal_run_create_randomized(k->model, &def, &run, &error), &run, &error);
}

static void for_each_kind(void (*test)(kind* k)) {
    kind kinds[] = {{"simulation", "stickman", open_sim, NULL, NULL, NULL},
                    {"simulation with loops", "fourbar", open_sim, NULL, NULL, NULL},
                    {"borrowed simulation", "chain:n=4", open_borrowed_sim, NULL, NULL, NULL},
                    {"world", "stack:kind=pyramid,n=3", open_world, NULL, NULL, NULL},
                    {"borrowed world", "atoms:n=20", open_borrowed_world, NULL, NULL, NULL},
                    {"ensemble", "chain:n=4", open_ensemble, NULL, NULL, NULL},
                    {"ensemble with loops", "bricard", open_loops, NULL, NULL, NULL},
                    {"randomized simulation", "rail", open_randomized, NULL, NULL, NULL}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        kind* k = &kinds[i];
        if (k->open != open_world && k->open != open_borrowed_world) k->model = cal_test_model(k->subject);
        test(k);
        cal_sim_destroy(k->sim);
        cal_world_destroy(k->world);
        cal_model_destroy(k->model);
    }
}

static void begin(cal_run* run) {
    cal_error error = {CAL_OK, ""};
    char note[256];
    if (cal_run_begin(run, false, note, &error)) fail_msg("%s", error.text);
    assert_string_equal(note, "");
}

static void advance(cal_run* run, double time) {
    cal_error error = {CAL_OK, ""};
    if (cal_run_advance(run, time, &error)) fail_msg("%s", error.text);
    // Fixed steps end at the one next to the time.
    cal_test_expect_below(fabs(cal_run_time(run) - time), 1e-9, "time", cal_run_kind(run));
}

// --- What every run has ---------------------------------------------------------------------------------------------------------

static void check_time(kind* k) {
    cal_run* run = k->open(k);
    begin(run);
    assert_true(cal_run_time(run) == 0);
    const uint64_t start = cal_run_hash(run);
    const double grain = cal_run_grain(run);
    assert_true(grain >= 0 && grain <= 0.1);
    advance(run, 0.1);
    const uint64_t before = cal_run_hash(run);
    assert_true(before != start);
    assert_true(cal_run_wall(run) > 0);
    // Looking changes nothing.
    double* poses = cal_test_numbers(7 * (size_t)cal_run_body_count(run));
    double values[CAL_RUN_CHANNELS];
    assert_int_equal(cal_run_poses(run, poses, NULL), CAL_OK);
    assert_int_equal(cal_run_read(run, values, NULL), CAL_OK);
    assert_true(cal_run_hash(run) == before);
    advance(run, 0.2);
    assert_true(cal_run_hash(run) != before);
    cal_run_destroy(run);
    // An equal run gives equal bits.
    cal_run* other = k->open(k);
    begin(other);
    advance(other, 0.1);
    assert_true(cal_run_hash(other) == before);
    cal_run_destroy(other);
    free(poses);
}

static void time_goes_on(void** unused) {
    (void)unused;
    for_each_kind(check_time);
}

// As many poses as bodies, each with a unit quaternion; channels with names of their own and values.
static void check_sample(kind* k) {
    cal_run* run = k->open(k);
    begin(run);
    advance(run, 0.1);
    const int bodies = cal_run_body_count(run);
    assert_true(bodies > 0);
    double* poses = cal_test_numbers(7 * (size_t)bodies + 1);
    poses[7 * bodies] = 12345;
    assert_int_equal(cal_run_poses(run, poses, NULL), CAL_OK);
    assert_true(poses[7 * bodies] == 12345);
    for (int i = 0; i < bodies; i++) {
        double square = 0;
        char name[96];
        for (int c = 3; c < 7; c++) square += poses[7 * i + c] * poses[7 * i + c];
        cal_test_expect_below(fabs(square - 1), 1e-9, "quaternion", k->name);
        assert_true(strlen(cal_run_body_name(run, i, name, sizeof name)) > 0);
        assert_true(cal_run_body_motion(run, i) <= CAL_DRIVEN);
    }
    int count;
    double values[CAL_RUN_CHANNELS];
    const cal_channel* channels = cal_run_channels(run, &count);
    assert_in_range(count, 1, CAL_RUN_CHANNELS);
    assert_int_equal(cal_run_read(run, values, NULL), CAL_OK);
    for (int i = 0; i < count; i++) {
        if (!isfinite(values[i])) fail_msg("%s: channel '%s' is %g", k->name, channels[i].name, values[i]);
        for (int other = 0; other < i; other++) assert_string_not_equal(channels[other].name, channels[i].name);
    }
    assert_true(cal_run_can(run, CAL_RUN_STATE) == (cal_run_q(run) != NULL));
    if (cal_run_can(run, CAL_RUN_STATE)) {
        assert_non_null(cal_run_model(run));
        for (int i = 0; i < cal_model_q_count(cal_run_model(run)); i++) assert_true(isfinite(cal_run_q(run)[i]));
        for (int i = 0; i < cal_model_v_count(cal_run_model(run)); i++) assert_true(isfinite(cal_run_v(run)[i]));
    }
    cal_run_destroy(run);
    free(poses);
}

static double twice_the_time(void* user, cal_run* run) {
    ++*(int*)user;
    return 2 * cal_run_time(run);
}

// A channel of the program's own comes after the kind's, until there is no room for more.
static void channels_can_be_added(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("pendulum");
    const cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    cal_error error = {CAL_OK, ""};
    const cal_channel channel = {"twice", "s", "Mine", false};
    double values[CAL_RUN_CHANNELS];
    int before, after, calls = 0;
    assert_int_equal(cal_run_create_sim(model, &def, &run, &error), CAL_OK);
    cal_run_channels(run, &before);
    while (cal_run_add_channel(run, &channel, twice_the_time, &calls, &error) == CAL_OK) {}
    assert_non_null(strstr(error.text, "'twice' is one too many"));
    const cal_channel* all = cal_run_channels(run, &after);
    assert_int_equal(after, CAL_RUN_CHANNELS);
    assert_string_equal(all[before].name, "twice");
    assert_string_equal(all[0].name, "kinetic");
    advance(run, 0.25);
    assert_int_equal(cal_run_read(run, values, &error), CAL_OK);
    assert_true(values[before] == 0.5 && values[after - 1] == 0.5);
    assert_int_equal(calls, after - before);
    cal_run_destroy(run);
    cal_model_destroy(model);
}

static void samples_are_whole(void** unused) {
    (void)unused;
    for_each_kind(check_sample);
}

static bool count_shape(void* user, const cal_shape_def* shape, const cal_mesh_def* mesh) {
    const cal_run* run = user;
    assert_true(shape->body >= CAL_GROUND && shape->body < cal_run_body_count(run));
    assert_true((mesh != NULL) == (shape->kind == CAL_MESH || shape->kind == CAL_HEIGHT_FIELD));
    return true;
}

static bool stop_at_once(void* user, const cal_shape_def* shape, const cal_mesh_def* mesh) {
    (void)shape;
    (void)mesh;
    ++*(int*)user;
    return false;
}

// Facts: at least one line for people, keys that differ, brackets that close.
static void check_report(kind* k) {
    cal_run* run = k->open(k);
    cal_facts* facts = NULL;
    begin(run);
    advance(run, 0.1);
    assert_true(cal_run_shapes(run, count_shape, run));
    int calls = 0;
    cal_run_shapes(run, stop_at_once, &calls);
    assert_true(calls <= 1);
    assert_int_equal(cal_facts_create(&facts, NULL), CAL_OK);
    cal_run_report(run, facts);
    assert_int_equal(cal_facts_status(facts), CAL_OK);
    int lines = 0, depth = 0;
    for (int i = 0; i < cal_facts_count(facts); i++) {
        const cal_fact* fact = cal_facts_get(facts, i);
        lines += fact->kind == CAL_FACT_LINE;
        depth += (fact->kind == CAL_FACT_OPEN) - (fact->kind == CAL_FACT_CLOSE);
        assert_true(depth >= 0);
        for (int other = 0; other < i && depth == 0 && fact->kind > CAL_FACT_LINE && fact->kind < CAL_FACT_OPEN;
             other++)
            if (cal_facts_get(facts, other)->kind != CAL_FACT_LINE && cal_facts_get(facts, other)->key)
                assert_string_not_equal(cal_facts_get(facts, other)->key, fact->key);
    }
    assert_true(lines > 0 && depth == 0);
    cal_facts_destroy(facts);
    cal_run_destroy(run);
}

static void reports_are_whole(void** unused) {
    (void)unused;
    for_each_kind(check_report);
}

// --- What some have -------------------------------------------------------------------------------------------------------------

static cal_status try_ability(cal_run* run, cal_run_ability ability, const char* path, cal_error* error) {
    const double point[3] = {0.1, 0.2, 0.3};
    double energy[2], residual;
    cal_contact_point contact;
    cal_energy_balance balance;
    double* forces;
    cal_run_settings settings;
    cal_status status;
    int body;
    switch (ability) {
    case CAL_RUN_SET: return cal_run_set(run, cal_run_time(run), cal_run_q(run), cal_run_v(run), error);
    case CAL_RUN_ENERGY: return cal_run_energy(run, energy, error);
    case CAL_RUN_BALANCE: return cal_run_balance(run, &balance, error);
    case CAL_RUN_FORCES:
        forces = cal_test_numbers(6 * 64);
        status = cal_run_joint_forces(run, forces, error);
        free(forces);
        return status;
    case CAL_RUN_EVENTS: return cal_run_keep_events(run, error);
    case CAL_RUN_SAVE: return cal_run_save(run, path, error);
    case CAL_RUN_CHANGE: cal_run_get_settings(run, &settings); return cal_run_change(run, &settings, error);
    case CAL_RUN_RESET: return cal_run_reset(run, error);
    case CAL_RUN_GRAB:
        status = cal_run_grab(run, cal_run_body_count(run) - 1, point, error);
        cal_run_drag(run, point);
        cal_run_drop(run);
        return status;
    case CAL_RUN_DRIVE: return cal_run_drive(run, NULL, NULL, error);
    case CAL_RUN_CHECK:
        status = cal_run_check(run, &residual, &body, error);
        return status == CAL_BAD_MODEL ? CAL_OK : status; // for ball and free joints
    case CAL_RUN_CONTACTS: return cal_run_contacts(run, &contact, 1, &body, error);
    case CAL_RUN_INSTANCES: return cal_run_show(run, cal_run_instances(run) - 1, error);
    case CAL_RUN_CONNECT:
    case CAL_RUN_PROJECT:
    case CAL_RUN_STATE:
    case CAL_RUN_DESCRIBE:
    case CAL_RUN_ABILITIES: break;
    }
    return cal_run_can(run, ability) ? CAL_OK : CAL_NOT_AVAILABLE;
}

// What a run says that it can do, it does; all else gives the one line that names its kind.
static void check_abilities(kind* k) {
    char path[CAL_TEST_PATH];
    cal_test_path(path, "run");
    for (int ability = 0; ability < CAL_RUN_ABILITIES; ability++) {
        cal_run* run = k->open(k);
        cal_error error = {CAL_OK, ""};
        begin(run);
        const cal_status status = try_ability(run, (cal_run_ability)ability, path, &error);
        if (cal_run_can(run, (cal_run_ability)ability)) {
            if (status) fail_msg("%s, ability %d: %s", k->name, ability, error.text);
        } else {
            assert_int_equal(status, CAL_NOT_AVAILABLE);
            if (error.text[0]) assert_non_null(strstr(error.text, cal_run_kind(run)));
            if (error.text[0]) assert_non_null(strstr(error.text, " cannot "));
        }
        cal_run_destroy(run);
    }
    unlink(path);
}

static void absent_functions_say_so(void** unused) {
    (void)unused;
    for_each_kind(check_abilities);
}

// A saved run goes on to the same bits; one that started anew is at its start.
static void check_save(kind* k) {
    char path[CAL_TEST_PATH];
    cal_test_path(path, "run");
    cal_run* run = k->open(k);
    begin(run);
    const uint64_t start = cal_run_hash(run);
    advance(run, 0.1);
    const uint64_t middle = cal_run_hash(run);
    const bool saves = cal_run_can(run, CAL_RUN_SAVE);
    if (saves) assert_int_equal(cal_run_save(run, path, NULL), CAL_OK);
    advance(run, 0.3);
    const uint64_t end = cal_run_hash(run);
    if (saves) {
        assert_int_equal(cal_run_restore(run, path, NULL), CAL_OK);
        assert_true(cal_run_hash(run) == middle);
        advance(run, 0.3);
        assert_true(cal_run_hash(run) == end);
    }
    if (cal_run_can(run, CAL_RUN_RESET)) {
        assert_int_equal(cal_run_reset(run, NULL), CAL_OK);
        assert_true(cal_run_hash(run) == start && cal_run_time(run) == 0);
        advance(run, 0.1);
        assert_true(cal_run_hash(run) == middle);
    }
    cal_run_destroy(run);
    unlink(path);
}

static void saved_runs_go_on(void** unused) {
    (void)unused;
    for_each_kind(check_save);
}

// A start that was set before the run began is where it starts anew.
static void starts_where_it_was_set(void** unused) {
    (void)unused;
    kind k = {"simulation", "chain:n=4", open_sim, cal_test_model("chain:n=4"), NULL, NULL};
    cal_run* run = open_sim(&k);
    const double q[4] = {0.1, 0.2, 0.3, 0.4}, v[4] = {1, 0, -1, 0};
    assert_int_equal(cal_run_set(run, 0, q, v, NULL), CAL_OK);
    begin(run);
    advance(run, 0.5);
    assert_int_equal(cal_run_reset(run, NULL), CAL_OK);
    for (int i = 0; i < 4; i++) assert_true(cal_run_q(run)[i] == q[i] && cal_run_v(run)[i] == v[i]);
    cal_run_destroy(run);
    cal_model_destroy(k.model);
}

// All collisions of a run are its events, in the order of time.
static void events_come_in_order(void** unused) {
    (void)unused;
    kind k = {"world", "atoms:n=30", open_world, NULL, NULL, NULL};
    cal_run* run = open_world(&k);
    cal_run_event event;
    double last = 0;
    int count = 0;
    assert_int_equal(cal_run_keep_events(run, NULL), CAL_OK);
    begin(run);
    advance(run, 1);
    for (; cal_run_next_event(run, &event); count++) {
        assert_true(event.time >= last && event.time <= 1 && event.impulse > 0);
        assert_true(event.body[0] >= 0 && event.body[1] < cal_run_body_count(run));
        last = event.time;
    }
    assert_true(count > 10);
    cal_run_destroy(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_goes_on),
        cmocka_unit_test(samples_are_whole),
        cmocka_unit_test(channels_can_be_added),
        cmocka_unit_test(reports_are_whole),
        cmocka_unit_test(absent_functions_say_so),
        cmocka_unit_test(saved_runs_go_on),
        cmocka_unit_test(starts_where_it_was_set),
        cmocka_unit_test(events_come_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
