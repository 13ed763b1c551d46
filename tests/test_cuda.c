// A GPU gives the bits of one core: compiled twice, for the code of the kernels run on the host and, where the build has nvcc and
// there is one, for a GPU.
#include "base/hash.h"
#include "calder/calder_cuda.h"
#include "calder/calder_read.h"
#include "cuda/device_plan.h"
#include "place.h"
#include "support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cal_machine* make_machine(void) {
    const cal_cuda_def def = cal_default_cuda_def();
    cal_machine* machine = NULL;
    cal_error error = {CAL_OK, ""};
    const cal_status status = cal_machine_cuda(&def, &machine, &error);
    if (status == CAL_NOT_AVAILABLE) {
        printf("skipped: %s\n", error.text);
        skip();
    }
    if (status) fail_msg("%s", error.text);
    return machine;
}

// The hash of a simulation and its account of energy after a few advances, of which some end inside a step.
static uint64_t simulate(const cal_model* model, const char* algorithm, const char* schedule, const char* solver,
                         cal_machine* machine, bool pushed) {
    cal_sim_def def = cal_default_sim_def();
    cal_error error = {CAL_OK, ""};
    def.algorithm = algorithm;
    def.schedule = schedule;
    def.solver = solver;
    def.contact = false;
    def.machine = machine;
    cal_sim* sim = cal_test_create_sim(model, &def);
    if (pushed)
        assert_int_equal(
            cal_sim_push(sim, 1, (double[3]){0.3, 0.1, 0.2}, (double[3]){0.1, 0.0, 0.2}, (double[3]){0.0, 0.1, 0.0}),
            CAL_OK);
    for (int i = 1; i <= 3; i++)
        if (cal_sim_advance(sim, 0.0071 * i, &error)) fail_msg("%s: %s", solver, error.text);
    cal_energy_balance b;
    if (cal_sim_balance(sim, &b)) fail_msg("%s: no account of energy", solver);
    const uint64_t hash =
        cal_hash_doubles(cal_sim_hash(sim), (double[]){b.work, b.loss, b.closing, b.kinetic, b.potential, b.error}, 6);
    cal_sim_destroy(sim);
    return hash;
}

// Every kind of joint and joint force, columns of one lane and of many, loops, every solver.
static void simulations_have_the_bits_of_one_core(void** state) {
    (void)state;
    // Limbs of several segments (cuda/limb.h), whose last one has one joint, and three.
    static const char* const runs[][2] = {{"mobile:s=2,l=3,o=5", "gear"},
                                          {"mobile:s=4,l=3,o=4", "gear"},
                                          {"mobile:s=2,l=9,o=40", "gear"},
                                          {"mobile:s=2,l=15,o=33", "rkf"},
                                          {"mobile:s=2,l=40,o=3", "rkf"}, // a long column of more than a block
                                          {"random:n=120,passive=1,stop=50", "gear"},
                                          {"random:n=90", "rkf"},
                                          {"random:n=60,passive=1,stop=50", "implicit"},
                                          {"fivebar", "implicit"},
                                          {"chain:n=70", "rkck"},
                                          {"tree:height=4,fanout=3,joint=ball", "iec"},
                                          {"humanoid", "rk4"},
                                          {"stickman", "euler"},
                                          {"fourbar:n=2", "gear"},
                                          {"ring:n=12", "gear"},
                                          {"tower:n=5", "rkf"},
                                          {"net:wide=2,tall=3", "implicit"}};
    cal_machine* machine = make_machine();
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i][0]);
        for (int pushed = 0; pushed < 2; pushed++)
            if (simulate(model, "aba", NULL, runs[i][1], machine, pushed) !=
                simulate(model, "aba", NULL, runs[i][1], NULL, pushed))
                fail_msg("%s with %s differs from one core", runs[i][0], runs[i][1]);
        cal_model_destroy(model);
    }
    cal_machine_destroy(machine);
}

// Forward dynamics at the model's start with some forces.
static void accelerations_are_the_same(const cal_model* model, const char* schedule, cal_machine* machine) {
    const size_t count = (size_t)cal_model_v_count(model);
    double *qdd[2] = {cal_test_numbers(count), cal_test_numbers(count)}, *tau = cal_test_numbers(count);
    cal_machine* core = NULL;
    assert_int_equal(cal_machine_serial(1, &core, NULL), CAL_OK);
    for (size_t i = 0; i < count; i++) tau[i] = 0.01 * (double)(i % 7);
    for (int k = 0; k < 2; k++) {
        cal_plan* plan = NULL;
        cal_state* state = NULL;
        cal_error error = {CAL_OK, ""};
        if (cal_plan_create_scheduled(model, "assembly", schedule, k == 0 ? core : machine, NULL, &plan, &error))
            fail_msg("%s", error.text);
        assert_int_equal(cal_state_create(plan, &state), CAL_OK);
        assert_int_equal(cal_state_set(state, CAL_TAU, tau), CAL_OK);
        // Twice: nothing of an evaluation is left for the next.
        for (int again = 0; again < 2; again++) assert_int_equal(cal_plan_execute(plan, state, NULL), CAL_OK);
        assert_int_equal(cal_state_get(state, CAL_QDD, qdd[k]), CAL_OK);
        cal_state_destroy(state);
        cal_plan_destroy(plan);
    }
    assert_memory_equal(qdd[0], qdd[1], count * sizeof(double));
    cal_machine_destroy(core);
    free(qdd[0]), free(qdd[1]), free(tau);
}

// Long chains and branches, parts with several ports and with joints of several degrees, joins of many heights; what is cut by
// nobody's choice is cut for a device.
static void assembly_has_the_bits_of_one_core(void** state) {
    (void)state;
    static const char* const runs[][3] = {{"chain:n=300", "9", "gear"},
                                          {"chain:n=700", "balanced", "rk4"},
                                          {"chain:n=2503", "balanced", "rk4"},
                                          {"chain:n=300", "device", "gear"},
                                          // Parts of seven joints and of two: segments that are not full, one alone.
                                          {"chain:n=300,joint=prismatic", "even:43", "rk4"},
                                          {"chain:n=1190", "even:24", "gear"},
                                          {"chain:n=410,joint=prismatic", "even:8", "rk4"},
                                          {"chain:n=200", "even:100", "rk4"},
                                          {"chain:n=40", "serial", "rkf"},
                                          {"mobile:s=2,l=60,o=3", "40", "gear"},
                                          {"mobile:s=2,l=60,o=3", "device", "rk4"},
                                          {"random:n=150,passive=1,stop=50", "balanced", "rk4"},
                                          {"random:n=150,passive=1,stop=50", "30", "gear"}};
    cal_machine* machine = make_machine();
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i][0]);
        accelerations_are_the_same(model, runs[i][1], machine);
        // Under a sanitizer, where this is slow, each of them once: pushed or not.
        for (int pushed = CAL_TEST_SANITIZED ? (int)i % 2 : 0; pushed < (CAL_TEST_SANITIZED ? 1 + (int)i % 2 : 2);
             pushed++)
            if (simulate(model, "assembly", runs[i][1], runs[i][2], machine, pushed) !=
                simulate(model, "assembly", runs[i][1], runs[i][2], NULL, pushed))
                fail_msg("%s with %s and schedule %s differs from one core", runs[i][0], runs[i][2], runs[i][1]);
        cal_model_destroy(model);
    }
    cal_machine_destroy(machine);
}

static uint64_t run_ensemble(const cal_model* model, const char* solver, int count, cal_machine* machine) {
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    const size_t q_count = (size_t)cal_model_q_count(model), v_count = (size_t)cal_model_v_count(model);
    double *q = cal_test_numbers(q_count), *v = cal_test_numbers(v_count), *tau = cal_test_numbers(v_count);
    def.count = count;
    def.machine = machine;
    def.spread = 0.1;
    def.sim.solver = solver;
    def.sim.step = 0.003;
    def.sim.contact = false;
    if (cal_ensemble_create_def(model, &def, &ensemble, &error)) fail_msg("%s", error.text);
    // Ends inside a step; then some begin anew, so that steps end at different times and not all need as many.
    for (int i = 1; i <= 3; i++) {
        if (cal_ensemble_advance(ensemble, 0.0101 * i, &error)) fail_msg("%s", error.text);
        assert_int_equal(cal_ensemble_get(ensemble, i, q, v), CAL_OK);
        v[0] += 0.5;
        assert_int_equal(cal_ensemble_set(ensemble, 2 * i, q, v), CAL_OK);
        for (size_t k = 0; k < v_count; k++) tau[k] = 0.01 * (double)i;
        assert_int_equal(cal_ensemble_drive(ensemble, 3 * i, tau, NULL, NULL), CAL_OK);
    }
    uint64_t hash = 0;
    // Twice inside of one step, and inside of the next one.
    for (int i = 0; i < 3; i++) {
        if (cal_ensemble_advance(ensemble, 0.03032 + 0.0004 * i, &error)) fail_msg("%s", error.text);
        hash = 31 * hash + cal_ensemble_hash(ensemble);
    }
    if (cal_ensemble_step(ensemble, "rk4", 0.002, 3, &error)) fail_msg("%s", error.text);
    hash = 31 * hash + cal_ensemble_hash(ensemble);
    // Forward dynamics of all at once.
    double* all = cal_test_numbers((size_t)count * (q_count + 2 * v_count));
    double *all_v = all + (size_t)count * q_count, *qdd = all_v + (size_t)count * v_count;
    for (int i = 0; i < count; i++)
        cal_ensemble_get(ensemble, i, all + (size_t)i * q_count, all_v + (size_t)i * v_count);
    assert_int_equal(cal_ensemble_forward(ensemble, all, all_v, NULL, qdd), CAL_OK);
    for (size_t i = 0; i < (size_t)count * v_count; i++) {
        uint64_t bits;
        memcpy(&bits, &qdd[i], sizeof bits);
        hash = 31 * hash + bits;
    }
    cal_ensemble_report report;
    cal_ensemble_get_report(ensemble, &report);
    hash = 31 * hash + (uint64_t)report.evaluations;
    free(q), free(v), free(tau), free(all);
    cal_ensemble_destroy(ensemble);
    return hash;
}

static void ensembles_have_the_bits_of_one_core(void** state) {
    (void)state;
    static const char* const runs[][2] = {{"humanoid", "rk4"},
                                          {"random:n=14,passive=1,stop=50", "rk4"},
                                          {"tree:height=3,fanout=2,joint=ball", "euler"},
                                          {"chain:n=13", "rk4"},
                                          {"tree:height=3,fanout=2,joint=ball", "rk4"},
                                          {"chain:n=13,joint=prismatic", "rk4"},
                                          {"mobile:s=2,l=3,o=3,plateau=light", "rk4"},
                                          {"tree:height=3,fanout=2", "euler"}};
    cal_machine* machine = make_machine();
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i][0]);
        assert_true(run_ensemble(model, runs[i][1], 70, machine) == run_ensemble(model, runs[i][1], 70, NULL));
        cal_model_destroy(model);
    }
    cal_machine_destroy(machine);
}

// Begun anew, driven, and at times of their own: the rows after each advance, as one number; ended: how many instances rest.
static uint64_t run_held(const cal_model* model, const char* solver, double step, cal_machine* machine, int* ended) {
    enum { COUNT = 37 };
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    const size_t q_count = (size_t)cal_model_q_count(model), v_count = (size_t)cal_model_v_count(model);
    double *q = cal_test_numbers(q_count), *v = cal_test_numbers(v_count), *tau = cal_test_numbers(v_count);
    uint64_t hash = 0;
    def.count = COUNT;
    def.machine = machine;
    def.spread = 0.02;
    def.sim.solver = solver;
    def.sim.step = step;
    def.sim.contact = false;
    if (cal_ensemble_create_def(model, &def, &ensemble, &error)) fail_msg("%s", error.text);
    for (int i = 1; i <= 6; i++) {
        (void)cal_ensemble_advance(ensemble, 10.3 * step * i, &error); // ends inside of a step
        hash = 31 * hash + cal_ensemble_hash(ensemble);
        if (i > 3) continue;
        assert_int_equal(cal_ensemble_get(ensemble, i, q, v), CAL_OK);
        assert_int_equal(cal_ensemble_set(ensemble, 2 * i, q, v), CAL_OK);
        for (size_t k = 0; k < v_count; k++) tau[k] = 0.01 * (double)i;
        assert_int_equal(cal_ensemble_drive(ensemble, 3 * i, tau, NULL, NULL), CAL_OK);
    }
    *ended = 0;
    for (int i = 0; i < COUNT; i++) *ended += cal_ensemble_status(ensemble, i, NULL) ? 1 : 0;
    free(q), free(v), free(tau);
    cal_ensemble_destroy(ensemble);
    return hash;
}

// A plate on three legs, each of which turns on a ball, has a motor and a spring, and holds the plate at a point.
static cal_model* platform(void) {
    static const char leg[] =
        "<body name='leg%d' pos='%g %g 0'><joint type='ball' damping='0.1'/>"
        "<geom size='0.03' pos='0 0 0.15'/><body name='rod%d' pos='0 0 0.3'><joint name='s%d' "
        "type='slide' axis='0 0 1' stiffness='900' damping='5'/><geom size='0.03'/></body></body>";
    char text[4096] = "<mujoco><worldbody><body name='plate' pos='0 0 0.6'><freejoint/>"
                      "<geom type='box' size='0.2 0.2 0.02' density='100'/></body>";
    for (int i = 0; i < 3; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), leg, i, i == 0 ? 0.2 : -0.1, 0.17 * (i - 1) * i, i,
                 i);
    strcat(text, "</worldbody><actuator><motor joint='s0'/></actuator><equality>");
    for (int i = 0; i < 3; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "<connect body1='rod%d' body2='plate' anchor='0 0 0.3'/>", i);
    strcat(text, "</equality></mujoco>");
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    if (cal_model_read_memory(text, strlen(text), "platform", NULL, &model, NULL, &error)) fail_msg("%s", error.text);
    return model;
}

static void loops_have_the_bits_of_one_core(void** state) {
    (void)state;
    // One loop and several, in one tree and beside each other, of which some hold what others hold already; the last one comes apart.
    static const char* const runs[][2] = {{"fourbar", "rk4"},     {"fourbar", "euler"},   {"fivebar", "rk4"},
                                          {"bennett", "rk4"},     {"sarrus", "rk4"},      {"tower:n=2", "rk4"},
                                          {"slidercrank", "rk4"}, {"fourbar:n=4", "rk4"}, {"sarrus", "euler"},
                                          {"delta", "rk4"},       {"delta", "euler"},     {"slidercrank", "gear"},
                                          {"fivebar", "gear"},    {"fivebar", "rkf"},     {"bricard", "rkck"},
                                          {"sarrus", "rki"},      {"delta", "rkg"},       {"fourbar:n=4", "iec"},
                                          {"platform", "gear"},   {"platform", "rk4"},    {"platform", "euler"}};
    const size_t count = sizeof runs / sizeof runs[0];
    cal_machine* machine = make_machine();
    for (size_t i = 0; i < count; i++) {
        cal_model* model = strcmp(runs[i][0], "platform") == 0 ? platform() : cal_test_model(runs[i][0]);
        int here, there;
        const uint64_t core = run_held(model, runs[i][1], 0.002, NULL, &here);
        const bool same = run_held(model, runs[i][1], 0.002, machine, &there) == core;
        if (!same || here != there || (here > 0) != (i == count - 1))
            fail_msg("%s, %s: other bits (%d and %d rest)", runs[i][0], runs[i][1], here, there);
        cal_model_destroy(model);
    }
    cal_machine_destroy(machine);
}

// Two trees on the ground, so that an instance has sums of several.
static cal_model* two_trees(void) {
    cal_model* model = NULL;
    static const char text[] =
        "<mujoco><worldbody><body><joint type='ball'/><geom size='0.1' pos='0 0 -0.4'/>"
        "<body pos='0 0 -0.5'><joint axis='1 0 0' damping='0.02'/><geom size='0.05' pos='0 0 -0.3'/></body>"
        "<body pos='0 0.2 -0.5'><joint axis='0 1 0' stiffness='2'/><geom size='0.04' pos='0 0 -0.3'/></body></body>"
        "<body pos='1 0 0'><joint axis='0 1 0'/><geom size='0.1' pos='0 0 -0.6'/>"
        "<body pos='0 0 -1'><joint type='slide' stiffness='300'/><geom "
        "size='0.08'/></body></body></worldbody></mujoco>";
    cal_error error = {CAL_OK, ""};
    if (cal_model_read_memory(text, sizeof text - 1, "two trees", NULL, &model, NULL, &error))
        fail_msg("%s", error.text);
    return model;
}

// The rows of an ensemble whose instances have steps of their own: of very different speeds, some begun anew, driven, and two that
// cannot go on.
static void run_steered(const cal_model* model, const char* solver, cal_machine* machine, uint64_t* hash, char* text,
                        size_t capacity) {
    enum { COUNT = 70, LOST = 5 };
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    double *q = cal_test_numbers((size_t)cal_model_q_count(model)),
           *v = cal_test_numbers((size_t)cal_model_v_count(model));
    def.count = COUNT;
    def.machine = machine;
    def.spread = 0.1;
    def.sim.solver = solver;
    def.sim.relative = 1e-5;
    def.sim.contact = false;
    if (cal_ensemble_create_def(model, &def, &ensemble, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < COUNT; i += 9) {
        assert_int_equal(cal_ensemble_get(ensemble, i, q, v), CAL_OK);
        v[0] = i == 9 * LOST ? 1e200 : 0.4 * i;
        assert_int_equal(cal_ensemble_set(ensemble, i, q, v), CAL_OK);
    }
    for (int i = 1; i <= 4; i++) {
        assert_int_equal(cal_ensemble_advance(ensemble, 0.041 * i, NULL), CAL_NOT_FINITE);
        assert_int_equal(cal_ensemble_get(ensemble, i, q, v), CAL_OK);
        v[0] += 0.5;
        assert_int_equal(cal_ensemble_set(ensemble, 2 * i, q, v), CAL_OK);
        for (int k = 0; k < cal_model_v_count(model); k++) v[k] = 0.01 * i;
        assert_int_equal(cal_ensemble_drive(ensemble, 3 * i, v, NULL, NULL), CAL_OK);
    }
    cal_ensemble_report report;
    cal_ensemble_get_report(ensemble, &report);
    assert_int_equal(report.failed, 1);
    (void)cal_ensemble_status(ensemble, 9 * LOST, &error);
    snprintf(text, capacity, "%s: %s", solver, error.text);
    const double counts[] = {(double)report.steps, (double)report.rejected, (double)report.evaluations};
    *hash = cal_hash_doubles(cal_ensemble_hash(ensemble), counts, 3);
    free(q), free(v);
    cal_ensemble_destroy(ensemble);
}

static void instances_have_steps_of_their_own_with_the_bits_of_one_core(void** state) {
    (void)state;
    static const char* const solvers[] = {"gear", "rkf", "rkck", "rki", "iec", "rkg"};
    cal_machine* machine = make_machine();
    cal_model* models[] = {two_trees(), cal_test_model("random:n=14,passive=1,stop=50")};
    for (size_t m = 0; m < 2; m++) {
        for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
            if (CAL_TEST_SANITIZED && (m + i) % 2 == 1) continue; // slow there: each solver with one of the models
            uint64_t there, here;
            char text_there[300], text_here[300];
            run_steered(models[m], solvers[i], machine, &there, text_there, sizeof text_there);
            run_steered(models[m], solvers[i], NULL, &here, text_here, sizeof text_here);
            assert_string_equal(text_there, text_here);
            if (there != here) fail_msg("%s differs from one core", solvers[i]);
        }
        cal_model_destroy(models[m]);
    }
    cal_machine_destroy(machine);
}

// From a GPU to a core and back: the continuation does not know where it began.
static void checkpoints_go_from_device_to_core_and_back(void** state) {
    (void)state;
    char path[CAL_TEST_PATH];
    cal_test_path(path, "state");
    cal_machine* machine = make_machine();
    cal_model* model = cal_test_model("mobile:s=2,l=3,o=3");
    cal_sim_def def = cal_default_sim_def();
    cal_sim *whole = NULL, *parts = NULL;
    assert_int_equal(cal_sim_create(model, &def, &whole, NULL), CAL_OK);
    for (int i = 1; i <= 3; i++) {
        def.machine = i % 2 == 1 ? machine : NULL;
        cal_sim_destroy(parts);
        assert_int_equal(cal_sim_create(model, &def, &parts, NULL), CAL_OK);
        if (i > 1) assert_int_equal(cal_sim_load(parts, path, NULL), CAL_OK);
        assert_int_equal(cal_sim_advance(parts, 0.1 * i, NULL), CAL_OK);
        assert_int_equal(cal_sim_advance(whole, 0.1 * i, NULL), CAL_OK);
        assert_int_equal(cal_sim_save(parts, path, NULL), CAL_OK);
    }
    assert_true(cal_sim_hash(parts) == cal_sim_hash(whole));
    // A simulation that went on and is taken back has the energy of where it is then, not of what the device has seen last.
    double then[2], now[2];
    assert_int_equal(cal_sim_energy(parts, &then[0], &then[1]), CAL_OK);
    assert_int_equal(cal_sim_advance(parts, 0.4, NULL), CAL_OK);
    assert_int_equal(cal_sim_energy(parts, &now[0], &now[1]), CAL_OK);
    assert_true(now[0] != then[0]);
    assert_int_equal(cal_sim_load(parts, path, NULL), CAL_OK);
    assert_int_equal(cal_sim_energy(parts, &now[0], &now[1]), CAL_OK);
    assert_memory_equal(now, then, sizeof now);
    cal_sim_destroy(parts);
    cal_sim_destroy(whole);
    cal_model_destroy(model);
    cal_machine_destroy(machine);
    remove(path);
}

// spread: of the starts; model: two trees where NULL.
static void ensemble_goes_to_and_fro(const char* name, const char* solver, double spread, cal_machine* machine) {
    enum { COUNT = 40 };
    char path[CAL_TEST_PATH];
    cal_test_path(path, "ensemble");
    cal_model* model = name ? cal_test_model(name) : two_trees();
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble *whole = NULL, *parts = NULL;
    cal_error error = {CAL_OK, ""};
    double* tau = cal_test_numbers((size_t)cal_model_v_count(model));
    def.count = COUNT;
    def.spread = spread;
    def.sim.solver = solver;
    def.sim.contact = false;
    tau[0] = 0.3;
    assert_int_equal(cal_ensemble_create_def(model, &def, &whole, NULL), CAL_OK);
    for (int i = 1; i <= 5; i++) {
        cal_ensemble_report now, expected;
        cal_energy_balance balance;
        def.machine = i % 2 == 1 ? machine : NULL;
        def.account = true;
        cal_ensemble_destroy(parts);
        if (cal_ensemble_create_def(model, &def, &parts, &error)) fail_msg("%s, %s: %s", name, solver, error.text);
        if (i > 1 && cal_ensemble_load(parts, path, &error)) fail_msg("%s, %s: %s", name, solver, error.text);
        if (cal_ensemble_advance(parts, 0.0107 * i, &error)) fail_msg("%s, %s: %s", name, solver, error.text);
        if (cal_ensemble_advance(whole, 0.0107 * i, &error)) fail_msg("%s, %s: %s", name, solver, error.text);
        // The one that is driven anew has a clock of its own.
        assert_int_equal(cal_ensemble_drive(parts, 5 * i, tau, NULL, NULL), CAL_OK);
        assert_int_equal(cal_ensemble_drive(whole, 5 * i, tau, NULL, NULL), CAL_OK);
        if (cal_ensemble_save(parts, path, &error)) fail_msg("%s, %s: %s", name, solver, error.text);
        if (cal_ensemble_hash(parts) != cal_ensemble_hash(whole))
            fail_msg("%s, %s: other bits after %d parts", name, solver, i);
        cal_ensemble_get_report(parts, &now);
        cal_ensemble_get_report(whole, &expected);
        assert_true(now.steps == expected.steps && now.evaluations == expected.evaluations);
        // What was on a device has no account of energy.
        assert_int_equal(cal_ensemble_balance(parts, 7, &balance), CAL_NOT_AVAILABLE);
    }
    cal_ensemble_destroy(parts);
    cal_ensemble_destroy(whole);
    cal_model_destroy(model);
    free(tau);
    remove(path);
}

static void ensembles_go_from_device_to_core_and_back(void** state) {
    (void)state;
    cal_machine* machine = make_machine();
    ensemble_goes_to_and_fro(NULL, "rk4", 0.1, machine);
    // Steps of their own, and loops: of one degree of freedom per joint, of any joints, of more rows than directions are kept of.
    ensemble_goes_to_and_fro(NULL, "gear", 0.1, machine);
    ensemble_goes_to_and_fro("random:n=12", "rkf", 0.1, machine);
    ensemble_goes_to_and_fro("fivebar", "rk4", 0.02, machine);
    ensemble_goes_to_and_fro("delta", "rk4", 0.01, machine);
    ensemble_goes_to_and_fro("bricard", "euler", 0.001, machine);
    ensemble_goes_to_and_fro("fivebar", "gear", 0.02, machine);
    ensemble_goes_to_and_fro("sarrus", "rkf", 0.01, machine);
    cal_machine_destroy(machine);
}

// What a plan prices is what the device is asked for.
static void assembly_launches_what_is_priced(void** state) {
    (void)state;
    static const char* const runs[][2] = {{"chain:n=300", NULL},        {"chain:n=5000", NULL},
                                          {"chain:n=2503", "balanced"}, {"mobile:s=2,l=60,o=3", "40"},
                                          {"random:n=400", "balanced"}, {"random:n=3000,joints=revolute", NULL}};
    cal_machine* machine = make_machine();
    const cal_device* device = ((cal_cuda_machine*)machine)->device;
    const cal_gpu_def gpu = cal_default_gpu_def();
    const bool emulated = strstr(cal_cuda_device_name(machine), "emulated") != NULL;
    for (size_t i = 0; emulated && i < sizeof runs / sizeof runs[0]; i++) {
        cal_model* model = cal_test_model(runs[i][0]);
        cal_plan* plan = NULL;
        cal_state* own = NULL;
        cal_gpu_price price;
        assert_int_equal(cal_plan_create_scheduled(model, "assembly", runs[i][1], machine, NULL, &plan, NULL), CAL_OK);
        assert_int_equal(cal_state_create(plan, &own), CAL_OK);
        const int before = cal_device_launches(device);
        assert_int_equal(cal_plan_execute(plan, own, NULL), CAL_OK);
        const int launches = cal_device_launches(device) - before;
        assert_int_equal(cal_price_gpu_assembly(model, runs[i][1], &gpu, &price, NULL), CAL_OK);
        if (launches != price.launches)
            fail_msg("%s: %d launches, and %d are priced", runs[i][0], launches, price.launches);
        cal_state_destroy(own);
        cal_plan_destroy(plan);
        cal_model_destroy(model);
    }
    cal_machine_destroy(machine);
    if (!emulated) skip();
}

// What others find in the device's memory is what the ensemble has; only a device that the host plays can be looked into from here.
static void views_show_the_instances(void** state) {
    (void)state;
    enum { COUNT = 40, SOME = 37 };
    cal_machine* machine = make_machine();
    if (strstr(cal_cuda_device_name(machine), "emulated") == NULL) {
        cal_machine_destroy(machine);
        skip();
    }
    cal_model* model = cal_test_model("random:n=14,passive=1,stop=50");
    const int q_count = cal_model_q_count(model), v_count = cal_model_v_count(model);
    double *q = cal_test_numbers((size_t)q_count), *v = cal_test_numbers((size_t)v_count);
    double *zeros = cal_test_numbers((size_t)v_count), *qdd = cal_test_numbers((size_t)v_count);
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble *there = NULL, *here = NULL;
    cal_cuda_view at_q, at_v, at_qdd;
    def.count = COUNT;
    def.sim.solver = "rk4";
    def.sim.contact = false;
    assert_int_equal(cal_ensemble_create_def(model, &def, &here, NULL), CAL_OK);
    assert_int_equal(cal_cuda_ensemble_view(here, CAL_Q, &at_q), CAL_NOT_AVAILABLE);
    def.machine = machine;
    assert_int_equal(cal_ensemble_create_def(model, &def, &there, NULL), CAL_OK);
    assert_int_equal(cal_cuda_ensemble_view(there, CAL_Q, &at_q), CAL_OK);
    assert_int_equal(cal_cuda_ensemble_view(there, CAL_V, &at_v), CAL_OK);
    assert_int_equal(cal_cuda_ensemble_view(there, CAL_QDD, &at_qdd), CAL_OK);
    assert_true(at_q.count == q_count && at_qdd.count == v_count && at_q.groups == 2);
#define NUMBER(view, i) ((view).data[(SOME / 32 * (view).rows + (view).row[i]) * 32 + SOME % 32])
    cal_ensemble_get(there, SOME, q, v);
    for (int i = 0; i < q_count; i++) assert_true(NUMBER(at_q, i) == q[i]);
    for (int i = 0; i < v_count; i++) NUMBER(at_v, i) = v[i] = 0.1 * i;
    assert_int_equal(cal_cuda_ensemble_changed(there), CAL_OK);
    assert_int_equal(cal_cuda_ensemble_forward(there), CAL_OK);
    cal_dynamics* dynamics = NULL;
    assert_int_equal(cal_dynamics_create(model, &dynamics, NULL), CAL_OK);
    assert_int_equal(cal_dynamics_forward(dynamics, q, v, zeros, NULL, qdd), CAL_OK);
    for (int i = 0; i < v_count; i++) assert_true(NUMBER(at_qdd, i) == qdd[i]);
    // And what was written is where the instances go on from.
    assert_int_equal(cal_ensemble_set(here, SOME, q, v), CAL_OK);
    assert_int_equal(cal_ensemble_advance(here, 0.01, NULL), CAL_OK);
    assert_int_equal(cal_ensemble_advance(there, 0.01, NULL), CAL_OK);
    assert_true(cal_ensemble_hash(here) == cal_ensemble_hash(there));
    cal_dynamics_destroy(dynamics);
    cal_ensemble_destroy(here);
    cal_ensemble_destroy(there);
    cal_model_destroy(model);
    cal_machine_destroy(machine);
    free(q), free(v), free(zeros), free(qdd);
}

static void what_cannot_run_says_so(void** state) {
    (void)state;
    cal_machine *machine = make_machine(), *none = NULL;
    cal_model *model = cal_test_model("fourbar"), *tree = cal_test_model("tree:height=2,fanout=2,joint=ball");
    cal_error error = {CAL_OK, ""};
    cal_cuda_def wrong = cal_default_cuda_def();
    wrong.device = 1000;
    assert_int_equal(cal_machine_cuda(&wrong, &none, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, "no CUDA device 1000"));
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    def.machine = machine;
    def.algorithm = "armstrong";
    assert_int_equal(cal_sim_create(tree, &def, &sim, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, "aba and assembly"));
    def.algorithm = "assembly";
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, "without constraints"));
    cal_ensemble_def many = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    many.machine = machine;
    // What is in the way is named, and nothing else.
    const struct {
        const cal_model* model;
        const char *solver, *algorithm, *word;
    } refused[] = {{model, "implicit", "aba", "solvers implicit and bdf;"},
                   {tree, "implicit", "aba", "solvers implicit and bdf;"},
                   {tree, "rk4", "assembly", "another algorithm than aba;"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        many.sim.solver = refused[i].solver;
        many.sim.algorithm = refused[i].algorithm;
        assert_int_equal(cal_ensemble_create_def(refused[i].model, &many, &ensemble, &error), CAL_NOT_AVAILABLE);
        if (!strstr(error.text, refused[i].word)) fail_msg("no '%s' in: %s", refused[i].word, error.text);
    }
    cal_model_destroy(model);
    cal_model_destroy(tree);
    cal_machine_destroy(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(simulations_have_the_bits_of_one_core),
                                       cmocka_unit_test(assembly_has_the_bits_of_one_core),
                                       cmocka_unit_test(ensembles_have_the_bits_of_one_core),
                                       cmocka_unit_test(loops_have_the_bits_of_one_core),
                                       cmocka_unit_test(instances_have_steps_of_their_own_with_the_bits_of_one_core),
                                       cmocka_unit_test(checkpoints_go_from_device_to_core_and_back),
                                       cmocka_unit_test(ensembles_go_from_device_to_core_and_back),
                                       cmocka_unit_test(assembly_launches_what_is_priced),
                                       cmocka_unit_test(views_show_the_instances),
                                       cmocka_unit_test(what_cannot_run_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
