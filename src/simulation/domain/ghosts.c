// What ranks know of each other's components; see ranks.h.
//
// A component is told to a rank while its box meets the extent of one of that rank's domains which keeps the pairs with its own, and once more when it does
// not any more. So a rank that looks at what is near its domains sees all that is there, as it is.
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

// --- A component ------------------------------------------------------------------------------------------------------------------

enum { BOXED = 1, NOTED = 2 };

static void put_body(const cal_domains* d, cal_image* image, const cal_world* view, int body) {
    cal_sim_body* part = &d->whole->bodies[body];
    const cal_box* box = cal_broad_box(view->broad, body);
    int flags = (box != NULL ? BOXED : 0) | (part->noted == d->round ? NOTED : 0);
    cal_image_int(image, &flags);
    if ((flags & NOTED) != 0) cal_image_number(image, &part->changed_from);
    if (box == NULL) return;
    cal_image_number(image, &part->box_end);
    cal_image_words(image, (void*)(uintptr_t)box, sizeof *box / sizeof(double));
}

void cal_ghost_put(cal_domains* d, cal_image* image, int component, int domain, bool states) {
    const cal_component* c = &d->whole->components[component];
    cal_image_int(image, &component);
    cal_image_int(image, &domain);
    cal_image_bool(image, &states);
    if (states) cal_image_states(image, d->whole, component, -(double)INFINITY, NULL);
    for (int k = 0; c->body >= 0 && k < c->weight; k++) put_body(d, image, cal_domain_world(d, c->domain), c->body + k);
}

// Whether a domain has to know of what is in another one.
static bool looks_into(int domain, int other) { return cal_border_side(domain, other) == domain; }

// Whether a box of another rank's domain may meet bodies of this rank, which looks for that.
static bool is_near_own(const cal_domains* d, int domain, const cal_box* box) {
    for (int i = 1; i <= d->count; i++)
        if (cal_domain_is_own(d, i) && looks_into(i, domain) && cal_box_overlap(box, &d->domains[i].extent))
            return true;
    return false;
}

static cal_status take_body(cal_domains* d, cal_image* image, cal_world* view, int body, cal_error* error) {
    cal_sim_body* part = &d->whole->bodies[body];
    int flags = 0;
    cal_image_int(image, &flags);
    double changed_from = (double)INFINITY;
    if ((flags & NOTED) != 0) cal_image_number(image, &changed_from);
    cal_box box = cal_box_of_nothing;
    if ((flags & BOXED) != 0) {
        cal_image_number(image, &part->box_end);
        cal_image_words(image, &box, sizeof box / sizeof(double));
    }
    if (image->status != CAL_OK) return CAL_OK; // seen to at the end
    const bool near =
        (flags & BOXED) != 0 && (cal_domain_is_own(d, view->domain) || is_near_own(d, view->domain, &box));
    if (near && cal_broad_move(view->broad, body, &box, NULL) != CAL_OK)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    if (!near && cal_broad_has(view->broad, body)) cal_broad_remove(view->broad, body, NULL);
    if ((flags & NOTED) == 0) return CAL_OK;
    part->noted = 0; // another domain may have noted it in this round, before it was handed over
    const cal_status status = cal_domain_note_box(view, body, error);
    part->changed_from = changed_from;
    return status;
}

int cal_ghost_take(cal_domains* d, cal_image* image, cal_error* error) {
    int component = -1, domain = 0;
    bool states = false;
    cal_image_int(image, &component);
    cal_image_int(image, &domain);
    cal_image_bool(image, &states);
    if (!cal_image_check(image,
                         component >= 0 && component < d->whole->component_count && domain >= 1 && domain <= d->count))
        return -1;
    cal_world* view = cal_domain_world(d, domain);
    d->whole->components[component].domain = domain;
    if (states) cal_image_states(image, view, component, 0.0, error);
    const cal_component* c = &d->whole->components[component];
    for (int k = 0; image->status == CAL_OK && c->body >= 0 && k < c->weight; k++)
        if (take_body(d, image, view, c->body + k, error) != CAL_OK) image->status = CAL_NO_MEMORY;
    return component;
}

// --- To those near it -------------------------------------------------------------------------------------------------------------

// Other ranks that look for what meets a component of a domain, and of which a domain's extent meets the box of a body of it.
static uint64_t ranks_near(const cal_domains* d, const cal_domain* own, int component) {
    const cal_component* c = &d->whole->components[component];
    uint64_t ranks = 0;
    for (int k = 0; c->body >= 0 && k < c->weight; k++) {
        const cal_box* box = cal_broad_box(own->world->broad, c->body + k);
        for (int i = 0; box != NULL && i < own->near_count; i++) {
            const cal_domain* other = &d->domains[own->near[i]];
            if (other->worker != own->worker && looks_into(own->near[i], own->world->domain) &&
                cal_box_overlap(box, &other->extent))
                ranks |= cal_rank_bit(other->worker);
        }
    }
    return ranks;
}

static void send(cal_domains* d, int component, uint64_t ranks, bool states) {
    cal_mail* m = d->mail;
    if (ranks == 0) return;
    cal_mail_begin(&m->item);
    cal_ghost_put(d, &m->item, component, d->whole->components[component].domain, states);
    for (int r = 0; r < m->ranks; r++)
        if ((ranks & cal_rank_bit(r)) != 0) {
            cal_image_words(&m->out[r], m->item.words, m->item.count);
            if (m->item.status != CAL_OK) m->out[r].status = m->item.status;
        }
}

// Groups that a component has been in go wherever it goes: they say where it was.
static bool want_groups(cal_domains* d, int component, uint64_t ranks) {
    const cal_component* c = &d->whole->components[component];
    for (int64_t n = c->queue.head; d->grouping && ranks != 0 && n < c->queue.tail; n++) {
        const cal_saved_state* knot = cal_saved_state_at(&c->queue, n);
        if (knot->kind != CAL_FUSED || !cal_domain_group_has(d->whole, knot->group, component)) continue;
        cal_component* group = &d->whole->components[knot->group];
        if (group->told == 0) {
            if (!cal_grow((void**)&d->cluster, &d->cluster_capacity, d->cluster_count, sizeof *d->cluster))
                return false;
            d->cluster[d->cluster_count++] = knot->group;
        }
        group->told |= ranks;
    }
    return true;
}

static bool tell(cal_domains* d, const cal_domain* own, int component, bool noted) {
    cal_component* c = &d->whole->components[component];
    const uint64_t near = ranks_near(d, own, component), news = near & ~c->told;
    const bool fresh = (c->news & CAL_NEWS_NEAR) != 0;
    send(d, component, noted && fresh ? near | c->told : news, true);
    if (noted && !fresh) send(d, component, c->told, false);
    const bool enough = want_groups(d, component, noted ? near | c->told : news);
    c->told = noted ? near : c->told | near;
    if (noted) c->news &= ~(unsigned)CAL_NEWS_NEAR;
    return enough;
}

// What is in a part of the extent of another rank's domain.
static bool tell_within(cal_domains* d, cal_domain* own, const cal_box* part) {
    const int32_t* ids;
    const int count = cal_broad_look(own->world->broad, part, &own->scratch, &ids);
    bool enough = count >= 0;
    for (int i = 0; enough && i < count; i++) {
        const int component = d->whole->bodies[ids[i]].component;
        if (component >= 0) enough = tell(d, own, component, false);
    }
    return enough;
}

// What is where the extent of another rank's domain was not before: behind each of its sides that has moved.
static bool tell_grown(cal_domains* d, cal_domain* own, const cal_domain* other) {
    const cal_box *now = &other->extent, *before = &other->before;
    if (before->low[0] > before->high[0]) return tell_within(d, own, now);
    bool enough = true;
    for (int i = 0; enough && i < 3; i++) {
        cal_box low = *now, high = *now;
        low.high[i] = fmin(before->low[i], now->high[i]);
        high.low[i] = fmax(before->high[i], now->low[i]);
        if (now->low[i] < before->low[i]) enough = tell_within(d, own, &low);
        if (enough && now->high[i] > before->high[i]) enough = tell_within(d, own, &high);
    }
    return enough;
}

static bool tell_domain(cal_domains* d, int domain) {
    cal_domain* own = &d->domains[domain];
    bool enough = true;
    d->marked++;
    for (int k = 0; enough && k < own->world->noted_count; k++) {
        const int body = own->world->noted[k], component = d->whole->bodies[body].component;
        cal_domain_fetch_noted(own, k);
        if (cal_domain_of_body(d->whole, body) != domain) continue;
        if (d->whole->components[component].weight > 1) { // once, whichever of its bodies are noted
            if (d->mark[component] == d->marked) continue;
            d->mark[component] = d->marked;
        }
        enough = tell(d, own, component, true);
    }
    for (int i = 0; enough && i < own->near_count; i++) {
        const cal_domain* other = &d->domains[own->near[i]];
        if (other->worker != own->worker && other->grown && looks_into(own->near[i], domain))
            enough = tell_grown(d, own, other);
    }
    return enough;
}

static void tell_groups(cal_domains* d) {
    for (int i = 0; i < d->cluster_count; i++) {
        send(d, d->cluster[i], d->whole->components[d->cluster[i]].told, true);
        d->whole->components[d->cluster[i]].told = 0;
    }
}

cal_status cal_rank_tell(cal_domains* d, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    for (int r = 0; r < m->ranks; r++) cal_mail_begin(&m->out[r]);
    d->cluster_count = 0; // groups that are wanted
    if (status == CAL_OK) status = cal_domains_reserve_marks(d, error);
    for (int i = 1; status == CAL_OK && i <= d->count; i++) {
        if (!cal_domain_is_own(d, i)) continue;
        status = cal_border_list_near(d, i, error);
        if (status == CAL_OK && !tell_domain(d, i)) status = cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    }
    if (status == CAL_OK) tell_groups(d);
    status = cal_rank_exchange(d, status, error);
    for (int p = 0; status == CAL_OK && p < m->ranks; p++) {
        cal_image* in = &m->in[p];
        while (in->status == CAL_OK && in->at < in->count) (void)cal_ghost_take(d, in, error);
        status = cal_rank_check(in, error);
    }
    return status;
}

// --- To all -----------------------------------------------------------------------------------------------------------------------

static void put_log(cal_domains* d, cal_image* own) {
    const cal_event_log* log = &d->committed;
    int count = (int)(log->tail - log->head);
    cal_image_int(own, &count);
    for (int64_t i = log->head; i < log->tail; i++)
        cal_image_event(own, d->whole->first_id, &log->events[(size_t)i % (size_t)log->capacity]);
    d->committed.head = d->committed.tail = 0;
}

// What is shown to all goes in parts, each of which has room on the board that ranks share: so nobody keeps memory for all that the others have.
enum { PART = 16384 };

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
static void put_news(cal_domains* d, cal_image* own, int* from) {
    const double since = d->grouping ? -(double)INFINITY : d->begin;
    const int count = d->whole->component_count;
    int i = next_news(d, *from);
    for (int next = next_news(d, i + 1), after; i < count && own->count < PART; i = next, next = after) {
        cal_component* c = &d->whole->components[i];
        after = next_news(d, next + 1);
        int numbers[3] = {i, c->domain, after < count ? after : 0};
        cal_image_ints(own, numbers, 3);
        cal_image_states(own, d->whole, i, since, NULL);
        c->news &= ~(unsigned)CAL_NEWS_ALL;
    }
    *from = i;
    int end[3] = {-1, 0, 0};
    cal_image_ints(own, end, 3);
}

// Where there have been no groups: bodies of own domains, from a place on (a domain, and a member of it), as many as there is room for in a part. Whether there
// are more.
static bool list_news(cal_domains* d, cal_image* own, int place[2]) {
    const cal_world* whole = d->whole;
    size_t words = own->count;
    d->cluster_count = 0;
    for (; place[0] <= d->count; place[0]++, place[1] = 0) {
        const cal_domain* from = &d->domains[place[0]];
        for (; cal_domain_is_own(d, place[0]) && place[1] < from->member_count; place[1]++) {
            const int component = from->members[place[1]];
            const cal_component* c = &whole->components[component];
            if ((c->news & CAL_NEWS_ALL) == 0) continue;
            if (words >= (size_t)PART) return true;
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
static bool put_bodies(cal_domains* d, cal_image* own, int place[2]) {
    const bool more = list_news(d, own, place);
    cal_image_int(own, &d->cluster_count);
    for (int i = 0; i < d->cluster_count; i++) {
        const cal_component* c = &d->whole->components[d->cluster[i]];
        int numbers[2] = {d->cluster[i], is_newest_all(d, c) ? -c->domain : c->domain};
        cal_image_ints(own, numbers, 2);
    }
    for (int i = 0; i < d->cluster_count; i++) {
        cal_component* c = &d->whole->components[d->cluster[i]];
        if (is_newest_all(d, c))
            move_newest(own, d->whole, d->cluster[i]);
        else
            cal_image_states(own, d->whole, d->cluster[i], d->begin, NULL);
        c->news &= ~(unsigned)CAL_NEWS_ALL;
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

// A part says first whether another one follows. next: a component, or a domain and a member.
static bool put_part(cal_domains* d, bool first, int next[2]) {
    cal_image* own = &d->mail->own;
    bool follows = true;
    cal_image_bool(own, &follows);
    if (first) cal_image_report(own, &d->counted), put_log(d, own);
    if (d->grouping) {
        put_news(d, own, next);
        follows = *next < d->whole->component_count;
    } else {
        follows = put_bodies(d, own, next);
    }
    if (!follows) put_places(d, own);
    if (own->status == CAL_OK) own->words[0] = follows;
    return follows;
}

// What own bodies have been followed for since their last events is counted here, and by nobody else.
static void count_to_end(cal_domains* d) {
    for (int i = 1; i <= d->count; i++) {
        const cal_domain* own = &d->domains[i];
        for (int k = 0; cal_domain_is_own(d, i) && k < own->member_count; k++)
            if (!d->grouping || !cal_component_is_fused(&d->whole->components[own->members[k]]))
                cal_component_mark_used(own->world, own->members[k], d->begin);
        cal_world_add_report(&d->counted, &own->world->report);
    }
}

bool cal_domain_counts(const cal_world* world, const cal_component* c) {
    const cal_domains* d = world->domains;
    return d == NULL || !d->divided || d->ranks == NULL || cal_domain_is_own(d, c->domain);
}

cal_status cal_rank_show(cal_domains* d, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    if (status == CAL_OK) count_to_end(d);
    int next[2] = {0, 0};
    for (bool rest = true, first = true, more = true; more; first = false) {
        cal_mail_begin(&m->own);
        if (rest && status == CAL_OK) rest = put_part(d, first, next);
        status = cal_rank_gather(d, status, error);
        if (first) d->counted = (cal_world_report){0};
        if (status != CAL_OK) return status;
        more = false;
        for (int p = 0; p < m->ranks; p++) {
            m->counts[m->ranks + p] = 0;
            if (m->shown[p].count > 0) cal_image_int(&m->shown[p], &m->counts[m->ranks + p]);
            more |= m->counts[m->ranks + p] != 0;
        }
        if (first) status = take_counts(d, error);
        for (int p = 0; status == CAL_OK && p < m->ranks; p++) {
            cal_image* in = &m->shown[p];
            if (p == d->ranks->keep || in->count == 0) continue;
            if (d->grouping)
                take_news(d, in, error);
            else
                take_bodies(d, in, error);
            if (m->counts[m->ranks + p] == 0) take_places(d, in);
            status = cal_rank_check(in, error);
        }
    }
    return cal_rank_agree(d, status, error); // who cannot take the last part says so
}
