// `calder bench tree-machine`: Armstrong's experiments on a tree of processors, beside the paper's numbers.
//
//   balanced trees (Figures 7 and 8)   a processor for each path to a leaf; speed-up
//                                      (f^h − 1) / ((f − 1) (1 + (h − 1) (1 + (f − 1) t_C / t_E)))
//   stick figure (Figure 5)            one link per process, the processes of a path on one processor; or several links per
//                                      process, a processor each. All assignments of paths or limbs are tried; the best counts
//   several figures (section 6)        in phase: k times the work for the same messages; out of phase: pipelined
//
// As in the paper's section 6, a pass goes outbound, and the inbound one mirrors it.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "joint_tree.h"
#include "plot.h"
#include "progress.h"
#include "quantities.h"
#include "result.h"
#include "timing.h"
#include "tree_schedule.h"

enum { LINKS = 12, MOST_ROWS = 64, MOST_LIMBS = 8, REPETITIONS = 3, CYCLES = 25, FIGURE_PROCESSORS = 5 };
static const double PAPER_RATIO = 0.7; // t_C / t_E of one figure

static const struct {
    const char* experiment;
    int figures, processors;
    double seconds, speedup; // 0: not given
} paper[] = {
#include "tables/armstrong.inc"
};

typedef struct tree_row {
    const char* kind; // "balanced", "one link", "several links", "in phase", "out of phase"
    int fanout, height, figures, processors;
    double ratio;                              // t_C / t_E
    double formula, modelled, measured, paper; // speed-ups; 0: none
    double busy;                               // share of the processors' time, modelled
    double measured_busy;
} tree_row;

typedef struct tree_bench {
    double execute; // t_E, s
    bool json;
    const char* plot;
    tree_row rows[MOST_ROWS];
    int count;
    cal_tree_schedule schedule;
    int32_t parent[LINKS]; // of the stick figure's links; parents first
    int32_t limb[LINKS];   // a run of links without a fork
    int32_t path[LINKS];   // to a leaf
    int limb_count, path_count;
} tree_bench;

static double paper_seconds(const char* experiment, int processors) {
    for (size_t i = 0; i < CAL_ARRAY_COUNT(paper); i++)
        if (strcmp(paper[i].experiment, experiment) == 0 && paper[i].processors == processors) return paper[i].seconds;
    return 0;
}

// A speed-up that the paper has, or that follows from its seconds; 0: none.
static double paper_speedup(const char* experiment, int figures, int processors) {
    for (size_t i = 0; i < CAL_ARRAY_COUNT(paper); i++) {
        if (strcmp(paper[i].experiment, experiment) != 0 || paper[i].figures != figures ||
            paper[i].processors != processors)
            continue;
        return paper[i].speedup > 0 ? paper[i].speedup : paper_seconds("sequential", 1) / paper[i].seconds;
    }
    return 0;
}

// A message between processes of one processor, in t_E: eleven of them, beside the twelve links one after the other.
static double local_ratio(void) {
    return paper_seconds("messages", 1) / paper_seconds("sequential", 1) * LINKS / (LINKS - 1.0);
}

static int fail(void) { return cal_complain(CAL_EXIT_FAILED, "no memory or no threads for a tree machine"); }

// Runs the schedule of a row, whose links would take `sequential` seconds one after the other.
static int run_row(tree_bench* b, tree_row row, const cal_tree_times* times, double sequential) {
    double samples[REPETITIONS];
    const double modelled = cal_tree_model(&b->schedule, times, &row.busy);
    for (int i = 0; i < REPETITIONS; i++) {
        samples[i] = cal_tree_measure(&b->schedule, times);
        if (samples[i] < 0) return fail();
    }
    if (modelled < 0 || b->count == MOST_ROWS) return fail();
    row.processors = b->schedule.processors;
    row.modelled = sequential / modelled;
    row.measured = sequential / cal_median(samples, REPETITIONS);
    row.measured_busy = row.measured / row.processors;
    b->rows[b->count++] = row;
    return CAL_EXIT_DONE;
}

// --- Balanced trees -----------------------------------------------------------------------------------------------------

// Links in the order of generations; the first child stays on its parent's processor.
static int plan_balanced(tree_bench* b, int fanout, int height) {
    int links = 1, generation = 1;
    for (int h = 1; h < height; h++) links += generation *= fanout;
    int* processors = calloc((size_t)links, sizeof *processors);
    if (!processors) return 0;
    cal_tree_clear(&b->schedule);
    int used = 1;
    for (int link = 0; link < links; link++) {
        if (link > 0) processors[link] = (link - 1) % fanout == 0 ? processors[(link - 1) / fanout] : used++;
        cal_tree_add_task(&b->schedule, processors[link], 1);
        if (fanout * link + 1 >= links) continue;
        for (int k = fanout; k >= 1; k--) cal_tree_add_message(&b->schedule, fanout * link + k, false);
    }
    free(processors);
    return links;
}

static int bench_balanced(tree_bench* b, int fanout, int height, double ratio) {
    const int links = plan_balanced(b, fanout, height);
    if (links == 0) return fail();
    const cal_tree_times times = {b->execute, ratio * b->execute, 0};
    const double formula = links / (1 + (height - 1) * (1 + (fanout - 1) * ratio));
    return run_row(
        b,
        (tree_row){
            .kind = "balanced", .fanout = fanout, .height = height, .figures = 1, .ratio = ratio, .formula = formula},
        &times, links * b->execute);
}

// --- The stick figure -----------------------------------------------------------------------------------------------------

static int height_of(const tree_bench* b, int link) {
    int height = 1;
    for (int i = link + 1; i < LINKS; i++)
        if (b->parent[i] == link && 1 + height_of(b, i) > height) height = 1 + height_of(b, i);
    return height;
}

// Links in the order of generations, so that parents and what is started first come first.
static int read_stickman(tree_bench* b) {
    cal_model* model = NULL;
    cal_joint_tree tree = {0};
    int status = cal_model_from_argument("stickman", &model);
    if (status != CAL_EXIT_DONE) return status;
    if (!cal_joint_tree_create(model, &tree) || tree.count != LINKS) {
        status = fail();
    } else {
        int32_t order[LINKS] = {0}, place[LINKS] = {0};
        int written = 0;
        for (int joint = tree.first_child[0]; joint >= 0; joint = tree.next_sibling[joint]) order[written++] = joint;
        for (int i = 0; i < written && written < LINKS; i++)
            for (int c = tree.first_child[order[i] + 1]; c >= 0; c = tree.next_sibling[c]) order[written++] = c;
        for (int i = 0; i < LINKS; i++) place[order[i]] = i;
        for (int i = 0; i < LINKS; i++) b->parent[i] = tree.parent[order[i]] < 0 ? -1 : place[tree.parent[order[i]]];
        for (int i = 0; i < LINKS; i++) {
            const int parent = b->parent[i];
            int siblings = 0, tallest = i;
            for (int k = 0; k < LINKS; k++)
                if (b->parent[k] == parent) {
                    siblings++;
                    if (height_of(b, k) > height_of(b, tallest) ||
                        (height_of(b, k) == height_of(b, tallest) && k < tallest))
                        tallest = k;
                }
            b->limb[i] = parent >= 0 && siblings == 1 ? b->limb[parent] : b->limb_count++;
            b->path[i] = parent >= 0 && tallest == i ? b->path[parent] : b->path_count++;
        }
    }
    cal_joint_tree_destroy(&tree);
    cal_model_destroy(model);
    return status;
}

// Messages of a link: to other processors first, then on its own path.
static void send_from(tree_bench* b, int link, int first_task, const int* processors) {
    for (int local = 0; local < 2; local++)
        for (int child = link + 1; child < LINKS; child++)
            if (b->parent[child] == link && (processors[child] == processors[link]) == (local == 1))
                cal_tree_add_message(&b->schedule, first_task + child, false);
}

// Every link a process; all processes of a path on one processor.
static void plan_one_link(tree_bench* b, const int* processor_of_path) {
    int processors[LINKS];
    for (int i = 0; i < LINKS; i++) processors[i] = processor_of_path[b->path[i]];
    cal_tree_clear(&b->schedule);
    for (int i = 0; i < LINKS; i++) {
        cal_tree_add_task(&b->schedule, processors[i], 1);
        send_from(b, i, 0, processors);
    }
}

// Limbs share processes, and each process has a processor. False when two processes wait for each other.
static bool plan_several_links(tree_bench* b, const int* process_of_limb, int processes) {
    int links[MOST_LIMBS] = {0}, task[MOST_LIMBS], waits[MOST_LIMBS] = {0}, order[MOST_LIMBS], ordered = 0;
    bool sends[MOST_LIMBS][MOST_LIMBS] = {{false}};
    for (int i = 0; i < LINKS; i++) {
        const int own = process_of_limb[b->limb[i]],
                  from = b->parent[i] < 0 ? own : process_of_limb[b->limb[b->parent[i]]];
        links[own]++;
        if (from == own || sends[from][own]) continue;
        sends[from][own] = true;
        waits[own]++;
    }
    for (int p = 0; p < processes; p++)
        if (waits[p] == 0) order[ordered++] = p;
    for (int i = 0; i < ordered; i++)
        for (int p = 0; p < processes; p++)
            if (sends[order[i]][p] && --waits[p] == 0) order[ordered++] = p;
    if (ordered < processes) return false;
    for (int i = 0; i < ordered; i++) task[order[i]] = i;
    cal_tree_clear(&b->schedule);
    for (int i = 0; i < ordered; i++) {
        cal_tree_add_task(&b->schedule, order[i], links[order[i]]);
        for (int size = LINKS; size > 0; size--) // those with the most to do first
            for (int p = 0; p < processes; p++)
                if (sends[order[i]][p] && links[p] == size) cal_tree_add_message(&b->schedule, task[p], false);
    }
    return true;
}

static bool plan_choice(tree_bench* b, bool several, const int* choice, int processors) {
    if (several) return plan_several_links(b, choice, processors);
    plan_one_link(b, choice);
    return true;
}

// Tries all ways to give the paths or limbs to so many processors, the first to the first, and leaves the best planned.
static void plan_best(tree_bench* b, bool several, int processors, const cal_tree_times* times) {
    int choice[MOST_LIMBS] = {0}, best[MOST_LIMBS] = {0};
    const int parts = several ? b->limb_count : b->path_count;
    double shortest = INFINITY;
    for (bool more = true; more;) {
        bool used[MOST_LIMBS] = {false};
        int count = 0;
        for (int i = 0; i < parts; i++) {
            count += !used[choice[i]];
            used[choice[i]] = true;
        }
        if (count == processors && plan_choice(b, several, choice, processors)) {
            const double seconds = cal_tree_model(&b->schedule, times, NULL);
            if (seconds < shortest * (1 - 1e-9)) {
                shortest = seconds;
                memcpy(best, choice, sizeof best);
            }
        }
        int digit = parts - 1;
        while (digit > 0 && ++choice[digit] == processors) choice[digit--] = 0;
        more = digit > 0;
    }
    plan_choice(b, several, best, processors);
}

static int bench_figure(tree_bench* b, bool several, int processors) {
    const cal_tree_times times = {b->execute, PAPER_RATIO * b->execute, local_ratio() * b->execute};
    plan_best(b, several, processors, &times);
    tree_row row = {.kind = several ? "several links" : "one link", .figures = 1, .ratio = PAPER_RATIO};
    row.paper = paper_speedup(row.kind, 1, processors);
    return run_row(b, row, &times, LINKS * b->execute);
}

// --- Several figures ----------------------------------------------------------------------------------------------------

// k figures in phase: each link is executed k times, and a message carries the numbers of all.
static int bench_in_phase(tree_bench* b, int figures) {
    const cal_tree_times times = {figures * b->execute, PAPER_RATIO * b->execute, 0};
    plan_best(b, false, FIGURE_PROCESSORS, &times);
    const tree_row row = {.kind = "in phase",
                          .figures = figures,
                          .ratio = PAPER_RATIO,
                          .formula = 3 / (1 + PAPER_RATIO / figures),
                          .paper = paper_speedup("in phase", figures, FIGURE_PROCESSORS)};
    return run_row(b, row, &times, figures * LINKS * b->execute);
}

// Figures out of phase: while one executes generation 1 and then 2, another one executes 3 and then 4:
//
//     slot        1   2   3   4          links of a generation: 1, 4, 5, 2
//     figure a    1   4   5   2          every slot has 6 links for two figures: six processors are always busy
//     figure b    5   2   1   4
//
// Generations 1 and 3 are dealt out to the processors together, and so are 2 and 4.
static int bench_out_of_phase(tree_bench* b, int figures, double ratio) {
    enum { GENERATIONS = 4, MOST_FIGURES = 4 };
    const int processors = 3 * figures;
    int generation[LINKS] = {0}, processor_of_link[LINKS] = {0}, dealt = 0;
    static const int dealing[GENERATIONS] = {0, 2, 1, 3};
    for (int i = 0; i < LINKS; i++) generation[i] = b->parent[i] < 0 ? 0 : 1 + generation[b->parent[i]];
    for (int g = 0; g < GENERATIONS; g++)
        for (int i = 0; i < LINKS; i++)
            if (generation[i] == dealing[g]) processor_of_link[i] = dealt++ % processors;
    // Tasks must come in the order of slots, but a cycle's numbers are known before: links of a cycle are in generations.
    int first_task[MOST_FIGURES][CYCLES][LINKS] = {{{0}}}, next = 0;
    for (int pass = 0; pass < 2; pass++) {
        cal_tree_clear(&b->schedule);
        next = 0;
        for (int slot = 0; slot < GENERATIONS * (CYCLES + 1); slot++)
            for (int figure = 0; figure < figures; figure++) {
                const int own = slot - figure * GENERATIONS / figures, cycle = own / GENERATIONS;
                if (own < 0 || cycle >= CYCLES) continue;
                for (int i = 0; i < LINKS; i++) {
                    if (generation[i] != own % GENERATIONS) continue;
                    first_task[figure][cycle][i] = next++;
                    cal_tree_add_task(&b->schedule, processor_of_link[i], 1);
                    if (pass == 0) continue;
                    bool leaf = true;
                    for (int child = i + 1; child < LINKS; child++) {
                        if (b->parent[child] != i) continue;
                        leaf = false;
                        cal_tree_add_message(&b->schedule, first_task[figure][cycle][child], false);
                    }
                    if (leaf && cycle + 1 < CYCLES)
                        cal_tree_add_message(&b->schedule, first_task[figure][cycle + 1][0], true);
                }
            }
    }
    const cal_tree_times times = {b->execute, ratio * b->execute, 0};
    return run_row(b, (tree_row){.kind = "out of phase", .figures = figures, .ratio = ratio}, &times,
                   figures * CYCLES * LINKS * b->execute);
}

// --- All of it ------------------------------------------------------------------------------------------------------------

static int bench_all(tree_bench* b) {
    static const double ratios[] = {0, 0.25, 0.5, 1};
    int status = read_stickman(b);
    cal_progress progress = cal_progress_start("timing");
    for (int fanout = 2; fanout <= 3; fanout++)
        for (int height = 2; height <= 7 - fanout; height++)
            for (size_t i = 0; i < CAL_ARRAY_COUNT(ratios) && status == CAL_EXIT_DONE; i++) {
                status = bench_balanced(b, fanout, height, ratios[i]);
                cal_progress_show(&progress, b->count / 48.0);
            }
    for (int several = 0; several < 2; several++)
        for (int p = 1; p <= FIGURE_PROCESSORS && status == CAL_EXIT_DONE; p++) status = bench_figure(b, several, p);
    for (int figures = 1; figures <= 4 && status == CAL_EXIT_DONE; figures *= 2) status = bench_in_phase(b, figures);
    static const double few[] = {0, 0.175, 0.7};
    for (int figures = 2; figures <= 4; figures += 2)
        for (size_t i = 0; i < CAL_ARRAY_COUNT(few) && status == CAL_EXIT_DONE; i++) {
            status = bench_out_of_phase(b, figures, few[i]);
            cal_progress_show(&progress, b->count / 48.0);
        }
    cal_progress_end(&progress);
    return status;
}

static bool is_kind(const tree_row* r, const char* kind) { return strcmp(r->kind, kind) == 0; }

static void print_json(const tree_bench* b) {
    cal_json json = cal_result_open("bench tree-machine");
    cal_json_number(&json, "execute_s", b->execute);
    cal_json_open(&json, "rows", '[');
    for (int i = 0; i < b->count; i++) {
        const tree_row* r = &b->rows[i];
        cal_json_open(&json, NULL, '{');
        cal_json_text(&json, "experiment", r->kind);
        if (r->fanout > 0) cal_json_integer(&json, "fanout", r->fanout);
        if (r->height > 0) cal_json_integer(&json, "height", r->height);
        cal_json_integer(&json, "figures", r->figures);
        cal_json_integer(&json, "processors", r->processors);
        cal_json_number(&json, "ratio", r->ratio);
        cal_json_number(&json, "modelled", r->modelled);
        cal_json_number(&json, "measured", r->measured);
        if (r->formula > 0) cal_json_number(&json, "formula", r->formula);
        if (r->paper > 0) cal_json_number(&json, "paper", r->paper);
        cal_json_number(&json, "busy", r->busy);
        cal_json_number(&json, "measured_busy", r->measured_busy);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

static void print_optional(double number) {
    if (number > 0)
        printf(" %9.2f", number);
    else
        printf(" %9s", "");
}

static void print_table(const tree_bench* b) {
    char text[32];
    printf("speed-ups of a tree machine; t_E = %s, on %s\n", cal_duration_text(b->execute, text, sizeof text),
           cal_host_text());
    const char* kind = "";
    for (int i = 0; i < b->count; i++) {
        const tree_row* r = &b->rows[i];
        if (strcmp(kind, r->kind) != 0) {
            kind = r->kind;
            if (is_kind(r, "balanced")) printf("\nbalanced trees (Figures 7 and 8)\n");
            if (is_kind(r, "one link")) printf("\nstick figure, one link per process (Figure 5, solid)\n");
            if (is_kind(r, "several links")) printf("\nstick figure, several links per process (Figure 5, dotted)\n");
            if (is_kind(r, "in phase")) printf("\nfigures in phase: messages shared\n");
            if (is_kind(r, "out of phase")) printf("\nfigures out of phase: pipelined\n");
            printf("%-18s %10s %9s %9s %9s %9s %9s %6s\n", "", "processors", "t_C/t_E", "formula", "modelled",
                   "measured", "paper", "busy");
        }
        char what[48];
        if (r->fanout > 0)
            snprintf(what, sizeof what, "fanout %d, height %d", r->fanout, r->height);
        else
            snprintf(what, sizeof what, "%d figure%s", r->figures, r->figures == 1 ? "" : "s");
        printf("%-18s %10d %9.3g", what, r->processors, r->ratio);
        print_optional(r->formula);
        printf(" %9.2f %9.2f", r->modelled, r->measured);
        print_optional(r->paper);
        printf(" %4.0f %%\n", 100 * r->busy);
    }
}

// Points of a series: the measured, modelled or formula's speed-ups of rows of one kind.
typedef struct points {
    double x[MOST_ROWS], modelled[MOST_ROWS], measured[MOST_ROWS];
    size_t count;
} points;

static int draw(const tree_bench* b) {
    if (!b->plot) return CAL_EXIT_DONE;
    enum { RATIOS = 4, BALANCED = 2 * RATIOS, SETS = BALANCED + 2 };
    static const double ratios[RATIOS] = {0, 0.25, 0.5, 1};
    static const char* const names[RATIOS] = {"t_C/t_E = 0", "t_C/t_E = 0.25", "t_C/t_E = 0.5", "t_C/t_E = 1"};
    const double sequential = paper_seconds("sequential", 1);
    points* sets = calloc(SETS, sizeof *sets);
    if (!sets) return fail();
    for (int i = 0; i < b->count; i++) {
        const tree_row* r = &b->rows[i];
        int set = is_kind(r, "one link") ? BALANCED : is_kind(r, "several links") ? BALANCED + 1 : -1;
        for (int k = 0; k < RATIOS && is_kind(r, "balanced"); k++)
            if (r->ratio == ratios[k]) set = (r->fanout - 2) * RATIOS + k;
        if (set < 0) continue;
        points* p = &sets[set];
        const bool balanced = set < BALANCED;
        p->x[p->count] = balanced ? r->height : r->processors;
        p->modelled[p->count] = balanced ? r->formula : sequential / r->modelled;
        p->measured[p->count++] = balanced ? r->measured : sequential / r->measured;
    }
    cal_plot_series series[2 * SETS];
    for (int i = 0; i < SETS; i++) {
        const char* name = i < BALANCED ? names[i % RATIOS] : i == BALANCED ? "one link per process" : "several links";
        const int color = i < BALANCED ? i % RATIOS : i - BALANCED;
        series[2 * i] = (cal_plot_series){name, sets[i].x, sets[i].measured, sets[i].count, color, false, true};
        series[2 * i + 1] = (cal_plot_series){
            i < BALANCED ? "formula" : "modelled", sets[i].x, sets[i].modelled, sets[i].count, color, true, false};
    }
    const cal_plot_panel panels[] = {
        {"Balanced trees of fanout 2 (Figure 7)", "height", "speed-up", false, series, 2 * RATIOS},
        {"Balanced trees of fanout 3 (Figure 8)", "height", "speed-up", false, series + 2 * RATIOS, 2 * RATIOS},
        {"Stick figure of 12 links (Figure 5), one after the other = 227 s", "processors", "time, s", false,
         series + 2 * BALANCED, 4},
    };
    const int status = cal_plot_save(b->plot, panels, 3);
    free(sets);
    return status;
}

static void print_details(void) {
    printf("\nA link takes t_E and a message t_C. measured: threads, one per processor, sleep for these times, which "
           "takes\n"
           "no core. modelled: the same schedule in virtual time. busy: the share of the processors' time in which\n"
           "links are executed, modelled. Figure 5 is for t_C/t_E = 0.7; a message between two processes of one\n"
           "processor takes %.2f t_E there.\n",
           local_ratio());
}

static int run(int argc, char** argv) {
    const char* execute = "2ms";
    tree_bench b = {0};
    const cal_option options[] = {
        {"execute", CAL_OPTION_TEXT, &execute, "TIME", "t_E, the time of a link", 0, 0, NULL},
        CAL_OPTION_LINE_PLOT(&b.plot, "draw the figures as an SVG file"),
        CAL_OPTION_LINE_JSON(&b.json),
    };
    const cal_usage usage = {"bench tree-machine",
                             "",
                             "Repeats Armstrong's experiments on a tree of processors, beside the paper's numbers.",
                             print_details,
                             "calder bench tree-machine --plot tree.svg",
                             0,
                             0};
    int count = 0;
    int status = cal_options_parse(&usage, options, CAL_ARRAY_COUNT(options), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    if (!cal_duration_parse(execute, &b.execute) || b.execute <= 0 || b.execute > 1)
        return cal_complain(CAL_EXIT_MISTAKE, "--execute '%s' is not a duration of at most 1 s, as 4ms", execute);
    status = cal_plot_check(b.plot);
    if (status == CAL_EXIT_DONE) status = bench_all(&b);
    cal_tree_schedule_free(&b.schedule);
    if (status != CAL_EXIT_DONE) return status;
    if (b.json)
        print_json(&b);
    else
        print_table(&b);
    status = draw(&b);
    return status == CAL_EXIT_DONE ? cal_finish_output(status) : status;
}

const cal_benchmark cal_bench_tree_machine = {
    "tree-machine", "Armstrong's experiments on trees of processors, beside the paper's numbers", run};
