// The forces of contacts that a group remembers from one step to the next, by the keys of its contacts.
#include "base/finite.h"
#include "base/sound.h"
#include "math/vector.h"
#include "simulation/contact/group_work.h"
#include <stdlib.h>
#include <string.h>

enum { FORCE_NUMBERS = 4, FORCES_OF_UNIT = 8, FEWEST_FORCES = 64 };

static int most_forces(const cal_group* group) { return FORCES_OF_UNIT * group->unit_count + FEWEST_FORCES; }

size_t cal_work_sort_count(const cal_group* group) {
    return (size_t)most_forces(group) * (FORCE_NUMBERS + 2 * sizeof(cal_keyed) / sizeof(double));
}

bool cal_work_sort_begin(cal_group_work* w, cal_arena* arena) {
    const size_t most = (size_t)most_forces(w->group);
    w->force_copy = cal_arena_numbers(arena, FORCE_NUMBERS * most);
    w->force_order = (cal_keyed*)(void*)cal_arena_numbers(arena, 2 * most * sizeof(cal_keyed) / sizeof(double));
    return w->force_copy != NULL && w->force_order != NULL;
}

size_t cal_work_memory_count(const cal_group* group) {
    return CAL_WORK_FORCES + FORCE_NUMBERS * (size_t)most_forces(group) + (size_t)group->unit_count;
}

// Keys may be any bits.
bool cal_work_memory_sound(const cal_group* group, const double* memory) {
    const int most = most_forces(group);
    bool sound = cal_all_finite(memory, CAL_WORK_FORCES) && cal_is_index(memory[CAL_WORK_FORCE_COUNT], most) &&
                 cal_all_finite(memory + CAL_WORK_FORCES + FORCE_NUMBERS * most, group->unit_count);
    for (int i = 0; sound && i < most; i++)
        sound = cal_all_finite(memory + CAL_WORK_FORCES + FORCE_NUMBERS * i + 1, FORCE_NUMBERS - 1);
    return sound;
}

double* cal_work_calm_steps(const cal_group_work* w) {
    return w->memory + CAL_WORK_FORCES + FORCE_NUMBERS * most_forces(w->group);
}

static uint64_t key_of(const double* entry) {
    uint64_t key;
    memcpy(&key, entry, sizeof key);
    return key;
}

static int compare_entries(const void* a, const void* b) {
    const double *x = a, *y = b;
    const uint64_t p = key_of(x), q = key_of(y);
    if (p != q) return p < q ? -1 : 1;
    for (int i = 1; i < FORCE_NUMBERS; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

// Entries by key: they are sorted in every step, and keys are as good as random. order: room for twice as many keys with numbers as there
// are entries; copy: for the entries.
static void sort_entries(double* entries, int count, cal_keyed* order, double* copy) {
    for (int i = 0; i < count; i++) order[i] = (cal_keyed){key_of(entries + FORCE_NUMBERS * i), i};
    cal_radix_sort(order, order + count, count);
    memcpy(copy, entries, FORCE_NUMBERS * (size_t)count * sizeof *copy);
    bool twice = false;
    for (int i = 0; i < count; i++) {
        memcpy(entries + FORCE_NUMBERS * i, copy + FORCE_NUMBERS * order[i].number, FORCE_NUMBERS * sizeof *copy);
        twice |= i > 0 && order[i].key == order[i - 1].key;
    }
    if (twice) qsort(entries, (size_t)count, FORCE_NUMBERS * sizeof *entries, compare_entries);
}

static void write_entry(cal_group_work* w, int number, const cal_group_contact* contact, const double force[3]) {
    double* entry = w->memory + CAL_WORK_FORCES + FORCE_NUMBERS * number;
    memcpy(entry, &contact->key, sizeof contact->key);
    memcpy(entry + 1, force, 3 * sizeof *force);
}

// The forces of the last solve, which was for a step of size h; those between units that it left out stay.
void cal_work_remember(cal_group_work* w, double h) {
    if (w->jolt > 0.0) return; // what acts in an instant is no force that goes on
    const cal_problem* p = &w->problem;
    const int most = most_forces(w->group);
    int count = 0, row = 0;
    for (int k = 0; k < w->cache.count && count < most; k++) {
        const cal_group_contact* contact = &w->cache.contacts[k];
        const cal_contact_row* touch = row < p->row_count && p->rows[row].contact == k ? &p->rows[row++] : NULL;
        if (contact->key == 0) continue;
        if (touch != NULL && touch->impulse[0] > 0.0) {
            double frame[9], force[3];
            cal_contact_frame(contact->normal, frame);
            for (int i = 0; i < 3; i++) {
                double sum = 0.0;
                for (int r = 0; r < 3; r++) sum += frame[3 * r + i] * touch->impulse[r];
                force[i] = sum / h;
            }
            write_entry(w, count++, contact, force);
        }
        if (touch != NULL || cal_dot3(w->known_force[k], w->known_force[k]) == 0.0) continue;
        if (cal_work_leaves_out(w, contact)) write_entry(w, count++, contact, w->known_force[k]);
    }
    w->memory[CAL_WORK_FORCE_COUNT] = count;
    memset(w->memory + CAL_WORK_FORCES + FORCE_NUMBERS * count, 0,
           FORCE_NUMBERS * (size_t)(most - count) * sizeof(double));
    sort_entries(w->memory + CAL_WORK_FORCES, count, w->force_order, w->force_copy);
}

// As far as there is room; entries of pairs that are not in this group are forgotten in its first step.
void cal_work_add_memory(const cal_group* group, const cal_group* other, const double* from, double* memory) {
    (void)other;
    const int have = (int)memory[CAL_WORK_FORCE_COUNT], more = (int)from[CAL_WORK_FORCE_COUNT],
              room = most_forces(group) - have, count = more < room ? more : room;
    memory[CAL_WORK_PAUSE] = fmax(memory[CAL_WORK_PAUSE], from[CAL_WORK_PAUSE]);
    memory[CAL_WORK_LAST_PAUSE] = fmax(memory[CAL_WORK_LAST_PAUSE], from[CAL_WORK_LAST_PAUSE]);
    memory[CAL_WORK_GOES_ON] = fmin(memory[CAL_WORK_GOES_ON], from[CAL_WORK_GOES_ON]); // what is to be hit still is
    // The shorter of the two steps is safe for both.
    if (memory[CAL_WORK_NEXT_STEP] == 0.0 ||
        (from[CAL_WORK_NEXT_STEP] > 0.0 && from[CAL_WORK_NEXT_STEP] < memory[CAL_WORK_NEXT_STEP]))
        memory[CAL_WORK_NEXT_STEP] = from[CAL_WORK_NEXT_STEP];
    // Both are in order: from the last one on.
    const double *own = memory + CAL_WORK_FORCES, *others = from + CAL_WORK_FORCES;
    for (int a = have, b = count; b > 0;) {
        const bool mine = a > 0 && compare_entries(own + FORCE_NUMBERS * (a - 1), others + FORCE_NUMBERS * (b - 1)) > 0;
        memcpy(memory + CAL_WORK_FORCES + FORCE_NUMBERS * (a + b - 1),
               mine ? own + FORCE_NUMBERS * (a - 1) : others + FORCE_NUMBERS * (b - 1), FORCE_NUMBERS * sizeof *memory);
        if (mine)
            a--;
        else
            b--;
    }
    memory[CAL_WORK_FORCE_COUNT] = have + count;
}

void cal_work_know(cal_group_work* w) {
    const int count = w->known != NULL ? (int)w->known[CAL_WORK_FORCE_COUNT] : 0;
    for (int k = 0; k < w->cache.count; k++) {
        const uint64_t key = w->cache.contacts[k].key;
        int low = 0, high = count;
        while (low < high) {
            const int middle = (low + high) / 2;
            if (key_of(w->known + CAL_WORK_FORCES + FORCE_NUMBERS * middle) < key)
                low = middle + 1;
            else
                high = middle;
        }
        const double* entry = low < count ? w->known + CAL_WORK_FORCES + FORCE_NUMBERS * low : NULL;
        const bool is_there = entry != NULL && key_of(entry) == key;
        for (int i = 0; i < 3; i++) w->known_force[k][i] = is_there ? entry[1 + i] : 0.0;
    }
}

void cal_work_recall(cal_group_work* w) {
    for (int k = 0; k < w->problem.row_count; k++) {
        cal_contact_row* touch = &w->problem.rows[k];
        double frame[9];
        cal_contact_frame(w->cache.contacts[touch->contact].normal, frame);
        cal_rotate3(frame, w->known_force[touch->contact], touch->last);
    }
}
