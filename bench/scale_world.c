// `calder bench scale` of a world: on 1, 2, … threads, measured beside predicted.
//
// What is timed is one advance from the start to --time, without set-up. The prediction for p is the price of the world divided among p
// processors (cal_world_price), which runs on one core, times what the machine's cores lose together. That is measured by worlds that
// have nothing to do with each other, one on each of p cores: the ceiling.
#include "scale_world.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "result.h"
#include "timing.h"
#include "world_price.h"

typedef struct world_row {
    int processors, used;
    double measured, predicted, ceiling; // s, s, times
    double balance, bound;               // of the price: world_price.h
    cal_world_report report;             // of the run in the middle
    uint64_t hash;
    bool same;
} world_row;

typedef struct copies {
    const cal_world_source* source;
    double time;
    atomic_int waiting, failed;
} copies;

typedef struct copy {
    copies* all;
    double seconds;
    pthread_t thread;
} copy;

static int advance(cal_world_made* made, double time, double* seconds) {
    cal_error error = {CAL_OK, ""};
    const double started = cal_wall_seconds();
    error.status = cal_world_advance(made->world, time, &error);
    *seconds = cal_wall_seconds() - started;
    return error.status == CAL_OK ? CAL_EXIT_DONE : cal_complain_error(&error);
}

static void* run_copy(void* argument) {
    copy* own = argument;
    cal_world_made made;
    if (cal_world_make(own->all->source, NULL, &made) != CAL_EXIT_DONE) atomic_store(&own->all->failed, 1);
    atomic_fetch_sub(&own->all->waiting, 1);
    while (atomic_load(&own->all->waiting) > 0) continue;
    if (!atomic_load(&own->all->failed) && advance(&made, own->all->time, &own->seconds) != CAL_EXIT_DONE)
        atomic_store(&own->all->failed, 1);
    cal_world_unmake(&made);
    return NULL;
}

// How many times the work of one core alone so many do, each with a world of its own; 0: it could not be measured.
static double find_ceiling(const cal_world_source* source, double time, int count, double alone) {
    copies all = {.source = source, .time = time};
    atomic_store(&all.waiting, count);
    copy* list = calloc((size_t)count, sizeof *list);
    int started = 0;
    for (; list && started < count; started++) {
        list[started].all = &all;
        if (pthread_create(&list[started].thread, NULL, run_copy, &list[started]) != 0) break;
    }
    if (started < count) {
        atomic_store(&all.failed, 1);
        atomic_fetch_sub(&all.waiting, count - started);
    }
    double sum = 0;
    for (int i = 0; i < started; i++) {
        pthread_join(list[i].thread, NULL);
        if (list[i].seconds > 0) sum += alone / list[i].seconds;
    }
    free(list);
    return atomic_load(&all.failed) ? 0 : sum;
}

static int measure_row(const cal_world_source* source, const cal_scale_world* s, const cal_priced_world* priced,
                       world_row* r) {
    double samples[CAL_SCALE_RUNS] = {0.0}, sorted[CAL_SCALE_RUNS];
    cal_world_report reports[CAL_SCALE_RUNS] = {0};
    int status = CAL_EXIT_DONE;
    r->same = true;
    for (int run = 0; run < s->runs && status == CAL_EXIT_DONE; run++) {
        char text[64];
        cal_machine* machine = NULL;
        cal_world_made made = {0};
        snprintf(text, sizeof text, "threads:%d%s", r->processors, s->pinned ? ",pinned" : "");
        if (r->processors > 1) status = cal_machine_open(text, s->lanes, NULL, &machine);
        if (status == CAL_EXIT_DONE) status = cal_world_make(source, machine, &made);
        if (status == CAL_EXIT_DONE) status = advance(&made, s->time, &samples[run]);
        if (status == CAL_EXIT_DONE) {
            cal_world_get_report(made.world, &reports[run]);
            r->hash = reports[run].hash;
            r->same &= r->hash == priced->report.hash;
        }
        cal_world_unmake(&made);
        cal_machine_destroy(machine);
    }
    if (status != CAL_EXIT_DONE) return status;
    memcpy(sorted, samples, (size_t)s->runs * sizeof *sorted);
    r->measured = cal_median(sorted, s->runs);
    int middle = 0;
    for (int run = 1; run < s->runs; run++)
        if (fabs(samples[run] - r->measured) < fabs(samples[middle] - r->measured)) middle = run;
    r->report = reports[middle];
    r->used = r->report.processors > 1 ? r->report.processors : 1;
    return status;
}

static int measure_all(const cal_world_source* source, const cal_scale_world* s, world_row* rows, int* count) {
    cal_priced_world one, priced;
    world_row first = {.processors = 1};
    cal_progress progress = cal_progress_start("timing");
    int status = cal_world_find_price(source, 1, s->time, NULL, &one);
    if (status == CAL_EXIT_DONE) status = measure_row(source, s, &one, &first);
    first.predicted = first.measured;
    first.ceiling = first.balance = first.bound = 1;
    for (int i = 0; i < s->count && status == CAL_EXIT_DONE; i++) {
        if (!cal_is_worth_a_run(s->counts, s->count, i)) continue;
        world_row* r = &rows[(*count)++];
        *r = first;
        if (s->counts[i] == 1) continue;
        *r = (world_row){.processors = s->counts[i]};
        status = cal_world_find_price(source, r->processors, s->time, &one, &priced);
        if (status == CAL_EXIT_DONE) status = measure_row(source, s, &priced, r);
        r->same &= r->hash == first.hash;
        r->ceiling = status == CAL_EXIT_DONE ? find_ceiling(source, s->time, r->processors, first.measured) : 0;
        // Cores that compute at once are slower than one alone; what is between runs is done by one.
        const double crowding = r->ceiling > 0 && r->ceiling < r->processors ? r->processors / r->ceiling : 1;
        const cal_world_report* p = &priced.report;
        r->balance = priced.balance, r->bound = priced.bound;
        r->predicted =
            priced.used > 1 ? first.measured / one.seconds * (crowding * p->busiest_s + p->between_s) : first.measured;
        cal_progress_show(&progress, (i + 1.0) / s->count);
    }
    cal_progress_end(&progress);
    return status;
}

static double deviation(const world_row* r) { return 100 * (r->measured / r->predicted - 1); }

static void print_json(const cal_scale_world* s, const world_row* rows, int count, bool same) {
    cal_json json = cal_result_open("bench scale");
    cal_json_text(&json, "world", s->name);
    cal_json_number(&json, "time", s->time);
    cal_json_boolean(&json, "same_state", same);
    cal_json_open(&json, "rows", '[');
    for (int i = 0; i < count; i++) {
        const world_row* r = &rows[i];
        cal_json_open(&json, NULL, '{');
        cal_json_integer(&json, "processors", r->processors);
        cal_json_integer(&json, "used", r->used);
        cal_json_number(&json, "time_s", r->measured);
        cal_json_number(&json, "speedup", rows[0].measured / r->measured);
        cal_json_number(&json, "predicted_s", r->predicted);
        cal_json_number(&json, "deviation_percent", deviation(r));
        if (r->ceiling > 0) cal_json_number(&json, "ceiling", r->ceiling);
        if (r->used > 1) {
            cal_json_integer(&json, "domains", r->report.domains);
            cal_json_number(&json, "balance", r->balance);
            cal_json_number(&json, "bound", r->bound);
            cal_json_number(&json, "domains_s", r->report.domains_s);
            cal_json_number(&json, "border_s", r->report.border_s);
            cal_json_number(&json, "busiest_s", r->report.busiest_s);
            cal_json_number(&json, "together_s", r->report.together_s);
            cal_json_number(&json, "between_s", r->report.between_s);
            cal_json_number(&json, "divide_s", r->report.divide_s);
            cal_json_integer(&json, "windows", r->report.windows);
            cal_json_integer(&json, "runs", r->report.runs);
            cal_json_integer(&json, "handed_over", r->report.handed_over);
        }
        cal_json_hash(&json, "state_hash", r->hash);
        cal_json_boolean(&json, "same_state", r->same);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

// Where the time of all cores went, of what was measured: events, and more of them than one core takes alone where caches are shared; the
// border; those that wait for the busiest domain, or for a core; and what one core does while the others wait.
static void print_shares(const world_row* rows, int count) {
    printf("\n%10s %8s %8s %9s %9s %8s %8s %12s  (%% of all cores' time)\n", "processors", "events", "border",
           "busiest", "together", "divide", "between", "all domains");
    for (int i = 0; i < count; i++) {
        const cal_world_report* w = &rows[i].report;
        if (rows[i].used < 2) continue;
        const double all = 0.01 * rows[i].used * (w->together_s + w->between_s);
        printf("%10d %8.0f %8.0f %9.0f %9.0f %8.0f %8.0f %10.2f ×\n", rows[i].processors,
               (w->domains_s - w->border_s) / all, w->border_s / all,
               (rows[i].used * w->busiest_s - w->domains_s) / all, rows[i].used * (w->together_s - w->busiest_s) / all,
               rows[i].used * w->divide_s / all, rows[i].used * (w->between_s - w->divide_s) / all,
               w->domains_s / rows[0].measured);
    }
    printf(
        "\nbusiest: waiting for the busiest domain of each run; together: for a core, and for all to begin and end a "
        "run;\n"
        "divide, between: one core, while the others wait; all domains: processor time over the time of one core;\n"
        "balance: processors at work while domains run, and bound: the speed-up that no number of processors goes\n"
        "beyond, both from the plan.\n");
}

static void print_table(const cal_scale_world* s, const world_row* rows, int count) {
    printf("%s on threads of %s, %g s simulated\n\n", s->name, cal_host_text(), s->time);
    printf("%10s %5s %12s %12s %8s %9s %8s %8s %8s  state\n", "processors", "used", "measured", "predicted", "off by",
           "speed-up", "ceiling", "balance", "bound");
    for (int i = 0; i < count; i++) {
        const world_row* r = &rows[i];
        printf("%10d %5d %10.4f s %10.4f s %6.0f %% %9.2f %8.2f %8.2f %8.3g  %s\n", r->processors, r->used, r->measured,
               r->predicted, deviation(r), rows[0].measured / r->measured, r->ceiling, r->balance, r->bound,
               r->same ? "same" : "differs");
    }
    if (rows[count - 1].used > 1) print_shares(rows, count);
    printf("\nstate hash %016llx\n", (unsigned long long)rows[0].hash);
}

int cal_bench_scale_world(cal_scale_world* s) {
    cal_world_source source;
    world_row* rows = calloc((size_t)s->count + 1, sizeof *rows);
    if (!rows) return cal_complain(CAL_EXIT_FAILED, "no memory for %d rows", s->count);
    int count = 0, status = cal_world_source_open(s->name, &source);
    if (status == CAL_EXIT_DONE && s->time == 0) status = cal_world_choose_time(&source, &s->time);
    if (status == CAL_EXIT_DONE) status = measure_all(&source, s, rows, &count);
    bool same = true;
    for (int i = 0; i < count; i++) same &= rows[i].same;
    if (status == CAL_EXIT_DONE) {
        if (s->json)
            print_json(s, rows, count, same);
        else
            print_table(s, rows, count);
        status = cal_finish_output(status);
        if (status == CAL_EXIT_DONE && !same)
            status = cal_complain(CAL_EXIT_FAILED, "the state is not the same on all numbers of processors");
    }
    cal_world_source_close(&source);
    free(rows);
    return status;
}
