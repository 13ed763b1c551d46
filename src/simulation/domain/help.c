// Help for a busy domain. An event may have parts that have nothing to do with each other: the pairs of a body that goes another way, the pairs of a contact
// group. A worker that has no domain left to take in a run takes such parts of those that still run, one at a time:
//
//     worker 1   ──event──┬ part 1 ┬ part 4 ┬────┬ takes what was found, in order ──event──
//     worker 2   ─ done ··┴ part 2 ┴ part 5 ┴····┘
//     worker 3   ─ done ··┴ part 3      ┴········
//
// A part reads what others read, too, and writes what is its own; what comes of all parts is taken in their order by whoever offered them. So no bit depends on
// who did what, or on whether anybody helped.
//
// Nothing is locked. An offer is one word: its number, how many parts it has, and the first that nobody has taken; who can add one to the word has taken a part.
// Numbers go on from offer to offer, so that a word that was read before the last offer ended cannot be added to.
#define _POSIX_C_SOURCE 200809L
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/domain/domain.h"
#include <sched.h>

enum {
    MOST_PARTS = 0xffff,
    PATIENCE = 2000 // looks for an offer before a worker gives its core away, for once
};

#define COUNT_SHIFT 16
#define NUMBER_SHIFT 32

// What a worker offers to others.
struct cal_offer {
    _Alignas(64) atomic_ullong word; // number, parts, first part that nobody has taken
    cal_part_task* task;
    void* user;
    _Alignas(64) atomic_int done; // parts
};

cal_status cal_domains_begin_help(cal_domains* d, cal_error* error) {
    d->offers = cal_allocate((size_t)d->workers, sizeof *d->offers);
    if (d->offers == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d workers", d->workers);
    return CAL_OK;
}

static bool has_part(unsigned long long word) { return (word & MOST_PARTS) < (word >> COUNT_SHIFT & MOST_PARTS); }

// Does a part of an offer; false: there is none left.
static bool take_part(struct cal_offer* offer) {
    unsigned long long word = atomic_load_explicit(&offer->word, memory_order_relaxed);
    if (!has_part(word)) return false;
    if (!atomic_compare_exchange_strong_explicit(&offer->word, &word, word + 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return true; // somebody else has it: there may be another one
    offer->task(offer->user, (int)(word & MOST_PARTS));
    atomic_fetch_add_explicit(&offer->done, 1, memory_order_release);
    return true;
}

void cal_domains_help(cal_domains* d, int worker) {
    if (!d->helps) return;
    atomic_fetch_add(&d->idle, 1);
    atomic_fetch_sub(&d->at_work, 1);
    for (int waited = 0; atomic_load_explicit(&d->at_work, memory_order_relaxed) > 0; waited++) {
        // Each looks at another one first.
        for (int k = 1; k < d->workers; k++) {
            struct cal_offer* offer = &d->offers[(worker + k) % d->workers];
            if (!has_part(atomic_load_explicit(&offer->word, memory_order_relaxed))) continue;
            const double begin = cal_elapsed_time();
            while (take_part(offer)) {}
            atomic_fetch_add(&d->helped_ns, (long long)(1e9 * (cal_elapsed_time() - begin)));
            waited = 0;
        }
        if (cal_border_look_some(d)) waited = 0;
        if (waited >= PATIENCE) sched_yield();
    }
    (void)cal_border_look_some(d);
    atomic_fetch_sub(&d->idle, 1);
}

bool cal_domain_has_help(const cal_world* world) {
    const cal_domains* d = world->domains;
    if (d == NULL || world->domain <= CAL_DOMAIN_WHOLE) return false;
    if (d->priced) return d->processors > 1;
    return d->given || (d->helps && atomic_load_explicit(&d->idle, memory_order_relaxed) > 0);
}

// Of a world that is priced: how much of what all parts take is spared where others help, of the processors that there are and of any number.
static void price_parts(cal_domains* d, int count, cal_part_task* task, void* user) {
    const double begin = cal_processor_time(), began = cal_elapsed_time();
    double most = 0.0, now = began;
    for (int i = 0; i < count; i++) {
        const double before = now;
        task(user, i);
        now = cal_elapsed_time();
        most = fmax(most, now - before);
    }
    const double spent = cal_processor_time() - begin, last = now > began ? most / (now - began) : 1.0;
    d->spared_s += spent * (1.0 - fmax(last, 1.0 / d->processors));
    d->spared_most_s += spent * (1.0 - last);
}

void cal_domain_share_out(const cal_world* world, int count, cal_part_task* task, void* user) {
    cal_domains* d = world->domains;
    if (d != NULL && d->priced && count > 1) {
        price_parts(d, count, task, user);
        return;
    }
    if (count < 2 || count > MOST_PARTS || d == NULL || !d->helps) {
        // The last one first, so that tests see what depends on their order.
        for (int i = count - 1; i >= 0; i--) task(user, i);
        return;
    }
    struct cal_offer* offer = &d->offers[d->domains[world->domain].runner];
    const unsigned long long number = (atomic_load_explicit(&offer->word, memory_order_relaxed) >> NUMBER_SHIFT) + 1;
    offer->task = task, offer->user = user;
    atomic_store_explicit(&offer->done, 0, memory_order_relaxed);
    atomic_store_explicit(&offer->word, number << NUMBER_SHIFT | (unsigned long long)count << COUNT_SHIFT,
                          memory_order_release);
    while (take_part(offer)) {}
    for (int waited = 0; atomic_load_explicit(&offer->done, memory_order_acquire) < count; waited++)
        if (waited >= PATIENCE) sched_yield();
}
