// Callbacks. A callback changes the newest states of its bodies' components in place, right after a new motion began there;
// what it wrote is part of the state and goes when the state goes. In the mode that checks the rules each call is made twice
// from the same states: whoever counts in a variable of its own, or asks a clock, gives two results.
#include "simulation/event/callbacks.h"
#include "base/finite.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/event/events.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <math.h>
#include <string.h>

struct cal_callback_context {
    cal_world* world;
    double time;
    int bodies[CAL_VIEW_BODIES];
    int count;
    cal_status status; // of what the callback asked for
};

double cal_callback_time(const cal_callback_context* view) { return view ? view->time : 0.0; }

static bool in_view(const cal_callback_context* view, int which) {
    return view != NULL && which >= 0 && which < view->count;
}

// A body of the view; what fails ends the simulation after the callback.
static bool read_body(const cal_callback_context* view, int which, cal_motion* out) {
    const cal_status status = cal_body_at(view->world, view->bodies[which], view->time, out);
    if (status != CAL_OK) ((cal_callback_context*)view)->status = status;
    return status == CAL_OK;
}

void cal_callback_body(const cal_callback_context* view, int which, double position[3], double quaternion[4],
                       double velocity[3], double angular_velocity[3]) {
    if (!in_view(view, which)) return;
    cal_world* world = view->world;
    cal_motion at;
    if (!read_body(view, which, &at)) return;
    const cal_sim_body* part = &world->bodies[view->bodies[which]];
    // What was just changed is in the numbers, not yet in the motion.
    const cal_numbers n = cal_body_numbers(world, view->bodies[which], view->time);
    if (n.velocity != NULL) {
        memcpy(at.u, n.velocity, sizeof at.u);
        cal_rotate3(at.pose.rotation, n.angular, at.w);
    }
    cal_motion_to_frame(part, &at, position, quaternion);
    if (velocity != NULL) memcpy(velocity, at.u, sizeof at.u);
    if (angular_velocity != NULL) memcpy(angular_velocity, at.w, sizeof at.w);
}

double* cal_callback_slots(cal_callback_context* view, int which) {
    if (!in_view(view, which)) return NULL;
    const cal_sim_body* part = &view->world->bodies[view->bodies[which]];
    if (part->def.slots == 0) return NULL;
    return cal_body_numbers(view->world, view->bodies[which], view->time).slots;
}

cal_body_id cal_callback_id(const cal_callback_context* view, int which) {
    if (!in_view(view, which)) return (cal_body_id){-1, 0};
    return cal_world_body(view->world, view->bodies[which]);
}

void cal_callback_set_velocity(cal_callback_context* view, int which, const double velocity[3],
                               const double angular_velocity[3]) {
    if (!in_view(view, which)) return;
    const cal_numbers n = cal_body_numbers(view->world, view->bodies[which], view->time);
    cal_motion at;
    if (n.velocity == NULL || !read_body(view, which, &at)) return;
    if (velocity != NULL) memcpy(n.velocity, velocity, 3 * sizeof *velocity);
    if (angular_velocity != NULL) cal_unrotate3(at.pose.rotation, angular_velocity, n.angular);
}

void cal_callback_set_force(cal_callback_context* view, int which, const double force[3], const double torque[3]) {
    if (!in_view(view, which)) return;
    const cal_sim_body* part = &view->world->bodies[view->bodies[which]];
    const cal_numbers n = cal_body_numbers(view->world, view->bodies[which], view->time);
    if (n.acceleration == NULL) return;
    for (int i = 0; i < 3; i++)
        n.acceleration[i] = view->world->def.gravity[i] + (force != NULL ? force[i] / part->mass : 0.0);
    double R[9];
    cal_quaternion_matrix(part->turn, R);
    if (torque != NULL)
        cal_unrotate3(R, torque, n.torque);
    else
        memset(n.torque, 0, 3 * sizeof *n.torque);
}

const double* cal_callback_q(const cal_callback_context* view, int which) {
    return in_view(view, which) ? cal_body_numbers(view->world, view->bodies[which], view->time).q : NULL;
}
const double* cal_callback_v(const cal_callback_context* view, int which) {
    return in_view(view, which) ? cal_body_numbers(view->world, view->bodies[which], view->time).v : NULL;
}
double* cal_callback_tau(cal_callback_context* view, int which) {
    return in_view(view, which) ? cal_body_numbers(view->world, view->bodies[which], view->time).tau : NULL;
}

// --- Calls --------------------------------------------------------------------------------------------------------------------

typedef void call_function(cal_callback_context* view, const void* what);

// The components of a view, each once.
static int components_of(const cal_callback_context* view, int out[CAL_VIEW_BODIES]) {
    int count = 0;
    for (int i = 0; i < view->count; i++) {
        const int component = cal_body_component(view->world, view->bodies[i], view->time);
        bool seen = component < 0;
        for (int j = 0; j < count; j++) seen |= out[j] == component;
        if (!seen) out[count++] = component;
    }
    return count;
}

static double* newest(const cal_world* world, int component, size_t* size) {
    const cal_queue* queue = &world->components[component].queue;
    *size = (size_t)queue->stride;
    return cal_data_at(queue, queue->tail - 1);
}

// Copies the newest states of some components out of their queues, or back.
static void copy_states(const cal_world* world, const int* components, int count, double* memory, bool back) {
    for (int i = 0; i < count; i++) {
        size_t size;
        double* data = newest(world, components[i], &size);
        memcpy(back ? data : memory, back ? memory : data, size * sizeof *data);
        memory += size;
    }
}

static cal_status call_twice(cal_callback_context* view, call_function* call, const void* what, const char* kind,
                             cal_error* error) {
    const cal_world* world = view->world;
    int components[CAL_VIEW_BODIES];
    const int count = components_of(view, components);
    size_t total = 0;
    for (int i = 0; i < count; i++) total += (size_t)world->components[components[i]].queue.stride;
    double* memory = cal_allocate(2 * total + 1, sizeof *memory);
    if (memory == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory");
    copy_states(world, components, count, memory, false);
    call(view, what);
    copy_states(world, components, count, memory + total, false);
    copy_states(world, components, count, memory, true);
    call(view, what);
    copy_states(world, components, count, memory, false);
    const bool same = memcmp(memory, memory + total, total * sizeof *memory) == 0;
    cal_free(memory);
    if (same) return CAL_OK;
    char name[64];
    return cal_fail(error, CAL_BAD_ARGUMENT,
                    "the %s callback of %s at %g s gave two results for the same states: it may use nothing but its "
                    "view; what it must remember belongs into slots",
                    kind, cal_body_name_at(world, view->bodies[0], name, sizeof name), view->time);
}

// What a callback has set of a body, and cannot be followed: no number, or one whose square is none. NULL: nothing.
static const char* find_endless(const cal_world* world, int body, double time) {
    const cal_numbers n = cal_body_numbers(world, body, time);
    if (n.velocity != NULL && !isfinite(cal_dot3(n.velocity, n.velocity))) return "a velocity";
    if (n.angular != NULL && !isfinite(cal_dot3(n.angular, n.angular))) return "an angular velocity";
    if (n.acceleration != NULL && !isfinite(cal_dot3(n.acceleration, n.acceleration))) return "a force";
    if (n.torque != NULL && !isfinite(cal_dot3(n.torque, n.torque))) return "a torque";
    if (n.tau != NULL && !cal_all_finite(n.tau, cal_multibody_degrees(world, body))) return "a joint force";
    return NULL;
}

static cal_status check_numbers(const cal_callback_context* view, const char* kind, cal_error* error) {
    for (int i = 0; i < view->count; i++) {
        const char* what = find_endless(view->world, view->bodies[i], view->time);
        char name[64];
        if (what != NULL)
            return cal_fail(
                error, CAL_NOT_FINITE,
                "the %s callback of %s at %g s gave it %s that is not finite, or so large that its square is not", kind,
                cal_body_name_at(view->world, view->bodies[i], name, sizeof name), view->time, what);
    }
    return CAL_OK;
}

static cal_status call(cal_callback_context* view, call_function* function, const void* what, const char* kind,
                       cal_error* error) {
    view->world->report.callbacks++;
    cal_status status = CAL_OK;
    cal_domain_begin_call(view->world);
    if (view->world->def.check_rules)
        status = call_twice(view, function, what, kind, error);
    else
        function(view, what);
    cal_domain_end_call(view->world);
    if (status == CAL_OK) status = cal_body_failed(view->world, view->bodies[0], view->status, view->time, error);
    return status == CAL_OK ? check_numbers(view, kind, error) : status;
}

typedef struct collision_call {
    const cal_collision_hook* hook;
    const double* impulse;
} collision_call;

static void call_collision(cal_callback_context* view, const void* what) {
    const collision_call* c = what;
    c->hook->callback(view, c->impulse, c->hook->user);
}

cal_status cal_call_collision(cal_world* world, int a, int b, const double impulse[3], double time, cal_error* error) {
    cal_status status = CAL_OK;
    for (int side = 0; status == CAL_OK && side < 2; side++) {
        const int self = side == 0 ? a : b, other = side == 0 ? b : a;
        // Each body sees itself as the first one, and the impulse that it got.
        const double sign = side == 0 ? 1.0 : -1.0, mine[3] = {sign * impulse[0], sign * impulse[1], sign * impulse[2]};
        for (int h = world->bodies[self].first_collision_callback; status == CAL_OK && h >= 0;
             h = world->collision_hooks[h].next) {
            cal_callback_context view = {.world = world, .time = time, .bodies = {self, other}, .count = 2};
            const collision_call what = {&world->collision_hooks[h], mine};
            status = call(&view, call_collision, &what, "collision", error);
        }
    }
    return status;
}

static void call_periodic(cal_callback_context* view, const void* what) {
    const cal_periodic_hook* hook = what;
    hook->callback(view, hook->user);
}

void cal_schedule_periodic(cal_world* world, int hook) {
    const cal_periodic_hook* h = &world->periodic_hooks[hook];
    cal_events_schedule(&world->events, h->event, h->first + (double)h->tick * h->period, (uint64_t)hook);
}

cal_status cal_call_periodic(cal_world* world, int hook, cal_error* error) {
    cal_periodic_hook* h = &world->periodic_hooks[hook];
    const double time = world->now;
    cal_callback_context view = {.world = world, .time = time, .count = h->count};
    memcpy(view.bodies, h->bodies, sizeof view.bodies);
    int components[CAL_VIEW_BODIES];
    const int count = components_of(&view, components);
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < count; i++) status = cal_begin_segment(world, components[i], time, error);
    double before = 0.0, after = 0.0;
    if (status == CAL_OK) status = cal_bodies_energy(world, h->bodies, h->count, time, &before);
    if (status == CAL_OK) status = call(&view, call_periodic, h, "periodic", error);
    if (status == CAL_OK) status = cal_bodies_energy(world, h->bodies, h->count, time, &after);
    // What it does to velocities.
    if (status == CAL_OK) cal_bodies_flow(world, h->bodies, h->count, time, after - before, 0.0);
    const int junction = status == CAL_OK && count > 1 ? cal_junction_create(world) : -1;
    for (int i = 0; status == CAL_OK && i < count; i++) {
        const cal_queue* queue = &world->components[components[i]].queue;
        cal_saved_state* knot = cal_saved_state_at(queue, queue->tail - 1);
        knot->callback = hook;
        knot->tick = h->tick;
        status = cal_component_refresh(world, components[i], error);
        if (status == CAL_OK && count > 1 &&
            (junction < 0 || !cal_junction_add(world, junction, components[i], queue->tail - 1)))
            status = cal_fail(error, CAL_NO_MEMORY, "out of memory for the state graph");
    }
    if (status != CAL_OK) return status;
    h->tick++;
    cal_schedule_periodic(world, hook);
    return cal_world_update_changed(world, error);
}

void cal_periodic_hook_link(cal_world* world, int hook) {
    cal_periodic_hook* h = &world->periodic_hooks[hook];
    for (int i = 0; i < h->count; i++) {
        cal_sim_body* part = &world->bodies[h->bodies[i]];
        h->next_of_body[i] = part->first_periodic_callback;
        part->first_periodic_callback = 1 + hook * CAL_VIEW_BODIES + i;
        if (part->multibody < 0) continue;
        h->next[i] = world->multibodies[part->multibody]->first_callback;
        world->multibodies[part->multibody]->first_callback = 1 + hook * CAL_VIEW_BODIES + i;
    }
}

static int next_in_chain(const cal_world* world, int place, bool of_body) {
    const cal_periodic_hook* h = &world->periodic_hooks[(place - 1) / CAL_VIEW_BODIES];
    return of_body ? h->next_of_body[(place - 1) % CAL_VIEW_BODIES] : h->next[(place - 1) % CAL_VIEW_BODIES];
}

// Takes a place out of a chain that begins with another one.
static void leave_chain(cal_world* world, int* first, int own, bool of_body) {
    int before = 0, place = *first;
    while (place > 0 && place != own) before = place, place = next_in_chain(world, place, of_body);
    if (place != own) return;
    const int after = next_in_chain(world, own, of_body);
    if (before == 0) {
        *first = after;
        return;
    }
    cal_periodic_hook* h = &world->periodic_hooks[(before - 1) / CAL_VIEW_BODIES];
    if (of_body)
        h->next_of_body[(before - 1) % CAL_VIEW_BODIES] = after;
    else
        h->next[(before - 1) % CAL_VIEW_BODIES] = after;
}

void cal_periodic_hook_unlink(cal_world* world, int hook) {
    const cal_periodic_hook* h = &world->periodic_hooks[hook];
    for (int i = 0; i < h->count; i++) {
        cal_sim_body* part = &world->bodies[h->bodies[i]];
        const int own = 1 + hook * CAL_VIEW_BODIES + i;
        leave_chain(world, &part->first_periodic_callback, own, true);
        if (part->multibody >= 0) leave_chain(world, &world->multibodies[part->multibody]->first_callback, own, false);
    }
}

int cal_periodic_hook_after(const cal_world* world, int first, int end, int hook) {
    int next = -1;
    for (int i = first; i < end; i++)
        for (int place = world->bodies[i].first_periodic_callback; place > 0;
             place = next_in_chain(world, place, true)) {
            const int h = (place - 1) / CAL_VIEW_BODIES;
            if (h > hook && (next < 0 || h < next)) next = h;
        }
    return next;
}
