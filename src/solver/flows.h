// Where energy goes in a system: what flowed since it was made, and how that is integrated beside its motion.
//
//     dE/dt = work − loss + closing       E: kinetic energy, and potential energy of gravity, springs and stops
//
// The three powers are sums that the passes bring up with the solver's own (pass/joint_power.h), so that no evaluation is added. They
// are integrated by the solver itself: each of them is the acceleration of a joint that is in no model, whose velocity is what has
// flowed. Its one column has a layout and vectors of its own, and the solver's prepare, follow-up and polynomial run over them with the
// numbers that control sends down to all others. A step that is rejected takes its flows along, and a sample inside a step has them
// as exactly as it has velocities.
//
//     lane        work     loss    closing    –
//     q           ∫∫       ∫∫      ∫∫         0        the ∫∫ are for solvers whose polynomial is that of positions
//     v           ∫ P dt   …       …          0
//
// CVODE's vectors have no room for them. With BDF the powers at the ends of steps are known, with the forces as they were evaluated
// last and the velocities that the step has; the polynomial through as many of them as the step's order says is integrated. Where motion is
// prescribed and two of them disagree, powers are evaluated inside of the step as well (Lobatto's six points); what is left of doubt bounds the
// next steps.
#pragma once
#include "solver/solver.h"

// What flowed, J.
typedef struct cal_flows {
    double work;    // done on the system: motors, joint forces, callbacks, pushes; signed
    double loss;    // dampers, dry friction, stops
    double closing; // what closing constraints has added: stabilising forces and projections; signed
    double moved;   // |work|, summed over steps
} cal_flows;

enum { CAL_FLOW_WORK, CAL_FLOW_LOSS, CAL_FLOW_CLOSING, CAL_FLOW_KINDS, CAL_FLOW_LANES = 4 };
enum {
    CAL_FLOW_SIZE = 2 * CAL_FLOW_LANES, // numbers of a vector
    CAL_FLOW_VECTORS = 24,              // that a solver may have
    CAL_FLOW_POINTS = 6                 // powers that BDF's rule remembers
};

// What is in the memory of a system beside the vectors; only words, since checkpoints hold them.
typedef struct cal_flow_memory {
    cal_flows now;                 // at the system's time
    cal_flows base;                // where the solver began
    cal_flows begin;               // of BDF: where the motion began that is taken again after a load
    double last[CAL_FLOW_KINDS];   // since the solver began, to the end of the last step: what flowed …
    double closed, moved;          // … what projections have added, and |work| of steps
    double power[CAL_FLOW_KINDS];  // at the last evaluation
    double times[CAL_FLOW_POINTS]; // of BDF: ends of steps, the newest first, powers there …
    double powers[CAL_FLOW_POINTS][CAL_FLOW_KINDS];
    double before[CAL_FLOW_KINDS]; // … and what flowed to the end of the step before the last
    int64_t points, order;         // how many there are; the degree of the last step's polynomial
} cal_flow_memory;

typedef struct cal_flow_integrator {
    const cal_solver_ops* ops; // NULL: BDF
    cal_flow_memory memory;
    double block[CAL_FLOW_VECTORS * CAL_FLOW_SIZE];
    cal_layout layout;
    cal_column column;
    int32_t block_y[2];
    cal_solver_context context;
    double y[CAL_FLOW_SIZE], ydot[CAL_FLOW_SIZE], scale[CAL_FLOW_SIZE];
    double* vectors[CAL_FLOW_VECTORS];
} cal_flow_integrator;

// down: what the solver's control sends. The integrator stays where it is from then on.
void cal_flow_create(cal_flow_integrator* f, const cal_solver_ops* ops, const double* down);
static inline size_t cal_flow_block_size(const cal_flow_integrator* f) { // bytes of its vectors
    return f->ops ? (size_t)f->ops->vector_count * CAL_FLOW_SIZE * sizeof(double) : 0;
}
// The solver begins: what flowed so far is the base.
void cal_flow_start(cal_flow_integrator* f);
// For the next evaluation: errors of work and loss are tested as those of y are, to this part of them and of `unit`, J; zero: they are not. Where motion is
// prescribed it may be smooth while forces are not, and nothing else would see what its work lacks. Of BDF: cal_flow_doubt.
void cal_flow_test(cal_flow_integrator* f, double tolerance, double unit);
// Around an evaluation: before control's numbers change, and after the powers are known. sums: of the solver, to which those of flows are added
// that are tested.
void cal_flow_prepare(cal_flow_integrator* f);
void cal_flow_follow_up(cal_flow_integrator* f, const double power[CAL_FLOW_KINDS], double* sums);
// A step was accepted, which ended at a time; closed: what projecting its end has added.
void cal_flow_accept(cal_flow_integrator* f, const void* control, double time, double closed);
// The same of BDF, with the powers at the end and the step's order; the first time: where it begins, of order 0.
void cal_flow_accept_bdf(cal_flow_integrator* f, double time, int order, const double power[CAL_FLOW_KINDS],
                         double closed);
// By how much the work or loss of BDF's last step may err, J: what a polynomial of one degree less says, and with powers from inside of the step
// what one of them is beside the polynomial through the others, for as long as the step took. power: of the step's length that it grows with.
double cal_flow_doubt(const cal_flow_integrator* f, int* power);
// The last step of BDF once more, with powers inside of it and at its end: CAL_FLOW_POINTS − 1 of them, at parts of it.
void cal_flow_look_inside(cal_flow_integrator* f, const double parts[CAL_FLOW_POINTS - 1],
                          double powers[CAL_FLOW_POINTS - 1][CAL_FLOW_KINDS]);
// A step by no solver after the last one, with the powers of the last evaluation; the solver begins at its end.
void cal_flow_step_over(cal_flow_integrator* f, double step, double closed);
// What flowed up to a time inside the last step.
cal_flows cal_flow_at(const cal_flow_integrator* f, const void* control, double time);
