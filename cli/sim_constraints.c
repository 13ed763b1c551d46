// Constraints on the command line of `calder sim`.
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

int cal_events_read(const char* text, const cal_model* model, cal_events* out) {
    *out = (cal_events){0};
    if (!text) return CAL_EXIT_DONE;
    int count = 1;
    for (const char* p = text; *p; p++) count += *p == ',';
    out->list = calloc((size_t)count, sizeof *out->list);
    if (!out->list) return cal_complain(CAL_EXIT_FAILED, "no memory for %d events", count);
    int status = CAL_EXIT_DONE;
    for (; out->count < count && status == CAL_EXIT_DONE; text += strcspn(text, ",") + 1)
        status = read_event(text, strcspn(text, ","), model, &out->list[out->count++]);
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

int cal_events_apply(cal_events* events, cal_sim* sim) {
    while (cal_events_due(events) <= cal_sim_time(sim)) {
        const cal_event* event = &events->list[events->next++];
        cal_error error = {CAL_OK, ""};
        if (event->action == DISCONNECT)
            error.status = cal_sim_disconnect(sim, event->constraint, &error);
        else
            error.status = cal_sim_connect(sim, event->constraint,
                                           event->action == CATCH ? CAL_CONNECT_INELASTIC : CAL_CONNECT_SMOOTH, &error);
        if (error.status != CAL_OK) return cal_complain(CAL_EXIT_FAILED, "%s", error.text);
    }
    return CAL_EXIT_DONE;
}

// --- Saying what there is ----------------------------------------------------------------------------------------------

void cal_sim_print_constraints(cal_sim* sim) {
    cal_constraint_report report;
    if (cal_sim_constraints(sim, &report) != CAL_OK) return;
    printf("%-13s %d row%s, %d independent; error at most %.2e, root mean square %.2e\n", "constraints", report.rows,
           report.rows == 1 ? "" : "s", report.rank, report.error_max, report.error_rms);
}

void cal_sim_json_constraints(cal_json* json, cal_sim* sim) {
    cal_constraint_report report;
    if (cal_sim_constraints(sim, &report) != CAL_OK) return;
    cal_json_integer(json, "constraint_rows", report.rows);
    cal_json_integer(json, "rank", report.rank);
    cal_json_integer(json, "redundant_rows", report.rows - report.rank);
    cal_json_number(json, "constraint_max", report.error_max);
    cal_json_number(json, "constraint_rms", report.error_rms);
    cal_json_number(json, "constraint_error", report.error);
    cal_json_number(json, "constraint_speed", report.speed);
}

void cal_sim_warn_violation(cal_sim* sim, const cal_model* model) {
    cal_constraint_report report;
    char name[80];
    if (!cal_is_first_rank() || cal_sim_constraints(sim, &report) != CAL_OK) return;
    if (report.error <= CAL_CONNECT_TOLERANCE && report.speed <= CAL_CONNECT_TOLERANCE) return;
    fprintf(stderr, "calder: warning: the start is off the constraints: by %.3g at '%s', by speeds up to %.3g\n",
            report.error, cal_model_constraint_name(model, report.error_of, name, sizeof name), report.speed);
}
