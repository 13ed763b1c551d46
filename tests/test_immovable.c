// Loops with rows that nothing can move: their anchors lie on the axes of joints. Whatever is left of such rows is what the numbers of their geometry
// were rounded by, and accelerations are those of Lagrange's equations without them (support_lagrange.h); in any unit, near the origin and far.
#include "support.h"
#include "support_lagrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Directions of axes through one point, of no particular kind.
static const double AXES[4][3] = {{0.48, 0.6, 0.64}, {-0.36, 0.48, 0.8}, {0.8, -0.48, 0.36}, {0.6, 0.64, -0.48}};

typedef struct place {
    double point[3], unit; // where axes meet, and the size of links
    double far[3];         // where all that stands on the ground
} place;

static void rotate(const double q[4], const double x[3], bool back, double out[3]) {
    const double w = back ? -q[0] : q[0], *r = q + 1;
    const double t[3] = {2.0 * (r[1] * x[2] - r[2] * x[1]), 2.0 * (r[2] * x[0] - r[0] * x[2]),
                         2.0 * (r[0] * x[1] - r[1] * x[0])};
    out[0] = x[0] + w * t[0] + (r[1] * t[2] - r[2] * t[1]);
    out[1] = x[1] + w * t[1] + (r[2] * t[0] - r[0] * t[2]);
    out[2] = x[2] + w * t[2] + (r[0] * t[1] - r[1] * t[0]);
}

// A body in frames of the world, for a start in which all joints are zero.
typedef struct link {
    int body;
    double position[3], quaternion[4];
} link;
static const link GROUND = {.body = CAL_GROUND, .quaternion = {1.0, 0.0, 0.0, 0.0}};

// A link on a hinge along an axis through `point`, its frame `along` units up the axis. All frames are turned by angles of their own.
static link add_link(cal_builder* builder, const link* parent, const place* at, const double axis[3], double along,
                     double turn) {
    static const double about[3] = {2.0 / 7.0, 3.0 / 7.0, 6.0 / 7.0};
    cal_body_def body = cal_default_body_def();
    cal_joint_def hinge = cal_default_joint_def();
    link out;
    const double s = sin(0.5 * turn), *p = parent->quaternion;
    const double q[4] = {cos(0.5 * turn), about[0] * s, about[1] * s, about[2] * s};
    double apart[3];
    for (int i = 0; i < 3; i++) {
        out.position[i] = at->point[i] + along * at->unit * axis[i];
        apart[i] = out.position[i] - parent->position[i];
    }
    memcpy(out.quaternion, q, sizeof q);
    rotate(p, apart, true, body.position);
    for (int i = 0; i < 3 && parent->body == CAL_GROUND; i++) body.position[i] += at->far[i];
    // p̄ q: how the link's axes lie in its parent's.
    body.quaternion[0] = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
    body.quaternion[1] = p[0] * q[1] - p[1] * q[0] - p[2] * q[3] + p[3] * q[2];
    body.quaternion[2] = p[0] * q[2] - p[2] * q[0] - p[3] * q[1] + p[1] * q[3];
    body.quaternion[3] = p[0] * q[3] - p[3] * q[0] - p[1] * q[2] + p[2] * q[1];
    body.parent = parent->body;
    body.mass = 2.0 * pow(at->unit, 3.0);
    body.center[0] = 0.3 * at->unit, body.center[1] = -0.2 * at->unit, body.center[2] = 0.1 * at->unit;
    const double inertia = 0.1 * body.mass * at->unit * at->unit;
    body.inertia[0] = inertia, body.inertia[1] = 1.3 * inertia, body.inertia[2] = 0.8 * inertia;
    rotate(q, axis, true, hinge.axis);
    out.body = cal_builder_add_body(builder, &body);
    cal_builder_add_joint(builder, out.body, &hinge);
    return out;
}

// Joins two links where axes meet; a revolute one about `axis`.
static void close_loop(cal_builder* builder, const place* at, const link* a, const link* b, const double* axis) {
    const link* sides[2] = {a, b};
    cal_constraint_def loop = cal_default_constraint_def();
    loop.kind = axis ? CAL_LOOP_REVOLUTE : CAL_LOOP_BALL;
    for (int s = 0; s < 2; s++) {
        double apart[3], z[3] = {0.0, 0.0, 1.0};
        for (int i = 0; i < 3; i++) apart[i] = at->point[i] - sides[s]->position[i];
        rotate(sides[s]->quaternion, apart, true, loop.position[s]);
        loop.body[s] = sides[s]->body;
        for (int i = 0; i < 3 && loop.body[s] == CAL_GROUND; i++) loop.position[s][i] += at->far[i];
        if (axis) rotate(sides[s]->quaternion, axis, true, z);
        // The turn that takes z there, about their half.
        loop.quaternion[s][0] = 1.0 + z[2], loop.quaternion[s][1] = -z[1], loop.quaternion[s][2] = z[0];
        loop.quaternion[s][3] = 0.0;
    }
    cal_builder_add_constraint(builder, &loop);
}

// --- Mechanisms: each adds itself, and says how many of its rows are independent ------------------------------------------------

typedef int mechanism(cal_builder* builder, const link* parent, const place* at);

// Two links whose axes meet in the anchor: nothing moves it, and each swings as if the other were not there.
static int on_both_axes(cal_builder* builder, const link* parent, const place* at) {
    const link a = add_link(builder, parent, at, AXES[0], -0.7, 0.4),
               b = add_link(builder, parent, at, AXES[1], 0.9, -1.1);
    close_loop(builder, at, &a, &b, NULL);
    return 0;
}

// The second link's axis misses the anchor: one row holds it.
static int on_one_axis(cal_builder* builder, const link* parent, const place* at) {
    place beside = *at;
    beside.point[0] += 0.4 * at->unit;
    const link a = add_link(builder, parent, at, AXES[0], -0.7, 0.4),
               b = add_link(builder, parent, &beside, AXES[1], 0.9, -1.1);
    close_loop(builder, at, &a, &b, NULL);
    return 1;
}

// A link on a link, both of whose axes go through the anchor, which is on what carries them.
static int on_the_axes_of_a_chain(cal_builder* builder, const link* parent, const place* at) {
    const link a = add_link(builder, parent, at, AXES[0], -0.7, 0.4), b = add_link(builder, &a, at, AXES[1], 1.3, -1.1);
    close_loop(builder, at, &b, parent, NULL);
    return 0;
}

// A spherical four-bar: of the five rows of its last hinge the displacements are rounding.
static int spherical_four_bar(cal_builder* builder, const link* parent, const place* at) {
    const link a = add_link(builder, parent, at, AXES[0], -0.7, 0.4),
               b = add_link(builder, parent, at, AXES[1], 0.9, -1.1), c = add_link(builder, &b, at, AXES[2], 1.4, 0.8);
    close_loop(builder, at, &a, &c, AXES[3]);
    return 2;
}

// An ordinary one: links in one plane, closed by a ball.
static int planar_four_bar(cal_builder* builder, const link* parent, const place* at) {
    static const double z[3] = {0.0, 0.0, 1.0};
    place corner[4] = {*at, *at, *at, *at};
    corner[1].point[1] += 0.8 * at->unit;
    corner[2].point[0] += at->unit, corner[2].point[1] += 1.1 * at->unit;
    corner[3].point[0] += at->unit;
    const link a = add_link(builder, parent, &corner[0], z, 0.0, 0.4),
               b = add_link(builder, &a, &corner[1], z, 0.0, -1.1),
               c = add_link(builder, parent, &corner[3], z, 0.0, 0.8);
    close_loop(builder, &corner[2], &b, &c, NULL);
    return 2;
}

// Those who know of both kinds.
static int rounding_beside_others(cal_builder* builder, const link* parent, const place* at) {
    place beside = *at;
    beside.point[2] += 3.0 * at->unit;
    return on_both_axes(builder, parent, at) + planar_four_bar(builder, parent, &beside);
}

// Many alike, in trees of their own: their rows are made in lanes.
static int side_by_side(cal_builder* builder, const link* parent, const place* at) {
    place beside = *at;
    int rank = 0;
    for (int i = 0; i < 9; i++, beside.point[1] += 2.0 * at->unit) rank += on_both_axes(builder, parent, &beside);
    return rank;
}

// Many in one tree, each on a link of the one before: they are closed in the order of the tree.
static int on_a_chain(cal_builder* builder, const link* parent, const place* at) {
    static mechanism* const kinds[3] = {on_both_axes, spherical_four_bar, on_one_axis};
    place next = *at;
    link carrier = *parent;
    int rank = 0;
    for (int i = 0; i < 12; i++) {
        carrier = add_link(builder, &carrier, &next, AXES[i % 4], 0.0, 0.3 * i);
        for (int k = 0; k < 3; k++) next.point[k] += (k == 1 ? 1.1 : 0.4) * at->unit;
        rank += kinds[i % 3](builder, &carrier, &next);
    }
    return rank;
}

static const struct {
    mechanism* add;
    const char* name;
} MECHANISMS[] = {{on_both_axes, "on both axes"},
                  {on_one_axis, "on one axis"},
                  {on_the_axes_of_a_chain, "on the axes of a chain"},
                  {spherical_four_bar, "a spherical four-bar"},
                  {planar_four_bar, "a planar four-bar"},
                  {rounding_beside_others, "rounding beside others"},
                  {side_by_side, "side by side"},
                  {on_a_chain, "on a chain"}};
enum { MECHANISM_COUNT = sizeof MECHANISMS / sizeof MECHANISMS[0] };

// --- Looks --------------------------------------------------------------------------------------------------------------------

static cal_model* make(int index, double unit, double far, int* rank) {
    cal_builder* builder;
    cal_model* model;
    cal_error error;
    const place at = {{0.3 * unit, -0.2 * unit, 0.7 * unit}, unit, {far, -far, 0.5 * far}};
    assert_int_equal(cal_builder_create(&builder), CAL_OK);
    cal_builder_set_gravity(builder, (const double[3]){0.0, -3.0, -9.81});
    *rank = MECHANISMS[index].add(builder, &GROUND, &at);
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) fail_msg("%s", error.text);
    cal_builder_destroy(builder);
    return model;
}

static int row_count(const cal_model* model) {
    int count = 0;
    for (int i = 0; i < cal_model_constraint_count(model); i++) {
        cal_constraint_def def;
        cal_model_constraint(model, i, &def);
        count += def.kind == CAL_LOOP_REVOLUTE ? 5 : 3;
    }
    return count;
}

// Of the largest acceleration: rounding of the geometry, which far away is that of how far it is, and what the condition makes of it.
static double misfit(double unit, double far) { return 1e-11 * (1.0 + 1e-4 * far / unit); }

static double off_by(const cal_model* model, const double* qdd, const cal_test_real* exact) {
    double off = 0.0, largest = 0.0;
    for (int i = 0; i < cal_model_v_count(model); i++) {
        assert_true(isfinite(qdd[i]));
        off = fmax(off, fabs(qdd[i] - (double)exact[i]));
        largest = fmax(largest, fabs((double)exact[i]));
    }
    return off / largest;
}

// Assembly by itself, which has half of the digits where rows nearly depend on each other.
static void check_held(const cal_model* model, const char* name, cal_sim* sim, const cal_test_real* exact,
                       double bound) {
    double* qdd = cal_test_numbers((size_t)cal_model_v_count(model));
    cal_test_engine engine = cal_test_open(model, "assembly", 0);
    assert_int_equal(cal_state_hold(engine.state, 0.0, 0.0), CAL_OK);
    assert_int_equal(cal_state_set(engine.state, CAL_Q, cal_sim_q(sim)), CAL_OK);
    assert_int_equal(cal_state_set(engine.state, CAL_V, cal_sim_v(sim)), CAL_OK);
    cal_test_execute(&engine);
    assert_int_equal(cal_state_get(engine.state, CAL_QDD, qdd), CAL_OK);
    cal_test_expect_below(off_by(model, qdd, exact), bound, "assembly by itself", name);
    cal_test_close(&engine);
    free(qdd);
}

static void check_accelerations(const cal_model* model, const char* name, const char* form, const char* algorithm,
                                double unit, double far) {
    const int n = cal_model_v_count(model);
    double* qdd = cal_test_numbers((size_t)n);
    cal_sim_def def = cal_default_sim_def();
    def.solver = "rkf", def.relative = 1e-9, def.constraint_form = form, def.algorithm = algorithm;
    cal_sim* sim = cal_test_create_sim(model, &def);
    for (int look = 0; look <= 2; look++) {
        if (look > 0) cal_test_advance_sim(sim, 0.1 * look * sqrt(unit));
        assert_int_equal(cal_sim_accelerations(sim, qdd), CAL_OK);
        cal_test_real* exact = cal_test_lagrange(model, cal_sim_q(sim), cal_sim_v(sim), unit);
        cal_test_expect_below(off_by(model, qdd, exact), misfit(unit, far), form, name);
        if (strcmp(algorithm, "assembly") == 0) check_held(model, name, sim, exact, 10.0 * misfit(unit, far));
        free(exact);
    }
    cal_sim_destroy(sim);
    free(qdd);
}

static void on_every_mechanism(void (*check)(const cal_model* model, int index, int rank, double unit, double far)) {
    static const double units[] = {1e-3, 1.0, 1e3}, far[] = {0.0, 1e3, 1e6};
    for (int i = 0; i < MECHANISM_COUNT; i++)
        for (int u = 0; u < 3; u++)
            for (int f = 0; f < 3; f++) {
                int rank;
                cal_model* model = make(i, units[u], far[f] * units[u], &rank);
                check(model, i, rank, units[u], far[f] * units[u]);
                cal_model_destroy(model);
            }
}

static void check_rank(const cal_model* model, int index, int rank, double unit, double far) {
    bool redundant[128];
    double* q = cal_test_numbers((size_t)cal_model_q_count(model));
    int found, held = 0;
    cal_error error;
    cal_model_initial(model, q, NULL, NULL);
    assert_int_equal(cal_loops_redundant(model, q, redundant, &found, &error), CAL_OK);
    for (int i = 0; i < row_count(model); i++) held += redundant[i] ? 0 : 1;
    if (found != rank || held != rank)
        fail_msg("%s, %g m, %g m away: %d and %d rows independent, not %d", MECHANISMS[index].name, unit, far, found,
                 held, rank);
    free(q);
}

static void test_rows_that_nothing_moves_are_redundant(void** unused) {
    (void)unused;
    on_every_mechanism(check_rank);
}

static void check_motion(const cal_model* model, int index, int rank, double unit, double far) {
    (void)rank;
    check_accelerations(model, MECHANISMS[index].name, "lagrange", "aba", unit, far);
}

static void check_minimal(const cal_model* model, int index, int rank, double unit, double far) {
    (void)rank;
    check_accelerations(model, MECHANISMS[index].name, "minimal", "aba", unit, far);
}

static void check_assembly(const cal_model* model, int index, int rank, double unit, double far) {
    (void)rank;
    check_accelerations(model, MECHANISMS[index].name, "lagrange", "assembly", unit, far);
}

static void test_rows_that_nothing_moves_hold_nothing(void** unused) {
    (void)unused;
    on_every_mechanism(check_motion);
}

static void test_rows_that_nothing_moves_hold_nothing_in_the_minimal_form(void** unused) {
    (void)unused;
    on_every_mechanism(check_minimal);
}

static void test_rows_that_nothing_moves_hold_nothing_with_assembly(void** unused) {
    (void)unused;
    on_every_mechanism(check_assembly);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_that_nothing_moves_are_redundant),
        cmocka_unit_test(test_rows_that_nothing_moves_hold_nothing),
        cmocka_unit_test(test_rows_that_nothing_moves_hold_nothing_in_the_minimal_form),
        cmocka_unit_test(test_rows_that_nothing_moves_hold_nothing_with_assembly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
