// A run whose advance failed where shapes can touch, and whose state nobody knows: whatever it is asked for says so in a line, and it
// goes back to its start.
#include "support.h"
#include <math.h>
#include <string.h>

#include "calder/calder_run.h"

// A chain, and beside it a body that a force of 10²⁰¹ N throws away.
static cal_model* thrown(void) {
    static const cal_joint_kind kinds[] = {CAL_REVOLUTE, CAL_BALL, CAL_PRISMATIC, CAL_FREE};
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < 4; i++) {
        cal_body_def body = cal_default_body_def();
        cal_joint_def joint = cal_default_joint_def();
        cal_shape_def shape = cal_default_shape_def();
        const bool free = kinds[i] == CAL_FREE;
        body.parent = free ? CAL_GROUND : i - 1;
        body.position[0] = free ? 0.0 : 0.5;
        body.mass = 1.0;
        body.weightless = free ? -1e200 : 0.0;
        for (int k = 0; k < 3; k++) body.inertia[k] = 0.1;
        joint.kind = kinds[i];
        joint.axis[1] = 1.0;
        shape.body = i;
        shape.kind = CAL_SPHERE;
        shape.size[0] = 0.1;
        cal_builder_add_body(builder, &body);
        cal_builder_add_joint(builder, i, &joint);
        if (!free) cal_builder_add_shape(builder, &shape);
    }
    cal_builder_set_medium(builder, 1.2, 1e-5, (double[3]){1.0, 0.0, 0.0});
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    return model;
}

static void expect_line(cal_status status, const cal_error* error) {
    assert_int_not_equal(status, CAL_OK);
    assert_true(error->text[0] != '\0' && !strchr(error->text, '\n'));
}

static void says_that_its_state_is_unknown(void** state) {
    (void)state;
    enum { V_COUNT = 1 + 3 + 1 + 6 };
    static const double here[3], push[V_COUNT] = {1.0};
    char note[256], text[4096];
    cal_model* model = thrown();
    const cal_run_sim_def def = cal_default_run_sim_def();
    cal_run* run = NULL;
    cal_run_settings settings;
    assert_int_equal(cal_run_create_sim(model, &def, &run, NULL), CAL_OK);
    assert_int_equal(cal_run_begin(run, false, note, NULL), CAL_OK);
    assert_true(cal_run_describe(run, 1, text, sizeof text) > 0);
    const double start = cal_run_q(run)[0];
    // Where a hand holds a body, and where none does.
    for (int held = 0; held < 2; held++) {
        cal_error error = {CAL_OK, ""};
        if (held) assert_int_equal(cal_run_grab(run, 1, here, NULL), CAL_OK);
        expect_line(cal_run_advance(run, 1e-3, &error), &error);
        assert_null(cal_run_q(run));
        assert_null(cal_run_v(run));
        cal_run_pull pull = {.body = CAL_NONE};
        cal_run_get_pull(run, &pull);
        assert_int_equal(pull.body, CAL_NONE);
        for (int body = 0; body < cal_run_body_count(run); body++)
            assert_int_equal(cal_run_describe(run, body, text, sizeof text), 0);
        error = (cal_error){CAL_OK, ""};
        expect_line(cal_run_grab(run, 1, here, &error), &error);
        // Another solver would begin at the model's start, at that time.
        cal_run_get_settings(run, &settings);
        strcpy(settings.solver, "rk4");
        error = (cal_error){CAL_OK, ""};
        expect_line(cal_run_change(run, &settings, &error), &error);
        error = (cal_error){CAL_OK, ""};
        expect_line(cal_run_advance(run, 2e-3, &error), &error);
        error = (cal_error){CAL_OK, ""};
        expect_line(cal_run_drive(run, push, NULL, &error), &error);
        assert_int_equal(cal_run_reset(run, &error), CAL_OK);
        assert_true(cal_run_time(run) == 0.0 && cal_run_q(run)[0] == start);
        assert_true(cal_run_describe(run, 1, text, sizeof text) > 0);
    }
    cal_run_destroy(run);
    cal_model_destroy(model);
}

static void a_state_that_is_set_whole_needs_no_other(void** state) {
    (void)state;
    cal_model* model = thrown();
    const cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    double q[1 + 4 + 1 + 7], v[1 + 3 + 1 + 6];
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
    memcpy(q, cal_sim_q(sim), sizeof q);
    memcpy(v, cal_sim_v(sim), sizeof v);
    expect_line(cal_sim_advance(sim, 1e-3, &error), &error);
    error = (cal_error){CAL_OK, ""};
    expect_line(cal_sim_set(sim, 1.0, q, NULL, &error), &error);
    q[0] = 0.25;
    assert_int_equal(cal_sim_set(sim, 1.0, q, v, &error), CAL_OK);
    assert_true(cal_sim_time(sim) == 1.0 && cal_sim_q(sim)[0] == 0.25);
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

static void an_instance_says_why_it_takes_no_forces(void** state) {
    (void)state;
    enum { V_COUNT = 1 + 3 + 1 + 6 };
    static const double push[V_COUNT] = {1.0};
    cal_model* model = thrown();
    cal_ensemble_def def = cal_default_ensemble_def();
    cal_ensemble* ensemble = NULL;
    cal_error error = {CAL_OK, ""};
    def.count = 2;
    def.sim = cal_default_sim_def();
    assert_int_equal(cal_ensemble_create_def(model, &def, &ensemble, NULL), CAL_OK);
    expect_line(cal_ensemble_advance(ensemble, 1e-3, &error), &error);
    error = (cal_error){CAL_OK, ""};
    expect_line(cal_ensemble_drive(ensemble, 1, push, NULL, &error), &error);
    cal_ensemble_destroy(ensemble);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_that_its_state_is_unknown),
        cmocka_unit_test(a_state_that_is_set_whole_needs_no_other),
        cmocka_unit_test(an_instance_says_why_it_takes_no_forces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
