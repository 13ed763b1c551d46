// A pass is data: a tree, a direction, a kernel for each width of lanes, what crosses an edge of the tree, what it costs.
// A program is a short list of passes. Machines run programs; they know nothing of mechanics.
//
// A kernel sees one column (or one item of the program's own tree). It allocates nothing, sends nothing, and pulls: outbound it reads the end of its parent's
// column, inbound it reads what its children's columns left in their slots, in order; it writes only its own nodes.
//
// Two kinds of program:
//   walked   an outbound pass and the inbound one after it run as one depth-first walk, so that what the way down wrote is
//            still in the cache on the way up, and scratch memory is a stack as deep as the tree:
//
//                down(c) → [ for each child column d: … down(d) … up(d), pull(c, d) ] → up(c)
//
//            A program may have a second tree (arrangement.h); its passes stand in the list where they run, and an inbound
//            pass and the outbound one after it are a walk of that tree.
//
//   swept    each pass runs over all columns, parents first or children first. For programs that are not in a hurry:
//            width 1, where block = node and a node's children are found with cal_first_child and cal_next_child.
#pragma once
#include "pass/riding.h"
#include "pass/tree.h"

typedef struct cal_arrangement cal_arrangement;
typedef struct cal_arrangement_ops cal_arrangement_ops;
typedef struct cal_solver_context cal_solver_context;
typedef struct cal_solver_ops cal_solver_ops;

// What an execution computes, of programs that can keep what varies slowly (cal_program.keeps).
typedef enum cal_reuse {
    CAL_REUSE_NONE, // everything
    CAL_REUSE_KEEP, // everything, and what varies slowly is kept in the records
    CAL_REUSE_KEPT  // the rest; what varies slowly is what the last CAL_REUSE_KEEP left
} cal_reuse;

// Numbers of a symmetric matrix of six rows.
enum { CAL_RESISTING = 21 };

// Everything that kernels read and write. One a state.
typedef struct cal_context {
    const cal_layout* layout;
    const cal_model* model;
    double* y;     // y-shaped: where to evaluate (q and v of each block)
    double* ydot;  // y-shaped: its derivative; the v part is the acceleration
    double* tau;   // v-shaped: what the user set
    double* force; // v-shaped: tau + dampers, springs, stops, motors, coupled; = tau where nobody has any
    // Forces that depend on several joints (coupled_force.h), v-shaped; NULL: there are none. Then, of implicit solvers, what they
    // fall by: with v, and with q; v-shaped each.
    double *coupled, *coupled_slopes;
    double* control; // copies × actuator_count
    double* wrench;  // 15 · W a block: external force (3), torque (3), ∑ point ⊗ force (9, rows); NULL: none.
                     // Force and torque in the world's axes, point in the node's frame.
    // Of implicit solvers (solver_ops.h), y-shaped; NULL: none. The v part of implicit is added to the armature of each
    // degree of freedom. slopes: what joint forces fall by, with v in the v part, with q at the front of the q part.
    double *implicit, *slopes;
    // Then, too, what the forces of a medium on a body add to its inertia, times h: CAL_RESISTING · W a block, Θ, H by columns and M as aba has
    // them (aba_body.h); NULL: there is no medium.
    double* resisting;
    // Of aba, CAL_ABA_RESPONSE · W a block: for those who want the mass matrix factored as well (mass_factor.h); NULL: nobody.
    double* responses;
    const cal_riders* riders; // of aba: rows that go inbound along one column, where responses are left; NULL: none
    double* records;          // walked programs: record_doubles(kind) · W a block, kept between the walks
    double* scratch;          // walked programs: the stack
    double* workspace;        // swept programs: node_doubles a node
    cal_reuse reuse;
    double* result;                   // swept programs: energy (2) and momentum (6), or the mass matrix
    const cal_solver_ops* solver_ops; // NULL where no solver rides along
    cal_solver_context* solver;
    void* own;  // of programs with an arrangement
    int* unmet; // where such a program says which constraint it could not meet
} cal_context;

typedef void cal_kernel(const cal_context* context, int column);

// Kernels come in variants: of width 1 for any processor, of width 2, 4 and 8, and of width 1 with fused multiply-add.
enum { CAL_VARIANTS = 5 };

// Numbers in the scratch memory that an edge carries.
typedef struct cal_crossing {
    size_t at;
    int count;
} cal_crossing;

typedef struct cal_pass {
    const char* name; // "aba.inertia": in traces, plans, reports
    cal_tree_kind tree;
    cal_direction direction;
    cal_kernel* kernels[CAL_VARIANTS]; // NULL: not for this width
    cal_kernel* pulls[CAL_VARIANTS];   // inbound, walked: adds what column left in its slot to its parent's end
    bool for_solver;                   // left out where no solver rides along
    bool for_own_tree;                 // left out where the program's own tree is empty
    int crosses;                       // doubles that a cut edge must carry, for a joint of one degree
    // What an edge of the program's own tree carries.
    cal_crossing (*crossing)(const cal_arrangement* arrangement, int edge);
    struct {
        double flops, bytes; // a joint of one degree; a test recounts the flops
    } cost;
} cal_pass;

typedef struct cal_program {
    const char* name;
    const char* help;
    bool walked;
    bool spreads;  // swept: kernels read and write as law 1 says, so that subtrees can be swept on several cores
    bool solves;   // has accelerations: reads tau, controls and wrenches (also: inverse dynamics reads wrenches)
    bool implicit; // adds context->implicit to armatures
    bool mixes;    // walked: columns may be mixed (layout.h)
    bool keeps;    // heeds context->reuse
    bool repeats;  // walked: its trunk can be computed by every processor (layout/trunk.c)
    cal_status (*accepts)(const cal_model* model, cal_error* error); // NULL: every model
    int node_doubles;                                                // workspace of swept programs
    int (*record)(int kind); // walked programs: doubles that a node keeps between the walks
    int brief;               // of brief columns (layout.h): the same; 0: there are none
    int axes;                // and what the columns above them keep for them, at their ends
    uint32_t fields;         // bit set of cal_field
    const cal_pass* passes;
    int pass_count;
    void (*finish)(const cal_context* context); // NULL: nothing; after the last pass, on one core
    const cal_arrangement_ops* arrangement;     // NULL: the columns of the model are all it needs
} cal_program;

extern const cal_program cal_program_aba, cal_program_armstrong, cal_program_assembly, cal_program_rnea,
    cal_program_crba, cal_program_kinematics, cal_program_energy;
// What crba has of M, without forward dynamics, and kinematics of where bodies are, without how fast; in no list.
extern const cal_program cal_program_mass, cal_program_places;
// NULL when there is none of that name.
const cal_program* cal_find_program(const char* name);

// Children of a node in the order of the tree; pass the last child to cal_next_child; -1 when there are no more.
CAL_DEVICE static inline int cal_first_child(const cal_model* model, int node) {
    return node + 1 < model->nodes[node].end ? node + 1 : -1;
}
CAL_DEVICE static inline int cal_next_child(const cal_model* model, int node, int child) {
    const int next = model->nodes[child].end;
    return next < model->nodes[node].end ? next : -1;
}
