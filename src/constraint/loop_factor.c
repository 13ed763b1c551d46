// Loops closed in the order of the tree: the numbers (loop_factor.h).
#include "constraint/loop_factor.h"
#include "base/wide.h"
#include "math/four.h"
#include <math.h>
#include <string.h>

enum { SIX = 6, EIGHT = CAL_LOOP_WRENCH, SQUARE = 36 };
// Squares of y that are rounding, of the row that is moved most easily among those of its front.
static const double IMMOVABLE = 1e-24;

// A front's numbers, and how many there are, which a compiler may know.
typedef struct view {
    const cal_loop_view* at;
    int rows, closed;
} view;

CAL_WIDE_INLINE view look_at(const cal_loop_factor* f, int n) {
    return (view){&f->views[n], f->views[n].rows, f->views[n].closed};
}

CAL_WIDE_INLINE double dot3(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

CAL_WIDE_INLINE double dot6(const double* a, const double* b) {
    return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
}

// Wrenches and motions are eight numbers: three in four lanes, twice. That of a motion along a wrench:
CAL_WIDE_INLINE double dot8(const double* a, const cal_four b[2]) {
    const cal_four product = cal_load_four(a) * b[0] + cal_load_four(a + 4) * b[1];
    return product[0] + product[1] + product[2];
}
// Of a joint's axis, which has six.
CAL_WIDE_INLINE double along(int kind, const double* S, const double* wrench) {
    const double turn = dot3(S, wrench);
    return kind == CAL_REVOLUTE ? turn : turn + dot3(S + 3, wrench + 4);
}

// to += factor · a
CAL_WIDE_INLINE void add8(cal_four to[2], double factor, const double* a) {
    to[0] += cal_load_four(a) * factor;
    to[1] += cal_load_four(a + 4) * factor;
}
CAL_WIDE_INLINE void load8(const double* from, cal_four to[2]) {
    to[0] = cal_load_four(from), to[1] = cal_load_four(from + 4);
}
CAL_WIDE_INLINE void store8(const cal_four from[2], double* to) {
    cal_store_four(from[0], to);
    cal_store_four(from[1], to + 4);
}
CAL_WIDE_INLINE void add_to8(double* to, double factor, const double* a) {
    cal_four sum[2];
    load8(to, sum);
    add8(sum, factor, a);
    store8(sum, to);
}

// Adds a wrench at a child's origin to one at its parent's.
CAL_WIDE_INLINE void carry(const double* arm, const double* wrench, cal_four to[2]) {
    cal_four own[2];
    load8(wrench, own);
    to[0] += own[0] + cal_cross_four(cal_load_four(arm), own[1]);
    to[1] += own[1];
}

// x ← C⁻¹ x, x ← C⁻ᵀ x; the diagonal is inverted.
CAL_WIDE_INLINE void divide(const double* C, int degrees, double* x) {
    for (int i = 0; i < degrees; i++) {
        for (int k = 0; k < i; k++) x[i] -= C[i * degrees + k] * x[k];
        x[i] *= C[i * degrees + i];
    }
}
CAL_WIDE_INLINE void divide_transposed(const double* C, int degrees, double* x) {
    for (int i = degrees - 1; i >= 0; i--) {
        for (int k = i + 1; k < degrees; k++) x[i] -= C[k * degrees + i] * x[k];
        x[i] *= C[i * degrees + i];
    }
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

// A symmetric matrix ((J, Gᵀ), (G, M)) of three by three blocks, column by column, three numbers in four lanes each. What makes J and M differ
// from their transposes is rounding.
typedef struct inertia {
    cal_four J[3], G[3], M[3];
} inertia;
_Static_assert(sizeof(inertia) == CAL_LOOP_INERTIA * sizeof(double), "as many as are allocated");

CAL_WIDE_INLINE void store_inertia(const inertia* I, double* to) {
    for (int j = 0; j < 3; j++) {
        cal_store_four(I->J[j], to + 4 * j);
        cal_store_four(I->G[j], to + 12 + 4 * j);
        cal_store_four(I->M[j], to + 24 + 4 * j);
    }
}

CAL_WIDE_INLINE void transpose(const cal_four* from, cal_four* to) {
    const cal_four low = CAL_SHUFFLE(from[0], from[1], 0, 4, 1, 5), high = CAL_SHUFFLE(from[0], from[1], 2, 6, 3, 7);
    to[0] = CAL_SHUFFLE(low, from[2], 0, 1, 4, 7), to[1] = CAL_SHUFFLE(low, from[2], 2, 3, 5, 7);
    to[2] = CAL_SHUFFLE(high, from[2], 0, 1, 6, 7);
}

// Columns a times three numbers.
CAL_WIDE_INLINE cal_four combine(const cal_four* a, double x, double y, double z) {
    return a[0] * x + a[1] * y + a[2] * z;
}

// J = R Θ Rᵀ, Gᵀ = h×, M = m in the world's axes, Θ = tr Σ − Σ with Σ and h the body's second and first moments. own: J and h are kept there.
CAL_WIDE_INLINE void own_inertia(const cal_node* node, const double* R, inertia* I, double* own) {
    const double *s = node->second_moment, *m = node->moment;
    const cal_four rows[3] = {cal_load_four(R), cal_load_four(R + 3), cal_load_four(R + 6)};
    cal_four axes[3];
    transpose(rows, axes);
    const cal_four turned[3] = {combine(axes, s[1] + s[2], -s[3], -s[4]), combine(axes, -s[3], s[0] + s[2], -s[5]),
                                combine(axes, -s[4], -s[5], s[0] + s[1])};
    const cal_four h = combine(axes, m[0], m[1], m[2]);
    for (int j = 0; j < 3; j++) {
        I->J[j] = combine(turned, R[3 * j], R[3 * j + 1], R[3 * j + 2]);
        cal_store_four(I->J[j], own + 4 * j);
    }
    cal_store_four(h, own + 12);
    const cal_four x = {0.0, -1.0, 1.0, 0.0}, y = {1.0, 0.0, -1.0, 0.0}, z = {-1.0, 1.0, 0.0, 0.0};
    I->G[0] = x * CAL_SHUFFLE(h, h, 0, 2, 1, 3), I->G[1] = y * CAL_SHUFFLE(h, h, 2, 1, 0, 3);
    I->G[2] = z * CAL_SHUFFLE(h, h, 1, 0, 2, 3);
    for (int j = 0; j < 3; j++) I->M[j] = (cal_four){0.0}, I->M[j][j] = node->mass;
}

// I += Xᵀ I_child X with X = ((1, 0), (−s×, 1)), s the child's arm: M, G' = G − M s×, J + s× G' − Gᵀ s×.
CAL_WIDE_INLINE void pull_inertia(const double* child, const double* s, inertia* I) {
    cal_four J[3], G[3], M[3], rows[3];
    for (int j = 0; j < 3; j++) {
        J[j] = cal_load_four(child + 4 * j), G[j] = cal_load_four(child + 12 + 4 * j);
        M[j] = cal_load_four(child + 24 + 4 * j);
    }
    transpose(G, rows);
    const cal_four arm = cal_load_four(s);
    for (int j = 0; j < 3; j++) {
        const int k = (j + 1) % 3, l = (j + 2) % 3; // column j of s×: s_l along k, −s_k along l
        const cal_four moved = G[j] - (M[k] * s[l] - M[l] * s[k]);
        I->J[j] += J[j] + (cal_cross_four(arm, moved) - (rows[k] * s[l] - rows[l] * s[k]));
        I->G[j] += moved;
        I->M[j] += M[j];
    }
}

// I ± a aᵀ
CAL_WIDE_INLINE void add_square(inertia* I, bool adds, const double* a) {
    const cal_four turn = cal_load_four(a), force = cal_load_four(a + 4);
    for (int j = 0; j < 3; j++) {
        const cal_four J = turn * a[j], G = force * a[j], M = force * a[4 + j];
        I->J[j] = adds ? I->J[j] + J : I->J[j] - J;
        I->G[j] = adds ? I->G[j] + G : I->G[j] - G;
        I->M[j] = adds ? I->M[j] + M : I->M[j] - M;
    }
}

// What I makes of a turn, and of a displacement, which is added.
CAL_WIDE_INLINE void find_turn(const inertia* I, const double* w, double* out) {
    const cal_four turn = combine(I->J, w[0], w[1], w[2]), force = combine(I->G, w[0], w[1], w[2]);
    cal_store_four(turn, out);
    cal_store_four(force, out + 4);
}
CAL_WIDE_INLINE void add_displacement(const inertia* I, const double* v, double* out) {
    const cal_four force = combine(I->M, v[0], v[1], v[2]);
    for (int i = 0; i < 3; i++) {
        out[i] += I->G[i][0] * v[0] + I->G[i][1] * v[1] + I->G[i][2] * v[2];
        out[4 + i] += force[i];
    }
}

// What a child's open rows bring: E at its parent's origin, Λ and y² so far.
CAL_WIDE_INLINE void pull_rows(const cal_loop_factor* f, int child, const view* to) {
    const view from = look_at(f, child);
    const int32_t* above = f->above + f->fronts[child].first_above - from.closed;
    const double* arm = f->tree->arm + 3 * (size_t)child;
    for (int r = from.closed; r < from.rows; r++) {
        const int there = above[r];
        cal_four E[2];
        load8(to->at->E + EIGHT * there, E);
        carry(arm, from.at->E + EIGHT * r, E);
        store8(E, to->at->E + EIGHT * there);
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
                double* E = v->at->E + EIGHT * (touch[t].row + r);
                cal_store_four(cal_load_four(E) + cal_load_four(row->moment[k]), E);
                cal_store_four(cal_load_four(E + 4) + cal_load_four(row->force[k]), E + 4);
            }
        }
    }
}

// The closed row of which most is left; −1: none but rounding.
CAL_WIDE_INLINE int next_pivot(const view* v, const bool* taken, double shift, double easiest, double* most) {
    int pivot = -1;
    *most = 0.0;
    for (int i = 0; i < v->closed; i++) {
        const double left = v->at->L[i * v->rows + i];
        if (!taken[i] && left > shift * v->at->gross[i] && v->at->gross[i] > IMMOVABLE * easiest && left > *most)
            *most = left, pivot = i;
    }
    return pivot;
}

// Closes the rows of a front: Λ = G Gᵀ of them, pivot by pivot, taken off everything else. I: NULL on the ground.
CAL_WIDE_INLINE void close_rows(cal_loop_factor* f, int n, const view* v, double shift, inertia* I) {
    bool taken[CAL_LOOP_MOST_ROWS];
    const int k = v->rows;
    for (int i = 0; i < v->closed; i++) taken[i] = false;
    double easiest = 0.0;
    int kept = 0;
    for (int i = 0; i < v->closed; i++) easiest = v->at->gross[i] > easiest ? v->at->gross[i] : easiest;
    for (; kept < v->closed; kept++) {
        double most;
        const int pivot = next_pivot(v, taken, shift > IMMOVABLE ? shift : IMMOVABLE, easiest, &most);
        if (pivot < 0) break;
        double *g = v->at->G + (size_t)kept * (size_t)(k + EIGHT), *e = g + k;
        const double root = sqrt(most), over = 1.0 / root;
        taken[pivot] = true;
        v->at->pivots[kept] = pivot;
        v->at->lambda[pivot] = root / sqrt(v->at->gross[pivot]); // until it is shown
        for (int i = 0; i < k; i++)
            g[i] = i < v->closed && taken[i] && i != pivot ? 0.0 : v->at->L[i * k + pivot] * over;
        g[pivot] = root;
        for (int d = 0; d < EIGHT; d++) e[d] = v->at->E[EIGHT * pivot + d] * over;
        for (int i = 0; i < k; i++) {
            if (i < v->closed && taken[i]) continue;
            for (int j = 0; j < k; j++) v->at->L[i * k + j] -= g[i] * g[j];
            add_to8(v->at->E + EIGHT * i, -g[i], e);
        }
        if (I) add_square(I, true, e);
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

// V = I S of a joint, a wrench per degree of freedom.
CAL_WIDE_INLINE void respond(const inertia* I, int kind, int degrees, const double* S, double* V) {
    if (kind == CAL_PRISMATIC) {
        for (int i = 0; i < EIGHT; i++) V[i] = 0.0;
        add_displacement(I, S + 3, V);
        return;
    }
    for (int d = 0; d < degrees; d++) {
        find_turn(I, S + SIX * d, V + EIGHT * d);
        if (kind == CAL_FREE) add_displacement(I, S + SIX * d + 3, V + EIGHT * d);
    }
}

// The joint of a node gives way: I and the open rows. V = U C⁻ᵀ, a column per degree: V Vᵀ is what the joint takes off I.
CAL_WIDE_INLINE void give_way(cal_loop_factor* f, const cal_node* node, int kind, const view* v, inertia* I) {
    const cal_mass_factor* tree = f->tree;
    const int k = v->rows, degrees = cal_kind_v(kind);
    const size_t first = (size_t)(SIX * node->first_v);
    const double* S = tree->axes + first;
    double *V = f->give + (size_t)(EIGHT * node->first_v), *C = f->root + first;
    respond(I, kind, degrees, S, V);
    for (int i = 0; i < degrees; i++)
        for (int j = 0; j <= i; j++)
            C[i * degrees + j] = along(kind, S + SIX * i, V + EIGHT * j) +
                                 (i == j ? node->armature + (tree->added ? tree->added[node->first_v + i] : 0.0) : 0.0);
    find_root(C, degrees);
    for (int d = 0; d < degrees; d++) {
        for (int e = 0; e < d; e++) add_to8(V + EIGHT * d, -C[d * degrees + e], V + EIGHT * e);
        for (int i = 0; i < EIGHT; i++) V[EIGHT * d + i] *= C[d * degrees + d];
        add_square(I, false, V + EIGHT * d);
    }
    for (int r = v->closed; r < k; r++) {
        double *y = v->at->y + SIX * r, *E = v->at->E + EIGHT * r;
        for (int d = 0; d < degrees; d++) y[d] = along(kind, S + SIX * d, E);
        divide(C, degrees, y);
        for (int d = 0; d < degrees; d++) {
            add_to8(E, -y[d], V + EIGHT * d);
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

CAL_WIDE_INLINE void compute_front(cal_loop_factor* f, int n, int kind, view v, const cal_node_motion* motions,
                                   const cal_row* rows, const int32_t* first_row, double shift) {
    const cal_node* node = &f->model->nodes[n];
    double* all = f->inertia;
    inertia I; // here, where nothing else is written, and not in the array
    if (v.rows > 0)
        for (double* x = v.at->E; x < v.at->c; x++) *x = 0.0;
    own_inertia(node, motions[n].rotation, &I, f->own + CAL_LOOP_OWN * (size_t)n);
    for (int c = f->fronts[n].child; c >= 0; c = f->fronts[c].next) {
        pull_inertia(all + CAL_LOOP_INERTIA * (size_t)c, f->tree->arm + 3 * (size_t)c, &I);
        if (f->fronts[c].rows > f->fronts[c].closed) pull_rows(f, c, &v);
    }
    if (v.rows > 0 && f->fronts[n].touch_count > 0) add_own_rows(f, n, &v, rows, first_row);
    if (v.closed > 0) close_rows(f, n, &v, shift, &I), show_rows(f, n, &v, first_row);
    give_way(f, node, kind, &v, &I);
    store_inertia(&I, all + CAL_LOOP_INERTIA * (size_t)n);
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

CAL_WIDE static void compute_fronts(cal_loop_factor* f, const cal_node_motion* motions, const cal_row* rows,
                                    const int32_t* first_row, double shift) {
    const cal_model* model = f->model;
    for (int n = 0; n < model->node_count; n++) place_node(f, n, motions);
    for (int n = model->node_count - 1; n >= 0; n--) {
        const int kind = model->nodes[n].kind;
        const view v = look_at(f, n);
#define COMPUTE(kind, v) compute_front(f, n, kind, v, motions, rows, first_row, shift)
        switch (kind == CAL_REVOLUTE ? shape_of(&v) : SHAPE_OTHER) {
        case SHAPE_OPEN: COMPUTE(CAL_REVOLUTE, view_known(v, 2, 0)); break;
        case SHAPE_CLOSED: COMPUTE(CAL_REVOLUTE, view_known(v, 2, 2)); break;
        case SHAPE_BETWEEN: COMPUTE(CAL_REVOLUTE, view_known(v, 4, 2)); break;
        case SHAPE_ANY: COMPUTE(CAL_REVOLUTE, v); break;
        default: COMPUTE(kind, v);
        }
#undef COMPUTE
    }
    const int ground = model->node_count;
    const view v = look_at(f, ground);
    if (v.rows == 0) return;
    memset(v.at->E, 0, (size_t)(v.at->c - v.at->E) * sizeof(double));
    for (int c = f->fronts[ground].child; c >= 0; c = f->fronts[c].next)
        if (f->fronts[c].rows > f->fronts[c].closed) pull_rows(f, c, &v);
    close_rows(f, ground, &v, shift, NULL);
    show_rows(f, ground, &v, first_row);
}

// --- Loads -------------------------------------------------------------------------------------------------------------------

// What rigid bodies' motions ask for about their origins: f⁰ = m a + α × h + ω × (ω × h), n⁰ = h × a + J α + ω × J ω.
CAL_WIDE_INLINE void load_all(cal_loop_factor* f, const cal_node_motion* motions, const double* accelerations) {
    const cal_four gravity = cal_load_three(f->model->gravity);
    for (int n = 0; n < f->model->node_count; n++) {
        const double *own = f->own + CAL_LOOP_OWN * (size_t)n, *speed = motions[n].angular,
                     *faster = accelerations + SIX * (size_t)n;
        double* p = f->load + EIGHT * (size_t)n;
        const cal_four J[3] = {cal_load_four(own), cal_load_four(own + 4), cal_load_four(own + 8)};
        const cal_four h = cal_load_four(own + 12), w = cal_load_four(speed), al = cal_load_four(faster),
                       beside = cal_load_four(faster + 2), a = CAL_SHUFFLE(beside, beside, 1, 2, 3, 0) - gravity;
        const cal_four turn = combine(J, speed[0], speed[1], speed[2]),
                       spin = combine(J, faster[0], faster[1], faster[2]);
        cal_store_four(cal_cross_four(h, a) + spin + cal_cross_four(w, turn), p);
        cal_store_four(a * f->model->nodes[n].mass + cal_cross_four(al, h) + cal_cross_four(w, cal_cross_four(w, h)),
                       p + 4);
    }
}

// Functions of several sets of instructions pass no vectors by value: what does so is called by them.
CAL_WIDE static void load_fronts(cal_loop_factor* f, const cal_node_motion* motions, const double* accelerations) {
    load_all(f, motions, accelerations);
}

void cal_loop_factor_push(cal_loop_factor* f, int node, const double force[3], const double torque[3]) {
    double* p = f->load + EIGHT * (size_t)node;
    for (int i = 0; i < 3; i++) p[i] -= torque[i], p[4 + i] -= force[i];
}

// --- Solving -----------------------------------------------------------------------------------------------------------------

// p and c of a front that is closed: rows' demands as far as they are known.
CAL_WIDE_INLINE void demand(cal_loop_factor* f, int n, const view* v, const int32_t* first_row, const double* right,
                            cal_four* p) {
    const cal_loop_front* front = &f->fronts[n];
    const int k = v->rows;
    for (int i = front->first; i < front->first + front->count && f->at[i] < v->closed; i++) {
        const int constraint = f->list[i], first = first_row[constraint];
        for (int r = 0; r < f->size[constraint]; r++)
            v->at->c[f->at[i] + r] = (first < 0 ? 0.0 : right[first + r]) - v->at->c[f->at[i] + r];
    }
    for (int t = 0; t < front->kept; t++) {
        const double *g = v->at->G + (size_t)t * (size_t)(k + EIGHT), *e = g + k;
        const int pivot = v->at->pivots[t];
        const double z = v->at->z[t] = v->at->c[pivot] / g[pivot];
        for (int i = 0; i < v->closed; i++) v->at->c[i] -= g[i] * z;
        for (int i = v->closed; i < k; i++) v->at->c[i] += g[i] * z;
        if (p) add8(p, -z, e);
    }
}

// λ of the rows that are closed here; a: NULL on the ground.
CAL_WIDE_INLINE void answer(cal_loop_factor* f, int n, const view* v, const int32_t* first_row, const cal_four* a,
                            double* lambda) {
    const cal_loop_front* front = &f->fronts[n];
    const int k = v->rows;
    for (int i = 0; i < v->closed; i++) v->at->lambda[i] = 0.0;
    for (int t = front->kept - 1; t >= 0; t--) {
        const double *g = v->at->G + (size_t)t * (size_t)(k + EIGHT), *e = g + k;
        const int pivot = v->at->pivots[t];
        double sum = v->at->z[t] - (a ? dot8(e, a) : 0.0);
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
    const view from = look_at(f, child);
    const int32_t* above = f->above + f->fronts[child].first_above - from.closed;
    for (int r = from.closed; r < from.rows; r++) to->at->c[above[r]] += from.at->c[r];
}

CAL_WIDE_INLINE void inbound(cal_loop_factor* f, int n, int kind, view v, const int32_t* first_row, const double* right,
                             bool loaded) {
    const int degrees = cal_kind_v(kind);
    const size_t first_v = (size_t)f->model->nodes[n].first_v, first = SIX * first_v;
    const double *V = f->give + EIGHT * first_v, *S = f->tree->axes + first;
    double *eta = f->share + first_v, *bias = f->bias + EIGHT * (size_t)n;
    cal_four p[2] = {{0.0}, {0.0}};
    if (loaded) load8(f->load + EIGHT * (size_t)n, p);
    for (int r = 0; r < v.rows; r++) v.at->c[r] = 0.0;
    for (int c = f->fronts[n].child; c >= 0; c = f->fronts[c].next) {
        carry(f->tree->arm + 3 * (size_t)c, f->bias + EIGHT * (size_t)c, p);
        if (f->fronts[c].rows > f->fronts[c].closed) pull_demand(f, c, &v);
    }
    if (v.closed > 0) demand(f, n, &v, first_row, right, p);
    store8(p, bias);
    for (int d = 0; d < degrees; d++) {
        const double pushed = along(kind, S + SIX * d, bias);
        eta[d] = loaded ? f->forces[first_v + (size_t)d] - pushed : -pushed;
    }
    divide(f->root + first, degrees, eta);
    for (int d = 0; d < degrees; d++) {
        for (int r = v.closed; r < v.rows; r++) v.at->c[r] += v.at->y[SIX * r + d] * eta[d];
        add8(p, eta[d], V + EIGHT * d);
    }
    store8(p, bias);
}

CAL_WIDE_INLINE void outbound(cal_loop_factor* f, int n, int kind, view v, const int32_t* first_row, double* lambda,
                              double* u) {
    const cal_loop_front* front = &f->fronts[n];
    const int degrees = cal_kind_v(kind);
    const size_t first_v = (size_t)f->model->nodes[n].first_v, first = SIX * first_v;
    const double *S = f->tree->axes + first, *V = f->give + EIGHT * first_v,
                 *lambda_above = look_at(f, front->parent).at->lambda;
    const int32_t* rows_above = f->above + front->first_above - v.closed;
    cal_four a[2];
    double rate[SIX];
    load8(f->motion + EIGHT * (size_t)front->parent, a);
    a[1] += cal_cross_four(a[0], cal_load_four(f->tree->arm + 3 * (size_t)n));
    for (int r = v.closed; r < v.rows; r++) v.at->lambda[r] = lambda_above[rows_above[r]];
    for (int d = 0; d < degrees; d++) {
        rate[d] = f->share[first_v + (size_t)d] - dot8(V + EIGHT * d, a);
        for (int r = v.closed; r < v.rows; r++) rate[d] += v.at->y[SIX * r + d] * v.at->lambda[r];
    }
    divide_transposed(f->root + first, degrees, rate);
    for (int d = 0; d < degrees; d++) {
        u[first_v + (size_t)d] = rate[d];
        a[0] += cal_load_four(S + SIX * d) * rate[d];
        if (kind != CAL_REVOLUTE) a[1] += cal_load_three(S + SIX * d + 3) * rate[d];
    }
    store8(a, f->motion + EIGHT * (size_t)n);
    if (v.closed > 0) answer(f, n, &v, first_row, a, lambda);
}

CAL_WIDE_INLINE void go_inbound(cal_loop_factor* f, const int32_t* first_row, const double* right, bool loaded) {
    for (int n = f->model->node_count - 1; n >= 0; n--) {
        const int kind = f->model->nodes[n].kind;
        const view v = look_at(f, n);
        switch (kind == CAL_REVOLUTE ? shape_of(&v) : SHAPE_OTHER) {
        case SHAPE_OPEN: inbound(f, n, CAL_REVOLUTE, view_known(v, 2, 0), first_row, right, loaded); break;
        case SHAPE_CLOSED: inbound(f, n, CAL_REVOLUTE, view_known(v, 2, 2), first_row, right, loaded); break;
        case SHAPE_BETWEEN: inbound(f, n, CAL_REVOLUTE, view_known(v, 4, 2), first_row, right, loaded); break;
        case SHAPE_ANY: inbound(f, n, CAL_REVOLUTE, v, first_row, right, loaded); break;
        default: inbound(f, n, kind, v, first_row, right, loaded);
        }
    }
}

CAL_WIDE_INLINE void go_outbound(cal_loop_factor* f, const int32_t* first_row, double* lambda, double* u) {
    for (int n = 0; n < f->model->node_count; n++) {
        const int kind = f->model->nodes[n].kind;
        const view v = look_at(f, n);
        switch (kind == CAL_REVOLUTE ? shape_of(&v) : SHAPE_OTHER) {
        case SHAPE_OPEN: outbound(f, n, CAL_REVOLUTE, view_known(v, 2, 0), first_row, lambda, u); break;
        case SHAPE_CLOSED: outbound(f, n, CAL_REVOLUTE, view_known(v, 2, 2), first_row, lambda, u); break;
        case SHAPE_BETWEEN: outbound(f, n, CAL_REVOLUTE, view_known(v, 4, 2), first_row, lambda, u); break;
        case SHAPE_ANY: outbound(f, n, CAL_REVOLUTE, v, first_row, lambda, u); break;
        default: outbound(f, n, kind, v, first_row, lambda, u);
        }
    }
}

CAL_WIDE static void solve_fronts(cal_loop_factor* f, const int32_t* first_row, const double* right, bool loaded,
                                  double* lambda, double* u) {
    const cal_model* model = f->model;
    const int ground = model->node_count;
    if (loaded)
        go_inbound(f, first_row, right, true);
    else
        go_inbound(f, first_row, right, false);
    const view v = look_at(f, ground);
    memset(f->motion + EIGHT * (size_t)ground, 0, EIGHT * sizeof(double));
    if (v.rows > 0) {
        for (int r = 0; r < v.rows; r++) v.at->c[r] = 0.0;
        for (int c = f->fronts[ground].child; c >= 0; c = f->fronts[c].next)
            if (f->fronts[c].rows > f->fronts[c].closed) pull_demand(f, c, &v);
        demand(f, ground, &v, first_row, right, NULL);
        answer(f, ground, &v, first_row, NULL, lambda);
    }
    go_outbound(f, first_row, lambda, u);
}

void cal_loop_factor_forces(cal_loop_factor* f, const cal_node_motion* motions, const double* u, double* tau) {
    const cal_model* model = f->model;
    const cal_mass_factor* tree = f->tree;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
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
        for (int i = 0; i < 3; i++) {
            own[i] = a[i], own[4 + i] = a[3 + i];
            force[i] = dot6(I + SIX * i, a), force[4 + i] = dot6(I + SIX * (3 + i), a);
        }
    }
    for (int n = model->node_count - 1; n >= 0; n--) {
        const cal_node* node = &model->nodes[n];
        double* force = f->bias + EIGHT * (size_t)n;
        cal_four sum[2];
        load8(force, sum);
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c))
            carry(tree->arm + 3 * (size_t)c, f->bias + EIGHT * (size_t)c, sum);
        store8(sum, force);
        for (int d = 0; d < cal_kind_v(node->kind); d++)
            tau[node->first_v + d] +=
                along(node->kind, tree->axes + (size_t)(SIX * (node->first_v + d)), force) +
                (node->armature + (tree->added ? tree->added[node->first_v + d] : 0.0)) * u[node->first_v + d];
    }
}

// What is compiled several times is not called from other files (base/wide.h).
void cal_loop_factor_compute(cal_loop_factor* f, const cal_node_motion* motions, const cal_row* rows,
                             const int32_t* first_row, double shift) {
    compute_fronts(f, motions, rows, first_row, shift);
}

void cal_loop_factor_load(cal_loop_factor* f, const cal_node_motion* motions, const double* accelerations,
                          const double* forces) {
    f->forces = forces;
    load_fronts(f, motions, accelerations);
}

void cal_loop_factor_solve(cal_loop_factor* f, const int32_t* first_row, const double* right, bool loaded,
                           double* lambda, double* u) {
    solve_fronts(f, first_row, right, loaded, lambda, u);
}
