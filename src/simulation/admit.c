// Bodies that come into a world, at its start or while it runs: boxes and pairs; what overlaps is reported or moved apart.
//
// At the start everything is new. Later what has begun stays where it is, and only what is new is moved. What cannot be taken in
// stays new, and the world is as it was.
#include "base/memory.h"
#include "model/angle.h"
#include "simulation/flow.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/fetch.h"
#include "simulation/event/pairs.h"
#include "simulation/first_boxes.h"
#include "simulation/first_looks.h"
#include "simulation/members.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of a reach: the gap that is left where bodies are moved apart. Nothing that a world commits overlaps by more, so that its states can be starts:
// such overlaps are parted whether or not others may be.
#define PARTED 1e-6
static const double fall_between_checks = 0.05; // of a size
// After so many rounds masses do not count: what is light between two that are heavier would be parted from the one into the other, as often as the ratio
// of their masses.
enum { ROUNDS_BY_MASS = 100, MOST_ROUNDS = 2000, NAMED_PAIRS = 3 };

// --- Overlaps -----------------------------------------------------------------------------------------------------------------

typedef struct overlaps {
    int count, slight; // slight ones apart, where others are not moved
    int stuck;         // of which neither can be moved
    double deepest;
    char text[160];
} overlaps;

static void name_overlap(const cal_world* world, const cal_pair* pair, double depth, overlaps* found) {
    if (found->count >= NAMED_PAIRS) return;
    char a[32], b[32];
    const size_t used = strlen(found->text);
    snprintf(found->text + used, sizeof found->text - used, "%s%.20s and %.20s by %.3g m", used > 0 ? ", " : "",
             cal_body_name_at(world, pair->body[0], a, sizeof a), cal_body_name_at(world, pair->body[1], b, sizeof b),
             depth);
}

static bool is_new(const cal_world* world, int body) { return world->bodies[body].stage == CAL_NEW; }

// Pairs of what has begun are none of our business; at the start nothing has.
static bool has_new(const cal_world* world, const cal_pair* pair) {
    if (pair->event < 0 || !world->started) return pair->event >= 0;
    return is_new(world, pair->body[0]) || is_new(world, pair->body[1]);
}

// The mass that goes along when a body is moved apart from another one; what has begun is not moved.
static double loose_mass(const cal_world* world, int body) {
    return is_new(world, body) ? cal_body_ops(world, body)->loose_mass(world, body) : 0.0;
}

// Where neither of two can be moved they pass through each other, unless one of them moves by itself: then it is refused.
static bool may_overlap(const cal_world* world, const cal_pair* pair) {
    for (int i = 0; i < 2; i++) {
        const int body = pair->body[i];
        if (!is_new(world, body) && cal_body_ops(world, body)->loose_mass(world, body) > 0.0) return false;
    }
    return true;
}

// Links of one multibody are where its joints put them.
static bool are_links(const cal_world* world, const cal_pair* pair) {
    return world->bodies[pair->body[0]].component == world->bodies[pair->body[1]].component;
}

// Moves two bodies apart, by mass the lighter one further; a link takes its multibody along. moved: not both are held by the ground.
static cal_status part_pair(cal_world* world, const cal_pair* pair, const cal_separation* gap, double by, bool by_mass,
                            bool* moved, cal_error* error) {
    double share[2];
    for (int i = 0; i < 2; i++) {
        const double mass = loose_mass(world, pair->body[i]);
        share[i] = mass > 0.0 ? 1.0 / (by_mass ? mass : 1.0) : 0.0;
    }
    const double sum = share[0] + share[1];
    char names[2][64];
    if (sum > 0.0 && !isfinite(by * by)) // nor are the places that they would come to
        return cal_fail(error, CAL_NOT_FINITE,
                        "%s and %s overlap by %g m at the start, the square of which is no number",
                        cal_body_name_at(world, pair->body[0], names[0], sizeof names[0]),
                        cal_body_name_at(world, pair->body[1], names[1], sizeof names[1]), by);
    for (int i = 0; i < 2 && sum > 0.0; i++) {
        if (share[i] == 0.0) continue;
        double move[3];
        for (int k = 0; k < 3; k++) move[k] = (i == 0 ? 1.0 : -1.0) * by * share[i] / sum * gap->normal[k];
        // Boxes have looked ahead: states that were made for that are of a motion from the old place.
        cal_status status = cal_rollback_to(world, world->bodies[pair->body[i]].component, world->time, error);
        world->change_count = 0; // all of them are looked at anew
        if (status == CAL_OK) status = cal_body_ops(world, pair->body[i])->shift(world, pair->body[i], move, error);
        if (status != CAL_OK) return status;
    }
    *moved = sum > 0.0;
    return CAL_OK;
}

typedef struct numbered_pair {
    uint64_t key;
    int pair;
} numbered_pair;

static int order_of_keys(const void* a, const void* b) {
    const uint64_t x = ((const numbered_pair*)a)->key, y = ((const numbered_pair*)b)->key;
    return x < y ? -1 : x > y;
}

// Whether boxes about two bodies as they are overlap; those that cannot be followed are looked at in any case.
static bool is_near(cal_world* world, const cal_pair* pair) {
    cal_box boxes[2];
    for (int i = 0; i < 2; i++) {
        cal_motion at;
        if (cal_body_at(world, pair->body[i], world->time, &at) != CAL_OK) return true;
        cal_box_of_pose(world, pair->body[i], &at.pose, &boxes[i]);
    }
    return cal_box_meets(world, &boxes[0], pair->body[1], &boxes[1]) &&
           cal_box_meets(world, &boxes[1], pair->body[0], &boxes[0]);
}

// Pairs that are to be looked at, *count of them: where bodies end depends on who is moved first. At the start the table is in the order in which boxes were
// put there; later which pair has which number depends on what was there before, and how often it was taken back, and which pairs there are on how far boxes of
// what has begun look ahead. So those that may overlap now are looked at, in the order of their bodies. NULL: no memory.
static numbered_pair* list_new(cal_world* world, int* count) {
    numbered_pair* list = cal_allocate((size_t)world->table.pair_count + 1, sizeof *list);
    *count = 0;
    for (int i = 0; list != NULL && i < world->table.pair_count; i++) {
        const cal_pair* pair = &world->table.pairs[i];
        if (has_new(world, pair) && (!world->started || is_near(world, pair)))
            list[(*count)++] = (numbered_pair){cal_pair_key(pair->body[0], pair->body[1]), i};
    }
    if (list != NULL && world->started) qsort(list, (size_t)*count, sizeof *list, order_of_keys);
    return list;
}

// looks: at all pairs, before anybody was moved; may be NULL.
static cal_status look_at_listed(cal_world* world, bool move, int round, const cal_first_look* looks,
                                 const numbered_pair* list, int count, overlaps* found, cal_error* error) {
    for (int k = 0; k < count; k++) {
        const int i = list[k].pair;
        const cal_pair* pair = &world->table.pairs[i];
        if (looks == NULL) cal_fetch_pairs(world, i);
        if (!has_new(world, pair)) continue;
        if (looks != NULL && found->count == 0 && looks[i].done && looks[i].depth == 0.0) {
            cal_take_look(world, &looks[i]);
            continue;
        }
        cal_separation gap;
        double depth, size;
        const cal_status status = cal_find_overlap(world, pair, &gap, &depth, &size, error);
        if (status != CAL_OK) return status;
        if (depth == 0.0 || are_links(world, pair)) continue;
        if (!move && depth <= PARTED * size) {
            found->slight++;
            found->deepest = fmax(found->deepest, depth);
            continue;
        }
        bool moved = true;
        cal_status done =
            move ? part_pair(world, pair, &gap, PARTED * size + depth, round < ROUNDS_BY_MASS, &moved, error) : CAL_OK;
        if (done == CAL_OK && !moved && depth <= PARTED * size) continue; // they touch
        const bool ignored = done == CAL_OK && !moved && may_overlap(world, pair);
        if (ignored) done = cal_world_ignore_overlap(world, i, depth, error);
        if (done != CAL_OK) return done;
        if (ignored) continue;
        found->stuck += !moved;
        name_overlap(world, pair, depth, found);
        found->count++;
        found->deepest = fmax(found->deepest, depth);
    }
    return CAL_OK;
}

static cal_status look_for_overlaps(cal_world* world, bool move, int round, const cal_first_look* looks,
                                    overlaps* found, cal_error* error) {
    int count;
    *found = (overlaps){0};
    numbered_pair* list = list_new(world, &count);
    if (list == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d pairs of bodies", world->table.pair_count);
    const cal_status status = look_at_listed(world, move, round, looks, list, count, found, error);
    cal_free(list);
    return status;
}

// A fixed body, whose box is for good; who is near it is found from here on where nobody else looks for it.
static cal_status insert_fixed(cal_world* world, int body, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    cal_broad_changes changes;
    part->box_end = (double)INFINITY;
    const cal_status status =
        part->form == CAL_FORM_PLANE
            ? cal_broad_move_plane(world->broad, body, part->balls[0], part->balls[0][3], &changes)
            : cal_broad_move(world->broad, body, &part->solid->box, &changes);
    if (status != CAL_OK) return cal_fail(error, status, "a fixed body has no box: %s", cal_status_text(status));
    return cal_box_begin_pairs(world, body, &changes, world->time, error);
}

static cal_status insert_boxes(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < world->body_count; i++) {
        const cal_sim_body* part = &world->bodies[i];
        if (is_new(world, i) && part->form != CAL_FORM_NONE && part->def.motion == CAL_FIXED)
            status = insert_fixed(world, i, error);
    }
    return status == CAL_OK ? cal_world_first_boxes(world, error) : status;
}

// Links of one multibody that overlap pass through each other, but where that is no more than states of a world have: these touch.
static cal_status leave_out_links(cal_world* world, cal_error* error) {
    int count;
    numbered_pair* list = list_new(world, &count);
    cal_status status = CAL_OK;
    if (list == NULL)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for %d pairs of bodies", world->table.pair_count);
    for (int k = 0; status == CAL_OK && k < count; k++) {
        const cal_pair* pair = &world->table.pairs[list[k].pair];
        if (!has_new(world, pair) || !are_links(world, pair)) continue;
        cal_separation gap;
        double depth, size;
        status = cal_find_overlap(world, pair, &gap, &depth, &size, error);
        if (status == CAL_OK && depth > PARTED * size)
            status = cal_world_ignore_overlap(world, list[k].pair, depth, error);
    }
    cal_free(list);
    return status;
}

// Bodies that were moved apart may meet others, so all boxes are made anew in every round.
static cal_status resolve_overlaps(cal_world* world, cal_error* error) {
    overlaps found;
    const cal_status ignored_overlaps = leave_out_links(world, error);
    if (ignored_overlaps != CAL_OK) return ignored_overlaps;
    for (int round = 0;; round++) {
        const bool move = world->def.separate || round > 0;
        cal_first_look* looks = cal_look_first(world, false);
        cal_status status = look_for_overlaps(world, move, round, looks, &found, error);
        cal_free(looks);
        if (status != CAL_OK || found.count + found.slight == 0) return status;
        const bool refused = (!move && found.count > 0) || found.stuck > 0;
        if (round == 0 && !refused) {
            world->report.start_overlaps += found.count + found.slight;
            world->report.start_depth = fmax(world->report.start_depth, found.deepest);
        }
        if (refused && world->started)
            return cal_fail(
                error, CAL_BAD_MODEL,
                "what was added at %g s overlaps in %d pair%s of bodies: %s%s; it is still new: remove it%s",
                world->time, found.count, found.count == 1 ? "" : "s", found.text,
                found.count > NAMED_PAIRS ? ", …" : "",
                found.stuck > 0 ? "" : ", or let the world move it (cal_world_def.separate)");
        if (refused)
            return cal_fail(error, CAL_BAD_MODEL,
                            "%d pair%s of bodies overlap%s at the start: %s%s; move them apart, or let "
                            "the world do it (--separate, in C cal_world_def.separate)",
                            found.count, found.count == 1 ? "" : "s", found.count == 1 ? "s" : "", found.text,
                            found.count > NAMED_PAIRS ? ", …" : "");
        if (round == MOST_ROUNDS)
            return cal_fail(error, CAL_BAD_MODEL, "%d pairs of bodies still overlap after %d attempts to part them: %s",
                            found.count, (int)MOST_ROUNDS, found.text);
        for (int i = 0; status == CAL_OK && i < world->body_count; i++)
            if (is_new(world, i) && world->bodies[i].component >= 0 && world->bodies[i].form != CAL_FORM_NONE)
                status = cal_box_renew(world, i, world->time, error);
        if (status != CAL_OK) return status;
    }
}

// Half of the largest edge of a box about balls about the shapes of a body, which is the radius of its ball where it has one shape.
static double size_of(const cal_sim_body* part) {
    double low[3] = {0}, high[3] = {0}, most = 0.0;
    for (int i = 0; i < part->shape_count; i++) {
        const cal_shape_def* shape = &part->shapes[i];
        const cal_mesh_def* mesh = &part->meshes[i];
        const double* s = shape->size;
        double radius = 0.0;
        switch (shape->kind) {
        case CAL_SPHERE: radius = s[0]; break;
        case CAL_CAPSULE: radius = s[0] + s[1]; break;
        case CAL_CYLINDER: radius = sqrt(s[0] * s[0] + s[1] * s[1]); break;
        case CAL_ELLIPSOID: radius = fmax(s[0], fmax(s[1], s[2])); break;
        case CAL_BOX: radius = sqrt(cal_dot3(s, s)); break;
        case CAL_PLANE: break;
        case CAL_MESH:
        case CAL_HEIGHT_FIELD:
            for (int k = 0; k < mesh->vertex_count; k++)
                radius = fmax(radius, sqrt(cal_dot3(mesh->vertices + 3 * k, mesh->vertices + 3 * k)));
        }
        for (int k = 0; k < 3; k++) {
            const double from = shape->position[k] - radius, to = shape->position[k] + radius;
            low[k] = i == 0 ? from : fmin(low[k], from);
            high[k] = i == 0 ? to : fmax(high[k], to);
        }
    }
    for (int k = 0; k < 3; k++) most = fmax(most, 0.5 * (high[k] - low[k]));
    return most;
}

// The smallest body that moves, and the fastest that any point of one is at the start.
static double smallest_moving(const cal_world* world, double* fastest) {
    double size = (double)INFINITY;
    *fastest = 0.0;
    for (int i = 0; i < world->body_count; i++) {
        const cal_sim_body* part = &world->bodies[i];
        const cal_world_body_def* def = &part->def;
        if (part->stage == CAL_REMOVED || def->motion != CAL_MOVING) continue;
        const double own = size_of(part), spin = sqrt(cal_dot3(def->angular_velocity, def->angular_velocity));
        if (own > 0.0) size = fmin(size, own);
        *fastest = fmax(*fastest, sqrt(cal_dot3(def->velocity, def->velocity)) + own * spin);
    }
    return size;
}

// Whether what moves a multibody is known before: gravity, springs and motors of joints. No tendon, medium, prescribed motion or callback. Dampers,
// dry friction and rigid stops only make it slower.
static bool is_known(const cal_multibody* m) {
    const cal_model* model = m->engine->model;
    bool known = m->first_callback == 0 && !cal_model_has_coupled_forces(model) && !cal_model_is_moved(model);
    for (int i = 0; known && i < model->joint_count; i++)
        known = !model->joints[i].def->limited || model->joints[i].rigid;
    return known;
}

static const double* start_of(const cal_multibody* m) {
    return m->start != NULL ? m->start : m->engine->model->initial_q;
}

// All that turns may move what is as far away as all links are long together.
static double lever_of(const cal_world* world, const cal_multibody* m) {
    const cal_model* model = m->engine->model;
    double lever = 0.0;
    for (int i = 0; i < model->body_count; i++) {
        const double* at = model->bodies[i].def->position;
        lever += sqrt(cal_dot3(at, at)) + size_of(&world->bodies[m->bodies[i]]);
    }
    for (int i = 0; i < model->joint_count; i++)
        if (model->joints[i].def->kind == CAL_PRISMATIC) lever += fabs(start_of(m)[model->joints[i].first_q]);
    return lever;
}

// A bound of the speed of any of its points at the start.
static double fastest_at_start(const cal_world* world, const cal_multibody* m) {
    const cal_model* model = m->engine->model;
    const double* v = m->start != NULL ? m->start + m->engine->q_count : model->initial_v;
    double along = 0.0, turning = 0.0;
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        const double* rate = v + joint->first_v;
        switch (joint->def->kind) {
        case CAL_REVOLUTE: turning += fabs(rate[0]); break;
        case CAL_PRISMATIC: along += fabs(rate[0]); break;
        case CAL_BALL: turning += sqrt(cal_dot3(rate, rate)); break;
        case CAL_FREE:
            along += sqrt(cal_dot3(rate, rate));
            turning += sqrt(cal_dot3(rate + 3, rate + 3));
            break;
        default: break;
        }
    }
    return along + turning * lever_of(world, m);
}

// How much springs and motors accelerate any of its points: springs and servos that are put off by as much as at the start, by a radian, or
// by what that moves the farthest point; and motors as their ranges allow. Each as if its joint were the only one that moves.
static double push_of(const cal_world* world, const cal_multibody* m) {
    const cal_model* model = m->engine->model;
    const double lever = lever_of(world, m);
    double far = lever;
    for (int i = 0; i < model->node_count; i++) {
        const cal_node* node = &model->nodes[i];
        if (node->kind == CAL_BALL) far = fmax(far, CAL_PI * lever);
        if (node->kind != CAL_REVOLUTE && node->kind != CAL_PRISMATIC) continue;
        const double q = start_of(m)[model->joints[node->joint].first_q],
                     off = fmax(fabs(q), fabs(q - node->spring_reference));
        far = fmax(far, node->kind == CAL_REVOLUTE ? lever * off : off);
    }
    return model->push.springs * far + model->push.motors[0] * lever + model->push.motors[1];
}

// How often groups are checked, where the user does not say: 100 times per second, and more rarely where everything is larger and slower
// than that needs, and what drives multibodies is known. In an interval, then, what is at rest falls by no more than 1/64 of what it may between two checks, what moves
// at the start gets on by no more than half a size, and what is driven goes no further than both.
static double rate_of_start(const cal_world* world) {
    double g = sqrt(cal_dot3(world->def.gravity, world->def.gravity)), fastest, push = 0.0;
    const double size = smallest_moving(world, &fastest);
    if (!(g > 0.0 && size < (double)INFINITY)) return CAL_MOST_CHECKS;
    for (int i = 0; i < world->multibody_count; i++) {
        const cal_multibody* m = world->multibodies[i];
        if (m->stage == CAL_REMOVED) continue;
        if (!is_known(m)) return CAL_MOST_CHECKS;
        fastest = fmax(fastest, fastest_at_start(world, m));
        push = fmax(push, push_of(world, m));
    }
    g += push;
    for (int i = 0; i < world->body_count; i++) {
        const cal_world_body_def* def = &world->bodies[i].def;
        if (world->bodies[i].stage == CAL_REMOVED || def->motion != CAL_DRIVEN) continue;
        g = fmax(g, def->path_acceleration);
        fastest = fmax(fastest, def->path_speed);
    }
    return fmin(CAL_MOST_CHECKS,
                fmax(fmax(8.0 * sqrt(0.5 * g / (fall_between_checks * size)), 2.0 * fastest / size), CAL_LEAST_CHECKS));
}

// Groups are checked so often that gravity moves none of the bodies, from rest, by more than a share of its size between two checks: who
// bounces no higher than that is in contact, and steps and speeds that count as slow go with the interval. With 100 checks per second
// that is so for bodies of a centimetre and more on the earth. Smaller ones that come later count, too.
void cal_world_set_rate(cal_world* world) {
    const double g = sqrt(cal_dot3(world->def.gravity, world->def.gravity));
    double fastest;
    const double size = smallest_moving(world, &fastest);
    world->def.group_rate = world->start_rate;
    if (g > 0.0 && size < (double)INFINITY)
        world->def.group_rate = fmax(world->start_rate, sqrt(0.5 * g / (fall_between_checks * size)));
}

// The window is a power of two, so that its multiples are exact: the largest that is not over 1.6 intervals.
void cal_world_set_window(cal_world* world) {
    const double interval = 1.0 / world->first_rate;
    world->window = 1.0;
    while (world->window > 1.6 * interval) world->window *= 0.5;
    while (2.0 * world->window <= 1.6 * interval) world->window *= 2.0;
    world->lag = world->def.forced_rollbacks > 0.0 ? 4.0 * world->window : 0.0;
}

// Times of searches and boxes are those of the rate that the user gives.
static void set_times(cal_world* world) {
    world->first_rate = world->given_rate > 0.0 ? world->given_rate : rate_of_start(world);
    world->start_rate = world->first_rate;
    cal_world_set_window(world);
    cal_world_set_rate(world);
    world->start_rate = world->def.group_rate;
}

// The least reach of what moves, and how many have it: as long as some of them are left it is the least.
static void find_smallest(cal_world* world) {
    world->smallest = (double)INFINITY;
    world->smallest_count = 0;
    for (int i = 0; i < world->body_count; i++) {
        const double reach = world->bodies[i].reach;
        if (world->bodies[i].component < 0 || !(reach > 0.0) || reach > world->smallest) continue;
        world->smallest_count = reach < world->smallest ? 1 : world->smallest_count + 1;
        world->smallest = reach;
    }
}

// What is slow: a speed that gravity gives between two group checks. Without gravity, and where it is weaker than that: 1e-7 of
// the smallest moving body's size in that time, which no contact can tell from rest.
bool cal_world_set_speeds(cal_world* world) {
    const double before[2] = {world->slow, world->contact_speed};
    const double g = sqrt(cal_dot3(world->def.gravity, world->def.gravity));
    if (world->smallest_count == 0) find_smallest(world);
    const double size = world->smallest;
    world->slow = g / world->def.group_rate;
    if (size < (double)INFINITY) world->slow = fmax(world->slow, 1e-7 * size * world->def.group_rate);
    // A contact lasts where gravity, or what else presses, ends a bounce before the next check. What presses without gravity is not
    // known before; but a bounce that parts bodies, until the next check, by less than a group's steps may be wrong by anyway, which
    // is its tolerance of their size, need not be followed.
    const double unresolved = size < (double)INFINITY ? world->def.group_tolerance * size * world->def.group_rate : 0.0;
    const double soft = g > 0.0 ? world->slow : fmax(world->slow, unresolved);
    world->contact_speed = world->def.contact_speed > 0.0 ? world->def.contact_speed : soft;
    const bool same = before[0] == world->slow && before[1] == world->contact_speed;
    for (int i = 0; !same && i < world->component_count; i++)
        if (world->components[i].group != NULL) cal_group_describe(world, world->components[i].group);
    return !same;
}

// --- Taking in ----------------------------------------------------------------------------------------------------------------

void cal_world_count_bodies(cal_world* world) {
    world->report.moving = world->report.driven = 0;
    for (int i = 0; i < world->body_count; i++) {
        world->report.moving += world->bodies[i].component >= 0;
        world->report.driven += world->bodies[i].stage != CAL_REMOVED && world->bodies[i].def.motion == CAL_DRIVEN;
    }
    world->report.bodies = world->body_count - world->removed_count;
}

// Boxes and pairs of what is new; it is moved apart where it overlaps and may be moved.
static cal_status place_new(cal_world* world, cal_error* error) {
    world->placing = true;
    cal_status status = insert_boxes(world, error);
    if (status == CAL_OK) status = resolve_overlaps(world, error);
    world->placing = false;
    return status;
}

// From here on it is one of the others.
static cal_status begin_new(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    cal_first_look* looks = cal_look_first(world, true);
    for (int i = 0; status == CAL_OK && i < world->table.pair_count; i++) {
        if (looks == NULL) cal_fetch_pairs(world, i);
        if (!has_new(world, &world->table.pairs[i])) continue;
        cal_first_look look = {0};
        if (looks != NULL)
            look = looks[i];
        else if (world->def.loop == CAL_TIMEWARP)
            cal_look_at_pair(world, &world->table.pairs[i], true, &look);
        if (!look.done) {
            status = cal_pair_predict(world, i, world->time, error);
            continue;
        }
        cal_take_look(world, &look);
        cal_pair_take(world, i, &look.prediction);
    }
    cal_free(looks);
    for (int h = 0; status == CAL_OK && h < world->periodic_hook_count; h++) {
        cal_periodic_hook* hook = &world->periodic_hooks[h];
        if (hook->count == 0 || hook->event >= 0) continue;
        hook->event = cal_events_add(&world->events, CAL_EVENT_CALLBACK, h);
        if (hook->event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
        cal_schedule_periodic(world, h);
    }
    for (int i = 0; i < world->body_count; i++)
        if (world->bodies[i].stage == CAL_NEW) world->bodies[i].stage = CAL_BEGUN;
    for (int i = 0; i < world->multibody_count; i++)
        if (world->multibodies[i]->stage == CAL_NEW) world->multibodies[i]->stage = CAL_BEGUN;
    world->new_count = 0;
    return status;
}

// What is new is as it was before the attempt to take it in.
static void withdraw_new(cal_world* world) {
    for (int i = 0; i < world->body_count; i++)
        if (world->bodies[i].stage == CAL_NEW) cal_body_withdraw(world, i);
    for (int i = 0; i < world->multibody_count; i++) {
        cal_multibody* m = world->multibodies[i];
        if (m->stage != CAL_NEW || m->component < 0) continue;
        cal_component_remove(world, m->component);
        m->component = -1;
    }
}

static cal_status admit(cal_world* world, cal_error* error) {
    cal_status status = cal_world_prepare_new(world, error);
    if (status == CAL_OK && world->broad == NULL && cal_broad_create(world->body_count + 1, &world->broad) != CAL_OK)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for %d bodies", world->body_count);
    return status == CAL_OK ? place_new(world, error) : status;
}

cal_status cal_world_admit(cal_world* world, cal_error* error) {
    if (world->started && world->new_count == 0) return CAL_OK;
    const bool running = world->started;
    const cal_world_report before = world->report;
    if (!running) {
        set_times(world);
        world->random.state = world->def.seed;
    }
    world->gvt = fmax(world->gvt, world->time);
    cal_status status = admit(world, error);
    if (running && status != CAL_OK) {
        withdraw_new(world);
        world->report.start_overlaps = before.start_overlaps;
        world->report.start_depth = before.start_depth;
        world->report.start_moved = before.start_moved;
        return status;
    }
    world->started = true;
    if (running) cal_world_set_rate(world);
    world->smallest_count = 0;
    const bool slower = status == CAL_OK && cal_world_set_speeds(world);
    if (status == CAL_OK && running)
        status = slower ? cal_world_begin_all(world, error) : cal_world_begin_groups(world, error);
    if (status == CAL_OK && running) status = cal_world_update_changed(world, error);
    if (status == CAL_OK && cal_world_admit_energy(world) != CAL_OK)
        status = cal_fail(error, CAL_NOT_FINITE, "the energy of what is new is not known at %g s", world->time);
    if (status == CAL_OK) status = begin_new(world, error);
    cal_world_count_bodies(world);
    if (status != CAL_OK) world->failed = status;
    return status;
}
