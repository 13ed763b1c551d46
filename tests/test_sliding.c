// What begins to slide, ceases to, or hardly does, in a contact group of one body: at any tolerance it goes as Coulomb's law says. Compared with an
// integration that knows nothing of contacts. With ρ from the centre of mass to the lowest point, s = (u + ω × ρ) across, and F what acts there,
//
//     m u̇ = m g + F,    I ω̇ + ω × I ω = ρ × F,    (u + ω × ρ)_z = 0
//
// where F holds s = 0 as long as that takes no more across than μ F_z, and goes against the sliding else: F = F_z (e_z − μ s / |s|), and where it
// begins, when s has no direction yet, as it did before.
#include "math/vector.h"
#include "support_world.h"
#include <math.h>
#include <string.h>

static const double pull = 9.81;

typedef struct slider {
    cal_shape_kind kind;
    double size[3], mass, inertia[3], friction;
    bool slides;
    double way[3]; // of friction, where it has just begun to slide
    int changes;   // between sticking and sliding
} slider;

typedef struct pose {
    double quaternion[4], w[3], x[3], u[3];
} pose;

// The lowest point: of an ellipsoid, or of a capsule, that of the ball at its lower end.
static void find_arm(const slider* k, const double R[9], double out[3]) {
    const double *n = R + 6, *a = k->size;
    if (k->kind == CAL_CAPSULE) {
        for (int i = 0; i < 3; i++) out[i] = -(n[2] > 0.0 ? 1.0 : -1.0) * a[1] * R[3 * i + 2] - (i == 2 ? a[0] : 0.0);
        return;
    }
    double square = 0.0;
    for (int c = 0; c < 3; c++) square += a[c] * a[c] * n[c] * n[c];
    for (int i = 0; i < 3; i++) {
        out[i] = 0.0;
        for (int c = 0; c < 3; c++) out[i] -= R[3 * i + c] * a[c] * a[c] * n[c] / sqrt(square);
    }
}

// What a body does at a pose: its arm, how fast that changes, I⁻¹, −ω × I ω, and the velocity of its lowest point.
typedef struct look {
    double rho[3], rho_dot[3], inverse[9], spin[3], s[3];
} look;

static void look_at(const slider* k, const pose* p, look* out) {
    const double h = 1e-6 / (1.0 + sqrt(cal_dot3(p->w, p->w)));
    double R[9], q[4], S[9], ahead[3], behind[3], I[9] = {0}, Iw[3], c[3];
    cal_quaternion_matrix(p->quaternion, R);
    find_arm(k, R, out->rho);
    cal_test_turn(p->quaternion, p->w, h, q);
    cal_quaternion_matrix(q, S);
    find_arm(k, S, ahead);
    cal_test_turn(p->quaternion, p->w, -h, q);
    cal_quaternion_matrix(q, S);
    find_arm(k, S, behind);
    for (int i = 0; i < 3; i++) out->rho_dot[i] = (ahead[i] - behind[i]) / (2.0 * h);
    memset(out->inverse, 0, sizeof out->inverse);
    for (int a = 0; a < 9; a++)
        for (int n = 0; n < 3; n++) {
            I[a] += R[a / 3 * 3 + n] * k->inertia[n] * R[a % 3 * 3 + n];
            out->inverse[a] += R[a / 3 * 3 + n] / k->inertia[n] * R[a % 3 * 3 + n];
        }
    cal_rotate3(I, p->w, Iw);
    cal_cross3(Iw, p->w, out->spin);
    cal_cross3(p->w, out->rho, c);
    for (int i = 0; i < 3; i++) out->s[i] = p->u[i] + c[i];
}

// The acceleration of the point at the arm by a force there, and ω̇.
static void answer(const slider* k, const look* at, const double force[3], double point[3], double w_dot[3]) {
    double torque[3], c[3];
    cal_cross3(at->rho, force, torque);
    cal_rotate3(at->inverse, torque, w_dot);
    cal_cross3(w_dot, at->rho, c);
    for (int i = 0; i < 3; i++) point[i] = force[i] / k->mass + c[i];
}

// The force at the lowest point; what it would be where nothing slides, too.
static void find_force(const slider* k, const pose* p, const look* at, double force[3], double sticking[3]) {
    double W[9], free[3], w_dot[3], c[3], d[3];
    for (int n = 0; n < 3; n++) {
        const double unit[3] = {n == 0, n == 1, n == 2};
        double column[3];
        answer(k, at, unit, column, w_dot);
        for (int i = 0; i < 3; i++) W[3 * i + n] = column[i];
    }
    // What u + ω × ρ does without a force.
    cal_rotate3(at->inverse, at->spin, w_dot);
    cal_cross3(w_dot, at->rho, c);
    cal_cross3(p->w, at->rho_dot, d);
    for (int i = 0; i < 3; i++) free[i] = c[i] + d[i] - (i == 2 ? pull : 0.0);
    double minors[3][3];
    const double x[3] = {W[0], W[3], W[6]}, y[3] = {W[1], W[4], W[7]}, z[3] = {W[2], W[5], W[8]};
    cal_cross3(y, z, minors[0]);
    cal_cross3(z, x, minors[1]);
    cal_cross3(x, y, minors[2]);
    for (int i = 0; i < 3; i++) sticking[i] = -cal_dot3(free, minors[i]) / cal_dot3(x, minors[0]);
    memcpy(force, sticking, 3 * sizeof *force);
    if (!k->slides) return;
    const double speed = sqrt(at->s[0] * at->s[0] + at->s[1] * at->s[1]),
                 least = 1e-9 * sqrt(cal_dot3(p->u, p->u) + cal_dot3(at->rho, at->rho) * cal_dot3(p->w, p->w));
    double f[3] = {k->friction * k->way[0], k->friction * k->way[1], 1.0};
    for (int i = 0; i < 2 && speed > least; i++) f[i] = -k->friction * at->s[i] / speed;
    const double N = -free[2] / (W[6] * f[0] + W[7] * f[1] + W[8]);
    for (int i = 0; i < 3; i++) force[i] = N * f[i];
}

static void find_rates(const slider* k, const pose* p, double w_dot[3], double u_dot[3]) {
    look at;
    double force[3], sticking[3], torque[3];
    look_at(k, p, &at);
    find_force(k, p, &at, force, sticking);
    cal_cross3(at.rho, force, torque);
    for (int i = 0; i < 3; i++) torque[i] += at.spin[i];
    cal_rotate3(at.inverse, torque, w_dot);
    for (int i = 0; i < 3; i++) u_dot[i] = force[i] / k->mass - (i == 2 ? pull : 0.0);
}

static void step(const slider* k, pose* p, double h) {
    static const double at[4] = {0.0, 0.5, 0.5, 1.0}, share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    const pose begin = *p;
    double q_dot[4] = {0}, w_dot[3] = {0}, u_dot[3] = {0}, u[3] = {0};
    pose sum = begin;
    for (int n = 0; n < 4; n++) {
        pose stage = begin;
        for (int i = 0; i < 4; i++) stage.quaternion[i] += h * at[n] * q_dot[i];
        for (int i = 0; i < 3; i++)
            stage.w[i] += h * at[n] * w_dot[i], stage.u[i] += h * at[n] * u_dot[i], u[i] = stage.u[i];
        const double half[4] = {0.0, 0.5 * stage.w[0], 0.5 * stage.w[1], 0.5 * stage.w[2]};
        cal_quaternion_multiply(half, stage.quaternion, q_dot);
        cal_quaternion_normalize(stage.quaternion);
        find_rates(k, &stage, w_dot, u_dot);
        for (int i = 0; i < 4; i++) sum.quaternion[i] += h * share[n] * q_dot[i];
        for (int i = 0; i < 3; i++)
            sum.w[i] += h * share[n] * w_dot[i], sum.u[i] += h * share[n] * u_dot[i], sum.x[i] += h * share[n] * u[i];
    }
    *p = sum;
    cal_quaternion_normalize(p->quaternion);
}

// Steps are short beside what friction takes to turn what slides.
static void follow(slider* k, pose* p, double time, double longest) {
    for (double t = 0.0; t < time;) {
        look before, after;
        double force[3], sticking[3], h = fmin(longest, time - t);
        look_at(k, p, &before);
        find_force(k, p, &before, force, sticking);
        const double across = sqrt(sticking[0] * sticking[0] + sticking[1] * sticking[1]),
                     speed = sqrt(before.s[0] * before.s[0] + before.s[1] * before.s[1]);
        if (!k->slides && across > k->friction * sticking[2]) {
            k->slides = true, k->changes++;
            for (int i = 0; i < 2; i++) k->way[i] = sticking[i] / across;
        }
        if (k->slides) h = fmin(h, fmax(0.2 * speed / (k->friction * pull), 1e-3 * longest));
        step(k, p, h);
        t += h;
        look_at(k, p, &after);
        // It has turned round, and may stay.
        if (k->slides && before.s[0] * after.s[0] + before.s[1] * after.s[1] < 0.0) {
            find_force(k, p, &after, force, sticking);
            if (sqrt(sticking[0] * sticking[0] + sticking[1] * sticking[1]) < k->friction * sticking[2])
                k->slides = false, k->changes++;
        }
    }
}

static slider make_ellipsoid(double a, double b, double c, double friction) {
    const double mass = 1000.0 * 4.0 / 3.0 * 3.14159265358979323846 * a * b * c;
    return (slider){
        .kind = CAL_ELLIPSOID,
        .size = {a, b, c},
        .mass = mass,
        .inertia = {mass * (b * b + c * c) / 5.0, mass * (a * a + c * c) / 5.0, mass * (a * a + b * b) / 5.0},
        .friction = friction};
}

static slider make_capsule(double r, double l, double friction) {
    const double pi = 3.14159265358979323846, shaft = 2000.0 * l * pi * r * r, ends = 4000.0 / 3.0 * pi * r * r * r,
                 across = shaft * (r * r / 4.0 + l * l / 3.0) + ends * (0.4 * r * r + l * l + 0.75 * l * r);
    return (slider){.kind = CAL_CAPSULE,
                    .size = {r, l, 0.0},
                    .mass = shaft + ends,
                    .inertia = {across, across, shaft * r * r / 2.0 + ends * 0.4 * r * r},
                    .friction = friction};
}

// A body that is turned by an angle about an axis across, and spins; it rolls at the start, or slides: its centre rests.
static void compare(slider k, double tilt, const double axis[2], const double w[3], bool rolls, double time,
                    const double allowed[3]) {
    static const double tolerances[3] = {1e-4, 1e-6, 1e-8};
    pose start = {.quaternion = {cos(0.5 * tilt), sin(0.5 * tilt) * axis[0], sin(0.5 * tilt) * axis[1], 0.0},
                  .w = {w[0], w[1], w[2]}};
    double R[9], rho[3], c[3];
    cal_quaternion_matrix(start.quaternion, R);
    find_arm(&k, R, rho);
    cal_cross3(w, rho, c);
    start.x[2] = -rho[2];
    for (int i = 0; i < 3; i++) start.u[i] = rolls ? -c[i] : 0.0;
    k.slides = !rolls;
    pose end = start;
    follow(&k, &end, time, 2e-5);
    assert_int_equal(k.changes, 1);
    for (int n = 0; n < 3; n++) {
        cal_world_def def = cal_default_world_def();
        def.friction = k.friction, def.restitution = 0.0;
        def.group_tolerance = tolerances[n];
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        cal_world_body_def body = cal_default_world_body_def();
        memcpy(body.position, start.x, sizeof body.position);
        memcpy(body.quaternion, start.quaternion, sizeof body.quaternion);
        memcpy(body.velocity, start.u, sizeof body.velocity);
        memcpy(body.angular_velocity, start.w, sizeof body.angular_velocity);
        const cal_body_id id = cal_test_add(world, &body, k.kind, k.size[0], k.size[1], k.size[2]);
        cal_test_advance(world, time);
        double position[3], spin[3], away = 0.0, other = 0.0;
        assert_int_equal(cal_world_get_body(world, id, position, NULL, NULL, spin), CAL_OK);
        for (int i = 0; i < 3; i++) {
            away = fmax(away, fabs(position[i] - end.x[i]) / k.size[0]);
            other = fmax(other, fabs(spin[i] - end.w[i]));
        }
        cal_test_expect_below(away, allowed[n], "its place is off by",
                              k.kind == CAL_CAPSULE ? "a capsule" : "an ellipsoid");
        cal_test_expect_below(other, 10.0 * allowed[n], "its spin is off by",
                              k.kind == CAL_CAPSULE ? "a capsule" : "an ellipsoid");
        cal_world_destroy(world);
    }
}

// It spins, wobbles, and slides until it rolls.
static void an_ellipsoid_that_hardly_slides(void** unused) {
    (void)unused;
    const double allowed[3] = {5e-3, 1e-5, 1e-5};
    compare(make_ellipsoid(0.0742349, 0.0680891, 0.0326318, 1.0), 0.187496, (double[]){0.6, 0.8},
            (double[]){0.0, 0.0, 12.2638}, false, 1.0, allowed);
    compare(make_ellipsoid(0.0829952, 0.0459773, 0.0258349, 1.0), 0.0755961, (double[]){0.6, 0.8},
            (double[]){0.0, 0.0, -11.0294}, false, 1.0, allowed);
}

// It rolls on its lower end, which begins to slide as it falls.
static void a_capsule_that_falls_over_while_it_spins(void** unused) {
    (void)unused;
    const double allowed[3] = {5e-4, 2e-5, 2e-5};
    for (int i = 0; i < 3; i++)
        compare(make_capsule(0.02, 0.05, 0.3 + 0.2 * i), 0.0951098, (double[]){1.0, 0.0},
                (double[]){9.0406, -2.8233, 7.1205}, true, 0.1, allowed);
}

// --- On an edge ---------------------------------------------------------------------------------------------------------------

// A box on its lower edge, which is at x: ψ is the angle of the way from there to its centre, r long, with the vertical. Its mass is one, and I its moment. It sticks,
// with I + r² about the edge, as long as the friction μ holds it, and slides from there on:
//
//     ψ̈ (I + r² sin ψ (sin ψ + μ s cos ψ)) = r (sin ψ + μ s cos ψ) (g − r ψ̇² cos ψ),    ẍ_c = −μ s (g + z̈_c)       s: which way it slides
typedef struct edge {
    double x[2], psi[2]; // and their rates
    double r, inertia, friction, slides;
} edge;

static double turning(const edge* e) {
    const double sine = sin(e->psi[0]), cosine = cos(e->psi[0]), lever = sine + e->friction * e->slides * cosine;
    if (e->slides == 0.0) return pull * e->r * sine / (e->inertia + e->r * e->r);
    return e->r * lever * (pull - e->r * e->psi[1] * e->psi[1] * cosine) / (e->inertia + e->r * e->r * sine * lever);
}

// Of the edge: the centre's, less what turning gives it.
static double sliding_of(const edge* e, double turn) {
    const double sine = sin(e->psi[0]), cosine = cos(e->psi[0]), square = e->psi[1] * e->psi[1],
                 press = pull - e->r * (turn * sine + square * cosine);
    return e->slides == 0.0 ? 0.0 : -e->friction * e->slides * press - e->r * (turn * cosine - square * sine);
}

static void fall_on(edge* e, double h) {
    const double turn = turning(e), slide = sliding_of(e, turn);
    edge middle = *e;
    for (int i = 0; i < 2; i++) {
        middle.psi[i] += 0.5 * h * (i == 0 ? e->psi[1] : turn);
        middle.x[i] += 0.5 * h * (i == 0 ? e->x[1] : slide);
    }
    const double later = turning(&middle), away = sliding_of(&middle, later);
    e->psi[0] += h * middle.psi[1], e->x[0] += h * middle.x[1];
    e->psi[1] += h * later, e->x[1] += h * away;
    const double sine = sin(e->psi[0]), cosine = cos(e->psi[0]), square = e->psi[1] * e->psi[1], now = turning(e),
                 across = e->r * (now * cosine - square * sine), press = pull - e->r * (now * sine + square * cosine);
    if (e->slides == 0.0 && fabs(across) > e->friction * press) e->slides = across > 0.0 ? -1.0 : 1.0;
}

// Two points of one edge share the friction, nobody knows how; when they slide is known all the same.
static void a_box_that_falls_over_begins_to_slide(void** unused) {
    (void)unused;
    const double a = 0.02, c = 0.2, tilt = 0.15, time = 0.67, h = 1e-5;
    edge e = {.x = {a * cos(tilt) - c * sin(tilt), 0.0},
              .psi = {tilt - atan2(a, c), 0.0},
              .r = sqrt(a * a + c * c),
              .inertia = (a * a + c * c) / 3.0,
              .friction = 1.0};
    for (int i = 0; i < (int)(time / h + 0.5); i++) fall_on(&e, h);
    assert_true(e.slides != 0.0);
    const double tolerances[] = {1e-5, 1e-6}, allowed[] = {2e-5, 2e-6};
    for (int k = 0; k < 2; k++) {
        cal_world_def def = cal_default_world_def();
        def.friction = e.friction, def.restitution = 0.0;
        def.group_tolerance = tolerances[k];
        cal_world* world = cal_test_world(&def);
        cal_test_add_floor(world);
        cal_world_body_def body = cal_default_world_body_def();
        body.quaternion[0] = cos(0.5 * tilt), body.quaternion[2] = sin(0.5 * tilt);
        body.position[2] = c * cos(tilt) + a * sin(tilt) + 1e-9;
        const cal_body_id box = cal_test_add(world, &body, CAL_BOX, a, 0.1, c);
        cal_test_advance(world, time);
        double x[3], w[3];
        cal_world_get_body(world, box, x, NULL, NULL, w);
        cal_test_expect_below(fabs(x[0] - e.x[0] - e.r * sin(e.psi[0])), allowed[k], "way", "a box on its edge");
        cal_test_expect_below(fabs(w[1] - e.psi[1]), 1e-3, "spin", "a box on its edge");
        cal_world_destroy(world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_that_falls_over_begins_to_slide),
        cmocka_unit_test(an_ellipsoid_that_hardly_slides),
        cmocka_unit_test(a_capsule_that_falls_over_while_it_spins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
