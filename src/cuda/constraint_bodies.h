// What kernels have of constraints (constraint/constraint.h): the host's own sources, for one instance per thread. What the host chooses by width, by plan or by place is a thread's here. Include after cuda/kernel.h.
#pragma once
#include "pass/joint_force_columns.h"
#include "pass/node_motion_body.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "model/displacement.h"
#include "constraint/constraint.h"
#include "constraint/constraint_matrix.h"
#include "constraint/directions.h"
#include "pass/row_nodes.h"
#include <stddef.h>

#include "pass/mass_answers_body.h"
#include "pass/wrench_body.h"
#include "pass/mass_rows_body.h"
#include "pass/constraint_rows_body.h"
#include "pass/constraint_kinds_body.h"
#include "pass/path_step.h"
#include "pass/path_segments_body.h"

CAL_DEVICE static void find_segments(const cal_joint_path* path, int variant, const double* q, const double* v,
                                     const cal_joint_path_rates* rates, double* segments) {
    (void)variant;
    move_all_segments(path, q, v, rates, segments);
}
CAL_DEVICE static void press_joints(const cal_joint_path* path, int variant, const double* q, const double* wrenches,
                                    const cal_joint_path_load* load, double* out) {
    (void)variant;
    press_all_segments(path, q, wrenches, load, out);
}
#include "pass/path_motion_body.h"

CAL_EVERYWHERE void cal_node_motions(const cal_model* model, int variant, const double* q, const double* v, bool moved,
                                     int first, int end, cal_node_motion* out) {
    (void)variant;
    for (int n = first; n < end; n++) {
        const cal_node* node = &model->nodes[n];
        const cal_node_motion* parent = node->parent < 0 ? ground_motion() : &out[node->parent];
        double sine = 0.0, cosine = 1.0;
        if (node->kind == CAL_REVOLUTE) lane_sincos(q[node->first_q], &sine, &cosine);
        if (moved) place_motion(node, parent, q + node->first_q, sine, cosine, &out[n]);
        find_node_velocity(node, parent, v + node->first_v, &out[n]);
    }
}

// --- The mass matrix ----------------------------------------------------------------------------------------------------------

// Of the thread's lane; the numbers of an execution stay where they are.
CAL_EVERYWHERE void cal_mass_factor_borrow(cal_mass_factor* tree, const cal_context* context) {
    const cal_layout* layout = context->layout;
    tree->given = context;
    if (tree->listed) return;
    tree->listed = context;
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        const size_t record = (size_t)cal_aba_record(column->kind) * CAL_WIDTH;
        for (size_t b = 0; b < (size_t)column->block_count; b++) {
            const size_t l = (size_t)CAL_OWN_LANE, block = (size_t)column->first_block + b;
            const int32_t n = layout->block_nodes[block * CAL_WIDTH + l];
            tree->joints[n].record = context->records + column->record + b * record + l;
            tree->joints[n].response = context->responses + block * CAL_ABA_RESPONSE * CAL_WIDTH + l;
        }
    }
}

CAL_EVERYWHERE void cal_mass_factor_give_shares(const cal_mass_factor* tree, const cal_context* context,
                                                const double* share, int part, int parts) {
    (void)context, (void)part, (void)parts; // there is one
    for (int n = 0; n < tree->model->node_count; n++) {
        const cal_joint_numbers* joint = &tree->joints[n];
        double* k = (double*)joint->record + CAL_ABA_K * CAL_WIDTH;
        *k += sqrt(joint->response[CAL_ABA_OVER * CAL_WIDTH]) * share[tree->first_v[n]];
    }
}

CAL_EVERYWHERE void cal_mass_factor_inbound(cal_mass_factor* tree, int variant, const cal_row* rows, int count,
                                            const int32_t* nodes, int node_count, double* y, size_t stride) {
    (void)variant;
    for (int done = 0; done < count; done++)
        take_any_rows(tree, rows + done, 1, nodes, node_count, y + (size_t)done * stride, stride);
}

CAL_EVERYWHERE void cal_mass_factor_outbound_rows(cal_mass_factor* tree, int variant, const double* share, int count,
                                                  double* out) {
    (void)variant;
    for (int done = 0; done < count; done++) give_rates(tree, share + done, (size_t)count, out + done);
}

// --- Constraints ----------------------------------------------------------------------------------------------------------------

#include "pass/row_noise_body.h"
#include "constraint/skyline_body.h"
#include "constraint/triangle_solve_body.h"
#include "constraint/constraint_body.h"
#include "constraint/directions_body.h"

// Last: their macros are names of members above.
#include "pass/mass_factor_body.h"
#include "pass/columns.h"
#include "pass/aba_columns.h"
#include "pass/mass_factor_columns.h"

// By an execution of aba, or in the columns of the group, whose lane is the thread's.
CAL_EVERYWHERE void cal_constraints_factor_mass(cal_constraints* set) {
    if (set->given) {
        cal_mass_factor_borrow(&set->tree, set->given);
        set->given = NULL;
        return;
    }
    set->tree.given = NULL;
    if (!set->whole) cal_constraints_evaluate(set, set->at_q, set->at_v);
    for (int i = set->within->layout->column_count - 1; i >= 0; i--)
        LANE(factor_column)(set->within, &set->within->layout->columns[i]);
}
