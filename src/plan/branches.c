// Cuts a tree at its forks: branches.h explains what for.
#include "plan/branches.h"

#include "base/memory.h"

static bool starts_branch(const cal_model* model, int node) {
    const int parent = model->nodes[node].parent;
    return parent < 0 || node != parent + 1 || model->nodes[node].end != model->nodes[parent].end;
}

cal_status cal_branches_create(const cal_model* model, cal_branches* out, cal_error* error) {
    const int node_count = model->node_count;
    int count = 1;
    for (int node = 0; node < node_count; node++) count += starts_branch(model, node);
    cal_branch* at = cal_allocate((size_t)count, sizeof *at);
    int32_t* branch_of = cal_allocate((size_t)node_count, sizeof *branch_of);
    *out = (cal_branches){count, at};
    if (!at || !branch_of) {
        cal_free(branch_of);
        cal_branches_free(out);
        return cal_fail(error, CAL_NO_MEMORY, "no memory for the branches of %d joints", node_count);
    }
    at[0] = (cal_branch){.end = node_count, .parent = -1};
    int last = 0;
    for (int node = 0; node < node_count; node++) {
        if (starts_branch(model, node)) {
            const int parent = model->nodes[node].parent;
            at[++last] = (cal_branch){
                .first = node, .end = model->nodes[node].end, .parent = parent < 0 ? 0 : branch_of[parent]};
            at[at[last].parent].child_count++;
        }
        at[last].length++;
        branch_of[node] = last;
    }
    for (int b = count - 1; b >= 0; b--) {
        if (at[b].next == 0) at[b].next = b + 1;
        if (b > 0 && at[at[b].parent].next == 0) at[at[b].parent].next = at[b].next;
    }
    cal_free(branch_of);
    return CAL_OK;
}

void cal_branches_free(cal_branches* branches) {
    cal_free(branches->at);
    *branches = (cal_branches){0};
}
