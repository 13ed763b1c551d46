// Tendons, actuators and sensors: what an MJCF file says by the names of sites and geoms. A model that was read from such a file has
// them; one that was built has to have sites with names where its tendons go.
#include "base/hash.h"
#include "base/memory.h"
#include "model/builder.h"
#include "read/mjcf/write_mjcf.h"
#include <string.h>

static bool is_near(const double* a, const double* b, int count) {
    for (int i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-12)) return false;
    return true;
}

// The name of the site at a place; quaternion NULL: whatever its axes. NULL: there is none.
static const char* find_site(const cal_model* model, int body, const double position[3], const double* quaternion) {
    for (int i = 0; i < model->kept.site_count; i++) {
        const cal_site_def* site = &model->kept.sites[i];
        if (site->name != NULL && site->body == body && cal_same_bits(site->position, position, 3 * sizeof *position) &&
            (quaternion == NULL || is_near(site->quaternion, quaternion, 4)))
            return site->name;
    }
    return NULL;
}

// The name of the sphere or cylinder that a tendon goes round.
static const char* find_shape(const cal_model* model, const cal_tendon_part* part) {
    const cal_shape_kind kind = part->kind == CAL_TENDON_SPHERE ? CAL_SPHERE : CAL_CYLINDER;
    for (int i = 0; i < model->shape_count; i++) {
        const cal_shape_def* shape = &model->shapes[i];
        if (shape->name != NULL && shape->kind == kind && shape->body == part->body && shape->size[0] == part->radius &&
            cal_same_bits(shape->position, part->position, sizeof part->position) &&
            (kind == CAL_SPHERE || is_near(shape->quaternion, part->quaternion, 4)) &&
            cal_model_find_shape(model, shape->name) == i)
            return shape->name;
    }
    return NULL;
}

static bool needs_site(cal_sensor_kind kind) {
    return (kind >= CAL_SENSOR_FRAME_POSITION && kind <= CAL_SENSOR_TORQUE) || kind == CAL_SENSOR_TOUCH ||
           kind == CAL_SENSOR_RANGEFINDER || kind == CAL_SENSOR_MAGNETOMETER;
}

// The site whose zone a sensor of touch has.
static const char* find_zone(const cal_model* model, const cal_sensor_def* def) {
    for (int i = 0; i < model->kept.site_count; i++) {
        const cal_site_def* site = &model->kept.sites[i];
        if (site->name != NULL && site->body == def->body && site->kind == def->zone &&
            cal_same_bits(site->position, def->position, sizeof def->position) &&
            cal_same_bits(site->size, def->zone_size, sizeof def->zone_size) &&
            is_near(site->quaternion, def->quaternion, 4))
            return site->name;
    }
    return NULL;
}

static bool of_actuator(cal_sensor_kind kind) {
    return kind == CAL_SENSOR_ACTUATOR_FORCE || kind == CAL_SENSOR_ACTUATOR_LENGTH ||
           kind == CAL_SENSOR_ACTUATOR_VELOCITY;
}

// How a frame is named: "xbody", "body" (its centre of mass), "site" or "geom", and the name of the latter two; NULL: not at all.
static const char* find_frame(const cal_model* model, const cal_sensor_def* def, const char** name) {
    static const double zero[3] = {0.0, 0.0, 0.0}, one[4] = {1.0, 0.0, 0.0, 0.0};
    const bool of_object = def->kind <= CAL_SENSOR_FRAME_ANGULAR_ACCELERATION, plain = is_near(def->quaternion, one, 4);
    const bool turned = def->kind >= CAL_SENSOR_FRAME_QUATERNION && def->kind <= CAL_SENSOR_FRAME_Z_AXIS;
    *name = def->kind == CAL_SENSOR_TOUCH ? find_zone(model, def)
                                          : find_site(model, def->body, def->position, def->quaternion);
    if (*name != NULL) return "site";
    if (of_object && plain && is_near(def->position, zero, 3)) return "xbody";
    if (of_object && plain && !turned && def->body >= 0 &&
        cal_same_bits(model->bodies[def->body].def->center, def->position, sizeof def->position))
        return "body";
    for (int i = 0; of_object && i < model->shape_count; i++) {
        const cal_shape_def* shape = &model->shapes[i];
        if (shape->name == NULL || shape->body != def->body || cal_model_find_shape(model, shape->name) != i ||
            !cal_same_bits(shape->position, def->position, sizeof def->position) ||
            !is_near(shape->quaternion, def->quaternion, 4))
            continue;
        *name = shape->name;
        return "geom";
    }
    return NULL;
}

// The frame that a sensor is relative to, whose axes count.
static cal_sensor_def reference_of(const cal_sensor_def* def) {
    cal_sensor_def other = cal_default_sensor_def();
    other.kind = CAL_SENSOR_FRAME_QUATERNION;
    other.body = def->reference;
    memcpy(other.position, def->reference_position, sizeof other.position);
    memcpy(other.quaternion, def->reference_quaternion, sizeof other.quaternion);
    return other;
}

static cal_status fail(const char* noun, const char* name, int number, const char* why, cal_error* error) {
    char who[80];
    return cal_fail(error, CAL_BAD_MODEL, "%s: %s", cal_describe(noun, name, number, who, sizeof who), why);
}

cal_status cal_mjcf_check_references(const cal_model* model, cal_error* error) {
    const double damping = cal_default_tendon_def().limit_damping;
    if (model->kept.drag_count > 0)
        return cal_fail(error, CAL_NOT_AVAILABLE, "the model moves in air or water, which is read and not written");
    for (int t = 0; t < model->kept.tendon_count; t++) {
        const cal_tendon_def* def = &model->kept.tendons[t];
        for (int i = 0; i < def->part_count; i++) {
            const cal_tendon_part* part = &def->parts[i];
            const bool shape = part->kind == CAL_TENDON_SPHERE || part->kind == CAL_TENDON_CYLINDER;
            if ((part->kind == CAL_TENDON_POINT && find_site(model, part->body, part->position, NULL) == NULL) ||
                (shape && part->sided && find_site(model, part->side_body, part->side, NULL) == NULL))
                return fail("tendon", def->name, t, "it goes through a point where no site with a name is", error);
            if (shape && find_shape(model, part) == NULL)
                return fail("tendon", def->name, t, "it goes round what is no shape with a name", error);
        }
        if (def->limited && def->limit_damping != damping)
            return fail("tendon", def->name, t, "its stops have a damping of their own, for which MJCF has no words",
                        error);
    }
    for (int i = 0; i < model->actuator_count; i++) {
        const cal_actuator_def* def = &model->actuators[i];
        if (def->body != CAL_NONE && find_site(model, def->body, def->position, def->quaternion) == NULL)
            return fail("actuator", def->name, i, "it acts where no site with a name is", error);
        if (def->reference != CAL_NONE &&
            find_site(model, def->reference, def->reference_position, def->reference_quaternion) == NULL)
            return fail("actuator", def->name, i, "it pushes against a frame where no site with a name is", error);
    }
    for (int i = 0; i < model->kept.sensor_count; i++) {
        const cal_sensor_def* def = &model->kept.sensors[i];
        const char* name;
        if (needs_site(def->kind) && find_frame(model, def, &name) == NULL)
            return fail("sensor", def->name, i, "it measures where no site with a name is", error);
        const cal_sensor_def other = reference_of(def);
        if (def->reference != CAL_NONE && find_frame(model, &other, &name) == NULL)
            return fail("sensor", def->name, i, "it is relative to a frame where no site with a name is", error);
        if (of_actuator(def->kind) && model->actuators[def->number].name == NULL)
            return fail("sensor", def->name, i, "its actuator has no name", error);
    }
    return CAL_OK;
}

// --- Writing ---------------------------------------------------------------------------------------------------------------

static void write_tendon_name(cal_mjcf_writer* w, const char* attribute, int tendon) {
    char name[80];
    cal_text_word(&w->text, attribute, cal_model_tendon_name(w->model, tendon, name, sizeof name));
}

static void write_part(cal_mjcf_writer* w, const cal_tendon_part* part) {
    static const char* const elements[] = {"joint", "site", "geom", "geom", "pulley"};
    const cal_model* model = w->model;
    cal_text_start(&w->text, elements[part->kind]);
    switch (part->kind) {
    case CAL_TENDON_JOINT:
        cal_mjcf_write_joint_name(w, "joint", part->joint);
        cal_text_number(&w->text, "coef", part->factor);
        break;
    case CAL_TENDON_POINT: cal_text_word(&w->text, "site", find_site(model, part->body, part->position, NULL)); break;
    case CAL_TENDON_PULLEY: cal_text_number(&w->text, "divisor", part->factor); break;
    default:
        cal_text_word(&w->text, "geom", find_shape(model, part));
        if (part->sided) cal_text_word(&w->text, "sidesite", find_site(model, part->side_body, part->side, NULL));
    }
    cal_text_end(&w->text, elements[part->kind]);
}

void cal_mjcf_write_tendons(cal_mjcf_writer* w) {
    const cal_model* model = w->model;
    cal_text* text = &w->text;
    if (model->kept.tendon_count == 0) return;
    cal_text_start(text, "tendon");
    for (int t = 0; t < model->kept.tendon_count; t++) {
        const cal_tendon_def* def = &model->kept.tendons[t];
        const char* element = def->parts[0].kind == CAL_TENDON_JOINT ? "fixed" : "spatial";
        cal_text_start(text, element);
        write_tendon_name(w, "name", t);
        cal_text_unless(text, "stiffness", &def->stiffness, 1, 0.0);
        cal_text_unless(text, "damping", &def->damping, 1, 0.0);
        cal_text_unless(text, "frictionloss", &def->friction_loss, 1, 0.0);
        // Two times −1 would be the length of the spring position; a model has found that already.
        if (def->stiffness != 0.0) cal_text_numbers(text, "springlength", def->spring_length, 2);
        if (def->limited) {
            cal_text_word(text, "limited", "true");
            cal_text_numbers(text, "range", def->range, 2);
        }
        for (int i = 0; i < def->part_count; i++) write_part(w, &def->parts[i]);
        cal_text_end(text, element);
    }
    cal_text_end(text, "tendon");
}

void cal_mjcf_write_target(cal_mjcf_writer* w, const cal_actuator_def* def) {
    if (def->tendon != CAL_NONE) {
        write_tendon_name(w, "tendon", def->tendon);
    } else if (def->body != CAL_NONE) {
        cal_text_word(&w->text, "site", find_site(w->model, def->body, def->position, def->quaternion));
        if (def->reference != CAL_NONE)
            cal_text_word(&w->text, "refsite",
                          find_site(w->model, def->reference, def->reference_position, def->reference_quaternion));
        cal_text_numbers(&w->text, "gear", def->wrench, 6);
        return;
    } else
        cal_mjcf_write_joint_name(w, "joint", def->joint);
    const double gear[3] = {0.0, def->axis == 1 ? def->gear : 0.0, def->axis == 2 ? def->gear : 0.0};
    if (def->axis > 0)
        cal_text_numbers(&w->text, "gear", gear, 3);
    else
        cal_text_unless(&w->text, "gear", &def->gear, 1, 1.0);
}

static void write_activation(cal_text* text, const cal_actuator_def* def) {
    static const char* const names[] = {"none", "integrator", "filterexact", "muscle"};
    if (def->activation == CAL_ACTIVATION_NONE) return;
    cal_text_word(text, "dyntype", names[def->activation]);
    cal_text_numbers(text, "dynprm", def->time_constant, 2);
    if (def->activation_range[0] == def->activation_range[1]) return;
    cal_text_word(text, "actlimited", "true");
    cal_text_numbers(text, "actrange", def->activation_range, 2);
}

void cal_mjcf_write_gain(cal_mjcf_writer* w, const cal_actuator_def* def) {
    write_activation(&w->text, def);
    cal_text* text = &w->text;
    const cal_muscle* m = &def->muscle;
    if (def->is_muscle) {
        const double parameters[] = {m->range[0], m->range[1], m->peak,    200.0,       m->shortest,
                                     m->longest,  m->fastest,  m->passive, m->eccentric};
        cal_text_word(text, "gaintype", "muscle");
        cal_text_word(text, "biastype", "muscle");
        cal_text_numbers(text, "gainprm", parameters, 9);
        cal_text_numbers(text, "biasprm", parameters, 9);
        cal_text_numbers(text, "lengthrange", m->length_range, 2);
        return;
    }
    const double gains[3] = {def->gain, def->gain_slope[0], def->gain_slope[1]};
    const bool affine = gains[1] != 0.0 || gains[2] != 0.0;
    if (affine) cal_text_word(text, "gaintype", "affine");
    if (affine)
        cal_text_numbers(text, "gainprm", gains, 3);
    else
        cal_text_unless(text, "gainprm", gains, 1, 1.0);
    static const double none[3] = {0.0, 0.0, 0.0};
    if (cal_same_bits(def->bias, none, sizeof def->bias)) return;
    cal_text_word(text, "biastype", "affine");
    cal_text_numbers(text, "biasprm", def->bias, 3);
}

static void write_frame(cal_mjcf_writer* w, const cal_sensor_def* def) {
    const bool of_object = def->kind <= CAL_SENSOR_FRAME_ANGULAR_ACCELERATION;
    const cal_sensor_def other = reference_of(def);
    for (int end = 0; end < (def->reference != CAL_NONE ? 2 : 1); end++) {
        const cal_sensor_def* at = end == 0 ? def : &other;
        const char *name, *type = find_frame(w->model, at, &name);
        const char* attribute = !of_object ? "site" : end == 0 ? "objname" : "refname";
        if (of_object) cal_text_word(&w->text, end == 0 ? "objtype" : "reftype", type);
        if (name != NULL)
            cal_text_word(&w->text, attribute, name);
        else
            cal_mjcf_write_body_name(w, attribute, at->body);
    }
}

void cal_mjcf_write_sensors(cal_mjcf_writer* w) {
    const cal_model* model = w->model;
    cal_text* text = &w->text;
    if (model->kept.sensor_count == 0) return;
    cal_text_start(text, "sensor");
    for (int i = 0; i < model->kept.sensor_count; i++) {
        const cal_sensor_def* def = &model->kept.sensors[i];
        const char* element = cal_sensor_kind_name(def->kind);
        cal_text_start(text, element);
        if (def->name != NULL) cal_text_word(text, "name", def->name);
        cal_text_unless(text, "cutoff", &def->cutoff, 1, 0.0);
        if (def->kind <= CAL_SENSOR_BALL_VELOCITY || def->kind == CAL_SENSOR_JOINT_ACTUATOR_FORCE)
            cal_mjcf_write_joint_name(w, "joint", def->number);
        if (def->kind == CAL_SENSOR_TENDON_LENGTH || def->kind == CAL_SENSOR_TENDON_VELOCITY ||
            def->kind == CAL_SENSOR_TENDON_ACTUATOR_FORCE)
            write_tendon_name(w, "tendon", def->number);
        if (of_actuator(def->kind)) cal_text_word(text, "actuator", model->actuators[def->number].name);
        if (def->kind == CAL_SENSOR_SUBTREE_CENTER || def->kind == CAL_SENSOR_SUBTREE_VELOCITY ||
            def->kind == CAL_SENSOR_SUBTREE_ANGULAR_MOMENTUM)
            cal_mjcf_write_body_name(w, "body", def->body);
        if (needs_site(def->kind)) write_frame(w, def);
        cal_text_end(text, element);
    }
    cal_text_end(text, "sensor");
}
