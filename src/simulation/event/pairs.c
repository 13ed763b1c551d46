// Pairs of bodies whose swept boxes overlap: each body's list of pairs, and the event of each pair, which is its next collision or the end of
// what was searched.
#include "simulation/event/pairs.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/event/events.h"
#include "simulation/motion/free_body.h"
#include "simulation/motion/multibody.h"
#include "simulation/motion/search.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <string.h>

// How much longer than it has gone on without a collision a body is followed by a search: where it still goes on, there is another search from its beginning, so that what is
// looked at twice is a third of it.
#define AHEAD 4.0
// Beyond the end of its box a search looks so many longest boxes ahead at most, each of which takes a look or more: what has not parted by then is looked at
// again, which is one search more for as many looks.
#define MOST_BOXES 64.0

void cal_pair_table_destroy(cal_pair_table* table) {
    cal_free(table->pairs);
    cal_free(table->cells);
    cal_free(table->free);
    *table = (cal_pair_table){0};
}

cal_presence cal_body_presence(const cal_world* world, int body) {
    cal_sim_body* part = &world->bodies[body];
    if (world->prescribed != NULL && part->prescribed >= 0) {
        cal_prescribed* p = &world->prescribed[part->prescribed];
        return (cal_presence){&p->box_end, &p->box_event, &p->pairs, &p->pair_count, &p->pair_capacity};
    }
    return (cal_presence){&part->box_end, &part->box_event, &part->pairs, &part->pair_count, &part->pair_capacity};
}

// Whether a body's pairs are in its list. Those of the border are not, since workers of several domains would write it: they are found by a
// table of their bodies.
static bool has_lists(const cal_world* world) { return world->domain != CAL_DOMAIN_BORDER; }

static size_t cell_of(const cal_pair_table* table, int a, int b) {
    uint64_t z = cal_pair_key(a, b) * UINT64_C(0x9e3779b97f4a7c15);
    z ^= z >> 32;
    return (size_t)z & (size_t)(table->cell_count - 1);
}

static size_t find_cell(const cal_pair_table* table, int a, int b) {
    size_t cell = cell_of(table, a, b);
    while (table->cells[cell] != 0) {
        const cal_pair* pair = &table->pairs[table->cells[cell] - 1];
        if (pair->body[0] == a && pair->body[1] == b) break;
        cell = (cell + 1) & (size_t)(table->cell_count - 1);
    }
    return cell;
}

// Of two lists the shorter one: that of a floor has all that lie on it.
int cal_pair_find(const cal_world* world, int a, int b) {
    const cal_pair_table* table = &world->table;
    const int first = a < b ? a : b, second = a < b ? b : a;
    if (!has_lists(world)) return table->cell_count > 0 ? table->cells[find_cell(table, first, second)] - 1 : -1;
    const cal_presence at[2] = {cal_body_presence(world, a), cal_body_presence(world, b)};
    const cal_presence* shorter = &at[*at[0].pair_count <= *at[1].pair_count ? 0 : 1];
    for (int i = 0; i < *shorter->pair_count; i++) {
        const cal_pair* pair = &table->pairs[(*shorter->pairs)[i]];
        if (pair->body[0] == first && pair->body[1] == second) return (*shorter->pairs)[i];
    }
    return -1;
}

static bool grow_table(cal_pair_table* table, bool listed) {
    const int capacity = table->capacity == 0 ? 64 : 2 * table->capacity, cell_count = listed ? 0 : 4 * capacity;
    cal_pair* pairs = cal_allocate((size_t)capacity, sizeof *pairs);
    int32_t* cells = listed ? NULL : cal_allocate((size_t)cell_count, sizeof *cells);
    int32_t* unused = cal_allocate((size_t)capacity, sizeof *unused);
    if (pairs == NULL || (cells == NULL && !listed) || unused == NULL) {
        cal_free(pairs);
        cal_free(cells);
        cal_free(unused);
        return false;
    }
    if (table->capacity > 0) {
        memcpy(pairs, table->pairs, (size_t)table->pair_count * sizeof *pairs);
        memcpy(unused, table->free, (size_t)table->free_count * sizeof *unused);
    }
    cal_free(table->pairs);
    cal_free(table->cells);
    cal_free(table->free);
    *table = (cal_pair_table){pairs, cells, unused, table->pair_count, table->free_count, capacity, cell_count};
    for (int i = 0; !listed && i < table->pair_count; i++)
        if (pairs[i].event >= 0) cells[find_cell(table, pairs[i].body[0], pairs[i].body[1])] = i + 1;
    return true;
}

bool cal_pair_table_reserve(cal_pair_table* table, int count) {
    while (table->capacity < count)
        if (!grow_table(table, true)) return false;
    return true;
}

bool cal_may_collide(const cal_world* world, int a, int b) {
    const cal_sim_body *p = &world->bodies[a], *q = &world->bodies[b];
    if (p->component < 0 && q->component < 0) return false;
    if ((p->category & q->mask) == 0 && (q->category & p->mask) == 0) return false;
    if (p->component == q->component && !cal_multibody_touches_itself(world, a)) return false; // two links
    int low = 0, high = world->ignored_count;
    const uint64_t key = cal_pair_key(a, b);
    while (low < high) {
        const int middle = (low + high) / 2;
        if (world->ignored[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low == world->ignored_count || world->ignored[low] != key;
}

bool cal_world_ignore(cal_world* world, int a, int b) {
    const uint64_t key = cal_pair_key(a, b);
    int at = world->ignored_count;
    while (at > 0 && world->ignored[at - 1] > key) at--;
    if (at > 0 && world->ignored[at - 1] == key) return true;
    if (!cal_grow((void**)&world->ignored, &world->ignored_capacity, world->ignored_count, sizeof *world->ignored))
        return false;
    memmove(world->ignored + at + 1, world->ignored + at, (size_t)(world->ignored_count++ - at) * sizeof key);
    world->ignored[at] = key;
    return true;
}

static bool list_pair(cal_world* world, int pair, int which) {
    cal_pair* p = &world->table.pairs[pair];
    const cal_presence at = cal_body_presence(world, p->body[which]);
    if (!cal_grow((void**)at.pairs, at.pair_capacity, *at.pair_count, sizeof **at.pairs)) return false;
    p->place[which] = *at.pair_count;
    (*at.pairs)[(*at.pair_count)++] = pair;
    return true;
}

static void unlist_pair(cal_world* world, int pair, int which) {
    const cal_pair* p = &world->table.pairs[pair];
    const cal_presence at = cal_body_presence(world, p->body[which]);
    const int moved = (*at.pairs)[--*at.pair_count];
    (*at.pairs)[p->place[which]] = moved;
    cal_pair* other = &world->table.pairs[moved];
    other->place[other->body[0] == p->body[which] ? 0 : 1] = p->place[which];
}

cal_status cal_pair_add(cal_world* world, int a, int b, int* out, cal_error* error) {
    cal_pair_table* table = &world->table;
    if (table->free_count == 0 && table->pair_count == table->capacity && !grow_table(table, has_lists(world)))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for %d pairs of bodies", table->pair_count + 1);
    const int event = cal_events_add(&world->events, CAL_EVENT_PAIR, 0);
    if (event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
    const int pair = table->free_count > 0 ? table->free[--table->free_count] : table->pair_count++;
    const int first = a < b ? a : b, second = a < b ? b : a;
    world->events.slots[event].owner = pair;
    table->pairs[pair] =
        (cal_pair){.body = {first, second}, .event = event, .kind = (int32_t)cal_classify(world, a, b)};
    *out = pair;
    if (!has_lists(world)) {
        table->cells[find_cell(table, first, second)] = pair + 1;
        return CAL_OK;
    }
    if (list_pair(world, pair, 0) && list_pair(world, pair, 1)) return CAL_OK;
    return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
}

// Open addressing without tombstones: what follows in the run moves up.
static void clear_cell(cal_pair_table* table, size_t cell) {
    const size_t mask = (size_t)(table->cell_count - 1);
    size_t hole = cell;
    table->cells[hole] = 0;
    for (size_t i = (cell + 1) & mask; table->cells[i] != 0; i = (i + 1) & mask) {
        const cal_pair* pair = &table->pairs[table->cells[i] - 1];
        const size_t home = cell_of(table, pair->body[0], pair->body[1]);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        table->cells[hole] = table->cells[i];
        table->cells[i] = 0;
        hole = i;
    }
}

void cal_pair_remove(cal_world* world, int pair) {
    cal_pair_table* table = &world->table;
    cal_pair* p = &table->pairs[pair];
    if (has_lists(world)) {
        unlist_pair(world, pair, 0);
        unlist_pair(world, pair, 1);
    } else {
        clear_cell(table, find_cell(table, p->body[0], p->body[1]));
    }
    cal_events_remove(&world->events, p->event);
    p->event = -1;
    table->free[table->free_count++] = pair;
}

// When the motion of a body next changes after a time, as far as it is known; infinite when it does not.
static double next_change(const cal_world* world, int body, double time) {
    if (world->bodies[body].component < 0) return (double)INFINITY;
    double next = (double)INFINITY;
    for (int component = world->bodies[body].component, depth = 0; depth < 2; depth++) {
        const cal_queue* queue = &world->components[component].queue;
        int64_t n = queue->tail - 1;
        for (; n >= queue->head && cal_saved_state_at(queue, n)->time > time; n--)
            if (cal_saved_state_at(queue, n)->kind != CAL_STEP) next = fmin(next, cal_saved_state_at(queue, n)->time);
        if (n < queue->head || cal_saved_state_at(queue, n)->kind != CAL_FUSED) break;
        component = cal_saved_state_at(queue, n)->group;
    }
    return next;
}

// When to look again after a search up to `until`. A box that ends now is about to be renewed, and the pair is looked at after
// that; a group's bodies get theirs from its next step, which searches anew.
static double look_again(const cal_world* world, const cal_pair* pair, double until, double time) {
    for (int i = 0; until <= time && i < 2; i++) {
        const int component = cal_body_component(world, pair->body[i], time);
        if (component >= 0 && world->components[component].ops->stepped) return (double)INFINITY;
    }
    return fmax(until, time);
}

// Conservative advancement: the next look is where something might happen.
static cal_status schedule_bound(cal_world* world, cal_pair* p, double time, cal_error* error) {
    const int a = p->body[0], b = p->body[1];
    const double until = fmin(*cal_body_presence(world, a).box_end, *cal_body_presence(world, b).box_end);
    double bound = until;
    p->hit = false;
    const cal_status status = cal_bound_hit(world, p, time, &bound, &p->hit);
    char first[64], second[64];
    if (status != CAL_OK)
        return cal_fail(error, status, "%s and %s cannot be followed at %g s: %s",
                        cal_body_name_at(world, a, first, sizeof first),
                        cal_body_name_at(world, b, second, sizeof second), time, cal_status_text(status));
    if (p->hit) bound = time;
    const double next = p->hit || bound < until ? bound : look_again(world, p, until, time);
    cal_events_schedule(&world->events, p->event, next, cal_pair_key(a, b));
    return CAL_OK;
}

// Whether the motions of two bodies after a time go on as they do, as far as is known.
static bool is_settled(const cal_world* world, const cal_pair* p, double time) {
    return !(fmin(next_change(world, p->body[0], time), next_change(world, p->body[1], time)) < (double)INFINITY);
}

// How far a look goes, and whether nothing is left to look at after that as long as the motions go on as they do.
typedef struct horizon {
    double clear; // nothing happens before
    double end;
    bool exact; // there is a formula, which looks as far as the motions go
    bool last;
} horizon;

static double boxes_end(const cal_world* world, const cal_pair* p) {
    return fmin(*cal_body_presence(world, p->body[0]).box_end, *cal_body_presence(world, p->body[1]).box_end);
}

// How far ahead a search is worth its looks; balls take few. What has gone on for a while is likely to go on for as long again, and what was hit a moment ago is
// hit again in such a moment: nearly all that a search to the end of its box would see then is never come to. How far a search goes has no influence on
// what it finds.
static double worth_looking(const cal_world* world, const cal_pair* p, double time) {
    double lasted = (double)INFINITY;
    if (p->kind != CAL_PAIR_GENERAL) return lasted;
    for (int i = 0; i < 2; i++) {
        const cal_sim_body* part = &world->bodies[p->body[i]];
        if (part->component >= 0) lasted = fmin(lasted, fmax(part->lasted, time - part->hit_at));
    }
    return time + fmax(AHEAD * lasted, CAL_SHORTEST_BOX * world->window);
}

// A search looks as far as the boxes go. Where the balls about the two do not overlap before that, nothing is to be looked at before they
// do; and what may go on with their series (boxed: nobody may) is looked at until they do not any more, unless that is so far that nobody comes to it:
// what falls side by side stays so for ever, but for rounding, and each piece of it (motion/search.c) takes a look.
static horizon horizon_of_overlap(const cal_world* world, const cal_pair* p, double time, const double overlap[2],
                                  bool boxed) {
    horizon h = {.clear = overlap[0], .end = boxes_end(world, p)};
    const bool parts = overlap[0] <= h.end && overlap[1] < (double)INFINITY && (!boxed || overlap[1] < h.end);
    const double most = h.end + MOST_BOXES * CAL_LONGEST_BOX * world->window;
    h.last = parts && overlap[1] < most;
    if (parts) h.end = fmin(overlap[1], most);
    const double worth = boxed ? (double)INFINITY : worth_looking(world, p, time);
    if (worth < h.end) h.end = worth, h.last = false;
    return h;
}

static horizon horizon_of(const cal_world* world, const cal_pair* p, double time, bool boxed) {
    if (!is_settled(world, p, time)) return (horizon){.clear = time, .end = boxes_end(world, p)};
    if (cal_has_formula(world, p, time))
        return (horizon){.clear = time, .end = (double)INFINITY, .exact = true, .last = true};
    double overlap[2];
    cal_reach_interval(world, p, time, overlap);
    return horizon_of_overlap(world, p, time, overlap, boxed);
}

static cal_status look_within(cal_world* world, const cal_pair* p, double time, const horizon* h, cal_prediction* out,
                              cal_error* error) {
    const int a = p->body[0], b = p->body[1];
    if (h->clear > h->end) {
        *out = (cal_prediction){.time = h->clear};
        return CAL_OK;
    }
    cal_hit hit = {(double)INFINITY, 0.0};
    double clear = h->end;
    // The border is asked for all that collides before the end of a window, and looks once.
    const bool waits = world->domain != CAL_DOMAIN_BORDER;
    for (double from = h->exact ? time : cal_search_start(world, p, time);;) {
        const double change = fmin(next_change(world, a, from), next_change(world, b, from));
        const cal_status status = cal_find_hit(world, p, from, fmin(h->end, change), &hit, waits ? &clear : NULL, error);
        if (status != CAL_OK) return status;
        if (waits && !(hit.time < (double)INFINITY) && clear < fmin(h->end, change)) {
            *out = (cal_prediction){.time = clear, .open = true};
            if (clear > time) return CAL_OK;
            from = clear;
            continue;
        }
        // What is final has happened, also where a search that begins before finds it again.
        if (world->domain != CAL_DOMAIN_WHOLE && hit.time < world->gvt && from < world->gvt) {
            hit.time = (double)INFINITY;
            from = world->gvt;
            continue;
        }
        // A time of impact is rounded up (motion/search.c): where a motion ends before, they touch as the next one begins.
        if (hit.time < change || !(change < h->end)) break;
        hit.time = (double)INFINITY;
        from = change;
    }
    const bool found = hit.time < (double)INFINITY;
    *out = (cal_prediction){.time = found     ? hit.time
                                    : h->last ? (double)INFINITY
                                              : look_again(world, p, h->end, time),
                            .hit = found,
                            .open = !found && !h->last};
    return CAL_OK;
}

// Whether two do not collide by events: a group is in charge of them, or they are being moved apart.
static bool is_off(const cal_world* world, const cal_pair* p, double time, cal_prediction* out) {
    const bool off = !world->placing && cal_component_holds(world, p->body[0], p->body[1], time);
    *out = (cal_prediction){.time = (double)INFINITY, .off = off};
    return off || world->placing;
}

cal_status cal_pair_look(cal_world* world, const cal_pair* p, double time, bool boxed, cal_prediction* out,
                         cal_error* error) {
    if (is_off(world, p, time, out)) return CAL_OK;
    const horizon h = horizon_of(world, p, time, boxed);
    return look_within(world, p, time, &h, out, error);
}

void cal_pair_take(cal_world* world, int pair, const cal_prediction* prediction) {
    cal_pair* p = &world->table.pairs[pair];
    p->off = prediction->off;
    p->hit = prediction->hit;
    p->open = prediction->open;
    cal_events_schedule(&world->events, p->event, prediction->time, cal_pair_key(p->body[0], p->body[1]));
}

// Often one of them goes another way before. Not for the border, which is searched by all workers at once, and asked for what collides
// before the end of a window.
bool cal_pair_waits(const cal_world* world, const cal_pair* p, double time, cal_prediction* out) {
    if (p->kind <= CAL_PAIR_BALL_PLANE || world->domain == CAL_DOMAIN_BORDER || world->placing) return false;
    if (cal_component_holds(world, p->body[0], p->body[1], time) || !is_settled(world, p, time)) return false;
    double overlap[2];
    cal_reach_interval(world, p, time, overlap);
    *out = (cal_prediction){.time = overlap[0]};
    return overlap[0] > time;
}

// A prediction that waits for others: from when on; then how far a search goes, and what it found.
struct cal_pair_search {
    int pair;
    double time;
    horizon h;
    cal_prediction found;
    cal_status status;
    int64_t checks, predictions;
};

// What most predictions come to, of what flies from its newest state on, without looking for that state again and again. The same as what
// follows, where it applies; false: it does not. As foresee says.
static bool foresee_flight(cal_world* world, const cal_pair* p, double time, cal_prediction* out, bool* known,
                           horizon* h) {
    cal_hit hit;
    double overlap[2];
    if (world->placing) return false;
    const cal_flight_look found = cal_look_at_flight(world, p, time, &hit, overlap);
    if (found == CAL_FLIGHT_OF_BALLS) {
        world->report.predictions++;
        *out = (cal_prediction){.time = hit.time, .hit = hit.time < (double)INFINITY};
        *known = true;
        return true;
    }
    if (found == CAL_NO_FLIGHT || world->domain == CAL_DOMAIN_BORDER) return false;
    *out = (cal_prediction){.time = overlap[0]};
    *known = overlap[0] > time;
    if (!*known) *h = horizon_of_overlap(world, p, time, overlap, false);
    return true;
}

// What comes of a pair from a time on, as far as that takes no search; false: how far one goes.
static bool foresee(cal_world* world, const cal_pair* p, double time, cal_prediction* out, horizon* h) {
    bool known;
    if (foresee_flight(world, p, time, out, &known, h)) return known;
    if (cal_pair_waits(world, p, time, out) || is_off(world, p, time, out)) return true;
    *h = horizon_of(world, p, time, world->domain == CAL_DOMAIN_BORDER);
    return false;
}

// What is due before a time, of motions that have not changed before that, comes first: a domain may have gone on without knowing of it.
static bool is_due_before(const cal_world* world, const cal_pair* p, double time) {
    return cal_events_time(&world->events, p->event) < time;
}

static cal_status predict(cal_world* world, int pair, double time, cal_error* error) {
    const cal_pair* p = &world->table.pairs[pair];
    if (is_due_before(world, p, time)) return CAL_OK;
    cal_prediction found;
    horizon h;
    cal_status status = CAL_OK;
    if (!foresee(world, p, time, &found, &h)) status = look_within(world, p, time, &h, &found, error);
    if (status == CAL_OK) cal_pair_take(world, pair, &found);
    return status;
}

cal_status cal_pair_predict(cal_world* world, int pair, double when, cal_error* error) {
    cal_pair* p = &world->table.pairs[pair];
    // A group that goes back repeats a step from its beginning, which may be before GVT. What happened before that stays, and what
    // others did then may be forgotten.
    const double time = fmax(when, world->gvt);
    if (world->def.loop != CAL_TIMEWARP && !world->placing &&
        !cal_component_holds(world, p->body[0], p->body[1], time)) {
        if (is_due_before(world, p, time)) return CAL_OK;
        p->off = false;
        if (world->def.loop == CAL_RETROACTIVE) return CAL_OK; // looks at all pairs after each step
        return schedule_bound(world, p, time, error);
    }
    if (world->gathering == 0) return predict(world, pair, time, error);
    if (!cal_grow((void**)&world->searches, &world->search_capacity, world->search_count, sizeof *world->searches))
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies");
    world->searches[world->search_count++] = (cal_pair_search){.pair = pair, .time = time};
    return CAL_OK;
}

// --- Several at once ----------------------------------------------------------------------------------------------------------

void cal_pairs_gather(cal_world* world) {
    if (world->gathering > 0 || cal_domain_has_help(world)) world->gathering++;
}

// Whether where a body is until a time is known to whoever looks, so that nothing is written.
static bool is_known(const cal_world* world, int body, double until) {
    const cal_sim_body* part = &world->bodies[body];
    if (part->component < 0) return part->def.motion == CAL_FIXED;
    const cal_component* c = &world->components[part->component];
    return (c->ops->single && cal_component_is_fused(c)) || cal_free_body_is_known(world, body, until);
}

// Follows a body as far as others look at it, where it flies.
static bool make_known(cal_world* world, int body, double until) {
    const cal_sim_body* part = &world->bodies[body];
    cal_motion at;
    if (part->component >= 0 && world->components[part->component].ops->single && !is_known(world, body, until) &&
        cal_body_at(world, body, until, &at) != CAL_OK)
        return false; // fails where it is looked at
    return is_known(world, body, until);
}

// Whether another worker can search for a pair, and that is worth its while: as far as its boxes go at least.
static bool can_share(cal_world* world, const cal_pair* p, horizon* h) {
    if (p->kind != CAL_PAIR_GENERAL || h->exact || h->clear > h->end) return false;
    if (is_known(world, p->body[0], h->end) && is_known(world, p->body[1], h->end)) return true;
    const double until = fmin(h->end, boxes_end(world, p));
    if (h->clear > until || !make_known(world, p->body[0], until) || !make_known(world, p->body[1], until))
        return false;
    h->last = h->last && until == h->end;
    h->end = until;
    return true;
}

// Counts go into a world of the part's own.
static void search_one(void* user, int part) {
    const cal_world* world = user;
    cal_pair_search* search = &world->searches[part];
    cal_world own = *world;
    own.report.checks = own.report.predictions = 0;
    search->status = look_within(&own, &own.table.pairs[search->pair], search->time, &search->h, &search->found, NULL);
    search->checks = own.report.checks, search->predictions = own.report.predictions;
}

// What others cannot search for is predicted at once, and so is what takes no search.
static cal_status begin_searches(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    int kept = 0;
    for (int i = 0; status == CAL_OK && i < world->search_count; i++) {
        cal_pair_search search = world->searches[i];
        const cal_pair* p = &world->table.pairs[search.pair];
        if (p->event < 0 || is_due_before(world, p, search.time)) continue; // or it is gone: its boxes have parted
        if (foresee(world, p, search.time, &search.found, &search.h))
            cal_pair_take(world, search.pair, &search.found);
        else if (can_share(world, p, &search.h))
            world->searches[kept++] = search;
        else
            status = predict(world, search.pair, search.time, error);
    }
    world->search_count = kept;
    return status;
}

cal_status cal_pairs_predict(cal_world* world, cal_status status, cal_error* error) {
    if (world->gathering == 0 || --world->gathering > 0) return status;
    if (status == CAL_OK) status = begin_searches(world, error);
    if (status == CAL_OK) cal_domain_share_out(world, world->search_count, search_one, world);
    for (int i = 0; status == CAL_OK && i < world->search_count; i++) {
        const cal_pair_search* search = &world->searches[i];
        if (is_due_before(world, &world->table.pairs[search->pair], search->time)) continue;
        world->report.checks += search->checks;
        world->report.predictions += search->predictions;
        if (search->status == CAL_OK)
            cal_pair_take(world, search->pair, &search->found);
        else
            status = predict(world, search->pair, search->time, error); // to say what
    }
    world->search_count = 0;
    return status;
}
