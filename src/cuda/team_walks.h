// Teams: where columns are too few to fill a device, what does not recur along one is done by several warps, and what recurs by one, from memory
// that is near. Phases (kernel.h) pass numbers on in memory on chip. Include after cuda/limb.h.
//
// One warp needs about three cycles per instruction, whatever they are: to share a recurrence among warps, row by row or torques and forces
// apart, adds as many instructions for passing numbers on as it saves.
#pragma once

// Whether a team's warps share the column's work; else the first one does it alone.
CAL_DEVICE static bool is_shared(const cal_column* column) {
    return column->kind == CAL_REVOLUTE && step_count(column) <= CAL_TEAM_STEPS;
}

// The warp that recurs. Of two teams of a multiprocessor, whose warps have its four schedulers in turn, each has another one.
CAL_PHASE int recurring_warp(int warps) { return CAL_OWN_WARP / warps / CAL_MULTIPROCESSORS % warps; }

// The rows of memory on chip of a step of the team's column.
CAL_PHASE double* team_rows(int step) { return CAL_COLUMN_MEMORY + step * CAL_TEAM_ROWS * CAL_WIDTH + CAL_OWN_LANE; }

CAL_PHASE void bring(double* rows, const double* from, int count) {
    for (int i = 0; i < count; i++) CAL_COPY(rows + i * CAL_WIDTH, from + i * CAL_WIDTH);
}

// Before the kernel before is done: where a column's numbers are, and rows of its constants. These are read from the multiprocessor's cache,
// which copies go through; where they go to is nobody's before the first phase.
static_assert((int)CAL_CONSTANT_COUNT <= (int)CAL_TEAM_ROWS, "a team has memory for them");
CAL_PHASE double fetch_constants(const cal_device_work* work, const cal_column* column, int warps, int first,
                                 int count) {
    double sum = 0.0;
    if (is_idle(column) || !is_shared(column)) return sum;
    const cal_layout* layout = &work->layout;
    sum += (double)layout->block_y[column->first_block] + (double)layout->block_v[column->first_block];
    if (column->mixed) sum += (double)layout->parents[column->first_parent + CAL_OWN_LANE];
    for (int step = CAL_OWN_WARP % warps; step < step_count(column); step += warps)
        bring(team_rows(step) + first * CAL_WIDTH,
              find_constants(layout, column, step, CAL_OWN_LANE) + first * CAL_WIDTH, count);
    return sum;
}
CAL_PHASE double velocity_ahead(const cal_device_work* work, const cal_column* column, int warps) {
    return fetch_constants(work, column, warps, 0, CAL_CONSTANT_COUNT);
}
// --- Velocities: rotations in parents; all motions, which is what recurs; moments and bias forces ---------------------------------

enum { TEAM_E = 0, TEAM_D = 9, TEAM_W = 12, TEAM_AL = 15, TEAM_A = 18 };

CAL_PHASE void velocity_alone(const cal_device_work* work, const cal_column* column) {
    const cal_context context = own_context(work, 0);
    if (!is_idle(column)) LANE(outbound_column)(&context, column);
}

// Rotations in parents, and what else a motion needs of a joint: all positions and velocities of a warp's steps are read before one is used.
CAL_PHASE void find_rotations(const cal_context* context, const cal_column* column, int warp, int warps) {
    enum { MOST = CAL_TEAM_STEPS / CAL_HALF_TEAM };
    const int count = step_count(column);
    CAL_COPIED; // what came ahead
    for (int first = warp; first < count; first += MOST * warps) {
        lane q[MOST], v[MOST];
        CAL_UNROLL for (int k = 0; k < MOST; k++) {
            const int step = first + k * warps < count ? first + k * warps : first;
            const place at = find_place(context, column, CAL_REVOLUTE, cal_aba_record(CAL_REVOLUTE), step);
            q[k] = LOAD(at.y, 0), v[k] = LOAD(at.y, 1);
        }
        CAL_UNROLL for (int k = 0; k < MOST; k++) {
            const int step = first + k * warps;
            if (step >= count) break;
            const place at = find_place(context, column, CAL_REVOLUTE, cal_aba_record(CAL_REVOLUTE), step);
            double* rows = team_rows(step);
            store_columns(rows, TEAM_E, revolute_rotation(load_rows(at.constants, CAL_CONSTANT_ROTATION), q[k]));
            store3(rows, TEAM_D, load3(at.constants, CAL_CONSTANT_OFFSET));
            STORE(rows, TEAM_W, v[k]);
        }
    }
}

// The motion that a column begins with, where its rows leave room for it: it is far away, and comes while others find rotations.
CAL_PHASE bool has_room(const cal_column* column) { return step_count(column) < CAL_TEAM_STEPS; }
CAL_PHASE void keep_near(const cal_column* column, const motion* m) {
    double* rows = team_rows(step_count(column));
    store_columns(rows, TEAM_E, m->E);
    store3(rows, TEAM_W, m->w), store3(rows, TEAM_AL, m->al), store3(rows, TEAM_A, m->a);
}
CAL_PHASE motion read_near(int step) {
    const double* rows = team_rows(step);
    motion m;
    m.E = load_columns(rows, TEAM_E);
    m.w = load3(rows, TEAM_W), m.al = load3(rows, TEAM_AL), m.a = load3(rows, TEAM_A);
    m.A = spin_matrix(m.w, m.al);
    return m;
}

// All motions, one after the other; what the next step needs is read before this one's is written.
CAL_PHASE void move_along(const cal_context* context, const cal_column* column, motion m) {
    const int last = step_count(column) - 1;
    m3 E = load_columns(team_rows(0), TEAM_E);
    v3 offset = load3(team_rows(0), TEAM_D), d;
    lane v = LOAD(team_rows(0), TEAM_W);
    for (int step = 0; step <= last; step++) {
        const m3 turned = E;
        const v3 moved = offset;
        const lane speed = v;
        double *rows = team_rows(step), *next = team_rows(step < last ? step + 1 : last);
        E = load_columns(next, TEAM_E), offset = load3(next, TEAM_D), v = LOAD(next, TEAM_W);
        turn_motion(&m, turned, moved, speed, &d);
        m.A = spin_matrix(m.w, m.al);
        store_columns(rows, TEAM_E, m.E);
        store3(rows, TEAM_D, d), store3(rows, TEAM_W, m.w), store3(rows, TEAM_AL, m.al), store3(rows, TEAM_A, m.a);
    }
    leave_motion(context, column, &m);
}

CAL_PHASE void find_biases(const cal_context* context, const cal_column* column, int warp, int warps) {
    const int count = step_count(column);
    for (int step = warp; step < count; step += warps) {
        const place at = find_place(context, column, CAL_REVOLUTE, cal_aba_record(CAL_REVOLUTE), step);
        const motion m = read_near(step);
        store3(at.record, LANE(RECORD_Z), m.E.z);
        store3(at.record, LANE(RECORD_D), load3(team_rows(step), TEAM_D));
        bias(CAL_REVOLUTE, m.E, m.A, m.a, at.constants, at.external, at.scratch);
        if (step == count - 1) leave_own(context, column, &at);
    }
}

CAL_PHASE void velocity_phase(const cal_device_work* work, const cal_column* column, int phase, int warps) {
    const int warp = CAL_OWN_WARP % warps;
    const bool recurs = warp == recurring_warp(warps);
    const cal_context context = own_context(work, 0);
    if (is_idle(column)) return;
    if (!is_shared(column)) {
        if (phase == 0 && warp == 0) velocity_alone(work, column);
    } else if (phase == 0) {
        motion begin;
        if (recurs && has_room(column)) begin = load_motion(&context, column);
        find_rotations(&context, column, warp, warps);
        if (recurs && has_room(column)) keep_near(column, &begin);
    } else if (phase == 1 && recurs) {
        move_along(&context, column, has_room(column) ? read_near(step_count(column)) : load_motion(&context, column));
    } else if (phase == 2) {
        find_biases(&context, column, warp, warps);
    }
}

// --- Inertias: what the recurrence needs comes near, and what the children left is added up, each number by one warp; that --------------------

// Rows on chip of each step: its record (aba.h), of which z and d come, and g and k are left in the place of Θ, h, n⁰ and f⁰.
enum { NEAR_T = CAL_ABA_G, NEAR_FORCE = NEAR_T + CAL_SCRATCH_COUNT, NEAR_MASS, NEAR_ARMATURE, NEAR_V, NEAR_ROWS };
static_assert((int)NEAR_ROWS <= (int)CAL_TEAM_ROWS, "a team has memory for them");
static_assert((int)CAL_ABA_K < (int)NEAR_FORCE, "an answer has the place of what is used up");

// Whether a team's warps share the way up, too, which begins with sums: a long column may have no children.
CAL_PHASE bool has_sums(const cal_column* column) { return is_shared(column) && column->child_count > 0; }

CAL_PHASE void bring_bodies(const cal_context* context, const cal_column* column, int warp, int warps) {
    for (int step = warp; step < step_count(column); step += warps) {
        const place at = find_place(context, column, CAL_REVOLUTE, cal_aba_record(CAL_REVOLUTE), step);
        double* rows = team_rows(step);
        bring(rows, at.record, LANE(RECORD_G));
        bring(rows + NEAR_T * CAL_WIDTH, at.scratch, CAL_SCRATCH_COUNT);
        bring(rows + NEAR_FORCE * CAL_WIDTH, at.force, 1);
        bring(rows + NEAR_MASS * CAL_WIDTH, at.constants + CAL_CONSTANT_MASS * CAL_WIDTH, 1);
        bring(rows + NEAR_V * CAL_WIDTH, at.y + CAL_WIDTH, 1);
        const lane armature = LOAD(at.constants, CAL_CONSTANT_ARMATURE);
        STORE(rows, NEAR_ARMATURE, at.implicit ? armature + LOAD(at.implicit, 0) : armature);
    }
}

// Before the kernel before is done: where lanes pull, and the bodies, which the way down has left. Of a column with children there is another
// level's launch in between, which waited for that.
CAL_PHASE double inertia_ahead(const cal_device_work* work, const cal_column* column, int warps) {
    if (is_idle(column)) return 0.0;
    const cal_context context = own_context(work, 0);
    if (has_sums(column)) bring_bodies(&context, column, CAL_OWN_WARP % warps, warps);
    return touch_pulls(work, pull_list(work, column, own_lane(column)));
}

CAL_PHASE void pull_shared(const cal_device_work* work, const cal_context* context, const cal_column* column, int warp,
                           int warps) {
    const int list = pull_list(work, column, own_lane(column));
    const int first = work->first_pull[list], end = work->first_pull[list + 1];
    double* to = end_sums(context, column);
    // Several numbers of several children are asked for at once: they are far away, and a sum is a chain.
    enum { AHEAD = 9, ROWS = 4 };
    for (int next = first; next < end; next += AHEAD) {
        const double* from[AHEAD];
        CAL_UNROLL for (int k = 0; k < AHEAD; k++) from[k] =
            context->scratch + work->pulls[next + k < end ? next + k : next];
        for (int row = warp; row < CAL_UP_COUNT; row += ROWS * warps) {
            double sum[ROWS], ahead[ROWS][AHEAD];
            CAL_UNROLL for (int i = 0; i < ROWS; i++) {
                const int own = row + i * warps < CAL_UP_COUNT ? row + i * warps : row;
                sum[i] = to[own * CAL_WIDTH];
                CAL_UNROLL for (int k = 0; k < AHEAD; k++) ahead[i][k] = from[k][own * CAL_WIDTH];
            }
            CAL_UNROLL for (int i = 0; i < ROWS; i++) {
                CAL_UNROLL for (int k = 0; k < AHEAD; k++) if (next + k < end) sum[i] += ahead[i][k];
                if (row + i * warps < CAL_UP_COUNT) to[(row + i * warps) * CAL_WIDTH] = sum[i];
            }
        }
    }
}

// A step's, before it is used: what is written on chip in between may be what is read, for all that the compiler knows.
CAL_PHASE joint_body near_body(const cal_context* context, const cal_column* column, int wanted) {
    const int step = wanted < 0 ? 0 : wanted;
    const double *rows = team_rows(step), *body = rows + NEAR_T * CAL_WIDTH;
    return (joint_body){.T = load_symmetric(body, LANE(SCRATCH_T)),
                        .h = load3(body, LANE(SCRATCH_H)),
                        .n = load3(body, LANE(SCRATCH_N)),
                        .f = load3(body, LANE(SCRATCH_F)),
                        .z = load3(rows, LANE(RECORD_Z)),
                        .d = load3(rows, LANE(RECORD_D)),
                        .mass = LOAD(rows, NEAR_MASS),
                        .force = LOAD(rows, NEAR_FORCE),
                        .armature = LOAD(rows, NEAR_ARMATURE),
                        .record = find_place(context, column, CAL_REVOLUTE, cal_aba_record(CAL_REVOLUTE), step).record};
}

CAL_PHASE void assemble_steps(const cal_context* context, const cal_column* column) {
    const int last = step_count(column) - 1;
    joint_body next = near_body(context, column, last);
    articulated I = load_articulated(end_sums(context, column));
    for (int i = last; i >= 0; i--) {
        const joint_body own = next;
        joint_response left;
        next = near_body(context, column, i - 1);
        if (i < last) add_body(&I, own.T, own.h, own.mass, own.n, own.f);
        eliminate_joint(CAL_REVOLUTE, &I, own.z, own.d, own.force, own.armature, &left);
        keep_response(own.record, &left);
        double* rows = team_rows(i);
        store3(rows, LANE(RECORD_G), left.gn), store3(rows, LANE(RECORD_G) + 3, left.gf);
        STORE(rows, LANE(RECORD_K), left.k);
    }
    leave_up(context, column, &I);
}

CAL_PHASE void assemble_alone(const cal_context* context, const cal_column* column) {
    if (has_children_and_joints(column))
        assemble_joints(context, column);
    else
        LANE(inbound_column)(context, column);
}

CAL_PHASE void inertia_phase(const cal_device_work* work, const cal_column* column, int phase, int warps) {
    const int warp = CAL_OWN_WARP % warps;
    const cal_context context = own_context(work, 0);
    if (is_idle(column)) return;
    const bool near = has_sums(column);
    if (phase == 0) {
        if (near && !CAL_COMES_AHEAD) bring_bodies(&context, column, warp, warps);
        pull_shared(work, &context, column, warp, warps);
        CAL_COPIED;
    } else if (warp == recurring_warp(warps)) {
        if (near)
            assemble_steps(&context, column);
        else
            assemble_alone(&context, column);
    }
}

// --- Accelerations: what they read comes near; the recurrence ------------------------------------------------------------------------

CAL_PHASE void bring_answers(const cal_context* context, const cal_column* column, int warp, int warps) {
    for (int step = warp; step < step_count(column); step += warps) {
        const place at = find_place(context, column, CAL_REVOLUTE, cal_aba_record(CAL_REVOLUTE), step);
        bring(team_rows(step), at.record, LANE(RECORD_K) + 1);
        bring(team_rows(step) + NEAR_V * CAL_WIDTH, at.y + CAL_WIDTH, 1);
    }
}
CAL_PHASE bool has_near_answers(const cal_column* column) { return is_shared(column) && !has_segments(column); }

// Before the kernel before is done, where that was another level's of accelerations: what the way up has left.
CAL_PHASE double acceleration_ahead(const cal_device_work* work, const cal_column* column, int warps) {
    const cal_context context = own_context(work, 0);
    if (!is_idle(column) && work->settled && has_near_answers(column))
        bring_answers(&context, column, CAL_OWN_WARP % warps, warps);
    return 0.0;
}

CAL_PHASE void accelerate_steps(const cal_context* context, const cal_column* column) {
    v3 al = {0.0, 0.0, 0.0}, a = al;
    if (column->parent >= 0) {
        parent_slot slot;
        find_parent(context, column, 6, &slot);
        al = from_parent3(&slot, ACCELERATION), a = from_parent3(&slot, ACCELERATION + 3);
    }
    double* ydot = context->ydot + context->layout->block_y[column->first_block];
    for (int step = 0; step < step_count(column); step++) {
        const double* rows = team_rows(step);
        const step_place of = find_step(column, step);
        const lane qdd =
            accelerate_joint(CAL_REVOLUTE, &al, &a, load3(rows, LANE(RECORD_Z)), load3(rows, LANE(RECORD_D)),
                             load3(rows, LANE(RECORD_G)), load3(rows, LANE(RECORD_G) + 3), LOAD(rows, LANE(RECORD_K)));
        double* to = ydot + of.block * 2 * CAL_WIDTH + of.lane;
        STORE_FAR(to, 0, LOAD(rows, NEAR_V));
        STORE_FAR(to, 1, qdd);
    }
    store_acceleration(context, column, al, a);
}

CAL_PHASE void accelerate_alone(const cal_context* context, const cal_column* column) {
    if (has_segments(column))
        accelerate_joints(context, column, true);
    else
        LANE(accelerate_column)(context, column);
}

CAL_PHASE void acceleration_phase(const cal_device_work* work, const cal_column* column, int phase, int warps) {
    const int warp = CAL_OWN_WARP % warps;
    const cal_context context = own_context(work, 0);
    if (is_idle(column)) return;
    const bool near = has_near_answers(column);
    if (phase == 0) {
        if (near && !(work->settled && CAL_COMES_AHEAD)) bring_answers(&context, column, warp, warps);
        CAL_COPIED;
    } else if (warp == recurring_warp(warps)) {
        if (near)
            accelerate_steps(&context, column);
        else
            accelerate_alone(&context, column);
    }
}

// --- Descents: the same, by columns of several levels that wait for each other's flags ----------------------------------------------------

CAL_PHASE void await_parent(const cal_device_work* work, const cal_column* column, uint32_t number) {
    const int own = own_lane(column);
    const int above = column->mixed ? work->layout.parent_columns[column->first_parent + own] : column->parent;
    if (above >= 0) await_flag(work, above, number);
}
CAL_PHASE void descent_phase(const cal_device_work* work, const cal_column* column, int phase, int warps) {
    const int warp = CAL_OWN_WARP % warps;
    const bool works = !is_idle(column);
    const cal_context context = own_context(work, 0);
    if (phase == 0 && works) find_rotations(&context, column, warp, warps);
    if (phase == 1 && warp == recurring_warp(warps)) {
        const uint32_t number = next_flag(work, column);
        if (works) await_parent(work, column, number);
        if (works) move_along(&context, column, load_motion(&context, column));
        raise_flag(work, column, number);
    }
    if (phase == 2 && works) find_biases(&context, column, warp, warps);
}

// --- Trunks: a level after the other has what recurs, and all do the rest while they wait ------------------------------------------------

// What the way down has left comes ahead where a launch lies in between, which has waited for it.
CAL_PHASE double turn_ahead(const cal_device_work* work, const cal_column* column, int warps) {
    return work->settled ? inertia_ahead(work, column, warps) : 0.0;
}
// Where the way up turns: up from the last level, and down again.
CAL_PHASE void trunk_turn_stage(const cal_device_work* work, const cal_column* column, int level, int stage,
                                int phase) {
    const int levels = work->trunk_levels, warp = CAL_OWN_WARP % CAL_TEAM_WARPS;
    const bool up = stage < levels, own = level == (up ? levels - 1 - stage : stage - levels);
    const bool near = has_sums(column);
    const cal_context context = own_context(work, 0);
    if (is_idle(column)) return;
    if (phase == 0) {
        if (stage == 0 && near && !(work->settled && CAL_COMES_AHEAD))
            bring_bodies(&context, column, warp, CAL_TEAM_WARPS);
        if (up && own) pull_shared(work, &context, column, warp, CAL_TEAM_WARPS);
        CAL_COPIED;
    } else if (warp == 0 && own && near) {
        if (up)
            assemble_steps(&context, column);
        else
            accelerate_steps(&context, column);
    } else if (warp == 0 && own) {
        if (up)
            assemble_alone(&context, column);
        else
            accelerate_alone(&context, column);
    }
}
