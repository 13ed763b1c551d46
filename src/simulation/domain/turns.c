// Who runs which domain. There are more domains than processors: those that have much to do in a window are taken first, and who is done takes
// what nobody has come to, so that few wait for the last one (Graham, Bounds on Multiprocessing Timing Anomalies, 1969: no more than a third longer
// than the best order takes). What a domain has to do is what it did in the last window. None of this changes what happens.
#include "simulation/domain/ranks.h"
#include "plan/machine_ops.h"

// A worker's own domains, whose numbers are in its core's caches, may be so much more than its share before another one gets the last of them.
#define UNEVEN 0.1

// Threads, or ranks.
static int workers_of(const cal_domains* d) { return d->ranks == NULL ? d->workers : cal_ranks_at_work(d->ranks); }

// Neighbours have the same worker; what they cost first is bodies (scatter.c).
void cal_domains_begin_turns(cal_domains* d) {
    const int workers = workers_of(d);
    for (int i = 1; i <= d->count; i++) {
        cal_domain* own = &d->domains[i];
        d->order[i - 1] = i;
        own->worker = (int)((int64_t)(i - 1) * workers / d->count);
        own->cost = own->next_cost = 0.0;
    }
}

// By what they cost; the order of the last time is nearly right.
static void sort_domains(cal_domains* d) {
    for (int k = 0; k < d->count; k++) {
        const int own = d->order[k];
        int at = k;
        for (; at > 0 && d->domains[d->order[at - 1]].cost < d->domains[own].cost; at--)
            d->order[at] = d->order[at - 1];
        d->order[at] = own;
    }
}

static int least_loaded(const double* loads, int count) {
    int least = 0;
    for (int i = 1; i < count; i++)
        if (loads[i] < loads[least]) least = i;
    return least;
}

// A rank keeps its domains.
void cal_domains_take_turns(cal_domains* d) {
    const int count = workers_of(d);
    if (d->ranks != NULL) return;
    double all = 0.0;
    sort_domains(d);
    for (int i = 0; i < count; i++) d->loads[i] = 0.0;
    for (int i = 1; i <= d->count; i++) all += d->domains[i].cost;
    for (int k = 0; k < d->count; k++) {
        cal_domain* own = &d->domains[d->order[k]];
        if (own->worker >= count || d->loads[own->worker] + own->cost > (1.0 + UNEVEN) * all / count)
            own->worker = least_loaded(d->loads, count);
        d->loads[own->worker] += own->cost;
    }
}

void cal_domains_run_some(cal_domains* d, int worker, void (*run)(cal_domains* d, int domain, int worker)) {
    for (int k = 0; k < d->count; k++)
        if (d->domains[d->order[k]].worker == worker) run(d, d->order[k], worker);
    for (int k = 0; k < d->count; k++)
        if (!atomic_load_explicit(&d->domains[d->order[k]].taken, memory_order_relaxed)) run(d, d->order[k], worker);
}

// What the processors take for some numbers, one of each domain, the largest first.
static double span_of(const cal_domains* d, double (*number)(const cal_domain* domain)) {
    double span = 0.0;
    const int processors = d->ranks != NULL ? workers_of(d) : d->processors;
    for (int i = 0; i < processors; i++) d->loads[i] = 0.0;
    for (int k = 0; k < d->count; k++) {
        const int first = d->ranks != NULL ? d->domains[d->order[k]].worker : least_loaded(d->loads, processors);
        d->loads[first] += number(&d->domains[d->order[k]]);
        span = fmax(span, d->loads[first]);
    }
    return span;
}

static double time_of(const cal_domain* domain) { return domain->spent - domain->spared; }
static double load_of(const cal_domain* domain) { return domain->load; }

// What help spares one processor the others do.
double cal_domains_span(const cal_domains* d) {
    double all = 0.0, spared = 0.0;
    for (int i = 1; i <= d->count; i++) all += d->domains[i].spent, spared += d->domains[i].spared;
    const double span = span_of(d, time_of);
    return spared > 0.0 ? fmax(span, all / d->processors) : span;
}

double cal_domains_span_of_loads(const cal_domains* d) { return span_of(d, load_of); }
