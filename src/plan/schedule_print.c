// Schedules for people: what they predict, and how they look.
#include "base/error.h"
#include "plan/distribution.h"
#include "schedule/schedule.h"

#include <stdarg.h>
#include <stdio.h>

static cal_status make(const cal_model* model, const char* schedule, int processors, const cal_costs* costs,
                       cal_schedule** out, cal_error* error) {
    cal_schedule_choice choice;
    *out = NULL;
    cal_status status = cal_check_costs(processors, costs, error);
    if (status == CAL_OK) status = cal_schedule_choose(schedule, &choice, error);
    if (status != CAL_OK) return status;
    const cal_status made = cal_schedule_create(model, choice, out, error);
    if (made != CAL_OK || cal_schedule_deal(*out, processors) == CAL_OK) return made;
    cal_schedule_destroy(*out);
    *out = NULL;
    return cal_fail(error, CAL_NO_MEMORY, "no memory for a schedule of %d joints", model->joint_count);
}

static double seconds_of(const cal_schedule* s, const cal_costs* costs) {
    return cal_schedule_price(s, cal_schedule_operation(s, costs->compute), costs->message);
}

static void describe(const cal_schedule* s, const cal_costs* costs, cal_schedule_report* out) {
    *out = (cal_schedule_report){.parts = s->part_count,
                                 .joins = 0,
                                 .height = s->height,
                                 .processors = s->processors,
                                 .operations = cal_schedule_work(s),
                                 .join_operations = s->joins,
                                 .seconds = seconds_of(s, costs),
                                 .open_joints = 0};
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[i];
        out->joins += e->a >= 0;
        // The base is open too, but on the ground.
        const int open = e->tip_count + (e->based ? 0 : 1);
        if (open > out->open_joints) out->open_joints = open;
    }
    cal_schedule_traffic(s, &out->messages, &out->bytes);
    out->bytes *= (int64_t)sizeof(double);
    const int shown = s->part_count < CAL_SCHEDULE_SHOWN ? s->part_count : CAL_SCHEDULE_SHOWN;
    for (int p = 0; p < shown; p++) out->links[p] = s->parts[p].nodes;
}

cal_status cal_schedule_predict(const cal_model* model, const char* schedule, int processors, const cal_costs* costs,
                                cal_schedule_report* out, cal_error* error) {
    cal_schedule* s;
    const cal_status status = make(model, schedule, processors, costs, &s, error);
    if (status != CAL_OK) return status;
    describe(s, costs, out);
    cal_schedule_destroy(s);
    return CAL_OK;
}

// --- As a tree --------------------------------------------------------------------------------------------------------------

typedef struct page {
    const cal_schedule* s;
    char* text;
    size_t capacity, length;
    int lines;
} page;

enum { MOST_LINES = 400, DEEPEST = 64 };

static void write(page* p, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const bool room = p->length < p->capacity;
    const int length =
        vsnprintf(room ? p->text + p->length : NULL, room ? p->capacity - p->length : 0, format, arguments);
    va_end(arguments);
    if (length > 0) p->length += (size_t)length;
}

static const char* body_of(const page* p, int node, char* name, size_t capacity) {
    return cal_model_body_name(p->s->model, p->s->forest.nodes[node].body, name, capacity);
}

static void write_element(page* p, int index, const char* before, bool last, int depth) {
    const cal_schedule* s = p->s;
    const cal_element* e = &s->elements[index];
    char name[2][80], branch[4 * DEEPEST + 16];
    if (++p->lines > MOST_LINES) return;
    write(p, "%s%s", before, depth == 0 ? "" : last ? "└─ " : "├─ ");
    switch (e->kind) {
    case CAL_ELEMENT_PART: {
        const cal_schedule_part* part = &s->parts[e->index];
        const int end = part->root + part->nodes - 1;
        write(p, "%d joint%s, %s", part->nodes, part->nodes == 1 ? "" : "s",
              body_of(p, part->root, name[0], sizeof name[0]));
        if (part->nodes > 1) write(p, " … %s", body_of(p, end, name[1], sizeof name[1]));
        write(p, ", processor %d\n", s->processor[part->root]);
        break;
    }
    case CAL_ELEMENT_ROWS:
        write(p, "%d rows of loops at %s\n", e->row_count,
              body_of(p, s->ports[e->index].node, name[0], sizeof name[0]));
        break;
    case CAL_ELEMENT_UNIT: write(p, "kept open\n"); break;
    default: {
        // What hangs there: the body of the port, or both hang from the same.
        const cal_element* a = &s->elements[e->a];
        if (e->kind == CAL_ELEMENT_BELOW)
            write(p, "join at %s", body_of(p, s->ports[s->tips[a->first_tip + e->tip]].node, name[0], sizeof name[0]));
        else
            write(p, "side by side");
        write(p, ", processor %d", e->processor);
        const int other = a->processor != e->processor ? a->processor : s->elements[e->b].processor;
        if (other != e->processor) write(p, " with %d", other);
        if (e->columns > 0) write(p, ", %d open", e->tip_count + e->row_count);
        write(p, "\n");
    }
    }
    if (e->a < 0 || depth >= DEEPEST) return;
    snprintf(branch, sizeof branch, "%s%s", before, depth == 0 ? "" : last ? "   " : "│  ");
    write_element(p, e->a, branch, false, depth + 1);
    write_element(p, e->b, branch, true, depth + 1);
}

int cal_schedule_print(const cal_model* model, const char* schedule, int processors, const cal_costs* costs, char* text,
                       size_t capacity, cal_error* error) {
    cal_schedule* s;
    if (make(model, schedule, processors, costs, &s, error) != CAL_OK) return -1;
    page p = {.s = s, .text = text, .capacity = capacity};
    for (int i = 0; i < s->root_count; i++) write_element(&p, s->roots[i], "", true, 0);
    if (p.lines > MOST_LINES) write(&p, "… and %d more\n", p.lines - MOST_LINES);
    cal_schedule_destroy(s);
    return (int)p.length;
}
