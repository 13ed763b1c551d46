// Links and joints of a URDF, and that they are one tree.
#include "read/urdf/parts.h"
#include "base/memory.h"
#include "math/vector.h"
#include "model/angle.h"
#include <string.h>

static const char* const kind_names[URDF_JOINT_KINDS] = {"revolute", "continuous", "prismatic", "fixed",
                                                         "floating", "planar",     "spherical"};

cal_status cal_urdf_only_child(cal_xml_node* node, const char* name, cal_xml_node** out, cal_error* error) {
    *out = cal_xml_child(node, name);
    if (*out == NULL) return CAL_OK;
    (*out)->used = true;
    cal_xml_node* second = cal_xml_next(*out, name);
    return second == NULL
               ? CAL_OK
               : cal_xml_fail(second, error, CAL_BAD_MODEL, "this is a second <%s> in one <%s>", name, node->name);
}

cal_status cal_urdf_numbers(cal_xml_node* node, const char* name, int count, double* out, bool required,
                            cal_error* error) {
    double values[4] = {0.0, 0.0, 0.0, 0.0};
    int found;
    const cal_status status = cal_xml_numbers(node, name, count, count, values, &found, error);
    if (status != CAL_OK) return status;
    if (found == 0) return required ? cal_xml_fail(node, error, CAL_BAD_MODEL, "it has no %s", name) : CAL_OK;
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return cal_xml_fail(node, error, CAL_BAD_MODEL, "its %s is not finite", name);
    memcpy(out, values, (size_t)count * sizeof *out);
    return CAL_OK;
}

// Roll, pitch and yaw turn about the fixed axes x, y, z, in that order.
static void turn_quaternion(const double rpy[3], double out[4]) {
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    cal_axis_quaternion(axes[0], rpy[0], out);
    for (int i = 1; i < 3; i++) {
        double turn[4];
        cal_axis_quaternion(axes[i], rpy[i], turn);
        cal_quaternion_multiply(turn, out, out);
    }
}

cal_status cal_urdf_read_origin(cal_xml_node* node, urdf_origin* out, cal_error* error) {
    *out = (urdf_origin){.quaternion = {1.0, 0.0, 0.0, 0.0}};
    cal_xml_node* origin;
    cal_status status = cal_urdf_only_child(node, "origin", &origin, error);
    if (status != CAL_OK || origin == NULL) return status;
    double rpy[3] = {0.0, 0.0, 0.0};
    status = cal_urdf_numbers(origin, "xyz", 3, out->position, false, error);
    if (status == CAL_OK) status = cal_urdf_numbers(origin, "rpy", 3, rpy, false, error);
    if (status == CAL_OK) turn_quaternion(rpy, out->quaternion);
    return status;
}

urdf_origin cal_urdf_compose(const urdf_origin* a, const urdf_origin* b) {
    urdf_origin out;
    double R[9];
    cal_quaternion_matrix(a->quaternion, R);
    cal_rotate3(R, b->position, out.position);
    for (int i = 0; i < 3; i++) out.position[i] += a->position[i];
    cal_quaternion_multiply(a->quaternion, b->quaternion, out.quaternion);
    return out;
}

static cal_status no_memory(const urdf* u, cal_error* error) {
    return cal_xml_fail(u->robot, error, CAL_NO_MEMORY, "out of memory for %d links", u->link_count);
}

static cal_status read_name(cal_xml_node* node, cal_name_table* table, int number, const char** out, cal_error* error) {
    node->used = true;
    *out = cal_xml_text(node, "name");
    if (*out == NULL || **out == '\0') return cal_xml_fail(node, error, CAL_BAD_MODEL, "it has no name");
    if (cal_names_add(table, *out, number) != number)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "there is another %s of this name; names must be unique",
                            node->name);
    return CAL_OK;
}

// Some robots hang from a "world" that they do not define. The room for it is there, at the end of the links.
static int add_world(urdf* u, cal_xml_node* node) {
    const int number = u->link_count++;
    u->links[number] =
        (urdf_link){.node = node, .name = "world", .joint = -1, .first_child = -1, .last_child = -1, .body = CAL_NONE};
    return cal_names_add(u->link_names, "world", number);
}

// <parent link="…"/> and <child link="…"/>.
static cal_status read_end(urdf* u, cal_xml_node* joint, const char* end, int* link, cal_error* error) {
    cal_xml_node* node;
    const cal_status status = cal_urdf_only_child(joint, end, &node, error);
    if (status != CAL_OK) return status;
    const char* name = node != NULL ? cal_xml_text(node, "link") : NULL;
    if (name == NULL) return cal_xml_fail(joint, error, CAL_BAD_MODEL, "it does not say what its %s link is", end);
    *link = cal_names_find(u->link_names, name);
    if (*link == CAL_NONE && strcmp(name, "world") == 0 && strcmp(end, "parent") == 0) *link = add_world(u, node);
    return *link != CAL_NONE ? CAL_OK
                             : cal_xml_fail(node, error, CAL_BAD_MODEL, "the link '%.60s' is not in this robot", name);
}

static cal_status read_joint(urdf* u, urdf_joint* joint, cal_error* error) {
    cal_xml_node* node = joint->node;
    const char* type = cal_xml_text(node, "type");
    if (type == NULL) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it has no type");
    int kind = 0;
    while (kind < URDF_JOINT_KINDS && strcmp(type, kind_names[kind]) != 0) kind++;
    if (kind == URDF_JOINT_KINDS)
        return cal_xml_fail(
            node, error, CAL_BAD_MODEL,
            "'%.30s' is no type of joint; there are revolute, continuous, prismatic, fixed, floating and planar", type);
    joint->kind = (urdf_joint_kind)kind;
    cal_status status = read_end(u, node, "parent", &joint->parent, error);
    if (status == CAL_OK) status = read_end(u, node, "child", &joint->child, error);
    if (status == CAL_OK) status = cal_urdf_read_origin(node, &joint->origin, error);
    cal_xml_node* axis = NULL;
    if (status == CAL_OK) status = cal_urdf_only_child(node, "axis", &axis, error);
    joint->axis[0] = 1.0;
    if (status == CAL_OK && axis != NULL) status = cal_urdf_numbers(axis, "xyz", 3, joint->axis, true, error);
    if (status != CAL_OK) return status;
    const bool needs_axis =
        kind == URDF_REVOLUTE || kind == URDF_CONTINUOUS || kind == URDF_PRISMATIC || kind == URDF_PLANAR;
    const double* a = joint->axis;
    if (needs_axis && a[0] == 0.0 && a[1] == 0.0 && a[2] == 0.0)
        return cal_xml_fail(axis, error, CAL_BAD_MODEL, "the axis is zero");
    return CAL_OK;
}

static cal_status collect(urdf* u, cal_error* error) {
    for (cal_xml_node* node = cal_xml_child(u->robot, NULL); node != NULL; node = cal_xml_next(node, NULL)) {
        u->link_count += cal_xml_is(node, "link");
        u->joint_count += cal_xml_is(node, "joint");
    }
    if (u->link_count == 0) return cal_xml_fail(u->robot, error, CAL_BAD_MODEL, "this robot is empty: it has no link");
    u->links = cal_allocate((size_t)u->link_count + 1, sizeof *u->links);
    u->joints = cal_allocate((size_t)u->joint_count, sizeof *u->joints);
    u->order = cal_allocate((size_t)u->link_count + 1, sizeof *u->order);
    u->link_names = cal_names_create((size_t)u->link_count + 1);
    u->joint_names = cal_names_create((size_t)u->joint_count);
    if (u->links == NULL || u->joints == NULL || u->order == NULL || u->link_names == NULL || u->joint_names == NULL)
        return no_memory(u, error);
    int links = 0, joints = 0;
    cal_status status = CAL_OK;
    for (cal_xml_node* node = cal_xml_child(u->robot, NULL); node != NULL && status == CAL_OK;
         node = cal_xml_next(node, NULL)) {
        if (cal_xml_is(node, "link")) {
            u->links[links] =
                (urdf_link){.node = node, .joint = -1, .first_child = -1, .last_child = -1, .body = CAL_NONE};
            status = read_name(node, u->link_names, links, &u->links[links].name, error);
            links++;
        } else if (cal_xml_is(node, "joint")) {
            u->joints[joints] = (urdf_joint){.node = node, .next = -1, .number = CAL_NONE};
            status = read_name(node, u->joint_names, joints, &u->joints[joints].name, error);
            joints++;
        }
    }
    return status;
}

static cal_status connect(urdf* u, cal_error* error) {
    for (int i = 0; i < u->joint_count; i++) {
        urdf_joint* joint = &u->joints[i];
        const cal_status status = read_joint(u, joint, error);
        if (status != CAL_OK) return status;
        urdf_link *parent = &u->links[joint->parent], *child = &u->links[joint->child];
        if (joint->parent == joint->child)
            return cal_xml_fail(joint->node, error, CAL_BAD_MODEL, "it joins the link '%.60s' to itself", child->name);
        if (child->joint >= 0)
            return cal_xml_fail(joint->node, error, CAL_BAD_MODEL,
                                "the link '%.60s' hangs from joint '%.60s' already; a link has one parent", child->name,
                                u->joints[child->joint].name);
        child->joint = i;
        if (parent->first_child < 0)
            parent->first_child = i;
        else
            u->joints[parent->last_child].next = i;
        parent->last_child = i;
    }
    return CAL_OK;
}

static cal_status find_root(urdf* u, cal_error* error) {
    u->root = -1;
    for (int i = 0; i < u->link_count; i++) {
        if (u->links[i].joint >= 0) continue;
        if (u->root >= 0)
            return cal_xml_fail(u->links[i].node, error, CAL_BAD_MODEL,
                                "no joint carries this link, nor '%.60s': a robot has one root",
                                u->links[u->root].name);
        u->root = i;
    }
    if (u->root >= 0) return CAL_OK;
    return cal_xml_fail(u->links[0].node, error, CAL_BAD_MODEL,
                        "every link hangs from another one, so some hang from themselves; a robot is a tree");
}

// Depth first without recursion: from a link to its first child, else to the next child of the nearest link above.
static cal_status order_links(urdf* u, cal_error* error) {
    int count = 0;
    for (int link = u->root; link >= 0;) {
        u->order[count++] = link;
        int joint = u->links[link].first_child;
        while (joint < 0 && link != u->root) {
            joint = u->joints[u->links[link].joint].next;
            link = u->joints[u->links[link].joint].parent;
        }
        link = joint >= 0 ? u->joints[joint].child : -1;
    }
    if (count == u->link_count) return CAL_OK;
    char* reached = cal_allocate((size_t)u->link_count, 1);
    if (reached == NULL) return no_memory(u, error);
    for (int i = 0; i < count; i++) reached[u->order[i]] = 1;
    int lost = 0;
    while (reached[lost]) lost++;
    cal_free(reached);
    return cal_xml_fail(u->links[lost].node, error, CAL_BAD_MODEL,
                        "it does not hang from the root '%.60s' but, through its parents, from itself",
                        u->links[u->root].name);
}

cal_status cal_urdf_read_tree(urdf* u, cal_error* error) {
    cal_status status = collect(u, error);
    if (status == CAL_OK) status = connect(u, error);
    if (status == CAL_OK) status = find_root(u, error);
    return status == CAL_OK ? order_links(u, error) : status;
}
