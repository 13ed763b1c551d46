// What ranks show to all at the end of an advance; see ranks.h.
//
// Counters and the log go to all at once. States go to whoever asks for them: each rank deposits those of its own components that somebody may not know, in
// memory that the ranks of a host share, and takes the others' when it is asked for something that needs them. What is deposited is all that has changed
// since all ranks had taken everything. Ranks of several hosts tell each other their states at once, in parts.
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/domain/ranks.h"
#include "simulation/event/callbacks.h"
#include "simulation/event/fetch.h"
#include "simulation/event/log.h"
#include "simulation/motion/free_body.h"
#include "simulation/state/graph.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"
#include <stdlib.h>
#include <string.h>

// --- To all -----------------------------------------------------------------------------------------------------------------------

static void put_log(cal_domains* d, cal_image* own) {
    const cal_event_log* log = &d->committed;
    int count = (int)(log->tail - log->head);
    cal_image_int(own, &count);
    for (int64_t i = log->head; i < log->tail; i++)
        cal_image_event(own, d->whole->first_id, &log->events[(size_t)i % (size_t)log->capacity]);
    d->committed.head = d->committed.tail = 0;
}

// What goes in parts has room on the board that ranks share: so nobody keeps memory for all that the others have.
enum { PART = 16384 };

// Of components: those that somebody does not know. It is forgotten when all have taken what was shown (cal_rank_forget_news).

// The first component from one on that is new to others; as many as there are components: none.
static int next_news(const cal_domains* d, int from) {
    for (; from < d->whole->component_count; from++) {
        const cal_component* c = &d->whole->components[from];
        if (c->ops != NULL && (c->news & CAL_NEWS_ALL) != 0 && cal_domain_is_own(d, c->domain)) break;
    }
    return from;
}

// From a component on, as much as there is in a part; whoever asks, asks for the committed time; only groups look back. Each says which one comes after the next
// one, so that it is on its way to whoever reads.
static void put_news(cal_domains* d, cal_image* own, size_t most, int* from) {
    const double since = d->grouping ? -(double)INFINITY : d->begin;
    const int count = d->whole->component_count;
    int i = next_news(d, *from);
    for (int next = next_news(d, i + 1), after; i < count && own->count < most; i = next, next = after) {
        const cal_component* c = &d->whole->components[i];
        after = next_news(d, next + 1);
        int numbers[3] = {i, c->domain, after < count ? after : 0};
        cal_image_ints(own, numbers, 3);
        cal_image_states(own, d->whole, i, since, NULL);
    }
    *from = i;
    int end[3] = {-1, 0, 0};
    cal_image_ints(own, end, 3);
}

// Where there have been no groups: bodies of own domains, from a place on (a domain, and a member of it), as many as there is room for in a part. Whether there
// are more.
static bool list_news(cal_domains* d, cal_image* own, size_t most, int place[2]) {
    const cal_world* whole = d->whole;
    size_t words = own->count;
    d->cluster_count = 0;
    for (; place[0] <= d->count; place[0]++, place[1] = 0) {
        const cal_domain* from = &d->domains[place[0]];
        for (; cal_domain_is_own(d, place[0]) && place[1] < from->member_count; place[1]++) {
            const int component = from->members[place[1]];
            const cal_component* c = &whole->components[component];
            if ((c->news & CAL_NEWS_ALL) == 0) continue;
            if (words >= most) return true;
            if (!cal_grow((void**)&d->cluster, &d->cluster_capacity, d->cluster_count, sizeof *d->cluster)) {
                own->status = CAL_NO_MEMORY;
                return false;
            }
            d->cluster[d->cluster_count++] = component;
            words += (size_t)c->queue.size / sizeof(uint64_t);
        }
    }
    return false;
}

// Of a free body that flies from its newest state on that one is all there is to know: as it is in memory.
static void move_newest(cal_image* image, cal_world* view, int component) {
    cal_component* c = &view->components[component];
    cal_image_number(image, &c->local_time);
    cal_image_long(image, &c->queue.tail);
    if (!image->writes) {
        const bool sound = cal_image_check(image, c->ops != NULL && c->ops->single && c->queue.tail > 0);
        const int64_t tail = c->queue.tail;
        c->queue.head = c->queue.tail = 0; // there is nothing to be moved where room is made
        if (sound && !cal_queue_reserve(&c->queue, 1)) image->status = CAL_NO_MEMORY;
        if (image->status != CAL_OK) return;
        c->queue.head = tail - 1, c->queue.tail = tail;
    }
    cal_saved_state* newest = cal_saved_state_at(&c->queue, c->queue.tail - 1);
    cal_image_words(image, newest, (size_t)c->queue.size / sizeof(uint64_t));
    if (image->writes) return;
    newest->junction = -1;
    cal_free_body_note_course(view, component);
}

static bool is_newest_all(const cal_domains* d, const cal_component* c) {
    return c->ops->single && cal_saved_state_at(&c->queue, c->queue.tail - 1)->time <= d->begin;
}

// Numbers of bodies first, so that what is read of them is on its way; below zero: of the domain, where the newest state is all there is.
static bool put_bodies(cal_domains* d, cal_image* own, size_t most, int place[2]) {
    const bool more = list_news(d, own, most, place);
    cal_image_int(own, &d->cluster_count);
    for (int i = 0; i < d->cluster_count; i++) {
        const cal_component* c = &d->whole->components[d->cluster[i]];
        int numbers[2] = {d->cluster[i], is_newest_all(d, c) ? -c->domain : c->domain};
        cal_image_ints(own, numbers, 2);
    }
    for (int i = 0; i < d->cluster_count; i++) {
        if (is_newest_all(d, &d->whole->components[d->cluster[i]]))
            move_newest(own, d->whole, d->cluster[i]);
        else
            cal_image_states(own, d->whole, d->cluster[i], d->begin, NULL);
    }
    return more;
}

// A number of the list that is not looked at yet; 0: it has ended, or makes no sense.
static int listed(const cal_domains* d, const cal_image* list, int ahead) {
    const size_t at = list->at + 2 * (size_t)ahead;
    const uint64_t number = at < list->count ? list->words[at] : 0;
    return number < (uint64_t)d->whole->component_count ? (int)number : 0;
}

static void take_bodies(cal_domains* d, cal_image* in, cal_error* error) {
    enum { COMPONENT = 8, STATE = 4 };
    int count = 0;
    cal_image_int(in, &count);
    if (!cal_image_check(in, count >= 0 && 2 * (size_t)count <= in->count - in->at)) return;
    cal_image list = *in;
    list.count = in->at + 2 * (size_t)count;
    in->at = list.count;
    for (int i = 0; i < count && in->status == CAL_OK; i++) {
        int numbers[2] = {-1, 0};
        __builtin_prefetch(&d->whole->components[listed(d, &list, COMPONENT)]);
        cal_fetch_state(d->whole, listed(d, &list, STATE));
        cal_image_ints(&list, numbers, 2);
        const int domain = abs(numbers[1]);
        if (!cal_image_check(in, numbers[0] >= 0 && numbers[0] < d->whole->component_count && domain >= 1 &&
                                     domain <= d->count))
            return;
        d->whole->components[numbers[0]].domain = domain;
        if (numbers[1] < 0)
            move_newest(in, cal_domain_world(d, domain), numbers[0]);
        else
            cal_image_states(in, cal_domain_world(d, domain), numbers[0], 0.0, error);
    }
}

// Groups that have come and gone: others may have them still. And how far callbacks have come.
static void put_places(const cal_domains* d, cal_image* own) {
    for (int i = 1; d->grouping && i <= d->count; i++) {
        const cal_world* view = d->domains[i].world;
        if (cal_domain_is_own(d, i)) cal_image_ints(own, view->unused_components, (size_t)view->unused_count);
    }
    int end = -1;
    cal_image_int(own, &end);
    for (int h = 0; h < d->whole->periodic_hook_count; h++) {
        cal_periodic_hook* hook = &d->whole->periodic_hooks[h];
        if (hook->count == 0 || !cal_domain_is_own(d, hook->domain)) continue;
        cal_image_int(own, &h);
        cal_image_long(own, &hook->tick);
    }
}

static void take_news(cal_domains* d, cal_image* in, cal_error* error) {
    const int count = d->whole->component_count;
    for (int next = 0;;) {
        int numbers[3] = {-1, 0, 0};
        cal_image_ints(in, numbers, 3);
        if (in->status != CAL_OK || numbers[0] < 0) return;
        if (!cal_image_check(in, numbers[0] < count && numbers[1] >= 1 && numbers[1] <= d->count && numbers[2] >= 0 &&
                                     numbers[2] < count))
            return;
        __builtin_prefetch(&d->whole->components[numbers[2]]);
        cal_fetch_state(d->whole, next);
        next = numbers[2];
        d->whole->components[numbers[0]].domain = numbers[1];
        cal_image_states(in, cal_domain_world(d, numbers[1]), numbers[0], 0.0, error);
    }
}

static void take_places(cal_domains* d, cal_image* in) {
    for (;;) {
        int place = -1;
        cal_image_int(in, &place);
        if (in->status != CAL_OK || place < 0) break;
        if (!cal_image_check(in, place < d->whole->component_count)) return;
        cal_component* c = &d->whole->components[place];
        cal_group_free(c->group);
        cal_queue_destroy(&c->queue);
        *c = (cal_component){.number = place, .body = -1};
    }
    while (in->status == CAL_OK && in->at < in->count) {
        int hook = -1;
        int64_t tick = 0;
        cal_image_int(in, &hook);
        cal_image_long(in, &tick);
        if (cal_image_check(in, hook >= 0 && hook < d->whole->periodic_hook_count))
            d->whole->periodic_hooks[hook].tick = tick;
    }
}

static cal_status take_logs(cal_domains* d, cal_error* error) {
    cal_mail* m = d->mail;
    int all = 0, taken = 0;
    int* counts = m->counts;
    for (int p = 0; p < m->ranks; p++) {
        cal_image_int(&m->shown[p], &counts[p]);
        all += counts[p];
    }
    cal_world_event* events = cal_allocate((size_t)all + 1, sizeof *events);
    if (events == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
    for (int p = 0; p < m->ranks; p++)
        for (int i = 0; i < counts[p]; i++) cal_image_event(&m->shown[p], d->whole->first_id, &events[taken++]);
    const cal_status status = cal_log_add_all(&d->whole->log, events, (size_t)all, error);
    cal_free(events);
    return status;
}

// What was counted, and the log: of each rank.
static cal_status take_counts(cal_domains* d, cal_error* error) {
    cal_mail* m = d->mail;
    for (int p = 0; p < m->ranks; p++) {
        cal_world_report counted = {0};
        cal_image_report(&m->shown[p], &counted);
        cal_world_add_report(&d->whole->report, &counted);
    }
    return take_logs(d, error);
}

// --- States -----------------------------------------------------------------------------------------------------------------------

// As much as there is room for, from a place on: a component, or a domain and a member. Whether more follows, which a part says first.
static bool put_part(cal_domains* d, cal_image* own, size_t most, int next[2]) {
    bool follows = true;
    const size_t at = own->count;
    cal_image_bool(own, &follows);
    if (d->grouping) {
        put_news(d, own, most, next);
        follows = *next < d->whole->component_count;
    } else {
        follows = put_bodies(d, own, most, next);
    }
    if (!follows) put_places(d, own);
    if (own->status == CAL_OK) own->words[at] = follows;
    return follows;
}

static void take_part(cal_domains* d, cal_image* in, cal_error* error) {
    bool follows = false;
    if (in->count == 0) return;
    cal_image_bool(in, &follows);
    if (d->grouping)
        take_news(d, in, error);
    else
        take_bodies(d, in, error);
    if (!follows) take_places(d, in);
}

// Of others' components those that have not changed are where they were going.
static void follow_others(const cal_domains* d) {
    for (int i = 0; i < d->whole->component_count; i++) {
        cal_component* c = &d->whole->components[i];
        if (c->ops == NULL || c->ops->stepped || cal_domain_is_own(d, c->domain)) continue;
        if (!d->grouping || !cal_component_is_fused(c)) c->local_time = d->begin;
    }
}

static cal_status show_in_parts(cal_domains* d, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    int next[2] = {0, 0};
    for (bool rest = true, more = true; more;) {
        cal_mail_begin(&m->own);
        if (rest && status == CAL_OK) rest = put_part(d, &m->own, PART, next);
        status = cal_rank_gather(d, status, error);
        if (status != CAL_OK) return status;
        more = false;
        for (int p = 0; p < m->ranks; p++) more |= m->shown[p].count > 0 && m->shown[p].words[0] != 0;
        for (int p = 0; status == CAL_OK && p < m->ranks; p++) {
            if (p != d->ranks->keep) take_part(d, &m->shown[p], error);
            status = cal_rank_check(&m->shown[p], error);
        }
    }
    follow_others(d);
    return cal_rank_agree(d, status, error); // who cannot take the last part says so
}

// --- Where ranks share memory -----------------------------------------------------------------------------------------------------

// Callbacks see what is their bodies', and whoever else asks comes between two advances.
cal_status cal_world_complete(const cal_world* world) {
    cal_domains* d = world->domains;
    if (d == NULL || d->mail == NULL || !d->mail->pending) return CAL_OK;
    cal_mail* m = d->mail;
    cal_status status = CAL_OK;
    m->pending = false;
    for (int p = 0; status == CAL_OK && p < m->ranks; p++) {
        cal_image in = m->deposited[p];
        if (p == d->ranks->keep) continue;
        take_part(d, &in, NULL);
        status = cal_rank_check(&in, NULL);
    }
    if (status == CAL_OK) follow_others(d);
    if (status != CAL_OK) d->whole->failed = status;
    return status;
}

static void take_before_it_is_lost(void* domains) {
    const cal_domains* d = domains;
    (void)cal_world_complete(d->whole);
    d->mail->shares = false;
}

void cal_rank_end_deposits(cal_domains* d) {
    if (d->ranks == NULL || d->ranks->depositor != d) return;
    d->ranks->depositor = NULL;
}

// What was deposited before has been taken by now, or is not needed any more: all have told each other something since. *room: there is memory for it.
static cal_status deposit(cal_domains* d, bool* room, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    double** places = NULL;
    int64_t most = 1;
    for (int p = 0; p < m->ranks; p++) most = m->deposits[p].all > most ? m->deposits[p].all : most;
    *room = d->ranks->ops->deposit(d->ranks, (size_t)most, &places) == CAL_OK;
    if (!*room) return status;
    for (int p = 0; p < m->ranks; p++)
        m->deposited[p] = (cal_image){.words = (uint64_t*)(void*)places[p], .count = (size_t)m->deposits[p].states};
    cal_rank_begin_terms(d);
    memcpy(places[d->ranks->keep], m->kept.words, m->kept.count * sizeof *m->kept.words);
    d->ranks->depositor = d, d->ranks->before_lost = take_before_it_is_lost;
    m->pending = m->shares = true;
    return cal_rank_agree(d, status, error);
}

void cal_rank_begin_news(cal_domains* d, bool all_taken) {
    d->mail->pending = d->mail->shares = false;
    if (!all_taken) return;
    cal_component* all = d->whole->components;
    for (int i = 1; d->divided && i <= d->count; i++) {
        const cal_domain* own = &d->domains[i];
        for (int k = 0; cal_domain_is_own(d, i) && k < own->member_count; k++)
            all[own->members[k]].news &= ~(unsigned)CAL_NEWS_ALL;
    }
    for (int i = 0; d->grouping && i < d->whole->component_count; i++)
        if (all[i].group != NULL && cal_domain_is_own(d, all[i].domain)) all[i].news &= ~(unsigned)CAL_NEWS_ALL;
}

// Counters and the log, and how much each deposits.
cal_status cal_rank_show(cal_domains* d, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    const bool deposits = d->ranks->ops->deposit != NULL && m->board > 0;
    int next[2] = {0, 0};
    if (deposits && d->ranks->depositor != NULL && d->ranks->depositor != d) d->ranks->before_lost(d->ranks->depositor);
    if (status == CAL_OK) status = cal_domains_follow(d, error);
    cal_mail_begin(&m->own);
    cal_mail_begin(&m->kept);
    if (status == CAL_OK && deposits) (void)put_part(d, &m->kept, SIZE_MAX, next);
    if (status == CAL_OK) status = cal_rank_check(&m->kept, error);
    cal_deposit deposited = {(int64_t)m->kept.count, (int64_t)cal_rank_words_with_terms(d, m->kept.count)};
    cal_image_words(&m->own, &deposited, sizeof deposited / sizeof(uint64_t));
    if (status == CAL_OK) cal_image_report(&m->own, &d->counted), put_log(d, &m->own);
    status = cal_rank_gather(d, status, error);
    d->counted = (cal_world_report){0};
    if (status != CAL_OK) return status;
    for (int p = 0; p < m->ranks; p++)
        cal_image_words(&m->shown[p], &m->deposits[p], sizeof(cal_deposit) / sizeof(uint64_t));
    status = take_counts(d, error);
    bool room = false;
    if (deposits) status = deposit(d, &room, status, error);
    return room ? status : show_in_parts(d, status, error);
}
