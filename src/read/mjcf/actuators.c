// Actuators: MuJoCo's general one, force = (gain) · control + bias, and its short forms, on joints of one degree, one
// axis of a ball, tendons and sites; muscles.
//
//   length = gear · q    force = clamp(g₀ clamp(control) + b₀ + b₁ length + b₂ velocity)    joint force = gear · force
//
// An activation that follows its control in time takes the place of clamp(control). What is more than that is left out.
// A servo's damping may be given as a ratio: b₂ > 0 stands for the damping 2 b₂ √(g₀ m) with m the inertia that the joint moves in
// the start position, divided by gear².
#include "base/memory.h"
#include "model/angle.h"
#include "model/builder.h"
#include "model/tendon_path.h"
#include "read/mjcf/mjcf.h"
#include <math.h>
#include <string.h>

static cal_status link_actuator(mjcf_model* model, mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy,
                                const int* found, void* user, cal_error* error) {
    mjcf_motor* motor = mjcf_add(&model->actuators, sizeof *motor);
    if (motor == NULL) return mjcf_no_memory(node, error);
    *motor =
        (mjcf_motor){.actuator = *(const mjcf_actuator*)user, .joint = CAL_NONE, .tendon = CAL_NONE, .site = CAL_NONE};
    motor->number = CAL_NONE;
    motor->reference = found[1];
    motor->source = source;
    motor->node = node;
    int* const target = cal_xml_text(node, "tendon") != NULL ? &motor->tendon
                        : cal_xml_text(node, "site") != NULL ? &motor->site
                                                             : &motor->joint;
    *target = found[0];
    motor->actuator.name = mjcf_link_name(source, node, copy);
    return CAL_OK;
}

// The only axis of a ball that a gear acts on; -1: there are several. Without a gear it is the first.
static int axis_of(const mjcf_actuator* a) {
    int axis = 0, count = 0;
    for (int i = 0; i < 3; i++)
        if (a->gear[i] != 0.0) axis = i, count++;
    return count > 1 ? -1 : axis;
}

static int site_body(const mjcf_model* model, int site) {
    return site == CAL_NONE ? CAL_GROUND : ((mjcf_site*)model->sites.items)[site].body;
}

static const char* reason_to_leave_out(const mjcf_model* model, const mjcf_motor* motor) {
    const mjcf_actuator* a = &motor->actuator;
    if (motor->joint == CAL_NONE && motor->tendon == CAL_NONE && motor->site == CAL_NONE)
        return "it acts on no joint, tendon or site; it is left out";
    if (motor->site != CAL_NONE && site_body(model, motor->site) == CAL_GROUND &&
        site_body(model, motor->reference) == CAL_GROUND)
        return "its site does not move; it is left out";
    const cal_joint_kind kind =
        motor->joint != CAL_NONE ? ((mjcf_joint*)model->joints.items)[motor->joint].kind : CAL_PRISMATIC;
    if (kind == CAL_FREE) return "it acts on a free joint; it is left out";
    if (kind == CAL_BALL && axis_of(a) < 0) return "it acts on more than one axis of a ball; it is left out";
    if (kind == CAL_BALL && (a->armature != 0.0 || a->damping[0] != 0.0 || a->bias[2] > 0.0))
        return "it has a rotor, a damping or a damping ratio of its own on a ball; it is left out";
    const bool muscle = a->gain_law == MJCF_LAW_MUSCLE || a->bias_law == MJCF_LAW_MUSCLE;
    if (a->unknown || a->gain_law == MJCF_LAW_OTHER || a->bias_law == MJCF_LAW_OTHER)
        return "it is no motor, servo or muscle; it is left out";
    if (muscle && !(a->gain_law == a->bias_law && cal_same_bits(a->gain, a->bias, sizeof a->gain)))
        return "its gain and its bias are not of one muscle; it is left out";
    if (muscle && !(a->length_range[0] < a->length_range[1]))
        return "its lengthrange is not given, and is not searched for; it is left out";
    return NULL;
}

// Which of them an actuator acts on must not depend on who asks.
static cal_status expect_one_target(cal_xml_node* node, cal_error* error) {
    static const char* const names[] = {"joint", "jointinparent", "tendon", "cranksite", "site", "body"};
    const char* first = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cal_xml_text(node, names[i]) == NULL) continue;
        if (first != NULL)
            return cal_xml_fail(node, error, CAL_BAD_MODEL, "it has a %s and a %s; an actuator acts on one of them",
                                first, names[i]);
        first = names[i];
    }
    return CAL_OK;
}

static cal_status read_actuator(mjcf_source* source, cal_xml_node* node, const mjcf_copy* copy, cal_error* error) {
    mjcf_model* model = source->model;
    if (!mjcf_is_actuator(node)) {
        node->linked = true;
        return CAL_OK;
    }
    const mjcf_class* class;
    MJCF_TRY(mjcf_class_of(source, node, "class", mjcf_main_class(source), &class, error));
    mjcf_actuator actuator = class->actuator;
    MJCF_TRY(mjcf_read_actuator(node, &actuator, error));
    MJCF_TRY(expect_one_target(node, error));
    static const mjcf_reference targets[][2] = {{{"joint", MJCF_JOINT, true}},
                                                {{"jointinparent", MJCF_JOINT, true}},
                                                {{"tendon", MJCF_TENDON, true}},
                                                {{"site", MJCF_SITE, true}, {"refsite", MJCF_SITE, false}}};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (cal_xml_text(node, targets[i][0].attribute) != NULL)
            return mjcf_link_in(model, source, node, copy, targets[i], targets[i][1].attribute != NULL ? 2 : 1,
                                link_actuator, &actuator, error);
    // Something else: it has a place among the controls, and no effect.
    const int none[2] = {CAL_NONE, CAL_NONE};
    if (node->linked) return CAL_OK;
    node->linked = true;
    return link_actuator(model, source, node, copy, none, &actuator, error);
}

// Whether a range counts: what the file says, or whether there is one.
cal_status mjcf_limited(const mjcf_source* source, mjcf_choice choice, const double range[2], const char* what,
                        const cal_xml_node* node, bool* out, cal_error* error) {
    const bool given = range[0] != 0.0 || range[1] != 0.0;
    *out = choice == MJCF_YES || (choice == MJCF_AUTO && given);
    if (choice == MJCF_AUTO && given && !source->compiler.autolimits)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "it has a %srange but no %slimited, and autolimits is off",
                            what, what);
    if (*out && !(range[0] < range[1]))
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "its %srange is %g to %g; the smaller number comes first", what,
                            range[0], range[1]);
    return CAL_OK;
}

// The inertia that moves with a tendon's length, its own and that of rotors on it: ½ armature (dL/dt)². Of a multiple of one joint that is
// the joint's own; of others it would tie joints of the tree together.
static void spread_armatures(mjcf_model* model) {
    for (int i = 0; i < model->tendons.count; i++) {
        const mjcf_tendon* tendon = &((mjcf_tendon*)model->tendons.items)[i];
        const cal_tendon_part* parts = tendon->parts.items;
        if (tendon->armature == 0.0) continue;
        if (tendon->parts.count == 1 && parts[0].kind == CAL_TENDON_JOINT) {
            ((mjcf_joint*)model->joints.items)[parts[0].joint].armature +=
                tendon->armature * parts[0].factor * parts[0].factor;
            continue;
        }
        cal_report_add(model->reader->report, tendon->node, CAL_ISSUE_NOT_SIMULATED, "tendon armature",
                       "ignored: tendons of more than one joint have no inertia, and no rotors");
    }
}

// A turn between two sites is that of their frames. MuJoCo (engine_core_smooth.c, mj_transmission) multiplies the quaternions of site and body
// in the other order, which is the same where the sites are not turned in their bodies.
static void report_turned_sites(const mjcf_model* model, const mjcf_motor* motor) {
    const double* gear = motor->actuator.gear + 3;
    bool turned = false;
    for (int end = 0; end < 2; end++) {
        const double* q = ((mjcf_site*)model->sites.items)[end == 0 ? motor->site : motor->reference].quaternion;
        turned |= q[1] != 0.0 || q[2] != 0.0 || q[3] != 0.0;
    }
    if (turned && (gear[0] != 0.0 || gear[1] != 0.0 || gear[2] != 0.0))
        cal_report_add(
            model->reader->report, motor->node, CAL_ISSUE_NOT_SIMULATED, "actuator refsite",
            "the angle is that of the two sites' frames; MuJoCo's differs where sites are turned in their bodies");
}

static bool has_force_sensor(const mjcf_model* model) {
    for (int i = 0; i < model->sources.count; i++) {
        const mjcf_source* source = ((mjcf_source**)model->sources.items)[i];
        for (cal_xml_node* part = cal_xml_child(source->root, "sensor"); part; part = cal_xml_next(part, "sensor"))
            if (cal_xml_child(part, "actuatorfrc")) return true;
    }
    return false;
}

cal_status mjcf_read_actuators(mjcf_model* model, cal_error* error) {
    model->measures_motors = has_force_sensor(model);
    MJCF_TRY(mjcf_each(model, "actuator", read_actuator, error));
    for (int i = 0; i < model->actuators.count; i++) {
        mjcf_motor* motor = &((mjcf_motor*)model->actuators.items)[i];
        const char* reason = reason_to_leave_out(model, motor);
        if (reason != NULL) {
            char what[64] = "actuator ";
            strncat(what, motor->node->name, 40);
            cal_report_add(model->reader->report, motor->node, CAL_ISSUE_NOT_SIMULATED, what, "%s", reason);
            continue;
        }
        motor->number = 0; // the true one comes when it is added
        if (motor->actuator.activation == CAL_ACTIVATION_MUSCLE && motor->actuator.dynamics[2] > 0.0)
            cal_report_add(model->reader->report, motor->node, CAL_ISSUE_NOT_SIMULATED, "activation",
                           "its tausmooth is ignored: the time constant jumps where the activation turns");
        const char* early = cal_xml_text(motor->node, "actearly");
        if (early != NULL && strcmp(early, "true") == 0 && motor->actuator.activation != CAL_ACTIVATION_NONE)
            cal_report_add(model->reader->report, motor->node, CAL_ISSUE_NOT_SIMULATED, "activation",
                           "actearly is ignored: the force is of the activation now, not one step later");
        if (motor->reference != CAL_NONE) report_turned_sites(model, motor);
        if (motor->site != CAL_NONE) continue;
        // A motor's own damping and rotor act through the gear.
        const double square = motor->actuator.gear[0] * motor->actuator.gear[0];
        if (motor->tendon != CAL_NONE) {
            mjcf_tendon* tendon = &((mjcf_tendon*)model->tendons.items)[motor->tendon];
            tendon->damping[0] += square * motor->actuator.damping[0];
            tendon->armature += square * motor->actuator.armature;
            tendon->motors++;
            continue;
        }
        mjcf_joint* joint = &((mjcf_joint*)model->joints.items)[motor->joint];
        joint->armature += square * motor->actuator.armature;
        joint->damping[0] += square * motor->actuator.damping[0];
        joint->motors++;
    }
    spread_armatures(model);
    return CAL_OK;
}

// Clamping to a first, then to a second range is clamping to the first one's ends clamped to the second.
static void clamp_again(double range[2], bool* limited, const double by[2]) {
    if (!*limited) {
        memcpy(range, by, 2 * sizeof *range);
    } else {
        for (int i = 0; i < 2; i++) range[i] = fmin(by[1], fmax(by[0], range[i]));
    }
    *limited = true;
}

// What a motor drives, as its limits see it.
typedef struct driven {
    const mjcf_source* source;
    cal_xml_node* node;
    mjcf_choice force_limited;
    double force_range[2], range[2]; // range: of the lengths that it drives
    int motors;
} driven;

static driven find_driven(const mjcf_model* model, const mjcf_motor* motor) {
    driven out = {.source = motor->source, .node = motor->node, .force_limited = MJCF_NO};
    if (motor->site != CAL_NONE) return out;
    if (motor->tendon != CAL_NONE) {
        const mjcf_tendon* tendon = &((mjcf_tendon*)model->tendons.items)[motor->tendon];
        out = (driven){tendon->source, tendon->node, tendon->force_limited, {0}, {0}, tendon->motors};
        memcpy(out.force_range, tendon->force_range, sizeof out.force_range);
        memcpy(out.range, tendon->range, sizeof out.range);
        return out;
    }
    const mjcf_joint* joint = &((mjcf_joint*)model->joints.items)[motor->joint];
    const double turn = joint->kind == CAL_REVOLUTE && joint->source->compiler.degrees ? CAL_PI / 180.0 : 1.0;
    out = (driven){joint->source, joint->node, joint->force_limited, {0}, {0}, joint->motors};
    memcpy(out.force_range, joint->force_range, sizeof out.force_range);
    for (int i = 0; i < 2; i++) out.range[i] = turn * joint->range[i];
    return out;
}

// Whether the range of what actuators do to a joint is about more than the force of one of them: about several, about those of tendons and sites, or
// about what carries weights; or is not to be seen in that force, which a sensor measures.
bool mjcf_sums_motors(const mjcf_model* model, const mjcf_joint* joint) {
    const mjcf_motor* motors = model->actuators.items;
    bool sums = joint->motors > 1 || joint->motor_carries || model->measures_motors;
    for (int i = 0; i < model->actuators.count && !sums; i++)
        sums = motors[i].number != CAL_NONE && (motors[i].tendon != CAL_NONE || motors[i].site != CAL_NONE);
    return sums;
}

// A limit of what is driven on the force of all its actuators, when it has only one. Joints with several have motor_range.
static cal_status apply_range(mjcf_model* model, const driven* of, const mjcf_motor* motor, double gear,
                              double range[2], bool* limited, cal_error* error) {
    bool holds;
    if (motor->joint != CAL_NONE && mjcf_sums_motors(model, &((mjcf_joint*)model->joints.items)[motor->joint]))
        return CAL_OK;
    MJCF_TRY(mjcf_limited(of->source, of->force_limited, of->force_range, "actuatorfrc", of->node, &holds, error));
    if (!holds || gear == 0.0) return CAL_OK;
    if (of->motors > 1) {
        cal_report_add(model->reader->report, of->node, CAL_ISSUE_NOT_SIMULATED, "tendon actuatorfrcrange",
                       "several actuators drive it; their sum is not limited");
        return CAL_OK;
    }
    const double a = of->force_range[0] / gear, b = of->force_range[1] / gear;
    const double by[2] = {fmin(a, b), fmax(a, b)};
    clamp_again(range, limited, by);
    if (range[0] == range[1])
        return cal_xml_fail(motor->node, error, CAL_BAD_MODEL,
                            "its forcerange is outside the actuatorfrcrange of what it drives");
    return CAL_OK;
}

// ∑ Mᵢᵢ / (gear dL/dqᵢ)² in the start position. Of a path, whose dL/dq is not known here, zero; the report says so.
static double reflected_inertia(const mjcf_model* model, const mjcf_motor* motor) {
    const double gear = motor->actuator.gear[0];
    double sum = 0.0;
    if (motor->tendon == CAL_NONE) return mjcf_joint_inertia(model, motor->joint) / (gear * gear);
    const mjcf_tendon* tendon = &((mjcf_tendon*)model->tendons.items)[motor->tendon];
    const cal_tendon_part* parts = tendon->parts.items;
    for (int i = 0; i < tendon->parts.count; i++) {
        if (parts[i].kind != CAL_TENDON_JOINT) {
            cal_report_add(model->reader->report, motor->node, CAL_ISSUE_NOT_SIMULATED, "actuator dampratio",
                           "ignored: Calder has none for tendons that go through sites");
            return 0.0;
        }
        const double moment = gear * parts[i].factor;
        if (moment * moment > 1e-15) sum += mjcf_joint_inertia(model, parts[i].joint) / (moment * moment);
    }
    return sum;
}

typedef struct pull {
    const cal_model* model;
    const cal_placed* at;
    double *tau, gear;
} pull;

static void add_pull(void* user, const cal_tendon_end* end) {
    const pull* own = user;
    cal_tendon_end_add_gradient(own->model, own->at, end, own->gear, own->tau);
}

static void aim(const mjcf_model* model, const mjcf_motor* motor, cal_actuator_def* def) {
    const mjcf_actuator* a = &motor->actuator;
    def->gear = motor->site != CAL_NONE ? 1.0 : a->gear[0];
    if (motor->tendon != CAL_NONE) {
        def->tendon = ((mjcf_tendon*)model->tendons.items)[motor->tendon].number;
    } else if (motor->site != CAL_NONE) {
        const mjcf_site* site = &((mjcf_site*)model->sites.items)[motor->site];
        def->body = site->body;
        memcpy(def->position, site->position, sizeof def->position);
        memcpy(def->quaternion, site->quaternion, sizeof def->quaternion);
        memcpy(def->wrench, a->gear, sizeof def->wrench);
        if (motor->reference == CAL_NONE) return;
        const mjcf_site* other = &((mjcf_site*)model->sites.items)[motor->reference];
        def->reference = other->body;
        memcpy(def->reference_position, other->position, sizeof def->reference_position);
        memcpy(def->reference_quaternion, other->quaternion, sizeof def->reference_quaternion);
    } else {
        const mjcf_joint* joint = &((mjcf_joint*)model->joints.items)[motor->joint];
        def->joint = joint->number;
        if (joint->kind == CAL_BALL) def->axis = axis_of(a), def->gear = a->gear[def->axis];
    }
}

// The norm of the accelerations that a force of 1 makes in the start position: M⁻¹ gear dL/dq.
static cal_status unit_acceleration(mjcf_model* model, const cal_actuator_def* def, double* out, cal_error* error) {
    cal_model* bare = NULL;
    cal_machine* machine = NULL;
    cal_plan* plan = NULL;
    cal_state* state = NULL;
    cal_builder* builder = model->reader->builder;
    cal_status status = cal_builder_finish(builder, &bare, error);
    if (status != CAL_OK) return status;
    const size_t count = (size_t)bare->v_count;
    double *tau = cal_allocate(3 * count + 12 * (size_t)bare->node_count + 1, sizeof *tau), *rest = tau + count,
           *pushed = rest + count, *frames = pushed + count, square = 0.0;
    status = tau != NULL ? cal_machine_serial(1, &machine, error) : CAL_NO_MEMORY;
    if (status == CAL_OK) status = cal_plan_create(bare, "aba", machine, &plan, error);
    if (status == CAL_OK) status = cal_state_create(plan, &state);
    if (status == CAL_OK) status = cal_plan_execute(plan, state, error);
    if (status == CAL_OK) status = cal_state_get(state, CAL_QDD, rest);
    if (status == CAL_OK) {
        cal_model_place_nodes(bare, bare->initial_q, frames);
        const cal_placed at = {frames, 12, bare->initial_q, NULL};
        pull all = {bare, &at, tau, def->gear};
        if (def->tendon >= 0) {
            cal_tendon_add_joints(bare, def->tendon, def->gear, tau);
            cal_tendon_trace(bare, def->tendon, &at, add_pull, &all);
        } else
            tau[bare->joints[def->joint].first_v + def->axis] = def->gear;
        status = cal_state_set(state, CAL_TAU, tau);
    }
    if (status == CAL_OK) status = cal_plan_execute(plan, state, error);
    if (status == CAL_OK) status = cal_state_get(state, CAL_QDD, pushed);
    for (size_t i = 0; status == CAL_OK && i < count; i++) square += (pushed[i] - rest[i]) * (pushed[i] - rest[i]);
    *out = sqrt(square);
    cal_state_destroy(state);
    cal_plan_destroy(plan);
    cal_machine_destroy(machine);
    cal_model_destroy(bare);
    cal_free(tau);
    return status;
}

static cal_status make_muscle(mjcf_model* model, const mjcf_motor* motor, cal_actuator_def* def, cal_error* error) {
    const mjcf_actuator* a = &motor->actuator;
    const double* p = a->gain;
    def->is_muscle = true;
    def->muscle = (cal_muscle){.length_range = {a->length_range[0], a->length_range[1]},
                               .range = {p[0], p[1]},
                               .peak = p[2],
                               .shortest = p[4],
                               .longest = p[5],
                               .fastest = p[6],
                               .passive = p[7],
                               .eccentric = p[8]};
    if (p[2] >= 0.0) return CAL_OK;
    double acceleration = 0.0;
    MJCF_TRY(unit_acceleration(model, def, &acceleration, error));
    def->muscle.peak = p[3] / fmax(1e-15, acceleration);
    return CAL_OK;
}

static cal_status add_activation(const mjcf_motor* motor, cal_actuator_def* def, cal_error* error) {
    const mjcf_actuator* a = &motor->actuator;
    bool limited;
    MJCF_TRY(
        mjcf_limited(motor->source, a->activation_limited, a->activation_range, "act", motor->node, &limited, error));
    if (cal_xml_is(motor->node, "intvelocity") && !limited)
        return cal_xml_fail(motor->node, error, CAL_BAD_MODEL, "an intvelocity needs an actrange");
    if (limited && a->activation == CAL_ACTIVATION_NONE)
        return cal_xml_fail(motor->node, error, CAL_BAD_MODEL, "it has an actrange, but no activation");
    def->activation = a->activation;
    if (a->activation == CAL_ACTIVATION_NONE) return CAL_OK;
    for (int i = 0; i < 2; i++) {
        if (!(a->dynamics[i] >= 0.0))
            return cal_xml_fail(motor->node, error, CAL_BAD_MODEL, "its time constant is %g", a->dynamics[i]);
        def->time_constant[i] = a->dynamics[i];
    }
    if (limited) memcpy(def->activation_range, a->activation_range, sizeof def->activation_range);
    return CAL_OK;
}

static cal_status add_motor(mjcf_model* model, mjcf_motor* motor, cal_error* error) {
    mjcf_actuator* a = &motor->actuator;
    const driven of = find_driven(model, motor);
    cal_actuator_def def = cal_default_actuator_def();
    def.name = a->name;
    const bool servo = motor->site == CAL_NONE && a->gain_law != MJCF_LAW_MUSCLE;
    aim(model, motor, &def);
    const double gear = a->gear[def.axis];
    def.gain = a->gain[0];
    if (a->gain_law == MJCF_LAW_AFFINE) memcpy(def.gain_slope, a->gain + 1, sizeof def.gain_slope);
    if (a->bias_law == MJCF_LAW_AFFINE) memcpy(def.bias, a->bias, sizeof def.bias);
    if (a->gain_law == MJCF_LAW_MUSCLE) MJCF_TRY(make_muscle(model, motor, &def, error));
    if (servo && def.bias[2] > 0.0 && def.gain == -def.bias[1] && gear * gear > 1e-15)
        def.bias[2] *= -2.0 * sqrt(fmax(0.0, def.gain * reflected_inertia(model, motor)));
    double control_range[2];
    memcpy(control_range, a->control_range, sizeof control_range);
    if (a->inherit_range > 0.0 && def.gain == -def.bias[1]) {
        const double middle = 0.5 * (of.range[0] + of.range[1]);
        const double radius = 0.5 * (of.range[1] - of.range[0]) * a->inherit_range;
        control_range[0] = middle - radius;
        control_range[1] = middle + radius;
    }
    bool limited;
    MJCF_TRY(mjcf_limited(motor->source, a->control_limited, control_range, "ctrl", motor->node, &limited, error));
    if (limited && !model->unclamped) memcpy(def.control_range, control_range, sizeof control_range);
    MJCF_TRY(mjcf_limited(motor->source, a->force_limited, a->force_range, "force", motor->node, &limited, error));
    MJCF_TRY(apply_range(model, &of, motor, gear, a->force_range, &limited, error));
    if (limited) memcpy(def.force_range, a->force_range, sizeof def.force_range);
    MJCF_TRY(add_activation(motor, &def, error));
    if (a->group >= 0 && a->group <= 30 && (model->disabled_groups >> a->group & 1) != 0) {
        def.gain = def.muscle.peak = 0.0;
        memset(def.gain_slope, 0, sizeof def.gain_slope);
        memset(def.bias, 0, sizeof def.bias);
    }
    if (model->start_control != NULL)
        def.initial_control = model->start_control[motor - (const mjcf_motor*)model->actuators.items];
    if (model->start_activation != NULL)
        def.initial_activation = model->start_activation[motor - (const mjcf_motor*)model->actuators.items];
    motor->number = cal_builder_add_actuator(model->reader->builder, &def);
    return motor->number != CAL_NONE ? CAL_OK : mjcf_no_memory(motor->node, error);
}

cal_status mjcf_add_actuators(mjcf_model* model, cal_error* error) {
    for (int i = 0; i < model->actuators.count; i++) {
        mjcf_motor* motor = &((mjcf_motor*)model->actuators.items)[i];
        if (motor->number != CAL_NONE) MJCF_TRY(add_motor(model, motor, error));
    }
    return CAL_OK;
}

// --- What a joint moves -------------------------------------------------------------------------------------------------

cal_status mjcf_weigh_subtrees(mjcf_model* model, cal_error* error) {
    const size_t count = (size_t)model->bodies.count;
    const mjcf_body* bodies = model->bodies.items;
    model->composites = cal_allocate(count, sizeof *model->composites);
    model->poses = cal_allocate(7 * count, sizeof *model->poses);
    if (model->composites == NULL || model->poses == NULL) return mjcf_no_memory(model->main->root, error);
    for (size_t i = 0; i < count; i++) {
        double* pose = model->poses + 7 * i;
        memcpy(pose, (double[7]){0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0}, 7 * sizeof *pose);
        if (bodies[i].parent >= 0) memcpy(pose, model->poses + 7 * (size_t)bodies[i].parent, 7 * sizeof *pose);
        mjcf_compose(pose, pose + 3, bodies[i].position, bodies[i].quaternion);
        model->composites[i] = cal_solid_placed(&bodies[i].solid, pose, pose + 3);
    }
    for (size_t i = count; i-- > 0;)
        if (bodies[i].parent >= 0 && model->composites[i].mass > 0.0)
            cal_solid_add(&model->composites[bodies[i].parent], &model->composites[i]);
    return CAL_OK;
}

double mjcf_joint_inertia(const mjcf_model* model, int number) {
    const mjcf_joint* joint = &((mjcf_joint*)model->joints.items)[number];
    const cal_solid* moved = &model->composites[joint->body];
    const double* pose = model->poses + 7 * (size_t)joint->body;
    if (joint->kind == CAL_PRISMATIC) return moved->mass + joint->armature;
    double rotation[9], axis[3], arm[3], cross[3];
    const double length = cal_length(joint->axis, 3);
    cal_quaternion_matrix(pose + 3, rotation);
    for (int i = 0; i < 3; i++) axis[i] = joint->axis[i] / length;
    cal_rotate3(rotation, axis, axis);
    cal_rotate3(rotation, joint->position, arm);
    for (int i = 0; i < 3; i++) arm[i] = moved->center[i] - pose[i] - arm[i];
    cal_cross3(axis, arm, cross);
    const double* I = moved->inertia;
    const double along[3] = {I[0] * axis[0] + I[3] * axis[1] + I[4] * axis[2],
                             I[3] * axis[0] + I[1] * axis[1] + I[5] * axis[2],
                             I[4] * axis[0] + I[5] * axis[1] + I[2] * axis[2]};
    return cal_dot3(axis, along) + moved->mass * cal_dot3(cross, cross) + joint->armature;
}
