// The inside of a model: what the user defined, and the kinematic tree that the passes run over.
//
// The user sees bodies with joints. The passes see *nodes*: one for each joint, in *walking order* (depth first, a node's
// subtree is a contiguous range, parents before children). A body with several joints becomes a run of nodes, all but
// the last massless: eliminating their degrees of freedom one after the other is the LDLᵀ factorisation of the joint's
// own inertia, so nothing is lost. A fixed body becomes part of the node that carries it.
//
//        user:   torso ── (hip x, hip y) ── thigh ── (fixed) ── plate ── (knee) ── shank
//        nodes:  torso ──── hip x ──── hip y = thigh + plate ──── knee = shank
//
// A node's frame has its origin at the joint's anchor and, for one-degree joints, its z along the joint's axis. So a
// revolute joint is always a rotation about z, and a prismatic one a translation along z. Its x is turned so that the
// second moment's xy entry is zero.
//
// The order of children fixes the order of every sum, so it must not depend on the lanes: children are ordered by the
// kind of their joint, then by falling height of their subtree (so that lanes stay alive together), then by number.
#pragma once
#include "base/parts.h"
#include "base/error.h"
#include "calder/calder.h"
#include "math/vector.h"
#include "model/model_extras.h"

// What the passes need of a node that never changes.
typedef struct cal_node {
    int32_t parent; // node, or -1 for the ground
    int32_t body;   // whose joint this is
    int32_t joint;  // the user's joint
    int32_t first_q, first_v;
    int32_t kind;       // cal_joint_kind
    int32_t end;        // one past the last node of the subtree
    int32_t depth;      // 0 for a root
    double rotation[9]; // rows: node's axes (at q = 0) to parent node's axes
    double offset[3];   // node's origin (at q = 0) in the parent node's frame
    double mass;
    double moment[3];        // ∫ x dm about the node's origin, node's axes
    double second_moment[6]; // ∫ x xᵀ dm: xx, yy, zz, xy, xz, yz
    double armature, damping, stiffness, spring_reference;
} cal_node;

// Degrees of freedom of a model of which a dense matrix is made.
enum { CAL_MOST_DENSE = 20000 };

// Where a body's frame sits in its node's frame (or in the world, for a body fixed to the ground: node = -1).
typedef struct cal_mount {
    int32_t node;
    double rotation[9]; // rows: body's axes to node's axes
    double offset[3];
} cal_mount;

// Bodies and joints that are defined alike share their definition; what is each one's own stands beside it.
typedef struct cal_body {
    const cal_body_def* def; // quaternion normalised; name and parent are not used
    const char* name;        // in the model's own memory, or NULL
    int32_t parent, joint_count;
} cal_body;

typedef struct cal_joint {
    const cal_joint_def* def; // axis normalised; name and limit_stiffness are not used
    const char* name;         // in the model's own memory, or NULL
    double limit_stiffness;   // as defined, or chosen
    bool rigid; // it has stops, and their stiffness was chosen: where there are events they do not give way
    int32_t body, first_q, first_v, node;
} cal_joint;

// The length of a tendon obeys the laws of a joint of one degree: damper, dry friction, stops. Its spring has two lengths.
typedef struct cal_tendon_law {
    cal_joint_def def;
    cal_joint joint; // of which def is the definition
} cal_tendon_law;

// What drives joints over the inertia that they move, at the start: the stiffness of springs and servos, 1/s²; and the greatest force of motors, of
// joints that turn, rad/s², and that slide, m/s², infinite where one has no bound.
typedef struct cal_model_push {
    double springs, motors[2];
} cal_model_push;

struct cal_model {
    char* name;
    double gravity[3];
    int body_count, joint_count, actuator_count, constraint_count, shape_count, mesh_count;
    int node_count, q_count, v_count, depth;
    cal_body_def* body_defs; // the different ones
    cal_joint_def* joint_defs;
    int body_def_count, joint_def_count;
    cal_body* bodies;
    cal_mount* mounts; // one a body
    cal_joint* joints;
    cal_actuator_def* actuators;
    cal_constraint_def* constraints; // quaternions normalised
    cal_shape_def* shapes;           // quaternions normalised
    cal_mesh_def* meshes;
    double* mesh_vertices; // of all meshes, one after the other
    int32_t* mesh_triangles;
    float* mesh_coordinates; // of those that have some
    cal_node* nodes;
    double* initial_q;
    double* initial_v;
    char* names; // all names, one after the other
    struct cal_name_table* body_names;
    struct cal_name_table* joint_names;
    struct cal_name_table* constraint_names;
    cal_model_extras kept;
    cal_tendon_law* tendon_laws; // one a tendon
    double* rigid_inertia;       // v_count, while the model is made: what hangs below a joint, along it; else NULL
    // Of dampers, springs and servos of joints over the inertia that they move, and of a medium's drag over the mass that it holds, at the
    // start, 1/s.
    double fastest_rate;
    cal_model_push push;
    uint32_t disabled; // CAL_PART_… that were left out
    bool can_touch;    // cal_model_can_touch
    int start;         // keyframe that the start values are from, or CAL_NONE
};

// Whether any node has damping, a spring, a limit or an actuator, so that joint forces are more than the user's tau.
CAL_FOR_PARTS bool cal_model_has_joint_forces(const cal_model* model);

// Whether there are forces that depend on several joints at once: along tendons, on bodies whose weight is carried, on bodies that move
// in a medium.
CAL_FOR_PARTS bool cal_model_has_coupled_forces(const cal_model* model);
bool cal_model_has_weightless(const cal_model* model);
// Whether what actuators do to a joint differs from the sum of their forces: it has a motor_range, or they carry weights and are disabled.
bool cal_model_limits_motors(const cal_model* model, const cal_joint_def* joint);
bool cal_model_has_motor_ranges(const cal_model* model);
bool cal_model_has_drag(const cal_model* model);
// Whether some constraint prescribes a motion.
bool cal_model_is_moved(const cal_model* model);

// 64 bits over everything that motion depends on; names and start values are not.
CAL_FOR_PARTS uint64_t cal_model_hash(const cal_model* model);
// The same with everything that contact depends on: shapes, pairs, exclusions.
uint64_t cal_model_contact_hash(const cal_model* model);
// A hash goes on over what contact knows of a shape, and over a mesh.
uint64_t cal_shape_hash(uint64_t hash, const cal_shape_def* shape);
uint64_t cal_mesh_hash(uint64_t hash, const cal_mesh_def* mesh);
