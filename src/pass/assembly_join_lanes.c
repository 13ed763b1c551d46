// Joins of one width: batches of a schedule (schedule/schedule.h), W elements at a time. Compiled once for each width (aba_lanes.c
// says how).
#include "pass/assembly.h"

#include <float.h>
#include <string.h>

#define CAL_BODY "pass/assembly_join_body.h"
#define CAL_COLUMNS "pass/assembly_join_batches.h"
#include "pass/each_width.h"

static double* numbers_of(const cal_assembly* assembly, int element) {
    return assembly->numbers + assembly->schedule->elements[element].numbers;
}

// I and p add up, columns are put together, and those of a row that both have are added.
static void join_beside(const cal_assembly* assembly, const cal_element* e) {
    const cal_schedule* s = assembly->schedule;
    const int32_t* map = s->maps + e->first_map;
    double *out = assembly->numbers + e->numbers, *E = out + CAL_ELEMENT_COLUMNS, *c = E + 6 * e->columns,
           *L = c + e->columns;
    memset(out, 0, cal_element_size(e) * sizeof *out);
    for (int side = 0; side < 2; side++) {
        const int index = side ? e->b : e->a, count = s->elements[index].columns;
        const double *own = numbers_of(assembly, index), *own_E = own + CAL_ELEMENT_COLUMNS, *own_c = own_E + 6 * count,
                     *own_L = own_c + count;
        for (int i = 0; i < CAL_ELEMENT_COLUMNS; i++) out[i] += own[i];
        for (int i = 0; i < count; i++) {
            for (int m = 0; m < 6; m++) E[6 * map[i] + m] += own_E[6 * i + m];
            c[map[i]] += own_c[i];
            for (int j = 0; j < count; j++)
                if (map[i] >= map[j])
                    L[cal_packed((size_t)map[i], (size_t)map[j])] += own_L[cal_packed((size_t)i, (size_t)j)];
        }
        map += count;
    }
}

// With as many lanes as a batch has use for.
#if CAL_WIDTH == 8
#define RUN_BATCH(name, assembly, members, count, work)                                                                \
    ((count) == 1 ? name##_1 : (count) <= 4 ? name##_4 : name##_8)((assembly), (members), (count), (work))
#else
#define RUN_BATCH(name, assembly, members, count, work)                                                                \
    ((count) == 1 ? name##_1 : WIDE(name))((assembly), (members), (count), (work))
#endif

static double* scratch_of(const cal_assembly* assembly, const cal_element* e) {
    return assembly->work + (size_t)e->processor * assembly->work_size;
}

void KERNEL(cal_join_inbound)(const cal_context* context, int index) {
    if (!cal_assembly_begin_batch(context, index, false)) return;
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* s = assembly->schedule;
    const cal_batch* batch = &s->batches[index];
    const int32_t* members = s->order + batch->first;
    const cal_element* first = &s->elements[members[0]];
    if (first->kind == CAL_ELEMENT_BELOW)
        RUN_BATCH(join_batch, assembly, members, batch->count, scratch_of(assembly, first));
    else
        for (int i = 0; i < batch->count; i++) join_beside(assembly, &s->elements[members[i]]);
}

// What is known of both elements: forces on columns that are still open, and how a's base, or both, are accelerated.
static void pass_on(const cal_assembly* assembly, const cal_element* e) {
    const cal_element *a = &assembly->schedule->elements[e->a], *b = &assembly->schedule->elements[e->b];
    const int32_t* map = assembly->schedule->maps + e->first_map;
    const double *base = assembly->numbers + e->base, *known = assembly->numbers + e->force;
    double *a_force = assembly->numbers + a->force, *b_force = assembly->numbers + b->force;
    memcpy(assembly->numbers + a->base, base, 6 * sizeof *base);
    if (e->kind == CAL_ELEMENT_BESIDE) memcpy(assembly->numbers + b->base, base, 6 * sizeof *base);
    for (int i = 0; i < a->columns; i++) a_force[i] = map[i] < 0 ? 0.0 : known[map[i]];
    for (int i = 0; i < b->columns; i++) b_force[i] = known[map[a->columns + i]];
}

void KERNEL(cal_join_outbound)(const cal_context* context, int index) {
    if (!cal_assembly_begin_batch(context, index, true)) return;
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* s = assembly->schedule;
    const cal_batch* batch = &s->batches[index];
    const int32_t* members = s->order + batch->first;
    const cal_element* first = &s->elements[members[0]];
    for (int i = 0; i < batch->count; i++) pass_on(assembly, &s->elements[members[i]]);
    if (first->kind == CAL_ELEMENT_BELOW)
        RUN_BATCH(part_batch, assembly, members, batch->count, scratch_of(assembly, first));
}
