// The steps of a walk over a plan's columns, processor by processor (pass/tree.h): where cuts are handed over, and what both forms share.
#include "base/memory.h"
#include "plan/plan.h"

static int owner_of(const cal_layout* layout, int column) { return column < 0 ? 0 : layout->columns[column].owner; }

static bool is_shared(const cal_layout* layout, int column) {
    return column < 0 ? layout->ground_shared : layout->columns[column].shared;
}

// Whether a processor walks the column with its own subtrees. Where the trunk is repeated other processes' columns have no steps here.
static bool is_private(const cal_layout* layout, int column) {
    const cal_column* c = &layout->columns[column];
    return !c->shared && c->source < 0 && (!layout->repeats || cal_layout_keeps(layout, c));
}

// Pulls the children of a shared column (or of the ground) in the order of the tree. All are waited for first, so that a
// machine can fetch what one of them left while it waits for the next.
static void pull_children(cal_step_writer* w, const cal_column_tree* t, int parent) {
    const int owner = owner_of(t->layout, parent);
    for (int child = t->first[parent + 1]; child >= 0; child = t->next[child])
        if (owner_of(t->layout, child) != owner)
            cal_steps_say(w, owner, parent < 0 ? CAL_STEP_WAIT_SUMS : CAL_STEP_WAIT_UP, child);
    for (int child = t->first[parent + 1]; child >= 0; child = t->next[child])
        if (!t->layout->columns[child].mixed) cal_steps_say(w, owner, CAL_STEP_PULL, child);
}

static void go_down(cal_step_writer* w, const cal_layout* layout, int column) {
    const cal_column* c = &layout->columns[column];
    // The ground is always there.
    if (c->parent >= 0 && owner_of(layout, c->parent) != c->owner)
        cal_steps_say(w, c->owner, CAL_STEP_WAIT_DOWN, c->parent);
    cal_steps_say(w, c->owner, CAL_STEP_DOWN, column);
    if (c->shared) cal_steps_say(w, c->owner, CAL_STEP_POST_DOWN, column);
}

static void go_up(cal_step_writer* w, const cal_layout* layout, int column) {
    const cal_column* c = &layout->columns[column];
    cal_steps_say(w, c->owner, CAL_STEP_UP, column);
    if (c->mixed) return; // its parents gather
    // Where the trunk is repeated all private subtrees are posted together.
    if (layout->repeats && is_shared(layout, c->parent)) return;
    if (owner_of(layout, c->parent) != c->owner)
        cal_steps_say(w, c->owner, c->parent < 0 ? CAL_STEP_POST_SUMS : CAL_STEP_POST_UP, column);
    else if (!is_shared(layout, c->parent))
        cal_steps_say(w, c->owner, CAL_STEP_PULL, column);
}

// Private columns come in walking order, so the next one is a child of the last, or of one of its ancestors, or begins a new
// subtree: close columns until its parent is the open one.
static void visit_depth_first(cal_step_writer* w, const cal_layout* layout) {
    int open = -1;
    for (int column = 0; column <= layout->column_count; column++) {
        const bool ends = column == layout->column_count;
        if (!ends && !is_private(layout, column)) continue;
        const int parent =
            ends || is_shared(layout, layout->columns[column].parent) ? -1 : layout->columns[column].parent;
        while (open != parent) {
            const int above = layout->columns[open].parent;
            go_up(w, layout, open);
            open = is_shared(layout, above) ? -1 : above;
        }
        if (ends) break;
        go_down(w, layout, column);
        open = column;
    }
}

// A bundle, depth first: its first column is mixed, the others hang below it.
static void visit_bundle(cal_step_writer* w, const cal_layout* layout, int first, int end) {
    for (int column = first, open = first; column <= end; column++) {
        const int parent = column == end ? layout->columns[first].parent : layout->columns[column].parent;
        for (; column > first && open != parent; open = layout->columns[open].parent) go_up(w, layout, open);
        if (column == end) return;
        go_down(w, layout, column);
        open = column;
    }
}

// A group: its columns go down, its bundles down and up one after the other, and its columns up.
static void visit_group(cal_step_writer* w, const cal_layout* layout, int first, int end) {
    int bundles = first;
    for (; bundles < end && layout->columns[bundles].bundle == 0; bundles++) go_down(w, layout, bundles);
    for (int i = bundles, next; i < end; i = next) {
        for (next = i + 1; next < end && layout->columns[next].bundle == layout->columns[i].bundle;) next++;
        visit_bundle(w, layout, i, next);
    }
    for (int i = bundles - 1; i >= first; i--) go_up(w, layout, i);
}

// Where columns are mixed: those that are not go down; then, processor by processor, the top, its groups one after the other, and
// the top again; then up.
static void visit_mixed(cal_step_writer* w, const cal_layout* layout) {
    const int count = layout->column_count;
    for (int i = 0; i < count; i++)
        if (is_private(layout, i) && layout->columns[i].group == 0) go_down(w, layout, i);
    for (int i = 0, end; i < count; i = end) {
        const cal_column* first = &layout->columns[i];
        for (end = i + 1; end < count && layout->columns[end].group > 0 && layout->columns[end].owner == first->owner;)
            end++;
        if (first->group == 0 || first->shared) {
            end = i + 1;
            continue;
        }
        int top = i;
        while (top < end && layout->columns[top].group == CAL_GROUP_TOP) top++;
        for (int k = i; k < top; k++) go_down(w, layout, k);
        for (int k = top, last; k < end; k = last) {
            for (last = k; last < end && layout->columns[last].group == layout->columns[k].group;) last++;
            visit_group(w, layout, k, last);
        }
        for (int k = top - 1; k >= i; k--) go_up(w, layout, k);
    }
    for (int i = 0; i < count; i++)
        if (is_private(layout, i) && layout->columns[i].group == 0) go_up(w, layout, i);
}

void cal_columns_visit_private(cal_step_writer* w, const cal_layout* layout) {
    if (layout->mixes)
        visit_mixed(w, layout);
    else
        visit_depth_first(w, layout);
}

static void emit_steps(cal_step_writer* w, const void* argument) {
    const cal_column_tree* t = argument;
    const cal_layout* layout = t->layout;
    for (int column = 0; column < layout->column_count; column++)
        if (layout->columns[column].shared) go_down(w, layout, column);
    cal_columns_visit_private(w, layout);
    for (int column = layout->column_count - 1; column >= 0; column--) {
        if (!layout->columns[column].shared) continue;
        pull_children(w, t, column);
        go_up(w, layout, column);
    }
    if (layout->ground_shared) pull_children(w, t, -1);
}

cal_status cal_columns_write_steps(cal_plan* plan) {
    const size_t columns = (size_t)plan->layout->column_count;
    int32_t* lists = cal_allocate(2 * columns + 1, sizeof *lists);
    if (!lists) return CAL_NO_MEMORY;
    const cal_column_tree t = {plan->layout, lists, lists + columns + 1};
    cal_layout_link_children(plan->layout, t.first, t.next);
    plan->columns.edge_count = plan->layout->column_count;
    const cal_status status = cal_steps_write(&plan->columns, plan->layout->processors,
                                              plan->layout->repeats ? cal_trunk_emit_steps : emit_steps, &t);
    cal_free(lists);
    return status;
}
