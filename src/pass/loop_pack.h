// Constraints that are alike, a lane each: of the same kind, with rows of the same names, on the same side of the ground, and with paths to
// the roots that branch alike over joints of the same kinds. Their rows are made, and taken inbound to Y (mass_factor.h), side by side.
// Lanes do not meet, so that bits are those of one constraint by itself, whatever the width and whoever shares the pack.
#pragma once
#include "pass/mass_factor.h"

// Lanes of a pack; numbers of all joints of a path that a kernel keeps for each lane: 12 k + k² + 3 of one with k degrees of freedom.
enum { CAL_PACK_LANES = 8, CAL_PACK_NUMBERS = 320, CAL_PACK_PLACES = 32 };

// How a row comes about.
typedef enum cal_pack_row_kind { CAL_PACK_DISPLACEMENT, CAL_PACK_TURN, CAL_PACK_DISTANCE } cal_pack_row_kind;
typedef struct cal_pack_row {
    cal_pack_row_kind kind;
    int axis, free; // that it is along or about; of a turn: the axis that is free
} cal_pack_row;

// What the constraints of a pack have in common.
typedef struct cal_pack_shape {
    int row_count, node_count, degrees;
    cal_pack_row rows[CAL_CONSTRAINT_ROWS];
    bool turns, grounded[2]; // b's axes are asked for; frames that sit on the ground
    bool hinges;             // all joints turn about one axis
    // Of the nodes between what is touched and the roots, rising: kinds of joints, places of parents (−1: none here), and those that are
    // touched by a and b (−1: none).
    int8_t joint[CAL_PACK_PLACES], parent[CAL_PACK_PLACES], touched[2];
} cal_pack_shape;

// Where numbers of a pack are, CAL_PACK_LANES each: frames of a and b, the length; per row wrenches on b and a, and its bias.
enum {
    CAL_PACK_ROTATION = 0,
    CAL_PACK_OFFSET = 18,
    CAL_PACK_LENGTH = 24,
    CAL_PACK_WRENCH = 25,
    CAL_PACK_BIAS = CAL_PACK_WRENCH + 12 * CAL_CONSTRAINT_ROWS,
    CAL_PACK_STORE = CAL_PACK_BIAS + CAL_CONSTRAINT_ROWS
};

typedef struct cal_loop_pack {
    const cal_pack_shape* shape;
    int count; // lanes that are used; the others repeat the first one, and write nothing
    int32_t constraint[CAL_PACK_LANES], first_row[CAL_PACK_LANES];
    int32_t node[2][CAL_PACK_LANES];                // of frames a and b
    int32_t nodes[CAL_PACK_PLACES][CAL_PACK_LANES]; // of the paths
    size_t first_y[CAL_PACK_LANES];                 // in the array of all rows' y
    double numbers[CAL_PACK_STORE * CAL_PACK_LANES];
} cal_loop_pack;

// The shape of a constraint between two frames, with its path's nodes, rising; false: it has none, and goes by itself.
bool cal_pack_find_shape(const cal_model* model, int constraint, const cal_mount frames[2], const int32_t* nodes,
                         int node_count, cal_pack_shape* out);
bool cal_pack_same_shape(const cal_pack_shape* a, const cal_pack_shape* b);
// Puts a constraint into the next lane.
void cal_pack_add(cal_loop_pack* pack, const cal_model* model, int constraint, const cal_mount frames[2],
                  const int32_t* nodes, int first_row, size_t first_y);

// What never changes of the rows of a lane.
void cal_pack_begin_rows(const cal_loop_pack* pack, int lane, cal_row* rows);
// The rest of rows at these motions (cal_constraint_make_rows_at). variant: of the kernels (pass.h).
void cal_pack_make_rows(cal_loop_pack* pack, int variant, const cal_node_motion* motions, cal_row* rows);
// What is found of rows that go inbound: y, scaled to length one; of each row the square of y before that, and that of its wrenches.
typedef struct cal_pack_inbound_rows {
    double *y, *squares, *sizes;
    double* drift; // where factors are lent: what the row would accelerate by without constraints (mass_factor.h)
    double length; // that wrenches' moments are compared with forces by
} cal_pack_inbound_rows;
void cal_pack_inbound(const cal_loop_pack* pack, int variant, const cal_mass_factor* tree,
                      const cal_pack_inbound_rows* out);
