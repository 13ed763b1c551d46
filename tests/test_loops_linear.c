// Many loops in one tree, closed in the order of the tree: against assembly, which closes them another way; connecting and letting
// go; redundant rows; motion.
#include "constraint/constraint.h"
#include "model/coordinates.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool in_order_of_tree(const cal_model* model) {
    cal_constraints* set = NULL;
    assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
    const bool out = set->loops;
    cal_constraints_destroy(set);
    return out;
}

static cal_sim* open_sim(const cal_model* model, const char* algorithm, double tolerance) {
    cal_sim_def def = cal_default_sim_def();
    def.algorithm = algorithm;
    def.relative = tolerance;
    return cal_test_create_sim(model, &def);
}

// Where a mechanism is after a while, with joint forces of all sizes.
static void agrees_with_assembly(void** state) {
    (void)state;
    static const char* const names[] = {"tower:n=30", "tower:n=59,lean=0.4", "scissor:n=40", "scissor:n=60,angle=0.5"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        assert_true(in_order_of_tree(model));
        const size_t n = (size_t)cal_model_v_count(model);
        double *tau = cal_test_numbers(n), *own = cal_test_numbers(n), *other = cal_test_numbers(n);
        cal_sim *sim = open_sim(model, "aba", 1e-8), *with = open_sim(model, "aba", 1e-8);
        cal_error error;
        for (size_t k = 0; k < n; k++) tau[k] = 30.0 * sin(1.0 + 1.7 * (double)k);
        assert_int_equal(cal_sim_drive(sim, tau, NULL, NULL), CAL_OK);
        if (cal_sim_advance(sim, 0.02, &error)) fail_msg("%s: %s", names[i], error.text);
        assert_int_equal(cal_sim_accelerations(sim, own), CAL_OK);
        cal_test_engine assembly = cal_test_open(model, "assembly", 0);
        assert_int_equal(cal_state_set(assembly.state, CAL_Q, cal_sim_q(sim)), CAL_OK);
        assert_int_equal(cal_state_set(assembly.state, CAL_V, cal_sim_v(sim)), CAL_OK);
        assert_int_equal(cal_state_set(assembly.state, CAL_TAU, tau), CAL_OK);
        assert_int_equal(cal_state_hold(assembly.state, 0, 0), CAL_OK);
        cal_test_execute(&assembly);
        assert_int_equal(cal_state_get(assembly.state, CAL_QDD, other), CAL_OK);
        const double scale = cal_test_largest(other, n);
        cal_test_expect_below(cal_test_largest_difference(own, other, n), 1e-8 * scale, "accelerations", names[i]);
        cal_constraint_report c;
        assert_int_equal(cal_sim_constraints(sim, &c), CAL_OK);
        assert_int_equal(c.rank, c.rows);
        cal_test_expect_below(c.error_max, 1e-12, "loops", names[i]);
        cal_test_close(&assembly);
        cal_sim_destroy(sim), cal_sim_destroy(with);
        free(tau), free(own), free(other);
        cal_model_destroy(model);
    }
}

// Loops that are let go do not act, whatever is closed above and below them.
static void lets_go(void** state) {
    (void)state;
    cal_model* model = cal_test_model("tower:n=40");
    assert_true(in_order_of_tree(model));
    const size_t n = (size_t)cal_model_v_count(model);
    double *own = cal_test_numbers(n), *other = cal_test_numbers(n);
    cal_sim *sim = open_sim(model, "aba", 1e-8), *with = open_sim(model, "assembly", 1e-8);
    static const int gone[] = {0, 17, 18, 39};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        assert_int_equal(cal_sim_disconnect(sim, gone[i], NULL), CAL_OK);
        assert_int_equal(cal_sim_disconnect(with, gone[i], NULL), CAL_OK);
    }
    assert_int_equal(cal_sim_connect(sim, 18, CAL_CONNECT_SMOOTH, NULL), CAL_OK);
    assert_int_equal(cal_sim_connect(with, 18, CAL_CONNECT_SMOOTH, NULL), CAL_OK);
    assert_int_equal(cal_sim_advance(sim, 0.05, NULL), CAL_OK);
    assert_int_equal(cal_sim_advance(with, 0.05, NULL), CAL_OK);
    cal_test_expect_below(cal_test_largest_difference(cal_sim_q(sim), cal_sim_q(with), n), 1e-8, "positions", "tower");
    free(own), free(other);
    cal_sim_destroy(sim), cal_sim_destroy(with);
    cal_model_destroy(model);
}

// A tower whose loops are hinges: three of the five rows of each follow from the tree's own plane. The motion is that of two rows.
static void redundant_rows_are_dropped(void** state) {
    (void)state;
    cal_model *plain = cal_test_model("tower:n=20"), *model = NULL;
    cal_builder* builder = cal_test_same_bodies(plain);
    cal_error error;
    for (int i = 0; i < cal_model_joint_count(plain); i++) {
        cal_joint_def joint;
        int body;
        cal_model_joint(plain, i, &joint, &body, NULL, NULL);
        cal_builder_add_joint(builder, body, &joint);
    }
    for (int i = 0; i < cal_model_constraint_count(plain); i++) {
        cal_constraint_def def;
        cal_model_constraint(plain, i, &def);
        def.kind = CAL_LOOP_REVOLUTE;
        cal_builder_add_constraint(builder, &def);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    assert_true(in_order_of_tree(model));
    const size_t n = (size_t)cal_model_v_count(model);
    cal_sim *sim = open_sim(model, "aba", 1e-8), *with = open_sim(plain, "aba", 1e-8);
    if (cal_sim_advance(sim, 0.1, &error)) fail_msg("%s", error.text);
    if (cal_sim_advance(with, 0.1, &error)) fail_msg("%s", error.text);
    cal_constraint_report c;
    assert_int_equal(cal_sim_constraints(sim, &c), CAL_OK);
    assert_int_equal(c.rows, 100);
    assert_int_equal(c.rank, 40);
    cal_test_expect_below(cal_test_largest_difference(cal_sim_q(sim), cal_sim_q(with), n), 1e-7, "positions", "hinges");
    cal_sim_destroy(sim), cal_sim_destroy(with);
    cal_model_destroy(model), cal_model_destroy(plain);
}

// A thousand loops in one tree run.
static void a_thousand_loops_run(void** state) {
    (void)state;
    cal_model* model = cal_test_model("tower:n=1000");
    cal_sim* sim = open_sim(model, "aba", 1e-6);
    cal_error error;
    cal_constraint_report c;
    if (cal_sim_advance(sim, 0.001, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_constraints(sim, &c), CAL_OK);
    assert_int_equal(c.rank, 2000);
    cal_test_expect_below(c.error_max, 1e-10, "loops", "tower:n=1000");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A tower on a free base whose joints are of every kind and have springs, dampers and rotors.
static cal_model* mixed_tower(void) {
    cal_model *plain = cal_test_model("tower:n=24"), *model = NULL;
    cal_builder* builder = cal_test_same_bodies(plain);
    cal_error error;
    for (int i = 0; i < cal_model_joint_count(plain); i++) {
        static const cal_joint_kind kinds[] = {CAL_REVOLUTE, CAL_BALL, CAL_REVOLUTE, CAL_PRISMATIC, CAL_BALL};
        cal_joint_def joint;
        int body;
        cal_model_joint(plain, i, &joint, &body, NULL, NULL);
        joint.kind = i == 0 ? CAL_FREE : kinds[i % 5];
        memset(joint.initial_q, 0, sizeof joint.initial_q);
        joint.armature = 0.02 * (i % 3), joint.damping = 0.1 * (i % 4);
        if (joint.kind != CAL_FREE) joint.stiffness = 0.5 * (i % 2);
        cal_builder_add_joint(builder, body, &joint);
    }
    for (int i = 0; i < cal_model_constraint_count(plain); i++) {
        cal_constraint_def def;
        cal_model_constraint(plain, i, &def);
        cal_builder_add_constraint(builder, &def);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_model_destroy(plain);
    return model;
}

// A tower that stands in the plane across axis `normal` of the world, of hinges that turn either way, with bodies beside each other across
// it and moments of inertia that are not along it.
static cal_model* plane_tower(int normal) {
    static const double turns[3][4] = {{0.5, 0.5, 0.5, 0.5}, {0.5, -0.5, -0.5, -0.5}, {1.0, 0.0, 0.0, 0.0}};
    static const double gravity[3] = {3.0, -9.0, 2.0};
    cal_model *plain = cal_test_model("tower:n=24"), *model = NULL;
    cal_builder* builder = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, gravity);
    for (int i = 0; i < cal_model_body_count(plain); i++) {
        cal_body_def body;
        cal_model_body(plain, i, &body);
        body.position[2] = 0.1 * (i % 3), body.center[2] = 0.2 - 0.1 * (i % 4);
        body.inertia[0] += 0.1, body.inertia[1] += 0.1, body.inertia[2] += 0.1;
        body.inertia[4] = 0.01 * (i % 3), body.inertia[5] = -0.02;
        if (body.parent == CAL_GROUND) {
            const double at[3] = {body.position[0], body.position[1], body.position[2]};
            memcpy(body.quaternion, turns[normal], sizeof body.quaternion);
            for (int d = 0; d < 3; d++) body.position[(d + normal + 1) % 3] = at[d];
        }
        cal_builder_add_body(builder, &body);
    }
    for (int i = 0; i < cal_model_joint_count(plain); i++) {
        cal_joint_def joint;
        int body;
        cal_model_joint(plain, i, &joint, &body, NULL, NULL);
        if (i % 4 == 1) joint.axis[2] = -1.0, joint.initial_q[0] = -joint.initial_q[0];
        joint.armature = 0.02 * (i % 3), joint.damping = 0.1 * (i % 4), joint.stiffness = 0.5 * (i % 2);
        cal_builder_add_joint(builder, body, &joint);
    }
    for (int i = 0; i < cal_model_constraint_count(plain); i++) {
        cal_constraint_def def;
        cal_model_constraint(plain, i, &def);
        cal_builder_add_constraint(builder, &def);
    }
    if (cal_builder_finish(builder, &model, &error)) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    cal_model_destroy(plain);
    cal_constraints* set = NULL;
    assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
    assert_true(set->loops && set->loop_factor->wide == CAL_LOOP_PLANE);
    assert_int_equal(set->loop_factor->axes[0], normal);
    cal_constraints_destroy(set);
    return model;
}

typedef struct push {
    int body;
    double force[3], torque[3], point[3];
} push;
static const push pushes[] = {{7, {3.0, -20.0, 8.0}, {0.5, 1.0, -2.0}, {0.1, 0.2, 0.3}},
                              {40, {-9.0, 4.0, 1.0}, {0.0, 0.0, 0.0}, {0.0, 1.0, -0.2}},
                              {7, {1.0, 1.0, 1.0}, {0.0, 0.0, 0.3}, {0.0, 0.0, 0.0}}};
enum { PUSHES = sizeof pushes / sizeof pushes[0] };

// M q̈ = M q̈₀ + Aᵀλ, A q̈ = −Ȧ q̇ as one dense system, q̈₀ by articulated bodies without constraints.
static void solve_whole(const cal_model* model, const double* q, const double* v, const double* tau, double* out) {
    const size_t n = (size_t)cal_model_v_count(model);
    cal_constraints* set = NULL;
    cal_dynamics* dynamics = NULL;
    assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    const size_t rows = (size_t)set->row_count, N = n + rows;
    double *M = cal_test_numbers(n * n), *A = cal_test_numbers(rows * n), *noise = cal_test_numbers(rows),
           *bias = cal_test_numbers(rows), *free_qdd = cal_test_numbers(n), *K = cal_test_numbers(N * N),
           *b = cal_test_numbers(N);
    cal_test_engine engine = cal_test_open(model, "aba", 1);
    assert_int_equal(cal_state_set(engine.state, CAL_Q, q), CAL_OK);
    assert_int_equal(cal_state_set(engine.state, CAL_V, v), CAL_OK);
    assert_int_equal(cal_state_set(engine.state, CAL_TAU, tau), CAL_OK);
    for (int i = 0; i < PUSHES; i++)
        cal_state_push(engine.state, pushes[i].body, pushes[i].force, pushes[i].torque, pushes[i].point);
    cal_test_execute(&engine);
    assert_int_equal(cal_state_get(engine.state, CAL_QDD, free_qdd), CAL_OK);
    assert_int_equal(cal_dynamics_mass(dynamics, q, M), CAL_OK);
    cal_constraints_dense(set, q, v, A, noise, bias);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) K[i * N + k] = M[i * n + k], b[i] += M[i * n + k] * free_qdd[k];
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < n; k++) K[(n + i) * N + k] = A[i * n + k], K[k * N + n + i] = -A[i * n + k];
        b[n + i] = -bias[i];
    }
    assert_true(cal_test_solve_dense(K, b, N));
    memcpy(out, b, n * sizeof *out);
    cal_test_close(&engine);
    cal_dynamics_destroy(dynamics);
    cal_constraints_destroy(set);
    free(M), free(A), free(noise), free(bias), free(free_qdd), free(K), free(b);
}

// What a step moves by is the solution of the whole system, whatever acts: one of Euler's has v₁ = v₀ + h q̈.
static void expect_all_forces(cal_model* model, const char* name) {
    static const double h = 1.0 / 1024.0; // a power of two rounds nothing
    assert_true(in_order_of_tree(model));
    const size_t n = (size_t)cal_model_v_count(model), q_count = (size_t)cal_model_q_count(model);
    double *q = cal_test_numbers(q_count), *v = cal_test_numbers(n), *tau = cal_test_numbers(n),
           *expected = cal_test_numbers(n), *own = cal_test_numbers(n);
    cal_model_initial(model, q, v, NULL);
    for (size_t i = 0; i < n; i++) v[i] = 0.3 * sin(1.0 + 2.3 * (double)i), tau[i] = 5.0 * cos(0.4 + 1.9 * (double)i);
    for (int i = 0; i < cal_model_joint_count(model); i++) { // any place will do
        cal_joint_def joint;
        int first;
        cal_model_joint(model, i, &joint, NULL, &first, NULL);
        for (int k = 0; k < cal_joint_q_count(joint.kind); k++) q[first + k] += 0.2 * sin(0.7 + 1.3 * (first + k));
    }
    cal_model_normalize(model, q);
    solve_whole(model, q, v, tau, expected);
    cal_sim_def def = cal_default_sim_def();
    cal_error error;
    def.solver = "euler", def.step = h, def.stabilize = "none";
    cal_sim* sim = cal_test_create_sim(model, &def);
    assert_int_equal(cal_sim_set(sim, 0.0, q, v, &error), CAL_OK);
    assert_int_equal(cal_sim_drive(sim, tau, NULL, NULL), CAL_OK);
    for (int i = 0; i < PUSHES; i++) {
        const push* p = &pushes[i];
        assert_int_equal(cal_sim_push(sim, p->body, p->force, p->torque, p->point), CAL_OK);
    }
    if (cal_sim_advance(sim, h, &error)) fail_msg("%s", error.text);
    for (size_t i = 0; i < n; i++) own[i] = (cal_sim_v(sim)[i] - v[i]) / h;
    cal_test_expect_below(cal_test_largest_difference(own, expected, n), 1e-10 * cal_test_largest(expected, n),
                          "accelerations", name);
    cal_sim_destroy(sim);
    free(q), free(v), free(tau), free(expected), free(own);
    cal_model_destroy(model);
}

static void a_step_has_all_forces(void** state) {
    (void)state;
    expect_all_forces(mixed_tower(), "a tower of all joints");
    expect_all_forces(plane_tower(0), "a tower across x");
    expect_all_forces(plane_tower(1), "a tower across y");
    expect_all_forces(plane_tower(2), "a tower across z");
}

// The accelerations of a net's masses are Newton's: m ẍ = m g + Aᵀλ with |xᵢ − xₖ| constant, solved as one dense system.
static void a_net_obeys_newton(void** state) {
    (void)state;
    enum { WIDE = 4, TALL = 3, MASSES = WIDE * TALL, BARS = MASSES + (WIDE - 1) * TALL, N = 3 * MASSES + BARS };
    static const double length = 0.1, mass = 0.1, gravity = 9.81, start = 0.5;
    cal_model* model = cal_test_model("net:wide=4,tall=3");
    cal_sim* sim = open_sim(model, "aba", 1e-8);
    cal_error error;
    // Every mass is pulled another way for a while, so that the net is anything but flat.
    double tau[3 * MASSES], own[3 * MASSES];
    for (int i = 0; i < 3 * MASSES; i++) tau[i] = 2.0 * sin(1.0 + 1.7 * i);
    assert_int_equal(cal_sim_drive(sim, tau, NULL, NULL), CAL_OK);
    if (cal_sim_advance(sim, 0.1, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_accelerations(sim, own), CAL_OK);
    const double *q = cal_sim_q(sim), *v = cal_sim_v(sim);
    double x[MASSES][3], *K = cal_test_numbers((size_t)N * N), *b = cal_test_numbers(N);
    for (int i = 0; i < MASSES; i++) {
        const double down = length * (i / WIDE + 1);
        const double begin[3] = {length * (i % WIDE), sin(start) * down, -cos(start) * down};
        for (int d = 0; d < 3; d++) {
            x[i][d] = begin[d] + q[3 * i + d];
            K[(3 * i + d) * N + 3 * i + d] = mass;
            b[3 * i + d] = tau[3 * i + d] - (d == 2 ? mass * gravity : 0.0);
        }
    }
    int bar = 3 * MASSES;
    for (int i = 0; i < MASSES; i++)
        for (int side = 0; side < 2; side++) {
            const int other = side == 0 ? i - WIDE : i - 1;
            if (side == 1 && i % WIDE == 0) continue;
            double squares = 0.0;
            for (int d = 0; d < 3; d++) {
                const double from = other >= 0 ? x[other][d] : d == 0 ? length * i : 0.0;
                const double along = x[i][d] - from, speed = v[3 * i + d] - (other >= 0 ? v[3 * other + d] : 0.0);
                K[bar * N + 3 * i + d] = K[(3 * i + d) * N + bar] = along;
                if (other >= 0) K[bar * N + 3 * other + d] = K[(3 * other + d) * N + bar] = -along;
                squares += speed * speed;
            }
            b[bar++] = -squares;
        }
    assert_int_equal(bar, N);
    assert_true(cal_test_solve_dense(K, b, N));
    cal_test_expect_below(cal_test_largest_difference(own, b, 3 * MASSES), 1e-9 * cal_test_largest(b, 3 * MASSES),
                          "accelerations", "net");
    free(K), free(b);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// A track that runs along itself has the tension of a chain, (mass per length) · speed², up to the angle by which its shoes turn from
// one to the next in a bend: a quarter of them turns by π.
static void a_track_runs_along_itself(void** state) {
    (void)state;
    static const double expected = 5.0 / 0.15 * 9.0;
    cal_model* model = cal_test_model("track:n=400");
    cal_sim* sim = open_sim(model, "aba", 1e-8);
    cal_error error;
    for (int i = 0; i < 3; i++) {
        double wrench[6];
        if (cal_sim_advance(sim, 0.2 * i, &error)) fail_msg("%s", error.text);
        assert_int_equal(cal_sim_constraint_forces(sim, 0, NULL, wrench), CAL_OK);
        const double tension = sqrt(wrench[0] * wrench[0] + wrench[1] * wrench[1]);
        cal_test_expect_below(fabs(tension - expected), 4.0 * acos(-1.0) / 400.0 * expected, "tension", "track:n=400");
    }
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// Twice the inertia takes twice the forces to hold what moves alike: once more what bodies have beside their own, as a medium adds to them in an
// implicit step, and once more the armature of joints.
static void inertias_that_are_added_count_as_bodies_do(void** state) {
    (void)state;
    static const char* const names[] = {"scissor:n=40", "andrews", "a tower across x", "a tower across y",
                                        "a tower of all"};
    int kinds[3] = {0}; // closed in a plane, in space, and not in the order of the tree
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = i < 2 ? cal_test_model(names[i]) : i < 4 ? plane_tower((int)i - 2) : mixed_tower();
        const size_t n = (size_t)model->v_count, nodes = (size_t)model->node_count;
        double *q = cal_test_numbers((size_t)model->q_count), *v = cal_test_numbers(n), *qdd = cal_test_numbers(n),
               *once = cal_test_numbers(n), *twice = cal_test_numbers(n), *armature = cal_test_numbers(n),
               *more = cal_test_numbers(CAL_MASS_FACTOR_INERTIA * nodes);
        cal_constraints* set = NULL;
        assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
        cal_model_initial(model, q, v, NULL);
        for (size_t k = 0; k < n; k++) qdd[k] = sin(1.0 + 2.3 * (double)k);
        cal_constraints_hold(set, q, v, qdd, CAL_STABILIZE_NONE, 0.0, 0.0, once);
        for (size_t k = 0; k < nodes; k++) {
            static const int own[6] = {0, 7, 14, 1, 2, 8};
            double I[36], *out = more + CAL_MASS_FACTOR_INERTIA * k;
            cal_mass_factor_own(&model->nodes[k], set->motions[k].rotation, I);
            for (int e = 0; e < 6; e++) out[e] = I[own[e]], out[15 + e] = I[21 + own[e]];
            for (int e = 0; e < 9; e++) out[6 + e] = I[6 * (e % 3) + 3 + e / 3];
            for (int d = 0; d < cal_kind_v(model->nodes[k].kind); d++)
                armature[model->nodes[k].first_v + d] = model->nodes[k].armature;
        }
        set->tree.resisting = more, set->tree.added = armature;
        cal_constraints_hold(set, q, v, qdd, CAL_STABILIZE_NONE, 0.0, 0.0, twice);
        for (size_t k = 0; k < n; k++) twice[k] *= 0.5;
        cal_test_expect_below(cal_test_largest_difference(once, twice, n), 1e-9 * cal_test_largest(once, n), "forces",
                              names[i]);
        kinds[!set->loops ? 2 : set->loop_factor->wide == CAL_LOOP_PLANE ? 0 : 1]++;
        cal_constraints_destroy(set);
        free(q), free(v), free(qdd), free(once), free(twice), free(armature), free(more);
        cal_model_destroy(model);
    }
    assert_true(kinds[0] > 0 && kinds[1] > 0 && kinds[2] > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_assembly),       cmocka_unit_test(lets_go),
        cmocka_unit_test(redundant_rows_are_dropped), cmocka_unit_test(a_thousand_loops_run),
        cmocka_unit_test(a_step_has_all_forces),      cmocka_unit_test(a_net_obeys_newton),
        cmocka_unit_test(a_track_runs_along_itself),  cmocka_unit_test(inertias_that_are_added_count_as_bodies_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
