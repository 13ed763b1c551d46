// Bodies: what collides. Free, fixed, driven, or a link of a multibody.
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"
#include "collide/collide.h"

// How a body is at a time: its centre of mass and principal axes; w in the world's axes.
typedef struct cal_motion {
    cal_pose pose;
    double quaternion[4];
    double u[3], w[3];
} cal_motion;

// What the motion of a body after a time keeps to.
typedef struct cal_motion_bounds {
    double acceleration[3]; // of the centre, where it is constant
    double slack;           // how far the centre's acceleration may be from that
    double turn, twist;     // the largest turning rate and its largest derivative
    double until;           // these hold until then, not longer than was asked for
    // The piece of the motion that they are of: where its state begins, and where it ends if nothing changes it before. Both follow from that
    // state alone, and where one piece ends the next begins.
    double begin, end;
    bool still;  // it stays where it is: fixed, or asleep
    bool loose;  // of a driven body: slack is of any of its points
    bool unspun; // turn and twist are those of the axis of its symmetry: about that it may turn as it likes
} cal_motion_bounds;

// Where the numbers of a body are in a state; NULL: it has none such.
typedef struct cal_numbers {
    double *velocity, *angular;    // of a free body; angular in principal axes
    double *acceleration, *torque; // of a free body; torque in principal axes
    double *q, *v, *tau;           // of a multibody
    double* slots;
} cal_numbers;

// What has a quick way to a time of impact.
typedef enum cal_form {
    CAL_FORM_NONE,   // no shape
    CAL_FORM_BALLS,  // a few balls
    CAL_FORM_PLANE,  // one plane
    CAL_FORM_BLOCK,  // one box
    CAL_FORM_GENERAL // anything else
} cal_form;

// A block or a plane, in the frame of the principal axes; and where a fixed body is, with the box of its shapes there.
typedef struct cal_solid {
    cal_pose block;
    double half[3];
    cal_motion at;
    cal_box box;
} cal_solid;

// The way of the centre of a free body from its newest state on, under the world's gravity alone: what most predictions need of it, in a
// cache line.
typedef struct cal_course {
    double begin;  // of the motion
    double origin; // when the centre is where this says
    double center[3], velocity[3];
} cal_course;

// A body comes, is taken in by the next advance, and goes; the place of one that went is used again.
typedef enum cal_member_stage { CAL_REMOVED, CAL_NEW, CAL_BEGUN } cal_member_stage;

// What every event reads comes first, in two cache lines: of ten thousand bodies little fits into a cache.
typedef struct cal_sim_body {
    _Alignas(64) int component; // −1: fixed or driven
    cal_form form;
    uint32_t category, mask; // of all its shapes together
    bool round;              // all moments are equal
    bool pushed;             // a callback may give it a torque
    bool spinning;           // turning matters: it is no ball about its centre
    bool flying;             // its course is known (motion/trajectory.c)
    // Of a free body: 1 + the principal axis about which its shapes and moments are symmetric, so that turning about it moves no point of its
    // surface; 0: there is none, or they are balls.
    int8_t symmetric;
    int series; // of a free body: where the series is in a state's numbers
    double reach;
    double box_end; // until when its swept box holds it
    int box_event;
    int ball_count;
    int* pairs;
    int pair_count, pair_capacity;

    cal_course course;

    double (*balls)[4];           // centre and radius; of a fixed plane: normal and height in the world
    int first_collision_callback; // −1: none
    int first_periodic_callback;  // a place in its chain of them (event/callbacks.h); 0: none
    int link;                     // which of its component's bodies it is; of a multibody: the model's body
    int multibody;                // whose link it is; −1: none
    double mass, inertia[3];
    cal_geometry* geometry; // in the frame of the principal axes; NULL: none

    double offset[3], turn[4]; // the centre of mass and the principal axes in the body's frame
    cal_solid* solid;          // of CAL_FORM_BLOCK and CAL_FORM_PLANE, and of a fixed body; NULL: none

    char* name;
    cal_world_body_def def;
    cal_shape_def* shapes;
    cal_mesh_def* meshes; // of the shapes, with arrays of their own
    int shape_count, shape_capacity;
    int* sharing; // how many bodies have these lists of shapes; NULL: it alone
    cal_member_stage stage;
    uint32_t reuses; // of this place in the list
    bool of_model;   // of the model that a simulation is of: it stays
    double
        came; // of a fixed or driven one: when it was taken in, −∞ at the start; what flew through its place before did not meet it
    // The time of its last collision, −∞: there was none; how many there were at that time, and how long it had gone on without one: how far ahead a search
    // is worth its looks (event/pairs.c). In one cache line.
    int hits_at_time;
    double hit_at, lasted;
    // In a world that is divided (domain/domain.h): its place among fixed and driven bodies, −1: it moves; in which round its domain has
    // noted it last, and from when on its motion is another one.
    int prescribed;
    double changed_from;
    int64_t noted;
    // There: a box about its ways from a time on until another one, with all that were undone since (event/boxes.c).
    cal_box past;
    double past_from, past_until;
} cal_sim_body;

// What a body can do: the table of its own component, or that of a fixed or a driven one (component.h).
const struct cal_component_ops* cal_body_ops(const cal_world* world, int body);
// The component that is in charge of a body at a time; −1: fixed or driven.
int cal_body_component(const cal_world* world, int body, double time);
// A body at a time, in the newest motion that holds there. May compute further.
cal_status cal_body_at(cal_world* world, int body, double time, cal_motion* out);
// The same without the orientation of balls about their centres, to which it does not matter.
cal_status cal_body_place_at(cal_world* world, int body, double time, cal_motion* out);
// The same of the piece of its motion that holds at a time `from`, whatever has changed that before `time`, which is not after its end.
cal_status cal_body_place_ahead(cal_world* world, int body, double from, double time, cal_motion* out);
// An error with the body's name, where one of the two above failed; CAL_OK passes.
cal_status cal_body_failed(const cal_world* world, int body, cal_status status, double time, cal_error* error);
cal_status cal_body_bounds(cal_world* world, int body, double from, double until, cal_motion_bounds* out);
// The numbers of a body in the newest state that holds at a time.
cal_numbers cal_body_numbers(const cal_world* world, int body, double time);
// Adds to K how a point of a body answers to an impulse; its component's newest state is the one that holds. other: another body
// of the same component that gets the opposite impulse at the same point; −1: none.
cal_status cal_body_response(cal_world* world, int body, int other, double time, const cal_motion* motion,
                             const double point[3], double K[9], cal_error* error);
// Changes that state by an impulse; *work: what joints whose motion is prescribed do then is added.
cal_status cal_body_apply(cal_world* world, int body, int other, double time, const cal_motion* motion,
                          const double point[3], const double impulse[3], double* work, cal_error* error);

// Velocity of a point of a body.
static inline void cal_point_velocity(const cal_motion* motion, const double point[3], double out[3]) {
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = point[i] - motion->pose.position[i];
    cal_cross3(motion->w, arm, out);
    for (int i = 0; i < 3; i++) out[i] += motion->u[i];
}
// The body's own frame, as the user knows it; each may be NULL.
void cal_motion_to_frame(const cal_sim_body* part, const cal_motion* at, double position[3], double quaternion[4]);
const char* cal_body_name_at(const cal_world* world, int body, char* text, size_t capacity);
