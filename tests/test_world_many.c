// Many balls against the kinetic theory of dense gases, and what reports say of a whole world.
//
// With n balls of diameter σ a volume, η = π n σ³ / 6, and kT/m = 1/3 where speeds are 1 on average of squares:
//
//     collisions a ball and second   ν = 4 √π n σ² χ √(kT/m),  χ = (1 − η/2) / (1 − η)³                (Enskog)
//     pressure                       p = n kT Z,  Z = (1 + η + η² − η³) / (1 − η)³                     (Carnahan, Starling)
//     speeds                         Maxwell's distribution, ⟨v⁴⟩ / ⟨v²⟩² = 5/3
//
// Walls keep balls off, so that the density inside is not the number over the volume of the box. It is counted in a cube well
// away from them, and so are the collisions. χ and Z are 15 and 25 % at 5 %; bounds are about four standard deviations.
#include "base/random.h"
#include "calder/calder_world.h"
#include "collide/collide.h"
#include "support_world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void advance(cal_world* world, double time) {
    cal_error error = {CAL_OK, ""};
    if (cal_world_advance(world, time, &error) != CAL_OK) fail_msg("%s", error.text);
}

static cal_world_report report_of(cal_world* world) {
    cal_world_report report;
    cal_world_get_report(world, &report);
    return report;
}

// --- A gas ------------------------------------------------------------------------------------------------------------------

enum { BALLS = 1000, SAMPLES = 160, MIXING = 20 }; // samples a tenth of a second apart; the first ones are left out

typedef struct sums {
    double inside;      // balls in the inner cube, over samples
    double fourth;      // v⁴, over samples
    int64_t collisions; // in the inner cube
    double wall;        // impulses
} sums;

static bool is_inside(const double x[3], double half) {
    return fabs(x[0]) < half && fabs(x[1]) < half && fabs(x[2]) < half;
}

static void sample(cal_world* world, double inner, sums* s) {
    for (int i = 0; i < cal_world_body_count(world); i++) {
        const cal_body_id body = cal_world_body(world, i);
        double x[3], v[3];
        if (cal_world_body_motion(world, body) != CAL_MOVING) continue;
        assert_int_equal(cal_world_get_body(world, body, x, NULL, v, NULL), CAL_OK);
        const double square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        s->inside += is_inside(x, inner);
        s->fourth += square * square;
    }
}

static void take_events(cal_world* world, double inner, sums* s) {
    cal_world_event event;
    while (cal_world_next_event(world, &event)) {
        bool wall = false;
        for (int i = 0; i < 2; i++) wall |= cal_world_body_motion(world, event.body[i]) == CAL_FIXED;
        if (wall)
            s->wall += event.impulse;
        else
            s->collisions += is_inside(event.point, inner);
    }
}

static int by_size(const void* a, const void* b) {
    return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

// The largest difference between the distribution of speeds now and Maxwell's (Kolmogorov and Smirnov).
static double distance_from_maxwell(cal_world* world, double temperature) {
    static double speeds[BALLS];
    int count = 0;
    for (int i = 0; i < cal_world_body_count(world); i++) {
        const cal_body_id body = cal_world_body(world, i);
        double v[3];
        if (cal_world_body_motion(world, body) != CAL_MOVING) continue;
        cal_world_get_body(world, body, NULL, NULL, v, NULL);
        speeds[count++] = sqrt((v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / temperature);
    }
    assert_int_equal(count, BALLS);
    qsort(speeds, BALLS, sizeof *speeds, by_size);
    double most = 0.0;
    for (int i = 0; i < BALLS; i++) {
        const double x = speeds[i], share = erf(x / sqrt(2.0)) - sqrt(2.0 / acos(-1.0)) * x * exp(-0.5 * x * x);
        most = fmax(most, fmax(share - (double)i / BALLS, (i + 1.0) / BALLS - share));
    }
    return most;
}

static void test_gas_is_enskogs(void** state) {
    (void)state;
    const double pi = acos(-1.0), radius = 0.1, diameter = 0.2, ball = 4.0 / 3.0 * pi * radius * radius * radius;
    const double side = cbrt(BALLS * ball / 0.05), inner = 0.5 * side - 3.0 * diameter;
    cal_world* world;
    cal_error error = {CAL_OK, ""};
    if (cal_world_generate("atoms:n=1000,kind=balls,divider=none", NULL, &world, &error) != CAL_OK)
        fail_msg("%s", error.text);
    cal_world_keep_events(world, true);
    advance(world, 0.0);
    const double start = report_of(world).kinetic;
    sums s = {0};
    for (int i = 1; i <= MIXING + SAMPLES; i++) {
        advance(world, 0.1 * i);
        if (i == MIXING) {
            take_events(world, inner, &s);
            s = (sums){0};
        }
        if (i > MIXING) sample(world, inner, &s);
    }
    take_events(world, inner, &s);
    cal_test_expect_below(fabs(report_of(world).kinetic / start - 1.0), 1e-10, "energy", "1000 balls");

    const double time = 0.1 * SAMPLES, volume = 8.0 * inner * inner * inner, temperature = 1.0 / 3.0;
    const double n = s.inside / SAMPLES / volume, eta = n * ball, free = 1.0 - eta, cube = free * free * free;
    const double chi = (1.0 - 0.5 * eta) / cube, Z = (1.0 + eta + eta * eta - eta * eta * eta) / cube;
    const double rate = 4.0 * sqrt(pi) * n * diameter * diameter * chi * sqrt(temperature);
    cal_test_expect_below(fabs((double)s.collisions / (0.5 * n * rate * volume * time) - 1.0), 0.045, "collision rate",
                          "1000 balls");
    const double mass = 1000.0 * ball, area = 6.0 * (side - diameter) * (side - diameter);
    cal_test_expect_below(fabs(s.wall / (area * time) / (n * mass * temperature * Z) - 1.0), 0.05, "pressure",
                          "1000 balls");
    cal_test_expect_below(fabs(s.fourth / (SAMPLES * BALLS) - 5.0 / 3.0), 0.08, "fourth moment of speeds",
                          "1000 balls");
    // One in a hundred samples of a thousand is further away than 1.63 / √1000.
    cal_test_expect_below(distance_from_maxwell(world, temperature), 1.63 / sqrt(BALLS), "speeds", "1000 balls");
    cal_world_destroy(world);
}

// --- Reports ----------------------------------------------------------------------------------------------------------------

// A sledge on a spring, and a rotor with it: ½ (m + a) v² + ½ k (x − x₀)² is kept, and each part of it is the one of
// x = x₀ (1 − cos ω t).
static void test_springs_are_in_the_energy(void** state) {
    (void)state;
    const double mass = 2.0, armature = 0.5, stiffness = 40.0, slack = 0.3;
    cal_builder* builder;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def sledge = cal_default_body_def();
    sledge.mass = mass;
    sledge.inertia[0] = sledge.inertia[1] = sledge.inertia[2] = 0.1;
    const int body = cal_builder_add_body(builder, &sledge);
    cal_joint_def slide = cal_default_joint_def();
    slide.kind = CAL_PRISMATIC;
    slide.axis[0] = 1.0, slide.axis[2] = 0.0;
    slide.stiffness = stiffness;
    slide.spring_reference = slack;
    slide.armature = armature;
    cal_builder_add_joint(builder, body, &slide);
    cal_model* model;
    cal_error error = {CAL_OK, ""};
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_world* world;
    assert_int_equal(cal_world_create(NULL, &world, &error), CAL_OK);
    if (cal_world_add_multibody(world, model, NULL, NULL, 0, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    const double all = 0.5 * stiffness * slack * slack, omega = sqrt(stiffness / (mass + armature));
    for (int i = 0; i <= 20; i++) {
        advance(world, 0.1 * i);
        const cal_world_report r = report_of(world);
        const double s = sin(omega * 0.1 * i), c = cos(omega * 0.1 * i);
        cal_test_expect_below(fabs(r.kinetic - all * s * s) / all, 1e-6, "kinetic energy", "sledge");
        cal_test_expect_below(fabs(r.potential - all * c * c) / all, 1e-6, "energy of the spring", "sledge");
    }
    cal_world_destroy(world);
    cal_model_destroy(model);
}

// Two boxes that come to rest far from each other are two groups, which end where the boxes are thrown up again.
static void throw_up(cal_callback_context* view, void* user) {
    (void)user;
    const double up[3] = {0.0, 0.0, 3.0}, none[3] = {0.0};
    cal_callback_set_velocity(view, 0, up, none);
}

static void test_groups_are_counted(void** state) {
    (void)state;
    cal_world* world;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_world_create(NULL, &world, &error), CAL_OK);
    cal_world_body_def def = cal_default_world_body_def();
    cal_body_id ground, box;
    def.motion = CAL_FIXED;
    cal_shape_def shape = cal_default_shape_def();
    shape.kind = CAL_PLANE;
    assert_int_equal(cal_world_add_body(world, &def, &ground, &error), CAL_OK);
    assert_int_equal(cal_world_add_shape(world, ground, &shape, NULL, &error), CAL_OK);
    def.motion = CAL_MOVING;
    shape.kind = CAL_BOX;
    for (int i = 0; i < 3; i++) shape.size[i] = 0.5;
    for (int i = 0; i < 2; i++) {
        def.position[0] = 10.0 * i, def.position[2] = 0.51;
        assert_int_equal(cal_world_add_body(world, &def, &box, &error), CAL_OK);
        assert_int_equal(cal_world_add_shape(world, box, &shape, NULL, &error), CAL_OK);
    }
    assert_int_equal(cal_world_on_period(world, &box, 1, 1.0, 100.0, throw_up, NULL, &error), CAL_OK);
    advance(world, 0.0);
    assert_int_equal(report_of(world).groups_now, 0);
    advance(world, 0.9);
    assert_int_equal(report_of(world).groups_now, 2);
    advance(world, 1.1);
    assert_int_equal(report_of(world).groups_now, 1);
    cal_world_destroy(world);
}

// --- The broad phase's half spaces --------------------------------------------------------------------------------------------

// Boxes and half spaces that come, move and go at random: who overlaps whom is what a look at all corners says.
static void test_half_spaces(void** state) {
    (void)state;
    enum { PLANES = 4, COUNT = 40 };
    double planes[PLANES][4];
    cal_broad* broad = NULL;
    assert_int_equal(cal_broad_create(0, &broad), CAL_OK);
    cal_random random = {7};
    cal_broad_changes changes;
    for (int step = 0; step < 3000; step++) {
        const int id = cal_random_below(&random, COUNT);
        if (step < PLANES || (id < PLANES && step % 50 == 0)) {
            const int which = step < PLANES ? step : id;
            double n[3], length = 0.0;
            for (int k = 0; k < 3; k++) n[k] = cal_random_between(&random, -1.0, 1.0), length += n[k] * n[k];
            for (int k = 0; k < 3; k++) planes[which][k] = n[k] / sqrt(length);
            planes[which][3] = cal_random_between(&random, -2.0, 0.5);
            assert_int_equal(cal_broad_move_plane(broad, which, planes[which], planes[which][3], &changes), CAL_OK);
        } else if (id >= PLANES && cal_random_below(&random, 10) == 0) {
            cal_broad_remove(broad, id, NULL);
        } else if (id >= PLANES) {
            cal_box box;
            for (int k = 0; k < 3; k++) {
                box.low[k] = cal_random_between(&random, -3.0, 3.0);
                box.high[k] = box.low[k] + cal_random_between(&random, 0.0, 1.0);
            }
            assert_int_equal(cal_broad_move(broad, id, &box, &changes), CAL_OK);
        }
        if (step < PLANES || step % 20 != 0) continue;
        for (int p = 0; p < PLANES; p++) {
            const int32_t* partners;
            const int count = cal_broad_partners(broad, p, &partners);
            int expected = PLANES - 1; // half spaces meet each other
            for (int b = PLANES; b < COUNT; b++) {
                const cal_box* box = cal_broad_box(broad, b);
                double least = INFINITY;
                for (int corner = 0; box != NULL && corner < 8; corner++) {
                    double height = -planes[p][3];
                    for (int k = 0; k < 3; k++)
                        height += planes[p][k] * ((corner >> k & 1) != 0 ? box->high[k] : box->low[k]);
                    least = fmin(least, height);
                }
                expected += least <= 0.0;
            }
            assert_int_equal(count, expected);
        }
    }
    const double wrong[3] = {NAN, 0.0, 1.0};
    assert_int_equal(cal_broad_move_plane(broad, 0, wrong, 0.0, NULL), CAL_BAD_ARGUMENT);
    cal_broad_destroy(broad);
}

// --- Many that come and go ---------------------------------------------------------------------------------------------------

static cal_body_id add_ball(cal_world* world, const double position[3], double radius) {
    cal_world_body_def def = cal_default_world_body_def();
    memcpy(def.position, position, sizeof def.position);
    def.density = 1000.0;
    cal_body_id body;
    assert_int_equal(cal_world_add_body(world, &def, &body, NULL), CAL_OK);
    cal_shape_def ball = cal_default_shape_def();
    ball.kind = CAL_SPHERE;
    ball.size[0] = radius;
    assert_int_equal(cal_world_add_shape(world, body, &ball, NULL, NULL), CAL_OK);
    return body;
}

static cal_world* empty_world(cal_machine* machine, bool separate) {
    cal_error error = {CAL_OK, ""};
    cal_sim_def systems = cal_default_sim_def();
    systems.machine = machine;
    cal_world_def def = cal_default_world_def();
    def.systems = &systems;
    def.separate = separate;
    memset(def.gravity, 0, sizeof def.gravity);
    cal_world* world;
    if (cal_world_create(&def, &world, &error) != CAL_OK) fail_msg("%s", error.text);
    return world;
}

static void do_nothing(cal_callback_context* view, void* user) { (void)view, (void)user; }

// Balls at rest on a grid: the first half goes, the last ones first; others come in its place, one size smaller, so that all begins anew, with
// callbacks; and these go, too. Processor time for each.
static double time_of_change(int count) {
    cal_world* world = empty_world(NULL, false);
    cal_body_id* bodies = malloc((size_t)count * sizeof *bodies);
    assert_non_null(bodies);
    for (int i = 0; i < count; i++)
        bodies[i] =
            add_ball(world, (const double[3]){i % 30, i / 30 % 30, i / 900}, 0.2); // NOLINT(bugprone-integer-division)
    advance(world, 0.0);
    const clock_t begin = clock();
    for (int i = count / 2; i-- > 0;) assert_int_equal(cal_world_remove_body(world, bodies[i], NULL), CAL_OK);
    for (int i = 0; i < count / 2; i++) {
        bodies[i] =
            add_ball(world, (const double[3]){i % 30, i / 30 % 30, i / 900}, 0.1); // NOLINT(bugprone-integer-division)
        assert_int_equal(bodies[i].index, i);                                      // the first place that is free
        assert_int_equal(cal_world_on_period(world, &bodies[i], 1, 1.0, 1.0, do_nothing, NULL, NULL), CAL_OK);
    }
    advance(world, 0.0);
    assert_int_equal(report_of(world).moving, count);
    for (int i = 0; i < count / 2; i++) assert_int_equal(cal_world_remove_body(world, bodies[i], NULL), CAL_OK);
    const double time = (double)(clock() - begin) / CLOCKS_PER_SEC / count;
    assert_int_equal(report_of(world).moving, count - count / 2);
    assert_int_equal(report_of(world).bodies, count - count / 2);
    free(bodies);
    cal_world_destroy(world);
    return time;
}

// A body that comes or goes takes as long among many as among few; caches make a factor of 3.
static void test_change_is_linear(void** state) {
    (void)state;
    enum { FEW = 1000, MANY = 27000, TRIES = 3 };
    double least = INFINITY;
    for (int i = 0; i < TRIES && least > 6.0; i++) least = fmin(least, time_of_change(MANY) / time_of_change(FEW));
    if (least > 6.0) fail_msg("each of %d takes %.3g times as long as each of %d", MANY, least, FEW);
}

// More balls than are looked at at a time, at random, so that many overlap: the world finds as many pairs as there are, or parts them, to the same
// places on one core and on threads.
static void test_many_are_parted(void** state) {
    (void)state;
    enum { COUNT = 9000 };
    const double radius = 0.02, edge = 1.7;
    double(*x)[3] = malloc(COUNT * sizeof *x), (*at)[7] = malloc(2 * (COUNT + 1) * sizeof *at);
    assert_non_null(x);
    assert_non_null(at);
    cal_random random = {7};
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < 3; k++) x[i][k] = cal_random_between(&random, 0.1, edge);
    int overlaps = 0;
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < a; b++) {
            double square = 0.0;
            for (int k = 0; k < 3; k++) square += (x[a][k] - x[b][k]) * (x[a][k] - x[b][k]);
            overlaps += square < 4.0 * radius * radius;
        }
    assert_true(overlaps > 500);
    for (int run = 0; run < 4; run++) {
        const bool separate = run >= 2;
        cal_machine* machine = NULL;
        cal_error error = {CAL_OK, ""};
        cal_threads_def threads = cal_default_threads_def();
        threads.workers = 3;
        if (run % 2 == 1) assert_int_equal(cal_machine_threads(&threads, &machine, NULL), CAL_OK);
        cal_world* world = empty_world(machine, separate);
        for (int i = 0; i < COUNT; i++) (void)add_ball(world, x[i], radius);
        cal_test_add_floor(world); // below all of them: it comes last, and has its box first
        const cal_status status = cal_world_advance(world, 0.0, &error);
        if (separate) {
            assert_int_equal(status, CAL_OK);
            assert_int_equal(cal_world_poses(world, at[(run - 2) * (COUNT + 1)]), CAL_OK);
        } else {
            assert_int_equal(status, CAL_BAD_MODEL);
            assert_int_equal(atoi(error.text), overlaps);
        }
        cal_world_destroy(world);
        cal_machine_destroy(machine);
    }
    assert_memory_equal(at[0], at[COUNT + 1], (COUNT + 1) * sizeof *at);
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < a; b++) {
            double square = 0.0;
            for (int k = 0; k < 3; k++) square += (at[a][k] - at[b][k]) * (at[a][k] - at[b][k]);
            assert_true(square >= 4.0 * radius * radius * (1.0 - 1e-8));
        }
    free(x);
    free(at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gas_is_enskogs),     cmocka_unit_test(test_springs_are_in_the_energy),
        cmocka_unit_test(test_groups_are_counted), cmocka_unit_test(test_half_spaces),
        cmocka_unit_test(test_change_is_linear),   cmocka_unit_test(test_many_are_parted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
