// Results of benchmarks as tables and figures. A result is known by what its rows have; one that nobody knows becomes a
// plain table, so that a new benchmark is in the report before anybody writes a section for it.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

#ifdef CALDER_HAVE_JANSSON
#include "report.h"

enum { MOST_POINTS = 64, MOST_SERIES = 12, MOST_COLUMNS = 24, MOST_NAMES = 16 };

// Text with what HTML would misread replaced.
static void write_text(FILE* file, const char* text) {
    for (; *text; text++) switch (*text) {
        case '&': fputs("&amp;", file); break;
        case '<': fputs("&lt;", file); break;
        case '>': fputs("&gt;", file); break;
        case '"': fputs("&quot;", file); break;
        default: fputc(*text, file);
        }
}

static double number_of(const json_t* object, const char* key) {
    const json_t* value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char* text_of(const json_t* object, const char* key) {
    const char* text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void write_number(FILE* file, double value) {
    if (isnan(value))
        fputs("–", file);
    else if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e6))
        fprintf(file, "%.3g", value);
    else
        fprintf(file, "%.4g", value);
}

static void write_cell(FILE* file, double value) {
    fputs("<td>", file);
    write_number(file, value);
    fputs("</td>", file);
}

static void write_heading(FILE* file, const char* title, const json_t* result, const char* origin, const char* about) {
    const char* processor = text_of(result, "processor");
    fputs("<h2>", file);
    write_text(file, title);
    fputs("</h2>\n<p>", file);
    fputs(about, file);
    fputs(about[0] ? "<br>" : "", file);
    write_text(file, origin);
    if (processor[0]) {
        fputs("; ", file);
        write_text(file, processor);
        if (text_of(result, "compiler")[0]) {
            fputs(", ", file);
            write_text(file, text_of(result, "compiler"));
        }
    }
    fputs("</p>\n", file);
}

// Names in the order in which they first occur among the rows.
static int gather_names(const json_t* rows, const char* key, const char* names[MOST_NAMES]) {
    size_t index;
    const json_t* row;
    int count = 0;
    json_array_foreach(rows, index, row) {
        const char* name = text_of(row, key);
        bool known = false;
        for (int i = 0; i < count; i++) known = known || strcmp(names[i], name) == 0;
        if (!known && count < MOST_NAMES) names[count++] = name;
    }
    return count;
}

// --- Forward dynamics -----------------------------------------------------------------------------------------------------

// "1024 × humanoid" for a batch.
static const char* label_of(const json_t* row, char label[96]) {
    const double batch = number_of(row, "batch");
    if (batch > 1)
        snprintf(label, 96, "%.0f × %.64s", batch, text_of(row, "model"));
    else
        snprintf(label, 96, "%.80s", text_of(row, "model"));
    return label;
}

static double time_of(const json_t* rows, const char* engine, const char* label) {
    size_t index;
    const json_t* row;
    char own[96];
    json_array_foreach(rows, index, row) {
        if (strcmp(text_of(row, "engine"), engine) == 0 && strcmp(label_of(row, own), label) == 0)
            return number_of(row, "ns_per_joint");
    }
    return NAN;
}

static int gather_labels(const json_t* rows, char labels[MOST_NAMES][96]) {
    size_t index;
    const json_t* row;
    int count = 0;
    json_array_foreach(rows, index, row) {
        char label[96];
        bool known = false;
        label_of(row, label);
        for (int i = 0; i < count; i++) known = known || strcmp(labels[i], label) == 0;
        if (!known && count < MOST_NAMES) memcpy(labels[count++], label, sizeof label);
    }
    return count;
}

static void write_forward(FILE* file, const json_t* result, const char* origin) {
    static char labels[MOST_NAMES][96];
    const json_t* rows = json_object_get(result, "rows");
    const char* engines[MOST_NAMES];
    const int engine_count = gather_names(rows, "engine", engines), label_count = gather_labels(rows, labels);
    write_heading(file, "Forward dynamics", result, origin, "Nanoseconds per joint, medians over random states.");
    fputs("<div class=\"wide\"><table><tr><th>model</th>", file);
    for (int e = 0; e < engine_count; e++) {
        fputs("<th>", file);
        write_text(file, engines[e]);
        fputs("</th>", file);
    }
    fputs(engine_count > 1 ? "<th>best of the others / ours</th></tr>\n" : "</tr>\n", file);
    for (int m = 0; m < label_count; m++) {
        double best = NAN;
        fputs("<tr><td>", file);
        write_text(file, labels[m]);
        fputs("</td>", file);
        for (int e = 0; e < engine_count; e++) {
            const double value = time_of(rows, engines[e], labels[m]);
            if (e > 0 && !isnan(value) && !(value > best)) best = value;
            write_cell(file, value);
        }
        if (engine_count > 1) write_cell(file, best / time_of(rows, engines[0], labels[m]));
        fputs("</tr>\n", file);
    }
    fputs("</table></div>\n", file);
}

// --- Solvers ----------------------------------------------------------------------------------------------------------------

// Ours over the paper's, so that a reader sees at a glance where they differ.
static void write_solver_cell(FILE* file, const json_t* cell) {
    const double ours = number_of(cell, "evaluations_per_second"), paper = number_of(cell, "paper"),
                 reference = number_of(cell, "reference");
    const bool unstable = json_is_false(json_object_get(cell, "stable"));
    fputs("<td>", file);
    if (unstable)
        fputs("<span class=\"bad\">unstable</span>", file);
    else
        write_number(file, ours);
    fputs("<small>paper ", file);
    write_number(file, paper);
    if (reference > 0) {
        fputs("<br>reference ", file);
        write_number(file, reference);
    }
    fputs("</small></td>", file);
}

static void write_figure(FILE* file, const cal_plot_panel* panel) {
    if (panel->series_count > 0) cal_plot_write(file, panel, 1);
}

// Ours drawn, the paper's dashed, over the cases of a session.
static void draw_session(FILE* file, const json_t* rows, const char* session, const char* const* solvers, int count) {
    static double x[MOST_SERIES][MOST_POINTS], y[MOST_SERIES][MOST_POINTS];
    cal_plot_series series[MOST_SERIES];
    int used = 0;
    for (int i = 0; i < count && used + 2 <= MOST_SERIES; i++)
        for (int kind = 0; kind < 2; kind++, used++) {
            size_t index, points = 0;
            const json_t* row;
            json_array_foreach(rows, index, row) {
                if (strcmp(text_of(row, "session"), session) != 0 || points == MOST_POINTS) continue;
                const json_t* cell = json_object_get(json_object_get(row, "solvers"), solvers[i]);
                x[used][points] = strtod(text_of(row, "case"), NULL);
                y[used][points++] = number_of(cell, kind ? "paper" : "evaluations_per_second");
            }
            series[used] = (cal_plot_series){.name = kind ? "paper" : solvers[i],
                                             .x = x[used],
                                             .y = y[used],
                                             .count = points,
                                             .color = i % 6,
                                             .dashed = kind == 1,
                                             .marked = true};
        }
    const cal_plot_panel panel = {"Evaluations per simulated second; the paper's are dashed",
                                  "case",
                                  "evaluations per second",
                                  true,
                                  series,
                                  used};
    write_figure(file, &panel);
}

static void write_solvers(FILE* file, const json_t* result, const char* origin) {
    const json_t* rows = json_object_get(result, "rows");
    const char* sessions[MOST_NAMES];
    const char* solvers[MOST_NAMES];
    const int session_count = gather_names(rows, "session", sessions);
    int solver_count = 0;
    const char* name;
    json_t* cell;
    json_object_foreach(json_object_get(json_array_get(rows, 0), "solvers"), name, cell) {
        if (solver_count < MOST_NAMES) solvers[solver_count++] = name;
    }
    write_heading(file, "Solvers", result, origin,
                  "Evaluations per simulated second that each solver needs for a motion without visible error, beside "
                  "Jung's tables IV to VII.");
    for (int s = 0; s < session_count; s++) {
        size_t index;
        const json_t* row;
        fprintf(file, "<h3>Session %.8s</h3>\n<div class=\"wide\"><table><tr><th>case</th>", sessions[s]);
        for (int i = 0; i < solver_count; i++) fprintf(file, "<th>%.16s</th>", solvers[i]);
        fputs("</tr>\n", file);
        json_array_foreach(rows, index, row) {
            if (strcmp(text_of(row, "session"), sessions[s]) != 0) continue;
            fputs("<tr><td>", file);
            write_text(file, text_of(row, "case"));
            fputs("<small>", file);
            write_text(file, text_of(row, "model"));
            fputs("</small></td>", file);
            for (int i = 0; i < solver_count; i++)
                write_solver_cell(file, json_object_get(json_object_get(row, "solvers"), solvers[i]));
            fputs("</tr>\n", file);
        }
        fputs("</table></div>\n", file);
        draw_session(file, rows, sessions[s], solvers, solver_count);
    }
}

// --- Processors -------------------------------------------------------------------------------------------------------------

static void write_scale(FILE* file, const json_t* result, const char* origin) {
    static double x[MOST_POINTS], y[3][MOST_POINTS];
    const json_t* rows = json_object_get(result, "rows");
    const char* const kinds[] = {"forward", "simulation"};
    size_t index, points = 0;
    const json_t* row;
    char title[160];
    snprintf(title, sizeof title, "%s processors: %s, %s",
             json_is_true(json_object_get(result, "weak")) ? "More work for more" : "More", text_of(result, "machine"),
             text_of(result, "model"));
    char* grows = strstr(title, "%d"); // of a mobile that grows with the processors
    if (grows) memcpy(grows, "N", 1), memmove(grows + 1, grows + 2, strlen(grows + 2) + 1);
    write_heading(file, title, result, origin,
                  "Time per evaluation, measured beside predicted; speed-up over one processor.");
    fputs("<div class=\"wide\"><table><tr><th>processors</th>", file);
    for (int k = 0; k < 2; k++) fprintf(file, "<th>%s, µs</th><th>predicted</th><th>speed-up</th>", kinds[k]);
    fputs("<th>same state</th></tr>\n", file);
    json_array_foreach(rows, index, row) {
        fputs("<tr>", file);
        write_cell(file, number_of(row, "processors"));
        for (int k = 0; k < 2; k++) {
            const json_t* part = json_object_get(row, kinds[k]);
            write_cell(file, 1e6 * number_of(part, "time_s"));
            write_cell(file, 1e6 * number_of(part, "predicted_s"));
            write_cell(file, number_of(part, "speedup"));
            if (points < MOST_POINTS) y[k][points] = number_of(part, "speedup");
        }
        const bool same = json_is_true(json_object_get(row, "same_state"));
        fprintf(file, "<td class=\"%s\">%s</td></tr>\n", same ? "good" : "bad", same ? "yes" : "no");
        if (points < MOST_POINTS) x[points] = y[2][points] = number_of(row, "processors"), points++;
    }
    fputs("</table></div>\n", file);
    const cal_plot_series series[] = {
        {.name = "forward", .x = x, .y = y[0], .count = points, .color = 0, .marked = true},
        {.name = "simulation", .x = x, .y = y[1], .count = points, .color = 1, .marked = true},
        {.name = "ideal", .x = x, .y = y[2], .count = points, .color = 2, .dashed = true}};
    const cal_plot_panel panel = {"Speed-up", "processors", "speed-up", false, series, points > 1 ? 3 : 0};
    write_figure(file, &panel);
}

// --- Anything else -----------------------------------------------------------------------------------------------------------

// Columns of nested objects are called outer.inner.
static const json_t* find_value(const json_t* row, const char* column) {
    const char* point = strchr(column, '.');
    if (!point) return json_object_get(row, column);
    char outer[64];
    snprintf(outer, sizeof outer, "%.*s", (int)(point - column), column);
    return json_object_get(json_object_get(row, outer), point + 1);
}

static int gather_columns(const json_t* rows, char columns[MOST_COLUMNS][64]) {
    int count = 0;
    size_t index;
    const json_t* row;
    json_array_foreach(rows, index, row) {
        const char *key, *inner;
        json_t *value, *part;
        json_object_foreach((json_t*)row, key, value) {
            char name[64];
            snprintf(name, sizeof name, "%.60s", key);
            bool nested = json_is_object(value), known = false;
            if (nested) {
                json_object_foreach(value, inner, part) {
                    snprintf(name, sizeof name, "%.30s.%.30s", key, inner);
                    known = false;
                    for (int i = 0; i < count; i++) known = known || strcmp(columns[i], name) == 0;
                    if (!known && count < MOST_COLUMNS && !json_is_object(part) && !json_is_array(part))
                        memcpy(columns[count++], name, sizeof name);
                }
                continue;
            }
            for (int i = 0; i < count; i++) known = known || strcmp(columns[i], name) == 0;
            if (!known && count < MOST_COLUMNS && !json_is_array(value)) memcpy(columns[count++], name, sizeof name);
        }
    }
    return count;
}

static void write_value(FILE* file, const json_t* value) {
    fputs("<td>", file);
    if (json_is_number(value))
        write_number(file, json_number_value(value));
    else if (json_is_string(value))
        write_text(file, json_string_value(value));
    else
        fputs(json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "–", file);
    fputs("</td>", file);
}

static void write_rows(FILE* file, const json_t* rows) {
    static char columns[MOST_COLUMNS][64];
    size_t index;
    const json_t* row;
    const int count = gather_columns(rows, columns);
    fputs("<div class=\"wide\"><table><tr>", file);
    for (int i = 0; i < count; i++) {
        fputs("<th>", file);
        for (char* p = columns[i]; *p; p++) fputc(*p == '_' ? ' ' : *p, file);
        fputs("</th>", file);
    }
    fputs("</tr>\n", file);
    json_array_foreach(rows, index, row) {
        fputs("<tr>", file);
        for (int i = 0; i < count; i++) write_value(file, find_value(row, columns[i]));
        fputs("</tr>\n", file);
    }
    fputs("</table></div>\n", file);
}

static void write_plain(FILE* file, const json_t* result, const char* title, const char* origin, const char* about) {
    write_heading(file, title, result, origin, about);
    write_rows(file, json_object_get(result, "rows"));
}

// What a result is of: what its command says, or, of one that was kept without, what only it has.
static const char* title_of(const json_t* result) {
    static const struct {
        const char *command, *key, *title;
    } titles[] = {
        {"bench assembly", "two_open_ratio", "Assembly and disassembly of chains (Yamane, Nakamura)"},
        {"bench rps", "sensitivity", "Randomized parallel simulation (Bicchi)"},
        {"bench world", "figure6", "Timewarp rigid bodies (Mirtich)"},
        {"bench distribution", "passes", "Distribution over processors (Jung)"},
    };
    const json_t* first = json_array_get(json_object_get(result, "rows"), 0); // of a file of lines
    const char* command = text_of(result, "command");
    if (!command[0] && first) command = text_of(first, "command");
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(command, titles[i].command) == 0 || (!command[0] && json_object_get(result, titles[i].key)))
            return titles[i].title;
    return command[0] ? command : text_of(result, "model")[0] ? text_of(result, "model") : "Results";
}

// A result without a page of its own: what is one value, and below it a table for each list.
static void write_other(FILE* file, const json_t* result, const char* origin) {
    const char* key;
    json_t* value;
    json_t* alone = json_pack("{s:[O]}", "rows", result);
    write_heading(file, title_of(result), result, origin, "");
    if (alone && !json_object_get(result, "rows")) write_rows(file, json_object_get(alone, "rows"));
    json_object_foreach((json_t*)result, key, value) {
        if (!json_is_object(json_array_get(value, 0))) continue;
        fputs(strcmp(key, "rows") == 0 ? "<h3 hidden>" : "<h3>", file);
        for (const char* p = key; *p; p++) fputc(*p == '_' ? ' ' : *p, file);
        fputs("</h3>\n", file);
        write_rows(file, value);
    }
    json_decref(alone);
}

// Speed-ups over the ratio of times, the formula's dashed, for each fanout of balanced trees of one height.
static void draw_trees(FILE* file, const json_t* rows) {
    static double x[MOST_SERIES][MOST_POINTS], y[MOST_SERIES][MOST_POINTS];
    static char names[MOST_SERIES][32];
    cal_plot_series series[MOST_SERIES];
    int used = 0;
    size_t index, other;
    const json_t *first, *row;
    json_array_foreach(rows, index, first) {
        const double fanout = number_of(first, "fanout"), height = number_of(first, "height");
        char name[32];
        bool known = false;
        if (isnan(fanout) || used + 2 > MOST_SERIES) continue;
        snprintf(name, sizeof name, "%.0f children, height %.0f", fanout, height);
        for (int i = 0; i < used; i++) known = known || strcmp(names[i], name) == 0;
        if (known) continue;
        for (int kind = 0; kind < 2; kind++, used++) {
            size_t points = 0;
            snprintf(names[used], sizeof names[used], "%s", kind ? "formula" : name);
            json_array_foreach(rows, other, row) {
                if (number_of(row, "fanout") != fanout || number_of(row, "height") != height || points == MOST_POINTS)
                    continue;
                x[used][points] = number_of(row, "ratio");
                y[used][points++] = number_of(row, kind ? "formula" : "measured");
            }
            series[used] = (cal_plot_series){.name = names[used],
                                             .x = x[used],
                                             .y = y[used],
                                             .count = points,
                                             .color = used / 2 % 6,
                                             .dashed = kind == 1,
                                             .marked = kind == 0};
        }
    }
    const cal_plot_panel panel = {"Speed-up of balanced trees: measured, and the paper's formula (dashed)",
                                  "t_C / t_E",
                                  "speed-up",
                                  false,
                                  series,
                                  used};
    write_figure(file, &panel);
}

void cal_report_section(FILE* file, const json_t* result, const char* origin) {
    const json_t* rows = json_object_get(result, "rows");
    const json_t* first = json_array_get(rows, 0);
    if (json_object_get(first, "ns_per_joint") && json_object_get(first, "engine")) {
        write_forward(file, result, origin);
    } else if (json_object_get(first, "solvers") && json_object_get(first, "session")) {
        write_solvers(file, result, origin);
    } else if (json_object_get(first, "forward") && json_object_get(first, "processors")) {
        write_scale(file, result, origin);
    } else if (json_object_get(first, "experiment")) {
        write_plain(file, result, "The tree machine", origin,
                    "Armstrong's experiments: speed-ups modelled in virtual time with the paper's ratios of times, and "
                    "measured "
                    "with his passes over real figures, beside his formula and numbers.");
        draw_trees(file, rows);
    } else {
        write_other(file, result, origin);
    }
}
#endif
