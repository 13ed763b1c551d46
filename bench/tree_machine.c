// `calder bench tree-machine`: Armstrong's experiments on a tree of processors.
//
//   balanced trees (Figures 7 and 8)   a processor for each path to a leaf; speed-up
//                                      (f^h − 1) / ((f − 1) (1 + (h − 1) (1 + (f − 1) t_C / t_E)))
//   stick figure (Figure 5)            one link per process, the processes of a path on one processor; or several links per
//                                      process, a processor each. All assignments of paths or limbs are tried; the best counts
//   several figures (section 6)        in phase: k times the work for the same messages; out of phase: pipelined
//   larger figures                     links cut into pieces
//
// Each is shown for the paper's machine, in virtual time with its t_C / t_E (modelled), and for this one: t_E and t_C are measured with
// Armstrong's passes over real figures, and so are the speed-ups. The paper varied t_E by a waiting time. Here k figures side by side
// have k times the work at a link for one message, which carries the numbers of all (in lanes), or for messages that follow each other.
//
// As in the paper's section 6, the formula is of a pass that goes outbound, and the inbound one mirrors it; t_E and t_C are of all three
// passes of an evaluation together.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "plot.h"
#include "progress.h"
#include "tree_figures.h"
#include "tree_rows.h"

enum { LINKS = 12, CYCLES = 25, FIGURE_PROCESSORS = 5, MOST_LEAVES = 128 };
static const double PAPER_RATIO = 0.7; // t_C / t_E of one figure

static const struct {
    const char* experiment;
    int figures, processors;
    double seconds, speedup; // 0: not given
} paper[] = {
#include "tables/armstrong.inc"
};

typedef struct tree_bench {
    cal_tree_table table;
    cal_tree_lab lab;
    cal_tree_schedule schedule;
    cal_model* stickman;
    cal_link_tree links; // of the stick figure
    cal_progress progress;
    cal_error error;
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

static int fail(const tree_bench* b) {
    return b->error.status != CAL_OK ? cal_complain_error(&b->error)
                                     : cal_complain(CAL_EXIT_FAILED, "no memory for a tree machine");
}

static bool add_row(tree_bench* b, const cal_tree_row* row) {
    if (b->table.count == CAL_MOST_TREE_ROWS) return false;
    b->table.rows[b->table.count++] = *row;
    cal_progress_show(&b->progress, b->table.count / 84.0);
    return true;
}

// A row of the model: the schedule that is planned, whose links would take `sequential` one after the other.
static bool add_modelled(tree_bench* b, cal_tree_row row, const cal_tree_times* times, double sequential) {
    const double seconds = cal_tree_model(&b->schedule, times, &row.busy);
    row.processors = row.processes = b->schedule.processors;
    row.modelled = sequential / seconds;
    return seconds > 0 && add_row(b, &row);
}

// --- On this machine --------------------------------------------------------------------------------------------------

// Runs k figures of which each link is cut into pieces, and gives each base joint to a process. turns: figures are dealt out in as many
// equal parts as there are processes, and the processes of each part are the last one's moved on by one.
static bool run_figures(tree_bench* b, const cal_model* base, int pieces, bool turns, const int* process_of_base,
                        const int* core_of_process, cal_tree_row* row) {
    const int links = cal_model_joint_count(base), joints = links * pieces * row->figures;
    cal_model* model = NULL;
    int32_t* process_of_joint = calloc((size_t)joints + 1, sizeof *process_of_joint);
    cal_status status =
        process_of_joint ? cal_figures_build(base, pieces, row->figures, &model, &b->error) : CAL_NO_MEMORY;
    for (int i = 0; i < joints && status == CAL_OK; i++) {
        const int figure = i / (pieces * links), part = turns ? figure * row->processes / row->figures : 0;
        process_of_joint[i] = (process_of_base[i / pieces % links] + part) % row->processes;
    }
    const cal_tree_assignment assignment = {row->processes, process_of_joint, core_of_process};
    const bool timed = row->processors <= b->lab.cores;
    if (status == CAL_OK) status = cal_tree_run(&b->lab, model, &assignment, timed, &row->result, &b->error);
    row->links = links * pieces;
    if (timed && row->result.run) row->measured = row->result.alone / row->result.seconds;
    cal_model_destroy(model);
    free(process_of_joint);
    return status == CAL_OK;
}

// t_E of k figures: an evaluation on one core, per link. t_C: how much longer one of two links takes on two processes than on one,
// all of its messages together, for these are all on its path.
static bool measure_costs(tree_bench* b, int figures, bool local, cal_tree_costs* out) {
    static const int apart[2] = {0, 1}, together[2] = {0, 0};
    cal_model* pair = NULL;
    cal_tree_row row = {.figures = figures, .processes = 2, .processors = 1};
    b->error.status = cal_model_generate("tree:height=2,fanout=1,joint=ball", &pair, &b->error);
    bool done = b->error.status == CAL_OK && run_figures(b, pair, 1, false, apart, NULL, &row);
    out->execute = row.result.alone / 2;
    out->message = fmax(0, row.result.seconds - row.result.alone);
    if (done && local && !b->lab.ranks) {
        done = run_figures(b, pair, 1, false, apart, together, &row);
        out->local = fmax(0, row.result.seconds - row.result.alone);
    }
    cal_model_destroy(pair);
    return done;
}

// With the times of this machine for k figures side by side: t_E is that of the figure itself.
static bool add_measured(tree_bench* b, cal_tree_row* row) {
    cal_tree_costs costs = {0};
    row->here = true;
    if (!row->result.run) return true; // not so many ranks
    if (row->measured > 0) {
        if (!measure_costs(b, row->figures, false, &costs)) return false;
        row->execute = row->result.alone / row->links;
        row->message = costs.message;
        row->ratio = row->message / row->execute;
    }
    return add_row(b, row);
}

// --- Balanced trees -----------------------------------------------------------------------------------------------------

static double balanced_formula(int links, int fanout, int height, double ratio) {
    return links / (1 + (height - 1) * (1 + (fanout - 1) * ratio));
}

static bool bench_balanced(tree_bench* b, int fanout, int height) {
    static const double ratios[] = {0, 0.25, 0.5, 1};
    static const int numbers[] = {1, 8, 64};
    char text[64];
    int processor_of_path[MOST_LEAVES], process_of_joint[CAL_MOST_LINKS];
    cal_model* model = NULL;
    cal_link_tree tree = {0};
    for (int i = 0; i < MOST_LEAVES; i++) processor_of_path[i] = i;
    snprintf(text, sizeof text, "tree:height=%d,fanout=%d,joint=ball", height, fanout);
    b->error.status = cal_model_generate(text, &model, &b->error);
    bool done = b->error.status == CAL_OK && cal_link_tree_create(model, &tree) && tree.count <= CAL_MOST_LINKS;
    const cal_tree_row row = {
        .kind = "balanced", .fanout = fanout, .height = height, .links = tree.count, .figures = 1};
    for (size_t i = 0; i < CAL_ARRAY_COUNT(ratios) && done; i++) {
        const cal_tree_times times = {1, ratios[i], 0};
        cal_tree_row modelled = row;
        modelled.ratio = ratios[i];
        modelled.formula = balanced_formula(tree.count, fanout, height, ratios[i]);
        cal_plan_paths(&tree, processor_of_path, &b->schedule);
        done = add_modelled(b, modelled, &times, tree.count);
    }
    for (int i = 0; i < tree.count && done; i++) process_of_joint[tree.joint[i]] = tree.path[i];
    for (size_t i = 0; i < CAL_ARRAY_COUNT(numbers) && done; i++) {
        cal_tree_row measured = row;
        measured.figures = numbers[i];
        measured.processes = measured.processors = tree.path_count;
        if (i > 0 && tree.path_count > b->lab.cores) break; // once for its bits and messages
        done = run_figures(b, model, 1, false, process_of_joint, NULL, &measured) && add_measured(b, &measured);
        cal_tree_row* last = &b->table.rows[b->table.count - 1];
        if (last->here && last->measured > 0) last->formula = balanced_formula(tree.count, fanout, height, last->ratio);
    }
    cal_link_tree_destroy(&tree);
    cal_model_destroy(model);
    return done;
}

// --- The stick figure -----------------------------------------------------------------------------------------------------

static bool bench_figure_model(tree_bench* b, bool several, int processors) {
    int processor_of_link[CAL_MOST_LINKS];
    const cal_tree_times times = {1, PAPER_RATIO, local_ratio()};
    cal_plan_best(&b->links, several, processors, &times, &b->schedule, processor_of_link);
    cal_tree_row row = {
        .kind = several ? "several links" : "one link", .links = LINKS, .figures = 1, .ratio = PAPER_RATIO};
    row.paper = paper_speedup(row.kind, 1, processors);
    return add_modelled(b, row, &times, LINKS);
}

// The assignment that is best with this machine's times, on so many processors; as many must be used.
static bool bench_figure_here(tree_bench* b, bool several, int processors) {
    int processor_of_link[CAL_MOST_LINKS], process_of_joint[CAL_MOST_LINKS], core_of_process[CAL_MOST_LINKS];
    const cal_tree_costs* costs = &b->table.costs;
    const cal_tree_times times = {costs->execute, costs->message, several ? 0 : costs->local};
    cal_plan_best(&b->links, several, processors, &times, &b->schedule, processor_of_link);
    cal_tree_row row = {.kind = several ? "several links" : "one link",
                        .figures = 1,
                        .processors = processors,
                        .processes = several ? processors : LINKS};
    for (int i = 0; i < LINKS; i++) {
        const int process = several ? processor_of_link[i] : i;
        process_of_joint[b->links.joint[i]] = process;
        core_of_process[process] = processor_of_link[i];
    }
    if (!run_figures(b, b->stickman, 1, false, process_of_joint, core_of_process, &row) || !add_measured(b, &row))
        return false;
    cal_tree_row* last = &b->table.rows[b->table.count - 1];
    if (last->here && last->measured > 0)
        last->modelled = LINKS * costs->execute / cal_tree_model(&b->schedule, &times, &last->busy);
    return true;
}

// To the last row: 12 links one after the other, against 4 of them and 4 messages, on five processors.
static void add_stick_formula(tree_bench* b, int pieces) {
    cal_tree_row* last = &b->table.rows[b->table.count - 1];
    if (last->here && last->measured > 0 && last->processors == FIGURE_PROCESSORS)
        last->formula = 3 / (1 + last->ratio / pieces);
}

// Links cut into pieces, the figure on as many processors as it has paths, or as there are cores.
static bool bench_sizes(tree_bench* b) {
    const int processors = b->lab.cores < FIGURE_PROCESSORS ? b->lab.cores : FIGURE_PROCESSORS;
    int processor_of_link[CAL_MOST_LINKS], process_of_joint[CAL_MOST_LINKS];
    const cal_tree_times times = {1, 0, 0}; // of long links messages count for nothing
    cal_plan_best(&b->links, false, processors, &times, &b->schedule, processor_of_link);
    for (int i = 0; i < LINKS; i++) process_of_joint[b->links.joint[i]] = processor_of_link[i];
    bool done = true;
    for (int pieces = 1; pieces <= 512 && done; pieces *= 2) {
        cal_tree_row row = {.kind = "size", .figures = 1, .processors = processors, .processes = processors};
        done = run_figures(b, b->stickman, pieces, false, process_of_joint, NULL, &row) && add_measured(b, &row);
        add_stick_formula(b, pieces);
    }
    return done;
}

// --- Several figures ----------------------------------------------------------------------------------------------------

// k figures in phase: each link is executed k times, and a message carries the numbers of all.
static bool bench_in_phase_model(tree_bench* b, int figures) {
    int processor_of_link[CAL_MOST_LINKS];
    const cal_tree_times times = {figures, PAPER_RATIO, 0};
    cal_plan_best(&b->links, false, FIGURE_PROCESSORS, &times, &b->schedule, processor_of_link);
    const cal_tree_row row = {.kind = "in phase",
                              .links = LINKS,
                              .figures = figures,
                              .ratio = PAPER_RATIO / figures,
                              .formula = 3 / (1 + PAPER_RATIO / figures),
                              .paper = paper_speedup("in phase", figures, FIGURE_PROCESSORS)};
    return add_modelled(b, row, &times, figures * LINKS);
}

static bool bench_out_of_phase_model(tree_bench* b, int figures, double ratio) {
    const cal_tree_times times = {1, ratio, 0};
    cal_plan_out_of_phase(&b->links, figures, CYCLES, &b->schedule);
    return add_modelled(b, (cal_tree_row){.kind = "out of phase", .links = LINKS, .figures = figures, .ratio = ratio},
                        &times, figures * CYCLES * LINKS);
}

// in phase: all figures alike; out of phase: the processors of each part of the figures are the last one's moved on by one, so that the
// torsos, which others wait for, are on all; whole: a figure has one processor, and nobody waits.
static bool bench_figures_here(tree_bench* b, const char* kind) {
    const int processors = b->lab.cores < FIGURE_PROCESSORS ? b->lab.cores : FIGURE_PROCESSORS;
    const bool whole = strcmp(kind, "whole") == 0, in_phase = strcmp(kind, "in phase") == 0;
    int processor_of_link[CAL_MOST_LINKS], process_of_joint[CAL_MOST_LINKS];
    const cal_tree_times times = {1, 0, 0};
    cal_plan_best(&b->links, false, processors, &times, &b->schedule, processor_of_link);
    for (int i = 0; i < LINKS; i++) process_of_joint[b->links.joint[i]] = whole ? 0 : processor_of_link[i];
    bool done = true;
    for (int figures = 1; figures <= 512 && done; figures *= 2) {
        cal_tree_row row = {.kind = kind, .figures = figures, .processors = processors, .processes = processors};
        done = run_figures(b, b->stickman, 1, !in_phase, process_of_joint, NULL, &row) && add_measured(b, &row);
        if (in_phase) add_stick_formula(b, 1);
    }
    return done;
}

// --- All of it ------------------------------------------------------------------------------------------------------------

static bool bench_figures(tree_bench* b) {
    static const char* const ways[] = {"in phase", "out of phase", "whole"};
    static const double few[] = {0, 0.175, 0.7};
    const int threads_from = b->lab.ranks ? b->lab.cores : 1; // where ranks are is mpirun's to say: all cores
    bool done = true;
    for (int several = 0; several < 2; several++) {
        for (int p = 1; p <= FIGURE_PROCESSORS && done; p++) done = bench_figure_model(b, several, p);
        for (int p = several                            ? 2
                     : threads_from < FIGURE_PROCESSORS ? threads_from
                                                        : FIGURE_PROCESSORS;
             p <= FIGURE_PROCESSORS && done; p++)
            done = bench_figure_here(b, several, p);
    }
    if (done) done = bench_sizes(b);
    for (int figures = 1; figures <= 4 && done; figures *= 2) done = bench_in_phase_model(b, figures);
    for (int figures = 2; figures <= 4; figures += 2)
        for (size_t i = 0; i < CAL_ARRAY_COUNT(few) && done; i++) done = bench_out_of_phase_model(b, figures, few[i]);
    for (size_t i = 0; i < CAL_ARRAY_COUNT(ways) && done; i++) done = bench_figures_here(b, ways[i]);
    return done;
}

static int bench_all(tree_bench* b) {
    b->error.status = cal_model_generate("stickman", &b->stickman, &b->error);
    bool done = b->error.status == CAL_OK && cal_link_tree_create(b->stickman, &b->links) && b->links.count == LINKS;
    b->progress = cal_progress_start("timing");
    if (done) done = measure_costs(b, 1, true, &b->table.costs);
    for (int fanout = 2; fanout <= 3; fanout++)
        for (int height = 2; height <= 7 - fanout && done; height++) done = bench_balanced(b, fanout, height);
    if (done) done = bench_figures(b);
    cal_progress_end(&b->progress);
    const int status = done ? CAL_EXIT_DONE : fail(b);
    cal_link_tree_destroy(&b->links);
    cal_model_destroy(b->stickman);
    cal_tree_schedule_free(&b->schedule);
    return status;
}

static void print_details(void) {
    printf(
        "\nA link takes t_E and a message t_C. modelled: in virtual time, of the paper's machine with its t_C/t_E = "
        "0.7\n"
        "or of a given ratio; a message between two processes of one processor takes %.2f t_E there. measured:\n"
        "Armstrong's passes over real figures, a process being a thread or, with 'mpirun -n 12 calder bench\n"
        "tree-machine --machine mpi', a rank; medians, with the t_E and t_C of this machine. quiet: the same of the\n"
        "quiet quarters of the samples, for a machine on which others compute. Trees that need more processors than\n"
        "there are cores are run for their bits and messages, and not timed.\n",
        local_ratio());
}

static const char* machine_choice(int index) {
    static const char* const names[] = {"threads", "mpi", NULL};
    return names[index];
}

static int run(int argc, char** argv) {
    const char *machine = "threads", *lanes = "0", *plot = NULL;
    double seconds = 0.05;
    bool json = false;
    const cal_option options[] = {
        {"machine", CAL_OPTION_CHOICE, &machine, "NAME", "what a process is: a thread or a rank", 0, 0, machine_choice},
        {"lanes", CAL_OPTION_CHOICE, &lanes, "W", "bodies that one instruction works on; 0: the processor's best", 0, 0,
         cal_lanes_choice},
        {"time-limit", CAL_OPTION_NUMBER, &seconds, "S", "seconds per measurement", 0, 60, NULL},
        CAL_OPTION_LINE_PLOT(&plot, "draw the figures as an SVG file"),
        CAL_OPTION_LINE_JSON(&json),
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
    status = cal_plot_check(plot);
    tree_bench* b = calloc(1, sizeof *b);
    if (!b) return cal_complain(CAL_EXIT_FAILED, "no memory for a tree machine");
    if (status == CAL_EXIT_DONE) status = cal_tree_lab_open(machine, lanes, seconds, &b->lab);
    if (status == CAL_EXIT_DONE && b->lab.processes < 2)
        status = cal_complain(CAL_EXIT_MISTAKE, "a tree machine has several ranks: mpirun -n 2 calder bench …");
    b->table.machine = machine;
    b->table.cores = b->lab.cores;
    b->table.processes = b->lab.processes;
    if (status == CAL_EXIT_DONE) status = bench_all(b);
    if (status == CAL_EXIT_DONE) {
        if (json)
            cal_tree_print_json(&b->table);
        else
            cal_tree_print(&b->table);
        status = cal_tree_draw(&b->table, plot);
    }
    for (int i = 0; i < b->table.count && status == CAL_EXIT_DONE; i++) {
        const cal_tree_row* r = &b->table.rows[i];
        if (r->here && (!r->result.same || r->result.messages != r->result.predicted ||
                        r->result.numbers != r->result.predicted_number))
            status = cal_complain(CAL_EXIT_FAILED, "%s, %d links, %d figures on %d processes: %s", r->kind, r->links,
                                  r->figures, r->processes,
                                  r->result.same ? "messages are not those of the plan"
                                                 : "accelerations are not those of one core");
    }
    cal_tree_lab_close(&b->lab);
    free(b);
    return status == CAL_EXIT_DONE ? cal_finish_output(status) : status;
}

const cal_benchmark cal_bench_tree_machine = {
    "tree-machine", "Armstrong's experiments on trees of processors, beside the paper's numbers", run};
