// Swept boxes: each body is inside its box until box_end; then an event makes a new one. Boxes that begin to overlap make a
// pair, and boxes that cease to overlap end it. Where rollbacks are forced, a box also covers what may come back.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group_work.h"
#include "simulation/domain/domain.h"
#include "simulation/event/events.h"
#include "simulation/event/fetch.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/free_body.h"
#include "simulation/world.h"
#include <string.h>

// Of a reach: how far a body goes in its box at least, where that fills the least power of two that leaves so much. What is no ball is searched
// for impacts, again with each box.
#define LEAST_WAY 0.5
#define LEAST_SEARCHED_WAY 1.5
// Of the time in which a box fills its cell, what is left of it at least where the box holds a past as well. One that ends sooner is made twice in that time; one
// that is longer than its cell has everybody else look through two levels, which costs as much.
#define LEAST_LEFT 0.5
#define FILLED                                                                                                         \
    (1.0 -                                                                                                             \
     0x1p-10) // of that power of two: ends are rounded, and a box that is longer by that goes where nobody else is

// How much longer than it says a box holds a body: an interval of group checks (below). Where every collision is elastic nobody joins a group that he
// does not touch.
static double held_longer(const cal_world* world) {
    return world->def.restitution >= 1.0 ? 0.0 : 1.0 / world->def.group_rate;
}

// How far gravity moves a body in an interval.
static double fall_in(const cal_world* world, double interval) {
    return 0.5 * sqrt(cal_dot3(world->def.gravity, world->def.gravity)) * interval * interval;
}

// What a body joins because of may be as far from the box about it: as far as gravity moves it in that interval, or, where everything is elastic and
// there is gravity, a gap that is none (contact/joining.c).
static double held_about(const cal_world* world, int body) {
    if (world->def.restitution < 1.0) return fall_in(world, held_longer(world));
    const double* g = world->def.gravity;
    return cal_dot3(g, g) > 0.0 ? CAL_WORK_OVERLAP * world->bodies[body].reach : 0.0;
}

// One instruction each, where fmin and fmax are calls.
static double lesser(double a, double b) { return a < b ? a : b; }
static double greater(double a, double b) { return a > b ? a : b; }

// A box about the ends of an interval and what may bend away in between.
static void join_point(cal_box* box, const double point[3], double pad) {
    for (int i = 0; i < 3; i++) {
        box->low[i] = lesser(box->low[i], point[i] - pad);
        box->high[i] = greater(box->high[i], point[i] + pad);
    }
}

// A box about a body in a pose joins another one: that of its shapes, and not wider than the ball about it. pad: how far its centre may be
// away; bend: how much further its other points may be.
static void join_body(cal_box* box, const cal_sim_body* part, const cal_pose* pose, double pad, double bend) {
    cal_box shapes = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    if (part->form != CAL_FORM_BALLS && part->geometry != NULL) cal_geometry_box(part->geometry, pose, &shapes);
    for (int i = 0; i < 3; i++) {
        box->low[i] = fmin(box->low[i], fmax(pose->position[i] - part->reach, shapes.low[i] - bend) - pad);
        box->high[i] = fmax(box->high[i], fmin(pose->position[i] + part->reach, shapes.high[i] + bend) + pad);
    }
}

// What turning adds to the acceleration of a body's points, at most.
static double turning_acceleration(const cal_sim_body* part, const cal_motion_bounds* limits) {
    return (limits->twist + limits->turn * limits->turn) * part->reach;
}

cal_status cal_box_of_motion(cal_world* world, int body, double from, double to, cal_box* out) {
    const cal_sim_body* part = &world->bodies[body];
    for (int i = 0; i < 3; i++) out->low[i] = (double)INFINITY, out->high[i] = -(double)INFINITY;
    cal_motion at;
    // In each piece of its motion: a curve, of its centre or of another point, leaves its chord by at most the acceleration times h²/8.
    cal_status status = cal_body_place_at(world, body, from, &at);
    for (double time = from; status == CAL_OK;) {
        cal_motion_bounds limits;
        status = cal_body_bounds(world, body, time, to, &limits);
        if (status != CAL_OK) break;
        const double next = limits.until > time ? limits.until : to, h = next - time;
        const double a = sqrt(cal_dot3(limits.acceleration, limits.acceleration)) + limits.slack;
        const double pad = a * h * h / 8.0, bend = turning_acceleration(part, &limits) * h * h / 8.0;
        join_body(out, part, &at.pose, pad, bend);
        status = cal_body_place_at(world, body, next, &at);
        if (status == CAL_OK) join_body(out, part, &at.pose, pad, bend);
        if (!(next < to)) break;
        time = next;
    }
    return status;
}

static void box_flight(const cal_sim_body* part, const cal_flight* flight, double h, cal_box* out) {
    const double* a = flight->acceleration;
    const double pad = part->reach + sqrt(cal_dot3(a, a)) * h * h / 8.0;
    for (int i = 0; i < 3; i++) {
        out->low[i] = lesser(flight->ends[0][i], flight->ends[1][i]) - pad;
        out->high[i] = greater(flight->ends[0][i], flight->ends[1][i]) + pad;
    }
}

// A free body's parabola needs no orientation, and no series as far as the box goes.
cal_status cal_box_of_flight(cal_world* world, int body, double from, double to, cal_box* out) {
    cal_flight flight;
    if (!cal_free_body_flight(world, body, from, to, &flight)) return cal_box_of_motion(world, body, from, to, out);
    box_flight(&world->bodies[body], &flight, to - from, out);
    return CAL_OK;
}

// How long a way of a length takes at a speed, and as much as gravity adds: t (speed + g t) = way.
static double time_of_way(double way, double speed, double g) {
    return way > 0.0 ? 2.0 * way / (speed + sqrt(speed * speed + 4.0 * g * way)) : 0.0;
}

// For how long a body is in a box that fills a cell of the broad phase: a longer one is looked for in twice as many of twice the size, a
// shorter one ends sooner. turn: the most that it turns at, where a box is wider for that (sweep_flight). past: a box about where it was that the box
// holds as well; NULL: none.
static double box_length(const cal_world* world, int body, double room, const double velocity[3], double turn,
                         const cal_box* past) {
    const double reach = world->bodies[body].reach, interval = held_longer(world);
    const double g = sqrt(cal_dot3(world->def.gravity, world->def.gravity));
    const double width = 2.0 * (reach + g * interval * interval + 2.0 * interval * reach * turn);
    double speed = 0.0;
    for (int i = 0; i < 3; i++) speed = fmax(speed, fabs(velocity[i]));
    const double least = world->bodies[body].form == CAL_FORM_BALLS ? LEAST_WAY : LEAST_SEARCHED_WAY;
    int exponent;
    frexp(width + least * reach, &exponent);
    const double edge = FILLED * ldexp(1.0, exponent), begin = width + interval * speed;
    double most = time_of_way(edge - begin, speed, g);
    if (past != NULL) {
        double left = most;
        for (int i = 0; i < 3; i++)
            left = fmin(left, time_of_way(edge - fmax(past->high[i] - past->low[i], begin), fabs(velocity[i]), g));
        most = fmax(left, LEAST_LEFT * most);
    }
    return fmax(fmin(most, room), fmin(CAL_SHORTEST_BOX * world->window, room));
}

// The broad phase's answers are valid until its next call, and predictions may lead to one.
static bool keep(cal_world* world, const int32_t* ids, int count) {
    if (count > world->partner_capacity) {
        cal_free(world->partners);
        world->partner_capacity = 2 * count;
        world->partners = cal_allocate((size_t)world->partner_capacity, sizeof *world->partners);
        if (world->partners == NULL) world->partner_capacity = 0;
    }
    if (count > 0 && world->partners != NULL) memcpy(world->partners, ids, (size_t)count * sizeof *ids);
    return count == 0 || world->partners != NULL;
}

// Where a body would be after an interval of group checks if it went on as it does at a time.
static cal_status join_ahead(cal_world* world, int body, double time, bool own, double pad, double bend, cal_box* box) {
    const cal_sim_body* part = &world->bodies[body];
    const double interval = held_longer(world);
    cal_motion at;
    cal_status status = cal_body_place_at(world, body, time, &at);
    if (status == CAL_OK && own) status = cal_group_own_speeds(world, body, time, &at);
    if (status != CAL_OK) return status;
    if (part->spinning) // its points may come nearer than the ball about it, if they went straight on
        pad += interval * part->reach * sqrt(cal_dot3(at.w, at.w));
    join_body(box, part, &at.pose, pad, bend);
    for (int i = 0; i < 3; i++) at.pose.position[i] += interval * at.u[i];
    join_body(box, part, &at.pose, pad, bend);
    return CAL_OK;
}

void cal_box_ahead(const cal_world* world, int body, const cal_motion* at, cal_box* out) {
    const cal_sim_body* part = &world->bodies[body];
    const double interval = held_longer(world), fall = held_about(world, body),
                 turn = part->spinning ? interval * part->reach * sqrt(cal_dot3(at->w, at->w)) : 0.0;
    cal_pose pose = at->pose;
    *out = cal_box_of_nothing;
    join_body(out, part, &pose, fall + turn, 0.0);
    for (int i = 0; i < 3; i++) pose.position[i] += interval * at->u[i];
    join_body(out, part, &pose, turn, 0.0);
}

void cal_box_of_pose(const cal_world* world, int body, const cal_pose* pose, cal_box* out) {
    static const cal_box everything = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    *out = world->bodies[body].form == CAL_FORM_PLANE ? everything : cal_box_of_nothing;
    if (world->bodies[body].form == CAL_FORM_PLANE) return;
    join_body(out, &world->bodies[body], pose, 0.0, 0.0);
}

bool cal_box_meets(const cal_world* world, const cal_box* box, int other, const cal_box* others) {
    const cal_sim_body* part = &world->bodies[other];
    if (part->form != CAL_FORM_PLANE) return cal_box_overlap(box, others);
    if (part->def.motion != CAL_FIXED) return true;
    const double* plane = part->balls[0];
    double least = 0.0;
    for (int i = 0; i < 3; i++) least += plane[i] * (plane[i] > 0.0 ? box->low[i] : box->high[i]);
    return least <= plane[3];
}

// Where a body would be after an interval of group checks if it went on from the end of a piece of its motion as it does in it, and not as the next one
// begins: a decision that is made again may be from before that.
static cal_status join_beyond(cal_world* world, int body, double time, double next, const cal_motion_bounds* limits,
                              cal_box* box) {
    const cal_sim_body* part = &world->bodies[body];
    const double interval = held_longer(world), h = next - time,
                 a = sqrt(cal_dot3(limits->acceleration, limits->acceleration)) + limits->slack;
    const double pad = a * h * (0.125 * h + interval) + held_about(world, body) +
                       (part->spinning ? interval * part->reach * limits->turn : 0.0);
    cal_motion from, to;
    cal_status status = cal_body_place_at(world, body, time, &from);
    if (status == CAL_OK) status = cal_body_place_at(world, body, next, &to);
    if (status != CAL_OK) return status;
    for (int i = 0; i < 3; i++) to.pose.position[i] += interval * from.u[i];
    join_point(box, to.pose.position, part->reach + pad);
    return CAL_OK;
}

// Whether the motion of a body begins anew at just that time: it goes on otherwise than it came.
static bool turns_at(const cal_world* world, int body, double time) {
    const int component = world->bodies[body].component;
    if (component < 0) return false;
    const cal_queue* queue = &world->components[component].queue;
    const int64_t n = cal_queue_find(queue, time);
    if (n < queue->head) return false;
    const cal_saved_state* knot = cal_saved_state_at(queue, n);
    return knot->time == time && knot->kind != CAL_STEP;
}

// Where a flight ends, and where it would be after an interval of group checks if it went on as it does there.
static void join_end(const cal_sim_body* part, const cal_flight* flight, double interval, double fall, cal_box* box) {
    const double pad = part->reach + fall + interval * part->reach * flight->turn;
    double ahead[3];
    for (int i = 0; i < 3; i++) ahead[i] = flight->ends[1][i] + interval * flight->velocity[i];
    join_point(box, flight->ends[1], pad);
    join_point(box, ahead, pad);
}

// The box of a free body that flies all the time, with what it holds longer (see below); its turning rate is bounded, and nothing of the
// series is needed. Where another flight begins at its end, as after a collision, the box holds both as they are there, unless that is followed by a box of its
// own. False: it does not fly.
static bool sweep_flight(const cal_world* world, int body, double from, double to, bool followed, cal_box* box) {
    const cal_sim_body* part = &world->bodies[body];
    const double interval = held_longer(world), fall = held_about(world, body);
    cal_flight flight, next;
    if (part->component < 0 || !world->components[part->component].ops->single ||
        !cal_free_body_flight(world, body, from, to, &flight))
        return false;
    if (interval == 0.0) {
        box_flight(part, &flight, to - from, box);
        if (fall > 0.0) *box = cal_box_pad(box, fall);
        return true;
    }
    const bool turns = !followed && from < to && turns_at(world, body, to);
    if (turns && !cal_free_body_flight(world, body, to, to, &next)) return false;
    box_flight(part, &flight, to - from, box);
    join_end(part, &flight, interval, fall, box);
    if (turns) join_end(part, &next, interval, fall, box);
    *box = cal_box_pad(box, interval * part->reach * fmax(flight.turn, turns ? next.turn : 0.0) + fall);
    return true;
}

// A box holds a body for an interval of group checks longer than it says, if it went on from any time in it as it does then: what
// may join a group in that time is then a pair (contact/joining.c). Along a piece of its motion, x + T u is on a line between those of
// the ends but for what the acceleration changes u by.
static cal_status hold_longer(cal_world* world, int body, double from, double to, cal_box* box) {
    const cal_sim_body* part = &world->bodies[body];
    const double interval = held_longer(world);
    // Links join no group by being near: they are hit.
    if (part->component < 0 || !cal_body_ops(world, body)->single) return CAL_OK;
    if (cal_component_is_asleep(world, cal_body_component(world, body, to))) return CAL_OK;
    const double fall = held_about(world, body);
    cal_status status = join_ahead(world, body, to, true, fall, 0.0, box);
    double turn = 0.0;
    for (double time = from; status == CAL_OK && time < to;) {
        cal_motion_bounds limits;
        status = cal_body_bounds(world, body, time, to, &limits);
        if (status != CAL_OK) break;
        const double next = limits.until > time ? limits.until : to,
                     a = sqrt(cal_dot3(limits.acceleration, limits.acceleration)) + limits.slack;
        const int component = cal_body_component(world, body, time);
        const bool stepped = world->components[component].ops->stepped;
        if (stepped || next < to || turns_at(world, body, to))
            status = join_beyond(world, body, time, next, &limits, box);
        if (status != CAL_OK) break;
        if (!stepped) { // a body alone does go on as it does, but for its turning
            turn = fmax(turn, part->spinning ? limits.turn : 0.0);
            time = next;
            continue;
        }
        // The curve leaves its chord by a h²/8, and u that of its ends by a h.
        const double pad =
            fall + (next - time) * (a * (0.125 * (next - time) + interval) + part->reach * limits.twist * interval);
        const double bend = (next - time) * turning_acceleration(part, &limits) * (0.125 * (next - time) + interval);
        status = join_ahead(world, body, time, true, pad, bend, box);
        if (status == CAL_OK) status = join_ahead(world, body, time, false, pad, bend, box);
        time = next;
    }
    *box = cal_box_pad(box, interval * part->reach * turn + fall);
    return status;
}

static cal_status sweep(cal_world* world, int body, double from, double to, bool followed, cal_box* box) {
    if (sweep_flight(world, body, from, to, followed, box)) return CAL_OK;
    const cal_status status = cal_body_ops(world, body)->box(world, body, from, to, box);
    return status == CAL_OK ? hold_longer(world, body, from, to, box) : status;
}

// Whether a past of a body is kept, from a time on or somewhat before.
static bool has_past(const cal_world* world, const cal_sim_body* part, double from) {
    const double older = world->domain > CAL_DOMAIN_WHOLE ? 0.0 : world->window;
    return part->past_from <= from && part->past_from >= from - older;
}

// Whether a free body has gone one way since a time, and none that was undone: a box that begins there is one about its flight.
static bool goes_on_since(const cal_world* world, int body, double from) {
    const cal_sim_body* part = &world->bodies[body];
    if (part->component < 0 || has_past(world, part, from)) return false;
    const cal_component* c = &world->components[part->component];
    const cal_saved_state* newest = cal_saved_state_at(&c->queue, c->queue.tail - 1);
    return c->ops->single && newest->kind != CAL_FUSED && newest->time <= from;
}

// The ways of a body from what may come back on to a time, from which on it goes another way: what was looked at before is kept, so that a body that
// collides many times is not followed from there each time. What was undone since is in it, too, and of what may not come back any more as much as the
// world's window where that is not a domain's: a box may hold more than it must.
static cal_status sweep_past(cal_world* world, int body, double from, double time, cal_box* box) {
    cal_sim_body* part = &world->bodies[body];
    if (!has_past(world, part, from)) part->past = cal_box_of_nothing, part->past_from = part->past_until = from;
    part->past_until = lesser(part->past_until, time);
    cal_status status = CAL_OK;
    if (part->past_until < time) { // what was before `from` may be forgotten
        status = sweep(world, body, greater(part->past_until, from), time, true, box);
        if (status == CAL_OK) cal_box_extend(&part->past, box), part->past_until = time;
    }
    *box = part->past;
    return status;
}

static cal_status fail_nowhere(const cal_world* world, int body, double time, cal_status status, cal_error* error) {
    char name[64];
    // A motion that goes on from numbers that no simulation has.
    const cal_status said = status == CAL_BAD_ARGUMENT ? CAL_NOT_FINITE : status;
    return cal_fail(error, said, "%s is nowhere at %g s: %s", cal_body_name_at(world, body, name, sizeof name), time,
                    cal_status_text(said));
}

// from: what comes back may be from there on; at: where the present motion begins.
static cal_status move_box(cal_world* world, int body, double from, double at, double to, int* began,
                           cal_error* error) {
    cal_box box, past;
    cal_broad_changes changes;
    // A driven body is in all domains, and of domains only what flies is kept so.
    const bool kept = from < at && world->bodies[body].component >= 0 && world->def.loop == CAL_TIMEWARP &&
                      (world->domain == CAL_DOMAIN_WHOLE || cal_body_ops(world, body)->single) &&
                      !goes_on_since(world, body, from);
    cal_status status = sweep(world, body, kept ? at : from, to, false, &box);
    if (status == CAL_OK && kept) {
        status = sweep_past(world, body, from, at, &past);
        cal_box_extend(&box, &past);
    }
    if (status == CAL_OK) status = cal_broad_move(world->broad, body, &box, &changes);
    if (status == CAL_OK && !keep(world, changes.began, changes.began_count)) status = CAL_NO_MEMORY;
    if (status != CAL_OK) return fail_nowhere(world, body, from, status, error);
    cal_fetch_changes(world, &changes);
    for (int i = 0; i < changes.ceased_count; i++) {
        const int pair = cal_pair_find(world, body, changes.ceased[i]);
        if (pair >= 0) cal_pair_remove(world, pair);
    }
    *began = changes.began_count;
    return cal_domain_note_box(world, body, error);
}

// Whether a free body's change is settled after this: its pairs are then predicted from where it changed, which is not later
// (state/graph.c), unless it changes because a group that it was in decides again.
static bool is_to_change(const cal_world* world, int body, double time) {
    const int own = world->bodies[body].component;
    if (world->change_count == 0 || own < 0) return false;
    const cal_component* c = &world->components[own];
    const cal_change* noted = cal_find_change(world, own);
    return noted != NULL && noted->time <= time && c->ops != NULL && c->ops->single && !cal_component_is_fused(c);
}

static cal_status begin_pairs(cal_world* world, int body, int began, double time, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < began; i++) {
        const int other = world->partners[i];
        if (!cal_may_collide(world, body, other) || cal_pair_find(world, body, other) >= 0) continue;
        int pair;
        status = cal_pair_add(world, body, other, &pair, error);
        if (status == CAL_OK && !is_to_change(world, other, time)) status = cal_pair_predict(world, pair, time, error);
    }
    return status;
}

cal_status cal_box_begin_pairs(cal_world* world, int body, const cal_broad_changes* changes, double time,
                               cal_error* error) {
    if (!keep(world, changes->began, changes->began_count))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs");
    cal_fetch_bodies(world, &(cal_fetched){{changes->began}, {changes->began_count}});
    return begin_pairs(world, body, changes->began_count, time, error);
}

// From when on what comes back may be, before a time.
static double since(const cal_world* world, double time) {
    return world->lag > 0.0 ? fmin(time, fmax(time - world->lag, world->gvt)) : time;
}

// Until when a box that begins at a time holds a body, with an event at its end.
static cal_status begin_box(cal_world* world, int body, double time, cal_error* error) {
    const cal_presence here = cal_body_presence(world, body);
    const int component = cal_body_component(world, body, time);
    const cal_component_ops* ops = component >= 0 ? world->components[component].ops : cal_body_ops(world, body);
    double length = ops->room(world, component, time);
    if (component >= 0 && !ops->stepped) {
        cal_flight flight;
        cal_motion at;
        const double from = since(world, time);
        const bool one_way = from < time && goes_on_since(world, body, from);
        if (ops->single && cal_free_body_flight(world, body, one_way ? from : time, time, &flight)) {
            cal_box past;
            // What is searched for impacts, again with each box, has longer ones.
            const bool more =
                from < time && world->bodies[body].form == CAL_FORM_BALLS && world->def.loop == CAL_TIMEWARP;
            if (more && one_way) box_flight(&world->bodies[body], &flight, time - from, &past);
            const cal_status status = more && !one_way ? sweep_past(world, body, from, time, &past) : CAL_OK;
            if (status != CAL_OK) return status;
            length = box_length(world, body, length, flight.velocity, flight.turn, more ? &past : NULL);
        } else { // how it is turned does not matter
            const cal_status status =
                cal_body_failed(world, body, ops->motion(world, component, body, time, time, false, &at), time, error);
            if (status != CAL_OK) return status;
            length = box_length(world, body, length, at.u, 0.0, NULL);
            if (ops->ahead != NULL) length = ops->ahead(world, component, time, length);
        }
    }
    *here.box_end = time + length;
    // The retroactive loop makes boxes of its steps: an event here would end them.
    const bool none = ops->stepped || world->def.loop == CAL_RETROACTIVE;
    cal_events_schedule(&world->events, *here.box_event, none ? (double)INFINITY : *here.box_end, (uint64_t)body);
    return CAL_OK;
}

static cal_status renew(cal_world* world, int body, double time, int* began, cal_error* error) {
    const cal_status status = begin_box(world, body, time, error);
    if (status != CAL_OK) return status;
    return move_box(world, body, since(world, time), time, *cal_body_presence(world, body).box_end, began, error);
}

bool cal_box_of_start(const cal_world* world, int body, double time, double* end, cal_box* out) {
    const cal_sim_body* part = &world->bodies[body];
    cal_flight flight;
    if (part->component < 0 || world->def.loop != CAL_TIMEWARP) return false;
    const cal_component_ops* ops = world->components[part->component].ops;
    if (!ops->single || !cal_free_body_flight(world, body, time, time, &flight)) return false;
    const double room = ops->room(world, part->component, time);
    *end = time + box_length(world, body, room, flight.velocity, flight.turn, NULL);
    return sweep_flight(world, body, time, *end, false, out);
}

cal_status cal_box_place(cal_world* world, int body, double time, const cal_box* known, double end, cal_error* error) {
    const cal_presence here = cal_body_presence(world, body);
    cal_box box;
    cal_status status = CAL_OK;
    if (known != NULL) {
        *here.box_end = end;
        cal_events_schedule(&world->events, *here.box_event, end, (uint64_t)body);
    } else {
        status = begin_box(world, body, time, error);
        if (status != CAL_OK) return status;
        status = sweep(world, body, time, *here.box_end, false, &box);
    }
    if (status == CAL_OK) status = cal_broad_move(world->broad, body, known != NULL ? known : &box, NULL);
    return status == CAL_OK ? CAL_OK : fail_nowhere(world, body, time, status, error);
}

cal_status cal_box_sweep(cal_world* world, int body, double from, double to, cal_error* error) {
    int began = 0;
    *cal_body_presence(world, body).box_end = to;
    const cal_status status = move_box(world, body, from, to, to, &began, error);
    return status == CAL_OK ? begin_pairs(world, body, began, from, error) : status;
}

cal_status cal_box_renew(cal_world* world, int body, double time, cal_error* error) {
    int began = 0;
    cal_pairs_gather(world);
    cal_status status = renew(world, body, time, &began, error);
    if (status == CAL_OK) status = begin_pairs(world, body, began, time, error);
    return cal_pairs_predict(world, status, error);
}

// Whether a pair is one that a group has been in charge of since it began, of two that stay in it: nothing is to be searched.
static bool stays_off(const cal_world* world, const cal_pair* pair, int other, int group) {
    if (!pair->off || group < 0) return false;
    return world->bodies[other].component < 0 || cal_group_has(world, group, world->bodies[other].component);
}

static cal_status change(cal_world* world, int body, int group, double time, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    if (part->form == CAL_FORM_NONE || (world->def.loop == CAL_RETROACTIVE && !world->placing)) return CAL_OK;
    int began = 0;
    cal_status status = renew(world, body, time, &began, error);
    if (status == CAL_OK) status = cal_domain_note_change(world, body, time, error);
    for (int i = 0; status == CAL_OK && i < part->pair_count; i++) {
        const cal_pair* pair = &world->table.pairs[part->pairs[i]];
        const int other = pair->body[0] == body ? pair->body[1] : pair->body[0];
        if (stays_off(world, pair, other, group) || is_to_change(world, other, time)) continue;
        status = cal_pair_predict(world, part->pairs[i], time, error);
    }
    return status == CAL_OK ? begin_pairs(world, body, began, time, error) : status;
}

cal_status cal_body_changed(cal_world* world, int body, double time, cal_error* error) {
    return change(world, body, -1, time, error);
}

cal_status cal_body_stepped(cal_world* world, int body, int group, double time, cal_error* error) {
    cal_fetch_partners(world, &body, 1);
    return change(world, body, group, time, error);
}
