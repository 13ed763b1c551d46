// Before the first step: masses, principal axes, geometries and first states of all bodies; boxes and pairs; bodies that
// overlap are reported or moved apart.
#include "simulation/start.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/multibody.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdio.h>
#include <string.h>

#define ROUND 1e-13  // moments that differ by less, relative, are equal
#define OVERLAP 1e-9 // of a reach: deeper is an overlap
#define PARTED 1e-6  // of a reach: the gap that --separate leaves
enum { MOST_BALLS = 64, MOST_ROUNDS = 2000, NAMED_PAIRS = 3 };

// --- Masses -------------------------------------------------------------------------------------------------------------------

// Jacobi's rotations: A = V diag V ᵀ, with V a rotation (rows).
void cal_principal_axes(const double inertia[6], double moments[3], double quaternion[4]) {
    double A[9] = {inertia[0], inertia[3], inertia[4], inertia[3], inertia[1],
                   inertia[5], inertia[4], inertia[5], inertia[2]};
    double V[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int sweep = 0; sweep < 50; sweep++) {
        const double off = A[1] * A[1] + A[2] * A[2] + A[5] * A[5], all = A[0] * A[0] + A[4] * A[4] + A[8] * A[8];
        if (off <= 1e-32 * all) break;
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (A[3 * p + q] == 0.0) continue;
                const double theta = (A[4 * q] - A[4 * p]) / (2.0 * A[3 * p + q]);
                const double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
                const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                for (int k = 0; k < 3; k++) {
                    const double x = A[3 * k + p], y = A[3 * k + q];
                    A[3 * k + p] = c * x - s * y, A[3 * k + q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    const double x = A[3 * p + k], y = A[3 * q + k];
                    A[3 * p + k] = c * x - s * y, A[3 * q + k] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    const double x = V[3 * k + p], y = V[3 * k + q];
                    V[3 * k + p] = c * x - s * y, V[3 * k + q] = s * x + c * y;
                }
            }
    }
    for (int i = 0; i < 3; i++) moments[i] = A[4 * i];
    cal_matrix_quaternion(V, quaternion);
}

static void piece_of(const cal_sim_body* part, int shape, cal_piece_def* out) {
    const cal_shape_def* s = &part->shapes[shape];
    *out = cal_default_piece_def();
    out->kind = s->kind;
    memcpy(out->position, s->position, sizeof out->position);
    memcpy(out->quaternion, s->quaternion, sizeof out->quaternion);
    memcpy(out->size, s->size, sizeof out->size);
    out->vertices = part->meshes[shape].vertices;
    out->vertex_count = part->meshes[shape].vertex_count;
    out->columns = part->meshes[shape].columns;
    out->tag = shape;
    out->category = s->category;
    out->mask = s->mask;
}

static cal_status make_geometry(cal_sim_body* part, bool principal, cal_geometry** out, cal_error* error) {
    *out = NULL;
    cal_piece_def* pieces = cal_allocate((size_t)part->shape_count + 1, sizeof *pieces);
    if (pieces == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for shapes");
    double R[9];
    cal_quaternion_matrix(part->turn, R);
    const double back[4] = {part->turn[0], -part->turn[1], -part->turn[2], -part->turn[3]};
    int count = 0;
    for (int i = 0; i < part->shape_count; i++) {
        if (!part->shapes[i].collides) continue;
        cal_piece_def* piece = &pieces[count++];
        piece_of(part, i, piece);
        if (!principal) continue;
        for (int k = 0; k < 3; k++) piece->position[k] -= part->offset[k];
        cal_unrotate3(R, piece->position, piece->position);
        cal_quaternion_multiply(back, piece->quaternion, piece->quaternion);
    }
    const cal_status status = count > 0 ? cal_geometry_create(pieces, count, out, error) : CAL_OK;
    cal_free(pieces);
    return status;
}

// link: its joints carry what it lacks.
static cal_status weigh(cal_world* world, int body, bool link, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    cal_mass_properties mass = {.mass = part->def.mass};
    memcpy(mass.center, part->def.center, sizeof mass.center);
    memcpy(mass.inertia, part->def.inertia, sizeof mass.inertia);
    part->turn[0] = 1.0;
    if (part->def.motion != CAL_MOVING) return CAL_OK;
    if (part->def.density > 0.0) {
        cal_geometry* geometry;
        const cal_status status = make_geometry(part, false, &geometry, error);
        if (status != CAL_OK) return status;
        if (geometry != NULL) cal_geometry_mass(geometry, part->def.density, &mass);
        cal_geometry_destroy(geometry);
    }
    char name[64];
    if (link && !(mass.mass > 0.0)) return CAL_OK;
    if (!(mass.mass > 0.0))
        return cal_fail(error, CAL_BAD_MODEL, "%s moves but has no mass: give it one, or a density and a shape",
                        cal_body_name_at(world, body, name, sizeof name));
    cal_principal_axes(mass.inertia, part->inertia, part->turn);
    for (int i = 0; i < 3; i++)
        if (!(part->inertia[i] > 0.0) && !link)
            return cal_fail(error, CAL_BAD_MODEL, "%s moves but has no inertia about some axis",
                            cal_body_name_at(world, body, name, sizeof name));
    part->mass = mass.mass;
    memcpy(part->offset, mass.center, sizeof part->offset);
    const double largest = fmax(part->inertia[0], fmax(part->inertia[1], part->inertia[2]));
    part->round = largest - fmin(part->inertia[0], fmin(part->inertia[1], part->inertia[2])) <= ROUND * largest;
    for (int h = 0; h < world->periodic_hook_count; h++) // callbacks may set a torque
        for (int i = 0; i < world->periodic_hooks[h].count; i++)
            part->round &= world->periodic_hooks[h].bodies[i] != body;
    return CAL_OK;
}

// --- Shapes -------------------------------------------------------------------------------------------------------------------

static void find_form(cal_sim_body* part) {
    part->form = CAL_FORM_GENERAL;
    int colliding = 0, balls = 0, last = 0;
    bool alike = true; // in who may touch them
    part->category = part->mask = 0;
    for (int i = 0; i < part->shape_count; i++) {
        const cal_shape_def* shape = &part->shapes[i];
        if (!shape->collides) continue;
        alike &= colliding == 0 || (shape->category == part->category && shape->mask == part->mask);
        part->category |= shape->category, part->mask |= shape->mask;
        colliding++, balls += shape->kind == CAL_SPHERE, last = i;
    }
    if (colliding == 0)
        part->form = CAL_FORM_NONE;
    else if (alike && balls == colliding && balls == part->shape_count && balls <= MOST_BALLS)
        part->form = CAL_FORM_BALLS;
    else if (colliding == 1 && part->shape_count == 1 && part->shapes[last].kind == CAL_PLANE)
        part->form = CAL_FORM_PLANE;
    else if (colliding == 1 && part->shape_count == 1 && part->shapes[last].kind == CAL_BOX)
        part->form = CAL_FORM_BLOCK;
}

static cal_status prepare_shape(cal_world* world, int body, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    find_form(part);
    part->spinning = true;
    if (part->form == CAL_FORM_NONE) return CAL_OK;
    cal_status status = make_geometry(part, true, &part->geometry, error);
    if (status != CAL_OK) return status;
    part->reach = cal_geometry_reach(part->geometry);
    part->ball_count = part->form == CAL_FORM_BALLS ? part->shape_count : 1;
    part->balls = cal_allocate((size_t)part->ball_count, sizeof *part->balls);
    if (part->balls == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for shapes");
    double R[9];
    cal_quaternion_matrix(part->turn, R);
    for (int i = 0; i < part->ball_count; i++) {
        double* ball = part->balls[i];
        for (int k = 0; k < 3; k++) ball[k] = part->shapes[i].position[k] - part->offset[k];
        cal_unrotate3(R, ball, ball);
        ball[3] = part->shapes[i].size[0];
        const double reach = sqrt(cal_dot3(ball, ball)) + ball[3];
        if (part->form == CAL_FORM_BALLS) part->reach = i == 0 ? reach : fmax(part->reach, reach);
    }
    const double* center = part->balls[0];
    part->spinning = part->form != CAL_FORM_BALLS || part->ball_count > 1 || cal_dot3(center, center) > 0.0;
    // Of a block or a plane: where it is on the body.
    memcpy(part->block.position, center, sizeof part->block.position);
    const double back[4] = {part->turn[0], -part->turn[1], -part->turn[2], -part->turn[3]};
    double turned[4];
    cal_quaternion_multiply(back, part->shapes[0].quaternion, turned);
    cal_quaternion_matrix(turned, part->block.rotation);
    memcpy(part->half, part->shapes[0].size, sizeof part->half);
    return CAL_OK;
}

static void place_fixed(cal_sim_body* part) {
    part->at = (cal_motion){0};
    memcpy(part->at.quaternion, part->def.quaternion, sizeof part->at.quaternion);
    part->at.pose = cal_pose_make(part->def.position, part->at.quaternion);
    if (part->form != CAL_FORM_PLANE) return;
    double* plane = part->balls[0];
    double R[9], point[3];
    cal_multiply33(part->at.pose.rotation, part->block.rotation, R);
    cal_rotate3(part->at.pose.rotation, part->block.position, point);
    for (int i = 0; i < 3; i++) {
        point[i] += part->at.pose.position[i];
        plane[i] = R[3 * i + 2];
    }
    plane[3] = cal_dot3(plane, point);
}

static cal_status begin_free(cal_world* world, int body, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    part->series = (int)CAL_AT_SLOTS + part->def.slots;
    part->component = cal_component_add(world, CAL_FREE_BODY, cal_free_body_stride(part));
    if (part->component >= 0) world->components[part->component].queue.copied = part->series;
    if (part->component < 0 || cal_queue_push(world, part->component, CAL_SEGMENT, world->time) == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    world->components[part->component].body = body;
    double* data = cal_data_at(&world->components[part->component].queue, 0);
    double R[9], center[3];
    cal_quaternion_matrix(part->def.quaternion, R);
    cal_rotate3(R, part->offset, center);
    for (int i = 0; i < 3; i++) {
        data[CAL_AT_POSITION + i] = part->def.position[i] + center[i];
        data[CAL_AT_VELOCITY + i] = part->def.velocity[i];
        data[CAL_AT_ACCELERATION + i] = world->def.gravity[i];
    }
    cal_quaternion_multiply(part->def.quaternion, part->turn, data + CAL_AT_QUATERNION);
    cal_quaternion_matrix(data + CAL_AT_QUATERNION, R);
    cal_unrotate3(R, part->def.angular_velocity, data + CAL_AT_ANGULAR);
    cal_free_body_begin(part, data);
    return CAL_OK;
}

static cal_status prepare_part(cal_world* world, int body, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    cal_quaternion_normalize(part->def.quaternion);
    if (part->component >= 0) return CAL_OK; // its multibody did
    cal_status status = weigh(world, body, false, error);
    if (status == CAL_OK) status = prepare_shape(world, body, error);
    if (status != CAL_OK) return status;
    if (part->def.motion == CAL_MOVING) return begin_free(world, body, error);
    if (part->def.motion == CAL_FIXED) place_fixed(part);
    return CAL_OK;
}

cal_status cal_body_weigh_link(cal_world* world, int body, cal_error* error) {
    cal_quaternion_normalize(world->bodies[body].def.quaternion);
    const cal_status status = weigh(world, body, true, error);
    return status == CAL_OK ? prepare_shape(world, body, error) : status;
}

// --- Overlaps -----------------------------------------------------------------------------------------------------------------

typedef struct overlaps {
    int count;
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

// Moves two bodies apart, the lighter one further; a link takes its multibody along. moved: not both are held by the ground.
static cal_status part_pair(cal_world* world, const cal_pair* pair, const cal_separation* gap, double by, bool* moved,
                            cal_error* error) {
    double share[2];
    for (int i = 0; i < 2; i++) {
        const double mass = cal_body_ops(world, pair->body[i])->loose_mass(world, pair->body[i]);
        share[i] = mass > 0.0 ? 1.0 / mass : 0.0;
    }
    const double sum = share[0] + share[1];
    for (int i = 0; i < 2 && sum > 0.0; i++) {
        if (share[i] == 0.0) continue;
        double move[3];
        for (int k = 0; k < 3; k++) move[k] = (i == 0 ? 1.0 : -1.0) * by * share[i] / sum * gap->normal[k];
        const cal_status status = cal_body_ops(world, pair->body[i])->shift(world, pair->body[i], move, error);
        if (status != CAL_OK) return status;
    }
    *moved = sum > 0.0;
    return CAL_OK;
}

// How deep two bodies are in each other at the start, 0: they are not; with the size of the smaller one.
static cal_status overlap_of(cal_world* world, const cal_pair* pair, cal_separation* gap, double* depth, double* size,
                             cal_error* error) {
    cal_motion at[2];
    *size = (double)INFINITY;
    for (int k = 0; k < 2; k++) {
        const int body = pair->body[k];
        const cal_status status =
            cal_body_failed(world, body, cal_body_at(world, body, world->time, &at[k]), world->time, error);
        if (status != CAL_OK) return status;
        *size = fmin(*size, world->bodies[pair->body[k]].reach);
    }
    cal_world_distance(world, pair->body[0], &at[0], pair->body[1], &at[1], (double)INFINITY, NULL, gap);
    *depth = gap->distance < -OVERLAP * *size ? -gap->distance : 0.0;
    return CAL_OK;
}

static cal_status look_for_overlaps(cal_world* world, bool move, overlaps* found, cal_error* error) {
    *found = (overlaps){0};
    for (int i = 0; i < world->table.pair_count; i++) {
        const cal_pair* pair = &world->table.pairs[i];
        if (pair->event < 0) continue;
        cal_separation gap;
        double depth, size;
        const cal_status status = overlap_of(world, pair, &gap, &depth, &size, error);
        if (status != CAL_OK) return status;
        if (depth == 0.0) continue;
        bool moved = true;
        cal_status done = move ? part_pair(world, pair, &gap, PARTED * size + depth, &moved, error) : CAL_OK;
        if (done == CAL_OK && !moved) done = cal_world_ignore_overlap(world, i, depth, error);
        if (done != CAL_OK) return done;
        if (!moved) continue;
        name_overlap(world, pair, depth, found);
        found->count++;
        found->deepest = fmax(found->deepest, depth);
    }
    return CAL_OK;
}

static cal_status insert_boxes(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < world->body_count; i++) {
        cal_sim_body* part = &world->bodies[i];
        if (part->form == CAL_FORM_NONE) continue;
        if (part->def.motion == CAL_FIXED) {
            cal_box box;
            part->box_end = (double)INFINITY;
            cal_geometry_box(part->geometry, &part->at.pose, &box);
            status = part->form == CAL_FORM_PLANE
                         ? cal_broad_move_plane(world->broad, i, part->balls[0], part->balls[0][3], NULL)
                         : cal_broad_move(world->broad, i, &box, NULL);
            if (status != CAL_OK)
                return cal_fail(error, status, "a fixed body has no box: %s", cal_status_text(status));
        }
    }
    for (int i = 0; status == CAL_OK && i < world->body_count; i++) {
        cal_sim_body* part = &world->bodies[i];
        if (part->form == CAL_FORM_NONE || part->def.motion == CAL_FIXED) continue;
        if (part->box_event < 0) part->box_event = cal_events_add(&world->events, CAL_EVENT_BOX, i);
        if (part->box_event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
        status = cal_box_renew(world, i, world->time, error);
    }
    return status;
}

// Links of one multibody that overlap pass through each other.
static cal_status leave_out_links(cal_world* world, cal_error* error) {
    for (int i = 0; i < world->table.pair_count; i++) {
        const cal_pair* pair = &world->table.pairs[i];
        if (pair->event < 0 || world->bodies[pair->body[0]].component != world->bodies[pair->body[1]].component)
            continue;
        cal_separation gap;
        double depth, size;
        cal_status status = overlap_of(world, pair, &gap, &depth, &size, error);
        if (status == CAL_OK && depth > 0.0) status = cal_world_ignore_overlap(world, i, depth, error);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

// Bodies that were moved apart may meet others, so all boxes are made anew in every round.
static cal_status resolve_overlaps(cal_world* world, cal_error* error) {
    overlaps found;
    const cal_status ignored_overlaps = leave_out_links(world, error);
    if (ignored_overlaps != CAL_OK) return ignored_overlaps;
    for (int round = 0;; round++) {
        cal_status status = look_for_overlaps(world, world->def.separate, &found, error);
        if (status != CAL_OK || found.count == 0) return status;
        if (round == 0) world->report.start_overlaps = found.count, world->report.start_depth = found.deepest;
        if (!world->def.separate)
            return cal_fail(error, CAL_BAD_MODEL,
                            "%d pair%s of bodies overlap%s at the start: %s%s; move them apart, or let "
                            "the world do it (--separate, in C cal_world_def.separate)",
                            found.count, found.count == 1 ? "" : "s", found.count == 1 ? "s" : "", found.text,
                            found.count > NAMED_PAIRS ? ", …" : "");
        if (round == MOST_ROUNDS)
            return cal_fail(error, CAL_BAD_MODEL, "%d pairs of bodies still overlap after %d attempts to part them: %s",
                            found.count, (int)MOST_ROUNDS, found.text);
        for (int i = 0; status == CAL_OK && i < world->body_count; i++)
            if (world->bodies[i].component >= 0) status = cal_body_changed(world, i, world->time, error);
        if (status != CAL_OK) return status;
    }
}

// Times are those of the group checks, the one time that the user gives for a scene: a scene in milliseconds has a rate in
// 1/ms. The window is a power of two, so that its multiples are exact: the largest that is not over 1.6 intervals.
static void set_times(cal_world* world) {
    const double interval = 1.0 / world->def.group_rate;
    world->window = 1.0;
    while (world->window > 1.6 * interval) world->window *= 0.5;
    while (2.0 * world->window <= 1.6 * interval) world->window *= 2.0;
    world->lag = world->def.forced_rollbacks > 0.0 ? 4.0 * world->window : 0.0;
}

// What is slow: a speed that gravity gives between two group checks. Without gravity, and where it is weaker than that: 1e-7 of
// the smallest moving body's size in that time, which no contact can tell from rest.
static void set_speeds(cal_world* world) {
    const double g = sqrt(cal_dot3(world->def.gravity, world->def.gravity));
    double size = (double)INFINITY;
    for (int i = 0; i < world->body_count; i++)
        if (world->bodies[i].component >= 0 && world->bodies[i].reach > 0.0) size = fmin(size, world->bodies[i].reach);
    world->slow = g / world->def.group_rate;
    if (size < (double)INFINITY) world->slow = fmax(world->slow, 1e-7 * size * world->def.group_rate);
    // A contact lasts where gravity, or what else presses, ends a bounce before the next check. What presses without gravity is not
    // known before; but a bounce that parts bodies, until the next check, by less than a group's steps may be wrong by anyway, which
    // is its tolerance of their size, need not be followed.
    const double unresolved = size < (double)INFINITY ? world->def.group_tolerance * size * world->def.group_rate : 0.0;
    const double soft = g > 0.0 ? world->slow : fmax(world->slow, unresolved);
    world->contact_speed = world->def.contact_speed > 0.0 ? world->def.contact_speed : soft;
}

cal_status cal_world_start(cal_world* world, cal_error* error) {
    set_times(world);
    world->random.state = world->def.seed;
    cal_status status = cal_multibodies_prepare(world, error);
    for (int i = 0; status == CAL_OK && i < world->body_count; i++) status = prepare_part(world, i, error);
    if (status == CAL_OK) set_speeds(world);
    if (status == CAL_OK && world->broad == NULL && cal_broad_create(world->body_count + 1, &world->broad) != CAL_OK)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for %d bodies", world->body_count);
    world->placing = true;
    if (status == CAL_OK) status = insert_boxes(world, error);
    if (status == CAL_OK) status = resolve_overlaps(world, error);
    world->placing = false;
    for (int i = 0; status == CAL_OK && i < world->table.pair_count; i++)
        if (world->table.pairs[i].event >= 0) status = cal_pair_predict(world, i, world->time, error);
    for (int h = 0; status == CAL_OK && h < world->periodic_hook_count; h++) {
        world->periodic_hooks[h].event = cal_events_add(&world->events, CAL_EVENT_CALLBACK, h);
        if (world->periodic_hooks[h].event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
        cal_schedule_periodic(world, h);
    }
    for (int i = 0; i < world->body_count; i++) {
        world->report.moving += world->bodies[i].component >= 0;
        world->report.driven += world->bodies[i].def.motion == CAL_DRIVEN;
    }
    world->report.bodies = world->body_count;
    return status;
}
