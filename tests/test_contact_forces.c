// Forces in contacts: at rest they carry the weight, below the limit of friction they hold against the slope, in a stack each
// contact carries what is above it; and they do not depend on the step that they are found with.
#include "base/memory.h"
#include "simulation/contact/contact_forces.h"
#include "support_world.h"
#include <math.h>
#include <string.h>

enum { MOST = 64 };
static const double gravity = 9.81;

static int contacts_of(cal_world* world, cal_contact_point* out) {
    cal_error error = {CAL_OK, ""};
    int count = 0;
    if (cal_world_contacts(world, out, MOST, &count, &error) != CAL_OK) fail_msg("%s", error.text);
    assert_true(count <= MOST);
    return count;
}

static void sum_forces(const cal_contact_point* points, int count, int body, double out[3]) {
    memset(out, 0, 3 * sizeof *out);
    for (int i = 0; i < count; i++)
        for (int side = 0; side < 2; side++)
            for (int k = 0; points[i].body[side].index == body && k < 3; k++)
                out[k] += (side == 0 ? 1.0 : -1.0) * points[i].force[k];
}

static cal_body_id add_box(cal_world* world, double height, double mass) {
    cal_world_body_def def = cal_default_world_body_def();
    def.density = 0.0;
    def.mass = mass;
    for (int i = 0; i < 3; i++) def.inertia[i] = mass * 2.0 * 0.01 / 3.0;
    def.position[2] = height;
    return cal_test_add(world, &def, CAL_BOX, 0.1, 0.1, 0.1);
}

static void expect_near(double value, double expected, double bound, const char* what) {
    if (!(fabs(value - expected) <= bound)) fail_msg("%s: %.12g instead of %.12g", what, value, expected);
}

static void test_weight(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    const cal_body_id floor = cal_test_add_floor(world), box = add_box(world, 0.12, 2.5);
    cal_contact_point points[MOST];
    cal_test_advance(world, 0.0);
    assert_int_equal(contacts_of(world, points), 0); // in flight
    for (int step = 0; step < 2; step++) {           // awake, and asleep
        cal_test_advance(world, step == 0 ? 0.5 : 3.0);
        assert_int_equal(cal_world_is_asleep(world, box), step == 1);
        const int count = contacts_of(world, points);
        double sum[3];
        assert_int_equal(count, 4);
        sum_forces(points, count, box.index, sum);
        expect_near(sum[2], 2.5 * gravity, 1e-6 * 2.5 * gravity, "weight");
        for (int i = 0; i < 2; i++) expect_near(sum[i], 0.0, 1e-6 * 2.5 * gravity, "across");
        for (int i = 0; i < count; i++) {
            assert_int_equal(points[i].body[0].index, floor.index);
            assert_int_equal(points[i].body[1].index, box.index);
            assert_int_equal(points[i].shape[0], 0);
            expect_near(points[i].normal[2], -1.0, 1e-9, "normal");
            expect_near(points[i].point[2], 0.0, 1e-5, "point");
            expect_near(points[i].gap, 0.0, 1e-5, "gap");
        }
        // Whatever the step is.
        for (double h = 0.01; h > 1e-4; h *= 0.5) {
            cal_error error = {CAL_OK, ""};
            int found = 0;
            if (cal_contacts_of_step(world, h, points, MOST, &found, &error) != CAL_OK) fail_msg("%s", error.text);
            sum_forces(points, found, box.index, sum);
            expect_near(sum[2], 2.5 * gravity, (step == 0 ? 2e-5 : 1e-6) * 2.5 * gravity, "another step");
        }
    }
    cal_world_destroy(world);
}

// Gravity that is not along the normal is a slope.
static void test_slope(void** state) {
    (void)state;
    const double angle = 0.4; // tan = 0.423, friction 0.5
    cal_world_def def = cal_default_world_def();
    def.gravity[0] = gravity * sin(angle), def.gravity[2] = -gravity * cos(angle);
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    const cal_body_id box = add_box(world, 0.1001, 1.5);
    cal_contact_point points[MOST];
    cal_test_advance(world, 3.0);
    double sum[3];
    sum_forces(points, contacts_of(world, points), box.index, sum);
    expect_near(sum[0], -1.5 * gravity * sin(angle), 2e-6 * 1.5 * gravity, "friction");
    expect_near(sum[1], 0.0, 2e-6 * 1.5 * gravity, "across");
    expect_near(sum[2], 1.5 * gravity * cos(angle), 2e-6 * 1.5 * gravity, "normal");
    cal_world_destroy(world);
}

static void test_stack(void** state) {
    (void)state;
    cal_world* world = cal_test_world(NULL);
    const cal_body_id floor = cal_test_add_floor(world);
    const double masses[3] = {1.0, 3.0, 0.5};
    cal_body_id boxes[3];
    for (int i = 0; i < 3; i++) boxes[i] = add_box(world, 0.1001 + 0.2001 * i, masses[i]);
    cal_test_advance(world, 4.0);
    cal_contact_point points[MOST];
    const int count = contacts_of(world, points);
    for (int i = 0; i < 3; i++) {
        double carried = 0.0, above = 0.0, all[3];
        for (int k = i; k < 3; k++) above += masses[k] * gravity;
        for (int k = 0; k < count; k++) {
            const int below = i == 0 ? floor.index : boxes[i - 1].index;
            if (points[k].body[0].index == below && points[k].body[1].index == boxes[i].index)
                carried -= points[k].force[2];
            if (k > 0) // the order is that of the pairs
                assert_true(points[k - 1].body[0].index < points[k].body[0].index ||
                            points[k - 1].body[1].index <= points[k].body[1].index);
        }
        expect_near(carried, above, 1e-5 * above, "what is above");
        sum_forces(points, count, boxes[i].index, all);
        expect_near(all[2], masses[i] * gravity, 1e-5 * 4.5 * gravity, "its own weight");
    }
    int none = 0;
    cal_error error = {CAL_OK, ""};
    assert_int_equal(cal_world_contacts(world, NULL, 0, &none, &error), CAL_OK);
    assert_int_equal(none, count);
    cal_world_destroy(world);
}

// Asking changes nothing.
static void test_asking_changes_nothing(void** state) {
    (void)state;
    uint64_t hash[2];
    for (int run = 0; run < 2; run++) {
        cal_world* world = cal_test_scene("stack:kind=pyramid,n=3", NULL);
        cal_contact_point points[1];
        for (int i = 1; i <= 40; i++) {
            int count = 0;
            cal_error error = {CAL_OK, ""};
            cal_test_advance(world, 0.013 * i);
            if (run == 1 && cal_world_contacts(world, points, 1, &count, &error) != CAL_OK) fail_msg("%s", error.text);
        }
        hash[run] = cal_test_report(world).hash;
        cal_world_destroy(world);
    }
    assert_true(hash[0] == hash[1]);
}

// Every allocation fails once in turn: an error says so, and nothing is lost.
static void test_without_memory(void** state) {
    (void)state;
    cal_world* world = cal_test_scene("stack:kind=pyramid,n=3", NULL);
    cal_test_advance(world, 0.5);
    cal_contact_point points[MOST];
    cal_status status = CAL_NO_MEMORY;
    for (int64_t after = 0; status != CAL_OK; after++) {
        cal_error error = {CAL_OK, ""};
        int count = 0;
        const int64_t live = cal_live_allocations();
        cal_fail_allocation(after);
        status = cal_world_contacts(world, points, MOST, &count, &error);
        cal_fail_allocation(-1);
        assert_true(cal_live_allocations() == live);
        assert_true(status == CAL_OK ? count > 0 : status == CAL_NO_MEMORY && strlen(error.text) > 0);
    }
    cal_world_destroy(world);
}

static void test_penalty_says_so(void** state) {
    (void)state;
    cal_world_def def = cal_default_world_def();
    def.group = "penalty";
    cal_world* world = cal_test_world(&def);
    cal_error error = {CAL_OK, ""};
    int count = 0;
    cal_test_add_floor(world);
    cal_test_advance(world, 0.0);
    assert_int_equal(cal_world_contacts(world, NULL, 0, &count, &error), CAL_NOT_AVAILABLE);
    assert_non_null(strstr(error.text, "implicit"));
    cal_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight),         cmocka_unit_test(test_slope),
        cmocka_unit_test(test_stack),          cmocka_unit_test(test_asking_changes_nothing),
        cmocka_unit_test(test_without_memory), cmocka_unit_test(test_penalty_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
