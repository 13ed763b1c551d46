// Who assembles what: parts and joins of processors, what they send each other, how long that takes, and what of it is done
// together in lanes.
//
// A part is the processor's whose its root is. Of two elements the one that is ready later has the join, and the other one is
// sent to it; what comes back on disassembly goes the same way. So every processor has a few elements of each height:
//
//     height 2          (01 23)                    0
//                      ╱      ╲
//     height 1      (0 1)    (2 3)               0    2
//                   ╱  ╲     ╱  ╲
//     parts        0    1   2    3              0 1  2 3
//
// Every processor has its own height by height: inbound all that an element waits for is lower, outbound it is higher; so none
// can wait for something that will not come.
//
// Rows of constraints all belong to one processor, the one that has their element on the ground: a constraint between two
// bodies needs to know where both are.
#include "schedule/schedule.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- Owners -----------------------------------------------------------------------------------------------------------------

cal_status cal_schedule_deal(cal_schedule* s, int processors) {
    double total = 0.0, done = 0.0;
    for (int p = 0; p < s->part_count; p++) total += s->parts[p].place + s->parts[p].assemble;
    // Fewer processors than parts get runs of parts; the middle of a part's work says whose it is.
    for (int p = 0; p < s->part_count; p++) {
        const cal_schedule_part* part = &s->parts[p];
        const double work = part->place + part->assemble;
        int owner = s->part_count <= processors ? p : (int)((done + 0.5 * work) / total * processors);
        if (owner >= processors) owner = processors - 1;
        done += work;
        for (int n = part->root; n < part->root + part->nodes; n++) s->processor[n] = owner;
    }
    return cal_schedule_adopt(s);
}

// The time at which each element is assembled and its processor is free again; who: of each element. Where it chooses, rows
// are nobody's, and a join is its later element's. Returns the last of these times.
static double play(const cal_schedule* s, double operation, double message, double* free, double* ready, int32_t* who,
                   bool chooses) {
    double placed = 0.0, last = 0.0;
    // Where the bases are: all parts with tips, then up and down the joins.
    for (int p = 0; p < s->part_count; p++) free[s->processor[s->parts[p].root]] += s->parts[p].place * operation;
    for (int p = 0; p < s->processors; p++) placed = fmax(placed, free[p]);
    if (s->port_count > 0) placed += 2.0 * s->height * (message * (s->processors > 1) + 100.0 * operation);
    for (int p = 0; p < s->processors; p++) free[p] = placed;
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[i];
        double start = 0.0;
        if (e->kind == CAL_ELEMENT_ROWS || e->kind == CAL_ELEMENT_UNIT) {
            if (chooses) who[i] = e->kind == CAL_ELEMENT_ROWS ? -1 : s->processor[s->ports[e->index].node];
            ready[i] = placed;
            continue;
        }
        if (e->kind == CAL_ELEMENT_PART) {
            who[i] = s->processor[s->parts[e->index].root];
        } else {
            const int late = who[e->b] < 0 || (who[e->a] >= 0 && ready[e->a] >= ready[e->b]) ? e->a : e->b;
            if (chooses) who[i] = who[late];
            if (who[i] < 0) continue;
            start = fmax(ready[e->a] + (who[e->a] != who[i] ? message : 0.0),
                         ready[e->b] + (who[e->b] != who[i] ? message : 0.0));
        }
        const double work = e->kind == CAL_ELEMENT_PART ? s->parts[e->index].assemble : e->work;
        ready[i] = fmax(start, free[who[i]]) + work * operation;
        free[who[i]] = ready[i];
        last = fmax(last, ready[i]);
    }
    return last;
}

// The processor that reads the coupled joints, where there are some: parts that have one are its own (cal_schedule_adopt_parts).
static int coupled_processor(const cal_schedule* s) {
    for (int c = 0; c < s->model->constraint_count && s->loops; c++)
        for (int i = 0; i < 2 && s->model->constraints[c].kind == CAL_COUPLING; i++)
            if (s->model->constraints[c].joint[i] >= 0)
                return s->processor[s->forest.joints[s->model->constraints[c].joint[i]].node];
    return -1;
}

cal_status cal_schedule_adopt(cal_schedule* s) {
    s->processors = 1;
    s->split = false;
    for (int n = 0; n < s->forest.node_count; n++) {
        if (s->processor[n] >= s->processors) s->processors = s->processor[n] + 1;
        if (s->forest.nodes[n].parent >= 0 && s->processor[n] != s->processor[s->forest.nodes[n].parent])
            s->split = true;
    }
    double* free = cal_allocate((size_t)s->processors + (size_t)s->element_count, sizeof *free);
    int32_t* who = cal_allocate((size_t)s->element_count, sizeof *who);
    const bool room = free && who;
    if (room) {
        play(s, 1.0, 0.0, free, free + s->processors, who, true);
        const int coupled = coupled_processor(s);
        s->ground = 0;
        for (int i = 0; i < s->root_count; i++) {
            const int root = s->roots[i];
            if (s->elements[root].name_count == 0) continue;
            if (coupled >= 0) who[root] = coupled;
            s->ground = who[root] < 0 ? 0 : who[root];
        }
        s->crossing_count = 0;
        for (int i = 0; i < s->element_count; i++) s->elements[i].processor = who[i] < 0 ? s->ground : who[i];
        for (int i = 0; i < s->element_count; i++) {
            cal_element* e = &s->elements[i];
            const bool crosses = e->parent >= 0 && s->elements[e->parent].processor != e->processor;
            e->crossing = crosses ? s->crossing_count++ : -1;
        }
    }
    cal_free(free);
    cal_free(who);
    return room ? CAL_OK : CAL_NO_MEMORY;
}

cal_status cal_schedule_adopt_parts(cal_schedule* s) {
    const int coupled = coupled_processor(s);
    for (int p = 0; p < s->part_count; p++) {
        const cal_schedule_part* part = &s->parts[p];
        int owner = s->processor[part->root];
        for (int c = 0; c < s->model->constraint_count && coupled >= 0; c++)
            for (int i = 0; i < 2 && s->model->constraints[c].kind == CAL_COUPLING; i++) {
                const int joint = s->model->constraints[c].joint[i];
                const int node = joint < 0 ? -1 : s->forest.joints[joint].node;
                if (node >= part->root && node < part->root + part->nodes) owner = coupled;
            }
        for (int n = part->root; n < part->root + part->nodes; n++) s->processor[n] = owner;
    }
    return cal_schedule_adopt(s);
}

// --- How long, and how much is sent -------------------------------------------------------------------------------------------

double cal_schedule_price(const cal_schedule* s, double operation, double message) {
    double* free = cal_allocate((size_t)s->processors + (size_t)s->element_count, sizeof *free);
    int32_t* who = cal_allocate((size_t)s->element_count, sizeof *who);
    double last = 0.0;
    if (free && who) {
        for (int i = 0; i < s->element_count; i++) who[i] = s->elements[i].processor;
        last = play(s, operation, message, free, free + s->processors, who, false);
        if (s->processors > 1) last += s->height * message; // disassembly
    }
    cal_free(free);
    cal_free(who);
    return last;
}

void cal_schedule_traffic(const cal_schedule* s, int64_t* messages, int64_t* doubles) {
    *messages = *doubles = 0;
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[i];
        if (e->crossing < 0) continue;
        *messages += 3 + (e->tip_count > 0);
        *doubles += 24 * ((int64_t)e->tip_count + 1) + (int64_t)cal_element_size(e) + 6 + e->columns;
    }
}

// --- Batches ------------------------------------------------------------------------------------------------------------------

// What elements that are joined in lanes have in common; those with rows are joined one by one.
typedef struct shape {
    int32_t processor, height, kind, a, b, tip, index;
} shape;

static int compare_shapes(const void* left, const void* right) {
    const int32_t *a = &((const shape*)left)->processor, *b = &((const shape*)right)->processor;
    for (size_t i = 0; i < sizeof(shape) / sizeof *a; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static shape shape_of(const cal_schedule* s, int index) {
    const cal_element* e = &s->elements[index];
    shape own = {.processor = e->processor, .height = e->height, .kind = e->kind, .index = index};
    if (e->a >= 0) own.a = s->elements[e->a].columns, own.b = s->elements[e->b].columns, own.tip = e->tip;
    return own;
}

static bool belong_together(const cal_schedule* s, const shape* first, const shape* next) {
    if (s->elements[first->index].name_count > 0 || s->elements[next->index].name_count > 0) return false;
    return first->processor == next->processor && first->height == next->height && first->kind == next->kind &&
           first->a == next->a && first->b == next->b && first->tip == next->tip;
}

static void place_numbers(cal_schedule* s, int keep) {
    s->number_count = 0;
    for (int i = 0; i < s->element_count; i++) {
        cal_element* e = &s->elements[i];
        const bool here = keep == CAL_KEEP_ALL || e->processor == keep ||
                          (e->parent >= 0 && s->elements[e->parent].processor == keep);
        if (!here) continue;
        size_t total = s->number_count;
        e->numbers = total, total += cal_element_size(e);
        e->join = total, total += e->kind == CAL_ELEMENT_BELOW ? CAL_JOIN_NUMBERS : 0;
        e->tip_motion = total, total += 24 * (size_t)e->tip_count;
        e->motion = total, total += 24;
        e->base = total, total += 6;
        e->force = total, total += (size_t)e->columns;
        s->number_count = (total + 7) / 8 * 8;
    }
}

cal_status cal_schedule_arrange(cal_schedule* s, int width, int keep) {
    const size_t count = (size_t)s->element_count;
    shape* shapes = cal_allocate(count, sizeof *shapes);
    s->order = cal_allocate(count, sizeof *s->order);
    s->batches = cal_allocate(count, sizeof *s->batches);
    s->first_batch = cal_allocate((size_t)s->processors + 1, sizeof *s->first_batch);
    if (!shapes || !s->order || !s->batches || !s->first_batch) {
        cal_free(shapes);
        return CAL_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) shapes[i] = shape_of(s, (int)i);
    qsort(shapes, count, sizeof *shapes, compare_shapes);
    int batches = 0;
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[shapes[i].index];
        cal_join_batch* last = batches > 0 ? &s->batches[batches - 1] : NULL;
        s->order[i] = shapes[i].index;
        if (last && last->count < width && belong_together(s, &shapes[last->first], &shapes[i]))
            last->count++;
        else
            s->batches[batches++] = (cal_join_batch){.first = i, .count = 1};
        for (int p = e->processor + 1; p <= s->processors; p++) s->first_batch[p] = batches;
        if (e->a < 0) continue;
        // Both elements and what becomes of them, and 12 doubles a column; lane beside lane.
        const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
        const size_t columns = 12 * ((size_t)a->columns + (size_t)b->columns);
        const size_t doubles = e->name_count > 0 ? columns
                                                 : (size_t)width * (columns + CAL_JOIN_NUMBERS + cal_element_size(a) +
                                                                    cal_element_size(b) + cal_element_size(e));
        if (doubles > s->batch_doubles) s->batch_doubles = (doubles + 7) / 8 * 8;
    }
    cal_free(shapes);
    place_numbers(s, keep);
    return CAL_OK;
}
