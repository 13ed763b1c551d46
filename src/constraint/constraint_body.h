// Rows of constraints, multipliers beside an execution, and projection (constraint.h). Compiled for the host (constraint.c) and for devices.
#pragma once
#include "base/everywhere.h"
#include "base/finite.h"
#include "base/memory.h"
#include "constraint/constraint.h"
#include "constraint/constraint_matrix.h"
#include "constraint/directions.h"
#include "layout/layout.h"
#include "math/four.h"
#include "model/coordinates.h"
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

// The smallest and the largest shift of a projection, and how much it is above the square of what is open.
static const double LEAST_SHIFT = 1e-12, MOST_SHIFT = 1e-4, WARY = 1e4;

// What is left of a gap of one in the last place of numbers of size one, and of the few that make it.
static const double ROUNDING = 1e-15;

// --- Rows and their matrix ---------------------------------------------------------------------------------------------

CAL_DEVICE static void make_single_rows(cal_constraints* set, const cal_node_motion* motions, int place,
                                        const double* q, const double* v) {
    const int constraint = set->order[place];
    cal_constraint_make_rows_at(set->model, constraint, set->frames + 2 * (size_t)constraint, cal_row_total(set, place),
                                set->time, motions, q, v, set->rows + set->first_row[place]);
}

// Whether a row holds a turn, or a coupling, and no displacement.
CAL_DEVICE static bool is_turn(const cal_row* row) {
    return row->node_count == 0 || (row->force[0][0] == 0.0 && row->force[0][1] == 0.0 && row->force[0][2] == 0.0);
}

// out: the larger of it and |φ| and |φ̇| of some rows, turns at the mechanism's size; what is not a number counts as the largest.
CAL_DEVICE static void note_open(const cal_constraints* set, int first, int count, double out[2]) {
    for (const cal_row* row = set->rows + first; row < set->rows + first + count; row++) {
        double error = fabs(row->error), speed = fabs(row->speed);
        if (set->unit < 1.0 && is_turn(row)) error *= set->unit, speed *= set->unit;
        if (!(error <= out[0])) out[0] = isnan(out[0]) ? out[0] : error;
        if (!(speed <= out[1])) out[1] = isnan(out[1]) ? out[1] : speed;
    }
}

// A worker's part of all rows, at the motions of nodes; and how far rows are open.
CAL_DEVICE static void make_rows(cal_constraints* set, const double* q, const double* v, cal_worker* worker) {
    const cal_node_motion* motions = set->paths ? set->ends : set->motions;
    double open[2] = {0.0, 0.0};
#ifndef CAL_THREAD_PER_LANE // which has one constraint at a time
    for (int i = cal_worker_first(worker, worker->index, set->pack_count),
             end = cal_worker_first(worker, worker->index + 1, set->pack_count);
         i < end; i++) {
        cal_loop_pack* pack = &set->packs[i];
        cal_pack_make_rows(pack, set->variant, motions, set->rows);
        for (int l = 0; l < pack->count; l++) note_open(set, pack->first_row[l], pack->shape->row_count, open);
    }
#endif
    for (int i = cal_worker_first(worker, worker->index, set->single_count),
             end = cal_worker_first(worker, worker->index + 1, set->single_count);
         i < end; i++) {
        const int place = set->singles[i];
        make_single_rows(set, motions, place, q, v);
        note_open(set, set->first_row[place], cal_row_total(set, place), open);
    }
    cal_worker_largest(worker, open, 2);
    if (worker->index == 0) set->open[0] = open[0], set->open[1] = open[1];
}

// The same on one.
CAL_DEVICE static void make_all_rows(cal_constraints* set, const double* q, const double* v) {
    cal_worker alone = CAL_ALONE_WORKER;
    make_rows(set, q, v, &alone);
}

CAL_EVERYWHERE void cal_constraints_answer(cal_constraints* set) {
    const cal_directions* d = &set->directions;
    set->answered = d->held && d->made;
    set->answered_by_joints = cal_directions_by_joints(set);
    const cal_joint_path_rates rates = {cal_directions_numbers(set), set->answered ? set->row_count : 0,
                                        cal_directions_stride(set)};
    for (int i = 0; i < set->path_count; i++)
        cal_joint_path_move(&set->paths[i], set->variant, set->at_q, set->at_v, &rates, &set->ends[set->paths[i].node],
                            &set->path_motions[i]);
    set->framed = true;
}

#ifndef CAL_THREAD_PER_LANE
typedef struct looking {
    cal_constraints* set;
    const double *q, *v;
    bool moves, rows; // motions are to be found, and rows
} looking;

static void move_nodes(const looking* look, cal_node_range nodes) {
    cal_constraints* set = look->set;
    cal_node_motions(set->model, set->variant, look->q, look->v, !set->placed, nodes.first, nodes.end, set->motions);
}

static void look_shared(void* argument, cal_worker* worker) {
    const looking* look = argument;
    cal_constraints* set = look->set;
    if (look->moves) {
        for (int i = 0; i < cal_trunk_count(&set->limbs, worker); i++) move_nodes(look, set->limbs.trunk[i]);
        cal_limbs_meet(&set->limbs, worker);
        for (int i = 0; i < cal_limb_count(&set->limbs, worker); i++)
            move_nodes(look, cal_limb(&set->limbs, worker, i));
        cal_worker_meet(worker);
    }
    if (look->rows) make_rows(set, look->q, look->v, worker);
}
#endif

// Motions of nodes, and rows, or one of them.
CAL_DEVICE static void move_and_make(cal_constraints* set, const double* q, const double* v, bool moves, bool rows) {
#ifndef CAL_THREAD_PER_LANE
    looking look = {set, q, v, moves, rows};
    cal_workers_run(&set->workers, &set->paces[CAL_WORK_LOOK], look_shared, &look);
#else
    if (moves) cal_node_motions(set->model, set->variant, q, v, !set->placed, 0, set->model->node_count, set->motions);
    if (rows) make_all_rows(set, q, v);
#endif
    if (moves) set->placed = set->whole = true;
}

// Motions and rows at q and v; whole: motions of all nodes as well, where rows do without.
CAL_DEVICE static void evaluate_at(cal_constraints* set, const double* q, const double* v, bool whole) {
    const size_t q_size = (size_t)set->model->q_count * sizeof(double),
                 v_size = (size_t)set->model->v_count * sizeof(double);
    // Projections and forces ask for the same place in turn.
    const bool now = !set->moved || set->at_time == set->time;
    const bool moved = !set->evaluated || !cal_same_bits(set->at_q, q, q_size);
    const bool anew = moved || !now || !cal_same_bits(set->at_v, v, v_size);
    if (anew) {
        set->at_time = set->time;
        if (moved) memcpy(set->at_q, q, q_size);
        memcpy(set->at_v, v, v_size);
        set->evaluated = true;
        set->placed = set->placed && !moved;
        set->whole = false;
    }
    const bool moves = !set->whole && (whole || !set->paths);
    if (anew && set->paths) cal_constraints_answer(set);
    if (moves || anew) move_and_make(set, q, v, moves, anew);
}

CAL_EVERYWHERE void cal_constraints_evaluate(cal_constraints* set, const double* q, const double* v) {
    evaluate_at(set, q, v, true);
}

CAL_EVERYWHERE void cal_constraints_look(cal_constraints* set, const double* q, const double* v) {
    evaluate_at(set, q, v, false);
}

// Rows where v has changed by the last correction alone, which was along kept directions: paths have answered to these.
CAL_DEVICE static void follow_correction(cal_constraints* set, const double* q, const double* v) {
    for (int i = 0; i < set->path_count; i++) {
        cal_node_motion* end = &set->ends[set->paths[i].node];
        const double* answer = set->path_motions[i].answers;
        for (int k = 0; k < set->row_count; k++, answer += 6)
            for (int j = 0; j < 3; j++) {
                end->angular[j] += answer[j] * set->directions.parts[k];
                end->linear[j] += answer[3 + j] * set->directions.parts[k];
            }
    }
    memcpy(set->at_v, v, (size_t)set->model->v_count * sizeof(double));
    set->whole = set->framed = false;
    make_all_rows(set, q, v);
}

CAL_EVERYWHERE cal_violation cal_constraints_violation(const cal_constraints* set, int only) {
    cal_violation out = {.error_of = CAL_NONE, .speed_of = CAL_NONE};
    int count = 0;
    for (int i = 0; i < set->row_count; i++) {
        const cal_row* row = &set->rows[i];
        if (only != CAL_NONE && row->constraint != only) continue;
        const double error = fabs(row->error), speed = fabs(row->speed);
        // What is not a number counts as the largest.
        if (!(error <= out.error) || out.error_of == CAL_NONE) out.error = error, out.error_of = row->constraint;
        if (!(speed <= out.speed) || out.speed_of == CAL_NONE) out.speed = speed, out.speed_of = row->constraint;
        out.squares += error * error;
        count++;
    }
    if (count > 0) out.squares /= count;
    return out;
}

// --- Forces ------------------------------------------------------------------------------------------------------------

CAL_DEVICE static double stabilize(const cal_row* row, cal_stabilization law, double gain) {
    if (law == CAL_STABILIZE_NONE) return 0.0;
    if (!row->holonomic) return -gain * row->speed;
    return -2.0 * gain * row->speed - (law == CAL_STABILIZE_LITERAL ? gain : gain * gain) * row->error;
}

CAL_DEVICE static inline double larger_of(double a, double b) { return b > a ? b : a; }

// Of each node the sizes of the coordinates of all nodes between it and its root, one at least; only the largest of the four is of use.
CAL_WIDE_INLINE void find_sizes(const cal_model* model, const cal_node_motion* motions, bool of_speed, double* out) {
    const cal_four least = {1.0, 1.0, 1.0, 1.0};
    cal_four own = least; // along a chain what the node before has left
    for (int n = 0; n < model->node_count; n++) {
        const cal_node_motion* m = &motions[n];
        const int parent = model->nodes[n].parent;
        if (parent < 0)
            own = least;
        else if (parent != n - 1)
            own = cal_load_four(out + 4 * (size_t)parent);
        if (of_speed) { // six numbers, one after the other
            own = cal_larger_four(own, cal_size_four(cal_load_four(m->angular), true));
            own = cal_larger_four(own, cal_size_four(cal_load_four(m->angular + 2), true));
        } else {
            own = cal_larger_four(own, cal_size_four(cal_load_four(m->origin), false));
        }
        cal_store_four(own, out + 4 * (size_t)n);
    }
}

// Functions of several sets of instructions pass no vectors by value: what does so is called by them.
CAL_WIDE static void find_extents(const cal_model* model, const cal_node_motion* motions, bool of_speed, double* out) {
    find_sizes(model, motions, of_speed, out);
}

CAL_DEVICE static double extent_of(const cal_constraints* set, int node, bool of_speed) {
    if (set->paths) {
        const cal_joint_path_motion* motion = &set->path_motions[set->path_of[node]];
        return of_speed ? motion->speed : motion->extent;
    }
    const double* own = set->extent + 4 * (size_t)node;
    return larger_of(larger_of(own[0], own[1]), larger_of(own[2], own[3]));
}

CAL_EVERYWHERE bool cal_constraints_are_closed(const cal_constraints* set) {
    return set->open[0] <= set->closed * set->unit && set->open[1] <= set->closed * set->unit;
}

// How far the constraints are open, or open up, in the size of the coordinates that a row is made from, those of all nodes between
// it and its roots. Each of n nodes rounds, which adds up to √n ε as a rule (Higham, Accuracy and Stability, 2.6). Near a singular
// position what is left open comes back divided by the square of the distance to it. Sizes are one at least, of the mechanism's own unit: what is closed
// without them is closed.
// sized: sizes are those of the last call, from which they differ by a correction only.
CAL_DEVICE static double openness(const cal_constraints* set, bool of_speed, bool sized) {
    double out = set->open[of_speed ? 1 : 0] / set->unit;
    if (out <= set->closed) return out;
    out = 0.0;
    if (!sized && !set->paths) find_extents(set->model, set->motions, of_speed, set->extent);
    for (int place = 0; place < set->model->constraint_count; place++) {
        const int constraint = set->order[place], first = set->first_row[place], end = set->first_row[place + 1];
        const int nodes = set->support_start[constraint + 1] - set->support_start[constraint];
        double scale = 1.0;
        for (int i = first; i < end; i++)
            for (int k = 0; k < set->rows[i].node_count; k++)
                scale = larger_of(scale, extent_of(set, set->rows[i].node[k], of_speed));
        scale *= set->unit * fmax(1.0, sqrt((double)nodes) * DBL_EPSILON / ROUNDING);
        double own[2] = {0.0, 0.0};
        note_open(set, first, end - first, own);
        const double open = own[of_speed ? 1 : 0] / scale;
        if (!(open <= out)) out = open;
    }
    return out;
}

// Sums of roundings are beyond three times their size as a rule once in 400.
static const double SURELY = 3.0;

// A correction can do no better than the places that q can have. A joint's q rounds by ε |q|, about an arm that is twice the size of coordinates at most,
// and half of a last place either way: n of them add up to √n ε |q| of that size, beside the √n ε of what is made of q.
CAL_EVERYWHERE bool cal_constraints_are_reached(const cal_constraints* set) {
    const double rounding = ROUNDING * (1.0 + cal_largest_size(set->at_q, set->model->q_count));
    return openness(set, false, false) <= fmax(set->closed, SURELY * rounding);
}

CAL_DEVICE static double shift_of(double open) { return fmin(fmax(WARY * open * open, LEAST_SHIFT), MOST_SHIFT); }

// Rows that depend on each other do so up to how far the constraints are open.
CAL_DEVICE static double shift_for(cal_constraints* set) {
    if (set->loops) return shift_of(openness(set, false, false));
    const double open = set->open[0];
    // Of unit wrenches, which most rows are, no more is open than that.
    if (open * fmax(1.0, 1.0 / set->length) <= sqrt(LEAST_SHIFT / WARY)) return LEAST_SHIFT;
    for (int i = 0; i < set->row_count; i++) set->rest[i] = set->rows[i].error;
    return shift_of(cal_matrix_open(set, set->rest));
}

CAL_EVERYWHERE void cal_constraints_demand_some(cal_constraints* set, int first, int end, cal_stabilization law,
                                                double gain, const double* forcing) {
    for (int i = first; i < end; i++) {
        const cal_row* row = &set->rows[i];
        double sum = row->bias;
        for (int k = 0; k < row->node_count; k++) {
            const double* a = set->accelerations + 6 * (size_t)row->node[k];
            sum += cal_dot3(row->moment[k], a) + cal_dot3(row->force[k], a + 3);
        }
        set->right[i] = stabilize(row, law, gain) + (forcing ? forcing[i] : 0.0) - sum;
    }
}

CAL_EVERYWHERE void cal_constraints_demand(cal_constraints* set, const double* v, const double* qdd,
                                           cal_stabilization law, double gain, const double* forcing) {
    cal_node_accelerations(set->model, set->motions, v, qdd, 0, set->model->node_count, set->accelerations);
    cal_constraints_demand_some(set, 0, set->row_count, law, gain, forcing);
}

CAL_DEVICE static void find_multipliers(cal_constraints* set, const double* q, const double* v, const double* qdd,
                                        cal_stabilization law, double gain, double shift, const double* forcing) {
    cal_constraints_evaluate(set, q, v);
    cal_matrix_make(set);
    cal_matrix_factor(set, fmin(shift, shift_for(set)));
    cal_constraints_demand(set, v, qdd, law, gain, forcing);
    cal_matrix_solve(set);
}

CAL_EVERYWHERE void cal_constraints_find_change(cal_constraints* set, const double* q, const double* v,
                                                const double* qdd, cal_stabilization law, double gain, double shift,
                                                const cal_context* executed) {
    if (set->row_count == 0) return;
#ifdef CAL_THREAD_PER_LANE
    set->given = executed;
#else
    cal_constraints_execute(set, q, executed);
#endif
    find_multipliers(set, q, v, qdd, law, gain, shift, NULL);
    cal_matrix_find_change(set);
    cal_directions_note(set);
}

typedef struct joining {
    cal_constraints* set;
    cal_stabilization law;
    double gain, shift;
    const cal_context* executed;
    bool finite;
} joining;

// What rows ask for, without q̈₀: of what an execution of aba has left. Returns whether it is finite.
CAL_DEVICE static bool demand_drift(const joining* join, const cal_worker* worker) {
    cal_constraints* set = join->set;
    const int first = set->first_row[cal_first_place(set, worker, worker->index)],
              end = set->first_row[cal_first_place(set, worker, worker->index + 1)];
    for (int i = first; i < end; i++) set->right[i] = stabilize(&set->rows[i], join->law, join->gain) - set->drift[i];
    return cal_all_finite(set->right + first, end - first);
}

CAL_DEVICE static void join_part(joining* join, cal_worker* worker) {
    cal_constraints* set = join->set;
    const double easiest = cal_matrix_make_part(set, worker);
    double missing = demand_drift(join, worker) ? 0.0 : 1.0;
    cal_matrix_factor_part(set, easiest, join->shift, worker);
    cal_worker_largest(worker, &missing, 1);
    if (worker->index == 0) join->finite = missing == 0.0;
    if (missing != 0.0) return;
    cal_matrix_solve_part(set, worker);
    cal_worker_meet(worker);
    cal_mass_factor_give_shares(&set->tree, join->executed, set->effort, worker->index, worker->count);
}

#ifndef CAL_THREAD_PER_LANE
static void join_shared(void* join, cal_worker* worker) { join_part(join, worker); }
#endif

CAL_EVERYWHERE bool cal_constraints_join(cal_constraints* set, const double* q, const double* v, cal_stabilization law,
                                         double gain, double shift, const cal_context* executed) {
    if (set->row_count == 0) return true;
    set->given = executed;
    evaluate_at(set, q, v, false);
    joining join = {set, law, gain, fmin(shift, shift_for(set)), executed, false};
    set->rode = executed->riders != NULL;
    set->borrows = true;
    cal_directions_lose(set);
    cal_constraints_factor_mass(set);
#ifndef CAL_THREAD_PER_LANE
    cal_workers_run(&set->workers, &set->paces[CAL_WORK_JOIN], join_shared, &join);
#else
    cal_worker alone = CAL_ALONE_WORKER;
    join_part(&join, &alone);
#endif
    set->borrows = set->rode = false;
    if (!join.finite) return false;
    set->directions.fresh = false;
    cal_directions_note(set);
    return true;
}

// --- Projection --------------------------------------------------------------------------------------------------------

// Scales set->right, and factors the matrix anew where it is new. The shift is as large as what is to be corrected (Levenberg and
// Marquardt's method, with Yamashita and Fukushima's choice, the square): rows that are independent only because the constraints
// are open (Bricard's loop), by as much, are left alone; near a singular position what is open shrinks with the distance to
// it, and nothing is held back.
CAL_DEVICE static void scale_right(cal_constraints* set, bool factored) {
    if (set->loops) {
        if (!factored) cal_matrix_factor(set, shift_for(set));
        return;
    }
    if (!factored) cal_matrix_factor(set, shift_of(cal_matrix_open(set, set->right)));
    for (int i = 0; i < set->row_count; i++) set->right[i] *= set->scale[i];
}

static const double LONGEST = 0.3, NEAR = 1e-5, LITTLE = 1e-10;

// Whether what is open had better stay so: it is little, and what would close it is rounding for the most part.
CAL_DEVICE static bool too_near(const cal_constraints* set, double blind) {
    return blind > 0.0 && cal_constraints_violation(set, CAL_NONE).error <= LITTLE &&
           cal_constraints_distance(set) < blind;
}

// set->change ← what set->right asks for: in directions that are kept while these get on, else in those of the mass matrix here, which are
// factored anew unless that is done. False: so near to a singular position that it had better stay open.
CAL_DEVICE static bool find_correction(cal_constraints* set, double blind, bool* along, bool* factored) {
    *along = *along && cal_directions_correct(set) && cal_largest_size(set->change, set->model->v_count) <= LONGEST;
    if (*along) return true;
    if (!*factored) cal_matrix_make(set);
    scale_right(set, *factored);
    *factored = true;
    if (too_near(set, blind)) return false;
    cal_matrix_correct(set);
    return true;
}

// Newton's method gets on by more than this; what does not is left to directions of the place itself.
static const double GETS_ON = 0.1;

CAL_EVERYWHERE void cal_constraints_displace(const cal_constraints* set, const double* change, double factor,
                                             double* q) {
#ifdef CAL_THREAD_PER_LANE
    const cal_model* model = set->model;
    if (model->q_count == model->v_count) {
        cal_displace_places(model->q_count, change, factor, q);
        return;
    }
    for (int i = 0; i < model->joint_count; i++) {
        const cal_joint* joint = &model->joints[i];
        cal_displace_joint((int)joint->def->kind, change + joint->first_v, factor, q + joint->first_q);
    }
#else
    cal_model_displace(set->model, change, factor, q);
#endif
}

// Returns whether the last factorisation still serves velocities. What a correction makes worse is taken back: it was rounding.
CAL_DEVICE static bool project_position(cal_constraints* set, double* q, const double* v, int patience) {
    const size_t size = (size_t)set->model->q_count * sizeof *q;
    bool factored = false;
    evaluate_at(set, q, v, false);
    double now = openness(set, false, false);
    bool along = now > set->closed && isfinite(now) && cal_directions_serve(set, q, v);
    for (int k = 0; k < patience && now > set->closed && isfinite(now); k++) {
        for (int i = 0; i < set->row_count; i++) set->right[i] = -set->rows[i].error;
        if (!find_correction(set, set->blind * set->blind, &along, &factored)) return true;
        const double change = cal_largest_size(set->change, set->model->v_count);
        if (!isfinite(change)) return false;
        memcpy(set->before, q, size);
        cal_constraints_displace(set, set->change, change > LONGEST ? LONGEST / change : 1.0, q);
        // Near the solution the matrix need not be found anew: what is left is of second order.
        factored = factored && change < NEAR;
        const double before = now;
        evaluate_at(set, q, v, false);
        now = openness(set, false, along);
        along = along && now < GETS_ON * before;
        // Far off a correction may open before it closes.
        if (now < before || before > LITTLE) continue;
        memcpy(q, set->before, size);
        evaluate_at(set, q, v, false);
        break;
    }
    return factored && !set->smooth;
}

CAL_DEVICE static void project_velocity(cal_constraints* set, const double* q, double* v, int patience, bool factored) {
    const size_t size = (size_t)set->model->v_count * sizeof *v;
    evaluate_at(set, q, v, false);
    double now = openness(set, true, false);
    bool along = !factored && now > set->closed && isfinite(now) && cal_directions_serve(set, q, v);
    for (int k = 0; k < patience && now > set->closed && isfinite(now); k++) {
        for (int i = 0; i < set->row_count; i++) set->right[i] = -set->rows[i].speed;
        if (!find_correction(set, set->blind, &along, &factored)) return;
        memcpy(set->before, v, size);
        for (int i = 0; i < set->model->v_count; i++) v[i] += set->change[i];
        const double before = now;
        // What closes the end of a step is measured: another run may go on from there.
        if (along && set->paths && set->along == CAL_ALONG_KEPT)
            follow_correction(set, q, v);
        else
            evaluate_at(set, q, v, false);
        now = openness(set, true, along);
        along = along && now < GETS_ON * before;
        if (now < before) continue;
        memcpy(v, set->before, size);
        evaluate_at(set, q, v, false);
        break;
    }
}

CAL_EVERYWHERE void cal_constraints_project(cal_constraints* set, double* q, double* v, cal_projection what,
                                            int patience) {
    if (set->row_count == 0) return;
    bool factored = false;
    if (what & CAL_PROJECT_POSITION) factored = project_position(set, q, v, patience);
    if (what & CAL_PROJECT_VELOCITY) project_velocity(set, q, v, patience, factored);
}
