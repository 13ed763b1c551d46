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

#ifdef CAL_THREAD_PER_LANE
// Where the constants of one of a column's blocks are. Where all lanes have the same ones they are kept once: in the lanes of a block of
// constants are those of block after block, so that what a column needs is few lines of a cache (cuda/device_constants.c).
#define find_constants LANE(cal_find_constants)
LANE_INLINE const double* find_constants(const cal_layout* layout, const cal_column* column, int block, int l) {
    const size_t a_block = CAL_CONSTANT_COUNT * (size_t)CAL_WIDTH, seat = column->constants % CAL_WIDTH;
    const size_t number = seat + (size_t)block;
    return layout->constants + column->constants +
           (column->alike ? number / CAL_WIDTH * a_block + number % CAL_WIDTH - seat
                          : (size_t)block * a_block + (size_t)l);
}
#endif

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
        .constants = find_constants(layout, column, block, l),
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

// Rows of mixed columns, CAL_LANES numbers at a time: numbers of lanes from a row for each lane, and back.
#if CAL_LANES > 1
#define exchange_lanes LANE(cal_exchange_lanes)
#undef MIX_LOW
#undef MIX_HIGH
#if CAL_LANES == 2
#define MIX_LOW(a, b) __builtin_shufflevector(a, b, 0, 2)
#define MIX_HIGH(a, b) __builtin_shufflevector(a, b, 1, 3)
#elif CAL_LANES == 4
#define MIX_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define MIX_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define MIX_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define MIX_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#endif
#if CAL_LANES == 8
// Transposes 8 × 8 numbers: first within pairs of lanes, then pairs, both by instructions that write elsewhere than they read and need no table of lanes.
#undef PAIR_LOW
#undef PAIR_HIGH
#undef PAIRS_EVEN
#undef PAIRS_ODD
#define PAIR_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define PAIR_HIGH(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define PAIRS_EVEN(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define PAIRS_ODD(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15)
LANE_INLINE void exchange_lanes(lane* rows) {
    lane low[4], high[4];
    for (int i = 0; i < 4; i++) {
        low[i] = PAIR_LOW(rows[2 * i], rows[2 * i + 1]);
        high[i] = PAIR_HIGH(rows[2 * i], rows[2 * i + 1]);
    }
    for (int odd = 0; odd < 2; odd++) {
        const lane* of = odd ? high : low;
        const lane first = PAIRS_EVEN(of[0], of[1]), second = PAIRS_EVEN(of[2], of[3]), third = PAIRS_ODD(of[0], of[1]),
                   fourth = PAIRS_ODD(of[2], of[3]);
        rows[odd] = PAIRS_EVEN(first, second), rows[4 + odd] = PAIRS_ODD(first, second);
        rows[2 + odd] = PAIRS_EVEN(third, fourth), rows[6 + odd] = PAIRS_ODD(third, fourth);
    }
}
// The same of rows in memory: halves of two rows are read into one lane each, so that one round less is left.
#define half_row LANE(cal_half_row)
#define read_halves LANE(cal_read_halves)
#define read_rows LANE(cal_read_rows)
typedef double half_row __attribute__((vector_size(32), aligned(8)));
LANE_INLINE lane read_halves(const double* a, const double* b) {
    return __builtin_shufflevector(*(const half_row*)a, *(const half_row*)b, 0, 1, 2, 3, 4, 5, 6, 7);
}
LANE_INLINE void read_rows(const double* const* from, lane* out) {
    for (int half = 0; half < 8; half += 4) {
        const lane a = read_halves(from[0] + half, from[2] + half), b = read_halves(from[1] + half, from[3] + half),
                   c = read_halves(from[4] + half, from[6] + half), d = read_halves(from[5] + half, from[7] + half);
        const lane low[2] = {PAIR_LOW(a, b), PAIR_LOW(c, d)}, high[2] = {PAIR_HIGH(a, b), PAIR_HIGH(c, d)};
        out[half] = PAIRS_EVEN(low[0], low[1]), out[half + 1] = PAIRS_EVEN(high[0], high[1]);
        out[half + 2] = PAIRS_ODD(low[0], low[1]), out[half + 3] = PAIRS_ODD(high[0], high[1]);
    }
}
#else
// Transposes CAL_LANES × CAL_LANES numbers: halves are shuffled into each other, once for each factor of two.
LANE_INLINE void exchange_lanes(lane* rows) {
    for (int round = 1; round < CAL_LANES; round *= 2) {
        lane next[CAL_LANES];
        for (int i = 0; i < CAL_LANES / 2; i++) {
            next[2 * i] = MIX_LOW(rows[i], rows[i + CAL_LANES / 2]);
            next[2 * i + 1] = MIX_HIGH(rows[i], rows[i + CAL_LANES / 2]);
        }
        for (int i = 0; i < CAL_LANES; i++) rows[i] = next[i];
    }
}
#endif
// `count` numbers of all lanes, from a row each; rounded up to whole exchanges, as rows are.
#define take_rows LANE(cal_take_rows)
#define add_rows LANE(cal_add_rows)
#define leave_rows LANE(cal_leave_rows)
static __attribute__((noinline)) void take_rows(const double* scratch, const size_t* places, int count, double* to) {
    for (int i = 0; i < count; i += CAL_LANES) {
        lane rows[CAL_LANES];
#if CAL_LANES == 8
        const double* from[8];
        for (int l = 0; l < 8; l++) from[l] = scratch + places[l] + i;
        read_rows(from, rows);
#else
        for (int l = 0; l < CAL_LANES; l++) rows[l] = *(const memory*)(scratch + places[l] + i);
        exchange_lanes(rows);
#endif
        for (int k = 0; k < CAL_LANES; k++) slot_store(to, i + k, rows[k]);
    }
}
static __attribute__((noinline)) void add_rows(const double* scratch, const size_t* places, int count, double* to) {
    for (int i = 0; i < count; i += CAL_LANES) {
        lane rows[CAL_LANES];
#if CAL_LANES == 8
        const double* from[8];
        for (int l = 0; l < 8; l++) from[l] = (places[l] == CAL_NO_ROW ? cal_nothing : scratch + places[l]) + i;
        read_rows(from, rows);
#else
        for (int l = 0; l < CAL_LANES; l++)
            rows[l] = *(const memory*)((places[l] == CAL_NO_ROW ? cal_nothing : scratch + places[l]) + i);
        exchange_lanes(rows);
#endif
        for (int k = 0; k < CAL_LANES && i + k < count; k++) slot_store(to, i + k, slot_load(to, i + k) + rows[k]);
    }
}
static __attribute__((noinline)) void leave_rows(const double* from, int count, int row, double* to) {
    for (int i = 0; i < count; i += CAL_LANES) {
        lane rows[CAL_LANES];
        for (int k = 0; k < CAL_LANES; k++) rows[k] = slot_load(from, i + k);
        exchange_lanes(rows);
        for (int l = 0; l < CAL_LANES; l++) *(memory*)(to + l * row + i) = rows[l];
    }
}
#endif

// What the column reads of its parent's end: `count` numbers for each of its lanes. With one lane they are where they are.
#define parent_slot LANE(cal_parent_slot)
#define find_parent LANE(cal_find_parent)
enum { LANE(CAL_MOST_READ) = CAL_DOWN_COUNT + 6 };
typedef struct parent_slot {
    const double* at;
#if CAL_LANES > 1
    _Alignas(64) double room[LANE(CAL_MOST_READ) * CAL_LANES];
#else
    int stride;
#endif
} parent_slot;
#if CAL_LANES > 1
// From the lanes of one column, which are elsewhere or fewer than the column's own.
#define collect_lanes LANE(cal_collect_lanes)
#define collect_strides LANE(cal_collect_strides)
LANE_INLINE void collect_strides(const double* end, const cal_column* column, int stride, int count, double* to) {
    const double* from[CAL_LANES];
    for (int l = 0; l < CAL_LANES; l++) from[l] = end + (column->parent_lane[l] < 0 ? 0 : column->parent_lane[l]);
    for (int i = 0; i < count; i++) {
        lane own;
        for (int l = 0; l < CAL_LANES; l++) own[l] = from[l][i * stride];
        slot_store(to, i, own);
    }
}
// Of one lane all have the same; as many are put into another order.
static __attribute__((noinline)) void collect_lanes(const double* end, const cal_column* column, int count,
                                                    double* to) {
    if (column->parent_lanes == 1) {
        for (int i = 0; i < count; i++) slot_store(to, i, lane_set(end[i]));
    } else if (column->parent_lanes == CAL_LANES) {
        const lane_bits choice = lane_choice(column->parent_lane);
        for (int i = 0; i < count; i++) slot_store(to, i, lane_permute(slot_load(end, i), choice));
#if CAL_LANES == 8 && CAL_WIDTH == 8
    } else if (column->parent_lanes == 4) {
        const lane_bits choice = lane_choice(column->parent_lane);
        for (int i = 0; i < count; i++)
            slot_store(to, i, lane_permute(cal_lanes_widen(cal_slot_load_4(end, i)), choice));
#endif
    } else {
        collect_strides(end, column, column->parent_lanes, count, to);
    }
}
#endif
// The same of numbers that lie elsewhere as they do in the parent's slot.
#define find_above LANE(cal_find_above)
LANE_INLINE void find_above(const cal_context* context, const cal_column* column, const double* end, int count,
                            parent_slot* slot) {
    const cal_layout* layout = context->layout;
#if CAL_LANES == 1
    (void)count;
    const int l = own_lane(column), above = column->parent_lane[l] < 0 ? 0 : column->parent_lane[l];
    if (column->mixed)
#ifdef CAL_THREAD_PER_LANE
        *slot = (parent_slot){context->scratch + layout->parents[column->first_parent + l], CAL_WIDTH};
#else
        *slot = (parent_slot){context->scratch + layout->parents[column->first_parent], 1};
#endif
    else if (column->based)
        *slot = (parent_slot){end + l, column->lanes};
    else
#ifdef CAL_THREAD_PER_LANE
        *slot = (parent_slot){end + above, column->parent < 0 ? 1 : CAL_WIDTH};
#else
        *slot = (parent_slot){end + above, column->parent_lanes};
#endif
#else
    slot->at = end;
    if (column->based || (column->aligned && column->parent_lanes == CAL_LANES)) return;
    slot->at = slot->room;
    if (column->mixed)
        take_rows(context->scratch, layout->parents + column->first_parent, count, slot->room);
    else
        collect_lanes(end, column, count, slot->room);
#endif
}

LANE_INLINE void find_parent(const cal_context* context, const cal_column* column, int count, parent_slot* slot) {
    const cal_column* columns = context->layout->columns;
    const size_t end = column->parent < 0 ? column->base_slot : columns[column->parent].end_slot;
    find_above(context, column, context->scratch + end, count, slot);
}

// Number i of them.
#define from_parent LANE(cal_from_parent)
LANE_INLINE lane from_parent(const parent_slot* slot, int i) {
#if CAL_LANES == 1 && defined(__CUDA_ARCH__)
    return ((const volatile double*)slot->at)[i * slot->stride]; // as slot_load
#elif CAL_LANES == 1
    return slot->at[i * slot->stride];
#else
    return slot_load(slot->at, i);
#endif
}
#define from_parent3 LANE(cal_from_parent3)
LANE_INLINE v3 from_parent3(const parent_slot* slot, int i) {
    return (v3){from_parent(slot, i), from_parent(slot, i + 1), from_parent(slot, i + 2)};
}

// What children add to: the sums at the column's end.
#define end_sums LANE(cal_end_sums)
LANE_INLINE double* end_sums(const cal_context* context, const cal_column* column) {
    return context->scratch + column->end_slot + CAL_DOWN_COUNT * CAL_WIDTH + own_lane(column);
}

// Whether the children of each lane are gathered one by one, from the rows that they left; else they are pulled column by column, and
// have been when the column goes up.
#define gathers_rows LANE(cal_gathers_rows)
LANE_INLINE bool gathers_rows(const cal_column* column) {
#ifdef CAL_THREAD_PER_LANE
    (void)column;
    return false; // who calls has pulled
#else
    return column->gathers;
#endif
}

// Room for the sums of a column that gathers. They are not kept from the way down to the way up.
#define sum_room LANE(cal_sum_room)
typedef struct sum_room {
#if CAL_LANES > 1
    _Alignas(64)
#endif
        double numbers[CAL_UP_ROW * CAL_LANES];
} sum_room;

// Adds the first `count` numbers that the children of each lane left to the sums, in the order of the tree.
#define gather_children LANE(cal_gather_children)
LANE_INLINE void gather_children(const cal_context* context, const cal_column* column, int count, sum_room* sums) {
    const cal_layout* layout = context->layout;
    for (int k = 0; k < column->most_pulls; k++) {
        const size_t* rows = layout->pulls + column->first_pull + k * column->lanes;
#if CAL_LANES == 1
        for (int i = 0; i < count; i++) sums->numbers[i] += context->scratch[*rows + (size_t)i];
#else
        add_rows(context->scratch, rows, count, sums->numbers);
#endif
    }
}

// Where a column writes the numbers that its children read, and those that its parent pulls: its slots, or, where these are rows,
// `room`, of which close_end and close_up then make rows.
#define slot_room LANE(cal_slot_room)
#define end_room LANE(cal_end_room)
#define up_room LANE(cal_up_room)
#define close_end LANE(cal_close_end)
#define close_up LANE(cal_close_up)
typedef struct slot_room {
#if CAL_LANES > 1
    _Alignas(64) double numbers[CAL_UP_ROW * CAL_LANES];
#else
    char none;
#endif
} slot_room;
LANE_INLINE double* end_room(const cal_context* context, const cal_column* column, slot_room* room) {
    (void)room;
#ifndef CAL_THREAD_PER_LANE
#if CAL_LANES > 1
    if (column->gathers) return room->numbers;
#else
    if (column->gathers) return context->scratch + column->row_slot;
#endif
#endif
    return context->scratch + column->end_slot + own_lane(column);
}
LANE_INLINE double* up_room(const cal_context* context, const cal_column* column, slot_room* room) {
    (void)room;
#if CAL_LANES > 1
    if (column->mixed) return room->numbers;
#endif
    return context->scratch + column->up_slot + own_lane(column);
}
LANE_INLINE void close_end(const cal_context* context, const cal_column* column, const slot_room* room, int count) {
    (void)context, (void)column, (void)room, (void)count;
#if CAL_LANES > 1
    if (column->gathers) leave_rows(room->numbers, count, CAL_DOWN_ROW, context->scratch + column->row_slot);
#endif
}
LANE_INLINE void close_up(const cal_context* context, const cal_column* column, const slot_room* room, int count) {
    (void)context, (void)column, (void)room, (void)count;
#if CAL_LANES > 1
    if (column->mixed) leave_rows(room->numbers, count, CAL_UP_ROW, context->scratch + column->up_slot);
#endif
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
