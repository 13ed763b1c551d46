// Running one node's mechanics along a column: where the numbers of each step are, and what the parent's end holds.
// Shared by the algorithms that walk. Include once a width, after the mechanics (each_width.h does).
//
// CAL_LANES > 1 walks a wide column block by block, on all of its lanes or on the first half of them; CAL_LANES = 1
// with a larger CAL_WIDTH walks a long column node by node: node i is lane i % W of block i / W. For CAL_WIDTH = 1 both
// are the same. With a thread per lane (CAL_THREAD_PER_LANE) every call is of one lane: CAL_LANES = 1 walks wide columns on the
// thread's own lane and long ones node by node.
#define place LANE(cal_place)
#define find_place LANE(cal_find_place)
#define own_lane LANE(cal_own_lane)

// Which of a column's slots and blocks' lanes this call works on.
LANE_INLINE int own_lane(const cal_column* column) {
#ifdef CAL_THREAD_PER_LANE
    return column->is_long ? 0 : CAL_OWN_LANE;
#else
    (void)column;
    return 0;
#endif
}

// Whether this call works on lane l of the column.
#define is_own_lane LANE(cal_is_own_lane)
LANE_INLINE bool is_own_lane(const cal_column* column, int l) {
#ifdef CAL_THREAD_PER_LANE
    return l == own_lane(column);
#else
    (void)column, (void)l;
    return true;
#endif
}

// The block of a step, and its first lane that this call works on.
#define step_place LANE(cal_step_place)
#define find_step LANE(cal_find_step)
typedef struct step_place {
    int block, lane;
} step_place;
LANE_INLINE step_place find_step(const cal_column* column, int step) {
#ifdef CAL_THREAD_PER_LANE
    return column->is_long ? (step_place){step / CAL_WIDTH, step % CAL_WIDTH} : (step_place){step, CAL_OWN_LANE};
#else
    (void)column;
    const int along = CAL_LANES == 1 ? CAL_WIDTH : 1;
    return (step_place){step / along, step % along};
#endif
}

// Where the numbers of one step of a column are.
typedef struct place {
    const double *y, *constants, *force, *external, *implicit;
    double *ydot, *record, *scratch;
} place;

// record_doubles: what the algorithm keeps of a node of this kind between the walks.
LANE_INLINE place find_place(const cal_context* context, const cal_column* column, int kind, int record_doubles,
                             int step) {
    const step_place of = find_step(column, step);
    const int block = of.block, l = of.lane;
    const cal_layout* layout = context->layout;
    const size_t index = (size_t)(column->first_block + block), width = CAL_WIDTH;
    // The blocks of a column follow each other in every array, so the first one's position gives all.
    const size_t v = (size_t)cal_kind_v(kind), y = (size_t)cal_kind_q(kind) + v, b = (size_t)block;
    const size_t y_at = (size_t)layout->block_y[column->first_block] + b * y * width + (size_t)l;
    const size_t v_at = (size_t)layout->block_v[column->first_block] + b * v * width + (size_t)l;
    return (place){
        .y = context->y + y_at,
#ifdef CAL_THREAD_PER_LANE
        .constants =
            layout->constants + column->constants + b * CAL_CONSTANT_COUNT * width + (layout->uniform ? 0 : (size_t)l),
#else
        .constants = layout->constants + column->constants + b * CAL_CONSTANT_COUNT * width + (size_t)l,
#endif
        .force = context->force + v_at,
        .external = context->wrench ? context->wrench + index * 15 * width + (size_t)l : NULL,
        .implicit = context->implicit ? context->implicit + y_at + (y - v) * width : NULL,
        .ydot = context->ydot + y_at,
        .record = context->records + column->record + b * (size_t)record_doubles * width + (size_t)l,
        .scratch = FRAME_OF(context, column, block) + (size_t)l,
    };
}

#define step_count LANE(cal_step_count)
LANE_INLINE int step_count(const cal_column* column) {
#ifdef CAL_THREAD_PER_LANE
    return column->is_long ? column->node_count : column->block_count;
#else
    return CAL_LANES == 1 && CAL_WIDTH > 1 ? column->node_count : column->block_count;
#endif
}

// The end of the column above, or of the ground.
#define parent_end LANE(cal_parent_end)
LANE_INLINE const double* parent_end(const cal_context* context, const cal_column* column) {
    return context->scratch +
           (column->parent < 0 ? column->base_slot : context->layout->columns[column->parent].end_slot);
}

// Component i of what the parent's end holds, a lane for each of the column's lanes.
#define from_parent LANE(cal_from_parent)
LANE_INLINE lane from_parent(const double* slot, const cal_column* column, int i) {
#ifdef CAL_THREAD_PER_LANE
    if (column->based) return slot[i * column->lanes + own_lane(column)];
    const int l = column->parent_lane[own_lane(column)];
    return slot[i * (column->parent < 0 ? 1 : CAL_WIDTH) + (l < 0 ? 0 : l)];
#elif CAL_LANES == 1
    return slot[i * column->parent_lanes + (column->parent_lane[0] < 0 ? 0 : column->parent_lane[0])];
#else
    if (column->based || (column->aligned && column->parent_lanes == CAL_LANES)) return slot_load(slot, i);
    lane out;
    for (int l = 0; l < CAL_LANES; l++)
        out[l] = slot[i * column->parent_lanes + (column->parent_lane[l] < 0 ? 0 : column->parent_lane[l])];
    return out;
#endif
}
#define from_parent3 LANE(cal_from_parent3)
LANE_INLINE v3 from_parent3(const double* slot, const cal_column* column, int i) {
    return (v3){from_parent(slot, column, i), from_parent(slot, column, i + 1), from_parent(slot, column, i + 2)};
}

// Runs a function for the column's kind of joint, which is a constant in it.
#undef BY_KIND
#define BY_KIND(run, context, column)                                                                                  \
    switch ((column)->kind) {                                                                                          \
    case CAL_REVOLUTE: run(CAL_REVOLUTE, (context), (column)); break;                                                  \
    case CAL_PRISMATIC: run(CAL_PRISMATIC, (context), (column)); break;                                                \
    case CAL_BALL: run(CAL_BALL, (context), (column)); break;                                                          \
    default: run(CAL_FREE, (context), (column)); break;                                                                \
    }
