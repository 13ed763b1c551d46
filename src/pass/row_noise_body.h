// What rounding leaves of a row (row_rounding.h). Compiled for the host (row_rounding.c) and for devices.
#pragma once
#include "base/everywhere.h"
#include "layout/layout.h"
#include "pass/aba.h"
#include "pass/row_rounding.h"
#include <float.h>
#include <math.h>

// How often a length is rounded per joint on its way, and what a distance of two numbers of the user's is off by.
static const double TIMES = 16.0, ONCE = 2.0 * DBL_EPSILON;

CAL_DEVICE static double rounded(int joints, double size) { return TIMES * joints * DBL_EPSILON * size; }

CAL_DEVICE static double size_of(const double x[3]) { return sqrt(cal_dot3(x, x)); }

// --- Noise -----------------------------------------------------------------------------------------------------------------------

// D⁻¹ of a degree of freedom of a node.
CAL_DEVICE static double answer_of(const cal_node* node, int n, int degree, const double* root,
                                   const cal_mass_factor* tree) {
    const int degrees = cal_kind_v(node->kind);
    if (root) {
        const double over = root[6 * node->first_v + degree * (degrees + 1)];
        return over * over;
    }
    if (!tree) return 1.0;
    return tree->joints[n].response[CAL_ABA_OVER * (size_t)tree->given->layout->width];
}

// How far a slide is out.
CAL_DEVICE static double slide_of(const cal_node* node, const double* q) {
    if (node->kind == CAL_PRISMATIC) return fabs(q[node->first_q]);
    return node->kind == CAL_FREE ? size_of(q + node->first_q) : 0.0;
}

CAL_EVERYWHERE double cal_row_noise(const cal_row_rounding* rounding, const cal_row* row, int stop, const double* q,
                                    const double* root, const cal_mass_factor* tree) {
    const cal_model* model = rounding->model;
    double sum = 0.0;
    for (int i = 0; i < row->node_count; i++) {
        const double force = size_of(row->force[i]), moment = size_of(row->moment[i]);
        double lever = rounding->lever[row->constraint];
        for (int n = row->node[i], k = 1; n != stop; n = model->nodes[n].parent, k++) {
            const cal_node* node = &model->nodes[n];
            const double slide = slide_of(node, q);
            const double turned =
                rounded(k, (lever + slide) * force + moment) + ONCE * rounding->place[row->constraint] * force;
            for (int d = 0; d < cal_kind_v(node->kind); d++) {
                const bool slides = node->kind == CAL_PRISMATIC || (node->kind == CAL_FREE && d < 3);
                const double size = slides ? rounded(k, force) : turned;
                sum += size * size * answer_of(node, n, d, root, tree);
            }
            lever += rounding->arm[n] + slide;
        }
    }
    return sum;
}
