// Chains of constraints (chains.h).
#include "constraint/chains.h"
#include "base/memory.h"
#include <string.h>

// Squares of widths per row, each of which takes a nanosecond or two on a present processor: a cut must save as many as take as long as the five
// further meetings of an evaluation (machine_ops.h, costs.message: a microsecond each). Four-bars side by side are cut from 258 on.
static const double LEAST_SAVED = 4096.0;
// And a quarter of all, so that unlike halves are worth it.
static const double LEAST_SHARE = 0.25;

void cal_chains_destroy(cal_constraints* set) {
    cal_free(set->chains);
    cal_free(set->first_line);
}

// --- Cutting ---------------------------------------------------------------------------------------------------------------

// Scratch: of each tree (its root's node) when it was seen, and where; of each place of a sequence the first that it meets, and the last that meets it.
typedef struct cutting {
    cal_constraints* set;
    int32_t *stamp, *seen, *reach, *last, *order;
    int32_t turn;
} cutting;

// What each of a sequence of constraints meets first, and what eliminating them one after the other costs.
static double measure(cutting* c, const int32_t* sequence, int count) {
    const cal_constraints* set = c->set;
    c->turn++;
    for (int k = 0; k < count; k++) {
        c->reach[k] = k;
        for (int i = 0; i < set->root_count[sequence[k]]; i++) {
            const int tree = set->root[CAL_ROW_NODES * sequence[k] + i];
            if (c->stamp[tree] != c->turn) c->stamp[tree] = c->turn, c->seen[tree] = k;
            if (c->seen[tree] < c->reach[k]) c->reach[k] = c->seen[tree];
        }
        c->last[k] = k;
        c->last[c->reach[k]] = k;
    }
    double cost = 0.0, width = 0.0;
    for (int k = 0, end = 0; k < count; k++) {
        for (; end < count && end <= c->last[k]; end++)
            width += cal_constraint_rows(&set->model->constraints[sequence[end]], NULL);
        const double rows = cal_constraint_rows(&set->model->constraints[sequence[k]], NULL);
        cost += rows * width * width;
        width -= rows;
        if (k + 1 < count && c->last[k + 1] < c->last[k]) c->last[k + 1] = c->last[k];
    }
    return cost;
}

// A part's constraints in order: [0, middle) are the near half, those from there on that meet it the border, the others the far one. Returns how many
// are in the border, 0: it is not to be cut. c->order: far half, near half, border.
static int find_halves(cutting* c, const int32_t* sequence, int count) {
    const int middle = count / 2;
    const double whole = measure(c, sequence, count);
    if (!(whole > 2.0 * LEAST_SAVED)) return 0;
    int border = 0, far = 0;
    for (int k = middle; k < count; k++) border += c->reach[k] < middle ? 1 : 0;
    const int far_count = count - middle - border;
    int32_t *order = c->order, *near = order + far_count, *between = near + middle;
    memcpy(near, sequence, (size_t)middle * sizeof *near);
    for (int k = middle, b = 0; k < count; k++) {
        if (c->reach[k] < middle)
            between[b++] = sequence[k];
        else
            order[far_count - 1 - far++] = sequence[k];
    }
    // The far half is followed by the border, too.
    int32_t* other = order + count;
    memcpy(other, order, (size_t)far_count * sizeof *other);
    memcpy(other + far_count, between, (size_t)border * sizeof *other);
    const double first = measure(c, near, middle + border), second = measure(c, other, far_count + border);
    const double longest = (first > second ? first : second) + measure(c, between, border), saved = whole - longest;
    return saved >= LEAST_SAVED && saved >= LEAST_SHARE * whole ? border : 0;
}

static void add_chain(cal_constraints* set, int first, int end, int border, bool is_border) {
    set->chains[set->chain_count++] =
        (cal_chain){.first = first, .end = end, .border = border, .is_border = is_border, .copies = -1};
    if (is_border) set->border_count++;
}

static void cut_part(cutting* c, int first, int end) {
    cal_constraints* set = c->set;
    const int border = find_halves(c, set->order + first, end - first), n = set->chain_count;
    if (border == 0) {
        add_chain(set, first, end, -1, false);
        return;
    }
    const int middle = first + (end - first) - (end - first) / 2 - border;
    memcpy(set->order + first, c->order, (size_t)(end - first) * sizeof *set->order);
    add_chain(set, first, middle, n + 2, false);
    set->chains[n].copies = 0; // until lines are placed
    add_chain(set, middle, end - border, n + 2, false);
    add_chain(set, end - border, end, -1, true);
}

// Where the part ends that begins with a place: no later constraint meets one of it.
static int find_end(const cal_constraints* set, int first, int32_t* last_of_tree) {
    int end = first + 1;
    for (int place = first; place < end; place++)
        for (int k = 0; k < set->root_count[set->order[place]]; k++) {
            const int last = last_of_tree[set->root[CAL_ROW_NODES * set->order[place] + k]];
            if (last >= end) end = last + 1;
        }
    return end;
}

bool cal_chains_cut(cal_constraints* set) {
    const size_t count = (size_t)set->model->constraint_count, nodes = (size_t)set->model->node_count;
    int32_t* room = cal_allocate(3 * nodes + 4 * count, sizeof *room);
    set->chains = cal_allocate(count, sizeof *set->chains);
    set->first_line = cal_allocate(count + 1, sizeof *set->first_line);
    const bool good = room && set->chains && set->first_line;
    if (good) {
        cutting c = {.set = set, .stamp = room, .seen = room + nodes};
        int32_t* last_of_tree = room + 2 * nodes;
        c.reach = room + 3 * nodes, c.last = c.reach + count, c.order = c.last + count;
        for (int place = 0; place < (int)count; place++)
            for (int k = 0; k < set->root_count[set->order[place]]; k++)
                last_of_tree[set->root[CAL_ROW_NODES * set->order[place] + k]] = place;
        for (int first = 0, end; first < (int)count; first = end) {
            end = find_end(set, first, last_of_tree);
            cut_part(&c, first, end);
        }
    }
    cal_free(room);
    return good;
}

// --- Lines -----------------------------------------------------------------------------------------------------------------

int cal_chains_most_copies(const cal_constraints* set) {
    int out = 0;
    for (int c = 0; c < set->chain_count; c++)
        for (int place = set->chains[c].first; set->chains[c].is_border && place < set->chains[c].end; place++)
            out += cal_constraint_rows(&set->model->constraints[set->order[place]], NULL);
    return out;
}

int cal_chains_place_lines(cal_constraints* set) {
    int line = 0;
    for (int c = 0; c < set->chain_count; c++) {
        cal_chain* chain = &set->chains[c];
        const int shift = line - set->first_row[chain->first];
        for (int place = chain->first; place < chain->end; place++)
            set->first_line[place] = set->first_row[place] + shift;
        chain->line = line;
        chain->line_end = line = set->first_row[chain->end] + shift;
        if (chain->copies < 0) continue;
        const cal_chain* border = &set->chains[chain->border];
        chain->copies = line;
        line += set->first_row[border->end] - set->first_row[border->first];
    }
    return set->first_line[set->model->constraint_count] = line;
}

const cal_chain* cal_chain_of(const cal_constraints* set, int place) {
    int low = 0, high = set->chain_count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (set->chains[middle].first <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return &set->chains[low];
}
