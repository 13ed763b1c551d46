// Loops closed in the order of the tree: the numbers (loop_factor.h).
#include "constraint/loop_factor.h"
#include "base/wide.h"
#include "constraint/loop_body.h"
#include "math/root.h"
#include <math.h>
#include <string.h>

enum { SIX = 6, EIGHT = CAL_LOOP_SPACE, SQUARE = 36 };

// A front's numbers, and how many there are, which a compiler may know.
typedef struct view {
    const cal_loop_view* at;
    int rows, closed, wide;
} view;

CAL_WIDE_INLINE view look_at(const cal_loop_factor* f, int n, int wide) {
    return (view){&f->views[n], f->views[n].rows, f->views[n].closed, wide};
}

// --- One node ----------------------------------------------------------------------------------------------------------------

CAL_WIDE_INLINE void place_node(cal_loop_factor* f, int n, const cal_node_motion* motions) {
    cal_mass_factor* tree = f->tree;
    const cal_node* node = &f->model->nodes[n];
    double *arm = tree->arm + 3 * (size_t)n, *axes = tree->axes + (size_t)(SIX * node->first_v);
    if (node->kind == CAL_REVOLUTE)
        for (int i = 0; i < 3; i++) axes[i] = motions[n].rotation[3 * i + 2], axes[3 + i] = 0.0;
    else
        cal_mass_factor_axes(node, motions[n].rotation, axes);
    for (int i = 0; i < 3; i++)
        arm[i] = motions[n].origin[i] - (node->parent < 0 ? 0.0 : motions[node->parent].origin[i]);
}

// Its lever and the sign of its axis instead.
CAL_WIDE_INLINE void place_in_plane(const cal_loop_factor* f, int n, const cal_node_motion* motions, double* own) {
    static const double ground[3] = {0.0};
    const int parent = f->model->nodes[n].parent, a = f->axes[1], b = f->axes[2];
    const double *here = motions[n].origin, *there = parent < 0 ? ground : motions[parent].origin;
    own[LEVER] = own[LEVER + 3] = 0.0;
    own[LEVER + 1] = -(here[b] - there[b]), own[LEVER + 2] = here[a] - there[a];
    own[SIGN] = motions[n].rotation[3 * f->axes[0] + 2];
}

// A node's arm, and the axes of its joint; in a plane its lever and its sign.
CAL_WIDE_INLINE const double* arm_of(const cal_loop_factor* f, int wide, int n) {
    return wide == CAL_LOOP_PLANE ? f->own + CAL_LOOP_OWN * (size_t)n + LEVER : f->tree->arm + 3 * (size_t)n;
}
CAL_WIDE_INLINE const double* axes_of(const cal_loop_factor* f, int wide, int n) {
    return wide == CAL_LOOP_PLANE ? f->own + CAL_LOOP_OWN * (size_t)n + SIGN
                                  : f->tree->axes + SIX * (size_t)f->model->nodes[n].first_v;
}

// What a child's open rows bring: E at its parent's origin, Λ and y² so far.
CAL_WIDE_INLINE void pull_rows(const cal_loop_factor* f, int child, const view* to) {
    const int wide = to->wide;
    const view from = look_at(f, child, wide);
    const int32_t* above = f->above + f->fronts[child].first_above - from.closed;
    const double* arm = arm_of(f, wide, child);
    for (int r = from.closed; r < from.rows; r++) {
        const int there = above[r];
        spatial E = load_spatial(wide, to->at->E + wide * there);
        carry(wide, arm, from.at->E + wide * r, &E);
        store_spatial(wide, &E, to->at->E + wide * there);
        to->at->gross[there] += from.at->gross[r];
        double* L = to->at->L + there * to->rows;
        for (int s = from.closed; s < from.rows; s++) L[above[s]] += from.at->L[r * from.rows + s];
    }
}

// The wrenches of rows on this node itself.
CAL_WIDE_INLINE void add_own_rows(const cal_loop_factor* f, int n, const view* v, const cal_row* rows,
                                  const int32_t* first_row) {
    const cal_loop_touch* touch = f->touches + f->fronts[n].first_touch;
    for (int t = 0; t < f->fronts[n].touch_count; t++) {
        const int first = first_row[touch[t].constraint], size = f->size[touch[t].constraint];
        for (int r = 0; first >= 0 && r < size; r++) {
            const cal_row* row = &rows[first + r];
            for (int k = 0; k < row->node_count; k++) {
                if (row->node[k] != n) continue;
                double* E = v->at->E + v->wide * (touch[t].row + r);
                if (v->wide == CAL_LOOP_PLANE) {
                    E[0] += row->moment[k][f->axes[0]];
                    E[1] += row->force[k][f->axes[1]], E[2] += row->force[k][f->axes[2]];
                    continue;
                }
                cal_store_four(cal_load_four(E) + cal_load_four(row->moment[k]), E);
                cal_store_four(cal_load_four(E + 4) + cal_load_four(row->force[k]), E + 4);
            }
        }
    }
}

// How easily the closed rows of a front are moved, by wrenches of size one: in any unit of length the same ones are rounding.
CAL_WIDE_INLINE void weigh_closed(const cal_loop_factor* f, int n, const view* v, const int32_t* first_row,
                                  double* weight) {
    const cal_loop_front* front = &f->fronts[n];
    for (int i = front->first; i < front->first + front->count && f->at[i] < v->closed; i++) {
        const int constraint = f->list[i], first = first_row[constraint];
        for (int r = 0; r < f->size[constraint]; r++) weight[f->at[i] + r] = first < 0 ? 0.0 : f->weight[first + r];
    }
}

// Of the closed rows of a front the y² that are rounding: beside the one that is moved most easily, and of what each was made from, where that may be
// enough to be asked for.
CAL_WIDE_INLINE void find_noise(cal_loop_factor* f, int n, const view* v, const cal_row* rows, const int32_t* first_row,
                                const double* weight, double easiest, double* noise) {
    const cal_loop_front* front = &f->fronts[n];
    for (int i = front->first; i < front->first + front->count && f->at[i] < v->closed; i++) {
        const int constraint = f->list[i], first = first_row[constraint];
        const double limit = f->rounding->limit[constraint];
        for (int r = 0; first >= 0 && r < f->size[constraint]; r++) {
            const int at = f->at[i] + r;
            const double gross = v->at->gross[at], ease = gross * weight[at];
            f->noise[first + r] = 0.0;
            if (ease > limit || !(ease > CAL_ROW_ROUNDING * easiest)) continue;
            noise[at] = cal_row_noise(f->rounding, &rows[first + r], n == f->model->node_count ? -1 : n, f->q, f->root,
                                      f->tree);
            f->noise[first + r] = noise[at] / gross;
        }
    }
}

// The closed row of which most is left; −1: none but rounding.
CAL_WIDE_INLINE int next_pivot(const view* v, const bool* taken, const double* weight, const double* noise,
                               double shift, double easiest, double* most) {
    int pivot = -1;
    double best = 0.0;
    for (int i = 0; i < v->closed; i++) {
        const double left = v->at->L[i * v->rows + i], gross = v->at->gross[i], weighed = left * weight[i];
        if (!taken[i] && left > shift * gross && gross * weight[i] > CAL_ROW_ROUNDING * easiest && left > noise[i] &&
            weighed > best)
            *most = left, best = weighed, pivot = i;
    }
    return pivot;
}

// Closes the rows of a front: Λ = G Gᵀ of them, pivot by pivot, taken off everything else. I: NULL on the ground.
CAL_WIDE_INLINE void close_rows(cal_loop_factor* f, int n, const view* v, const cal_row* rows, const int32_t* first_row,
                                double shift, inertia* I) {
    bool taken[CAL_LOOP_MOST_ROWS];
    double weight[CAL_LOOP_MOST_ROWS], noise[CAL_LOOP_MOST_ROWS], easiest = 0.0;
    const int k = v->rows, wide = v->wide;
    int kept = 0;
    for (int i = 0; i < v->closed; i++) taken[i] = false, weight[i] = noise[i] = 0.0;
    weigh_closed(f, n, v, first_row, weight);
    for (int i = 0; i < v->closed; i++) {
        const double ease = v->at->gross[i] * weight[i];
        easiest = ease > easiest ? ease : easiest;
    }
    find_noise(f, n, v, rows, first_row, weight, easiest, noise);
    for (; kept < v->closed; kept++) {
        double most = 0.0;
        const int pivot =
            next_pivot(v, taken, weight, noise, shift > CAL_ROW_ROUNDING ? shift : CAL_ROW_ROUNDING, easiest, &most);
        if (pivot < 0) break;
        double *g = v->at->G + (size_t)kept * (size_t)(k + wide), *e = g + k;
        const double root = sqrt(most), over = 1.0 / root;
        taken[pivot] = true;
        v->at->pivots[kept] = pivot;
        v->at->lambda[pivot] = root / sqrt(v->at->gross[pivot]); // until it is shown
        for (int i = 0; i < k; i++)
            g[i] = i < v->closed && taken[i] && i != pivot ? 0.0 : v->at->L[i * k + pivot] * over;
        g[pivot] = root;
        for (int d = 0; d < wide; d++) e[d] = v->at->E[wide * pivot + d] * over;
        for (int i = 0; i < k; i++) {
            if (i < v->closed && taken[i]) continue;
            for (int j = 0; j < k; j++) v->at->L[i * k + j] -= g[i] * g[j];
            add_to_spatial(wide, v->at->E + wide * i, -g[i], e);
        }
        if (I) add_square(wide, I, true, e);
    }
    for (int i = 0; i < v->closed; i++) {
        const double left = v->at->L[i * k + i] > 0.0 ? v->at->L[i * k + i] : 0.0;
        if (!taken[i]) v->at->lambda[i] = v->at->gross[i] > 0.0 ? -sqrt(left / v->at->gross[i]) : 0.0;
    }
    f->fronts[n].kept = kept;
}

CAL_WIDE_INLINE void show_rows(const cal_loop_factor* f, int n, const view* v, const int32_t* first_row) {
    const cal_loop_front* front = &f->fronts[n];
    for (int i = front->first; i < front->first + front->count && f->at[i] < front->closed; i++) {
        const int constraint = f->list[i], first = first_row[constraint];
        for (int r = 0; first >= 0 && r < f->size[constraint]; r++) {
            f->gross[first + r] = v->at->gross[f->at[i] + r];
            f->left[first + r] = v->at->lambda[f->at[i] + r];
        }
    }
}

// D = C Cᵀ, in place, lower half, with the diagonal inverted.
CAL_WIDE_INLINE void find_root(double* D, int degrees) {
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++) {
            double sum = D[i * degrees + j];
            for (int k = 0; k < j; k++) sum -= D[i * degrees + k] * D[j * degrees + k];
            D[i * degrees + j] = i == j ? 1.0 / sqrt(sum) : sum * D[j * degrees + j];
        }
}

// The joint of a node gives way: I and the open rows. V = U C⁻ᵀ, a column per degree: V Vᵀ is what the joint takes off I.
CAL_WIDE_INLINE void give_way(cal_loop_factor* f, int n, int kind, const view* v, inertia* I) {
    const cal_node* node = &f->model->nodes[n];
    const int k = v->rows, wide = v->wide, degrees = cal_kind_v(kind);
    const double *S = axes_of(f, wide, n), *added = f->tree->added;
    double *V = f->give + (size_t)(wide * node->first_v), *C = f->root + (size_t)(SIX * node->first_v);
    respond(wide, I, kind, degrees, S, V);
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++)
            C[i * degrees + j] = along(wide, kind, S + SIX * i, V + wide * j) +
                                 (i == j ? node->armature + (added ? added[node->first_v + i] : 0.0) : 0.0);
    find_root(C, degrees);
    for (int d = 0; d < degrees; d++) {
        for (int e = 0; e < d; e++) add_to_spatial(wide, V + wide * d, -C[d * degrees + e], V + wide * e);
        for (int i = 0; i < wide; i++) V[wide * d + i] *= C[d * degrees + d];
        add_square(wide, I, false, V + wide * d);
    }
    for (int r = v->closed; r < k; r++) {
        double *y = v->at->y + SIX * r, *E = v->at->E + wide * r;
        for (int d = 0; d < degrees; d++) y[d] = along(wide, kind, S + SIX * d, E);
        cal_root_divide(C, degrees, y);
        for (int d = 0; d < degrees; d++) {
            add_to_spatial(wide, E, -y[d], V + wide * d);
            v->at->gross[r] += y[d] * y[d];
        }
        for (int s = v->closed; s <= r; s++) {
            double sum = 0.0;
            for (int d = 0; d < degrees; d++) sum += y[d] * v->at->y[SIX * s + d];
            v->at->L[r * k + s] += sum;
            if (s != r) v->at->L[s * k + r] += sum;
        }
    }
}

CAL_WIDE_INLINE void begin_inertia(cal_loop_factor* f, int n, int wide, const cal_node_motion* motions, inertia* I) {
    const double* R = motions[n].rotation;
    double* own = f->own + CAL_LOOP_OWN * (size_t)n;
    if (wide == CAL_LOOP_PLANE) {
        place_in_plane(f, n, motions, own);
        own_plane_inertia(&f->model->nodes[n], R + 3 * f->axes[1], R + 3 * f->axes[2], I, own);
    } else {
        place_node(f, n, motions);
        own_spatial_inertia(&f->model->nodes[n], R, I, own);
    }
}

CAL_WIDE_INLINE void compute_front(cal_loop_factor* f, int n, int kind, view v, const cal_node_motion* motions,
                                   const cal_row* rows, const int32_t* first_row, double shift) {
    const size_t each = v.wide == CAL_LOOP_PLANE ? PLANE_COUNT : CAL_LOOP_INERTIA;
    double* all = f->inertia;
    inertia I; // here, where nothing else is written, and not in the array
    if (v.rows > 0)
        for (double* x = v.at->E; x < v.at->c; x++) *x = 0.0;
    begin_inertia(f, n, v.wide, motions, &I);
    if (f->tree->resisting)
        add_resisting(v.wide, f->axes, f->tree->resisting + CAL_MASS_FACTOR_INERTIA * (size_t)n, &I);
    for (int c = f->fronts[n].child; c >= 0; c = f->fronts[c].next) {
        pull_inertia(v.wide, all + each * (size_t)c, arm_of(f, v.wide, c), &I);
        if (f->fronts[c].rows > f->fronts[c].closed) pull_rows(f, c, &v);
    }
    if (v.rows > 0 && f->fronts[n].touch_count > 0) add_own_rows(f, n, &v, rows, first_row);
    if (v.closed > 0) close_rows(f, n, &v, rows, first_row, shift, &I), show_rows(f, n, &v, first_row);
    give_way(f, n, kind, &v, &I);
    store_inertia(v.wide, &I, all + each * (size_t)n);
}

// Numbers of rows that a compiler knows: those of hinges in a plane, alone and one loop on another.
enum { SHAPE_OTHER, SHAPE_ANY, SHAPE_OPEN, SHAPE_CLOSED, SHAPE_BETWEEN }; // other: of other joints
CAL_WIDE_INLINE int shape_of(const view* v) {
    if (v->rows == 2) return v->closed == 0 ? SHAPE_OPEN : v->closed == 2 ? SHAPE_CLOSED : SHAPE_ANY;
    return v->rows == 4 && v->closed == 2 ? SHAPE_BETWEEN : SHAPE_ANY;
}
CAL_WIDE_INLINE view view_known(view v, int rows, int closed) {
    v.rows = rows, v.closed = closed;
    return v;
}

CAL_WIDE_INLINE void compute_all(cal_loop_factor* f, int wide, const cal_node_motion* motions, const cal_row* rows,
                                 const int32_t* first_row, double shift, cal_node_range nodes) {
    const cal_model* model = f->model;
    for (int n = nodes.end - 1; n >= nodes.first; n--) {
        const int kind = model->nodes[n].kind;
        const view v = look_at(f, n, wide);
#define COMPUTE(kind, v) compute_front(f, n, kind, v, motions, rows, first_row, shift)
        switch (wide == CAL_LOOP_PLANE || kind == CAL_REVOLUTE ? shape_of(&v) : SHAPE_OTHER) {
        case SHAPE_OPEN: COMPUTE(CAL_REVOLUTE, view_known(v, 2, 0)); break;
        case SHAPE_CLOSED: COMPUTE(CAL_REVOLUTE, view_known(v, 2, 2)); break;
        case SHAPE_BETWEEN: COMPUTE(CAL_REVOLUTE, view_known(v, 4, 2)); break;
        case SHAPE_ANY: COMPUTE(CAL_REVOLUTE, v); break;
        default: COMPUTE(kind, v);
        }
#undef COMPUTE
    }
}

CAL_WIDE_INLINE void close_ground(cal_loop_factor* f, int wide, const cal_row* rows, const int32_t* first_row,
                                  double shift) {
    const int ground = f->model->node_count;
    const view v = look_at(f, ground, wide);
    if (v.rows == 0) return;
    memset(v.at->E, 0, (size_t)(v.at->c - v.at->E) * sizeof(double));
    for (int c = f->fronts[ground].child; c >= 0; c = f->fronts[c].next)
        if (f->fronts[c].rows > f->fronts[c].closed) pull_rows(f, c, &v);
    close_rows(f, ground, &v, rows, first_row, shift, NULL);
    show_rows(f, ground, &v, first_row);
}

CAL_WIDE static void compute_fronts(cal_loop_factor* f, const cal_node_motion* motions, const cal_row* rows,
                                    const int32_t* first_row, double shift, const cal_node_range* nodes) {
    if (f->wide == CAL_LOOP_PLANE)
        compute_all(f, CAL_LOOP_PLANE, motions, rows, first_row, shift, *nodes);
    else
        compute_all(f, CAL_LOOP_SPACE, motions, rows, first_row, shift, *nodes);
}

CAL_WIDE static void compute_ground(cal_loop_factor* f, const cal_row* rows, const int32_t* first_row, double shift) {
    if (f->wide == CAL_LOOP_PLANE)
        close_ground(f, CAL_LOOP_PLANE, rows, first_row, shift);
    else
        close_ground(f, CAL_LOOP_SPACE, rows, first_row, shift);
}

// --- Loads -------------------------------------------------------------------------------------------------------------------

// Functions of several sets of instructions pass no vectors by value: what does so is called by them.
CAL_WIDE_INLINE void load_all(cal_loop_factor* f, const cal_node_motion* motions, const double* accelerations,
                              const cal_node_range* nodes) {
    const cal_four gravity = cal_load_three(f->model->gravity);
    for (int n = nodes->first; n < nodes->end; n++)
        load_spatial_node(&f->model->nodes[n], f->own + CAL_LOOP_OWN * (size_t)n, gravity, motions[n].angular,
                          accelerations + SIX * (size_t)n, f->load + CAL_LOOP_SPACE * (size_t)n);
}

CAL_WIDE static void load_fronts(cal_loop_factor* f, const cal_node_motion* motions, const double* accelerations,
                                 const cal_node_range* nodes) {
    if (f->wide == CAL_LOOP_SPACE) {
        load_all(f, motions, accelerations, nodes);
        return;
    }
    const int turn = f->axes[0], a = f->axes[1], b = f->axes[2];
    const double *gravity = f->model->gravity, *faster = accelerations + SIX * (size_t)nodes->first;
    for (int n = nodes->first; n < nodes->end; n++, faster += SIX)
        load_plane_node(&f->model->nodes[n], f->own + CAL_LOOP_OWN * (size_t)n, motions[n].angular[turn], faster[turn],
                        faster[3 + a] - gravity[a], faster[3 + b] - gravity[b], f->load + CAL_LOOP_PLANE * (size_t)n);
}

void cal_loop_factor_push(cal_loop_factor* f, int node, const double force[3], const double torque[3]) {
    double* p = f->load + (size_t)f->wide * (size_t)node;
    if (f->wide == CAL_LOOP_PLANE)
        p[0] -= torque[f->axes[0]], p[1] -= force[f->axes[1]], p[2] -= force[f->axes[2]];
    else
        for (int i = 0; i < 3; i++) p[i] -= torque[i], p[4 + i] -= force[i];
}

// --- Solving -----------------------------------------------------------------------------------------------------------------

// p and c of a front that is closed: rows' demands as far as they are known.
CAL_WIDE_INLINE void demand(cal_loop_factor* f, int n, const view* v, const int32_t* first_row, const double* right,
                            spatial* p) {
    const cal_loop_front* front = &f->fronts[n];
    const int k = v->rows, wide = v->wide;
    for (int i = front->first; i < front->first + front->count && f->at[i] < v->closed; i++) {
        const int constraint = f->list[i], first = first_row[constraint];
        for (int r = 0; r < f->size[constraint]; r++)
            v->at->c[f->at[i] + r] = (first < 0 ? 0.0 : right[first + r]) - v->at->c[f->at[i] + r];
    }
    for (int t = 0; t < front->kept; t++) {
        const double *g = v->at->G + (size_t)t * (size_t)(k + wide), *e = g + k;
        const int pivot = v->at->pivots[t];
        const double z = v->at->z[t] = v->at->c[pivot] / g[pivot];
        for (int i = 0; i < v->closed; i++) v->at->c[i] -= g[i] * z;
        for (int i = v->closed; i < k; i++) v->at->c[i] += g[i] * z;
        if (p) add_spatial(wide, p, -z, e);
    }
}

// λ of the rows that are closed here; a: NULL on the ground.
CAL_WIDE_INLINE void answer(cal_loop_factor* f, int n, const view* v, const int32_t* first_row, const spatial* a,
                            double* lambda) {
    const cal_loop_front* front = &f->fronts[n];
    const int k = v->rows, wide = v->wide;
    for (int i = 0; i < v->closed; i++) v->at->lambda[i] = 0.0;
    for (int t = front->kept - 1; t >= 0; t--) {
        const double *g = v->at->G + (size_t)t * (size_t)(k + wide), *e = g + k;
        const int pivot = v->at->pivots[t];
        double sum = v->at->z[t] - (a ? work_of(wide, e, a) : 0.0);
        for (int i = 0; i < k; i++)
            if (i != pivot) sum -= g[i] * v->at->lambda[i];
        v->at->lambda[pivot] = sum / g[pivot];
    }
    for (int i = front->first; i < front->first + front->count && f->at[i] < v->closed; i++) {
        const int first = first_row[f->list[i]];
        for (int r = 0; first >= 0 && r < f->size[f->list[i]]; r++) lambda[first + r] = v->at->lambda[f->at[i] + r];
    }
}

// What a child's open rows have of c so far.
CAL_WIDE_INLINE void pull_demand(const cal_loop_factor* f, int child, const view* to) {
    const view from = look_at(f, child, to->wide);
    const int32_t* above = f->above + f->fronts[child].first_above - from.closed;
    for (int r = from.closed; r < from.rows; r++) to->at->c[above[r]] += from.at->c[r];
}

CAL_WIDE_INLINE void inbound(cal_loop_factor* f, int n, int kind, view v, const int32_t* first_row, const double* right,
                             bool loaded) {
    const int degrees = cal_kind_v(kind), wide = v.wide;
    const size_t first_v = (size_t)f->model->nodes[n].first_v;
    const double *V = f->give + (size_t)wide * first_v, *S = axes_of(f, wide, n);
    double *eta = f->share + first_v, *bias = f->bias + (size_t)wide * (size_t)n;
    spatial p = {{0.0}, {0.0}};
    if (loaded) p = load_spatial(wide, f->load + (size_t)wide * (size_t)n);
    for (int r = 0; r < v.rows; r++) v.at->c[r] = 0.0;
    for (int c = f->fronts[n].child; c >= 0; c = f->fronts[c].next) {
        carry(wide, arm_of(f, wide, c), f->bias + (size_t)wide * (size_t)c, &p);
        if (f->fronts[c].rows > f->fronts[c].closed) pull_demand(f, c, &v);
    }
    if (v.closed > 0) demand(f, n, &v, first_row, right, &p);
    store_spatial(wide, &p, bias);
    for (int d = 0; d < degrees; d++) {
        const double pushed = along(wide, kind, S + SIX * d, bias);
        eta[d] = loaded ? f->forces[first_v + (size_t)d] - pushed : -pushed;
    }
    cal_root_divide(f->root + SIX * first_v, degrees, eta);
    for (int d = 0; d < degrees; d++) {
        for (int r = v.closed; r < v.rows; r++) v.at->c[r] += v.at->y[SIX * r + d] * eta[d];
        add_spatial(wide, &p, eta[d], V + wide * d);
    }
    store_spatial(wide, &p, bias);
}

CAL_WIDE_INLINE void outbound(cal_loop_factor* f, int n, int kind, view v, const int32_t* first_row, double* lambda,
                              double* u) {
    const cal_loop_front* front = &f->fronts[n];
    const int degrees = cal_kind_v(kind), wide = v.wide;
    const size_t first_v = (size_t)f->model->nodes[n].first_v;
    const double *S = axes_of(f, wide, n), *V = f->give + (size_t)wide * first_v,
                 *lambda_above = look_at(f, front->parent, wide).at->lambda;
    const int32_t* rows_above = f->above + front->first_above - v.closed;
    spatial a = load_spatial(wide, f->motion + (size_t)wide * (size_t)front->parent);
    double rate[SIX];
    swing(wide, arm_of(f, wide, n), &a);
    for (int r = v.closed; r < v.rows; r++) v.at->lambda[r] = lambda_above[rows_above[r]];
    for (int d = 0; d < degrees; d++) {
        rate[d] = f->share[first_v + (size_t)d] - work_of(wide, V + wide * d, &a);
        for (int r = v.closed; r < v.rows; r++) rate[d] += v.at->y[SIX * r + d] * v.at->lambda[r];
    }
    cal_root_divide_transposed(f->root + SIX * first_v, degrees, rate);
    for (int d = 0; d < degrees; d++) {
        u[first_v + (size_t)d] = rate[d];
        add_axis(wide, kind, S + SIX * d, rate[d], &a);
    }
    store_spatial(wide, &a, f->motion + (size_t)wide * (size_t)n);
    if (v.closed > 0) answer(f, n, &v, first_row, &a, lambda);
}

CAL_WIDE_INLINE void go_inbound(cal_loop_factor* f, int wide, const int32_t* first_row, const double* right,
                                bool loaded, const cal_node_range* nodes) {
    for (int n = nodes->end - 1; n >= nodes->first; n--) {
        const int kind = f->model->nodes[n].kind;
        const view v = look_at(f, n, wide);
        switch (wide == CAL_LOOP_PLANE || kind == CAL_REVOLUTE ? shape_of(&v) : SHAPE_OTHER) {
        case SHAPE_OPEN: inbound(f, n, CAL_REVOLUTE, view_known(v, 2, 0), first_row, right, loaded); break;
        case SHAPE_CLOSED: inbound(f, n, CAL_REVOLUTE, view_known(v, 2, 2), first_row, right, loaded); break;
        case SHAPE_BETWEEN: inbound(f, n, CAL_REVOLUTE, view_known(v, 4, 2), first_row, right, loaded); break;
        case SHAPE_ANY: inbound(f, n, CAL_REVOLUTE, v, first_row, right, loaded); break;
        default: inbound(f, n, kind, v, first_row, right, loaded);
        }
    }
}

CAL_WIDE_INLINE void go_outbound(cal_loop_factor* f, int wide, const int32_t* first_row, double* lambda, double* u,
                                 const cal_node_range* nodes) {
    for (int n = nodes->first; n < nodes->end; n++) {
        const int kind = f->model->nodes[n].kind;
        const view v = look_at(f, n, wide);
        switch (wide == CAL_LOOP_PLANE || kind == CAL_REVOLUTE ? shape_of(&v) : SHAPE_OTHER) {
        case SHAPE_OPEN: outbound(f, n, CAL_REVOLUTE, view_known(v, 2, 0), first_row, lambda, u); break;
        case SHAPE_CLOSED: outbound(f, n, CAL_REVOLUTE, view_known(v, 2, 2), first_row, lambda, u); break;
        case SHAPE_BETWEEN: outbound(f, n, CAL_REVOLUTE, view_known(v, 4, 2), first_row, lambda, u); break;
        case SHAPE_ANY: outbound(f, n, CAL_REVOLUTE, v, first_row, lambda, u); break;
        default: outbound(f, n, kind, v, first_row, lambda, u);
        }
    }
}

CAL_WIDE_INLINE void turn_round(cal_loop_factor* f, int wide, const int32_t* first_row, const double* right,
                                double* lambda) {
    const int ground = f->model->node_count;
    const view v = look_at(f, ground, wide);
    memset(f->motion + (size_t)wide * (size_t)ground, 0, (size_t)wide * sizeof(double));
    if (v.rows == 0) return;
    for (int r = 0; r < v.rows; r++) v.at->c[r] = 0.0;
    for (int c = f->fronts[ground].child; c >= 0; c = f->fronts[c].next)
        if (f->fronts[c].rows > f->fronts[c].closed) pull_demand(f, c, &v);
    demand(f, ground, &v, first_row, right, NULL);
    answer(f, ground, &v, first_row, NULL, lambda);
}

CAL_WIDE static void solve_inbound(cal_loop_factor* f, const int32_t* first_row, const double* right, bool loaded,
                                   const cal_node_range* nodes) {
    if (f->wide == CAL_LOOP_PLANE && loaded)
        go_inbound(f, CAL_LOOP_PLANE, first_row, right, true, nodes);
    else if (f->wide == CAL_LOOP_PLANE)
        go_inbound(f, CAL_LOOP_PLANE, first_row, right, false, nodes);
    else if (loaded)
        go_inbound(f, CAL_LOOP_SPACE, first_row, right, true, nodes);
    else
        go_inbound(f, CAL_LOOP_SPACE, first_row, right, false, nodes);
}

CAL_WIDE static void solve_outbound(cal_loop_factor* f, const int32_t* first_row, double* lambda, double* u,
                                    const cal_node_range* nodes) {
    if (f->wide == CAL_LOOP_PLANE)
        go_outbound(f, CAL_LOOP_PLANE, first_row, lambda, u, nodes);
    else
        go_outbound(f, CAL_LOOP_SPACE, first_row, lambda, u, nodes);
}

CAL_WIDE static void solve_ground(cal_loop_factor* f, const int32_t* first_row, const double* right, double* lambda) {
    if (f->wide == CAL_LOOP_PLANE)
        turn_round(f, CAL_LOOP_PLANE, first_row, right, lambda);
    else
        turn_round(f, CAL_LOOP_SPACE, first_row, right, lambda);
}

CAL_WIDE_INLINE double dot6(const double* a, const double* b) {
    return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
}

// In space, whatever fronts are in.
void cal_loop_factor_forces(cal_loop_factor* f, const cal_node_motion* motions, const double* u, double* tau) {
    const cal_model* model = f->model;
    const cal_mass_factor* tree = f->tree;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        if (f->wide == CAL_LOOP_PLANE) place_node(f, n, motions);
        double *own = f->motion + EIGHT * (size_t)n, *force = f->bias + EIGHT * (size_t)n, I[SQUARE], a[SIX] = {0.0};
        if (node->parent >= 0) {
            const double* above = f->motion + EIGHT * (size_t)node->parent;
            cal_cross3(above, tree->arm + 3 * (size_t)n, a + 3);
            for (int i = 0; i < 3; i++) a[i] = above[i], a[3 + i] += above[4 + i];
        }
        for (int d = 0; d < cal_kind_v(node->kind); d++)
            for (int i = 0; i < SIX; i++)
                a[i] += tree->axes[(size_t)(SIX * (node->first_v + d) + i)] * u[node->first_v + d];
        cal_mass_factor_own(node, motions[n].rotation, I);
        if (tree->resisting) cal_mass_factor_spread(tree->resisting + CAL_MASS_FACTOR_INERTIA * (size_t)n, I);
        for (int i = 0; i < 3; i++) {
            own[i] = a[i], own[4 + i] = a[3 + i];
            force[i] = dot6(I + SIX * i, a), force[4 + i] = dot6(I + SIX * (3 + i), a);
        }
    }
    for (int n = model->node_count - 1; n >= 0; n--) {
        const cal_node* node = &model->nodes[n];
        double* force = f->bias + EIGHT * (size_t)n;
        spatial sum = load_spatial(CAL_LOOP_SPACE, force);
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c))
            carry(CAL_LOOP_SPACE, tree->arm + 3 * (size_t)c, f->bias + EIGHT * (size_t)c, &sum);
        store_spatial(CAL_LOOP_SPACE, &sum, force);
        for (int d = 0; d < cal_kind_v(node->kind); d++)
            tau[node->first_v + d] +=
                along(CAL_LOOP_SPACE, node->kind, tree->axes + (size_t)(SIX * (node->first_v + d)), force) +
                (node->armature + (tree->added ? tree->added[node->first_v + d] : 0.0)) * u[node->first_v + d];
    }
}

CAL_WIDE static void weigh_all(const double* restrict sizes, int count, double* restrict weight) {
    for (int i = 0; i < count; i++) weight[i] = sizes[i] > 0.0 ? 1.0 / sizes[i] : 0.0;
}

// What is compiled several times is not called from other files (base/wide.h).
void cal_loop_factor_weigh(cal_loop_factor* f, const double* sizes, int first, int end) {
    weigh_all(sizes + first, end - first, f->weight + first);
}

void cal_loop_factor_compute(cal_loop_factor* f, const cal_node_motion* motions, const cal_row* rows,
                             const int32_t* first_row, double shift, const cal_limbs* limbs, cal_worker* worker) {
    for (int i = cal_limb_count(limbs, worker) - 1; i >= 0; i--) {
        const cal_node_range limb = cal_limb(limbs, worker, i);
        compute_fronts(f, motions, rows, first_row, shift, &limb);
    }
    cal_worker_meet(worker);
    if (worker->index > 0) return;
    for (int i = cal_trunk_count(limbs, worker) - 1; i >= 0; i--)
        compute_fronts(f, motions, rows, first_row, shift, &limbs->trunk[i]);
    compute_ground(f, rows, first_row, shift);
}

void cal_loop_factor_load(cal_loop_factor* f, const cal_node_motion* motions, const double* accelerations,
                          const cal_node_range* nodes) {
    load_fronts(f, motions, accelerations, nodes);
}

void cal_loop_factor_solve(cal_loop_factor* f, const int32_t* first_row, const double* right, bool loaded,
                           double* lambda, double* u, const cal_limbs* limbs, cal_worker* worker) {
    const int trunk = cal_trunk_count(limbs, worker);
    for (int i = cal_limb_count(limbs, worker) - 1; i >= 0; i--) {
        const cal_node_range limb = cal_limb(limbs, worker, i);
        solve_inbound(f, first_row, right, loaded, &limb);
    }
    cal_worker_meet(worker);
    for (int i = trunk - 1; i >= 0; i--) solve_inbound(f, first_row, right, loaded, &limbs->trunk[i]);
    if (worker->index == 0) solve_ground(f, first_row, right, lambda);
    for (int i = 0; i < trunk; i++) solve_outbound(f, first_row, lambda, u, &limbs->trunk[i]);
    cal_worker_meet(worker);
    for (int i = 0; i < cal_limb_count(limbs, worker); i++) {
        const cal_node_range limb = cal_limb(limbs, worker, i);
        solve_outbound(f, first_row, lambda, u, &limb);
    }
}
