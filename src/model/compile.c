// Makes the kinematic tree of nodes from bodies and joints (model.h says what both are).
//
//   1  joints are grouped by body; in that order, bodies in the order of their numbers, they get their places in q, v
//   2  bodies are put in breadth-first order; one that is not reached from the ground hangs on a cycle
//   3  in that order each joint becomes a node, and the tree of nodes is known
//   4  inbound: heights and sizes of subtrees; siblings are sorted by kind, falling height, body number
//   5  outbound: a node's place in walking order is its parent's, plus one, plus the sizes of its elder siblings
//   6  frames. With X = (R, r) a frame's rotation and origin in another, and J_k = (A_k, a_k) joint k's axes and anchor
//      in the body's frame, a body with joints 1 … n that hangs by X from its parent's node has nodes at
//         X J_1,  J_1⁻¹ J_2,  …,  J_{n−1}⁻¹ J_n,   and its own frame at J_n⁻¹ in the last one,
//      so that each joint moves all that come after it. A joint's zero is turned or shifted back from its own frame.
//   7  bodies add their masses to their nodes: Σ = ∫ x xᵀ dm = R (½ tr I 1 − I) Rᵀ + m c cᵀ
//
// A body's joints are the nodes that end with its mount's: their numbers need not follow each other.
#include "base/memory.h"
#include "model/angle.h"
#include "model/builder.h"
#include "model/symmetric.h"
#include <string.h>

enum { TEXT = 80, MOST_DEGREES = 6 };

// Rotation and origin of a frame in another.
typedef struct frame {
    double rotation[9], offset[3];
} frame;

static const frame identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};

// Everything that is needed only here, in one block. Nodes are numbered in breadth-first order until they are placed.
typedef struct workspace {
    int32_t *joint_start, *joint_order; // joints of each body
    int32_t *child_start, *child_order; // children of each body; the ground's are at 0, body b's at b + 1
    int32_t *body_order, *body_first;   // breadth-first order of bodies; each body's first node
    int32_t* carrier;                   // of each body: the node that moves it, -1 for the ground
    int32_t *body_key, *body_items;
    int32_t *parent, *joint;        // of each node
    int32_t *height, *size, *place; // of each node; the height of a leaf is 0
    int32_t *key, *items, *sorted, *node_start;
    int32_t* memory;
} workspace;

static bool workspace_create(workspace* w, const cal_model* model) {
    const size_t bodies = (size_t)model->body_count + 2, joints = (size_t)model->joint_count + 2;
    int32_t* next = w->memory = cal_allocate(8 * bodies + 10 * joints, sizeof *next);
    if (next == NULL) return false;
    int32_t** of_bodies[] = {&w->joint_start, &w->child_start, &w->child_order, &w->body_order,
                             &w->body_first,  &w->carrier,     &w->body_key,    &w->body_items};
    int32_t** of_joints[] = {&w->joint_order, &w->parent, &w->joint, &w->height, &w->size,
                             &w->place,       &w->key,    &w->items, &w->sorted, &w->node_start};
    for (size_t i = 0; i < sizeof of_bodies / sizeof *of_bodies; i++, next += bodies) *of_bodies[i] = next;
    for (size_t i = 0; i < sizeof of_joints / sizeof *of_joints; i++, next += joints) *of_joints[i] = next;
    return true;
}

// Sorts items stably by key[item], 0 … keys − 1. Items of key k end up from start[k] to start[k + 1].
static void sort_by_key(const int32_t* items, int count, const int32_t* key, int keys, int32_t* start,
                        int32_t* sorted) {
    memset(start, 0, ((size_t)keys + 1) * sizeof *start);
    for (int i = 0; i < count; i++) start[key[items[i]] + 1]++;
    for (int k = 0; k < keys; k++) start[k + 1] += start[k];
    for (int i = 0; i < count; i++) sorted[start[key[items[i]]]++] = items[i];
    for (int k = keys; k > 0; k--) start[k] = start[k - 1];
    start[0] = 0;
}

static cal_status group_joints(cal_model* model, workspace* w, cal_error* error) {
    for (int i = 0; i < model->joint_count; i++) {
        w->items[i] = i;
        w->key[i] = model->joints[i].body;
    }
    sort_by_key(w->items, model->joint_count, w->key, model->body_count, w->joint_start, w->joint_order);
    for (int b = 0; b < model->body_count; b++) {
        cal_body* body = &model->bodies[b];
        body->joint_count = w->joint_start[b + 1] - w->joint_start[b];
        int degrees = 0;
        bool free_joint = false;
        for (int i = w->joint_start[b]; i < w->joint_start[b + 1]; i++) {
            cal_joint* joint = &model->joints[w->joint_order[i]];
            joint->first_q = model->q_count;
            joint->first_v = model->v_count;
            model->q_count += cal_joint_q_count(joint->def->kind);
            model->v_count += cal_joint_v_count(joint->def->kind);
            degrees += cal_joint_v_count(joint->def->kind);
            free_joint |= joint->def->kind == CAL_FREE;
        }
        char who[TEXT];
        cal_describe("body", body->name, b, who, sizeof who);
        if (free_joint && body->parent != CAL_GROUND)
            return cal_fail(error, CAL_BAD_MODEL,
                            "%s: it has a free joint but hangs from body %d; only bodies on the ground may", who,
                            body->parent);
        if (free_joint && body->joint_count > 1)
            return cal_fail(error, CAL_BAD_MODEL, "%s: it has a free joint and others; a free joint must be alone",
                            who);
        if (degrees > MOST_DEGREES)
            return cal_fail(error, CAL_BAD_MODEL,
                            "%s: its joints have %d degrees of freedom; a body moves with at most 6", who, degrees);
    }
    return CAL_OK;
}

static cal_status order_bodies(const cal_model* model, workspace* w, cal_error* error) {
    const int count = model->body_count;
    for (int b = 0; b < count; b++) {
        w->body_items[b] = b;
        w->body_key[b] = model->bodies[b].parent + 1;
    }
    sort_by_key(w->body_items, count, w->body_key, count + 1, w->child_start, w->child_order);
    int found = 0;
    for (int i = w->child_start[0]; i < w->child_start[1]; i++) w->body_order[found++] = w->child_order[i];
    for (int done = 0; done < found; done++) {
        const int b = w->body_order[done] + 1;
        for (int i = w->child_start[b]; i < w->child_start[b + 1]; i++) w->body_order[found++] = w->child_order[i];
    }
    if (found == count) return CAL_OK;
    // Any body that was not reached leads to the cycle when its parents are followed far enough.
    int32_t* reached = memset(w->body_key, 0, (size_t)count * sizeof *reached);
    for (int i = 0; i < found; i++) reached[w->body_order[i]] = 1;
    int lost = 0;
    while (reached[lost]) lost++;
    for (int i = 0; i < count; i++) lost = model->bodies[lost].parent;
    char who[TEXT];
    return cal_fail(error, CAL_BAD_MODEL,
                    "%s: it hangs from itself, through its parent, body %d; a model must be a tree",
                    cal_describe("body", model->bodies[lost].name, lost, who, sizeof who), model->bodies[lost].parent);
}

static void make_nodes(const cal_model* model, workspace* w) {
    int node = 0;
    for (int i = 0; i < model->body_count; i++) {
        const int b = w->body_order[i], up = model->bodies[b].parent;
        w->carrier[b] = up == CAL_GROUND ? -1 : w->carrier[up];
        w->body_first[b] = node;
        for (int k = w->joint_start[b]; k < w->joint_start[b + 1]; k++, node++) {
            w->parent[node] = w->carrier[b];
            w->joint[node] = w->joint_order[k];
            w->carrier[b] = node;
        }
    }
}

static void place_nodes(const cal_model* model, workspace* w) {
    const int count = model->node_count;
    int tallest = 0, listed = 0;
    for (int i = 0; i < count; i++) w->size[i] = 1;
    for (int i = count - 1; i >= 0; i--) {
        if (w->height[i] > tallest) tallest = w->height[i];
        if (w->parent[i] < 0) continue;
        w->size[w->parent[i]] += w->size[i];
        if (w->height[w->parent[i]] <= w->height[i]) w->height[w->parent[i]] = w->height[i] + 1;
    }
    // Stable sorts by the last criterion first.
    for (int b = 0; b < model->body_count; b++)
        for (int k = 0; k < model->bodies[b].joint_count; k++) w->items[listed++] = w->body_first[b] + k;
    for (int i = 0; i < count; i++) w->key[i] = tallest - w->height[i];
    sort_by_key(w->items, count, w->key, tallest + 1, w->node_start, w->sorted);
    for (int i = 0; i < count; i++) w->key[i] = (int32_t)model->joints[w->joint[i]].def->kind;
    int32_t kind_start[CAL_FREE + 2];
    sort_by_key(w->sorted, count, w->key, CAL_FREE + 1, kind_start, w->items);
    for (int i = 0; i < count; i++) w->key[i] = w->parent[i] + 1;
    sort_by_key(w->items, count, w->key, count + 1, w->node_start, w->sorted);
    for (int up = -1; up < count; up++) {
        int place = up < 0 ? 0 : w->place[up] + 1;
        for (int i = w->node_start[up + 1]; i < w->node_start[up + 2]; i++) {
            w->place[w->sorted[i]] = place;
            place += w->size[w->sorted[i]];
        }
    }
}

// a ∘ b: what b places in a's frame, seen from where a is placed.
static frame compose(const frame* a, const frame* b) {
    frame out;
    cal_multiply33(a->rotation, b->rotation, out.rotation);
    cal_rotate3(a->rotation, b->offset, out.offset);
    for (int i = 0; i < 3; i++) out.offset[i] += a->offset[i];
    return out;
}

static frame inverse(const frame* a) {
    frame out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out.rotation[3 * i + j] = a->rotation[3 * j + i];
    cal_unrotate3(a->rotation, a->offset, out.offset);
    for (int i = 0; i < 3; i++) out.offset[i] = -out.offset[i];
    return out;
}

// The frame of a joint in its body's: origin at the anchor, z along the axis.
static frame joint_frame(const cal_joint_def* def) {
    frame out = identity;
    if (def->kind == CAL_REVOLUTE || def->kind == CAL_PRISMATIC) cal_rotation_to_axis(def->axis, out.rotation);
    memcpy(out.offset, def->anchor, sizeof out.offset);
    return out;
}

// What undoes the joint's zero, in the joint's frame.
static frame zero_frame(const cal_joint_def* def) {
    frame out = identity;
    double s, c;
    cal_sine_cosine(def->zero, &s, &c);
    if (def->kind == CAL_REVOLUTE)
        out.rotation[0] = c, out.rotation[1] = s, out.rotation[3] = -s, out.rotation[4] = c;
    else if (def->kind == CAL_PRISMATIC)
        out.offset[2] = -def->zero;
    return out;
}

static void fill_nodes(cal_model* model, const workspace* w) {
    for (int i = 0; i < model->body_count; i++) {
        const int b = w->body_order[i];
        const cal_body* body = &model->bodies[b];
        cal_mount* mount = &model->mounts[b];
        frame at; // the body's frame in the node that carries what comes next
        cal_quaternion_matrix(body->def->quaternion, at.rotation);
        memcpy(at.offset, body->def->position, sizeof at.offset);
        mount->node = -1;
        if (body->parent != CAL_GROUND) {
            const cal_mount* up = &model->mounts[body->parent];
            frame carrier;
            memcpy(carrier.rotation, up->rotation, sizeof carrier.rotation);
            memcpy(carrier.offset, up->offset, sizeof carrier.offset);
            at = compose(&carrier, &at);
            mount->node = up->node;
        }
        for (int k = 0; k < body->joint_count; k++) {
            const int unplaced = w->body_first[b] + k, place = w->place[unplaced];
            cal_joint* joint = &model->joints[w->joint[unplaced]];
            const cal_joint_def* def = joint->def;
            const frame own = joint_frame(def), zero = zero_frame(def);
            // A free joint's q is the body's pose in the world; where the definition puts it is in its start value.
            frame placed = identity;
            if (def->kind != CAL_FREE) {
                placed = compose(&at, &own);
                placed = compose(&placed, &zero);
            }
            cal_node* node = &model->nodes[place];
            *node = (cal_node){.parent = mount->node,
                               .body = b,
                               .joint = w->joint[unplaced],
                               .first_q = joint->first_q,
                               .first_v = joint->first_v,
                               .kind = (int32_t)def->kind,
                               .end = place + w->size[unplaced],
                               .depth = mount->node < 0 ? 0 : model->nodes[mount->node].depth + 1,
                               .armature = def->armature,
                               .damping = def->damping,
                               .stiffness = def->stiffness,
                               .spring_reference = def->spring_reference};
            memcpy(node->rotation, placed.rotation, sizeof node->rotation);
            memcpy(node->offset, placed.offset, sizeof node->offset);
            if (node->depth >= model->depth) model->depth = node->depth + 1;
            joint->node = mount->node = place;
            at = inverse(&own);
        }
        memcpy(mount->rotation, at.rotation, sizeof mount->rotation);
        memcpy(mount->offset, at.offset, sizeof mount->offset);
    }
}

static void add_mass(const cal_body_def* def, const cal_mount* mount, cal_node* node) {
    const double* R = mount->rotation;
    const double* inertia = def->inertia;
    const double half = 0.5 * (inertia[0] + inertia[1] + inertia[2]);
    const double sigma[9] = {half - inertia[0], -inertia[3], -inertia[4], -inertia[3],      half - inertia[1],
                             -inertia[5],       -inertia[4], -inertia[5], half - inertia[2]};
    double turned[9], center[3];
    cal_multiply33(R, sigma, turned);
    cal_rotate3(R, def->center, center);
    for (int i = 0; i < 3; i++) center[i] += mount->offset[i];
    const size_t *rows = cal_symmetric_row, *columns = cal_symmetric_column;
    for (int i = 0; i < 6; i++)
        node->second_moment[i] +=
            cal_dot3(&turned[3 * rows[i]], &R[3 * columns[i]]) + def->mass * center[rows[i]] * center[columns[i]];
    for (int i = 0; i < 3; i++) node->moment[i] += def->mass * center[i];
    node->mass += def->mass;
}

// A quaternion as the user gave it, of length one. All zeros, as in a default definition, stand for no rotation.
static void start_quaternion(const double given[4], double out[4]) {
    const double length = cal_length(given, 4);
    out[0] = length > 0.0 ? given[0] / length : 1.0;
    for (int i = 1; i < 4; i++) out[i] = length > 0.0 ? given[i] / length : 0.0;
}

static void fill_start(cal_model* model) {
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        const cal_joint_def* def = joint->def;
        const cal_body_def* body = model->bodies[joint->body].def;
        double* q = model->initial_q + joint->first_q;
        memcpy(model->initial_v + joint->first_v, def->initial_v, (size_t)cal_joint_v_count(def->kind) * sizeof *q);
        if (def->kind == CAL_BALL)
            start_quaternion(def->initial_q, q);
        else if (def->kind == CAL_FREE) {
            double R[9];
            cal_quaternion_matrix(body->quaternion, R);
            cal_rotate3(R, def->initial_q, q);
            for (int k = 0; k < 3; k++) q[k] += body->position[k];
            start_quaternion(def->initial_q + 3, q + 3);
            cal_quaternion_multiply(body->quaternion, q + 3, q + 3);
        } else
            q[0] = def->initial_q[0];
    }
}

static void normalize(double* values, int count) {
    const double length = cal_length(values, count);
    for (int k = 0; k < count; k++) values[k] /= length;
}

static void normalize_definitions(cal_model* model) {
    for (int i = 0; i < model->body_def_count; i++) normalize(model->body_defs[i].quaternion, 4);
    for (int i = 0; i < 2 * model->constraint_count; i++)
        if (model->constraints[i / 2].kind != CAL_COUPLING) normalize(model->constraints[i / 2].quaternion[i % 2], 4);
    for (int i = 0; i < model->shape_count; i++) normalize(model->shapes[i].quaternion, 4);
    for (int i = 0; i < model->joint_def_count; i++) {
        cal_joint_def* def = &model->joint_defs[i];
        if (cal_joint_v_count(def->kind) == 1) normalize(def->axis, 3);
    }
}

static cal_status make_tree(cal_model* model, workspace* w, cal_error* error) {
    cal_status status = group_joints(model, w, error);
    if (status != CAL_OK) return status;
    status = order_bodies(model, w, error);
    if (status != CAL_OK) return status;
    model->initial_q = cal_allocate((size_t)model->q_count, sizeof(double));
    model->initial_v = cal_allocate((size_t)model->v_count, sizeof(double));
    if (model->initial_q == NULL || model->initial_v == NULL)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d start values", model->q_count);
    make_nodes(model, w);
    place_nodes(model, w);
    normalize_definitions(model);
    fill_nodes(model, w);
    for (int b = 0; b < model->body_count; b++)
        if (model->mounts[b].node >= 0)
            add_mass(model->bodies[b].def, &model->mounts[b], &model->nodes[model->mounts[b].node]);
    fill_start(model);
    return CAL_OK;
}

cal_status cal_model_compile(cal_model* model, cal_error* error) {
    workspace w;
    if (!workspace_create(&w, model))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d bodies", model->body_count);
    model->node_count = model->joint_count;
    model->nodes = cal_allocate((size_t)model->node_count, sizeof *model->nodes);
    model->mounts = cal_allocate((size_t)model->body_count, sizeof *model->mounts);
    cal_status status;
    if (model->nodes == NULL || model->mounts == NULL)
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for %d nodes", model->node_count);
    else
        status = make_tree(model, &w, error);
    cal_free(w.memory);
    return status;
}
