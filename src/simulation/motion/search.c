// When two bodies collide: the first time at which they touch and approach.
//
// Two balls in free flight under one acceleration, and a ball and a fixed plane, have a closed formula:
//
//     |r + v t|² = R²,    n·x − h − R + n·u t + n·a t²/2 = 0.
//
// Balls on turning bodies against balls, planes and blocks that do not turn: the gap g between a ball's centre and a convex
// set is a convex function of where the centre is, so its second derivative in time is at least −k, with k the relative
// acceleration of the two (that of the centres, and ω² times the arm). Then nothing happens before the root of
//
//     g + ġ τ − k τ²/2 = 0,
//
// and stepping there and looking again converges quadratically from below: a root is never passed.
//
// Everything else: with n the direction of the shortest connection, no point comes nearer along n than the centres do, plus
// turning rate times reach; the step to where that closes the gap is safe as well (conservative advancement), and converges
// linearly. Near contact, a step a little beyond the estimated time brackets the root; a safeguarded secant finds it.
//
// The time must not depend on how the search came there, or a repetition after a rollback would differ in the last bits. So
// what is found is found once more from the beginning of a window that depends on the motions only.
#include "simulation/world.h"
#include <string.h>

#define TOUCH 4e-15            // of balls, relative to sizes and distances from the origin
#define TOUCH_GENERAL 1e-11    // of other shapes, relative to their reach
#define STANDING 1e-8          // m/s: what approaches more slowly, of other shapes, is not going to collide
#define SHORTEST_BALLS 1e-8    // s: progress of a search that would stand still
#define SHORTEST_GENERAL 2e-6  // s
#define SHORTEST_STANDING 1e-4 // s: of shapes that touch and hardly move against each other
#define PARTING_ROOM 0.02      // of a reach
#define NEAR 0.1               // of a reach: from here on a bracket is tried
enum { MOST_STEPS = 100000, MOST_ROOT_STEPS = 100 };

cal_pair_kind cal_classify(const cal_world* world, int a, int b) {
    const cal_sim_body *p = &world->bodies[a], *q = &world->bodies[b];
    if (p->form != CAL_FORM_BALLS) {
        const cal_sim_body* swapped = p;
        p = q;
        q = swapped;
    }
    if (p->form != CAL_FORM_BALLS || q->form == CAL_FORM_GENERAL) return CAL_PAIR_GENERAL;
    const bool free_p = p->component >= 0 && p->multibody < 0, free_q = q->component >= 0 && q->multibody < 0;
    const bool single = free_p && !p->spinning && p->ball_count == 1;
    if (q->form == CAL_FORM_BALLS)
        return single && free_q && !q->spinning && q->ball_count == 1 ? CAL_PAIR_BALLS : CAL_PAIR_ROUNDED;
    if (q->component >= 0) return CAL_PAIR_GENERAL;
    return single && q->form == CAL_FORM_PLANE && q->def.motion == CAL_FIXED ? CAL_PAIR_BALL_PLANE : CAL_PAIR_ROUNDED;
}

// --- Closed formulas ----------------------------------------------------------------------------------------------------------

// The state that holds at a time, of a free ball that no group is in charge of; NULL otherwise.
static const double* flight(const cal_world* world, int body, double time, double* start) {
    const cal_queue* queue = &world->components[world->bodies[body].component].queue;
    const int64_t n = cal_queue_find(queue, time);
    if (n < 0 || cal_saved_state_at(queue, n)->kind == CAL_FUSED) return NULL;
    *start = cal_saved_state_at(queue, n)->time;
    return cal_data_at(queue, n);
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
        const int component = world->bodies[pair->body[i]].component;
        if (component < 0 || world->components[component].kind != CAL_FREE_BODY) return false;
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
    const int component = world->bodies[pair->body[moving]].component;
    double start = 0.0, x[3], u[3];
    if (component < 0 || world->components[component].kind != CAL_FREE_BODY) return false;
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
    fly(data, from - start, x, u);
    return cal_dot3(n, x) - n[3] <= reach ? from : hit.time;
}

// From when on the balls about two bodies overlap: nothing happens before. Infinite when they never do.
static double first_overlap(const cal_world* world, const cal_pair* pair, double from) {
    for (int i = 0; i < 2; i++) {
        const cal_sim_body* plane = &world->bodies[pair->body[1 - i]];
        if (plane->form == CAL_FORM_PLANE && plane->def.motion == CAL_FIXED) return first_reach(world, pair, i, from);
    }
    double origin, r[3], v[3];
    if (!relative_flight(world, pair, from, &origin, r, v)) return from;
    const double reach = 1.0001 * (world->bodies[pair->body[0]].reach + world->bodies[pair->body[1]].reach);
    const double closing = -cal_dot3(r, v), c = cal_dot3(r, r) - reach * reach, speed = cal_dot3(v, v);
    const double square = closing * closing - speed * c;
    if (c > 0.0 && (closing <= 0.0 || square < 0.0)) return (double)INFINITY;
    if (!(speed > 0.0)) return from;
    const double end = origin + (closing + sqrt(square)) / speed;
    if (end < from) return (double)INFINITY;
    return c > 0.0 ? fmax(from, origin + c / (closing + sqrt(square))) : from;
}

bool cal_has_formula(const cal_world* world, const cal_pair* pair, double time) {
    double origin, r[3], v[3];
    cal_hit hit;
    if (pair->kind == CAL_PAIR_BALLS) return relative_flight(world, pair, time, &origin, r, v);
    return pair->kind == CAL_PAIR_BALL_PLANE && hit_of_plane(world, pair, time, &hit);
}

// --- Distances ----------------------------------------------------------------------------------------------------------------

static void place_ball(const cal_sim_body* part, const cal_motion* at, int ball, double out[3]) {
    const double* c = part->balls[ball];
    if (part->spinning) {
        cal_rotate3(at->pose.rotation, c, out);
        for (int i = 0; i < 3; i++) out[i] += at->pose.position[i];
    } else {
        memcpy(out, at->pose.position, 3 * sizeof *out);
    }
}

// Normal (towards the point), distance of a point from a plane or a block, and the nearest point on it.
static double from_solid(const cal_sim_body* part, const cal_motion* at, const double point[3], double normal[3],
                         double nearest[3]) {
    cal_pose pose;
    cal_multiply33(at->pose.rotation, part->block.rotation, pose.rotation);
    cal_rotate3(at->pose.rotation, part->block.position, pose.position);
    double local[3], away[3];
    for (int i = 0; i < 3; i++) away[i] = point[i] - (pose.position[i] += at->pose.position[i]);
    cal_unrotate3(pose.rotation, away, local);
    double distance;
    if (part->form == CAL_FORM_PLANE) {
        distance = local[2];
        for (int i = 0; i < 3; i++) normal[i] = pose.rotation[3 * i + 2];
    } else {
        double beyond[3], square = 0.0;
        for (int i = 0; i < 3; i++) {
            beyond[i] = local[i] > part->half[i]    ? local[i] - part->half[i]
                        : local[i] < -part->half[i] ? local[i] + part->half[i]
                                                    : 0.0;
            square += beyond[i] * beyond[i];
        }
        distance = sqrt(square);
        if (square > 0.0) {
            for (int i = 0; i < 3; i++) beyond[i] /= distance;
        } else {
            int side = 0;
            for (int i = 1; i < 3; i++)
                if (part->half[i] - fabs(local[i]) < part->half[side] - fabs(local[side])) side = i;
            beyond[side] = local[side] < 0.0 ? -1.0 : 1.0;
            distance = fabs(local[side]) - part->half[side];
        }
        cal_rotate3(pose.rotation, beyond, normal);
    }
    for (int i = 0; i < 3; i++) nearest[i] = point[i] - distance * normal[i];
    return distance;
}

// Balls against balls, a plane or a block; a has the balls.
static void measure_rounded(const cal_sim_body* a, const cal_motion* at_a, const cal_sim_body* b,
                            const cal_motion* at_b, cal_separation* out) {
    out->distance = (double)INFINITY;
    for (int i = 0; i < a->ball_count; i++) {
        double x[3];
        place_ball(a, at_a, i, x);
        for (int j = 0; j < (b->form == CAL_FORM_BALLS ? b->ball_count : 1); j++) {
            double n[3], y[3], distance;
            if (b->form == CAL_FORM_BALLS) {
                place_ball(b, at_b, j, y);
                for (int k = 0; k < 3; k++) n[k] = x[k] - y[k];
                const double length = sqrt(cal_dot3(n, n));
                for (int k = 0; k < 3; k++) n[k] = length > 0.0 ? n[k] / length : (double)(k == 2);
                distance = length - a->balls[i][3] - b->balls[j][3];
                for (int k = 0; k < 3; k++) y[k] += b->balls[j][3] * n[k];
            } else {
                distance = from_solid(b, at_b, x, n, y) - a->balls[i][3];
            }
            if (distance >= out->distance) continue;
            out->distance = distance;
            out->piece_a = i;
            out->piece_b = j;
            for (int k = 0; k < 3; k++) {
                out->normal[k] = n[k];
                out->point_b[k] = y[k];
                out->point_a[k] = y[k] + distance * n[k];
            }
        }
    }
}

static void swap_sides(cal_separation* s) {
    for (int k = 0; k < 3; k++) {
        const double point = s->point_a[k];
        s->point_a[k] = s->point_b[k];
        s->point_b[k] = point;
        s->normal[k] = -s->normal[k];
    }
    const int piece = s->piece_a;
    s->piece_a = s->piece_b;
    s->piece_b = piece;
}

void cal_world_distance(cal_world* world, int a, const cal_motion* at_a, int b, const cal_motion* at_b, double limit,
                        cal_distance_cache* warm, cal_separation* out) {
    const cal_sim_body *p = &world->bodies[a], *q = &world->bodies[b];
    world->report.checks++;
    if (p->form == CAL_FORM_BALLS && q->form != CAL_FORM_GENERAL) {
        measure_rounded(p, at_a, q, at_b, out);
    } else if (q->form == CAL_FORM_BALLS && p->form != CAL_FORM_GENERAL) {
        measure_rounded(q, at_b, p, at_a, out);
        swap_sides(out);
    } else if (limit < (double)INFINITY) {
        cal_distance_within(p->geometry, &at_a->pose, q->geometry, &at_b->pose, limit, warm, out);
    } else {
        cal_distance(p->geometry, &at_a->pose, q->geometry, &at_b->pose, warm, out);
    }
}

// --- Searches -----------------------------------------------------------------------------------------------------------------

typedef struct chase {
    cal_world* world;
    int body[2];
    cal_motion at[2];
    cal_motion_bounds limits[2];
    double relative; // acceleration of the centres to each other
    double size;     // reach of the smaller one
    cal_distance_cache warm;
    cal_separation gap;
} chase;

static cal_status move_to(chase* c, double time) {
    for (int i = 0; i < 2; i++) {
        const cal_status status = cal_body_place_at(c->world, c->body[i], time, &c->at[i]);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

static cal_status look_within(chase* c, double time, double limit) {
    const cal_status status = move_to(c, time);
    if (status != CAL_OK) return status;
    cal_world_distance(c->world, c->body[0], &c->at[0], c->body[1], &c->at[1], limit, &c->warm, &c->gap);
    return CAL_OK;
}

static cal_status look(chase* c, double time) { return look_within(c, time, (double)INFINITY); }

// How fast the nearest points approach.
static double approach(const chase* c) {
    double a[3], b[3];
    cal_point_velocity(&c->at[0], c->gap.point_a, a);
    cal_point_velocity(&c->at[1], c->gap.point_b, b);
    return cal_dot3(c->gap.normal, b) - cal_dot3(c->gap.normal, a);
}

// The first root of gap − speed τ − k τ²/2, for gap ≥ 0 and k ≥ 0; infinite when there is none.
static double closing_time(double gap, double speed, double k) {
    const double root = sqrt(speed * speed + 2.0 * k * gap);
    if (speed > 0.0) return 2.0 * gap / (speed + root);
    return k > 0.0 ? (root - speed) / k : (double)INFINITY;
}

// The soonest that any ball of a can touch b, and whether one does now.
static double rounded_step(const chase* c, int balls, bool* touching, double* speed) {
    const int a = balls, b = 1 - balls;
    const cal_sim_body *p = &c->world->bodies[c->body[a]], *q = &c->world->bodies[c->body[b]];
    const cal_motion *at_p = &c->at[a], *at_q = &c->at[b];
    const double common = c->relative + c->limits[0].slack + c->limits[1].slack;
    const double turn_p = c->limits[a].turn * c->limits[a].turn, turn_q = c->limits[b].turn * c->limits[b].turn;
    double least = (double)INFINITY;
    *touching = false;
    for (int i = 0; i < p->ball_count; i++) {
        const double* ball = p->balls[i];
        double x[3], v[3];
        place_ball(p, at_p, i, x);
        cal_point_velocity(at_p, x, v);
        const double k_p = common + (p->spinning ? turn_p * sqrt(cal_dot3(ball, ball)) : 0.0);
        for (int j = 0; j < (q->form == CAL_FORM_BALLS ? q->ball_count : 1); j++) {
            double n[3], y[3], w[3], gap, k = k_p;
            if (q->form == CAL_FORM_BALLS) {
                place_ball(q, at_q, j, y);
                for (int d = 0; d < 3; d++) n[d] = x[d] - y[d];
                const double length = sqrt(cal_dot3(n, n));
                for (int d = 0; d < 3; d++) n[d] = length > 0.0 ? n[d] / length : (double)(d == 2);
                gap = length - ball[3] - q->balls[j][3];
                if (q->spinning) k += turn_q * sqrt(cal_dot3(q->balls[j], q->balls[j]));
            } else {
                gap = from_solid(q, at_q, x, n, y) - ball[3];
            }
            cal_point_velocity(at_q, y, w);
            const double closing = cal_dot3(n, w) - cal_dot3(n, v);
            const double touch = TOUCH * (fabs(x[0]) + fabs(x[1]) + fabs(x[2]) + ball[3]);
            if (gap <= touch && closing > 0.0) {
                if (!*touching || closing > *speed) *speed = closing;
                *touching = true;
            }
            least = fmin(least, closing_time(fmax(gap, 0.0), closing, k));
        }
    }
    return least;
}

static cal_status search_rounded(chase* c, double from, double to, cal_hit* out) {
    const int balls = c->world->bodies[c->body[0]].form == CAL_FORM_BALLS ? 0 : 1;
    double time = from;
    for (int i = 0; i < MOST_STEPS && time <= to; i++) {
        const cal_status status = move_to(c, time);
        if (status != CAL_OK) return status;
        c->world->report.checks++;
        bool touching;
        double speed = 0.0;
        const double step = rounded_step(c, balls, &touching, &speed);
        if (touching) {
            *out = (cal_hit){time, speed};
            return CAL_OK;
        }
        if (!(step < (double)INFINITY)) break;
        if (time + step > time) {
            time += step;
            continue;
        }
        // What is left is less than time can resolve: a root, or the beginning of a parting.
        look(c, time);
        speed = approach(c);
        if (speed > 0.0) {
            *out = (cal_hit){time, speed};
            return CAL_OK;
        }
        time += SHORTEST_BALLS;
    }
    return CAL_OK;
}

// The root of the signed distance between a time when it is positive and one when it is not.
static cal_status find_root(chase* c, double low, double gap_low, double high, double gap_high, cal_hit* out) {
    double side_low = gap_low, side_high = gap_high;
    for (int i = 0; i < MOST_ROOT_STEPS && high - low > 1e-13 * fmax(1.0, fabs(high)); i++) {
        double middle = low + (high - low) * side_low / (side_low - side_high);
        if (!(middle > low && middle < high) || i % 8 == 7) middle = low + 0.5 * (high - low);
        if (middle <= low || middle >= high) break;
        const cal_status status = look(c, middle);
        if (status != CAL_OK) return status;
        // Illinois: halve the value of the side that stays.
        if (c->gap.distance > 0.0) {
            low = middle;
            side_low = c->gap.distance;
            side_high *= 0.5;
        } else {
            high = middle;
            side_high = c->gap.distance;
            side_low *= 0.5;
        }
    }
    const cal_status status = look(c, low);
    if (status != CAL_OK) return status;
    *out = (cal_hit){low, approach(c)};
    return CAL_OK;
}

static double reach_of(const chase* c, int which) {
    const double reach = c->world->bodies[c->body[which]].reach;
    return reach < (double)INFINITY ? reach : 0.0;
}

// How much nearer two bodies can come in a time, from where they were moved to.
static double way_to_go(const chase* c, double time) {
    double relative[3];
    for (int i = 0; i < 3; i++) relative[i] = c->at[0].u[i] - c->at[1].u[i];
    const double turning = c->limits[0].turn * reach_of(c, 0) + c->limits[1].turn * reach_of(c, 1);
    const double k = c->relative + c->limits[0].slack + c->limits[1].slack;
    return (sqrt(cal_dot3(relative, relative)) + turning + 0.5 * k * time) * time + 1e-3 * c->size;
}

// How long nothing can happen after a look, and whether they touch and approach now.
static double general_step(const chase* c, bool* touching) {
    const double turning = c->limits[0].turn * reach_of(c, 0) + c->limits[1].turn * reach_of(c, 1);
    const double *n = c->gap.normal, gap = c->gap.distance;
    *touching = gap <= TOUCH_GENERAL * c->size && approach(c) > STANDING;
    if (!(gap < (double)INFINITY)) return gap;
    const double bound = cal_dot3(n, c->at[1].u) - cal_dot3(n, c->at[0].u) + turning;
    return closing_time(fmax(gap, 0.0), bound, c->relative + c->limits[0].slack + c->limits[1].slack);
}

// Parting bodies: what is safe grows slowly, since some corner might turn back at full speed. A step in which the gap trebles,
// and in which nothing moves by more than a little of its size, is short against that; where a corner did come, the gap has
// turned negative and the two looks are a bracket.
static double parting_step(const chase* c, double gap, double parting) {
    if (parting <= STANDING) return 0.0;
    const double k = c->relative + c->limits[0].slack + c->limits[1].slack, room = PARTING_ROOM * c->size;
    return fmin(fmax(2.0 * gap, 1e-5 * c->size) / parting,
                closing_time(room, way_to_go(c, 1.0) - 0.5 * k - 1e-3 * c->size, k));
}

static cal_status search_general(chase* c, double from, double to, cal_hit* out) {
    double time = from, last = from, last_gap = 0.0;
    for (int i = 0; i < MOST_STEPS && time <= to; i++) {
        cal_status status = move_to(c, time);
        if (status == CAL_OK) status = look_within(c, time, way_to_go(c, to - time));
        if (status != CAL_OK) return status;
        if (c->gap.piece_a < 0) break; // further apart than they can come
        const double gap = c->gap.distance, closing = approach(c), touch = TOUCH_GENERAL * c->size;
        if (gap <= 0.0 && last_gap > touch) return find_root(c, last, last_gap, time, gap, out);
        bool touching;
        const double step = general_step(c, &touching);
        if (touching) {
            *out = (cal_hit){time, closing};
            return CAL_OK;
        }
        if (way_to_go(c, 1.0) <= way_to_go(c, 0.0)) break; // both rest
        last = time;
        last_gap = gap;
        if (gap > touch && closing > STANDING && gap < NEAR * c->size) {
            // Near contact a little beyond the estimated time: a bracket, or a pair that passes by.
            const double beyond = fmin(time + fmax(1.05 * gap / closing, SHORTEST_GENERAL), to);
            if (beyond <= time) break;
            time = beyond;
            continue;
        }
        const double least = fabs(closing) <= STANDING ? SHORTEST_STANDING : SHORTEST_GENERAL;
        time += fmax(fmax(step, parting_step(c, gap, -closing)), least);
    }
    return CAL_OK;
}

static cal_status begin_chase(chase* c, double from, double to) {
    double difference[3];
    for (int i = 0; i < 2; i++) {
        const cal_status status = cal_body_bounds(c->world, c->body[i], from, to, &c->limits[i]);
        if (status != CAL_OK) return status;
    }
    for (int i = 0; i < 3; i++) difference[i] = c->limits[0].acceleration[i] - c->limits[1].acceleration[i];
    c->relative = sqrt(cal_dot3(difference, difference));
    c->size = (double)INFINITY;
    for (int i = 0; i < 2; i++)
        if (c->world->bodies[c->body[i]].component >= 0) c->size = fmin(c->size, reach_of(c, i));
    return CAL_OK;
}

static cal_status search(cal_world* world, const cal_pair* pair, double from, double to, cal_hit* out) {
    chase c = {.world = world, .body = {pair->body[0], pair->body[1]}};
    *out = (cal_hit){(double)INFINITY, 0.0};
    from = first_overlap(world, pair, from);
    if (from > to) return CAL_OK;
    const cal_status status = begin_chase(&c, from, to);
    if (status != CAL_OK) return status;
    return pair->kind == CAL_PAIR_GENERAL ? search_general(&c, from, to, out) : search_rounded(&c, from, to, out);
}

cal_status cal_bound_hit(cal_world* world, const cal_pair* pair, double time, double until, double* bound,
                         bool* touching) {
    chase c = {.world = world, .body = {pair->body[0], pair->body[1]}};
    *touching = false;
    cal_status status = begin_chase(&c, time, until);
    if (status == CAL_OK) status = move_to(&c, time);
    if (status != CAL_OK) return status;
    double speed = 0.0, step;
    if (pair->kind == CAL_PAIR_GENERAL) {
        status = look(&c, time);
        step = general_step(&c, touching);
        if (step < SHORTEST_GENERAL) step = SHORTEST_GENERAL;
    } else {
        world->report.checks++;
        step = rounded_step(&c, world->bodies[c.body[0]].form == CAL_FORM_BALLS ? 0 : 1, touching, &speed);
        if (time + step <= time) {
            status = look(&c, time);
            *touching |= approach(&c) > 0.0;
            step = SHORTEST_BALLS;
        }
    }
    *bound = time + step;
    return status;
}

// Where the window of a time begins: not before the state that either motion comes from.
static double window_of(const cal_world* world, const cal_pair* pair, double time) {
    double begin = CAL_WINDOW * floor(time / CAL_WINDOW);
    for (int i = 0; i < 2; i++) {
        const int component = cal_body_component(world, pair->body[i], time);
        if (component < 0) continue;
        const cal_queue* queue = &world->components[component].queue;
        const int64_t n = cal_queue_find(queue, time);
        if (n >= queue->head) begin = fmax(begin, cal_saved_state_at(queue, n)->time);
    }
    return begin;
}

cal_status cal_find_hit(cal_world* world, const cal_pair* pair, double from, double to, cal_hit* out,
                        cal_error* error) {
    if ((pair->kind == CAL_PAIR_BALLS && hit_of_balls(world, pair, from, out)) ||
        (pair->kind == CAL_PAIR_BALL_PLANE && hit_of_plane(world, pair, from, out))) {
        world->report.predictions++;
        if (out->time > to) out->time = (double)INFINITY;
        return CAL_OK;
    }
    cal_status status = search(world, pair, from, to, out);
    if (status == CAL_OK && out->time < (double)INFINITY) {
        const double begin = window_of(world, pair, out->time),
                     end = CAL_WINDOW * (floor(out->time / CAL_WINDOW) + 1.0);
        if (begin != from || end != to) {
            cal_hit again;
            status = search(world, pair, begin, end, &again);
            if (status == CAL_OK && fabs(again.time - out->time) < 1e-9) *out = again;
        }
    }
    if (status != CAL_OK)
        return cal_fail(error, status, "bodies %d and %d cannot be followed from %g to %g s: %s", pair->body[0],
                        pair->body[1], from, to, cal_status_text(status));
    return CAL_OK;
}
