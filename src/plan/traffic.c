// What processors send each other, pass by pass: what a plan says of it, and what a state's executions have counted.
//
// Where the trunk is repeated nothing goes down. Where memory is shared a stand-in that is pulled is a message; ranks show what they have in
// one message of each, if they have anything.
//
// Down, between columns, a message carries the end of a column to a processor below it. Ranks send it once for all children that
// a rank has; where memory is shared each child's column looks for itself, which is what is counted there. Up, every column
// below a cut leaves its own numbers. On the ground only sums go up: ranks put all of theirs into one message.
#include "base/memory.h"
#include "plan/machine_ops.h"

// Which stage a pass is in; NULL: it was left out.
static const cal_stage* find_stage(const cal_plan* plan, const cal_pass* pass) {
    for (int i = 0; i < plan->stage_count; i++)
        if (plan->stages[i].down == pass || plan->stages[i].up == pass) return &plan->stages[i];
    return NULL;
}

static void add(cal_pass_traffic* out, int numbers) {
    out->messages++;
    out->numbers += numbers;
}

static void count_edges(const cal_plan* plan, const cal_stage* stage, const cal_pass* pass, cal_pass_traffic* out) {
    for (int i = 0; i < stage->tree->edge_count; i++) {
        const int numbers = cal_plan_crossing(plan, pass, i).count;
        if (stage->tree->edges[i].lower != stage->tree->edges[i].upper && numbers > 0) add(out, numbers);
    }
}

// last: per processor, the last parent whose end is known to go there. Children of one column need not follow each other in the
// list of columns, but their parents' numbers grow in the order of first children, so that a list of the parent's is walked.
static void count_down(const cal_plan* plan, const cal_pass* pass, const int32_t* first, const int32_t* next,
                       int32_t* last, cal_pass_traffic* out) {
    const cal_layout* layout = plan->layout;
    const bool once = layout->keep != CAL_KEEP_ALL;
    for (int p = 0; p < plan->machine->processors; p++) last[p] = -1;
    for (int parent = 0; parent < layout->column_count; parent++)
        for (int child = first[parent + 1]; child >= 0; child = next[child]) {
            const int owner = layout->columns[child].owner;
            if (owner == layout->columns[parent].owner || (once && last[owner] == parent)) continue;
            last[owner] = parent;
            add(out, cal_plan_crossing(plan, pass, parent).count);
        }
}

static void count_up(const cal_plan* plan, const cal_pass* pass, int sums, int32_t* last, cal_pass_traffic* out) {
    const cal_layout* layout = plan->layout;
    const bool once = layout->keep != CAL_KEEP_ALL;
    for (int p = 0; p < plan->machine->processors; p++) last[p] = 0;
    for (int c = 0; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        const bool grounded = column->parent < 0;
        if (column->owner == (grounded ? 0 : layout->columns[column->parent].owner)) continue;
        if (grounded && !pass->for_solver) continue;
        add(out, pass->for_solver ? sums * column->lanes : cal_plan_crossing(plan, pass, c).count);
        if (grounded && once && last[column->owner]++ > 0) out->messages--;
    }
}

static void count_shown(const cal_plan* plan, const cal_pass* pass, int sums, int32_t* last, cal_pass_traffic* out) {
    const cal_layout* layout = plan->layout;
    const bool together = layout->keep == CAL_KEEP_ALL;
    for (int p = 0; p < plan->machine->processors; p++) last[p] = 0;
    for (int c = 0; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        if (column->parent < 0 && !pass->for_solver) continue;
        if (!together && (!cal_column_is_shown(layout, column) || column->repeated)) continue;
        // Of a column's copies the first one has the sums pulled.
        if (together && (column->source < 0 ||
                         (pass->for_solver && column->parent >= 0 && layout->columns[column->parent].repeated)))
            continue;
        add(out, (pass->for_solver ? sums : pass->crosses) * column->lanes);
        if (!together && last[column->owner]++ > 0) out->messages--;
    }
}

static cal_status begin(const cal_plan* plan, int pass, cal_pass_traffic* out) {
    if (!plan || !out || pass < 0 || pass >= plan->program->pass_count) return CAL_BAD_ARGUMENT;
    const cal_pass* own = &plan->program->passes[pass];
    *out = (cal_pass_traffic){.pass = own->name, .outbound = own->direction == CAL_OUTBOUND, .executions = 1};
    return CAL_OK;
}

cal_status cal_plan_traffic(const cal_plan* plan, int pass, int sums, cal_pass_traffic* out) {
    const cal_status status = sums < 0 || sums > CAL_MAX_SUMS ? CAL_BAD_ARGUMENT : begin(plan, pass, out);
    if (status != CAL_OK || plan->used < 2 || !plan->program->walked) return status;
    const cal_pass* own = &plan->program->passes[pass];
    const cal_stage* stage = find_stage(plan, own);
    if (!stage || (own->for_solver && sums == 0)) return CAL_OK;
    if (stage->tree->edges) {
        count_edges(plan, stage, own, out);
        return CAL_OK;
    }
    const size_t columns = (size_t)plan->layout->column_count;
    int32_t* memory = cal_allocate(2 * columns + 1 + (size_t)plan->machine->processors, sizeof *memory);
    if (!memory) return CAL_NO_MEMORY;
    int32_t *first = memory, *next = first + columns + 1, *last = next + columns;
    cal_layout_link_children(plan->layout, first, next);
    if (plan->layout->repeats) {
        if (!out->outbound) count_shown(plan, own, sums, last, out);
    } else if (out->outbound) {
        count_down(plan, own, first, next, last, out);
    } else {
        count_up(plan, own, sums, last, out);
    }
    cal_free(memory);
    return CAL_OK;
}

cal_status cal_state_traffic(const cal_state* state, int pass, cal_pass_traffic* out) {
    if (!state) return CAL_BAD_ARGUMENT;
    const cal_plan* plan = state->plan;
    struct cal_machine* machine = plan->machine;
    cal_status status = begin(plan, pass, out);
    const cal_stage* stage = status == CAL_OK ? find_stage(plan, &plan->program->passes[pass]) : NULL;
    if (stage) out->executions = plan->program->passes[pass].for_solver ? state->ridden : state->executions;
    if (!stage || plan->used < 2 || machine->device) return status;
    const size_t place = 2 * (size_t)(stage - plan->stages) + (out->outbound ? 1 : 0);
    for (int p = 0; p < machine->processors; p++) {
        const cal_count* count = &state->counts[(size_t)p * CAL_COUNTS + place];
        out->messages += count->messages;
        out->numbers += count->numbers;
    }
    if (machine->keep == CAL_KEEP_ALL) return CAL_OK;
    // Each rank knows its own: they are small whole numbers, which a double holds exactly.
    const double own[2] = {(double)out->messages, (double)out->numbers};
    double* room = cal_allocate(2 * (size_t)machine->processors, sizeof *room);
    const double** all = cal_allocate((size_t)machine->processors, sizeof *all);
    out->messages = out->numbers = 0;
    status = room && all ? machine->ops->gather(machine, machine->keep, own, 2, room, all) : CAL_NO_MEMORY;
    for (int p = 0; p < machine->processors && status == CAL_OK; p++) {
        out->messages += (int64_t)all[p][0];
        out->numbers += (int64_t)all[p][1];
    }
    cal_free(room);
    cal_free(all);
    return status;
}
