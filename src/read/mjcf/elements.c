// One element each: what MuJoCo takes when nothing is said, and an element's attributes over that.
#include "model/angle.h"
#include "model/builder.h"
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <string.h>

// --- Orientations -------------------------------------------------------------------------------------------------------

static void set_orientation(mjcf_orientation* out) { *out = (mjcf_orientation){.quaternion = {1.0, 0.0, 0.0, 0.0}}; }

cal_status mjcf_read_orientation(cal_xml_node* node, mjcf_orientation* out, cal_error* error) {
    static const struct {
        const char* name;
        mjcf_turn kind;
        int count;
    } ways[] = {{"axisangle", MJCF_AXIS_ANGLE, 4},
                {"xyaxes", MJCF_XY_AXES, 6},
                {"zaxis", MJCF_Z_AXIS, 3},
                {"euler", MJCF_EULER, 3}};
    int given = 0, count;
    MJCF_TRY(cal_xml_numbers(node, "quat", 4, 4, out->quaternion, &count, error));
    if (count > 0) {
        given++;
        if (!(cal_length(out->quaternion, 4) > 0.0))
            return cal_xml_fail(node, error, CAL_BAD_MODEL, "its quat is zero; no rotation is 1 0 0 0");
    }
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        MJCF_TRY(cal_xml_numbers(node, ways[i].name, ways[i].count, ways[i].count, out->values, &count, error));
        if (count == 0) continue;
        out->kind = ways[i].kind;
        given++;
    }
    if (given > 1) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it has more than one orientation");
    return CAL_OK;
}

// Makes a vector one of unit length; false when it is too short for a direction.
static bool make_unit(double v[3]) {
    const double length = cal_length(v, 3);
    if (!(length > 1e-14) || !isfinite(length)) return false;
    for (int i = 0; i < 3; i++) v[i] /= length;
    return true;
}

// The turn by the smallest angle that takes z to a unit vector.
static void z_to(const double v[3], double quaternion[4]) {
    const double axis[3] = {-v[1], v[0], 0.0}, sine = sqrt(v[0] * v[0] + v[1] * v[1]);
    if (sine < 1e-10) { // z or −z itself
        const double flipped = v[2] < 0.0 ? 1.0 : 0.0;
        memcpy(quaternion, (double[4]){1.0 - flipped, flipped, 0.0, 0.0}, 4 * sizeof(double));
        return;
    }
    // Of the half angle's sine and cosine the larger one from its formula, the other one from sin a = 2 sin ½a cos ½a.
    const double larger = sqrt(0.5 * (1.0 + fabs(v[2]))), smaller = 0.5 * sine / larger;
    const double half_cosine = v[2] >= 0.0 ? larger : smaller, half_sine = v[2] >= 0.0 ? smaller : larger;
    quaternion[0] = half_cosine;
    for (int i = 0; i < 3; i++) quaternion[1 + i] = half_sine * axis[i] / sine;
    cal_quaternion_normalize(quaternion);
}

static void euler_turn(const mjcf_compiler* compiler, const double angles[3], double quaternion[4]) {
    memcpy(quaternion, (double[4]){1.0, 0.0, 0.0, 0.0}, 4 * sizeof(double));
    for (int i = 0; i < 3; i++) {
        const char letter = compiler->euler[i];
        const bool fixed =
            letter >= 'X' && letter <= 'Z'; // about the parent's axes; small letters: about the turned ones
        double axis[3] = {0.0, 0.0, 0.0}, turn[4];
        axis[(letter | 32) - 'x'] = 1.0;
        cal_axis_quaternion(axis, compiler->degrees ? angles[i] / 180.0 * CAL_PI : angles[i], turn);
        if (fixed)
            cal_quaternion_multiply(turn, quaternion, quaternion);
        else
            cal_quaternion_multiply(quaternion, turn, quaternion);
    }
    cal_quaternion_normalize(quaternion);
}

cal_status mjcf_resolve(const mjcf_compiler* compiler, const mjcf_orientation* orientation, const cal_xml_node* node,
                        double quaternion[4], cal_error* error) {
    double v[6];
    memcpy(v, orientation->values, sizeof v);
    const char* short_one = "axis";
    bool fine = true;
    switch (orientation->kind) {
    case MJCF_QUATERNION: {
        double length = cal_length(orientation->quaternion, 4);
        // What is of unit length but for rounding stays as it is: the builder normalises it, and only once.
        if (fabs(length - 1.0) < 1e-12) length = 1.0;
        for (int i = 0; i < 4; i++) quaternion[i] = orientation->quaternion[i] / length;
        fine = isfinite(length);
        break;
    }
    case MJCF_AXIS_ANGLE:
        fine = make_unit(v) && isfinite(v[3]);
        if (fine) cal_axis_quaternion(v, compiler->degrees ? v[3] / 180.0 * CAL_PI : v[3], quaternion);
        break;
    case MJCF_XY_AXES: {
        double z[3];
        fine = make_unit(v);
        const double along = cal_dot3(v, v + 3);
        for (int i = 0; i < 3; i++) v[3 + i] -= v[i] * along;
        fine = fine && make_unit(v + 3);
        if (!fine) break;
        cal_cross3(v, v + 3, z);
        const double rows[9] = {v[0], v[3], z[0], v[1], v[4], z[1], v[2], v[5], z[2]};
        cal_matrix_quaternion(rows, quaternion);
        break;
    }
    case MJCF_Z_AXIS:
        fine = make_unit(v);
        short_one = "zaxis";
        if (fine) z_to(v, quaternion);
        break;
    case MJCF_EULER:
        fine = cal_all_finite(v, 3);
        short_one = "euler";
        if (fine) euler_turn(compiler, v, quaternion);
        break;
    }
    return fine ? CAL_OK : cal_xml_fail(node, error, CAL_BAD_MODEL, "its %s is too small or not finite", short_one);
}

// --- Joints, geoms, sites -----------------------------------------------------------------------------------------------

cal_status mjcf_choice_of(cal_xml_node* node, const char* name, mjcf_choice* out, cal_error* error) {
    int value = (int)*out;
    MJCF_TRY(mjcf_choose(node, name, "false|true|auto", &value, error));
    *out = (mjcf_choice)value;
    return CAL_OK;
}

cal_status mjcf_polynomial(cal_xml_node* node, const char* name, double out[3], cal_error* error) {
    double values[3] = {0.0, 0.0, 0.0};
    int count;
    MJCF_TRY(cal_xml_numbers(node, name, 1, 3, values, &count, error));
    if (count > 0) memcpy(out, values, sizeof values);
    return CAL_OK;
}

cal_status mjcf_read_joint(cal_xml_node* node, mjcf_joint* out, cal_error* error) {
    static const cal_joint_kind kinds[] = {CAL_FREE, CAL_BALL, CAL_PRISMATIC, CAL_REVOLUTE};
    int kind = -1;
    MJCF_TRY(mjcf_choose(node, "type", "free|ball|slide|hinge", &kind, error));
    if (kind >= 0) out->kind = kinds[kind];
    MJCF_TRY(cal_xml_numbers(node, "pos", 3, 3, out->position, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "axis", 3, 3, out->axis, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "springdamper", 2, 2, out->spring_damper, NULL, error));
    MJCF_TRY(mjcf_choice_of(node, "limited", &out->limited, error));
    MJCF_TRY(mjcf_choice_of(node, "actuatorfrclimited", &out->force_limited, error));
    MJCF_TRY(cal_xml_numbers(node, "range", 2, 2, out->range, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "actuatorfrcrange", 2, 2, out->force_range, NULL, error));
    MJCF_TRY(mjcf_boolean(node, "actuatorgravcomp", &out->motor_carries, error));
    MJCF_TRY(mjcf_polynomial(node, "stiffness", out->stiffness, error));
    MJCF_TRY(mjcf_polynomial(node, "damping", out->damping, error));
    MJCF_TRY(cal_xml_number(node, "ref", &out->reference, error));
    MJCF_TRY(cal_xml_number(node, "springref", &out->spring_reference, error));
    MJCF_TRY(cal_xml_number(node, "armature", &out->armature, error));
    return cal_xml_number(node, "frictionloss", &out->friction_loss, error);
}

static cal_status read_color(cal_xml_node* node, float out[4], cal_error* error) {
    double color[4];
    int count;
    MJCF_TRY(cal_xml_numbers(node, "rgba", 4, 4, color, &count, error));
    for (int i = 0; i < count; i++) out[i] = (float)fmin(1.0, fmax(0.0, color[i]));
    return CAL_OK;
}

static cal_status read_size(cal_xml_node* node, double size[3], cal_error* error) {
    return cal_xml_numbers(node, "size", 1, 3, size, NULL, error);
}

static void take_text(cal_xml_node* node, const char* name, const char** out) {
    const char* text = cal_xml_text(node, name);
    if (text != NULL) *out = text;
}

cal_status mjcf_contact_dimension(cal_xml_node* node, int* out, cal_error* error) {
    MJCF_TRY(mjcf_integer(node, "condim", out, error));
    if (*out == MJCF_CONDIM_OF_GEOMS || *out == 1 || *out == 3 || *out == 4 || *out == 6) return CAL_OK;
    return cal_xml_fail(node, error, CAL_BAD_MODEL, "condim is %d; it must be 1, 3, 4 or 6", *out);
}

cal_status mjcf_read_geom(cal_xml_node* node, mjcf_geom* out, cal_error* error) {
    static const cal_shape_kind kinds[] = {CAL_PLANE,    CAL_HEIGHT_FIELD, CAL_SPHERE, CAL_CAPSULE, CAL_ELLIPSOID,
                                           CAL_CYLINDER, CAL_BOX,          CAL_MESH,   CAL_MESH};
    int kind = -1, count;
    double friction[3];
    MJCF_TRY(mjcf_choose(node, "type", "plane|hfield|sphere|capsule|ellipsoid|cylinder|box|mesh|sdf", &kind, error));
    if (kind >= 0) out->kind = kinds[kind];
    MJCF_TRY(mjcf_integer(node, "contype", &out->contype, error));
    MJCF_TRY(mjcf_integer(node, "conaffinity", &out->conaffinity, error));
    MJCF_TRY(mjcf_integer(node, "group", &out->group, error));
    MJCF_TRY(mjcf_integer(node, "priority", &out->priority, error));
    MJCF_TRY(mjcf_contact_dimension(node, &out->condim, error));
    MJCF_TRY(read_size(node, out->size, error));
    MJCF_TRY(cal_xml_numbers(node, "friction", 1, 3, friction, &count, error));
    if (count > 0) {
        out->friction = friction[0];
        out->friction_given = true;
    }
    MJCF_TRY(cal_xml_number(node, "mass", &out->mass, error));
    MJCF_TRY(cal_xml_number(node, "density", &out->density, error));
    MJCF_TRY(mjcf_boolean(node, "shellinertia", &out->shell, error));
    MJCF_TRY(cal_xml_numbers(node, "fromto", 6, 6, out->from_to, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "pos", 3, 3, out->position, NULL, error));
    MJCF_TRY(cal_xml_number(node, "fitscale", &out->fit_scale, error));
    MJCF_TRY(mjcf_read_orientation(node, &out->orientation, error));
    MJCF_TRY(read_color(node, out->color, error));
    int fluid = out->is_ellipsoid;
    MJCF_TRY(mjcf_choose(node, "fluidshape", "none|ellipsoid", &fluid, error));
    out->is_ellipsoid = fluid == 1;
    MJCF_TRY(cal_xml_numbers(node, "fluidcoef", 1, 5, out->fluid, NULL, error));
    take_text(node, "material", &out->material);
    take_text(node, "mesh", &out->mesh);
    take_text(node, "hfield", &out->height_field);
    return CAL_OK;
}

cal_status mjcf_read_site(cal_xml_node* node, mjcf_site* out, cal_error* error) {
    static const cal_shape_kind kinds[] = {CAL_SPHERE, CAL_CAPSULE, CAL_ELLIPSOID, CAL_CYLINDER, CAL_BOX};
    int kind = -1;
    MJCF_TRY(mjcf_choose(node, "type", "sphere|capsule|ellipsoid|cylinder|box", &kind, error));
    if (kind >= 0) out->kind = kinds[kind];
    MJCF_TRY(cal_xml_numbers(node, "size", 1, 3, out->size, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "pos", 3, 3, out->position, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "fromto", 6, 6, out->from_to, NULL, error));
    return mjcf_read_orientation(node, &out->orientation, error);
}

cal_status mjcf_read_mesh(cal_xml_node* node, mjcf_mesh* out, cal_error* error) {
    int inertia = -1;
    MJCF_TRY(cal_xml_numbers(node, "scale", 3, 3, out->scale, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "refpos", 3, 3, out->reference_position, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "refquat", 4, 4, out->reference_quaternion, NULL, error));
    MJCF_TRY(mjcf_choose(node, "inertia", "convex|exact|legacy|shell", &inertia, error));
    if (inertia >= 0) {
        out->inertia = (cal_mesh_inertia)inertia;
        out->inertia_given = true;
    }
    for (int i = 0; i < 3; i++)
        if (!isfinite(out->scale[i]) || out->scale[i] == 0.0)
            return cal_xml_fail(node, error, CAL_BAD_MODEL, "its scale is %g; it must not be zero", out->scale[i]);
    const double turn = cal_length(out->reference_quaternion, 4);
    if (!(turn > 0.0) || !isfinite(turn) || !cal_all_finite(out->reference_position, 3))
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "its refquat is zero, or refpos not finite");
    take_text(node, "file", &out->file);
    return CAL_OK;
}

cal_status mjcf_read_material(cal_xml_node* node, mjcf_material* out, cal_error* error) {
    MJCF_TRY(cal_xml_numbers(node, "texrepeat", 2, 2, out->repeat, NULL, error));
    MJCF_TRY(mjcf_boolean(node, "texuniform", &out->uniform, error));
    take_text(node, "texture", &out->texture);
    return read_color(node, out->color, error);
}

// --- Actuators ----------------------------------------------------------------------------------------------------------

static const char* const actuator_names[] = {"general",     "motor",    "position", "velocity", "intvelocity",
                                             "damper",      "cylinder", "muscle",   "adhesion", "dcmotor",
                                             "orientation", "pid",      "plugin"};

static int actuator_kind(const cal_xml_node* node) {
    for (int i = 0; i < (int)(sizeof actuator_names / sizeof actuator_names[0]); i++)
        if (cal_xml_is(node, actuator_names[i])) return i;
    return -1;
}

bool mjcf_is_actuator(const cal_xml_node* node) { return actuator_kind(node) >= 0; }

static cal_status read_general(cal_xml_node* node, mjcf_actuator* out, cal_error* error) {
    enum { MOST = 20 };
    double parameters[MOST];
    int dynamics = -1, gain = -1, bias = -1, count;
    MJCF_TRY(
        mjcf_choose(node, "dyntype", "none|integrator|filter|filterexact|muscle|dcmotor|pid|user", &dynamics, error));
    MJCF_TRY(mjcf_choose(node, "gaintype", "fixed|affine|muscle|dcmotor|so3|pid|user", &gain, error));
    MJCF_TRY(mjcf_choose(node, "biastype", "none|affine|muscle|dcmotor|so3|user", &bias, error));
    static const mjcf_law gains[] = {MJCF_LAW_FIXED, MJCF_LAW_AFFINE, MJCF_LAW_MUSCLE};
    static const mjcf_law biases[] = {MJCF_LAW_NONE, MJCF_LAW_AFFINE, MJCF_LAW_MUSCLE};
    static const cal_activation_kind activations[] = {CAL_ACTIVATION_NONE, CAL_ACTIVATION_INTEGRATOR,
                                                      CAL_ACTIVATION_FILTER, CAL_ACTIVATION_FILTER,
                                                      CAL_ACTIVATION_MUSCLE};
    if (dynamics >= 0) out->unknown = dynamics > 4;
    if (dynamics >= 0) out->activation = out->unknown ? CAL_ACTIVATION_NONE : activations[dynamics];
    if (gain >= 0) out->gain_law = gain < 3 ? gains[gain] : MJCF_LAW_OTHER;
    if (bias >= 0) out->bias_law = bias < 3 ? biases[bias] : MJCF_LAW_OTHER;
    MJCF_TRY(cal_xml_numbers(node, "dynprm", 1, 10, parameters, &count, error));
    for (int i = 0; i < count && i < 3; i++) out->dynamics[i] = parameters[i];
    MJCF_TRY(cal_xml_numbers(node, "gainprm", 1, MOST, parameters, &count, error));
    for (int i = 0; i < count && i < MJCF_MUSCLE; i++) out->gain[i] = parameters[i];
    MJCF_TRY(cal_xml_numbers(node, "biasprm", 1, MOST, parameters, &count, error));
    for (int i = 0; i < count && i < MJCF_MUSCLE; i++) out->bias[i] = parameters[i];
    return CAL_OK;
}

static cal_status read_position(cal_xml_node* node, mjcf_actuator* out, cal_error* error) {
    double damping = -1.0, ratio = -1.0, time = -1.0;
    MJCF_TRY(cal_xml_number(node, "kp", &out->gain[0], error));
    MJCF_TRY(cal_xml_number(node, "kv", &damping, error));
    MJCF_TRY(cal_xml_number(node, "dampratio", &ratio, error));
    MJCF_TRY(cal_xml_number(node, "timeconst", &time, error));
    MJCF_TRY(cal_xml_number(node, "inheritrange", &out->inherit_range, error));
    if (damping >= 0.0 && ratio >= 0.0)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "kv and dampratio cannot both be given");
    out->bias[1] = -out->gain[0];
    if (damping >= 0.0) out->bias[2] = -damping;
    if (ratio >= 0.0) out->bias[2] = ratio; // above zero it is a ratio, as in MuJoCo; see actuators.c
    if (time >= 0.0) {
        out->dynamics[0] = time;
        out->activation = time == 0.0 ? CAL_ACTIVATION_NONE : CAL_ACTIVATION_FILTER;
    }
    out->gain_law = MJCF_LAW_FIXED;
    out->bias_law = MJCF_LAW_AFFINE;
    return CAL_OK;
}

// What a class has not set is a muscle's own default; below zero, an attribute does not count. As in MuJoCo.
static cal_status read_muscle(cal_xml_node* node, mjcf_actuator* out, cal_error* error) {
    static const struct {
        const char* name;
        double unset, usual;
    } parameters[MJCF_MUSCLE] = {{"range", 1.0, 0.75},  {"range", 0.0, 1.05}, {"force", 0.0, -1.0},
                                 {"scale", 0.0, 200.0}, {"lmin", 0.0, 0.5},   {"lmax", 0.0, 1.6},
                                 {"vmax", 0.0, 1.5},    {"fpmax", 0.0, 1.3},  {"fvmax", 0.0, 1.2}};
    double range[2] = {-1.0, -1.0};
    MJCF_TRY(cal_xml_numbers(node, "range", 2, 2, range, NULL, error));
    for (int i = 0; i < MJCF_MUSCLE; i++) {
        double value = i < 2 ? range[i] : -1.0;
        if (out->gain[i] == parameters[i].unset) out->gain[i] = parameters[i].usual;
        if (i >= 2) MJCF_TRY(cal_xml_number(node, parameters[i].name, &value, error));
        if (value >= 0.0) out->gain[i] = value;
    }
    memcpy(out->bias, out->gain, sizeof out->bias);
    double times[2] = {-1.0, -1.0}, smooth = -1.0;
    MJCF_TRY(cal_xml_numbers(node, "timeconst", 2, 2, times, NULL, error));
    MJCF_TRY(cal_xml_number(node, "tausmooth", &smooth, error));
    if (out->dynamics[0] == 1.0) out->dynamics[0] = 0.01;
    if (out->dynamics[1] == 0.0) out->dynamics[1] = 0.04;
    for (int i = 0; i < 2; i++)
        if (times[i] >= 0.0) out->dynamics[i] = times[i];
    if (smooth >= 0.0) out->dynamics[2] = smooth;
    out->activation = CAL_ACTIVATION_MUSCLE;
    out->gain_law = out->bias_law = MJCF_LAW_MUSCLE;
    return CAL_OK;
}

static cal_status read_cylinder(cal_xml_node* node, mjcf_actuator* out, cal_error* error) {
    double diameter = -1.0;
    MJCF_TRY(cal_xml_numbers(node, "bias", 3, 3, out->bias, NULL, error));
    MJCF_TRY(cal_xml_number(node, "area", &out->gain[0], error));
    MJCF_TRY(cal_xml_number(node, "diameter", &diameter, error));
    if (diameter >= 0.0) out->gain[0] = 0.25 * CAL_PI * diameter * diameter;
    MJCF_TRY(cal_xml_number(node, "timeconst", &out->dynamics[0], error));
    out->activation = CAL_ACTIVATION_FILTER;
    out->gain_law = MJCF_LAW_FIXED;
    out->bias_law = MJCF_LAW_AFFINE;
    return CAL_OK;
}

cal_status mjcf_read_actuator(cal_xml_node* node, mjcf_actuator* out, cal_error* error) {
    double gear[6] = {0.0};
    int count;
    MJCF_TRY(mjcf_integer(node, "group", &out->group, error));
    MJCF_TRY(mjcf_choice_of(node, "ctrllimited", &out->control_limited, error));
    MJCF_TRY(mjcf_choice_of(node, "forcelimited", &out->force_limited, error));
    MJCF_TRY(mjcf_choice_of(node, "actlimited", &out->activation_limited, error));
    MJCF_TRY(cal_xml_numbers(node, "actrange", 2, 2, out->activation_range, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "ctrlrange", 2, 2, out->control_range, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "forcerange", 2, 2, out->force_range, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "lengthrange", 2, 2, out->length_range, NULL, error));
    MJCF_TRY(cal_xml_numbers(node, "gear", 1, 6, gear, &count, error));
    for (int i = 0; i < count; i++) out->gear[i] = gear[i];
    MJCF_TRY(mjcf_polynomial(node, "damping", out->damping, error));
    MJCF_TRY(cal_xml_number(node, "armature", &out->armature, error));
    switch (actuator_kind(node)) {
    case 0: return read_general(node, out, error);
    case 1:
        out->gain[0] = 1.0;
        out->activation = CAL_ACTIVATION_NONE;
        out->gain_law = MJCF_LAW_FIXED;
        out->bias_law = MJCF_LAW_NONE;
        return CAL_OK;
    case 2: return read_position(node, out, error);
    case 3:
        MJCF_TRY(cal_xml_number(node, "kv", &out->gain[0], error));
        out->bias[0] = out->bias[1] = 0.0;
        out->bias[2] = -out->gain[0];
        out->activation = CAL_ACTIVATION_NONE;
        out->gain_law = MJCF_LAW_FIXED;
        out->bias_law = MJCF_LAW_AFFINE;
        return CAL_OK;
    case 4:
        MJCF_TRY(read_position(node, out, error));
        out->activation = CAL_ACTIVATION_INTEGRATOR;
        return CAL_OK;
    case 5:
        out->gain[0] = out->gain[1] = 0.0;
        MJCF_TRY(cal_xml_number(node, "kv", &out->gain[2], error));
        out->gain[2] = out->gain[2] > 0.0 ? -out->gain[2] : out->gain[2];
        out->activation = CAL_ACTIVATION_NONE;
        out->bias_law = MJCF_LAW_NONE;
        out->gain_law = MJCF_LAW_AFFINE;
        return CAL_OK;
    case 6: return read_cylinder(node, out, error);
    case 7: return read_muscle(node, out, error);
    default: out->gain_law = MJCF_LAW_OTHER; return CAL_OK;
    }
}

// --- What counts when nothing is said -----------------------------------------------------------------------------------

void mjcf_default_class(mjcf_class* out) {
    *out = (mjcf_class){
        .name = "main",
        .joint = {.kind = CAL_REVOLUTE, .axis = {0.0, 0.0, 1.0}, .limited = MJCF_AUTO, .force_limited = MJCF_AUTO},
        .tendon = {.limited = MJCF_AUTO, .force_limited = MJCF_AUTO, .spring_length = {-1.0, -1.0}},
        .geom = {.kind = CAL_SPHERE,
                 .contype = 1,
                 .conaffinity = 1,
                 .condim = 3,
                 .friction = 1.0,
                 .density = 1000.0,
                 .fit_scale = 1.0,
                 .fluid = {0.5, 0.25, 1.5, 1.0, 1.0},
                 .color = {0.5F, 0.5F, 0.5F, 1.0F}},
        .mesh = {.scale = {1.0, 1.0, 1.0}, .reference_quaternion = {1.0, 0.0, 0.0, 0.0}, .number = CAL_NONE},
        .material = {.color = {1.0F, 1.0F, 1.0F, 1.0F}, .repeat = {1.0, 1.0}},
        .actuator = {.control_limited = MJCF_AUTO,
                     .force_limited = MJCF_AUTO,
                     .activation_limited = MJCF_AUTO,
                     .gear = {1.0},
                     .dynamics = {1.0},
                     .gain = {1.0},
                     .gain_law = MJCF_LAW_FIXED},
        .equality_active = true,
        .pair_condim = MJCF_CONDIM_OF_GEOMS};
    out->geom.mass = out->pair_friction = (double)NAN;
    for (int i = 0; i < 6; i++) out->geom.from_to[i] = out->site.from_to[i] = (double)NAN;
    out->site.kind = CAL_SPHERE;
    for (int i = 0; i < 3; i++) out->site.size[i] = 0.005;
    set_orientation(&out->geom.orientation);
    set_orientation(&out->site.orientation);
}
