// Elements: the binary tree in which parts are joined.
//
// Parts hang from each other as a tree. From every part one *heavy* child goes on, the one with most nodes below it, so that
// paths of parts run from the ground, and from ports, to leaves. A path's side branches are paths themselves; they are
// assembled first and hung on their ports. What is left is a chain of parts with one tip each, which is joined in a balanced
// way:
//
//     path  0 ─ 1 ─ 2 ─ 3      →    (0 1) (2 3)    →    ((0 1) (2 3))
//               └ side               1 with side below or, where 2 hangs from the same port, beside a unit
#include "schedule/schedule.h"

#include "base/memory.h"

#include <string.h>

typedef struct list {
    int32_t* at;
    int count, capacity;
} list;

typedef struct joiner {
    cal_schedule* s;
    int capacity; // of elements
    list tips, names, maps;
    int64_t* weight; // of each part: nodes below it, its own included
    int32_t *heavy, *first_side,
        *next;      // of each part: its heavy child; of each port and part: parts that hang at the side
    int32_t* built; // of each part that begins a path: its element
    list path;
    bool out_of_memory;
} joiner;

static void push(joiner* j, list* l, int32_t value) {
    if (l->count == l->capacity) {
        const int capacity = 2 * l->capacity + 64;
        int32_t* fresh = cal_allocate((size_t)capacity, sizeof *fresh);
        if (!fresh) {
            j->out_of_memory = true;
            return;
        }
        if (l->at) memcpy(fresh, l->at, (size_t)l->count * sizeof *fresh);
        cal_free(l->at);
        l->at = fresh;
        l->capacity = capacity;
    }
    l->at[l->count++] = value;
}

static int rows_of(const joiner* j, int constraint) {
    return cal_constraint_rows(&j->s->model->constraints[constraint], NULL);
}

static cal_element* add_element(joiner* j, cal_element_kind kind, int index) {
    cal_schedule* s = j->s;
    if (s->element_count == j->capacity) {
        const int capacity = 2 * j->capacity + 64;
        cal_element* fresh = cal_allocate((size_t)capacity, sizeof *fresh);
        if (!fresh) {
            j->out_of_memory = true;
            return NULL;
        }
        if (s->elements) memcpy(fresh, s->elements, (size_t)s->element_count * sizeof *fresh);
        cal_free(s->elements);
        s->elements = fresh;
        j->capacity = capacity;
    }
    cal_element* e = &s->elements[s->element_count++];
    *e = (cal_element){.kind = (int32_t)kind,
                       .index = index,
                       .a = -1,
                       .b = -1,
                       .parent = -1,
                       .first_tip = j->tips.count,
                       .first_name = j->names.count,
                       .first_map = j->maps.count};
    return e;
}

static void add_tip(joiner* j, cal_element* e, int port) {
    push(j, &j->tips, port);
    e->tip_count++;
    e->columns += 6;
}

// Where a constraint's rows are among an element's columns; -1: it has none of it.
static int find_name(const joiner* j, const cal_element* e, int constraint) {
    int column = 6 * e->tip_count;
    for (int i = 0; i < e->name_count; i++) {
        const int own = j->names.at[e->first_name + i];
        if (own == constraint) return column;
        column += rows_of(j, own);
    }
    return -1;
}

static void add_name(joiner* j, cal_element* e, int constraint) {
    if (find_name(j, e, constraint) >= 0) return;
    push(j, &j->names, constraint);
    e->name_count++;
    e->row_count += rows_of(j, constraint);
    e->columns += rows_of(j, constraint);
}

static int make_part(joiner* j, int part) {
    cal_element* e = add_element(j, CAL_ELEMENT_PART, part);
    if (!e) return -1;
    const cal_schedule_part* p = &j->s->parts[part];
    for (int i = 0; i < p->port_count; i++) add_tip(j, e, p->first_port + i);
    return j->s->element_count - 1;
}

static int make_unit(joiner* j, int port) {
    cal_element* e = add_element(j, CAL_ELEMENT_UNIT, port);
    if (!e) return -1;
    add_tip(j, e, port);
    return j->s->element_count - 1;
}

// Where the columns of `from` are in `to`; `joined` is the tip of `from` that has been closed, or -1.
static void add_map(joiner* j, const cal_element* from, const cal_element* to, int joined) {
    for (int t = 0; t < from->tip_count; t++) {
        int at = -1;
        for (int k = 0; k < to->tip_count && t != joined; k++)
            if (j->tips.at[to->first_tip + k] == j->tips.at[from->first_tip + t]) at = 6 * k;
        for (int k = 0; k < 6; k++) push(j, &j->maps, at < 0 ? -1 : at + k);
    }
    for (int i = 0; i < from->name_count; i++) {
        const int constraint = j->names.at[from->first_name + i], at = find_name(j, to, constraint);
        for (int k = 0; k < rows_of(j, constraint); k++) push(j, &j->maps, at + k);
    }
}

// Of each column of a join: which of a's and which of b's it is.
static void add_inverse_map(joiner* j, const cal_element* e, int left, int right) {
    for (int o = 0; o < e->columns; o++) {
        int of[2] = {-1, -1};
        for (int i = 0; i < left + right && !j->out_of_memory; i++)
            if (j->maps.at[e->first_map + i] == o) of[i >= left] = i < left ? i : i - left;
        push(j, &j->maps, of[0]);
        push(j, &j->maps, of[1]);
    }
}

static int make_join(joiner* j, cal_element_kind kind, int a, int b, int tip) {
    if (j->out_of_memory || a < 0 || b < 0) return -1;
    cal_element* e = add_element(j, kind, -1);
    if (!e) return -1;
    const cal_element *left = &j->s->elements[a], *right = &j->s->elements[b];
    e->a = a, e->b = b, e->tip = tip;
    e->height = 1 + (left->height > right->height ? left->height : right->height);
    for (int t = 0; t < left->tip_count; t++)
        if (kind != CAL_ELEMENT_BELOW || t != tip) add_tip(j, e, j->tips.at[left->first_tip + t]);
    for (int t = 0; t < right->tip_count; t++) add_tip(j, e, j->tips.at[right->first_tip + t]);
    for (int i = 0; i < left->name_count; i++) add_name(j, e, j->names.at[left->first_name + i]);
    for (int i = 0; i < right->name_count; i++) add_name(j, e, j->names.at[right->first_name + i]);
    e->first_map = j->maps.count;
    add_map(j, left, e, kind == CAL_ELEMENT_BELOW ? tip : -1);
    add_map(j, right, e, -1);
    add_inverse_map(j, e, left->columns, right->columns);
    return j->s->element_count - 1;
}

static int find_tip(const joiner* j, int element, int port) {
    const cal_element* e = &j->s->elements[element];
    for (int t = 0; t < e->tip_count; t++)
        if (j->tips.at[e->first_tip + t] == port) return t;
    return 0;
}

static int beside(joiner* j, int a, int b) {
    return a < 0 ? b : b < 0 ? a : make_join(j, CAL_ELEMENT_BESIDE, a, b, -1);
}

// The constraints that act on a port, as an element; -1: none do.
static int make_rows(joiner* j, int port) {
    const cal_schedule* s = j->s;
    int element = -1;
    for (int c = 0; c < s->model->constraint_count; c++) {
        int32_t nodes[8];
        const int count = cal_schedule_touched(s->model, c, nodes);
        for (int i = 0; i < count; i++) {
            if (s->place[nodes[i]] != s->ports[port].node) continue;
            if (element < 0) {
                if (!add_element(j, CAL_ELEMENT_ROWS, port)) return -1;
                element = s->element_count - 1;
            }
            add_name(j, &j->s->elements[element], c);
        }
    }
    return element;
}

// One part of a path with everything that hangs at its side.
static int attach_rows(joiner* j, int part, const int32_t* rows_of_port) {
    const cal_schedule* s = j->s;
    const cal_schedule_part* p = &s->parts[part];
    const int heavy_port = j->heavy[part] >= 0 ? s->parts[j->heavy[part]].base_port : -1;
    int element = make_part(j, part);
    for (int port = p->first_port; port < p->first_port + p->port_count && !j->out_of_memory; port++) {
        int side = rows_of_port[port];
        for (int child = j->first_side[port]; child >= 0; child = j->next[child])
            side = beside(j, side, j->built[child]);
        if (side < 0) continue;
        if (port == heavy_port) side = beside(j, side, make_unit(j, port));
        element = make_join(j, CAL_ELEMENT_BELOW, element, side, find_tip(j, element, port));
    }
    return element;
}

// Joins elements first … last of the path, each of which has the port of the next one as a tip.
static int balance(joiner* j, int first, int last) {
    if (j->out_of_memory) return -1;
    if (first == last) return j->path.at[2 * first];
    const int middle = first + (last - first) / 2;
    const int a = balance(j, first, middle), b = balance(j, middle + 1, last);
    if (a < 0 || b < 0) return -1;
    return make_join(j, CAL_ELEMENT_BELOW, a, b, find_tip(j, a, j->s->parts[j->path.at[2 * middle + 3]].base_port));
}

static void build_path(joiner* j, int head, const int32_t* rows_of_port) {
    j->path.count = 0;
    for (int part = head; part >= 0 && !j->out_of_memory; part = j->heavy[part]) {
        push(j, &j->path, attach_rows(j, part, rows_of_port));
        push(j, &j->path, part);
    }
    if (!j->out_of_memory) j->built[head] = balance(j, 0, j->path.count / 2 - 1);
}

static void find_paths(joiner* j) {
    const cal_schedule* s = j->s;
    for (int p = 0; p < s->part_count; p++) j->heavy[p] = -1, j->weight[p] = s->parts[p].nodes;
    for (int p = s->part_count - 1; p >= 0; p--) {
        if (s->parts[p].base_port < 0) continue;
        const int above = s->ports[s->parts[p].base_port].part;
        j->weight[above] += j->weight[p];
        if (j->heavy[above] < 0 || j->weight[p] >= j->weight[j->heavy[above]]) j->heavy[above] = p;
    }
    for (int port = 0; port < s->port_count; port++) j->first_side[port] = -1;
    for (int p = s->part_count - 1; p >= 0; p--) {
        const int port = s->parts[p].base_port;
        if (port < 0 || j->heavy[s->ports[port].part] == p) continue;
        j->next[p] = j->first_side[port];
        j->first_side[port] = p;
    }
}

// All trees that constraints bind together, and each of the others by itself.
static cal_status find_roots(joiner* j) {
    cal_schedule* s = j->s;
    int count = 0, bound = -1;
    for (int p = 0; p < s->part_count; p++) count += s->parts[p].base_port < 0;
    s->roots = cal_allocate((size_t)count, sizeof *s->roots);
    if (!s->roots) return CAL_NO_MEMORY;
    for (int p = 0; p < s->part_count; p++) {
        if (s->parts[p].base_port >= 0) continue;
        if (s->elements[j->built[p]].name_count > 0)
            bound = beside(j, bound, j->built[p]);
        else
            s->roots[s->root_count++] = j->built[p];
    }
    if (j->out_of_memory) return CAL_NO_MEMORY;
    if (bound >= 0) s->roots[s->root_count++] = bound;
    for (int i = 0; i < s->root_count; i++) s->elements[s->roots[i]].based = true;
    return CAL_OK;
}

// Operations of a join below, of elements with so many columns: b's, and a's other ones.
static double below_work(double below, double other) {
    const double pairs = (below + other) * (below + other + 1.0);
    // J and K: two roots, Λ G, 1 + Gᵀ Λ G, C⁻¹ Gᵀ and its square each; E J Eᵀ; columns of b and of a; all pairs; the way back.
    return 2.0 * (2.0 * (2.0 * 56.0 + 126.0 + 91.0 + 126.0 + 126.0) + 342.0) + 2.0 * (144.0 * below + 72.0 * other) +
           6.0 * pairs + 2.0 * (150.0 + 6.0 * (below + other));
}

// Operations of one join of elements with so many columns.
static double join_work(const cal_schedule* s, const cal_element* e) {
    if (e->kind != CAL_ELEMENT_BELOW && e->kind != CAL_ELEMENT_BESIDE) return 0.0;
    const double below = s->elements[e->b].columns,
                 other = s->elements[e->a].columns - 6.0 * (e->kind == CAL_ELEMENT_BELOW);
    if (e->kind == CAL_ELEMENT_BESIDE) return 27.0 + (below + other) * (below + other + 1.0) / 2.0;
    return below_work(below, other);
}

// What is known of elements when all are there.
static void add_totals(cal_schedule* s) {
    for (int i = 0; i < s->element_count; i++) {
        cal_element* e = &s->elements[i];
        e->work = join_work(s, e);
        s->joins += e->work;
        if (e->height > s->height) s->height = e->height;
        if (e->kind == CAL_ELEMENT_PART) s->parts[e->index].element = i;
        if (e->a >= 0) s->elements[e->a].parent = s->elements[e->b].parent = i;
    }
}

static cal_status join_all(joiner* j) {
    cal_schedule* s = j->s;
    const size_t parts = (size_t)s->part_count, ports = (size_t)s->port_count;
    j->weight = cal_allocate(parts, sizeof *j->weight);
    j->heavy = cal_allocate(3 * parts + 2 * ports + 1, sizeof *j->heavy);
    if (!j->weight || !j->heavy) return CAL_NO_MEMORY;
    j->next = j->heavy + parts, j->built = j->next + parts, j->first_side = j->built + parts;
    int32_t* rows_of_port = j->first_side + ports;
    for (size_t i = 0; i < parts; i++) j->next[i] = j->built[i] = -1;
    find_paths(j);
    for (int port = 0; port < s->port_count; port++) rows_of_port[port] = -1;
    for (int c = 0; c < s->model->constraint_count && s->loops; c++) {
        int32_t nodes[8];
        const int count = cal_schedule_touched(s->model, c, nodes);
        for (int i = 0; i < count; i++) {
            const int port = s->port_of_node[s->place[nodes[i]]];
            if (rows_of_port[port] < 0) rows_of_port[port] = make_rows(j, port);
        }
    }
    // Parts that hang from others come after them, so all paths below a head have been built when it is its turn.
    for (int p = s->part_count - 1; p >= 0 && !j->out_of_memory; p--) {
        const int port = s->parts[p].base_port;
        if (port < 0 || j->heavy[s->ports[port].part] != p) build_path(j, p, rows_of_port);
    }
    cal_status status = j->out_of_memory ? CAL_NO_MEMORY : find_roots(j);
    return status;
}

cal_status cal_schedule_join(cal_schedule* s) {
    joiner j = {.s = s};
    const cal_status status = join_all(&j);
    s->tips = j.tips.at, s->names = j.names.at, s->maps = j.maps.at;
    cal_free(j.weight);
    cal_free(j.heavy);
    cal_free(j.path.at);
    if (status == CAL_OK) add_totals(s);
    return status;
}
