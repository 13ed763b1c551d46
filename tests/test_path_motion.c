// Ends of paths of joints: they move as node by node, for v and for any other rates, and paths have the energy of their nodes, with the same bits
// at every width.
#include "base/memory.h"
#include "pass/energy_body.h"
#include "pass/path_motion.h"
#include "plan/machine_ops.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RATES = 3, STRIDE = 4 };
static const double BOUND = 1e-11; // of coordinates of up to a few hundred metres, and of speeds

static int variant_of(int lanes) {
    cal_machine* machine = NULL;
    assert_int_equal(cal_machine_serial(lanes, &machine, NULL), CAL_OK);
    const int variant = machine->variant;
    cal_machine_destroy(machine);
    return variant;
}

static void compare(const char* name, const cal_node_motion* a, const cal_node_motion* b) {
    cal_test_expect_below(cal_test_largest_difference(a->rotation, b->rotation, 9), BOUND, "rotation", name);
    cal_test_expect_below(cal_test_largest_difference(a->base, b->base, 3), 1e-300, "base", name);
    cal_test_expect_below(cal_test_largest_difference(a->origin, b->origin, 3), BOUND, "origin", name);
    cal_test_expect_below(cal_test_largest_difference(a->angular, b->angular, 3), BOUND, "angular velocity", name);
    cal_test_expect_below(cal_test_largest_difference(a->linear, b->linear, 3), 10.0 * BOUND, "velocity", name);
}

// That of the path's nodes alone, one by one.
static void check_energy(const cal_model* model, const char* name, const cal_joint_path* path,
                         const cal_test_motion* motion) {
    const cal_joint_path_rates none = {.count = 0};
    cal_world_motion* at = calloc((size_t)model->node_count, sizeof *at);
    cal_node_motion end = {.base = {0.0}};
    cal_joint_path_motion out;
    double expected = 0.0, size = 0.0, sums[CAL_ENERGY_SUMS], first = 0.0;
    assert_non_null(at);
    for (int n = 0; n <= path->node; n++) {
        const cal_node* node = &model->nodes[n];
        cal_move_node(node, node->parent >= 0 ? &at[node->parent] : NULL, motion->q + node->first_q,
                      motion->v + node->first_v, &at[n]);
        if (!(node->end > path->node)) continue; // not between the end and its root
        cal_node_sums(model, node, &at[n], motion->q + node->first_q, motion->v + node->first_v, sums);
        expected += sums[CAL_SUM_KINETIC] + sums[CAL_SUM_POTENTIAL];
        size += sums[CAL_SUM_KINETIC] + fabs(sums[CAL_SUM_POTENTIAL]);
    }
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
        const int variant = variant_of(lanes);
        cal_joint_path_move(path, variant, motion->q, motion->v, &none, &end, &out);
        const double energy = cal_joint_path_energy(path, model, variant, motion->q, motion->v, &out);
        cal_test_expect_below(fabs(energy - expected), 1e-13 * fmax(size, 1.0), "energy", name);
        if (lanes == 1) first = energy;
        if (energy != first) fail_msg("%s: other bits of the energy with %d lanes", name, lanes);
    }
    free(at);
}

static void check_paths(const cal_model* model, const char* name) {
    const size_t count = (size_t)model->v_count;
    cal_test_motion motion = cal_test_random_motion(model, 7);
    double *rates = cal_test_numbers(STRIDE * count), *column = cal_test_numbers(count);
    cal_node_motion* motions = calloc((size_t)model->node_count, sizeof *motions);
    assert_non_null(motions);
    for (size_t i = 0; i < STRIDE * count; i++) rates[i] = sin(1.0 + (double)i);
    const int least = variant_of(1);
    for (int n = 0; n < model->node_count; n += 1 + model->node_count / 16) {
        cal_joint_path path;
        if (!cal_joint_path_exists(model, n)) continue;
        assert_int_equal(cal_joint_path_create(model, n, &path), CAL_OK);
        const cal_joint_path_rates asked = {rates, RATES, STRIDE};
        cal_joint_path_motion first, out;
        cal_node_motion end = {.base = {0.0}}, again;
        cal_joint_path_move(&path, least, motion.q, motion.v, &asked, &end, &first);
        cal_node_motions(model, 0, motion.q, motion.v, true, 0, model->node_count, motions);
        compare(name, &motions[n], &end);
        double largest = 1.0;
        for (int i = 0; i < 3; i++) largest = fmax(largest, fabs(end.origin[i]));
        assert_true(first.extent >= largest);
        for (int k = 0; k < RATES; k++) {
            for (size_t i = 0; i < count; i++) column[i] = rates[STRIDE * i + (size_t)k];
            cal_node_motions(model, 0, motion.q, column, false, 0, model->node_count, motions);
            memcpy(end.angular, first.answers + 6 * k, sizeof end.angular);
            memcpy(end.linear, first.answers + 6 * k + 3, sizeof end.linear);
            compare(name, &motions[n], &end);
        }
        cal_joint_path_move(&path, least, motion.q, motion.v, &asked, &end, &first);
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            cal_joint_path_move(&path, variant_of(lanes), motion.q, motion.v, &asked, &again, &out);
            const bool same = cal_same_bits(end.rotation, again.rotation, sizeof end.rotation) &&
                              cal_same_bits(end.origin, again.origin, sizeof end.origin) &&
                              cal_same_bits(end.linear, again.linear, sizeof end.linear) &&
                              cal_same_bits(first.answers, out.answers, 6 * RATES * sizeof(double)) &&
                              first.extent == out.extent && first.speed == out.speed;
            if (!same) fail_msg("%s: node %d has other bits with %d lanes", name, n, lanes);
        }
        check_energy(model, name, &path, &motion);
        cal_joint_path_destroy(&path);
    }
    cal_test_motion_free(&motion);
    free(rates), free(column), free(motions);
}

static void ends_of_paths_move_as_node_by_node(void** unused) {
    (void)unused;
    cal_test_on_every_model(check_paths);
    const char* long_ones[] = {"ring:n=1000", "chain:n=203", "ring:n=9"};
    for (int i = 0; i < 3; i++) {
        cal_model* model = cal_test_model(long_ones[i]);
        check_paths(model, long_ones[i]);
        cal_model_destroy(model);
    }
}

// Whether two numbers are equal; zeros of both signs are.
static void expect_equal(const double* a, const double* b, int count, const char* what) {
    for (int i = 0; i < count; i++)
        if (a[i] != b[i]) fail_msg("%s: number %d of a path in a plane is %.17g, in space %.17g", what, i, a[i], b[i]);
}

// Paths whose joints lie in a plane do without what is zero there, and come to the same numbers as in space.
static void planes_are_parts_of_space(void** unused) {
    (void)unused;
    cal_model* model = cal_test_model("ring:n=203");
    cal_test_motion motion = cal_test_random_motion(model, 3);
    double* rates = cal_test_numbers(STRIDE * (size_t)model->v_count);
    for (size_t i = 0; i < STRIDE * (size_t)model->v_count; i++) rates[i] = sin(1.0 + (double)i);
    cal_joint_path path;
    assert_int_equal(cal_joint_path_create(model, model->node_count - 1, &path), CAL_OK);
    assert_false(path.spatial);
    for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2)
        for (int count = 0; count <= 2; count += 2) {
            const cal_joint_path_rates asked = {rates, count, STRIDE};
            cal_node_motion ends[2] = {{.base = {0.0}}, {.base = {0.0}}};
            cal_joint_path_motion out[2];
            double energy[2];
            for (int k = 0; k < 2; k++) {
                path.spatial = k == 1;
                cal_joint_path_move(&path, variant_of(lanes), motion.q, motion.v, &asked, &ends[k], &out[k]);
                energy[k] = cal_joint_path_energy(&path, model, variant_of(lanes), motion.q, motion.v, &out[k]);
            }
            expect_equal(ends[0].rotation, ends[1].rotation, 9, "rotation");
            expect_equal(ends[0].origin, ends[1].origin, 3, "origin");
            expect_equal(ends[0].angular, ends[1].angular, 3, "angular velocity");
            expect_equal(ends[0].linear, ends[1].linear, 3, "velocity");
            expect_equal(out[0].answers, out[1].answers, 6 * count, "answers");
            expect_equal(&out[0].extent, &out[1].extent, 1, "extent");
            expect_equal(&out[0].speed, &out[1].speed, 1, "speed");
            expect_equal(&energy[0], &energy[1], 1, "energy");
        }
    cal_joint_path_destroy(&path);
    cal_test_motion_free(&motion);
    free(rates);
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_of_paths_move_as_node_by_node),
                                       cmocka_unit_test(planes_are_parts_of_space)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
