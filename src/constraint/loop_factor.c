// Loops closed in the order of the tree (loop_factor.h).
#include "constraint/loop_factor.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIX = 6, SQUARE = 36, MOST_ROWS = 96 };
// Squares of y that are rounding, of the row that is moved most easily among those of its front.
static const double IMMOVABLE = 1e-24;

// --- Which constraints are where -----------------------------------------------------------------------------------------

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
        cost += rows[n] > MOST_ROWS ? (double)INFINITY : k * (k + 12.0) * (k + 2.0);
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
        pays = 2.0 * cost_in_order(model, rows) < cost_of_triangle(model, rows + fronts);
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
        const cal_loop_front *front = &f->fronts[n], *up = &f->fronts[parent_of(model, n)];
        for (int i = front->first; i < front->first + front->count; i++) {
            f->above[i] = -1;
            for (int k = up->first; f->at[i] >= front->closed && k < up->first + up->count; k++)
                if (f->list[k] == f->list[i]) f->above[i] = f->at[k];
        }
    }
}

// Numbers of a front with k rows and m pivots at most: E (6 k), Λ (k²), γ (k: gross), c (k), λ (k), y (6 k), G (m (k + 6)), z (m).
static size_t front_size(const cal_loop_front* front) {
    const size_t k = (size_t)front->rows, m = (size_t)front->closed;
    return SIX * k + k * k + 3 * k + SIX * k + m * (k + SIX) + m;
}

typedef struct view {
    int rows, closed;
    double *E, *L, *gross, *c, *lambda, *y, *G, *z;
    int32_t* pivots;
} view;

static view look_at(const cal_loop_factor* f, int n) {
    const cal_loop_front* front = &f->fronts[n];
    const size_t k = (size_t)front->rows, m = (size_t)front->closed;
    view out = {.rows = front->rows, .closed = front->closed, .pivots = f->pivots + f->first_pivot[n]};
    out.E = f->store + front->numbers;
    out.L = out.E + SIX * k, out.gross = out.L + k * k, out.c = out.gross + k, out.lambda = out.c + k;
    out.y = out.lambda + k, out.G = out.y + SIX * k, out.z = out.G + m * (k + SIX);
    return out;
}

void cal_loop_factor_destroy(cal_loop_factor* f) {
    if (!f) return;
    void* arrays[] = {f->size,  f->fronts, f->list,   f->at,    f->above, f->pivots, f->first_pivot,
                      f->store, f->bias,   f->motion, f->share, f->gross, f->left};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(f);
}

static bool find_fronts(cal_loop_factor* f, int32_t* mark) {
    const cal_model* model = f->model;
    const int count = model->constraint_count, fronts = model->node_count + 1;
    const size_t marks = (size_t)fronts * sizeof *mark;
    for (int c = 0; c < count; c++) visit_fronts(model, c, mark, count_entries, f);
    size_t total = 0, pivots = 0, numbers = 0;
    for (int n = 0; n < fronts; n++) {
        cal_loop_front* front = &f->fronts[n];
        front->first = (int32_t)total, total += (size_t)front->count, front->count = 0;
        front->numbers = numbers, numbers += front_size(front);
        f->first_pivot[n] = (int32_t)pivots, pivots += (size_t)front->closed;
    }
    f->list = cal_allocate(total, sizeof *f->list);
    f->at = cal_allocate(total, sizeof *f->at);
    f->above = cal_allocate(total, sizeof *f->above);
    f->pivots = cal_allocate(pivots, sizeof *f->pivots);
    f->store = cal_allocate(numbers, sizeof(double));
    if (!f->list || !f->at || !f->above || !f->pivots || !f->store) return false;
    memset(mark, 0, marks);
    for (int c = 0; c < count; c++) visit_fronts(model, c, mark, enter_closed, f);
    memset(mark, 0, marks);
    for (int c = 0; c < count; c++) visit_fronts(model, c, mark, enter_open, f);
    place_rows(f);
    return true;
}

cal_status cal_loop_factor_create(const cal_model* model, int rows, cal_mass_factor* tree, cal_loop_factor** out) {
    const size_t fronts = (size_t)model->node_count + 1;
    cal_loop_factor* f = *out = cal_allocate(1, sizeof *f);
    int32_t* mark = cal_allocate(fronts, sizeof *mark);
    bool good = f && mark;
    if (good) {
        f->model = model;
        f->tree = tree;
        f->fronts = cal_allocate(fronts, sizeof *f->fronts);
        f->size = cal_allocate((size_t)model->constraint_count, sizeof *f->size);
        for (int c = 0; f->size && c < model->constraint_count; c++)
            f->size[c] = cal_constraint_rows(&model->constraints[c], NULL);
        f->first_pivot = cal_allocate(fronts, sizeof *f->first_pivot);
        f->bias = cal_allocate(SIX * fronts, sizeof(double));
        f->motion = cal_allocate(SIX * fronts, sizeof(double));
        f->share = cal_allocate((size_t)model->v_count, sizeof(double));
        f->gross = cal_allocate((size_t)rows, sizeof(double));
        f->left = cal_allocate((size_t)rows, sizeof(double));
        good = f->fronts && f->size && f->first_pivot && f->bias && f->motion && f->share && f->gross && f->left &&
               find_fronts(f, mark);
    }
    cal_free(mark);
    if (good) return CAL_OK;
    cal_loop_factor_destroy(f);
    *out = NULL;
    return CAL_NO_MEMORY;
}

// --- One node ----------------------------------------------------------------------------------------------------------------

static double dot6(const double* a, const double* b) {
    return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
}

// Adds a wrench at a child's origin to one at its parent's.
static void carry(const double* arm, const double* wrench, double* to) {
    double moment[3];
    cal_cross3(arm, wrench + 3, moment);
    for (int i = 0; i < 3; i++) to[i] += wrench[i] + moment[i], to[3 + i] += wrench[3 + i];
}

static void place_node(cal_loop_factor* f, int n, const cal_node_motion* motions) {
    cal_mass_factor* tree = f->tree;
    const cal_node* node = &f->model->nodes[n];
    double* arm = tree->arm + 3 * (size_t)n;
    cal_mass_factor_axes(node, motions[n].rotation, tree->axes + (size_t)(SIX * node->first_v));
    cal_mass_factor_own(node, motions[n].rotation, tree->inertia + (size_t)n * SQUARE);
    for (int i = 0; i < 3; i++)
        arm[i] = motions[n].origin[i] - (node->parent < 0 ? 0.0 : motions[node->parent].origin[i]);
}

// I_parent += Xᵀ I X with X = ((1, 0), (−s×, 1)), s the child's arm.
static void pull_inertia(const cal_mass_factor* tree, int child, double* parent) {
    const double *I = tree->inertia + (size_t)child * SQUARE, *s = tree->arm + 3 * (size_t)child;
    double B[SQUARE];
    memcpy(B, I, sizeof B);
    for (int i = 0; i < SIX; i++) {
        double moment[3];
        cal_cross3(s, I + SIX * i + 3, moment);
        for (int j = 0; j < 3; j++) B[SIX * i + j] += moment[j];
    }
    for (int j = 0; j < SIX; j++) {
        const double force[3] = {B[SIX * 3 + j], B[SIX * 4 + j], B[SIX * 5 + j]};
        double moment[3];
        cal_cross3(s, force, moment);
        for (int i = 0; i < 3; i++) B[SIX * i + j] += moment[i];
    }
    for (int i = 0; i < SQUARE; i++) parent[i] += B[i];
}

// What a child's open rows bring: E at its parent's origin, Λ and y² so far.
static void pull_rows(const cal_loop_factor* f, int child, const view* to) {
    const cal_loop_front* front = &f->fronts[child];
    const view from = look_at(f, child);
    const double* arm = f->tree->arm + 3 * (size_t)child;
    for (int i = front->first; i < front->first + front->count; i++) {
        if (f->above[i] < 0) continue;
        const int rows = f->size[f->list[i]];
        for (int r = 0; r < rows; r++) {
            const int own = f->at[i] + r, there = f->above[i] + r;
            carry(arm, from.E + SIX * own, to->E + SIX * there);
            to->gross[there] += from.gross[own];
            for (int j = front->first; j < front->first + front->count; j++) {
                if (f->above[j] < 0) continue;
                const int others = f->size[f->list[j]];
                for (int s = 0; s < others; s++)
                    to->L[there * to->rows + f->above[j] + s] += from.L[own * from.rows + f->at[j] + s];
            }
        }
    }
}

// The wrenches of rows on this node itself.
static void add_own_rows(const cal_loop_factor* f, int n, const view* v, const cal_row* rows,
                         const int32_t* first_row) {
    const cal_loop_front* front = &f->fronts[n];
    for (int i = front->first; i < front->first + front->count; i++) {
        const int constraint = f->list[i], first = first_row[constraint];
        if (first < 0) continue;
        for (int r = 0; r < f->size[constraint]; r++)
            for (int k = 0; k < rows[first + r].node_count; k++) {
                if (rows[first + r].node[k] != n) continue;
                double* E = v->E + SIX * (f->at[i] + r);
                for (int d = 0; d < 3; d++) {
                    E[d] += rows[first + r].moment[k][d];
                    E[3 + d] += rows[first + r].force[k][d];
                }
            }
    }
}

// Closes the rows of a front: Λ = G Gᵀ of them, pivot by pivot, taken off everything else. I: NULL on the ground.
static void close_rows(cal_loop_factor* f, int n, const view* v, double shift, double* I) {
    bool taken[MOST_ROWS] = {false};
    const int k = v->rows;
    double easiest = 0.0;
    int kept = 0;
    for (int i = 0; i < v->closed; i++) easiest = fmax(easiest, v->gross[i]);
    for (; kept < v->closed; kept++) {
        int pivot = -1;
        double most = 0.0;
        for (int i = 0; i < v->closed; i++) {
            const double left = v->L[i * k + i];
            if (!taken[i] && left > fmax(shift, IMMOVABLE) * v->gross[i] && v->gross[i] > IMMOVABLE * easiest &&
                left > most)
                most = left, pivot = i;
        }
        if (pivot < 0) break;
        double *g = v->G + (size_t)kept * (size_t)(k + SIX), *e = g + k;
        const double root = sqrt(most);
        taken[pivot] = true;
        v->pivots[kept] = pivot;
        v->lambda[pivot] = root / sqrt(v->gross[pivot]); // until it is shown
        for (int i = 0; i < k; i++) g[i] = i < v->closed && taken[i] && i != pivot ? 0.0 : v->L[i * k + pivot] / root;
        g[pivot] = root;
        for (int d = 0; d < SIX; d++) e[d] = v->E[SIX * pivot + d] / root;
        for (int i = 0; i < k; i++) {
            if (i < v->closed && taken[i]) continue;
            for (int j = 0; j < k; j++) v->L[i * k + j] -= g[i] * g[j];
            for (int d = 0; d < SIX; d++) v->E[SIX * i + d] -= e[d] * g[i];
        }
        for (int d = 0; I && d < SIX; d++)
            for (int l = 0; l < SIX; l++) I[SIX * d + l] += e[d] * e[l];
    }
    for (int i = 0; i < v->closed; i++)
        if (!taken[i]) v->lambda[i] = v->gross[i] > 0.0 ? -sqrt(fmax(v->L[i * k + i], 0.0) / v->gross[i]) : 0.0;
    f->fronts[n].kept = kept;
}

static void show_rows(const cal_loop_factor* f, int n, const view* v, const int32_t* first_row) {
    const cal_loop_front* front = &f->fronts[n];
    for (int i = front->first; i < front->first + front->count && f->at[i] < front->closed; i++) {
        const int constraint = f->list[i], first = first_row[constraint];
        for (int r = 0; first >= 0 && r < f->size[constraint]; r++) {
            f->gross[first + r] = v->gross[f->at[i] + r];
            f->left[first + r] = v->lambda[f->at[i] + r];
        }
    }
}

// D = C Cᵀ, in place, lower half.
static void find_root(double* D, int degrees) {
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++) {
            double sum = D[i * degrees + j];
            for (int k = 0; k < j; k++) sum -= D[i * degrees + k] * D[j * degrees + k];
            D[i * degrees + j] = i == j ? sqrt(sum) : sum / D[j * degrees + j];
        }
}

// The joint of a node gives way: I and the open rows.
static void give_way(cal_loop_factor* f, int n, const view* v) {
    cal_mass_factor* tree = f->tree;
    const cal_node* node = &f->model->nodes[n];
    const int degrees = cal_kind_v(node->kind), k = v->rows;
    const size_t first = (size_t)(SIX * node->first_v);
    const double* S = tree->axes + first;
    double *U = tree->response + first, *C = tree->root + first, *I = tree->inertia + (size_t)n * SQUARE;
    for (int d = 0; d < degrees; d++)
        for (int i = 0; i < SIX; i++) U[SIX * d + i] = dot6(I + SIX * i, S + SIX * d);
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++)
            C[i * degrees + j] = dot6(S + SIX * i, U + SIX * j) +
                                 (i == j ? node->armature + (tree->added ? tree->added[node->first_v + i] : 0.0) : 0.0);
    find_root(C, degrees);
    // V = U C⁻ᵀ, a column per degree: V Vᵀ is what the joint takes off I.
    double V[SIX * SIX], row[SIX];
    for (int i = 0; i < SIX; i++) {
        for (int d = 0; d < degrees; d++) row[d] = U[SIX * d + i];
        cal_mass_factor_divide(C, degrees, row);
        for (int d = 0; d < degrees; d++) V[SIX * d + i] = row[d];
    }
    for (int d = 0; d < degrees; d++)
        for (int i = 0; i < SIX; i++) {
            const double own = V[SIX * d + i];
            for (int j = 0; j < SIX; j++) I[SIX * i + j] -= own * V[SIX * d + j];
        }
    for (int r = v->closed; r < k; r++) {
        double *y = v->y + SIX * r, *E = v->E + SIX * r;
        for (int d = 0; d < degrees; d++) y[d] = dot6(S + SIX * d, E);
        cal_mass_factor_divide(C, degrees, y);
        for (int d = 0; d < degrees; d++)
            for (int i = 0; i < SIX; i++) E[i] -= V[SIX * d + i] * y[d];
        for (int d = 0; d < degrees; d++) v->gross[r] += y[d] * y[d];
        for (int s = v->closed; s <= r; s++) {
            double sum = 0.0;
            for (int d = 0; d < degrees; d++) sum += y[d] * v->y[SIX * s + d];
            v->L[r * k + s] += sum;
            if (s != r) v->L[s * k + r] += sum;
        }
    }
}

void cal_loop_factor_compute(cal_loop_factor* f, const cal_node_motion* motions, const cal_row* rows,
                             const int32_t* first_row, double shift) {
    const cal_model* model = f->model;
    for (int n = model->node_count - 1; n >= 0; n--) {
        const view v = look_at(f, n);
        memset(v.E, 0, (size_t)(v.y - v.E) * sizeof(double));
        place_node(f, n, motions);
        double* I = f->tree->inertia + (size_t)n * SQUARE;
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c)) {
            pull_inertia(f->tree, c, I);
            if (f->fronts[c].rows > f->fronts[c].closed) pull_rows(f, c, &v);
        }
        if (v.rows > 0) add_own_rows(f, n, &v, rows, first_row);
        if (v.closed > 0) close_rows(f, n, &v, shift, I), show_rows(f, n, &v, first_row);
        give_way(f, n, &v);
    }
    const int ground = model->node_count;
    const view v = look_at(f, ground);
    if (v.rows == 0) return;
    memset(v.E, 0, (size_t)(v.y - v.E) * sizeof(double));
    for (int root = 0; root < model->node_count; root = model->nodes[root].end)
        if (f->fronts[root].rows > f->fronts[root].closed) pull_rows(f, root, &v);
    close_rows(f, ground, &v, shift, NULL);
    show_rows(f, ground, &v, first_row);
}

// --- Solving -----------------------------------------------------------------------------------------------------------------

// p and c of a front that is closed: rows' demands as far as they are known.
static void demand(cal_loop_factor* f, int n, const view* v, const int32_t* first_row, const double* right, double* p) {
    const cal_loop_front* front = &f->fronts[n];
    const int k = v->rows;
    for (int i = front->first; i < front->first + front->count && f->at[i] < v->closed; i++) {
        const int constraint = f->list[i], first = first_row[constraint];
        for (int r = 0; r < f->size[constraint]; r++)
            v->c[f->at[i] + r] = (first < 0 ? 0.0 : right[first + r]) - v->c[f->at[i] + r];
    }
    for (int t = 0; t < front->kept; t++) {
        const double *g = v->G + (size_t)t * (size_t)(k + SIX), *e = g + k;
        const int pivot = v->pivots[t];
        const double z = v->z[t] = v->c[pivot] / g[pivot];
        for (int i = 0; i < k; i++) v->c[i] += i < v->closed ? -g[i] * z : g[i] * z;
        for (int d = 0; p && d < SIX; d++) p[d] -= e[d] * z;
    }
}

// λ of the rows that are closed here; a: NULL on the ground.
static void answer(cal_loop_factor* f, int n, const view* v, const int32_t* first_row, const double* a,
                   double* lambda) {
    const cal_loop_front* front = &f->fronts[n];
    const int k = v->rows;
    for (int i = 0; i < v->closed; i++) v->lambda[i] = 0.0;
    for (int t = front->kept - 1; t >= 0; t--) {
        const double *g = v->G + (size_t)t * (size_t)(k + SIX), *e = g + k;
        const int pivot = v->pivots[t];
        double sum = v->z[t] - (a ? dot6(e, a) : 0.0);
        for (int i = 0; i < k; i++)
            if (i != pivot) sum -= g[i] * v->lambda[i];
        v->lambda[pivot] = sum / g[pivot];
    }
    for (int i = front->first; i < front->first + front->count && f->at[i] < v->closed; i++) {
        const int first = first_row[f->list[i]];
        for (int r = 0; first >= 0 && r < f->size[f->list[i]]; r++) lambda[first + r] = v->lambda[f->at[i] + r];
    }
}

static void inbound(cal_loop_factor* f, int n, const int32_t* first_row, const double* right) {
    const cal_model* model = f->model;
    const cal_mass_factor* tree = f->tree;
    const view v = look_at(f, n);
    double* p = f->bias + SIX * (size_t)n;
    memset(p, 0, SIX * sizeof *p);
    if (v.rows > 0) memset(v.c, 0, (size_t)v.rows * sizeof *v.c);
    for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c)) {
        const cal_loop_front* front = &f->fronts[c];
        const view from = look_at(f, c);
        carry(tree->arm + 3 * (size_t)c, f->bias + SIX * (size_t)c, p);
        for (int i = front->first; i < front->first + front->count; i++)
            for (int r = 0; f->above[i] >= 0 && r < f->size[f->list[i]]; r++)
                v.c[f->above[i] + r] += from.c[f->at[i] + r];
    }
    if (v.closed > 0) demand(f, n, &v, first_row, right, p);
    const cal_node* node = &model->nodes[n];
    const int degrees = cal_kind_v(node->kind);
    const size_t first = (size_t)(SIX * node->first_v);
    double *eta = f->share + node->first_v, give[SIX];
    for (int d = 0; d < degrees; d++) eta[d] = -dot6(tree->axes + first + SIX * d, p);
    cal_mass_factor_divide(tree->root + first, degrees, eta);
    for (int r = v.closed; r < v.rows; r++)
        for (int d = 0; d < degrees; d++) v.c[r] += v.y[SIX * r + d] * eta[d];
    memcpy(give, eta, (size_t)degrees * sizeof *eta);
    cal_mass_factor_divide_transposed(tree->root + first, degrees, give);
    for (int d = 0; d < degrees; d++)
        for (int i = 0; i < SIX; i++) p[i] += tree->response[first + (size_t)(SIX * d + i)] * give[d];
}

static void outbound(cal_loop_factor* f, int n, const int32_t* first_row, double* lambda, double* u) {
    const cal_model* model = f->model;
    const cal_mass_factor* tree = f->tree;
    const cal_node* node = &model->nodes[n];
    const cal_loop_front* front = &f->fronts[n];
    const view v = look_at(f, n), up = look_at(f, parent_of(model, n));
    const int degrees = cal_kind_v(node->kind);
    const size_t first = (size_t)(SIX * node->first_v);
    double *a = f->motion + SIX * (size_t)n, rate[SIX], give[SIX];
    memset(a, 0, SIX * sizeof *a);
    if (node->parent >= 0) {
        const double* above = f->motion + SIX * (size_t)node->parent;
        cal_cross3(above, tree->arm + 3 * (size_t)n, a + 3);
        for (int i = 0; i < 3; i++) a[i] = above[i], a[3 + i] += above[3 + i];
    }
    for (int i = front->first; i < front->first + front->count; i++)
        for (int r = 0; f->above[i] >= 0 && r < f->size[f->list[i]]; r++)
            v.lambda[f->at[i] + r] = up.lambda[f->above[i] + r];
    for (int d = 0; d < degrees; d++) give[d] = dot6(tree->response + first + SIX * d, a);
    cal_mass_factor_divide(tree->root + first, degrees, give);
    for (int d = 0; d < degrees; d++) {
        rate[d] = f->share[node->first_v + d] - give[d];
        for (int r = v.closed; r < v.rows; r++) rate[d] += v.y[SIX * r + d] * v.lambda[r];
    }
    cal_mass_factor_divide_transposed(tree->root + first, degrees, rate);
    for (int d = 0; d < degrees; d++) {
        u[node->first_v + d] = rate[d];
        for (int i = 0; i < SIX; i++) a[i] += tree->axes[first + (size_t)(SIX * d + i)] * rate[d];
    }
    if (v.closed > 0) answer(f, n, &v, first_row, a, lambda);
}

void cal_loop_factor_solve(cal_loop_factor* f, const int32_t* first_row, const double* right, double* lambda,
                           double* u) {
    const cal_model* model = f->model;
    const int ground = model->node_count;
    for (int n = ground - 1; n >= 0; n--) inbound(f, n, first_row, right);
    const view v = look_at(f, ground);
    if (v.rows > 0) {
        memset(v.c, 0, (size_t)v.rows * sizeof *v.c);
        for (int root = 0; root < ground; root = model->nodes[root].end) {
            const cal_loop_front* front = &f->fronts[root];
            const view from = look_at(f, root);
            for (int i = front->first; i < front->first + front->count; i++)
                for (int r = 0; f->above[i] >= 0 && r < f->size[f->list[i]]; r++)
                    v.c[f->above[i] + r] += from.c[f->at[i] + r];
        }
        demand(f, ground, &v, first_row, right, NULL);
        answer(f, ground, &v, first_row, NULL, lambda);
    }
    for (int n = 0; n < ground; n++) outbound(f, n, first_row, lambda, u);
}

void cal_loop_factor_forces(cal_loop_factor* f, const cal_node_motion* motions, const double* u, double* tau) {
    const cal_model* model = f->model;
    const cal_mass_factor* tree = f->tree;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        double *a = f->motion + SIX * (size_t)n, *force = f->bias + SIX * (size_t)n, I[SQUARE];
        memset(a, 0, SIX * sizeof *a);
        if (node->parent >= 0) {
            const double* above = f->motion + SIX * (size_t)node->parent;
            cal_cross3(above, tree->arm + 3 * (size_t)n, a + 3);
            for (int i = 0; i < 3; i++) a[i] = above[i], a[3 + i] += above[3 + i];
        }
        for (int d = 0; d < cal_kind_v(node->kind); d++)
            for (int i = 0; i < SIX; i++)
                a[i] += tree->axes[(size_t)(SIX * (node->first_v + d) + i)] * u[node->first_v + d];
        cal_mass_factor_own(node, motions[n].rotation, I);
        for (int i = 0; i < SIX; i++) force[i] = dot6(I + SIX * i, a);
    }
    for (int n = model->node_count - 1; n >= 0; n--) {
        const cal_node* node = &model->nodes[n];
        double* force = f->bias + SIX * (size_t)n;
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c))
            carry(tree->arm + 3 * (size_t)c, f->bias + SIX * (size_t)c, force);
        for (int d = 0; d < cal_kind_v(node->kind); d++)
            tau[node->first_v + d] +=
                dot6(tree->axes + (size_t)(SIX * (node->first_v + d)), force) +
                (node->armature + (tree->added ? tree->added[node->first_v + d] : 0.0)) * u[node->first_v + d];
    }
}
