// Which constraints are open and closed where, in the order of the tree (loop_factor.h): found once.
#include "base/memory.h"
#include "constraint/loop_factor.h"
#include <math.h>
#include <string.h>

// The nodes that a constraint touches; the ground is node_count.
static int touched(const cal_model* model, int constraint, int nodes[4]) {
    const cal_constraint_def* def = &model->constraints[constraint];
    int count = 0;
    for (int i = 0; i < 2; i++) {
        int node = -1;
        if (def->kind == CAL_COUPLING) {
            if (def->joint[i] == CAL_NONE) continue;
            node = model->joints[def->joint[i]].node;
            nodes[count++] = model->nodes[node].parent < 0 ? model->node_count : model->nodes[node].parent;
        } else if (def->body[i] != CAL_GROUND) {
            node = model->mounts[def->body[i]].node;
        }
        nodes[count++] = node < 0 ? model->node_count : node;
    }
    return count;
}

static int parent_of(const cal_model* model, int node) {
    return model->nodes[node].parent < 0 ? model->node_count : model->nodes[node].parent;
}

// Where the paths to the ground meet: nodes are numbered depth first, so of two the one with the larger number goes up.
static int meeting_of(const cal_model* model, int a, int b) {
    const int ground = model->node_count;
    while (a != b) {
        if (a == ground || b == ground) return ground;
        if (a > b)
            a = parent_of(model, a);
        else
            b = parent_of(model, b);
    }
    return a;
}

static int lowest_common(const cal_model* model, int constraint) {
    int nodes[4] = {model->node_count};
    const int count = touched(model, constraint, nodes);
    int meeting = nodes[0];
    for (int i = 1; i < count; i++) meeting = meeting_of(model, meeting, nodes[i]);
    return meeting;
}

// Calls `visit` for each front that a constraint is in, once: those between what it touches and where it is closed, both included.
typedef void visitor(void* user, int front, int constraint, bool closed);
static void visit_fronts(const cal_model* model, int constraint, int32_t* mark, visitor* visit, void* user) {
    int nodes[4];
    const int count = touched(model, constraint, nodes), last = lowest_common(model, constraint);
    for (int i = 0; i < count; i++)
        for (int n = nodes[i]; mark[n] != constraint + 1; n = parent_of(model, n)) {
            mark[n] = constraint + 1;
            visit(user, n, constraint, n == last);
            if (n == last) break;
        }
}

typedef struct counting {
    const cal_model* model;
    int32_t* rows;
} counting;

static void add_rows(void* user, int front, int constraint, bool closed) {
    (void)closed;
    counting* c = user;
    c->rows[front] += cal_constraint_rows(&c->model->constraints[constraint], NULL);
}

int cal_loop_meeting(const cal_model* model, int constraint) {
    const int meeting = lowest_common(model, constraint);
    return meeting == model->node_count ? -1 : meeting;
}

// Operations: a node's inertia and its joint, and dense rows of a front; infinite where a front has too many of them.
static double cost_in_order(const cal_model* model, const int32_t* rows) {
    static const double node = 500.0;
    double cost = node * model->node_count;
    for (int n = 0; n <= model->node_count; n++) {
        const double k = rows[n];
        cost += rows[n] > CAL_LOOP_MOST_ROWS ? (double)INFINITY : k * (k + 12.0) * (k + 2.0);
    }
    return cost;
}

// Operations of the triangle: a row's y along its paths to the roots, and rows of a tree with each other for each degree of
// freedom. work: 2 per node.
static double cost_of_triangle(const cal_model* model, int32_t* work) {
    static const double along = 40.0;
    int32_t *depth = work, *root = work + model->node_count;
    double cost = 0.0;
    for (int n = 0; n < model->node_count; n++) {
        const int parent = model->nodes[n].parent;
        depth[n] = parent < 0 ? 1 : depth[parent] + 1;
        root[n] = parent < 0 ? n : root[parent];
    }
    for (int c = 0; c < model->constraint_count; c++) {
        int nodes[4];
        const int count = touched(model, c, nodes), rows = cal_constraint_rows(&model->constraints[c], NULL);
        for (int i = 0; i < count; i++)
            if (nodes[i] < model->node_count) cost += along * rows * depth[nodes[i]];
    }
    // Rows per tree, in the depth's place: it is not needed any more.
    memset(depth, 0, (size_t)model->node_count * sizeof *depth);
    for (int c = 0; c < model->constraint_count; c++) {
        int nodes[4], last = -1;
        const int count = touched(model, c, nodes);
        for (int i = 0; i < count; i++) {
            if (nodes[i] == model->node_count || root[nodes[i]] == last) continue;
            last = root[nodes[i]];
            depth[last] += cal_constraint_rows(&model->constraints[c], NULL);
        }
    }
    for (int n = 0; n < model->node_count; n = model->nodes[n].end)
        cost += 2.0 * depth[n] * (double)depth[n] * (model->nodes[n].end - n);
    return cost;
}

bool cal_loop_factor_pays(const cal_model* model) {
    const size_t fronts = (size_t)model->node_count + 1;
    int32_t *rows = cal_allocate(3 * fronts, sizeof *rows), *mark = cal_allocate(fronts, sizeof *mark);
    bool pays = false;
    if (rows && mark && model->constraint_count > 1) {
        counting c = {model, rows};
        for (int i = 0; i < model->constraint_count; i++) visit_fronts(model, i, mark, add_rows, &c);
        // The triangle knows twice the digits of what is left of a row: half as much again is not too much for it.
        pays = 1.5 * cost_in_order(model, rows) < cost_of_triangle(model, rows + fronts);
    }
    cal_free(rows), cal_free(mark);
    return pays;
}

static void count_entries(void* user, int front, int constraint, bool closed) {
    cal_loop_factor* f = user;
    const int rows = cal_constraint_rows(&f->model->constraints[constraint], NULL);
    f->fronts[front].count++;
    f->fronts[front].rows += rows;
    if (closed) f->fronts[front].closed += rows;
}

static void enter_closed(void* user, int front, int constraint, bool closed) {
    cal_loop_factor* f = user;
    if (closed) f->list[f->fronts[front].first + f->fronts[front].count++] = constraint;
}

static void enter_open(void* user, int front, int constraint, bool closed) {
    cal_loop_factor* f = user;
    if (!closed) f->list[f->fronts[front].first + f->fronts[front].count++] = constraint;
}

// The front's row of a constraint in it, −1: it has none.
static int find_row(const cal_loop_factor* f, int front, int constraint) {
    for (int i = f->fronts[front].first; i < f->fronts[front].first + f->fronts[front].count; i++)
        if (f->list[i] == constraint) return f->at[i];
    return -1;
}

static void place_rows(cal_loop_factor* f) {
    const cal_model* model = f->model;
    for (int n = 0; n <= model->node_count; n++) {
        int row = 0;
        const cal_loop_front* front = &f->fronts[n];
        for (int i = front->first; i < front->first + front->count; i++) {
            f->at[i] = row;
            row += f->size[f->list[i]];
        }
    }
    for (int n = 0; n < model->node_count; n++) {
        const cal_loop_front* front = &f->fronts[n];
        int32_t* above = f->above + front->first_above;
        for (int i = front->first; i < front->first + front->count; i++) {
            if (f->at[i] < front->closed) continue;
            const int there = find_row(f, front->parent, f->list[i]);
            for (int r = 0; r < f->size[f->list[i]]; r++) *above++ = there + r;
        }
    }
}

static void place_touches(cal_loop_factor* f, bool counts) {
    const cal_model* model = f->model;
    for (int c = 0; c < model->constraint_count; c++) {
        int nodes[4];
        const int count = touched(model, c, nodes);
        for (int i = 0; i < count; i++) {
            cal_loop_front* front = &f->fronts[nodes[i]];
            bool again = nodes[i] == model->node_count;
            for (int k = 0; k < i; k++) again = again || nodes[k] == nodes[i];
            if (again) continue;
            if (!counts)
                f->touches[front->first_touch + front->touch_count] = (cal_loop_touch){c, find_row(f, nodes[i], c)};
            front->touch_count++;
        }
    }
}

static void link_fronts(cal_loop_factor* f) {
    const cal_model* model = f->model;
    const int ground = model->node_count;
    f->fronts[ground].parent = f->fronts[ground].next = -1;
    f->fronts[ground].child = ground > 0 ? 0 : -1;
    for (int n = 0; n < ground; n++) {
        const cal_node* node = &model->nodes[n];
        const int end = node->parent < 0 ? ground : model->nodes[node->parent].end;
        f->fronts[n].parent = parent_of(model, n);
        f->fronts[n].child = cal_first_child(model, n);
        f->fronts[n].next = node->end < end ? node->end : -1;
    }
}

static cal_loop_view view_of(const cal_loop_factor* f, const cal_loop_front* front) {
    const size_t k = (size_t)front->rows, m = (size_t)front->closed;
    cal_loop_view out = {.rows = front->rows, .closed = front->closed, .pivots = f->pivots + front->first_pivot};
    out.E = f->store + front->numbers;
    out.L = out.E + (size_t)f->wide * k, out.gross = out.L + k * k, out.c = out.gross + k, out.lambda = out.c + k;
    out.y = out.lambda + k, out.G = out.y + 6 * k, out.z = out.G + m * (k + (size_t)f->wide);
    return out;
}

// The axis of the world that all joints turn about, in exact numbers; −1: there is none.
static int find_normal(const cal_model* model) {
    int normal = -1;
    for (int n = 0; n < model->node_count; n++) {
        const double* R = model->nodes[n].rotation; // the third column is the axis
        const int at = model->nodes[n].parent >= 0 ? 2 : R[2] != 0.0 ? 0 : R[5] != 0.0 ? 1 : 2;
        if (model->nodes[n].kind != CAL_REVOLUTE || fabs(R[3 * at + 2]) != 1.0) return -1;
        for (int i = 0; i < 3; i++)
            if ((i != at && R[3 * i + 2] != 0.0) || (i != 2 && R[3 * at + i] != 0.0)) return -1;
        if (model->nodes[n].parent >= 0) continue;
        if (normal >= 0 && normal != at) return -1;
        normal = at;
    }
    return normal;
}

static bool find_fronts(cal_loop_factor* f, int32_t* mark) {
    const cal_model* model = f->model;
    const int count = model->constraint_count, fronts = model->node_count + 1;
    const size_t marks = (size_t)fronts * sizeof *mark;
    link_fronts(f);
    for (int c = 0; c < count; c++) visit_fronts(model, c, mark, count_entries, f);
    place_touches(f, true);
    size_t total = 0, pivots = 0, numbers = 0, open = 0, touches = 0;
    for (int n = 0; n < fronts; n++) {
        cal_loop_front* front = &f->fronts[n];
        front->first = (int32_t)total, total += (size_t)front->count, front->count = 0;
        front->first_touch = (int32_t)touches, touches += (size_t)front->touch_count, front->touch_count = 0;
        front->first_above = (int32_t)open, open += (size_t)(front->rows - front->closed);
        front->first_pivot = (int32_t)pivots, pivots += (size_t)front->closed;
        front->numbers = numbers, numbers += cal_loop_front_size(front);
    }
    f->list = cal_allocate(total, sizeof *f->list);
    f->at = cal_allocate(total, sizeof *f->at);
    f->above = cal_allocate(open, sizeof *f->above);
    f->touches = cal_allocate(touches, sizeof *f->touches);
    f->pivots = cal_allocate(pivots, sizeof *f->pivots);
    f->store = cal_allocate(numbers, sizeof(double));
    if (!f->list || !f->at || !f->above || !f->touches || !f->pivots || !f->store) return false;
    for (int n = 0; n < fronts; n++) f->views[n] = view_of(f, &f->fronts[n]);
    memset(mark, 0, marks);
    for (int c = 0; c < count; c++) visit_fronts(model, c, mark, enter_closed, f);
    memset(mark, 0, marks);
    for (int c = 0; c < count; c++) visit_fronts(model, c, mark, enter_open, f);
    place_rows(f);
    place_touches(f, false);
    return true;
}

void cal_loop_factor_destroy(cal_loop_factor* f) {
    if (!f) return;
    void* arrays[] = {f->size,  f->fronts,  f->list,   f->at,    f->above, f->touches, f->pivots,
                      f->store, f->bias,    f->motion, f->share, f->give,  f->root,    f->gross,
                      f->left,  f->inertia, f->views,  f->own,   f->load,  f->weight,  f->noise};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(f);
}

cal_status cal_loop_factor_create(const cal_model* model, int rows, cal_mass_factor* tree,
                                  const cal_row_rounding* rounding, cal_loop_factor** out) {
    const size_t fronts = (size_t)model->node_count + 1, degrees = (size_t)model->v_count;
    cal_loop_factor* f = *out = cal_allocate(1, sizeof *f);
    int32_t* mark = cal_allocate(fronts, sizeof *mark);
    bool good = f && mark;
    if (good) {
        f->model = model;
        f->tree = tree;
        f->rounding = rounding;
        const int normal = find_normal(model);
        f->wide = normal < 0 ? CAL_LOOP_SPACE : CAL_LOOP_PLANE;
        for (int i = 0; i < 3; i++) f->axes[i] = (normal < 0 ? i : normal + i) % 3;
        f->fronts = cal_allocate(fronts, sizeof *f->fronts);
        f->views = cal_allocate(fronts, sizeof *f->views);
        f->size = cal_allocate((size_t)model->constraint_count, sizeof *f->size);
        for (int c = 0; f->size && c < model->constraint_count; c++)
            f->size[c] = cal_constraint_rows(&model->constraints[c], NULL);
        f->inertia = cal_allocate(CAL_LOOP_INERTIA * fronts, sizeof(double));
        f->own = cal_allocate(CAL_LOOP_OWN * fronts, sizeof(double));
        f->load = cal_allocate(CAL_LOOP_SPACE * fronts, sizeof(double));
        f->bias = cal_allocate(CAL_LOOP_SPACE * fronts, sizeof(double));
        f->motion = cal_allocate(CAL_LOOP_SPACE * fronts, sizeof(double));
        f->share = cal_allocate(degrees, sizeof(double));
        f->give = cal_allocate(CAL_LOOP_SPACE * degrees, sizeof(double));
        f->root = cal_allocate(6 * degrees, sizeof(double));
        f->gross = cal_allocate((size_t)rows, sizeof(double));
        f->left = cal_allocate((size_t)rows, sizeof(double));
        f->weight = cal_allocate((size_t)rows, sizeof(double));
        f->noise = cal_allocate((size_t)rows, sizeof(double));
        good = f->noise && f->fronts && f->views && f->size && f->inertia && f->own && f->load && f->bias &&
               f->motion && f->share && f->give && f->root && f->gross && f->left && f->weight && find_fronts(f, mark);
    }
    cal_free(mark);
    if (good) return CAL_OK;
    cal_loop_factor_destroy(f);
    *out = NULL;
    return CAL_NO_MEMORY;
}
