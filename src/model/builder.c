// Collects definitions, and makes a model of copies of them. Everything is checked at the end, in one place, so that
// bodies may be added in any order; what cannot wait (memory, an uninitialised definition) is remembered until then.
#include "model/builder.h"
#include "base/memory.h"
#include "base/pool.h"
#include "model/png.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    BODY_COOKIE = 0x0ca1b0d1,
    JOINT_COOKIE = 0x0ca101e7,
    ACTUATOR_COOKIE = 0x0ca1ac70,
    CONSTRAINT_COOKIE = 0x0ca1c045,
    SHAPE_COOKIE = 0x0ca15a9e,
    MESH_COOKIE = 0x0ca13e54
};
// A free joint has seven numbers, and all of them are counted in int.
enum { COUNT_LIMIT = INT_MAX / 8 };
static const size_t no_name = SIZE_MAX;

typedef struct list {
    void* items;
    size_t count, capacity;
} list;

// Names are offsets into the builder's text, since that moves as it grows.
typedef struct body_entry {
    size_t name;
    int32_t def, parent;
} body_entry;
typedef struct joint_entry {
    size_t name;
    int32_t def, body;
    double stop; // the stiffness of rigid stops that was chosen elsewhere; 0: is chosen
} joint_entry;
typedef struct actuator_entry {
    cal_actuator_def def;
    size_t name;
} actuator_entry;

typedef struct constraint_entry {
    cal_constraint_def def;
    size_t name;
} constraint_entry;
typedef struct shape_entry {
    cal_shape_def def;
    size_t name;
} shape_entry;
typedef struct mesh_entry {
    cal_mesh_def def; // its arrays are NULL: they are in the builder's own, which move as they grow
    size_t name;
} mesh_entry;

struct cal_builder {
    char* name;
    double gravity[3];
    list bodies, joints, actuators, constraints, shapes, meshes, text;
    cal_pool body_defs, joint_defs; // definitions that are alike, once
    list vertices, triangles;       // of all meshes, one after the other
    list coordinates;               // of those that have some
    cal_model_extras kept;
    uint32_t disabled;
    int start;
    cal_error failure; // the first thing that could not wait
};

cal_body_def cal_default_body_def(void) {
    return (cal_body_def){.parent = CAL_GROUND, .quaternion = {1.0, 0.0, 0.0, 0.0}, .cookie = BODY_COOKIE};
}

cal_joint_def cal_default_joint_def(void) {
    return (cal_joint_def){.kind = CAL_REVOLUTE, .axis = {0.0, 0.0, 1.0}, .limit_damping = 0.5, .cookie = JOINT_COOKIE};
}

cal_actuator_def cal_default_actuator_def(void) {
    return (cal_actuator_def){.joint = CAL_NONE,
                              .tendon = CAL_NONE,
                              .body = CAL_NONE,
                              .quaternion = {1.0, 0.0, 0.0, 0.0},
                              .reference = CAL_NONE,
                              .reference_quaternion = {1.0, 0.0, 0.0, 0.0},
                              .gear = 1.0,
                              .gain = 1.0,
                              .cookie = ACTUATOR_COOKIE};
}

cal_constraint_def cal_default_constraint_def(void) {
    return (cal_constraint_def){.kind = CAL_WELD,
                                .body = {CAL_GROUND, CAL_GROUND},
                                .quaternion = {{1.0, 0.0, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0}},
                                .joint = {CAL_NONE, CAL_NONE},
                                .closes = CAL_NONE,
                                .polynomial = {0.0, 1.0, 0.0, 0.0, 0.0},
                                .cookie = CONSTRAINT_COOKIE};
}

cal_shape_def cal_default_shape_def(void) {
    return (cal_shape_def){.body = CAL_GROUND,
                           .kind = CAL_SPHERE,
                           .quaternion = {1.0, 0.0, 0.0, 0.0},
                           .mesh = CAL_NONE,
                           .texture = CAL_NONE,
                           .texture_repeat = {1.0, 1.0},
                           .friction = 1.0,
                           .collides = true,
                           .visible = true,
                           .category = 1,
                           .mask = 1,
                           .color = {0.5F, 0.5F, 0.5F, 1.0F},
                           .cookie = SHAPE_COOKIE};
}

cal_mesh_def cal_default_mesh_def(void) { return (cal_mesh_def){.cookie = MESH_COOKIE}; }

cal_status cal_builder_create(cal_builder** out) {
    if (!out) return CAL_BAD_ARGUMENT;
    cal_builder* builder = cal_allocate(1, sizeof *builder);
    if (builder == NULL) return CAL_NO_MEMORY;
    builder->gravity[2] = -9.81;
    builder->kept.magnetic_field[1] = -0.5;
    builder->start = CAL_NONE;
    *out = builder;
    return CAL_OK;
}

void cal_builder_destroy(cal_builder* builder) {
    if (builder == NULL) return;
    cal_free(builder->bodies.items);
    cal_free(builder->joints.items);
    cal_free(builder->actuators.items);
    cal_pool_free(&builder->body_defs);
    cal_pool_free(&builder->joint_defs);
    cal_free(builder->constraints.items);
    cal_free(builder->shapes.items);
    cal_free(builder->meshes.items);
    cal_free(builder->vertices.items);
    cal_free(builder->triangles.items);
    cal_free(builder->coordinates.items);
    cal_free(builder->text.items);
    cal_model_extras_free(&builder->kept);
    cal_free(builder->name);
    cal_free(builder);
}

static int remember(cal_builder* builder, cal_status status, const char* what, size_t number, const char* why) {
    if (builder->failure.status == CAL_OK) cal_explain(&builder->failure, status, "%s %zu: %s", what, number, why);
    return CAL_NONE;
}

// Room for `count` more items; NULL when there is no memory. The items are not counted yet.
static void* list_extend(list* items, size_t count, size_t item_size) {
    if (items->capacity - items->count < count) {
        size_t capacity = items->capacity < 16 ? 16 : 2 * items->capacity;
        if (capacity - items->count < count) capacity = items->count + count;
        void* grown = cal_allocate(capacity, item_size);
        if (grown == NULL) return NULL;
        if (items->count > 0) memcpy(grown, items->items, items->count * item_size);
        cal_free(items->items);
        items->items = grown;
        items->capacity = capacity;
    }
    return (char*)items->items + items->count * item_size;
}

// Copies a name into the text; false when there is no memory.
static bool keep_name(cal_builder* builder, const char* name, size_t* offset) {
    *offset = no_name;
    if (name == NULL) return true;
    const size_t length = strlen(name) + 1;
    char* room = list_extend(&builder->text, length, 1);
    if (room == NULL) return false;
    memcpy(room, name, length);
    *offset = builder->text.count;
    builder->text.count += length;
    return true;
}

// The part that everything that can be added shares: room for the entry and its name, or a failure to remember.
static void* add_entry(cal_builder* builder, list* items, size_t item_size, const char* noun, bool cookie_fits,
                       const char* name, size_t* name_offset) {
    // It will not be finished: to ask for memory again, for each of a million bodies, would take minutes.
    if (builder->failure.status == CAL_NO_MEMORY) return NULL;
    if (!cookie_fits) {
        remember(builder, CAL_BAD_ARGUMENT, noun, items->count,
                 "the definition is uninitialised; start from its cal_default_..._def function");
        return NULL;
    }
    if (items->count >= COUNT_LIMIT) {
        remember(builder, CAL_BAD_ARGUMENT, noun, items->count, "too many; a model holds 268 million");
        return NULL;
    }
    void* entry = list_extend(items, 1, item_size);
    if (entry == NULL || !keep_name(builder, name, name_offset)) {
        remember(builder, CAL_NO_MEMORY, noun, items->count, "out of memory");
        return NULL;
    }
    return entry;
}

// A definition with nothing in its padding, and without what is each body's own, so that equal ones have equal bytes.
static cal_body_def bare_body(const cal_body_def* def) {
    cal_body_def bare;
    memset(&bare, 0, sizeof bare);
    memcpy(bare.position, def->position, sizeof bare.position);
    memcpy(bare.quaternion, def->quaternion, sizeof bare.quaternion);
    bare.mass = def->mass;
    memcpy(bare.center, def->center, sizeof bare.center);
    memcpy(bare.inertia, def->inertia, sizeof bare.inertia);
    bare.weightless = def->weightless;
    bare.cookie = def->cookie;
    return bare;
}

static cal_joint_def bare_joint(const cal_joint_def* def) {
    cal_joint_def bare;
    memset(&bare, 0, sizeof bare);
    bare.kind = def->kind;
    memcpy(bare.axis, def->axis, sizeof bare.axis);
    memcpy(bare.anchor, def->anchor, sizeof bare.anchor);
    bare.zero = def->zero;
    bare.damping = def->damping;
    bare.stiffness = def->stiffness;
    bare.spring_reference = def->spring_reference;
    bare.armature = def->armature;
    bare.friction_loss = def->friction_loss;
    bare.limited = def->limited;
    memcpy(bare.range, def->range, sizeof bare.range);
    bare.limit_stiffness = def->limit_stiffness;
    bare.limit_damping = def->limit_damping;
    memcpy(bare.motor_range, def->motor_range, sizeof bare.motor_range);
    bare.motor_carries = def->motor_carries;
    memcpy(bare.initial_q, def->initial_q, sizeof bare.initial_q);
    memcpy(bare.initial_v, def->initial_v, sizeof bare.initial_v);
    bare.cookie = def->cookie;
    return bare;
}

int cal_builder_add_body(cal_builder* builder, const cal_body_def* def) {
    if (!builder) return CAL_NONE;
    size_t name;
    body_entry* entry = add_entry(builder, &builder->bodies, sizeof *entry, "body",
                                  def != NULL && def->cookie == BODY_COOKIE, def != NULL ? def->name : NULL, &name);
    if (entry == NULL) return CAL_NONE;
    const cal_body_def bare = bare_body(def);
    *entry = (body_entry){name, cal_pool_put(&builder->body_defs, &bare, sizeof bare), def->parent};
    if (entry->def < 0) return remember(builder, CAL_NO_MEMORY, "body", builder->bodies.count, "out of memory");
    return (int)builder->bodies.count++;
}

bool cal_builder_halve_body(cal_builder* builder, int body, cal_body_def* half) {
    if (body < 0 || (size_t)body >= builder->bodies.count) return false;
    body_entry* entry = &((body_entry*)builder->bodies.items)[body];
    *half = ((const cal_body_def*)builder->body_defs.items)[entry->def];
    if (!(half->mass > 0.0)) return false;
    half->mass *= 0.5;
    for (int i = 0; i < 6; i++) half->inertia[i] *= 0.5;
    const int32_t halved = cal_pool_put(&builder->body_defs, half, sizeof *half);
    if (halved < 0) return false;
    entry->def = halved;
    return true;
}

int cal_builder_refuse(cal_builder* builder, const char* what, const char* why) {
    return remember(builder, CAL_BAD_ARGUMENT, what, builder->constraints.count, why);
}

int cal_builder_add_joint(cal_builder* builder, int body, const cal_joint_def* def) {
    if (!builder) return CAL_NONE;
    size_t name;
    joint_entry* entry = add_entry(builder, &builder->joints, sizeof *entry, "joint",
                                   def != NULL && def->cookie == JOINT_COOKIE, def != NULL ? def->name : NULL, &name);
    if (entry == NULL) return CAL_NONE;
    const cal_joint_def bare = bare_joint(def);
    *entry = (joint_entry){name, cal_pool_put(&builder->joint_defs, &bare, sizeof bare), body, 0.0};
    if (entry->def < 0) return remember(builder, CAL_NO_MEMORY, "joint", builder->joints.count, "out of memory");
    return (int)builder->joints.count++;
}

void cal_builder_keep_stop(cal_builder* builder, int joint, double stiffness) {
    ((joint_entry*)builder->joints.items)[joint].stop = stiffness;
}

int cal_builder_add_actuator(cal_builder* builder, const cal_actuator_def* def) {
    if (!builder) return CAL_NONE;
    size_t name;
    actuator_entry* entry =
        add_entry(builder, &builder->actuators, sizeof *entry, "actuator",
                  def != NULL && def->cookie == ACTUATOR_COOKIE, def != NULL ? def->name : NULL, &name);
    if (entry == NULL) return CAL_NONE;
    *entry = (actuator_entry){*def, name};
    cal_quaternion_normalize(entry->def.quaternion);
    cal_quaternion_normalize(entry->def.reference_quaternion);
    return (int)builder->actuators.count++;
}

int cal_builder_add_constraint(cal_builder* builder, const cal_constraint_def* def) {
    if (!builder) return CAL_NONE;
    size_t name;
    constraint_entry* entry =
        add_entry(builder, &builder->constraints, sizeof *entry, "constraint",
                  def != NULL && def->cookie == CONSTRAINT_COOKIE, def != NULL ? def->name : NULL, &name);
    if (entry == NULL) return CAL_NONE;
    *entry = (constraint_entry){*def, name};
    return (int)builder->constraints.count++;
}

int cal_builder_add_shape(cal_builder* builder, const cal_shape_def* def) {
    if (!builder) return CAL_NONE;
    size_t name;
    shape_entry* entry = add_entry(builder, &builder->shapes, sizeof *entry, "shape",
                                   def != NULL && def->cookie == SHAPE_COOKIE, def != NULL ? def->name : NULL, &name);
    if (entry == NULL) return CAL_NONE;
    *entry = (shape_entry){*def, name};
    return (int)builder->shapes.count++;
}

// Copies an array behind those of earlier meshes; false when there is no memory.
static bool keep_array(list* items, const void* values, size_t count, size_t item_size) {
    if (count == 0) return true; // a mesh of corners alone is a hull
    void* room = list_extend(items, count, item_size);
    if (room == NULL) return false;
    memcpy(room, values, count * item_size);
    items->count += count;
    return true;
}

int cal_builder_add_mesh(cal_builder* builder, const cal_mesh_def* def) {
    if (!builder) return CAL_NONE;
    size_t name;
    const size_t number = builder->meshes.count;
    mesh_entry* entry = add_entry(builder, &builder->meshes, sizeof *entry, "mesh",
                                  def != NULL && def->cookie == MESH_COOKIE, def != NULL ? def->name : NULL, &name);
    if (entry == NULL) return CAL_NONE;
    const bool counts = def->vertex_count > 0 && def->triangle_count >= 0 && def->columns >= 0 &&
                        def->vertices != NULL && (def->triangle_count == 0 || def->triangles != NULL);
    if (!counts || def->vertex_count > COUNT_LIMIT || def->triangle_count > COUNT_LIMIT)
        return remember(builder, CAL_BAD_ARGUMENT, "mesh", number, "it has no vertices, or too many, or no arrays");
    if (!keep_array(&builder->vertices, def->vertices, 3 * (size_t)def->vertex_count, sizeof(double)) ||
        !keep_array(&builder->triangles, def->triangles, 3 * (size_t)def->triangle_count, sizeof(int32_t)) ||
        (def->coordinates != NULL &&
         !keep_array(&builder->coordinates, def->coordinates, 6 * (size_t)def->triangle_count, sizeof(float))))
        return remember(builder, CAL_NO_MEMORY, "mesh", number, "out of memory");
    *entry = (mesh_entry){*def, name};
    entry->def.vertices = NULL;
    entry->def.triangles = NULL;
    return (int)builder->meshes.count++;
}

void cal_builder_set_name(cal_builder* builder, const char* name) {
    if (!builder || !name) return;
    char* copy = cal_copy_text(name);
    if (copy == NULL) {
        if (builder->failure.status == CAL_OK)
            cal_explain(&builder->failure, CAL_NO_MEMORY, "the model's name: out of memory");
        return;
    }
    cal_free(builder->name);
    builder->name = copy;
}

void cal_builder_set_gravity(cal_builder* builder, const double gravity[3]) {
    if (!builder || !gravity) return;
    memcpy(builder->gravity, gravity, sizeof builder->gravity);
}

// What model_extras.c says of an addition, as the number of the new item.
static int note_kept(cal_builder* builder, int number, const char* noun) {
    if (number >= 0) return number;
    const bool uninitialised = number == CAL_KEPT_UNINITIALISED;
    return remember(builder, uninitialised ? CAL_BAD_ARGUMENT : CAL_NO_MEMORY, noun, 0,
                    uninitialised ? "the definition is uninitialised; start from its cal_default_..._def function"
                                  : "out of memory");
}

int cal_builder_add_site(cal_builder* builder, const cal_site_def* def) {
    if (!builder) return CAL_NONE;
    return note_kept(builder, cal_model_extras_add_site(&builder->kept, def), "site");
}

int cal_builder_add_texture(cal_builder* builder, const cal_texture_def* def) {
    if (!builder) return CAL_NONE;
    const char* why = def != NULL ? cal_png_trouble(def->bytes, def->size) : NULL;
    if (why != NULL) return remember(builder, CAL_BAD_MODEL, "texture", (size_t)builder->kept.texture_count, why);
    return note_kept(builder, cal_model_extras_add_texture(&builder->kept, def), "texture");
}

int cal_builder_add_keyframe(cal_builder* builder, const cal_keyframe_def* def) {
    if (!builder) return CAL_NONE;
    return note_kept(builder, cal_model_extras_add_keyframe(&builder->kept, def), "keyframe");
}

int cal_builder_add_tendon(cal_builder* builder, const cal_tendon_def* def) {
    if (!builder) return CAL_NONE;
    return note_kept(builder, cal_model_extras_add_tendon(&builder->kept, def), "tendon");
}

int cal_builder_add_drag(cal_builder* builder, const cal_drag_def* def) {
    if (!builder) return CAL_NONE;
    return note_kept(builder, cal_model_extras_add_drag(&builder->kept, def), "drag");
}

int cal_builder_add_sensor(cal_builder* builder, const cal_sensor_def* def) {
    if (!builder) return CAL_NONE;
    return note_kept(builder, cal_model_extras_add_sensor(&builder->kept, def), "sensor");
}

void cal_builder_set_magnetic_field(cal_builder* builder, const double field[3]) {
    if (builder && field) memcpy(builder->kept.magnetic_field, field, sizeof builder->kept.magnetic_field);
}

void cal_builder_set_medium(cal_builder* builder, double density, double viscosity, const double wind[3]) {
    if (!builder || !wind) return;
    builder->kept.medium = (cal_medium){density, viscosity, {wind[0], wind[1], wind[2]}};
}

int cal_builder_add_pair(cal_builder* builder, const cal_pair_def* def) {
    if (!builder) return CAL_NONE;
    return note_kept(builder, cal_model_extras_add_pair(&builder->kept, def), "pair");
}

int cal_builder_add_exclusion(cal_builder* builder, int body_a, int body_b) {
    if (!builder) return CAL_NONE;
    return note_kept(builder, cal_model_extras_add_exclusion(&builder->kept, body_a, body_b), "exclusion");
}

int cal_builder_add_numbers(cal_builder* builder, const char* name, const double* values, int count) {
    if (!builder || !name) return CAL_NONE;
    return note_kept(builder, cal_model_extras_add_numbers(&builder->kept, name, values, count), "numbers");
}

void cal_builder_set_timestep(cal_builder* builder, double seconds) {
    if (!builder) return;
    builder->kept.timestep = seconds;
}
void cal_builder_disable(cal_builder* builder, uint32_t parts) {
    if (!builder) return;
    builder->disabled |= parts;
}
void cal_builder_start_at(cal_builder* builder, int keyframe) { builder->start = keyframe; }

const char* cal_describe(const char* noun, const char* name, int number, char* text, size_t capacity) {
    if (name != NULL)
        snprintf(text, capacity, "%s \"%.60s\"", noun, name);
    else
        snprintf(text, capacity, "%s %d", noun, number);
    return text;
}

static const char* name_at(const cal_model* model, size_t offset) {
    return offset == no_name ? NULL : model->names + offset;
}

static bool copy_meshes(const cal_builder* builder, cal_model* model) {
    model->mesh_count = (int)builder->meshes.count;
    model->meshes = cal_allocate(builder->meshes.count, sizeof *model->meshes);
    model->mesh_vertices = cal_allocate(builder->vertices.count, sizeof(double));
    model->mesh_triangles = cal_allocate(builder->triangles.count, sizeof(int32_t));
    model->mesh_coordinates = cal_allocate(builder->coordinates.count, sizeof(float));
    if (model->meshes == NULL || model->mesh_vertices == NULL || model->mesh_triangles == NULL ||
        model->mesh_coordinates == NULL)
        return false;
    if (builder->coordinates.count > 0)
        memcpy(model->mesh_coordinates, builder->coordinates.items, builder->coordinates.count * sizeof(float));
    if (builder->vertices.count > 0)
        memcpy(model->mesh_vertices, builder->vertices.items, builder->vertices.count * sizeof(double));
    if (builder->triangles.count > 0)
        memcpy(model->mesh_triangles, builder->triangles.items, builder->triangles.count * sizeof(int32_t));
    const mesh_entry* meshes = builder->meshes.items;
    const double* vertices = model->mesh_vertices;
    const int32_t* triangles = model->mesh_triangles;
    const float* coordinates = model->mesh_coordinates;
    for (int i = 0; i < model->mesh_count; i++) {
        cal_mesh_def* mesh = &model->meshes[i];
        *mesh = meshes[i].def;
        mesh->name = name_at(model, meshes[i].name);
        mesh->vertices = vertices;
        mesh->triangles = triangles;
        vertices += 3 * (size_t)mesh->vertex_count;
        triangles += 3 * (size_t)mesh->triangle_count;
        if (mesh->coordinates == NULL) continue;
        mesh->coordinates = coordinates;
        coordinates += 6 * (size_t)mesh->triangle_count;
    }
    return true;
}

static bool copy_constraints_and_shapes(const cal_builder* builder, cal_model* model) {
    model->constraint_count = (int)builder->constraints.count;
    model->shape_count = (int)builder->shapes.count;
    model->constraints = cal_allocate(builder->constraints.count, sizeof *model->constraints);
    model->shapes = cal_allocate(builder->shapes.count, sizeof *model->shapes);
    if (model->constraints == NULL || model->shapes == NULL) return false;
    const constraint_entry* constraints = builder->constraints.items;
    for (int i = 0; i < model->constraint_count; i++) {
        model->constraints[i] = constraints[i].def;
        model->constraints[i].name = name_at(model, constraints[i].name);
    }
    const shape_entry* shapes = builder->shapes.items;
    for (int i = 0; i < model->shape_count; i++) {
        model->shapes[i] = shapes[i].def;
        model->shapes[i].name = name_at(model, shapes[i].name);
    }
    return true;
}

static cal_status copy_definitions(const cal_builder* builder, cal_model* model) {
    memcpy(model->gravity, builder->gravity, sizeof model->gravity);
    model->body_count = (int)builder->bodies.count;
    model->joint_count = (int)builder->joints.count;
    model->actuator_count = (int)builder->actuators.count;
    model->name = cal_copy_text(builder->name != NULL ? builder->name : "model");
    model->names = cal_allocate(builder->text.count, 1);
    model->body_def_count = (int)builder->body_defs.count;
    model->joint_def_count = (int)builder->joint_defs.count;
    model->body_defs = cal_allocate(builder->body_defs.count, sizeof *model->body_defs);
    model->joint_defs = cal_allocate(builder->joint_defs.count, sizeof *model->joint_defs);
    model->bodies = cal_allocate(builder->bodies.count, sizeof *model->bodies);
    model->joints = cal_allocate(builder->joints.count, sizeof *model->joints);
    model->actuators = cal_allocate(builder->actuators.count, sizeof *model->actuators);
    if (model->name == NULL || model->names == NULL || model->body_defs == NULL || model->joint_defs == NULL ||
        model->bodies == NULL || model->joints == NULL || model->actuators == NULL)
        return CAL_NO_MEMORY;
    if (builder->text.count > 0) memcpy(model->names, builder->text.items, builder->text.count);
    if (model->body_def_count > 0)
        memcpy(model->body_defs, builder->body_defs.items, builder->body_defs.count * sizeof *model->body_defs);
    if (model->joint_def_count > 0)
        memcpy(model->joint_defs, builder->joint_defs.items, builder->joint_defs.count * sizeof *model->joint_defs);
    const body_entry* bodies = builder->bodies.items;
    for (int i = 0; i < model->body_count; i++)
        model->bodies[i] = (cal_body){.def = &model->body_defs[bodies[i].def],
                                      .name = name_at(model, bodies[i].name),
                                      .parent = bodies[i].parent};
    const joint_entry* joints = builder->joints.items;
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint_def* def = &model->joint_defs[joints[i].def];
        model->joints[i] = (cal_joint){.def = def,
                                       .name = name_at(model, joints[i].name),
                                       .limit_stiffness = joints[i].stop > 0.0 ? joints[i].stop : def->limit_stiffness,
                                       .rigid = joints[i].stop > 0.0,
                                       .body = joints[i].body};
    }
    const actuator_entry* actuators = builder->actuators.items;
    for (int i = 0; i < model->actuator_count; i++) {
        model->actuators[i] = actuators[i].def;
        model->actuators[i].name = name_at(model, actuators[i].name);
    }
    model->disabled = builder->disabled;
    model->start = builder->start;
    if (!copy_constraints_and_shapes(builder, model) || !copy_meshes(builder, model)) return CAL_NO_MEMORY;
    return cal_model_extras_copy(&builder->kept, &model->kept) ? CAL_OK : CAL_NO_MEMORY;
}

static cal_status make_model(const cal_builder* builder, cal_model* model, cal_error* error) {
    cal_status status = copy_definitions(builder, model);
    if (status != CAL_OK)
        return cal_fail(error, status, "out of memory for a model of %d bodies", (int)builder->bodies.count);
    if ((status = cal_model_validate(model, error)) != CAL_OK) return status;
    cal_model_leave_out(model);
    if ((status = cal_model_index_names(model, error)) != CAL_OK) return status;
    if ((status = cal_model_compile(model, error)) != CAL_OK) return status;
    cal_model_turn_nodes(model);
    if ((status = cal_model_start_loop_joints(model, error)) != CAL_OK) return status;
    if ((status = cal_model_settle_tendons(model, error)) != CAL_OK) return status;
    if ((status = cal_model_start(model, error)) != CAL_OK) return status;
    return cal_model_find_touch(model, error);
}

cal_status cal_builder_finish(cal_builder* builder, cal_model** out, cal_error* error) {
    if (!builder || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_builder_finish: builder and out must not be NULL");
    if (builder->failure.status != CAL_OK) return cal_fail(error, builder->failure.status, "%s", builder->failure.text);
    cal_model* model = cal_allocate(1, sizeof *model);
    if (model == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a model");
    const cal_status status = make_model(builder, model, error);
    if (status != CAL_OK) {
        cal_model_destroy(model);
        return status;
    }
    *out = model;
    return CAL_OK;
}
