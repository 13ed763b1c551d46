// Space is halved, again and again, across the axis along which the clusters that are left are spread most, in a gap between them where there is
// one near the middle: an island of bodies that touch nobody else stays whole, and a gas is cut into blocks.
//
//     1 worker   ├───────────────────────────────┤      The halves of a section have nothing to do with each other: while one core cuts
//     2          ├───────────────┼───────────────┤      the first time, the others wait; the next time two cut, then four: twice the time of
//     4          ├───────┼───────┼───────┼───────┤      the first cut in all.
#include "simulation/domain/halve.h"
#include "base/memory.h"
#include <string.h>

typedef cal_cluster cluster;

typedef struct key {
    uint32_t at;
    int cluster;
} key;

// A part of what is divided: keys of its clusters, with as much room for sorting and for a number of each, where they are, and among how many
// processors, or into how many domains, it is divided.
typedef struct section {
    key *keys, *others;
    double* low;
    int count, shares;
    cal_box region;
} section;

typedef struct cal_halving {
    const cluster* list;
    int* domains;        // of clusters
    section *now, *next; // sections from left to right, and two places for what each becomes; or d->turns places
    int count;
    int turns;     // into how many domains a processor's region is divided, where there are gaps or
    bool anywhere; // anywhere
} halving;

bool cal_clusters_begin(cal_clusters* clusters, int capacity) {
    const size_t count = (size_t)capacity + 1;
    clusters->list = cal_allocate(count, sizeof *clusters->list);
    clusters->numbers = cal_allocate(count, sizeof *clusters->numbers);
    clusters->domains = cal_allocate(count, sizeof *clusters->domains);
    return clusters->list != NULL && clusters->numbers != NULL && clusters->domains != NULL;
}

void cal_clusters_free(cal_clusters* clusters) {
    cal_free(clusters->list);
    cal_free(clusters->numbers);
    cal_free(clusters->domains);
    *clusters = (cal_clusters){0};
}

// --- Sorting ----------------------------------------------------------------------------------------------------------------------

// A number whose order is that of doubles but for their last 32 bits: what is so near to each other may be cut in any order.
static uint32_t key_of(double at) {
    uint64_t bits;
    memcpy(&bits, &at, sizeof bits);
    bits = bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
    return (uint32_t)(bits >> 32);
}

// By eleven bits after the other, the lowest first: equal ones stay in their order.
static void sort_keys(key* keys, key* others, int count) {
    enum { BITS = 11, KINDS = 1 << BITS, PASSES = (32 + BITS - 1) / BITS };
    int starts[KINDS];
    key *from = keys, *to = others;
    for (int pass = 0; pass < PASSES; pass++) {
        const int shift = BITS * pass;
        memset(starts, 0, sizeof starts);
        for (int i = 0; i < count; i++) starts[(from[i].at >> shift) & (KINDS - 1)]++;
        for (int k = 0, sum = 0; k < KINDS; k++) {
            const int kind = starts[k];
            starts[k] = sum;
            sum += kind;
        }
        for (int i = 0; i < count; i++) to[starts[(from[i].at >> shift) & (KINDS - 1)]++] = from[i];
        key* last = from;
        from = to;
        to = last;
    }
    if (from != keys) memcpy(keys, from, (size_t)count * sizeof *keys);
}

static double middle_of(const cluster* c, int axis) {
    const double middle = 0.5 * c->box.low[axis] + 0.5 * c->box.high[axis];
    return isfinite(middle) ? middle : 0.0;
}

// --- Cutting ----------------------------------------------------------------------------------------------------------------------

// Of the clusters of a section.
typedef struct spread {
    cal_box box;
    double total, heaviest;
} spread;

static spread measure(const halving* h, const section* s) {
    spread all = {.box = cal_box_of_nothing};
    for (int i = 0; i < s->count; i++) {
        const cluster* c = &h->list[s->keys[i].cluster];
        cal_box_extend(&all.box, &c->box);
        all.total += c->weight;
        all.heaviest = fmax(all.heaviest, c->weight);
    }
    return all;
}

// Along the axis along which they are spread most, from the lowest of them on.
static int sort_clusters(const halving* h, const section* s, const cal_box* all) {
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (all->high[i] - all->low[i] > all->high[axis] - all->low[axis]) axis = i;
    const double origin = isfinite(all->low[axis]) ? all->low[axis] : 0.0;
    for (int i = 0; i < s->count; i++) s->keys[i].at = key_of(middle_of(&h->list[s->keys[i].cluster], axis) - origin);
    sort_keys(s->keys, s->others, s->count);
    return axis;
}

// Where sorted clusters are cut: how many are below, and the plane. A wide gap near the share of the weight that is below: of two that are
// equally wide the nearer one, and none that is further off than what is uneven. Without one: the middle.
static int cut(const halving* h, const section* s, const spread* all, int axis, double share, double* plane,
               bool* gap_found) {
    const key* keys = s->keys;
    double *low = s->low, below = 0.0, best = -(double)INFINITY, reach = -(double)INFINITY,
           least = (double)INFINITY; // of what is above: found from the back
    int at = s->count / 2;
    *gap_found = false;
    *plane = s->count > 0 ? middle_of(&h->list[keys[at].cluster], axis) : 0.0;
    for (int i = s->count - 1; i >= 0; i--) low[i] = least = fmin(least, h->list[keys[i].cluster].box.low[axis]);
    for (int i = 1; i < s->count; i++) {
        const cluster *last = &h->list[keys[i - 1].cluster], *next = &h->list[keys[i].cluster];
        below += last->weight;
        reach = fmax(reach, last->box.high[axis]);
        const double off = fabs(below - share * all->total);
        if (below - share * all->total > fmax(CAL_UNEVEN * all->total, all->heaviest)) break;
        if (off > CAL_UNEVEN * all->total && !(off <= last->weight)) continue;
        const double gap = low[i] - reach, rank = gap > 0.0 ? gap * (1.0 - off / all->total) : -1.0 - off;
        if (rank <= best) continue;
        best = rank;
        at = i;
        *gap_found = gap > 0.0;
        *plane = gap > 0.0 ? 0.5 * (low[i] + reach) : 0.5 * (middle_of(last, axis) + middle_of(next, axis));
    }
    return at;
}

// Two parts, of which the first one has a share of the weight; whether there is a gap between them.
static bool halve(const halving* h, section whole, const spread* all, double share, section out[2]) {
    const int axis = sort_clusters(h, &whole, &all->box);
    bool gap;
    double plane;
    const int at = cut(h, &whole, all, axis, share, &plane, &gap);
    out[0] = out[1] = whole;
    out[0].count = at, out[1].count = whole.count - at;
    out[1].keys += at, out[1].others += at, out[1].low += at;
    out[0].region.high[axis] = out[1].region.low[axis] =
        fmin(fmax(plane, whole.region.low[axis]), whole.region.high[axis]);
    return gap;
}

// --- By all workers ---------------------------------------------------------------------------------------------------------------

// A section of several processors becomes two.
static void halve_section(cal_domains* d, int domain) {
    halving* h = d->halving;
    d->domains[domain].status = CAL_OK;
    if (domain > h->count) return;
    const section whole = h->now[domain - 1];
    section* out = &h->next[2 * (domain - 1)];
    out[0] = whole, out[1] = (section){0};
    const int half = whole.shares / 2;
    if (half == 0) return;
    const spread all = measure(h, &whole);
    halve(h, whole, &all, (double)half / whole.shares, out);
    out[0].shares = half, out[1].shares = whole.shares - half;
}

// What a processor gets becomes several domains, of which other processors can take some: where nothing lies across, so that they have nothing to
// tell each other, and anywhere where that is little beside what events take.
static section* divide_further(const halving* h, section whole, int domains, section* out) {
    section halves[2];
    if (domains > 1 && whole.count > 1) {
        const spread all = measure(h, &whole);
        if (halve(h, whole, &all, 0.5, halves) || h->anywhere) {
            out = divide_further(h, halves[0], domains / 2, out);
            return divide_further(h, halves[1], domains - domains / 2, out);
        }
    }
    *out = whole;
    out->shares = 1;
    return out + 1;
}

static void divide_section(cal_domains* d, int domain) {
    const halving* h = d->halving;
    d->domains[domain].status = CAL_OK;
    if (domain > h->count) return;
    section* out = &h->next[h->turns * (domain - 1)];
    section* end = divide_further(h, h->now[domain - 1], h->turns, out);
    for (; end < out + h->turns; end++) *end = (section){0};
}

static void name_domain(cal_domains* d, int domain) {
    const halving* h = d->halving;
    d->domains[domain].status = CAL_OK;
    for (int n = domain; n <= h->count; n += d->count) {
        const section* s = &h->now[n - 1];
        d->domains[n].region = s->region;
        for (int i = 0; i < s->count; i++) h->domains[s->keys[i].cluster] = n;
    }
}

// --- By one core ------------------------------------------------------------------------------------------------------------------

// What sections have become, of which each has so many places, in a row.
static void close_up(halving* h, int places) {
    int count = 0;
    for (int i = 0; i < h->count * places; i++)
        if (h->next[i].shares > 0) h->now[count++] = h->next[i];
    h->count = count;
}

static cal_status run_halving(cal_domains* d, halving* h, section whole, int regions, double most, cal_error* error) {
    const spread all = measure(h, &whole);
    if (all.heaviest > most * all.total) return CAL_OK;
    h->now[0] = whole;
    h->count = 1;
    d->halving = h;
    cal_status status = CAL_OK;
    while (status == CAL_OK && h->count < regions) {
        status = cal_domains_run_all(d, halve_section, error);
        close_up(h, 2);
    }
    if (status == CAL_OK && h->turns > 1) {
        status = cal_domains_run_all(d, divide_section, error);
        close_up(h, h->turns);
    }
    if (status == CAL_OK) status = cal_domains_run_all(d, name_domain, error);
    d->halving = NULL;
    return status;
}

cal_status cal_domains_halve(cal_domains* d, const cal_clusters* found, int regions, int turns, bool anywhere,
                             double most, int* domains, cal_error* error) {
    const cal_box everywhere = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    const size_t count = (size_t)found->count + 1, places = (size_t)regions * (size_t)(turns > 2 ? turns : 2);
    halving h = {.list = found->list, .domains = found->domains, .turns = turns, .anywhere = anywhere};
    section whole = {.count = found->count, .shares = regions, .region = everywhere};
    whole.keys = cal_allocate(count, sizeof *whole.keys);
    whole.others = cal_allocate(count, sizeof *whole.others);
    whole.low = cal_allocate(count, sizeof *whole.low);
    h.now = cal_allocate(places, sizeof *h.now);
    h.next = cal_allocate(places, sizeof *h.next);
    cal_status status = CAL_NO_MEMORY;
    if (whole.keys != NULL && whole.others != NULL && whole.low != NULL && h.now != NULL && h.next != NULL) {
        for (int i = 0; i < found->count; i++) whole.keys[i].cluster = found->numbers[i];
        status = run_halving(d, &h, whole, regions, most, error);
    } else {
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for domains");
    }
    void* const lists[] = {whole.keys, whole.others, whole.low, h.now, h.next};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
    *domains = h.count;
    return status;
}
