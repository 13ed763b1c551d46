// The same model without parts of its physics, or with another start.
#include "model/builder.h"
#include "model/resting.h"
#include <string.h>

static const struct {
    int bit;
    const char* name;
} part_names[] = {{CAL_PART_EQUALITY, "equality"}, {CAL_PART_FRICTIONLOSS, "frictionloss"},
                  {CAL_PART_LIMIT, "limit"},       {CAL_PART_CONTACT, "contact"},
                  {CAL_PART_SPRING, "spring"},     {CAL_PART_DAMPER, "damper"},
                  {CAL_PART_GRAVITY, "gravity"},   {CAL_PART_ACTUATION, "actuation"},
                  {CAL_PART_STICTION, "stiction"}, {CAL_PART_CONSTRAINT, "constraint"}};

const char* cal_part_name(int index, uint32_t* bits) {
    if (index < 0 || index >= (int)(sizeof part_names / sizeof part_names[0])) return NULL;
    if (bits != NULL) *bits = (uint32_t)part_names[index].bit;
    return part_names[index].name;
}

void cal_model_leave_out(cal_model* model) {
    const uint32_t parts = model->disabled;
    if (parts == 0) return;
    for (int i = 0; i < model->joint_def_count; i++) {
        cal_joint_def* joint = &model->joint_defs[i];
        if ((parts & CAL_PART_SPRING) != 0) joint->stiffness = 0.0;
        if ((parts & CAL_PART_DAMPER) != 0) joint->damping = 0.0;
        if ((parts & CAL_PART_LIMIT) != 0) joint->limited = false;
        if ((parts & CAL_PART_FRICTIONLOSS) != 0) joint->friction_loss = 0.0;
    }
    // MuJoCo leaves out all passive forces where it has neither springs nor dampers.
    if ((parts & CAL_PART_SPRING) != 0 && (parts & CAL_PART_DAMPER) != 0) {
        model->kept.medium = (cal_medium){0};
        for (int i = 0; i < model->body_def_count; i++) model->body_defs[i].weightless = 0.0;
    }
    for (int i = 0; i < model->kept.tendon_count; i++) {
        cal_tendon_def* tendon = &model->kept.tendons[i];
        if ((parts & CAL_PART_SPRING) != 0) tendon->stiffness = 0.0;
        if ((parts & CAL_PART_DAMPER) != 0) tendon->damping = 0.0;
        if ((parts & CAL_PART_LIMIT) != 0) tendon->limited = false;
        if ((parts & CAL_PART_FRICTIONLOSS) != 0) tendon->friction_loss = 0.0;
    }
    for (int i = 0; (parts & CAL_PART_ACTUATION) != 0 && i < model->joint_def_count; i++)
        memset(model->joint_defs[i].motor_range, 0, sizeof model->joint_defs[i].motor_range);
    for (int i = 0; (parts & CAL_PART_ACTUATION) != 0 && i < model->actuator_count; i++) {
        cal_actuator_def* motor = &model->actuators[i];
        motor->gain = 0.0;
        motor->muscle.peak = 0.0;
        memset(motor->gain_slope, 0, sizeof motor->gain_slope);
        memset(motor->bias, 0, sizeof motor->bias);
        memset(motor->force_range, 0, sizeof motor->force_range);
    }
    for (int i = 0; (parts & CAL_PART_CONTACT) != 0 && i < model->shape_count; i++) model->shapes[i].collides = false;
    if ((parts & CAL_PART_CONTACT) != 0) model->kept.pair_count = 0;
    if ((parts & CAL_PART_EQUALITY) != 0) model->constraint_count = 0;
    if ((parts & CAL_PART_GRAVITY) != 0) memset(model->gravity, 0, sizeof model->gravity);
}

// Sites and exclusions name bodies, pairs name shapes.
static cal_status check_numbers(const cal_model* model, cal_error* error) {
    const cal_model_extras* kept = &model->kept;
    for (int i = 0; i < kept->site_count; i++) {
        const cal_site_def* site = &kept->sites[i];
        if (site->body != CAL_GROUND && (site->body < 0 || site->body >= model->body_count))
            return cal_fail(error, CAL_BAD_MODEL, "site %d: it is on body %d, but there are bodies 0 to %d only", i,
                            site->body, model->body_count - 1);
        if (!cal_all_finite(site->position, 3) || !cal_all_finite(site->quaternion, 4) ||
            cal_length(site->quaternion, 4) == 0.0)
            return cal_fail(error, CAL_BAD_MODEL, "site %d: its position or quaternion is not finite, or zero", i);
        if (!cal_all_finite(site->size, 3)) return cal_fail(error, CAL_BAD_MODEL, "site %d: its size is not finite", i);
    }
    for (int i = 0; i < kept->exclusion_count; i++)
        for (int k = 0; k < 2; k++) {
            const int body = kept->exclusions[i].body[k];
            if (body != CAL_GROUND && (body < 0 || body >= model->body_count))
                return cal_fail(error, CAL_BAD_MODEL, "exclusion %d: there is no body %d", i, body);
        }
    for (int i = 0; i < kept->pair_count; i++)
        for (int k = 0; k < 2; k++) {
            const int shape = kept->pairs[i].shape[k];
            if (shape < 0 || shape >= model->shape_count || !(kept->pairs[i].friction >= 0.0) ||
                !isfinite(kept->pairs[i].friction))
                return cal_fail(error, CAL_BAD_MODEL,
                                "pair %d: there is no shape %d, or its friction is negative or not finite", i, shape);
        }
    return CAL_OK;
}

static cal_status check_keyframe(const cal_model* model, int number, cal_error* error) {
    const cal_keyframe_def* key = &model->kept.keyframes[number];
    const struct {
        const char* name;
        const double* values;
        int count, needed;
    } parts[] = {{"q", key->q, key->q_count, model->q_count},
                 {"v", key->v, key->v_count, model->v_count},
                 {"control", key->control, key->control_count, model->actuator_count},
                 {"activation", key->activation, key->activation_count, model->actuator_count}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].values == NULL) continue;
        if (parts[i].count != parts[i].needed)
            return cal_fail(error, CAL_BAD_MODEL, "keyframe %d: %s has %d numbers, but the model needs %d", number,
                            parts[i].name, parts[i].count, parts[i].needed);
        if (!cal_all_finite(parts[i].values, parts[i].count))
            return cal_fail(error, CAL_BAD_MODEL, "keyframe %d: %s is not finite", number, parts[i].name);
    }
    for (int i = 0; key->activation != NULL && i < model->actuator_count; i++)
        if (model->actuators[i].activation == CAL_ACTIVATION_MUSCLE &&
            !(key->activation[i] >= 0.0 && key->activation[i] <= 1.0))
            return cal_fail(error, CAL_BAD_MODEL, "keyframe %d: the activation of a muscle is from 0 to 1, not %g",
                            number, key->activation[i]);
    return isfinite(key->time) ? CAL_OK : cal_fail(error, CAL_BAD_MODEL, "keyframe %d: its time is not finite", number);
}

cal_status cal_model_start(cal_model* model, cal_error* error) {
    cal_status status = check_numbers(model, error);
    for (int i = 0; status == CAL_OK && i < model->kept.keyframe_count; i++) status = check_keyframe(model, i, error);
    if (!(model->kept.timestep >= 0.0 && isfinite(model->kept.timestep)) && status == CAL_OK)
        status = cal_fail(error, CAL_BAD_MODEL, "the time step is %g; it must not be negative", model->kept.timestep);
    if (status != CAL_OK || model->start == CAL_NONE) return status;
    if (model->start < 0 || model->start >= model->kept.keyframe_count)
        return cal_fail(error, CAL_BAD_ARGUMENT, "there is no keyframe %d; the model has %d", model->start,
                        model->kept.keyframe_count);
    const cal_keyframe_def* key = &model->kept.keyframes[model->start];
    if (key->q != NULL) memcpy(model->initial_q, key->q, (size_t)model->q_count * sizeof(double));
    if (key->v != NULL) memcpy(model->initial_v, key->v, (size_t)model->v_count * sizeof(double));
    for (int i = 0; key->control != NULL && i < model->actuator_count; i++)
        model->actuators[i].initial_control = key->control[i];
    for (int i = 0; key->activation != NULL && i < model->actuator_count; i++)
        model->actuators[i].initial_activation = key->activation[i];
    return CAL_OK;
}

bool cal_joint_has_rigid_stop(const cal_model* model, int joint) {
    const cal_joint* own = &model->joints[joint];
    return (model->disabled & CAL_PART_STICTION) == 0 && own->def->limited && own->rigid;
}

bool cal_model_has_rigid_stops(const cal_model* model) { return cal_model_rests(model, CAL_REST_ON_STOPS); }

bool cal_joint_rests(const cal_model* model, int joint, cal_resting how) {
    if (how == CAL_REST_NONE || (model->disabled & CAL_PART_STICTION) != 0) return false;
    return (how == CAL_REST_ALL && cal_sticks(model->joints[joint].def)) || cal_joint_has_rigid_stop(model, joint);
}

bool cal_model_rests(const cal_model* model, cal_resting how) {
    for (int i = 0; i < model->joint_count; i++)
        if (cal_joint_rests(model, i, how)) return true;
    return false;
}

// The position is free.
static void stay(double time, double* value, double* velocity, double* acceleration, void* user) {
    (void)time, (void)user;
    *value = (double)NAN;
    *velocity = *acceleration = 0.0;
}

static bool add_rests(const cal_model* model, cal_resting how, cal_builder* builder) {
    bool fine = true;
    for (int i = 0; fine && i < model->joint_count; i++) {
        if (!cal_joint_rests(model, i, how)) continue;
        cal_constraint_def rest = cal_default_constraint_def();
        rest.kind = CAL_COUPLING;
        rest.joint[0] = i;
        rest.motion = stay;
        rest.inactive = true;
        fine = cal_builder_add_constraint(builder, &rest) != CAL_NONE;
    }
    return fine;
}

// without: in which ways joints of the copy do not come to rest any more; rests: constraints do that instead.
static cal_status copy_all(const cal_model* model, cal_resting without, bool rests, cal_builder* builder) {
    bool fine = true;
    cal_builder_set_name(builder, model->name);
    cal_builder_set_gravity(builder, model->gravity);
    cal_builder_set_timestep(builder, model->kept.timestep);
    for (int i = 0; fine && i < model->body_count; i++) {
        cal_body_def body;
        cal_model_body(model, i, &body);
        fine = cal_builder_add_body(builder, &body) != CAL_NONE;
    }
    for (int i = 0; fine && i < model->joint_count; i++) {
        cal_joint_def joint;
        cal_model_joint(model, i, &joint, NULL, NULL, NULL);
        // Stops whose stiffness was chosen are such in the copy, too.
        if (model->joints[i].rigid) joint.limit_stiffness = 0.0;
        if (cal_joint_rests(model, i, without)) {
            if (model->joints[i].rigid) joint.limited = false;
            if (without == CAL_REST_ALL && cal_sticks(&joint)) joint.friction_loss = 0.0;
        }
        fine = cal_builder_add_joint(builder, model->joints[i].body, &joint) != CAL_NONE;
    }
    for (int i = 0; fine && i < model->actuator_count; i++)
        fine = cal_builder_add_actuator(builder, &model->actuators[i]) != CAL_NONE;
    for (int i = 0; fine && i < model->constraint_count; i++)
        fine = cal_builder_add_constraint(builder, &model->constraints[i]) != CAL_NONE;
    if (rests) fine = fine && add_rests(model, without, builder);
    for (int i = 0; fine && i < model->mesh_count; i++)
        fine = cal_builder_add_mesh(builder, &model->meshes[i]) != CAL_NONE;
    for (int i = 0; fine && i < model->shape_count; i++)
        fine = cal_builder_add_shape(builder, &model->shapes[i]) != CAL_NONE;
    const cal_model_extras* kept = &model->kept;
    for (int i = 0; fine && i < kept->site_count; i++)
        fine = cal_builder_add_site(builder, &kept->sites[i]) != CAL_NONE;
    cal_builder_set_medium(builder, kept->medium.density, kept->medium.viscosity, kept->medium.wind);
    cal_builder_set_magnetic_field(builder, kept->magnetic_field);
    for (int i = 0; fine && i < kept->drag_count; i++)
        fine = cal_builder_add_drag(builder, &kept->drags[i]) != CAL_NONE;
    for (int i = 0; fine && i < kept->sensor_count; i++)
        fine = cal_builder_add_sensor(builder, &kept->sensors[i]) != CAL_NONE;
    for (int i = 0; fine && i < kept->tendon_count; i++)
        fine = cal_builder_add_tendon(builder, &kept->tendons[i]) != CAL_NONE;
    for (int i = 0; fine && i < kept->texture_count; i++)
        fine = cal_builder_add_texture(builder, &kept->textures[i]) != CAL_NONE;
    for (int i = 0; fine && i < kept->keyframe_count; i++)
        fine = cal_builder_add_keyframe(builder, &kept->keyframes[i]) != CAL_NONE;
    for (int i = 0; fine && i < kept->pair_count; i++)
        fine = cal_builder_add_pair(builder, &kept->pairs[i]) != CAL_NONE;
    for (int i = 0; fine && i < kept->exclusion_count; i++)
        fine = cal_builder_add_exclusion(builder, kept->exclusions[i].body[0], kept->exclusions[i].body[1]) != CAL_NONE;
    for (int i = 0; fine && i < kept->number_count; i++) {
        const cal_named_numbers* numbers = &kept->numbers[i];
        fine = cal_builder_add_numbers(builder, numbers->name, numbers->values, numbers->count) != CAL_NONE;
    }
    return fine ? CAL_OK : CAL_NO_MEMORY;
}

static cal_status create_from(const cal_model* model, cal_resting without, bool rests, cal_builder** out,
                              cal_error* error) {
    *out = NULL;
    cal_builder* builder = NULL;
    cal_status status = cal_builder_create(&builder);
    if (status == CAL_OK) status = copy_all(model, without, rests, builder);
    if (status != CAL_OK) {
        cal_builder_destroy(builder);
        return cal_fail(error, status, "out of memory for a model of %d bodies", model->body_count);
    }
    cal_builder_disable(builder, model->disabled);
    cal_builder_start_at(builder, model->start);
    *out = builder;
    return CAL_OK;
}

cal_status cal_builder_create_from(const cal_model* model, cal_builder** out, cal_error* error) {
    if (model == NULL || out == NULL)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_builder_create_from: something is NULL");
    return create_from(model, CAL_REST_NONE, false, out, error);
}

static cal_status create_without(const cal_model* model, cal_resting without, bool rests, cal_model** out,
                                 cal_error* error) {
    cal_builder* builder = NULL;
    cal_status status = create_from(model, without, rests, &builder, error);
    if (status == CAL_OK) status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}

cal_status cal_model_create_resting(const cal_model* model, cal_resting how, cal_model** out, cal_error* error) {
    return create_without(model, how, true, out, error);
}

cal_status cal_model_create_unstopped(const cal_model* model, cal_model** out, cal_error* error) {
    return create_without(model, CAL_REST_ON_STOPS, false, out, error);
}

cal_status cal_model_variant(const cal_model* model, uint32_t disabled, int keyframe, cal_model** out,
                             cal_error* error) {
    if (!model || !out) return cal_fail(error, CAL_BAD_ARGUMENT, "cal_model_variant: model and out must not be NULL");
    cal_builder* builder = NULL;
    *out = NULL;
    cal_status status = cal_builder_create_from(model, &builder, error);
    if (status != CAL_OK) return status;
    cal_builder_disable(builder, disabled);
    if (keyframe != CAL_NONE) cal_builder_start_at(builder, keyframe);
    status = cal_builder_finish(builder, out, error);
    cal_builder_destroy(builder);
    return status;
}
