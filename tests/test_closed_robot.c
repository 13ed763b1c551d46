// A robot whose legs are closed loops, on a floor: against the equations of one leg in its two degrees of freedom, written down and
// integrated here, against MuJoCo at the same places (scripts/compare-motion.mjs), and over ten seconds of four legs.
#include "calder/calder_read.h"
#include "calder/calder_world.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static cal_model* read_model(const char* name) {
    char path[512];
    cal_error error = {0};
    cal_model* model = NULL;
    snprintf(path, sizeof path, "%s/%s.xml", CALDER_TEST_MODELS, name);
    if (cal_model_read(path, NULL, &model, NULL, &error)) fail_msg("%s", error.text);
    return model;
}

static cal_sim* open_sim(const cal_model* model, double tolerance) {
    cal_sim_def def = cal_default_sim_def();
    def.relative = tolerance;
    return cal_test_create_sim(model, &def);
}

// --- The leg of tests/models/closed_leg.xml ------------------------------------------------------------------------------------
//
// A slider (height z) carries a thigh and a rod that turn by θ and are parallel; the shank hangs from both, and so does not turn.
// The knee is at k(θ) from the hip, k = (0.12 c − 0.16 s, −0.12 s − 0.16 c), the foot a constant way from the knee. On the floor it
// slides with μ = 0.1 or not at all; it lands without bouncing, and slides all through the impact.

enum { FLIES, SLIDES, STICKS };
typedef struct leg {
    double y[4]; // z, θ and their rates
    int mode;
    double side; // sign of the sliding
} leg;
static const double PI = 3.14159265358979323846;

// Mass, and moment of inertia about an axis across, of a capsule: a cylinder between two half balls.
static void weigh(double r, double length, double* mass, double* moment) {
    const double rod = 900.0 * PI * r * r * length, ends = 900.0 * 4.0 / 3.0 * PI * r * r * r;
    *mass = rod + ends;
    *moment = rod * (r * r / 4.0 + length * length / 12.0) +
              ends * (0.4 * r * r + 0.375 * r * length + length * length / 4.0);
}

typedef struct terms {
    double M[3], Q[2], knee_x, knee_z, bend_z; // M: zz, zθ, θθ; knee: k′; bend: k″ θ̇²
} terms;

static terms find_terms(const double y[4]) {
    double thigh, thigh_moment, rod, rod_moment, cross, shin, unused;
    weigh(0.015, 0.2, &thigh, &thigh_moment);
    weigh(0.01, 0.2, &rod, &rod_moment);
    weigh(0.015, 0.06, &cross, &unused);
    weigh(0.015, 0.2, &shin, &unused);
    const double shank = cross + shin + 900.0 * 4.0 / 3.0 * PI * 0.03 * 0.03 * 0.03, torso = 4.0, links = thigh + rod;
    const double c = cos(y[1]), s = sin(y[1]), w = y[3];
    const double k[2] = {0.12 * c - 0.16 * s, -0.12 * s - 0.16 * c}, d[2] = {k[1], -k[0]}, square = 0.04;
    terms t = {.M = {torso + links + shank, (0.5 * links + shank) * d[1],
                     (0.25 * links + shank) * square + thigh_moment + rod_moment},
               .knee_x = d[0],
               .knee_z = d[1],
               .bend_z = -k[1] * w * w};
    t.Q[0] = -9.81 * t.M[0] - (0.5 * links + shank) * t.bend_z;
    t.Q[1] = -9.81 * (0.5 * links + shank) * d[1] - 300.0 * y[1] - 0.6 * w; // k″·k′ is zero: k keeps its length
    return t;
}

static void solve(const terms* t, double a, double b, double out[2]) {
    const double D = t->M[0] * t->M[2] - t->M[1] * t->M[1];
    out[0] = (t->M[2] * a - t->M[1] * b) / D;
    out[1] = (t->M[0] * b - t->M[1] * a) / D;
}

// Accelerations, and the force of the floor.
static double accelerate(const leg* l, const double y[4], double a[2]) {
    const terms t = find_terms(y);
    if (l->mode == STICKS) {
        a[0] = a[1] = 0.0;
        return 0.0;
    }
    solve(&t, t.Q[0], t.Q[1], a);
    if (l->mode == FLIES) return 0.0;
    double answer[2];
    solve(&t, 1.0, t.knee_z - 0.1 * l->side * t.knee_x, answer);
    const double force = -(a[0] + t.knee_z * a[1] + t.bend_z) / (answer[0] + t.knee_z * answer[1]);
    for (int i = 0; i < 2; i++) a[i] += force * answer[i];
    return force;
}

static void take_step(leg* l, double h) {
    static const double part[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    double slope[4] = {0}, sum[4] = {0};
    for (int stage = 0; stage < 4; stage++) {
        double y[4];
        for (int i = 0; i < 4; i++) y[i] = l->y[i] + part[stage] * h * slope[i];
        slope[0] = y[2], slope[1] = y[3];
        accelerate(l, y, slope + 2);
        for (int i = 0; i < 4; i++) sum[i] += weight[stage] * slope[i];
    }
    for (int i = 0; i < 4; i++) l->y[i] += h * sum[i];
}

static void follow(leg* l, double h) {
    take_step(l, h);
    const terms t = find_terms(l->y);
    const double c = cos(l->y[1]), s = sin(l->y[1]), gap = 0.21 + l->y[0] - 0.12 * s - 0.16 * c;
    const double down = l->y[2] + t.knee_z * l->y[3], across = t.knee_x * l->y[3];
    double a[2];
    if (l->mode == FLIES && gap <= 0.0 && down < 0.0) {
        double answer[2];
        solve(&t, 1.0, t.knee_z, answer);
        const double way = fabs(across) > 1e-9 ? across : t.knee_x * answer[1];
        l->side = way > 0.0 ? 1.0 : -1.0;
        solve(&t, 1.0, t.knee_z - 0.1 * l->side * t.knee_x, answer);
        const double impulse = -down / (answer[0] + t.knee_z * answer[1]);
        for (int i = 0; i < 2; i++) l->y[2 + i] += impulse * answer[i];
        l->side = t.knee_x * l->y[3] > 0.0 ? 1.0 : -1.0;
        l->mode = SLIDES;
    } else if (l->mode == SLIDES && accelerate(l, l->y, a) < 0.0) {
        l->mode = FLIES;
    } else if (l->mode == SLIDES && across * l->side < 0.0) { // it turns, or stays
        leg back = *l;
        back.side = -l->side;
        accelerate(&back, l->y, a);
        l->mode = t.knee_x * a[1] * back.side > 0.0 ? SLIDES : STICKS;
        l->side = back.side;
        if (l->mode == STICKS) l->y[2] = l->y[3] = 0.0;
    }
}

static void a_leg_lands_slides_and_hops_as_its_equations_say(void** state) {
    (void)state;
    static const double times[] = {0.05, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3};
    static const double peer[][2] = {{-0.012264, 0.0},       {-0.049052, 0.0},       {-0.062189, -0.095633},
                                     {-0.054785, -0.038886}, {-0.037978, -0.003312}, {NAN, NAN},
                                     {-0.055729, -0.046329}}; // MuJoCo's, steps of 5 µs
    const double h = 2e-6;
    cal_model* model = read_model("closed_leg");
    cal_sim* sim = open_sim(model, 1e-6);
    leg l = {.mode = FLIES};
    int64_t steps = 0;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        for (; steps < (int64_t)(times[i] / h + 0.5); steps++) follow(&l, h);
        cal_test_advance_sim(sim, times[i]);
        const double* q = cal_sim_q(sim);
        for (int k = 0; k < 2; k++) {
            if (!(fabs(q[k] - l.y[k]) < 2e-4)) fail_msg("%g s: q[%d] = %.7g, expected %.7g", times[i], k, q[k], l.y[k]);
            if (!(fabs(q[k] - peer[i][k]) < 3e-3) && !isnan(peer[i][k]))
                fail_msg("%g s: q[%d] = %.7g, MuJoCo has %.7g", times[i], k, q[k], peer[i][k]);
        }
        double error, speed;
        assert_int_equal(cal_world_constraint_error(cal_sim_world(sim), &error, &speed), CAL_OK);
        assert_true(error < 1e-9 && speed < 1e-9);
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// What the tolerance asks for counts also where the foot leaves the floor: at 1e-9 the height is that of the equations to what these are good to.
static void a_finer_tolerance_is_nearer(void** state) {
    (void)state;
    static const double times[] = {0.15, 0.2, 0.25};
    const double h = 2e-6;
    cal_model* model = read_model("closed_leg");
    cal_sim* sim = open_sim(model, 1e-9);
    leg l = {.mode = FLIES};
    int64_t steps = 0;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        for (; steps < (int64_t)(times[i] / h + 0.5); steps++) follow(&l, h);
        cal_test_advance_sim(sim, times[i]);
        if (!(fabs(cal_sim_q(sim)[0] - l.y[0]) < 2e-6))
            fail_msg("%g s: %.9g, expected %.9g", times[i], cal_sim_q(sim)[0], l.y[0]);
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// --- Four legs ------------------------------------------------------------------------------------------------------------------

static void four_legs_stay_closed_and_symmetric(void** state) {
    (void)state;
    cal_model* model = read_model("closed_walker");
    cal_sim* sim = open_sim(model, 1e-5);
    cal_constraint_report loops;
    for (int frame = 1; frame <= 200; frame++) {
        double error, speed, kinetic, potential;
        cal_test_advance_sim(sim, 0.05 * frame);
        assert_int_equal(cal_world_constraint_error(cal_sim_world(sim), &error, &speed), CAL_OK);
        if (!(error < 1e-9)) fail_msg("a loop is open by %g at %g s", error, 0.05 * frame);
        assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
        // Springs of servos are no part of the energy: they take and give, less each time.
        if (!(kinetic + potential < 31.1)) fail_msg("%g J at %g s", kinetic + potential, 0.05 * frame);
    }
    // What is reported is measured: loops of hinges in a plane repeat some of their rows, and nothing is closed to the last bit.
    assert_int_equal(cal_sim_constraints(sim, &loops), CAL_OK);
    assert_true(loops.rank < loops.rows && loops.error_max > 0.0 && loops.error_max < 1e-9);
    assert_true(loops.error_rms > 0.0 && loops.error_rms <= loops.error_max);
    const double* q = cal_sim_q(sim);
    // At rest the servos' springs carry it: MuJoCo has the height 0.349138 m.
    if (!(fabs(q[2] - 0.349138) < 1e-4)) fail_msg("it stands at %.7g m", q[2]);
    // Left and right are mirror images all the time, and nobody is first.
    if (!(fabs(q[1]) < 1e-6 && fabs(q[4]) < 1e-6 && fabs(q[6]) < 1e-6))
        fail_msg("it went to the side by %g m, and turned by %g, %g", q[1], q[4], q[6]);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// After landing, hopping and landing again, whatever the tolerance: left and right are mirror images, and all come to one place.
static void fine_tolerances_agree(void** state) {
    (void)state;
    static const double tolerances[] = {3e-7, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9};
    cal_model* model = read_model("closed_walker");
    double first = NAN;
    for (size_t i = 0; i < sizeof tolerances / sizeof tolerances[0]; i++) {
        cal_sim* sim = open_sim(model, tolerances[i]);
        cal_test_advance_sim(sim, 1.0);
        const double* q = cal_sim_q(sim);
        if (i == 0) first = q[0];
        if (!(fabs(q[1]) < 1e-6 && fabs(q[0] - first) < 2e-5))
            fail_msg("%g: it is at %.7g, %.7g, and %.7g at %g", tolerances[i], q[0], q[1], first, tolerances[0]);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leg_lands_slides_and_hops_as_its_equations_say),
        cmocka_unit_test(a_finer_tolerance_is_nearer),
        cmocka_unit_test(fine_tolerances_agree),
        cmocka_unit_test(four_legs_stay_closed_and_symmetric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
