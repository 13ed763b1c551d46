// Where the bodies of a group touch: pairs that may come near are kept from one search to the next, as long as nobody has moved
// far, and so are the contacts of a pair, as long as both of its bodies are where they were to the last bit. Contacts are those of the
// poses and the margin alone.
#include "base/memory.h"
#include "simulation/body.h"
#include "simulation/contact/contact_group.h"
#include "simulation/contact/group.h"
#include "simulation/contact/impact.h"
#include "simulation/domain/domain.h"
#include "simulation/event/pairs.h"
#include "simulation/state/graph.h"
#include "simulation/world.h"
#include <stdlib.h>
#include <string.h>

#define SKIN 0.1      // of the group's size: how far bodies go before pairs are looked for again,
#define MARGINS 2.0   // and of the margin, which is what they may go in a step from both sides
#define ROUNDING 1e-9 // of ways and sizes: much more than what distances and ways are off by

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
    void* const lists[] = {g->near_poses, g->placed,   g->near,     g->search_poses, g->stays,
                           g->ways,       g->found[0], g->found[1], g->looks};
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

// Pairs as they are found, and in the order of their bodies.
typedef struct found_pair {
    uint64_t key;
    int place[2];
} found_pair;

typedef struct found_pairs {
    found_pair* pairs;
    int count, capacity;
} found_pairs;

static bool add_near(const cal_world* world, const cal_contact_group* g, int i, int k, found_pairs* out) {
    const int a = g->bodies[i], b = g->bodies[k];
    if (i >= g->group.body_count - g->other_count && k >= g->group.body_count - g->other_count) return true;
    if (!cal_may_collide(world, a, b) || !(cal_group_is_inner(world, a, b) || cal_group_lists(g, a, b))) return true;
    if (!cal_grow((void**)&out->pairs, &out->capacity, out->count, sizeof *out->pairs)) return false;
    out->pairs[out->count++] = (found_pair){cal_pair_key(a, b), {a < b ? i : k, a < b ? k : i}};
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

// Merges, with room behind the list.
static bool sort_found(found_pairs* f) {
    found_pair *room = cal_allocate((size_t)f->count + 1, sizeof *room), *from = f->pairs, *to = room;
    if (room == NULL) return false;
    for (int width = 1; width < f->count; width *= 2) {
        for (int begin = 0; begin < f->count; begin += 2 * width) {
            const int middle = begin + width < f->count ? begin + width : f->count,
                      end = begin + 2 * width < f->count ? begin + 2 * width : f->count;
            int a = begin, b = middle;
            for (int i = begin; i < end; i++) {
                const bool left = a < middle && (b >= end || from[a].key <= from[b].key);
                to[i] = from[left ? a++ : b++];
            }
        }
        found_pair* const last = from;
        from = to, to = last;
    }
    if (from != f->pairs) memcpy(f->pairs, from, (size_t)f->count * sizeof *from);
    cal_free(room);
    return true;
}

static uint64_t key_of(const cal_contact_group* g, const cal_near_pair* near) {
    return cal_pair_key(g->bodies[near->place[0]], g->bodies[near->place[1]]);
}

// Puts pairs that were found between those that there are, of which nothing is known yet; false: no memory.
static bool list_found(cal_contact_group* g, found_pairs* f) {
    const int total = g->near_count + f->count;
    if (!sort_found(f)) return false;
    while (g->near_capacity < total)
        if (!cal_grow((void**)&g->near, &g->near_capacity, g->near_capacity, sizeof *g->near)) return false;
    int old = g->near_count, added = f->count;
    for (int i = total; added > 0; i--) {
        if (old > 0 && key_of(g, &g->near[old - 1]) > f->pairs[added - 1].key) {
            g->near[i - 1] = g->near[--old];
            continue;
        }
        const found_pair* pair = &f->pairs[--added];
        g->near[i - 1] = (cal_near_pair){.place = {pair->place[0], pair->place[1]},
                                         .margin = -1.0,
                                         .margins = {INFINITY, -INFINITY},
                                         .measured.piece_a = -1,
                                         .apart = -INFINITY};
    }
    g->near_count = total;
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

// Boxes of all bodies where pairs are looked for, with half of the margin and of the skin about them.
static cal_box* make_boxes(const cal_world* world, const cal_contact_group* g) {
    const int count = g->group.body_count;
    cal_box* boxes = cal_allocate((size_t)count, sizeof *boxes);
    const double pad = 0.5 * (g->near_margin + g->near_skin);
    for (int i = 0; boxes != NULL && i < count; i++) {
        const double* pose = g->near_poses + 7 * i;
        const cal_sim_body* part = &world->bodies[g->bodies[i]];
        if (part->geometry == NULL) { // touches nothing, and is nowhere
            boxes[i] = (cal_box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
            continue;
        }
        const cal_pose at = cal_pose_make(pose, pose + 3);
        if (part->component < 0 && part->def.motion == CAL_FIXED) // a height field has many corners
            boxes[i] = part->solid->box;
        else
            cal_geometry_box(part->geometry, &at, &boxes[i]);
        boxes[i] = cal_box_pad(&boxes[i], pad);
    }
    return boxes;
}

// Boxes that overlap, by a sweep along an axis.
static bool look_for_near(const cal_world* world, cal_contact_group* g, const double* poses, double margin) {
    const int count = g->group.body_count, axis = widest_axis(g, poses);
    g->near_skin = SKIN * g->size + MARGINS * margin;
    g->near_margin = margin;
    g->near_count = 0;
    g->searched = false;
    memcpy(g->near_poses, poses, 7 * (size_t)count * sizeof *poses);
    interval* order = cal_allocate((size_t)count, sizeof *order);
    cal_box* boxes = make_boxes(world, g);
    found_pairs found = {0};
    bool ok = order != NULL && boxes != NULL;
    for (int i = 0; ok && i < count; i++) order[i] = (interval){boxes[i].low[axis], i};
    if (ok) qsort(order, (size_t)count, sizeof *order, order_of_interval);
    for (int i = 0; ok && i < count; i++)
        for (int k = i + 1; ok && k < count && order[k].low <= boxes[order[i].body].high[axis]; k++)
            if (cal_box_overlap(&boxes[order[i].body], &boxes[order[k].body]))
                ok = add_near(world, g, order[i].body, order[k].body, &found);
    cal_free(order);
    cal_free(boxes);
    ok = ok && list_found(g, &found);
    cal_free(found.pairs);
    if (!ok) g->near_margin = -1.0;
    return ok;
}

// --- From one group to the next -------------------------------------------------------------------------------------------------

// Poses and ways of bodies that were in the other group; others begin here, and are put in `fresh`.
static cal_status take_poses(cal_world* world, cal_contact_group* g, const cal_contact_group* from, const int* places,
                             double time, int* fresh, int* count) {
    const size_t size = 7 * sizeof(double);
    for (int i = 0; i < g->group.body_count; i++) fresh[i] = -1;
    for (int i = 0; i < from->group.body_count; i++)
        if (places[i] < g->group.body_count) fresh[places[i]] = i;
    for (int i = 0; i < g->group.body_count; i++) {
        const int old = fresh[i];
        double *near = g->near_poses + 7 * i, *last = g->search_poses + 7 * i;
        if (old >= 0) {
            memcpy(near, from->near_poses + 7 * old, size);
            memcpy(last, from->search_poses + 7 * old, size);
            g->placed[i] = from->placed[old];
            g->ways[i] = from->ways[old];
            continue;
        }
        cal_motion at;
        const cal_status status = cal_body_at(world, g->bodies[i], time, &at);
        if (status != CAL_OK) return status;
        memcpy(near, at.pose.position, 3 * sizeof *near);
        memcpy(near + 3, at.quaternion, 4 * sizeof *near);
        memcpy(last, near, size);
        g->placed[i] = cal_pose_make(near, near + 3);
        fresh[(*count)++] = i;
    }
    return CAL_OK;
}

// The pairs of the other group that are in this one, too, with their contacts; the other group has none from then on.
static void take_pairs(cal_contact_group* g, cal_contact_group* from, const int* places) {
    g->near = from->near, g->near_capacity = from->near_capacity;
    g->found[0] = from->found[0], g->found_capacity[0] = from->found_capacity[0];
    int kept = 0;
    for (int i = 0; i < from->near_count; i++) {
        cal_near_pair pair = g->near[i];
        for (int side = 0; side < 2; side++) pair.place[side] = places[pair.place[side]];
        if (pair.place[0] == g->group.body_count || pair.place[1] == g->group.body_count) continue;
        for (int k = pair.first; k < pair.first + pair.count; k++)
            for (int side = 0; side < 2; side++) g->found[0][k].body[side] = pair.place[1 - side];
        g->near[kept++] = pair;
    }
    g->near_count = kept;
    from->near = NULL, from->near_count = from->near_capacity = 0;
    from->found[0] = NULL, from->found_capacity[0] = 0;
    from->near_margin = -1.0, from->searched = false;
}

// Whether which pairs may touch does not depend on the group.
static bool is_plain(const cal_world* world, const cal_contact_group* g) {
    bool plain = true;
    for (int i = 0; plain && i < g->pair_count; i++) plain = cal_group_is_inner(world, g->pairs[i][0], g->pairs[i][1]);
    return plain;
}

// Pairs of those that are new here, with all others.
static bool look_for_fresh(const cal_world* world, cal_contact_group* g, const int* fresh, int count) {
    if (count == 0) return true;
    cal_box* boxes = make_boxes(world, g);
    found_pairs found = {0};
    bool ok = boxes != NULL;
    for (int i = 0, next = 0; ok && i < g->group.body_count; i++) {
        next += next < count && fresh[next] < i;
        // Of two that are new, once.
        for (int k = next < count && fresh[next] == i ? next + 1 : 0; ok && k < count; k++)
            if (cal_box_overlap(&boxes[i], &boxes[fresh[k]])) ok = add_near(world, g, i, fresh[k], &found);
    }
    ok = ok && list_found(g, &found);
    cal_free(boxes);
    cal_free(found.pairs);
    return ok;
}

cal_status cal_group_search_take(cal_world* world, cal_contact_group* g, cal_contact_group* from, double time) {
    if (from->near_margin < 0.0 || !from->searched || !is_plain(world, g) || !is_plain(world, from)) return CAL_OK;
    int *places = cal_allocate((size_t)from->group.body_count, sizeof *places),
        *fresh = cal_allocate((size_t)g->group.body_count, sizeof *fresh), count = 0;
    cal_status status = places != NULL && fresh != NULL ? CAL_OK : CAL_NO_MEMORY;
    for (int i = 0; status == CAL_OK && i < from->group.body_count; i++)
        places[i] = cal_group_place(world, g, from->bodies[i]);
    if (status == CAL_OK) status = take_poses(world, g, from, places, time, fresh, &count);
    if (status == CAL_OK) {
        g->near_margin = from->near_margin, g->near_skin = from->near_skin, g->searched = true;
        take_pairs(g, from, places);
        if (!look_for_fresh(world, g, fresh, count)) status = CAL_NO_MEMORY;
    }
    if (status != CAL_OK) g->near_margin = -1.0, g->searched = false;
    cal_free(places);
    cal_free(fresh);
    return status;
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

// Nothing is known of a pair but what its bodies' ways and reaches tell. Whether that is enough: it has no contacts.
static bool is_apart(const cal_world* world, const cal_contact_group* g, cal_near_pair* near, double margin) {
    const int* place = near->place;
    const cal_sim_body *a = &world->bodies[g->bodies[place[0]]], *b = &world->bodies[g->bodies[place[1]]];
    double apart[3];
    for (int k = 0; k < 3; k++) apart[k] = g->placed[place[0]].position[k] - g->placed[place[1]].position[k];
    const double sum = a->reach + b->reach + margin, way = g->ways[place[0]] + g->ways[place[1]];
    near->count = 0, near->margin = margin, near->margins[0] = -INFINITY, near->margins[1] = margin;
    if (!g->stays[place[0]] || !g->stays[place[1]]) near->measured.piece_a = -1;
    return way + margin < near->apart || cal_dot3(apart, apart) > sum * sum;
}

// Contacts of two bodies with these poses, so many at most; how many there are.
static int find_contacts(const cal_world* world, const cal_contact_group* g, const int place[2],
                         const cal_pose* const poses[2], double margin, double margins[2], cal_separation* measured,
                         cal_group_contact* out, int capacity) {
    const int bodies[2] = {g->bodies[place[0]], g->bodies[place[1]]};
    cal_contact found[CAL_PAIR_CONTACTS];
    int n = cal_contacts_for_margins(world->bodies[bodies[0]].geometry, poses[0], world->bodies[bodies[1]].geometry,
                                     poses[1], margin, margins, measured, found, CAL_PAIR_CONTACTS);
    if (n > CAL_PAIR_CONTACTS) n = CAL_PAIR_CONTACTS;
    for (int k = 0; k < n && k < capacity; k++) convert(world, bodies, place, &found[k], &out[k]);
    return n;
}

int cal_group_pair_contacts(const cal_group* group, const int bodies[2], const double poses[2][7], double margin,
                            cal_group_contact* out) {
    const cal_contact_group* g = (const cal_contact_group*)group;
    const cal_world* world = group->world;
    const int place[2] = {bodies[1], bodies[0]};
    const cal_pose at[2] = {cal_pose_make(poses[1], poses[1] + 3), cal_pose_make(poses[0], poses[0] + 3)};
    const cal_pose* const both[2] = {&at[0], &at[1]};
    const double sum = world->bodies[g->bodies[place[0]]].reach + world->bodies[g->bodies[place[1]]].reach + margin;
    double margins[2], apart[3];
    for (int k = 0; k < 3; k++) apart[k] = at[0].position[k] - at[1].position[k];
    if (cal_dot3(apart, apart) > sum * sum) return 0;
    return find_contacts(world, g, place, both, margin, margins, NULL, out, CAL_PAIR_CONTACTS);
}

// Contacts of a pair that may have some, so many at most; how many there are.
static int measure_pair(const cal_world* world, const cal_contact_group* g, cal_near_pair* near, double margin,
                        cal_group_contact* out, int capacity) {
    const int* place = near->place;
    const cal_pose* const poses[2] = {&g->placed[place[0]], &g->placed[place[1]]};
    const int n = find_contacts(world, g, place, poses, margin, near->margins, &near->measured, out, capacity);
    const double way = g->ways[place[0]] + g->ways[place[1]],
                 sizes = world->bodies[g->bodies[place[0]]].reach + world->bodies[g->bodies[place[1]]].reach;
    near->count = n;
    near->apart = n == 0 ? way + near->margins[1] - ROUNDING * sizes : -INFINITY;
    return n;
}

// The contacts of a pair, behind the `count` that there are; false: no memory.
static bool look_at_pair(const cal_world* world, cal_contact_group* g, cal_near_pair* near, double margin, int count) {
    if (is_apart(world, g, near, margin)) return true;
    if (!reserve_found(g, count + CAL_PAIR_CONTACTS)) return false;
    measure_pair(world, g, near, margin, g->found[0] + count, CAL_PAIR_CONTACTS);
    return true;
}

// --- By several workers -----------------------------------------------------------------------------------------------------------

typedef struct looking {
    const cal_world* world;
    cal_contact_group* g;
    double margin;
} looking;

static void look_at_one(void* user, int part) {
    const looking* all = user;
    cal_group_look* look = &all->g->looks[part];
    look->count =
        measure_pair(all->world, all->g, &all->g->near[look->near], all->margin, look->contacts, CAL_LOOK_CONTACTS);
}

// Looks at pairs of which nothing is known with the help of others; how many there were. What is not looked at here is looked at later.
static int look_together(const cal_world* world, cal_contact_group* g, double margin) {
    int count = 0;
    if (!cal_domain_has_help(world)) return 0;
    for (int i = 0; i < g->near_count; i++) {
        if (is_known(g, &g->near[i], margin) || is_apart(world, g, &g->near[i], margin)) continue;
        if (!cal_grow((void**)&g->looks, &g->look_capacity, count, sizeof *g->looks)) break;
        g->looks[count++].near = i;
    }
    looking all = {world, g, margin};
    cal_domain_share_out(world, count, look_at_one, &all);
    return count;
}

// Takes over what was found for a pair; false: no memory.
static bool take_look(const cal_world* world, cal_contact_group* g, const cal_group_look* look, double margin,
                      int count) {
    if (look->count > CAL_LOOK_CONTACTS) return look_at_pair(world, g, &g->near[look->near], margin, count);
    if (!reserve_found(g, count + look->count)) return false;
    if (look->count > 0) memcpy(g->found[0] + count, look->contacts, (size_t)look->count * sizeof *look->contacts);
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
    const int looks = look_together(world, g, margin);
    for (int i = 0, next = 0; i < g->near_count; i++) {
        cal_near_pair* near = &g->near[i];
        if (next < looks && g->looks[next].near == i) {
            if (!take_look(world, g, &g->looks[next++], margin, count)) return CAL_NO_MEMORY;
        } else if (is_known(g, near, margin)) {
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
