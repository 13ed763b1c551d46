// Paths of joints to the nodes that rows touch (pass/path_motion.h): where few rows do without the motions of all nodes.
#include "base/memory.h"
#include "constraint/constraint.h"

// Nodes that a constraint touches.
static int list_touched(const cal_constraints* set, int constraint, int nodes[CAL_ROW_NODES]) {
    const cal_model* model = set->model;
    const cal_constraint_def* def = &model->constraints[constraint];
    int count = 0;
    for (int side = 0; side < 2; side++) {
        const bool coupled = def->kind == CAL_COUPLING, joint = coupled && def->joint[side] != CAL_NONE;
        const int node = joint     ? model->joints[def->joint[side]].node
                         : coupled ? -1
                                   : set->frames[2 * (size_t)constraint + (size_t)side].node;
        if (node >= 0) nodes[count++] = node;
        if (joint && model->nodes[node].parent >= 0) nodes[count++] = model->nodes[node].parent;
    }
    return count;
}

// Marks the nodes of a path; false: one of them is marked already, and none is.
static bool mark_path(const cal_model* model, int node, bool* marked) {
    for (int n = node; n >= 0; n = model->nodes[n].parent)
        if (marked[n]) return false;
    for (int n = node; n >= 0; n = model->nodes[n].parent) marked[n] = true;
    return true;
}

// Paths that have each node once, all together; those that go on from the end of another are looked at before it.
static bool find_cover(cal_constraints* set) {
    const cal_model* model = set->model;
    bool* marked = cal_allocate((size_t)model->node_count, sizeof *marked);
    set->covers = cal_allocate((size_t)set->path_count, sizeof *set->covers);
    const bool ok = marked && set->covers;
    bool all = ok;
    for (int n = model->node_count - 1; n >= 0 && ok; n--) {
        const int path = set->path_of[n]; // children come after their parents
        if (path >= 0) set->covers[path] = mark_path(model, n, marked);
        all = all && marked[n];
    }
    if (!all) {
        cal_free(set->covers);
        set->covers = NULL;
    }
    cal_free(marked);
    return ok;
}

// Paths of all nodes that rows touch, where that pays and can be.
bool cal_constraints_find_paths(cal_constraints* set) {
    const cal_model* model = set->model;
    int nodes[CAL_ROW_NODES];
    bool pays = !set->loops && set->most_rows > 0 && set->most_rows <= CAL_JOINT_PATH_RATES;
    for (int c = 0; c < model->constraint_count && pays; c++)
        for (int i = list_touched(set, c, nodes) - 1; i >= 0; i--)
            pays = pays && cal_joint_path_exists(model, nodes[i]);
    if (!pays) return true;
    const size_t most = (size_t)model->constraint_count * CAL_ROW_NODES;
    set->paths = cal_allocate(most, sizeof *set->paths);
    set->path_motions = cal_allocate(most, sizeof *set->path_motions);
    set->path_of = cal_allocate((size_t)model->node_count, sizeof *set->path_of);
    set->ends = cal_allocate((size_t)model->node_count, sizeof *set->ends);
    if (!set->paths || !set->path_motions || !set->path_of || !set->ends) return false;
    for (int n = 0; n < model->node_count; n++) set->path_of[n] = -1;
    for (int c = 0; c < model->constraint_count; c++)
        for (int i = list_touched(set, c, nodes) - 1; i >= 0; i--) {
            if (set->path_of[nodes[i]] >= 0) continue;
            if (cal_joint_path_create(model, nodes[i], &set->paths[set->path_count]) != CAL_OK) return false;
            set->path_of[nodes[i]] = set->path_count++;
        }
    return find_cover(set);
}

double cal_constraints_energy(cal_constraints* set, const double* q, const double* v) {
    if (!set->covers) {
        cal_constraints_evaluate(set, q, v);
        return cal_motions_energy(set->model, set->motions, q, v);
    }
    double sum = 0.0;
    cal_constraints_look(set, q, v);
    if (!set->framed) cal_constraints_answer(set);
    for (int i = 0; i < set->path_count; i++)
        if (set->covers[i])
            sum += cal_joint_path_energy(&set->paths[i], set->model, set->variant, q, v, &set->path_motions[i]);
    return sum;
}
