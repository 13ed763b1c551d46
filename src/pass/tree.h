// A tree that passes go over, as the processors of a machine walk it: every processor has a list of steps.
//
// The columns of a layout are such a tree, walked down and then up. A processor's part of it has three stretches: its shared
// columns down; its private subtrees, each down and up; its shared columns up, children before parents.
//
//     processor 0   down trunk ─ down a ─┬─ (subtrees of a, down and up) ─┬─ up a ─ up trunk
//                                        │                                │
//     processor 1                        └─ (other subtrees of a) ────────┘
//
// A program can have a second tree (pass/arrangement.h), walked up and then down. In either the steps of all processors together
// are one order in which everything comes after what it needs; each keeps that order, so none can wait for something that
// will not come.
#pragma once
#include "layout/layout.h"

typedef enum cal_direction { CAL_OUTBOUND, CAL_INBOUND } cal_direction;

typedef enum cal_tree_kind { CAL_TREE_COLUMNS, CAL_TREE_OWN, CAL_TREE_KINDS } cal_tree_kind;

// `index` is the column (or item of another tree) to work on; of steps that wait and post it is the edge. Between columns that
// is, down, the column whose end is read, and up, the column that leaves something for its parent.
typedef enum cal_step_kind {
    CAL_STEP_WAIT_DOWN, // until what another processor leaves above the edge is there
    CAL_STEP_DOWN,
    CAL_STEP_POST_DOWN, // it is there, for other processors
    CAL_STEP_WAIT_UP,   // until what another processor leaves below the edge is there
    CAL_STEP_PULL,
    CAL_STEP_UP,
    CAL_STEP_POST_UP,
    CAL_STEP_WAIT_SUMS, // the same on the ground, which takes a solver's sums alone
    CAL_STEP_POST_SUMS,
    CAL_STEP_WAIT_COPY, // of a copy of a trunk column: as the first two, but not for sums, which the first copy's processor adds up
    CAL_STEP_PULL_COPY
} cal_step_kind;
typedef struct cal_step {
    int32_t kind, index;
} cal_step;

// The processors below and above an edge between two.
typedef struct cal_edge {
    int32_t lower, upper;
} cal_edge;

typedef struct cal_tree {
    cal_direction begins; // which way a walk goes first
    cal_step* steps;      // processor by processor; NULL: the tree has nothing in it
    int32_t* first_step;  // processors + 1
    int32_t edge_count;   // indices of edges are below it
    cal_edge* edges;      // NULL: between columns, the layout has them
    bool gathers; // a walk reads what all processors have left in the stage before, not only below its own edges
} cal_tree;

// Writes steps: `emit` is called twice, to count them and to write them, and says every step with cal_steps_say.
typedef struct cal_step_writer {
    cal_tree* tree;
    int32_t* next; // per processor: where its next step goes
    bool writes;
} cal_step_writer;
typedef void cal_emit_steps(cal_step_writer* writer, const void* argument);
cal_status cal_steps_write(cal_tree* tree, int processors, cal_emit_steps* emit, const void* argument);
static inline void cal_steps_say(cal_step_writer* writer, int processor, cal_step_kind kind, int index) {
    if (writer->writes) writer->tree->steps[writer->next[processor]] = (cal_step){(int32_t)kind, index};
    writer->next[processor]++;
}
void cal_steps_clear(cal_tree* tree);
