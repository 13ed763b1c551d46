// Packs of constraints that are alike (loop_pack.h): which are, and who computes them.
#include "pass/loop_pack.h"
#include <string.h>

// The rows that lanes make; false: others.
static bool find_rows(const cal_constraint_def* def, cal_pack_shape* out) {
    if (def->kind == CAL_DISTANCE) {
        out->rows[out->row_count++] = (cal_pack_row){.kind = CAL_PACK_DISTANCE};
        return true;
    }
    const uint32_t bits = cal_constraint_row_bits(def), turns = bits / CAL_ROW_TURN_X;
    if (bits == 0 || turns == 7) return false;
    for (int i = 0; i < 3; i++)
        if (bits >> i & 1) out->rows[out->row_count++] = (cal_pack_row){.kind = CAL_PACK_DISPLACEMENT, .axis = i};
    for (int i = 0; i < 3; i++)
        if (turns >> i & 1)
            out->rows[out->row_count++] =
                (cal_pack_row){.kind = CAL_PACK_TURN, .axis = i, .free = cal_constraint_free_axis(turns, i)};
    out->turns = turns != 0;
    return true;
}

bool cal_pack_find_shape(const cal_model* model, int constraint, const cal_mount frames[2], const int32_t* nodes,
                         int node_count, cal_pack_shape* out) {
    memset(out, 0, sizeof *out); // shapes are compared byte by byte
    if (!find_rows(&model->constraints[constraint], out) || node_count > CAL_PACK_PLACES) return false;
    if (frames[0].node == frames[1].node) return false; // one node feels both ends
    int numbers = 0;
    out->node_count = node_count;
    out->hinges = true;
    for (int side = 0; side < 2; side++) out->grounded[side] = frames[side].node < 0, out->touched[side] = -1;
    for (int i = 0; i < node_count; i++) {
        const cal_node* node = &model->nodes[nodes[i]];
        const int k = cal_kind_v(node->kind);
        numbers += 12 * k + k * k + 3;
        out->degrees += k;
        out->joint[i] = (int8_t)node->kind;
        out->hinges = out->hinges && node->kind == CAL_REVOLUTE;
        out->parent[i] = -1;
        for (int j = 0; j < i; j++)
            if (nodes[j] == node->parent) out->parent[i] = (int8_t)j;
        for (int side = 0; side < 2; side++)
            if (frames[side].node == nodes[i]) out->touched[side] = (int8_t)i;
    }
    return numbers <= CAL_PACK_NUMBERS;
}

bool cal_pack_same_shape(const cal_pack_shape* a, const cal_pack_shape* b) {
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): shapes are cleared before they are filled
    return memcmp(a, b, sizeof *a) == 0;
}

static void put_lane(cal_loop_pack* pack, int l, const cal_model* model, int constraint, const cal_mount frames[2],
                     const int32_t* nodes, int first_row, size_t first_y) {
    double* numbers = pack->numbers + l;
    for (int side = 0; side < 2; side++) {
        pack->node[side][l] = frames[side].node;
        for (int i = 0; i < 9; i++)
            numbers[(CAL_PACK_ROTATION + 9 * side + i) * CAL_PACK_LANES] = frames[side].rotation[i];
        for (int i = 0; i < 3; i++) numbers[(CAL_PACK_OFFSET + 3 * side + i) * CAL_PACK_LANES] = frames[side].offset[i];
    }
    numbers[CAL_PACK_LENGTH * CAL_PACK_LANES] = model->constraints[constraint].length;
    for (int i = 0; i < pack->shape->node_count; i++) pack->nodes[i][l] = nodes[i];
    pack->constraint[l] = constraint;
    pack->first_row[l] = first_row;
    pack->first_y[l] = first_y;
}

void cal_pack_add(cal_loop_pack* pack, const cal_model* model, int constraint, const cal_mount frames[2],
                  const int32_t* nodes, int first_row, size_t first_y) {
    for (int l = pack->count; l < (pack->count == 0 ? CAL_PACK_LANES : pack->count + 1); l++)
        put_lane(pack, l, model, constraint, frames, nodes, first_row, first_y);
    pack->count++;
}

void cal_pack_begin_rows(const cal_loop_pack* pack, int lane, cal_row* rows) {
    for (int r = 0; r < pack->shape->row_count; r++) {
        cal_row* out = &rows[pack->first_row[lane] + r];
        *out = (cal_row){.constraint = pack->constraint[lane], .holonomic = true};
        for (int side = 1; side >= 0; side--) // b, then a
            if (!pack->shape->grounded[side]) out->node[out->node_count++] = pack->node[side][lane];
    }
}

typedef void rows_kernel(cal_loop_pack* pack, const cal_node_motion* motions, cal_row* rows);
rows_kernel cal_pack_make_rows_w1, cal_pack_make_rows_w1_fma, cal_pack_make_rows_w2, cal_pack_make_rows_w4,
    cal_pack_make_rows_w8;
typedef void inbound_kernel(const cal_loop_pack* pack, const cal_mass_factor* tree, const cal_pack_inbound_rows* out);
inbound_kernel cal_pack_inbound_w1, cal_pack_inbound_w1_fma, cal_pack_inbound_w2, cal_pack_inbound_w4,
    cal_pack_inbound_w8;

void cal_pack_make_rows(cal_loop_pack* pack, int variant, const cal_node_motion* motions, cal_row* rows) {
    static rows_kernel* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_pack_make_rows);
    kernels[variant](pack, motions, rows);
}

void cal_pack_inbound(const cal_loop_pack* pack, int variant, const cal_mass_factor* tree,
                      const cal_pack_inbound_rows* out) {
    static inbound_kernel* const kernels[CAL_VARIANTS] = CAL_VARIANTS_OF(cal_pack_inbound);
    kernels[variant](pack, tree, out);
}
