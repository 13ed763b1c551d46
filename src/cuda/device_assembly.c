// Assembly in a device's memory: the schedule's elements by bands of heights, where ports are in the lanes of columns, and what a state has for
// them. Only what kernels read is there.
#include "base/memory.h"
#include "cuda/device_plan.h"
#include "pass/assembly.h"

// Heights become bands; band: of each height.
static cal_status find_bands(cal_device_bands* own, const cal_join_crew* by, const cal_schedule* s, int32_t* band,
                             int heights) {
    int32_t* count = cal_allocate((size_t)heights, sizeof *count);
    cal_join_band* bands = cal_allocate((size_t)heights, sizeof *bands);
    own->bands = cal_allocate((size_t)heights, sizeof *own->bands);
    const cal_status status = count && bands && own->bands ? CAL_OK : CAL_NO_MEMORY;
    if (!status) {
        cal_schedule_count_heights(s, count);
        own->count = cal_schedule_find_bands(by, count, heights, bands);
    }
    for (int b = 0; !status && b < own->count; b++) {
        const cal_join_band* of = &bands[b];
        own->bands[b].of = *of;
        for (int i = 0; i < of->heights; i++) band[of->first_height + i] = b;
    }
    cal_free(count);
    cal_free(bands);
    return status;
}

// What teams have of the bands: subtrees, as many as have a worker for each of their joins. Elements come by bands, in these by groups, in
// these by heights.
typedef struct groups {
    int32_t* band;          // of each height
    int32_t *root, *group;  // of each element: of its subtree in its band; of the band's groups, of roots
    int32_t *count, *width; // of roots: elements of a height, and of the one with most
    int32_t *starts, *order;
} groups;

static void find_widths(groups* g, const cal_schedule* s) {
    for (int i = s->element_count - 1; i >= 0; i--) {
        const int parent = s->elements[i].parent;
        const bool inside = parent >= 0 && g->band[s->elements[parent].height] == g->band[s->elements[i].height];
        g->root[i] = inside ? g->root[parent] : i;
    }
    for (int first = 0, end; first < s->element_count; first = end) {
        const int height = s->elements[s->order[first]].height;
        for (end = first; end < s->element_count && s->elements[s->order[end]].height == height; end++) {
            const int root = g->root[s->order[end]];
            if (cal_element_is_listed(&s->elements[s->order[end]]) && ++g->count[root] > g->width[root])
                g->width[root] = g->count[root];
        }
        for (int i = first; i < end; i++) g->count[g->root[s->order[i]]] = 0;
    }
}

// All of a wide band are one group.
static void find_groups(cal_device_bands* own, const cal_join_crew* by, groups* g, const cal_schedule* s) {
    // Of each band, the workers that are left of its last group.
    for (int b = 0; b < own->count; b++) g->count[b] = 0;
    for (int i = 0; i < s->element_count; i++) {
        if (g->root[i] != i || !cal_element_is_listed(&s->elements[i])) continue;
        const int b = g->band[s->elements[i].height], width = own->bands[b].of.wide ? 0 : g->width[i];
        cal_device_band* band = &own->bands[b];
        if (band->groups == 0 || width > g->count[b]) g->count[b] = by->width, band->groups++;
        g->count[b] = width < g->count[b] ? g->count[b] - width : 0;
        g->group[i] = band->groups - 1;
    }
}

static size_t place_of(const cal_device_bands* own, const groups* g, const cal_schedule* s, int element) {
    const int height = s->elements[element].height;
    const cal_device_band* band = &own->bands[g->band[height]];
    const size_t group = (size_t)g->group[g->root[element]];
    return (size_t)band->first_start + group * (size_t)(band->of.heights + 1) +
           (size_t)(height - band->of.first_height);
}

static cal_status sort_elements(cal_device_bands* own, const cal_join_crew* by, groups* g, const cal_schedule* s) {
    size_t starts = 0;
    for (int b = 0; b < own->count; b++) {
        cal_device_band* band = &own->bands[b];
        band->first_start = (int)starts;
        starts += (size_t)band->groups * (size_t)(band->of.heights + 1);
    }
    own->start_count = starts;
    g->starts = cal_allocate(starts + 1, sizeof *g->starts);
    if (!g->starts) return CAL_NO_MEMORY;
    // Counted one place on, so that the filling leaves every list's beginning where it belongs.
    for (int i = 0; i < s->element_count; i++)
        if (cal_element_is_listed(&s->elements[i])) g->starts[place_of(own, g, s, i) + 1]++;
    for (size_t i = 0; i < starts; i++) g->starts[i + 1] += g->starts[i];
    for (int i = 0; i < s->element_count; i++)
        if (cal_element_is_listed(&s->elements[s->order[i]]))
            g->order[g->starts[place_of(own, g, s, s->order[i])]++] = s->order[i];
    for (size_t i = starts; i > 0; i--) g->starts[i] = g->starts[i - 1];
    g->starts[0] = 0;
    for (int b = 0; b < own->count; b++) {
        cal_device_band* band = &own->bands[b];
        const int32_t* first = g->starts + band->first_start;
        band->first_element = first[0];
        band->elements = band->groups > 0 ? first[band->groups * (band->of.heights + 1) - 1] - first[0] : 0;
        const size_t workers = (size_t)(band->of.wide ? band->elements : band->groups * by->width);
        if (workers > own->worker_count) own->worker_count = workers;
    }
    return CAL_OK;
}

static bool joins_chain(const cal_schedule* s, const cal_element* e) {
    return e->a >= 0 && cal_joins_chain(e, &s->elements[e->a], &s->elements[e->b]);
}
static void find_chains(cal_device_bands* own, const groups* g, const cal_schedule* s) {
    for (int b = 0; b < own->count; b++) own->bands[b].chains = own->bands[b].of.wide;
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[i];
        if (cal_element_is_listed(e) && !joins_chain(s, e)) own->bands[g->band[e->height]].chains = false;
    }
}

// Where columns on the ground read how a part's base moves (assembly_elements.h, base_of); of others nowhere.
static uint32_t find_seat(const cal_plan* host, const cal_element* e, int* stride) {
    if (e->kind != CAL_ELEMENT_PART) return CAL_NOWHERE;
    const int32_t seat = ((const cal_assembly_plan*)host->arrangement)->slots->seat[e->index];
    const cal_column* column = &host->layout->columns[seat / CAL_MAX_LANES];
    *stride = column->lanes;
    return (uint32_t)(column->base_slot + (size_t)(seat % CAL_MAX_LANES));
}

// What there is to do for an element on the way from tips to bases; elements: as the device has them.
static cal_placing_step find_step(const cal_plan* host, const cal_schedule* s, const cal_element* elements, int index) {
    const cal_element* e = &elements[index];
    cal_placing_step step = {.element = index};
    // All that a step names is in the scratch memory or, ports, behind it, where they take less than the elements before them.
    if (e->parent < 0 || !joins_chain(s, &s->elements[index]) || host->layout->scratch_size > INT32_MAX) return step;
    const cal_element *a = &elements[e->a], *b = &elements[e->b];
    int strides[2] = {0, 0};
    step.tip = (uint32_t)e->tip_motion;
    step.a_tip = (uint32_t)a->tip_motion;
    step.b_tip = b->columns > 0 ? (uint32_t)b->tip_motion : CAL_NOWHERE;
    step.base = (uint32_t)e->motion;
    step.b_base = (uint32_t)b->motion;
    step.a_seat = find_seat(host, a, &strides[0]);
    step.b_seat = find_seat(host, b, &strides[1]);
    step.element = -1 - (strides[0] + CAL_PLACING_STRIDES * strides[1]);
    return step;
}

static cal_status copy_steps(cal_device_plan* plan, const cal_plan* host, const cal_schedule* s,
                             const cal_element* elements, const int32_t* order, size_t count, cal_device_bands* own) {
    cal_placing_step* steps = cal_allocate(count, sizeof *steps);
    if (!steps) return CAL_NO_MEMORY;
    for (size_t i = 0; i < count; i++) steps[i] = find_step(host, s, elements, order[i]);
    own->steps = cal_device_copy(plan->device, &plan->memory, steps, count * sizeof *steps);
    const cal_status status = cal_device_wait(plan->device); // they go
    cal_free(steps);
    return status;
}

// of: elements as the device has them, on the way from tips to bases; of joins NULL.
static cal_status divide(cal_device_plan* plan, const cal_plan* host, const cal_element* of, const cal_join_crew* by,
                         cal_device_bands* own) {
    const cal_schedule* s = ((const cal_assembly_plan*)host->arrangement)->schedule;
    const size_t elements = (size_t)s->element_count;
    const int heights = s->height + 1; // a device is one processor
    groups g = {.band = cal_allocate((size_t)heights, sizeof *g.band),
                .root = cal_allocate(elements, sizeof *g.root),
                .group = cal_allocate(elements, sizeof *g.group),
                .count = cal_allocate(elements + (size_t)heights, sizeof *g.count),
                .width = cal_allocate(elements, sizeof *g.width),
                .order = cal_allocate(elements, sizeof *g.order)};
    cal_status status = g.band && g.root && g.group && g.count && g.width && g.order ? CAL_OK : CAL_NO_MEMORY;
    if (!status) status = find_bands(own, by, s, g.band, heights);
    if (!status) {
        find_widths(&g, s);
        find_groups(own, by, &g, s);
        find_chains(own, &g, s);
        status = sort_elements(own, by, &g, s);
    }
    if (!status) {
        own->order = cal_device_copy(plan->device, &plan->memory, g.order, elements * sizeof *g.order);
        own->starts = cal_device_copy(plan->device, &plan->memory, g.starts, (own->start_count + 1) * sizeof *g.starts);
        status = cal_device_wait(plan->device); // they go
    }
    if (!status && of) status = copy_steps(plan, host, s, of, g.order, elements, own);
    int32_t* const all[] = {g.band, g.root, g.group, g.count, g.width, g.order, g.starts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cal_free(all[i]);
    return status;
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

// How ports move as seen from their parts' bases is what elements of parts have for their tips: there it is where the ports are. The base of
// the first of two elements is that of both, and its motion is in one place.
static void place_elements(const cal_device_schedule* own, const cal_schedule* s, cal_element* elements) {
    const size_t count = (size_t)s->element_count;
    for (size_t i = 0; i < count; i++) {
        elements[i] = s->elements[i];
        if (elements[i].kind == CAL_ELEMENT_PART)
            elements[i].tip_motion = own->ports - own->numbers + 24 * (size_t)s->parts[elements[i].index].first_port;
    }
    for (size_t i = count; i-- > 0;)
        if (elements[i].a >= 0) elements[elements[i].a].motion = elements[i].motion;
}

static void copy_schedule(cal_device_schedule* own, cal_device_plan* plan, const cal_schedule* s,
                          const cal_element* elements) {
    cal_device* device = plan->device;
    cal_device_memory_list* memory = &plan->memory;
    const size_t maps = find_sizes(own, s);
    cal_schedule copy = {.part_count = s->part_count, .port_count = s->port_count, .element_count = s->element_count};
    copy.parts = cal_device_copy(device, memory, s->parts, (size_t)s->part_count * sizeof *s->parts);
    copy.maps = cal_device_copy(device, memory, s->maps, maps * sizeof *s->maps);
    copy.elements = cal_device_copy(device, memory, elements, (size_t)s->element_count * sizeof *elements);
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

// Whether all parts that go down and up again in one launch are what part.h has roles for.
static bool are_limb_parts(const cal_layout* layout, const cal_slot_layout* slots) {
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        if (column->child_count > 0 || column->is_long) continue;
        const bool one_degree = column->kind == CAL_REVOLUTE || column->kind == CAL_PRISMATIC;
        if (!one_degree || column->parent >= 0 || slots->columns[i].count > 1) return false;
    }
    return true;
}

// Steps of the longest part; 0 where there are others than those.
static int find_part_steps(const cal_layout* layout, const cal_slot_layout* slots) {
    int most = 0;
    if (!are_limb_parts(layout, slots)) return 0;
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        if (column->child_count > 0 || column->is_long) return 0;
        if (column->block_count > most) most = column->block_count;
    }
    return most;
}

// Bands of both walks of joins.
static cal_status divide_walks(cal_device_plan* plan, const cal_plan* host, const cal_element* elements) {
    cal_device_schedule* own = plan->schedule;
    const cal_join_crew placers = cal_schedule_placers(((const cal_assembly_plan*)host->arrangement)->schedule),
                        joiners = cal_schedule_joiners();
    const cal_status status = divide(plan, host, elements, &placers, &own->placing);
    return status ? status : divide(plan, host, NULL, &joiners, &own->joining);
}

cal_status cal_device_schedule_create(cal_device_plan* plan, const cal_plan* host) {
    const cal_assembly_plan* arrangement = (const cal_assembly_plan*)host->arrangement;
    const cal_schedule* s = arrangement->schedule;
    cal_device_schedule* own = plan->schedule = cal_allocate(1, sizeof *own);
    cal_element* elements = cal_allocate((size_t)s->element_count, sizeof *elements);
    if (!own || !elements) {
        cal_free(elements);
        return CAL_NO_MEMORY;
    }
    own->area_size = arrangement->slots->area_size;
    own->answer_size = arrangement->slots->answer_size;
    own->port_count = (size_t)s->port_count;
    own->numbers = arrangement->numbers;
    own->ports = host->layout->scratch_size;
    place_elements(own, s, elements);
    copy_schedule(own, plan, s, elements);
    copy_slots(plan, s, arrangement->slots, host->layout);
    plan->work.limb_parts = are_limb_parts(host->layout, arrangement->slots);
    const int steps = s->port_count > 0 ? find_part_steps(host->layout, arrangement->slots) : 0;
    plan->work.all_limb_parts = steps > 0;
    // GPUs whose kernels overlap have that much memory on chip.
    if (steps <= CAL_NEAR_STEPS && host->layout->column_count <= CAL_MULTIPROCESSORS &&
        cal_device_overlaps(plan->device))
        plan->work.near_steps = steps;
    cal_status status = s->port_count > 0 ? divide_walks(plan, host, elements) : CAL_OK;
    if (!status) status = cal_device_wait(plan->device); // elements go
    cal_free(elements);
    return status;
}

void cal_device_schedule_destroy(cal_device_schedule* own) {
    if (!own) return;
    cal_free(own->placing.bands);
    cal_free(own->joining.bands);
    cal_free(own);
}

cal_assembly cal_device_schedule_begin(const cal_device_plan* plan, cal_device_memory_list* memory, double* scratch) {
    const cal_device_schedule* own = plan->schedule;
    cal_device* device = plan->device;
    cal_assembly assembly = {.work_size = own->work_size};
    assembly.area = cal_device_take(device, memory, own->area_size * sizeof(double));
    assembly.answer = cal_device_take(device, memory, own->answer_size * sizeof(double));
    assembly.forces = cal_device_take(device, memory, 6 * own->port_count * sizeof(double));
    assembly.work = cal_device_take(device, memory, own->joining.worker_count * own->work_size * sizeof(double));
    assembly.numbers = scratch + own->numbers;
    assembly.ports = scratch + own->ports;
    return assembly;
}
