// Constraints of simulations: forces and accelerations against a dense solve, motions against closed forms and published
// numbers, that what is closed stays closed with every solver and has the same bits on every machine, and what is refused.
#include "base/memory.h"
#include "base/random.h"
#include "constraint/minimal.h"
#include "support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cal_constraint_report look(cal_sim* sim) {
    cal_constraint_report report;
    assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
    return report;
}

static double total_energy(cal_sim* sim) {
    double kinetic, potential;
    assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
    return kinetic + potential;
}

// --- Against a dense solve ---------------------------------------------------------------------------------------------

// A row over the degrees of freedom, from the Jacobians of bodies at their nodes' origins.
static void dense_row(const cal_test_engine* kinematics, const cal_row* row, double* jacobian, double* out) {
    const cal_model* model = kinematics->model;
    const int count = model->v_count;
    memset(out, 0, (size_t)count * sizeof *out);
    for (int i = 0; i < row->node_count; i++) {
        int body = 0;
        while (body < model->body_count && model->mounts[body].node != row->node[i]) body++;
        assert_true(body < model->body_count); // the models of this test have one joint a body
        double point[3];
        cal_unrotate3(model->mounts[body].rotation, model->mounts[body].offset, point);
        for (int k = 0; k < 3; k++) point[k] = -point[k];
        assert_int_equal(cal_state_jacobian(kinematics->state, body, point, jacobian), CAL_OK);
        for (int k = 0; k < count; k++)
            for (int d = 0; d < 3; d++)
                out[k] +=
                    row->force[i][d] * jacobian[d * count + k] + row->moment[i][d] * jacobian[(3 + d) * count + k];
    }
}

static cal_model* tie(const cal_model* model, uint64_t seed, int count) {
    static const cal_constraint_kind kinds[] = {CAL_LOOP_BALL, CAL_DISTANCE,  CAL_COUPLING,      CAL_KNIFE_EDGE,
                                                CAL_ROLLING,   CAL_ON_CIRCLE, CAL_LOOP_REVOLUTE, CAL_WELD};
    cal_random random = {seed};
    cal_builder* builder = cal_test_same_bodies(model);
    cal_model* out = NULL;
    cal_error error;
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        int body;
        cal_model_joint(model, i, &joint, &body, NULL, NULL);
        cal_builder_add_joint(builder, body, &joint);
    }
    for (int i = 0; i < count; i++) {
        cal_constraint_def def = cal_default_constraint_def();
        def.kind = kinds[cal_random_below(&random, (int)(sizeof kinds / sizeof kinds[0]))];
        def.body[0] = cal_random_below(&random, cal_model_body_count(model) + 1) - 1;
        do def.body[1] = cal_random_below(&random, cal_model_body_count(model));
        while (def.body[0] == def.body[1]);
        for (int s = 0; s < 2; s++) {
            for (int k = 0; k < 3; k++) def.position[s][k] = cal_random_between(&random, -1.0, 1.0);
            for (int k = 0; k < 4; k++) def.quaternion[s][k] = cal_random_between(&random, -1.0, 1.0);
        }
        def.length = 1.0;
        def.joint[0] = 0, def.joint[1] = cal_model_joint_count(model) - 1;
        for (int k = 0; k < 2; k++) {
            cal_joint_def joint;
            cal_model_joint(model, def.joint[k], &joint, NULL, NULL, NULL);
            if (def.kind == CAL_COUPLING && cal_joint_v_count(joint.kind) > 1) def.kind = CAL_DISTANCE;
        }
        def.polynomial[1] = 2.0, def.polynomial[2] = -0.5;
        cal_builder_add_constraint(builder, &def);
    }
    if (cal_builder_finish(builder, &out, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return out;
}

static int checked;

static void check_dense(const cal_model* model, uint64_t seed, const char* name) {
    const int n = model->v_count;
    cal_test_motion motion = cal_test_random_motion(model, seed);
    cal_test_engine mass = cal_test_open(model, "crba", 1), forward = cal_test_open(model, "aba", 1),
                    kinematics = cal_test_open(model, "kinematics", 1);
    cal_test_load(&mass, &motion), cal_test_load(&forward, &motion), cal_test_load(&kinematics, &motion);
    cal_test_execute(&mass), cal_test_execute(&forward), cal_test_execute(&kinematics);
    double* qdd = cal_test_numbers((size_t)n);
    assert_int_equal(cal_state_get(forward.state, CAL_QDD, qdd), CAL_OK);
    cal_constraints* set = NULL;
    assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
    double* tau = cal_test_numbers((size_t)n);
    memcpy(tau, motion.tau, (size_t)n * sizeof(double));
    cal_constraints_hold(set, motion.q, motion.v, qdd, CAL_STABILIZE_NONE, 0.0, CAL_SHIFT_CLOSED, tau);
    const int m = set->row_count, size = n + m;
    // (M, −Jᵀ; J, 0) (q̈, λ) = (M q̈₀, −bias)
    double *matrix = cal_test_numbers((size_t)size * (size_t)size), *right = cal_test_numbers((size_t)size);
    double *M = cal_test_numbers((size_t)n * (size_t)n), *J = cal_test_numbers((size_t)m * (size_t)n),
           *jacobian = cal_test_numbers(6 * (size_t)n);
    assert_int_equal(cal_state_get(mass.state, CAL_MASS, M), CAL_OK);
    for (int i = 0; i < m; i++) {
        dense_row(&kinematics, &set->rows[i], jacobian, J + i * n);
        // J q̈ + J̇ q̇: the bias of a row belongs to its nodes' accelerations, which have velocity terms of their own.
        double own = set->rows[i].bias, *zero = cal_test_numbers((size_t)n),
               *a = cal_test_numbers(6 * (size_t)model->node_count);
        cal_node_accelerations(model, set->motions, motion.v, zero, 0, model->node_count, a);
        for (int k = 0; k < set->rows[i].node_count; k++)
            own += cal_dot3(set->rows[i].moment[k], a + 6 * set->rows[i].node[k]) +
                   cal_dot3(set->rows[i].force[k], a + 6 * set->rows[i].node[k] + 3);
        right[n + i] = -own;
        free(zero), free(a);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            matrix[i * size + j] = M[i * n + j];
            right[i] += M[i * n + j] * qdd[j];
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            matrix[j * size + n + i] = -J[i * n + j];
            matrix[(n + i) * size + j] = J[i * n + j];
        }
    // Constraints at random may depend on each other; then there is nothing to compare with.
    const bool unique = cal_test_solve_dense(matrix, right, (size_t)size);
    if (unique) checked++;
    const double scale = 1.0 + cal_test_largest(right, (size_t)size);
    assert_int_equal(set->rank == m, unique);
    if (unique)
        cal_test_expect_below(cal_test_largest_difference(right + n, set->lambda, (size_t)m), 1e-9 * scale, "forces",
                              name);
    assert_int_equal(cal_state_set(forward.state, CAL_TAU, tau), CAL_OK);
    cal_test_execute(&forward);
    assert_int_equal(cal_state_get(forward.state, CAL_QDD, qdd), CAL_OK);
    if (unique)
        cal_test_expect_below(cal_test_largest_difference(right, qdd, (size_t)n), 1e-9 * scale, "accelerations", name);
    // The form without multipliers, from the same accelerations without constraints.
    cal_minimal* minimal = NULL;
    assert_int_equal(cal_minimal_create(set, &minimal), CAL_OK);
    cal_test_load(&forward, &motion), cal_test_execute(&forward);
    assert_int_equal(cal_state_get(forward.state, CAL_QDD, qdd), CAL_OK);
    assert_int_equal(
        cal_minimal_hold(minimal, set, motion.q, motion.v, qdd, CAL_STABILIZE_NONE, 0.0, CAL_SHIFT_CLOSED, motion.tau),
        CAL_OK);
    for (int i = 0; i < n; i++) qdd[i] += minimal->motion[i];
    assert_int_equal(n - minimal->freedom == m, unique);
    if (unique) {
        cal_test_expect_below(cal_test_largest_difference(right, qdd, (size_t)n), 1e-9 * scale, "minimal form", name);
        cal_test_expect_below(cal_test_largest_difference(tau, motion.tau, (size_t)n), 1e-9 * scale, "its forces",
                              name);
    }
    cal_minimal_destroy(minimal);
    free(matrix), free(right), free(M), free(J), free(jacobian), free(qdd), free(tau);
    cal_constraints_destroy(set);
    cal_test_close(&mass), cal_test_close(&forward), cal_test_close(&kinematics);
    cal_test_motion_free(&motion);
}

static void forces_agree_with_a_dense_solve(void** state) {
    (void)state;
    static const char* const names[] = {"chain:n=20", "mobile:s=2,l=3,o=5", "chain:n=9,joint=ball",
                                        "tree:height=3,fanout=3", "figure:dof=34"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* plain = cal_test_model(names[i]);
        for (uint64_t seed = 1; seed < 6; seed++) {
            cal_model* model = tie(plain, seed + 31 * i, 2);
            check_dense(model, seed, names[i]);
            cal_model_destroy(model);
        }
        cal_model_destroy(plain);
    }
    assert_true(checked >= 12);
}

// --- Closed forms and published numbers --------------------------------------------------------------------------------

static void a_particle_on_a_string_is_a_pendulum(void** state) {
    (void)state;
    const char* laws[] = {"projection", "baumgarte", "none"};
    for (int i = 0; i < 3; i++) {
        cal_model *hinge = cal_test_model("pendulum:start=1.2,speed=0.5"),
                  *string = cal_test_model("pendulum:start=1.2,speed=0.5,form=distance");
        cal_sim *expected = cal_test_open_sim(hinge, "rkf", 1e-10, NULL, 0.0), *sim = NULL;
        cal_sim_def def = cal_default_sim_def();
        def.relative = 1e-10, def.stabilize = laws[i];
        assert_int_equal(cal_sim_create(string, &def, &sim, NULL), CAL_OK);
        for (int k = 1; k <= 20; k++) {
            cal_test_advance_sim(expected, 0.1 * k), cal_test_advance_sim(sim, 0.1 * k);
            const double angle = cal_sim_q(expected)[0], rate = cal_sim_v(expected)[0];
            cal_test_expect_below(fabs(cal_sim_q(sim)[0] + sin(angle)), 1e-7, "x", laws[i]);
            cal_test_expect_below(fabs(cal_sim_q(sim)[1] + cos(angle)), 1e-7, "z", laws[i]);
            // The string pulls with m (g cos q + l q̇²).
            double pull, wrench[6];
            assert_int_equal(cal_sim_constraint_forces(sim, 0, &pull, wrench), CAL_OK);
            cal_test_expect_below(fabs(-pull - (9.81 * cos(angle) + rate * rate)), 1e-5, "tension", laws[i]);
            cal_test_expect_below(fabs(wrench[0] - pull * cal_sim_q(sim)[0]), 1e-7, "force", laws[i]);
        }
        cal_sim_destroy(sim), cal_sim_destroy(expected);
        cal_model_destroy(hinge), cal_model_destroy(string);
    }
}

// Steady rolling of a disk that leans by θ and turns with Ω about the vertical. k = (0, cos, −sin) is its axis, m = (0, sin, cos)
// points from the contact to the centre, w is the angular velocity along k: v = R w x̂, H = C w k + A Ω cos θ m, and from
// dH/dt = Ω ẑ × H = (−R m) × (Ω R w ŷ + g ẑ) per unit of mass:   R g sin θ = Ω cos θ ((C + R²) w + A Ω sin θ).
static void a_leaning_disk_rolls_in_a_circle(void** state) {
    (void)state;
    const double R = 0.5, turn = 1.5, g = 9.81, A = 0.25 * R * R, C = 0.5 * R * R, s = sin(0.3), c = cos(0.3);
    const double speed = R * (R * g * s / (turn * c) - A * turn * s) / (C + R * R);
    char name[160];
    snprintf(name, sizeof name, "rolling-disk:radius=0.5,tilt=0.3,turn=1.5,speed=%.17g", speed);
    cal_model* model = cal_test_model(name);
    cal_sim* sim = cal_test_open_sim(model, "rkf", 1e-9, NULL, 0.0);
    const double* q = cal_sim_q(sim);
    const double radius = speed / turn, center[2] = {q[0], q[1] + radius}, height = q[2];
    for (int k = 1; k <= 50; k++) {
        cal_test_advance_sim(sim, 0.1 * k);
        q = cal_sim_q(sim);
        cal_test_expect_below(fabs(q[2] - height), 1e-6, "height", name);
        cal_test_expect_below(fabs(hypot(q[0] - center[0], q[1] - center[1]) - radius), 1e-5, "circle", name);
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// The IVP test set's reference solution at 0.03 s (Mazzia and Magherini, problem andrews).
static void andrews_squeezer_meets_its_reference(void** state) {
    (void)state;
    static const double expected[7] = {0.1581077119629904e2, -0.1575637105984298e2, 0.4082224013073101e-1,
                                       0.5244099658805304,   -0.5347301163226948,   0.1048080741042263e1,
                                       0.5347301163226948};
    cal_model* model = cal_test_model("andrews:strut=1e-9");
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-9, NULL, 0.0);
    cal_test_advance_sim(sim, 0.03);
    for (int i = 0; i < 7; i++) cal_test_expect_below(fabs(cal_sim_q(sim)[i] - expected[i]), 2e-4, "angle", "andrews");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// --- What is closed stays closed ---------------------------------------------------------------------------------------

typedef struct scene {
    const char* name;
    double time;
    int rows, rank;
} scene;

static const scene scenes[] = {
    {"pendulum:start=1.5707963,form=distance", 20, 1, 1},
    {"rail", 20, 2, 1},
    {"cart", 10, 3, 2},
    {"fivebar", 10, 2, 2},
    {"fourbar", 20, 4, 4},
    {"slidercrank", 20, 2, 2},
    {"slidercrank:rod=1", 20, 2, 2}, // over its dead point
    {"bricard", 20, 5, 4},
    {"rolling-disk", 20, 3, 3},
    {"ring:n=6", 5, 2, 2},
    {"ring:n=4", 10, 2, 2}, // folds thirty times
    {"ring:n=4,joint=ball,radius=0.02", 2, 3, 3},
};

static void scenes_keep_their_constraints_and_their_energy(void** state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        cal_model* model = cal_test_model(scenes[i].name);
        cal_sim* sim = cal_test_open_sim(model, "rkf", 3e-9, NULL, 0.0);
        double largest = 0.0, kinetic, potential;
        const double start = total_energy(sim);
        const int frames = (int)(10 * scenes[i].time);
        for (int k = 1; k <= frames; k++) {
            cal_test_advance_sim(sim, scenes[i].time * k / frames);
            assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
            largest = fmax(largest, kinetic);
            const cal_constraint_report now = look(sim);
            cal_test_expect_below(now.error, 1e-12, "error", scenes[i].name);
            cal_test_expect_below(now.speed, 1e-11, "speed", scenes[i].name);
        }
        const cal_constraint_report end = look(sim);
        assert_int_equal(end.rows, scenes[i].rows);
        assert_int_equal(end.rank, scenes[i].rank);
        cal_test_expect_below(end.error_max, 1e-9, "largest error", scenes[i].name);
        cal_test_expect_below(fabs(total_energy(sim) - start) / largest, 1e-6, "energy drift", scenes[i].name);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// Projections take one solver's equation as it is: with half the step rk4 errs by a sixteenth.
static void projections_keep_the_order(void** state) {
    (void)state;
    static const char* const names[] = {"slidercrank", "fivebar", "ring:n=5"};
    for (int i = 0; i < 3; i++) {
        cal_model* model = cal_test_model(names[i]);
        const size_t count = (size_t)cal_model_q_count(model);
        double *q[3] = {cal_test_numbers(count), cal_test_numbers(count), cal_test_numbers(count)}, error[2];
        for (int k = 0; k < 3; k++) {
            cal_sim_def def = cal_default_sim_def();
            cal_sim* sim = NULL;
            def.solver = "rk4", def.step = k == 2 ? 0.00025 : 0.008 / (k + 1);
            assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
            cal_test_advance_sim(sim, 0.4);
            memcpy(q[k], cal_sim_q(sim), count * sizeof(double));
            cal_sim_destroy(sim);
        }
        for (int k = 0; k < 2; k++) error[k] = cal_test_largest_difference(q[k], q[2], count);
        cal_test_expect_below(error[1], error[0] / 12.0, "error with half the step", names[i]);
        for (int k = 0; k < 3; k++) free(q[k]);
        cal_model_destroy(model);
    }
}

static void every_solver_keeps_them(void** state) {
    (void)state;
    static const char* const names[] = {"fivebar", "rolling-disk", "bricard"};
    for (int i = 0; i < 3; i++) {
        cal_model* model = cal_test_model(names[i]);
        double* expected = cal_test_numbers((size_t)cal_model_q_count(model));
        for (int k = 0; cal_solver_name(k); k++) {
            cal_sim_def def = cal_default_sim_def();
            def.solver = cal_solver_name(k), def.relative = 1e-7, def.step = 1e-3;
            cal_sim* sim = NULL;
            assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
            cal_test_advance_sim(sim, 1.0);
            const cal_constraint_report report = look(sim);
            cal_test_expect_below(report.error_max, 1e-11, def.solver, names[i]);
            cal_test_expect_below(report.speed, 1e-11, def.solver, names[i]);
            const double allowed = strcmp(def.solver, "euler") == 0 ? 0.2 : 1e-4;
            if (k == 0) memcpy(expected, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof(double));
            cal_test_expect_below(
                cal_test_largest_difference(expected, cal_sim_q(sim), (size_t)cal_model_q_count(model)), allowed,
                def.solver, names[i]);
            cal_sim_destroy(sim);
        }
        free(expected);
        cal_model_destroy(model);
    }
}

static void machines_have_the_same_bits(void** state) {
    (void)state;
    static const char* const names[] = {"fourbar:n=7", "ring:n=9,joint=ball", "rolling-disk", "bricard"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        uint64_t expected = 0;
        for (int k = 0; k < 6; k++) {
            cal_sim_def def = cal_default_sim_def();
            cal_threads_def threads = cal_default_threads_def();
            threads.workers = k - 2;
            if (k < 4 && 1 << k > cal_best_lanes()) continue;
            if (k < 4)
                assert_int_equal(cal_machine_serial(1 << k, &def.machine, NULL), CAL_OK);
            else
                assert_int_equal(cal_machine_threads(&threads, &def.machine, NULL), CAL_OK);
            cal_sim* sim = NULL;
            assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
            cal_test_advance_sim(sim, 0.7);
            if (k == 0) expected = cal_sim_hash(sim);
            assert_true(cal_sim_hash(sim) == expected);
            cal_sim_destroy(sim);
            cal_machine_destroy(def.machine);
        }
        cal_model_destroy(model);
    }
}

static void many_loops_run(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar:n=1000");
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-6, NULL, 0.0);
    cal_test_advance_sim(sim, 0.05);
    // All bars stay parallel, as the angle of one pendulum.
    for (int i = 0; i < 1000; i++)
        cal_test_expect_below(fabs(cal_sim_q(sim)[2 * i] - cal_sim_q(sim)[0]), 1e-9, "bar", "fourbar");
    cal_test_expect_below(look(sim).error_max, 1e-9, "error", "fourbar:n=1000");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// --- Stabilisation -----------------------------------------------------------------------------------------------------

// Bars that stay parallel are one pendulum, upright at q = 0 with a rate of one: with k = g/l · ((n + 1)/2 + n) / ((n + 1)/3 + n)
// its accelerations are k sin q, and q̇² = 1 + 2 k (1 − cos q). They lie flat at 0.72 s and at 1.24 s.
static void many_loops_pass_their_flat_position(void** state) {
    (void)state;
    static const char name[] = "fourbar:n=300";
    const int n = 300;
    const double k = 9.81 * ((n + 1) / 2.0 + n) / ((n + 1) / 3.0 + n);
    cal_model* model = cal_test_model(name);
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-8, NULL, 0.0);
    double* qdd = cal_test_numbers((size_t)cal_model_v_count(model));
    for (int frame = 1; frame <= 13; frame++) {
        cal_test_advance_sim(sim, 0.1 * frame);
        const double *q = cal_sim_q(sim), *v = cal_sim_v(sim);
        cal_test_expect_below(fabs(v[0] * v[0] - 1.0 - 2.0 * k * (1.0 - cos(q[0]))), 1e-6, "rate", name);
        for (int i = 1; i <= n; i++) cal_test_expect_below(fabs(q[2 * i] - q[0]), 1e-7, "parallel", name);
        assert_int_equal(cal_sim_accelerations(sim, qdd), CAL_OK);
        for (int i = 0; i <= n; i++) cal_test_expect_below(fabs(qdd[2 * i] - k * sin(q[0])), 1e-4, "q̈", name);
    }
    cal_test_expect_below(look(sim).error_max, 1e-10, "error", name);
    assert_int_equal(cal_sim_accelerations(sim, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_accelerations(NULL, qdd), CAL_BAD_ARGUMENT);
    free(qdd);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Over folds and flat positions, with the default solver and with assembly.
static void energy_is_kept_over_singular_positions(void** state) {
    (void)state;
    static const struct {
        const char *name, *solver, *algorithm;
        double tolerance, allowed;
    } runs[] = {{"fourbar:n=3", "gear", "aba", 1e-8, 1e-6},  {"ring:n=4", "gear", "aba", 1e-8, 1e-6},
                {"fivebar", "gear", "aba", 1e-8, 1e-6},      {"bricard", "gear", "aba", 1e-8, 1e-6},
                {"ring:n=4", "rkf", "assembly", 1e-9, 1e-7}, {"fourbar:n=3", "rkf", "assembly", 1e-9, 1e-7}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i].name);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        def.solver = runs[i].solver, def.algorithm = runs[i].algorithm, def.relative = runs[i].tolerance;
        assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
        double largest = 0.0, kinetic, potential;
        const double start = total_energy(sim);
        for (int k = 1; k <= 50; k++) {
            cal_test_advance_sim(sim, 0.1 * k);
            assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
            largest = fmax(largest, kinetic);
            cal_test_expect_below(fabs(kinetic + potential - start) / largest, runs[i].allowed, runs[i].solver,
                                  runs[i].name);
        }
        cal_test_expect_below(look(sim).error_max, 1e-10, "error", runs[i].name);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

static void baumgarte_closes_what_is_open(void** state) {
    (void)state;
    cal_model* model = cal_test_model("pendulum:start=1,form=distance");
    for (int literal = 0; literal < 2; literal++) {
        cal_sim_def def = cal_default_sim_def();
        def.stabilize = literal ? "literal" : "baumgarte";
        def.gain = 10.0, def.relative = 1e-8;
        cal_sim* sim = NULL;
        assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
        const double q[2] = {-0.9, -0.6}, v[2] = {0.0, 0.0};
        assert_int_equal(cal_sim_set(sim, 0.0, q, v, NULL), CAL_OK);
        const double open = look(sim).error;
        const double rate = look(sim).speed;
        // ë + 2K ė + c e = 0 with e(0), ė(0): both solutions in closed form.
        const double c = literal ? 10.0 : 100.0, root = sqrt(fmax(100.0 - c, 0.0));
        cal_test_advance_sim(sim, 0.25);
        const double fast = -10.0 - root, slow = -10.0 + root, t = 0.25;
        const double expected =
            root > 0.0 ? ((rate - slow * open) * exp(fast * t) - (rate - fast * open) * exp(slow * t)) / (fast - slow)
                       : (open + (rate + 10.0 * open) * t) * exp(-10.0 * t);
        cal_test_expect_below(fabs(look(sim).error - fabs(expected)), 1e-6, "error", def.stabilize);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

// A gain just below the limit is stable, one just above is not.
static void the_limit_of_a_gain_is_where_it_breaks(void** state) {
    (void)state;
    static const char* const solvers[] = {"euler", "rk4"};
    static const char* const laws[] = {"baumgarte", "literal"};
    cal_model* model = cal_test_model("rail:speed=0");
    for (int i = 0; i < 4; i++) {
        const double limit = cal_stabilize_limit(laws[i % 2], solvers[i / 2], 1e-3);
        for (int above = 0; above < 2; above++) {
            cal_sim_def def = cal_default_sim_def();
            def.stabilize = laws[i % 2], def.solver = solvers[i / 2], def.step = 1e-3;
            def.gain = limit * (above ? 1.02 : 0.98);
            cal_sim* sim = NULL;
            assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
            const double q[2] = {1.0 + 1e-9, 0.0};
            assert_int_equal(cal_sim_set(sim, 0.0, q, NULL, NULL), CAL_OK);
            const cal_status status = cal_sim_advance(sim, 1.0, NULL);
            const double error = status ? (double)INFINITY : look(sim).error;
            if (above)
                assert_true(error > 1e-8);
            else
                cal_test_expect_below(error, 2e-9, laws[i % 2], solvers[i / 2]);
            cal_sim_destroy(sim);
        }
    }
    assert_true(isinf(cal_stabilize_limit("baumgarte", "gear", 1e-3)));
    assert_true(isinf(cal_stabilize_limit("projection", "rk4", 1e-3)));
    assert_true(cal_stabilize_limit("nonsense", "rk4", 1e-3) == 0.0);
    cal_model_destroy(model);
}

// --- Rank --------------------------------------------------------------------------------------------------------------

// A swinging rod whose end is tied to a free body by constraints that a test chooses.
static cal_model* tied_rod(const cal_constraint_def* defs, int count) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def rod = cal_default_body_def(), ball = cal_default_body_def();
    rod.name = "rod", ball.name = "ball";
    rod.mass = ball.mass = 1.0;
    rod.center[0] = 0.5;
    ball.position[0] = 1.0;
    for (int k = 0; k < 3; k++) rod.inertia[k] = ball.inertia[k] = 0.1;
    cal_joint_def hinge = cal_default_joint_def(), loose = cal_default_joint_def();
    hinge.axis[1] = 1.0, hinge.axis[2] = 0.0;
    loose.kind = CAL_FREE;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &rod), &hinge);
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &ball), &loose);
    for (int i = 0; i < count; i++) cal_builder_add_constraint(builder, &defs[i]);
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static cal_constraint_def weld_at(double x) {
    cal_constraint_def weld = cal_default_constraint_def();
    weld.body[0] = 0, weld.body[1] = 1;
    weld.position[0][0] = x;
    return weld;
}

static void what_is_held_twice_moves_as_if_held_once(void** state) {
    (void)state;
    cal_constraint_def welds[2] = {weld_at(1.0), weld_at(1.0)};
    welds[1].position[0][0] = 1.5, welds[1].position[1][0] = 0.5; // elsewhere on both bodies: the same equations, mixed
    cal_model *once = tied_rod(welds, 1), *twice = tied_rod(welds, 2);
    cal_sim *single = cal_test_open_sim(once, "rkf", 1e-9, NULL, 0.0),
            *both = cal_test_open_sim(twice, "rkf", 1e-9, NULL, 0.0);
    cal_test_advance_sim(single, 2.0), cal_test_advance_sim(both, 2.0);
    cal_test_expect_below(cal_test_largest_difference(cal_sim_q(single), cal_sim_q(both), 8), 1e-6, "motion", "welds");
    const cal_constraint_report report = look(both);
    assert_int_equal(report.rows, 12);
    assert_int_equal(report.rank, 6);
    // Together they carry what one carries alone.
    double alone[6], first[6], second[6];
    assert_int_equal(cal_sim_constraint_forces(single, 0, NULL, alone), CAL_OK);
    assert_int_equal(cal_sim_constraint_forces(both, 0, NULL, first), CAL_OK);
    assert_int_equal(cal_sim_constraint_forces(both, 1, NULL, second), CAL_OK);
    for (int k = 0; k < 3; k++) cal_test_expect_below(fabs(first[k] + second[k] - alone[k]), 1e-4, "force", "welds");
    assert_true(fabs(second[0]) + fabs(second[1]) + fabs(second[2]) > 0.1);
    cal_sim_destroy(single), cal_sim_destroy(both);
    cal_model_destroy(once), cal_model_destroy(twice);
}

static void contradictions_are_named(void** state) {
    (void)state;
    cal_constraint_def welds[2] = {weld_at(1.0), weld_at(1.25)};
    welds[0].name = "good", welds[1].name = "bad";
    cal_model* model = tied_rod(welds, 2);
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-6, NULL, 0.0);
    cal_error error = {0};
    // A quarter of a metre is open at the start.
    assert_int_equal(cal_sim_advance(sim, 1.0, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "'bad' is open by 0.25"));
    const uint64_t hash = cal_sim_hash(sim);
    assert_int_equal(cal_sim_project(sim, &error), CAL_NOT_CONVERGED);
    assert_non_null(strstr(error.text, "contradicts"));
    assert_true(cal_sim_hash(sim) == hash);
    // Without the one the other holds.
    assert_int_equal(cal_sim_disconnect(sim, 1, &error), CAL_OK);
    cal_test_advance_sim(sim, 0.5);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void a_start_beside_the_constraints_is_refused_or_projected(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fivebar");
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-8, NULL, 0.0);
    cal_error error = {0};
    double q[4], v[4] = {0.0, 0.0, 0.0, 0.0};
    cal_model_initial(model, q, NULL, NULL);
    q[0] += 0.3;
    assert_int_equal(cal_sim_set(sim, 0.0, q, v, NULL), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, 1.0, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "constraint 'hands' is open by"));
    assert_int_equal(cal_sim_project(sim, &error), CAL_OK);
    cal_test_expect_below(look(sim).error, 1e-13, "error", "fivebar");
    v[0] = 1.0;
    assert_int_equal(cal_sim_set(sim, 0.0, NULL, v, NULL), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, 1.0, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "broken by a speed of"));
    assert_int_equal(cal_sim_project(sim, &error), CAL_OK);
    cal_test_expect_below(look(sim).speed, 1e-13, "speed", "fivebar");
    cal_test_advance_sim(sim, 1.0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// --- Connecting --------------------------------------------------------------------------------------------------------

// Two free balls on one line; one catches the other.
static cal_model* two_balls(void) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    const double none[3] = {0.0, 0.0, 0.0};
    cal_builder_set_gravity(builder, none);
    for (int i = 0; i < 2; i++) {
        cal_body_def ball = cal_default_body_def();
        ball.mass = 1.0 + 2.0 * i;
        for (int k = 0; k < 3; k++) ball.inertia[k] = 0.1;
        cal_joint_def loose = cal_default_joint_def();
        loose.kind = CAL_FREE;
        loose.initial_q[0] = -1.0 + i;
        loose.initial_v[0] = 1.0 - i;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &ball), &loose);
    }
    cal_constraint_def grip = cal_default_constraint_def();
    grip.name = "grip";
    grip.kind = CAL_LOOP_BALL;
    grip.body[0] = 0, grip.body[1] = 1;
    grip.inactive = true;
    cal_builder_add_constraint(builder, &grip);
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    return model;
}

static void what_is_caught_keeps_its_momentum(void** state) {
    (void)state;
    cal_model* model = two_balls();
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-10, NULL, 0.0);
    cal_error error = {0};
    assert_false(cal_sim_connected(sim, 0));
    assert_int_equal(cal_sim_connect(sim, 0, CAL_CONNECT_SMOOTH, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "'grip' is open by 1 "));
    cal_test_advance_sim(sim, 1.0);
    assert_int_equal(cal_sim_connect(sim, 0, CAL_CONNECT_SMOOTH, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "would stop a speed of 1 "));
    assert_false(cal_sim_connected(sim, 0));
    assert_int_equal(cal_sim_connect(sim, 0, CAL_CONNECT_INELASTIC, &error), CAL_OK);
    assert_true(cal_sim_connected(sim, 0));
    cal_test_expect_below(fabs(cal_sim_v(sim)[0] - 0.25) + fabs(cal_sim_v(sim)[6] - 0.25), 1e-12, "speed", "balls");
    cal_test_advance_sim(sim, 2.0);
    cal_test_expect_below(fabs(cal_sim_q(sim)[7] - 0.25), 1e-9, "place", "balls");
    assert_int_equal(cal_sim_disconnect(sim, 0, &error), CAL_OK);
    // Nothing moves there: now it goes smoothly.
    assert_int_equal(cal_sim_connect(sim, 0, CAL_CONNECT_SMOOTH, &error), CAL_OK);
    cal_test_advance_sim(sim, 3.0);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Two blocks on lines: the first is to be caught after a second on its way; the second rubs, and comes to rest a hundredth of a second later, in the same
// step of a solver for which all of that is a parabola.
static cal_model* blocks_that_meet_events(void) {
    cal_builder* builder = cal_test_builder(0.0);
    for (int i = 0; i < 2; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def line = cal_default_joint_def();
        body.mass = 1.0;
        line.kind = CAL_PRISMATIC, line.initial_v[0] = 1.0;
        if (i == 1) line.friction_loss = 1.0 / 1.01;
        cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &line);
    }
    cal_constraint_def stop = cal_default_constraint_def();
    stop.kind = CAL_COUPLING, stop.joint[0] = 0, stop.joint[1] = CAL_NONE, stop.polynomial[0] = 1.0;
    stop.inactive = true;
    cal_builder_add_constraint(builder, &stop);
    return cal_test_finish(builder);
}

static void what_waits_is_caught_when_its_gap_closes_or_never(void** state) {
    (void)state;
    static const char* const solvers[] = {"gear", "rkf", "rkck", "rk4", "implicit"};
    cal_model* model = blocks_that_meet_events();
    for (int i = 0; i < 10; i++) {
        const bool lets_go = i % 2 == 1;
        cal_sim* sim = cal_test_open_sim(model, solvers[i / 2], 1e-6, NULL, 0.0);
        cal_error error;
        cal_constraint_report report;
        assert_int_equal(cal_sim_catch(sim, 0, &error), CAL_OK);
        cal_test_advance_sim(sim, 0.995);
        if (lets_go) assert_int_equal(cal_sim_disconnect(sim, 0, &error), CAL_OK);
        cal_test_advance_sim(sim, 1.5);
        cal_test_expect_below(fabs(cal_sim_q(sim)[0] - (lets_go ? 1.5 : 1.0)), 1e-9, "first block", solvers[i / 2]);
        cal_test_expect_below(fabs(cal_sim_q(sim)[1] - 0.505), 1e-4, "second block", solvers[i / 2]);
        assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
        assert_int_equal(report.caught, lets_go ? 0 : 1);
        assert_int_equal(report.waiting, 0);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

static void connecting_ten_thousand_times_takes_no_memory(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar:n=4");
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-4, NULL, 0.0);
    cal_test_advance_sim(sim, 1e-3);
    (void)look(sim);
    const int64_t before = cal_live_allocations();
    for (int k = 0; k < 10000; k++) {
        assert_int_equal(cal_sim_disconnect(sim, k % 4, NULL), CAL_OK);
        if (k % 100 == 0) cal_test_advance_sim(sim, cal_sim_time(sim) + 1e-5);
        cal_error error;
        if (cal_sim_connect(sim, k % 4, CAL_CONNECT_INELASTIC, &error)) fail_msg("%s", error.text);
    }
    cal_test_advance_sim(sim, cal_sim_time(sim) + 1e-2);
    assert_int_equal(cal_live_allocations(), before);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void mistakes_are_refused(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fivebar");
    cal_sim* sim = cal_test_open_sim(model, "gear", 1e-6, NULL, 0.0);
    cal_error error = {0};
    assert_int_equal(cal_sim_connect(sim, 1, CAL_CONNECT_SMOOTH, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "constraint 1 is not there"));
    assert_int_equal(cal_sim_connect(sim, -1, CAL_CONNECT_SMOOTH, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_connect(sim, 0, (cal_connection)7, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_disconnect(NULL, 0, NULL), CAL_BAD_ARGUMENT);
    assert_int_equal(cal_sim_constraint_forces(sim, 5, NULL, NULL), CAL_BAD_ARGUMENT);
    assert_false(cal_sim_connected(sim, 9));
    cal_sim_destroy(sim);
    cal_sim_def def = cal_default_sim_def();
    def.stabilize = "glue";
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "'glue' is unknown"));
    def.stabilize = "baumgarte", def.gain = -1.0;
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_BAD_ARGUMENT);
    def.gain = (double)NAN;
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_BAD_ARGUMENT);
    cal_model_destroy(model);
}

static void a_lack_of_memory_is_survived(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar:n=3");
    for (int after = 0;; after++) {
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        const int64_t before = cal_live_allocations();
        cal_fail_allocation(after);
        const cal_status status = cal_sim_create(model, &def, &sim, NULL);
        cal_fail_allocation(-1);
        cal_sim_destroy(sim);
        assert_int_equal(cal_live_allocations(), before);
        if (status == CAL_OK) break;
        assert_int_equal(status, CAL_NO_MEMORY);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces_agree_with_a_dense_solve),
        cmocka_unit_test(a_particle_on_a_string_is_a_pendulum),
        cmocka_unit_test(a_leaning_disk_rolls_in_a_circle),
        cmocka_unit_test(andrews_squeezer_meets_its_reference),
        cmocka_unit_test(scenes_keep_their_constraints_and_their_energy),
        cmocka_unit_test(projections_keep_the_order),
        cmocka_unit_test(every_solver_keeps_them),
        cmocka_unit_test(machines_have_the_same_bits),
        cmocka_unit_test(many_loops_run),
        cmocka_unit_test(many_loops_pass_their_flat_position),
        cmocka_unit_test(energy_is_kept_over_singular_positions),
        cmocka_unit_test(baumgarte_closes_what_is_open),
        cmocka_unit_test(the_limit_of_a_gain_is_where_it_breaks),
        cmocka_unit_test(what_is_held_twice_moves_as_if_held_once),
        cmocka_unit_test(contradictions_are_named),
        cmocka_unit_test(a_start_beside_the_constraints_is_refused_or_projected),
        cmocka_unit_test(what_is_caught_keeps_its_momentum),
        cmocka_unit_test(what_waits_is_caught_when_its_gap_closes_or_never),
        cmocka_unit_test(connecting_ten_thousand_times_takes_no_memory),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(a_lack_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
