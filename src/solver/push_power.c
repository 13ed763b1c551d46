// Power of pushes: the velocities of what is pushed, and of nothing else, from the ground outbound. Every processor knows all q and v
// where something pushes, and comes to the same bits.
#include "solver/push_power.h"
#include "base/memory.h"
#include "pass/body_frames.h"
#include <stdlib.h>

enum { ROTATION = 0, ANGULAR = 9, LINEAR = 12, MOTION = 15 };

void cal_push_paths_destroy(cal_push_paths* paths) {
    void* const lists[] = {paths->bodies, paths->nodes, paths->above, paths->place, paths->motions};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
    *paths = (cal_push_paths){0};
}

static int order_of_integer(const void* a, const void* b) {
    const int p = *(const int*)a, q = *(const int*)b;
    return p < q ? -1 : p > q;
}

static int find(const cal_push_paths* paths, int node) {
    int low = 0, high = paths->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (paths->nodes[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// All nodes on the way, each once. A node's number is above its parent's, so that sorted ones have parents first.
static bool list_nodes(cal_push_paths* paths, const cal_model* model, const cal_outer_force* pushes, int count) {
    bool* seen = cal_allocate((size_t)model->node_count, sizeof *seen);
    if (!seen) return false;
    int nodes = 0;
    for (int i = 0; i < count; i++)
        for (int n = model->mounts[pushes[i].body].node; n >= 0 && !seen[n]; n = model->nodes[n].parent)
            seen[n] = true, nodes++;
    paths->nodes = cal_allocate((size_t)nodes, sizeof *paths->nodes);
    paths->above = cal_allocate((size_t)nodes, sizeof *paths->above);
    paths->motions = cal_allocate((size_t)nodes * (size_t)MOTION, sizeof *paths->motions);
    const bool good = paths->nodes && paths->above && paths->motions;
    memset(seen, 0, (size_t)model->node_count * sizeof *seen);
    for (int i = 0; good && i < count; i++)
        for (int n = model->mounts[pushes[i].body].node; n >= 0 && !seen[n]; n = model->nodes[n].parent)
            seen[n] = true, paths->nodes[paths->count++] = n;
    cal_free(seen);
    if (good) qsort(paths->nodes, (size_t)paths->count, sizeof *paths->nodes, order_of_integer);
    return good;
}

static bool make(cal_push_paths* paths, const cal_model* model, const cal_outer_force* pushes, int count) {
    cal_push_paths_destroy(paths);
    paths->bodies = cal_allocate((size_t)count, sizeof *paths->bodies);
    paths->place = cal_allocate((size_t)count, sizeof *paths->place);
    if (!paths->bodies || !paths->place || !list_nodes(paths, model, pushes, count)) {
        cal_push_paths_destroy(paths);
        return false;
    }
    for (int i = 0; i < count; i++) {
        paths->bodies[i] = pushes[i].body;
        paths->place[i] = find(paths, model->mounts[pushes[i].body].node);
    }
    for (int i = 0; i < paths->count; i++) {
        const int parent = model->nodes[paths->nodes[i]].parent;
        paths->above[i] = parent < 0 ? -1 : find(paths, parent);
    }
    paths->body_count = count;
    return true;
}

static bool are_same(const cal_push_paths* paths, const cal_outer_force* pushes, int count) {
    bool same = paths->body_count == count;
    for (int i = 0; same && i < count; i++) same = paths->bodies[i] == pushes[i].body;
    return same;
}

// With R, r of the node in its parent (body_frames.h): A = A₀ R, ω = ω₀ + A S_ω q̇, v = v₀ + ω₀ × A₀ r + A S_v q̇.
static void move(const cal_node* node, const double* above, const double* q, const double* v, double* out) {
    static const double ground[MOTION] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double rotation[9], offset[3], arm[3], swing[3], turn[3], slide[3];
    const double* parent = above ? above : ground;
    cal_place_node(node, q, rotation, offset);
    const cal_spatial joint = cal_joint_motion(node, rotation, v);
    cal_multiply33(parent + ROTATION, rotation, out + ROTATION);
    cal_rotate3(parent + ROTATION, offset, arm);
    cal_cross3(parent + ANGULAR, arm, swing);
    cal_rotate3(out + ROTATION, joint.angular, turn);
    cal_rotate3(out + ROTATION, joint.linear, slide);
    for (int i = 0; i < 3; i++) {
        out[ANGULAR + i] = parent[ANGULAR + i] + turn[i];
        out[LINEAR + i] = (parent[LINEAR + i] + swing[i]) + slide[i];
    }
}

cal_status cal_push_power(cal_push_paths* paths, const cal_model* model, const cal_outer_force* pushes, int count,
                          const double* q, const double* v, double* power) {
    *power = 0.0;
    if (!are_same(paths, pushes, count) && !make(paths, model, pushes, count)) return CAL_NO_MEMORY;
    if (!paths->motions) return CAL_OK; // nothing that moves is pushed
    for (int i = 0; i < paths->count; i++) {
        const cal_node* node = &model->nodes[paths->nodes[i]];
        const double* above = paths->above[i] < 0 ? NULL : paths->motions + (size_t)paths->above[i] * (size_t)MOTION;
        move(node, above, q + node->first_q, v + node->first_v, paths->motions + (size_t)i * (size_t)MOTION);
    }
    for (int i = 0; i < count; i++) {
        const cal_mount* mount = &model->mounts[pushes[i].body];
        if (mount->node < 0) continue; // the ground does not move
        const double* motion = paths->motions + (size_t)paths->place[i] * (size_t)MOTION;
        double arm[3], velocity[3];
        cal_rotate3(mount->rotation, pushes[i].point, arm);
        for (int k = 0; k < 3; k++) arm[k] += mount->offset[k];
        cal_rotate3(motion + ROTATION, arm, arm);
        cal_cross3(motion + ANGULAR, arm, velocity);
        for (int k = 0; k < 3; k++) velocity[k] += motion[LINEAR + k];
        *power += cal_dot3(pushes[i].force, velocity) + cal_dot3(pushes[i].torque, motion + ANGULAR);
    }
    return CAL_OK;
}
