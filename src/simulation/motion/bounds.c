// Bounds of the motion of links on a step.
//
// Along a tree of joints, from the ground outwards, with w, ẇ the turning rates of a joint, ṡ and s̈ its sliding, and d the
// distance of its origin from its parent's, lengths add up at most:
//
//     W = W_p + w,    A = A_p + ẇ + W_p w,    O = O_p + (A_p + W_p²) d + s̈ + 2 W_p ṡ,
//
// where W bounds |ω|, A |ω̇| and O the acceleration of the origin. A centre at a distance e from there has O + (A + W²) e.
// What a joint does is bounded by its curves' coefficients (curve.h).
#include "simulation/motion/bounds.h"
#include "model/model.h"
#include "simulation/body.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

// Where a joint's quaternion begins, −1: it has none; and its rate's number.
static int quaternion_of(const cal_node* node, int* first_v) {
    *first_v = node->kind == CAL_FREE ? node->first_v + 3 : node->first_v;
    return node->kind == CAL_FREE ? node->first_q + 3 : node->kind == CAL_BALL ? node->first_q : -1;
}

static int slides_of(const cal_node* node) { return node->kind == CAL_FREE ? 3 : node->kind == CAL_BALL ? 0 : 1; }

void cal_curves_hermite(const cal_model* model, cal_curves* step, const double* q, const double* v, const double* to_q,
                        const double* to_v) {
    const double h = step->length;
    step->stride = CAL_CUBIC_TERMS;
    step->degree = CAL_CUBIC;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        int w;
        const int turning = quaternion_of(node, &w);
        for (int i = 0; i < slides_of(node); i++) {
            const int k = node->first_q + i, r = node->first_v + i;
            cal_curve_hermite(h, q[k], v[r], to_q[k], to_v[r], step->rows + (size_t)k * (size_t)step->stride);
        }
        if (turning >= 0)
            cal_curve_hermite_quaternion(h, q + turning, v + w, to_q + turning, to_v + w,
                                         step->rows + (size_t)turning * (size_t)step->stride, step->stride);
    }
}

void cal_curves_at(const cal_model* model, const cal_curves* step, double t, double* q, double* v) {
    const double s = t / step->length;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        int w;
        const int turning = quaternion_of(node, &w);
        for (int i = 0; i < slides_of(node); i++) {
            double slope;
            q[node->first_q + i] =
                cal_curve_at(step->rows + (size_t)(node->first_q + i) * (size_t)step->stride, step->degree, s, &slope);
            v[node->first_v + i] = slope / step->length;
        }
        if (turning >= 0)
            cal_curve_quaternion_at(step->rows + (size_t)turning * (size_t)step->stride, step->stride, step->degree,
                                    step->length, t, q + turning, v + w);
    }
}

// Largest |s|, |ṡ| and |s̈| of the numbers of a joint that are no quaternion.
static void bound_slide(const cal_node* node, const cal_curves* step, double out[3]) {
    enum { STRIDE = CAL_CURVE_TERMS };
    const int count = slides_of(node), degree = step->degree, slope = degree > 0 ? degree - 1 : 0,
              bend = slope > 0 ? slope - 1 : 0;
    const double* rows = step->rows + (size_t)node->first_q * (size_t)step->stride;
    double rate[3 * STRIDE], second[3 * STRIDE];
    for (int i = 0; i < count; i++) {
        cal_curve_derivative(rows + i * step->stride, degree, rate + i * STRIDE);
        cal_curve_derivative(rate + i * STRIDE, slope, second + i * STRIDE);
    }
    out[0] = cal_curve_length(rows, count, step->stride, degree);
    out[1] = cal_curve_length(rate, count, STRIDE, slope) / step->length;
    out[2] = cal_curve_length(second, count, STRIDE, bend) / (step->length * step->length);
}

void cal_curves_bound_links(const cal_world* world, const cal_multibody* m, const cal_curves* step, double* work,
                            double* out) {
    const cal_model* model = m->engine->model;
    static const double still[3] = {0.0, 0.0, 0.0};
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        const double* above = node->parent >= 0 ? work + 3 * node->parent : still; // O, W, A
        double slide[3] = {0}, turn = 0.0, twist = 0.0, *own = work + 3 * n;
        int unused;
        const int turning = quaternion_of(node, &unused);
        if (slides_of(node) > 0) bound_slide(node, step, slide);
        if (node->kind == CAL_REVOLUTE) {
            turn = slide[1], twist = slide[2];
            memset(slide, 0, sizeof slide);
        }
        if (turning >= 0)
            cal_curve_turning(step->rows + (size_t)turning * (size_t)step->stride, step->stride, step->degree,
                              step->length, &turn, &twist);
        const double distance = sqrt(cal_dot3(node->offset, node->offset)) + slide[0];
        own[0] = above[0] + slide[2] + 2.0 * above[1] * slide[1];
        if (above[1] > 0.0 || above[2] > 0.0) own[0] += (above[2] + above[1] * above[1]) * distance;
        own[1] = above[1] + turn;
        own[2] = above[2] + twist + above[1] * turn;
    }
    for (int body = 0; body < m->engine->body_count; body++) {
        const cal_mount* mount = &model->mounts[body];
        const double* own = mount->node >= 0 ? work + 3 * mount->node : still;
        double center[3];
        cal_rotate3(mount->rotation, world->bodies[m->bodies[body]].offset, center);
        for (int i = 0; i < 3; i++) center[i] += mount->offset[i];
        out[3 * body] = own[0] + (own[2] + own[1] * own[1]) * sqrt(cal_dot3(center, center));
        out[3 * body + 1] = own[1];
        out[3 * body + 2] = own[2];
    }
}
