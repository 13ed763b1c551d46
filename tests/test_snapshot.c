// Snapshots: what follows one has the same bits, in the simulation that it was taken of, in a fork, in another simulation, and
// out of a file; in flight, in contact and asleep, with rollbacks at random, and whatever fails for want of memory.
#include "base/hash.h"
#include "base/memory.h"
#include "place.h"
#include "support_world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- Models ---------------------------------------------------------------------------------------------------------------

static void add_floor(cal_builder* builder) {
    cal_shape_def floor = cal_default_shape_def();
    floor.kind = CAL_PLANE;
    floor.friction = 0.6, floor.restitution = 0.1;
    cal_builder_add_shape(builder, &floor);
}

static int add_free(cal_builder* builder, const double at[3], const double half[3], double mass) {
    cal_body_def def = cal_default_body_def();
    def.mass = mass;
    memcpy(def.position, at, sizeof def.position);
    for (int i = 0; i < 3; i++) {
        const double a = half[(i + 1) % 3], b = half[(i + 2) % 3];
        def.inertia[i] = mass * (a * a + b * b) / 3.0;
    }
    const int body = cal_builder_add_body(builder, &def);
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = CAL_FREE;
    joint.initial_v[3] = 0.3, joint.initial_v[4] = -0.2;
    cal_builder_add_joint(builder, body, &joint);
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body, shape.kind = CAL_BOX, shape.friction = 0.6, shape.restitution = 0.1;
    memcpy(shape.size, half, sizeof shape.size);
    cal_builder_add_shape(builder, &shape);
    return body;
}

// Boxes that fall onto a floor and each other.
static cal_model* make_pile(double mass) {
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    add_floor(builder);
    for (int i = 0; i < 6; i++) {
        const double at[3] = {0.03 * (i % 2), 0.02 * (i % 3), 0.15 + 0.28 * i}, half[3] = {0.1, 0.12, 0.11};
        add_free(builder, at, half, mass);
    }
    return cal_test_finish(builder);
}

// A rod on a hinge of a base, and another one; their ends are held together: a triangle that lands on its feet.
static cal_model* make_triangle(void) {
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    add_floor(builder);
    const double at[3] = {0.0, 0.0, 0.6}, half[3] = {0.2, 0.1, 0.03};
    const int base = add_free(builder, at, half, 3.0);
    int rods[2];
    for (int side = 0; side < 2; side++) {
        const double sign = side == 0 ? 1.0 : -1.0;
        cal_body_def rod = cal_default_body_def();
        rod.parent = base, rod.mass = 0.5;
        rod.position[0] = sign * 0.15;
        rod.center[0] = -sign * 0.075, rod.center[2] = -0.1;
        for (int i = 0; i < 3; i++) rod.inertia[i] = 0.005;
        rods[side] = cal_builder_add_body(builder, &rod);
        for (int k = 0; k < 2; k++) { // two hinges each: the loop leaves some freedom
            cal_joint_def hinge = cal_default_joint_def();
            hinge.axis[2] = 0.0, hinge.axis[k] = 1.0;
            hinge.stiffness = 20.0, hinge.damping = 0.2;
            cal_builder_add_joint(builder, rods[side], &hinge);
        }
        cal_actuator_def motor = cal_default_actuator_def();
        motor.joint = 1 + 2 * side;
        cal_builder_add_actuator(builder, &motor);
    }
    cal_constraint_def loop = cal_default_constraint_def();
    loop.kind = CAL_LOOP_BALL, loop.body[0] = rods[0], loop.body[1] = rods[1];
    for (int i = 0; i < 2; i++) loop.position[i][0] = i == 0 ? -0.15 : 0.15, loop.position[i][2] = -0.2;
    cal_builder_add_constraint(builder, &loop);
    cal_shape_def foot = cal_default_shape_def();
    foot.body = rods[0], foot.size[0] = 0.04, foot.friction = 0.5;
    foot.position[0] = -0.15, foot.position[2] = -0.2;
    cal_builder_add_shape(builder, &foot);
    return cal_test_finish(builder);
}

// --- Simulations ------------------------------------------------------------------------------------------------------------

static cal_sim* make(const cal_model* model, const cal_world_def* events) {
    cal_sim_def def = cal_default_sim_def();
    def.events = events;
    return cal_test_create_sim(model, &def);
}

static cal_snapshot* take(cal_sim* sim) {
    cal_error error = {CAL_OK, ""};
    cal_snapshot* snapshot = NULL;
    if (cal_sim_snapshot(sim, &snapshot, &error) != CAL_OK) fail_msg("%s", error.text);
    return snapshot;
}

static void restore(cal_sim* sim, const cal_snapshot* snapshot) {
    cal_error error = {CAL_OK, ""};
    if (cal_sim_restore(sim, snapshot, &error) != CAL_OK) fail_msg("%s", error.text);
}

// Hashes at several times on the way, and what the world counted: all of it is to be the same.
typedef struct trace {
    uint64_t hash[4];
    int64_t counts[6];
} trace;

static trace follow(cal_sim* sim, double from, double to) {
    trace t = {0};
    for (int i = 0; i < 4; i++) {
        cal_test_advance_sim(sim, from + (to - from) * (i + 1) / 4.0);
        t.hash[i] = cal_sim_hash(sim);
    }
    if (cal_sim_world(sim) == NULL) return t;
    cal_world_report r;
    cal_world_get_report(cal_sim_world(sim), &r);
    const int64_t counts[6] = {r.collisions, r.fusions, r.fissions, r.rollbacks, r.forced, r.group_steps};
    memcpy(t.counts, counts, sizeof counts);
    return t;
}

static void expect_same(const trace* a, const trace* b, const char* what, double from) {
    for (int i = 0; i < 4; i++)
        if (a->hash[i] != b->hash[i]) fail_msg("%s from %g s: another state at time %d", what, from, i);
    for (int i = 0; i < 6; i++)
        if (a->counts[i] != b->counts[i])
            fail_msg("%s from %g s: count %d is %lld, not %lld", what, from, i, (long long)b->counts[i],
                     (long long)a->counts[i]);
}

// A run that is never disturbed; then one with a snapshot on its way, and all that can follow it.
static void try_all(const cal_model* model, const cal_world_def* events, double from, double to) {
    cal_error error = {CAL_OK, ""};
    cal_sim *plain = make(model, events), *sim = make(model, events), *other = make(model, events), *fork = NULL;
    cal_test_advance_sim(plain, from);
    const trace expected = follow(plain, from, to);
    cal_test_advance_sim(sim, from);
    cal_snapshot* snapshot = take(sim);
    char path[CAL_TEST_PATH];
    cal_test_path(path, "run.checkpoint");
    if (cal_sim_save(sim, path, &error) != CAL_OK) fail_msg("%s", error.text);
    if (cal_sim_fork(sim, &fork, &error) != CAL_OK) fail_msg("%s", error.text);
    trace got = follow(sim, from, to);
    expect_same(&expected, &got, "going on", from);
    got = follow(fork, from, to);
    expect_same(&expected, &got, "a fork", from);
    restore(sim, snapshot);
    assert_true(cal_sim_time(sim) == from);
    got = follow(sim, from, to);
    expect_same(&expected, &got, "restored", from);
    cal_test_advance_sim(other, 0.37 * to); // somewhere else
    restore(other, snapshot);
    got = follow(other, from, to);
    expect_same(&expected, &got, "restored elsewhere", from);
    cal_sim_destroy(other);
    other = make(model, events);
    if (cal_sim_load(other, path, &error) != CAL_OK) fail_msg("%s", error.text);
    got = follow(other, from, to);
    expect_same(&expected, &got, "loaded", from);
    unlink(path);
    cal_snapshot_destroy(snapshot);
    cal_sim_destroy(plain);
    cal_sim_destroy(sim);
    cal_sim_destroy(other);
    cal_sim_destroy(fork);
}

static cal_world_def with_rollbacks(void) {
    cal_world_def def = cal_default_world_def();
    def.separate = true;
    def.forced_rollbacks = 0.2;
    def.seed = 7;
    return def;
}

// --- Tests --------------------------------------------------------------------------------------------------------------------

static void test_pile(void** state) {
    (void)state;
    cal_model* model = make_pile(1.0);
    const cal_world_def forced = with_rollbacks();
    const double times[] = {0.0, 0.05, 0.2, 0.4, 1.0}; // in flight, at impacts, in contact
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) try_all(model, NULL, times[i], times[i] + 0.4);
    try_all(model, &forced, 0.2, 0.5);
    try_all(model, &forced, 0.45, 0.7);
    cal_model_destroy(model);
}

static void test_every_loop(void** state) {
    (void)state;
    cal_model* model = make_pile(1.0);
    for (int loop = 0; loop < 3; loop++) {
        cal_world_def def = cal_default_world_def();
        def.loop = (cal_world_loop)loop;
        try_all(model, &def, 0.3, 0.7);
    }
    cal_model_destroy(model);
}

static void test_asleep(void** state) {
    (void)state;
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    add_floor(builder);
    const double low[3] = {0.0, 0.0, 0.12}, high[3] = {0.02, 0.0, 25.0}, half[3] = {0.1, 0.1, 0.1};
    add_free(builder, low, half, 1.0);
    add_free(builder, high, half, 1.0);
    cal_model* model = cal_test_finish(builder);
    cal_sim* sim = make(model, NULL);
    cal_test_advance_sim(sim, 2.0);
    assert_true(cal_world_is_asleep(cal_sim_world(sim), cal_world_body(cal_sim_world(sim), 1)));
    cal_sim_destroy(sim);
    try_all(model, NULL, 2.0, 3.0); // the other one lands on it at about 2.25 s
    cal_model_destroy(model);
}

static void test_humanoid(void** state) {
    (void)state;
    cal_model* model = cal_test_model("humanoid");
    const cal_world_def forced = with_rollbacks();
    // A sanitizer watches the first contacts.
    try_all(model, NULL, 0.05, CAL_TEST_SANITIZED ? 0.07 : 0.2);
    if (!CAL_TEST_SANITIZED) {
        try_all(model, NULL, 0.4, 0.5);
        try_all(model, &forced, 0.25, 0.32);
    }
    cal_model_destroy(model);
}

static void test_loops(void** state) {
    (void)state;
    cal_model* model = make_triangle();
    const cal_world_def forced = with_rollbacks();
    try_all(model, NULL, 0.1, 0.4);
    try_all(model, NULL, 0.5, 0.65);
    try_all(model, &forced, 0.3, 0.4);
    cal_model_destroy(model);
}

static void test_without_events(void** state) {
    (void)state;
    cal_model* model = cal_test_model("mobile:h=3,l=5,o=9,plateau=printed,start=0.8");
    const char* const solvers[] = {"gear", "rkf", "rk4"};
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        cal_error error = {CAL_OK, ""};
        cal_sim_def def = cal_default_sim_def();
        cal_sim *sim = NULL, *fork = NULL;
        def.solver = solvers[i];
        sim = cal_test_create_sim(model, &def);
        cal_test_advance_sim(sim, 0.33);
        cal_snapshot* snapshot = take(sim);
        if (cal_sim_fork(sim, &fork, &error) != CAL_OK) fail_msg("%s", error.text);
        const trace expected = follow(sim, 0.33, 0.9);
        trace got = follow(fork, 0.33, 0.9);
        expect_same(&expected, &got, "a fork", 0.33);
        restore(sim, snapshot);
        got = follow(sim, 0.33, 0.9);
        expect_same(&expected, &got, "restored", 0.33);
        cal_snapshot_destroy(snapshot);
        cal_sim_destroy(sim);
        cal_sim_destroy(fork);
    }
    cal_model_destroy(model);
}

// What the user set goes along: forces, controls, who is connected; also after another state was set.
static void test_what_was_set(void** state) {
    (void)state;
    cal_model* model = make_triangle();
    cal_error error = {CAL_OK, ""};
    cal_sim *sim = make(model, NULL), *other = make(model, NULL), *fork = NULL;
    const double control[2] = {0.5, -0.2}, force[3] = {4.0, 0.0, 30.0}, none[3] = {0};
    double* q = calloc((size_t)cal_model_q_count(model), sizeof *q);
    memcpy(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q);
    q[0] += 40.0; // far away
    if (cal_sim_set(sim, 1.0, q, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    free(q);
    cal_test_advance_sim(sim, 1.1);
    assert_int_equal(cal_sim_drive(sim, NULL, control, &error), CAL_OK);
    assert_int_equal(cal_sim_push(sim, 0, force, none, none), CAL_OK);
    assert_int_equal(cal_sim_disconnect(sim, 0, &error), CAL_OK);
    cal_test_advance_sim(sim, 1.3);
    cal_snapshot* snapshot = take(sim);
    if (cal_sim_fork(sim, &fork, &error) != CAL_OK) fail_msg("%s", error.text);
    restore(other, snapshot);
    assert_false(cal_sim_connected(other, 0));
    cal_sim* const all[] = {sim, fork, other};
    trace traces[3];
    for (int i = 0; i < 3; i++) traces[i] = follow(all[i], 1.3, 1.7);
    for (int i = 1; i < 3; i++) expect_same(&traces[0], &traces[i], "what was set", 1.3);
    // They go on by themselves: letting go in one changes nothing in the others.
    assert_int_equal(cal_sim_release(sim), CAL_OK);
    for (int i = 0; i < 3; i++) traces[i] = follow(all[i], 1.7, 1.9);
    expect_same(&traces[1], &traces[2], "without release", 1.7);
    assert_true(traces[0].hash[3] != traces[1].hash[3]);
    restore(sim, snapshot);
    traces[0] = follow(sim, 1.3, 1.9);
    assert_true(traces[0].hash[3] == traces[1].hash[3]);
    cal_snapshot_destroy(snapshot);
    for (int i = 0; i < 3; i++) cal_sim_destroy(all[i]);
    cal_model_destroy(model);
}

// What a simulation has computed ahead, from another state of the same number, is no part of a snapshot that it is restored to: a fork begins at the model's
// start, and has looked ahead from there.
static void test_nothing_of_another_run(void** state) {
    (void)state;
    cal_builder* builder = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    add_floor(builder);
    cal_constraint_def loop = cal_default_constraint_def();
    loop.kind = CAL_LOOP_BALL;
    for (int i = 0; i < 2; i++) {
        const double at[3] = {0.4 * i, 0.0, 3.0}, half[3] = {0.1, 0.12, 0.11};
        loop.body[i] = add_free(builder, at, half, 1.0);
        loop.position[i][0] = i == 0 ? 0.2 : -0.2;
    }
    cal_builder_add_constraint(builder, &loop);
    cal_model* model = cal_test_finish(builder);
    cal_sim* sim = make(model, NULL);
    double v[12];
    for (int i = 0; i < 12; i++) v[i] = -0.7 * cal_sim_v(sim)[i];
    assert_int_equal(cal_sim_set(sim, 0.5, NULL, v, &error), CAL_OK);
    for (int i = 1; i <= 20; i++) {
        const double time = 0.5 + 0.01 * i;
        cal_sim* fork = NULL;
        cal_test_advance_sim(sim, time);
        if (cal_sim_fork(sim, &fork, &error) != CAL_OK) fail_msg("%s", error.text);
        const trace expected = follow(sim, time, time + 0.008), got = follow(fork, time, time + 0.008);
        expect_same(&expected, &got, "a fork", time);
        cal_sim_destroy(fork);
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Numbers that were in use are so in a fork, too: what comes next has the same id in both, and the id of what is gone is nobody's.
static void test_numbers_in_use(void** state) {
    (void)state;
    cal_model* model = make_triangle();
    cal_error error = {CAL_OK, ""};
    cal_sim *sim = make(model, NULL), *fork = NULL;
    cal_test_advance_sim(sim, 0.1);
    cal_world_body_def def = cal_default_world_body_def();
    def.position[0] = 50.0, def.position[2] = 5.0;
    const cal_body_id gone = cal_test_add(cal_sim_world(sim), &def, CAL_SPHERE, 0.1, 0.0, 0.0);
    cal_test_advance_sim(sim, 0.2);
    assert_int_equal(cal_world_remove_body(cal_sim_world(sim), gone, &error), CAL_OK);
    if (cal_sim_fork(sim, &fork, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_world* const worlds[] = {cal_sim_world(sim), cal_sim_world(fork)};
    assert_int_equal(cal_world_body_count(worlds[1]), cal_world_body_count(worlds[0]));
    cal_body_id next[2];
    for (int i = 0; i < 2; i++) {
        next[i] = cal_test_add(worlds[i], &def, CAL_SPHERE, 0.1, 0.0, 0.0);
        assert_int_equal(cal_world_get_body(worlds[i], gone, NULL, NULL, NULL, NULL), CAL_BAD_ARGUMENT);
    }
    assert_memory_equal(&next[0], &next[1], sizeof next[0]);
    const trace expected = follow(sim, 0.2, 0.6), got = follow(fork, 0.2, 0.6);
    expect_same(&expected, &got, "a fork to which a body comes", 0.2);
    cal_sim_destroy(sim);
    cal_sim_destroy(fork);
    cal_model_destroy(model);
}

// A scene that was made by hand, with callbacks and driven bodies: back in the same simulation.
static void try_scene(const char* specification) {
    cal_error error = {CAL_OK, ""};
    cal_sim *sim = NULL, *fork = NULL;
    cal_world* world = cal_test_scene(specification, NULL);
    if (cal_sim_of_world(world, &sim, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_test_advance_sim(sim, 0.6);
    cal_snapshot* snapshot = take(sim);
    const trace expected = follow(sim, 0.6, 1.2);
    restore(sim, snapshot);
    trace got = follow(sim, 0.6, 1.2);
    expect_same(&expected, &got, "a scene", 0.6);
    assert_int_equal(cal_sim_fork(sim, &fork, &error), CAL_NOT_AVAILABLE);
    assert_null(fork);
    assert_true(strlen(error.text) > 0);
    cal_snapshot_destroy(snapshot);
    cal_sim_destroy(sim);
}

static void test_scenes(void** state) {
    (void)state;
    try_scene("avalanche:n=60");
    try_scene("robots:n=2");
    try_scene("cars:cars=1,rows=2");
}

// Collisions that nobody has taken yet are part of the state.
static void test_events_are_kept(void** state) {
    (void)state;
    cal_model* model = make_pile(1.0);
    cal_sim* sim = make(model, NULL);
    cal_world_keep_events(cal_sim_world(sim), true);
    cal_test_advance_sim(sim, 0.5);
    cal_snapshot* snapshot = take(sim);
    double times[2][400];
    int counts[2] = {0};
    for (int run = 0; run < 2; run++) {
        if (run == 1) restore(sim, snapshot);
        cal_test_advance_sim(sim, 0.7);
        cal_world_event event;
        while (counts[run] < 400 && cal_world_next_event(cal_sim_world(sim), &event))
            times[run][counts[run]++] = event.time;
    }
    assert_true(counts[0] > 0 && times[0][0] < 0.5);
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(times[0], times[1], (size_t)counts[0] * sizeof times[0][0]);
    cal_snapshot_destroy(snapshot);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Snapshots of something else are refused, with what differs, and change nothing.
static void test_refused(void** state) {
    (void)state;
    cal_model *model = make_pile(1.0), *heavier = make_pile(1.5), *another = make_triangle();
    cal_model* mobile = cal_test_model("mobile:h=3,l=5,o=9,plateau=printed,start=0.8");
    cal_world_def coarse = cal_default_world_def();
    coarse.group_tolerance = 1e-3;
    cal_sim *sim = make(model, NULL), *heavy = make(heavier, NULL), *other = make(another, NULL),
            *flying = make(mobile, NULL), *loose = make(model, &coarse);
    cal_test_advance_sim(sim, 0.3);
    cal_snapshot* snapshot = take(sim);
    const struct {
        cal_sim* sim;
        const char* text;
    } tries[] = {{heavy, "other masses"}, {other, "another model"}, {flying, "with events"}, {loose, "definition"}};
    char path[CAL_TEST_PATH];
    cal_error error = {CAL_OK, ""};
    cal_test_path(path, "run.checkpoint");
    assert_int_equal(cal_sim_save(sim, path, &error), CAL_OK);
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        const uint64_t before = cal_sim_hash(tries[i].sim);
        assert_int_equal(cal_sim_restore(tries[i].sim, snapshot, &error), CAL_BAD_ARGUMENT);
        if (strstr(error.text, tries[i].text) == NULL) fail_msg("%s", error.text);
        assert_int_equal(cal_sim_load(tries[i].sim, path, &error), CAL_BAD_ARGUMENT);
        if (strstr(error.text, tries[i].text) == NULL || strstr(error.text, "run.checkpoint") == NULL)
            fail_msg("%s", error.text);
        assert_true(cal_sim_hash(tries[i].sim) == before);
        cal_test_advance_sim(tries[i].sim, 0.1);
    }
    assert_int_equal(cal_sim_save(flying, path, &error), CAL_OK);
    assert_int_equal(cal_sim_load(sim, path, &error), CAL_BAD_ARGUMENT);
    if (strstr(error.text, "without events") == NULL) fail_msg("%s", error.text);
    unlink(path);
    cal_snapshot_destroy(snapshot);
    cal_sim* const sims[] = {sim, heavy, other, flying, loose};
    for (size_t i = 0; i < sizeof sims / sizeof sims[0]; i++) cal_sim_destroy(sims[i]);
    cal_model* const models[] = {model, heavier, another, mobile};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) cal_model_destroy(models[i]);
}

// Every allocation fails once in turn: an error says so, nothing is lost, and nothing has changed.
static void test_without_memory(void** state) {
    (void)state;
    cal_model *pile = make_pile(1.0), *triangle = make_triangle(),
              *mobile = cal_test_model("mobile:h=3,l=5,o=9,plateau=printed,start=0.8");
    const cal_model* const models[] = {pile, triangle, mobile};
    for (int which = 0; which < 3; which++) {
        cal_sim* sim = make(models[which], NULL);
        cal_test_advance_sim(sim, 0.5);
        cal_snapshot* first = take(sim);
        cal_test_advance_sim(sim, 0.6);
        const uint64_t later = cal_sim_hash(sim);
        for (int what = 0; what < 3; what++) {
            cal_status status = CAL_NO_MEMORY;
            for (int64_t after = 0; status != CAL_OK; after += after < 200 ? 1 : 17) {
                cal_error error = {CAL_OK, ""};
                cal_snapshot* snapshot = NULL;
                cal_sim* fork = NULL;
                const int64_t live = cal_live_allocations();
                cal_fail_allocation(after);
                status = what == 0   ? cal_sim_snapshot(sim, &snapshot, &error)
                         : what == 1 ? cal_sim_fork(sim, &fork, &error)
                                     : cal_sim_restore(sim, first, &error);
                cal_fail_allocation(-1);
                if (status == CAL_OK) {
                    cal_snapshot_destroy(snapshot);
                    cal_sim_destroy(fork);
                    break;
                }
                if (status != CAL_NO_MEMORY || strlen(error.text) == 0)
                    fail_msg("%d %d after %d: %s", which, what, (int)after, error.text);
                if (cal_live_allocations() != live) fail_msg("%d %d after %d: lost", which, what, (int)after);
                if (cal_sim_hash(sim) != later) fail_msg("%d %d after %d: it changed", which, what, (int)after);
            }
        }
        assert_true(cal_sim_time(sim) == 0.5);
        cal_test_advance_sim(sim, 0.6);
        assert_true(cal_sim_hash(sim) == later);
        cal_snapshot_destroy(first);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(pile);
    cal_model_destroy(triangle);
    cal_model_destroy(mobile);
}

// What has its numbers in other places, as before the last format, says so, though sizes and the checksum fit.
static void expect_other_format(cal_sim* sim, char* copy, size_t size) {
    cal_error error = {CAL_OK, ""};
    cal_snapshot* older = NULL;
    char* text = copy + 2 * sizeof(uint64_t);
    char* format = strstr(text, ", format ");
    assert_non_null(format);
    memset(format, 0, strlen(format));
    const uint64_t hash = cal_hash_words(CAL_HASH_START, copy, size / sizeof(uint64_t) - 1);
    memcpy(copy + size - sizeof hash, &hash, sizeof hash);
    assert_int_equal(cal_snapshot_from_bytes(copy, size, &older, &error), CAL_OK);
    assert_int_equal(cal_sim_restore(sim, older, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, ", format "));
    cal_snapshot_destroy(older);
}

// Bytes go to another process and come back as a snapshot; one bit that differs is noticed.
static void test_as_bytes(void** unused) {
    (void)unused;
    cal_error error = {CAL_OK, ""};
    cal_model* model = NULL;
    cal_sim *sim = NULL, *other = NULL;
    cal_snapshot *kept = NULL, *again = NULL;
    const cal_sim_def def = cal_default_sim_def();
    assert_int_equal(cal_model_generate("mobile:s=2,l=3,o=4", &model, &error), CAL_OK);
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_OK);
    assert_int_equal(cal_sim_create(model, &def, &other, &error), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, 0.2, &error), CAL_OK);
    assert_int_equal(cal_sim_snapshot(sim, &kept, &error), CAL_OK);
    size_t size = 0;
    const void* bytes = cal_snapshot_bytes(kept, &size);
    char* copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    assert_int_equal(cal_snapshot_from_bytes(copy, size, &again, &error), CAL_OK);
    for (size_t at = 0; at < size; at += 61) {
        cal_snapshot* damaged = NULL;
        copy[at] ^= 4;
        assert_int_equal(cal_snapshot_from_bytes(copy, size, &damaged, &error), CAL_BAD_ARGUMENT);
        assert_null(damaged);
        copy[at] ^= 4;
    }
    expect_other_format(other, copy, size);
    free(copy);
    assert_int_equal(cal_sim_advance(sim, 0.4, &error), CAL_OK);
    assert_int_equal(cal_sim_restore(other, again, &error), CAL_OK);
    assert_int_equal(cal_sim_advance(other, 0.4, &error), CAL_OK);
    assert_true(cal_sim_hash(other) == cal_sim_hash(sim));
    cal_snapshot_destroy(kept);
    cal_snapshot_destroy(again);
    cal_sim_destroy(sim);
    cal_sim_destroy(other);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_bytes),
        cmocka_unit_test(test_pile),
        cmocka_unit_test(test_every_loop),
        cmocka_unit_test(test_asleep),
        cmocka_unit_test(test_humanoid),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_without_events),
        cmocka_unit_test(test_what_was_set),
        cmocka_unit_test(test_nothing_of_another_run),
        cmocka_unit_test(test_numbers_in_use),
        cmocka_unit_test(test_scenes),
        cmocka_unit_test(test_events_are_kept),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
