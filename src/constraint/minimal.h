// Constrained motion without multipliers: Bicchi's second form, projected on what the constraints allow.
//
// The columns of S(q) are an orthonormal basis of the velocities that the constraints allow, A S = 0 and q̇ = S ν. With them
// q̈ = S ν̇ + Ṡ ν, and Sᵀ, which annihilates Aᵀλ, leaves of B q̈ + h = Q + Aᵀλ
//
//     Sᵀ B S ν̇ = Sᵀ (Q − h − B Ṡ ν)                 as many equations as there are degrees of freedom left
//
// Ṡ need not be known: what S ν̇ does not hold of q̈ is its part across S, which A alone decides, A Ṡ ν = −Ȧ q̇ (+ f where the
// constraints are stabilised). It is found for u = q̈ − q̈₀, what the constraints add to the accelerations without them:
//
//     A u = f − Ȧ q̇ − A q̈₀ = r,  Sᵀ B u = 0         u = u_r + S w,  Sᵀ B S w = −Sᵀ B u_r
//
// Householder's reflections with pivoting give all parts from the rows, scaled to length one:
//
//     Aᵀ P = (Q₁ S) (R; 0),  u_r = Q₁ R⁻ᵀ Pᵀ r      rows whose pivot is below √shift depend on others: they are suppressed,
//                                                   as the paper does with hyperstatic systems
//
// Each degree of freedom is measured by its own inertia: x_i = √B_ii q̇_i in the place of q̇_i, A and B in these units. Slides and turns of
// a millimetre and of a kilometre have numbers of one size then, and masses that are far apart too: what of a row is left beside others, and how Sᵀ B S is
// conditioned, does not depend on the unit of length.
//
// Trees that no row connects have nothing to do with each other: each such part has an S of its own. Within a part all is dense, and B, from
// composite bodies, is dense as a whole: work grows with the cube of a part's degrees of freedom, memory with the square of all.
// Where S turns with q, so does ν; it is not integrated. Steps are taken in q and q̇, like those of the other form, so that all
// solvers serve both.
#pragma once
#include "constraint/constraint.h"
#include "constraint/free_space.h"
#include "plan/plan.h"

// Trees that rows connect. Where its numbers begin: in the list of degrees of freedom, in that of rows, in arrays of squares.
typedef struct cal_minimal_part {
    int first_dof, dof_count, first_row, row_count, rank;
    size_t first_column, first_square;
} cal_minimal_part;

typedef struct cal_minimal {
    const cal_model* model;
    cal_machine* machine; // of composite bodies
    cal_plan* plan;
    cal_state* state;
    int tree_count, part_count;
    int32_t* tree_of_node;
    int32_t* tree_of_dof;
    int32_t* part_of_tree;
    cal_minimal_part* parts; // one a tree at most
    int32_t *dofs, *rows;    // of parts, one after the other
    double* inertia;         // B of all, and behind it the other arrays of squares
    double* unit;            // of each degree of freedom, 1 / √B_ii; what follows is in these units
    double* row;             // of A
    double *length, *scale;  // of each row
    double* right;           // what a part's rows ask for
    // Of each part (free_space.h): B; Aᵀ, then R and reflections; S; Lᵀ with Sᵀ B S = L Lᵀ.
    double *mass, *columns, *basis, *root;
    double *diagonal, *factor; // by rows, by degrees of freedom
    int32_t* order;
    double *product, *line, *sums;
    double *u, *force; // v_count; in the order of the parts until all is known
    double* motion;    // v_count
    int freedom;       // v_count − the rank of all
    int missed;        // a constraint that the motion does not keep; CAL_NONE: there is none
} cal_minimal;

// Constraints that become active later are provided for.
cal_status cal_minimal_create(const cal_constraints* set, cal_minimal** out);
void cal_minimal_destroy(cal_minimal* minimal); // NULL is allowed

// As cal_constraints_hold: adds B u = Aᵀλ to tau. It leaves u, in the user's units, in `motion`. CAL_NOT_AVAILABLE: masses are so far apart that rows
// which are independent seem to follow from others (missed).
cal_status cal_minimal_hold(cal_minimal* minimal, cal_constraints* set, const double* q, const double* v,
                            const double* qdd, cal_stabilization law, double gain, double shift, double* tau);
// After that: S, orthonormal in the user's units, and Sᵀ B S. Either may be NULL. It takes the room of `motion`.
void cal_minimal_show(cal_minimal* minimal, double* basis, double* mass);
