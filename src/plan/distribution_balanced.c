// A distribution for machines with real cores: loads as equal as they can be, lanes full, and no more cores than pay.
//
// 1. Split. Starting from the ground, branches heavier than a small part of a processor's share are split at the fork at
//    their end; what is not split is a *task*, what is split is the *trunk*. What is lighter than what a message takes
//    is not cut off: it stays with the trunk that it hangs from.
//
//              ┌── task 0                  trunk A spans tasks 0 … 4
//        A ────┼── B ─┬─ task 1            trunk B spans tasks 1 … 3
//              │      ├─ task 2
//              │      └─ task 3            runs  0 | 1 2 3 | 4:  B is processor 1's, with all of its tasks
//              └── task 4                  runs  0 1 | 2 3 | 4:  B is shared
//
// 2. Deal out. Every processor gets a run of tasks that is contiguous in walking order, so that chains that hang side by
//    side stay in the lanes of one processor, and the trunks whose whole span it has. Shared trunks are processor 0's, or
//    each the one's that has its first task: the former is one hand-over deep, the latter spreads a large trunk; or, where
//    processors can show each other something (cal_costs.read), every processor's that has something below them. For a given time, runs are filled from the last task backwards; processor 0, which has the first tasks, takes what is left.
//    Bisection finds the shortest time that leaves it no more than that.
//
// 3. Choose. This is done for several numbers of processors, all kinds of trunks, and once more with everything cut off
//    however light, since siblings share a message; with a trunk that is everybody's also with larger tasks, since each is read by
//    others; the walks in virtual time (price.c) say what each takes. The fewest
//    processors within 2 % of the fastest win.
#include "base/memory.h"
#include "plan/branches.h"
#include "plan/distribution.h"

#include <string.h>

// A task is at most one part in so many of a processor's share; runs can be no finer.
enum { GRAIN = 32, COARSER = 4, BISECTIONS = 24 };

// Whose the shared trunks are.
typedef enum trunk_kind { CENTRAL, SPREAD, REPEATED } trunk_kind;

typedef struct trunk {
    int32_t branch;
    int32_t first, last; // tasks below
    double weight;       // of its chain and what stays with it
} trunk;

typedef struct task {
    int32_t branch;
    int32_t processor;
    double weight;
} task;

typedef struct dealer {
    const cal_model* model;
    const cal_costs* costs;
    cal_branches branches;
    double* weights;      // of the branches' subtrees, in joints
    int32_t* tasks_above; // per branch: tasks before it in walking order
    trunk* trunks;        // in walking order
    task* tasks;          // in walking order
    int trunk_count, task_count;
    int32_t* trunk_owners; // per branch
    int32_t* names;        // per run: the processor's number
} dealer;

static void weigh(dealer* d) {
    double scale = 0.0;
    for (int b = d->branches.count - 1; b >= 0; b--) {
        const cal_branch* branch = &d->branches.at[b];
        for (int node = branch->first; node < branch->first + branch->length; node++)
            d->weights[b] += cal_node_work(&d->model->nodes[node]);
        if (b > 0) d->weights[branch->parent] += d->weights[b];
    }
    if (d->weights[0] > 0.0) scale = d->model->node_count / d->weights[0]; // a joint takes `compute` on average
    for (int b = 0; b < d->branches.count; b++) d->weights[b] *= scale;
}

// Whether something below a branch's fork is worth cutting off.
static bool can_be_split(const dealer* d, int b, double least) {
    for (int child = b + 1; child < d->branches.at[b].next; child = d->branches.at[child].next)
        if (d->weights[child] >= least) return true;
    return false;
}

// Returns whether `least` kept anything from being cut off.
static bool split(dealer* d, double most, double least) {
    bool kept = false;
    d->trunk_count = d->task_count = 0;
    for (int b = 0; b < d->branches.count;) {
        const bool heavy = b == 0 || (d->weights[b] > most && d->branches.at[b].child_count > 0);
        d->tasks_above[b] = d->task_count;
        if (heavy && (b == 0 || can_be_split(d, b, least))) {
            double weight = d->weights[b];
            for (int child = b + 1; child < d->branches.at[b].next; child = d->branches.at[child].next)
                if (d->weights[child] >= least) weight -= d->weights[child];
            d->trunks[d->trunk_count++] = (trunk){.branch = b, .first = d->task_count, .weight = weight};
            b++;
            continue;
        }
        if (d->weights[b] >= least) d->tasks[d->task_count++] = (task){.branch = b, .weight = d->weights[b]};
        kept = kept || heavy || d->weights[b] < least;
        b = d->branches.at[b].next;
    }
    for (int i = 0; i < d->trunk_count; i++) {
        const int next = d->branches.at[d->trunks[i].branch].next;
        d->trunks[i].last = (next < d->branches.count ? d->tasks_above[next] : d->task_count) - 1;
    }
    return kept;
}

// Fills runs from the last task backwards, the last processor first, so that each is done at a time `load` after having
// waited for `delay`; false when processor 0, which waits for nobody but sends to everybody, is left with more than `load`.
static bool fill(dealer* d, int processors, trunk_kind kind, double load, double delay) {
    const bool spread = kind == SPREAD;
    const double send = kind == REPEATED ? 0.0 : 0.5 * d->costs->send / d->costs->compute; // two of the four passes
    double rest = d->weights[0];
    int i = d->task_count - 1, t = d->trunk_count - 1;
    for (int p = processors - 1; p > 0 && i >= 0; p--) {
        const int last = i;
        double sum = 0.0;
        while (i >= 0) {
            double more = d->tasks[i].weight;
            int before = t;
            for (; before > 0 && d->trunks[before].first == i; before--)
                if (spread || d->trunks[before].last <= last) more += d->trunks[before].weight;
            if (delay + sum + more > load) break;
            sum += more;
            t = before;
            d->tasks[i--].processor = p;
        }
        if (i < last) rest += send - sum;
    }
    for (; i >= 0; i--) d->tasks[i].processor = 0;
    return rest <= load;
}

static double weigh_shared(const dealer* d) {
    double sum = 0.0;
    for (int t = 0; t < d->trunk_count; t++)
        if (d->tasks[d->trunks[t].first].processor != d->tasks[d->trunks[t].last].processor) sum += d->trunks[t].weight;
    return sum;
}

// Others wait for a message, and for what processor 0 has to compute before it can send the last of them: the shared
// trunks, of which the last attempt tells how much they are.
static void deal(dealer* d, int processors, trunk_kind kind) {
    const double message = kind == REPEATED ? 0.0 : d->costs->message / d->costs->compute;
    double low = d->weights[0] / processors, high = d->weights[0], delay = message;
    for (int i = 0; i < BISECTIONS && high - low > 0.1; i++) {
        const double middle = 0.5 * (low + high);
        if (fill(d, processors, kind, middle, delay))
            high = middle;
        else
            low = middle;
        if (kind != SPREAD) delay = message + weigh_shared(d);
    }
    fill(d, processors, kind, high, delay);
}

static void write_owners(const dealer* d, trunk_kind kind, int32_t* owner) {
    for (int b = 0, t = 0, i = 0; b < d->branches.count;) {
        const cal_branch* branch = &d->branches.at[b];
        int end = branch->end, processor, next = branch->next;
        if (t < d->trunk_count && d->trunks[t].branch == b) {
            const int first = d->tasks[d->trunks[t].first].processor, last = d->tasks[d->trunks[t].last].processor;
            processor = kind == SPREAD || first == last ? first : kind == REPEATED ? CAL_EVERY_PROCESSOR : 0;
            d->trunk_owners[b] = processor;
            end = branch->first + branch->length, next = b + 1, t++;
        } else if (i < d->task_count && d->tasks[i].branch == b) {
            processor = d->tasks[i++].processor;
        } else {
            processor = d->trunk_owners[branch->parent];
        }
        for (int node = branch->first; node < end; node++) owner[node] = processor;
        b = next;
    }
}

// Renumbers processors in walking order, so that the first node is processor 0's and none is without work.
static int number_processors(dealer* d, int processors, int32_t* owner) {
    int used = 0;
    for (int p = 0; p < processors; p++) d->names[p] = -1;
    for (int node = 0; node < d->model->node_count; node++) {
        if (owner[node] == CAL_EVERY_PROCESSOR) continue;
        int32_t* name = &d->names[owner[node]];
        if (*name < 0) *name = used++;
        owner[node] = *name;
    }
    return used > 0 ? used : 1;
}

typedef struct choice {
    int32_t* owner;
    int used;
    double seconds;
} choice;

static bool is_better(const choice* a, const choice* b) {
    const double enough = 1.02;
    return a->used < b->used ? a->seconds <= b->seconds * enough : a->seconds * enough < b->seconds;
}

// Deals out what has been split.
static cal_status try_deal(dealer* d, int processors, trunk_kind kind, choice* trial, choice* best, cal_error* error) {
    deal(d, processors, kind);
    write_owners(d, kind, trial->owner);
    trial->used = number_processors(d, processors, trial->owner);
    const cal_status status =
        cal_price_owners(d->model, trial->owner, d->costs, trial->used, &trial->seconds, NULL, error);
    if (status == CAL_OK && is_better(trial, best)) {
        const choice swapped = *best;
        *best = *trial;
        *trial = swapped;
    }
    return status;
}

static cal_status choose(dealer* d, int processors, choice* trial, choice* best, cal_error* error) {
    cal_status status = CAL_OK;
    for (int p = 2; p <= processors && status == CAL_OK;) {
        // Siblings share a message, so that even the lightest may be worth one together.
        const double least[] = {d->costs->message / d->costs->compute, 0.0}, most = d->weights[0] / ((double)p * GRAIN);
        bool finer = true;
        for (int i = 0; i < 2 && finer && status == CAL_OK; i++) {
            finer = split(d, most, least[i]);
            if (d->task_count == 0) continue;
            status = try_deal(d, p, CENTRAL, trial, best, error);
            if (status == CAL_OK) status = try_deal(d, p, SPREAD, trial, best, error);
        }
        for (int grain = GRAIN; d->costs->read > 0.0 && grain > 0 && status == CAL_OK; grain /= COARSER) {
            split(d, d->weights[0] / ((double)p * grain), d->costs->read / d->costs->compute);
            if (d->task_count > 0) status = try_deal(d, p, REPEATED, trial, best, error);
        }
        const int next = p + 1 + p / 8;
        p = p < processors && next > processors ? processors : next;
    }
    return status;
}

cal_status cal_distribute_balanced(const cal_model* model, int processors, const cal_costs* costs, int32_t* owner,
                                   int* used, double* seconds, cal_error* error) {
    cal_status status = cal_check_costs(processors, costs, error);
    dealer d = {.model = model, .costs = costs};
    if (status == CAL_OK) status = cal_branches_create(model, &d.branches, error);
    if (status != CAL_OK) return status;
    const size_t count = (size_t)d.branches.count, node_count = (size_t)model->node_count;
    d.weights = cal_allocate(count, sizeof *d.weights);
    d.tasks_above = cal_allocate(count, sizeof *d.tasks_above);
    d.trunks = cal_allocate(count, sizeof *d.trunks);
    d.tasks = cal_allocate(count, sizeof *d.tasks);
    d.trunk_owners = cal_allocate(count, sizeof *d.trunk_owners);
    d.names = cal_allocate((size_t)processors, sizeof *d.names);
    choice best = {cal_allocate(node_count, sizeof *owner), 1, model->node_count * costs->compute};
    choice trial = {cal_allocate(node_count, sizeof *owner), 1, 0.0};
    if (!d.weights || !d.tasks_above || !d.trunks || !d.tasks || !d.trunk_owners || !d.names || !best.owner ||
        !trial.owner) {
        status = cal_fail(error, CAL_NO_MEMORY, "no memory for a distribution of %d joints", model->node_count);
    } else {
        weigh(&d);
        if (costs->compute > 0.0) status = choose(&d, processors, &trial, &best, error);
        memcpy(owner, best.owner, node_count * sizeof *owner);
        if (used) *used = best.used;
        if (seconds) *seconds = best.seconds;
    }
    cal_free(d.weights);
    cal_free(d.tasks_above);
    cal_free(d.trunks);
    cal_free(d.tasks);
    cal_free(d.trunk_owners);
    cal_free(d.names);
    cal_free(best.owner);
    cal_free(trial.owner);
    cal_branches_free(&d.branches);
    return status;
}
