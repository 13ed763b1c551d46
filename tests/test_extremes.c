// Numbers at the ends of what models have: a right answer, or a line that says what cannot be done; never success without numbers.
#include "calder/calder_world.h"
#include "support.h"
#include <math.h>
#include <string.h>

static const double sphere_radius = 0.1;

static int add_body(cal_builder* builder, int parent, double x, double z, double mass, double center_z) {
    cal_body_def body = cal_default_body_def();
    body.parent = parent;
    body.position[0] = x;
    body.position[2] = z;
    body.mass = mass;
    body.center[2] = center_z;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.01 * mass;
    return cal_builder_add_body(builder, &body);
}

static void add_joint(cal_builder* builder, int body, cal_joint_kind kind, double stiffness, double q, double v) {
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = kind;
    joint.axis[1] = 1.0;
    joint.axis[2] = 0.0;
    joint.stiffness = stiffness;
    joint.initial_q[0] = q;
    joint.initial_v[0] = v;
    cal_builder_add_joint(builder, body, &joint);
}

static void add_shape(cal_builder* builder, int body, cal_shape_kind kind, double size, double x) {
    cal_shape_def shape = cal_default_shape_def();
    shape.body = body;
    shape.kind = kind;
    shape.position[0] = x;
    for (int i = 0; i < 3; i++) shape.size[i] = size;
    cal_builder_add_shape(builder, &shape);
}

static cal_sim* open_sim(cal_builder* builder, const char* solver, double tolerance, cal_model** model) {
    cal_sim_def def = cal_default_sim_def();
    cal_sim* sim = NULL;
    cal_error error = {CAL_OK, ""};
    def.solver = solver;
    def.relative = tolerance;
    if (cal_builder_finish(builder, model, &error) != CAL_OK || cal_sim_create(*model, &def, &sim, &error) != CAL_OK)
        fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return sim;
}

static cal_builder* begin(void) {
    cal_builder* builder = NULL;
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    return builder;
}

static void end(cal_sim* sim, cal_model* model) {
    cal_sim_destroy(sim);
    cal_model_destroy(model);
}

// What weighs a million millionth of the link that it hangs from does not move that.
static void light_link_does_not_move_a_heavy_one(void** state) {
    (void)state;
    double q[2] = {0.0, 0.0};
    for (int links = 1; links <= 2; links++) {
        cal_builder* builder = begin();
        const int heavy = add_body(builder, CAL_GROUND, 0.0, 0.0, 1e6, -1.0);
        add_joint(builder, heavy, CAL_REVOLUTE, 0.0, 1.0, 0.0);
        if (links == 2)
            add_joint(builder, add_body(builder, heavy, 0.0, -1.0, 1e-6, -1.0), CAL_REVOLUTE, 0.0, 0.5, 0.0);
        cal_model* model = NULL;
        cal_sim* sim = open_sim(builder, "gear", 1e-10, &model);
        cal_test_advance_sim(sim, 3.0);
        q[links - 1] = cal_sim_q(sim)[0];
        end(sim, model);
    }
    cal_test_expect_below(fabs(q[0] - q[1]), 1e-7, "angle", "a link of 1e6 kg with one of 1e-6 kg below it");
}

// A spring of 1e12 N m/rad gives way by m g l / k, which is 1e-11 rad.
static void stiff_spring_holds(void** state) {
    (void)state;
    cal_builder* builder = begin();
    cal_body_def body = cal_default_body_def();
    body.mass = 1.0;
    body.center[0] = 1.0;
    for (int i = 0; i < 3; i++) body.inertia[i] = 0.1;
    add_joint(builder, cal_builder_add_body(builder, &body), CAL_REVOLUTE, 1e12, 0.0, 0.0);
    cal_model* model = NULL;
    cal_sim* sim = open_sim(builder, "implicit", 1e-6, &model);
    cal_test_advance_sim(sim, 1.0);
    cal_test_expect_below(fabs(cal_sim_q(sim)[0] - 9.81e-12), 2e-11, "angle", "a spring of 1e12 N m/rad");
    end(sim, model);
}

// At 1e8 m/s a ball meets a wall 10 m away, and at 1e8 rad/s a flywheel turns on.
static void fast_bodies_arrive(void** state) {
    (void)state;
    cal_builder* builder = begin();
    const int ball = add_body(builder, CAL_GROUND, 0.0, 0.0, 1.0, 0.0);
    add_joint(builder, ball, CAL_FREE, 0.0, 0.0, 1e8);
    add_shape(builder, ball, CAL_SPHERE, sphere_radius, 0.0);
    add_shape(builder, CAL_GROUND, CAL_BOX, 0.5, 10.0);
    cal_model* model = NULL;
    cal_sim* sim = open_sim(builder, "auto", 1e-4, &model);
    cal_test_advance_sim(sim, 0.01);
    cal_test_expect_below(fabs(cal_sim_q(sim)[0] - (9.5 - sphere_radius)), 1e-6, "place", "a ball of 1e8 m/s");
    end(sim, model);

    builder = begin();
    add_joint(builder, add_body(builder, CAL_GROUND, 0.0, 0.0, 1.0, -0.5), CAL_REVOLUTE, 0.0, 0.0, 1e8);
    sim = open_sim(builder, "gear", 1e-8, &model);
    cal_test_advance_sim(sim, 1e-6);
    cal_energy_balance balance;
    assert_int_equal(cal_sim_balance(sim, &balance), CAL_OK);
    assert_false(balance.exploded);
    cal_test_expect_below(fabs(cal_sim_q(sim)[0] - 100.0), 1e-5, "angle", "a flywheel of 1e8 rad/s");
    end(sim, model);
}

// A ball that weighs 1e12 times what carries it is not let through that silently.
static void what_cannot_be_carried_is_said(void** state) {
    (void)state;
    cal_builder* builder = begin();
    for (int i = 0; i < 2; i++) {
        const int ball =
            add_body(builder, CAL_GROUND, 0.0, i == 0 ? sphere_radius : 3.1 * sphere_radius, i == 0 ? 1e-6 : 1e6, 0.0);
        add_joint(builder, ball, CAL_FREE, 0.0, 0.0, 0.0);
        add_shape(builder, ball, CAL_SPHERE, sphere_radius, 0.0);
    }
    add_shape(builder, CAL_GROUND, CAL_PLANE, 0.0, 0.0);
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    cal_sim* sim = open_sim(builder, "auto", 1e-4, &model);
    const cal_status status = cal_sim_advance(sim, 1.0, &error);
    if (status == CAL_OK)
        cal_test_expect_below(fabs(cal_sim_q(sim)[9] - 3.0 * sphere_radius), 1e-3, "height", "a ball on a light one");
    else
        assert_non_null(strstr(error.text, "overlap"));
    end(sim, model);
}

// A damper of 1e7 N m s/rad beside steps of 1 s of an explicit solver: the line says what became of the motion.
static void what_bursts_is_said(void** state) {
    (void)state;
    cal_builder* builder = begin();
    const int base = add_body(builder, CAL_GROUND, 1.0, 2.0, 1.0, 0.0);
    add_joint(builder, base, CAL_FREE, 0.0, 0.0, 0.0);
    const int link = add_body(builder, base, 0.5, -0.5, 1.0, 0.0);
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = CAL_REVOLUTE;
    joint.axis[1] = 1.0, joint.axis[2] = 0.0;
    joint.damping = 1e7;
    joint.initial_v[0] = 1e-9;
    cal_builder_add_joint(builder, link, &joint);
    add_shape(builder, link, CAL_SPHERE, sphere_radius, 0.1);
    add_shape(builder, CAL_GROUND, CAL_PLANE, 0.0, 0.0);
    cal_model* model = NULL;
    assert_int_equal(cal_builder_finish(builder, &model, NULL), CAL_OK);
    cal_builder_destroy(builder);
    cal_sim_def def = cal_default_sim_def();
    def.solver = "rk4";
    def.step = 1.0;
    cal_sim* sim = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_sim_create(model, &def, &sim, &error), CAL_NOT_FINITE); // boxes are looked for ahead
    if (strstr(error.text, "became infinite or not a number") == NULL) fail_msg("%s", error.text);
    end(sim, model);
}

// What is followed in steps of nanoseconds is not followed further than it can be kept: a box of usual length would have 1e5 states.
static void short_steps_take_little_memory(void** state) {
    (void)state;
    cal_builder* builder = begin();
    const int wheel = add_body(builder, CAL_GROUND, 0.0, 0.0, 1.0, 0.0);
    add_joint(builder, wheel, CAL_REVOLUTE, 1e14, 0.1, 0.0);
    add_shape(builder, wheel, CAL_SPHERE, sphere_radius, 0.0);
    const int ball = add_body(builder, CAL_GROUND, 10.0, 0.0, 1.0, 0.0);
    add_joint(builder, ball, CAL_FREE, 0.0, 0.0, 0.0);
    add_shape(builder, ball, CAL_SPHERE, sphere_radius, 0.0);
    cal_model* model = NULL;
    cal_sim* sim = open_sim(builder, "rkf", 1e-4, &model);
    cal_test_advance_sim(sim, 1e-5);
    cal_world_report report;
    assert_int_equal(cal_world_get_report(cal_sim_world(sim), &report), CAL_OK);
    cal_test_expect_below((double)report.peak_states, 3000.0, "states", "a spring of 1e14 N m/rad");
    cal_test_expect_below(fabs(fabs(cal_sim_q(sim)[0]) - 0.1 * fabs(cos(1e8 * 1e-5))), 1e-3, "angle", "the same");
    end(sim, model);
}

// What is no number, or has no end, is refused where a world or a shape of it is made, as the builder does.
static void worlds_take_finite_numbers(void** state) {
    (void)state;
    const double wrong[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        for (int field = 0; field < 4; field++) {
            cal_world_def def = cal_default_world_def();
            cal_world* world = NULL;
            double* const fields[] = {&def.friction, &def.contact_speed, &def.restitution, &def.gravity[1]};
            *fields[field] = wrong[i];
            assert_int_equal(cal_world_create(&def, &world, NULL), CAL_BAD_ARGUMENT);
            def = cal_default_world_def();
            assert_int_equal(cal_world_create(&def, &world, NULL), CAL_OK);
            const cal_world_body_def ball = cal_default_world_body_def();
            cal_body_id id;
            assert_int_equal(cal_world_add_body(world, &ball, &id, NULL), CAL_OK);
            cal_shape_def shape = cal_default_shape_def();
            shape.kind = CAL_SPHERE;
            shape.friction = wrong[i];
            assert_int_equal(cal_world_add_shape(world, id, &shape, NULL, NULL), CAL_BAD_ARGUMENT);
            cal_world_destroy(world);
        }
}

static void models_take_finite_numbers(void** state) {
    (void)state;
    cal_sensor_def sensor = cal_default_sensor_def();
    cal_site_def site = cal_default_site_def();
    cal_pair_def pair = cal_default_pair_def();
    sensor.kind = CAL_SENSOR_FRAME_POSITION;
    sensor.body = sensor.reference = site.body = 0;
    pair.shape[0] = 0, pair.shape[1] = 1;
    double field[3] = {0.0, -0.5, 0.0};
    double* const numbers[] = {NULL,
                               &field[0],
                               &sensor.cutoff,
                               &sensor.position[1],
                               &sensor.quaternion[2],
                               &sensor.reference_position[0],
                               &sensor.reference_quaternion[3],
                               &site.size[1],
                               &pair.friction};
    const double wrong[] = {(double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        for (int k = 0; k < 2; k++) {
            const double before = i > 0 ? *numbers[i] : 0.0;
            if (i > 0) *numbers[i] = wrong[k];
            cal_builder* builder = begin();
            const int body = add_body(builder, CAL_GROUND, 0.0, 0.0, 1.0, 0.0);
            add_joint(builder, body, CAL_REVOLUTE, 0.0, 0.0, 0.0);
            add_shape(builder, body, CAL_SPHERE, sphere_radius, 0.0);
            add_shape(builder, CAL_GROUND, CAL_SPHERE, sphere_radius, 1.0);
            cal_builder_set_magnetic_field(builder, field);
            cal_builder_add_sensor(builder, &sensor);
            cal_builder_add_site(builder, &site);
            cal_builder_add_pair(builder, &pair);
            cal_model* model = NULL;
            cal_error error = {CAL_OK, ""};
            assert_int_equal(cal_builder_finish(builder, &model, &error), i == 0 ? CAL_OK : CAL_BAD_MODEL);
            assert_true(i == 0 || strstr(error.text, "finite") != NULL);
            cal_builder_destroy(builder);
            cal_model_destroy(model);
            if (i > 0) *numbers[i] = before;
        }
}

// A spring that is not there has no energy, however far it would be stretched.
static void a_slider_without_a_spring_has_an_energy_anywhere(void** state) {
    (void)state;
    cal_builder* builder = begin();
    const int body = add_body(builder, CAL_GROUND, 0.0, 0.0, 1.0, 0.0);
    add_joint(builder, body, CAL_PRISMATIC, 0.0, 1e200, 0.0);
    cal_model* model = NULL;
    cal_sim* sim = open_sim(builder, "gear", 1e-6, &model);
    double kinetic, potential;
    assert_int_equal(cal_sim_energy(sim, &kinetic, &potential), CAL_OK);
    assert_true(kinetic == 0.0 && isfinite(potential));
    end(sim, model);
}

// Nothing at all is a model, and time goes on in it.
static void nothing_is_simulated(void** state) {
    (void)state;
    cal_model* model = NULL;
    cal_sim* sim = open_sim(begin(), "auto", 1e-4, &model);
    cal_test_advance_sim(sim, 1e6);
    assert_true(cal_sim_time(sim) == 1e6);
    assert_int_equal(cal_model_body_count(model), 0);
    end(sim, model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(light_link_does_not_move_a_heavy_one),
        cmocka_unit_test(stiff_spring_holds),
        cmocka_unit_test(fast_bodies_arrive),
        cmocka_unit_test(what_cannot_be_carried_is_said),
        cmocka_unit_test(what_bursts_is_said),
        cmocka_unit_test(short_steps_take_little_memory),
        cmocka_unit_test(worlds_take_finite_numbers),
        cmocka_unit_test(models_take_finite_numbers),
        cmocka_unit_test(a_slider_without_a_spring_has_an_energy_anywhere),
        cmocka_unit_test(nothing_is_simulated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
