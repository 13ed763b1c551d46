// The figures of Armstrong's experiments: their links as a tree, who gets which of them, and models of them.
#pragma once
#include "calder/calder.h"
#include "tree_schedule.h"

// Links in the order of generations: parents come first, and so does what is started first.
typedef struct cal_link_tree {
    int count, limb_count, path_count;
    int32_t* joint;  // of each link: its joint in the model
    int32_t* parent; // link; -1: the ground
    int32_t* limb;   // a run of links without a fork
    int32_t* path;   // to a leaf: goes on with the tallest child
    int32_t* generation;
} cal_link_tree;
// False when there is no memory.
bool cal_link_tree_create(const cal_model* model, cal_link_tree* out);
void cal_link_tree_destroy(cal_link_tree* tree);

enum { CAL_MOST_LIMBS = 8, CAL_MOST_LINKS = 64 }; // of figures whose best assignment is looked for

// Schedules of one pass, for the model of the machine.
// A processor for each path; every link sends to its children, to other processors first.
void cal_plan_paths(const cal_link_tree* tree, const int* processor_of_path, cal_tree_schedule* out);
// The best of all ways to give paths (one link per process) or limbs (several links per process) to so many processors, the first to
// the first: leaves it planned, and writes each link's processor.
void cal_plan_best(const cal_link_tree* tree, bool several, int processors, const cal_tree_times* times,
                   cal_tree_schedule* out, int* processor_of_link);
// Figures out of phase on three processors each, for so many cycles. The figure is Armstrong's of four generations.
void cal_plan_out_of_phase(const cal_link_tree* tree, int figures, int cycles, cal_tree_schedule* out);

// So many figures side by side that have nothing to do with each other, with each link cut into so many pieces on ball joints. All
// of the base model's bodies must have one joint each. Joint (figure · links + link) · pieces + piece is the base model's joint `link`.
cal_status cal_figures_build(const cal_model* base, int pieces, int figures, cal_model** out, cal_error* error);
