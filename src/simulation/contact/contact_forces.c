// What acts in the contacts of groups at the committed time: the group's own convex problem, once, from the state that holds
// there; forces are impulses over the step's size.
//
// The step. What touches within the step counts as touching now: the smaller h, the less does. What is held is held to a part in
// 10¹⁰ of the speeds that a step would give, so forces are as good as that for any h that is not much smaller than the interval T
// between group checks; an eighth of T is taken.
#include "simulation/contact/contact_forces.h"
#include "base/memory.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/event/pairs.h"
#include "simulation/sim.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

#define SHARE 0.125 // of the interval between group checks
enum { FIRST_CONTACTS = 64 };

static bool append(cal_contact_list* l, const cal_world* world, const cal_contact_group* g,
                   const cal_group_contact* contact, const double force[3]) {
    if (!cal_grow((void**)&l->points, &l->capacity, l->count, sizeof *l->points)) return false;
    cal_contact_point* point = &l->points[l->count++];
    // A group's contacts have the second body of the pair first.
    for (int side = 0; side < 2; side++) {
        point->body[side] = cal_world_body(world, g->bodies[contact->body[1 - side]]);
        point->shape[side] = contact->shape[1 - side];
    }
    for (int i = 0; i < 3; i++) {
        point->point[i] = 0.5 * (contact->point[0][i] + contact->point[1][i]);
        point->normal[i] = contact->normal[i];
        point->force[i] = force[i];
    }
    point->gap = contact->gap;
    return true;
}

// The contacts of a group whose state is given; capacity is for how many there is room, and grows.
static cal_status solve(cal_world* world, const cal_contact_group* g, const double* numbers, double h, int capacity,
                        cal_contact_list* l, cal_error* error) {
    for (;;) {
        double* scratch = cal_allocate(world->group_ops->scratch_count(&g->group, capacity) + 1, sizeof *scratch);
        cal_group_contact* contacts = cal_allocate((size_t)capacity, sizeof *contacts);
        double(*forces)[3] = cal_allocate((size_t)capacity, sizeof *forces);
        cal_group_report report = {0};
        const bool room = scratch != NULL && contacts != NULL && forces != NULL;
        cal_status status =
            room ? world->group_ops->forces(&g->group, world->time, h, numbers, numbers + g->at_v,
                                            numbers + g->at_memory, scratch, capacity, contacts, forces, &report, error)
                 : CAL_NO_MEMORY;
        for (int i = 0; status == CAL_OK && i < report.contacts; i++)
            if (!append(l, world, g, &contacts[i], forces[i])) status = CAL_NO_MEMORY, report.contacts = 0;
        cal_free(scratch);
        cal_free(contacts);
        cal_free(forces);
        if (status == CAL_NO_MEMORY && room && report.contacts > capacity) {
            capacity = report.contacts + report.contacts / 2;
            continue;
        }
        return status == CAL_NO_MEMORY ? cal_fail(error, status, "out of memory for contacts") : status;
    }
}

cal_status cal_group_list_contacts(cal_world* world, int component, double h, cal_contact_list* l, cal_error* error) {
    const cal_component* c = &world->components[component];
    cal_contact_group* g = c->group;
    const int64_t n = cal_queue_find(&c->queue, world->time);
    if (n < c->queue.head || cal_saved_state_at(&c->queue, n)->kind == CAL_ENDED) return CAL_OK;
    const size_t stride = (size_t)c->queue.stride;
    double* numbers = cal_allocate(stride, sizeof *numbers);
    if (numbers == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for contacts");
    memcpy(numbers, cal_data_at(&c->queue, n), stride * sizeof *numbers);
    cal_status status = cal_group_state(world, component, world->time, numbers);
    if (status != CAL_OK) status = cal_fail(error, status, "a contact group cannot be followed to %g s", world->time);
    cal_group_use(g, numbers);
    if (status == CAL_OK) status = solve(world, g, numbers, h, g->last_contacts + FIRST_CONTACTS, l, error);
    cal_group_use(g, cal_data_at(&c->queue, n)); // not what is freed now
    cal_free(numbers);
    return status;
}

// Pairs belong to one group each, and are in order there, whatever the groups' numbers are.
static void sort(cal_contact_list* l, cal_contact_point* room) {
    for (int width = 1; width < l->count; width *= 2) { // merges, which keep the order of a pair's contacts
        for (int from = 0; from < l->count; from += 2 * width) {
            const int middle = from + width < l->count ? from + width : l->count,
                      end = from + 2 * width < l->count ? from + 2 * width : l->count;
            int a = from, b = middle;
            for (int i = from; i < end; i++) {
                const cal_contact_point *p = &l->points[a < middle ? a : b], *q = &l->points[b < end ? b : a];
                const bool left = a < middle && (b >= end || cal_pair_key(p->body[0].index, p->body[1].index) <=
                                                                 cal_pair_key(q->body[0].index, q->body[1].index));
                room[i] = l->points[left ? a++ : b++];
            }
        }
        memcpy(l->points, room, (size_t)l->count * sizeof *room);
    }
}

cal_status cal_contacts_of_step(cal_world* world, double h, cal_contact_point* out, int capacity, int* count,
                                cal_error* error) {
    *count = 0;
    if (!world->started || world->failed != CAL_OK)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the simulation has not begun, or has failed");
    if (world->group_ops->forces == NULL)
        return cal_fail(error, CAL_NOT_AVAILABLE, "contact groups of \"%s\" do not tell their forces; use implicit",
                        world->group_ops->name);
    cal_contact_list l = {0};
    cal_status status = cal_world_complete(world);
    if (status != CAL_OK) cal_explain(error, status, "%s", cal_status_text(status));
    for (int i = 0; status == CAL_OK && i < world->component_count; i++) {
        const cal_component_ops* ops = world->components[i].ops;
        if (ops != NULL && ops->contacts != NULL) status = ops->contacts(world, i, h, &l, error);
    }
    cal_contact_point* room = status == CAL_OK ? cal_allocate((size_t)l.count + 1, sizeof *room) : NULL;
    if (status == CAL_OK && room == NULL) status = cal_fail(error, CAL_NO_MEMORY, "out of memory for contacts");
    if (status == CAL_OK) {
        sort(&l, room);
        *count = l.count;
        const int written = l.count < capacity ? l.count : capacity;
        if (written > 0) memcpy(out, l.points, (size_t)written * sizeof *out);
    }
    cal_free(room);
    cal_free(l.points);
    return status;
}

cal_status cal_world_contacts(cal_world* world, cal_contact_point* out, int capacity, int* count, cal_error* error) {
    if (world == NULL || count == NULL || capacity < 0 || (out == NULL && capacity > 0))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_contacts: the world, count and room must be there");
    return cal_contacts_of_step(world, SHARE / world->def.group_rate, out, capacity, count, error);
}

cal_status cal_sim_contacts(cal_sim* sim, cal_contact_point* out, int capacity, int* count, cal_error* error) {
    if (sim == NULL || count == NULL)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_contacts: sim and count must not be NULL");
    *count = 0;
    return sim->world != NULL ? cal_world_contacts(sim->world, out, capacity, count, error) : CAL_OK;
}
