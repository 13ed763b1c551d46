// Compiles an algorithm's mechanics for every number of lanes that the columns of one width ask for: all W of them,
// half of 8, and one for chains. Define CAL_BODY (the header with the mechanics of one node) and CAL_COLUMNS (the one
// that runs them along a column) first. Afterwards KERNEL(name) is a kernel's name at this width, and RUN calls a
// function of CAL_COLUMNS with the lanes of the column at hand.
#define CAL_LANES 1
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include CAL_BODY
#include "pass/columns.h"
#include CAL_COLUMNS
#if CAL_WIDTH == 8
#undef CAL_LANES
#define CAL_LANES 4
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include CAL_BODY
#include "pass/columns.h"
#include CAL_COLUMNS
#endif
#if CAL_WIDTH > 1
#undef CAL_LANES
#define CAL_LANES CAL_WIDTH
#include "math/lanes.h"
#include "math/lane_algebra.h"
#include "math/lane_memory.h"
#include CAL_BODY
#include "pass/columns.h"
#include CAL_COLUMNS
#endif

#define JOIN_(name, suffix) name##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
#define KERNEL(name) JOIN(name, CAL_KERNEL_SUFFIX)
#define WIDE_(name, width) name##_##width
#define WIDE__(name, width) WIDE_(name, width)
#define WIDE(name) WIDE__(name, CAL_WIDTH)

#if CAL_WIDTH == 8
#define RUN(name, context, column)                                                                                     \
    ((column)->lanes == 8 ? name##_8 : (column)->lanes == 4 ? name##_4 : name##_1)((context), (column))
#else
#define RUN(name, context, column) ((column)->lanes == 1 ? name##_1 : WIDE(name))((context), (column))
#endif
