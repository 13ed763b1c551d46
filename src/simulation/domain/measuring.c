// See measuring.h.
#include "simulation/domain/measuring.h"
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/component.h"
#include "simulation/domain/ranks.h"
#include "simulation/world.h"
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

_Static_assert((int)CAL_SHARING_RANKS >= (int)CAL_MOST_RANKS, "each rank with domains has a place");

enum { LINE = 8, LOOKS = 64 }; // words of a cache line; looks at another rank between two at the clock

// Behind what a rank deposits: whether it has measured, in a cache line of its own, and what it has found.
typedef struct place {
    _Alignas(64) atomic_int measured; // 1: yes; −1: it cannot be
} place;

static size_t line_after(size_t words) { return (words + LINE - 1) / LINE * LINE; }

static bool are_alone(const cal_domains* d) { return !d->grouping && d->whole->multibody_count == 0; }

static place* place_of(const cal_domains* d, int rank) {
    const cal_image* image = &d->mail->deposited[rank];
    return (place*)(void*)(image->words + line_after(image->count));
}

static cal_body_terms* terms_of(const cal_domains* d, int rank) {
    return (cal_body_terms*)(void*)(place_of(d, rank) + 1);
}

// The rank that each body belongs to.
static bool find_owners(cal_domains* d) {
    cal_mail* m = d->mail;
    const cal_world* whole = d->whole;
    if (m->owner_count != whole->body_count) {
        cal_free(m->owners);
        m->owner_count = 0;
        m->owners = cal_allocate((size_t)whole->body_count + 1, sizeof *m->owners);
        if (m->owners == NULL) return false;
        m->owner_count = whole->body_count;
    }
    for (int i = 0; i < whole->body_count; i++) {
        const int component = whole->bodies[i].component;
        m->owners[i] = component >= 0 ? (int8_t)d->domains[whole->components[component].domain].worker : -1;
    }
    return true;
}

size_t cal_rank_words_with_terms(const cal_domains* d, size_t words) {
    size_t bodies = 0;
    for (int i = 1; are_alone(d) && i <= d->count; i++)
        if (cal_domain_is_own(d, i)) bodies += (size_t)d->domains[i].member_count;
    return line_after(words) + (sizeof(place) + bodies * sizeof(cal_body_terms)) / sizeof(uint64_t);
}

void cal_rank_begin_terms(cal_domains* d) { atomic_store(&place_of(d, d->ranks->keep)->measured, 0); }

// Its own bodies, in their order.
static bool measure_own(cal_domains* d) {
    cal_body_terms* out = terms_of(d, d->ranks->keep);
    for (int i = 0; i < d->whole->body_count; i++) {
        if (d->mail->owners[i] != d->ranks->keep) continue;
        const int component = d->whole->bodies[i].component;
        cal_body_terms* one = out++;
        memset(one, 0, sizeof *one);
        if (cal_measure_body(d->whole, i, &one->measured) != CAL_OK ||
            d->whole->components[component].ops->flowed(d->whole, component, d->whole->time, &one->flows) != CAL_OK)
            return false;
    }
    return true;
}

static bool wait_for(const cal_domains* d, int rank, double until) {
    for (unsigned looks = 1;; looks++) {
        const int measured = atomic_load_explicit(&place_of(d, rank)->measured, memory_order_acquire);
        if (measured != 0) return measured > 0;
        if (looks % LOOKS != 0) continue;
        if (cal_elapsed_time() > until) return false;
        sched_yield();
    }
}

bool cal_rank_measure(cal_world* world, cal_shared_terms* out) {
    cal_domains* d = world->domains;
    if (d == NULL || d->mail == NULL || !d->mail->shares || !are_alone(d)) return false;
    const double begin = cal_elapsed_time();
    place* own = place_of(d, d->ranks->keep);
    if (atomic_load_explicit(&own->measured, memory_order_relaxed) == 0)
        atomic_store_explicit(&own->measured, find_owners(d) && measure_own(d) ? 1 : -1, memory_order_release);
    const double now = cal_elapsed_time(), until = now + cal_ranks_at_work(d->ranks) * (now - begin);
    *out = (cal_shared_terms){.owners = d->mail->owners, .count = world->body_count};
    for (int p = 0; p < cal_ranks_at_work(d->ranks); p++) {
        if (!wait_for(d, p, until)) return d->mail->shares = false;
        out->next[p] = terms_of(d, p);
    }
    return true;
}

const cal_body_terms* cal_next_terms(cal_shared_terms* walk) {
    while (walk->body < walk->count) {
        const int owner = walk->owners[walk->body++];
        if (owner >= 0) return walk->next[owner]++;
    }
    return NULL;
}
