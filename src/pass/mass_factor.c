// The factored mass matrix of a tree (mass_factor.h): the program that factors it, and what is done with the factors. Inbound
// each node adds what its children left, in the order of the tree, and writes only its own numbers.
#include "pass/mass_answers_body.h"
#include "base/memory.h"
#include "math/four.h"
#include <math.h>
#include <string.h>

cal_status cal_mass_factor_create(const cal_model* model, cal_mass_factor* out) {
    const size_t degrees = (size_t)model->v_count, nodes = (size_t)model->node_count;
    *out = (cal_mass_factor){.model = model,
                             .axes = cal_allocate(SIX * degrees, sizeof(double)),
                             .response = cal_allocate(SIX * degrees, sizeof(double)),
                             .root = cal_allocate(SIX * degrees, sizeof(double)),
                             .inertia = cal_allocate(SQUARE * nodes, sizeof(double)),
                             .arm = cal_allocate(3 * nodes + 1, sizeof(double)), // read four at a time
                             .wrench = cal_allocate(SIX * nodes, sizeof(double)),
                             .motion = cal_allocate(SIX * nodes, sizeof(double)),
                             .share = cal_allocate(degrees, sizeof(double)),
                             .after = cal_allocate(nodes, sizeof(int32_t)),
                             .first_v = cal_allocate(nodes, sizeof(int32_t)),
                             .joints = cal_allocate(nodes, sizeof *out->joints)};
    out->in_order = degrees == nodes;
    for (size_t n = 0; out->first_v && n < nodes; n++) {
        out->first_v[n] = model->nodes[n].first_v;
        out->in_order = out->in_order && (size_t)out->first_v[n] == n;
    }
    if (out->axes && out->response && out->root && out->inertia && out->arm && out->wrench && out->motion &&
        out->share && out->after && out->first_v && out->joints)
        return CAL_OK;
    cal_mass_factor_destroy(out);
    return CAL_NO_MEMORY;
}

void cal_mass_factor_destroy(cal_mass_factor* tree) {
    double* arrays[] = {tree->axes, tree->response, tree->root,   tree->inertia,
                        tree->arm,  tree->wrench,   tree->motion, tree->share};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(tree->after);
    cal_free(tree->joints);
    cal_free(tree->first_v);
    *tree = (cal_mass_factor){0};
}

static int keep_nothing(int kind) {
    (void)kind;
    return 0;
}

static const cal_pass passes[] = {
    {.name = "mass.factor", .direction = CAL_INBOUND, .kernels = CAL_VARIANTS_OF(cal_mass_factor_kernel)}};
const cal_program cal_program_mass_factor = {.name = "mass.factor",
                                             .help = "the mass matrix, factored",
                                             .walked = true,
                                             .record = keep_nothing,
                                             .passes = passes,
                                             .pass_count = 1};

// --- Factors of an execution of aba --------------------------------------------------------------------------------------

bool cal_mass_factor_is_shared(const cal_model* model) {
    for (int n = 0; n < model->node_count; n++)
        if (cal_kind_v(model->nodes[n].kind) != 1) return false;
    return true;
}

// V = U C; numbers of a lane are `width` apart.
CAL_WIDE_INLINE void take_node(cal_mass_factor* tree, int n, int slides, const double* record, const double* response,
                               double C, size_t width) {
    const size_t first = (size_t)(SIX * tree->first_v[n]);
    double *S = tree->axes + first, *V = tree->response + first, *arm = tree->arm + 3 * (size_t)n;
    for (size_t i = 0; i < 3; i++) {
        S[(size_t)slides + i] = record[(CAL_ABA_Z + i) * width], S[(size_t)(3 - slides) + i] = 0.0;
        arm[i] = record[(CAL_ABA_D + i) * width];
    }
    for (size_t i = 0; i < SIX; i++) V[i] = response[i * width] * C;
    tree->root[first] = C;
}

// slides: 3 for joints that slide, 0 for those that turn.
CAL_WIDE_INLINE void take_column(cal_mass_factor* tree, const cal_context* context, const cal_column* column,
                                 int slides, size_t width) {
    const size_t record = (size_t)cal_aba_record(column->kind);
    for (size_t b = 0; b < (size_t)column->block_count; b++) {
        const size_t block = (size_t)column->first_block + b;
        const double *own = context->records + column->record + b * record * width,
                     *response = context->responses + block * CAL_ABA_RESPONSE * width;
        double C[CAL_MAX_LANES]; // √D⁻¹
        for (size_t l = 0; l < width; l++) C[l] = sqrt(response[CAL_ABA_OVER * width + l]);
        for (size_t l = 0; l < width; l++) {
            const int32_t n = context->layout->block_nodes[block * width + l];
            if (n >= 0) take_node(tree, n, slides, own + l, response + l, C[l], width);
        }
    }
}

CAL_WIDE_INLINE void take_columns(cal_mass_factor* tree, const cal_context* context, size_t width) {
    const cal_layout* layout = context->layout;
    for (int i = 0; i < layout->column_count; i++) {
        if (layout->columns[i].kind == CAL_PRISMATIC)
            take_column(tree, context, &layout->columns[i], 3, width);
        else
            take_column(tree, context, &layout->columns[i], 0, width);
    }
}

// With widths that a compiler knows.
CAL_WIDE static void take_mass_factors(cal_mass_factor* tree, const cal_context* context) {
    switch (context->layout->width) {
    case 1: take_columns(tree, context, 1); break;
    case 2: take_columns(tree, context, 2); break;
    case 4: take_columns(tree, context, 4); break;
    case 8: take_columns(tree, context, 8); break;
    default: take_columns(tree, context, (size_t)context->layout->width);
    }
}

void cal_mass_factor_take(cal_mass_factor* tree, const cal_context* context) {
    take_mass_factors(tree, context);
    tree->given = NULL;
}

void cal_mass_factor_borrow(cal_mass_factor* tree, const cal_context* context) {
    tree->given = context;
    if (tree->listed == context) return;
    const cal_layout* layout = context->layout;
    const size_t width = (size_t)layout->width;
    tree->listed = context;
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        const size_t record = (size_t)cal_aba_record(column->kind) * width;
        for (size_t k = 0; k < (size_t)column->block_count * width; k++) {
            const size_t b = k / width, l = k % width, block = (size_t)column->first_block + b;
            const int32_t n = layout->block_nodes[block * width + l];
            if (n >= 0)
                tree->joints[n] = (cal_joint_numbers){context->records + column->record + b * record + l,
                                                      context->responses + block * CAL_ABA_RESPONSE * width + l};
        }
    }
}

// A block at a time; C⁻¹ = √D⁻¹.
CAL_WIDE_INLINE void give_shares(const cal_mass_factor* tree, const cal_context* context, size_t width,
                                 const double* share, int first, int end) {
    const cal_layout* layout = context->layout;
    for (int i = first; i < end; i++) {
        const cal_column* column = &layout->columns[i];
        const size_t record = (size_t)cal_aba_record(column->kind) * width;
        const bool straight = tree->in_order && column->is_long; // nodes of a chain follow each other
        for (size_t b = 0; b < (size_t)column->block_count; b++) {
            const size_t block = (size_t)column->first_block + b;
            const int32_t* nodes = layout->block_nodes + block * width;
            const double* over = context->responses + (block * CAL_ABA_RESPONSE + CAL_ABA_OVER) * width;
            double *k = context->records + column->record + b * record + CAL_ABA_K * width, own[CAL_MAX_LANES] = {0.0};
            const double* from = own;
            if (straight && nodes[width - 1] >= 0)
                from = share + nodes[0];
            else
                for (size_t l = 0; l < width; l++)
                    if (nodes[l] >= 0) own[l] = share[tree->first_v[nodes[l]]];
            for (size_t l = 0; l < width; l++) k[l] += sqrt(over[l]) * from[l];
        }
    }
}

// With widths that a compiler knows.
CAL_WIDE static void give_mass_shares(const cal_mass_factor* tree, const cal_context* context, const double* share,
                                      int first, int end) {
    if (context->layout->width == 8)
        give_shares(tree, context, 8, share, first, end);
    else if (context->layout->width == 4)
        give_shares(tree, context, 4, share, first, end);
    else
        give_shares(tree, context, (size_t)context->layout->width, share, first, end);
}

void cal_mass_factor_give_shares(const cal_mass_factor* tree, const cal_context* context, const double* share, int part,
                                 int parts) {
    const int64_t columns = context->layout->column_count;
    give_mass_shares(tree, context, share, (int)(columns * part / parts), (int)(columns * (part + 1) / parts));
}

// --- Solving ---------------------------------------------------------------------------------------------------------

void cal_mass_factor_axes(const cal_node* node, const double rotation[9], double* out) {
    list_axes(node, rotation, out);
}

// ((tr Σ − Σ, h×), (−h×, m)).
void cal_mass_factor_own(const cal_node* node, const double R[9], double* out) {
    const double* s = node->second_moment;
    const double sigma[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
    double turned[9], world[9], h[3];
    cal_multiply33(R, sigma, turned);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) world[3 * i + j] = cal_dot3(&turned[3 * i], &R[3 * j]);
    const double trace = world[0] + world[4] + world[8];
    cal_rotate3(R, node->moment, h);
    const double cross[9] = {0.0, -h[2], h[1], h[2], 0.0, -h[0], -h[1], h[0], 0.0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out[SIX * i + j] = (i == j ? trace : 0.0) - world[3 * i + j];
            out[SIX * i + 3 + j] = cross[3 * i + j];
            out[SIX * (3 + i) + j] = -cross[3 * i + j];
            out[SIX * (3 + i) + 3 + j] = i == j ? node->mass : 0.0;
        }
}

void cal_mass_factor_add(cal_mass_factor* tree, const cal_row* row, double factor) {
    for (int i = 0; i < row->node_count; i++) {
        double* wrench = tree->wrench + SIX * (size_t)row->node[i];
        for (int k = 0; k < 3; k++) {
            wrench[k] += factor * row->moment[i][k];
            wrench[3 + k] += factor * row->force[i][k];
        }
    }
}

// Adds what a child passes on to its parent's wrench.
CAL_WIDE_INLINE void pull_wrench(const cal_mass_factor* tree, int child, double* wrench) {
    const double *passed = tree->motion + SIX * (size_t)child, *f = passed + 3, *s = tree->arm + 3 * (size_t)child;
    wrench[0] += passed[0] + (s[1] * f[2] - s[2] * f[1]);
    wrench[1] += passed[1] + (s[2] * f[0] - s[0] * f[2]);
    wrench[2] += passed[2] + (s[0] * f[1] - s[1] * f[0]);
    for (int i = 0; i < 3; i++) wrench[3 + i] += f[i];
}

// y of one node; its wrench then holds what goes on.
CAL_WIDE_INLINE void take_share(const cal_mass_factor* tree, const cal_node* node, int degrees, double* wrench,
                                double* y) {
    const size_t first = (size_t)(SIX * node->first_v);
    for (int k = 0; k < degrees; k++) y[k] = dot6(tree->axes + first + SIX * k, wrench);
    cal_root_divide(tree->root + first, degrees, y);
    for (int k = 0; k < degrees; k++)
        for (int i = 0; i < SIX; i++) wrench[i] -= tree->response[first + (size_t)(SIX * k + i)] * y[k];
}

// Takes a node's own wrench, which becomes zero.
CAL_WIDE_INLINE void take_wrench(cal_mass_factor* tree, int n, double* out) {
    double* own = tree->wrench + SIX * (size_t)n;
    for (int i = 0; i < SIX; i++) out[i] = own[i], own[i] = 0.0;
}

CAL_WIDE_INLINE void take_any_share(const cal_mass_factor* tree, const cal_node* node, double* wrench, double* y) {
    const int degrees = cal_kind_v(node->kind);
    if (degrees == 1)
        take_share(tree, node, 1, wrench, y);
    else
        take_share(tree, node, degrees, wrench, y);
}

CAL_WIDE static void take_mass_inbound(cal_mass_factor* tree) {
    const cal_model* model = tree->model;
    for (int n = model->node_count - 1; n >= 0; n--) {
        double wrench[SIX];
        take_wrench(tree, n, wrench);
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c)) pull_wrench(tree, c, wrench);
        take_any_share(tree, &model->nodes[n], wrench, tree->share + model->nodes[n].first_v);
        memcpy(tree->motion + SIX * (size_t)n, wrench, sizeof wrench);
    }
}

// X Ω Xᵀ: what a wrench on a node's own origin does there when its joint is locked; zero for a root. A motion of the parent is
// carried along the arm, v + ω × arm, and so is what a wrench has there.
static void carry_response(const cal_mass_factor* tree, int n, double* out) {
    const int parent = tree->model->nodes[n].parent;
    const double *arm = tree->arm + 3 * (size_t)n, *above = tree->inertia + SQUARE * (size_t)(parent < 0 ? 0 : parent);
    memset(out, 0, SQUARE * sizeof *out);
    if (parent < 0) return;
    double carried[SQUARE] = {0};
    for (int side = 0; side < 2; side++) {
        const double* from = side ? carried : above;
        double* to = side ? out : carried;
        // Columns of Ω are motions, and so are its rows: it is symmetric.
        for (int k = 0; k < SIX; k++) {
            const double angular[3] = {from[k], from[SIX + k], from[2 * SIX + k]};
            double lever[3];
            cal_cross3(angular, arm, lever);
            for (int i = 0; i < 3; i++) {
                to[SIX * k + i] = angular[i];
                to[SIX * k + 3 + i] = from[SIX * (3 + i) + k] + lever[i];
            }
        }
    }
}

void cal_mass_factor_inverse_diagonal(cal_mass_factor* tree, double* out) {
    const cal_model* model = tree->model;
    for (int n = 0; n < model->node_count; n++) {
        const cal_node* node = &model->nodes[n];
        const int degrees = cal_kind_v(node->kind);
        const double *S = tree->axes + (size_t)(SIX * node->first_v),
                     *V = tree->response + (size_t)(SIX * node->first_v);
        const double* C = tree->root + (size_t)(SIX * node->first_v);
        double locked[SQUARE], K[SQUARE] = {0}, left[SQUARE], *own = tree->inertia + SQUARE * (size_t)n;
        carry_response(tree, n, locked);
        for (int i = 0; i < SIX; i++) { // K = V C⁻¹, row by row
            double row[SIX] = {0};
            for (int k = 0; k < degrees; k++) row[k] = V[SIX * k + i];
            cal_root_divide_transposed(C, degrees, row);
            for (int k = 0; k < degrees; k++) K[SIX * k + i] = row[k];
        }
        for (int k = 0; k < degrees; k++) {
            double unit[SIX] = {0}, through[SIX];
            unit[k] = 1.0;
            cal_root_divide(C, degrees, unit);
            cal_root_divide_transposed(C, degrees, unit);
            for (int i = 0; i < SIX; i++) through[i] = dot6(locked + SIX * i, K + SIX * k);
            out[node->first_v + k] = unit[k] + dot6(K + SIX * k, through);
        }
        // (1 − S Kᵀ) Ω (1 − K Sᵀ), one side after the other, and S D⁻¹ Sᵀ.
        for (int i = 0; i < SIX; i++)
            for (int j = 0; j < SIX; j++) {
                left[SIX * i + j] = locked[SIX * i + j];
                for (int k = 0; k < degrees; k++)
                    left[SIX * i + j] -= S[SIX * k + i] * dot6(K + SIX * k, locked + SIX * j);
            }
        for (int i = 0; i < SIX; i++) {
            double row[SIX] = {0};
            for (int k = 0; k < degrees; k++) row[k] = S[SIX * k + i];
            cal_root_divide(C, degrees, row);
            cal_root_divide_transposed(C, degrees, row);
            for (int j = 0; j < SIX; j++) {
                own[SIX * i + j] = left[SIX * i + j];
                for (int k = 0; k < degrees; k++)
                    own[SIX * i + j] += S[SIX * k + j] * (row[k] - dot6(K + SIX * k, left + SIX * i));
            }
        }
    }
}

void cal_mass_factor_spread(const double* own, double* rows) {
    static const int symmetric[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    const double *H = own + 6, *M = own + 15;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            rows[SIX * i + j] += own[symmetric[i][j]];
            rows[SIX * i + 3 + j] += H[3 * j + i];
            rows[SIX * (3 + i) + j] += H[3 * i + j];
            rows[SIX * (3 + i) + 3 + j] += M[symmetric[i][j]];
        }
}

double cal_mass_factor_resisted(const cal_mass_factor* tree, const double* resisting) {
    double most = 0.0;
    for (int n = 0; n < tree->model->node_count; n++) {
        const double* response = tree->inertia + SQUARE * (size_t)n; // symmetric
        double R[SQUARE] = {0.0}, product[SQUARE], sum = 0.0, squares = 0.0;
        cal_mass_factor_spread(resisting + CAL_MASS_FACTOR_INERTIA * (size_t)n, R);
        for (int i = 0; i < SIX; i++)
            for (int j = 0; j < SIX; j++) product[SIX * i + j] = dot6(R + SIX * i, response + SIX * j);
        for (int i = 0; i < SIX; i++) {
            sum += product[SIX * i + i];
            for (int j = 0; j < SIX; j++) squares += product[SIX * i + j] * product[SIX * j + i];
        }
        if (sum > 0.0) most = fmax(most, squares / sum);
    }
    return most;
}

void cal_mass_factor_joint_forces(cal_mass_factor* tree, double* tau) {
    const cal_model* model = tree->model;
    for (int n = model->node_count - 1; n >= 0; n--) {
        const cal_node* node = &model->nodes[n];
        const double* S = tree->axes + (size_t)(SIX * node->first_v);
        double wrench[SIX];
        take_wrench(tree, n, wrench);
        for (int c = cal_first_child(model, n); c >= 0; c = cal_next_child(model, n, c)) pull_wrench(tree, c, wrench);
        for (int k = 0; k < cal_kind_v(node->kind); k++) tau[node->first_v + k] += dot6(S + SIX * k, wrench);
        memcpy(tree->motion + SIX * (size_t)n, wrench, sizeof wrench);
    }
}

void cal_mass_factor_solve(cal_mass_factor* tree, double* out) {
    take_mass_inbound(tree);
    find_mass_rates(tree, tree->share, out);
}

typedef void rows_kernel(cal_mass_factor* tree, const cal_row* rows, int count, const int32_t* nodes, int node_count,
                         double* y, size_t stride);
rows_kernel cal_mass_factor_rows_w1, cal_mass_factor_rows_w1_fma, cal_mass_factor_rows_w2, cal_mass_factor_rows_w4,
    cal_mass_factor_rows_w8;

void cal_mass_factor_inbound(cal_mass_factor* tree, int variant, const cal_row* rows, int count, const int32_t* nodes,
                             int node_count, double* y, size_t stride) {
    static rows_kernel* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_mass_factor_rows);
    kernels[variant](tree, rows, count, nodes, node_count, y, stride);
}

typedef void rates_kernel(cal_mass_factor* tree, const double* share, int count, double* out);
rates_kernel cal_mass_factor_rates_w1, cal_mass_factor_rates_w1_fma, cal_mass_factor_rates_w2, cal_mass_factor_rates_w4,
    cal_mass_factor_rates_w8;

void cal_mass_factor_outbound_rows(cal_mass_factor* tree, int variant, const double* share, int count, double* out) {
    static rates_kernel* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_mass_factor_rates);
    kernels[variant](tree, share, count, out);
}
