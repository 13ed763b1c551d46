// What the constraints of a simulation did, as facts.
#include "run/run.h"

bool cal_run_note_off(const cal_model* model, const cal_constraint_report* report, bool moves, char* note,
                      size_t capacity) {
    char name[80];
    if (report->error_of == CAL_NONE ||
        (report->error <= CAL_CONNECT_TOLERANCE && report->speed <= CAL_CONNECT_TOLERANCE))
        return false;
    cal_model_constraint_name(model, report->error_of, name, sizeof name);
    if (moves)
        snprintf(note, capacity,
                 "the start was off the constraints, by %.3g at '%s' and by speeds up to %.3g, and was moved onto them",
                 report->error, name, report->speed);
    else
        snprintf(note, capacity, "the start is off the constraints: by %.3g at '%s', by speeds up to %.3g",
                 report->error, name, report->speed);
    return true;
}

// False: there are none, or they have no forces.
static bool look(cal_sim* sim, cal_constraint_report* out) {
    return cal_model_constraint_count(cal_sim_model(sim)) > 0 && cal_sim_constraints(sim, out) == CAL_OK;
}

void cal_run_report_constraints(cal_sim* sim, const char* form, cal_facts* report) {
    cal_constraint_report c;
    if (!look(sim, &c)) return;
    if (form) cal_facts_text(report, "constraint_form", form);
    cal_facts_integer(report, "constraint_rows", c.rows);
    cal_facts_integer(report, "rank", c.rank);
    cal_facts_integer(report, "redundant_rows", c.rows - c.rank);
    cal_facts_number(report, "constraint_max", c.error_max);
    cal_facts_number(report, "constraint_rms", c.error_rms);
    cal_facts_number(report, "constraint_error", c.error);
    cal_facts_number(report, "constraint_speed", c.speed);
    cal_facts_line(report, "constraints", "%d row%s, %d independent; error at most %.2e, root mean square %.2e", c.rows,
                   c.rows == 1 ? "" : "s", c.rank, c.error_max, c.error_rms);
    cal_facts_integer(report, "constraints_waiting", c.waiting);
    cal_facts_integer(report, "constraints_caught", c.caught);
    if (c.caught > 0) cal_facts_number(report, "caught_time", c.caught_time);
    if (c.caught > 0) cal_facts_line(report, "caught", "%d, the last one at t = %.9g s", c.caught, c.caught_time);
    if (c.waiting > 0) cal_facts_line(report, "waiting", "%d for a gap that has not closed", c.waiting);
}

void cal_run_report_singular(cal_sim* sim, cal_facts* report) {
    cal_constraint_report c;
    if (!look(sim, &c)) return;
    double times[CAL_SINGULAR_SHOWN] = {0.0}, conditions[CAL_SINGULAR_SHOWN] = {0.0},
           energies[CAL_SINGULAR_SHOWN] = {0.0};
    const int shown = c.singular_count < CAL_SINGULAR_SHOWN ? c.singular_count : CAL_SINGULAR_SHOWN;
    int steps = 0;
    for (int i = 0; i < shown; i++) {
        times[i] = c.singular[i].time;
        conditions[i] = c.singular[i].condition;
        energies[i] = c.singular[i].energy;
        steps += c.singular[i].steps;
    }
    cal_facts_integer(report, "singular_positions", c.singular_count);
    cal_facts_integer(report, "singular_steps", steps);
    cal_facts_numbers(report, "singular_times", times, shown);
    cal_facts_numbers(report, "singular_conditions", conditions, shown);
    cal_facts_numbers(report, "singular_energies", energies, shown);
    if (shown == 0) return;
    cal_facts_line(report, "singular",
                   "%d position%s passed; the worst at t = %.6g s: condition %.2g, energy changed by %.2e J%s",
                   c.singular_count, c.singular_count == 1 ? "" : "s", times[0], conditions[0], energies[0],
                   steps > 0 ? "; the solver was helped over some" : "");
}
