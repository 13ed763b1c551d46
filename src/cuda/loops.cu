// Instances with constraints in a device's memory: what a system does for one (solver/system_constraints.c, system_closing.c,
// system_singular.c), a thread per instance. An evaluation is one launch:
//
//     the solver's preparation ─ q, v projected ─ joint forces ─ down and up ─ λ ─ down: q̈ ─ a step that is complete is closed
//
// With fixed steps. Of those with steps of their own the solver's kernels (solver_kernels.h) prepare each evaluation before that launch, and follow it up;
// control says whether a step is complete, and another launch closes it.
//
// Those that come to their end keep it, and do nothing from then on.
#include "cuda/kernel.h"
#include "cuda/kernels.h"
#include "cuda/held.h"
#include "solver/fixed_step_columns.h"
#include "cuda/constraint_bodies.h"

// What there is to do (work.h, held_task).
enum { HELD_RK4, HELD_EULER, HELD_BEGIN, HELD_CLOSE, HELD_STEERED, HELD_CLOSE_KEPT, HELD_CLOSE_SAMPLED };

// What a thread works with.
typedef struct instance {
    cal_context context;
    cal_held* held;
    const cal_held_image* image;
    int group, q_count, v_count;
} instance;

CAL_DEVICE static size_t instance_number(int group) { return (size_t)group * CAL_WIDTH + (size_t)CAL_OWN_LANE; }

// That of the thread, in this group; false: none that goes on. −1: there is none.
CAL_DEVICE static bool find_instance(const cal_device_work* work, int group, bool begins, instance* own) {
    own->group = group;
    if (group < 0) return false;
    own->held = (cal_held*)(void*)(work->held + work->held_stride * instance_number(group));
    own->image = work->image;
    own->context = own_context(work, own->group);
    cal_constraints* set = &own->held->set;
    own->context.own = &set->tree;
    own->context.responses = work->image->responses + (size_t)own->group * work->image->response_stride;
    set->within = &own->context;
    if (set->tree.given) set->tree.given = &own->context; // lent by a launch before this one
    own->q_count = set->model->q_count, own->v_count = set->model->v_count;
    return begins || own->held->end.reason == CAL_BATCH_GOES_ON;
}

CAL_DEVICE static void end_instance(instance* own, cal_batch_end_reason reason, int constraint, double time,
                                    double value) {
    own->held->end = (cal_batch_end){(int32_t)reason, (int32_t)constraint, time, value};
}

// q and v, one after the other, from a y-shaped vector, and into one.
CAL_DEVICE static void gather_state(const instance* own, const double* y, double* out) {
    for (int i = 0; i < own->q_count + own->v_count; i++) out[i] = y[own->image->places[i] + CAL_OWN_LANE];
}
CAL_DEVICE static void scatter_state(const instance* own, const double* from, double* y) {
    for (int i = 0; i < own->q_count + own->v_count; i++) y[own->image->places[i] + CAL_OWN_LANE] = from[i];
}

// Closes what is open at q and v; false: it has come apart, or is not finite.
CAL_EVERYWHERE bool project_after(instance* own, double time, double* q, double* v) {
    cal_constraints* set = &own->held->set;
    set->time = time;
    if (!cal_all_finite(q, own->q_count) || !cal_all_finite(v, own->v_count)) {
        end_instance(own, CAL_BATCH_NOT_FINITE, CAL_NONE, time, 0.0);
        return false;
    }
    if (own->image->closing.projects)
        cal_closing_project(&own->image->closing, set, CAL_ALONG_NOW, q, v);
    else
        cal_constraints_evaluate(set, q, v);
    const cal_violation left = cal_constraints_violation(set, CAL_NONE);
    if (!own->image->closing.projects || cal_closing_holds(set, left.error)) return true;
    end_instance(own, CAL_BATCH_CAME_APART, left.error_of, time, left.error);
    return false;
}

// Whether the last evaluation was so near to a singular position that its forces are noise.
CAL_EVERYWHERE bool is_singular(instance* own, double time) {
    cal_held* held = own->held;
    const cal_closing* closing = &own->image->closing;
    const double *q = held->now, *v = q + own->q_count;
    if (!closing->projects || !cal_closing_is_near(closing, &held->set, v) ||
        (held->calm_reach > 0.0 && fabs(time - held->calm_time) <= held->calm_reach))
        return false;
    const cal_closing_room room = {held->room, held->room + own->v_count};
    gather_state(own, own->context.ydot, held->raw);
    cal_directions_make(&held->set);
    held->calm_time = time;
    return cal_closing_changes_near(closing, &held->set, q, v, held->raw + own->q_count, &room, &held->calm_reach);
}

// Closes the end of the step that was just accepted, which is in `end`: the solver's value y is moved, its derivatives are as they are.
CAL_EVERYWHERE void close_step(instance* own, const double* end, double* y, double time) {
    cal_held* held = own->held;
    cal_directions_keep(&held->set);
    gather_state(own, end, held->raw);
    for (int i = 0; i < own->q_count + own->v_count; i++) held->now[i] = held->raw[i];
    if (!project_after(own, time, held->now, held->now + own->q_count) || !own->image->closing.projects) return;
    for (int i = 0; i < own->q_count + own->v_count; i++)
        y[own->image->places[i] + CAL_OWN_LANE] += held->now[i] - held->raw[i];
}

// Forward dynamics at y, whose constraints hold. False: it has come to its end.
CAL_EVERYWHERE bool evaluate_held(const cal_device_work* work, instance* own, double time) {
    cal_held* held = own->held;
    cal_constraints* set = &held->set;
    const cal_context* context = &own->context;
    const cal_column* columns = work->layout.columns;
    double *q = held->now, *v = q + own->q_count;
    set->time = time;
    gather_state(own, context->y, q);
    if (own->image->closing.projects && cal_all_finite(q, own->q_count + own->v_count)) {
        cal_closing_project(&own->image->closing, set, CAL_ALONG_KEPT, q, v);
        scatter_state(own, q, own->context.y);
    }
    for (int i = 0; i < work->layout.column_count && context->force != context->tau; i++)
        find_joint_forces(context, &columns[i]);
    for (int i = 0; i < work->walk_length; i++) {
        const cal_column* column = &columns[work->steps[i].index];
        if (work->steps[i].kind == CAL_STEP_DOWN)
            LANE(outbound_column)(context, column);
        else if (work->steps[i].kind == CAL_STEP_UP)
            LANE(inbound_column)(context, column);
    }
    const cal_closing* closing = &own->image->closing;
    const double shift = closing->projects ? CAL_SHIFT_CLOSED : CAL_SHIFT_OPEN;
    // Where joints have one degree of freedom each forces of constraints are among what is accelerated.
    bool good = !set->joins || cal_constraints_join(set, q, v, closing->law, closing->gain, shift, context);
    for (int i = 0; i < work->layout.column_count; i++) LANE(accelerate_column)(context, &columns[i]);
    gather_state(own, context->ydot, held->raw);
    good = good && cal_all_finite(held->raw, own->q_count + own->v_count);
    if (good && !set->joins) {
        double* qdd = held->raw + own->q_count;
        cal_constraints_find_change(set, q, v, qdd, closing->law, closing->gain, shift, NULL);
        for (int i = 0; i < own->v_count; i++) set->change[i] += qdd[i];
        for (int i = 0; i < own->v_count; i++) qdd[i] = set->change[i];
        scatter_state(own, held->raw, context->ydot);
        good = cal_all_finite(qdd, own->v_count);
    }
    if (!good && work->clocks) return true; // with steps of its own the solver knows what to do about it
    if (!good)
        end_instance(own, CAL_BATCH_NOT_FINITE, CAL_NONE, time, 0.0);
    else if (is_singular(own, time))
        end_instance(own, CAL_BATCH_SINGULAR, CAL_NONE, time, cal_constraints_distance(set));
    return held->end.reason == CAL_BATCH_GOES_ON;
}

// Whether it gets on, with the last accepted step's end at `accepted`: one that does not, next to a singular position, has come to its end.
CAL_EVERYWHERE void count_attempt(instance* own, double time, double accepted) {
    cal_held* held = own->held;
    if (held->end.reason != CAL_BATCH_GOES_ON || !own->image->closing.projects) return;
    const double* v = held->now + own->q_count;
    (void)cal_progress_count(&held->progress, accepted, v, own->v_count);
    const double distance = cal_constraints_distance(&held->set);
    if (held->progress.attempts > CAL_MOST_ATTEMPTS && distance < CAL_WIDEST_ZONE)
        end_instance(own, CAL_BATCH_SINGULAR, CAL_NONE, time, distance);
}

CAL_EVERYWHERE void evaluate_instance(const cal_device_work* work, bool rk4) {
    instance own;
    if (!find_instance(work, own_group(work), false, &own)) return;
    double* vectors[VECTOR_COUNT_RK4];
    for (int i = 0; i < (int)VECTOR_COUNT_RK4; i++) vectors[i] = work->vectors[i] + (size_t)own.group * work->y_stride;
    const double* down = work->numbers;
    const cal_solver_context solver = {
        .layout = &work->layout, .y = own.context.y, .ydot = own.context.ydot, .vectors = vectors, .down = down};
    for (int i = 0; i < work->layout.column_count; i++) {
        if (rk4)
            rk4_prepare(&solver, &work->layout.columns[i]);
        else
            euler_prepare(&solver, &work->layout.columns[i]);
    }
    own.context.ydot = vectors[rk4 ? rk4_derivative(down) : euler_derivative(down)];
    if (!evaluate_held(work, &own, work->time)) return;
    const bool accepted = (!rk4 || down[DOWN_STAGE] == 0.0) && down[DOWN_COMMIT] != COMMIT_NOTHING;
    if (accepted) close_step(&own, vectors[CAL_ONE_STEP_Y], vectors[CAL_ONE_STEP_Y], work->time);
    count_attempt(&own, work->time, accepted ? work->time : work->accepted);
}

// With steps of its own: evaluates where the solver has prepared it. One that has come to its end moves no more.
CAL_EVERYWHERE void evaluate_steered(const cal_device_work* work) {
    instance own;
    const int group = own_group(work);
    if (group < 0) return;
    const size_t number = instance_number(group);
    const bool goes_on = find_instance(work, group, false, &own) &&
                         evaluate_held(work, &own, work->clocks[number].decision.evaluation_time);
    own.held->evaluated = goes_on;
    if (!goes_on) work->moves[number] = 0;
}

// What control has made of that: the end of a step that it accepted is closed. Where the solver keeps the step's begin its end is in y.
CAL_EVERYWHERE void close_steered(const cal_device_work* work) {
    instance own;
    const int group = CAL_OWN_WARP < work->groups ? CAL_OWN_WARP : -1; // those that have arrived, too
    if (!find_instance(work, group, false, &own) || !own.held->evaluated) return;
    const size_t number = instance_number(group);
    const cal_batch_clock* clock = &work->clocks[number];
    const double time = clock->decision.time;
    own.held->evaluated = false;
    if (clock->status == CAL_OK && clock->decision.accepted) {
        double* y = work->vectors[CAL_ONE_STEP_Y] + (size_t)group * work->y_stride;
        close_step(&own, work->held_task == HELD_CLOSE_KEPT ? y : own.context.y, y, time);
    }
    count_attempt(&own, clock->status == CAL_OK ? time : clock->evaluated, time);
    // A solver that does not get on next to a singular position.
    const double distance = cal_constraints_distance(&own.held->set);
    if (own.held->end.reason == CAL_BATCH_GOES_ON && clock->status == CAL_NOT_CONVERGED &&
        own.image->closing.projects && distance < CAL_WIDEST_ZONE)
        end_instance(&own, CAL_BATCH_SINGULAR, CAL_NONE, clock->evaluated, distance);
    if (own.held->end.reason != CAL_BATCH_GOES_ON) work->moves[number] = 0;
}

// Addresses of every instance's own numbers.
CAL_KERNEL void held_make_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    const int group = own_group(&work);
    if (group < 0) return;
    char* own = work.held + work.held_stride * (size_t)(group * CAL_WIDTH + CAL_OWN_LANE);
    *(cal_held*)(void*)own = work.image->held;
    for (int i = 0; i < work.image->link_count; i++) {
        const cal_held_link* link = &work.image->links[i];
        double* to = (double*)(void*)(own + link->at);
        memcpy(own + link->field, &to, sizeof to);
    }
}

// As cal_system_check_start.
CAL_EVERYWHERE void begin_instance(const cal_device_work* work) {
    instance own;
    if (!find_instance(work, own_group(work), true, &own)) return;
    cal_held* held = own.held;
    cal_constraints* set = &held->set;
    double *q = held->now, *v = q + own.q_count,
           *y = work->vectors[CAL_ONE_STEP_Y] + (size_t)own.group * work->y_stride;
    end_instance(&own, CAL_BATCH_GOES_ON, CAL_NONE, work->time, 0.0);
    gather_state(&own, y, q);
    set->time = work->time;
    if (own.image->closing.projects) {
        cal_constraints_evaluate(set, q, v);
        const cal_violation now = cal_constraints_violation(set, CAL_NONE);
        if (!(now.error <= CAL_CONNECT_TOLERANCE))
            end_instance(&own, CAL_BATCH_BEGAN_OPEN, now.error_of, work->time, now.error);
        else if (!(now.speed <= CAL_CONNECT_TOLERANCE))
            end_instance(&own, CAL_BATCH_BEGAN_FAST, now.speed_of, work->time, now.speed);
        else
            cal_constraints_project(set, q, v, CAL_PROJECT_BOTH, CAL_PATIENCE_STEP);
        scatter_state(&own, q, y);
    }
    held->calm_reach = 0.0;
    cal_directions_forget(set);
}

// What an interpolation has left open.
CAL_EVERYWHERE void close_instance(const cal_device_work* work) {
    instance own;
    if (!find_instance(work, own_group(work), false, &own)) return;
    gather_state(&own, own.context.y, own.held->now);
    if (project_after(&own, work->time, own.held->now, own.held->now + own.q_count))
        scatter_state(&own, own.held->now, own.context.y);
}

// One kernel for all that needs constraints: a compiler for devices makes the functions that a kernel calls anew for each kernel.
CAL_KERNEL void held_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    if (work.held_task == HELD_BEGIN)
        begin_instance(&work);
    else if (work.held_task == HELD_CLOSE)
        close_instance(&work);
    else if (work.held_task == HELD_STEERED)
        evaluate_steered(&work);
    else if (work.held_task == HELD_CLOSE_KEPT || work.held_task == HELD_CLOSE_SAMPLED)
        close_steered(&work);
    else
        evaluate_instance(&work, work.held_task == HELD_RK4);
}

// How every instance is, side by side.
CAL_KERNEL void held_ends_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    if (CAL_OWN_WARP >= work.groups) return;
    const size_t number = (size_t)(CAL_OWN_WARP * CAL_WIDTH + CAL_OWN_LANE);
    const cal_held* held = (const cal_held*)(const void*)(work.held + work.held_stride * number);
    ((cal_batch_end*)(void*)work.out)[number] = held->end;
}

// The thread's instance, and its numbers in `out`; NULL: it has none.
CAL_DEVICE static cal_held* find_left(const cal_device_work* work, double** numbers) {
    if (CAL_OWN_WARP >= work->groups) return NULL;
    const size_t number = instance_number(CAL_OWN_WARP);
    *numbers = work->out + number * work->left_stride;
    return (cal_held*)(void*)(work->held + work->held_stride * number);
}

// What a step leaves for the next (machine_ops.h), side by side.
CAL_KERNEL void held_leave_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    double* to;
    const cal_held* held = find_left(&work, &to);
    if (!held) return;
    const cal_directions* d = &held->set.directions;
    const int q_count = held->set.model->q_count, count = (int)work.left_stride - CAL_LEFT_PLACE - q_count;
    to[CAL_LEFT_CLOSED] = held->set.closed;
    to[CAL_LEFT_PROGRESS] = held->progress.time, to[CAL_LEFT_ATTEMPTS] = held->progress.attempts;
    to[CAL_LEFT_CALM_TIME] = held->calm_time, to[CAL_LEFT_CALM_REACH] = held->calm_reach;
    to[CAL_LEFT_DIRECTED] = d->held, to[CAL_LEFT_TIME] = d->time, to[CAL_LEFT_DISTANCE] = d->distance;
    for (int i = 0; i < q_count && count > 0; i++) to[CAL_LEFT_PLACE + i] = d->q[i];
    for (int i = 0; i < count; i++) to[CAL_LEFT_PLACE + q_count + i] = d->kept[i];
}

// And back: what was evaluated last is somebody else's.
CAL_KERNEL void held_take_kernel(const cal_device_work work) {
    CAL_AFTER_OTHERS;
    double* from;
    cal_held* held = find_left(&work, &from);
    if (!held) return;
    cal_constraints* set = &held->set;
    cal_directions* d = &set->directions;
    const int q_count = set->model->q_count, count = (int)work.left_stride - CAL_LEFT_PLACE - q_count;
    set->closed = from[CAL_LEFT_CLOSED];
    held->progress.time = from[CAL_LEFT_PROGRESS], held->progress.attempts = (int)from[CAL_LEFT_ATTEMPTS];
    held->calm_time = from[CAL_LEFT_CALM_TIME], held->calm_reach = from[CAL_LEFT_CALM_REACH];
    held->end.reason = CAL_BATCH_GOES_ON;
    set->evaluated = set->answered = false;
    cal_directions_forget(set);
    d->held = d->made = from[CAL_LEFT_DIRECTED] != 0.0;
    d->time = from[CAL_LEFT_TIME], d->distance = from[CAL_LEFT_DISTANCE];
    for (int i = 0; i < q_count && count > 0; i++) d->q[i] = from[CAL_LEFT_PLACE + i];
    for (int i = 0; i < count; i++) d->kept[i] = from[CAL_LEFT_PLACE + q_count + i];
}

#define HELD_LAUNCH(name, kernel)                                                                                      \
    CAL_EXTERN_C void name(cal_device* device, const cal_device_work* work, int groups) {                              \
        CAL_LAUNCH(kernel, device, groups, work);                                                                      \
    }
HELD_LAUNCH(cal_device_held_make, held_make_kernel)
HELD_LAUNCH(cal_device_held_ends, held_ends_kernel)
HELD_LAUNCH(cal_device_held_leave, held_leave_kernel)
HELD_LAUNCH(cal_device_held_take, held_take_kernel)

#define HELD_TASK(name, task)                                                                                          \
    CAL_EXTERN_C void name(cal_device* device, const cal_device_work* work, int groups) {                              \
        cal_device_work own = *work;                                                                                   \
        own.held_task = task;                                                                                          \
        CAL_LAUNCH(held_kernel, device, groups, &own);                                                                 \
    }
HELD_TASK(cal_device_rk4_held, HELD_RK4)
HELD_TASK(cal_device_euler_held, HELD_EULER)
HELD_TASK(cal_device_held_begin, HELD_BEGIN)
HELD_TASK(cal_device_held_close, HELD_CLOSE)
HELD_TASK(cal_device_held_steered, HELD_STEERED)
HELD_TASK(cal_device_held_close_kept, HELD_CLOSE_KEPT)
HELD_TASK(cal_device_held_close_sampled, HELD_CLOSE_SAMPLED)
