// The kernels of one solver. Include after its *_columns.h, with SOLVER_PREPARE, SOLVER_FOLLOW_UP, SOLVER_INTERPOLATE and
// SOLVER_KERNELS (the name of the table), SOLVER_SUMS and SOLVER_MAXIMA (how many) defined, SOLVER_STEER where each instance of a
// batch can have control of its own, SOLVER_STEP (a launch) where all of them have the same steps, SOLVER_PREPARE_BLOCK where that of one
// block alone is another function, and SOLVER_AHEAD where a follow-up reads ahead (the prefix of its functions); may be included again.
#define SOLVER_JOIN_(a, b) a##_##b
#define SOLVER_JOIN(a, b) SOLVER_JOIN_(a, b)
#define SOLVER(name) SOLVER_JOIN(SOLVER_KERNELS, name)

#ifndef CAL_SOLVER_KERNELS_ONCE
#define CAL_SOLVER_KERNELS_ONCE
#include "pass/sums.h"

// Of the ground's sums, so many are on chip at a time, and as many on their way.
enum { CAL_SUMS_PIECE = (CAL_TEAM_DOUBLES - CAL_WIDTH) / (2 * CAL_MAX_SUMS) };
// A column whose shares are summed has its last blocks' on chip; the team of the first levels has so many columns there.
enum { CAL_KEPT_BLOCKS = 16, CAL_KEPT_COLUMNS = 5 };

CAL_DEVICE static inline size_t own_instance(int group) { return (size_t)group * CAL_WIDTH + (size_t)CAL_OWN_LANE; }

// The numbers of a warp's threads, so many bytes each, into shared memory and back; the thread's own.
CAL_PHASE char* cal_bring_on_chip(char* all, int warp, size_t bytes) {
#ifdef CAL_CUDA_EMULATED
    return all + ((size_t)warp * CAL_WIDTH + (size_t)CAL_OWN_LANE) * bytes; // threads come one after the other
#else
    const double* from = (const double*)(all + (size_t)warp * CAL_WIDTH * bytes);
    const int count = (int)(CAL_WIDTH * bytes / sizeof(double));
    for (int i = CAL_OWN_LANE; i < count; i += CAL_WIDTH) CAL_FAST_MEMORY[i] = from[i];
    __syncwarp();
    return (char*)CAL_FAST_MEMORY + (size_t)CAL_OWN_LANE * bytes;
#endif
}
CAL_PHASE void cal_take_off_chip(char* all, int warp, size_t bytes) {
#ifdef CAL_CUDA_EMULATED
    (void)all, (void)warp, (void)bytes;
#else
    double* to = (double*)(all + (size_t)warp * CAL_WIDTH * bytes);
    const int count = (int)(CAL_WIDTH * bytes / sizeof(double));
    __syncwarp();
    for (int i = CAL_OWN_LANE; i < count; i += CAL_WIDTH) to[i] = CAL_FAST_MEMORY[i];
#endif
}

// What a solver's functions see of a group's vectors; vectors: room for where they are, NULL for one model.
CAL_DEVICE static inline cal_solver_context solver_context(const cal_device_work* work, const cal_context* context,
                                                           int group, double** vectors) {
    for (int i = 0; vectors && i < CAL_DEVICE_VECTORS; i++)
        vectors[i] = work->vectors[i] + (size_t)group * work->y_stride;
    cal_solver_context out = {.layout = &work->layout, .y = context->y, .ydot = context->ydot};
    out.vectors = vectors ? vectors : (double**)work->vectors;
    out.down = work->down ? work->down : work->downs ? work->downs + CAL_MAX_DOWN * own_instance(group) : work->numbers;
    out.relative = work->relative;
    out.absolute = work->absolute;
    out.scale = work->scale;
    return out;
}

#endif

// The sums of what hangs below a lane, in the order of the tree; list: work.h, first_pull.
CAL_DEVICE static inline void SOLVER(pull_sums)(const cal_device_work* work, int list, double* sums) {
    for (int i = 0; i < SOLVER_SUMS; i++) sums[i] = 0.0;
    // Read some children at a time: what they left is far away, and the sums are a chain.
    enum { AHEAD = 12 };
    const int end = work->first_pull[list + 1];
    for (int next = work->first_pull[list]; next < end; next += AHEAD) {
        double left[AHEAD][SOLVER_SUMS];
        CAL_UNROLL for (int k = 0; k < AHEAD; k++) {
            const double* from = work->context.scratch + work->pulls[next + k < end ? next + k : next];
            CAL_UNROLL for (int i = 0; i < SOLVER_SUMS; i++) left[k][i] = from[i * CAL_WIDTH];
        }
        CAL_UNROLL for (int k = 0; k < AHEAD; k++) CAL_UNROLL for (int i = 0; i < SOLVER_SUMS; i++) if (next + k < end)
            sums[i] = cal_join_sums(sums[i], left[k][i], i < SOLVER_MAXIMA);
    }
}

// Where the shares of a block are kept until its column's are summed: nobody needs its scratch any more.
#ifndef CAL_KEPT_SHARES
#define CAL_KEPT_SHARES(work, column, block)                                                                           \
    ((work)->context.scratch + (column)->scratch + (size_t)(block)*CAL_SCRATCH_COUNT * CAL_WIDTH)
#endif

// Rows on chip of a column whose shares are summed.
enum { SOLVER(kept_doubles) = CAL_KEPT_BLOCKS * SOLVER_SUMS * CAL_WIDTH };
CAL_DEVICE static inline int SOLVER(first_near)(const cal_column* column) {
    return column->block_count > CAL_KEPT_BLOCKS ? column->block_count - CAL_KEPT_BLOCKS : 0;
}
// Brings a column's shares there; chip: NULL for none.
CAL_DEVICE static inline void SOLVER(bring_kept)(const cal_device_work* work, const cal_column* column, double* chip) {
#ifdef __CUDA_ARCH__
    const int first = SOLVER(first_near)(column);
    for (int block = first; chip && block < column->block_count; block++) {
        const double* from = CAL_KEPT_SHARES(work, column, block) + CAL_OWN_LANE;
        double* to = chip + (block - first) * SOLVER_SUMS * CAL_WIDTH + CAL_OWN_LANE;
        CAL_UNROLL for (int i = 0; i < SOLVER_SUMS; i++) CAL_COPY(to + i * CAL_WIDTH, from + i * CAL_WIDTH);
    }
#else
    (void)work, (void)column, (void)chip;
#endif
}

// The sums of a column whose shares are kept, in the order of the tree; chip: where they were brought, NULL for none.
CAL_DEVICE static inline void SOLVER(sum_column)(const cal_device_work* work, const cal_column* column,
                                                 const double* chip) {
    const bool idle = column->is_long && CAL_OWN_LANE != 0;
    const int own = column->is_long ? 0 : CAL_OWN_LANE, near = SOLVER(first_near)(column);
    double sums[SOLVER_SUMS];
    if (!idle) SOLVER(pull_sums)(work, pull_list(work, column, own), sums);
    CAL_COPIED;
    CAL_WARP_MEETS; // a long column's thread reads what the others brought
    if (idle) return;
    // Read some steps ahead of the sums, which are a chain.
    enum { AHEAD = 8 };
    const int count = column->is_long ? column->node_count : column->block_count;
    for (int step = count - 1; step >= 0; step -= AHEAD) {
        double kept[AHEAD][SOLVER_SUMS];
        CAL_UNROLL for (int k = 0; k < AHEAD; k++) {
            const int s = step - k < 0 ? 0 : step - k;
            const int block = column->is_long ? s / CAL_WIDTH : s, l = column->is_long ? s % CAL_WIDTH : own;
            const double* from = (CAL_ON_CHIP && chip && block >= near ? chip + (block - near) * SOLVER_SUMS * CAL_WIDTH
                                                                       : CAL_KEPT_SHARES(work, column, block)) +
                                 l;
            for (int i = 0; i < SOLVER_SUMS; i++) kept[k][i] = from[i * CAL_WIDTH];
        }
        CAL_UNROLL for (int k = 0; k < AHEAD; k++) CAL_UNROLL for (int i = 0; i < SOLVER_SUMS; i++) if (step - k >= 0)
            sums[i] = cal_join_sums(kept[k][i], sums[i], i < SOLVER_MAXIMA);
    }
    double* out = work->context.scratch + column->up_slot + own;
    for (int i = 0; i < SOLVER_SUMS; i++) out[i * CAL_WIDTH] = sums[i];
}

// A warp per block of threads.
CAL_KERNEL void SOLVER(sums_kernel)(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    const double touched =
        column ? touch_pulls(&work, pull_list(&work, column, column->is_long ? 0 : CAL_OWN_LANE)) : 0.0;
    if (column && work.settled) SOLVER(bring_kept)(&work, column, CAL_FAST_MEMORY);
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (!column) return;
    if (!work.settled) SOLVER(bring_kept)(&work, column, CAL_FAST_MEMORY);
    SOLVER(sum_column)(&work, column, CAL_FAST_MEMORY);
    use_touched(work.context.scratch, touched);
}

// The sums of the first levels, which have few columns, the deepest first; then the ground's. Those are one chain, and a forest of parts has many
// thousands of them: the first warp, a thread per sum, adds up what the others have brought on chip in the phase before.
//
// Where column i of a level of those has its shares on chip, as far as there is room.
CAL_PHASE double* SOLVER(kept_place)(const cal_device_work* work, int level, int i) {
    int number = i;
    for (int above = 0; above < level; above++) number += work->sum_count[above];
    return number < CAL_KEPT_COLUMNS ? CAL_FAST_MEMORY + number * SOLVER(kept_doubles) : NULL;
}
CAL_PHASE void SOLVER(bring_all_kept)(const cal_device_work* work) {
    for (int level = 0; level < work->sum_levels; level++)
        for (int i = CAL_TEAM_WARP; i < work->sum_count[level]; i += CAL_TEAM_WARPS) {
            const cal_column* column = &work->layout.columns[work->order[work->sum_first[level] + i]];
            SOLVER(bring_kept)(work, column, SOLVER(kept_place)(work, level, i));
        }
}
CAL_PHASE void SOLVER(end_sums_phase)(const cal_device_work* work, int number) {
    if (number == 0 && !work->settled) SOLVER(bring_all_kept)(work);
    if (number < work->sum_levels) {
        const int level = work->sum_levels - 1 - number;
        for (int i = CAL_TEAM_WARP; i < work->sum_count[level]; i += CAL_TEAM_WARPS) {
            const cal_column* column = &work->layout.columns[work->order[work->sum_first[level] + i]];
            SOLVER(sum_column)(work, column, SOLVER(kept_place)(work, level, i));
        }
        return;
    }
    enum { PIECE = CAL_SUMS_PIECE };
    const int phase = number - work->sum_levels, last = work->phase_count - work->sum_levels - 1;
    double *next = CAL_FAST_MEMORY + phase % 2 * PIECE * SOLVER_SUMS,
           *now = CAL_FAST_MEMORY + (phase + 1) % 2 * PIECE * SOLVER_SUMS,
           *sum = CAL_FAST_MEMORY + 2 * PIECE * SOLVER_SUMS + CAL_OWN_LANE;
    const int all = work->ground_pulls, own = CAL_OWN_LANE;
    if (CAL_TEAM_WARP > 0) {
        const int threads = (CAL_TEAM_WARPS - 1) * CAL_WIDTH,
                  end = all - phase * PIECE < PIECE ? all - phase * PIECE : PIECE;
        for (int i = CAL_OWN_THREAD - CAL_WIDTH; i < end; i += threads) {
            const double* from = work->context.scratch + work->pulls[work->first_pull[0] + phase * PIECE + i];
            for (int k = 0; k < SOLVER_SUMS; k++) next[k * PIECE + i] = from[k * CAL_WIDTH];
        }
    } else if (own < SOLVER_SUMS) {
        double value = phase == 0 ? 0.0 : *sum;
        const int left = all - (phase - 1) * PIECE, end = phase == 0 ? 0 : left < PIECE ? left : PIECE;
        for (int i = 0; i < end; i++) value = cal_join_sums(value, now[own * PIECE + i], own < SOLVER_MAXIMA);
        *sum = value;
        if (phase == last) work->sums[own] = value;
    }
}
// Before the kernel before is done: the columns of those levels, and where their lanes pull, some columns of a warp at a time.
CAL_PHASE double SOLVER(touch_sums)(const cal_device_work* work) {
    enum { AT_ONCE = 4, PLACES = 3, APART = 4 };
    double sum = 0.0;
    int all = 0;
    if (work->settled) SOLVER(bring_all_kept)(work);
    for (int level = 0; level < work->sum_levels; level++) all += work->sum_count[level];
    for (int next = CAL_TEAM_WARP; next < all; next += AT_ONCE * CAL_TEAM_WARPS) {
        int index[AT_ONCE], first[AT_ONCE], last[AT_ONCE];
        CAL_UNROLL for (int k = 0; k < AT_ONCE; k++) {
            int number = next + k * CAL_TEAM_WARPS < all ? next + k * CAL_TEAM_WARPS : next, level = 0;
            while (number >= work->sum_count[level]) number -= work->sum_count[level++];
            index[k] = work->order[work->sum_first[level] + number];
        }
        CAL_UNROLL for (int k = 0; k < AT_ONCE; k++) {
            const cal_column* column = &work->layout.columns[index[k]];
            const int list = pull_list(work, column, CAL_OWN_LANE);
            first[k] = work->first_pull[list], last[k] = work->first_pull[list + 1] - 1;
            sum += (double)(column->block_count + column->is_long) + (double)column->scratch + (double)column->up_slot;
        }
        CAL_UNROLL for (int k = 0; k < AT_ONCE; k++) CAL_UNROLL for (int i = 0; i < PLACES; i++) {
            const int at = first[k] + i * APART < last[k] ? first[k] + i * APART : last[k];
            if (at >= first[k]) sum += (double)work->pulls[at];
        }
    }
    return sum;
}
#ifdef __CUDA_ARCH__
#define TOUCH_SUMS SOLVER(touch_sums)(&work)
#else
#define TOUCH_SUMS 0.0
#endif
CAL_PHASED_KERNEL(SOLVER(end_sums_kernel), SOLVER(end_sums_phase), CAL_TEAM_WARPS, TOUCH_SUMS)
#undef TOUCH_SUMS

// Half of a multiprocessor's registers are for sixteen warps: the other half may be a descent's.
CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH* CAL_BLOCK_WARPS, 8) SOLVER(prepare_kernel)(const cal_device_work work) {
    cal_column piece;
    const cal_column* column = own_block(&work, &piece);
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (!column) return;
    const cal_context context = own_context(&work, 0);
    const cal_solver_context own = solver_context(&work, &context, 0, NULL);
#ifdef SOLVER_PREPARE_BLOCK
    SOLVER_PREPARE_BLOCK(&own, column);
#else
    SOLVER_PREPARE(&own, column);
#endif
}

CAL_KERNEL void SOLVER(interpolate_kernel)(const cal_device_work work) {
    cal_column piece;
    const cal_column* column = own_block(&work, &piece);
    CAL_AFTER_OTHERS;
    if (!column) return;
    const cal_context context = own_context(&work, 0);
    const cal_solver_context own = solver_context(&work, &context, 0, NULL);
    SOLVER_INTERPOLATE(work.control, &own, column, work.time, work.out);
}

// What a column's follow-up makes of the shares of a block: the sums, where nothing hangs below; else they wait for those from below.
CAL_DEVICE static inline void SOLVER(take_shares)(const cal_device_work* work, const cal_column* column, int block,
                                                  bool ends, const double* shares, double* sums) {
    CAL_UNROLL for (int i = 0; ends && i < SOLVER_SUMS; i++) sums[i] =
        cal_join_sums(shares[i], sums[i], i < SOLVER_MAXIMA);
    if (ends) return;
    double* kept = CAL_KEPT_SHARES(work, column, block) + CAL_OWN_LANE;
    CAL_UNROLL for (int i = 0; i < SOLVER_SUMS; i++) kept[i * CAL_WIDTH] = shares[i];
}

// The follow-up of every column.
CAL_KERNEL void SOLVER(follow_kernel)(const cal_device_work work) {
    const cal_column* column = own_column(&work);
    CAL_AFTER_OTHERS;
    CAL_BEFORE_OTHERS;
    if (!column) return;
    double shares[SOLVER_SUMS], sums[SOLVER_SUMS];
    const cal_context context = own_context(&work, 0);
    const cal_solver_context own = solver_context(&work, &context, 0, NULL);
    const bool ends = column->child_count == 0 && !column->is_long;
    CAL_UNROLL for (int i = 0; i < SOLVER_SUMS; i++) sums[i] = 0.0;
    int block = column->block_count - 1;
#ifdef SOLVER_AHEAD
    if (SOLVER_JOIN(SOLVER_AHEAD, reads_ahead)(&own, column)) {
        const correction_rows rows = find_correction_rows(&own);
        const int first = cal_column_first(&work.layout, column);
        SOLVER_JOIN(SOLVER_AHEAD, ahead) next = SOLVER_JOIN(SOLVER_AHEAD, read_ahead)(&rows, first, block);
        for (; block >= 0; block--) {
            const SOLVER_JOIN(SOLVER_AHEAD, ahead) now = next;
            next = SOLVER_JOIN(SOLVER_AHEAD, read_ahead)(&rows, first, block > 0 ? block - 1 : 0);
            SOLVER_JOIN(SOLVER_AHEAD, follow_ahead)(&rows, first, block, &now, shares);
            SOLVER(take_shares)(&work, column, block, ends, shares, sums);
        }
    }
#endif
    for (; block >= 0; block--) {
        SOLVER_FOLLOW_UP(&own, column, column->first_block + block, shares);
        SOLVER(take_shares)(&work, column, block, ends, shares, sums);
    }
    double* out = context.scratch + column->up_slot + CAL_OWN_LANE;
    for (int i = 0; ends && i < SOLVER_SUMS; i++) out[i * CAL_WIDTH] = sums[i];
}

#ifdef SOLVER_STEER
// Most of the registers would be for quaternions, which few columns have.
CAL_KERNEL void CAL_BOUNDS(CAL_WIDTH* CAL_BLOCK_WARPS, 8) SOLVER(batch_prepare_kernel)(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const cal_column* column;
    const int group = own_part(&work, &column);
    if (group < 0) return;
    double* vectors[CAL_DEVICE_VECTORS];
    const cal_context context = own_context(&work, group);
    const cal_solver_context own = solver_context(&work, &context, group, vectors);
    SOLVER_PREPARE(&own, column);
}
#endif

CAL_KERNEL void SOLVER(batch_interpolate_kernel)(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const cal_column* column;
    const int group = own_part(&work, &column);
    if (group < 0) return;
    double* vectors[CAL_DEVICE_VECTORS];
    const cal_context context = own_context(&work, group);
    const cal_solver_context own = solver_context(&work, &context, group, vectors);
    const void* control = work.controls ? work.controls + work.control_bytes * own_instance(group) : work.control;
    const cal_batch_clock* clock = work.at_ends ? work.clocks + own_instance(group) : NULL;
    if (clock && !(clock->status == CAL_OK && clock->decision.accepted)) return;
    SOLVER_INTERPOLATE(control, &own, column, clock ? clock->decision.time : work.time, context.y);
}

#ifdef SOLVER_STEER
// The follow-up of a group, and the sums of each of its instances in the order of the tree (pass/sums.c), where the walk's stack was.
CAL_KERNEL void SOLVER(batch_sums_kernel)(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int group = own_group(&work);
    if (group < 0) return;
    double* vectors[CAL_DEVICE_VECTORS];
    double shares[SOLVER_SUMS], sums[SOLVER_SUMS], all[SOLVER_SUMS];
    const cal_context context = own_context(&work, group);
    const cal_solver_context own = solver_context(&work, &context, group, vectors);
    for (int i = 0; i < SOLVER_SUMS; i++) all[i] = 0.0;
    for (int s = 0; s < work.walk_length; s++) {
        if (work.steps[s].kind != CAL_STEP_UP) continue;
        const cal_column* column = &work.layout.columns[work.steps[s].index];
        const double* from = context.scratch + column->end_slot + CAL_DOWN_COUNT * CAL_WIDTH + CAL_OWN_LANE;
        for (int i = 0; i < SOLVER_SUMS; i++) sums[i] = column->child_count > 0 ? from[i * CAL_WIDTH] : 0.0;
        for (int block = column->first_block + column->block_count - 1; block >= column->first_block; block--) {
            SOLVER_FOLLOW_UP(&own, column, block, shares);
            for (int i = 0; i < SOLVER_SUMS; i++) sums[i] = cal_join_sums(shares[i], sums[i], i < SOLVER_MAXIMA);
        }
        if (column->parent < 0) {
            for (int i = 0; i < SOLVER_SUMS; i++) all[i] = cal_join_sums(all[i], sums[i], i < SOLVER_MAXIMA);
            continue;
        }
        double* to =
            context.scratch + work.layout.columns[column->parent].end_slot + CAL_DOWN_COUNT * CAL_WIDTH + CAL_OWN_LANE;
        for (int i = 0; i < SOLVER_SUMS; i++) {
            const double before = column->child_index == 0 ? 0.0 : to[i * CAL_WIDTH];
            to[i * CAL_WIDTH] = cal_join_sums(before, sums[i], i < SOLVER_MAXIMA);
        }
    }
    double* out = work.sums + (size_t)group * CAL_MAX_SUMS * CAL_WIDTH + CAL_OWN_LANE;
    for (int i = 0; i < SOLVER_SUMS; i++) out[i * CAL_WIDTH] = all[i];
}

// Control of each instance, and whether it has arrived at work.time. A warp's controls lie side by side: they are brought on chip
// together, since each thread goes to and fro in its own.
CAL_KERNEL void SOLVER(batch_steer_kernel)(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int warp = CAL_OWN_WARP, group = own_group(&work);
    const size_t instance = own_instance(group < 0 ? 0 : group), bytes = work.control_bytes;
    char* control = cal_bring_on_chip(work.controls, warp, bytes);
    if (group >= 0) {
        cal_batch_clock* clock = work.clocks + instance;
        double sums[SOLVER_SUMS];
        const double* from = work.sums + (size_t)group * CAL_MAX_SUMS * CAL_WIDTH + CAL_OWN_LANE;
        for (int i = 0; i < SOLVER_SUMS; i++) sums[i] = from[i * CAL_WIDTH];
        clock->evaluated = clock->decision.evaluation_time;
        cal_status status = CAL_NOT_CONVERGED;
        if (cal_headway_gets_on(&clock->headway, work.horizon)) {
            clock->evaluations++;
            status = SOLVER_STEER(control, sums, work.downs + CAL_MAX_DOWN * instance, &clock->decision);
            clock->steps += clock->decision.accepted ? 1 : 0;
            clock->rejected += clock->decision.rejected ? 1 : 0;
            clock->interpolates = clock->decision.accepted;
            clock->headway.reached = clock->decision.time;
        }
        clock->status = status;
        const bool moves = status == CAL_OK && !(clock->interpolates && clock->decision.time >= work.time);
        work.moves[instance] = moves;
        if (moves) *work.moving = 1;
    }
    cal_take_off_chip(work.controls, warp, bytes);
}

CAL_KERNEL void SOLVER(batch_begin_kernel)(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int group = own_group(&work);
    if (group < 0) return;
    const size_t instance = own_instance(group);
    const char *clock = work.begins, *control = clock + sizeof(cal_batch_clock), *down = control + work.control_bytes;
    memcpy(work.clocks + instance, clock, sizeof(cal_batch_clock));
    memcpy(work.controls + work.control_bytes * instance, control, work.control_bytes);
    memcpy(work.downs + CAL_MAX_DOWN * instance, down, CAL_MAX_DOWN * sizeof(double));
}
#endif

#define SOLVER_LAUNCH(name)                                                                                            \
    static void SOLVER(name)(cal_device * device, const cal_device_work* work, int warps) {                            \
        CAL_LAUNCH(SOLVER(name##_kernel), device, warps, work);                                                        \
    }
// Also beside a descent (cuda.c), whose teams have memory on chip.
static void SOLVER(prepare)(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LEAVES_CHIP(SOLVER(prepare_kernel));
    CAL_LAUNCH(SOLVER(prepare_kernel), device, warps, work);
}
SOLVER_LAUNCH(interpolate)
SOLVER_LAUNCH(follow)
static void SOLVER(sums)(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH_FAST(SOLVER(sums_kernel), device, warps, SOLVER(kept_doubles), work);
}
SOLVER_LAUNCH(batch_interpolate)
#ifdef SOLVER_STEER
SOLVER_LAUNCH(batch_prepare)
SOLVER_LAUNCH(batch_sums)
static void SOLVER(batch_steer)(cal_device* device, const cal_device_work* work, int warps) {
    CAL_LAUNCH_FAST(SOLVER(batch_steer_kernel), device, warps, CAL_WIDTH * work->control_bytes / sizeof(double), work);
}
SOLVER_LAUNCH(batch_begin)
#endif
static void SOLVER(end_sums)(cal_device* device, const cal_device_work* work, int pulls) {
    cal_device_work own = *work;
    own.phase_count = work->sum_levels + (pulls + CAL_SUMS_PIECE - 1) / CAL_SUMS_PIECE + 1;
    enum { KEPT = CAL_KEPT_COLUMNS * SOLVER(kept_doubles) };
    CAL_LAUNCH_PHASED(SOLVER(end_sums_kernel), SOLVER(end_sums_phase), CAL_TEAM_WARPS, device, 1,
                      (int)KEPT > (int)CAL_TEAM_DOUBLES ? (int)KEPT : (int)CAL_TEAM_DOUBLES, &own);
}

CAL_EXTERN_C const cal_device_solver SOLVER_KERNELS = {
    .prepare = SOLVER(prepare),
    .interpolate = SOLVER(interpolate),
    .follow = SOLVER(follow),
    .sums = SOLVER(sums),
    .end_sums = SOLVER(end_sums),
#ifdef SOLVER_STEER
    .batch_prepare = SOLVER(batch_prepare),
#endif
    .batch_interpolate = SOLVER(batch_interpolate),
#ifdef SOLVER_STEP
    .batch_held = SOLVER_HELD,
    .batch_step = SOLVER_STEP,
#endif
#ifdef SOLVER_STEER
    .batch_sums = SOLVER(batch_sums),
    .batch_steer = SOLVER(batch_steer),
    .batch_begin = SOLVER(batch_begin),
#endif
};
#undef SOLVER_LAUNCH
#undef SOLVER
#undef SOLVER_KERNELS
#undef SOLVER_PREPARE
#undef SOLVER_PREPARE_BLOCK
#undef SOLVER_STEER
#undef SOLVER_AHEAD
#undef SOLVER_STEP
#undef SOLVER_HELD
#undef SOLVER_SUMS
#undef SOLVER_MAXIMA
#undef SOLVER_FOLLOW_UP
#undef SOLVER_INTERPOLATE
