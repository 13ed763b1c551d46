// <transmission>: the motors of a URDF.
//
//     <transmission name="t"><type>transmission_interface/SimpleTransmission</type>
//       <joint name="knee"/><actuator name="knee_motor"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
//
// is a motor whose control is its own torque (or force): the joint gets `mechanicalReduction` times as much, at most the effort of the
// joint's <limit>. Others (differentials, four-bars, several joints) are not motors here, and are listed.
#include "read/urdf/parts.h"

#include <math.h>
#include <string.h>

// The only child of this name; NULL: there is none, or several.
static cal_xml_node* only(const cal_xml_node* node, const char* name) {
    cal_xml_node* child = cal_xml_child(node, name);
    return child != NULL && cal_xml_next(child, name) == NULL ? child : NULL;
}

static void mark_used(cal_xml_node* node) {
    node->used = true;
    for (int i = 0; i < node->attribute_count; i++) node->attributes[i].used = true;
    for (cal_xml_node* child = cal_xml_child(node, NULL); child != NULL; child = cal_xml_next(child, NULL)) {
        child->used = true;
        for (int i = 0; i < child->attribute_count; i++) child->attributes[i].used = true;
        for (cal_xml_node* last = cal_xml_child(child, NULL); last != NULL; last = cal_xml_next(last, NULL))
            last->used = true; // hardwareInterface, mechanicalReduction
    }
}

// The joint of a transmission that is one motor on one joint; NULL: it is something else, or its joint is no hinge or slide.
static const urdf_joint* simple_joint(const urdf* u, const cal_xml_node* node) {
    const cal_xml_node* type = cal_xml_child(node, "type");
    cal_xml_node *joint = only(node, "joint"), *actuator = only(node, "actuator");
    if (joint == NULL || actuator == NULL) return NULL;
    if (type != NULL && strstr(type->text, "SimpleTransmission") == NULL) return NULL;
    const char* name = cal_xml_text(joint, "name");
    const int number = name != NULL ? cal_names_find(u->joint_names, name) : CAL_NONE;
    if (number == CAL_NONE) return NULL;
    const urdf_joint* own = &u->joints[number];
    const bool fits = own->kind == URDF_REVOLUTE || own->kind == URDF_CONTINUOUS || own->kind == URDF_PRISMATIC;
    return fits ? own : NULL;
}

static cal_status read_reduction(cal_xml_node* transmission, double* out, cal_error* error) {
    const cal_xml_node* actuator = only(transmission, "actuator");
    cal_xml_node* node = cal_xml_child(actuator, "mechanicalReduction");
    if (node == NULL) node = cal_xml_child(transmission, "mechanicalReduction"); // where older files have it
    *out = 1.0;
    if (node == NULL) return CAL_OK;
    node->used = true;
    if (cal_read_numbers(node->text, 1, out) != 1 || !isfinite(*out) || *out == 0.0)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "'%.60s' is no reduction: a number that is not zero is needed",
                            node->text);
    return CAL_OK;
}

cal_status cal_urdf_read_transmissions(urdf* u, cal_error* error) {
    size_t count = 0;
    for (cal_xml_node* node = cal_xml_child(u->robot, "transmission"); node; node = cal_xml_next(node, "transmission"))
        count++;
    cal_name_table* names = cal_names_create(count + 1);
    cal_status status = names != NULL ? CAL_OK : cal_xml_fail(u->robot, error, CAL_NO_MEMORY, "out of memory");
    for (cal_xml_node* node = cal_xml_child(u->robot, "transmission"); node && status == CAL_OK;
         node = cal_xml_next(node, "transmission")) {
        const urdf_joint* joint = simple_joint(u, node);
        if (joint == NULL) continue;
        cal_actuator_def def = cal_default_actuator_def();
        status = read_reduction(node, &def.gear, error);
        if (status != CAL_OK) break;
        const char* name = cal_xml_text(only(node, "actuator"), "name");
        mark_used(node);
        def.joint = joint->number;
        // Two motors of one name: the second one is called by its number.
        if (name != NULL && name[0] != '\0' && cal_names_add(names, name, (int)count) == (int)count) def.name = name;
        count++;
        if (joint->effort > 0.0 && isfinite(joint->effort)) {
            def.control_range[1] = joint->effort / fabs(def.gear);
            def.control_range[0] = -def.control_range[1];
        }
        if (cal_builder_add_actuator(u->reader->builder, &def) < 0)
            status = cal_xml_fail(node, error, CAL_NO_MEMORY, "out of memory for the model");
    }
    cal_names_destroy(names);
    return status;
}
