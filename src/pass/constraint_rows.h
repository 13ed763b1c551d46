// Constraints as rows: scalar equations on the motion of a few nodes, all kinds alike.
//
// A row touches up to four nodes (a coupling of two joints touches two and their parents; most rows touch one or two).
// With, for each of them, the angular velocity ω, the velocity u of its origin, the angular acceleration α and the
// acceleration a of its origin, all classical (of the material point) and in the world's axes,
//
//     φ(q)                                       = error    position; 0 for rows on velocities only
//     ∑ᵢ momentᵢ · ωᵢ + forceᵢ · uᵢ              = speed    its time derivative, or what must not slip
//     ∑ᵢ momentᵢ · αᵢ + forceᵢ · aᵢ + bias       = 0        its second derivative
//
// (of a prescribed motion f(t): φ = q − f, so that speed has −ḟ in it, and bias −f̈)
//
// and a multiplier λ acts on node i with the force λ forceᵢ at its origin and the moment λ momentᵢ. What touches the ground
// is left out. So whoever knows nodes' motions (articulated bodies, assembly, a dense matrix) can hold any constraint.
#pragma once
#include "base/everywhere.h"
#include "model/model.h"

enum { CAL_ROW_NODES = 4, CAL_CONSTRAINT_ROWS = 6 };

typedef struct cal_row {
    int constraint; // whose row this is
    int node_count;
    int node[CAL_ROW_NODES];
    double moment[CAL_ROW_NODES][3], force[CAL_ROW_NODES][3];
    double error, speed, bias;
    double rate,
        change;     // of a prescribed motion: its velocity and acceleration, which speed and bias have in them already
    bool holonomic; // has an error
} cal_row;

// How a node moves, in the world's axes. Origins are told from a base, a place of the node's tree that never moves: a loop
// far out in the world is then closed as exactly as one at its middle. Zeros will do as well.
typedef struct cal_node_motion {
    double rotation[9]; // rows: node's axes to the world's
    double base[3], origin[3];
    double arm[3];                // from the parent's origin
    double angular[3], linear[3]; // of the node, of its origin
} cal_node_motion;

// The rows that a kind between two frames holds by name, CAL_ROW_X …; none: it is of another kind.
CAL_EVERYWHERE uint32_t cal_constraint_row_bits(const cal_constraint_def* def);
// Of one or two turns (the bits of all, from the first one on): the axis that is free while the turn about `axis` is held.
CAL_DEVICE static inline int cal_constraint_free_axis(uint32_t turns, int axis) {
    const int next = (axis + 1) % 3, last = (axis + 2) % 3;
    return turns >> last & 1 ? next : last;
}

// Motions of nodes first … end - 1, those above them known, at q and v (the user's order), parents first. variant: of the kernels (pass.h), the same bits from all; moved:
// q is another one than that of `out`, else only velocities are found.
CAL_EVERYWHERE void cal_node_motions(const cal_model* model, int variant, const double* q, const double* v, bool moved,
                                     int first, int end, cal_node_motion* out);

// Kinetic and potential energy at these motions, but for that of forces that depend on several joints at once (coupled_force.h).
double cal_motions_energy(const cal_model* model, const cal_node_motion* motions, const double* q, const double* v);

// The rows of one constraint at these motions and joint values, and at a time; returns how many (cal_constraint_rows).
int cal_constraint_make_rows(const cal_model* model, int constraint, double time, const cal_node_motion* motions,
                             const double* q, const double* v, cal_row* rows);
// The same for those who ask again and again: with the constraint's frames a and b in their nodes' frames, which never change, and its
// number of rows.
void cal_constraint_find_frames(const cal_model* model, int constraint, cal_mount frames[2]);
CAL_EVERYWHERE int cal_constraint_make_rows_at(const cal_model* model, int constraint, const cal_mount frames[2],
                                               int count, double time, const cal_node_motion* motions, const double* q,
                                               const double* v, cal_row* rows);
