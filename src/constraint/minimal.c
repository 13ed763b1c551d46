// Constrained motion in as many accelerations as there are degrees of freedom left (minimal.h).
#include "constraint/minimal.h"
#include "base/memory.h"
#include "machine/machine.h"
#include <math.h>
#include <string.h>

void cal_minimal_destroy(cal_minimal* minimal) {
    if (!minimal) return;
    cal_state_destroy(minimal->state);
    cal_plan_destroy(minimal->plan);
    cal_machine_destroy(minimal->machine);
    void* arrays[] = {
        minimal->tree_of_node, minimal->tree_of_dof, minimal->part_of_tree, minimal->parts,    minimal->dofs,
        minimal->rows,         minimal->inertia,     minimal->unit,         minimal->row,      minimal->length,
        minimal->scale,        minimal->right,       minimal->columns,      minimal->diagonal, minimal->factor,
        minimal->order,        minimal->line,        minimal->sums,         minimal->u,        minimal->force,
        minimal->motion};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(minimal);
}

static bool take_memory(cal_minimal* minimal, size_t n, size_t m, size_t nodes) {
    const size_t most = n > m ? n : m;
    double** numbers[] = {&minimal->unit,   &minimal->row,    &minimal->factor, &minimal->u,     &minimal->force,
                          &minimal->motion, &minimal->length, &minimal->scale,  &minimal->right, &minimal->diagonal,
                          &minimal->line,   &minimal->sums,   &minimal->columns};
    const size_t sizes[] = {n, n, n, n, n, n, m, m, m, m, most, most, n * m};
    double** squares[] = {&minimal->mass, &minimal->basis, &minimal->root, &minimal->product};
    const size_t count = sizeof squares / sizeof squares[0];
    bool whole = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        whole = (*numbers[i] = cal_allocate(sizes[i], sizeof(double))) != NULL && whole;
    // In one piece, so that a system that promises more memory than it has refuses it here.
    minimal->inertia = cal_allocate((1 + count) * n * n, sizeof(double));
    for (size_t i = 0; minimal->inertia && i < count; i++) *squares[i] = minimal->inertia + (1 + i) * n * n;
    minimal->tree_of_node = cal_allocate(nodes, sizeof(int32_t));
    minimal->tree_of_dof = cal_allocate(n, sizeof(int32_t));
    minimal->part_of_tree = cal_allocate(nodes, sizeof(int32_t));
    minimal->parts = cal_allocate(nodes, sizeof *minimal->parts);
    minimal->dofs = cal_allocate(n, sizeof(int32_t));
    minimal->rows = cal_allocate(m, sizeof(int32_t));
    minimal->order = cal_allocate(m, sizeof(int32_t));
    return whole && minimal->inertia && minimal->tree_of_node && minimal->tree_of_dof && minimal->part_of_tree &&
           minimal->parts && minimal->dofs && minimal->rows && minimal->order;
}

static void find_trees(cal_minimal* minimal) {
    const cal_model* model = minimal->model;
    for (int i = 0; i < model->node_count; i++) {
        const cal_node* node = &model->nodes[i];
        minimal->tree_of_node[i] = node->parent < 0 ? minimal->tree_count++ : minimal->tree_of_node[node->parent];
        for (int k = 0; k < cal_joint_v_count((cal_joint_kind)node->kind); k++)
            minimal->tree_of_dof[node->first_v + k] = minimal->tree_of_node[i];
    }
}

cal_status cal_minimal_create(const cal_constraints* set, cal_minimal** out) {
    const cal_model* model = set->model;
    cal_minimal* minimal = *out = cal_allocate(1, sizeof *minimal);
    if (!minimal) return CAL_NO_MEMORY;
    minimal->model = model;
    cal_status status = take_memory(minimal, (size_t)model->v_count, (size_t)set->most_rows, (size_t)model->node_count)
                            ? CAL_OK
                            : CAL_NO_MEMORY;
    if (!status) status = cal_machine_serial(1, &minimal->machine, NULL);
    const cal_plan_def def = {.model = model, .program = &cal_program_mass, .machine = minimal->machine, .copies = 1};
    if (!status) status = cal_plan_create_def(&def, &minimal->plan, NULL);
    if (!status) status = cal_state_create(minimal->plan, &minimal->state);
    if (status) {
        cal_minimal_destroy(minimal);
        *out = NULL;
        return status;
    }
    find_trees(minimal);
    return CAL_OK;
}

static double square(const double* a, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; i++) sum += a[i] * a[i];
    return sum;
}

// --- Parts -------------------------------------------------------------------------------------------------------------

static int root_of(int32_t* tree, int i) {
    while (tree[i] != i) i = tree[i] = tree[tree[i]];
    return i;
}

// Degrees of freedom and rows of each part, in the order of the model. What a part needs of arrays is next to what the one before needs.
static void find_parts(cal_minimal* minimal, const cal_constraints* set) {
    int32_t* tree = minimal->part_of_tree;
    for (int i = 0; i < minimal->tree_count; i++) tree[i] = i;
    for (int i = 0; i < set->row_count; i++) {
        const cal_row* row = &set->rows[i];
        for (int k = 1; k < row->node_count; k++) {
            const int a = root_of(tree, minimal->tree_of_node[row->node[0]]),
                      b = root_of(tree, minimal->tree_of_node[row->node[k]]);
            tree[a < b ? b : a] = a < b ? a : b;
        }
    }
    // A root comes before what belongs to it.
    minimal->part_count = 0;
    for (int i = 0; i < minimal->tree_count; i++) {
        if (tree[i] == i) minimal->parts[minimal->part_count] = (cal_minimal_part){0};
        tree[i] = tree[i] == i ? minimal->part_count++ : tree[tree[i]];
    }
    for (int k = 0; k < minimal->model->v_count; k++) minimal->parts[tree[minimal->tree_of_dof[k]]].dof_count++;
    for (int i = 0; i < set->row_count; i++)
        if (set->rows[i].node_count > 0) minimal->parts[tree[minimal->tree_of_node[set->rows[i].node[0]]]].row_count++;
    for (int p = 1; p < minimal->part_count; p++) {
        const cal_minimal_part* last = &minimal->parts[p - 1];
        const size_t n = (size_t)last->dof_count;
        minimal->parts[p].first_dof = last->first_dof + last->dof_count;
        minimal->parts[p].first_row = last->first_row + last->row_count;
        minimal->parts[p].first_column = last->first_column + n * (size_t)last->row_count;
        minimal->parts[p].first_square = last->first_square + n * n;
    }
}

// Which they are: a part's lists are filled again from where they begin.
static void list_parts(cal_minimal* minimal, const cal_constraints* set) {
    const int32_t* part_of = minimal->part_of_tree;
    for (int p = 0; p < minimal->part_count; p++) minimal->parts[p].dof_count = minimal->parts[p].row_count = 0;
    for (int k = 0; k < minimal->model->v_count; k++) {
        cal_minimal_part* part = &minimal->parts[part_of[minimal->tree_of_dof[k]]];
        minimal->dofs[part->first_dof + part->dof_count++] = k;
    }
    for (int i = 0; i < set->row_count; i++) {
        if (set->rows[i].node_count == 0) continue;
        cal_minimal_part* part = &minimal->parts[part_of[minimal->tree_of_node[set->rows[i].node[0]]]];
        minimal->rows[part->first_row + part->row_count++] = i;
    }
}

static cal_free_space space_of(const cal_minimal* minimal, const cal_minimal_part* part) {
    return (cal_free_space){.n = part->dof_count,
                            .m = part->row_count,
                            .rank = part->rank,
                            .columns = minimal->columns + part->first_column,
                            .order = minimal->order + part->first_row,
                            .diagonal = minimal->diagonal + part->first_row,
                            .factor = minimal->factor + part->first_dof,
                            .basis = minimal->basis + part->first_square,
                            .line = minimal->line,
                            .sums = minimal->sums};
}

// --- What their numbers are --------------------------------------------------------------------------------------------

// B in units in which its diagonal is one.
static void measure_mass(cal_minimal* minimal) {
    const size_t n = (size_t)minimal->model->v_count;
    for (size_t i = 0; i < n; i++) minimal->unit[i] = 1.0 / sqrt(minimal->inertia[i * n + i]);
    for (int p = 0; p < minimal->part_count; p++) {
        const cal_minimal_part* part = &minimal->parts[p];
        const int32_t* dofs = minimal->dofs + part->first_dof;
        double* to = minimal->mass + part->first_square;
        for (int i = 0; i < part->dof_count; i++) {
            const double *from = minimal->inertia + (size_t)dofs[i] * n, unit = minimal->unit[dofs[i]];
            for (int j = 0; j < part->dof_count; j++) *to++ = from[dofs[j]] * (unit * minimal->unit[dofs[j]]);
        }
    }
}

// A, in the user's units, and the lengths of its rows and of the moments and forces that they consist of. Returns the longest row, of what it
// consists of.
static double find_rows(cal_minimal* minimal, cal_constraints* set, const cal_minimal_part* part) {
    const int32_t *dofs = minimal->dofs + part->first_dof, *rows = minimal->rows + part->first_row;
    double *columns = minimal->columns + part->first_column, *a = minimal->row, longest = 0.0;
    for (int r = 0; r < part->row_count; r++) {
        const cal_row* row = &set->rows[rows[r]];
        memset(a, 0, (size_t)minimal->model->v_count * sizeof *a);
        cal_mass_factor_add(&set->tree, row, 1.0);
        cal_mass_factor_joint_forces(&set->tree, a);
        double size = 0.0, length = 0.0;
        for (int k = 0; k < row->node_count; k++)
            size += cal_dot3(row->moment[k], row->moment[k]) + cal_dot3(row->force[k], row->force[k]);
        for (int k = 0; k < part->dof_count; k++) {
            columns[(size_t)k * (size_t)part->row_count + (size_t)r] = a[dofs[k]];
            length += a[dofs[k]] * a[dofs[k]];
        }
        minimal->scale[rows[r]] = sqrt(size);
        minimal->length[rows[r]] = sqrt(length);
        if (size > 0.0) longest = fmax(longest, sqrt(length) / sqrt(size));
    }
    return longest;
}

// Its rows in units of its degrees of freedom, of length one.
static void measure_rows(cal_minimal* minimal, const cal_constraints* set, const cal_minimal_part* part, double longest,
                         const double* unit) {
    const int32_t *dofs = minimal->dofs + part->first_dof, *rows = minimal->rows + part->first_row;
    const size_t stride = (size_t)part->row_count;
    for (int r = 0; r < part->row_count; r++) {
        const int i = rows[r];
        double *column = minimal->columns + part->first_column + r, length = 0.0;
        // Else it is one that nothing in the mechanism can move.
        const double least = sqrt(CAL_ROW_ROUNDING) * longest * minimal->scale[i],
                     noise = sqrt(cal_row_noise(&set->rounding, &set->rows[i], -1, set->at_q, NULL, NULL));
        const bool moves = minimal->length[i] > least && minimal->length[i] > noise;
        for (int k = 0; k < part->dof_count; k++) {
            column[(size_t)k * stride] *= unit[dofs[k]];
            length += column[(size_t)k * stride] * column[(size_t)k * stride];
        }
        minimal->scale[i] = moves ? 1.0 / sqrt(length) : 0.0;
        for (int k = 0; k < part->dof_count; k++) column[(size_t)k * stride] *= minimal->scale[i];
        minimal->order[part->first_row + r] = r;
    }
}

// --- Motion ------------------------------------------------------------------------------------------------------------

static void hold_part(cal_minimal* minimal, cal_constraints* set, cal_minimal_part* part, double threshold) {
    const int32_t* rows = minimal->rows + part->first_row;
    double *u = minimal->u + part->first_dof, *force = minimal->force + part->first_dof,
           *mass = minimal->mass + part->first_square, *root = minimal->root + part->first_square;
    cal_free_space space = space_of(minimal, part);
    cal_free_space_factor(&space, threshold);
    part->rank = space.rank;
    cal_free_space_find_basis(&space);
    if (part->rank == 0) { // nothing holds it
        memset(u, 0, (size_t)part->dof_count * sizeof *u);
        memset(force, 0, (size_t)part->dof_count * sizeof *force);
        return;
    }
    for (int r = 0; r < part->row_count; r++) minimal->right[r] = set->right[rows[r]] * minimal->scale[rows[r]];
    cal_free_space_solve(&space, minimal->right, u);
    cal_free_space_reduce(&space, mass, minimal->product, root);
    cal_free_space_multiply(mass, part->dof_count, u, force);
    cal_free_space_relax(&space, root, force, u);
    cal_free_space_multiply(mass, part->dof_count, u, force);
}

// --- Masses that are far apart -------------------------------------------------------------------------------------------

// A row of which this much is left beside others in the lengths of the mechanism does not follow from them, whatever the masses.
static const double PLAINLY = 1e-3;

// The first row of a part that was suppressed although something could move it, −1: none.
static int find_suppressed(const cal_minimal* minimal, const cal_minimal_part* part) {
    for (int k = part->rank; k < part->row_count; k++) {
        const int i = minimal->rows[part->first_row + minimal->order[part->first_row + k]];
        if (minimal->scale[i] > 0.0) return i;
    }
    return -1;
}

// By what the units of a part's degrees of freedom differ. Of a row no more than so many times less is left beside others than in lengths.
static double compare_units(const cal_minimal* minimal, const cal_minimal_part* part) {
    const int32_t* dofs = minimal->dofs + part->first_dof;
    double least = (double)INFINITY, largest = 0.0;
    for (int k = 0; k < part->dof_count; k++) {
        least = fmin(least, minimal->unit[dofs[k]]);
        largest = fmax(largest, minimal->unit[dofs[k]]);
    }
    return largest / least;
}

// A row that is independent of others in lengths but was suppressed, −1: there is none. What a part's rows have become is not needed any more.
static int find_missed(cal_minimal* minimal, cal_constraints* set, const cal_minimal_part* part, double threshold) {
    const int suppressed = find_suppressed(minimal, part);
    if (suppressed < 0 || compare_units(minimal, part) * threshold < PLAINLY) return -1;
    const cal_model* model = minimal->model;
    double* unit = set->effort;
    for (int n = 0; n < model->node_count; n++)
        for (int k = 0; k < cal_kind_v(model->nodes[n].kind); k++) {
            const bool slides = model->nodes[n].kind == CAL_PRISMATIC || (model->nodes[n].kind == CAL_FREE && k < 3);
            unit[model->nodes[n].first_v + k] = slides ? 1.0 : 1.0 / set->length;
        }
    measure_rows(minimal, set, part, find_rows(minimal, set, part), unit);
    cal_free_space space = space_of(minimal, part);
    cal_free_space_factor(&space, PLAINLY);
    return space.rank > part->rank ? suppressed : -1;
}

cal_status cal_minimal_hold(cal_minimal* minimal, cal_constraints* set, const double* q, const double* v,
                            const double* qdd, cal_stabilization law, double gain, double shift, double* tau) {
    cal_status status = cal_state_set(minimal->state, CAL_Q, q);
    if (!status) status = cal_plan_execute(minimal->plan, minimal->state, NULL);
    if (!status) status = cal_state_get(minimal->state, CAL_MASS, minimal->inertia);
    if (status) return status;
    cal_constraints_evaluate(set, q, v);
    cal_constraints_factor_mass(set);
    cal_constraints_demand(set, v, qdd, law, gain, NULL);
    find_parts(minimal, set);
    list_parts(minimal, set);
    measure_mass(minimal);
    double longest = 0.0;
    for (int p = 0; p < minimal->part_count; p++) longest = fmax(longest, find_rows(minimal, set, &minimal->parts[p]));
    minimal->freedom = minimal->model->v_count;
    for (int p = 0; p < minimal->part_count; p++) {
        measure_rows(minimal, set, &minimal->parts[p], longest, minimal->unit);
        hold_part(minimal, set, &minimal->parts[p], sqrt(shift));
        minimal->freedom -= minimal->parts[p].rank;
    }
    for (int k = 0; k < minimal->model->v_count; k++) {
        const int dof = minimal->dofs[k];
        tau[dof] += minimal->force[k] / minimal->unit[dof];
        minimal->motion[dof] = minimal->u[k] * minimal->unit[dof];
    }
    minimal->missed = CAL_NONE;
    for (int p = 0; p < minimal->part_count && minimal->missed == CAL_NONE; p++) {
        const int row = find_missed(minimal, set, &minimal->parts[p], sqrt(shift));
        if (row >= 0) minimal->missed = set->rows[row].constraint;
    }
    return minimal->missed == CAL_NONE ? CAL_OK : CAL_NOT_AVAILABLE;
}

// --- What is shown -----------------------------------------------------------------------------------------------------

// Column c of a part's S in the user's units, orthogonal to those before it by Gram and Schmidt's method; twice, so that what rounding leaves
// is rounding of the result. s: where it goes, behind `before` others of the same part, v_count numbers each.
static void show_column(const cal_minimal* minimal, const cal_minimal_part* part, int c, double* s, int before) {
    const int n = part->dof_count, free = n - part->rank, stride = minimal->model->v_count;
    const int32_t* dofs = minimal->dofs + part->first_dof;
    const double* basis = minimal->basis + part->first_square;
    memset(s, 0, (size_t)stride * sizeof *s);
    for (int k = 0; k < n; k++) s[dofs[k]] = basis[(size_t)k * (size_t)free + (size_t)c] * minimal->unit[dofs[k]];
    for (int again = 0; again < 2; again++) {
        for (int b = before; b > 0; b--) {
            const double* other = s - (size_t)b * (size_t)stride;
            double share = 0.0;
            for (int k = 0; k < n; k++) share += s[dofs[k]] * other[dofs[k]];
            for (int k = 0; k < n; k++) s[dofs[k]] -= share * other[dofs[k]];
        }
        const double over = 1.0 / sqrt(square(s, stride));
        for (int k = 0; k < n; k++) s[dofs[k]] *= over;
    }
}

void cal_minimal_show(cal_minimal* minimal, double* basis, double* mass) {
    const int n = minimal->model->v_count, freedom = minimal->freedom;
    double* shown = minimal->product;
    if (mass) memset(mass, 0, (size_t)freedom * (size_t)freedom * sizeof *mass);
    int first = 0;
    for (int p = 0; p < minimal->part_count; p++) {
        const int free = minimal->parts[p].dof_count - minimal->parts[p].rank;
        for (int c = 0; c < free; c++) {
            double* s = shown + (size_t)(first + c) * (size_t)n;
            show_column(minimal, &minimal->parts[p], c, s, c);
            if (!mass) continue;
            cal_free_space_multiply(minimal->inertia, n, s, minimal->motion);
            for (int b = 0; b <= c; b++) {
                const double* other = shown + (size_t)(first + b) * (size_t)n;
                double sum = 0.0;
                for (int k = 0; k < n; k++) sum += other[k] * minimal->motion[k];
                mass[(size_t)(first + c) * (size_t)freedom + (size_t)(first + b)] = sum;
                mass[(size_t)(first + b) * (size_t)freedom + (size_t)(first + c)] = sum;
            }
        }
        first += free;
    }
    if (basis) memcpy(basis, shown, (size_t)freedom * (size_t)n * sizeof *basis);
}
