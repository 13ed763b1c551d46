// `calder plan` of a world: how long it would take on many processors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "progress.h"
#include "quantities.h"
#include "world_price.h"

static double runs_per_window(const cal_world_report* r) {
    return r->windows > 0 ? (double)r->runs / (double)r->windows : 0;
}

static void print_json(const char* name, double time, const cal_priced_world* rows, int count) {
    cal_json json = {.file = stdout};
    cal_json_open(&json, NULL, '{');
    cal_json_text(&json, "world", name);
    cal_json_number(&json, "time", time);
    cal_json_integer(&json, "events", rows[0].report.events);
    cal_json_integer(&json, "useful_processors", rows[count - 1].used);
    cal_json_open(&json, "rows", '[');
    for (int i = 0; i < count; i++) {
        const cal_world_report* r = &rows[i].report;
        cal_json_open(&json, NULL, '{');
        cal_json_integer(&json, "processors", rows[i].processors);
        cal_json_integer(&json, "used", rows[i].used);
        cal_json_number(&json, "time_s", rows[i].seconds);
        cal_json_number(&json, "speedup", rows[i].speedup);
        cal_json_number(&json, "domains_s", r->domains_s);
        cal_json_number(&json, "busiest_s", r->busiest_s);
        cal_json_number(&json, "largest_s", r->largest_s);
        cal_json_number(&json, "between_s", r->between_s);
        cal_json_integer(&json, "domains", r->domains);
        cal_json_number(&json, "balance", rows[i].balance);
        cal_json_number(&json, "bound", rows[i].bound);
        cal_json_integer(&json, "windows", r->windows);
        cal_json_integer(&json, "runs", r->runs);
        cal_json_integer(&json, "handed_over", r->handed_over);
        cal_json_hash(&json, "state_hash", r->hash);
        cal_json_close(&json, '}');
    }
    cal_json_close(&json, ']');
    cal_json_close(&json, '}');
}

static void print_table(const char* name, double time, const cal_priced_world* rows, int count) {
    char text[32];
    printf("%-13s %s: %d bodies move; %lld events in %g s\n\n", "world", name, rows[0].report.moving,
           (long long)rows[0].report.events, time);
    printf("%10s %8s %14s %10s %11s %10s %12s %9s %9s %9s\n", "processors", "used", "time", "speed-up", "efficiency",
           "windows", "runs/window", "between", "balance", "bound");
    for (int i = 0; i < count; i++) {
        const cal_priced_world* p = &rows[i];
        const char* seconds = cal_duration_text(p->seconds, text, sizeof text);
        printf("%10d %8d %*s %10.2f %9.0f %%", p->processors, p->used, strstr(seconds, "µ") ? 15 : 14, seconds,
               p->speedup, 100 * p->speedup / p->used);
        if (p->used > 1)
            printf(" %10lld %12.2f %7.0f %% %9.2f %9.3g", (long long)p->report.windows, runs_per_window(&p->report),
                   100 * p->report.between_s / p->seconds, p->balance, p->bound);
        printf("\n");
    }
    const cal_priced_world *last = &rows[count - 1], *best = last;
    if (last->used > 1)
        printf("\nbetween: what one core does between runs; balance: processors at work while domains run; bound: the\n"
               "speed-up that no number of them goes beyond, with what is between and the largest component of each "
               "window.\n");
    for (int i = 0; i < count; i++)
        if (rows[i].speedup > 1.01 * best->speedup) best = &rows[i];
    if (best->used == 1)
        printf(
            "\nThis world stays on one core: it is too small, or too much of it is in one place, to gain a tenth.\n");
    if (best->used == 1 && last->report.windows > 0)
        printf("Divided among %d processors, %.2g of them would be at work on the average while domains run.\n",
               last->processors, last->balance);
    if (best->used > 1 && best->used < last->processors)
        printf("\n%d of %d processors give the shortest time.\n", best->used, last->processors);
}

// Returns CAL_EXIT_DONE or complains; *priced: how many rows there are.
static int find_prices(const cal_world_source* source, const int* counts, int count, double time,
                       cal_priced_world* rows, int* priced) {
    cal_priced_world one;
    cal_progress progress = cal_progress_start("planning");
    int status = cal_world_find_price(source, 1, time, NULL, &one);
    for (int i = 0; i < count && status == CAL_EXIT_DONE; i++) {
        if (!cal_is_worth_a_run(counts, count, i)) continue;
        if (counts[i] == 1)
            rows[*priced] = one;
        else
            status = cal_world_find_price(source, counts[i], time, &one, &rows[*priced]);
        *priced += status == CAL_EXIT_DONE;
        cal_progress_show(&progress, (i + 1.0) / count);
    }
    cal_progress_end(&progress);
    return status;
}

int cal_plan_world(const char* name, const int* counts, int count, double time, bool json) {
    cal_world_source source;
    cal_priced_world* rows = calloc((size_t)count + 1, sizeof *rows);
    if (!rows) return cal_complain(CAL_EXIT_FAILED, "no memory for a plan of %d rows", count);
    int priced = 0, status = cal_world_source_open(name, &source);
    if (status == CAL_EXIT_DONE && time == 0) status = cal_world_choose_time(&source, &time);
    if (status == CAL_EXIT_DONE) status = find_prices(&source, counts, count, time, rows, &priced);
    if (status == CAL_EXIT_DONE) {
        if (json)
            print_json(name, time, rows, priced);
        else
            print_table(name, time, rows, priced);
        status = cal_finish_output(status);
    }
    cal_world_source_close(&source);
    free(rows);
    return status;
}
