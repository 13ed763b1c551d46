// A world has one history, however it is divided: random worlds and all scenes, for any number of domains and threads, any length of
// windows, with rollbacks forced on top.
//
// CAL_WORLDS in the environment: how many random worlds; CAL_FIRST: from which on; CAL_RUNS: how many random divisions of each, on top of those
// that are listed.
#include "calder/calder_read.h"
#include "simulation/domain/domain.h"
#include "simulation/world.h"
#include "support_history.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number_of(const char* name, int usual) {
    const char* text = getenv(name);
    return text != NULL ? atoi(text) : usual;
}

static void divide(cal_world* world, int domains, double window) {
    cal_error error = {CAL_OK, ""};
    if (cal_world_divide(world, domains, window, &error) != CAL_OK) fail_msg("%s", error.text);
}

typedef struct division {
    int domains;
    double window, forced;
} division;

static division random_division(uint64_t* seed) {
    static const double odds[] = {0.0, 0.0, 0.1, 0.3};
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const unsigned int random = (unsigned int)(*seed >> 33);
    return (division){2 + (int)(random % 6), 0.002 * pow(1.4, (double)(random / 6 % 12)), odds[random / 72 % 4]};
}

static void random_worlds_have_one_history(void** state) {
    (void)state;
    static const division runs[] = {{1, 0.01, 0.0}, {2, 0.003, 0.0}, {3, 0.02, 0.0}, {5, 0.1, 0.0}, {4, 0.013, 0.1}};
    const size_t listed = sizeof runs / sizeof runs[0], more = (size_t)number_of("CAL_RUNS", 0);
    static cal_test_history wanted, found;
    const int count = number_of("CAL_WORLDS", CAL_TEST_SANITIZED ? 3 : 16), first = number_of("CAL_FIRST", 0);
    for (int i = first; i < first + count; i++) {
        cal_test_made m = cal_test_random_world(i, 0.0, 0);
        cal_test_take_history(m.world, 0.7, &wanted);
        cal_test_destroy_made(&m);
        uint64_t seed = (uint64_t)i;
        for (size_t run = 0; run < listed + more; run++) {
            const division how = run < listed ? runs[run] : random_division(&seed);
            char who[96];
            snprintf(who, sizeof who, "world %d, %d domains, windows of %g s, forced %g, run %d", i, how.domains,
                     how.window, how.forced, (int)run);
            m = cal_test_random_world(i, how.forced, run + 1);
            divide(m.world, how.domains, how.window);
            cal_test_take_history(m.world, 0.7, &found);
            cal_test_destroy_made(&m);
            cal_test_compare_histories(&wanted, &found, who);
        }
    }
}

// Random worlds in which something happens that is rare. In 33 a body beside a group leaves its domain when its box is about to end, and the
// search for their collision waits for the next one. In 54 a group goes back to a state before its window, beside a group that began
// after that state and before the window: the second one stays. With long windows a place of a group is used again there while a state of a body
// still names the first one. In 89 a multibody meets a body of another domain later than it has been
// computed: its new states are its own domain's. In 27 a group that decides again takes a free body back to a later time than that for which
// its neighbour is just being settled. In 915 a decision of a group is followed by a collision in the same interval; in 39 another domain asks where a
// member was before such a collision. In 981 bodies that were in one group leave their domain, of which one still names that group. In
// 1692 a group goes to a domain that has not come as far as the group has decided. In 5044 a body that has flown through a window until it joins a
// group goes another way from there.
static void rare_worlds_have_one_history(void** state) {
    (void)state;
    static const struct {
        int world;
        uint64_t seed;
        int domains;
        double window, forced;
    } runs[] = {{54, 2, 4, 0.013, 0.1},       {54, 8, 4, 0.013, 0.1},   {89, 1, 2, 0.003, 0.0},
                {33, 10, 6, 0.007, 0.3},      {54, 1, 5, 0.1, 0.3},     {27, 4, 5, 0.1, 0.0},
                {915, 21, 5, 0.0210827, 0.1}, {39, 15, 3, 0.0028, 0.3}, {981, 7, 6, 0.00392, 0.0}};
    static cal_test_history wanted, found;
    for (size_t run = 0; run < sizeof runs / sizeof runs[0]; run++) {
        cal_test_made m = cal_test_random_world(runs[run].world, 0.0, 0);
        cal_test_take_history(m.world, 0.7, &wanted);
        cal_test_destroy_made(&m);
        m = cal_test_random_world(runs[run].world, runs[run].forced, runs[run].seed);
        divide(m.world, runs[run].domains, runs[run].window);
        cal_test_take_history(m.world, 0.7, &found);
        cal_test_destroy_made(&m);
        char who[32];
        snprintf(who, sizeof who, "world %d", runs[run].world);
        cal_test_compare_histories(&wanted, &found, who);
    }
}

#ifdef CALDER_HAVE_EXPAT
static cal_sim* make_chain_on_box(cal_model** model) {
    cal_error error = {CAL_OK, ""};
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    if (cal_model_read(CALDER_TEST_MODELS "/chain_on_box.xml", NULL, model, NULL, &error) != CAL_OK ||
        cal_sim_create(*model, &def, &sim, &error) != CAL_OK)
        fail_msg("%s", error.text);
    cal_world_keep_events(cal_sim_world(sim), true);
    return sim;
}

// A group begins anew inside of a step, and then once more earlier in that step, where links of a chain and a ball of another domain come to it. What was hit
// in the step before that has happened, and stays written down.
static void what_came_before_a_group_begins_anew_stays(void** state) {
    (void)state;
    static cal_test_history histories[2];
    for (int run = 0; run < 2; run++) {
        cal_model* model = NULL;
        cal_sim* sim = make_chain_on_box(&model);
        if (run > 0) divide(cal_sim_world(sim), 2, 0.0512578);
        cal_test_take_history(cal_sim_world(sim), 0.502533, &histories[run]);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
    cal_test_compare_histories(&histories[0], &histories[1], "a chain on a box");
}

// What a group has of a chain is there as long as the chain, also where the domain is not in which they met.
static void a_group_with_a_chain_outlives_domains(void** state) {
    (void)state;
    static cal_test_history histories[2];
    for (int run = 0; run < 2; run++) {
        cal_model* model = NULL;
        cal_sim* sim = make_chain_on_box(&model);
        cal_world* world = cal_sim_world(sim);
        for (int k = 0; k < 10; k++) {
            if (run > 0) divide(world, 2 + k % 2, 0.05);
            cal_test_take_history(world, 0.06 * (k + 1), &histories[run]);
        }
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
    cal_test_compare_histories(&histories[0], &histories[1], "a chain on a box");
}
#endif

// A scene on a machine; NULL: one core.
static cal_world* make_scene(const char* scene, cal_machine* machine) {
    cal_world_def def = cal_default_world_def();
    cal_sim_def systems = cal_default_sim_def();
    systems.machine = machine;
    def.separate = true;
    def.systems = &systems;
    return cal_test_scene(scene, &def);
}

static cal_machine* make_threads(int workers) {
    cal_threads_def def = cal_default_threads_def();
    def.workers = workers;
    cal_machine* machine = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_machine_threads(&def, &machine, &error) != CAL_OK) fail_msg("%s", error.text);
    return machine;
}

// Gases in windows that are long for them: bodies go back to where others were earlier in the window, in their own domain and in another one.
static void gases_that_go_back_have_one_history(void** state) {
    (void)state;
    // With 300 atoms the divider is driven, and has boxes in all domains.
    static const struct {
        const char* scene;
        int domains;
        double window, forced;
    } runs[] = {{"atoms:n=300", 4, 0.2, 0.0}, {"atoms:n=300", 7, 0.5, 0.0},  {"atoms:n=300", 3, 0.3, 0.1},
                {"atoms:n=300", 5, 0.1, 0.0}, {"atoms:n=301", 5, 0.15, 0.0}, {"atoms:n=301", 6, 0.4, 0.3},
                {"atoms:n=700", 9, 0.25, 0.0}};
    static cal_test_history wanted, found;
    for (size_t run = 0; run < sizeof runs / sizeof runs[0]; run++) {
        const double time = CAL_TEST_SANITIZED ? 0.3 : 1.5;
        cal_world_def def = cal_default_world_def();
        cal_world* world = cal_test_scene(runs[run].scene, &def);
        cal_test_take_history(world, time, &wanted);
        cal_world_destroy(world);
        def.forced_rollbacks = runs[run].forced;
        world = cal_test_scene(runs[run].scene, &def);
        divide(world, runs[run].domains, runs[run].window);
        cal_test_take_history(world, time, &found);
        cal_world_destroy(world);
        char who[64];
        snprintf(who, sizeof who, "%s in %d domains", runs[run].scene, runs[run].domains);
        cal_test_compare_histories(&wanted, &found, who);
    }
}

static void scenes_have_one_history(void** state) {
    (void)state;
    static const struct {
        const char* scene;
        double time;
    } runs[] = {{"atoms:n=60", 1.0},         {"avalanche:n=150", 1.3},     {"cars:cars=1,rows=2", 0.5},
                {"robots:n=2,boxes=2", 1.0}, {"stack:kind=wall,n=3", 0.7}, {"stack:kind=dominoes,n=5", 0.7}};
    static cal_test_history wanted, found;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        for (int run = 0; run < 4; run++) {
            cal_machine* machine = run > 0 ? make_threads(4 - run) : NULL;
            cal_world* world = make_scene(runs[i].scene, machine);
            char who[96];
            snprintf(who, sizeof who, "%s, %d domains", runs[i].scene, 2 * run);
            if (run > 0) divide(world, 2 * run, run == 1 ? 0.0 : 0.003 * run * run);
            const double time = CAL_TEST_SANITIZED ? 0.3 * runs[i].time : runs[i].time;
            cal_test_take_history(world, time, run == 0 ? &wanted : &found);
            cal_world_destroy(world);
            cal_machine_destroy(machine);
            if (run > 0) cal_test_compare_histories(&wanted, &found, who);
        }
}

// Boxes that are elastic and lie on each other, of which some are hit: who rests on a group joins it, also one of another domain.
static void elastic_piles_have_one_history(void** state) {
    (void)state;
    enum { FOOT = 6, ROWS = 4 };
    static const division runs[] = {{1, 0.01, 0.0}, {2, 0.003, 0.0}, {4, 0.02, 0.0}, {6, 0.05, 0.0}, {5, 0.01, 0.1}};
    static cal_test_history wanted, found;
    for (size_t run = 0; run < sizeof runs / sizeof runs[0]; run++) {
        cal_world_def def = cal_default_world_def();
        def.restitution = 1.0, def.friction = 0.5, def.forced_rollbacks = runs[run].forced;
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        cal_test_add_wall(world, FOOT, ROWS);
        cal_world_body_def ball = cal_default_world_body_def();
        ball.position[0] = 0.3, ball.position[2] = 0.9, ball.velocity[2] = -1.0;
        cal_test_add(world, &ball, CAL_SPHERE, 0.05, 0.0, 0.0);
        if (run > 0) divide(world, runs[run].domains, runs[run].window);
        cal_test_take_history(world, 0.06, run == 0 ? &wanted : &found);
        cal_world_destroy(world);
        char who[64];
        snprintf(who, sizeof who, "an elastic pile in %d domains", runs[run].domains);
        if (run > 0) cal_test_compare_histories(&wanted, &found, who);
    }
}

// A gas that is large enough is divided without being asked to; what is added, pushed and removed while it runs changes it as it changes
// one on one core.
static void a_divided_world_is_changed_like_others(void** state) {
    (void)state;
    static cal_test_history histories[2];
    for (int run = 0; run < 2; run++) {
        cal_machine* machine = run > 0 ? make_threads(3) : NULL;
        cal_world* world = make_scene("atoms:n=200", machine);
        cal_error error = {CAL_OK, ""};
        cal_world_keep_events(world, true);
        assert_int_equal(cal_world_advance(world, 0.2, &error), CAL_OK);
        assert_int_equal(world->domains != NULL && world->domains->divided, run > 0);
        cal_world_body_def def = cal_default_world_body_def();
        def.velocity[0] = 3.0;
        def.position[0] = 0.4;
        cal_body_id ball = cal_test_add(world, &def, CAL_SPHERE, 0.02, 0.0, 0.0);
        const double force[3] = {100.0, 0.0, 0.0}, zero[3] = {0.0, 0.0, 0.0};
        assert_int_equal(cal_world_advance(world, 0.4, &error), CAL_OK);
        assert_int_equal(cal_world_push(world, ball, force, zero, zero, &error), CAL_OK);
        assert_int_equal(cal_world_advance(world, 0.5, &error), CAL_OK);
        assert_int_equal(cal_world_remove_body(world, ball, &error), CAL_OK);
        cal_test_take_history(world, 0.7, &histories[run]);
        cal_world_destroy(world);
        cal_machine_destroy(machine);
    }
    cal_test_compare_histories(&histories[0], &histories[1], "atoms that are joined by another one");
}

// What is new is moved apart where it overlaps: to the same places, whichever pairs were found before, and by whom.
static void what_is_new_is_moved_apart_alike(void** state) {
    (void)state;
    enum { BALLS = 24 };
    static cal_test_history histories[2];
    for (int run = 0; run < 2; run++) {
        cal_world* world = make_scene("atoms:n=200", NULL);
        cal_error error = {CAL_OK, ""};
        if (run > 0) divide(world, 5, 0.01);
        assert_int_equal(cal_world_advance(world, 0.5, &error), CAL_OK);
        for (int i = 0; i < BALLS; i++) {
            cal_world_body_def def = cal_default_world_body_def();
            for (int k = 0; k < 3; k++) def.position[k] = 0.1 + 0.07 * ((i >> k) & 1) + 0.003 * i;
            cal_test_add(world, &def, CAL_SPHERE, 0.03, 0.0, 0.0);
        }
        cal_test_take_history(world, 0.6, &histories[run]);
        cal_world_destroy(world);
    }
    cal_test_compare_histories(&histories[0], &histories[1], "atoms among which balls come");
}

static double random_between(uint64_t* seed, double low, double high) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(*seed >> 11) * 0x1p-53;
}

// Balls in a heap somewhere among atoms, every sixth one fixed.
static void add_heap(cal_world* world, uint64_t* seed) {
    const int balls = 4 + (int)random_between(seed, 0.0, 30.0);
    const double radius = random_between(seed, 0.02, 0.1), spread = random_between(seed, 0.1, 0.4);
    double center[3];
    for (int k = 0; k < 3; k++) center[k] = random_between(seed, -0.5, 0.5);
    for (int i = 0; i < balls; i++) {
        cal_world_body_def def = cal_default_world_body_def();
        for (int k = 0; k < 3; k++) def.position[k] = center[k] + random_between(seed, -spread, spread);
        def.motion = i % 6 == 0 ? CAL_FIXED : CAL_MOVING;
        cal_test_add(world, &def, CAL_SPHERE, radius, 0.0, 0.0);
    }
}

// What overlaps and cannot be parted is refused, and the line says of how many pairs: as many, however far boxes of the others look ahead. In 25 a ball is moved to
// where another one is that it was not near before.
static void what_is_new_is_refused_alike(void** state) {
    (void)state;
    enum { FIRST = 22, END = 28 };
    int refused = 0;
    for (int number = FIRST; number < END; number++) {
        cal_error said[2] = {{CAL_OK, ""}, {CAL_OK, ""}};
        for (int run = 0; run < 2; run++) {
            uint64_t seed = (uint64_t)number * UINT64_C(1000003) + 5;
            (void)random_between(&seed, 0.0, 1.0);
            cal_world* world = make_scene("atoms:n=200", NULL);
            if (run > 0) divide(world, 5, 0.09);
            const double time = random_between(&seed, 0.1, 1.0);
            cal_test_advance(world, time);
            add_heap(world, &seed);
            refused += cal_world_advance(world, time + 0.01, &said[run]) == CAL_BAD_MODEL;
            cal_world_destroy(world);
        }
        assert_string_equal(said[1].text, said[0].text);
    }
    assert_true(refused > 0);
}

// Two rows of balls, and after some time twice as many boxes among them: the impacts of most are searched for now, and there are more domains than before. What happens in
// these is written down, too, by whoever asks for it only then.
static void more_domains_than_before_write_down_what_happens(void** state) {
    (void)state;
    enum { BALLS = 100, BOXES = 200, ROW = 25 };
    static cal_test_history histories[2];
    int domains[2] = {0, 0};
    for (int run = 0; run < 2; run++) {
        cal_machine* machine = run > 0 ? make_threads(2) : NULL;
        cal_world_def def = cal_default_world_def();
        cal_sim_def systems = cal_default_sim_def();
        systems.machine = machine;
        def.systems = &systems;
        def.gravity[2] = 0.0;
        cal_world* world = cal_test_world(&def);
        for (int i = 0; i < BALLS + BOXES; i++) {
            cal_world_body_def body = cal_default_world_body_def();
            const int row = i / ROW;
            body.position[0] = 0.3 * (i % ROW), body.position[1] = 0.3 * row;
            body.velocity[0] = i % 2 == 0 ? 1.0 : -1.0;
            if (i == BALLS) {
                cal_error error = {CAL_OK, ""};
                cal_world_keep_events(world, false);
                if (run > 0) assert_int_equal(cal_world_divide_among(world, 2, CAL_TURNS, &error), CAL_OK);
                if (run > 0) world->domains->given = true, world->domains->window = 0.02; // no clock has a say
                cal_test_advance(world, 0.05);
                cal_world_keep_events(world, true);
                domains[0] = world->domains != NULL ? world->domains->count : 0;
            }
            cal_test_add(world, &body, i < BALLS ? CAL_SPHERE : CAL_BOX, 0.08, 0.08, 0.08);
        }
        cal_test_take_history(world, 0.3, &histories[run]);
        domains[1] = world->domains != NULL ? world->domains->count : 0;
        cal_world_destroy(world);
        cal_machine_destroy(machine);
    }
    assert_true(domains[0] > 0 && domains[1] > domains[0]);
    cal_test_compare_histories(&histories[0], &histories[1], "balls among which boxes come");
}

// Atoms of one half of a box are faster than the others, and their domains have more to do: they become smaller. That changes nothing in
// what happens.
static void uneven_domains_are_divided_anew(void** state) {
    (void)state;
    static cal_test_history histories[2];
    for (int run = 0; run < 2; run++) {
        cal_machine* machine = run > 0 ? make_threads(2) : NULL;
        cal_world* world = make_scene("atoms:n=300,divider=still,kind=balls", machine);
        for (int i = 0; i < world->body_count; i++)
            for (int k = 0; k < 3; k++)
                world->bodies[i].def.velocity[k] *= world->bodies[i].def.position[0] < 0 ? 16 : 1;
        if (run > 0) divide(world, 4, 0.003);
        cal_test_take_history(world, 0.3, &histories[run]);
        if (run > 0) {
            int fewest = world->body_count, most = 0;
            for (int i = 1; i <= 4; i++) {
                const int own = world->domains->domains[i].member_count;
                fewest = own < fewest ? own : fewest;
                most = own > most ? own : most;
            }
            assert_true(world->domains->divisions > 0);
            assert_true(most > 2 * fewest);
        }
        cal_world_destroy(world);
        cal_machine_destroy(machine);
    }
    cal_test_compare_histories(&histories[0], &histories[1], "atoms that are slow and fast");
}

// Robots that stand apart, each with its boxes, have domains of their own, of which a processor gets several: all of the same size. Threads take them
// in turn, whoever comes first, and the history is that of one core.
static void what_stands_apart_is_divided_evenly(void** state) {
    (void)state;
    enum { ROBOTS = 12, PROCESSORS = 3, MOST = 2 };
    static cal_test_history histories[2];
    char scene[32];
    snprintf(scene, sizeof scene, "robots:n=%d,boxes=2", (int)ROBOTS);
    for (int run = 0; run < 2; run++) {
        cal_machine* machine = run > 0 ? make_threads(2) : NULL;
        cal_world* world = make_scene(scene, machine);
        cal_error error = {CAL_OK, ""};
        if (run > 0) {
            assert_int_equal(cal_world_divide_among(world, PROCESSORS, MOST, &error), CAL_OK);
            assert_int_equal(cal_world_advance(world, 0.001, &error), CAL_OK);
            const cal_domains* d = world->domains;
            assert_true(d->divided);
            assert_int_equal(d->count, PROCESSORS * MOST);
            for (int i = 2; i <= d->count; i++)
                assert_int_equal(d->domains[i].member_count, d->domains[1].member_count);
        } else {
            assert_int_equal(cal_world_advance(world, 0.001, &error), CAL_OK);
        }
        cal_test_take_history(world, CAL_TEST_SANITIZED ? 0.02 : 0.1, &histories[run]);
        cal_world_destroy(world);
        cal_machine_destroy(machine);
    }
    cal_test_compare_histories(&histories[0], &histories[1], scene);
}

// What asks for the price of a world advances it like any other advance, and it goes on as before.
static void a_price_does_not_change_history(void** state) {
    (void)state;
    static cal_test_history histories[2];
    for (int run = 0; run < 2; run++) {
        cal_machine* machine = run > 0 ? make_threads(2) : NULL;
        cal_world* world = make_scene("atoms:n=200", machine);
        cal_error error = {CAL_OK, ""};
        cal_world_report report;
        cal_world_keep_events(world, true);
        assert_int_equal(cal_world_advance(world, 0.1, &error), CAL_OK);
        for (int processors = 4; run > 0 && processors > 0; processors /= 2) {
            assert_int_equal(cal_world_price(world, processors, 0.3 - 0.04 * processors, &report, &error), CAL_OK);
            if (processors == 1) assert_true(report.domains == 0 && report.between_s == 0.0 && report.busiest_s > 0.0);
        }
        cal_test_take_history(world, 0.7, &histories[run]);
        cal_world_destroy(world);
        cal_machine_destroy(machine);
    }
    cal_test_compare_histories(&histories[0], &histories[1], "atoms that were priced");
}

// Set-up, energy, hash and poses of a world that is large enough are shared by all processors: the same bits, and at the start the same
// counts.
static void a_large_world_is_set_up_and_read_alike(void** state) {
    (void)state;
    enum { BODIES = 2500, MOST = BODIES + 50 };
    static double poses[2][7 * MOST];
    cal_world_report starts[2], ends[2];
    cal_energy_balance balances[2];
    for (int run = 0; run < 2; run++) {
        cal_machine* machine = run > 0 ? make_threads(3) : NULL;
        char scene[32];
        snprintf(scene, sizeof scene, "atoms:n=%d", (int)BODIES);
        cal_world* world = make_scene(scene, machine);
        cal_error error = {CAL_OK, ""};
        assert_int_equal(cal_world_advance(world, 0.0, &error), CAL_OK);
        assert_int_equal(cal_world_get_report(world, &starts[run]), CAL_OK);
        assert_int_equal(cal_world_advance(world, 0.02, &error), CAL_OK);
        assert_int_equal(cal_world_get_report(world, &ends[run]), CAL_OK);
        assert_int_equal(cal_world_balance(world, &balances[run]), CAL_OK);
        assert_true(world->body_count <= MOST);
        assert_int_equal(cal_world_poses(world, poses[run]), CAL_OK);
        cal_world_destroy(world);
        cal_machine_destroy(machine);
    }
    assert_memory_equal(poses[0], poses[1], sizeof poses[0]);
    assert_true(starts[0].hash == starts[1].hash && ends[0].hash == ends[1].hash);
    assert_true(ends[0].kinetic == ends[1].kinetic && ends[0].potential == ends[1].potential);
    assert_memory_equal(ends[0].momentum, ends[1].momentum, sizeof ends[0].momentum);
    assert_true(balances[0].loss == balances[1].loss && balances[0].work == balances[1].work);
    assert_true(balances[0].kinetic == ends[0].kinetic && balances[0].relative == balances[1].relative);
    assert_int_equal(starts[0].checks, starts[1].checks);
    assert_int_equal(starts[0].predictions, starts[1].predictions);
    assert_int_equal(ends[0].collisions, ends[1].collisions);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef CALDER_HAVE_EXPAT
        cmocka_unit_test(what_came_before_a_group_begins_anew_stays),
        cmocka_unit_test(a_group_with_a_chain_outlives_domains),
#endif
        cmocka_unit_test(random_worlds_have_one_history),
        cmocka_unit_test(rare_worlds_have_one_history),
        cmocka_unit_test(gases_that_go_back_have_one_history),
        cmocka_unit_test(scenes_have_one_history),
        cmocka_unit_test(elastic_piles_have_one_history),
        cmocka_unit_test(a_divided_world_is_changed_like_others),
        cmocka_unit_test(a_price_does_not_change_history),
        cmocka_unit_test(a_large_world_is_set_up_and_read_alike),
        cmocka_unit_test(more_domains_than_before_write_down_what_happens),
        cmocka_unit_test(uneven_domains_are_divided_anew),
        cmocka_unit_test(what_is_new_is_moved_apart_alike),
        cmocka_unit_test(what_is_new_is_refused_alike),
        cmocka_unit_test(what_stands_apart_is_divided_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
