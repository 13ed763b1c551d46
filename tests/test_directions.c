// Directions in which loops are closed inside of steps: the least motion of joints, against a dense matrix; and what they are for, steps of
// long loops that are as long as motion allows.
#include "constraint/constraint.h"
#include "constraint/directions.h"
#include "support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Slides of all kinds weigh 1 / length².
static void weigh_slides(const cal_model* model, double length, double* A) {
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        const int slides = node->kind == CAL_PRISMATIC ? 1 : node->kind == CAL_FREE ? 3 : 0;
        for (int k = 0; k < slides; k++) A[node->first_v + k] *= length * length;
    }
}

// Along paths of hinges and slides, and node by node where there are balls and free bodies.
static void directions_by_joints_are_the_rows_themselves(void** state) {
    (void)state;
    static const char* const names[] = {
        "ring:n=3",    "ring:n=37", "ring:n=9,joint=ball", "fivebar",
        "slidercrank", "delta",     "rolling-disk",        "pendulum:start=1.2,form=distance",
        "fourbar:n=2"};
    int paths = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cal_model* model = cal_test_model(names[i]);
        cal_sim_def def = cal_default_sim_def();
        cal_sim* sim = cal_test_create_sim(model, &def);
        cal_test_advance_sim(sim, 0.013);
        cal_constraints* set = NULL;
        assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
        const size_t n = (size_t)model->v_count, rows = (size_t)set->row_count;
        if (!(rows > 0 && rows <= CAL_CONSTRAINT_ROWS)) fail_msg("%s has %zu rows", names[i], rows);
        double *A = cal_test_numbers(rows * n), *noise = cal_test_numbers(rows), *bias = cal_test_numbers(rows),
               *zero = cal_test_numbers(n);
        const double *q = cal_sim_q(sim), *v = cal_sim_v(sim);
        cal_constraints_find_change(set, q, v, zero, CAL_STABILIZE_NONE, 0.0, CAL_SHIFT_CLOSED, NULL);
        cal_directions_keep(set);
        const cal_directions* d = &set->directions;
        if (!(d->held && d->made && d->distance > 0.0)) fail_msg("%s", names[i]);
        const size_t stride = (size_t)cal_directions_stride(set);
        cal_constraints_dense(set, q, v, A, noise, bias);
        for (size_t r = 0; r < rows; r++) {
            double* row = A + r * n;
            weigh_slides(model, set->length > 0.0 ? set->length : 1.0, row);
            for (size_t k = 0; k < n; k++) zero[k] = d->kept[d->by_joints + k * stride + r];
            cal_test_expect_below(cal_test_largest_difference(zero, row, n), 1e-12 * cal_test_largest(row, n), "rows",
                                  names[i]);
        }
        paths += set->paths ? 1 : 0;
        cal_constraints_destroy(set);
        cal_sim_destroy(sim);
        free(A), free(noise), free(bias), free(zero);
        cal_model_destroy(model);
    }
    assert_in_range(paths, 1, sizeof names / sizeof names[0] - 1);
}

// Stages that are closed by mass turn the rods next to the clasp, one against the other: one step in sixteen was rejected (rkf), one in 28 (rkck).
static void long_rings_take_steps_as_long_as_motion_allows(void** state) {
    (void)state;
    static const char* const solvers[] = {"rkf", "rkck"};
    cal_model* model = cal_test_model("ring:n=200");
    for (int i = 0; i < 2; i++) {
        cal_sim_def def = cal_default_sim_def();
        def.solver = solvers[i], def.relative = 1e-8;
        cal_sim* sim = cal_test_create_sim(model, &def);
        cal_test_advance_sim(sim, 2.0);
        cal_sim_report report;
        cal_sim_get_report(sim, &report);
        cal_test_expect_below((double)report.rejected, 0.015 * (double)report.steps, "rejected", solvers[i]);
        cal_test_expect_balanced(sim, solvers[i]);
        cal_sim_destroy(sim);
    }
    cal_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_by_joints_are_the_rows_themselves),
        cmocka_unit_test(long_rings_take_steps_as_long_as_motion_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
