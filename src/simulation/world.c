// The public side of a world: its settings, and what is read from it.
#include "simulation/world.h"
#include "base/advancing.h"
#include "base/finite.h"
#include "base/hash.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/domain/domain.h"
#include "simulation/domain/measuring.h"
#include "simulation/energy.h"
#include "simulation/flow.h"
#include "simulation/event/events.h"
#include "simulation/event/log.h"
#include "simulation/event/loops.h"
#include "simulation/event/pairs.h"
#include "simulation/members.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/multibody.h"
#include "simulation/share.h"
#include "simulation/state/graph.h"
#include "plan/machine_ops.h"
#include "solver/system.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { WORLD_COOKIE = 0x574f524c, BODY_COOKIE = 0x574f4259 };

cal_world_def cal_default_world_def(void) {
    return (cal_world_def){.loop = CAL_TIMEWARP,
                           .step = 0.01,
                           .gravity = {0.0, 0.0, -9.81},
                           .tolerance = 1e-8,
                           .group_tolerance = 1e-4,
                           .group = "implicit",
                           .group_rate = 0.0,
                           .restitution = -1.0,
                           .friction = -1.0,
                           .cookie = WORLD_COOKIE};
}

cal_world_body_def cal_default_world_body_def(void) {
    return (cal_world_body_def){
        .motion = CAL_MOVING, .quaternion = {1.0, 0.0, 0.0, 0.0}, .density = 1000.0, .cookie = BODY_COOKIE};
}

static cal_status check_def(const cal_world_def* def, cal_error* error) {
    if (def->cookie != WORLD_COOKIE)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the world's definition must come from cal_default_world_def");
    if (!cal_all_finite(def->gravity, 3)) return cal_fail(error, CAL_BAD_ARGUMENT, "gravity is not a number");
    if (!(def->step > 0.0) || !(def->group_rate >= 0.0) || !isfinite(def->group_rate))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "the step (%g) must be above zero, and the rate of group checks (%g) not below it", def->step,
                        def->group_rate);
    if (!(def->tolerance > 0.0) || def->tolerance > 1e-2 || !(def->group_tolerance > 0.0) || def->group_tolerance > 0.1)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "the tolerance (%g) must be above 0 and at most 0.01, that of groups (%g) at "
                        "most 0.1",
                        def->tolerance, def->group_tolerance);
    if (def->restitution > 1.0 || !isfinite(def->restitution) || !isfinite(def->friction))
        return cal_fail(error, CAL_BAD_ARGUMENT, "restitution (%g) must be at most 1, and finite as friction (%g)",
                        def->restitution, def->friction);
    if (!(def->contact_speed >= 0.0 && isfinite(def->contact_speed)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "the contact speed (%g) must be finite and not negative",
                        def->contact_speed);
    if (!(def->forced_rollbacks >= 0.0) || def->forced_rollbacks > 0.9)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the probability of forced rollbacks (%g) must be from 0 to 0.9",
                        def->forced_rollbacks);
    if (cal_group_find(def->group) == NULL)
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no group integrator \"%.40s\"; there are implicit, penalty",
                        def->group != NULL ? def->group : "");
    return CAL_OK;
}

// How multibodies are advanced: a copy with its names.
static cal_status take_systems(cal_world* world, const cal_sim_def* def, cal_error* error) {
    cal_sim_def* own = &world->systems;
    *own = def != NULL ? *def : cal_default_sim_def();
    own->relative = world->def.tolerance;
    own->absolute = 0.0;
    const cal_status status = cal_system_check_def(own, error);
    if (status != CAL_OK) return status;
    const char** names[CAL_SYSTEM_NAMES] = {&own->solver, &own->algorithm, &own->schedule, &own->stabilize,
                                            &own->constraint_form};
    for (int i = 0; i < CAL_SYSTEM_NAMES; i++) {
        if (*names[i] == NULL) continue;
        snprintf(world->system_names[i], sizeof world->system_names[i], "%s", *names[i]);
        *names[i] = world->system_names[i];
    }
    if (own->processor_of_joint != NULL)
        return cal_fail(error, CAL_NOT_AVAILABLE, "joints are placed on processors in one system without events only");
    if (own->force != NULL)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "a force callback sees one system, and bodies here collide: use periodic callbacks "
                        "(calder_world.h), or leave contact out (cal_sim_def.contact)");
    // Domains share a machine whose processors share memory; a system gets it where it is large (motion/multibody_model.c).
    if (own->machine != NULL && own->machine->ops->together != NULL && own->machine->processors > 1)
        world->machine = own->machine;
    else if (own->machine != NULL && own->machine->ops->gather != NULL && own->machine->processors > 1)
        world->ranks = own->machine;
    own->contact = false;
    own->evaluation_limit = 0; // steps of a system are taken whole
    own->interrupt = NULL;     // the world is asked
    own->events = NULL;
    world->def.systems = NULL;
    return CAL_OK;
}

// What generations of ids count from: another number in every world, so that ids of one are not taken for those of another.
static uint32_t number_of_world(void) {
    static atomic_uint worlds;
    return (atomic_fetch_add(&worlds, 1u) + 1u) * UINT32_C(0x9e3779b9);
}

cal_status cal_world_create(const cal_world_def* def, cal_world** out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_create: out must not be NULL");
    *out = NULL;
    const cal_world_def own = def != NULL ? *def : cal_default_world_def();
    const cal_status status = check_def(&own, error);
    if (status != CAL_OK) return status;
    cal_world* world = cal_allocate(1, sizeof *world);
    if (world == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a world");
    world->def = own;
    world->given_rate = own.group_rate;
    world->first_id = number_of_world();
    world->unused_collision_hook = -1;
    world->group_ops = cal_group_find(own.group);
    world->def.group = world->group_ops->name;
    const cal_status taken = take_systems(world, def != NULL ? def->systems : NULL, error);
    if (taken != CAL_OK) {
        cal_free(world);
        return taken;
    }
    *out = world;
    return CAL_OK;
}

void cal_world_destroy(cal_world* world) {
    if (world == NULL) return;
    if (world->calling > 0) {
        world->doomed = true;
        return;
    }
    cal_domains_destroy(world);
    for (int i = 0; i < world->component_count; i++) {
        cal_group_free(world->components[i].group);
        cal_queue_destroy(&world->components[i].queue);
    }
    for (int i = 0; i < world->junction_count; i++) cal_free(world->junctions[i].links);
    for (int i = 0; i < world->body_count; i++) cal_body_free(world, i);
    cal_multibodies_destroy(world);
    for (int i = 0; i < world->model_count; i++) cal_model_destroy(world->models[i]);
    if (world->release != NULL) world->release(world->owned);
    cal_pair_table_destroy(&world->table);
    cal_events_destroy(&world->events);
    cal_broad_destroy(world->broad);
    void* const lists[] = {world->bodies,           world->components,      world->unused_components,
                           world->junctions,        world->ignored,         world->ignored_overlaps,
                           world->unused_junctions, world->collision_hooks, world->periodic_hooks,
                           world->changes,          world->stack,           world->partners,
                           world->searches,         world->scratch,         world->impacts,
                           world->log.events,       world->log.junctions,   world->owned,
                           world->models,           world->ended,           world};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

// --- Running ------------------------------------------------------------------------------------------------------------------

bool cal_world_is_interrupted(cal_world* world) {
    if (world->def.interrupt == NULL || world->ranks != NULL) return false;
    cal_domain_begin_call(world);
    const bool ends = world->def.interrupt(world->def.interrupt_user);
    cal_domain_end_call(world);
    return ends;
}

static cal_status advance(cal_world* world, double* time, cal_error* error) {
    switch (world->def.loop) {
    case CAL_RETROACTIVE: return cal_advance_retroactive(world, time, error);
    case CAL_CONSERVATIVE: return cal_advance_conservative(world, time, error);
    case CAL_TIMEWARP: break;
    }
    return cal_advance_timewarp(world, time, error);
}

cal_status cal_fail_state(const cal_world* world, cal_status status, cal_error* error) {
    const char* said = world->trouble.text;
    return cal_fail(error, status, "%s", said[0] != '\0' ? said : cal_status_text(status));
}

static void follow_all(cal_world* world, double reached) {
    const bool groups = world->report.groups > 0; // or else no state is read
    for (int i = 0; i < world->component_count; i++) {
        const cal_component* c = &world->components[i];
        if (groups) cal_fetch_components(world, i);
        if (c->ops != NULL && !c->ops->stepped && !(groups && cal_component_is_fused(c)))
            cal_component_mark_used(world, i, reached);
    }
}

static cal_status advance_to(cal_world* world, double time, cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_advance: world must not be NULL");
    if (!(time >= world->time) || !isfinite(time))
        return cal_fail(error, CAL_BAD_ARGUMENT, "a world at %g s cannot be advanced to %g s", world->time, time);
    cal_status status = cal_check_usable(world, error);
    if (status == CAL_OK) status = cal_world_admit(world, error);
    if (status == CAL_OK) status = cal_world_begin_account(world, error);
    if (status != CAL_OK) return status;
    double reached = time;
    status = advance(world, &reached, error);
    if (status != CAL_OK && status != CAL_INTERRUPTED) {
        world->failed = status;
        return world->trouble.text[0] != '\0' ? cal_fail(error, status, "%s", world->trouble.text) : status;
    }
    world->time = reached;
    if (!world->log.taken) cal_log_drop(&world->log, reached);
    if (world->domains == NULL || !world->domains->divided) follow_all(world, reached); // domains have followed theirs
    if (status == CAL_OK) return CAL_OK;
    return cal_fail(error, status, "interrupted at t = %g s, on the way to t = %g s", reached, time);
}

cal_status cal_world_advance(cal_world* world, double time, cal_error* error) {
    const cal_status status = advance_to(world, time, error);
    if (world == NULL || !world->doomed || world->calling > 0) return status;
    cal_world_destroy(world);
    return cal_fail_destroyed(error);
}

double cal_world_time(const cal_world* world) { return world ? world->time : 0.0; }

// --- Reading ------------------------------------------------------------------------------------------------------------------

// Whether bodies have states: not before the start, and no longer where a world failed on its way.
static bool is_readable(const cal_world* world) { return world->started && world->failed == CAL_OK; }

int cal_world_body_count(const cal_world* world) { return world ? world->body_count : 0; }

const char* cal_world_body_name(const cal_world* world, cal_body_id body, char* text, size_t capacity) {
    if (!text || capacity == 0) return "";
    if (cal_is_body(world, body)) return cal_body_name_at(world, body.index, text, capacity);
    snprintf(text, capacity, "nobody");
    return text;
}

cal_body_id cal_world_find_body(const cal_world* world, const char* name) {
    for (int i = 0; world != NULL && name != NULL && i < world->body_count; i++)
        if (world->bodies[i].name != NULL && strcmp(world->bodies[i].name, name) == 0) return cal_world_body(world, i);
    return (cal_body_id){-1, 0};
}

cal_body_motion cal_world_body_motion(const cal_world* world, cal_body_id body) {
    return cal_is_body(world, body) ? world->bodies[body.index].def.motion : CAL_FIXED;
}

cal_status cal_world_get_body(const cal_world* world, cal_body_id body, double position[3], double quaternion[4],
                              double velocity[3], double angular_velocity[3]) {
    if (!cal_is_body(world, body)) return CAL_BAD_ARGUMENT;
    const cal_sim_body* part = &world->bodies[body.index];
    if (world->failed != CAL_OK) return world->failed;
    if (part->stage == CAL_NEW) {
        if (position != NULL) memcpy(position, part->def.position, sizeof part->def.position);
        if (quaternion != NULL) memcpy(quaternion, part->def.quaternion, sizeof part->def.quaternion);
        if (velocity != NULL) memcpy(velocity, part->def.velocity, sizeof part->def.velocity);
        if (angular_velocity != NULL)
            memcpy(angular_velocity, part->def.angular_velocity, sizeof part->def.angular_velocity);
        return CAL_OK;
    }
    cal_motion at;
    // Reading a motion may continue its series, which changes nothing that anybody sees.
    cal_status status = cal_world_complete(world);
    if (status == CAL_OK) status = cal_body_at((cal_world*)world, body.index, world->time, &at);
    if (status == CAL_OK) status = cal_group_shown_speeds(world, body.index, world->time, &at);
    if (status != CAL_OK) return status;
    cal_motion_to_frame(part, &at, position, quaternion);
    if (velocity != NULL) memcpy(velocity, at.u, sizeof at.u);
    if (angular_velocity != NULL) memcpy(angular_velocity, at.w, sizeof at.w);
    return CAL_OK;
}

const char* cal_body_motion_name(cal_body_motion motion) {
    return motion == CAL_FIXED ? "fixed" : motion == CAL_DRIVEN ? "driven" : "free";
}

// --- Many bodies at once ------------------------------------------------------------------------------------------------------

typedef struct many_poses {
    const cal_world* world;
    double* poses;
} many_poses;

// What does not have to be computed further can be looked at by several processors.
static bool is_there(const cal_world* world, int body) {
    const cal_sim_body* part = &world->bodies[body];
    return part->stage == CAL_BEGUN && part->component >= 0 && cal_free_body_is_known(world, body, world->time);
}

static void find_poses(void* user, int first, int end) {
    const many_poses* m = user;
    for (int i = first; i < end; i++)
        if (is_there(m->world, i))
            cal_world_get_body(m->world, cal_world_body(m->world, i), m->poses + 7 * (size_t)i,
                               m->poses + 7 * (size_t)i + 3, NULL, NULL);
}

cal_status cal_world_first_poses(const cal_world* world, int count, double* poses) {
    static const double nowhere[7] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0};
    const int there = count < world->body_count ? count : world->body_count;
    many_poses all = {world, poses};
    if (world->failed != CAL_OK) return world->failed;
    cal_status status = cal_world_complete(world);
    if (status != CAL_OK) return status;
    cal_world_share(world, there, find_poses, &all);
    for (int i = 0; status == CAL_OK && i < count; i++, poses += 7) {
        if (i < there && is_there(world, i)) continue;
        memcpy(poses, nowhere, sizeof nowhere);
        if (i < there && world->bodies[i].stage != CAL_REMOVED)
            status = cal_world_get_body(world, cal_world_body(world, i), poses, poses + 3, NULL, NULL);
    }
    return status;
}

cal_status cal_world_poses(const cal_world* world, double* poses) {
    if (!world || !poses) return CAL_BAD_ARGUMENT;
    return cal_world_first_poses(world, world->body_count, poses);
}

bool cal_world_get_shape(const cal_world* world, cal_body_id body, int index, cal_shape_def* out, cal_mesh_def* mesh) {
    if (!out || !cal_is_body(world, body) || index < 0 || index >= world->bodies[body.index].shape_count) return false;
    *out = world->bodies[body.index].shapes[index];
    if (mesh != NULL) *mesh = world->bodies[body.index].meshes[index];
    return true;
}

const double* cal_world_slots(const cal_world* world, cal_body_id body) {
    if (!cal_is_body(world, body) || !is_readable(world) || world->bodies[body.index].def.slots == 0) return NULL;
    if (cal_world_complete(world) != CAL_OK) return NULL;
    return cal_body_numbers(world, body.index, world->time).slots;
}

bool cal_world_is_asleep(const cal_world* world, cal_body_id body) {
    if (!cal_is_body(world, body) || !is_readable(world) || cal_world_complete(world) != CAL_OK) return false;
    return cal_component_is_asleep(world, cal_body_component(world, body.index, world->time));
}

bool cal_world_next_event(cal_world* world, cal_world_event* out) {
    if (!world) return false;
    cal_event_log* log = &world->log;
    if (log->head == log->tail) return false;
    const cal_world_event* first = &log->events[(size_t)log->head % (size_t)log->capacity];
    if (first->time > world->time) return false;
    *out = *first;
    log->head++;
    return true;
}

void cal_world_keep_events(cal_world* world, bool keep) {
    if (!world) return;
    world->log.keep = world->log.taken = keep;
}

enum { SHARED = 8192 }; // bodies that are measured at a time

typedef struct many_measured {
    cal_world* world;
    int first;
    cal_measured* of;
} many_measured;

cal_status cal_measure_body(cal_world* world, int body, cal_measured* out) {
    cal_motion at;
    cal_status status = cal_body_at(world, body, world->time, &at);
    if (status == CAL_OK) status = cal_group_shown_speeds(world, body, world->time, &at);
    if (status != CAL_OK) return status;
    memcpy(out->state, at.pose.position, sizeof at.pose.position);
    memcpy(out->state + 3, at.quaternion, sizeof at.quaternion);
    memcpy(out->state + 7, at.u, sizeof at.u);
    memcpy(out->state + 10, at.w, sizeof at.w);
    cal_find_energy(world, &world->bodies[body], &at, &out->energy);
    out->asleep = cal_component_is_asleep(world, cal_body_component(world, body, world->time));
    return CAL_OK;
}

static void measure_some(void* user, int first, int end) {
    const many_measured* m = user;
    for (int i = first; i < end; i++)
        if (is_there(m->world, m->first + i)) (void)cal_measure_body(m->world, m->first + i, &m->of[i]);
}

static void add_body(const cal_measured* one, bool hashed, cal_world_report* out) {
    cal_add_energy(&one->energy, out);
    out->asleep += one->asleep;
    if (hashed) out->hash = cal_hash_doubles(out->hash, one->state, sizeof one->state / sizeof *one->state);
}

// Energy, momentum and (hashed) hash of some bodies that follow each other, in their order; what is known of those that are there is in
// `known`, NULL: of none.
static cal_status add_bodies(cal_world* world, int first, int count, const cal_measured* known, bool hashed,
                             cal_world_report* out) {
    for (int i = first; i < first + count; i++) {
        cal_measured own;
        const cal_measured* one = known != NULL ? &known[i - first] : &own;
        if (world->bodies[i].component < 0) continue;
        if (known == NULL || !is_there(world, i)) {
            const cal_status status = cal_measure_body(world, i, &own);
            if (status != CAL_OK) return status;
            one = &own;
        }
        add_body(one, hashed, out);
    }
    return CAL_OK;
}

// Where there are processors they find what bodies add; sums are taken in the order of bodies, whoever found these.
static cal_status add_all_bodies(cal_world* world, bool hashed, cal_world_report* out) {
    const int most = world->body_count < SHARED ? world->body_count : SHARED;
    cal_measured* known =
        world->machine != NULL ? cal_allocate((size_t)most + 1, sizeof *known) : NULL; // without memory: one by one
    cal_status status = CAL_OK;
    for (int first = 0; status == CAL_OK && first < world->body_count; first += SHARED) {
        const int count = world->body_count - first < SHARED ? world->body_count - first : SHARED;
        many_measured some = {world, first, known};
        if (known != NULL) status = cal_groups_prepare_shown(world, world->time);
        if (known != NULL && status == CAL_OK) cal_world_share(world, count, measure_some, &some);
        if (status == CAL_OK) status = add_bodies(world, first, count, known, hashed, out);
    }
    cal_free(known);
    return status;
}

cal_status cal_world_measure(cal_world* world, bool hashed, cal_world_report* out) {
    *out = world->report;
    out->time = world->time;
    out->cores = world->machine != NULL ? world->machine->processors : 0;
    out->states = world->states;
    out->hash = cal_hash_doubles(CAL_HASH_START, &world->time, 1);
    if (!is_readable(world)) {
        out->bodies = world->body_count - world->removed_count;
        return world->failed;
    }
    cal_shared_terms shared;
    if (cal_rank_measure(world, &shared)) {
        for (const cal_body_terms* one; (one = cal_next_terms(&shared)) != NULL;) add_body(&one->measured, hashed, out);
        return CAL_OK;
    }
    cal_status status = cal_world_complete(world);
    if (status == CAL_OK) status = add_all_bodies(world, hashed, out);
    for (int i = 0; status == CAL_OK && i < world->component_count; i++) {
        const cal_component_ops* ops = world->components[i].ops;
        if (ops != NULL && ops->report != NULL) status = ops->report(world, i, out);
    }
    return status;
}

cal_status cal_world_get_report(cal_world* world, cal_world_report* out) {
    return world && out ? cal_world_measure(world, true, out) : CAL_BAD_ARGUMENT;
}
