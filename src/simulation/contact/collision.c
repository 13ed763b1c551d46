// A collision: both bodies' motions begin anew at its time, linked by a junction, with an impulse between them. When they
// part so slowly that gravity brings them back before the next group check, they stay in contact: a fusion.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group_work.h"
#include "simulation/contact/impact.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/fetch.h"
#include "simulation/event/log.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

#define FACE_MARGIN 1e-3       // of the smaller reach: points this near are hit at once
#define STOPPED 1e-6           // of the speed of approach: what is left of it is the sweeps' error
enum { MOST_STRIKES = 10000 }; // of one body at one time, those that were rolled back and done again included
// What is light between two that are heavy and close in on it goes back and forth between them, faster and faster: infinitely often until
// they meet. So many collisions, each within this part of a window of the last one, are one impact of all that touch.
enum { MOST_IN_A_ROW = 64 };
static const double in_a_row = 1e-9;

static cal_status link_states(cal_world* world, const int components[2], int* junction, cal_error* error) {
    *junction = cal_junction_create(world);
    bool linked = *junction >= 0;
    for (int i = 0; linked && i < 2; i++)
        if (components[i] >= 0 && (i == 0 || components[1] != components[0]))
            linked = cal_junction_add(world, *junction, components[i], world->components[components[i]].queue.tail - 1);
    return linked ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for the state graph");
}

static void relative_velocity(const cal_motion at[2], const double point[3], double out[3]) {
    double other[3];
    cal_point_velocity(&at[0], point, out);
    cal_point_velocity(&at[1], point, other);
    for (int i = 0; i < 3; i++) out[i] -= other[i];
}

// What a collision does: velocities are changed, and this is what the log and the fusion need to know.
typedef struct outcome {
    double impulse[3], normal[3], point[3];
    double parting, restitution;
    double work; // of joints whose motion is prescribed
} outcome;

static void set_velocity(cal_world* world, int body, double time, const cal_motion* at, const double u[3],
                         const double w[3]) {
    const cal_numbers n = cal_body_numbers(world, body, time);
    if (n.velocity == NULL) return; // fixed or driven
    memcpy(n.velocity, u, 3 * sizeof *u);
    cal_unrotate3(at->pose.rotation, w, n.angular);
}

static cal_status meet_at_point(cal_world* world, const int bodies[2], const cal_motion at[2], double friction,
                                double time, outcome* out, cal_error* error) {
    double relative[3], K[9] = {0}, opposite[3], change[3];
    relative_velocity(at, out->point, relative);
    // Two bodies of one component get the two impulses at once.
    const bool itself = world->bodies[bodies[0]].component == world->bodies[bodies[1]].component;
    const int count = itself ? 1 : 2, other = itself ? bodies[1] : -1;
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < count; i++)
        status = cal_body_response(world, bodies[i], other, time, &at[i], out->point, K, error);
    if (status != CAL_OK) return status;
    const double approach = -cal_dot3(out->normal, relative);
    if (approach > 0.0) cal_impulse(K, out->normal, relative, out->restitution, friction, out->impulse);
    for (int i = 0; i < 3; i++) opposite[i] = -out->impulse[i];
    for (int i = 0; status == CAL_OK && i < count; i++)
        status = cal_body_apply(world, bodies[i], other, time, &at[i], out->point, i == 0 ? out->impulse : opposite,
                                &out->work, error);
    cal_rotate3(K, out->impulse, change);
    out->parting = cal_dot3(out->normal, change) - approach;
    return status;
}

// Whether the point that collides does not approach after a collision over several points; where friction at the others, or the
// limit on the energy, has left it approaching, the same collision would come again at once.
static bool parts(const cal_motion at[2], const cal_face_result* faces, const outcome* o) {
    cal_motion after[2] = {at[0], at[1]};
    double relative[3];
    for (int i = 0; i < 2; i++) {
        memcpy(after[i].u, faces->u[i], sizeof after[i].u);
        memcpy(after[i].w, faces->w[i], sizeof after[i].w);
    }
    relative_velocity(at, o->point, relative);
    const double before = fabs(cal_dot3(o->normal, relative));
    relative_velocity(after, o->point, relative);
    return cal_dot3(o->normal, relative) >= -STOPPED * before;
}

static cal_status meet(cal_world* world, const cal_pair* pair, const cal_motion at[2], double time, outcome* out,
                       cal_error* error) {
    cal_separation gap;
    double friction;
    *out = (outcome){0};
    cal_world_contact(world, pair, at, &gap);
    memcpy(out->normal, gap.normal, sizeof out->normal);
    for (int i = 0; i < 3; i++) out->point[i] = 0.5 * (gap.point_a[i] + gap.point_b[i]);
    cal_material(world, pair->body[0], gap.piece_a, pair->body[1], gap.piece_b, &friction, &out->restitution);
    cal_face_result faces;
    const double margin = FACE_MARGIN * fmin(world->bodies[pair->body[0]].reach, world->bodies[pair->body[1]].reach);
    if (pair->kind != CAL_PAIR_GENERAL || !cal_face_impulse(world, pair->body, at, margin, &faces) ||
        !parts(at, &faces, out))
        return meet_at_point(world, pair->body, at, friction, time, out, error);
    memcpy(out->impulse, faces.impulse, sizeof out->impulse);
    out->parting = faces.parting;
    for (int i = 0; i < 2; i++) set_velocity(world, pair->body[i], time, &at[i], faces.u[i], faces.w[i]);
    return CAL_OK;
}

// A body that time does not get past: what a collision gives it is taken away again, for instance by a callback.
static cal_status count_strikes(cal_world* world, const int bodies[2], double time, cal_error* error) {
    for (int i = 0; i < 2; i++) {
        cal_sim_body* part = &world->bodies[bodies[i]];
        if (part->component < 0) continue;
        part->hits_at_time = part->hit_at == time ? part->hits_at_time + 1 : 1;
        if (time > part->hit_at) part->lasted = time - part->hit_at;
        part->hit_at = time;
        if (part->hits_at_time <= MOST_STRIKES) continue;
        char name[96], other[96];
        const cal_body_id ids[2] = {cal_world_body(world, bodies[i]), cal_world_body(world, bodies[1 - i])};
        return cal_fail(error, CAL_NOT_CONVERGED,
                        "body '%s' collides for ever at t = %.9g s, just now with '%s': look at callbacks that set "
                        "velocities, and at bodies that are wedged in",
                        cal_world_body_name(world, ids[0], name, sizeof name), time,
                        cal_world_body_name(world, ids[1], other, sizeof other));
    }
    return CAL_OK;
}

// How many collisions a component has had just before a time, one right after the other: a number of its states, so that a repetition
// comes to the same one.
static int64_t strikes_before(const cal_world* world, int component, double time) {
    if (component < 0) return 0;
    const cal_queue* queue = &world->components[component].queue;
    const int64_t n = cal_queue_find(queue, time);
    const cal_saved_state* last = n >= queue->head ? cal_saved_state_at(queue, n) : NULL;
    const bool struck = last != NULL && last->kind == CAL_SEGMENT && last->callback < 0 && last->junction >= 0;
    return struck && time - last->time <= in_a_row * world->window ? last->tick + 1 : 0;
}

static void note_strikes(cal_world* world, int component, int64_t strikes) {
    if (component < 0) return;
    const cal_queue* queue = &world->components[component].queue;
    cal_saved_state* newest = cal_saved_state_at(queue, queue->tail - 1);
    if (newest->kind == CAL_SEGMENT && newest->callback < 0) newest->tick = strikes;
}

static bool is_stepped(const cal_world* world, int component) {
    return component >= 0 && world->components[component].ops->stepped;
}

// What parts more slowly stays in contact.
static double rest_speed(const cal_world* world, const cal_pair* pair, double restitution) {
    return cal_group_rest_speed(world, restitution, cal_group_pair_size(world, pair->body[0], pair->body[1]));
}

// Whether an impact is left to a group, in which whatever else touches takes part: of a multibody that parts so slowly that it stays
// in contact; or of bodies that come to no end of colliding.
static bool is_soft(cal_world* world, const cal_pair* pair, const cal_motion at[2], bool endless) {
    if (!world->group_ops->takes_impacts) return false;
    const cal_sim_body *a = &world->bodies[pair->body[0]], *b = &world->bodies[pair->body[1]];
    if (!endless && cal_body_ops(world, pair->body[0])->single && cal_body_ops(world, pair->body[1])->single)
        return false;
    if (a->first_collision_callback >= 0 || b->first_collision_callback >= 0) return false;
    cal_separation gap;
    double friction, restitution, point[3], relative[3];
    cal_world_contact(world, pair, at, &gap);
    for (int i = 0; i < 3; i++) point[i] = 0.5 * (gap.point_a[i] + gap.point_b[i]);
    cal_material(world, pair->body[0], gap.piece_a, pair->body[1], gap.piece_b, &friction, &restitution);
    relative_velocity(at, point, relative);
    const double approach = -cal_dot3(gap.normal, relative);
    return approach > 0.0 &&
           ((endless && restitution < 1.0) || restitution * approach < rest_speed(world, pair, restitution));
}

// Pairs that are hit at once.
typedef struct landing {
    int *pairs, count, capacity;
} landing;

static bool add_landing(landing* l, int pair) {
    if (!cal_grow((void**)&l->pairs, &l->capacity, l->count, sizeof *l->pairs)) return false;
    l->pairs[l->count++] = pair;
    return true;
}

// Where a link of a multibody lands softly, others that are as good as there on something that does not move by itself land with it: which
// of them is first is not known, since positions are to the tolerance, and no better than what may overlap.
static cal_status find_landing(cal_world* world, int body, double time, landing* l, cal_error* error) {
    const cal_component* c = &world->components[world->bodies[body].component];
    const int first = l->pairs[0];
    for (int link = c->body; link < c->body + c->weight; link++) {
        const cal_presence here = cal_body_presence(world, link);
        for (int k = 0; k < *here.pair_count; k++) {
            const int number = (*here.pairs)[k];
            const cal_pair* pair = &world->table.pairs[number];
            const int other = pair->body[0] == link ? pair->body[1] : pair->body[0];
            if (number == first || pair->off || world->bodies[other].component >= 0) continue;
            cal_motion at[2];
            cal_status status = CAL_OK;
            for (int i = 0; status == CAL_OK && i < 2; i++)
                status =
                    cal_body_failed(world, pair->body[i], cal_body_at(world, pair->body[i], time, &at[i]), time, error);
            if (status != CAL_OK) return status;
            const double near = fmax(world->def.group_tolerance, CAL_WORK_OVERLAP) * world->bodies[link].reach;
            cal_separation gap;
            cal_world_distance(world, pair->body[0], &at[0], pair->body[1], &at[1], near, NULL, &gap);
            if (gap.distance < near && is_soft(world, pair, at, false) && !add_landing(l, number))
                return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
        }
    }
    return CAL_OK;
}

static cal_status fuse_landing(cal_world* world, int pair, const int bodies[2], double time, int junction,
                               cal_error* error) {
    landing l = {0};
    cal_status status =
        add_landing(&l, pair) ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    for (int i = 0; status == CAL_OK && i < 2; i++)
        if (world->bodies[bodies[i]].component >= 0 && !cal_body_ops(world, bodies[i])->single)
            status = find_landing(world, bodies[i], time, &l, error);
    if (status == CAL_OK) status = cal_fuse(world, l.pairs, l.count, time, junction, error);
    cal_free(l.pairs);
    return status;
}

// What a body that is moved does in an impact: the impulse it gives over the velocity of its point.
static double driven_work(const cal_world* world, const int bodies[2], const cal_motion at[2], const outcome* o) {
    double work = o->work;
    for (int i = 0; i < 2; i++) {
        double velocity[3];
        if (world->bodies[bodies[i]].component >= 0) continue;
        cal_point_velocity(&at[i], o->point, velocity);
        work += (i == 0 ? -1.0 : 1.0) * cal_dot3(o->impulse, velocity);
    }
    return work;
}

// The impact, with what it does to the energy.
static cal_status strike(cal_world* world, const cal_pair* pair, const cal_motion at[2], double time, outcome* o,
                         cal_error* error) {
    double before = 0.0, after = 0.0;
    cal_status status = cal_bodies_energy(world, pair->body, 2, time, &before);
    if (status == CAL_OK) status = meet(world, pair, at, time, o, error);
    if (status == CAL_OK) status = cal_bodies_energy(world, pair->body, 2, time, &after);
    if (status != CAL_OK) return status;
    const double driven = driven_work(world, pair->body, at, o);
    cal_bodies_flow(world, pair->body, 2, time, driven, before - after + driven);
    return CAL_OK;
}

// Callbacks that hear of it: what they do to velocities is work.
static cal_status tell(cal_world* world, const int bodies[2], const outcome* o, double time, cal_error* error) {
    double before = 0.0, after = 0.0;
    if (world->bodies[bodies[0]].first_collision_callback < 0 && world->bodies[bodies[1]].first_collision_callback < 0)
        return CAL_OK;
    cal_status status = cal_bodies_energy(world, bodies, 2, time, &before);
    if (status == CAL_OK) status = cal_call_collision(world, bodies[0], bodies[1], o->impulse, time, error);
    if (status == CAL_OK) status = cal_bodies_energy(world, bodies, 2, time, &after);
    if (status == CAL_OK) cal_bodies_flow(world, bodies, 2, time, after - before, 0.0);
    return status;
}

cal_status cal_world_collide(cal_world* world, int pair, double time, cal_error* error) {
    const cal_pair p = world->table.pairs[pair];
    const int* bodies = p.body;
    int components[2], junction = -1;
    int64_t strikes[2] = {0, 0};
    cal_fetch_partners(world, bodies, 2);
    cal_status status = count_strikes(world, bodies, time, error);
    for (int i = 0; status == CAL_OK && i < 2; i++) {
        components[i] = cal_body_component(world, bodies[i], time);
        strikes[i] = strikes_before(world, components[i], time);
        if (i == 0 || components[1] != components[0]) status = cal_begin_segment(world, components[i], time, error);
    }
    cal_motion at[2];
    outcome o;
    for (int i = 0; status == CAL_OK && i < 2; i++)
        status = cal_body_failed(world, bodies[i], cal_body_at(world, bodies[i], time, &at[i]), time, error);
    // What else presses against a member of a group takes part in the impact: it is one of the group's step.
    const bool inner = status == CAL_OK && cal_group_is_inner(world, bodies[0], bodies[1]) &&
                       (is_stepped(world, components[0]) || is_stepped(world, components[1]));
    const bool endless = strikes[0] >= MOST_IN_A_ROW || strikes[1] >= MOST_IN_A_ROW;
    const bool inside = inner || (status == CAL_OK && is_soft(world, &p, at, endless));
    if (status == CAL_OK && !inside) status = strike(world, &p, at, time, &o, error);
    if (status == CAL_OK) status = link_states(world, components, &junction, error);
    // What a group's step pushes against a body that parts from it by its velocity: there is nothing to stop, and they go on together.
    const bool pressed = status == CAL_OK && !inside && cal_dot3(o.impulse, o.impulse) == 0.0 &&
                         (is_stepped(world, components[0]) || is_stepped(world, components[1]));
    if (status == CAL_OK && (inside || pressed)) {
        status = fuse_landing(world, pair, bodies, time, junction, error);
        return status == CAL_OK ? cal_world_update_changed(world, error) : status;
    }
    if (status != CAL_OK) return status;
    for (int i = 0; i < 2; i++) note_strikes(world, components[i], strikes[i]);
    cal_world_event event = {.time = time,
                             .body = {cal_world_body(world, bodies[0]), cal_world_body(world, bodies[1])},
                             .impulse = sqrt(cal_dot3(o.impulse, o.impulse)),
                             .fusion = o.parting < rest_speed(world, &p, o.restitution)};
    memcpy(event.normal, o.normal, sizeof event.normal);
    memcpy(event.point, o.point, sizeof event.point);
    world->report.discontinuities++;
    world->report.collisions++;
    status = tell(world, bodies, &o, time, error);
    for (int i = 0; status == CAL_OK && i < 2; i++) status = cal_component_refresh(world, components[i], error);
    if (status == CAL_OK) status = cal_log_add(&world->log, &event, junction, error);
    if (status == CAL_OK && event.fusion) status = cal_fuse(world, &pair, 1, time, junction, error);
    return status == CAL_OK ? cal_world_update_changed(world, error) : status;
}
