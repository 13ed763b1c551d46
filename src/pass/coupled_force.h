// Forces that depend on several joints at once: along tendons, and on bodies wherever their joints bring them.
//
// They are found on one core from the whole of q and v, before the first walk of an evaluation (plan/plan.c), as joint forces
//
//     τ = ∑ F dL/dq + ∑ Jᵀ f
//
// which the walks add to those of the joints themselves. So every machine that can gather q and v has them, with the same bits.
// Three sums are kept apart, for the balance of energy (solver/flows.h): forces that work, forces that lose, and forces that have
// a potential energy, which is part of what the program "energy" finds.
//
// A motor between two bodies pushes one at a frame p with a wrench w, and the other one at a frame r with −w, w in the axes of r. Both hang
// from a node c (the ground, where they have none in common), which is given what the two would do to it, so that neither c nor anything
// above it feels them. The motor's length is w·(displacement and rotation vector of p in r), its rate w·(velocity of p − that of r), both seen
// from c: MuJoCo's transmission with a refsite.
//
// The sum of all motors of a joint, with what carries weights there where the motors give it (motor_carries), may have a range. What it takes
// from the sum, clamp(x) − x, is a force here, too: the motors of joints themselves are summed elsewhere (joint_law.h).
//
//   work      motors on tendons and on bodies; what ranges take from motors; a medium that moves
//   loss      dampers, dry friction, what stops differ from springs by; a medium at rest (drag.h)
//   energy    springs, slack between two lengths, and the elastic part of stops; what carries weights
#pragma once
#include "model/drag_slopes.h"
#include "model/tendon_path.h"
#include "pass/pass.h"

typedef enum cal_coupled_kind {
    CAL_COUPLED_WORK,
    CAL_COUPLED_LOSS,
    CAL_COUPLED_ENERGY,
    CAL_COUPLED_KINDS
} cal_coupled_kind;

// Room for an evaluation, and its results.
typedef struct cal_coupled {
    const cal_model* model;
    double *q, *v;                     // where it was evaluated, the user's order
    double* tau[CAL_COUPLED_KINDS];    // v_count each
    double *lengths, *rates;           // of tendons
    double* forces[CAL_COUPLED_KINDS]; // along tendons; above zero: pushes its ends apart
    struct cal_world_motion* motions;  // of nodes
    struct cal_spatial*
        wrenches[CAL_COUPLED_KINDS]; // on nodes: moment about the node's origin and force, world's axes; of the subtree
    struct cal_spatial* own;         // on each node alone, all kinds together
    cal_tendon_end* pulls;
    int *first_pull, pull_count;            // of each tendon, and behind the last
    double *gradient, *damping, *stiffness; // v_count each
    double *taken,
        *share; // v_count each: what motor_range takes from the motors of joints, and which share of their slopes it leaves
    // Of models with a medium, one per node: what its forces fall by, in the node's axes; for an implicit step of size h, h times that in the world's axes
    // about its origin (context.resisting); and room.
    cal_resistance* resistances;
    double* resisting;
    struct cal_spatial* resisted;
} cal_coupled;

// NULL where there is no memory.
cal_coupled* cal_coupled_create(const cal_model* model);
void cal_coupled_destroy(cal_coupled* coupled); // NULL is allowed
// Length and rate, before the gear, of a motor on a body, where nodes were moved (cal_coupled_find_lengths).
void cal_coupled_body_motor(const cal_coupled* coupled, const cal_actuator_def* motor, double* length, double* rate);
// What motors do to joints at coupled->q and coupled->v, after motor_range: v_count numbers, which stay until the next evaluation.
const double* cal_coupled_motor_forces(cal_coupled* coupled, const double* control);
// Lengths and rates alone, at coupled->q and coupled->v.
void cal_coupled_find_lengths(cal_coupled* coupled);
// Evaluates at coupled->q and coupled->v. control: one per actuator of the model.
void cal_coupled_evaluate(cal_coupled* coupled, const double* control);
// The same at q and v.
void cal_coupled_evaluate_at(cal_coupled* coupled, const double* control, const double* q, const double* v);
// What the forces of the last evaluation do at a velocity: work, and what is lost.
double cal_coupled_power(const cal_coupled* coupled, cal_coupled_kind kind, const double* v);
// What the forces of the last evaluation fall by with v and with q (joint_law.h), into damping and stiffness: of g gᵀ, g = dL/dq, a
// diagonal that is not smaller, |gᵢ| ∑ |gⱼ|. A medium's are in none of the two: they go into resistances.
void cal_coupled_find_slopes(cal_coupled* coupled, const double* control);
// With these resistances, where the nodes are since the last evaluation, a step of size h: coupled->resisting.
void cal_coupled_resist(cal_coupled* coupled, double h);
// After slopes: how joint forces fall with joint velocities because of these resistances, a symmetric matrix of v_count rows. coupled->v and the forces
// of the last evaluation are lost.
void cal_coupled_find_resistance(cal_coupled* coupled, double* out);
// What is lost, at coupled->v, to what resists the joint accelerations `change` by coupled->resisting; coupled->v is `change` then.
double cal_coupled_resisted_power(cal_coupled* coupled, const double* change);
// The same at q and v, added to what there is; NULL is allowed, and adds nothing. False: all are zero.
bool cal_coupled_add_slopes(cal_coupled* coupled, const double* control, const double* q, const double* v,
                            double* damping, double* stiffness);

// Lengths of all tendons, and their rates, from the motions of nodes that a program has found; two numbers each.
void cal_tendon_motions(const cal_context* context, int node_doubles, double* out);
// Potential energy of what is coupled, from these; and at q and v.
double cal_coupled_energy(const cal_context* context, int node_doubles);
double cal_coupled_energy_at(cal_coupled* coupled, const double* q, const double* v);
