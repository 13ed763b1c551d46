// Contact groups on their own, without a world: what rests must rest, what slides must slide as Coulomb says, impulses keep
// momentum, a replay has the same bits. And the sparse factor under it, against a dense one.
#include "base/memory.h"
#include "base/random.h"
#include "collide/collide.h"
#include "support.h"
#include "simulation/contact/contact_problem.h"
#include "simulation/contact/block_cholesky.h"
#include "simulation/contact/contact_group.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- A pile of free bodies --------------------------------------------------------------------------------------------

enum { MOST = 64, NUMBERS = 7 * MOST, ROOM = 64 };
static const double pull = 9.81, interval = 0.01;

typedef struct pile pile;
typedef struct thing {
    cal_geometry* geometry;
    double mass, inertia[3];
    const pile* pile;
} thing;

struct pile {
    cal_group group;
    cal_group_member units[MOST];
    thing things[MOST];
    int unit_of_body[MOST + 1];
    cal_geometry* floor;
    cal_pose floor_pose;
    double floor_velocity[6];
    double friction;
    double q[NUMBERS], v[NUMBERS], memory[4096];
    double* scratch;
    size_t scratch_count;
    int capacity;
};

static cal_status unit_dynamics(const cal_group_member* unit, double time, const double* q, const double* v,
                                double* mass, double* force) {
    (void)time;
    (void)q;
    const thing* t = unit->self;
    double momentum[3], turning[3];
    memset(mass, 0, 36 * sizeof *mass);
    for (int i = 0; i < 3; i++) {
        mass[7 * i] = t->mass, mass[7 * (i + 3)] = t->inertia[i];
        momentum[i] = t->inertia[i] * v[3 + i];
    }
    cal_cross3(v + 3, momentum, turning);
    for (int i = 0; i < 3; i++) force[i] = t->mass * t->pile->group.gravity[i], force[3 + i] = -turning[i];
    return CAL_OK;
}

static cal_status unit_displace(const cal_group_member* unit, const double* q, const double* v, double time,
                                double* out) {
    (void)unit;
    const double speed = sqrt(cal_dot3(v + 3, v + 3)), half = 0.5 * time * speed;
    const double s = speed > 0.0 ? sin(half) / speed : 0.5 * time;
    const double turn[4] = {cos(half), s * v[3], s * v[4], s * v[5]};
    for (int i = 0; i < 3; i++) out[i] = q[i] + time * v[i];
    cal_quaternion_multiply(q + 3, turn, out + 3);
    cal_quaternion_normalize(out + 3);
    return CAL_OK;
}

static cal_status unit_rate(const cal_group_member* unit, const double* q, const double* v, double* rate) {
    (void)unit;
    const double w[4] = {0.0, 0.5 * v[3], 0.5 * v[4], 0.5 * v[5]};
    memcpy(rate, v, 3 * sizeof *v);
    cal_quaternion_multiply(q + 3, w, rate + 3);
    return CAL_OK;
}

// A free body's, but for what asks its world (main).
static cal_group_member_ops unit_ops = {.dynamics = unit_dynamics, .displace = unit_displace, .rate = unit_rate};

static cal_status driven(const cal_group* group, int body, double time, double pose[7], double velocity[6]) {
    (void)body;
    const pile* p = group->world;
    memcpy(pose, p->floor_pose.position, 3 * sizeof *pose);
    for (int i = 0; i < 3; i++) pose[i] += time * p->floor_velocity[i];
    cal_matrix_quaternion(p->floor_pose.rotation, pose + 3);
    memcpy(velocity, p->floor_velocity, sizeof p->floor_velocity);
    return CAL_OK;
}

static cal_status contacts(const cal_group* group, double time, const double* poses, double margin,
                           cal_group_contact* out, int capacity, int* total) {
    (void)time;
    const pile* p = group->world;
    int count = 0;
    for (int i = 0; i < group->body_count; i++)
        for (int k = 0; k < i && k < group->unit_count; k++) {
            const cal_pose a = cal_pose_make(poses + 7 * i, poses + 7 * i + 3);
            const cal_pose b = cal_pose_make(poses + 7 * k, poses + 7 * k + 3);
            const cal_geometry* ga = i < group->unit_count ? p->things[i].geometry : p->floor;
            cal_contact found[ROOM];
            const int n = cal_contacts(ga, &a, p->things[k].geometry, &b, margin, found, ROOM);
            assert_true(n <= ROOM);
            for (int c = 0; c < n; c++, count++) {
                if (count >= capacity) continue;
                cal_group_contact* contact = &out[count];
                *contact = (cal_group_contact){.body = {k, i}, .gap = found[c].separation, .friction = p->friction};
                for (int m = 0; m < 3; m++) {
                    const double half = 0.5 * found[c].separation * found[c].normal[m];
                    contact->normal[m] = found[c].normal[m];
                    contact->point[0][m] = found[c].point[m] - half;
                    contact->point[1][m] = found[c].point[m] + half;
                }
            }
        }
    *total = count;
    return CAL_OK;
}

static pile* open_pile(double friction) {
    pile* p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->group = (cal_group){.units = p->units, .unit_of_body = p->unit_of_body, .driven = driven, .contacts = contacts};
    p->group.world = p;
    p->group.length = 1.0, p->group.tolerance = 1e-8, p->group.creep = 1e-3;
    p->group.gravity[2] = -pull;
    p->friction = friction;
    p->capacity = 4; // so that growing is tried too
    return p;
}

static void add_shape(pile* p, cal_shape_kind kind, const double size[3], double x, double y, double z) {
    const int i = p->group.unit_count++;
    thing* t = &p->things[i];
    cal_piece_def def = cal_default_piece_def();
    def.kind = kind;
    memcpy(def.size, size, sizeof def.size);
    assert_int_equal(cal_geometry_create(&def, 1, &t->geometry, NULL), CAL_OK);
    cal_mass_properties m;
    cal_geometry_mass(t->geometry, 1000.0, &m);
    t->mass = m.mass, t->pile = p;
    memcpy(t->inertia, m.inertia, sizeof t->inertia);
    p->units[i] =
        (cal_group_member){.ops = &unit_ops, .self = t, .q_count = 7, .v_count = 6, .body_count = 1, .lengths = 3};
    p->units[i].first_q = 7 * i, p->units[i].first_v = 6 * i, p->units[i].first_body = i;
    p->unit_of_body[i] = i;
    p->group.q_count += 7, p->group.v_count += 6, p->group.body_count++;
    double* q = p->q + 7 * i;
    q[0] = x, q[1] = y, q[2] = z, q[3] = 1.0;
}

static void add_box(pile* p, double x, double z) {
    const double size[3] = {0.5, 0.5, 0.5};
    add_shape(p, CAL_BOX, size, x, 0.0, z);
}

// The last one: a plane, sloping down along x by an angle.
static void add_floor(pile* p, double angle) {
    const double origin[3] = {0.0, 0.0, 0.0}, q[4] = {cos(0.5 * angle), 0.0, sin(0.5 * angle), 0.0};
    cal_piece_def def = cal_default_piece_def();
    def.kind = CAL_PLANE;
    assert_int_equal(cal_geometry_create(&def, 1, &p->floor, NULL), CAL_OK);
    p->floor_pose = cal_pose_make(origin, q);
    p->unit_of_body[p->group.body_count++] = CAL_NONE;
}

static void close_pile(pile* p) {
    for (int i = 0; i < p->group.unit_count; i++) cal_geometry_destroy(p->things[i].geometry);
    cal_geometry_destroy(p->floor);
    free(p->scratch);
    free(p);
}

static cal_group_report run(pile* p, const cal_group_ops* ops, double from, double to) {
    for (;;) {
        const size_t needed = ops->scratch_count(&p->group, p->capacity);
        if (needed > p->scratch_count) {
            free(p->scratch);
            p->scratch = malloc(needed * sizeof *p->scratch);
            p->scratch_count = needed;
        }
        double q[NUMBERS], v[NUMBERS], memory[4096];
        memcpy(q, p->q, sizeof q);
        memcpy(v, p->v, sizeof v);
        memcpy(memory, p->memory, sizeof memory);
        cal_group_report report = {0};
        cal_error error = {0};
        cal_group_interval way = {from, to, from};
        cal_status status = CAL_OK;
        while (status == CAL_OK && way.time < to)
            status = ops->step(&p->group, &way, q, v, memory, p->scratch, p->capacity, &report, &error);
        if (status == CAL_NO_MEMORY && report.contacts > p->capacity) {
            p->capacity = report.contacts;
            continue;
        }
        if (status != CAL_OK) fail_msg("%s", error.text);
        memcpy(p->q, q, sizeof q);
        memcpy(p->v, v, sizeof v);
        memcpy(p->memory, memory, sizeof memory);
        return report;
    }
}

static cal_group_report run_for(pile* p, const cal_group_ops* ops, double time) {
    cal_group_report report = {0};
    const int steps = (int)lround(time / interval);
    for (int i = 0; i < steps; i++) report = run(p, ops, interval * i, interval * (i + 1));
    return report;
}

static double energy(const pile* p) {
    double sum = 0.0;
    for (int i = 0; i < p->group.unit_count; i++) {
        const thing* t = &p->things[i];
        const double* v = p->v + 6 * i;
        sum += 0.5 * t->mass * cal_dot3(v, v) + t->mass * pull * p->q[7 * i + 2];
        for (int k = 0; k < 3; k++) sum += 0.5 * t->inertia[k] * v[3 + k] * v[3 + k];
    }
    return sum;
}

static double moved(const pile* p, const double* before) {
    double most = 0.0;
    for (int i = 0; i < p->group.q_count; i++) most = fmax(most, fabs(p->q[i] - before[i]));
    return most;
}

// --- What rests -------------------------------------------------------------------------------------------------------

static void test_stacks_rest(void** state) {
    (void)state;
    pile* p = open_pile(0.5);
    for (int row = 0; row < 7; row++) // a pyramid, and a column beside it
        for (int column = 0; column < 7 - row; column++) add_box(p, 1.02 * column + 0.51 * row, 0.5 + row);
    for (int row = 0; row < 7; row++) add_box(p, 9.0, 0.5 + row);
    add_floor(p, 0.0);
    double before[NUMBERS];
    memcpy(before, p->q, sizeof before);
    const double start = energy(p);
    const cal_group_report report = run_for(p, &cal_group_implicit, 2.0);
    cal_test_expect_below(moved(p, before), 1e-5, "drift", "stack");
    cal_test_expect_below(report.speed, 1e-5, "speed", "stack");
    cal_test_expect_below(report.penetration, 1e-5, "overlap", "stack");
    cal_test_expect_below(energy(p) - start, 1e-9 * start, "energy that came in", "stack");
    close_pile(p);
}

static void test_dropped_pile_comes_to_rest(void** state) {
    (void)state;
    pile* p = open_pile(0.6);
    const double brick[3] = {0.5, 0.3, 0.2}, can[3] = {0.3, 0.4, 0.0}, ball[3] = {0.3, 0.0, 0.0};
    for (int i = 0; i < 4; i++) add_shape(p, CAL_BOX, brick, 0.1 * i, 0.05 * i, 0.3 + 0.6 * i);
    add_shape(p, CAL_CYLINDER, can, 0.0, 0.0, 3.2);
    add_shape(p, CAL_SPHERE, ball, 0.1, 0.1, 4.2);
    for (int i = 0; i < p->group.unit_count; i++) { // leaning a little
        double* q = p->q + 7 * i + 3;
        q[1] = 0.05 * i, q[2] = -0.03 * i;
        cal_quaternion_normalize(q);
    }
    add_floor(p, 0.0);
    double last = energy(p);
    for (int i = 0; i < 500; i++) {
        const cal_group_report report = run(p, &cal_group_implicit, interval * i, interval * (i + 1));
        cal_test_expect_below(energy(p) - last, 1e-4 * last, "energy that came in", "dropped pile");
        cal_test_expect_below(report.penetration, 5e-3, "overlap", "dropped pile");
        last = energy(p);
    }
    for (int i = 0; i < 4; i++) // the can and the ball may roll for ever
        cal_test_expect_below(sqrt(cal_dot3(p->v + 6 * i, p->v + 6 * i)), 1e-6, "speed", "dropped pile");
    close_pile(p);
}

// --- What slides ------------------------------------------------------------------------------------------------------

static pile* box_on_slope(double friction, double angle) {
    pile* p = open_pile(friction);
    add_box(p, 0.5 * sin(angle), 0.5 * cos(angle));
    add_floor(p, angle);
    cal_matrix_quaternion(p->floor_pose.rotation, p->q + 3);
    return p;
}

static void test_slopes(void** state) {
    (void)state;
    const double frictions[] = {0.2, 0.5, 0.9};
    for (int i = 0; i < 3; i++)
        for (int side = -1; side <= 1; side += 2) {
            const double angle = atan(frictions[i]) + 0.02 * side, time = 1.0;
            pile* p = box_on_slope(frictions[i], angle);
            double before[NUMBERS];
            memcpy(before, p->q, sizeof before);
            run_for(p, &cal_group_implicit, time);
            const double slope = side < 0 ? 0.0 : pull * (sin(angle) - frictions[i] * cos(angle));
            const double way = 0.5 * slope * time * time;
            cal_test_expect_below(fabs(p->q[0] - before[0] - way * cos(angle)), 1e-7, "way along x", "slope");
            cal_test_expect_below(fabs(p->q[2] - before[2] + way * sin(angle)), 1e-7, "way along z", "slope");
            cal_test_expect_below(fabs(sqrt(cal_dot3(p->v, p->v)) - slope * time), 1e-7, "speed", "slope");
            close_pile(p);
        }
}

// A box that is thrown along the floor stops after v²/2μg, and stays.
static void test_stopping_distance(void** state) {
    (void)state;
    pile* p = open_pile(0.4);
    add_box(p, 0.0, 0.5);
    add_floor(p, 0.0);
    p->v[0] = 2.0;
    run_for(p, &cal_group_implicit, 1.5);
    cal_test_expect_below(fabs(p->q[0] - 4.0 / (2.0 * 0.4 * pull)), 2e-4, "way", "stopping");
    cal_test_expect_below(fabs(p->v[0]), 1e-7, "speed", "stopping");
    cal_test_expect_below(fabs(p->q[2] - 0.5), 1e-6, "height", "stopping");
    close_pile(p);
}

// A ball that is thrown slides until it rolls, at 5/7 of its first speed.
static void test_ball_begins_to_roll(void** state) {
    (void)state;
    pile* p = open_pile(0.3);
    const double size[3] = {0.5, 0.0, 0.0};
    add_shape(p, CAL_SPHERE, size, 0.0, 0.0, 0.5);
    add_floor(p, 0.0);
    p->v[0] = 3.0;
    run_for(p, &cal_group_implicit, 1.0);
    cal_test_expect_below(fabs(p->v[0] - 15.0 / 7.0), 1e-4, "speed", "rolling");
    double spin[3], R[9];
    cal_quaternion_matrix(p->q + 3, R);
    cal_rotate3(R, p->v + 3, spin);
    cal_test_expect_below(fabs(spin[1] - p->v[0] / 0.5), 1e-5, "spin", "rolling");
    close_pile(p);
}

// What stands on a floor that moves goes along with it.
static void test_conveyor(void** state) {
    (void)state;
    pile* p = open_pile(0.5);
    add_box(p, 0.0, 0.5);
    add_box(p, 0.1, 1.5);
    add_floor(p, 0.0);
    p->floor_velocity[0] = 0.7;
    run_for(p, &cal_group_implicit, 1.0);
    for (int i = 0; i < 2; i++) cal_test_expect_below(fabs(p->v[6 * i] - 0.7), 1e-6, "speed", "conveyor");
    close_pile(p);
}

// Two bodies that meet without a floor keep their momentum.
static void test_momentum(void** state) {
    (void)state;
    pile* p = open_pile(0.5);
    const double size[3] = {0.5, 0.4, 0.3};
    add_shape(p, CAL_BOX, size, -0.8, 0.0, 0.0);
    add_shape(p, CAL_BOX, size, 0.8, 0.3, 0.1);
    memset(p->group.gravity, 0, sizeof p->group.gravity);
    p->v[0] = 2.0, p->v[4] = 1.0;
    double before[3], after[3];
    for (int i = 0; i < 3; i++) before[i] = p->v[i] + p->v[6 + i];
    run_for(p, &cal_group_implicit, 1.0);
    for (int i = 0; i < 3; i++) after[i] = p->v[i] + p->v[6 + i];
    for (int i = 0; i < 3; i++) cal_test_expect_below(fabs(after[i] - before[i]), 1e-12, "momentum", "two boxes");
    assert_true(fabs(p->v[0] - 2.0) > 0.1); // they did meet
    close_pile(p);
}

// --- The paper's integrator -------------------------------------------------------------------------------------------

// It sinks by its springs and creeps by its friction, as its equations say: ε atanh(tan α / μ).
static void test_penalty(void** state) {
    (void)state;
    const double angle = 0.17, friction = 0.5;
    pile* p = box_on_slope(friction, angle);
    run_for(p, &cal_group_penalty, 1.0);
    const double creep = p->group.creep * atanh(tan(angle) / friction);
    cal_test_expect_below(fabs(sqrt(cal_dot3(p->v, p->v)) - creep), 1e-7, "creep", "penalty");
    close_pile(p);
    p = box_on_slope(friction, 0.6);
    run_for(p, &cal_group_penalty, 1.0);
    const double slope = pull * (sin(0.6) - friction * cos(0.6));
    cal_test_expect_below(fabs(sqrt(cal_dot3(p->v, p->v)) - slope), 2e-3, "speed", "penalty");
    close_pile(p);
    // Four springs of m g / (10⁻⁴ length) carry m g.
    p = box_on_slope(friction, 0.0);
    const cal_group_report report = run_for(p, &cal_group_penalty, 1.0);
    cal_test_expect_below(fabs(report.penetration - 0.25e-4), 1e-8, "sinking", "penalty");
    close_pile(p);
    p = open_pile(friction);
    for (int i = 0; i < 3; i++) add_box(p, 0.01 * i, 0.5 + i);
    add_floor(p, 0.0);
    const double start = energy(p);
    run_for(p, &cal_group_penalty, 1.0);
    cal_test_expect_below(energy(p) - start, 1e-7 * start, "energy that came in", "penalty");
    cal_test_expect_below(fabs(p->q[2 * 7 + 2] - 2.5), 1e-3, "height", "penalty");
    close_pile(p);
}

// --- Repetition -------------------------------------------------------------------------------------------------------

// From the same numbers the same bits, whatever was computed in between, and whatever the scratch memory held.
static void test_replay(void** state) {
    (void)state;
    const cal_group_ops* const all[] = {&cal_group_implicit, &cal_group_penalty};
    for (int k = 0; k < 2; k++) {
        pile* p = open_pile(0.5);
        for (int i = 0; i < 3; i++) add_box(p, 0.2 * i, 0.55 + 1.05 * i);
        add_floor(p, 0.1);
        run(p, all[k], 0.0, 0.1);
        double q[NUMBERS], v[NUMBERS], memory[4096], later[NUMBERS];
        memcpy(q, p->q, sizeof q);
        memcpy(v, p->v, sizeof v);
        memcpy(memory, p->memory, sizeof memory);
        run(p, all[k], 0.1, 0.15);
        run(p, all[k], 0.15, 0.2);
        memcpy(later, p->q, sizeof later);
        memcpy(p->q, q, sizeof q);
        memcpy(p->v, v, sizeof v);
        memcpy(p->memory, memory, sizeof memory);
        memset(p->scratch, 0x7f, p->scratch_count * sizeof *p->scratch);
        run(p, all[k], 0.1, 0.15);
        run(p, all[k], 0.15, 0.2);
        assert_memory_equal(p->q, later, sizeof later);
        close_pile(p);
    }
    assert_ptr_equal(cal_group_find("implicit"), &cal_group_implicit);
    assert_ptr_equal(cal_group_find("penalty"), &cal_group_penalty);
    assert_null(cal_group_find("nothing"));
}

// Each step of an interval depends on the numbers at its beginning and on nothing else: an interval that is taken up again after
// any of its steps, with other scratch memory, ends in the same bits after as many steps.
static void test_replay_within_an_interval(void** state) {
    (void)state;
    enum { STEPS = 1000, SCRATCH = 41000 };
    const cal_group_ops* const all[] = {&cal_group_implicit, &cal_group_penalty};
    static double numbers[STEPS + 1][2 * NUMBERS + 4096], scratch[SCRATCH];
    static cal_group_interval way[STEPS + 1];
    for (int k = 0; k < 2; k++) {
        pile* p = open_pile(0.5);
        for (int i = 0; i < 2; i++) add_box(p, 0.2 * i, 0.55 + 1.05 * i);
        add_floor(p, 0.1);
        assert_true(all[k]->scratch_count(&p->group, 64) < SCRATCH);
        run(p, all[k], 0.0, 0.1);
        memcpy(numbers[0], p->q, sizeof p->q);
        memcpy(numbers[0] + NUMBERS, p->v, sizeof p->v);
        memcpy(numbers[0] + 2 * NUMBERS, p->memory, sizeof p->memory);
        way[0] = (cal_group_interval){0.1, k == 0 ? 0.4 : 0.12, 0.1};
        int count = 0;
        for (int again = 0; again <= count; again++) {
            for (int n = again > 0 ? again - 1 : 0; way[n].time < way[n].end; n++) {
                double next[2 * NUMBERS + 4096];
                cal_group_interval to = way[n];
                cal_group_report report = {0};
                cal_error error = {0};
                assert_true(n < STEPS);
                memcpy(next, numbers[n], sizeof next);
                memset(scratch, again % 2 == 0 ? 0 : 0x7f, sizeof scratch);
                if (all[k]->step(&p->group, &to, next, next + NUMBERS, next + 2 * NUMBERS, scratch, 64, &report,
                                 &error) != CAL_OK)
                    fail_msg("%s", error.text);
                assert_true(to.time > way[n].time && to.time <= to.end);
                if (again > 0) {
                    assert_memory_equal(next, numbers[n + 1], sizeof next);
                    assert_memory_equal(&to, &way[n + 1], sizeof to);
                    break; // the rest is that of the next repetition
                }
                memcpy(numbers[n + 1], next, sizeof next);
                way[n + 1] = to;
                count = n + 1;
            }
        }
        assert_true(count > 2);
        close_pile(p);
    }
}

static cal_status broken_dynamics(const cal_group_member* unit, double time, const double* q, const double* v,
                                  double* mass, double* force) {
    (void)unit_dynamics(unit, time, q, v, mass, force);
    return CAL_NOT_FINITE;
}

static const char* name_of(const cal_group* group, int body, char* text, size_t capacity) {
    (void)group;
    snprintf(text, capacity, "thing %d", body);
    return text;
}

// What a member cannot do ends the advance, with its name and the time.
static void test_failed_member(void** state) {
    (void)state;
    const cal_group_ops* const all[] = {&cal_group_implicit, &cal_group_penalty};
    for (int k = 0; k < 2; k++) {
        pile* p = open_pile(0.5);
        cal_group_member_ops broken = unit_ops;
        cal_group_report report = {0};
        cal_error error = {0};
        add_box(p, 0.0, 0.5);
        add_box(p, 3.0, 0.5);
        add_floor(p, 0.0);
        broken.dynamics = broken_dynamics;
        p->units[1].ops = &broken;
        p->group.body_name = name_of;
        p->scratch = malloc(all[k]->scratch_count(&p->group, 64) * sizeof *p->scratch);
        cal_group_interval way = {0.25, 0.5, 0.25};
        assert_int_equal(all[k]->step(&p->group, &way, p->q, p->v, p->memory, p->scratch, 64, &report, &error),
                         CAL_NOT_FINITE);
        assert_non_null(strstr(error.text, "thing 1"));
        assert_non_null(strstr(error.text, "0.25"));
        close_pile(p);
    }
}

// A body without mass is an error, not a crash.
static void test_massless(void** state) {
    (void)state;
    const cal_group_ops* const all[] = {&cal_group_implicit, &cal_group_penalty};
    for (int k = 0; k < 2; k++) {
        pile* p = open_pile(0.5);
        add_box(p, 0.0, 0.5);
        add_floor(p, 0.0);
        p->things[0].mass = 0.0;
        double scratch[20000];
        assert_true(all[k]->scratch_count(&p->group, 16) < 20000);
        cal_group_report report = {0};
        cal_error error = {0};
        cal_group_interval way = {0.0, 0.01, 0.0};
        assert_int_equal(all[k]->step(&p->group, &way, p->q, p->v, p->memory, scratch, 16, &report, &error),
                         CAL_BAD_MODEL);
        close_pile(p);
    }
}

// --- The sparse factor ------------------------------------------------------------------------------------------------

static void test_sparse_against_dense(void** state) {
    (void)state;
    enum { UNITS = 20, LARGEST = 5, SIZE = UNITS * LARGEST };
    cal_random random = {9};
    for (int round = 0; round < 50; round++) {
        int32_t size[UNITS], first[UNITS], pairs[3 * UNITS][2];
        int total = 0;
        for (int i = 0; i < UNITS; i++) {
            size[i] = 1 + cal_random_below(&random, LARGEST);
            first[i] = total;
            total += size[i];
        }
        static double dense[SIZE * SIZE], memory[200000];
        memset(dense, 0, sizeof dense);
        const int count = cal_random_below(&random, 3 * UNITS);
        for (int k = 0; k < count; k++)
            for (int m = 0; m < 2; m++) pairs[k][m] = cal_random_below(&random, UNITS);
        cal_arena arena = {memory, 200000};
        cal_blocks blocks;
        assert_true(cal_blocks_make(&blocks, UNITS, size, first, (const int32_t(*)[2])pairs, count, &arena));
        cal_blocks_zero(&blocks);
        for (int k = -UNITS; k < count; k++) { // the diagonal first, heavy enough to stay definite
            const int i = k < 0 ? k + UNITS : pairs[k][0], j = k < 0 ? i : pairs[k][1];
            if (k >= 0 && i == j) continue;
            bool turned;
            double* block = cal_blocks_at(&blocks, i, j, &turned);
            for (int r = 0; r < size[i]; r++)
                for (int c = 0; c < size[j]; c++) {
                    const double x = k < 0 ? (r == c ? 100.0 : 0.0) : cal_random_between(&random, -1.0, 1.0);
                    block[turned ? c * size[i] + r : r * size[j] + c] += x;
                    dense[(first[i] + r) * total + first[j] + c] += x;
                    if (i != j) dense[(first[j] + c) * total + first[i] + r] += x;
                }
        }
        double x[SIZE], y[SIZE];
        for (int i = 0; i < total; i++) x[i] = y[i] = cal_random_between(&random, -1.0, 1.0);
        assert_true(cal_blocks_factor(&blocks));
        cal_blocks_solve(&blocks, x);
        for (int i = 0; i < total; i++) {
            double sum = 0.0;
            for (int k = 0; k < total; k++) sum += dense[i * total + k] * x[k];
            cal_test_expect_below(fabs(sum - y[i]), 1e-13, "residual", "sparse");
        }
        cal_arena small = {memory, 100};
        assert_false(cal_blocks_make(&blocks, UNITS, size, first, (const int32_t(*)[2])pairs, count, &small));
    }
}

// A look at contacts that finds fewer than the one before leaves the others where they were, behind its own: they are none of its.
static void contacts_of_an_earlier_look_are_not_found(void** state) {
    (void)state;
    cal_group_contact contacts[4] = {{.key = 11}, {.key = 22}, {.key = 33}, {.key = 44}};
    const cal_contact_cache cache = {.contacts = contacts, .capacity = 4, .count = 2};
    for (int from = 0; from < 4; from++) {
        assert_int_equal(cal_contact_cache_same(&cache, 11, from), 0);
        assert_int_equal(cal_contact_cache_same(&cache, 22, from), 1);
        assert_int_equal(cal_contact_cache_same(&cache, 33, from), CAL_NONE);
        assert_int_equal(cal_contact_cache_same(&cache, 44, from), CAL_NONE);
    }
}

int main(void) {
    unit_ops.poses = cal_free_member_ops.poses, unit_ops.jacobian = cal_free_member_ops.jacobian;
    unit_ops.normalize = cal_free_member_ops.normalize, unit_ops.speed = cal_free_member_ops.speed;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stacks_rest),
                                       cmocka_unit_test(test_dropped_pile_comes_to_rest),
                                       cmocka_unit_test(test_slopes),
                                       cmocka_unit_test(test_stopping_distance),
                                       cmocka_unit_test(test_ball_begins_to_roll),
                                       cmocka_unit_test(test_conveyor),
                                       cmocka_unit_test(test_momentum),
                                       cmocka_unit_test(test_penalty),
                                       cmocka_unit_test(test_replay),
                                       cmocka_unit_test(test_replay_within_an_interval),
                                       cmocka_unit_test(test_failed_member),
                                       cmocka_unit_test(test_massless),
                                       cmocka_unit_test(contacts_of_an_earlier_look_are_not_found),
                                       cmocka_unit_test(test_sparse_against_dense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
