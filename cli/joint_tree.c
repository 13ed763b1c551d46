// A model's joints as a tree, and who computes them drawn in characters.
//
// A *chain* is a run of joints on one processor, each the only child of the one before. Chains are *alike* when they are
// equally long and the chains below them are alike, as many of them on the chain's own processor and elsewhere. What one
// processor has as a whole, and would take many lines, is one: "tree of 68".
#include "joint_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 60, MOST_WHOLE_LINES = 6, LABEL_WIDTH = 52, MOST_RANGES = 6 };

void cal_joint_tree_destroy(cal_joint_tree* tree) {
    free(tree->parent);
    free(tree->first_child);
    free(tree->next_sibling);
    free(tree->order);
}

static void find_parents(const cal_model* model, const int32_t* last_of_body, int32_t* parent) {
    int previous_body = CAL_NONE;
    for (int joint = 0; joint < cal_model_joint_count(model); joint++) {
        cal_joint_def joint_def;
        cal_body_def def;
        int body;
        cal_model_joint(model, joint, &joint_def, &body, NULL, NULL);
        if (body == previous_body) {
            parent[joint] = joint - 1;
            continue;
        }
        previous_body = body;
        cal_model_body(model, body, &def);
        while (def.parent >= 0 && last_of_body[def.parent] < 0) cal_model_body(model, def.parent, &def);
        parent[joint] = def.parent >= 0 ? last_of_body[def.parent] : -1;
    }
}

static void write_order(cal_joint_tree* tree) {
    int written = 0;
    for (int joint = tree->first_child[0]; joint >= 0;) {
        tree->order[written++] = joint;
        int next = tree->first_child[joint + 1];
        for (; next < 0 && joint >= 0; joint = tree->parent[joint]) next = tree->next_sibling[joint];
        joint = next;
    }
}

bool cal_joint_tree_create(const cal_model* model, cal_joint_tree* out) {
    const int count = cal_model_joint_count(model);
    const size_t size = (size_t)count + 1;
    *out = (cal_joint_tree){count, calloc(size, sizeof(int32_t)), calloc(size, sizeof(int32_t)),
                            calloc(size, sizeof(int32_t)), calloc(size, sizeof(int32_t))};
    int32_t* last_of_body = calloc((size_t)cal_model_body_count(model) + 1, sizeof *last_of_body);
    const bool complete = out->parent && out->first_child && out->next_sibling && out->order && last_of_body;
    if (complete) {
        for (int body = 0; body < cal_model_body_count(model); body++) last_of_body[body] = -1;
        for (int joint = 0; joint < count; joint++) {
            cal_joint_def def;
            int body;
            cal_model_joint(model, joint, &def, &body, NULL, NULL);
            last_of_body[body] = joint;
        }
        find_parents(model, last_of_body, out->parent);
        for (int i = 0; i <= count; i++) out->first_child[i] = -1;
        for (int joint = count - 1; joint >= 0; joint--) {
            out->next_sibling[joint] = out->first_child[out->parent[joint] + 1];
            out->first_child[out->parent[joint] + 1] = joint;
        }
        write_order(out);
    }
    free(last_of_body);
    return complete;
}

// --- Drawing ----------------------------------------------------------------------------------------------------------

typedef struct chain {
    int32_t first, last;  // joints
    int32_t length, size; // of the chain; of everything from it on, in joints
    bool local;           // on the processor of the chain above
    bool whole;           // everything from it on is on its processor
    uint64_t likeness;
} chain;

typedef struct picture {
    const cal_joint_tree* tree;
    const cal_model* model;
    const int32_t* processors;
    chain* chains;    // by first joint
    int32_t* scratch; // processors of a group
    int lines, most_lines;
    bool counts;     // lines only, nothing is printed
    int64_t undrawn; // joints
} picture;

static bool continues(const picture* p, int joint) {
    const int parent = p->tree->parent[joint];
    return parent >= 0 && p->tree->next_sibling[joint] < 0 && p->tree->first_child[parent + 1] == joint &&
           p->processors[parent] == p->processors[joint];
}

static uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

// The likeness of children is summed, so that their order does not matter.
static void compare_chains(picture* p) {
    const cal_joint_tree* tree = p->tree;
    for (int i = tree->count - 1; i >= 0; i--) {
        const int joint = tree->order[i], child = tree->first_child[joint + 1];
        chain* own = &p->chains[joint];
        if (child >= 0 && continues(p, child)) {
            *own = p->chains[child];
            own->length++;
            own->size++;
        } else {
            *own = (chain){.last = joint, .length = 1, .size = 1, .whole = true};
            for (int c = child; c >= 0; c = tree->next_sibling[c]) {
                own->size += p->chains[c].size;
                own->whole &= p->chains[c].whole && p->chains[c].local;
                own->likeness += mix(p->chains[c].likeness + 2 * (uint64_t)p->chains[c].length + p->chains[c].local);
            }
            own->likeness = mix(own->likeness);
        }
        const int parent = tree->parent[joint];
        own->first = joint;
        own->local = parent >= 0 && p->processors[parent] == p->processors[joint];
    }
}

static int by_likeness(const void* a, const void* b) {
    const chain *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    if (x->length != y->length) return x->length < y->length ? 1 : -1;
    if (x->local != y->local) return x->local ? -1 : 1;
    if (x->likeness != y->likeness) return x->likeness < y->likeness ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static bool alike(const chain* x, const chain* y) {
    return x->length == y->length && x->size == y->size && x->local == y->local && x->likeness == y->likeness;
}

static int by_number(const void* a, const void* b) {
    const int32_t x = *(const int32_t*)a, y = *(const int32_t*)b;
    return (x > y) - (x < y);
}

static void print_processors(picture* p, const chain* group, int count) {
    for (int i = 0; i < count; i++) p->scratch[i] = p->processors[group[i].first];
    qsort(p->scratch, (size_t)count, sizeof *p->scratch, by_number);
    int unique = 0;
    for (int i = 0; i < count; i++)
        if (unique == 0 || p->scratch[i] != p->scratch[unique - 1]) p->scratch[unique++] = p->scratch[i];
    if (unique > 0 && p->scratch[0] == CAL_EVERY_PROCESSOR) {
        printf("every processor below\n"); // alike chains are so alike
        return;
    }
    printf("processor%s ", unique > 1 ? "s" : "");
    for (int i = 0, ranges = 0; i < unique; ranges++) {
        int last = i;
        while (last + 1 < unique && p->scratch[last + 1] == p->scratch[last] + 1) last++;
        if (ranges == MOST_RANGES) {
            printf(" and %d more", unique - i);
            break;
        }
        printf("%s%d", i > 0 ? ", " : "", p->scratch[i]);
        if (last > i) printf("%s%d", last == i + 1 ? ", " : "…", p->scratch[last]);
        i = last + 1;
    }
    printf("\n");
}

// times: how many of the group hang on each chain above.
static void print_group(picture* p, const char* indent, const char* branch, const chain* group, int count, int times,
                        bool folded) {
    char label[256], name[2][64];
    cal_model_joint_name(p->model, group->first, name[0], sizeof name[0]);
    cal_model_joint_name(p->model, group->last, name[1], sizeof name[1]);
    if (folded && count > 1)
        snprintf(label, sizeof label, "%d × tree of %d", times, group->size);
    else if (folded)
        snprintf(label, sizeof label, "tree of %d: %s …", group->size, name[0]);
    else if (count > 1 && group->length > 1)
        snprintf(label, sizeof label, "%d × chain of %d", times, group->length);
    else if (count > 1)
        snprintf(label, sizeof label, "%d × joint", times);
    else if (group->length > 1)
        snprintf(label, sizeof label, "chain of %d: %s … %s", group->length, name[0], name[1]);
    else
        snprintf(label, sizeof label, "%s", name[0]);
    int width = 0;
    const char* const parts[] = {indent, branch, label};
    for (int i = 0; i < 3; i++) {
        fputs(parts[i], stdout);
        for (const char* c = parts[i]; *c; c++) width += ((unsigned char)*c & 0xc0) != 0x80;
    }
    printf("%*s", width < LABEL_WIDTH - 2 ? LABEL_WIDTH - width : 2, "");
    print_processors(p, group, count);
}

static bool draw_below(picture* p, const chain* group, int count, const char* indent);

// Whether a group is better drawn as one line.
static bool is_folded(const picture* p, const chain* group, int count) {
    if (p->counts || !group->whole) return false;
    picture counter = *p;
    counter.counts = true;
    counter.lines = 0;
    counter.most_lines = MOST_WHOLE_LINES + 1;
    return draw_below(&counter, group, count, "") && counter.lines > MOST_WHOLE_LINES;
}

// Draws what hangs below a group of chains that are alike (NULL: the ground), group by group.
static bool draw_below(picture* p, const chain* group, int count, const char* indent) {
    const cal_joint_tree* tree = p->tree;
    int total = 0;
    for (int i = 0; i < count; i++)
        for (int c = tree->first_child[group ? group[i].last + 1 : 0]; c >= 0; c = tree->next_sibling[c]) total++;
    if (total == 0) return true;
    chain* below = calloc((size_t)total, sizeof *below);
    char* deeper = calloc(strlen(indent) + 8, 1);
    bool complete = below && deeper;
    int written = 0;
    for (int i = 0; complete && i < count; i++)
        for (int c = tree->first_child[group ? group[i].last + 1 : 0]; c >= 0; c = tree->next_sibling[c])
            below[written++] = p->chains[c];
    if (complete) qsort(below, (size_t)total, sizeof *below, by_likeness);
    for (int i = 0; complete && i < total;) {
        int end = i + 1;
        while (end < total && alike(&below[i], &below[end])) end++;
        if (p->lines >= p->most_lines) {
            for (int k = i; k < total; k++) p->undrawn += below[k].size;
            break;
        }
        const bool last = end == total, folded = is_folded(p, &below[i], end - i);
        if (!p->counts)
            print_group(p, indent, !group ? "" : last ? "└─ " : "├─ ", &below[i], end - i, (end - i) / count, folded);
        p->lines++;
        sprintf(deeper, "%s%s", indent, !group ? "" : last ? "   " : "│  ");
        complete = folded || draw_below(p, &below[i], end - i, deeper);
        i = end;
    }
    free(below);
    free(deeper);
    return complete;
}

bool cal_joint_tree_draw(const cal_joint_tree* tree, const cal_model* model, const int32_t* processor_of_joint) {
    picture p = {.tree = tree, .model = model, .processors = processor_of_joint, .most_lines = MOST_LINES};
    p.chains = calloc((size_t)tree->count + 1, sizeof *p.chains);
    p.scratch = calloc((size_t)tree->count + 1, sizeof *p.scratch);
    bool complete = p.chains && p.scratch;
    if (complete) {
        compare_chains(&p);
        complete = draw_below(&p, NULL, 1, "");
        if (p.undrawn > 0) printf("… and %lld more joints\n", (long long)p.undrawn);
    }
    free(p.chains);
    free(p.scratch);
    return complete;
}
