// The mass matrix of a tree, factored once, so that the answer to any forces costs linear time (articulated bodies).
//
// In the world's axes, about each node's own origin, with S a joint's axes and I the inertia of a node and all that hangs
// below it while its joints give way,
//
//     U = I S    D = Sᵀ U + armature = C Cᵀ    I_parent += Xᵀ (I − U D⁻¹ Uᵀ) X       leaves to root
//
// A wrench on a node goes inbound, and leaves at each joint y = C⁻¹ Sᵀ f; what goes on is f − U D⁻¹ Sᵀ f. These y are
// C⁻¹ L⁻ᵀ Jᵀ of the factorisation M = Lᵀ C Cᵀ L, so that
//
//     J M⁻¹ Jᵀ = Yᵀ Y
//
// needs the way inbound alone, and of that only the nodes between the wrench and its root.
#pragma once
#include "base/everywhere.h"
#include "pass/constraint_rows.h"
#include "pass/variants.h"

enum { CAL_MASS_FACTOR_INERTIA = CAL_RESISTING };

// Where an execution of aba has a joint's numbers.
typedef struct cal_joint_numbers {
    const double *record, *response; // of its lane; the next number of it is a block's width further
} cal_joint_numbers;

typedef struct cal_mass_factor {
    const cal_model* model;
    const cal_node_motion* motions; // where the matrix is wanted: the caller's
    double *axes, *response,
        *root; // S, V = U C⁻ᵀ (6 a degree of freedom, one after the other), C (rows, its diagonal inverted)
    double*
        inertia; // 36 a node: the first 21 are what it leaves for its parent, where that is in another column; then scratch
    double* arm;               // 3 a node: from the parent's origin
    double* wrench;            // 6 a node: moment, force; what a solve consumes
    double* motion;            // 6 a node: scratch; inbound what a node passes on, outbound its motion
    double* share;             // v_count: scratch
    int32_t* after;            // node_count: scratch
    int32_t* first_v;          // of each node
    bool in_order;             // degrees of freedom are one per node, in the order of nodes
    const cal_context* given;  // NULL: the factors are in the arrays; else rows go inbound with what this execution has
    const cal_context* listed; // the one that `joints` are of
    cal_joint_numbers* joints; // of each node
    const double* added;       // v_count: to the diagonal of M, for an implicit step; NULL: nothing
    const double*
        resisting; // CAL_MASS_FACTOR_INERTIA a node: to its inertia, as its joint sees it, for the same (pass.h); NULL: nothing
} cal_mass_factor;

cal_status cal_mass_factor_create(const cal_model* model, cal_mass_factor* out);
void cal_mass_factor_destroy(cal_mass_factor* tree); // its arrays; zeros are allowed

// Factors: one inbound pass over the columns of the model, with the cal_mass_factor as the context's own. It uses shared memory, not
// the edges of the tree, so it is for machines that have that.
extern const cal_program cal_program_mass_factor;
CAL_DECLARE_VARIANTS(cal_mass_factor_kernel);

// The same factors from an execution of aba that has left what it takes (pass.h, responses). For models whose joints have one degree of
// freedom each; joints that no processor of this memory has stay as they are.
bool cal_mass_factor_is_shared(const cal_model* model);
void cal_mass_factor_take(cal_mass_factor* tree, const cal_context* context);
// Those who take rows inbound, or several outbound, read them where they are, until that state is executed again.
CAL_EVERYWHERE void cal_mass_factor_borrow(cal_mass_factor* tree, const cal_context* context);
// Of the same execution, between its walks: k = D⁻¹ u is what joint forces and biases have left at each joint, so that the Sᵀ f of a row times k,
// summed up, is J M⁻¹ (τ − h). Adds C⁻¹ share to k, in the user's order, for what is to be accelerated as well.
// One of `parts` parts of all joints at a time.
CAL_EVERYWHERE void cal_mass_factor_give_shares(const cal_mass_factor* tree, const cal_context* context,
                                                const double* share, int part, int parts);
// There, where factors are lent: a node's angular acceleration and that of its origin if all q̈ were zero, without gravity.
CAL_EVERYWHERE void cal_mass_factor_lent_accelerations(const cal_mass_factor* tree, int node, double out[6]);

// For those who factor with loops (constraint/loop_factor.h): a node's axes S and its own inertia, 36 numbers, in the world's axes about
// its origin.
void cal_mass_factor_axes(const cal_node* node, const double rotation[9], double* out);
void cal_mass_factor_own(const cal_node* node, const double rotation[9], double* out);

// Adds factor times a row's wrenches to tree->wrench.
void cal_mass_factor_add(cal_mass_factor* tree, const cal_row* row, double factor);
// The y of the rows of one constraint, for nodes that contain with each node its parent, in rising order: `stride` doubles per row, one
// per degree of freedom of these nodes. variant: of the kernels (pass.h), the same bits from all.
CAL_EVERYWHERE void cal_mass_factor_inbound(cal_mass_factor* tree, int variant, const cal_row* rows, int count,
                                            const int32_t* nodes, int node_count, double* y, size_t stride);
// M⁻¹ Jᵀ of what tree->wrench holds, in the user's order. Leaves tree->wrench zero.
void cal_mass_factor_solve(cal_mass_factor* tree, double* out);
// The same of what is inbound already: share, one number per degree of freedom in the user's order, is the sum of rows' y times λ.
CAL_EVERYWHERE void cal_mass_factor_outbound(cal_mass_factor* tree, const double* share, double* out);
// The same of several at once: `count` numbers, 1, 2, 4 or 8, per degree of freedom. variant: of the kernels, the same bits from all.
CAL_EVERYWHERE void cal_mass_factor_outbound_rows(cal_mass_factor* tree, int variant, const double* share, int count,
                                                  double* out);
// The diagonal of M⁻¹ in the user's order: what a unit force on each degree of freedom alone accelerates there. Outbound, with K = U D⁻¹
// and Ω a node's response to a wrench on it (36 numbers, in tree->inertia, which the factors do not need any more),
//
//     (M⁻¹)ᵢᵢ = D⁻¹ + Kᵀ X Ω_parent Xᵀ K        Ω = (1 − S Kᵀ) X Ω_parent Xᵀ (1 − K Sᵀ) + S D⁻¹ Sᵀ
void cal_mass_factor_inverse_diagonal(cal_mass_factor* tree, double* out);
// After it: with R what resists a node's motion (`resisting`, above) and Ω its response, the largest ∑ λ² / ∑ λ of a node, λ the eigenvalues of R Ω, of which none
// is below zero: no more than the largest of them, which is no more than the largest of (∑ Jᵀ R J) M⁻¹.
double cal_mass_factor_resisted(const cal_mass_factor* tree, const double* resisting);
// The six rows of such a matrix, added.
void cal_mass_factor_spread(const double* resisting, double* rows);
// Adds Jᵀ of what tree->wrench holds to joint forces in the user's order. Leaves tree->wrench zero.
void cal_mass_factor_joint_forces(cal_mass_factor* tree, double* tau);

// Accelerations (angular, then of the origin, as rows.h has them) of nodes first … end - 1 for joint accelerations, those above them known; 6 a node.
CAL_EVERYWHERE void cal_node_accelerations(const cal_model* model, const cal_node_motion* motions, const double* v,
                                           const double* qdd, int first, int end, double* out);
