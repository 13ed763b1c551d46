// What `calder bench tree-machine` found, and how it is said.
#pragma once
#include "tree_run.h"

enum { CAL_MOST_TREE_ROWS = 160 };

// A row of the model has `modelled`, a row of this machine `result`.
typedef struct cal_tree_row {
    const char* kind; // "balanced", "one link", "several links", "size", "in phase", "out of phase", "whole"
    bool here;        // on this machine, with its own t_E and t_C; else modelled with the paper's ratio
    int fanout, height, links, figures, processes, processors;
    double ratio;             // t_C / t_E; of all figures together
    double execute, message;  // t_E and t_C, s; 0: only their ratio counts
    double formula, modelled; // speed-ups; 0: none
    double paper;             // the paper's speed-up; 0: none
    double busy;              // share of the processors' time, modelled
    double measured;          // speed-up; 0: not timed, there are more processors than cores
    cal_tree_result result;
} cal_tree_row;

// What one link and one message take here, s: t_E, t_C, and a message between two processes that share a core.
typedef struct cal_tree_costs {
    double execute, message, local;
} cal_tree_costs;

typedef struct cal_tree_table {
    const char* machine; // "threads" or "mpi"
    int cores, processes;
    cal_tree_costs costs; // of one figure
    cal_tree_row rows[CAL_MOST_TREE_ROWS];
    int count;
} cal_tree_table;

// The smallest number of links, or of figures in one of the three ways, from which on several processors are faster than one; 0: none
// of those that were tried.
int cal_tree_pays_from(const cal_tree_table* table, const char* kind);
void cal_tree_print(const cal_tree_table* table);
void cal_tree_print_json(const cal_tree_table* table);
// Figures 5, 7 and 8 and the sizes from which it pays, as SVG. Returns CAL_EXIT_DONE or complains.
int cal_tree_draw(const cal_tree_table* table, const char* path);
