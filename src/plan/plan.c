// Plans: the layout of a model for a machine's lanes, and the order of a walk over its columns.
#include "plan/plan.h"

#include "base/error.h"
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "pass/sums.h"
#include "plan/distribution.h"

#include <stdio.h>
#include <string.h>

// Collects the steps of all processors: first to count them, then to write them.
typedef struct script {
    cal_plan* plan;
    int32_t* next; // per processor: where its next step goes
    bool writes;
} script;

static void say(script* s, int processor, cal_step_kind kind, int column) {
    if (s->writes) s->plan->steps[s->next[processor]] = (cal_step){(int32_t)kind, column};
    s->next[processor]++;
}

static int owner_of(const cal_plan* plan, int column) { return column < 0 ? 0 : plan->layout->columns[column].owner; }

static bool is_shared(const cal_plan* plan, int column) {
    return column < 0 ? plan->layout->ground_shared : plan->layout->columns[column].shared;
}

// Pulls the children of a shared column (or of the ground) in the order of the tree. All are waited for first, so that a
// machine can fetch what one of them left while it waits for the next.
static void pull_children(script* s, int parent, const int32_t* first, const int32_t* next) {
    const int owner = owner_of(s->plan, parent);
    for (int child = first[parent + 1]; child >= 0; child = next[child])
        if (owner_of(s->plan, child) != owner) say(s, owner, CAL_STEP_WAIT_UP, child);
    for (int child = first[parent + 1]; child >= 0; child = next[child]) say(s, owner, CAL_STEP_PULL, child);
}

static void go_down(script* s, int column) {
    const cal_column* c = &s->plan->layout->columns[column];
    if (owner_of(s->plan, c->parent) != c->owner) say(s, c->owner, CAL_STEP_WAIT_DOWN, column);
    say(s, c->owner, CAL_STEP_DOWN, column);
    if (c->shared) say(s, c->owner, CAL_STEP_POST_DOWN, column);
}

static void go_up(script* s, int column) {
    const cal_column* c = &s->plan->layout->columns[column];
    say(s, c->owner, CAL_STEP_UP, column);
    if (owner_of(s->plan, c->parent) != c->owner)
        say(s, c->owner, CAL_STEP_POST_UP, column);
    else if (!is_shared(s->plan, c->parent))
        say(s, c->owner, CAL_STEP_PULL, column);
}

// Private columns come in walking order, so the next one is a child of the last, or of one of its ancestors, or begins a new
// subtree: close columns until its parent is the open one.
static void visit_private(script* s) {
    const cal_layout* layout = s->plan->layout;
    int open = -1;
    for (int column = 0; column <= layout->column_count; column++) {
        const bool ends = column == layout->column_count;
        if (!ends && layout->columns[column].shared) continue;
        const int parent =
            ends || is_shared(s->plan, layout->columns[column].parent) ? -1 : layout->columns[column].parent;
        while (open != parent) {
            const int above = layout->columns[open].parent;
            go_up(s, open);
            open = is_shared(s->plan, above) ? -1 : above;
        }
        if (ends) break;
        go_down(s, column);
        open = column;
    }
}

static void emit_steps(script* s, const int32_t* first, const int32_t* next) {
    const cal_layout* layout = s->plan->layout;
    for (int column = 0; column < layout->column_count; column++)
        if (layout->columns[column].shared) go_down(s, column);
    visit_private(s);
    for (int column = layout->column_count - 1; column >= 0; column--) {
        if (!layout->columns[column].shared) continue;
        pull_children(s, column, first, next);
        go_up(s, column);
    }
    if (layout->ground_shared) pull_children(s, -1, first, next);
}

static cal_status write_steps(cal_plan* plan) {
    const size_t columns = (size_t)plan->layout->column_count, processors = (size_t)plan->layout->processors;
    int32_t* lists = cal_allocate(2 * columns + 1 + processors, sizeof *lists);
    plan->first_step = cal_allocate(processors + 1, sizeof *plan->first_step);
    cal_status status = lists && plan->first_step ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) {
        int32_t *first = lists, *next = first + columns + 1;
        script s = {.plan = plan, .next = next + columns};
        cal_layout_link_children(plan->layout, first, next);
        emit_steps(&s, first, next);
        for (size_t p = 0; p < processors; p++) {
            plan->first_step[p + 1] = plan->first_step[p] + s.next[p];
            s.next[p] = plan->first_step[p];
        }
        plan->steps = cal_allocate((size_t)plan->first_step[processors], sizeof *plan->steps);
        s.writes = true;
        if (plan->steps)
            emit_steps(&s, first, next);
        else
            status = CAL_NO_MEMORY;
    }
    cal_free(lists);
    return status;
}

// Who computes what: the caller's choice, or the machine's.
// Whether several processors share the work. Where memory is not shared, swept programs are everybody's own.
static bool is_spread(const cal_plan_def* def) {
    return def->program->walked || (def->program->spreads && def->machine->keep == CAL_KEEP_ALL && def->copies == 1);
}

static cal_status choose_owners(const cal_plan_def* def, int32_t** owners, cal_error* error) {
    cal_machine* machine = def->machine;
    *owners = NULL;
    if (machine->processors == 1 || !is_spread(def) || def->model->node_count == 0) return CAL_OK;
    *owners = cal_allocate((size_t)def->model->node_count, sizeof **owners);
    if (!*owners)
        return cal_fail(error, CAL_NO_MEMORY, "no memory for a distribution of %d bodies", def->model->body_count);
    if (def->owners) {
        memcpy(*owners, def->owners, (size_t)def->model->node_count * sizeof **owners);
        return CAL_OK;
    }
    int used;
    double seconds;
    return cal_distribute_balanced(def->model, machine->processors, &machine->costs, *owners, &used, &seconds, error);
}

// The processor of every node of the forest, by the caller's choice or ours.
static cal_status give_parts(const cal_plan_def* def, const cal_model* model, cal_schedule* schedule,
                             cal_error* error) {
    const int processors = def->machine->processors;
    int32_t* owners = NULL;
    cal_status status = CAL_OK;
    if (def->owners)
        for (int n = 0; n < model->node_count; n++) schedule->processor[schedule->place[n]] = def->owners[n];
    else if (schedule->part_count > schedule->root_count)
        status = cal_schedule_deal(schedule, processors);
    else if ((status = choose_owners(def, &owners, error)) == CAL_OK && owners)
        memcpy(schedule->processor, owners, (size_t)model->node_count * sizeof *owners);
    cal_free(owners);
    if (status != CAL_OK) return status;
    // Where nothing is joined trees are walked as aba's, and may be cut anywhere.
    const bool whole = def->machine->keep != CAL_KEEP_ALL && schedule->port_count > 0;
    return whole ? cal_schedule_adopt_parts(schedule) : cal_schedule_adopt(schedule);
}

// Programs that join: the schedule, and its forest in the place of the model.
static cal_status make_schedule(cal_plan* plan, cal_plan_def* def, int32_t** owners, cal_error* error) {
    *owners = NULL;
    cal_status status = cal_schedule_create(def->model, def->schedule, &plan->schedule, error);
    if (status != CAL_OK) return status;
    cal_schedule* schedule = plan->schedule;
    const cal_model* model = def->model;
    plan->model = def->model = &schedule->forest;
    if (def->machine->processors > 1) {
        status = give_parts(def, model, schedule, error);
        *owners = cal_allocate((size_t)model->node_count, sizeof **owners);
        if (status == CAL_OK && !*owners) status = CAL_NO_MEMORY;
        if (status == CAL_OK) memcpy(*owners, schedule->processor, (size_t)model->node_count * sizeof **owners);
    }
    if (status == CAL_OK) status = cal_schedule_arrange(schedule, def->machine->lanes, def->machine->keep);
    return status == CAL_NO_MEMORY
               ? cal_fail(error, status, "no memory for the schedule of %d joints", model->joint_count)
               : status;
}

cal_status cal_plan_create_def(const cal_plan_def* given, cal_plan** out, cal_error* error) {
    cal_plan_def copy = *given, *def = &copy;
    *out = NULL;
    const cal_program* program = def->program;
    cal_plan* plan = cal_allocate(1, sizeof *plan);
    if (!plan) return cal_fail(error, CAL_NO_MEMORY, "no memory for a plan");
    plan->model = def->model;
    plan->program = program;
    plan->machine = def->machine;
    plan->used = 1;
    // Swept programs have kernels of width 1 only.
    plan->variant = program->walked ? def->machine->variant : 0;
    int32_t* owners = NULL;
    cal_status status = def->machine->ops->agree ? def->machine->ops->agree(def->machine, def->model, error) : CAL_OK;
    if (status == CAL_OK)
        status = program->join ? make_schedule(plan, def, &owners, error) : choose_owners(def, &owners, error);
    const cal_layout_def layout = {.model = def->model,
                                   .width = program->walked ? def->machine->lanes : 1,
                                   .copies = def->copies,
                                   .processors = is_spread(def) ? def->machine->processors : 1,
                                   .keep = program->walked ? def->machine->keep : CAL_KEEP_ALL,
                                   .constants = program->walked,
                                   .owners = owners};
    if (status == CAL_OK) status = cal_layout_create(&layout, &plan->layout, error);
    cal_free(owners);
    if (status == CAL_OK && program->join && cal_slots_create(plan->schedule, plan->layout, &plan->slots) != CAL_OK)
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for the parts of %d joints", def->model->joint_count);
    if (status == CAL_OK && is_spread(def)) {
        for (int i = 0; program->walked && i < plan->layout->column_count; i++) {
            cal_column* column = &plan->layout->columns[i];
            column->record = plan->record_size;
            if (!cal_layout_keeps(plan->layout, column)) continue;
            plan->record_size +=
                (size_t)program->record(column->kind) * (size_t)plan->layout->width * (size_t)column->block_count;
        }
        for (int i = 0; i < plan->layout->column_count; i++)
            if (plan->layout->columns[i].owner >= plan->used) plan->used = plan->layout->columns[i].owner + 1;
        status = write_steps(plan);
        if (status != CAL_OK)
            cal_explain(error, status, "no memory for a plan of %d columns", plan->layout->column_count);
    }
    if (status == CAL_OK && def->machine->ops->attach) status = def->machine->ops->attach(def->machine, plan, error);
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
        if (processor_of_joint[i] < 0 || processor_of_joint[i] >= processors)
            return cal_fail(error, CAL_BAD_ARGUMENT, "joint %s is given to processor %d; there are 0 to %d",
                            cal_model_joint_name(model, i, name, sizeof name), processor_of_joint[i], processors - 1);
        owners[model->joints[i].node] = processor_of_joint[i];
    }
    return CAL_OK;
}

cal_status cal_plan_create_scheduled(const cal_model* model, const char* algorithm, const char* schedule,
                                     cal_machine* machine, const int32_t* processor_of_joint, cal_plan** out,
                                     cal_error* error) {
    *out = NULL;
    const cal_program* program = cal_find_program(algorithm);
    if (!program)
        return cal_fail(
            error, CAL_BAD_ARGUMENT,
            "there is no algorithm '%s'; there are aba, armstrong, assembly, rnea, crba, kinematics, energy",
            algorithm ? algorithm : "(null)");
    if (program->fields & 1u << CAL_MASS && model->v_count > 20000)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "a dense mass matrix is for at most 20000 degrees of freedom, not %d; use aba", model->v_count);
    if (program->accepts) {
        const cal_status status = program->accepts(model, error);
        if (status != CAL_OK) return status;
    }
    cal_plan_def def = {.model = model, .program = program, .machine = machine, .copies = 1};
    if (!cal_schedule_choose(schedule, &def.schedule))
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "schedule '%.40s' is not known; there are auto, serial, balanced, or a number of processors",
                        schedule ? schedule : "");
    if (schedule && !program->join)
        return cal_fail(error, CAL_BAD_ARGUMENT, "algorithm %s has no schedule; only assembly has", program->name);
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
    return cal_plan_create_scheduled(model, algorithm, NULL, machine, processor_of_joint, out, error);
}

cal_status cal_plan_create(const cal_model* model, const char* algorithm, cal_machine* machine, cal_plan** out,
                           cal_error* error) {
    return cal_plan_create_placed(model, algorithm, machine, NULL, out, error);
}

int cal_plan_processors(const cal_plan* plan) { return plan->used; }

void cal_plan_destroy(cal_plan* plan) {
    if (!plan) return;
    if (plan->machine && plan->machine->ops->detach) plan->machine->ops->detach(plan);
    cal_layout_destroy(plan->layout);
    cal_free(plan->steps);
    cal_free(plan->first_step);
    cal_slots_destroy(plan->slots);
    cal_schedule_destroy(plan->schedule);
    cal_free(plan);
}

int cal_plan_print(const cal_plan* plan, char* text, size_t capacity) {
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
    for (int i = 0; i < plan->program->pass_count; i++) {
        const cal_pass* pass = &plan->program->passes[i];
        APPEND("  %-18s %-8s %4.0f operations, %4.0f bytes a joint, %3d numbers across an edge\n", pass->name,
               pass->direction == CAL_OUTBOUND ? "outbound" : "inbound", pass->cost.flops, pass->cost.bytes,
               pass->crosses);
    }
#undef APPEND
    return (int)length;
}

void cal_plan_prepare(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                      cal_solver_context* solver_context) {
    (void)state;
    for (int i = 0; i < plan->layout->column_count; i++)
        if (cal_layout_keeps(plan->layout, &plan->layout->columns[i]))
            solver->prepare(solver_context, &plan->layout->columns[i]);
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

cal_status cal_plan_run(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                        cal_solver_context* solver_context, bool prepared, double* sums) {
    state->context.solver_ops = solver;
    state->context.solver = solver_context;
    const bool implicit = solver && solver->implicit > 0;
    state->context.implicit = implicit ? solver_context->vectors[solver->implicit] : NULL;
    state->context.slopes = implicit ? solver_context->vectors[solver->slopes] : NULL;
    const cal_status status = plan->machine->ops->execute(plan->machine, plan, state, prepared);
    if (status != CAL_OK || !solver) return status;
    cal_sums_end(&state->context, sums);
    return plan->machine->ops->share ? plan->machine->ops->share(plan->machine, sums, solver->sum_count) : CAL_OK;
}

cal_status cal_plan_execute(const cal_plan* plan, cal_state* state, cal_error* error) {
    if (state->plan != plan) return cal_fail(error, CAL_BAD_ARGUMENT, "the state was made with another plan");
    const cal_status status = cal_plan_run(plan, state, NULL, NULL, true, NULL);
    const int loop = cal_state_inconsistent(state);
    if (status == CAL_BAD_MODEL && loop >= 0) {
        char name[80];
        return cal_fail(error, status,
                        "constraint '%s' cannot be met together with the others: no motion keeps them all",
                        cal_model_constraint_name(plan->model, loop, name, sizeof name));
    }
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "%s: %s", plan->program->name, cal_status_text(status));
}
