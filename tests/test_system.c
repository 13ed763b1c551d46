// Systems: a step is a step, however it is looked at; what was stored goes on with the same bits, whatever happened in between.
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/coordinates.h"
#include "solver/system_data.h"

enum { BEFORE = 20, STEPS = 50 };

static const char* const models[] = {"random:n=12,seed=5", "humanoid:floor=0", "fourbar:n=3", "ring:n=5,joint=ball",
                                     "ring:n=6"};
enum { MODELS = sizeof models / sizeof models[0] };

// --- Systems ---------------------------------------------------------------------------------------------------------

typedef struct subject {
    cal_machine* machine;
    cal_system* system;
    double *q, *v; // for samples
} subject;

static subject open_subject(const cal_model* model, cal_sim_def def, int lanes) {
    subject s = {0};
    cal_error error;
    assert_int_equal(cal_machine_serial(lanes, &s.machine, NULL), CAL_OK);
    def.machine = s.machine;
    if (cal_system_create(model, &def, &s.system, &error)) fail_msg("%s", error.text);
    s.q = cal_test_numbers((size_t)cal_model_q_count(model));
    s.v = cal_test_numbers((size_t)cal_model_v_count(model));
    return s;
}

static cal_sim_def define(const char* solver) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = solver;
    def.relative = 1e-6;
    return def;
}

static void close_subject(subject* s) {
    cal_system_destroy(s->system);
    cal_machine_destroy(s->machine);
    free(s->q), free(s->v);
}

// Away from rest, where no constraint forbids it.
static void begin(const cal_model* model, subject* s, uint64_t seed) {
    cal_error error;
    cal_test_motion motion = cal_test_random_motion(model, seed);
    const bool loops = cal_model_constraint_count(model) > 0;
    const cal_status status =
        cal_system_begin(s->system, 0.25, loops ? NULL : motion.q, loops ? NULL : motion.v, &error);
    if (status) fail_msg("%s", error.text);
    cal_test_motion_free(&motion);
}

typedef struct step {
    double from, to;
    uint64_t hash;
} step;

static step take_step(subject* s) {
    step out;
    cal_error error;
    if (cal_system_step(s->system, &out.from, &out.to, &error)) fail_msg("%s", error.text);
    assert_true(out.to > out.from);
    assert_true(cal_system_time(s->system) == out.to);
    out.hash = cal_system_hash(s->system);
    return out;
}

static void take_steps(subject* s, step* out, int count) {
    for (int i = 0; i < count; i++) {
        const step next = take_step(s);
        if (i > 0 && out) assert_true(next.from == out[i - 1].to);
        if (out) out[i] = next;
    }
}

static void expect_same(const step* a, const step* b, int count, const char* what, const char* name) {
    for (int i = 0; i < count; i++)
        if (a[i].from != b[i].from || a[i].to != b[i].to || a[i].hash != b[i].hash)
            fail_msg("%s, %s: step %d from %.17g to %.17g (%016llx), not from %.17g to %.17g (%016llx)", what, name, i,
                     b[i].from, b[i].to, (unsigned long long)b[i].hash, a[i].from, a[i].to,
                     (unsigned long long)a[i].hash);
}

typedef struct stored {
    void* bytes;
    size_t size;
} stored;

static stored store(const subject* s) {
    const stored memory = {malloc(cal_system_memory_size(s->system)), cal_system_memory_size(s->system)};
    assert_non_null(memory.bytes);
    cal_system_store(s->system, memory.bytes);
    return memory;
}

static void load(subject* s, stored memory) {
    assert_int_equal(cal_system_load(s->system, memory.bytes, memory.size), CAL_OK);
}

// --- Memory ----------------------------------------------------------------------------------------------------------

static void check_memory(const cal_model* model, const cal_sim_def* def, int lanes, const char* name) {
    subject s = open_subject(model, *def, lanes), other = open_subject(model, *def, lanes);
    step first[STEPS], again[STEPS];
    begin(model, &s, 7);
    take_steps(&s, NULL, BEFORE);
    const stored memory = store(&s);
    const uint64_t hash = cal_system_hash(s.system);
    cal_sim_report before, after;
    cal_system_get_report(s.system, &before);
    take_steps(&s, first, STEPS);

    load(&s, memory);
    cal_system_get_report(s.system, &after);
    assert_true(cal_system_hash(s.system) == hash);
    assert_true(before.time == after.time && before.steps == after.steps && before.evaluations == after.evaluations);
    take_steps(&s, again, STEPS);
    expect_same(first, again, STEPS, name, def->solver);

    // Whatever happened in between: other forces, another motion.
    const double force[3] = {1.0, 2.0, 3.0}, none[3] = {0.0};
    assert_int_equal(cal_system_push(s.system, 0, force, none, none), CAL_OK);
    begin(model, &s, 8);
    take_steps(&s, NULL, 3);
    load(&s, memory);
    take_steps(&s, again, STEPS);
    expect_same(first, again, STEPS, name, def->solver);

    // Another system of the same kind goes on as well, and the same memory serves again.
    begin(model, &other, 9);
    take_steps(&other, NULL, 5);
    load(&other, memory);
    take_steps(&other, again, STEPS);
    expect_same(first, again, STEPS, name, def->solver);

    // What was stored can be stored again before anything else happens.
    load(&other, memory);
    const stored copy = store(&other);
    load(&s, copy);
    take_steps(&s, again, STEPS);
    expect_same(first, again, STEPS, name, def->solver);
    free(memory.bytes), free(copy.bytes);
    close_subject(&s), close_subject(&other);
}

static void memory_has_all(void** state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        cal_model* model = cal_test_model(models[m]);
        for (int i = 0; cal_solver_name(i); i++) {
            const cal_sim_def def = define(cal_solver_name(i));
            check_memory(model, &def, 1, models[m]);
            check_memory(model, &def, 4, models[m]);
        }
        cal_model_destroy(model);
    }
}

static void memory_has_forms(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar:n=3");
    cal_sim_def def = define("gear");
    def.constraint_form = "minimal";
    check_memory(model, &def, 1, "minimal");
    def = define("rk4");
    def.stabilize = "baumgarte";
    check_memory(model, &def, 1, "baumgarte");
    def = define("rkf");
    def.algorithm = "assembly";
    check_memory(model, &def, 1, "assembly");
    cal_model_destroy(model);
}

static void memory_has_slow_band(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=6,joint=ball");
    cal_sim_def def = define("rk4");
    def.algorithm = "armstrong";
    def.slow_band = 7; // does not divide the steps before
    check_memory(model, &def, 1, "slow band");
    cal_model_destroy(model);
}

// Forces, controls, pushes and connections are part of it.
static void memory_has_forces(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar:n=3");
    subject s = open_subject(model, define("gear"), 1);
    step first[STEPS], again[STEPS];
    const double force[3] = {0.3, 0.0, 0.1}, torque[3] = {0.0, 0.2, 0.0}, point[3] = {0.1, 0.0, 0.0};
    double* tau = cal_test_numbers((size_t)cal_model_v_count(model));
    tau[0] = 0.5;
    begin(model, &s, 1);
    for (int i = 0; i < 3; i++) assert_int_equal(cal_system_push(s.system, i, force, torque, point), CAL_OK);
    assert_int_equal(cal_system_drive(s.system, tau, NULL, NULL), CAL_OK);
    assert_int_equal(cal_system_disconnect(s.system, 1, NULL), CAL_OK);
    take_steps(&s, NULL, BEFORE);
    const stored memory = store(&s);
    take_steps(&s, first, STEPS);

    cal_system_release(s.system);
    tau[0] = 0.0;
    assert_int_equal(cal_system_drive(s.system, tau, NULL, NULL), CAL_OK);
    begin(model, &s, 1);
    assert_int_equal(cal_system_disconnect(s.system, 0, NULL), CAL_OK);
    take_steps(&s, NULL, 5);
    load(&s, memory);
    assert_true(cal_system_connected(s.system, 0) && !cal_system_connected(s.system, 1));
    take_steps(&s, again, STEPS);
    expect_same(first, again, STEPS, "forces", "gear");
    free(memory.bytes), free(tau);
    close_subject(&s);
    cal_model_destroy(model);
}

// --- Samples ---------------------------------------------------------------------------------------------------------

// States inside steps are those that a simulation shows that is asked for times.
static void check_samples(const cal_model* model, const char* solver, int lanes, const char* name) {
    static const double places[] = {0.0, 0.3, 0.7, 1.0};
    enum { COUNT = 30 };
    const cal_sim_def def = define(solver);
    const size_t q_bytes = (size_t)cal_model_q_count(model) * sizeof(double),
                 v_bytes = (size_t)cal_model_v_count(model) * sizeof(double);
    subject s = open_subject(model, def, lanes);
    cal_sim* sim;
    cal_error error;
    assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
    begin(model, &s, 3);
    cal_test_motion motion = cal_test_random_motion(model, 3);
    const bool loops = cal_model_constraint_count(model) > 0;
    assert_int_equal(cal_sim_set(sim, 0.25, loops ? NULL : motion.q, loops ? NULL : motion.v, NULL), CAL_OK);
    cal_test_motion_free(&motion);
    for (int i = 0; i < COUNT; i++) {
        const step now = take_step(&s);
        for (int k = 1; k < 4; k++) {
            const double time = k == 3 ? now.to : now.from + places[k] * (now.to - now.from);
            if (cal_system_sample(s.system, time, s.q, s.v, &error)) fail_msg("%s", error.text);
            if (cal_sim_advance(sim, time, &error)) fail_msg("%s", error.text);
            if (!cal_same_bits(s.q, cal_sim_q(sim), q_bytes) || !cal_same_bits(s.v, cal_sim_v(sim), v_bytes))
                fail_msg("%s, %s: step %d has another state at t = %.17g", name, solver, i, time);
        }
        assert_true(cal_system_time(s.system) == now.to && cal_system_hash(s.system) == cal_sim_hash(sim));
        assert_true(cal_system_sample(s.system, now.from, s.q, s.v, NULL) == CAL_OK);
        assert_true(cal_system_sample(s.system, now.to + 1.0, s.q, s.v, NULL) == CAL_BAD_ARGUMENT);
    }
    cal_sim_destroy(sim);
    close_subject(&s);
}

static void samples_are_what_is_shown(void** state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        cal_model* model = cal_test_model(models[m]);
        for (int i = 0; cal_solver_name(i); i++) {
            check_samples(model, cal_solver_name(i), 1, models[m]);
            check_samples(model, cal_solver_name(i), 4, models[m]);
        }
        cal_model_destroy(model);
    }
}

// After a load the last step is there to be sampled.
static void samples_after_load(void** state) {
    (void)state;
    cal_model* model = cal_test_model("fourbar:n=3");
    for (int i = 0; cal_solver_name(i); i++) {
        subject s = open_subject(model, define(cal_solver_name(i)), 1);
        const size_t bytes = (size_t)cal_model_q_count(model) * sizeof(double);
        begin(model, &s, 1);
        assert_int_equal(cal_system_sample(s.system, 0.25, s.q, s.v, NULL), CAL_BAD_ARGUMENT);
        take_steps(&s, NULL, BEFORE);
        const step last = take_step(&s);
        const double time = last.from + 0.4 * (last.to - last.from);
        double* q = cal_test_numbers((size_t)cal_model_q_count(model));
        assert_int_equal(cal_system_sample(s.system, time, q, s.v, NULL), CAL_OK);
        const stored memory = store(&s);
        take_steps(&s, NULL, 4);
        load(&s, memory);
        assert_int_equal(cal_system_sample(s.system, time, s.q, s.v, NULL), CAL_OK);
        assert_true(cal_same_bits(s.q, q, bytes));
        free(memory.bytes), free(q);
        close_subject(&s);
    }
    cal_model_destroy(model);
}

// Differences of one order more than the degree vanish up to rounding, where joints have no quaternions.
static void samples_have_their_degree(void** state) {
    (void)state;
    cal_model* model = cal_test_model("chain:n=5");
    const int count = cal_model_q_count(model);
    assert_int_equal(count, cal_model_v_count(model));
    for (int i = 0; cal_solver_name(i); i++) {
        subject s = open_subject(model, define(cal_solver_name(i)), 1);
        int most = 0;
        begin(model, &s, 3);
        for (int n = 0; n < 40; n++) {
            const step now = take_step(&s);
            const int degree = cal_system_degree(s.system);
            double difference[2] = {0.0}, factor = 1.0, largest = 0.0;
            assert_in_range(degree, 1, CAL_MAX_DEGREE);
            most = degree > most ? degree : most;
            for (int k = 0; k <= degree + 1; k++) {
                const double share = (double)k / (degree + 1);
                const double time = k > degree ? now.to : now.from + share * (now.to - now.from);
                assert_int_equal(cal_system_sample(s.system, time, s.q, s.v, NULL), CAL_OK);
                difference[0] += factor * s.q[2], difference[1] += factor * s.v[2];
                largest = fmax(largest, fmax(fabs(s.q[2]), fabs(s.v[2])));
                factor *= -(double)(degree + 1 - k) / (k + 1);
            }
            // Each sample has a few roundings, of its time as well; their factors' sizes sum up to 2^(degree + 1). Velocities that
            // are slopes of positions are differences of these divided by the step.
            const double unit = ldexp(64.0 * 2.2e-16 * (1.0 + largest) * (1.0 + now.to), degree + 1);
            const double slope = 1.0 / (now.to - now.from);
            cal_test_expect_below(fabs(difference[0]), unit, "difference of q", cal_solver_name(i));
            cal_test_expect_below(fabs(difference[1]), unit * (1.0 + slope), "difference of v", cal_solver_name(i));
        }
        assert_true(most > 1);
        close_subject(&s);
    }
    cal_model_destroy(model);
}

// --- Others ----------------------------------------------------------------------------------------------------------

// Two systems of one model that take turns do what each does alone.
static void systems_live_side_by_side(void** state) {
    (void)state;
    cal_model* model = cal_test_model("humanoid:floor=0");
    for (int i = 0; cal_solver_name(i); i++) {
        step alone[2][STEPS], together[2][STEPS];
        for (int k = 0; k < 2; k++) {
            subject s = open_subject(model, define(cal_solver_name(i)), 1);
            begin(model, &s, 20 + (uint64_t)k);
            take_steps(&s, alone[k], STEPS);
            close_subject(&s);
        }
        subject both[2];
        for (int k = 0; k < 2; k++) {
            both[k] = open_subject(model, define(cal_solver_name(i)), 1);
            begin(model, &both[k], 20 + (uint64_t)k);
        }
        for (int n = 0; n < STEPS; n++)
            for (int k = 0; k < 2; k++) take_steps(&both[k], &together[k][n], 1);
        for (int k = 0; k < 2; k++) {
            expect_same(alone[k], together[k], STEPS, "side by side", cal_solver_name(i));
            close_subject(&both[k]);
        }
    }
    cal_model_destroy(model);
}

// A four-bar linkage that passes its singular positions: steps have no gaps, and states no jumps; also where the solver is made to
// believe that it does not get further there, so that it is helped over. (Of solvers that need several evaluations per step: the
// belief is lost with the next accepted one.)
static void check_singular(const cal_model* model, const char* solver, bool helped) {
    const size_t count = (size_t)cal_model_q_count(model);
    double *end = cal_test_numbers(2 * count), time = 0.25;
    subject s = open_subject(model, define(solver), 1);
    step first[STEPS], again[STEPS];
    int over = 0;
    begin(model, &s, 1);
    while (time < 2.0) {
        memcpy(end, cal_system_q(s.system), count * sizeof *end);
        memcpy(end + count, cal_system_v(s.system), count * sizeof *end);
        if (helped && over < 5) s.system->attempts = 1000000, s.system->progress = time;
        const step now = take_step(&s);
        assert_true(now.from == time);
        time = now.to;
        // A step over goes back to the solver's own value at its begin; projections are as small as its tolerance.
        assert_int_equal(cal_system_sample(s.system, now.from, s.q, s.v, NULL), CAL_OK);
        cal_test_expect_below(cal_test_largest_difference(s.q, end, count), 1e-6, "jump of q", solver);
        cal_test_expect_below(cal_test_largest_difference(s.v, end + count, count), 1e-5, "jump of v", solver);
        if (!s.system->last.valid) continue;
        over++;
        assert_int_equal(cal_system_degree(s.system), 3);
        // In its middle as well the state is one of the motion: the slope of q is v there.
        const double h = 1e-3 * (now.to - now.from), middle = 0.5 * (now.from + now.to);
        assert_int_equal(cal_system_sample(s.system, middle + h, s.q, s.v, NULL), CAL_OK);
        memcpy(end, s.q, count * sizeof *end);
        assert_int_equal(cal_system_sample(s.system, middle - h, s.q, s.v, NULL), CAL_OK);
        for (size_t k = 0; k < count; k++) end[k] = (end[k] - s.q[k]) / (2.0 * h);
        assert_int_equal(cal_system_sample(s.system, middle, s.q, s.v, NULL), CAL_OK);
        cal_test_expect_below(cal_test_largest_difference(s.v, end, count), 1e-4, "slope of q", solver);
        if (over > 1) continue;
        const stored memory = store(&s);
        take_steps(&s, first, STEPS);
        load(&s, memory);
        assert_true(s.system->last.valid);
        take_steps(&s, again, STEPS);
        expect_same(first, again, STEPS, "step over", solver);
        time = again[STEPS - 1].to;
        free(memory.bytes);
    }
    if (helped != (over > 0)) fail_msg("%s: %d steps over", solver, over);
    free(end);
    close_subject(&s);
}

static void steps_go_over_singular_positions(void** state) {
    (void)state;
    static const char* const solvers[] = {"rkf", "rkg", "iec"};
    cal_model* model = cal_test_model("fourbar:n=1");
    assert_int_equal(cal_model_q_count(model), cal_model_v_count(model));
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        check_singular(model, solvers[i], false);
        check_singular(model, solvers[i], true);
    }
    cal_model_destroy(model);
}

static void check_coordinates(const cal_model* model, const char* name) {
    const size_t count = (size_t)cal_model_q_count(model);
    cal_test_motion motion = cal_test_random_motion(model, 4);
    double *moved = cal_test_numbers(count), *other = cal_test_numbers(count), *back = cal_test_numbers(count);
    memcpy(moved, motion.q, count * sizeof *moved);
    cal_model_displace(model, motion.v, 0.7, moved);
    cal_test_displace(model, motion.q, motion.v, 0.7, other);
    cal_test_expect_below(cal_test_largest_difference(moved, other, count), 1e-14, "displacement", name);

    // The rate is the slope of displacements: central differences err by h² |v|³.
    const double h = 1e-4;
    memcpy(moved, motion.q, count * sizeof *moved), memcpy(back, motion.q, count * sizeof *back);
    cal_model_displace(model, motion.v, h, moved);
    cal_model_displace(model, motion.v, -h, back);
    cal_model_rate(model, motion.q, motion.v, other);
    for (size_t i = 0; i < count; i++) moved[i] = (moved[i] - back[i]) / (2.0 * h);
    cal_test_expect_below(cal_test_largest_difference(moved, other, count), 1e-7, "rate", name);

    memcpy(moved, motion.q, count * sizeof *moved);
    for (int i = 0; i < model->joint_count; i++) {
        const int first = cal_joint_quaternion((int)model->joints[i].def->kind);
        for (int k = 0; first >= 0 && k < 4; k++) moved[model->joints[i].first_q + first + k] *= 3.0;
    }
    assert_null(cal_model_find_bad_quaternion(model, moved));
    cal_model_normalize(model, moved);
    cal_test_expect_below(cal_test_largest_difference(moved, motion.q, count), 1e-15, "unit", name);
    free(moved), free(other), free(back);
    cal_test_motion_free(&motion);
}

static void coordinates_agree(void** state) {
    (void)state;
    cal_test_on_every_model(check_coordinates);
}

static void fixed_steps_are_known(void** state) {
    (void)state;
    assert_true(cal_solver_has_fixed_step("rk4") && cal_solver_has_fixed_step("euler"));
    assert_false(cal_solver_has_fixed_step("gear") || cal_solver_has_fixed_step("bdf"));
    assert_false(cal_solver_has_fixed_step("nothing") || cal_solver_has_fixed_step(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_has_all),
        cmocka_unit_test(memory_has_forms),
        cmocka_unit_test(memory_has_slow_band),
        cmocka_unit_test(memory_has_forces),
        cmocka_unit_test(samples_are_what_is_shown),
        cmocka_unit_test(samples_after_load),
        cmocka_unit_test(samples_have_their_degree),
        cmocka_unit_test(systems_live_side_by_side),
        cmocka_unit_test(steps_go_over_singular_positions),
        cmocka_unit_test(coordinates_agree),
        cmocka_unit_test(fixed_steps_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
