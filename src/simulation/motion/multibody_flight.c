// How a multibody that nothing touches goes on: its system takes steps (solver/system.h).
//
// A state's numbers: q, v, joint forces, slots, which constraints are active, controls; the size of the last step, by which of its
// systems it goes on, and whether that one's motion is under way, which then is in `memory`; and what flowed. Then what the step from
// it has given: its length (0: it was not taken yet), its end, the curves that q and v follow in it (curve.h), and bounds of all links on those of q.
// A new motion that begins within a step leaves what is before as it was.
//
//     state n  ─────────── curves of q, v ───────────▸  state n + 1        what is looked at between them is a function of
//     q, v, memory of the system                        q, v, memory       the curves, and costs no evaluation
//
// Where links are between two states, and how fast, follows from the curves of q alone, so that what is looked at is what moves;
// a new motion takes over the velocities that the solver knows better, from their own curves. All of it is projected onto the
// constraints (multibody_loops.c).
//
// "auto" goes by an explicit method, and by an implicit one where joint forces, and not errors, keep the steps of that one small.
#include "base/finite.h"
#include "base/memory.h"
#include "pass/joint_law.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/contact/contact_group.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/bounds.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

enum { MOST_ATTEMPTS = 20 };
// So many hits of stops without time going on: joints that drive each other into their stops.
enum { MOST_REPEATS = 100 };
// Steps of a box: each is a state that is kept until the box is behind. A stiff spring that is followed by an explicit method, or masses whose
// ratio leaves no digits, make millions of them in a box of usual length.
enum { MOST_AHEAD = 1024 };
static const double LEAST_TIME = 1e-9; // s: a second of such would be 1e9 of them

// A step of size h is at the edge of what an explicit method of order 5 allows where h D + h² K is a few times the inertia (3.2
// on the negative axis): from WHEN_STIFF on it is forces that keep steps small. What is WHEN_SOFT of it is left to errors.
static const double WHEN_STIFF = 1.0, WHEN_SOFT = 0.1;
// Of a window (world.h): steps so long are few, and are not looked at for that.
static const double SHORT_STEP = 0.25;

// --- Where things are ---------------------------------------------------------------------------------------------------------

void cal_multibody_place(cal_multibody* m) {
    const cal_multibody_model* e = m->engine;
    const int v = e->v_count;
    cal_multibody_places* at = &m->at;
    at->v = e->q_count;
    at->tau = at->v + v;
    at->slots = at->tau + v;
    at->active = at->slots + m->slots;
    at->control = at->active + e->constraint_count;
    at->step = at->control + cal_drive_count(e->model);
    at->system = at->step + 1;
    at->running = at->system + 1;
    at->repeats = at->running + 1;
    at->flows = at->repeats + 1;
    at->memory = at->flows + (int)(sizeof(cal_flows) / sizeof(double));
    at->length = at->memory + (int)e->memory;
    at->end = at->length + 1;
    at->degree = at->end + 1;
    at->rows = at->degree + 1;
    at->bounds = at->rows + e->terms * (e->q_count + v + (int)CAL_FLOW_KINDS);
    at->stride = at->bounds + 3 * e->body_count;
}

static cal_flows* flows_of(const cal_multibody* m, double* data) { return (cal_flows*)(void*)(data + m->at.flows); }

static cal_curves curves_of(const cal_multibody* m, double* data) {
    return (cal_curves){.rows = data + m->at.rows,
                        .stride = m->engine->terms,
                        .degree = (int)data[m->at.degree],
                        .length = data[m->at.length]};
}

// --- Steps --------------------------------------------------------------------------------------------------------------------

// One step from a state's numbers by the system that they name. largest: 0, or it begins anew with a step not longer than that.
static cal_status take_step(cal_world* world, cal_multibody* m, int64_t number, double start, const double* data,
                            double largest, double* to, cal_error* error) {
    cal_multibody_model* e = m->engine;
    const cal_multibody_places* at = &m->at;
    cal_system* system = e->systems[(int)data[at->system]];
    const bool goes_on = data[at->running] != 0.0 && largest == 0.0;
    cal_status status = CAL_OK;
    if (!goes_on || e->current != m || e->current_number != number) {
        status =
            cal_system_act(system, data + at->tau, data + at->control, data + at->active, m->pushes, m->push_count);
        if (status == CAL_OK && goes_on) status = cal_system_load_motion(system, data + at->memory);
        if (status == CAL_BAD_ARGUMENT)
            return cal_fail(error, status, "a multibody holds numbers that no simulation has at %g s", start);
        if (status != CAL_OK) return cal_fail(error, status, "out of memory for a multibody");
    }
    e->current = NULL;
    if (!goes_on) {
        const double longest = largest > 0.0 ? largest : world->window;
        cal_system_limit(system, fmin(data[at->step], longest), longest);
        cal_system_set_flows(system, (const cal_flows*)(const void*)(data + at->flows));
        status = cal_system_begin(system, start, data, data + at->v, error);
    }
    double from;
    return status == CAL_OK ? cal_system_step(system, &from, to, error) : status;
}

// A step that ended where a joint came to its stop: the state after the impact.
static cal_status end_step(cal_multibody* m, cal_system* system, double length, const double* data, double* next,
                           bool* hit, cal_error* error) {
    const cal_multibody_model* e = m->engine;
    const cal_status status = cal_system_end_step(system, hit, error);
    next[m->at.repeats] = *hit && length < LEAST_TIME ? data[m->at.repeats] + 1.0 : 0.0;
    if (status != CAL_OK || !*hit) return status;
    memcpy(next + m->at.v, cal_system_v(system), (size_t)e->v_count * sizeof *next);
    *flows_of(m, next) = cal_system_flows(system);
    return next[m->at.repeats] < MOST_REPEATS
               ? CAL_OK
               : cal_fail(error, CAL_NOT_CONVERGED,
                          "joints at their stops do not settle at t = %.9g s: %d times they were hit and left; give "
                          "stops a stiffness",
                          cal_system_time(system), MOST_REPEATS);
}

// Joints that something else has driven into the stops that they are at, at a new state.
static cal_status hit_stops(cal_multibody* m, double time, double* data, cal_error* error) {
    cal_multibody_model* e = m->engine;
    const cal_multibody_places* at = &m->at;
    bool any = false;
    for (int i = 0; i < e->stop_count; i++) {
        const cal_stopped_joint* joint = &e->stops[i];
        double sign;
        const double gap = cal_stopped_joint_gap(joint, data, &sign);
        any |= gap <= e->stop_numbers[joint->degree] && sign * data[at->v + joint->degree] < 0.0;
    }
    if (!any) return CAL_OK;
    cal_system* system = e->systems[(int)data[at->system]];
    e->current = NULL;
    cal_status status =
        cal_system_act(system, data + at->tau, data + at->control, data + at->active, m->pushes, m->push_count);
    if (status != CAL_OK) return cal_fail(error, status, "out of memory for a multibody");
    cal_system_set_flows(system, (const cal_flows*)(const void*)(data + at->flows));
    status = cal_system_hit(system, time, data, data + at->v, error);
    if (status != CAL_OK) return status;
    memcpy(data + at->v, cal_system_v(system), (size_t)e->v_count * sizeof *data);
    *flows_of(m, data) = cal_system_flows(system);
    return CAL_OK;
}

// The curves of the step that was just taken, from a state to the next one, and their bounds; false: there are none.
static cal_status find_curves(const cal_world* world, const cal_multibody* m, cal_system* system, double start,
                              double end, double* data, double* next, bool* bounded) {
    const cal_multibody_model* e = m->engine;
    const int count = e->q_count + e->v_count, degree = cal_system_degree(system);
    double *rows = data + m->at.rows, *values = e->work;
    for (int k = 0; k <= degree; k++) {
        const double* own = k == 0 ? data : k == degree ? next : values;
        const double time = start + (end - start) * ((double)k / degree);
        cal_flows flows = *flows_of(m, k == 0 ? data : next);
        if (own == values) {
            const cal_status status = cal_system_sample_open(system, time, values, values + e->q_count);
            if (status != CAL_OK) return status;
            flows = cal_system_sample_flows(system, time);
        }
        for (int i = 0; i < count; i++) rows[i * e->terms + k] = own[i];
        const double flowed[CAL_FLOW_KINDS] = {flows.work, flows.loss, flows.closing};
        for (int i = 0; i < CAL_FLOW_KINDS; i++) rows[(count + i) * e->terms + k] = flowed[i];
    }
    bool finite = true;
    for (int i = 0; i < count + CAL_FLOW_KINDS; i++) {
        double* row = rows + (size_t)i * (size_t)e->terms;
        cal_curve_through(row, degree);
        finite = finite && cal_all_finite(row, degree + 1);
    }
    if (!finite) return CAL_NOT_FINITE; // so far away that sums of a few places have no end
    data[m->at.length] = end - start;
    data[m->at.end] = end;
    data[m->at.degree] = degree;
    const cal_curves curves = curves_of(m, data);
    double* bounds = data + m->at.bounds;
    cal_curves_bound_links(world, m, &curves, e->work, bounds);
    *bounded = true;
    for (int i = 0; i < 3 * e->body_count; i++) *bounded = *bounded && isfinite(bounds[i]);
    return CAL_OK;
}

// The largest of (h D + h² K)ᵢᵢ (M⁻¹)ᵢᵢ over degrees of freedom, at a state: with the diagonal S = h D + h² K, the elements on the diagonal of
// S^½ M⁻¹ S^½, none of which is above its largest eigenvalue. (Mᵢᵢ would count what hangs from a joint as its inertia, though a light body
// between two joints of one axis feels only its own.) Of a medium, whose slopes are a matrix per body, what it makes of that body's motion. Constraints are left out: they take motions away, and a step that is implicit without
// need is as exact.
static cal_status find_stiffness(const cal_multibody* m, const double* data, double time, double h, double* out) {
    cal_multibody_model* e = m->engine;
    double *damping = e->work, *stiffness = damping + e->v_count;
    *out = 0.0;
    const double *control = e->inputs, *v = data + m->at.v;
    cal_drive_inputs(e->model, data + m->at.control, time, e->inputs);
    bool any = cal_joint_slopes(e->model, control, data, v, damping, stiffness);
    cal_coupled* coupled = e->aba_state->coupled;
    any |= cal_coupled_add_slopes(coupled, control, data, v, damping, stiffness);
    const bool resists = cal_model_has_drag(e->model);
    if (!any && !resists) return CAL_OK;
    double* inverse = stiffness + e->v_count;
    cal_constraints_evaluate(e->inertia, data, v);
    cal_constraints_factor_mass(e->inertia);
    cal_mass_factor_inverse_diagonal(&e->inertia->tree, inverse);
    for (int i = 0; i < e->v_count; i++) *out = fmax(*out, h * (damping[i] + h * stiffness[i]) * inverse[i]);
    if (!resists) return CAL_OK;
    cal_coupled_resist(coupled, h);
    *out = fmax(*out, cal_mass_factor_resisted(&e->inertia->tree, coupled->resisting));
    return CAL_OK;
}

// By which system it goes on from a state that a step of size h has led to.
static cal_status choose_system(const cal_world* world, const cal_multibody* m, double time, double h, double* next) {
    const cal_multibody_model* e = m->engine;
    const int now = (int)next[m->at.system];
    if (e->systems[CAL_FLIGHT_IMPLICIT] == NULL || (now == CAL_FLIGHT_EXPLICIT && !(h < SHORT_STEP * world->window)))
        return CAL_OK;
    double ratio;
    const cal_status status = find_stiffness(m, next, time, h, &ratio);
    const int best = ratio >= WHEN_STIFF ? CAL_FLIGHT_IMPLICIT : ratio <= WHEN_SOFT ? CAL_FLIGHT_EXPLICIT : now;
    if (best != now) next[m->at.system] = best, next[m->at.running] = 0.0;
    return status;
}

// The next state of an isolated multibody.
static cal_status extend(cal_world* world, int component, cal_error* error) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_model* e = m->engine;
    cal_queue* queue = &world->components[component].queue;
    const int64_t number = queue->tail - 1;
    const double start = cal_saved_state_at(queue, number)->time;
    if (cal_queue_push(world, component, CAL_STEP, start) == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    queue = &world->components[component].queue;
    double *data = cal_data_at(queue, number), *next = cal_data_at(queue, number + 1), end = start, largest = 0.0;
    cal_system* system = e->systems[(int)data[m->at.system]];
    bool bounded = false;
    for (int i = 0; !bounded; i++) {
        cal_status status = take_step(world, m, number, start, data, largest, &end, error);
        if (status != CAL_OK) return status;
        if (i == MOST_ATTEMPTS) return cal_fail(error, CAL_NOT_CONVERGED, "a body turns too fast at %g s", start);
        memcpy(next, cal_system_q(system), (size_t)e->q_count * sizeof *next);
        memcpy(next + m->at.v, cal_system_v(system), (size_t)e->v_count * sizeof *next);
        *flows_of(m, next) = cal_system_flows(system);
        status = find_curves(world, m, system, start, end, data, next, &bounded);
        if (status != CAL_OK) return cal_fail(error, status, "a step has no states inside at %g s", start);
        largest = 0.25 * (end - start);
    }
    bool hit = false;
    cal_status status = end_step(m, system, end - start, data, next, &hit, error);
    if (status != CAL_OK) return status;
    cal_system_store_motion(system, next + m->at.memory);
    cal_saved_state_at(queue, number + 1)->time = end;
    next[m->at.length] = 0.0;
    // After an event steps go on as they were.
    next[m->at.step] = hit ? fmax(end - start, data[m->at.step]) : end - start;
    next[m->at.running] = hit ? 0.0 : 1.0;
    e->current = m, e->current_number = number + 1;
    world->report.series++;
    return choose_system(world, m, end, end - start, next);
}

// The state whose step holds at a time; takes steps as far as that needs. beyond: the step must go on after the time.
static cal_status state_for(cal_world* world, int component, double time, bool beyond, int64_t* number) {
    const cal_multibody* m = world->components[component].multibody;
    for (;;) {
        const cal_queue* queue = &world->components[component].queue;
        int64_t n = cal_queue_find(queue, time);
        if (n < queue->head) n = queue->head;
        *number = n;
        const cal_saved_state* knot = cal_saved_state_at(queue, n);
        if (n + 1 < queue->tail || knot->kind == CAL_FUSED || (!beyond && time <= knot->time)) return CAL_OK;
        const double* data = cal_data_at(queue, n);
        if (data[m->at.length] > 0.0 && time < data[m->at.end]) return CAL_OK;
        const int64_t tail = queue->tail;
        const cal_status status = extend(world, component, &world->trouble);
        if (status == CAL_OK) continue;
        // It leaves no state, if it came to make one.
        if (world->components[component].queue.tail == tail) return status;
        world->components[component].queue.tail = tail;
        cal_domain_keeper(world, &world->components[component])->states--;
        return status;
    }
}

// --- States -------------------------------------------------------------------------------------------------------------------

bool cal_multibody_holds(const cal_world* world, int component, double from, double time) {
    const cal_queue* queue = &world->components[component].queue;
    const int64_t n = cal_queue_find(queue, from);
    if (from == time || n < queue->head) return true;
    if (n + 1 < queue->tail) return time < cal_saved_state_at(queue, n + 1)->time;
    return time < cal_data_at(queue, n)[world->components[component].multibody->at.end];
}

cal_status cal_multibody_state(cal_world* world, int component, double from, double time, bool moving, double* q,
                               double* v) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_model* e = m->engine;
    int64_t number;
    const cal_status status = state_for(world, component, from, false, &number);
    if (status != CAL_OK) return status;
    const cal_queue* queue = &world->components[component].queue;
    double* data = cal_data_at(queue, number);
    const double t = time - cal_saved_state_at(queue, number)->time;
    memcpy(q, data, (size_t)e->q_count * sizeof *q);
    memcpy(v, data + m->at.v, (size_t)e->v_count * sizeof *v);
    if (!(t > 0.0) || !(data[m->at.length] > 0.0)) return CAL_OK;
    const cal_curves curves = curves_of(m, data);
    cal_curves_at(e->model, &curves, t, q, v);
    for (int i = 0; !moving && i < e->v_count; i++) {
        double slope;
        v[i] = cal_curve_at(curves.rows + (size_t)(e->q_count + i) * (size_t)e->terms, curves.degree, t / curves.length,
                            &slope);
    }
    cal_multibody_use(m, data + m->at.active);
    return cal_loops_project(e, time, q, v, CAL_PROJECT_BOTH);
}

cal_flows* cal_multibody_flows(const cal_world* world, int component, double* data) {
    return flows_of(world->components[component].multibody, data);
}

cal_status cal_multibody_flowed(cal_world* world, int component, double time, cal_flows* out) {
    const cal_multibody* m = world->components[component].multibody;
    const cal_multibody_model* e = m->engine;
    int64_t number;
    const cal_status status = state_for(world, component, time, false, &number);
    if (status != CAL_OK) return status;
    const cal_queue* queue = &world->components[component].queue;
    const cal_saved_state* state = cal_saved_state_at(queue, number);
    double *data = cal_data_at(queue, number), slope, flowed[CAL_FLOW_KINDS];
    *out = *flows_of(m, data);
    if (state->kind == CAL_FUSED || !(time > state->time) || !(data[m->at.length] > 0.0)) return CAL_OK;
    const cal_curves curves = curves_of(m, data);
    for (int i = 0; i < CAL_FLOW_KINDS; i++)
        flowed[i] = cal_curve_at(curves.rows + (size_t)(e->q_count + e->v_count + i) * (size_t)e->terms, curves.degree,
                                 (time - state->time) / curves.length, &slope);
    out->moved += fabs(flowed[CAL_FLOW_WORK] - out->work);
    out->work = flowed[CAL_FLOW_WORK];
    out->loss = flowed[CAL_FLOW_LOSS];
    out->closing = flowed[CAL_FLOW_CLOSING];
    return CAL_OK;
}

cal_status cal_multibody_at(cal_world* world, const cal_multibody* m, double time, double* q, double* v) {
    const int body = m->bodies[0], component = cal_body_component(world, body, time);
    if (component != m->component) return cal_group_numbers(world, component, body, time, q, v);
    return cal_multibody_state(world, m->component, time, time, false, q, v);
}

cal_status cal_multibody_limits(cal_world* world, int component, int link, double from, double until,
                                cal_motion_bounds* out) {
    (void)until;
    const cal_multibody* m = world->components[component].multibody;
    int64_t n;
    const cal_status status = state_for(world, component, from, true, &n);
    if (status != CAL_OK) return status;
    const cal_queue* queue = &world->components[component].queue;
    const double *data = cal_data_at(queue, n), *bounds = data + m->at.bounds + 3 * link;
    if (!(data[m->at.length] > 0.0)) return CAL_OK; // a state that nobody went on from
    out->slack = bounds[0], out->turn = bounds[1], out->twist = bounds[2];
    out->begin = cal_saved_state_at(queue, n)->time;
    out->end = out->until = data[m->at.end];
    if (n + 1 < queue->tail) out->until = fmin(out->until, cal_saved_state_at(queue, n + 1)->time);
    return CAL_OK;
}

double cal_multibody_ahead(cal_world* world, int component, double time, double length) {
    const cal_multibody* m = world->components[component].multibody;
    double at = time;
    for (int i = 0; i < MOST_AHEAD && at < time + length; i++) {
        int64_t n;
        // Whoever makes the box comes to what cannot be followed, and says so.
        if (state_for(world, component, at, true, &n) != CAL_OK) return length;
        const cal_queue* queue = &world->components[component].queue;
        const double* data = cal_data_at(queue, n);
        if (n + 1 < queue->tail)
            at = cal_saved_state_at(queue, n + 1)->time;
        else if (data[m->at.length] > 0.0)
            at = data[m->at.end];
        else
            return length; // a group has it from here on
    }
    return fmin(length, at - time);
}

cal_status cal_multibody_refresh(cal_world* world, int component, cal_error* error) {
    cal_multibody* m = world->components[component].multibody;
    const cal_queue* queue = &world->components[component].queue;
    double* data = cal_data_at(queue, queue->tail - 1);
    data[m->at.running] = 0.0;
    data[m->at.length] = 0.0;
    data[m->at.repeats] = 0.0;
    m->engine->current = NULL;
    const double time = cal_saved_state_at(queue, queue->tail - 1)->time;
    cal_multibody_forget(m, time);
    return hit_stops(m, time, data, error);
}

cal_status cal_multibody_begin(cal_world* world, int component, double time, cal_error* error) {
    cal_multibody* m = world->components[component].multibody;
    const cal_multibody_model* e = m->engine;
    const size_t size = (size_t)(e->q_count + e->v_count);
    double* numbers = cal_allocate(size, sizeof *numbers);
    if (numbers == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    cal_flows flows = {0};
    cal_status status = cal_multibody_state(world, component, time, time, false, numbers, numbers + e->q_count);
    if (status == CAL_OK) status = cal_multibody_flowed(world, component, time, &flows);
    if (status != CAL_OK)
        cal_fail_state(world, status, error);
    else
        status = cal_rollback_to(world, component, time, error);
    if (status == CAL_OK && cal_queue_push(world, component, CAL_SEGMENT, time) == NULL)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    if (status == CAL_OK) {
        const cal_queue* queue = &world->components[component].queue;
        memcpy(cal_data_at(queue, queue->tail - 1), numbers, size * sizeof *numbers);
        *flows_of(m, cal_data_at(queue, queue->tail - 1)) = flows;
        status = cal_multibody_refresh(world, component, error);
    }
    cal_free(numbers);
    return status;
}

cal_status cal_multibody_changed(cal_world* world, int component, double time, cal_error* error) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_forget(m, time);
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < m->engine->body_count; i++)
        status = cal_body_changed(world, m->bodies[i], time, error);
    return status;
}
