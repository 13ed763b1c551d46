// Ports in the lanes of a layout: which columns carry which ports' forces inbound, and where in memory.
#include "base/memory.h"
#include "schedule/schedule.h"

#include <string.h>

// The column and lane of every node of the forest. A long column works in lane 0.
typedef struct seat {
    int32_t column, step;
    int8_t lane;
} seat;

static void find_seats(const cal_layout* layout, seat* seats) {
    for (int c = 0; c < layout->column_count; c++) {
        const cal_column* column = &layout->columns[c];
        for (int b = 0; b < column->block_count; b++)
            for (int lane = 0; lane < layout->width; lane++) {
                const int node =
                    layout->block_nodes[(size_t)(column->first_block + b) * (size_t)layout->width + (size_t)lane];
                if (node < 0) continue;
                seats[node] = column->is_long ? (seat){c, b * layout->width + lane, 0} : (seat){c, b, (int8_t)lane};
            }
    }
}

// Calls for every column between a port and the root of its part, with the lane there.
typedef void visit(cal_slot_layout* out, const cal_layout* layout, int column, int lane, int below, int below_lane,
                   int port);
static void climb(cal_slot_layout* out, const cal_layout* layout, const seat* seats, int node, int port, visit* call) {
    int column = seats[node].column, lane = seats[node].lane, below = -1, below_lane = 0;
    while (column >= 0) {
        call(out, layout, column, lane, below, below_lane, port);
        const cal_column* c = &layout->columns[column];
        below = column, below_lane = lane;
        lane = c->parent >= 0 && layout->columns[c->parent].is_long ? 0 : c->parent_lane[lane];
        column = c->parent;
    }
}

// First time: how many ports pass through each lane of each column, in part (used as a counter).
static void count(cal_slot_layout* out, const cal_layout* layout, int column, int lane, int below, int below_lane,
                  int port) {
    (void)below, (void)below_lane, (void)port;
    int32_t* own = &out->part[column * layout->width + lane];
    if (++*own > out->columns[column].count) out->columns[column].count = *own;
}

// Second time: the next free slot of each lane.
static void enter(cal_slot_layout* out, const cal_layout* layout, int column, int lane, int below, int below_lane,
                  int port) {
    const size_t width = (size_t)layout->width;
    const cal_slots* own = &out->columns[column];
    int slot = 0;
    while (out->table[own->table + (size_t)slot * width + (size_t)lane] >= 0) slot++;
    out->table[own->table + (size_t)slot * width + (size_t)lane] = port;
    if (below < 0) return;
    const cal_slots* child = &out->columns[below];
    for (int s = 0; s < child->count; s++)
        if (out->table[child->table + (size_t)s * width + (size_t)below_lane] == port)
            out->pulls[child->pull + (size_t)s * width + (size_t)below_lane] = (int8_t)slot;
}

static int slot_of(const cal_slot_layout* out, const cal_layout* layout, const seat* at, int port) {
    const size_t width = (size_t)layout->width, lane = (size_t)at->lane;
    const cal_slots* own = &out->columns[at->column];
    for (int s = 0; s < own->count; s++)
        if (out->table[own->table + (size_t)s * width + lane] == port) return s;
    return 0;
}

static void list_starts(const cal_schedule* s, const cal_layout* layout, const seat* seats, cal_slot_layout* out) {
    for (int p = 0; p < s->port_count; p++) out->columns[seats[s->ports[p].node].column].start_count++;
    int first = 0;
    for (int c = 0; c < layout->column_count; c++) {
        out->columns[c].first_start = first;
        first += out->columns[c].start_count;
        out->columns[c].start_count = 0;
    }
    for (int p = 0; p < s->port_count; p++) {
        const seat* at = &seats[s->ports[p].node];
        cal_slots* own = &out->columns[at->column];
        int place = own->first_start + own->start_count++;
        for (; place > own->first_start && out->starts[place - 1].step < at->step; place--)
            out->starts[place] = out->starts[place - 1];
        out->starts[place] =
            (cal_slot_start){.step = at->step, .port = p, .row = at->lane, .slot = (int8_t)slot_of(out, layout, at, p)};
    }
}

// Parts in the lanes of columns on the ground, and slots in the stack for what they hang from.
static void seat_parts(const cal_schedule* s, cal_layout* layout, const seat* seats, cal_slot_layout* out) {
    const size_t width = (size_t)layout->width;
    for (size_t i = 0; i < (size_t)layout->column_count * width; i++) out->part[i] = -1;
    for (int p = 0; p < s->part_count; p++) {
        const seat* at = &seats[s->parts[p].root];
        out->part[(size_t)at->column * width + (size_t)at->lane] = p;
        out->seat[p] = CAL_MAX_LANES * at->column + at->lane;
        cal_column* column = &layout->columns[at->column];
        if (column->based) continue;
        column->based = true;
        if (!cal_layout_keeps(layout, column)) continue;
        column->base_slot = (layout->scratch_size + 7) / 8 * 8;
        layout->scratch_size = column->base_slot + CAL_BASE_COUNT * width;
    }
}

static cal_status lay(const cal_schedule* s, cal_layout* layout, seat* seats, cal_slot_layout* out) {
    const size_t width = (size_t)layout->width, columns = (size_t)layout->column_count;
    size_t table = 0;
    find_seats(layout, seats);
    for (int p = 0; p < s->port_count; p++) climb(out, layout, seats, s->ports[p].node, p, count);
    for (size_t c = 0; c < columns; c++) {
        cal_slots* own = &out->columns[c];
        const cal_column* column = &layout->columns[c];
        const size_t steps = (size_t)column->block_count, slots = (size_t)own->count;
        own->table = own->pull = table, table += slots * width;
        own->area = out->area_size;
        own->answer = out->answer_size;
        if (slots == 0 || !cal_layout_keeps(layout, column)) continue;
        out->area_size += cal_area_doubles(own->count) * width;
        out->answer_size += steps * 6 * slots * (size_t)cal_kind_v(column->kind) * width;
    }
    out->table = cal_allocate(table, sizeof *out->table);
    out->pulls = cal_allocate(table, sizeof *out->pulls);
    if (!out->table || !out->pulls) return CAL_NO_MEMORY;
    for (size_t i = 0; i < table; i++) out->table[i] = -1;
    for (int p = 0; p < s->port_count; p++) climb(out, layout, seats, s->ports[p].node, p, enter);
    list_starts(s, layout, seats, out);
    seat_parts(s, layout, seats, out);
    return CAL_OK;
}

cal_status cal_slots_create(const cal_schedule* s, cal_layout* layout, cal_slot_layout** out) {
    const size_t columns = (size_t)layout->column_count;
    cal_slot_layout* slots = cal_allocate(1, sizeof *slots);
    seat* seats = cal_allocate((size_t)s->forest.node_count, sizeof *seats);
    cal_status status = slots && seats ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) {
        slots->columns = cal_allocate(columns, sizeof *slots->columns);
        slots->starts = cal_allocate((size_t)s->port_count, sizeof *slots->starts);
        slots->part = cal_allocate(columns * (size_t)layout->width, sizeof *slots->part);
        slots->seat = cal_allocate((size_t)s->part_count, sizeof *slots->seat);
        status = slots->columns && slots->starts && slots->part && slots->seat ? lay(s, layout, seats, slots)
                                                                               : CAL_NO_MEMORY;
    }
    cal_free(seats);
    if (status != CAL_OK) {
        cal_slots_destroy(slots);
        slots = NULL;
    }
    *out = slots;
    return status;
}

void cal_slots_destroy(cal_slot_layout* slots) {
    if (!slots) return;
    cal_free(slots->columns);
    cal_free(slots->starts);
    cal_free(slots->pulls);
    cal_free(slots->table);
    cal_free(slots->part);
    cal_free(slots->seat);
    cal_free(slots);
}
