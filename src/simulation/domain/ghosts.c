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
#include "simulation/event/fetch.h"
#include "simulation/motion/free_body.h"
#include "simulation/state/graph.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"

// --- A component ------------------------------------------------------------------------------------------------------------------

enum { BOXED = 1, NOTED = 2, STATES = 4, COUNTED = 8 };

// What is told of a body: whether it has a box and is noted, until when the box holds and from when on its motion is another one.
typedef struct told_body {
    int64_t flags;
    double box_end, changed_from;
    cal_box box;
} told_body;

// Of a component: a body alone, which most are, follows at once, and as many of its states as are counted, as they are in memory.
typedef struct told_component {
    int32_t component, domain;
    int64_t flags, tail;
    double local_time;
} told_component;

enum { BODY_WORDS = sizeof(told_body) / sizeof(uint64_t), COMPONENT_WORDS = sizeof(told_component) / sizeof(uint64_t) };

static void put_body(const cal_domains* d, cal_image* image, const cal_world* view, int body) {
    const cal_sim_body* part = &d->whole->bodies[body];
    const cal_box* box = cal_broad_box(view->broad, body);
    told_body told = {.flags = (box != NULL ? BOXED : 0) | (part->noted == d->round ? NOTED : 0),
                      .box_end = part->box_end,
                      .changed_from = part->changed_from,
                      .box = box != NULL ? *box : cal_box_of_nothing};
    cal_image_words(image, &told, BODY_WORDS);
}

static void put_states(const cal_domains* d, cal_image* image, int component) {
    cal_component* c = &d->whole->components[component];
    if (c->ops == NULL || !c->ops->single) {
        cal_image_states(image, d->whole, component, -(double)INFINITY, NULL);
        return;
    }
    for (int64_t n = c->queue.head; n < c->queue.tail; n++)
        cal_image_words(image, cal_saved_state_at(&c->queue, n), (size_t)c->queue.size / sizeof(uint64_t));
}

void cal_ghost_put(cal_domains* d, cal_image* image, int component, int domain, bool states) {
    const cal_component* c = &d->whole->components[component];
    const bool single = c->ops != NULL && c->ops->single;
    told_component told = {
        .component = component, .domain = domain, .local_time = c->local_time, .tail = c->queue.tail};
    told.flags = (states ? STATES : 0) | (single ? (c->queue.tail - c->queue.head) * COUNTED : 0);
    cal_image_words(image, &told, COMPONENT_WORDS);
    if (states) put_states(d, image, component);
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
    told_body told = {.flags = 0};
    cal_image_words(image, &told, BODY_WORDS);
    if (image->status != CAL_OK) return CAL_OK; // seen to at the end
    const bool boxed = (told.flags & BOXED) != 0;
    if (boxed) part->box_end = told.box_end;
    const bool near = boxed && (cal_domain_is_own(d, view->domain) || is_near_own(d, view->domain, &told.box));
    if (near && cal_broad_move(view->broad, body, &told.box, NULL) != CAL_OK)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    if (!near && cal_broad_has(view->broad, body)) cal_broad_remove(view->broad, body, NULL);
    if ((told.flags & NOTED) == 0) return CAL_OK;
    part->noted = 0; // another domain may have noted it in this round, before it was handed over
    const cal_status status = cal_domain_note_box(view, body, error);
    part->changed_from = told.changed_from;
    return status;
}

static void take_states(cal_image* image, cal_world* view, const told_component* told, cal_error* error) {
    cal_component* c = &view->components[told->component];
    if (c->ops == NULL || !c->ops->single) {
        cal_image_states(image, view, told->component, 0.0, error);
        return;
    }
    const int64_t count = told->flags / COUNTED;
    const size_t words = (size_t)c->queue.size / sizeof(uint64_t);
    if (!cal_image_check(image, count > 0 && count <= told->tail &&
                                    (uint64_t)count <= (image->count - image->at) / (uint64_t)words))
        return;
    c->queue.head = c->queue.tail = 0; // there is nothing to be moved where room is made
    if (!cal_queue_reserve(&c->queue, count)) image->status = CAL_NO_MEMORY;
    if (image->status != CAL_OK) return;
    c->local_time = told->local_time;
    c->queue.head = told->tail - count, c->queue.tail = told->tail;
    for (int64_t n = c->queue.head; n < c->queue.tail; n++) {
        cal_image_words(image, cal_saved_state_at(&c->queue, n), words);
        cal_saved_state_at(&c->queue, n)->junction = -1;
    }
    cal_free_body_note_course(view, told->component);
}

int cal_ghost_take(cal_domains* d, cal_image* image, cal_error* error) {
    told_component told = {.component = -1};
    cal_image_words(image, &told, COMPONENT_WORDS);
    const int component = told.component;
    if (!cal_image_check(image, component >= 0 && component < d->whole->component_count && told.domain >= 1 &&
                                    told.domain <= d->count))
        return -1;
    cal_world* view = cal_domain_world(d, told.domain);
    d->whole->components[component].domain = told.domain;
    if ((told.flags & STATES) != 0) take_states(image, view, &told, error);
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
            if (cal_box_overlap(box, &other->extent) && other->worker != own->worker &&
                looks_into(own->near[i], own->world->domain))
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
