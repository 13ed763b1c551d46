// Where each node's numbers live, for one width of lanes.
//
// A *block* is W lanes. A *column* is a run of blocks that a kernel walks along with its state in registers:
//
//   wide column   lanes across the breadth: block k + 1 holds the only children of block k, lane under lane.
//                 Lanes may die on the way down (a chain that ends), never be born. Where at most half of 8 lanes
//                 are alive they sit in the first half, and kernels work on that half alone.
//
//                     block 0   a0 a1 a2 a3
//                     block 1   b0 b1 b2 b3       b_i is a child of a_i
//                     block 2   c0 -- c2 c3
//
//   long column   one chain: its nodes fill the lanes of block after block. What does not recur along the chain is
//                 computed W joints at a time, the recurrence itself joint by joint.
//
//                     block 0   a b c d           b is a's only child, c is b's …
//                     block 1   e f
//
//   mixed column  lanes across branches that differ: each lane has a parent of its own, in any column that came before.
//
//                     block 0   a b c d           parents of a, b, c and d: lanes of four columns, or of one
//                     block 1   e f g h           e is a's only child …
//
// All nodes of a column have one kind of joint. The children of a column's last block (or last node) that are not its
// continuation are packed into child columns: kind by kind, rank by rank, in the order of their parents' lanes; a first
// child keeps its parent's lane when it is free. So every column has one parent column, and a node's children come in
// the order of the tree whatever W is. All nodes of a column have one owner, the processor that computes them: a
// column ends where the owner changes.
//
// That suits trees whose branches are alike. Where they are not, few lanes would be alive, and branches are mixed
// (mixed.c): below columns that nothing of other processors hangs on, runs of only children are taken as they become
// ready, W of one kind and of like length at a time. A column's lanes then read their own parents' ends, and a parent
// gathers what its children left, in the order of the tree: the sums, and the bits, are the same. Of W branches of one shape, a
// *bundle*, only the first column is mixed (bundles.c).
//
// The numbers of a block are stored component by component, W lanes each: component c of lane l is at
// offset + c · W + l. A long column's blocks are stored the same way. With W = 1 every column is wide.
//
// Dead lanes hold a massless body with a unit armature, so that they stay finite and add nothing to anybody.
#pragma once
#include "base/parts.h"
#include "base/per_lane.h"
#include "model/model.h"

#define CAL_MAX_LANES 32

typedef struct cal_column {
    int32_t first_block, block_count;
    int32_t node_count; // long columns: nodes in the chain
    int32_t kind;       // cal_joint_kind of every node
    int32_t owner;      // the processor whose column it is
    int32_t last;       // of the trunk: it is computed by all processors from its first copy's owner to this one
    int32_t source; // -1, or of a stand-in, which has no blocks: the column of another processor whose slot is pulled
    int32_t signal; // of a stand-in: the column that is posted when its source's slot is filled; else -1
    int32_t parent; // column, or -1: the ground
    int32_t child_count;              // child columns
    int32_t child_index;              // which of its parent's child columns this is
    int32_t first_extra, extra_count; // limits, actuators, ball springs of the column's nodes
    size_t constants;                 // first double of its constants, which equal columns share
    size_t record;                    // first double of its records, which programs that walk keep between their walks
    size_t scratch; // stack position, in doubles: CAL_SCRATCH_COUNT · W a block, for what lives only within a walk
    size_t
        end_slot; // stack position: what children read (CAL_DOWN_COUNT · W), then what they add to (CAL_UP_COUNT · W)
    size_t up_slot;  // stack position where the column leaves what its parent pulls (CAL_UP_COUNT · W)
    size_t sum_slot; // the same for a solver's sums: elsewhere where others may still read up_slot
    int8_t lanes;    // that kernels work on: 1 (long), W, or W / 2 where no more are alive and W = 8; devices: W = 32
    int8_t parent_lanes; // of the column above; 1 for the ground
    bool is_long;
    bool shared;                       // some column below has another owner: children are pulled when all are there
    bool repeated;                     // a further copy of a trunk column, whose first one counts
    bool has_passive;                  // some node has damping or a spring of one degree
    int8_t parent_lane[CAL_MAX_LANES]; // of each lane of the first block; -1 for a dead lane
    int8_t pull_order[CAL_MAX_LANES];  // live lanes of the first block in the order in which their parents add them
    int8_t pull_count;
    int8_t
        round_count; // of a wide column below a wide one with no more lanes, but not lane under lane: in so many rounds parents' lanes add one child each,
    int32_t first_round; // lane layout->rounds[(first_round + round) · W + parent's lane] of this one, or -1: none
    bool aligned;        // every live lane hangs under its own lane
    bool mixed;          // every lane has a parent of its own, at layout->parents[first_parent + lane]
    bool gathers; // its children are in mixed columns: lane l's k-th is layout->pulls[first_pull + k · lanes + l]
    int32_t first_parent, first_pull, most_pulls; // k < most_pulls
    size_t row_slot;                              // where children are gathered: the rows that they read
    int32_t group;                                // of mixed columns, and those below: which part of the walk (mixed.c)
    int32_t bundle;                               // which of its group's bundles (bundles.c); 0: none
    bool hangs;       // some lane's parent is not in its group, and gathers when other groups have been walked
    bool based;       // on the ground, but each lane with a motion of its own there (schedules)
    bool alike;       // devices: all lanes have the same constants, so that one lane's serve all
    bool brief;       // it keeps less between the walks, and finds the rest anew (pass/aba_brief.h)
    size_t axes;      // of a column that brief ones hang on: where its records hold the axes at its end; 0: nobody asks
    size_t base_slot; // stack position of what a column on the ground reads; 0: the ground's own, at rest
} cal_column;

// A scalar force on one lane's degree of freedom that is not linear: the rare ones, kept out of the lanes.
typedef enum cal_nonlinear_force_kind {
    CAL_NONLINEAR_LIMIT,
    CAL_NONLINEAR_ACTUATOR,
    CAL_NONLINEAR_BALL_SPRING,
    CAL_NONLINEAR_FRICTION
} cal_nonlinear_force_kind;
typedef struct cal_nonlinear_force {
    int32_t kind;
    int32_t y, v;   // positions of the (first) q component in y, of the (first) v component in the v vectors
    int32_t v_in_y; // position of the (first) v component in y
    int32_t index;  // joint or actuator
    int32_t copy;   // which instance of the model
} cal_nonlinear_force;

// What crosses edges to mixed columns lies lane by lane, since neighbours do not go together: a row of so many doubles for each lane of
// the column that leaves it, down and up. On devices, where every lane is a thread, it lies as elsewhere.
enum { CAL_DOWN_ROW = 24, CAL_UP_ROW = 32 };
// What a lane without a child adds to its sums: −0, which changes no number. It stands in layout->pulls as CAL_NO_ROW.
extern const double cal_nothing[CAL_UP_ROW];
#define CAL_NO_ROW SIZE_MAX

// A block of a trunk column's first copy, and the same of another one.
typedef struct cal_twin {
    int32_t from, to;
} cal_twin;

typedef struct cal_layout {
    const cal_model* model;
    int width;          // W
    int copies;         // instances of the model side by side; 1 but for ensembles
    int processors;     // owners of columns are 0 … processors - 1; the ground is 0's
    int keep;           // the processor whose numbers this memory holds, or CAL_KEEP_ALL
    bool ground_shared; // as cal_column.shared, for the ground
    bool repeats;       // the trunk's columns are everybody's who has something below them (trunk.c)
    bool mixes;         // some columns may be mixed
    bool by_lane;       // devices: a thread has a lane
    bool uniform;       // devices: the lanes of a block are copies of one node
    int column_count, block_count, extra_count;
    cal_column* columns; // in walking order: parents before children, depth first
    int parent_count;
    int32_t* parent_columns; // of mixed columns' lanes
    size_t *parents, *pulls; // of mixed columns: the rows in the stack that lanes read, and those that lanes gather
    int8_t* rounds;          // cal_column.first_round; NULL: no column has any
    int32_t* block_nodes;    // block_count × W: node (copy · node_count + node), -1 for a dead lane
    int32_t* block_y;        // block_count + 1: first double of the block in y-shaped vectors
    int32_t* block_v;        // block_count + 1: first double of the block in v-shaped vectors
    cal_nonlinear_force* extras;
    int32_t*
        lane_extras; // devices: column_count × W + 1: the first of each lane's extras, which follow each other; else NULL
    size_t y_size, v_size; // doubles in y-shaped (q then v of each block) and v-shaped vectors
    size_t scratch_size;   // doubles of the stack; the ground's own slots are at its bottom
    double* constants;     // of columns, CAL_CONSTANT_COUNT · W a block; NULL where nobody reads them
    double* passive;       // 3 × v_size: damping, stiffness, spring reference; NULL when nobody has any
    int32_t* q_position;   // copies × q_count: where the user's q is in y
    int32_t* v_position;   // copies × v_count: where the user's v is in y
    int32_t* tau_position; // copies × v_count: where the user's tau is in v-shaped vectors
    bool
        runs; // of q and v: W of the user's numbers at a time, from the first on, follow each other in y, as a chain's do
    cal_twin* twins; // blocks of trunk columns and their copies in this memory, in the order of `from`
    int twin_count;
} cal_layout;

// What a block's constants are, in this order: rotation (9, rows), offset (3), mass, moment (3), second moment (6), armature.
// The second moment Σ of a ball or a free joint is xx, yy, zz, xy, xz, yz; of a joint of one degree, whose xy is zero,
// ½(xx − zz), ½(yy − zz), zz, 0, xz, yz.
enum {
    CAL_CONSTANT_ROTATION = 0,
    CAL_CONSTANT_OFFSET = 9,
    CAL_CONSTANT_MASS = 12,
    CAL_CONSTANT_MOMENT = 13,
    CAL_CONSTANT_SECOND = 16,
    CAL_CONSTANT_ARMATURE = 22,
    CAL_CONSTANT_COUNT = 23
};

// The stack of a walk: every column on the way from the ground to the one that is being worked on has a frame
//
//     | scratch of its blocks | end: for its children to read | sum: for its children to add to | slots of its children |
//
// and the ground has one without blocks at the bottom. A child's frame begins where its parent's ends, and one slot serves
// all children in turn. Shared columns, which wait for other processors, have frames for good, with a slot for each child;
// where frames are lasting all columns have.
// What crosses an edge is packed by the column's own lanes: component i of lane l is at i · lanes + l; the ground has one.
// Every processor has a stack of its own; where memory is not shared it also has frames of the columns above its own.
// Where the trunk is repeated every slot has room for sums beside what crosses in the walk before: nobody waits for its readers.
enum { CAL_SCRATCH_COUNT = 15, CAL_DOWN_COUNT = 18, CAL_UP_COUNT = 27, CAL_MAX_SUMS = 8 };

// What a brief column has on the stack beside the scratch of its blocks, where others have frames for their children.
enum { CAL_BRIEF_SCRATCH = 6 };
// Whether a column can be brief: a wide one of joints with one degree of freedom, with no children, below one of the same owner.
static inline bool cal_column_can_be_brief(const cal_layout* layout, const cal_column* column) {
    return column->child_count == 0 && !column->is_long && !column->mixed && !column->shared && column->source < 0 &&
           (column->kind == CAL_REVOLUTE || column->kind == CAL_PRISMATIC) && column->parent >= 0 &&
           !layout->columns[column->parent].mixed && layout->columns[column->parent].owner == column->owner;
}

enum { CAL_KEEP_ALL = -1 };
// cal_column.group: 0 of columns that are not mixed, then the top, then the groups below it.
enum { CAL_GROUP_TOP = 1 };

// What to lay out: owners gives each node's processor; NULL: all are processor 0's. lasts: each node is computed by all processors from
// owners to lasts, among which are those of its children; NULL: by its owner alone.
typedef struct cal_layout_def {
    const cal_model* model;
    int width, copies, processors, keep;
    bool constants; // whether kernels read layout->constants
    bool by_lane;   // devices: a thread has a lane, so the extras of a lane follow each other
    bool mixes;     // columns may be mixed, where that fills more lanes
    bool lasting;   // every column has a frame for good, so that columns of one depth can be worked on at the same time
    const int32_t *owners, *lasts;
} cal_layout_def;

cal_status cal_layout_create(const cal_layout_def* def, cal_layout** out, cal_error* error);
void cal_layout_destroy(cal_layout* layout);
// Fills layout->constants and the columns' places in it (constants.c); part of making a layout.
cal_status cal_layout_fill_constants(cal_layout* layout);
// Fills layout->extras (extras.c); part of making a layout.
cal_status cal_layout_fill_extras(cal_layout* layout);
// After numbers were written to the first copies of trunk columns, by position: gives them to the others. Of y-shaped vectors, of v-shaped.
void cal_layout_repeat_y(const cal_layout* layout, double* y);
void cal_layout_repeat_v(const cal_layout* layout, double* v);

// --- The user's order (user_order.c) ---------------------------------------------------------------------------------------
// Moves numbers between the user's order and a y-shaped vector of instance `copy`; q and v may be NULL.
void cal_layout_scatter(const cal_layout* layout, int copy, const double* q, const double* v, double* y);
void cal_layout_gather(const cal_layout* layout, int copy, const double* y, double* q, double* v);
// The same for the numbers of one column, of instance 0.
void cal_layout_gather_column(const cal_layout* layout, const cal_column* column, const double* y, double* q,
                              double* v);
void cal_layout_scatter_column(const cal_layout* layout, const cal_column* column, const double* q, const double* v,
                               double* y);
// The first node, in the order of the tree, of which y or ydot is not finite in instance `copy`; -1: none that is here.
int cal_layout_find_not_finite(const cal_layout* layout, int copy, const double* y, const double* ydot);
// What an evaluation takes for a column, ns of one machine: what matters is how columns compare.
double cal_layout_price_column(const cal_column* column);
// How many columns are above each one, of all its lanes at most.
CAL_FOR_PARTS void cal_layout_find_depths(const cal_layout* layout, int32_t* depth);
// The child columns of each column (-1: of the ground) as lists: first[column + 1], then next[child]; -1 ends a list.
CAL_FOR_PARTS void cal_layout_link_children(const cal_layout* layout, int32_t* first, int32_t* next);

CAL_DEVICE static inline bool cal_layout_keeps(const cal_layout* layout, const cal_column* column) {
    return layout->keep == CAL_KEEP_ALL || layout->keep == column->owner;
}

// Where the trunk is repeated: whether the column is the root of a processor's private subtree, whose slot others pull.
static inline bool cal_column_is_shown(const cal_layout* layout, const cal_column* column) {
    return !column->shared && column->source < 0 && (column->parent < 0 || layout->columns[column->parent].shared);
}

CAL_DEVICE static inline int cal_kind_q(int kind) { return kind == CAL_FREE ? 7 : kind == CAL_BALL ? 4 : 1; }
CAL_DEVICE static inline int cal_kind_v(int kind) { return kind == CAL_FREE ? 6 : kind == CAL_BALL ? 3 : 1; }
