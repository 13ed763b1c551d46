// Which shapes of a model may touch: one fact for each rule.
#include "support.h"

#include <string.h>

#include "model/touch.h"

// A floor, a fixed table, an arm of two hinges on it with a plate fixed to its second link, and a free ball; every one
// a sphere.
enum { TABLE, UPPER, LOWER, PLATE, BALL, BODIES, FLOOR_SHAPE = BODIES };

typedef struct scene {
    cal_shape_def shapes[BODIES + 1];
    cal_pair_def pair;
    int exclusion[2];
    cal_constraint_def loop; // of CAL_NONE and CAL_NONE: there is none
    uint32_t disabled;
} scene;

static scene plain(void) {
    scene s = {.pair = cal_default_pair_def(), .exclusion = {CAL_NONE, CAL_NONE}, .loop = cal_default_constraint_def()};
    s.loop.body[0] = s.loop.body[1] = CAL_NONE;
    for (int i = 0; i <= BODIES; i++) {
        s.shapes[i] = cal_default_shape_def();
        s.shapes[i].body = i < BODIES ? i : CAL_GROUND;
        s.shapes[i].size[0] = 0.1;
    }
    return s;
}

static cal_model* build(const scene* s) {
    static const int parents[BODIES] = {CAL_GROUND, TABLE, UPPER, LOWER, CAL_GROUND};
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    for (int i = 0; i < BODIES; i++) {
        cal_body_def body = cal_default_body_def();
        body.parent = parents[i];
        body.mass = 1.0;
        for (int k = 0; k < 3; k++) body.inertia[k] = 1.0;
        cal_builder_add_body(builder, &body);
    }
    cal_joint_def joint = cal_default_joint_def();
    cal_builder_add_joint(builder, UPPER, &joint);
    cal_builder_add_joint(builder, LOWER, &joint);
    joint.axis[0] = 1.0; // a second joint on the same body
    cal_builder_add_joint(builder, LOWER, &joint);
    joint = cal_default_joint_def();
    joint.kind = CAL_FREE;
    cal_builder_add_joint(builder, BALL, &joint);
    for (int i = 0; i <= BODIES; i++) cal_builder_add_shape(builder, &s->shapes[i]);
    if (s->pair.shape[0] >= 0) cal_builder_add_pair(builder, &s->pair);
    if (s->exclusion[0] != CAL_NONE) cal_builder_add_exclusion(builder, s->exclusion[0], s->exclusion[1]);
    if (s->loop.body[0] != CAL_NONE) cal_builder_add_constraint(builder, &s->loop);
    cal_builder_disable(builder, s->disabled);
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

// Compares every two shapes with a table of pairs, and the model's own word with whether there is any.
static void expect(const scene* s, const int (*pairs)[2], int count) {
    cal_model* model = build(s);
    for (int a = 0; a <= BODIES; a++)
        for (int b = 0; b <= BODIES; b++) {
            bool expected = false;
            for (int i = 0; i < count; i++)
                expected |= (pairs[i][0] == a && pairs[i][1] == b) || (pairs[i][0] == b && pairs[i][1] == a);
            if (cal_model_shapes_may_touch(model, a, b) != expected) fail_msg("shapes %d and %d", a, b);
        }
    assert_int_equal(cal_model_can_touch(model), count > 0);
    cal_model_destroy(model);
}

// What moves touches what is fixed and what moves otherwise; not the body that it hangs from, nor one fixed to that.
static void joints_keep_bodies_apart(void** unused) {
    (void)unused;
    const scene s = plain();
    static const int pairs[][2] = {
        {FLOOR_SHAPE, UPPER}, {FLOOR_SHAPE, LOWER}, {FLOOR_SHAPE, PLATE}, {FLOOR_SHAPE, BALL}, {TABLE, LOWER},
        {TABLE, PLATE},       {TABLE, BALL},        {UPPER, BALL},        {LOWER, BALL},       {PLATE, BALL}};
    expect(&s, pairs, (int)(sizeof pairs / sizeof *pairs));
}

static void categories_and_masks_count_either_way(void** unused) {
    (void)unused;
    scene s = plain();
    for (int i = 0; i <= BODIES; i++) s.shapes[i].category = 2, s.shapes[i].mask = 0;
    expect(&s, NULL, 0);
    s.shapes[BALL].mask = 2;
    static const int all[][2] = {{FLOOR_SHAPE, BALL}, {TABLE, BALL}, {UPPER, BALL}, {LOWER, BALL}, {PLATE, BALL}};
    expect(&s, all, 5);
    for (int i = UPPER; i <= PLATE; i++) s.shapes[i].collides = false;
    s.shapes[TABLE].collides = false;
    expect(&s, all, 1);
    s.exclusion[0] = BALL, s.exclusion[1] = CAL_GROUND;
    expect(&s, NULL, 0);
}

// A pair touches whatever else is said, unless it cannot move.
static void pairs_touch_in_any_case(void** unused) {
    (void)unused;
    scene s = plain();
    for (int i = 0; i <= BODIES; i++) s.shapes[i].collides = false;
    s.pair.shape[0] = UPPER, s.pair.shape[1] = LOWER;
    static const int pair[][2] = {{UPPER, LOWER}};
    expect(&s, pair, 1);
    s.disabled = CAL_PART_CONTACT;
    expect(&s, NULL, 0);
    s.disabled = 0;
    s.pair.shape[0] = LOWER, s.pair.shape[1] = PLATE;
    expect(&s, NULL, 0);
    s.pair.shape[0] = TABLE, s.pair.shape[1] = FLOOR_SHAPE;
    expect(&s, NULL, 0);
}

// A loop joint keeps apart what it connects, with all that is fixed to that, as long as it holds from the start.
static void loop_joints_keep_bodies_apart(void** unused) {
    (void)unused;
    scene s = plain();
    for (int i = 0; i <= BODIES; i++) s.shapes[i].category = 2, s.shapes[i].mask = 0;
    s.shapes[BALL].mask = 2;
    s.loop.kind = CAL_LOOP_BALL;
    s.loop.body[0] = PLATE, s.loop.body[1] = BALL;
    static const int pairs[][2] = {{FLOOR_SHAPE, BALL}, {TABLE, BALL}, {UPPER, BALL}, {LOWER, BALL}, {PLATE, BALL}};
    expect(&s, pairs, 3);
    s.loop.inactive = true;
    expect(&s, pairs, 5);
}

static void leaving_contact_out_is_not_touching(void** unused) {
    (void)unused;
    scene s = plain();
    s.disabled = CAL_PART_CONTACT;
    expect(&s, NULL, 0);
}

static void friction_is_of_the_priority_or_the_larger(void** unused) {
    (void)unused;
    scene s = plain();
    s.shapes[BALL].friction = 0.3;
    s.shapes[UPPER].friction = 0.2, s.shapes[UPPER].priority = 1;
    assert_true(cal_shapes_friction(&s.shapes[BALL], &s.shapes[FLOOR_SHAPE]) == 1.0);
    assert_true(cal_shapes_friction(&s.shapes[FLOOR_SHAPE], &s.shapes[UPPER]) == 0.2);
    assert_true(cal_shapes_friction(&s.shapes[UPPER], &s.shapes[BALL]) == 0.2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_keep_bodies_apart),
        cmocka_unit_test(categories_and_masks_count_either_way),
        cmocka_unit_test(pairs_touch_in_any_case),
        cmocka_unit_test(loop_joints_keep_bodies_apart),
        cmocka_unit_test(leaving_contact_out_is_not_touching),
        cmocka_unit_test(friction_is_of_the_priority_or_the_larger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
