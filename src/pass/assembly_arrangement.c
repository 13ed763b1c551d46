// What assembly adds to plans and states: the schedule and its forest in the place of the model, the tree of joins, and places
// for what its kernels and joins leave.
#include "base/error.h"
#include "base/memory.h"
#include "pass/assembly.h"

#include <string.h>

static void destroy(cal_arrangement* base) {
    cal_assembly_plan* own = (cal_assembly_plan*)base;
    if (!own) return;
    cal_steps_clear(&own->base.tree);
    cal_slots_destroy(own->slots);
    cal_schedule_destroy(own->schedule);
    cal_free(own->element_of_edge);
    cal_free(own);
}

static cal_status create(const cal_model* model, const char* how, cal_arrangement** out, cal_error* error) {
    *out = NULL;
    cal_schedule_choice choice;
    cal_status status = cal_schedule_choose(how, &choice, error);
    if (status != CAL_OK) return status;
    cal_schedule* schedule;
    status = cal_schedule_create(model, choice, &schedule, error);
    if (status != CAL_OK) return status;
    cal_assembly_plan* own = cal_allocate(1, sizeof *own);
    if (!own) {
        cal_schedule_destroy(schedule);
        return cal_fail(error, CAL_NO_MEMORY, "no memory for a schedule of %d joints", model->joint_count);
    }
    own->base = (cal_arrangement){.ops = &cal_assembly_arrangement,
                                  .model = &schedule->forest,
                                  .tree = {.begins = CAL_INBOUND},
                                  .divided = schedule->part_count > schedule->root_count,
                                  .constrains = schedule->loops && schedule->port_count > 0};
    own->schedule = schedule;
    *out = &own->base;
    return CAL_OK;
}

static cal_status deal(cal_arrangement* base, const cal_team* team, const int32_t* wanted, int32_t* owners) {
    cal_schedule* s = ((cal_assembly_plan*)base)->schedule;
    cal_status status = CAL_OK;
    if (team->processors > 1) {
        for (int n = 0; wanted && n < s->model->node_count; n++) s->processor[s->place[n]] = wanted[n];
        // Where nothing is joined trees are walked as aba's, and may be cut anywhere.
        const bool whole = team->keep != CAL_KEEP_ALL && s->port_count > 0;
        if (!wanted) status = cal_schedule_deal(s, team->processors);
        if (status == CAL_OK) status = whole ? cal_schedule_adopt_parts(s) : cal_schedule_adopt(s);
        if (owners) memcpy(owners, s->processor, (size_t)s->model->node_count * sizeof *owners);
    }
    return status == CAL_OK ? cal_schedule_arrange(s, team->lanes, team->keep) : status;
}

// What a batch needs of others, or they of it: inbound the two elements of each join, and its own for its parent; outbound its
// own from its parent, and the two elements'.
static void say_edges(cal_step_writer* w, const cal_schedule* s, const cal_join_batch* batch, int processor,
                      bool children, cal_step_kind kind) {
    for (int i = batch->first; i < batch->first + batch->count; i++) {
        const cal_element* e = &s->elements[s->order[i]];
        const int32_t joined[2] = {e->a, e->b};
        if (!children && e->crossing >= 0) cal_steps_say(w, processor, kind, e->crossing);
        for (int k = 0; children && k < 2 && joined[k] >= 0; k++)
            if (s->elements[joined[k]].crossing >= 0)
                cal_steps_say(w, processor, kind, s->elements[joined[k]].crossing);
    }
}

// Every processor's batches height by height, inbound, and back again.
static void emit_joins(cal_step_writer* w, const void* argument) {
    const cal_schedule* s = argument;
    for (int p = 0; p < s->processors; p++) {
        for (int b = s->first_batch[p]; b < s->first_batch[p + 1]; b++) {
            say_edges(w, s, &s->batches[b], p, true, CAL_STEP_WAIT_UP);
            cal_steps_say(w, p, CAL_STEP_UP, b);
            say_edges(w, s, &s->batches[b], p, false, CAL_STEP_POST_UP);
        }
        for (int b = s->first_batch[p + 1] - 1; b >= s->first_batch[p]; b--) {
            say_edges(w, s, &s->batches[b], p, false, CAL_STEP_WAIT_DOWN);
            cal_steps_say(w, p, CAL_STEP_DOWN, b);
            say_edges(w, s, &s->batches[b], p, true, CAL_STEP_POST_DOWN);
        }
    }
}

static cal_status make_tree(cal_assembly_plan* own, int processors) {
    const cal_schedule* s = own->schedule;
    cal_tree* tree = &own->base.tree;
    tree->edge_count = s->crossing_count;
    // Where a part is one processor's nobody needs anything before it is joined; where several share one, or rows read joints
    // of others, all must have finished the walk.
    tree->gathers = s->split || s->loops;
    tree->edges = cal_allocate((size_t)s->crossing_count, sizeof *tree->edges);
    own->element_of_edge = cal_allocate((size_t)s->crossing_count, sizeof *own->element_of_edge);
    if (!tree->edges || !own->element_of_edge) return CAL_NO_MEMORY;
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[i];
        if (e->crossing < 0) continue;
        tree->edges[e->crossing] = (cal_edge){e->processor, s->elements[e->parent].processor};
        own->element_of_edge[e->crossing] = i;
    }
    return cal_steps_write(tree, processors, emit_joins, s);
}

// Where a state's arrays are in its memory, after cal_assembly itself.
typedef struct places {
    size_t area, answer, ports, forces, work, size;
} places;

static places find_places(const cal_assembly_plan* own) {
    const cal_schedule* s = own->schedule;
    places at = {0};
    cal_reserve(&at.size, (sizeof(cal_assembly) + 7) / 8);
    at.area = cal_reserve(&at.size, own->slots->area_size);
    at.answer = cal_reserve(&at.size, own->slots->answer_size);
    at.ports = cal_reserve(&at.size, 24 * (size_t)s->port_count);
    at.forces = cal_reserve(&at.size, 6 * (size_t)s->port_count);
    at.work = cal_reserve(&at.size, (size_t)s->processors * s->batch_doubles);
    return at;
}

static cal_status fit(cal_arrangement* base, cal_layout* layout, const cal_team* team) {
    cal_assembly_plan* own = (cal_assembly_plan*)base;
    cal_status status = cal_slots_create(own->schedule, layout, &own->slots);
    if (status != CAL_OK) return status;
    own->numbers = (layout->scratch_size + 7) / 8 * 8;
    layout->scratch_size = own->numbers + own->schedule->number_count;
    base->state_size = find_places(own).size;
    return own->schedule->port_count > 0 ? make_tree(own, team->processors) : CAL_OK;
}

static double price(const cal_arrangement* base, const cal_costs* costs) {
    const cal_schedule* s = ((const cal_assembly_plan*)base)->schedule;
    return s->port_count > 0 ? cal_schedule_price(s, cal_schedule_operation(s, costs->compute), costs->message) : -1.0;
}

// The ground below parts that stand on it does not change; other bases are found by the joins.
static void fill_bases(const cal_assembly_plan* own, cal_context* context) {
    const cal_schedule* s = own->schedule;
    for (int p = 0; p < s->part_count; p++) {
        const cal_column* column = &context->layout->columns[own->slots->seat[p] / CAL_MAX_LANES];
        if (!cal_layout_keeps(context->layout, column)) continue;
        double* at = context->scratch + column->base_slot + own->slots->seat[p] % CAL_MAX_LANES;
        for (int i = 0; i < 3; i++) {
            at[4 * i * column->lanes] = 1.0;
            at[(15 + i) * column->lanes] = -s->model->gravity[i];
        }
    }
}

static cal_status begin(const cal_arrangement* base, cal_context* context, double* memory) {
    const cal_assembly_plan* own = (const cal_assembly_plan*)base;
    const cal_schedule* s = own->schedule;
    const places at = find_places(own);
    cal_assembly* assembly = (cal_assembly*)memory;
    *assembly = (cal_assembly){.schedule = s,
                               .slots = own->slots,
                               .area = memory + at.area,
                               .answer = memory + at.answer,
                               .ports = memory + at.ports,
                               .forces = memory + at.forces,
                               .numbers = context->scratch + own->numbers,
                               .work = memory + at.work,
                               .work_size = s->batch_doubles};
    context->own = assembly;
    fill_bases(own, context);
    if (s->loops) assembly->loop_work = cal_loop_work_create(s);
    return s->loops && !assembly->loop_work ? CAL_NO_MEMORY : CAL_OK;
}

static void end(cal_context* context) {
    if (context->own) cal_loop_work_destroy(cal_assembly_of(context)->loop_work);
}

static bool hold(const cal_context* context, const cal_hold* how) {
    cal_assembly* assembly = cal_assembly_of(context);
    // Its joins know no time, and leave prescribed motions to multipliers.
    const bool can = assembly->loop_work != NULL && !cal_model_is_moved(context->model);
    if (can) assembly->hold = *how;
    return can;
}

const cal_arrangement_ops cal_assembly_arrangement = {.on_device = "device",
                                                      .create = create,
                                                      .destroy = destroy,
                                                      .deal = deal,
                                                      .fit = fit,
                                                      .price = price,
                                                      .begin = begin,
                                                      .end = end,
                                                      .hold = hold};

// --- What edges carry: how tips and bases move; I, p, E, c, Λ; the base's acceleration and the forces ---------------------------

static cal_crossing carry(const cal_arrangement* base, size_t at, size_t count) {
    return (cal_crossing){((const cal_assembly_plan*)base)->numbers + at, (int)count};
}

static const cal_element* below(const cal_arrangement* base, int edge) {
    const cal_assembly_plan* own = (const cal_assembly_plan*)base;
    return &own->schedule->elements[own->element_of_edge[edge]];
}

cal_crossing cal_assembly_carry_tips(const cal_arrangement* arrangement, int edge) {
    const cal_element* e = below(arrangement, edge);
    return carry(arrangement, e->tip_motion, 24 * (size_t)e->tip_count);
}

cal_crossing cal_assembly_carry_base(const cal_arrangement* arrangement, int edge) {
    return carry(arrangement, below(arrangement, edge)->motion, 24);
}

cal_crossing cal_assembly_carry_element(const cal_arrangement* arrangement, int edge) {
    const cal_element* e = below(arrangement, edge);
    return carry(arrangement, e->numbers, cal_element_size(e));
}

cal_crossing cal_assembly_carry_forces(const cal_arrangement* arrangement, int edge) {
    const cal_element* e = below(arrangement, edge);
    return carry(arrangement, e->base, 6 + (size_t)e->columns);
}
