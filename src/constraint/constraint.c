// Constraints at work (constraint.h): rows, their matrix, multipliers and projection. Who meets whom is in order.c.
#include "constraint/constraint_body.h"
#include "constraint/elimination_order.h"
#include "constraint/loop_packs.h"
#include "constraint/riders.h"
#include "plan/machine_ops.h"

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
                      set->paths,  set->path_motions, set->path_of, set->ends,   set->covers, set->chains_of_worker};
    for (int i = 0; set->paths && i < set->path_count; i++) cal_joint_path_destroy(&set->paths[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_workers_destroy(&set->workers);
    cal_limbs_destroy(&set->limbs);
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

// Less than what an evaluation's meetings cost is not shared: a dozen of them, half a message each (machine_ops.h).
enum { MEETINGS = 6 };
static bool pays_to_share(const cal_model* model, const cal_machine* machine) {
    return machine && machine->ops->paced &&
           machine->costs.compute * model->node_count > MEETINGS * machine->costs.message;
}

// Where a worker's chains begin: by their middles among all constraints.
static bool deal(cal_constraints* set) {
    const int64_t count = set->workers.count, places = set->model->constraint_count;
    set->chains_of_worker = cal_allocate((size_t)count + 1, sizeof *set->chains_of_worker);
    if (!set->chains_of_worker || cal_limbs_create(set->model, (int)count, &set->limbs)) return false;
    int chain = 0;
    for (int w = 0; w <= count; w++) {
        for (; chain < set->chain_count; chain++) {
            const cal_chain* c = &set->chains[chain];
            if (w < count && (c->first + c->end) * count >= 2 * places * w) break;
        }
        set->chains_of_worker[w] = chain;
    }
    return true;
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
    set->variant = set->plan->variant;
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
        cal_program_mass_factor.passes[0].kernels[set->variant](&set->state->context, i);
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
    if (!set->active || !set->row_of || !set->factored_q ||
        cal_workers_create(pays_to_share(model, machine) ? machine : NULL, &set->workers) != CAL_OK ||
        cal_order_create(set) != CAL_OK || !deal(set) || !allocate(set) || plan_mass(set, machine) != CAL_OK ||
        plan_aba(set) != CAL_OK ||
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

// --- Forces ------------------------------------------------------------------------------------------------------------

void cal_constraints_hold(cal_constraints* set, const double* q, const double* v, const double* qdd,
                          cal_stabilization law, double gain, double shift, double* tau) {
    if (set->row_count == 0) return;
    find_multipliers(set, q, v, qdd, law, gain, shift, NULL);
    if (set->loops) cal_loop_factor_forces(set->loop_factor, set->motions, set->change, tau);
    for (int i = 0; i < set->row_count && !set->loops; i++)
        cal_mass_factor_add(&set->tree, &set->rows[i], set->lambda[i]);
    if (!set->loops) cal_mass_factor_joint_forces(&set->tree, tau);
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

// At q̈ = 0.
typedef struct loading {
    cal_constraints* set;
    const double* v;
    cal_stabilization law;
    double gain;
} loading;

static void accelerate_nodes(const loading* work, const cal_node_range* nodes) {
    cal_constraints* set = work->set;
    cal_node_accelerations(set->model, set->motions, work->v, set->change, nodes->first, nodes->end,
                           set->accelerations);
    cal_loop_factor_load(set->loop_factor, set->motions, set->accelerations, nodes);
}

static void load_shared(void* argument, cal_worker* worker) {
    const loading* work = argument;
    cal_constraints* set = work->set;
    for (int i = 0; i < cal_trunk_count(&set->limbs, worker); i++) accelerate_nodes(work, &set->limbs.trunk[i]);
    cal_limbs_meet(&set->limbs, worker);
    for (int i = 0; i < cal_limb_count(&set->limbs, worker); i++) {
        const cal_node_range limb = cal_limb(&set->limbs, worker, i);
        accelerate_nodes(work, &limb);
    }
    cal_worker_meet(worker);
    cal_constraints_demand_some(set, cal_worker_first(worker, worker->index, set->row_count),
                                cal_worker_first(worker, worker->index + 1, set->row_count), work->law, work->gain,
                                NULL);
}

void cal_constraints_move(cal_constraints* set, const double* q, const double* v, const cal_constraint_load* load,
                          cal_stabilization law, double gain, double shift) {
    cal_constraints_evaluate(set, q, v);
    cal_matrix_factor(set, fmin(shift, shift_for(set)));
    memset(set->change, 0, (size_t)set->model->v_count * sizeof(double));
    loading work = {set, v, law, gain};
    set->loop_factor->forces = load->forces;
    cal_workers_run(&set->workers, &set->paces[CAL_WORK_MAKE], load_shared, &work);
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

void cal_constraints_keep_normal(cal_constraints* set, const double* q, double* change) {
    if (set->row_count == 0) return;
    cal_constraints_evaluate(set, q, change);
    cal_matrix_make(set);
    for (int i = 0; i < set->row_count; i++) set->right[i] = set->rows[i].speed + set->rows[i].rate;
    scale_right(set, false);
    cal_matrix_correct(set);
    memcpy(change, set->change, (size_t)set->model->v_count * sizeof *change);
}
