// Boxes of a domain that begin where its bodies are. What a body did before in the window, since the beginning T of which all can be taken back, is in its *past*:
//
//     T        c         s                          a body X that has a new box from c on, because it goes another way there, or its box has ended
//     ├────────┼─────────┼──────────┤ box of W      has W for a partner where their boxes overlap, as everywhere; and where W's box begins later than c,
//     └───── past ───────┘                          where its past is overlapped: W may meet X between c and s, as X is behind
//
// In the order of events nobody is behind, and nothing is looked at but boxes. What follows keeps all pairs that may collide:
//
//   1  The past of a body holds what it did in all boxes that it had in the window, so that box and past hold its way since T.
//   2  Of the ways of two bodies at one time, each was put into a box when that was made. The box that was made later, from c on, was compared with the other
//      body's box, or with its past where that held the other body's way at c or later.
//   3  A pair whose boxes cease to overlap as one of the two gets a new box from c on stays as long as it is due before c (the other one, which is behind, has not come
//      to it), or the new box overlaps the past of one whose box begins after c.
//   4  Pairs that stay, that were found by a past, or that came from the border, are listed, since nobody tells when they are over. That is where boxes do
//      not overlap and both begin at T or before.
//   5  Across borders whole ways are compared: box and past. A body that goes to another rank has one box about both there.
//
// Contact groups decide again from what was near at earlier times: where there is one, boxes hold all of the window (cal_late_widen).
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/component.h"
#include "simulation/domain/domain.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/world.h"

static bool is_late(const cal_world* world, const cal_sim_body* part) { return part->box_from > world->gvt; }

// Whether a body of the list is there, and its box begins after a time. Of one that has gone to another domain, which may run, nothing else is read.
static bool begins_after(const cal_world* world, int body, double time) {
    return cal_domain_of_body(world, body) == world->domain && world->bodies[body].box_from > time;
}

void cal_late_forget(cal_sim_body* part) { part->box_from = -(double)INFINITY; }

bool cal_late_list(cal_world* world, int body) {
    cal_sim_body* part = &world->bodies[body];
    if (!world->narrow || !is_late(world, part)) return true;
    world->late_from = fmax(world->late_from, part->box_from);
    // It may have been elsewhere since it was in the list, which may be another one.
    if (!(part->late_at < world->late_count && world->late[part->late_at].body == body)) {
        if (!cal_grow((void**)&world->late, &world->late_capacity, world->late_count, sizeof *world->late))
            return false;
        part->late_at = world->late_count++;
    }
    world->late[part->late_at] = (cal_outer){.body = body, .box = part->past};
    return true;
}

bool cal_late_begin_box(cal_world* world, int body, double at, const cal_box* way) {
    cal_sim_body* part = &world->bodies[body];
    if (way != NULL && at > part->box_from) {
        if (!is_late(world, part)) part->past = cal_box_of_nothing;
        cal_box_extend(&part->past, way);
    }
    part->past_from = (double)NAN; // it is not what wide boxes keep (event/boxes.c)
    part->box_from = at;
    return cal_late_list(world, body);
}

cal_box cal_late_box(const cal_world* world, int body, const cal_box* box) {
    const cal_sim_body* part = &world->bodies[body];
    cal_box all = *box;
    if (world->narrow && is_late(world, part)) cal_box_extend(&all, &part->past);
    return all;
}

bool cal_late_add_pair(cal_world* world, int a, int b) {
    if (!cal_grow((void**)&world->extra, &world->extra_capacity, world->extra_count, sizeof *world->extra))
        return false;
    world->extra[world->extra_count++] = (cal_late_pair){{a, b}};
    return true;
}

bool cal_late_keeps(const cal_world* world, int pair, int other, const cal_box* box, double at) {
    if (cal_events_time(&world->events, world->table.pairs[pair].event) < at) return true;
    return world->bodies[other].component >= 0 && begins_after(world, other, at) &&
           cal_box_overlap(&world->bodies[other].past, box);
}

bool cal_late_find(cal_world* world, int body, const cal_box* box, double at, int* count) {
    if (!(at < world->late_from)) return true;
    for (int i = 0; i < world->late_count; i++) {
        const int other = world->late[i].body;
        if (!cal_box_overlap(&world->late[i].box, box)) continue;
        if (other == body || !begins_after(world, other, at)) continue;
        if (!cal_grow((void**)&world->partners, &world->partner_capacity, *count, sizeof *world->partners) ||
            !cal_late_add_pair(world, body, other))
            return false;
        world->partners[(*count)++] = other;
    }
    return true;
}

bool cal_late_is_over(const cal_world* world, int a, int b) {
    const cal_box *one = cal_broad_box(world->broad, a), *two = cal_broad_box(world->broad, b);
    if (is_late(world, &world->bodies[a]) || is_late(world, &world->bodies[b])) return false;
    return one != NULL && two != NULL && !cal_box_overlap(one, two);
}

// Fixed and driven bodies are in all domains.
static bool is_here(const cal_world* world, int body) {
    const int domain = cal_domain_of_body(world, body);
    return domain == world->domain || domain == CAL_DOMAIN_WHOLE;
}

void cal_late_trim(cal_world* world) {
    int count = 0;
    world->late_from = world->gvt;
    for (int i = 0; i < world->late_count; i++) {
        const int body = world->late[i].body;
        cal_sim_body* part = &world->bodies[body];
        if (cal_domain_of_body(world, body) != world->domain || part->late_at != i)
            continue; // it is gone, or listed again
        if (begins_after(world, body, world->gvt)) {
            part->late_at = count;
            world->late[count++] = world->late[i];
            world->late_from = fmax(world->late_from, part->box_from);
        }
    }
    world->late_count = count;
    count = 0;
    for (int i = 0; i < world->extra_count; i++) {
        const int* body = world->extra[i].body;
        const int pair =
            is_here(world, body[0]) && is_here(world, body[1]) ? cal_pair_find(world, body[0], body[1]) : -1;
        if (pair < 0) continue;
        if (cal_late_is_over(world, body[0], body[1]))
            cal_pair_remove(world, pair);
        else if (is_late(world, &world->bodies[body[0]]) || is_late(world, &world->bodies[body[1]]))
            world->extra[count++] = world->extra[i];
    }
    world->extra_count = count;
}

// One body's box holds its past as well; pairs of it that are new are looked at from the beginning of the window.
static cal_status widen_box(cal_world* world, int body, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    const cal_box* box = cal_broad_box(world->broad, body);
    if (box == NULL) return CAL_OK;
    const cal_box all = cal_late_box(world, body, box);
    cal_broad_changes changes;
    part->box_from = world->gvt;
    if (cal_broad_move(world->broad, body, &all, &changes) != CAL_OK)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    return cal_box_begin_pairs(world, body, &changes, world->gvt, error);
}

cal_status cal_late_widen(cal_world* world, cal_error* error) {
    cal_status status = CAL_OK;
    if (!world->narrow) return CAL_OK;
    cal_late_trim(world);
    for (int i = 0; status == CAL_OK && i < world->late_count; i++)
        status = widen_box(world, world->late[i].body, error);
    cal_late_trim(world);
    world->narrow = false;
    return status;
}
