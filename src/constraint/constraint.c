// Constraints at work (constraint.h): rows, their matrix, multipliers and projection. Who meets whom is in order.c.
#include "constraint/constraint.h"
#include "base/finite.h"
#include "base/memory.h"
#include "constraint/constraint_matrix.h"
#include "constraint/directions.h"
#include "constraint/elimination_order.h"
#include "constraint/loop_packs.h"
#include "constraint/riders.h"
#include "layout/layout.h"
#include "math/four.h"
#include "model/coordinates.h"
#include "plan/machine_ops.h"
#include <float.h>
#include <stddef.h>
#include <string.h>

// The smallest and the largest shift of a projection, and how much it is above the square of what is open.
static const double LEAST_SHIFT = 1e-12, MOST_SHIFT = 1e-4, WARY = 1e4;
// What is left of a gap of one in the last place of numbers of size one, and of the few that make it.
static const double ROUNDING = 1e-15;

void cal_constraints_destroy(cal_constraints* set) {
    if (!set) return;
    cal_order_destroy(set);
    cal_matrix_destroy(set);
    cal_front_rows_destroy(set);
    cal_packs_destroy(set);
    cal_directions_destroy(set);
    cal_riders_destroy(set);
    cal_mass_factor_destroy(&set->tree);
    cal_state_destroy(set->state);
    cal_loop_factor_destroy(set->loop_factor);
    cal_free(set->row_of);
    cal_free(set->factored_q);
    cal_plan_destroy(set->plan);
    cal_machine_destroy(set->machine);
    cal_state_destroy(set->aba_state);
    cal_plan_destroy_part(set->aba_first);
    cal_plan_destroy_part(set->aba_last);
    cal_plan_destroy(set->aba_plan);
    cal_machine_destroy(set->aba_machine);
    void* arrays[] = {set->frames, set->active,       set->motions, set->rows,   set->y,      set->scale,
                      set->lambda, set->right,        set->work,    set->rest,   set->effort, set->accelerations,
                      set->change, set->at_q,         set->at_v,    set->before, set->extent, set->unknown,
                      set->paths,  set->path_motions, set->path_of, set->ends,   set->covers};
    for (int i = 0; set->paths && i < set->path_count; i++) cal_joint_path_destroy(&set->paths[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(set);
}

static bool allocate(cal_constraints* set) {
    const cal_model* model = set->model;
    const size_t rows = (size_t)set->most_rows, nodes = (size_t)model->node_count;
    set->motions = cal_allocate(nodes, sizeof *set->motions);
    set->rows = cal_allocate(rows + CAL_CONSTRAINT_ROWS, sizeof *set->rows);
    set->y = cal_allocate(set->y_start[model->constraint_count], sizeof(double));
    set->frames = cal_allocate(2 * (size_t)model->constraint_count, sizeof *set->frames);
    for (int c = 0; set->frames && c < model->constraint_count; c++)
        cal_constraint_find_frames(model, c, set->frames + 2 * (size_t)c);
    set->scale = cal_allocate(rows, sizeof(double));
    set->lambda = cal_allocate(rows, sizeof(double));
    set->right = cal_allocate(rows, sizeof(double));
    set->work = cal_allocate(rows, sizeof(double));
    set->rest = cal_allocate(rows, sizeof(double));
    set->unknown = cal_allocate(rows, sizeof(double));
    set->effort = cal_allocate((size_t)model->v_count, sizeof(double));
    set->accelerations = cal_allocate(6 * nodes, sizeof(double));
    set->change = cal_allocate((size_t)model->v_count, sizeof(double));
    set->at_q = cal_allocate((size_t)model->q_count, sizeof(double));
    set->at_v = cal_allocate((size_t)model->v_count, sizeof(double));
    set->extent = cal_allocate(4 * nodes, sizeof(double));
    set->before = cal_allocate((size_t)model->q_count + (size_t)model->v_count, sizeof(double));
    return set->frames && set->motions && set->rows && set->y && set->scale && set->lambda && set->right && set->work &&
           set->rest && set->effort && set->accelerations && set->change && set->at_q && set->at_v && set->before &&
           set->extent && set->unknown && cal_constraints_find_paths(set) && cal_matrix_create(set) &&
           cal_front_rows_create(set) && cal_packs_create(set) && cal_directions_create(set) &&
           cal_riders_create(set) && cal_mass_factor_create(model, &set->tree) == CAL_OK;
}

static cal_status plan_mass(cal_constraints* set, cal_machine* machine) {
    // Ranks have all constraints, each for itself; a modelled machine computes nothing.
    cal_status status = CAL_OK;
    if (!machine || !machine->ops->together) status = cal_machine_serial(0, &set->machine, NULL);
    const cal_plan_def def = {.model = set->model,
                              .program = &cal_program_mass_factor,
                              .machine = set->machine ? set->machine : machine,
                              .copies = 1};
    if (status == CAL_OK) status = cal_plan_create_def(&def, &set->plan, NULL);
    if (status == CAL_OK) status = cal_state_create(set->plan, &set->state);
    if (status != CAL_OK) return status;
    set->tree.motions = set->motions;
    set->state->context.own = &set->tree;
    return CAL_OK;
}

// Also where the caller's executions will do: his may be on several processes or on a device, and directions that are loaded need one.
static cal_status plan_aba(cal_constraints* set) {
    if (set->loops || set->most_rows == 0 || !cal_mass_factor_is_shared(set->model)) return CAL_OK;
    cal_status status = cal_machine_serial(0, &set->aba_machine, NULL);
    if (status == CAL_OK) status = cal_plan_create(set->model, "aba", set->aba_machine, &set->aba_plan, NULL);
    if (status == CAL_OK) status = cal_plan_create_part(set->aba_plan, CAL_PART_FIRST, &set->aba_first);
    if (status == CAL_OK) status = cal_plan_create_part(set->aba_plan, CAL_PART_LAST, &set->aba_last);
    if (status == CAL_OK) status = cal_state_create(set->aba_plan, &set->aba_state);
    return status == CAL_OK ? cal_state_keep_responses(set->aba_state) : status;
}

void cal_constraints_execute(cal_constraints* set, const double* q, const cal_context* executed) {
    set->given = NULL;
    if (!set->aba_state) return;
    if (!executed) {
        cal_layout_scatter(set->aba_plan->layout, 0, q, NULL, set->aba_state->context.y);
        executed = cal_plan_run(set->aba_first, set->aba_state, NULL, NULL, true, NULL) == CAL_OK
                       ? &set->aba_state->context
                       : NULL;
    }
    set->given = executed;
}

void cal_constraints_factor_mass(cal_constraints* set) {
    set->factored = false; // the tree's numbers are those without loops now
    if (set->given) {
        // Who wants M⁻¹ Aᵀ at once reads the arrays.
        if (set->borrows)
            cal_mass_factor_borrow(&set->tree, set->given);
        else
            cal_mass_factor_take(&set->tree, set->given);
        set->given = NULL;
        return;
    }
    set->tree.given = NULL;
    if (!set->whole) cal_constraints_evaluate(set, set->at_q, set->at_v);
    if (cal_plan_run(set->plan, set->state, NULL, NULL, true, NULL) == CAL_OK) return;
    // The machine is busy with something else: here, then, children first. Same bits.
    for (int i = set->plan->layout->column_count - 1; i >= 0; i--)
        cal_program_mass_factor.passes[0].kernels[set->plan->variant](&set->state->context, i);
}

// Of the constraints that hold.
static void list_rows(cal_constraints* set) {
    cal_order_rows(set);
    cal_front_rows_list(set);
    cal_packs_fill(set);
}

// The largest distance from a joint to the next one, or to a constraint's frame; 1 where all are in one place.
static double find_length(const cal_model* model) {
    double square = 0.0;
    for (int n = 0; n < model->node_count; n++)
        if (model->nodes[n].parent >= 0)
            square = fmax(square, cal_dot3(model->nodes[n].offset, model->nodes[n].offset));
    for (int c = 0; c < model->constraint_count; c++) {
        const cal_constraint_def* def = &model->constraints[c];
        for (int side = 0; side < 2 && def->kind != CAL_COUPLING; side++)
            if (def->body[side] != CAL_GROUND)
                square = fmax(square, cal_dot3(def->position[side], def->position[side]));
    }
    return square > 0.0 ? sqrt(square) : 1.0;
}

// All lengths together, which nothing is further apart than by them.
static double find_unit(const cal_model* model) {
    double sum = 0.0;
    for (int n = 0; n < model->node_count; n++)
        if (model->nodes[n].parent >= 0) sum += sqrt(cal_dot3(model->nodes[n].offset, model->nodes[n].offset));
    for (int c = 0; c < model->constraint_count; c++) {
        const cal_constraint_def* def = &model->constraints[c];
        for (int side = 0; side < 2 && def->kind != CAL_COUPLING; side++)
            if (def->body[side] != CAL_GROUND) sum += sqrt(cal_dot3(def->position[side], def->position[side]));
    }
    return sum > 0.0 ? fmin(sum, 1.0) : 1.0;
}

cal_status cal_constraints_create(const cal_model* model, cal_constraints** out) {
    return cal_constraints_create_on(model, NULL, out);
}

cal_status cal_constraints_create_on(const cal_model* model, cal_machine* machine, cal_constraints** out) {
    *out = NULL;
    cal_constraints* set = cal_allocate(1, sizeof *set);
    if (!set) return CAL_NO_MEMORY;
    set->model = model;
    set->closed = ROUNDING;
    set->length = find_length(model);
    set->unit = find_unit(model);
    set->moved = cal_model_is_moved(model);
    set->loops = cal_loop_factor_pays(model);
    set->active = cal_allocate((size_t)model->constraint_count, sizeof *set->active);
    set->row_of = cal_allocate((size_t)model->constraint_count, sizeof *set->row_of);
    set->factored_q = cal_allocate((size_t)model->q_count, sizeof(double));
    if (!set->active || !set->row_of || !set->factored_q || cal_order_create(set) != CAL_OK || !allocate(set) ||
        plan_mass(set, machine) != CAL_OK || plan_aba(set) != CAL_OK ||
        (set->loops &&
         cal_loop_factor_create(model, set->most_rows, &set->tree, &set->rounding, &set->loop_factor) != CAL_OK)) {
        cal_constraints_destroy(set);
        return CAL_NO_MEMORY;
    }
    for (int i = 0; i < model->constraint_count; i++) set->active[i] = !model->constraints[i].inactive;
    cal_directions_forget(set);
    list_rows(set);
    *out = set;
    return CAL_OK;
}

void cal_constraints_activate(cal_constraints* set, int constraint, bool active) {
    if (set->active[constraint] == active) return;
    set->active[constraint] = active;
    set->evaluated = set->factored = false;
    cal_directions_forget(set);
    list_rows(set);
}

// --- Rows and their matrix ---------------------------------------------------------------------------------------------

static void make_rows(cal_constraints* set, const double* q, const double* v) {
    const cal_node_motion* motions = set->paths ? set->ends : set->motions;
    for (int i = 0; i < set->pack_count; i++)
        cal_pack_make_rows(&set->packs[i], set->plan->variant, motions, set->rows);
    for (int i = 0; i < set->single_count; i++) {
        const int place = set->singles[i], constraint = set->order[place];
        cal_constraint_make_rows_at(set->model, constraint, set->frames + 2 * (size_t)constraint, set->time, motions, q,
                                    v, set->rows + set->first_row[place]);
    }
}

// Motions and rows at q and v; whole: motions of all nodes as well, where rows do without.
static void evaluate_at(cal_constraints* set, const double* q, const double* v, bool whole) {
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
    if (!set->whole && (whole || !set->paths)) {
        cal_node_motions(set->model, set->plan->variant, q, v, !set->placed, set->motions);
        set->placed = set->whole = true;
    }
    if (!anew) return;
    if (set->paths) cal_constraints_answer(set);
    make_rows(set, q, v);
}

void cal_constraints_evaluate(cal_constraints* set, const double* q, const double* v) { evaluate_at(set, q, v, true); }

void cal_constraints_look(cal_constraints* set, const double* q, const double* v) { evaluate_at(set, q, v, false); }

// Rows where v has changed by the last correction alone, which was along kept directions: paths have answered to these.
static void follow_correction(cal_constraints* set, const double* q, const double* v) {
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
    make_rows(set, q, v);
}

cal_violation cal_constraints_violation(const cal_constraints* set, int only) {
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

static double stabilize(const cal_row* row, cal_stabilization law, double gain) {
    if (law == CAL_STABILIZE_NONE) return 0.0;
    if (!row->holonomic) return -gain * row->speed;
    return -2.0 * gain * row->speed - (law == CAL_STABILIZE_LITERAL ? gain : gain * gain) * row->error;
}

void cal_constraints_demand(cal_constraints* set, const double* v, const double* qdd, cal_stabilization law,
                            double gain, const double* forcing) {
    cal_node_accelerations(set->model, set->motions, v, qdd, set->accelerations);
    for (int i = 0; i < set->row_count; i++) {
        const cal_row* row = &set->rows[i];
        double sum = row->bias;
        for (int k = 0; k < row->node_count; k++) {
            const double* a = set->accelerations + 6 * (size_t)row->node[k];
            sum += cal_dot3(row->moment[k], a) + cal_dot3(row->force[k], a + 3);
        }
        set->right[i] = stabilize(row, law, gain) + (forcing ? forcing[i] : 0.0) - sum;
    }
}

// The same without q̈₀: of what an execution of aba has left.
static void demand_drift(cal_constraints* set, cal_stabilization law, double gain) {
    for (int i = 0; i < set->row_count; i++) set->right[i] = stabilize(&set->rows[i], law, gain) - set->drift[i];
}

static inline double larger_of(double a, double b) { return b > a ? b : a; }

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
_Static_assert(offsetof(cal_node_motion, linear) == offsetof(cal_node_motion, angular) + 3 * sizeof(double),
               "read with the angular velocity");

static double extent_of(const cal_constraints* set, int node, bool of_speed) {
    if (set->paths) {
        const cal_joint_path_motion* motion = &set->path_motions[set->path_of[node]];
        return of_speed ? motion->speed : motion->extent;
    }
    const double* own = set->extent + 4 * (size_t)node;
    return larger_of(larger_of(own[0], own[1]), larger_of(own[2], own[3]));
}

// Whether a row holds a turn, or a coupling, and no displacement.
static bool is_turn(const cal_row* row) {
    return row->node_count == 0 || (row->force[0][0] == 0.0 && row->force[0][1] == 0.0 && row->force[0][2] == 0.0);
}

// The largest of some rows' |φ| or |φ̇|, turns at the mechanism's size; what is not a number counts as the largest.
static double most_open(const cal_constraints* set, int first, int end, bool of_speed) {
    double out = 0.0;
    for (int i = first; i < end; i++) {
        double size = fabs(of_speed ? set->rows[i].speed : set->rows[i].error);
        if (set->unit < 1.0 && is_turn(&set->rows[i])) size *= set->unit;
        if (!(size <= out)) out = size;
    }
    return out;
}

bool cal_constraints_are_closed(const cal_constraints* set) {
    return most_open(set, 0, set->row_count, false) <= set->closed * set->unit &&
           most_open(set, 0, set->row_count, true) <= set->closed * set->unit;
}

// How far the constraints are open, or open up, in the size of the coordinates that a row is made from, those of all nodes between
// it and its roots. Each of n nodes rounds, which adds up to √n ε as a rule (Higham, Accuracy and Stability, 2.6). Near a singular
// position what is left open comes back divided by the square of the distance to it. Sizes are one at least, of the mechanism's own unit: what is closed
// without them is closed.
// sized: sizes are those of the last call, from which they differ by a correction only.
static double openness(const cal_constraints* set, bool of_speed, bool sized) {
    double out = most_open(set, 0, set->row_count, of_speed) / set->unit;
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
        scale *= set->unit * fmax(1.0, sqrt(nodes) * DBL_EPSILON / ROUNDING);
        const double open = most_open(set, first, end, of_speed) / scale;
        if (!(open <= out)) out = open;
    }
    return out;
}

// Sums of roundings are beyond three times their size as a rule once in 400.
static const double SURELY = 3.0;

// A correction can do no better than the places that q can have. A joint's q rounds by ε |q|, about an arm that is twice the size of coordinates at most,
// and half of a last place either way: n of them add up to √n ε |q| of that size, beside the √n ε of what is made of q.
bool cal_constraints_are_reached(const cal_constraints* set) {
    const double rounding = ROUNDING * (1.0 + cal_largest_size(set->at_q, set->model->q_count));
    return openness(set, false, false) <= fmax(set->closed, SURELY * rounding);
}

static double shift_of(double open) { return fmin(fmax(WARY * open * open, LEAST_SHIFT), MOST_SHIFT); }

// Rows that depend on each other do so up to how far the constraints are open.
static double shift_for(cal_constraints* set) {
    if (set->loops) return shift_of(openness(set, false, false));
    const double open = most_open(set, 0, set->row_count, false);
    // Of unit wrenches, which most rows are, no more is open than that.
    if (open * fmax(1.0, 1.0 / set->length) <= sqrt(LEAST_SHIFT / WARY)) return LEAST_SHIFT;
    for (int i = 0; i < set->row_count; i++) set->rest[i] = set->rows[i].error;
    return shift_of(cal_matrix_open(set, set->rest));
}

static void find_multipliers(cal_constraints* set, const double* q, const double* v, const double* qdd,
                             cal_stabilization law, double gain, double shift, const double* forcing) {
    cal_constraints_evaluate(set, q, v);
    cal_matrix_make(set);
    cal_matrix_factor(set, fmin(shift, shift_for(set)));
    cal_constraints_demand(set, v, qdd, law, gain, forcing);
    cal_matrix_solve(set);
}

void cal_constraints_hold(cal_constraints* set, const double* q, const double* v, const double* qdd,
                          cal_stabilization law, double gain, double shift, double* tau) {
    if (set->row_count == 0) return;
    find_multipliers(set, q, v, qdd, law, gain, shift, NULL);
    if (set->loops) cal_loop_factor_forces(set->loop_factor, set->motions, set->change, tau);
    for (int i = 0; i < set->row_count && !set->loops; i++)
        cal_mass_factor_add(&set->tree, &set->rows[i], set->lambda[i]);
    if (!set->loops) cal_mass_factor_joint_forces(&set->tree, tau);
}

void cal_constraints_find_change(cal_constraints* set, const double* q, const double* v, const double* qdd,
                                 cal_stabilization law, double gain, double shift, const cal_context* executed) {
    if (set->row_count == 0) return;
    cal_constraints_execute(set, q, executed);
    find_multipliers(set, q, v, qdd, law, gain, shift, NULL);
    cal_matrix_find_change(set);
    cal_directions_note(set);
}

bool cal_constraints_join(cal_constraints* set, const double* q, const double* v, cal_stabilization law, double gain,
                          double shift, const cal_context* executed) {
    if (set->row_count == 0) return true;
    set->given = executed;
    evaluate_at(set, q, v, false);
    set->rode = executed->riders != NULL;
    set->borrows = true;
    cal_matrix_make(set);
    set->borrows = set->rode = false;
    cal_matrix_factor(set, fmin(shift, shift_for(set)));
    demand_drift(set, law, gain);
    if (!cal_all_finite(set->right, set->row_count)) return false;
    cal_matrix_solve(set);
    cal_mass_factor_give_shares(&set->tree, executed, set->effort);
    set->directions.fresh = false;
    cal_directions_note(set);
    return true;
}

// What pushes nodes, where rows were evaluated.
static void add_pushes(cal_constraints* set, const cal_outer_force* pushes, int count) {
    for (int i = 0; i < count; i++) {
        const cal_mount* mount = &set->model->mounts[pushes[i].body];
        double arm[3], torque[3];
        if (mount->node < 0) continue; // the ground does not move
        cal_rotate3(mount->rotation, pushes[i].point, arm);
        for (int d = 0; d < 3; d++) arm[d] += mount->offset[d];
        cal_rotate3(set->motions[mount->node].rotation, arm, arm);
        cal_cross3(arm, pushes[i].force, torque);
        for (int d = 0; d < 3; d++) torque[d] += pushes[i].torque[d];
        cal_loop_factor_push(set->loop_factor, mount->node, pushes[i].force, torque);
    }
}

void cal_constraints_move(cal_constraints* set, const double* q, const double* v, const cal_constraint_load* load,
                          cal_stabilization law, double gain, double shift) {
    cal_constraints_evaluate(set, q, v);
    cal_matrix_factor(set, fmin(shift, shift_for(set)));
    memset(set->change, 0, (size_t)set->model->v_count * sizeof(double));
    cal_constraints_demand(set, v, set->change, law, gain, NULL); // at q̈ = 0
    cal_loop_factor_load(set->loop_factor, set->motions, set->accelerations, load->forces);
    add_pushes(set, load->pushes, load->push_count);
    cal_matrix_solve_loaded(set);
}

void cal_constraints_accelerate(cal_constraints* set, const double* q, const double* v, double* qdd,
                                cal_stabilization law, double gain, const double* forcing) {
    if (set->row_count == 0) return;
    find_multipliers(set, q, v, qdd, law, gain, CAL_SHIFT_OPEN, forcing);
    cal_matrix_find_change(set);
    for (int i = 0; i < set->model->v_count; i++) qdd[i] += set->change[i];
}

// --- Projection --------------------------------------------------------------------------------------------------------

// Scales set->right, and factors the matrix anew where it is new. The shift is as large as what is to be corrected (Levenberg and
// Marquardt's method, with Yamashita and Fukushima's choice, the square): rows that are independent only because the constraints
// are open (Bricard's loop), by as much, are left alone; near a singular position what is open shrinks with the distance to
// it, and nothing is held back.
static void scale_right(cal_constraints* set, bool factored) {
    if (set->loops) {
        if (!factored) cal_matrix_factor(set, shift_for(set));
        return;
    }
    if (!factored) cal_matrix_factor(set, shift_of(cal_matrix_open(set, set->right)));
    for (int i = 0; i < set->row_count; i++) set->right[i] *= set->scale[i];
}

static const double LONGEST = 0.3, NEAR = 1e-5, LITTLE = 1e-10;

// Whether what is open had better stay so: it is little, and what would close it is rounding for the most part.
static bool too_near(const cal_constraints* set, double blind) {
    return blind > 0.0 && cal_constraints_violation(set, CAL_NONE).error <= LITTLE &&
           cal_constraints_distance(set) < blind;
}

// set->change ← what set->right asks for: in directions that are kept while these get on, else in those of the mass matrix here, which are
// factored anew unless that is done. False: so near to a singular position that it had better stay open.
static bool find_correction(cal_constraints* set, double blind, bool* along, bool* factored) {
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

// Returns whether the last factorisation still serves velocities. What a correction makes worse is taken back: it was rounding.
static bool project_position(cal_constraints* set, double* q, const double* v, int patience) {
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
        cal_model_displace(set->model, set->change, change > LONGEST ? LONGEST / change : 1.0, q);
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

static void project_velocity(cal_constraints* set, const double* q, double* v, int patience, bool factored) {
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

void cal_constraints_keep_normal(cal_constraints* set, const double* q, double* change) {
    if (set->row_count == 0) return;
    cal_constraints_evaluate(set, q, change);
    cal_matrix_make(set);
    for (int i = 0; i < set->row_count; i++) set->right[i] = set->rows[i].speed + set->rows[i].rate;
    scale_right(set, false);
    cal_matrix_correct(set);
    memcpy(change, set->change, (size_t)set->model->v_count * sizeof *change);
}

void cal_constraints_project(cal_constraints* set, double* q, double* v, cal_projection what, int patience) {
    if (set->row_count == 0) return;
    bool factored = false;
    if (what & CAL_PROJECT_POSITION) factored = project_position(set, q, v, patience);
    if (what & CAL_PROJECT_VELOCITY) project_velocity(set, q, v, patience, factored);
}
