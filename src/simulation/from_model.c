// A world from a model, such as a file describes: what hangs together by joints moves together.
//
//     ground ─┬─ shapes                     a fixed body each
//             ├─ body without joints        its shapes: a fixed body each
//             │    └─ body with a hinge     a multibody, with everything below
//             ├─ body with a free joint     a free body, with what is fixed to it: m = Σ mᵢ, c = Σ mᵢ cᵢ / m,
//             │                             I = Σ Rᵢ Iᵢ Rᵢᵀ + mᵢ (|d|² 1 − d dᵀ), d = cᵢ − c
//             └─ body with a free joint     a multibody, since there are more joints below
//                  └─ body with a hinge
//
// A free joint with damping, friction or a rotor is one of a multibody too: a free body knows nothing of them.
//
// Trees that a constraint or a tendon connects, also one that may be connected later, are one multibody, a system of several roots;
// so is a free body that one of these touches. What does not move is the ground to constraints.
#include "simulation/from_model.h"
#include "base/memory.h"
#include "model/builder.h"
#include "simulation/body.h"
#include "simulation/model_map.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <stdio.h>
#include <string.h>

// --- What belongs together ------------------------------------------------------------------------------------------------

static int* numbers(int count) {
    int* list = cal_allocate((size_t)count + 1, sizeof *list);
    for (int i = 0; list != NULL && i <= count; i++) list[i] = -1;
    return list;
}

static cal_status allocate(cal_import* m, cal_error* error) {
    const int bodies = m->body_count, shapes = m->shape_count, all = bodies + shapes;
    const int tendons = cal_model_tendon_count(m->model);
    int** const lists[] = {
        &m->order,       &m->top,           &m->first_body,       &m->next_body,       &m->first_joint,
        &m->first_shape, &m->first_motor,   &m->next_joint,       &m->joint_number,    &m->next_shape,
        &m->next_motor,  &m->part_of_shape, &m->first_of_part,    &m->next_of_part,    &m->mesh_number,
        &m->mesh_tree,   &m->system,        &m->first_constraint, &m->next_constraint, &m->first_tendon,
        &m->next_tendon, &m->tendon_number};
    const int counts[] = {bodies,
                          bodies,
                          bodies,
                          bodies,
                          bodies,
                          bodies,
                          bodies,
                          m->joint_count,
                          m->joint_count,
                          shapes,
                          m->actuator_count,
                          shapes,
                          all,
                          shapes,
                          cal_model_mesh_count(m->model),
                          cal_model_mesh_count(m->model),
                          bodies,
                          bodies,
                          m->constraint_count,
                          bodies,
                          tendons,
                          tendons};
    bool fine = true;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) fine &= (*lists[i] = numbers(counts[i])) != NULL;
    m->q = cal_allocate((size_t)cal_model_q_count(m->model) + 1, sizeof *m->q);
    m->v = cal_allocate((size_t)cal_model_v_count(m->model) + 1, sizeof *m->v);
    m->place = cal_allocate(7 * ((size_t)bodies + 1), sizeof *m->place);
    fine &= m->q != NULL && m->v != NULL && m->place != NULL;
    return fine ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "out of memory for a world of %d bodies", bodies);
}

static void release(cal_import* m) {
    void* const lists[] = {m->order,
                           m->top,
                           m->first_body,
                           m->next_body,
                           m->first_joint,
                           m->first_shape,
                           m->first_motor,
                           m->next_joint,
                           m->joint_number,
                           m->next_shape,
                           m->next_motor,
                           m->part_of_shape,
                           m->first_of_part,
                           m->next_of_part,
                           m->mesh_number,
                           m->mesh_tree,
                           m->q,
                           m->v,
                           m->place,
                           m->system,
                           m->first_constraint,
                           m->next_constraint,
                           m->first_tendon,
                           m->next_tendon,
                           m->tendon_number};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

// out = frame ∘ (position, quaternion); a frame is seven numbers.
static void compose(const double* frame, const double position[3], const double quaternion[4], double* out) {
    double R[9], moved[3];
    cal_quaternion_matrix(frame + 3, R);
    cal_rotate3(R, position, moved);
    for (int i = 0; i < 3; i++) out[i] = frame[i] + moved[i];
    cal_quaternion_multiply(frame + 3, quaternion, out + 3);
}

// Bodies may be numbered in any order; `order` has parents first. Parents that are still to come wait in its far end.
static void sort_bodies(cal_import* m) {
    int sorted = 0;
    for (int start = 0; start < m->body_count; start++) {
        int waiting = m->body_count;
        for (int body = start; body != CAL_GROUND && m->top[body] != CAL_NONE;) {
            m->order[--waiting] = body;
            m->top[body] = CAL_NONE;
            cal_body_def def;
            cal_model_body(m->model, body, &def);
            body = def.parent;
        }
        while (waiting < m->body_count) m->order[sorted++] = m->order[waiting++];
    }
}

static const double origin[7] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0};

// The system of a tree, by its root.
static int system_of(cal_import* m, int tree) {
    while (m->system[tree] != tree) tree = m->system[tree] = m->system[m->system[tree]];
    return tree;
}

// The body that a constraint holds at an end, CAL_GROUND: none that moves.
static int held_body(const cal_import* m, const cal_constraint_def* def, int end) {
    int body = def->body[end];
    if (def->kind == CAL_COUPLING) {
        cal_joint_def joint;
        if (def->joint[end] == CAL_NONE) return CAL_GROUND;
        cal_model_joint(m->model, def->joint[end], &joint, &body, NULL, NULL);
    }
    return body == CAL_GROUND || m->top[body] == CAL_GROUND ? CAL_GROUND : body;
}

void cal_import_unite(cal_import* m, int a, int b) {
    if (a == CAL_GROUND || b == CAL_GROUND || m->top[a] == CAL_GROUND || m->top[b] == CAL_GROUND) return;
    const int one = system_of(m, m->top[a]), other = system_of(m, m->top[b]);
    m->system[one > other ? one : other] = one < other ? one : other;
}

int cal_import_settle(const cal_import* m, int body, double position[3], double quaternion[4]) {
    if (body == CAL_GROUND || m->top[body] != CAL_GROUND) return body;
    double placed[7];
    compose(m->place + 7 * body, position, quaternion, placed);
    memcpy(position, placed, 3 * sizeof *position);
    memcpy(quaternion, placed + 3, 4 * sizeof *quaternion);
    return CAL_GROUND;
}

// Trees that constraints and tendons connect become one system; the root with the lowest number stands for it.
static void find_systems(cal_import* m) {
    for (int body = 0; body < m->body_count; body++)
        if (m->top[body] == body) m->system[body] = body;
    for (int i = 0; i < m->constraint_count; i++) {
        cal_constraint_def def;
        cal_model_constraint(m->model, i, &def);
        cal_import_unite(m, held_body(m, &def, 0), held_body(m, &def, 1));
    }
    cal_import_unite_tendons(m);
    for (int body = 0; body < m->body_count; body++)
        if (m->top[body] == body) m->system[body] = system_of(m, body);
    for (int i = m->constraint_count - 1; i >= 0; i--) {
        cal_constraint_def def;
        cal_model_constraint(m->model, i, &def);
        const int a = held_body(m, &def, 0), body = a != CAL_GROUND ? a : held_body(m, &def, 1);
        if (body == CAL_GROUND) continue; // between things that do not move
        const int system = m->system[m->top[body]];
        m->next_constraint[i] = m->first_constraint[system];
        m->first_constraint[system] = i;
    }
}

static void find_trees(cal_import* m) {
    for (int joint = m->joint_count - 1; joint >= 0; joint--) {
        cal_joint_def def;
        int body;
        cal_model_joint(m->model, joint, &def, &body, NULL, NULL);
        m->next_joint[joint] = m->first_joint[body];
        m->first_joint[body] = joint;
    }
    for (int shape = m->shape_count - 1; shape >= 0; shape--) {
        cal_shape_def def;
        cal_model_shape(m->model, shape, &def);
        const int body = def.body == CAL_GROUND ? m->body_count : def.body;
        m->next_shape[shape] = m->first_shape[body];
        m->first_shape[body] = shape;
    }
    sort_bodies(m);
    for (int i = 0; i < m->body_count; i++) {
        const int body = m->order[i];
        cal_body_def def;
        cal_model_body(m->model, body, &def);
        const int above = def.parent == CAL_GROUND ? CAL_GROUND : m->top[def.parent];
        m->top[body] = above != CAL_GROUND ? above : m->first_joint[body] >= 0 ? body : CAL_GROUND;
        if (m->top[body] == CAL_GROUND)
            compose(def.parent == CAL_GROUND ? origin : m->place + 7 * def.parent, def.position, def.quaternion,
                    m->place + 7 * body);
    }
    find_systems(m);
    for (int i = m->body_count - 1; i >= 0; i--) {
        const int body = m->order[i];
        if (m->top[body] == CAL_GROUND) continue;
        const int system = m->system[m->top[body]];
        m->next_body[body] = m->first_body[system];
        m->first_body[system] = body;
    }
    cal_import_sort_tendons(m);
    for (int motor = m->actuator_count - 1; motor >= 0; motor--) {
        const int system = cal_import_motor_system(m, motor);
        if (system < 0) continue;
        m->next_motor[motor] = m->first_motor[system];
        m->first_motor[system] = motor;
    }
}

static bool is_free_body(const cal_import* m, int tree) {
    const int joint = m->first_joint[tree];
    cal_joint_def def;
    if (m->first_constraint[tree] >= 0 || m->first_tendon[tree] >= 0) return false;
    cal_model_joint(m->model, joint, &def, NULL, NULL, NULL);
    if (def.kind != CAL_FREE || m->next_joint[joint] >= 0) return false;
    if (def.damping != 0.0 || def.armature != 0.0 || def.friction_loss != 0.0) return false;
    for (int body = m->next_body[tree]; body >= 0; body = m->next_body[body])
        if (m->first_joint[body] >= 0) return false;
    return !cal_import_acts_on(m, tree);
}

// --- Shapes -----------------------------------------------------------------------------------------------------------------

static void note_shape(cal_import* m, int shape, int part) {
    m->part_of_shape[shape] = part;
    m->next_of_part[shape] = m->first_of_part[part];
    m->first_of_part[part] = shape;
}

static const char* shape_name(int shape, const cal_shape_def* def, char* text, size_t capacity) {
    if (def->name != NULL)
        snprintf(text, capacity, "%s", def->name);
    else
        snprintf(text, capacity, "shape %d", shape);
    return text;
}

// A shape at a place on a body of the world, seven numbers.
static cal_status add_shape(cal_import* m, int shape, cal_body_id part, const double* placed, cal_error* error) {
    cal_shape_def def;
    cal_mesh_def mesh = {0};
    cal_model_shape(m->model, shape, &def);
    memcpy(def.position, placed, sizeof def.position);
    memcpy(def.quaternion, placed + 3, sizeof def.quaternion);
    const bool meshed = def.kind == CAL_MESH || def.kind == CAL_HEIGHT_FIELD;
    if (meshed) cal_model_mesh(m->model, def.mesh, &mesh);
    const cal_status status = cal_world_add_shape(m->world, part, &def, meshed ? &mesh : NULL, error);
    if (status == CAL_OK) note_shape(m, shape, part.index);
    return status;
}

// A plane without end cannot move.
static cal_status check_moving_shapes(const cal_import* m, int body, cal_error* error) {
    char name[64], own[64];
    for (int shape = m->first_shape[body]; shape >= 0; shape = m->next_shape[shape]) {
        cal_shape_def def;
        cal_model_shape(m->model, shape, &def);
        if (def.kind == CAL_PLANE)
            return cal_fail(
                error, CAL_BAD_MODEL, "body %.60s has the plane %.60s and moves; a plane without end cannot, use a box",
                cal_model_body_name(m->model, body, own, sizeof own), shape_name(shape, &def, name, sizeof name));
    }
    return CAL_OK;
}

// Each by itself: so the broad phase tells them apart, and closed forms hold for planes and blocks.
static cal_status add_fixed_shape(cal_import* m, int shape, int body, cal_error* error) {
    cal_shape_def def;
    cal_model_shape(m->model, shape, &def);
    double placed[7];
    compose(body == CAL_GROUND ? origin : m->place + 7 * body, def.position, def.quaternion, placed);
    cal_world_body_def own = cal_default_world_body_def();
    char name[64];
    own.motion = CAL_FIXED;
    if (def.name == NULL && body != CAL_GROUND)
        own.name = cal_model_body_name(m->model, body, name, sizeof name);
    else
        own.name = shape_name(shape, &def, name, sizeof name);
    memcpy(own.position, placed, sizeof own.position);
    memcpy(own.quaternion, placed + 3, sizeof own.quaternion);
    cal_body_id part;
    const cal_status status = cal_world_add_body(m->world, &own, &part, error);
    return status == CAL_OK ? add_shape(m, shape, part, origin, error) : status;
}

static cal_status add_fixed(cal_import* m, int body, cal_error* error) {
    cal_status status = CAL_OK;
    const int list = body == CAL_GROUND ? m->body_count : body;
    for (int shape = m->first_shape[list]; status == CAL_OK && shape >= 0; shape = m->next_shape[shape])
        status = add_fixed_shape(m, shape, body, error);
    return status;
}

// --- Free bodies --------------------------------------------------------------------------------------------------------------

// I += R J Rᵀ + mass (|d|² 1 − d dᵀ), as six numbers.
static void add_inertia(double I[6], const double quaternion[4], const double J[6], double mass, const double d[3]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    const double full[9] = {J[0], J[3], J[4], J[3], J[1], J[5], J[4], J[5], J[2]};
    double R[9], turned[9];
    cal_quaternion_matrix(quaternion, R);
    cal_multiply33(R, full, turned);
    const double square = cal_dot3(d, d);
    for (int i = 0; i < 6; i++)
        I[i] += cal_dot3(turned + 3 * row[i], R + 3 * column[i]) +
                mass * ((row[i] == column[i] ? square : 0.0) - d[row[i]] * d[column[i]]);
}

// Frames of a tree's bodies in that of its root, into `place`; mass, centre and inertia of the whole.
static void weigh_tree(cal_import* m, int tree, cal_world_body_def* out) {
    double moment[3] = {0}, R[9], center[3];
    memcpy(m->place + 7 * tree, origin, sizeof origin);
    for (int body = tree; body >= 0; body = m->next_body[body]) {
        cal_body_def def;
        cal_model_body(m->model, body, &def);
        double* frame = m->place + 7 * body;
        if (body != tree) compose(m->place + 7 * def.parent, def.position, def.quaternion, frame);
        cal_quaternion_matrix(frame + 3, R);
        cal_rotate3(R, def.center, center);
        out->mass += def.mass;
        for (int i = 0; i < 3; i++) moment[i] += def.mass * (frame[i] + center[i]);
    }
    for (int i = 0; out->mass > 0.0 && i < 3; i++) out->center[i] = moment[i] / out->mass;
    for (int body = tree; body >= 0; body = m->next_body[body]) {
        cal_body_def def;
        cal_model_body(m->model, body, &def);
        const double* frame = m->place + 7 * body;
        cal_quaternion_matrix(frame + 3, R);
        cal_rotate3(R, def.center, center);
        for (int i = 0; i < 3; i++) center[i] += frame[i] - out->center[i];
        add_inertia(out->inertia, frame + 3, def.inertia, def.mass, center);
    }
}

static cal_status add_free_body(cal_import* m, int tree, cal_error* error) {
    cal_world_body_def def = cal_default_world_body_def();
    cal_joint_def joint;
    int first_q, first_v;
    cal_model_joint(m->model, m->first_joint[tree], &joint, NULL, &first_q, &first_v);
    char name[128];
    def.name = cal_model_body_name(m->model, tree, name, sizeof name);
    def.density = 0.0;
    weigh_tree(m, tree, &def);
    // A free joint's q is the pose; its v the velocity of the frame's origin, and the angular one in the body's axes.
    const double *q = m->q + first_q, *v = m->v + first_v;
    double R[9], center[3], turning[3];
    memcpy(def.position, q, sizeof def.position);
    memcpy(def.quaternion, q + 3, sizeof def.quaternion);
    cal_quaternion_matrix(def.quaternion, R);
    cal_rotate3(R, v + 3, def.angular_velocity);
    cal_rotate3(R, def.center, center);
    cal_cross3(def.angular_velocity, center, turning);
    for (int i = 0; i < 3; i++) def.velocity[i] = v[i] + turning[i];
    cal_body_id part;
    cal_status status = cal_world_add_body(m->world, &def, &part, error);
    m->map->joint[m->first_joint[tree]] = (cal_mapped){-1, part.index};
    for (int body = tree; status == CAL_OK && body >= 0; body = m->next_body[body]) {
        m->map->body[body] = part.index;
        memcpy(m->map->place + 7 * body, m->place + 7 * body, sizeof origin);
        status = check_moving_shapes(m, body, error);
        for (int shape = m->first_shape[body]; status == CAL_OK && shape >= 0; shape = m->next_shape[shape]) {
            cal_shape_def own;
            double placed[7];
            cal_model_shape(m->model, shape, &own);
            compose(m->place + 7 * body, own.position, own.quaternion, placed);
            status = add_shape(m, shape, part, placed, error);
        }
    }
    return status;
}

// --- Multibodies ----------------------------------------------------------------------------------------------------------------

// A body and its joints, with the start values of the whole model. A free joint starts where its body is defined to be.
static bool copy_body(cal_import* m, int body, int number, cal_body_def* def, cal_builder* builder) {
    cal_joint_def joint;
    int first_q, first_v;
    const int first = m->first_joint[body];
    if (first >= 0) cal_model_joint(m->model, first, &joint, NULL, &first_q, &first_v);
    if (first >= 0 && joint.kind == CAL_FREE) {
        memcpy(def->position, m->q + first_q, sizeof def->position);
        memcpy(def->quaternion, m->q + first_q + 3, sizeof def->quaternion);
    }
    if (cal_builder_add_body(builder, def) != number) return false;
    for (int i = first; i >= 0; i = m->next_joint[i]) {
        cal_model_joint(m->model, i, &joint, NULL, &first_q, &first_v);
        memset(joint.initial_q, 0, sizeof joint.initial_q);
        if (joint.kind != CAL_FREE)
            memcpy(joint.initial_q, m->q + first_q, (size_t)cal_joint_q_count(joint.kind) * sizeof(double));
        memcpy(joint.initial_v, m->v + first_v, (size_t)cal_joint_v_count(joint.kind) * sizeof(double));
        m->joint_number[i] = cal_builder_add_joint(builder, number, &joint);
        if (m->joint_number[i] < 0) return false;
        // Stops whose stiffness was chosen are rigid here, too.
        if (m->model->joints[i].rigid) cal_builder_keep_stop(builder, m->joint_number[i], joint.limit_stiffness);
    }
    return true;
}

static bool copy_shapes(cal_import* m, int tree, int body, int number, cal_builder* builder) {
    for (int shape = m->first_shape[body]; shape >= 0; shape = m->next_shape[shape]) {
        cal_shape_def def;
        cal_model_shape(m->model, shape, &def);
        def.body = number;
        def.texture = CAL_NONE; // nobody looks at it
        if (def.kind == CAL_MESH || def.kind == CAL_HEIGHT_FIELD) {
            if (m->mesh_tree[def.mesh] != tree) {
                cal_mesh_def mesh;
                cal_model_mesh(m->model, def.mesh, &mesh);
                m->mesh_number[def.mesh] = cal_builder_add_mesh(builder, &mesh);
                m->mesh_tree[def.mesh] = tree;
            }
            def.mesh = m->mesh_number[def.mesh];
        }
        if (cal_builder_add_shape(builder, &def) < 0) return false;
    }
    return true;
}

// A constraint, with the numbers that its bodies and joints have in the model that is being made.
static bool copy_constraint(cal_import* m, int constraint, const int* body_number, cal_builder* builder) {
    cal_constraint_def def;
    cal_model_constraint(m->model, constraint, &def);
    for (int end = 0; end < 2; end++) {
        if (def.kind == CAL_COUPLING) {
            if (def.joint[end] != CAL_NONE) def.joint[end] = m->joint_number[def.joint[end]];
            continue;
        }
        const int body = cal_import_settle(m, def.body[end], def.position[end], def.quaternion[end]);
        def.body[end] = body == CAL_GROUND ? CAL_GROUND : body_number[body];
    }
    if (cal_is_loop_joint(&def)) def.closes = m->joint_number[def.closes]; // whatever others say there
    return cal_builder_add_constraint(builder, &def) >= 0;
}

static bool copy_system(cal_import* m, int tree, int* body_number, cal_builder* builder) {
    double gravity[3];
    cal_model_gravity(m->model, gravity);
    cal_builder_set_gravity(builder, gravity);
    cal_builder_disable(builder, m->model->disabled & CAL_PART_STICTION);
    cal_builder_set_name(builder, cal_model_name(m->model));
    int number = 0;
    for (int body = m->first_body[tree]; body >= 0; body = m->next_body[body]) {
        cal_body_def def;
        cal_model_body(m->model, body, &def);
        const bool root = m->top[body] == body;
        if (root) {
            double placed[7];
            compose(def.parent == CAL_GROUND ? origin : m->place + 7 * def.parent, def.position, def.quaternion,
                    placed);
            memcpy(def.position, placed, sizeof def.position);
            memcpy(def.quaternion, placed + 3, sizeof def.quaternion);
        }
        def.parent = root ? CAL_GROUND : body_number[def.parent];
        body_number[body] = number;
        if (!copy_body(m, body, number, &def, builder) || !copy_shapes(m, tree, body, number, builder)) return false;
        number++;
    }
    if (!cal_import_copy_tendons(m, tree, body_number, builder)) return false;
    if (!cal_import_copy_drags(m, tree, body_number, builder)) return false;
    for (int motor = m->first_motor[tree]; motor >= 0; motor = m->next_motor[motor]) {
        cal_actuator_def def;
        cal_model_actuator(m->model, motor, &def);
        if (def.joint >= 0) def.joint = m->joint_number[def.joint];
        if (def.tendon >= 0) def.tendon = m->tendon_number[def.tendon];
        cal_import_place_motor(m, body_number, &def);
        if (m->control != NULL) def.initial_control = m->control[motor];
        if (m->control != NULL && def.activation != CAL_ACTIVATION_NONE)
            def.initial_activation = m->control[m->actuator_count + motor];
        if (cal_builder_add_actuator(builder, &def) < 0) return false;
    }
    for (int i = m->first_constraint[tree]; i >= 0; i = m->next_constraint[i])
        if (!copy_constraint(m, i, body_number, builder)) return false;
    return true;
}

static cal_status add_links(cal_import* m, int tree, const cal_model* model, cal_error* error) {
    cal_multibody_id multibody;
    const cal_status status = cal_world_add_multibody(m->world, model, NULL, NULL, 0, &multibody, error);
    if (status != CAL_OK) return status;
    int number = 0, motors = 0, constraints = 0;
    for (int i = m->first_motor[tree]; i >= 0; i = m->next_motor[i])
        m->map->motor[i] = (cal_mapped){multibody.index, motors++};
    for (int i = m->first_constraint[tree]; i >= 0; i = m->next_constraint[i])
        m->map->constraint[i] = (cal_mapped){multibody.index, constraints++};
    for (int body = m->first_body[tree]; body >= 0; body = m->next_body[body]) {
        const cal_body_id part = cal_world_link(m->world, multibody, number++);
        m->map->body[body] = part.index;
        memcpy(m->map->place + 7 * body, origin, sizeof origin);
        for (int joint = m->first_joint[body]; joint >= 0; joint = m->next_joint[joint])
            m->map->joint[joint] = (cal_mapped){multibody.index, m->joint_number[joint]};
        // Names are unique in a model, so a link keeps its own.
        char name[128];
        char* own = cal_copy_text(cal_model_body_name(m->model, body, name, sizeof name));
        if (own == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for names");
        cal_free(m->world->bodies[part.index].name);
        m->world->bodies[part.index].name = own;
        m->world->bodies[part.index].def.name = own;
        for (int shape = m->first_shape[body]; shape >= 0; shape = m->next_shape[shape])
            note_shape(m, shape, part.index);
    }
    return CAL_OK;
}

static cal_status add_multibody(cal_import* m, int tree, int* body_number, cal_error* error) {
    cal_builder* builder = NULL;
    cal_model* model = NULL;
    cal_status status = CAL_OK;
    for (int body = m->first_body[tree]; status == CAL_OK && body >= 0; body = m->next_body[body])
        status = check_moving_shapes(m, body, error);
    if (status != CAL_OK) return status;
    if (cal_builder_create(&builder) != CAL_OK || !copy_system(m, tree, body_number, builder)) {
        cal_builder_destroy(builder);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a multibody");
    }
    status = cal_builder_finish(builder, &model, error);
    cal_builder_destroy(builder);
    if (status == CAL_OK) status = cal_world_keep_model(m->world, model, error);
    return status == CAL_OK ? add_links(m, tree, model, error) : status;
}

// --- All of it ------------------------------------------------------------------------------------------------------------------

static cal_status add_all(cal_import* m, cal_error* error) {
    int* body_number = numbers(m->body_count);
    if (body_number == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for bodies");
    cal_status status = add_fixed(m, CAL_GROUND, error);
    for (int body = 0; status == CAL_OK && body < m->body_count; body++) {
        if (m->top[body] == CAL_GROUND) {
            m->map->body[body] = -1;
            memcpy(m->map->place + 7 * body, m->place + 7 * body, sizeof origin);
            status = add_fixed(m, body, error);
        } else if (m->top[body] != body || m->system[body] != body)
            continue; // with its root, or with the system that it belongs to
        else if (is_free_body(m, body))
            status = add_free_body(m, body, error);
        else
            status = add_multibody(m, body, body_number, error);
    }
    cal_free(body_number);
    return status;
}

// A number of the file under a name, where the definition leaves it open.
static cal_status take_number(const cal_model* model, const char* name, double most, double* value, cal_error* error) {
    int count = 0;
    const double* given = cal_model_numbers(model, name, &count);
    if (*value >= 0.0 || given == NULL) return CAL_OK;
    if (count != 1 || !(given[0] >= 0.0 && given[0] <= most))
        return cal_fail(error, CAL_BAD_MODEL, "the model's number \"%s\" must be one number from 0 to %g", name, most);
    *value = given[0];
    return CAL_OK;
}

cal_status cal_world_from_start(const cal_model* model, const cal_world_def* def, const cal_start* start,
                                cal_world** out, cal_model_map** map, cal_error* error) {
    *out = NULL;
    if (map != NULL) *map = NULL;
    if (model == NULL) return cal_fail(error, CAL_BAD_ARGUMENT, "the model is NULL");
    cal_world_def own = def != NULL ? *def : cal_default_world_def();
    cal_model_gravity(model, own.gravity);
    cal_status status = take_number(model, "restitution", 1.0, &own.restitution, error);
    if (status == CAL_OK) status = take_number(model, "friction", 1e3, &own.friction, error);
    cal_world* world = NULL;
    if (status == CAL_OK) status = cal_world_create(&own, &world, error);
    if (status != CAL_OK) return status;
    cal_import m = {.model = model,
                    .world = world,
                    .body_count = cal_model_body_count(model),
                    .joint_count = cal_model_joint_count(model),
                    .shape_count = cal_model_shape_count(model),
                    .actuator_count = cal_model_actuator_count(model),
                    .constraint_count = cal_model_constraint_count(model)};
    status = allocate(&m, error);
    if (status == CAL_OK && cal_model_map_create(model, &m.map) != CAL_OK)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for a world of %d bodies", m.body_count);
    if (status == CAL_OK) {
        cal_model_initial(model, m.q, m.v, NULL);
        if (start != NULL) {
            if (start->q != NULL) memcpy(m.q, start->q, (size_t)cal_model_q_count(model) * sizeof *m.q);
            if (start->v != NULL) memcpy(m.v, start->v, (size_t)cal_model_v_count(model) * sizeof *m.v);
            m.control = start->control;
            world->time = world->now = world->gvt = start->time;
        }
        find_trees(&m);
        status = add_all(&m, error);
    }
    if (status == CAL_OK) status = cal_import_pairs(&m, error);
    release(&m);
    if (status != CAL_OK || map == NULL) cal_model_map_destroy(m.map);
    if (status != CAL_OK) {
        cal_world_destroy(world);
        return status;
    }
    if (map != NULL) {
        *map = m.map; // whoever has it reads these bodies by their places
        for (int i = 0; i < world->body_count; i++) world->bodies[i].of_model = true;
        for (int i = 0; i < world->multibody_count; i++) world->multibodies[i]->of_model = true;
    }
    *out = world;
    return CAL_OK;
}

cal_status cal_world_from_model(const cal_model* model, const cal_world_def* def, cal_world** out, cal_error* error) {
    if (!model || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_world_from_model: model and out must not be NULL");
    return cal_world_from_start(model, def, NULL, out, NULL, error);
}
