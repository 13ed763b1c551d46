// Random mechanisms: trees of all kinds of joints with constraints of every kind between any two of their bodies, closed where the tree is, in millimetres,
// metres and kilometres, with masses of like size and up to a million apart. Every way to accelerations and forces of constraints gives those of Lagrange's
// equations in extended precision (support_lagrange.h), and the same bits with all widths of lanes and on threads.
#include "support.h"
#include "support_lagrange.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 12, MOST_CLOSURES = 4, KINDS = CAL_ROLLING + 1 };

// --- Vectors -------------------------------------------------------------------------------------------------------------------

typedef struct pose {
    double p[3], q[4];
} pose;

static void turn(const double q[4], const double x[3], double out[3]) {
    const double *r = q + 1, w = q[0];
    const double t[3] = {2.0 * (r[1] * x[2] - r[2] * x[1]), 2.0 * (r[2] * x[0] - r[0] * x[2]),
                         2.0 * (r[0] * x[1] - r[1] * x[0])};
    const double y[3] = {x[0] + w * t[0] + (r[1] * t[2] - r[2] * t[1]), x[1] + w * t[1] + (r[2] * t[0] - r[0] * t[2]),
                         x[2] + w * t[2] + (r[0] * t[1] - r[1] * t[0])};
    memcpy(out, y, sizeof y);
}
static void multiply(const double a[4], const double b[4], double out[4]) {
    const double c[4] = {
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
    memcpy(out, c, sizeof c);
}
static pose on(const pose* base, const pose* own) {
    pose out;
    turn(base->q, own->p, out.p);
    for (int i = 0; i < 3; i++) out.p[i] += base->p[i];
    multiply(base->q, own->q, out.q);
    return out;
}
static pose inverse(const pose* x) {
    pose out = {.q = {x->q[0], -x->q[1], -x->q[2], -x->q[3]}};
    const double back[3] = {-x->p[0], -x->p[1], -x->p[2]};
    turn(out.q, back, out.p);
    return out;
}
static double random_number(cal_random* r, double size) { return cal_random_between(r, -size, size); }
static void random_vector(cal_random* r, double size, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = random_number(r, size);
}
static void random_turn(cal_random* r, double q[4]) {
    double norm = 0.0;
    for (int i = 0; i < 4; i++) q[i] = random_number(r, 1.0), norm += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrt(norm);
}
static int below(cal_random* r, int count) {
    const int i = (int)cal_random_between(r, 0.0, (double)count);
    return i < count ? i : count - 1;
}

// --- Mechanisms -----------------------------------------------------------------------------------------------------------------

typedef struct mechanism {
    cal_random random;
    double unit, spread; // a length; masses are within so many decades
    int bodies, closures;
    pose at[MOST_BODIES];
    double centers[MOST_CLOSURES][3];
    cal_wave waves[MOST_CLOSURES];
    cal_model* model;
} mechanism;

static void add_joint(mechanism* m, cal_builder* builder, int body, cal_joint_kind kind, double size) {
    cal_joint_def joint = cal_default_joint_def();
    joint.kind = kind;
    random_vector(&m->random, 1.0, joint.axis);
    if (kind != CAL_FREE) random_vector(&m->random, 0.3 * m->unit, joint.anchor);
    if (kind == CAL_REVOLUTE) joint.initial_q[0] = random_number(&m->random, 2.0);
    if (kind == CAL_PRISMATIC) joint.initial_q[0] = random_number(&m->random, m->unit);
    if (kind == CAL_BALL) random_turn(&m->random, joint.initial_q);
    if (kind == CAL_FREE)
        random_vector(&m->random, 0.1 * m->unit, joint.initial_q), random_turn(&m->random, joint.initial_q + 3);
    const bool turns = kind == CAL_REVOLUTE || kind == CAL_BALL;
    for (int i = 0; i < cal_joint_v_count(kind); i++)
        joint.initial_v[i] = random_number(&m->random, turns || i > 2 ? 1.0 : m->unit);
    if (kind <= CAL_PRISMATIC && below(&m->random, 3) == 0) {
        joint.stiffness = size * (turns ? m->unit * m->unit : 1.0);
        joint.damping = 0.3 * joint.stiffness;
        joint.armature = 0.1 * joint.stiffness;
    }
    cal_builder_add_joint(builder, body, &joint);
}

static void add_body(mechanism* m, cal_builder* builder, int index) {
    cal_body_def body = cal_default_body_def();
    body.parent = index == 0 || below(&m->random, 5) == 0 ? CAL_GROUND : below(&m->random, index);
    random_vector(&m->random, m->unit, body.position), random_turn(&m->random, body.quaternion);
    body.mass = pow(10.0, cal_random_between(&m->random, 0.0, m->spread)) * pow(m->unit, 3.0);
    random_vector(&m->random, 0.3 * m->unit, body.center);
    for (int i = 0; i < 3; i++)
        body.inertia[i] = body.mass * m->unit * m->unit * cal_random_between(&m->random, 0.06, 0.1);
    for (int i = 3; i < 6; i++) body.inertia[i] = random_number(&m->random, 0.01) * body.mass * m->unit * m->unit;
    const int number = cal_builder_add_body(builder, &body), kind = below(&m->random, 10);
    if (kind < 4) add_joint(m, builder, number, CAL_REVOLUTE, body.mass);
    if (kind == 4) add_joint(m, builder, number, CAL_PRISMATIC, body.mass);
    if (kind == 5) add_joint(m, builder, number, CAL_BALL, body.mass);
    if (kind == 6) add_joint(m, builder, number, body.parent == CAL_GROUND ? CAL_FREE : CAL_BALL, body.mass);
    if (kind == 7 || kind == 8)
        add_joint(m, builder, number, CAL_REVOLUTE, body.mass), add_joint(m, builder, number, CAL_REVOLUTE, body.mass);
    if (kind == 9 && below(&m->random, 2) == 0)
        add_joint(m, builder, number, CAL_PRISMATIC, body.mass), add_joint(m, builder, number, CAL_REVOLUTE, body.mass);
} // else it is fixed to its parent

static void on_sphere(const double point[3], double* value, double gradient[3], double hessian[6], void* user) {
    const double* center = user;
    const double radius = center[3];
    *value = -0.5 * radius;
    for (int i = 0; i < 3; i++) {
        const double x = point[i] - center[i];
        *value += 0.5 * x * x / radius, gradient[i] = x / radius, hessian[i] = 1.0 / radius, hessian[3 + i] = 0.0;
    }
}

// The world's frame a of a constraint whose frame b is in the world: what a kind leaves free is chosen at random.
static pose place_other(mechanism* m, cal_constraint_def* def, const pose* b) {
    static const double forward[3] = {1.0, 0.0, 0.0}, up[3] = {0.0, 0.0, 1.0};
    pose a = *b, apart = {.q = {1.0, 0.0, 0.0, 0.0}};
    const uint32_t rows = def->rows;
    double t[3], angle = random_number(&m->random, 2.0);
    switch (def->kind) {
    case CAL_LOOP_REVOLUTE: apart.q[0] = cos(angle), apart.q[3] = sin(angle); break;
    case CAL_LOOP_PRISMATIC: apart.p[2] = random_number(&m->random, m->unit); break;
    case CAL_LOOP_BALL: random_turn(&m->random, apart.q); break;
    case CAL_ROWS:
        for (int i = 0; i < 3; i++)
            if (!(rows >> i & 1u)) apart.p[i] = random_number(&m->random, m->unit);
        if (rows < CAL_ROW_TURN_X) random_turn(&m->random, apart.q);
        break;
    case CAL_DISTANCE:
    case CAL_ON_SURFACE:
    case CAL_KNIFE_EDGE: random_vector(&m->random, m->unit, apart.p), random_turn(&m->random, apart.q); break;
    default: break;
    }
    def->length = sqrt(apart.p[0] * apart.p[0] + apart.p[1] * apart.p[1] + apart.p[2] * apart.p[2]);
    if (def->kind == CAL_ON_CIRCLE || def->kind == CAL_ROLLING) {
        random_turn(&m->random, a.q);
        def->length = m->unit * cal_random_between(&m->random, 0.3, 1.0);
        turn(a.q, forward, t);
    }
    if (def->kind == CAL_ROLLING) { // b's origin is above the plane by R s
        double n[3], k[3];
        turn(a.q, up, n), turn(b->q, up, k);
        const double g = n[0] * k[0] + n[1] * k[1] + n[2] * k[2];
        for (int i = 0; i < 3; i++) a.p[i] = b->p[i] - n[i] * def->length * sqrt(1.0 - g * g) + 0.4 * m->unit * t[i];
        return a;
    }
    if (def->kind == CAL_ON_CIRCLE) {
        for (int i = 0; i < 3; i++) a.p[i] = b->p[i] - def->length * t[i];
        return a;
    }
    const pose back = inverse(&apart);
    return on(b, &back);
}

static void add_closure(mechanism* m, cal_builder* builder, int index, int kind) {
    static const uint32_t sets[] = {CAL_ROW_X | CAL_ROW_Y,
                                    CAL_ROW_Z | CAL_ROW_TURN_X,
                                    CAL_ROW_TURN_Y | CAL_ROW_TURN_Z,
                                    CAL_ROW_X | CAL_ROW_TURN_X | CAL_ROW_TURN_Y | CAL_ROW_TURN_Z,
                                    CAL_ROW_TURN_Z,
                                    CAL_ROW_X | CAL_ROW_Y | CAL_ROW_Z | CAL_ROW_TURN_X | CAL_ROW_TURN_Z};
    cal_constraint_def def = cal_default_constraint_def();
    static const pose ground = {.q = {1.0, 0.0, 0.0, 0.0}};
    def.kind = (cal_constraint_kind)kind;
    def.rows = sets[below(&m->random, 6)];
    def.body[1] = below(&m->random, m->bodies);
    do def.body[0] = below(&m->random, m->bodies + 1) - 1;
    while (def.body[0] == def.body[1]);
    if (def.body[0] < 0) def.body[0] = CAL_GROUND;
    if (below(&m->random, 4) == 0) { // sides are alike
        const int other = def.body[0];
        def.body[0] = def.body[1], def.body[1] = other;
    }
    pose own[2];
    random_vector(&m->random, m->unit, own[1].p), random_turn(&m->random, own[1].q);
    const pose* base[2] = {def.body[0] == CAL_GROUND ? &ground : &m->at[def.body[0]],
                           def.body[1] == CAL_GROUND ? &ground : &m->at[def.body[1]]};
    const pose b = on(base[1], &own[1]), a = place_other(m, &def, &b), back = inverse(base[0]);
    own[0] = on(&back, &a);
    for (int s = 0; s < 2; s++)
        memcpy(def.position[s], own[s].p, sizeof own[s].p), memcpy(def.quaternion[s], own[s].q, sizeof own[s].q);
    if (kind == CAL_ON_SURFACE) {
        // The sphere's middle in a's frame is anywhere, and b is on it.
        static double centers[MOST_CLOSURES][4];
        random_vector(&m->random, m->unit, centers[index]);
        const pose other = inverse(&a), seen = on(&other, &b);
        double square = 0.0;
        for (int i = 0; i < 3; i++) square += pow(seen.p[i] - centers[index][i], 2.0);
        centers[index][3] = sqrt(square);
        def.surface = on_sphere, def.user = centers[index];
    }
    cal_builder_add_constraint(builder, &def);
}

// Joints of one degree of freedom, in the order of the model.
static int list_simple(const cal_model* model, int* out) {
    int count = 0;
    for (int i = 0; i < cal_model_joint_count(model); i++) {
        cal_joint_def joint;
        cal_model_joint(model, i, &joint, NULL, NULL, NULL);
        if (joint.kind <= CAL_PRISMATIC) out[count++] = i;
    }
    return count;
}

static void add_coupling(mechanism* m, cal_builder* builder, const cal_model* tree, int index) {
    int simple[2 * MOST_BODIES];
    const int count = list_simple(tree, simple);
    if (count < 2) return;
    cal_constraint_def def = cal_default_constraint_def();
    cal_joint_def joints[2];
    def.kind = CAL_COUPLING;
    const int first = below(&m->random, count);
    def.joint[0] = simple[first];
    def.joint[1] = simple[(first + 1 + below(&m->random, count - 1)) % count];
    for (int i = 0; i < 2; i++) cal_model_joint(tree, def.joint[i], &joints[i], NULL, NULL, NULL);
    const double unit[2] = {joints[0].kind == CAL_REVOLUTE ? 1.0 : m->unit,
                            joints[1].kind == CAL_REVOLUTE ? 1.0 : m->unit};
    double x = joints[1].initial_q[0], power = unit[0], sum = 0.0;
    if (below(&m->random, 3) == 0) { // prescribed
        cal_wave* wave = &m->waves[index];
        *wave = (cal_wave){.rate = 0.3 * unit[0], .amplitude = 0.2 * unit[0], .frequency = 0.4, .phase = 0.7};
        wave->offset = joints[0].initial_q[0] - 0.2 * unit[0] * sin(0.7);
        def.joint[1] = CAL_NONE, def.motion = cal_wave_motion, def.user = wave;
    } else {
        for (int i = 1; i < 5; i++) {
            power /= unit[1];
            def.polynomial[i] = random_number(&m->random, 0.5) * power;
            sum += def.polynomial[i] * pow(x, i);
        }
        def.polynomial[0] = joints[0].initial_q[0] - sum;
    }
    cal_builder_add_constraint(builder, &def);
}

static cal_builder* build_tree(mechanism* m, uint64_t seed) {
    cal_builder* builder = cal_test_builder(9.81);
    m->random = (cal_random){seed};
    m->bodies = 2 + below(&m->random, MOST_BODIES - 1);
    for (int i = 0; i < m->bodies; i++) add_body(m, builder, i);
    return builder;
}

// Where bodies are at the start, closures are added to.
static cal_model* make(mechanism* m, uint64_t seed, int closures) {
    cal_model* tree = cal_test_finish(build_tree(m, seed));
    if (cal_model_v_count(tree) == 0) {
        cal_model_destroy(tree);
        return NULL;
    }
    cal_dynamics* dynamics;
    cal_error error;
    double* q = cal_test_numbers((size_t)cal_model_q_count(tree));
    double* poses = cal_test_numbers(7 * (size_t)m->bodies);
    cal_model_initial(tree, q, NULL, NULL);
    assert_int_equal(cal_dynamics_create(tree, &dynamics, &error), CAL_OK);
    assert_int_equal(cal_dynamics_poses(dynamics, q, poses), CAL_OK);
    for (int i = 0; i < m->bodies; i++) {
        memcpy(m->at[i].p, poses + 7 * i, sizeof m->at[i].p);
        memcpy(m->at[i].q, poses + 7 * i + 3, sizeof m->at[i].q);
    }
    cal_builder* builder = build_tree(m, seed);
    for (int i = 0; i < closures; i++) {
        const int kind = below(&m->random, KINDS);
        if (kind == CAL_COUPLING)
            add_coupling(m, builder, tree, i);
        else
            add_closure(m, builder, i, kind);
    }
    cal_dynamics_destroy(dynamics);
    cal_model_destroy(tree);
    free(q), free(poses);
    cal_model* model;
    // Joints that are coupled in a ring are refused.
    if (cal_builder_finish(builder, &model, &error) != CAL_OK) model = NULL;
    cal_builder_destroy(builder);
    if (model && cal_model_constraint_count(model) > 0) return model;
    cal_model_destroy(model);
    return NULL;
}

// --- Looks ------------------------------------------------------------------------------------------------------------------------

// Of the largest acceleration, for masses of one size, and so many decades apart. Measured, of 2700 mechanisms: 3e-13, 2e-11 and 4e-9.
static double misfit(double spread) { return 1e-11 * pow(10.0, 2.0 / 3.0 * spread); }
// Λ of assembly by itself is the square of what rows are: half of the digits. Measured: 2e-11 and 3e-8; 2e-2 where masses are a million apart.
static double misfit_held(double spread) { return 1e-9 * pow(10.0, spread); }
// A step of Euler's method divided by its length has been rounded.
static const double STEP = 1e-6, ROUNDED_STEP = 1e-8;

// The largest difference of accelerations, lengths in the mechanism's unit, of the largest one that gravity and speeds ask for.
static double find_misfit(const mechanism* m, const double* found, const cal_test_real* exact) {
    double error = 0.0, largest = fmax(1.0, 9.81 / m->unit);
    for (int i = 0; i < cal_model_joint_count(m->model); i++) {
        cal_joint_def joint;
        int first;
        cal_model_joint(m->model, i, &joint, NULL, NULL, &first);
        for (int k = 0; k < cal_joint_v_count(joint.kind); k++) {
            const double size = joint.kind == CAL_PRISMATIC || (joint.kind == CAL_FREE && k < 3) ? m->unit : 1.0;
            const double off = fabs(found[first + k] - (double)exact[first + k]) / size;
            if (!(off <= error)) error = off;
            largest = fmax(largest, fabs((double)exact[first + k]) / size);
        }
    }
    return error / largest;
}

static cal_sim* open_sim(const cal_model* model, const char* form, const char* algorithm, const char* law,
                         cal_machine* machine) {
    cal_sim_def def = cal_default_sim_def();
    def.solver = "euler", def.step = STEP, def.contact = false;
    def.constraint_form = form, def.algorithm = algorithm, def.stabilize = law, def.machine = machine;
    return cal_test_create_sim(model, &def);
}

typedef struct look {
    const mechanism* m;
    double *q, *v, *found;
    cal_test_solution exact;
    char name[96];
} look;

// A closed start; false: no velocities are what is prescribed.
static bool begin_look(look* l, const mechanism* m, uint64_t seed) {
    const size_t q_count = (size_t)cal_model_q_count(m->model), v_count = (size_t)cal_model_v_count(m->model);
    cal_sim* sim = open_sim(m->model, "lagrange", "aba", "projection", NULL);
    cal_error error;
    const bool begins = cal_sim_project(sim, &error) == CAL_OK;
    *l = (look){m, cal_test_numbers(q_count), cal_test_numbers(v_count), cal_test_numbers(v_count), {0}, ""};
    memcpy(l->q, cal_sim_q(sim), q_count * sizeof *l->q);
    memcpy(l->v, cal_sim_v(sim), v_count * sizeof *l->v);
    snprintf(l->name, sizeof l->name, "mechanism %d of %g m, masses 10^%g apart", (int)seed, m->unit, m->spread);
    l->exact = cal_test_solve(m->model, l->q, l->v, m->unit);
    cal_sim_destroy(sim);
    return begins;
}

static void end_look(look* l) {
    cal_test_solution_free(&l->exact);
    free(l->q), free(l->v), free(l->found);
}

static void compare(const look* l, double bound, const char* what) {
    cal_test_expect_below(find_misfit(l->m, l->found, l->exact.accelerations), bound, what, l->name);
}

// Forces of each constraint as joint forces, of the largest.
static void compare_forces(const look* l, cal_sim* sim) {
    const cal_model* model = l->m->model;
    const int n = cal_model_v_count(model);
    double error = 0.0, largest = 0.0;
    for (int c = 0; c < cal_model_constraint_count(model); c++) {
        cal_constraint_def def;
        double rows[6], wrench[6];
        int first = 0;
        cal_model_constraint(model, c, &def);
        assert_int_equal(cal_sim_constraint_forces(sim, c, rows, wrench), CAL_OK);
        if (def.kind == CAL_COUPLING) cal_model_joint(model, def.joint[0], NULL, NULL, NULL, &first);
        for (int k = 0; k < n; k++) {
            const double exact = (double)l->exact.efforts[c * n + k];
            double effort = 0.0;
            for (int i = 0; i < 6; i++) effort += (double)l->exact.levers[(c * 6 + i) * n + k] * wrench[i];
            largest = fmax(largest, fabs(exact));
            if (def.kind == CAL_COUPLING)
                error = fmax(error, k == first ? fabs(rows[0] - exact) : 0.0);
            else
                error = fmax(error, fabs(effort - exact));
        }
    }
    cal_test_expect_below(error, misfit(l->m->spread) * largest, "forces", l->name);
}

static void ask(look* l, const char* form) {
    cal_sim* sim = open_sim(l->m->model, form, "aba", "projection", NULL);
    cal_constraint_report report;
    assert_int_equal(cal_sim_set(sim, 0.0, l->q, l->v, NULL), CAL_OK);
    assert_int_equal(cal_sim_accelerations(sim, l->found), CAL_OK);
    compare(l, misfit(l->m->spread), form);
    assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
    assert_int_equal(report.rows, l->exact.rows);
    if (report.rank != l->exact.rank) fail_msg("%s: rank %d, not %d", l->name, report.rank, l->exact.rank);
    if (l->exact.rank == l->exact.rows) compare_forces(l, sim);
    cal_sim_destroy(sim);
}

// What a step moves by is what its evaluation has found, by other ways than those of a question.
static void step(look* l, const char* algorithm, cal_machine* machine) {
    cal_sim* sim = open_sim(l->m->model, "lagrange", algorithm, "none", machine);
    cal_error error;
    assert_int_equal(cal_sim_set(sim, 0.0, l->q, l->v, NULL), CAL_OK);
    if (cal_sim_advance(sim, STEP, &error) != CAL_OK) fail_msg("%s, %s: %s", l->name, algorithm, error.text);
    for (int i = 0; i < cal_model_v_count(l->m->model); i++) l->found[i] = (cal_sim_v(sim)[i] - l->v[i]) / STEP;
    compare(l, fmax(misfit(l->m->spread), ROUNDED_STEP), algorithm);
    cal_sim_destroy(sim);
}

static void hold(look* l) {
    cal_test_engine engine = cal_test_open(l->m->model, "assembly", 0);
    // It knows no motions that are prescribed.
    if (l->m->spread < 6.0 && cal_state_hold(engine.state, 0.0, 0.0) == CAL_OK) {
        assert_int_equal(cal_state_set(engine.state, CAL_Q, l->q), CAL_OK);
        assert_int_equal(cal_state_set(engine.state, CAL_V, l->v), CAL_OK);
        cal_test_execute(&engine);
        assert_int_equal(cal_state_get(engine.state, CAL_QDD, l->found), CAL_OK);
        compare(l, misfit_held(l->m->spread), "assembly by itself");
    }
    cal_test_close(&engine);
}

static void on_random_mechanisms(int count, void (*check)(look* l)) {
    static const double units[] = {1.0, 1e-3, 1e3}, spreads[] = {0.0, 3.0, 6.0};
    for (int i = 0; i < 9 * count; i++) {
        const uint64_t seed = 1 + (uint64_t)(i / 9);
        mechanism m = {.unit = units[i % 3], .spread = spreads[i / 3 % 3]};
        m.model = make(&m, seed, 1 + (int)seed % MOST_CLOSURES);
        if (!m.model) continue;
        look l;
        if (begin_look(&l, &m, seed)) check(&l);
        end_look(&l);
        cal_model_destroy(m.model);
    }
}

static void check_accelerations(look* l) {
    ask(l, "lagrange");
    ask(l, "minimal");
    step(l, "aba", NULL);
    step(l, "assembly", NULL);
    hold(l);
}

static void test_random_mechanisms_move_as_lagrange_says(void** unused) {
    (void)unused;
    on_random_mechanisms(CAL_TEST_SANITIZED ? 20 : 100, check_accelerations);
}

static void check_bits(look* l) {
    const size_t size = (size_t)cal_model_v_count(l->m->model) * sizeof *l->found;
    static const int lanes[] = {1, 2, 4, 8, 0};
    for (int a = 0; a < 2; a++) {
        const char* algorithm = a ? "assembly" : "aba";
        double* first = NULL;
        for (int i = 0; i < 5; i++) {
            cal_machine* machine;
            cal_threads_def threads = cal_default_threads_def();
            threads.workers = 2;
            assert_int_equal(lanes[i] ? cal_machine_serial(lanes[i], &machine, NULL)
                                      : cal_machine_threads(&threads, &machine, NULL),
                             CAL_OK);
            step(l, algorithm, machine);
            if (!first) first = memcpy(cal_test_numbers(size / sizeof *first), l->found, size);
            if (memcmp(first, l->found, size) != 0) fail_msg("%s: other bits with machine %d", l->name, i);
            cal_machine_destroy(machine);
        }
        free(first);
    }
}

static void test_random_mechanisms_have_one_answer(void** unused) {
    (void)unused;
    on_random_mechanisms(6, check_bits);
}

// Corrections do not depend on units: what moves is as closed in kilometres, with bodies of 10⁹ kg, as in metres.
static void test_random_mechanisms_stay_closed_in_any_unit(void** unused) {
    (void)unused;
    static const double units[] = {1.0, 1e-3, 1e3};
    for (int i = 0; i < 18; i++) {
        const uint64_t seed = 20 + (uint64_t)(i / 3);
        mechanism m = {.unit = units[i % 3]};
        m.model = make(&m, seed, 1 + (int)seed % MOST_CLOSURES);
        look l;
        if (!m.model) continue;
        if (begin_look(&l, &m, seed)) {
            cal_sim* sim = cal_test_open_sim(m.model, "gear", 1e-6, NULL, 0.0);
            cal_constraint_report report;
            assert_int_equal(cal_sim_set(sim, 0.0, l.q, l.v, NULL), CAL_OK);
            cal_test_advance_sim(sim, 0.1 * sqrt(m.unit));
            assert_int_equal(cal_sim_constraints(sim, &report), CAL_OK);
            cal_test_expect_below(report.error_max, 1e-13 * fmax(1.0, m.unit), "open by", l.name);
            cal_sim_destroy(sim);
        }
        end_look(&l);
        cal_model_destroy(m.model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_mechanisms_move_as_lagrange_says),
        cmocka_unit_test(test_random_mechanisms_have_one_answer),
        cmocka_unit_test(test_random_mechanisms_stay_closed_in_any_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
