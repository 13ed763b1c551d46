// The order of constraints (order.h).
//
// Two constraints meet when they touch one tree: a push on any node is felt at its root. So the graph of constraints needs no
// edges of its own: from a constraint to its trees, from a tree to its constraints. Cuthill and McKee's order follows it
// breadth first, from a constraint that is as far out as one can go, and is then reversed, so that the rows of the matrix
// reach back as little as the mechanism allows: N four-bars side by side are a band, whatever the numbers of their loops. A long
// band is cut (chains.h).
#include "constraint/elimination_order.h"
#include "base/memory.h"
#include "constraint/chains.h"
#include "layout/layout.h"
#include <stdlib.h>
#include <string.h>

void cal_order_destroy(cal_constraints* set) {
    void* arrays[] = {set->order,         set->reach,         set->root,         set->root_count, set->met_start,
                      set->met,           set->support_start, set->support,      set->degrees,    set->y_start,
                      set->user_start,    set->user,          set->user_at,      set->first_row,  set->matrix.last,
                      set->matrix.start,  set->matrix.root,   set->matrix.front, set->matrix.row, set->matrix.begin,
                      set->matrix.column, set->matrix.left,   set->matrix.over,  set->far_reach,  set->left,
                      set->by_line};
    cal_chains_destroy(set);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
}

// The nodes that a constraint touches, but for parents of others; returns how many.
static int touched(const cal_model* model, int constraint, int nodes[2]) {
    const cal_constraint_def* def = &model->constraints[constraint];
    int count = 0;
    for (int i = 0; i < 2; i++) {
        int node = -1;
        if (def->kind == CAL_COUPLING)
            node = def->joint[i] == CAL_NONE ? -1 : model->joints[def->joint[i]].node;
        else if (def->body[i] != CAL_GROUND)
            node = model->mounts[def->body[i]].node;
        if (node >= 0) nodes[count++] = node;
    }
    return count;
}

static int compare_nodes(const void* a, const void* b) {
    const int32_t x = *(const int32_t*)a, y = *(const int32_t*)b;
    return (x > y) - (x < y);
}

// Collects the nodes from those that a constraint touches to the roots, or to where it is closed (loop_factor.h); out may be NULL.
// mark: last constraint that passed.
static int walk_up(const cal_constraints* set, int constraint, int32_t* mark, int32_t stamp, int32_t* out) {
    const cal_model* model = set->model;
    int nodes[2], count = 0;
    const int ends = touched(model, constraint, nodes), end = set->loops ? cal_loop_meeting(model, constraint) : -1;
    for (int i = 0; i < ends; i++)
        for (int n = nodes[i]; n >= 0 && n != end && mark[n] != stamp; n = model->nodes[n].parent) {
            mark[n] = stamp;
            if (out) out[count] = n;
            count++;
        }
    if (out) qsort(out, (size_t)count, sizeof *out, compare_nodes);
    return count;
}

static bool find_supports(cal_constraints* set) {
    const cal_model* model = set->model;
    const int count = model->constraint_count;
    int32_t* mark = cal_allocate((size_t)model->node_count, sizeof *mark);
    if (!mark) return false;
    int64_t total = 0;
    for (int c = 0; c < count; c++) {
        set->support_start[c] = (int32_t)total;
        total += walk_up(set, c, mark, c + 1, NULL);
    }
    set->support_start[count] = (int32_t)total;
    if (total <= INT32_MAX) set->support = cal_allocate((size_t)total, sizeof *set->support);
    for (int c = 0; set->support && c < count; c++) {
        int32_t* nodes = set->support + set->support_start[c];
        const int length = walk_up(set, c, mark, count + c + 1, nodes);
        for (int i = 0; i < length; i++) {
            const cal_node* node = &model->nodes[nodes[i]];
            set->degrees[c] += cal_kind_v(node->kind);
            if (node->parent < 0) set->root[CAL_ROW_NODES * c + set->root_count[c]++] = nodes[i];
        }
        const int rows = cal_constraint_rows(&model->constraints[c], NULL);
        set->y_start[c + 1] = set->y_start[c] + (size_t)rows * (size_t)set->degrees[c];
        set->most_rows += rows;
    }
    cal_free(mark);
    return set->support != NULL;
}

// Lists, for every tree, the constraints that touch it in the order of place (place of each constraint, or its number).
static void list_by_tree(cal_constraints* set) {
    const int count = set->model->constraint_count, nodes = set->model->node_count;
    memset(set->met_start, 0, ((size_t)nodes + 1) * sizeof *set->met_start);
    for (int c = 0; c < count; c++)
        for (int k = 0; k < set->root_count[c]; k++) set->met_start[set->root[CAL_ROW_NODES * c + k] + 1]++;
    for (int n = 0; n < nodes; n++) set->met_start[n + 1] += set->met_start[n];
    for (int place = 0; place < count; place++) {
        const int c = set->order[place];
        for (int k = 0; k < set->root_count[c]; k++)
            set->met[set->met_start[set->root[CAL_ROW_NODES * c + k]]++] = place;
    }
    for (int n = nodes; n > 0; n--) set->met_start[n] = set->met_start[n - 1];
    set->met_start[0] = 0;
}

// Breadth first from one constraint; `seen` of constraints, then of trees, holds the number of the walk that saw them. Writes
// the constraints to out and returns how many.
static int spread(const cal_constraints* set, int start, int32_t* seen, int32_t walk, int32_t* out) {
    int32_t* seen_tree = seen + set->model->constraint_count;
    int found = 0;
    out[found++] = start;
    seen[start] = walk;
    for (int done = 0; done < found; done++) {
        const int c = out[done];
        for (int k = 0; k < set->root_count[c]; k++) {
            const int tree = set->root[CAL_ROW_NODES * c + k];
            if (seen_tree[tree] == walk) continue;
            seen_tree[tree] = walk;
            for (int i = set->met_start[tree]; i < set->met_start[tree + 1]; i++) {
                const int other = set->met[i]; // a constraint's number: the order is not made yet
                if (seen[other] == walk) continue;
                seen[other] = walk;
                out[found++] = other;
            }
        }
    }
    return found;
}

static bool find_order(cal_constraints* set) {
    const int count = set->model->constraint_count;
    const size_t room = (size_t)count + (size_t)set->model->node_count;
    int32_t *seen = cal_allocate(room, sizeof *seen), *found = cal_allocate((size_t)count, sizeof *found);
    if (seen && found) {
        for (int c = 0; c < count; c++) set->order[c] = c;
        list_by_tree(set);
        int placed = 0;
        for (int c = 0, walk = 1; c < count; c++, walk += 2) {
            if (seen[c] != 0) continue;
            int length = spread(set, c, seen, walk, found);
            length = spread(set, found[length - 1], seen, walk + 1, found);
            for (int i = 0; i < length; i++) set->order[placed + length - 1 - i] = found[i];
            placed += length;
        }
    }
    const bool good = seen && found && cal_chains_cut(set);
    if (good) list_by_tree(set);
    cal_free(seen), cal_free(found);
    return good;
}

// Lines first … end - 1 end no earlier than those before them.
static void keep_skyline(cal_skyline* matrix, int first, int end) {
    for (int i = first; i < end; i++)
        if (i > 0 && matrix->last[i] < matrix->last[i - 1]) matrix->last[i] = matrix->last[i - 1];
}

// Rows of a place in lines from `line` on: a group, and what of the chain reaches to them, from the first place that they meet.
static void place_group(cal_constraints* set, int place, int line, int met) {
    const int end = line + set->first_row[place + 1] - set->first_row[place];
    for (int i = line; i < end; i++) set->matrix.last[i] = end - 1, set->matrix.begin[i] = line;
    if (end > line && met != CAL_NONE) set->matrix.last[met] = end - 1;
}

// A line of the triangle ends with the last one that reaches back to it; those of one constraint end together.
static void draw_chain(cal_constraints* set, const cal_chain* chain) {
    cal_skyline* m = &set->matrix;
    const cal_chain* border = chain->border >= 0 ? &set->chains[chain->border] : NULL;
    for (int place = chain->first; place < chain->end; place++)
        place_group(set, place, set->first_line[place],
                    chain->is_border && set->reach[place] < chain->first ? CAL_NONE
                                                                         : set->first_line[set->reach[place]]);
    for (int place = border ? border->first : 0; border && place < border->end; place++) {
        const int met = chain->copies >= 0 ? set->far_reach[place] : set->reach[place];
        const int line = cal_chain_line(set, chain, place);
        const int rows = set->first_row[place + 1] - set->first_row[place];
        if (chain->copies >= 0)
            place_group(set, place, line, met == CAL_NONE ? CAL_NONE : set->first_line[met]);
        else if (rows > 0 && met < chain->end)
            m->last[set->first_line[met]] = line + rows - 1;
    }
}

// Rows of the active constraints, or of all.
static size_t draw(cal_constraints* set, bool all) {
    const int count = set->model->constraint_count;
    cal_skyline* m = &set->matrix;
    int rows = 0;
    for (int place = 0; place < count; place++) {
        const int c = set->order[place];
        set->first_row[place] = rows;
        if (all || set->active[c]) rows += cal_constraint_rows(&set->model->constraints[c], NULL);
    }
    set->first_row[count] = set->row_count = rows;
    m->count = cal_chains_place_lines(set);
    for (int c = 0; c < set->chain_count; c++) draw_chain(set, &set->chains[c]);
    for (int c = 0; c < set->chain_count; c++) {
        const cal_chain *chain = &set->chains[c], *far = chain->is_border ? chain - 2 : NULL;
        // A border's lines hold what its copies do.
        for (int i = chain->line; far && i < chain->line_end; i++) {
            const int copied = m->last[i - chain->line + far->copies] - far->copies + chain->line;
            if (copied > m->last[i]) m->last[i] = copied;
        }
        const int copies =
            chain->copies < 0 ? 0 : set->chains[chain->border].line_end - set->chains[chain->border].line;
        keep_skyline(m, chain->line, chain->line_end + copies);
    }
    size_t total = 0;
    for (int i = 0; i < m->count; i++) {
        m->start[i] = total;
        total += cal_skyline_row_size(m->last[i] - m->begin[i] + 1);
    }
    return total;
}

void cal_order_rows(cal_constraints* set) { (void)draw(set, false); }

// Lists, for every node, the constraints whose forces pass it.
static bool list_users(cal_constraints* set) {
    const cal_model* model = set->model;
    const int nodes = model->node_count, total = set->support_start[model->constraint_count];
    set->user_start = cal_allocate((size_t)nodes + 1, sizeof *set->user_start);
    set->user = cal_allocate((size_t)total, sizeof *set->user);
    set->user_at = cal_allocate((size_t)total, sizeof *set->user_at);
    if (!set->user_start || !set->user || !set->user_at) return false;
    for (int i = 0; i < total; i++) set->user_start[set->support[i] + 1]++;
    for (int n = 0; n < nodes; n++) set->user_start[n + 1] += set->user_start[n];
    for (int place = 0; place < model->constraint_count; place++) {
        const int c = set->order[place];
        int32_t at = 0;
        for (int i = set->support_start[c]; i < set->support_start[c + 1]; i++) {
            const int32_t entry = set->user_start[set->support[i]]++;
            set->user[entry] = place;
            set->user_at[entry] = at;
            at += cal_kind_v(model->nodes[set->support[i]].kind);
        }
    }
    for (int n = nodes; n > 0; n--) set->user_start[n] = set->user_start[n - 1];
    set->user_start[0] = 0;
    return true;
}

static bool allocate(cal_constraints* set) {
    const size_t count = (size_t)set->model->constraint_count, nodes = (size_t)set->model->node_count;
    set->order = cal_allocate(count, sizeof *set->order);
    set->reach = cal_allocate(count, sizeof *set->reach);
    set->far_reach = cal_allocate(count, sizeof *set->far_reach);
    set->root = cal_allocate(count * CAL_ROW_NODES, sizeof *set->root);
    set->root_count = cal_allocate(count, sizeof *set->root_count);
    set->met_start = cal_allocate(nodes + 1, sizeof *set->met_start);
    set->met = cal_allocate(count * CAL_ROW_NODES, sizeof *set->met);
    set->support_start = cal_allocate(count + 1, sizeof *set->support_start);
    set->degrees = cal_allocate(count, sizeof *set->degrees);
    set->y_start = cal_allocate(count + 1, sizeof *set->y_start);
    set->first_row = cal_allocate(count + 1, sizeof *set->first_row);
    return set->order && set->reach && set->far_reach && set->root && set->root_count && set->met_start && set->met &&
           set->support_start && set->degrees && set->y_start && set->first_row;
}

// Of each place the first ones that it meets. Trees of a border have constraints of one half or of the other, not of both.
static void find_reaches(cal_constraints* set) {
    for (int c = 0; c < set->chain_count; c++) {
        const cal_chain* chain = &set->chains[c];
        const int first = chain->is_border ? (chain - 1)->first : chain->first;
        for (int place = chain->first; place < chain->end; place++) {
            set->reach[place] = place;
            set->far_reach[place] = CAL_NONE;
            for (int k = 0; k < set->root_count[set->order[place]]; k++) {
                const int tree = set->root[CAL_ROW_NODES * set->order[place] + k];
                const int32_t* met = set->met + set->met_start[tree];
                if (*met < first && (set->far_reach[place] == CAL_NONE || *met < set->far_reach[place]))
                    set->far_reach[place] = *met;
                while (*met < first) met++; // to the border's own at the latest
                if (*met < set->reach[place]) set->reach[place] = *met;
            }
        }
    }
}

// Room for the triangle with all constraints.
static bool allocate_triangle(cal_constraints* set) {
    cal_skyline* m = &set->matrix;
    const size_t rows = (size_t)set->most_rows, lines = rows + (size_t)cal_chains_most_copies(set);
    m->last = cal_allocate(lines, sizeof *m->last);
    m->start = cal_allocate(lines, sizeof *m->start);
    m->begin = cal_allocate(lines, sizeof *m->begin);
    m->column = cal_allocate(lines, sizeof *m->column);
    m->left = cal_allocate(lines, sizeof(double));
    m->over = cal_allocate(lines, sizeof(double));
    set->left = cal_allocate(rows, sizeof(double));
    set->by_line = cal_allocate(lines, sizeof(double));
    if (!m->last || !m->start || !m->begin || !m->column || !m->left || !m->over || !set->left || !set->by_line)
        return false;
    m->root = cal_allocate(draw(set, true), sizeof(double));
    for (int i = 0; i < m->count; i++) {
        const int width = m->last[i] - m->begin[i] + 1;
        if (width > m->stride) m->stride = (width + 3) & ~3;
    }
    // A row on its way and a front for each worker.
    m->row = cal_allocate((size_t)set->workers.count * lines, sizeof(double));
    m->front = cal_allocate((size_t)set->workers.count * cal_skyline_front_size(m->stride), sizeof(double));
    return m->root && m->row && m->front;
}

cal_status cal_order_create(cal_constraints* set) {
    if (!allocate(set) || !find_supports(set) || !find_order(set) || !list_users(set)) return CAL_NO_MEMORY;
    find_reaches(set);
    return allocate_triangle(set) ? CAL_OK : CAL_NO_MEMORY;
}
