// Multibodies come and go: one place in the world's list, and places for their links that follow each other.
#include "base/finite.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/model.h"
#include "simulation/body.h"
#include "simulation/change.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/members.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/start.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdio.h>
#include <string.h>

#define FIRST_STEP 0.064 // in windows of the world (world.h), 2⁻⁶ s where groups are checked at 100 Hz
static const double same_gravity = 1e-14; // of gravity: what turning it leaves

// --- Adding -------------------------------------------------------------------------------------------------------------------

// A shape of the model onto a body of the world.
static cal_status add_shape(cal_world* world, const cal_model* model, int shape, int place, cal_error* error) {
    cal_shape_def def;
    cal_mesh_def mesh = {0};
    cal_model_shape(model, shape, &def);
    const bool meshed = def.kind == CAL_MESH || def.kind == CAL_HEIGHT_FIELD;
    if (meshed) cal_model_mesh(model, def.mesh, &mesh);
    return cal_world_add_shape(world, cal_world_body(world, place), &def, meshed ? &mesh : NULL, error);
}

static int body_of_shape(const cal_model* model, int shape) {
    cal_shape_def def;
    cal_model_shape(model, shape, &def);
    return def.body;
}

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
    const int place = m->first_body + body;
    cal_status status = cal_body_add_at(world, place, &own, error);
    if (status != CAL_OK) return status;
    m->bodies[body] = place;
    world->bodies[place].multibody = multibody;
    world->bodies[place].link = body;
    for (int i = 0; status == CAL_OK && i < cal_model_shape_count(model); i++)
        if (body_of_shape(model, i) == body) status = add_shape(world, model, i, place, error);
    return status;
}

// What the model has on the ground, as one fixed body.
static cal_status add_ground(cal_world* world, cal_multibody* m, int place, cal_error* error) {
    const cal_model* model = m->engine->model;
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < cal_model_shape_count(model); i++) {
        if (body_of_shape(model, i) != CAL_GROUND) continue;
        if (m->ground < 0) {
            cal_world_body_def def = cal_default_world_body_def();
            def.motion = CAL_FIXED;
            def.name = "ground";
            memcpy(def.position, m->position, sizeof def.position);
            memcpy(def.quaternion, m->quaternion, sizeof def.quaternion);
            status = cal_body_add_at(world, place, &def, error);
            if (status == CAL_OK) m->ground = place;
        }
        if (status == CAL_OK) status = add_shape(world, model, i, m->ground, error);
    }
    return status;
}

// A place in the list of multibodies; −1: no memory.
static int find_place(cal_world* world) {
    int* from = &world->free_multibody_from;
    for (; *from < world->multibody_count; ++*from)
        if (world->multibodies[*from]->stage == CAL_REMOVED) return *from;
    if (!cal_grow((void**)&world->multibodies, &world->multibody_capacity, world->multibody_count,
                  sizeof(cal_multibody*)))
        return -1;
    cal_multibody* m = cal_allocate(1, sizeof *m);
    if (m == NULL) return -1;
    world->multibodies[world->multibody_count] = m;
    return world->multibody_count++;
}

// The world's gravity in the axes of a model that is placed in it: the model's own where that is the same but for the rounding of a turn.
static void find_gravity(const cal_world* world, const cal_model* model, const double quaternion[4], double out[3]) {
    double R[9], own[3], apart = 0.0;
    cal_quaternion_matrix(quaternion, R);
    cal_unrotate3(R, world->def.gravity, out);
    cal_model_gravity(model, own);
    for (int i = 0; i < 3; i++) apart = fmax(apart, fabs(out[i] - own[i]));
    const bool same = apart <= same_gravity * sqrt(cal_dot3(own, own)),
               none = (model->disabled & CAL_PART_GRAVITY) != 0;
    if (same || none) memcpy(out, own, sizeof own);
}

// What advances a model with a gravity of its own or of the world's; the copy with the latter is the engine's.
static cal_status make_engine(const cal_world* world, const cal_model* model, const double gravity[3],
                              cal_multibody_model** out, cal_error* error) {
    if (cal_same_bits(gravity, model->gravity, sizeof model->gravity))
        return cal_multibody_model_create(world, model, out, error);
    cal_builder* builder = NULL;
    cal_model* pulled = NULL;
    cal_status status = cal_builder_create_from(model, &builder, error);
    if (status == CAL_OK) cal_builder_set_gravity(builder, gravity);
    if (status == CAL_OK) status = cal_builder_finish(builder, &pulled, error);
    cal_builder_destroy(builder);
    if (status == CAL_OK) status = cal_multibody_model_create(world, pulled, out, error);
    if (status != CAL_OK) {
        cal_model_destroy(pulled);
        return status;
    }
    (*out)->given = model;
    (*out)->pulled = pulled;
    return CAL_OK;
}

// All multibodies of a model that gravity pulls alike share what it takes to advance it.
static cal_status find_engine(const cal_world* world, const cal_model* model, const double quaternion[4],
                              cal_multibody_model** out, cal_error* error) {
    double gravity[3];
    find_gravity(world, model, quaternion, gravity);
    for (int i = 0; i < world->multibody_count; i++) {
        cal_multibody_model* e = world->multibodies[i]->engine;
        if (e == NULL || e->given != model || !cal_same_bits(e->user->gravity, gravity, sizeof gravity)) continue;
        e->references++;
        *out = e;
        return CAL_OK;
    }
    return make_engine(world, model, gravity, out, error);
}

static bool allocate(cal_multibody* m) {
    const size_t bodies = (size_t)m->engine->body_count;
    m->bodies = cal_allocate(bodies, sizeof *m->bodies);
    bool enough = m->bodies != NULL;
    m->known_count = bodies > CAL_MANY_LINKS ? 2 : CAL_KNOWN_LINKS;
    for (int i = 0; i < m->known_count; i++) enough = cal_link_frames_create(&m->known[i], m->engine) && enough;
    return enough;
}

cal_status cal_multibody_add(cal_world* world, const cal_model* model, const cal_multibody_placing* at, int slots,
                             int* out, cal_error* error) {
    const int index = at->index >= 0 ? at->index : find_place(world);
    if (index < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for multibodies");
    cal_multibody* m = world->multibodies[index];
    *m = (cal_multibody){.reuses = m->reuses, .slots = slots, .component = -1, .world = world, .ground = -1};
    memcpy(m->position, at->position, sizeof m->position);
    memcpy(m->quaternion, at->quaternion, sizeof m->quaternion);
    cal_status status = find_engine(world, model, m->quaternion, &m->engine, error);
    if (status != CAL_OK) return status;
    m->stage = CAL_NEW;
    if (!allocate(m)) status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    const int links = m->engine->body_count;
    const bool given = at->first_body >= 0;
    if (status == CAL_OK) status = add_ground(world, m, given ? at->ground : cal_find_places(world, 1), error);
    m->first_body = given ? at->first_body : cal_find_places(world, links);
    for (int i = 0; status == CAL_OK && i < links; i++) status = add_link(world, m, index, i, error);
    if (status != CAL_OK) cal_multibody_free(world, index);
    *out = index;
    return status;
}

cal_status cal_world_add_multibody(cal_world* world, const cal_model* model, const double position[3],
                                   const double quaternion[4], int slots, cal_multibody_id* out, cal_error* error) {
    if (!world || !model)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_add_multibody: world and model must not be NULL");
    if (out != NULL) *out = (cal_multibody_id){-1, 0};
    cal_multibody_placing at = {.quaternion = {1.0, 0.0, 0.0, 0.0}, .index = -1, .first_body = -1, .ground = -1};
    cal_status status = cal_check_changeable(world, error);
    if (status != CAL_OK) return status;
    if (model == NULL || slots < 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a multibody needs a model and no negative slots");
    if (position != NULL) memcpy(at.position, position, sizeof at.position);
    if (quaternion != NULL) memcpy(at.quaternion, quaternion, sizeof at.quaternion);
    if (!cal_all_finite(at.position, 3) || !cal_all_finite(at.quaternion, 4))
        return cal_fail(error, CAL_BAD_ARGUMENT, "the place of a multibody is not finite");
    cal_quaternion_normalize(at.quaternion);
    int index = -1;
    status = cal_multibody_add(world, model, &at, slots, &index, error);
    if (status == CAL_OK && out != NULL) *out = cal_multibody_id_of(world, index);
    return status;
}

cal_status cal_world_start_multibody(cal_world* world, cal_multibody_id multibody, const double* q, const double* v,
                                     cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_start_multibody: world must not be NULL");
    cal_multibody* m = cal_find_multibody(world, multibody);
    cal_status status = cal_check_changeable(world, error);
    if (status != CAL_OK) return status;
    if (m == NULL) return cal_fail(error, CAL_BAD_ARGUMENT, "there is no such multibody in this world (any more)");
    if (m->stage != CAL_NEW)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a multibody that an advance has taken in has its start behind it");
    const cal_multibody_model* e = m->engine;
    if ((q != NULL && !cal_all_finite(q, e->q_count)) || (v != NULL && !cal_all_finite(v, e->v_count)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "a start must be finite");
    if (m->start == NULL) {
        m->start = cal_allocate((size_t)(e->q_count + e->v_count) + 1, sizeof *m->start);
        if (m->start == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
        cal_model_initial(e->model, m->start, m->start + e->q_count, NULL);
    }
    if (q != NULL) memcpy(m->start, q, (size_t)e->q_count * sizeof *q);
    if (v != NULL) memcpy(m->start + e->q_count, v, (size_t)e->v_count * sizeof *v);
    return CAL_OK;
}

cal_body_id cal_world_link(const cal_world* world, cal_multibody_id multibody, int body) {
    const cal_multibody* m = cal_find_multibody(world, multibody);
    if (m == NULL || body < 0 || body >= m->engine->body_count) return (cal_body_id){-1, 0};
    return cal_world_body(world, m->bodies[body]);
}

// --- The first state ----------------------------------------------------------------------------------------------------------

static cal_status prepare(cal_world* world, cal_multibody* m, cal_error* error) {
    const cal_multibody_model* e = m->engine;
    cal_multibody_place(m);
    m->component = cal_component_add(world, CAL_MULTIBODY, m->at.stride, 2);
    if (m->component >= 0) world->components[m->component].queue.copied = m->at.memory;
    if (m->component < 0 || cal_queue_push(world, m->component, CAL_SEGMENT, world->time) == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for states");
    cal_component* c = &world->components[m->component];
    c->multibody = m;
    c->body = m->first_body;
    c->weight = e->body_count;
    double* data = cal_data_at(&c->queue, 0);
    cal_model_initial(e->model, data, data + m->at.v, NULL);
    cal_drive_start(e->model, world->time, data + m->at.control);
    if (m->start != NULL) memcpy(data, m->start, (size_t)(e->q_count + e->v_count) * sizeof *data);
    for (int k = 0; k < e->constraint_count; k++)
        data[m->at.active + k] = e->model->constraints[k].inactive ? 0.0 : 1.0;
    for (int body = 0; body < e->body_count; body++) {
        world->bodies[m->bodies[body]].component = m->component;
        const cal_status status = cal_body_weigh_link(world, m->bodies[body], error);
        if (status != CAL_OK) return status;
    }
    data[m->at.step] = FIRST_STEP * world->window;
    // An explicit step that is as long as its tolerance allows leaves oscillations of that size, which an implicit one would then have to follow.
    const bool stiff = e->systems[CAL_FLIGHT_IMPLICIT] != NULL && cal_system_is_stiff(e->model);
    data[m->at.system] = stiff ? CAL_FLIGHT_IMPLICIT : CAL_FLIGHT_EXPLICIT;
    cal_multibody_use(m, data + m->at.active);
    cal_status status = cal_multibody_set_scales(world, m);
    if (status == CAL_NOT_FINITE)
        return cal_fail(error, status, "a multibody is so large, or so far away, that the square of that is no number");
    if (status != CAL_OK) return cal_fail(error, status, "out of memory for a multibody");
    status = cal_loops_start(world, m, data, data + m->at.v, error);
    return status == CAL_OK ? cal_multibody_refresh(world, m->component, error) : status;
}

cal_status cal_multibodies_prepare(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < world->multibody_count; i++)
        if (world->multibodies[i]->stage == CAL_NEW) status = prepare(world, world->multibodies[i], error);
    return status;
}

// --- While it runs ------------------------------------------------------------------------------------------------------------

cal_status cal_world_multibody_state(const cal_world* world, cal_multibody_id multibody, double* q, double* v) {
    const cal_multibody* m = cal_find_multibody(world, multibody);
    if (m == NULL) return CAL_BAD_ARGUMENT;
    if (world->failed != CAL_OK) return world->failed;
    cal_status status = cal_world_complete(world);
    if (status != CAL_OK) return status;
    const cal_multibody_model* e = m->engine;
    double* numbers = cal_allocate((size_t)(e->q_count + e->v_count) + 1, sizeof *numbers);
    if (numbers == NULL) return CAL_NO_MEMORY;
    if (m->stage == CAL_BEGUN) // reading a motion may continue it, which changes nothing that anybody sees
        status = cal_multibody_at((cal_world*)world, m, world->time, numbers, numbers + e->q_count);
    else if (m->start != NULL)
        memcpy(numbers, m->start, (size_t)(e->q_count + e->v_count) * sizeof *numbers);
    else
        cal_model_initial(e->model, numbers, numbers + e->q_count, NULL);
    if (status == CAL_OK && q != NULL) memcpy(q, numbers, (size_t)e->q_count * sizeof *q);
    if (status == CAL_OK && v != NULL) memcpy(v, numbers + e->q_count, (size_t)e->v_count * sizeof *v);
    cal_free(numbers);
    return status;
}

cal_status cal_world_drive(cal_world* world, cal_multibody_id multibody, const double* tau, const double* control,
                           cal_error* error) {
    const cal_multibody* m = cal_find_multibody(world, multibody);
    if (m == NULL) return cal_fail(error, CAL_BAD_ARGUMENT, "there is no such multibody in this world (any more)");
    const int v_count = m->engine->v_count, controls = cal_model_actuator_count(m->engine->model);
    if ((tau != NULL && !cal_all_finite(tau, v_count)) || (control != NULL && !cal_all_finite(control, controls)))
        return cal_fail(error, CAL_BAD_ARGUMENT, "joint forces and controls must be finite");
    int component;
    const cal_status status = cal_change_begin(world, m->bodies[0], &component, error);
    if (status != CAL_OK) return status;
    const cal_numbers numbers = cal_body_numbers(world, m->bodies[0], world->time);
    if (tau != NULL) memcpy(numbers.tau, tau, (size_t)v_count * sizeof *tau);
    cal_drive_change(m->engine->model, world->time, control, cal_multibody_control(m, numbers.tau));
    return cal_change_end(world, component, error);
}

// --- Going --------------------------------------------------------------------------------------------------------------------

void cal_multibody_free(cal_world* world, int index) {
    cal_multibody* m = world->multibodies[index];
    if (m->stage == CAL_REMOVED) return;
    if (index < world->free_multibody_from) world->free_multibody_from = index;
    for (int i = 0; m->bodies != NULL && i < m->engine->body_count; i++) {
        const int body = m->first_body + i;
        if (body < world->body_count && world->bodies[body].multibody == index) cal_body_free(world, body);
    }
    if (m->ground >= 0) cal_body_free(world, m->ground);
    if (m->engine->current == m) m->engine->current = NULL;
    cal_multibody_model_release(m->engine);
    cal_domains_forget_engines(world);
    for (int i = 0; i < m->known_count; i++) cal_link_frames_destroy(&m->known[i]);
    void* const lists[] = {m->bodies, m->pushes, m->start};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
    *m = (cal_multibody){.reuses = m->reuses + 1, .component = -1, .ground = -1};
}

void cal_multibodies_destroy(cal_world* world) {
    for (int i = 0; i < world->multibody_count; i++) {
        cal_multibody_free(world, i);
        cal_free(world->multibodies[i]);
    }
    cal_free(world->multibodies);
}
