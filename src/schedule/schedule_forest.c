// A model as a forest: every part's root stands on the ground, so that layouts pack parts into lanes and deal them out to
// processors as they do with trees. Nodes are numbered part by part, parts in the order of their roots.
#include "base/memory.h"
#include "schedule/schedule.h"

#include <string.h>

static cal_status copy_arrays(cal_schedule* s) {
    const cal_model* model = s->model;
    const size_t nodes = (size_t)model->node_count;
    s->forest = *model;
    s->forest.nodes = cal_allocate(nodes, sizeof *s->forest.nodes);
    s->forest.mounts = cal_allocate((size_t)model->body_count, sizeof *s->forest.mounts);
    s->forest.joints = cal_allocate((size_t)model->joint_count, sizeof *s->forest.joints);
    s->place = cal_allocate(nodes, sizeof *s->place);
    s->processor = cal_allocate(nodes, sizeof *s->processor);
    s->port_of_node = cal_allocate(nodes, sizeof *s->port_of_node);
    if (!s->forest.nodes || !s->forest.mounts || !s->forest.joints || !s->place || !s->processor || !s->port_of_node)
        return CAL_NO_MEMORY;
    memcpy(s->forest.mounts, model->mounts, (size_t)model->body_count * sizeof *s->forest.mounts);
    memcpy(s->forest.joints, model->joints, (size_t)model->joint_count * sizeof *s->forest.joints);
    return CAL_OK;
}

// Parts and their sizes; part_of: of each node of the model.
static cal_status find_parts(cal_schedule* s, const bool* cut, const bool* port, int32_t* part_of) {
    const cal_model* model = s->model;
    for (int n = 0; n < model->node_count; n++) {
        s->part_count += cut[n] || model->nodes[n].parent < 0;
        s->port_count += port[n];
    }
    s->parts = cal_allocate((size_t)s->part_count, sizeof *s->parts);
    s->ports = cal_allocate((size_t)s->port_count, sizeof *s->ports);
    if (!s->parts || !s->ports) return CAL_NO_MEMORY;
    int found = 0;
    for (int n = 0; n < model->node_count; n++) {
        part_of[n] = cut[n] || model->nodes[n].parent < 0 ? found++ : part_of[model->nodes[n].parent];
        s->parts[part_of[n]].nodes++;
        s->parts[part_of[n]].port_count += port[n];
    }
    int node = 0, ports = 0;
    for (int p = 0; p < s->part_count; p++) {
        s->parts[p].root = node;
        s->parts[p].first_port = ports;
        node += s->parts[p].nodes;
        ports += s->parts[p].port_count;
    }
    return CAL_OK;
}

static void move_nodes(cal_schedule* s, const bool* cut, const int32_t* part_of, int32_t* next) {
    const cal_model* model = s->model;
    cal_model* forest = &s->forest;
    for (int p = 0; p < s->part_count; p++) next[p] = s->parts[p].root;
    forest->depth = 0;
    for (int n = 0; n < model->node_count; n++) {
        const int place = next[part_of[n]]++;
        s->place[n] = place;
        cal_node* node = &forest->nodes[place];
        *node = model->nodes[n];
        const bool root = cut[n] || node->parent < 0;
        node->parent = root ? -1 : s->place[node->parent];
        node->depth = root ? 0 : forest->nodes[node->parent].depth + 1;
        node->end = place + 1;
        if (node->depth >= forest->depth) forest->depth = node->depth + 1;
    }
    for (int n = model->node_count - 1; n >= 0; n--) {
        const int parent = forest->nodes[n].parent;
        if (parent >= 0 && forest->nodes[parent].end < forest->nodes[n].end)
            forest->nodes[parent].end = forest->nodes[n].end;
    }
    for (int b = 0; b < model->body_count; b++)
        if (forest->mounts[b].node >= 0) forest->mounts[b].node = s->place[forest->mounts[b].node];
    for (int j = 0; j < model->joint_count; j++) forest->joints[j].node = s->place[forest->joints[j].node];
}

static void open_ports(cal_schedule* s, const bool* cut, const bool* port, const int32_t* part_of, int32_t* next) {
    const cal_model* model = s->model;
    for (int p = 0; p < s->part_count; p++) next[p] = s->parts[p].first_port;
    for (int n = 0; n < model->node_count; n++) {
        s->port_of_node[s->place[n]] = -1;
        if (port[n]) {
            const int index = next[part_of[n]]++;
            s->ports[index] = (cal_port){.node = s->place[n], .original = n, .part = part_of[n]};
            s->port_of_node[s->place[n]] = index;
        }
        if (model->nodes[n].parent < 0)
            s->parts[part_of[n]].base_port = -1;
        else if (cut[n])
            s->parts[part_of[n]].base_port = s->port_of_node[s->place[model->nodes[n].parent]];
    }
}

cal_status cal_schedule_make_forest(cal_schedule* s, const bool* cut, const bool* port) {
    cal_status status = copy_arrays(s);
    if (status != CAL_OK) return status;
    const size_t nodes = (size_t)s->model->node_count;
    int32_t* part_of = cal_allocate(2 * nodes, sizeof *part_of);
    if (!part_of) return CAL_NO_MEMORY;
    status = find_parts(s, cut, port, part_of);
    if (status == CAL_OK) {
        move_nodes(s, cut, part_of, part_of + nodes);
        open_ports(s, cut, port, part_of, part_of + nodes);
    }
    cal_free(part_of);
    return status;
}
