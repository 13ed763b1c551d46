// Callbacks that call the library back: they may look at what calls them. What they may not do is refused in a line and leaves no trace, and what they
// destroy goes when the advance returns.
#include "calder/calder_run.h"
#include "calder/calder_world.h"
#include "place.h"
#include "support.h"
#include <math.h>
#include <string.h>

typedef struct caller caller;
typedef cal_status act(caller* c, cal_error* error);

// What a callback is to do, the third time that it is called, and what that said.
struct caller {
    cal_sim* sim;
    cal_ensemble* ensemble;
    cal_rps* rps;
    cal_world* world;
    cal_run* run;
    cal_snapshot* snapshot;
    char path[CAL_TEST_PATH];
    act* acts; // NULL: nothing
    int called;
    cal_status said;
    cal_error error;
};

static void call_back(caller* c) {
    if (++c->called == 3 && c->acts != NULL) c->said = c->acts(c, &c->error);
}

static void give_force(cal_force_context* context, void* user) {
    (void)context;
    call_back(user);
}

static bool asked(void* user) {
    call_back(user);
    return false;
}

static void come_by(cal_callback_context* view, void* user) {
    (void)view;
    call_back(user);
}

static void stay_away(cal_callback_context* view, void* user) {
    (void)view;
    (void)user;
}

// --- What is tried -------------------------------------------------------------------------------------------------------------

static const double numbers[64] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1};

static cal_status advances(caller* c, cal_error* error) {
    return cal_sim_advance(c->sim, cal_sim_time(c->sim) + 0.3, error);
}
static cal_status sets(caller* c, cal_error* error) {
    return cal_sim_set(c->sim, cal_sim_time(c->sim), NULL, numbers, error);
}
static cal_status drives(caller* c, cal_error* error) { return cal_sim_drive(c->sim, numbers, NULL, error); }
static cal_status pushes(caller* c, cal_error* error) {
    (void)error;
    return cal_sim_push(c->sim, 0, numbers, NULL, NULL);
}
static cal_status releases(caller* c, cal_error* error) {
    (void)error;
    return cal_sim_release(c->sim);
}
static cal_status restarts(caller* c, cal_error* error) {
    (void)error;
    return cal_sim_restart(c->sim);
}
static cal_status activates(caller* c, cal_error* error) { return cal_sim_set_activations(c->sim, numbers, error); }
static cal_status connects(caller* c, cal_error* error) {
    return cal_sim_connect(c->sim, 0, CAL_CONNECT_SMOOTH, error);
}
static cal_status disconnects(caller* c, cal_error* error) { return cal_sim_disconnect(c->sim, 0, error); }
static cal_status catches(caller* c, cal_error* error) { return cal_sim_catch(c->sim, 0, error); }
static cal_status projects(caller* c, cal_error* error) { return cal_sim_project(c->sim, error); }
static cal_status saves(caller* c, cal_error* error) { return cal_sim_save(c->sim, c->path, error); }
static cal_status loads(caller* c, cal_error* error) { return cal_sim_load(c->sim, c->path, error); }
static cal_status restores(caller* c, cal_error* error) { return cal_sim_restore(c->sim, c->snapshot, error); }
static cal_status keeps(caller* c, cal_error* error) {
    cal_snapshot* snapshot = NULL;
    const cal_status status = cal_sim_snapshot(c->sim, &snapshot, error);
    cal_snapshot_destroy(snapshot);
    return status;
}
static cal_status forks(caller* c, cal_error* error) {
    cal_sim* other = NULL;
    const cal_status status = cal_sim_fork(c->sim, &other, error);
    cal_sim_destroy(other);
    return status;
}
static cal_status destroys(caller* c, cal_error* error) {
    (void)error;
    cal_sim_destroy(c->sim);
    cal_ensemble_destroy(c->ensemble);
    cal_rps_destroy(c->rps);
    cal_world_destroy(c->world);
    cal_run_destroy(c->run);
    return CAL_OK;
}
static cal_status looks(caller* c, cal_error* error) {
    (void)error;
    double energy[2], poses[7 * 64];
    cal_energy_balance balance;
    cal_sim_hash(c->sim);
    cal_sim_q(c->sim);
    cal_sim_poses(c->sim, poses);
    cal_sim_balance(c->sim, &balance);
    return cal_sim_energy(c->sim, &energy[0], &energy[1]);
}

static act* const refused[] = {advances,    sets,    drives,   pushes, releases, restarts, activates, connects,
                               disconnects, catches, projects, saves,  loads,    restores, keeps,     forks};
enum { REFUSED = sizeof refused / sizeof refused[0] };

// --- Simulations ---------------------------------------------------------------------------------------------------------------

enum { BY_FORCE, BY_QUESTION, BY_PERIOD, BY_LOOP, KINDS };
static const char* const models[KINDS] = {"chain:n=4", "chain:n=4", "humanoid:drop=0.05", "fourbar"};

static void add_visitor(caller* c) {
    cal_world* world = cal_sim_world(c->sim);
    cal_world_body_def def = cal_default_world_body_def();
    cal_shape_def shape = cal_default_shape_def();
    cal_body_id body;
    def.position[2] = 50.0;
    shape.size[0] = 0.1;
    assert_int_equal(cal_world_add_body(world, &def, &body, NULL), CAL_OK);
    assert_int_equal(cal_world_add_shape(world, body, &shape, NULL, NULL), CAL_OK);
    assert_int_equal(cal_world_on_period(world, &body, 1, 0.01, 0.01, come_by, c, NULL), CAL_OK);
}

static void make(caller* c, const cal_model* model, int kind) {
    cal_sim_def def = cal_default_sim_def();
    cal_world_def events = cal_default_world_def();
    cal_error error = {0};
    def.solver = kind == BY_LOOP ? "gear" : "auto";
    def.contact = kind == BY_PERIOD;
    def.events = kind == BY_PERIOD ? &events : NULL;
    def.force = kind == BY_FORCE || kind == BY_LOOP ? give_force : NULL;
    def.interrupt = kind == BY_QUESTION ? asked : NULL;
    def.user = def.interrupt_user = c;
    if (cal_sim_create(model, &def, &c->sim, &error)) fail_msg("%s", error.text);
    if (kind == BY_PERIOD) add_visitor(c);
    cal_test_path(c->path, "called.cal");
    if (cal_sim_save(c->sim, c->path, &error)) fail_msg("%s", error.text);
    if (cal_sim_snapshot(c->sim, &c->snapshot, &error)) fail_msg("%s", error.text);
    c->called = 0;
}

// The hash after an advance whose callback does something.
static uint64_t run(const cal_model* model, int kind, act* acts, caller* c) {
    *c = (caller){.acts = acts};
    cal_error error = {0};
    make(c, model, kind);
    if (cal_sim_advance(c->sim, 0.05, &error)) fail_msg("%s", error.text);
    assert_true(c->called >= 3);
    const uint64_t hash = cal_sim_hash(c->sim);
    cal_sim_destroy(c->sim);
    cal_snapshot_destroy(c->snapshot);
    return hash;
}

static void what_a_callback_may_not_do_leaves_no_trace(void** state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        cal_model* model = cal_test_model(models[kind]);
        caller c;
        const uint64_t alone = run(model, kind, NULL, &c);
        for (int i = 0; i < REFUSED; i++) {
            if (run(model, kind, refused[i], &c) != alone) fail_msg("%s: attempt %d changed it", models[kind], i);
            if (c.said != CAL_BAD_ARGUMENT) fail_msg("%s: attempt %d was not refused", models[kind], i);
        }
        assert_true(run(model, kind, looks, &c) == alone && c.said == CAL_OK);
        cal_model_destroy(model);
    }
}

static void what_a_callback_destroys_goes_when_the_advance_returns(void** state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        cal_model* model = cal_test_model(models[kind]);
        caller c = {.acts = destroys};
        cal_error error = {0};
        make(&c, model, kind);
        assert_int_equal(cal_sim_advance(c.sim, 0.05, &error), CAL_INTERRUPTED);
        assert_non_null(strstr(error.text, "destroyed by one of its callbacks"));
        cal_snapshot_destroy(c.snapshot);
        cal_model_destroy(model);
    }
}

// --- Numbers --------------------------------------------------------------------------------------------------------------------

typedef struct setter {
    int what;
    double number;
} setter;

static void set_number(cal_callback_context* view, void* user) {
    const setter* s = user;
    const double x[3] = {0.0, s->number, 0.0};
    if (s->what < 2) cal_callback_set_velocity(view, 0, s->what == 0 ? x : NULL, s->what == 0 ? NULL : x);
    if (s->what >= 2) cal_callback_set_force(view, 0, s->what == 2 ? x : NULL, s->what == 2 ? NULL : x);
}

static void set_after_collision(cal_callback_context* view, const double impulse[3], void* user) {
    (void)impulse;
    set_number(view, user);
}

// Whether a ball that falls on another one goes on with it.
static cal_status drop(setter* s, bool at_collision, cal_error* error) {
    cal_world* world = NULL;
    cal_world_body_def ball = cal_default_world_body_def(), still = cal_default_world_body_def();
    cal_shape_def shape = cal_default_shape_def();
    cal_body_id body, below;
    shape.size[0] = 0.1, ball.position[2] = 0.25, still.motion = CAL_FIXED;
    assert_int_equal(cal_world_create(NULL, &world, NULL), CAL_OK);
    assert_int_equal(cal_world_add_body(world, &ball, &body, NULL), CAL_OK);
    assert_int_equal(cal_world_add_body(world, &still, &below, NULL), CAL_OK);
    assert_int_equal(cal_world_add_shape(world, body, &shape, NULL, NULL), CAL_OK);
    assert_int_equal(cal_world_add_shape(world, below, &shape, NULL, NULL), CAL_OK);
    if (at_collision)
        assert_int_equal(cal_world_on_collision(world, body, set_after_collision, s, NULL), CAL_OK);
    else
        assert_int_equal(cal_world_on_period(world, &body, 1, 0.01, 0.01, set_number, s, NULL), CAL_OK);
    const cal_status status = cal_world_advance(world, 0.15, error);
    cal_world_destroy(world);
    return status;
}

static void what_a_callback_sets_is_finite(void** state) {
    (void)state;
    static const double numbers_tried[] = {(double)NAN, (double)INFINITY, 1e308};
    for (int what = 0; what < 4; what++)
        for (int i = 0; i < 6; i++) {
            setter s = {what, numbers_tried[i / 2]};
            cal_error error = {0};
            assert_int_equal(drop(&s, i % 2 == 0, &error), CAL_NOT_FINITE);
            if (strstr(error.text, "callback of body 0 at 0.") == NULL) fail_msg("%s", error.text);
        }
}

// --- Worlds, ensembles, randomized simulations ----------------------------------------------------------------------------------

// Of a world: whether it is asked in a question or in a callback.
static void a_world_outlives_its_own_advance(void** state) {
    (void)state;
    for (int by_period = 0; by_period < 2; by_period++) {
        caller c = {.acts = destroys};
        cal_world_def def = cal_default_world_def();
        cal_world_body_def ball = cal_default_world_body_def();
        cal_shape_def shape = cal_default_shape_def();
        cal_body_id body;
        cal_error error = {0};
        def.interrupt = by_period ? NULL : asked, def.interrupt_user = &c;
        shape.size[0] = 0.1;
        assert_int_equal(cal_world_create(&def, &c.world, NULL), CAL_OK);
        assert_int_equal(cal_world_add_body(c.world, &ball, &body, NULL), CAL_OK);
        assert_int_equal(cal_world_add_shape(c.world, body, &shape, NULL, NULL), CAL_OK);
        assert_int_equal(cal_world_on_period(c.world, &body, 1, 0.01, 0.01, by_period ? come_by : stay_away, &c, NULL),
                         CAL_OK);
        assert_int_equal(cal_world_advance(c.world, 1.0, &error), CAL_INTERRUPTED);
        assert_non_null(strstr(error.text, "destroyed by one of its callbacks"));
    }
}

static cal_status advances_ensemble(caller* c, cal_error* error) {
    return cal_ensemble_advance(c->ensemble, cal_ensemble_time(c->ensemble) + 0.3, error);
}
static cal_status sets_instance(caller* c, cal_error* error) {
    (void)error;
    return cal_ensemble_set(c->ensemble, 0, NULL, numbers);
}
static cal_status drives_instance(caller* c, cal_error* error) {
    return cal_ensemble_drive(c->ensemble, 0, numbers, NULL, error);
}

static void ensembles_are_not_changed_on_their_way(void** state) {
    (void)state;
    static act* const acts[] = {NULL, advances_ensemble, sets_instance, drives_instance, destroys};
    cal_model* model = cal_test_model("chain:n=4");
    uint64_t alone = 0;
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        caller c = {.acts = acts[i]};
        cal_ensemble_def def = cal_default_ensemble_def();
        cal_error error = {0};
        def.count = 2, def.sim.force = give_force, def.sim.user = &c;
        if (cal_ensemble_create_def(model, &def, &c.ensemble, &error)) fail_msg("%s", error.text);
        const cal_status status = cal_ensemble_advance(c.ensemble, 0.05, &error);
        assert_int_equal(status, acts[i] == destroys ? CAL_INTERRUPTED : CAL_OK);
        if (status) continue;
        const uint64_t hash = cal_ensemble_hash(c.ensemble);
        if (acts[i] == NULL) alone = hash;
        assert_true(hash == alone && c.said == (acts[i] == NULL ? CAL_OK : CAL_BAD_ARGUMENT));
        cal_ensemble_destroy(c.ensemble);
    }
    cal_model_destroy(model);
}

static cal_status advances_rps(caller* c, cal_error* error) { return cal_rps_advance(c->rps, 1.0, error); }
static cal_status sets_rps(caller* c, cal_error* error) { return cal_rps_set(c->rps, NULL, numbers, error); }

static void randomized_simulations_are_not_changed_on_their_way(void** state) {
    (void)state;
    static act* const acts[] = {NULL, advances_rps, sets_rps, destroys};
    cal_model* model = cal_test_model("rail");
    uint64_t alone = 0;
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        caller c = {.acts = acts[i]};
        cal_rps_def def = cal_default_rps_def();
        cal_error error = {0};
        def.interrupt = asked, def.interrupt_user = &c;
        if (cal_rps_create(model, &def, &c.rps, &error)) fail_msg("%s", error.text);
        const cal_status status = cal_rps_advance(c.rps, 0.1, &error);
        assert_int_equal(status, acts[i] == destroys ? CAL_INTERRUPTED : CAL_OK);
        if (status) continue;
        const uint64_t hash = cal_rps_hash(c.rps);
        if (acts[i] == NULL) alone = hash;
        assert_true(hash == alone && c.said == (acts[i] == NULL ? CAL_OK : CAL_BAD_ARGUMENT));
        cal_rps_destroy(c.rps);
    }
    cal_model_destroy(model);
}

static cal_status advances_run(caller* c, cal_error* error) { return cal_run_advance(c->run, 1.0, error); }
static cal_status sets_run(caller* c, cal_error* error) { return cal_run_set(c->run, 0.0, NULL, numbers, error); }
static cal_status resets_run(caller* c, cal_error* error) { return cal_run_reset(c->run, error); }

static void runs_are_not_changed_on_their_way(void** state) {
    (void)state;
    static act* const acts[] = {NULL, advances_run, sets_run, resets_run, destroys};
    cal_model* model = cal_test_model("chain:n=4");
    uint64_t alone = 0;
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        caller c = {.acts = acts[i]};
        cal_run_sim_def def = cal_default_run_sim_def();
        cal_error error = {0};
        def.sim.force = give_force, def.sim.user = &c;
        if (cal_run_create_sim(model, &def, &c.run, &error)) fail_msg("%s", error.text);
        const cal_status status = cal_run_advance(c.run, 0.05, &error);
        assert_int_equal(status, acts[i] == destroys ? CAL_INTERRUPTED : CAL_OK);
        if (status) continue;
        const uint64_t hash = cal_run_hash(c.run);
        if (acts[i] == NULL) alone = hash;
        assert_true(hash == alone && c.said == (acts[i] == NULL ? CAL_OK : CAL_BAD_ARGUMENT));
        cal_run_destroy(c.run);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_callback_may_not_do_leaves_no_trace),
        cmocka_unit_test(what_a_callback_destroys_goes_when_the_advance_returns),
        cmocka_unit_test(what_a_callback_sets_is_finite),
        cmocka_unit_test(a_world_outlives_its_own_advance),
        cmocka_unit_test(ensembles_are_not_changed_on_their_way),
        cmocka_unit_test(randomized_simulations_are_not_changed_on_their_way),
        cmocka_unit_test(runs_are_not_changed_on_their_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
