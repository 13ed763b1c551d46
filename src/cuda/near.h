// Parts of assembly that a multiprocessor each has for itself: all nodes of a column are on chip, and its memory is large enough for them. Then
// nothing goes down twice, as it does in segments; what does not recur along a column is done by all warps of a team, and what recurs by one, as
// in team_walks.h. Include after cuda/part.h.
//
//     placing        turns of joints in their parents | how the port moves
//     walk           turns | motions | biases | joints are eliminated, and behind that the port's forces go inbound
//     accelerations  turns, answers | what forces on the port add | accelerations
//
// Positions are older than the kernel before, which finds how bases move, and so is all that a part's walk has left for its accelerations: it comes
// on chip while that kernel still works.
#pragma once

// Rows of a node: its turn (TURN_…), or its motion, and later what LIMB_… has of it; for accelerations its turn, and what it answers.
enum { NEAR_E = 0, NEAR_D = 9, NEAR_W = 12, NEAR_AL = 15, NEAR_A = 18 };
enum { NEAR_G = TURN_V, NEAR_K = NEAR_G + 6, NEAR_ETA = NEAR_K + 1 }; // velocities are not needed
static_assert((int)NEAR_ETA + 6 <= (int)CAL_NEAR_ROWS && (int)NEAR_A + 3 <= (int)CAL_NEAR_ROWS &&
                  (int)CAL_LIMB_ROWS <= (int)CAL_NEAR_ROWS,
              "a node has these rows");
CAL_PHASE double* near_rows(int step) { return CAL_FAST_MEMORY + step * CAL_NEAR_ROWS * CAL_WIDTH + CAL_OWN_LANE; }

// The warp's steps, and all positions and velocities of these before one is used.
#define EACH_NEAR(k) CAL_UNROLL for (int k = 0; k < CAL_NEAR_STEPS / CAL_TEAM_WARPS + 1; k++)
CAL_PHASE void find_near_turns(int kind, const cal_context* context, const cal_column* column, int warp, int warps) {
    const int count = column->block_count;
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    joint_motion of[CAL_NEAR_STEPS / CAL_TEAM_WARPS + 1];
    EACH_NEAR(k) of[k] = read_joint(&top, warp + k * warps, count);
    EACH_NEAR(k) {
        const int step = warp + k * warps;
        if (step >= count) break;
        const joint_turn turn = read_turn(kind, context, column, of[k], step, count);
        keep_turn(near_rows(step), &turn);
    }
}
// Beyond the end the last one's.
CAL_PHASE joint_turn near_turn(int step, int count) { return take_turn(near_rows(step < count ? step : count - 1)); }

// --- Placing -------------------------------------------------------------------------------------------------------------------

CAL_PHASE void place_near_run(int kind, const cal_context* context, const cal_column* column, const cal_slots* slots,
                              int on) {
    const lane zero = lane_set(0.0), one = lane_set(1.0);
    const int count = column->block_count, port = own_port(context, slots);
    placing p = {.m = {.E = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}}};
    joint_turn turn = near_turn(0, count);
    for (int i = 0; i <= on; i++) {
        const joint_turn own = turn;
        turn = near_turn(i + 1, count);
        displace_joint(kind, &p, &own);
    }
    if (port >= 0) write_port(&p, 0, cal_assembly_of(context)->ports + 24 * (size_t)port);
}

// --- The walk ------------------------------------------------------------------------------------------------------------------

CAL_PHASE void move_near(int kind, const cal_context* context, const cal_column* column) {
    const int count = column->block_count;
    motion m = load_motion(context, column);
    joint_turn turn = near_turn(0, count);
    for (int i = 0; i < count; i++) {
        const joint_turn own = turn;
        double* rows = near_rows(i);
        v3 d;
        turn = near_turn(i + 1, count);
        move_on(kind, &m, &own, &d);
        store_columns(rows, NEAR_E, m.E), store3(rows, NEAR_D, d);
        store3(rows, NEAR_W, m.w), store3(rows, NEAR_AL, m.al), store3(rows, NEAR_A, m.a);
    }
}

CAL_PHASE void bias_near(int kind, const cal_context* context, const cal_column* column, int warp, int warps) {
    const int count = column->block_count;
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    for (int i = warp; i < count; i += warps) {
        const place at = steps_below(&top, context, column, kind, i);
        const lane force = LOAD_FAR(at.force, 0);
        double* rows = near_rows(i);
        const m3 E = load_columns(rows, NEAR_E);
        const v3 d = load3(rows, NEAR_D), a = load3(rows, NEAR_A);
        const m3 A = spin_matrix(load3(rows, NEAR_W), load3(rows, NEAR_AL));
        bias(kind, E, A, a, at.constants, at.external, rows);
        store3(rows, LIMB_Z, E.z), store3(rows, LIMB_D, d);
        STORE(rows, LIMB_FORCE, force);
    }
}

// Rounds of a segment each, in which the port's forces go through what was eliminated in the one before.
CAL_PHASE void solve_near(int kind, bool ports, int roles, const cal_context* context, const cal_column* column,
                          const cal_slots* slots, int on) {
    enum { LAG = 1, ROLES = 2 };
    const bool eliminates = roles & PART_ELIMINATES, pushes = ports && roles & PART_PUSHES;
    double* const answers = cal_assembly_of(context)->answer + slots->answer + CAL_OWN_LANE;
    const int count = column->block_count, segments = (count + SEGMENT_STEPS - 1) / SEGMENT_STEPS;
    elimination up = {0};
    double* record = NULL;
    port_columns port = begin_port(NULL);
    if (eliminates) {
        record = find_place(context, column, kind, cal_aba_record(kind), 0).record;
        read_next(context, column, count - 1, &up);
    }
    for (int round = 0; round < segments + LAG; round++) {
        const int eliminated = (segments - 1 - round) * SEGMENT_STEPS, pushed = eliminated + LAG * SEGMENT_STEPS;
        if (eliminates && eliminated >= 0)
            eliminate_segment(kind, ports, context, column, record, eliminated, segment_end(eliminated, count), &up,
                              near_rows(eliminated), CAL_NEAR_ROWS);
        if (pushes && pushed < segments * SEGMENT_STEPS)
            push_segment(kind, pushed, segment_end(pushed, count), on, &port, near_rows(pushed), CAL_NEAR_ROWS,
                         answers);
        CAL_ROLES_WAIT(ROLES);
    }
    if (eliminates) leave_inertia(context, column, &up.I, CAL_FAST_MEMORY);
    if (pushes) leave_port(context, column, &port, on >= 0, CAL_FAST_MEMORY + CAL_WIDTH * (CAL_ELEMENT_COLUMNS + 1));
}

// --- Accelerations -------------------------------------------------------------------------------------------------------------

// What the walk has left, of the warp's steps.
CAL_PHASE void bring_answers(int kind, bool ports, const cal_context* context, const cal_column* column,
                             const cal_slots* slots, int warp, int warps) {
    const int count = column->block_count;
    const double* const answered = cal_assembly_of(context)->answer + slots->answer + CAL_OWN_LANE;
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    for (int i = warp; i < count; i += warps) {
        double* rows = near_rows(i);
        const joint_answer own = read_answer(&top, kind, i, count);
        const port_answer push = read_port_answer(ports, answered, i, count);
        store3(rows, NEAR_G, own.gn), store3(rows, NEAR_G + 3, own.gf);
        STORE(rows, NEAR_K, own.k);
        CAL_UNROLL for (int m = 0; m < 6; m++) STORE(rows, NEAR_ETA + m, push.eta[m]);
    }
}

// What forces on the port add, and the rates of positions.
CAL_PHASE void push_answers(int kind, bool ports, const cal_context* context, const cal_column* column,
                            const cal_slots* slots, int warp, int warps) {
    const int count = column->block_count, port = own_port(context, slots);
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    lane lambda[6];
    CAL_UNROLL for (int i = 0; i < 6; i++) lambda[i] =
        port < 0 ? lane_set(0.0) : cal_assembly_of(context)->forces[6 * (size_t)port + (size_t)i];
    for (int i = warp; i < count; i += warps) {
        double* rows = near_rows(i);
        STORE_FAR(top.ydot + i * 2 * CAL_WIDTH, 0, read_joint(&top, i, count).v);
        if (!ports) continue;
        lane sum = lane_set(0.0);
        CAL_UNROLL for (int m = 0; m < 6; m++) sum = lane_fma(LOAD(rows, NEAR_ETA + m), lambda[m], sum);
        STORE(rows, NEAR_K, LOAD(rows, NEAR_K) + sum);
    }
}

typedef struct near_answer {
    v3 gn, gf;
    lane k;
} near_answer;
CAL_PHASE near_answer read_near(int step, int count) {
    const double* rows = near_rows(step < count ? step : count - 1);
    return (near_answer){load3(rows, NEAR_G), load3(rows, NEAR_G + 3), LOAD(rows, NEAR_K)};
}
CAL_PHASE void accelerate_near(int kind, const cal_context* context, const cal_column* column) {
    const int count = column->block_count;
    double* const ydot = find_place(context, column, kind, cal_aba_record(kind), 0).ydot;
    parent_slot slot;
    find_parent(context, column, CAL_DOWN_COUNT + 6, &slot);
    m3 E = {from_parent3(&slot, 0), from_parent3(&slot, 3), from_parent3(&slot, 6)};
    v3 al = from_parent3(&slot, CAL_DOWN_COUNT), a = from_parent3(&slot, CAL_DOWN_COUNT + 3), d;
    joint_turn turn = near_turn(0, count);
    near_answer answer = read_near(0, count);
    for (int i = 0; i < count; i++) {
        const joint_turn turned = turn;
        const near_answer own = answer;
        turn = near_turn(i + 1, count);
        answer = read_near(i + 1, count);
        turn_axes(kind, &E, &turned, &d);
        STORE_FAR(ydot + i * 2 * CAL_WIDTH, 1, accelerate_joint(kind, &al, &a, E.z, d, own.gn, own.gf, own.k));
    }
}

// --- Phases --------------------------------------------------------------------------------------------------------------------

#define BY_TURN(function, ...)                                                                                         \
    (column->kind == CAL_REVOLUTE ? function(CAL_REVOLUTE, __VA_ARGS__) : function(CAL_PRISMATIC, __VA_ARGS__))
#define BY_PORT(function, ...)                                                                                         \
    (slots->count == 1 ? BY_TURN(function, true, __VA_ARGS__) : BY_TURN(function, false, __VA_ARGS__))
#define NEAR_PHASE(work)                                                                                               \
    const int warp = CAL_OWN_WARP % warps;                                                                             \
    cal_context context = own_context(work, 0);                                                                        \
    CAL_OWN_ASSEMBLY(work, context);                                                                                   \
    const cal_slots* slots = slots_of(&context, column)

CAL_PHASE double place_near_ahead(const cal_device_work* work, const cal_column* column, int warps) {
    NEAR_PHASE(work);
    double sum = (double)slots->count;
    for (int i = warp; i < column->block_count; i += warps)
        sum += touch(find_constants(&work->layout, column, i, CAL_OWN_LANE), CAL_CONSTANT_MASS);
    return sum;
}
CAL_PHASE void place_near_phase(const cal_device_work* work, const cal_column* column, int phase, int warps) {
    NEAR_PHASE(work);
    if (slots->count == 0) return;
    if (phase == 0)
        BY_TURN(find_near_turns, &context, column, warp, warps);
    else if (warp == 0)
        BY_TURN(place_near_run, &context, column, slots, port_step(&context, slots));
}

CAL_PHASE double part_near_ahead(const cal_device_work* work, const cal_column* column, int warps) {
    NEAR_PHASE(work);
    BY_TURN(find_near_turns, &context, column, warp, warps);
    return (double)slots->count;
}
CAL_PHASE void part_near_phase(const cal_device_work* work, const cal_column* column, int phase, int warps) {
    NEAR_PHASE(work);
    if (phase == 0 && !CAL_COMES_AHEAD)
        BY_TURN(find_near_turns, &context, column, warp, warps);
    else if (phase == 1 && warp == 0)
        BY_TURN(move_near, &context, column);
    else if (phase == 2)
        BY_TURN(bias_near, &context, column, warp, warps);
    else if (phase == 3 && warp == 0)
        BY_PORT(solve_near, CAL_COMES_AHEAD ? (int)PART_ELIMINATES : (int)PART_DOES_ALL, &context, column, slots,
                port_step(&context, slots));
    else if (phase == 3 && warp == 1 && CAL_COMES_AHEAD)
        BY_PORT(solve_near, PART_PUSHES, &context, column, slots, port_step(&context, slots));
}

CAL_PHASE double acceleration_near_ahead(const cal_device_work* work, const cal_column* column, int warps) {
    NEAR_PHASE(work);
    BY_TURN(find_near_turns, &context, column, warp, warps);
    BY_PORT(bring_answers, &context, column, slots, warp, warps);
    return 0.0;
}
CAL_PHASE void acceleration_near_phase(const cal_device_work* work, const cal_column* column, int phase, int warps) {
    NEAR_PHASE(work);
    if (phase == 0) {
        if (!CAL_COMES_AHEAD) (void)acceleration_near_ahead(work, column, warps);
        BY_PORT(push_answers, &context, column, slots, warp, warps);
    } else if (warp == 0)
        BY_TURN(accelerate_near, &context, column);
}
