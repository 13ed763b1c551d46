// Rows that go inbound with the articulated inertias of an execution are those of a walk of their own, to the last bit, at every width.
#include "base/memory.h"
#include "constraint/constraint.h"
#include "plan/machine_ops.h"
#include "support.h"
#include <stdlib.h>
#include <string.h>

typedef struct joined {
    bool rode;
    double *y, *qdd, lambda[CAL_CONSTRAINT_ROWS], drift[CAL_CONSTRAINT_ROWS];
} joined;

static joined join(const cal_model* model, int lanes, bool may_ride, const double* q, const double* v) {
    cal_machine* machine = NULL;
    cal_plan *plan = NULL, *first = NULL, *last = NULL;
    cal_state* state = NULL;
    cal_constraints* set = NULL;
    const size_t count = (size_t)model->v_count;
    assert_int_equal(cal_machine_serial(lanes, &machine, NULL), CAL_OK);
    assert_int_equal(cal_plan_create(model, "aba", machine, &plan, NULL), CAL_OK);
    assert_int_equal(cal_plan_create_part(plan, CAL_PART_FIRST, &first), CAL_OK);
    assert_int_equal(cal_plan_create_part(plan, CAL_PART_LAST, &last), CAL_OK);
    assert_int_equal(cal_state_create(plan, &state), CAL_OK);
    assert_int_equal(cal_state_keep_responses(state), CAL_OK);
    assert_int_equal(cal_constraints_create(model, &set), CAL_OK);
    assert_int_equal(cal_state_set(state, CAL_Q, q), CAL_OK);
    assert_int_equal(cal_state_set(state, CAL_V, v), CAL_OK);
    const cal_riders* riders = cal_constraints_ride(set, q, v, plan->layout);
    state->context.riders = may_ride ? riders : NULL;
    assert_int_equal(cal_plan_run(first, state, NULL, NULL, true, NULL), CAL_OK);
    assert_true(cal_constraints_join(set, q, v, CAL_STABILIZE_NONE, 0.0, CAL_SHIFT_CLOSED, &state->context));
    joined out = {.rode = state->context.riders != NULL,
                  .y = cal_test_numbers(count * CAL_CONSTRAINT_ROWS),
                  .qdd = cal_test_numbers(count)};
    memcpy(out.y, set->y, (size_t)set->degrees[0] * (size_t)set->row_count * sizeof(double));
    memcpy(out.lambda, set->lambda, (size_t)set->row_count * sizeof(double));
    memcpy(out.drift, set->drift, (size_t)set->row_count * sizeof(double));
    assert_int_equal(cal_plan_follow(plan, last, state, NULL, NULL, NULL), CAL_OK);
    assert_int_equal(cal_plan_gather(plan, state->context.ydot, NULL, out.qdd), CAL_OK);
    cal_constraints_destroy(set);
    cal_state_destroy(state);
    cal_plan_destroy_part(first), cal_plan_destroy_part(last);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    return out;
}

static void compare(const cal_model* model, const char* name, int lanes, const joined* a, const joined* b) {
    const size_t count = (size_t)model->v_count * sizeof(double);
    if (!cal_same_bits(a->y, b->y, CAL_CONSTRAINT_ROWS * count) || !cal_same_bits(a->qdd, b->qdd, count) ||
        !cal_same_bits(a->lambda, b->lambda, sizeof a->lambda) || !cal_same_bits(a->drift, b->drift, sizeof a->drift))
        fail_msg("%s: rows have other bits with %d lanes", name, lanes);
}

static void rows_that_ride_have_the_same_bits(void** unused) {
    (void)unused;
    static const struct {
        const char* name;
        bool rides; // where there are lanes
    } models[] = {{"ring:n=40", true}, {"ring:n=1001", true},  {"bennett", true},
                  {"bricard", true},   {"slidercrank", false}, {"fivebar", false}};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        cal_model* model = cal_test_model(models[i].name);
        cal_test_motion motion = cal_test_random_motion(model, 3);
        joined own = join(model, 1, false, motion.q, motion.v);
        bool rode = false;
        for (int lanes = 1; lanes <= cal_best_lanes(); lanes *= 2) {
            joined other = join(model, lanes, true, motion.q, motion.v);
            rode = rode || other.rode;
            compare(model, models[i].name, lanes, &own, &other);
            free(other.y), free(other.qdd);
        }
        if (cal_best_lanes() > 1 && rode != models[i].rides)
            fail_msg("%s: rows %s", models[i].name, rode ? "ride" : "do not ride");
        free(own.y), free(own.qdd);
        cal_test_motion_free(&motion);
        cal_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_that_ride_have_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
