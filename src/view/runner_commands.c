// What pages ask of a run: the hand, settings, poses, controls, keyframes, and what is plotted.
#include "view/runner_inner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static void add_mark(cal_runner* r, const char* text) {
    if (r->mark_count == MARKS) {
        memmove(r->marks, r->marks + 1, (MARKS - 1) * sizeof r->marks[0]);
        r->mark_count--;
    }
    cal_runner_mark* m = &r->marks[r->mark_count++];
    m->time = cal_run_time(r->run);
    snprintf(m->text, sizeof m->text, "%s", text);
}

static void change_settings(cal_runner* r, const cal_view_command* c) {
    cal_run_settings next;
    cal_error error = {CAL_OK, ""};
    cal_run_get_settings(r->run, &next);
    if (c->solver[0]) memcpy(next.solver, c->solver, sizeof next.solver);
    if (c->algorithm[0]) memcpy(next.algorithm, c->algorithm, sizeof next.algorithm);
    if (c->machine[0]) memcpy(next.machine, c->machine, sizeof next.machine);
    if (c->tolerance > 0) next.tolerance = c->tolerance;
    if (cal_run_change(r->run, &next, &error) != CAL_OK) {
        cal_runner_say(r, error.text);
        return;
    }
    char text[80];
    snprintf(text, sizeof text, "%s %g, %s, %s", next.solver, next.tolerance, next.algorithm, next.machine);
    add_mark(r, text);
    r->failed = false;
    cal_runner_say(r, "");
    cal_runner_set_clock(r);
}

static void reset(cal_runner* r) {
    cal_error error = {CAL_OK, ""};
    cal_run_drop(r->run);
    r->holder = -1;
    if (cal_run_reset(r->run, &error) != CAL_OK) {
        cal_runner_say(r, error.text);
        return;
    }
    r->epoch++;
    r->failed = false;
    r->mark_count = 0;
    cal_runner_say(r, "");
    cal_runner_set_clock(r);
}

// Something of the state or of what acts on it was changed by hand.
static void jump(cal_runner* r, cal_status status, const cal_error* error) {
    if (!status) r->failed = false;
    cal_runner_say(r, status ? error->text : "");
    cal_runner_set_clock(r);
}

static void pose_joint(cal_runner* r, int index, double value) {
    cal_error error = {CAL_OK, ""};
    cal_status status = CAL_OK;
    const cal_model* model = cal_run_model(r->run);
    const double* q = model ? cal_run_q(r->run) : NULL;
    double* other = q ? cal_allocate((size_t)cal_model_q_count(model), sizeof *other) : NULL;
    if (r->running)
        status = cal_fail(&error, CAL_BAD_ARGUMENT, "joints are posed while it is paused");
    else if (!q || index >= cal_model_q_count(model))
        status = cal_fail(&error, CAL_BAD_ARGUMENT, "there is no q %d to set", index);
    else if (!other)
        status = cal_fail(&error, CAL_NO_MEMORY, "no memory for a pose");
    if (!status && other) {
        memcpy(other, q, (size_t)cal_model_q_count(model) * sizeof *other);
        other[index] = value;
        status = cal_run_set(r->run, cal_run_time(r->run), other, NULL, &error);
    }
    cal_free(other);
    jump(r, status, &error);
}

// The controls that act, the model's own until somebody changes one.
static cal_status begin_controls(cal_runner* r, cal_error* error) {
    const cal_model* model = cal_run_model(r->run);
    if (r->control) return CAL_OK;
    if (!model || cal_model_actuator_count(model) == 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no actuator to control");
    r->control = cal_allocate((size_t)cal_model_actuator_count(model), sizeof *r->control);
    if (!r->control) return cal_fail(error, CAL_NO_MEMORY, "no memory for controls");
    cal_model_initial(model, NULL, NULL, r->control);
    return CAL_OK;
}

static void control_actuator(cal_runner* r, int index, double value) {
    cal_error error = {CAL_OK, ""};
    cal_status status = begin_controls(r, &error);
    if (!status && index >= cal_model_actuator_count(cal_run_model(r->run)))
        status = cal_fail(&error, CAL_BAD_ARGUMENT, "there is no actuator %d to control", index);
    if (!status) {
        r->control[index] = value;
        status = cal_run_drive(r->run, NULL, r->control, &error);
    }
    jump(r, status, &error);
}

static void start_from_key(cal_runner* r, int index) {
    cal_error error = {CAL_OK, ""};
    const cal_model* model = cal_run_model(r->run);
    if (!model || index >= cal_model_keyframe_count(model)) {
        cal_runner_say(r, "there is no such keyframe");
        return;
    }
    cal_keyframe_def key;
    cal_model_keyframe(model, index, &key);
    reset(r);
    cal_status status = cal_run_set(r->run, cal_run_time(r->run), key.q_count > 0 ? key.q : NULL,
                                    key.v_count > 0 ? key.v : NULL, &error);
    if (!status && key.control_count > 0) {
        status = begin_controls(r, &error);
        if (!status) memcpy(r->control, key.control, (size_t)key.control_count * sizeof *r->control);
        if (!status) status = cal_run_drive(r->run, NULL, r->control, &error);
    }
    jump(r, status, &error);
}

static void show_more(cal_runner* r, const char* kind, bool wanted) {
    if (strcmp(kind, "q") == 0) {
        r->with_q = wanted && cal_run_model(r->run) && cal_run_can(r->run, CAL_RUN_STATE);
    } else if (strcmp(kind, "contacts") == 0) {
        if (wanted && !r->contacts) r->contacts = cal_allocate(CAL_VIEW_CONTACTS_LIMIT, sizeof *r->contacts);
        r->with_contacts = wanted && r->contacts;
        if (wanted && !cal_run_can(r->run, CAL_RUN_CONTACTS)) cal_runner_say(r, "nothing touches in this run");
    } else {
        cal_runner_say(r, "contacts and q can be shown");
    }
}

void cal_runner_fail(cal_runner* r, const cal_error* error, cal_status status) {
    r->failed = true;
    r->running = false;
    r->changed = true;
    cal_runner_say(r, error->text[0] ? error->text : cal_status_text(status));
}

static void step_frame(cal_runner* r) {
    cal_error error = {CAL_OK, ""};
    cal_status status = CAL_OK;
    const double at = cal_run_time(r->run), grain = cal_run_grain(r->run);
    const double target =
        grain > CAL_FRAME_SECONDS && isfinite(grain) ? grain * (floor(at / grain + 0.5) + 1) : at + CAL_FRAME_SECONDS;
    bool reached = false;
    r->running = false;
    // Whoever cannot reach the next frame in so many stretches is left where it is.
    for (int i = 0; i < 100 && !status && !reached && !cal_runner_is_ending(r); i++)
        status = cal_run_approach(r->run, target, &reached, &error);
    if (status) cal_runner_fail(r, &error, status);
}

// Whether a command asks for what the run's own program decides.
static bool is_theirs(const cal_runner* r, cal_view_verb verb) {
    return r->def.shown && verb != CAL_VIEW_GRAB && verb != CAL_VIEW_DRAG && verb != CAL_VIEW_DROP &&
           verb != CAL_VIEW_WATCH && verb != CAL_VIEW_PROBE && verb != CAL_VIEW_SHOW;
}

void cal_runner_apply(cal_runner* r, const cal_view_command* c) {
    cal_error error = {CAL_OK, ""};
    if (is_theirs(r, c->verb)) {
        cal_runner_say(r, "a program advances this run by itself: it can be watched and pulled, and nothing else");
        return;
    }
    // While it runs, the next frame shows where the hand is.
    r->changed = r->changed || c->verb != CAL_VIEW_DRAG || !r->running;
    switch (c->verb) {
    case CAL_VIEW_RUN:
        r->running = true;
        cal_runner_set_clock(r);
        break;
    case CAL_VIEW_PAUSE: r->running = false; break;
    case CAL_VIEW_STEP: step_frame(r); break;
    case CAL_VIEW_RESET: reset(r); break;
    case CAL_VIEW_SPEED:
        r->speed = c->speed;
        cal_runner_set_clock(r);
        break;
    case CAL_VIEW_GRAB:
        if (r->holder >= 0 && r->holder != c->client) break;
        if (cal_run_grab(r->run, c->body, c->vector, &error) == CAL_OK)
            r->holder = c->client;
        else
            cal_runner_say(r, error.text);
        break;
    case CAL_VIEW_DRAG:
        if (r->holder == c->client) cal_run_drag(r->run, c->vector);
        break;
    case CAL_VIEW_DROP:
        if (r->holder != c->client) break;
        cal_run_drop(r->run);
        r->holder = -1;
        break;
    case CAL_VIEW_SET: change_settings(r, c); break;
    case CAL_VIEW_POSE: pose_joint(r, c->index, c->value); break;
    case CAL_VIEW_CONTROL: control_actuator(r, c->index, c->value); break;
    case CAL_VIEW_KEY: start_from_key(r, c->index); break;
    case CAL_VIEW_PROBE:
        cal_runner_say(r, cal_probes_toggle(&r->probes, r->run, c->kind, c->index, &error) == CAL_OK ? "" : error.text);
        break;
    case CAL_VIEW_SHOW: show_more(r, c->kind, c->index != 0); break;
    case CAL_VIEW_WATCH: // done when it was posted
    case CAL_VIEW_OPEN:  // the server's
    case CAL_VIEW_LOAD: break;
    }
}
