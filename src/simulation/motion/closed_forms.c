// Pairs whose time of impact has a closed formula: two balls in free flight under one acceleration, and a ball and a fixed plane.
//
//     |r + v t|² = R²,    n·x − h − R + n·u t + n·a t²/2 = 0.
//
// The same formulas say when the balls about two other bodies begin to overlap.
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"

// Whether a body's centre is on a parabola as long as nothing happens to it.
static bool flies(const cal_world* world, const cal_sim_body* part) {
    return part->component >= 0 && world->components[part->component].ops->single;
}

cal_pair_kind cal_classify(const cal_world* world, int a, int b) {
    const cal_sim_body *p = &world->bodies[a], *q = &world->bodies[b];
    if (p->form != CAL_FORM_BALLS) {
        const cal_sim_body* swapped = p;
        p = q;
        q = swapped;
    }
    if (p->form != CAL_FORM_BALLS || q->form == CAL_FORM_GENERAL) return CAL_PAIR_GENERAL;
    const bool free_p = flies(world, p), free_q = flies(world, q);
    const bool single = free_p && !p->spinning && p->ball_count == 1;
    if (q->form == CAL_FORM_BALLS)
        return single && free_q && !q->spinning && q->ball_count == 1 ? CAL_PAIR_BALLS : CAL_PAIR_ROUNDED;
    if (q->component >= 0) return CAL_PAIR_GENERAL;
    return single && q->form == CAL_FORM_PLANE && q->def.motion == CAL_FIXED ? CAL_PAIR_BALL_PLANE : CAL_PAIR_ROUNDED;
}

// The state that holds at a time, of a free ball that no group is in charge of, and when its parabola began; NULL otherwise.
static const double* flight(const cal_world* world, int body, double time, double* start) {
    const cal_queue* queue = &world->components[world->bodies[body].component].queue;
    const int64_t n = cal_queue_find(queue, time);
    if (n < 0 || cal_saved_state_at(queue, n)->kind == CAL_FUSED) return NULL;
    const double* data = cal_data_at(queue, n);
    *start = cal_free_body_origin(&world->bodies[body], cal_saved_state_at(queue, n)->time, data);
    return data;
}

static void fly(const double* data, double t, double x[3], double u[3]) {
    for (int i = 0; i < 3; i++) {
        const double a = data[CAL_AT_ACCELERATION + i], v = data[CAL_AT_VELOCITY + i];
        x[i] = data[CAL_AT_POSITION + i] + t * (v + 0.5 * t * a);
        u[i] = v + t * a;
    }
}

// Where the centre of one free body is relative to another one's, and how fast, at the later beginning of their motions; in a
// straight line from there on. False where that does not apply.
static bool relative_flight(const cal_world* world, const cal_pair* pair, double time, double* origin, double r[3],
                            double v[3]) {
    const double* data[2];
    double start[2] = {0}, x[2][3], u[2][3];
    for (int i = 0; i < 2; i++) {
        if (!flies(world, &world->bodies[pair->body[i]])) return false;
        data[i] = flight(world, pair->body[i], time, &start[i]);
        if (data[i] == NULL) return false;
    }
    for (int i = 0; i < 3; i++)
        if (data[0][CAL_AT_ACCELERATION + i] != data[1][CAL_AT_ACCELERATION + i]) return false;
    *origin = fmax(start[0], start[1]);
    for (int i = 0; i < 2; i++) fly(data[i], *origin - start[i], x[i], u[i]);
    for (int i = 0; i < 3; i++) r[i] = x[0][i] - x[1][i], v[i] = u[0][i] - u[1][i];
    return true;
}

// False where the formula does not apply. The reach of a ball is its radius.
static bool hit_of_balls(const cal_world* world, const cal_pair* pair, double from, cal_hit* out) {
    double origin, r[3], v[3];
    if (!relative_flight(world, pair, from, &origin, r, v)) return false;
    const double radius = world->bodies[pair->body[0]].reach + world->bodies[pair->body[1]].reach;
    const double closing = -cal_dot3(r, v);
    *out = (cal_hit){(double)INFINITY, 0.0};
    if (closing <= 0.0) return true;
    const double c = cal_dot3(r, r) - radius * radius, square = closing * closing - cal_dot3(v, v) * c;
    if (square < 0.0) return true;
    const double t = c <= 0.0 ? 0.0 : c / (closing + sqrt(square));
    *out = (cal_hit){fmax(origin + t, from), sqrt(square) / radius};
    return true;
}

// When a ball of a radius about the centre of a free body touches a fixed plane. False where the formula does not apply.
static bool reach_plane(const cal_world* world, const cal_pair* pair, int moving, double radius, double from,
                        cal_hit* out) {
    const cal_sim_body* plane = &world->bodies[pair->body[1 - moving]];
    double start = 0.0, x[3], u[3];
    if (!flies(world, &world->bodies[pair->body[moving]])) return false;
    const double* data = flight(world, pair->body[moving], from, &start);
    if (data == NULL) return false;
    fly(data, 0.0, x, u);
    const double* n = plane->balls[0];
    const double g = cal_dot3(n, x) - n[3] - radius;
    const double speed = cal_dot3(n, u), a = cal_dot3(n, data + CAL_AT_ACCELERATION);
    *out = (cal_hit){(double)INFINITY, 0.0};
    const double square = speed * speed - 2.0 * a * g, root = sqrt(fmax(square, 0.0));
    double t;
    if (speed < 0.0 || (speed == 0.0 && a < 0.0 && g > 0.0)) {
        if (g > 0.0 && square < 0.0) return true;
        t = g <= 0.0 ? 0.0 : 2.0 * g / (root - speed);
    } else {
        if (a >= 0.0) return true;
        t = (speed + root) / -a;
    }
    *out = (cal_hit){fmax(start + t, from), root};
    return true;
}

static bool hit_of_plane(const cal_world* world, const cal_pair* pair, double from, cal_hit* out) {
    const int ball = world->bodies[pair->body[0]].form == CAL_FORM_BALLS ? 0 : 1;
    return reach_plane(world, pair, ball, world->bodies[pair->body[ball]].reach, from, out);
}

// The same for the ball that holds a body; what has begun to touch must be looked at now.
static double first_reach(const cal_world* world, const cal_pair* pair, int moving, double from) {
    const double* n = world->bodies[pair->body[1 - moving]].balls[0];
    const double reach = 1.0001 * world->bodies[pair->body[moving]].reach;
    double start = 0.0, x[3], u[3];
    cal_hit hit;
    if (!reach_plane(world, pair, moving, reach, from, &hit)) return from;
    const double* data = flight(world, pair->body[moving], from, &start);
    if (data == NULL) return from;
    fly(data, from - start, x, u);
    return cal_dot3(n, x) - n[3] <= reach ? from : hit.time;
}

// When the balls about two bodies overlap: nothing happens before, and after. The end is infinite where it is not known, and the beginning
// where they never do.
void cal_reach_interval(const cal_world* world, const cal_pair* pair, double from, double out[2]) {
    out[1] = (double)INFINITY;
    for (int i = 0; i < 2; i++) {
        const cal_sim_body* plane = &world->bodies[pair->body[1 - i]];
        if (plane->form != CAL_FORM_PLANE || plane->def.motion != CAL_FIXED) continue;
        out[0] = first_reach(world, pair, i, from);
        return;
    }
    double origin, r[3], v[3];
    out[0] = from;
    if (!relative_flight(world, pair, from, &origin, r, v)) return;
    const double reach = 1.0001 * (world->bodies[pair->body[0]].reach + world->bodies[pair->body[1]].reach);
    const double closing = -cal_dot3(r, v), c = cal_dot3(r, r) - reach * reach, speed = cal_dot3(v, v);
    const double square = closing * closing - speed * c;
    const bool never = c > 0.0 && (closing <= 0.0 || square < 0.0);
    if (!never && !(speed > 0.0)) return;
    if (!never) out[1] = origin + (closing + sqrt(square)) / speed;
    if (never || out[1] < from)
        out[0] = (double)INFINITY;
    else if (c > 0.0)
        out[0] = fmax(from, origin + c / (closing + sqrt(square)));
}

bool cal_closed_hit(const cal_world* world, const cal_pair* pair, double from, cal_hit* out) {
    return (pair->kind == CAL_PAIR_BALLS && hit_of_balls(world, pair, from, out)) ||
           (pair->kind == CAL_PAIR_BALL_PLANE && hit_of_plane(world, pair, from, out));
}

bool cal_has_formula(const cal_world* world, const cal_pair* pair, double time) {
    double origin, r[3], v[3];
    cal_hit hit;
    if (pair->kind == CAL_PAIR_BALLS) return relative_flight(world, pair, time, &origin, r, v);
    return pair->kind == CAL_PAIR_BALL_PLANE && hit_of_plane(world, pair, time, &hit);
}
