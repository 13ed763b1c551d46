// Books that the engine does not keep: a few bodies fly, hit each other and the walls of a room. What they do between two collisions, and what
// each impulse must be, is found here in long double from Newton's and Euler's equations and from the law of impact as it was published
// (Chatterjee and Ruina, A New Algebraic Rigid-Body Collision Law Based on Impulse Space Considerations, 1998), with nothing of the engine
// but the times, points, normals and impulses that it tells.
#include "support_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WALLS = 6, MOVING = 4, BODIES = WALLS + MOVING, MOST_RECORDS = 4000 };
static const double half_room = 0.6, density = 1000.0;

typedef long double number;

// --- What the engine tells --------------------------------------------------------------------------------------------------

// A collision as a callback sees it: the impulse on the first body, which is the one that it was registered for, and where both are after it.
typedef struct record {
    double time, impulse[3];
    int body[2];
    double x[2][3], q[2][4], v[2][3], w[2][3];
} record;

typedef struct told {
    record records[MOST_RECORDS];
    int count;
} told;

static void note(cal_callback_context* view, const double impulse[3], void* user) {
    told* t = user;
    assert_true(t->count < MOST_RECORDS);
    record* r = &t->records[t->count++];
    r->time = cal_callback_time(view);
    memcpy(r->impulse, impulse, sizeof r->impulse);
    for (int k = 0; k < 2; k++) {
        r->body[k] = cal_callback_id(view, k).index;
        cal_callback_body(view, k, r->x[k], r->q[k], r->v[k], r->w[k]);
    }
}

// Two bodies may collide twice at one time, at two points of theirs.
static bool is_of(const record* r, const cal_world_event* event, int first) {
    const double *P = r->impulse, length = sqrt(P[0] * P[0] + P[1] * P[1] + P[2] * P[2]);
    return r->time == event->time && r->body[0] == event->body[first].index &&
           r->body[1] == event->body[1 - first].index && fabs(length - event->impulse) <= 1e-14 * length;
}

// What was told of a collision that counts: the last of its time and its bodies; NULL: nothing was.
static const record* find(const told* t, const cal_world_event* event) {
    for (int i = t->count - 1; i >= 0; i--)
        if (is_of(&t->records[i], event, 0) || is_of(&t->records[i], event, 1)) return &t->records[i];
    return NULL;
}

// --- Vectors ----------------------------------------------------------------------------------------------------------------

static number dot(const number a[3], const number b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const number a[3], const number b[3], number out[3]) {
    const number c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    memcpy(out, c, sizeof c);
}

// R a of a unit quaternion, or Rᵀ a.
static void rotate(const number q[4], bool back, const number a[3], number out[3]) {
    const number u[3] = {back ? -q[1] : q[1], back ? -q[2] : q[2], back ? -q[3] : q[3]};
    number once[3], twice[3];
    cross(u, a, once);
    cross(u, once, twice);
    for (int i = 0; i < 3; i++) out[i] = a[i] + 2.0L * (q[0] * once[i] + twice[i]);
}

static number largest(const number a[3]) { return fmaxl(fabsl(a[0]), fmaxl(fabsl(a[1]), fabsl(a[2]))); }

// x with A x = b, by elimination with pivots.
static void solve(number A[3][3], const number b[3], number x[3]) {
    number M[3][4];
    for (int i = 0; i < 3; i++) memcpy(M[i], A[i], sizeof A[i]), M[i][3] = b[i];
    for (int c = 0; c < 3; c++) {
        int pivot = c;
        for (int r = c + 1; r < 3; r++)
            if (fabsl(M[r][c]) > fabsl(M[pivot][c])) pivot = r;
        for (int k = 0; k < 4; k++) {
            const number held = M[c][k];
            M[c][k] = M[pivot][k], M[pivot][k] = held;
        }
        for (int r = 0; r < 3; r++) {
            const number factor = r != c ? M[r][c] / M[c][c] : 0.0L;
            for (int k = c; k < 4; k++) M[r][k] -= factor * M[c][k];
        }
    }
    for (int i = 0; i < 3; i++) x[i] = M[i][3] / M[i][i];
}

// --- Bodies and their flight ------------------------------------------------------------------------------------------------

typedef struct body {
    cal_shape_kind kind;
    double size[3];
    number mass, inertia[3]; // of what moves; else zero
    number time, x[3], q[4], v[3], w[3];
} body;

static void weigh(body* b) {
    const number pi = 3.14159265358979323846264338327950288L, x = b->size[0], y = b->size[1], z = b->size[2];
    if (b->kind == CAL_SPHERE) {
        b->mass = 4.0L / 3.0L * pi * x * x * x * density;
        for (int i = 0; i < 3; i++) b->inertia[i] = 0.4L * b->mass * x * x;
        return;
    }
    const bool box = b->kind == CAL_BOX;
    b->mass = (box ? 8.0L : 4.0L / 3.0L * pi) * x * y * z * density;
    const number share = b->mass / (box ? 3.0L : 5.0L);
    b->inertia[0] = share * (y * y + z * z), b->inertia[1] = share * (x * x + z * z);
    b->inertia[2] = share * (x * x + y * y);
}

// Derivatives of the quaternion and of the angular momentum's velocity in body's axes: Euler's equations without a torque.
static void turn_rates(const body* b, const number y[7], number out[7]) {
    const number *q = y, *w = y + 4, *I = b->inertia;
    out[0] = -0.5L * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
    out[1] = 0.5L * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
    out[2] = 0.5L * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
    out[3] = 0.5L * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
    out[4] = (I[1] - I[2]) * w[1] * w[2] / I[0];
    out[5] = (I[2] - I[0]) * w[2] * w[0] / I[1];
    out[6] = (I[0] - I[1]) * w[0] * w[1] / I[2];
}

// Takes a body to a time: a parabola, and Runge and Kutta's fourth order.
static void fly(body* b, number time, number gravity) {
    const number t = time - b->time;
    if (!(b->mass > 0.0L) || t == 0.0L) return;
    for (int i = 0; i < 3; i++) b->x[i] += b->v[i] * t;
    b->x[2] -= 0.5L * gravity * t * t;
    b->v[2] -= gravity * t;
    number y[7], k[4][7], at[7];
    memcpy(y, b->q, sizeof b->q);
    rotate(b->q, true, b->w, y + 4);
    const int steps = 1 + (int)(t * 2000.0L);
    const number h = t / steps;
    for (int n = 0; n < steps; n++) {
        for (int stage = 0; stage < 4; stage++) {
            const number share = stage == 0 ? 0.0L : stage == 3 ? h : 0.5L * h;
            for (int i = 0; i < 7; i++) at[i] = y[i] + (stage > 0 ? share * k[stage - 1][i] : 0.0L);
            turn_rates(b, at, k[stage]);
        }
        for (int i = 0; i < 7; i++) y[i] += h / 6.0L * (k[0][i] + 2.0L * (k[1][i] + k[2][i]) + k[3][i]);
    }
    const number length = sqrtl(y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3]);
    for (int i = 0; i < 4; i++) b->q[i] = y[i] / length;
    rotate(b->q, false, y + 4, b->w);
    b->time = time;
}

static void take(body* b, double time, const double x[3], const double q[4], const double v[3], const double w[3]) {
    number square = 0.0L;
    for (int i = 0; i < 4; i++) square += (number)q[i] * q[i];
    for (int i = 0; i < 4; i++) b->q[i] = q[i] / sqrtl(square);
    for (int i = 0; i < 3; i++) b->x[i] = x[i], b->v[i] = v[i], b->w[i] = w[i];
    b->time = time;
}

// I⁻¹ a, or I a.
static void weigh_turn(const body* b, bool inverse, const number a[3], number out[3]) {
    number own[3];
    rotate(b->q, true, a, own);
    for (int i = 0; i < 3; i++) own[i] = inverse ? own[i] / b->inertia[i] : own[i] * b->inertia[i];
    rotate(b->q, false, own, out);
}

static number kinetic(const body* b) {
    number turning[3];
    if (!(b->mass > 0.0L)) return 0.0L;
    weigh_turn(b, false, b->w, turning);
    return 0.5L * (b->mass * dot(b->v, b->v) + dot(b->w, turning));
}

// How far a point is from the surface, to first order.
static number off_surface(const body* b, const number p[3]) {
    number d[3], own[3];
    for (int i = 0; i < 3; i++) d[i] = p[i] - b->x[i];
    rotate(b->q, true, d, own);
    if (b->kind == CAL_PLANE) return own[2];
    if (b->kind == CAL_SPHERE) return sqrtl(dot(own, own)) - b->size[0];
    number most = -INFINITY, square = 0.0L, slope = 0.0L;
    for (int i = 0; i < 3; i++) {
        const number a = b->size[i];
        most = fmaxl(most, fabsl(own[i]) - a);
        square += own[i] * own[i] / (a * a);
        slope += own[i] * own[i] / (a * a * a * a);
    }
    return b->kind == CAL_BOX ? most : (square - 1.0L) / (2.0L * sqrtl(slope));
}

// --- The books --------------------------------------------------------------------------------------------------------------

typedef struct law {
    double restitution, friction;
} law;

static void expect_small(number error, double bound, const char* what, const char* where) {
    cal_test_expect_below((double)fabsl(error), bound, what, where);
}

// Velocity of a body's point, and K = 1/m − [r]× I⁻¹ [r]× added.
static void look_at_point(const body* b, const number p[3], number u[3], number K[3][3]) {
    number r[3], moved[3];
    memset(u, 0, 3 * sizeof *u);
    if (!(b->mass > 0.0L)) return;
    for (int i = 0; i < 3; i++) r[i] = p[i] - b->x[i];
    cross(b->w, r, moved);
    for (int i = 0; i < 3; i++) u[i] = b->v[i] + moved[i];
    for (int k = 0; k < 3; k++) {
        number unit[3] = {0.0L, 0.0L, 0.0L}, torque[3], change[3], answer[3];
        unit[k] = 1.0L;
        cross(r, unit, torque);
        weigh_turn(b, true, torque, change);
        cross(change, r, answer);
        for (int i = 0; i < 3; i++) K[i][k] += answer[i] + unit[i] / b->mass;
    }
}

// The impulse that the law asks for.
static void find_impulse(number K[3][3], const number n[3], const number u[3], const law* l, number out[3]) {
    number Kn[3], negative[3], sticking[3], rest[3], across[3];
    for (int i = 0; i < 3; i++) Kn[i] = dot(K[i], n), negative[i] = -u[i];
    const number plastic = -dot(n, u) / dot(n, Kn);
    solve(K, negative, sticking);
    for (int i = 0; i < 3; i++) rest[i] = sticking[i] - plastic * n[i];
    const number along = dot(n, rest), pressing = (1.0L + l->restitution) * plastic;
    for (int i = 0; i < 3; i++) across[i] = rest[i] - along * n[i];
    const number sideways = sqrtl(dot(across, across));
    number kappa = 1.0L;
    if (sideways > l->friction * (pressing + along)) kappa = l->friction * pressing / (sideways - l->friction * along);
    for (int i = 0; i < 3; i++) out[i] = pressing * n[i] + kappa * rest[i];
}

// Whether a body meets a plane through p with more than one point: two corners of a box are as near to it as the nearest one, but for little. The
// engine then has an impulse at each of them, and tells of their sum.
static bool meets_flat(const body* b, const number p[3], const number n[3]) {
    const number close = 0.02L * fminl(b->size[0], fminl(b->size[1], b->size[2]));
    number own[3], reach = 0.0L, least = INFINITY, d[3];
    if (b->kind != CAL_BOX) return b->kind == CAL_PLANE;
    rotate(b->q, true, n, own);
    for (int i = 0; i < 3; i++) {
        d[i] = b->x[i] - p[i];
        reach += fabsl(own[i]) * b->size[i];
        least = fminl(least, fabsl(own[i]) * b->size[i]);
    }
    return 2.0L * least < close && fabsl(reach - fabsl(dot(d, n))) < close;
}

// A collision: `before` is where the books have its bodies, `after` where the engine has them. Returns whether it was at one point.
static bool check_collision(const cal_world_event* event, const record* told_of, const body before[2],
                            const body after[2], const law* l, const char* where) {
    number p[3], n[3], P[3], u[2][3], to_u[2][3], K[3][3] = {{0.0L}}, unused[3][3] = {{0.0L}}, energy[2] = {0.0L, 0.0L};
    const number sign = is_of(told_of, event, 0) ? 1.0L : -1.0L;
    for (int i = 0; i < 3; i++) p[i] = event->point[i], n[i] = sign * event->normal[i], P[i] = told_of->impulse[i];
    const number length = sqrtl(dot(P, P)), normal = dot(P, n);
    const bool flat = meets_flat(&before[0], p, n) && meets_flat(&before[1], p, n);
    expect_small(dot(n, n) - 1.0L, 1e-14, "length of the normal", where);
    for (int k = 0; k < 2; k++) {
        const body *a = &before[k], *b = &after[k];
        number r[3], shift[3], momentum[3], spin[3], arms[3];
        expect_small(off_surface(a, p), 2e-9, "distance of the point from a surface", where);
        look_at_point(a, p, u[k], K);
        look_at_point(b, p, to_u[k], unused);
        energy[0] += kinetic(a), energy[1] += kinetic(b);
        if (!(a->mass > 0.0L)) continue;
        number change[3], turning[3];
        for (int i = 0; i < 3; i++) {
            shift[i] = b->x[i] - a->x[i], r[i] = p[i] - a->x[i];
            change[i] = b->w[i] - a->w[i];
            momentum[i] = a->mass * (b->v[i] - a->v[i]) - (k == 0 ? P[i] : -P[i]);
        }
        const number scale = a->mass * sqrtl(dot(a->v, a->v)) + length;
        expect_small(largest(shift), 1e-9, "jump of a position", where);
        expect_small(largest(momentum), (double)(1e-9L * scale), "momentum", where);
        // About the point the impulse has no moment.
        weigh_turn(a, false, change, turning);
        for (int i = 0; i < 3; i++) momentum[i] = a->mass * (b->v[i] - a->v[i]);
        cross(r, momentum, arms);
        for (int i = 0; i < 3; i++) spin[i] = turning[i] - arms[i];
        if (!flat) expect_small(largest(spin), (double)(1e-9L * scale), "angular momentum about the point", where);
    }
    number slip[3], to_slip[3], across[3], asked[3];
    for (int i = 0; i < 3; i++) slip[i] = u[0][i] - u[1][i], to_slip[i] = to_u[0][i] - to_u[1][i];
    const number closing = -dot(slip, n), parting = dot(to_slip, n), speed = sqrtl(dot(slip, slip));
    assert_true(closing > 0.0L);
    const number bounce = parting - l->restitution * closing;
    if (!flat) expect_small(bounce, (double)(1e-8L * (speed + 1e-3L)), "Newton's restitution", where);
    for (int i = 0; i < 3; i++) across[i] = P[i] - normal * n[i];
    const number sideways = sqrtl(dot(across, across));
    expect_small(fmaxl(sideways - l->friction * normal, 0.0L), (double)(1e-12L * length), "Coulomb's cone", where);
    cal_test_expect_below((double)((energy[1] - energy[0]) / (energy[0] + 1e-12L)), 1e-9, "gain of energy", where);
    if (flat) return false;
    find_impulse(K, n, slip, l, asked);
    for (int i = 0; i < 3; i++) asked[i] -= P[i];
    expect_small(largest(asked), (double)(1e-7L * length), "the law's impulse", where);
    return true;
}

// --- Scenes -----------------------------------------------------------------------------------------------------------------

static double noise(uint64_t* state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 33) / 2147483648.0;
}

static void add(cal_world* world, body* b, const cal_world_body_def* def, told* t) {
    const cal_body_id id = cal_test_add(world, def, b->kind, b->size[0], b->size[1], b->size[2]);
    cal_error error;
    take(b, 0.0, def->position, def->quaternion, def->velocity, def->angular_velocity);
    if (def->motion != CAL_MOVING) return;
    weigh(b);
    if (cal_world_on_collision(world, id, note, t, &error) != CAL_OK) fail_msg("%s", error.text);
}

// A room of six planes about the origin.
static void add_walls(cal_world* world, body* books, told* t) {
    const double r = sqrt(0.5);
    const double quaternions[WALLS][4] = {{r, 0, r, 0}, {r, 0, -r, 0}, {r, -r, 0, 0},
                                          {r, r, 0, 0}, {1, 0, 0, 0},  {0, 1, 0, 0}};
    for (int i = 0; i < WALLS; i++) {
        cal_world_body_def def = cal_default_world_body_def();
        def.motion = CAL_FIXED;
        def.position[i / 2] = i % 2 == 0 ? -half_room : half_room;
        memcpy(def.quaternion, quaternions[i], sizeof quaternions[i]);
        books[i] = (body){.kind = CAL_PLANE};
        add(world, &books[i], &def, t);
    }
}

static void add_bodies(cal_world* world, body* books, told* t, uint64_t seed) {
    static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_BOX, CAL_ELLIPSOID};
    uint64_t random = seed;
    for (int i = 0; i < MOVING; i++) {
        body* b = &books[WALLS + i];
        cal_world_body_def def = cal_default_world_body_def();
        *b = (body){.kind = kinds[(seed + (uint64_t)i) % 3]};
        def.density = density;
        for (int k = 0; k < 3; k++) {
            b->size[k] = 0.05 + 0.08 * noise(&random);
            def.position[k] = (k < 2 ? 0.3 * (i >> k & 1 ? 1 : -1) : 0.0) + 0.05 * noise(&random);
            def.velocity[k] = 6.0 * (noise(&random) - 0.5);
            def.angular_velocity[k] = 10.0 * (noise(&random) - 0.5);
        }
        for (int k = 0; k < 4; k++) def.quaternion[k] = noise(&random) - 0.5;
        add(world, b, &def, t);
    }
}

// Runs a world, and follows it until two bodies stay together, and are free ones no more. Returns how many collisions at one point there were.
static int keep_books(uint64_t seed, law l, double gravity, double time) {
    static told t;
    body books[BODIES];
    char where[100];
    cal_world_event event;
    cal_world_def def = cal_default_world_def();
    def.restitution = l.restitution, def.friction = l.friction;
    def.gravity[0] = def.gravity[1] = 0.0, def.gravity[2] = -gravity;
    cal_world* world = cal_test_world(&def);
    int checked = 0;
    t.count = 0;
    add_walls(world, books, &t);
    add_bodies(world, books, &t, seed);
    cal_test_advance(world, time);
    while (cal_world_next_event(world, &event)) {
        const record* r = find(&t, &event);
        body before[2], after[2];
        // Nobody is called for what hits in a contact group: at the same time two have begun to stay together.
        if (r == NULL) break;
        snprintf(where, sizeof where, "seed %d, e %g, mu %g, bodies %d and %d at %.6f s", (int)seed, l.restitution,
                 l.friction, r->body[0], r->body[1], event.time);
        for (int k = 0; k < 2; k++) {
            body* b = &books[r->body[k]];
            fly(b, event.time, gravity);
            before[k] = after[k] = *b;
            if (b->mass > 0.0L) take(&after[k], event.time, r->x[k], r->q[k], r->v[k], r->w[k]);
        }
        checked += check_collision(&event, r, before, after, &l, where);
        for (int k = 0; k < 2; k++) books[r->body[k]] = after[k];
        if (event.fusion) break;
    }
    cal_world_destroy(world);
    return checked;
}

static void books_of_collisions_balance(void** unused) {
    (void)unused;
    static const law laws[] = {{1.0, 0.0}, {1.0, 0.3}, {0.8, 0.0}, {0.7, 0.5}, {0.4, 0.1}, {0.2, 1.0}, {0.0, 0.4}};
    int checked = 0;
    for (int i = 0; i < (int)(sizeof laws / sizeof laws[0]); i++)
        for (int falls = 0; falls < 2; falls++)
            for (uint64_t seed = 1; seed <= (CAL_TEST_SANITIZED ? 2 : 6); seed++)
                checked += keep_books(seed, laws[i], falls ? 9.81 : 0.0, 1.5);
    assert_true(checked > (CAL_TEST_SANITIZED ? 200 : 1000));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(books_of_collisions_balance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
