// Assembly and disassembly: equal to articulated bodies on open trees whatever the schedule, with the same bits on every machine.
#include "plan/machine_ops.h"
#include "support.h"

#include "base/memory.h"
#include "pass/mass_factor.h"
#include "pass/assembly.h"
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const schedules[] = {"auto", "serial", "balanced", "2", "3", "4", "7", "16"};
enum { SCHEDULES = sizeof schedules / sizeof schedules[0] };

static cal_test_engine open_scheduled(const cal_model* model, const char* schedule, cal_machine* machine) {
    cal_test_engine engine = {.model = model, .machine = machine};
    cal_error error;
    if (cal_plan_create_scheduled(model, "assembly", schedule, engine.machine, NULL, &engine.plan, &error))
        fail_msg("%s", error.text);
    assert_int_equal(cal_state_create(engine.plan, &engine.state), CAL_OK);
    return engine;
}

static cal_machine* serial(int lanes) {
    cal_machine* machine = NULL;
    cal_error error;
    if (cal_machine_serial(lanes, &machine, &error)) return NULL;
    return machine;
}

static void get(const cal_test_engine* engine, cal_field field, double* out) {
    assert_int_equal(cal_state_get(engine->state, field, out), CAL_OK);
}

// Accelerations of assembly on a machine; the engine is closed with its machine.
static void accelerations(const cal_model* model, const char* schedule, cal_machine* machine,
                          const cal_test_motion* motion, double* out) {
    cal_test_engine engine = open_scheduled(model, schedule, machine);
    cal_test_load(&engine, motion);
    cal_test_push(&engine, 77);
    // Twice: nothing may be left over from an evaluation.
    cal_test_execute(&engine);
    cal_test_execute(&engine);
    get(&engine, CAL_QDD, out);
    cal_test_close(&engine);
}

static void check_equal(const cal_model* model, const char* name) {
    const size_t n = (size_t)cal_model_v_count(model);
    cal_test_motion motion = cal_test_random_motion(model, 11);
    cal_test_engine aba = cal_test_open(model, "aba", 1);
    double *expected = cal_test_numbers(n), *found = cal_test_numbers(n), *first = cal_test_numbers(n);
    cal_test_load(&aba, &motion);
    cal_test_push(&aba, 77);
    cal_test_execute(&aba);
    get(&aba, CAL_QDD, expected);
    const double scale = cal_test_largest(expected, n);
    for (int s = 0; s < SCHEDULES; s++)
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_machine* machine = serial(lanes);
            if (!machine) continue;
            char what[128];
            snprintf(what, sizeof what, "assembly - aba, schedule %s, %d lanes", schedules[s], lanes);
            accelerations(model, schedules[s], machine, &motion, found);
            cal_test_expect_below(cal_test_largest_difference(found, expected, n), 1e-9 * scale, what, name);
            if (lanes == 1) memcpy(first, found, n * sizeof *found);
            assert_memory_equal(first, found, n * sizeof *found);
        }
    free(expected), free(found), free(first);
    cal_test_close(&aba);
    cal_test_motion_free(&motion);
}

static void equals_articulated_bodies(void** state) {
    (void)state;
    cal_test_on_every_model(check_equal);
}

// --- Machines ---------------------------------------------------------------------------------------------------------

static void has_the_same_bits_on_threads(void** state) {
    (void)state;
    const char* const names[] = {"chain:n=61", "chain:n=40,joint=ball", "mobile:s=2,l=4,o=3", "random:n=60,seed=4",
                                 "figure:dof=48,hold=both"};
    for (size_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        cal_model* model = cal_test_model(names[m]);
        const size_t n = (size_t)cal_model_v_count(model);
        cal_test_motion motion = cal_test_random_motion(model, 5);
        double *expected = cal_test_numbers(n), *found = cal_test_numbers(n);
        for (int s = 0; s < SCHEDULES; s += 2) {
            accelerations(model, schedules[s], serial(1), &motion, expected);
            for (int workers = 2; workers <= 5; workers += 3) {
                accelerations(model, schedules[s], cal_test_machine(workers, 1 + workers % 2), &motion, found);
                assert_memory_equal(expected, found, n * sizeof *found);
            }
        }
        free(expected), free(found);
        cal_test_motion_free(&motion);
        cal_model_destroy(model);
    }
}

// Any joint on any worker, also where that cuts parts.
static void does_not_care_who_computes_what(void** state) {
    (void)state;
    const char* const names[] = {"chain:n=33", "random:n=60,seed=4", "figure:dof=48,hold=both"};
    for (size_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        cal_model* model = cal_test_model(names[m]);
        const size_t n = (size_t)cal_model_v_count(model);
        const int joints = cal_model_joint_count(model);
        int32_t* placement = calloc((size_t)joints, sizeof *placement);
        assert_non_null(placement);
        cal_test_motion motion = cal_test_random_motion(model, 5);
        double *expected = cal_test_numbers(n), *found = cal_test_numbers(n);
        for (int s = 1; s < SCHEDULES; s++) {
            cal_test_engine engine = {.model = model, .machine = cal_test_machine(3, 0)};
            cal_error error;
            for (int j = 0; j < joints; j++) placement[j] = (7 * j + s) % 5 % 3;
            accelerations(model, schedules[s], serial(1), &motion, expected);
            if (cal_plan_create_scheduled(model, "assembly", schedules[s], engine.machine, placement, &engine.plan,
                                          &error))
                fail_msg("%s", error.text);
            assert_int_equal(cal_state_create(engine.plan, &engine.state), CAL_OK);
            cal_test_load(&engine, &motion);
            cal_test_push(&engine, 77);
            for (int i = 0; i < 20; i++) cal_test_execute(&engine);
            get(&engine, CAL_QDD, found);
            assert_memory_equal(expected, found, n * sizeof *found);
            cal_test_close(&engine);
        }
        free(placement), free(expected), free(found);
        cal_test_motion_free(&motion);
        cal_model_destroy(model);
    }
}

static uint64_t hash_of_run(const cal_model* model, const char* solver, const char* schedule, cal_machine* machine,
                            double* q) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    def.algorithm = "assembly";
    def.schedule = schedule;
    def.machine = machine;
    def.relative = 1e-7;
    cal_error error;
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_advance(sim, 0.25, &error)) fail_msg("%s", error.text);
    if (q) memcpy(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q);
    const uint64_t hash = cal_sim_hash(sim);
    cal_sim_destroy(sim);
    cal_machine_destroy(machine);
    return hash;
}

static void runs_with_every_solver(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=9,start=0.4,damping=0.01");
    double q[9], reference[9];
    hash_of_run(model, "gear", "serial", serial(1), reference);
    for (int i = 0; cal_solver_name(i); i++) {
        if (strcmp(cal_solver_name(i), "implicit") == 0) continue; // for aba alone, as test_stiff.c says
        hash_of_run(model, cal_solver_name(i), "3", serial(0), q);
        cal_test_expect_below(cal_test_largest_difference(q, reference, 9), 1e-3, cal_solver_name(i), "3 parts");
    }
    // Where nothing is cut solvers see a plan without joins.
    for (int i = 0; cal_solver_name(i); i++) {
        if (strcmp(cal_solver_name(i), "implicit") == 0) continue; // for aba alone, as test_stiff.c says
        hash_of_run(model, cal_solver_name(i), "auto", serial(0), q);
        cal_test_expect_below(cal_test_largest_difference(q, reference, 9), 1e-3, cal_solver_name(i), "one part");
    }
    const uint64_t alone = hash_of_run(model, "gear", "balanced", serial(0), q);
    assert_true(alone == hash_of_run(model, "gear", "balanced", cal_test_machine(2, 1), NULL));
    cal_model_destroy(model);
}

// --- Closed chains ----------------------------------------------------------------------------------------------------------

// Solves a dense system with complete pivots, ignoring what is linearly dependent; rows of n + 1.
static void solve_dense(double* m, int n, double* x) {
    int* order = calloc((size_t)n, sizeof *order);
    assert_non_null(order);
    const size_t w = (size_t)n + 1;
    double largest = 0.0;
    int rank = 0;
    for (int i = 0; i < n; i++) order[i] = i;
    for (; rank < n; rank++) {
        int row = rank, column = rank;
        for (int i = rank; i < n; i++)
            for (int j = rank; j < n; j++)
                if (fabs(m[(size_t)i * w + (size_t)j]) > fabs(m[(size_t)row * w + (size_t)column])) row = i, column = j;
        const double pivot = fabs(m[(size_t)row * w + (size_t)column]);
        largest = fmax(largest, pivot);
        if (pivot < 1e-11 * largest) break;
        for (size_t j = 0; j < w; j++) {
            const double t = m[(size_t)rank * w + j];
            m[(size_t)rank * w + j] = m[(size_t)row * w + j], m[(size_t)row * w + j] = t;
        }
        for (int i = 0; i < n; i++) {
            const double t = m[(size_t)i * w + (size_t)rank];
            m[(size_t)i * w + (size_t)rank] = m[(size_t)i * w + (size_t)column], m[(size_t)i * w + (size_t)column] = t;
        }
        const int swap = order[rank];
        order[rank] = order[column], order[column] = swap;
        for (int i = 0; i < n; i++) {
            if (i == rank) continue;
            const double factor = m[(size_t)i * w + (size_t)rank] / m[(size_t)rank * w + (size_t)rank];
            for (size_t j = (size_t)rank; j < w; j++) m[(size_t)i * w + j] -= factor * m[(size_t)rank * w + j];
        }
    }
    for (int i = 0; i < n; i++)
        x[order[i]] = i < rank ? m[(size_t)i * w + (size_t)n] / m[(size_t)i * w + (size_t)i] : 0.0;
    free(order);
}

// Accelerations from [B −Aᵀ; A 0] [q̈; λ] = [B q̈₀; −(Ȧ q̇ + …)], with B by composite bodies.
static void solve_index_one(const cal_model* model, const double* q, const double* v, double* qdd) {
    const int n = cal_model_v_count(model);
    const size_t N = (size_t)n, nodes = (size_t)model->node_count;
    cal_test_engine crba = cal_test_open(model, "crba", 1), kinematics = cal_test_open(model, "kinematics", 1);
    double *mass = cal_test_numbers(N * N), *free_qdd = cal_test_numbers(N), *zero = cal_test_numbers(N);
    double *still = cal_test_numbers(6 * nodes), *jacobian = cal_test_numbers(6 * N);
    cal_node_motion* motions = calloc(nodes, sizeof *motions);
    cal_row* rows = calloc((size_t)model->constraint_count * CAL_CONSTRAINT_ROWS, sizeof *rows);
    assert_true(motions && rows);
    assert_int_equal(cal_state_set(crba.state, CAL_Q, q), CAL_OK);
    assert_int_equal(cal_state_set(crba.state, CAL_V, v), CAL_OK);
    assert_int_equal(cal_state_set(kinematics.state, CAL_Q, q), CAL_OK);
    assert_int_equal(cal_state_set(kinematics.state, CAL_V, v), CAL_OK);
    cal_test_execute(&crba);
    cal_test_execute(&kinematics);
    get(&crba, CAL_MASS, mass);
    get(&crba, CAL_QDD, free_qdd);
    cal_node_motions(model, 0, q, v, true, 0, model->node_count, motions);
    cal_node_accelerations(model, motions, v, zero, 0, model->node_count, still);
    int count = 0;
    for (int c = 0; c < model->constraint_count; c++)
        if (!model->constraints[c].inactive)
            count += cal_constraint_make_rows(model, c, 0.0, motions, q, v, rows + count);
    const int size = n + count;
    const size_t w = (size_t)size + 1;
    double *m = cal_test_numbers((size_t)size * w), *x = cal_test_numbers((size_t)size);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            m[i * w + j] = mass[i * N + j];
            m[i * w + (size_t)size] += mass[i * N + j] * free_qdd[j];
        }
    for (int r = 0; r < count; r++) {
        const size_t at = N + (size_t)r;
        double* right = &m[at * w + (size_t)size];
        *right = -rows[r].bias;
        for (int k = 0; k < rows[r].node_count; k++) {
            const int node = rows[r].node[k], body = model->nodes[node].body;
            const cal_mount* mount = &model->mounts[body];
            double point[3];
            for (int i = 0; i < 3; i++) point[i] = -mount->offset[i];
            cal_unrotate3(mount->rotation, point, point);
            assert_int_equal(cal_state_jacobian(kinematics.state, body, point, jacobian), CAL_OK);
            for (size_t i = 0; i < 3; i++) {
                *right -= rows[r].moment[k][i] * still[6 * (size_t)node + i] +
                          rows[r].force[k][i] * still[6 * (size_t)node + 3 + i];
                for (size_t j = 0; j < N; j++) {
                    const double entry =
                        rows[r].force[k][i] * jacobian[i * N + j] + rows[r].moment[k][i] * jacobian[(3 + i) * N + j];
                    m[at * w + j] += entry;
                    m[j * w + at] -= entry;
                }
            }
        }
    }
    solve_dense(m, size, x);
    memcpy(qdd, x, N * sizeof *qdd);
    free(mass), free(free_qdd), free(zero), free(still), free(jacobian), free(motions), free(rows), free(m), free(x);
    cal_test_close(&crba);
    cal_test_close(&kinematics);
}

// Somewhere on the way of a simulation, where the constraints hold.
static void find_state(const cal_model* model, double* q, double* v) {
    cal_sim_def def = cal_default_sim_def();
    def.relative = 1e-9;
    cal_error error;
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_project(sim, &error) || cal_sim_advance(sim, 0.3, &error)) fail_msg("%s", error.text);
    memcpy(q, cal_sim_q(sim), (size_t)cal_model_q_count(model) * sizeof *q);
    memcpy(v, cal_sim_v(sim), (size_t)cal_model_v_count(model) * sizeof *v);
    cal_sim_destroy(sim);
}

static void closes_loops(void** state) {
    (void)state;
    const char* const names[] = {"fivebar",
                                 "fourbar:n=1",
                                 "fourbar:n=4",
                                 "ring:n=12",
                                 "bricard",
                                 "figure:dof=34,hold=both",
                                 "figure:dof=48,hold=left"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        const size_t n = (size_t)cal_model_v_count(model);
        double *q = cal_test_numbers((size_t)cal_model_q_count(model)), *v = cal_test_numbers(n);
        double *expected = cal_test_numbers(n), *found = cal_test_numbers(n);
        find_state(model, q, v);
        solve_index_one(model, q, v, expected);
        const double scale = cal_test_largest(expected, n);
        for (int s = 0; s < SCHEDULES; s++) {
            cal_test_engine engine = open_scheduled(model, schedules[s], serial(0));
            assert_int_equal(cal_state_hold(engine.state, 0.0, 0.0), CAL_OK);
            assert_int_equal(cal_state_set(engine.state, CAL_Q, q), CAL_OK);
            assert_int_equal(cal_state_set(engine.state, CAL_V, v), CAL_OK);
            cal_test_execute(&engine);
            get(&engine, CAL_QDD, found);
            cal_test_expect_below(cal_test_largest_difference(found, expected, n), 1e-9 * scale, schedules[s],
                                  names[i]);
            cal_test_close(&engine);
        }
        free(q), free(v), free(expected), free(found);
        cal_model_destroy(model);
    }
}

// Two welds of one body to the ground, of which the second would have it turn.
static void names_a_loop_that_cannot_be_met(void** state) {
    (void)state;
    cal_model* model = cal_test_model("pendulum");
    cal_builder* builder = NULL;
    cal_model* bound = NULL;
    cal_error error;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_body_def body;
    cal_joint_def joint;
    cal_model_body(model, 0, &body);
    cal_model_joint(model, 0, &joint, NULL, NULL, NULL);
    body.parent = CAL_GROUND;
    joint.initial_v[0] = 3.0;
    cal_builder_add_joint(builder, cal_builder_add_body(builder, &body), &joint);
    // A point off the axis that moves on a circle shall move on a straight line.
    cal_constraint_def ball = cal_default_constraint_def();
    ball.name = "impossible";
    ball.kind = CAL_LOOP_BALL;
    ball.body[1] = 0;
    ball.position[1][0] = 0.3, ball.position[1][1] = 0.2, ball.position[1][2] = 0.1;
    cal_builder_add_constraint(builder, &ball);
    if (cal_builder_finish(builder, &bound, &error)) fail_msg("%s", error.text);
    cal_test_engine engine = open_scheduled(bound, "auto", serial(1));
    assert_int_equal(cal_state_hold(engine.state, 0.0, 0.0), CAL_OK);
    assert_int_equal(cal_plan_execute(engine.plan, engine.state, &error), CAL_BAD_MODEL);
    assert_non_null(strstr(error.text, "impossible"));
    cal_test_close(&engine);
    cal_model_destroy(bound);
    cal_builder_destroy(builder);
    cal_model_destroy(model);
}

// Gripping and letting go is no new plan: nothing is allocated, and what is connected at the end is held.
static void connects_ten_thousand_times(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fivebar");
    cal_sim_def def = cal_default_sim_def();
    def.algorithm = "assembly";
    def.schedule = "balanced";
    cal_error error;
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (cal_sim_advance(sim, 1e-3, &error)) fail_msg("%s", error.text);
    const int64_t before = cal_live_allocations();
    for (int k = 0; k < 10000; k++) {
        assert_int_equal(cal_sim_disconnect(sim, 0, &error), CAL_OK);
        if (k % 20 == 0 && cal_sim_advance(sim, cal_sim_time(sim) + 1e-5, &error)) fail_msg("%s", error.text);
        if (cal_sim_connect(sim, 0, CAL_CONNECT_INELASTIC, &error)) fail_msg("%s", error.text);
        if (k % 20 == 0 && cal_sim_advance(sim, cal_sim_time(sim) + 1e-5, &error)) fail_msg("%s", error.text);
    }
    assert_int_equal(cal_live_allocations(), before);
    cal_constraint_report report;
    if (cal_sim_advance(sim, cal_sim_time(sim) + 1e-2, &error)) fail_msg("%s", error.text);
    assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
    assert_true(cal_sim_connected(sim, 0));
    cal_test_expect_below(report.error, 1e-8, "loop", "fivebar");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// --- Forces -----------------------------------------------------------------------------------------------------------------

// With a part a joint, what disassembly finds on each port is what hangs there, which Newton and Euler's equations give too.
static void finds_the_forces_of_newton_and_euler(void** state) {
    (void)state;
    const char* const names[] = {"chain:n=14,start=0.5", "chain:n=6,joint=ball", "tree:height=3,fanout=2"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        cal_model* model = cal_test_model(names[k]);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = NULL;
        cal_error error;
        const size_t joints = (size_t)cal_model_joint_count(model);
        double *carried = cal_test_numbers(6 * joints), *hanging = cal_test_numbers(6 * joints);
        sim = cal_test_create_sim(model, &def);
        if (cal_sim_advance(sim, 0.2, &error)) fail_msg("%s", error.text);
        assert_int_equal(cal_sim_joint_forces(sim, carried), CAL_OK);
        cal_test_engine engine = open_scheduled(model, "balanced", serial(1));
        assert_int_equal(cal_state_set(engine.state, CAL_Q, cal_sim_q(sim)), CAL_OK);
        assert_int_equal(cal_state_set(engine.state, CAL_V, cal_sim_v(sim)), CAL_OK);
        cal_test_execute(&engine);
        const cal_assembly* assembly = engine.state->context.own;
        cal_node_motion* motions = calloc((size_t)model->node_count, sizeof *motions);
        assert_non_null(motions);
        cal_node_motions(model, 0, cal_sim_q(sim), cal_sim_v(sim), true, 0, model->node_count, motions);
        // On a node: the opposite of what its children's joints carry, moved to its origin.
        for (int n = 0; n < model->node_count; n++) {
            if (model->nodes[n].parent < 0) continue;
            const int up = model->nodes[n].parent;
            const double* f = carried + 6 * (size_t)model->nodes[n].joint;
            double arm[3], moment[3];
            for (int i = 0; i < 3; i++) arm[i] = motions[n].origin[i] - motions[up].origin[i];
            cal_cross3(arm, f, moment);
            for (int i = 0; i < 3; i++) {
                hanging[6 * up + i] -= f[3 + i] + moment[i];
                hanging[6 * up + 3 + i] -= f[i];
            }
        }
        for (int p = 0; p < assembly->schedule->port_count; p++) {
            const int node = assembly->schedule->ports[p].original;
            cal_test_expect_below(cal_test_largest_difference(assembly->forces + 6 * p, hanging + 6 * node, 6),
                                  1e-9 * cal_test_largest(carried, 6 * joints), "force on a port", names[k]);
        }
        free(carried), free(hanging), free(motions);
        cal_test_close(&engine);
        cal_sim_destroy(sim);
        cal_model_destroy(model);
    }
}

// A pendulum at rest carries its weight.
static void a_hanging_chain_carries_its_weight(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=5,start=0,mass=2");
    cal_sim_def def = cal_default_sim_def();
    double forces[30];
    cal_sim* sim = cal_test_create_sim(model, &def);
    assert_int_equal(cal_sim_joint_forces(sim, forces), CAL_OK);
    for (int j = 0; j < 5; j++)
        cal_test_expect_below(fabs(forces[6 * j + 2] - 9.81 * 2.0 * (5 - j)), 1e-9, "weight", "chain");
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// --- Schedules --------------------------------------------------------------------------------------------------------------

static void splits_by_work(void** state) {
    (void)state;
    const cal_costs costs = {.compute = 1e-4, .message = 1e-5};
    cal_error error;
    for (int links = 16; links <= 64; links *= 2) {
        char name[64];
        snprintf(name, sizeof name, "chain:n=%d,joint=ball", links);
        cal_model* model = cal_test_model(name);
        cal_schedule_report work, even;
        assert_int_equal(cal_schedule_predict(model, "4", 4, &costs, &work, &error), CAL_OK);
        assert_int_equal(cal_schedule_predict(model, "even:4", 4, &costs, &even, &error), CAL_OK);
        assert_int_equal(work.parts, 4);
        assert_int_equal(even.parts, 4);
        // Fewer links in the middle than at the end, and faster.
        assert_true(work.links[1] < even.links[1] && work.links[2] < even.links[2] && work.links[3] > even.links[3]);
        assert_true(work.seconds < even.seconds);
        assert_true(work.open_joints <= 3);
        cal_model_destroy(model);
    }
}

static void grows_with_the_logarithm(void** state) {
    (void)state;
    const cal_costs costs = {.compute = 45e-9, .message = 1e-6};
    cal_error error;
    double before = 0.0, step = 0.0;
    for (int links = 64; links <= 65536; links *= 4) {
        char name[64];
        snprintf(name, sizeof name, "chain:n=%d", links);
        cal_model* model = cal_test_model(name);
        cal_schedule_report report;
        assert_int_equal(cal_schedule_predict(model, "balanced", links, &costs, &report, &error), CAL_OK);
        if (links >= 1024)
            assert_true(fabs(report.seconds - before - step) < 0.05 * step); // the same for every factor of four
        step = report.seconds - before;
        before = report.seconds;
        cal_model_destroy(model);
    }
}

static void keeps_at_most_three_joints_open(void** state) {
    (void)state;
    const cal_costs costs = {.compute = 1e-6, .message = 1e-6};
    const char* const names[] = {"chain:n=100", "mobile:s=2,l=3,o=9", "tree:height=5,fanout=4", "humanoid", "stickman"};
    cal_error error;
    for (size_t m = 0; m < sizeof names / sizeof names[0]; m++)
        for (int s = 0; s < SCHEDULES; s++) {
            cal_model* model = cal_test_model(names[m]);
            cal_schedule_report report;
            assert_int_equal(cal_schedule_predict(model, schedules[s], 4, &costs, &report, &error), CAL_OK);
            assert_true(report.open_joints <= 3);
            cal_model_destroy(model);
        }
}

static void refuses_what_is_not_a_schedule(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=4");
    const char* const bad[] = {"", "0", "-1", "sideways", "4x", "99999999999", "even:", "even:0"};
    cal_machine* machine = serial(1);
    cal_error error;
    cal_plan* plan = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(cal_plan_create_scheduled(model, "assembly", bad[i], machine, NULL, &plan, &error),
                         CAL_BAD_ARGUMENT);
        assert_null(plan);
        assert_non_null(strstr(error.text, "balanced"));
    }
    assert_int_equal(cal_plan_create_scheduled(model, "aba", "4", machine, NULL, &plan, &error), CAL_BAD_ARGUMENT);
    // Nothing to hold, and an algorithm that does not.
    cal_test_engine engine = cal_test_open(model, "aba", 1);
    assert_int_equal(cal_state_hold(engine.state, 0.0, 0.0), CAL_NOT_AVAILABLE);
    assert_int_equal(cal_state_hold(engine.state, -1.0, 0.0), CAL_BAD_ARGUMENT);
    cal_test_close(&engine);
    cal_machine_destroy(machine);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_articulated_bodies),
        cmocka_unit_test(has_the_same_bits_on_threads),
        cmocka_unit_test(does_not_care_who_computes_what),
        cmocka_unit_test(runs_with_every_solver),
        cmocka_unit_test(closes_loops),
        cmocka_unit_test(names_a_loop_that_cannot_be_met),
        cmocka_unit_test(connects_ten_thousand_times),
        cmocka_unit_test(finds_the_forces_of_newton_and_euler),
        cmocka_unit_test(a_hanging_chain_carries_its_weight),
        cmocka_unit_test(splits_by_work),
        cmocka_unit_test(grows_with_the_logarithm),
        cmocka_unit_test(keeps_at_most_three_joints_open),
        cmocka_unit_test(refuses_what_is_not_a_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
