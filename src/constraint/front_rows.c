// Rows of fronts (front_rows.h).
#include "constraint/front_rows.h"
#include "base/memory.h"
#include "constraint/chains.h"
#include "constraint/constraint_matrix.h"

void cal_front_rows_destroy(cal_constraints* set) {
    cal_front_rows* f = &set->front_rows;
    cal_free(f->row_start), cal_free(f->piece_start), cal_free(f->pieces), cal_free(set->side);
}

// There is a row for a degree of freedom at most, and a piece for each that a constraint's forces pass.
bool cal_front_rows_create(cal_constraints* set) {
    if (set->loops) return true;
    cal_front_rows* f = &set->front_rows;
    const size_t count = (size_t)set->model->constraint_count, pieces = set->degree_start[count];
    f->row_start = cal_allocate(count + 1, sizeof *f->row_start);
    f->piece_start = cal_allocate((size_t)set->model->v_count + 1, sizeof *f->piece_start);
    f->pieces = cal_allocate(pieces, sizeof *f->pieces);
    set->side = cal_allocate(pieces, sizeof *set->side);
    return f->row_start && f->piece_start && f->pieces && set->side;
}

typedef struct listing {
    cal_constraints* set;
    int32_t rows, pieces, first; // so far; the first line of the triangle that the front is of
    const cal_chain* chain;      // of that
} listing;

// What degree of freedom `at` of a place's constraint feels of it.
static void add_piece(listing* l, int place, int at) {
    const cal_constraints* set = l->set;
    const int constraint = set->order[place];
    set->front_rows.pieces[l->pieces++] = (cal_front_piece){.y = set->y_start[constraint] + (size_t)at,
                                                            .stride = set->degrees[constraint],
                                                            .column = cal_chain_line(set, l->chain, place) - l->first,
                                                            .count = cal_row_total(set, place)};
}

static void end_row(listing* l) { l->set->front_rows.piece_start[++l->rows] = l->pieces; }

// Of a node that forces of several constraints pass, those that hold from `user` on.
static void add_node(listing* l, int node, int user) {
    const cal_constraints* set = l->set;
    for (int d = 0; d < cal_kind_v(set->model->nodes[node].kind); d++) {
        for (int u = user; u < set->user_start[node + 1]; u++)
            if (cal_row_total(set, set->user[u]) > 0) add_piece(l, set->user[u], set->user_at[u] + d);
        end_row(l);
    }
}

static void add_place(listing* l, int place) {
    const cal_constraints* set = l->set;
    const int constraint = set->order[place];
    l->first = set->first_line[place];
    l->chain = cal_chain_of(set, place);
    if (!cal_front_rows_reduce(set, place))
        for (size_t i = set->alone_start[constraint]; i < set->alone_start[constraint + 1]; i++) {
            add_piece(l, place, set->alone[i]);
            end_row(l);
        }
    for (int i = set->support_start[constraint]; i < set->support_start[constraint + 1]; i++) {
        const int node = set->support[i];
        int user = set->user_start[node];
        if (set->user_start[node + 1] == user + 1) continue;
        while (!set->active[set->order[set->user[user]]]) user++;
        if (set->user[user] == place) add_node(l, node, user);
    }
}

// Of a border's constraint: degrees of freedom that constraints of a half which hold pass, too.
static void find_sides(cal_constraints* set, const cal_chain* border, int place) {
    const int constraint = set->order[place];
    int8_t* side = set->side + set->degree_start[constraint];
    for (int i = set->support_start[constraint]; i < set->support_start[constraint + 1]; i++) {
        const int node = set->support[i];
        int8_t found = CAL_SIDE_NONE;
        for (int u = set->user_start[node]; u < set->user_start[node + 1]; u++)
            if (set->user[u] < border->first && set->active[set->order[set->user[u]]])
                found = set->user[u] < (border - 1)->first ? CAL_SIDE_FAR : CAL_SIDE_NEAR;
        for (int d = 0; d < cal_kind_v(set->model->nodes[node].kind); d++) *side++ = found;
    }
}

void cal_front_rows_list(cal_constraints* set) {
    if (set->loops) return;
    for (int c = 0; c < set->chain_count; c++)
        for (int place = set->chains[c].first; set->chains[c].is_border && place < set->chains[c].end; place++)
            find_sides(set, &set->chains[c], place);
    listing l = {.set = set};
    set->front_rows.piece_start[0] = 0;
    for (int place = 0; place < set->model->constraint_count; place++) {
        set->front_rows.row_start[place] = l.rows;
        if (set->active[set->order[place]]) add_place(&l, place);
    }
    set->front_rows.row_start[set->model->constraint_count] = l.rows;
}
