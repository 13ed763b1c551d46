// `calder bench world`: the experiments of Mirtich's paper, beside the paper's numbers. Figure 6 compares the three loops on
// atoms; growth runs timewarp on more and more of them; Table 1 is the statistics of the scenes. A world runs on one thread, so
// times are those of the processor: others may use the machine too.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "calder/calder_world.h"
#include "plot.h"
#include "progress.h"
#include "result.h"

#define FIGURE_SECONDS 2.0
#define FRAMES_PER_SECOND 30.0
#define REPETITIONS 3

typedef struct policy {
    const char* name;
    cal_world_loop loop;
    double step;
} policy;

static const policy policies[] = {{"timewarp", CAL_TIMEWARP, 0.01},
                                  {"conservative", CAL_CONSERVATIVE, 0.01},
                                  {"retroactive 0.001", CAL_RETROACTIVE, 0.001},
                                  {"retroactive 0.01", CAL_RETROACTIVE, 0.01},
                                  {"retroactive 1/30", CAL_RETROACTIVE, 1.0 / 30.0}};

static const int figure_counts[] = {25, 50, 100, 200};
static const int growth_counts[] = {25, 50, 100, 200, 500, 1000, 2000, 5000, 10000};

// What the paper reports.
static const struct {
    const char* loop;
    int atoms;
    double frame_s;
} paper_figure[] = {
#include "tables/mirtich_figure6.inc"
};
static const struct {
    const char* scene;
    double duration, moving, total, discontinuities, gap_ms, step_ms, integrated, rolled_back, frame_s;
} paper_rows[] = {
#include "tables/mirtich_table1.inc"
};

typedef struct measured {
    cal_world_report report;
    double cpu, time; // s
    int bodies;
    bool reached;    // the end of what was asked for
    cal_error error; // what ended it before
} measured;

static double processor_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

// Frame by frame where the limit may end it. In one go otherwise: a stop for a frame would end a step of the retroactive loop, and
// what its steps waste is what the figure is about.
static void run_to_error(const char* scene, const policy* p, double time, double limit, measured* out) {
    cal_world_def def = cal_default_world_def();
    def.loop = p->loop;
    def.step = p->step;
    cal_world* world = NULL;
    cal_error error = {CAL_OK, ""};
    error.status = cal_world_generate(scene, &def, &world, &error);
    if (error.status == CAL_OK) error.status = cal_world_advance(world, 0, &error);
    *out = (measured){0};
    int frames = isfinite(limit) ? (int)(time * FRAMES_PER_SECOND + 0.5) : 1;
    for (int frame = 1; error.status == CAL_OK && frame <= frames && out->cpu < limit; frame++) {
        double started = processor_seconds();
        error.status = cal_world_advance(world, time * frame / frames, &error);
        out->cpu += processor_seconds() - started;
        out->reached = frame == frames;
    }
    if (world) {
        cal_world_get_report(world, &out->report);
        out->bodies = cal_world_body_count(world);
    }
    out->time = out->report.time;
    out->error = error;
    cal_world_destroy(world);
}

static int run_scene(const char* scene, const policy* p, double time, double limit, measured* out) {
    run_to_error(scene, p, time, limit, out);
    return out->error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&out->error);
}

// The quickest of a few runs: others disturb the caches.
static int best_of(const char* scene, const policy* p, double time, measured* out) {
    for (int i = 0; i < REPETITIONS; i++) {
        measured m;
        int status = run_scene(scene, p, time, INFINITY, &m);
        if (status != CAL_EXIT_DONE) return status;
        if (i == 0 || m.cpu < out->cpu) *out = m;
        if (m.cpu > 2) break;
    }
    return CAL_EXIT_DONE;
}

static double per(double value, double count) { return count > 0 ? value / count : 0; }
static double work_of(const cal_world_report* r) { return (double)(r->integrations + r->checks + r->predictions); }

enum {
    POLICIES = CAL_ARRAY_COUNT(policies),
    FIGURE = CAL_ARRAY_COUNT(figure_counts),
    GROWTH = CAL_ARRAY_COUNT(growth_counts),
    TABLE = CAL_ARRAY_COUNT(paper_rows)
};

// Of Table 1: timewarp, and the two others with a step of 0.01 s.
static const int table_loops[] = {0, 1, 3};
enum { LOOPS = CAL_ARRAY_COUNT(table_loops) };

typedef struct results {
    measured figure[FIGURE][POLICIES], growth[GROWTH], table[TABLE][LOOPS];
    bool has_figure, has_growth, in_table[TABLE];
    int loops; // how many of them Table 1 has
} results;

// The scenes of Table 1. Where one of the other loops fails, its row says so.
static int measure_table(results* r, double share, double limit, cal_progress* progress) {
    int status = CAL_EXIT_DONE;
    for (int i = 0; status == CAL_EXIT_DONE && i < TABLE; i++) {
        const double time = share * paper_rows[i].duration;
        for (int k = 0; cal_scene_name(k); k++) r->in_table[i] |= strcmp(cal_scene_name(k), paper_rows[i].scene) == 0;
        for (int p = 0; r->in_table[i] && status == CAL_EXIT_DONE && p < r->loops && p < LOOPS; p++) {
            const policy* loop = &policies[table_loops[p]];
            if (p == 0)
                status = run_scene(paper_rows[i].scene, loop, time, limit, &r->table[i][p]);
            else
                run_to_error(paper_rows[i].scene, loop, time, limit, &r->table[i][p]);
            cal_progress_show(progress, 0.5 + 0.5 * (i * r->loops + p + 1) / (TABLE * r->loops));
        }
    }
    return status;
}

static int measure(results* r, bool figure, bool growth, bool table, double share, double limit) {
    cal_progress progress = cal_progress_start("measuring");
    int status = CAL_EXIT_DONE;
    char scene[64];
    for (int n = 0; status == CAL_EXIT_DONE && figure && n < FIGURE; n++)
        for (int p = 0; status == CAL_EXIT_DONE && p < POLICIES; p++) {
            snprintf(scene, sizeof scene, "atoms:n=%d", figure_counts[n]);
            status = best_of(scene, &policies[p], FIGURE_SECONDS, &r->figure[n][p]);
            cal_progress_show(&progress, 0.3 * (n * POLICIES + p + 1) / (FIGURE * POLICIES));
        }
    r->has_figure = figure;
    for (int n = 0; status == CAL_EXIT_DONE && growth && n < GROWTH; n++) {
        snprintf(scene, sizeof scene, "atoms:n=%d", growth_counts[n]);
        status = best_of(scene, &policies[0], FIGURE_SECONDS, &r->growth[n]);
        cal_progress_show(&progress, 0.3 + 0.2 * (n + 1) / GROWTH);
    }
    r->has_growth = growth;
    if (status == CAL_EXIT_DONE && table) status = measure_table(r, share, limit, &progress);
    cal_progress_end(&progress);
    return status;
}

// Seconds per frame; 0: not reported.
static double paper_frame(const char* loop, int atoms) {
    for (size_t i = 0; i < CAL_ARRAY_COUNT(paper_figure); i++)
        if (strcmp(paper_figure[i].loop, loop) == 0 && paper_figure[i].atoms == atoms) return paper_figure[i].frame_s;
    return 0;
}

static void print_figure(const results* r) {
    printf("atoms for %g s: average step, integrated per body, work (integrations, checks, formulas), time per frame; "
           "paper: s per frame\n\n",
           FIGURE_SECONDS);
    printf("%6s  %-18s %9s %9s %11s %11s %9s %8s\n", "N", "loop", "step ms", "s/body", "work", "ms/frame", "× timewarp",
           "paper");
    for (int n = 0; n < FIGURE; n++)
        for (int p = 0; p < POLICIES; p++) {
            const measured* m = &r->figure[n][p];
            const cal_world_report* w = &m->report;
            const double paper = paper_frame(policies[p].name, figure_counts[n]);
            printf("%6d  %-18s %9.3g %9.4g %11.0f %11.4g %9.3g", figure_counts[n], policies[p].name,
                   1e3 * per(w->intervals, (double)w->integrations), per(w->integrated, w->moving), work_of(w),
                   1e3 * m->cpu / (FIGURE_SECONDS * FRAMES_PER_SECOND), per(m->cpu, r->figure[n][0].cpu));
            if (paper > 0)
                printf(" %8.3g\n", paper);
            else
                printf(" %8s\n", "-");
        }
}

static void print_growth(const results* r) {
    printf("\ntimewarp on N atoms for %g s, constant density\n\n%6s %14s %16s %12s %12s\n", FIGURE_SECONDS, "N",
           "collisions", "us/(body s)", "rolled back", "peak states");
    for (int n = 0; n < GROWTH; n++) {
        const measured* m = &r->growth[n];
        printf("%6d %14lld %16.4g %11.3g%% %12lld\n", growth_counts[n], (long long)m->report.collisions,
               1e6 * m->cpu / (FIGURE_SECONDS * m->report.moving),
               100 * per(m->report.rolled_back, FIGURE_SECONDS * m->report.moving), (long long)m->report.peak_states);
    }
}

static void print_row(const char* loop, const measured* m) {
    const cal_world_report* w = &m->report;
    const double integrated = per(w->integrated, w->moving), back = per(w->rolled_back, w->moving);
    printf("  %-17s %7.4g %4d/%-4d %9lld %8.3g %8.3g %9.4g %+6.1f%% %9.3g %6.2f%% %9.3g", loop, m->time,
           w->moving + w->driven, m->bodies, (long long)w->discontinuities,
           1e3 * per(m->time, (double)w->discontinuities), 1e3 * per(w->intervals, (double)w->integrations), integrated,
           100 * (per(integrated, m->time) - 1), back, 100 * per(back, m->time),
           per(m->cpu, m->time * FRAMES_PER_SECOND));
    if (m->error.status != CAL_OK)
        printf("  (%s)\n", m->error.text);
    else
        printf("%s\n", m->reached ? "" : "  (stopped by --limit)");
}

static void print_table(const results* r) {
    printf("\nTable 1: integrated and rolled back in s per body, and of the time\n\n  %-17s %7s %9s %9s %8s %8s %17s "
           "%17s %9s\n",
           "loop", "s", "moving/of", "discont.", "gap ms", "step ms", "integrated", "rolled back", "s/frame");
    for (int i = 0; i < TABLE; i++) {
        printf("%s\n", paper_rows[i].scene);
        for (int p = 0; r->in_table[i] && p < r->loops && p < LOOPS; p++)
            print_row(policies[table_loops[p]].name, &r->table[i][p]);
        const double time = paper_rows[i].duration;
        printf("  %-17s %7g %4g/%-4g %9g %8g %8g %9g %+6.1f%% %9g %6.2f%% %9g\n", "the paper", time,
               paper_rows[i].moving, paper_rows[i].total, paper_rows[i].discontinuities, paper_rows[i].gap_ms,
               paper_rows[i].step_ms, paper_rows[i].integrated, 100 * (paper_rows[i].integrated / time - 1),
               paper_rows[i].rolled_back, 100 * paper_rows[i].rolled_back / time, paper_rows[i].frame_s);
    }
}

static void add_json(cal_json* json, const char* scene, const char* loop, const measured* m) {
    const cal_world_report* w = &m->report;
    cal_json_open(json, NULL, '{');
    cal_json_text(json, "scene", scene);
    cal_json_text(json, "loop", loop);
    cal_json_integer(json, "moving", w->moving + w->driven);
    cal_json_integer(json, "bodies", m->bodies);
    if (m->error.status != CAL_OK) cal_json_text(json, "error", m->error.text);
    cal_json_number(json, "time", m->time);
    cal_json_number(json, "cpu_s", m->cpu);
    cal_json_number(json, "frame_s", per(m->cpu, m->time * FRAMES_PER_SECOND));
    cal_json_integer(json, "discontinuities", w->discontinuities);
    cal_json_integer(json, "checks", w->checks);
    cal_json_integer(json, "integrations", w->integrations);
    cal_json_number(json, "work", work_of(w));
    cal_json_number(json, "average_step_s", per(w->intervals, (double)w->integrations));
    cal_json_number(json, "integrated_s_per_body", per(w->integrated, w->moving));
    cal_json_number(json, "rolled_back_s_per_body", per(w->rolled_back, w->moving));
    cal_json_integer(json, "groups", w->groups);
    cal_json_integer(json, "largest_group", w->largest_group);
    cal_json_integer(json, "largest_contacts", w->largest_contacts);
    cal_json_integer(json, "callbacks", w->callbacks);
    cal_json_integer(json, "peak_states", w->peak_states);
    cal_json_close(json, '}');
}

static void print_json(const results* r) {
    cal_json json = cal_result_open("bench world");
    char scene[64];
    cal_json_open(&json, "figure6", '[');
    for (int n = 0; r->has_figure && n < FIGURE; n++)
        for (int p = 0; p < POLICIES; p++) {
            snprintf(scene, sizeof scene, "atoms:n=%d", figure_counts[n]);
            add_json(&json, scene, policies[p].name, &r->figure[n][p]);
        }
    cal_json_close(&json, ']');
    cal_json_open(&json, "growth", '[');
    for (int n = 0; r->has_growth && n < GROWTH; n++) {
        snprintf(scene, sizeof scene, "atoms:n=%d", growth_counts[n]);
        add_json(&json, scene, policies[0].name, &r->growth[n]);
    }
    cal_json_close(&json, ']');
    cal_json_open(&json, "table1", '[');
    for (int i = 0; i < TABLE; i++)
        for (int p = 0; r->in_table[i] && p < r->loops && p < LOOPS; p++)
            add_json(&json, paper_rows[i].scene, policies[table_loops[p]].name, &r->table[i][p]);
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

// Figure 6 and growth, as far as they were measured.
static int draw(const results* r, const char* path) {
    double counts[FIGURE], decades[GROWTH], steps[POLICIES][FIGURE], integrated[POLICIES][FIGURE];
    double frames[POLICIES][FIGURE], costs[GROWTH];
    cal_plot_series step_lines[POLICIES], integrated_lines[POLICIES], frame_lines[POLICIES];
    for (int p = 0; p < POLICIES; p++) {
        for (int n = 0; n < FIGURE; n++) {
            const measured* m = &r->figure[n][p];
            counts[n] = figure_counts[n];
            steps[p][n] = 1e3 * per(m->report.intervals, (double)m->report.integrations);
            integrated[p][n] = per(m->report.integrated, m->report.moving);
            frames[p][n] = 1e3 * m->cpu / (FIGURE_SECONDS * FRAMES_PER_SECOND);
        }
        const bool other = policies[p].loop != CAL_TIMEWARP;
        step_lines[p] = (cal_plot_series){policies[p].name, counts, steps[p], FIGURE, p, other, true};
        integrated_lines[p] = (cal_plot_series){policies[p].name, counts, integrated[p], FIGURE, p, other, true};
        frame_lines[p] = (cal_plot_series){policies[p].name, counts, frames[p], FIGURE, p, other, true};
    }
    for (int n = 0; n < GROWTH; n++) {
        decades[n] = log10(growth_counts[n]);
        costs[n] = 1e6 * per(r->growth[n].cpu, FIGURE_SECONDS * r->growth[n].report.moving);
    }
    const cal_plot_series growth = {"timewarp", decades, costs, GROWTH, 0, false, true};
    const cal_plot_panel panels[] = {
        {"Atoms for 2 s: average integration step", "atoms", "ms", true, step_lines, POLICIES},
        {"Atoms for 2 s: integrated per body", "atoms", "s", true, integrated_lines, POLICIES},
        {"Atoms for 2 s: processor time per frame", "atoms", "ms", true, frame_lines, POLICIES},
        {"Atoms at one density: processor time per body and second", "logarithm of the number of atoms (base 10)", "µs",
         false, &growth, 1},
    };
    const int first = r->has_figure ? 0 : 3, last = r->has_growth ? 4 : 3;
    return cal_plot_save(path, panels + first, last - first);
}

static int run(int argc, char** argv) {
    bool no_figure = false, no_growth = false, no_table = false, loops = false, as_json = false;
    double share = 1, limit = 600;
    const char* plot = NULL;
    const cal_option table[] = {
        {"no-figure", CAL_OPTION_FLAG, &no_figure, NULL, "leave out Figure 6, the comparison of the loops", 0, 0, NULL},
        {"no-growth", CAL_OPTION_FLAG, &no_growth, NULL, "leave out timewarp on up to 10,000 atoms", 0, 0, NULL},
        {"no-table", CAL_OPTION_FLAG, &no_table, NULL, "leave out Table 1, the scenes", 0, 0, NULL},
        {"share", CAL_OPTION_NUMBER, &share, "X", "of the paper's durations that Table 1 runs", 1e-4, 1, NULL},
        {"limit", CAL_OPTION_NUMBER, &limit, "S", "processor time per scene and loop of Table 1", 0.1, 1e6, NULL},
        {"loops", CAL_OPTION_FLAG, &loops, NULL, "Table 1 with the two other loops, too", 0, 0, NULL},
        CAL_OPTION_LINE_PLOT(&plot, "draw Figure 6 and growth as an SVG file"),
        CAL_OPTION_LINE_JSON(&as_json),
    };
    const cal_usage usage = {"bench world",
                             "",
                             "Mirtich's experiments on colliding bodies: loops, growth, scenes.",
                             NULL,
                             "calder bench world --share 0.1",
                             0,
                             0};
    int count = 0;
    int status = cal_options_parse(&usage, table, CAL_ARRAY_COUNT(table), argc, argv, &count);
    if (status != CAL_OPTIONS_PARSED) return status;
    if (plot && no_figure && no_growth)
        return cal_complain(CAL_EXIT_MISTAKE, "--plot draws Figure 6 and growth, and both are left out");
    status = cal_plot_check(plot);
    if (status != CAL_EXIT_DONE) return status;
    results* r = calloc(1, sizeof *r);
    if (!r) return cal_complain(CAL_EXIT_FAILED, "out of memory");
    r->loops = loops ? LOOPS : 1;
    status = measure(r, !no_figure, !no_growth, !no_table, share, limit);
    if (status == CAL_EXIT_DONE) {
        if (as_json) {
            print_json(r);
        } else {
            printf("%s\n\n", cal_host_text());
            if (r->has_figure) print_figure(r);
            if (r->has_growth) print_growth(r);
            if (!no_table) print_table(r);
        }
        status = cal_finish_output(draw(r, plot));
    }
    free(r);
    return status;
}

const cal_benchmark cal_bench_world = {"world", "Mirtich's experiments on colliding bodies, beside the paper's numbers",
                                       run};
