// Forward dynamics by assembly on a device, what is done along the tree of joins: pass/assembly_elements.h and
// pass/assembly_join_body.h, a thread per element.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "pass/assembly_elements.h"
#include <float.h>

#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include "pass/assembly_join_body.h"
#include "pass/assembly_join_batches.h"

// The element with this number of those in first … end - 1; -1: there is none.
CAL_DEVICE static inline int find_element(const cal_context* context, int first, int end, int number) {
    return first + number < end ? cal_assembly_of(context)->schedule->order[first + number] : -1;
}

// --- How tips move, seen from bases; then how bases move ------------------------------------------------------------------

CAL_DEVICE static inline void find_tips_of(const cal_context* context, int index) {
    const cal_assembly* assembly = cal_assembly_of(context);
    find_tips(assembly, &assembly->schedule->elements[index]);
}

CAL_DEVICE static inline void find_bases_of(const cal_context* context, int index) {
    const cal_element* e = &cal_assembly_of(context)->schedule->elements[index];
    if (e->parent < 0) stand_on_ground(context, e);
    pass_motion(context, e);
}

// --- Assembly and disassembly ------------------------------------------------------------------------------------------------

CAL_DEVICE static inline void assemble(const cal_context* context, int index, int thread) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[index];
    if (e->kind == CAL_ELEMENT_UNIT) fill_unit(assembly, e);
    if (e->kind == CAL_ELEMENT_BESIDE) join_beside(assembly, e);
    if (e->kind != CAL_ELEMENT_BELOW) return;
    const int32_t member = index;
    LANE(join_batch)(assembly, &member, 1, assembly->work + (size_t)thread * assembly->work_size);
}

CAL_DEVICE static inline void take_apart(const cal_context* context, int index) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[index];
    if (e->parent < 0) hold_base(assembly, e);
    if (e->kind == CAL_ELEMENT_PART) give_forces(context, e);
    if (e->a < 0) return;
    pass_on(assembly, e);
    const int32_t member = index;
    if (e->kind == CAL_ELEMENT_BELOW) LANE(part_batch)(assembly, &member, 1, NULL);
}

// --- Kernels: of one height; of the last ones, up and down again, in phases ------------------------------------------------

// The height of a phase.
CAL_DEVICE static inline int height_of(const cal_device_work* work, int phase) {
    return work->first + (phase < work->count ? phase : 2 * work->count - 1 - phase);
}

CAL_KERNEL void tips_kernel(const cal_device_work work) {
    const cal_context context = own_context(&work, 0);
    const int index = find_element(&context, work.first, work.first + work.count, CAL_OWN_THREAD);
    if (index >= 0) find_tips_of(&context, index);
}

CAL_KERNEL void bases_kernel(const cal_device_work work) {
    const cal_context context = own_context(&work, 0);
    const int index = find_element(&context, work.first, work.first + work.count, CAL_OWN_THREAD);
    if (index >= 0) find_bases_of(&context, index);
}

CAL_PHASE void placing_phase(const cal_device_work* work, int phase) {
    const cal_context context = own_context(work, 0);
    const int height = height_of(work, phase);
    const int index = find_element(&context, work->heights[height], work->heights[height + 1], CAL_OWN_THREAD);
    if (index >= 0 && phase < work->count) find_tips_of(&context, index);
    if (index >= 0 && phase >= work->count) find_bases_of(&context, index);
}
CAL_PHASED_KERNEL(last_placing_kernel, placing_phase)

CAL_KERNEL void join_kernel(const cal_device_work work) {
    const cal_context context = own_context(&work, 0);
    const int index = find_element(&context, work.first, work.first + work.count, CAL_OWN_THREAD);
    if (index >= 0) assemble(&context, index, CAL_OWN_THREAD);
}

CAL_KERNEL void disassembly_kernel(const cal_device_work work) {
    const cal_context context = own_context(&work, 0);
    const int index = find_element(&context, work.first, work.first + work.count, CAL_OWN_THREAD);
    if (index >= 0) take_apart(&context, index);
}

CAL_PHASE void joining_phase(const cal_device_work* work, int phase) {
    const cal_context context = own_context(work, 0);
    const int height = height_of(work, phase);
    const int index = find_element(&context, work->heights[height], work->heights[height + 1], CAL_OWN_THREAD);
    if (index >= 0 && phase < work->count) assemble(&context, index, CAL_OWN_THREAD);
    if (index >= 0 && phase >= work->count) take_apart(&context, index);
}
CAL_PHASED_KERNEL(last_joining_kernel, joining_phase)

// A warp per block, so that few elements are on many multiprocessors.
#define ELEMENT_LAUNCH(name, kernel)                                                                                   \
    static void name(cal_device* device, const cal_device_work* work, int elements) {                                  \
        CAL_LAUNCH_BLOCKS(kernel, device, (elements + CAL_WIDTH - 1) / CAL_WIDTH, 1, work);                            \
    }
ELEMENT_LAUNCH(tips, tips_kernel)
ELEMENT_LAUNCH(bases, bases_kernel)
ELEMENT_LAUNCH(join, join_kernel)
ELEMENT_LAUNCH(disassembly, disassembly_kernel)

static void last_placing(cal_device* device, const cal_device_work* work, int heights) {
    cal_device_work own = *work;
    own.phase_count = 2 * heights;
    CAL_LAUNCH_PHASED(last_placing_kernel, placing_phase, device, &own);
}
static void last_joining(cal_device* device, const cal_device_work* work, int heights) {
    cal_device_work own = *work;
    own.phase_count = 2 * heights;
    CAL_LAUNCH_PHASED(last_joining_kernel, joining_phase, device, &own);
}

CAL_EXTERN_C const cal_device_joins cal_device_placing = {.up = tips, .down = bases, .last = last_placing};
CAL_EXTERN_C const cal_device_joins cal_device_joining = {.up = join, .down = disassembly, .last = last_joining};
