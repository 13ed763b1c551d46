// Where the bodies of a group touch: pairs that may come near are kept from one search to the next, as long as nobody has moved
// far, and so are the contacts of a pair, as long as both of its bodies are where they were to the last bit. Contacts are those of the
// poses and the margin alone.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/contact/impact.h"
#include "simulation/event/pairs.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdlib.h>
#include <string.h>

#define SKIN 0.1      // of the group's size: how far bodies go before pairs are looked for again
#define ROUNDING 1e-9 // of ways and sizes: much more than what distances and ways are off by
enum { PAIR_CONTACTS = 64 };

bool cal_group_search_begin(cal_contact_group* g) {
    const size_t count = (size_t)g->group.body_count;
    g->near_poses = cal_allocate(7 * count, sizeof *g->near_poses);
    g->placed = cal_allocate(count, sizeof *g->placed);
    g->search_poses = cal_allocate(7 * count, sizeof *g->search_poses);
    g->stays = cal_allocate(count, sizeof *g->stays);
    g->ways = cal_allocate(count, sizeof *g->ways);
    g->near_margin = -1.0;
    return g->ways != NULL && g->near_poses != NULL && g->placed != NULL && g->search_poses != NULL && g->stays != NULL;
}

void cal_group_search_end(cal_contact_group* g) {
    void* const lists[] = {g->near_poses, g->placed, g->near,     g->search_poses,
                           g->stays,      g->ways,   g->found[0], g->found[1]};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
}

// --- Who may come near ----------------------------------------------------------------------------------------------------------

// How far any point of a body has moved from one pose to another: its centre, and the chord of its turn at its reach.
static double moved(const cal_sim_body* part, const double* from, const double* to) {
    double d[3];
    for (int i = 0; i < 3; i++) d[i] = to[i] - from[i];
    double way = sqrt(cal_dot3(d, d));
    if (!part->spinning) return way;
    const double *p = from + 3, *q = to + 3;
    const double c = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3], square = 1.0 - c * c;
    if (square > 0.0) way += 2.0 * part->reach * sqrt(square);
    return way;
}

static bool still_near(const cal_world* world, const cal_contact_group* g, const double* poses, double margin) {
    if (g->near_margin < 0.0) return false;
    double most = 0.0;
    for (int i = 0; i < g->group.body_count; i++) {
        const cal_sim_body* part = &world->bodies[g->bodies[i]];
        if (part->component < 0 && part->def.motion != CAL_DRIVEN) continue;
        most = fmax(most, moved(part, g->near_poses + 7 * i, poses + 7 * i));
    }
    return 2.0 * most + margin <= g->near_margin + g->near_skin;
}

static bool add_near(const cal_world* world, cal_contact_group* g, int i, int k) {
    const int a = g->bodies[i], b = g->bodies[k];
    if (i >= g->group.body_count - g->other_count && k >= g->group.body_count - g->other_count) return true;
    if (!cal_may_collide(world, a, b) || !(cal_group_is_inner(world, a, b) || cal_group_lists(g, a, b))) return true;
    if (!cal_grow((void**)&g->near, &g->near_capacity, g->near_count, sizeof *g->near)) return false;
    g->near[g->near_count++] =
        (cal_near_pair){.place = {a < b ? i : k, a < b ? k : i}, .measured.piece_a = -1, .apart = -INFINITY};
    return true;
}

typedef struct interval {
    double low;
    int body;
} interval;

static int order_of_interval(const void* a, const void* b) {
    const interval *p = a, *q = b;
    if (p->low != q->low) return p->low < q->low ? -1 : 1;
    return p->body < q->body ? -1 : p->body > q->body;
}

static int order_of_near(const cal_near_pair* a, const cal_near_pair* b, const cal_contact_group* g) {
    const int *p = a->place, *q = b->place;
    const uint64_t x = cal_pair_key(g->bodies[p[0]], g->bodies[p[1]]),
                   y = cal_pair_key(g->bodies[q[0]], g->bodies[q[1]]);
    return x < y ? -1 : x > y;
}

// By pairs of bodies: merges, with room behind the list.
static bool sort_near(cal_contact_group* g) {
    cal_near_pair* room = cal_allocate((size_t)g->near_count + 1, sizeof *room);
    if (room == NULL) return false;
    for (int width = 1; width < g->near_count; width *= 2) {
        for (int from = 0; from < g->near_count; from += 2 * width) {
            const int middle = from + width < g->near_count ? from + width : g->near_count,
                      end = from + 2 * width < g->near_count ? from + 2 * width : g->near_count;
            int a = from, b = middle;
            for (int i = from; i < end; i++) {
                const bool left = a < middle && (b >= end || order_of_near(&g->near[a], &g->near[b], g) <= 0);
                room[i] = g->near[left ? a++ : b++];
            }
        }
        memcpy(g->near, room, (size_t)g->near_count * sizeof *room);
    }
    cal_free(room);
    return true;
}

// The axis along which members are spread most.
static int widest_axis(const cal_contact_group* g, const double* poses) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    int axis = 0;
    for (int i = 0; i < g->group.body_count - g->other_count; i++)
        for (int d = 0; d < 3; d++) {
            low[d] = fmin(low[d], poses[7 * i + d]);
            high[d] = fmax(high[d], poses[7 * i + d]);
        }
    for (int d = 1; d < 3; d++)
        if (high[d] - low[d] > high[axis] - low[axis]) axis = d;
    return axis;
}

// Boxes that overlap, by a sweep along an axis.
static bool look_for_near(const cal_world* world, cal_contact_group* g, const double* poses, double margin) {
    const int count = g->group.body_count, axis = widest_axis(g, poses);
    g->near_skin = SKIN * g->size;
    g->near_margin = margin;
    g->near_count = 0;
    g->searched = false;
    memcpy(g->near_poses, poses, 7 * (size_t)count * sizeof *poses);
    interval* order = cal_allocate((size_t)count, sizeof *order);
    cal_box* boxes = cal_allocate((size_t)count, sizeof *boxes);
    bool ok = order != NULL && boxes != NULL;
    const double pad = 0.5 * (margin + g->near_skin);
    for (int i = 0; ok && i < count; i++) {
        if (world->bodies[g->bodies[i]].geometry == NULL) { // touches nothing, and is nowhere
            boxes[i] = (cal_box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
            order[i] = (interval){INFINITY, i};
            continue;
        }
        const cal_pose pose = cal_pose_make(poses + 7 * i, poses + 7 * i + 3);
        cal_geometry_box(world->bodies[g->bodies[i]].geometry, &pose, &boxes[i]);
        boxes[i] = cal_box_pad(&boxes[i], pad);
        order[i] = (interval){boxes[i].low[axis], i};
    }
    if (ok) qsort(order, (size_t)count, sizeof *order, order_of_interval);
    for (int i = 0; ok && i < count; i++)
        for (int k = i + 1; ok && k < count && order[k].low <= boxes[order[i].body].high[axis]; k++)
            if (cal_box_overlap(&boxes[order[i].body], &boxes[order[k].body]))
                ok = add_near(world, g, order[i].body, order[k].body);
    cal_free(order);
    cal_free(boxes);
    ok = ok && sort_near(g);
    if (!ok) g->near_margin = -1.0;
    return ok;
}

// --- Contacts -------------------------------------------------------------------------------------------------------------------

static void convert(const cal_world* world, const int bodies[2], const int place[2], const cal_contact* from,
                    cal_group_contact* out) {
    const int sides[2] = {1, 0}; // the normal is from b to a
    for (int i = 0; i < 2; i++) out->body[i] = place[sides[i]];
    for (int i = 0; i < 3; i++) {
        out->normal[i] = from->normal[i];
        out->point[0][i] = from->point[i] - 0.5 * from->separation * from->normal[i];
        out->point[1][i] = from->point[i] + 0.5 * from->separation * from->normal[i];
    }
    out->gap = from->separation;
    out->shape[1] = cal_geometry_tag(world->bodies[bodies[0]].geometry, from->piece_a);
    out->shape[0] = cal_geometry_tag(world->bodies[bodies[1]].geometry, from->piece_b);
    cal_material(world, bodies[0], from->piece_a, bodies[1], from->piece_b, &out->friction, &out->restitution);
    uint64_t key = cal_pair_key(bodies[0], bodies[1]) * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ ((uint64_t)(uint32_t)from->piece_a << 32 | (uint32_t)from->piece_b)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 32 ^ from->feature) * UINT64_C(0x94d049bb133111eb);
    out->key = key | 1;
}

// How far any point of a body has gone from one pose to another, at most: its centre, and of a turn by θ the chord 2 r sin(θ/2) of its
// reach r, which is less than 2 r |p − q| of the two quaternions; with room for rounding.
static double way_of(const cal_sim_body* part, const double* from, const double* to) {
    double d[3], plus = 0.0, minus = 0.0;
    for (int i = 0; i < 3; i++) d[i] = to[i] - from[i];
    for (int i = 3; i < 7; i++) {
        minus += (to[i] - from[i]) * (to[i] - from[i]);
        plus += (to[i] + from[i]) * (to[i] + from[i]);
    }
    return (1.0 + ROUNDING) * (sqrt(cal_dot3(d, d)) + 2.0 * part->reach * sqrt(fmin(minus, plus)));
}

// Who is where it was at the last search.
static void find_staying(const cal_world* world, cal_contact_group* g, const double* poses) {
    for (int i = 0; i < g->group.body_count; i++) {
        const size_t size = 7 * sizeof *poses;
        g->stays[i] = g->searched && cal_same_bits(poses + 7 * i, g->search_poses + 7 * i, size);
        if (g->stays[i]) continue;
        if (g->searched) g->ways[i] += way_of(&world->bodies[g->bodies[i]], g->search_poses + 7 * i, poses + 7 * i);
        memcpy(g->search_poses + 7 * i, poses + 7 * i, size);
        g->placed[i] = cal_pose_make(poses + 7 * i, poses + 7 * i + 3);
    }
}

static bool is_known(const cal_contact_group* g, const cal_near_pair* near, double margin) {
    return g->stays[near->place[0]] && g->stays[near->place[1]] &&
           (margin == near->margin || (margin >= near->margins[0] && margin < near->margins[1]));
}

static bool reserve_found(cal_contact_group* g, int count) {
    while (g->found_capacity[0] < count)
        if (!cal_grow((void**)&g->found[0], &g->found_capacity[0], g->found_capacity[0], sizeof *g->found[0]))
            return false;
    return true;
}

// The contacts of a pair, behind the `count` that there are; false: no memory.
static bool look_at_pair(const cal_world* world, cal_contact_group* g, cal_near_pair* near, double margin, int count) {
    const int *place = near->place, bodies[2] = {g->bodies[place[0]], g->bodies[place[1]]};
    const cal_sim_body *a = &world->bodies[bodies[0]], *b = &world->bodies[bodies[1]];
    double apart[3];
    for (int k = 0; k < 3; k++) apart[k] = g->placed[place[0]].position[k] - g->placed[place[1]].position[k];
    const double sum = a->reach + b->reach + margin;
    const double way = g->ways[place[0]] + g->ways[place[1]];
    near->count = 0, near->margin = margin, near->margins[0] = -INFINITY, near->margins[1] = margin;
    if (!g->stays[place[0]] || !g->stays[place[1]]) near->measured.piece_a = -1;
    if (way + margin < near->apart || cal_dot3(apart, apart) > sum * sum) return true;
    cal_contact found[PAIR_CONTACTS];
    int n = cal_contacts_for_margins(a->geometry, &g->placed[place[0]], b->geometry, &g->placed[place[1]], margin,
                                     near->margins, &near->measured, found, PAIR_CONTACTS);
    if (n > PAIR_CONTACTS) n = PAIR_CONTACTS;
    if (!reserve_found(g, count + n)) return false;
    for (int k = 0; k < n; k++) convert(world, bodies, place, &found[k], &g->found[0][count + k]);
    near->count = n;
    near->apart = n == 0 ? way + near->margins[1] - ROUNDING * (a->reach + b->reach) : -INFINITY;
    return true;
}

cal_status cal_group_contacts(const cal_group* group, double time, const double* poses, double margin,
                              cal_group_contact* out, int capacity, int* total) {
    (void)time;
    cal_contact_group* g = (cal_contact_group*)group; // what is kept changes no answer
    const cal_world* world = group->world;
    int count = 0;
    if (!still_near(world, g, poses, margin) && !look_for_near(world, g, poses, margin)) return CAL_NO_MEMORY;
    find_staying(world, g, poses);
    cal_group_contact* const last = g->found[0];
    const int last_capacity = g->found_capacity[0];
    g->found[0] = g->found[1], g->found_capacity[0] = g->found_capacity[1];
    g->found[1] = last, g->found_capacity[1] = last_capacity;
    g->searched = false; // should there be no memory
    for (int i = 0; i < g->near_count; i++) {
        cal_near_pair* near = &g->near[i];
        if (is_known(g, near, margin)) {
            if (!reserve_found(g, count + near->count)) return CAL_NO_MEMORY;
            if (near->count > 0) memcpy(g->found[0] + count, last + near->first, (size_t)near->count * sizeof *last);
        } else if (!look_at_pair(world, g, near, margin, count))
            return CAL_NO_MEMORY;
        near->first = count;
        count += near->count;
    }
    g->searched = true;
    *total = count;
    if (count > 0) memcpy(out, g->found[0], (size_t)(count < capacity ? count : capacity) * sizeof *out);
    return CAL_OK;
}
