// A group's motion that begins anew between two of its states, with the numbers that hold there: because something hits a member, or because forces change.
#include "base/memory.h"
#include "simulation/contact/contact_group.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

#define CRUMB 1e-9 // of an interval: no step is so short (group_implicit.c)

// The way to a group's state after a time, which begins before that: NULL where there is none. To be freed.
static cal_status copy_way(const cal_world* world, int component, double time, double** out) {
    const cal_contact_group* g = world->components[component].group;
    const cal_queue* queue = &world->components[component].queue;
    const int64_t n = cal_queue_find(queue, time);
    *out = NULL;
    if (n < queue->head || n + 1 >= queue->tail || cal_saved_state_at(queue, n)->time == time ||
        cal_data_at(queue, n)[g->at_rest + CAL_REST_ASLEEP] != 0.0)
        return CAL_OK;
    const size_t count = (size_t)(queue->stride - g->at_arrival);
    *out = cal_allocate(count, sizeof **out);
    if (*out == NULL) return CAL_NO_MEMORY;
    memcpy(*out, cal_data_at(queue, n + 1) + g->at_arrival, count * sizeof **out);
    return CAL_OK;
}

// The interval of a state that begins at a time within one where forces change goes on, as the integrator does: who is near whom has not changed, and what
// a loop controls a thousand times per second is checked as others are. A check that is due within what is no step comes now.
static void go_on_between(const cal_contact_group* g, double time, const double* way, double* data) {
    double *rest = data + g->at_rest, *begin = &rest[CAL_REST_BEGIN], *end = &rest[CAL_REST_END];
    if (way != NULL) {
        memcpy(data + g->at_memory, way + g->at_memory, g->memory_count * sizeof *data);
        *begin = way[g->at_rest + CAL_ARRIVAL_BEGIN], *end = way[g->at_rest + CAL_ARRIVAL_END];
        rest[CAL_REST_CHECKED] = 0.0;
    }
    if (time < *end && time >= *end - CRUMB * (*end - *begin)) *end = time, rest[CAL_REST_CHECKED] = 0.0;
}

// The newest state has begun in between, with some numbers; way: how it was reached, NULL: from the state before.
static void begin_between(cal_world* world, int component, const double* numbers, const double* way, bool straight,
                          bool forced, const cal_flows* flows) {
    const cal_contact_group* g = world->components[component].group;
    const cal_queue* queue = &world->components[component].queue;
    double *data = cal_data_at(queue, queue->tail - 1), *rest = data + g->at_rest;
    const bool goes_on = forced && rest[CAL_REST_ASLEEP] == 0.0;
    memcpy(data, numbers, (size_t)(g->at_v + g->group.v_count) * sizeof *data);
    *cal_group_flows(world, component, data) = *flows;
    rest[CAL_REST_STRAIGHT] = straight ? 1.0 : 0.0;
    cal_group_arrive(world, component);
    if (way != NULL) memcpy(data + g->at_arrival, way, (size_t)(queue->stride - g->at_arrival) * sizeof *data);
    rest[CAL_REST_ASLEEP] = 0.0, rest[CAL_REST_QUIET] = 0.0;
    if (goes_on) {
        go_on_between(g, cal_saved_state_at(queue, queue->tail - 1)->time, way, data);
        return;
    }
    rest[CAL_REST_CHECKED] = 1.0;
    rest[CAL_REST_BEGIN] = rest[CAL_REST_END] = 0.0;
}

// What was predicted for a group comes from the motion between its states; so a state that begins in between is on that motion,
// and not on an integration of its own, which would come to another place than the one that was looked at. The way there stays the one that it was,
// to the last bit: another domain may still ask where a member was.
static cal_status begin(cal_world* world, int component, double time, bool forced, cal_error* error) {
    const cal_contact_group* g = world->components[component].group;
    double *numbers = cal_allocate((size_t)(g->at_v + g->group.v_count), sizeof *numbers), *way = NULL;
    if (numbers == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group");
    const bool straight = cal_group_goes_straight(world, component, time);
    cal_flows flows = {0};
    cal_status status = cal_group_state(world, component, time, numbers);
    if (status == CAL_OK) status = cal_group_flowed(world, component, time, &flows);
    if (status == CAL_OK) status = copy_way(world, component, time, &way);
    if (status != CAL_OK) status = cal_fail(error, status, "a contact group cannot be followed to %g s", time);
    if (status == CAL_OK) status = cal_rollback_to(world, component, time, error);
    if (status == CAL_OK && cal_queue_push(world, component, CAL_SEGMENT, time) == NULL)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    if (status == CAL_OK) begin_between(world, component, numbers, way, straight, forced, &flows);
    cal_free(numbers);
    cal_free(way);
    return status;
}

cal_status cal_group_begin(cal_world* world, int component, double time, cal_error* error) {
    return begin(world, component, time, false, error);
}

cal_status cal_group_begin_forced(cal_world* world, int component, double time, cal_error* error) {
    return begin(world, component, time, true, error);
}
