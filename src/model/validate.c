// Checks definitions one by one; what concerns the tree as a whole is checked where it is made (compile.c, inertia.c).
//
// Inertia. With Σ = ∫ x xᵀ dm about the centre of mass, I = tr Σ 1 − Σ and Σ = ½ tr I 1 − I. A real mass distribution
// has a positive semi-definite Σ, and its eigenvalues ½ (I₂ + I₃ − I₁) … are what the triangle inequality is about.
#include "model/builder.h"

enum { TEXT = 80 };
// Files print inertias with about six digits, so that flat bodies miss the inequality by their rounding.
static const double inertia_tolerance = 1e-6;

// A number that may not be negative, NaN or infinite.
static bool is_magnitude(double value) { return isfinite(value) && value >= 0.0; }

double cal_length(const double* values, int count) {
    double largest = 0.0, sum = 0.0;
    for (int i = 0; i < count; i++) largest = fmax(largest, fabs(values[i]));
    if (largest == 0.0) return 0.0;
    for (int i = 0; i < count; i++) sum += (values[i] / largest) * (values[i] / largest);
    return largest * sqrt(sum);
}

// Eigenvalues of a symmetric matrix (xx, yy, zz, xy, xz, yz) by Jacobi's rotations.
static void eigenvalues(const double s[6], double values[3]) {
    double a[3][3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}};
    for (int sweep = 0; sweep < 12 && fabs(a[0][1]) + fabs(a[0][2]) + fabs(a[1][2]) > 0.0; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (a[p][q] == 0.0) continue;
                const double theta = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
                const double t =
                    isfinite(theta * theta) ? copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0)) : 0.0;
                const double c = 1.0 / sqrt(t * t + 1.0), sine = t * c, apq = a[p][q];
                const int r = 3 - p - q;
                const double arp = a[r][p], arq = a[r][q];
                a[p][p] -= t * apq;
                a[q][q] += t * apq;
                a[p][q] = a[q][p] = 0.0;
                a[r][p] = a[p][r] = c * arp - sine * arq;
                a[r][q] = a[q][r] = sine * arp + c * arq;
            }
    for (int i = 0; i < 3; i++) values[i] = a[i][i];
}

static cal_status validate_inertia(const double inertia[6], const char* who, cal_error* error) {
    double moments[3];
    eigenvalues(inertia, moments);
    const double total = moments[0] + moments[1] + moments[2];
    const double allowed = -inertia_tolerance * (fabs(moments[0]) + fabs(moments[1]) + fabs(moments[2]));
    for (int i = 0; i < 3; i++)
        if (moments[i] < allowed)
            return cal_fail(error, CAL_BAD_MODEL,
                            "%s: the inertia has a negative principal moment, %g; check its signs", who, moments[i]);
    for (int i = 0; i < 3; i++)
        if (0.5 * total - moments[i] < allowed)
            return cal_fail(
                error, CAL_BAD_MODEL,
                "%s: the inertia breaks the triangle inequality, the principal moment %g exceeds the sum of the "
                "others, %g",
                who, moments[i], total - moments[i]);
    return CAL_OK;
}

static cal_status validate_body(const cal_model* model, int number, cal_error* error) {
    const cal_body_def* def = model->bodies[number].def;
    const int parent = model->bodies[number].parent;
    char who[TEXT];
    cal_describe("body", model->bodies[number].name, number, who, sizeof who);
    if (parent != CAL_GROUND && (parent < 0 || parent >= model->body_count))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its parent is body %d, but there are bodies 0 to %d only", who,
                        parent, model->body_count - 1);
    if (!cal_all_finite(def->position, 3)) return cal_fail(error, CAL_BAD_MODEL, "%s: its position is not finite", who);
    if (!cal_all_finite(def->quaternion, 4))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its quaternion is not finite", who);
    if (cal_length(def->quaternion, 4) == 0.0)
        return cal_fail(error, CAL_BAD_MODEL, "%s: its quaternion is zero; no rotation is (1, 0, 0, 0)", who);
    if (!isfinite(def->mass)) return cal_fail(error, CAL_BAD_MODEL, "%s: its mass is not finite", who);
    if (def->mass < 0.0)
        return cal_fail(error, CAL_BAD_MODEL, "%s: its mass is %g; it must not be negative", who, def->mass);
    if (!cal_all_finite(def->center, 3))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its centre of mass is not finite", who);
    if (!cal_all_finite(def->inertia, 6)) return cal_fail(error, CAL_BAD_MODEL, "%s: its inertia is not finite", who);
    if (!isfinite(def->weightless))
        return cal_fail(error, CAL_BAD_MODEL, "%s: what carries its weight is not finite", who);
    return validate_inertia(def->inertia, who, error);
}

// What only some kinds of joint have.
static cal_status validate_kind(const cal_joint_def* def, const char* who, cal_error* error) {
    const char* kind = cal_joint_kind_name(def->kind);
    if (def->kind == CAL_REVOLUTE || def->kind == CAL_PRISMATIC) {
        if (!cal_all_finite(def->axis, 3)) return cal_fail(error, CAL_BAD_MODEL, "%s: its axis is not finite", who);
        if (cal_length(def->axis, 3) == 0.0) return cal_fail(error, CAL_BAD_MODEL, "%s: its axis is zero", who);
        if (def->limited && !(cal_all_finite(def->range, 2) && def->range[0] <= def->range[1]))
            return cal_fail(error, CAL_BAD_MODEL, "%s: its range is %g to %g; the smallest q comes first", who,
                            def->range[0], def->range[1]);
        if (!(def->motor_range[0] <= def->motor_range[1]))
            return cal_fail(error, CAL_BAD_MODEL, "%s: its motor_range is %g to %g; the smallest force comes first",
                            who, def->motor_range[0], def->motor_range[1]);
        return CAL_OK;
    }
    if (def->limited) return cal_fail(error, CAL_BAD_MODEL, "%s: a %s joint cannot be limited", who, kind);
    if (def->motor_carries || def->motor_range[0] != 0.0 || def->motor_range[1] != 0.0)
        return cal_fail(error, CAL_BAD_MODEL, "%s: a %s joint has no motor_range and no motor_carries", who, kind);
    if (def->zero != 0.0) return cal_fail(error, CAL_BAD_MODEL, "%s: a %s joint has no zero; set it to 0", who, kind);
    if (def->spring_reference != 0.0)
        return cal_fail(error, CAL_BAD_MODEL, "%s: a %s joint has no spring_reference; set it to 0", who, kind);
    if (def->kind == CAL_FREE && def->stiffness != 0.0)
        return cal_fail(error, CAL_BAD_MODEL, "%s: a free joint has no spring; set its stiffness to 0", who);
    if (def->kind == CAL_FREE && cal_length(def->anchor, 3) != 0.0)
        return cal_fail(error, CAL_BAD_MODEL, "%s: a free joint has no anchor; set it to 0", who);
    return CAL_OK;
}

static cal_status validate_joint(const cal_model* model, int number, cal_error* error) {
    const cal_joint* joint = &model->joints[number];
    const cal_joint_def* def = joint->def;
    char who[TEXT];
    cal_describe("joint", joint->name, number, who, sizeof who);
    if (joint->body < 0 || joint->body >= model->body_count)
        return cal_fail(error, CAL_BAD_MODEL, "%s: it is on body %d, but there are bodies 0 to %d only", who,
                        joint->body, model->body_count - 1);
    if ((int)def->kind < CAL_REVOLUTE || (int)def->kind > CAL_FREE)
        return cal_fail(error, CAL_BAD_MODEL, "%s: its kind is %d, which is no kind of joint", who, (int)def->kind);
    if (!cal_all_finite(def->anchor, 3) || !isfinite(def->zero) || !isfinite(def->spring_reference))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its anchor, zero or spring_reference is not finite", who);
    const struct {
        const char* name;
        double value;
    } magnitudes[] = {{"damping", def->damping},
                      {"stiffness", def->stiffness},
                      {"armature", def->armature},
                      {"friction_loss", def->friction_loss},
                      {"limit_stiffness", joint->limit_stiffness},
                      {"limit_damping", def->limit_damping}};
    for (size_t i = 0; i < sizeof magnitudes / sizeof *magnitudes; i++)
        if (!is_magnitude(magnitudes[i].value))
            return cal_fail(error, CAL_BAD_MODEL, "%s: its %s is %g; it must be finite and not negative", who,
                            magnitudes[i].name, magnitudes[i].value);
    if (!cal_all_finite(def->initial_q, cal_joint_q_count(def->kind)) ||
        !cal_all_finite(def->initial_v, cal_joint_v_count(def->kind)))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its start value or start velocity is not finite", who);
    return validate_kind(def, who, error);
}

static cal_status validate_actuator(const cal_model* model, int number, cal_error* error) {
    const cal_actuator_def* def = &model->actuators[number];
    char who[TEXT];
    cal_describe("actuator", def->name, number, who, sizeof who);
    const int targets = (def->joint != CAL_NONE) + (def->tendon != CAL_NONE) + (def->body != CAL_NONE);
    if (targets > 1)
        return cal_fail(error, CAL_BAD_MODEL, "%s: it acts on more than one of joint, tendon and body; make it several",
                        who);
    if (def->tendon != CAL_NONE && (def->tendon < 0 || def->tendon >= model->kept.tendon_count))
        return cal_fail(error, CAL_BAD_MODEL, "%s: it pulls tendon %d, but there are tendons 0 to %d only", who,
                        def->tendon, model->kept.tendon_count - 1);
    // Against a reference it may be the world that does not move.
    const int least = def->reference != CAL_NONE ? CAL_GROUND : 0;
    if (def->body != CAL_NONE && (def->body < least || def->body >= model->body_count))
        return cal_fail(error, CAL_BAD_MODEL, "%s: it pushes body %d, but there are bodies 0 to %d only", who,
                        def->body, model->body_count - 1);
    if (def->reference != CAL_NONE && (def->reference < CAL_GROUND || def->reference >= model->body_count))
        return cal_fail(error, CAL_BAD_MODEL, "%s: it pushes against body %d, but there are bodies 0 to %d only", who,
                        def->reference, model->body_count - 1);
    if (def->reference != CAL_NONE && def->body == CAL_NONE)
        return cal_fail(error, CAL_BAD_MODEL, "%s: it has a reference, but acts on no body", who);
    const bool on_joint = def->tendon == CAL_NONE && def->body == CAL_NONE;
    if (on_joint && (def->joint < 0 || def->joint >= model->joint_count))
        return cal_fail(error, CAL_BAD_MODEL, "%s: it drives joint %d, but there are joints 0 to %d only", who,
                        def->joint, model->joint_count - 1);
    const cal_joint_kind kind = on_joint ? model->joints[def->joint].def->kind : CAL_PRISMATIC;
    if (kind == CAL_FREE)
        return cal_fail(error, CAL_BAD_MODEL,
                        "%s: joint %d is a %s joint; a motor drives joints of one degree and balls", who, def->joint,
                        cal_joint_kind_name(kind));
    if (def->axis < 0 || def->axis > (kind == CAL_BALL ? 2 : 0))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its axis is %d; it must be 0, or of a ball joint 0 to 2", who,
                        def->axis);
    if (!isfinite(def->gear) || !isfinite(def->gain) || !cal_all_finite(def->bias, 3) ||
        !isfinite(def->initial_control) || !cal_all_finite(def->gain_slope, 2) || !cal_all_finite(def->position, 3) ||
        !cal_all_finite(def->quaternion, 4) || !cal_all_finite(def->wrench, 6) ||
        !cal_all_finite(def->reference_position, 3) || !cal_all_finite(def->reference_quaternion, 4))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its gear, gain, bias or start control is not finite", who);
    if (!isfinite(def->initial_activation) || !is_magnitude(def->time_constant[0]) ||
        !is_magnitude(def->time_constant[1]) || !(def->activation_range[0] <= def->activation_range[1]))
        return cal_fail(error, CAL_BAD_MODEL,
                        "%s: its start activation is not finite, a time constant is negative, or its activation range "
                        "is reversed",
                        who);
    if (def->activation == CAL_ACTIVATION_MUSCLE && !(def->initial_activation >= 0.0 && def->initial_activation <= 1.0))
        return cal_fail(error, CAL_BAD_MODEL, "%s: the start activation of a muscle is from 0 to 1, not %g", who,
                        def->initial_activation);
    if (!(def->control_range[0] <= def->control_range[1]) || !(def->force_range[0] <= def->force_range[1]))
        return cal_fail(error, CAL_BAD_MODEL,
                        "%s: its control or force range is reversed; the smaller number comes first", who);
    const cal_muscle* m = &def->muscle;
    const bool pulls = cal_all_finite(m->length_range, 2) && cal_all_finite(m->range, 2) && is_magnitude(m->peak) &&
                       m->length_range[0] < m->length_range[1] && m->range[0] < m->range[1] && isfinite(m->shortest) &&
                       isfinite(m->longest) && m->shortest < 1.0 && m->longest > 1.0 && isfinite(m->fastest) &&
                       m->fastest > 0.0 && is_magnitude(m->passive) && m->eccentric > 1.0;
    if (def->is_muscle && !pulls)
        return cal_fail(
            error, CAL_BAD_MODEL,
            "%s: a muscle's ranges rise, shortest < 1 < longest, fastest > 0, eccentric > 1, and its forces "
            "are not negative",
            who);
    return CAL_OK;
}

static cal_status validate_drag(const cal_model* model, int number, cal_error* error) {
    const cal_drag_def* def = &model->kept.drags[number];
    if (def->body < 0 || def->body >= model->body_count)
        return cal_fail(error, CAL_BAD_MODEL, "drag %d: it is on body %d, but there are bodies 0 to %d only", number,
                        def->body, model->body_count - 1);
    bool fine = cal_all_finite(def->position, 3) && cal_all_finite(def->quaternion, 4) &&
                cal_all_finite(def->coefficients, 5) && cal_all_finite(def->virtual_mass, 3) &&
                cal_all_finite(def->virtual_inertia, 3);
    for (int i = 0; i < 3; i++) fine = fine && isfinite(def->size[i]) && def->size[i] > 0.0;
    return fine ? CAL_OK
                : cal_fail(error, CAL_BAD_MODEL, "drag %d: its size is not above zero, or its numbers are not finite",
                           number);
}

// Whether what it measures can be seen from another frame.
static bool is_relative(cal_sensor_kind kind) {
    return kind >= CAL_SENSOR_FRAME_POSITION && kind <= CAL_SENSOR_FRAME_ANGULAR_VELOCITY;
}

static bool is_frame(const double position[3], const double quaternion[4]) {
    return cal_all_finite(position, 3) && cal_all_finite(quaternion, 4) && cal_length(quaternion, 4) > 0.0;
}

static cal_status validate_sensor(const cal_model* model, int number, cal_error* error) {
    const cal_sensor_def* def = &model->kept.sensors[number];
    char who[TEXT];
    cal_describe("sensor", def->name, number, who, sizeof who);
    if (cal_sensor_size(def->kind) == 0) return cal_fail(error, CAL_BAD_MODEL, "%s: there is no such kind", who);
    if (!is_magnitude(def->cutoff))
        return cal_fail(error, CAL_BAD_MODEL, "%s: its cutoff is %g; it must be finite and not negative", who,
                        def->cutoff);
    int count = 0;
    switch (def->kind) {
    case CAL_SENSOR_JOINT_POSITION:
    case CAL_SENSOR_JOINT_VELOCITY:
    case CAL_SENSOR_BALL_QUATERNION:
    case CAL_SENSOR_JOINT_ACTUATOR_FORCE:
    case CAL_SENSOR_BALL_VELOCITY: count = model->joint_count; break;
    case CAL_SENSOR_TENDON_LENGTH:
    case CAL_SENSOR_TENDON_ACTUATOR_FORCE:
    case CAL_SENSOR_TENDON_VELOCITY: count = model->kept.tendon_count; break;
    case CAL_SENSOR_ACTUATOR_FORCE:
    case CAL_SENSOR_ACTUATOR_LENGTH:
    case CAL_SENSOR_ACTUATOR_VELOCITY: count = model->actuator_count; break;
    case CAL_SENSOR_CLOCK: return CAL_OK;
    default:
        if (def->body != CAL_GROUND && (def->body < 0 || def->body >= model->body_count))
            return cal_fail(error, CAL_BAD_MODEL, "%s: it is on body %d, but there are bodies 0 to %d only", who,
                            def->body, model->body_count - 1);
        if (def->reference != CAL_NONE && !is_relative(def->kind))
            return cal_fail(error, CAL_BAD_MODEL, "%s: what it measures is relative to no other frame", who);
        if (def->reference != CAL_NONE && (def->reference < CAL_GROUND || def->reference >= model->body_count))
            return cal_fail(error, CAL_BAD_MODEL, "%s: it is relative to body %d, but there are bodies 0 to %d only",
                            who, def->reference, model->body_count - 1);
        if (!is_frame(def->position, def->quaternion) ||
            (def->reference != CAL_NONE && !is_frame(def->reference_position, def->reference_quaternion)))
            return cal_fail(error, CAL_BAD_MODEL, "%s: its position or quaternion is not finite, or zero", who);
        if (def->kind == CAL_SENSOR_TOUCH &&
            (!(def->zone_size[0] > 0.0 && def->zone_size[1] >= 0.0 && def->zone_size[2] >= 0.0) ||
             !cal_all_finite(def->zone_size, 3) || def->zone == CAL_PLANE || def->zone == CAL_MESH ||
             def->zone == CAL_HEIGHT_FIELD || cal_shape_kind_name(def->zone) == NULL))
            return cal_fail(error, CAL_BAD_MODEL,
                            "%s: its zone must be a sphere, capsule, cylinder, ellipsoid or box with a size", who);
        return CAL_OK;
    }
    if (def->number < 0 || def->number >= count)
        return cal_fail(error, CAL_BAD_MODEL, "%s: it measures number %d, but there are 0 to %d only", who, def->number,
                        count - 1);
    const bool ball = def->kind == CAL_SENSOR_BALL_QUATERNION || def->kind == CAL_SENSOR_BALL_VELOCITY;
    const bool joint = ball || def->kind == CAL_SENSOR_JOINT_POSITION || def->kind == CAL_SENSOR_JOINT_VELOCITY ||
                       def->kind == CAL_SENSOR_JOINT_ACTUATOR_FORCE;
    const int degrees = joint ? cal_joint_v_count(model->joints[def->number].def->kind) : 0;
    if (joint && degrees != (ball ? 3 : 1))
        return cal_fail(error, CAL_BAD_MODEL, "%s: joint %d has %d degrees of freedom", who, def->number, degrees);
    return CAL_OK;
}

static cal_status validate_surroundings(const cal_model* model, cal_error* error) {
    const cal_medium* medium = &model->kept.medium;
    cal_status status = CAL_OK;
    if (!is_magnitude(medium->density) || !is_magnitude(medium->viscosity) || !cal_all_finite(medium->wind, 3))
        return cal_fail(error, CAL_BAD_MODEL, "the medium's density and viscosity must be finite and not negative");
    if (!cal_all_finite(model->kept.magnetic_field, 3))
        return cal_fail(error, CAL_BAD_MODEL, "the magnetic field is not finite");
    for (int i = 0; status == CAL_OK && i < model->kept.drag_count; i++) status = validate_drag(model, i, error);
    for (int i = 0; status == CAL_OK && i < model->kept.sensor_count; i++) status = validate_sensor(model, i, error);
    return status;
}

cal_status cal_model_validate(const cal_model* model, cal_error* error) {
    cal_status status = CAL_OK;
    if (!cal_all_finite(model->gravity, 3)) return cal_fail(error, CAL_BAD_MODEL, "gravity is not finite");
    for (int i = 0; status == CAL_OK && i < model->body_count; i++) status = validate_body(model, i, error);
    for (int i = 0; status == CAL_OK && i < model->joint_count; i++) status = validate_joint(model, i, error);
    for (int i = 0; status == CAL_OK && i < model->actuator_count; i++) status = validate_actuator(model, i, error);
    if (status == CAL_OK) status = cal_model_validate_attached(model, error);
    if (status == CAL_OK) status = cal_model_validate_tendons(model, error);
    return status == CAL_OK ? validate_surroundings(model, error) : status;
}
