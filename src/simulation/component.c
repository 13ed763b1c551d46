// The kinds of components, one table each; and what all of them are asked for.
#include "simulation/component.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/change.h"
#include "simulation/contact/contact_forces.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/contact/impact.h"
#include "simulation/domain/domain.h"
#include "simulation/energy.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/multibody.h"
#include "simulation/state/graph.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"

// A free body and a multibody: the only member of themselves, and nothing in them touches.
static cal_members itself(const cal_world* world, int component) {
    return (cal_members){.components = &world->components[component].number, .count = 1};
}

// --- Free bodies --------------------------------------------------------------------------------------------------------------

static double free_room(const cal_world* world, int component, double time) {
    (void)component, (void)time;
    return CAL_LONGEST_BOX * world->window;
}

static cal_state_numbers free_locate(const cal_world* world, int component, int body, double* data) {
    (void)world, (void)component, (void)body;
    return (cal_state_numbers){data + CAL_AT_POSITION, data + CAL_AT_VELOCITY, data + CAL_AT_ACCELERATION};
}

static cal_status free_begin(cal_world* world, int component, double time, cal_error* error) {
    return cal_free_body_push(world, component, CAL_SEGMENT, time, error);
}

static cal_status free_changed(cal_world* world, int component, double time, cal_error* error) {
    return cal_body_changed(world, world->components[component].body, time, error);
}

static cal_status free_refresh(cal_world* world, int component, cal_error* error) {
    (void)error;
    const cal_component* c = &world->components[component];
    const int64_t last = c->queue.tail - 1;
    cal_free_body_begin(&world->bodies[c->body], cal_saved_state_at(&c->queue, last)->time,
                        cal_data_at(&c->queue, last));
    cal_free_body_note_course(world, component);
    return CAL_OK;
}

static cal_status free_step(cal_world* world, int component, double time, cal_error* error) {
    cal_status status = cal_free_body_push(world, component, CAL_STEP, time, error);
    if (status == CAL_OK) status = free_refresh(world, component, error);
    world->change_count = 0; // the motion goes on as it was
    return status;
}

static cal_numbers free_numbers(const cal_world* world, int body, const cal_state_numbers* at) {
    (void)world, (void)body;
    return (cal_numbers){.velocity = at->v,
                         .angular = at->v + 3,
                         .acceleration = at->extras,
                         .torque = at->extras + 3,
                         .slots = at->extras + 6};
}

static cal_status free_response(cal_world* world, int body, int other, double time, const cal_motion* motion,
                                const double point[3], double K[9], cal_error* error) {
    (void)other, (void)time, (void)error;
    cal_add_response(&world->bodies[body], motion, point, K);
    return CAL_OK;
}

static cal_status free_apply(cal_world* world, int body, int other, double time, const cal_motion* motion,
                             const double point[3], const double impulse[3], double* work, cal_error* error) {
    (void)other, (void)work, (void)error;
    const cal_sim_body* part = &world->bodies[body];
    const cal_numbers n = cal_body_numbers(world, body, time);
    double arm[3], torque[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - motion->pose.position[i];
    cal_cross3(arm, impulse, torque);
    cal_unrotate3(motion->pose.rotation, torque, torque);
    for (int i = 0; i < 3; i++) {
        n.velocity[i] += impulse[i] / part->mass;
        n.angular[i] += torque[i] / part->inertia[i];
    }
    return CAL_OK;
}

static double free_mass(const cal_world* world, int body) { return world->bodies[body].mass; }

static cal_status free_shift(cal_world* world, int body, const double by[3], cal_error* error) {
    (void)error;
    const int component = world->bodies[body].component;
    double* data = cal_data_at(&world->components[component].queue, 0);
    for (int i = 0; i < 3; i++) data[CAL_AT_POSITION + i] += by[i];
    cal_free_body_note_course(world, component);
    return CAL_OK;
}

static const cal_component_ops free_body = {.kind = CAL_FREE_BODY,
                                            .single = true,
                                            .motion = cal_free_body_motion,
                                            .bounds = cal_free_body_bounds,
                                            .room = free_room,
                                            .locate = free_locate,
                                            .begin = free_begin,
                                            .changed = free_changed,
                                            .refresh = free_refresh,
                                            .step = free_step,
                                            .numbers = free_numbers,
                                            .box = cal_box_of_flight,
                                            .response = free_response,
                                            .apply = free_apply,
                                            .push = cal_push_free,
                                            .pushed = cal_is_free_pushed,
                                            .release = cal_release_free,
                                            .flows = cal_free_body_flows,
                                            .flowed = cal_free_body_flowed,
                                            .energy = cal_free_body_energy,
                                            .work = cal_free_body_work,
                                            .loose_mass = free_mass,
                                            .shift = free_shift,
                                            .member = cal_free_body_member,
                                            .members = itself,
                                            .image = cal_image_own,
                                            .sound = cal_free_body_sound};

// --- Multibodies --------------------------------------------------------------------------------------------------------------

static cal_status link_motion(cal_world* world, int component, int body, double from, double time, bool turning,
                              cal_motion* out) {
    (void)turning;
    return cal_multibody_motion(world, component, world->bodies[body].link, from, time, out);
}

static cal_status link_bounds(cal_world* world, int component, int body, double from, double until,
                              cal_motion_bounds* out) {
    return cal_multibody_limits(world, component, world->bodies[body].link, from, until, out);
}

static cal_state_numbers link_locate(const cal_world* world, int component, int body, double* data) {
    (void)component;
    return (cal_state_numbers){cal_multibody_q(world, body, data), cal_multibody_v(world, body, data),
                               cal_multibody_tau(world, body, data)};
}

static cal_numbers link_numbers(const cal_world* world, int body, const cal_state_numbers* at) {
    return (cal_numbers){
        .q = at->q, .v = at->v, .tau = at->extras, .slots = at->extras + cal_multibody_degrees(world, body)};
}

static cal_status link_response(cal_world* world, int body, int other, double time, const cal_motion* motion,
                                const double point[3], double K[9], cal_error* error) {
    (void)motion;
    return cal_multibody_response(world, body, other, time, point, K, error);
}

static cal_status link_apply(cal_world* world, int body, int other, double time, const cal_motion* motion,
                             const double point[3], const double impulse[3], double* work, cal_error* error) {
    (void)motion;
    return cal_multibody_apply(world, body, other, time, point, impulse, work, error);
}

static cal_status link_member(const cal_world* world, int component, cal_group_member* out, cal_error* error) {
    (void)error;
    *out = cal_multibody_member(world, component);
    out->extras_count = cal_multibody_extras(world, component);
    return CAL_OK;
}

static const cal_component_ops multibody = {.kind = CAL_MULTIBODY,
                                            .motion = link_motion,
                                            .bounds = link_bounds,
                                            .room = cal_multibody_room,
                                            .ahead = cal_multibody_ahead,
                                            .locate = link_locate,
                                            .begin = cal_multibody_begin,
                                            .changed = cal_multibody_changed,
                                            .refresh = cal_multibody_refresh,
                                            .numbers = link_numbers,
                                            .box = cal_box_of_motion,
                                            .response = link_response,
                                            .apply = link_apply,
                                            .push = cal_push_link,
                                            .pushed = cal_is_link_pushed,
                                            .release = cal_release_links,
                                            .flows = cal_multibody_flows,
                                            .flowed = cal_multibody_flowed,
                                            .energy = cal_multibody_energy,
                                            .work = cal_multibody_work,
                                            .loose_mass = cal_multibody_loose_mass,
                                            .shift = cal_multibody_shift,
                                            .member = link_member,
                                            .members = itself,
                                            .report = cal_add_joint_energy,
                                            .image = cal_image_own,
                                            .sound = cal_multibody_sound};

// --- Contact groups -----------------------------------------------------------------------------------------------------------

static double group_room(const cal_world* world, int component, double time) {
    return cal_group_horizon(world, component) - time;
}

static cal_status no_refresh(cal_world* world, int component, cal_error* error) {
    (void)world, (void)component, (void)error;
    return CAL_OK;
}

static cal_members group_members(const cal_world* world, int component) {
    const cal_contact_group* g = world->components[component].group;
    return (cal_members){g->members, g->group.unit_count, (const int(*)[2])g->pairs, g->pair_count};
}

static cal_status count_group(cal_world* world, int component, cal_world_report* report) {
    const cal_queue* queue = &world->components[component].queue;
    report->groups_now += cal_saved_state_at(queue, queue->tail - 1)->kind != CAL_ENDED;
    return CAL_OK;
}

static const cal_component_ops group = {.kind = CAL_GROUP,
                                        .stepped = true,
                                        .motion = cal_group_motion,
                                        .bounds = cal_group_limits,
                                        .room = group_room,
                                        .locate = cal_group_locate,
                                        .begin = cal_group_begin,
                                        .begin_forced = cal_group_begin_forced,
                                        .changed = cal_group_changed,
                                        .refresh = no_refresh,
                                        .members = group_members,
                                        .holds = cal_group_holds,
                                        .asleep = cal_group_is_asleep,
                                        .flows = cal_group_flows,
                                        .flowed = cal_group_flowed,
                                        .contacts = cal_group_list_contacts,
                                        .report = count_group,
                                        .image = cal_image_group,
                                        .sound = cal_group_sound};

// --- Any of them --------------------------------------------------------------------------------------------------------------

const cal_component_ops* cal_component_table(cal_component_kind kind) {
    static const cal_component_ops* const tables[] = {
        [CAL_UNUSED] = NULL, [CAL_FREE_BODY] = &free_body, [CAL_MULTIBODY] = &multibody, [CAL_GROUP] = &group};
    return tables[kind];
}

int cal_component_add(cal_world* world, cal_component_kind kind, int stride, int states) {
    int c;
    if (world->unused_count > 0) {
        c = world->unused_components[--world->unused_count];
    } else {
        if (world->domain != CAL_DOMAIN_WHOLE) return -1; // places are given to domains before
        int capacity = world->component_capacity;
        if (!cal_grow((void**)&world->unused_components, &world->unused_capacity, world->component_count,
                      sizeof(int)) ||
            !cal_grow((void**)&world->components, &capacity, world->component_count, sizeof *world->components))
            return -1;
        world->component_capacity = capacity;
        c = world->component_count++;
    }
    world->components[c] = (cal_component){.ops = cal_component_table(kind),
                                           .number = c,
                                           .body = -1,
                                           .weight = 1,
                                           .local_time = world->time,
                                           .domain = world->domain};
    cal_queue_create(&world->components[c].queue, stride);
    if (cal_queue_reserve(&world->components[c].queue, states)) return c;
    world->components[c].ops = NULL;
    world->unused_components[world->unused_count++] = c;
    return -1;
}

typedef cal_status begin_function(cal_world* world, int component, double time, cal_error* error);

static cal_status begin(cal_world* world, int component, begin_function* how, double time, cal_error* error) {
    cal_component_mark_used(world, component, time);
    world->beginning = component + 1, world->begins = time;
    const cal_status status = how(world, component, time, error);
    world->beginning = 0;
    return status;
}

cal_status cal_begin_segment(cal_world* world, int component, double time, cal_error* error) {
    if (component < 0) return CAL_OK;
    return begin(world, component, world->components[component].ops->begin, time, error);
}

cal_status cal_begin_forced(cal_world* world, int component, double time, cal_error* error) {
    if (component < 0) return CAL_OK;
    const cal_component_ops* ops = world->components[component].ops;
    return begin(world, component, ops->begin_forced != NULL ? ops->begin_forced : ops->begin, time, error);
}

void cal_component_note_change(cal_component* c, double time) {
    if (time > c->changed && c->changed > 0.0) c->pause = time - c->changed;
    c->changed = time;
}

// Who is changed from outside again and again, by a loop that controls it, will be after as long again; who is not, after as long as it was not.
double cal_component_next_change(const cal_component* c, double time) {
    const double since = time - c->changed;
    if (!(c->pause > 0.0)) return (double)INFINITY;
    return time + (since < c->pause ? c->pause - since : since);
}

cal_status cal_step_component(cal_world* world, int component, double time, cal_error* error) {
    const cal_component* c = &world->components[component];
    cal_component_mark_used(world, component, time);
    if (c->ops->step == NULL || cal_component_is_fused(c)) return CAL_OK;
    return c->ops->step(world, component, time, error);
}

cal_status cal_component_refresh(cal_world* world, int component, cal_error* error) {
    return component >= 0 ? world->components[component].ops->refresh(world, component, error) : CAL_OK;
}

bool cal_component_is_asleep(const cal_world* world, int component) {
    if (component < 0 || world->components[component].ops->asleep == NULL) return false;
    return world->components[component].ops->asleep(world, component);
}

bool cal_component_holds(const cal_world* world, int a, int b, double time) {
    const int first = cal_body_component(world, a, time), second = cal_body_component(world, b, time);
    const int component = first >= 0 ? first : second;
    if (component < 0 || (second >= 0 && second != component)) return false;
    const cal_component_ops* ops = world->components[component].ops;
    return ops->holds != NULL && ops->holds(world, component, a, b);
}
