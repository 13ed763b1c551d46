// The y of a constraint's rows (mass_factor.h), up to four of them side by side. Compiled once for each width (aba_lanes.c says how).
#include "pass/aba.h"
#include "pass/row_nodes.h"
#include <math.h>
#include <string.h>

enum { SIX = 6, SQUARE = 36 };

#define CAL_LANES 1
#include "math/lanes.h"
#include "pass/wrench_body.h"
#include "pass/mass_rows_body.h"
#if CAL_WIDTH > 1
#undef CAL_LANES
#define CAL_LANES 2
#include "math/lanes.h"
#include "pass/wrench_body.h"
#include "pass/mass_rows_body.h"
#endif
#if CAL_WIDTH > 2
#undef CAL_LANES
#define CAL_LANES 4
#include "math/lanes.h"
#include "pass/wrench_body.h"
#include "pass/mass_rows_body.h"
#endif

#define JOIN_(name, suffix) name##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
#define KERNEL(name) JOIN(name, CAL_KERNEL_SUFFIX)

void KERNEL(cal_mass_factor_rows)(cal_mass_factor* tree, const cal_row* rows, int count, const int32_t* nodes,
                                  int node_count, double* y, size_t stride) {
    int done = 0;
#if CAL_WIDTH > 2
    for (; count - done > 2; done += count - done < 4 ? 3 : 4)
        cal_take_any_rows_4(tree, rows + done, count - done < 4 ? 3 : 4, nodes, node_count, y + (size_t)done * stride,
                            stride);
#endif
#if CAL_WIDTH > 1
    for (; count - done > 1; done += 2)
        cal_take_any_rows_2(tree, rows + done, 2, nodes, node_count, y + (size_t)done * stride, stride);
#endif
    for (; done < count; done++)
        cal_take_any_rows_1(tree, rows + done, 1, nodes, node_count, y + (size_t)done * stride, stride);
}

void KERNEL(cal_mass_factor_rates)(cal_mass_factor* tree, const double* share, int count, double* out) {
    const size_t stride = (size_t)count;
    int done = 0;
#if CAL_WIDTH > 2
    for (; count - done > 2; done += 4) cal_give_rates_4(tree, share + done, stride, out + done);
#endif
#if CAL_WIDTH > 1
    for (; count - done > 1; done += 2) cal_give_rates_2(tree, share + done, stride, out + done);
#endif
    for (; done < count; done++) cal_give_rates_1(tree, share + done, stride, out + done);
}
