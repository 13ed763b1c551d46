// What is added to a world: bodies, shapes, callbacks. A running world takes in what is new with its next advance.
#include "base/finite.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/contact/contact_group.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/pairs.h"
#include "simulation/domain/domain.h"
#include "simulation/members.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

cal_status cal_world_keep_model(cal_world* world, cal_model* model, cal_error* error) {
    if (!cal_grow((void**)&world->models, &world->model_capacity, world->model_count, sizeof *world->models)) {
        cal_model_destroy(model);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for models");
    }
    world->models[world->model_count++] = model;
    return CAL_OK;
}

// --- Ids ----------------------------------------------------------------------------------------------------------------------

bool cal_is_body(const cal_world* world, cal_body_id id) {
    if (!world || id.index < 0 || id.index >= world->body_count || world->bodies[id.index].stage == CAL_REMOVED)
        return false;
    return id.generation == world->first_id + world->bodies[id.index].reuses;
}

cal_status cal_check_body(const cal_world* world, cal_body_id id, cal_error* error) {
    return cal_is_body(world, id) ? CAL_OK
                                  : cal_fail(error, CAL_BAD_ARGUMENT, "there is no such body in this world (any more)");
}

cal_body_id cal_world_body(const cal_world* world, int index) {
    if (!world || index < 0 || index >= world->body_count || world->bodies[index].stage == CAL_REMOVED)
        return (cal_body_id){-1, 0};
    return (cal_body_id){index, world->first_id + world->bodies[index].reuses};
}

cal_multibody* cal_find_multibody(const cal_world* world, cal_multibody_id id) {
    if (!world || id.index < 0 || id.index >= world->multibody_count) return NULL;
    cal_multibody* m = world->multibodies[id.index];
    return m->stage != CAL_REMOVED && id.generation == world->first_id + m->reuses ? m : NULL;
}

cal_multibody_id cal_multibody_id_of(const cal_world* world, int index) {
    return (cal_multibody_id){index, world->first_id + world->multibodies[index]->reuses};
}

cal_status cal_check_usable(const cal_world* world, cal_error* error) {
    if (world->failed != CAL_OK)
        return cal_fail(error, world->failed, "this world failed before, at %g s", world->time);
    if (world->calling > 0)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a callback may not change its world: what it does may be undone; do it after the advance");
    return CAL_OK;
}

cal_status cal_check_changeable(cal_world* world, cal_error* error) {
    const cal_status status = cal_check_usable(world, error);
    return status == CAL_OK ? cal_world_gather(world, error) : status;
}

static cal_status refuse_begun(const cal_world* world, int body, const char* what, cal_error* error) {
    char name[64];
    if (world->bodies[body].stage == CAL_NEW) return CAL_OK;
    return cal_fail(error, CAL_BAD_ARGUMENT, "%s has begun to move with an advance, and %s",
                    cal_body_name_at(world, body, name, sizeof name), what);
}

// --- Places -------------------------------------------------------------------------------------------------------------------

// A world in which bodies come and go all the time has places everywhere: a search begins where the one before has ended.
int cal_find_places(cal_world* world, int count) {
    if (world->removed_count == 0) return world->body_count;
    const bool further = count > 1 && count >= world->room_size && world->room_from > world->free_from;
    int first = further ? world->room_from : world->free_from, run = 0;
    while (further && first > 0 && world->bodies[first - 1].stage == CAL_REMOVED) first--;
    for (int i = first; i < world->body_count && run < count; i++) {
        run = world->bodies[i].stage == CAL_REMOVED ? run + 1 : 0;
        if (run == 1) first = i;
    }
    if (run == 0) first = world->body_count;
    if (count > 1)
        world->room_from = first, world->room_size = count;
    else
        world->free_from = first;
    return first;
}

static void free_place(cal_world* world, int body) {
    if (body < world->free_from) world->free_from = body;
    if (body < world->room_from) world->room_from = body;
    world->removed_count++;
}

static cal_sim_body without_body(uint32_t reuses) {
    return (cal_sim_body){.reuses = reuses,
                          .hit_at = -(double)INFINITY,
                          .past_from = (double)NAN,
                          .came = -(double)INFINITY,
                          .turn = {1.0, 0.0, 0.0, 0.0},
                          .component = -1,
                          .multibody = -1,
                          .prescribed = -1,
                          .first_collision_callback = -1,
                          .box_event = -1};
}

// Places up to one, which stay empty.
static bool make_places(cal_world* world, int count) {
    while (world->body_count < count) {
        if (!cal_grow((void**)&world->bodies, &world->body_capacity, world->body_count, sizeof *world->bodies))
            return false;
        world->bodies[world->body_count++] = without_body(0);
        world->removed_count++;
    }
    return true;
}

cal_status cal_body_add_at(cal_world* world, int place, const cal_world_body_def* def, cal_error* error) {
    char* name = def->name != NULL ? cal_copy_text(def->name) : NULL;
    if ((def->name != NULL && name == NULL) || !make_places(world, place + 1)) {
        cal_free(name);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for bodies");
    }
    cal_sim_body* part = &world->bodies[place];
    part->name = name;
    part->def = *def;
    part->def.name = name;
    part->stage = CAL_NEW;
    world->removed_count--;
    world->new_count++;
    return CAL_OK;
}

void cal_body_free_shapes(cal_sim_body* part) {
    const bool last = part->sharing == NULL || --*part->sharing == 0;
    for (int i = 0; last && i < part->shape_count; i++) {
        cal_free((char*)part->shapes[i].name);
        cal_free((double*)part->meshes[i].vertices);
        cal_free((int32_t*)part->meshes[i].triangles);
    }
    if (last) {
        cal_free(part->shapes);
        cal_free(part->meshes);
        cal_free(part->sharing);
    }
    part->shapes = NULL, part->meshes = NULL, part->sharing = NULL;
    part->shape_count = part->shape_capacity = 0;
}

// A body that gets another shape has its own lists; false: no memory.
static bool own_shapes(cal_sim_body* part) {
    const size_t count = (size_t)part->shape_count;
    if (part->sharing == NULL) return true;
    cal_shape_def* shapes = cal_allocate(count, sizeof *shapes);
    cal_mesh_def* meshes = cal_allocate(count, sizeof *meshes);
    if (shapes == NULL || meshes == NULL) {
        cal_free(shapes);
        cal_free(meshes);
        return false;
    }
    // Shapes that are shared have neither names nor meshes.
    memcpy(shapes, part->shapes, count * sizeof *shapes);
    cal_body_free_shapes(part);
    part->shapes = shapes, part->meshes = meshes;
    part->shape_count = part->shape_capacity = (int)count;
    return true;
}

void cal_body_free(cal_world* world, int body) {
    cal_sim_body* part = &world->bodies[body];
    if (part->stage == CAL_REMOVED) return;
    cal_collision_hooks_remove(world, body);
    world->new_count -= part->stage == CAL_NEW;
    free_place(world, body);
    cal_body_free_shapes(part);
    cal_free(part->name);
    cal_free(part->balls);
    cal_free(part->solid);
    cal_free(part->pairs);
    cal_geometry_destroy(part->geometry);
    *part = without_body(part->reuses + 1);
}

// --- Bodies -------------------------------------------------------------------------------------------------------------------

static cal_status check_body(const cal_world_body_def* def, cal_error* error) {
    const char* name = def->name != NULL ? def->name : "a body";
    if (def->cookie != cal_default_world_body_def().cookie)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a body's definition must come from cal_default_world_body_def");
    const double* q = def->quaternion;
    if (!cal_all_finite(def->position, 3) || !cal_all_finite(q, 4) || !cal_all_finite(def->velocity, 3) ||
        !cal_all_finite(def->angular_velocity, 3) || !cal_all_finite(def->center, 3) ||
        !cal_all_finite(def->inertia, 6) || !isfinite(def->mass) || !isfinite(def->density))
        return cal_fail(error, CAL_BAD_ARGUMENT, "%.60s: a number of its definition is not finite", name);
    if (!isfinite(cal_dot3(def->position, def->position)) || !isfinite(cal_dot3(def->velocity, def->velocity)) ||
        !isfinite(cal_dot3(def->angular_velocity, def->angular_velocity)))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%.60s is so far away, or so fast, that the square of that is no number", name);
    if (q[0] == 0.0 && q[1] == 0.0 && q[2] == 0.0 && q[3] == 0.0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%.60s: its quaternion is zero", name);
    if ((int)def->motion < CAL_MOVING || (int)def->motion > CAL_DRIVEN)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%.60s: its motion is %d, which is no kind of motion", name,
                        (int)def->motion);
    if (def->slots < 0 || def->slots > 100000)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%.60s: %d slots; there may be 0 to 100000", name, def->slots);
    if (def->motion == CAL_DRIVEN &&
        (def->path == NULL || !(def->path_speed >= 0.0) || !(def->path_acceleration >= 0.0)))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%.60s is driven: it needs a path, and bounds of its speed and acceleration", name);
    return CAL_OK;
}

cal_status cal_world_add_body(cal_world* world, const cal_world_body_def* def, cal_body_id* out, cal_error* error) {
    if (!world || !def) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_add_body: world and def must not be NULL");
    if (out != NULL) *out = (cal_body_id){-1, 0};
    const int place = cal_find_places(world, 1);
    cal_status status = cal_check_changeable(world, error);
    if (status == CAL_OK) status = check_body(def, error);
    if (status == CAL_OK) status = cal_body_add_at(world, place, def, error);
    if (status == CAL_OK && out != NULL) *out = cal_world_body(world, place);
    return status;
}

static cal_status copy_mesh(const cal_mesh_def* mesh, cal_mesh_def* out) {
    *out = *mesh;
    double* vertices = cal_allocate(3 * (size_t)mesh->vertex_count + 1, sizeof *vertices);
    int32_t* triangles = cal_allocate(3 * (size_t)mesh->triangle_count + 1, sizeof *triangles);
    out->name = NULL;
    out->vertices = vertices;
    out->triangles = triangles;
    if (vertices == NULL || triangles == NULL) return CAL_NO_MEMORY;
    memcpy(vertices, mesh->vertices, 3 * (size_t)mesh->vertex_count * sizeof *vertices);
    if (mesh->triangle_count > 0)
        memcpy(triangles, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof *triangles);
    return CAL_OK;
}

cal_status cal_world_add_shape(cal_world* world, cal_body_id body, const cal_shape_def* shape, const cal_mesh_def* mesh,
                               cal_error* error) {
    if (!world || !shape)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_add_shape: world and shape must not be NULL");
    cal_status status = cal_check_changeable(world, error);
    if (status == CAL_OK) status = cal_check_body(world, body, error);
    if (status == CAL_OK) status = refuse_begun(world, body.index, "takes no more shapes", error);
    if (status != CAL_OK) return status;
    const bool meshed = shape->kind == CAL_MESH || shape->kind == CAL_HEIGHT_FIELD;
    if (shape->cookie != cal_default_shape_def().cookie)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a shape's definition must come from cal_default_shape_def");
    if (meshed && (mesh == NULL || mesh->vertices == NULL || mesh->vertex_count <= 0))
        return cal_fail(error, CAL_BAD_ARGUMENT, "a shape of kind %s needs a mesh", cal_shape_kind_name(shape->kind));
    if (!(shape->friction >= 0.0 && isfinite(shape->friction)) || !(shape->restitution >= 0.0) ||
        shape->restitution > 1.0)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a shape's friction (%g) must be finite and not negative, its restitution (%g) from 0 to 1",
                        shape->friction, shape->restitution);
    cal_sim_body* part = &world->bodies[body.index];
    if (shape->kind == CAL_PLANE && part->def.motion == CAL_MOVING)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a plane without end cannot move; use a box");
    int capacity = part->shape_capacity;
    if (!own_shapes(part) || !cal_grow_few((void**)&part->shapes, &capacity, part->shape_count, sizeof *part->shapes) ||
        !cal_grow_few((void**)&part->meshes, &part->shape_capacity, part->shape_count, sizeof *part->meshes))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for shapes");
    cal_mesh_def copy = {0};
    char* name = shape->name != NULL ? cal_copy_text(shape->name) : NULL;
    if ((shape->name != NULL && name == NULL) || (meshed && copy_mesh(mesh, &copy) != CAL_OK)) {
        cal_free(name);
        cal_free((double*)copy.vertices);
        cal_free((int32_t*)copy.triangles);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for shapes");
    }
    part->shapes[part->shape_count] = *shape;
    part->shapes[part->shape_count].name = name;
    part->meshes[part->shape_count++] = copy;
    return CAL_OK;
}

cal_status cal_world_ignore_pair(cal_world* world, cal_body_id a, cal_body_id b) {
    if (!world) return CAL_BAD_ARGUMENT;
    if (cal_check_changeable(world, NULL) != CAL_OK || !cal_is_body(world, a) || !cal_is_body(world, b))
        return CAL_BAD_ARGUMENT;
    // Two that may have met already go on as they did.
    if (world->bodies[a.index].stage == CAL_BEGUN && world->bodies[b.index].stage == CAL_BEGUN) return CAL_BAD_ARGUMENT;
    return cal_world_ignore(world, a.index, b.index) ? CAL_OK : CAL_NO_MEMORY;
}

// --- Callbacks ----------------------------------------------------------------------------------------------------------------

cal_status cal_world_on_collision(cal_world* world, cal_body_id body, cal_collision_callback* callback, void* user,
                                  cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_on_collision: world must not be NULL");
    cal_status status = cal_check_changeable(world, error);
    if (status == CAL_OK) status = cal_check_body(world, body, error);
    if (status == CAL_OK) status = refuse_begun(world, body.index, "takes no more callbacks", error);
    if (status != CAL_OK) return status;
    if (callback == NULL) return cal_fail(error, CAL_BAD_ARGUMENT, "the callback is NULL");
    int hook = world->unused_collision_hook;
    if (hook >= 0) {
        world->unused_collision_hook = world->collision_hooks[hook].next;
    } else if (!cal_grow((void**)&world->collision_hooks, &world->collision_hook_capacity, world->collision_hook_count,
                         sizeof *world->collision_hooks)) {
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for callbacks");
    } else {
        hook = world->collision_hook_count++;
    }
    cal_sim_body* part = &world->bodies[body.index];
    world->collision_hooks[hook] = (cal_collision_hook){body.index, -1, callback, user};
    int* last = &part->first_collision_callback;
    while (*last >= 0) last = &world->collision_hooks[*last].next;
    *last = hook;
    return CAL_OK;
}

cal_status cal_world_on_period(cal_world* world, const cal_body_id* bodies, int count, double first, double period,
                               cal_periodic_callback* callback, void* user, cal_error* error) {
    if (!world) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_on_period: world must not be NULL");
    cal_status status = cal_check_changeable(world, error);
    if (status != CAL_OK) return status;
    if (count < 1 || count > CAL_VIEW_BODIES || callback == NULL || !(first >= 0.0) || !(period > 0.0) ||
        !isfinite(first) || !isfinite(period))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a periodic callback needs 1 to %d bodies, a function, a first time (%g) "
                        "that is not negative and a period (%g) above zero",
                        (int)CAL_VIEW_BODIES, first, period);
    if (world->started && first < world->time)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a callback that is first due at %g s comes too late: it is %g s",
                        first, world->time);
    cal_periodic_hook hook = {
        .count = count, .event = -1, .first = first, .period = period, .callback = callback, .user = user};
    for (int i = 0; i < count; i++) {
        status = cal_check_body(world, bodies[i], error);
        if (status == CAL_OK) status = refuse_begun(world, bodies[i].index, "takes no more periodic callbacks", error);
        if (status != CAL_OK) return status;
        hook.bodies[i] = bodies[i].index;
    }
    for (int h = world->free_hook_from; h < world->periodic_hook_count; h++)
        if (world->periodic_hooks[h].count == 0) {
            world->free_hook_from = h + 1;
            world->periodic_hooks[h] = hook;
            cal_periodic_hook_link(world, h);
            return CAL_OK;
        }
    world->free_hook_from = world->periodic_hook_count + 1;
    if (!cal_grow((void**)&world->periodic_hooks, &world->periodic_hook_capacity, world->periodic_hook_count,
                  sizeof *world->periodic_hooks))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for callbacks");
    world->periodic_hooks[world->periodic_hook_count++] = hook;
    cal_periodic_hook_link(world, world->periodic_hook_count - 1);
    return CAL_OK;
}

// --- A fork's share -------------------------------------------------------------------------------------------------------------

static bool lacks(const cal_world* world, const cal_world* from, int body) {
    if (from->bodies[body].stage == CAL_REMOVED) return false;
    return body >= world->body_count || world->bodies[body].stage == CAL_REMOVED;
}

static bool lacks_multibody(const cal_world* world, const cal_world* from, int index) {
    if (from->multibodies[index]->stage == CAL_REMOVED) return false;
    return index >= world->multibody_count || world->multibodies[index]->stage == CAL_REMOVED;
}

static bool make_multibody_places(cal_world* world, int count) {
    while (world->multibody_count < count) {
        cal_multibody* m = cal_allocate(1, sizeof *m);
        if (m == NULL || !cal_grow((void**)&world->multibodies, &world->multibody_capacity, world->multibody_count,
                                   sizeof(cal_multibody*))) {
            cal_free(m);
            return false;
        }
        world->multibodies[world->multibody_count++] = m;
    }
    return true;
}

static cal_status copy_multibody(cal_world* world, const cal_multibody* from, int index, cal_error* error) {
    if (!make_multibody_places(world, index + 1))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for multibodies");
    cal_multibody_placing at = {.index = index, .first_body = from->first_body, .ground = from->ground};
    memcpy(at.position, from->position, sizeof at.position);
    memcpy(at.quaternion, from->quaternion, sizeof at.quaternion);
    const cal_status status = cal_multibody_add(world, from->engine->given, &at, from->slots, &index, error);
    if (status == CAL_OK) world->multibodies[index]->touches_itself = from->touches_itself;
    return status;
}

static cal_status copy_body(cal_world* world, const cal_world* from, int body, cal_error* error) {
    const cal_sim_body* part = &from->bodies[body];
    cal_status status = cal_body_add_at(world, body, &part->def, error);
    for (int i = 0; status == CAL_OK && i < part->shape_count; i++)
        status = cal_world_add_shape(world, cal_world_body(world, body), &part->shapes[i], &part->meshes[i], error);
    return status;
}

static cal_status copy_hooks(cal_world* world, const cal_world* from, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < from->body_count; i++)
        for (int h = from->bodies[i].first_collision_callback; status == CAL_OK && h >= 0;
             h = from->collision_hooks[h].next)
            status = cal_world_on_collision(world, cal_world_body(world, i), from->collision_hooks[h].callback,
                                            from->collision_hooks[h].user, error);
    for (int h = 0; status == CAL_OK && h < from->periodic_hook_count; h++) {
        if (!cal_grow((void**)&world->periodic_hooks, &world->periodic_hook_capacity, world->periodic_hook_count,
                      sizeof *world->periodic_hooks))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for callbacks");
        world->periodic_hooks[world->periodic_hook_count++] = from->periodic_hooks[h];
        world->periodic_hooks[h].event = -1; // an image has it
        cal_periodic_hook_link(world, h);
    }
    return status;
}

cal_status cal_members_copy(cal_world* world, const cal_world* from, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; status == CAL_OK && i < from->multibody_count; i++)
        if (lacks_multibody(world, from, i)) status = copy_multibody(world, from->multibodies[i], i, error);
    for (int i = 0; status == CAL_OK && i < from->body_count; i++)
        if (lacks(world, from, i)) status = copy_body(world, from, i, error);
    // Also the last ones, where these are empty: a number that was in use before comes back with another generation.
    if (status == CAL_OK &&
        !(make_places(world, from->body_count) && make_multibody_places(world, from->multibody_count)))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for bodies");
    if (status == CAL_OK) status = copy_hooks(world, from, error);
    if (status == CAL_OK) status = cal_world_prepare_new(world, error);
    if (status != CAL_OK) return status;
    for (int i = 0; i < world->body_count; i++) {
        world->bodies[i].reuses = from->bodies[i].reuses; // a fork shares ids
        if (world->bodies[i].stage == CAL_NEW) world->bodies[i].stage = CAL_BEGUN;
    }
    for (int i = 0; i < world->multibody_count; i++) {
        world->multibodies[i]->reuses = from->multibodies[i]->reuses;
        if (world->multibodies[i]->stage == CAL_NEW) world->multibodies[i]->stage = CAL_BEGUN;
    }
    world->new_count = 0;
    world->first_id = from->first_id;
    return CAL_OK;
}
