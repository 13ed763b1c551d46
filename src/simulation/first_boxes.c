// See first_boxes.h. First all boxes, then who is around each of them: a look changes nothing, so that all processors look at the same time. Of two that meet,
// the one that came later makes the pair.
#include "simulation/first_boxes.h"
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/event/events.h"
#include "simulation/event/pairs.h"
#include "simulation/share.h"
#include "simulation/world.h"

// So many bodies at a time: what is known of them stays in the caches until it is used.
enum { CHUNK = 8192, PIECES = CHUNK / CAL_SHARE_PIECE };

typedef struct first_box {
    cal_box box;
    double end;
    bool known;
} first_box;

// Partners of the bodies of a piece, one after the other.
typedef struct partner_list {
    int32_t* ids;
    int count, capacity;
    bool failed;
} partner_list;

typedef struct first_boxes {
    cal_world* world;
    int first; // body of the chunk
    first_box* boxes;
    int* counts; // of partners of each
    partner_list partners[PIECES];
} first_boxes;

static bool has_box(const cal_world* world, int body) {
    const cal_sim_body* part = &world->bodies[body];
    return part->stage == CAL_NEW && part->form != CAL_FORM_NONE && part->def.motion != CAL_FIXED;
}

static int chunk_size(const cal_world* world, int first) {
    return world->body_count - first < CHUNK ? world->body_count - first : CHUNK;
}

// --- Boxes --------------------------------------------------------------------------------------------------------------------

static void find_boxes(void* user, int first, int end) {
    const first_boxes* f = user;
    const cal_world* world = f->world;
    for (int i = first; i < end; i++)
        f->boxes[i].known = has_box(world, f->first + i) &&
                            cal_box_of_start(world, f->first + i, world->time, &f->boxes[i].end, &f->boxes[i].box);
}

static cal_status put_box(cal_world* world, int body, const first_box* known, cal_error* error) {
    cal_sim_body* part = &world->bodies[body];
    if (part->box_event < 0) part->box_event = cal_events_add(&world->events, CAL_EVENT_BOX, body);
    if (part->box_event < 0) return cal_fail(error, CAL_NO_MEMORY, "out of memory for events");
    return cal_box_place(world, body, world->time, known->known ? &known->box : NULL, known->end, error);
}

static cal_status put_boxes(first_boxes* f, cal_error* error) {
    cal_world* world = f->world;
    cal_status status = CAL_OK;
    for (f->first = 0; status == CAL_OK && f->first < world->body_count; f->first += CHUNK) {
        const int count = chunk_size(world, f->first);
        cal_world_share(world, count, find_boxes, f);
        for (int i = 0; status == CAL_OK && i < count; i++)
            if (has_box(world, f->first + i)) status = put_box(world, f->first + i, &f->boxes[i], error);
    }
    return status;
}

// --- Pairs --------------------------------------------------------------------------------------------------------------------

// Whether a body had its box before another one, which is new.
static bool is_before(const cal_world* world, int body, int other) {
    return body < other || (body > other && !has_box(world, body));
}

static bool note_partners(const cal_world* world, int body, const int32_t* ids, int count, partner_list* list) {
    for (int i = 0; i < count; i++) {
        if (!is_before(world, ids[i], body) || !cal_may_collide(world, body, ids[i])) continue;
        if (!cal_grow((void**)&list->ids, &list->capacity, list->count, sizeof *list->ids)) return false;
        list->ids[list->count++] = ids[i];
    }
    return true;
}

static void look_around_piece(const first_boxes* f, int first, int end, partner_list* list) {
    const cal_world* world = f->world;
    cal_broad_scratch scratch = {0};
    list->count = 0;
    list->failed = false;
    for (int i = first; !list->failed && i < end; i++) {
        const int body = f->first + i, before = list->count;
        if (has_box(world, body)) {
            const int32_t* ids;
            const int found = cal_broad_look(world->broad, cal_broad_box(world->broad, body), &scratch, &ids);
            list->failed = found < 0 || !note_partners(world, body, ids, found, list);
        }
        f->counts[i] = list->count - before;
    }
    cal_broad_scratch_free(&scratch);
}

static void look_around(void* user, int first, int end) {
    first_boxes* f = user;
    for (int i = first; i < end; i += CAL_SHARE_PIECE)
        look_around_piece(f, i, end - i < CAL_SHARE_PIECE ? end : i + CAL_SHARE_PIECE,
                          &f->partners[i / CAL_SHARE_PIECE]);
}

static cal_status add_pairs(first_boxes* f, int piece, int end, cal_error* error) {
    const partner_list* list = &f->partners[piece];
    const int32_t* next = list->ids;
    cal_status status = list->failed ? cal_fail(error, CAL_NO_MEMORY, "out of memory for pairs of bodies") : CAL_OK;
    for (int i = piece * CAL_SHARE_PIECE; status == CAL_OK && i < end; i++)
        for (int k = 0; status == CAL_OK && k < f->counts[i]; k++) {
            int pair;
            status = cal_pair_add(f->world, f->first + i, *next++, &pair, error);
        }
    return status;
}

static cal_status begin_pairs(first_boxes* f, cal_error* error) {
    cal_world* world = f->world;
    cal_status status = CAL_OK;
    for (f->first = 0; status == CAL_OK && f->first < world->body_count; f->first += CHUNK) {
        const int count = chunk_size(world, f->first);
        cal_world_share(world, count, look_around, f);
        for (int p = 0; status == CAL_OK && p * CAL_SHARE_PIECE < count; p++) {
            const int end = (p + 1) * CAL_SHARE_PIECE;
            status = add_pairs(f, p, end < count ? end : count, error);
        }
    }
    return status;
}

cal_status cal_world_first_boxes(cal_world* world, cal_error* error) {
    first_boxes f = {.world = world};
    const size_t most = (size_t)chunk_size(world, 0) + 1;
    f.boxes = cal_allocate(most, sizeof *f.boxes);
    f.counts = cal_allocate(most, sizeof *f.counts);
    cal_status status = CAL_OK;
    if (f.boxes == NULL || f.counts == NULL) status = cal_fail(error, CAL_NO_MEMORY, "out of memory for boxes");
    if (status == CAL_OK) status = put_boxes(&f, error);
    if (status == CAL_OK) status = begin_pairs(&f, error);
    for (int p = 0; p < PIECES; p++) cal_free(f.partners[p].ids);
    cal_free(f.boxes);
    cal_free(f.counts);
    return status;
}
