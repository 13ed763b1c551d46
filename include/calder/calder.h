/// \file calder.h
/// The core of Calder: models, plans, states, solvers and simulations of articulated bodies.
///
/// Units are SI, angles are radians, quaternions are (w, x, y, z), frames are right-handed. What callers see as q and v
/// follows MuJoCo's order and meaning: joints in the order in which their bodies were added; a revolute or prismatic
/// joint has one q and one v; a ball has a quaternion (child in parent) and an angular velocity in the child's axes; a
/// free joint has a position, a quaternion, a linear velocity in the world's axes and an angular velocity in the body's.
///
/// Every function that can fail returns a #cal_status and, where it takes a #cal_error, writes one line that says what
/// was wrong, where, and what to do; the others give 0, NULL, false or CAL_NONE for what is not there. Nothing here prints or exits.
///
/// Definitions (cal_..._def) come from their cal_default_..._def function, and are then changed. Their `cookie` tells that they do: it is
/// not to be touched. Names, arrays and definitions that are handed over are copied, unless a comment says otherwise. What a
/// cal_..._create function makes belongs to the caller, who destroys it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) // what is declared here is all that a shared library shows
#endif

#define CAL_VERSION_MAJOR 0
#define CAL_VERSION_MINOR 1
#define CAL_VERSION_PATCH 0

/// The library's version, "0.1.0".
const char* cal_version(void);

// --- Errors -------------------------------------------------------------------------------------------------------------

#define CAL_STATUS_LIST(X)                                                                                             \
    X(CAL_OK, "success")                                                                                               \
    X(CAL_BAD_ARGUMENT, "an argument is out of range")                                                                 \
    X(CAL_BAD_MODEL, "the model cannot be simulated")                                                                  \
    X(CAL_NO_MEMORY, "out of memory")                                                                                  \
    X(CAL_NOT_FINITE, "the state became infinite or not a number")                                                     \
    X(CAL_NOT_CONVERGED, "the solver could not meet the tolerance")                                                    \
    X(CAL_NOT_AVAILABLE, "this build does not contain the requested part")                                             \
    X(CAL_MACHINE_FAILED, "a processor of the machine failed")                                                         \
    X(CAL_NOT_WRITTEN, "a file could not be written")                                                                  \
    X(CAL_INTERRUPTED, "interrupted on the way, as was asked for")

#define CAL_STATUS_ENUM(name, text) name,
/// What a function that can fail returns; #CAL_OK is zero.
typedef enum cal_status { CAL_STATUS_LIST(CAL_STATUS_ENUM) CAL_STATUS_COUNT } cal_status;

/// A short text for a status; never NULL.
const char* cal_status_text(cal_status status);

/// What went wrong, in one line. Every function that takes one accepts NULL.
typedef struct cal_error {
    cal_status status;
    char text[256];
} cal_error;

// --- Memory -------------------------------------------------------------------------------------------------------------

/// Where all memory of the library comes from. Both functions may be called by several threads at the same time.
typedef struct cal_allocator {
    /// size bytes, aligned as malloc's and with any contents; NULL: there are none, and what needed them fails with #CAL_NO_MEMORY.
    void* (*allocate)(size_t size, void* user);
    void (*release)(void* memory, void* user); ///< what allocate gave; never NULL
    void* user;
} cal_allocator;

/// Takes all memory from a program's own functions from now on; NULL: from calloc again. It holds for the process, and is chosen
/// before anything is made or after everything is destroyed: #CAL_BAD_ARGUMENT while something lives. No other thread may use the
/// library meanwhile. Libraries that Calder uses (expat, SUNDIALS, MPI, libwebsockets) keep to their own.
cal_status cal_set_allocator(const cal_allocator* allocator, cal_error* error);

// --- Models -------------------------------------------------------------------------------------------------------------

/// Bodies, joints, actuators, constraints and shapes; immutable once built, shareable between threads.
typedef struct cal_model cal_model;
/// Collects bodies, joints, actuators, constraints and shapes, then makes a model.
typedef struct cal_builder cal_builder;

/// The parent of a body that hangs from the ground.
#define CAL_GROUND (-1)
/// Not a body, joint or actuator.
#define CAL_NONE (-2)

/// What a joint allows. A body without joints is fixed to its parent.
typedef enum cal_joint_kind {
    CAL_REVOLUTE,  ///< turns about its axis
    CAL_PRISMATIC, ///< slides along its axis
    CAL_BALL,      ///< turns freely about its anchor
    CAL_FREE       ///< moves freely; only for bodies that hang from the ground
} cal_joint_kind;

/// A body: where its frame sits in its parent when all its joints are at zero, and what it weighs.
typedef struct cal_body_def {
    const char* name;     ///< NULL: named by its number; must be unique otherwise
    int parent;           ///< a body's number (also one that is added later), or CAL_GROUND
    double position[3];   ///< of the body's origin in the parent's frame, m
    double quaternion[4]; ///< of the body's frame in the parent's; need not be normalised
    double mass;          ///< kg
    double center[3];     ///< centre of mass in the body's frame, m
    double inertia[6];    ///< about the centre of mass, body's axes: xx, yy, zz, xy, xz, yz, kg m²
    double weightless; ///< how much of its weight a force at its centre of mass carries: 0 none, 1 all, more: it rises
    uint32_t cookie;
} cal_body_def;

/// A joint between a body and its parent. Several on one body act one after the other, the first next to the parent, and
/// together make one joint of several degrees of freedom.
typedef struct cal_joint_def {
    const char* name; ///< NULL: named by its number; must be unique otherwise
    cal_joint_kind kind;
    double axis[3];          ///< in the body's frame; need not be normalised; revolute and prismatic only
    double anchor[3];        ///< a point of the axis, or the ball's centre, in the body's frame; not for free joints
    double zero;             ///< value of q in the position that the body definition describes; one-degree joints only
    double damping;          ///< N s/m or N m s/rad, on every degree of freedom
    double stiffness;        ///< of a spring towards spring_reference; N/m or N m/rad; not for free joints
    double spring_reference; ///< q at which the spring is slack; a ball's spring is slack at the identity
    double armature;         ///< inertia of the rotor, added to every degree of freedom; kg or kg m²
    /// Dry friction on every degree of freedom, N or N m: Coulomb's, −f sign(v), or what holds a joint at rest, up to f. Smooth instead,
    /// −f v / √(v² + s²) with s = 0.01 rad/s or m/s: of balls and free joints, where shapes can touch, in randomized simulation, and
    /// without #CAL_PART_STICTION.
    double friction_loss;
    bool limited;    ///< whether range holds; one-degree joints only
    double range[2]; ///< smallest and largest q
    /// Of the stops at both ends; 0: rigid. Where rigid ones are not available (plans and states, randomized simulation, contact groups with
    /// "penalty", without #CAL_PART_STICTION) that is a stiffness for about 10 Hz.
    double limit_stiffness;
    double limit_damping; ///< dissipation of the stops, s/rad or s/m: force k x (1 + c dx/dt), never pulling
    double
        motor_range[2]; ///< clamps what all actuators together do to it; equal ends: no clamp; one-degree joints only
    /// Whether the actuators give what carries the weight of bodies here (`weightless`): it counts in that sum, and is not there without
    /// #CAL_PART_ACTUATION. One-degree joints only.
    bool motor_carries;
    double initial_q[7]; ///< start value; a ball uses [0..3], a free joint the seven as position and quaternion.
                         ///< A quaternion of zeros is the identity. A free joint's start is composed with the
                         ///< body definition's own frame
    double initial_v[6]; ///< start velocity
    uint32_t cookie;
} cal_joint_def;

/// A muscle's curves (MuJoCo's): with its length L and its rate in units of the optimal length L₀, and the activation a (or the control, where there is
/// none), 0 … 1: force = −peak (a · FL(L) FV(dL/dt) + FP(L)): it pulls.
typedef struct cal_muscle {
    double length_range[2];    ///< lengths (times gear) that stand for `range`
    double range[2];           ///< in units of L₀
    double peak;               ///< force at L₀ and rest, N
    double shortest, longest;  ///< L where FL is zero
    double fastest;            ///< shortening per second in units of L₀ at which FV is zero
    double passive, eccentric; ///< FP at (1 + longest) / 2 is half of it; the largest FV
} cal_muscle;

/// How the activation of an actuator follows its control u in time. Its force then is of the activation, and not of the control.
typedef enum cal_activation_kind {
    CAL_ACTIVATION_NONE,       ///< there is none: the control acts at once
    CAL_ACTIVATION_INTEGRATOR, ///< da/dt = u
    CAL_ACTIVATION_FILTER,     ///< da/dt = (u − a) / time_constant[0]
    CAL_ACTIVATION_MUSCLE ///< MuJoCo's: da/dt = (u − a) / τ with u and a from 0 to 1; where a rises, τ = time_constant[0] (½ + 3a/2), where it
                          ///< falls, τ = time_constant[1] / (½ + 3a/2)
} cal_activation_kind;

/// A motor on a degree of freedom: force = gear · clamp(g · clamp(control) + bias[0] + bias[1] · gear · q + bias[2] · gear · v) with
/// g = gain + gain_slope[0] · gear · q + gain_slope[1] · gear · v. A plain motor has gain 1 and no bias; a position servo gain kp and
/// bias {0, -kp, -kv}: a spring and a damper whose reference is the control. On a ball q and v are the parts of its rotation vector and
/// its angular velocity along one of its axes. On a tendon q and v are its length and the rate of that, and a force above zero pushes the tendon's ends
/// apart. On a body they are 0 and the rate along `wrench`. On a body against a reference q is the wrench's product with the displacement and the
/// rotation vector of the body's frame in the reference's, and v its rate while that frame's axes stand still.
typedef struct cal_actuator_def {
    const char* name; ///< NULL: named by its number
    /// What it acts on: the number of a one-degree joint or a ball, a tendon's, or a body's; the other two are CAL_NONE.
    int joint, tendon, body;
    int axis;                          ///< of a ball: 0, 1 or 2, about its x, y or z; else 0
    double position[3], quaternion[4]; ///< of a frame in the body; the quaternion need not be normalised
    double wrench[6];                  ///< force (3) and torque (3) in that frame that a force of 1 is, for the body
    /// Of a body: CAL_NONE, or the body (CAL_GROUND: the world) that the opposite wrench acts on. Then `wrench` is in the reference's frame;
    /// what both bodies hang from in common feels neither.
    int reference;
    double reference_position[3], reference_quaternion[4]; ///< of a frame in the reference
    double gain_slope[2];                                  ///< how the gain changes with gear · q, and with gear · v
    bool is_muscle;                                        ///< its force is the muscle's, and not of gain and bias
    cal_muscle muscle;
    double gear, gain, bias[3];
    double control_range[2]; ///< clamps the control; equal ends: no clamp
    double force_range[2];   ///< clamps the force before the gear; equal ends: no clamp
    double initial_control;
    cal_activation_kind activation;
    double time_constant[2];    ///< of the activation, s
    double activation_range[2]; ///< the activation stays between them; equal ends: no bounds
    double initial_activation;  ///< 0
    uint32_t cookie;
} cal_actuator_def;

/// What a constraint holds. The first group are loop joints: they close a loop between two bodies as a joint of the tree
/// would have done. Displacements and turns are of frame b, in frame a.
typedef enum cal_constraint_kind {
    CAL_WELD,           ///< nothing moves: 6 rows
    CAL_LOOP_REVOLUTE,  ///< turns about the frames' common z: 5 rows
    CAL_LOOP_PRISMATIC, ///< slides along the frames' common z: 5 rows
    CAL_LOOP_BALL,      ///< the frames' origins stay together: 3 rows
    CAL_ROWS,           ///< the rows that `rows` names
    CAL_DISTANCE,       ///< the origins stay `length` apart: 1 row
    CAL_ON_CIRCLE,      ///< b's origin stays on the circle of radius `length` about a's origin in a's xy plane: 2 rows
    CAL_ON_SURFACE,     ///< b's origin stays where `surface` is zero, in a's frame: 1 row; two make a curve
    CAL_COUPLING,   ///< joint[0] follows a polynomial of joint[1] (a gear, a mimic), or a given motion, or both: 1 row
    CAL_KNIFE_EDGE, ///< b's origin does not move along b's y, seen from a; nonholonomic: 1 row
    CAL_ROLLING ///< a wheel of radius `length` about b's z, centre in b's origin, touches a's xy plane and does not slip: 3 rows,
                ///< of which two are nonholonomic
} cal_constraint_kind;

/// Bits of cal_constraint_def.rows: displacements along, and turns about, a's axes.
enum { CAL_ROW_X = 1, CAL_ROW_Y = 2, CAL_ROW_Z = 4, CAL_ROW_TURN_X = 8, CAL_ROW_TURN_Y = 16, CAL_ROW_TURN_Z = 32 };

/// An implicit surface: its value, gradient and second derivatives (xx, yy, zz, xy, xz, yz) at a point.
typedef void cal_surface_function(const double point[3], double* value, double gradient[3], double hessian[6],
                                  void* user);

/// A motion that is prescribed: its value at a time, its velocity and its acceleration there, which must be those of the value. A value
/// that is not a number leaves the position free, and prescribes the velocity alone. Must depend on nothing but its arguments; where bodies touch, several
/// threads may ask at a time.
typedef void cal_motion_function(double time, double* value, double* velocity, double* acceleration, void* user);

/// A motion of a few numbers: offset + rate t + amplitude sin(2π frequency t + phase), frequency in 1/s.
typedef struct cal_wave {
    double offset, rate, amplitude, frequency, phase;
} cal_wave;
/// That motion as a cal_motion_function; user is the cal_wave.
void cal_wave_motion(double time, double* value, double* velocity, double* acceleration, void* user);

/// A constraint between two bodies, or two joints; from cal_default_constraint_def.
typedef struct cal_constraint_def {
    const char* name; ///< NULL: named by its number; must be unique otherwise
    cal_constraint_kind kind;
    int body[2];             ///< a and b; CAL_GROUND: the world. Not for couplings
    double position[2][3];   ///< of frames a and b in their bodies
    double quaternion[2][4]; ///< of frames a and b in their bodies; need not be normalised
    uint32_t rows;           ///< of CAL_ROWS
    double length;           ///< of a distance; radius of a circle or a wheel
    cal_surface_function* surface;
    void* user;   ///< of the surface, or the motion; what it points to must outlive the model
    int joint[2]; ///< of a coupling: one-degree joints; joint[1] may be CAL_NONE: the polynomial's constant.
    int closes; ///< of a weld: the loop joint whose halves it holds together, or CAL_NONE (cal_builder_add_loop_joint)
    double polynomial[5]; ///< q₀ − z₀ = p₀ + p₁ x + … + p₄ x⁴ + motion(t) with x = q₁ − z₁ and z the joints' `zero`
    cal_motion_function* motion; ///< of a coupling; NULL: none
    bool inactive;               ///< not there until cal_sim_connect
    uint32_t cookie;
} cal_constraint_def;

/// What a body looks like, and what it touches others with.
typedef enum cal_shape_kind {
    CAL_SPHERE,      ///< size: radius
    CAL_CAPSULE,     ///< size: radius, half the length of its axis along z without the caps
    CAL_ELLIPSOID,   ///< size: half axes
    CAL_CYLINDER,    ///< size: radius, half the length along z
    CAL_BOX,         ///< size: half edges
    CAL_PLANE,       ///< z = 0, solid below; size: half extents for drawing, 0: without end
    CAL_MESH,        ///< the convex hull of a mesh where it collides, the mesh itself where it is drawn
    CAL_HEIGHT_FIELD ///< a mesh that is a grid of heights
} cal_shape_kind;

/// A shape on a body; from cal_default_shape_def.
typedef struct cal_shape_def {
    const char* name; ///< NULL: named by its number; need not be unique
    int body;         ///< CAL_GROUND: the world
    cal_shape_kind kind;
    double position[3];   ///< in the body's frame
    double quaternion[4]; ///< need not be normalised
    double size[3];
    int mesh;           ///< of CAL_MESH and CAL_HEIGHT_FIELD: a mesh's number
    double friction;    ///< Coulomb's; a pair has that of the shape of higher priority, of equal ones the larger
    double restitution; ///< of a pair: the larger one
    int priority;       ///< whose friction counts in a pair; 0
    bool collides, visible;
    int group; ///< 0 … 5, for viewers to show and hide together; MuJoCo hides 3 and up. Without effect on the motion
    uint32_t category, mask; ///< two shapes touch when one's category has a bit of the other's mask; both 1 unless set
    float color[4];          ///< red, green, blue, opacity, 0 … 1
    int texture; ///< that the colour is multiplied with, on planes and meshes with coordinates; CAL_NONE: none
    double texture_repeat[2]; ///< of planes: how often the picture is there per m, along x and y
    uint32_t cookie;
} cal_shape_def;

/// A picture for shapes; from cal_default_texture_def.
typedef struct cal_texture_def {
    const char* name;     ///< NULL: it has none
    const uint8_t* bytes; ///< of a PNG file; copied
    size_t size;
    uint32_t cookie;
} cal_texture_def;

/// Triangles, for shapes to share; from cal_default_mesh_def.
typedef struct cal_mesh_def {
    const char* name;         ///< NULL: named by its number
    const double* vertices;   ///< 3 per vertex
    const int32_t* triangles; ///< 3 vertices' numbers per triangle, counterclockwise seen from outside
    int vertex_count, triangle_count;
    const float*
        coordinates; ///< of a texture: x and y for each corner of each triangle, y downwards; NULL: there are none
    int columns; ///< of a grid of heights: its vertices are rows of so many, x growing along a row, y from row to row; 0: no grid
    uint32_t cookie;
} cal_mesh_def;

/// A point of a body with axes, for others to refer to; from cal_default_site_def.
typedef struct cal_site_def {
    const char* name;     ///< NULL: it has none
    int body;             ///< CAL_GROUND: the world
    double position[3];   ///< in the body's frame
    double quaternion[4]; ///< need not be normalised
    cal_shape_kind kind;  ///< the zone about it, for sensors of touch: a sphere, capsule, cylinder, ellipsoid or box
    double size[3];       ///< as that of shapes
    uint32_t cookie;
} cal_site_def;

/// What a tendon is made of. Either joints alone, or a path: points, and between two of them a shape or not, and pulleys.
typedef enum cal_tendon_part_kind {
    CAL_TENDON_JOINT,    ///< adds factor · q of a joint of one degree to the length
    CAL_TENDON_POINT,    ///< the path goes through a point of a body, and straight on to the next part
    CAL_TENDON_SPHERE,   ///< between two points: round a sphere, where that is in the way
    CAL_TENDON_CYLINDER, ///< between two points: round a cylinder without ends, where that is in the way
    CAL_TENDON_PULLEY    ///< the path ends; what follows is a branch whose length counts 1/factor
} cal_tendon_part_kind;

/// A part of a tendon; from cal_default_tendon_part.
typedef struct cal_tendon_part {
    cal_tendon_part_kind kind;
    int joint;            ///< of joints: its number
    double factor;        ///< of joints and pulleys
    int body;             ///< of points, spheres and cylinders: whose it is; CAL_GROUND: the world's
    double position[3];   ///< of the point, or the shape's centre, in the body's frame
    double quaternion[4]; ///< of a cylinder in the body's frame: it is round its z; need not be normalised
    double radius;        ///< of spheres and cylinders
    bool sided;           ///< whether the path passes on the side where `side` is; else it takes the shorter way
    int side_body;        ///< whose point `side` is
    double side[3];       ///< in that body's frame; a point inside of the shape: the path passes inside
} cal_tendon_part;

/// A tendon; from cal_default_tendon_def. Its length L is a function of all joints; what acts along it, F, acts on each joint
/// with F · dL/dq.
typedef struct cal_tendon_def {
    const char* name; ///< NULL: named by its number
    const cal_tendon_part* parts;
    int part_count;
    double stiffness; ///< of a spring, N/m (N m/rad where lengths are angles)
    /// The spring is slack between these lengths. Two NaN, as they are unless set: the length where all joints are at their spring
    /// references.
    double spring_length[2];
    double damping;       ///< N s/m
    double friction_loss; ///< dry friction as that of joints, N
    bool limited;         ///< whether range holds
    double range[2];      ///< smallest and largest length
    double
        limit_stiffness; ///< of the stops at both ends; 0: chosen from what the tendon moves at the start, for about 10 Hz
    double limit_damping; ///< as that of joints, s/m
    uint32_t cookie;
} cal_tendon_def;

/// What air or water does to a body that moves in it (MuJoCo's models); from cal_default_drag_def.
typedef enum cal_drag_kind {
    CAL_DRAG_BOX,      ///< viscous as a sphere, and pressure on the sides of a box
    CAL_DRAG_ELLIPSOID ///< drag, lift, and the mass of the fluid that moves along, of an ellipsoid
} cal_drag_kind;
typedef struct cal_drag_def {
    int body;
    cal_drag_kind kind;
    double position[3], quaternion[4]; ///< of its frame in the body; the quaternion need not be normalised
    double size[3];                    ///< edges of the box, half axes of the ellipsoid, m
    /// Of ellipsoids: drag of blunt and of slender bodies, against turning, lift by Kutta's and by Magnus's law.
    double coefficients[5];
    double virtual_mass[3],
        virtual_inertia[3]; ///< of ellipsoids, for a density of 1: of the fluid that moves along, m³ and m⁵
    uint32_t cookie;
} cal_drag_def;

/// What can be measured. A frame is one on a body (position and quaternion), or the world's where the body is CAL_GROUND.
typedef enum cal_sensor_kind {
    CAL_SENSOR_JOINT_POSITION,             ///< 1, of a joint of one degree
    CAL_SENSOR_JOINT_VELOCITY,             ///< 1
    CAL_SENSOR_BALL_QUATERNION,            ///< 4
    CAL_SENSOR_BALL_VELOCITY,              ///< 3, in the child's axes
    CAL_SENSOR_TENDON_LENGTH,              ///< 1
    CAL_SENSOR_TENDON_VELOCITY,            ///< 1
    CAL_SENSOR_ACTUATOR_FORCE,             ///< 1, before the gear
    CAL_SENSOR_FRAME_POSITION,             ///< 3, world's axes
    CAL_SENSOR_FRAME_QUATERNION,           ///< 4, in the world
    CAL_SENSOR_FRAME_X_AXIS,               ///< 3, world's axes
    CAL_SENSOR_FRAME_Y_AXIS,               ///< 3
    CAL_SENSOR_FRAME_Z_AXIS,               ///< 3
    CAL_SENSOR_FRAME_VELOCITY,             ///< 3, of its origin, world's axes
    CAL_SENSOR_FRAME_ANGULAR_VELOCITY,     ///< 3, world's axes
    CAL_SENSOR_FRAME_ACCELERATION,         ///< 3, of its origin, world's axes, gravity taken as an acceleration upwards
    CAL_SENSOR_FRAME_ANGULAR_ACCELERATION, ///< 3, world's axes
    CAL_SENSOR_VELOCIMETER,                ///< 3, velocity of the frame's origin in its own axes
    CAL_SENSOR_GYRO,                       ///< 3, angular velocity in its own axes
    CAL_SENSOR_ACCELEROMETER,              ///< 3, acceleration of the origin less gravity in its own axes
    CAL_SENSOR_FORCE,                      ///< 3, that the body's joint carries, on the body, in the frame's axes
    CAL_SENSOR_TORQUE,                     ///< 3, about the frame's origin
    CAL_SENSOR_SUBTREE_CENTER,             ///< 3, centre of mass of the body and all that hangs from it
    CAL_SENSOR_SUBTREE_VELOCITY,           ///< 3, velocity of that
    CAL_SENSOR_CLOCK,                      ///< 1, time
    CAL_SENSOR_ACTUATOR_LENGTH,            ///< 1, gear times q of what it acts on; of a body 0
    CAL_SENSOR_ACTUATOR_VELOCITY,          ///< 1, the rate that its law takes
    CAL_SENSOR_TOUCH, ///< 1, N: the sum of the normal forces of contacts of the frame's body from which a ray out of the body meets the zone
    CAL_SENSOR_RANGEFINDER, ///< 1, m: along the frame's z to the first shape with an opacity that is not the body's; −1: there is none
    CAL_SENSOR_MAGNETOMETER,          ///< 3, the magnetic field in the frame's own axes
    CAL_SENSOR_JOINT_ACTUATOR_FORCE,  ///< 1, of a joint of one degree: what all actuators do to it
    CAL_SENSOR_TENDON_ACTUATOR_FORCE, ///< 1, the sum of the forces of the actuators on a tendon, before their gears
    CAL_SENSOR_SUBTREE_ANGULAR_MOMENTUM ///< 3, of the body and all that hangs from it, about their centre of mass, world's axes
} cal_sensor_kind;
/// A sensor; from cal_default_sensor_def.
typedef struct cal_sensor_def {
    const char* name; ///< NULL: named by its number
    cal_sensor_kind kind;
    int number;                        ///< of the joint, tendon or actuator
    int body;                          ///< of frames and subtrees
    double position[3], quaternion[4]; ///< of the frame in the body; the quaternion need not be normalised
    /// Of CAL_SENSOR_FRAME_POSITION to _ANGULAR_VELOCITY: CAL_NONE, or the body (CAL_GROUND: the world) of a frame in which they are measured.
    int reference;
    double reference_position[3], reference_quaternion[4]; ///< of that frame in its body
    cal_shape_kind zone; ///< of touch: a sphere, capsule, cylinder, ellipsoid or box in the frame
    double zone_size[3]; ///< as that of shapes
    double cutoff;       ///< each number is kept within ± this, those of touch and range below it; 0: it is not
    uint32_t cookie;
} cal_sensor_def;

/// A state to start from; from cal_default_keyframe_def. Arrays that are NULL are the model's start.
typedef struct cal_keyframe_def {
    const char* name; ///< NULL: it has none
    double time;
    const double *q, *v, *control, *activation; ///< activation: a number per actuator, 0 for those that have none
    int q_count, v_count, control_count, activation_count; ///< as many as the model has, or 0
    uint32_t cookie;
} cal_keyframe_def;

/// Two shapes that touch whatever their categories say, with a friction of their own; from cal_default_pair_def.
typedef struct cal_pair_def {
    int shape[2];
    double friction;
    uint32_t cookie;
} cal_pair_def;

/// Parts of the physics that can be left out, as bits; MuJoCo's names.
enum {
    CAL_PART_EQUALITY = 1,     ///< constraints
    CAL_PART_FRICTIONLOSS = 2, ///< dry friction in joints
    CAL_PART_LIMIT = 4,        ///< stops
    CAL_PART_CONTACT = 8,      ///< shapes touch nothing
    CAL_PART_SPRING = 16,      ///< springs in joints
    CAL_PART_DAMPER = 32,      ///< dampers in joints
    CAL_PART_GRAVITY = 64,
    CAL_PART_ACTUATION = 128, ///< motors
    CAL_PART_STICTION =
        256, ///< joints rest by dry friction and on rigid stops; else friction is smooth, and stops are springs
    CAL_PART_CONSTRAINT =
        CAL_PART_EQUALITY | CAL_PART_FRICTIONLOSS | CAL_PART_LIMIT | CAL_PART_CONTACT ///< all of these
};

cal_body_def cal_default_body_def(void);             ///< a massless body at its parent's origin, on the ground
cal_joint_def cal_default_joint_def(void);           ///< a revolute joint about z at the body's origin
cal_actuator_def cal_default_actuator_def(void);     ///< a plain motor
cal_constraint_def cal_default_constraint_def(void); ///< a weld of the frames of body a and body b, both the ground
cal_shape_def cal_default_shape_def(void); ///< a visible sphere that collides, friction 1, restitution 0, on the ground
cal_mesh_def cal_default_mesh_def(void);   ///< nothing
cal_site_def cal_default_site_def(void);   ///< the world's origin
cal_texture_def cal_default_texture_def(void);   ///< no picture
cal_keyframe_def cal_default_keyframe_def(void); ///< the model's start at time 0
cal_tendon_def cal_default_tendon_def(void);     ///< no parts, no forces
cal_tendon_part cal_default_tendon_part(void);   ///< the world's origin
cal_drag_def cal_default_drag_def(void);         ///< a box at a body's origin
cal_sensor_def cal_default_sensor_def(void);     ///< the world's origin
cal_pair_def cal_default_pair_def(void);         ///< no shapes, friction 1

cal_status cal_builder_create(cal_builder** out);
/// A builder that holds all definitions of a model, to add to them: bodies, joints and all else keep their numbers.
cal_status cal_builder_create_from(const cal_model* model, cal_builder** out, cal_error* error);
void cal_builder_destroy(cal_builder* builder); ///< NULL is allowed
/// Names the model; the text is copied. A copy that finds no memory is reported by #cal_builder_finish.
void cal_builder_set_name(cal_builder* builder, const char* name);
void cal_builder_set_gravity(cal_builder* builder, const double gravity[3]); ///< m/s²; (0, 0, -9.81) unless set
/// Adds a body, joint, actuator, constraint, shape or mesh (definitions and names are copied) and returns its number, 0, 1, …; CAL_NONE when
/// memory ran out or the definition did not come from a cal_default_…_def function: cal_builder_finish then says which.
int cal_builder_add_body(cal_builder* builder, const cal_body_def* def);
int cal_builder_add_joint(cal_builder* builder, int body, const cal_joint_def* def); ///< as cal_builder_add_body
int cal_builder_add_actuator(cal_builder* builder, const cal_actuator_def* def);     ///< as cal_builder_add_body
int cal_builder_add_constraint(cal_builder* builder, const cal_constraint_def* def); ///< as cal_builder_add_body
/// Adds a loop joint (revolute, prismatic or ball) that is a joint like those of the tree: it has a q and v, which say how frame b
/// has moved in frame a, about or along z, and what the joint's definition gives it: a spring, a damper, stops, friction, an
/// armature, motors; its axis and anchor are the frames'. Returns the joint's number. The loop is cut through body b, which must
/// have been added before and have mass: half of that goes to a body of its own ("NAME (half)"), which the joint carries and a weld
/// holds to b. Its start is where the start of a and b puts it; initial_q says which turn is meant. It costs a row and a degree of
/// freedom more than the constraint without a coordinate.
int cal_builder_add_loop_joint(cal_builder* builder, const cal_constraint_def* loop, const cal_joint_def* joint);
int cal_builder_add_shape(cal_builder* builder, const cal_shape_def* def); ///< as cal_builder_add_body
int cal_builder_add_mesh(cal_builder* builder, const cal_mesh_def* def);   ///< vertices and triangles are copied
int cal_builder_add_site(cal_builder* builder, const cal_site_def* def);
/// As cal_builder_add_body; CAL_NONE also where the bytes are not those of a PNG file.
int cal_builder_add_texture(cal_builder* builder, const cal_texture_def* def);
int cal_builder_add_keyframe(cal_builder* builder, const cal_keyframe_def* def); ///< its arrays are copied
int cal_builder_add_tendon(cal_builder* builder, const cal_tendon_def* def);     ///< its parts are copied
int cal_builder_add_pair(cal_builder* builder, const cal_pair_def* def);         ///< these two shapes touch
int cal_builder_add_exclusion(cal_builder* builder, int body_a, int body_b);     ///< these two never touch
int cal_builder_add_drag(cal_builder* builder, const cal_drag_def* def); ///< acts in a medium (cal_builder_set_medium)
int cal_builder_add_sensor(cal_builder* builder, const cal_sensor_def* def);
/// What bodies with drags move in: density (kg/m³), viscosity (Pa s), and its velocity (m/s). Nothing unless set.
void cal_builder_set_medium(cal_builder* builder, double density, double viscosity, const double wind[3]);
/// What magnetometers feel, the world's axes, in any unit; (0, -0.5, 0), as MuJoCo's, unless set.
void cal_builder_set_magnetic_field(cal_builder* builder, const double field[3]);
/// Numbers under a name, of any meaning to the program (cal_model_numbers). "restitution" and "friction" mean something to worlds
/// (cal_world_from_model).
int cal_builder_add_numbers(cal_builder* builder, const char* name, const double* values, int count);
void cal_builder_set_timestep(cal_builder* builder, double seconds); ///< for fixed steps; 0, the default: not given
void cal_builder_disable(cal_builder* builder, uint32_t parts);      ///< leaves out CAL_PART_… of the physics
/// Checks everything and makes the model. The builder stays usable and must still be destroyed.
cal_status cal_builder_finish(cal_builder* builder, cal_model** out, cal_error* error);

/// Makes a model from a generator's specification, "name" or "name:key=value,key=value"; see cal_generator_help.
cal_status cal_model_generate(const char* specification, cal_model** out, cal_error* error);
/// One generator's name; NULL past the last one.
const char* cal_generator_name(int index);
/// Its parameters with defaults and meanings, as text; NULL past the last one.
const char* cal_generator_help(int index);

/// The name of a part of the physics and its bits; NULL past the last one.
const char* cal_part_name(int index, uint32_t* bits);
/// The same model without some parts of its physics (bits CAL_PART_…), started at a keyframe (CAL_NONE: as the model is).
/// Motors that are left out keep their controls, which then do nothing.
cal_status cal_model_variant(const cal_model* model, uint32_t disabled, int keyframe, cal_model** out,
                             cal_error* error);

void cal_model_destroy(cal_model* model); ///< NULL is allowed
const char* cal_model_name(const cal_model* model);
int cal_model_body_count(const cal_model* model);
int cal_model_joint_count(const cal_model* model); ///< as the user counts: a fixed body has none, a ball is one
int cal_model_actuator_count(const cal_model* model);
int cal_model_constraint_count(const cal_model* model);
int cal_model_shape_count(const cal_model* model);
int cal_model_mesh_count(const cal_model* model);
int cal_model_q_count(const cal_model* model);       ///< numbers that give the position
int cal_model_v_count(const cal_model* model);       ///< degrees of freedom
int cal_model_depth(const cal_model* model);         ///< joints on the longest path from the ground
double cal_model_mass(const cal_model* model);       ///< of everything that can move, kg
double cal_model_total_mass(const cal_model* model); ///< of all bodies, kg
double cal_model_timestep(const cal_model* model);   ///< s; 0: the model has none
int cal_model_site_count(const cal_model* model);
int cal_model_texture_count(const cal_model* model);
/// Valid as long as the model.
void cal_model_texture(const cal_model* model, int texture, cal_texture_def* out);
int cal_model_keyframe_count(const cal_model* model);
int cal_model_tendon_count(const cal_model* model);
int cal_model_drag_count(const cal_model* model);
int cal_model_sensor_count(const cal_model* model);
int cal_model_sensor_size(const cal_model* model);      ///< numbers of all sensors
int cal_sensor_size(cal_sensor_kind kind);              ///< numbers of a sensor of this kind
const char* cal_sensor_unit(cal_sensor_kind kind);      ///< "m", "N m", …; "": it has none, or rad or m as its joint
const char* cal_sensor_kind_name(cal_sensor_kind kind); ///< MJCF's: "jointpos", "framequat", …
void cal_model_medium(const cal_model* model, double* density, double* viscosity, double wind[3]);
int cal_model_pair_count(const cal_model* model);
int cal_model_exclusion_count(const cal_model* model);
void cal_model_gravity(const cal_model* model, double gravity[3]);
/// Whether any two shapes whose bodies move relative to each other may touch: contact is not left out, and their
/// categories and masks or a pair allow it, and no exclusion forbids it. Bodies that are fixed to each other do not
/// touch, nor does a body touch the one that it hangs from by a joint; shapes of the world itself touch whatever moves.
bool cal_model_can_touch(const cal_model* model);
/// The start values q, v (either may be NULL) and the actuators' start controls.
void cal_model_initial(const cal_model* model, double* q, double* v, double* control);
/// The start activations: a number per actuator, 0 for those that have none.
void cal_model_initial_activations(const cal_model* model, double* activations);
/// A body as it was defined; the name points into the model, NULL when it was not named.
void cal_model_body(const cal_model* model, int body, cal_body_def* out);
/// A joint as it was defined; body, first_q and first_v (each may be NULL) say whose it is and where its numbers are.
void cal_model_joint(const cal_model* model, int joint, cal_joint_def* out, int* body, int* first_q, int* first_v);
void cal_model_actuator(const cal_model* model, int actuator, cal_actuator_def* out);
void cal_model_constraint(const cal_model* model, int constraint, cal_constraint_def* out);
void cal_model_shape(const cal_model* model, int shape, cal_shape_def* out);
void cal_model_mesh(const cal_model* model, int mesh, cal_mesh_def* out); ///< its arrays are the model's
void cal_model_site(const cal_model* model, int site, cal_site_def* out);
void cal_model_keyframe(const cal_model* model, int keyframe, cal_keyframe_def* out); ///< its arrays are the model's
/// A tendon as it was defined, with the lengths of its spring and the stiffness of its stops as they were found; its parts are the model's.
void cal_model_tendon(const cal_model* model, int tendon, cal_tendon_def* out);
void cal_model_drag(const cal_model* model, int drag, cal_drag_def* out);
void cal_model_sensor(const cal_model* model, int sensor, cal_sensor_def* out);
void cal_model_pair(const cal_model* model, int pair, cal_pair_def* out);
void cal_model_exclusion(const cal_model* model, int exclusion, int bodies[2]);
/// The numbers under a name, and how many; NULL when there are none.
const double* cal_model_numbers(const cal_model* model, const char* name, int* count);
/// The names under which there are numbers; NULL past the last one.
const char* cal_model_numbers_name(const cal_model* model, int index);
/// Writes the name of a body, joint, constraint, actuator, tendon or sensor, made from its number ("joint3") when it was not named;
/// returns the text, "" for what is not there.
const char* cal_model_body_name(const cal_model* model, int body, char* text, size_t capacity);
const char* cal_model_joint_name(const cal_model* model, int joint, char* text, size_t capacity);
const char* cal_model_constraint_name(const cal_model* model, int constraint, char* text, size_t capacity);
const char* cal_model_actuator_name(const cal_model* model, int actuator, char* text, size_t capacity);
const char* cal_model_tendon_name(const cal_model* model, int tendon, char* text, size_t capacity);
const char* cal_model_sensor_name(const cal_model* model, int sensor, char* text, size_t capacity);
/// The number of the first that has a name, given or as above; CAL_NONE when there is none.
int cal_model_find_body(const cal_model* model, const char* name);
int cal_model_find_joint(const cal_model* model, const char* name);
int cal_model_find_constraint(const cal_model* model, const char* name);
int cal_model_find_actuator(const cal_model* model, const char* name);
int cal_model_find_tendon(const cal_model* model, const char* name);
int cal_model_find_sensor(const cal_model* model, const char* name);
int cal_model_find_shape(const cal_model* model, const char* name); ///< of those that were given names, as the next two
int cal_model_find_site(const cal_model* model, const char* name);
int cal_model_find_keyframe(const cal_model* model, const char* name);
/// Moves q as velocities v that stay what they are move it in a time (s), exactly: quaternions stay unit, angular velocities are in the
/// moving axes. With time 1, v is any small change in the coordinates of velocities.
void cal_model_displace(const cal_model* model, const double* v, double time, double* q);
/// The velocities (v_count) that take the position `from` to the position `to` in a second, by the shorter turn: what
/// cal_model_displace undoes. The error of a controller whose joints have quaternions.
void cal_model_difference(const cal_model* model, const double* from, const double* to, double* v);
/// How many rows (equations) a constraint has, and of those how many on velocities only.
int cal_constraint_rows(const cal_constraint_def* def, int* nonholonomic);
const char* cal_constraint_kind_name(cal_constraint_kind kind); ///< "weld", "revolute", …
const char* cal_shape_kind_name(cal_shape_kind kind);           ///< "sphere", "capsule", …
int cal_shape_size_count(cal_shape_kind kind); ///< How many of its sizes a kind uses: 1, 2, 3, 2, 3, 0, 0, 0
int cal_joint_q_count(cal_joint_kind kind);    ///< 1, 1, 4, 7
int cal_joint_v_count(cal_joint_kind kind);    ///< 1, 1, 3, 6
/// A name for a kind: "revolute", "prismatic", "ball", "free".
const char* cal_joint_kind_name(cal_joint_kind kind);

// --- Machines, plans, states --------------------------------------------------------------------------------------------

/// Who does the work.
typedef struct cal_machine cal_machine;
/// A model, an algorithm and a machine: what is computed where. Made once, immutable, executed many times.
typedef struct cal_plan cal_plan;
/// Every array that a run writes, in one block. One writer at a time.
typedef struct cal_state cal_state;

/// One core. lanes is the number of bodies that one instruction works on: 1, 2, 4, 8, or 0 for cal_best_lanes.
cal_status cal_machine_serial(int lanes, cal_machine** out, cal_error* error);
/// Runs tasks 0 … count - 1 at the same time, each on a thread of its own (they wait for each other), and returns when all
/// are done.
typedef void cal_task_runner(void* user, int count, void (*task)(void* argument, int index), void* argument);
/// How to make a machine of threads; from cal_default_threads_def.
typedef struct cal_threads_def {
    int workers;      ///< the caller's thread included; 0: one for each core that the process may use
    int lanes;        ///< as for cal_machine_serial
    bool pinned;      ///< the caller's thread to core 0, the others to the cores after it
    const int* cores; ///< the core of each worker, several may share one; NULL: as pinned says. Only read when made
    cal_task_runner* runner; ///< the user's own threads instead of ours; workers is then how many it runs at most
    void* user;
    uint32_t cookie;
} cal_threads_def;
cal_threads_def cal_default_threads_def(void);
/// Cores that share memory. Runs one plan at a time: a second execution at the same time is CAL_MACHINE_FAILED.
cal_status cal_machine_threads(const cal_threads_def* def, cal_machine** out, cal_error* error);
void cal_machine_destroy(cal_machine* machine); ///< NULL is allowed; plans made with it must be gone
/// Gives every rank a device: a machine of ranks (cal_machine_mpi) with, in each of them, one of a GPU (cal_machine_cuda), which may be the
/// same GPU for several. Ensembles have their instances there, a share per rank. Where it succeeds the device is the machine's, which
/// destroys it.
cal_status cal_machine_nest(cal_machine* machine, cal_machine* device, cal_error* error);
const char* cal_machine_name(const cal_machine* machine);
int cal_machine_lanes(const cal_machine* machine);
int cal_machine_processors(const cal_machine* machine); ///< cores or ranks; a plan may use fewer
/// The widest lanes that this processor runs at full speed: 1, 2, 4 or 8.
int cal_best_lanes(void);

/// What a machine's work costs: measured by cal_machine_measure, or given for a machine that one does not have.
typedef struct cal_costs {
    double compute; ///< s per joint and evaluation, the mean over the model's joints (Jung's CMPTM)
    double message; ///< s for all exchanges between two processors across one cut edge, per evaluation (Jung's ROITM)
    double send;    ///< of message, the part for which the sender can do nothing else; 0: none
    /// s per joint and evaluation that a processor needs to read what another one shows of a joint: the price of joints that every
    /// processor computes (#CAL_EVERY_PROCESSOR). 0: there are no such joints.
    double read;
    bool to_all; ///< what is shown goes to all processors (as on ranks), so that all compute all such joints
    int lanes; ///< joints that a processor computes side by side, 2, 4 or 8: fewer take as long as so many. 0: every joint takes the same
} cal_costs;

/// In the place of a joint's processor: every processor that has a joint below it computes it (the trunk of the tree). Where one joint of a
/// placement is so, all joints are that have joints of several processors below them.
enum { CAL_EVERY_PROCESSOR = -1 };

/// How joints are given to processors.
typedef enum cal_distribution {
    CAL_BALANCED, ///< ours: equal loads, full lanes, no more processors than pay
    CAL_JUNG      ///< Jung's algorithm: a further processor to the branch that takes longest
} cal_distribution;

/// Gives each joint a processor, 0 … *used - 1, at most `processors` of them, or #CAL_EVERY_PROCESSOR. seconds: predicted time of an
/// evaluation, of CAL_JUNG by his own formula (cal_price has one measure for all). used and seconds may be NULL.
cal_status cal_distribute(const cal_model* model, cal_distribution distribution, int processors, const cal_costs* costs,
                          int32_t* processor_of_joint, int* used, double* seconds, cal_error* error);
/// The time of one evaluation for any such choice, from the costs alone; busy (may be NULL): the share of all processors'
/// time that is in use.
cal_status cal_price(const cal_model* model, const int32_t* processor_of_joint, const cal_costs* costs, int processors,
                     double* seconds, double* busy, cal_error* error);
/// A machine that one does not have: executing a plan on it computes nothing, and adds the predicted time to
/// cal_machine_virtual_time.
cal_status cal_machine_modelled(const cal_costs* costs, int processors, cal_machine** out, cal_error* error);
/// The virtual time that a modelled machine has spent; 0 for others.
double cal_machine_virtual_time(const cal_machine* machine);
/// Measures what joints of this model and exchanges between processors cost on this machine.
cal_status cal_machine_measure(cal_machine* machine, const cal_model* model, cal_costs* out, cal_error* error);

/// A GPU that one need not have, for cal_price_gpu: from cal_default_gpu_def, an H200 as measured (bench/results/README.md says how).
typedef struct cal_gpu_def {
    double bandwidth; ///< of its memory, bytes per s, read and written
    double peak;      ///< operations per s with 64-bit numbers
    double launch;    ///< s of a recorded kernel until its threads have found in memory what they are to do
    double
        trip; ///< s for a kernel and the host's knowing that it is done: once per evaluation where control is on the host
    double joint; ///< s of an evaluation per joint of a chain, by one thread, where nothing hides how long memory takes
    double child; ///< s that a node takes for each of its children, whose numbers are added one after the other
    uint32_t cookie;
} cal_gpu_def;
cal_gpu_def cal_default_gpu_def(void);
/// What an evaluation takes there.
typedef struct cal_gpu_price {
    double seconds; ///< of all instances: the sum of the next four
    double moving, computing, waiting,
        launching; ///< s: bytes, operations (beyond the bytes), joints one after the other, kernels
    double bytes, operations;
    int levels, launches;
    double filled;      ///< share of lanes of 32 that have a joint
    int parts, heights; ///< of assembly: what the model is cut into, and the joins on the longest path; else 0
} cal_gpu_price;
/// Forward dynamics (algorithm aba) of one model, or of `instances` of them side by side, on a GPU.
cal_status cal_price_gpu(const cal_model* model, int instances, const cal_gpu_def* gpu, cal_gpu_price* out,
                         cal_error* error);
/// The same of algorithm assembly, of one model: `schedule` as for cal_plan_create_scheduled, NULL for a GPU's own. A model whose constraints
/// assembly would close is refused, as a GPU refuses it.
cal_status cal_price_gpu_assembly(const cal_model* model, const char* schedule, const cal_gpu_def* gpu,
                                  cal_gpu_price* out, cal_error* error);

/// The algorithms: "aba" (forward dynamics), "armstrong" (the same for ball and free joints, Armstrong's equations), "assembly"
/// (the same by assembling and disassembling chains, parallel in time that grows with the logarithm of their length), "rnea" (inverse dynamics), "crba" (mass matrix and a dense solve),
/// "kinematics" (poses), "energy" (energy and momentum). NULL past the last one.
const char* cal_algorithm_name(int index);
/// Plans an algorithm for a model; both and the machine must outlive the plan.
cal_status cal_plan_create(const cal_model* model, const char* algorithm, cal_machine* machine, cal_plan** out,
                           cal_error* error);
/// The same with a schedule for "assembly", which says what is assembled in parallel: "auto", "serial", "balanced", "device"
/// (for the threads of a GPU) or a number of processors; NULL: "auto", on a GPU "device". The result's bits depend on the schedule, and
/// not on the machine. processor_of_joint may be NULL.
cal_status cal_plan_create_scheduled(const cal_model* model, const char* algorithm, const char* schedule,
                                     cal_machine* machine, const int32_t* processor_of_joint, cal_plan** out,
                                     cal_error* error);
/// The same with a processor chosen for each joint, 0 … cal_machine_processors - 1, with no restriction.
cal_status cal_plan_create_placed(const cal_model* model, const char* algorithm, cal_machine* machine,
                                  const int32_t* processor_of_joint, cal_plan** out, cal_error* error);
int cal_plan_processors(const cal_plan* plan); ///< how many of the machine's processors have work
void cal_plan_destroy(cal_plan* plan);         ///< NULL is allowed; states made with it must be gone
/// Writes the plan as text (columns, lanes in use, operations and bytes per joint); returns the length it needs, as snprintf.
int cal_plan_print(const cal_plan* plan, char* text, size_t capacity);
/// Runs the algorithm once on a state made with this plan.
cal_status cal_plan_execute(const cal_plan* plan, cal_state* state, cal_error* error);

/// What processors send each other for one pass of a plan's algorithm.
typedef struct cal_pass_traffic {
    const char* pass; ///< its name, "armstrong.control"; "solver.sums" is what a solver adds
    bool outbound;    ///< from the root to the leaves
    /// Between two processors. Ranks send one for all children of a joint that a rank has; of cores that share memory each
    /// hand-over to a run of joints side by side counts.
    int64_t messages;
    int64_t numbers;    ///< doubles in them
    int64_t executions; ///< of how many executions; of "solver.sums" those with a solver
} cal_pass_traffic;
/// What one execution sends for pass 0, 1, …, found from the plan alone. sums: how many a solver that rides along has (0: none does).
/// CAL_BAD_ARGUMENT past the last pass.
cal_status cal_plan_traffic(const cal_plan* plan, int pass, int sums, cal_pass_traffic* out);

/// What a schedule of "assembly" comes to.
enum { CAL_SCHEDULE_SHOWN = 64 };
typedef struct cal_schedule_report {
    int parts, joins;       ///< parts that are assembled joint by joint; joins between them
    int height;             ///< joins on the longest path
    int open_joints;        ///< the most that any subchain has
    int processors;         ///< that have parts
    double operations;      ///< of an evaluation, on all processors together
    double join_operations; ///< of them, those of the joins
    double seconds;         ///< predicted, from the costs
    int64_t messages,
        bytes; ///< between processors in an evaluation; a solver's sums are one more from each of the others
    int links[CAL_SCHEDULE_SHOWN]; ///< joints of the first parts, from the ground on
} cal_schedule_report;
/// Predicts an evaluation of "assembly" with a schedule (as for cal_plan_create_scheduled; also "even:P", parts of equal numbers
/// of joints instead of equal work) on so many processors.
cal_status cal_schedule_predict(const cal_model* model, const char* schedule, int processors, const cal_costs* costs,
                                cal_schedule_report* out, cal_error* error);
/// Writes the schedule as a tree of joins; returns the length it needs, as snprintf, or -1 with an error.
int cal_schedule_print(const cal_model* model, const char* schedule, int processors, const cal_costs* costs, char* text,
                       size_t capacity, cal_error* error);

/// What can be read from and written to a state, in the user's order.
typedef enum cal_field {
    CAL_Q,        ///< q_count: positions
    CAL_V,        ///< v_count: velocities
    CAL_TAU,      ///< v_count: joint forces. An input, but of "rnea" the result
    CAL_QDD,      ///< v_count: accelerations. Result of "aba" and "crba", an input of "rnea"
    CAL_CONTROL,  ///< actuator_count: controls; of an actuator with an activation, that
    CAL_MASS,     ///< v_count × v_count, rows: the mass matrix, by "crba"; v_count at most 20,000
    CAL_POSE,     ///< 7 per body: position and quaternion of its frame in the world, by "kinematics" and "energy"
    CAL_ENERGY,   ///< 2: kinetic and potential energy (gravity, springs, stops), by "energy"
    CAL_MOMENTUM, ///< 6: linear momentum and angular momentum about the world's origin, by "energy"
    CAL_TENDON    ///< 2 per tendon: its length and the rate of that, by "kinematics" and "energy"
} cal_field;

/// Makes a state at the model's start values.
cal_status cal_state_create(const cal_plan* plan, cal_state** out);
void cal_state_destroy(cal_state* state); ///< NULL is allowed
/// How many numbers a field has in this state; 0 where the plan's algorithm has no such field.
size_t cal_state_size(const cal_state* state, cal_field field);
/// Copies a field in or out. A field that the algorithm does not have is CAL_BAD_ARGUMENT; nothing is changed.
cal_status cal_state_set(cal_state* state, cal_field field, const double* values);
cal_status cal_state_get(const cal_state* state, cal_field field, double* values);
/// What executions have sent for a pass since the state was made, counted where it is sent. All ranks call it.
cal_status cal_state_traffic(const cal_state* state, int pass, cal_pass_traffic* out);
double cal_state_time(const cal_state* state);
void cal_state_set_time(cal_state* state, double time);
/// Adds a force and a torque (world's axes) at a point of a body (body's frame) to what acts on it from outside. Each may be
/// NULL: zero. For "aba", "crba" and "rnea".
cal_status cal_state_push(cal_state* state, int body, const double force[3], const double torque[3],
                          const double point[3]);
void cal_state_release(cal_state* state); ///< forgets all pushes
/// Makes executions of "assembly" keep the constraints of its model (those that are not inactive), with φ̈ = −error φ − speed φ̇
/// for what is open. Half of the digits where rows nearly depend on each other; cal_loops_forward has all of them, after an execution without.
/// #CAL_NOT_AVAILABLE for other algorithms, and for models with more rows than assembly closes at once.
cal_status cal_state_hold(cal_state* state, double error, double speed);
/// 64 bits over the bits of time, q and v; equal for equal states, whatever the machine and its lanes.
uint64_t cal_state_hash(const cal_state* state);

/// Jacobian of a point of a body (body's frame): rows 0..2 give its velocity in the world, rows 3..5 the body's angular
/// velocity; 6 × v_count, rows. state must come from a plan of "kinematics" or "energy" and have been executed.
cal_status cal_state_jacobian(const cal_state* state, int body, const double point[3], double* jacobian);
/// Velocity of such a point in the world, and the body's angular velocity.
cal_status cal_state_velocity(const cal_state* state, int body, const double point[3], double velocity[6]);

// --- Dynamics of a model, without plans and states ---------------------------------------------------------------------------

/// Forward and inverse dynamics, mass matrix, kinematics and Jacobians of a model at any q and v, from one place: it makes what it
/// needs when it is first asked, on one core. One caller at a time. Constraints and contacts do not act.
typedef struct cal_dynamics cal_dynamics;
cal_status cal_dynamics_create(const cal_model* model, cal_dynamics** out,
                               cal_error* error);  ///< the model must outlive it
void cal_dynamics_destroy(cal_dynamics* dynamics); ///< NULL is allowed
/// Accelerations under joint forces tau and controls; either NULL: zero, and the model's start controls.
cal_status cal_dynamics_forward(cal_dynamics* dynamics, const double* q, const double* v, const double* tau,
                                const double* control, double* qdd);
/// Joint forces tau that give accelerations qdd (NULL: zero) together with springs, dampers, stops and motors at the model's start
/// controls: what is missing beside their forces.
cal_status cal_dynamics_inverse(cal_dynamics* dynamics, const double* q, const double* v, const double* qdd,
                                double* tau);
/// How the joint forces of cal_dynamics_inverse change: with positions, displaced as by cal_model_displace (a ball or a free body turns
/// about its own axes, so that there is a column per degree of freedom), with velocities, and with accelerations (the mass matrix). Each
/// is v_count × v_count, rows (by_q[i * v_count + k]: of tau[i], with q along k), or NULL. Exact for bodies, joints and their motors; what
/// depends on several joints at once (tendons, motors between bodies, a medium) by differences, to about 1e-9.
/// #CAL_NOT_AVAILABLE beyond 20,000 degrees of freedom.
cal_status cal_dynamics_inverse_derivatives(cal_dynamics* dynamics, const double* q, const double* v, const double* qdd,
                                            double* by_q, double* by_v, double* by_qdd);
/// How the accelerations of cal_dynamics_forward change: with positions and velocities as above, with joint forces (the inverse of the
/// mass matrix), and with what enters the law of each actuator, its control or its activation (v_count × actuator_count). Each may be
/// NULL. #CAL_NOT_FINITE: the mass matrix has no inverse there.
cal_status cal_dynamics_forward_derivatives(cal_dynamics* dynamics, const double* q, const double* v, const double* tau,
                                            const double* control, double* by_q, double* by_v, double* by_tau,
                                            double* by_control);
cal_status cal_dynamics_mass(cal_dynamics* dynamics, const double* q, double* mass);   ///< v_count × v_count, rows
cal_status cal_dynamics_poses(cal_dynamics* dynamics, const double* q, double* poses); ///< 7 numbers per body
/// Kinetic and potential energy.
cal_status cal_dynamics_energy(cal_dynamics* dynamics, const double* q, const double* v, double energy[2]);
/// The centre of mass of all that can move (cal_model_mass), and the Jacobian of its velocity, 3 × v_count, rows; either may be NULL.
/// #CAL_BAD_MODEL: nothing that moves has mass.
cal_status cal_dynamics_center(cal_dynamics* dynamics, const double* q, double center[3], double* jacobian);
/// As cal_state_jacobian, of a point of a body (body's frame), 6 × v_count.
cal_status cal_dynamics_jacobian(cal_dynamics* dynamics, const double* q, int body, const double point[3],
                                 double* jacobian);
/// How a point of a body (body's frame) moves at q, v and accelerations qdd (NULL: zero, which leaves what velocities alone make, J̇ v):
/// velocity and acceleration, of the point (0..2) and angular (3..5), in the world's axes; either may be NULL.
cal_status cal_dynamics_motion(cal_dynamics* dynamics, const double* q, const double* v, const double* qdd, int body,
                               const double point[3], double velocity[6], double acceleration[6]);
/// The pose of a site, 7 numbers, and its Jacobian; either may be NULL. A site of the ground has zeros.
cal_status cal_dynamics_site(cal_dynamics* dynamics, const double* q, int site, double pose[7], double* jacobian);

// With constraints, those that hold from the start.

/// Adds to accelerations without constraints (cal_dynamics_forward, or any plan's CAL_QDD at q and v) what the constraints make of
/// them; time: of motions that are prescribed.
cal_status cal_loops_forward(const cal_model* model, double time, const double* q, const double* v, double* qdd,
                             cal_error* error);
/// Of joint forces that give accelerations qdd without constraints (cal_dynamics_inverse) makes the smallest, in the sense of least
/// squares, that give them with the constraints' help. actuated: for each degree of freedom whether there is a motor, the others
/// have no force then (NULL: all have one). CAL_BAD_ARGUMENT names a constraint that does not allow qdd, or the joint where the
/// actuated ones cannot give it. Dense: CAL_NOT_AVAILABLE beyond a few thousand rows and degrees of freedom.
cal_status cal_loops_inverse(const cal_model* model, double time, const double* q, const double* v, const double* qdd,
                             const bool* actuated, double* tau, cal_error* error);
/// Which rows follow from others where the constraints hold next to q: rows has an entry for each row of each constraint, in order
/// (cal_constraint_rows); rank: how many do not. Which of several rows that say the same is called redundant is a choice.
cal_status cal_loops_redundant(const cal_model* model, const double* q, bool* rows, int* rank, cal_error* error);

// --- Simulations --------------------------------------------------------------------------------------------------------

/// A model that is advanced in time: one system, or, where shapes can touch, several systems and events (cal_sim_create).
typedef struct cal_sim cal_sim;

/// What a force callback sees and may change, at one evaluation.
typedef struct cal_force_context {
    const cal_model* model;
    double time;
    const double* q;
    const double* v;
    double* tau; ///< v_count: joint forces as the user set them (cal_sim_drive); add to them
    /// actuator_count: controls as the user set them; of an actuator with an activation, that. What is written acts in its place.
    double* control;
    cal_state* state; ///< for cal_state_push
    int instance;     ///< of an ensemble; 0 for a simulation by itself
} cal_force_context;
/// A user's own forces. Called once per evaluation, on the thread that advances. It must depend on nothing but its arguments, and smoothly
/// on time, for the error control to work; where it jumps, cal_sim_restart tells the solver.
///
/// Callbacks of every kind may look at what calls them. Advancing, changing or saving that is #CAL_BAD_ARGUMENT there. What a callback
/// destroys goes when the advance returns, with #CAL_INTERRUPTED.
typedef void cal_force_callback(cal_force_context* context, void* user);

/// Whether an advance shall end on its way: a program returns what a signal handler or another thread has set. Asked on the thread that
/// advances, between steps of a solver, events of a world, intervals of a randomized simulation. Where it says true the advance ends
/// at the last accepted state, which is that of an advance to that time, with #CAL_INTERRUPTED: everything can be read, saved and
/// changed there, and going on gives the bits that there were without the interruption. Every advance gets on by a step or event at
/// least. Of ranks that work together the first one's answer holds, and all end at the same state.
typedef bool cal_interrupt_callback(void* user);

/// How to simulate; from cal_default_sim_def.
typedef struct cal_sim_def {
    const char* solver; ///< as cal_solver_name has them; "auto"
    /// "aba"; "assembly", whose parts are parallel on long chains too; "armstrong" for models of ball and free joints.
    const char* algorithm;
    const char* schedule;              ///< of "assembly", as for cal_plan_create_scheduled; copied
    cal_machine* machine;              ///< NULL: one core with its best lanes, owned by the simulation
    const int32_t* processor_of_joint; ///< as for cal_plan_create_placed; copied; NULL: the machine's own choice
    double relative;                   ///< relative error tolerance, 1e-4
    double absolute;                   ///< absolute error tolerance; 0: the same number as relative
    double step;                       ///< step of the fixed-step solvers, s, 0.001
    double largest_step;               ///< of the others, s; 0: no bound
    int largest_order;                 ///< of gear (1…12) and bdf (1…5); 0: their own
    int slow_band; ///< "armstrong" with "rk4" or "euler": what depends on orientations alone is computed anew every
                   ///< so many steps only (Armstrong's slow band); 0 and 1: always
    /// For comparisons with Jung's paper of 1983: rki and rkf test the error per unit step, gear has LSODE's coefficients and control,
    /// bdf its habits; false.
    bool historic;
    int64_t evaluation_limit;          ///< an advance that needs more is CAL_NOT_CONVERGED; 0: no limit
    cal_force_callback* force;         ///< forces of one's own; NULL: none
    void* user;                        ///< its argument
    cal_interrupt_callback* interrupt; ///< whether an advance shall end early; NULL: none does
    void* interrupt_user;              ///< its argument
    /// How constraints stay closed: "projection" (of every step, by mass), "baumgarte" (critically damped, both poles at -gain),
    /// "literal" (Bicchi's law: K_p = gain, K_v = 2 gain) or "none".
    const char* stabilize;
    double gain; ///< of "baumgarte" and "literal", 1/s; 20
    /// What is solved: "lagrange" (multipliers, for models of any size) or "minimal" (Bicchi's projected form: accelerations of the degrees
    /// of freedom that are left; dense in each part of the model that constraints hold together). Both give the same motion.
    const char* constraint_form;
    bool contact; ///< whether shapes that can touch do; true
    /// How bodies meet (calder_world.h), copied; NULL: its defaults, with errors of contact groups as `relative` says, those of
    /// systems between events 1e-4 times that, and bodies that overlap at the start moved apart.
    const struct cal_world_def* events;
    uint32_t cookie;
} cal_sim_def;
cal_sim_def cal_default_sim_def(void);

/// A solver's name; NULL past the last one of this build.
const char* cal_solver_name(int index);
/// What a solver is, in one line; NULL for one that this build does not have.
const char* cal_solver_help(const char* name);
/// Whether a solver takes steps of the size cal_sim_def.step, instead of choosing them by the tolerance.
bool cal_solver_has_fixed_step(const char* name);

/// What happened so far.
typedef struct cal_sim_report {
    double time; ///< of the last cal_sim_advance
    double step; ///< size of the last step, s
    int order;   ///< of the last step
    int64_t steps, rejected, evaluations;
    int64_t jacobian_evaluations; ///< of evaluations, those that BDF spent on its Jacobian or its products
} cal_sim_report;

/// Makes a simulation at the model's start values and time 0. The model must outlive it. Where shapes can touch
/// (cal_model_can_touch, cal_sim_def.contact) it is one with events: every system has its own clock, and what is shown is final.
/// Otherwise the model is one system, advanced directly by its solver on its machine.
cal_status cal_sim_create(const cal_model* model, const cal_sim_def* def, cal_sim** out, cal_error* error);
void cal_sim_destroy(cal_sim* sim);                 ///< NULL is allowed
const cal_model* cal_sim_model(const cal_sim* sim); ///< NULL: of a world that was made by hand
/// What a simulation with events consists of: bodies, contacts, rays and more are asked of it (calder_world.h). The
/// simulation's own; NULL where there are no events. Another one after cal_sim_set. Bodies and multibodies may be added to it and
/// removed again: they meet the model's, but are not in q, v, poses and hash, which are those of the model; they are in energy,
/// contacts, events and snapshots. The model's own cannot be removed.
struct cal_world* cal_sim_world(cal_sim* sim);
/// A simulation of a world that was made by hand, which it takes over, also when that fails. It has no q and v.
cal_status cal_sim_of_world(struct cal_world* world, cal_sim** out, cal_error* error);
/// Advances to a time not before the last one. The solver steps as far as it likes; the state at exactly that time comes
/// from its own polynomial, and costs no evaluation. On an error the last good state is kept. CAL_INTERRUPTED: cal_sim_def.interrupt
/// has ended it at cal_sim_time.
cal_status cal_sim_advance(cal_sim* sim, double time, cal_error* error);
int cal_sim_processors(const cal_sim* sim); ///< how many of the machine's processors have work
double cal_sim_time(const cal_sim* sim);
const double* cal_sim_q(const cal_sim* sim); ///< q_count numbers, valid until the next call; NULL: an advance failed
const double* cal_sim_v(const cal_sim* sim); ///< v_count numbers at cal_sim_time
/// Changes the state and restarts the solver there. Either array may be NULL: kept. Activations are kept.
cal_status cal_sim_set(cal_sim* sim, double time, const double* q, const double* v, cal_error* error);
/// Joint forces and controls from now on; restarts the solver, since both jump. Either may be NULL: kept.
cal_status cal_sim_drive(cal_sim* sim, const double* tau, const double* control, cal_error* error);
/// The activations at cal_sim_time: a number per actuator, 0 for those that have none.
cal_status cal_sim_get_activations(const cal_sim* sim, double* activations);
/// Other activations from now on; restarts the solver. What stands for actuators without one is ignored.
cal_status cal_sim_set_activations(cal_sim* sim, const double* activations, cal_error* error);
/// A force on a body from now on (as cal_state_push) until cal_sim_release; restarts the solver.
cal_status cal_sim_push(cal_sim* sim, int body, const double force[3], const double torque[3], const double point[3]);
cal_status cal_sim_release(cal_sim* sim);
/// Tells the solver that something jumped at the present time: it forgets its history.
cal_status cal_sim_restart(cal_sim* sim);
/// Kinetic and potential energy at cal_sim_time: of gravity, springs and stops.
cal_status cal_sim_energy(cal_sim* sim, double* kinetic, double* potential);

/// Where energy came from and went since the first advance after the creation or after cal_sim_set, J.
typedef struct cal_energy_balance {
    double kinetic, potential; ///< now
    double start;              ///< both together at the begin
    double work;               ///< done by motors, joint forces, callbacks, pushes and bodies that are moved; signed
    double loss;               ///< in dampers, dry friction, stops, impacts and contacts
    double closing;            ///< what closing constraints has added: stabilising forces and projections; signed
    double
        exchanged;   ///< the largest of |work| summed over steps, loss, |closing|, and the range of kinetic energy seen
    double error;    ///< kinetic + potential − start − work + loss − closing
    double relative; ///< error / exchanged; 0 where the error is rounding
    double justified; ///< how large |relative| may be by the tolerance, or by the size of a fixed step
    bool flows;       ///< there is, or was, something that works or loses; else energy should stay what it was
    bool exploded;    ///< error is of the order of what was exchanged, or not finite: this is no motion of the model
} cal_energy_balance;
/// The balance at cal_sim_time. Flows are integrated with the motion, by its solver; kinetic energies are seen when this is called.
cal_status cal_sim_balance(cal_sim* sim, cal_energy_balance* out);
/// Position and quaternion of every body at cal_sim_time, 7 numbers per body.
cal_status cal_sim_poses(cal_sim* sim, double* poses);
/// What every joint carries at cal_sim_time: the force and then the moment about the joint's anchor (world's axes) that act
/// through it on its body, constraint forces and the joint's own together; 6 numbers per joint.
cal_status cal_sim_joint_forces(cal_sim* sim, double* forces);
/// What a sensor measures at cal_sim_time: cal_sensor_size numbers. Where bodies touch, accelerations and forces are those under the
/// forces of contacts (cal_world_contacts); with the "penalty" integrator, which does not tell them, they are CAL_NOT_AVAILABLE.
cal_status cal_sim_sensor(cal_sim* sim, int sensor, double* values, cal_error* error);
/// Accelerations at cal_sim_time, v_count numbers: those of the constrained motion where the model has constraints, in the form
/// and with the stabilisation of the simulation.
cal_status cal_sim_accelerations(cal_sim* sim, double* qdd);
/// Puts the accelerations of the simulation's algorithm at cal_sim_time into every link's equations of motion (Armstrong's
/// fastband_check): the largest misfit relative to the terms of its equation (1e-15 is rounding), and the body where it is.
/// For models of ball and free joints; CAL_BAD_MODEL for others.
cal_status cal_sim_check(cal_sim* sim, double* residual, int* body);
/// What processors have sent each other for pass 0, 1, … of the simulation's algorithm since it was made, and what its plan says that
/// one execution sends. CAL_BAD_ARGUMENT past the last pass, CAL_NOT_AVAILABLE with events. All ranks call it.
cal_status cal_sim_traffic(const cal_sim* sim, int pass, cal_pass_traffic* sent, cal_pass_traffic* predicted);
uint64_t cal_sim_hash(const cal_sim* sim); ///< as cal_state_hash, at cal_sim_time
void cal_sim_get_report(const cal_sim* sim, cal_sim_report* out);

// Constraints. Every solver, algorithm and machine holds them. A simulation with "projection" begins only where they hold.

/// How a constraint may come to hold.
typedef enum cal_connection {
    CAL_CONNECT_SMOOTH,   ///< without an impact: what the constraint stops must be at rest already
    CAL_CONNECT_INELASTIC ///< velocities jump to the nearest, by mass, that all constraints allow: an inelastic impact
} cal_connection;
/// The largest gap, or speed, that counts as none when constraints are connected or a simulation begins; m, rad, m/s, rad/s.
#define CAL_CONNECT_TOLERANCE 1e-6

/// A passage of a singular position (docs/constraints.md): where fewer rows are independent for an instant.
typedef struct cal_singular_position {
    double time;      ///< when the rows were nearest to depending on each other
    double condition; ///< then: how many times a row is harder to move beside the others than by itself
    double energy;    ///< what the passage added to kinetic and potential energy, beside work and losses, J
    int steps;        ///< that were taken over it because the solver did not get through; 0 as a rule
} cal_singular_position;
#define CAL_SINGULAR_SHOWN 16 ///< of a report

/// What constraints do at cal_sim_time, and did so far.
typedef struct cal_constraint_report {
    int rows;            ///< of the constraints that hold
    int rank;            ///< rows that are independent; the others repeat them, and forces are not unique
    double error, speed; ///< largest |error| of a position, and speed, of a row: m, rad, m/s, rad/s
    int error_of;        ///< the constraint that has the largest error, CAL_NONE where there are none
    double error_max;    ///< largest error after any step so far
    double error_rms;    ///< root of the mean square of the rows' errors over all steps so far
    int waiting;         ///< constraints that wait for their gap to close (cal_sim_catch)
    int caught;          ///< that were connected so since the simulation was made or loaded
    double caught_time;  ///< when the last one was
    int singular_count;  ///< singular positions that were passed since the simulation was made or loaded
    /// Those of them that changed the energy most, the largest change first.
    cal_singular_position singular[CAL_SINGULAR_SHOWN];
    /// Nothing moves at a singular position: which way it goes from there does not follow from rows and accelerations, and what a solver finds is
    /// a matter of rounding. Begin a little beside it (a thousandth of a radian), or with a speed.
    bool undecided;
} cal_constraint_report;

/// Lets a constraint hold from now on; restarts the solver. Its gap must be below #CAL_CONNECT_TOLERANCE: CAL_BAD_ARGUMENT
/// says how large it is, and changes nothing. One that holds already is CAL_OK.
cal_status cal_sim_connect(cal_sim* sim, int constraint, cal_connection how, cal_error* error);
/// Connects a constraint as an inelastic impact when its gap closes: now where it is below #CAL_CONNECT_TOLERANCE, else at the first
/// time that an advance passes at which the error of its only row is zero, or the errors of its several rows are least and below
/// that tolerance. It waits until then, or until cal_sim_disconnect. CAL_BAD_ARGUMENT for one that has no position (a knife edge),
/// and where shapes can touch, which has nobody wait, for one whose gap is open.
cal_status cal_sim_catch(cal_sim* sim, int constraint, cal_error* error);
/// Lets go of a constraint, or of waiting for it; restarts the solver. One that does not hold is CAL_OK.
cal_status cal_sim_disconnect(cal_sim* sim, int constraint, cal_error* error);
bool cal_sim_connected(const cal_sim* sim, int constraint);
/// Moves q to where the constraints hold and v to what they allow, each the nearest by mass, and restarts the solver.
/// CAL_NOT_CONVERGED names the constraint that stays open, and changes nothing: constraints contradict each other, or the
/// start is too far off.
cal_status cal_sim_project(cal_sim* sim, cal_error* error);
/// The same while some joints stay where they are: inverse kinematics for a start. held: v_count, whether a degree of freedom keeps
/// its q and v (all of a ball or a free joint, or none). CAL_NOT_CONVERGED also where the constraints cannot be met without them.
cal_status cal_sim_project_holding(cal_sim* sim, const bool* held, cal_error* error);
cal_status cal_sim_constraints(cal_sim* sim, cal_constraint_report* out); ///< what they do, and did so far
/// What a constraint does at cal_sim_time. rows: the multiplier of each of its rows (cal_constraint_rows): forces along, and
/// moments about, a's axes for loop joints; wrench: force and torque on body b at frame b's origin, world's axes (zero for
/// couplings, whose force is rows[0] on joint[0]). Either may be NULL. Where rows are redundant, of all forces that give
/// the motion these are the smallest. Zero for a constraint that does not hold.
cal_status cal_sim_constraint_forces(cal_sim* sim, int constraint, double* rows, double wrench[6]);
/// What the constraints leave at cal_sim_time, of a simulation in the "minimal" form (CAL_BAD_ARGUMENT for the other): how many
/// degrees of freedom; basis: orthonormal velocities S that span what is allowed, one after the other, v_count numbers
/// each; mass: Sᵀ B S, rows. Either array may be NULL; freedom is at most v_count. Velocities are v = S ν with ν = Sᵀ v.
cal_status cal_sim_minimal(cal_sim* sim, int* freedom, double* basis, double* mass);
/// The largest gain with which a stabilisation is stable at a solver's fixed step; infinite for the others. An unknown name
/// is 0.
double cal_stabilize_limit(const char* stabilize, const char* solver, double step);

/// Writes everything that a continuation needs into a file: first beside it, then renamed over it, so that the file is whole
/// whatever happens. The file does not depend on the machine, its processors and its lanes; docs/reliability.md says what kinds of
/// processors read each other's. With "bdf", whose inside cannot be written, the solver starts afresh at the present time, and a slow
/// band is computed anew; all else goes on as if nothing had happened. With events, what callbacks remember outside of states is not in
/// the file.
cal_status cal_sim_save(cal_sim* sim, const char* path, cal_error* error);
/// Continues from such a file, to the same bits as the simulation that wrote it: the model, the solver, its tolerances and
/// the algorithm must be the same ones; the machine may be another. On an error nothing is changed.
cal_status cal_sim_load(cal_sim* sim, const char* path, cal_error* error);

/// The state of a simulation, in memory: everything that a continuation needs. It belongs to nobody and outlives the simulation.
typedef struct cal_snapshot cal_snapshot;
/// Takes a snapshot at cal_sim_time; the simulation goes on as if nothing had happened.
cal_status cal_sim_snapshot(cal_sim* sim, cal_snapshot** out, cal_error* error);
/// Goes back, or forward, to a snapshot: what follows has the same bits as what followed it. The simulation is the one that it was
/// taken of, or another one of the same model and definition (on the same kind of machine); CAL_BAD_ARGUMENT says what differs.
/// Bodies that were added to its world since are removed; of those that were removed since it says so.
/// What a force callback, or callbacks of worlds, remember outside of states is theirs. On an error nothing is changed.
cal_status cal_sim_restore(cal_sim* sim, const cal_snapshot* snapshot, cal_error* error);
/// Another simulation in the same state, which goes on by itself with the same bits; it shares the model and the machine, which
/// must outlive both. CAL_NOT_AVAILABLE for a world that was made by hand (cal_sim_of_world), which nobody can make again.
cal_status cal_sim_fork(cal_sim* sim, cal_sim** out, cal_error* error);
void cal_snapshot_destroy(cal_snapshot* snapshot); ///< NULL is allowed
/// The snapshot as bytes, to be kept or sent to another process of the same version on a processor with the same order of bytes; they
/// live as long as the snapshot.
const void* cal_snapshot_bytes(const cal_snapshot* snapshot, size_t* size);
/// A snapshot from such bytes, which are copied; CAL_BAD_ARGUMENT where they are damaged.
cal_status cal_snapshot_from_bytes(const void* bytes, size_t size, cal_snapshot** out, cal_error* error);

// --- Many instances of one model ------------------------------------------------------------------------------------------

/// Many simulations of one model. They have one time, and nothing else in common: what an instance does depends neither on the others,
/// nor on how many there are, nor on the machine, to the bit.
typedef struct cal_ensemble cal_ensemble;

/// How to simulate many instances; from cal_default_ensemble_def.
typedef struct cal_ensemble_def {
    int count; ///< of instances; 1
    /// How each one is simulated. A force callback is called for several instances at the same time where the machine has threads;
    /// cal_force_context.instance says for which.
    cal_sim_def sim;
    /// Who runs the instances: threads take one after the other, ranks have a share each (all ranks make the same calls). NULL: one
    /// core. sim.machine is for instances that are large themselves: its processors share each of them, one after the other.
    cal_machine* machine;
    int lanes;     ///< as for cal_machine_serial; 0: the machine's
    double spread; ///< noise on the start: within ± spread on every number of q and v; constraints are closed again
    uint64_t seed; ///< of the noise: equal seeds give equal starts to instances of equal numbers
    bool account;  ///< keep accounts of energy (cal_ensemble_balance): one look at each instance's energy per advance
    uint32_t cookie;
} cal_ensemble_def;
cal_ensemble_def cal_default_ensemble_def(void);

/// Makes the instances at the model's start values and time 0. The model and the machine must outlive them. Trees with "rk4" or
/// "euler", algorithm "aba" and no force callback are advanced side by side, an instance per lane; what else touches nothing by turns
/// on one simulation per worker; what touches something, and "bdf", as a cal_sim per instance (docs/ensembles.md). The bits are the
/// same in all three ways, those of a cal_sim by itself.
cal_status cal_ensemble_create_def(const cal_model* model, const cal_ensemble_def* def, cal_ensemble** out,
                                   cal_error* error);
/// count instances with solver "rk4" on one core, whose shapes do not touch; lanes as for cal_machine_serial.
cal_status cal_ensemble_create(const cal_model* model, int count, int lanes, cal_ensemble** out, cal_error* error);
void cal_ensemble_destroy(cal_ensemble* ensemble); ///< NULL is allowed
int cal_ensemble_count(const cal_ensemble* ensemble);
int cal_ensemble_lanes(const cal_ensemble* ensemble); ///< instances side by side: 1 where they are not in lanes
double cal_ensemble_time(const cal_ensemble* ensemble);
/// Advances all instances to a time not before the last one; on ranks every one then knows all instances. One that fails does not
/// disturb the others: it keeps its last good state and rests, until cal_ensemble_set. When all others have arrived, the status and
/// the line of the first one that rests are returned. Where cal_sim_def.interrupt is given, instances go on together by some evaluations
/// each, between which it is asked (not on ranks, nor on a GPU): CAL_INTERRUPTED, with all of them at cal_ensemble_time.
cal_status cal_ensemble_advance(cal_ensemble* ensemble, double time, cal_error* error);
/// What became of one instance: CAL_OK, or why it rests.
cal_status cal_ensemble_status(const cal_ensemble* ensemble, int instance, cal_error* error);
/// Sets and gets the state of one instance; either array may be NULL: kept. Setting restarts its solver at the ensemble's time;
/// numbers that are not finite, and quaternions without length, are CAL_BAD_ARGUMENT.
cal_status cal_ensemble_set(cal_ensemble* ensemble, int instance, const double* q, const double* v);
cal_status cal_ensemble_get(const cal_ensemble* ensemble, int instance, double* q, double* v);
/// Joint forces and controls of one instance from now on, as cal_sim_drive. Either may be NULL: kept.
cal_status cal_ensemble_drive(cal_ensemble* ensemble, int instance, const double* tau, const double* control,
                              cal_error* error);
/// Kinetic and potential energy of one instance.
cal_status cal_ensemble_energy(cal_ensemble* ensemble, int instance, double* kinetic, double* potential);
/// Where the energy of one instance came from and went (as cal_sim_balance), up to the end of the last advance that it took part in;
/// CAL_NOT_AVAILABLE where no accounts are kept (cal_ensemble_def.account) or a device has the instances.
cal_status cal_ensemble_balance(cal_ensemble* ensemble, int instance, cal_energy_balance* out);
/// Position and quaternion of every body of one instance, 7 numbers per body.
cal_status cal_ensemble_poses(cal_ensemble* ensemble, int instance, double* poses);
/// Over time, q and v of all instances in their order.
uint64_t cal_ensemble_hash(const cal_ensemble* ensemble);
/// Writes everything that all instances go on from into a file, as cal_sim_save does. CAL_NOT_AVAILABLE on ranks where shapes touch or the
/// solver is "bdf".
cal_status cal_ensemble_save(cal_ensemble* ensemble, const char* path, cal_error* error);
/// Continues from such a file, to the same bits: the model, the definition and the number of instances must be the same ones. Trees with
/// fixed steps go on on any machine, with other lanes; other instances on any that advances them, with as many lanes on cores. What comes
/// from a GPU has no account of energy. On an error nothing is changed.
cal_status cal_ensemble_load(cal_ensemble* ensemble, const char* path, cal_error* error);

/// What happened so far, summed over the instances.
typedef struct cal_ensemble_report {
    double time;
    int64_t steps, rejected, evaluations, jacobian_evaluations; ///< as in cal_sim_report
    int failed;                                                 ///< instances that rest
} cal_ensemble_report;
void cal_ensemble_get_report(const cal_ensemble* ensemble, cal_ensemble_report* out);

/// Forward dynamics of all instances: rows of q_count, v_count, v_count numbers in (tau may be NULL: zero), rows of
/// v_count out. q and v are kept as the instances' states. For instances in lanes; CAL_NOT_AVAILABLE for others.
cal_status cal_ensemble_forward(cal_ensemble* ensemble, const double* q, const double* v, const double* tau,
                                double* qdd);
/// Takes steps of a fixed size with "rk4" or "euler" on every instance, whatever the solver of the definition; else as
/// cal_ensemble_advance. For instances in lanes; CAL_NOT_AVAILABLE for others.
cal_status cal_ensemble_step(cal_ensemble* ensemble, const char* solver, double step, int64_t steps, cal_error* error);

// --- Randomized parallel simulation -------------------------------------------------------------------------------------

/// Bicchi's randomized parallel simulation of a model with constraints: N instances with simple methods of fixed step start
/// around the present state; after an interval the one that broke the constraints least is elected, and the others start
/// around it again.
typedef struct cal_rps cal_rps;

/// From cal_default_rps_def: the settings with which the paper's figures come out.
typedef struct cal_rps_def {
    int instances;        ///< 10. One alone is not perturbed: the method by itself
    cal_machine* machine; ///< instance j runs on processor j mod processors; NULL: one core does all in turn
    const char*
        method;   ///< "euler" (explicit), "symplectic", "heun", "ab2", "rk4", or several with commas between: instance
                  ///< j has the j-th of them, and so on again
    double step;  ///< of the methods, s; 5e-4
    int interval; ///< steps between polls; 20
    double position_radius; ///< how far instances are perturbed: m, rad; 2e-4
    double velocity_radius; ///< m/s, rad/s; 2e-2
    bool normal;            ///< normally distributed, with the radii as standard deviations; else uniform
    bool
        everywhere; ///< perturbed along what the constraints allow as well, as the paper does: then only they are kept, and
                    ///< the motion wanders; false: across the constraints only
    uint64_t seed;         ///< equal seeds give equal bits, whatever the machine; 1
    double alpha, beta;    ///< weights of the speeds of rows with and without a position in the residual; 1, 1
    const char* stabilize; ///< "literal", "baumgarte" or "none": slight stabilisation of every instance
    double gain;           ///< 250
    double forcing;  ///< amplitude of a random term, another one for each instance, in the equation of the error; 0
    int hypotheses;  ///< solutions that are kept where rows are nearly dependent; 1
    double singular; ///< how nearly: the smallest pivot, relative to 1; 1e-4
    bool adaptive;   ///< the interval halves where the residual grows, and doubles where it shrinks
    double
        deadline; ///< real time: seconds of the clock for a second of simulation; later intervals are overruns. 0: as
                  ///< fast as it goes
    cal_interrupt_callback* interrupt; ///< whether an advance shall end with the present interval; NULL: none does
    void* interrupt_user;
    uint32_t cookie;
} cal_rps_def;
cal_rps_def cal_default_rps_def(void);

typedef struct cal_rps_report {
    double time;
    int64_t polls, steps; ///< steps of one instance
    int interval;         ///< present number of steps between polls
    int elected;          ///< instance that won the last poll
    double residual;      ///< its residual
    double error_max,
        error_rms;       ///< of the rows' errors, their Euclidean norm, over all steps of those that were elected
    int hypotheses;      ///< solutions that are tracked now
    int most_hypotheses; ///< and at most so far
    int64_t overruns;    ///< intervals that were late
    double worst;        ///< the latest of them, s
    double wall;         ///< seconds of the clock in all
    double poll_wall;    ///< in polls: from when the last instance is done until the next interval begins
    double wait_wall;    ///< of the first processor, for instances of others that take longer
} cal_rps_report;

/// Starts at the model's start values and time 0. The model and the machine must outlive it.
cal_status cal_rps_create(const cal_model* model, const cal_rps_def* def, cal_rps** out, cal_error* error);
void cal_rps_destroy(cal_rps* rps); ///< NULL is allowed
/// Goes on from another state, at the same time: all instances will start around it. Either array may be NULL: kept.
cal_status cal_rps_set(cal_rps* rps, const double* q, const double* v, cal_error* error);
/// Advances by whole steps to the one next to a time. On an error the state of the last poll is kept.
cal_status cal_rps_advance(cal_rps* rps, double time, cal_error* error);
/// The elected solution, or another one that is tracked; valid until the next call. NULL past the last one.
const double* cal_rps_q(const cal_rps* rps, int hypothesis);
const double* cal_rps_v(const cal_rps* rps, int hypothesis);
uint64_t cal_rps_hash(const cal_rps* rps); ///< over time, q and v of all solutions that are tracked
void cal_rps_get_report(const cal_rps* rps, cal_rps_report* out);
/// A method's name; NULL past the last one.
const char* cal_rps_method_name(int index);
/// The largest gain that is stable for a method, or for all of a list, a step and a stabilisation; infinite for "none".
double cal_rps_limit(const char* stabilize, const char* method, double step);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
