// What runs with events say about their start, and about what happened.
#include "run/events.h"
#include <math.h>
#include <string.h>

enum { KINETIC, POTENTIAL, TOTAL, WORK, LOSS, BALANCE, DISCONTINUITIES, ROLLBACKS, GROUPS, ASLEEP };
const cal_channel cal_event_channels[CAL_EVENT_CHANNELS] = {
    [KINETIC] = {"kinetic", "J", "Energy", false},
    [POTENTIAL] = {"potential", "J", "Energy", false},
    [TOTAL] = {"total", "J", "Energy", false},
    [WORK] = {"work", "J", "Energy", false},
    [LOSS] = {"loss", "J", "Energy", false},
    [BALANCE] = {"balance", "of the energy exchanged", "Energy balance error", true},
    [DISCONTINUITIES] = {"discontinuities", "1/s", "Discontinuities per simulated second", false},
    [ROLLBACKS] = {"rollbacks", "1/s", "Rollbacks per simulated second", false},
    [GROUPS] = {"groups", "", "Contact groups and sleeping bodies", false},
    [ASLEEP] = {"asleep", "", "Contact groups and sleeping bodies", false},
    [CAL_EVENT_CONSTRAINT] = {"constraint error", "m or rad", "Constraint error", true},
};

void cal_event_watch_begin(cal_event_watch* watch, cal_world* world) {
    cal_world_report report;
    cal_world_get_report(world, &report);
    watch->discontinuities = (cal_rate){.time = report.time, .count = report.discontinuities};
    watch->rollbacks = (cal_rate){.time = report.time, .count = report.rollbacks};
    if (watch->keeps) cal_world_keep_events(world, true);
}

void cal_event_watch_keep(cal_event_watch* watch, cal_world* world) {
    watch->keeps = true;
    if (world) cal_world_keep_events(world, true);
}

cal_status cal_event_watch_read(cal_event_watch* watch, cal_world* world, int count, double* values) {
    cal_world_report report;
    cal_energy_balance b;
    cal_status status = cal_world_get_report(world, &report);
    if (!status) status = cal_world_balance(world, &b);
    if (status) return status;
    cal_run_read_balance(&b, values);
    values[DISCONTINUITIES] = cal_rate_follow(&watch->discontinuities, report.time, report.discontinuities);
    values[ROLLBACKS] = cal_rate_follow(&watch->rollbacks, report.time, report.rollbacks);
    values[GROUPS] = report.groups_now;
    values[ASLEEP] = report.asleep;
    if (count <= CAL_EVENT_CONSTRAINT) return CAL_OK;
    status = cal_world_constraint_error(world, &values[CAL_EVENT_CONSTRAINT], NULL);
    if (status) values[CAL_EVENT_CONSTRAINT] = NAN;
    return status;
}

bool cal_event_next(cal_world* world, const cal_sim* sim, cal_run_event* out) {
    cal_world_event event;
    if (!world || !cal_world_next_event(world, &event)) return false;
    *out = (cal_run_event){.time = event.time, .kind = event.fusion ? "fusion" : "bounce", .impulse = event.impulse};
    for (int i = 0; i < 2; i++) {
        cal_world_body_name(world, event.body[i], out->name[i], sizeof out->name[i]);
        out->body[i] = sim ? cal_sim_body_of(sim, event.body[i]) : event.body[i].index;
    }
    return true;
}

cal_status cal_event_contacts(cal_world* world, cal_contact_point* out, int capacity, int* count, cal_error* error) {
    const cal_status status = cal_world_contacts(world, out, capacity, count, error);
    for (int i = 0; !status && i < *count && i < capacity; i++) {
        const cal_contact_point at = out[i];
        if (cal_world_body_motion(world, at.body[0]) == CAL_MOVING) continue;
        for (int k = 0; k < 2; k++) out[i].body[k] = at.body[1 - k], out[i].shape[k] = at.shape[1 - k];
        for (int k = 0; k < 3; k++) out[i].force[k] = -at.force[k], out[i].normal[k] = -at.normal[k];
    }
    return status;
}

// Bodies that overlap at the start and that nobody could move apart.
static void note_overlaps(const cal_world* world, char* note, size_t capacity) {
    char list[160] = "", a[64], b[64];
    cal_body_id pair[2];
    double depth;
    int count = 0;
    for (; cal_world_ignored_overlap(world, count, pair, &depth); count++) {
        const size_t used = strlen(list);
        if (count < 3)
            snprintf(list + used, sizeof list - used, "%s%.24s and %.24s by %.3g m", used > 0 ? ", " : "",
                     cal_world_body_name(world, pair[0], a, sizeof a), cal_world_body_name(world, pair[1], b, sizeof b),
                     depth);
    }
    if (count > 0)
        snprintf(note, capacity, "%d pair%s of bodies that overlap at the start pass%s through each other: %s%s", count,
                 count == 1 ? "" : "s", count == 1 ? "es" : "", list, count > 3 ? ", …" : "");
}

void cal_run_note_start(cal_world* world, char* note, size_t capacity) {
    cal_world_report report;
    cal_world_get_report(world, &report);
    note_overlaps(world, note, capacity);
    if (note[0] != '\0') return;
    if (report.start_overlaps > 0)
        snprintf(note, capacity, "%d pair%s of bodies overlapped at the start, by up to %.3g m, and %s moved apart",
                 report.start_overlaps, report.start_overlaps == 1 ? "" : "s", report.start_depth,
                 report.start_overlaps == 1 ? "was" : "were");
    else if (report.start_moved > 1e-9)
        snprintf(note, capacity, "the start was off the constraints: bodies were moved onto them by up to %.3g m",
                 report.start_moved);
}

static double per(double value, double count) { return count > 0 ? value / count : 0; }

static void report_counts(const cal_world_report* w, cal_facts* report) {
    const struct {
        const char* key;
        int64_t count;
    } counts[] = {{"discontinuities", w->discontinuities},
                  {"collisions", w->collisions},
                  {"fusions", w->fusions},
                  {"fissions", w->fissions},
                  {"checks", w->checks},
                  {"predictions", w->predictions},
                  {"events", w->events},
                  {"integrations", w->integrations},
                  {"rollbacks", w->rollbacks},
                  {"undone", w->undone},
                  {"forced_rollbacks", w->forced},
                  {"callbacks", w->callbacks},
                  {"groups", w->groups},
                  {"largest_group", w->largest_group},
                  {"largest_contacts", w->largest_contacts},
                  {"asleep", w->asleep},
                  {"peak_states", w->peak_states},
                  {"domains", w->domains},
                  {"domain_processors", w->processors},
                  {"windows", w->windows},
                  {"runs", w->runs},
                  {"handed_over", w->handed_over}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        cal_facts_integer(report, counts[i].key, counts[i].count);
    if (w->domains > 0) {
        cal_facts_number(report, "domains_s", w->domains_s);
        cal_facts_number(report, "busiest_s", w->busiest_s);
        cal_facts_number(report, "border_s", w->border_s);
        cal_facts_number(report, "together_s", w->together_s);
        cal_facts_number(report, "between_s", w->between_s);
        cal_facts_number(report, "divide_s", w->divide_s);
    }
    cal_facts_number(report, "average_step_s", per(w->intervals, (double)w->integrations));
    cal_facts_number(report, "average_gap_s", per(w->time, (double)w->discontinuities));
    cal_facts_number(report, "integrated_s_per_body", per(w->integrated, w->moving));
    cal_facts_number(report, "rolled_back_s_per_body", per(w->rolled_back, w->moving));
    cal_facts_numbers(report, "momentum", w->momentum, 6);
}

// Where the time of all cores goes in a divided world: what they do at the same time, with waiting for the busiest one, and what one does
// while the others wait.
static void report_shares(const cal_world_report* w, cal_facts* report) {
    const double all = w->processors * (w->busiest_s + w->between_s);
    const double waits = w->processors * w->busiest_s - w->domains_s;
    cal_facts_line(
        report, "time of cores",
        "%.0f %% events, %.0f %% borders, %.0f %% waiting for the busiest, %.0f %% while one divides, %.0f %% "
        "while one joins",
        100.0 * per(w->domains_s - w->border_s, all), 100.0 * per(w->border_s, all), 100.0 * per(waits, all),
        100.0 * per(w->processors * w->divide_s, all), 100.0 * per(w->processors * (w->between_s - w->divide_s), all));
}

void cal_run_report_events(cal_world* world, cal_facts* report) {
    cal_world_report w;
    cal_world_get_report(world, &w);
    report_counts(&w, report);
    if (w.discontinuities > 0)
        cal_facts_line(report, "discontinuities", "%lld, one every %.3g ms", (long long)w.discontinuities,
                       1e3 * per(w.time, (double)w.discontinuities));
    else
        cal_facts_line(report, "discontinuities", "none");
    cal_facts_line(report, "checks", "%lld, and %lld times of impact from a formula", (long long)w.checks,
                   (long long)w.predictions);
    cal_facts_line(report, "integrations", "%lld of %.3g ms, %.4g s per body", (long long)w.integrations,
                   1e3 * per(w.intervals, (double)w.integrations), per(w.integrated, w.moving));
    cal_facts_line(report, "rollbacks", "%lld, %.3g s per body", (long long)w.rollbacks, per(w.rolled_back, w.moving));
    cal_facts_line(report, "contact groups", "%lld, the largest of %d bodies and %d contacts; %d bodies asleep",
                   (long long)w.groups, w.largest_group, w.largest_contacts, w.asleep);
    cal_facts_line(report, "states kept", "%lld at most", (long long)w.peak_states);
    if (w.cores > 0 && w.domains == 0)
        cal_facts_line(report, "divided", "no: too few bodies, or too many of them in one contact group, for %d cores",
                       w.cores);
    if (w.domains > 0)
        cal_facts_line(
            report, "divided",
            "%d domains for %d cores, %lld windows of %.2g runs, %lld components handed over; at most %.3g × "
            "one core",
            w.domains, w.processors, (long long)w.windows, per((double)w.runs, (double)w.windows),
            (long long)w.handed_over, per(w.domains_s + w.between_s, w.busiest_s + w.between_s));
    if (w.domains > 0) report_shares(&w, report);
}
