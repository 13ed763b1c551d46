// Assembly in a device's memory: the schedule's elements by height, where ports are in the lanes of columns, and what a state has for
// them. Only what kernels read is there.
#include "base/memory.h"
#include "cuda/device_plan.h"
#include "pass/assembly.h"

// Elements by height, which the schedule's order has already: a device is one processor.
static cal_status find_heights(cal_device_schedule* own, const cal_schedule* s) {
    own->height_count = s->elements[s->order[s->element_count - 1]].height + 1;
    own->height = cal_allocate((size_t)own->height_count + 1, sizeof *own->height);
    if (!own->height) return CAL_NO_MEMORY;
    for (int i = 0; i < s->element_count; i++) own->height[s->elements[s->order[i]].height + 1]++;
    for (int h = 0; h < own->height_count; h++) {
        const int count = own->height[h + 1];
        if (count > CAL_LAST_JOINS) own->last = h + 1;
        if (h > 0 && (size_t)count > own->thread_count) own->thread_count = (size_t)count;
        own->height[h + 1] += own->height[h];
    }
    return CAL_OK;
}

// Joins leave 12 numbers for each column while they work; returns how many maps there are.
static size_t find_sizes(cal_device_schedule* own, const cal_schedule* s) {
    size_t maps = 0;
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[i];
        if (e->a < 0) continue;
        const size_t columns = (size_t)s->elements[e->a].columns + (size_t)s->elements[e->b].columns;
        if (12 * columns > own->work_size) own->work_size = 12 * columns;
        const size_t end = (size_t)e->first_map + columns + 2 * (size_t)e->columns;
        if (end > maps) maps = end;
    }
    return maps;
}

static void copy_schedule(cal_device_schedule* own, cal_device_plan* plan, const cal_schedule* s) {
    cal_device* device = plan->device;
    cal_device_memory_list* memory = &plan->memory;
    const size_t elements = (size_t)s->element_count, maps = find_sizes(own, s);
    cal_schedule copy = {.part_count = s->part_count, .port_count = s->port_count, .element_count = s->element_count};
    copy.parts = cal_device_copy(device, memory, s->parts, (size_t)s->part_count * sizeof *s->parts);
    copy.elements = cal_device_copy(device, memory, s->elements, elements * sizeof *s->elements);
    copy.maps = cal_device_copy(device, memory, s->maps, maps * sizeof *s->maps);
    copy.order = cal_device_copy(device, memory, s->order, elements * sizeof *s->order);
    plan->work.schedule = copy;
}

static void copy_slots(cal_device_plan* plan, const cal_schedule* s, const cal_slot_layout* slots,
                       const cal_layout* layout) {
    cal_device* device = plan->device;
    cal_device_memory_list* memory = &plan->memory;
    const size_t columns = (size_t)layout->column_count, width = (size_t)layout->width;
    const cal_slots* last = columns > 0 ? &slots->columns[columns - 1] : NULL;
    const size_t table = last ? last->table + (size_t)last->count * width : 0;
    cal_slot_layout copy = {.area_size = slots->area_size, .answer_size = slots->answer_size};
    copy.columns = cal_device_copy(device, memory, slots->columns, columns * sizeof *slots->columns);
    copy.starts = cal_device_copy(device, memory, slots->starts, (size_t)s->port_count * sizeof *slots->starts);
    copy.pulls = cal_device_copy(device, memory, slots->pulls, table * sizeof *slots->pulls);
    copy.table = cal_device_copy(device, memory, slots->table, table * sizeof *slots->table);
    copy.part = cal_device_copy(device, memory, slots->part, columns * width * sizeof *slots->part);
    copy.seat = cal_device_copy(device, memory, slots->seat, (size_t)s->part_count * sizeof *slots->seat);
    plan->work.slots = copy;
}

cal_status cal_device_schedule_create(cal_device_plan* plan, const cal_plan* host) {
    const cal_assembly_plan* arrangement = (const cal_assembly_plan*)host->arrangement;
    const cal_schedule* s = arrangement->schedule;
    cal_device_schedule* own = plan->schedule = cal_allocate(1, sizeof *own);
    if (!own) return CAL_NO_MEMORY;
    own->area_size = arrangement->slots->area_size;
    own->answer_size = arrangement->slots->answer_size;
    own->port_count = (size_t)s->port_count;
    own->numbers = arrangement->numbers;
    copy_schedule(own, plan, s);
    copy_slots(plan, s, arrangement->slots, host->layout);
    if (s->port_count == 0) return CAL_OK;
    const cal_status status = find_heights(own, s);
    if (status) return status;
    plan->work.heights = cal_device_copy(plan->device, &plan->memory, own->height,
                                         ((size_t)own->height_count + 1) * sizeof *own->height);
    return CAL_OK;
}

void cal_device_schedule_destroy(cal_device_schedule* own) {
    if (!own) return;
    cal_free(own->height);
    cal_free(own);
}

cal_assembly cal_device_schedule_begin(const cal_device_plan* plan, cal_device_memory_list* memory, double* scratch) {
    const cal_device_schedule* own = plan->schedule;
    cal_device* device = plan->device;
    cal_assembly assembly = {.work_size = own->work_size};
    assembly.area = cal_device_take(device, memory, own->area_size * sizeof(double));
    assembly.answer = cal_device_take(device, memory, own->answer_size * sizeof(double));
    assembly.ports = cal_device_take(device, memory, 24 * own->port_count * sizeof(double));
    assembly.forces = cal_device_take(device, memory, 6 * own->port_count * sizeof(double));
    assembly.work = cal_device_take(device, memory, own->thread_count * own->work_size * sizeof(double));
    assembly.numbers = scratch + own->numbers;
    return assembly;
}
