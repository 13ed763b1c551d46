// Packs of constraints that are alike (loop_pack.h). Compiled once for each width (aba_lanes.c says how).
#include "pass/loop_pack.h"
#include "math/four.h"
#include "pass/aba.h"
#include <stddef.h>
#include <string.h>

#if CAL_WIDTH == 8 // for packs that are half full
#define CAL_LANES 4
#include "math/lanes.h"
#include "pass/constraint_rows_body.h"
#include "pass/wrench_body.h"
#include "pass/loop_pack_body.h"
#undef CAL_LANES
#endif
#define CAL_LANES CAL_WIDTH
#include "math/lanes.h"
#include "pass/constraint_rows_body.h"
#include "pass/wrench_body.h"
#include "pass/loop_pack_body.h"

#define JOIN_(name, suffix) name##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
#define KERNEL(name) JOIN(name, CAL_KERNEL_SUFFIX)
#define WIDE JOIN(_, CAL_WIDTH)

// All lanes at once, where there are as many; half of them where that is enough.
#if CAL_WIDTH == 8
#define RUN(name, pack, ...) ((pack)->count > 4 ? name##_8 : name##_4)((pack), 0, __VA_ARGS__)
#else
#define RUN(name, pack, ...)                                                                                           \
    for (int at = 0; at < (pack)->count; at += CAL_WIDTH) JOIN(name, WIDE)((pack), at, __VA_ARGS__)
#endif

void KERNEL(cal_pack_make_rows)(cal_loop_pack* pack, const cal_node_motion* motions, cal_row* rows) {
    RUN(make_pack_rows, pack, motions, rows);
}

void KERNEL(cal_pack_inbound)(const cal_loop_pack* pack, const cal_mass_factor* tree,
                              const cal_pack_inbound_rows* out) {
    RUN(take_pack_inbound, pack, tree, out);
}
