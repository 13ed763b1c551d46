// Components: what is advanced as one. What they can do is in a table for each kind, and nobody else asks for the kind.
//
//     free body        one rigid body, in closed form
//     multibody        a tree, with or without loops
//     contact group    the two above that touch, until they part: its members
//     fixed, driven    bodies without a component: a table of their own, of which only what bodies are asked for is there
#pragma once
#include "simulation/body.h"
#include "simulation/flow.h"
#include "simulation/state/graph.h"

typedef enum cal_component_kind { CAL_UNUSED, CAL_FREE_BODY, CAL_MULTIBODY, CAL_GROUP } cal_component_kind;

struct cal_contact_list;
struct cal_group_member;
struct cal_image;

// What others do not know of a component of a world on ranks: those near it, and all.
enum { CAL_NEWS_NEAR = 1, CAL_NEWS_ALL = 2 };

// What every look at a body reads comes first, in a cache line.
typedef struct cal_component {
    _Alignas(64) const struct cal_component_ops* ops; // NULL: unused
    cal_queue queue;
    double local_time; // how far it was asked for
    int body;          // the first of its own bodies, which follow each other; −1: none
    int weight;        // moving bodies; what every event reads ends here, with a cache line
    int number;        // in the world's list
    int domain;        // that it belongs to; 0 in a world that is not divided
    int member;        // its place in that domain's list
    int going;         // the domain that it is going to be handed over to; 0: none
    int done;          // work of its events, since loads of domains were last looked at
    int change;        // its place among the world's changes; of one that is not there it may be any
    int unit;          // which one it is of the group that it was put into last; of another group it may be any
    // Of a world on ranks (domain/ranks.h): which of them know it as it was told last, a bit each; and who does not know what it is now.
    unsigned news;
    uint64_t told;
    struct cal_multibody* multibody;
    struct cal_contact_group* group;
    // When it was changed from outside last, and how long that was after the time before, s; 0: it was not.
    double changed, pause;
} cal_component;

// Where the numbers of what a body belongs to are in a state: q, v, and what the user set.
typedef struct cal_state_numbers {
    double *q, *v, *extras;
} cal_state_numbers;

// What touches in a component: the components that are in it (a free body, a multibody: itself), and the pairs of bodies, sorted.
typedef struct cal_members {
    const int* components;
    int count;
    const int (*pairs)[2];
    int pair_count;
} cal_members;

typedef struct cal_component_ops {
    cal_component_kind kind; // for images and for making one
    bool single;             // one rigid body that nothing holds: its mass and inertia say how it answers to impulses
    bool
        stepped; // by events of its own, which also give its bodies their boxes; others are followed as far as somebody asks

    // Of the component that is in charge of a body: where it is at a time in the motion that holds there; from: in the piece that holds then, though it was
    // changed since. turning: its orientation matters.
    cal_status (*motion)(cal_world* world, int component, int body, double from, double time, bool turning,
                         cal_motion* out);
    // What that motion keeps to from a time on; with turn and twist as far as was asked for, whatever changes it before.
    cal_status (*bounds)(cal_world* world, int component, int body, double from, double until, cal_motion_bounds* out);
    // For how long a box about its bodies is worth making.
    double (*room)(const cal_world* world, int component, double time);
    // How much of that has so few states that all of them may be held at a time; NULL: however long.
    double (*ahead)(cal_world* world, int component, double time, double length);
    cal_state_numbers (*locate)(const cal_world* world, int component, int body, double* data);

    // A new motion from a time on, with the numbers that hold there; what came after is rolled back.
    cal_status (*begin)(cal_world* world, int component, double time, cal_error* error);
    // The same where forces change and nothing else does; NULL: it makes no difference.
    cal_status (*begin_forced)(cal_world* world, int component, double time, cal_error* error);
    // Its motion is another one from a time on: new boxes, predictions and events.
    cal_status (*changed)(cal_world* world, int component, double time, cal_error* error);
    // The numbers of its newest state were changed.
    cal_status (*refresh)(cal_world* world, int component, cal_error* error);
    // An integration step ends at a time in a loop that stops everybody; NULL: its states do not depend on that.
    cal_status (*step)(cal_world* world, int component, double time, cal_error* error);

    // Of a body's own component, whoever is in charge. What the located numbers mean:
    cal_numbers (*numbers)(const cal_world* world, int body, const cal_state_numbers* at);
    // A box about a body's way over an interval.
    cal_status (*box)(cal_world* world, int body, double from, double to, cal_box* out);
    // As cal_body_response and cal_body_apply.
    cal_status (*response)(cal_world* world, int body, int other, double time, const cal_motion* motion,
                           const double point[3], double K[9], cal_error* error);
    cal_status (*apply)(cal_world* world, int body, int other, double time, const cal_motion* motion,
                        const double point[3], const double impulse[3], double* work, cal_error* error);
    // A force and a torque (world's axes) at a point of a body (its frame) from now on; whether there are any; and their end.
    cal_status (*push)(cal_world* world, int body, const double force[3], const double torque[3], const double point[3],
                       cal_error* error);
    bool (*pushed)(const cal_world* world, int body);
    void (*release)(cal_world* world, int body);
    // Before the start: the mass that goes along when a body is moved, 0: the ground holds it; and the move.
    double (*loose_mass)(const cal_world* world, int body);
    cal_status (*shift)(cal_world* world, int body, const double by[3], cal_error* error);

    // As a member of a contact group.
    cal_status (*member)(const cal_world* world, int component, struct cal_group_member* out, cal_error* error);
    cal_members (*members)(const cal_world* world, int component);
    // Whether it, and no event, decides what two bodies do to each other; NULL: never.
    bool (*holds)(const cal_world* world, int component, int a, int b);
    bool (*asleep)(const cal_world* world, int component); // NULL: never
    // Contacts, with the forces in a step of size h from the world's time; NULL: there are none.
    cal_status (*contacts)(cal_world* world, int component, double h, struct cal_contact_list* list, cal_error* error);
    // What flowed into and out of it (flow.h): where that is in a state's numbers; and up to a time.
    cal_flows* (*flows)(const cal_world* world, int component, double* data);
    cal_status (*flowed)(cal_world* world, int component, double time, cal_flows* out);
    // Of a member of groups: its energy, and the work of its motors and of what the user set on a way.
    cal_status (*energy)(cal_world* world, int component, const double* q, const double* v, double* out);
    cal_status (*work)(cal_world* world, int component, const struct cal_member_span* span, double* out);
    // What it adds to a report beside its bodies; NULL: nothing.
    cal_status (*report)(cal_world* world, int component, cal_world_report* report);
    // What is in an image but its clock and states. own: the world as it is.
    void (*image)(struct cal_image* image, cal_world* world, int component, const cal_world* own, cal_error* error);
    // Whether a state from an image is one of it.
    bool (*sound)(const cal_world* world, int component, const cal_saved_state* state);
} cal_component_ops;

extern const cal_component_ops cal_fixed_body, cal_driven_body; // motion/prescribed.c
// The table of a kind; NULL: unused.
const cal_component_ops* cal_component_table(cal_component_kind kind);

// A component without states, with room for a few; −1: no memory.
int cal_component_add(cal_world* world, cal_component_kind kind, int stride, int states);
// A group is in charge of it after its newest state.
static inline bool cal_component_is_fused(const cal_component* c) {
    return c->queue.tail > c->queue.head && cal_saved_state_at(&c->queue, c->queue.tail - 1)->kind == CAL_FUSED;
}
// A group that is over.
static inline bool cal_component_has_ended(const cal_component* c) {
    return c->queue.tail > c->queue.head && cal_saved_state_at(&c->queue, c->queue.tail - 1)->kind == CAL_ENDED;
}
// Its motion begins anew at a time, with the numbers that hold there; what came after is rolled back. To be settled by the
// caller. Nothing for −1.
cal_status cal_begin_segment(cal_world* world, int component, double time, cal_error* error);
// The same where forces are about to change, from outside, and nothing else.
cal_status cal_begin_forced(cal_world* world, int component, double time, cal_error* error);
// Something is changed from outside at a time: driven, pushed or connected; and when it is likely to be changed next, after a time.
void cal_component_note_change(cal_component* component, double time);
double cal_component_next_change(const cal_component* component, double time);
// An integration step ends at a time, as in the loops that stop everybody: the state there is stored, and the motion goes on
// from it.
cal_status cal_step_component(cal_world* world, int component, double time, cal_error* error);
// After the numbers of its newest state were changed. Nothing for −1.
cal_status cal_component_refresh(cal_world* world, int component, cal_error* error);
bool cal_component_is_asleep(const cal_world* world, int component); // −1 never is
// Whether the component that is in charge of two bodies at a time decides what they do to each other.
bool cal_component_holds(const cal_world* world, int a, int b, double time);
