// Where the links of a multibody are at one time. A search for an impact asks for one link at times of its own, so nodes are moved when
// somebody asks for a link that hangs on them: those on its path from the root, less what others asked for before.
#include "base/memory.h"
#include "pass/body_frames.h"
#include "simulation/body.h"
#include "simulation/motion/multibody_data.h"
#include "simulation/world.h"
#include <string.h>

bool cal_link_frames_create(cal_links* at, const cal_multibody_model* e) {
    const size_t bodies = (size_t)e->body_count, nodes = (size_t)e->model->node_count;
    at->links = cal_allocate(bodies, sizeof *at->links);
    at->numbers =
        cal_allocate(3 + 2 * (size_t)(e->q_count + e->v_count) + (size_t)e->constraint_count, sizeof *at->numbers);
    at->q = cal_allocate((size_t)(e->q_count + e->v_count) + 1, sizeof *at->q);
    at->v = at->q != NULL ? at->q + e->q_count : NULL;
    at->nodes = cal_allocate(nodes + 1, sizeof *at->nodes);
    at->found = cal_allocate(bodies + nodes, sizeof *at->found);
    return at->links != NULL && at->numbers != NULL && at->q != NULL && at->nodes != NULL && at->found != NULL;
}

void cal_link_frames_destroy(cal_links* at) {
    void* const lists[] = {at->links, at->numbers, at->q, at->nodes, at->found};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
    *at = (cal_links){.source = CAL_LINKS_UNKNOWN};
}

void cal_link_frames_begin(const cal_multibody* m, cal_links* at) {
    const cal_multibody_model* e = m->engine;
    memset(at->found, 0, (size_t)(e->body_count + e->model->node_count) * sizeof *at->found);
}

static const cal_world_motion* find_node(const cal_multibody_model* e, cal_links* at, int last) {
    const cal_model* model = e->model;
    bool* found = at->found + e->body_count;
    int length = 0;
    for (int n = last; n >= 0 && !found[n]; n = model->nodes[n].parent) e->path[length++] = n;
    while (length-- > 0) {
        const int n = e->path[length];
        const cal_node* node = &model->nodes[n];
        cal_move_node(node, node->parent < 0 ? NULL : &at->nodes[node->parent], at->q + node->first_q,
                      at->v + node->first_v, &at->nodes[n]);
        found[n] = true;
    }
    return last < 0 ? NULL : &at->nodes[last];
}

const cal_motion* cal_link_frames_find(const cal_multibody* m, cal_links* at, int link) {
    cal_motion* out = &at->links[link];
    if (at->found[link]) return out;
    const cal_multibody_model* e = m->engine;
    const cal_mount* mount = &e->model->mounts[link];
    const cal_world_motion* carrier = find_node(e, at, mount->node);
    double pose[7], R[9], rate[6];
    cal_mounted_pose(mount, carrier, pose);
    cal_multibody_place_link(m, link, pose, out);
    // Of the centre of mass, since that is where a body's velocity is taken.
    cal_mounted_velocity(mount, carrier, m->world->bodies[m->bodies[link]].offset, rate);
    cal_quaternion_matrix(m->quaternion, R);
    cal_rotate3(R, rate, out->u);
    cal_rotate3(R, rate + 3, out->w);
    at->found[link] = true;
    return out;
}
