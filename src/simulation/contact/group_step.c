// A step of a contact group: computed by the integrator, or found among what another rank has computed (domain/memo.h).
#include "base/hash.h"
#include "base/memory.h"
#include "simulation/component.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/domain/memo.h"
#include "simulation/world.h"
#include <string.h>

enum { FIRST_CONTACTS = 64 };

bool cal_group_reserve_scratch(cal_world* world, size_t count) {
    if (count <= world->scratch_count) return true;
    cal_free(world->scratch);
    world->scratch = cal_allocate(count, sizeof *world->scratch);
    world->scratch_count = world->scratch != NULL ? count : 0;
    return world->scratch != NULL;
}

static bool reserve_impacts(cal_world* world, int count) {
    if (count <= world->impact_capacity) return true;
    cal_free(world->impacts);
    world->impacts = cal_allocate((size_t)count, sizeof *world->impacts);
    world->impact_capacity = world->impacts != NULL ? count : 0;
    return world->impacts != NULL;
}

// What a step gives, for other ranks: where it ends, its report, the new numbers, impacts.
typedef struct kept_step {
    cal_group_interval reached;
    cal_group_report report;
} kept_step;

static cal_memo_key key_of_step(const cal_contact_group* g, int component, const cal_group_interval* interval,
                                const double* numbers) {
    cal_memo_key key = cal_memo_key_of(component, interval->time, numbers, (size_t)g->at_arrival);
    key.hash = cal_hash_words(key.hash, interval, sizeof *interval / sizeof(uint64_t));
    return key;
}

static bool recall_step(cal_world* world, const cal_contact_group* g, const cal_memo_key* key,
                        cal_group_interval* reached, double* trial, cal_group_report* report) {
    kept_step step;
    const size_t head = cal_memo_words(sizeof step), numbers = (size_t)g->at_arrival;
    const double* words = cal_memo_find_any(world, key);
    if (words == NULL) return false;
    memcpy(&step, words, sizeof step);
    if (!reserve_impacts(world, step.report.impact_count + 1)) return false;
    memcpy(trial, words + head, numbers * sizeof *trial);
    memcpy(world->impacts, words + head + numbers, (size_t)step.report.impact_count * sizeof *world->impacts);
    *reached = step.reached;
    *report = step.report;
    report->impacts = world->impacts;
    report->impact_capacity = world->impact_capacity;
    return true;
}

static void keep_step(cal_world* world, const cal_contact_group* g, const cal_memo_key* key,
                      const cal_group_interval* reached, const double* trial, const cal_group_report* report) {
    const kept_step step = {*reached, *report};
    const size_t head = cal_memo_words(sizeof step), numbers = (size_t)g->at_arrival,
                 impacts = (size_t)report->impact_count * sizeof *report->impacts;
    double* words = cal_memo_keep(world, key, head + numbers + cal_memo_words(impacts));
    if (words == NULL) return;
    memcpy(words, &step, sizeof step);
    memcpy(words + head, trial, numbers * sizeof *trial);
    if (impacts > 0) memcpy(words + head + numbers, report->impacts, impacts);
}

cal_status cal_group_find_step(cal_world* world, int component, const double* numbers, cal_group_interval* interval,
                               double* trial, cal_group_report* out, cal_error* error) {
    cal_contact_group* g = world->components[component].group;
    cal_memo_key key = {0};
    if (world->memo != NULL) key = key_of_step(g, component, interval, numbers);
    if (world->memo != NULL && recall_step(world, g, &key, interval, trial, out)) return CAL_OK;
    int capacity = g->last_contacts + g->last_contacts / 2 + FIRST_CONTACTS;
    for (;;) {
        cal_group_interval reached = *interval;
        memcpy(trial, numbers, (size_t)g->at_arrival * sizeof *trial);
        // Each contact may be hit before the step, and in it.
        if (!reserve_impacts(world, 2 * capacity) ||
            !cal_group_reserve_scratch(world, world->group_ops->scratch_count(&g->group, capacity)))
            return cal_fail(error, CAL_NO_MEMORY, "out of memory for a contact group of %d bodies",
                            g->group.body_count);
        cal_group_report report = {.impacts = world->impacts, .impact_capacity = world->impact_capacity};
        const cal_status status =
            world->group_ops->step(&g->group, &reached, trial, trial + g->at_v, trial + g->at_memory, world->scratch,
                                   capacity, &report, error);
        if (status == CAL_NO_MEMORY && report.contacts > capacity) {
            capacity = report.contacts + report.contacts / 2;
            continue;
        }
        if (status != CAL_OK) return status;
        if (world->memo != NULL) keep_step(world, g, &key, &reached, trial, &report);
        *interval = reached;
        *out = report;
        return CAL_OK;
    }
}
