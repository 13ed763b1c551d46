// Joins of one width: batches of a schedule (schedule/schedule.h), W elements at a time. Compiled once for each width (aba_lanes.c
// says how).
#include "pass/assembly_elements.h"

#include <float.h>

#define CAL_BODY "pass/assembly_join_body.h"
#define CAL_COLUMNS "pass/assembly_join_batches.h"
#include "pass/each_width.h"

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
    const cal_join_batch* batch = &s->batches[index];
    const int32_t* members = s->order + batch->first;
    const cal_element* first = &s->elements[members[0]];
    if (first->kind == CAL_ELEMENT_BELOW)
        RUN_BATCH(join_batch, assembly, members, batch->count, scratch_of(assembly, first));
    else
        for (int i = 0; i < batch->count; i++) join_beside(assembly, &s->elements[members[i]]);
}

void KERNEL(cal_join_outbound)(const cal_context* context, int index) {
    if (!cal_assembly_begin_batch(context, index, true)) return;
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_schedule* s = assembly->schedule;
    const cal_join_batch* batch = &s->batches[index];
    const int32_t* members = s->order + batch->first;
    const cal_element* first = &s->elements[members[0]];
    for (int i = 0; i < batch->count; i++) pass_on(assembly, &s->elements[members[i]]);
    if (first->kind == CAL_ELEMENT_BELOW)
        RUN_BATCH(part_batch, assembly, members, batch->count, scratch_of(assembly, first));
}
