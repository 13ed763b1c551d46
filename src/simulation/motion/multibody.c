// Multibodies: models of calder.h in a world. One queue for all links. How it goes on alone: multibody_flight.c; in a contact
// group: multibody_unit.c.
#include "base/memory.h"
#include "model/coordinates.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/pairs.h"
#include "simulation/motion/bounds.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/start.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdio.h>
#include <string.h>

// In windows of the world (world.h), 2⁻⁶ s where groups are checked at 100 Hz.
#define FIRST_STEP 0.064
#define LONGEST_BOX 4.0
#define BEYOND_CALLBACK 0.0064

// --- Where things are ---------------------------------------------------------------------------------------------------------

static cal_multibody* of_body(const cal_world* world, int body) {
    return &world->multibodies[world->bodies[body].multibody];
}

double* cal_multibody_q(const cal_world* world, int body, double* data) {
    (void)world;
    (void)body;
    return data;
}
double* cal_multibody_v(const cal_world* world, int body, double* data) { return data + of_body(world, body)->at.v; }
double* cal_multibody_tau(const cal_world* world, int body, double* data) {
    return data + of_body(world, body)->at.tau;
}
int cal_multibody_degrees(const cal_world* world, int body) { return of_body(world, body)->engine->v_count; }
int cal_multibody_extras(const cal_world* world, int component) {
    const cal_multibody* m = world->components[component].multibody;
    return m->at.step - m->at.tau;
}
double* cal_multibody_control(const cal_multibody* m, double* tau) { return tau + (m->at.control - m->at.tau); }

// --- Links --------------------------------------------------------------------------------------------------------------------

static void place_link(const cal_world* world, const cal_multibody* m, int body, const double* pose,
                       const double* jacobian, const double* v, cal_motion* out) {
    const cal_sim_body* part = &world->bodies[m->bodies[body]];
    double R[9], center[3], quaternion[4];
    cal_quaternion_matrix(m->quaternion, R);
    cal_rotate3(R, pose, out->pose.position);
    cal_quaternion_multiply(m->quaternion, pose + 3, quaternion);
    double body_R[9];
    cal_quaternion_matrix(quaternion, body_R);
    cal_rotate3(body_R, part->offset, center);
    for (int i = 0; i < 3; i++) out->pose.position[i] += m->position[i] + center[i];
    cal_quaternion_multiply(quaternion, part->turn, out->quaternion);
    cal_quaternion_matrix(out->quaternion, out->pose.rotation);
    double rate[6] = {0};
    for (int row = 0; row < 6; row++)
        for (int k = 0; v != NULL && k < m->engine->v_count; k++)
            rate[row] += jacobian[row * m->engine->v_count + k] * v[k];
    cal_rotate3(R, rate, out->u);
    cal_rotate3(R, rate + 3, out->w);
}

cal_status cal_multibody_links(cal_world* world, cal_multibody* m, const double* q, const double* v, cal_motion* links,
                               double* jacobians) {
    cal_multibody_model* e = m->engine;
    cal_status status = cal_multibody_model_place(e, q);
    for (int body = 0; status == CAL_OK && body < e->body_count; body++) {
        // Of the centre of mass, since that is where a body's velocity is taken.
        double* jacobian = v != NULL ? jacobians + (size_t)body * 6 * (size_t)e->v_count : NULL;
        if (v != NULL)
            status = cal_state_jacobian(e->kinematics_state, body, world->bodies[m->bodies[body]].offset, jacobian);
        if (status == CAL_OK) place_link(world, m, body, e->poses + 7 * body, jacobian, v, &links[body]);
    }
    return status;
}

cal_links* cal_multibody_forgotten(cal_multibody* m) {
    m->newest = 1 - m->newest;
    m->known[m->newest].source = CAL_LINKS_UNKNOWN;
    return &m->known[m->newest];
}

void cal_multibody_forget(cal_multibody* m) {
    for (int i = 0; i < 2; i++)
        if (m->known[i].source == CAL_LINKS_ALONE) m->known[i].source = CAL_LINKS_UNKNOWN;
}

cal_status cal_multibody_motion(cal_world* world, int component, int link, double time, cal_motion* out) {
    cal_multibody* m = world->components[component].multibody;
    cal_multibody_model* e = m->engine;
    for (int i = 0; i < 2; i++)
        if (m->known[i].source == CAL_LINKS_ALONE && m->known[i].time == time) {
            *out = m->known[i].links[link];
            return CAL_OK;
        }
    cal_links* known = cal_multibody_forgotten(m);
    double *q = e->work + 10 * (e->q_count + e->v_count), *v = q + e->q_count;
    cal_status status = cal_multibody_state(world, component, time, true, q, v);
    if (status == CAL_OK) status = cal_multibody_links(world, m, q, v, known->links, m->links_jacobian);
    if (status != CAL_OK) return status;
    known->source = CAL_LINKS_ALONE;
    known->time = time;
    *out = known->links[link];
    return CAL_OK;
}

cal_status cal_multibody_numbers(const cal_world* world, int body, const cal_multibody_span* span, double* at_q,
                                 double* at_rate) {
    cal_multibody* m = of_body(world, body);
    cal_multibody_model* e = m->engine;
    double* rows = e->work; // 4 q numbers of 12 (q + v)
    if (span->to_q != NULL) {
        cal_curves curves = {.rows = rows, .length = span->length};
        cal_curves_hermite(e->model, &curves, span->q, span->v, span->to_q, span->to_v);
        cal_curves_at(e->model, &curves, span->t, at_q, at_rate);
    } else {
        cal_model_rate(e->model, span->q, span->v, rows);
        memcpy(at_rate, span->v, (size_t)e->v_count * sizeof *at_rate);
        for (int i = 0; i < e->q_count; i++) at_q[i] = span->q[i] + span->t * rows[i];
        cal_model_normalize(e->model, at_q);
    }
    cal_multibody_use(m, span->extras + e->v_count + m->slots);
    return cal_loops_project(e, at_q, at_rate, CAL_PROJECT_BOTH);
}

void cal_multibody_bounds_between(const cal_world* world, int body, const double* q, const double* v,
                                  const double* to_q, const double* to_v, double length, double* out) {
    const cal_multibody* m = of_body(world, body);
    cal_curves curves = {.rows = m->engine->work, .length = length};
    cal_curves_hermite(m->engine->model, &curves, q, v, to_q, to_v);
    cal_curves_bound_links(world, m, &curves, m->engine->work + CAL_CUBIC_TERMS * m->engine->q_count, out);
}

// Two states of a group and a place between them as one row of numbers; after the last state there is no second one.
static size_t row_of(const cal_multibody* m, const cal_multibody_span* span, double* out) {
    const cal_multibody_model* e = m->engine;
    const size_t q_count = (size_t)e->q_count, v_count = (size_t)e->v_count, constraints = (size_t)e->constraint_count;
    double* next = out + 2;
    out[0] = span->t, out[1] = span->to_q != NULL ? span->length : 0.0;
    memcpy(next, span->extras + v_count + m->slots, constraints * sizeof *out);
    next += constraints;
    for (int state = 0; state < (span->to_q != NULL ? 2 : 1); state++) {
        memcpy(next, state == 0 ? span->q : span->to_q, q_count * sizeof *out);
        memcpy(next + q_count, state == 0 ? span->v : span->to_v, v_count * sizeof *out);
        next += q_count + v_count;
    }
    return (size_t)(next - out);
}

cal_status cal_multibody_between(cal_world* world, int body, const cal_multibody_span* span, cal_motion* out) {
    cal_multibody* m = of_body(world, body);
    cal_multibody_model* e = m->engine;
    const int link = world->bodies[body].link;
    double* row = e->work + 8 * (e->q_count + e->v_count);
    const size_t row_size = row_of(m, span, row) * sizeof *row;
    for (int i = 0; i < 2; i++)
        if (m->known[i].source == CAL_LINKS_BETWEEN && cal_same_bits(m->known[i].numbers, row, row_size)) {
            *out = m->known[i].links[link];
            return CAL_OK;
        }
    cal_links* known = cal_multibody_forgotten(m);
    memcpy(known->numbers, row, row_size);
    double *at_q = e->work + 10 * (e->q_count + e->v_count), *at_rate = at_q + e->q_count;
    cal_status status = cal_multibody_numbers(world, body, span, at_q, at_rate);
    if (status == CAL_OK) status = cal_multibody_links(world, m, at_q, at_rate, known->links, m->links_jacobian);
    if (status == CAL_OK) known->source = CAL_LINKS_BETWEEN;
    *out = known->links[link];
    return status;
}

double cal_multibody_next_callback(const cal_world* world, int component) {
    double next = (double)INFINITY;
    for (int h = 0; h < world->periodic_hook_count; h++) {
        const cal_periodic_hook* hook = &world->periodic_hooks[h];
        for (int i = 0; i < hook->count; i++)
            if (world->bodies[hook->bodies[i]].component == component)
                next = fmin(next, hook->first + (double)hook->tick * hook->period);
    }
    return next;
}

double cal_multibody_room(const cal_world* world, int component, double time) {
    // A little beyond the callback, which makes new boxes: what ends with it would be made twice.
    const double next = cal_multibody_next_callback(world, component) - time;
    return fmin(LONGEST_BOX * world->window, fmax(next, 0.0) + BEYOND_CALLBACK * world->window);
}

// --- Adding -------------------------------------------------------------------------------------------------------------------

static cal_status add_link(cal_world* world, cal_multibody* m, int multibody, int body, cal_error* error) {
    const cal_model* model = m->engine->model;
    cal_body_def def;
    cal_model_body(model, body, &def);
    char name[128];
    cal_world_body_def own = cal_default_world_body_def();
    snprintf(name, sizeof name, "%s.%d", cal_model_name(model) != NULL ? cal_model_name(model) : "multibody",
             multibody);
    const size_t used = strlen(name);
    name[used] = '.';
    cal_model_body_name(model, body, name + used + 1, sizeof name - used - 1);
    own.name = name;
    own.density = 0.0;
    own.mass = def.mass;
    memcpy(own.center, def.center, sizeof own.center);
    memcpy(own.inertia, def.inertia, sizeof own.inertia);
    own.slots = m->slots;
    cal_body_id id;
    cal_status status = cal_world_add_body(world, &own, &id, error);
    if (status != CAL_OK) return status;
    m->bodies[body] = id.index;
    world->bodies[id.index].multibody = multibody;
    world->bodies[id.index].link = body;
    for (int i = 0; status == CAL_OK && i < cal_model_shape_count(model); i++) {
        cal_shape_def shape;
        cal_mesh_def mesh = {0};
        cal_model_shape(model, i, &shape);
        if (shape.body != body) continue;
        const bool meshed = shape.kind == CAL_MESH || shape.kind == CAL_HEIGHT_FIELD;
        if (meshed) cal_model_mesh(model, shape.mesh, &mesh);
        status = cal_world_add_shape(world, id, &shape, meshed ? &mesh : NULL, error);
    }
    return status;
}

static cal_status add_ground(cal_world* world, const cal_model* model, const double position[3],
                             const double quaternion[4], cal_error* error) {
    cal_body_id id = {-1, 0};
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < cal_model_shape_count(model); i++) {
        cal_shape_def shape;
        cal_mesh_def mesh = {0};
        cal_model_shape(model, i, &shape);
        if (shape.body != CAL_GROUND) continue;
        if (id.index < 0) {
            cal_world_body_def def = cal_default_world_body_def();
            def.motion = CAL_FIXED;
            def.name = "ground";
            memcpy(def.position, position, sizeof def.position);
            memcpy(def.quaternion, quaternion, sizeof def.quaternion);
            status = cal_world_add_body(world, &def, &id, error);
        }
        const bool meshed = shape.kind == CAL_MESH || shape.kind == CAL_HEIGHT_FIELD;
        if (meshed) cal_model_mesh(model, shape.mesh, &mesh);
        if (status == CAL_OK) status = cal_world_add_shape(world, id, &shape, meshed ? &mesh : NULL, error);
    }
    return status;
}

cal_status cal_world_add_multibody(cal_world* world, const cal_model* model, const double position[3],
                                   const double quaternion[4], int slots, cal_multibody_id* out, cal_error* error) {
    if (world->started) return cal_fail(error, CAL_BAD_ARGUMENT, "a world takes nothing more after its first advance");
    if (model == NULL || slots < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a multibody needs a model and no negative slots");
    if (!cal_grow((void**)&world->multibodies, &world->multibody_capacity, world->multibody_count,
                  sizeof *world->multibodies))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for multibodies");
    const int index = world->multibody_count;
    cal_multibody* m = &world->multibodies[index];
    *m = (cal_multibody){.quaternion = {1.0, 0.0, 0.0, 0.0}, .slots = slots, .component = -1, .world = world};
    if (position != NULL) memcpy(m->position, position, sizeof m->position);
    if (quaternion != NULL) memcpy(m->quaternion, quaternion, sizeof m->quaternion);
    cal_quaternion_normalize(m->quaternion);
    cal_status status = CAL_OK;
    for (int i = 0; i < index && m->engine == NULL; i++)
        if (world->multibodies[i].engine->model == model) m->engine = world->multibodies[i].engine;
    if (m->engine != NULL)
        m->engine->references++;
    else
        status = cal_multibody_model_create(world, model, &m->engine, error);
    if (status != CAL_OK) return status;
    world->multibody_count++;
    const size_t bodies = (size_t)m->engine->body_count, v = (size_t)m->engine->v_count;
    m->bodies = cal_allocate(bodies, sizeof *m->bodies);
    m->links_jacobian = cal_allocate(bodies * 6 * v + 1, sizeof *m->links_jacobian);
    bool enough = m->bodies != NULL && m->links_jacobian != NULL;
    for (int i = 0; i < 2; i++) {
        m->known[i].links = cal_allocate(bodies, sizeof *m->known[i].links);
        m->known[i].numbers =
            cal_allocate(2 * (1 + (size_t)m->engine->q_count + v) + (size_t)m->engine->constraint_count,
                         sizeof *m->known[i].numbers);
        enough = enough && m->known[i].links != NULL && m->known[i].numbers != NULL;
    }
    if (!enough) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    status = add_ground(world, model, m->position, m->quaternion, error);
    m->first_body = world->body_count;
    for (int body = 0; status == CAL_OK && body < m->engine->body_count; body++)
        status = add_link(world, &world->multibodies[index], index, body, error);
    if (out != NULL) *out = (cal_multibody_id){index, 1};
    return status;
}

cal_body_id cal_world_link(const cal_world* world, cal_multibody_id multibody, int body) {
    if (multibody.index < 0 || multibody.index >= world->multibody_count || multibody.generation != 1 || body < 0 ||
        body >= world->multibodies[multibody.index].engine->body_count)
        return (cal_body_id){-1, 0};
    return cal_world_body(world, world->multibodies[multibody.index].bodies[body]);
}

cal_status cal_multibodies_prepare(cal_world* world, cal_error* error) {
    for (int i = 0; i < world->multibody_count; i++) {
        cal_multibody* m = &world->multibodies[i];
        cal_multibody_place(m);
        m->component = cal_component_add(world, CAL_MULTIBODY, m->at.stride);
        if (m->component >= 0) world->components[m->component].queue.copied = m->at.memory;
        if (m->component < 0 || cal_queue_push(world, m->component, CAL_SEGMENT, world->time) == NULL)
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
        cal_component* c = &world->components[m->component];
        c->multibody = m;
        c->body = m->first_body;
        c->weight = m->engine->body_count;
        double* data = cal_data_at(&c->queue, 0);
        cal_model_initial(m->engine->model, data, data + m->at.v, data + m->at.control);
        for (int k = 0; k < m->engine->constraint_count; k++)
            data[m->at.active + k] = m->engine->model->constraints[k].inactive ? 0.0 : 1.0;
        for (int body = 0; body < m->engine->body_count; body++) {
            cal_sim_body* part = &world->bodies[m->bodies[body]];
            part->component = m->component;
            const cal_status status = cal_body_weigh_link(world, m->bodies[body], error);
            if (status != CAL_OK) return status;
        }
        data[m->at.step] = FIRST_STEP * world->window;
        cal_multibody_use(m, data + m->at.active);
        cal_status status = cal_multibody_set_scales(world, m);
        if (status != CAL_OK) return cal_fail(error, status, "out of memory for a multibody");
        status = cal_loops_start(world, m, data, data + m->at.v, error);
        if (status == CAL_OK) status = cal_multibody_refresh(world, m->component, error);
        if (status != CAL_OK) return status;
    }
    return CAL_OK;
}

void cal_multibodies_destroy(cal_world* world) {
    for (int i = 0; i < world->multibody_count; i++) {
        cal_multibody* m = &world->multibodies[i];
        cal_multibody_model_release(m->engine);
        cal_free(m->bodies);
        for (int k = 0; k < 2; k++) {
            cal_free(m->known[k].links);
            cal_free(m->known[k].numbers);
        }
        cal_free(m->links_jacobian);
        cal_free(m->pushes);
    }
    cal_free(world->multibodies);
}
