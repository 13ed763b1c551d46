// Work on directions that are kept (directions.h). Compiled for the host (directions.c) and for devices.
#pragma once
#include "base/everywhere.h"
#include "base/wide.h"
#include "constraint/constraint_matrix.h"
#include "constraint/directions.h"
#include <assert.h>
#include <math.h>
#include <string.h>

// A position whose distance from a singular one is so many times that within which nothing is projected is none that a step leads into.
static const double CLEAR = 8.0;
enum { MOST = CAL_DIRECTIONS_MOST };
static_assert((int)MOST >= (int)CAL_CONSTRAINT_ROWS, "a number per row");

CAL_DEVICE static int round_to_lanes(int rows) { return rows <= 2 ? rows : rows <= 4 ? 4 : MOST; }

CAL_EVERYWHERE int cal_directions_stride(const cal_constraints* set) { return round_to_lanes(set->row_count); }

// N, rows scaled as y is.
CAL_DEVICE static void make_directions(cal_constraints* set) {
    cal_directions* d = &set->directions;
    const size_t lanes = (size_t)round_to_lanes(set->row_count);
    if (!cal_matrix_fills(set) || (size_t)set->row_count < lanes)
        memset(d->share, 0, lanes * (size_t)set->model->v_count * sizeof(double));
    for (int place = 0; place < set->model->constraint_count; place++) {
        const int constraint = set->order[place], degrees = set->degrees[constraint];
        const int32_t* v = set->degree_v + set->degree_start[constraint];
        for (int r = 0; r < cal_row_total(set, place); r++) {
            const double* y = set->y + set->y_start[constraint] + (size_t)r * (size_t)degrees;
            double* to = d->share + set->first_row[place] + r;
            for (int k = 0; k < degrees; k++) to[(size_t)v[k] * lanes] = y[k];
        }
    }
    cal_mass_factor_outbound_rows(&set->tree, set->variant, d->share, (int)lanes, d->numbers);
    d->fresh = true;
}

// A wrench on a node presses on all joints between it and its root.
CAL_DEVICE static void press_joints_above(const cal_constraints* set, const double* wrench, int node, int lanes,
                                          double slide, double* to) {
    const double *moment = wrench, *force = wrench + 3, *at = set->motions[node].origin;
    for (int n = node; n >= 0; n = set->model->nodes[n].parent) {
        const cal_node* joint = &set->model->nodes[n];
        const double *R = set->motions[n].rotation, *from = set->motions[n].origin;
        const double x = at[0] - from[0], y = at[1] - from[1], z = at[2] - from[2];
        const double turn[3] = {moment[0] + (y * force[2] - z * force[1]), moment[1] + (z * force[0] - x * force[2]),
                                moment[2] + (x * force[1] - y * force[0])};
        double* own = to + (size_t)joint->first_v * (size_t)lanes;
        for (int k = 0; k < 3 && joint->kind == CAL_FREE; k++, own += lanes) *own += slide * force[k];
        for (int k = 0; k < 3; k++) {
            if (k < 2 && (joint->kind == CAL_REVOLUTE || joint->kind == CAL_PRISMATIC)) continue;
            const double* along = joint->kind == CAL_PRISMATIC ? force : turn;
            const double sum = R[k] * along[0] + R[3 + k] * along[1] + R[6 + k] * along[2];
            *own += joint->kind == CAL_PRISMATIC ? slide * sum : sum;
            own += lanes;
        }
    }
}

// The same by joints, at q.
CAL_DEVICE static void make_by_joints(cal_constraints* set, const double* q, double distance) {
    cal_directions* d = &set->directions;
    const int lanes = round_to_lanes(set->row_count);
    const double length = set->length > 0.0 ? set->length : 1.0;
    double* to = d->numbers + d->by_joints;
    if (!(distance > 0.0)) return; // they serve nobody
    memcpy(set->before, set->at_v, (size_t)set->model->v_count * sizeof(double));
    cal_constraints_look(set, q, set->before);
    memset(to, 0, (size_t)lanes * (size_t)set->model->v_count * sizeof *to);
    for (int i = 0; i < set->path_count; i++) {
        cal_joint_path_load load = {.count = set->row_count, .stride = lanes, .slide = length * length};
        for (int r = 0; r < set->row_count; r++)
            for (int t = 0; t < set->rows[r].node_count; t++)
                for (int k = 0; k < 3 && set->rows[r].node[t] == set->paths[i].node; k++) {
                    load.wrench[r][k] += set->rows[r].moment[t][k];
                    load.wrench[r][3 + k] += set->rows[r].force[t][k];
                }
        cal_joint_path_press(&set->paths[i], set->variant, q, &set->ends[set->paths[i].node], &set->path_motions[i],
                             &load, to);
    }
    for (int r = 0; r < set->row_count && !set->paths; r++)
        for (int t = 0; t < set->rows[r].node_count; t++) {
            double wrench[6];
            memcpy(wrench, set->rows[r].moment[t], 3 * sizeof *wrench);
            memcpy(wrench + 3, set->rows[r].force[t], 3 * sizeof *wrench);
            press_joints_above(set, wrench, set->rows[r].node[t], lanes, length * length, to + r);
        }
}

CAL_WIDE_INLINE void combine_lanes(const double* restrict N, const double* x, int count, int lanes,
                                   double* restrict out) {
    for (size_t i = 0; i < (size_t)count; i++) { // 10⁸ bodies have more numbers in N than an int counts
        const double* row = N + i * (size_t)lanes;
        double sum = row[0] * x[0];
        for (int k = 1; k < lanes; k++) sum += row[k] * x[k];
        out[i] = sum;
    }
}

// out ← N x
CAL_WIDE static void combine_directions(const double* N, const double* x, int count, int lanes, double* out) {
    switch (lanes) {
    case 1: combine_lanes(N, x, count, 1, out); break;
    case 2: combine_lanes(N, x, count, 2, out); break;
    case 4: combine_lanes(N, x, count, 4, out); break;
    default: combine_lanes(N, x, count, MOST, out);
    }
}

CAL_DEVICE static void apply(cal_constraints* set, const double* N, const double* x) {
    double padded[MOST] = {0.0};
    memcpy(padded, x, (size_t)set->row_count * sizeof *x);
    combine_directions(N, padded, set->model->v_count, round_to_lanes(set->row_count), set->change);
}

CAL_EVERYWHERE bool cal_directions_find_change(cal_constraints* set) {
    cal_directions* d = &set->directions;
    if (!d->numbers || set->row_count > CAL_CONSTRAINT_ROWS) return false;
    make_directions(set);
    apply(set, d->numbers, set->unknown);
    return true;
}

CAL_EVERYWHERE void cal_directions_note(cal_constraints* set) {
    cal_directions* d = &set->directions;
    if (!d->numbers || set->row_count > CAL_CONSTRAINT_ROWS) return;
    memcpy(d->found_q, set->at_q, (size_t)set->model->q_count * sizeof(double));
    d->found_time = set->time;
    d->found_distance = set->rank == set->row_count ? cal_constraints_distance(set) : 0.0;
    d->found = true;
}

CAL_DEVICE static void exchange(double** a, double** b) {
    double* const x = *a;
    *a = *b, *b = x;
}

CAL_EVERYWHERE void cal_directions_make(cal_constraints* set) {
    if (set->directions.found && !set->directions.fresh) make_directions(set);
}

CAL_EVERYWHERE void cal_directions_keep(cal_constraints* set) {
    cal_directions* d = &set->directions;
    if (!d->found) return;
    cal_directions_make(set);
    make_by_joints(set, d->found_q, d->found_distance);
    exchange(&d->kept, &d->numbers);
    set->answered = false;
    exchange(&d->q, &d->found_q);
    d->time = d->found_time, d->distance = d->found_distance;
    d->held = d->made = true;
    d->found = d->fresh = false;
}

CAL_EVERYWHERE bool cal_directions_serve(cal_constraints* set, const double* q, const double* v) {
    cal_directions* d = &set->directions;
    if (!d->held || set->along == CAL_ALONG_OWN || (set->along == CAL_ALONG_NOW && d->time != set->time) ||
        !(d->distance > CLEAR * set->blind))
        return false;
#ifndef CAL_THREAD_PER_LANE
    if (!d->made) {
        // A memory was loaded, which has the place alone.
        cal_constraints_evaluate(set, d->q, v);
        cal_constraints_execute(set, d->q, NULL);
        set->borrows = set->joins; // as evaluations do: the same bits
        cal_matrix_make(set);
        set->borrows = false;
        make_directions(set);
        make_by_joints(set, d->q, d->distance);
        exchange(&d->kept, &d->numbers);
        set->answered = false;
        d->made = true, d->fresh = false;
        cal_constraints_evaluate(set, q, v);
    }
#else
    (void)q, (void)v; // what is held was made here
#endif
    return true;
}

// --- A N ----------------------------------------------------------------------------------------------------------------------

// What a turn about an axis through `from`, and a displacement, do at a point, for one rate per lane.
CAL_WIDE_INLINE void add_turn(const double* axis, const double* from, const double* point, const double* rate,
                              int lanes, double (*motion)[MOST]) {
    const double x = point[0] - from[0], y = point[1] - from[1], z = point[2] - from[2];
    const double lever[3] = {axis[1] * z - axis[2] * y, axis[2] * x - axis[0] * z, axis[0] * y - axis[1] * x};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < lanes; k++) {
            motion[i][k] += axis[i] * rate[k];
            motion[3 + i][k] += lever[i] * rate[k];
        }
}

CAL_WIDE_INLINE void add_slide(const double* axis, const double* rate, int lanes, double (*motion)[MOST]) {
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < lanes; k++) motion[3 + i][k] += axis[i] * rate[k];
}

// The motion of a node for rates N, one column per lane: all joints between it and its root.
CAL_WIDE_INLINE void move_lanes(const cal_model* model, const cal_node_motion* motions, const double* N, int node,
                                int lanes, double (*out)[MOST]) {
    const double* point = motions[node].origin;
    double motion[6][MOST] = {{0.0}}; // here, and not where N may be: it stays in registers
    for (int n = node; n >= 0; n = model->nodes[n].parent) {
        const cal_node* joint = &model->nodes[n];
        const double *R = motions[n].rotation, *rate = N + (size_t)joint->first_v * (size_t)lanes;
        const double z[3] = {R[2], R[5], R[8]};
        if (joint->kind == CAL_REVOLUTE) {
            add_turn(z, motions[n].origin, point, rate, lanes, motion);
        } else if (joint->kind == CAL_PRISMATIC) {
            add_slide(z, rate, lanes, motion);
        } else {
            for (int k = 0; k < 3 && joint->kind == CAL_FREE; k++, rate += lanes) {
                const double along[3] = {k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0};
                add_slide(along, rate, lanes, motion);
            }
            for (int k = 0; k < 3; k++, rate += lanes) {
                const double axis[3] = {R[k], R[3 + k], R[6 + k]};
                add_turn(axis, motions[n].origin, point, rate, lanes, motion);
            }
        }
    }
    memcpy(out, motion, sizeof motion);
}

CAL_WIDE static void move_directions(const cal_model* model, const cal_node_motion* motions, const double* N, int node,
                                     int lanes, double (*motion)[MOST]) {
    switch (lanes) {
    case 1: move_lanes(model, motions, N, node, 1, motion); break;
    case 2: move_lanes(model, motions, N, node, 2, motion); break;
    case 4: move_lanes(model, motions, N, node, 4, motion); break;
    default: move_lanes(model, motions, N, node, MOST, motion);
    }
}

// Rows of A N. Paths have brought what nodes do along N; else a node's motion is found once for as many rows as ask in turn, as rows of a
// constraint touch the same nodes as a rule.
CAL_DEVICE static void multiply_rows(const cal_constraints* set, double AN[MOST][MOST]) {
    const int count = set->row_count, lanes = round_to_lanes(count);
    double motion[CAL_ROW_NODES][6][MOST] = {{{0.0}}};
    int found[CAL_ROW_NODES] = {-1, -1, -1, -1};
    for (int i = 0; i < count; i++) {
        const cal_row* row = &set->rows[i];
        for (int k = 0; k < count; k++) AN[i][k] = 0.0;
        for (int t = 0; t < row->node_count; t++) {
            const int node = row->node[t];
            if (found[t] != node && set->paths) {
                const double* answers = set->path_motions[set->path_of[node]].answers;
                for (int k = 0; k < 6 * count; k++) motion[t][k % 6][k / 6] = answers[k];
            } else if (found[t] != node) {
                move_directions(set->model, set->motions, cal_directions_numbers(set), node, lanes, motion[t]);
            }
            found[t] = node;
            for (int k = 0; k < count; k++)
                for (int d = 0; d < 3; d++)
                    AN[i][k] += row->moment[t][d] * motion[t][d][k] + row->force[t][d] * motion[t][3 + d][k];
        }
    }
}

// x ← A⁻¹ x by elimination with pivots; false: there is no inverse.
CAL_DEVICE static bool eliminate(double A[MOST][MOST], int count, double* x) {
    for (int k = 0; k < count; k++) {
        int pivot = k;
        for (int i = k + 1; i < count; i++)
            if (fabs(A[i][k]) > fabs(A[pivot][k])) pivot = i;
        if (!(fabs(A[pivot][k]) > 0.0)) return false;
        for (int j = k; j < count && pivot != k; j++) {
            const double above = A[k][j];
            A[k][j] = A[pivot][j], A[pivot][j] = above;
        }
        const double own = x[pivot];
        x[pivot] = x[k], x[k] = own;
        for (int i = k + 1; i < count; i++) {
            const double factor = A[i][k] / A[k][k];
            for (int j = k; j < count; j++) A[i][j] -= factor * A[k][j];
            x[i] -= factor * x[k];
        }
    }
    for (int k = count - 1; k >= 0; k--) {
        for (int j = k + 1; j < count; j++) x[k] -= A[k][j] * x[j];
        x[k] /= A[k][k];
    }
    return true;
}

CAL_EVERYWHERE bool cal_directions_correct(cal_constraints* set) {
    double AN[MOST][MOST] = {{0.0}}, *x = set->directions.parts;
    memcpy(x, set->right, (size_t)set->row_count * sizeof *x);
    if (set->paths && (!set->answered || set->answered_by_joints != cal_directions_by_joints(set)))
        cal_constraints_answer(set);
    multiply_rows(set, AN);
    if (!eliminate(AN, set->row_count, x)) return false;
    apply(set, cal_directions_numbers(set), x);
    return true;
}
