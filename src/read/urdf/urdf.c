// URDF: links and joints into bodies and joints.
//
//     URDF                      here
//     link                      a body; the root is fixed to the ground, and is the ground when it is called "world"
//     revolute, continuous      a revolute joint, with and without limits
//     prismatic                 a prismatic joint
//     fixed                     a body without joints: part of what carries it
//     floating                  a free joint; below a link that moves, three prismatic joints and a ball
//     planar                    two prismatic joints and a revolute one, named as in MuJoCo: …_TX, …_TY, …_RZ
//     mimic                     a coupling: q = multiplier · q of the other joint + offset
//
// Bodies are numbered depth first, children in the order of their joints in the file, so q and v have MuJoCo's order.
#include "read/urdf/parts.h"
#include "base/memory.h"
#include "math/vector.h"
#include <stdio.h>
#include <string.h>

enum { NAME = 256 };

static cal_status no_memory(const cal_xml_node* node, cal_error* error) {
    return cal_xml_fail(node, error, CAL_NO_MEMORY, "out of memory for the model");
}

// --- Joints -------------------------------------------------------------------------------------------------------------

static cal_status read_limits(const urdf* u, urdf_joint* joint, cal_joint_def* def, cal_error* error) {
    cal_xml_node* limit;
    cal_status status = cal_urdf_only_child(joint->node, "limit", &limit, error);
    if (status != CAL_OK || limit == NULL) return status;
    static const char* const sides[2] = {"lower", "upper"};
    bool given[2] = {false, false};
    for (int i = 0; i < 2 && status == CAL_OK; i++) {
        int count;
        status = cal_xml_numbers(limit, sides[i], 1, 1, &def->range[i], &count, error);
        given[i] = count > 0 && isfinite(def->range[i]);
    }
    double velocity = 0.0;
    if (status == CAL_OK) status = cal_xml_number(limit, "effort", &joint->effort, error);
    if (status == CAL_OK) status = cal_xml_number(limit, "velocity", &velocity, error);
    if (status != CAL_OK) return status;
    if (cal_xml_text(limit, "effort") != NULL || cal_xml_text(limit, "velocity") != NULL)
        cal_report_add(u->reader->report, limit, CAL_ISSUE_NOTE, "limit effort and velocity",
                       "are for controllers: an effort limits the motor of a <transmission>, and a velocity nothing");
    if (joint->kind != URDF_REVOLUTE && joint->kind != URDF_PRISMATIC) {
        if (given[0] || given[1])
            cal_report_add(u->reader->report, limit, CAL_ISSUE_NOTE, "limit lower and upper",
                           "do not hold for a continuous, floating, planar or spherical joint");
        return CAL_OK;
    }
    def->limited = given[0] && given[1] && def->range[0] < def->range[1];
    if (def->limited) return CAL_OK;
    if (given[0] && given[1] && def->range[0] > def->range[1])
        cal_report_add(u->reader->report, limit, CAL_ISSUE_NOT_SIMULATED, "limit lower and upper",
                       "lower is above upper: the joint is not limited");
    else
        cal_report_add(u->reader->report, limit, CAL_ISSUE_NOTE, "limit lower and upper",
                       "are the same, infinite or not there: the joint is not limited");
    return CAL_OK;
}

static cal_status read_dynamics(const urdf_joint* joint, cal_joint_def* def, cal_error* error) {
    cal_xml_node* dynamics;
    cal_status status = cal_urdf_only_child(joint->node, "dynamics", &dynamics, error);
    if (status != CAL_OK || dynamics == NULL) return status;
    status = cal_urdf_numbers(dynamics, "damping", 1, &def->damping, false, error);
    if (status == CAL_OK) status = cal_urdf_numbers(dynamics, "friction", 1, &def->friction_loss, false, error);
    if (status == CAL_OK && (def->damping < 0.0 || def->friction_loss < 0.0))
        status = cal_xml_fail(dynamics, error, CAL_BAD_MODEL, "damping and friction must not be negative");
    return status;
}

// Elements that say how a real joint is driven and calibrated.
static void note_controllers(const urdf* u, const urdf_joint* joint) {
    static const char* const names[] = {"safety_controller", "calibration"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cal_xml_node* node = cal_xml_child(joint->node, names[i]);
        if (node == NULL) continue;
        node->used = true;
        for (int k = 0; k < node->attribute_count; k++) node->attributes[k].used = true;
        cal_report_add(u->reader->report, node, CAL_ISSUE_NOTE, i == 0 ? "<safety_controller>" : "<calibration>",
                       "is for the real robot and does not act on the motion");
    }
}

static cal_status add_joint(urdf* u, urdf_joint* joint, int body, cal_joint_def* def, cal_joint_kind kind,
                            const char* suffix, const double axis[3], cal_error* error) {
    char name[NAME];
    snprintf(name, sizeof name, "%.200s%s", joint->name, suffix);
    def->name = suffix[0] == '\0' ? joint->name : name;
    def->kind = kind;
    memcpy(def->axis, axis, sizeof def->axis);
    const int number = cal_builder_add_joint(u->reader->builder, body, def);
    if (number < 0) return no_memory(joint->node, error);
    if (joint->number == CAL_NONE) joint->number = number;
    return CAL_OK;
}

// Columns of the smallest rotation that takes z to the axis: which of all rotations decides what q of a planar joint means.
static void plane_axes(const double axis[3], double x[3], double y[3]) {
    const double length = sqrt(cal_dot3(axis, axis));
    const double a = axis[0] / length, b = axis[1] / length, c = axis[2] / length;
    // z to −z is half a turn about x.
    const double quaternion[4] = {1.0 + c, -b, a, 0.0}, half_turn[4] = {0.0, 1.0, 0.0, 0.0};
    double R[9];
    cal_quaternion_matrix(1.0 + c > 1e-15 ? quaternion : half_turn, R);
    for (int i = 0; i < 3; i++) x[i] = R[3 * i], y[i] = R[3 * i + 1];
}

static cal_status add_planar(urdf* u, urdf_joint* joint, int body, cal_joint_def* def, cal_error* error) {
    double x[3], y[3];
    plane_axes(joint->axis, x, y);
    cal_status status = add_joint(u, joint, body, def, CAL_PRISMATIC, "_TX", x, error);
    if (status == CAL_OK) status = add_joint(u, joint, body, def, CAL_PRISMATIC, "_TY", y, error);
    return status == CAL_OK ? add_joint(u, joint, body, def, CAL_REVOLUTE, "_RZ", joint->axis, error) : status;
}

static cal_status add_floating(urdf* u, urdf_joint* joint, int body, cal_joint_def* def, cal_error* error) {
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const char* const suffixes[3] = {"_TX", "_TY", "_TZ"};
    if (u->links[joint->parent].grounded) return add_joint(u, joint, body, def, CAL_FREE, "", axes[2], error);
    cal_status status = CAL_OK;
    for (int i = 0; i < 3 && status == CAL_OK; i++)
        status = add_joint(u, joint, body, def, CAL_PRISMATIC, suffixes[i], axes[i], error);
    return status == CAL_OK ? add_joint(u, joint, body, def, CAL_BALL, "", axes[2], error) : status;
}

static cal_status add_joints(urdf* u, urdf_joint* joint, int body, cal_error* error) {
    cal_joint_def def = cal_default_joint_def();
    cal_status status = read_limits(u, joint, &def, error);
    if (status == CAL_OK) status = read_dynamics(joint, &def, error);
    if (status != CAL_OK) return status;
    note_controllers(u, joint);
    switch (joint->kind) {
    case URDF_REVOLUTE:
    case URDF_CONTINUOUS: return add_joint(u, joint, body, &def, CAL_REVOLUTE, "", joint->axis, error);
    case URDF_PRISMATIC: return add_joint(u, joint, body, &def, CAL_PRISMATIC, "", joint->axis, error);
    case URDF_SPHERICAL: return add_joint(u, joint, body, &def, CAL_BALL, "", joint->axis, error);
    case URDF_PLANAR: return add_planar(u, joint, body, &def, error);
    case URDF_FLOATING: return add_floating(u, joint, body, &def, error);
    default: return CAL_OK;
    }
}

static bool has_one_degree(const urdf_joint* joint) {
    return joint->kind == URDF_REVOLUTE || joint->kind == URDF_CONTINUOUS || joint->kind == URDF_PRISMATIC;
}

static cal_status read_mimic(urdf* u, urdf_joint* joint, cal_error* error) {
    cal_xml_node* mimic;
    cal_status status = cal_urdf_only_child(joint->node, "mimic", &mimic, error);
    if (status != CAL_OK || mimic == NULL) return status;
    const char* name = cal_xml_text(mimic, "joint");
    if (name == NULL) return cal_xml_fail(mimic, error, CAL_BAD_MODEL, "it does not say which joint is followed");
    const int other = cal_names_find(u->joint_names, name);
    double multiplier = 1.0, offset = 0.0;
    status = cal_urdf_numbers(mimic, "multiplier", 1, &multiplier, false, error);
    if (status == CAL_OK) status = cal_urdf_numbers(mimic, "offset", 1, &offset, false, error);
    if (status != CAL_OK) return status;
    if (other == CAL_NONE)
        return cal_xml_fail(mimic, error, CAL_BAD_MODEL, "joint '%.60s' follows '%.60s', which is not in this robot",
                            joint->name, name);
    if (&u->joints[other] == joint)
        return cal_xml_fail(mimic, error, CAL_BAD_MODEL, "joint '%.60s' follows itself", joint->name);
    if (joint->kind == URDF_FIXED) {
        cal_report_add(u->reader->report, mimic, CAL_ISSUE_NOTE, "mimic", "a fixed joint cannot follow another");
        return CAL_OK;
    }
    const bool constant = u->joints[other].kind == URDF_FIXED;
    if (!has_one_degree(joint) || !(constant || has_one_degree(&u->joints[other])))
        return cal_xml_fail(mimic, error, CAL_BAD_MODEL,
                            "joint '%.60s' cannot follow '%.60s': both must be revolute, continuous or prismatic",
                            joint->name, name);
    cal_constraint_def def = cal_default_constraint_def();
    char text[NAME];
    snprintf(text, sizeof text, "%.200s_mimic", joint->name);
    def.name = text;
    def.kind = CAL_COUPLING;
    def.joint[0] = joint->number;
    def.joint[1] = constant ? CAL_NONE : u->joints[other].number;
    def.polynomial[0] = offset;
    def.polynomial[1] = constant ? 0.0 : multiplier;
    return cal_builder_add_constraint(u->reader->builder, &def) >= 0 ? CAL_OK : no_memory(mimic, error);
}

// --- Links --------------------------------------------------------------------------------------------------------------

static bool is_world(const urdf_link* link) { return link->joint < 0 && strcmp(link->name, "world") == 0; }

// A URDF of one thing (a cube, a cup) is meant to be moved, though none of its joints moves.
static bool root_floats(const urdf* u) {
    bool moves = false;
    for (int i = 0; i < u->joint_count; i++) moves |= u->joints[i].kind != URDF_FIXED;
    return !is_world(&u->links[u->root]) && (u->reader->options->free_base || !moves);
}

// Which links cannot move, and where they are; parents come first in `order`.
static void find_grounded(urdf* u) {
    for (int i = 0; i < u->link_count; i++) {
        urdf_link* link = &u->links[u->order[i]];
        if (link->joint < 0) {
            link->grounded = !u->floats;
            link->from_ground = (urdf_origin){.quaternion = {1.0, 0.0, 0.0, 0.0}};
            continue;
        }
        const urdf_joint* joint = &u->joints[link->joint];
        const urdf_link* parent = &u->links[joint->parent];
        link->grounded = joint->kind == URDF_FIXED && parent->grounded;
        if (parent->grounded) link->from_ground = cal_urdf_compose(&parent->from_ground, &joint->origin);
    }
}

static cal_status add_free_joint(urdf* u, const urdf_link* link, cal_error* error) {
    double mass = 0.0;
    for (int i = 0; i < u->link_count; i++) mass += u->links[i].solid.mass;
    if (mass == 0.0) return CAL_OK;
    char name[NAME];
    snprintf(name, sizeof name, "%.200s_free", link->name);
    cal_joint_def def = cal_default_joint_def();
    def.name = name;
    def.kind = CAL_FREE;
    if (!u->reader->options->free_base)
        cal_report_add(u->reader->report, link->node, CAL_ISSUE_NOTE, "root link", "floats, since no joint moves");
    return cal_builder_add_joint(u->reader->builder, link->body, &def) >= 0 ? CAL_OK : no_memory(link->node, error);
}

static cal_status add_link(urdf* u, urdf_link* link, cal_error* error) {
    if (is_world(link)) {
        link->body = CAL_GROUND;
        return CAL_OK;
    }
    cal_body_def def = cal_default_body_def();
    def.name = link->name;
    def.mass = link->solid.mass;
    memcpy(def.center, link->solid.center, sizeof def.center);
    memcpy(def.inertia, link->solid.inertia, sizeof def.inertia);
    urdf_joint* joint = link->joint >= 0 ? &u->joints[link->joint] : NULL;
    if (joint != NULL) {
        const urdf_link* parent = &u->links[joint->parent];
        const bool free_joint = joint->kind == URDF_FLOATING && parent->grounded;
        const urdf_origin* origin = free_joint ? &link->from_ground : &joint->origin;
        def.parent = free_joint ? CAL_GROUND : parent->body;
        memcpy(def.position, origin->position, sizeof def.position);
        memcpy(def.quaternion, origin->quaternion, sizeof def.quaternion);
    }
    link->body = cal_builder_add_body(u->reader->builder, &def);
    if (link->body < 0) return no_memory(link->node, error);
    if (joint != NULL) return add_joints(u, joint, link->body, error);
    return u->floats ? add_free_joint(u, link, error) : CAL_OK;
}

// --- What was not understood --------------------------------------------------------------------------------------------

static void list_attributes(const urdf* u, const cal_xml_node* node) {
    const cal_xml_attribute* attribute;
    for (int i = 0; (attribute = cal_xml_next_unused(node, &i)) != NULL;) {
        if (strncmp(attribute->name, "xmlns", 5) == 0) continue;
        char what[NAME];
        snprintf(what, sizeof what, "%.80s %.80s", node->name, attribute->name);
        cal_report_add(u->reader->report, node, CAL_ISSUE_NOT_UNDERSTOOD, what, "is ignored");
    }
}

// What simulators and controllers have added to the format.
static const char* purpose_of(const cal_xml_node* node) {
    static const struct {
        const char *name, *purpose;
    } known[] = {{"gazebo", "is for Gazebo; what it says about friction, sensors or plugins has no effect"},
                 {"transmission", "no motor is made from it: it is not one motor on one hinge or slide"},
                 {"ros2_control", "controllers are not made from it; forces are the user's"},
                 {"mujoco", "MuJoCo's settings in a URDF have no effect"},
                 {"sensor", "sensors are not simulated"},
                 {"drake", "Drake's extension has no effect"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(node->name, known[i].name, strlen(known[i].name)) == 0) return known[i].purpose;
    return NULL;
}

// Everything under the robot that no part of the reader has asked for, without going into it.
static void list_unused(const urdf* u) {
    for (const cal_xml_node* node = u->robot; node != NULL;) {
        const cal_xml_node* down = NULL;
        if (node->used) {
            list_attributes(u, node);
            down = node->first;
        } else {
            const char* purpose = purpose_of(node);
            char what[NAME];
            snprintf(what, sizeof what, "<%.80s>", node->name);
            cal_report_add(u->reader->report, node,
                           purpose != NULL ? CAL_ISSUE_NOT_SIMULATED : CAL_ISSUE_NOT_UNDERSTOOD, what, "%s",
                           purpose != NULL ? purpose : "is ignored, with all that is in it");
        }
        if (down == NULL) {
            while (node != u->robot && node->next == NULL) node = node->parent;
            down = node != u->robot ? node->next : NULL;
        }
        node = down;
    }
}

// --- All of it ----------------------------------------------------------------------------------------------------------

static cal_status refuse_xacro(const urdf* u, cal_error* error) {
    for (cal_xml_node* node = cal_xml_child(u->robot, NULL); node != NULL; node = cal_xml_next(node, NULL))
        if (strncmp(node->name, "xacro:", 6) == 0)
            return cal_xml_fail(node, error, CAL_BAD_MODEL,
                                "this is a xacro file, from which a URDF is made: run `xacro FILE > robot.urdf` first");
    return CAL_OK;
}

static cal_status read_robot(urdf* u, cal_error* error) {
    u->robot->used = true;
    const char* name = cal_xml_text(u->robot, "name");
    cal_xml_text(u->robot, "version");
    if (name != NULL && name[0] != '\0') cal_builder_set_name(u->reader->builder, name);
    cal_status status = refuse_xacro(u, error);
    if (status == CAL_OK) status = cal_urdf_read_tree(u, error);
    if (status != CAL_OK) return status;
    u->floats = root_floats(u);
    find_grounded(u);
    cal_urdf_find_package(u);
    status = cal_urdf_read_masses(u, error);
    if (status == CAL_OK) status = cal_urdf_read_materials(u, error);
    for (int i = 0; status == CAL_OK && i < u->link_count; i++) {
        urdf_link* link = &u->links[u->order[i]];
        status = add_link(u, link, error);
        if (status == CAL_OK) status = cal_urdf_read_shapes(u, link, error);
    }
    for (int i = 0; status == CAL_OK && i < u->joint_count; i++) status = read_mimic(u, &u->joints[i], error);
    if (status == CAL_OK) status = cal_urdf_read_transmissions(u, error);
    if (status == CAL_OK) list_unused(u);
    return status;
}

cal_status cal_urdf_read(cal_reader* reader, cal_xml_document* document, cal_error* error) {
    urdf u = {.reader = reader, .robot = cal_xml_root(document)};
    const cal_status status = read_robot(&u, error);
    for (int i = 0; i < u.mesh_count; i++) cal_free(u.meshes[i].path);
    cal_free(u.links);
    cal_free(u.joints);
    cal_free(u.order);
    cal_free(u.materials);
    cal_free(u.meshes);
    cal_names_destroy(u.link_names);
    cal_names_destroy(u.joint_names);
    cal_names_destroy(u.material_names);
    return status;
}
