// What the two files about multibodies share.
#pragma once
#include "simulation/motion/multibody.h"

// What all multibodies of one model share: plans, states and room for numbers. One caller at a time.
typedef struct cal_multibody_model {
    const cal_model* model;
    int references;
    cal_machine* machine;
    cal_plan *aba, *crba, *kinematics;
    cal_state *aba_state, *crba_state, *kinematics_state;
    int q_count, v_count, body_count;
    double* poses;         // 7 a body, of the last kinematics
    double* jacobian;      // 6 × v
    double *mass, *factor; // v × v each
    double* work;          // for integration
    double* scale;         // of errors of q and v
} cal_multibody_model;

// Where all links are, and what that was computed from.
typedef enum cal_links_source {
    CAL_LINKS_UNKNOWN,
    CAL_LINKS_ALONE,  // the multibody's own state at a time
    CAL_LINKS_BETWEEN // two states of a group: numbers are where between them, q, v, and q and v of the second one
} cal_links_source;
typedef struct cal_links {
    cal_links_source source;
    double time;
    double* numbers;
    cal_motion* links;
} cal_links;

struct cal_multibody {
    cal_world* world;
    cal_multibody_model* engine;
    double position[3], quaternion[4]; // of the model's world in the world
    int slots;
    bool touches_itself;
    int component;
    int first_body;
    int* bodies; // the world's body for each of the model's bodies
    // The last kinematics that were computed: boxes and searches go from one time to another and back.
    cal_links known[2];
    int newest;
    double* links_jacobian; // 6 × v a body
    const double* extras;   // of a unit that is being integrated: joint forces
};

// q and v at a time into numbers of the caller.
cal_status cal_multibody_state(cal_world* world, int component, double time, double* q, double* v, int64_t* number);
// Poses, velocities and Jacobians of all links for given q and v.
cal_status cal_multibody_links(cal_world* world, cal_multibody* m, const double* q, const double* v, cal_motion* links,
                               double* jacobians);
cal_status cal_multibody_model_mass(cal_multibody_model* e, const double* q, double* out); // v × v
// One attempt of a step of size h from a state's numbers, for what is stiff: next gets q and v; with accelerations at the end,
// and the error relative to the tolerance (multibody_stiff.c).
cal_status cal_stiff_attempt(cal_multibody_model* e, double time, double h, const double* data, const double* tau,
                             double tolerance, double* next, double* last_acceleration, double* error);
cal_status cal_multibody_model_acceleration(cal_multibody_model* e, double time, const double* q, const double* v,
                                            const double* tau, double* out);
// How much each joint force falls with velocity and position, not less than zero; false: none does (joint_slopes.c).
bool cal_joint_slopes(const cal_model* model, const double* q, const double* v, double* damping, double* stiffness);
// Links of which it is not known any more where they are: to be computed anew.
cal_links* cal_multibody_forgotten(cal_multibody* m);
// The multibody's own state has changed.
void cal_multibody_forget(cal_multibody* m);
void cal_multibody_rate(const cal_model* model, const double* q, const double* v, double* rate);
void cal_multibody_normalize(const cal_model* model, double* q);
