// A divided world on ranks. Every rank has the whole of it, and a share of the domains. A run has two halves: first every rank takes the
// events of its own domains, and keeps what took long (memo.h); then all show each other what they have kept, and take the events of
// the others' domains, for which nothing long is left to compute. So after a run all ranks have the same world again, and do what is between
// runs alike. What ranks decide by their clocks (whether a division is worth it) they decide by numbers that all have seen.
//
//     rank 0   run 1, 3 ──▸ ┐ gather ┌──▸ repeat 2, 4 ──▸ meet ──▸ …
//     rank 1   run 2, 4 ──▸ ┘        └──▸ repeat 1, 3 ──▸ meet ──▸ …
#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/domain/domain.h"
#include "simulation/world.h"
#include <limits.h>
#include <string.h>

enum { WORDS, OWN, OTHER, HEAD };

// By turns, which depend on counts of events, and so are the same on all ranks.
static bool is_own(const cal_domains* d, int domain) { return d->domains[domain].worker == d->ranks->keep; }

static void run_half(cal_domains* d, cal_domain_task* task, bool own, cal_memo* memo) {
    for (int i = 1; i <= d->count; i++) {
        if (is_own(d, i) != own) continue;
        cal_domain* domain = &d->domains[i];
        const int64_t events = domain->events;
        domain->world->memo = memo;
        task(d, i);
        domain->world->memo = NULL;
        domain->next_cost += (double)(domain->events - events);
    }
}

// What all ranks have kept, and how long they have taken for their own domains and since the last time for everything else.
static cal_status show(cal_domains* d, double own_s, double other_s, cal_error* error) {
    const int ranks = d->ranks->processors;
    const double **all = cal_allocate((size_t)ranks, sizeof *all), mine[HEAD] = {(double)d->kept.count, own_s, other_s};
    double *heads = cal_allocate((size_t)(HEAD * ranks), sizeof *heads),
           *lengths = cal_allocate((size_t)ranks, sizeof *lengths), *room = NULL;
    cal_status status = all != NULL && heads != NULL && lengths != NULL ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) status = d->ranks->ops->gather(d->ranks, d->ranks->keep, mine, HEAD, heads, all);
    double most = 0.0, busiest = 0.0, other = 0.0;
    for (int p = 0; status == CAL_OK && p < ranks; p++) {
        lengths[p] = all[p][WORDS];
        most = fmax(most, all[p][WORDS]);
        busiest = fmax(busiest, all[p][OWN]);
        other = fmax(other, all[p][OTHER]);
        d->shown_s += all[p][OWN];
    }
    d->rank_busiest_s += busiest, d->rank_other_s += other;
    if (status == CAL_OK && most > (double)INT_MAX) status = CAL_NO_MEMORY;
    if (status == CAL_OK) room = cal_allocate((size_t)ranks * (size_t)most + 1, sizeof *room);
    if (status == CAL_OK && (room == NULL || !cal_memo_reserve(&d->kept, (size_t)most + 1))) status = CAL_NO_MEMORY;
    if (status == CAL_OK && most > 0.0)
        status = d->ranks->ops->gather(d->ranks, d->ranks->keep, d->kept.words, (int)most, room, all);
    if (status == CAL_OK && !cal_memo_index(&d->shown, most > 0.0 ? ranks : 0, (size_t)most, all, lengths))
        status = CAL_NO_MEMORY;
    cal_free(all);
    cal_free(heads);
    cal_free(lengths);
    cal_free(room);
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "ranks could not show each other what they computed");
}

cal_status cal_ranks_compare(cal_domains* d, bool* same, cal_error* error) {
    enum { DIVIDED, WINDOWS, RUNS, NUMBERS };
    const int ranks = d->ranks->processors;
    const double **all = cal_allocate((size_t)ranks, sizeof *all),
                 mine[NUMBERS] = {d->divided ? 1.0 : 0.0, (double)d->windows, (double)d->runs};
    double* room = cal_allocate((size_t)(NUMBERS * ranks), sizeof *room);
    cal_status status = all != NULL && room != NULL ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) status = d->ranks->ops->gather(d->ranks, d->ranks->keep, mine, NUMBERS, room, all);
    *same = true;
    for (int p = 0; status == CAL_OK && p < ranks; p++)
        for (int i = 0; i < NUMBERS; i++) *same &= all[p][i] == mine[i];
    // Every rank must come to the same answer.
    const double agrees = *same ? 1.0 : 0.0;
    if (status == CAL_OK) status = d->ranks->ops->gather(d->ranks, d->ranks->keep, &agrees, 1, room, all);
    for (int p = 0; status == CAL_OK && p < ranks; p++) *same &= all[p][0] != 0.0;
    cal_free(all);
    cal_free(room);
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "ranks could not agree on how a world is divided");
}

cal_status cal_ranks_run(cal_domains* d, cal_domain_task* task, double (*clock)(void), cal_error* error) {
    const double begin = clock();
    d->kept.count = 0;
    run_half(d, task, true, &d->kept);
    const double own = clock() - begin;
    const cal_status status = show(d, own, begin - d->rank_mark, error);
    d->rank_mark = clock(); // who waits for others counts as nothing
    if (status == CAL_OK) run_half(d, task, false, &d->shown);
    return status;
}
