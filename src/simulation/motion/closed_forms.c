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

// The motion of the centre of a free body: where it is and how fast at the time `start`, and its acceleration.
typedef struct course {
    const double *x, *u, *a;
    double start;
} course;

// That of the state that holds at a time; false: it does not fly, or a group is in charge of it.
static bool find_course(const cal_world* world, int body, double time, course* out) {
    const cal_sim_body* part = &world->bodies[body];
    if (!flies(world, part)) return false;
    const cal_queue* queue = &world->components[part->component].queue;
    const int64_t n = cal_queue_find(queue, time);
    if (n < 0 || cal_saved_state_at(queue, n)->kind == CAL_FUSED) return false;
    const double* data = cal_data_at(queue, n);
    *out = (course){data + CAL_AT_POSITION, data + CAL_AT_VELOCITY, data + CAL_AT_ACCELERATION,
                    cal_free_body_origin(part, cal_saved_state_at(queue, n)->time, data)};
    return true;
}

// That from its newest state on; false also where that begins after a time. Nothing is known to change it.
static bool find_newest_course(const cal_world* world, int body, double time, course* out) {
    const cal_sim_body* part = &world->bodies[body];
    if (!part->flying || part->course.begin > time) return false;
    *out = (course){part->course.center, part->course.velocity, world->def.gravity, part->course.origin};
    return true;
}

static void fly(const course* c, double t, double x[3], double u[3]) {
    for (int i = 0; i < 3; i++) {
        x[i] = c->x[i] + t * (c->u[i] + 0.5 * t * c->a[i]);
        u[i] = c->u[i] + t * c->a[i];
    }
}

// Where the centre of one free body is relative to another one's, and how fast, at the later beginning of their motions (origin); in a
// straight line from there on.
typedef struct line {
    double origin, r[3], v[3];
} line;

// False where their accelerations differ.
static bool find_line(const course courses[2], line* out) {
    double x[2][3], u[2][3];
    for (int i = 0; i < 3; i++)
        if (courses[0].a[i] != courses[1].a[i]) return false;
    out->origin = fmax(courses[0].start, courses[1].start);
    for (int i = 0; i < 2; i++) fly(&courses[i], out->origin - courses[i].start, x[i], u[i]);
    for (int i = 0; i < 3; i++) out->r[i] = x[0][i] - x[1][i], out->v[i] = u[0][i] - u[1][i];
    return true;
}

static bool find_line_at(const cal_world* world, const cal_pair* pair, double time, line* out) {
    course courses[2];
    return find_course(world, pair->body[0], time, &courses[0]) &&
           find_course(world, pair->body[1], time, &courses[1]) && find_line(courses, out);
}

static double sum_of_reaches(const cal_world* world, const cal_pair* pair) {
    return world->bodies[pair->body[0]].reach + world->bodies[pair->body[1]].reach;
}

static cal_hit hit_on_line(const line* l, double radius, double from) {
    const double closing = -cal_dot3(l->r, l->v);
    if (closing <= 0.0) return (cal_hit){(double)INFINITY, 0.0};
    const double c = cal_dot3(l->r, l->r) - radius * radius, square = closing * closing - cal_dot3(l->v, l->v) * c;
    if (square < 0.0) return (cal_hit){(double)INFINITY, 0.0};
    const double t = c <= 0.0 ? 0.0 : c / (closing + sqrt(square));
    return (cal_hit){fmax(l->origin + t, from), sqrt(square) / radius};
}

// When a ball of a radius about the centre of a free body touches a fixed plane, n·x = h.
static cal_hit hit_of_plane(const course* c, const double n[4], double radius, double from) {
    double x[3], u[3];
    fly(c, 0.0, x, u);
    const double g = cal_dot3(n, x) - n[3] - radius;
    const double speed = cal_dot3(n, u), a = cal_dot3(n, c->a);
    const double square = speed * speed - 2.0 * a * g, root = sqrt(fmax(square, 0.0));
    double t;
    if (speed < 0.0 || (speed == 0.0 && a < 0.0 && g > 0.0)) {
        if (g > 0.0 && square < 0.0) return (cal_hit){(double)INFINITY, 0.0};
        t = g <= 0.0 ? 0.0 : 2.0 * g / (root - speed);
    } else {
        if (a >= 0.0) return (cal_hit){(double)INFINITY, 0.0};
        t = (speed + root) / -a;
    }
    return (cal_hit){fmax(c->start + t, from), root};
}

// Who of a pair is a fixed plane; −1: neither.
static int find_plane(const cal_world* world, const cal_pair* pair) {
    for (int i = 0; i < 2; i++) {
        const cal_sim_body* part = &world->bodies[pair->body[i]];
        if (part->form == CAL_FORM_PLANE && part->def.motion == CAL_FIXED) return i;
    }
    return -1;
}

// When the ball that holds a free body touches a fixed plane; what has begun to touch must be looked at now.
static double first_reach(const course* c, const double n[4], double reach, double from) {
    double x[3], u[3];
    const cal_hit hit = hit_of_plane(c, n, reach, from);
    fly(c, from - c->start, x, u);
    return cal_dot3(n, x) - n[3] <= reach ? from : hit.time;
}

#define WIDER 1.0001 // than a body: the ball about it that is looked at

static void overlap_on_line(const line* l, double reach, double from, double out[2]) {
    out[0] = from, out[1] = (double)INFINITY;
    const double closing = -cal_dot3(l->r, l->v), c = cal_dot3(l->r, l->r) - reach * reach,
                 speed = cal_dot3(l->v, l->v);
    const double square = closing * closing - speed * c;
    const bool never = c > 0.0 && (closing <= 0.0 || square < 0.0);
    if (!never && !(speed > 0.0)) return;
    if (!never) out[1] = l->origin + (closing + sqrt(square)) / speed;
    if (never || out[1] < from)
        out[0] = (double)INFINITY;
    else if (c > 0.0)
        out[0] = fmax(from, l->origin + c / (closing + sqrt(square)));
}

// When the balls about two bodies overlap: nothing happens before, and after. The end is infinite where it is not known, and the beginning
// where they never do.
void cal_reach_interval(const cal_world* world, const cal_pair* pair, double from, double out[2]) {
    const int plane = find_plane(world, pair);
    out[0] = from, out[1] = (double)INFINITY;
    course c;
    line l;
    if (plane >= 0 && find_course(world, pair->body[1 - plane], from, &c))
        out[0] = first_reach(&c, world->bodies[pair->body[plane]].balls[0],
                             WIDER * world->bodies[pair->body[1 - plane]].reach, from);
    else if (plane < 0 && find_line_at(world, pair, from, &l))
        overlap_on_line(&l, WIDER * sum_of_reaches(world, pair), from, out);
}

cal_flight_look cal_look_at_flight(const cal_world* world, const cal_pair* pair, double time, cal_hit* hit,
                                   double overlap[2]) {
    const bool balls = pair->kind == CAL_PAIR_BALLS || pair->kind == CAL_PAIR_BALL_PLANE;
    const int plane = find_plane(world, pair);
    course c[2];
    line l;
    for (int i = 0; i < 2; i++)
        if (i != plane && !find_newest_course(world, pair->body[i], time, &c[i])) return CAL_NO_FLIGHT;
    if (plane >= 0) {
        const double reach = world->bodies[pair->body[1 - plane]].reach, *n = world->bodies[pair->body[plane]].balls[0];
        if (balls)
            *hit = hit_of_plane(&c[1 - plane], n, reach, time);
        else
            overlap[0] = first_reach(&c[1 - plane], n, WIDER * reach, time), overlap[1] = (double)INFINITY;
    } else {
        const double reach = sum_of_reaches(world, pair);
        if (!find_line(c, &l)) return CAL_NO_FLIGHT;
        if (balls)
            *hit = hit_on_line(&l, reach, time);
        else
            overlap_on_line(&l, WIDER * reach, time, overlap);
    }
    return balls ? CAL_FLIGHT_OF_BALLS : CAL_OTHER_FLIGHT;
}

// The reach of a ball is its radius.
bool cal_closed_hit(const cal_world* world, const cal_pair* pair, double from, cal_hit* out) {
    course c;
    line l;
    if (pair->kind == CAL_PAIR_BALLS && find_line_at(world, pair, from, &l)) {
        *out = hit_on_line(&l, sum_of_reaches(world, pair), from);
        return true;
    }
    const int plane = pair->kind == CAL_PAIR_BALL_PLANE ? find_plane(world, pair) : -1;
    if (plane < 0 || !find_course(world, pair->body[1 - plane], from, &c)) return false;
    *out =
        hit_of_plane(&c, world->bodies[pair->body[plane]].balls[0], world->bodies[pair->body[1 - plane]].reach, from);
    return true;
}

bool cal_has_formula(const cal_world* world, const cal_pair* pair, double time) {
    cal_hit hit;
    return cal_closed_hit(world, pair, time, &hit);
}
