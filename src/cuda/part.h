// Parts of assembly on a device that are limbs with one port at most, as those of chains are: walked in segments (segment.h), with what
// forces on the port do in registers all the way. Include after pass/assembly_columns.h and pass/aba_outbound.h.
#pragma once
enum { SEGMENT_STEPS = CAL_PART_STEPS };
#include "cuda/segment.h"

CAL_DEVICE static inline const cal_slots* slots_of(const cal_context* context, const cal_column* column) {
    return &cal_assembly_of(context)->slots->columns[column - context->layout->columns];
}

CAL_DEVICE static inline bool is_limb_part(const cal_column* column, const cal_slots* slots) {
    return has_segments(column) && column->parent < 0 && slots->count <= 1;
}

// The step of the node that the port of the thread's lane is on; -1: it has none.
CAL_DEVICE static inline int port_step(const cal_context* context, const cal_slots* slots) {
    const cal_slot_start* starts = cal_assembly_of(context)->slots->starts + slots->first_start;
    const int count = slots->start_count;
#ifdef __CUDA_ARCH__
    // Where every lane has one, they are in the order of lanes.
    const cal_slot_start own = starts[CAL_OWN_LANE < count ? CAL_OWN_LANE : 0];
    if (__all_sync(~0u, count == CAL_WIDTH && own.row == CAL_OWN_LANE)) return own.step;
#endif
    int step = -1;
    for (int i = 0; i < count; i++) step = starts[i].row == CAL_OWN_LANE ? starts[i].step : step;
    return step;
}

// The port of the thread's lane; -1: none.
CAL_DEVICE static inline int own_port(const cal_context* context, const cal_slots* slots) {
    return slots->count > 0 ? cal_assembly_of(context)->slots->table[slots->table + (size_t)CAL_OWN_LANE] : -1;
}

// Where the port is, seen from the part's base; on: its step.
LANE_INLINE void place_part_run(int kind, const cal_context* context, const cal_column* column, const cal_slots* slots,
                                int on) {
    const lane zero = lane_set(0.0), one = lane_set(1.0);
    const int count = column->block_count, port = own_port(context, slots);
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    joint_turn turn = read_turn(kind, context, column, read_joint(&top, 0, count), 0, count);
    joint_motion next = read_joint(&top, 1, count);
    placing p = {.m = {.E = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}}};
    for (int i = 0; i <= on; i++) {
        const joint_turn own = turn;
        turn = read_turn(kind, context, column, next, i + 1, count);
        next = read_joint(&top, i + 2, count);
        displace_joint(kind, &p, &own);
    }
    if (port >= 0) write_port(&p, 0, cal_assembly_of(context)->ports + 24 * (size_t)port);
}

// A port's forces on their way inbound, their accelerations, and Λ by its lower rows: the last of these on chip, where registers are few.
typedef struct port_columns {
    v3 n[6], f[6];
    lane c[6], L[21];
    double* chip; // NULL: all in registers
} port_columns;
enum { PORT_NEAR = 21 - CAL_PORT_ROWS }; // of Λ, in registers
LANE_INLINE port_columns begin_port(double* chip) {
    port_columns port = {.chip = chip};
    CAL_UNROLL for (int i = 0; chip && i < CAL_PORT_ROWS; i++) STORE(chip, i, lane_set(0.0));
    return port;
}
LANE_INLINE lane port_entry(const port_columns* port, int i) {
    return port->chip && i >= PORT_NEAR ? LOAD(port->chip, i - PORT_NEAR) : port->L[i];
}
LANE_INLINE void set_port_entry(port_columns* port, int i, lane value) {
    if (port->chip && i >= PORT_NEAR)
        STORE(port->chip, i - PORT_NEAR, value);
    else
        port->L[i] = value;
}

LANE_INLINE void start_port(port_columns* port) {
    const lane one = lane_set(1.0);
    port->n[0].x = one, port->n[1].y = one, port->n[2].z = one;
    port->f[3].x = one, port->f[4].y = one, port->f[5].z = one;
}

// What it reads of a node on chip, where the scratch was: how the joint gives way.
enum { PART_GN = LANE(SCRATCH_T), PART_GF = PART_GN + 3, PART_DI = PART_GF + 3, PART_K = PART_DI + 1 };
static_assert((int)PART_K < (int)CAL_SCRATCH_COUNT, "what ports need has room where the scratch was");

// What push_column does, of all six columns at once, so that no more of the node than a vector is needed at a time.
LANE_INLINE void push_port(bool turns, const double* rows, port_columns* port, double* answer) {
    lane sigma[6];
    const v3 z = load3(rows, LIMB_Z);
    CAL_UNROLL for (int i = 0; i < 6; i++) sigma[i] = v3_dot(z, turns ? port->n[i] : port->f[i]);
    const v3 d = load3(rows, LIMB_D);
    CAL_UNROLL for (int i = 0; i < 6; i++) port->n[i] = v3_fma_cross(d, port->f[i], port->n[i]);
    const v3 gn = load3(rows, PART_GN);
    CAL_UNROLL for (int i = 0; i < 6; i++) port->n[i] = v3_fnma_scale(gn, sigma[i], port->n[i]);
    const v3 gf = load3(rows, PART_GF);
    CAL_UNROLL for (int i = 0; i < 6; i++) port->f[i] = v3_fnma_scale(gf, sigma[i], port->f[i]);
    const lane Di = LOAD(rows, PART_DI), k = LOAD(rows, PART_K);
    CAL_UNROLL for (int i = 0; i < 6; i++) {
        const lane eta = sigma[i] * Di;
        STORE_FAR(answer, i, eta);
        port->c[i] = lane_fma(sigma[i], k, port->c[i]);
        CAL_UNROLL for (int j = 0; j <= i; j++) {
            const int at = i * (i + 1) / 2 + j;
            set_port_entry(port, at, lane_fma(sigma[j], eta, port_entry(port, at)));
        }
    }
}

// So many numbers of each thread, one after the other, to where each has its own; NULL: nowhere. chip: shared memory for them.
LANE_INLINE void leave_numbers(int count, const lane* values, double* to, double* chip) {
#ifdef __CUDA_ARCH__
    // By its own thread a number is a line of the cache; by the whole warp the numbers of a thread are a few of them. An odd number apart: threads
    // write to different banks.
    static_assert(CAL_WIDTH % 4 == 0, "four at a time");
    const int apart = count | 1;
    __syncwarp();
    CAL_UNROLL for (int i = 0; i < count; i++) chip[CAL_OWN_LANE * apart + i] = values[i];
    __syncwarp();
    for (int first = 0; first < CAL_WIDTH; first += 4) {
        CAL_UNROLL for (int l = first; l < first + 4; l++) {
            double* there = (double*)__shfl_sync(~0u, (unsigned long long)to, l);
            CAL_UNROLL for (int i = 0; i < count; i += CAL_WIDTH) {
                const int own = i + CAL_OWN_LANE;
                if (there && own < count) there[own] = chip[l * apart + own];
            }
        }
    }
#else
    (void)chip;
    for (int i = 0; i < count && to; i++) to[i] = values[i];
#endif
}

// Where a part's element has its numbers; NULL: the thread's lane has no part.
CAL_DEVICE static inline double* part_numbers(const cal_context* context, const cal_column* column) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const size_t index = (size_t)(column - context->layout->columns);
    const int part = assembly->slots->part[index * CAL_WIDTH + (size_t)CAL_OWN_LANE];
    return part < 0 ? NULL : cal_element_numbers(assembly, assembly->schedule->parts[part].element);
}

// I and p; E, c and Λ of the port.
enum { PORT_NUMBERS = 36 + 6 + 21 };
LANE_INLINE void leave_inertia(const cal_context* context, const cal_column* column, const articulated* I,
                               double* chip) {
    lane values[CAL_ELEMENT_COLUMNS];
    list_inertia(I, values);
    leave_numbers(CAL_ELEMENT_COLUMNS, values, part_numbers(context, column), chip);
}
LANE_INLINE void leave_port(const cal_context* context, const cal_column* column, const port_columns* port,
                            bool has_port, double* chip) {
    double* to = part_numbers(context, column);
    lane values[PORT_NUMBERS], *E = values, *c = E + 36, *L = c + 6;
    CAL_UNROLL for (int i = 0; i < 6; i++) {
        const lane e[6] = {port->n[i].x, port->n[i].y, port->n[i].z, port->f[i].x, port->f[i].y, port->f[i].z};
        CAL_UNROLL for (int m = 0; m < 6; m++) E[6 * i + m] = e[m];
        c[i] = port->c[i];
    }
    CAL_UNROLL for (int i = 0; i < 21; i++) L[i] = port_entry(port, i);
    leave_numbers(PORT_NUMBERS, values, to && has_port ? to + CAL_ELEMENT_COLUMNS : NULL, chip);
}

// What there is to do of a segment, by one thread after the other or by the warps of a team, a *role* each, which never wait for a number but
// for a whole segment:
//
//     fill        down again, what its nodes keep into memory on chip
//     eliminate   up, joint by joint; what the port's forces need of each takes the place of what was read
//     push        the port's six columns and Λ; and turns of joints
//
// A team has three segments on chip.
enum { PART_FILLS = 1, PART_ELIMINATES = 2, PART_PUSHES = 4, PART_DOES_ALL = 7 };
static_assert((int)CAL_WIDTH * ((int)CAL_ELEMENT_COLUMNS + 1 + (int)PORT_NUMBERS + 1) <= (int)CAL_SEGMENT_DOUBLES * 3,
              "a part's numbers have room on chip");

LANE_INLINE int segment_end(int first, int count) {
    return first + SEGMENT_STEPS < count ? first + SEGMENT_STEPS : count;
}

// What is eliminated on the way up: the inertia so far, and of the next joint what is read a step ahead of its use.
typedef struct elimination {
    articulated I;
    lane mass, armature;
} elimination;
LANE_INLINE void read_next(const cal_context* context, const cal_column* column, int step, elimination* own) {
    const double* constants = find_constants(context->layout, column, step > 0 ? step : 0, CAL_OWN_LANE);
    own->mass = LOAD(constants, CAL_CONSTANT_MASS), own->armature = LOAD(constants, CAL_CONSTANT_ARMATURE);
}

// record: of the first step; each: rows that a node has on chip.
LANE_INLINE void eliminate_segment(int kind, bool ports, const cal_context* context, const cal_column* column,
                                   double* record, int first, int end, elimination* own, double* chip, int each) {
    for (int i = end - 1; i >= first; i--) {
        double* rows = chip + (i - first) * each * CAL_WIDTH;
        const lane mass = own->mass, armature = own->armature;
        joint_response response;
        read_next(context, column, i - 1, own);
        add_body(&own->I, load_symmetric(rows, LANE(SCRATCH_T)), load3(rows, LANE(SCRATCH_H)), mass,
                 load3(rows, LANE(SCRATCH_N)), load3(rows, LANE(SCRATCH_F)));
        eliminate_joint(kind, &own->I, load3(rows, LIMB_Z), load3(rows, LIMB_D), LOAD(rows, LIMB_FORCE), armature,
                        &response);
        keep_response(record + i * cal_aba_record(kind) * CAL_WIDTH, &response);
        if (!ports) continue;
        store3(rows, PART_GN, response.gn), store3(rows, PART_GF, response.gf);
        STORE(rows, PART_DI, response.Di), STORE(rows, PART_K, response.k);
    }
}

// on: the step of the port; answers: of the first step.
LANE_INLINE void push_segment(int kind, int first, int end, int on, port_columns* port, const double* chip, int each,
                              double* answers) {
    for (int i = end - 1; i >= first; i--) {
        const double* rows = chip + (i - first) * each * CAL_WIDTH;
        if (i == on) start_port(port);
        push_port(kind == CAL_REVOLUTE, rows, port, answers + (size_t)(6 * i) * CAL_WIDTH);
    }
}

// Down and up again, all of it by one thread. ports: whether the column has a slot.
LANE_INLINE void part_run(int kind, bool ports, const cal_context* context, const cal_column* column,
                          const cal_slots* slots, int on) {
    double* const chip = context->workspace + CAL_OWN_LANE;
    double* const answers = cal_assembly_of(context)->answer + slots->answer + CAL_OWN_LANE;
    double* const record = find_place(context, column, kind, cal_aba_record(kind), 0).record;
    limb_walk w = begin_limb(kind, context, column);
    elimination up = {0};
    port_columns port = begin_port(NULL);
    read_next(context, column, w.count - 1, &up);
    for (int first = w.last; first >= 0; first -= SEGMENT_STEPS) {
        const int end = fill_segment(kind, context, column, &w, first, chip);
        eliminate_segment(kind, ports, context, column, record, first, end, &up, chip, CAL_LIMB_ROWS);
        if (ports) push_segment(kind, first, end, on, &port, chip, CAL_LIMB_ROWS, answers);
    }
    leave_inertia(context, column, &up.I, context->workspace);
    if (ports) leave_port(context, column, &port, on >= 0, context->workspace + CAL_WIDTH * (CAL_ELEMENT_COLUMNS + 1));
}

// --- By a team -------------------------------------------------------------------------------------------------------------

// Turns of joints in their parents, which nobody waits for, are found by those who have the least to do, a round before they are used.
enum { TURN_L = 0, TURN_R = 9, TURN_Q = 12, TURN_V = 13 };
LANE_INLINE void keep_turn(double* rows, const joint_turn* turn) {
    store_columns(rows, TURN_L, turn->L), store3(rows, TURN_R, turn->r);
    STORE(rows, TURN_Q, turn->q), STORE(rows, TURN_V, turn->v);
}
LANE_INLINE joint_turn take_turn(const double* rows) {
    return (joint_turn){
        .L = load_columns(rows, TURN_L), .r = load3(rows, TURN_R), .q = LOAD(rows, TURN_Q), .v = LOAD(rows, TURN_V)};
}

// Down a column in rounds of as many steps as two find the turns of while one moves on through those of the round before.
enum { ROUND_STEPS = 4, ROUND_SHARE = ROUND_STEPS / 2 };
static_assert(2 * (int)ROUND_STEPS <= 3 * (int)SEGMENT_STEPS, "turns of two rounds have room on chip");
LANE_INLINE double* turn_on_chip(double* chip, int step) {
    return chip + step % (2 * ROUND_STEPS) * CAL_LIMB_ROWS * CAL_WIDTH;
}
// Of the joints whose turns a role finds, what it reads of them a round ahead.
typedef struct round_share {
    joint_motion of[ROUND_SHARE];
} round_share;
LANE_INLINE round_share read_share(const place* top, int first, int count) {
    round_share own;
    CAL_UNROLL for (int k = 0; k < ROUND_SHARE; k++) own.of[k] = read_joint(top, first + k, count);
    return own;
}
LANE_INLINE void find_turns(int kind, const cal_context* context, const cal_column* column, const place* top, int first,
                            round_share* share, double* chip) {
    const int count = column->block_count;
    const round_share now = *share;
    *share = read_share(top, first + ROUND_STEPS, count);
    CAL_UNROLL for (int k = 0; k < ROUND_SHARE; k++) {
        const joint_turn turn = read_turn(kind, context, column, now.of[k], first + k, count);
        keep_turn(turn_on_chip(chip, first + k), &turn);
    }
}
// Those of a round, by two of the roles.
LANE_INLINE void share_turns(int kind, int roles, const cal_context* context, const cal_column* column,
                             const place* top, int first, round_share shares[2], double* chip) {
    if (roles & PART_ELIMINATES) find_turns(kind, context, column, top, first, &shares[0], chip);
    if (roles & PART_PUSHES) find_turns(kind, context, column, top, first + ROUND_SHARE, &shares[1], chip);
}
LANE_INLINE void read_shares(int roles, const place* top, int count, round_share shares[2]) {
    if (roles & PART_ELIMINATES) shares[0] = read_share(top, 0, count);
    if (roles & PART_PUSHES) shares[1] = read_share(top, ROUND_SHARE, count);
}

// To where the last segment begins; keeps what segments begin with.
LANE_INLINE void go_down(int kind, int roles, const cal_context* context, const cal_column* column, const place* top,
                         motion* m, int last, double* chip) {
    round_share shares[2];
    read_shares(roles, top, column->block_count, shares);
    for (int first = 0; first < last + ROUND_STEPS; first += ROUND_STEPS) {
        if (first < last) share_turns(kind, roles, context, column, top, first, shares, chip);
        for (int i = first - ROUND_STEPS; roles & PART_FILLS && first > 0 && i < first && i < last; i++) {
            const joint_turn turn = take_turn(turn_on_chip(chip, i));
            v3 d;
            move_on(kind, m, &turn, &d);
            if ((i + 1) % SEGMENT_STEPS == 0 && i + 1 < last) keep_motion(kept_motion(context, column, i + 1), m);
        }
        CAL_ROLES_WAIT(CAL_PART_ROLES);
    }
}

// Where the port is, seen from the part's base; on: its step.
LANE_INLINE void place_roles_run(int kind, int roles, const cal_context* context, const cal_column* column,
                                 const cal_slots* slots, int on) {
    const lane zero = lane_set(0.0), one = lane_set(1.0);
    double* const chip = context->workspace + CAL_OWN_LANE;
    const int last = column->block_count, port = own_port(context, slots);
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    const cal_column here = *column; // read once, in spite of all that is written meanwhile
    placing p = {.m = {.E = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}}};
    round_share shares[2];
    read_shares(roles, &top, last, shares);
    for (int first = 0; first < last + ROUND_STEPS; first += ROUND_STEPS) {
        if (first < last) share_turns(kind, roles, context, &here, &top, first, shares, chip);
        for (int i = first - ROUND_STEPS; roles & PART_FILLS && first > 0 && i < first && i < last; i++) {
            const joint_turn turn = take_turn(turn_on_chip(chip, i));
            if (i <= on) displace_joint(kind, &p, &turn);
        }
        CAL_ROLES_WAIT(CAL_PART_ROLES);
    }
    if (roles & PART_FILLS && port >= 0) write_port(&p, 0, cal_assembly_of(context)->ports + 24 * (size_t)port);
}

// What is known of a joint before it is filled has rows that the port's forces, which go through the node before it there, do not need: position,
// velocity and force. When these have gone, sine and cosine of a revolute one and the motion that the segment begins with come.
enum { JOINT_S = 0, JOINT_C = 1, BEGIN_ROW = TURN_V + 1, BEGIN_ROWS = LIMB_FORCE - BEGIN_ROW };
static_assert((int)PART_K < (int)TURN_Q && (int)TURN_V < (int)LIMB_Z, "ports need other rows");
static_assert((int)SEGMENT_STEPS * (int)BEGIN_ROWS >= (int)CAL_DOWN_COUNT, "a motion has room there");
LANE_INLINE int clamped(int step, int count) { return step < count ? step : count - 1; }
LANE_INLINE void find_sine(double* rows) {
    lane s, c;
    lane_sincos(LOAD(rows, TURN_Q), &s, &c);
    STORE(rows, JOINT_S, s), STORE(rows, JOINT_C, c);
}
LANE_INLINE joint_turn take_joint(int kind, const double* rows, const double* constants) {
    const lane q = LOAD(rows, TURN_Q), v = LOAD(rows, TURN_V);
    const turn_constants own = load_turn_constants(constants);
    if (kind != CAL_REVOLUTE) return turn_joint(kind, q, v, &own);
    return (joint_turn){
        .L = turned_rotation(own.R, LOAD(rows, JOINT_S), LOAD(rows, JOINT_C)), .r = own.r, .q = q, .v = v};
}
LANE_INLINE int begin_row(int i) { return i / BEGIN_ROWS * CAL_LIMB_ROWS + BEGIN_ROW + i % BEGIN_ROWS; }
LANE_INLINE void bring_begin(const double* from, double* rows) {
    CAL_UNROLL for (int i = 0; i < CAL_DOWN_COUNT; i++) CAL_COPY(rows + begin_row(i) * CAL_WIDTH, from + i * CAL_WIDTH);
}
LANE_INLINE v3 begin3(const double* rows, int i) {
    return (v3){LOAD(rows, begin_row(i)), LOAD(rows, begin_row(i + 1)), LOAD(rows, begin_row(i + 2))};
}
LANE_INLINE motion take_begin(const double* rows) {
    motion m = {.E = {begin3(rows, 0), begin3(rows, 3), begin3(rows, 6)},
                .w = begin3(rows, 9),
                .al = begin3(rows, 12),
                .a = begin3(rows, 15)};
    m.A = spin_matrix(m.w, m.al);
    return m;
}

// Rounds of a segment each. Of four segments that follow each other what is known of the first one's joints comes on chip, the second is filled,
// the third eliminated, and the port's forces go through the fourth, whose place the first one has. Who pushes has the registers for nothing but
// the port's columns: who eliminates brings what it can.
LANE_INLINE void part_roles_run(int kind, bool ports, int roles, const cal_context* context, const cal_column* column,
                                const cal_slots* slots, int on) {
    const bool fills = roles & PART_FILLS, eliminates = roles & PART_ELIMINATES, pushes = roles & PART_PUSHES;
    double* const chip = context->workspace + CAL_OWN_LANE;
    double* const answers = cal_assembly_of(context)->answer + slots->answer + CAL_OWN_LANE;
    const int count = column->block_count, segments = (count + SEGMENT_STEPS - 1) / SEGMENT_STEPS;
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    const cal_column here = *column; // read once, in spite of all that is written meanwhile
    motion m;
    elimination up = {0};
    port_columns port = begin_port(pushes ? chip + 3 * CAL_SEGMENT_DOUBLES : NULL);
    if (fills) m = load_motion(context, column), keep_motion(kept_motion(context, &here, 0), &m);
    go_down(kind, roles, context, &here, &top, &m, (segments - 1) * SEGMENT_STEPS, chip);
    if (eliminates) read_next(context, &here, count - 1, &up);
    for (int round = 0; round < segments + 3; round++) {
        const int known = segments - 1 - round, filled = known + 1, eliminated = known + 2, pushed = known + 3;
        double* const next = chip + pushed % 3 * CAL_SEGMENT_DOUBLES;
        if (fills && filled >= 0 && filled < segments) {
            const int first = filled * SEGMENT_STEPS;
            double* const rows = chip + filled % 3 * CAL_SEGMENT_DOUBLES;
            if (filled < segments - 1) m = take_begin(rows);
            for (int i = first; i < segment_end(first, count); i++) {
                double* own = rows + (i - first) * CAL_LIMB_ROWS * CAL_WIDTH;
                const place at = steps_below(&top, context, &here, kind, i);
                const joint_turn turn = take_joint(kind, own, at.constants);
                v3 d;
                move_on(kind, &m, &turn, &d);
                fill_node(kind, &m, d, &at, own);
            }
        }
        if (eliminates && known >= 0) CAL_UNROLL for (int k = 0; k < SEGMENT_STEPS; k++) {
                const int step = clamped(known * SEGMENT_STEPS + k, count);
                double* own = next + k * CAL_LIMB_ROWS * CAL_WIDTH;
                CAL_COPY(own + TURN_V * CAL_WIDTH, top.y + (2 * step + 1) * CAL_WIDTH);
                CAL_COPY(own + LIMB_FORCE * CAL_WIDTH, top.force + step * CAL_WIDTH);
            }
        if (pushes && known >= 0)
            CAL_UNROLL for (int k = 0; k < SEGMENT_STEPS; k++)
                CAL_COPY(next + (k * CAL_LIMB_ROWS + TURN_Q) * CAL_WIDTH,
                         top.y + 2 * clamped(known * SEGMENT_STEPS + k, count) * CAL_WIDTH);
        if (eliminates && eliminated >= 0 && eliminated < segments)
            eliminate_segment(kind, ports, context, &here, top.record, eliminated * SEGMENT_STEPS,
                              segment_end(eliminated * SEGMENT_STEPS, count), &up,
                              chip + eliminated % 3 * CAL_SEGMENT_DOUBLES, CAL_LIMB_ROWS);
        if (pushes) {
            if (ports && pushed < segments)
                push_segment(kind, pushed * SEGMENT_STEPS, segment_end(pushed * SEGMENT_STEPS, count), on, &port, next,
                             CAL_LIMB_ROWS, answers);
            CAL_ROLE_TELLS(2);
            CAL_COPIED;
            CAL_ONE_BY_ONE for (int k = 0; kind == CAL_REVOLUTE && known >= 0 && k < SEGMENT_STEPS; k++)
                find_sine(next + k * CAL_LIMB_ROWS * CAL_WIDTH);
        }
        if (eliminates) {
            CAL_ROLE_HEARS(2);
            if (known >= 0 && known < segments - 1)
                bring_begin(kept_motion(context, &here, known * SEGMENT_STEPS), next);
            CAL_COPIED;
        }
        CAL_ROLES_WAIT(CAL_PART_ROLES);
    }
    if (eliminates) leave_inertia(context, column, &up.I, context->workspace);
    if (pushes && ports)
        leave_port(context, column, &port, on >= 0, context->workspace + CAL_WIDTH * (CAL_ELEMENT_COLUMNS + 1));
}

// What the port's forces do to a joint, read some steps ahead of its use.
typedef struct port_answer {
    lane eta[6];
} port_answer;
LANE_INLINE port_answer read_port_answer(bool ports, const double* answered, int wanted, int count) {
    const int step = wanted < count ? wanted : count - 1;
    port_answer own = {{0}};
    CAL_UNROLL for (int m = 0; ports && m < 6; m++) own.eta[m] = LOAD_FAR(answered, 6 * step + m);
    return own;
}

// Accelerations, with the axes found anew and what the port's forces add to them.
LANE_INLINE void accelerate_part_run(int kind, bool ports, const cal_context* context, const cal_column* column,
                                     const cal_slots* slots) {
    enum { AHEAD = 2 };
    const cal_assembly* assembly = cal_assembly_of(context);
    const int count = column->block_count, port = own_port(context, slots);
    const place top = find_place(context, column, kind, cal_aba_record(kind), 0);
    const cal_column here = *column; // read once, in spite of all that is written meanwhile
    const double* const answered = assembly->answer + slots->answer + CAL_OWN_LANE;
    parent_slot slot;
    find_parent(context, column, CAL_DOWN_COUNT + 6, &slot);
    joint_answer answers[AHEAD];
    port_answer pushed[AHEAD];
    CAL_UNROLL for (int k = 0; k < AHEAD; k++) {
        answers[k] = read_answer(&top, kind, k, count);
        pushed[k] = read_port_answer(ports, answered, k, count);
    }
    joint_turn turn = read_turn(kind, context, column, (joint_motion){answers[0].q, answers[0].v}, 0, count);
    m3 E = {from_parent3(&slot, 0), from_parent3(&slot, 3), from_parent3(&slot, 6)};
    v3 al = from_parent3(&slot, CAL_DOWN_COUNT), a = from_parent3(&slot, CAL_DOWN_COUNT + 3), d;
    lane lambda[6];
    CAL_UNROLL for (int i = 0; i < 6; i++) lambda[i] =
        port < 0 ? lane_set(0.0) : assembly->forces[6 * (size_t)port + (size_t)i];
    for (int first = 0; first < count; first += AHEAD) {
        CAL_UNROLL for (int k = 0; k < AHEAD; k++) {
            const int i = first + k;
            if (i >= count) break;
            joint_answer own = answers[k];
            const port_answer push = pushed[k];
            const joint_turn turned = turn;
            const turn_constants next = read_turn_constants(context, &here, i + 1, count);
            answers[k] = read_answer(&top, kind, i + AHEAD, count);
            pushed[k] = read_port_answer(ports, answered, i + AHEAD, count);
            const joint_answer* after = &answers[(k + 1) % AHEAD];
            turn = turn_joint(kind, after->q, after->v, &next);
            if (ports) {
                lane sum = lane_set(0.0);
                CAL_UNROLL for (int m = 0; m < 6; m++) sum = lane_fma(push.eta[m], lambda[m], sum);
                own.k = own.k + sum;
            }
            turn_axes(kind, &E, &turned, &d);
            const lane qdd = accelerate_joint(kind, &al, &a, E.z, d, own.gn, own.gf, own.k);
            double* ydot = top.ydot + i * 2 * CAL_WIDTH;
            STORE_FAR(ydot, 0, own.v);
            STORE_FAR(ydot, 1, qdd);
        }
    }
}

// Of a part that is a limb.
LANE_FUNCTION void place_part(const cal_context* context, const cal_column* column, const cal_slots* slots, int on) {
    if (column->kind == CAL_REVOLUTE)
        place_part_run(CAL_REVOLUTE, context, column, slots, on);
    else
        place_part_run(CAL_PRISMATIC, context, column, slots, on);
}
#define BY_KIND_AND_PORT(function, ...)                                                                                \
    (column->kind == CAL_REVOLUTE                                                                                      \
         ? slots->count == 1 ? function(CAL_REVOLUTE, true, __VA_ARGS__) : function(CAL_REVOLUTE, false, __VA_ARGS__)  \
     : slots->count == 1 ? function(CAL_PRISMATIC, true, __VA_ARGS__)                                                  \
                         : function(CAL_PRISMATIC, false, __VA_ARGS__))
LANE_INLINE void place_roles(int roles, const cal_context* context, const cal_column* column, const cal_slots* slots,
                             int on) {
    if (column->kind == CAL_REVOLUTE)
        place_roles_run(CAL_REVOLUTE, roles, context, column, slots, on);
    else
        place_roles_run(CAL_PRISMATIC, roles, context, column, slots, on);
}
LANE_INLINE void walk_roles(int roles, const cal_context* context, const cal_column* column, const cal_slots* slots,
                            int on) {
    BY_KIND_AND_PORT(part_roles_run, roles, context, column, slots, on);
}
LANE_FUNCTION void walk_part(const cal_context* context, const cal_column* column, const cal_slots* slots, int on) {
    BY_KIND_AND_PORT(part_run, context, column, slots, on);
}
LANE_FUNCTION void accelerate_part(const cal_context* context, const cal_column* column, const cal_slots* slots) {
    if (column->kind == CAL_REVOLUTE && slots->count == 1)
        accelerate_part_run(CAL_REVOLUTE, true, context, column, slots);
    else if (column->kind == CAL_REVOLUTE)
        accelerate_part_run(CAL_REVOLUTE, false, context, column, slots);
    else if (slots->count == 1)
        accelerate_part_run(CAL_PRISMATIC, true, context, column, slots);
    else
        accelerate_part_run(CAL_PRISMATIC, false, context, column, slots);
}
