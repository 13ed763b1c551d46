// Whether time gets on. A loop may come to the same moment often: bodies that collide at one time, searches that end and begin
// again, what was rolled back. But events that follow each other ever more closely would keep it there for ever.
#include "simulation/body.h"
#include "simulation/event/loops.h"
#include "simulation/world.h"
#include <math.h>

// A world needs a few events per body and window. In a thousand times as many as there are, and some for small worlds, time must get
// on by a millionth of a window: at a slower pace one window would take 10⁹ events per body, hours.
static const double LEAST_SHARE = 1e-6;
// Of the loops for comparison, which take each look for an event and are for small worlds: at this pace a window takes minutes.
static const double LEAST_SHARE_OF_LOOKS = 1e-4;
enum { EVENTS_EACH = 1000, LOOKS_EACH = 100, SOME = 100 };

void cal_progress_begin(cal_world* world) {
    world->watch_events = 0;
    world->watch_from = world->watch_best = world->now;
}

// How many events it takes to see that depends on how many things a domain has, so the last one is another one in each. All are within some `least` of the time that
// they do not get past, and digits are shown that are ten times as coarse, or more.
static int digits_of(double time, double least) {
    int digits = 1;
    for (double coarser = 1000.0 * least; digits < 9 && coarser <= fabs(time); coarser *= 10.0) digits++;
    return digits;
}

static cal_status fail_stuck(const cal_world* world, const cal_event_slot* slot, double least, cal_error* error) {
    static const char hint[] = "look at masses, sizes and speeds that differ by many orders of magnitude";
    char first[64], second[64];
    const int digits = digits_of(world->now, least);
    if (slot != NULL && cal_event_kind_of(slot) == CAL_EVENT_PAIR) {
        const cal_pair* pair = &world->table.pairs[slot->owner];
        return cal_fail(error, CAL_NOT_CONVERGED,
                        "time does not get on at t = %.*g s: '%s' and '%s' meet without end; %s", digits, world->now,
                        cal_body_name_at(world, pair->body[0], first, sizeof first),
                        cal_body_name_at(world, pair->body[1], second, sizeof second), hint);
    }
    if (slot != NULL && cal_event_kind_of(slot) == CAL_EVENT_BOX)
        return cal_fail(error, CAL_NOT_CONVERGED, "time does not get on at t = %.*g s, because of '%s'; %s", digits,
                        world->now, cal_body_name_at(world, slot->owner, first, sizeof first), hint);
    return cal_fail(error, CAL_NOT_CONVERGED, "time does not get on at t = %.*g s; %s", digits, world->now, hint);
}

cal_status cal_progress_check(cal_world* world, const cal_event_slot* slot, double scale, cal_error* error) {
    if (world->now > world->watch_best) world->watch_best = world->now;
    const bool looks = world->def.loop != CAL_TIMEWARP;
    if (++world->watch_events < (int64_t)(looks ? LOOKS_EACH : EVENTS_EACH) * (world->events.slot_count + SOME))
        return CAL_OK;
    const double least = (looks ? LEAST_SHARE_OF_LOOKS : LEAST_SHARE) * scale;
    if (!(world->watch_best - world->watch_from > least)) return fail_stuck(world, slot, least, error);
    world->watch_events = 0;
    world->watch_from = world->watch_best;
    return CAL_OK;
}
