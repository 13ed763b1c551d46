// See flow.h.
#include "simulation/flow.h"
#include "base/memory.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/measuring.h"
#include "simulation/motion/free_body.h"
#include "simulation/share.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <math.h>

static void add_flows(cal_flows* sum, const cal_flows* term, double sign) {
    sum->work += sign * term->work;
    sum->loss += sign * term->loss;
    sum->closing += sign * term->closing;
    sum->moved += sign * term->moved;
}

// --- Sums ---------------------------------------------------------------------------------------------------------------------

enum { SHARED = 8192 }; // bodies whose flows are found at a time

// What flowed into and out of the component that a body is the first of, and who is in charge of that.
typedef struct flowed {
    cal_flows flows;
    int charge;
} flowed;

typedef struct many_flowed {
    cal_world* world;
    int first;
    flowed* of;
} many_flowed;

static cal_status flow_of(cal_world* world, int component, cal_flows* out) {
    return world->components[component].ops->flowed(world, component, world->time, out);
}

// The component that a body is the first of; -1: none, or one that has no state.
static int first_of(const cal_world* world, int body) {
    const int own = world->bodies[body].component;
    if (own < 0 || world->components[own].body != body) return -1;
    const cal_queue* queue = &world->components[own].queue;
    return queue->tail > queue->head ? own : -1;
}

static cal_status find_one(cal_world* world, int body, int own, flowed* out) {
    out->charge = cal_body_component(world, body, world->time);
    return flow_of(world, own, &out->flows);
}

// What does not have to be computed further can be looked at by several processors.
static bool is_known(const cal_world* world, int body) { return cal_free_body_is_known(world, body, world->time); }

static void find_some(void* user, int first, int end) {
    const many_flowed* m = user;
    for (int i = first; i < end; i++) {
        const int body = m->first + i, own = first_of(m->world, body);
        if (own >= 0 && is_known(m->world, body)) (void)find_one(m->world, body, own, &m->of[i]);
    }
}

static cal_status add_some(cal_world* world, int first, int count, const flowed* known, cal_flows* sum) {
    for (int i = first; i < first + count; i++) {
        const int own = first_of(world, i);
        if (own < 0) continue;
        flowed one;
        cal_status status = CAL_OK;
        if (known != NULL && is_known(world, i))
            one = known[i - first];
        else
            status = find_one(world, i, own, &one);
        if (status == CAL_OK) add_flows(sum, &one.flows, 1.0);
        if (status == CAL_OK && one.charge != own && world->components[one.charge].group->members[0] == own) {
            status = flow_of(world, one.charge, &one.flows);
            if (status == CAL_OK) add_flows(sum, &one.flows, 1.0);
        }
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

// Sums are taken in the order of bodies, whoever found the terms.
static cal_status find_flows(cal_world* world, cal_flows* out) {
    cal_shared_terms shared;
    *out = (cal_flows){0};
    if (cal_rank_measure(world, &shared)) {
        for (const cal_body_terms* one; (one = cal_next_terms(&shared)) != NULL;) add_flows(out, &one->flows, 1.0);
        return CAL_OK;
    }
    const int most = world->body_count < SHARED ? world->body_count : SHARED;
    flowed* known =
        world->machine != NULL ? cal_allocate((size_t)most + 1, sizeof *known) : NULL; // without memory: one by one
    cal_status status = CAL_OK;
    for (int first = 0; status == CAL_OK && first < world->body_count; first += SHARED) {
        const int count = world->body_count - first < SHARED ? world->body_count - first : SHARED;
        many_flowed some = {world, first, known};
        if (known != NULL) cal_world_share(world, count, find_some, &some);
        status = add_some(world, first, count, known, out);
    }
    cal_free(known);
    return status;
}

// --- The account --------------------------------------------------------------------------------------------------------------

// What is at rest by the world's own measure says nothing about an account: the energy of all bodies at a speed that counts as none.
static double find_floor(const cal_world* world) {
    double mass = 0.0;
    for (int i = 0; i < world->body_count; i++)
        if (world->bodies[i].component >= 0) mass += world->bodies[i].mass;
    return 0.5 * mass * world->slow * world->slow;
}

// Steps of groups may be off by the root of their tolerance (contact/group_implicit.c), those of systems by a finer one.
static cal_status read_now(cal_world* world, cal_reading* out) {
    cal_world_report report;
    cal_status status = cal_world_measure(world, false, &report);
    *out = (cal_reading){.time = world->time,
                         .kinetic = report.kinetic,
                         .potential = report.potential,
                         .steps = report.series + report.group_steps,
                         .impacts = report.collisions,
                         .tolerance = report.group_steps > 0 ? sqrt(world->def.group_tolerance) : world->def.tolerance,
                         .floor = find_floor(world),
                         .can_flow = true};
    return status == CAL_OK ? find_flows(world, &out->flows) : status;
}

cal_status cal_world_begin_account(cal_world* world, cal_error* error) {
    cal_reading now;
    if (world->account.begun) return CAL_OK;
    const cal_status status = read_now(world, &now);
    world->failed = status;
    if (status != CAL_OK)
        return cal_fail(error, status, "no account of the energy at %g s: %s", world->time, cal_status_text(status));
    cal_account_begin(&world->account, &now, 0.0, 0.0);
    return CAL_OK;
}

cal_status cal_world_balance(cal_world* world, cal_energy_balance* out) {
    cal_reading now;
    if (world == NULL || out == NULL) return CAL_BAD_ARGUMENT;
    *out = (cal_energy_balance){0};
    if (!world->started) return CAL_OK; // nothing has moved
    cal_status status = read_now(world, &now);
    if (status != CAL_OK) return status;
    if (!world->account.begun) cal_account_begin(&world->account, &now, 0.0, 0.0);
    cal_account_read(&world->account, &now, out);
    return CAL_OK;
}

// The energy of a component that is in charge of itself, in its newest state.
static cal_status energy_of(cal_world* world, int component, double* out) {
    const cal_component* c = &world->components[component];
    const cal_state_numbers n = c->ops->locate(world, component, c->body, cal_data_at(&c->queue, c->queue.tail - 1));
    return c->ops->energy(world, component, n.q, n.v, out);
}

cal_status cal_world_admit_energy(cal_world* world) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && world->account.begun && i < world->body_count; i++) {
        const int component = world->bodies[i].component;
        double energy = 0.0;
        if (world->bodies[i].stage != CAL_NEW || component < 0 || world->components[component].body != i) continue;
        status = energy_of(world, component, &energy);
        world->account.start += energy;
    }
    return status;
}

cal_status cal_world_remove_energy(cal_world* world, int component) {
    double energy = 0.0;
    cal_flows flows;
    if (component < 0 || !world->account.begun) return CAL_OK;
    const int body = world->components[component].body;
    cal_status status = cal_bodies_energy(world, &body, 1, world->time, &energy);
    if (status == CAL_OK) status = world->components[component].ops->flowed(world, component, world->time, &flows);
    if (status != CAL_OK) return status;
    // The newest state may be before the world's time: what flowed since has changed the energy.
    const cal_queue* queue = &world->components[component].queue;
    cal_flows since = flows;
    add_flows(&since, world->components[component].ops->flows(world, component, cal_data_at(queue, queue->tail - 1)),
              -1.0);
    world->account.start -= energy + since.work - since.loss + since.closing;
    add_flows(&world->account.base, &flows, -1.0);
    return CAL_OK;
}

// --- Events -------------------------------------------------------------------------------------------------------------------

cal_status cal_bodies_energy(cal_world* world, const int* bodies, int count, double time, double* out) {
    cal_status status = CAL_OK;
    *out = 0.0;
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const int own = world->bodies[bodies[i]].component;
        bool seen = own < 0;
        for (int k = 0; k < i; k++) seen |= world->bodies[bodies[k]].component == own;
        if (seen) continue;
        const int charge = cal_body_component(world, bodies[i], time);
        const cal_component* c = &world->components[charge];
        const cal_state_numbers n = c->ops->locate(world, charge, bodies[i], cal_data_at(&c->queue, c->queue.tail - 1));
        double energy = 0.0;
        status = world->components[own].ops->energy(world, own, n.q, n.v, &energy);
        *out += energy;
    }
    return status;
}

void cal_bodies_flow(cal_world* world, const int* bodies, int count, double time, double work, double loss) {
    for (int i = 0; i < count; i++) {
        const int charge = cal_body_component(world, bodies[i], time);
        if (charge < 0) continue;
        const cal_component* c = &world->components[charge];
        cal_flows* flows = c->ops->flows(world, charge, cal_data_at(&c->queue, c->queue.tail - 1));
        flows->work += work;
        flows->moved += fabs(work);
        flows->loss += loss;
        return;
    }
}

// --- Groups -------------------------------------------------------------------------------------------------------------------

cal_status cal_group_energy_at(const cal_group* group, const double* q, const double* v, double* out) {
    const cal_contact_group* g = (const cal_contact_group*)group;
    cal_world* world = group->world;
    cal_status status = CAL_OK;
    *out = 0.0;
    for (int i = 0; status == CAL_OK && i < group->unit_count; i++) {
        double energy = 0.0;
        status = world->components[g->members[i]].ops->energy(world, g->members[i], q + g->units[i].first_q,
                                                              v + g->units[i].first_v, &energy);
        *out += energy;
    }
    return status;
}

cal_status cal_group_energy(cal_world* world, int component, const double* data, double* out) {
    const cal_contact_group* g = world->components[component].group;
    return cal_group_energy_at(&g->group, data, data + g->at_v, out);
}

cal_status cal_group_find_work(const cal_group* group, double time, const double* q, const double* v,
                               const double* to_q, const double* to_v, double length, double* out) {
    const cal_contact_group* g = (const cal_contact_group*)group;
    cal_world* world = group->world;
    cal_status status = CAL_OK;
    *out = 0.0;
    for (int i = 0; status == CAL_OK && i < group->unit_count; i++) {
        const int first_q = g->units[i].first_q, first_v = g->units[i].first_v;
        const cal_member_span span = {.q = q + first_q,
                                      .v = v + first_v,
                                      .to_q = to_q + first_q,
                                      .to_v = to_v + first_v,
                                      .extras = g->used + g->extras[i],
                                      .length = length,
                                      .from = time};
        double work = 0.0;
        status = world->components[g->members[i]].ops->work(world, g->members[i], &span, &work);
        *out += work;
    }
    return status;
}

void cal_group_take_flows(const cal_world* world, int ended, cal_flows* out) {
    const cal_component* c = &world->components[ended];
    cal_flows* own = c->ops->flows(world, ended, cal_data_at(&c->queue, c->queue.tail - 1));
    add_flows(out, own, 1.0);
    *own = (cal_flows){0};
}
