// A model's joints as a tree, and who computes them drawn in characters.
#pragma once
#include "command.h"

typedef struct cal_joint_tree {
    int count;
    int32_t* parent;       // of each joint; -1: the ground
    int32_t* first_child;  // count + 1: [0] is the ground's, [j + 1] joint j's; -1: none
    int32_t* next_sibling; // of each joint; -1: none
    int32_t* order;        // depth first, parents before children
} cal_joint_tree;

// False when there is no memory; destroy takes what there is.
bool cal_joint_tree_create(const cal_model* model, cal_joint_tree* out);
void cal_joint_tree_destroy(cal_joint_tree* tree);

// Prints the tree's chains with the processors that compute them; siblings that are alike are one line, "9 × chain of 5".
// False when there is no memory.
bool cal_joint_tree_draw(const cal_joint_tree* tree, const cal_model* model, const int32_t* processor_of_joint);
