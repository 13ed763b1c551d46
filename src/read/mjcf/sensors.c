// Sensors: what is measured at joints, tendons, actuators and frames. Those that Calder has no number for are listed.
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// What a sensor's element names, beside its kind.
typedef enum target { OF_JOINT, OF_TENDON, OF_ACTUATOR, OF_SITE, OF_OBJECT, OF_BODY, OF_NOTHING } target;

static target target_of(cal_sensor_kind kind) {
    switch (kind) {
    case CAL_SENSOR_JOINT_POSITION:
    case CAL_SENSOR_JOINT_VELOCITY:
    case CAL_SENSOR_JOINT_ACTUATOR_FORCE:
    case CAL_SENSOR_BALL_QUATERNION:
    case CAL_SENSOR_BALL_VELOCITY: return OF_JOINT;
    case CAL_SENSOR_TENDON_LENGTH:
    case CAL_SENSOR_TENDON_ACTUATOR_FORCE:
    case CAL_SENSOR_TENDON_VELOCITY: return OF_TENDON;
    case CAL_SENSOR_ACTUATOR_FORCE:
    case CAL_SENSOR_ACTUATOR_LENGTH:
    case CAL_SENSOR_ACTUATOR_VELOCITY: return OF_ACTUATOR;
    case CAL_SENSOR_VELOCIMETER:
    case CAL_SENSOR_GYRO:
    case CAL_SENSOR_ACCELEROMETER:
    case CAL_SENSOR_FORCE:
    case CAL_SENSOR_TORQUE:
    case CAL_SENSOR_TOUCH:
    case CAL_SENSOR_MAGNETOMETER:
    case CAL_SENSOR_RANGEFINDER: return OF_SITE;
    case CAL_SENSOR_SUBTREE_CENTER:
    case CAL_SENSOR_SUBTREE_ANGULAR_MOMENTUM:
    case CAL_SENSOR_SUBTREE_VELOCITY: return OF_BODY;
    case CAL_SENSOR_CLOCK: return OF_NOTHING;
    default: return OF_OBJECT;
    }
}

static void leave_out(const mjcf_source* source, const cal_xml_node* node, const char* why) {
    char what[64];
    snprintf(what, sizeof what, "sensor %.40s", node->name);
    cal_report_add(source->reader->report, node, CAL_ISSUE_NOT_SIMULATED, what, "%s", why);
}

static void use_site(const mjcf_model* model, int number, cal_sensor_def* def) {
    const mjcf_site* site = &((mjcf_site*)model->sites.items)[number];
    def->body = site->body;
    memcpy(def->position, site->position, sizeof def->position);
    memcpy(def->quaternion, site->quaternion, sizeof def->quaternion);
    if (def->kind != CAL_SENSOR_TOUCH) return;
    def->zone = site->kind;
    memcpy(def->zone_size, site->size, sizeof def->zone_size);
}

static bool is_turned(cal_sensor_kind kind) {
    return kind >= CAL_SENSOR_FRAME_QUATERNION && kind <= CAL_SENSOR_FRAME_Z_AXIS;
}

// A frame by its kind and name; *why: it is left out. turned: its axes count, too.
enum { BODY, XBODY, GEOM, SITE, CAMERA };
#define OBJECTS "body|xbody|geom|site|camera"
static cal_status use_object(mjcf_model* model, int type, int number, bool turned, cal_sensor_def* def,
                             const char** why, cal_error* error) {
    if (type == SITE) use_site(model, number, def);
    if (type == XBODY || type == BODY) def->body = number;
    if (type == BODY && number >= 0)
        memcpy(def->position, ((mjcf_body*)model->bodies.items)[number].solid.center, sizeof def->position);
    if (type == BODY && turned) *why = "axes of a body's inertia are not measured; name an xbody or a site";
    if (type != GEOM) return CAL_OK;
    cal_shape_def shape;
    bool drawn;
    MJCF_TRY(mjcf_geom_shape(&((mjcf_geom*)model->geoms.items)[number], &shape, &drawn, error));
    def->body = shape.body;
    memcpy(def->position, shape.position, sizeof def->position);
    memcpy(def->quaternion, shape.quaternion, sizeof def->quaternion);
    return CAL_OK;
}

// An actuator of this name in the copy; CAL_NONE: there is none, or it is left out.
static int find_motor(const mjcf_model* model, const char* name, const mjcf_copy* copy, bool* own) {
    for (int i = 0; i < model->actuators.count; i++) {
        const mjcf_motor* motor = &((mjcf_motor*)model->actuators.items)[i];
        char text[512];
        const int used = snprintf(text, sizeof text, "%s%s%s", copy->prefix, name, copy->suffix);
        if (used >= (int)sizeof text || motor->actuator.name == NULL || strcmp(motor->actuator.name, text) != 0)
            continue;
        *own = true;
        return motor->number;
    }
    return CAL_NONE;
}

// The frame that it is relative to, by reftype and refname; *here: its name means something in this copy.
static cal_status use_reference(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, cal_sensor_def* def,
                                bool* here, const char** why, cal_error* error) {
    mjcf_model* model = source->model;
    static const mjcf_noun objects[] = {MJCF_BODY, MJCF_BODY, MJCF_GEOM, MJCF_SITE};
    cal_sensor_def other = *def;
    const char* name = cal_xml_text(node, "refname");
    int type = -1, number = CAL_GROUND;
    bool own = false;
    *here = true;
    MJCF_TRY(mjcf_choose(node, "reftype", OBJECTS, &type, error));
    if (type < 0 && name == NULL) return CAL_OK;
    if (type < 0 || name == NULL)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs the attribute %s",
                            name == NULL ? "refname" : "reftype");
    if (type == CAMERA) *why = "there are no cameras";
    if (*why != NULL) return CAL_OK;
    if (!((type == BODY || type == XBODY) && strcmp(name, "world") == 0))
        number = mjcf_find_in(model, objects[type], name, copy, &own);
    *here = number != CAL_NONE;
    if (!*here) return CAL_OK;
    memcpy(other.position, (double[3]){0.0, 0.0, 0.0}, sizeof other.position);
    memcpy(other.quaternion, (double[4]){1.0, 0.0, 0.0, 0.0}, sizeof other.quaternion);
    MJCF_TRY(use_object(model, type, number, type == BODY && number != CAL_GROUND, &other, why, error));
    def->reference = other.body;
    memcpy(def->reference_position, other.position, sizeof def->reference_position);
    memcpy(def->reference_quaternion, other.quaternion, sizeof def->reference_quaternion);
    return CAL_OK;
}

// The number that the sensor's name stands for in the copy, CAL_NONE: nothing there.
static cal_status find_target(const mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, target of, int type,
                              int* number, bool* own, cal_error* error) {
    static const char* const attributes[] = {"joint", "tendon", "actuator", "site", "objname", "body"};
    static const mjcf_noun objects[] = {MJCF_BODY, MJCF_BODY, MJCF_GEOM, MJCF_SITE};
    static const mjcf_noun nouns[] = {MJCF_JOINT, MJCF_TENDON, MJCF_BODY, MJCF_SITE, MJCF_BODY, MJCF_BODY};
    const char* name = cal_xml_text(node, attributes[of]);
    if (name == NULL) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs the attribute %s", attributes[of]);
    const mjcf_noun noun = of == OF_OBJECT ? objects[type] : nouns[of];
    if (noun == MJCF_BODY && of != OF_ACTUATOR && strcmp(name, "world") == 0) {
        *number = CAL_GROUND;
        return CAL_OK;
    }
    *number = of == OF_ACTUATOR ? find_motor(source->model, name, copy, own)
                                : mjcf_find_in(source->model, noun, name, copy, own);
    return CAL_OK;
}

static cal_status add_sensor(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, cal_sensor_def* def,
                             cal_error* error) {
    mjcf_model* model = source->model;
    const target of = target_of(def->kind);
    const char* why = NULL;
    int type = -1, number = CAL_NONE;
    bool own = copy->prefix[0] == '\0' && copy->suffix[0] == '\0';
    if (of == OF_OBJECT) {
        MJCF_TRY(mjcf_choose(node, "objtype", OBJECTS, &type, error));
        if (type < 0) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it needs the attribute objtype");
    }
    if (type == CAMERA || cal_xml_text(node, "camera") != NULL) why = "there are no cameras";
    const char* data = cal_xml_text(node, "data");
    if (data != NULL && strcmp(data, "dist") != 0) why = "of a rangefinder only dist is measured";
    if (why == NULL && of != OF_NOTHING) MJCF_TRY(find_target(source, node, copy, of, type, &number, &own, error));
    if (why == NULL && of != OF_NOTHING && number == CAL_NONE) {
        if (of == OF_ACTUATOR)
            why = "its actuator is left out";
        else
            return CAL_OK; // not in this copy
    }
    if (!own && why == NULL) return CAL_OK;
    if (why == NULL && of == OF_OBJECT) {
        bool here;
        MJCF_TRY(use_object(model, type, number, is_turned(def->kind), def, &why, error));
        MJCF_TRY(use_reference(source, node, copy, def, &here, &why, error));
        if (!here) return CAL_OK;
    }
    node->linked = true;
    if (why == NULL && of == OF_JOINT) def->number = ((mjcf_joint*)model->joints.items)[number].number;
    if (why == NULL && of == OF_TENDON) def->number = ((mjcf_tendon*)model->tendons.items)[number].number;
    if (why == NULL && of == OF_ACTUATOR) def->number = number;
    if (why == NULL && of == OF_SITE) use_site(model, number, def);
    if (why == NULL && of == OF_BODY) def->body = number;
    if (why != NULL) {
        leave_out(source, node, why);
        return CAL_OK;
    }
    def->name = mjcf_link_name(source, node, copy);
    return cal_builder_add_sensor(model->reader->builder, def) != CAL_NONE ? CAL_OK : mjcf_no_memory(node, error);
}

static cal_status read_sensor(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, cal_error* error) {
    int kind = 0;
    while (cal_sensor_kind_name((cal_sensor_kind)kind) != NULL &&
           !cal_xml_is(node, cal_sensor_kind_name((cal_sensor_kind)kind)))
        kind++;
    if (cal_sensor_kind_name((cal_sensor_kind)kind) == NULL) {
        if (!node->linked) leave_out(source, node, "it is left out; the motion does not depend on it");
        node->linked = true;
        return CAL_OK;
    }
    if (copy == NULL) return cal_xml_fail(node, error, CAL_BAD_MODEL, "there is nothing of the name that it measures");
    cal_sensor_def def = cal_default_sensor_def();
    def.kind = (cal_sensor_kind)kind;
    MJCF_TRY(cal_xml_number(node, "cutoff", &def.cutoff, error));
    return add_sensor(source, node, copy, &def, error);
}

cal_status mjcf_add_sensors(mjcf_model* model, cal_error* error) {
    return mjcf_each(model, "sensor", read_sensor, error);
}
