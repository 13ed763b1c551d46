// Worlds in which bodies and multibodies come and go while they run have one history: on one core with rollbacks forced, on threads, and where domains
// are given up on the way.
//
// CAL_WORLDS in the environment: how many random worlds; CAL_FIRST: from which on; CAL_FORCED: with which probability rollbacks are forced.
#include "simulation/domain/domain.h"
#include "simulation/world.h"
#include "support_history.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 4, MOST_ITEMS = 400, PHASES = 8 };

static const char* text_of(const char* name, const char* usual) {
    const char* text = getenv(name);
    return text != NULL ? text : usual;
}

static uint64_t seed;
static double between(double low, double high) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}
static int below(int count) { return (int)between(0.0, count - 1e-9); }

// What comes and goes.
typedef struct item {
    bool is_chain;
    cal_body_id body;
    cal_multibody_id chain;
} item;

// A random world: how far bodies are spread, how fast they are, how they bounce, of how many kinds of shapes; whether there are chains and callbacks.
typedef struct changed {
    cal_world* world;
    cal_machine* machine;
    const cal_model* const* chains;
    double spread, calm, bounce;
    int kinds, item_count;
    bool has_chains, calls;
    item items[MOST_ITEMS];
} changed;

static cal_model* make_chain(bool hinges, bool falls) {
    cal_builder* builder = cal_test_builder(9.81);
    for (int i = 0; i < 3; i++) {
        cal_body_def body = cal_default_body_def();
        body.parent = i == 0 ? CAL_GROUND : i - 1;
        if (i > 0) body.position[2] = -0.2;
        body.mass = 0.5 + i;
        body.center[2] = -0.1;
        body.inertia[0] = body.inertia[1] = 0.004 * body.mass, body.inertia[2] = 0.001 * body.mass;
        assert_int_equal(cal_builder_add_body(builder, &body), i);
        cal_joint_def joint = cal_default_joint_def();
        joint.kind = i > 0 ? (hinges ? CAL_REVOLUTE : CAL_BALL) : falls ? CAL_FREE : CAL_BALL;
        joint.axis[0] = 1.0, joint.axis[1] = joint.axis[2] = 0.0;
        assert_true(cal_builder_add_joint(builder, i, &joint) >= 0);
        cal_shape_def shape = cal_default_shape_def();
        shape.body = i;
        shape.kind = CAL_CAPSULE;
        shape.position[2] = -0.1;
        shape.size[0] = 0.03, shape.size[1] = 0.05;
        shape.friction = 0.4, shape.restitution = 0.3;
        assert_true(cal_builder_add_shape(builder, &shape) >= 0);
    }
    return cal_test_finish(builder);
}

static item add_chain(changed* c, double height) {
    const double at[3] = {between(-c->spread, c->spread), between(-c->spread, c->spread), height + 0.8};
    item made = {.is_chain = true};
    cal_error error = {CAL_OK, ""};
    if (cal_world_add_multibody(c->world, c->chains[below(CHAINS)], at, NULL, 1, &made.chain, &error) != CAL_OK)
        fail_msg("%s", error.text);
    return made;
}

static item add_body(changed* c, double height) {
    static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_BOX, CAL_CAPSULE, CAL_CYLINDER, CAL_ELLIPSOID};
    cal_world_body_def body = cal_default_world_body_def();
    body.position[0] = between(-c->spread, c->spread), body.position[1] = between(-c->spread, c->spread);
    body.position[2] = height;
    for (int i = 0; i < 3; i++)
        body.velocity[i] = between(-2, 2) * c->calm, body.angular_velocity[i] = between(-6, 6) * c->calm;
    body.slots = 1;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = kinds[below(c->kinds)];
    for (int i = 0; i < 3; i++) shape.size[i] = between(0.04, 0.09);
    shape.friction = between(0.0, 1.0), shape.restitution = between(0.0, c->bounce);
    item made = {0};
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_world_add_body(c->world, &body, &made.body, &error), CAL_OK);
    if (cal_world_add_shape(c->world, made.body, &shape, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    if (c->calls && below(10) == 0 && cal_world_time(c->world) == 0.0) // the first call is to come
        assert_int_equal(cal_world_on_period(c->world, &made.body, 1, 0.05, 0.11, cal_test_kick, NULL, &error), CAL_OK);
    if (c->calls && below(10) == 0)
        assert_int_equal(cal_world_on_collision(c->world, made.body, cal_test_count_hit, NULL, &error), CAL_OK);
    return made;
}

static void add(changed* c, double height) {
    assert_true(c->item_count < MOST_ITEMS);
    const bool chain = c->has_chains && below(12) == 0;
    c->items[c->item_count++] = chain ? add_chain(c, height) : add_body(c, height);
}

static void remove_some(changed* c, int count) {
    cal_error error = {CAL_OK, ""};
    for (int i = 0; i < count && c->item_count > 0; i++) {
        const int which = below(c->item_count);
        const item gone = c->items[which];
        c->items[which] = c->items[--c->item_count];
        const cal_status status = gone.is_chain ? cal_world_remove_multibody(c->world, gone.chain, &error)
                                                : cal_world_remove_body(c->world, gone.body, &error);
        if (status != CAL_OK) fail_msg("%s", error.text);
    }
}

static void add_walls(cal_world* world, double spread) {
    cal_test_add_floor(world);
    for (int i = 0; i < 4; i++) {
        cal_world_body_def wall = cal_default_world_body_def();
        wall.motion = CAL_FIXED;
        wall.position[i / 2] = (i % 2 ? 1 : -1) * (spread + 0.5);
        cal_test_add(world, &wall, CAL_BOX, i / 2 ? 3.0 : 0.2, i / 2 ? 0.2 : 3.0, 3.0);
    }
}

static void begin(changed* c, int number, int threads, double forced) {
    cal_world_def def = cal_default_world_def();
    cal_sim_def systems = cal_default_sim_def();
    cal_threads_def workers = cal_default_threads_def();
    workers.workers = threads;
    cal_error error = {CAL_OK, ""};
    if (threads > 1 && cal_machine_threads(&workers, &c->machine, &error) != CAL_OK) fail_msg("%s", error.text);
    systems.machine = c->machine;
    def.systems = &systems;
    def.separate = true;
    def.forced_rollbacks = forced;
    def.seed = (uint64_t)number + 1;
    seed = (uint64_t)number * UINT64_C(1000003) + 99;
    between(0, 1);
    if (below(4) == 0) memset(def.gravity, 0, sizeof def.gravity);
    if (below(5) == 0) def.restitution = below(2) == 0 ? 0.0 : 1.0;
    c->spread = between(0.6, 1.6);
    c->calm = below(3) == 0 ? 0.0 : 1.0;
    c->bounce = between(0, 0.9);
    c->kinds = 1 + below(5);
    c->has_chains = below(2) != 0;
    c->calls = below(3) == 0;
    const int bodies = 100 + below(80), row = (int)(c->spread / 0.15);
    c->world = cal_test_world(&def);
    add_walls(c->world, c->spread);
    for (int i = 0; i < bodies; i++) {
        const int layer = i / (row * row);
        add(c, 0.12 + 0.22 * layer);
    }
}

// Which processors have a world: threads; or domains on one core, for so many phases.
typedef struct division {
    int threads, domains, phases;
    double forced;
} division;

// False: what was added cannot be parted, as the generator's bodies may be, or a run ends with a line; which one.
static bool take(int number, const cal_model* const* chains, const division* how, cal_test_history* out,
                 cal_error* error) {
    static changed c;
    c = (changed){.chains = chains};
    *error = (cal_error){CAL_OK, ""};
    begin(&c, number, how->threads, how->forced);
    if (how->domains > 0) assert_int_equal(cal_world_divide(c.world, how->domains, 0.02, error), CAL_OK);
    cal_status status = CAL_OK;
    for (int k = 0; status == CAL_OK && k < PHASES; k++) {
        status = cal_world_advance(c.world, 0.05 * (k + 1) + 0.003 * k, error);
        if (status != CAL_OK) break;
        const int gone = below(6), come = below(6);
        remove_some(&c, gone);
        for (int i = 0; i < come; i++) add(&c, between(1.0, 2.0));
        if (how->domains > 0 && k + 1 == how->phases) { // one core goes on
            assert_int_equal(cal_world_gather(c.world, error), CAL_OK);
            cal_domains_destroy(c.world);
        }
    }
    const double end = 0.05 * (PHASES + 1) + 0.003 * PHASES;
    if (status == CAL_OK) status = cal_world_advance(c.world, end, error);
    if (status == CAL_OK) cal_test_take_history(c.world, end, out);
    cal_world_destroy(c.world);
    cal_machine_destroy(c.machine);
    return status == CAL_OK;
}

static void compare(int number, const cal_model* const* chains, const division* runs, int count) {
    static cal_test_history wanted, found;
    const division one = {.threads = 1};
    cal_error errors[2];
    const bool ends = take(number, chains, &one, &wanted, &errors[0]);
    for (int i = 0; i < count; i++) {
        char who[96];
        snprintf(who, sizeof who, "world %d, %d threads, %d domains, forced %g", number, runs[i].threads,
                 runs[i].domains, runs[i].forced);
        if (take(number, chains, &runs[i], &found, &errors[1]) != ends || strcmp(errors[0].text, errors[1].text) != 0)
            fail_msg("%s: '%s', wanted '%s'", who, errors[1].text, errors[0].text);
        if (ends) cal_test_compare_histories(&wanted, &found, who);
    }
}

static void with_chains(void (*run)(const cal_model* const* chains)) {
    cal_model* chains[CHAINS];
    for (int i = 0; i < CHAINS; i++) chains[i] = make_chain(i % 2 != 0, i / 2 != 0);
    run((const cal_model* const*)chains);
    for (int i = 0; i < CHAINS; i++) cal_model_destroy(chains[i]);
}

static void compare_random(const cal_model* const* chains) {
    const int first = atoi(text_of("CAL_FIRST", "0")),
              count = atoi(text_of("CAL_WORLDS", CAL_TEST_SANITIZED ? "1" : "3"));
    const double forced = atof(text_of("CAL_FORCED", "0.1"));
    const division runs[] = {{3, 0, 0, forced}, {1, 5, 5, forced}, {3, 0, 0, 0.0}};
    for (int i = first; i < first + count; i++) compare(i, chains, runs, (int)(sizeof runs / sizeof runs[0]));
}

// In 6 a contact group is listed twice as one that has ended, since a rollback revived it, when a member of it is removed. In 11 a body of another domain would
// have joined a group just where that has begun by a removal. In 42 a ball comes towards a box that it will pass: whether boxes about the two overlap
// depends on how far they look ahead. In 96 a body was in domains before, and goes on from where a group ended that is gone.
static void compare_rare(const cal_model* const* chains) {
    static const struct {
        int number;
        division how;
    } rare[] = {{6, {3, 0, 0, 0.3}}, {11, {3, 0, 0, 0.3}}, {42, {3, 0, 0, 0.0}}, {96, {1, 5, 4, 0.1}}};
    static cal_test_history found;
    cal_error error;
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
        if (CAL_TEST_SANITIZED) // which looks at memory, not at bits
            assert_true(take(rare[i].number, chains, &rare[i].how, &found, &error));
        else
            compare(rare[i].number, chains, &rare[i].how, 1);
}

static void what_comes_and_goes_has_one_history(void** state) {
    (void)state;
    with_chains(compare_random);
}

static void rare_changes_have_one_history(void** state) {
    (void)state;
    with_chains(compare_rare);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rare_changes_have_one_history),
                                       cmocka_unit_test(what_comes_and_goes_has_one_history)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
