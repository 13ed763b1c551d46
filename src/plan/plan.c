// Plans: the layout of a model for a machine's lanes, and the order of a walk over its columns.
#include "plan/plan.h"

#include "base/error.h"
#include "base/memory.h"
#include "machine/machine.h"
#include "pass/sums.h"

#include <stdio.h>
#include <string.h>

// The steps of one depth-first walk. Columns come in walking order, so the next column is a child of the last one or of
// one of its ancestors: close columns until its parent is the open one.
static void list_steps(cal_plan* plan) {
    const cal_column* columns = plan->layout->columns;
    int open = -1;
    for (int next = 0; next <= plan->layout->column_count; next++) {
        const int parent = next < plan->layout->column_count ? columns[next].parent : -1;
        while (open != parent) {
            plan->steps[plan->step_count++] = (cal_step){CAL_STEP_UP, open};
            plan->steps[plan->step_count++] = (cal_step){CAL_STEP_PULL, open};
            open = columns[open].parent;
        }
        if (next == plan->layout->column_count) break;
        plan->steps[plan->step_count++] = (cal_step){CAL_STEP_DOWN, next};
        open = next;
    }
}

cal_status cal_plan_create_copies(const cal_model* model, const cal_program* program, cal_machine* machine, int copies,
                                  cal_plan** out, cal_error* error) {
    *out = NULL;
    cal_plan* plan = cal_allocate(1, sizeof *plan);
    if (!plan) return cal_fail(error, CAL_NO_MEMORY, "no memory for a plan");
    plan->model = model;
    plan->program = program;
    plan->machine = machine;
    // Swept programs have kernels of width 1 only.
    plan->variant = program->walked ? machine->variant : 0;
    cal_status status = cal_layout_create(model, program->walked ? machine->lanes : 1, copies, &plan->layout, error);
    if (status == CAL_OK && program->walked) {
        for (int i = 0; i < plan->layout->column_count; i++) {
            cal_column* column = &plan->layout->columns[i];
            column->record = plan->record_size;
            plan->record_size +=
                (size_t)program->record(column->kind) * (size_t)plan->layout->width * (size_t)column->block_count;
        }
        plan->steps = cal_allocate(3 * (size_t)plan->layout->column_count, sizeof *plan->steps);
        if (plan->steps) list_steps(plan);
        else status = cal_fail(error, CAL_NO_MEMORY, "no memory for a plan of %d columns", plan->layout->column_count);
    }
    if (status != CAL_OK) {
        cal_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return CAL_OK;
}

cal_status cal_plan_create(const cal_model* model, const char* algorithm, cal_machine* machine, cal_plan** out,
                           cal_error* error) {
    *out = NULL;
    const cal_program* program = cal_find_program(algorithm);
    if (!program)
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no algorithm '%s'; there are aba, rnea, crba, kinematics, energy",
                        algorithm ? algorithm : "(null)");
    if (program->fields & 1u << CAL_MASS && model->v_count > 20000)
        return cal_fail(error, CAL_BAD_ARGUMENT, "a dense mass matrix is for at most 20000 degrees of freedom, not %d; use aba",
                        model->v_count);
    return cal_plan_create_copies(model, program, machine, 1, out, error);
}

void cal_plan_destroy(cal_plan* plan) {
    if (!plan) return;
    cal_layout_destroy(plan->layout);
    cal_free(plan->steps);
    cal_free(plan);
}

int cal_plan_print(const cal_plan* plan, char* text, size_t capacity) {
    const cal_layout* layout = plan->layout;
    int long_columns = 0, live = 0;
    for (int i = 0; i < layout->column_count; i++) long_columns += layout->columns[i].is_long;
    for (int i = 0; i < layout->block_count * layout->width; i++) live += layout->block_nodes[i] >= 0;
    size_t length = 0;
#define APPEND(...)                                                                                                    \
    length += (size_t)snprintf(length < capacity ? text + length : NULL, length < capacity ? capacity - length : 0, __VA_ARGS__)
    APPEND("%s on %s: %d joints, %d lanes, %d columns (%d of them chains), %d blocks, %.0f %% of the lanes in use\n",
           plan->program->name, plan->machine->ops->name, plan->model->joint_count, layout->width, layout->column_count,
           long_columns, layout->block_count,
           layout->block_count ? 100.0 * live / ((double)layout->block_count * layout->width) : 0.0);
    for (int i = 0; i < plan->program->pass_count; i++) {
        const cal_pass* pass = &plan->program->passes[i];
        APPEND("  %-18s %-8s %4.0f operations, %4.0f bytes a joint, %3d numbers across an edge\n", pass->name,
               pass->direction == CAL_OUTBOUND ? "outbound" : "inbound", pass->cost.flops, pass->cost.bytes, pass->crosses);
    }
#undef APPEND
    return (int)length;
}

void cal_plan_prepare(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver,
                      cal_solver_context* solver_context) {
    (void)state;
    for (int i = 0; i < plan->layout->column_count; i++) solver->prepare(solver_context, &plan->layout->columns[i]);
}

cal_status cal_plan_run(const cal_plan* plan, cal_state* state, const cal_solver_ops* solver, cal_solver_context* solver_context,
                        bool prepared, double* sums) {
    state->context.solver_ops = solver;
    state->context.solver = solver_context;
    const cal_status status = plan->machine->ops->execute(plan->machine, plan, state, prepared);
    if (status == CAL_OK && solver) cal_sums_end(&state->context, sums);
    return status;
}

cal_status cal_plan_execute(const cal_plan* plan, cal_state* state, cal_error* error) {
    if (state->plan != plan) return cal_fail(error, CAL_BAD_ARGUMENT, "the state was made with another plan");
    const cal_status status = cal_plan_run(plan, state, NULL, NULL, true, NULL);
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "%s: %s", plan->program->name, cal_status_text(status));
}
