// Every kind of constraint as rows, one at a time (constraint_rows.c says what they are). Compiled for the host and for devices. Include after
// pass/constraint_rows_body.h at width 1.
#pragma once
#include "base/everywhere.h"
#include "pass/constraint_rows.h"
#include <math.h>

// --- Two frames, and how b moves seen from a ---------------------------------------------------------------------------

CAL_DEVICE static const cal_node_motion* ground_motion(void) {
    static const cal_node_motion ground = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};
    return &ground;
}

// turns: the axes of b are asked for, too.
CAL_DEVICE static pair pair_of(const cal_mount frames[2], const cal_node_motion* motions, bool turns) {
    pair p = {.node = {frames[0].node, frames[1].node},
              .a = frames[0].node < 0 ? ground_motion() : &motions[frames[0].node],
              .b = frames[1].node < 0 ? ground_motion() : &motions[frames[1].node]};
    const double *const rotation[2] = {frames[0].rotation, frames[1].rotation}, *const offset[2] = {frames[0].offset,
                                                                                                    frames[1].offset};
    find_pair(rotation, offset, turns, &p);
    return p;
}

CAL_DEVICE static void axis_of(const double axes[9], int index, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = axes[3 * i + index];
}

// --- Rows --------------------------------------------------------------------------------------------------------------

// Adds what one node feels; the ground feels nothing, and a node that is met again is one node.
CAL_DEVICE static inline void touch(cal_row* row, int node, const double moment[3], const double force[3],
                                    double sign) {
    if (node < 0) return;
    int at = 0;
    while (at < row->node_count && row->node[at] != node) at++;
    const bool again = at < row->node_count;
    if (!again) row->node[row->node_count++] = node;
    for (int i = 0; i < 3; i++) {
        row->moment[at][i] = (again ? row->moment[at][i] : 0.0) + sign * moment[i];
        row->force[at][i] = (again ? row->force[at][i] : 0.0) + sign * force[i];
    }
}

CAL_DEVICE static void find_speed(cal_row* row, const cal_node_motion* motions) {
    row->speed = -row->rate;
    for (int i = 0; i < row->node_count; i++) {
        const cal_node_motion* node = &motions[row->node[i]];
        row->speed += cal_dot3(row->moment[i], node->angular) + cal_dot3(row->force[i], node->linear);
    }
}

// A force e on b at x, and −e on a at the same point.
CAL_DEVICE static inline void pull(cal_row* row, const pair* p, const double e[3]) {
    double on_b[3], on_a[3];
    cal_cross3(p->rho, e, on_b);
    cal_cross3(p->r, e, on_a);
    touch(row, p->node[1], on_b, e, 1.0);
    touch(row, p->node[0], on_a, e, -1.0);
}

// A moment e on b, −e on a.
CAL_DEVICE static void twist(cal_row* row, const pair* p, const double e[3]) {
    static const double none[3] = {0.0, 0.0, 0.0};
    touch(row, p->node[1], e, none, 1.0);
    touch(row, p->node[0], e, none, -1.0);
}

CAL_DEVICE static void put_row(cal_row* row, const pair* p, const row_numbers* numbers) {
    touch(row, p->node[1], numbers->on_b, numbers->on_b + 3, 1.0);
    touch(row, p->node[0], numbers->on_a, numbers->on_a + 3, 1.0);
    row->holonomic = true;
    row->error = numbers->error;
    row->bias = numbers->bias;
}

CAL_DEVICE static void function_row(cal_row* row, const pair* p, double value, const double gradient[3],
                                    const double h[6]) {
    row_numbers numbers;
    function_numbers(p, value, gradient, h, &numbers);
    put_row(row, p, &numbers);
}

CAL_DEVICE static void displacement_row(cal_row* row, const pair* p, int axis) {
    row_numbers numbers;
    displacement_numbers(p, axis, &numbers);
    put_row(row, p, &numbers);
}

CAL_DEVICE static void distance_row(cal_row* row, const pair* p, double length) {
    row_numbers numbers;
    distance_numbers(p, length, &numbers);
    put_row(row, p, &numbers);
}

// (x² + y² − R²) / 2R, which is r − R near the circle, and smooth at its centre.
CAL_DEVICE static void circle_row(cal_row* row, const pair* p, double radius) {
    const double x = p->point[0], y = p->point[1];
    const double gradient[3] = {x / radius, y / radius, 0.0}, h[6] = {1.0 / radius, 1.0 / radius};
    function_row(row, p, (x * x + y * y - radius * radius) / (2.0 * radius), gradient, h);
}

// Its own function, or another one's, is the host's to ask.
#ifndef CAL_THREAD_PER_LANE
static void surface_row(cal_row* row, const pair* p, const cal_constraint_def* def) {
    double value = 0.0, gradient[3] = {0.0}, h[6] = {0.0};
    def->surface(p->point, &value, gradient, h, def->user);
    function_row(row, p, value, gradient, h);
}
#endif

// A turn about axis i, one of three: 2 ε_i.
CAL_DEVICE static void full_turn_row(cal_row* row, const pair* p, int i) {
    double turn[9], quaternion[4], omega[3], rate[3], cross[3], e[3], change[3], gyration[3];
    cal_transpose_multiply33(p->axes_a, p->axes_b, turn);
    cal_matrix_quaternion(turn, quaternion);
    const double scalar = quaternion[0];
    const double* vector = quaternion + 1;
    double unit[3] = {0.0, 0.0, 0.0};
    unit[i] = 1.0;
    cal_unrotate3(p->axes_a, p->relative, omega);
    cal_cross3(vector, unit, e);
    e[i] += scalar;
    // η̇ = −½ Ω · ε, ε̇ = ½ (η Ω + Ω × ε)
    cal_cross3(omega, vector, cross);
    for (int k = 0; k < 3; k++) rate[k] = 0.5 * (scalar * omega[k] + cross[k]);
    cal_cross3(rate, unit, change);
    change[i] -= 0.5 * cal_dot3(omega, vector);
    row->holonomic = true;
    row->error = 2.0 * vector[i];
    row->bias = cal_dot3(omega, change);
    // Ω's own axes turn with a: Ω̇ = Fᵀ (α_b − α_a − ω_a × ω_b).
    cal_rotate3(p->axes_a, e, e);
    cal_cross3(p->a->angular, p->b->angular, gyration);
    row->bias -= cal_dot3(e, gyration);
    twist(row, p, e);
}

CAL_DEVICE static void free_turn_row(cal_row* row, const pair* p, int i, int k) {
    row_numbers numbers;
    free_turn_numbers(p, i, k, &numbers);
    put_row(row, p, &numbers);
}

CAL_DEVICE static int named_rows(cal_row* rows, const pair* p, uint32_t bits) {
    const uint32_t turns = bits / CAL_ROW_TURN_X;
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (bits >> i & 1) displacement_row(&rows[count++], p, i);
    for (int i = 0; i < 3; i++) {
        if (!(turns >> i & 1)) continue;
        if (turns == 7)
            full_turn_row(&rows[count++], p, i);
        else
            free_turn_row(&rows[count++], p, i, cal_constraint_free_axis(turns, i));
    }
    return count;
}

CAL_DEVICE static void knife_row(cal_row* row, const pair* p) {
    double y[3], turned[3], half[3];
    axis_of(p->axes_b, 1, y);
    pull(row, p, y);
    // y turns with b instead of with a, so half of the Coriolis part of c is not there.
    cal_cross3(p->b->angular, y, turned);
    cal_cross3(p->a->angular, p->w, half);
    row->bias = cal_dot3(turned, p->w) + cal_dot3(y, p->c) + cal_dot3(y, half);
}

CAL_DEVICE static void wheel_rows(cal_row* rows, const pair* p, double radius) {
    static const double smallest = 1e-12; // the sine of a wheel that lies flat
    const double *turn_a = p->a->angular, *turn_b = p->b->angular;
    double n[3], k[3], n_dot[3], k_dot[3], m[3], m_dot[3], rim[3], rim_dot[3], slip[3], turning[3];
    axis_of(p->axes_a, 2, n);
    axis_of(p->axes_b, 2, k);
    cal_cross3(turn_a, n, n_dot);
    cal_cross3(turn_b, k, k_dot);
    const double g = cal_dot3(n, k), g_dot = cal_dot3(n_dot, k) + cal_dot3(n, k_dot);
    const double s = fmax(sqrt(fmax(1.0 - g * g, 0.0)), smallest), s_dot = -g * g_dot / s;
    for (int i = 0; i < 3; i++) {
        m[i] = (n[i] - g * k[i]) / s;
        m_dot[i] = (n_dot[i] - g_dot * k[i] - g * k_dot[i] - m[i] * s_dot) / s;
    }
    cal_cross3(p->relative, m, rim);
    cal_cross3(p->relative, m_dot, rim_dot);
    for (int i = 0; i < 3; i++) slip[i] = -radius * rim[i];
    cal_cross3(turn_a, slip, turning);
    for (int row = 0; row < 3; row++) {
        static const int axes[3] = {2, 0, 1};
        double e[3], moment[3];
        axis_of(p->axes_a, axes[row], e);
        pull(&rows[row], p, e);
        cal_cross3(m, e, moment);
        for (int i = 0; i < 3; i++) moment[i] *= -radius;
        twist(&rows[row], p, moment);
        rows[row].holonomic = row == 0;
        rows[row].error = row == 0 ? p->point[2] - radius * s : 0.0;
        rows[row].bias = cal_dot3(e, p->c) - radius * cal_dot3(e, rim_dot) - cal_dot3(e, turning);
    }
}

// Adds factor · q̈ of a joint; returns q from where the joint's definition puts its zero.
CAL_DEVICE static double joint_part(cal_row* row, const cal_model* model, int joint, const cal_node_motion* motions,
                                    const double* q, double factor) {
    static const double none[3] = {0.0, 0.0, 0.0};
    const cal_node* node = &model->nodes[model->joints[joint].node];
    const cal_node_motion *own = &motions[model->joints[joint].node],
                          *parent = node->parent < 0 ? ground_motion() : &motions[node->parent];
    double z[3];
    axis_of(own->rotation, 2, z);
    if (node->kind == CAL_REVOLUTE) {
        touch(row, model->joints[joint].node, z, none, factor);
        touch(row, node->parent, z, none, -factor);
    } else {
        double s[3], moment[3], swing[3], inward[3];
        for (int i = 0; i < 3; i++) s[i] = own->origin[i] - parent->origin[i];
        cal_cross3(s, z, moment);
        cal_cross3(parent->angular, s, swing);
        cal_cross3(parent->angular, swing, inward);
        touch(row, model->joints[joint].node, none, z, factor);
        touch(row, node->parent, moment, z, -factor);
        row->bias -= factor * cal_dot3(z, inward);
    }
    return q[node->first_q] - model->joints[joint].def->zero;
}

CAL_DEVICE static void coupling_row(cal_row* row, const cal_model* model, const cal_constraint_def* def, double time,
                                    const cal_node_motion* motions, const double* q, const double* v) {
    const double* p = def->polynomial;
    row->holonomic = true;
    row->error = joint_part(row, model, def->joint[0], motions, q, 1.0) - p[0];
#ifndef CAL_THREAD_PER_LANE
    if (def->motion) {
        double value = 0.0;
        def->motion(time, &value, &row->rate, &row->change, def->user);
        row->bias -= row->change;
        // What is not a number leaves the position free.
        row->holonomic = value == value;
        row->error = row->holonomic ? row->error - value : 0.0;
    }
#else
    (void)time;
#endif
    if (def->joint[1] == CAL_NONE) return;
    const cal_joint* other = &model->joints[def->joint[1]];
    const double x = q[other->first_q] - other->def->zero, rate = v[other->first_v];
    const double slope = p[1] + x * (2.0 * p[2] + x * (3.0 * p[3] + x * 4.0 * p[4]));
    const double curve = 2.0 * p[2] + x * (6.0 * p[3] + x * 12.0 * p[4]);
    joint_part(row, model, def->joint[1], motions, q, -slope);
    row->error -= x * (p[1] + x * (p[2] + x * (p[3] + x * p[4])));
    row->bias -= curve * rate * rate;
}

uint32_t cal_constraint_row_bits(const cal_constraint_def* def) {
    enum { PLACE = CAL_ROW_X | CAL_ROW_Y | CAL_ROW_Z, TURN_XY = CAL_ROW_TURN_X | CAL_ROW_TURN_Y };
    switch (def->kind) {
    case CAL_WELD: return PLACE | TURN_XY | CAL_ROW_TURN_Z;
    case CAL_LOOP_REVOLUTE: return PLACE | TURN_XY;
    case CAL_LOOP_PRISMATIC: return CAL_ROW_X | CAL_ROW_Y | TURN_XY | CAL_ROW_TURN_Z;
    case CAL_LOOP_BALL: return PLACE;
    case CAL_ROWS: return def->rows;
    default: return 0;
    }
}

CAL_EVERYWHERE int cal_constraint_make_rows_at(const cal_model* model, int constraint, const cal_mount frames[2],
                                               int count, double time, const cal_node_motion* motions, const double* q,
                                               const double* v, cal_row* rows) {
    const cal_constraint_def* def = &model->constraints[constraint];
    for (int i = 0; i < count; i++) {
        // Nodes that are not touched have no numbers.
        cal_row* row = &rows[i];
        row->constraint = constraint, row->node_count = 0, row->holonomic = false;
        row->error = row->speed = row->bias = row->rate = row->change = 0.0;
    }
    if (def->kind == CAL_COUPLING) {
        coupling_row(rows, model, def, time, motions, q, v);
    } else {
        const uint32_t bits = cal_constraint_row_bits(def);
        const bool displaces = def->kind == CAL_DISTANCE || def->kind == CAL_ON_CIRCLE || def->kind == CAL_ON_SURFACE ||
                               (bits > 0 && bits < CAL_ROW_TURN_X);
        const pair p = pair_of(frames, motions, !displaces);
        switch (def->kind) {
        case CAL_WELD:
        case CAL_LOOP_REVOLUTE:
        case CAL_LOOP_PRISMATIC:
        case CAL_LOOP_BALL:
        case CAL_ROWS: count = named_rows(rows, &p, bits); break;
        case CAL_DISTANCE: distance_row(rows, &p, def->length); break;
        case CAL_ON_CIRCLE:
            circle_row(&rows[0], &p, def->length);
            displacement_row(&rows[1], &p, 2);
            count = 2;
            break;
#ifndef CAL_THREAD_PER_LANE
        case CAL_ON_SURFACE: surface_row(rows, &p, def); break;
#endif
        case CAL_KNIFE_EDGE: knife_row(rows, &p); break;
        default: // CAL_ROLLING
            wheel_rows(rows, &p, def->length);
            count = 3;
        }
    }
    for (int i = 0; i < count; i++) find_speed(&rows[i], motions);
    return count;
}
