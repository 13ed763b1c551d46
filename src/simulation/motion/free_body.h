// Free bodies: their states, and how they move (trajectory.c).
#pragma once
#include "simulation/body.h"
#include "simulation/flow.h"
#include "simulation/motion/free_turn.h"
#include "simulation/state/graph.h"

// Numbers of a free body's state: q, v, and what the user set, as a contact group has them; slots and then the series follow. A step that
// only continues the series leaves the centre's parabola as it is: position and velocity are then those at its origin.
enum {
    CAL_AT_POSITION = 0,      // of the centre of mass
    CAL_AT_QUATERNION = 3,    // of the principal axes
    CAL_AT_VELOCITY = 7,      // of the centre of mass
    CAL_AT_ANGULAR = 10,      // principal axes
    CAL_AT_ACCELERATION = 13, // gravity and the user's force
    CAL_AT_TORQUE = 16,       // principal axes
    CAL_AT_SLOTS = 19
};
// How it turns: how far that goes, when the parabola began, and the closed form (free_turn.h). Where that has −1 terms it is a Taylor series,
// whose rows follow where a callback may push the body.
enum { CAL_SERIES = 20, CAL_SERIES_NUMBERS = 7 * (CAL_SERIES + 1) }; // its order
enum {
    CAL_SERIES_LENGTH = 0,
    CAL_SERIES_ORIGIN = 1,
    CAL_SERIES_FORM = 2,
    CAL_SERIES_ROWS = (int)CAL_SERIES_FORM + (int)CAL_TURN_NUMBERS
};

// What flowed (simulation/flow.h) is before the series.
enum { CAL_FREE_FLOWS = (int)(sizeof(cal_flows) / sizeof(double)) };
cal_flows* cal_free_body_flows(const cal_world* world, int component, double* data);
cal_status cal_free_body_flowed(cal_world* world, int component, double time, cal_flows* out);
cal_status cal_free_body_energy(cal_world* world, int component, const double* q, const double* v, double* out);
cal_status cal_free_body_work(cal_world* world, int component, const struct cal_member_span* span, double* out);

int cal_free_body_stride(const cal_sim_body* part);
// Makes what follows from a free body's state for its turning; to be called when its numbers have changed. origin: the time at which its centre is where
// the numbers say.
void cal_free_body_begin(const cal_sim_body* part, double origin, double* data);
// Notes the course of a free body, after the numbers of its newest state have changed. A step leaves it as it is, and any other new state, or
// the end of one, ends it (state/graph.c).
void cal_free_body_note_course(cal_world* world, int component);
// When the parabola of a state began, which has the time `time` itself.
static inline double cal_free_body_origin(const cal_sim_body* part, double time, const double* data) {
    return part->round ? time : data[part->series + (int)CAL_SERIES_ORIGIN];
}
// Whether a state from an image is one of a free body.
bool cal_free_body_sound(const cal_world* world, int component, const cal_saved_state* state);
cal_status cal_free_body_motion(cal_world* world, int component, int body, double from, double time, bool turning,
                                cal_motion* out);
// The piece of a free body's motion after a state, which has the time `begin`, for many looks at it.
typedef struct cal_free_view {
    const cal_sim_body* part; // NULL: there is none
    double* data;
    double begin, origin;
} cal_free_view;
// Where a body is free and no group is in charge at a time: goes on with its series as far as that. part is NULL otherwise.
cal_status cal_free_body_view(cal_world* world, int body, double time, cal_free_view* out);
void cal_free_view_at(const cal_free_view* view, double time, bool turning, cal_motion* out);
// How its turning rate changes, world's axes, in a motion that it has.
void cal_free_view_twist(const cal_free_view* view, const cal_motion* at, double out[3]);
// The fastest that any point of it moves in an interval, in the motion that it has after its state; and where its centre is as that begins.
double cal_free_view_speed(const cal_free_view* view, double from, double to, double center[3]);
cal_status cal_free_body_bounds(cal_world* world, int component, int body, double from, double until,
                                cal_motion_bounds* out);
// A free body over an interval that is one flight: its centre at both ends, its velocity at the second, its acceleration, and the most
// that it turns at (0: turning does not matter).
typedef struct cal_flight {
    double ends[2][3], velocity[3], acceleration[3];
    double turn;
} cal_flight;
// False: it is no such interval, as far as is known.
bool cal_free_body_flight(const cal_world* world, int body, double from, double to, cal_flight* out);
// Whether where it is until a time is known without going on with its series: nobody writes who looks at it.
bool cal_free_body_is_known(const cal_world* world, int body, double until);
// Puts the state that holds at a time at the end of its queue (segment.c).
cal_status cal_free_body_push(cal_world* world, int component, cal_saved_state_kind kind, double time,
                              cal_error* error);
