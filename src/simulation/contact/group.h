// Contact groups: bodies that touch and push each other for a while, and so must be advanced together.
//
// A group is a list of *units* (free bodies and multibodies, things that move) and of *bodies*, each of which belongs to a
// unit or is fixed or driven (`unit` is CAL_NONE; the group reads its motion and never changes it). A unit says how it
// moves in its own coordinates, M(q) v̇ = f(t, q, v); the group's integrator adds what the contacts do:
//
//     M v̇ = f + Jᵀ λ          J: rows of the contacts' normals and tangents, λ: forces, 0 ≤ λₙ ⟂ gap, |λₜ| ≤ μ λₙ
//
//     q:  | unit 0: 7 | unit 1: 7 | unit 2: a multibody's q | …      first_q, first_v, first_body say where a unit begins
//
// What an integrator wants to remember from one step to the next (a step size, last impulses) it keeps in `memory`,
// numbers that are saved and restored with q and v: the same start gives the same bits, however often it is repeated.
#pragma once
#include "base/error.h"

struct cal_motion;
struct cal_world;

typedef struct cal_group_member cal_group_member;

// Two states of a group about a time, as a unit sees them: q and v of both, those of the second NULL after the last one; what the
// user set in the first (NULL: what is in use); and where between them the time is.
typedef struct cal_member_span {
    const double *q, *v, *to_q, *to_v, *extras;
    const struct cal_world* world; // of the group; NULL: of the step that is taken, in which what spins fast does not
    double length, t;
    double from;   // the time at its begin; only for what depends on it: work, and motions that are prescribed
    bool straight; // free bodies go at constant speeds, and not as v says at both ends
    bool unturned; // how it is turned does not matter: any orientation will do
    const double*
        bow; // how much faster the way begins than that, and how much slower it ends (v_count); NULL: by nothing
} cal_member_span;

// Of gravity: what accelerates less from rest is held.
#define CAL_GROUP_HELD 1e-5

enum { CAL_BODY_BOUNDS = 6 }; // of a body's motion: acceleration, slack, turning rate, its derivative

// An end of the range of a joint, of a unit: a coordinate that goes no further.
typedef struct cal_group_stop {
    int body, degree; // of the unit: a body that the joint moves, and which of its v
    bool turns;       // the coordinate is an angle
    double sign;      // of v, when it leaves
    double gap;       // how far the coordinate is from its end; negative: beyond
    double hardness;  // what impacts lose (limit_damping)
    uint64_t key;     // the same number for the same end of the same joint in all groups
} cal_group_stop;

// How a unit moves. Poses are position and quaternion of a body's frame in the world, 7 numbers a body, and all vectors
// are in the world's axes but for what is inside q and v. What fails ends the step, with the unit's name.
typedef struct cal_group_member_ops {
    cal_status (*poses)(const cal_group_member* unit, const double* q, double* poses);
    // The mass matrix (v_count × v_count, rows, symmetric) and f: gravity, gyroscopic terms, motors, what the user set.
    cal_status (*dynamics)(const cal_group_member* unit, double time, const double* q, const double* v, double* mass,
                           double* force);
    // Changes v + h M⁻¹ f so that gyroscopic terms do no work in the step, as those at v would: what they do is found in so many parts of it.
    // NULL: there are none, or masses vary anyway.
    void (*gyrate)(const cal_group_member* unit, const double* v, double h, int parts, double* target);
    // Velocity of the point of body `body` (0 … body_count − 1 of this unit) that is at `point`: 3 × v_count, rows.
    cal_status (*jacobian)(const cal_group_member* unit, const double* q, int body, const double point[3],
                           double* jacobian);
    // Moves q along the constant velocity v for a time: exactly, quaternions stay of unit length. In place is allowed.
    cal_status (*displace)(const cal_group_member* unit, const double* q, const double* v, double time, double* out);
    // dq/dt for a velocity: q_count numbers, for methods that treat q as a vector.
    cal_status (*rate)(const cal_group_member* unit, const double* q, const double* v, double* rate);
    // Makes quaternions of unit length again.
    cal_status (*normalize)(const cal_group_member* unit, double* q);
    // By how much each component of f falls with the same one of v, and of a displacement along v: v_count each, not less than
    // zero. resistance: of units that resist, by how much beside that with all of v, a symmetric matrix without eigenvalues below zero; else NULL.
    // *any is false: by nothing. NULL where that is always so.
    cal_status (*slopes)(const cal_group_member* unit, const double* q, const double* v, double* damping,
                         double* stiffness, double* resistance, bool* any);
    // Constraints A(q) v = r(t) of the unit, of which there are at most `most_rows`; all three NULL where there are none. Rows of A
    // (v_count each), how far rounding may have put the entries of each off, Ȧ v − ṙ, r, and how many rows there are.
    cal_status (*constraints)(const cal_group_member* unit, double time, const double* q, const double* v, double* A,
                              double* noise, double* bias, double* rate, int* rows);
    // Moves q, and v where it is not NULL, to the nearest that the constraints allow at a time.
    cal_status (*project)(const cal_group_member* unit, double time, double* q, double* v);
    // Whether constraints prescribe all of its motion: it is as a driven body. NULL where they never do.
    bool (*led)(const cal_group_member* unit);
    // How far any of its points may be, in a step of size h from q, from where it would be if r went along a parabola.
    double (*strays)(const cal_group_member* unit, double time, double h, const double* q);
    // The nearer end of one of the unit's rigid stops (stop_count) at q; NULL where there are none.
    void (*stop)(const cal_group_member* unit, const double* q, int number, cal_group_stop* out);
    // A bound of the speed of any point, for a body of a size.
    double (*speed)(const cal_group_member* unit, const double* v, double size);

    // Before a step: where spin matters to nothing (unspun.h), q and v become those of a frame without it until `respin`. Returns how fast such a body
    // nutates, which only an explicit step knows by itself. And after it: turned by so much in that frame, with what bows its way; q is NULL: the step failed.
    // All NULL where there is none such.
    double (*unspin)(const cal_group_member* unit, double* q, double* v);
    void (*respin)(const cal_group_member* unit, const double turned[3], double* q, double* v, double* bow);
    // Leaves of velocities what moves a surface along its normal anywhere, and so of a normal's row what is moved along it: all but spin.
    void (*sweep)(const cal_group_member* unit, double* v);
    // Whether bounds leave spin out.
    bool (*is_unspun)(const cal_group_member* unit, const cal_member_span* span);

    // Between two states: a body, q and v, and bounds of all bodies' motions over the whole span (CAL_BODY_BOUNDS each).
    cal_status (*motion)(const cal_group_member* unit, int body, const cal_member_span* span, struct cal_motion* out);
    cal_status (*state)(const cal_group_member* unit, const cal_member_span* span, double* q, double* v);
    void (*bounds)(const cal_group_member* unit, const cal_member_span* span, double* out);
    // v that is shown between two states, but for a factor of the group (group_shown.c): that of the state where the way begins; on one that
    // is straight, from there on such that the kinetic energy is in proportion to time, as the potential one is; on one that is bowed, from the one
    // state's to the other's; else that of the way. And the same as speeds of a body, whose pose is there.
    cal_status (*shown_numbers)(const cal_group_member* unit, const struct cal_world* world,
                                const cal_member_span* span, double* v);
    cal_status (*shown_speeds)(const cal_group_member* unit, const struct cal_world* world, int body,
                               const cal_member_span* span, struct cal_motion* motion);
    // Before anything else is asked for: what the user set is in these numbers, which stay where they are.
    void (*use)(const cal_group_member* unit, const struct cal_world* world, const double* extras);
    // When a callback may change its forces next; NULL: a callback begins a new motion at any time.
    double (*next_callback)(const cal_group_member* unit);
    // Gives back `self`; NULL: it belongs to somebody else.
    void (*end)(const cal_group_member* unit);
} cal_group_member_ops;

struct cal_group_member {
    const cal_group_member_ops* ops;
    void* self; // the unit's own data
    int q_count, v_count, body_count;
    int most_rows;                    // of its constraints
    int stop_count;                   // joints with rigid stops
    int first_q, first_v, first_body; // in the group's arrays
    int extras_count;                 // what the user set, for the world
    int lengths; // of a free body: so many of q, and of v, come first and are lengths, relative to the group's; others count as angles
    // Of a multibody, whose lengths are relative to its own size: that is sizes[k] for q's k-th; and for each of q, then of v, which k, −1: an
    // angle. NULL: there are none.
    const double* sizes;
    const int* size_at;
    bool varying; // mass and forces change along its way: a step must not be long for them
    bool resists; // so do forces of a medium: slopes have a matrix
    bool moved;   // some of its constraints prescribe a motion: r is not zero
};

// Whether the k-th of a unit's v is a length.
static inline bool cal_member_slides(const cal_group_member* unit, int k) {
    return k < unit->lengths || (unit->size_at != NULL && unit->size_at[unit->q_count + k] >= 0);
}

// What a difference of the k-th of a unit's q counts, as an angle; and of its v.
static inline double cal_member_q_weight(const cal_group_member* unit, int k, double length) {
    if (unit->size_at != NULL) return unit->size_at[k] >= 0 ? 1.0 / unit->sizes[unit->size_at[k]] : 1.0;
    return k < unit->lengths ? 1.0 / length : 1.0;
}
static inline double cal_member_v_weight(const cal_group_member* unit, int k, double length) {
    const int at = unit->q_count + k;
    if (unit->size_at != NULL) return unit->size_at[at] >= 0 ? 1.0 / unit->sizes[unit->size_at[at]] : 1.0;
    return k < unit->lengths ? 1.0 / length : 1.0;
}

// One point where two bodies touch or are about to.
typedef struct cal_group_contact {
    int body[2];        // of the group's bodies; the normal points from the first to the second
    double point[2][3]; // witness points in the world, one on each
    double normal[3];
    double gap; // signed distance; negative: they overlap
    double friction, restitution;
    int shape[2]; // of the bodies, in their order
    uint64_t key; // the same number for the same features of the same pair, to find what memory holds about it; or 0
    int stop; // 0; or it is no contact, but this joint's stop (counted from 1) of the unit of both bodies: a row of one number
} cal_group_contact;

enum { CAL_PAIR_CONTACTS = 64 }; // of two bodies, at most

typedef struct cal_group cal_group;

struct cal_group {
    int unit_count, body_count, q_count, v_count;
    const cal_group_member* units;
    const int* unit_of_body; // CAL_NONE: fixed or driven
    // Pose (7) and velocity (linear of the frame's origin, angular; both in the world) of a fixed or driven body at a time.
    cal_status (*driven)(const cal_group* group, int body, double time, double pose[7], double velocity[6]);
    // Contacts at a time with these poses of all bodies (7 each), gaps up to `margin`; *count says how many there are, writes at
    // most capacity of them, in an order that depends on nothing but the poses. Pairs are those that touch in this group.
    cal_status (*contacts)(const cal_group* group, double time, const double* poses, double margin,
                           cal_group_contact* out, int capacity, int* count);
    // Contacts of two bodies with these poses, as many as there are but CAL_PAIR_CONTACTS at most, and their number. In the order of a contact's
    // bodies. NULL where nobody asks for the bow of a way.
    int (*pair_contacts)(const cal_group* group, const int bodies[2], const double poses[2][7], double margin,
                         cal_group_contact* out);
    // The energy of all units; and the work of their motors, and of what the user set, on a way of a length that begins at a time. May be
    // NULL: nobody knows.
    cal_status (*energy)(const cal_group* group, const double* q, const double* v, double* out);
    cal_status (*work)(const cal_group* group, double time, const double* q, const double* v, const double* to_q,
                       const double* to_v, double length, double* out);
    // The name of a body, for errors.
    const char* (*body_name)(const cal_group* group, int body, char* text, size_t capacity);
    void* world; // for the functions above
    double gravity[3];
    bool driven_moves;         // a body that is driven is among those that members touch
    bool folded;               // some body is a height field: what touches it may touch another of its faces soon
    double length;             // a typical size of a body, m
    double bounce_speed;       // impacts after which bodies part more slowly do not bounce, m/s
    double rest_speed;         // the same of elastic ones
    double tolerance;          // of a step, relative to length and to typical speeds
    double stiffness, damping; // of penalty contacts; 0: chosen by the integrator from masses and gravity
    double creep;              // ε of f_t / f_n = μ tanh(v_t / ε), m/s
};

// What a group goes through between two checks, and where it is on the way. A step is a function of these times, q, v and memory.
typedef struct cal_group_interval {
    double begin, end;
    double time; // begin ≤ time ≤ end
} cal_group_interval;

// An impact within a step.
typedef struct cal_group_impact {
    double time;
    cal_group_contact contact;
    double impulse[3]; // on the second body, world's axes
    bool bounces;
} cal_group_impact;

typedef struct cal_group_report {
    int64_t steps, rejected, solves, newton;
    int contacts;       // at the end
    double penetration; // the deepest, m
    bool overlaps;      // bodies do so on the way by more than they may: a shorter step is better
    double speed;       // the largest speed of any point of the group at the end, as far as the integrator knows it
    bool straight;      // free bodies go at constant speeds in the step
    double*
        bow; // may be NULL; else group->v_count zeros: what speeds of the way begin with in addition, and end without
    cal_group_impact* impacts; // may be NULL; else room for so many, and how many there were
    int impact_capacity, impact_count;
    // What bodies that are moved have done to the group in the step, J; and what moving bodies apart has added to its energy.
    double work, closing;
    double slowed;    // energy that multibodies had gained by nothing, and that was taken away again
    double* impulses; // may be NULL; else, for each of group->body_count bodies, the sum of |normal impulse| it got
} cal_group_report;

// Whether some unit's motion is prescribed in part.
static inline bool cal_group_is_moved(const cal_group* group) {
    bool moved = false;
    for (int i = 0; i < group->unit_count; i++) moved |= group->units[i].moved;
    return moved;
}
static inline bool cal_member_is_led(const cal_group_member* unit) { return unit->moved && unit->ops->led(unit); }
// Whether some unit's mass and forces change along a way that is not prescribed.
static inline bool cal_group_varies(const cal_group* group) {
    bool varies = false;
    for (int i = 0; i < group->unit_count; i++)
        varies |= group->units[i].varying && !cal_member_is_led(&group->units[i]);
    return varies;
}

// An integrator of groups.
typedef struct cal_group_ops {
    const char* name;
    const char* help;
    bool takes_loops;   // units may have constraints
    bool takes_impacts; // contacts that are not there yet may begin in a step
    bool stores;        // contacts hold energy for a while: what they take and give back counts as lost and found
    // Numbers of memory for a group; all zeros at the start of a group.
    size_t (*memory_count)(const cal_group* group);
    // Whether numbers from an image are such a memory.
    bool (*sound)(const cal_group* group, const double* memory);
    // Adds what another group remembers, which hands over members; may be NULL.
    void (*add_memory)(const cal_group* group, const cal_group* other, const double* from, double* memory);
    // Doubles of scratch that a step needs for so many contacts; the world keeps it and grows it between steps.
    size_t (*scratch_count)(const cal_group* group, int contacts);
    // One accepted step of q, v and memory, in place, from interval->time to somewhere not after interval->end, which is the new
    // interval->time. On an error the caller throws all of them away.
    // contacts_capacity: how many contacts scratch has room for; when there are more, returns CAL_NO_MEMORY with
    // report->contacts saying how many, and the world calls again with more.
    cal_status (*step)(const cal_group* group, cal_group_interval* interval, double* q, double* v, double* memory,
                       double* scratch, int contacts_capacity, cal_group_report* report, cal_error* error);
    // The contacts at a state and the forces in them (world's axes, on the second body), as they act in a step of size h from
    // there with this memory. Scratch and capacity as for a step; report->contacts: how many were written. NULL: it has no way to tell.
    cal_status (*forces)(const cal_group* group, double time, double h, const double* q, const double* v,
                         const double* memory, double* scratch, int contacts_capacity, cal_group_contact* contacts,
                         double (*forces)[3], cal_group_report* report, cal_error* error);
    // How fast the fastest point is after a step of size h from rest at q with this memory: whether what presses lets it rest. Friction
    // may hold what it holds now and would not hold from other forces. Scratch and capacity as for a step. NULL: it has no way to tell.
    cal_status (*start)(const cal_group* group, double time, double h, const double* q, const double* memory,
                        double* scratch, int contacts_capacity, double* speed, cal_group_report* report,
                        cal_error* error);
} cal_group_ops;

extern const cal_group_ops cal_group_implicit; // the default: stacks rest
extern const cal_group_ops cal_group_penalty;  // the paper's: penalty, smooth friction, Rosenbrock
// By name; NULL when there is none.
const cal_group_ops* cal_group_find(const char* name);
// What a unit, or a body that does not move by itself, could not do: an error with its name and the time. CAL_OK passes.
cal_status cal_group_unit_failed(const cal_group* group, int unit, cal_status status, double time, cal_error* error);
cal_status cal_group_body_failed(const cal_group* group, int body, cal_status status, double time, cal_error* error);
