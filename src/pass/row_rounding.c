// What rounding leaves of rows (row_rounding.h).
#include "pass/row_noise_body.h"
#include "base/memory.h"

void cal_row_rounding_destroy(cal_row_rounding* rounding) {
    cal_free(rounding->arm), cal_free(rounding->lever), cal_free(rounding->place), cal_free(rounding->limit);
}

// --- Lengths -------------------------------------------------------------------------------------------------------------------

// Lengths that a body's place in a node's frame is added up from; node < 0: in the world's.
static double way_of(const cal_model* model, int body, int node) {
    double sum = 0.0;
    for (; body != CAL_GROUND && (node < 0 || body != model->nodes[node].body); body = model->bodies[body].parent)
        sum += size_of(model->bodies[body].def->position);
    return sum;
}

static double anchor_of(const cal_model* model, int node) {
    return size_of(model->joints[model->nodes[node].joint].def->anchor);
}

// From a node to its parent, or to the ground.
static double arm_of(const cal_model* model, int node) {
    const int parent = model->nodes[node].parent;
    return anchor_of(model, node) + (parent >= 0 ? anchor_of(model, parent) : 0.0) +
           way_of(model, model->nodes[node].body, parent);
}

static int root_of(const cal_model* model, int node) {
    while (model->nodes[node].parent >= 0) node = model->nodes[node].parent;
    return node;
}

// Of one side of a constraint: what its frame's place is added up from, and where its tree stands; returns its root, −1: it is on the ground.
static int add_side(const cal_row_rounding* rounding, const cal_constraint_def* def, int side, double* lever,
                    double* place) {
    const cal_model* model = rounding->model;
    const bool couples = def->kind == CAL_COUPLING;
    if (couples && def->joint[side] == CAL_NONE) return -1;
    const int body = couples ? CAL_NONE : def->body[side];
    const int node = couples              ? model->joints[def->joint[side]].node
                     : body == CAL_GROUND ? -1
                                          : model->mounts[body].node;
    const double own = couples ? 0.0 : size_of(def->position[side]) + fabs(def->length);
    if (node < 0) {
        *place += own + way_of(model, body, -1);
        return -1;
    }
    *lever += own + anchor_of(model, node) + (couples ? 0.0 : way_of(model, body, node));
    const int root = root_of(model, node);
    *place += rounding->arm[root];
    return root;
}

static void find_lever(cal_row_rounding* rounding, int constraint) {
    const cal_constraint_def* def = &rounding->model->constraints[constraint];
    double lever = 0.0, place = 0.0;
    const int a = add_side(rounding, def, 0, &lever, &place), b = add_side(rounding, def, 1, &lever, &place);
    rounding->lever[constraint] = lever;
    // In one tree places are told from one base.
    rounding->place[constraint] = a == b || def->kind == CAL_COUPLING ? 0.0 : place;
}

// --- Bounds that do not change ---------------------------------------------------------------------------------------------------

// Inertia of a node's own about its joint, below which articulated inertias are not; zero where there is no such number.
static double own_inertia(const cal_node* node) {
    if (node->kind != CAL_REVOLUTE) return 0.0; // slides change levers
    return node->second_moment[0] + node->second_moment[1] + node->armature;
}

// Of a wrench of size one, moments as forces at `length`.
static double bound_from(const cal_row_rounding* rounding, int constraint, int node, int stop, double length) {
    double sum = 0.0, lever = rounding->lever[constraint] + length;
    for (int n = node, k = 1; n != stop; n = rounding->model->nodes[n].parent, k++) {
        const double inertia = own_inertia(&rounding->model->nodes[n]);
        if (!(inertia > 0.0)) return (double)INFINITY;
        const double size = rounded(k, lever) + ONCE * rounding->place[constraint];
        sum += size * size / inertia;
        lever += rounding->arm[n];
    }
    return sum;
}

static double find_limit(const cal_row_rounding* rounding, int constraint, double least, double length, int stop) {
    const cal_model* model = rounding->model;
    const cal_constraint_def* def = &model->constraints[constraint];
    double sum = 0.0;
    for (int side = 0; side < 2; side++) {
        int node = -1;
        if (def->kind == CAL_COUPLING)
            node = def->joint[side] == CAL_NONE ? -1 : model->joints[def->joint[side]].node;
        else if (def->body[side] != CAL_GROUND)
            node = model->mounts[def->body[side]].node;
        // A coupling acts on parents as well.
        const double weight = def->kind == CAL_COUPLING ? 2.0 : 1.0;
        if (node >= 0) sum += weight * bound_from(rounding, constraint, node, stop, length);
    }
    return sum / least;
}

bool cal_row_rounding_create(const cal_model* model, double least, double length, cal_row_end* end,
                             cal_row_rounding* out) {
    const size_t count = (size_t)model->constraint_count;
    out->model = model;
    out->arm = cal_allocate((size_t)model->node_count, sizeof(double));
    out->lever = cal_allocate(count, sizeof(double));
    out->place = cal_allocate(count, sizeof(double));
    out->limit = cal_allocate(count, sizeof(double));
    if (!out->arm || !out->lever || !out->place || !out->limit) return false;
    for (int n = 0; n < model->node_count; n++) out->arm[n] = arm_of(model, n);
    for (int c = 0; c < model->constraint_count; c++) {
        find_lever(out, c);
        out->limit[c] = find_limit(out, c, least, length, end ? end(model, c) : -1);
    }
    return true;
}

// --- Without cancellation ----------------------------------------------------------------------------------------------------------

// The least of what a joint's degrees of freedom have of their own; zero: it has none.
static double least_inertia(const cal_node* node) {
    const double *s = node->second_moment, turn = s[0] + s[1] + s[2] - fmax(s[0], fmax(s[1], s[2]));
    if (node->kind == CAL_REVOLUTE) return own_inertia(node);
    if (node->kind == CAL_PRISMATIC) return node->mass + node->armature;
    return turn + node->armature;
}

double cal_row_gross(const cal_row_rounding* rounding, const cal_row* row, const double reach[CAL_ROW_NODES]) {
    const cal_model* model = rounding->model;
    double sum = 0.0;
    for (int i = 0; i < row->node_count; i++) {
        const double force = size_of(row->force[i]), moment = size_of(row->moment[i]);
        double lever = rounding->lever[row->constraint] + reach[i];
        for (int n = row->node[i], k = 1; n >= 0; n = model->nodes[n].parent, k++) {
            const cal_node* node = &model->nodes[n];
            const double inertia = least_inertia(node), turned = lever * force + moment;
            if (inertia > 0.0) sum += k * (node->kind == CAL_PRISMATIC ? force * force : turned * turned) / inertia;
            lever += rounding->arm[n];
        }
    }
    return TIMES * DBL_EPSILON * sum;
}
