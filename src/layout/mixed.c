// Mixed columns: lanes across branches that differ (layout.h).
//
// A *run* is a node and the only children below it, as long as they are of one kind. It is ready when its parent's column is laid
// out; then W ready runs of one kind become a column, as long as the shortest of them. What is left of longer runs, and the
// children of those that end, are ready then. Full columns are taken first, so that few lanes are dead; of several the longest,
// whose lanes cross the fewest ends of columns.
//
// A run waits for its parents alone, so all columns down, then all columns up in the opposite order, is a walk. For trees that
// are larger than the caches it is cut: nodes with many others below them are the *top*, and what hangs below the top is walked in
// groups, each of which goes down and up while its numbers are near.
//
//     processor   down: columns that are not mixed, top │ group down, up │ group down, up │ … │ up: top, columns that are not mixed
#include "layout/workshop.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

// Nodes of a group. More fill more lanes, fewer stay in nearer caches: of 128, 256, … nodes and all this is the fastest for random trees
// of 4,000 and 40,000 joints, by a third to a half.
enum { GROUP_NODES = 4096 };
enum { KINDS = CAL_FREE + 1, LENGTHS = 8, CHILDREN = 4, LISTS = LENGTHS * CHILDREN };

typedef struct run {
    int32_t node, length, column, lane; // column and lane are its parent's
} run;

typedef struct run_list {
    run* items;
    int count, capacity;
} run_list;

typedef struct mixer {
    cal_workshop* shop;
    run_list ready[KINDS][LISTS]; // by the children below a run, and by its length; who has more is in the last
    int total[KINDS];
    int owner, group;
    cal_hanging* below; // the top
    int below_count, below_capacity;
    uint64_t* shapes;     // of all nodes, where branches are bundled; else NULL
    cal_bundled* bundled; // of all nodes, of the groups so far
    cal_hanging* waiting; // roots of bundles of this group
    int waiting_count, waiting_capacity;
    int bundle_count; // of this group
} mixer;

#define EIGHT -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0
_Alignas(64) const double cal_nothing[CAL_UP_ROW] = {EIGHT, EIGHT, EIGHT, EIGHT};

static const cal_node* node_at(const mixer* m, int node) { return &m->shop->layout->model->nodes[node]; }

// Whether a node is among those that are being laid out.
static bool is_member(const mixer* m, int node) {
    return m->group != CAL_GROUP_TOP || node_at(m, node)->end - node > GROUP_NODES;
}

static void add_ready(mixer* m, const run* next) {
    const int kind = node_at(m, next->node)->kind, length = next->length < LENGTHS ? next->length : LENGTHS;
    const int last = next->node + next->length - 1, end = node_at(m, last)->end;
    int children = 0;
    for (int child = last + 1; child < end && children < CHILDREN - 1; child = node_at(m, child)->end) children++;
    run_list* list = &m->ready[kind][children * LENGTHS + length - 1];
    list->items = cal_workshop_grow(m->shop, list->items, &list->capacity, list->count + 1, sizeof *list->items);
    if (m->shop->out_of_memory) return;
    list->items[list->count++] = *next;
    m->total[kind]++;
}

static bool is_bundled(const mixer* m, int node) { return m->bundled && m->bundled[node] != CAL_NOT_BUNDLED; }

static void hang(mixer* m, const cal_hanging* next) {
    if (is_bundled(m, next->node)) {
        m->waiting = cal_workshop_grow(m->shop, m->waiting, &m->waiting_capacity, m->waiting_count + 1, sizeof *next);
        if (!m->shop->out_of_memory) m->waiting[m->waiting_count++] = *next;
        return;
    }
    if (!is_member(m, next->node)) {
        m->below = cal_workshop_grow(m->shop, m->below, &m->below_capacity, m->below_count + 1, sizeof *m->below);
        if (!m->shop->out_of_memory) m->below[m->below_count++] = *next;
        return;
    }
    run fresh = {next->node, 1, next->column, next->lane};
    for (int node = next->node;; node++, fresh.length++) {
        const cal_node *n = node_at(m, node), *child = n + 1;
        if (n->end == node + 1 || child->end != n->end || child->kind != n->kind || !is_member(m, node + 1) ||
            is_bundled(m, node + 1))
            break;
    }
    add_ready(m, &fresh);
}

// Takes up to `most` runs of a kind: from a list that has as many, the longest of these, or from the longest lists on.
static int take_ready(mixer* m, int kind, int most, run* taken) {
    int count = 0, first = LISTS - 1;
    while (first > 0 && m->ready[kind][first].count < most) first--;
    if (m->ready[kind][first].count < most) first = LISTS - 1;
    for (; first >= 0 && count < most; first--) {
        run_list* list = &m->ready[kind][first];
        while (list->count > 0 && count < most) taken[count++] = list->items[--list->count];
    }
    m->total[kind] -= count;
    return count;
}

static void lay_blocks(cal_workshop* shop, int column, const run* runs, int count, int length) {
    cal_layout* layout = shop->layout;
    const int width = layout->width;
    cal_column* own = &layout->columns[column];
    own->is_long = count == 1 && width > 1;
    own->lanes = (int8_t)(own->is_long ? 1 : width);
    own->node_count = own->is_long ? length : 0;
    own->block_count = own->is_long ? (length + width - 1) / width : length;
    for (int block = 0; block < own->block_count; block++) {
        int32_t* nodes = cal_workshop_add_block(shop);
        if (!nodes) return;
        for (int lane = 0; lane < (own->is_long ? width : count); lane++) {
            const int step = own->is_long ? block * width + lane : block;
            if (step < length && step < runs[own->is_long ? 0 : lane].length)
                nodes[lane] = runs[own->is_long ? 0 : lane].node + step;
        }
    }
}

// A column as long as the shortest run, and at most `most`; where nothing hangs below the runs (`ends`), as long as the longest, and
// lanes die.
static void lay_column(mixer* m, const run* runs, int count, int most, bool ends) {
    cal_workshop* shop = m->shop;
    cal_layout* layout = shop->layout;
    const int index = layout->column_count;
    int length = runs[0].length;
    for (int lane = 1; lane < count; lane++)
        if (ends ? runs[lane].length > length : runs[lane].length < length) length = runs[lane].length;
    if (length > most) length = most;
    cal_column* own = cal_workshop_add_column(shop);
    shop->origins = cal_workshop_grow(shop, shop->origins, &shop->origin_capacity, shop->origin_count + layout->width,
                                      sizeof *shop->origins);
    if (shop->out_of_memory) return;
    own->kind = node_at(m, runs[0].node)->kind;
    own->owner = m->owner;
    own->parent = runs[0].column;
    own->mixed = true;
    own->group = m->group;
    own->bundle = m->bundle_count;
    own->first_parent = shop->origin_count;
    memset(own->parent_lane, 0xff, sizeof own->parent_lane);
    lay_blocks(shop, index, runs, count, length);
    for (int lane = 0; lane < layout->width; lane++) {
        // Dead lanes read what the first one does.
        const run* from = &runs[lane < count ? lane : 0];
        shop->origins[shop->origin_count++] = (cal_hanging){from->node, from->column, from->lane};
        if (lane >= count) continue;
        own->parent_lane[lane] = (int8_t)from->lane;
        own->pull_order[own->pull_count++] = (int8_t)lane;
        own->hangs = own->hangs || m->bundle_count > 0 || layout->columns[from->column].group != m->group;
        shop->heads[from->node] = (cal_hanging){from->node, index, lane};
    }
    for (int lane = 0; lane < count && !ends && !shop->out_of_memory; lane++) {
        const int last = runs[lane].node + length - 1, end = node_at(m, last)->end;
        if (end == last + 1) continue;
        layout->columns[index].gathers = true;
        if (runs[lane].length > length) {
            layout->columns[index].child_count++;
            add_ready(m, &(run){last + 1, runs[lane].length - length, index, lane});
            continue;
        }
        for (int child = last + 1; child < end; child = node_at(m, child)->end) {
            layout->columns[index].child_count++;
            hang(m, &(cal_hanging){child, index, lane});
        }
    }
}

// Until nothing is ready: full columns first, else what there is most of.
static void lay_ready(mixer* m) {
    const int width = m->shop->layout->width;
    run taken[CAL_MAX_LANES] = {{0}};
    while (!m->shop->out_of_memory) {
        int kind = 0;
        for (int k = 1; k < KINDS; k++)
            if (m->total[k] > m->total[kind]) kind = k;
        if (m->total[kind] == 0) return;
        const int count = take_ready(m, kind, width, taken);
        lay_column(m, taken, count, INT32_MAX, false);
    }
}

static int compare_runs(const void* left, const void* right) {
    const run *a = left, *b = right;
    return a->length != b->length ? (a->length > b->length ? -1 : 1) : a->node < b->node ? -1 : a->node > b->node;
}

// Twice the mean length of what is ready. A level takes as long as its longest column, and the rest of a longer run is another level's.
static int longest_of_level(const mixer* m) {
    int64_t nodes = 0, runs = 0;
    for (int i = 0; i < KINDS * LISTS; i++) {
        const run_list* list = &m->ready[i / LISTS][i % LISTS];
        for (int k = 0; k < list->count; k++) nodes += list->items[k].length, runs++;
    }
    return runs > 0 ? (int)((2 * nodes + runs - 1) / runs) : 0;
}

// Takes all ready runs of a kind: those that go on behind a column of length `most`, or those that end with it.
static void take_all(mixer* m, int kind, int most, bool ends, run_list* taken) {
    taken->count = 0;
    for (int i = 0; i < LISTS; i++) {
        run_list* list = &m->ready[kind][i];
        int kept = 0;
        taken->items =
            cal_workshop_grow(m->shop, taken->items, &taken->capacity, taken->count + list->count, sizeof(run));
        for (int k = 0; k < list->count && !m->shop->out_of_memory; k++)
            if ((i < LENGTHS && list->items[k].length <= most) == ends)
                taken->items[taken->count++] = list->items[k];
            else
                list->items[kept++] = list->items[k];
        list->count = kept;
    }
    if (taken->count > 1) qsort(taken->items, (size_t)taken->count, sizeof(run), compare_runs);
}

// The same level by level, for devices: all that is ready now, kind by kind, the longest first.
static void lay_levels(mixer* m) {
    const int width = m->shop->layout->width;
    run_list level[2 * KINDS] = {0};
    for (int most; (most = longest_of_level(m)) > 0 && !m->shop->out_of_memory;) {
        // All are taken before the first column makes others ready.
        for (int i = 0; i < 2 * KINDS; i++) take_all(m, i / 2, most, i % 2, &level[i]);
        for (int i = 0; i < 2 * KINDS; i++)
            for (int first = 0; first < level[i].count && !m->shop->out_of_memory; first += width) {
                const int left = level[i].count - first;
                lay_column(m, level[i].items + first, left < width ? left : width, most, i % 2);
            }
    }
    for (int i = 0; i < 2 * KINDS; i++) cal_free(level[i].items);
}

static int compare_waiting(const mixer* m, const cal_hanging* a, const cal_hanging* b) {
    const uint64_t left = m->shapes[a->node], right = m->shapes[b->node];
    return left != right ? (left < right ? -1 : 1) : a->node < b->node ? -1 : a->node > b->node;
}

// Heap sort: the order needs the shapes.
static void sort_waiting(mixer* m) {
    cal_hanging* items = m->waiting;
    for (int count = m->waiting_count, start = count / 2; count > 1;) {
        if (start > 0) {
            start--;
        } else {
            const cal_hanging last = items[--count];
            items[count] = items[0], items[0] = last;
        }
        for (int at = start, child; (child = 2 * at + 1) < count; at = child) {
            if (child + 1 < count && compare_waiting(m, &items[child], &items[child + 1]) < 0) child++;
            if (compare_waiting(m, &items[at], &items[child]) >= 0) break;
            const cal_hanging swap = items[at];
            items[at] = items[child], items[child] = swap;
        }
    }
}

// W branches of one shape: a mixed column, and below it columns that hang lane under lane.
static void lay_bundle(mixer* m, const cal_hanging* roots) {
    cal_layout* layout = m->shop->layout;
    const int width = layout->width, first = layout->column_count;
    run runs[CAL_MAX_LANES];
    for (int lane = 0; lane < width; lane++) {
        const cal_node* n = node_at(m, roots[lane].node);
        runs[lane] = (run){roots[lane].node, 1, roots[lane].column, roots[lane].lane};
        for (; n->end > roots[lane].node + runs[lane].length && n[1].end == n->end && n[1].kind == n->kind; n++)
            runs[lane].length++;
    }
    m->bundle_count++;
    lay_column(m, runs, width, INT32_MAX, true);
    if (!m->shop->out_of_memory) cal_pack_below(m->shop, first);
    for (int i = first + 1; i < layout->column_count; i++)
        layout->columns[i].group = m->group, layout->columns[i].bundle = m->bundle_count;
}

// What is ready, and the group's bundles below that.
static void lay_group(mixer* m) {
    m->bundle_count = 0;
    lay_ready(m);
    sort_waiting(m);
    for (int i = 0; i < m->waiting_count && !m->shop->out_of_memory; i += m->shop->layout->width)
        lay_bundle(m, m->waiting + i);
    m->waiting_count = m->bundle_count = 0;
}

static int compare_hanging(const void* left, const void* right) {
    const cal_hanging *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

// The top of one processor's branches, then what hangs below it, group by group.
static void lay_owner(mixer* m, const cal_hanging* branches, int count) {
    if (m->shop->layout->by_lane) { // a device works on all columns of a level at the same time
        m->group = CAL_GROUP_TOP + 1;
        for (int i = 0; i < count; i++) hang(m, &branches[i]);
        lay_levels(m);
        return;
    }
    m->group = CAL_GROUP_TOP;
    m->below_count = 0;
    for (int i = 0; i < count; i++) hang(m, &branches[i]);
    lay_ready(m);
    if (m->below_count > 1) qsort(m->below, (size_t)m->below_count, sizeof *m->below, compare_hanging);
    m->group = CAL_GROUP_TOP + 1;
    for (int i = 0, end; i < m->below_count && !m->shop->out_of_memory; i = end, m->group++) {
        int nodes = 0;
        for (end = i; end < m->below_count; end++) {
            const int size = node_at(m, m->below[end].node)->end - m->below[end].node;
            if (nodes > 0 && nodes + size > GROUP_NODES) break;
            nodes += size;
        }
        if (m->shapes && !cal_choose_bundles(m->shop->layout->model, m->shapes, m->below + i, end - i,
                                             m->shop->layout->width, m->bundled))
            m->shop->out_of_memory = true;
        for (int k = i; k < end && !m->shop->out_of_memory; k++) {
            const cal_hanging next = m->below[k];
            hang(m, &next);
        }
        lay_group(m);
    }
}

static int owner_of(const cal_workshop* shop, const cal_hanging* branch) {
    return shop->layout->columns[branch->column].owner;
}

void cal_mix_columns(cal_workshop* shop) {
    mixer m = {.shop = shop};
    const int all = shop->hanging_count;
    cal_hanging* branches = cal_allocate((size_t)all, sizeof *branches);
    shop->heads = cal_allocate((size_t)shop->layout->model->node_count, sizeof *shop->heads);
    if (shop->bundles) {
        m.shapes = cal_find_shapes(shop->layout->model);
        m.bundled = cal_allocate((size_t)shop->layout->model->node_count, sizeof *m.bundled);
        if (!m.shapes || !m.bundled) shop->out_of_memory = true;
    }
    if (!branches || !shop->heads) shop->out_of_memory = true;
    for (int owner = 0; owner < shop->layout->processors && !shop->out_of_memory; owner++) {
        int count = 0;
        for (int i = 0; i < all; i++)
            if (owner_of(shop, &shop->hanging[i]) == owner) branches[count++] = shop->hanging[i];
        m.owner = owner;
        if (count > 0) lay_owner(&m, branches, count);
    }
    for (int kind = 0; kind < KINDS; kind++)
        for (int list = 0; list < LISTS; list++) cal_free(m.ready[kind][list].items);
    cal_free(m.below);
    cal_free(m.shapes);
    cal_free(m.bundled);
    cal_free(m.waiting);
    cal_free(branches);
}

// The last node of a column's lane; -1: there is none.
static int last_node(const cal_layout* layout, const cal_column* column, int lane) {
    if (column->is_long)
        return layout
            ->block_nodes[(size_t)column->first_block * (size_t)layout->width + (size_t)column->node_count - 1];
    for (int block = column->block_count - 1; block >= 0; block--) {
        const int node =
            layout->block_nodes[(size_t)(column->first_block + block) * (size_t)layout->width + (size_t)lane];
        if (node >= 0) return node;
    }
    return -1;
}

// The children of each of a column's lanes, the first ones, the second ones, …; counts them where `pulls` is NULL.
static int place_pulls(const cal_workshop* shop, const cal_column* column, size_t* pulls) {
    const cal_layout* layout = shop->layout;
    int most = 0;
    for (int lane = 0; lane < column->lanes; lane++) {
        const int last = last_node(layout, column, lane), end = last < 0 ? 0 : layout->model->nodes[last].end;
        int count = 0;
        for (int child = last + 1; child < end; child = layout->model->nodes[child].end, count++) {
            const cal_hanging* head = &shop->heads[child];
            if (pulls)
                pulls[count * column->lanes + lane] =
                    layout->columns[head->column].up_slot + (size_t)head->lane * (layout->by_lane ? 1 : CAL_UP_ROW);
        }
        most = count > most ? count : most;
    }
    return most;
}

bool cal_workshop_is_sparse(const cal_workshop* shop) {
    const cal_layout* layout = shop->layout;
    const int64_t lanes = (int64_t)layout->block_count * layout->width;
    return layout->width > 1 && 10 * (int64_t)layout->model->node_count * layout->copies < 9 * lanes;
}

// Numbers that a device moves: of a lane and a node, and of a lane and what it leaves above and below and reads there. The nodes of a
// chain come one after the other, and each takes as long as a block.
static double device_price(const cal_layout* layout) {
    double numbers = 0.0;
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        numbers += 64.0 * (column->is_long ? column->node_count : column->block_count);
        numbers += 2 * CAL_UP_COUNT + 2 * CAL_DOWN_COUNT;
    }
    return numbers * layout->width;
}

// Of a wide column that its parent's lanes pull all at a time: in how many turns, where it does not hang lane under lane. Numbers of one
// lane are turned into rows, for as long as two turns take.
static int count_turns(const cal_column* column) {
    int taken[CAL_MAX_LANES] = {0}, most = 0;
    if (column->parent_lanes == 1) return 2;
    if (column->aligned && column->parent_lanes == column->lanes) return 0;
    for (int k = 0; k < column->pull_count; k++) {
        const int above = column->parent_lane[column->pull_order[k]];
        if (++taken[above] > most) most = taken[above];
    }
    return most;
}

// In nanoseconds of one machine with W = 8, fitted to eighteen models, laid out in both ways, that are right to 15 %; what matters is
// which of two is less. Kinds of joints are the same in both. rounds: in which its lanes' children are gathered.
static double price_column(const cal_column* column, int rounds) {
    const double per_block[] = {60.0, 64.0, 90.0}; // of 2, 4, 8 lanes
    const double per_node = 75.0, per_node_of_chain = 43.0, per_lane = 45.0, per_column = 79.0, per_mixed_lane = 26.0,
                 per_round = 18.0, per_turn = 17.0;
    double price = rounds * per_round;
    if (column->is_long)
        price += column->node_count *
                 (column->kind == CAL_REVOLUTE && column->node_count > 2 ? per_node_of_chain : per_node);
    else
        price += column->block_count * per_block[column->lanes == 2 ? 0 : column->lanes == 4 ? 1 : 2];
    if (column->mixed)
        price += column->lanes * per_mixed_lane;
    else if (column->parent >= 0)
        price += column->lanes >= column->parent_lanes && column->lanes > 1
                     ? per_column + per_turn * count_turns(column)
                     : column->pull_count * per_lane;
    return price;
}

double cal_layout_price_column(const cal_column* column) {
    return price_column(column, column->gathers ? column->most_pulls : 0);
}

double cal_workshop_price(const cal_workshop* shop) {
    const cal_layout* layout = shop->layout;
    if (layout->by_lane) return device_price(layout);
    double price = 0.0;
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        price += price_column(column, column->gathers ? place_pulls(shop, column, NULL) : 0);
    }
    return price;
}

cal_status cal_place_mixed(const cal_workshop* shop) {
    cal_layout* layout = shop->layout;
    int pulls = 0;
    for (int i = 0; i < layout->column_count; i++) {
        cal_column* column = &layout->columns[i];
        if (!column->gathers) continue;
        column->first_pull = pulls;
        column->most_pulls = place_pulls(shop, column, NULL);
        pulls += column->most_pulls * column->lanes;
    }
    layout->parents = cal_allocate((size_t)shop->origin_count, sizeof *layout->parents);
    layout->pulls = cal_allocate((size_t)pulls, sizeof *layout->pulls);
    layout->parent_columns = cal_allocate((size_t)shop->origin_count, sizeof *layout->parent_columns);
    if (!layout->parents || !layout->parent_columns || !layout->pulls) return CAL_NO_MEMORY;
    layout->parent_count = shop->origin_count;
    for (int i = 0; i < shop->origin_count; i++) {
        const cal_column* above = &layout->columns[shop->origins[i].column];
        const size_t lane = (size_t)shop->origins[i].lane;
        layout->parent_columns[i] = shop->origins[i].column;
        layout->parents[i] = layout->by_lane ? above->end_slot + lane : above->row_slot + lane * CAL_DOWN_ROW;
    }
    for (int i = 0; i < pulls; i++) layout->pulls[i] = CAL_NO_ROW;
    for (int i = 0; i < layout->column_count; i++)
        if (layout->columns[i].gathers)
            place_pulls(shop, &layout->columns[i], layout->pulls + layout->columns[i].first_pull);
    return CAL_OK;
}
