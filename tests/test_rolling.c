// What rolls and spins in a contact group follows its equations: a top on a round tip, a disk that rolls on its rim, Euler's disk,
// a rattleback. Compared with an integration of the rolling constraint that knows nothing of contacts:
//
//     m u̇ = m g + F,    I ω̇ + ω × I ω = ρ × F,    u + ω × ρ = 0
//
// with ρ(q) from the centre of mass to the point of contact, as a formula, and ρ̇ as a difference along the motion.
//
// And what rolls against something: an impact in a small contact group, in which all that touches takes part, has its own time. A wheel of
// radius R and moment I = k m R² that hits an edge at a height h and sticks to it keeps its angular momentum about that:
//
//     ω' (I + m R²) = I ω + m v (R − h),    so with v = R ω    ω' = ω (1 − h / ((k + 1) R))
//
// It goes on about the edge, with ω''² = ω'² − 2 g h / ((k + 1) R²) on top, or where ω'² R > g (R − h) / R it flies, and lands on top with the
// spin ω' and the speed ω' (R − h), of which rolling keeps ω'' (k + 1) = ω' (k + 1 − h/R).
#include "math/vector.h"
#include "support_world.h"
#include <math.h>
#include <string.h>

static const double pull = 9.81;

typedef struct roller {
    double mass, inertia[3];                                               // body's axes
    void (*arm)(const struct roller* r, const double R[9], double out[3]); // ρ in the world
    double size[3], offset;
} roller;

typedef struct pose {
    double quaternion[4], w[3], x[3]; // w in the world
} pose;

// --- The equations ------------------------------------------------------------------------------------------------------------

// ω̇ and u at a pose. With u = −ω × ρ, F = m (u̇ − g) and u̇ = −ω̇ × ρ − ω × ρ̇:
//     I ω̇ + m ρ × (ω̇ × ρ) = −ω × I ω − m ρ × (ω × ρ̇ + g)
static void rates(const roller* r, const pose* p, double w_dot[3], double u[3]) {
    double R[9], rho[3], next[4], before[4], ahead[3], behind[3], rho_dot[3], Iw[3], spin[3], right[3];
    const double h = 1e-6;
    cal_quaternion_matrix(p->quaternion, R);
    r->arm(r, R, rho);
    cal_test_turn(p->quaternion, p->w, h, next);
    cal_test_turn(p->quaternion, p->w, -h, before);
    double S[9];
    cal_quaternion_matrix(next, S);
    r->arm(r, S, ahead);
    cal_quaternion_matrix(before, S);
    r->arm(r, S, behind);
    for (int i = 0; i < 3; i++) rho_dot[i] = (ahead[i] - behind[i]) / (2.0 * h);
    double I[9] = {0}, own[3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < 3; k++) I[3 * a + b] += R[3 * a + k] * r->inertia[k] * R[3 * b + k];
    cal_rotate3(I, p->w, Iw);
    cal_cross3(p->w, Iw, spin);
    cal_cross3(p->w, rho_dot, own);
    own[2] -= pull; // g = −pull e_z, and F = m (u̇ − g)
    double moment[3];
    cal_cross3(rho, own, moment);
    const double square = cal_dot3(rho, rho);
    for (int a = 0; a < 3; a++) {
        right[a] = -spin[a] - r->mass * moment[a];
        for (int b = 0; b < 3; b++) I[3 * a + b] += r->mass * ((a == b ? square : 0.0) - rho[a] * rho[b]);
    }
    // Cramer's rule.
    double c0[3], c1[3], c2[3];
    const double x[3] = {I[0], I[3], I[6]}, y[3] = {I[1], I[4], I[7]}, z[3] = {I[2], I[5], I[8]};
    cal_cross3(y, z, c0);
    cal_cross3(z, x, c1);
    cal_cross3(x, y, c2);
    const double det = cal_dot3(x, c0);
    w_dot[0] = cal_dot3(right, c0) / det, w_dot[1] = cal_dot3(right, c1) / det, w_dot[2] = cal_dot3(right, c2) / det;
    cal_cross3(rho, p->w, u); // −ω × ρ
}

static void add(const pose* p, const double q_dot[4], const double w_dot[3], const double u[3], double h, pose* out) {
    for (int i = 0; i < 4; i++) out->quaternion[i] = p->quaternion[i] + h * q_dot[i];
    for (int i = 0; i < 3; i++) out->w[i] = p->w[i] + h * w_dot[i], out->x[i] = p->x[i] + h * u[i];
}

static void follow(const roller* r, pose* p, double time) {
    const int steps = (int)ceil(time / 2e-5);
    const double h = time / steps;
    static const double at[4] = {0.0, 0.5, 0.5, 1.0}, share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    for (int n = 0; n < steps; n++) {
        double q_dot[4] = {0}, w_dot[3] = {0}, u[3] = {0}, q_sum[4] = {0}, w_sum[3] = {0}, u_sum[3] = {0};
        for (int k = 0; k < 4; k++) {
            pose stage;
            add(p, q_dot, w_dot, u, h * at[k], &stage);
            const double half[4] = {0.0, 0.5 * stage.w[0], 0.5 * stage.w[1], 0.5 * stage.w[2]};
            cal_quaternion_multiply(half, stage.quaternion, q_dot);
            cal_quaternion_normalize(stage.quaternion);
            rates(r, &stage, w_dot, u);
            for (int i = 0; i < 4; i++) q_sum[i] += share[k] * q_dot[i];
            for (int i = 0; i < 3; i++) w_sum[i] += share[k] * w_dot[i], u_sum[i] += share[k] * u[i];
        }
        add(p, q_sum, w_sum, u_sum, h, p);
        cal_quaternion_normalize(p->quaternion);
    }
}

// --- Where they touch ---------------------------------------------------------------------------------------------------------

// A ball of size[0] about the body's frame, the centre of mass `offset` above it along z.
static void tip_arm(const roller* r, const double R[9], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = -r->offset * R[3 * i + 2] - (i == 2 ? r->size[0] : 0.0);
}

// A cylinder of radius size[0] and half a length of size[1]: its lower rim.
static void rim_arm(const roller* r, const double R[9], double out[3]) {
    const double n[3] = {R[2], R[5], R[8]}, side = n[2] > 0.0 ? -1.0 : 1.0, across = sqrt(1.0 - n[2] * n[2]);
    for (int i = 0; i < 3; i++)
        out[i] = side * r->size[1] * n[i] - r->size[0] * ((i == 2 ? 1.0 : 0.0) - n[2] * n[i]) / across;
}

// An ellipsoid of the half axes size, which are turned from the principal axes by `offset` about z.
static void egg_arm(const roller* r, const double R[9], double out[3]) {
    const double c = cos(r->offset), s = sin(r->offset), down[3] = {R[6], R[7], R[8]};
    const double n[3] = {c * down[0] + s * down[1], -s * down[0] + c * down[1], down[2]};
    double p[3], length = 0.0;
    for (int i = 0; i < 3; i++) p[i] = -r->size[i] * r->size[i] * n[i], length -= p[i] * n[i];
    for (int i = 0; i < 3; i++) p[i] /= sqrt(length);
    const double local[3] = {c * p[0] - s * p[1], s * p[0] + c * p[1], p[2]};
    cal_rotate3(R, local, out);
}

// --- Comparison ---------------------------------------------------------------------------------------------------------------

static double energy_of(const roller* r, const pose* p) {
    double R[9], own[3], w_dot[3], u[3], sum = r->mass * pull * p->x[2];
    cal_quaternion_matrix(p->quaternion, R);
    cal_unrotate3(R, p->w, own);
    rates(r, p, w_dot, u);
    for (int i = 0; i < 3; i++) sum += 0.5 * (r->mass * u[i] * u[i] + r->inertia[i] * own[i] * own[i]);
    return sum;
}

static void compare(const roller* r, cal_shape_kind kind, pose start, double time, double tolerance, double position,
                    const char* name) {
    cal_world_def def = cal_default_world_def();
    def.group_tolerance = tolerance;
    cal_world* world = cal_test_world(&def);
    cal_test_add_floor(world);
    cal_world_body_def body = cal_default_world_body_def();
    double R[9], rho[3], w_dot[3];
    cal_quaternion_matrix(start.quaternion, R);
    r->arm(r, R, rho);
    start.x[2] = -rho[2];
    body.density = 0.0, body.mass = r->mass;
    memcpy(body.inertia, r->inertia, sizeof r->inertia);
    memcpy(body.quaternion, start.quaternion, sizeof body.quaternion);
    memcpy(body.angular_velocity, start.w, sizeof body.angular_velocity);
    rates(r, &start, w_dot, body.velocity);
    if (kind == CAL_SPHERE) body.center[2] = r->offset;
    double center[3];
    cal_rotate3(R, body.center, center);
    for (int i = 0; i < 3; i++) body.position[i] = start.x[i] - center[i];
    cal_shape_def shape = cal_default_shape_def();
    cal_body_id id;
    cal_error error = {CAL_OK, ""};
    shape.kind = kind;
    memcpy(shape.size, r->size, sizeof shape.size);
    if (kind == CAL_ELLIPSOID) shape.quaternion[0] = cos(0.5 * r->offset), shape.quaternion[3] = sin(0.5 * r->offset);
    shape.friction = 5.0;
    assert_int_equal(cal_world_add_body(world, &body, &id, &error), CAL_OK);
    if (cal_world_add_shape(world, id, &shape, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    pose p = start;
    const double energy = energy_of(r, &start);
    for (int i = 1; i <= 4; i++) {
        double x[3], q[4], S[9];
        cal_test_advance(world, 0.25 * i * time);
        follow(r, &p, 0.25 * time);
        cal_world_get_body(world, id, x, q, NULL, NULL);
        cal_quaternion_matrix(q, S);
        cal_rotate3(S, body.center, center);
        for (int k = 0; k < 3; k++) x[k] += center[k];
        cal_test_expect_below(cal_test_largest_difference(x, p.x, 3), position, "position", name);
        double T[9];
        cal_quaternion_matrix(p.quaternion, T);
        cal_test_expect_below(cal_test_largest_difference(S, T, 9), 20.0 * position, "attitude", name);
        const cal_world_report report = cal_test_report(world);
        cal_test_expect_below(fabs(report.kinetic + report.potential - energy), 20.0 * position * energy, "energy",
                              name);
        cal_test_expect_below(fabs(energy_of(r, &p) - energy), 1e-9 * energy, "energy of the equations", name);
    }
    cal_world_destroy(world);
}

static void tilt(double angle, double q[4]) { q[0] = cos(0.5 * angle), q[1] = sin(0.5 * angle), q[2] = q[3] = 0.0; }

static void a_top_spins(void** unused) {
    (void)unused;
    const roller top = {0.1, {1e-4, 1e-4, 4e-5}, tip_arm, {0.005}, 0.04};
    pose start = {.w = {0.0, 0.0, 0.0}};
    tilt(0.3, start.quaternion);
    start.w[1] = -150.0 * sin(0.3), start.w[2] = 150.0 * cos(0.3);
    compare(&top, CAL_SPHERE, start, 1.0, 1e-4, 1e-6, "top");
    compare(&top, CAL_SPHERE, start, 1.0, 1e-6, 1e-8, "top, finer");
}

static void a_disk_rolls(void** unused) {
    (void)unused;
    const double R = 0.1, h = 0.01, m = 1.0;
    const roller disk = {
        m, {m * (R * R / 4 + h * h / 3), m * (R * R / 4 + h * h / 3), m * R * R / 2}, rim_arm, {R, h}, 0.0};
    pose start = {.w = {0.0, 0.0, 0.4}};
    tilt(1.45, start.quaternion);
    const double n[2] = {-sin(1.45), cos(1.45)};
    start.w[1] += 12.0 * n[0], start.w[2] += 12.0 * n[1];
    compare(&disk, CAL_CYLINDER, start, 1.0, 1e-4, 1e-6, "disk");
}

static void eulers_disk_settles_as_its_equations_say(void** unused) {
    (void)unused;
    const double R = 0.0375, h = 0.0064, m = 0.44;
    const roller disk = {
        m, {m * (R * R / 4 + h * h / 3), m * (R * R / 4 + h * h / 3), m * R * R / 2}, rim_arm, {R, h}, 0.0};
    // Almost steady: precession Ω about the vertical with Ω² sin θ of some 4 g / R, on a rim whose point of contact stands still.
    const double angle = 0.25, precession = sqrt(4.0 * pull / (R * sin(angle)));
    pose start = {.w = {0.0, 0.0, 0.0}};
    tilt(angle, start.quaternion);
    start.w[1] = 0.0, start.w[2] = 0.02 * precession;
    start.w[1] += precession * sin(angle) * cos(angle), start.w[2] += precession * sin(angle) * sin(angle);
    compare(&disk, CAL_CYLINDER, start, 1.0, 1e-4, 1e-6, "Euler's disk");
}

// Below ten degrees points of the whole rim are near, and the contact goes from one to the next. A step of the first order pressed on those that it
// comes to: 5 % of the energy were lost. On a flat one as well, whose rim rises by a thousandth of its radius.
static void flat_disks_lose_nothing(void** unused) {
    (void)unused;
    const double R = 0.1, h = 0.002, m = 0.44;
    const roller disk = {
        m, {m * (R * R / 4 + h * h / 3), m * (R * R / 4 + h * h / 3), m * R * R / 2}, rim_arm, {R, h}, 0.0};
    for (int i = 0; i < 2; i++) {
        const double angle = i == 0 ? 0.16 : 0.05, precession = sqrt(4.0 * pull / (R * sin(angle)));
        pose start = {.w = {0.0, 0.0, 0.0}};
        tilt(angle, start.quaternion);
        start.w[1] = precession * sin(angle) * cos(angle), start.w[2] = precession * sin(angle) * sin(angle);
        start.w[2] += 0.01 * precession;
        compare(&disk, CAL_CYLINDER, start, 0.5, 1e-4, 1e-6, "flat disk");
    }
}

// A large top on a fine tip, which turns far in a step: of the first order, it lifts it.
static void a_large_top_stays_on_the_floor(void** unused) {
    (void)unused;
    const roller top = {500.0, {26.0, 26.0, 12.5}, tip_arm, {0.015}, 0.63};
    pose start = {.w = {0.6, 0.0, 0.0}};
    tilt(0.58, start.quaternion);
    start.w[1] = 113.0 * sin(0.58), start.w[2] = -113.0 * cos(0.58) - 2.0;
    compare(&top, CAL_SPHERE, start, 0.5, 1e-6, 1e-6, "large top");
}

static void a_rattleback_turns_back(void** unused) {
    (void)unused;
    const double m = 0.1, a[3] = {0.1, 0.025, 0.02};
    const roller egg = {
        m,
        {m * (a[1] * a[1] + a[2] * a[2]) / 5, m * (a[0] * a[0] + a[2] * a[2]) / 5, m * (a[0] * a[0] + a[1] * a[1]) / 5},
        egg_arm,
        {a[0], a[1], a[2]},
        0.1};
    pose start = {.w = {0.05, 0.0, 3.0}};
    tilt(0.02, start.quaternion);
    compare(&egg, CAL_ELLIPSOID, start, 1.0, 1e-4, 1e-6, "rattleback");
}

// --- Against something ----------------------------------------------------------------------------------------------------------

// A body with one shape of a friction of 2; velocity and spin in the plane y = 0.
typedef struct thing {
    cal_body_motion motion;
    cal_shape_kind kind;
    double size[3], x, z, velocity[2], spin, restitution;
    const cal_mesh_def* mesh;
    cal_path_function* path;
    double path_speed;
} thing;

static cal_body_id add_thing(cal_world* world, const thing* t) {
    cal_world_body_def def = cal_default_world_body_def();
    cal_shape_def shape = cal_default_shape_def();
    cal_error error = {CAL_OK, ""};
    cal_body_id id;
    def.motion = t->motion;
    def.position[0] = t->x, def.position[2] = t->z;
    def.velocity[0] = t->velocity[0], def.velocity[2] = t->velocity[1], def.angular_velocity[1] = t->spin;
    def.path = t->path, def.path_speed = t->path_speed;
    shape.kind = t->kind, shape.friction = 2.0, shape.restitution = t->restitution;
    memcpy(shape.size, t->size, sizeof shape.size);
    if (t->kind == CAL_CYLINDER) shape.quaternion[0] = shape.quaternion[1] = sqrt(0.5);
    if (cal_world_add_body(world, &def, &id, &error) != CAL_OK ||
        cal_world_add_shape(world, id, &shape, t->mesh, &error) != CAL_OK)
        fail_msg("%s", error.text);
    return id;
}

static cal_world* rolling_world(double tolerance, double rollbacks, double restitution, cal_body_id* floor) {
    cal_world_def def = cal_default_world_def();
    def.group_tolerance = tolerance, def.forced_rollbacks = rollbacks, def.seed = 7;
    cal_world* world = cal_test_world(&def);
    *floor = add_thing(world, &(thing){.motion = CAL_FIXED, .kind = CAL_PLANE, .restitution = restitution});
    return world;
}

// Advances and looks at the energy on the way, which nothing may add to.
static void roll_on(cal_world* world, double time, const char* name) {
    double last = (double)INFINITY;
    for (int i = 0; i <= 50; i++) {
        cal_test_advance(world, time * i / 50.0);
        const cal_world_report report = cal_test_report(world);
        const double energy = report.kinetic + report.potential;
        cal_test_expect_below(energy - last, 1e-9 * energy, "energy that came in", name);
        last = energy;
    }
}

static const double wheel_radius = 0.1;

// The speed of a wheel on a step that it rolled against, as the head of this file says.
static double speed_on_step(double k, double height, double speed) {
    const double R = wheel_radius, spin = speed / R * (1.0 - height / ((k + 1.0) * R));
    if (spin * spin * R > pull * (R - height) / R) return R * spin * (k + 1.0 - height / R) / (k + 1.0);
    return R * sqrt(spin * spin - 2.0 * pull * height / ((k + 1.0) * R * R));
}

static uint64_t climb(cal_shape_kind kind, double height, double speed, double side, double tolerance,
                      double rollbacks) {
    const double R = wheel_radius;
    cal_body_id floor;
    cal_world* world = rolling_world(tolerance, rollbacks, 0.0, &floor);
    const cal_body_id step = add_thing(world, &(thing){.motion = CAL_FIXED,
                                                       .kind = CAL_BOX,
                                                       .size = {2.0, 1.0, 0.5},
                                                       .x = side * (2.0 + 3.0 * R),
                                                       .z = height - 0.5});
    cal_world_ignore_pair(world, floor, step);
    const cal_body_id wheel = add_thing(world, &(thing){.motion = CAL_MOVING,
                                                        .kind = kind,
                                                        .size = {R, 0.3 * R},
                                                        .z = R,
                                                        .velocity = {side * speed, 0.0},
                                                        .spin = side * speed / R});
    roll_on(world, 3.0 * R / speed + 0.5, "wheel against a step");
    double x[3], u[3];
    cal_world_get_body(world, wheel, x, NULL, u, NULL);
    const double expected = speed_on_step(kind == CAL_SPHERE ? 0.4 : 0.5, height, speed);
    cal_test_expect_below(fabs(side * u[0] / expected - 1.0), 1e-5, "speed", "wheel on a step");
    cal_test_expect_below(fabs(x[2] - R - height), 3e-6 * R, "height", "wheel on a step");
    const uint64_t hash = cal_test_report(world).hash;
    cal_world_destroy(world);
    return hash;
}

static void wheels_climb_steps(void** unused) {
    (void)unused;
    const double tolerances[] = {1e-3, 1e-4, 1e-6};
    // Two that stay at the edge, and two that fly.
    const double runs[][2] = {{0.01, 0.6}, {0.002, 0.3}, {0.01, 1.5}, {0.03, 2.5}};
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
            climb(CAL_CYLINDER, runs[i][0], runs[i][1], k == 1 ? -1.0 : 1.0, tolerances[k], 0.0);
            climb(CAL_SPHERE, runs[i][0], runs[i][1], k == 2 ? -1.0 : 1.0, tolerances[k], 0.0);
        }
}

// The same on a plank that lies on six boxes, eight bodies in one contact group; the step is a part of the plank.
static uint64_t climb_on_plank(cal_shape_kind kind, double height, double speed, double tolerance, double rollbacks) {
    const double R = wheel_radius, half = 0.05, top = 0.3;
    cal_world_def settings = cal_default_world_def();
    settings.group_tolerance = tolerance, settings.forced_rollbacks = rollbacks;
    settings.friction = 2.0, settings.restitution = 0.0;
    cal_world* world = cal_test_world(&settings);
    cal_test_add_floor(world);
    for (int i = 0; i < 6; i++) {
        cal_world_body_def leg = cal_default_world_body_def();
        leg.position[0] = i / 2 - 1.0, leg.position[1] = i % 2 == 0 ? -0.3 : 0.3, leg.position[2] = 0.1;
        leg.density = 1000.0;
        cal_test_add(world, &leg, CAL_BOX, 0.1, 0.1, 0.1);
    }
    cal_world_body_def def = cal_default_world_body_def();
    def.position[2] = top - half, def.density = 1000.0;
    const cal_body_id plank = cal_test_add(world, &def, CAL_BOX, 1.3, 0.5, half);
    cal_shape_def step = cal_default_shape_def();
    cal_error error = {CAL_OK, ""};
    step.kind = CAL_BOX;
    step.size[0] = 0.5, step.size[1] = 0.5, step.size[2] = 0.5 * height;
    step.position[0] = 0.8, step.position[2] = half + 0.5 * height;
    if (cal_world_add_shape(world, plank, &step, NULL, &error) != CAL_OK) fail_msg("%s", error.text);
    const cal_body_id wheel = add_thing(world, &(thing){.motion = CAL_MOVING,
                                                        .kind = kind,
                                                        .size = {R, 0.3 * R},
                                                        .z = top + R,
                                                        .velocity = {speed, 0.0},
                                                        .spin = speed / R});
    roll_on(world, 3.0 * R / speed + 0.5, "wheel on a plank");
    double x[3], u[3];
    cal_world_get_body(world, wheel, x, NULL, u, NULL);
    const double expected = speed_on_step(kind == CAL_SPHERE ? 0.4 : 0.5, height, speed);
    cal_test_expect_below(fabs(u[0] / expected - 1.0), 1e-5, "speed", "wheel on a step on a plank");
    cal_test_expect_below(fabs(x[2] - top - R - height), 3e-6 * R, "height", "wheel on a step on a plank");
    const cal_world_report report = cal_test_report(world);
    assert_true(report.largest_group == 8);
    cal_world_destroy(world);
    return report.hash;
}

static void wheels_climb_steps_in_large_groups(void** unused) {
    (void)unused;
    const double runs[][2] = {{0.01, 0.6}, {0.01, 1.5}, {0.03, 2.5}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        climb_on_plank(CAL_CYLINDER, runs[i][0], runs[i][1], 1e-4, 0.0);
        climb_on_plank(CAL_SPHERE, runs[i][0], runs[i][1], 1e-6, 0.0);
    }
    const uint64_t hash = climb_on_plank(CAL_CYLINDER, 0.01, 0.6, 1e-4, 0.0);
    assert_int_equal(climb_on_plank(CAL_CYLINDER, 0.01, 0.6, 1e-4, 0.2), hash);
}

static void rollbacks_change_no_climb(void** unused) {
    (void)unused;
    const uint64_t hash = climb(CAL_CYLINDER, 0.01, 0.6, 1.0, 1e-4, 0.0);
    assert_int_equal(climb(CAL_CYLINDER, 0.01, 0.6, 1.0, 1e-4, 0.05), hash);
    assert_int_equal(climb(CAL_CYLINDER, 0.01, 0.6, 1.0, 1e-4, 0.5), hash);
}

static const double step_speed = 1.2, step_height = 0.01;

static void come(double time, double position[3], double quaternion[4], double velocity[3], double angular_velocity[3],
                 void* user) {
    (void)user;
    memset(velocity, 0, 3 * sizeof *velocity);
    memset(angular_velocity, 0, 3 * sizeof *angular_velocity);
    memset(quaternion, 0, 4 * sizeof *quaternion);
    velocity[0] = -step_speed, quaternion[0] = 1.0;
    position[0] = 1.3 - step_speed * time, position[1] = 0.0, position[2] = step_height - 0.5;
}

// As seen from the step, a wheel that does not turn comes: it keeps m V (R − h).
static void a_step_that_comes_lifts_a_wheel(void** unused) {
    (void)unused;
    const double R = wheel_radius, k = 0.5;
    cal_body_id floor;
    cal_world* world = rolling_world(1e-4, 0.0, 0.0, &floor);
    const cal_body_id step = add_thing(
        world,
        &(thing){
            .motion = CAL_DRIVEN, .kind = CAL_BOX, .size = {1.0, 1.0, 0.5}, .path = come, .path_speed = step_speed});
    cal_world_ignore_pair(world, floor, step);
    const cal_body_id wheel =
        add_thing(world, &(thing){.motion = CAL_MOVING, .kind = CAL_CYLINDER, .size = {R, 0.05}, .z = R});
    cal_test_advance(world, 0.75);
    const double spin = step_speed * (R - step_height) / ((k + 1.0) * R * R),
                 expected = sqrt(spin * spin - 2.0 * pull * step_height / ((k + 1.0) * R * R));
    double u[3], w[3];
    cal_world_get_body(world, wheel, NULL, NULL, u, w);
    cal_test_expect_below(fabs(w[1] / expected - 1.0), 1e-5, "spin", "wheel on a step that comes");
    cal_test_expect_below(fabs(u[0] + step_speed - R * expected), 1e-5, "speed", "wheel on a step that comes");
    cal_world_destroy(world);
}

// Of a prism of n sides with the corners at R each edge that lands is an impact about it: ω' (I + m R²) = ω (I + m R² cos 2π/n), with
// I = m R² (2 + cos 2π/n) / 6. Between two impacts its energy is kept. It rolls so slowly that it never flies.
static void a_prism_rolls_from_edge_to_edge(void** unused) {
    (void)unused;
    enum { SIDES = 12 };
    const double R = wheel_radius, half = acos(-1.0) / SIDES, k = (2.0 + cos(2.0 * half)) / 6.0, first = 9.0,
                 kept = (k + cos(2.0 * half)) / (k + 1.0), step = 1e-5, time = 0.4;
    double corners[2 * SIDES][3];
    for (int i = 0; i < 2 * SIDES; i++) {
        const int side = i / 2;
        const double angle = (2 * side + 1) * half;
        corners[i][0] = R * sin(angle), corners[i][1] = i % 2 == 0 ? 0.05 : -0.05, corners[i][2] = -R * cos(angle);
    }
    cal_mesh_def mesh = cal_default_mesh_def();
    mesh.vertices = &corners[0][0], mesh.vertex_count = 2 * SIDES;
    cal_body_id floor;
    cal_world* world = rolling_world(1e-4, 0.0, 0.0, &floor);
    const cal_body_id prism = add_thing(world, &(thing){.motion = CAL_MOVING,
                                                        .kind = CAL_MESH,
                                                        .mesh = &mesh,
                                                        .z = R * cos(half),
                                                        .velocity = {first * R * cos(half), first * R * sin(half)},
                                                        .spin = first});
    cal_test_advance(world, time);
    double spin = first, angle = -half, w[3];
    int impacts = 0;
    for (int i = 0; i < (int)(time / step + 0.5); i++) { // leapfrog
        spin += 0.5 * step * pull * sin(angle) / ((k + 1.0) * R);
        angle += step * spin;
        if (angle > half) { // back to the impact
            const double late = (angle - half) / spin;
            spin *= kept, angle = -half + late * spin;
            impacts++;
        }
        spin += 0.5 * step * pull * sin(angle) / ((k + 1.0) * R);
    }
    assert_true(impacts == 5);
    cal_world_get_body(world, prism, NULL, NULL, NULL, w);
    cal_test_expect_below(fabs(w[1] / spin - 1.0), 1e-4, "spin", "prism");
    cal_world_destroy(world);
}

// The wall turns a ball's spin into a hop, v_z = 2/7 v, and leaves 2/7 of it; the floor makes rolling of that and of −e v.
static void a_ball_rolls_against_a_wall(void** unused) {
    (void)unused;
    const double R = wheel_radius, speed = 1.0, restitution = 0.5;
    for (int k = 0; k < 2; k++) {
        cal_body_id floor;
        cal_world* world = rolling_world(k == 0 ? 1e-4 : 1e-6, 0.0, restitution, &floor);
        add_thing(
            world,
            &(thing){
                .motion = CAL_FIXED, .kind = CAL_BOX, .size = {0.5, 1.0, 1.0}, .x = 1.0, .restitution = restitution});
        const cal_body_id ball = add_thing(world, &(thing){.motion = CAL_MOVING,
                                                           .kind = CAL_SPHERE,
                                                           .size = {R},
                                                           .z = R,
                                                           .velocity = {speed, 0.0},
                                                           .spin = speed / R,
                                                           .restitution = restitution});
        roll_on(world, 0.8, "ball against a wall");
        double u[3];
        cal_world_get_body(world, ball, NULL, NULL, u, NULL);
        cal_test_expect_below(fabs(u[0] + (5.0 * restitution - 4.0 / 7.0) / 7.0 * speed), 1e-6, "speed",
                              "ball against a wall");
        cal_world_destroy(world);
    }
}

// What turns on an edge or a tip and slides by next to nothing, where friction turns what it slides by around in less than a step: explicit steps
// were as short as their stability asked for, 120,000 of a disk and 7400 of an ellipsoid, and rejected again and again.
static void what_hardly_slides_takes_few_steps(void** unused) {
    (void)unused;
    const struct {
        cal_shape_kind kind;
        double size[3], friction, quaternion[4], velocity[2], spin[3]; // in its axes
    } bodies[] = {
        {CAL_CYLINDER,
         {0.06, 0.01, 0.0},
         0.5,
         {0.971502, -0.155861, 0.178584, 0.0},
         {-0.918843, 0.408109},
         {-0.347968, -0.729592, 0.386918}},
        {CAL_ELLIPSOID,
         {0.06, 0.04, 0.05},
         0.2,
         {0.998112, -0.0386567, 0.0477253, 0.0},
         {0.53727, -0.223082},
         {4.1046, -11.7401, 3.7648}},
    };
    for (int i = 0; i < 2; i++) {
        cal_world_def def = cal_default_world_def();
        def.friction = bodies[i].friction;
        def.restitution = 0.0;
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        cal_world_body_def body = cal_default_world_body_def();
        body.position[2] = 0.12;
        memcpy(body.quaternion, bodies[i].quaternion, sizeof body.quaternion);
        memcpy(body.velocity, bodies[i].velocity, sizeof bodies[i].velocity);
        double R[9];
        cal_quaternion_matrix(body.quaternion, R);
        for (int k = 0; k < 3; k++) body.angular_velocity[k] = cal_dot3(R + 3 * k, bodies[i].spin);
        cal_test_add(world, &body, bodies[i].kind, bodies[i].size[0], bodies[i].size[1], bodies[i].size[2]);
        cal_test_advance(world, 1.5);
        const cal_world_report report = cal_test_report(world);
        cal_test_expect_below((double)(report.group_steps + report.group_rejected), 2000.0, "steps", "a slow slide");
        cal_world_destroy(world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_top_spins),
        cmocka_unit_test(a_disk_rolls),
        cmocka_unit_test(eulers_disk_settles_as_its_equations_say),
        cmocka_unit_test(flat_disks_lose_nothing),
        cmocka_unit_test(a_large_top_stays_on_the_floor),
        cmocka_unit_test(a_rattleback_turns_back),
        cmocka_unit_test(wheels_climb_steps),
        cmocka_unit_test(wheels_climb_steps_in_large_groups),
        cmocka_unit_test(rollbacks_change_no_climb),
        cmocka_unit_test(a_step_that_comes_lifts_a_wheel),
        cmocka_unit_test(a_prism_rolls_from_edge_to_edge),
        cmocka_unit_test(a_ball_rolls_against_a_wall),
        cmocka_unit_test(what_hardly_slides_takes_few_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
