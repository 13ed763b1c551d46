// What forward dynamics by assembly costs on a GPU, without one: launches as src/cuda/cuda.c issues them, of the parts' columns and of the bands
// of joins (schedule_bands.h), with the figures of gpu_price.c and no others.
//
//   time = moving + computing + launches · launch + joints in turn of parts + heights of joins in turn
//
// What takes time in turn is counted in operations of one thread, of which a GPU's `joint` is so many as articulated bodies have per joint.
//
// Parts. A thread has a part, and goes along all of its joints: placing, down, up with the forces on its ports, accelerations. Where warps have a
// role each (cuda/part.h) the walk takes what its longest role does; where a team has the part on chip, RECURS of all (gpu_price.c).
//
// Joins. A warp has a join, and what one of its threads does is counted from assembly_join_body.h, loop by loop. A height waits at least for what
// the one before it has left in memory: a pass of a joint does that too, and nothing hides it there either, which is the least that
// a height takes on each way.
#include "base/error.h"
#include "base/memory.h"
#include "pass/assembly.h"
#include "plan/gpu_price.h"
#include "schedule/schedule_bands.h"
#include <math.h>

// --- Joins: operations of one of so many threads ---------------------------------------------------------------------------------------------

// How often a thread has one of `count` numbers.
static double rounds(double count, int members) { return ceil(count / members); }

// cal_stiffness, a row per thread. A step of the first elimination: shares of diagonals (6), whose is the largest (9), the pivot of the own row, of
// shares and of diagonals (15), rounding or not (3), a quotient, L (7), diagonals (18), the own row (18). Then Λ L (66) and Lᵀ Λ L (72);
// the second elimination with n = 5 … 0 rows left, a quotient each and 7 n; N⁻¹ Lᵀ (30), D⁻¹ (6), the square (66); sizes before all (4).
enum { STIFFNESS = 4 + 6 * (6 + 9 + 15 + 3 + 1 + 7 + 18 + 18) + 66 + 72 + (6 + 7 * 15) + 30 + 6 + 66 };
enum { APPLY = 66, DOT = 11 }; // six numbers times a matrix, times six others

// cal_join_below.
static double count_join(const cal_element* e, const cal_element* a, const cal_element* b, int members) {
    if (e->kind != CAL_ELEMENT_BELOW) return 2.0 * rounds((double)cal_element_size(e), members); // both are added
    const double own = e->columns, vectors = 7.0 + b->columns + (a->columns - 6.0);
    const double sides = a->columns > 6 ? 4.0 : 1.0; // of a pair: rows and columns of a, of b
    return STIFFNESS + rounds(vectors, members) * (2.0 * APPLY + 6 + 12) + (DOT + 1) +
           rounds(1.0 + own, members) * (APPLY + 6 + 12) + rounds(own, members) * (2.0 * DOT + 3) +
           rounds(own * (own + 1.0) / 2.0, members) * (DOT + 2) * sides;
}
// cal_part_below and cal_meet.
static double count_parting(const cal_element* e, const cal_element* a, const cal_element* b) {
    if (e->kind != CAL_ELEMENT_BELOW) return 0.0;
    const double known = fmax(a->columns - 6.0, b->columns);
    return DOT + 1 + 2.0 * known + 3.0 * (DOT + 2);
}
// compose: a vector's number is turned (5), what rotates and is accelerated with the base (31); of each tip.
static double count_placing(const cal_element* e) { return (5 + 31) * fmax(1.0, e->tip_count); }

// Doubles that a join reads and writes in all walks: both elements and the joined one; on the way back E, c and Λ of a, I, p and E of b, what the
// join left, forces and bases; motions of tips and bases, and what parts read of theirs.
static double join_doubles(const cal_element* e, const cal_element* a, const cal_element* b) {
    const double up = (double)(cal_element_size(a) + cal_element_size(b) + cal_element_size(e)) + CAL_JOIN_NUMBERS;
    const double back =
        (double)cal_element_size(a) + 6.0 * b->columns + CAL_JOIN_NUMBERS + 12.0 + e->columns + a->columns + b->columns;
    return up + back + 3.0 * 24.0 * (e->tip_count + 1) + 2.0 * CAL_DOWN_COUNT;
}

// --- Walks -----------------------------------------------------------------------------------------------------------------------------------

// Operations in turn of the longest element of each height, on both ways of both walks.
typedef struct height {
    double join, part, place;
    bool chains; // every join is one of a chain's parts
} height;

static void find_heights(const cal_schedule* s, height* heights, cal_gpu_price* out) {
    for (int h = 0; h <= s->height; h++) heights[h].chains = true;
    for (int i = 0; i < s->element_count; i++) {
        const cal_element* e = &s->elements[i];
        height* own = &heights[e->height];
        if (!cal_element_is_listed(e) || e->a < 0) continue;
        const cal_element *a = &s->elements[e->a], *b = &s->elements[e->b];
        own->chains = own->chains && cal_joins_chain(e, a, b);
        own->join = fmax(own->join, count_join(e, a, b, CAL_GPU_WIDTH));
        own->part = fmax(own->part, count_parting(e, a, b));
        own->place = fmax(own->place, count_placing(e));
        out->bytes += 8.0 * join_doubles(e, a, b);
    }
}

// All heights of a walk, up and down again; at_once: elements that the device works on at a time.
typedef struct walk {
    const cal_join_crew* by;
    int workers;
    bool places;
} walk;

static void add_walk(const walk* own, const height* heights, const int32_t* count, int all, cal_join_band* bands,
                     double operation, double least, cal_gpu_price* out) {
    const int found = cal_schedule_find_bands(own->by, count, all, bands);
    for (int i = 0; i < found; i++) {
        const cal_join_band* band = &bands[i];
        const bool paired = band->wide && heights[band->first_height].chains;
        const int at_once = CAL_MULTIPROCESSORS * (paired ? 2 * CAL_PAIR_WARPS : own->workers);
        bool any = false;
        for (int h = band->first_height; h < band->first_height + band->heights; h++) {
            const double turns = ceil(count[h] / (double)at_once);
            const double up = own->places ? heights[h].place : heights[h].join,
                         down = own->places ? heights[h].place : heights[h].part;
            any = any || count[h] > 0;
            out->waiting += turns * (fmax(least, operation * up) + fmax(least, operation * down));
        }
        if (any) out->launches += band->turns ? 1 : 2;
    }
}

static cal_status add_joins(const cal_schedule* s, const cal_gpu_def* gpu, cal_gpu_price* out) {
    const int all = s->height + 1;
    height* heights = cal_allocate((size_t)all, sizeof *heights);
    int32_t* count = cal_allocate((size_t)all, sizeof *count);
    cal_join_band* bands = cal_allocate((size_t)all, sizeof *bands);
    const bool good = heights && count && bands;
    if (good) {
        const cal_join_crew placers = cal_schedule_placers(s), joiners = cal_schedule_joiners();
        const walk walks[] = {{&placers, CAL_PLACE_WARPS, true}, {&joiners, CAL_TEAM_WARPS, false}};
        const double operation = gpu->joint / cal_schedule_ours.link, least = gpu->joint / CAL_GPU_PASSES;
        cal_schedule_count_heights(s, count);
        find_heights(s, heights, out);
        for (int i = 0; i < 2; i++) add_walk(&walks[i], heights, count, all, bands, operation, least, out);
        out->operations += s->joins;
    }
    cal_free(heights);
    cal_free(count);
    cal_free(bands);
    return good ? CAL_OK : CAL_NO_MEMORY;
}

// --- Parts -----------------------------------------------------------------------------------------------------------------------------------

static int most_ports(const cal_schedule* s) {
    int most = 0;
    for (int i = 0; i < s->part_count; i++)
        if (s->parts[i].port_count > most) most = s->parts[i].port_count;
    return most;
}

// Whether all parts are what warps have roles for (device_assembly.c, find_part_steps).
static bool are_limbs(const cal_layout* layout, int ports) {
    for (int i = 0; i < layout->column_count; i++) {
        const cal_column* column = &layout->columns[i];
        if (column->child_count > 0 || column->is_long || column->parent >= 0) return false;
        if (column->kind != CAL_REVOLUTE && column->kind != CAL_PRISMATIC) return false;
    }
    return ports <= 1;
}

// Operations in turn per joint of a part, with so many columns in all.
static double count_part(const cal_layout* layout, int ports, int longest, int* at_once) {
    const cal_schedule_costs* ours = &cal_schedule_ours;
    const double all = ours->link + ports * ours->tip + (ports > 0 ? ours->place : 0.0);
    *at_once = INT32_MAX;
    if (ports == 0 || !are_limbs(layout, ports)) return all;
    if (layout->column_count <= CAL_MULTIPROCESSORS && longest <= CAL_NEAR_STEPS) return cal_gpu_recurs() * all;
    // Down, up and the port's forces are the roles: of a joint that goes down takes longest.
    double down = 0.0, up = 0.0;
    for (int i = 0; i < cal_program_aba.pass_count; i++) {
        const cal_pass* pass = &cal_program_aba.passes[i];
        if (pass->direction == CAL_INBOUND)
            up = fmax(up, pass->cost.flops);
        else
            down = fmax(down, pass->cost.flops);
    }
    *at_once = CAL_MULTIPROCESSORS * CAL_PART_TEAMS;
    return all - (down + up + ours->tip) + fmax(down, fmax(up, ours->tip));
}

static cal_status add_parts(const cal_schedule* s, const cal_gpu_def* gpu, cal_gpu_price* out, cal_error* error) {
    cal_layout* layout;
    cal_status status = cal_gpu_layout(&s->forest, 1, &layout, error);
    if (status) return status;
    cal_gpu_level* levels = cal_gpu_find_levels(layout, &out->levels, NULL);
    if (!levels) {
        cal_layout_destroy(layout);
        return cal_fail(error, CAL_NO_MEMORY, "no memory for pricing %d joints", s->model->joint_count);
    }
    const int ports = most_ports(s);
    // Placing and the way down read constants.
    cal_gpu_add_columns(layout, &cal_program_assembly, 2, out);
    for (int i = 0; i < out->levels; i++) {
        const cal_gpu_level* level = &levels[i];
        int at_once;
        const double own = count_part(layout, ports, level->longest, &at_once);
        const double turns = ceil((level->columns + level->limbs) / (double)at_once);
        out->waiting +=
            turns * level->longest * own * gpu->joint / cal_schedule_ours.link + level->children * gpu->child;
        // Placing, where there are ports; down and up of columns with children; limbs down and up; accelerations.
        out->launches += (ports > 0) + (level->columns > 0 ? 2 : 0) + (level->limbs > 0) + 1;
    }
    cal_free(levels);
    cal_layout_destroy(layout);
    return CAL_OK;
}

cal_status cal_price_gpu_assembly(const cal_model* model, const char* schedule, const cal_gpu_def* gpu,
                                  cal_gpu_price* out, cal_error* error) {
    if (!out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_price_gpu_assembly: out must not be NULL");
    *out = (cal_gpu_price){.filled = 1.0};
    cal_status status = cal_gpu_check(model, 1, gpu, error);
    if (status) return status;
    cal_schedule_choice choice;
    cal_schedule* s;
    status = cal_schedule_choose(schedule ? schedule : cal_assembly_arrangement.on_device, &choice, error);
    if (status) return status;
    status = cal_schedule_create(model, choice, &s, error);
    if (status) return status;
    if (s->loops && s->port_count > 0)
        status = cal_fail(error, CAL_NOT_AVAILABLE,
                          "machine cuda runs assembly of models without constraints; with them use algorithm aba");
    if (!status) status = add_parts(s, gpu, out, error);
    if (!status && s->port_count > 0 && add_joins(s, gpu, out))
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for pricing %d joints", model->joint_count);
    out->parts = s->part_count;
    out->heights = s->port_count > 0 ? s->height : 0;
    cal_schedule_destroy(s);
    cal_gpu_add_up(gpu, out);
    return status;
}
