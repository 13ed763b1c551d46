// Worlds of balls against an exact event-driven computation that shares nothing with the library.
#include "support_world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- The exact computation ------------------------------------------------------------------------------------------------------

// Hard spheres of one mass and radius between six walls: straight lines, closed roots, all pairs at every event, in long
// double.
typedef struct exact_ball {
    long double x[3], v[3];
} exact_ball;

typedef struct exact_event {
    long double time;
    int a, b; // b < 0: wall -1 - b
} exact_event;

typedef struct exact_gas {
    int count;
    long double radius, half, now;
    exact_ball* balls;
} exact_gas;

static long double exact_dot(const long double* a, const long double* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static exact_event exact_next(const exact_gas* gas) {
    exact_event first = {INFINITY, -1, -1};
    for (int a = 0; a < gas->count; a++) {
        const exact_ball* p = &gas->balls[a];
        for (int k = 0; k < 3; k++) {
            if (p->v[k] == 0) continue;
            const long double room = gas->half - gas->radius;
            const long double t = p->v[k] > 0 ? (room - p->x[k]) / p->v[k] : (-room - p->x[k]) / p->v[k];
            if (t < first.time) first = (exact_event){t, a, -1 - 2 * k - (p->v[k] > 0)};
        }
        for (int b = a + 1; b < gas->count; b++) {
            const exact_ball* q = &gas->balls[b];
            long double r[3], v[3];
            for (int k = 0; k < 3; k++) r[k] = p->x[k] - q->x[k], v[k] = p->v[k] - q->v[k];
            const long double closing = -exact_dot(r, v), square = exact_dot(v, v);
            if (closing <= 0) continue;
            const long double c = exact_dot(r, r) - 4 * gas->radius * gas->radius;
            const long double root = closing * closing - square * c;
            if (root < 0) continue;
            const long double t = c / (closing + sqrtl(root));
            if (t < first.time) first = (exact_event){t, a, b};
        }
    }
    return first;
}

static void exact_step(exact_gas* gas, exact_event* event) {
    for (int a = 0; a < gas->count; a++)
        for (int k = 0; k < 3; k++) gas->balls[a].x[k] += event->time * gas->balls[a].v[k];
    gas->now += event->time;
    event->time = gas->now;
    exact_ball* p = &gas->balls[event->a];
    if (event->b < 0) {
        p->v[(-1 - event->b) / 2] *= -1;
        return;
    }
    exact_ball* q = &gas->balls[event->b];
    long double n[3], v[3];
    for (int k = 0; k < 3; k++) n[k] = p->x[k] - q->x[k], v[k] = p->v[k] - q->v[k];
    const long double share = exact_dot(n, v) / exact_dot(n, n);
    for (int k = 0; k < 3; k++) p->v[k] -= share * n[k], q->v[k] += share * n[k];
}

// --- Worlds ---------------------------------------------------------------------------------------------------------------------

enum { WALLS = 6 };

static exact_gas copy_gas(const cal_world* world) {
    exact_gas gas = {.count = cal_world_body_count(world) - WALLS};
    gas.balls = calloc((size_t)gas.count, sizeof *gas.balls);
    double wall[3];
    cal_world_get_body(world, cal_world_body(world, 0), wall, NULL, NULL, NULL);
    gas.half = -(long double)wall[0];
    for (int i = 0; i < gas.count; i++) {
        double x[3], v[3];
        cal_shape_def shape;
        cal_world_get_body(world, cal_world_body(world, WALLS + i), x, NULL, v, NULL);
        assert_true(cal_world_get_shape(world, cal_world_body(world, WALLS + i), 0, &shape, NULL));
        gas.radius = shape.size[0];
        for (int k = 0; k < 3; k++) gas.balls[i].x[k] = x[k], gas.balls[i].v[k] = v[k];
    }
    return gas;
}

// Every collision of two seconds: the partners, and in whose life it comes where.
static void compare_with_exact(const char* specification, const cal_world_def* def) {
    cal_world* world = cal_test_scene(specification, def);
    exact_gas gas = copy_gas(world);
    cal_test_advance(world, 0.0);
    const double start = cal_test_report(world).kinetic;
    cal_test_advance(world, 2.0);
    const cal_world_report end = cal_test_report(world);
    cal_test_expect_below(fabs(end.kinetic / start - 1.0), 1e-10, "energy", specification);
    int count = 0;
    cal_world_event event;
    while (cal_world_next_event(world, &event)) {
        exact_event exact = exact_next(&gas);
        exact_step(&gas, &exact);
        const int wall = event.body[0].index < WALLS, a = event.body[wall].index - WALLS;
        const int b = wall ? -1 - event.body[0].index : event.body[1].index - WALLS;
        if (exact.a != a || exact.b != b)
            fail_msg("%s: collision %d at %.12g is of %d and %d, not %d and %d at %.12Lg", specification, count,
                     event.time, a, b, exact.a, exact.b, exact.time);
        cal_test_expect_below(fabs((double)(event.time - exact.time)), 1e-6, "time of a collision", specification);
        count++;
    }
    exact_event beyond = exact_next(&gas);
    assert_true(gas.now + beyond.time > 2.0L);
    assert_true(count == end.collisions && count > 20);
    for (int i = 0; i < gas.count; i++) {
        double x[3], v[3];
        cal_world_get_body(world, cal_world_body(world, WALLS + i), x, NULL, v, NULL);
        for (int k = 0; k < 3; k++) {
            const long double there = gas.balls[i].x[k] + (2.0L - gas.now) * gas.balls[i].v[k];
            cal_test_expect_below(fabs((double)(there - x[k])), 1e-6, "position", specification);
        }
    }
    free(gas.balls);
    cal_world_destroy(world);
}

static void test_gas_is_exact(void** state) {
    (void)state;
    compare_with_exact("atoms:n=25,kind=balls,divider=none", NULL);
    compare_with_exact("atoms:n=50,kind=balls,divider=none", NULL);
    compare_with_exact("atoms:n=100,kind=balls,divider=none", NULL);
    compare_with_exact("atoms:n=200,kind=balls,divider=none", NULL);
}

static void test_other_loops_are_exact(void** state) {
    (void)state;
    cal_world_def def = cal_default_world_def();
    def.loop = CAL_RETROACTIVE;
    compare_with_exact("atoms:n=50,kind=balls,divider=none", &def);
    def.step = 1.0 / 30.0;
    compare_with_exact("atoms:n=50,kind=balls,divider=none", &def);
    def.loop = CAL_CONSERVATIVE;
    compare_with_exact("atoms:n=50,kind=balls,divider=none", &def);
}

// Between two hits of walls nothing can change the momentum.
static void test_momentum_between_walls(void** state) {
    (void)state;
    cal_world* world = cal_test_scene("atoms:n=100,kind=balls,divider=none", NULL);
    cal_test_advance(world, 2.0);
    cal_world_event event;
    double* times = cal_test_numbers(100000);
    int walls = 0;
    while (cal_world_next_event(world, &event))
        if (event.body[0].index < WALLS) times[walls++] = event.time;
    cal_world_destroy(world);
    world = cal_test_scene("atoms:n=100,kind=balls,divider=none", NULL);
    assert_true(walls > 10);
    for (int i = 0; i + 1 < walls; i++) {
        const double gap = times[i + 1] - times[i];
        if (gap < 1e-6) continue;
        cal_test_advance(world, times[i] + 0.01 * gap);
        const cal_world_report before = cal_test_report(world);
        cal_test_advance(world, times[i + 1] - 0.01 * gap);
        const cal_world_report after = cal_test_report(world);
        const double scale = sqrt(2.0 * before.kinetic * 4.18879 * 100);
        for (int k = 0; k < 3; k++)
            cal_test_expect_below(fabs(after.momentum[k] - before.momentum[k]) / scale, 1e-12, "momentum",
                                  "between walls");
    }
    free(times);
    cal_world_destroy(world);
}

// Molecules turn as they fly and spin when they are hit; each loop comes to the same motion.
static void test_molecules_keep_energy_in_every_loop(void** state) {
    (void)state;
    double ends[3][3];
    for (int loop = 0; loop < 3; loop++) {
        cal_world_def def = cal_default_world_def();
        def.loop = (cal_world_loop)loop;
        cal_world* world = cal_test_scene("atoms:n=30", &def);
        cal_test_advance(world, 0.0);
        const double start = cal_test_report(world).kinetic;
        cal_test_advance(world, 1.0);
        const cal_world_report end = cal_test_report(world);
        assert_true(end.collisions > 30);
        cal_test_expect_below(fabs(end.kinetic / start - 1.0), 1e-10, "energy", "molecules");
        cal_world_get_body(world, cal_world_body(world, cal_world_body_count(world) - 1), ends[loop], NULL, NULL, NULL);
        cal_test_expect_below(cal_test_largest_difference(ends[loop], ends[0], 3), 1e-6, "position", "loops");
        cal_world_destroy(world);
    }
}

static void test_deterministic_under_rollbacks(void** state) {
    (void)state;
    const char* const scenes[] = {"atoms:n=60,kind=balls,divider=none", "atoms:n=60"};
    for (int s = 0; s < 2; s++) {
        uint64_t hash = 0;
        int64_t collisions = 0;
        for (int run = 0; run < 4; run++) {
            cal_world_def def = cal_default_world_def();
            def.forced_rollbacks = run < 2 ? 0.0 : 0.2;
            def.seed = (uint64_t)run;
            cal_world* world = cal_test_scene(scenes[s], &def);
            // How far one advances at a time must not matter either.
            for (int i = 1; run == 1 && i < 20; i++) cal_test_advance(world, 0.1 * i);
            cal_test_advance(world, 2.0);
            const cal_world_report report = cal_test_report(world);
            if (run == 0) hash = report.hash, collisions = report.collisions;
            assert_int_equal(report.hash, hash);
            assert_int_equal(report.collisions - report.undone, collisions);
            if (run >= 2) assert_true(report.forced > 100 && report.undone > 10);
            cal_world_destroy(world);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gas_is_exact),
        cmocka_unit_test(test_other_loops_are_exact),
        cmocka_unit_test(test_momentum_between_walls),
        cmocka_unit_test(test_molecules_keep_energy_in_every_loop),
        cmocka_unit_test(test_deterministic_under_rollbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
