// What `calder bench tree-machine` found: tables, JSON, plots.
#include "tree_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_options.h"
#include "plot.h"
#include "quantities.h"
#include "result.h"

static bool is_kind(const cal_tree_row* r, const char* kind) { return strcmp(r->kind, kind) == 0; }

// How large a row is, for those that look for a size.
static int size_of(const cal_tree_row* r) { return is_kind(r, "size") ? r->links : r->figures; }

// The smallest number of links, or of figures in one of the three ways, from which on several processors are faster than one; 0: none
// of those that were tried.
static int pays_from(const cal_tree_table* table, const char* kind) {
    int found = 0;
    for (int i = table->count - 1; i >= 0; i--) {
        const cal_tree_row* r = &table->rows[i];
        if (!r->here || !is_kind(r, kind) || r->measured <= 0) continue;
        if (r->measured <= 1) break; // from there on it must hold
        found = size_of(r);
    }
    return found;
}

// --- JSON -----------------------------------------------------------------------------------------------------------------

static void print_result(cal_json* json, const cal_tree_row* r) {
    const cal_tree_result* result = &r->result;
    if (r->measured > 0) {
        cal_json_number(json, "execute_s", r->execute);
        cal_json_number(json, "message_s", r->message);
        cal_json_number(json, "alone_s", result->alone);
        cal_json_number(json, "time_s", result->seconds);
        cal_json_number(json, "measured", r->measured);
        cal_json_number(json, "quiet", result->quiet);
    }
    cal_json_integer(json, "messages", result->messages);
    cal_json_integer(json, "predicted_messages", result->predicted);
    cal_json_integer(json, "numbers", result->numbers);
    cal_json_integer(json, "predicted_numbers", result->predicted_number);
    cal_json_boolean(json, "same_accelerations", result->same);
}

void cal_tree_print_json(const cal_tree_table* table) {
    static const char* const ways[] = {"size", "in phase", "out of phase", "whole"};
    static const char* const keys[] = {"pays_from_links", "pays_from_figures_in_phase",
                                       "pays_from_figures_out_of_phase", "pays_from_whole_figures"};
    cal_json json = cal_result_open("bench tree-machine");
    cal_json_text(&json, "machine", table->machine);
    cal_json_number(&json, "execute_s", table->costs.execute);
    cal_json_number(&json, "message_s", table->costs.message);
    if (table->costs.local > 0) cal_json_number(&json, "message_on_a_core_s", table->costs.local);
    for (size_t i = 0; i < CAL_ARRAY_COUNT(ways); i++) cal_json_integer(&json, keys[i], pays_from(table, ways[i]));
    cal_json_open(&json, "rows", '[');
    for (int i = 0; i < table->count; i++) {
        const cal_tree_row* r = &table->rows[i];
        cal_json_open(&json, NULL, '{');
        cal_json_text(&json, "experiment", r->kind);
        cal_json_text(&json, "processors_of", r->here ? "this machine" : "the paper's model");
        if (r->fanout > 0) cal_json_integer(&json, "fanout", r->fanout);
        if (r->height > 0) cal_json_integer(&json, "height", r->height);
        cal_json_integer(&json, "links", r->links);
        cal_json_integer(&json, "figures", r->figures);
        cal_json_integer(&json, "processes", r->processes);
        cal_json_integer(&json, "processors", r->processors);
        if (!r->here || r->measured > 0) cal_json_number(&json, "ratio", r->ratio);
        if (r->formula > 0) cal_json_number(&json, "formula", r->formula);
        if (r->modelled > 0) cal_json_number(&json, "modelled", r->modelled);
        if (r->paper > 0) cal_json_number(&json, "paper", r->paper);
        if (r->busy > 0) cal_json_number(&json, "busy", r->busy);
        if (r->here) print_result(&json, r);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

// --- Text -----------------------------------------------------------------------------------------------------------------

static void print_optional(double number) {
    if (number > 0)
        printf(" %9.2f", number);
    else
        printf(" %9s", "");
}

static const struct {
    const char *kind, *title;
} titles[] = {
    {"balanced", "balanced trees, a processor for each path (Figures 7 and 8)"},
    {"one link", "stick figure, one link per process (Figure 5, solid)"},
    {"several links", "stick figure, several links per process (Figure 5, dotted)"},
    {"size", "stick figure with links cut into pieces"},
    {"in phase", "figures in phase: a link of all of them at once"},
    {"out of phase", "figures out of phase: each on the next processors"},
    {"whole", "whole figures: a figure on one processor, no messages"},
};

static void print_heading(const cal_tree_row* r, const cal_tree_table* table) {
    for (size_t i = 0; i < CAL_ARRAY_COUNT(titles); i++)
        if (is_kind(r, titles[i].kind)) printf("\n%s, %s\n", titles[i].title, r->here ? "measured here" : "modelled");
    if (r->here)
        printf("%-18s %5s %9s %10s %9s %9s %9s %9s %9s %9s %10s\n", "", "links", "processes",
               strcmp(table->machine, "mpi") == 0 ? "ranks on" : "processors", "t_E", "t_C/t_E", "formula", "modelled",
               "measured", "quiet", "messages");
    else
        printf("%-18s %5s %10s %9s %9s %9s %9s %6s\n", "", "links", "processors", "t_C/t_E", "formula", "modelled",
               "paper", "busy");
}

static void print_row(const cal_tree_row* r) {
    char what[48], text[32];
    if (r->fanout > 0)
        snprintf(what, sizeof what, "fanout %d, height %d%s", r->fanout, r->height, r->figures > 1 ? "," : "");
    else
        snprintf(what, sizeof what, "%d figure%s", r->figures, r->figures == 1 ? "" : "s");
    if (r->fanout > 0 && r->figures > 1) snprintf(what, sizeof what, "%13d figures", r->figures);
    printf("%-18s %5d", what, r->links);
    if (!r->here) {
        printf(" %10d %9.3g", r->processors, r->ratio);
        print_optional(r->formula);
        print_optional(r->modelled);
        print_optional(r->paper);
        printf(" %4.0f %%\n", 100 * r->busy);
        return;
    }
    printf(" %9d %10d", r->processes, r->processors);
    if (r->measured > 0) {
        const char* time = cal_duration_text(r->execute, text, sizeof text);
        printf(" %*s %9.3g", strstr(time, "µ") ? 10 : 9, time, r->ratio);
    } else {
        printf(" %9s %9s", "", "");
    }
    print_optional(r->formula);
    print_optional(r->modelled);
    print_optional(r->measured);
    print_optional(r->result.quiet);
    printf(" %10lld%s\n", (long long)r->result.messages,
           r->result.messages != r->result.predicted ? "  not those of the plan"
           : !r->result.same                         ? "  other accelerations"
                                                     : "");
}

static void print_where_it_pays(const cal_tree_table* table) {
    static const char* const ways[] = {"size", "in phase", "out of phase", "whole"};
    static const char* const words[] = {"one figure of at least %d links", "%d figures in phase",
                                        "%d figures out of phase", "%d whole figures"};
    char text[2][32];
    printf("\nA link takes %s here and a message, all three passes together, %s: ",
           cal_duration_text(table->costs.execute, text[0], sizeof text[0]),
           cal_duration_text(table->costs.message, text[1], sizeof text[1]));
    printf("t_C/t_E = %.1f, the paper's was 0.7.\n", table->costs.message / table->costs.execute);
    printf("Several processors are faster than one for: ");
    for (size_t i = 0; i < CAL_ARRAY_COUNT(ways); i++) {
        const int from = pays_from(table, ways[i]);
        if (i > 0) printf("; ");
        if (from > 0)
            printf(words[i], from);
        else
            printf("%s: none of those tried", i == 0 ? "one figure" : ways[i]);
    }
    printf(".\nAll accelerations are those of one core to the bit, all messages those that the plans say.\n");
}

void cal_tree_print(const cal_tree_table* table) {
    printf("speed-ups of a tree machine; processes are %s of %s\n",
           strcmp(table->machine, "mpi") == 0 ? "ranks" : "threads", cal_host_text());
    const cal_tree_row* last = NULL;
    for (int i = 0; i < table->count; i++) {
        const cal_tree_row* r = &table->rows[i];
        // Rows of one kind together: first all of the model, then all of this machine.
        bool known = false;
        for (int k = 0; k < i; k++)
            known |= strcmp(table->rows[k].kind, r->kind) == 0 && table->rows[k].here == r->here;
        if (known) continue;
        for (int k = i; k < table->count; k++) {
            const cal_tree_row* own = &table->rows[k];
            if (!is_kind(own, r->kind) || own->here != r->here) continue;
            if (k == i) print_heading(own, table);
            print_row(own);
            last = own;
        }
    }
    if (last) print_where_it_pays(table);
}

// --- Plots ----------------------------------------------------------------------------------------------------------------

enum { MOST_SERIES = 16, MOST_POINTS = 64 };
typedef struct points {
    char name[32];
    double x[MOST_POINTS], y[MOST_POINTS];
    size_t count;
} points;
typedef struct picture {
    points sets[MOST_SERIES];
    cal_plot_series series[MOST_SERIES];
    int count;
} picture;

static points* add_series(picture* p, const char* name, int color, bool dashed) {
    points* set = &p->sets[p->count];
    snprintf(set->name, sizeof set->name, "%s", name);
    p->series[p->count++] = (cal_plot_series){set->name, set->x, set->y, 0, color, dashed, !dashed};
    return set;
}

static void add_point(points* set, double x, double y) {
    if (set->count == MOST_POINTS || !(y > 0)) return;
    set->x[set->count] = x;
    set->y[set->count++] = y;
}

// Figures 7 and 8: speed-ups over t_C / t_E, the formula's lines and what was measured where a tree has enough cores.
static void draw_balanced(const cal_tree_table* t, int fanout, picture* p) {
    for (int height = 2; height <= 7 - fanout; height++) {
        char name[32];
        snprintf(name, sizeof name, "height %d, formula", height);
        points* formula = add_series(p, name, height - 2, true);
        snprintf(name, sizeof name, "height %d, measured", height);
        points* measured = add_series(p, name, height - 2, false);
        for (int i = 0; i < t->count; i++) {
            const cal_tree_row* r = &t->rows[i];
            if (!is_kind(r, "balanced") || r->fanout != fanout || r->height != height) continue;
            if (r->here)
                add_point(measured, r->ratio, r->measured);
            else
                add_point(formula, r->ratio, r->formula);
        }
    }
}

// Figure 5: the time on so many processors, one after the other = 1.
static void draw_figure(const cal_tree_table* t, picture* p) {
    static const char* const kinds[] = {"one link", "several links"};
    for (int k = 0; k < 2; k++)
        for (int here = 0; here < 2; here++) {
            char name[32];
            snprintf(name, sizeof name, "%s, %s", kinds[k], here ? "here" : "modelled");
            points* set = add_series(p, name, k, !here);
            for (int i = 0; i < t->count; i++) {
                const cal_tree_row* r = &t->rows[i];
                if (is_kind(r, kinds[k]) && r->here == (here == 1))
                    add_point(set, r->processors, 1 / (here ? r->measured : r->modelled));
            }
        }
}

static void draw_kind(const cal_tree_table* t, const char* kind, int color, picture* p) {
    points* set = add_series(p, kind, color, false);
    for (int i = 0; i < t->count; i++)
        if (is_kind(&t->rows[i], kind) && t->rows[i].here)
            add_point(set, log2(size_of(&t->rows[i])), t->rows[i].measured);
}

int cal_tree_draw(const cal_tree_table* table, const char* path) {
    enum { PANELS = 5 };
    if (!path) return CAL_EXIT_DONE;
    picture* p = calloc(PANELS, sizeof *p);
    if (!p) return cal_complain(CAL_EXIT_FAILED, "no memory for a plot");
    draw_balanced(table, 2, &p[0]);
    draw_balanced(table, 3, &p[1]);
    draw_figure(table, &p[2]);
    draw_kind(table, "size", 0, &p[3]);
    draw_kind(table, "in phase", 0, &p[4]);
    draw_kind(table, "out of phase", 1, &p[4]);
    draw_kind(table, "whole", 2, &p[4]);
    static const char* const labels[PANELS][3] = {
        {"Balanced trees of fanout 2 (Figure 7)", "t_C / t_E", "speed-up"},
        {"Balanced trees of fanout 3 (Figure 8)", "t_C / t_E", "speed-up"},
        {"Stick figure of 12 links (Figure 5), one after the other = 1", "processors", "time"},
        {"Larger figures", "log₂ of links", "speed-up"},
        {"Several figures", "log₂ of figures", "speed-up"}};
    cal_plot_panel panels[PANELS];
    for (int i = 0; i < PANELS; i++) {
        for (int k = 0; k < p[i].count; k++) p[i].series[k].count = p[i].sets[k].count;
        panels[i] = (cal_plot_panel){labels[i][0], labels[i][1], labels[i][2], i == 2, p[i].series, p[i].count};
    }
    const int status = cal_plot_save(path, panels, PANELS);
    free(p);
    return status;
}
