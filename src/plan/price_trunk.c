// What a distribution costs whose trunk every processor computes: the two exchanges of an evaluation in virtual time.
//
//     processor 0   out(trunk) ─ subtrees ─┬─ read ─ in(trunk) │ out(trunk) ─ subtrees ─┬─ read ─ in(trunk)
//     processor 1   out(trunk) ─ subtrees ─┴─ read ─ in(trunk) │ out(trunk) ─ subtrees ─┘
//
// Work is that of price.c: a quarter of a node's in each pass. What a processor shows is there for others a quarter of `message` later, and
// keeps each reader for a share of `read`, subtree by subtree. A node of the trunk is read for as soon as what hangs below it is there;
// one below which only some processors have something is shown in its turn, by the first of them. Sums are read by the first
// processor of a node, and where everything is shown to all by all. Then the decision for the next evaluation is shown by processor 0,
// or found by all.
#include "base/memory.h"
#include "plan/distribution.h"

#include <math.h>
#include <string.h>

typedef struct pricer {
    const cal_model* model;
    const cal_costs* costs;
    int processors;
    int32_t *first, *last; // runs of processors, per node
    int64_t* work;         // per node
    double *clocks, *privates,
        *shown;            // per processor: now; its own subtrees' work in a pass, s; when that is there for others
    double* arrivals;      // per node of the trunk: the same
    double scale, latency; // s per unit of work in a pass; from showing to being there
} pricer;

static bool is_trunk(const pricer* p, int node) { return p->first[node] < p->last[node]; }

static double work_of(const pricer* p, int node) { return p->scale * (double)p->work[node]; }

// What processor q reads below a node (of the ground: -1) and others have.
static void read(pricer* p, int node, int q, double share) {
    const cal_model* model = p->model;
    const int end = node < 0 ? model->node_count : model->nodes[node].end;
    for (int child = node + 1; child < end; child = model->nodes[child].end) {
        if (p->first[child] <= q && q <= p->last[child]) continue;
        const double there = is_trunk(p, child) ? p->arrivals[child] : p->shown[p->first[child]];
        p->clocks[q] = fmax(p->clocks[q], there) + share * p->costs->read;
    }
}

static void walk(pricer* p, bool sums) {
    const cal_model* model = p->model;
    const double share = sums ? 1.0 - CAL_READ_FIRST : CAL_READ_FIRST;
    for (int node = 0; node < model->node_count; node++)
        for (int q = p->first[node]; is_trunk(p, node) && q <= p->last[node]; q++) p->clocks[q] += work_of(p, node);
    for (int q = 0; q < p->processors; q++) {
        p->clocks[q] += 2.0 * p->privates[q];
        p->shown[q] = p->clocks[q] + p->latency;
    }
    for (int node = model->node_count - 1; node >= 0; node--) {
        if (!is_trunk(p, node)) continue;
        for (int q = p->first[node]; q <= p->last[node]; q++) {
            if (!sums || q == p->first[node] || p->costs->to_all) read(p, node, q, share);
            p->clocks[q] += work_of(p, node);
        }
        p->arrivals[node] = p->clocks[p->first[node]] + p->latency;
    }
    for (int q = 0; sums && q < (p->costs->to_all ? p->processors : 1); q++) read(p, -1, q, share);
}

// alone: the work of one processor that has all.
static double evaluate(pricer* p, int64_t alone, double* busy) {
    const cal_model* model = p->model;
    double work = 0.0, end = 0.0;
    p->scale = alone > 0 ? model->node_count * p->costs->compute / (4.0 * (double)alone) : 0.0;
    for (int node = 0; node < model->node_count; node++) {
        if (!is_trunk(p, node)) p->privates[p->first[node]] += work_of(p, node);
        work += 4.0 * (p->last[node] - p->first[node] + 1) * work_of(p, node);
    }
    for (int q = 1; q < p->processors && !p->costs->to_all; q++) p->clocks[q] = p->latency;
    walk(p, false);
    walk(p, true);
    for (int q = 0; q < (p->costs->to_all ? p->processors : 1); q++) end = fmax(end, p->clocks[q]);
    if (busy) *busy = end > 0.0 ? work / (end * p->processors) : 0.0;
    return end;
}

cal_status cal_price_trunk(const cal_model* model, const int32_t* owner, const cal_costs* costs, int processors,
                           double* seconds, double* busy, cal_error* error) {
    const size_t count = (size_t)model->node_count, size = (size_t)processors;
    int32_t* runs = cal_allocate(2 * count, sizeof *runs);
    double* times = cal_allocate(count + 3 * size, sizeof *times);
    int64_t *work = cal_allocate(count, sizeof *work), alone = 0;
    cal_status status = CAL_OK;
    if (runs && times && work) {
        pricer p = {.model = model,
                    .costs = costs,
                    .processors = processors,
                    .first = runs,
                    .last = runs + count,
                    .work = work,
                    .clocks = times,
                    .privates = times + size,
                    .shown = times + 2 * size,
                    .arrivals = times + 3 * size,
                    .latency = 0.25 * costs->message};
        memcpy(p.first, owner, count * sizeof *owner);
        cal_find_runs(model, processors, costs->to_all, p.first, p.last);
        status = cal_find_node_work(model, p.first, p.last, processors, costs->lanes, work, &alone, error);
        if (status == CAL_OK) *seconds = evaluate(&p, alone, busy);
    } else {
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for pricing %d joints on %d processors", model->node_count,
                          processors);
    }
    cal_free(runs);
    cal_free(times);
    cal_free(work);
    return status;
}
