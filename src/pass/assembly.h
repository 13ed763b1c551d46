// Assembly and disassembly: what its kernels, its joins and the rest share. assembly.c has the mathematics.
#pragma once
#include "pass/arrangement.h"
#include "pass/variants.h"
#include "schedule/schedule.h"

// What a state holds for assembly.
typedef struct cal_assembly {
    const cal_schedule* schedule;
    const cal_slot_layout* slots;
    cal_hold hold;
    double* area;    // of columns with slots: forces on their way inbound, Λ
    double* answer;  // of columns with slots: how joints answer to forces on ports; kept between the walks
    double* ports;   // 24 a port: how it moves seen from its part's base
    double* forces;  // 6 a port: what hangs there does to it
    double* numbers; // of elements: in the scratch memory, where messages find them
    struct cal_loop_work* loop_work; // NULL: the model has no constraints
    double* work;                    // joins' scratch, a share each processor
    size_t work_size;
} cal_assembly;
CAL_DEVICE static inline cal_assembly* cal_assembly_of(const cal_context* context) {
    return (cal_assembly*)context->own;
}

// How assembly is planned (assembly_arrangement.c), and what the edges of the tree of joins carry.
typedef struct cal_assembly_plan {
    cal_arrangement base;
    cal_schedule* schedule;
    cal_slot_layout* slots;
    size_t numbers;           // of elements: where they begin in the scratch memory
    int32_t* element_of_edge; // below it
} cal_assembly_plan;
extern const cal_arrangement_ops cal_assembly_arrangement;
cal_crossing cal_assembly_carry_tips(const cal_arrangement* arrangement, int edge);
cal_crossing cal_assembly_carry_base(const cal_arrangement* arrangement, int edge);
cal_crossing cal_assembly_carry_element(const cal_arrangement* arrangement, int edge);
cal_crossing cal_assembly_carry_forces(const cal_arrangement* arrangement, int edge);

// How a body moves, or how it moves seen from another: E (columns), ω, α and a at q̈ = 0, position, velocity.
typedef struct cal_placing {
    double rotation[9], angular[3], turning[3], pulling[3], position[3], linear[3];
} cal_placing;

CAL_DECLARE_VARIANTS(cal_assembly_place);
CAL_DECLARE_VARIANTS(cal_assembly_inertia);
CAL_DECLARE_VARIANTS(cal_assembly_pull);
CAL_DECLARE_VARIANTS(cal_assembly_acceleration);

// Kernels write a part's own element.
CAL_DEVICE static inline double* cal_element_numbers(const cal_assembly* assembly, int element) {
    return assembly->numbers + assembly->schedule->elements[element].numbers;
}

// The parts of an element in its numbers: I (21), p (6), E (6 a column), c (1 a column), Λ; lower rows where symmetric.
enum { CAL_ELEMENT_BIAS = 21, CAL_ELEMENT_COLUMNS = 27 };

// Whether a join is one of two parts of a chain, or of what such parts became: a has one tip, below which b hangs, with one or none.
CAL_DEVICE static inline bool cal_joins_chain(const cal_element* e, const cal_element* a, const cal_element* b) {
    return e->kind == CAL_ELEMENT_BELOW && a->columns == 6 && (b->columns == 6 || b->columns == 0) &&
           e->columns == b->columns;
}

// Joins of batches of the schedule (assembly_join_lanes.c); what is done with a batch before, and whether it is of joins.
CAL_DECLARE_VARIANTS(cal_join_inbound);
CAL_DECLARE_VARIANTS(cal_join_outbound);
bool cal_assembly_begin_batch(const cal_context* context, int batch, bool outbound);
// Loops (assembly_loops.c), in the order in which they are called: joint values, a port's motion, a port's rows; then the
// multipliers of all rows, which are the columns of an element on the ground.
struct cal_loop_work* cal_loop_work_create(const cal_schedule* schedule);
void cal_loop_work_destroy(struct cal_loop_work* work); // NULL is allowed
void cal_loops_begin(const cal_context* context);
void cal_loops_place(const cal_context* context, const cal_element* rows);
void cal_loops_fill(const cal_context* context, int element);
void cal_loops_solve(const cal_context* context, int element);
