// Plans: the layout of a model for a machine's lanes, and the order of a walk over its columns.
#include "plan/plan.h"

#include "base/error.h"
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "pass/joint_force.h"
#include "pass/sums.h"
#include "plan/distribution.h"

#include <stdio.h>
#include <string.h>

// Whether what one processor's columns leave for those below is read by another's.
static bool has_cuts(const cal_layout* layout) {
    for (int i = 0; !layout->repeats && i < layout->column_count; i++)
        if (layout->columns[i].shared) return true;
    return false;
}

bool cal_plan_find_stages(cal_plan* plan) {
    const cal_program* program = plan->program;
    const cal_tree* own = plan->arrangement ? &plan->arrangement->tree : NULL;
    const bool cuts = has_cuts(plan->layout);
    bool shown = false;
    plan->stage_count = 0;
    cal_stage* last = NULL;
    for (int i = 0; i < program->pass_count; i++) {
        const cal_pass* pass = &program->passes[i];
        const cal_tree* tree = pass->tree == CAL_TREE_OWN ? own : &plan->columns;
        if ((pass->tree == CAL_TREE_OWN || pass->for_own_tree) && !(own && own->steps)) continue;
        const bool begins = pass->direction == tree->begins;
        // The second half of a walk that has begun, or a stage of its own.
        if (begins || !last || last->tree != tree || (last->down && last->up) ||
            (pass->direction == CAL_OUTBOUND ? last->down : last->up)) {
            if (plan->stage_count == CAL_MOST_STAGES) return false;
            // Who only goes down hears nothing of those below, who still read what the next stage would write.
            const bool read = cuts && last && last->tree == &plan->columns && !last->up;
            plan->stages[plan->stage_count] = (cal_stage){.tree = tree,
                                                          .first_edge = tree == own ? plan->columns.edge_count : 0,
                                                          .meets = plan->stage_count > 0 && (tree->gathers || read)};
            last = &plan->stages[plan->stage_count++];
        }
        *(pass->direction == CAL_OUTBOUND ? &last->down : &last->up) = pass;
        // Nobody hears from those who pull what it shows: what another pass showed in the same slots must have been read.
        if (pass->direction == CAL_OUTBOUND || pass->for_solver) continue;
        last->meets = last->meets || (plan->layout->repeats && shown);
        shown = true;
    }
    return true;
}

// Whether several processors share the work. Where memory is not shared, swept programs are everybody's own.
static bool is_spread(const cal_plan_def* def) {
    return def->program->walked || (def->program->spreads && def->machine->keep == CAL_KEEP_ALL && def->copies == 1);
}

// Who computes what: the caller's choice, the arrangement's, or the balanced distribution's. lasts: NULL where no trunk is repeated.
static cal_status choose_owners(cal_plan* plan, const cal_plan_def* def, const cal_team* team, int32_t** owners,
                                int32_t** lasts, cal_error* error) {
    cal_arrangement* arrangement = plan->arrangement;
    const size_t count = (size_t)plan->model->node_count;
    const bool spread = team->processors > 1 && is_spread(def) && count > 0;
    int32_t* memory = spread ? cal_allocate(2 * count, sizeof *memory) : NULL; // and, for those who ask, lasts
    *owners = memory;
    *lasts = NULL;
    if (spread && !*owners)
        return cal_fail(error, CAL_NO_MEMORY, "no memory for a distribution of %d bodies", def->model->body_count);
    const int32_t* wanted = def->owners;
    cal_status status = CAL_OK;
    if (spread && !wanted && !(arrangement && arrangement->divided)) {
        status =
            cal_distribute_balanced(plan->model, team->processors, &def->machine->costs, *owners, NULL, NULL, error);
        wanted = *owners;
    } else if (spread && wanted) {
        memcpy(*owners, wanted, count * sizeof **owners);
        wanted = *owners;
    }
    if (status != CAL_OK) return status;
    // Programs that cannot repeat the trunk hand over.
    if (spread && wanted && def->program->repeats && !arrangement && def->copies == 1) {
        if (cal_find_runs(plan->model, team->processors, team->keep != CAL_KEEP_ALL, *owners, memory + count))
            *lasts = memory + count;
    } else if (spread && wanted) {
        cal_name_owners(plan->model, *owners);
    }
    if (!arrangement) return status;
    status = arrangement->ops->deal(arrangement, team, wanted, *owners);
    return status == CAL_NO_MEMORY
               ? cal_fail(error, status, "no memory for the schedule of %d joints", plan->model->joint_count)
               : status;
}

// Whether what columns keep between the walks comes from memory in the second one. Constraints read records between the walks.
static bool is_streamed(const cal_plan* plan) {
    const cal_layout* layout = plan->layout;
    return plan->program->brief > 0 && !plan->arrangement && !plan->machine->device && layout->copies == 1 &&
           layout->width > 1 && plan->model->constraint_count == 0 &&
           plan->model->node_count / layout->processors >= plan->machine->far_nodes;
}

// Which columns are brief, and which ones are above such.
static void choose_brief(cal_plan* plan) {
    cal_layout* layout = plan->layout;
    for (int i = 0; is_streamed(plan) && i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (!cal_column_can_be_brief(layout, column)) continue;
        column->brief = plan->streams = true;
        layout->columns[column->parent].axes = 1;
    }
}

// Records of the columns that are kept here, one after the other; who has columns.
static void place_records(cal_plan* plan) {
    cal_layout* layout = plan->layout;
    choose_brief(plan);
    for (int i = 0; i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (column->owner >= plan->used) plan->used = column->owner + 1;
        // What is shown is everybody's business where memory is not shared.
        if (layout->repeats && layout->keep != CAL_KEEP_ALL) plan->used = layout->processors;
        if (!plan->program->walked) continue;
        column->record = plan->record_size;
        if (!cal_layout_keeps(layout, column)) continue;
        const int record = column->brief ? plan->program->brief : plan->program->record(column->kind);
        plan->record_size += (size_t)record * (size_t)layout->width * (size_t)column->block_count;
        if (column->axes == 0) continue;
        column->axes = plan->record_size;
        plan->record_size += (size_t)plan->program->axes * (size_t)layout->width;
    }
}

static cal_status lay_out(cal_plan* plan, const cal_plan_def* def, cal_error* error) {
    const cal_program* program = plan->program;
    const cal_machine* machine = def->machine;
    const cal_team team = {.processors = is_spread(def) ? machine->processors : 1,
                           .lanes = program->walked ? machine->lanes : 1,
                           .keep = program->walked ? machine->keep : CAL_KEEP_ALL};
    int32_t *owners = NULL, *lasts = NULL;
    cal_status status = choose_owners(plan, def, &team, &owners, &lasts, error);
    const cal_layout_def layout = {.model = plan->model,
                                   .width = team.lanes,
                                   .copies = def->copies,
                                   .processors = team.processors,
                                   .keep = team.keep,
                                   .constants = program->walked,
                                   .by_lane = program->walked && machine->device,
                                   .mixes = program->mixes && def->copies == 1,
                                   .lasting = program->walked && machine->device && def->copies == 1,
                                   .owners = owners,
                                   .lasts = lasts};
    if (status == CAL_OK) status = cal_layout_create(&layout, &plan->layout, error);
    cal_free(owners);
    if (status == CAL_OK && plan->arrangement &&
        plan->arrangement->ops->fit(plan->arrangement, plan->layout, &team) != CAL_OK)
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for the parts of %d joints", plan->model->joint_count);
    if (status == CAL_OK && is_spread(def)) {
        place_records(plan);
        status = cal_columns_write_steps(plan);
        if (status != CAL_OK)
            cal_explain(error, status, "no memory for a plan of %d columns", plan->layout->column_count);
    }
    if (status == CAL_OK && !cal_plan_find_stages(plan))
        status = cal_fail(error, CAL_BAD_ARGUMENT, "%s has more than %d stages", program->name, CAL_MOST_STAGES);
    return status;
}

const char* cal_plan_schedule(const cal_program* program, const cal_machine* machine, const char* schedule) {
    return schedule || !machine->device || !program->arrangement ? schedule : program->arrangement->on_device;
}

cal_status cal_plan_create_def(const cal_plan_def* def, cal_plan** out, cal_error* error) {
    *out = NULL;
    const cal_program* program = def->program;
    const cal_machine_ops* ops = def->machine->ops;
    if (program->fields & 1u << CAL_MASS && def->model->v_count > CAL_MOST_DENSE)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a dense mass matrix is for at most %d degrees of freedom, not %d; use aba", CAL_MOST_DENSE,
                        def->model->v_count);
    if (def->machine->device && program->solves && cal_model_has_coupled_forces(def->model))
        return cal_fail(
            error, CAL_NOT_AVAILABLE,
            "tendons, forces of a medium and gravity compensation do not run on machine %s: use another machine",
            ops->name);
    if (def->machine->nested)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "machine %s advances ensembles, an instance on one device: one model is shared by ranks "
                        "(mpi), or runs on one device (cuda)",
                        cal_machine_name(def->machine));
    cal_plan* plan = cal_allocate(1, sizeof *plan);
    if (!plan) return cal_fail(error, CAL_NO_MEMORY, "no memory for a plan");
    plan->model = plan->whole = def->model;
    plan->program = program;
    plan->machine = def->machine;
    plan->used = 1;
    // Swept programs have kernels of width 1 only.
    plan->variant = program->walked ? def->machine->variant : 0;
    cal_status status = ops->agree ? ops->agree(def->machine, def->model, error) : CAL_OK;
    if (status == CAL_OK && program->arrangement) {
        const char* schedule = cal_plan_schedule(program, def->machine, def->schedule);
        status = program->arrangement->create(def->model, schedule, &plan->arrangement, error);
        if (status == CAL_OK) plan->model = plan->arrangement->model;
    }
    if (status == CAL_OK) status = lay_out(plan, def, error);
    if (status == CAL_OK && ops->attach) status = ops->attach(def->machine, plan, error);
    if (status != CAL_OK) {
        cal_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return CAL_OK;
}

// Owners of nodes from processors of joints.
static cal_status translate_owners(const cal_model* model, int processors, const int32_t* processor_of_joint,
                                   int32_t* owners, cal_error* error) {
    for (int i = 0; i < model->joint_count; i++) {
        char name[64];
        if (processor_of_joint[i] < CAL_EVERY_PROCESSOR || processor_of_joint[i] >= processors)
            return cal_fail(error, CAL_BAD_ARGUMENT, "joint %s is given to processor %d; there are 0 to %d",
                            cal_model_joint_name(model, i, name, sizeof name), processor_of_joint[i], processors - 1);
        owners[model->joints[i].node] = processor_of_joint[i];
    }
    return CAL_OK;
}

cal_status cal_plan_create_scheduled(const cal_model* model, const char* algorithm, const char* schedule,
                                     cal_machine* machine, const int32_t* processor_of_joint, cal_plan** out,
                                     cal_error* error) {
    if (!model || !machine || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_plan_create_scheduled: model, machine and out must not be NULL");
    *out = NULL;
    const cal_program* program = cal_find_program(algorithm);
    if (!program)
        return cal_fail(
            error, CAL_BAD_ARGUMENT,
            "there is no algorithm '%s'; there are aba, armstrong, assembly, rnea, crba, kinematics, energy",
            algorithm ? algorithm : "(null)");
    if (program->accepts) {
        const cal_status status = program->accepts(model, error);
        if (status != CAL_OK) return status;
    }
    if (schedule && !program->arrangement)
        return cal_fail(error, CAL_BAD_ARGUMENT, "algorithm %s has no schedule", program->name);
    cal_plan_def def = {.model = model, .program = program, .machine = machine, .copies = 1, .schedule = schedule};
    if (!processor_of_joint) return cal_plan_create_def(&def, out, error);
    int32_t* owners = cal_allocate((size_t)model->node_count, sizeof *owners);
    if (!owners) return cal_fail(error, CAL_NO_MEMORY, "no memory for the owners of %d joints", model->joint_count);
    cal_status status = translate_owners(model, machine->processors, processor_of_joint, owners, error);
    def.owners = owners;
    if (status == CAL_OK) status = cal_plan_create_def(&def, out, error);
    cal_free(owners);
    return status;
}

cal_status cal_plan_create_placed(const cal_model* model, const char* algorithm, cal_machine* machine,
                                  const int32_t* processor_of_joint, cal_plan** out, cal_error* error) {
    if (!model || !machine || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_plan_create_placed: model, machine and out must not be NULL");
    return cal_plan_create_scheduled(model, algorithm, NULL, machine, processor_of_joint, out, error);
}

cal_status cal_plan_create(const cal_model* model, const char* algorithm, cal_machine* machine, cal_plan** out,
                           cal_error* error) {
    if (!model || !machine || !out)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_plan_create: model, machine and out must not be NULL");
    return cal_plan_create_placed(model, algorithm, machine, NULL, out, error);
}

int cal_plan_processors(const cal_plan* plan) { return plan ? plan->used : 0; }

void cal_plan_destroy(cal_plan* plan) {
    if (!plan) return;
    if (plan->machine && plan->machine->ops->detach) plan->machine->ops->detach(plan);
    cal_layout_destroy(plan->layout);
    cal_steps_clear(&plan->columns);
    if (plan->arrangement) plan->arrangement->ops->destroy(plan->arrangement);
    cal_free(plan);
}

int cal_plan_print(const cal_plan* plan, char* text, size_t capacity) {
    if (!plan) return 0;
    if (!text) capacity = 0;
    const cal_layout* layout = plan->layout;
    int long_columns = 0, live = 0;
    for (int i = 0; i < layout->column_count; i++) long_columns += layout->columns[i].is_long;
    for (int i = 0; i < layout->block_count * layout->width; i++) live += layout->block_nodes[i] >= 0;
    size_t length = 0;
#define APPEND(...)                                                                                                    \
    length += (size_t)snprintf(length < capacity ? text + length : NULL, length < capacity ? capacity - length : 0,    \
                               __VA_ARGS__)
    APPEND("%s on %s: %d joints, %d lanes, %d columns (%d of them chains), %d blocks, %.0f %% of the lanes in use\n",
           plan->program->name, plan->machine->ops->name, plan->model->joint_count, layout->width, layout->column_count,
           long_columns, layout->block_count,
           layout->block_count ? 100.0 * live / ((double)layout->block_count * layout->width) : 0.0);
    int trunk = 0;
    for (int i = 0; layout->repeats && i < layout->column_count; i++)
        trunk += layout->columns[i].shared && !layout->columns[i].repeated;
    if (layout->repeats)
        APPEND("  the trunk, %d columns, is every processor's that has something below it; the others show what they "
               "have\n",
               trunk);
    if (plan->streams) APPEND("  columns without children keep little between the walks, and find the rest anew\n");
    for (int i = 0; i < plan->program->pass_count; i++) {
        const cal_pass* pass = &plan->program->passes[i];
        const char* direction = pass->direction == CAL_OUTBOUND ? "outbound" : "inbound";
        if (pass->tree == CAL_TREE_OWN)
            APPEND("  %-18s %-8s over a tree of its own, %d edges between processors\n", pass->name, direction,
                   plan->arrangement->tree.edge_count);
        else
            APPEND("  %-18s %-8s %4.0f operations, %4.0f bytes per joint, %3d numbers across an edge\n", pass->name,
                   direction, pass->cost.flops, pass->cost.bytes, pass->crosses);
    }
#undef APPEND
    return (int)length;
}

cal_status cal_plan_prepare(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                            cal_solver_context* solver_context) {
    state->context.solver_ops = solver;
    state->context.solver = solver_context;
    if (plan->machine->ops->prepare) return plan->machine->ops->prepare(plan->machine, plan, state);
    // Blocks of columns with joints of one kind follow each other: solvers, who work number by number, take them as one.
    const cal_layout* layout = plan->layout;
    for (int i = 0, end; i < layout->column_count; i = end) {
        cal_column all = layout->columns[i];
        for (end = i + 1; end < layout->column_count; end++) {
            const cal_column* next = &layout->columns[end];
            if (next->kind != all.kind || next->owner != all.owner ||
                next->first_block != all.first_block + all.block_count)
                break;
            all.block_count += next->block_count;
        }
        if (cal_layout_keeps(layout, &all)) solver->prepare(solver_context, &all);
    }
    return CAL_OK;
}

// Memory is given by the system when it is touched: by the core that works with it, before the first step.
typedef struct first_touch {
    const cal_plan* plan;
    const cal_state* state;
    const cal_solver_context* solver;
    int vectors;
} first_touch;

static void clear(double* numbers, size_t first, size_t end) {
    if (numbers && end > first) memset(numbers + first, 0, (end - first) * sizeof *numbers);
}

static void touch_column(void* argument, const cal_column* column) {
    const first_touch* at = argument;
    const cal_layout* layout = at->plan->layout;
    const size_t first = (size_t)layout->block_y[column->first_block],
                 end = (size_t)layout->block_y[column->first_block + column->block_count];
    const bool last = column == &layout->columns[layout->column_count - 1];
    clear(at->state->context.ydot, first, end);
    clear(at->state->context.records, column->record, last ? at->plan->record_size : column[1].record);
    // The first one has numbers already.
    for (int i = 1; i < at->vectors; i++) clear(at->solver->vectors[i], first, end);
}

cal_status cal_plan_ready(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                          cal_solver_context* context) {
    first_touch at = {plan, state, context, solver->vector_count};
    if (!plan->program->walked) return CAL_OK;
    if (plan->machine->ops->ready) {
        state->context.solver_ops = solver;
        state->context.solver = context;
        return plan->machine->ops->ready(plan->machine, plan, state);
    }
    return plan->used > 1 && plan->machine->ops->each ? cal_plan_each(plan, touch_column, &at) : CAL_OK;
}

typedef struct interpolation {
    const cal_solver_ops* solver;
    const void* control;
    cal_solver_context* context;
    double time;
    double* out;
} interpolation;

static void interpolate_column(void* argument, const cal_column* column) {
    const interpolation* at = argument;
    at->solver->interpolate(at->control, at->context, column, at->time, at->out);
}

cal_status cal_plan_interpolate(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                                const void* control, cal_solver_context* solver_context, double time, double* out) {
    interpolation at = {solver, control, solver_context, time, out};
    state->context.solver_ops = solver;
    state->context.solver = solver_context;
    return cal_plan_each(plan, interpolate_column, &at);
}

cal_status cal_plan_place(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                          cal_solver_context* solver_context, const double* q, const double* v) {
    state->context.solver_ops = solver;
    state->context.solver = solver_context;
    return plan->machine->ops->place(plan->machine, plan, state, q, v);
}

cal_status cal_plan_sample(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver, const void* control,
                           cal_solver_context* solver_context, double time, double* q, double* v) {
    state->context.solver_ops = solver;
    state->context.solver = solver_context;
    return plan->machine->ops->sample(plan->machine, plan, state, control, time, q, v);
}

cal_status cal_plan_gather(const cal_plan* plan, const double* y, double* q, double* v) {
    cal_layout_gather(plan->layout, 0, y, q, v);
    return cal_plan_collect(plan, q, v);
}

typedef struct scattering {
    const cal_layout* layout;
    const double *q, *v;
    double* y;
} scattering;

static void scatter_column(void* argument, const cal_column* column) {
    const scattering* s = argument;
    cal_layout_scatter_column(s->layout, column, s->q, s->v, s->y);
}

cal_status cal_plan_scatter(const cal_plan* plan, const double* q, const double* v, double* y) {
    scattering s = {plan->layout, q, v, y};
    return cal_plan_each(plan, scatter_column, &s);
}

cal_status cal_plan_collect(const cal_plan* plan, double* q, double* v) {
    if (plan->layout->keep == CAL_KEEP_ALL) return CAL_OK;
    return plan->machine->ops->collect(plan->machine, plan, q, v);
}

cal_status cal_plan_each(const cal_plan* plan, cal_column_function* function, void* argument) {
    if (plan->used > 1 && plan->machine->ops->each)
        return plan->machine->ops->each(plan->machine, plan, function, argument);
    for (int i = 0; i < plan->layout->column_count; i++)
        if (cal_layout_keeps(plan->layout, &plan->layout->columns[i])) function(argument, &plan->layout->columns[i]);
    return CAL_OK;
}

static void follow_nothing(const cal_solver_context* context, const cal_column* column, int block, double* shares) {
    (void)context, (void)column, (void)block, (void)shares;
}

// The powers of joint forces after an execution on a device, whose kernels sum up the solver's numbers alone: the host sums them up
// from the motion, in the same order, so that they have the same bits. That is for models that have powers; others bring nothing.
static cal_status sum_powers(const cal_plan* plan, cal_state* state, double* powers) {
    static const cal_solver_ops none = {.follow_up = follow_nothing};
    const cal_stage* stage = &plan->stages[plan->stage_count - 1];
    const bool implicit = state->context.implicit != NULL;
    const cal_status status = cal_state_bring(state, CAL_HELD_MOTION | (implicit ? CAL_HELD_VECTORS : 0));
    if (status != CAL_OK) return status;
    cal_context context = state->context;
    context.solver_ops = &none;
    const int end = stage->tree->first_step[1];
    for (int i = stage->tree->first_step[0]; i < end; i++) {
        const cal_step step = stage->tree->steps[i];
        if (step.kind == CAL_STEP_PULL) cal_sums_pull(&context, step.index);
        if (step.kind != CAL_STEP_UP) continue;
        if (implicit && context.force != context.tau) cal_joint_forces(&context, step.index);
        cal_sums_add(&context, step.index);
    }
    cal_sums_end(&context, powers);
    return CAL_OK;
}

// Forces that depend on several joints, at the y of each instance. A motion that is not finite has forces that are not either.
static cal_status find_coupled_forces(const cal_plan* plan, cal_state* state) {
    const cal_layout* layout = plan->layout;
    cal_coupled* c = state->coupled;
    const size_t v_count = (size_t)plan->whole->v_count, v_size = layout->v_size;
    const cal_solver_context* solver = state->context.solver;
    const bool freezes = solver && state->context.implicit && solver->down[CAL_DOWN_FREEZE] != 0.0;
    for (int copy = 0; copy < layout->copies; copy++) {
        cal_layout_gather(layout, copy, state->context.y, c->q, c->v);
        const cal_status status = cal_plan_collect(plan, c->q, c->v);
        if (status != CAL_OK) return status;
        const double* control = state->context.control + (size_t)copy * (size_t)plan->whole->actuator_count;
        cal_coupled_evaluate(c, control);
        if (freezes) cal_coupled_find_slopes(c, control);
        if (state->context.resisting) {
            cal_coupled_resist(c, solver->down[CAL_DOWN_IMPLICIT_STEP]);
            cal_state_resist(state, copy);
        }
        const int32_t* position = layout->tau_position + (size_t)copy * v_count;
        for (size_t i = 0; i < v_count; i++) {
            if (position[i] < 0) continue;
            state->context.coupled[position[i]] =
                c->tau[CAL_COUPLED_ENERGY][i] + c->tau[CAL_COUPLED_LOSS][i] + c->tau[CAL_COUPLED_WORK][i];
            if (!freezes) continue;
            state->context.coupled_slopes[position[i]] = c->damping[i];
            state->context.coupled_slopes[v_size + (size_t)position[i]] = c->stiffness[i];
        }
        cal_layout_repeat_v(layout, state->context.coupled);
        for (int i = 0; freezes && i < 2; i++)
            cal_layout_repeat_v(layout, state->context.coupled_slopes + (size_t)i * v_size);
    }
    return CAL_OK;
}

static void ride(cal_state* state, const cal_solver_ops* solver, cal_solver_context* solver_context) {
    cal_context* context = &state->context;
    const bool implicit = solver && solver->implicit > 0;
    double *added = implicit ? solver_context->vectors[solver->implicit] : NULL,
           *slopes = implicit ? solver_context->vectors[solver->slopes] : NULL;
    // Processors have the context in their caches: what stays as it is is not written.
    if (context->solver_ops != solver) context->solver_ops = solver;
    if (context->solver != solver_context) context->solver = solver_context;
    if (context->implicit != added) context->implicit = added;
    if (context->slopes != slopes) context->slopes = slopes;
    if (context->resisting != (implicit ? state->resisting : NULL))
        context->resisting = implicit ? state->resisting : NULL;
    state->unmet = CAL_NONE;
    if (solver && solver->follow_up) state->ridden++;
}

int cal_state_sums(const cal_state* state) {
    const cal_context* context = &state->context;
    return context->solver_ops ? cal_sums_count(context->solver_ops, context->solver) : 0;
}

double cal_state_ask(const cal_state* state) {
    return state->interrupt != NULL && state->plan->machine->keep == 0 && state->interrupt(state->interrupt_user);
}

// What the first process says of an interruption goes with the sums.
static cal_status share_sums(const cal_plan* plan, cal_state* state, double* sums) {
    double told[CAL_MAX_SUMS + 1];
    const int count = cal_state_sums(state);
    memcpy(told, sums, (size_t)count * sizeof *sums);
    told[count] = cal_state_ask(state);
    const cal_status status = plan->machine->ops->share(plan->machine, told, count + 1);
    memcpy(sums, told, (size_t)count * sizeof *sums);
    state->interrupted = told[count] != 0.0;
    return status;
}

// The sums of an execution with a solver, on every process.
static cal_status find_sums(const cal_plan* plan, cal_state* state, double* sums) {
    const cal_solver_ops* solver = state->context.solver_ops;
    cal_sums_end(&state->context, sums);
    if (plan->machine->device)
        return state->context.solver->powers ? sum_powers(plan, state, sums + solver->sum_count) : CAL_OK;
    // Where the trunk is repeated every process has added them up.
    return plan->machine->ops->share && !plan->layout->repeats ? share_sums(plan, state, sums) : CAL_OK;
}

cal_status cal_plan_run(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                        cal_solver_context* solver_context, bool prepared, double* sums) {
    ride(state, solver, solver_context);
    state->executions++;
    cal_status status = CAL_OK;
    if (state->coupled) {
        if (solver && !prepared) status = cal_plan_prepare(plan, state, solver, solver_context);
        prepared = true;
        if (status == CAL_OK) status = find_coupled_forces(plan, state);
        if (status != CAL_OK) return status;
    }
    status = plan->machine->ops->execute(plan->machine, plan, state, prepared);
    if (status == CAL_OK && state->unmet != CAL_NONE) return CAL_BAD_MODEL;
    return status != CAL_OK || !solver ? status : find_sums(plan, state, sums);
}

static void find_column_forces(void* argument, const cal_column* column) {
    const cal_context* context = argument;
    cal_joint_forces(context, (int)(column - context->layout->columns));
}

cal_status cal_plan_find_forces(const cal_plan* plan, cal_state* state, double* out) {
    const cal_context* context = &state->context;
    cal_status status = CAL_OK;
    ride(state, NULL, NULL);
    state->executions++;
    if (state->coupled) status = find_coupled_forces(plan, state);
    if (status == CAL_OK && context->force != context->tau)
        status = cal_plan_each(plan, find_column_forces, &state->context);
    if (status != CAL_OK) return status;
    const int32_t* position = plan->layout->tau_position;
    for (int i = 0; i < plan->whole->v_count; i++)
        if (position[i] >= 0) out[i] = context->force[position[i]];
    return cal_plan_collect(plan, NULL, out);
}

// --- Parts of an execution ------------------------------------------------------------------------------------------------

// The same stages, so that what is sent is counted where it belongs, with passes left out.
cal_status cal_plan_create_part(const cal_plan* plan, cal_plan_part what, cal_plan** out) {
    const cal_machine_ops* ops = plan->machine->ops;
    *out = NULL;
    if (plan->machine->device) return CAL_OK;
    cal_plan* own = cal_allocate(1, sizeof *own);
    if (!own) return CAL_NO_MEMORY;
    *own = *plan;
    if (what != CAL_PART_FIRST) own->arrangement = NULL;
    own->traffic = NULL;
    for (int i = 0; i < own->stage_count; i++) {
        cal_stage* stage = &own->stages[i];
        const bool last = i == own->stage_count - 1;
        if (what == CAL_PART_SUMS || last == (what == CAL_PART_FIRST)) stage->down = NULL;
        if (stage->up && stage->up->for_solver == (what == CAL_PART_FIRST)) stage->up = NULL;
    }
    const cal_status status = ops->attach ? ops->attach(plan->machine, own, NULL) : CAL_OK;
    if (status == CAL_OK)
        *out = own;
    else
        cal_plan_destroy_part(own);
    return status;
}

void cal_plan_destroy_part(cal_plan* part) {
    if (!part) return;
    if (part->machine->ops->detach) part->machine->ops->detach(part);
    cal_free(part);
}

cal_status cal_plan_follow(const cal_plan* plan, const cal_plan* part, cal_state* state, const cal_solver_ops* solver,
                           cal_solver_context* solver_context, double* sums) {
    const cal_machine_ops* ops = plan->machine->ops;
    ride(state, solver, solver_context);
    const cal_status status = plan->machine->device ? ops->follow(plan->machine, plan, state)
                                                    : ops->execute(plan->machine, part, state, true);
    return status != CAL_OK || !solver ? status : find_sums(plan, state, sums);
}

cal_status cal_plan_execute(const cal_plan* plan, cal_state* state, cal_error* error) {
    if (!plan || !state) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_plan_execute: plan and state must not be NULL");
    if (state->plan != plan) return cal_fail(error, CAL_BAD_ARGUMENT, "the state was made with another plan");
    const cal_status status = cal_plan_run(plan, state, NULL, NULL, true, NULL);
    if (status == CAL_BAD_MODEL && state->unmet != CAL_NONE) {
        char name[80];
        return cal_fail(error, status,
                        "constraint '%s' cannot be met together with the others: no motion keeps them all",
                        cal_model_constraint_name(plan->model, state->unmet, name, sizeof name));
    }
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "%s: %s", plan->program->name, cal_status_text(status));
}
