// The steps of a plan whose trunk is repeated. A processor goes down its copies of the trunk's columns, waiting for nobody; down and up its
// private subtrees, whose slots it then posts all at once; and up the trunk, where it pulls its own subtrees and, when they are there,
// those of others, in the order of the tree.
//
// A solver's sums are pulled by a column's first processor alone, which posts them further up; where memory is not shared by all.
#include "plan/plan.h"

static void pull(cal_step_writer* w, const cal_column_tree* t, int parent, int processor, bool copy) {
    const cal_step_kind wait = parent < 0 ? CAL_STEP_WAIT_SUMS : copy ? CAL_STEP_WAIT_COPY : CAL_STEP_WAIT_UP;
    // All are waited for first, so that a machine can fetch what one of them left while it waits for the next.
    for (int i = t->first[parent + 1]; i >= 0; i = t->next[i])
        if (t->layout->columns[i].owner == processor && t->layout->columns[i].source >= 0)
            cal_steps_say(w, processor, wait, i);
    for (int i = t->first[parent + 1]; i >= 0; i = t->next[i])
        if (t->layout->columns[i].owner == processor)
            cal_steps_say(w, processor, copy ? CAL_STEP_PULL_COPY : CAL_STEP_PULL, i);
}

static bool is_trunk(const cal_layout* layout, int column) {
    const cal_column* c = &layout->columns[column];
    return c->shared && cal_layout_keeps(layout, c);
}

void cal_trunk_emit_steps(cal_step_writer* w, const void* argument) {
    const cal_column_tree* t = argument;
    const cal_layout* layout = t->layout;
    const bool together = layout->keep == CAL_KEEP_ALL;
    for (int i = 0; i < layout->column_count; i++)
        if (is_trunk(layout, i)) cal_steps_say(w, layout->columns[i].owner, CAL_STEP_DOWN, i);
    cal_columns_visit_private(w, layout);
    // Who has nothing to show takes part in an exchange of all.
    if (!together) cal_steps_say(w, layout->keep, CAL_STEP_POST_UP, 0);
    for (int i = 0; together && i < layout->column_count; i++)
        if (layout->columns[i].signal == i) cal_steps_say(w, layout->columns[i].owner, CAL_STEP_POST_UP, i);
    for (int i = layout->column_count - 1; i >= 0; i--) {
        const cal_column* c = &layout->columns[i];
        if (!is_trunk(layout, i)) continue;
        pull(w, t, i, c->owner, together && c->repeated);
        cal_steps_say(w, c->owner, CAL_STEP_UP, i);
        if (together && !c->repeated) cal_steps_say(w, c->owner, CAL_STEP_POST_UP, i);
    }
    pull(w, t, -1, together ? 0 : layout->keep, false);
}
