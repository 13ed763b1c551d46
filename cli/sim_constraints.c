// Constraints on the command line.
#include "sim_constraints.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

enum { CONNECT, CATCH, DISCONNECT, ACTIONS };
static const char* const actions[ACTIONS] = {"connect", "catch", "disconnect"};

const char* cal_constraint_form_choice(int index) {
    static const char* const names[] = {"lagrange", "minimal", NULL};
    return names[index];
}

int cal_sim_read_stabilize(const char* text, cal_sim_def* def) {
    static const char* const names[] = {"projection", "baumgarte", "literal", "none"};
    if (!text) return CAL_EXIT_DONE;
    const size_t length = strcspn(text, ":");
    const char* name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) name = names[i];
    const bool gains = name && (strcmp(name, "baumgarte") == 0 || strcmp(name, "literal") == 0);
    if (!name || (text[length] == ':' && !gains))
        return cal_complain(CAL_EXIT_MISTAKE,
                            "--stabilize '%s' is not one of projection, baumgarte[:K], literal[:K], none", text);
    def->stabilize = name;
    if (text[length] == ':') {
        char* end;
        def->gain = strtod(text + length + 1, &end);
        if (end == text + length + 1 || *end != '\0' || !(def->gain >= 0 && isfinite(def->gain)))
            return cal_complain(CAL_EXIT_MISTAKE, "--stabilize '%s': the gain must be a number from 0 on", text);
    }
    const double limit = cal_stabilize_limit(name, def->solver, def->step);
    if (gains && def->gain >= limit && cal_is_first_rank())
        fprintf(
            stderr,
            "calder: warning: gain %g is beyond what %s can take with steps of %g s, %.4g; the constraints will come "
            "apart\n",
            def->gain, def->solver, def->step, limit);
    return CAL_EXIT_DONE;
}

// --- Events ------------------------------------------------------------------------------------------------------------

static int read_event(const char* text, size_t length, const cal_model* model, cal_event* out) {
    char copy[256], *end;
    if (length >= sizeof copy)
        return cal_complain(CAL_EXIT_MISTAKE, "--at: an event is longer than %zu letters", sizeof copy);
    memcpy(copy, text, length);
    copy[length] = '\0';
    out->time = strtod(copy, &end);
    char* action = end != copy && *end == ':' ? end + 1 : NULL;
    char* name = action ? strchr(action, ':') : NULL;
    if (!name || !(out->time >= 0 && isfinite(out->time)))
        return cal_complain(CAL_EXIT_MISTAKE, "--at '%s' is not of the form TIME:ACTION:CONSTRAINT", copy);
    *name++ = '\0';
    out->action = 0;
    while (out->action < ACTIONS && strcmp(action, actions[out->action]) != 0) out->action++;
    if (out->action == ACTIONS)
        return cal_complain(CAL_EXIT_MISTAKE, "--at: '%s' is not one of connect, catch, disconnect", action);
    out->constraint = cal_model_find_constraint(model, name);
    if (out->constraint == CAL_NONE) {
        const long number = strtol(name, &end, 10);
        if (end != name && *end == '\0' && number >= 0 && number < cal_model_constraint_count(model))
            out->constraint = (int)number;
    }
    if (out->constraint == CAL_NONE)
        return cal_complain(CAL_EXIT_MISTAKE, "--at: the model has no constraint '%s'; see calder info", name);
    return CAL_EXIT_DONE;
}

int cal_events_read(const cal_texts* texts, const cal_model* model, cal_events* out) {
    *out = (cal_events){0};
    int room = texts->count;
    for (int i = 0; i < texts->count; i++)
        for (const char* p = texts->items[i]; *p; p++) room += *p == ',';
    if (room == 0) return CAL_EXIT_DONE;
    out->list = calloc((size_t)room, sizeof *out->list);
    if (!out->list) return cal_complain(CAL_EXIT_FAILED, "no memory for %d events", room);
    int status = CAL_EXIT_DONE;
    for (int i = 0; i < texts->count && status == CAL_EXIT_DONE; i++) {
        const char* text = texts->items[i];
        for (bool more = true; more && status == CAL_EXIT_DONE;) {
            const size_t length = strcspn(text, ",");
            status = read_event(text, length, model, &out->list[out->count++]);
            more = text[length] == ',';
            text += length + more;
        }
    }
    if (status == CAL_EXIT_DONE)
        for (int i = 1; i < out->count; i++) // few of them, and the order of equal times must stay
            for (int k = i; k > 0 && out->list[k].time < out->list[k - 1].time; k--) {
                const cal_event swap = out->list[k];
                out->list[k] = out->list[k - 1];
                out->list[k - 1] = swap;
            }
    return status;
}

void cal_events_free(cal_events* events) { free(events->list); }

void cal_events_skip(cal_events* events, double time) {
    while (events->next < events->count && events->list[events->next].time <= time) events->next++;
}

double cal_events_due(const cal_events* events) {
    return events->next < events->count ? events->list[events->next].time : (double)INFINITY;
}

int cal_events_apply(cal_events* events, cal_run* run) {
    while (cal_events_due(events) <= cal_run_time(run)) {
        const cal_event* event = &events->list[events->next++];
        cal_error error = {CAL_OK, ""};
        if (event->action == DISCONNECT)
            error.status = cal_run_disconnect(run, event->constraint, &error);
        else if (event->action == CATCH)
            error.status = cal_run_catch(run, event->constraint, &error);
        else
            error.status = cal_run_connect(run, event->constraint, CAL_CONNECT_SMOOTH, &error);
        if (error.status != CAL_OK) return cal_complain(CAL_EXIT_FAILED, "%s", error.text);
    }
    return CAL_EXIT_DONE;
}
